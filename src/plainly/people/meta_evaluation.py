"""Meta-evaluation: do metrics agree with people, do people agree with each other, how do dimensions trade off?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations, product
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from plainly.core.errors import BadInput, as_texts, check_choice
from plainly.core.evalset import EvalSet
from plainly.core.formatting import interval, number, p_value
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.registry import split_specs
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.data import diagnose
from plainly.metrics.evidence import describe_for_methods, uses_shipped_model
from plainly.people.calibration import CalibrationTest
from plainly.people.calibration import calibrate as fit_calibration
from plainly.people.choices import read_rankings
from plainly.people.correlations import (
    Filter,
    MetricCorrelations,
    MetricScores,
    Slicing,
    Unit,
    correlate_metrics,
    read_scores,
    score_units,
    with_test_set,
)
from plainly.people.operation_results import operation_judgements, read_annotations
from plainly.people.panels import JudgePanel, describe_panel
from plainly.people.preferences import pair_judgements
from plainly.people.rating_tables import RatingsLike, read_ratings, usual_dimension
from plainly.people.ratings import Judgements, Ratings, Units
from plainly.scoring.evaluate import resolve_metrics
from plainly.stats import agreement as coefficients
from plainly.stats.agreement import FEWEST, AlphaDistance, Coefficient, Distance, IccModel, Rater, ResampledKappa
from plainly.stats.correlate import Correlation, correlate, correlation
from plainly.stats.resample import Estimate, Floats, ratio

# Share of variance: Schwarzer and Kauchak (2018) warn of relations that explain a fifth, and mention one of .07.
WORTH_A_WARNING = 0.05
UnitChoice = Literal["items", "systems", "both"]
_UNITS: dict[str, tuple[Unit, ...]] = {"items": ("item",), "systems": ("system",), "both": ("item", "system")}
# Kappa counts how often raters choose the same point, which is not informative on a scale of a hundred points.
_MOST_POINTS = 20


@dataclass(frozen=True)
class DimensionAgreement:
    """Agreement on one dimension; ``coefficients`` by name, NaN where undefined."""

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
    """Agreement on each dimension with several raters, and the raters who deviate."""

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
        tables = [Table(("agreement", *self.dimensions), tuple(rows), caption=caption)]
        header = ("rater", "ratings", "r with others", "bias", "alpha without", "why")
        for agreement in agreements:
            outliers = tuple(
                (each.name, str(each.n), *map(number, (each.correlation, each.bias, each.alpha_without)), each.outlying)
                for each in agreement.raters_by_reliability
                if each.outlying and each.n >= FEWEST
            )
            if outliers:
                caption = f"{agreement.dimension}: raters who deviate"
                tables.append(Table(header, outliers, caption=caption, text_columns=frozenset({0, 5})))
        return tables

    def notes(self) -> list[Note]:
        lines = []
        for name, agreement in self.dimensions.items():
            few = sum(rater.n < FEWEST for rater in agreement.raters_by_reliability)
            if few:
                lines.append(f"{name}: {few} raters gave fewer than ten ratings, too few to assess them.")
            if any("random" in key and math.isnan(value.value) for key, value in agreement.coefficients.items()):
                lines.append(
                    f"{name}: two-way ICC is undefined, because no output was rated by every rater; use one-way."
                )
        return [*self.judgements.remarks, *map(Note, lines), *self.judgements.few_items()]


def agreement(
    ratings: RatingsLike,
    *,
    dimensions: str | Sequence[str] = (),
    sampling: Sampling = Sampling(),
) -> RaterAgreement:
    """Measure how far raters agree: every suitable coefficient, with bootstrap intervals over the rated items.

    ``ratings`` is a public set's name, a file, or ``Judgements``; ``dimensions`` default to all with several raters.
    Rankings are compared pair by pair: whether the first system was better, the second, or neither. Operations are
    compared by whether annotators mark them in an output.
    """
    check_sampling(sampling)
    names = as_texts("dimensions", dimensions)
    if (choices := read_rankings(ratings)) is not None:
        ratings = pair_judgements(choices, name=Path(ratings).name)
    elif (annotations := read_annotations(ratings)) is not None:
        ratings = operation_judgements(annotations, name=Path(ratings).name)
    return measure_agreement(read_ratings(ratings), names, sampling)


def measure_agreement(judgements: Judgements, dimensions: Sequence[str], sampling: Sampling) -> RaterAgreement:
    names = dimensions or rated_by_several(judgements)
    if not names:
        raise BadInput(f"{judgements.name} has means, not each rater's ratings: agreement cannot be measured.")
    return RaterAgreement(
        judgements, sampling, {name: _measure_dimension(judgements[name], sampling) for name in names}
    )


def rated_by_several(judgements: Judgements) -> tuple[str, ...]:
    """Return the dimensions with several raters."""
    return tuple(name for name in judgements if len(judgements[name].raters) > 1)


def _measure_dimension(ratings: Ratings, sampling: Sampling) -> DimensionAgreement:
    matrix = ratings.matrix()
    if matrix.shape[1] < 2:
        raise BadInput(
            f"{ratings.dimension} has one rating per output (one rater, or means): agreement needs at least two raters."
        )
    counts = (~np.isnan(ratings.values)).sum(axis=(0, 1))
    names = [name for name, count in zip(ratings.raters, counts, strict=True) if count]
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
        raters_by_reliability=coefficients.reliability(matrix, names),
    )


def _coefficients(matrix: Floats, items: Sequence[str], sampling: Sampling) -> dict[str, Estimate]:
    """Return coefficients by name; intervals draw items with all their outputs."""
    categorical = len(np.unique(matrix[~np.isnan(matrix)])) <= _MOST_POINTS
    results: dict[str, Coefficient | float] = {}
    distances = get_args(AlphaDistance) if categorical else ("ordinal", "interval")
    for distance in distances:
        results[f"Krippendorff's alpha, {distance}"] = coefficients.krippendorff(matrix, distance=distance)
    weightings: tuple[Distance, ...] = ("nominal", "quadratic") if categorical else ()
    for weights in weightings:
        results[f"Fleiss' kappa, {weights}"] = coefficients.fleiss(matrix, weights=weights)
        results[f"Davies–Fleiss kappa, {weights}"] = coefficients.davies_fleiss(matrix, weights=weights)
        kappas = coefficients.pairwise_kappa(matrix, weights=weights)[np.triu_indices(matrix.shape[1], 1)]
        kappas = kappas[~np.isnan(kappas)]
        results[f"Cohen's kappa, mean of pairs, {weights}"] = float(kappas.mean()) if len(kappas) else math.nan
    for model, average in product(get_args(IccModel), (False, True)):
        rater = "mean of raters" if average else "one rater"
        results[f"ICC, {model}, {rater}"] = coefficients.icc(matrix, model=model, average=average)
    return {
        name: result.estimate(sampling, groups=items)
        if isinstance(result, Coefficient)
        else Estimate(result, math.nan, math.nan, sampling.level, len(matrix), "no interval")
        for name, result in results.items()
    }


@dataclass(frozen=True)
class Relation:
    """Two dimensions over the same outputs: y = intercept + slope · x, fitted by least squares.

    ``within_systems`` is the correlation without each system's mean: is there a trade-off between outputs, or do only
    systems differ?
    """

    x: str
    y: str
    correlation: Correlation
    slope: float
    intercept: float
    within_systems: float
    n: int

    @property
    def r2(self) -> float:
        return self.correlation.value**2

    @property
    def warning(self) -> str:
        """The consequence for a comparison of systems; empty if there is none."""
        if not self.correlation.p_value < 1 - self.correlation.estimate.level or self.r2 < WORTH_A_WARNING:
            return ""
        if self.correlation.value < 0:
            return (
                f"{self.x} and {self.y} are inversely related (R² = {self.r2:.2f}): a system that gains on only one of "
                "them need not be better (Schwarzer and Kauchak 2018). Compare systems on both."
            )
        return (
            f"{self.x} and {self.y} rise and fall together (R² = {self.r2:.2f}): a metric that correlates with one "
            "also correlates with the other. To find out which one it measures, hold the other fixed (partial "
            "correlation) or filter by it."
        )


@dataclass(frozen=True)
class Standing:
    """A system's mean on every dimension, and the systems that beat it: as good on all, better on one.

    Systems that none beats are on the Pareto frontier.
    """

    system: str
    means: dict[str, float]
    beaten_by: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Tradeoff(Result):
    """Relations between dimensions, pair by pair, and the systems on all of them, those on the frontier first."""

    judgements: Judgements
    sampling: Sampling
    dimensions: tuple[str, ...]
    relations: tuple[Relation, ...]
    systems: tuple[Standing, ...]

    def records(self) -> list[Record]:
        return [
            {
                "x": relation.x,
                "y": relation.y,
                **relation.correlation.estimate.record(),
                "r_squared": relation.r2,
                "slope": relation.slope,
                "intercept": relation.intercept,
                "p_value": relation.correlation.p_value,
                "p_independent": relation.correlation.p_independent,
                "within_systems": relation.within_systems,
                "warning": relation.warning or None,
            }
            for relation in self.relations
        ]

    def json(self) -> Record:
        standings = [asdict(standing) for standing in self.systems]
        return {**self.judgements.summary(self.sampling), "relations": self.records(), "systems": standings}

    def tables(self) -> list[Table]:
        relations = tuple(
            (
                f"{relation.x} – {relation.y}",
                str(relation.correlation.estimate),
                *map(number, (relation.r2, relation.slope)),
                p_value(relation.correlation.p_value, decimals=3),
                number(relation.within_systems),
                str(relation.n),
            )
            for relation in self.relations
        )
        standings = tuple(
            (
                standing.system,
                *map(number, standing.means.values()),
                f"beaten by {', '.join(standing.beaten_by[:3])}" if standing.beaten_by else "on the frontier",
            )
            for standing in self.systems
        )
        header = ("dimensions", "r", "R²", "slope", "p", "r within systems", "outputs")
        text = frozenset({0, len(self.dimensions) + 1})
        return [
            Table(header, relations, caption="Dimensions against each other, over outputs"),
            Table(("system", *self.dimensions, "Pareto"), standings, "Systems on all dimensions", text_columns=text),
        ]

    def notes(self) -> list[Note]:
        return [
            *self.judgements.remarks,
            *(Note(relation.warning) for relation in self.relations if relation.warning),
        ]


def relate(judgements: Judgements, x: str, y: str, *, level: float = 0.95) -> Relation:
    """Relate two dimensions over all outputs that were rated on both."""
    units = common_units(judgements, (x, y))
    left, right = judgements.human(x, units), judgements.human(y, units)
    result = correlate(left, right, groups=units.item_names, level=level)
    slope = intercept = float("nan")
    if len(left) and left.var() > 1e-12:
        slope = float(np.mean((left - left.mean()) * (right - right.mean())) / left.var())
        intercept = float(right.mean() - slope * left.mean())
    sizes = np.bincount(units.system)
    deviations = [values - ratio(np.bincount(units.system, values), sizes)[units.system] for values in (left, right)]
    within = correlation(*deviations)
    return Relation(x, y, result, slope, intercept, within, len(units))


def common_units(judgements: Judgements, dimensions: Sequence[str]) -> Units:
    """Return the outputs that were rated on all these dimensions."""
    rated = np.all([judgements[dimension].counts > 0 for dimension in dimensions], axis=0)
    return Units(judgements.systems, judgements.items, *np.nonzero(rated))


def rank_standings(judgements: Judgements, dimensions: Sequence[str]) -> tuple[Standing, ...]:
    """Return each system's standing; those beaten by fewest first."""
    means = np.stack([judgements[dimension].system_means for dimension in dimensions], axis=1)
    standings = []
    for system, mine in zip(judgements.systems, means, strict=True):
        better = (means >= mine).all(axis=1) & (means > mine).any(axis=1)
        beaten_by = tuple(other for other, beats in zip(judgements.systems, better, strict=True) if beats)
        standings.append(Standing(system, dict(zip(dimensions, map(float, mine), strict=True)), beaten_by))
    return tuple(sorted(standings, key=lambda standing: (len(standing.beaten_by), -sum(standing.means.values()))))


