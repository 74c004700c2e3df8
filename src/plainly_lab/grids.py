"""Experiment grids: systems × test sets × metrics × seeds from one file; only what is new is measured.

An entry is what one system (with one seed) wrote for one test set. Its rows are kept in a file of saved scores, and for
each test set all entries together in another, which compare and report read. The TOML file that describes a grid is
checked whole before the first score: types, settings, names that clash.
"""

import hashlib
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

import plainly
from plainly import data
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole, writes_nothing
from plainly.core.formatting import number
from plainly.core.progress import Progress, Tell, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.settings import Settings, convert_settings, read_settings
from plainly.io import read_evalset, read_outputs
from plainly.scoring.evaluate import Evaluation, Scores, evaluate
from plainly.scoring.score_file import open_saved, save
from plainly.streaming import engines

_LONGEST = 200  # bytes: a file name may have 255, and something is added to this one
DEMO = "demo"  # the small set that comes with plainly, and its toy systems


@dataclass(frozen=True)
class TestSet:
    """A named set, or files: what ``plainly.io.read_evalset`` takes."""

    name: str
    set: str | None = None
    files: Mapping[str, Any] = field(default_factory=dict)

    def load(self, *, progress: Progress = no_progress) -> EvalSet:
        if self.set is not None:
            return data.demo()[0] if self.set == DEMO else data.load(self.set, progress=progress)
        return read_evalset(**self.files, name=self.name)


@dataclass(frozen=True)
class Entry:
    """What one system, with one seed or none, wrote for one test set: a file, or a published output of a named set."""

    test_set: TestSet
    system: str
    seed: int | None = None
    path: str | None = None
    published: str | None = None  # its name there, if it is not the system's

    @property
    def name(self) -> str:
        return self.system if self.seed is None else f"{self.system}@{self.seed}"

    @property
    def description(self) -> str:
        return f"the system {self.system!r}{'' if self.seed is None else f' with seed {self.seed}'}"

    @property
    def identity(self) -> Record:
        return {"test_set": self.test_set.name, "system": self.system, "seed": self.seed}

    def score_file(self, out: Path) -> Path:
        """Return the file of its scores."""
        return out / "cells" / safe(self.test_set.name) / f"{safe(self.name)}.npz"

    def outputs(self, evalset: EvalSet) -> tuple[str, ...]:
        if self.path is None:
            name = self.published or self.system
            return data.demo()[1][name] if self.test_set.set == DEMO else data.outputs(self.test_set.set or "", name)
        systems = read_outputs(
            self.path, n=len(evalset), against=self.test_set.name, sources=evalset.sources, ids=evalset.ids
        )
        if len(systems) != 1:
            raise BadInput(f"{self.path} has the outputs of {len(systems)} systems; an entry of a grid is one system.")
        return next(iter(systems.values()))


@dataclass(frozen=True)
class Config:
    """A grid as its file describes it."""

    out: Path
    metrics: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def test_sets(self) -> dict[str, TestSet]:
        return {entry.test_set.name: entry.test_set for entry in self.entries}


class _GridSettings(Settings, frozen=True):
    """Settings whose texts are names or paths, and whose lists are not empty and contain no number twice."""

    def __post_init__(self) -> None:
        for key, value in asdict(self).items():
            if not _is_usable(value):
                raise ValueError(f"{key} must be names or paths, or different whole numbers, not {value!r:.60}.")


def _is_usable(value: object) -> bool:
    if isinstance(value, str):
        short = all(len(part.encode("utf-8", "replace")) <= 255 for part in value.split("/"))
        return short and bool(value.strip()) and "\0" not in value
    if isinstance(value, Mapping):
        return all(map(_is_usable, (*value, *value.values())))
    if isinstance(value, tuple):
        numbers = [number for number in value if isinstance(number, int)]
        return bool(value) and len(numbers) == len(set(numbers)) and all(map(_is_usable, value))
    return True


