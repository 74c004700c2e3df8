"""Remarks on scores: what the metrics do not measure, and which items they left out or read in pieces."""

import sys
from collections.abc import Iterator
from dataclasses import replace

from plainly.core.calls import current_run
from plainly.core.formatting import count_noun, listed, number
from plainly.core.metric import OutputMetric
from plainly.core.result import Note
from plainly.metrics.evidence import describe_for_methods, evidence, uses_shipped_model
from plainly.metrics.readability import Fkgl
from plainly.scoring.evaluate import check_metrics, resolve_metrics
from plainly.scoring.scores import ScoreTable

# The score in EASSE is computed for at most this many items, and reported if it differs by at least this much.
_MOST_ITEMS, _DIFFERENT = 5000, 0.05


def remarks(evaluation: ScoreTable) -> list[Note]:
    """Return the remarks, metric by metric."""
    of_metrics = [note for spec in evaluation.metrics for note in _of_metric(evaluation, spec)]
    calls = any(metric.is_remote for metric in evaluation.metrics.values())  # else they are those of other results
    return [*of_metrics, *_left_out(evaluation), *_unkept(), *(current_run().warnings if calls else ())]


def _of_metric(evaluation: ScoreTable, spec: str) -> Iterator[Note]:
    metric = evaluation.metrics[spec]
    if advice := evidence(metric).advice:
        yield Note(f"{spec}: {advice}")
    if uses_shipped_model(metric):
        yield Note(f"{describe_for_methods(metric, spec)}.")
    of_systems = evaluation.of_metric(spec)
    missing = {system or "the outputs": scores.undefined for system, scores in of_systems.items() if scores.undefined}
    if missing and metric.better != "neither":
        counts = [f"{count} of {system}" for system, count in missing.items()]
        yield Note(
            f"{spec} is undefined on some of the {count_noun(evaluation.n, 'item')} ({listed(counts)}): its score is "
            "that of the others, and leaving items out changes it.",
            "warning",
            "undefined-items",
            where=spec,
        )
    if isinstance(metric, Fkgl):
        yield from _other_fkgl(evaluation, spec, metric)
    long = {system or "the outputs": metric.count_long_items(scores.totals) for system, scores in of_systems.items()}
    if counts := [f"{count} of {system}" for system, count in long.items() if count]:
        yield Note(f"{spec}: items longer than the model's window were read in pieces ({listed(counts)}).")


def _other_fkgl(evaluation: ScoreTable, spec: str, metric: Fkgl) -> Iterator[Note]:
    """Return the FKGL of EASSE, which most papers report, if it differs."""
    if metric.variant == "easse" or not evaluation.outputs or evaluation.n > _MOST_ITEMS:
        return
    other, pairs = replace(metric, variant="easse", syllables="rules"), []
    for system, scores in evaluation.of_metric(spec).items():
        if system in evaluation.outputs:
            rows = other.measure(evaluation.evalset, evaluation.outputs[system])
            pairs.append((system, float(other.score(rows.sum(axis=0))[0]), float(scores)))
    system, theirs, ours = max(pairs, key=lambda pair: abs(pair[1] - pair[2]), default=("", 0.0, 0.0))
    if abs(theirs - ours) >= _DIFFERENT:
        name = f" of {system}" if system else ""
        yield Note(
            f"{spec}{name} is {number(ours)} here and {number(theirs)} in EASSE, which counts punctuation as words "
            f"and syllables in its own way. For EASSE's number: metrics={repr(other)!r}"
        )


def _left_out(evaluation: ScoreTable) -> Iterator[Note]:
    """Return what was not computed because there are no sources or no references, and how to get it."""
    for spec, metric in evaluation.metrics.items():
        if isinstance(metric, OutputMetric) and spec != repr(metric):
            others = [name for name in metric.metric.outputs if name not in metric.outputs]
            yield Note(
                f"{spec}: only {listed(list(metric.outputs))} could be computed. For {listed(others)}, add sources "
                "(sources=).",
                code="left-out",
                where=spec,
            )
    texts = evaluation.evalset
    if evaluation.outputs is None or texts.has_sources:
        return
    if evaluation.metrics != check_metrics(resolve_metrics(None, texts), texts):
        return  # the metrics were named
    absent, names, add = "sources", "sari, edits and splits", "Add sources (sources=)"
    if not texts.has_references:
        absent, names = "sources and references", "sari, bleu, edits, splits and the gain of sle"
        add += " and references (references=)"
    yield Note(f"Without {absent}, these metrics were left out: {names}. {add} to compute them.", code="left-out")


def _unkept() -> Iterator[Note]:
    """Report that learned scores could not be cached, if any were computed."""
    cache = sys.modules.get("plainly.learned.score_cache")
    if cache is not None and (trouble := cache.trouble()):
        yield Note(f"Learned scores could not be cached in {cache.cache_path()}: {trouble}.", code="score-cache")