@dataclass(frozen=True, repr=False)
class MetaEvaluation(Result):
    """The parts of a meta-evaluation; a part that was not requested is None."""

    judgements: Judgements
    sampling: Sampling
    correlations: MetricCorrelations | None = None
    agreement: RaterAgreement | None = None
    tradeoff: Tradeoff | None = None
    calibration: CalibrationTest | None = None
    panel: JudgePanel | None = None
    remarks: tuple[Note, ...] = ()

    @property
    def parts(self) -> list[Result]:
        return [
            part
            for part in (self.correlations, self.agreement, self.tradeoff, self.calibration, self.panel)
            if part is not None
        ]

    def records(self) -> list[Record]:
        return [record for part in self.parts for record in part.records()]

    def json(self) -> Record:
        parts = {key: value for part in self.parts for key, value in part.json().items()}
        return self.judgements.summary(self.sampling) | parts

    def tables(self) -> list[Table]:
        return [table for part in self.parts for table in part.tables()]

    def notes(self) -> list[Note]:
        return [*dict.fromkeys(note for part in self.parts for note in part.notes()), *self.remarks]


def meta(
    ratings: RatingsLike,
    *,
    metrics: str | Sequence[str | Metric] | None = None,
    dimensions: str | Sequence[str] = (),
    agreement: bool = False,
    tradeoff: bool = False,
    scores: str | Path | None = None,
    test_set: str | None = None,
    references: str | Sequence[str] = (),
    subset: Filter | None = None,
    by: Sequence[Slicing] = (),
    control: Sequence[str] | None = None,
    unit: UnitChoice = "both",
    compare: bool = True,
    calibrate: str | Path | None = None,
    sampling: Sampling = Sampling(),
    progress: Progress = no_progress,
) -> MetaEvaluation:
    """Correlate metrics with people, measure agreement between raters, and relate dimensions to each other.

    ``ratings`` is a public set's name, a file, or the result of ``plainly.people.read_ratings``. ``metrics`` are
    correlated with ``dimensions`` (simplicity); their scores are computed on the rated texts, on those of
    ``test_set``, or read from the file ``scores``. ``references`` names one or several sets of references, "each" all
    of them. ``subset`` and ``by`` add slices of the outputs, ``control`` is held fixed in partial correlations,
    ``unit`` is what is correlated, ``compare`` tests which metric agrees better. ``calibrate`` is a file to which a map
    from the scores of a judge to the scale of the ratings is written (``judge(calibration=FILE)`` applies it). Without
    metrics, ``agreement`` and ``tradeoff``, the result has agreement and trade-off as far as the ratings allow.
    """
    check_choice("unit", unit, _UNITS)
    check_sampling(sampling)
    judgements = read_ratings(ratings, progress=progress)
    names = tuple(judgements[name].dimension for name in as_texts("dimensions", dimensions))
    main = names or (usual_dimension(judgements),)
    entries = [metrics] if isinstance(metrics, str) else [] if metrics is None else metrics
    specs: list[str | Metric] = list(
        chain.from_iterable(split_specs(entry) if isinstance(entry, str) else [entry] for entry in entries)
    )
    correlations = calibration = panel = None
    if calibrate is not None and (scores is not None or not specs):
        raise BadInput("calibrate= needs a metric that is measured here: metrics=['judge(model=NAME)'].")
    if specs or scores:
        resolved = resolve_metrics(specs, EvalSet.of(items=0, language=judgements.language)) if scores is None else {}
        if any("references" in metric.needs for metric in resolved.values()) and not judgements.references:
            test_set = test_set or judgements.test_set or None
        texts = with_test_set(judgements, test_set, progress=progress) if test_set else judgements
        units = texts[main[0]].units()
        if scores is not None:
            by_references = [read_scores(units, scores, metrics=list(map(str, specs)))]
        else:
            sets = as_texts("references", references)
            sets = list(texts.references) if "each" in sets else sets
            by_references = [
                score_units(texts, units, resolved, references=name, progress=progress) for name in (sets or (None,))
            ]
        if calibrate is not None:
            calibration = fit_calibration(texts, by_references[0], resolved, main[0], calibrate, sampling)
        panel = _find_panel(texts, by_references[0], resolved, main[0], sampling)
        correlations = correlate_metrics(
            texts,
            by_references,
            dimensions=main,
            control=control,
            subset=subset,
            slices=by,
            units=_UNITS[unit],
            compare=compare,
            sampling=sampling,
            progress=progress,
        )
    is_unspecific = not (specs or scores or agreement or tradeoff)
    by_raters = names or rated_by_several(judgements)
    to_relate = names or tuple(name for name in judgements if not name.endswith("_zscore"))
    agreements = relations = None
    if agreement or (is_unspecific and by_raters):
        agreements = measure_agreement(judgements, by_raters, sampling)
    if tradeoff or (is_unspecific and len(to_relate) > 1):
        if len(to_relate) < 2:
            raise BadInput(f"A trade-off needs two dimensions; there is {', '.join(to_relate)}. Name two: dimensions=")
        pairs = tuple(relate(judgements, x, y, level=sampling.level) for x, y in combinations(to_relate, 2))
        relations = Tradeoff(judgements, sampling, to_relate, pairs, rank_standings(judgements, to_relate))
    remarks = _metric_remarks(judgements, specs if scores is None else [])
    return MetaEvaluation(judgements, sampling, correlations, agreements, relations, calibration, panel, remarks)


