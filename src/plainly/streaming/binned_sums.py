"""What remains of the rows of a part: sums, by bin and in all, and the rows that could not be measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from plainly.core.evalset import EvalSet, fingerprint
from plainly.core.metric import Floats
from plainly.stats.exact_sum import Binned, BinOrder, ExactSum
from plainly.streaming.batches import Bad
from plainly.streaming.corpus import Texts

# Rows set aside that are kept by name; all are counted, and all are written where a file for them was named.
NAMED = 1000
_FINGERPRINTS = 1 << 64
_SAME = 1e-9  # two scores closer than this are equal, as in plainly.scoring.compare


@dataclass
class Sums:
    """One metric on one system: the sum, and the rows by bin, or by item and part where the corpus is held."""

    exact: ExactSum
    binned: Binned | None
    kept: dict[int, Floats] = field(default_factory=dict)

    def add(self, rows: Floats, order: BinOrder | None, part: int | None) -> None:
        self.exact += ExactSum.of(rows)
        if self.binned is not None and order is not None:
            self.binned.add(rows, order)
        if part is not None:
            self.kept[part] = np.concatenate([self.kept[part], rows]) if part in self.kept else rows

    def merge(self, other: Sums) -> None:
        """Add what was measured of other parts."""
        self.exact += other.exact
        if self.binned is not None and other.binned is not None:
            self.binned.rows += other.binned.rows
        self.kept |= other.kept


@dataclass
class Totals:
    """Everything known of the items measured so far. Adding those of two parts gives those of both, in any order."""

    items: int = 0
    read: int = 0
    set_aside: int = 0
    bad: list[Bad] = field(default_factory=list)
    references: tuple[int, int] | None = None  # fewest and most of an item
    fingerprint: int = 0
    sums: dict[tuple[str, str], Sums] = field(default_factory=dict)
    # (metric, system, other system) → on how many items the first scores higher, lower and the same
    outcomes: dict[tuple[str, str, str], tuple[int, int, int]] = field(default_factory=dict)
    # By part, the texts of a corpus that is held; they are in no state on disk, where they would be there twice.
    texts: dict[int, list[Texts]] = field(default_factory=dict)

    def count(self, evalset: EvalSet) -> None:
        """Take note of a batch's texts: how many, how many references, and a fingerprint that no order changes."""
        self.items += len(evalset)
        if evalset.references and len(evalset):
            counts = evalset.reference_counts
            self._widen((int(counts.min()), int(counts.max())))
        self.fingerprint = (self.fingerprint + fingerprint(evalset.sources, evalset.references)) % _FINGERPRINTS

    def put_aside(self, bad: Sequence[Bad]) -> None:
        self.bad += bad
        self.set_aside += sum(map(len, bad))

    def add(self, system: str, spec: str, rows: Floats, order: BinOrder | None, *, part: int | None = None) -> None:
        """Add a batch's rows of one metric on one system; with ``part`` the rows themselves are kept."""
        key = (system, spec)
        if key not in self.sums:
            width = rows.shape[1]
            self.sums[key] = Sums(ExactSum.zero(width), Binned.zero(width) if order is not None else None)
        self.sums[key].add(rows, order, part)

    def count_wins(self, spec: str, segments: Mapping[str, Floats]) -> None:
        """Count, for every two systems, which of them scores higher on each item; undefined items are in no count."""
        for one, other in combinations(segments, 2):
            difference = segments[one] - segments[other]
            same = np.abs(difference) < _SAME
            higher, lower = (difference > 0) & ~same, (difference < 0) & ~same
            self._outcome((spec, one, other), (int(higher.sum()), int(lower.sum()), int(same.sum())))

    def merge(self, other: Totals) -> None:
        """Add another part's totals to these."""
        self.items += other.items
        self.read += other.read
        self.set_aside += other.set_aside
        self.bad = sorted([*self.bad, *other.bad], key=lambda bad: (bad.file, bad.first))[:NAMED]
        if other.references is not None:
            self._widen(other.references)
        self.fingerprint = (self.fingerprint + other.fingerprint) % _FINGERPRINTS
        for key, sums in other.sums.items():
            if key in self.sums:
                self.sums[key].merge(sums)
            else:
                self.sums[key] = sums
        for pair, counts in other.outcomes.items():
            self._outcome(pair, counts)
        self.texts |= other.texts

    def _outcome(self, pair: tuple[str, str, str], counts: tuple[int, int, int]) -> None:
        mine = self.outcomes.get(pair, (0, 0, 0))
        self.outcomes[pair] = mine[0] + counts[0], mine[1] + counts[1], mine[2] + counts[2]

    def _widen(self, counts: tuple[int, int]) -> None:
        mine = self.references or counts
        self.references = min(mine[0], counts[0]), max(mine[1], counts[1])
