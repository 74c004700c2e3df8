"""The part of the simulations that is about people: correlations, tests between metrics, agreement, plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np
import scipy.stats

from plainly.core.sampling import Sampling
from plainly.people import Ratings, read_ratings
from plainly.people.planning import (
    Pilot,
    compute_power,
    estimate_components,
    find_detectable_difference,
    resample_study,
    sentences_needed,
)
from plainly.stats import agreement, correlate
from plainly.stats.crossed import contrast
from plainly.stats.paired import holm

Floats = np.ndarray
Row = tuple[str, str, str, float, float]
DRAWN = Sampling(resamples=400)


def _units(systems: int, items: int) -> tuple[Floats, Floats]:
    return np.repeat(np.arange(systems), items), np.tile(np.arange(items), systems)


def by_item(times: int) -> Iterator[Row]:
    """Intervals and stars of correlations over outputs: the systems are these, the items a sample."""
    for systems, items in ((6, 6), (6, 12), (6, 20), (6, 60), (6, 100), (1, 6), (1, 12), (1, 20), (1, 60), (1, 100)):
        rng = np.random.default_rng(systems * 1000 + items)
        effects = rng.normal(scale=0.4, size=(2, systems))

        def study(items: int, related: float, rng: np.random.Generator, effects: Floats = effects) -> list[Floats]:
            system, item = _units(effects.shape[1], items)

            def part(scale: float, size: int) -> Floats:
                return rng.gamma(2.0, scale, size=size) - 2 * scale  # skewed, as ratings and scores are

            human = part(0.6, items)[item] + part(0.7, len(item)) + (effects[0][system] if related else 0.0)
            metric = related * human + part(0.4, items)[item] + part(0.7, len(item))
            return [human, metric + (effects[1][system] if related else 0.0)]

        names = [str(item) for item in _units(systems, items)[1]]
        where = f"{systems} system{'s' * (systems > 1)}, {items} items"
        large = study(20_000, 0.5, rng)
        for kind in correlate.KINDS:
            truth = (
                scipy.stats.kendalltau(*(values[::7] for values in large)).statistic
                if kind == "kendall"
                else correlate.correlation(*large, kind=kind)
            )
            related, unrelated = (
                [correlate.correlate(*study(items, rho, rng), kind=kind, groups=names) for _ in range(times)]
                for rho in (0.5, 0.0)
            )
            yield f"{kind} by item, 95 % interval", where, "coverage", 0.95, _coverage(related, truth)
            errors = [result.p_value < 0.05 for result in unrelated]
            yield f"{kind} by item, stars", where, "error, no relation", 0.05, float(np.mean(errors))
        if systems > 1:
            item = _units(systems, 20_000)[1]
            truth = correlate.pairwise_accuracy(large[1], large[0], groups=list(map(str, item))).estimate.value
            accuracies = []
            for _ in range(times):
                human, metric = study(items, 0.5, rng)
                accuracies.append(correlate.pairwise_accuracy(metric, human, groups=names))
            yield "accuracy by item, 95 % interval", where, "coverage", 0.95, _coverage(accuracies, truth)


def _coverage(results: list[correlate.Correlation] | list[correlate.Accuracy], truth: float) -> float:
    """Return the share of the printed intervals that contain the truth."""
    estimates = [result.estimate for result in results if not np.isnan(result.estimate.low)]
    return float(np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]))


def by_system(times: int) -> Iterator[Row]:
    """Intervals and stars of correlations between systems, which are the sample; normal, and with a long tail."""
    for shape, draw in (("", "normal"), (", skewed", "exponential")):
        for systems in (6, 10, 25):
            rng = np.random.default_rng(systems)

            def pairs(rho: float, size: tuple[int, int], rng: np.random.Generator, draw: str = draw) -> list[Floats]:
                one, other = (getattr(rng, draw)(size=size) for _ in range(2))
                return [one, rho * one + np.sqrt(1 - rho**2) * other]

            for kind in correlate.KINDS:
                correlation = partial(correlate.correlation, kind=kind)
                truth = float(np.mean(list(map(correlation, *pairs(0.6, (200, 300), rng)))))
                values = list(map(correlation, *pairs(0.6, (4 * times, systems), rng)))
                intervals = [
                    correlate.fisher_interval(value, kind=kind, n=systems, level=0.95, unit="systems")
                    for value in values
                ]
                defined = [interval for interval in intervals if not np.isnan(interval.low)]
                covered = np.mean([interval.low <= truth <= interval.high for interval in defined])
                where = f"{systems} systems{shape}"
                yield f"{kind} by system, 95 % interval", where, "coverage", 0.95, float(covered)
                none = zip(*pairs(0.0, (times, systems), rng), strict=True)
                ps = [correlate.permutation_p_value(x, y, kind=kind, permutations=500, rng=rng) for x, y in none]
                yield f"{kind} by system, stars", where, "error, no relation", 0.05, float(np.mean(np.array(ps) < 0.05))


def between_metrics(times: int) -> Iterator[Row]:
    """Tests of two metrics that agree equally well with people."""
    for systems, items in ((6, 20), (6, 60), (6, 100), (10, 70)):
        rng = np.random.default_rng(systems + items)
        item = _units(systems, items)[1]
        errs = np.zeros(2)
        for _ in range(times):
            human, first, second = (
                rng.normal(scale=0.5, size=items)[item] + rng.normal(size=len(item)) for _ in range(3)
            )
            scores = (human, first + human / 2, second + human / 2)
            groups = [str(at) for at in item]
            exchanged = correlate.exchange_test(*scores, groups=groups, permutations=400, rng=rng)
            errs += [correlate.williams_test(*scores).p_value < 0.05, exchanged.p_value < 0.05]
        for name, rate in zip(("williams", "permute-items"), errs / times, strict=True):
            yield f"{name} by item", f"{systems} systems, {items} items", "error, equal metrics", 0.05, float(rate)
    for systems in (6, 10, 25):
        rng = np.random.default_rng(systems)
        errs = np.zeros(2)
        for _ in range(times):
            human = rng.normal(size=systems)
            scores = (human, *(human + rng.normal(size=systems) for _ in range(2)))
            exchanged = correlate.exchange_test(*scores, permutations=400, rng=rng, unit="systems")
            errs += [correlate.williams_test(*scores).p_value < 0.05, exchanged.p_value < 0.05]
        for name, rate in zip(("williams", "permute-systems"), errs / times, strict=True):
            yield f"{name} by system", f"{systems} systems", "error, equal metrics", 0.05, float(rate)


def agreements(times: int) -> Iterator[Row]:
    """Intervals of coefficients of agreement: outputs of five points by three raters, each by itself or six an item."""
    for items, outputs in ((60, 1), (200, 1), (12, 6), (30, 6), (100, 6)):
        rng = np.random.default_rng(items + outputs)

        def rated(items: int, rng: np.random.Generator, outputs: int = outputs) -> Floats:
            item = np.repeat(np.arange(items), outputs)
            truth = (rng.normal(scale=0.6, size=items)[item] if outputs > 1 else 0) + rng.normal(size=len(item))
            return np.clip(np.rint(3 + truth[:, None] + rng.normal(scale=0.9, size=(len(item), 3))), 1, 5)

        kinds = {
            "alpha, ordinal": lambda matrix: agreement.krippendorff(matrix, distance="ordinal"),
            "alpha, interval": lambda matrix: agreement.krippendorff(matrix, distance="interval"),
            "Fleiss' kappa": lambda matrix: agreement.fleiss(matrix),
            "ICC, one-way": lambda matrix: agreement.icc(matrix, model="one-way"),
        }
        large = rated(4000, rng)
        covered = dict.fromkeys(kinds, 0)
        truths = {name: make(large).value for name, make in kinds.items()}
        groups = [str(item) for item in np.repeat(np.arange(items), outputs)] if outputs > 1 else None
        for _ in range(times):
            matrix = rated(items, rng)
            for name, make in kinds.items():
                estimate = make(matrix).estimate(DRAWN, groups=groups)
                covered[name] += estimate.low <= truths[name] <= estimate.high
        where = f"{items} outputs" if outputs == 1 else f"{items} items of {outputs} outputs"
        for name, count in covered.items():
            yield f"{name}, 95 % interval", where, "coverage", 0.95, count / times


def _rated(
    sentences: int, raters: int, effect: float, many: int, rng: np.random.Generator, *, paired: bool, same: bool
) -> Floats:
    """Ratings of two systems, (studies, systems, sentences, raters), by the same raters for both systems or by others.

    Raters differ by 0.7 in strictness, by 0.5 in how they take a sentence, and by 0.9 otherwise.
    """
    shared = rng.normal(size=(many, 1, sentences)) if paired else 0.0
    truth = np.array([0, effect])[:, None] + shared + rng.normal(size=(many, 2, sentences)) * 0.5
    rater = rng.normal(size=(many, 1 if same else 2, sentences, raters)) * np.hypot(0.7, 0.5)
    return truth[..., None] + rater + rng.normal(size=(many, 2, sentences, raters)) * 0.9


def _detection_rate(
    sentences: int, raters: int, effect: float, times: int, rng: np.random.Generator, *, paired: bool, same: bool
) -> float:
    """Return the share of new studies that find a true difference."""
    means = _rated(sentences, raters, effect, times, rng, paired=paired, same=same).mean(axis=3)
    tested = (
        scipy.stats.ttest_rel(means[:, 0], means[:, 1], axis=1)
        if paired
        else scipy.stats.ttest_ind(means[:, 0], means[:, 1], axis=1, equal_var=False)
    )
    return float(np.mean(tested.pvalue < 0.01))


def plans(times: int) -> Iterator[Row]:
    """What a plan promises: power by the formula and by drawn studies, against new studies; detectable differences."""
    for paired, same in ((True, True), (True, False), (False, False)):
        test = "paired" if paired else "welch"
        rng = np.random.default_rng(len(test) + same)
        raters_of_pilots = [f"{system}{name}" for system in "AB" for name in "xyz"]
        pilots = []
        for values in _rated(1000, 3, 0.9, 100, rng, paired=paired, same=same):
            values[1] += 0.9 - (values[1].mean() - values[0].mean())  # a pilot whose own difference is the true one
            if not same:  # raters of one system are not those of the other
                values = np.stack([np.pad(values[0], ((0, 0), (0, 3)), constant_values=np.nan),
                                   np.pad(values[1], ((0, 0), (3, 0)), constant_values=np.nan)])  # fmt: skip
            names = tuple("xyz") if same else tuple(raters_of_pilots)
            rated = Ratings("s", ("A", "B"), tuple(map(str, range(1000))), names, values)
            pilots.append(Pilot.of(rated, test=test))  # type: ignore[arg-type]
        parts = [estimate_components(pilot) for pilot in pilots]
        designs = {same: parts} if not same else {True: parts, False: [part.with_new_raters for part in parts]}
        for is_same, components in designs.items():
            detection_rate = partial(_detection_rate, times=8 * times, rng=rng, paired=paired, same=is_same)
            design = f"{test}, {'same' if is_same else 'new'} raters{', pilot with the same' * (same and not is_same)}"
            for raters, sentences in ((1, 48), (2, 24), (3, 16)):
                truth = detection_rate(sentences, raters, 0.9)
                where = f"{design}, {sentences} sentences × {raters}"
                by_formula = [compute_power(part, 0.9, sentences=sentences, raters=raters) for part in components]
                yield "plan's power, by formula", where, "power", float(np.mean(by_formula)), truth
                if is_same == same:
                    sampling = Sampling(resamples=100)
                    size = {"sentences": sentences, "raters": raters}
                    drawn = [resample_study(pilot, **size, sampling=sampling, rng=rng).power for pilot in pilots]
                    yield "plan's power, drawn studies", where, "power", float(np.mean(drawn)), truth
            for raters in (1, 3):
                needed = sentences_needed(components[0], 0.6, raters=raters)
                where = f"{design}, {needed} sentences × {raters}"
                yield "plan's sentences needed", where, "power", 0.8, detection_rate(needed or 2, raters, 0.6)
            differences = [find_detectable_difference(part, sentences=15) for part in components[:4]]
            powers = [detection_rate(15, 1, difference) for difference in differences]
            yield "plan's detectable difference", f"{design}, 15 sentences × 1", "power", 0.8, float(np.mean(powers))


def variance_components(values: Floats) -> dict[str, float]:
    """Variances of the parts of a rating, from products of the ratings of two cells that share some of its parts."""
    centred = values - np.nanmean(values, axis=(1, 2), keepdims=True)
    rated = ~np.isnan(values)
    tables = np.where(rated, centred, 0.0), rated.astype(float)

    def square(table: Floats) -> float:
        return float((table**2).sum())

    def mean(products: Callable[[Floats], float]) -> float:
        total, count = map(products, tables)
        return total / count

    same_output = mean(lambda t: square(t.sum(2)) - square(t))
    same_item = mean(lambda t: square(t.sum((0, 2))) - square(t.sum(2)) - square(t.sum(0)) + square(t))
    same_system_and_rater = mean(lambda t: square(t.sum(1)) - square(t))
    same_rater = mean(lambda t: square(t.sum((0, 1))) - square(t.sum(1)) - square(t.sum(0)) + square(t))
    same_item_and_rater = mean(lambda t: square(t.sum(0)) - square(t))
    parts = {
        "item": same_item,
        "system and item": same_output - same_item,
        "rater": same_rater,
        "system and rater": same_system_and_rater - same_rater,
        "item and rater": same_item_and_rater - same_item - same_rater,
    }
    parts["rest"] = mean(square) - sum(parts.values())
    return {name: max(0.0, part) for name, part in parts.items()}


def results(times: int) -> Iterator[Row]:
    """Intervals and claims over items and raters, with the variances of public ratings, rounded to their scale."""
    systems = 4
    for name in ("acl2018", "simplicity-da"):
        ratings = read_ratings(name)["simplicity"]
        parts, mean = variance_components(ratings.values), float(np.nanmean(ratings.values))
        low, high = ratings.scale or (0, 100)
        borders = np.arange(low, high) + 0.5
        truth = low + float(scipy.stats.norm.sf((borders - mean) / np.sqrt(sum(parts.values()))).sum())
        for raters in (3, 5, 15):
            for items in (20, 70, 200):
                rng = np.random.default_rng(1000 * raters + items)
                shapes = {
                    "item": (1, items, 1),
                    "system and item": (systems, items, 1),
                    "rater": (1, 1, raters),
                    "system and rater": (systems, 1, raters),
                    "item and rater": (1, items, raters),
                    "rest": (systems, items, raters),
                }
                covered = np.zeros(2)
                errs = 0
                for _ in range(times):
                    latent = mean + sum(np.sqrt(parts[part]) * rng.normal(size=shape) for part, shape in shapes.items())
                    values = np.clip(np.rint(latent), low, high)
                    one = contrast(values[:1], np.ones(1))
                    differences = [
                        contrast(values[list(pair)], np.array([1.0, -1.0])) for pair in combinations(range(systems), 2)
                    ]
                    p_values = [difference.p_value for difference in differences]
                    covered += [one.exceeding(one.value - truth) > 0.05, p_values[0] > 0.05]
                    errs += min(holm(p_values)) <= 0.05
                where = f"variances of {name}, {raters} raters, {items} items"
                yield "95 % interval of a mean rating", where, "coverage", 0.95, covered[0] / times
                yield "95 % interval of a difference", where, "coverage", 0.95, covered[1] / times
                yield "claims about four equal systems", where, "any false claim", 0.05, errs / times
