"""Does metric A correlate better with people than metric B? Both are correlated with the same ratings, on the same
outputs, so their correlations depend on each other and need tests that know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plainly.core.errors import BadInput
from plainly.stats.agreement import ratio
from plainly.stats.correlate import correlation
from plainly.stats.resample import Floats, sum_by_group


@dataclass(frozen=True)
class CorrelationDifference:
    """The difference of two dependent correlations and the two-sided p-value that there is none."""

    first: float
    second: float
    p_value: float
    test: str
    n: int

    @property
    def difference(self) -> float:
        return self.first - self.second

    @property
    def untested(self) -> CorrelationDifference:
        """The same without a p-value, where there are too few units for one."""
        return replace(self, p_value=float("nan"))


def williams(human: Floats, first: Floats, second: Floats) -> CorrelationDifference:
    """Williams' test (1959) of two correlations that share a variable, two-sided (Graham and Baldwin 2014, Eq. 2)."""
    from scipy.special import stdtr

    kept = ~(np.isnan(human) | np.isnan(first) | np.isnan(second))
    human, first, second, n = human[kept], first[kept], second[kept], int(kept.sum())
    r1, r2, between = correlation(human, first), correlation(human, second), correlation(first, second)
    p = float("nan")
    if n >= 4 and not np.isnan([r1, r2, between]).any():
        k = 1 - r1**2 - r2**2 - between**2 + 2 * r1 * r2 * between
        spread = 2 * k * (n - 1) / (n - 3) + (r1 + r2) ** 2 / 4 * (1 - between) ** 3
        if spread > 1e-15:  # Otherwise the two are the same but for scale, and no difference can be tested.
            t = (r1 - r2) * np.sqrt((n - 1) * (1 + between) / spread)
            p = min(1.0, float(2 * stdtr(n - 3, -abs(t))))
    return CorrelationDifference(r1, r2, p, "williams", n)


def exchange(
    human: Floats,
    first: Floats,
    second: Floats,
    *,
    permutations: int,
    rng: np.random.Generator,
    groups: Sequence[str] | None = None,
    unit: str = "items",
) -> CorrelationDifference:
    """Were the two metrics interchangeable? A permutation test of Pearson's correlations, two-sided.

    Both metrics' scores are standardised and exchanged for whole ``groups`` (all outputs of one item), or for each unit
    (a system's score): PERM-INPUT and PERM-SYS of Deutsch et al. (2021). All 2^k ways are tried where they are no more
    than ``permutations``, else so many at random; k units cannot give a p-value below 2 / 2^k.
    """
    if permutations < 1:
        raise BadInput(f"The number of permutations must be at least 1, not {permutations}.")
    kept = ~(np.isnan(human) | np.isnan(first) | np.isnan(second))
    human, first, second, n = human[kept], first[kept], second[kept], int(kept.sum())
    of_group = np.arange(n)
    if groups is not None:
        of_group = np.unique(np.array(groups, dtype=str)[kept], return_inverse=True)[1]
    k = int(of_group.max(initial=-1)) + 1
    exact = k < 60 and 2**k <= permutations
    swapped = np.arange(2**k)[:, None] >> np.arange(k) & 1 if exact else rng.integers(2, size=(permutations, k))
    test = f"permute-{unit}, pearson, {'all ' if exact else ''}{len(swapped)} permutations"
    r1, r2 = correlation(human, first), correlation(human, second)
    if n < 2 or np.isnan([r1, r2]).any():
        return CorrelationDifference(r1, r2, float("nan"), test, n)
    first, second = _standardised(first), _standardised(second)
    # Sums for each group that make up a correlation, of the one metric's scores and what the other's would change.
    parts = [np.stack([x * (human - human.mean()), x, x * x], axis=1) for x in (first, second)]
    mine, others = (sum_by_group(part, list(map(str, of_group))) for part in parts)
    exchanged = swapped.astype(float) @ (others - mine)
    drawn = _from_sums(mine.sum(axis=0) + exchanged, n) - _from_sums(others.sum(axis=0) - exchanged, n)
    extreme = int(
        np.sum(np.abs(drawn) >= abs(_from_sums(mine.sum(axis=0), n) - _from_sums(others.sum(axis=0), n)) - 1e-9)
    )
    return CorrelationDifference(
        r1, r2, extreme / len(swapped) if exact else (1 + extreme) / (1 + permutations), test, n
    )


def _from_sums(sums: Floats, n: int) -> Floats:
    """Correlations with the ratings but for the ratings' own spread, which is the same for all."""
    product, total, squares = np.moveaxis(sums, -1, 0)
    return ratio(product, np.sqrt(np.maximum(squares - total**2 / n, 0)), undefined=0.0)


def _standardised(values: Floats) -> Floats:
    return ratio(values - values.mean(), values.std())
