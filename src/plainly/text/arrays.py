"""Texts as runs of numbers, end to end in one array, and a hash table that numbers a whole batch of keys at once.

Keys are numbered from 0, equal keys alike. A key is one 64-bit number or several, a column each. The hash only says
where to look; the keys themselves are compared, so the numbers are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ragged:
    """Text i is ``values[offsets[i]:offsets[i + 1]]``: numbers of chunks or tokens, or rows of facts."""

    values: Ints
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    @property
    def owners(self) -> Ints:
        """Which text each value belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def take(self, texts: Ints) -> Ragged:
        """The texts with these numbers, in this order."""
        lengths = self.lengths[texts]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        where = np.repeat(self.offsets[texts] - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
        return Ragged(self.values[where], offsets)

    def replaced(self, texts: Ints, others: Ragged) -> Ragged:
        """The same with other texts in place of these."""
        order = np.arange(len(self.offsets) - 1)
        order[texts] = len(order) + np.arange(len(texts))
        both = Ragged(
            np.concatenate((self.values, others.values)),
            np.concatenate((self.offsets, others.offsets[1:] + self.offsets[-1])),
        )
        return both.take(order)

    def sums(self, columns: slice) -> Ints:
        """These columns of the rows, summed over each text; a text without rows gives zeros."""
        width = len(range(*columns.indices(self.values.shape[1])))
        running = np.zeros((len(self.values) + 1, width), dtype=np.int64)
        np.cumsum(self.values[:, columns], axis=0, out=running[1:])
        return running[self.offsets[1:]] - running[self.offsets[:-1]]


def stretches(sizes: Iterable[int], *, most: int, room: int) -> Iterator[tuple[int, int]]:
    """Where to cut a row of things of these sizes: ``most`` at a time, or fewer where they fill the room; at least one
    stretch, though it be empty."""
    start = place = size = 0
    for place, length in enumerate(sizes, 1):
        size += length
        if place - start == most or size >= room:
            yield start, place
            start, size = place, 0
    if start < place or not place:
        yield start, place


Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int32]

_FEWEST_SLOTS = 16
_HALF = np.uint64(32)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_MORE = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class KeyTable:
    """Distinct keys, one a row, found by open addressing with linear probing; never changed, only replaced."""

    columns: tuple[Keys, ...]
    _slots: Rows  # the row in each slot, −1 where it is free; their number is a power of two

    def __len__(self) -> int:
        return len(self.columns[0])

    @classmethod
    def numbering(cls, *columns: Keys, slots_a_key: int = 2) -> tuple[KeyTable, Rows]:
        """The distinct keys among these, in the order in which they appear last, and the row of every key.

        There are more than ``slots_a_key`` slots, up to twice as many, for each key; keys that are nearly all different
        want more of them than keys with many repeats.
        """
        count = len(columns[0])
        slots = np.full(max(1 << (slots_a_key * count).bit_length(), _FEWEST_SLOTS), -1, dtype=np.int32)
        slot = _first_slots(columns, len(slots))
        positions = np.arange(count, dtype=np.int32)
        slots[slot] = positions  # where several want a slot, the last gets it
        holders = slots[slot]
        pending = np.flatnonzero(_differ(columns, holders, columns))
        keys = _at(columns, pending)
        while len(pending):
            slot[pending] = wanted = _next(slot[pending], slots)
            free = slots[wanted] < 0
            slots[wanted[free]] = pending[free]
            holders[pending] = here = slots[wanted]
            going_on = _differ(columns, here, keys)
            pending, keys = pending[going_on], _at(keys, going_on)
        distinct = np.flatnonzero(holders == positions)
        numbers = np.arange(len(distinct), dtype=np.int32)
        slots[slot[distinct]] = numbers
        positions[distinct] = numbers
        return cls(_at(columns, distinct), slots), positions[holders]

    def find(self, *columns: Keys) -> Rows:
        """The row of each key, −1 where it is not there."""
        if not len(self):
            return np.full(len(columns[0]), -1, dtype=np.int32)
        slot = _first_slots(columns, len(self._slots))
        rows = self._slots[slot]
        pending = np.flatnonzero((rows >= 0) & _differ(self.columns, rows, columns))
        slot, keys = slot[pending], _at(columns, pending)
        while len(pending):
            slot = _next(slot, self._slots)
            rows[pending] = here = self._slots[slot]
            going_on = (here >= 0) & _differ(self.columns, here, keys)
            pending, slot, keys = pending[going_on], slot[going_on], _at(keys, going_on)
        return rows


def pairs(first: Ints, second: Ints) -> Keys:
    """One key for each pair of numbers below 2**32."""
    return (first.astype(np.uint64) << _HALF) | second.astype(np.uint64)


def firsts(keys: Keys) -> Ints:
    """The first numbers of such pairs."""
    return (keys >> _HALF).view(np.int64)


def _first_slots(columns: tuple[Keys, ...], slots: int) -> Ints:
    state = columns[0] * _MIX
    for column in columns[1:]:
        state ^= column * _MIX_MORE
    state ^= state >> np.uint64(32)
    state *= _MIX_MORE
    state >>= np.uint64(65 - slots.bit_length())
    return state.view(np.int64)


def _next(slot: Ints, slots: Rows) -> Ints:
    return (slot + 1) & (len(slots) - 1)


def _at(columns: tuple[Keys, ...], where: npt.NDArray[Any]) -> tuple[Keys, ...]:
    return tuple(column[where] for column in columns)


def _differ(columns: tuple[Keys, ...], rows: Rows, keys: tuple[Keys, ...]) -> npt.NDArray[np.bool_]:
    """Where the keys in these rows are not the other keys."""
    differ: npt.NDArray[np.bool_] = columns[0][rows] != keys[0]
    for column, others in zip(columns[1:], keys[1:], strict=True):
        differ |= column[rows] != others
    return differ
