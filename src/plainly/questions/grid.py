"""Systems × test sets × metrics × seeds from one file: what is done is kept, and only what is new is measured.

A cell is what one system (with one seed) wrote for one test set. Its rows are kept in a file of saved scores, and for
each test set all cells together in another, which compare and report read.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import statistics
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plainly
from plainly import protocol, registry
from plainly.engines import Engine, Tell
from plainly.errors import BadInput, UnknownName, did_you_mean
from plainly.evalset import EvalSet
from plainly.files import write_whole
from plainly.result import Table
from plainly.scoring.evaluate import Evaluation, Scores, evaluate
from plainly.scoring.scorefile import open_saved, save

SCHEMA = "plainly.grid/1"
_KEYS = ("out", "metrics", "seeds", "test_sets", "systems")
_SET_KEYS = ("set", "source", "references", "table", "groups", "columns")
_SYSTEM_KEYS = ("outputs", "published", "seeds")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TestSet:
    """A named set, or files: what ``plainly.inputs.read_evalset`` takes."""

    name: str
    set: str | None = None
    files: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> EvalSet:
        if self.set is not None:
            from plainly import data

            return data.load(self.set)
        from plainly.inputs import read_evalset

        return read_evalset(**self.files, name=self.name)


@dataclass(frozen=True)
class Cell:
    """What one system, with one seed or none, wrote for one test set."""

    test_set: TestSet
    system: str
    seed: int | None
    path: str | None  # None: a published output of a named set
    published: str | None = None

    @property
    def name(self) -> str:
        return self.system if self.seed is None else f"{self.system}@{self.seed}"

    def outputs(self, evalset: EvalSet) -> tuple[str, ...]:
        if self.path is None:
            from plainly import data

            return data.outputs(self.test_set.set or "", self.published or self.system)
        from plainly.inputs import read_outputs

        found = read_outputs(
            self.path, n=len(evalset), against=self.test_set.name, sources=evalset.sources, ids=evalset.ids
        )
        if len(found) != 1:
            raise BadInput(f"{self.path} holds the outputs of {len(found)} systems; a cell of a grid is one system.")
        return next(iter(found.values()))


@dataclass(frozen=True)
class Config:
    """A grid as its file describes it."""

    out: Path
    metrics: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def test_sets(self) -> dict[str, TestSet]:
        return {cell.test_set.name: cell.test_set for cell in self.cells}


@dataclass(frozen=True)
class Done:
    """A finished cell: its file, what it was made of, and its headline scores."""

    file: str
    key: str
    measured: tuple[str, ...]  # the metrics that were not there before
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Results:
    """What a grid gave: cells by test set and name, and the file of all systems for each test set."""

    config: Config
    cells: Mapping[tuple[str, str], Done]
    saved: Mapping[str, Path]

    @property
    def measured(self) -> int:
        """How many cells × metrics were measured this time; the others were there."""
        return sum(len(done.measured) for done in self.cells.values())

    def table(self, test_set: str) -> Table:
        """Systems down, metrics across; over several seeds the mean and the standard deviation."""
        systems = dict.fromkeys(cell.system for cell in self.config.cells if cell.test_set.name == test_set)
        rows = [
            (system, *(_mean(self.values(test_set, system, spec)) for spec in self.config.metrics))
            for system in systems
        ]
        return Table(("system", *self.config.metrics), tuple(rows), caption=test_set)

    def values(self, test_set: str, system: str, spec: str) -> list[float]:
        """A system's headline scores, one for each seed."""
        cells = [cell for cell in self.config.cells if cell.test_set.name == test_set and cell.system == system]
        return [self.cells[test_set, cell.name].scores[spec] for cell in cells]

    def payload(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "saved": {name: str(path) for name, path in self.saved.items()},
            "cells": [
                {
                    "test_set": cell.test_set.name,
                    "system": cell.system,
                    "seed": cell.seed,
                    "file": self.cells[cell.test_set.name, cell.name].file,
                    "scores": dict(self.cells[cell.test_set.name, cell.name].scores),
                }
                for cell in self.config.cells
            ],
        }


def read_config(path: str | Path) -> Config:
    """A grid from a TOML file; paths in it are relative to the file."""
    try:
        written = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML: {error}.") from None
    _known(written, _KEYS, str(path))
    base = Path(path).resolve().parent
    metrics = written.get("metrics") or []
    for spec in metrics:
        registry.metric(spec)
    if not metrics or not written.get("test_sets") or not written.get("systems"):
        raise BadInput(f"{path} must name metrics, test_sets and systems. See: plainly grid --help")
    test_sets = [_test_set(name, given, base, str(path)) for name, given in _named(written["test_sets"]).items()]
    cells = [
        cell
        for test_set in test_sets
        for system, given in written["systems"].items()
        for cell in _cells(test_set, system, given, written.get("seeds"), base, str(path))
    ]
    return Config(base / written.get("out", "grid"), tuple(dict.fromkeys(metrics)), tuple(cells))


