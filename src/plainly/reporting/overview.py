"""An overview of an evaluation: comparisons, warnings, habits of systems and people, operations and tricks, and the
summary of all of it in sentences.

The parts are computed by other modules on the same texts. A part that is impossible, because sources or an installed
package are missing, is left out and named with its reason.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, PlainlyError
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import count_noun, interval, listed, number, short
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.registry import display_name
from plainly.core.result import Note
from plainly.core.sampling import Sampling
from plainly.factcheck.facts import FactChecks
from plainly.people.correlations import MetricCorrelation, correlate_metrics, score_units, with_texts
from plainly.people.operation_results import OperationResults
from plainly.people.preferences import Preferences
from plainly.people.ratings import Judgements
from plainly.people.results import HumanResults, results
from plainly.reporting import findings
from plainly.scoring import subsets
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import DECIDING, Comparisons
from plainly.scoring.evaluate import on_shared_items
from plainly.scoring.sanity import find_incomparable
from plainly.scoring.score import advise
from plainly.scoring.scores import ScoreTable
from plainly.stats.resample import Estimate

T = TypeVar("T")
NO_OUTPUT = "for which a system has no output."
MOST_SENTENCES = 6  # of a summary: one is the title of the picture, and at most five stand beside it
_MOST_CLAIMS = 3  # about the ratings, so that other sentences fit too
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sentence:
    """One sentence of the summary, and the section of the page that shows it."""

    text: str
    section: str = ""


@dataclass(frozen=True, repr=False)
class Overview:
    """Scores and the analyses beside them. A part is empty or None if it was impossible or not requested."""

    evaluation: ScoreTable  # on the items that all systems have
    comparisons: Comparisons | None = None
    whole: ScoreTable | None = None  # with the items that some systems lack, where there are any
    cautions: tuple[Note, ...] = ()  # every warning
    doubts: tuple[findings.Doubt, ...] = ()  # about outputs, to be stated before any score
    remarks: tuple[findings.Doubt, ...] = ()  # less grave ones
    notices: tuple[Note, ...] = ()  # the warnings that neither of these covers
    spreads: Mapping[str, Mapping[str, findings.Five]] = field(default_factory=dict)
    lengths: findings.LengthScores | None = None
    habits: tuple[findings.Habit, ...] = ()
    split: Mapping[str, Bools] = field(default_factory=dict)
    copied: Mapping[str, Bools] = field(default_factory=dict)
    operations: findings.PlacedOperations | None = None
    facts: FactChecks | None = None
    links: findings.PlacedLinks | None = None  # between the sentences of documents
    alarms: tuple[findings.Alarm, ...] = ()
    tricks: findings.Tricks = field(default_factory=findings.Tricks)
    correlations: tuple[MetricCorrelation, ...] = ()  # of each metric with each dimension of the ratings
    ratings: str = ""  # the name of the ratings
    human: HumanResults | None = None  # the result of the ratings
    disagreements: tuple[findings.Disagreement, ...] = ()  # between metrics and people
    preferences: Preferences | None = None  # what people preferred, where they ranked
    annotations: OperationResults | None = None  # which operations they marked, where they annotated
    left_out: tuple[str, ...] = ()  # parts that are impossible and items that systems lack, each with the reason

    @property
    def evalset(self) -> EvalSet:
        return self.evaluation.evalset

    @property
    def outputs(self) -> Mapping[str, Sequence[str]]:
        return self.evaluation.outputs or {}

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.evaluation)

    @property
    def specs(self) -> tuple[str, ...]:
        return self.evaluation.specs

    @property
    def all_items(self) -> ScoreTable:
        """The scores on every item, also on those that some systems lack."""
        return self.evaluation if self.whole is None else self.whole

    @cached_property
    def summary(self) -> list[Sentence]:
        """What to know first, in a few sentences."""
        parts = (_people, _scores, _agreement, _tradeoff, _facts, _alarms)
        sentences = [sentence for part in parts for sentence in part(self)][:MOST_SENTENCES]
        return [Sentence(sentence.text.replace(" %", "\u00a0%"), sentence.section) for sentence in sentences]

    def incomparable(self, spec: str) -> tuple[str, ...]:
        """Return the systems that copy references, by a metric that compares with references."""
        return find_incomparable(self.all_items, spec)

    def ranking(self, spec: str) -> list[str]:
        """Return the systems that can be compared, the best first; undefined scores last."""
        excluded = self.incomparable(spec)
        return [system for system in self.evaluation.ranking(spec) if system not in excluded]

    def metric(self, spec: str) -> Metric:
        return self.evaluation.metrics[spec]

    def value(self, system: str, spec: str) -> float:
        return float(self.evaluation.systems[system][spec])

    def estimate(self, system: str, spec: str) -> Estimate | None:
        return self.evaluation.systems[system][spec].intervals.get(self.metric(spec).outputs[0])

    def bounds(self, system: str, spec: str) -> tuple[float, float]:
        """Return both ends of a score's interval; NaN without intervals."""
        estimate = self.estimate(system, spec)
        return (math.nan, math.nan) if estimate is None else (estimate.low, estimate.high)

    @property
    def estimates(self) -> list[Estimate]:
        """Every headline's interval, where there are intervals."""
        pairs = [(system, spec) for system in self.systems for spec in self.specs]
        return [estimate for pair in pairs if (estimate := self.estimate(*pair)) is not None]

    def order(self, spec: str) -> list[str]:
        """Return all systems: those that can be compared, the best first, then the others."""
        return [*self.ranking(spec), *self.incomparable(spec)]

    def standing(self, spec: str, system: str) -> str:
        """Return ``best``, ``tied`` with the best (no difference may be claimed), ``copied``, or an empty text."""
        if self.metric(spec).better == "neither" or len(self.systems) < 2:
            return ""
        if system in self.incomparable(spec):
            return "copied"
        best = self.ranking(spec)[0]
        value, top = self.value(system, spec), self.value(best, spec)
        if value == top:
            return "best"
        if math.isnan(value) or self.comparisons is None or self.comparisons.pair(spec, best, system).significant:
            return ""
        return "tied"


