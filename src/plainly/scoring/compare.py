"""Does one system really beat another? Every pair, every metric, tested on rows that were measured once."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, UnknownName, check_choice, check_count
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import count_noun
from plainly.core.metric import Better, Floats, Metric, Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.core.sampling import Sampling
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs
from plainly.io.units import Unit
from plainly.scoring import references as resampled_references
from plainly.scoring import subsets
from plainly.scoring.comparisons import TESTS, Comparison, Comparisons, Test, correct_p_values
from plainly.scoring.references import Over, ReferenceDraws
from plainly.scoring.score import measure
from plainly.scoring.scores import BinnedEvaluation, Evaluation, Scores
from plainly.scoring.streamed import OnError
from plainly.stats import paired
from plainly.stats.paired import Pair, Swaps
from plainly.stats.resample import Resampler
from plainly.streaming.engines import Engine

TRIALS = 10_000
# If the correction for all pairs needs more trials than that, each pair gets fewer at first: at most this many in all,
# but at least so many for each pair. Pairs that need the rest get it afterwards.
_ALL_TRIALS, _LEAST_TRIALS = 2_500_000, 1_000
# At most this many rows are scored in one call, to limit memory.
_ONE_CALL = 20_000
_SAME = 1e-9  # of the largest score: two items closer than this are equal


def compare(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    metrics: Metrics | None = None,
    like: str | None = None,
    target: str | float | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    baseline: str | None = None,
    tests: Sequence[Test] = TESTS,
    trials: int | None = None,
    sampling: Sampling = Sampling(),
    by: str | None = None,
    over: Over = "items",
    advice: bool = True,
    engine: Engine | str = "local",
    processes: int | None = None,
    address: str | None = None,
    on_error: OnError = "stop",
    set_aside: str | Path | None = None,
    state: str | Path | None = None,
    progress: Progress = no_progress,
) -> Comparisons:
    """Test the differences between systems: all pairs, or each against ``baseline``.

    ``data`` is what ``score`` takes, or an evaluation that it returned, of which nothing is measured again. In each
    bootstrap draw all systems are scored on the same items; in each trial of approximate randomisation outputs are
    swapped between two systems; ``trials`` are as many as all comparisons need, unless passed. Where the set has
    groups, these are drawn or swapped as wholes. The other arguments are those of ``score``.
    """
    if isinstance(tests, (str, bytes)) or not isinstance(tests, Iterable):
        raise BadInput(f"tests= must be a list of {' and '.join(map(repr, TESTS))}, not {tests!r:.60}.")
    for test_name in tests:
        check_choice("tests", test_name, TESTS)
    check_choice("over", over, get_args(Over))
    if trials is not None:
        check_count("trials", trials)
    evaluation = measure(
        data,
        sources=sources,
        outputs=outputs,
        references=references,
        evalset=evalset,
        metrics=metrics,
        like=like,
        target=target,
        ids=ids,
        groups=groups,
        columns=columns,
        language=language,
        incomplete=incomplete,
        unit=unit,
        sampling=sampling,
        advice=advice,
        paired=True,
        engine=engine,
        processes=processes,
        address=address,
        on_error=on_error,
        set_aside=set_aside,
        state=state,
        progress=progress,
    )
    sampling = evaluation.sampling or Sampling()
    test = _Tests(baseline, tuple(tests), TRIALS if trials is None else trials, sampling)
    if not tests:
        raise BadInput(f"tests= names no test. There are: {', '.join(TESTS)}")
    if len(evaluation) < 2:
        raise BadInput("A comparison needs at least two systems. Add another file or published system.")
    if evaluation.n < 2:
        raise BadInput("A comparison needs at least two items.")
    if baseline is not None and baseline not in evaluation.systems:
        raise UnknownName("baseline", baseline, evaluation.systems, see="plainly compare --help")
    if isinstance(evaluation, BinnedEvaluation) and not evaluation.has_bins:
        raise BadInput("This run kept no sums by bin; leave intervals=False out.")
    all_subsets: list[subsets.Subset] = []
    if by is not None:
        texts = evaluation.outputs or dict.fromkeys(evaluation, ())
        all_subsets = subsets.divide(evaluation.evalset, texts, by, together=True)
    if trials is None:
        test = test.with_enough_trials(evaluation, subsets=len(all_subsets) or 1)
    drawn = None
    if over != "items":
        if by is not None:
            raise BadInput("by= and over= cannot be combined.")
        if absent := _absent_items(evaluation):
            raise BadInput(f"{next(iter(absent))} lacks items, and over= needs complete outputs.")
        drawn = resampled_references.draw_references(evaluation, over=over)
        evaluation = resampled_references.with_intervals(evaluation, drawn, over=over)
    if by is None:
        result = dataclasses.replace(test.run(evaluation, drawn), over=over)
    else:
        result = _by_subset(evaluation, by, all_subsets, test)
    remarks = (*result.remarks, *_absence_notes(evaluation), *_too_few_draws(result))
    return dataclasses.replace(result, remarks=remarks)


@dataclass(frozen=True)
class _Tests:
    """How systems are compared."""

    baseline: str | None
    tests: tuple[Test, ...]
    trials: int
    sampling: Sampling
    further: int | None = None  # total trials for pairs that need more than ``trials``
    pairs: frozenset[tuple[str, str]] | None = None  # None: all pairs, or all with ``baseline``

    def with_enough_trials(self, evaluation: Evaluation, *, subsets: int) -> "_Tests":
        """Return the tests with as many trials as all comparisons need."""
        systems = len(evaluation)
        family = (systems - 1 if self.baseline is not None else systems * (systems - 1) // 2) * subsets
        needed = _draws_needed(family, self.sampling.level)
        if needed <= TRIALS:
            return self
        trials = max(_LEAST_TRIALS, min(TRIALS, _ALL_TRIALS // family))
        return dataclasses.replace(self, trials=trials, further=needed)

    def run(self, evaluation: Evaluation, drawn: ReferenceDraws | None = None) -> Comparisons:
        """Return every comparison, corrected; ``drawn`` holds other draws for the bootstrap."""
        names = list(evaluation)
        comparisons = [
            comparison
            for part, pairs in self._on_common_items(evaluation)
            for comparison in dataclasses.replace(self, pairs=pairs)._compare_pairs(part, drawn)
        ]
        # In the order of the systems, also where parts were compared separately.
        comparisons.sort(
            key=lambda one: (evaluation.specs.index(one.metric), names.index(one.baseline), names.index(one.system))
        )
        return self.result(evaluation, correct_p_values(comparisons))

    def _on_common_items(self, evaluation: Evaluation) -> list[tuple[Evaluation, frozenset[tuple[str, str]] | None]]:
        """Return the evaluation with all pairs or, if systems lack items, a part for each set of items in common."""
        absent = _absent_items(evaluation)
        if not absent:
            return [(evaluation, None)]
        every = np.ones(evaluation.n, dtype=bool)
        parts: dict[bytes, set[tuple[str, str]]] = {}
        for pair in combinations(evaluation, 2):
            if self.baseline is None or self.baseline in pair:
                both = ~(absent.get(pair[0], ~every) | absent.get(pair[1], ~every))
                if both.sum() < 2:
                    raise BadInput(f"{pair[0]} and {pair[1]} have no two items in common. Compare others with them.")
                parts.setdefault(both.tobytes(), set()).update((pair, pair[::-1]))
        parts_with_pairs: list[tuple[Evaluation, frozenset[tuple[str, str]] | None]] = []
        for mask, pairs in parts.items():
            selection = evaluation.select(np.frombuffer(mask, dtype=bool))
            of_pairs = {
                system: selection.systems[system] for system in selection if any(system in pair for pair in pairs)
            }
            parts_with_pairs.append((dataclasses.replace(selection, systems=of_pairs), frozenset(pairs)))
        return parts_with_pairs

    def _compare_pairs(self, evaluation: Evaluation, drawn: ReferenceDraws | None) -> list[Comparison]:
        sampling, groups = self.sampling, evaluation.evalset.groups
        units = len(next(iter(evaluation.of_metric(evaluation.specs[0]).values())).rows)
        resampler = Resampler(units, sampling.resamples, sampling.seed, groups)
        swaps = Swaps(self.trials, sampling.seed, groups, self.further)
        comparisons: list[Comparison] = []
        for spec in evaluation.specs:
            totals = drawn.get(spec) if drawn else None
            of_metric = _MetricComparison(evaluation.of_metric(spec), resampler, swaps, self, totals)
            comparisons += of_metric.comparisons(spec, evaluation)
        return comparisons

    def result(self, evaluation: Evaluation, comparisons: Sequence[Comparison], **options: Any) -> Comparisons:
        return Comparisons(
            evaluation,
            tuple(comparisons),
            self.baseline,
            self.tests,
            self.sampling,
            self.trials,
            further=self.further,
            **options,
        )


class _MetricComparison:
    """One metric on all systems: the scores of draws, of swaps, of items and with each unit left out, made once."""

    def __init__(
        self,
        scores: Mapping[str, Scores],
        resampler: Resampler,
        swaps: Swaps,
        tests: _Tests,
        drawn: Mapping[str, Floats] | None,
    ) -> None:
        self.scores, self.tests, self.names = scores, tests, list(scores)
        self.metric = scores[self.names[0]].metric
        rows = [scores[name].rows for name in self.names]
        totals = resampler.totals(rows) if drawn is None else [drawn[name] for name in self.names]
        self.draws = _headlines(self.metric, totals)
        self.randomised: dict[Pair, float] = {}
        if "approximate-randomisation" in tests.tests:
            pairs = self._pairs()
            self.randomised = dict(zip(pairs, swaps.p_values(self.metric.score, rows, pairs), strict=True))
        self.segments = _headlines(self.metric, rows)
        units = [resampler.units(table) for table in rows]
        self.left_out = _headlines(self.metric, [table.sum(axis=0) - table for table in units])
        self.without_item = self.left_out
        if resampler.groups is not None:
            self.without_item = _headlines(self.metric, [table.sum(axis=0) - table for table in rows])

    def comparisons(self, spec: str, evaluation: Evaluation) -> list[Comparison]:
        """Compare every pair by every test; the earlier system is the baseline."""
        return [comparison for b, s in self._pairs() for comparison in self._pair(spec, b, s, evaluation)]

    def _pairs(self) -> list[Pair]:
        pairs = list(combinations(range(len(self.names)), 2))
        if self.tests.baseline is not None:
            base = self.names.index(self.tests.baseline)
            pairs = [(base, other) for other in range(len(self.names)) if other != base]
        allowed = self.tests.pairs
        return [pair for pair in pairs if allowed is None or (self.names[pair[0]], self.names[pair[1]]) in allowed]

    def _pair(self, spec: str, b: int, s: int, evaluation: Evaluation) -> list[Comparison]:
        system, baseline = (self.scores[self.names[at]] for at in (s, b))
        difference = float(system) - float(baseline)
        level, sampling = self.tests.sampling.level, self.tests.sampling
        differences = self.draws[s] - self.draws[b]
        low, high = _interval(differences, difference, level)
        spread = paired.spread_of(self.left_out[s] - self.left_out[b])
        by_items = spread
        if self.without_item is not self.left_out:
            by_items = paired.spread_of(self.without_item[s] - self.without_item[b])
        effect_size = by_items.effect_size(difference)
        if isinstance(evaluation, BinnedEvaluation):
            effect_size = evaluation.scale_effect_size(effect_size)
        wins, losses, ties = self._outcomes(spec, s, b, evaluation)
        comparisons = []
        for test in self.tests.tests:
            p_value, two_sided = self._p_values(test, b, s, differences, difference)
            comparisons.append(
                Comparison(
                    system=system.system,
                    baseline=baseline.system,
                    metric=spec,
                    test=test,
                    score=float(system),
                    baseline_score=float(baseline),
                    difference=difference,
                    low=low,
                    high=high,
                    level=level,
                    p_value=p_value,
                    p_two_sided=two_sided,
                    effect_size=effect_size,
                    standard_error=spread.standard_error,
                    units=spread.units,
                    wins=wins,
                    losses=losses,
                    ties=ties,
                    n=system.n,
                    draws=sampling.resamples if test == "paired-bootstrap" else self.tests.trials,
                    better=self.metric.better,
                )
            )
        return comparisons

    def _p_values(self, test: Test, b: int, s: int, differences: Floats, difference: float) -> tuple[float, float]:
        """Return the test's p-value and its two-sided one."""
        if test == "approximate-randomisation":
            return self.randomised[b, s], self.randomised[b, s]
        values = [float(self.scores[self.names[at]]) for at in (b, s)]
        size = max(map(abs, values)) if math.isfinite(difference) else 1.0
        one_sided = paired.bootstrap_p(differences, difference, size=size)
        return one_sided, paired.two_sided_bootstrap_p(differences, difference, size=size)

    def _outcomes(self, spec: str, s: int, b: int, evaluation: Evaluation) -> tuple[int, int, int]:
        """Count the items on which the system is better, worse and equal; undefined items are not counted."""
        if not isinstance(evaluation, BinnedEvaluation):
            scale = float(np.nanmax(np.abs([self.segments[s], self.segments[b]]), initial=0.0))
            return _outcomes(self.segments[s] - self.segments[b], better=self.metric.better, scale=scale)
        higher, lower, ties = evaluation.count_wins(spec, self.names[s], self.names[b])
        return (lower, higher, ties) if self.metric.better == "lower" else (higher, lower, ties)


