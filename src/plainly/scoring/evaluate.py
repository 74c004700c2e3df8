"""The loop: metrics × systems → scores. Nothing else in plainly loops over metrics."""

import dataclasses
import importlib.util
from collections.abc import Iterator, Mapping, Sequence

from plainly.core import limits, registry
from plainly.core.errors import BadInput
from plainly.core.evalset import Absent, EvalSet
from plainly.core.metric import Floats, Metric, Metrics, OutputMetric, TextSource
from plainly.core.progress import Progress, Tell, ignore_progress, no_progress, report_work
from plainly.core.sampling import Sampling
from plainly.metrics.languages import in_language
from plainly.scoring.scores import Evaluation, Scores
from plainly.scoring.signature import Signature, reference_range
from plainly.stats.resample import Draws, interval

__all__ = ["Evaluation", "Metrics", "Scores", "checked_metrics", "evaluate", "measure"]

Outputs = Mapping[str, Sequence[str]]
DEFAULT = Sampling()
DEFAULT_METRICS = ("sari", "bleu", "fkgl")
DEFAULT_WITHOUT_REFERENCES = ("fkgl", "edits", "splits")
DEFAULT_ALONE, DEFAULT_ALONE_LEARNED = ("fkgl", "length"), ("sle.output", "cefr")  # without sources and references


def evaluate(
    evalset: EvalSet,
    outputs: Outputs,
    metrics: Metrics,
    *,
    sampling: Sampling | None = DEFAULT,
    progress: Progress = no_progress,
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
    evalset: EvalSet, outputs: Outputs, metrics: Mapping[str, Metric], tell: Tell = ignore_progress
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
        for spec in sorted(metrics, key=lambda spec: not metrics[spec].runs_first):
            with report_work(tell, len(evalset)):
                rows[spec] = metrics[spec].measure(evalset, texts)
            if absent:
                rows[spec] = rows[spec].copy()
                rows[spec][absent] = 0.0  # which adds nothing to any sum
        yield system, {spec: rows[spec] for spec in metrics}


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


def resolve_metrics(metrics: Metrics | None, texts: TextSource) -> dict[str, Metric]:
    """The metrics by spec, in the language of the texts where they have a choice; None means a sensible few."""
    resolved = registry.metrics(default_specs(texts) if metrics is None else metrics)
    if not texts.language or all(metric.language in ("", texts.language) for metric in resolved.values()):
        return resolved
    translated = {spec: in_language(metric, texts.language, spec) for spec, metric in resolved.items()}
    return {spec if metric is resolved[spec] else repr(metric): metric for spec, metric in translated.items()}


def default_specs(texts: TextSource) -> tuple[str, ...]:
    """What is scored where no metric is named: as much as sources, references and installed packages allow."""
    english = texts.language in ("", "en")
    if texts.has_references:
        specs = DEFAULT_METRICS if texts.has_sources else DEFAULT_METRICS[1:]
    elif texts.has_sources:
        specs = DEFAULT_WITHOUT_REFERENCES
    else:
        installed = all(importlib.util.find_spec(package) for package in ("onnxruntime", "tokenizers"))
        specs = (*DEFAULT_ALONE, *(DEFAULT_ALONE_LEARNED if english and installed else ()))
    return specs if english else tuple("readability" if spec == "fkgl" else spec for spec in specs)


def checked_metrics(metrics: Metrics, texts: TextSource | None) -> dict[str, Metric]:
    """The metrics by spec, each of which finds what it needs in the texts.

    A metric of which only some outputs can be computed without what is missing (``sle``) is reduced to those.
    """
    if not metrics:
        raise BadInput("No metric was asked for. See: plainly metrics")
    resolved = registry.metrics(metrics)
    if texts is None:
        return resolved
    available = {*(["source"] if texts.has_sources else []), *(["references"] if texts.has_references else [])}
    for spec, metric in resolved.items():
        if metric.reads_columns:
            resolved[spec] = metric = metric.for_evalset(texts)
        if metric.needs <= available:
            continue
        reduced = next((name for name in metric.outputs if metric.needs_of.get(name, metric.needs) <= available), None)
        if reduced is not None:
            resolved[spec] = OutputMetric(metric, reduced)
        elif "source" in metric.needs and not texts.has_sources:
            raise BadInput(f"{spec} compares with the source, and no sources were given. Add them (sources=).")
        else:
            raise BadInput(f"{spec} compares with references, and none were given. Add them (references=).")
    return resolved
