"""Metrics against people: scores of exactly the outputs that were rated, their correlations with the ratings by output
and by system, by dimension and by slice, and tests of which metric agrees better.

One slice isolates simplicity: outputs that are fluent and keep the meaning (Cripwell et al. 2023). Where an output is
broken, people call it hard as well, and a metric can then seem to measure simplicity by measuring fluency. On outputs
that are all fluent and adequate it cannot.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from plainly import data
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.formatting import number, p_value
from plainly.core.metric import Better, Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.io.lines import read_lines
from plainly.io.tables import read_table
from plainly.people.rating_tables import ROLES, judgements_of
from plainly.people.ratings import Judgements, Units
from plainly.scoring.evaluate import evaluate
from plainly.scoring.scores import Scores
from plainly.stats import correlate
from plainly.stats.correlate import CorrelationDifference, correlation, pairwise_accuracy
from plainly.stats.resample import Estimate, Floats, ratio

# From how many systems on a correlation between them is tested: exchanging five gives no p-value below 2 / 2^5 = .06.
FEWEST_SYSTEMS = 6

PERMUTATIONS = 5000

# What studies call the dimensions that are held fixed or filtered by, the likeliest first.
FLUENCY = ("fluency", "grammaticality")
ADEQUACY = ("meaning", "adequacy", "meaning_preservation")

Unit = Literal["item", "system"]
Statistic = Literal["pearson", "spearman", "kendall", "accuracy", "partial"]
_NAMES = ("Pearson", "Spearman", "Kendall tau-b", "pairwise accuracy", "partial Pearson")
_TESTS = (
    "Tests between metrics: by item believe permute-items, which exchanges items with all their outputs and speaks of "
    "these systems; by system believe permute-systems, which exchanges systems. Williams' test is the literature's; it "
    "takes all outputs for independent, and says too much where many are of one item."
)
_TURNED = "Signs are turned where lower is better: higher agrees better."
Slicing = Literal["type", "simplicity"]
STATISTICS: dict[Statistic, str] = dict(zip(get_args(Statistic), _NAMES, strict=True))


Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class UnitScores:
    """One metric on all units: rows that add up, the formula over their sums, and each unit's score."""

    name: str
    rows: Floats
    score: Callable[[Floats], Floats]
    segments: Floats
    better: Better = "higher"
    signature: str = ""

    @property
    def turned(self) -> UnitScores:
        """The same with the sign turned where lower is better: agreement with people is then positive."""
        if self.better != "lower":
            return self
        return replace(self, score=lambda totals: -self.score(totals), segments=-self.segments, better="higher")

    def chosen(self, mask: Bools) -> UnitScores:
        return replace(self, rows=self.rows[mask], segments=self.segments[mask])

    def by_system(self, units: Units) -> Floats:
        """Each system's score; NaN without a unit."""
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
    remarks: tuple[Note, ...] = ()  # on the file that they were read from

    def __getitem__(self, name: str) -> UnitScores:
        return self.metrics[name]

    @property
    def turned(self) -> MetricScores:
        """All with higher as better, so that every sign in a table means the same."""
        return replace(self, metrics={name: metric.turned for name, metric in self.metrics.items()})

    def chosen(self, mask: Bools) -> MetricScores:
        metrics = {name: metric.chosen(mask) for name, metric in self.metrics.items()}
        return replace(self, units=self.units[mask], metrics=metrics)


