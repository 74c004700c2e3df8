"""The state of the field as a small site: every public output, scored, compared and checked in one way.

Each piece of work (a metric on a set, attacks on a metric, a metric compared with ratings, a paper computed again) is
kept, so that an interrupted build resumes and a later one does only what is new.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import plainly
from plainly import data
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.files import cache_directory, write_whole
from plainly.core.formatting import count_noun, interval, listed, number, size
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.metrics.evidence import evidence
from plainly.streaming import engines
from plainly_lab.field_site.findings import Field, FieldMetric, FieldSet
from plainly_lab.field_site.pages import pages
from plainly_lab.field_site.tasks import (
    DEMO,
    LICENSED,
    SETTINGS,
    FieldPlan,
    FieldTask,
    FieldWork,
    content,
    digest,
    group_tasks,
    identity,
    load_finding,
    models,
    plan,
    systems,
)
from plainly_lab.grids import Config, Entry, TestSet, grid, safe

__all__ = ["FieldSite", "field"]

_GENERATOR = '<meta name="generator" content="plainly '  # in the head of every page that plainly writes
_PRECISION = 0.005  # closer than this, two numbers are shown alike


@dataclass(frozen=True, repr=False)
class FieldSite(Result):
    """The field, and the site that shows it."""

    field: Field
    folder: Path
    files: tuple[Path, ...]
    size: int

    def records(self) -> list[Record]:
        return [
            {"test_set": of_set.name, "system": standing.system, "metric": spec, "output": standings.output}
            | {name: getattr(standing, name) for name in ("value", "low", "high", "cluster", "tied", "signature")}
            for of_set in self.field.sets
            for spec, standings in of_set.standings.items()
            for standing in standings.systems
        ]

    def json(self) -> Record:
        return {**self.field.json(), "site": str(self.folder / "index.html"), "files": len(self.files)}

    def tables(self) -> list[Table]:
        """Return a table for each set: systems down, ranked by the first metric, and metrics across."""
        tables = []
        for of_set in self.field.sets:
            by_metric = of_set.by_metric
            standings = {system: [of_metric[system] for of_metric in by_metric.values()] for system in of_set.systems}
            rows = tuple(
                (system, *(interval(row.value, row.low, row.high) for row in of)) for system, of in standings.items()
            )
            tables.append(Table(("system", *by_metric), rows, caption=f"{of_set.name}: {of_set.about['title']}"))
        return tables

    def notes(self) -> list[Note]:
        pages = sum(path.suffix == ".html" for path in self.files)
        wrote = f"Wrote {count_noun(pages, 'page')} ({size(self.size)}); open {self.folder / 'index.html'}."
        return [*(Note(change, "claim") for change in self.field.changes), *self.field.notes(), Note(wrote)]


def field(
    sets: str | Sequence[str] | None = None,
    *,
    out: str | Path = "field",
    metrics: Sequence[str] | None = None,
    papers: Sequence[str] | None = None,
    newsela: str | Path | None = None,
    cache: str | Path | None = None,
    restart: bool = False,
    processes: int | None = None,
    progress: Progress = no_progress,
) -> FieldSite:
    """Score every public output and write a site about it into the directory ``out``.

    ``sets`` and ``metrics`` select some (default: all sets that have public outputs, all metrics that each allows),
    ``papers`` selects the papers to compute again (default: all). ``newsela`` is a directory of licensed outputs for
    the paper that needs them. Results are kept in ``cache`` and reused unless ``restart`` is true. The site lists what
    changed since it was last built in ``out``.
    """
    folder = Path(out)
    rows_folder = (cache_directory() / "field" if cache is None else Path(cache)) / safe(plainly.__version__)
    _make(folder, "")
    before = _read_previous(folder)
    for spec in metrics or ():
        registry.metric(spec)
    field_plan = plan(
        [sets] if isinstance(sets, str) else sets, metrics, papers, None if newsela is None else Path(newsela)
    )
    _make(rows_folder, " to keep scores in")
    state = _survey(field_plan, rows_folder, restart=restart, processes=processes, progress=progress)
    state = replace(state, changes=tuple(changes(before, state.json())))
    files, total_bytes = [], 0
    for name, text in pages(state, progress):
        write_whole(folder / name, text)
        files.append(folder / name)
        total_bytes += len(text.encode("utf-8"))
    if before is not None:
        # Nothing leads to the pages that only the previous build had, and their numbers are old.
        for path in set(folder.glob("*.html")) - set(files):
            if _GENERATOR in path.read_text(encoding="utf-8", errors="replace")[:2000]:
                path.unlink()
    return FieldSite(state, folder, tuple(files), total_bytes)


def _make(folder: Path, purpose: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot create the directory {folder}{purpose}: {error.strerror or error}.") from error


def _read_previous(folder: Path) -> Record | None:
    """Return the JSON of the site that is in the directory, if there is one."""
    try:
        previous = json.loads((folder / "field.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return previous if isinstance(previous, dict) else None


def _survey(field_plan: FieldPlan, folder: Path, *, restart: bool, processes: int | None, progress: Progress) -> Field:
    """Do the tasks of a plan that are not in the cache yet, and collect the findings of all."""
    tasks = _tasks(field_plan, folder)
    results = {} if restart else {task: value for task in tasks if (value := load_finding(task, folder)) is not None}
    missing = [task for task in tasks if task not in results]
    _measure(
        field_plan, [task.name for task in missing if task.kind == "standings"], folder, restart, processes, progress
    )
    workers = engines.engine("local", processes=processes)
    with progress("analysing", total=len(missing), unit="tasks") as tell:
        for _, group in workers.run(FieldWork(folder), group_tasks(missing), tell=tell):
            results |= group
    findings: dict[tuple[str, str, str], Any] = {(task.kind, task.name, task.spec): results[task] for task in results}
    return Field(
        sets=tuple(_field_set(name, specs, findings) for name, specs in field_plan.sets.items()),
        metrics=tuple(_field_metric(spec, field_plan.ratings, findings) for spec in field_plan.metrics),
        papers=tuple(findings["paper", paper, ""] for paper in field_plan.papers),
        built=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        done=len(missing),
        total=len(tasks),
        left_out=field_plan.left_out,
    )


def _tasks(field_plan: FieldPlan, folder: Path) -> list[FieldTask]:
    """List the tasks of a plan, the longest first."""
    tasks = []
    if field_plan.audits:
        on = digest(SETTINGS["audit"], content(SETTINGS["audit"]["set"]))
        tasks += [FieldTask("audit", "attacks", spec, digest(on, identity(spec))) for spec in field_plan.metrics]
    for name, specs in field_plan.sets.items():
        data_key = content(name)
        score_file = str(_rows(folder, specs) / f"{safe(name)}.npz")
        tasks.append(FieldTask("warnings", name, "\n".join(specs), digest(data_key, specs, 3)))
        tasks += [FieldTask("standings", name, spec, digest(data_key, identity(spec), 4), score_file) for spec in specs]
    for ratings in field_plan.ratings:
        on = digest(SETTINGS["ratings"][ratings])
        tasks += [FieldTask("people", ratings, spec, digest(on, identity(spec), 2)) for spec in field_plan.metrics]
    for paper in field_plan.papers:
        outputs = str(field_plan.newsela) if field_plan.newsela is not None and paper in LICENSED else ""
        tasks.append(FieldTask("paper", paper, key=digest(paper, outputs, 3), path=outputs))
    return tasks


def _rows(folder: Path, specs: Sequence[str]) -> Path:
    """Return the directory of these metrics' rows; other weights have another directory."""
    return folder / f"rows-{models(*specs)}"


