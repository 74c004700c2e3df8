"""Planning a human evaluation: what a smaller or larger study than a pilot would conclude, and its power.

The conclusions of an evaluation are its significance pattern: for each pair of systems, whether the first is better
(1), worse (−1), or neither (0). A smaller study is drawn with replacement from the pilot's sentences, its raters, or
both, and its pattern is compared with the pilot's by Kendall's tau-b (Schwarzer and Kauchak 2018). Three details:

- Tau over a list of pairs depends on the order of the systems, because reversing a pair flips its sign. ``tau`` counts
  each pair both ways and does not depend on it; ``tau_as_listed``, as in the paper, counts each pair once.
- The mean of a sentence's ratings includes its raters' differences. Drawing raters again counts these twice, so that
  studies with several raters look worse than they are; the paper does so (``published``). Here sentence means are first
  shrunk by the variance due to raters, so that a drawn study varies as a new one would.
- A draw without any significant difference has no order, and tau is undefined. Such a study has failed and counts as 0;
  ``nothing_found`` is the share of such draws.

The variances between outputs, and between raters of one output, give the sentences and raters needed to find any
difference, without drawing anything.

Both depend on the study's design. If the same raters rate all systems' outputs of a sentence, their strictness cancels
in a paired test; if every rating is from a new rater, it does not. A plan is for the design of its pilot. From a pilot
with the same raters, the sentences needed with new raters are computed too; the opposite cannot be known.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from plainly.core.errors import BadInput
from plainly.core.formatting import interval, number, percent, span
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.people.rating_comparisons import Conclusions, conclude
from plainly.people.rating_tables import RatingsLike, read_ratings, usual_dimension
from plainly.people.ratings import Ratings, Scale
from plainly.stats.resample import Floats, middle_interval, ratio

Test = Literal["paired", "welch"]
Design = Literal["same", "new"]
DESIGNS: dict[Design, str] = {
    "same": "the same raters for all systems' outputs of a sentence",
    "new": "a new rater for every rating",
}
_CHUNK = 4_000_000
# The power aimed at, and the largest number of sentences considered.
POWER = 0.8
MOST = 100_000
# Sizes at which power curves are computed, denser where they rise.
CURVE_SIZES = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)


@dataclass(frozen=True)
class Pilot:
    """A pilot to draw from: each system's rated outputs with their ratings, and its own conclusions."""

    systems: tuple[str, ...]
    test: Test
    alpha: float
    ratings: tuple[Floats, ...]  # of each system: outputs × ratings, followed by NaN
    common: npt.NDArray[np.int64]  # for each sentence of a paired test: the first ratings that are from the same raters
    pattern: Floats  # 1, −1 or 0 for each pair

    @classmethod
    def of(cls, ratings: Ratings, *, test: Test | None = None, alpha: float = 0.01) -> Pilot:
        """Analyse a pilot; the t-test is paired if most items were rated for all systems, else Welch's."""
        if len(ratings.systems) < 2:
            raise BadInput(f"{ratings.dimension} was rated for one system; a plan compares at least two.")
        if not 0 < alpha < 1:
            raise BadInput(f"The significance level is between 0 and 1, for example 0.01; not {alpha}.")
        paired = ratings.paired
        if test is None:
            items = (ratings.counts > 0).any(axis=0).sum()
            test = "paired" if paired.sum() >= 2 and paired.sum() >= 0.5 * items else "welch"
        if test == "paired" and paired.sum() < 2:
            raise BadInput("A paired test needs items that were rated for every system, and there are fewer than two.")
        rated_all = np.asarray(~np.isnan(ratings.values).any(axis=0) & (test == "paired"))
        tables = []
        for system, name in enumerate(ratings.systems):
            mask = paired if test == "paired" else ratings.counts[system] > 0
            values = ratings.values[system][mask]
            if len(values) < 2:
                raise BadInput(f"{name!r} has fewer than two rated outputs; a t-test needs two.")
            # Raters of all systems first, then others, without empty columns.
            order = np.argsort(np.isnan(values) * 1 - rated_all[mask], axis=1, kind="stable")
            width = max(1, int(np.sum(~np.isnan(values), axis=1).max(initial=0)))
            tables.append(np.take_along_axis(values, order, axis=1)[:, :width])
        means = [np.nanmean(rows, axis=1)[None] for rows in tables]
        common = rated_all[paired].sum(axis=1)
        return cls(ratings.systems, test, alpha, tuple(tables), common, _test_pairs(means, test, alpha)[0])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(combinations(self.systems, 2))

    @property
    def design(self) -> Design:
        """Whether most ratings are from raters of all systems' outputs of a sentence."""
        total = sum(int(np.sum(~np.isnan(rows))) for rows in self.ratings)
        return "same" if 2 * len(self.ratings) * self.common.sum() >= total else "new"

    @property
    def sentences(self) -> int:
        """Rated sentences of a system; the smallest number if systems differ."""
        return min(len(rows) for rows in self.ratings)

    @property
    def raters(self) -> float:
        """The average number of ratings of an output."""
        return float(np.mean([np.sum(~np.isnan(rows)) / max(1, len(rows)) for rows in self.ratings]))


