"""The result of a comparison: every pair of systems that was tested, which one is better, and what may be claimed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from operator import attrgetter
from typing import Literal, get_args

from plainly.core.errors import UnknownName
from plainly.core.formatting import count_noun, interval, listed, number, p_value, span
from plainly.core.metric import Better, Floats, PairwiseMetric
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.sampling import Sampling
from plainly.scoring.sanity import find_incomparable
from plainly.scoring.scores import ScoreTable
from plainly.scoring.subsets import describe_label
from plainly.stats import paired
from plainly.stats.preferences import Meeting, Preference, fit_preferences

Test = Literal["paired-bootstrap", "approximate-randomisation"]
TESTS: tuple[Test, ...] = get_args(Test)
# The test of human ratings, whose raters are a sample too; only ``plainly.results`` uses it.
RatingTest = Literal["items-and-raters"]
# Claims, matrix and clusters rest on this test when both are run: its error rate is the nominal one for any metric.
DECIDING: Test = "approximate-randomisation"
# A matrix of more systems than this is too wide for a screen; the JSON always has it.
_MATRIX = 15
_FEW = 4  # with at most this many systems, every pair has a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One system against one baseline, on one metric, by one test. ``difference`` is the system less the baseline.

    ``low`` and ``high`` are the bootstrap interval of the difference. The paired bootstrap's ``p_value`` is one-sided,
    as sacrebleu defines it; ``p_two_sided`` looks at both sides. ``p_holm``, on which claims rest, and ``p_bh`` are
    that value corrected for all comparisons of this metric by this test in this run. ``effect_size`` is in standard
    deviations between items. ``smallest_detectable`` is the difference that a set of this size finds with 80 % power,
    the correction considered; ``standard_error`` is over the ``units`` drawn.
    """

    system: str
    baseline: str
    metric: str
    test: Test | RatingTest
    score: float
    baseline_score: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    p_holm: float = math.nan  # these and the next are corrected when all comparisons are known
    p_bh: float = math.nan
    p_two_sided: float
    effect_size: float
    standard_error: float
    units: int
    smallest_detectable: float = math.nan
    wins: int
    losses: int
    ties: int
    n: int
    draws: int
    better: Better

    @property
    def significant(self) -> bool:
        """Whether a difference may be claimed, all comparisons considered (Holm)."""
        return self.p_holm <= 1 - self.level + 1e-12

    @property
    def winner(self) -> str | None:
        """The better system; None without significance, or if the metric has no better side."""
        if not self.significant or self.better == "neither" or self.difference == 0:
            return None
        return self.system if (self.difference > 0) == (self.better == "higher") else self.baseline

    @property
    def verdict(self) -> str:
        """``>`` the system is better, ``<`` the baseline is, ``≠`` they differ, ``=`` they cannot be told apart."""
        if not self.significant:
            return "="
        return "≠" if self.winner is None else ">" if self.winner == self.system else "<"

    def json(self) -> Record:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "significant": self.significant, "winner": self.winner}


