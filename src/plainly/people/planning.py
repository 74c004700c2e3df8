"""Planning a human evaluation: what a study of some size would find, by the model with which results are computed.

A difference of two systems varies with the items, with the people who rate and with the single ratings. These
variances are estimated from existing ratings, as in ``plainly results`` (``plainly.stats.crossed``), and pooled over
the pairs of systems. They say for any number of sentences, ratings of each and people which difference
``plainly results`` would find with 80 % power, at the same level and with the same correction. So a plan cannot promise
what the result of the study then denies.

The conclusions of an evaluation are its significance pattern: for each pair of systems, whether the first is better
(1), worse (−1), or neither (0). If the pilot tells systems apart, studies of each size are drawn from the model, and
their patterns are compared with the pilot's by Kendall's tau-b, the question of Schwarzer and Kauchak (2018). Each pair
is counted both ways, so that tau does not depend on the order of the systems. A study that finds nothing has no order;
it counts as 0, and ``nothing_found`` is the share of such studies.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.random import Generator

from plainly.core.errors import BadInput
from plainly.core.formatting import count_noun, interval, number, percent
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.people.rating_tables import RatingsLike, read_ratings, usual_dimension
from plainly.people.ratings import Ratings, Scale
from plainly.stats.crossed import Contrast, VarianceComponents, contrast, exceeding
from plainly.stats.paired import holm
from plainly.stats.resample import Floats, middle_interval, ratio

# The power aimed at, and the largest numbers of sentences and people considered.
POWER = 0.8
MOST = 100_000
MOST_PEOPLE = 1_000
# Sizes at which power curves are computed, denser where they rise.
CURVE_SIZES = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)
# Points of the quadrature for drawn studies: p-values are right to 0.1 %.
_POINTS = 12
_CHUNK = 20_000


@dataclass(frozen=True)
class Pilot:
    """What existing ratings show: the means, the pairs that ``plainly results`` tells apart, and the variances."""

    systems: tuple[str, ...]
    means: Floats
    pattern: Floats  # 1, −1 or 0 for each pair
    components: VarianceComponents
    sentences: int  # of a system
    raters: float  # ratings of an output, on average
    people: int | None  # who rate a system, each as much as the others; None if only means are known
    level: float
    detectable: float  # the difference that the pilot itself could detect

    @classmethod
    def of(cls, ratings: Ratings, *, level: float = 0.95) -> Pilot:
        """Compare all systems as ``plainly results`` does."""
        if len(ratings.systems) < 2:
            raise BadInput(f"{ratings.dimension} was rated for one system; a plan compares at least two.")
        outputs = (ratings.counts > 0).sum(axis=1)
        for name, count in zip(ratings.systems, outputs, strict=True):
            if count < 2:
                raise BadInput(f"{name!r} has fewer than two rated outputs; a plan needs two.")
        pairs = list(combinations(range(len(ratings.systems)), 2))
        contrasts = [contrast(ratings.values[list(pair)], np.array([1.0, -1.0])) for pair in pairs]
        p_values = holm([each.p_value for each in contrasts])
        components = VarianceComponents.of(contrasts)
        size = {
            "items": float(np.mean([each.items.count for each in contrasts])),
            "raters": float(np.mean([each.raters.count for each in contrasts])),
            "ratings": float(np.mean([each.ratings for each in contrasts])),
        }
        return cls(
            ratings.systems,
            ratings.system_means,
            np.array(
                [
                    float(np.sign(each.value)) if p_value <= 1 - level + 1e-12 else 0.0
                    for each, p_value in zip(contrasts, p_values, strict=True)
                ]
            ),
            components,
            int(outputs.min()),
            float(ratings.counts.sum() / outputs.sum()),
            None if math.isnan(components.raters) else max(2, round(size["raters"])),
            level,
            components.study(**size).detectable(level, family=len(pairs)),
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(combinations(self.systems, 2))

    @property
    def told_apart(self) -> int:
        return int(np.count_nonzero(self.pattern))

    def study(self, *, sentences: int, raters: int = 1, people: int | None = None) -> Contrast:
        """Return how a difference varies in a study with so many sentences, ratings of each, and people."""
        if sentences < 2 or raters < 1:
            raise BadInput("A study has at least two sentences and one rater.")
        everyone = self.share(sentences=sentences, raters=raters, people=people) or raters
        return self.components.study(items=sentences, raters=everyone, ratings=sentences * raters)

    def share(self, *, sentences: int, raters: int = 1, people: int | None = None) -> int | None:
        """Return how many people share the work: not more than there are ratings, and all who rate one sentence."""
        return None if self.people is None else max(raters, min(people or self.people, sentences * raters))

    def find_detectable(self, *, sentences: int, raters: int = 1, people: int | None = None) -> float:
        """Return the smallest true difference that ``plainly results`` of such a study finds with 80 % power."""
        study = self.study(sentences=sentences, raters=raters, people=people)
        return study.detectable(self.level, family=len(self.pairs), power=POWER)

    def compute_power(self, difference: float, *, sentences: int, raters: int = 1, people: int | None = None) -> float:
        """Return the probability that ``plainly results`` of such a study finds a true difference of two systems."""
        study = self.study(sentences=sentences, raters=raters, people=people)
        return study.power(difference, self.level, family=len(self.pairs))

    def sentences_needed(self, difference: float, *, raters: int = 1, people: int | None = None) -> int | None:
        """Return the fewest sentences that find a difference with 80 % power; None if 100,000 are too few."""
        check_difference(difference)

        def enough(sentences: int) -> bool:
            return self.compute_power(difference, sentences=sentences, raters=raters, people=people) >= POWER

        return 2 + bisect_left(range(2, MOST), True, key=enough) if enough(MOST) else None

    def people_needed(self, difference: float, *, sentences: int) -> int | None:
        """Return the fewest people with whom so many sentences, rated once, find a difference with 80 % power."""
        if self.people is None:
            return None

        def enough(people: int) -> bool:
            return self.compute_power(difference, sentences=sentences, people=people) >= POWER

        most = min(MOST_PEOPLE, sentences)
        return 2 + bisect_left(range(2, most), True, key=enough) if most >= 2 and enough(most) else None


def check_difference(difference: float) -> None:
    if not (isinstance(difference, int | float) and np.isfinite(difference) and difference > 0):
        raise BadInput(f"difference= is a number above 0 on the scale of the ratings, not {difference!r:.60}.")


@dataclass(frozen=True)
class Point:
    """A study of some size: the difference that it detects, and over many draws how far it agrees with the pilot.

    ``power``: of the pairs that the pilot tells apart, the share that the study does. ``wrong``: of all pairs, the
    share that it orders the other way. What is about agreement is undefined if the pilot tells no systems apart.
    """

    sentences: int
    raters: int
    people: int | None
    detectable: float
    tau: float
    low: float
    high: float
    power: float
    wrong: float
    nothing_found: float
    draws: int

    @property
    def ratings(self) -> int:
        return self.sentences * self.raters

    def record(self) -> Record:
        return {**asdict(self), "ratings": self.ratings}


def draw_study(
    pilot: Pilot,
    *,
    sentences: int,
    raters: int = 1,
    people: int | None = None,
    sampling: Sampling = Sampling(),
    rng: Generator,
) -> Point:
    """Draw studies with so many sentences, ratings of each and people, whose true means are the pilot's."""
    study = pilot.study(sentences=sentences, raters=raters, people=people)
    everyone = pilot.share(sentences=sentences, raters=raters, people=people)
    detectable = pilot.find_detectable(sentences=sentences, raters=raters, people=people)
    if not pilot.told_apart:
        undefined = dict.fromkeys(("tau", "low", "high", "power", "wrong", "nothing_found"), math.nan)
        return Point(sentences, raters, everyone, detectable, **undefined, draws=0)
    step = max(1, _CHUNK // len(pilot.pattern))
    chunks = [min(step, sampling.resamples - start) for start in range(0, sampling.resamples, step)]
    patterns = np.concatenate([_draw_patterns(pilot, study, chunk, rng) for chunk in chunks])
    full = pilot.pattern
    tau = np.nan_to_num(tau_b(np.concatenate([patterns, -patterns], axis=1), np.concatenate([full, -full])))
    low, high = middle_interval(tau, sampling)
    return Point(
        sentences,
        raters,
        everyone,
        detectable,
        tau=float(tau.mean()),
        low=low,
        high=high,
        power=float((patterns == full)[:, full != 0].mean()),
        wrong=float((patterns * full == -1).mean()),
        nothing_found=float((patterns == 0).all(axis=1).mean()),
        draws=sampling.resamples,
    )


def _draw_patterns(pilot: Pilot, study: Contrast, draws: int, rng: Generator) -> Floats:
    """Return the significance patterns of drawn studies, (draws, pairs): means, variances, and tests as of results."""
    left, right = np.triu_indices(len(pilot.systems), 1)
    means = pilot.means + math.sqrt(study.variance / 2) * rng.normal(size=(draws, len(pilot.systems)))
    apart = means[:, left] - means[:, right]
    over_items, over_raters = (
        np.full(apart.shape, spread.variance)
        if math.isinf(spread.freedom)
        else spread.variance * rng.chisquare(spread.freedom, size=apart.shape) / spread.freedom
        for spread in (study.items, study.raters)
    )
    freedoms = study.items.freedom, study.raters.freedom
    p = exceeding(apart, over_items, over_raters, study.rest, freedoms=freedoms, points=_POINTS)
    # Holm's correction, of each study.
    order = np.argsort(p, axis=1)
    steps = len(pilot.pattern) - np.arange(len(pilot.pattern))
    corrected = np.maximum.accumulate(np.take_along_axis(p, order, axis=1) * steps, axis=1)
    is_found = np.empty(p.shape, dtype=bool)
    np.put_along_axis(is_found, order, corrected <= 1 - pilot.level + 1e-12, axis=1)
    return np.where(is_found, np.sign(apart), 0.0)


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


@dataclass(frozen=True, repr=False)
class StudyPlan(Result):
    """Predictions from a pilot about the next study of the same kind.

    ``points`` are studies, by what was varied; those of ``budget`` spend the number of ratings for each system on many
    sentences or on many raters. ``needed`` has sentences by raters that find ``difference`` with 80 % power, ``curves``
    points of power curves.
    """

    ratings: str
    dimension: str
    sampling: Sampling
    pilot: Pilot
    points: dict[str, list[Point]]
    budget: int
    target: float
    difference: float
    needed: dict[int, int | None]
    people_needed: int | None  # who find ``difference`` with the budget, if those of the plan do not
    curves: list[Record]
    scale: Scale | None = None
    test_set: str = ""  # that the pilot's texts are from, if known
    remarks: tuple[Note, ...] = ()  # on the ratings

    @property
    def best(self) -> Point:
        """The way to spend the budget that detects the smallest difference."""
        return min(self.points["budget"], key=lambda point: (point.detectable, -point.sentences))

    @property
    def answer(self) -> str:
        """The advice in a sentence: how to spend the budget, and what that finds."""
        best = self.best
        text = f"With {self.budget} ratings for each system{_by(best.people)}, use {_size(best)}"
        if self._is_beyond_scale(best.detectable):
            return f"{text}; but so few people or sentences show no difference that the scale allows, with 80 % power."
        text += f": a true difference of {number(best.detectable)} is found with 80 % power"
        others = [point for point in self.points["budget"] if point is not best]
        if not others:
            return f"{text}."
        # The other extreme shows the difference.
        other = max(others, key=lambda point: abs(point.raters - best.raters))
        return f"{text} ({_size(other)}: {self._show_detectable(other.detectable)})."

    @property
    def advice(self) -> list[str]:
        lines = [self.answer, self._advise_on_difference()]
        if self.pilot.told_apart:
            enough = [point for point in self.points["sentences"] if point.tau >= self.target]
            aim = f"a tau of {self.target:g} with the conclusions of the pilot."
            lines.append(f"{_size(enough[0])} reach {aim}" if enough else
                         f"Even {_size(self.points['sentences'][-1])} do not reach {aim}")  # fmt: skip
        pairs = count_noun(len(self.pilot.pairs), "pair")
        text = f"The pilot itself tells {self.pilot.told_apart} of {pairs} of systems apart (plainly results)"
        if math.isfinite(self.pilot.detectable):
            text += f"; it could detect a difference of {self._show_detectable(self.pilot.detectable)}"
        lines.append(f"{text}.")
        return lines

    def _advise_on_difference(self) -> str:
        """Return what the difference worth finding needs: sentences, or more people where these do not suffice."""
        what = f"a true difference of {self.difference:g} with 80 % power"
        sizes = [(size * raters, raters, size) for raters, size in self.needed.items() if size]
        if not sizes:
            text = f"No number of sentences finds {what}{_by(self.best.people)}"
            if self.best.people is not None:
                text += ", because their views of a system do not average out"
            more = f"; {self.people_needed} people do with {self.budget} ratings" if self.people_needed else ""
            return f"{text}{more}."
        _, raters, sentences = min(sizes)
        text = f"To find {what}, rate {sentences} sentences with {_raters(raters)} each"
        more = f"; or ask {self.people_needed} people for the same {self.budget} ratings" if self.people_needed else ""
        return f"{text}{more}."

    def _is_beyond_scale(self, difference: float) -> bool:
        return self.scale is not None and difference > self.scale[1] - self.scale[0]

    def _show_detectable(self, difference: float) -> str:
        return "more than the scale" if self._is_beyond_scale(difference) else number(difference)

    def study(self) -> str:
        """Return the file of the recommended study, for ``plainly studio create``."""
        low, high = self.scale or (1, 5)
        data = {"systems": list(self.pilot.systems), "items": self.best.sentences}
        scale = {
            "name": self.dimension,
            "question": f"How do you rate this text? ({self.dimension})",
            "minimum": low,
            "maximum": high,
        }
        sections: dict[str, Record] = {
            "[project]": {"name": f"{self.dimension} study", "task": "rating"},
            "[data]": {"test_set": self.test_set, **data} if self.test_set else data,
            "[assignment]": {
                "overlap": self.best.raters,
                **({} if self.best.people is None else {"raters": self.best.people}),
            },
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
        return [{"varied": name, **point.record()} for name, points in self.points.items() for point in points]

    def json(self) -> Record:
        pilot = self.pilot
        return {
            "schema": "plainly.plan/1",
            "ratings": self.ratings,
            "dimension": self.dimension,
            "systems": list(pilot.systems),
            "level": pilot.level,
            "correction": f"Holm over {len(pilot.pairs)} comparisons",
            "seed": self.sampling.seed,
            "answer": self.answer,
            "recommended": {name: getattr(self.best, name) for name in ("sentences", "raters", "people", "detectable")},
            "advice": self.advice,
            "pilot": {
                "told_apart": pilot.told_apart,
                "pairs": len(pilot.pairs),
                "sentences": pilot.sentences,
                "raters": pilot.raters,
                "people": pilot.people,
                "detectable": pilot.detectable,
                "pattern": [
                    {"first": first, "second": second, "decided": int(decided)}
                    for (first, second), decided in zip(pilot.pairs, pilot.pattern, strict=True)
                ],
            },
            **{name: [point.record() for point in points] for name, points in self.points.items()},
            "variance": {name: getattr(pilot.components, name) for name in ("items", "raters", "rest")},
            "power": {
                "difference": self.difference,
                "power": POWER,
                "sentences_needed_by_raters": self.needed,
                "people_needed": self.people_needed,
                "curves": self.curves,
            },
        }

    def tables(self) -> list[Table]:
        """Return the ways to spend the budget, with what each would find; JSON has further sizes."""
        columns: dict[str, list[str]] = {
            name: [str(getattr(point, name)) for point in self.points["budget"]]
            for name in ("sentences", "raters", "people", "ratings")
        }
        if self.pilot.people is None:
            del columns["people"]
        columns["detectable"] = [self._show_detectable(point.detectable) for point in self.points["budget"]]
        columns["needed"] = [str(self.needed[point.raters] or "too many") for point in self.points["budget"]]
        about = (
            f"{self.budget} ratings for each system. raters: of each sentence; detectable: true difference found with "
            f"80 % power; needed: sentences that find {self.difference:g}."
        )
        if self.pilot.told_apart:
            columns["tau"] = [interval(point.tau, point.low, point.high) for point in self.points["budget"]]
            columns["power"] = [percent(point.power) for point in self.points["budget"]]
            columns["wrong"] = [percent(point.wrong, 1) for point in self.points["budget"]]
            columns["finds nothing"] = [percent(point.nothing_found) for point in self.points["budget"]]
            about += " tau: agreement with the conclusions of the pilot; power: share of them that is found again."
        rows = tuple(zip(*columns.values(), strict=True))
        return [Table(tuple(columns), rows, self.answer, notes=(about,), text_columns=frozenset())]

    def notes(self) -> list[Note]:
        pilot = self.pilot
        about = (
            f"Pilot: {self.ratings}, {self.dimension}, {len(pilot.systems)} systems, about {pilot.sentences} sentences "
            f"and {pilot.raters:.1f} raters each. Power is that of plainly results: over items and raters, "
            f"{1 - pilot.level:.0%} level, Holm over {count_noun(len(pilot.pairs), 'comparison')}."
        )
        if pilot.told_apart:
            about += f" {self.sampling.resamples} draws, seed {self.sampling.seed}."
        if pilot.people is None:
            design = (
                "The pilot has one rating (or a mean) per output, so how much raters differ is unknown: all numbers "
                "are for studies whose ratings are like the pilot's, whatever the number of raters."
            )
        else:
            whose = "who rate all systems" if pilot.components.per_rater < 1.5 else "each of whom rates one system"
            design = (
                f"All numbers are for people {whose}, as in the pilot, and share the work equally; the pilot had "
                f"about {pilot.people} in this sense."
            )
        claims = [Note(line, kind="claim") for line in self.advice[1:]]  # the first stands above the table
        return [*claims, *self.remarks, Note(about), Note(design)]


def _raters(count: int) -> str:
    return "one rater" if count == 1 else f"{count} raters"


def _size(point: Point) -> str:
    return f"{point.sentences} sentences with {_raters(point.raters)} each"


def _by(people: int | None) -> str:
    return "" if people is None else f" by {people} people"


def plan(
    ratings: RatingsLike = "simplicity-da",
    *,
    dimension: str = "",
    budget: int = 200,
    sentences: Sequence[int] = (),
    raters: Sequence[int] = (),
    people: int | None = None,
    target: float = 0.9,
    difference: float | None = None,
    sampling: Sampling = Sampling(),
) -> StudyPlan:
    """Plan how many sentences, raters and people the next human evaluation needs, from existing ratings.

    From the variances in the ratings (a public set's name, a file, or ``Judgements``) follows what the result of a
    study (``plainly.results``) finds. ``budget`` is the number of ratings for each system; ``sentences`` and ``raters``
    (of each sentence) are the sizes to try, and ``people`` is how many share the work, by default as many as in the
    ratings. ``difference`` is the true difference worth finding, on the ratings' scale; by default a tenth of the
    scale. ``target`` is the agreement to reach with the conclusions from the ratings.
    """
    check_sampling(sampling)
    judgements = read_ratings(ratings)
    rated = judgements[dimension or usual_dimension(judgements)]
    if budget < 2:
        raise BadInput(f"A budget of {budget} ratings is too small; a study needs at least two for each system.")
    if not 0 < target <= 1:
        raise BadInput(f"The tau to reach is between 0 and 1, for example 0.9; not {target:g}.")
    if people is not None and people < 2:
        raise BadInput(f"people= is at least 2, not {people}: one person is not a sample of raters.")
    if difference is None:
        low, high = rated.scale or (float(np.nanmin(rated.values)), float(np.nanmax(rated.values)))
        if low == high:
            raise BadInput(f"All ratings of {rated.dimension} are {low:g}: no plan can be made from them.")
        difference = (high - low) / 10
    check_difference(difference)
    pilot = Pilot.of(rated, level=sampling.level)
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
        return draw_study(pilot, sentences=size, raters=count, people=people, sampling=sampling, rng=rng)

    points = {
        "sentences": [draw(size, most) for size in sizes],
        "raters": [draw(pilot.sentences, count) for count in counts],
        "budget": [draw(budget // count, count) for count in counts if budget // count >= 2],
    }
    is_enough = min(point.detectable for point in points["budget"]) <= difference
    return StudyPlan(
        judgements.name,
        rated.dimension,
        sampling,
        pilot,
        points,
        budget=budget,
        target=target,
        difference=difference,
        needed={count: pilot.sentences_needed(difference, raters=count, people=people) for count in counts},
        people_needed=None if is_enough else pilot.people_needed(difference, sentences=budget),
        curves=[
            {"raters": count, "sentences": size, "power": pilot.compute_power(
                difference, sentences=size, raters=count, people=people)}
            for count in counts for size in CURVE_SIZES
        ],
        scale=rated.scale,
        test_set=judgements.test_set,
        remarks=judgements.remarks,
    )  # fmt: skip