@dataclass(frozen=True)
class Point:
    """How well a study of some size agrees with the pilot, over many draws of such a study.

    ``power``: of the pairs that the pilot decides, the share that the draw decides in the same way. ``wrong``: of all
    pairs, the share that the draw orders the other way. ``beyond``: of the pilot's undecided pairs, the share that the
    draw decides.
    """

    sentences: int
    raters: int
    tau: float
    tau_as_listed: float
    low: float
    high: float
    power: float
    wrong: float
    beyond: float
    nothing_found: float
    draws: int

    @property
    def ratings(self) -> int:
        return self.sentences * self.raters

    def record(self) -> Record:
        return {**asdict(self), "ratings": self.ratings}

    def cells(self) -> tuple[str, ...]:
        """Return the point as a row of a table."""
        sizes = map(str, (self.sentences, self.raters, self.ratings))
        shares = percent(self.power), percent(self.wrong, 1), percent(self.nothing_found)
        return *sizes, interval(self.tau, self.low, self.high), *shares


def resample_study(
    pilot: Pilot,
    *,
    sentences: int | None = None,
    raters: int | None = None,
    sampling: Sampling = Sampling(),
    rng: Generator,
    published: bool = False,
) -> Point:
    """Draw studies with so many sentences and raters for each sentence; by default all of the pilot's."""
    if (sentences is not None and sentences < 2) or (raters is not None and raters < 1):
        raise BadInput("A study has at least two sentences and one rater.")
    draws = sampling.resamples
    population = pilot.ratings if raters is None or published else _shrink_to_new_raters(pilot)
    width = max(sentences or 0, *(len(rows) for rows in pilot.ratings)) * (raters or 1) * len(pilot.ratings)
    step = max(1, _CHUNK // width)
    chunks = (min(step, draws - start) for start in range(0, draws, step))
    draw = partial(_draw_patterns, pilot, population, sentences, raters, rng=rng, published=published)
    patterns = np.concatenate([draw(chunk) for chunk in chunks])
    full = pilot.pattern
    both = np.nan_to_num(tau_b(np.concatenate([patterns, -patterns], axis=1), np.concatenate([full, -full])))
    decided = full != 0
    low, high = middle_interval(both, sampling)
    return Point(
        sentences=sentences or pilot.sentences,
        raters=raters or round(pilot.raters),
        tau=float(both.mean()),
        tau_as_listed=float(np.nan_to_num(tau_b(patterns, full)).mean()),
        low=low,
        high=high,
        power=float((patterns == full)[:, decided].mean()) if decided.any() else float("nan"),
        wrong=float((patterns * full == -1).mean()),
        beyond=float((patterns != 0)[:, ~decided].mean()) if (~decided).any() else float("nan"),
        nothing_found=float((patterns == 0).all(axis=1).mean()),
        draws=draws,
    )


def _shrink_to_new_raters(pilot: Pilot) -> tuple[Floats, ...]:
    """Adjust the pilot's ratings so that drawn raters vary as new raters of the same sentences would.

    Each rating is a sentence's mean and the rater's difference from it. The mean is shrunk towards the system's mean
    (in a paired test: towards the sentence's mean over all systems, which cancels) until the raters' share of its
    variance is gone; the difference is stretched, since ratings are nearer to their own mean than to the true one.
    Raters of all systems do not contribute their strictness to that variance.
    """
    counts = [np.sum(~np.isnan(rows), axis=1) for rows in pilot.ratings]
    means = [np.nanmean(rows, axis=1) for rows in pilot.ratings]
    parts = estimate_components(pilot)
    if np.isnan(parts.within):
        return pilot.ratings
    shared: Floats | float = 0.0
    if pilot.test == "paired":
        shared = np.mean([values - values.mean() for values in means], axis=0)
    adjusted = []
    for rows, values, count in zip(pilot.ratings, means, counts, strict=True):
        own = values - values.mean() - shared
        between = np.full(len(values), parts.between)
        shrink = np.sqrt(ratio(between, between + parts.within / count, undefined=0.0))
        shrink = np.where(count > 1, shrink, 1.0)  # a single rating cannot be split into the two parts
        stretch = np.sqrt(ratio(count * 1.0, count - 1.0, undefined=0.0))
        adjusted.append((values.mean() + shared + shrink * own)[:, None] + (rows - values[:, None]) * stretch[:, None])
    return tuple(adjusted)


def _draw_patterns(
    pilot: Pilot,
    ratings: Sequence[Floats],
    size: int | None,
    count: int | None,
    draws: int,
    rng: Generator,
    *,
    published: bool,
) -> Floats:
    """Return the significance patterns of drawn studies: (draws, pairs)."""
    same = pilot.design == "same" and not published
    means: list[Floats] = []
    for rows in ratings:
        if size is None:
            sentences = np.broadcast_to(np.arange(len(rows)), (draws, len(rows)))
        elif not means or pilot.test == "welch":  # paired: the same sentences for all systems
            sentences = rng.integers(len(rows), size=(draws, size))
        if count is None:
            means.append(np.nanmean(rows, axis=1)[sentences])
            continue
        present = np.sum(~np.isnan(rows), axis=1)
        if not (same and means):  # the raters of all systems are the first of each output, in one order
            raters = rng.random((*sentences.shape, count))
        drawn = (raters * present[sentences][..., None]).astype(np.int64)
        means.append(rows[sentences[..., None], drawn].mean(axis=-1))
    return _test_pairs(means, pilot.test, pilot.alpha)


def _test_pairs(means: Sequence[Floats], test: Test, alpha: float) -> Floats:
    """Return 1 where the first system of a pair is significantly better, −1 where the second is, 0 otherwise."""
    from scipy.special import stdtr

    left, right = np.triu_indices(len(means), 1)
    centre = np.stack([values.mean(axis=1) for values in means], axis=1)
    apart = centre[:, left] - centre[:, right]
    if test == "paired":
        stacked = np.stack(means, axis=1)
        n = stacked.shape[2]
        spread = stacked - centre[:, :, None]
        covariance = np.einsum("dsn,dtn->dst", spread, spread, optimize=True) / (n - 1)
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        squared = (variance[:, left] + variance[:, right] - 2 * covariance[:, left, right]) / n
        df = np.full(apart.shape, float(n - 1))
    else:
        counts = np.array([values.shape[1] for values in means], dtype=float)
        squares = np.stack([values.var(axis=1, ddof=1) for values in means], axis=1) / counts
        squared = squares[:, left] + squares[:, right]
        # Welch–Satterthwaite.
        by_system = squares**2 / (counts - 1)
        df = ratio(squared**2, by_system[:, left] + by_system[:, right], undefined=1.0)
    t = ratio(apart, np.sqrt(np.abs(squared)), undefined=0.0)
    # Differences without any spread are decided by their sign alone; equal systems are not.
    p = np.where(squared <= 1e-12, np.abs(apart) <= 1e-12, 2 * stdtr(df, -np.abs(t)))
    return np.where(p < alpha, np.sign(apart), 0.0)


def tau_b(patterns: Floats, full: Floats) -> Floats:
    """Return Kendall's tau-b of each pattern with the full one; all values are −1, 0 or 1, so counts suffice."""
    values = np.array([-1.0, 0.0, 1.0])
    has_value = (patterns[:, None, :] == values[:, None]).astype(float)
    table = has_value @ (full[:, None] == values).astype(float)  # (draws, pattern's value, full's value)
    above = np.triu(np.ones((3, 3)), 1)
    concord = np.einsum("dij,ik,dkl,jl->d", table, above, table, above - above.T)
    total = float(len(full)) ** 2
    distinct = [(total - (table.sum(axis=axis) ** 2).sum(axis=1)) / 2 for axis in (2, 1)]
    return ratio(concord, np.sqrt(distinct[0] * distinct[1]))


@dataclass(frozen=True)
class Components:
    """Components of variance on the ratings' own scale.

    ``between`` is the variance of outputs' true ratings (for a paired test: half the variance of the difference of two
    systems from sentence to sentence); ``within`` is the variance of raters on one output. In a design with the same
    raters, ``within`` leaves out what cancels, and ``within_new`` includes it.
    """

    between: float
    within: float
    test: str
    design: Design = "new"
    within_new: float = float("nan")

    @property
    def with_new_raters(self) -> Components:
        return self if self.design == "new" else replace(self, within=self.within_new, design="new")


def estimate_components(pilot: Pilot) -> Components:
    """Estimate both components from the pilot, by the analysis of variance."""
    counts = [np.sum(~np.isnan(rows), axis=1) for rows in pilot.ratings]
    # The outputs with several ratings, and the degrees of freedom of each.
    several = [(rows[n > 1], n[n > 1] - 1) for rows, n in zip(pilot.ratings, counts, strict=True)]
    squares = sum(float(np.sum(np.nanvar(rows, axis=1, ddof=1) * df)) for rows, df in several)
    weight = sum(int(df.sum()) for _, df in several)
    inside = squares / weight if weight else float("nan")
    means = [np.nanmean(rows, axis=1) for rows in pilot.ratings]
    share = float(np.mean([np.mean(1 / count) for count in counts]))
    if pilot.test == "paired":
        stacked = np.stack(means)
        left, right = np.triu_indices(len(stacked), 1)
        spread = float(np.mean((stacked[left] - stacked[right]).var(axis=1, ddof=1))) / 2
    else:
        spread = float(np.mean([values.var(ddof=1) for values in means]))
    if np.isnan(inside):
        return Components(spread, inside, pilot.test, pilot.design, inside)
    own = _variance_of_same_raters(pilot)
    cancels = 0.0 if np.isnan(own) else inside - own
    pairs = combinations(counts, 2) if pilot.test == "paired" else ()
    overlap = float(np.mean([np.mean(pilot.common / (one * other)) for one, other in pairs] or [0.0]))
    # The raters' share of the variance of means is not variance between outputs.
    between = max(0.0, spread - inside * share + cancels * overlap)
    is_same = pilot.design == "same"
    return Components(between, inside - cancels if is_same else inside, pilot.test, pilot.design, inside)


def _variance_of_same_raters(pilot: Pilot) -> float:
    """Return the variance of raters who rate all systems' outputs of a sentence, without what they have in common.

    It is the residual of each sentence's table of systems × raters; NaN where no sentence has two such raters.
    """
    squares, weight = 0.0, 0
    for count in np.unique(pilot.common[pilot.common > 1]):
        table = np.stack([rows[pilot.common == count, :count] for rows in pilot.ratings])
        effects = table.mean(axis=0, keepdims=True) + table.mean(axis=2, keepdims=True)
        squares += float(np.sum((table - effects + table.mean(axis=(0, 2), keepdims=True)) ** 2))
        weight += table.shape[1] * (len(table) - 1) * (int(count) - 1)
    return squares / weight if weight else float("nan")


def compute_power(
    parts: Components, difference: float, *, sentences: int, raters: int = 1, alpha: float = 0.01
) -> float:
    """Return the probability that a t-test finds a true difference of two systems, with these sentences and raters."""
    from scipy.special import gammaincinv, ndtr, stdtrit

    if sentences < 2 or raters < 1:
        raise BadInput("Power needs at least two sentences and one rater.")
    inside = 0.0 if np.isnan(parts.within) else parts.within
    error = np.sqrt(2 * (parts.between + inside / raters) / sentences)
    if error == 0:
        return float(difference != 0)
    df = (sentences - 1) if parts.test == "paired" else 2 * (sentences - 1)
    critical = -float(stdtrit(df, alpha / 2))
    shift = abs(difference) / error
    # The mean over the distribution of the standard error: scipy's noncentral t is NaN at some sizes.
    points, weights = _nodes()
    spread = np.sqrt(gammaincinv(df / 2, points) * 2 / df) * critical
    return float(weights @ (ndtr(shift - spread) + ndtr(-shift - spread)))


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return the points and weights of Gauss–Legendre quadrature between 0 and 1."""
    points, weights = np.polynomial.legendre.leggauss(200)
    return (points + 1) / 2, weights / 2


def check_difference(difference: float) -> None:
    if not (isinstance(difference, int | float) and np.isfinite(difference) and difference > 0):
        raise BadInput(f"difference= is a number above 0 on the scale of the ratings, not {difference!r:.60}.")


def sentences_needed(parts: Components, difference: float, *, raters: int = 1, alpha: float = 0.01) -> int | None:
    """Return the fewest sentences that find a difference with 80 % probability; None if 100,000 are too few."""
    check_difference(difference)

    def enough(sentences: int) -> bool:
        return compute_power(parts, difference, sentences=sentences, raters=raters, alpha=alpha) >= POWER

    if not enough(MOST):
        return None
    return 2 + bisect_left(range(2, MOST), True, key=enough)


def find_detectable_difference(parts: Components, *, sentences: int, raters: int = 1, alpha: float = 0.01) -> float:
    """Return the smallest true difference that a study with so many raters a sentence finds with 80 % probability."""
    power = partial(compute_power, parts, sentences=sentences, raters=raters, alpha=alpha)
    low, high = 0.0, 1.0
    while power(high) < POWER:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < POWER else (low, middle)
    return high


@dataclass(frozen=True, repr=False)
class StudyPlan(Result):
    """Predictions from a pilot about the next study of the same kind.

    ``points`` are drawn studies, by what was varied. ``needed`` has sentences by raters, ``smallest`` the smallest
    difference by sentences, both for 80 % power and the design of the pilot; ``curves`` has points of power curves.
    ``budget`` is the number of ratings for each system.
    """

    ratings: str
    dimension: str
    sampling: Sampling
    pilot: Pilot
    points: dict[str, list[Point]]
    budget: int
    components: Components
    target: float
    difference: float
    needed: dict[int, int | None]
    needed_with_new_raters: dict[int, int | None]
    smallest: dict[int, float]
    curves: list[Record]
    conclusions: Conclusions  # of ``plainly results`` from the pilot
    scale: Scale | None = None
    test_set: str = ""  # that the pilot's texts are from, if known
    remarks: tuple[Note, ...] = ()  # on the ratings

    @property
    def design(self) -> str:
        """The design of the study that the numbers are for."""
        return "ratings like the pilot's" if np.isnan(self.components.within) else DESIGNS[self.pilot.design]

    @property
    def best(self) -> Point | None:
        """The way to spend the budget that agrees best with the pilot; None if there is nothing to agree with."""
        best = max(self.points["budget"], key=lambda point: (point.tau, point.sentences))
        return (
            best if self.conclusions.told_apart and best.tau >= 0.005 else None
        )  # a tau that is shown as 0.00 is none

    @property
    def recommended(self) -> tuple[int, int] | None:
        """Sentences and raters of each: the best use of the budget, or else the cheapest with enough power."""
        if self.best is not None:
            return self.best.sentences, self.best.raters
        sizes = [(size * raters, raters, size) for raters, size in self.needed.items() if size]
        if not sizes:
            return None
        _, raters, sentences = min(sizes)
        return sentences, raters

    @property
    def answer(self) -> str:
        """The advice in a sentence: how to spend the budget, or what would be needed."""
        best = self.best
        if best is None:
            return self._answer_by_power()
        text = f"With {self.budget} ratings, use {best.sentences} sentences with {_raters(best.raters)} each"
        others = [point for point in self.points["budget"] if point is not best]
        if not others:
            return f"{text}."
        # The other extreme shows the difference.
        other = max(others, key=lambda point: abs(point.raters - best.raters))
        return (
            f"{text} (agreement with the whole pilot, Kendall's tau, {best.tau:.2f}; with {other.sentences} sentences "
            f"and {_raters(other.raters)} it is {other.tau:.2f})."
        )

    def _answer_by_power(self) -> str:
        """Return what is needed, where the pilot has no conclusions that a study could share."""
        what = f"a true difference of {self.difference:g} with 80 % power at p < {self.pilot.alpha:g} ({self.design})"
        why = "the pilot tells no two systems apart"
        if self.conclusions.told_apart:
            why = f"the pilot decides too little to show how to spend {self.budget} ratings"
        if self.recommended is None:
            return f"No affordable study finds {what}; {why}."
        sentences, raters = self.recommended
        return f"Use {sentences} sentences with {_raters(raters)} each to find {what}; {why}."

    @property
    def advice(self) -> list[str]:
        lines = [self.answer]
        if self.best is not None:
            aim = f"reach a tau of {self.target:g} with the pilot."
            enough = [point for point in self.points["sentences"] if point.tau >= self.target]
            if enough:
                lines.append(f"{enough[0].sentences} sentences with {_raters(enough[0].raters)} each {aim}")
            else:
                lines.append(f"Even {self.points['sentences'][-1].sentences} sentences do not {aim}")
            if 1 in self.needed:
                need = self.needed[1]
                lines.append(
                    f"To find a true difference of {self.difference:g} with 80 % power at p < {self.pilot.alpha:g}, "
                    + (f"rate {need} sentences a system with one rater each" if need else "no affordable size suffices")
                    + f" ({self.design})."
                )
        pilot = self.conclusions
        text = f"The pilot itself tells {pilot.told_apart} of {pilot.pairs} pairs of systems apart (plainly results"
        if math.isfinite(pilot.detectable[0]):
            raters = "" if pilot.raters < 2 else f" with its {pilot.raters} raters"
            text += f":{raters} it could detect differences of about {span(*pilot.detectable)}"
        lines.append(f"{text}).")
        return lines

    def study(self) -> str:
        """Return the file of the recommended study, for ``plainly studio create``."""
        if self.recommended is None:
            raise BadInput(f"There is no study to write. {self.answer}")
        sentences, raters = self.recommended
        low, high = self.scale or (1, 5)
        data = {"systems": list(self.pilot.systems), "items": sentences}
        scale = {
            "name": self.dimension,
            "question": f"How do you rate this text? ({self.dimension})",
            "minimum": low,
            "maximum": high,
        }
        sections: dict[str, Record] = {
            "[project]": {"name": f"{self.dimension} study", "task": "rating"},
            "[data]": {"test_set": self.test_set, **data} if self.test_set else data,
            "[assignment]": {"overlap": raters},
            "[[scales]]": scale,
        }
        # Strings, numbers and lists are written in the same way in JSON and TOML.
        parts = [
            "\n".join([title, *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items())])
            for title, rows in sections.items()
        ]
        missing = "" if self.test_set else "# Add to [data]: test_set, or source and outputs.\n"
        return f"# {self.answer}\n# All settings: docs/studio.md\n{missing}\n" + "\n\n".join(parts) + "\n"

    def records(self) -> list[Record]:
        return [{"resampled": name, **point.record()} for name, points in self.points.items() for point in points]

    def json(self) -> Record:
        return {
            "schema": "plainly.plan/1",
            "ratings": self.ratings,
            "dimension": self.dimension,
            "systems": list(self.pilot.systems),
            "test": self.pilot.test,
            "design": {"raters": self.pilot.design, "description": self.design},
            "alpha": self.pilot.alpha,
            "seed": self.sampling.seed,
            "answer": self.answer,
            "recommended": self.recommended and dict(zip(("sentences", "raters"), self.recommended, strict=True)),
            "pilot": asdict(self.conclusions),
            "advice": self.advice,
            "pilot_pattern": [
                {"first": first, "second": second, "decided": int(decided)}
                for (first, second), decided in zip(self.pilot.pairs, self.pilot.pattern, strict=True)
            ],
            **{name: [point.record() for point in points] for name, points in self.points.items()},
            "variance": asdict(self.components),
            "power": {
                "difference": self.difference,
                "power": 0.8,
                "sentences_needed_by_raters": self.needed,
                "sentences_needed_by_new_raters": self.needed_with_new_raters,
                "smallest_difference_by_sentences": self.smallest,
                "curves": self.curves,
            },
        }

    def tables(self) -> list[Table]:
        """Return the ways to spend the budget, with what each would find; JSON has further sizes."""
        header: tuple[str, ...]
        header = ("sentences", "raters", "ratings", "tau", "power", "wrong", "finds nothing", "detectable", "needed")
        sizes_only = self.best is None  # nothing to agree with
        rows = []
        for point in self.points["budget"]:
            size = {"sentences": point.sentences, "raters": point.raters}
            detectable = number(find_detectable_difference(self.components, **size, alpha=self.pilot.alpha))
            cells = point.cells()[: 3 if sizes_only else None]
            rows.append((*cells, detectable, str(self.needed[point.raters] or "too many")))
        header = header[:3] + header[-2:] if sizes_only else header
        about = (
            f"{self.budget} ratings for each system. detectable: true difference found with 80 % power; needed: "
            f"sentences that find {self.difference:g}. Both assume that many raters share the work."
        )
        return [Table(header, tuple(rows), self.answer, notes=(about,), text_columns=frozenset())]

    def notes(self) -> list[Note]:
        pilot = self.pilot
        about = (
            f"Pilot: {self.ratings}, {self.dimension}, {len(pilot.systems)} systems, about {pilot.sentences} sentences "
            f"and {pilot.raters:.1f} raters each; {pilot.test} t-test at p < {pilot.alpha:g}, "
            f"{self.sampling.resamples} draws, seed {self.sampling.seed}. tau: Kendall's tau-b of the significance "
            "patterns, each pair both ways; power: of the pairs that the pilot distinguishes, how many the study does."
        )
        if np.isnan(self.components.within):
            design = (
                "The pilot has one rating (or a mean) per output, so how much raters differ is unknown: all numbers "
                "are for studies whose ratings are like the pilot's, whatever the number of raters."
            )
        else:
            design = f"All numbers are for a study like the pilot, with {self.design}"
            new = self.needed_with_new_raters.get(1) if pilot.design == "same" else None
            design += f"; a new rater for every rating needs {new} sentences with one rater each." if new else "."
        claims = [Note(line, kind="claim") for line in self.advice[1:]]  # the first stands above the table
        return [*claims, *self.remarks, Note(about), Note(design)]


def _raters(count: int) -> str:
    return "one rater" if count == 1 else f"{count} raters"


def plan(
    ratings: RatingsLike = "simplicity-da",
    *,
    dimension: str = "",
    budget: int = 200,
    sentences: Sequence[int] = (),
    raters: Sequence[int] = (),
    test: Test | None = None,
    alpha: float = 0.01,
    target: float = 0.9,
    difference: float | None = None,
    sampling: Sampling = Sampling(),
) -> StudyPlan:
    """Plan how many sentences and raters the next human evaluation needs, from existing ratings.

    The ratings (a public set's name, a file, or ``Judgements``) are resampled as by Schwarzer and Kauchak (2018), and
    power is computed from their variance. ``budget`` is the number of ratings for each system; ``sentences``
    and ``raters`` are the sizes to try. ``difference`` is the true difference worth finding, on the ratings' scale; by
    default a tenth of the scale.
    """
    check_sampling(sampling)
    judgements = read_ratings(ratings)
    rated = judgements[dimension or usual_dimension(judgements)]
    if budget < 2:
        raise BadInput(f"A budget of {budget} ratings is too small; a study needs at least two for each system.")
    if not 0 < target <= 1:
        raise BadInput(f"The tau to reach is between 0 and 1, for example 0.9; not {target:g}.")
    if difference is None:
        low, high = rated.scale or (float(np.nanmin(rated.values)), float(np.nanmax(rated.values)))
        if low == high:
            raise BadInput(f"All ratings of {rated.dimension} are {low:g}: no plan can be made from them.")
        difference = (high - low) / 10
    check_difference(difference)
    pilot = Pilot.of(rated, test=test, alpha=alpha)
    most = max(1, round(pilot.raters))
    counts = tuple(raters) or tuple(count for count in (1, 2, 3, 5, 10, 15) if count <= max(most, 3))
    # A study larger than the pilot finds what the pilot could not, so that agreement with it falls.
    usual = {size for size in (10, 25, 50, 100, 200, 400) if size < pilot.sentences}
    sizes = tuple(sentences) or tuple(sorted(usual | {pilot.sentences}))
    if budget < 2 * min(counts):
        raise BadInput(f"{budget} ratings are too few for a test: at least two sentences are needed.")

    @cache
    def draw(size: int, count: int) -> Point:
        """Draw each configuration once, so that it has one value wherever it is shown."""
        rng = np.random.default_rng(sampling.seed)
        return resample_study(pilot, sentences=size, raters=count, sampling=sampling, rng=rng)

    parts = estimate_components(pilot)

    def by_raters(parts: Components) -> dict[int, int | None]:
        return {count: sentences_needed(parts, difference, raters=count, alpha=alpha) for count in counts}

    return StudyPlan(
        judgements.name,
        rated.dimension,
        sampling,
        pilot,
        {
            "sentences": [draw(size, most) for size in sizes],
            "raters": [draw(pilot.sentences, count) for count in counts],
            "budget": [draw(budget // count, count) for count in counts if budget // count >= 2],
        },
        budget=budget,
        components=parts,
        target=target,
        difference=difference,
        needed=by_raters(parts),
        needed_with_new_raters=by_raters(parts.with_new_raters),
        smallest={size: find_detectable_difference(parts, sentences=size, alpha=alpha) for size in sizes},
        curves=[
            {**study, "power": compute_power(parts, difference, **study, alpha=alpha)}
            for study in ({"raters": count, "sentences": size} for count in counts for size in CURVE_SIZES)
        ],
        conclusions=conclude(rated, level=sampling.level),
        scale=rated.scale,
        test_set=judgements.test_set,
        remarks=judgements.remarks,
    )
