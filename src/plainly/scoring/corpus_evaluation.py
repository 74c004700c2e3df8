"""Evaluate a corpus in files: engines measure its parts and return rows or sums.

A corpus that can be held gives rows by item, and its evaluation is the one that the same texts give in memory. Of a
larger one only sums by bin are kept: memory does not grow with it, and no score depends on how it is divided.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

import plainly
from plainly.core import registry
from plainly.core.errors import BadInput, check_choice
from plainly.core.evalset import EvalSet, format_fingerprint
from plainly.core.files import record_written
from plainly.core.metric import Floats, Metric, Needs
from plainly.core.progress import Progress, Tell, no_progress
from plainly.core.sampling import Sampling
from plainly.io.tables import import_pyarrow
from plainly.scoring.evaluate import Metrics, add_intervals, check_metrics, from_rows, measure
from plainly.scoring.scores import BinnedEvaluation, BinnedScores, Evaluation, Scores, ScoreTable, Signature
from plainly.stats.exact_sum import BinOrder
from plainly.streaming.batches import Batch, Part, Reading
from plainly.streaming.corpus import Corpus
from plainly.streaming.engines import Engine, engine
from plainly.streaming.resume import Run, Totals

OnError = Literal["stop", "set-aside"]
# A corpus with at most this many scores (items × systems × metrics) is held, so that every analysis is possible.
HELD = 1_000_000


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus in files is measured; texts in memory are measured in this process.

    ``segments`` is a folder for every item's scores as Parquet, ``set_aside`` a JSONL file for rows that cannot be
    measured, ``state`` a file with what is needed to resume. ``count_wins`` also counts on how many items each system
    beats each other one. ``hold`` says whether rows are kept by item (None: if there are not too many).
    """

    engine: Engine | str = "local"
    processes: int | None = None
    address: str | None = None
    on_error: OnError = "stop"
    segments: str | Path | None = None
    set_aside: str | Path | None = None
    state: str | Path | None = None
    count_wins: bool = False
    hold: bool | None = None

    def find_engine(self) -> Engine:
        """Return the engine, which may be given by its name."""
        if not isinstance(self.engine, str):
            return self.engine
        return engine(self.engine, processes=self.processes, address=self.address)


@dataclass
class Measure:
    """The work: read a part, measure its batches with every metric, return rows (held) or sums."""

    metrics: Mapping[str, Metric]
    held: bool
    binned: bool
    on_error: OnError
    segments: Path | None
    count_wins: bool

    @property
    def needs(self) -> Needs:
        needs: Needs = frozenset().union(*(metric.needs for metric in self.metrics.values()))
        return needs

    def __call__(self, task: tuple[int, Part], tell: Tell) -> Totals:
        number, part = task
        totals = Totals()
        writer = SegmentWriter(self.segments / f"part-{number:06d}.parquet") if self.segments else None
        aims = any(metric.reads_columns for metric in self.metrics.values())
        for batch in part.read(self.needs, rest=self.held or aims):
            if batch.bad and self.on_error == "stop":
                raise batch.bad[0].error()
            if self.held:
                bare = dataclasses.replace(batch.evalset)  # without what metrics prepare, which takes much more memory
                totals.texts.setdefault(number, []).append((bare, batch.outputs))
            totals.bad += batch.bad
            totals.set_aside += sum(map(len, batch.bad))
            totals.count(batch.evalset)
            order = BinOrder.of(batch.keys) if self.binned and not self.held else None
            headlines: dict[str, dict[str, Floats]] = {spec: {} for spec in self.metrics}
            for system, rows in measure(batch.evalset, batch.outputs, self.metrics):
                for spec, of_metric in rows.items():
                    totals.add(system, spec, of_metric, order, part=number if self.held else None)
                    if self.count_wins and not self.held:
                        headlines[spec][system] = self.metrics[spec].score(of_metric)[:, 0]
                if writer is not None:
                    writer.add(part.file, batch, system, self.metrics, rows)
            for spec, of_systems in headlines.items():
                totals.count_wins(spec, of_systems)
            totals.read += batch.read
            tell(batch.read)
        if writer is not None:
            writer.close()
        return totals


class SegmentWriter:
    """Every item's scores as Parquet, a file for each part; under its own name only when it is complete."""

    def __init__(self, path: Path) -> None:
        self._path, self._unfinished = path, path.with_name(f".{path.name}.{os.getpid()}")
        self._writer: Any = None
        self._arrow = import_pyarrow()

    def add(
        self, file: str, batch: Batch, system: str, metrics: Mapping[str, Metric], rows: Mapping[str, Floats]
    ) -> None:
        """Write a batch of one system: file, row, system, id, then every output as ``metric`` or ``metric.output``."""
        pyarrow, n = self._arrow, len(batch.evalset)
        columns: dict[str, Any] = {
            "file": [file] * n,
            "row": batch.rows,
            "system": [system] * n,
            "id": batch.evalset.ids,
        }
        for spec, metric in metrics.items():
            scores = metric.score(rows[spec])
            for position, name in enumerate(metric.outputs):
                columns[spec if position == 0 else f"{spec}.{name}"] = scores[:, position]
        types = {"file": pyarrow.string(), "row": pyarrow.int64(), "system": pyarrow.string(), "id": pyarrow.string()}
        table = pyarrow.table(
            {name: pyarrow.array(values, type=types.get(name, pyarrow.float64()), from_pandas=name not in types)
             for name, values in columns.items()}
        )  # fmt: skip
        with self._refusal():
            if self._writer is None:
                self._writer = pyarrow.parquet.ParquetWriter(self._unfinished, table.schema)
            self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            with self._refusal():
                self._writer.close()
                os.replace(self._unfinished, self._path)
                record_written(self._path)

    @contextlib.contextmanager
    def _refusal(self) -> Iterator[None]:
        """Report what keeps the file from being written, such as a full disk, and remove what was written."""
        try:
            yield
        except OSError as error:
            with contextlib.suppress(OSError):
                self._unfinished.unlink()
            reason = os.strerror(error.errno) if error.errno else error
            raise BadInput(f"Cannot write {self._path}: {reason}.") from None


