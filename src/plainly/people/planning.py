"""The plan: all resamplings of a pilot, the power that follows from it, and the answer in sentences."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.formatting import interval, percent
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.people import Ratings, RatingsLike, resampling, take, usual_dimension
from plainly.people.resampling import Pilot, Point, Test
from plainly.people.variance import Components, check_difference, components, detectable, power, sentences_needed

# Where power curves are computed, close together at first, where they rise.
CURVE_SIZES = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)
CAPTIONS = {
    "sentences": "More or fewer sentences, all raters",
    "raters": "All sentences, more or fewer raters",
    "budget": "The same number of ratings, spent in different ways",
}


@dataclass(frozen=True, repr=False)
class StudyPlan(Result):
    """What a pilot says about the next study of the same kind.

    ``points`` are drawn studies by what was varied. ``needed`` sentences are by raters, the ``smallest`` difference
    found by sentences, both for 80 % power; ``curves`` are of power. ``budget`` is in ratings for each system.
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
    smallest: dict[int, float]
    curves: list[Record]
    remarks: tuple[Note, ...] = ()  # on the ratings

    @property
    def answer(self) -> str:
        """The advice in a sentence: how to spend the ratings there are."""
        best = max(self.points["budget"], key=lambda point: (point.tau, point.sentences))
        text = f"With {self.budget} ratings, use {best.sentences} sentences with {_raters(best)} each"
        others = [point for point in self.points["budget"] if point is not best]
        if not others:
            return f"{text}."
        # The other extreme shows what is lost.
        other = max(others, key=lambda point: abs(point.raters - best.raters))
        return (
            f"{text} (agreement with the whole pilot, Kendall's tau, {best.tau:.2f}; with {other.sentences} sentences "
            f"and {_raters(other)} it is {other.tau:.2f})."
        )

    @property
    def advice(self) -> list[str]:
        lines = [self.answer]
        reached = f"reach a tau of {self.target:g} with the pilot."
        enough = next((point for point in self.points["sentences"] if point.tau >= self.target), None)
        if enough is not None:
            lines.append(f"{enough.sentences} sentences with about {enough.raters} raters each {reached}")
        else:
            lines.append(f"Even {self.points['sentences'][-1].sentences} sentences do not {reached}")
        if self.difference and 1 in self.needed:
            need = self.needed[1]
            lines.append(
                f"To find a true difference of {self.difference:g} with 80 % power at p < {self.pilot.alpha:g}, "
                + (f"rate {need} sentences a system with one rater each." if need else "no affordable size suffices.")
            )
        told, pairs = int(np.sum(self.pilot.pattern != 0)), len(self.pilot.pattern)
        lines.append(f"The pilot itself tells {told} of {pairs} pairs of systems apart ({self.pilot.test} t-test).")
        return lines

    def records(self) -> list[Record]:
        return [{"resampled": name, **_record(point)} for name, points in self.points.items() for point in points]

    def json(self) -> Record:
        return {
            "schema": "plainly.plan/1",
            "ratings": self.ratings,
            "dimension": self.dimension,
            "systems": list(self.pilot.systems),
            "test": self.pilot.test,
            "alpha": self.pilot.alpha,
            "seed": self.sampling.seed,
            "answer": self.answer,
            "advice": self.advice,
            "pilot_pattern": [
                {"first": first, "second": second, "decided": int(decided)}
                for (first, second), decided in zip(self.pilot.pairs, self.pilot.pattern, strict=True)
            ],
            **{name: [_record(point) for point in points] for name, points in self.points.items()},
            "variance": asdict(self.components),
            "power": {
                "difference": self.difference,
                "power": 0.8,
                "sentences_needed_by_raters": self.needed,
                "smallest_difference_by_sentences": self.smallest,
                "curves": self.curves,
            },
        }

    def tables(self) -> list[Table]:
        header = ("sentences", "raters", "ratings", "tau", "power", "wrong", "tells nothing apart")
        tables = [
            Table(header, tuple(map(_cells, points)), CAPTIONS[name], text_columns=frozenset())
            for name, points in self.points.items()
        ]
        needed = ("raters a sentence", "sentences needed", "ratings a system")
        rows = tuple(
            (str(raters), str(size) if size else "too many", str(size * raters) if size else "too many")
            for raters, size in self.needed.items()
        )
        caption = f"To find a true difference of {self.difference:g} with 80 % power"
        return [*tables, Table(needed, rows, caption, text_columns=frozenset())]

    def notes(self) -> list[Note]:
        pilot = self.pilot
        about = (
            f"Pilot: {self.ratings}, {self.dimension}, {len(pilot.systems)} systems, about {pilot.sentences} sentences "
            f"and {pilot.raters:.1f} raters each; {pilot.test} t-test at p < {pilot.alpha:g}, "
            f"{self.sampling.resamples} draws, seed {self.sampling.seed}. tau: Kendall's tau-b of the significance "
            "patterns, each pair both ways; power: of the pairs that the pilot tells apart, how many the study does."
        )
        return [*(Note(line, kind="claim") for line in self.advice), *self.remarks, Note(about)]

    def chart(self) -> Any:
        """The curves: agreement by sentences, ways to spend the budget, and power. An altair chart."""
        from plainly.people.plan_curves import curves

        return curves(self)


