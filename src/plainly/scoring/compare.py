"""Does one system really beat another? Every pair, every metric, tested on rows that were measured once."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from typing import Any, get_args

import numpy as np

from plainly.core.errors import BadInput, UnknownName, check_choice, check_count, check_text
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.core.sampling import Sampling
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.texts import Outputs, TextArguments
from plainly.io.units import Unit
from plainly.scoring import subsets
from plainly.scoring.comparisons import TESTS, Comparison, Comparisons, Test, correct_p_values
from plainly.scoring.corpus_evaluation import CorpusOptions, OnError
from plainly.scoring.evaluate import on_shared_items
from plainly.scoring.references import Over, ReferenceDraws, draw_references, with_intervals
from plainly.scoring.score import MeasureOptions, measure
from plainly.scoring.scores import Evaluation, ScoreTable
from plainly.stats import paired
from plainly.stats.paired import Pair, Swaps
from plainly.stats.resample import Resampler, count_units, middle_interval
from plainly.streaming.engines import Engine

TRIALS = 10_000
# If the correction for all pairs needs more trials than that, each pair gets fewer at first: at most this many in all,
# but at least so many for each pair. Pairs that need the rest get it afterwards.
_ALL_TRIALS, _LEAST_TRIALS = 2_500_000, 1_000
# At most this many rows are scored in one call, to limit memory.
_ONE_CALL = 20_000


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
        TextArguments(sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit),
        MeasureOptions(metrics, like, target, sampling, advice=advice),
        CorpusOptions(engine, processes, address, on_error, None, set_aside, state, count_wins=True),
        progress=progress,
    )
    if not tests:
        raise BadInput(f"tests= names no test. There are: {', '.join(TESTS)}")
    if len(evaluation) < 2:
        raise BadInput("A comparison needs at least two systems. Add another file or published system.")
    all_items = evaluation.n
    evaluation = on_shared_items(evaluation)
    if evaluation.n < 2:
        raise BadInput("A comparison needs at least two items.")
    if baseline is not None:
        check_text("baseline", baseline)
    if baseline is not None and baseline not in evaluation.systems:
        raise UnknownName("baseline", baseline, evaluation.systems, see="plainly compare --help")
    if not evaluation.units:
        raise BadInput("These scores have no sums by bin to compare. Score again without intervals=False.")
    test = _Tests(baseline, tuple(tests), TRIALS if trials is None else trials, evaluation.sampling or Sampling())
    all_subsets: list[subsets.Subset] = []
    if by is not None:
        texts = evaluation.by_item("by=").outputs or dict.fromkeys(evaluation, ())
        all_subsets = subsets.divide(evaluation.evalset, texts, by, together=True)
    if trials is None:
        test = test.with_enough_trials(evaluation, subsets=len(all_subsets) or 1)
    draws = None
    if over != "items":
        if by is not None:
            raise BadInput("by= and over= cannot be combined.")
        items = evaluation.by_item("over=")
        draws = draw_references(items, over=over)
        evaluation = with_intervals(items, draws, over=over)
    if by is None:
        result = dataclasses.replace(test.run(evaluation, draws), over=over)
    else:
        result = _by_subset(evaluation.by_item("by="), by, all_subsets, test)
    shared = Note(f"Compared on the {evaluation.n} of {all_items} items that all systems have.")
    remarks = (*result.remarks, *([shared] if evaluation.n < all_items else ()), *_too_few_draws(result))
    return dataclasses.replace(result, remarks=remarks, as_sacrebleu=like == "sacrebleu")


@dataclass(frozen=True)
class _Tests:
    """How systems are compared."""

    baseline: str | None
    tests: tuple[Test, ...]
    trials: int
    sampling: Sampling
    further: int | None = None  # total trials for pairs that need more than ``trials``

    def with_enough_trials(self, evaluation: ScoreTable, *, subsets: int) -> "_Tests":
        """Return the tests with as many trials as all comparisons need."""
        family = len(self._pairs(evaluation)) * subsets
        needed = _draws_needed(family, self.sampling.level)
        if needed <= TRIALS:
            return self
        trials = max(_LEAST_TRIALS, min(TRIALS, _ALL_TRIALS // family))
        return dataclasses.replace(self, trials=trials, further=needed)

    def run(self, evaluation: ScoreTable, draws: ReferenceDraws | None = None) -> Comparisons:
        """Return every comparison, corrected; ``draws`` holds other draws for the bootstrap."""
        comparisons = self._compare(evaluation, self._pairs(evaluation), draws or {})
        return self.result(evaluation, correct_p_values(comparisons))

    def _pairs(self, systems: Iterable[str]) -> list[tuple[str, str]]:
        """Return every two systems, or each with the baseline; the first of a pair is its baseline."""
        if self.baseline is None:
            return list(combinations(systems, 2))
        return [(self.baseline, system) for system in systems if system != self.baseline]

    def _compare(
        self, evaluation: ScoreTable, pairs: Sequence[tuple[str, str]], draws: ReferenceDraws
    ) -> list[Comparison]:
        sampling, groups = self.sampling, evaluation.evalset.groups
        resampler = Resampler(evaluation.units, sampling.resamples, sampling.seed, groups)
        swaps = Swaps(self.trials, sampling.seed, groups, self.further)
        numbers = {system: number for number, system in enumerate(evaluation)}
        places = [(numbers[baseline], numbers[system]) for baseline, system in pairs]
        comparisons: list[Comparison] = []
        for spec in evaluation.specs:
            of_metric = _MetricComparison(self, evaluation, spec, places, resampler, swaps, draws.get(spec))
            comparisons += [comparison for b, s in places for comparison in of_metric.compare(b, s)]
        return comparisons

    def result(self, evaluation: ScoreTable, comparisons: Sequence[Comparison], **options: Any) -> Comparisons:
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
    """One metric on all systems: the scores of draws, of swaps and with each unit left out, made once."""

    def __init__(
        self,
        tests: _Tests,
        evaluation: ScoreTable,
        spec: str,
        pairs: Sequence[Pair],
        resampler: Resampler,
        swaps: Swaps,
        reference_draws: Mapping[str, Floats] | None,
    ) -> None:
        self.tests, self.evaluation, self.spec = tests, evaluation, spec
        self.interval_sampling = tests.sampling  # a difference has no bca interval
        if tests.sampling.method == "bca":
            self.interval_sampling = dataclasses.replace(tests.sampling, method="expanded")
        self.scores, self.metric = list(evaluation.of_metric(spec).values()), evaluation.metrics[spec]
        rows = [scores.rows for scores in self.scores]
        totals = [reference_draws[system] for system in evaluation] if reference_draws else resampler.totals(rows)
        self.draws = _headlines(self.metric, totals)
        self.p_randomised: dict[Pair, float] = {}
        if "approximate-randomisation" in tests.tests:
            self.p_randomised = dict(zip(pairs, swaps.p_values(self.metric.score, rows, pairs), strict=True))
        units = [resampler.units(table) for table in rows]
        self.units = max(map(count_units, units))
        self.left_out = _headlines(self.metric, [table.sum(axis=0) - table for table in units])
        self.without_item = self.left_out
        if resampler.groups is not None:
            self.without_item = _headlines(self.metric, [table.sum(axis=0) - table for table in rows])

    def compare(self, b: int, s: int) -> list[Comparison]:
        """Compare two systems, the baseline first, by every test."""
        system, baseline = self.scores[s], self.scores[b]
        difference = float(system) - float(baseline)
        sampling = self.tests.sampling
        differences = self.draws[s] - self.draws[b]
        low, high = math.nan, math.nan
        if math.isfinite(difference):
            low, high = middle_interval(differences, self.interval_sampling, units=self.units)
        spread = by_items = paired.spread_of(self.left_out[s] - self.left_out[b])
        if self.without_item is not self.left_out:
            by_items = paired.spread_of(self.without_item[s] - self.without_item[b])
        wins, losses, ties = self.evaluation.count_wins(self.spec, system.system, baseline.system)
        if self.metric.better == "lower":
            wins, losses = losses, wins
        comparisons = []
        for test in self.tests.tests:
            p_value, two_sided = self._p_values(test, b, s, differences, difference)
            comparisons.append(
                Comparison(
                    system=system.system,
                    baseline=baseline.system,
                    metric=self.spec,
                    test=test,
                    score=float(system),
                    baseline_score=float(baseline),
                    difference=difference,
                    low=low,
                    high=high,
                    level=sampling.level,
                    p_value=p_value,
                    p_two_sided=two_sided,
                    effect_size=by_items.effect_size(difference) * self.evaluation.effect_scale,
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
        if self.units < 2:  # one group allows no test
            return math.nan, math.nan
        if test == "approximate-randomisation":
            return self.p_randomised[b, s], self.p_randomised[b, s]
        size = max(abs(float(self.scores[at])) for at in (b, s)) if math.isfinite(difference) else 1.0
        one_sided = paired.bootstrap_p(differences, difference, size=size)
        return one_sided, paired.two_sided_bootstrap_p(differences, difference, units=self.units, size=size)


def _by_subset(evaluation: Evaluation, by: str, all_subsets: Sequence[subsets.Subset], tests: _Tests) -> Comparisons:
    """Compare on each subset, and correct over all subsets as one family."""
    parts: dict[str, Comparisons] = {}
    for subset in all_subsets:
        mask = next(iter(subset.masks.values()))
        if int(mask.sum()) >= 2:
            parts[subset.label] = tests.run(evaluation.select(mask))
    corrected = iter(correct_p_values([pair for part in parts.values() for pair in part.comparisons]))
    for label, part in parts.items():
        parts[label] = dataclasses.replace(part, comparisons=tuple(islice(corrected, len(part.comparisons))))
    remarks = tuple(subsets.small_subsets(all_subsets))
    return tests.result(evaluation, (), by=by, subsets=tuple(parts.items()), remarks=remarks)


def _headlines(metric: Metric, tables: Sequence[Floats]) -> list[Floats]:
    """Score every row of every table; small tables are scored in one call, because calls are slow."""
    if sum(map(len, tables)) <= _ONE_CALL:
        return list(metric.score(np.stack(tables))[..., 0])
    return [metric.score(table)[..., 0] for table in tables]


def _draws_needed(family: int, level: float) -> int:
    """Return so many draws that the smallest possible p-value passes the correction for all comparisons."""
    return math.ceil(round(2 * family / (1 - level), 6))


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
