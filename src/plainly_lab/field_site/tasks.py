"""The pieces of work that the field is made of, each of which is done once and kept as JSON."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from plainly import data
from plainly.auditing import audit
from plainly.core import registry
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.progress import Tell
from plainly.core.sampling import Sampling
from plainly.data import diagnose
from plainly.io.faults.checks import reference_systems
from plainly.people import read_ratings
from plainly.people.correlations import correlate_metrics, score_units
from plainly.reporting.findings import alarms, habits
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import DECIDING, Comparisons
from plainly.scoring.evaluate import estimated
from plainly.scoring.score_file import open_saved
from plainly.scoring.scores import Evaluation, Scores
from plainly_lab.field_site.findings import Agreement, Doubts, MetricAudit, Paper, Standing, Standings
from plainly_lab.field_site.plan import DEMO, family, is_learned, systems, written
from plainly_lab.grids.grid_file import safe
from plainly_lab.reproductions import reproduce
from plainly_lab.reproductions.cells import published

LICENSED = ("fkgl-gaming",)  # papers whose outputs are not public
Finding = Standings | Doubts | MetricAudit | tuple[Agreement, ...] | Paper


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


def load_finding(task: FieldTask, folder: Path) -> Finding | None:
    """The result of a task, if it was done before on the same data in the same way."""
    try:
        saved = json.loads(task.kept_in(folder).read_bytes())
        return _convert(task, saved["value"]) if saved["key"] == task.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _convert(task: FieldTask, value: object) -> Finding:
    finding: Finding = msgspec.convert(value, KINDS[task.kind].__annotations__["return"])
    return finding


def sharing(tasks: Sequence[FieldTask]) -> list[list[FieldTask]]:
    """The tasks in groups whose models read the same texts: in one process, each is read once for all of them."""
    groups: dict[object, list[FieldTask]] = {}
    for task in tasks:
        reading = task.kind in ("audit", "people") and is_learned(task.spec)
        groups.setdefault((task.kind, task.name) if reading else task, []).append(task)
    for group in groups.values():
        if len(group) > 1:
            group.sort(key=lambda task: not registry.metric(task.spec).runs_first)
    return list(groups.values())


@dataclass(frozen=True)
class FieldWork:
    """Does tasks and saves each one's result, so that a run that was stopped resumes where it was."""

    folder: Path

    def __call__(self, task: Sequence[FieldTask], tell: Tell) -> dict[FieldTask, Finding]:
        done: dict[FieldTask, Finding] = {}
        for piece in task:
            # NumPy's numbers become Python's, here as when they are read from the cache.
            value = msgspec.to_builtins(KINDS[piece.kind](piece), enc_hook=lambda number: number.tolist())
            write_whole(piece.kept_in(self.folder), json.dumps({"key": piece.key, "value": value}, ensure_ascii=False))
            done[piece] = _convert(piece, value)
            tell(1)
        return done


def texts(name: str) -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
    """A set and what all systems wrote for it."""
    return data.demo() if name == DEMO else (data.load(name), data.outputs_of(name, systems(name)))


def _standings(task: FieldTask) -> Standings:
    """Every system of a set by one metric: score, interval, cluster, and who cannot be told from the best."""
    saved = open_saved(task.path)
    people = reference_systems(*texts(task.name))  # a reference that is scored against itself is not ranked
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
        seeds = [float(scores[name]) for name in trained[system]]
        standing = Standing(
            system=system,
            rank=rank,
            cluster=next((at for at, names in enumerate(clusters, 1) if system in names), None),
            best=system == best,
            tied=not told,
            **{name: value for name, value in of_system.json().items() if name not in ("parts", "method")},
            seeds=tuple(seeds) if len(seeds) > 1 else (),
        )
        of_systems.append(standing)
    metric = evaluation.metrics[task.spec]  # as the set has it: with a target, its distance is the headline
    return Standings(
        better=metric.better,
        output=metric.outputs[0],
        systems=tuple(of_systems),
        clusters=len(clusters),
        test=comparisons.deciding if comparisons else None,
        draws=(comparisons.further or comparisons.trials) if comparisons else None,
        pairs=comparisons.family(task.spec) if comparisons else 0,
        method=next(iter(evaluation[best][task.spec].intervals.values())).method if evaluation.n > 1 else None,
    )


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


def _warnings(task: FieldTask) -> Doubts:
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
    return Doubts(
        items=len(evalset),
        references=tuple(sorted(set(map(int, evalset.reference_counts)))),
        documents=len(set(evalset.groups)) if evalset.groups else None,
        warnings=tuple(notes),
        alarms=tuple(rung),
        alarms_of={system: tuple(f"{alarm.metric}: {alarm.message}" for alarm in of) for system, of in alone.items()},
        reference_systems=tuple(sorted(reference_systems(evalset, first))),
    )


def _audit(task: FieldTask) -> MetricAudit:
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
    design = result.sweep.design
    (verdict,) = result.verdicts.values()
    return MetricAudit(
        test_set=settings["set"],
        systems=tuple(settings["systems"]),
        items=len(design.evalset),
        trials=design.trials,
        seed=design.seed,
        signature=result.sweep.signatures[verdict.metric],
        verdict=result.paragraphs[verdict.metric],
        effects=verdict.effects,
    )


def _people(task: FieldTask) -> tuple[Agreement, ...]:
    """Whom a metric agrees with: correlations with ratings, output by output and system by system."""
    dimensions = written()["ratings"][task.name]
    judgements = read_ratings(task.name)
    if "references" in registry.metric(task.spec).needs and not judgements.references:
        return ()
    scores = score_units(judgements, judgements[dimensions[0]].units(), [task.spec])
    result = correlate_metrics(
        judgements, [scores], dimensions=dimensions, statistics=("pearson",), compare=False
    )  # fmt: skip
    signature = str(scores[task.spec].signature)
    return tuple(Agreement(task.name, signature, row) for row in result.rows if row.slice == "all")


def _paper(task: FieldTask) -> Paper:
    """A paper's numbers computed again: as published, with its files' artefacts, and without."""
    printed = published(task.name)
    known = tuple(f"{name}: {scoring['recipe']}" for name, scoring in printed.get("scorings", {}).items())
    paper = Paper(task.name, printed["title"], known=known)
    if task.name in LICENSED and not task.path:
        use = "plainly field --newsela DIR"
        return replace(paper, why=f"What its systems wrote is licensed and cannot be fetched. Who has it: {use}.")
    try:
        reproduction = reproduce(task.name, processes=1, outputs=task.path or None)
    except ImportError as error:
        return replace(paper, why=f"A package is missing: {error}.")
    return replace(paper, cells=reproduction.cells, conclusions=tuple(reproduction.conclusions))


KINDS: dict[str, Callable[[FieldTask], Finding]] = {
    "standings": _standings,
    "warnings": _warnings,
    "audit": _audit,
    "people": _people,
    "paper": _paper,
}