@dataclass(frozen=True, repr=False)
class Comparisons(Result):
    """All comparisons of a run: every two systems, or each with the ``baseline``; on ``subsets`` if requested."""

    evaluation: ScoreTable
    comparisons: tuple[Comparison, ...]
    baseline: str | None
    tests: tuple[Test | RatingTest, ...]
    sampling: Sampling
    trials: int
    further: int | None = None  # total trials for pairs where ``trials`` are too few
    over: str = "items"
    as_sacrebleu: bool = False  # whether the table shows the one-sided p-values of sacrebleu's bootstrap
    by: str | None = None
    subsets: tuple[tuple[str, Comparisons], ...] = ()
    remarks: tuple[Note, ...] = ()

    @property
    def deciding(self) -> Test | RatingTest:
        """The test that claims, matrix and clusters rest on."""
        return DECIDING if DECIDING in self.tests else self.tests[0]

    @property
    def unit(self) -> str:
        """What is drawn and swapped."""
        return self.evaluation.resampling_unit

    def family(self, spec: str) -> int:
        """Return how many comparisons the correction is for: all of this metric in this run, on all subsets."""
        runs = [part for _, part in self.subsets] or [self]
        return sum(pair.metric == spec and pair.test == run.deciding for run in runs for pair in run.comparisons)

    def deciding_comparisons(self, spec: str) -> list[Comparison]:
        """Return the comparisons by one metric, by the deciding test."""
        return [pair for pair in self.comparisons if (pair.metric, pair.test) == (spec, self.deciding)]

    def pair(self, spec: str, system: str, other: str) -> Comparison:
        """Return the deciding comparison of two systems, in whichever order it was made."""
        pair = self._pair_of.get((spec, frozenset((system, other))))
        if pair is None:
            raise UnknownName("pair of systems", f"{system}, {other}", self.evaluation, see="plainly compare --help")
        return pair

    @cached_property
    def _pair_of(self) -> dict[tuple[str, frozenset[str]], Comparison]:
        return {
            (pair.metric, frozenset((pair.system, pair.baseline))): pair
            for pair in self.comparisons
            if pair.test == self.deciding
        }

    def beats(self, spec: str, system: str, other: str) -> bool:
        """Return whether the first may be called better than the second."""
        return system != other and self.pair(spec, system, other).winner == system

    def ranking(self, spec: str) -> list[str]:
        """Return the systems by score, best first; undefined scores last."""
        return self.evaluation.ranking(spec)

    def clusters(self, spec: str) -> list[list[str]]:
        """Return the ranking, cut where all systems above beat all below; empty if the metric has no better side."""
        if self.evaluation.metrics[spec].better == "neither":
            return []
        return paired.clusters(self.ranking(spec), lambda above, below: self.beats(spec, above, below))

    def ties(self, spec: str) -> list[list[str]]:
        """Return the largest sets of systems no two of which can be told apart; they may overlap. Best first."""
        return paired.ties(self.ranking(spec), lambda one, other: self.pair(spec, one, other).significant)

    def matrix(self, spec: str) -> dict[str, dict[str, bool | None]]:
        """Return which system beats which: True if that of the row wins, False if it loses, None if undecided."""
        ranked = self.ranking(spec)
        return {
            row: {
                column: True if self.beats(spec, row, column) else False if self.beats(spec, column, row) else None
                for column in ranked
                if column != row
            }
            for row in ranked
        }

    @cached_property
    def strengths(self) -> dict[str, list[Preference]]:
        """The Bradley–Terry strengths of three or more systems, the strongest first, for every pairwise metric."""
        names, strengths = list(self.evaluation), {}
        for spec, metric in self.evaluation.metrics.items():
            rows = [self.evaluation[name][spec].rows for name in names]
            if isinstance(metric, PairwiseMetric) and len(names) > 2:
                if rows[0].shape[1] != metric.own_columns + 2 * len(names):
                    continue  # a selection of systems that were measured with others
                meetings = list(_list_meetings(names, [table[:, metric.own_columns :] for table in rows]))
                if meetings:
                    strengths[spec] = fit_preferences(meetings).preferences(self.sampling.level)
        return strengths

    def records(self) -> list[Record]:
        """Return one flat record per comparison."""
        if self.by is not None:
            return [{self.by: label, **record} for label, part in self.subsets for record in part.records()]
        return [pair.json() for pair in self.comparisons]

    def json(self) -> Record:
        """Return the schema plainly.compare/1."""
        head: Record = {
            "schema": "plainly.compare/1",
            "test_set": self.evaluation.evalset.name or None,
            "items": self.evaluation.n,
            "seed": self.sampling.seed,
            "level": self.sampling.level,
            "resamples": self.sampling.resamples,
            "trials": self.trials,
            "further_trials": self.further,
            "unit": self.unit,
            "baseline": self.baseline,
            "deciding_test": self.deciding,
            "family": "all comparisons of one metric in this run",
        }
        if self.by is None:
            head |= self.parts_json()
        else:
            head["subsets"] = [
                {"field": self.by, "label": label, "items": part.evaluation.n, **part.parts_json()}
                for label, part in self.subsets
            ]
        return {**head, "warnings": warnings(self)}

    def parts_json(self) -> Record:
        """Return systems, comparisons, rankings and claims: what follows the head of the JSON."""
        return {
            "systems": self.evaluation.systems_json(),
            "comparisons": self.records(),
            "rankings": {spec: self._ranking_json(spec) for spec in self.evaluation.specs},
            "claims": claims(self),
        }

    def _ranking_json(self, spec: str) -> Record:
        order: Record = {"order": self.ranking(spec)}
        if spec in self.strengths:
            order["strengths"] = [dataclasses.asdict(preference) for preference in self.strengths[spec]]
        if self.baseline is not None:
            return order
        return {**order, "clusters": self.clusters(spec), "ties": self.ties(spec), "beats": self.matrix(spec)}

    def tables(self) -> list[Table]:
        """Return all comparisons if there are few, and which system beats which if all pairs were compared."""
        if self.by is not None:
            return [
                dataclasses.replace(
                    table, caption=f"{self.by}: {describe_label(self.by, label)}, {part.evaluation.n} items"
                )
                for label, part in self.subsets
                for table in dataclasses.replace(part, as_sacrebleu=self.as_sacrebleu).tables()
            ]
        systems = len(self.evaluation)
        tables = [self.pairs_table()] if self.baseline is not None or systems <= _FEW else []
        if self.baseline is None and systems > 2:
            ranked = self._matrix if systems <= _MATRIX else self._standings
            tables += [ranked(spec) for spec in self.evaluation.specs]
        return [*tables, *(_strength_table(spec, systems) for spec, systems in self.strengths.items())]

    def notes(self) -> list[Note]:
        """Return claims, how they were tested, and warnings."""
        parts = [*self.subsets] or [("", self)]
        sentences = [
            Note(f"{self.by}: {describe_label(self.by, label)}. {sentence}" if self.by else sentence, "claim")
            for label, part in parts
            for sentence in claims(part, family=self.family)
        ]
        return [*sentences, Note(self._about()), *self.evaluation.remarks, *self.remarks]

    def _about(self) -> str:
        draws = []
        if "paired-bootstrap" in self.tests:
            unit = self.unit if self.over == "items" else self.over
            draws.append(f"paired bootstrap over {unit}, {self.sampling.resamples} draws")
        if "approximate-randomisation" in self.tests:
            further = f", or {self.further} where these are too few" if self.further else ""
            draws.append(f"approximate randomisation, {self.trials} trials{further}")
        name = self.evaluation.evalset.name
        items = f"{count_noun(self.evaluation.n, 'item')}{f' of {name}' if name else ''}"
        return f"{items}. {'; '.join(draws)}; seed {self.sampling.seed}. Claims rest on {self.deciding}."

    def pairs_table(self) -> Table:
        """Return a row for each comparison, with the p-values of the tests that were run."""
        rows = []
        for names, group in groupby(self.comparisons, attrgetter("metric", "system", "baseline")):
            tests = list(group)
            pair = next(comparison for comparison in tests if comparison.test == self.deciding)
            difference = interval(pair.difference, pair.low, pair.high, sign=True)
            effect, detectable = number(pair.effect_size, sign=True), number(pair.smallest_detectable)
            p_values = (p_value(one.p_value if self.as_sacrebleu else one.p_two_sided) for one in tests)
            corrected = p_value(pair.p_holm)
            rows.append(
                (*names, number(pair.score), difference, *p_values, corrected, effect, detectable, pair.verdict)
            )
        columns = {
            "paired-bootstrap": "p bootstrap",
            "approximate-randomisation": "p random.",
            "items-and-raters": "p",
        }
        tests_run = (columns[test] for test in self.tests)
        names = ("metric", "system", "baseline")
        header = (*names, "score", "difference", *tests_run, "p Holm", "effect", "detectable", "")
        return Table(header, tuple(rows), text_columns=frozenset({0, 1, 2}))

    def _matrix(self, spec: str) -> Table:
        """Return which system beats which: > the row beats the column, < it is beaten, · neither."""
        ranked, beats = self.ranking(spec), self.matrix(spec)
        signs = {True: ">", False: "<", None: "·"}
        rows = tuple(
            (
                f"{place}. {row}",
                number(float(self.evaluation[row][spec])),
                *("" if row == column else signs[beats[row][column]] for column in ranked),
            )
            for place, row in enumerate(ranked, 1)
        )
        ties = [tie for tie in self.ties(spec) if len(tie) > 1]
        lines = ["Cannot be told apart: " + "; ".join(" ".join(tie) for tie in ties)] if ties else []
        clusters = self.clusters(spec)
        if len(clusters) > 1:
            lines.append("Clusters: " + " > ".join("{" + " ".join(cluster) + "}" for cluster in clusters))
        return Table(("", spec, *(f"{place}." for place in range(1, len(ranked) + 1))), rows, notes=tuple(lines))

    def _standings(self, spec: str) -> Table:
        """Return how many systems each system beats and is beaten by, if a table of all pairs would be too wide."""
        beats, clusters = self.matrix(spec), self.clusters(spec)
        cluster = {system: str(at) for at, members in enumerate(clusters, 1) for system in members}
        rows = [
            (
                f"{place}. {system}",
                number(float(self.evaluation[system][spec])),
                *(str(sum(outcome is one for outcome in beats[system].values())) for one in (True, None, False)),
                *((cluster[system],) if len(clusters) > 1 else ()),
            )
            for place, system in enumerate(self.ranking(spec), 1)
        ]
        header = ("", spec, "beats", "same", "beaten by", *(("cluster",) if len(clusters) > 1 else ()))
        return Table(header, tuple(rows), notes=("Every pair: --csv, or records() in Python",))


