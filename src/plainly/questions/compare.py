"""Does one system really beat another? Every pair, every metric, tested on rows that were measured once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from plainly.errors import BadInput, UnknownName
from plainly.evalset import EvalSet
from plainly.protocol import Better, Floats, Metric
from plainly.scoring.evaluate import Evaluation, Scores
from plainly.stats import paired
from plainly.stats.resample import Resampler

Test = Literal["paired-bootstrap", "approximate-randomisation"]
TESTS: tuple[Test, ...] = get_args(Test)
# Claims, matrix and clusters rest on this test when both are run: its error rate is the nominal one for any metric.
DECIDING: Test = "approximate-randomisation"
# So many rows are scored in one call; more of them would fill memory with parts that are not needed.
_ONE_CALL = 20_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against one baseline, on one metric, by one test. ``difference`` is the system less the baseline.

    ``low`` and ``high`` are the bootstrap interval of the difference. ``p_holm`` and ``p_bh`` are ``p_value`` corrected
    for all comparisons by this test that were asked for together. The paired bootstrap's p-value, as sacrebleu defines
    it, looks at one side; ``p_two_sided`` looks at both, and ``p_claim``, on which claims rest, is that with Holm's
    correction. ``smallest_detectable`` is the difference that a set of this size finds with 80 % power.
    """

    system: str
    baseline: str
    metric: str
    test: Test
    score: float
    baseline_score: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    p_holm: float
    p_bh: float
    p_two_sided: float
    p_claim: float
    effect_size: float
    smallest_detectable: float
    wins: int
    losses: int
    ties: int
    n: int
    draws: int
    better: Better

    @property
    def significant(self) -> bool:
        """Whether a difference may be claimed, all comparisons considered (Holm)."""
        return self.p_claim <= 1 - self.level + 1e-12

    @property
    def winner(self) -> str | None:
        """Who may be called better: nobody without significance, or where the metric has no better side."""
        if not self.significant or self.better == "neither" or self.difference == 0:
            return None
        return self.system if (self.difference > 0) == (self.better == "higher") else self.baseline


@dataclass(frozen=True)
class Comparisons:
    """All that was compared: ``comparisons`` as asked for; ``pairs``, for matrix and clusters, every two systems."""

    evaluation: Evaluation
    comparisons: tuple[Comparison, ...]
    pairs: tuple[Comparison, ...]
    baseline: str | None
    tests: tuple[Test, ...]
    level: float
    resamples: int
    trials: int
    seed: int
    unit: str

    @property
    def deciding(self) -> Test:
        """The test that claims, matrix and clusters rest on."""
        return DECIDING if DECIDING in self.tests else self.tests[0]

    def pair(self, spec: str, one: str, other: str) -> Comparison:
        """The deciding comparison of two systems, in whichever order it was made."""
        for found in self.pairs:
            if found.metric == spec and found.test == self.deciding and {found.system, found.baseline} == {one, other}:
                return found
        raise UnknownName("pair of systems", f"{one}, {other}", self.evaluation, see="plainly compare --help")

    def beats(self, spec: str, one: str, other: str) -> bool:
        """Whether the first may be called better than the second."""
        return one != other and self.pair(spec, one, other).winner == one

    def ranking(self, spec: str) -> list[str]:
        """The systems by score, best first; undefined scores last."""
        better = next(iter(self.evaluation.values()))[spec].metric.better
        sign = 1 if better == "lower" else -1

        def key(system: str) -> tuple[bool, float]:
            value = float(self.evaluation[system][spec])
            return math.isnan(value), 0.0 if math.isnan(value) else sign * value

        return sorted(self.evaluation, key=key)

    def clusters(self, spec: str) -> list[list[str]]:
        """The ranking, cut where everyone above beats everyone below; empty where the metric has no better side."""
        if next(iter(self.evaluation.values()))[spec].metric.better == "neither":
            return []
        return paired.clusters(self.ranking(spec), lambda above, below: self.beats(spec, above, below))

    def ties(self, spec: str) -> list[list[str]]:
        """The largest sets of systems no two of which can be told apart; they may overlap. Best first."""
        return paired.ties(self.ranking(spec), lambda one, other: self.pair(spec, one, other).significant)

    def matrix(self, spec: str) -> dict[str, dict[str, bool | None]]:
        """Who beats whom: True for the system of the row, False when beaten, None when it cannot be said."""
        ranked = self.ranking(spec)
        return {
            row: {
                column: True if self.beats(spec, row, column) else False if self.beats(spec, column, row) else None
                for column in ranked
                if column != row
            }
            for row in ranked
        }

    def records(self) -> list[dict[str, Any]]:
        """One flat record a comparison."""
        return [
            {**dataclasses.asdict(found), "significant": found.significant, "winner": found.winner}
            for found in self.comparisons
        ]


