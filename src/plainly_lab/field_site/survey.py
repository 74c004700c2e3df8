"""The state of the field: every public output, scored, compared and doubted in one way.

Each piece (a metric on a set, a trick on a metric, a metric beside people, a paper computed again) is another question
of this package; its answer is kept, so that what was stopped goes on and what is known is not asked again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import plainly
from plainly import data
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.files import cache_directory
from plainly.core.formatting import counted, interval, listed, number
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.tables import jsonable
from plainly.metrics.evidence import evidence
from plainly.streaming import engines
from plainly_lab.field_site.findings import Description, FieldMetric, FieldSet, Paper, Standing, Standings
from plainly_lab.field_site.plan import DEMO, FieldPlan, content, digest, identity, models, plan, systems, written
from plainly_lab.field_site.tasks import LICENSED, FieldTask, FieldWork, load_finding, sharing
from plainly_lab.grids.grid_file import Config, Entry, TestSet, safe
from plainly_lab.grids.run import grid

__all__ = ["Field", "cache_folder", "survey"]

SCHEMA = "plainly.field/1"
_SHOWN = 0.005  # closer than this, two numbers are shown alike


@dataclass(frozen=True, repr=False)
class Field(Result):
    """All that was asked of the field: sets, metrics and papers, each with a page of its own."""

    sets: tuple[FieldSet, ...]
    metrics: tuple[FieldMetric, ...]
    papers: tuple[Paper, ...]
    built: str
    done: int = 0  # pieces of work that were done now; the others were there
    total: int = 0
    left_out: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @cached_property
    def systems(self) -> dict[str, dict[str, dict[str, tuple[Standing, Standings]]]]:
        """By system, by set, by metric: its standing, and the standings that it is one of."""
        by_system: dict[str, dict[str, dict[str, tuple[Standing, Standings]]]] = {}
        for of_set in self.sets:
            for spec, standings in of_set.standings.items():
                for standing in standings.systems:
                    of_system = by_system.setdefault(standing.system, {}).setdefault(of_set.name, {})
                    of_system[spec] = standing, standings
        return dict(sorted(by_system.items(), key=lambda entry: entry[0].lower()))

    def records(self) -> list[Record]:
        return [
            {"test_set": of_set.name, "system": standing.system, "metric": spec, "output": standings.output}
            | {name: getattr(standing, name) for name in ("value", "low", "high", "cluster", "tied", "signature")}
            for of_set in self.sets
            for spec, standings in of_set.standings.items()
            for standing in standings.systems
        ]

    def json(self) -> Record:
        """Schema plainly.field/1: everything that the pages show."""
        record: Record = jsonable(
            {
                "schema": SCHEMA,
                "version": plainly.__version__,
                "built": self.built,
                "sets": [of_set.json() for of_set in self.sets],
                "metrics": [metric.json() for metric in self.metrics],
                "papers": [paper.json() for paper in self.papers],
                "left_out": self.left_out,
                "changes": self.changes,
                "warnings": [note.json() for note in self.notes() if note.kind != "claim"],
            }
        )
        return record

    def tables(self) -> list[Table]:
        """For each set its systems down and its metrics across, ranked by the first."""
        tables = []
        for of_set in self.sets:
            by_metric = {
                spec: {standing.system: standing for standing in standings.systems}
                for spec, standings in of_set.standings.items()
            }
            ranked = next(iter(by_metric.values()))
            rows = tuple(
                (
                    system,
                    *(
                        interval(of_metric[system].value, of_metric[system].low, of_metric[system].high)
                        for of_metric in by_metric.values()
                    ),
                )
                for system in ranked
            )
            tables.append(Table(("system", *by_metric), rows, caption=f"{of_set.name}: {of_set.about.title}"))
        return tables

    def notes(self) -> list[Note]:
        said = [Note(sentence, "claim") for sentence in self.changes]
        done = f"{self.done} of {counted(self.total, 'piece')} of work were done now, the others were there."
        return [*said, Note(done), *(Note(f"Left out: {reason}.") for reason in self.left_out)]


def survey(
    sets: Sequence[str] | None = None,
    *,
    metrics: Sequence[str] | None = None,
    papers: Sequence[str] | None = None,
    newsela: str | Path | None = None,
    cache: str | Path | None = None,
    restart: bool = False,
    processes: int | None = None,
    before: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> Field:
    """Score every public output of these sets (or of all that have some) and gather what is known of the metrics.

    ``newsela`` is a directory of licensed outputs for the paper that needs them. What is done is kept in ``cache``;
    ``restart`` does it again. ``before`` is the JSON of an earlier build, with which this one is compared.
    """
    for spec in metrics or ():
        registry.metric(spec)
    wanted = plan(sets, metrics, papers, None if newsela is None else Path(newsela))
    folder = cache_folder(cache)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot make the directory {folder} to keep scores in: {error.strerror or error}.") from error
    tasks = _tasks(wanted, folder)
    known = {} if restart else {task: value for task in tasks if (value := load_finding(task, folder)) is not None}
    missing = [task for task in tasks if task not in known]
    _measure(wanted, [task.name for task in missing if task.kind == "standings"], folder, restart, processes, progress)
    workers = engines.engine("local", processes=processes)
    with progress("asking", total=len(missing), unit="questions") as tell:
        for _, done in workers.run(FieldWork(folder), sharing(missing), tell=tell):
            known |= done
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    findings: dict[tuple[str, str, str], Any] = {(task.kind, task.name, task.spec): known[task] for task in known}
    field = Field(
        sets=tuple(_field_set(name, specs, findings) for name, specs in wanted.sets.items()),
        metrics=tuple(_field_metric(spec, wanted.ratings, findings) for spec in wanted.metrics),
        papers=tuple(findings["paper", paper, ""] for paper in wanted.papers),
        built=built,
        done=len(missing),
        total=len(tasks),
        left_out=wanted.left_out,
    )
    return replace(field, changes=tuple(changes(before, field.json())))


def cache_folder(cache: str | Path | None = None) -> Path:
    """Where what this version did is kept: in ``cache``, ``$PLAINLY_CACHE/field`` or the platform's cache directory."""
    if cache is not None:
        return Path(cache) / safe(plainly.__version__)
    return cache_directory() / "field" / safe(plainly.__version__)


