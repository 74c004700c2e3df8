"""Systems × test sets × metrics × seeds from one file: what is done is kept, and only what is new is measured.

An entry is what one system (with one seed) wrote for one test set. Its rows are kept in a file of saved scores, and for
each test set all entries together in another, which compare and report read.
"""

import hashlib
import json
import re
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plainly
from plainly import engines, protocol, registry
from plainly.errors import BadInput, UnknownName
from plainly.evalset import EvalSet
from plainly.files import write_whole
from plainly.progress import Progress, Tell, unseen
from plainly.render.numbers import number
from plainly.render.show import jsonable
from plainly.result import Note, Record, Result, Table
from plainly.scoring.evaluate import Evaluation, Scores, evaluate
from plainly.scoring.scorefile import open_saved, save


@dataclass(frozen=True)
class TestSet:
    """A named set, or files: what ``plainly.inputs.read_evalset`` takes."""

    name: str
    set: str | None = None
    files: Mapping[str, Any] = field(default_factory=dict)

    def load(self, *, progress: Progress = unseen) -> EvalSet:
        if self.set is not None:
            from plainly import data

            return data.load(self.set, progress=progress)
        from plainly.inputs import read_evalset

        return read_evalset(**self.files, name=self.name)


@dataclass(frozen=True)
class Entry:
    """What one system, with one seed or none, wrote for one test set."""

    test_set: TestSet
    system: str
    seed: int | None
    path: str | None  # None: a published output of a named set
    published: str | None = None

    @property
    def name(self) -> str:
        return self.system if self.seed is None else f"{self.system}@{self.seed}"

    @property
    def identity(self) -> Record:
        return {"test_set": self.test_set.name, "system": self.system, "seed": self.seed}

    def kept_in(self, out: Path) -> Path:
        """The file of its scores."""
        return out / "cells" / _safe(self.test_set.name) / f"{_safe(self.name)}.npz"

    def outputs(self, evalset: EvalSet) -> tuple[str, ...]:
        if self.path is None:
            from plainly import data

            return data.outputs(self.test_set.set or "", self.published or self.system)
        from plainly.inputs import read_outputs

        systems = read_outputs(
            self.path, n=len(evalset), against=self.test_set.name, sources=evalset.sources, ids=evalset.ids
        )
        if len(systems) != 1:
            raise BadInput(f"{self.path} holds the outputs of {len(systems)} systems; a cell of a grid is one system.")
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


@dataclass(frozen=True)
class EntryScores:
    """An entry that is done: its file, the metrics that were not there before, and its headline scores."""

    file: str
    measured: tuple[str, ...]
    scores: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class GridResult(Result):
    """The scores of all entries, by test set and name, and the file of all systems for each test set."""

    config: Config
    scores: Mapping[tuple[str, str], EntryScores]
    saved: Mapping[str, Path]

    @property
    def measured(self) -> int:
        """How many entries × metrics were measured this time; the others were there."""
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
        }

    def tables(self) -> list[Table]:
        """For each test set systems down, metrics across; over several seeds the mean and the standard deviation."""
        metrics = self.config.metrics
        tables = []
        for test_set in self.saved:
            systems = dict.fromkeys(entry.system for entry in self.config.entries if entry.test_set.name == test_set)
            rows = [(system, *(_mean(self.values(test_set, system, spec)) for spec in metrics)) for system in systems]
            tables.append(Table(("system", *metrics), tuple(rows), caption=test_set))
        return tables

    def notes(self) -> list[Note]:
        total = len(self.config.entries) * len(self.config.metrics)
        steps = [f"  plainly {command} {path}" for path in self.saved.values() for command in ("compare", "report")]
        message = f"{self.measured} of {total} scores were measured now, the others were there. Go on with:"
        return [Note("\n".join([message, *steps]))]


def grid(
    config: str | Path | Config,
    *,
    engine: str = "local",
    processes: int | None = None,
    address: str | None = None,
    restart: bool = False,
    progress: Progress = unseen,
) -> GridResult:
    """Measure what is not yet there of a grid (a TOML file), and put every test set's systems together.

    ``engine`` is "local" (this machine, as many processes as it has cores or as are named) or "ray" (a cluster, at
    ``address``). ``restart`` measures everything again.
    """
    workers = engines.engine(engine, processes=processes, address=address)
    if not isinstance(config, Config):
        config = read_config(config)
    for test_set in config.test_sets.values():
        (config.out / "cells" / _safe(test_set.name)).mkdir(parents=True, exist_ok=True)
        if test_set.set is not None:  # fetched once here, not by every worker at the same time
            test_set.load(progress=progress)
    with progress("measuring", total=len(config.entries), unit="cells") as tell:
        done = dict(workers.run(MeasureEntry(config.metrics, config.out, restart), config.entries, tell=tell))
    scores = {(entry.test_set.name, entry.name): done[number] for number, entry in enumerate(config.entries)}
    saved = {name: _put_together(config, test_set) for name, test_set in config.test_sets.items()}
    result = GridResult(config, scores, saved)
    write_whole(config.out / "grid.json", json.dumps(jsonable(result.json()), ensure_ascii=False, indent=2))
    return result


