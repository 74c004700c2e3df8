"""Metric scores of exactly the outputs that people rated, by output and by system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, way
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.people.ratings import Judgements, Units
from plainly.scoring.evaluate import evaluate
from plainly.scoring.scores import Scores
from plainly.stats.resample import Floats, ratio

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class UnitScores:
    """One metric on all units: rows that add up, the formula over their sums, and each unit's score."""

    name: str
    rows: Floats
    score: Callable[[Floats], Floats]
    segments: Floats
    better: Better = "higher"
    signature: str = ""

    @property
    def turned(self) -> UnitScores:
        """The same with the sign turned where lower is better: agreement with people is then positive."""
        if self.better != "lower":
            return self
        return replace(self, score=lambda totals: -self.score(totals), segments=-self.segments, better="higher")

    def chosen(self, mask: Bools) -> UnitScores:
        return replace(self, rows=self.rows[mask], segments=self.segments[mask])

    def by_system(self, units: Units) -> Floats:
        """Each system's score; NaN without a unit."""
        scores = np.full(len(units.systems), np.nan)
        for system in np.unique(units.system):
            scores[system] = self.score(self.rows[units.system == system].sum(axis=0))
        return scores


@dataclass(frozen=True)
class MetricScores:
    """Several metrics on the same units."""

    units: Units
    metrics: Mapping[str, UnitScores]
    references: str = ""
    remarks: tuple[Note, ...] = ()  # on the file that they were read from

    def __getitem__(self, name: str) -> UnitScores:
        return self.metrics[name]

    @property
    def turned(self) -> MetricScores:
        """All with higher as better, so that every sign in a table means the same."""
        return replace(self, metrics={name: metric.turned for name, metric in self.metrics.items()})

    def chosen(self, mask: Bools) -> MetricScores:
        metrics = {name: metric.chosen(mask) for name, metric in self.metrics.items()}
        return replace(self, units=self.units[mask], metrics=metrics)


def score_units(
    judgements: Judgements,
    units: Units,
    specs: Sequence[str | Metric],
    *,
    references: str | None = None,
    progress: Progress = no_progress,
) -> MetricScores:
    """Measure the rated outputs, all in one pass: one item for each unit, with its source and references."""
    if not judgements.outputs:
        raise BadInput(
            f"{judgements.name} holds ratings but not what was rated. Give a table with the columns source and output, "
            f"name the test set ({way('test_set=', '-t SET')}), or give scores ({way('scores=', '--scores FILE')})."
        )
    rated = list(zip(units.system_names, units.item_names, strict=True))
    if missing := [pair for pair in rated if pair not in judgements.outputs]:
        raise BadInput(
            f"What {missing[0][0]!r} wrote for item {missing[0][1]!r} is not known; nor are {len(missing) - 1} others. "
            f"Give the outputs, or leave those systems out ({way('ratings.take(…, systems=…)', '--systems …')})."
        )
    chosen = next(iter(judgements.references), "") if references is None else references
    if references and references not in judgements.references:
        known = ", ".join(judgements.references) or "none"
        raise BadInput(f"{judgements.name} has no references {references!r}. It has: {known}.")
    of_items = judgements.references.get(chosen, {})
    evalset = EvalSet.of(
        [judgements.sources.get(item, "") for _, item in rated],
        references=[of_items[item] for _, item in rated] if of_items else None,
        ids=[f"{system}\t{item}" for system, item in rated],
        name=judgements.name,
    )
    outputs = [judgements.outputs[pair] for pair in rated]
    evaluation = evaluate(evalset, {"": outputs}, specs, sampling=None, progress=progress)[""]
    return MetricScores(units, {spec: _unit_scores(spec, scores) for spec, scores in evaluation.items()}, chosen)


def _unit_scores(spec: str, scores: Scores) -> UnitScores:
    metric = scores.metric
    segments = scores.segments[metric.outputs[0]]
    return UnitScores(
        spec, scores.rows, lambda totals: metric.score(totals)[..., 0], segments, metric.better, str(scores.signature)
    )


def read_scores(units: Units, path: str | Path, *, metrics: Sequence[str] = ()) -> MetricScores:
    """Scores from a table with the columns system, item (or id) and one for each metric; a system's is their mean."""
    from plainly.io.tables import read_table
    from plainly.people.rating_tables import judgements_of

    table = judgements_of(read_table(path), name=str(path))
    pairs = list(zip(units.system_names, units.item_names, strict=True))
    columns = {}
    for name in metrics or table.dimensions:
        means = dict(zip(product(table.systems, table.items), table[name].means.ravel(), strict=True))
        values = np.array([means.get(pair, np.nan) for pair in pairs], dtype=float)
        if np.isnan(values).all():
            missing = f"{path} has no score {name!r} for any rated output"
            raise BadInput(f"{missing}: do its systems and items have the names?")
        columns[name] = mean_metric(name, values)
    return MetricScores(units, columns, str(path), table.remarks)


def mean_metric(name: str, values: Floats, *, better: Better = "higher") -> UnitScores:
    """A metric of which only each output's score is known; a system's score is their mean."""
    defined = ~np.isnan(values)
    rows = np.stack([np.where(defined, values, 0.0), defined.astype(float)], axis=1)
    return UnitScores(name, rows, lambda totals: ratio(totals[..., 0], totals[..., 1]), values, better)


def with_test_set(judgements: Judgements, name: str, *, progress: Progress = no_progress) -> Judgements:
    """The judgements with the texts of a named set, and with the published outputs of the systems that have none."""
    from plainly import data

    known = {system for system, _ in judgements.outputs}
    missing = [system for system in data.system_names(name) if system in judgements.systems and system not in known]
    outputs = data.outputs_of(name, missing, progress=progress)
    return with_texts(judgements, data.load(name, progress=progress), outputs)


def with_texts(judgements: Judgements, evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> Judgements:
    """The judgements with the texts of an evaluation set whose ids are the rated items."""
    place = {identifier: at for at, identifier in enumerate(evalset.ids)}
    if unknown := [item for item in judgements.items if item not in place]:
        raise BadInput(
            f"Item {unknown[0]!r} was rated but is not in {evalset.name or 'the test set'}, nor are {len(unknown) - 1} "
            f"other rated items. Its ids go from {evalset.ids[0]!r} to {evalset.ids[-1]!r}."
        )
    at = {item: place[item] for item in judgements.items}
    references = {item: evalset.references[row] for item, row in at.items()} if evalset.references else {}
    written = {(system, item): texts[row] for system, texts in outputs.items() for item, row in at.items()}
    return replace(
        judgements,
        sources={item: evalset.sources[row] for item, row in at.items()},
        references={evalset.name or "references": references} if references else {},
        outputs={**judgements.outputs, **written},
    )
