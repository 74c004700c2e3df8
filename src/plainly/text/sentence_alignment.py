"""Which sentences of an output say what which sentences of the source said: many to many, in order but for jumps.

``align(source, output)`` gives an ``Alignment``: the sentences of both texts with their spans, and links between them,
each of some source sentences with some output sentences. A link knows what happened (kept, rephrased, split, merged,
reorganised, dropped, added) and whether it moved; ``Alignment.pairs()`` are the pieces of text that can be compared
with one another. Anything that compares a paragraph with its simplification should compare these pieces.

Every output sentence picks the source sentence that it fits best, or none, where a step to the next source sentence
costs nothing and a jump something (after the sentence aligners of Jiang et al. 2020); then every source sentence that
nothing picked looks for its output sentence in the same way. How well two sentences fit is the share of their words
in common, weighted by how rare they are in the two texts, and a tenth the likeness of their vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from plainly.core import registry
from plainly.core.metric import Floats
from plainly.text import sentences as boundaries
from plainly.text.words import FUNCTION_WORDS, words

Happened = Literal["kept", "rephrased", "split", "merged", "reorganised", "dropped", "added"]
# A line break that ends what it stands in: before a blank line, before the mark of a point, or after a short line.
_LINE_END = re.compile(r"\n(?=\s*\n)|\n(?=\s*(?:[-*•–]|\d+[.)])\s)|^[^\n]{1,50}\n(?=\s*[^a-z\s])", re.MULTILINE)
HAPPENED: tuple[Happened, ...] = get_args(Happened)


@dataclass(frozen=True, slots=True)
class PlacedSentence:
    """A sentence and where it stands: ``whole[start:end]``, without the white space around it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Link:
    """Sentences of the source and of the output that say the same, by their places; one side may be empty."""

    source: tuple[int, ...]
    output: tuple[int, ...]
    happened: Happened
    moved: bool = False


@dataclass(frozen=True)
class Alignment:
    """The sentences of two texts and their links. Every sentence is in exactly one link."""

    source: tuple[PlacedSentence, ...]
    output: tuple[PlacedSentence, ...]
    links: tuple[Link, ...]  # in the order of the output, with what was dropped where it stood in the source

    def pairs(self) -> list[tuple[str, str]]:
        """The pieces that belong together, source and output; "" where a piece has no counterpart."""
        return [(self.text("source", link), self.text("output", link)) for link in self.links]

    def text(self, side: Literal["source", "output"], link: Link) -> str:
        """The sentences of one side of a link, joined by spaces."""
        sentences, places = (self.source, link.source) if side == "source" else (self.output, link.output)
        return " ".join(sentences[place].text for place in places)

    @cached_property
    def edges(self) -> frozenset[tuple[int, int]]:
        """The links as pairs of one source and one output sentence."""
        return frozenset((i, j) for link in self.links for i in link.source for j in link.output)

    def counts(self) -> dict[str, int]:
        """How many source sentences were kept, rephrased, split, merged, reorganised, dropped and moved; and how many
        output sentences were added."""
        tally = dict.fromkeys((*HAPPENED, "moved"), 0)
        for link in self.links:
            tally[link.happened] += len(link.source) or len(link.output)
            tally["moved"] += len(link.source) if link.moved else 0
        return tally


@lru_cache(maxsize=512)  # metric after metric asks for the sentences of a set's sources and of one system's outputs
def sentences_of(text: str, language: str = "en") -> tuple[PlacedSentence, ...]:
    """The sentences of a text with their places.

    A line that is short or followed by a blank line ends a sentence, so that headings and points of a list are
    sentences too; in text that was wrapped at some width the other line breaks are spaces.
    """
    ends = [match.end() for match in _LINE_END.finditer(text)]
    pieces = pairwise([0, *ends, len(text)])
    return tuple(
        PlacedSentence(text[start + a : start + b], start + a, start + b)
        for start, end in pieces
        for a, b in boundaries.spans(text[start:end], language)
    )


def connected(
    source: tuple[PlacedSentence, ...], output: tuple[PlacedSentence, ...], edges: Iterable[tuple[int, int]]
) -> Alignment:
    """The alignment that pairs of sentences make: those that hang together are one link."""
    edges = list(edges)
    leader = {("s", i): ("s", i) for i in range(len(source))} | {("o", j): ("o", j) for j in range(len(output))}

    def find(node: tuple[str, int]) -> tuple[str, int]:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for i, j in edges:
        leader[find(("s", i))] = find(("o", j))
    members: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
    for node in leader:
        members.setdefault(find(node), ([], []))[node[0] == "o"].append(node[1])
    groups = [(tuple(sorted(a)), tuple(sorted(b))) for a, b in members.values()]
    moved = _out_of_order(groups)
    links = [Link(a, b, _happened(source, output, a, b), (a, b) in moved) for a, b in groups]
    return Alignment(source, output, tuple(sorted(links, key=_place(links))))