class TestSetSettings(_GridSettings, frozen=True):
    """One of ``[test_sets]``: a named set, or files."""

    set: str | None = None
    source: str | None = None
    references: str | tuple[str, ...] | None = None
    table: str | None = None
    groups: str | None = None
    columns: Mapping[str, str | tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = {name for name, value in asdict(self).items() if value is not None}
        if "set" in keys and len(keys) > 1:
            raise ValueError("a named set has its own files. Remove set, or the other keys.")
        if not keys & {"set", "source", "references", "table"}:
            raise ValueError("a test set needs one of set, source, references or table.")

    def files(self, base: Path) -> Record:
        """What ``plainly.io.read_evalset`` takes, with paths relative to the grid's file."""
        references = [self.references] if isinstance(self.references, str) else self.references
        single = {"source": self.source, "table": self.table, "groups": self.groups}
        files: Record = {name: str(base / path) for name, path in single.items() if path is not None}
        if references is not None:
            files["references"] = [str(base / path) for path in references]
        return files if self.columns is None else {**files, "columns": self.columns}


class SystemSettings(_GridSettings, frozen=True):
    """One of ``[systems]``: files of its own, or a published output."""

    outputs: str | None = None
    published: str | None = None
    seeds: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.published is None and self.outputs is None:
            raise ValueError('a system needs the path of its outputs: outputs = "runs/{test_set}.txt"')


class GridFile(_GridSettings, frozen=True):
    """The content of a grid's file."""

    metrics: tuple[str, ...]
    test_sets: Mapping[str, str | dict[str, Any]] | tuple[str, ...]
    systems: Mapping[str, str | dict[str, Any]]
    out: str = "grid"
    seeds: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind, names in (("test_sets", self.test_sets), ("systems", self.systems)):
            if not names:
                raise ValueError(f"{kind} must not be empty. See: plainly grid --help")
            for name in names:
                if not name.strip(".") or len(safe(name).encode()) > _LONGEST:
                    raise ValueError(f"{kind}: {name[:40]!r} cannot be part of a file name.")


def read_config(path: str | Path) -> Config:
    """Read a grid from a TOML file; paths in it are relative to the file."""
    where, file, base = str(path), read_settings(path, GridFile), Path(path).resolve().parent
    for spec in file.metrics:
        registry.metric(spec)
    sources = file.test_sets if isinstance(file.test_sets, Mapping) else {name: name for name in file.test_sets}
    test_sets = []
    for name, source in sources.items():
        settings = {"set": source} if isinstance(source, str) else source
        valid = convert_settings(settings, TestSetSettings, where=f"{where}, test set {name}")
        test_sets.append(TestSet(name, valid.set, valid.files(base)))
    _check_distinct([(f"the test set {test.name!r}", safe(test.name)) for test in test_sets], where)
    entries: list[Entry] = []
    for test_set in test_sets:
        of_set = [
            entry
            for system, outputs in file.systems.items()
            for entry in _entries(test_set, system, outputs, file.seeds, base, f"{where}, system {system}")
        ]
        _check_distinct([(entry.description, safe(entry.name)) for entry in of_set], where)
        entries += of_set
    return Config(base / file.out, tuple(dict.fromkeys(file.metrics)), tuple(entries))


def safe(name: str) -> str:
    """Return a name that can be a file name; the caller refuses names that become the same."""
    return re.sub(r"[^\w.@+-]+", "-", name)


def make_directory(folder: Path, purpose: str) -> None:
    """Create a directory, or raise an error that names it and its purpose."""
    if writes_nothing.get():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot create the directory {folder} for {purpose}: {error.strerror or error}.") from None


def digest(*parts: object) -> str:
    """Return a short hash of values."""
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8")).hexdigest()[:16]


def _entries(
    test_set: TestSet, system: str, outputs: str | dict[str, Any], seeds: Sequence[int] | None, base: Path, where: str
) -> list[Entry]:
    raw = {"outputs": outputs} if isinstance(outputs, str) else outputs
    settings = convert_settings(raw, SystemSettings, where=where)
    if settings.published is not None:
        if test_set.set is None:
            raise BadInput(f"{where}: a published output needs a named set, but {test_set.name} is not one.")
        return [Entry(test_set, system, published=settings.published)]
    path = str(base / str(settings.outputs).replace("{test_set}", safe(test_set.name)))
    if "{seed}" not in str(settings.outputs):
        return [Entry(test_set, system, path=path)]
    if not (seeds := settings.seeds or seeds):
        raise BadInput(f"{where}: the outputs depend on {{seed}}. Add the seeds: seeds = [1, 2, 3]")
    return [Entry(test_set, system, seed, path.replace("{seed}", str(seed))) for seed in seeds]


def _check_distinct(names: Sequence[tuple[str, str]], where: str) -> None:
    """Raise if two descriptions would have one name in the results."""
    first: dict[str, str] = {}
    for description, name in names:
        if name in first:
            raise BadInput(f"{where}: {first[name]} and {description} would both be saved as {name!r}. Rename one.")
        first[name] = description


@dataclass(frozen=True)
class EntryScores:
    """A finished entry: its file, the metrics that were measured now, and its headline scores."""

    file: str
    measured: tuple[str, ...]
    scores: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class GridResult(Result):
    """The scores of all entries, by test set and name, and the file of all systems for each test set."""

    config: Config
    scores: Mapping[tuple[str, str], EntryScores]
    saved: Mapping[str, Path]
    remarks: tuple[Note, ...] = ()

    @property
    def measured(self) -> int:
        """The number of entries × metrics that were measured now and not before."""
        return sum(len(scores.measured) for scores in self.scores.values())

    def values(self, test_set: str, system: str, spec: str) -> list[float]:
        """A system's headline scores, one for each seed."""
        entries = [entry for entry in self.config.entries if (entry.test_set.name, entry.system) == (test_set, system)]
        return [self.of(entry).scores[spec] for entry in entries]

    def of(self, entry: Entry) -> EntryScores:
        return self.scores[entry.test_set.name, entry.name]

    def records(self) -> list[Record]:
        return [
            {**entry.identity, "metric": spec, "output": registry.metric(spec).outputs[0], "value": value}
            for entry in self.config.entries
            for spec, value in self.of(entry).scores.items()
        ]

    def json(self) -> Record:
        return {
            "schema": "plainly.grid/1",
            "saved": {name: str(path) for name, path in self.saved.items()},
            "cells": [
                {**entry.identity, "file": self.of(entry).file, "scores": dict(self.of(entry).scores)}
                for entry in self.config.entries
            ],
            "warnings": warnings(self),
        }

    def tables(self) -> list[Table]:
        """Return a table for each test set: systems down, metrics across; mean and standard deviation over seeds."""
        metrics = self.config.metrics
        tables = []
        for test_set in self.saved:
            systems = dict.fromkeys(entry.system for entry in self.config.entries if entry.test_set.name == test_set)
            rows = [
                (system, *(format_mean(self.values(test_set, system, spec)) for spec in metrics)) for system in systems
            ]
            tables.append(Table(("system", *metrics), tuple(rows), caption=test_set))
        return tables

    def notes(self) -> list[Note]:
        total = len(self.config.entries) * len(self.config.metrics)
        steps = [f"  plainly {command} {path}" for path in self.saved.values() for command in ("compare", "report")]
        message = f"{self.measured} of {total} scores were measured now, the others before. Next:"
        return [Note("\n".join([message, *steps])), *self.remarks]


def grid(
    config: str | Path | Config,
    *,
    engine: str = "local",
    processes: int | None = None,
    address: str | None = None,
    restart: bool = False,
    progress: Progress = no_progress,
) -> GridResult:
    """Measure the missing scores of a grid (a TOML file), and save all systems of each test set in one file.

    ``engine`` is "local" (this machine, with ``processes`` workers or one for each core) or "ray" (a cluster at
    ``address``). ``restart`` measures everything again. With a metric that calls a server, cells are measured here, one
    after the other, since a limit of cost holds for one process; its scores are always computed from the answers.
    """
    workers = engines.engine(engine, processes=processes, address=address)
    if not isinstance(config, Config):
        config = read_config(config)
    if any(registry.metric(spec).is_remote for spec in config.metrics):
        workers = engines.engine("local", processes=1)
    for test_set in config.test_sets.values():
        make_directory(config.out / "cells" / safe(test_set.name), "a grid's scores")
        if test_set.set is not None:  # fetched once here, not by every worker at the same time
            test_set.load(progress=progress)
    with progress("measuring", total=len(config.entries), unit="cells") as tell:
        results = dict(workers.run(MeasureEntry(config.metrics, config.out, restart), config.entries, tell=tell))
    scores = {(entry.test_set.name, entry.name): results[number] for number, entry in enumerate(config.entries)}
    if writes_nothing.get():
        return GridResult(config, scores, {})
    saved: dict[str, Path] = {}
    remarks: list[Note] = []
    for name, test_set in config.test_sets.items():
        evalset = test_set.load(progress=progress)
        systems: dict[str, dict[str, Scores]] = {}
        for entry in config.entries:
            if entry.test_set.name == name:
                (of_system,) = open_saved(str(entry.score_file(config.out))).values()
                systems[entry.name] = {spec: of_system[spec] for spec in config.metrics}
        saved[name] = config.out / f"{safe(name)}.npz"
        save(str(saved[name]), Evaluation(evalset, systems))
        remarks += data.diagnose(evalset, {}, config.metrics, quick=True, only=("metric-language",))
    result = GridResult(config, scores, saved, tuple(remarks))
    write_whole(config.out / "grid.json", json.dumps(result.json(), ensure_ascii=False, indent=2))
    return result


@dataclass
class MeasureEntry:
    """A worker that measures the metrics of one entry that its file does not have for these texts."""

    metrics: Sequence[str]
    out: Path
    restart: bool
    # Entries come set by set, so a worker keeps the last set only.
    last: tuple[str, EvalSet] | None = field(default=None, repr=False)

    def __call__(self, task: Entry, tell: Tell) -> EntryScores:
        if self.last is None or self.last[0] != task.test_set.name:
            self.last = (task.test_set.name, task.test_set.load())
        evalset = self.last[1]
        outputs = task.outputs(evalset)
        path = task.score_file(self.out)
        key = digest(plainly.__version__, evalset.fingerprint, len(evalset), outputs)
        scores = {} if self.restart else _load_scores(path, key)
        missing = [spec for spec in self.metrics if spec not in scores]
        if missing:
            scores |= evaluate(evalset, {task.name: outputs}, missing, sampling=None)[task.name]
            if not writes_nothing.get():
                save(str(path), Evaluation(evalset, {task.name: scores}))
                write_whole(path.with_suffix(".json"), json.dumps({"key": key}))
        tell(1)
        return EntryScores(str(path), tuple(missing), {spec: float(scores[spec]) for spec in self.metrics})


def _load_scores(path: Path, key: str) -> dict[str, Scores]:
    """Load the scores of an entry's file, if it was made from the same texts by the same version.

    What a server's scores depend on is not in their spec, so they come from its answers, which have a cache.
    """
    try:
        if json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["key"] != key:
            return {}
        (of_system,) = open_saved(str(path)).values()
    except (OSError, ValueError, KeyError, BadInput):
        return {}
    return {
        spec: scores
        for spec, scores in of_system.items()
        if scores.signature.spec == (metric := registry.metric(spec)).spec(full=True) and not metric.is_remote
    }


def format_mean(values: Sequence[float]) -> str:
    """Return the mean, and over several values its standard deviation: ``43.18 ± 0.42``."""
    mean = number(statistics.fmean(values))
    return mean if len(values) == 1 or mean == "undefined" else f"{mean} ± {number(statistics.stdev(values))}"
