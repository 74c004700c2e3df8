"""What the trained labeller looks at: for each word, about fifty facts as numbers, for a whole batch at once.

A fact is a template and a value, hashed to a row of the model's table. Facts are about the word, its neighbours, its
counterpart, the run of unaligned words that it stands in, and what stands in the same gap on the other side.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plainly.text.lexicon import KIND
from plainly.text.parse import Parse
from plainly.text.word_alignment import ENDING, HASH, KIND_COLUMN, LENGTH, LOWER, SHAPE, STEM, AlignedSide

Ints = npt.NDArray[np.int64]
Number = TypeVar("Number", np.int32, np.int64)
_MIX = np.int64(0x9E3779B1)
_LIMITS = np.array([0, 1, 2, 3, 4, 6, 8, 12, 20])


def status(own: AlignedSide, other: AlignedSide, table: npt.NDArray[np.int32]) -> Ints:
    """0 padding, 1 unaligned, 2 kept, 3 kept in another form, 4 moved, 5 moved in another form."""
    same = table[_counterparts(own, other), LOWER] == table[own.words, LOWER]
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
        self.run = Runs(self.state)
        self.size = _bucket(self.run.length)

    def known(self, words: npt.NDArray[np.integer[Any]], column: int) -> Ints:
        """A column of the table, for words by their numbers."""
        column_of_words: Ints = self.table[words, column].astype(np.int64)
        return column_of_words


def _of_words(words: _Described) -> list[Ints]:
    """About a word, its neighbours and its counterpart."""
    own, other, state, kind, word, ending = words.own, words.other, words.state, words.kind, words.word, words.ending
    counterpart = np.where(own.links >= 0, _counterparts(own, other), 0)
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
    first = take(word, run.start)
    before, after = take(words.previous, run.start), take(words.following, run.end)
    return [
        size * 16 + place + 1000 * state,
        (take(kind, run.start) * 32 + take(kind, run.end)) * 16 + size,
        first,
        take(word, run.end),
        first * 32 + kind,
        (before * 32 + after) * 16 + size,
        take(shift(word, 1), run.start),
        take(shift(word, -1), run.end),
        inside * 16 + size,
        (inside * 32 + kind) * 8 + state,
    ]


def _of_gaps(words: _Described) -> list[Ints]:
    """About what stands in the same gap on the other side."""
    own, other, state, kind = words.own, words.other, words.state, words.kind
    gap = _Gap(own, other)
    first_kind, last_kind = words.known(gap.first, KIND_COLUMN), words.known(gap.last, KIND_COLUMN)
    other_kind, free = words.table[other.words, KIND_COLUMN], other.links < 0
    unaligned = _bucket(gap.unaligned)
    content = _bucket(gap.count(((other_kind < KIND["stop"]) & free).astype(np.int64)))
    stops = np.minimum(gap.count(((other_kind == KIND["stop"]) & free).astype(np.int64)), 2)
    return [
        (unaligned * 16 + words.size) * 8 + state,
        (content * 16 + unaligned) * 32 + kind,
        (first_kind * 32 + last_kind) * 8 + state,
        words.known(gap.first, HASH),
        words.known(gap.last, HASH),
        (first_kind * 32 + kind) * 8 + state,
        (words.known(gap.first, ENDING) * 32 + words.ending) * 8 + state,
        stops * 64 + kind,
    ]


def _of_places(words: _Described) -> list[Ints]:
    """About moves, the whole pair (lengths, how much was aligned, stops), and where in it a word stands."""
    own, other, state, kind, word, run = words.own, words.other, words.state, words.kind, words.word, words.run
    size, other_size = ((side.words != 0).sum(axis=1, keepdims=True) for side in (own, other))
    unaligned = (state == 1).sum(axis=1, keepdims=True)
    other_unaligned = ((other.links < 0) & (other.words != 0)).sum(axis=1, keepdims=True)
    ratio = np.clip(8 * other_size // np.maximum(size, 1), 0, 20)
    free = np.clip(10 * unaligned // np.maximum(size, 1), 0, 9)
    other_free = np.clip(10 * other_unaligned // np.maximum(other_size, 1), 0, 9)
    moved = np.minimum((own.passes > 1).sum(axis=1, keepdims=True), 5)
    stops = np.minimum((kind == KIND["stop"]).sum(axis=1, keepdims=True), 3)
    position = np.minimum(np.arange(own.words.shape[1]), 3)
    at_end = shift(state, -1) == 0
    crossed = _crossed(own, other)
    return [
        _moved_facts(own, state),
        (ratio * 16 + free) * 8 + state,
        ((free * 16 + other_free) * 8 + moved) * 8 + state,
        ((stops * 16 + moved) * 32 + kind) * 8 + state,
        position * 32 + kind,
        at_end * 64 + kind,
        shift(kind, 2) * 32 + words.previous,
        shift(kind, -2) * 32 + words.following,
        shift(word, 2) * 8 + state,
        shift(word, -2) * 8 + state,
        (take(kind, run.start) * 32 + kind) * 16 + words.size,
        (take(kind, run.end) * 32 + kind) * 16 + words.size,
        crossed,
        crossed * 32 + kind,
    ]


class Runs:
    """Runs of words of like status: for each word, where its run starts and ends, and its place in it."""

    def __init__(self, state: Ints) -> None:
        column = np.arange(state.shape[1])[None, :]
        # Kept and moved words form runs as well; changed forms count with their kind of place.
        group = np.where(state >= 2, 2 + (state >= 4), state)
        starts, ends = np.ones(state.shape, dtype=bool), np.ones(state.shape, dtype=bool)
        starts[:, 1:] = group[:, 1:] != group[:, :-1]
        ends[:, :-1] = starts[:, 1:]
        self.start: Ints = np.maximum.accumulate(np.where(starts, column, 0), axis=1)
        self.end: Ints = np.minimum.accumulate(np.where(ends, column, state.shape[1] - 1)[:, ::-1], axis=1)[:, ::-1]
        self.length: Ints = self.end - self.start + 1
        self.place: Ints = column - self.start

    def count(self, flags: Ints) -> Ints:
        """How often a flag is set in the run, at most three."""
        total = _total(flags)
        inside: Ints = np.minimum(take(total, self.end + 1) - take(total, self.start), 3)
        return inside


class _Gap:
    """For each word, the stretch of the other side between the counterparts of the nearest words kept in place."""

    def __init__(self, own: AlignedSide, other: AlignedSide) -> None:
        other_width = other.words.shape[1]
        anchored = (own.passes == 1) & (own.words != 0)
        length = (other.words != 0).sum(axis=1, keepdims=True)
        left = np.maximum.accumulate(np.where(anchored, own.links, -1), axis=1)
        self._left = np.concatenate([np.full((len(left), 1), -1), left[:, :-1]], axis=1)
        right = np.minimum.accumulate(np.where(anchored, own.links, other_width)[:, ::-1], axis=1)[:, ::-1]
        self._right = np.minimum(np.concatenate([right[:, 1:], np.full((len(right), 1), other_width)], axis=1), length)
        free = ((other.links < 0) & (other.words != 0)).astype(np.int64)
        self.unaligned = self.count(free)
        # Unaligned words by their order among all unaligned words of the pair.
        total = _total(free)
        by_order = np.zeros((len(free), other_width + 1), dtype=np.int64)
        rows, places = np.nonzero(free)
        by_order[rows, total[rows, places]] = other.words[rows, places]
        first = take(total, np.maximum(self._left + 1, 0))
        last = np.clip(first + self.unaligned - 1, 0, other_width)
        # The first and last unaligned words of the stretch; 0 where it has none.
        self.first, self.last = (
            np.where(self.unaligned > 0, take(by_order, np.minimum(order, other_width)), 0) for order in (first, last)
        )

    def count(self, flags: Ints) -> Ints:
        """How often a flag of the other side's words is set in the stretch."""
        total = _total(flags)
        upper = take(total, np.maximum(self._right, 0))
        inside: Ints = np.maximum(upper - take(total, np.clip(self._left + 1, 0, flags.shape[1])), 0)
        return inside


