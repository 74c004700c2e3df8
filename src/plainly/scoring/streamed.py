"""Scores of a corpus that is never held: every part is measured somewhere, and what comes back are sums."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import plainly
from plainly import protocol, registry
from plainly.engines import Engine, Tell, needs_gpu, silent
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.inputs.batch import Bad
from plainly.inputs.corpus import Corpus
from plainly.inputs.parts import Part
from plainly.protocol import Floats, Metric, Needs
from plainly.scoring.evaluate import Evaluation, Scores, SystemScores, measure
from plainly.scoring.evaluate import signature as signature_of
from plainly.scoring.segments import SegmentWriter
from plainly.scoring.sums import BINS, BinOrder, poisson_totals
from plainly.scoring.totals import State, Totals
from plainly.stats.estimate import Estimate
from plainly.stats.resample import Method, interval

OnError = Literal["stop", "set-aside"]
# The state is written this many seconds after it was last, or when writing would take a twentieth of the time.
_SAVE_SECONDS = 1.0
_SAVE_SHARE = 20


@dataclass(frozen=True)
class Tally:
    """One metric on one system, from sums alone: as ``evaluate.Scores``, without rows, ids and segments."""

    metric: Metric
    system: str
    n: int
    totals: Floats = field(repr=False)
    signature: str
    intervals: Mapping[str, Estimate] = field(default_factory=dict, repr=False)
    bins: Floats | None = field(default=None, repr=False)

    @cached_property
    def corpus(self) -> dict[str, float]:
        """Every output by name, at corpus level; undefined is NaN."""
        return dict(zip(self.metric.outputs, map(float, self.metric.score(self.totals)), strict=True))

    @property
    def value(self) -> float | Estimate:
        """The headline: a number, or an Estimate where intervals were asked for."""
        headline = self.metric.outputs[0]
        return self.intervals.get(headline, self.corpus[headline])

    @property
    def parts(self) -> dict[str, float]:
        """The outputs beside the headline."""
        return {name: value for name, value in self.corpus.items() if name != self.metric.outputs[0]}

    @property
    def ids(self) -> range:
        """Numbers in place of ids, which are not kept."""
        return range(self.n)

    def __float__(self) -> float:
        return self.corpus[self.metric.outputs[0]]


@dataclass(frozen=True)
class StreamEvaluation:
    """All metrics on all systems of a corpus, how much of it was measured, and which rows were not.

    ``outcomes`` says on how many items one system scores higher, lower and the same as another, by metric and pair.
    """

    name: str
    systems: Mapping[str, Mapping[str, Tally]]
    items: int
    rows: int  # rows of the corpus
    read: int  # rows looked at; fewer than ``rows`` when the run was interrupted
    set_aside: int
    bad: tuple[Bad, ...]
    references: tuple[int, int] | None
    seed: int | None
    keyed_by: str
    outcomes: Mapping[tuple[str, str, str], tuple[int, int, int]] = field(default_factory=dict, repr=False)
    resumed: int = 0  # parts whose sums were found in the state of an earlier run

    def __getitem__(self, system: str) -> Mapping[str, Tally]:
        return self.systems[system]

    @property
    def complete(self) -> bool:
        return self.read == self.rows

    def evaluation(self) -> Evaluation:
        """For tables and records, which need no more than corpus scores and intervals."""
        systems = {
            system: SystemScores(system, cast("dict[str, Scores]", dict(found)))
            for system, found in self.systems.items()
        }
        return Evaluation(self.name, systems, seed=self.seed)

    def binned(self) -> tuple[Evaluation, EvalSet]:
        """The sums by bin as if each bin were an item, for everything that resamples: compare reads this."""
        evalset = EvalSet.of(items=BINS, ids=[f"bin {number}" for number in range(BINS)], name=self.name)
        systems = {}
        for system, found in self.systems.items():
            scores = {}
            for spec, tally in found.items():
                if tally.bins is None:
                    raise BadInput("This run kept no sums by bin; leave --no-intervals out.")
                scores[spec] = Scores(tally.metric, system, evalset.ids, tally.bins, tally.signature, tally.intervals)
            systems[system] = SystemScores(system, scores)
        return Evaluation(self.name, systems, seed=self.seed), evalset


@dataclass
class Measure:
    """The work: read a part, measure its batches with every metric, give back sums."""

    metrics: Mapping[str, Metric]
    binned: bool
    on_error: OnError
    segments: str | None = None
    paired: bool = False

    @property
    def needs(self) -> Needs:
        found: Needs = frozenset().union(*(metric.needs for metric in self.metrics.values()))
        return found

    def __call__(self, task: tuple[int, Part], tell: Tell) -> Totals:
        number, part = task
        totals = Totals()
        writer = SegmentWriter(Path(self.segments) / f"part-{number:06d}.parquet") if self.segments else None
        for batch in part.read(self.needs):
            if batch.bad and self.on_error == "stop":
                first = batch.bad[0]
                raise BadInput(f"{first.where}: {first.reason} To set such rows aside: --on-error set-aside")
            totals.put_aside(batch.bad)
            totals.count(batch.evalset)
            order = BinOrder.of(batch.keys) if self.binned else None
            headlines: dict[str, dict[str, Floats]] = {spec: {} for spec in self.metrics}
            for system, rows in measure(batch.evalset, batch.outputs, self.metrics):
                for spec, found in rows.items():
                    totals.add(system, spec, found, order)
                    if self.paired:
                        headlines[spec][system] = self.metrics[spec].score(found)[:, 0]
                if writer is not None:
                    writer.add(part.file, batch, system, self.metrics, rows)
            for spec, of_systems in headlines.items():
                totals.face(spec, of_systems)
            totals.read += batch.read
            tell(batch.read)
        if writer is not None:
            writer.close()
        return totals


def score_stream(
    corpus: Corpus,
    metrics: Sequence[str | Metric],
    *,
    engine: Engine,
    intervals: bool = True,
    level: float = 0.95,
    resamples: int = 1000,
    method: Method = "percentile",
    seed: int = 12345,
    on_error: OnError = "stop",
    segments: str | Path | None = None,
    set_aside: str | Path | None = None,
    paired: bool = False,
    state: Path | None = None,
    tell: Tell = silent,
) -> StreamEvaluation:
    """Measure a corpus of any size. Memory does not grow with it, and no score depends on how it is divided.

    With ``state``, sums are kept in that file as they come, and a later call with the same corpus and metrics goes on
    from there. An interrupt (Ctrl-C) ends the measuring, and what was measured is returned: see ``complete``.
    ``segments`` is a folder for every item's scores as Parquet; ``set_aside`` a JSONL file for rows that are set aside.
    ``paired`` also counts on how many items each system beats each other one.
    """
    if not 0 < level < 1:
        raise BadInput(f"The confidence level is between 0 and 1, for example 0.95; not {level}.")
    chosen = _checked(metrics, corpus)
    if segments is not None:
        Path(segments).mkdir(parents=True, exist_ok=True)
    work = Measure(chosen, intervals, on_error, None if segments is None else str(Path(segments).resolve()), paired)
    run = _Run(_key(corpus, work), state, Path(set_aside) if set_aside else None)
    resumed = len(run.done)
    tell(run.totals.read)
    waiting = [(number, part) for number, part in enumerate(corpus.parts) if number not in run.done]
    results = engine.run(work, waiting, tell=tell, gpus=1.0 if needs_gpu(list(chosen.values())) else 0.0)
    try:
        for place, totals in results:
            with _uninterrupted():
                run.finish(waiting[place][0], totals)
    except KeyboardInterrupt:
        pass
    finally:
        results.close()  # type: ignore[attr-defined]
        run.save()
    found = _evaluation(
        corpus, chosen, run.totals, intervals=intervals, level=level, resamples=resamples, method=method, seed=seed
    )
    if found.complete:
        run.forget()
    return dataclasses.replace(found, resumed=resumed)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait: sums that were half added would be no sums."""
    caught: list[int] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    except ValueError:  # not in the main thread, where interrupts do not come
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        raise KeyboardInterrupt


