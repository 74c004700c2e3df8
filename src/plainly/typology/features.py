"""What the trained labeller looks at: for each word, about fifty facts as numbers, for a whole batch at once.

A fact is a template and a value, hashed to a row of the model's table. Facts are about the word, its neighbours, its
counterpart, the run of unaligned words that it stands in, and what stands in the same gap on the other side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plainly.typology.align import ENDING, HASH, KIND_COLUMN, LENGTH, LOWER, SHAPE, STEM, AlignedSide
from plainly.typology.lexicon import KIND

Ints = npt.NDArray[np.int64]
_MIX = np.int64(0x9E3779B1)
_LIMITS = np.array([0, 1, 2, 3, 4, 6, 8, 12, 20])


def status(own: AlignedSide, other: AlignedSide, table: npt.NDArray[np.int32]) -> Ints:
    """0 padding, 1 unaligned, 2 kept, 3 kept in another form, 4 moved, 5 moved in another form."""
    lower = table[:, LOWER]
    counterpart = np.take_along_axis(other.words, np.maximum(own.links, 0), axis=1)
    same = lower[counterpart] == lower[own.words]
    aligned = np.where(own.links < 0, 1, 2 + (~same) + 2 * (own.passes > 1))
    return np.where(own.words == 0, 0, aligned).astype(np.int64)


def features(own: AlignedSide, other: AlignedSide, table: npt.NDArray[np.int32], *, side: int, buckets: int) -> Ints:
    """Rows of the model's table for every real word, (words, facts), in the order of the pairs."""
    words = _Described(own, other, table)
    # A fact's place in the list is its template, which the trained weights know it by.
    values = [*_of_words(words), *_of_runs(words), *_of_gaps(words), *_of_places(words)]
    real = own.words != 0
    return hashed([value[real].astype(np.int64) for value in values], 0, side=side, buckets=buckets)


def hashed(values: Sequence[Ints], first: int, *, side: int, buckets: int) -> Ints:
    """Values of templates, numbered from ``first``, as rows of the model's table: (words, templates)."""
    rows = np.empty((len(values[0]), len(values)), dtype=np.int64)
    for template, value in enumerate(values):
        mixed = (value * 128 + first + template) * 2 + side
        mixed = (mixed ^ (mixed >> 15)) * _MIX
        rows[:, template] = (mixed ^ (mixed >> 29)) % buckets
    return rows


class _Described:
    """What is known about each word of a side, and about the runs of words that it stands in."""

    def __init__(self, own: AlignedSide, other: AlignedSide, table: npt.NDArray[np.int32]) -> None:
        self.own, self.other, self.table = own, other, table
        self.state = status(own, other, table)
        self.kind, self.word, self.ending, self.length, self.shape = (
            self.known(own.words, column) for column in (KIND_COLUMN, HASH, ENDING, LENGTH, SHAPE)
        )
        self.previous, self.following = shift(self.kind, 1), shift(self.kind, -1)
        self.run = _Runs(self.state)
        self.size = _bucket(self.run.length)

    def known(self, words: npt.NDArray[np.int32], column: int) -> Ints:
        """A column of the table, for words by their numbers."""
        column_of_words: Ints = self.table[words, column].astype(np.int64)
        return column_of_words