def _tasks(wanted: FieldPlan, folder: Path) -> list[FieldTask]:
    """All that is to be done, the longest first."""
    settings = written()
    tasks = []
    if wanted.audits:
        on = digest(settings["audit"], content(settings["audit"]["set"]))
        tasks += [FieldTask("audit", "attacks", spec, digest(on, identity(spec))) for spec in wanted.metrics]
    for name, specs in wanted.sets.items():
        data_key = content(name)
        saved = str(_rows(folder, specs) / f"{safe(name)}.npz")
        tasks.append(FieldTask("warnings", name, "\n".join(specs), digest(data_key, specs, 3)))
        tasks += [FieldTask("standings", name, spec, digest(data_key, identity(spec), 4), saved) for spec in specs]
    for ratings in wanted.ratings:
        on = digest(settings["ratings"][ratings])
        tasks += [FieldTask("people", ratings, spec, digest(on, identity(spec), 2)) for spec in wanted.metrics]
    for paper in wanted.papers:
        licensed = str(wanted.newsela) if wanted.newsela is not None and paper in LICENSED else ""
        tasks.append(FieldTask("paper", paper, key=digest(paper, licensed, 3), path=licensed))
    return tasks


def _rows(folder: Path, specs: Sequence[str]) -> Path:
    """Where the rows of these metrics are kept: those that other weights gave lie elsewhere."""
    return folder / f"rows-{models(*specs)}"