def overview(
    evaluation: ScoreTable,
    *,
    labeller: str | None = "rules",
    audit: bool = True,
    ratings: Judgements | None = None,
    progress: Progress = no_progress,
) -> Overview:
    """Collect all parts of the overview, on the items that all systems have; some need the texts of the evaluation."""
    left_out: list[str] = []

    def attempt(task: str, compute: Callable[[], T]) -> T | None:
        try:
            return compute()
        except (PlainlyError, ImportError) as error:
            left_out.append(f"{task}: {error.args[0] if error.args else error}")
            return None

    # The warnings about the scores, even if they were made without advice.
    whole = evaluation if evaluation.advise else replace(evaluation, advise=advise)
    evaluation = on_shared_items(evaluation)
    if missing := len(whole.evalset) - len(evaluation.evalset):
        left_out.append(f"{missing} of {count_noun(len(whole.evalset), 'item')}, {NO_OUTPUT}")
    evalset, outputs = evaluation.evalset, evaluation.outputs or {}
    several = len(evaluation) > 1
    has_texts = bool(outputs) and evalset.has_sources and len(evalset) > 0
    warnings = tuple(note for note in whole.remarks if note.kind == "warning")
    parts: dict[str, Any] = {
        "whole": whole,
        "cautions": warnings,
        "doubts": findings.find_doubts(whole, warnings, len(evalset)),
        "spreads": attempt("how scores spread", lambda: findings.item_spreads(evaluation)) or {},
        "lengths": attempt("scores by length", lambda: findings.length_scores(evaluation)),
    }
    if several and evaluation.n > 1:
        parts["comparisons"] = attempt("comparing systems", lambda: compare(evaluation, tests=(DECIDING,)))
    if has_texts:
        parts["habits"] = attempt("what systems do", lambda: findings.habits(evalset, outputs)) or ()
        parts["alarms"] = findings.alarms(evaluation.metrics, parts["habits"])
        for name, field in (("split", "split"), ("copied", "copy")):  # the items on which each system did it
            parts[name] = subsets.divide(evalset, outputs, field)[0].masks
        parts["links"] = findings.place_links(evalset, outputs, progress)
        check = partial(findings.check_facts, whole.evalset, whole.outputs or {}, progress)
        parts["facts"] = attempt("checking facts", check)
    if has_texts and labeller is not None:
        locate = partial(findings.place_operations, evalset, outputs, labeller=labeller, progress=progress)
        parts["operations"] = attempt("labelling operations", locate)
    if has_texts and several and audit:
        try_tricks = partial(findings.tricks, evaluation, progress)
        parts["tricks"] = attempt("trying tricks on the metrics", try_tricks) or findings.Tricks()
    if ratings is not None:
        correlate = partial(_correlations, whole, ratings, progress)
        parts["cautions"] += tuple(remark for remark in ratings.remarks if remark.kind == "warning")
        parts |= {"ratings": ratings.name, "correlations": attempt("correlating with ratings", correlate) or ()}
        conclude = partial(results, ratings, sampling=evaluation.sampling or Sampling())
        human = attempt("the result of the ratings", conclude)
        if isinstance(human, HumanResults):
            parts |= {"human": human, "disagreements": findings.find_disagreements(whole, human)}
    parts["remarks"], parts["notices"] = findings.find_remarks(whole, parts["cautions"])
    return Overview(evaluation, left_out=tuple(left_out), **parts)


