"""How far raters agree beyond chance: kappa for two, for many, resampled; Krippendorff's alpha; intraclass correlation.

Ratings are a matrix, a row for each rated unit and a column for each rater, with NaN (None in a matrix of labels)
where a rater did not rate. One idea carries all of the chance-corrected coefficients: a disagreement is a squared
distance between features of two ratings,

    nominal    ½ Σ over categories (1[x = c] − 1[y = c])²            different or not
    linear     Σ over thresholds gap (1[x ≤ t] − 1[y ≤ t])²          |x − y|
    quadratic  (x − y)²
    ordinal    (rank x − rank y)², ranks among all ratings, ties shared

so a coefficient needs only sums of features over units. Those sums are a table of rows that add up and one formula,
as a metric's are, and the bootstrap of a coefficient is the bootstrap of a metric. A coefficient that is undefined
(no variation, no unit with two ratings) is NaN, never 0.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.stats.estimate import Estimate
from plainly.stats.resample import Floats, Resampler
from plainly.stats.resample import interval as bootstrap_interval

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
    kept: npt.NDArray[np.bool_] | None = None  # which units have a row; all, if it is not said

    @property
    def value(self) -> float:
        return float(self.score(self.rows.sum(axis=0))[..., 0]) if len(self.rows) else float("nan")

    def estimate(self, sampling: Sampling = Sampling(), *, groups: Sequence[str] | None = None) -> Estimate:
        """The value with a bootstrap interval; units are drawn, each with all of its ratings.

        ``groups`` says which units go together (outputs for one item) and are drawn as wholes.
        """
        if not len(self.rows):
            return Estimate(float("nan"), float("nan"), float("nan"), sampling.level, 0, "no unit has two ratings")
        names = None if groups is None else tuple(groups if self.kept is None else compress(groups, self.kept))
        draws = Resampler(n=len(self.rows), resamples=sampling.resamples, seed=sampling.seed, groups=names)
        (drawn,) = draws.totals([self.rows])
        unit = "units" if names is None else "items"
        (estimate,) = bootstrap_interval(
            draws.units(self.rows), self.score, drawn, sampling=sampling, unit=unit, totals=self.rows.sum(axis=0)
        )
        return replace(estimate, n=len(self.rows))


@dataclass(frozen=True)
class ResampledKappa:
    """Kappa of one rater against the others' mean, over random choices of that rater.

    ``low`` and ``high`` hold the middle ``level`` of the draws. ``margin`` is the half-width of the confidence
    interval of the draws' centre, z·sd/√draws: it shrinks with the number of draws and says nothing about the raters.
    """

    median: float
    low: float
    high: float
    margin: float
    level: float
    draws: int
    n: int


def cohen(first: npt.ArrayLike, second: npt.ArrayLike, *, weights: Distance = "nominal") -> Coefficient:
    """Cohen's kappa of two raters; weighted (Cohen 1968) where ``weights`` is linear or quadratic.

    Weights are distances between values, not places: a point of the scale that nobody used keeps its place.
    """
    x, y = np.asarray(first), np.asarray(second)
    if x.ndim != 1 or x.shape != y.shape:
        raise BadInput(f"Two raters need a list of ratings each, of one length; got {x.shape} and {y.shape}.")
    values, rated = coded(np.stack([x, y], axis=1))
    values = values[rated.all(axis=1)]
    sums, gaps = _pair_rows(values, weights)
    rows = np.concatenate([np.ones((len(values), 1)), sums], axis=1)
    return Coefficient(rows, lambda totals: _pair_kappa(totals[..., 1:], totals[..., :1], gaps)[..., None])


def resampled_kappa(
    ratings: npt.ArrayLike,
    *,
    weights: Distance = "quadratic",
    draws: int = Sampling().resamples,
    level: float = Sampling().level,
    rng: np.random.Generator,
) -> ResampledKappa:
    """For each unit one rater, drawn at random, against the rounded mean of the others; kappa; repeated.

    Pavlick and Tetreault 2016, §3; Sulem et al. 2018, §4.1. Units with fewer than two ratings are left out. The mean of
    two raters often lies half-way between two points of the scale; halves are rounded to even.
    """
    values, rated = _pairable(*coded(ratings, numbers=True))
    units = len(values)
    if not units:
        nothing = float("nan")
        return ResampledKappa(nothing, nothing, nothing, nothing, level, draws, 0)
    count = rated.sum(axis=1)
    # Whoever rated a unit stands first in its row, so that the j-th of them is drawn by a number below the count.
    order = np.argsort(~rated, axis=1, kind="stable")[:, : count.max()]
    mine = np.take_along_axis(np.where(rated, values, 0.0), order, axis=1)
    others = np.rint((mine.sum(axis=1, keepdims=True) - mine) / (count - 1)[:, None])
    table, gaps = _pair_rows(np.stack([mine, others], axis=-1).reshape(-1, 2), weights)
    kappas = np.empty(draws)
    step = max(1, _CHUNK // (units * table.shape[1]))
    start_of_unit = np.arange(units) * mine.shape[1]
    for start in range(0, draws, step):
        chunk = min(step, draws - start)
        chosen = start_of_unit + (rng.random((chunk, units)) * count).astype(np.int64)
        kappas[start : start + chunk] = _pair_kappa(table[chosen].sum(axis=1), float(units), gaps)
    z = NormalDist().inv_cdf((1 + level) / 2)
    low, median, high = np.quantile(kappas, [(1 - level) / 2, 0.5, (1 + level) / 2])
    margin = z * kappas.std(ddof=1) / np.sqrt(draws) if draws > 1 else float("nan")
    return ResampledKappa(float(median), float(low), float(high), float(margin), level, draws, units)


def _pair_rows(pairs: Floats, weights: Distance) -> tuple[Floats, Floats]:
    """Four sums for each feature of a pair of ratings, a row for each pair; and the weight of each feature."""

    def sums(feature: Floats) -> list[Floats]:
        x, y = feature[:, 0], feature[:, 1]
        return [x, y, x**2 + y**2, x * y]

    return _rows(pairs, np.ones(pairs.shape, dtype=bool), weights, sums)


def _rows(
    values: Floats, rated: npt.NDArray[np.bool_], distance: Distance, sums: Callable[[Floats], list[Floats]]
) -> tuple[Floats, Floats]:
    """The sums of each feature side by side, a row for each unit; and the weight of each feature."""
    blocks, gaps = [], []
    for feature, gap in _features(values, rated, distance):
        blocks.append(np.stack(sums(feature), axis=1))
        gaps.append(gap)
    return np.concatenate(blocks, axis=1), np.array(gaps)


def _pair_kappa(totals: Floats, n: Floats | float, gaps: Floats) -> Floats:
    """Kappa of two raters from the summed rows of their ``n`` pairs."""
    x, y, squares, product = np.moveaxis(totals.reshape(*totals.shape[:-1], -1, 4), -1, 0)
    observed = ((squares - 2 * product) * gaps).sum(axis=-1)
    expected = ((squares - 2 * x * y / n) * gaps).sum(axis=-1)
    return 1 - ratio(observed, expected)


def fleiss(ratings: npt.ArrayLike, *, weights: Distance = "nominal") -> Coefficient:
    """Fleiss' kappa (1971): chance agreement from one distribution of ratings, shared by all raters.

    With gaps, each unit that has at least two ratings counts the same, as in Gwet's (2014, §2.4) extension.
    """
    return _pooled(ratings, weights, by_unit=True)


def krippendorff(ratings: npt.ArrayLike, *, distance: AlphaDistance = "interval") -> Coefficient:
    """Krippendorff's alpha (2011, §F): gaps are part of its definition. Ordinal ranks are the same in every draw."""
    if distance not in get_args(AlphaDistance):
        raise BadInput(f"Krippendorff's distance is nominal, ordinal or interval, not {distance!r}.")
    return _pooled(ratings, "quadratic" if distance == "interval" else distance, by_unit=False)


