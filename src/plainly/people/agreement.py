"""All coefficients of agreement for each dimension of some ratings, with their intervals, and the raters themselves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import get_args

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.formatting import interval, number
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.people.ratings import Judgements, Ratings
from plainly.people.sources import RatingsLike, read_ratings
from plainly.stats import agreement as coefficients
from plainly.stats.agreement import FEWEST, AlphaDistance, Distance, IccModel, Rater, ResampledKappa, reliability
from plainly.stats.resample import Estimate, Floats

# Kappa counts how often raters choose the same point; on a scale of a hundred points that says nothing.
_MOST_POINTS = 20


@dataclass(frozen=True)
class DimensionAgreement:
    """How far the raters of one dimension agree; ``coefficients`` by name, NaN where undefined."""

    dimension: str
    outputs: int
    raters: int
    ratings: int
    standard_deviation: float
    coefficients: dict[str, Estimate]
    resampled_kappa: ResampledKappa
    raters_by_reliability: list[Rater]

    def records(self) -> list[Record]:
        return [{"name": name, **estimate.record()} for name, estimate in self.coefficients.items()]


@dataclass(frozen=True, repr=False)
class RaterAgreement(Result):
    """How far raters agree on each dimension that several of them rated, and who stands apart."""

    judgements: Judgements
    sampling: Sampling
    dimensions: Mapping[str, DimensionAgreement]

    def __getitem__(self, dimension: str) -> DimensionAgreement:
        return self.dimensions[dimension]

    def records(self) -> list[Record]:
        return [
            {"dimension": name, **record}
            for name, agreement in self.dimensions.items()
            for record in agreement.records()
        ]

    def json(self) -> Record:
        dimensions = [
            asdict(agreement) | {"coefficients": agreement.records()} for agreement in self.dimensions.values()
        ]
        return {**self.judgements.summary(self.sampling), "agreement": dimensions}

    def tables(self) -> list[Table]:
        agreements = self.dimensions.values()
        names = dict.fromkeys(name for agreement in agreements for name in agreement.coefficients)
        rows = [(name, *(str(agreement.coefficients.get(name, "")) for agreement in agreements)) for name in names]
        kappas = [agreement.resampled_kappa for agreement in agreements]
        medians = (interval(kappa.median, kappa.low, kappa.high) for kappa in kappas)
        rows.append(("one rater against the others' mean, quadratic kappa", *medians))
        caption = "; ".join(
            f"{name}: {agreement.outputs} outputs, {agreement.raters} raters, {agreement.ratings} ratings"
            for name, agreement in self.dimensions.items()
        )
        apart = [_standing_apart(agreement) for agreement in agreements]
        return [
            Table(("agreement", *self.dimensions), tuple(rows), caption=caption),
            *(table for table in apart if table.rows),
        ]

    def notes(self) -> list[Note]:
        lines = []
        for name, agreement in self.dimensions.items():
            few = sum(rater.n < FEWEST for rater in agreement.raters_by_reliability)
            if few:
                lines.append(f"{name}: {few} raters gave fewer than ten ratings, too few to judge them by.")
            if any("random" in key and math.isnan(value.value) for key, value in agreement.coefficients.items()):
                lines.append(
                    f"{name}: two-way ICC is undefined, because no output was rated by every rater; use one-way."
                )
        return [*self.judgements.remarks, *map(Note, lines), *self.judgements.few_items()]


def _standing_apart(agreement: DimensionAgreement) -> Table:
    rows = tuple(
        (rater.name, str(rater.n), *map(number, (rater.correlation, rater.bias, rater.alpha_without)), rater.outlying)
        for rater in agreement.raters_by_reliability
        if rater.outlying and rater.n >= FEWEST
    )
    header = ("rater", "ratings", "r with others", "bias", "alpha without", "why")
    caption = f"{agreement.dimension}: raters who stand apart"
    return Table(header, rows, caption=caption, text_columns=frozenset({0, 5}))


def agreement(
    ratings: RatingsLike,
    *,
    dimensions: str | Sequence[str] = (),
    sampling: Sampling = Sampling(),
) -> RaterAgreement:
    """How far raters agree: every coefficient that suits the ratings, with bootstrap intervals over the rated items.

    ``ratings`` is a public set's name, a file, or ratings that were read; ``dimensions`` are all that several people
    rated, unless named.
    """
    check_sampling(sampling)
    judgements = read_ratings(ratings)
    names = [dimensions] if isinstance(dimensions, str) else dimensions or rated_by_several(judgements)
    if not names:
        raise BadInput(f"{judgements.name} holds means, not each rater's ratings: agreement cannot be measured.")
    return RaterAgreement(judgements, sampling, {name: _of_dimension(judgements[name], sampling) for name in names})


def rated_by_several(judgements: Judgements) -> tuple[str, ...]:
    return tuple(name for name in judgements if len(judgements[name].raters) > 1)


def _of_dimension(ratings: Ratings, sampling: Sampling) -> DimensionAgreement:
    matrix = ratings.matrix()
    if matrix.shape[1] < 2:
        raise BadInput(
            f"{ratings.dimension} has one rating an output (one rater, or means): there is no agreement to measure."
        )
    spoke = np.sum(~np.isnan(ratings.values), axis=(0, 1))
    names = [name for name, count in zip(ratings.raters, spoke, strict=True) if count]
    return DimensionAgreement(
        dimension=ratings.dimension,
        outputs=len(matrix),
        raters=matrix.shape[1],
        ratings=int(np.sum(~np.isnan(matrix))),
        standard_deviation=float(np.nanstd(ratings.means)),
        coefficients=_coefficients(matrix, ratings.units().item_names, sampling),
        resampled_kappa=coefficients.resampled_kappa(
            matrix, level=sampling.level, rng=np.random.default_rng(sampling.seed)
        ),
        raters_by_reliability=reliability(matrix, names),
    )


def _coefficients(matrix: Floats, items: Sequence[str], sampling: Sampling) -> dict[str, Estimate]:
    """By name; in the draws of an interval the outputs for one item go together."""
    categorical = len(np.unique(matrix[~np.isnan(matrix)])) <= _MOST_POINTS
    estimates: dict[str, Estimate] = {}
    distances = get_args(AlphaDistance) if categorical else ("ordinal", "interval")
    for distance in distances:
        alpha = coefficients.krippendorff(matrix, distance=distance)
        estimates[f"Krippendorff's alpha, {distance}"] = alpha.estimate(sampling, groups=items)
    weightings: tuple[Distance, ...] = ("nominal", "quadratic") if categorical else ()
    for weights in weightings:
        fleiss = coefficients.fleiss(matrix, weights=weights)
        estimates[f"Fleiss' kappa, {weights}"] = fleiss.estimate(sampling, groups=items)
        for name, value in (
            ("Davies–Fleiss kappa", coefficients.davies_fleiss(matrix, weights=weights)),
            ("Cohen's kappa, mean of pairs", _mean_kappa(coefficients.pairwise_kappa(matrix, weights=weights))),
        ):
            point = Estimate(value, float("nan"), float("nan"), sampling.level, len(matrix), "no interval")
            estimates[f"{name}, {weights}"] = point
    for model in get_args(IccModel):
        for average in (False, True):
            icc = coefficients.icc(matrix, model=model, average=average)
            estimates[f"ICC, {model}, {'mean of raters' if average else 'one rater'}"] = icc.estimate(
                sampling, groups=items
            )
    return estimates


def _mean_kappa(matrix: Floats) -> float:
    above = matrix[np.triu_indices(len(matrix), 1)]
    defined = above[~np.isnan(above)]
    return float(defined.mean()) if len(defined) else float("nan")
