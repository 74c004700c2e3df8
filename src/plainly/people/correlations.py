"""Metrics against people: scores of exactly the outputs that were rated, their correlations with the ratings by output
and by system, by dimension and by slice, and tests of which metric agrees better.

One slice isolates simplicity: outputs that are fluent and keep the meaning (Cripwell et al. 2023). Raters also call
broken outputs hard, so a metric can seem to measure simplicity by measuring fluency. On outputs that are all fluent and
adequate it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from plainly import data
from plainly.core import registry
from plainly.core.errors import BadInput, PlainlyError, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.formatting import number, p_value
from plainly.core.metric import Better, Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.io.files import read_lines
from plainly.people.rating_tables import ROLES, read_score_table
from plainly.people.ratings import Judgements, Units
from plainly.scoring.evaluate import evaluate
from plainly.scoring.scores import Scores
from plainly.stats import correlate
from plainly.stats.correlate import Correlation, CorrelationDifference, correlation, pairwise_accuracy
from plainly.stats.resample import Estimate, Floats, ratio

# Fewer systems are not tested: exchanging five gives no p-value below 2 / 2^5 = .06.
FEWEST_SYSTEMS = 6

PERMUTATIONS = 5000

# Names of the dimensions that are held fixed or filtered by, the most common first.
FLUENCY = ("fluency", "grammaticality")
ADEQUACY = ("meaning", "adequacy", "meaning_preservation")

Unit = Literal["item", "system"]
Slicing = Literal["type", "simplicity"]
Statistic = Literal["pearson", "spearman", "kendall", "accuracy", "partial"]
STATISTICS: dict[Statistic, str] = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "accuracy": "pairwise accuracy",
    "partial": "partial Pearson",
}
_TESTS = (
    "Tests between metrics: by item permute-items, which exchanges items with all their outputs and holds for these "
    "systems; by system permute-systems, which exchanges systems, and Williams' test. By item, Williams' test is only "
    "in JSON, for comparison with the literature: it treats all outputs as independent, so its p-values are too small "
    "where many outputs share an item."
)
_SIGNS = "Signs are reversed where lower is better, so that higher always means better agreement."
_NAN = float("nan")
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class UnitScores:
    """One metric on all units: additive rows, the formula over their sums, and each unit's score."""

    name: str
    rows: Floats
    score: Callable[[Floats], Floats]
    segments: Floats
    better: Better = "higher"
    signature: str = ""

    @property
    def higher_better(self) -> UnitScores:
        """The same with the sign reversed where lower is better, so that agreement with people is positive."""
        if self.better != "lower":
            return self
        return replace(self, score=lambda totals: -self.score(totals), segments=-self.segments, better="higher")

    def by_system(self, units: Units) -> Floats:
        """Return each system's score; NaN without a unit."""
        scores = np.full(len(units.systems), np.nan)
        for system in np.unique(units.system):
            scores[system] = self.score(self.rows[units.system == system].sum(axis=0))
        return scores


@dataclass(frozen=True)
class MetricScores:
    """Several metrics on the same units."""

    units: Units
    metrics: Mapping[str, UnitScores]
    references: str = ""
    remarks: tuple[Note, ...] = ()  # on the file of scores

    def __getitem__(self, name: str) -> UnitScores:
        return self.metrics[name]

    @property
    def higher_better(self) -> MetricScores:
        """All metrics with higher as better, so that every sign in a table has the same meaning."""
        return replace(self, metrics={name: metric.higher_better for name, metric in self.metrics.items()})

    def select(self, mask: Bools) -> MetricScores:
        metrics = {
            name: replace(metric, rows=metric.rows[mask], segments=metric.segments[mask])
            for name, metric in self.metrics.items()
        }
        return replace(self, units=self.units[mask], metrics=metrics)


