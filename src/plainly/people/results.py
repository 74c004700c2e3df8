"""The result of a human evaluation: systems in order, differences and claims, over items and raters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.formatting import count_noun, interval, listed
from plainly.core.metric import MeanMetric, mean_rows
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.sampling import Sampling, check_sampling
from plainly.people.meta_evaluation import RaterAgreement, measure_agreement, rated_by_several
from plainly.people.rating_tables import RatingsLike, read_ratings
from plainly.people.ratings import Judgements, Ratings
from plainly.scoring.comparisons import Comparison, Comparisons, claims, correct_p_values
from plainly.scoring.scores import Evaluation, Scores, ScoreTable, Signature
from plainly.stats.agreement import AlphaDistance, krippendorff
from plainly.stats.crossed import Contrast, contrast
from plainly.stats.paired import spread_of
from plainly.stats.resample import Estimate, Floats

METHOD = "over items and raters"
# Krippendorff (2004, section 11.4.2): rely on data above .8; between .667 and .8 draw tentative conclusions only.
RELIABLE, TENTATIVE = 0.8, 0.667
# Scales with more points have so few ratings on each that their order is better described by distances.
_MOST_POINTS = 20
_FEW = 4  # with at most this many systems, every pair has a row


class MeanRating(MeanMetric):
    """The mean of the mean ratings of outputs: ratings as a metric, so that they are compared as scores are."""

    name = "rating"
    outputs = ("rating",)
    is_measurable: ClassVar[bool] = False

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        raise BadInput("People measure ratings; they cannot be computed from texts.")


@dataclass(frozen=True, repr=False)
class RatingTable(Evaluation):
    """Human ratings as an evaluation, whose metrics are the dimensions; intervals are over items and raters."""

    @property
    def resampling_unit(self) -> str:
        return "items and raters"

    def ranking(self, spec: str) -> list[str]:
        """Return the systems by their mean ratings, each of the items that were rated for it; best first."""
        return ScoreTable.ranking(self, spec)


@dataclass(frozen=True)
class Reliability:
    """The recommended figure of agreement: Krippendorff's alpha for the kind of scale, and what it means."""

    dimension: str
    coefficient: str
    estimate: Estimate

    @property
    def sentence(self) -> str:
        alpha = self.estimate.value
        if math.isnan(alpha):
            return f"{self.dimension}: agreement is undefined, because no output has two different ratings."
        meaning = (
            "single ratings are reliable"
            if alpha >= RELIABLE
            else "single ratings allow tentative conclusions"
            if alpha >= TENTATIVE
            else "single ratings are not reliable; conclude from means over raters, with their intervals"
        )
        return (
            f"{self.dimension}: raters disagree {max(alpha, 0):.0%} less than by chance "
            f"({self.coefficient} {self.estimate:.2f}): {meaning}."
        )


