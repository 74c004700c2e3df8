"""Metrics against people: by output and by system, by dimension and by slice, and which metric agrees better."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.progress import Progress, no_progress
from plainly.core.sampling import Sampling
from plainly.people.correlations import (
    FEWEST_SYSTEMS,
    STATISTICS,
    MetricCorrelation,
    MetricCorrelations,
    MetricPair,
    Statistic,
    Unit,
)
from plainly.people.metric_scores import MetricScores, UnitScores, mean_metric
from plainly.people.ratings import Judgements, Units
from plainly.people.subset import ADEQUACY, FLUENCY, Filter
from plainly.stats import correlate
from plainly.stats.correlate import CorrelationDifference, correlation, pairwise_accuracy
from plainly.stats.resample import Estimate, Floats

Slicing = Literal["type", "simplicity"]
PERMUTATIONS = 5000


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