def score_units(
    judgements: Judgements,
    units: Units,
    specs: Metrics,
    *,
    references: str | None = None,
    progress: Progress = no_progress,
) -> MetricScores:
    """Measure the rated outputs, all in one pass: one item for each unit, with its source and references."""
    if not judgements.outputs:
        raise BadInput(
            f"{judgements.name} holds ratings but not what was rated. Give a table with the columns source and output, "
            "name the test set (test_set=), or give scores (scores=)."
        )
    rated = list(zip(units.system_names, units.item_names, strict=True))
    if missing := [pair for pair in rated if pair not in judgements.outputs]:
        raise BadInput(
            f"What {missing[0][0]!r} wrote for item {missing[0][1]!r} is not known; nor are {len(missing) - 1} others. "
            "Give the outputs, or leave those systems out (systems=)."
        )
    chosen = next(iter(judgements.references), "") if references is None else references
    if references and references not in judgements.references:
        known = ", ".join(judgements.references) or "none"
        raise BadInput(f"{judgements.name} has no references {references!r}. It has: {known}.")
    of_items = judgements.references.get(chosen, {})
    evalset = EvalSet.of(
        [judgements.sources.get(item, "") for _, item in rated],
        references=[of_items[item] for _, item in rated] if of_items else None,
        ids=[f"{system}\t{item}" for system, item in rated],
        name=judgements.name,
    )
    outputs = [judgements.outputs[pair] for pair in rated]
    evaluation = evaluate(evalset, {"": outputs}, specs, sampling=None, progress=progress)[""]
    return MetricScores(units, {spec: _unit_scores(spec, scores) for spec, scores in evaluation.items()}, chosen)


def _unit_scores(spec: str, scores: Scores) -> UnitScores:
    metric = scores.metric
    segments = scores.segments[metric.outputs[0]]
    return UnitScores(
        spec, scores.rows, lambda totals: metric.score(totals)[..., 0], segments, metric.better, str(scores.signature)
    )


def read_scores(units: Units, path: str | Path, *, metrics: Sequence[str] = ()) -> MetricScores:
    """Scores from a table with the columns system, item (or id) and one for each metric; a system's is their mean."""
    table = judgements_of(read_table(path), name=str(path))
    pairs = list(zip(units.system_names, units.item_names, strict=True))
    columns = {}
    for name in metrics or table.dimensions:
        means = dict(zip(product(table.systems, table.items), table[name].means.ravel(), strict=True))
        values = np.array([means.get(pair, np.nan) for pair in pairs], dtype=float)
        if np.isnan(values).all():
            missing = f"{path} has no score {name!r} for any rated output"
            raise BadInput(f"{missing}: do its systems and items have the names?")
        columns[name] = mean_metric(name, values)
    return MetricScores(units, columns, str(path), table.remarks)


def mean_metric(name: str, values: Floats, *, better: Better = "higher") -> UnitScores:
    """A metric of which only each output's score is known; a system's score is their mean."""
    defined = ~np.isnan(values)
    rows = np.stack([np.where(defined, values, 0.0), defined.astype(float)], axis=1)
    return UnitScores(name, rows, lambda totals: ratio(totals[..., 0], totals[..., 1]), values, better)


def with_test_set(judgements: Judgements, name: str, *, progress: Progress = no_progress) -> Judgements:
    """The judgements with the texts of a named set, and with the published outputs of the systems that have none."""
    known = {system for system, _ in judgements.outputs}
    missing = [system for system in data.system_names(name) if system in judgements.systems and system not in known]
    outputs = data.outputs_of(name, missing, progress=progress)
    return with_texts(judgements, data.load(name, progress=progress), outputs)


