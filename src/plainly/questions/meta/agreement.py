"""All coefficients of agreement for one dimension of some ratings, with their intervals, and the raters themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plainly.errors import BadInput
from plainly.ratings.types import Ratings
from plainly.stats import agreement as coefficients
from plainly.stats.agreement import Distance, ResampledKappa
from plainly.stats.estimate import Estimate
from plainly.stats.raters import Rater, reliability
from plainly.stats.resample import Floats

# Kappa counts how often raters choose the same point; on a scale of a hundred points that says nothing.
_MOST_POINTS = 20


@dataclass(frozen=True)
class Agreement:
    """How far the raters of one dimension agree; ``coefficients`` by name, NaN where undefined."""

    dimension: str
    units: int
    raters: int
    ratings: int
    coefficients: dict[str, Estimate]
    resampled: ResampledKappa
    by_rater: list[Rater]
    standard_deviation: float


def agreement(
    ratings: Ratings, *, level: float = 0.95, resamples: int = 1000, draws: int = 1000, seed: int = 12345
) -> Agreement:
    """Every coefficient that suits the ratings, with bootstrap intervals over the rated outputs."""
    matrix = ratings.matrix()
    if matrix.shape[1] < 2:
        raise BadInput(
            f"{ratings.dimension} has one rating an output (one rater, or means): there is no agreement to measure."
        )
    settings = {"level": level, "resamples": resamples, "seed": seed}
    found: dict[str, Estimate] = {}
    given = matrix[~np.isnan(matrix)]
    for distance in ("nominal", "ordinal", "interval"):
        if distance != "nominal" or _is_categorical(given):
            alpha = coefficients.krippendorff_coefficient(matrix, distance=distance)
            found[f"Krippendorff's alpha, {distance}"] = alpha.estimate(**settings)  # type: ignore[arg-type]
    if _is_categorical(given):
        weightings: tuple[Distance, ...] = ("nominal", "quadratic")
        for weights in weightings:
            kappa = coefficients.fleiss_coefficient(matrix, weights=weights)
            found[f"Fleiss' kappa, {weights}"] = kappa.estimate(**settings)  # type: ignore[arg-type]
            found[f"Davies–Fleiss kappa, {weights}"] = _point(
                coefficients.davies_fleiss(matrix, weights=weights), len(matrix), level
            )
            found[f"Cohen's kappa, mean of pairs, {weights}"] = _point(
                _mean_kappa(coefficients.pairwise_kappa(matrix, weights=weights)), len(matrix), level
            )
    for model in ("one-way", "random", "mixed"):
        for average in (False, True):
            icc = coefficients.icc_coefficient(matrix, model=model, average=average)
            name = f"ICC, {model}, {'mean of raters' if average else 'one rater'}"
            found[name] = icc.estimate(**settings)  # type: ignore[arg-type]
    spoke = np.sum(~np.isnan(ratings.values), axis=(0, 1))
    names = [name for name, count in zip(ratings.raters, spoke, strict=True) if count]
    return Agreement(
        dimension=ratings.dimension,
        units=len(matrix),
        raters=matrix.shape[1],
        ratings=len(given),
        coefficients=found,
        resampled=coefficients.resampled_kappa(matrix, draws=draws, level=level, rng=np.random.default_rng(seed)),
        by_rater=reliability(matrix, names),
        standard_deviation=float(np.nanstd(ratings.means)),
    )


def _is_categorical(given: Floats) -> bool:
    return len(np.unique(given)) <= _MOST_POINTS


def _mean_kappa(matrix: Floats) -> float:
    above = matrix[np.triu_indices(len(matrix), 1)]
    defined = above[~np.isnan(above)]
    return float(defined.mean()) if len(defined) else float("nan")


def _point(value: float, n: int, level: float) -> Estimate:
    return Estimate(value, float("nan"), float("nan"), level, n, "no interval")
