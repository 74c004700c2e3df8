"""Input of the trained labeller: about fifty facts per word as numbers, for a whole batch at once.

A fact is a template and a value, hashed to a row of the model's table. Facts describe the word, its neighbours, its
counterpart, its run of unaligned words, and the words in the same gap on the other side.
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
    """Return 0 for padding, 1 unaligned, 2 kept, 3 kept in another form, 4 moved, 5 moved in another form."""
    is_same = table[_counterparts(own, other), LOWER] == table[own.words, LOWER]
    values = np.where(own.links < 0, 1, 2 + (~is_same) + 2 * (own.passes > 1))
    return np.where(own.words == 0, 0, values).astype(np.int64)


def features(own: AlignedSide, other: AlignedSide, table: npt.NDArray[np.int32], *, side: int, buckets: int) -> Ints:
    """Return rows of the model's table for every real word, (words, facts), in the order of the pairs."""
    real = own.words != 0
    values = [value[real].astype(np.int64) for value in _describe_words(own, other, table)]
    return hash_values(values, 0, side=side, buckets=buckets)


def hash_values(values: Sequence[Ints], first: int, *, side: int, buckets: int) -> Ints:
    """Hash values of templates, numbered from ``first``, to rows of the model's table: (words, templates)."""
    rows = np.empty((len(values[0]), len(values)), dtype=np.int64)
    for template, value in enumerate(values):
        mixed = (value * 128 + first + template) * 2 + side
        mixed = (mixed ^ (mixed >> 15)) * _MIX
        rows[:, template] = (mixed ^ (mixed >> 29)) % buckets
    return rows


