"""Agreement between raters: kappa, Krippendorff's alpha, intraclass correlation; and which raters are outliers.

Ratings are a matrix, a row for each rated unit and a column for each rater, with NaN (None in a matrix of labels)
where a rater did not rate. All chance-corrected coefficients follow from one idea: a disagreement is a squared distance
between features of two ratings,

    nominal    ½ Σ over categories (1[x = c] − 1[y = c])²            different or not
    linear     Σ over thresholds gap (1[x ≤ t] − 1[y ≤ t])²          |x − y|
    quadratic  (x − y)²
    ordinal    (rank x − rank y)², ranks among all ratings, ties shared

so a coefficient is a formula over sums of features, as a metric is a formula over sums of rows, and both have the same
bootstrap. An undefined coefficient (no variation, no unit with two ratings) is NaN, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.stats.correlate import correlation
from plainly.stats.resample import Estimate, Floats, Ints, Resampler, interval, ratio

Distance = Literal["nominal", "linear", "quadratic", "ordinal"]
IccModel = Literal["one-way", "random", "mixed"]
AlphaDistance = Literal["nominal", "ordinal", "interval"]

_MOST_FEATURES = 2000
_CHUNK = 8_000_000


@dataclass(frozen=True)
class Coefficient:
    """A coefficient as rows that add up, one for each unit, and a formula over their sums."""

    rows: Floats
    score: Callable[[Floats], Floats]
    has_row: npt.NDArray[np.bool_] | None = None  # which units have a row; None means all

    @property
    def value(self) -> float:
        return float(self.score(self.rows.sum(axis=0))[..., 0]) if len(self.rows) else float("nan")

    def estimate(self, sampling: Sampling = Sampling(), *, groups: Sequence[str] | None = None) -> Estimate:
        """Return the value with a bootstrap interval; units are drawn, each with all of its ratings.

        ``groups`` names the units that belong together (outputs for one item) and are drawn together.
        """
        if not len(self.rows):
            return Estimate(float("nan"), float("nan"), float("nan"), sampling.level, 0, "no unit has two ratings")
        names = None if groups is None else tuple(groups if self.has_row is None else compress(groups, self.has_row))
        resampler = Resampler(n=len(self.rows), resamples=sampling.resamples, seed=sampling.seed, groups=names)
        (draws,) = resampler.totals([self.rows])
        unit, rows = "units" if names is None else "items", resampler.units(self.rows)
        (estimate,) = interval(rows, self.score, draws, sampling=sampling, unit=unit, totals=self.rows.sum(axis=0))
        return replace(estimate, n=len(self.rows))


@dataclass(frozen=True)
class ResampledKappa:
    """Kappa of one rater against the others' mean, over random choices of that rater.

    ``low`` and ``high`` hold the middle ``level`` of the draws. ``margin`` is the half-width of the confidence
    interval of the draws' centre, z·sd/√draws: it shrinks with the number of draws and does not describe the raters.
    """

    median: float
    low: float
    high: float
    margin: float
    level: float
    draws: int
    n: int


def resampled_kappa(
    ratings: npt.ArrayLike,
    *,
    weights: Distance = "quadratic",
    draws: int = Sampling().resamples,
    level: float = Sampling().level,
    rng: np.random.Generator,
) -> ResampledKappa:
    """Draw one rater of each unit and compute kappa against the rounded mean of the others; repeat.

    Pavlick and Tetreault 2016, §3; Sulem et al. 2018, §4.1. Units with fewer than two ratings are left out. The mean of
    two raters often lies half-way between two points of the scale; halves are rounded to even.
    """
    values, rated = encode_ratings(ratings, numbers=True)
    comparable = rated.sum(axis=1) >= 2
    values, rated = values[comparable], rated[comparable]
    units, count = len(values), rated.sum(axis=1)
    if not units:
        return ResampledKappa(math.nan, math.nan, math.nan, math.nan, level, draws, 0)
    # Ratings come first in each row, so that a number below their count draws one of them.
    order = np.argsort(~rated, axis=1, kind="stable")[:, : count.max()]
    own = np.take_along_axis(np.where(rated, values, 0.0), order, axis=1)
    others = np.rint((own.sum(axis=1, keepdims=True) - own) / (count - 1)[:, None])
    pairs = np.stack([own, others], axis=-1).reshape(-1, 2)

    def sums(feature: Floats) -> list[Floats]:
        x, y = feature.T
        return [x, y, x**2 + y**2, x * y]

    table, gaps = _rows(pairs, np.ones(pairs.shape, dtype=bool), weights, sums)
    kappas = np.empty(draws)
    step = max(1, _CHUNK // (units * table.shape[1]))
    start_of_unit = np.arange(units) * own.shape[1]
    for start in range(0, draws, step):
        chunk = min(step, draws - start)
        picks = start_of_unit + (rng.random((chunk, units)) * count).astype(np.int64)
        x, y, squares, product = np.moveaxis(table[picks].sum(axis=1).reshape(chunk, -1, 4), -1, 0)
        observed = ((squares - 2 * product) * gaps).sum(axis=-1)
        expected = ((squares - 2 * x * y / units) * gaps).sum(axis=-1)
        kappas[start : start + chunk] = 1 - ratio(observed, expected)
    low, median, high = map(float, np.quantile(kappas, [(1 - level) / 2, 0.5, (1 + level) / 2]))
    z = NormalDist().inv_cdf((1 + level) / 2)
    margin = z * float(kappas.std(ddof=1)) / math.sqrt(draws) if draws > 1 else math.nan
    return ResampledKappa(median, low, high, margin, level, draws, units)


def _rows(
    values: Floats, rated: npt.NDArray[np.bool_], distance: Distance, sums: Callable[[Floats], list[Floats]]
) -> tuple[Floats, Floats]:
    """Return the sums of each feature side by side, a row for each unit; and the weight of each feature."""
    features, gaps = zip(*_features(values, rated, distance), strict=True)
    return np.concatenate([np.stack(sums(feature), axis=1) for feature in features], axis=1), np.array(gaps)


def fleiss(ratings: npt.ArrayLike, *, weights: Distance = "nominal") -> Coefficient:
    """Return Fleiss' kappa (1971): chance agreement from one distribution of ratings, shared by all raters.

    With gaps, each unit that has at least two ratings counts the same, as in Gwet's (2014, §2.4) extension.
    """
    return _pool_ratings(ratings, weights, by_unit=True)


def krippendorff(ratings: npt.ArrayLike, *, distance: AlphaDistance = "interval") -> Coefficient:
    """Return Krippendorff's alpha (2011, §F), which allows gaps. Ordinal ranks are the same in every draw."""
    if distance not in get_args(AlphaDistance):
        raise BadInput(f"Krippendorff's distance is nominal, ordinal or interval, not {distance!r}.")
    return _pool_ratings(ratings, "quadratic" if distance == "interval" else distance, by_unit=False)


