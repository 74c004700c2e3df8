"""A word aligner for a sentence and its simplification, many pairs at once.

Three passes over a table of similarities (same word, same root) choose chains of words that are in the same order on
both sides: the first finds what was kept, the second and third what moved. The heaviest chain is found with one running
maximum per row, for all pairs of a batch together, because an unaligned word costs nothing.

Aligning every word with every other takes quadratic time, so long texts are cut into ``pieces`` that belong together:
at words that occur once on each side and in the same order (first at runs of four such words, then at single words,
preferably where a sentence begins). Where nothing is shared, both sides are cut into equal parts. Pairs of up to a
thousand words on each side are one piece.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from plainly.core import limits
from plainly.text.arrays import equal_parts
from plainly.text.lexicon import FUNCTION, KIND, KINDS, Words

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

_BATCH_CELLS = 400_000  # of a batch's similarity table; more would leave the processor's cache
LOWER, STEM, PREFIX, KIND_COLUMN, ENDING, LENGTH, SHAPE, HASH = range(8)

_WEIGHT = np.ones(len(KINDS), dtype=np.float32)
_WEIGHT[list(FUNCTION)] = 0.35
_WEIGHT[[KIND[name] for name in ("comma", "bracket", "quote", "punctuation", "possessive")]] = 0.25
_WEIGHT[KIND["stop"]] = 0.3
_WEIGHT[KIND["pad"]] = 0


@dataclass(frozen=True)
class AlignedSide:
    """One side of a batch of pairs, padded."""

    words: Ints  # their numbers
    links: Ints  # the place of each word's counterpart; −1 where it has none
    passes: Ints  # the pass in which it was aligned: 1 kept in place, 2 and 3 moved, 0 not at all


@dataclass(frozen=True)
class AlignedPairs:
    """A batch of pairs; ``order`` are the pairs' positions among all pairs."""

    order: npt.NDArray[np.intp]
    source: AlignedSide
    output: AlignedSide


def align(sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], words: Words) -> Iterator[AlignedPairs]:
    """Align pairs of word numbers, in batches of pairs of similar length."""
    order = sorted(range(len(sources)), key=lambda at: len(sources[at]) + 2 * len(outputs[at]))
    start = 0
    while start < len(order):
        width, height, stop = 0, 0, start
        while stop < len(order):
            width = max(width, len(sources[order[stop]]))
            height = max(height, len(outputs[order[stop]]))
            if stop > start and (stop - start + 1) * (width + 1) * (height + 1) > _BATCH_CELLS:
                break
            stop += 1
        batch = order[start:stop]
        source, output = (_pad([texts[at] for at in batch]) for texts in (sources, outputs))
        yield _align_batch(np.array(batch, dtype=np.intp), source, output, words.table)
        start = stop


def _align_batch(order: npt.NDArray[np.intp], source: Ints, output: Ints, table: Ints) -> AlignedPairs:
    weights = similarity(source, output, table)
    sides = [
        AlignedSide(words, np.full(words.shape, -1, dtype=np.int32), np.zeros(words.shape, dtype=np.int32))
        for words in (source, output)
    ]
    for number in (1, 2, 3):
        if number > 1:
            # What is left: rows and columns not yet aligned, without isolated function words and commas that moved.
            weights = weights * (sides[0].links < 0)[:, :, None] * (sides[1].links < 0)[:, None, :]
            weights[weights < 0.5] = 0
        pair, *places = _best_chain(weights)
        if not len(pair):
            break
        for side, own, other in zip(sides, places, places[::-1], strict=True):
            side.links[pair, own], side.passes[pair, own] = other, number
    return AlignedPairs(order, *sides)


def similarity(source: Ints, output: Ints, table: Ints) -> Floats:
    """Return how well each source word fits each output word: 1 for the same content word, less for others."""
    lower = table[:, LOWER]
    weight = _WEIGHT[table[:, KIND_COLUMN]]
    same = (lower[source][:, :, None] == lower[output][:, None, :]) & (source != 0)[:, :, None]
    content = weight[source] >= 0.9
    roots = (table[source, STEM][:, :, None] == table[output, STEM][:, None, :]) & content[:, :, None]
    beginnings = (table[source, PREFIX][:, :, None] == table[output, PREFIX][:, None, :]) & content[:, :, None]
    fits = (same | roots).astype(np.float32)
    # A fit counts for more where the words before and after fit as well, so that chains prefer whole phrases.
    around = np.zeros_like(fits)
    around[:, 1:, 1:] += fits[:, :-1, :-1]
    around[:, :-1, :-1] += fits[:, 1:, 1:]
    base = np.where(same, weight[source][:, :, None], 0).astype(np.float32)
    for fitting, value in ((roots, 0.7), (beginnings, 0.35)):
        np.maximum(base, np.where(fitting, np.float32(value), np.float32(0)), out=base)
    fit: Floats = base * (1 + np.float32(0.5) * around)
    return fit


