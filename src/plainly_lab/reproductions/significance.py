"""Smaller studies drawn from a larger one, as by Schwarzer and Kauchak (2018): how far their conclusions agree.

The conclusions are the significance pattern: for each pair of systems, whether a t-test (p < .01) finds the first
better (1), worse (−1), or neither (0). A study is drawn with replacement from the sentences, their raters, or both, and
its pattern is compared with that of the whole by Kendall's tau-b. Tau over a list of pairs depends on the order of the
systems, because reversing a pair flips its sign: ``tau`` counts each pair both ways, ``tau_as_listed``, as in the
paper, once. A draw without any significant difference has no order and counts as 0.

A sentence's mean includes the differences between its raters, and drawing raters again counts these twice, so that
studies with several raters look worse than they are. ``plainly plan`` answers the question without that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.random import Generator

from plainly.people import Ratings
from plainly.people.planning import tau_b
from plainly.stats.resample import Floats, ratio

Test = Literal["paired", "welch"]
DRAWS = 1000
_ALPHA = 0.01
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Agreement:
    """How far drawn studies of one size agree with the whole."""

    sentences: int
    raters: int
    tau: float
    tau_as_listed: float


@dataclass(frozen=True)
class Significance:
    """The ratings of each system's outputs, and which pairs t-tests tell apart."""

    systems: tuple[str, ...]
    test: Test
    ratings: tuple[Floats, ...]  # of each system: outputs × ratings, followed by NaN
    pattern: Floats  # 1, −1 or 0 for each pair

    @classmethod
    def of(cls, ratings: Ratings) -> Significance:
        """Test every pair; the t-test is paired if most items were rated for all systems, else Welch's."""
        paired = ratings.paired
        items = (ratings.counts > 0).any(axis=0).sum()
        test: Test = "paired" if paired.sum() >= 2 and paired.sum() >= 0.5 * items else "welch"
        tables = []
        for system in range(len(ratings.systems)):
            values = ratings.values[system][paired if test == "paired" else ratings.counts[system] > 0]
            order = np.argsort(np.isnan(values), axis=1, kind="stable")  # ratings first, without empty columns
            width = int(np.sum(~np.isnan(values), axis=1).max())
            tables.append(np.take_along_axis(values, order, axis=1)[:, :width])
        means = [np.nanmean(rows, axis=1)[None] for rows in tables]
        return cls(ratings.systems, test, tuple(tables), _test_pairs(means, test)[0])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(combinations(self.systems, 2))

    @property
    def raters(self) -> float:
        """The average number of ratings of an output."""
        return float(np.mean([np.sum(~np.isnan(rows)) / max(1, len(rows)) for rows in self.ratings]))

    def resample(self, *, sentences: int | None = None, raters: int | None = None, rng: Generator) -> Agreement:
        """Draw studies with so many sentences and raters for each sentence; by default all."""
        widest = max(sentences or 0, *(len(rows) for rows in self.ratings)) * (raters or 1) * len(self.ratings)
        step = max(1, _CHUNK // widest)
        chunks = (min(step, DRAWS - start) for start in range(0, DRAWS, step))
        patterns = np.concatenate([self._draw(sentences, raters, chunk, rng) for chunk in chunks])
        full = self.pattern
        both = tau_b(np.concatenate([patterns, -patterns], axis=1), np.concatenate([full, -full]))
        return Agreement(
            sentences or min(len(rows) for rows in self.ratings),
            raters or round(self.raters),
            float(np.nan_to_num(both).mean()),
            float(np.nan_to_num(tau_b(patterns, full)).mean()),
        )

    def _draw(self, size: int | None, count: int | None, draws: int, rng: Generator) -> Floats:
        """Return the significance patterns of drawn studies: (draws, pairs)."""
        means: list[Floats] = []
        for rows in self.ratings:
            if size is None:
                sentences = np.broadcast_to(np.arange(len(rows)), (draws, len(rows)))
            elif not means or self.test == "welch":  # paired: the same sentences for all systems
                sentences = rng.integers(len(rows), size=(draws, size))
            if count is None:
                means.append(np.nanmean(rows, axis=1)[sentences])
                continue
            present = np.sum(~np.isnan(rows), axis=1)
            drawn = (rng.random((*sentences.shape, count)) * present[sentences][..., None]).astype(np.int64)
            means.append(rows[sentences[..., None], drawn].mean(axis=-1))
        return _test_pairs(means, self.test)


def _test_pairs(means: Sequence[Floats], test: Test) -> Floats:
    """Return 1 where the first system of a pair is significantly better, −1 where the second is, 0 otherwise."""
    from scipy.special import stdtr

    left, right = np.triu_indices(len(means), 1)
    centre = np.stack([values.mean(axis=1) for values in means], axis=1)
    apart = centre[:, left] - centre[:, right]
    if test == "paired":
        stacked = np.stack(means, axis=1)
        n = stacked.shape[2]
        spread = stacked - centre[:, :, None]
        covariance = np.einsum("dsn,dtn->dst", spread, spread, optimize=True) / (n - 1)
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        squared = (variance[:, left] + variance[:, right] - 2 * covariance[:, left, right]) / n
        df = np.full(apart.shape, float(n - 1))
    else:
        counts = np.array([values.shape[1] for values in means], dtype=float)
        squares = np.stack([values.var(axis=1, ddof=1) for values in means], axis=1) / counts
        squared = squares[:, left] + squares[:, right]
        # Welch–Satterthwaite.
        by_system = squares**2 / (counts - 1)
        df = ratio(squared**2, by_system[:, left] + by_system[:, right], undefined=1.0)
    t = ratio(apart, np.sqrt(np.abs(squared)), undefined=0.0)
    # Differences without any spread are decided by their sign alone; equal systems are not.
    p = np.where(squared <= 1e-12, np.abs(apart) <= 1e-12, 2 * stdtr(df, -np.abs(t)))
    return np.where(p < _ALPHA, np.sign(apart), 0.0)
