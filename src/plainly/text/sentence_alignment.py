"""Alignment of the sentences of an output with those of the source: many to many, in order except for jumps.

``align(source, output)`` returns an ``Alignment``: the sentences of both texts with their spans, and links between
groups of them. A link records what happened (kept, rephrased, split, merged, reorganised, dropped, added) and whether
it moved. Anything that compares a paragraph with its simplification should compare ``Alignment.pairs()``.

Every output sentence is linked to the source sentence that it fits best, or to none; a step to the next source sentence
is free and a jump has a cost (after Jiang et al. 2020). Then the source sentences without a link are linked in the same
way. The fit of two sentences is the share of their common words, weighted by how rare they are in the two texts, and
with a tenth of the weight the cosine of their vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from plainly.core import registry
from plainly.core.metric import Floats
from plainly.text import sentences as boundaries
from plainly.text.arrays import equal_parts
from plainly.text.words import FUNCTION_WORDS, words

Outcome = Literal["kept", "rephrased", "split", "merged", "reorganised", "dropped", "added"]
# A line break that ends a sentence: before a blank line, before a list item, or after a short line.
_LINE_END = re.compile(r"\n(?=\s*\n)|\n(?=\s*(?:[-*•–]|\d+[.)])\s)|^[^\n]{1,50}\n(?=\s*[^a-z\s])", re.MULTILINE)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class PlacedSentence:
    """A sentence and its place: ``whole[start:end]``, without the white space around it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Link:
    """Sentences of the source and of the output that correspond, by their places; one side may be empty."""

    source: tuple[int, ...]
    output: tuple[int, ...]
    happened: Outcome
    moved: bool = False


@dataclass(frozen=True)
class Alignment:
    """The sentences of two texts and their links. Every sentence is in exactly one link."""

    source: tuple[PlacedSentence, ...]
    output: tuple[PlacedSentence, ...]
    links: tuple[Link, ...]  # in the order of the output; dropped sentences follow their predecessor in the source

    def pairs(self) -> list[tuple[str, str]]:
        """Return the pieces that belong together, source and output; "" where a piece has no counterpart."""
        return [(self.text("source", link), self.text("output", link)) for link in self.links]

    def text(self, side: Literal["source", "output"], link: Link) -> str:
        """Return the sentences of one side of a link, joined by spaces."""
        sentences, places = (self.source, link.source) if side == "source" else (self.output, link.output)
        return " ".join(sentences[place].text for place in places)

    @cached_property
    def edges(self) -> frozenset[tuple[int, int]]:
        """The links as pairs of one source and one output sentence."""
        return frozenset((i, j) for link in self.links for i in link.source for j in link.output)

    def counts(self) -> dict[str, int]:
        """Count the source sentences by what happened to them and those that moved, and the output sentences added."""
        tally = dict.fromkeys((*OUTCOMES, "moved"), 0)
        for link in self.links:
            tally[link.happened] += len(link.source) or len(link.output)
            tally["moved"] += len(link.source) if link.moved else 0
        return tally


@lru_cache(maxsize=512)  # several metrics need the sentences of a set's sources and of one system's outputs
def sentences_of(text: str, language: str = "en") -> tuple[PlacedSentence, ...]:
    """Return the sentences of a text with their places.

    A line that is short or followed by a blank line ends a sentence, so that headings and list items are sentences
    too; other line breaks count as spaces.
    """
    ends = [match.end() for match in _LINE_END.finditer(text)]
    pieces = pairwise([0, *ends, len(text)])
    return tuple(
        PlacedSentence(text[start + a : start + b], start + a, start + b)
        for start, end in pieces
        for a, b in boundaries.spans(text[start:end], language)
    )


