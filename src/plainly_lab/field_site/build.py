"""The state of the field as a small site: every public output, scored, compared and checked in one way.

Each piece of work (a metric on a set, attacks on a metric, a metric compared with ratings, a paper computed again) is
kept, so that an interrupted build resumes and a later one does only what is new.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from plainly.reporting.page import environment
from plainly.streaming import engines
from plainly_lab.field_site.findings import Field, FieldMetric, FieldSet
from plainly_lab.field_site.pages import render_pages
from plainly_lab.field_site.tasks import (
    LICENSED,
    SETTINGS,
    FieldPlan,
    FieldTask,
    FieldWork,
    group_tasks,
    hash_content,
    hash_models,
    identify_metric,
    list_systems,
    load_finding,
    make_plan,
)
from plainly_lab.grids import DEMO, Config, Entry, TestSet, digest, grid, make_directory, safe

__all__ = ["FieldSite", "field"]

_GENERATOR = '<meta name="generator" content="plainly '  # in the head of every page that plainly writes
_MOST_BUILDS = 20  # whose changes are kept
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
            {"test_set": test_set.name, "system": standing.system, "metric": spec, "output": standings.output}
            | {name: getattr(standing, name) for name in ("value", "low", "high", "cluster", "tied", "signature")}
            for test_set in self.field.sets
            for spec, standings in test_set.standings.items()
            for standing in standings.systems
        ]

    def json(self) -> Record:
        return {**self.field.json(), "site": str(self.folder / "index.html"), "files": len(self.files)}

    def tables(self) -> list[Table]:
        """Return a table for each set: systems down, ranked by the first metric, and metrics across."""
        tables = []
        for test_set in self.field.sets:
            by_metric = test_set.by_metric
            standings = {system: [of_metric[system] for of_metric in by_metric.values()] for system in test_set.systems}
            rows = tuple(
                (system, *(interval(row.value, row.low, row.high) for row in of)) for system, of in standings.items()
            )
            tables.append(Table(("system", *by_metric), rows, caption=f"{test_set.name}: {test_set.about['title']}"))
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
    for spec in metrics or ():
        if registry.metric(spec).is_remote:
            raise BadInput(
                f"{spec} calls a server, and the field scores thousands of outputs on all cores, without a limit of "
                "cost. Use it with plainly score, report or grid."
            )
    environment("The field's pages")  # what pages need is asked for before hours of work
    make_directory(folder, "the site")
    before = _read_previous(folder)
    names = [sets] if isinstance(sets, str) else sets
    plan = make_plan(names, metrics, papers, None if newsela is None else Path(newsela))
    make_directory(rows_folder, "the scores of the field")
    state = _survey(plan, rows_folder, restart=restart, processes=processes, progress=progress)
    state = replace(state, changes=tuple(changes(before, state.json())), history=_extend_history(before))
    files, total_bytes = [], 0
    for name, text in render_pages(state, progress):
        write_whole(folder / name, text)
        files.append(folder / name)
        total_bytes += len(text.encode("utf-8"))
    if before is not None:
        # Nothing leads to the pages that only the previous build had, and their numbers are old.
        for path in set(folder.glob("*.html")) - set(files):
            if _GENERATOR in path.read_text(encoding="utf-8", errors="replace")[:2000]:
                path.unlink()
    return FieldSite(state, folder, tuple(files), total_bytes)


def _read_previous(folder: Path) -> Record | None:
    """Return the JSON of the site that is in the directory, if there is one."""
    try:
        previous = json.loads((folder / "field.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return previous if isinstance(previous, dict) else None


def _extend_history(before: Record | None) -> tuple[Record, ...]:
    """Return what changed in earlier builds, the latest first."""
    if before is None or not isinstance(before.get("built"), str):
        return ()
    latest = {"built": before["built"], "changes": before.get("changes", [])}
    return (latest, *before.get("history", ()))[:_MOST_BUILDS]


def _survey(plan: FieldPlan, folder: Path, *, restart: bool, processes: int | None, progress: Progress) -> Field:
    """Do the tasks of a plan that are not in the cache yet, and collect the findings of all."""
    ratings = tuple(SETTINGS["ratings"]) if plan.is_public else ()
    tasks = _tasks(plan, ratings, folder)
    results = {} if restart else {task: value for task in tasks if (value := load_finding(task, folder)) is not None}
    missing = [task for task in tasks if task not in results]
    to_measure = dict.fromkeys(task.name for task in missing if task.kind in ("standings", "samples"))
    for config in _grids(plan, to_measure, folder):
        grid(config, restart=restart, processes=processes, progress=progress)
    workers = engines.engine("local", processes=processes)
    with progress("analysing", total=len(missing), unit="tasks") as tell:
        for _, group in workers.run(FieldWork(folder), group_tasks(missing), tell=tell):
            results |= group
    findings: dict[tuple[str, str, str], Any] = {(task.kind, task.name, task.spec): results[task] for task in results}
    return Field(
        sets=tuple(_field_set(name, specs, findings) for name, specs in plan.sets.items()),
        metrics=tuple(_field_metric(spec, ratings, findings) for spec in plan.metrics),
        papers=tuple(findings["paper", paper, ""] for paper in plan.papers),
        built=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        done=len(missing),
        total=len(tasks),
        left_out=plan.left_out,
    )


def _tasks(plan: FieldPlan, ratings: Sequence[str], folder: Path) -> list[FieldTask]:
    """List the tasks of a plan, the longest first."""
    tasks = []
    identities = {spec: identify_metric(spec) for spec in plan.metrics}
    if plan.is_public:
        audit_key = digest(SETTINGS["audit"], hash_content(SETTINGS["audit"]["set"]))
        tasks += [FieldTask("audit", "attacks", spec, digest(audit_key, identities[spec], 2)) for spec in plan.metrics]
    for name, specs in plan.sets.items():
        data_key = hash_content(name)
        score_file = str(_rows(folder, specs) / f"{safe(name)}.npz")
        tasks.append(FieldTask("warnings", name, "\n".join(specs), digest(data_key, specs, 3)))
        first = _first_decided(specs)
        tasks.append(FieldTask("samples", name, first, digest(data_key, identities[first], 1), score_file))
        tasks += [
            FieldTask("standings", name, spec, digest(data_key, identities[spec], 4), score_file) for spec in specs
        ]
    for name in ratings:
        ratings_key = digest(SETTINGS["ratings"][name])
        tasks += [FieldTask("people", name, spec, digest(ratings_key, identities[spec], 2)) for spec in plan.metrics]
    for paper in plan.papers:
        outputs = str(plan.newsela) if plan.newsela is not None and paper in LICENSED else ""
        tasks.append(FieldTask("paper", paper, key=digest(paper, outputs, 3), path=outputs))
    return tasks


def _first_decided(specs: Sequence[str]) -> str:
    """Return the first metric that has a better side, by which the worst items are found."""
    return next((spec for spec in specs if registry.metric(spec).better != "neither"), specs[0])


def _rows(folder: Path, specs: Sequence[str]) -> Path:
    """Return the directory of these metrics' rows; other weights have another directory."""
    return folder / f"rows-{hash_models(*specs)}"


