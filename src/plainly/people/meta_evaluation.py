"""``plainly.meta``: does a metric agree with people, do people agree with each other, what do dimensions cost?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack

from plainly.core.arguments import public
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.core.progress import Progress, unseen
from plainly.core.registry import METRICS, split_specs
from plainly.core.registry import metric as checked_metric
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, SamplingOptions
from plainly.data import diagnose
from plainly.metrics.evidence import for_methods, is_ours
from plainly.metrics.languages import in_language
from plainly.people import Judgements, RatingsLike, take, usual_dimension
from plainly.people.agreement import RaterAgreement, rated_by_several
from plainly.people.agreement import agreement as rater_agreement
from plainly.people.correlations import MetricCorrelations, Unit
from plainly.people.dimensions import Tradeoff, measure_tradeoff
from plainly.people.metric_scores import MetricScores, read_scores, score_units, with_test_set
from plainly.people.statistics import Slicing, correlate_metrics
from plainly.people.subset import Filter
from plainly.people.summary import described

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


@public
def meta(
    ratings: RatingsLike,
    *,
    metrics: str | Sequence[str | Metric] = (),
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
    progress: Progress = unseen,
    sampling: Sampling | None = None,
    **options: Unpack[SamplingOptions],
) -> MetaEvaluation:
    """Does a metric agree with people, do people agree with each other, and what do dimensions cost each other?

    ``ratings`` is a public set's name, a file, or ratings that were read (``plainly.people.take``). ``metrics`` are
    correlated with ``dimensions`` (simplicity); their scores are computed on the rated texts, on those of ``test_set``,
    or read from the file ``scores``. ``references`` names one or several sets of references, "each" all of them.
    ``subset`` and ``by`` add slices of the outputs, ``control`` is held fixed in partial correlations, ``unit`` is what
    is correlated, ``compare`` tests which metric agrees better. Without metrics, ``agreement`` or ``tradeoff`` the
    answer is of agreement and trade-off, as far as the ratings allow. ``sampling`` is given whole or as keywords.
    """
    if unit not in _UNITS:
        raise BadInput(f"What is correlated is {', '.join(_UNITS)}; not {unit!r}.")
    judgements, drawing = take(ratings, progress=progress), sampling or Sampling(**options)
    chosen = tuple(judgements[name].dimension for name in dict.fromkeys(_several(dimensions)))
    main = chosen or (usual_dimension(judgements),)
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
            sampling=drawing,
            progress=progress,
        )
    everything = not (asked or agreement or tradeoff)
    several = chosen or rated_by_several(judgements)
    weighed = chosen or tuple(name for name in judgements if not name.endswith("_zscore"))
    agreed = weighted = None
    if agreement or (everything and several):
        agreed = rater_agreement(judgements, dimensions=several, sampling=drawing)
    if tradeoff or (everything and len(weighed) > 1):
        weighted = measure_tradeoff(judgements, weighed, sampling=drawing)
    return MetaEvaluation(
        judgements, drawing, correlations, agreed, weighted, _remarks(judgements, _several(metrics), scores)
    )


def _remarks(judgements: Judgements, metrics: Sequence[str | Metric], scores: str | Path | None) -> tuple[Note, ...]:
    """Which models of ours read, and which metrics do not work in the language of what was rated; scores from a file
    are anybody's."""
    texts = list(judgements.outputs.values())
    specs = [spec for metric in metrics for spec in split_specs(metric if isinstance(metric, str) else repr(metric))]
    known = [
        str(in_language(spec, judgements.language))
        for spec in specs
        if scores is None and spec.partition("(")[0] in METRICS
    ]
    evalset = EvalSet.of(items=len(texts), language=judgements.language)
    ours = [Note(f"{for_methods(metric, spec)}.") for spec in known if is_ours(metric := checked_metric(spec))]
    return (*ours, *diagnose(evalset, {"": texts}, known, quick=True, only=("metric-language",)))


def _several(names: str | Sequence[Any]) -> Sequence[Any]:
    return [names] if isinstance(names, str) else names


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
    asked = [spec for metric in metrics for spec in (split_specs(metric) if isinstance(metric, str) else [metric])]
    specs = [in_language(spec, judgements.language) for spec in asked] if judgements.language else asked
    if path is not None:
        return [read_scores(units, path, metrics=[str(spec) for spec in specs])]
    for spec in specs:
        checked_metric(spec)
    wanted: Sequence[str | None] = list(judgements.references) if "each" in references else references
    return [score_units(judgements, units, specs, references=name, progress=progress) for name in wanted or [None]]