def _pool_ratings(ratings: npt.ArrayLike, distance: Distance, *, by_unit: bool) -> Coefficient:
    """Estimate chance from all ratings; units count equally (``by_unit``, Fleiss), or ratings do (Krippendorff)."""
    values, rated = encode_ratings(ratings)
    has_pair: npt.NDArray[np.bool_] = rated.sum(axis=1) >= 2
    values, rated = values[has_pair], rated[has_pair]
    count = rated.sum(axis=1)
    share = count if by_unit else np.ones_like(count)

    def of_units(feature: Floats) -> list[Floats]:
        sums, squares = feature.sum(axis=1), (feature**2).sum(axis=1)
        return [2 * (count * squares - sums**2) / (share * (count - 1)), sums / share, squares / share]

    def score(totals: Floats) -> Floats:
        n = totals[..., :1]
        apart, sums, squares = np.moveaxis(totals[..., 1:].reshape(*totals.shape[:-1], -1, 3), -1, 0)
        chance = squares - sums**2 / n if by_unit else n * squares - sums**2
        observed, expected = ((part * gaps).sum(axis=-1, keepdims=True) for part in (apart, 2 * chance))
        return 1 - ratio(observed, expected if by_unit else expected / (n - 1))

    sums, gaps = _rows(values, rated, distance, of_units)
    return Coefficient(np.concatenate([(count / share)[:, None], sums], axis=1), score, has_pair)


def davies_fleiss(ratings: npt.ArrayLike, *, weights: Distance = "nominal") -> float:
    """Return Davies and Fleiss' kappa (1982): chance agreement from each rater's own distribution.

    It pools all pairs of raters; with gaps, a pair counts by the units that both rated.
    """
    observed, expected = _pairs(ratings, weights)
    above = np.triu_indices(len(observed), 1)
    return float(1 - ratio(observed[above].sum(), expected[above].sum()))


