"""Everything that a report shows, computed elsewhere and gathered once; pages, figures and tables only render it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plainly.evalset import EvalSet
from plainly.protocol import Metric
from plainly.questions.comparisons import Comparisons
from plainly.result import Note
from plainly.scoring.evaluate import Evaluation
from plainly.stats.estimate import Estimate

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Habit:
    """One thing that systems do, as a share or a ratio, beside what the people do who wrote the references."""

    key: str
    title: str
    unit: str  # "%" for shares, "" for ratios
    systems: Mapping[str, float]
    people: float | None = None
    people_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class OperationGroup:
    """One operation between a source and an output, as places of characters: ((start, end), …) in each text."""

    label: str
    source: tuple[tuple[int, int], ...]
    output: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Operations:
    """What a labeller found in every output, and the share of outputs with each operation, for systems and people."""

    labels: Mapping[str, str]  # label → title
    kinds: Mapping[str, str]  # label → add, delete, replace or other
    groups: Mapping[str, Sequence[tuple[OperationGroup, ...]]]  # system → item → groups
    shares: Mapping[str, Mapping[str, float]]  # label → system → share of outputs
    people: Mapping[str, float]  # label → share of references; empty where not known
    labeller: str
    notice: str = ""


@dataclass(frozen=True)
class Gain:
    """What a cheap trick does to a metric, in units of the distance between the worst and the best system."""

    metric: str
    trick: str
    what: str
    spreads: float
    fooled: bool


@dataclass(frozen=True)
class Alarm:
    """A reason to distrust a score: a metric, the systems it concerns, and why, in a sentence with its numbers."""

    metric: str
    systems: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Agreement:
    """How one metric goes with one dimension of human ratings."""

    metric: str
    dimension: str
    level: str  # "segment" or "system"
    coefficient: str
    estimate: Estimate


@dataclass(frozen=True)
class Material:
    """A report's contents. What is empty or None is left out of the page."""

    title: str
    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    evaluation: Evaluation
    comparisons: Mapping[str, Comparisons] = field(default_factory=dict)  # by metric, corrected within it
    findings: tuple[Note, ...] = ()
    habits: tuple[Habit, ...] = ()
    split: Mapping[str, Bools] = field(default_factory=dict)
    copied: Mapping[str, Bools] = field(default_factory=dict)
    operations: Operations | None = None
    gains: tuple[Gain, ...] = ()
    audited: tuple[str, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    rated: str = ""
    absent: tuple[str, ...] = ()  # parts that could not be made, each with the reason

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.evaluation)

    @property
    def specs(self) -> tuple[str, ...]:
        return self.evaluation.specs

    def metric(self, spec: str) -> Metric:
        return next(iter(self.evaluation.values()))[spec].metric

    def value(self, system: str, spec: str) -> float:
        return float(self.evaluation[system][spec])

    def estimate(self, system: str, spec: str) -> Estimate | None:
        scores = self.evaluation[system][spec]
        return scores.intervals.get(scores.metric.outputs[0])

    def ranking(self, spec: str) -> list[str]:
        """Systems by score, best first (largest first where the metric has no better side); undefined ones last."""
        sign = 1.0 if self.metric(spec).better == "lower" else -1.0
        values = {system: self.value(system, spec) for system in self.systems}
        return sorted(values, key=lambda system: (values[system] != values[system], sign * values[system]))

    def standing(self, spec: str, system: str) -> str:
        """``best``, ``tied`` with the best (no difference may be claimed), or nothing."""
        if self.metric(spec).better == "neither" or len(self.systems) < 2:
            return ""
        best = self.ranking(spec)[0]
        value, top = self.value(system, spec), self.value(best, spec)
        if value != value:
            return ""
        if value == top:
            return "best"
        if spec in self.comparisons and not self.comparisons[spec].pair(spec, best, system).significant:
            return "tied"
        return ""
