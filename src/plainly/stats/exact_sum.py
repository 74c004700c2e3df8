"""Sums that do not depend on the order of addition: the same corpus gives the same score however it was divided.

Adding floating-point numbers in another order changes the last digits. Here every number is first rounded to a whole
multiple of 2⁻⁵⁶, item by item, and whole numbers are added, so that any partition gives the same total to the last bit.
Most rows are counts and are not changed by the rounding at all.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plainly.core.metric import Floats

Bins = npt.NDArray[np.int64]

# Items are assigned to bins by a hash of their id, and intervals are drawn over bins: see docs/scale.md.
BIN_BITS = 13
BINS = 1 << BIN_BITS

_HIGH_BITS = 16
_LOW_BITS = 40
_LARGEST = 2.0**32  # below it, the whole numbers of a batch of a million items fit 64 bits


@dataclass(frozen=True)
class ExactSum:
    """The sum of rows: whole multiples of 2⁻⁵⁶, and separately the values that are too large (infinite, above 2³²)."""

    units: tuple[int, ...]
    rest: tuple[float, ...]

    @classmethod
    def of(cls, rows: Floats) -> ExactSum:
        fits = np.abs(rows) < _LARGEST
        all_fit = bool(fits.all())
        multiples = (rows if all_fit else np.where(fits, rows, 0.0)) * 2.0**_HIGH_BITS
        high = np.rint(multiples)
        low = np.rint((multiples - high) * 2.0**_LOW_BITS)  # the difference is exact
        highs, lows = (part.astype(np.int64).sum(axis=0).tolist() for part in (high, low))
        rest = [0.0] * rows.shape[1] if all_fit else np.where(fits, 0.0, rows).sum(axis=0).tolist()
        return cls(tuple((h << _LOW_BITS) + low for h, low in zip(highs, lows, strict=True)), tuple(rest))

    @classmethod
    def zero(cls, width: int) -> ExactSum:
        return cls((0,) * width, (0.0,) * width)

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(
            tuple(a + b for a, b in zip(self.units, other.units, strict=True)),
            tuple(a + b for a, b in zip(self.rest, other.rest, strict=True)),
        )

    def to_floats(self) -> Floats:
        """Return the totals; each is the nearest floating-point number to the exact sum."""
        one = 1 << (_HIGH_BITS + _LOW_BITS)
        return np.array([units / one + rest for units, rest in zip(self.units, self.rest, strict=True)])


@dataclass
class BinnedSum:
    """Rows summed by bin: all that intervals and paired tests need of a billion items."""

    rows: Floats = field(repr=False)  # (BINS, k)

    @classmethod
    def zero(cls, width: int) -> BinnedSum:
        return cls(np.zeros((BINS, width)))

    def add(self, rows: Floats, order: BinOrder) -> None:
        """Add each item's row to its bin; ``order`` is shared by all metrics and systems of a batch."""
        if len(rows):
            self.rows[order.bins] += np.add.reduceat(rows[order.items], order.starts, axis=0)


@dataclass(frozen=True)
class BinOrder:
    """The items of a batch sorted by bin, so that adding them up is one pass without collisions."""

    items: npt.NDArray[np.intp]
    bins: Bins
    starts: npt.NDArray[np.intp]

    @classmethod
    def of(cls, keys: Sequence[str]) -> BinOrder:
        bins = bins_of(keys)
        items = np.argsort(bins, kind="stable")
        ascending = bins[items]
        starts = np.flatnonzero(np.diff(ascending, prepend=-1))
        return cls(items, ascending[starts], starts)


def bins_of(keys: Sequence[str]) -> Bins:
    """Return the bin of each key, which is the same on every machine and in every batch."""
    checksums = (zlib.crc32(key.encode("utf-8", "surrogatepass")) for key in keys)
    state = np.fromiter(checksums, dtype=np.uint64, count=len(keys))
    # Similar ids have similar checksums; the finaliser of splitmix64 scatters them.
    with np.errstate(over="ignore"):
        state = (state + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(64 - BIN_BITS)).astype(np.int64)
