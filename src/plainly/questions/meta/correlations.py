"""Metrics against people: by output and by system, by dimension and by slice, and which metric agrees better."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput
from plainly.questions.meta.scores import Measured, MetricScores, oriented
from plainly.questions.meta.subset import Filter
from plainly.ratings.types import Judgements, Units
from plainly.stats import dependent
from plainly.stats.correlate import (
    KINDS,
    Kind,
    correlate,
    correlation,
    drawn_p_value,
    draws,
    p_value,
    partial,
    partial_p_value,
    percentile,
    rowwise,
)
from plainly.stats.dependent import Difference
from plainly.stats.estimate import Estimate
from plainly.stats.pairwise import pairwise_accuracy
from plainly.stats.resample import Floats

Level = Literal["item", "system"]
Bools = npt.NDArray[np.bool_]
PERMUTATIONS = 1000
FLUENCY = ("fluency", "grammaticality")
ADEQUACY = ("meaning", "adequacy", "meaning_preservation")


@dataclass(frozen=True)
class Row:
    """One statistic of one metric against one dimension, on one slice of the outputs.

    ``p_value`` is the textbook's; ``p_drawn`` is from the draws of items and minds that the outputs of one item are not
    independent. Systems are the units at system level, so there it is the textbook's alone.
    """

    metric: str
    dimension: str
    level: Level
    slice: str
    references: str
    statistic: str
    estimate: Estimate
    p_value: float
    detail: str = ""
    p_drawn: float = float("nan")

    @property
    def p(self) -> float:
        """The p-value to go by: from the draws where there are any."""
        return self.p_value if np.isnan(self.p_drawn) else self.p_drawn


@dataclass(frozen=True)
class Comparison:
    """Whether one metric correlates better than another with a dimension; signs are turned where lower is better."""

    dimension: str
    level: Level
    slice: str
    first: str
    second: str
    difference: Difference


@dataclass(frozen=True)
class MetaEvaluation:
    """All that was found: rows of correlations, tests between metrics, metrics against each other."""

    name: str
    rows: list[Row]
    comparisons: list[Comparison] = field(default_factory=list)
    metric_metric: dict[tuple[str, str], float] = field(default_factory=dict)
    slices: dict[str, int] = field(default_factory=dict)
    filtered: str = ""
    signatures: dict[str, str] = field(default_factory=dict)

    def row(self, metric: str, statistic: str = "pearson", **wanted: str) -> Row:
        """The first row with these properties; an error where there is none."""
        wanted = {"level": "item", "slice": "all", **wanted}
        for row in self.rows:
            if (
                row.metric == metric
                and row.statistic == statistic
                and all(getattr(row, key) == value for key, value in wanted.items())
            ):
                return row
        raise BadInput(f"There is no {statistic} of {metric} with {wanted}.")


def meta_evaluate(
    judgements: Judgements,
    scores: MetricScores | Sequence[MetricScores],
    *,
    dimensions: Sequence[str],
    kinds: Sequence[Kind] = KINDS,
    levels: Sequence[Level] = ("item", "system"),
    accuracy: bool = True,
    control: Sequence[str] | None = None,
    subset: Filter | None = None,
    slices: Sequence[Literal["type", "simplicity"]] = (),
    compare: bool = True,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 12345,
) -> MetaEvaluation:
    """Correlate metric scores with ratings.

    ``scores`` is one set of scores or several, made with different references. ``control`` names the dimensions that
    the partial correlation holds fixed (default: fluency and adequacy where they were rated). ``subset`` adds the
    filtered outputs as a slice. Intervals draw items, each with the outputs of all systems.
    """
    several = [scores] if isinstance(scores, MetricScores) else list(scores)
    settings = {"level": level, "resamples": resamples, "seed": seed}
    found = MetaEvaluation(judgements.name, [], filtered=str(subset) if subset else "")
    for given in several:
        found.signatures.update({metric.name: metric.signature for metric in given.metrics.values()})
        for dimension in dimensions:
            for name, mask in _slices(judgements, given.units, dimension, subset, slices):
                found.slices[name] = int(mask.sum())
                chosen = given.chosen(mask)  # type: ignore[arg-type]
                human = judgements.human(dimension, chosen.units)
                fixed = _controls(judgements, dimension) if control is None else tuple(control)
                for metric in chosen.metrics.values():
                    common = (metric.name, dimension, name, given.references)
                    if "item" in levels:
                        found.rows.extend(_by_item(metric, human, chosen.units, common, kinds, accuracy, settings))
                        found.rows.extend(_held_fixed(judgements, metric, human, chosen.units, common, fixed, settings))
                    if "system" in levels and not name.startswith("type="):
                        found.rows.extend(_by_system(metric, human, chosen.units, common, kinds, settings))
                if compare and len(chosen.metrics) > 1 and name in ("all", "filtered"):
                    found.comparisons.extend(_compared(chosen, human, dimension, name, levels, seed))
    first = several[0]
    for one, other in itertools.combinations(first.metrics, 2):
        found.metric_metric[one, other] = correlation(first[one].segments, first[other].segments)
    return found


def _slices(
    judgements: Judgements,
    units: Units,
    dimension: str,
    subset: Filter | None,
    slices: Sequence[Literal["type", "simplicity"]],
) -> Iterator[tuple[str, Bools]]:
    """Named masks: all rated outputs, the filtered ones, each type of system, each third by perceived simplicity."""
    human = judgements.human(dimension, units)
    rated = ~np.isnan(human)
    yield "all", rated
    if subset is not None:
        yield "filtered", rated & subset.mask(judgements, units)
    if "type" in slices:
        if not judgements.types:
            raise BadInput(f"{judgements.name} does not say of what type its systems are (a column 'type').")
        types = np.array([judgements.types.get(system, "") for system in units.system_names], dtype=object)
        for kind in sorted(set(types)):
            yield f"type={kind or 'not given'}", rated & (types == kind)
    if "simplicity" in slices:
        low, high = np.nanquantile(human, [1 / 3, 2 / 3])
        yield f"{dimension}=low", rated & (human <= low)
        yield f"{dimension}=middle", rated & (human > low) & (human <= high)
        yield f"{dimension}=high", rated & (human > high)


def _by_item(
    metric: Measured,
    human: Floats,
    units: Units,
    common: tuple[str, str, str, str],
    kinds: Sequence[Kind],
    accuracy: bool,
    settings: Mapping[str, float],
) -> Iterator[Row]:
    name, dimension, slice_, references = common
    for kind in kinds:
        found = correlate(metric.segments, human, kind=kind, groups=units.item_names, **settings)  # type: ignore[arg-type]
        yield Row(
            name, dimension, "item", slice_, references, kind, found.estimate, found.p_value, p_drawn=found.p_drawn
        )
    if accuracy:
        by_item = _several_systems(units)
        right = pairwise_accuracy(
            oriented(metric, metric.segments),
            human,
            groups=units.item_names if by_item else None,
            **settings,  # type: ignore[arg-type]
        )
        detail = f"{right.pairs} pairs {'within items' if by_item else 'of outputs'}, ties up to {right.threshold:.4g}"
        yield Row(name, dimension, "item", slice_, references, "accuracy", right.estimate, float("nan"), detail)


def _several_systems(units: Units) -> bool:
    """Whether most items were rated for several systems, so that outputs can be compared within items."""
    counts = np.bincount(units.item)
    return bool(np.sum(counts >= 3) >= 0.5 * np.sum(counts > 0))


def _held_fixed(
    judgements: Judgements,
    metric: Measured,
    human: Floats,
    units: Units,
    common: tuple[str, str, str, str],
    fixed: Sequence[str],
    settings: Mapping[str, float],
) -> Iterator[Row]:
    if not fixed:
        return
    name, dimension, slice_, references = common
    given = np.stack([judgements.human(each, units) for each in fixed], axis=1)
    kept = ~(np.isnan(metric.segments) | np.isnan(human) | np.isnan(given).any(axis=1))
    groups = [item for item, keep in zip(units.item_names, kept, strict=True) if keep]
    x, y, z = metric.segments[kept], human[kept], given[kept]
    value = float(partial(x, y, z)[0]) if kept.sum() > len(fixed) + 2 else float("nan")
    weights = draws(len(x), groups=groups, resamples=int(settings["resamples"]), seed=int(settings["seed"]))
    drawn = partial(x, y, z, weights=weights) if len(weights) and not np.isnan(value) else np.empty(0)
    estimate = percentile(value, drawn, level=settings["level"], n=len(x), unit="groups")
    p = partial_p_value(value, n=len(x), given=len(fixed))
    yield Row(
        name,
        dimension,
        "item",
        slice_,
        references,
        "partial",
        estimate,
        p,
        f"given {', '.join(fixed)}",
        drawn_p_value(drawn),
    )


def _by_system(
    metric: Measured,
    human: Floats,
    units: Units,
    common: tuple[str, str, str, str],
    kinds: Sequence[Kind],
    settings: Mapping[str, float],
) -> Iterator[Row]:
    """Correlation of system scores with systems' mean ratings; draws of items give new scores and new means."""
    name, dimension, slice_, references = common
    present = np.bincount(units.system, minlength=len(units.systems)) > 0
    ours = metric.by_system(units)[present]
    theirs = system_means(human, units, np.ones((1, len(units))))[0][present]
    weights = draws(
        len(units), groups=units.item_names, resamples=int(settings["resamples"]), seed=int(settings["seed"])
    )
    drawn_ours = metric.weighted_by_system(units, weights)[:, present]
    drawn_theirs = system_means(human, units, weights)[:, present]
    for kind in kinds:
        value = correlation(ours, theirs, kind=kind)
        drawn = rowwise(drawn_ours, drawn_theirs, kind=kind)
        estimate = percentile(value, drawn, level=settings["level"], n=int(present.sum()), unit="items")
        yield Row(name, dimension, "system", slice_, references, kind, estimate, p_value(ours, theirs, kind=kind))
    right = pairwise_accuracy(oriented(metric, ours), theirs, calibrate=False, resamples=0)
    yield Row(
        name, dimension, "system", slice_, references, "accuracy", right.estimate, float("nan"), f"{right.pairs} pairs"
    )