def _pooled(ratings: npt.ArrayLike, distance: Distance, *, by_unit: bool) -> Coefficient:
    """Chance from all ratings together. ``by_unit``: units count the same (Fleiss), else ratings do (Krippendorff)."""
    values, rated = coded(ratings)
    kept: npt.NDArray[np.bool_] = rated.sum(axis=1) >= 2
    values, rated = values[kept], rated[kept]
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
    return Coefficient(np.concatenate([(count / share)[:, None], sums], axis=1), score, kept)


def davies_fleiss(ratings: npt.ArrayLike, *, weights: Distance = "nominal") -> float:
    """Davies and Fleiss' kappa (1982): chance agreement from each rater's own distribution.

    It pools all pairs of raters; with gaps, a pair counts by the units that both rated.
    """
    observed, expected = _pairs(ratings, weights)
    above = np.triu_indices(len(observed), 1)
    return float(1 - ratio(observed[above].sum(), expected[above].sum()))


def pairwise_kappa(ratings: npt.ArrayLike, *, weights: Distance = "nominal") -> Floats:
    """Cohen's kappa of every pair of raters on the units both rated, (raters, raters); NaN where undefined."""
    observed, expected = _pairs(ratings, weights)
    kappas: Floats = 1 - ratio(observed, expected)
    np.fill_diagonal(kappas, np.nan)
    return kappas