def _measure(
    field_plan: FieldPlan, names: Sequence[str], folder: Path, restart: bool, processes: int | None, progress: Progress
) -> None:
    """Measure every system of these sets by every metric, with one grid for all sets that have the same metrics."""
    by_specs: dict[tuple[str, ...], list[Entry]] = {}
    for name in dict.fromkeys(names):
        test_set = TestSet(name, set=name)
        entries = by_specs.setdefault(field_plan.sets[name], [])
        entries += [Entry(test_set, system, None, None) for system in systems(name)]
    for specs, entries in by_specs.items():
        config = Config(_rows(folder, specs), specs, tuple(entries))
        grid(config, restart=restart, processes=processes, progress=progress)


def _field_set(name: str, specs: Sequence[str], findings: Mapping[tuple[str, str, str], Any]) -> FieldSet:
    keys = ("title", "description", "licence", "homepage", "notes")
    if name == DEMO:
        about = dict.fromkeys(keys, "")
        about |= {"title": "The demo", "description": "Sentences and toy systems that come with plainly."}
    else:
        about = {key: getattr(data.card(name), key) for key in keys}
    standings = {spec: findings["standings", name, spec] for spec in specs}
    return FieldSet(name, about, findings["warnings", name, "\n".join(specs)], standings)


def _field_metric(spec: str, ratings: Sequence[str], findings: Mapping[tuple[str, str, str], Any]) -> FieldMetric:
    metric = registry.metric(spec)
    people = tuple(agreement for name in ratings for agreement in findings["people", name, spec])
    return FieldMetric(spec, evidence(metric), metric.better, findings.get(("audit", "attacks", spec)), people)


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[str]:
    """Describe the differences between two builds in sentences."""
    if not before:
        return ["This is the first build: there is nothing to compare it with."]
    sentences = []
    for what, key in (("test set", "sets"), ("metric", "metrics"), ("paper", "papers")):
        old, new = ([part["name"] for part in build.get(key, ())] for build in (before, now))
        if additions := [name for name in new if name not in old]:
            sentences.append(f"New {what}{'s' * (len(additions) > 1)}: {listed(additions)}.")
        if removals := [name for name in old if name not in new]:
            sentences.append(f"No longer there: {listed(removals)}.")
    sentences += _score_changes(before, now)
    for key, what, subject in (("papers", "cells", "the numbers of the paper"), ("metrics", "audit", "what fools it")):
        parts = {part["name"]: part.get(what) for part in now.get(key, ())}
        for part in before.get(key, ()):
            if parts.get(part["name"], part.get(what)) != part.get(what):
                sentences.append(f"{part['name']}: {subject} changed.")
    return sentences or [f"Nothing has changed since the build of {before.get('built', 'last time')}."]