@dataclass(frozen=True, repr=False)
class HumanResults(Result):
    """Systems in order on each dimension, with intervals and tests over items and raters.

    ``comparisons`` has the scores and the tests of every pair, as ``plainly.compare`` returns them; ``reliability`` the
    recommended figure of agreement by dimension, ``agreement`` all figures if requested.
    """

    judgements: Judgements
    comparisons: Comparisons
    reliability: Mapping[str, Reliability]
    agreement: RaterAgreement | None = None

    @property
    def table(self) -> RatingTable:
        """The mean ratings with their intervals: ``results.table["A"]["simplicity"].value``."""
        table = self.comparisons.evaluation
        if not isinstance(table, RatingTable):
            raise TypeError(f"{type(table).__name__} is not a table of ratings.")
        return table

    @property
    def dimensions(self) -> tuple[str, ...]:
        return self.table.specs

    @property
    def claims(self) -> list[str]:
        """What may be said, a sentence for each dimension; none about a single system."""
        return claims(self.comparisons) if self.comparisons.comparisons else []

    def records(self) -> list[Record]:
        """Return one flat record for each dimension and system, best first."""
        return [
            {
                "dimension": dimension,
                "system": system,
                "place": place,
                "mean": float(self.table[system][dimension]),
                **dict(zip(("low", "high"), self._ends(dimension, system), strict=True)),
                "items": self.table[system][dimension].n,
                **self._outcomes(dimension, system),
            }
            for dimension in self.dimensions
            for place, system in enumerate(self.comparisons.ranking(dimension), 1)
        ]

    def json(self) -> Record:
        """Return the schema plainly.results/1."""
        return {
            **self.judgements.summary(self.comparisons.sampling),
            "schema": "plainly.results/1",
            "level": self.comparisons.sampling.level,
            "unit": self.comparisons.unit,
            "baseline": self.comparisons.baseline,
            "family": "all comparisons of one dimension",
            **(self.comparisons.parts_json() if len(self.table) > 1 else {"systems": self.table.systems_json()}),
            "results": self.records(),
            "reliability": [
                {"dimension": name, "name": each.coefficient, **each.estimate.record(), "sentence": each.sentence}
                for name, each in self.reliability.items()
            ],
            "agreement": self.agreement.json()["agreement"] if self.agreement else None,
            "warnings": warnings(self),
        }

    def tables(self) -> list[Table]:
        """Return each dimension's systems in order; every pair if there are few; all figures of agreement."""
        tables = [self._standings(dimension) for dimension in self.dimensions]
        if 1 < len(self.table) <= _FEW or self.comparisons.baseline is not None:
            tables.append(self._pairs())
        return tables + (self.agreement.tables() if self.agreement else [])

    def notes(self) -> list[Note]:
        sampling = self.comparisons.sampling
        about = (
            f"{self.judgements.name}: {count_noun(self.table.n, 'item')}. {sampling.level:.0%} intervals "
            "and tests over items and raters, by a mixed model in which both are samples."
        )
        notes = [*(Note(claim, "claim") for claim in self.claims)]
        notes += [Note(each.sentence, "claim") for each in self.reliability.values()]
        single = [name for name in self.dimensions if _count_raters(self.judgements[name]) < 2]
        if single:
            which = "" if len(single) == len(self.dimensions) else f" of {listed(single)}"
            notes.append(
                Note(
                    f"The ratings{which} are by one rater, or means: intervals and tests are about other items, not "
                    "about other raters."
                )
            )
        agreement = [note for note in self.agreement.notes() if note.kind != "warning"] if self.agreement else []
        few_items = self.judgements.few_items() if self.reliability else []
        remarks = self.judgements.remarks if not self.agreement else ()
        return [*notes, Note(about), *remarks, *agreement, *few_items]

    def _ends(self, dimension: str, system: str) -> tuple[float, float]:
        estimate = self.table[system][dimension].value
        return (estimate.low, estimate.high) if isinstance(estimate, Estimate) else (math.nan, math.nan)

    def _outcomes(self, dimension: str, system: str) -> dict[str, int]:
        """Return how many systems this one beats, cannot be told from, and is beaten by."""
        if self.comparisons.baseline is not None or len(self.table) < 3:
            return {}
        others = [other for other in self.table if other != system]
        beats = sum(self.comparisons.beats(dimension, system, other) for other in others)
        beaten = sum(self.comparisons.beats(dimension, other, system) for other in others)
        return {"beats": beats, "same": len(others) - beats - beaten, "beaten_by": beaten}

    def _standings(self, dimension: str) -> Table:
        ratings = self.judgements[dimension]
        rows = []
        for place, system in enumerate(self.comparisons.ranking(dimension), 1):
            mean = interval(float(self.table[system][dimension]), *self._ends(dimension, system))
            outcomes = map(str, self._outcomes(dimension, system).values())
            rows.append((f"{place}. {system}", mean, *outcomes, str(self.table[system][dimension].n)))
        outcomes = ("beats", "same", "beaten by") if rows and len(rows[0]) > 3 else ()
        scale = f", scale {ratings.scale[0]:g} to {ratings.scale[1]:g}" if ratings.scale else ""
        caption = f"{dimension}: {count_noun(_count_raters(ratings), 'rater')}{scale}"
        more = ("Every pair: --json, or comparisons.records() in Python",) if len(rows) > _FEW else ()
        return Table(("", "mean", *outcomes, "items"), tuple(rows), caption, notes=more)

    def _pairs(self) -> Table:
        table = self.comparisons.pairs_table()
        return dataclasses.replace(table, header=("dimension", *table.header[1:]))


def results(
    ratings: RatingsLike,
    *,
    dimensions: str | Sequence[str] = (),
    agreement: bool = False,
    baseline: str | None = None,
    sampling: Sampling = Sampling(),
    progress: Progress = no_progress,
) -> HumanResults:
    """Return the result of a human evaluation: systems in order, differences and claims, and how far raters agree.

    ``ratings`` is a public set's name, a file (a table or a study), or ``Judgements``. Every two systems are compared,
    or each with the ``baseline``, on each of the ``dimensions``: all but z-scores by default. Intervals and tests treat
    items and raters as samples. ``agreement`` adds all figures of agreement to the recommended one.
    """
    check_sampling(sampling)
    judgements = read_ratings(ratings, progress=progress)
    names = [dimensions] if isinstance(dimensions, str) else list(dict.fromkeys(dimensions))
    names = names or [name for name in judgements if not name.endswith("_zscore")] or list(judgements)
    if baseline is not None and not isinstance(baseline, str):
        raise BadInput(f"baseline= is the name of a system, not {type(baseline).__name__}.")
    if baseline is not None and baseline not in judgements.systems:
        raise UnknownName("baseline", baseline, judgements.systems, see="plainly results --help")
    rated = {name: judgements[name] for name in names}
    several = [name for name in rated_by_several(judgements) if name in rated]
    return HumanResults(
        judgements,
        compare_ratings(judgements, rated, baseline=baseline, sampling=sampling),
        {name: measure_reliability(rated[name], sampling) for name in several},
        measure_agreement(judgements, several, sampling) if agreement and several else None,
    )