def _of_words(words: _Described) -> list[Ints]:
    """About a word, its neighbours and its counterpart."""
    own, other, state, kind = words.own, words.other, words.state, words.kind
    word, ending = words.word, words.ending
    counterpart = np.where(own.links >= 0, np.take_along_axis(other.words, np.maximum(own.links, 0), axis=1), 0)
    same_stem = (words.table[counterpart, STEM] == words.table[own.words, STEM]).astype(np.int64)
    distance = np.where(own.links >= 0, own.links - np.arange(own.words.shape[1]), 0).astype(np.int64)
    around = state * 216 + shift(state, 1) * 36 + shift(state, -1) * 6
    return [
        state,
        word * 8 + state,
        kind * 8 + state,
        ending * 8 + state,
        (words.length * 4 + words.shape) * 8 + state,
        around,
        around * 36 + shift(state, 2) * 6 + shift(state, -2),
        shift(word, 1) * 8 + state,
        shift(word, -1) * 8 + state,
        (words.previous * 32 + kind) * 8 + state,
        (kind * 32 + words.following) * 8 + state,
        (words.previous * 32 + words.following) * 8 + state,
        shift(ending, 1) * 8 + state,
        shift(ending, -1) * 8 + state,
        words.known(counterpart, HASH) * 8 + state,
        (words.known(counterpart, KIND_COLUMN) * 32 + kind) * 8 + state,
        (words.known(counterpart, ENDING) * 32 + ending) * 8 + state + 8192 * same_stem,
        (np.sign(distance) * _bucket(np.abs(distance)) + 10) * 8 + state,
    ]


def _of_runs(words: _Described) -> list[Ints]:
    """About the run of words of like status that a word stands in."""
    run, state, kind, word, size = words.run, words.state, words.kind, words.word, words.size
    clause = ((kind == KIND["relative"]) | (kind == KIND["auxiliary"])).astype(np.int64)
    comma = ((kind == KIND["comma"]) | (kind == KIND["bracket"])).astype(np.int64)
    light = (kind >= KIND["stop"]).astype(np.int64)
    inside = run.count(clause) * 16 + run.count(comma) * 4 + np.minimum(run.count(1 - light), 3)
    place = np.minimum(run.place, 3) * 4 + np.minimum(run.length - 1 - run.place, 3)
    first = run.first(word)
    return [
        size * 16 + place + 1000 * state,
        (run.first(kind) * 32 + run.last(kind)) * 16 + size,
        first,
        run.last(word),
        first * 32 + kind,
        (run.before(kind) * 32 + run.after(kind)) * 16 + size,
        run.before(word),
        run.after(word),
        inside * 16 + size,
        (inside * 32 + kind) * 8 + state,
    ]


def _of_gaps(words: _Described) -> list[Ints]:
    """About what stands in the same gap on the other side."""
    own, other, state, kind = words.own, words.other, words.state, words.kind
    gap = _Gap(own, other)
    first, last = _at(other.words, gap.first), _at(other.words, gap.last)
    first_kind, last_kind = words.known(first, KIND_COLUMN), words.known(last, KIND_COLUMN)
    other_kind, free = words.table[other.words, KIND_COLUMN], other.links < 0
    unaligned = _bucket(gap.unaligned)
    content = _bucket(gap.count(((other_kind < KIND["stop"]) & free).astype(np.int64)))
    stops = np.minimum(gap.count(((other_kind == KIND["stop"]) & free).astype(np.int64)), 2)
    return [
        (unaligned * 16 + words.size) * 8 + state,
        (content * 16 + unaligned) * 32 + kind,
        (first_kind * 32 + last_kind) * 8 + state,
        words.known(first, HASH),
        words.known(last, HASH),
        (first_kind * 32 + kind) * 8 + state,
        (words.known(first, ENDING) * 32 + words.ending) * 8 + state,
        stops * 64 + kind,
    ]


def _of_places(words: _Described) -> list[Ints]:
    """About moves, the whole pair, and where in it a word stands."""
    own, other, state, kind, word = words.own, words.other, words.state, words.kind, words.word
    lengths, aligned, stops = _pair_facts(own, other, state, kind)
    position = np.minimum(np.arange(own.words.shape[1]), 3)[None, :] + 0 * state
    at_end = shift(state, -1) == 0
    crossed = _crossed(own, other)
    return [
        _moved_facts(own, state),
        lengths * 8 + state,
        aligned * 8 + state,
        (stops * 32 + kind) * 8 + state,
        position * 32 + kind,
        at_end * 64 + kind,
        shift(kind, 2) * 32 + words.previous,
        shift(kind, -2) * 32 + words.following,
        shift(word, 2) * 8 + state,
        shift(word, -2) * 8 + state,
        (words.run.first(kind) * 32 + kind) * 16 + words.size,
        (words.run.last(kind) * 32 + kind) * 16 + words.size,
        crossed,
        crossed * 32 + kind,
    ]