def score_units(
    judgements: Judgements,
    units: Units,
    specs: Metrics,
    *,
    references: str | None = None,
    progress: Progress = no_progress,
) -> MetricScores:
    """Measure the rated outputs in one pass: one item for each unit, with its source and references."""
    if not judgements.outputs:
        raise BadInput(
            f"{judgements.name} has ratings but no texts. Pass a table with the columns source and output, the name of "
            "the test set (test_set=), or scores (scores=)."
        )
    pairs = units.pairs
    if missing := [pair for pair in pairs if pair not in judgements.outputs]:
        raise BadInput(
            f"The output of {missing[0][0]!r} for item {missing[0][1]!r} is missing, and {len(missing) - 1} others. "
            "Add the outputs, or leave those systems out (systems=)."
        )
    if references and references not in judgements.references:
        names = ", ".join(judgements.references) or "none"
        raise BadInput(f"{judgements.name} has no references {references!r}. It has: {names}.")
    name = next(iter(judgements.references), "") if references is None else references
    by_item = judgements.references.get(name, {})
    evalset = EvalSet.of(
        [judgements.sources.get(item, "") for _, item in pairs],
        references=[by_item[item] for _, item in pairs] if by_item else None,
        ids=[f"{system}\t{item}" for system, item in pairs],
        name=judgements.name,
    )
    outputs = [judgements.outputs[pair] for pair in pairs]
    evaluation = evaluate(evalset, {"": outputs}, specs, sampling=None, progress=progress)[""]
    return MetricScores(units, {spec: _unit_scores(spec, scores) for spec, scores in evaluation.items()}, name)


def _unit_scores(spec: str, scores: Scores) -> UnitScores:
    metric = scores.metric
    segments, signature = scores.segments[metric.outputs[0]], str(scores.signature)
    return UnitScores(
        spec, scores.rows, lambda totals: metric.score(totals)[..., 0], segments, metric.better, signature
    )


def read_scores(units: Units, path: str | Path, *, metrics: Sequence[str] = ()) -> MetricScores:
    """Read scores from a table with the columns system, item (or id) and one for each metric; systems get means."""
    table = read_score_table(path)
    for name in metrics:
        if name not in table.columns:
            raise UnknownName(f"column of scores in {path}", name, table.columns, see=str(path))
    absent = len(table.rows)
    index = np.array([table.rows.get(pair, absent) for pair in units.pairs], dtype=np.intp)
    if (index == absent).all():
        raise BadInput(f"{path} has no scores of any rated output. Use the names of systems and items in the ratings.")
    scores = {
        name: mean_metric(name, np.array([*table.columns[name], np.nan])[index], better=_better(name))
        for name in metrics or table.columns
    }
    return MetricScores(units, scores, str(path), table.remarks)


def _better(name: str) -> Better:
    """Return which scores are better, if a column has the name of one of plainly's metrics."""
    try:
        return registry.metric(name).better
    except PlainlyError:
        return "higher"


def mean_metric(name: str, values: Floats, *, better: Better = "higher") -> UnitScores:
    """Return a metric known only by the scores of outputs; a system's score is their mean."""
    defined = ~np.isnan(values)
    rows = np.stack([np.where(defined, values, 0.0), defined.astype(float)], axis=1)
    return UnitScores(name, rows, lambda totals: ratio(totals[..., 0], totals[..., 1]), values, better)


def with_test_set(judgements: Judgements, name: str, *, progress: Progress = no_progress) -> Judgements:
    """Add the texts of a named set to judgements, and the published outputs of systems that have none."""
    missing = (set(judgements.systems) - {system for system, _ in judgements.outputs}) & set(data.system_names(name))
    outputs = data.outputs_of(name, sorted(missing), progress=progress)
    return with_texts(judgements, data.load(name, progress=progress), outputs)


