"""The pieces of work that the field is made of, each of which is done once and kept: JSON in, JSON out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plainly import data
from plainly.auditing import audit
from plainly.core import registry
from plainly.core.errors import for_python
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.progress import Tell
from plainly.core.result import Record
from plainly.core.sampling import Sampling
from plainly.core.tables import jsonable
from plainly.data import diagnose
from plainly.io.faults.checks import reference_systems
from plainly.people import take
from plainly.people.metric_scores import score_units
from plainly.people.statistics import correlate_metrics
from plainly.reporting.habits import habits
from plainly.reporting.warning_signs import alarms
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import DECIDING, Comparisons
from plainly.scoring.evaluate import estimated, reads_less
from plainly.scoring.score_file import open_saved
from plainly.scoring.scores import Evaluation, Scores
from plainly_lab.field_site.plan import DEMO, family, is_learned, systems, written
from plainly_lab.grids.grid_file import safe
from plainly_lab.reproductions import reproduce
from plainly_lab.reproductions.cells import published

LICENSED = ("fkgl-gaming",)  # papers whose outputs are not public


@dataclass(frozen=True)
class FieldTask:
    """A piece of work: its kind, what it is about (a set, ratings, a paper), by which metric, and what decides it."""

    kind: str
    name: str
    spec: str = ""
    key: str = ""
    path: str = ""  # saved scores, or licensed outputs

    def kept_in(self, folder: Path) -> Path:
        return folder / f"{self.kind}-{safe('-'.join(filter(None, (self.name, self.spec))))}.json"


def kept(task: FieldTask, folder: Path) -> Record | None:
    """The result of a task, if it was done before on the same data in the same way."""
    try:
        saved = json.loads(task.kept_in(folder).read_text(encoding="utf-8"))
        return dict(saved["value"]) if saved["key"] == task.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def sharing(tasks: Sequence[FieldTask]) -> list[list[FieldTask]]:
    """The tasks in groups whose models read the same texts: in one process, each is read once for all of them."""
    groups: dict[object, list[FieldTask]] = {}
    for task in tasks:
        reading = task.kind in ("audit", "people") and is_learned(task.spec)
        groups.setdefault((task.kind, task.name) if reading else task, []).append(task)
    for group in groups.values():
        if len(group) > 1:
            group.sort(key=lambda task: reads_less(registry.metric(task.spec)))
    return list(groups.values())


@dataclass(frozen=True)
class FieldWork:
    """Does tasks and keeps each one's result, so that whoever is stopped goes on where he was."""

    folder: Path

    def __call__(self, task: Sequence[FieldTask], tell: Tell) -> dict[FieldTask, Record]:
        done: dict[FieldTask, Record] = {}
        for piece in task:
            done[piece] = jsonable(KINDS[piece.kind](piece))
            saved = json.dumps({"key": piece.key, "value": done[piece]}, ensure_ascii=False)
            write_whole(piece.kept_in(self.folder), saved)
            tell(1)
        return done


def texts(name: str) -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    """A set and what all systems wrote for it."""
    return data.demo() if name == DEMO else (data.load(name), data.outputs_of(name, systems(name)))


def _standings(task: FieldTask) -> Record:
    """Every system of a set by one metric: score, interval, cluster, and who cannot be told from the best."""
    saved = open_saved(task.path)
    people = reference_systems(*texts(task.name))  # whoever scores against himself is no winner
    scores = {system: of_system[task.spec] for system, of_system in saved.systems.items() if system not in people}
    trained = {system: [name for name in scores if family(name) == system] for system in map(family, scores)}
    pooled = {
        system: {task.spec: _pooled(system, [scores[name] for name in names])} for system, names in trained.items()
    }
    evaluation = estimated(Evaluation(saved.evalset, pooled, Sampling()))
    comparisons = _compared(evaluation)
    clusters = comparisons.clusters(task.spec) if comparisons else []
    best = evaluation.ranking(task.spec)[0]
    of_systems = []
    for rank, system in enumerate(evaluation.ranking(task.spec), 1):
        of_system = evaluation[system][task.spec]
        told = comparisons is None or system == best or comparisons.pair(task.spec, best, system).significant
        of_systems.append(
            {
                "system": system,
                "rank": rank,
                "cluster": next((at for at, names in enumerate(clusters, 1) if system in names), None),
                "best": system == best,
                "tied": not told,
                **{name: value for name, value in of_system.json().items() if name not in ("parts", "method")},
                "seeds": [float(scores[name]) for name in trained[system]] if len(trained[system]) > 1 else [],
            }
        )
    metric = evaluation.metrics[task.spec]  # as the set has it: with a target, its distance is the headline
    return {
        "better": metric.better,
        "output": metric.outputs[0],
        "systems": of_systems,
        "clusters": len(clusters),
        "test": comparisons.deciding if comparisons else None,
        "draws": (comparisons.further or comparisons.trials) if comparisons else None,
        "pairs": comparisons.family(task.spec) if comparisons else 0,
        "method": next(iter(evaluation[best][task.spec].intervals.values())).method if evaluation.n > 1 else None,
    }


