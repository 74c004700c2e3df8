"""A word aligner for a sentence and its simplification, many pairs at once.

Three passes over a table of similarities (same word, same root) choose chains of words that stand in the same order on
both sides: the first is what was kept, the second and third are what moved. The heaviest chain is found with one
running maximum a row, for all pairs of a batch together, because an unaligned word costs nothing.

Aligning every word with every other takes the square of their length, so long texts are cut into ``pieces``: at words
that stand once on each side and in the same order (first where four words in a row do, then where one does; best where
a sentence begins), so that each piece holds what belongs together. Where nothing is shared, both sides are cut in equal
parts. Pairs of up to a thousand words a side are one piece.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.core import limits
from plainly.text.lexicon import FUNCTION, KIND, KINDS, Words

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

_BATCH_CELLS = 400_000  # Cells of a batch's similarity table; more would leave the processor's cache.
LOWER, STEM, PREFIX, KIND_COLUMN, ENDING, LENGTH, SHAPE, HASH = range(8)

_WEIGHT = np.ones(len(KINDS), dtype=np.float32)
_WEIGHT[list(FUNCTION)] = 0.35
_WEIGHT[[KIND[name] for name in ("comma", "bracket", "quote", "punctuation", "possessive")]] = 0.25
_WEIGHT[KIND["stop"]] = 0.3
_WEIGHT[KIND["pad"]] = 0


@dataclass(frozen=True)
class AlignedSide:
    """One side of a batch of pairs, padded."""

    words: Ints  # Their numbers.
    links: Ints  # Of each word, the place of its counterpart; −1 none.
    passes: Ints  # In which pass it was aligned: 1 kept in place, 2 and 3 moved, 0 not at all.


@dataclass(frozen=True)
class Aligned:
    """A batch of pairs; ``order`` are the pairs' positions among all pairs."""

    order: npt.NDArray[np.intp]
    source: AlignedSide
    output: AlignedSide


def align(sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], words: Words) -> Iterator[Aligned]:
    """Align pairs of word numbers, in batches of pairs of like length."""
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
        chosen = order[start:stop]
        source, output = (_padded([texts[at] for at in chosen]) for texts in (sources, outputs))
        yield _align_batch(np.array(chosen, dtype=np.intp), source, output, words.table)
        start = stop


def _align_batch(order: npt.NDArray[np.intp], source: Ints, output: Ints, table: Ints) -> Aligned:
    weights = similarity(source, output, table)
    sides = [
        AlignedSide(words, np.full(words.shape, -1, dtype=np.int32), np.zeros(words.shape, dtype=np.int32))
        for words in (source, output)
    ]
    for number in (1, 2, 3):
        if number > 1:
            # What is left: rows and columns not yet aligned, and no lone function word or comma far from its place.
            weights = weights * (sides[0].links < 0)[:, :, None] * (sides[1].links < 0)[:, None, :]
            weights[weights < 0.5] = 0
        pair, *places = _best_chain(weights)
        if not len(pair):
            break
        for side, own, other in zip(sides, places, places[::-1], strict=True):
            side.links[pair, own], side.passes[pair, own] = other, number
    return Aligned(order, *sides)


def similarity(source: Ints, output: Ints, table: Ints) -> Floats:
    """How well each source word fits each output word: 1 the same content word, less for roots and function words."""
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
    """The heaviest chains in order on both sides, as arrays: pair, source place, output place of every link."""
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
        matched = ~(up | left)
        if matched.any():
            links.append((active[matched], row[matched] - 1, column[matched] - 1))
        row_at[active] -= up | matched
        column_at[active] -= left | matched
        done = (row_at[active] == 0) | (column_at[active] == 0) | (here == 0)
        active = active[~done]
    return [np.concatenate(places) for places in zip(*links, strict=True)]


def _padded(rows: Sequence[Sequence[int]]) -> Ints:
    width = max(map(len, rows), default=0) or 1
    padded = np.zeros((len(rows), width), dtype=np.int32)
    lengths = np.array([len(row) for row in rows])
    padded[np.arange(width) < lengths[:, None]] = [number for row in rows for number in row]
    return padded


