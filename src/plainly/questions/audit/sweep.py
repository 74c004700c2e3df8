"""The sweep: attack every output once a trial, measure once, and read all levels off the trial's sums.

A trial puts the items in a random order and rewrites every one of them. Since a metric's rows add up, the score with
10 % of the outputs attacked needs no measuring of its own: the rows of the first tenth of that order are swapped for
their attacked versions. Levels are nested in a trial, and cost is per trial, not per level.

Every (attack, trial) has its own stream of random numbers, so a table is the same for any number of processes, and
for any choice of other attacks beside.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from plainly.engines import Engine
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.protocol import Floats, Metric
from plainly.questions.audit.attack import Attack, Corpus
from plainly.questions.audit.own import as_metric
from plainly.scoring.evaluate import evaluate

LEVELS = tuple(step / 10 for step in range(1, 11))
Progress = Callable[[int, int], None]

# Trials that one task does: few enough for a bar that moves and for even work, many enough to be worth sending.
_TRIALS_A_TASK = 5


@dataclass(frozen=True)
class Plan:
    """What to do to what: everything that a trial needs to know."""

    evalset: EvalSet = field(repr=False)
    outputs: Mapping[str, tuple[str, ...]] = field(repr=False)
    metrics: Mapping[str, Metric]
    attacks: tuple[Attack, ...]
    levels: tuple[float, ...] = LEVELS
    trials: int = 100
    seed: int = 12345

    def __post_init__(self) -> None:
        if not self.outputs or not len(self.evalset):
            raise BadInput("There are no outputs to attack.")
        if self.trials < 1:
            raise BadInput(f"The number of trials must be at least 1, not {self.trials}.")
        if not self.levels or not all(0 < level <= 1 for level in self.levels):
            raise BadInput("Levels are shares of the outputs, above 0 and up to 1, for example 0.1 0.5 1.")
        object.__setattr__(self, "levels", tuple(sorted(set(self.levels))))

    @property
    def counts(self) -> list[int]:
        """How many outputs are attacked at each level."""
        return [round(level * len(self.evalset)) for level in self.levels]


@dataclass(frozen=True)
class Curve:
    """One metric under one attack on one system. Arrays are (levels, outputs of the metric); level 0 comes first.

    ``low`` and ``high`` hold 95 % of the trials: how much depends on which outputs were hit, and where.
    """

    levels: tuple[float, ...]
    mean: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)


@dataclass(frozen=True)
class Sweep:
    """The curves of every attack on every system by every metric, and what they were made with."""

    plan: Plan
    signatures: Mapping[str, str]
    curves: Mapping[tuple[str, str, str], Curve] = field(repr=False)
    touched: Mapping[tuple[str, str], float]  # (system, attack) → share of outputs that the attack changes at 100 %

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.plan.outputs)

    def curve(self, system: str, attack: str, spec: str) -> Curve:
        return self.curves[system, attack, spec]

    def headline(self, system: str, attack: str, spec: str) -> Floats:
        """The mean headline score at level 0 and at every level after."""
        return self.curves[system, attack, spec].mean[:, 0]

    def unharmed(self, system: str, spec: str) -> float:
        """The headline score of the outputs as they are."""
        return float(self.headline(system, self.plan.attacks[0].name, spec)[0])


@dataclass(frozen=True)
class _Task:
    system: str
    attack: Attack
    trials: range


@dataclass(frozen=True)
class _Done:
    scores: dict[str, Floats]  # by metric: (trials, levels, outputs)
    touched: float


def sweep(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    metrics: Sequence[str | Metric | object],
    attacks: Sequence[Attack],
    *,
    levels: Sequence[float] = LEVELS,
    trials: int = 100,
    seed: int = 12345,
    processes: int = 1,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Attack every system in every way and score it with every metric at every level.

    ``processes`` above 1 needs metrics and attacks that can be sent to another process, and a script that guards its
    start with ``if __name__ == "__main__":``, as Python's multiprocessing does. With an ``engine`` (plainly.engines),
    trials are done there instead, and give the same numbers.
    """
    adapted = [(given, as_metric(given)) for given in metrics]
    chosen = {given if isinstance(given, str) else repr(metric): metric for given, metric in adapted}
    held = {system: tuple(texts) for system, texts in outputs.items()}
    plan = Plan(evalset, held, chosen, tuple(attacks), tuple(levels), trials, seed)
    unharmed = evaluate(evalset, held, list(chosen.values()), sampling=None)
    tasks = _tasks(plan)
    found: dict[tuple[str, str], list[_Done]] = {}
    total, done = sum(len(task.trials) for task in tasks), 0
    for task, result in zip(tasks, _results(plan, tasks, processes, engine), strict=True):
        found.setdefault((task.system, task.attack.name), []).append(result)
        done += len(task.trials)
        if progress is not None:
            progress(done, total)
    curves = {}
    for (system, attack), results in found.items():
        for spec, metric in chosen.items():
            baseline = metric.score(unharmed[system][repr(metric)].rows.sum(axis=0))
            curves[system, attack, spec] = _curve(plan, baseline, [result.scores[spec] for result in results])
    touched = {key: float(np.mean([result.touched for result in results])) for key, results in found.items()}
    signatures = {
        spec: str(scores.signature)
        for spec, scores in zip(chosen, unharmed[next(iter(unharmed))].values(), strict=True)
    }
    return Sweep(plan, signatures, curves, touched)