def with_texts(judgements: Judgements, evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> Judgements:
    """Add the texts of an evaluation set, whose ids are the rated items, to judgements."""
    rows = {identifier: row for row, identifier in enumerate(evalset.ids)}
    if unknown := [item for item in judgements.items if item not in rows]:
        raise BadInput(
            f"Item {unknown[0]!r} was rated but is not in {evalset.name or 'the test set'}, nor are {len(unknown) - 1} "
            f"other rated items. Its ids go from {evalset.ids[0]!r} to {evalset.ids[-1]!r}."
        )
    by_item = {item: rows[item] for item in judgements.items}
    references = {item: evalset.references[row] for item, row in by_item.items()} if evalset.references else {}
    texts = {(system, item): lines[row] for system, lines in outputs.items() for item, row in by_item.items()}
    return replace(
        judgements,
        sources={item: evalset.sources[row] for item, row in by_item.items()},
        references={evalset.name or "references": references} if references else {},
        outputs={**judgements.outputs, **texts},
    )


@dataclass(frozen=True)
class Filter:
    """A filter that keeps outputs whose mean rating on every dimension is high enough.

    ``unit="sd"``: at least ``threshold`` standard deviations above the mean of all rated outputs. ``unit="points"``: at
    least ``threshold`` itself. Outputs for ``without_sources`` (for example a metric's training data) are left out too.
    """

    dimensions: tuple[str, ...] = ("fluency_zscore", "meaning_zscore")
    threshold: float = 0.3
    unit: Literal["sd", "points"] = "sd"
    without_sources: Collection[str] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        judgements: Judgements,
        *,
        dimensions: Sequence[str] = (),
        threshold: float = 0.3,
        unit: Literal["sd", "points"] = "sd",
        without_sources: str | Collection[str] = (),
    ) -> Filter:
        """Filter by the named dimensions, or else by those of fluency and meaning.

        ``without_sources`` is a collection of texts, a file with one per line, or a card of ratings with sources.
        """
        names = tuple(dimensions) or _fluency_and_meaning(judgements, ("_zscore", ""))
        if not names:
            raise BadInput(
                f"{judgements.name} has no dimension like fluency or meaning. Name some: --filter-by A,B, or "
                "Filter.of(…, dimensions=…)."
            )
        if isinstance(without_sources, str) and without_sources:
            without_sources = _read_sources(without_sources)
        return cls(names, threshold, unit, without_sources)

    def mask(self, judgements: Judgements, units: Units) -> Bools:
        if self.unit not in ("sd", "points"):
            raise BadInput(f"The unit of a filter's threshold is sd or points, not {self.unit!r}.")
        mask = np.ones(len(units), dtype=bool)
        for values in (judgements.human(dimension, units) for dimension in self.dimensions):
            mean, sd = (np.nanmean(values), np.nanstd(values)) if self.unit == "sd" else (0.0, 1.0)
            mask &= values >= mean + self.threshold * sd
        if self.without_sources:
            if not judgements.sources:
                raise BadInput(f"{judgements.name} has no sources, so none can be left out. Add a column 'source'.")
            keys = set(map(_letters, self.without_sources))
            mask &= np.array([_letters(judgements.sources[item]) not in keys for item in units.item_names], dtype=bool)
        return mask

    def __str__(self) -> str:
        above = f"mean + {self.threshold:g} sd" if self.unit == "sd" else f"{self.threshold:g}"
        without = f", without {len(self.without_sources)} sources" if self.without_sources else ""
        return f"{' and '.join(self.dimensions)} ≥ {above}{without}"


def _fluency_and_meaning(judgements: Judgements, suffixes: Sequence[str]) -> tuple[str, ...]:
    """Return the first dimension of fluency and the first of meaning that were rated, with one of the suffixes."""
    forms = ([name + suffix for name in names for suffix in suffixes] for names in (FLUENCY, ADEQUACY))
    rated = ([name for name in names if name in judgements] for names in forms)
    return tuple(names[0] for names in rated if names)


def _read_sources(name: str) -> frozenset[str]:
    if Path(name).exists():
        return frozenset(read_lines(name))
    table = data.table(name)
    columns = [column for column in ROLES["source"] if column in table.columns]
    if not columns:
        raise BadInput(f"{name} has no column of sources.")
    return frozenset(map(str, table[columns[0]]))


def _letters(text: str) -> str:
    """Return letters and digits alone: the same sentence may be tokenised and cased differently elsewhere."""
    return "".join(character for character in text.casefold() if character.isalnum())


