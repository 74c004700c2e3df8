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
from plainly.core.formatting import count_noun, interval, listed, short
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note
from plainly.core.sampling import Sampling
from plainly.factcheck.facts import FactChecks, facts
from plainly.people.correlations import MetricCorrelation, correlate_metrics, score_units, with_texts
from plainly.people.preferences import Preferences
from plainly.people.ratings import Judgements
from plainly.people.results import HumanResults, results
from plainly.reporting import findings
from plainly.scoring import subsets
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import DECIDING, Comparisons
from plainly.scoring.evaluate import on_shared_items
from plainly.scoring.sanity import against_itself
from plainly.scoring.score import advise
from plainly.scoring.scores import ScoreTable
from plainly.stats.resample import Estimate

T = TypeVar("T")
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sentence:
    """One sentence of the summary, and the section of the page that shows it."""

    text: str
    section: str = ""


@dataclass(frozen=True, repr=False)
class Overview:
    """Scores and the analyses beside them. A part is empty or None if it was impossible or not requested."""

    evaluation: ScoreTable
    comparisons: Comparisons | None = None
    cautions: tuple[Note, ...] = ()  # what may be wrong with the texts
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

    @cached_property
    def summary(self) -> list[Sentence]:
        """The findings in sentences, the most important first."""
        parts = (_people, _scores, _disagreement, _tradeoff, _habits, _alarms)
        sentences = (sentence for part in parts for sentence in part(self))
        return [Sentence(sentence.text.replace(" %", "\u00a0%"), sentence.section) for sentence in sentences]

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

    def standing(self, spec: str, system: str) -> str:
        """Return ``best``, ``tied`` with the best (no difference may be claimed), or an empty text."""
        if self.metric(spec).better == "neither" or len(self.systems) < 2:
            return ""
        best = self.evaluation.ranking(spec)[0]
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

    whole, evaluation = evaluation, on_shared_items(evaluation)
    if missing := len(whole.evalset) - len(evaluation.evalset):
        left_out.append(f"{missing} of {count_noun(len(whole.evalset), 'item')}, for which a system has no output.")
    evalset, outputs = evaluation.evalset, evaluation.outputs or {}
    several = len(evaluation) > 1
    has_texts = bool(outputs) and evalset.has_sources and len(evalset) > 0
    # The warnings about the scores, even if they were made without advice.
    evaluation_with_advice = evaluation if evaluation.advise else replace(evaluation, advise=advise)
    parts: dict[str, Any] = {
        "cautions": tuple(note for note in evaluation_with_advice.remarks if note.kind == "warning"),
        "spreads": attempt("how scores spread", lambda: findings.item_spreads(evaluation)) or {},
        "lengths": attempt("scores by length", lambda: findings.length_scores(evaluation)),
    }
    if several and evaluation.n > 1:
        parts["comparisons"] = attempt("comparing systems", lambda: compare(evaluation, tests=(DECIDING,)))
    if has_texts:
        parts["habits"] = attempt("what systems do", lambda: findings.habits(evalset, outputs)) or ()
        undefined_scores = attempt("looking for undefined items", lambda: findings.find_undefined(evaluation)) or ()
        of_habits = findings.alarms(evaluation.metrics, parts["habits"])
        parts["alarms"] = (*findings.from_references(evaluation), *of_habits, *undefined_scores)
        for name, field in (("split", "split"), ("copied", "copy")):  # the items on which each system did it
            parts[name] = subsets.divide(evalset, outputs, field)[0].masks
        parts["links"] = findings.place_links(evalset, outputs, progress)
        check = partial(facts, evalset=evalset, outputs=outputs, model=None, progress=progress)
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


def lead(summary: list[Sentence]) -> list[Sentence]:
    """Select the best system by people and by metrics, whether metrics agree, and what to distrust; else others."""
    selection: list[Sentence] = []
    for sections in (("people",), ("scores",), ("tradeoff",), ("tricks", "warnings")):
        selection += [sentence for sentence in summary if sentence.section in sections][:1]
    selection += [sentence for sentence in summary if sentence not in selection][: 3 - len(selection)]
    return [sentence for sentence in summary if sentence in selection]


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
    if overview.human is None:
        return
    for claim in overview.human.claims:
        yield Sentence(f"People, {claim}", "people")
    for disagreement in overview.disagreements[:1]:
        yield Sentence(disagreement.text, "people")


def _scores(overview: Overview) -> Iterator[Sentence]:
    if len(overview.systems) == 1:
        system = overview.systems[0]
        specs = [spec for spec in overview.specs if not math.isnan(overview.value(system, spec))]
        scores = listed([f"{spec} {_with_interval(overview, system, spec)}" for spec in specs])
        text = f"{short(system)} scores {scores}. A single system can only be judged beside another."
        yield Sentence(text, "scores")
        return
    for spec in overview.specs:
        if overview.metric(spec).better != "neither":
            yield Sentence(verdict(overview, spec), "scores")


def verdict(overview: Overview, spec: str) -> str:
    """Return a sentence about the best system by a metric and whether the difference is significant."""
    best = overview.evaluation.ranking(spec)[0]
    if math.isnan(overview.value(best, spec)):
        return f"{spec} is undefined for these outputs."
    if len(overview.systems) == 1:
        return f"{short(best)} scores {spec} {_with_interval(overview, best, spec)}."
    if overview.metric(spec).better == "neither":
        return f"{spec} has no better side."
    text = f"By {spec}, {short(best)} scores best: {_with_interval(overview, best, spec)}."
    if best in against_itself(overview.evaluation, spec):
        return f"{text} But it is a reference scored against itself, which proves nothing."
    return text + _beside_the_best(overview, spec, best)


