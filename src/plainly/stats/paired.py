"""Paired tests of a difference: bootstrap and approximate randomisation, corrections for many tests, power.

Both tests draw the random numbers that sacrebleu draws, in its order, so that the same seed gives its p-values.
Approximate randomisation flips a coin for each item, or whole group, to decide which of two systems wrote which output.
Trials are drawn once for all pairs. Where so many pairs are compared that the correction requires very many trials,
most pairs do not need them; ``docs/statistics.md`` explains what they get and why that is exact.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.stats.resample import CHUNK, Floats, Score, Weights, chunk_size, sum_by_group, to_single, weighted_sums

# Sums in another order differ in the last digits; two differences closer than this share of the scores are equal.
ROUNDING = 1e-9


def bootstrap_p(differences: Floats, observed: float, *, size: float = 1.0) -> float:
    """Return the p-value of the paired bootstrap of Moses and sacrebleu: absolute differences, less their mean.

    It is one-sided: without a true difference it falls below .05 in about 10 % of all experiments, 5 % for each
    direction. ``two_sided_bootstrap_p`` does so in 5 %.
    """
    distances = np.abs(differences)
    with np.errstate(invalid="ignore"):
        mean = np.nanmean(distances) if np.isfinite(distances).any() else 0.0
        return share_as_extreme(distances - mean, abs(observed), size)


def two_sided_bootstrap_p(differences: Floats, observed: float, *, units: int, size: float = 1.0) -> float:
    """Return the two-sided p-value of the bootstrap shifted to the null, corrected for few units.

    Draws of few items or groups vary too little, by √(units - 1)/√units, and their quantiles are those of a normal
    variable where Student's t is needed (Hesterberg 2015, section 3.2). Uncorrected, the test errs in 17 % of null
    comparisons at 5 groups and 10 % at 12; corrected, in 5 % at each (docs/statistics.md). One unit allows no test.
    """
    from scipy.special import ndtri, stdtr

    if units < 2:
        return float("nan")
    uncorrected = share_as_extreme(np.abs(differences - observed), abs(observed), size)
    t = float(ndtri(1 - uncorrected / 2)) * math.sqrt((units - 1) / units)
    return float(2 * stdtr(units - 1, -t))


def share_as_extreme(null: Floats, observed: float, size: float) -> float:
    """Return (1 + how many reach the observed) / (1 + how many), which is never 0 (Davison & Hinkley 1997)."""
    defined = null[np.isfinite(null)]
    if not np.isfinite(observed) or not len(defined):
        return float("nan")
    return (int(np.sum(defined >= observed - ROUNDING * size)) + 1) / (len(defined) + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Apply Holm's correction (1979): the probability of any false claim below alpha is at most alpha."""
    return _adjust(p_values, lambda p: np.maximum.accumulate(p * (len(p) - np.arange(len(p)))))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Apply Benjamini and Hochberg's correction (1995): at most a share of alpha of the claims is false."""
    return _adjust(p_values, lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1])


def _adjust(p_values: Sequence[float], rule: Callable[[Floats], Floats]) -> list[float]:
    """Apply a rule to the sorted p-values that are defined; an undefined one stays undefined."""
    p = np.asarray(p_values, dtype=np.float64)
    values = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: int(np.isfinite(p).sum())]
    values[order] = np.minimum(rule(p[order]), 1.0)
    return list(map(float, values))


@dataclass(frozen=True, slots=True)
class Spread:
    """How much a paired difference varies from item to item, and so from one test set to another."""

    deviation: float
    units: int

    @property
    def standard_error(self) -> float:
        return self.deviation / float(np.sqrt(self.units)) if self.units else float("nan")

    def effect_size(self, difference: float) -> float:
        """Return Cohen's d for pairs: the difference in standard deviations between items; NaN without variation."""
        return difference / self.deviation if self.deviation > 0 else float("nan")


def spread_of(left_out: Floats) -> Spread:
    """Return the spread of a difference from its values with each item or group left out once (jackknife)."""
    defined = left_out[np.isfinite(left_out)]
    # A pseudo-value is (units − 1) times how far a value lies below their mean (Efron & Tibshirani 1993, Eq. 11.5).
    deviation = (len(left_out) - 1) * float(defined.std(ddof=1)) if len(defined) > 1 else math.nan
    return Spread(deviation, len(left_out))


def detectable_difference(
    standard_error: float, units: int, *, level: float, family: int = 1, power: float = 0.8
) -> float:
    """Return the smallest true difference that a two-sided test finds with this power, corrected for ``family`` tests.

    Holm's correction is as strict as Bonferroni's for the first claim. Student's t, since the spread is estimated.
    """
    from scipy.special import stdtrit

    if units < 2 or not np.isfinite(standard_error):
        return float("nan")
    tail = (1 - level) / (2 * max(family, 1))
    return float(stdtrit(units - 1, 1 - tail) + stdtrit(units - 1, power)) * standard_error


def clusters(order: Sequence[str], beats: Callable[[str, str], bool]) -> list[list[str]]:
    """Divide a ranking where every system above beats every system below (as WMT does)."""
    runs: list[list[str]] = []
    start = 0
    for cut in range(1, len(order) + 1):
        if cut == len(order) or all(beats(above, below) for above in order[start:cut] for below in order[cut:]):
            runs.append(list(order[start:cut]))
            start = cut
    return runs