def _moved_facts(own: AlignedSide, state: Ints) -> Ints:
    """Of a moved word: the length of the block that moved with it, and how far."""
    same = np.zeros(state.shape, dtype=bool)
    same[:, 1:] = (own.links[:, 1:] == own.links[:, :-1] + 1) & (own.passes[:, 1:] > 1) & (own.passes[:, :-1] > 1)
    block = Runs(np.where(own.passes > 1, 4, 2).astype(np.int64)).length
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
    net = np.where(kept, moved[:, :-1] - take(other_moved, np.maximum(links, 0)), 0)
    size = ((net[:, :, None] == net[:, None, :]) & kept[:, None, :]).sum(axis=2)
    ratio = np.minimum(2 * size // np.maximum(np.abs(net), 1), 7)
    crossed[pairs] = np.where(net != 0, 1 + (np.minimum(np.abs(net), 9) * 8 + ratio) * 2 + (net > 0), 0)
    return crossed


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


def take(values: npt.NDArray[Number], places: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Number]:
    """Of each pair, the values at places."""
    return np.take_along_axis(values, places, axis=1)


def _counterparts(own: AlignedSide, other: AlignedSide) -> npt.NDArray[np.int32]:
    """The other side's word that each word is aligned with; any word where there is none."""
    return take(other.words, np.maximum(own.links, 0))


def _bucket(values: Ints) -> Ints:
    return np.searchsorted(_LIMITS, values, side="right").astype(np.int64)


def parse_values(parses: Sequence[Parse], state: Ints, kind: Ints) -> list[Ints]:
    """Facts from parses, padded to a batch: tags and relations of a word, its head, and the top of its stretch.

    What decides whether a deletion is a modifier, a clause or something else is how its topmost word hangs on the rest;
    so each word also looks at the top of the unaligned stretch that it stands in.
    """
    width = state.shape[1]
    padded = np.zeros((3, *state.shape), dtype=np.int64)
    for at, parse in enumerate(parses):
        size = min(len(parse.tags), width)
        padded[:, at, :size] = [values[:size] for values in parse]
    tags, relations, heads = padded
    heads = np.minimum(heads, width - 1)
    column = np.broadcast_to(np.arange(width), state.shape)
    run = Runs(state).start
    top = column.copy()
    for _ in range(8):
        above = take(heads, top)
        top = np.where(take(run, above) == run, above, top)
    over = take(heads, top)
    top_tag, top_relation, over_state = take(tags, top), take(relations, top), take(state, over)
    size = np.minimum(np.abs(top - column), 3)
    return [
        tags * 8 + state,
        relations * 8 + state,
        (take(tags, heads) * 64 + relations) * 8 + state,
        (relations * 8 + state) * 8 + take(state, heads),
        top_relation * 8 + state,
        top_tag * 8 + state,
        (top_relation * 32 + kind) * 8 + state,
        (top_relation * 8 + over_state) * 8 + state,
        (take(tags, over) * 8 + over_state) * 8 + state,
        (top_relation * 4 + size) * 8 + state,
        shift(tags, 1) * 8 + state,
        shift(tags, -1) * 8 + state,
        shift(relations, 1) * 8 + state,
        shift(relations, -1) * 8 + state,
    ]
