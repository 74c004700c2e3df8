"""``plainly.meta``: does a metric agree with people, do people agree with each other, what do dimensions cost?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.formatting import number, p_value
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.registry import split_specs
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.data import diagnose
from plainly.metrics.evidence import for_methods, is_ours
from plainly.people.agreement import RaterAgreement, rated_by_several
from plainly.people.agreement import agreement as rater_agreement
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
from plainly.people.ratings import Judgements, Units
from plainly.people.sources import RatingsLike, read_ratings, usual_dimension
from plainly.scoring.evaluate import resolve_metrics
from plainly.stats.correlate import Correlation, correlate
from plainly.stats.resample import Floats, ratio

# The paper warns of relations that explain a fifth of the variance, and mentions one that explains .07.
WORTH_A_WARNING = 0.05
UnitChoice = Literal["items", "systems", "both"]
_UNITS: dict[str, tuple[Unit, ...]] = {"items": ("item",), "systems": ("system",), "both": ("item", "system")}


@dataclass(frozen=True)
class Relation:
    """Two dimensions over the same outputs: y = intercept + slope · x, fitted by least squares.

    ``within_systems`` is the correlation without each system's mean: do outputs trade, or do only systems differ?
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
        """What this means for a comparison of systems; empty if there is nothing to warn about."""
        estimate = self.correlation.estimate
        if not (estimate.low > 0 or estimate.high < 0) or self.r2 < WORTH_A_WARNING:
            return ""
        if self.correlation.value < 0:
            return (
                f"{self.x} and {self.y} are inversely related (R² = {self.r2:.2f}): a system that gains on one and not "
                "on the other may owe it to this relation, not to being better (Schwarzer and Kauchak 2018). Compare "
                "systems on both at once."
            )
        return (
            f"{self.x} and {self.y} rise and fall together (R² = {self.r2:.2f}): a metric that correlates with one "
            "will seem to correlate with the other. Hold one fixed (partial correlation) or filter by it before you "
            "say which of them a metric measures."
        )


@dataclass(frozen=True)
class Standing:
    """A system's mean on every dimension, and who beats it: as good on all, better on one; by none: Pareto frontier."""

    system: str
    means: dict[str, float]
    beaten_by: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Tradeoff(Result):
    """How the dimensions hang together, pair by pair, and the systems on all of them, those on the frontier first."""

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
                "p_drawn": relation.correlation.p_drawn,
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
                p_value(relation.correlation.p, decimals=3),
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
            *self.judgements.few_items(),
        ]


def measure_tradeoff(judgements: Judgements, dimensions: Sequence[str], *, sampling: Sampling) -> Tradeoff:
    if len(dimensions) < 2:
        raise BadInput(f"A trade-off needs two dimensions; there is {', '.join(dimensions)}. Name two: dimensions=")
    relations = tuple(relate(judgements, x, y, sampling=sampling) for x, y in combinations(dimensions, 2))
    return Tradeoff(judgements, sampling, tuple(dimensions), relations, pareto(judgements, dimensions))


def relate(judgements: Judgements, x: str, y: str, *, sampling: Sampling | None = Sampling()) -> Relation:
    """How two dimensions go together over all outputs that were rated on both."""
    units = common_units(judgements, (x, y))
    left, right = judgements.human(x, units), judgements.human(y, units)
    correlation = correlate(left, right, groups=units.item_names, sampling=sampling)
    spread = float(left.var()) if len(left) else 0.0
    slope = float(np.mean((left - left.mean()) * (right - right.mean())) / spread) if spread > 1e-12 else float("nan")
    intercept = float(right.mean() - slope * left.mean()) if len(left) else float("nan")
    within = correlate(_within(left, units), _within(right, units), sampling=None).value
    return Relation(x, y, correlation, slope, intercept, within, len(units))


def common_units(judgements: Judgements, dimensions: Sequence[str]) -> Units:
    rated = np.all([judgements[dimension].counts > 0 for dimension in dimensions], axis=0)
    return Units(judgements.systems, judgements.items, *np.nonzero(rated))


def pareto(judgements: Judgements, dimensions: Sequence[str]) -> tuple[Standing, ...]:
    """Each system's standing; those beaten by fewest first."""
    means = np.stack([judgements[dimension].system_means for dimension in dimensions], axis=1)
    standings = []
    for system, mine in zip(judgements.systems, means, strict=True):
        better = (means >= mine).all(axis=1) & (means > mine).any(axis=1)
        beaten_by = tuple(other for other, beats in zip(judgements.systems, better, strict=True) if beats)
        standings.append(Standing(system, dict(zip(dimensions, map(float, mine), strict=True)), beaten_by))
    return tuple(sorted(standings, key=lambda standing: (len(standing.beaten_by), -sum(standing.means.values()))))


