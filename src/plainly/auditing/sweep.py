"""The sweep: attack every output once per trial, measure once, and derive all levels from the trial's sums.

A trial puts the items in random order and rewrites all of them. Since a metric's rows add up, the score with 10 % of
the outputs attacked is not measured separately: the rows of the first tenth in that order are replaced by those of the
attacked outputs. Levels are nested in a trial, so trials take time and levels do not.

Every (attack, trial) has its own stream of random numbers, so the numbers do not depend on how many processes run or
which other attacks are tried.

Each system is attacked on the items that it has: its numbers are those of these texts given alone.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

import numpy as np
import numpy.typing as npt

from plainly.auditing.attacks import Attack, Rewritten, SystemOutputs
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Metrics, PairwiseMetric
from plainly.core.progress import Progress, Tell, no_progress
from plainly.core.sampling import Sampling
from plainly.io.texts import Texts
from plainly.scoring.evaluate import Evaluation, check_metrics, evaluate, measure
from plainly.streaming.engines import Engine
from plainly.streaming.engines.local import LocalEngine

LEVELS = tuple(step / 10 for step in range(1, 11))
TRIALS = 100
TRIALS_BY_MODEL = 5  # with learned metrics, which take a hundred times as long
QUICK_TRIALS = 20  # which differ in the order of the items only, so they cost next to nothing
SEED = Sampling().seed

# Few enough for a smooth progress bar and an even load, many enough to be worth sending.
_TRIALS_A_GROUP = 5


@dataclass(frozen=True)
class Design:
    """The design of a sweep: all that a trial needs."""

    evalset: EvalSet = field(repr=False)
    outputs: Mapping[str, tuple[str, ...]] = field(repr=False)
    metrics: Mapping[str, Metric]
    attacks: tuple[Attack, ...]
    levels: tuple[float, ...]
    trials: int
    seed: int
    quick: bool = False  # whether every output is rewritten once, and trials differ only in which outputs are attacked

    def __post_init__(self) -> None:
        if not self.outputs or not len(self.evalset):
            raise BadInput("There are no outputs to attack.")
        if self.trials < 1:
            raise BadInput(f"The number of trials must be at least 1, not {self.trials}.")
        if not self.levels or not all(0 < level <= 1 for level in self.levels):
            raise BadInput("Levels are shares of the outputs, above 0 and up to 1, for example 0.1 0.5 1.")
        Sampling(seed=self.seed)  # raises if the seed is invalid
        object.__setattr__(self, "levels", tuple(sorted(set(self.levels))))

    @cached_property
    def systems(self) -> dict[str, SystemOutputs]:
        """What an attack can use of each system: the items that it has, and its outputs for them."""
        systems = {}
        for system, outputs in self.outputs.items():
            present = self.present(system)
            evalset = self.evalset if present.all() else self.evalset[present]  # all that is prepared in it is kept
            systems[system] = SystemOutputs(evalset, tuple(compress(outputs, present)))
        return systems

    def present(self, system: str) -> npt.NDArray[np.bool_]:
        """Return which items a system has."""
        return Texts(self.evalset, self.outputs).present(system)

    def rewrites(self, attack: Attack) -> bool:
        """Whether an attack writes other texts in every trial."""
        return attack.random and not self.quick


@dataclass(frozen=True)
class Curve:
    """One metric under one attack on one system. Arrays are (levels, outputs of the metric); level 0 comes first.

    95 % of the trials lie between ``low`` and ``high``; trials differ in which outputs are attacked, and where.
    """

    levels: tuple[float, ...]
    mean: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)


@dataclass(frozen=True)
class Movement:
    """How far an attack moves the headline scores of single items, in points, over those that have a score.

    ``flipped`` is the share of verdicts on items, which of two systems is better, that change; NaN with one system.
    """

    mean: float
    standard_error: float
    n: int
    flipped: float = math.nan

    @classmethod
    def of(cls, changes: Floats, flipped: float = math.nan) -> "Movement":
        """Summarise the changes of the scores of items; undefined ones are left out."""
        changes = changes[np.isfinite(changes)]
        n = len(changes)
        if n < 2:
            return cls(float(changes.mean()) if n else math.nan, math.nan, n, flipped)
        return cls(float(changes.mean()), float(changes.std(ddof=1) / math.sqrt(n)), n, flipped)

    @property
    def p_value(self) -> float:
        """Student's two-sided test that the mean is 0; NaN where all items move alike or there are too few."""
        from scipy.special import stdtr

        if self.n < 2 or not self.standard_error > 0:
            return 0.0 if self.n > 1 and self.mean else math.nan
        return float(2 * stdtr(self.n - 1, -abs(self.mean) / self.standard_error))