def _by_subset(evaluation: Evaluation, by: str, all_subsets: Sequence[subsets.Subset], tests: _Tests) -> Comparisons:
    """Compare on each subset, and correct over all subsets as one family."""
    parts: dict[str, Comparisons] = {}
    for subset in all_subsets:
        mask = next(iter(subset.masks.values()))
        if int(mask.sum()) >= 2:
            parts[subset.label] = tests.run(evaluation.select(mask))
    every = correct_p_values([pair for part in parts.values() for pair in part.comparisons])
    for label, part in parts.items():
        own, every = tuple(every[: len(part.comparisons)]), every[len(part.comparisons) :]
        parts[label] = dataclasses.replace(part, comparisons=own)
    remarks = tuple(subsets.small_subsets(all_subsets))
    return tests.result(evaluation, (), by=by, subsets=tuple(parts.items()), remarks=remarks)


def _headlines(metric: Metric, tables: Sequence[Floats]) -> list[Floats]:
    """Score every row of every table; small tables are scored in one call, because calls are slow."""
    if sum(map(len, tables)) <= _ONE_CALL:
        return list(metric.score(np.stack(tables))[..., 0])
    return [metric.score(table)[..., 0] for table in tables]


def _interval(drawn: Floats, difference: float, level: float) -> tuple[float, float]:
    defined = drawn[np.isfinite(drawn)]
    if not len(defined) or not math.isfinite(difference):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _outcomes(differences: Floats, *, better: Better, scale: float) -> tuple[int, int, int]:
    sign = -1 if better == "lower" else 1
    is_tie = np.abs(differences) <= _SAME * scale
    wins = (sign * differences > 0) & ~is_tie
    losses = (sign * differences < 0) & ~is_tie
    return int(wins.sum()), int(losses.sum()), int(is_tie.sum())


