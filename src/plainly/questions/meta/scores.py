"""Metric scores of exactly the outputs that people rated, by output and by system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plainly import registry
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.protocol import Better
from plainly.ratings.types import Judgements, Units
from plainly.scoring.evaluate import evaluate
from plainly.stats.resample import Floats


@dataclass(frozen=True)
class Measured:
    """One metric on all units: rows that add up, the formula over their sums, and each unit's score."""

    name: str
    rows: Floats
    score: Callable[[Floats], Floats]
    segments: Floats
    better: Better = "higher"
    signature: str = ""

    def chosen(self, mask: Floats) -> Measured:
        return replace(self, rows=self.rows[mask], segments=self.segments[mask])

    def by_system(self, units: Units) -> Floats:
        """The score of each system: the formula over the sum of its rows, NaN for systems without a unit."""
        scores: Floats = self.weighted_by_system(units, np.ones((1, len(units))))[0]
        return scores

    def weighted_by_system(self, units: Units, weights: Floats) -> Floats:
        """The score of each system under each row of weights: (draws, systems)."""
        found = np.full((len(weights), len(units.systems)), np.nan)
        for system in range(len(units.systems)):
            mine = units.system == system
            if mine.any():
                found[:, system] = self.score(weights[:, mine] @ self.rows[mine])
        return found


@dataclass(frozen=True)
class MetricScores:
    """Several metrics on the same units."""

    units: Units
    metrics: Mapping[str, Measured]
    references: str = ""

    def __getitem__(self, name: str) -> Measured:
        return self.metrics[name]

    def chosen(self, mask: Floats) -> MetricScores:
        return MetricScores(
            self.units[mask],  # type: ignore[index]
            {name: found.chosen(mask) for name, found in self.metrics.items()},
            self.references,
        )


def score_units(
    judgements: Judgements, units: Units, specs: Sequence[str], *, references: str | None = None
) -> MetricScores:
    """Measure the rated outputs, all in one pass: one item for each unit, with its source and references."""
    if not judgements.outputs:
        raise BadInput(
            f"{judgements.name} holds ratings but not what was rated. Give a table with the columns source and output, "
            "name the test set (-t SET), or give scores (--scores FILE)."
        )
    systems, items = units.system_names, units.item_names
    missing = [pair for pair in zip(systems, items, strict=True) if pair not in judgements.outputs]
    if missing:
        raise BadInput(
            f"What {missing[0][0]!r} wrote for item {missing[0][1]!r} is not known; nor are {len(missing) - 1} others. "
            "Give the outputs, or leave those systems out (--systems …)."
        )
    chosen = next(iter(judgements.references), "") if references is None else references
    if references and references not in judgements.references:
        known = ", ".join(judgements.references) or "none"
        raise BadInput(f"{judgements.name} has no references {references!r}. It has: {known}.")
    of_items = judgements.references.get(chosen, {})
    evalset = EvalSet.of(
        [judgements.sources.get(item, "") for item in items],
        references=[of_items[item] for item in items] if of_items else None,
        ids=[f"{system}\t{item}" for system, item in zip(systems, items, strict=True)],
        name=judgements.name,
    )
    outputs = [judgements.outputs[pair] for pair in zip(systems, items, strict=True)]
    found = evaluate(evalset, {"": outputs}, specs, sampling=None)[""]
    metrics = {}
    for spec, scores in found.items():
        metrics[spec] = Measured(
            spec,
            scores.rows,
            lambda totals, score=scores.metric.score: score(totals)[..., 0],  # type: ignore[misc]
            scores.segments[scores.metric.outputs[0]],
            scores.metric.better,
            str(scores.signature),
        )
    return MetricScores(units, metrics, chosen)


def given_scores(judgements: Judgements, units: Units, path: str, *, metrics: Sequence[str] = ()) -> MetricScores:
    """Scores from a table with the columns system, item (or id) and one for each metric; a system's is their mean."""
    from plainly.inputs.tables import read_table
    from plainly.ratings.read import judgements_of

    found = judgements_of(read_table(path), name=path)
    wanted = list(metrics) or list(found.dimensions)
    columns = {}
    for name in wanted:
        ratings = found[name]
        place = {
            (system, item): ratings.means[s, i]
            for s, system in enumerate(found.systems)
            for i, item in enumerate(found.items)
        }
        values = np.array(
            [place.get(pair, np.nan) for pair in zip(units.system_names, units.item_names, strict=True)], dtype=float
        )
        if np.isnan(values).all():
            raise BadInput(
                f"{path} has no score {name!r} for any rated output: do its systems and items have the names?"
            )
        columns[name] = mean_metric(name, values)
    return MetricScores(units, columns, path)


def mean_metric(name: str, values: Floats, *, better: Better = "higher", signature: str = "") -> Measured:
    """A metric of which only each output's score is known; a system's score is their mean."""
    defined = ~np.isnan(values)
    rows = np.stack([np.where(defined, values, 0.0), defined.astype(float)], axis=1)

    def score(totals: Floats) -> Floats:
        value, count = totals[..., 0], totals[..., 1]
        mean: Floats = np.divide(value, count, out=np.full(np.shape(value), np.nan), where=count > 0)
        return mean

    return Measured(name, rows, score, values, better, signature)


def with_texts(judgements: Judgements, evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> Judgements:
    """The judgements with the texts of an evaluation set whose ids are the rated items."""
    place = {identifier: at for at, identifier in enumerate(evalset.ids)}
    unknown = [item for item in judgements.items if item not in place]
    if unknown:
        raise BadInput(
            f"Item {unknown[0]!r} was rated but is not in {evalset.name or 'the test set'}, nor are {len(unknown) - 1} "
            f"other rated items. Its ids go from {evalset.ids[0]!r} to {evalset.ids[-1]!r}."
        )
    at = {item: place[item] for item in judgements.items}
    return replace(
        judgements,
        sources={item: evalset.sources[row] for item, row in at.items()},
        references={evalset.name or "references": {item: evalset.references[row] for item, row in at.items()}}
        if evalset.references
        else {},
        outputs={
            **judgements.outputs,
            **{(system, item): texts[row] for system, texts in outputs.items() for item, row in at.items()},
        },
    )


def oriented(found: Measured, values: Floats) -> Floats:
    """Values with the sign turned where lower is better, so that agreement with people is positive for every metric."""
    return -values if found.better == "lower" else values


def check_specs(specs: Sequence[str]) -> list[str]:
    """The specs, after every one of them was found to be a metric."""
    for spec in specs:
        registry.metric(spec)
    return list(dict.fromkeys(specs))
