"""The loop: metrics × systems → scores. Nothing else in plainly loops over metrics."""

import dataclasses
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, compress
from typing import Any, TypeVar, cast

import numpy as np

from plainly.core import limits, registry
from plainly.core.errors import BadInput, check_choice
from plainly.core.evalset import EvalSet, find_present
from plainly.core.files import read_shipped
from plainly.core.formatting import listed
from plainly.core.metric import Floats, Metric, Metrics, OutputMetric, PairwiseMetric, TextSource, mean_rows
from plainly.core.progress import Progress, Tell, ignore_progress, no_progress, report_work
from plainly.core.sampling import Sampling
from plainly.io.texts import Texts
from plainly.metrics.evidence import in_language
from plainly.scoring.scores import Evaluation, Scores, ScoreTable, Signature, reference_range
from plainly.stats.resample import interval

__all__ = ["Evaluation", "Metrics", "Scores", "check_metrics", "evaluate", "measure"]

AnyEvaluation = TypeVar("AnyEvaluation", bound=ScoreTable)
Outputs = Mapping[str, Sequence[str]]
DEFAULT_METRICS = ("sari", "bleu", "fkgl")
DEFAULT_WITHOUT_REFERENCES = ("fkgl", "edits", "splits")
DEFAULT_ALONE, DEFAULT_ALONE_LEARNED = ("fkgl", "length"), ("sle.output", "cefr")  # without sources and references
# Other tools by the name that is typed: the tool's own name, and its metrics, as it has them by default, as specs.
PRESETS: dict[str, dict[str, Any]] = read_shipped(__file__, "variants.toml")["like"]


def evaluate(
    evalset: EvalSet,
    outputs: Outputs,
    metrics: Metrics,
    *,
    sampling: Sampling | None = Sampling(),
    progress: Progress = no_progress,
) -> Evaluation:
    """Measure every system with every metric. All inputs are checked before anything is measured.

    Without ``sampling`` there are no intervals.
    """
    resolved = check_metrics(metrics, evalset if len(evalset) else None)
    Texts(evalset, outputs)  # which raises unless they fit together
    amount = len(evalset) * len(outputs) * len(resolved)
    with progress("measuring", total=amount, unit="scores") as tell:
        rows = dict(measure(evalset, outputs, resolved, tell))
    return from_rows(evalset, outputs, resolved, rows, sampling)


def from_rows(
    evalset: EvalSet,
    outputs: Outputs | None,
    metrics: Mapping[str, Metric],
    rows: Mapping[str, Mapping[str, Floats]],
    sampling: Sampling | None,
) -> Evaluation:
    """Build an evaluation from rows by system and metric, wherever they were measured."""
    systems = {}
    for system, by_spec in rows.items():
        texts = (outputs or {}).get(system, ())
        mask = find_present(texts)
        present = None if mask.all() else mask
        items = evalset if present is None else evalset[present]
        references = reference_range(items)
        systems[system] = {
            spec: Scores.of_items(
                metric,
                system,
                by_spec[spec],
                Signature.of(metric, data=items.fingerprint, references=references),
                present,
            )
            for spec, metric in metrics.items()
        }
    return add_intervals(Evaluation(evalset, systems, sampling, outputs))


def measure(
    evalset: EvalSet, outputs: Outputs, metrics: Mapping[str, Metric], tell: Tell = ignore_progress
) -> Iterator[tuple[str, dict[str, Floats]]]:
    """Measure every metric on each system in turn, and yield its rows; large corpora are passed in batches."""
    all_texts = {"source": evalset.sources, **{f"output of {system}": texts for system, texts in outputs.items()}}
    for name, texts in all_texts.items():
        if len(longest := max(texts, key=len, default="")) > limits.limit("text"):
            limits.check("text", len(longest), f"The {name} of item {evalset.ids[list(texts).index(longest)]!r}")
    meetings = {
        spec: _let_meet(metric, evalset, outputs)
        for spec, metric in metrics.items()
        if isinstance(metric, PairwiseMetric) and len(outputs) > 1
    }
    for system, texts in outputs.items():
        rows: dict[str, Floats] = {}
        present = find_present(texts)
        items, own = (evalset, texts) if present.all() else (evalset[present], list(compress(texts, present)))
        for spec in sorted(metrics, key=lambda spec: not metrics[spec].runs_first):
            with report_work(tell, len(evalset)):
                rows[spec] = meetings[spec][system] if spec in meetings else metrics[spec].measure(items, own)
            if items is not evalset and spec not in meetings:
                measured, rows[spec] = rows[spec], np.zeros((len(texts), rows[spec].shape[1]))
                rows[spec][present] = measured  # the others add nothing to any sum
        yield system, {spec: rows[spec] for spec in metrics}


