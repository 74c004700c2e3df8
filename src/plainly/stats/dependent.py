"""Does metric A correlate better with people than metric B? Both are correlated with the same ratings, on the same
outputs, so their correlations depend on each other and need tests that know it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput
from plainly.stats.agreement import ratio
from plainly.stats.correlate import correlation, rowwise
from plainly.stats.resample import Floats


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


def permute_both(
    human: Floats,
    first: Floats,
    second: Floats,
    *,
    systems: Sequence[str],
    swapped: npt.NDArray[np.bool_],
    system_level: bool = False,
) -> CorrelationDifference:
    """PERM-BOTH of Deutsch et al. (2021), two-sided: were the two metrics interchangeable?

    Both metrics' scores are standardised; those ``swapped`` (a result of ``swaps``) are exchanged between them.
    ``system_level`` correlates means by system. p = (1 + permutations as extreme) / (1 + permutations).
    """
    kept = ~(np.isnan(human) | np.isnan(first) | np.isnan(second))
    of_system = np.unique(np.array(systems, dtype=str)[kept], return_inverse=True)[1]
    n, permutations = int(kept.sum()), len(swapped)
    name = f"permute-both, pearson, {permutations} permutations"
    undefined = CorrelationDifference(float("nan"), float("nan"), float("nan"), name, n)
    if n < 2:
        return undefined
    human, first, second = human[kept], _standardised(first[kept]), _standardised(second[kept])
    if np.isnan(first).any() or np.isnan(second).any():
        return undefined
    swapped = swapped[:, kept]
    mixed_first, mixed_second = np.where(swapped, second, first), np.where(swapped, first, second)
    if system_level:
        member = np.eye(int(of_system.max()) + 1)[of_system] / np.bincount(of_system)
        human, first, second = human @ member, first @ member, second @ member
        mixed_first, mixed_second = mixed_first @ member, mixed_second @ member
    observed = correlation(human, first), correlation(human, second)
    drawn = rowwise(mixed_first, human) - rowwise(mixed_second, human)
    extreme = np.abs(drawn) >= abs(observed[0] - observed[1]) - 1e-12
    p = (1 + int(extreme.sum())) / (1 + permutations) if not np.isnan(observed).any() else float("nan")
    return CorrelationDifference(observed[0], observed[1], p, name, n)


def swaps(
    systems: Sequence[str], items: Sequence[str], *, permutations: int, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Which scores are exchanged in each permutation: those of some systems, and then those of some items."""
    if permutations < 1:
        raise BadInput(f"The number of permutations must be at least 1, not {permutations}.")
    of_system = np.unique(np.array(systems, dtype=str), return_inverse=True)[1]
    of_item = np.unique(np.array(items, dtype=str), return_inverse=True)[1]
    swapped = rng.random((permutations, int(of_system.max()) + 1))[:, of_system] < 0.5
    exchanged: npt.NDArray[np.bool_] = swapped ^ (rng.random((permutations, int(of_item.max()) + 1))[:, of_item] < 0.5)
    return exchanged


def _standardised(values: Floats) -> Floats:
    return ratio(values - values.mean(), values.std())
