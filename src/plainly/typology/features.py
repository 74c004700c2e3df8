"""What the trained labeller looks at: for each word, about fifty facts as numbers, for a whole batch at once.

A fact is a template and a value, hashed to a row of the model's table. Facts are about the word, its neighbours, its
counterpart, the run of unaligned words that it stands in, and what stands in the same gap on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.typology.align import ENDING, HASH, KIND_COLUMN, LENGTH, LOWER, SHAPE, STEM, Aligned
from plainly.typology.words import KIND

Ints = npt.NDArray[np.int64]
_MIX = np.int64(0x9E3779B1)
_LIMITS = np.array([0, 1, 2, 3, 4, 6, 8, 12, 20])


@dataclass(frozen=True)
class View:
    """One side of a batch and the other, seen from it; all arrays are (pairs, words), padded."""

    words: npt.NDArray[np.int32]
    other: npt.NDArray[np.int32]
    links: npt.NDArray[np.int32]
    other_links: npt.NDArray[np.int32]
    passes: npt.NDArray[np.int32]
    other_passes: npt.NDArray[np.int32]


def views(batch: Aligned) -> tuple[View, View]:
    """The batch as seen from the source and from the output."""
    return (
        View(batch.source, batch.output, batch.source_link, batch.output_link, batch.source_pass, batch.output_pass),
        View(batch.output, batch.source, batch.output_link, batch.source_link, batch.output_pass, batch.source_pass),
    )


def status(view: View, table: npt.NDArray[np.int32]) -> Ints:
    """0 padding, 1 unaligned, 2 kept, 3 kept in another form, 4 moved, 5 moved in another form."""
    lower = table[:, LOWER]
    counterpart = np.take_along_axis(view.other, np.maximum(view.links, 0), axis=1)
    same = lower[counterpart] == lower[view.words]
    found = np.where(view.links < 0, 1, 2 + (~same) + 2 * (view.passes > 1))
    return np.where(view.words == 0, 0, found).astype(np.int64)


def features(view: View, table: npt.NDArray[np.int32], *, side: int, buckets: int) -> Ints:
    """Rows of the model's table for every real word, (words, facts), in the order of the pairs."""
    values = _values(view, table)
    real = view.words != 0
    found = np.empty((int(real.sum()), len(values)), dtype=np.int64)
    for template, value in enumerate(values):
        hashed = (value[real].astype(np.int64) * 128 + template) * 2 + side
        hashed = (hashed ^ (hashed >> 15)) * _MIX
        found[:, template] = (hashed ^ (hashed >> 29)) % buckets
    return found