def _let_meet(metric: PairwiseMetric, evalset: EvalSet, outputs: Outputs) -> dict[str, Floats]:
    """Return the rows of every system: wins, contradictions and comparisons in all, and wins and ties by opponent."""
    own, k, places_of = metric.own_columns, len(outputs), {system: place for place, system in enumerate(outputs)}
    rows = {system: np.zeros((len(evalset), own + 2 * k)) for system in outputs}
    for first, second in combinations(outputs, 2):
        places = np.flatnonzero(find_present(outputs[first]) & find_present(outputs[second])).tolist()
        texts = [[outputs[system][place] for place in places] for system in (first, second)]
        preferences = metric.prefer(evalset[places], *texts)
        first_wins = preferences[:, 0]
        for system, other, wins in ((first, second, first_wins), (second, first, 1.0 - first_wins)):
            by_order = np.where(np.isnan(wins), np.nan, preferences[:, 1])
            contradictory = np.where(np.isnan(wins), np.nan, np.abs(by_order) == 1.0)
            rows[system][places, :own] += mean_rows(wins, contradictory, by_order / 2)
            rows[system][places, own + places_of[other]] = wins == 1.0
            rows[system][places, own + k + places_of[other]] = wins == 0.5
    return rows


def add_intervals(evaluation: AnyEvaluation) -> AnyEvaluation:
    """Return the evaluation with an Estimate for every output, from draws that metrics and complete systems share."""
    sampling = evaluation.sampling
    if sampling is None or evaluation.n < 2:
        return evaluation
    systems = {}
    for system, by_spec in evaluation.systems.items():
        present = next((scores.present for scores in by_spec.values()), None)
        draws = evaluation.draws(sampling, present)
        totals = draws.totals([scores.rows_of_items for scores in by_spec.values()])
        systems[system] = {
            spec: scores.with_estimates(
                interval(
                    draws.units(scores.rows_of_items),
                    scores.metric.score,
                    of_draws,
                    sampling=sampling,
                    unit=draws.unit,
                    name=draws.name,
                    totals=scores.totals,
                )
            )
            for (spec, scores), of_draws in zip(by_spec.items(), totals, strict=True)
        }
    return dataclasses.replace(evaluation, systems=systems)


def on_shared_items(evaluation: AnyEvaluation, *systems: str) -> AnyEvaluation:
    """Return the evaluation of these systems (default: all) on the items that every one of them has, with intervals."""
    if systems:
        evaluation = dataclasses.replace(evaluation, systems={system: evaluation.systems[system] for system in systems})
    if not isinstance(evaluation, Evaluation) or evaluation.shared is evaluation:
        return evaluation
    shared = dataclasses.replace(evaluation.shared, advise=evaluation.advise, input_notes=evaluation.input_notes)
    if not shared.n:
        raise BadInput(f"{listed(list(evaluation))} have no item in common. Leave out those that have the fewest.")
    return cast(AnyEvaluation, add_intervals(shared))


def resolve_metrics(
    metrics: Metrics | None, texts: TextSource, *, like: str | None = None, target: str | float | None = None
) -> dict[str, Metric]:
    """Return the metrics by spec, in the language of the texts where they have a choice; None means a sensible few.

    ``like`` names the tool whose variants of the metrics are meant, ``target`` the level that the systems aim at.
    """
    if like is not None:
        metrics = use_preset(like, metrics, references=texts.has_references)
    resolved = registry.metrics(default_specs(texts) if metrics is None else metrics)
    if target is not None:
        resolved = _with_target(resolved, target)
    if not texts.language or all(metric.language in ("", texts.language) for metric in resolved.values()):
        return resolved
    in_texts_language = {spec: in_language(metric, texts.language, spec) for spec, metric in resolved.items()}
    return {spec if metric is resolved[spec] else repr(metric): metric for spec, metric in in_texts_language.items()}