def _pooled(system: str, scores: Sequence[Scores]) -> Scores:
    """Several trainings as one system: the rows of an item are summed, and the signature says of how many."""
    if len(scores) == 1:
        return scores[0]
    signature = scores[0].signature
    signature = replace(signature, remarks=(*signature.remarks, f"trainings:{len(scores)}"))
    return Scores.of_items(scores[0].metric, system, np.sum([of.rows for of in scores], axis=0), signature)


def _compared(evaluation: Evaluation) -> Comparisons | None:
    """Every two systems, as ``compare`` compares them."""
    if len(evaluation) < 2 or evaluation.n < 2:
        return None
    return compare(evaluation, tests=(DECIDING,), advice=False)


def _warnings(task: FieldTask) -> Record:
    """What is odd about the texts of a set, and which scores the habits of systems make misleading."""
    evalset, outputs = texts(task.name)
    specs = task.spec.split("\n")
    first: dict[str, tuple[str, ...]] = {}  # of several trainings the first speaks for the system
    for system, lines in outputs.items():
        first.setdefault(family(system), lines)
    notes = diagnose(evalset, first, specs, quick=True)
    metrics = {spec: registry.metric(spec) for spec in specs}
    measured = habits(evalset, first)
    rung = alarms(metrics, measured)
    alone = {  # what an alarm says of many systems, of each by itself
        system: alarms(metrics, [replace(habit, systems={system: habit.systems[system]}) for habit in measured])
        for system in dict.fromkeys(system for alarm in rung for system in alarm.systems)
    }
    return {
        "items": len(evalset),
        "references": sorted(set(map(int, evalset.reference_counts))),
        "documents": len(set(evalset.groups)) if evalset.groups else None,
        "warnings": [{"code": note.code, "where": note.where, "message": for_python(note.message)} for note in notes],
        "alarms": [
            {"metric": alarm.metric, "systems": list(alarm.systems), "message": alarm.message} for alarm in rung
        ],
        "alarms_of": {system: [f"{alarm.metric}: {alarm.message}" for alarm in of] for system, of in alone.items()},
        "reference_systems": sorted(reference_systems(evalset, first)),
    }


def _audit(task: FieldTask) -> Record:
    """What a metric can be fooled by, on some items of some systems."""
    settings = written()["audit"]
    evalset, outputs = data.load(settings["set"]), data.outputs_of(settings["set"], settings["systems"])
    chosen = np.unique(np.linspace(0, len(evalset) - 1, settings["items"]).astype(int))
    result = audit(
        evalset=evalset[chosen],
        outputs={system: [lines[item] for item in chosen] for system, lines in outputs.items()},
        metrics=[task.spec],
        levels=settings["levels"],
        trials=settings["trials_by_model" if is_learned(task.spec) else "trials"],
    )
    payload = result.json()
    (of_metric,) = payload["metrics"]
    what = {attack["attack"]: attack["what"] for attack in payload["attacks"]}
    return {
        "test_set": settings["set"],
        "systems": settings["systems"],
        **{name: payload[name] for name in ("items", "trials", "seed")},
        "signature": of_metric["signature"],
        "verdict": for_python(of_metric["verdict"]),
        "effects": [{**effect, "what": what[effect["attack"]]} for effect in of_metric["effects"]],
    }


def _people(task: FieldTask) -> Record:
    """Whom a metric agrees with: correlations with ratings, output by output and system by system."""
    dimensions = written()["ratings"][task.name]
    judgements = take(task.name)
    if "references" in registry.metric(task.spec).needs and not judgements.references:
        return {"rows": [], "why": f"{task.name} has no references"}
    scores = score_units(judgements, judgements[dimensions[0]].units(), [task.spec])
    result = correlate_metrics(
        judgements, [scores], dimensions=dimensions, statistics=("pearson",), compare=False
    )  # fmt: skip
    rows = [
        {**row.record(), "ratings": task.name, "signature": scores[task.spec].signature}
        for row in result.rows
        if row.slice == "all"
    ]
    return {"rows": rows, "why": ""}


def _paper(task: FieldTask) -> Record:
    """A paper's numbers computed again: as published, with its files' artefacts, and without."""
    printed = published(task.name)
    known = [f"{name}: {scoring['recipe']}" for name, scoring in printed.get("scorings", {}).items()]
    paper: Record = {"title": printed["title"], "cells": [], "conclusions": [], "known": known, "why": ""}
    if task.name in LICENSED and not task.path:
        use = "plainly field --newsela DIR"
        return paper | {"why": f"What its systems wrote is licensed and cannot be fetched. Who has it: {use}."}
    try:
        reproduction = reproduce(task.name, processes=1, outputs=task.path or None)
    except ImportError as error:
        return paper | {"why": f"A package is missing: {error}."}
    cells = [{**cell.json(), "decimals": cell.decimals} for cell in reproduction.cells]
    return paper | {"cells": cells, "conclusions": [for_python(sentence) for sentence in reproduction.conclusions]}


KINDS: dict[str, Callable[[FieldTask], Any]] = {
    "standings": _standings,
    "warnings": _warnings,
    "audit": _audit,
    "people": _people,
    "paper": _paper,
}
