"""Designs: who judges what, planned before the first answer, so that raters, systems and items are balanced.

A cell is a source under one condition: with the output of one system or, in a ranking, with one set of outputs to
compare. A plan has a place for each rater, with the cells in the order in which the rater gets them.

latin-square   a rater gets each source at most once, and all conditions equally often
blocks         a rater gets a block of sources under all conditions, and each block has ``overlap`` raters
free           no plan: items are handed out as people come
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, NamedTuple

from plainly.core.errors import BadInput
from plainly.core.result import Record

Design = Literal["free", "latin-square", "blocks"]
_FURTHEST_SOUGHT = 100_000


class Cell(NamedTuple):
    """A source under a condition, both by number."""

    source: int
    condition: int


Plan = list[list[Cell]]


@dataclass(frozen=True)
class Size:
    """The numbers of a design; 0 for ``per_rater`` or ``raters`` means that it follows from the others."""

    sources: int
    conditions: int
    overlap: int
    per_rater: int = 0
    raters: int = 0

    @property
    def judgements(self) -> int:
        return self.sources * self.conditions * self.overlap


def complete_size(design: Design, size: Size) -> Size | None:
    """Return the size with the numbers that follow from the others; None if the design cannot be balanced."""
    if min(size.sources, size.conditions, size.overlap) < 1:
        return None
    once = 1 if design == "latin-square" else size.conditions  # how often a rater gets a source
    largest = size.sources * once
    per_rater = size.per_rater or (size.judgements // size.raters if size.raters else largest)
    raters = size.raters or size.judgements // max(1, per_rater)
    if not 0 < per_rater <= largest or per_rater * raters != size.judgements:
        return None
    if design == "blocks" and (per_rater % once or size.sources % (per_rater // once)):
        return None
    return replace(size, per_rater=per_rater, raters=raters)


def list_alternatives(design: Design, size: Size) -> dict[str, list[int]]:
    """Return, for each number that alone would have to change, the nearest values that can be balanced."""
    alternatives = {}
    for name in ("raters", "per_rater", "overlap", "sources"):
        value: int = getattr(size, name)
        if not value and name in ("raters", "per_rater"):
            continue
        # More sources than there are cannot be drawn.
        top = value if name == "sources" else min(size.judgements * 2, value + _FURTHEST_SOUGHT)
        below, above = range(value - 1, 0, -1), range(value + 1, top + 1)
        nearest = [_first_that_fits(design, size, name, values) for values in (below, above)]
        if numbers := [number for number in nearest if number]:
            alternatives[name] = numbers
    return alternatives


def _first_that_fits(design: Design, size: Size, name: str, values: Sequence[int]) -> int:
    fitting = (value for value in values if complete_size(design, replace(size, **{name: value})))
    return next(fitting, 0)


def require_size(design: Design, size: Size, *, conditions: str = "systems") -> Size:
    """Return the complete size, or refuse it with the numbers that would work."""
    if complete := complete_size(design, size):
        return complete
    names = {"sources": "[data] items"}
    options = [
        f"{names.get(name, name)} = {' or '.join(map(str, numbers))}"
        for name, numbers in list_alternatives(design, size).items()
    ]
    if size.raters:
        share = size.per_rater or max(1, size.judgements // size.raters)
        anyone = replace(size, per_rater=share, raters=0)
        for per_rater in list_alternatives(design, anyone).get("per_rater", ()):
            nearest = complete_size(design, replace(anyone, per_rater=per_rater))
            options += [f"raters = {nearest.raters} with per_rater = {per_rater}"] if nearest else []
    people = f"{size.raters} raters" if size.raters else "raters"
    load = f" with {size.per_rater} items each" if size.per_rater else ""
    raise BadInput(
        f"{size.sources} sources, {size.conditions} {conditions} and overlap = {size.overlap} are {size.judgements} "
        f'judgements, which {people}{load} cannot share in a balanced design = "{design}". '
        f"Change one of these: {'; '.join(options)}."
    )


def make_plan(design: Design, size: Size, rng: random.Random) -> Plan:
    """Return the cells of each place. ``size`` must be complete."""
    order = list(range(size.sources))
    rng.shuffle(order)
    return list((_plan_square if design == "latin-square" else _plan_blocks)(size, order, rng))


def _plan_square(size: Size, order: Sequence[int], rng: random.Random) -> Iterator[list[Cell]]:
    """Yield the places of a generalised Latin square.

    Which rater gets which source is a graph between places and sources, and the conditions colour its edges. A place is
    split into groups of as many cells as there are conditions, and a source likewise, so no vertex has more edges than
    there are colours. A bipartite graph can then be coloured so that no vertex has a colour twice (Kőnig 1916): every
    group of a place has each condition at most once, and every source has each exactly ``overlap`` times.
    """
    groups = -(-size.per_rater // size.conditions)
    uses = Counter[int]()
    edges, sources = [], []
    for place in range(size.raters):
        start = place * size.per_rater
        own = [order[number % size.sources] for number in range(start, start + size.per_rater)]
        rng.shuffle(own)
        for position, source in enumerate(own):
            side = source * size.overlap + uses[source] // size.conditions
            edges.append((place * groups + position // size.conditions, side))
            uses[source] += 1
        sources.append(own)
    colours = iter(colour_edges(edges, size.conditions))
    for own in sources:
        cells = [Cell(source, next(colours)) for source in own]
        for start in range(0, len(cells), size.conditions):
            group = cells[start : start + size.conditions]
            rng.shuffle(group)
            cells[start : start + size.conditions] = group
        yield cells


def colour_edges(edges: Sequence[tuple[int, int]], count: int) -> list[int]:
    """Colour the edges of a bipartite graph so that no vertex has a colour twice; ``count`` is the largest degree."""
    colours = [0] * len(edges)
    # For both sides: by vertex, the edge of each colour.
    tables = [[[-1] * count for _ in range(max((edge[side] for edge in edges), default=-1) + 1)] for side in (0, 1)]
    for number, edge in enumerate(edges):
        first, second = (tables[side][edge[side]].index(-1) for side in (0, 1))
        if first != second:  # Free the first colour at the right end: swap both on the path that begins there.
            path, side, vertex, colour = [], 1, edge[1], first
            while (other := tables[side][vertex][colour]) >= 0:
                path.append(other)
                side, vertex = 1 - side, edges[other][1 - side]
                colour = second if colour == first else first
            for other in path:
                for end in (0, 1):
                    tables[end][edges[other][end]][colours[other]] = -1
            for other in path:
                colours[other] = second if colours[other] == first else first
                for end in (0, 1):
                    tables[end][edges[other][end]][colours[other]] = other
        colours[number] = first
        for side in (0, 1):
            tables[side][edge[side]][first] = number
    return colours


def _plan_blocks(size: Size, order: Sequence[int], rng: random.Random) -> Iterator[list[Cell]]:
    """Yield the places of complete blocks: as many rounds as conditions, each with every source of the block once."""
    length = size.per_rater // size.conditions
    blocks = [order[start : start + length] for start in range(0, size.sources, length)]
    for _ in range(size.overlap):
        for block in blocks:
            own = list(block)
            rng.shuffle(own)
            shift = rng.randrange(size.conditions)
            yield [
                Cell(source, (position + turn + shift) % size.conditions)
                for turn in range(size.conditions)
                for position, source in enumerate(own)
            ]


def measure_balance(plan: Plan, size: Size) -> list[Record]:
    """Return the least and the most of what a balanced plan has equally often."""
    cells = list(chain.from_iterable(plan))
    by_place = [Counter(cell.condition for cell in place) for place in plan]
    conditions = [place[condition] for place in by_place for condition in range(size.conditions)]
    by_cell = Counter(cells)
    figures = {
        "items for a rater": list(map(len, plan)),
        "items of one system for a rater": conditions,
        "times that a rater gets a source": [max(Counter(cell.source for cell in place).values()) for place in plan],
        "raters for an item": [
            by_cell[Cell(source, condition)] for source in range(size.sources) for condition in range(size.conditions)
        ],
    }
    return [{"balance": name, "least": min(values), "most": max(values)} for name, values in figures.items()]