def use_preset(name: str, metrics: Metrics | None, *, references: bool = True) -> list[str | Metric | object]:
    """Return the specs as a tool has them by default, all that it has if ``metrics`` is None.

    A spec with parameters, or a metric that is not a spec, is not changed.
    """
    check_choice("like", name, PRESETS)
    tool = PRESETS[name]["name"]
    preset_metrics = registry.metrics(PRESETS[name]["specs"])
    if metrics is None:
        allowed = [spec for spec, metric in preset_metrics.items() if references or "references" not in metric.needs]
        if not allowed:
            raise BadInput(f"The metrics of {tool} need references.")
        return list(allowed)
    by_name = {metric.name: spec for spec, metric in preset_metrics.items()}
    specs = registry.split_specs(metrics) if isinstance(metrics, str) else list(metrics)
    unknown = [spec for spec in specs if isinstance(spec, str) and "(" not in spec and spec not in by_name]
    if unknown:
        raise BadInput(f"{tool} has no {listed(unknown)} that plainly can compute; it has {listed(list(by_name))}.")
    return [by_name.get(spec, spec) if isinstance(spec, str) else spec for spec in specs]


def describe_preset(name: str, specs: Iterable[str]) -> str:
    """Return a sentence that says which specs a tool's defaults stand for."""
    return f"As {PRESETS[name]['name']} computes them by default: {', '.join(specs)}."


def _with_target(metrics: Mapping[str, Metric], target: str | float) -> dict[str, Metric]:
    """Set the target of the metrics that have one of its kind and no target yet.

    A number is for metrics that aim at numbers, if there are any; a name, or a number without them, for CEFR levels.
    """
    if any(metric.target_kind == "number" for metric in metrics.values()):
        with suppress(ValueError):
            target = float(target)
    kind = "number" if isinstance(target, float) else "level"
    if not any(metric.target_kind == kind for metric in metrics.values()):
        raise BadInput(
            "target= is for metrics that measure the distance from a level, and none of them is named. Use "
            "metrics='cefr' for a CEFR level, metrics='sle' for a number."
        )
    with_targets = {}
    for spec, metric in metrics.items():
        if metric.target_kind == kind and metric.target is None:
            metric = dataclasses.replace(metric, target=target)  # type: ignore[type-var]
            spec = repr(metric)
        with_targets[spec] = metric
    return with_targets


def default_specs(texts: TextSource) -> tuple[str, ...]:
    """Return the default metrics: as many as sources, references and installed packages allow."""
    english = texts.language in ("", "en")
    if texts.has_references:
        specs = DEFAULT_METRICS if texts.has_sources else DEFAULT_METRICS[1:]
    elif texts.has_sources:
        specs = DEFAULT_WITHOUT_REFERENCES
    else:
        installed = all(importlib.util.find_spec(package) for package in ("onnxruntime", "tokenizers"))
        specs = (*DEFAULT_ALONE, *(DEFAULT_ALONE_LEARNED if english and installed else ()))
    return specs if english else tuple("readability" if spec == "fkgl" else spec for spec in specs)


def check_metrics(metrics: Metrics, texts: TextSource | None) -> dict[str, Metric]:
    """Return the metrics by spec, or raise if one needs texts that are missing.

    A metric of which only some outputs can be computed without what is missing (``sle``) is reduced to those.
    """
    if not metrics:
        raise BadInput("metrics= names no metric. See: plainly metrics")
    resolved = registry.metrics(metrics)
    if texts is None:
        return resolved
    available = {*(["source"] if texts.has_sources else []), *(["references"] if texts.has_references else [])}
    for spec, metric in resolved.items():
        if metric.reads_columns:
            resolved[spec] = metric = metric.for_evalset(texts)
        if metric.needs <= available:
            continue
        output = next((name for name in metric.outputs if metric.needs_of.get(name, metric.needs) <= available), None)
        if output is not None:
            resolved[spec] = OutputMetric(metric, output)
        elif "source" in metric.needs and not texts.has_sources:
            raise BadInput(f"{spec} compares with the source, and no sources were given. Add them (sources=).")
        else:
            raise BadInput(f"{spec} compares with references, and none were given. Add them (references=).")
    return resolved