def _draws_needed(family: int, level: float) -> int:
    """Return so many draws that the smallest possible p-value passes the correction for all comparisons."""
    return math.ceil(round(2 * family / (1 - level), 6))


def _absent_items(evaluation: Evaluation) -> dict[str, npt.NDArray[np.bool_]]:
    """Return the items that systems have no output for, if the texts are available."""
    absent = {
        system: np.array([isinstance(text, Absent) for text in (evaluation.outputs or {}).get(system, ())])
        for system in evaluation
    }
    return {system: items for system, items in absent.items() if items.any()}


def _absence_notes(evaluation: Evaluation) -> list[Note]:
    return [
        Note(
            f"{system} lacks {count_noun(int(items.sum()), 'item')} of {evaluation.n}: it is compared with every other "
            "system on the items that both have."
        )
        for system, items in _absent_items(evaluation).items()
    ]


def _too_few_draws(result: Comparisons) -> list[Note]:
    """Warn if the smallest possible p-value, corrected for all comparisons, is not small enough."""
    family = max(map(result.family, result.evaluation.specs), default=0)
    bootstrap = result.deciding == "paired-bootstrap"
    draws = result.sampling.resamples if bootstrap else result.trials
    alpha = 1 - result.sampling.level
    if family / (draws + 1) <= alpha or (result.further is not None and not bootstrap):
        return []
    name, needed = "resamples" if bootstrap else "trials", _draws_needed(family, result.sampling.level)
    message = (
        f"With {draws} draws no pair can be told apart after correction for {family} pairs. "
        f"Use {name}={needed} or more."
    )
    return [Note(message, "warning", "few-draws")]
