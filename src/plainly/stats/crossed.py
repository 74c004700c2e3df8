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

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plainly.stats.resample import Floats, Ints

# Points of the quadrature over each chi-squared variable: p-values are right to 1e-6, and to 1 % down to 1e-8.
_POINTS = 48
# For power: points of the quadrature, and of that over the variances that a study may estimate; right to 0.1 %.
_FEW_POINTS, _VARIANCES = 12, 6


@dataclass(frozen=True, slots=True)
class SampleVariance:
    """The variance of a mean over items or over raters, each including the rest, with its degrees of freedom.

    ``count`` is the number of items or raters of each system; of unequal weight, as many equal ones as vary alike.
    """

    variance: float
    freedom: float
    count: float = 1.0


@dataclass(frozen=True, slots=True)
class Contrast:
    """A mean or a difference, with how it varies over new items and raters; ``rest`` is counted in both.

    ``ratings`` is the number of ratings of each system, counted as items and raters are.
    """

    value: float
    items: SampleVariance
    raters: SampleVariance
    rest: float
    ratings: float = 1.0

    @property
    def variance(self) -> float:
        """The variance; a negative component is none."""
        return max(self.items.variance + self.raters.variance - self.rest, self.items.variance, self.raters.variance)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    def exceeding(self, error: float) -> float:
        """Return how likely the estimate is off by at least ``error``, in either direction."""
        if math.isnan(self.variance):
            return math.nan
        if self.variance <= 0:
            return float(abs(error) <= 1e-12)
        over_items, over_raters = (np.array(spread.variance) for spread in (self.items, self.raters))
        freedoms = self.items.freedom, self.raters.freedom
        return float(exceeding(np.array(error), over_items, over_raters, self.rest, freedoms=freedoms))

    @property
    def p_value(self) -> float:
        """The two-sided p-value of no difference."""
        return self.exceeding(self.value)

    def half_width(self, level: float) -> float:
        """Return by how much the interval at this level reaches to either side."""
        if math.isnan(self.variance) or self.variance <= 0:
            return self.variance
        return float(_half_widths(np.array(self.items.variance), np.array(self.raters.variance), self, 1 - level))

    def bounds(self, level: float) -> tuple[float, float]:
        half = self.half_width(level)
        return self.value - half, self.value + half

    def power(self, difference: float, level: float, *, family: int = 1) -> float:
        """Return how likely the test finds this true difference, corrected for ``family`` tests."""
        if math.isnan(self.variance) or self.variance <= 0:
            return self.variance if math.isnan(self.variance) else float(difference != 0)
        expected = self._expected()
        return expected._power(difference, *expected._thresholds(level, family))

    def detectable(self, level: float, *, family: int = 1, power: float = 0.8) -> float:
        """Return the smallest true difference that the test finds with this power, corrected for ``family`` tests."""
        if math.isnan(self.variance) or self.variance <= 0:
            return self.variance
        expected = self._expected()
        thresholds, weights = expected._thresholds(level, family)
        low, high = 0.0, expected.standard_error
        while expected._power(high, thresholds, weights) < power:
            low, high = high, 2 * high
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if expected._power(middle, thresholds, weights) < power else (low, middle)
        return high

    def _expected(self) -> Contrast:
        """Return the contrast without negative components: a variance over items or raters includes the rest.

        Few raters may agree by chance; another study like this one has to expect that they do not.
        """
        items, raters = (
            spread if math.isinf(spread.freedom) else replace(spread, variance=max(spread.variance, self.rest))
            for spread in (self.items, self.raters)
        )
        return replace(self, items=items, raters=raters)

    def _thresholds(self, level: float, family: int) -> tuple[Floats, Floats]:
        """Return the differences that just suffice, for the variances that a study may estimate, and their weights."""
        (over_items, item_weights), (over_raters, rater_weights) = map(_estimates, (self.items, self.raters))
        tail = (1 - level) / max(family, 1)
        thresholds = _half_widths(over_items[:, None], over_raters[None], self, tail, points=_FEW_POINTS)
        return thresholds, item_weights[:, None] * rater_weights

    def _power(self, difference: float, thresholds: Floats, weights: Floats) -> float:
        from scipy.special import ndtr

        either = ndtr((abs(difference) - thresholds) / self.standard_error)
        either += ndtr((-abs(difference) - thresholds) / self.standard_error)
        return float((weights * either).sum())


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """How much the difference of two systems varies with one item, one rater and one rating: a study of any size.

    ``raters`` and ``rest`` are undefined where only one rater, or means, are known. An item or a rater adds one degree
    of freedom if systems share it (``per_item``, ``per_rater``), and two if each system has its own.
    """

    items: float
    raters: float
    rest: float
    per_item: float
    per_rater: float

    @classmethod
    def of(cls, contrasts: Sequence[Contrast]) -> VarianceComponents:
        """Pool differences of systems; a component that is estimated as negative is none."""

        def mean(values: Iterable[float]) -> float:
            return max(0.0, float(np.mean(list(values))))

        def per_unit(spreads: Iterable[SampleVariance]) -> float:
            return mean(each.freedom / max(each.count - 1, 1) for each in spreads)

        contrasts = [each for each in contrasts if math.isfinite(each.variance)]
        if not contrasts:
            return cls(math.nan, math.nan, math.nan, 1.0, 1.0)
        per_item = per_unit(each.items for each in contrasts)
        if any(math.isinf(each.raters.freedom) for each in contrasts):
            items = mean(each.items.variance * each.items.count for each in contrasts)
            return cls(items, math.nan, math.nan, per_item, 1.0)
        shares = [_Shares.of(each.items.count, each.raters.count, each.ratings) for each in contrasts]
        pairs = list(zip(contrasts, shares, strict=True))
        # An item with one rating, or a rater with one, cannot be told from the rating.
        items = mean(
            (each.items.variance - each.rest) / (share.item - share.crossed)
            if share.item > 1.05 * share.rating
            else 0.0
            for each, share in pairs
        )
        raters = mean(
            (each.raters.variance - each.rest) / (share.rater - share.crossed)
            if share.rater > 1.05 * share.rating
            else 0.0
            for each, share in pairs
        )
        rest = mean((each.rest - share.crossed * (items + raters)) / share.rating for each, share in pairs)
        return cls(items, raters, rest, per_item, per_unit(each.raters for each in contrasts))

    def study(self, *, items: float, raters: float, ratings: float) -> Contrast:
        """Return how a difference varies in a study with so many items, raters and ratings of each system."""
        freedom = max(1.0, self.per_item * (items - 1))
        if math.isnan(self.raters):
            sample = SampleVariance(self.items / items, freedom, items)
            return Contrast(0.0, sample, SampleVariance(0.0, math.inf), 0.0, ratings)
        share = _Shares.of(items, raters, ratings)
        rest = self.rest * share.rating
        over_items, over_raters = share.item * self.items + rest, share.rater * self.raters + rest
        return Contrast(
            0.0,
            SampleVariance(over_items + share.crossed * self.raters, freedom, items),
            SampleVariance(over_raters + share.crossed * self.items, max(1.0, self.per_rater * (raters - 1)), raters),
            rest + share.crossed * (self.items + self.raters),
            ratings,
        )


