"""Dimensions against each other: does what makes an output simple cost it its meaning (Schwarzer and Kauchak 2018)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plainly.ratings.types import Judgements, Units
from plainly.stats.correlate import Correlation, correlate
from plainly.stats.resample import Floats

WARNING = (
    "{x} and {y} are inversely related (R² = {r2:.2f}): a system that gains on one and not on the other may owe it to "
    "this relation, not to being better (Schwarzer and Kauchak 2018). Compare systems on both at once."
)
TOGETHER = (
    "{x} and {y} rise and fall together (R² = {r2:.2f}): a metric that correlates with one will seem to correlate with "
    "the other. Hold one fixed (partial correlation) or filter by it before you say which of them a metric measures."
)
# The paper warns of relations that explain a fifth of the variance, and mentions one that explains .07.
WORTH_A_WARNING = 0.05


@dataclass(frozen=True)
class Relation:
    """Two dimensions over the same outputs: y = intercept + slope · x, fitted by least squares."""

    x: str
    y: str
    correlation: Correlation
    slope: float
    intercept: float
    within_systems: float
    n: int

    @property
    def r2(self) -> float:
        return self.correlation.value**2

    @property
    def warning(self) -> str:
        """What follows for whoever compares systems; empty where there is nothing to warn of."""
        estimate = self.correlation.estimate
        if not (estimate.low > 0 or estimate.high < 0) or self.r2 < WORTH_A_WARNING:
            return ""
        text = WARNING if self.correlation.value < 0 else TOGETHER
        return text.format(x=self.x, y=self.y, r2=self.r2)


def tradeoff(
    judgements: Judgements, x: str, y: str, *, level: float = 0.95, resamples: int = 1000, seed: int = 12345
) -> Relation:
    """How two dimensions go together over all outputs that were rated on both.

    ``within_systems`` is the correlation that is left when each system's mean is taken away: whether it is outputs that
    trade one for the other, or only systems that differ.
    """
    units = common_units(judgements, (x, y))
    one, other = judgements.human(x, units), judgements.human(y, units)
    found = correlate(one, other, groups=units.item_names, level=level, resamples=resamples, seed=seed)
    spread = float(one.var()) if len(one) else 0.0
    slope = float(np.mean((one - one.mean()) * (other - other.mean())) / spread) if spread > 1e-12 else float("nan")
    intercept = float(other.mean() - slope * one.mean()) if len(one) else float("nan")
    within = correlate(_within(one, units), _within(other, units), resamples=0).value
    return Relation(x, y, found, slope, intercept, within, len(units))


def common_units(judgements: Judgements, dimensions: Sequence[str]) -> Units:
    """The outputs that were rated on every one of the dimensions."""
    rated = np.all([judgements[dimension].counts > 0 for dimension in dimensions], axis=0)
    system, item = np.nonzero(rated)
    return Units(judgements.systems, judgements.items, system, item)


def pareto(judgements: Judgements, dimensions: Sequence[str]) -> list[tuple[str, tuple[float, ...], tuple[str, ...]]]:
    """Each system, its mean on every dimension, and the systems that beat it: as good on all and better on one.

    Who is beaten by none is on the frontier: to gain on one dimension one has to give up something on another.
    """
    means = np.stack([judgements[dimension].system_means for dimension in dimensions], axis=1)
    found = []
    for at, system in enumerate(judgements.systems):
        mine = means[at]
        better = tuple(
            other
            for place, other in enumerate(judgements.systems)
            if place != at and (means[place] >= mine).all() and (means[place] > mine).any()
        )
        found.append((system, tuple(map(float, mine)), better))
    return sorted(found, key=lambda entry: (len(entry[2]), -sum(entry[1])))


def _within(values: Floats, units: Units) -> Floats:
    count = np.bincount(units.system, minlength=len(units.systems))
    total = np.bincount(units.system, values, minlength=len(units.systems))
    mean = np.divide(total, count, out=np.zeros(len(count)), where=count > 0)
    return np.asarray(values - mean[units.system])