def _values(view: View, table: npt.NDArray[np.int32]) -> list[Ints]:
    kind, word = table[view.words, KIND_COLUMN].astype(np.int64), table[view.words, HASH].astype(np.int64)
    ending, length, shape = (table[view.words, column].astype(np.int64) for column in (ENDING, LENGTH, SHAPE))
    state = status(view, table)
    counterpart = np.where(view.links >= 0, np.take_along_axis(view.other, np.maximum(view.links, 0), axis=1), 0)
    other_kind = table[counterpart, KIND_COLUMN].astype(np.int64)
    other_word, other_ending = table[counterpart, HASH].astype(np.int64), table[counterpart, ENDING].astype(np.int64)
    same_stem = (table[counterpart, STEM] == table[view.words, STEM]).astype(np.int64)

    run = _Runs(state)
    gap = _Gap(view)
    gap_first, gap_last = _at(view.other, gap.first), _at(view.other, gap.last)
    gap_kind_first, gap_kind_last = (
        table[gap_first, KIND_COLUMN].astype(np.int64),
        table[gap_last, KIND_COLUMN].astype(np.int64),
    )
    clause = ((kind == KIND["relative"]) | (kind == KIND["auxiliary"])).astype(np.int64)
    comma = ((kind == KIND["comma"]) | (kind == KIND["bracket"])).astype(np.int64)
    light = (kind >= KIND["stop"]).astype(np.int64)
    in_run = run.count(clause) * 16 + run.count(comma) * 4 + np.minimum(run.count(1 - light), 3)
    run_first, run_last = run.first(word), run.last(word)
    kind_first, kind_last = run.first(kind), run.last(kind)
    before, after = run.before(kind), run.after(kind)
    size = _bucket(run.length)
    place = np.minimum(run.place, 3) * 4 + np.minimum(run.length - 1 - run.place, 3)
    counted = _bucket(gap.unaligned)
    gap_content = _bucket(
        gap.count(((table[view.other, KIND_COLUMN] < KIND["stop"]) & (view.other_links < 0)).astype(np.int64))
    )
    gap_stop = np.minimum(
        gap.count(((table[view.other, KIND_COLUMN] == KIND["stop"]) & (view.other_links < 0)).astype(np.int64)), 2
    )
    shift = np.where(view.links >= 0, view.links - np.arange(view.words.shape[1]), 0).astype(np.int64)
    shifted = np.sign(shift) * _bucket(np.abs(shift)) + 10
    facts_of_pair = _pair_facts(view, state, kind)
    crossed = _crossed(view)
    around = state * 216 + _shift(state, 1) * 36 + _shift(state, -1) * 6
    previous, following = _shift(kind, 1), _shift(kind, -1)
    position = np.minimum(np.arange(view.words.shape[1]), 3)[None, :] + 0 * state
    rest = _shift(state, -1) == 0
    return [
        state,
        word * 8 + state,
        kind * 8 + state,
        ending * 8 + state,
        (length * 4 + shape) * 8 + state,
        around,
        around * 36 + _shift(state, 2) * 6 + _shift(state, -2),
        _shift(word, 1) * 8 + state,
        _shift(word, -1) * 8 + state,
        (previous * 32 + kind) * 8 + state,
        (kind * 32 + following) * 8 + state,
        (previous * 32 + following) * 8 + state,
        _shift(ending, 1) * 8 + state,
        _shift(ending, -1) * 8 + state,
        other_word * 8 + state,
        (other_kind * 32 + kind) * 8 + state,
        (other_ending * 32 + ending) * 8 + state + 8192 * same_stem,
        shifted * 8 + state,
        size * 16 + place + 1000 * state,
        (kind_first * 32 + kind_last) * 16 + size,
        run_first,
        run_last,
        run_first * 32 + kind,
        (before * 32 + after) * 16 + size,
        run.before(word),
        run.after(word),
        in_run * 16 + size,
        (in_run * 32 + kind) * 8 + state,
        (counted * 16 + size) * 8 + state,
        (gap_content * 16 + counted) * 32 + kind,
        (gap_kind_first * 32 + gap_kind_last) * 8 + state,
        table[gap_first, HASH].astype(np.int64),
        table[gap_last, HASH].astype(np.int64),
        (gap_kind_first * 32 + kind) * 8 + state,
        (table[gap_first, ENDING].astype(np.int64) * 32 + ending) * 8 + state,
        gap_stop * 64 + kind,
        _moved_facts(view, state),
        facts_of_pair[0] * 8 + state,
        facts_of_pair[1] * 8 + state,
        (facts_of_pair[2] * 32 + kind) * 8 + state,
        position * 32 + kind,
        rest * 64 + kind,
        _shift(kind, 2) * 32 + previous,
        _shift(kind, -2) * 32 + following,
        _shift(word, 2) * 8 + state,
        _shift(word, -2) * 8 + state,
        (kind_first * 32 + kind) * 16 + size,
        (kind_last * 32 + kind) * 16 + size,
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
        return np.take_along_axis(_shift(values, 1), self._start, axis=1)

    def after(self, values: Ints) -> Ints:
        return np.take_along_axis(_shift(values, -1), self._end, axis=1)

    def count(self, flags: Ints) -> Ints:
        """How often a flag is set in the run, at most three."""
        total = _total(flags)
        found: Ints = np.take_along_axis(total, self._end + 1, axis=1) - np.take_along_axis(total, self._start, axis=1)
        return np.minimum(found, 3).astype(np.int64)


class _Gap:
    """For each word, the stretch of the other side between the counterparts of the nearest words kept in place."""

    def __init__(self, view: View) -> None:
        width, other_width = view.words.shape[1], view.other.shape[1]
        anchored = (view.passes == 1) & (view.words != 0)
        length = (view.other != 0).sum(axis=1)[:, None]
        left = np.maximum.accumulate(np.where(anchored, view.links, -1), axis=1)
        self._left = np.concatenate([np.full((len(left), 1), -1), left[:, :-1]], axis=1)
        right = np.minimum.accumulate(np.where(anchored, view.links, other_width)[:, ::-1], axis=1)[:, ::-1]
        self._right = np.minimum(np.concatenate([right[:, 1:], np.full((len(right), 1), other_width)], axis=1), length)
        self._width = width
        free = ((view.other_links < 0) & (view.other != 0)).astype(np.int64)
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
        found: Ints = np.maximum(upper - lower, 0)
        return found


def _moved_facts(view: View, state: Ints) -> Ints:
    """Of a moved word: the length of the block that moved with it, and how far."""
    same = np.zeros(state.shape, dtype=bool)
    same[:, 1:] = (view.links[:, 1:] == view.links[:, :-1] + 1) & (view.passes[:, 1:] > 1) & (view.passes[:, :-1] > 1)
    block = _Runs(np.where(view.passes > 1, 4, 2).astype(np.int64)).length
    distance = np.abs(view.links - np.arange(state.shape[1])[None, :])
    return np.where(view.passes > 1, 1 + _bucket(block) * 32 + _bucket(distance.astype(np.int64)) * 2 + same, 0)


def _crossed(view: View) -> Ints:
    """Of a word kept in place: how many words moved across it, and how many other words they crossed with it.

    Where two phrases change places, which of them moved is the annotator's choice, and often it is both.
    """
    found = np.zeros(view.words.shape, dtype=np.int64)
    pairs = np.flatnonzero((view.passes > 1).any(axis=1))
    passes, links = view.passes[pairs], view.links[pairs]
    own, other = (_total((each > 1).astype(np.int64)) for each in (passes, view.other_passes[pairs]))
    kept = passes == 1
    net = own[:, :-1] - np.take_along_axis(other, np.maximum(links, 0).astype(np.int64), axis=1)
    net = np.where(kept, net, 0)
    size = ((net[:, :, None] == net[:, None, :]) & kept[:, None, :]).sum(axis=2)
    ratio = np.minimum(2 * size // np.maximum(np.abs(net), 1), 7)
    found[pairs] = np.where(net != 0, 1 + (np.minimum(np.abs(net), 9) * 8 + ratio) * 2 + (net > 0), 0)
    return found


def _pair_facts(view: View, state: Ints, kind: Ints) -> tuple[Ints, Ints, Ints]:
    """About the whole pair: lengths, how much was aligned, stops on either side."""
    sizes = (view.words != 0).sum(axis=1), (view.other != 0).sum(axis=1)
    ratio = np.clip(8 * sizes[1] // np.maximum(sizes[0], 1), 0, 20)
    free = np.clip(10 * (state == 1).sum(axis=1) // np.maximum(sizes[0], 1), 0, 9)
    other_free = np.clip(10 * ((view.other_links < 0) & (view.other != 0)).sum(axis=1) // np.maximum(sizes[1], 1), 0, 9)
    moved = np.minimum((view.passes > 1).sum(axis=1), 5)
    stops = np.minimum((kind == KIND["stop"]).sum(axis=1), 3)
    spread = np.zeros(view.words.shape[1], dtype=np.int64)[None, :]
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


def _shift(values: Ints, by: int) -> Ints:
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