@dataclass(frozen=True)
class Sweep:
    """The curves of every metric for every attack on every system, and the design that led to them."""

    design: Design
    signatures: Mapping[str, str]
    curves: Mapping[tuple[str, str, str], Curve] = field(repr=False)
    changed: Mapping[tuple[str, str], float]  # (system, attack) → share of all outputs that the attack changes
    # (system, attack, metric) → share of the changed outputs whose own score gets worse; NaN if none is changed
    worse: Mapping[tuple[str, str, str], float] = field(repr=False)
    moved: Mapping[tuple[str, str, str], Movement] = field(repr=False)  # in the first trial, all outputs attacked
    evaluation: Evaluation = field(repr=False)  # of the unharmed outputs

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.design.outputs)

    def headline(self, system: str, attack: str, spec: str) -> Floats:
        """Return the mean headline score at level 0 and at every other level."""
        return self.curves[system, attack, spec].mean[:, 0]

    def baseline(self, system: str, spec: str) -> float:
        """Return the headline score of the unchanged outputs."""
        return float(self.headline(system, self.design.attacks[0].name, spec)[0])


# Trials of one attack on one system that run together.
_Group = tuple[str, Attack, range]
# Their results: scores by metric (trials, levels, outputs), the share of outputs that the attack changes, and by metric
# the share of all outputs whose own score gets worse, and how far the scores of items move.
_GroupScores = tuple[dict[str, Floats], float, dict[str, float], dict[str, Movement]]


def sweep(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    metrics: Metrics,
    attacks: Sequence[Attack],
    *,
    levels: Sequence[float] = LEVELS,
    trials: int | None = None,
    seed: int = SEED,
    quick: bool = False,
    engine: Engine | None = None,
    progress: Progress = no_progress,
) -> Sweep:
    """Run every attack on every system and score the results with every metric at every level.

    The default is 100 trials, or 5 if a metric is learned; with ``quick`` 20 trials, of one rewriting of every output.
    Trials run in this process or on an ``engine`` (``plainly.streaming``), with the same numbers. Several processes
    need metrics and attacks that can be pickled, and a script that guards its start with
    ``if __name__ == "__main__":``.
    """
    measured = check_metrics(metrics, evalset)
    # Metrics that compare two systems give no output a score by itself that an attack could move.
    resolved = {spec: metric for spec, metric in measured.items() if not isinstance(metric, PairwiseMetric)}
    if any(metric.is_remote for metric in resolved.values()):
        engine = None  # which keeps cost and cache in one place; calls overlap all the same
    texts = {system: tuple(lines) for system, lines in outputs.items()}
    if trials is None and quick:
        trials = QUICK_TRIALS
    elif trials is None:
        trials = TRIALS_BY_MODEL if any(metric.learned for metric in resolved.values()) else TRIALS
    design = Design(evalset, texts, resolved, tuple(attacks), tuple(levels), trials, seed, quick)
    evaluation = evaluate(evalset, texts, measured, sampling=None, progress=progress)
    present = {system: design.present(system) for system in texts}
    rows = {system: {spec: evaluation[system][spec].rows[present[system]] for spec in resolved} for system in texts}
    # An attack that writes the same text in all trials is one group, measured once.
    groups = [
        (system, attack, range(start, min(start + size, trials)))
        for system in texts
        for attack in (design.attacks if resolved else ())
        for size in [_TRIALS_A_GROUP if design.rewrites(attack) else trials]
        for start in range(0, trials, size)
    ]
    with progress("attacking", total=sum(len(group[2]) for group in groups), unit="trials") as tell:
        results = dict((engine or LocalEngine(1)).run(_TrialRunner(design, rows), groups, tell=tell))
    by_attack: dict[tuple[str, str], list[_GroupScores]] = {}
    for number, (system, attack, _) in enumerate(groups):
        by_attack.setdefault((system, attack.name), []).append(results[number])
    curves, changed, worse = {}, {}, {}
    moved: dict[tuple[str, str, str], Movement] = {}
    for key, of_attack in by_attack.items():
        changed[key] = float(np.mean([share for _, share, *_ in of_attack]))
        moved |= {(*key, spec): movement for spec, movement in of_attack[0][3].items()}
        for spec, metric in resolved.items():
            share = float(np.mean([shares[spec] for *_, shares, _ in of_attack]))
            worse[*key, spec] = share / changed[key] if changed[key] else math.nan
            baseline = metric.score(rows[key[0]][spec].sum(axis=0))[None, :]
            scores = np.concatenate([scores[spec] for scores, *_ in of_attack])
            sides = (scores.mean(axis=0), *np.quantile(scores, [0.025, 0.975], axis=0))
            curves[*key, spec] = Curve((0.0, *design.levels), *(np.concatenate((baseline, side)) for side in sides))
    signatures = {spec: str(scores.signature) for spec, scores in evaluation[next(iter(texts))].items()}
    return Sweep(design, signatures, curves, changed, worse, moved, evaluation)