def _correlations(evaluation: ScoreTable, judgements: Judgements, progress: Progress) -> tuple[MetricCorrelation, ...]:
    """Correlate each metric with each dimension, over the outputs that were rated."""
    texts = judgements
    if not judgements.outputs:  # ratings without texts: use the outputs of the report
        evalset, outputs = evaluation.evalset, evaluation.outputs or {}
        systems = [system for system in judgements.systems if system in outputs]
        if not systems:
            raise BadInput(
                f"{judgements.name} rates {listed(judgements.systems, most=4)}, but no system of the report. "
                "Name the systems as in the ratings: outputs={'NAME': …}."
            )
        texts = with_texts(judgements.of_systems(systems), evalset, {name: outputs[name] for name in systems})
    elif not judgements.references and set(judgements.items) <= set(evaluation.evalset.ids):
        texts = with_texts(judgements, evaluation.evalset, {})  # a study has outputs, but no references
    measurable = {
        spec: evaluation.metrics[spec]
        for spec in evaluation.measurable
        if texts.references or "references" not in evaluation.metrics[spec].needs
    }
    if not measurable:
        raise BadInput(f"The items of {judgements.name} have no references in this report.")
    units = next(iter(texts.ratings.values())).units()
    units = units[np.array([not isinstance(texts.outputs.get(pair), Absent) for pair in units.pairs], dtype=bool)]
    correlations = correlate_metrics(
        texts,
        [score_units(texts, units, measurable, progress=progress)],
        dimensions=texts.dimensions,
        statistics=("pearson",),
        units=("item",),
        compare=False,
        sampling=evaluation.sampling or Sampling(),
        progress=progress,
    )
    return correlations.rows


def scope(overview: Overview) -> str:
    """Describe what was evaluated, in a line."""
    counts = overview.evalset.reference_counts
    parts = [count_noun(len(overview.systems), "system"), count_noun(overview.evaluation.n, "item")]
    if overview.evalset.references:
        low, high = int(counts.min()), int(counts.max())
        parts.append(f"{count_noun(high, 'reference')} each" if low == high else f"{low} to {high} references each")
    parts.append(count_noun(len(overview.specs), "metric"))
    return ", ".join(parts)


def _people(overview: Overview) -> Iterator[Sentence]:
    """Return what people found: the claims of the ratings, and where metrics disagree with them."""
    parts = (overview.human, overview.preferences, overview.annotations)
    for claim in next((part.claims for part in parts if part is not None), [])[:_MOST_CLAIMS]:
        yield Sentence(f"People, {claim.replace('No two', 'no two', 1)}", "people")
    for disagreement in overview.disagreements[:1]:
        yield Sentence(disagreement.text, "people")


def _scores(overview: Overview) -> Iterator[Sentence]:
    if len(overview.systems) == 1:
        system = overview.systems[0]
        specs = [spec for spec in overview.specs if not math.isnan(overview.value(system, spec))]
        scores = listed([f"{display_name(spec)} {_with_interval(overview, system, spec)}" for spec in specs])
        yield Sentence(f"{short(system)} scores {scores}.", "scores")
        yield Sentence("A single system can only be judged beside another.", "scores")
        return
    directed = [spec for spec in overview.specs if overview.metric(spec).better != "neither"]
    if directed:
        yield Sentence(verdict(overview, directed[0]), "scores")