def connect_sentences(
    source: tuple[PlacedSentence, ...], output: tuple[PlacedSentence, ...], edges: Iterable[tuple[int, int]]
) -> Alignment:
    """Return the alignment with these pairs of sentences; connected pairs are one link."""
    by_source: list[tuple[list[int], list[int]]] = [([i], []) for i in range(len(source))]
    by_output: list[tuple[list[int], list[int]]] = [([], [j]) for j in range(len(output))]
    for i, j in edges:
        group, other = by_source[i], by_output[j]
        if group is not other:
            for side, members, more in zip((by_source, by_output), group, other, strict=True):
                members += more
                for at in more:
                    side[at] = group
    groups = {(tuple(sorted(a)), tuple(sorted(b))) for a, b in by_source + by_output}
    moves = _out_of_order(groups)
    return Alignment(
        source, output, _sort([Link(a, b, _classify(source, output, a, b), (a, b) in moves) for a, b in groups])
    )


def _classify(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], a: Sequence[int], b: Sequence[int]
) -> Outcome:
    if not a or not b:
        return "added" if b else "dropped"
    if len(a) == 1:
        if len(b) > 1:
            return "split"
        return "kept" if source[a[0]].text.split() == output[b[0]].text.split() else "rephrased"
    return "merged" if len(b) == 1 else "reorganised"


