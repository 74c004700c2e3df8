"""``plainly.meta``: does a metric agree with people, do people agree with each other, what do dimensions cost?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.core.progress import Progress, unseen
from plainly.core.registry import split_specs
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.data import diagnose
from plainly.metrics.evidence import for_methods, is_ours
from plainly.people import Judgements, RatingsLike, take, usual_dimension
from plainly.people.agreement import RaterAgreement, rated_by_several
from plainly.people.agreement import agreement as rater_agreement
from plainly.people.correlations import MetricCorrelations, Unit
from plainly.people.dimensions import Tradeoff, measure_tradeoff
from plainly.people.metric_scores import MetricScores, read_scores, score_units, with_test_set
from plainly.people.statistics import Slicing, correlate_metrics
from plainly.people.subset import Filter
from plainly.people.summary import described
from plainly.scoring.evaluate import resolve_metrics

UnitChoice = Literal["items", "systems", "both"]
_UNITS: dict[str, tuple[Unit, ...]] = {"items": ("item",), "systems": ("system",), "both": ("item", "system")}


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
        return described(self.judgements, self.sampling) | parts

    def tables(self) -> list[Table]:
        return [table for part in self.parts for table in part.tables()]

    def notes(self) -> list[Note]:
        return [*dict.fromkeys(note for part in self.parts for note in part.notes()), *self.remarks]

    def chart(self) -> Any:
        """Scatter plots: metrics against people where metrics were asked for, else dimensions against each other."""
        part = self.correlations or self.tradeoff
        if part is None:
            raise BadInput("Agreement is not drawn: metrics (metrics=) and dimensions (tradeoff=True) are.")
        return part.chart()


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
    progress: Progress = unseen,
) -> MetaEvaluation:
    """Does a metric agree with people, do people agree with each other, and what do dimensions cost each other?

    ``ratings`` is a public set's name, a file, or ratings that were read (``plainly.people.take``). ``metrics`` are
    correlated with ``dimensions`` (simplicity); their scores are computed on the rated texts, on those of ``test_set``,
    or read from the file ``scores``. ``references`` names one or several sets of references, "each" all of them.
    ``subset`` and ``by`` add slices of the outputs, ``control`` is held fixed in partial correlations, ``unit`` is what
    is correlated, ``compare`` tests which metric agrees better. Without metrics, ``agreement`` or ``tradeoff`` the
    answer is of agreement and trade-off, as far as the ratings allow.
    """
    if unit not in _UNITS:
        raise BadInput(f"What is correlated is {', '.join(_UNITS)}; not {unit!r}.")
    check_sampling(sampling)
    judgements = take(ratings, progress=progress)
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
