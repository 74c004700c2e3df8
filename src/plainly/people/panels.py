"""A panel of judges against people: how far its members agree, who deviates, and what it gains over its best member."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.core.formatting import format_change, number, p_value
from plainly.core.metric import Floats
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.people.correlations import PERMUTATIONS
from plainly.stats.agreement import Rater, reliability
from plainly.stats.correlate import Correlation, CorrelationDifference, correlate, exchange_test
from plainly.stats.resample import Estimate


@dataclass(frozen=True, repr=False)
class JudgePanel(Result):
    """The members of one panel: agreement by coefficient, and each member's correlation with people, as the panel's.

    ``gain`` compares the panel with the member that correlates best on the same outputs. That choice favours the
    member, so that a gain is rather under- than overestimated.
    """

    metric: str
    dimension: str
    agreement: Mapping[str, Estimate]
    members: tuple[Rater, ...]
    correlations: Mapping[str, Correlation]  # with people, by member; the panel's is under the name of the metric
    best: str
    gain: CorrelationDifference

    def records(self) -> list[Record]:
        return [
            {"metric": self.metric, "dimension": self.dimension, "member": name, **correlation.estimate.record()}
            for name, correlation in self.correlations.items()
        ]

    def json(self) -> Record:
        return {
            "panel": {
                "metric": self.metric,
                "dimension": self.dimension,
                "agreement": [{"name": name, **estimate.record()} for name, estimate in self.agreement.items()],
                "members": [vars(member) for member in self.members],
                "correlations": self.records(),
                "best_member": self.best,
                "gain": {"difference": self.gain.difference, "p_value": self.gain.p_value, "n": self.gain.n},
            }
        }

    def tables(self) -> list[Table]:
        coefficients = tuple((name, str(estimate)) for name, estimate in self.agreement.items())
        members = [
            (each.name, str(self.correlations[each.name].estimate),
             *map(number, (each.correlation, each.bias, each.alpha_without)), each.outlying)
            for each in self.members
        ]  # fmt: skip
        members.append((self.metric, str(self.correlations[self.metric].estimate), "", "", "", ""))
        header = ("judge", "r with people", "r with others", "bias", "alpha without", "why")
        return [
            Table(("agreement", "judges"), coefficients, f"Agreement between the judges of {self.metric}"),
            Table(header, tuple(members), f"The judges and {self.dimension}", text_columns=frozenset({0, 5})),
        ]

    def notes(self) -> list[Note]:
        gain = self.gain
        text = (
            f"{self.metric} correlates with people at r = {number(gain.first)}, its best judge ({self.best}) at "
            f"{number(gain.second)}: the panel gains {format_change(gain.difference)} (p {p_value(gain.p_value, 3)}, "
            "by exchanging the scores of items)."
        )
        return [Note(text, "claim", where=self.metric)]


def describe_panel(
    metric: str,
    dimension: str,
    names: Sequence[str],
    points: Floats,
    human: Floats,
    items: Sequence[str],
    agreement: Mapping[str, Estimate],
    sampling: Sampling,
) -> JudgePanel:
    """Compare the members of a panel with each other and with people.

    ``points`` has a column for the panel and one for each member; ``agreement`` has the coefficients of the members.
    """
    columns = dict(zip((metric, *names), points.T, strict=True))
    correlations = {
        name: correlate(column, human, groups=items, level=sampling.level) for name, column in columns.items()
    }
    values = {name: correlations[name].value for name in names}
    best = max(names, key=lambda name: values[name] if np.isfinite(values[name]) else -np.inf)
    rng = np.random.default_rng(sampling.seed)
    gain = exchange_test(human, columns[metric], columns[best], permutations=PERMUTATIONS, rng=rng, groups=items)
    members = tuple(reliability(points[:, 1:], names))
    return JudgePanel(metric, dimension, agreement, members, correlations, best, gain)