def _best_chain(weights: Floats) -> list[npt.NDArray[np.intp]]:
    """Return the heaviest chains in order on both sides: pair, source place and output place of every link."""
    pairs, rows, columns = weights.shape
    best = np.zeros((rows + 1, pairs, columns + 1), dtype=np.float32)
    for number in range(rows):
        step = best[number].copy()
        np.maximum(step[:, 1:], best[number][:, :-1] + weights[:, number], out=step[:, 1:])
        np.maximum.accumulate(step, axis=1, out=best[number + 1])
    links = [(np.zeros(0, dtype=np.intp),) * 3]
    row_at, column_at = np.full(pairs, rows), np.full(pairs, columns)
    active = np.arange(pairs)
    while len(active):
        row, column = row_at[active], column_at[active]
        here = best[row, active, column]
        up = best[row - 1, active, column] == here
        left = ~up & (best[row, active, column - 1] == here)
        match = ~(up | left)
        if match.any():
            links.append((active[match], row[match] - 1, column[match] - 1))
        row_at[active] -= up | match
        column_at[active] -= left | match
        active = active[(row_at[active] > 0) & (column_at[active] > 0) & (here != 0)]
    return [np.concatenate(places) for places in zip(*links, strict=True)]


def _pad(rows: Sequence[Sequence[int]]) -> Ints:
    width = max(map(len, rows), default=0) or 1
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=np.int32)


def runs(places: Sequence[int]) -> list[list[int]]:
    """Return places, which are in order, as runs of neighbours."""
    by_run = groupby(enumerate(places), key=lambda numbered: numbered[1] - numbered[0])
    return [[at for _, at in run] for _, run in by_run]


_PAIR_CELLS = 1_000_000  # words of the source times words of the output that are aligned at once
_SIDE = 5000  # words of either side
_PIECE = 160_000  # cells of a piece of a longer pair: fewer than are possible, because time grows with them
_STOPS = frozenset((".", "!", "?", "..."))

Piece = tuple[slice, slice]  # of the source and of the output


def is_long(source: Sequence[str], output: Sequence[str]) -> bool:
    """Whether a pair is too long to be aligned at once."""
    return _is_large(len(source), len(output), _PAIR_CELLS)


def _is_large(own: int, other: int, most: int = _PIECE) -> bool:
    return own * other > most or max(own, other) > _SIDE


def pieces(source: Sequence[str], output: Sequence[str], name: str) -> list[Piece]:
    """Return the pieces of a pair of token lists, in order; together they are the whole of both sides."""
    for side, tokens in (("source", source), ("output", output)):
        limits.check("words", len(tokens), f"The {side} of item {name!r}")
    parts = [(slice(0, len(source)), slice(0, len(output)))]
    if not is_long(source, output):
        return parts
    lower = [token.lower() for token in source], [token.lower() for token in output]
    for size in (4, 1):
        parts = [smaller for part in parts for smaller in _cut(lower, part, size)]
    return [smaller for part in parts for smaller in _cut_evenly(part)]


def _cut(texts: tuple[list[str], list[str]], piece: Piece, size: int) -> Iterator[Piece]:
    """Cut a piece that is too large at runs of ``size`` shared words; without such runs it stays whole."""
    own, other = piece
    if not _is_large(own.stop - own.start, other.stop - other.start):
        yield piece
        return
    last = begin = (own.start, other.start)
    sentence_end: tuple[int, int] | None = None
    for place in [*_anchors(texts, piece, size), (own.stop, other.stop)]:
        if _is_large(place[0] - begin[0], place[1] - begin[1]) and last != begin:
            cut = sentence_end or last
            yield slice(begin[0], cut[0]), slice(begin[1], cut[1])
            begin, sentence_end = cut, None
        last = place
        if all(place[side] and texts[side][place[side] - 1] in _STOPS for side in (0, 1)):
            sentence_end = place
    yield slice(begin[0], own.stop), slice(begin[1], other.stop)


def _anchors(texts: tuple[list[str], list[str]], piece: Piece, size: int) -> list[tuple[int, int]]:
    """Return the places of runs of words that occur once on each side: as many as stand in the same order."""
    own, other = (_unique_runs(text[part], size) for text, part in zip(texts, piece, strict=True))
    shared = [(at + piece[0].start, other[run] + piece[1].start) for run, at in own.items() if run in other]
    ends: list[int] = []  # of chains of each length, the smallest last place
    chains: list[int] = []  # the last member of each
    before = [-1] * len(shared)
    for number, (_, place) in enumerate(shared):
        at = bisect_left(ends, place)
        ends[at : at + 1], chains[at : at + 1] = [place], [number]
        before[number] = chains[at - 1] if at else -1
    anchors, number = [], chains[-1] if chains else -1
    while number >= 0:
        anchors.append(shared[number])
        number = before[number]
    return anchors[::-1]


def _unique_runs(tokens: list[str], size: int) -> dict[tuple[str, ...], int]:
    """Return the places of the runs of words that occur once."""
    grams = list(zip(*(tokens[by:] for by in range(size)), strict=False))
    counts = Counter(grams)
    return {gram: at for at, gram in enumerate(grams) if counts[gram] == 1}


def _cut_evenly(piece: Piece) -> Iterator[Piece]:
    """Cut a piece that is still too large into equal parts."""
    own, other = (part.stop - part.start for part in piece)
    count = 1
    while _is_large(-(-own // count), -(-other // count)):
        count += 1
    return equal_parts(*piece, count)