class _Run:
    """A run in progress: what is done, the sums so far, and the files that keep both."""

    def __init__(self, key: str, state: Path | None, aside: Path | None) -> None:
        self._key, self._path, self._aside = key, state, aside
        found = State.load(state, key) if state is not None else None
        self.done = set(found.done) if found else set()
        self.totals = found.totals if found else Totals()
        self._saved, self._took, self._unsaved = time.monotonic(), 0.0, False
        if aside is not None:
            aside.touch()
            with open(aside, "r+b") as file:  # what was written after the state was last saved will come again
                file.truncate(found.aside_bytes if found else 0)

    def finish(self, number: int, totals: Totals) -> None:
        if self._aside is not None and totals.bad:
            with open(self._aside, "a", encoding="utf-8") as file:
                for bad in totals.bad:
                    file.write(json.dumps(dataclasses.asdict(bad), ensure_ascii=False) + "\n")
        self.totals.merge(totals)
        self.done.add(number)
        self._unsaved = True
        if time.monotonic() - self._saved > max(_SAVE_SECONDS, _SAVE_SHARE * self._took):
            self.save()

    def save(self) -> None:
        if self._path is None or not self._unsaved:
            return
        start = time.monotonic()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._aside.stat().st_size if self._aside is not None else 0
        State(self._key, frozenset(self.done), self.totals, written).save(self._path)
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
    return f"{run_key(corpus, work.metrics)}-{work.binned}-{work.on_error}-{work.segments}-{work.paired}"