def verdict(overview: Overview, spec: str) -> str:
    """Return a sentence about the best system by a metric and whether the difference is significant."""
    name, ranking, copying = display_name(spec), overview.ranking(spec), list(map(short, overview.incomparable(spec)))
    who = f"{listed(copying)}, which {'copies' if len(copying) == 1 else 'copy'} references"
    if not ranking:
        return f"{name} says nothing about {who}."
    best = ranking[0]
    if math.isnan(overview.value(best, spec)):
        return f"{name} is undefined for these outputs."
    if len(overview.systems) == 1:
        return f"{short(best)} scores {name} {_with_interval(overview, best, spec)}."
    if overview.metric(spec).better == "neither":
        return f"By {name}, neither more nor less is better."
    score = _with_interval(overview, best, spec)
    if len(ranking) == 1:
        return f"{short(best)} scores {name} {score}; it cannot be compared with {who}."
    without = f"without {who}, " if copying else ""
    return f"By {name}, {without}{short(best)} scores best: {score}.{_beside_the_best(overview, spec, best)}"


def _beside_the_best(overview: Overview, spec: str, best: str) -> str:
    """Name the systems that are not significantly different from the best, or say that it beats them all."""
    if overview.comparisons is None:
        return ""
    others = overview.ranking(spec)[1:]
    without_score = [system for system in others if math.isnan(overview.value(system, spec))]
    beaten = [system for system in others if overview.comparisons.beats(spec, best, system)]
    ties = [system for system in others if system not in (*without_score, *beaten)]
    # Long lists of names are not read; the picture has them.
    most = max(2, min(5, 90 // max(map(len, map(short, ties)), default=1)))
    text = f" {listed(list(map(short, ties)), most=most)} cannot be told from it." if ties else ""
    if not ties and beaten:
        count = "both others" if len(beaten) == 2 else f"all {len(beaten)} others"
        text = f" It beats {count if len(beaten) > 1 else short(beaten[0])}."
    return text + (f" It is undefined for {listed(list(map(short, without_score)))}." if without_score else "")


def _with_interval(overview: Overview, system: str, spec: str) -> str:
    return interval(overview.value(system, spec), *overview.bounds(system, spec), page=True)


def _agreement(overview: Overview) -> Iterator[Sentence]:
    """Say whether the other metrics put the same system first."""
    specs = [spec for spec in overview.specs if overview.metric(spec).better != "neither" and overview.ranking(spec)]
    if len(specs) < 2 or len(overview.systems) < 2:
        return
    by_leader: dict[str, list[str]] = {}
    for spec in specs:
        by_leader.setdefault(overview.ranking(spec)[0], []).append(display_name(spec))
    leader, *others = by_leader
    agreeing = by_leader[leader][1:]
    if not others:
        verb = "also puts" if len(agreeing) == 1 else "also put"
        yield Sentence(f"{_capitalise(listed(agreeing))} {verb} {short(leader)} first.", "scores")
        return
    leaders = [f"{listed(by_leader[name])} {'puts' if len(by_leader[name]) == 1 else 'put'} {short(name)} first"
               for name in others]  # fmt: skip
    also = f", {listed(agreeing)} {'agrees' if len(agreeing) == 1 else 'agree'} with {by_leader[leader][0]}"
    text = f"{listed(leaders, most=3)}{also if agreeing else ''}: they measure different things."
    yield Sentence(_capitalise(text), "scores")


def _capitalise(text: str) -> str:
    """Return a sentence that begins with the name of a metric; names such as iBLEU and chrF stay as they are."""
    return text[:1].upper() + text[1:] if text.split()[0].rstrip(",").islower() else text


def _tradeoff(overview: Overview) -> Iterator[Sentence]:
    pair = axes(overview)
    if pair is None or len(overview.systems) < 3:
        return
    unbeaten = front(overview, pair)
    if unbeaten:
        names = listed(list(map(short, unbeaten)))
        yield Sentence(f"No system is both simpler and closer in meaning than {names}, by {pair.names}.", "tradeoff")


def _facts(overview: Overview) -> Iterator[Sentence]:
    """Say how often facts are kept, by the systems that keep them most and least often."""
    if overview.facts is None:
        return
    faithful = {system: overview.facts.numbers(system)["faithful"] for system in overview.facts.by_system}
    faithful = {system: value for system, value in faithful.items() if not math.isnan(value)}
    if not faithful:
        return
    low, high = min(faithful, key=faithful.__getitem__), max(faithful, key=faithful.__getitem__)
    shares = f"{short(high)} keeps the facts in {number(faithful[high], 0)} % of its outputs"
    if faithful[low] < faithful[high]:
        shares += f", {short(low)} in {number(faithful[low], 0)} %"
    elif len(faithful) > 1:
        shares = f"Every system keeps the facts in {number(faithful[high], 0)} % of its outputs"
    yield Sentence(f"{shares}, as far as rules can tell.", "facts")


def _alarms(overview: Overview) -> Iterator[Sentence]:
    """State the first reason to distrust a score; the others are in its section."""
    for alarm in overview.alarms[:1]:
        yield Sentence(alarm.message, "trust")


@dataclass(frozen=True)
class Axis:
    """A number that stands for simplicity or for meaning: an output of a metric."""

    spec: str
    output: str
    name: str
    is_inverted: bool = False  # lower is better

    def value(self, evaluation: ScoreTable, system: str) -> float:
        return float(evaluation[system][self.spec].corpus[self.output])


@dataclass(frozen=True)
class Axes:
    """What stands for simplicity and for meaning, and why."""

    simplicity: Axis
    meaning: Axis
    reason: str

    @property
    def names(self) -> str:
        if self.simplicity.spec == self.meaning.spec:
            return f"the two parts of {display_name(self.meaning.spec)}"
        return f"{self.simplicity.name} and {self.meaning.name}"


# Metrics with an output for simplicity and one for meaning, which were made for that; then metrics that stand in for
# one of them, those with the best evidence first.
_WITH_PARTS = ("quality", "judge", "jury")
_SIMPLICITY = ("cefr", "cefr-published", "sle", "sari", "fkgl", "flesch", "ari", "coleman_liau", "smog", "gunning_fog")
_MEANING = ("meaning", "meaningbert", "bertscore", "entailment", "bleu", "chrf", "tbleu", "levenshtein")
_COUNT_WORDS = ("bleu", "chrf", "tbleu", "levenshtein")


def axes(overview: Overview) -> Axes | None:
    """Return what stands for simplicity and meaning, if there are both and several systems."""
    by_name: dict[str, str] = {}
    for spec in overview.specs:
        if overview.metric(spec).better != "neither":  # a level without a target has no better side
            by_name.setdefault(overview.metric(spec).name, spec)
    if len(overview.systems) < 2:
        return None
    simplicity = _find_axis(overview, by_name, "simplicity", _SIMPLICITY)
    meaning = _find_axis(overview, by_name, "meaning", _MEANING)
    if simplicity is None or meaning is None:
        return None
    name = overview.metric(meaning.spec).name
    if name in _COUNT_WORDS:
        reason = (
            f"{meaning.name} only counts words that an output shares with the references, and rewards copies. It "
            "stands in for meaning because no better metric was computed: add -m quality."
        )
    elif simplicity.spec == meaning.spec:
        reason = f"Both are parts of {display_name(meaning.spec)}, which rates them apart."
    else:
        reason = f"{simplicity.name} stands in for simplicity."
    return Axes(simplicity, meaning, reason)


def _find_axis(overview: Overview, specs: Mapping[str, str], part: str, stand_ins: Sequence[str]) -> Axis | None:
    for name in _WITH_PARTS:
        if name in specs and part in overview.metric(specs[name]).outputs:
            return Axis(specs[name], part, part)
    for name in stand_ins:
        if name in specs:
            metric = overview.metric(specs[name])
            return Axis(specs[name], metric.outputs[0], display_name(specs[name]), metric.better == "lower")
    return None


def front(overview: Overview, pair: Axes) -> list[str]:
    """Return the systems that no other beats on one axis and at least equals on the other; none that copies."""
    both = (pair.simplicity, pair.meaning)
    excluded = {system for axis in both for system in overview.incomparable(axis.spec)}
    signs = np.array([-1.0 if axis.is_inverted else 1.0 for axis in both])
    points = {
        system: signs * [axis.value(overview.evaluation, system) for axis in both]
        for system in overview.systems
        if system not in excluded
    }
    return [
        system
        for system, point in points.items()
        if not np.isnan(point).any()
        and not any((other >= point).all() and (other > point).any() for other in points.values())
    ]