def runs(places: Sequence[int]) -> list[list[int]]:
    """Places, in order, that stand side by side."""
    parts: list[list[int]] = []
    for at in places:
        if parts and parts[-1][-1] == at - 1:
            parts[-1].append(at)
        else:
            parts.append([at])
    return parts


_PAIR_CELLS = 1_000_000  # words of the source times words of the output that are aligned at once
_SIDE = 5000  # words of either side
_PIECE = 160_000  # cells of a piece of what is longer: less than is possible, because time grows with them
_STOPS = frozenset((".", "!", "?", "..."))
_GRAMS = (4, 1)

Piece = tuple[slice, slice]


def is_long(source: Sequence[str], output: Sequence[str]) -> bool:
    """Whether a pair is too long to be aligned at once."""
    return _large(len(source), len(output))


def _large(own: int, other: int, most: int = _PAIR_CELLS) -> bool:
    return own * other > most or max(own, other) > _SIDE


def pieces(source: Sequence[str], output: Sequence[str], name: str) -> list[Piece]:
    """The pieces of a pair of token lists, in order; together they are the whole of both sides."""
    for side, tokens in (("source", source), ("output", output)):
        limits.check("words", len(tokens), f"The {side} of item {name!r}")
    if not is_long(source, output):
        return [(slice(0, len(source)), slice(0, len(output)))]
    lower = [token.lower() for token in source], [token.lower() for token in output]
    parts = [(0, len(source), 0, len(output))]
    for size in _GRAMS:
        parts = [smaller for part in parts for smaller in _cut(lower, part, size)]
    return [(slice(*part[:2]), slice(*part[2:])) for whole in parts for part in _equal(whole)]


_Part = tuple[int, int, int, int]  # from and to in the source, from and to in the output


def _cut(texts: tuple[list[str], list[str]], part: _Part, size: int) -> Iterator[_Part]:
    """A part cut at shared words wherever it would grow too large; where it shares none, as it is."""
    start, stop, other_start, other_stop = part
    if not _large(stop - start, other_stop - other_start, _PIECE):
        yield part
        return
    last = begin = (start, other_start)
    at_sentence: tuple[int, int] | None = None
    for place in [*_anchors(texts, part, size), (stop, other_stop)]:
        if _large(place[0] - begin[0], place[1] - begin[1], _PIECE) and last != begin:
            cut = at_sentence or last
            yield begin[0], cut[0], begin[1], cut[1]
            begin, at_sentence = cut, None
        last = place
        if all(place[side] and texts[side][place[side] - 1] in _STOPS for side in (0, 1)):
            at_sentence = place
    yield begin[0], stop, begin[1], other_stop


def _anchors(texts: tuple[list[str], list[str]], part: _Part, size: int) -> list[tuple[int, int]]:
    """Places of words that are there once on each side, the most of them that stand in the same order."""
    own, other = (_once(texts[side][part[2 * side] : part[2 * side + 1]], size) for side in (0, 1))
    shared = [(at + part[0], other[gram] + part[2]) for gram, at in own.items() if gram in other]
    ends: list[int] = []  # of chains of each length, the smallest last place
    chains: list[int] = []  # who ends them
    before = [-1] * len(shared)
    for number, (_, place) in enumerate(shared):
        at = bisect_left(ends, place)
        if at == len(ends):
            ends.append(place)
            chains.append(number)
        ends[at], chains[at] = place, number
        before[number] = chains[at - 1] if at else -1
    chosen, number = [], chains[-1] if chains else -1
    while number >= 0:
        chosen.append(shared[number])
        number = before[number]
    return chosen[::-1]


def _once(tokens: list[str], size: int) -> dict[tuple[str, ...], int]:
    """Where runs of words stand that stand there once, in order."""
    grams = list(zip(*(tokens[by:] for by in range(size)), strict=False))
    counts = Counter(grams)
    return {gram: at for at, gram in enumerate(grams) if counts[gram] == 1}


def _equal(part: _Part) -> Iterator[_Part]:
    """A part that is still too large in equal parts."""
    start, stop, other_start, other_stop = part
    size, other = stop - start, other_stop - other_start
    count = 1
    while _large(-(-size // count), -(-other // count), _PIECE):
        count += 1
    for at in range(count):
        yield (
            start + size * at // count,
            start + size * (at + 1) // count,
            other_start + other * at // count,
            other_start + other * (at + 1) // count,
        )
