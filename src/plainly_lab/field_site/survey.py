"""The state of the field: every public output, scored, compared and doubted in one way.

Each piece (a metric on a set, a trick on a metric, a metric beside people, a paper computed again) is another question
of this package; its answer is kept, so that what was stopped goes on and what is known is not asked again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import plainly
from plainly import data
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.files import cache_directory
from plainly.core.formatting import counted, interval, number
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.metrics.evidence import evidence
from plainly.streaming import engines
from plainly_lab.field_site.changes import changes
from plainly_lab.field_site.plan import DEMO, FieldPlan, content, digest, identity, models, plan, systems, written
from plainly_lab.field_site.tasks import LICENSED, FieldTask, FieldWork, kept, sharing
from plainly_lab.grids.grid_file import Config, Entry, TestSet, safe
from plainly_lab.grids.run import grid

__all__ = ["Field", "cache_folder", "survey"]

SCHEMA = "plainly.field/1"


@dataclass(frozen=True, repr=False)
class Field(Result):
    """All that was asked of the field: ``sets``, ``metrics`` and ``papers``, each a record that its page shows."""

    sets: tuple[Record, ...]
    metrics: tuple[Record, ...]
    papers: tuple[Record, ...]
    built: str
    done: int = 0  # pieces of work that were done now; the others were there
    total: int = 0
    left_out: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @cached_property
    def systems(self) -> dict[str, dict[str, dict[str, Record]]]:
        """By system, by set, by metric: its score there, among how many, in which direction."""
        by_system: dict[str, dict[str, dict[str, Record]]] = {}
        for of_set in self.sets:
            for spec, standings in of_set["standings"].items():
                among = {"better": standings["better"], "clusters": standings["clusters"]}
                among["among"] = len(standings["systems"])
                for standing in standings["systems"]:
                    of_system = by_system.setdefault(standing["system"], {}).setdefault(of_set["name"], {})
                    of_system[spec] = standing | among
        return dict(sorted(by_system.items(), key=lambda entry: entry[0].lower()))

    def records(self) -> list[Record]:
        return [
            {"test_set": of_set["name"], "system": standing["system"], "metric": spec, "output": standings["output"]}
            | {name: standing[name] for name in ("value", "low", "high", "cluster", "tied", "signature")}
            for of_set in self.sets
            for spec, standings in of_set["standings"].items()
            for standing in standings["systems"]
        ]

    def json(self) -> Record:
        """Schema plainly.field/1: everything that the pages show."""
        return {
            "schema": SCHEMA,
            "version": plainly.__version__,
            "built": self.built,
            **{name: list(getattr(self, name)) for name in ("sets", "metrics", "papers", "left_out", "changes")},
            "warnings": [note.json() for note in self.notes() if note.kind != "claim"],
        }

    def tables(self) -> list[Table]:
        """For each set its systems down and its metrics across, ranked by the first."""
        tables = []
        for of_set in self.sets:
            by_metric = {
                spec: {standing["system"]: standing for standing in standings["systems"]}
                for spec, standings in of_set["standings"].items()
            }
            ranked = next(iter(by_metric.values()))
            rows = tuple(
                (system, *(_shown(of_metric[system]) for of_metric in by_metric.values())) for system in ranked
            )
            tables.append(Table(("system", *by_metric), rows, caption=f"{of_set['name']}: {of_set['title']}"))
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
    known = {} if restart else {task: value for task in tasks if (value := kept(task, folder)) is not None}
    missing = [task for task in tasks if task not in known]
    _measure(wanted, [task.name for task in missing if task.kind == "standings"], folder, restart, processes, progress)
    workers = engines.engine("local", processes=processes)
    with progress("asking", total=len(missing), unit="questions") as tell:
        for _, done in workers.run(FieldWork(folder), sharing(missing), tell=tell):
            known |= done
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    field = Field(**_parts(wanted, known), built=built, done=len(missing), total=len(tasks), left_out=wanted.left_out)
    return Field(**{**vars(field), "changes": tuple(changes(before, field.json()))})


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
        tasks += [FieldTask("people", ratings, spec, digest(on, identity(spec))) for spec in wanted.metrics]
    for paper in wanted.papers:
        licensed = str(wanted.newsela) if wanted.newsela is not None and paper in LICENSED else ""
        tasks.append(FieldTask("paper", paper, key=digest(paper, licensed, 2), path=licensed))
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


def _parts(wanted: FieldPlan, known: Mapping[FieldTask, Record]) -> dict[str, Any]:
    by_kind: dict[str, dict[tuple[str, str], Record]] = {}
    for task, value in known.items():
        by_kind.setdefault(task.kind, {})[task.name, task.spec] = value
    sets = []
    for name, specs in wanted.sets.items():
        warned = by_kind["warnings"][name, "\n".join(specs)]
        standings = {spec: by_kind["standings"][name, spec] for spec in specs}
        sets.append({"name": name, **_described(name), **warned, "standings": standings})
    metrics = []
    for spec in wanted.metrics:
        known_of = evidence(registry.metric(spec))
        told = {key: getattr(known_of, key) for key in ("measures", "blind", "advice", "page")}
        papers = [{"short": paper.short, "url": paper.url} for paper in known_of.papers]
        people = [by_kind["people"][ratings, spec] for ratings in wanted.ratings]
        record = {"name": spec, **told, "papers": papers, "better": registry.metric(spec).better}
        record["audit"] = by_kind.get("audit", {}).get(("attacks", spec))
        record["people"] = [row for of_ratings in people for row in of_ratings["rows"]]
        metrics.append(record)
    papers = [{"name": paper, **by_kind["paper"][paper, ""]} for paper in wanted.papers]
    return {"sets": tuple(sets), "metrics": tuple(metrics), "papers": tuple(papers)}


def _described(name: str) -> Record:
    if name == DEMO:
        return {
            "title": "The demo",
            "description": "Sentences and toy systems that come with plainly.",
        } | dict.fromkeys(("licence", "homepage", "notes"), "")
    card = data.card(name)
    return {key: getattr(card, key) for key in ("title", "description", "licence", "homepage", "notes")}


def _shown(standing: Record) -> str:
    if standing["value"] is None:
        return number(None)
    return interval(standing["value"], standing.get("low"), standing.get("high"))
