"""Systems × test sets × metrics × seeds from one file: what is done is kept, and only what is new is measured.

An entry is what one system (with one seed) wrote for one test set. Its rows are kept in a file of saved scores, and for
each test set all entries together in another, which compare and report read.
"""

import hashlib
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import plainly
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.formatting import number
from plainly.core.progress import Progress, Tell, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.tables import jsonable
from plainly.data import diagnose
from plainly.scoring.evaluate import Evaluation, Scores, evaluate
from plainly.scoring.score_file import open_saved, save
from plainly.streaming import engines
from plainly_lab.grids.grid_file import Config, Entry, TestSet, read_config, safe


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
    remarks: tuple[Note, ...] = ()

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
            "warnings": warnings(self),
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
    """Measure what is not yet there of a grid (a TOML file), and put every test set's systems together.

    ``engine`` is "local" (this machine, as many processes as it has cores or as are named) or "ray" (a cluster, at
    ``address``). ``restart`` measures everything again.
    """
    workers = engines.engine(engine, processes=processes, address=address)
    if not isinstance(config, Config):
        config = read_config(config)
    for test_set in config.test_sets.values():
        folder = config.out / "cells" / safe(test_set.name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"Cannot make the directory {folder} for a grid's scores: {error.strerror}.") from None
        if test_set.set is not None:  # fetched once here, not by every worker at the same time
            test_set.load(progress=progress)
    with progress("measuring", total=len(config.entries), unit="cells") as tell:
        done = dict(workers.run(MeasureEntry(config.metrics, config.out, restart), config.entries, tell=tell))
    scores = {(entry.test_set.name, entry.name): done[number] for number, entry in enumerate(config.entries)}
    saved = {name: _put_together(config, test_set) for name, test_set in config.test_sets.items()}
    sets = [test_set.load(progress=progress) for test_set in config.test_sets.values()]
    remarks = [diagnose(evalset, {}, config.metrics, quick=True, only=("metric-language",)) for evalset in sets]
    result = GridResult(config, scores, saved, tuple(note for notes in remarks for note in notes))
    write_whole(config.out / "grid.json", json.dumps(jsonable(result.json()), ensure_ascii=False, indent=2))
    return result


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
        if scores.signature.spec == registry.metric(spec).spec(full=True)
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
    target = config.out / f"{safe(test_set.name)}.npz"
    save(str(target), Evaluation(evalset, systems))
    return target


def _mean(values: Sequence[float]) -> str:
    mean = number(statistics.fmean(values))
    return mean if len(values) == 1 or mean == "undefined" else f"{mean} ± {number(statistics.stdev(values))}"