@dataclass(frozen=True)
class _TrialRunner:
    """The work of a sweep, sent to each worker once, with the measured rows of the unchanged outputs."""

    design: Design
    rows: Mapping[str, Mapping[str, Floats]]  # by system and metric

    def rivals(self, name: str, spec: str) -> Floats:
        """Return the headline scores of the other systems, unharmed, on the items of one: (systems, items)."""
        rivals = [system for system in self.rows if system != name]
        scores = np.full((len(rivals), len(self.design.evalset)), np.nan)
        for row, rival in zip(scores, rivals, strict=True):
            row[self.design.present(rival)] = _headlines(self.design.metrics[spec], self.rows[rival][spec])
        return scores[:, self.design.present(name)]

    def __call__(self, task: _Group, tell: Tell) -> _GroupScores:
        name, attack, trials = task
        design, system, before = self.design, self.design.systems[name], self.rows[name]
        counts = [round(level * len(system.evalset)) for level in design.levels]
        totals: dict[str, list[Floats]] = {spec: [] for spec in design.metrics}
        changes: dict[str, Floats] = {}
        changed: list[float] = []
        worse: dict[str, list[float]] = {spec: [] for spec in design.metrics}
        moved: dict[str, Movement] = {}
        for trial in trials:
            rng = trial_rng(design.seed, attack.name, trial)
            order = rng.permutation(len(system.evalset))
            if design.rewrites(attack) or not changes:
                outputs = attack.apply(system, rng)
                changed.append(float(np.mean([a != b for a, b in zip(outputs, system.outputs, strict=True)])))
                after = dict(measure(system.evalset, {name: outputs}, design.metrics))[name]
                changes = {spec: after[spec] - before[spec] for spec in after}
                for spec, shares in worse.items():
                    metric = design.metrics[spec]
                    own, attacked = _headlines(metric, before[spec]), _headlines(metric, after[spec])
                    shares.append(float(np.mean(attacked > own if metric.better == "lower" else attacked < own)))
                    if spec not in moved:
                        rivals = self.rivals(name, spec)
                        moved[spec] = Movement.of(attacked - own, share_flipped(own - rivals, attacked - rivals))
            for spec, change in changes.items():
                running = np.zeros((len(order) + 1, change.shape[1]))
                np.cumsum(change[order], axis=0, out=running[1:])
                totals[spec].append(before[spec].sum(axis=0) + running[counts])
            tell(1)
        scores = {spec: design.metrics[spec].score(np.array(sums)) for spec, sums in totals.items()}
        return scores, float(np.mean(changed)), {spec: float(np.mean(shares)) for spec, shares in worse.items()}, moved


def _headlines(metric: Metric, rows: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return metric.score(rows)[:, 0]


def share_flipped(before: Floats, after: Floats) -> float:
    """Return the share of leads of one output over another whose sign changes; NaN if there are none."""
    is_defined = np.isfinite(before) & np.isfinite(after)
    flips = np.sign(before[is_defined]) != np.sign(after[is_defined])
    return float(flips.mean()) if len(flips) else math.nan


def repeat_first_trial(design: Design, attack: Attack, system: str) -> list[Rewritten]:
    """Return what the first trial of an attack on a system wrote, with its changes."""
    rng = trial_rng(design.seed, attack.name, 0)
    rng.permutation(len(design.systems[system].evalset))  # the trial draws its order first
    return attack.records(design.systems[system], rng)


def trial_rng(seed: int, attack: str, trial: int) -> np.random.Generator:
    """Return the random generator of one trial of one attack, independent of all others."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(attack.encode()), trial)))