def _describe_words(own: AlignedSide, other: AlignedSide, table: npt.NDArray[np.int32]) -> list[Ints]:
    """Return the facts about each word; the trained weights know a fact by its position in this list."""

    def column(words: npt.NDArray[np.integer[Any]], number: int) -> Ints:
        return np.asarray(table[words, number], dtype=np.int64)

    state = status(own, other, table)
    columns = KIND_COLUMN, HASH, ENDING, LENGTH, SHAPE
    kind, word, ending, length, shape = (column(own.words, number) for number in columns)
    previous, following = shift(kind, 1), shift(kind, -1)

    # About a word, its neighbours and its counterpart.
    counterpart = np.where(own.links >= 0, _counterparts(own, other), 0)
    same_stem = (table[counterpart, STEM] == table[own.words, STEM]).astype(np.int64)
    distance = np.where(own.links >= 0, own.links - np.arange(own.words.shape[1]), 0).astype(np.int64)
    around = state * 216 + shift(state, 1) * 36 + shift(state, -1) * 6
    facts = [
        state,
        word * 8 + state,
        kind * 8 + state,
        ending * 8 + state,
        (length * 4 + shape) * 8 + state,
        around,
        around * 36 + shift(state, 2) * 6 + shift(state, -2),
        shift(word, 1) * 8 + state,
        shift(word, -1) * 8 + state,
        (previous * 32 + kind) * 8 + state,
        (kind * 32 + following) * 8 + state,
        (previous * 32 + following) * 8 + state,
        shift(ending, 1) * 8 + state,
        shift(ending, -1) * 8 + state,
        column(counterpart, HASH) * 8 + state,
        (column(counterpart, KIND_COLUMN) * 32 + kind) * 8 + state,
        (column(counterpart, ENDING) * 32 + ending) * 8 + state + 8192 * same_stem,
        (np.sign(distance) * _bucket(np.abs(distance)) + 10) * 8 + state,
    ]

    # About the run of words of like status that a word stands in.
    run = Runs(state)
    size = _bucket(run.length)
    clause = ((kind == KIND["relative"]) | (kind == KIND["auxiliary"])).astype(np.int64)
    comma = ((kind == KIND["comma"]) | (kind == KIND["bracket"])).astype(np.int64)
    heavy = (kind < KIND["stop"]).astype(np.int64)
    inside = run.count(clause) * 16 + run.count(comma) * 4 + np.minimum(run.count(heavy), 3)
    place = np.minimum(run.place, 3) * 4 + np.minimum(run.length - 1 - run.place, 3)
    first_word, first_kind, last_kind = take(word, run.start), take(kind, run.start), take(kind, run.end)
    facts += [
        size * 16 + place + 1000 * state,
        (first_kind * 32 + last_kind) * 16 + size,
        first_word,
        take(word, run.end),
        first_word * 32 + kind,
        (take(previous, run.start) * 32 + take(following, run.end)) * 16 + size,
        take(shift(word, 1), run.start),
        take(shift(word, -1), run.end),
        inside * 16 + size,
        (inside * 32 + kind) * 8 + state,
    ]

    # About what stands in the same gap on the other side.
    gap = _Gap(own, other)
    gap_first, gap_last = column(gap.first, KIND_COLUMN), column(gap.last, KIND_COLUMN)
    other_kind, free = table[other.words, KIND_COLUMN], other.links < 0
    unaligned = _bucket(gap.unaligned)
    content = _bucket(gap.count(((other_kind < KIND["stop"]) & free).astype(np.int64)))
    gap_stops = np.minimum(gap.count(((other_kind == KIND["stop"]) & free).astype(np.int64)), 2)
    facts += [
        (unaligned * 16 + size) * 8 + state,
        (content * 16 + unaligned) * 32 + kind,
        (gap_first * 32 + gap_last) * 8 + state,
        column(gap.first, HASH),
        column(gap.last, HASH),
        (gap_first * 32 + kind) * 8 + state,
        (column(gap.first, ENDING) * 32 + ending) * 8 + state,
        gap_stops * 64 + kind,
    ]

    # About moves, the whole pair (lengths, how much was aligned, stops), and where in it a word stands.
    (words, free_share), (other_words, other_free_share) = _count_words(own), _count_words(other)
    ratio = np.clip(8 * other_words // np.maximum(words, 1), 0, 20)
    moves = np.minimum((own.passes > 1).sum(axis=1, keepdims=True), 5)
    stops = np.minimum((kind == KIND["stop"]).sum(axis=1, keepdims=True), 3)
    crossings = _count_crossings(own, other)
    return [
        *facts,
        _describe_moves(own, state),
        (ratio * 16 + free_share) * 8 + state,
        ((free_share * 16 + other_free_share) * 8 + moves) * 8 + state,
        ((stops * 16 + moves) * 32 + kind) * 8 + state,
        np.minimum(np.arange(own.words.shape[1]), 3) * 32 + kind,
        (shift(state, -1) == 0) * 64 + kind,
        shift(kind, 2) * 32 + previous,
        shift(kind, -2) * 32 + following,
        shift(word, 2) * 8 + state,
        shift(word, -2) * 8 + state,
        (first_kind * 32 + kind) * 16 + size,
        (last_kind * 32 + kind) * 16 + size,
        crossings,
        crossings * 32 + kind,
    ]


def _count_words(side: AlignedSide) -> tuple[Ints, Ints]:
    """Return the words of each pair on a side, and the tenths of them that are unaligned, at most nine."""
    words = (side.words != 0).sum(axis=1, keepdims=True)
    unaligned = ((side.links < 0) & (side.words != 0)).sum(axis=1, keepdims=True)
    return words, np.clip(10 * unaligned // np.maximum(words, 1), 0, 9)


class Runs:
    """Runs of words of like status: for each word, the start and end of its run and its position in it."""

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
        """Return how often a flag is set in the run, at most three."""
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
        """Return how often a flag of the other side's words is set in the stretch."""
        total = _total(flags)
        upper = take(total, np.maximum(self._right, 0))
        inside: Ints = np.maximum(upper - take(total, np.clip(self._left + 1, 0, flags.shape[1])), 0)
        return inside


def _describe_moves(own: AlignedSide, state: Ints) -> Ints:
    """Return, for a moved word, the length of the block that moved with it and the distance."""
    same = np.zeros(state.shape, dtype=bool)
    same[:, 1:] = (own.links[:, 1:] == own.links[:, :-1] + 1) & (own.passes[:, 1:] > 1) & (own.passes[:, :-1] > 1)
    block = Runs(np.where(own.passes > 1, 4, 2).astype(np.int64)).length
    distance = np.abs(own.links - np.arange(state.shape[1])[None, :])
    return np.where(own.passes > 1, 1 + _bucket(block) * 32 + _bucket(distance.astype(np.int64)) * 2 + same, 0)


def _count_crossings(own: AlignedSide, other: AlignedSide) -> Ints:
    """Return, for a word kept in place, how many words moved across it and how many other words they crossed.

    Where two phrases change places, annotators differ in which of them they mark as moved, and often mark both.
    """
    crossings = np.zeros(own.words.shape, dtype=np.int64)
    pairs = np.flatnonzero((own.passes > 1).any(axis=1))
    passes, links = own.passes[pairs], own.links[pairs]
    moved, other_moved = (_total((side > 1).astype(np.int64)) for side in (passes, other.passes[pairs]))
    in_place = passes == 1
    net = np.where(in_place, moved[:, :-1] - take(other_moved, np.maximum(links, 0)), 0)
    size = ((net[:, :, None] == net[:, None, :]) & in_place[:, None, :]).sum(axis=2)
    ratio = np.minimum(2 * size // np.maximum(np.abs(net), 1), 7)
    crossings[pairs] = np.where(net != 0, 1 + (np.minimum(np.abs(net), 9) * 8 + ratio) * 2 + (net > 0), 0)
    return crossings


def _total(flags: Ints) -> Ints:
    """Return how many flags are set before each position, and in all."""
    total = np.zeros((flags.shape[0], flags.shape[1] + 1), dtype=np.int64)
    np.cumsum(flags, axis=1, out=total[:, 1:])
    return total


def shift(values: Ints, by: int) -> Ints:
    """Return the values of the word ``by`` positions before (negative: after); 0 beyond the ends."""
    shifted = np.zeros_like(values)
    if by > 0:
        shifted[:, by:] = values[:, :-by]
    else:
        shifted[:, :by] = values[:, -by:]
    return shifted


def take(values: npt.NDArray[Number], places: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Number]:
    """Return the values at some positions of each pair."""
    return np.take_along_axis(values, places, axis=1)


def _counterparts(own: AlignedSide, other: AlignedSide) -> npt.NDArray[np.int32]:
    """Return the other side's word that each word is aligned with; any word where there is none."""
    return take(other.words, np.maximum(own.links, 0))


def _bucket(values: Ints) -> Ints:
    return np.searchsorted(_LIMITS, values, side="right").astype(np.int64)


def parse_values(parses: Sequence[Parse], state: Ints, kind: Ints) -> list[Ints]:
    """Return facts from parses, padded to a batch: tags and relations of a word, its head, and the top of its stretch.

    Whether a deletion is a modifier, a clause or something else depends on how its topmost word is attached to the
    rest, so each word also looks at the top of its unaligned stretch.
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