def correlate_metrics(
    judgements: Judgements,
    scores: Sequence[MetricScores],
    *,
    dimensions: Sequence[str],
    statistics: Sequence[Statistic] = tuple(STATISTICS),
    units: Sequence[Unit] = ("item", "system"),
    control: Sequence[str] | None = None,
    subset: Filter | None = None,
    slices: Sequence[Slicing] = (),
    compare: bool = True,
    sampling: Sampling = Sampling(),
    progress: Progress = no_progress,
) -> MetricCorrelations:
    """Correlate metric scores, a set for each set of references, with ratings; ``subset`` adds a slice.

    The partial correlation holds ``control`` fixed (default: fluency and adequacy where they were rated). Signs are
    reversed where lower is better. By item, intervals and p-values leave out items, each with the outputs of all
    systems; by system they are over systems. There are none with too few items or systems.
    """
    rows: list[MetricCorrelation] = []
    pairs: list[MetricPair] = []
    parts = [
        part
        for by_references, dimension in product(scores, dimensions)
        for part in _slices(judgements, by_references.higher_better, dimension, subset, slices)
    ]
    total = sum(len(part.scores.metrics) for part in parts)
    with progress("correlating", total=total, unit="metrics") as tell:
        for part in parts:
            held = _controls(judgements, part.dimension) if control is None else control
            for metric in part.scores.metrics.values():
                if "item" in units:
                    rows.extend(_by_item(part, metric, statistics, sampling.level))
                    if held and "partial" in statistics:
                        rows.append(_partial_row(part, metric, held, sampling.level))
                if "system" in units and not part.name.startswith("type="):
                    rows.extend(_by_system(part, metric, statistics, sampling))
                tell(1)
            if compare and len(part.scores.metrics) > 1 and part.name in ("all", "filtered"):
                pairs.extend(_metric_pairs(part, units, sampling))
    among = {
        (first.name, second.name): correlation(first.segments, second.segments)
        for first, second in combinations(scores[0].higher_better.metrics.values(), 2)
    }
    subject = (judgements, sampling, tuple(scores), tuple(dimensions))
    sizes = {part.name: len(part.scores.units) for part in parts}
    return MetricCorrelations(*subject, tuple(rows), tuple(pairs), among, sizes, str(subset) if subset else "")


@dataclass(frozen=True)
class _Slice:
    """Some of the rated outputs, with the scores of metrics and the ratings of people."""

    judgements: Judgements
    dimension: str
    name: str
    scores: MetricScores
    human: Floats

    def row(
        self, metric: UnitScores, unit: Unit, statistic: Statistic, result: Correlation, detail: str = ""
    ) -> MetricCorrelation:
        return MetricCorrelation(
            **vars(result),
            metric=metric.name,
            dimension=self.dimension,
            unit=unit,
            slice=self.name,
            references=self.scores.references,
            statistic=statistic,
            detail=detail,
        )


def _slices(
    judgements: Judgements, scores: MetricScores, dimension: str, subset: Filter | None, slices: Sequence[Slicing]
) -> list[_Slice]:
    """Return slices: all rated outputs, the filtered ones, each type of system, each third by perceived simplicity."""
    human = judgements.human(dimension, scores.units)
    masks = {"all": ~np.isnan(human)}
    if subset is not None:
        masks["filtered"] = subset.mask(judgements, scores.units)
    if "type" in slices:
        if not judgements.types:
            raise BadInput(f"{judgements.name} has no types of systems. Add a column 'type'.")
        types = np.array([judgements.types.get(system, "") for system in scores.units.system_names], dtype=object)
        masks |= {f"type={name or 'not given'}": types == name for name in sorted(set(types))}
    if "simplicity" in slices:
        low, high = np.nanquantile(human, [1 / 3, 2 / 3])
        masks[f"{dimension}=low"] = human <= low
        masks[f"{dimension}=middle"] = (human > low) & (human <= high)
        masks[f"{dimension}=high"] = human > high
    masks = {name: mask & masks["all"] for name, mask in masks.items()}
    return [_Slice(judgements, dimension, name, scores.select(mask), human[mask]) for name, mask in masks.items()]