def _grids(plan: FieldPlan, names: Iterable[str], folder: Path) -> list[Config]:
    """Return grids of every system of these sets, one for all sets that have the same metrics."""
    by_specs: dict[tuple[str, ...], list[Entry]] = {}
    for name in names:
        entries = by_specs.setdefault(plan.sets[name], [])
        entries += [Entry(TestSet(name, set=name), system) for system in list_systems(name)]
    return [Config(_rows(folder, specs), specs, tuple(entries)) for specs, entries in by_specs.items()]


def _field_set(name: str, specs: Sequence[str], findings: Mapping[tuple[str, str, str], Any]) -> FieldSet:
    keys = ("title", "description", "licence", "homepage", "notes")
    if name == DEMO:
        about = dict.fromkeys(keys, "")
        about |= {"title": "The demo", "description": "Sentences and toy systems that come with plainly."}
    else:
        about = {key: getattr(data.card(name), key) for key in keys}
    standings = {spec: findings["standings", name, spec] for spec in specs}
    samples = findings["samples", name, _first_decided(specs)]
    return FieldSet(name, about, findings["warnings", name, "\n".join(specs)], standings, samples)


def _field_metric(spec: str, ratings: Sequence[str], findings: Mapping[tuple[str, str, str], Any]) -> FieldMetric:
    metric = registry.metric(spec)
    people = tuple(agreement for name in ratings for agreement in findings["people", name, spec])
    return FieldMetric(spec, evidence(metric), metric.better, findings.get(("audit", "attacks", spec)), people)


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[str]:
    """Describe the differences between two builds, one sentence each."""
    if not before:
        return ["This is the first build: there is nothing to compare it with."]
    sentences = []
    for noun, key in (("test set", "sets"), ("metric", "metrics"), ("paper", "papers")):
        old, new = ([part["name"] for part in build.get(key, ())] for build in (before, now))
        if additions := [name for name in new if name not in old]:
            sentences.append(f"New {noun}{'s' * (len(additions) > 1)}: {listed(additions)}.")
        if removals := [name for name in old if name not in new]:
            sentences.append(f"No longer there: {listed(removals)}.")
    sentences += _score_changes(before, now)
    for key, value, subject in (("papers", "cells", "the numbers of the paper"), ("metrics", "audit", "what fools it")):
        new_values = {part["name"]: part.get(value) for part in now.get(key, ())}
        for part in before.get(key, ()):
            if new_values.get(part["name"], part.get(value)) != part.get(value):
                sentences.append(f"{part['name']}: {subject} changed.")
    return sentences or [f"Nothing has changed since the build of {before.get('built', 'last time')}."]


def _score_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = _by_place(before), _by_place(now)
    # The scores of a new set are not listed one by one.
    by_set: dict[str, list[str]] = {name: [] for name, *_ in old}
    for (name, spec, system), (value, cluster) in new.items():
        sentences = by_set.get(name, [])
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
    for name, sentences in by_set.items():
        if sentences:
            yield f"{name}: {count_noun(len(sentences), 'change')}. {listed(sentences, most=6)}."


def _by_place(build: Mapping[str, Any]) -> dict[tuple[str, str, str], tuple[float | None, int | None]]:
    return {
        (test_set["name"], spec, standing["system"]): (standing["value"], standing["cluster"])
        for test_set in build.get("sets", ())
        for spec, standings in test_set["standings"].items()
        for standing in standings["systems"]
    }