def _beside_the_best(overview: Overview, spec: str, best: str) -> str:
    """Name the systems that are not significantly different from the best, or say that it beats them all."""
    if overview.comparisons is None:
        return ""
    others = overview.evaluation.ranking(spec)[1:]
    without_score = [system for system in others if math.isnan(overview.value(system, spec))]
    beaten = [system for system in others if overview.comparisons.beats(spec, best, system)]
    ties = [system for system in others if system not in (*without_score, *beaten)]
    # Long lists of names are not read; the picture has them.
    most = max(2, min(5, 90 // max(map(len, map(short, ties)), default=1)))
    text = f" {listed(list(map(short, ties)), most=most)} cannot be told from it." if ties else ""
    if not ties and beaten:
        text = f" It beats {f'all {len(beaten)} others' if len(beaten) > 1 else short(beaten[0])}."
    return text + (f" It is undefined for {listed(list(map(short, without_score)))}." if without_score else "")


def _with_interval(overview: Overview, system: str, spec: str) -> str:
    return interval(overview.value(system, spec), *overview.bounds(system, spec), page=True)


def _disagreement(overview: Overview) -> Iterator[Sentence]:
    specs = [spec for spec in overview.specs if overview.metric(spec).better != "neither"]
    if len(specs) < 2 or len(overview.systems) < 2:
        return
    by_leader: dict[str, list[str]] = {}
    for spec in specs:
        by_leader.setdefault(overview.evaluation.ranking(spec)[0], []).append(spec)
    if len(by_leader) > 1:
        leaders = listed([f"{short(system)} leads by {listed(specs)}" for system, specs in by_leader.items()])
        text = f"The metrics do not agree on who is best: {leaders}. They measure different things."
        yield Sentence(text, "tradeoff")
    else:
        yield Sentence(f"All {len(specs)} metrics put {short(next(iter(by_leader)))} first.", "scores")


def _tradeoff(overview: Overview) -> Iterator[Sentence]:
    pair = axes(overview.evaluation)
    if pair is None or len(overview.systems) < 3:
        return
    simplicity, meaning = pair
    unbeaten = listed(list(map(short, front(overview.evaluation, simplicity, meaning))))
    if unbeaten:
        stand_ins = f"{simplicity} for simplicity and {meaning} for meaning"
        yield Sentence(f"With {stand_ins}, no system is better on both than {unbeaten}.", "tradeoff")


def _habits(overview: Overview) -> Iterator[Sentence]:
    habits = {habit.key: habit for habit in overview.habits if habit.values}
    shares = [
        _share(habits[key], verb, verbs)
        for key, verb, verbs in (("split", "split", "splits"), ("copied", "copy", "copies"))
        if key in habits
    ]
    if shares:
        yield Sentence(" ".join(shares), "habits")
    length = habits.get("compression")
    if length is not None and not math.isnan(length.people) and len(length.systems) > 1:
        people = length.format(length.people)
        yield Sentence(f"People write {people} of the source's length; systems {_from_to(length)}.", "habits")


def _share(habit: findings.Habit, verb: str, verbs: str) -> str:
    """Say how many sentences are split, or copied, by people and by systems."""
    values = habit.values
    people = "" if math.isnan(habit.people) else f"People {verb} {habit.format(habit.people)} of the sentences; "
    if len(set(values.values())) > 1:
        return f"{people}{'systems' if people else f'Systems {verb}'} {_from_to(habit)}."
    system, value = next(iter(values.items()))
    if people:
        return f"{people}{short(system) if len(values) == 1 else 'all systems'} {habit.format(value)}."
    who = f"{short(system)} {verbs}" if len(values) == 1 else f"All systems {verb}"
    return f"{who} {habit.format(value)} of the sentences."


def _from_to(habit: findings.Habit) -> str:
    values = habit.values
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return f"between {habit.format(values[low])} ({short(low)}) and {habit.format(values[high])} ({short(high)})"


def _alarms(overview: Overview) -> Iterator[Sentence]:
    if overview.alarms:
        specs = list(dict.fromkeys(alarm.metric for alarm in overview.alarms))
        yield Sentence(f"Read {listed(specs)} with care: see the alarms.", "tricks")
    if overview.cautions:
        yield Sentence(f"The texts gave {count_noun(len(overview.cautions), 'warning')}.", "warnings")


# Metrics that stand for simplicity and for meaning, the best evidence first. All are stand-ins; the page says so.
SIMPLICITY = ("cefr", "cefr-published", "sle", "sari", "fkgl", "flesch", "ari", "coleman_liau", "smog", "gunning_fog")
MEANING = ("meaning", "bertscore", "nli", "bleu", "chrf", "tbleu", "levenshtein")


def axes(evaluation: ScoreTable) -> tuple[str, str] | None:
    """Return the metrics for simplicity and meaning, if there are both and several systems."""
    by_name: dict[str, str] = {}
    for spec, metric in evaluation.metrics.items():
        if metric.better != "neither":  # a level without a target has no better side
            by_name.setdefault(metric.name, spec)
    simplicity, meaning = (next((by_name[n] for n in names if n in by_name), "") for names in (SIMPLICITY, MEANING))
    return (simplicity, meaning) if simplicity and meaning and len(evaluation) > 1 else None


def front(evaluation: ScoreTable, simplicity: str, meaning: str) -> list[str]:
    """Return the systems that no other beats on one of two metrics and at least equals on the other."""
    specs = (simplicity, meaning)
    signs = np.array([-1.0 if evaluation.metrics[spec].better == "lower" else 1.0 for spec in specs])
    points = {system: signs * [float(scores[spec]) for spec in specs] for system, scores in evaluation.systems.items()}
    return [
        system
        for system, point in points.items()
        if not np.isnan(point).any()
        and not any((other >= point).all() and (other > point).any() for other in points.values())
    ]