def _list_meetings(names: Sequence[str], rows: Sequence[Floats]) -> Iterator[Meeting]:
    """Yield every decided comparison; the columns of a row are wins against each system, then ties with each."""
    k = len(names)
    for first, second in combinations(range(k), 2):
        for a, b, columns in ((first, second, second), (second, first, first), (first, second, k + second)):
            for item in rows[a][:, columns].nonzero()[0]:
                yield Meeting(str(item), names[a], names[b], tie=columns >= k)


def _strength_table(spec: str, systems: Sequence[Preference]) -> Table:
    rows = tuple(
        (
            f"{place}. {row.system}",
            interval(row.strength.value, row.strength.low, row.strength.high),
            *map(str, (row.wins, row.ties, row.losses)),
        )
        for place, row in enumerate(systems, 1)
    )
    note = "Strength: logarithm, by the model of Bradley and Terry with ties; the mean of all systems is 0."
    return Table((spec, "strength", "wins", "ties", "losses"), rows, notes=(note,))


def correct_p_values(
    comparisons: Sequence[Comparison], *, detectable: Callable[[Comparison, int], float] | None = None
) -> list[Comparison]:
    """Correct p-values within each metric and test, so that adding a metric does not change other claims.

    ``detectable`` returns the smallest difference that a comparison among so many detects; by default that over units.
    """
    find_detectable = detectable or _detectable_over_units
    corrected = list(comparisons)
    for metric, test in dict.fromkeys((pair.metric, pair.test) for pair in comparisons):
        places = [place for place, pair in enumerate(comparisons) if (pair.metric, pair.test) == (metric, test)]
        values = [comparisons[place].p_two_sided for place in places]
        by_holm, by_bh = paired.holm(values), paired.benjamini_hochberg(values)
        for place, p_holm, p_bh in zip(places, by_holm, by_bh, strict=True):
            pair = comparisons[place]
            smallest = find_detectable(pair, len(places))
            corrected[place] = dataclasses.replace(pair, p_holm=p_holm, p_bh=p_bh, smallest_detectable=smallest)
    return corrected