def _by_item(
    part: _Slice, metric: UnitScores, statistics: Sequence[Statistic], level: float
) -> Iterator[MetricCorrelation]:
    items = part.scores.units.item_names
    for kind in (kind for kind in correlate.KINDS if kind in statistics):
        result = correlate.correlate(metric.segments, part.human, kind=kind, groups=items, level=level)
        yield part.row(metric, "item", kind, result)
    if "accuracy" in statistics:
        # Outputs are compared within items where most items were rated for several systems.
        counts = np.bincount(part.scores.units.item)
        within = np.sum(counts >= 3) >= 0.5 * np.sum(counts > 0)
        right = pairwise_accuracy(metric.segments, part.human, groups=items if within else None, level=level)
        detail = f"{right.pairs} pairs {'within items' if within else 'of outputs'}, ties up to {right.threshold:.4g}"
        yield part.row(metric, "item", "accuracy", Correlation(right.estimate, _NAN), detail)


def _partial_row(part: _Slice, metric: UnitScores, control: Sequence[str], level: float) -> MetricCorrelation:
    """Return the partial correlation, with the ``control`` dimensions held constant."""
    controls = np.stack([part.judgements.human(name, part.scores.units) for name in control], axis=1)
    mask = ~(np.isnan(metric.segments) | np.isnan(part.human) | np.isnan(controls).any(axis=1))
    x, y, z = metric.segments[mask], part.human[mask], controls[mask]
    value = float(correlate.partial(x, y, z)[0]) if mask.sum() > len(control) + 2 else _NAN
    weights = correlate.leave_out_weights(len(x), groups=part.scores.units[mask].item_names)
    without = correlate.partial(x, y, z, weights=weights) if not np.isnan(value) else np.full(len(weights), np.nan)
    result = correlate.jackknife(value, without, level=level, n=len(x))
    result = replace(result, p_independent=correlate.t_test(value, df=len(x) - 2 - len(control)))
    return part.row(metric, "item", "partial", result, f"given {', '.join(control)}")


def _by_system(
    part: _Slice, metric: UnitScores, statistics: Sequence[Statistic], sampling: Sampling
) -> Iterator[MetricCorrelation]:
    """Correlate systems' scores with their mean ratings; the systems are the sample."""
    units = part.scores.units
    present = np.unique(units.system)
    scores, means = metric.by_system(units)[present], system_means(part.human, units)[present]
    both = ~np.isnan(scores + means)
    scores, means, n = scores[both], means[both], int(both.sum())
    no_interval = f"no interval: fewer than {FEWEST_SYSTEMS}"
    rng = np.random.default_rng(sampling.seed)
    for kind in (kind for kind in correlate.KINDS if kind in statistics):
        value = correlation(scores, means, kind=kind)
        estimate, p = Estimate(value, _NAN, _NAN, sampling.level, n, no_interval), _NAN
        if n >= FEWEST_SYSTEMS:
            estimate = correlate.fisher_interval(value, kind=kind, n=n, level=sampling.level, unit="systems")
            p = correlate.permutation_p_value(scores, means, kind=kind, permutations=PERMUTATIONS, rng=rng)
        yield part.row(metric, "system", kind, Correlation(estimate, p))
    if "accuracy" in statistics:
        right = pairwise_accuracy(scores, means, calibrate=False)
        estimate = Estimate(right.estimate.value, _NAN, _NAN, sampling.level, right.estimate.n, "no interval")
        result = Correlation(estimate, _NAN)
        yield part.row(metric, "system", "accuracy", result, f"{right.pairs} pairs")


def system_means(human: Floats, units: Units) -> Floats:
    """Return the mean rating of each system, in the order of ``UnitScores.by_system``; NaN if no output was rated."""
    return np.round(mean_metric("human", human).by_system(units), 10)  # Equal means must tie despite rounding errors.


def _metric_pairs(part: _Slice, units: Sequence[Unit], sampling: Sampling) -> Iterator[MetricPair]:
    """Test whether one metric correlates better than another, by Williams' test and by exchanging their scores: those
    of items with all their outputs for a claim about items, those of systems for a claim about systems.
    """
    outputs = part.scores.units
    means = system_means(part.human, outputs)
    for first, second in combinations(part.scores.metrics.values(), 2):
        exchange = partial(correlate.exchange_test, permutations=PERMUTATIONS, rng=np.random.default_rng(sampling.seed))
        for unit in sorted(units):
            if unit == "item":
                scores = (part.human, first.segments, second.segments)
                tests = (correlate.williams_test(*scores), exchange(*scores, groups=outputs.item_names))
            else:
                scores = (means, first.by_system(outputs), second.by_system(outputs))
                tests = (correlate.williams_test(*scores), exchange(*scores, unit="systems"))
            for test in tests:
                is_tested = unit == "item" or test.n >= FEWEST_SYSTEMS
                difference = test if is_tested else replace(test, p_value=_NAN)
                yield MetricPair(part.dimension, unit, part.name, first.name, second.name, difference)