def pairwise_kappa(ratings: npt.ArrayLike, *, weights: Distance = "nominal") -> Floats:
    """Return Cohen's kappa of every pair of raters on the units both rated, (raters, raters); NaN where undefined."""
    observed, expected = _pairs(ratings, weights)
    kappas: Floats = 1 - ratio(observed, expected)
    np.fill_diagonal(kappas, np.nan)
    return kappas


def icc(ratings: npt.ArrayLike, *, model: IccModel = "random", average: bool = False) -> Coefficient:
    """Return the intraclass correlation (Shrout and Fleiss 1979) of one rater, or of the mean of all (``average``).

    ``one-way`` is ICC(1): raters differ from unit to unit, and gaps are allowed. ``random`` is ICC(2), absolute
    agreement of raters drawn from many; ``mixed`` is ICC(3), consistency of these raters. Both need every rater on
    every unit: units with a gap are left out, and if none is left the coefficient is undefined.
    """
    if model not in get_args(IccModel):
        raise BadInput(f"The model of an intraclass correlation is {', '.join(get_args(IccModel))}; not {model!r}.")
    values, rated = encode_ratings(ratings, numbers=True)
    if model == "one-way":
        return _one_way(values, rated, average=average)
    complete = np.asarray(rated.all(axis=1))
    return replace(_two_way(values[complete], mixed=model == "mixed", average=average), has_row=complete)


def _one_way(values: Floats, rated: npt.NDArray[np.bool_], *, average: bool) -> Coefficient:
    has_rating = np.asarray(rated.any(axis=1))
    centred = _centre(values, rated)[has_rating]
    k, sums = rated[has_rating].sum(axis=1), centred.sum(axis=1)
    rows = np.stack([np.ones(len(k)), k, k**2, sums, sums**2 / k, (centred**2).sum(axis=1)], axis=1)

    def score(totals: Floats) -> Floats:
        n, ratings, squared, sums, between, squares = np.moveaxis(totals, -1, 0)
        ms_between = ratio(between - ratio(sums**2, ratings), n - 1)
        ms_within = ratio(squares - between, ratings - n)
        size = ratio(ratings - ratio(squared, ratings), n - 1)  # raters per unit, where units differ in them
        spread = ms_between if average else ms_between + (size - 1) * ms_within
        return ratio(ms_between - ms_within, spread)[..., None]

    return Coefficient(rows, score, has_rating)


def _two_way(complete: Floats, *, mixed: bool, average: bool) -> Coefficient:
    raters = complete.shape[1]
    centred = _centre(complete, np.ones(complete.shape, dtype=bool))
    sums = centred.sum(axis=1)
    rows = np.column_stack([np.ones(len(centred)), sums**2 / raters, (centred**2).sum(axis=1), centred])

    def score(totals: Floats) -> Floats:
        n, of_units, squares, of_raters = totals[..., 0], totals[..., 1], totals[..., 2], totals[..., 3:]
        correction = ratio(of_raters.sum(axis=-1) ** 2, n * raters)
        ss_units = of_units - correction
        ss_raters = ratio((of_raters**2).sum(axis=-1), n) - correction
        ms_units = ratio(ss_units, n - 1)
        ms_raters = ratio(ss_raters, np.full_like(n, raters - 1))
        ms_error = ratio(squares - correction - ss_units - ss_raters, (n - 1) * (raters - 1))
        spread = ms_units if average else ms_units + (raters - 1) * ms_error
        if not mixed:
            spread = spread + (ms_raters - ms_error) * (1 if average else raters) / n
        return ratio(ms_units - ms_error, spread)[..., None]

    return Coefficient(rows, score)


def _pairs(ratings: npt.ArrayLike, weights: Distance) -> tuple[Floats, Floats]:
    """Return observed and expected disagreement of each pair of raters, summed over the units that both rated."""
    values, rated = encode_ratings(ratings)
    present = rated.astype(float)
    shared = present.T @ present
    observed, expected = np.zeros_like(shared), np.zeros_like(shared)
    for feature, gap in _features(values, rated, weights):
        sums, squares = feature.T @ present, (feature**2).T @ present  # [m, n]: of m, where n rated as well
        both = squares + squares.T
        observed += gap * (both - 2 * feature.T @ feature)
        expected += gap * (both - 2 * ratio(sums * sums.T, shared, undefined=0.0))
    return observed, expected