def compare(
    evaluation: Evaluation,
    evalset: EvalSet,
    *,
    baseline: str | None = None,
    tests: Sequence[Test] = TESTS,
    level: float = 0.95,
    resamples: int = 1000,
    trials: int = 10_000,
    seed: int = 12345,
    drawn: Mapping[str, Mapping[str, Floats]] | None = None,
) -> Comparisons:
    """Test the differences between the systems of an evaluation: all pairs, or each against ``baseline``.

    Nothing is measured again. In each bootstrap draw all systems are scored on the same items; in each trial of
    approximate randomisation outputs are swapped between two systems. Where the set has groups, these are drawn or
    swapped as wholes. ``drawn`` holds other draws for the bootstrap, by metric and system (scoring.references).
    """
    _check(evaluation, evalset, baseline=baseline, tests=tests, level=level)
    names = list(evaluation)
    resampler = Resampler(n=len(evalset), resamples=resamples, seed=seed, groups=evalset.groups)
    swaps = paired.Swaps(trials=trials, seed=seed, groups=evalset.groups)
    found: dict[tuple[str, str, str, Test], Comparison] = {}
    for spec in evaluation.specs:
        of_spec = {name: evaluation[name][spec] for name in names}
        totals = None if drawn is None else drawn.get(spec)
        for made in _of_metric(spec, of_spec, resampler, swaps, tests=tests, level=level, drawn=totals):
            found[made.system, made.baseline, made.metric, made.test] = made
    pairs = corrected(list(found.values()))
    if baseline is None:
        asked = pairs
    else:
        asked = corrected([_facing(each, baseline) for each in found.values() if baseline in _two(each)])
    return Comparisons(
        evaluation=evaluation,
        comparisons=tuple(asked),
        pairs=tuple(pairs),
        baseline=baseline,
        tests=tuple(tests),
        level=level,
        resamples=resamples,
        trials=trials,
        seed=seed,
        unit=resampler.unit,
    )


def _check(
    evaluation: Evaluation, evalset: EvalSet, *, baseline: str | None, tests: Sequence[Test], level: float
) -> None:
    if len(evaluation) < 2:
        raise BadInput("A comparison takes at least two systems. Name another file or published system.")
    if len(evalset) < 2:
        raise BadInput("A comparison takes at least two items.")
    if baseline is not None and baseline not in evaluation.systems:
        raise UnknownName("baseline", baseline, evaluation.systems, see="plainly compare --help")
    if not 0 < level < 1:
        raise BadInput(f"The confidence level is between 0 and 1, for example 0.95; not {level}.")
    for test in tests:
        if test not in TESTS:
            raise UnknownName("test", test, TESTS, see="plainly compare --help")
    if not tests:
        raise BadInput(f"No test was asked for. There are: {', '.join(TESTS)}")