def _out_of_order(groups: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> set[tuple[tuple[int, ...], ...]]:
    """Return the links that moved: those outside the largest set that is in the same order on both sides."""
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


def _sort(links: Sequence[Link]) -> tuple[Link, ...]:
    """Sort links by output; a dropped sentence comes after the link of the source sentence before it."""
    places = {i: link.output[0] for link in links if link.output for i in link.source}

    def position(link: Link) -> tuple[float, int]:
        if link.output:
            return link.output[0], -1
        earlier = (places[i] for i in range(link.source[0], -1, -1) if i in places)
        return next(earlier, -1) + 0.5, link.source[0]

    return tuple(sorted(links, key=position))


Text = str | Sequence[PlacedSentence]
# Tuned on Cochrane-auto's validation part and on documents made from sentences of ASSET's validation part.
_WORDS, _VECTORS = 0.9, 0.1
_NOTHING = 0.1  # the least fit of an output sentence with a source sentence
_NOTHING_BACK = 0.4  # the same for a source sentence that has no link yet
_JUMP, _FARTHEST, _STAY = 0.05, 6, 0.02
# The costs of steps from the farthest row before to the farthest after.
_COSTS = np.array([_STAY if step == 0 else _JUMP * abs(step - 1) for step in range(_FARTHEST, 1 - _FARTHEST, -1)])
_BEGIN = 0.3 * _JUMP  # a text may begin anywhere, the first sentence first
_STEM = 6
_AT_ONCE = 1000  # sentences of a side; longer texts are aligned a stretch at a time
_FUNCTION = 0.3  # the weight of a function word relative to another word


def align(source: Text, output: Text, *, encoder: bool = True) -> Alignment:
    """Align two texts, or their sentences; without ``encoder`` by words alone: nearly as good and much faster."""
    return align_many([source], [output], encoder=encoder)[0]


def align_many(
    sources: Sequence[Text], outputs: Sequence[Text], *, encoder: bool = True, language: str = "en"
) -> list[Alignment]:
    """Align many pairs of texts; each distinct sentence is encoded once. ``language`` decides where sentences end."""
    source_sides, output_sides = (
        [sentences_of(text, language) if isinstance(text, str) else tuple(text) for text in texts]
        for texts in (sources, outputs)
    )
    vectors: dict[str, Floats] | None = None
    if encoder:
        distinct = list(dict.fromkeys(sentence.text for side in source_sides + output_sides for sentence in side))
        vectors = dict(zip(distinct, registry.sentence_encoder()(distinct), strict=True))
    return [_align(source, output, vectors) for source, output in zip(source_sides, output_sides, strict=True)]


def _align(
    source: tuple[PlacedSentence, ...], output: tuple[PlacedSentence, ...], vectors: dict[str, Floats] | None
) -> Alignment:
    """Align sentences; texts too long for one table are aligned in stretches that lie at the same share of both."""
    edges: set[tuple[int, int]] = set()
    count = max(1, -(-max(len(source), len(output)) // _AT_ONCE))
    for rows, columns in equal_parts(slice(0, len(source)), slice(0, len(output)), count):
        within = _links(source[rows], output[columns], vectors)
        edges |= {(rows.start + row, columns.start + column) for row, column in within}
    return connect_sentences(source, output, edges)


def _links(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], vectors: dict[str, Floats] | None
) -> set[tuple[int, int]]:
    if not source or not output:
        return set()
    by_output, by_source = _fit(source, output, vectors)
    links = {(row, column) for column, row in enumerate(_chain(by_output, _NOTHING)) if row >= 0}
    rows_in_use = {row for row, _ in links}
    back = enumerate(_chain(by_source.T, _NOTHING_BACK))
    return links | {(row, column) for row, column in back if column >= 0 and row not in rows_in_use}


def _fit(
    source: Sequence[PlacedSentence], output: Sequence[PlacedSentence], vectors: dict[str, Floats] | None
) -> tuple[Floats, Floats]:
    """Return the fit of each source sentence (row) and output sentence (column), by output and by source."""
    sides = [[_stems(sentence.text) for sentence in side] for side in (source, output)]
    numbers = {stem: number for number, stem in enumerate(frozenset().union(*sides[0], *sides[1]))}
    present = [np.zeros((len(side), len(numbers))) for side in sides]
    for table, side in zip(present, sides, strict=True):
        for row, stems in enumerate(side):
            table[row, [numbers[stem] for stem in stems]] = 1.0
    occurrences = present[0].sum(axis=0) + present[1].sum(axis=0)
    weights = np.log((len(source) + len(output) + 1) / np.maximum(occurrences, 1)) + 0.01
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
    """Return the cosine of sentence vectors, centred on the mean of both texts."""
    sides = [np.array([vectors[sentence.text] for sentence in side]) for side in (source, output)]
    centre = np.concatenate(sides).mean(axis=0)
    first, second = (side - centre for side in sides)
    norms = [np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-6) for side in (first, second)]
    cosine: Floats = (first / norms[0]) @ (second / norms[1]).T
    return cosine


def _chain(fit: Floats, nothing: float) -> list[int]:
    """Return for each column its row, or −1: the best sum of fits less jumps (Viterbi).

    A column without a row does not move the place. All jumps beyond the farthest cost the same, so that time is linear
    in the rows.
    """
    rows, columns = fit.shape
    place = np.arange(rows)
    first = -_BEGIN * np.minimum(place, _FARTHEST)
    border = np.full(rows + len(_COSTS) - 1, -np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(border, len(_COSTS))
    best = np.full(rows, -np.inf)  # of chains whose last row is this
    unused = 0.0  # of a chain without a row so far
    origin = np.empty((columns, rows), dtype=np.int64)
    for column in range(columns):
        farthest = int(best.argmax())
        border[_FARTHEST : _FARTHEST + rows] = best
        near = windows - _COSTS
        nearest = near.argmax(axis=1)
        step, start = near[place, nearest], place + nearest - _FARTHEST
        far = best[farthest] - _JUMP * _FARTHEST > step
        step, start = np.where(far, best[farthest] - _JUMP * _FARTHEST, step), np.where(far, farthest, start)
        fresh = unused + first > step
        step, start = np.where(fresh, unused + first, step) + fit[:, column], np.where(fresh, rows, start)
        stay = best + nothing
        unused += nothing
        origin[column] = np.where(step >= stay, start, -1)
        best = np.maximum(step, stay)
    row = int(best.argmax()) if best.max(initial=-np.inf) > unused else rows
    path = [-1] * columns
    for column in range(columns - 1, -1, -1):
        if row < rows and origin[column, row] >= 0:
            path[column], row = row, int(origin[column, row])
    return path


@lru_cache(maxsize=4096)  # a source is aligned with the output of every system
def _stems(text: str) -> frozenset[str]:
    """Return the words of a sentence without case and endings."""
    return frozenset(map(_stem, words(text.casefold())))


def _stem(word: str) -> str:
    return word[:_STEM] if len(word) > _STEM else word.rstrip("s") or word


_FUNCTION_STEMS = frozenset(map(_stem, FUNCTION_WORDS))
