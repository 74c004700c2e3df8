"""Is the difference real? Paired tests for any metric whose rows add up, corrections for many tests, and their power.

Both tests draw the random numbers that sacrebleu draws, in its order, so that the same seed gives its p-values.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.stats.resample import Floats, Score, Weights, chunk_size, sum_by_group, weighted_sums

# Sums in another order differ in the last digits; two differences closer than this share of the scores' size are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Swaps:
    """Trials of randomisation: a coin decides for each item, or whole group, which system wrote which output."""

    trials: int
    seed: int
    groups: tuple[str, ...] | None = None

    def totals(self, tables: Sequence[Floats]) -> list[Floats]:
        """For every trial the sum of each table's rows where the coin showed heads; all tables share the coins."""
        return weighted_sums([sum_by_group(table, self.groups) for table in tables], self._coins)

    def _coins(self, units: int) -> Iterator[Weights]:
        rng = np.random.default_rng(self.seed)
        # NumPy makes 32 coins from one random number and drops the rest at the end of a call: with chunks of a multiple
        # of 32 the coins are the same however they are chunked.
        step = max(32, chunk_size(units) // 32 * 32)
        for start in range(0, self.trials, step):
            size = (min(step, self.trials - start), units)
            yield rng.integers(2, size=size, dtype=np.bool_).astype(np.float32)


def randomised_differences(score: Score, heads: tuple[Floats, Floats], totals: tuple[Floats, Floats]) -> Floats:
    """The differences under the null, from both systems' sums where the coin showed heads and overall."""
    first = heads[0] + (totals[1] - heads[1])
    second = heads[1] + (totals[0] - heads[0])
    return np.asarray(score(first)[..., 0] - score(second)[..., 0])


def randomisation_p(differences: Floats, observed: float, *, size: float = 1.0) -> float:
    """Two-sided p-value of approximate randomisation (Noreen 1989; Riezler & Maxwell 2005).

    A trial as extreme as the observed difference counts, without which a test on few items rejects too often;
    sacrebleu counts only more extreme ones, which is the same as soon as more than a dozen items differ.
    """
    return _share(np.abs(differences), abs(observed), size)


def bootstrap_p(differences: Floats, observed: float, *, size: float = 1.0) -> float:
    """The p-value of the paired bootstrap as Moses and sacrebleu define it: absolute differences, less their mean.

    It looks at one side: when there is no difference, it falls below .05 in about 10 % of all experiments, 5 % for
    each direction. ``two_sided_bootstrap_p`` keeps to 5 % in all.
    """
    distances = np.abs(differences)
    with np.errstate(invalid="ignore"):
        centred = distances - np.nanmean(distances) if np.isfinite(distances).any() else distances
    return _share(centred, abs(observed), size)


def two_sided_bootstrap_p(differences: Floats, observed: float, *, size: float = 1.0) -> float:
    """Two-sided p-value of the bootstrap shifted to the null: how often chance alone is as far from zero."""
    return _share(np.abs(differences - observed), abs(observed), size)


def _share(null: Floats, observed: float, size: float) -> float:
    """(1 + how many reach the observed) / (1 + how many), so that no p-value is 0 (Davison & Hinkley 1997)."""
    defined = null[np.isfinite(null)]
    if not np.isfinite(observed) or not len(defined):
        return float("nan")
    reached = int(np.sum(defined >= observed - _ROUNDING * size))
    return (reached + 1) / (len(defined) + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: whoever claims all that is below alpha errs at all with probability alpha at most (1979)."""
    return _adjusted(p_values, lambda p: np.maximum.accumulate(p * (len(p) - np.arange(len(p)))))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's correction: of all that is claimed below alpha, a share of alpha is false (1995)."""
    return _adjusted(p_values, lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1])


def _adjusted(p_values: Sequence[float], rule: Callable[[Floats], Floats]) -> list[float]:
    """Apply a rule to the sorted p-values that are defined; an undefined one is no test and stays undefined."""
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: int(np.isfinite(p).sum())]
    adjusted[order] = np.minimum(rule(p[order]), 1.0)
    return [float(value) for value in adjusted]


@dataclass(frozen=True, slots=True)
class Spread:
    """How much a paired difference varies from item to item, and so from one test set to another."""

    deviation: float
    units: int

    @property
    def standard_error(self) -> float:
        return self.deviation / float(np.sqrt(self.units)) if self.units else float("nan")

    def effect_size(self, difference: float) -> float:
        """Cohen's d for pairs: the difference in standard deviations between items; undefined when nothing varies."""
        return difference / self.deviation if self.deviation > 0 else float("nan")


def spread_of(left_out: Floats) -> Spread:
    """The spread of a difference from its values with each item or group left out once: jackknife pseudo-values."""
    units = len(left_out)
    if units < 2:
        return Spread(float("nan"), units)
    pseudo = (units - 1) * (np.nanmean(left_out) - left_out) if np.isfinite(left_out).any() else left_out
    return Spread(float(np.nanstd(pseudo, ddof=1)) if np.isfinite(pseudo).any() else float("nan"), units)


def detectable(standard_error: float, units: int, *, level: float, family: int = 1, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided test finds with this probability, corrected for ``family`` tests.

    Holm's correction asks of the first claim what Bonferroni's asks. Student's t, since the spread is estimated.
    """
    from scipy.special import stdtrit

    if units < 2 or not np.isfinite(standard_error):
        return float("nan")
    tail = (1 - level) / (2 * max(family, 1))
    return float((stdtrit(units - 1, 1 - tail) + stdtrit(units - 1, power)) * standard_error)


def clusters(order: Sequence[str], beats: Callable[[str, str], bool]) -> list[list[str]]:
    """Systems from best to worst, cut where everyone above beats everyone below (as WMT does); chains hold together."""
    runs: list[list[str]] = []
    start = 0
    for cut in range(1, len(order) + 1):
        if cut == len(order) or all(beats(above, below) for above in order[start:cut] for below in order[cut:]):
            runs.append(list(order[start:cut]))
            start = cut
    return runs


def ties(order: Sequence[str], differ: Callable[[str, str], bool]) -> list[list[str]]:
    """The longest runs of a ranking in which no two systems differ; runs may overlap, and each system is in one."""
    runs: list[list[str]] = []
    reached = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and not any(differ(order[before], order[stop]) for before in range(start, stop)):
            stop += 1
        if stop > reached:
            runs.append(list(order[start:stop]))
            reached = stop
    return runs
