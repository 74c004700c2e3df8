"""A corpus in files as a source of rows: every part is measured somewhere, and what comes back are rows or sums.

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
from typing import Any, Literal

import numpy as np

import plainly
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet, format_fingerprint
from plainly.core.files import record_written
from plainly.core.metric import Floats, Metric, Needs
from plainly.core.progress import Progress, Tell, no_progress
from plainly.core.sampling import Sampling
from plainly.io.tables import import_pyarrow
from plainly.scoring.evaluate import DEFAULT, Metrics, add_intervals, check_metrics, from_rows, measure
from plainly.scoring.scores import BinnedEvaluation, BinnedScores, Evaluation, Scores, Signature
from plainly.stats.exact_sum import BinOrder
from plainly.streaming.batches import Batch, Part, Reading
from plainly.streaming.corpus import Corpus
from plainly.streaming.engines import Engine, needs_gpu
from plainly.streaming.resume import Run, Totals

OnError = Literal["stop", "set-aside"]
# A corpus with at most this many scores (items × systems × metrics) is held, so that every analysis is possible.
HELD = 1_000_000


@dataclass
class Measure:
    """The work: read a part, measure its batches with every metric, give back rows (held) or sums."""

    metrics: Mapping[str, Metric]
    held: bool
    binned: bool
    on_error: OnError
    segments: str | None = None
    paired: bool = False

    @property
    def needs(self) -> Needs:
        needs: Needs = frozenset().union(*(metric.needs for metric in self.metrics.values()))
        return needs

    def __call__(self, task: tuple[int, Part], tell: Tell) -> Totals:
        number, part = task
        totals = Totals()
        writer = SegmentWriter(Path(self.segments) / f"part-{number:06d}.parquet") if self.segments else None
        aims = any(metric.reads_columns for metric in self.metrics.values())
        for batch in part.read(self.needs, rest=self.held or aims):
            if batch.bad and self.on_error == "stop":
                raise batch.bad[0].error()
            if self.held:
                bare = dataclasses.replace(batch.evalset)  # without what metrics prepare, which takes much more memory
                totals.texts.setdefault(number, []).append((bare, batch.outputs))
            totals.put_aside(batch.bad)
            totals.count(batch.evalset)
            order = BinOrder.of(batch.keys) if self.binned and not self.held else None
            headlines: dict[str, dict[str, Floats]] = {spec: {} for spec in self.metrics}
            for system, rows in measure(batch.evalset, batch.outputs, self.metrics):
                for spec, of_metric in rows.items():
                    totals.add(system, spec, of_metric, order, part=number if self.held else None)
                    if self.paired and not self.held:
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
        pyarrow = self._arrow
        n = len(batch.evalset)
        columns: dict[str, Any] = {
            "file": [file] * n,
            "row": list(batch.rows),
            "system": [system] * n,
            "id": list(batch.evalset.ids),
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
    *,
    engine: Engine,
    sampling: Sampling | None = DEFAULT,
    on_error: OnError = "stop",
    segments: str | Path | None = None,
    set_aside: str | Path | None = None,
    paired: bool = False,
    state: Path | None = None,
    hold: bool | None = None,
    progress: Progress = no_progress,
) -> Evaluation:
    """Evaluate a corpus of any size.

    With ``state``, what was measured is kept in that file as it comes, and a later call with the same corpus and
    metrics goes on from there. An interrupt (Ctrl-C) ends the measuring, and what was measured is returned: see
    ``Evaluation.complete``. ``segments`` is a folder for every item's scores as Parquet; ``set_aside`` a JSONL file for
    rows that are set aside. ``paired`` also counts on how many items each system beats each other one. ``hold`` says
    whether rows are kept by item (None: where there are not too many).
    """
    resolved = check_metrics(metrics, corpus)
    if hold is None:
        hold = corpus.rows * len(corpus.systems) * len(resolved) <= HELD
    if segments is not None:
        Path(segments).mkdir(parents=True, exist_ok=True)
    folder = None if segments is None else str(Path(segments).resolve())
    work = Measure(resolved, hold, sampling is not None, on_error, folder, paired)
    run = Run(_key(corpus, work), state, Path(set_aside) if set_aside else None)
    resumed = len(run.done)
    with progress("measuring", total=corpus.rows, unit="rows") as tell:
        tell(run.totals.read)
        gpus = 1.0 if needs_gpu(list(resolved.values())) else 0.0
        run.measure(corpus.parts, work, engine, gpus=gpus, tell=tell)
    totals = run.totals
    bad = tuple(totals.bad)
    reading = Reading(corpus.rows, totals.read, totals.set_aside, bad, resumed, len(corpus.parts), run.unkept)
    if hold:
        evaluation = _of_items(corpus, work, run, sampling)
    else:
        evaluation = _of_bins(corpus, resolved, totals, sampling)
    if reading.complete:
        run.forget()
    return dataclasses.replace(evaluation, reading=reading)


def _of_items(corpus: Corpus, work: Measure, run: Run, sampling: Sampling | None) -> Evaluation:
    """Return the evaluation of a corpus that is held; texts that an earlier run read are read again."""
    evalset, outputs = corpus.gather(sorted(run.done), work.needs, run.totals.texts)
    rows: dict[str, dict[str, Floats]] = {system: {} for system in corpus.systems}
    for (system, spec), sums in run.totals.sums.items():
        rows[system][spec] = np.concatenate([table for _, table in sorted(sums.item_rows.items())])
    if not len(evalset):
        return Evaluation(evalset, {}, sampling)
    return from_rows(evalset, outputs, work.metrics, rows, sampling)


def _of_bins(corpus: Corpus, metrics: Mapping[str, Metric], totals: Totals, sampling: Sampling | None) -> Evaluation:
    """Return the evaluation of a corpus of which only sums were kept."""
    data = format_fingerprint(totals.fingerprint)
    signatures = {
        spec: Signature.of(metric, data=data, references=totals.references or (0, 0))
        for spec, metric in metrics.items()
    }
    systems: dict[str, dict[str, Scores]] = {system: {} for system in corpus.systems}
    for (system, spec), sums in totals.sums.items():
        rows = sums.binned.rows if sums.binned is not None else np.empty((0, len(sums.exact.units)))
        systems[system][spec] = BinnedScores(
            metrics[spec], system, rows, sums.exact.to_floats(), totals.items, signatures[spec]
        )
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
    mode = f"{work.held}-{work.binned}-{work.on_error}-{work.segments}-{work.paired}"
    return f"{run_key(corpus, work.metrics)}-{mode}"