def _checked(metrics: Sequence[str | Metric], corpus: Corpus) -> dict[str, Metric]:
    if not metrics:
        raise BadInput("No metric was asked for. See: plainly metrics")
    chosen = {given if isinstance(given, str) else repr(given): registry.metric(given) for given in metrics}
    for spec, metric in chosen.items():
        if "source" in metric.needs and not corpus.has_sources:
            raise BadInput(f"{spec} compares with the source, and no sources were given. Add them (--source FILE).")
        if "references" in metric.needs and not corpus.has_references:
            raise BadInput(f"{spec} compares with references, and none were given. Add them (--references FILE…).")
    return chosen


def _evaluation(
    corpus: Corpus,
    metrics: Mapping[str, Metric],
    totals: Totals,
    *,
    intervals: bool,
    level: float,
    resamples: int,
    method: Method,
    seed: int,
) -> StreamEvaluation:
    systems: dict[str, dict[str, Tally]] = {}
    for (system, spec), sums in totals.sums.items():
        metric, bins = metrics[spec], sums.binned.rows if sums.binned is not None else None
        signed = _signature(metric, totals)
        systems.setdefault(system, {})[spec] = Tally(
            metric, system, totals.items, sums.exact.to_floats(), signed, bins=bins
        )
    if intervals and totals.items > 1:
        unit = {"group": "groups", "source": "sources", "output": "outputs"}.get(corpus.keyed_by, "items")
        tallies = [tally for found in systems.values() for tally in found.values()]
        tables = [tally.bins for tally in tallies if tally.bins is not None]
        name = f"Poisson bootstrap-{method} over {unit}, {resamples} draws"
        specs = [(system, spec) for system, found in systems.items() for spec in found]
        drawn = poisson_totals(tables, resamples=resamples, seed=seed)
        for (system, spec), tally, bins, draws in zip(specs, tallies, tables, drawn, strict=True):
            estimates = interval(bins, tally.metric.score, draws, level=level, method=method)
            named = {
                output: dataclasses.replace(estimate, value=tally.corpus[output], n=totals.items, method=name)
                for output, estimate in zip(tally.metric.outputs, estimates, strict=True)
            }
            systems[system][spec] = dataclasses.replace(tally, intervals=named)
    return StreamEvaluation(
        name=corpus.name,
        systems={system: systems[system] for system in corpus.systems if system in systems},
        items=totals.items,
        rows=corpus.rows,
        read=totals.read,
        set_aside=totals.set_aside,
        bad=tuple(totals.bad),
        references=totals.references,
        seed=seed if intervals else None,
        keyed_by=corpus.keyed_by,
        outcomes=totals.outcomes,
    )


def _signature(metric: Metric, totals: Totals) -> str:
    """As for a set that is held, with a fingerprint that does not depend on the order of the items."""
    empty: Any = EvalSet((), ())
    parts = signature_of(metric, empty).split("|")
    shown = {"data:": f"data:any-order-{totals.fingerprint:016x}"[:24]}
    if totals.references is not None:
        fewest, most = totals.references
        shown["refs:"] = f"refs:{most}" if fewest == most else f"refs:{fewest}-{most}"
    return "|".join(next((new for start, new in shown.items() if part.startswith(start)), part) for part in parts)