class _Runs:
    """Runs of words of like status: where each starts and ends, and what stands at its ends and around it."""

    def __init__(self, state: Ints) -> None:
        pairs, width = state.shape
        column = np.arange(width)[None, :]
        # Kept and moved words form runs as well; changed forms count with their kind of place.
        group = np.where(state >= 2, 2 + (state >= 4), state)
        starts = np.ones((pairs, width), dtype=bool)
        starts[:, 1:] = group[:, 1:] != group[:, :-1]
        ends = np.ones((pairs, width), dtype=bool)
        ends[:, :-1] = starts[:, 1:]
        self._start = np.maximum.accumulate(np.where(starts, column, 0), axis=1)
        self._end = np.minimum.accumulate(np.where(ends, column, width - 1)[:, ::-1], axis=1)[:, ::-1]
        self.length: Ints = (self._end - self._start + 1).astype(np.int64)
        self.place: Ints = (column - self._start).astype(np.int64)

    def first(self, values: Ints) -> Ints:
        return np.take_along_axis(values, self._start, axis=1)

    def last(self, values: Ints) -> Ints:
        return np.take_along_axis(values, self._end, axis=1)

    def before(self, values: Ints) -> Ints:
        return np.take_along_axis(shift(values, 1), self._start, axis=1)

    def after(self, values: Ints) -> Ints:
        return np.take_along_axis(shift(values, -1), self._end, axis=1)

    def count(self, flags: Ints) -> Ints:
        """How often a flag is set in the run, at most three."""
        total = _total(flags)
        inside: Ints = np.take_along_axis(total, self._end + 1, axis=1) - np.take_along_axis(total, self._start, axis=1)
        return np.minimum(inside, 3).astype(np.int64)


class _Gap:
    """For each word, the stretch of the other side between the counterparts of the nearest words kept in place."""

    def __init__(self, own: AlignedSide, other: AlignedSide) -> None:
        width, other_width = own.words.shape[1], other.words.shape[1]
        anchored = (own.passes == 1) & (own.words != 0)
        length = (other.words != 0).sum(axis=1)[:, None]
        left = np.maximum.accumulate(np.where(anchored, own.links, -1), axis=1)
        self._left = np.concatenate([np.full((len(left), 1), -1), left[:, :-1]], axis=1)
        right = np.minimum.accumulate(np.where(anchored, own.links, other_width)[:, ::-1], axis=1)[:, ::-1]
        self._right = np.minimum(np.concatenate([right[:, 1:], np.full((len(right), 1), other_width)], axis=1), length)
        self._width = width
        free = ((other.links < 0) & (other.words != 0)).astype(np.int64)
        self.unaligned: Ints = self.count(free)
        # The first and last unaligned words of the stretch, by their order among all unaligned words of the pair.
        total = _total(free)
        index = np.zeros((len(free), other_width + 1), dtype=np.int64)
        rows, places = np.nonzero(free)
        index[rows, total[rows, places]] = places + 1
        first = np.take_along_axis(total, np.maximum(self._left + 1, 0), axis=1)
        self.first: Ints = np.where(
            self.unaligned > 0, np.take_along_axis(index, np.minimum(first, other_width), axis=1), 0
        )
        last = np.clip(first + self.unaligned - 1, 0, other_width)
        self.last: Ints = np.where(self.unaligned > 0, np.take_along_axis(index, last, axis=1), 0)

    def count(self, flags: Ints) -> Ints:
        """How often a flag of the other side's words is set in the stretch."""
        total = _total(flags)
        upper = np.take_along_axis(total, np.maximum(self._right, 0), axis=1)
        lower = np.take_along_axis(total, np.clip(self._left + 1, 0, flags.shape[1]), axis=1)
        inside: Ints = np.maximum(upper - lower, 0)
        return inside


