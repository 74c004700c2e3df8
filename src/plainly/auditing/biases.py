"""Biases of judges that no attack on a text shows: for the output that is shown first, and for the judge's own outputs.

A judge that compares is asked in both orders, so that what it prefers by position is known. Whether a judge favours
its own outputs can only be seen beside other judges: what it gives them beyond what the others give, on their scale.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from plainly.auditing.sweep import Movement, share_flipped
from plainly.core.metric import Floats, Metric, PairwiseMetric, ratio
from plainly.scoring.scores import Evaluation


@dataclass(frozen=True)
class Bias:
    """What a judge prefers beyond the texts, in points, and the share of verdicts on items that it decides.

    ``position``: by how many points above 50 % the output shown first is chosen. ``own-outputs``: by how many points
    the outputs of ``system``, which is the judge's own model, are rated higher than the other judges' points imply.
    """

    metric: str
    bias: Literal["position", "own-outputs"]
    system: str
    moved: Movement

    @property
    def claim(self) -> str:
        """The bias in a sentence."""
        points, flipped = f"{self.moved.mean:+.1f} points", f"{self.moved.flipped:.0%} of the verdicts"
        if self.bias == "position":
            which = "first" if self.moved.mean > 0 else "second"
            return f"{self.metric} prefers the output that is shown {which} ({points}; the order decides {flipped})."
        how = "favours" if self.moved.mean > 0 else "rates down"
        return f"{self.metric} {how} its own outputs, {self.system} ({points}, which changes {flipped})."


def find_biases(evaluation: Evaluation, metrics: Mapping[str, Metric]) -> Iterator[Bias]:
    """Yield what can be tested: the position for metrics that compare, own outputs where they are among the systems."""
    if len(evaluation.systems) < 2:
        return
    for spec, metric in metrics.items():
        if isinstance(metric, PairwiseMetric):
            yield Bias(spec, "position", "", _position(evaluation, spec, metric))
        for own in _own_systems(metric, evaluation):
            others = [
                other
                for other, judge in metrics.items()
                if other != spec
                and judge.is_remote
                and not isinstance(judge, PairwiseMetric)
                and own not in _own_systems(judge, evaluation)
            ]
            if others and not isinstance(metric, PairwiseMetric):
                yield Bias(spec, "own-outputs", own, _own_outputs(evaluation, spec, others, own))


def _own_systems(metric: Metric, evaluation: Evaluation) -> list[str]:
    names = {name.casefold() for name in metric.own_systems()}
    return [system for system in evaluation.systems if system.casefold() in names]


def _position(evaluation: Evaluation, spec: str, metric: PairwiseMetric) -> Movement:
    """Return how far the first position is preferred on each item; every meeting is in the rows of both systems."""
    rows = sum(by_spec[spec].rows[:, : metric.own_columns] for by_spec in evaluation.systems.values())
    sums, counts = np.split(np.asarray(rows), 2, axis=1)
    place = metric.outputs.index("position")
    contradictory = metric.outputs.index("contradictory")
    flipped = float(ratio(sums[:, contradictory].sum(), counts[:, contradictory].sum()))
    return Movement.of(100.0 * ratio(sums[:, place], counts[:, place]), flipped)


def _own_outputs(evaluation: Evaluation, spec: str, others: list[str], own: str) -> Movement:
    """Return, for each item, the judge's points for its own output beyond those that the other judges imply."""
    rivals = [system for system in evaluation.systems if system != own]
    points = {system: _headline(evaluation, system, spec) for system in evaluation.systems}
    standard = {
        system: np.mean([_headline(evaluation, system, other) for other in others], axis=0)
        for system in evaluation.systems
    }
    # Judges may spread their points differently; outputs of other systems show by how much.
    spreads = [np.nanstd(np.concatenate([by[system] for system in rivals])) for by in (points, standard)]
    slope = spreads[0] / spreads[1] if spreads[1] > 0 else 0.0
    beyond = {system: points[system] - slope * standard[system] for system in points}
    excess = beyond[own] - np.mean([beyond[system] for system in rivals], axis=0)
    mean = float(np.nanmean(excess)) if np.isfinite(excess).any() else np.nan
    leads = np.stack([points[own] - points[system] for system in rivals])
    return Movement.of(excess, share_flipped(leads, leads - mean))


def _headline(evaluation: Evaluation, system: str, spec: str) -> Floats:
    scores = evaluation.systems[system][spec]
    return np.asarray(scores.segments[scores.metric.outputs[0]], dtype=np.float64)