def run_grid(config: Config, *, engine: Engine, restart: bool = False, progress: Progress | None = None) -> Results:
    """Measure what is not yet there, and put every test set's cells together."""
    for name, test_set in config.test_sets.items():
        (config.out / "cells" / _safe(name)).mkdir(parents=True, exist_ok=True)
        if test_set.set is not None:  # fetched once here, not by every worker at the same time
            test_set.load()
    work = MeasureCell(config.metrics, str(config.out), restart)
    finished: dict[int, Done] = {}
    for number, done in engine.run(work, config.cells):
        finished[number] = done
        if progress is not None:
            progress(len(finished), len(config.cells))
    cells = {(cell.test_set.name, cell.name): finished[number] for number, cell in enumerate(config.cells)}
    results = Results(
        config, cells, {name: _put_together(config, test_set) for name, test_set in config.test_sets.items()}
    )
    write_whole(config.out / "grid.json", json.dumps(_without_nan(results.payload()), ensure_ascii=False, indent=2))
    return results


@dataclass
class MeasureCell:
    """The work: one cell, all metrics that its file does not hold for these very texts."""

    metrics: Sequence[str]
    out: str
    restart: bool

    def __call__(self, task: Cell, tell: Tell) -> Done:
        evalset = self._loaded(task.test_set)
        outputs = task.outputs(evalset)
        path = Path(self.out) / "cells" / _safe(task.test_set.name) / f"{_safe(task.name)}.npz"
        key = _key(evalset, outputs)
        before = {} if self.restart else _kept(path, key)
        missing = [spec for spec in self.metrics if spec not in before]
        if missing:
            new = evaluate(evalset, {task.name: outputs}, missing, sampling=None)[task.name]
            scores = {
                spec: new[spec] if spec in missing else before[spec] for spec in {**before, **dict.fromkeys(missing)}
            }
            save(str(path), Evaluation(evalset, {task.name: scores}))
            write_whole(path.with_suffix(".json"), json.dumps({"key": key}))
        else:
            scores = before
        tell(1)
        return Done(str(path), key, tuple(missing), {spec: float(scores[spec]) for spec in self.metrics})

    def _loaded(self, test_set: TestSet) -> EvalSet:
        held: dict[str, EvalSet] = self.__dict__.setdefault("_evalsets", {})
        if test_set.name not in held:
            held.clear()  # cells come set by set, so the last is enough
            held[test_set.name] = test_set.load()
        return held[test_set.name]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_evalsets"}


def _kept(path: Path, key: str) -> dict[str, Scores]:
    """What a cell's file holds, if it was made from the same texts by the same version."""
    try:
        if json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["key"] != key:
            return {}
        evaluation = open_saved(str(path))
    except (OSError, ValueError, KeyError, BadInput):
        return {}
    found = next(iter(evaluation.values()))
    return {
        spec: scores
        for spec, scores in found.items()
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
    for cell in config.cells:
        if cell.test_set.name == test_set.name:
            path = config.out / "cells" / _safe(test_set.name) / f"{_safe(cell.name)}.npz"
            found = next(iter(open_saved(str(path)).values()))
            systems[cell.name] = {spec: found[spec] for spec in config.metrics}
    target = config.out / f"{_safe(test_set.name)}.npz"
    save(str(target), Evaluation(evalset, systems))
    return target


def _test_set(name: str, given: Mapping[str, Any], base: Path, where: str) -> TestSet:
    _known(given, _SET_KEYS, f"{where}, test set {name}")
    if "set" in given:
        return TestSet(name, set=given["set"])
    files = dict(given)
    for key in ("source", "table", "groups"):
        if key in files:
            files[key] = str(base / files[key])
    if "references" in files:
        listed = [files["references"]] if isinstance(files["references"], str) else files["references"]
        files["references"] = [str(base / each) for each in listed]
    return TestSet(name, files=files)


def _cells(
    test_set: TestSet, system: str, given: Any, seeds: Sequence[int] | None, base: Path, where: str
) -> list[Cell]:
    settings: dict[str, Any] = {"outputs": given} if isinstance(given, str) else dict(given)
    _known(settings, _SYSTEM_KEYS, f"{where}, system {system}")
    if "published" in settings:
        if test_set.set is None:
            raise BadInput(f"{where}: {system} is a published output, and {test_set.name} is no named set.")
        return [Cell(test_set, system, None, None, settings["published"])]
    pattern = settings.get("outputs")
    if not isinstance(pattern, str):
        raise BadInput(f'{where}: system {system} must say where its outputs are: outputs = "runs/{{test_set}}.txt"')
    seeded = "{seed}" in pattern
    chosen: Sequence[int | None] | None = settings.get("seeds", seeds) if seeded else [None]
    if not chosen:
        raise BadInput(f"{where}: the outputs of {system} depend on {{seed}}; say which seeds: seeds = [1, 2, 3]")
    several = len(pattern.split("{test_set}")) > 1
    made = []
    for seed in chosen:
        path = pattern.replace("{seed}", str(seed)).replace("{test_set}", _safe(test_set.name) if several else "")
        made.append(Cell(test_set, system, seed, str(base / path)))
    return made


def _named(given: Any) -> dict[str, Mapping[str, Any]]:
    if isinstance(given, list):
        return {name: {"set": name} for name in given}
    return {name: {"set": each} if isinstance(each, str) else each for name, each in given.items()}


def _known(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise UnknownName("setting", name, known, see=f"plainly grid --help ({where}).{did_you_mean(name, known)}")


def _safe(name: str) -> str:
    return re.sub(r"[^\w.@+-]+", "-", name)


def _mean(values: Sequence[float]) -> str:
    if any(math.isnan(value) for value in values):
        return "undefined"
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f}"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value