def read_config(path: str | Path) -> Config:
    """A grid from a TOML file; paths in it are relative to the file."""
    try:
        written = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML: {error}.") from None
    _check_keys(written, ("out", "metrics", "seeds", "test_sets", "systems"), str(path))
    base = Path(path).resolve().parent
    metrics = written.get("metrics") or []
    for spec in metrics:
        registry.metric(spec)
    if not metrics or not written.get("test_sets") or not written.get("systems"):
        raise BadInput(f"{path} must name metrics, test_sets and systems. See: plainly grid --help")
    named = written["test_sets"]
    if isinstance(named, list):
        named = {name: name for name in named}
    test_sets = [_test_set(name, settings, base, str(path)) for name, settings in named.items()]
    entries = [
        entry
        for test_set in test_sets
        for system, settings in written["systems"].items()
        for entry in _entries(
            test_set,
            system,
            {"seeds": written.get("seeds")} | ({"outputs": settings} if isinstance(settings, str) else settings),
            base,
            str(path),
        )
    ]
    return Config(base / written.get("out", "grid"), tuple(dict.fromkeys(metrics)), tuple(entries))


@dataclass
class MeasureEntry:
    """The work: one entry, all metrics that its file does not hold for these very texts."""

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
        path = task.kept_in(self.out)
        key = _key(evalset, outputs)
        scores = {} if self.restart else _kept(path, key)
        missing = [spec for spec in self.metrics if spec not in scores]
        if missing:
            scores |= evaluate(evalset, {task.name: outputs}, missing, sampling=None)[task.name]
            save(str(path), Evaluation(evalset, {task.name: scores}))
            write_whole(path.with_suffix(".json"), json.dumps({"key": key}))
        tell(1)
        return EntryScores(str(path), tuple(missing), {spec: float(scores[spec]) for spec in self.metrics})


def _kept(path: Path, key: str) -> dict[str, Scores]:
    """What an entry's file holds, if it was made from the same texts by the same version."""
    try:
        if json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["key"] != key:
            return {}
        (of_system,) = open_saved(str(path)).values()
    except (OSError, ValueError, KeyError, BadInput):
        return {}
    return {
        spec: scores
        for spec, scores in of_system.items()
        if scores.signature.spec == protocol.spec(registry.metric(spec), full=True)
    }


def _key(evalset: EvalSet, outputs: Sequence[str]) -> str:
    digest = hashlib.sha256(f"{plainly.__version__} {evalset.fingerprint} {len(evalset)}".encode())
    for text in outputs:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\x1e")
    return digest.hexdigest()[:16]


def _put_together(config: Config, test_set: TestSet) -> Path:
    evalset = test_set.load()
    systems: dict[str, dict[str, Scores]] = {}
    for entry in config.entries:
        if entry.test_set.name == test_set.name:
            (of_system,) = open_saved(str(entry.kept_in(config.out))).values()
            systems[entry.name] = {spec: of_system[spec] for spec in config.metrics}
    target = config.out / f"{_safe(test_set.name)}.npz"
    save(str(target), Evaluation(evalset, systems))
    return target


def _test_set(name: str, settings: str | Mapping[str, Any], base: Path, where: str) -> TestSet:
    if isinstance(settings, str):
        settings = {"set": settings}
    _check_keys(settings, ("set", "source", "references", "table", "groups", "columns"), f"{where}, test set {name}")
    if "set" in settings:
        return TestSet(name, set=settings["set"])
    files = dict(settings)
    for key in {"source", "table", "groups", "references"} & files.keys():
        paths = files[key]
        files[key] = str(base / paths) if isinstance(paths, str) else [str(base / path) for path in paths]
    return TestSet(name, files=files)


def _entries(test_set: TestSet, system: str, settings: Mapping[str, Any], base: Path, where: str) -> list[Entry]:
    _check_keys(settings, ("outputs", "published", "seeds"), f"{where}, system {system}")
    if "published" in settings:
        if test_set.set is None:
            raise BadInput(f"{where}: {system} is a published output, and {test_set.name} is no named set.")
        return [Entry(test_set, system, None, None, settings["published"])]
    pattern = settings.get("outputs")
    if not isinstance(pattern, str):
        raise BadInput(f'{where}: system {system} must say where its outputs are: outputs = "runs/{{test_set}}.txt"')
    seeds = settings["seeds"] if "{seed}" in pattern else [None]
    if not seeds:
        raise BadInput(f"{where}: the outputs of {system} depend on {{seed}}; say which seeds: seeds = [1, 2, 3]")
    path = str(base / pattern.replace("{test_set}", _safe(test_set.name)))
    return [Entry(test_set, system, seed, path.replace("{seed}", str(seed))) for seed in seeds]


def _check_keys(settings: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in settings:
        if name not in known:
            raise UnknownName("setting", name, known, see=f"plainly grid --help ({where})")


def _safe(name: str) -> str:
    return re.sub(r"[^\w.@+-]+", "-", name)


def _mean(values: Sequence[float]) -> str:
    mean = number(statistics.fmean(values))
    return mean if len(values) == 1 or mean == "undefined" else f"{mean} ± {number(statistics.stdev(values))}"