def _detectable_over_units(pair: Comparison, family: int) -> float:
    if pair.test == DECIDING and 2.0 ** (1 - pair.units) * family > 1 - pair.level:
        return math.nan  # so few units can be swapped in so few ways that no p-value is small enough
    return paired.detectable_difference(pair.standard_error, pair.units, level=pair.level, family=family)


def claims(result: Comparisons, *, family: Callable[[str], int] | None = None) -> list[str]:
    """Return a sentence for each metric, based on the deciding test with Holm's correction over ``family`` pairs."""
    family = family or result.family
    return [_claim(result, spec, family(spec)) for spec in result.evaluation.specs]


def _claim(result: Comparisons, spec: str, family: int) -> str:
    """Return what may be claimed about the systems that do not copy references, and which do."""
    excluded = find_incomparable(result.evaluation, spec)
    every = result.deciding_comparisons(spec)
    pairs = [pair for pair in every if pair.system not in excluded and pair.baseline not in excluded]
    copying = ""
    if excluded:
        one = len(excluded) == 1
        verb, score = ("copies", "its score is") if one else ("copy", "their scores are")
        copying = f"{listed(excluded)} {verb} references, so {score} not comparable. "
        if not pairs:
            return f"{spec}: {copying}Nothing may be claimed."
    defined = [pair for pair in pairs if math.isfinite(pair.difference)]
    if not defined:
        return f"{spec}: {copying}undefined for these outputs; nothing may be claimed."
    if len(every) == 1:
        claim = _claim_about_pair(defined[0], family=family, unit=result.unit)
    elif result.baseline is not None:
        claim = _claim_against_baseline(result.baseline, defined, family=family)
    else:
        claim = _claim_about_ranking(result, spec, defined, excluded, family=family)
    return f"{spec}: {copying}{'Of the others: ' if copying else ''}{claim}"


