"""Systems compared by human ratings, over items and raters, with the corrections and claims of ``plainly.compare``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import MeanMetric, mean_rows
from plainly.core.result import Note, Record
from plainly.core.sampling import Sampling
from plainly.people.ratings import Judgements, Ratings
from plainly.scoring.comparisons import Comparison, Comparisons, correct_p_values
from plainly.scoring.scores import Evaluation, Scores, ScoreTable, Signature
from plainly.stats.agreement import AlphaDistance, krippendorff
from plainly.stats.crossed import Contrast, contrast
from plainly.stats.paired import spread_of
from plainly.stats.resample import Estimate, Floats

METHOD = "over items and raters"
# (dimension, system, baseline) → the difference
Contrasts = dict[tuple[str, str, str], Contrast]
# Krippendorff (2004, section 11.4.2): rely on data above .8; between .667 and .8 draw tentative conclusions only.
RELIABLE, TENTATIVE = 0.8, 0.667
# Scales with more points have so few ratings on each that their order is better described by distances.
_MOST_POINTS = 20


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
    of: str = "ratings"

    def json(self) -> Record:
        head = {"dimension": self.dimension, "name": self.coefficient}
        return {**head, **self.estimate.record(), "sentence": self.sentence}

    @property
    def sentence(self) -> str:
        alpha = self.estimate.value
        if math.isnan(alpha):
            why = "no two raters rated one output, or all ratings are the same"
            return f"{self.dimension}: agreement is undefined, because {why}."
        meaning = (
            f"single {self.of} are reliable"
            if alpha >= RELIABLE
            else f"single {self.of} allow tentative conclusions"
            if alpha >= TENTATIVE
            else f"single {self.of} are not reliable; conclude from all raters together, with intervals"
        )
        share = f"{alpha:.0%} less than" if alpha >= 0.005 else "as much as"
        return (
            f"{self.dimension}: raters disagree {share} by chance ({self.coefficient} {self.estimate:.2f}): {meaning}."
        )


def compare_ratings(
    judgements: Judgements, rated: Mapping[str, Ratings], *, baseline: str | None, sampling: Sampling
) -> Comparisons:
    """Compare systems on each dimension, over items and raters; the claims are those of ``plainly.compare``."""
    systems = judgements.systems
    by_system: dict[str, dict[str, Scores]] = {system: {} for system in systems}
    pairs = [(baseline, system) for system in systems if system != baseline] if baseline else combinations(systems, 2)
    listed_pairs = [(systems.index(one), systems.index(other)) for one, other in pairs]
    contrasts: Contrasts = {}
    for name, ratings in rated.items():
        for place, system in enumerate(systems):
            by_system[system][name] = _score(ratings, place, sampling)
        for b, s in listed_pairs:
            difference = contrast(ratings.values[[s, b]], np.array([1.0, -1.0]))
            contrasts[name, systems[s], systems[b]] = difference
    evalset = EvalSet.of(items=len(judgements.items), ids=judgements.items, name=judgements.name)
    widths = {name: ratings.scale[1] - ratings.scale[0] for name, ratings in rated.items() if ratings.scale}
    return compare_table(RatingTable(evalset, by_system, sampling), contrasts, baseline, sampling, widths=widths)


def note_on_excluded(result: Comparisons, everyone: Comparisons, sentences: Sequence[str]) -> Note:
    """Say whether the result is another with the raters whom the study excluded; if so, in these sentences."""
    own, others = (
        {(pair.metric, pair.system, pair.baseline): pair.winner for pair in each.comparisons}
        for each in (result, everyone)
    )
    differing = {key[0] for key in own.keys() | others.keys() if own.get(key) != others.get(key)}
    names = [sentence.partition(":")[0] for sentence in sentences]
    if not differing:
        text = "the same pairs are told apart."
    elif differing <= set(names) and differing < {key[0] for key in own}:
        relevant = [sentence for name, sentence in zip(names, sentences, strict=True) if name in differing]
        text = " ".join([*relevant, "Elsewhere the same pairs are told apart."])
    else:
        text = " ".join(sentences)
    return Note(f"With the raters whom the study excluded: {text}", "claim")


def compare_table(
    table: RatingTable,
    contrasts: Contrasts,
    baseline: str | None,
    sampling: Sampling,
    *,
    widths: Mapping[str, float] = MappingProxyType({}),
) -> Comparisons:
    """Return the comparisons that the differences between systems allow, corrected within each dimension.

    ``widths`` are those of the dimensions' scales: a larger difference does not exist, and cannot be detected.
    """
    comparisons = [_comparison(table, *key, difference, sampling) for key, difference in contrasts.items()]

    def detectable(pair: Comparison, family: int) -> float:
        smallest = contrasts[pair.metric, pair.system, pair.baseline].detectable(pair.level, family=family)
        return smallest if 0 < smallest <= widths.get(pair.metric, math.inf) else math.nan

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
        # Of what segments have: ratings, or shares of comparisons won where the difference is one of strengths.
        effect_size=spread_of(left_out).effect_size(float(apart.mean())) if len(apart) > 1 else math.nan,
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