def encode_ratings(ratings: npt.ArrayLike, *, numbers: bool = False) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return a matrix of numbers, in which labels are numbered, and a mask of the cells that have a rating."""
    matrix = np.asarray(ratings)
    if matrix.ndim != 2:
        raise BadInput(f"Ratings are a matrix of units × raters; got {matrix.ndim} dimension(s), shape {matrix.shape}.")
    if matrix.dtype.kind in "biuf":
        values = matrix.astype(np.float64)
        return values, ~np.isnan(values)
    if numbers:
        raise BadInput("This coefficient needs numbers; labels have no mean.")
    rated = np.array([[cell is not None and cell == cell and cell != "" for cell in row] for row in matrix], dtype=bool)
    rated = rated.reshape(matrix.shape)
    values = np.full(matrix.shape, np.nan)
    _, values[rated] = np.unique(matrix[rated].astype(str), return_inverse=True)
    return values, rated


def _features(values: Floats, rated: npt.NDArray[np.bool_], distance: Distance) -> Iterator[tuple[Floats, float]]:
    """Yield matrices like the ratings, 0 where not rated, and the weight of each; see the module's docstring."""
    if distance not in get_args(Distance):
        raise BadInput(f"Weights are {', '.join(get_args(Distance))}; not {distance!r}.")
    if distance == "quadratic":
        yield _centre(values, rated), 1.0
        return
    points, index, counts = np.unique(values[rated], return_inverse=True, return_counts=True)
    if distance == "ordinal":
        ranks = np.zeros(values.shape)
        middle = np.cumsum(counts) - (counts + 1) / 2
        ranks[rated] = (middle - middle[len(middle) // 2] if len(middle) else middle)[index]
        yield ranks, 1.0
        return
    if len(points) > _MOST_FEATURES:
        raise BadInput(f"{len(points)} different ratings are too many for {distance} weights; use quadratic.")
    if len(points) < (1 if distance == "nominal" else 2):
        yield np.zeros(values.shape), 1.0
    elif distance == "nominal":
        for value in points:
            yield (rated & (values == value)).astype(float), 0.5
    else:
        for value, gap in zip(points[:-1], np.diff(points), strict=True):
            yield (rated & (values <= value)).astype(float), float(gap)


def _centre(values: Floats, rated: npt.NDArray[np.bool_]) -> Floats:
    """Subtract the median: distances stay, sums of squares keep their digits, constants and gaps are exactly 0."""
    return np.where(rated, values - np.median(values[rated]), 0.0) if rated.any() else np.zeros(values.shape)


# A robust z-score beyond which a rater's agreement with the others is called outlying (Iglewicz and Hoaglin 1993).
OUTLYING = 3.5
# With fewer ratings, or fewer raters, one of them cannot be judged.
FEWEST = 10
FEWEST_RATERS = 5
# In this share of studies whose raters are all equally good, somebody is called outlying on a question.
OUTLIER_ERROR = 0.05
_NEARLY_1 = 0.999


@dataclass(frozen=True)
class Rater:
    """One rater against the mean of the others on the same units; undefined is NaN.

    ``compared`` of the ``n`` ratings are of units that others rated too. ``bias`` is how much higher this rater's
    ratings are. ``alpha_without`` is Krippendorff's interval alpha of the others: where it is clearly higher than that
    of all, the rater disagrees with them. ``outlying`` says why, if so; chance is ruled out as far as
    ``OUTLIER_ERROR`` says.
    """

    name: str
    n: int
    compared: int
    mean: float = math.nan
    sd: float = math.nan
    correlation: float = math.nan
    bias: float = math.nan
    distance: float = math.nan
    alpha_without: float = math.nan
    outlying: str = ""


def reliability(ratings: npt.ArrayLike, names: Sequence[str] | None = None) -> list[Rater]:
    """Describe every rater of a matrix of units × raters, most reliable first."""
    values, rated = encode_ratings(ratings, numbers=True)
    labels = names if names is not None else [str(number) for number in range(1, values.shape[1] + 1)]
    count, total = rated.sum(axis=1), np.where(rated, values, 0.0).sum(axis=1)
    raters, repeated, errors = [], [], []
    for column, name in enumerate(labels):
        repeated.append(_chance_of_repeating(values[rated], values[rated[:, column], column]))
        shared = rated[:, column] & (count > 1)
        own, others = values[shared, column], np.delete(values, column, axis=1)
        means = (total[shared] - own) / (count[shared] - 1)
        rater = _compare_with_others(name, values[rated[:, column], column], own, means)
        errors.append(_transformed_error(own, means))
        raters.append(replace(rater, alpha_without=krippendorff(others).value))
    return sorted(
        _mark_outliers(raters, np.array(repeated), np.array(errors)),
        key=lambda rater: 2.0 if math.isnan(rater.correlation) else -rater.correlation,
    )


def _compare_with_others(name: str, values: Floats, own: Floats, others: Floats) -> Rater:
    """Describe a rater by all of their ratings, and by those that can be compared with the mean of the others."""
    rater = Rater(name, len(values), len(own), correlation=correlation(own, others))
    if len(values):
        rater = replace(rater, mean=float(values.mean()), sd=float(values.std()))
    if len(own):
        apart = own - others
        rater = replace(rater, bias=float(apart.mean()), distance=float(np.abs(apart).mean()))
    return rater


def _mark_outliers(
    raters: Sequence[Rater], repeated: Floats, errors: Floats, error: float = OUTLIER_ERROR
) -> list[Rater]:
    """Return the raters with the reasons to look closer, which ``error`` of the studies without any have by chance.

    ``repeated`` are the probabilities that a rater gives the same rating every time by chance, ``errors`` the standard
    errors of the transformed correlations or, for nominal ratings, of the distances.
    """
    from scipy.special import stdtr

    limit = error / max(1, len(raters)) / 2  # two ways to be called outlying
    count = np.array([rater.compared for rater in raters], dtype=float)
    correlations = np.array([rater.correlation for rater in raters])
    distances = np.array([rater.distance for rater in raters])
    is_nominal = np.array([np.isnan(rater.sd) for rater in raters], dtype=bool)
    badness = np.where(is_nominal, distances, -np.arctanh(np.clip(correlations, -_NEARLY_1, _NEARLY_1)))
    defined = badness[(count >= FEWEST) & ~np.isnan(badness)]
    middle = float(np.median(defined)) if len(defined) else math.nan
    # The median has a variance of its own, π/2 times that of a mean.
    whole_error = errors * math.sqrt(1 + math.pi / 2 / max(1, len(defined)))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = stdtr(np.maximum(count - 2, 1), (middle - badness) / whole_error)
    is_worse = chance <= limit
    # With many ratings a small difference is certain, too: it must also be large, among raters or by half.
    is_low = (_robust_z(correlations) < -OUTLYING) | (correlations < math.tanh(-middle) / 2)
    is_far = _robust_z(distances) > OUTLYING
    figures = zip(raters, repeated <= limit, is_worse, is_low, is_far, strict=True)
    return [replace(rater, outlying=_reason(rater, *own)) for rater, *own in figures]


def _reason(rater: Rater, is_repeated: bool, is_worse: bool, is_low: bool, is_far: bool) -> str:
    if rater.n < FEWEST:
        return f"only {rater.n} ratings: too few to tell" if rater.n else ""
    if rater.sd < 1e-12:
        return "gave the same rating every time" if is_repeated else ""
    if rater.compared < FEWEST or not is_worse:
        return ""
    if rater.correlation <= 0:
        return "rates against the others, or without relation to them"
    if is_low:
        return "agrees with the others far less than most raters do"
    if np.isnan(rater.sd) and is_far:  # names have no mean and no correlation, only a share that differs
        return "differs from the others far more than most raters do"
    return ""


def _transformed_error(own: Floats, others: Floats, clusters: Ints | None = None) -> float:
    """Return the standard error of Fisher's transformation of a correlation.

    It is the larger one of that for normal ratings and that of the sandwich estimator, because ratings at the end of a
    scale are not normal.
    """
    if len(own) < FEWEST or np.ptp(own) < 1e-12 or np.ptp(others) < 1e-12:
        return math.nan
    clusters = np.arange(len(own)) if clusters is None else clusters
    x, y = ((values - values.mean()) / values.std() for values in (own, others))
    r = min(max(float((x * y).mean()), -_NEARLY_1), _NEARLY_1)
    influence = (x * y - r * (x * x + y * y) / 2) / (1 - r * r)
    return max(1 / math.sqrt(len(own) - 3), _clustered_error(influence - influence.mean(), clusters))


def _chance_of_repeating(values: Floats, own: Floats) -> float:
    """Return how probable it is to give only one rating by chance: its share among the others', each time."""
    if not len(own) or np.ptp(own) > 1e-12:
        return 1.0
    others = len(values) - len(own)
    share = (np.count_nonzero(values == own[0]) - len(own) + 1) / (others + 2)
    return float(share ** len(own))


def _robust_z(values: Floats) -> Floats:
    """Return how far out each value is, by median and median deviation; NaN where there are few values."""
    defined = values[~np.isnan(values)]
    middle = np.median(defined) if len(defined) else np.nan
    spread = np.median(np.abs(defined - middle)) if len(defined) >= FEWEST_RATERS else 0.0
    # .6745 makes the median deviation of a normal distribution its standard deviation.
    return np.asarray(0.6745 * (values - middle) / spread if spread > 1e-12 else np.full(len(values), np.nan))


@dataclass(frozen=True)
class LongRatings:
    """Ratings as a running study has them, one after another: which unit, rater and value.

    Units and values are numbered once, because a dashboard evaluates growing parts of the same ratings, and a crowd's
    matrix of units × raters is mostly empty. ``points`` are the distinct values, ``level`` is their level of
    measurement.
    """

    units: Ints
    raters: npt.NDArray[np.str_]
    values: Ints
    points: Floats
    level: AlphaDistance

    @classmethod
    def of(
        cls, units: npt.ArrayLike, raters: npt.ArrayLike, values: npt.ArrayLike, *, level: AlphaDistance
    ) -> LongRatings:
        """Number units and values; missing ratings (NaN) are left out."""
        numbers = np.asarray(values, dtype=np.float64)
        rated = ~np.isnan(numbers)
        unit = np.unique(np.asarray(units)[rated], return_inverse=True)[1]
        points, value = np.unique(numbers[rated], return_inverse=True)
        return cls(unit, np.asarray(raters, dtype=np.str_)[rated], value, points, level)

    def __len__(self) -> int:
        return len(self.units)

    @property
    def numbers(self) -> Floats:
        return self.points[self.values]

    @property
    def compared(self) -> int:
        return int((np.bincount(self.units) > 1).sum())

    def krippendorff(self, *, first: int | None = None) -> Coefficient:
        """Return Krippendorff's alpha of the first ratings, or of all.

        Alpha does not depend on the rater, so each unit's ratings are moved to its first columns.
        """
        order = np.argsort(self.units[:first], kind="stable")
        units, numbers = self.units[order], self.numbers[order]
        ratings = np.full((int(units.max(initial=-1)) + 1, int(np.bincount(units).max(initial=0))), np.nan)
        ratings[units, np.arange(len(units)) - np.searchsorted(units, units)] = numbers
        return krippendorff(ratings, distance=self.level)

    def by_rater(self, *, error: float = OUTLIER_ERROR, clusters: Ints | None = None) -> list[Rater]:
        """Compare every rater with the others on the same units; for nominal values, by the share who differ.

        Units of one cluster (the words of a sentence, the questions on a text) go together; by default each unit is its
        own.
        """
        numbers, others = self.numbers, np.bincount(self.units)[self.units] - 1
        shared = others > 0
        if self.level == "nominal":
            cell = self.units * len(self.points) + self.values
            apart = 1.0 - (np.bincount(cell)[cell] - 1)[shared] / others[shared]
        else:
            total = np.bincount(self.units, weights=numbers)
            means = (total[self.units] - numbers)[shared] / others[shared]
        names, rater = np.unique(self.raters, return_inverse=True)
        cluster = (self.units if clusters is None else clusters)[shared]
        raters, errors, repeated = [], [], []
        groups = zip(names.tolist(), _by_group(rater), _by_group(rater[shared], len(names)), strict=True)
        for name, own, comparable in groups:
            if self.level == "nominal":
                distance = float(apart[comparable].mean()) if len(comparable) else math.nan
                raters.append(Rater(name, len(own), len(comparable), distance=distance))
                errors.append(_clustered_error(apart[comparable] - distance, cluster[comparable]))
                repeated.append(1.0)
            else:
                repeated.append(_chance_of_repeating(numbers, numbers[own]))
                comparison = numbers[shared][comparable], means[comparable]
                raters.append(_compare_with_others(name, numbers[own], *comparison))
                errors.append(_transformed_error(*comparison, cluster[comparable]))
        return _mark_outliers(raters, np.array(repeated), np.array(errors), error)


def _clustered_error(deviations: Floats, clusters: Ints) -> float:
    """Return the standard error of a mean over clusters; NaN if there are few clusters."""
    sums = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=deviations)
    if len(sums) < FEWEST:
        return math.nan
    return math.sqrt(float(sums @ sums) * len(sums) / (len(sums) - 1)) / len(deviations)


def _by_group(group: npt.NDArray[np.intp], count: int = 0) -> list[npt.NDArray[np.intp]]:
    """Return the positions of each group's members, in their order."""
    return np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=count))[:-1])
