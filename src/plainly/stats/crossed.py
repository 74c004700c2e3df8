"""Means and differences of ratings, for which items and raters are both a sample: variances, intervals and tests.

A mean of ratings varies with the items and with the raters, who rate the same items (they are crossed). In a table
without gaps the variance of a mean is that of a mixed model with random items and raters: (MS_items + MS_raters −
MS_rest) / cells, by the analysis of variance, which equals restricted maximum likelihood where no component is
negative. In a table with gaps the mean squares are sums of products of deviations from the mean, of ratings that share
an item, a rater or both (Cameron, Gelbach and Miller 2011). Such sums are too small, because the mean is estimated;
without gaps, dividing by 1 less the share of such products corrects that exactly.

A study has few raters, so that the variance over them is known badly, and Satterthwaite's degrees of freedom make
intervals too narrow: three raters give 15 % of studies a false claim. Intervals and tests are therefore those of a
generalised pivotal quantity (Weerahandi 1993): the error is a normal variable times the root of the variance in which
the mean squares of items and raters are divided by chi-squared variables, each with its own degrees of freedom. Where
all variance is due to raters, this is Student's t. docs/statistics.md shows how often such intervals cover.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from plainly.stats.resample import Floats, Ints

# Points of the quadrature over each chi-squared variable: p-values are right to 1e-6, and to 1 % down to 1e-8.
_POINTS = 48


@dataclass(frozen=True, slots=True)
class SampleVariance:
    """The variance of a mean over items or over raters, each including the rest, with its degrees of freedom."""

    variance: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """A mean or a difference, with how it varies over new items and raters; ``rest`` is counted in both."""

    value: float
    items: SampleVariance
    raters: SampleVariance
    rest: float

    @property
    def variance(self) -> float:
        """The variance; a negative component is none."""
        return max(self.items.variance + self.raters.variance - self.rest, self.items.variance, self.raters.variance)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    def exceeding(self, error: float) -> float:
        """Return how likely the estimate is off by at least ``error``, in either direction."""
        from scipy.special import ndtr

        if math.isnan(self.variance):
            return math.nan
        if self.variance <= 0:
            return float(abs(error) <= 1e-12)
        over_items, weights = _inflations(self.items)
        over_raters, weights_of_raters = _inflations(self.raters)
        variances = np.maximum(over_items[:, None] + over_raters - self.rest, 1e-300)
        return float(weights @ (2 * ndtr(-abs(error) / np.sqrt(variances))) @ weights_of_raters)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of no difference."""
        return self.exceeding(self.value)

    def half_width(self, level: float) -> float:
        """Return by how much the interval at this level reaches to either side."""
        if math.isnan(self.variance) or self.variance <= 0:
            return self.variance
        low, high = 0.0, self.standard_error
        while self.exceeding(high) > 1 - level:
            low, high = high, 2 * high
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if self.exceeding(middle) > 1 - level else (low, middle)
        return high

    def bounds(self, level: float) -> tuple[float, float]:
        half = self.half_width(level)
        return self.value - half, self.value + half

    def detectable(self, level: float, *, family: int = 1, power: float = 0.8) -> float:
        """Return the smallest true difference that the test finds with this power, corrected for ``family`` tests."""
        return self.half_width(1 - (1 - level) / max(family, 1)) + self.half_width(2 * power - 1)


def contrast(ratings: Floats, signs: Floats) -> Contrast:
    """Estimate a sum of system means from ``ratings[system, item, rater]``, NaN where not rated.

    ``signs`` weigh the systems: 1 for the mean of one, 1 and −1 for a difference. A system's mean is that of its
    outputs' means, so that every item counts the same. With one rater, or a mean of raters, only items are a sample.
    """
    rated = ~np.isnan(ratings)
    counts = rated.sum(axis=2, keepdims=True)
    outputs = (counts > 0).sum(axis=1, keepdims=True)
    shares = np.divide(1.0, counts * outputs, out=np.zeros(ratings.shape), where=rated)
    filled = np.where(rated, ratings, 0.0)
    means = (shares * filled).sum(axis=(1, 2), keepdims=True)
    if not outputs.all():
        undefined = SampleVariance(math.nan, math.nan)
        return Contrast(math.nan, undefined, undefined, math.nan)
    deviations = np.einsum("s,sir->ir", signs, shares * (filled - means))
    portions = np.abs(signs) / np.abs(signs).sum()
    weights = np.einsum("s,sir->ir", portions, shares)
    value = float(signs @ means[:, 0, 0])
    items, raters = (
        _Sums(
            float((deviations.sum(axis=axis) ** 2).sum()),
            float((weights.sum(axis=axis) ** 2).sum()),
            float(portions @ (shares.sum(axis=axis + 1) ** 2).sum(axis=1)),
        )
        for axis in (1, 0)
    )
    same = float(portions @ (shares**2).sum(axis=(1, 2)))
    return _combine(value, items, raters, _Sums(float((deviations**2).sum()), same, same))


def contrast_of_cells(value: float, influences: Floats, weights: Floats, items: Ints, raters: Ints) -> Contrast:
    """Return the contrast of any statistic, from what each cell adds to its error, and the weight of each cell.

    A cell is what one rater said about one item; the influences add up to 0.
    """
    shares = weights / weights.sum()

    def sums(group: Ints) -> _Sums:
        overlap = float((np.bincount(group, shares) ** 2).sum())
        return _Sums(float((np.bincount(group, influences) ** 2).sum()), overlap, overlap)

    return _combine(value, sums(items), sums(raters), sums(np.arange(len(shares))))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Over items, raters or cells: squared sums of influences, squared weights, and how likely two ratings share one.

    The last two differ where systems do not share their items or raters.
    """

    squares: float
    weights: float
    shared: float

    @property
    def variance(self) -> SampleVariance:
        if self.shared > 1 - 1e-9:  # one is not a sample
            return SampleVariance(math.nan, math.nan)
        return SampleVariance(self.squares / (1 - self.shared), max(1.0, (1 - self.shared) / self.weights))


def _combine(value: float, items: _Sums, raters: _Sums, cells: _Sums) -> Contrast:
    over_items, over_raters = items.variance, raters.variance
    if math.isnan(over_raters.variance):  # one rater, who is not a sample
        return Contrast(value, over_items, SampleVariance(0.0, math.inf), 0.0)
    shared = items.shared + raters.shared - cells.shared
    total = max(over_items.variance, over_raters.variance)
    if shared < 1 - 1e-9:
        total = (items.squares + raters.squares - cells.squares) / (1 - shared)
    return Contrast(value, over_items, over_raters, over_items.variance + over_raters.variance - total)


def _inflations(spread: SampleVariance) -> tuple[Floats, Floats]:
    """Return values that the variance may have in truth, and their probabilities."""
    if math.isinf(spread.freedom):
        return np.array([spread.variance]), np.ones(1)
    factors, weights = _nodes(spread.freedom)
    return spread.variance * factors, weights


@lru_cache(maxsize=1024)
def _nodes(freedom: float) -> tuple[Floats, Floats]:
    """Return quantiles of ``freedom`` by a chi-squared variable, dense where it is small, and their weights."""
    from scipy.special import gammaincinv

    points, weights = np.polynomial.legendre.leggauss(_POINTS)
    points = (points + 1) / 2
    quantiles = np.maximum(gammaincinv(freedom / 2, points**4), 1e-290)
    return freedom / (2 * quantiles), 2 * weights * points**3