def _claim_about_pair(pair: Comparison, *, family: int, unit: str) -> str:
    corrected = f", Holm over {family} comparisons" if family > 1 else ""
    numbers = f"{pair.level:.0%} interval {pair.low:.2f} to {pair.high:.2f}; p = {p_value(pair.p_holm)}{corrected}"
    if not pair.significant:
        detectable = f"{pair.n} items show differences of about {pair.smallest_detectable:.2f} or more."
        if not math.isfinite(pair.smallest_detectable):
            units = count_noun(pair.units, unit.partition(" ")[0].removesuffix("s"))
            detectable = f"{units} cannot show any difference at this level."
        return (
            f"no difference may be claimed between {pair.system} and {pair.baseline} "
            f"({pair.difference:+.2f}; {numbers}). {detectable}"
        )
    if pair.winner is None:
        return (
            f"{pair.system} differs from {pair.baseline} by {pair.difference:+.2f} ({numbers}); the "
            "metric does not say which is better."
        )
    loser = pair.baseline if pair.winner == pair.system else pair.system
    return (
        f"{pair.winner} may be said to score better than {loser}, by {abs(pair.difference):.2f} "
        f"({pair.system} − {pair.baseline}: {numbers}), on {unit} like these."
    )


def _claim_against_baseline(baseline: str, pairs: Sequence[Comparison], *, family: int) -> str:
    outcomes = {
        ("scores", "score", "better than"): [pair.system for pair in pairs if pair.winner == pair.system],
        ("scores", "score", "worse than"): [pair.system for pair in pairs if pair.winner == baseline],
        ("differs", "differ", "for better or worse, from"): [
            pair.system for pair in pairs if pair.significant and not pair.winner
        ],
        ("cannot", "cannot", "be told from"): [pair.system for pair in pairs if not pair.significant],
    }
    sentences = [
        f"{listed(names)} {singular if len(names) == 1 else plural} {rest} {baseline}"
        for (singular, plural, rest), names in outcomes.items()
        if names
    ]
    return f"{'; '.join(sentences)} ({_basis(pairs, family)})."


def _claim_about_ranking(
    result: Comparisons, spec: str, pairs: Sequence[Comparison], excluded: Sequence[str], *, family: int
) -> str:
    count = sum(pair.significant for pair in pairs)
    basis = _basis(pairs, family)
    if pairs[0].better == "neither":
        return f"{count} of {len(pairs)} pairs differ; the metric does not say which is better ({basis})."
    ranking = [system for system in result.ranking(spec) if system not in excluded]
    top = paired.ties(ranking, lambda one, other: result.pair(spec, one, other).significant)[0]
    best = f"{top[0]} scores best" if len(top) == 1 else f"{listed(top)} score best and cannot be told apart"
    return f"{best}; {count} of {len(pairs)} pairs can be told apart ({basis})."


def _basis(pairs: Sequence[Comparison], family: int) -> str:
    sizes = [pair.smallest_detectable for pair in pairs if math.isfinite(pair.smallest_detectable)]
    basis = f"{1 - pairs[0].level:.0%} level, Holm over {family} comparisons"
    if not sizes:
        return basis
    which = "" if len(sizes) == len(pairs) else f", for {len(sizes)} of {len(pairs)} pairs"
    return f"{basis}; {pairs[0].n} items show differences of about {span(min(sizes), max(sizes))} or more{which}"