def _tasks(plan: Plan) -> list[_Task]:
    """All trials, in groups; an attack that writes the same every time is one group, measured once."""
    return [
        _Task(system, attack, range(start, min(start + size, plan.trials)))
        for system in plan.outputs
        for attack in plan.attacks
        for size in [_TRIALS_A_TASK if attack.random else plan.trials]
        for start in range(0, plan.trials, size)
    ]


def _results(plan: Plan, tasks: Sequence[_Task], processes: int, engine: Engine | None = None) -> Iterator[_Done]:
    if engine is not None:
        early: dict[int, _Done] = {}
        place = 0
        for number, result in engine.run(_Trials(plan), tasks):
            early[number] = result
            while place in early:
                yield early.pop(place)
                place += 1
        return
    if processes <= 1:
        worker = _Worker(plan)
        yield from map(worker.run, tasks)
        return
    import multiprocessing
    import pickle
    from concurrent.futures import ProcessPoolExecutor

    try:
        pickle.dumps(plan)
    except Exception as error:
        raise BadInput(
            f"A metric or attack cannot be sent to another process ({error}). Define it in a module or use one process."
        ) from error
    # Fresh processes, since forking one that has threads (a progress bar, a BLAS) may lock up.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(tasks)), context, _start, (plan,)) as pool:
        try:
            yield from pool.map(_run, tasks)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Worker:
    """What a process keeps between tasks: the corpora, and the measured rows of the outputs as they are."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._systems: dict[str, tuple[Corpus, dict[str, Floats]]] = {}

    def run(self, task: _Task) -> _Done:
        plan = self._plan
        corpus, unharmed = self._system(task.system)
        totals: dict[str, list[Floats]] = {spec: [] for spec in plan.metrics}
        changes: dict[str, Floats] = {}
        touched = []
        for trial in task.trials:
            rng = stream(plan.seed, task.attack.name, trial)
            order = rng.permutation(len(plan.evalset))
            if task.attack.random or not changes:
                attacked = task.attack.apply(corpus, rng)
                touched.append(float(np.mean([a != b for a, b in zip(attacked, corpus.outputs, strict=True)])))
                rows = self._measure(attacked)
                changes = {spec: rows[spec] - unharmed[spec] for spec in rows}
            for spec, change in changes.items():
                running = np.zeros((len(order) + 1, change.shape[1]))
                np.cumsum(change[order], axis=0, out=running[1:])
                totals[spec].append(unharmed[spec].sum(axis=0) + running[plan.counts])
        scores = {spec: plan.metrics[spec].score(np.array(found)) for spec, found in totals.items()}
        return _Done(scores, float(np.mean(touched)))

    def _system(self, system: str) -> tuple[Corpus, dict[str, Floats]]:
        if system not in self._systems:
            outputs = self._plan.outputs[system]
            self._systems[system] = Corpus(self._plan.evalset, outputs), self._measure(outputs)
        return self._systems[system]

    def _measure(self, outputs: Sequence[str]) -> dict[str, Floats]:
        metrics = self._plan.metrics
        found = evaluate(self._plan.evalset, {"": outputs}, list(metrics.values()), sampling=None)[""]
        return {spec: found[repr(metric)].rows for spec, metric in metrics.items()}


class _Trials:
    """The work of a sweep, as engines take it; what a worker keeps is made where it works."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._worker: _Worker | None = None

    def __call__(self, task: _Task, tell: Callable[[int], None]) -> _Done:
        if self._worker is None:
            self._worker = _Worker(self._plan)
        return self._worker.run(task)


def stream(seed: int, attack: str, trial: int) -> np.random.Generator:
    """The random numbers of one trial of one attack, independent of every other trial's."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(attack.encode()), trial)))


_worker: _Worker | None = None


def _start(plan: Plan) -> None:
    import signal

    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle, and to tell of once
    _worker = _Worker(plan)


def _run(task: _Task) -> _Done:
    if _worker is None:
        raise RuntimeError("A worker was given a task before its plan.")
    return _worker.run(task)


def _curve(plan: Plan, baseline: Floats, scores: Sequence[Floats]) -> Curve:
    trials = np.concatenate(scores)
    low, high = np.quantile(trials, [0.025, 0.975], axis=0)
    first = baseline[None, :]
    return Curve(
        levels=(0.0, *plan.levels),
        mean=np.concatenate((first, trials.mean(axis=0))),
        low=np.concatenate((first, low)),
        high=np.concatenate((first, high)),
    )