def _controls(judgements: Judgements, dimension: str) -> tuple[str, ...]:
    """Return fluency and adequacy, in the same form (z-scores or not) as the dimension, where they were rated."""
    if dimension.startswith((*FLUENCY, *ADEQUACY)):
        return ()
    return _fluency_and_meaning(judgements, ["_zscore" if dimension.endswith("_zscore") else ""])


@dataclass(frozen=True, kw_only=True)
class MetricCorrelation(Correlation):
    """One statistic of a metric against a dimension, on one slice of outputs; signs are reversed if lower is better.

    By item, ``p_value`` is from leaving out items; by system, from permutations of the systems.
    """

    metric: str
    dimension: str
    unit: Unit
    slice: str
    references: str
    statistic: Statistic
    detail: str = ""

    def record(self) -> Record:
        subject = {"metric": self.metric, "dimension": self.dimension, "level": self.unit, "slice": self.slice}
        statistic = {"references": self.references, "statistic": self.statistic, **self.estimate.record()}
        p_values = {"p_value": self.p_value, "p_independent": self.p_independent}
        return {**subject, **statistic, **p_values, "detail": self.detail or None}


@dataclass(frozen=True)
class MetricPair:
    """A test of whether one metric correlates better than another; signs are reversed if lower is better."""

    dimension: str
    unit: Unit
    slice: str
    first: str
    second: str
    difference: CorrelationDifference

    def record(self) -> Record:
        test = self.difference
        subject = {"dimension": self.dimension, "level": self.unit, "slice": self.slice}
        correlations = {"first_correlation": test.first, "second_correlation": test.second}
        result = {"difference": test.difference, "p_value": test.p_value, "test": test.test, "n": test.n}
        return {**subject, "first": self.first, "second": self.second, **correlations, **result}


@dataclass(frozen=True, repr=False)
class MetricCorrelations(Result):
    """Metrics against people: rows of correlations, tests between metrics, metrics against each other.

    ``slices`` has the number of outputs of each slice, ``filter_text`` the filter in words; ``scores`` has an entry for
    each set of references.
    """

    judgements: Judgements
    sampling: Sampling
    scores: tuple[MetricScores, ...]
    dimensions: tuple[str, ...]
    rows: tuple[MetricCorrelation, ...]
    pairs: tuple[MetricPair, ...]
    metric_metric: Mapping[tuple[str, str], float]
    slices: Mapping[str, int]
    filter_text: str = ""

    def row(self, metric: str, statistic: Statistic = "pearson", **properties: str) -> MetricCorrelation:
        """Return the first row with these properties (unit="item", slice="all" …); raise if there is none."""
        properties = {"metric": metric, "statistic": statistic, "unit": "item", "slice": "all", **properties}
        for row in self.rows:
            if properties.items() <= vars(row).items():
                return row
        raise BadInput(f"There is no correlation with {properties}.")

    def records(self) -> list[Record]:
        return [row.record() for row in self.rows]

    def json(self) -> Record:
        return {
            **self.judgements.summary(self.sampling),
            "slices": dict(self.slices),
            "filter": self.filter_text or None,
            "correlations": self.records(),
            "comparisons": [pair.record() for pair in self.pairs],
            "metric_metric": [
                {"first": first, "second": second, "pearson": value}
                for (first, second), value in self.metric_metric.items()
            ],
            "signatures": {
                metric.name: metric.signature for scores in self.scores for metric in scores.metrics.values()
            },
        }

    def tables(self) -> list[Table]:
        """Return a table for each dimension, unit, slice and set of references, then tests, then metrics by metrics."""
        groups: dict[tuple[str, str, str, str], list[MetricCorrelation]] = {}
        for row in self.rows:
            groups.setdefault((row.unit, row.dimension, row.slice, row.references), []).append(row)
        tests = tuple(
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
            if pair.unit == "system" or not pair.difference.test.startswith("williams")
        )
        header = ("metric A", "metric B", "unit", "dimension", "r of A", "r of B", "p", "test")
        names = list(self.scores[0].metrics)
        values = {frozenset(pair): number(value) for pair, value in self.metric_metric.items()}
        among = tuple((row, *(values.get(frozenset((row, name)), "") for name in names)) for row in names if values)
        further = [
            Table(header, tests, f"Does A correlate better than B? {_SIGNS}", text_columns=frozenset({0, 1, 2, 3, 7})),
            Table(("Pearson", *names), among, f"Metrics against each other, by output. {_SIGNS}"),
        ]
        return [*map(_statistics_table, groups.values()), *(table for table in further if table.rows)]

    def notes(self) -> list[Note]:
        lines = [
            "Spearman's rho (ties share a rank); Kendall's tau-b; pairwise accuracy after tie calibration. "
            "* p < .05, ** p < .01.",
            *_uncertainty_notes(self.rows),
        ]
        if self.pairs:
            lines.append(_TESTS)
        if any(
            pair.difference.n < self.row(name, unit=pair.unit, slice=pair.slice, dimension=pair.dimension).estimate.n
            for pair in self.pairs
            for name in (pair.first, pair.second)
        ):
            lines.append("Two metrics are compared on the outputs for which both are defined.")
        if self.filter_text:
            lines.append(f"filtered: {self.filter_text}.")
        details = [row.detail for row in self.rows if row.statistic == "partial"]
        lines += [f"Partial correlations are {detail}." for detail in details[:1] if detail]
        remarks = [remark for scores in self.scores for remark in scores.remarks]
        return [*self.judgements.remarks, *remarks, *map(Note, lines)]