def _score_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = _by_place(before), _by_place(now)
    # The scores of a new set are not listed one by one.
    of_sets: dict[str, list[str]] = {name: [] for name, *_ in old}
    for (name, spec, system), (value, cluster) in new.items():
        sentences = of_sets.get(name, [])
        if (name, spec, system) not in old:
            sentences.append(f"{system} by {spec} is new")
            continue
        old_value, old_cluster = old[name, spec, system]
        if (old_value is None) != (value is None) or (
            old_value is not None and value is not None and abs(old_value - value) >= _PRECISION
        ):
            sentences.append(f"{system} by {spec} was {number(old_value)} and is {number(value)}")
        elif old_cluster != cluster:
            sentences.append(f"{system} by {spec} moved from cluster {old_cluster} to {cluster}")
    for name, sentences in of_sets.items():
        if sentences:
            yield f"{name}: {count_noun(len(sentences), 'change')}. {listed(sentences, most=6)}."


def _by_place(build: Mapping[str, Any]) -> dict[tuple[str, str, str], tuple[float | None, int | None]]:
    return {
        (of_set["name"], spec, standing["system"]): (standing["value"], standing["cluster"])
        for of_set in build.get("sets", ())
        for spec, standings in of_set["standings"].items()
        for standing in standings["systems"]
    }