@dataclass(frozen=True, slots=True)
class _Shares:
    """What one item, one rater and one rating add to the variance of a mean.

    If raters do not rate all items, the items of a rater differ from those of another, so that a part of the variance
    of items is found between raters too, and the reverse: ``crossed``.
    """

    item: float
    rater: float
    rating: float
    crossed: float

    @classmethod
    def of(cls, items: float, raters: float, ratings: float) -> _Shares:
        return cls(1 / items, 1 / raters, 1 / ratings, max(0.0, 1 / ratings - 1 / (items * raters)))


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
        freedom = max(1.0, (1 - self.shared) / self.weights)
        return SampleVariance(self.squares / (1 - self.shared), freedom, 1 / self.shared)


def _combine(value: float, items: _Sums, raters: _Sums, cells: _Sums) -> Contrast:
    over_items, over_raters = items.variance, raters.variance
    if math.isnan(over_raters.variance):  # one rater, who is not a sample
        return Contrast(value, over_items, SampleVariance(0.0, math.inf), 0.0, 1 / cells.shared)
    shared = items.shared + raters.shared - cells.shared
    total = max(over_items.variance, over_raters.variance)
    if shared < 1 - 1e-9:
        total = (items.squares + raters.squares - cells.squares) / (1 - shared)
    rest = over_items.variance + over_raters.variance - total
    return Contrast(value, over_items, over_raters, rest, 1 / cells.shared)


def _half_widths(items: Floats, raters: Floats, like: Contrast, tail: float, *, points: int = _POINTS) -> Floats:
    """Return the errors that are exceeded with probability ``tail``, for these variances over items and raters."""
    freedoms = like.items.freedom, like.raters.freedom

    def is_exceeded(errors: Floats) -> npt.NDArray[np.bool_]:
        return exceeding(errors, items, raters, like.rest, freedoms=freedoms, points=points) > tail

    low = np.zeros(np.broadcast_shapes(items.shape, raters.shape))
    high = low + like.standard_error
    while (short := is_exceeded(high)).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    for _ in range(24):
        middle = (low + high) / 2
        short = is_exceeded(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


def _estimates(spread: SampleVariance) -> tuple[Floats, Floats]:
    """Return variances that a study may estimate where this is the true one, and their weights."""
    from scipy.special import gammaincinv

    if math.isinf(spread.freedom):
        return np.array([spread.variance]), np.ones(1)
    places, weights = np.polynomial.legendre.leggauss(_VARIANCES)
    return spread.variance * gammaincinv(spread.freedom / 2, (places + 1) / 2) * 2 / spread.freedom, weights / 2


def exceeding(
    errors: Floats, items: Floats, raters: Floats, rest: float, *, freedoms: tuple[float, float], points: int = _POINTS
) -> Floats:
    """Return how likely estimates are off by at least these errors, from their variances over items and raters.

    Arrays are broadcast; ``points`` of the quadrature over each chi-squared variable set the precision.
    """
    from scipy.special import ndtr

    (over_items, item_weights), (over_raters, rater_weights) = (_inflations(freedom, points) for freedom in freedoms)
    variances = items[..., None, None] * over_items[:, None] + raters[..., None, None] * over_raters - rest
    tails = ndtr(-np.abs(errors)[..., None, None] / np.sqrt(np.maximum(variances, 1e-300)))
    return np.asarray(2 * (tails @ rater_weights) @ item_weights)


@lru_cache(maxsize=1024)
def _inflations(freedom: float, points: int) -> tuple[Floats, Floats]:
    """Return ``freedom`` by quantiles of a chi-squared variable, dense where it is small, and their weights."""
    from scipy.special import gammaincinv

    if math.isinf(freedom):
        return np.ones(1), np.ones(1)
    places, weights = np.polynomial.legendre.leggauss(points)
    places = (places + 1) / 2
    quantiles = np.maximum(gammaincinv(freedom / 2, places**4), 1e-290)
    return freedom / (2 * quantiles), 2 * weights * places**3
