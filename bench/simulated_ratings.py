"""The part of the simulations that is about people: correlations, tests between metrics, agreement, plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import scipy.stats

from plainly.core.sampling import Sampling
from plainly.people import read_ratings
from plainly.people.operation_results import estimate_rate
from plainly.stats import agreement, correlate
from plainly.stats.crossed import Contrast, VarianceComponents, contrast
from plainly.stats.paired import holm
from plainly.stats.preferences import Meeting, fit_preferences

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


@dataclass(frozen=True)
class Population:
    """Ratings as those of a public set: its variances, its mean, and its scale, to which ratings are rounded."""

    name: str
    parts: dict[str, float]
    mean: float
    scale: tuple[float, float]

    @classmethod
    def of(cls, name: str) -> Population:
        ratings = read_ratings(name)["simplicity"]
        mean = float(np.nanmean(ratings.values))
        return cls(name, variance_components(ratings.values), mean, ratings.scale or (0, 100))

    @property
    def truth(self) -> float:
        """The mean of the rounded ratings."""
        borders = np.arange(*self.scale) + 0.5
        return self.scale[0] + float(
            scipy.stats.norm.sf((borders - self.mean) / np.sqrt(sum(self.parts.values()))).sum()
        )

    def draw(self, rng: np.random.Generator, *, systems: int, items: int, raters: int) -> Floats:
        """Return the ratings of equally good systems, before they are rounded."""
        shapes = {
            "item": (1, items, 1),
            "system and item": (systems, items, 1),
            "rater": (1, 1, raters),
            "system and rater": (systems, 1, raters),
            "item and rater": (1, items, raters),
            "rest": (systems, items, raters),
        }
        return self.mean + sum(np.sqrt(self.parts[part]) * rng.normal(size=shape) for part, shape in shapes.items())

    def round(self, values: Floats) -> Floats:
        return np.clip(np.rint(values), *self.scale)


def results(times: int) -> Iterator[Row]:
    """Intervals and claims over items and raters, with the variances of public ratings, rounded to their scale."""
    systems = 4
    for population in map(Population.of, ("acl2018", "simplicity-da")):
        for raters in (3, 5, 15):
            for items in (20, 70, 200):
                rng = np.random.default_rng(1000 * raters + items)
                covered = np.zeros(2)
                errs = 0
                for _ in range(times):
                    values = population.round(population.draw(rng, systems=systems, items=items, raters=raters))
                    one = contrast(values[:1], np.ones(1))
                    differences = [
                        contrast(values[list(pair)], np.array([1.0, -1.0])) for pair in combinations(range(systems), 2)
                    ]
                    p_values = [difference.p_value for difference in differences]
                    covered += [one.exceeding(one.value - population.truth) > 0.05, p_values[0] > 0.05]
                    errs += min(holm(p_values)) <= 0.05
                where = f"variances of {population.name}, {raters} raters, {items} items"
                yield "95 % interval of a mean rating", where, "coverage", 0.95, covered[0] / times
                yield "95 % interval of a difference", where, "coverage", 0.95, covered[1] / times
                yield "claims about four equal systems", where, "any false claim", 0.05, errs / times


def preferences(times: int) -> Iterator[Row]:
    """Strengths of three equal systems, all pairs of which all raters compare; a fifth of them tie.

    How good an output is depends on the item, on the rater's view of the system, and on chance.
    """
    systems, names = 3, "abc"
    pairs = list(combinations(range(systems), 2))
    for raters in (3, 5, 15):
        for items in (20, 70, 200):
            rng = np.random.default_rng(1000 * raters + items)
            covered = errs = 0
            for _ in range(times):
                item, view = (
                    rng.normal(scale=0.8, size=(items, 1, systems)),
                    rng.normal(scale=0.4, size=(raters, systems)),
                )
                worth = item + view
                meetings = []
                for i, j in pairs:
                    apart = worth[..., i] - worth[..., j] + rng.logistic(size=(items, raters))
                    for (at, rater), value in np.ndenumerate(apart):
                        one, other = (names[i], names[j]) if value > 0 else (names[j], names[i])
                        meetings.append(Meeting(str(at), one, other, tie=bool(abs(value) < 0.5), rater=str(rater)))
                model = fit_preferences(meetings)
                order = [model.systems.index(name) for name in names]
                differences = [model.strength(np.eye(systems)[order[i]] - np.eye(systems)[order[j]]) for i, j in pairs]
                p_values = [difference.p_value for difference in differences]
                covered += p_values[0] > 0.05
                errs += min(holm(p_values)) <= 0.05
            where = f"{raters} raters, {items} items"
            yield "95 % interval of a difference of strengths", where, "coverage", 0.95, covered / times
            yield "claims about three equal systems", where, "any false claim", 0.05, errs / times


def rates(times: int) -> Iterator[Row]:
    """Intervals of how often an operation is marked: an item, an annotator and chance decide, as 10 to 3 to 7."""
    parts = np.sqrt([0.5, 0.15, 0.35])
    for rate in (0.02, 0.1, 0.3):
        for raters in (3, 5):
            for items in (20, 50, 100):
                rng = np.random.default_rng(1000 * raters + items)
                covered = 0
                for _ in range(times):
                    item, rater, rest = (rng.normal(size=size) for size in ((items, 1), (raters,), (items, raters)))
                    latent = parts[0] * item + parts[1] * rater + parts[2] * rest
                    marked = (latent > scipy.stats.norm.isf(rate)).astype(float)
                    estimate = estimate_rate(contrast(marked[None], np.ones(1)), items, 0.95)
                    covered += estimate.low <= rate <= estimate.high
                where = f"{rate:.0%} of outputs, {raters} annotators, {items} items"
                yield "95 % interval of a rate", where, "coverage", 0.95, covered / times


def plans(times: int) -> Iterator[Row]:
    """What a plan calls detectable, found by the test of results in new studies; from large and from usual pilots."""
    for population in map(Population.of, ("acl2018", "simplicity-da")):
        for pilot, sentences, raters in (("large pilots", 300, 40), ("usual pilots", 70, 5)):
            rng = np.random.default_rng(7)
            pilots = (population.draw(rng, systems=4, items=sentences, raters=raters) for _ in range(40))
            components = [VarianceComponents.of(_differences(values)) for values in pilots]
            for people, items, each in ((3, 70, 3), (5, 40, 5), (10, 70, 1), (10, 70, 3), (15, 20, 15), (30, 200, 1)):
                sizes = {"items": items, "raters": people, "ratings": items * each}
                promised = [part.study(**sizes).detectable(0.95) for part in components]
                hits = 0
                for study in range(times):
                    values = population.draw(rng, systems=2, items=items, raters=people)
                    values[0] += promised[study % len(promised)]
                    # The work is shared equally, and an item has the same raters for both systems.
                    turns = np.arange(items * each).reshape(items, each) % people
                    rated = np.zeros((items, people), dtype=bool)
                    rated[np.arange(items)[:, None], rng.permutation(people)[turns]] = True
                    values = np.where(rated, values, np.nan)
                    hits += contrast(values, np.array([1.0, -1.0])).p_value <= 0.05
                where = f"variances of {population.name}, {pilot}, {people} people, {items} sentences × {each}"
                yield "plan's detectable difference", where, "power", 0.8, hits / times


def _differences(values: Floats) -> list[Contrast]:
    return [contrast(values[list(pair)], np.array([1.0, -1.0])) for pair in combinations(range(len(values)), 2)]