def compare_ratings(
    judgements: Judgements, rated: Mapping[str, Ratings], *, baseline: str | None, sampling: Sampling
) -> Comparisons:
    """Compare systems on each dimension, over items and raters; the claims are those of ``plainly.compare``."""
    systems = judgements.systems
    by_system: dict[str, dict[str, Scores]] = {system: {} for system in systems}
    pairs = [(baseline, system) for system in systems if system != baseline] if baseline else combinations(systems, 2)
    listed_pairs = [(systems.index(one), systems.index(other)) for one, other in pairs]
    contrasts: dict[tuple[str, str, str], Contrast] = {}
    for name, ratings in rated.items():
        for place, system in enumerate(systems):
            by_system[system][name] = _score(ratings, place, sampling)
        for b, s in listed_pairs:
            difference = contrast(ratings.values[[s, b]], np.array([1.0, -1.0]))
            contrasts[name, systems[s], systems[b]] = difference
    table = RatingTable(EvalSet.of(items=len(judgements.items), ids=judgements.items, name=judgements.name), by_system,
                        sampling)  # fmt: skip
    comparisons = [_comparison(table, *key, difference, sampling) for key, difference in contrasts.items()]

    def detectable(pair: Comparison, family: int) -> float:
        return contrasts[pair.metric, pair.system, pair.baseline].detectable(pair.level, family=family)

    corrected = correct_p_values(comparisons, detectable=detectable)
    return Comparisons(table, tuple(corrected), baseline, ("items-and-raters",), sampling, trials=0)


def _score(ratings: Ratings, place: int, sampling: Sampling) -> Scores:
    """Return a system's mean rating with its interval."""
    means = ratings.means[place]
    signature = Signature(ratings.dimension, data=f"{len(ratings.items)} items, {len(ratings.raters)} raters")
    scores = Scores.of_items(MeanRating(), ratings.systems[place], mean_rows(means), signature, ~np.isnan(means))
    bounds = contrast(ratings.values[[place]], np.ones(1)).bounds(sampling.level)
    if ratings.scale is not None:  # no mean lies outside the scale
        bounds = max(bounds[0], ratings.scale[0]), min(bounds[1], ratings.scale[1])
    estimate = Estimate(float(scores), *bounds, sampling.level, scores.n, METHOD)
    return scores.with_estimates([estimate])


def _comparison(
    table: RatingTable, dimension: str, system: str, baseline: str, difference: Contrast, sampling: Sampling
) -> Comparison:
    scores, others = table[system][dimension], table[baseline][dimension]
    apart = scores.segments["rating"] - others.segments["rating"]
    apart = apart[~np.isnan(apart)]
    left_out = (apart.sum() - apart) / max(len(apart) - 1, 1)
    wins, losses, ties = table.count_wins(dimension, system, baseline)
    low, high = difference.bounds(sampling.level)
    p_value = difference.p_value
    return Comparison(
        system=system,
        baseline=baseline,
        metric=dimension,
        test="items-and-raters",
        score=float(scores),
        baseline_score=float(others),
        difference=difference.value,
        low=low,
        high=high,
        level=sampling.level,
        p_value=p_value,
        p_two_sided=p_value,
        effect_size=spread_of(left_out).effect_size(difference.value) if len(apart) > 1 else math.nan,
        standard_error=difference.standard_error,
        units=max(scores.n, others.n),
        wins=wins,
        losses=losses,
        ties=ties,
        n=max(scores.n, others.n),
        draws=0,
        better="higher",
    )


def measure_reliability(ratings: Ratings, sampling: Sampling) -> Reliability:
    """Return Krippendorff's alpha: it allows gaps and any number of raters, and fits the kind of scale."""
    matrix = ratings.matrix()
    points = len(np.unique(matrix[~np.isnan(matrix)]))
    distance: AlphaDistance = "ordinal" if points <= _MOST_POINTS else "interval"
    coefficient = krippendorff(matrix, distance=distance)
    estimate = coefficient.estimate(sampling, groups=ratings.units().item_names)
    return Reliability(ratings.dimension, f"Krippendorff's {distance} alpha", estimate)


def _count_raters(ratings: Ratings) -> int:
    return int((~np.isnan(ratings.values)).any(axis=(0, 1)).sum())
