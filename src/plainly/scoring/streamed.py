"""A corpus in files as a source of rows: every part is measured somewhere, and what comes back are rows or sums.

A corpus that can be held gives rows by item, and its evaluation is the one that the same texts give in memory. Of a
larger one only sums by bin are kept: memory does not grow with it, and no score depends on how it is divided.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

import plainly
from plainly.core import metric as protocol
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet, shown_fingerprint
from plainly.core.machine import handling
from plainly.core.metric import Floats, Metric, Needs
from plainly.core.progress import Progress, Tell, unseen
from plainly.core.sampling import Sampling
from plainly.scoring.evaluate import DEFAULT, Metrics, checked_metrics, estimated, from_rows, measure
from plainly.scoring.scores import BinnedEvaluation, BinnedScores, Evaluation, Scores
from plainly.scoring.signature import Signature
from plainly.stats.exact_sum import BinOrder
from plainly.streaming.batches import Reading
from plainly.streaming.binned_sums import State, Totals
from plainly.streaming.corpus import Corpus
from plainly.streaming.engines import Engine, needs_gpu
from plainly.streaming.parts import Part
from plainly.streaming.segments import SegmentWriter

OnError = Literal["stop", "set-aside"]
# A corpus with at most this many scores (items × systems × metrics) is held, and everything can be asked of it.
HELD = 1_000_000
# The state is written this many seconds after it was last, or when writing would take a twentieth of the time.
_SAVE_SECONDS = 1.0
_SAVE_SHARE = 20


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
        aims = any(hasattr(metric, "for_set") for metric in self.metrics.values())  # which a column may say
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
                totals.face(spec, of_systems)
            totals.read += batch.read
            tell(batch.read)
        if writer is not None:
            writer.close()
        return totals


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
    progress: Progress = unseen,
) -> Evaluation:
    """``evaluate`` for a corpus of any size.

    With ``state``, what was measured is kept in that file as it comes, and a later call with the same corpus and
    metrics goes on from there. An interrupt (Ctrl-C) ends the measuring, and what was measured is returned: see
    ``Evaluation.complete``. ``segments`` is a folder for every item's scores as Parquet; ``set_aside`` a JSONL file for
    rows that are set aside. ``paired`` also counts on how many items each system beats each other one. ``hold`` says
    whether rows are kept by item (None: where there are not too many).
    """
    chosen = checked_metrics(metrics, corpus)
    if hold is None:
        hold = corpus.rows * len(corpus.systems) * len(chosen) <= HELD
    if segments is not None:
        Path(segments).mkdir(parents=True, exist_ok=True)
    folder = None if segments is None else str(Path(segments).resolve())
    work = Measure(chosen, hold, sampling is not None, on_error, folder, paired)
    run = _Run(_key(corpus, work), state, Path(set_aside) if set_aside else None)
    resumed = len(run.done)
    with progress("measuring", total=corpus.rows, unit="rows") as tell:
        tell(run.totals.read)
        run.measure(corpus, work, engine, tell)
    totals = run.totals
    bad = tuple(totals.bad)
    reading = Reading(corpus.rows, totals.read, totals.set_aside, bad, resumed, len(corpus.parts), run.unkept)
    if hold:
        evaluation = _of_items(corpus, work, run, sampling)
    else:
        evaluation = _of_bins(corpus, chosen, totals, sampling)
    if reading.complete:
        run.forget()
    return dataclasses.replace(evaluation, reading=reading)


def _of_items(corpus: Corpus, work: Measure, run: _Run, sampling: Sampling | None) -> Evaluation:
    """The evaluation of a corpus that is held: its rows and texts are there, but for texts that an earlier run read."""
    evalset, outputs = corpus.gather(sorted(run.done), work.needs, run.totals.texts)
    rows: dict[str, dict[str, Floats]] = {system: {} for system in corpus.systems}
    for (system, spec), sums in run.totals.sums.items():
        rows[system][spec] = np.concatenate([table for _, table in sorted(sums.kept.items())])
    if not len(evalset):
        return Evaluation(evalset, {}, sampling)
    return from_rows(evalset, outputs, work.metrics, rows, sampling)


def _of_bins(corpus: Corpus, metrics: Mapping[str, Metric], totals: Totals, sampling: Sampling | None) -> Evaluation:
    """The evaluation of a corpus of which only sums were kept."""
    data = shown_fingerprint(totals.fingerprint)
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
        drawn={"group": "groups", "source": "sources", "output": "outputs"}.get(corpus.keyed_by, "items"),
    )
    return estimated(evaluation)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and a request to end wait: sums that were half added would be no sums."""
    caught: list[int] = []
    with handling(lambda number, _: caught.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if caught:
        signal.raise_signal(caught[0])


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror or error}.") from error