def evaluate_corpus(
    corpus: Corpus,
    metrics: Metrics,
    options: CorpusOptions,
    *,
    sampling: Sampling | None = Sampling(),
    progress: Progress = no_progress,
) -> ScoreTable:
    """Evaluate a corpus of any size.

    An interrupt (Ctrl-C) ends the measuring, and what was measured is returned: see ``ScoreTable.complete``. With a
    ``state``, a later call with the same corpus and metrics resumes from there.
    """
    check_choice("on_error", options.on_error, get_args(OnError))
    resolved, workers = check_metrics(metrics, corpus), options.find_engine()
    if remote := [spec for spec, metric in resolved.items() if metric.is_remote]:
        raise BadInput(f"{remote[0]} calls a server from one process, so its texts are read whole: engine='memory'.")
    hold = options.hold
    if hold is None:
        hold = options.engine == "memory" or corpus.rows * len(corpus.systems) * len(resolved) <= HELD
    folder = None if options.segments is None else Path(options.segments).resolve()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    work = Measure(resolved, hold, sampling is not None, options.on_error, folder, options.count_wins)
    run = Run(_key(corpus, work), options.state, options.set_aside)
    resumed = len(run.done)
    with progress("measuring", total=corpus.rows, unit="rows") as tell:
        tell(run.totals.read)
        gpus = 1.0 if any(metric.gpu for metric in resolved.values()) else 0.0
        run.measure(corpus.parts, work, workers, gpus=gpus, tell=tell)
    totals, parts = run.totals, len(corpus.parts)
    bad = tuple(totals.bad)
    reading = Reading(corpus.rows, totals.read, totals.set_aside, bad, resumed, parts, run.save_error)
    make = _of_items if hold else _of_bins
    evaluation = dataclasses.replace(make(corpus, work, run, sampling), reading=reading)
    if reading.complete:
        run.forget()
    return evaluation


def _of_items(corpus: Corpus, work: Measure, run: Run, sampling: Sampling | None) -> ScoreTable:
    """Return the evaluation of a corpus that is held; texts that an earlier run read are read again."""
    evalset, outputs = corpus.gather(sorted(run.done), work.needs, run.totals.texts)
    rows: dict[str, dict[str, Floats]] = {system: {} for system in corpus.systems}
    for (system, spec), sums in run.totals.sums.items():
        rows[system][spec] = np.concatenate([table for _, table in sorted(sums.item_rows.items())])
    if not len(evalset):
        return Evaluation(evalset, {}, sampling)
    return from_rows(evalset, outputs, work.metrics, rows, sampling)


def _of_bins(corpus: Corpus, work: Measure, run: Run, sampling: Sampling | None) -> ScoreTable:
    """Return the evaluation of a corpus of which only sums were kept."""
    totals = run.totals
    data = format_fingerprint(totals.fingerprint)
    systems: dict[str, dict[str, Scores]] = {system: {} for system in corpus.systems}
    for (system, spec), sums in totals.sums.items():
        metric = work.metrics[spec]
        rows = sums.binned.rows if sums.binned is not None else np.empty((0, len(sums.exact.units)))
        signature = Signature.of(metric, data=data, references=totals.references or (0, 0))
        systems[system][spec] = BinnedScores(metric, system, rows, sums.exact.to_floats(), totals.items, signature)
    evaluation = BinnedEvaluation(
        EvalSet.of(items=0, name=corpus.name, columns=dict.fromkeys(corpus.columns, ())),
        {system: scores for system, scores in systems.items() if scores},
        sampling,
        outcomes=totals.outcomes,
        bin_content={"group": "groups", "source": "sources", "output": "outputs"}.get(corpus.keyed_by, "items"),
    )
    return add_intervals(evaluation)


def run_key(corpus: Corpus, metrics: Metrics) -> str:
    """Return a key of the files, the metrics and the version, which names the state of a run."""
    specs = [metric.spec(full=True) for metric in registry.metrics(metrics).values()]
    return hashlib.sha256(json.dumps([corpus.identity, specs, plainly.__version__]).encode()).hexdigest()[:16]


def _key(corpus: Corpus, work: Measure) -> str:
    mode = f"{work.held}-{work.binned}-{work.on_error}-{work.segments}-{work.count_wins}"
    return f"{run_key(corpus, work.metrics)}-{mode}"
