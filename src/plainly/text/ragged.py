"""Texts as runs of numbers, end to end in one array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