def system_means(human: Floats, units: Units, weights: Floats) -> Floats:
    """The mean rating of each system under each row of weights; NaN for systems without a rated output."""
    found = np.full((len(weights), len(units.systems)), np.nan)
    for system in range(len(units.systems)):
        mine = (units.system == system) & ~np.isnan(human)
        total = weights[:, mine].sum(axis=1)
        summed = weights[:, mine] @ human[mine]
        found[:, system] = np.divide(summed, total, out=np.full(len(total), np.nan), where=total > 0)
    rounded: Floats = np.round(found, 10)  # Means equal on paper must tie.
    return rounded


def _compared(
    chosen: MetricScores, human: Floats, dimension: str, slice_: str, levels: Sequence[Level], seed: int
) -> Iterator[Comparison]:
    units = chosen.units
    systems, items = units.system_names, units.item_names
    swapped = dependent.swaps(systems, items, permutations=PERMUTATIONS, rng=np.random.default_rng(seed))
    for one, other in itertools.combinations(chosen.metrics.values(), 2):
        first, second = oriented(one, one.segments), oriented(other, other.segments)
        if "item" in levels:
            yield Comparison(dimension, "item", slice_, one.name, other.name, dependent.williams(human, first, second))
        if "system" in levels:
            yield Comparison(
                dimension, "system", slice_, one.name, other.name, _williams_of_systems(human, one, other, units)
            )
        for level in levels:
            found = dependent.permute_both(
                human,
                first,
                second,
                systems=systems,
                items=items,
                system_level=level == "system",
                rng=np.random.default_rng(seed),
                swapped=swapped,
            )
            yield Comparison(dimension, level, slice_, one.name, other.name, found)


def _williams_of_systems(human: Floats, one: Measured, other: Measured, units: Units) -> Difference:
    once = np.ones((1, len(units)))
    return dependent.williams(
        system_means(human, units, once)[0],
        oriented(one, one.by_system(units)),
        oriented(other, other.by_system(units)),
    )


def _controls(judgements: Judgements, dimension: str) -> tuple[str, ...]:
    """Fluency and adequacy, in the same form (z-scores or not) as the dimension, where they were rated."""
    suffix = "_zscore" if dimension.endswith("_zscore") else ""
    found = []
    for names in (FLUENCY, ADEQUACY):
        found += [name + suffix for name in names if name + suffix in judgements and name + suffix != dimension][:1]
    return tuple(found) if not dimension.startswith((*FLUENCY, *ADEQUACY)) else ()
