"""The sweep: attack every output once a trial, measure once, and read all levels off the trial's sums.

A trial puts the items in a random order and rewrites every one of them. Since a metric's rows add up, the score with
10 % of the outputs attacked needs no measuring of its own: the rows of the first tenth of that order are swapped for
their attacked versions. Levels are nested in a trial, and cost is per trial, not per level.

Every (attack, trial) has its own stream of random numbers, so a table is the same for any number of processes, and
for any choice of other attacks beside.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from plainly.auditing.attacks import Attack, Rewritten, SystemOutputs
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Metrics
from plainly.core.progress import Progress, Tell, no_progress
from plainly.core.sampling import Sampling
from plainly.scoring.evaluate import checked_metrics, evaluate, measure
from plainly.streaming.engines import Engine
from plainly.streaming.engines.local import LocalEngine

LEVELS = tuple(step / 10 for step in range(1, 11))
TRIALS = 100
TRIALS_BY_MODEL = 5  # where a metric reads every attacked output with a model, which takes a hundred times as long
SEED = Sampling().seed

# Few enough for a bar that moves and for even work, many enough to be worth sending.
_TRIALS_A_GROUP = 5


@dataclass(frozen=True)
class Design:
    """What is done to what: everything that a trial needs to know."""

    evalset: EvalSet = field(repr=False)
    outputs: Mapping[str, tuple[str, ...]] = field(repr=False)
    metrics: Mapping[str, Metric]
    attacks: tuple[Attack, ...]
    levels: tuple[float, ...]
    trials: int
    seed: int

    def __post_init__(self) -> None:
        if not self.outputs or not len(self.evalset):
            raise BadInput("There are no outputs to attack.")
        if self.trials < 1:
            raise BadInput(f"The number of trials must be at least 1, not {self.trials}.")
        if not self.levels or not all(0 < level <= 1 for level in self.levels):
            raise BadInput("Levels are shares of the outputs, above 0 and up to 1, for example 0.1 0.5 1.")
        Sampling(seed=self.seed)  # which says what is wrong with it
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

    design: Design
    signatures: Mapping[str, str]
    curves: Mapping[tuple[str, str, str], Curve] = field(repr=False)
    touched: Mapping[tuple[str, str], float]  # (system, attack) → share of outputs that the attack changes at 100 %
    # (system, attack, metric) → share of those outputs whose own score gets worse; NaN where none is changed
    worse: Mapping[tuple[str, str, str], float] = field(repr=False)

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.design.outputs)

    def headline(self, system: str, attack: str, spec: str) -> Floats:
        """The mean headline score at level 0 and at every level after."""
        return self.curves[system, attack, spec].mean[:, 0]

    def unharmed(self, system: str, spec: str) -> float:
        """The headline score of the outputs as they are."""
        return float(self.headline(system, self.design.attacks[0].name, spec)[0])


# Trials of one attack on one system that are done together.
_Group = tuple[str, Attack, range]
# What comes of them: by metric (trials, levels, outputs), the share of outputs that the attack changes, and by metric
# the share of all outputs whose own score gets worse.
_GroupScores = tuple[dict[str, Floats], float, dict[str, float]]


def sweep(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    metrics: Metrics,
    attacks: Sequence[Attack],
    *,
    levels: Sequence[float] = LEVELS,
    trials: int | None = None,
    seed: int = SEED,
    engine: Engine | None = None,
    progress: Progress = no_progress,
) -> Sweep:
    """Attack every system in every way and score it with every metric at every level.

    Unless you say how many, there are 100 trials, or 5 where one of the metrics reads with a model.

    Trials are done in this process, or by an ``engine`` (``plainly.streaming``), which gives the same numbers. Several
    processes need metrics and attacks that can be sent to another one, and a script that guards its start with
    ``if __name__ == "__main__":``, as Python's multiprocessing does.
    """
    named = checked_metrics(metrics, evalset)
    texts = {system: tuple(of_system) for system, of_system in outputs.items()}
    if trials is None:
        trials = TRIALS_BY_MODEL if any(metric.learned for metric in named.values()) else TRIALS
    design = Design(evalset, texts, named, tuple(attacks), tuple(levels), trials, seed)
    unharmed = evaluate(evalset, texts, named, sampling=None, progress=progress)
    rows = {system: {spec: unharmed[system][spec].rows for spec in named} for system in texts}
    # An attack that writes the same every time is one group, measured once.
    groups = [
        (system, attack, range(start, min(start + size, trials)))
        for system in texts
        for attack in design.attacks
        for size in [_TRIALS_A_GROUP if attack.random else trials]
        for start in range(0, trials, size)
    ]
    with progress("attacking", total=sum(len(group[2]) for group in groups), unit="trials") as tell:
        results = dict((engine or LocalEngine(1)).run(_TrialRunner(design, rows), groups, tell=tell))
    by_attack: dict[tuple[str, str], list[_GroupScores]] = {}
    for number, (system, attack, _) in enumerate(groups):
        by_attack.setdefault((system, attack.name), []).append(results[number])
    curves = {}
    for (system, name), of_attack in by_attack.items():
        for spec, metric in named.items():
            baseline = metric.score(rows[system][spec].sum(axis=0))
            curves[system, name, spec] = _curve(design, baseline, [scores[spec] for scores, *_ in of_attack])
    changed = {key: float(np.mean([touched for _, touched, _ in of_attack])) for key, of_attack in by_attack.items()}
    worse = {
        (*key, spec): float(np.mean([of_group[spec] for *_, of_group in of_attack])) / changed[key]
        if changed[key]
        else math.nan
        for key, of_attack in by_attack.items()
        for spec in named
    }
    scores = unharmed[next(iter(texts))]
    signatures = {spec: str(scores[spec].signature) for spec in named}
    return Sweep(design, signatures, curves, changed, worse)


@dataclass(frozen=True)
class _TrialRunner:
    """The work of a sweep. It goes to each worker once, with the measured rows of the outputs as they are."""

    design: Design
    unharmed: Mapping[str, Mapping[str, Floats]]  # by system and metric

    @cached_property
    def _systems(self) -> dict[str, SystemOutputs]:
        return {system: SystemOutputs(self.design.evalset, texts) for system, texts in self.design.outputs.items()}

    def __call__(self, task: _Group, tell: Tell) -> _GroupScores:
        name, attack, trials = task
        design, system, unharmed = self.design, self._systems[name], self.unharmed[name]
        totals: dict[str, list[Floats]] = {spec: [] for spec in design.metrics}
        changes: dict[str, Floats] = {}
        touched: list[float] = []
        worse: dict[str, list[float]] = {spec: [] for spec in design.metrics}
        for trial in trials:
            rng = trial_rng(design.seed, attack.name, trial)
            order = rng.permutation(len(design.evalset))
            if attack.random or not changes:
                attacked = attack.apply(system, rng)
                touched.append(float(np.mean([a != b for a, b in zip(attacked, system.outputs, strict=True)])))
                rows = dict(measure(design.evalset, {name: attacked}, design.metrics))[name]
                changes = {spec: rows[spec] - unharmed[spec] for spec in rows}
                for spec, of_metric in worse.items():
                    of_metric.append(_share_worse(design.metrics[spec], unharmed[spec], rows[spec]))
            for spec, change in changes.items():
                running = np.zeros((len(order) + 1, change.shape[1]))
                np.cumsum(change[order], axis=0, out=running[1:])
                totals[spec].append(unharmed[spec].sum(axis=0) + running[design.counts])
            tell(1)
        scores = {spec: design.metrics[spec].score(np.array(of_metric)) for spec, of_metric in totals.items()}
        return scores, float(np.mean(touched)), {spec: float(np.mean(shares)) for spec, shares in worse.items()}


def _share_worse(metric: Metric, before: Floats, after: Floats) -> float:
    """The share of outputs whose own headline score is worse than before; what is undefined is not worse."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = metric.score(after)[:, 0] - metric.score(before)[:, 0]
    return float(np.mean(moved > 0 if metric.better == "lower" else moved < 0))


def first_trial(design: Design, attack: Attack, outputs: Sequence[str]) -> list[Rewritten]:
    """What the first trial of an attack wrote, with what it changed where."""
    rng = trial_rng(design.seed, attack.name, 0)
    rng.permutation(len(design.evalset))  # the order of the trial, drawn before
    return attack.records(SystemOutputs(design.evalset, tuple(outputs)), rng)


def trial_rng(seed: int, attack: str, trial: int) -> np.random.Generator:
    """The random numbers of one trial of one attack, independent of every other trial's."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(attack.encode()), trial)))


def _curve(design: Design, baseline: Floats, scores: Sequence[Floats]) -> Curve:
    trials = np.concatenate(scores)
    sides = (trials.mean(axis=0), *np.quantile(trials, [0.025, 0.975], axis=0))
    return Curve((0.0, *design.levels), *(np.concatenate((baseline[None, :], side)) for side in sides))