def with_texts(judgements: Judgements, evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> Judgements:
    """The judgements with the texts of an evaluation set whose ids are the rated items."""
    place = {identifier: at for at, identifier in enumerate(evalset.ids)}
    if unknown := [item for item in judgements.items if item not in place]:
        raise BadInput(
            f"Item {unknown[0]!r} was rated but is not in {evalset.name or 'the test set'}, nor are {len(unknown) - 1} "
            f"other rated items. Its ids go from {evalset.ids[0]!r} to {evalset.ids[-1]!r}."
        )
    at = {item: place[item] for item in judgements.items}
    references = {item: evalset.references[row] for item, row in at.items()} if evalset.references else {}
    written = {(system, item): texts[row] for system, texts in outputs.items() for item, row in at.items()}
    return replace(
        judgements,
        sources={item: evalset.sources[row] for item, row in at.items()},
        references={evalset.name or "references": references} if references else {},
        outputs={**judgements.outputs, **written},
    )


@dataclass(frozen=True)
class Filter:
    """Which outputs to keep: those whose mean rating on every dimension is high enough.

    ``unit="sd"``: at least ``threshold`` standard deviations above the mean of all rated outputs. ``unit="points"``: at
    least ``threshold`` itself. Outputs of ``without_sources`` (a metric's training data, say) are left out as well.
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
        """A filter by the named dimensions, or by fluency and meaning as these judgements call them.

        ``without_sources`` is a collection of texts, a file with one a line, or a card of ratings that has them.
        """
        names = tuple(dimensions) or (*_first(judgements, FLUENCY), *_first(judgements, ADEQUACY))
        if not names:
            raise BadInput(
                f"{judgements.name} has no dimension like fluency or meaning. Name some: --filter-by A,B, or "
                "Filter.of(…, dimensions=…)."
            )
        sources = _sources(without_sources) if isinstance(without_sources, str) and without_sources else without_sources
        return cls(names, threshold, unit, sources)

    def mask(self, judgements: Judgements, units: Units) -> npt.NDArray[np.bool_]:
        if self.unit not in ("sd", "points"):
            raise BadInput(f"The unit of a filter's threshold is sd or points, not {self.unit!r}.")
        kept = np.ones(len(units), dtype=bool)
        for values in (judgements.human(dimension, units) for dimension in self.dimensions):
            in_points = self.unit == "points"
            kept &= values >= (self.threshold if in_points else np.nanmean(values) + self.threshold * np.nanstd(values))
        if self.without_sources:
            if not judgements.sources:
                raise BadInput(
                    f"{judgements.name} does not say what the sources were, so none can be left out by text."
                )
            banned = {_folded(source) for source in self.without_sources}
            kept &= np.array([_folded(judgements.sources[item]) not in banned for item in units.item_names], dtype=bool)
        return kept

    def __str__(self) -> str:
        above = f"mean + {self.threshold:g} sd" if self.unit == "sd" else f"{self.threshold:g}"
        without = f", without {len(self.without_sources)} sources" if self.without_sources else ""
        return f"{' and '.join(self.dimensions)} ≥ {above}{without}"


def _first(judgements: Judgements, names: Sequence[str]) -> list[str]:
    """The first of these dimensions that was rated, as z-scores if there are any."""
    return [form for name in names for form in (f"{name}_zscore", name) if form in judgements][:1]


def _sources(name: str) -> frozenset[str]:
    if Path(name).exists():
        return frozenset(read_lines(name))
    table = data.table(name)
    for column in ROLES["source"]:
        if column in table.columns:
            return frozenset(map(str, table[column]))
    raise BadInput(f"{name} has no column of sources.")


def _folded(text: str) -> str:
    """Letters and digits alone: the same sentence may be tokenised and cased in another way elsewhere."""
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

    The partial correlation holds ``control`` fixed (default: fluency and adequacy where they were rated). Scores of
    which lower is better are turned round. By item, intervals draw items, each with the outputs of all systems; by
    system, systems are the sample: intervals and p-values are over them, and with too few there are none.
    """
    rows: list[MetricCorrelation] = []
    pairs: list[MetricPair] = []
    sliced = [
        part
        for of_references in scores
        for dimension in dimensions
        for part in _slices(judgements, of_references.turned, dimension, subset, slices)
    ]
    total = sum(len(part.scores.metrics) for part in sliced)
    with progress("correlating", total=total, unit="metrics") as tell:
        for part in sliced:
            fixed = _controls(judgements, part.dimension) if control is None else control
            for metric in part.scores.metrics.values():
                if "item" in units:
                    rows.extend(_by_item(part, metric, statistics, sampling))
                    if fixed and "partial" in statistics:
                        rows.append(_held_fixed(part, metric, fixed, sampling))
                if "system" in units and not part.name.startswith("type="):
                    rows.extend(_by_system(part, metric, statistics, sampling))
                tell(1)
            if compare and len(part.scores.metrics) > 1 and part.name in ("all", "filtered"):
                pairs.extend(_metric_pairs(part, units, sampling))
    among = {
        (first.name, second.name): correlation(first.segments, second.segments)
        for first, second in itertools.combinations(scores[0].turned.metrics.values(), 2)
    }
    asked = (judgements, sampling, tuple(scores), tuple(dimensions))
    sizes = {part.name: len(part.scores.units) for part in sliced}
    return MetricCorrelations(*asked, tuple(rows), tuple(pairs), among, sizes, str(subset) if subset else "")


@dataclass(frozen=True)
class _Slice:
    """Some of the rated outputs: what metrics and people say of them."""

    judgements: Judgements
    dimension: str
    name: str
    scores: MetricScores
    human: Floats

    def row(
        self, metric: UnitScores, unit: Unit, statistic: Statistic, estimate: Estimate, **rest: Any
    ) -> MetricCorrelation:
        place = (metric.name, self.dimension, unit, self.name, self.scores.references)
        return MetricCorrelation(*place, statistic, estimate, **rest)


def _slices(
    judgements: Judgements, scores: MetricScores, dimension: str, subset: Filter | None, slices: Sequence[Slicing]
) -> list[_Slice]:
    """All rated outputs, the filtered ones, each type of system, each third by perceived simplicity."""
    human = judgements.human(dimension, scores.units)
    masks = {"all": ~np.isnan(human)}
    if subset is not None:
        masks["filtered"] = subset.mask(judgements, scores.units)
    if "type" in slices:
        if not judgements.types:
            raise BadInput(f"{judgements.name} does not say of what type its systems are (a column 'type').")
        types = np.array([judgements.types.get(system, "") for system in scores.units.system_names], dtype=object)
        masks |= {f"type={name or 'not given'}": types == name for name in sorted(set(types))}
    if "simplicity" in slices:
        low, high = np.nanquantile(human, [1 / 3, 2 / 3])
        masks[f"{dimension}=low"] = human <= low
        masks[f"{dimension}=middle"] = (human > low) & (human <= high)
        masks[f"{dimension}=high"] = human > high
    chosen = {name: mask & masks["all"] for name, mask in masks.items()}
    return [_Slice(judgements, dimension, name, scores.chosen(mask), human[mask]) for name, mask in chosen.items()]


def _by_item(
    part: _Slice, metric: UnitScores, statistics: Sequence[Statistic], sampling: Sampling
) -> Iterator[MetricCorrelation]:
    items = part.scores.units.item_names
    for kind in (kind for kind in correlate.KINDS if kind in statistics):
        result = correlate.correlate(metric.segments, part.human, kind=kind, groups=items, sampling=sampling)
        yield part.row(metric, "item", kind, result.estimate, p_value=result.p_value, p_drawn=result.p_drawn)
    if "accuracy" in statistics:
        # Outputs are compared within items where most items were rated for several systems.
        counts = np.bincount(part.scores.units.item)
        within = np.sum(counts >= 3) >= 0.5 * np.sum(counts > 0)
        right = pairwise_accuracy(metric.segments, part.human, groups=items if within else None, sampling=sampling)
        detail = f"{right.pairs} pairs {'within items' if within else 'of outputs'}, ties up to {right.threshold:.4g}"
        yield part.row(metric, "item", "accuracy", right.estimate, detail=detail)


def _held_fixed(part: _Slice, metric: UnitScores, fixed: Sequence[str], sampling: Sampling) -> MetricCorrelation:
    """The partial correlation: what is left when the ``fixed`` dimensions are held so."""
    controls = np.stack([part.judgements.human(name, part.scores.units) for name in fixed], axis=1)
    kept = ~(np.isnan(metric.segments) | np.isnan(part.human) | np.isnan(controls).any(axis=1))
    x, y, z = metric.segments[kept], part.human[kept], controls[kept]
    value = float(correlate.partial(x, y, z)[0]) if kept.sum() > len(fixed) + 2 else float("nan")
    weights = correlate.draws(len(x), groups=part.scores.units[kept].item_names, sampling=sampling)
    drawn = correlate.partial(x, y, z, weights=weights) if len(weights) and not np.isnan(value) else np.empty(0)
    estimate = correlate.percentile(value, drawn, sampling=sampling, n=len(x), unit="groups")
    p_value, p_drawn = correlate.t_test(value, df=len(x) - 2 - len(fixed)), correlate.drawn_p_value(drawn)
    detail = f"given {', '.join(fixed)}"
    return part.row(metric, "item", "partial", estimate, p_value=p_value, p_drawn=p_drawn, detail=detail)


def _by_system(
    part: _Slice, metric: UnitScores, statistics: Sequence[Statistic], sampling: Sampling
) -> Iterator[MetricCorrelation]:
    """Correlation of system scores with systems' mean ratings; the systems are the sample."""
    units = part.scores.units
    present = np.unique(units.system)
    ours, theirs = metric.by_system(units)[present], system_means(part.human, units)[present]
    both = ~np.isnan(ours + theirs)
    ours, theirs, n = ours[both], theirs[both], int(both.sum())
    rng = np.random.default_rng(sampling.seed)
    for kind in (kind for kind in correlate.KINDS if kind in statistics):
        value = correlation(ours, theirs, kind=kind)
        if n < FEWEST_SYSTEMS:
            yield part.row(metric, "system", kind, _bare(value, n, sampling))
            continue
        estimate = correlate.over_units(value, kind=kind, n=n, level=sampling.level, unit="systems")
        p = correlate.permutation_p_value(ours, theirs, kind=kind, permutations=PERMUTATIONS, rng=rng)
        yield part.row(metric, "system", kind, estimate, p_value=p)
    if "accuracy" in statistics:
        right = pairwise_accuracy(ours, theirs, calibrate=False, sampling=None)
        estimate = replace(right.estimate, level=sampling.level)
        yield part.row(metric, "system", "accuracy", estimate, detail=f"{right.pairs} pairs")


def _bare(value: float, n: int, sampling: Sampling) -> Estimate:
    return Estimate(value, float("nan"), float("nan"), sampling.level, n, f"no interval: fewer than {FEWEST_SYSTEMS}")


def system_means(human: Floats, units: Units) -> Floats:
    """The mean rating of each system, as ``UnitScores.by_system`` has its scores; NaN where no output was rated."""
    return np.round(mean_metric("human", human).by_system(units), 10)  # Means equal on paper must tie.


def _metric_pairs(part: _Slice, units: Sequence[Unit], sampling: Sampling) -> Iterator[MetricPair]:
    """Tests of whether one metric correlates better than another: Williams', and by exchanging the metrics' scores.

    What is exchanged is what the claim is about: items with all their outputs, or systems.
    """
    rated = part.scores.units
    means = system_means(part.human, rated)
    for first, second in itertools.combinations(part.scores.metrics.values(), 2):
        rng = np.random.default_rng(sampling.seed)
        tests: list[tuple[Unit, CorrelationDifference]] = []
        if "item" in units:
            scores = (part.human, first.segments, second.segments)
            exchanged = correlate.exchange(*scores, permutations=PERMUTATIONS, rng=rng, groups=rated.item_names)
            tests += [("item", correlate.williams(*scores)), ("item", exchanged)]
        if "system" in units:
            scores = (means, first.by_system(rated), second.by_system(rated))
            exchanged = correlate.exchange(*scores, permutations=PERMUTATIONS, rng=rng, unit="systems")
            for test in (correlate.williams(*scores), exchanged):
                tests.append(("system", test if test.n >= FEWEST_SYSTEMS else test.untested))
        for unit, difference in tests:
            yield MetricPair(part.dimension, unit, part.name, first.name, second.name, difference)


def _controls(judgements: Judgements, dimension: str) -> tuple[str, ...]:
    """Fluency and adequacy, in the same form (z-scores or not) as the dimension, where they were rated."""
    if dimension.startswith((*FLUENCY, *ADEQUACY)):
        return ()
    suffix = "_zscore" if dimension.endswith("_zscore") else ""
    controls = [[name + suffix for name in names if name + suffix in judgements][:1] for names in (FLUENCY, ADEQUACY)]
    return tuple(name for names in controls for name in names)


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
        return {**place, **self.estimate.record(), **p_values, "detail": self.detail or None}

    def cell(self) -> str:
        stars = "**" if self.p < 0.01 else "*" if self.p < 0.05 else ""
        return str(self.estimate) + stars


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
            **self.judgements.summary(self.sampling),
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
        few = self.judgements.few_items() if any(row.unit == "item" for row in self.rows) else []
        return [*self.judgements.remarks, *read, *map(Note, lines), *few]

    def _rated(self, pair: MetricPair) -> int:
        """On how many units the two metrics of a pair are correlated in the tables above."""
        return max(self.row(name, unit=pair.unit, slice=pair.slice, dimension=pair.dimension).estimate.n
                   for name in (pair.first, pair.second))  # fmt: skip


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
