"""The loop: metrics × systems → scores. Nothing else in plainly loops over metrics."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from plainly.core import limits, registry
from plainly.core.errors import BadInput, way
from plainly.core.evalset import Absent, EvalSet
from plainly.core.metric import Floats, Metric, suited
from plainly.core.progress import Progress, Tell, silent, unseen, whole
from plainly.core.sampling import Sampling
from plainly.scoring.scores import Evaluation, Scores, SystemScores
from plainly.scoring.signature import Signature, reference_range
from plainly.stats.resample import Draws, interval

__all__ = ["Evaluation", "Scores", "SystemScores", "checked_metrics", "estimated", "evaluate", "measure"]

Outputs = Mapping[str, Sequence[str]]
Metrics = Sequence[str | Metric] | Mapping[str, Metric]  # specs or values, or values by spec
DEFAULT = Sampling()


class Texts(Protocol):
    """What metrics are checked against: an evaluation set, or a corpus in files."""

    @property
    def has_sources(self) -> bool: ...

    @property
    def has_references(self) -> bool: ...

    @property
    def columns(self) -> Collection[str]: ...


def evaluate(
    evalset: EvalSet,
    outputs: Outputs,
    metrics: Metrics,
    *,
    sampling: Sampling | None = DEFAULT,
    progress: Progress = unseen,
) -> Evaluation:
    """Measure every system with every metric. All inputs are checked before anything is measured.

    Without ``sampling`` there are no intervals.
    """
    chosen = checked_metrics(metrics, evalset if len(evalset) else None)
    evalset.check(outputs)
    with progress("measuring", total=len(evalset) * len(outputs) * len(chosen), unit="scores") as tell:
        rows = dict(measure(evalset, outputs, chosen, tell))
    return from_rows(evalset, outputs, chosen, rows, sampling)


def from_rows(
    evalset: EvalSet,
    outputs: Outputs | None,
    metrics: Mapping[str, Metric],
    rows: Mapping[str, Mapping[str, Floats]],
    sampling: Sampling | None,
) -> Evaluation:
    """The evaluation that rows by system and metric give, wherever they were measured."""
    references = reference_range(evalset)
    signatures = {
        spec: Signature.of(metric, data=evalset.fingerprint, references=references) for spec, metric in metrics.items()
    }
    systems = {
        system: {spec: Scores.of_items(metric, system, of[spec], signatures[spec]) for spec, metric in metrics.items()}
        for system, of in rows.items()
    }
    return estimated(Evaluation(evalset, systems, sampling, outputs))


def measure(
    evalset: EvalSet, outputs: Outputs, metrics: Mapping[str, Metric], tell: Tell = silent
) -> Iterator[tuple[str, dict[str, Floats]]]:
    """The loop itself: system by system, the rows of every metric. Corpora too large to hold come in batches."""
    for what, texts in (
        ("source", evalset.sources),
        *((f"output of {name}", texts) for name, texts in outputs.items()),
    ):
        if len(longest := max(texts, key=len, default="")) > limits.limit("text"):
            limits.check("text", len(longest), f"The {what} of item {evalset.ids[list(texts).index(longest)]!r}")
    for system, texts in outputs.items():
        rows: dict[str, Floats] = {}
        absent = [item for item, text in enumerate(texts) if isinstance(text, Absent)]
        for spec in sorted(metrics, key=lambda spec: reads_less(metrics[spec])):
            with whole(tell, len(evalset)):
                rows[spec] = metrics[spec].measure(evalset, texts)
            if absent:
                rows[spec] = rows[spec].copy()
                rows[spec][absent] = 0.0  # which adds nothing to any sum
        yield system, {spec: rows[spec] for spec in metrics}


def reads_less(metric: Metric) -> bool:
    """Whether a metric asks no more of its model than others, after whom it finds what it asks for remembered."""
    return not getattr(metric, "reads_most", False)


def estimated(evaluation: Evaluation) -> Evaluation:
    """The evaluation with an Estimate for every output, from draws that all metrics and systems share."""
    sampling = evaluation.sampling
    if sampling is None or evaluation.n < 2:
        return evaluation
    draws = evaluation.draws(sampling)
    systems = {system: with_intervals(scores, draws, sampling) for system, scores in evaluation.systems.items()}
    return dataclasses.replace(evaluation, systems=systems)


def with_intervals(scores: Mapping[str, Scores], draws: Draws, sampling: Sampling) -> dict[str, Scores]:
    """One system's scores with an Estimate for every output."""
    drawn = draws.totals([of_metric.rows for of_metric in scores.values()])
    return {
        spec: of_metric.with_estimates(
            interval(
                draws.units(of_metric.rows),
                of_metric.metric.score,
                totals,
                sampling=sampling,
                unit=draws.unit,
                name=draws.name,
                totals=of_metric.totals,
            )
        )
        for (spec, of_metric), totals in zip(scores.items(), drawn, strict=True)
    }


def checked_metrics(metrics: Metrics, texts: Texts | None) -> dict[str, Metric]:
    """The metrics by spec, each of which finds what it needs in the texts."""
    if not metrics:
        raise BadInput("No metric was asked for. See: plainly metrics")
    if isinstance(metrics, Mapping):
        chosen = dict(metrics)
    else:
        chosen = {spec if isinstance(spec, str) else repr(spec): registry.metric(spec) for spec in metrics}
    if texts is None:
        return chosen
    chosen = {spec: suited(metric, texts) for spec, metric in chosen.items()}
    for spec, metric in chosen.items():
        if "source" in metric.needs and not texts.has_sources:
            add = way("sources=", "--source FILE")
            raise BadInput(f"{spec} compares with the source, and no sources were given. Add them ({add}).")
        if "references" in metric.needs and not texts.has_references:
            add = way("references=", "--references FILE…, or -t SET")
            raise BadInput(f"{spec} compares with references, and none were given. Add them ({add}).")
    return chosen
