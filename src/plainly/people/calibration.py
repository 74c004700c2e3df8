"""Calibration of a metric on human ratings: fitted on half of the sources, and tested on the other half."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.metric import Floats, Metric
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.metrics.calibration import Calibration, fit_monotone
from plainly.people.correlations import MetricScores
from plainly.people.ratings import Judgements
from plainly.stats.correlate import correlate
from plainly.stats.resample import Estimate, Resampler, interval

FEWEST = 20  # sources: with fewer than ten in each half, neither the map nor its error says much
_TITLES = {
    "before": "as the metric gives them",
    "after": "calibrated",
    "gain": "what calibration gains",
    "constant": "the mean rating for every output",
}


@dataclass(frozen=True, repr=False)
class CalibrationTest(Result):
    """A calibration, and the mean absolute error of scores on sources that it was not fitted on, in rating points.

    ``before`` is the error of the scores from 0 to 100 stretched to the scale of the ratings, ``constant`` that of
    the mean rating of the sources it was fitted on, which any useful metric is better than.
    """

    calibration: Calibration
    errors: Mapping[str, Estimate]
    sources: int  # that the errors are of

    def records(self) -> list[Record]:
        return [{"error": name, **estimate.record()} for name, estimate in self.errors.items()]

    def json(self) -> Record:
        about = {"metric": self.calibration.metric, "dimension": self.calibration.dimension}
        return {"calibration": {**about, "sources": self.sources, "errors": self.records()}}

    def tables(self) -> list[Table]:
        made = self.calibration
        low, high = made.scale
        caption = (
            f"Mean absolute error of {made.metric} for {made.dimension} ({low:g} to {high:g}) on {self.sources} "
            f"sources; fitted on {made.sources} others"
        )
        rows = tuple((_TITLES[name], str(estimate)) for name, estimate in self.errors.items())
        return [Table(("scores", "error"), rows, caption)]

    def notes(self) -> list[Note]:
        made, gain = self.calibration, self.errors["gain"]
        if len(set(made.values)) == 1:
            message = f"The scores of {made.metric} do not rise with the ratings: the calibration is constant."
        elif not gain.low > 0:
            message = f"On other sources, the calibration of {made.metric} is not shown to reduce the error."
        else:
            return []
        return [Note(message, "warning", "judge-calibration")]


def calibrate(
    judgements: Judgements,
    scores: MetricScores,
    metrics: Mapping[str, Metric],
    dimension: str,
    path: str | Path,
    sampling: Sampling,
) -> CalibrationTest:
    """Fit a monotone map from the scores of the one metric that can be calibrated to ratings, and write it to a file.

    Outputs of the same source stay together, in the half that is fitted or in the half that is tested.
    """
    specs = [spec for spec, metric in metrics.items() if metric.calibration_key()]
    if len(specs) != 1:
        raise BadInput(
            f"calibrate= is for one metric with the parameter calibration (judge or jury); here are {len(specs)}."
        )
    spec, metric = specs[0], metrics[specs[0]]
    if vars(metric).get("calibration"):
        raise BadInput(f"{spec} is calibrated already. Leave its parameter calibration out.")
    points, ratings = scores.metrics[spec].segments, judgements.human(dimension, scores.units)
    items = scores.units.item_names
    sources = np.array([judgements.sources.get(item, item) for item in items], dtype=object)
    is_rated = np.isfinite(points) & np.isfinite(ratings)
    points, ratings, sources = points[is_rated], ratings[is_rated], sources[is_rated]
    names = np.unique(sources.astype(str))
    if len(names) < FEWEST:
        raise BadInput(
            f"A calibration needs ratings of at least {FEWEST} sources that {spec} has scores for; here are "
            f"{len(names)}."
        )
    low, high = judgements[dimension].scale or (float(ratings.min()), float(ratings.max()))
    fitted_names = np.random.default_rng(sampling.seed).permutation(names)[: len(names) // 2]
    is_fitted = np.isin(sources.astype(str), fitted_names)
    places, values = fit_monotone(points[is_fitted], ratings[is_fitted])
    tested, truth = points[~is_fitted], ratings[~is_fitted]
    absolute = [
        np.abs(low + tested / 100 * (high - low) - truth),
        np.abs(np.interp(tested, places, values) - truth),
        np.abs(ratings[is_fitted].mean() - truth),
    ]
    errors = _average(np.stack(absolute, axis=1), sources[~is_fitted].tolist(), sampling)
    pearson = correlate(tested, truth, groups=sources[~is_fitted].tolist(), level=sampling.level).estimate
    agreement = {"n": len(tested), "pearson": pearson.value, "low": pearson.low, "high": pearson.high}
    calibration = Calibration(
        metric=spec,
        holds_for=metric.calibration_key(),
        ratings=judgements.name,
        dimension=dimension,
        scale=(low, high),
        outputs=int(is_fitted.sum()),
        sources=len(fitted_names),
        seed=sampling.seed,
        signature=scores.metrics[spec].signature,
        errors={name: estimate.record() for name, estimate in errors.items()},
        agreement={name: value for name, value in agreement.items() if np.isfinite(value)},
        scores=places,
        values=values,
    )
    calibration.write(path)
    return CalibrationTest(calibration, errors, len(names) - len(fitted_names))


def _average(errors: Floats, groups: list[str], sampling: Sampling) -> dict[str, Estimate]:
    """Return the mean errors before and after, their difference, and that of a constant; whole groups are drawn."""
    rows = np.column_stack([errors, np.ones(len(errors))])
    draws = Resampler(len(rows), sampling.resamples, sampling.seed, tuple(groups))

    def score(totals: Floats) -> Floats:
        before, after, constant = np.moveaxis(totals[..., :3] / totals[..., 3:], -1, 0)
        return np.stack([before, after, before - after, constant], axis=-1)

    estimates = interval(draws.units(rows), score, draws.totals([rows])[0], sampling=sampling, unit="sources")
    return dict(zip(_TITLES, estimates, strict=True))
