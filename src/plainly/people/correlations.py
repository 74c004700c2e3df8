"""What is known of metrics against people: correlations, which metric agrees better, and metrics among themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.formatting import number, p_value
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.people.metric_scores import MetricScores
from plainly.people.ratings import Judgements
from plainly.people.summary import described, estimate_record, few_items, shown
from plainly.stats.dependent import CorrelationDifference
from plainly.stats.estimate import Estimate

# From how many systems on a correlation between them is tested: exchanging five gives no p-value below 2 / 2^5 = .06.
FEWEST_SYSTEMS = 6

Unit = Literal["item", "system"]
Statistic = Literal["pearson", "spearman", "kendall", "accuracy", "partial"]
_NAMES = ("Pearson", "Spearman", "Kendall tau-b", "pairwise accuracy", "partial Pearson")
_TURNED = "Signs are turned where lower is better: higher agrees better."
STATISTICS: dict[Statistic, str] = dict(zip(get_args(Statistic), _NAMES, strict=True))


@dataclass(frozen=True)
class MetricCorrelation:
    """One statistic of a metric against a dimension, on one slice of outputs; signs are turned where lower is better.

    By item ``p_value`` is the textbook's and ``p_drawn`` from draws of items with all their outputs; between systems
    ``p_value`` is from permutations of the systems.
    """

    metric: str
    dimension: str
    unit: Unit
    slice: str
    references: str
    statistic: Statistic
    estimate: Estimate
    p_value: float = float("nan")
    detail: str = ""
    p_drawn: float = float("nan")

    @property
    def p(self) -> float:
        """The p-value to go by: from the draws where there are any."""
        return self.p_value if np.isnan(self.p_drawn) else self.p_drawn

    def record(self) -> Record:
        place = {"metric": self.metric, **_place(self), "references": self.references, "statistic": self.statistic}
        p_values = {"p_value": self.p_value, "p_drawn": self.p_drawn}
        return {**place, **estimate_record(self.estimate), **p_values, "detail": self.detail or None}

    def cell(self) -> str:
        stars = "**" if self.p < 0.01 else "*" if self.p < 0.05 else ""
        return shown(self.estimate) + stars


@dataclass(frozen=True)
class MetricPair:
    """Whether one metric correlates better than another with a dimension; signs are turned where lower is better."""

    dimension: str
    unit: Unit
    slice: str
    first: str
    second: str
    difference: CorrelationDifference

    def record(self) -> Record:
        test = self.difference
        correlations = {"first_correlation": test.first, "second_correlation": test.second}
        tested = {"difference": test.difference, "p_value": test.p_value, "test": test.test, "n": test.n}
        return {**_place(self), "first": self.first, "second": self.second, **correlations, **tested}


def _place(row: MetricCorrelation | MetricPair) -> Record:
    return {"dimension": row.dimension, "level": row.unit, "slice": row.slice}


@dataclass(frozen=True, repr=False)
class MetricCorrelations(Result):
    """Metrics against people: rows of correlations, tests between metrics, metrics against each other.

    ``slices`` says how many outputs each has, ``filtered`` how one was chosen; ``scores`` are by set of references.
    """

    judgements: Judgements
    sampling: Sampling
    scores: tuple[MetricScores, ...]
    dimensions: tuple[str, ...]
    rows: tuple[MetricCorrelation, ...]
    pairs: tuple[MetricPair, ...]
    metric_metric: Mapping[tuple[str, str], float]
    slices: Mapping[str, int]
    filtered: str = ""

    def row(self, metric: str, statistic: Statistic = "pearson", **wanted: str) -> MetricCorrelation:
        """The first row with these properties (unit="item", slice="all" …); an error where there is none."""
        wanted = {"metric": metric, "statistic": statistic, "unit": "item", "slice": "all", **wanted}
        for row in self.rows:
            if all(getattr(row, key) == value for key, value in wanted.items()):
                return row
        raise BadInput(f"There is no correlation with {wanted}.")

    def records(self) -> list[Record]:
        return [row.record() for row in self.rows]

    def json(self) -> Record:
        return {
            **described(self.judgements, self.sampling),
            "slices": dict(self.slices),
            "filter": self.filtered or None,
            "correlations": self.records(),
            "comparisons": [pair.record() for pair in self.pairs],
            "metric_metric": [
                {"first": first, "second": second, "pearson": value}
                for (first, second), value in self.metric_metric.items()
            ],
            "signatures": {
                metric.name: str(metric.signature) for scores in self.scores for metric in scores.metrics.values()
            },
        }

    def tables(self) -> list[Table]:
        """A table for each dimension, unit, slice and set of references; then tests; then metrics among themselves."""
        groups: dict[tuple[str, str, str, str], list[MetricCorrelation]] = {}
        for row in self.rows:
            groups.setdefault((row.unit, row.dimension, row.slice, row.references), []).append(row)
        tests = [self._pairs_table()] if self.pairs else []
        among = [self._metrics_table()] if self.metric_metric else []
        return [*map(_statistics_table, groups.values()), *tests, *among]

    def _pairs_table(self) -> Table:
        rows = tuple(
            (
                pair.first,
                pair.second,
                pair.unit if pair.slice == "all" else f"{pair.unit}, {pair.slice}",
                pair.dimension,
                *map(number, (pair.difference.first, pair.difference.second)),
                p_value(pair.difference.p_value, decimals=3),
                pair.difference.test.partition(",")[0],
            )
            for pair in self.pairs
        )
        header = ("metric A", "metric B", "unit", "dimension", "r of A", "r of B", "p", "test")
        caption = f"Does A correlate better than B? {_TURNED}"
        return Table(header, rows, caption=caption, text_columns=frozenset({0, 1, 2, 3, 7}))

    def _metrics_table(self) -> Table:
        names = list(self.scores[0].metrics)
        values = {frozenset(pair): value for pair, value in self.metric_metric.items()}
        rows = tuple(
            (row, *("" if row == name else number(values[frozenset((row, name))]) for name in names)) for row in names
        )
        return Table(("Pearson", *names), rows, caption=f"Metrics against each other, by output. {_TURNED}")

    def notes(self) -> list[Note]:
        lines = [
            "Spearman's rho (ties share a rank); Kendall's tau-b; pairwise accuracy after tie calibration. "
            "* p < .05, ** p < .01.",
            *(
                _how_sure(unit, rows)
                for unit in get_args(Unit)
                if (rows := [row for row in self.rows if row.unit == unit])
            ),
        ]
        if self.pairs:
            lines.append(_TESTS)
        if any(pair.difference.n < self._rated(pair) for pair in self.pairs):
            lines.append("Two metrics are compared on the outputs for which both are defined.")
        if self.filtered:
            lines.append(f"filtered: {self.filtered}.")
        fixed = [row.detail for row in self.rows if row.statistic == "partial"]
        lines += [f"Partial correlations are {detail}." for detail in fixed[:1] if detail]
        read = [remark for scores in self.scores for remark in scores.remarks]
        few = few_items(len(self.judgements.items)) if any(row.unit == "item" for row in self.rows) else []
        return [*self.judgements.remarks, *read, *map(Note, lines), *few]

    def _rated(self, pair: MetricPair) -> int:
        """On how many units the two metrics of a pair are correlated in the tables above."""
        return max(self.row(name, unit=pair.unit, slice=pair.slice, dimension=pair.dimension).estimate.n
                   for name in (pair.first, pair.second))  # fmt: skip


_TESTS = (
    "Tests between metrics: by item believe permute-items, which exchanges items with all their outputs and speaks of "
    "these systems; by system believe permute-systems, which exchanges systems. Williams' test is the literature's; it "
    "takes all outputs for independent, and says too much where many are of one item."
)


def _how_sure(unit: Unit, rows: Sequence[MetricCorrelation]) -> str:
    """What the brackets and stars of a unit are, and why some are not there."""
    if unit == "item":
        drawn = f"{rows[0].estimate.level:.0%} {rows[0].estimate.method}"
        return f"By item, in brackets: {drawn}; items are drawn with all their outputs, for stars too."
    correlations = [row for row in rows if row.statistic != "accuracy"]
    tested = [row for row in correlations if row.estimate.n >= FEWEST_SYSTEMS]
    parts = []
    if tested:
        parts.append(
            f"By system, in brackets: {tested[0].estimate.level:.0%} intervals over systems (Fisher's z, which suits "
            "systems that scatter normally; with outliers believe ranks); stars are from permutations of the systems. "
            "A perfect correlation has no interval."
        )
    if len(tested) < len(correlations):
        parts.append(
            f"Correlations of fewer than {FEWEST_SYSTEMS} systems have no interval, no p-value and no stars: so few "
            "cannot show one."
        )
    return " ".join(parts)


def _statistics_table(rows: list[MetricCorrelation]) -> Table:
    """Rows of one dimension, unit, slice and set of references: metrics down, statistics across."""
    statistics = dict.fromkeys(row.statistic for row in rows)
    metrics = dict.fromkeys(row.metric for row in rows)
    cells = {(row.metric, row.statistic): row.cell() for row in rows}
    first = rows[0]
    what = f"{max(row.estimate.n for row in rows)} {'systems' if first.unit == 'system' else 'outputs'}"
    chosen = f", {first.slice}" if first.slice != "all" else ""
    against = f", references {first.references}" if first.references else ""
    return Table(
        ("metric", *(STATISTICS[name] for name in statistics)),
        tuple((metric, *(cells.get((metric, name), "") for name in statistics)) for metric in metrics),
        caption=f"{first.dimension} by {first.unit}: {what}{chosen}{against}. {_TURNED}",
    )