def _record(point: Point) -> Record:
    return {**asdict(point), "ratings": point.ratings}


def _raters(point: Point) -> str:
    return "one rater" if point.raters == 1 else f"{point.raters} raters"


def _cells(point: Point) -> tuple[str, ...]:
    return (
        *map(str, (point.sentences, point.raters, point.ratings)),
        interval(point.tau, point.low, point.high),
        percent(point.power),
        percent(point.wrong, 1),
        percent(point.nothing_found),
    )


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
    """How many sentences and raters the next human evaluation needs, learnt from ratings that exist.

    The ratings (a public set's name, a file, or ratings that were read) are resampled as Schwarzer and Kauchak (2018)
    do it, and power is computed from their variance. ``budget`` is the number of ratings for each system; ``sentences``
    and ``raters`` are the sizes to try. ``difference`` is the true difference worth finding, on the ratings' scale; by
    default a tenth of the scale.
    """
    check_sampling(sampling)
    judgements = take(ratings)
    rated = judgements[dimension or usual_dimension(judgements)]
    if budget < 2:
        raise BadInput(f"A budget of {budget} ratings is none; a study needs at least two for each system.")
    if not 0 < target <= 1:
        raise BadInput(f"The tau to reach is between 0 and 1, for example 0.9; not {target:g}.")
    difference = _tenth(rated) if difference is None else difference
    check_difference(difference)
    pilot = Pilot.of(rated, test=test, alpha=alpha)
    rng = np.random.default_rng(sampling.seed)
    most = max(1, round(pilot.raters))
    counts = tuple(raters) or tuple(count for count in (1, 2, 3, 5, 10, 15) if count <= max(most, 3))
    # Beyond the pilot's own size a study finds what the pilot could not, and agreement with it falls for good reasons.
    usual = {size for size in (10, 25, 50, 100, 200, 400) if size < pilot.sentences}
    sizes = tuple(sentences) or tuple(sorted(usual | {pilot.sentences}))
    parts = components(pilot)
    return StudyPlan(
        judgements.name,
        rated.dimension,
        sampling,
        pilot,
        points={
            "sentences": resampling.sentences(pilot, sizes, sampling=sampling, rng=rng),
            "raters": resampling.raters(pilot, counts, sampling=sampling, rng=rng),
            "budget": resampling.budget(pilot, budget, counts, sampling=sampling, rng=rng),
        },
        budget=budget,
        components=parts,
        target=target,
        difference=difference,
        needed={count: sentences_needed(parts, difference, raters=count, alpha=alpha) for count in counts},
        smallest={size: detectable(parts, sentences=size, alpha=alpha) for size in sizes},
        curves=[
            {"raters": n, "sentences": size, "power": power(parts, difference, sentences=size, raters=n, alpha=alpha)}
            for n in counts
            for size in CURVE_SIZES
        ],
        remarks=judgements.remarks,
    )


def _tenth(rated: Ratings) -> float:
    """A tenth of the scale."""
    low, high = rated.scale or (float(np.nanmin(rated.values)), float(np.nanmax(rated.values)))
    if low == high:
        raise BadInput(f"All ratings of {rated.dimension} are {low:g}: they say nothing of the next study.")
    return (high - low) / 10