def _uncertainty_notes(rows: Sequence[MetricCorrelation]) -> Iterator[str]:
    """Explain the brackets and stars of each unit, and why some correlations have none."""
    if estimate := next((row.estimate for row in rows if row.unit == "item"), None):
        yield (
            f"By item, in brackets: {estimate.level:.0%} intervals over items (jackknife: each item is left out in "
            "turn, with all its outputs), also for the stars. Fewer than "
            f"{correlate.FEWEST_GROUPS} items have neither; a perfect correlation has no interval."
        )
    correlations = [row.estimate for row in rows if row.unit == "system" and row.statistic != "accuracy"]
    with_interval = [estimate for estimate in correlations if estimate.n >= FEWEST_SYSTEMS]
    parts = []
    if with_interval:
        parts.append(
            f"By system, in brackets: {with_interval[0].level:.0%} intervals over systems (Fisher's z, for systems "
            "that scatter normally; with outliers rely on ranks); stars are from permutations of the systems. A "
            "perfect correlation has no interval."
        )
    if len(with_interval) < len(correlations):
        parts.append(
            f"Correlations of fewer than {FEWEST_SYSTEMS} systems have no interval, no p-value and no stars: there are "
            "too few systems to show one."
        )
    if parts:
        yield " ".join(parts)


def _statistics_table(rows: list[MetricCorrelation]) -> Table:
    """Tabulate rows of one dimension, unit, slice and set of references: metrics down, statistics across."""
    statistics = dict.fromkeys(row.statistic for row in rows)
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        stars = "**" if row.p_value < 0.01 else "*" if row.p_value < 0.05 else ""
        cells.setdefault(row.metric, {})[row.statistic] = f"{row.estimate}{stars}"
    first = rows[0]
    size = f"{max(row.estimate.n for row in rows)} {'systems' if first.unit == 'system' else 'outputs'}"
    part = f", {first.slice}" if first.slice != "all" else ""
    references = f", references {first.references}" if first.references else ""
    return Table(
        ("metric", *(STATISTICS[name] for name in statistics)),
        tuple((metric, *(row.get(name, "") for name in statistics)) for metric, row in cells.items()),
        caption=f"{first.dimension} by {first.unit}: {size}{part}{references}. {_SIGNS}",
    )