def _within(values: Floats, units: Units) -> Floats:
    means = ratio(np.bincount(units.system, values), np.bincount(units.system))
    return np.asarray(values - means[units.system])


@dataclass(frozen=True, repr=False)
class MetaEvaluation(Result):
    """What was asked of the ratings, a part for each question; a part that was not asked for is None."""

    judgements: Judgements
    sampling: Sampling
    correlations: MetricCorrelations | None = None
    agreement: RaterAgreement | None = None
    tradeoff: Tradeoff | None = None
    remarks: tuple[Note, ...] = ()

    @property
    def parts(self) -> list[Result]:
        return [part for part in (self.correlations, self.agreement, self.tradeoff) if part is not None]

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
    sampling: Sampling = Sampling(),
    progress: Progress = no_progress,
) -> MetaEvaluation:
    """Does a metric agree with people, do people agree with each other, and what do dimensions cost each other?

    ``ratings`` is a public set's name, a file, or ratings that were read (``plainly.people.read_ratings``). ``metrics``
    are correlated with ``dimensions`` (simplicity); their scores are computed on the rated texts, on those of
    ``test_set``, or read from the file ``scores``. ``references`` names one or several sets of references, "each" all
    of them. ``subset`` and ``by`` add slices of the outputs, ``control`` is held fixed in partial correlations,
    ``unit`` is what is correlated, ``compare`` tests which metric agrees better. Without metrics, ``agreement`` or
    ``tradeoff`` the answer is of agreement and trade-off, as far as the ratings allow. ``sampling`` is given whole or
    as keywords.
    """
    if unit not in _UNITS:
        raise BadInput(f"What is correlated is {', '.join(_UNITS)}; not {unit!r}.")
    check_sampling(sampling)
    judgements = read_ratings(ratings, progress=progress)
    chosen = tuple(judgements[name].dimension for name in dict.fromkeys(_several(dimensions)))
    main = chosen or (usual_dimension(judgements),)
    metrics = metrics or ()
    asked = bool(metrics or scores)
    correlations = None
    if asked:
        texts = with_test_set(judgements, test_set, progress=progress) if test_set else judgements
        correlations = correlate_metrics(
            texts,
            _scores(texts, main[0], _several(metrics), scores, _several(references), progress),
            dimensions=main,
            control=control,
            subset=subset,
            slices=by,
            units=_UNITS[unit],
            compare=compare,
            sampling=sampling,
            progress=progress,
        )
    everything = not (asked or agreement or tradeoff)
    several = chosen or rated_by_several(judgements)
    weighed = chosen or tuple(name for name in judgements if not name.endswith("_zscore"))
    agreed = weighted = None
    if agreement or (everything and several):
        agreed = rater_agreement(judgements, dimensions=several, sampling=sampling)
    if tradeoff or (everything and len(weighed) > 1):
        weighted = measure_tradeoff(judgements, weighed, sampling=sampling)
    return MetaEvaluation(
        judgements, sampling, correlations, agreed, weighted, _remarks(judgements, _several(metrics), scores)
    )


def _remarks(judgements: Judgements, metrics: Sequence[str | Metric], scores: str | Path | None) -> tuple[Note, ...]:
    """Which models of ours read, and which metrics do not work in the language of what was rated; scores from a file
    are anybody's."""
    texts = list(judgements.outputs.values())
    evalset = EvalSet.of(items=len(texts), language=judgements.language)
    resolved = resolve_metrics(_split(metrics), evalset) if scores is None else {}
    ours = [Note(f"{for_methods(metric, spec)}.") for spec, metric in resolved.items() if is_ours(metric)]
    return (*ours, *diagnose(evalset, {"": texts}, resolved, quick=True, only=("metric-language",)))


def _several(names: str | Sequence[Any]) -> Sequence[Any]:
    return [names] if isinstance(names, str) else names


def _split(metrics: Sequence[str | Metric]) -> list[str | Metric]:
    return [spec for metric in metrics for spec in (split_specs(metric) if isinstance(metric, str) else [metric])]


def _scores(
    judgements: Judgements,
    dimension: str,
    metrics: Sequence[str | Metric],
    path: str | Path | None,
    references: Sequence[str],
    progress: Progress,
) -> list[MetricScores]:
    """The scores of all outputs rated on a dimension: one set for each set of references, or those of a file."""
    units = judgements[dimension].units()
    if path is not None:
        return [read_scores(units, path, metrics=[str(spec) for spec in _split(metrics)])]
    specs = resolve_metrics(_split(metrics), EvalSet.of(items=0, language=judgements.language))
    wanted: Sequence[str | None] = list(judgements.references) if "each" in references else references
    return [score_units(judgements, units, specs, references=name, progress=progress) for name in wanted or [None]]