def icc(ratings: npt.ArrayLike, *, model: IccModel = "random", average: bool = False) -> Coefficient:
    """Intraclass correlation (Shrout and Fleiss 1979): of one rater, or of the mean of all where ``average``.

    ``one-way`` is ICC(1): raters differ from unit to unit, and gaps are no harm. ``random`` is ICC(2), absolute
    agreement of raters drawn from many; ``mixed`` is ICC(3), consistency of these raters. Both need every rater on
    every unit: units with a gap are left out, and if none is left the coefficient is undefined.
    """
    if model not in get_args(IccModel):
        raise BadInput(f"The model of an intraclass correlation is {', '.join(get_args(IccModel))}; not {model!r}.")
    values, rated = coded(ratings, numbers=True)
    if model == "one-way":
        return _one_way(values, rated, average=average)
    complete = np.asarray(rated.all(axis=1))
    return replace(_two_way(values[complete], mixed=model == "mixed", average=average), kept=complete)


def _one_way(values: Floats, rated: npt.NDArray[np.bool_], *, average: bool) -> Coefficient:
    some = np.asarray(rated.any(axis=1))
    kept = np.where(rated, _centred(values, rated), 0.0)[some]
    k, sums = rated[some].sum(axis=1), kept.sum(axis=1)
    rows = np.stack([np.ones(len(kept)), k, k**2, sums, sums**2 / k, (kept**2).sum(axis=1)], axis=1)

    def score(totals: Floats) -> Floats:
        n, ratings, squared, sums, between, squares = np.moveaxis(totals, -1, 0)
        ms_between = ratio(between - ratio(sums**2, ratings), n - 1)
        ms_within = ratio(squares - between, ratings - n)
        size = ratio(ratings - ratio(squared, ratings), n - 1)  # Raters a unit, where units differ in them.
        spread = ms_between if average else ms_between + (size - 1) * ms_within
        return ratio(ms_between - ms_within, spread)[..., None]

    return Coefficient(rows, score, some)


def _two_way(complete: Floats, *, mixed: bool, average: bool) -> Coefficient:
    raters = complete.shape[1]
    centred = _centred(complete, np.ones(complete.shape, dtype=bool))
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
    """Observed and expected disagreement of each pair of raters, summed over the units that both rated."""
    values, rated = coded(ratings)
    present = rated.astype(float)
    shared = present.T @ present
    observed, expected = np.zeros_like(shared), np.zeros_like(shared)
    for feature, gap in _features(values, rated, weights):
        sums, squares = feature.T @ present, (feature**2).T @ present  # [m, n]: of m, where n rated as well
        both = squares + squares.T
        observed += gap * (both - 2 * feature.T @ feature)
        expected += gap * (both - 2 * ratio(sums * sums.T, shared, undefined=0.0))
    return observed, expected


def coded(ratings: npt.ArrayLike, *, numbers: bool = False) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A matrix of numbers, labels replaced by their place among the labels, and where there is a rating at all."""
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


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, *, undefined: float = np.nan) -> Floats:
    """Division that is undefined, not infinite nor a warning, where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    usable = np.abs(bottom) > 1e-12
    quotient: Floats = np.divide(top, bottom, out=np.full(bottom.shape, undefined), where=usable)
    return quotient


def _pairable(values: Floats, rated: npt.NDArray[np.bool_]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    kept = rated.sum(axis=1) >= 2
    return values[kept], rated[kept]


def _features(values: Floats, rated: npt.NDArray[np.bool_], distance: Distance) -> Iterator[tuple[Floats, float]]:
    """Matrices like the ratings, 0 where not rated, and the weight of each; see the module's first lines."""
    if distance not in get_args(Distance):
        raise BadInput(f"Weights are {', '.join(get_args(Distance))}; not {distance!r}.")
    if distance == "quadratic":
        yield np.where(rated, _centred(values, rated), 0.0), 1.0
        return
    known, place = np.unique(values[rated], return_inverse=True)
    if distance == "ordinal":
        counts = np.bincount(place, minlength=len(known))
        ranks = np.zeros(values.shape)
        middle = np.cumsum(counts) - (counts + 1) / 2
        ranks[rated] = (middle - middle[len(middle) // 2] if len(middle) else middle)[place]
        yield ranks, 1.0
        return
    if len(known) > _MOST_FEATURES:
        raise BadInput(f"{len(known)} different ratings are too many for {distance} weights; use quadratic.")
    if len(known) < (1 if distance == "nominal" else 2):
        yield np.zeros(values.shape), 1.0
    elif distance == "nominal":
        for value in known:
            yield (rated & (values == value)).astype(float), 0.5
    else:
        for value, gap in zip(known[:-1], np.diff(known), strict=True):
            yield (rated & (values <= value)).astype(float), float(gap)


def _centred(values: Floats, rated: npt.NDArray[np.bool_]) -> Floats:
    """Less the median: distances stay, sums of squares keep their digits, and constant ratings are exactly 0."""
    return values - np.median(values[rated]) if rated.any() else values