def _moved_facts(own: AlignedSide, state: Ints) -> Ints:
    """Of a moved word: the length of the block that moved with it, and how far."""
    same = np.zeros(state.shape, dtype=bool)
    same[:, 1:] = (own.links[:, 1:] == own.links[:, :-1] + 1) & (own.passes[:, 1:] > 1) & (own.passes[:, :-1] > 1)
    block = _Runs(np.where(own.passes > 1, 4, 2).astype(np.int64)).length
    distance = np.abs(own.links - np.arange(state.shape[1])[None, :])
    return np.where(own.passes > 1, 1 + _bucket(block) * 32 + _bucket(distance.astype(np.int64)) * 2 + same, 0)


def _crossed(own: AlignedSide, other: AlignedSide) -> Ints:
    """Of a word kept in place: how many words moved across it, and how many other words they crossed with it.

    Where two phrases change places, which of them moved is the annotator's choice, and often it is both.
    """
    crossed = np.zeros(own.words.shape, dtype=np.int64)
    pairs = np.flatnonzero((own.passes > 1).any(axis=1))
    passes, links = own.passes[pairs], own.links[pairs]
    moved, other_moved = (_total((side > 1).astype(np.int64)) for side in (passes, other.passes[pairs]))
    kept = passes == 1
    net = moved[:, :-1] - np.take_along_axis(other_moved, np.maximum(links, 0).astype(np.int64), axis=1)
    net = np.where(kept, net, 0)
    size = ((net[:, :, None] == net[:, None, :]) & kept[:, None, :]).sum(axis=2)
    ratio = np.minimum(2 * size // np.maximum(np.abs(net), 1), 7)
    crossed[pairs] = np.where(net != 0, 1 + (np.minimum(np.abs(net), 9) * 8 + ratio) * 2 + (net > 0), 0)
    return crossed


def _pair_facts(own: AlignedSide, other: AlignedSide, state: Ints, kind: Ints) -> tuple[Ints, Ints, Ints]:
    """About the whole pair: lengths, how much was aligned, stops on either side."""
    sizes = (own.words != 0).sum(axis=1), (other.words != 0).sum(axis=1)
    ratio = np.clip(8 * sizes[1] // np.maximum(sizes[0], 1), 0, 20)
    free = np.clip(10 * (state == 1).sum(axis=1) // np.maximum(sizes[0], 1), 0, 9)
    other_free = np.clip(10 * ((other.links < 0) & (other.words != 0)).sum(axis=1) // np.maximum(sizes[1], 1), 0, 9)
    moved = np.minimum((own.passes > 1).sum(axis=1), 5)
    stops = np.minimum((kind == KIND["stop"]).sum(axis=1), 3)
    spread = np.zeros(own.words.shape[1], dtype=np.int64)[None, :]
    return (
        (ratio * 16 + free).astype(np.int64)[:, None] + spread,
        ((free * 16 + other_free) * 8 + moved).astype(np.int64)[:, None] + spread,
        (stops * 16 + moved).astype(np.int64)[:, None] + spread,
    )


def _total(flags: Ints) -> Ints:
    """How many flags are set before each place, and in all."""
    total = np.zeros((flags.shape[0], flags.shape[1] + 1), dtype=np.int64)
    np.cumsum(flags, axis=1, out=total[:, 1:])
    return total


def shift(values: Ints, by: int) -> Ints:
    """Values of the word ``by`` places before (negative: after); 0 beyond the ends."""
    moved = np.zeros_like(values)
    if by > 0:
        moved[:, by:] = values[:, :-by]
    else:
        moved[:, :by] = values[:, -by:]
    return moved


def _at(words: npt.NDArray[np.int32], places: Ints) -> npt.NDArray[np.int32]:
    """Words at places counted from 1; 0 is no word."""
    padded = np.concatenate([np.zeros((len(words), 1), dtype=words.dtype), words], axis=1)
    return np.take_along_axis(padded, places, axis=1)


def _bucket(values: Ints) -> Ints:
    return np.searchsorted(_LIMITS, values, side="right").astype(np.int64)