def _happened(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], a: Sequence[int], b: Sequence[int]
) -> Happened:
    if not a or not b:
        return "added" if b else "dropped"
    if len(a) == 1:
        if len(b) > 1:
            return "split"
        return "kept" if source[a[0]].text.split() == output[b[0]].text.split() else "rephrased"
    return "merged" if len(b) == 1 else "reorganised"


def _out_of_order(groups: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> set[tuple[tuple[int, ...], ...]]:
    """The links outside the largest set that stands in the same order on both sides: these moved."""
    both = sorted(((a, b) for a, b in groups if a and b), key=lambda group: group[1][0])
    size, before = [1] * len(both), [-1] * len(both)
    for at, (a, _) in enumerate(both):
        for earlier in range(at):
            if both[earlier][0][0] < a[0] and size[earlier] + 1 > size[at]:
                size[at], before[at] = size[earlier] + 1, earlier
    at = max(range(len(both)), key=size.__getitem__, default=-1)
    in_order = set()
    while at >= 0:
        in_order.add(at)
        at = before[at]
    return {group for place, group in enumerate(both) if place not in in_order}


def _place(links: Iterable[Link]) -> Callable[[Link], tuple[float, int]]:
    """A sort key: by output; what was dropped comes after the link of the source sentence before it."""
    at = {i: link.output[0] for link in links if link.output for i in link.source}

    def key(link: Link) -> tuple[float, int]:
        if link.output:
            return link.output[0], -1
        earlier: Iterator[int] = (at[i] for i in range(link.source[0], -1, -1) if i in at)
        return next(earlier, -1) + 0.5, link.source[0]

    return key


Text = str | Sequence[PlacedSentence]
Ints = npt.NDArray[np.int64]
# Chosen on Cochrane-auto's validation part and on documents put together from ASSET's validation part.
_WORDS, _VECTORS = 0.9, 0.1
_NOTHING = 0.1  # how well an output sentence must fit some source sentence
_NOTHING_BACK = 0.4  # the same for a source sentence that no output sentence picked
_JUMP, _FARTHEST, _STAY = 0.05, 6, 0.02
# Of a step from so many rows before to so many after, the farthest first.
_COSTS = np.array([_STAY if step == 0 else _JUMP * abs(step - 1) for step in range(_FARTHEST, 1 - _FARTHEST, -1)])
_BEGIN = 0.3 * _JUMP  # a text may begin anywhere, the first sentence first
_STEM = 6
_AT_ONCE = 1000  # sentences of a side; longer texts are aligned a stretch at a time
_FUNCTION = 0.3  # the weight of a function word beside another word


def align(source: Text, output: Text, *, encoder: bool = True) -> Alignment:
    """The alignment of two texts, or of their sentences; without ``encoder`` by their words alone, which is nearly as
    good and much quicker."""
    return align_many([source], [output], encoder=encoder)[0]


def align_many(
    sources: Sequence[Text], outputs: Sequence[Text], *, encoder: bool = True, language: str = "en"
) -> list[Alignment]:
    """The alignments of many pairs of texts, whose sentences are encoded together, each once; sentences end as in the
    ``language``."""
    sides = [
        (_sentences(source, language), _sentences(output, language))
        for source, output in zip(sources, outputs, strict=True)
    ]
    vectors = _vectors([sentence.text for pair in sides for side in pair for sentence in side]) if encoder else None
    return [aligned(source, output, vectors) for source, output in sides]


def _sentences(text: Text, language: str) -> Sequence[PlacedSentence]:
    return sentences_of(text, language) if isinstance(text, str) else text


def aligned(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], vectors: dict[str, Floats] | None = None
) -> Alignment:
    """The alignment of sentences; ``vectors`` has one for the text of each."""
    links: set[tuple[int, int]] = set()
    for rows, columns in _blocks(len(source), len(output)):
        within = _links(source[rows], output[columns], vectors)
        links |= {(rows.start + row, columns.start + column) for row, column in within}
    return connected(tuple(source), tuple(output), links)