def _find_panel(
    judgements: Judgements, scores: MetricScores, metrics: Mapping[str, Metric], dimension: str, sampling: Sampling
) -> JudgePanel | None:
    """Describe the first metric that is a panel, if there is one."""
    spec, metric = next(((spec, metric) for spec, metric in metrics.items() if metric.member_outputs), ("", None))
    if metric is None:
        return None
    places = [0, *(metric.outputs.index(name) for name in metric.member_outputs)]
    points, items = metric.score(scores.metrics[spec].rows)[:, places], scores.units.item_names
    human = judgements.human(dimension, scores.units)
    agreement = _coefficients(points[:, 1:], items, sampling)
    return describe_panel(spec, dimension, metric.member_outputs, points, human, items, agreement, sampling)


def _metric_remarks(judgements: Judgements, specs: Sequence[str | Metric]) -> tuple[Note, ...]:
    """Describe the learned metrics that plainly ships, and warn of metrics that do not support the texts' language."""
    texts = list(judgements.outputs.values())
    evalset = EvalSet.of(items=len(texts), language=judgements.language)
    resolved = resolve_metrics(specs, evalset) if specs else {}
    shipped = {spec: metric for spec, metric in resolved.items() if uses_shipped_model(metric)}
    descriptions = [Note(f"{describe_for_methods(metric, spec)}.") for spec, metric in shipped.items()]
    return (*descriptions, *diagnose(evalset, {"": texts}, resolved, quick=True, only=("metric-language",)))