def ties(order: Sequence[str], differ: Callable[[str, str], bool]) -> list[list[str]]:
    """Return the longest runs of a ranking in which no two systems differ; they may overlap and cover all systems."""
    runs: list[list[str]] = []
    last_stop = 0
    for start in range(len(order)):
        stop = start + 1
        while stop < len(order) and not any(differ(order[before], order[stop]) for before in range(start, stop)):
            stop += 1
        if stop > last_stop:
            runs.append(list(order[start:stop]))
            last_stop = stop
    return runs


Pair = tuple[int, int]

FEW = 3  # a pair that fewer of the first trials reach gets further trials
# The slope of a score is measured this far from a total, in its standard deviations: far enough that a bend there, such
# as that of BLEU's brevity penalty, counts on both sides.
_STEP = 0.5
_FAR = 2.5  # a trial is scored if the linear part of its difference is this many standard deviations from zero
# A pair does not get further trials if its p-value is at most this share of the smallest that they can show. The
# probability of an error by this is added to the p-values of the other pairs.
_SURE = 0.01


@dataclass(frozen=True)
class Swaps:
    """Random swaps of outputs: ``trials`` for every pair, and ``further`` in all where these are too few to decide."""

    trials: int
    seed: int
    groups: tuple[str, ...] | None = None
    further: int | None = None

    def p_values(self, score: Score, tables: Sequence[Floats], pairs: Sequence[Pair]) -> list[float]:
        """Return two-sided p-values of the differences between tables (Noreen 1989; Riezler & Maxwell 2005).

        A trial as extreme as the observed difference counts, without which a test on few items rejects too often;
        sacrebleu counts only more extreme ones, which is the same as soon as more than a dozen items differ.
        """
        units = [sum_by_group(table, self.groups) for table in tables]
        heads = weighted_sums(units, lambda many: self._coins(many, self.trials, chunk_size(many)))
        totals = np.stack([table.sum(axis=0) for table in units])
        values = score(totals)[..., 0]
        p_values, close, most = [], {}, FEW / (self.trials + 1)
        for index, (b, s) in enumerate(pairs):
            ahead = heads[b] - heads[s]
            differences = score(totals[s] + ahead)[..., 0] - score(totals[b] - ahead)[..., 0]
            observed, size = abs(float(values[s] - values[b])), float(np.abs(values[[b, s]]).max())
            p_values.append(share_as_extreme(np.abs(differences), observed, size))
            if self.further is not None and p_values[index] <= most:
                close[index] = _ClosePair(score, units[b], units[s], observed - ROUNDING * size)
        for index, p_value in zip(close, self._try_further(list(close.values())), strict=True):
            p_values[index] = min(most, p_value)
        return p_values

    def _try_further(self, pairs: Sequence["_ClosePair"]) -> list[float]:
        """Return p-values from ``further`` trials; only trials that can reach the observed difference are scored.

        A trial is first judged by the linear part of the difference, with the slope in the middle of both systems'
        totals, which swaps do not move: a sum of fixed numbers with random signs. A randomisation test is exact for any
        order of the trials; in this one, those whose linear part is far from zero come first, by their scores.
        """
        trials = self.further or 0
        smallest = 1 / (trials + 1)
        undecided = [pair for pair in pairs if pair.distance >= _FAR and _bound(pair.distance) > _SURE * smallest]
        if undecided:
            lines = np.stack([pair.line for pair in undecided]).astype(np.float32)
            for coins in self._coins(lines.shape[1], trials, CHUNK // max(lines.shape)):
                signs = 2 * coins - 1
                changes = lines @ signs.T
                for pair, far in zip(undecided, np.abs(changes, out=changes) >= _FAR, strict=True):
                    pair.count(signs[far])
        return [
            1.0 if pair.distance < _FAR else (pair.extreme + 1 + _SURE) * smallest if pair in undecided else smallest
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


class _ClosePair:
    """A pair that gets further trials: the linear part of its difference, and how many trials reached it."""

    def __init__(self, score: Score, first: Floats, second: Floats, enough: float) -> None:
        self.score, self.enough, self.extreme = score, enough, 0
        self.middle, half = (first.sum(axis=0) + second.sum(axis=0)) / 2, (first - second) / 2
        steps = _STEP * np.sqrt((half * half).sum(axis=0))
        values = score(np.stack((self.middle + np.diag(steps), self.middle - np.diag(steps))))[..., 0]
        rise = np.nan_to_num(values[0] - values[1], posinf=0.0, neginf=0.0)
        parts = half @ np.divide(rise, steps, out=np.zeros_like(rise), where=steps > 0)
        # What each unit adds to the linear part, in standard deviations; zeros where nothing varies.
        self.line = np.asarray(parts / (math.sqrt(parts @ parts) or 1.0))
        self.distance = abs(float(self.line.sum()))
        self.moving = np.flatnonzero(half.any(axis=0))  # the other columns are the same for both systems
        self.swings = to_single((first - second)[:, self.moving])

    def count(self, signs: Weights) -> None:
        """Score these trials; an undefined difference counts as extreme."""
        if len(signs):
            ahead = np.zeros((len(signs), len(self.middle)))
            ahead[:, self.moving] = signs @ self.swings
            ahead /= 2
            difference = self.score(self.middle + ahead)[..., 0] - self.score(self.middle - ahead)[..., 0]
            self.extreme += int(np.sum(~(np.abs(difference) < self.enough)))


def _bound(distance: float) -> float:
    """Return an upper bound of how often a weighted sum of random signs is so far from zero, in standard deviations:

    3.18 times as often as a normal variable (Bentkus & Dzindzalieta 2015, Theorem 1.1).
    """
    return math.erfc(distance / math.sqrt(2)) / (2 * math.erfc(1))