class _Run:
    """A run in progress: what is done, the sums so far, and the files that keep both."""

    def __init__(self, key: str, state: Path | None, aside: Path | None) -> None:
        self._key, self._path, self._aside = key, state, aside
        saved = State.load(state, key) if state is not None else None
        self.done = set(saved.done) if saved else set()
        self.totals = saved.totals if saved else Totals()
        self._saved, self._took, self._unsaved = time.monotonic(), 0.0, False
        self.unkept = ""  # why the state could not be kept
        if aside is not None:
            with _writing(aside):
                aside.touch()
                with open(aside, "r+b") as file:  # what was written after the state was last saved will come again
                    file.truncate(saved.aside_bytes if saved else 0)

    def measure(self, corpus: Corpus, work: Measure, engine: Engine, tell: Tell) -> None:
        """Measure the parts that are not done; an interrupt keeps those that are."""
        waiting = [(number, part) for number, part in enumerate(corpus.parts) if number not in self.done]
        gpus = 1.0 if needs_gpu(list(work.metrics.values())) else 0.0
        results = engine.run(work, waiting, tell=tell, gpus=gpus)
        try:
            for place, totals in results:
                with _uninterrupted():
                    self._finish(waiting[place][0], totals)
        except KeyboardInterrupt:
            pass
        finally:
            results.close()  # type: ignore[attr-defined]
            self._save()

    def _finish(self, number: int, totals: Totals) -> None:
        if self._aside is not None and totals.bad:
            with _writing(self._aside), open(self._aside, "a", encoding="utf-8") as file:
                for bad in totals.bad:
                    file.write(json.dumps(dataclasses.asdict(bad), ensure_ascii=False) + "\n")
        self.totals.merge(totals)
        self.done.add(number)
        self._unsaved = True
        if time.monotonic() - self._saved > max(_SAVE_SECONDS, _SAVE_SHARE * self._took):
            self._save()

    def _save(self) -> None:
        if self._path is None or not self._unsaved:
            return
        start = time.monotonic()
        written = self._aside.stat().st_size if self._aside is not None else 0
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            State(self._key, frozenset(self.done), self.totals, written).save(self._path)
        except (OSError, BadInput) as error:  # only going on after an accident needs it
            self.unkept, self._path = str(error), None
            return
        self._saved, self._unsaved = time.monotonic(), False
        self._took = self._saved - start

    def forget(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def run_key(corpus: Corpus, specs: Iterable[str | Metric]) -> str:
    """What tells a run from others: the files, the metrics and the version; the name of its state."""
    chosen = [protocol.spec(registry.metric(spec), full=True) for spec in specs]
    return hashlib.sha256(json.dumps([corpus.identity, chosen, plainly.__version__]).encode()).hexdigest()[:16]


def _key(corpus: Corpus, work: Measure) -> str:
    chosen = f"{work.held}-{work.binned}-{work.on_error}-{work.segments}-{work.paired}"
    return f"{run_key(corpus, work.metrics)}-{chosen}"