def _measure(
    wanted: FieldPlan, names: Sequence[str], folder: Path, restart: bool, processes: int | None, progress: Progress
) -> None:
    """Every system of these sets by every metric: a grid measures and keeps those of all sets with the same metrics."""
    by_specs: dict[tuple[str, ...], list[Entry]] = {}
    for name in dict.fromkeys(names):
        test_set = TestSet(name, set=name)
        entries = by_specs.setdefault(wanted.sets[name], [])
        entries += [Entry(test_set, system, None, None) for system in systems(name)]
    for specs, entries in by_specs.items():
        config = Config(_rows(folder, specs), specs, tuple(entries))
        grid(config, restart=restart, processes=processes, progress=progress)


def _field_set(name: str, specs: Sequence[str], findings: Mapping[tuple[str, str, str], Any]) -> FieldSet:
    if name == DEMO:
        about = Description("The demo", "Sentences and toy systems that come with plainly.")
    else:
        card = data.card(name)
        about = Description(card.title, card.description, card.licence, card.homepage, card.notes)
    standings = {spec: findings["standings", name, spec] for spec in specs}
    return FieldSet(name, about, findings["warnings", name, "\n".join(specs)], standings)


def _field_metric(spec: str, ratings: Sequence[str], findings: Mapping[tuple[str, str, str], Any]) -> FieldMetric:
    metric = registry.metric(spec)
    people = tuple(agreement for name in ratings for agreement in findings["people", name, spec])
    return FieldMetric(spec, evidence(metric), metric.better, findings.get(("audit", "attacks", spec)), people)


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[str]:
    """The differences in sentences; of what was never built before, that it is the first."""
    if not before:
        return ["This is the first build: there is nothing to compare it with."]
    sentences = [*_names(before, now), *_scores(before, now), *_others(before, now)]
    return sentences or [f"Nothing has changed since the build of {before.get('built', 'last time')}."]


def _names(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for what, key in (("test set", "sets"), ("metric", "metrics"), ("paper", "papers")):
        old, new = ([part["name"] for part in build.get(key, ())] for build in (before, now))
        if came := [name for name in new if name not in old]:
            yield f"New {what}{'s' * (len(came) > 1)}: {listed(came)}."
        if gone := [name for name in old if name not in new]:
            yield f"No longer there: {listed(gone)}."


def _scores(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = _by_place(before), _by_place(now)
    # Of a set that is new, all is new.
    of_sets: dict[str, list[str]] = {name: [] for name, *_ in old}
    for (name, spec, system), (value, cluster) in new.items():
        moved = of_sets.get(name, [])
        if (name, spec, system) not in old:
            moved.append(f"{system} by {spec} is new")
            continue
        was, stood = old[name, spec, system]
        if (was is None) != (value is None) or (was is not None and value is not None and abs(was - value) >= _SHOWN):
            moved.append(f"{system} by {spec} was {number(was)} and is {number(value)}")
        elif stood != cluster:
            moved.append(f"{system} by {spec} moved from cluster {stood} to {cluster}")
    for name, moved in of_sets.items():
        if moved:
            yield f"{name}: {counted(len(moved), 'change')}. {listed(moved, most=6)}."


def _others(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key, what in (("papers", "cells"), ("metrics", "audit")):
        old = {part["name"]: part.get(what) for part in before.get(key, ())}
        for part in now.get(key, ()):
            if part["name"] in old and old[part["name"]] != part.get(what):
                yield f"{part['name']}: {'the numbers of the paper' if key == 'papers' else 'what fools it'} changed."


def _by_place(build: Mapping[str, Any]) -> dict[tuple[str, str, str], tuple[float | None, int | None]]:
    return {
        (of_set["name"], spec, standing["system"]): (standing["value"], standing["cluster"])
        for of_set in build.get("sets", ())
        for spec, standings in of_set["standings"].items()
        for standing in standings["systems"]
    }