def _of_metric(
    spec: str,
    scores: Mapping[str, Scores],
    resampler: Resampler,
    swaps: paired.Swaps,
    *,
    tests: Sequence[Test],
    level: float,
    drawn: Mapping[str, Floats] | None,
) -> list[Comparison]:
    names = list(scores)
    metric = scores[names[0]].metric
    rows = [scores[name].rows for name in names]
    values = [float(scores[name]) for name in names]
    totals = resampler.totals(rows) if drawn is None else [drawn[name] for name in names]
    draws = _headlines(metric, totals)
    heads = swaps.totals(rows) if "approximate-randomisation" in tests else []
    sums = [table.sum(axis=0) for table in rows]
    segments = _headlines(metric, rows)
    units = [resampler.units(table) for table in rows]
    left_out = _headlines(metric, [table.sum(axis=0) - table for table in units])
    made = []
    for b, s in combinations(range(len(names)), 2):
        difference = values[s] - values[b]
        size = max(abs(values[s]), abs(values[b])) if math.isfinite(difference) else 1.0
        differences = draws[s] - draws[b]
        low, high = _interval(differences, difference, level)
        spread = paired.spread_of(left_out[s] - left_out[b])
        per_item = _outcomes(segments[s] - segments[b], better=metric.better)
        for test in tests:
            if test == "paired-bootstrap":
                p = paired.bootstrap_p(differences, difference, size=size)
                two_sided = paired.two_sided_bootstrap_p(differences, difference, size=size)
            else:
                null = paired.randomised_differences(metric.score, (heads[b], heads[s]), (sums[b], sums[s]))
                p = two_sided = paired.randomisation_p(null, difference, size=size)
            made.append(
                Comparison(
                    system=names[s],
                    baseline=names[b],
                    metric=spec,
                    test=test,
                    score=values[s],
                    baseline_score=values[b],
                    difference=difference,
                    low=low,
                    high=high,
                    level=level,
                    p_value=p,
                    p_holm=math.nan,
                    p_bh=math.nan,
                    p_two_sided=two_sided,
                    p_claim=math.nan,
                    effect_size=spread.effect_size(difference),
                    smallest_detectable=spread.detectable(level=level),
                    wins=per_item[0],
                    losses=per_item[1],
                    ties=per_item[2],
                    n=len(scores[names[s]].ids),
                    draws=resampler.resamples if test == "paired-bootstrap" else swaps.trials,
                    better=metric.better,
                )
            )
    return made


def _headlines(metric: Metric, tables: Sequence[Floats]) -> list[Floats]:
    """The headline of every row of every table; small tables are scored in one call, which is what costs."""
    if sum(map(len, tables)) <= _ONE_CALL:
        return list(metric.score(np.stack(tables))[..., 0])
    return [metric.score(table)[..., 0] for table in tables]


def _interval(drawn: Floats, difference: float, level: float) -> tuple[float, float]:
    defined = drawn[np.isfinite(drawn)]
    if not len(defined) or not math.isfinite(difference):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _outcomes(differences: Floats, *, better: Better) -> tuple[int, int, int]:
    """On how many items the system is better, worse and equal by this metric; undefined items are in none."""
    sign = -1 if better == "lower" else 1
    tied = np.abs(differences) < 1e-9
    wins = (sign * differences > 0) & ~tied
    losses = (sign * differences < 0) & ~tied
    return int(wins.sum()), int(losses.sum()), int(tied.sum())


def _two(found: Comparison) -> tuple[str, str]:
    return found.system, found.baseline


def _facing(found: Comparison, baseline: str) -> Comparison:
    """The same comparison with ``baseline`` as the baseline."""
    if found.baseline == baseline:
        return found
    return dataclasses.replace(
        found,
        system=found.baseline,
        baseline=found.system,
        score=found.baseline_score,
        baseline_score=found.score,
        difference=-found.difference,
        low=-found.high,
        high=-found.low,
        effect_size=-found.effect_size,
        wins=found.losses,
        losses=found.wins,
    )


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """With p-values corrected within each test, over all systems and metrics that were compared together."""
    made = list(found)
    for test in dict.fromkeys(each.test for each in found):
        places = [place for place, each in enumerate(found) if each.test == test]
        one_by_one = [found[place].p_value for place in places]
        by_holm, by_bh = paired.holm(one_by_one), paired.benjamini_hochberg(one_by_one)
        claims = paired.holm([found[place].p_two_sided for place in places])
        for place, p_holm, p_bh, p_claim in zip(places, by_holm, by_bh, claims, strict=True):
            made[place] = dataclasses.replace(found[place], p_holm=p_holm, p_bh=p_bh, p_claim=p_claim)
    return made


def corrected_together(parts: Mapping[str, Comparisons]) -> dict[str, Comparisons]:
    """Comparisons on several subsets, corrected as the one family that they are."""
    asked = corrected([each for part in parts.values() for each in part.comparisons])
    pairs = corrected([each for part in parts.values() for each in part.pairs])
    made = {}
    for label, part in parts.items():
        mine, asked = tuple(asked[: len(part.comparisons)]), asked[len(part.comparisons) :]
        every, pairs = tuple(pairs[: len(part.pairs)]), pairs[len(part.pairs) :]
        made[label] = dataclasses.replace(part, comparisons=mine, pairs=every)
    return made