def _blocks(rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Texts too long for one table are aligned in stretches that stand at the same place of both."""
    count = max(1, -(-max(rows, columns) // _AT_ONCE))
    for at in range(count):
        yield (
            slice(at * rows // count, (at + 1) * rows // count),
            slice(at * columns // count, (at + 1) * columns // count),
        )


def _links(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], vectors: dict[str, Floats] | None
) -> set[tuple[int, int]]:
    if not source or not output:
        return set()
    by_output, by_source = _fit(source, output, vectors)
    picked = _chain(by_output, _NOTHING)
    links = {(row, column) for column, row in enumerate(picked.tolist()) if row >= 0}
    used = {row for row, _ in links}
    back = _chain(by_source.T, _NOTHING_BACK)
    return links | {(row, column) for row, column in enumerate(back.tolist()) if column >= 0 and row not in used}


def _fit(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], vectors: dict[str, Floats] | None
) -> tuple[Floats, Floats]:
    """How well each source sentence (row) and output sentence (column) fit, seen from the output, then the source."""
    sides = [[_stems(sentence.text) for sentence in side] for side in (source, output)]
    numbers: dict[str, int] = {}
    for side in sides:
        for stems in side:
            for stem in stems:
                numbers.setdefault(stem, len(numbers))
    present = [np.zeros((len(side), len(numbers))) for side in sides]
    for table, side in zip(present, sides, strict=True):
        for row, stems in enumerate(side):
            table[row, [numbers[stem] for stem in stems]] = 1.0
    total = len(source) + len(output)
    seen = present[0].sum(axis=0) + present[1].sum(axis=0)
    weights = np.log((total + 1) / np.maximum(seen, 1)) + 0.01
    weights[[number for stem, number in numbers.items() if stem in _FUNCTION_STEMS]] *= _FUNCTION
    common = (present[0] * weights) @ present[1].T
    of_source, of_output = (np.maximum(table @ weights, 1e-9) for table in present)
    mean = common / np.sqrt(of_source[:, None] * of_output)
    likeness = _likeness(source, output, vectors) if vectors is not None else 0.0
    forward, backward = common / of_output, common / of_source[:, None]
    by_output: Floats = _WORDS * (forward + mean) / 2 + _VECTORS * likeness
    by_source: Floats = _WORDS * (backward + mean) / 2 + _VECTORS * likeness
    return by_output, by_source


def _likeness(source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], vectors: dict[str, Floats]) -> Floats:
    """The cosine of sentence vectors, from which what all sentences of the two texts share was taken away."""
    sides = [np.array([vectors[sentence.text] for sentence in side]) for side in (source, output)]
    centre = np.concatenate(sides).mean(axis=0)
    units = [side - centre for side in sides]
    units = [side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-6) for side in units]
    cosine: Floats = units[0] @ units[1].T
    return cosine


def _chain(fit: Floats, nothing: float) -> Ints:
    """For each column the row that it picks, or −1: the best sum of fits less jumps (Viterbi).

    A column that picks nothing leaves the place where it is. Jumps beyond the farthest all cost the same, so that a
    column costs as many steps as there are rows.
    """
    rows, columns = fit.shape
    place = np.arange(rows)
    first = -_BEGIN * np.minimum(place, _FARTHEST)
    padded = np.full(rows + len(_COSTS) - 1, -np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(_COSTS))
    best = np.full(rows, -np.inf)  # of a chain that was last at this row
    unused = 0.0  # of a chain that has picked nothing yet
    origin = np.empty((columns, rows), dtype=np.int64)
    for column in range(columns):
        farthest = int(best.argmax())
        padded[_FARTHEST : _FARTHEST + rows] = best
        near = windows - _COSTS
        nearest = near.argmax(axis=1)
        arrived, came = near[place, nearest], place + nearest - _FARTHEST
        far = best[farthest] - _JUMP * _FARTHEST > arrived
        arrived, came = np.where(far, best[farthest] - _JUMP * _FARTHEST, arrived), np.where(far, farthest, came)
        fresh = unused + first > arrived
        arrived, came = np.where(fresh, unused + first, arrived) + fit[:, column], np.where(fresh, rows, came)
        stayed = best + nothing
        unused += nothing
        origin[column] = np.where(arrived >= stayed, came, -1)
        best = np.maximum(arrived, stayed)
    return _traced(origin, int(best.argmax()) if best.max(initial=-np.inf) > unused else rows)


def _traced(origin: Ints, row: int) -> Ints:
    columns, rows = origin.shape
    picked = np.full(columns, -1)
    for column in range(columns - 1, -1, -1):
        if row == rows:
            break
        came = int(origin[column, row])
        if came >= 0:
            picked[column], row = row, came
    return picked


@lru_cache(maxsize=4096)  # a source is aligned with the output of every system
def _stems(text: str) -> frozenset[str]:
    """The words of a sentence without case and endings: enough to see that two sentences are about the same."""
    return frozenset(map(_stem, words(text.casefold())))


def _stem(word: str) -> str:
    return word[:_STEM] if len(word) > _STEM else word.rstrip("s") or word


_FUNCTION_STEMS = frozenset(map(_stem, FUNCTION_WORDS))


def _vectors(texts: Sequence[str]) -> dict[str, Floats]:
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, registry.sentence_encoder()(distinct), strict=True))
