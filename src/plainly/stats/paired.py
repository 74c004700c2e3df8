"""Paired tests of a difference: bootstrap and approximate randomisation, corrections for many tests, power.

Both tests draw the random numbers that sacrebleu draws, in its order, so that the same seed gives its p-values.
Approximate randomisation flips a coin for each item, or whole group, to decide which of two systems wrote which output.
Trials are drawn once for all pairs. Where so many pairs are compared that the correction requires very many trials,
most pairs do not need them; ``docs/statistics.md`` explains what they get and why that is exact.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from plainly.stats.resample import (
    CHUNK,
    Floats,
    Score,
    Weights,
    chunk_size,
    single_if_exact,
    sum_by_group,
    weighted_sums,
)  # fmt: skip

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


Pair = tuple[int, int]

FEW = 3  # a pair that fewer of the first trials reach is looked at more closely
# So far from a total, in standard deviations of it, the score is looked at for its slope: far enough that a bend there,
# as BLEU's brevity penalty has one, counts on both sides.
_STEP = 0.5
_FAR = 2.5  # standard deviations from which on the linear part of a difference has the trial scored
# A pair gets no further trials where its p-value is at most this part of the smallest that they can show. How often
# that can be wrong is added to what the other pairs get.
_SURE = 0.01


@dataclass(frozen=True)
class Swaps:
    """How outputs are swapped: ``trials`` for every pair; ``further``, in all, where these are too few to tell."""

    trials: int
    seed: int
    groups: tuple[str, ...] | None = None
    further: int | None = None

    def p_values(self, score: Score, tables: Sequence[Floats], pairs: Sequence[Pair]) -> list[float]:
        """Two-sided p-values of the differences between tables (Noreen 1989; Riezler & Maxwell 2005).

        A trial as extreme as the observed difference counts, without which a test on few items rejects too often;
        sacrebleu counts only more extreme ones, which is the same as soon as more than a dozen items differ.
        """
        units = [sum_by_group(table, self.groups) for table in tables]
        heads = weighted_sums(units, lambda many: self._coins(many, self.trials, chunk_size(many)))
        totals = np.stack([table.sum(axis=0) for table in units])
        values = score(totals)[..., 0]
        p_values, close = [], {}
        for place, (b, s) in enumerate(pairs):
            ahead = heads[b] - heads[s]
            differences = score(totals[s] + ahead)[..., 0] - score(totals[b] - ahead)[..., 0]
            observed, size = abs(float(values[s] - values[b])), float(np.abs(values[[b, s]]).max())
            p_values.append(share_reached(np.abs(differences), observed, size))
            if self.further is not None and p_values[place] <= FEW / (self.trials + 1):
                close[place] = _Close(score, units[b], units[s], observed - ROUNDING * size)
        if self.further is not None:
            for place, p_value in zip(close, self._closer(list(close.values()), self.further), strict=True):
                p_values[place] = min(FEW / (self.trials + 1), p_value)
        return p_values

    def _closer(self, pairs: Sequence["_Close"], trials: int) -> list[float]:
        """P-values from ``trials`` trials, of which those are scored that can reach the observed difference.

        What a trial is judged by first is the linear part of the difference, the slope being that in the middle of both
        systems' totals, which no swap moves: a sum of fixed numbers with random signs. A randomisation test is exact
        for any order of the trials; in this one, those whose linear part is far from zero come first, by their scores.
        """
        smallest = 1 / (trials + 1)
        counted = [pair for pair in pairs if pair.distance >= _FAR and _bound(pair.distance) > _SURE * smallest]
        if counted:
            lines = np.stack([pair.line for pair in counted]).astype(np.float32)
            for coins in self._coins(lines.shape[1], trials, CHUNK // max(lines.shape)):
                signs = 2 * coins - 1
                moved = lines @ signs.T
                for pair, far in zip(counted, np.abs(moved, out=moved) >= _FAR, strict=True):
                    pair.count(signs[far])
        return [
            1.0 if pair.distance < _FAR else (pair.reached + 1 + _SURE) * smallest if pair in counted else smallest
            for pair in pairs
        ]

    def _coins(self, units: int, trials: int, step: int) -> Iterator[Weights]:
        rng = np.random.default_rng(self.seed)
        # NumPy makes 32 coins from one random number and drops the rest at the end of a call: with chunks of a multiple
        # of 32 the coins are the same however they are chunked.
        step = max(32, step // 32 * 32)
        for start in range(0, trials, step):
            size = (min(step, trials - start), units)
            yield rng.integers(2, size=size, dtype=np.bool_).astype(np.float32)


class _Close:
    """A pair that is looked at more closely: the linear part of its difference, and how many trials reached it."""

    def __init__(self, score: Score, first: Floats, second: Floats, enough: float) -> None:
        self.score, self.enough, self.reached = score, enough, 0
        self.middle, half = (first.sum(axis=0) + second.sum(axis=0)) / 2, (first - second) / 2
        steps = _STEP * np.sqrt((half * half).sum(axis=0))
        values = score(np.stack((self.middle + np.diag(steps), self.middle - np.diag(steps))))[..., 0]
        rise = np.nan_to_num(values[0] - values[1], posinf=0.0, neginf=0.0)
        parts = half @ np.divide(rise, steps, out=np.zeros_like(rise), where=steps > 0)
        # What each unit adds to the linear part, in standard deviations; zeros where nothing varies.
        self.line = np.asarray(parts / (math.sqrt(parts @ parts) or 1.0))
        self.distance = abs(float(self.line.sum()))
        self.moving = np.flatnonzero(half.any(axis=0))  # what the set alone decides is the same for both
        self.swings = single_if_exact((first - second)[:, self.moving])

    def count(self, signs: Weights) -> None:
        """Score these trials; what is undefined counts as reaching the difference."""
        if len(signs):
            ahead = np.zeros((len(signs), len(self.middle)))
            ahead[:, self.moving] = signs @ self.swings
            ahead /= 2
            difference = self.score(self.middle + ahead)[..., 0] - self.score(self.middle - ahead)[..., 0]
            self.reached += int(np.sum(~(np.abs(difference) < self.enough)))


def _bound(distance: float) -> float:
    """How often a weighted sum of random signs is so many standard deviations from zero, at most.

    3.18 times as often as a normal variable (Bentkus & Dzindzalieta 2015, Theorem 1.1).
    """
    return math.erfc(distance / math.sqrt(2)) / (2 * math.erfc(1))
