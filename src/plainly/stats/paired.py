"""Is the difference real? The paired bootstrap, corrections for many tests, and their power; see ``swaps`` too.

Both tests draw the random numbers that sacrebleu draws, in its order, so that the same seed gives its p-values.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from plainly.stats.resample import Floats

# Sums in another order differ in the last digits; two differences closer than this share of the scores' size are equal.
ROUNDING = 1e-9


def bootstrap_p(differences: Floats, observed: float, *, size: float = 1.0) -> float:
    """The p-value of the paired bootstrap as Moses and sacrebleu define it: absolute differences, less their mean.

    It looks at one side: when there is no difference, it falls below .05 in about 10 % of all experiments, 5 % for
    each direction. ``two_sided_bootstrap_p`` keeps to 5 % in all.
    """
    distances = np.abs(differences)
    with np.errstate(invalid="ignore"):
        centred = distances - np.nanmean(distances) if np.isfinite(distances).any() else distances
    return share_reached(centred, abs(observed), size)


def two_sided_bootstrap_p(differences: Floats, observed: float, *, size: float = 1.0) -> float:
    """Two-sided p-value of the bootstrap shifted to the null: how often chance alone is as far from zero."""
    return share_reached(np.abs(differences - observed), abs(observed), size)


def share_reached(null: Floats, observed: float, size: float) -> float:
    """(1 + how many reach the observed) / (1 + how many), so that no p-value is 0 (Davison & Hinkley 1997)."""
    defined = null[np.isfinite(null)]
    if not np.isfinite(observed) or not len(defined):
        return float("nan")
    reached = int(np.sum(defined >= observed - ROUNDING * size))
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
    defined = left_out[np.isfinite(left_out)]
    # A pseudo-value is (units − 1) times how far a value lies below their mean (Efron & Tibshirani 1993, Eq. 11.5).
    deviation = (len(left_out) - 1) * float(defined.std(ddof=1)) if len(defined) > 1 else math.nan
    return Spread(deviation, len(left_out))


def detectable(standard_error: float, units: int, *, level: float, family: int = 1, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided test finds with this probability, corrected for ``family`` tests.

    Holm's correction asks of the first claim what Bonferroni's asks. Student's t, since the spread is estimated.
    """
    if units < 2 or not np.isfinite(standard_error):
        return float("nan")
    return _detectable_errors(units, level, family, power) * standard_error


@lru_cache
def _detectable_errors(units: int, level: float, family: int, power: float) -> float:
    """The same in standard errors."""
    from scipy.special import stdtrit

    tail = (1 - level) / (2 * max(family, 1))
    return float(stdtrit(units - 1, 1 - tail) + stdtrit(units - 1, power))


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
