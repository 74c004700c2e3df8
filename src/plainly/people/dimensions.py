"""Dimensions against each other: does what makes an output simple cost it its meaning (Schwarzer and Kauchak 2018)?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np

from plainly.core.errors import BadInput, way
from plainly.core.formatting import number, p_value
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.people.ratings import Judgements, Units
from plainly.people.summary import described, estimate_record, few_items, shown
from plainly.stats.agreement import ratio
from plainly.stats.correlate import Correlation, correlate
from plainly.stats.resample import Floats

# The paper warns of relations that explain a fifth of the variance, and mentions one that explains .07.
WORTH_A_WARNING = 0.05


@dataclass(frozen=True)
class Relation:
    """Two dimensions over the same outputs: y = intercept + slope · x, fitted by least squares.

    ``within_systems`` is the correlation without each system's mean: do outputs trade, or do only systems differ?
    """

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
        if self.correlation.value < 0:
            return (
                f"{self.x} and {self.y} are inversely related (R² = {self.r2:.2f}): a system that gains on one and not "
                "on the other may owe it to this relation, not to being better (Schwarzer and Kauchak 2018). Compare "
                "systems on both at once."
            )
        return (
            f"{self.x} and {self.y} rise and fall together (R² = {self.r2:.2f}): a metric that correlates with one "
            "will seem to correlate with the other. Hold one fixed (partial correlation) or filter by it before you "
            "say which of them a metric measures."
        )


@dataclass(frozen=True)
class Standing:
    """A system's mean on every dimension, and who beats it: as good on all, better on one; by none: Pareto frontier."""

    system: str
    means: dict[str, float]
    beaten_by: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Tradeoff(Result):
    """How the dimensions hang together, pair by pair, and the systems on all of them, those on the frontier first."""

    judgements: Judgements
    sampling: Sampling
    dimensions: tuple[str, ...]
    relations: tuple[Relation, ...]
    systems: tuple[Standing, ...]

    def records(self) -> list[Record]:
        return [
            {
                "x": relation.x,
                "y": relation.y,
                **estimate_record(relation.correlation.estimate),
                "r_squared": relation.r2,
                "slope": relation.slope,
                "intercept": relation.intercept,
                "p_value": relation.correlation.p_value,
                "p_drawn": relation.correlation.p_drawn,
                "within_systems": relation.within_systems,
                "warning": relation.warning or None,
            }
            for relation in self.relations
        ]

    def json(self) -> Record:
        standings = [asdict(standing) for standing in self.systems]
        return {**described(self.judgements, self.sampling), "relations": self.records(), "systems": standings}

    def tables(self) -> list[Table]:
        relations = tuple(
            (
                f"{relation.x} – {relation.y}",
                shown(relation.correlation.estimate),
                *map(number, (relation.r2, relation.slope)),
                p_value(relation.correlation.p, decimals=3),
                number(relation.within_systems),
                str(relation.n),
            )
            for relation in self.relations
        )
        standings = tuple(
            (
                standing.system,
                *map(number, standing.means.values()),
                f"beaten by {', '.join(standing.beaten_by[:3])}" if standing.beaten_by else "on the frontier",
            )
            for standing in self.systems
        )
        header = ("dimensions", "r", "R²", "slope", "p", "r within systems", "outputs")
        text = frozenset({0, len(self.dimensions) + 1})
        return [
            Table(header, relations, caption="Dimensions against each other, over outputs"),
            Table(("system", *self.dimensions, "Pareto"), standings, "Systems on all dimensions", text_columns=text),
        ]

    def notes(self) -> list[Note]:
        return [
            *self.judgements.remarks,
            *(Note(relation.warning) for relation in self.relations if relation.warning),
            *few_items(len(self.judgements.items)),
        ]


def measure_tradeoff(judgements: Judgements, dimensions: Sequence[str], *, sampling: Sampling) -> Tradeoff:
    if len(dimensions) < 2:
        name = way("dimensions=", "--dimension …")
        raise BadInput(f"A trade-off needs two dimensions; there is {', '.join(dimensions)}. Name two: {name}")
    relations = tuple(relate(judgements, x, y, sampling=sampling) for x, y in combinations(dimensions, 2))
    return Tradeoff(judgements, sampling, tuple(dimensions), relations, pareto(judgements, dimensions))


def relate(judgements: Judgements, x: str, y: str, *, sampling: Sampling | None = Sampling()) -> Relation:
    """How two dimensions go together over all outputs that were rated on both."""
    units = common_units(judgements, (x, y))
    left, right = judgements.human(x, units), judgements.human(y, units)
    correlation = correlate(left, right, groups=units.item_names, sampling=sampling)
    spread = float(left.var()) if len(left) else 0.0
    slope = float(np.mean((left - left.mean()) * (right - right.mean())) / spread) if spread > 1e-12 else float("nan")
    intercept = float(right.mean() - slope * left.mean()) if len(left) else float("nan")
    within = correlate(_within(left, units), _within(right, units), sampling=None).value
    return Relation(x, y, correlation, slope, intercept, within, len(units))


def common_units(judgements: Judgements, dimensions: Sequence[str]) -> Units:
    rated = np.all([judgements[dimension].counts > 0 for dimension in dimensions], axis=0)
    return Units(judgements.systems, judgements.items, *np.nonzero(rated))


def pareto(judgements: Judgements, dimensions: Sequence[str]) -> tuple[Standing, ...]:
    """Each system's standing; those beaten by fewest first."""
    means = np.stack([judgements[dimension].system_means for dimension in dimensions], axis=1)
    standings = []
    for system, mine in zip(judgements.systems, means, strict=True):
        better = (means >= mine).all(axis=1) & (means > mine).any(axis=1)
        beaten_by = tuple(other for other, beats in zip(judgements.systems, better, strict=True) if beats)
        standings.append(Standing(system, dict(zip(dimensions, map(float, mine), strict=True)), beaten_by))
    return tuple(sorted(standings, key=lambda standing: (len(standing.beaten_by), -sum(standing.means.values()))))


def _within(values: Floats, units: Units) -> Floats:
    means = ratio(np.bincount(units.system, values), np.bincount(units.system))
    return np.asarray(values - means[units.system])
