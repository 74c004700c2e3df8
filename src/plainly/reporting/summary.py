"""The report in sentences: what a colleague would say who has read all of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plainly.core.formatting import counted, interval, listed, short
from plainly.reporting.findings import Habit
from plainly.scoring.sanity import against_itself
from plainly.scoring.scores import Evaluation

if TYPE_CHECKING:
    from plainly.reporting.overview import Overview


@dataclass(frozen=True)
class Sentence:
    """One thing to know, and the part of the page that shows it."""

    text: str
    section: str = ""


def sentences(overview: Overview) -> list[Sentence]:
    """The most important first."""
    parts = (_scores, _disagreement, _tradeoff, _habits, _alarms)
    said = [sentence for part in parts for sentence in part(overview)]
    return [Sentence(sentence.text.replace(" %", "\u00a0%"), sentence.section) for sentence in said]


def lead(said: list[Sentence]) -> list[Sentence]:
    """Three of them: who is best, whether all agree on that, and what to distrust; others where one of these lacks."""
    scores = [sentence for sentence in said if sentence.section == "scores"]
    agreement = [sentence for sentence in said if sentence.section == "tradeoff"]
    doubts = [sentence for sentence in said if sentence.section in ("tricks", "warnings")]
    first = [*scores[:1], *agreement[:1], *doubts[:1]]
    more = [sentence for sentence in said if sentence not in first][: 3 - len(first)]
    return [sentence for sentence in said if sentence in first or sentence in more]


def scope(overview: Overview) -> str:
    """What was evaluated, in a line."""
    counts = overview.evalset.reference_counts
    parts = [counted(len(overview.systems), "system"), counted(overview.evaluation.n, "item")]
    if overview.evalset.references:
        low, high = int(counts.min()), int(counts.max())
        parts.append(f"{counted(high, 'reference')} each" if low == high else f"{low} to {high} references each")
    parts.append(counted(len(overview.specs), "metric"))
    return ", ".join(parts)


def _scores(overview: Overview) -> Iterator[Sentence]:
    if len(overview.systems) == 1:
        system = overview.systems[0]
        shown = [
            f"{spec} {_with_interval(overview, system, spec)}"
            for spec in overview.specs
            if not math.isnan(overview.value(system, spec))
        ]
        yield Sentence(
            f"{short(system)} scores {listed(shown)}. A single system can only be judged beside another.", "scores"
        )
        return
    for spec in overview.specs:
        if overview.metric(spec).better != "neither":
            yield Sentence(verdict(overview, spec), "scores")


def verdict(overview: Overview, spec: str) -> str:
    """Who is best by a metric, and is it real?"""
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
    """Who cannot be told from the best, or that it beats them all."""
    if overview.comparisons is None:
        return ""
    others = overview.evaluation.ranking(spec)[1:]
    undefined = [system for system in others if math.isnan(overview.value(system, spec))]
    beaten = [system for system in others if overview.comparisons.beats(spec, best, system)]
    untold = [system for system in others if system not in (*undefined, *beaten)]
    # With more than a few names, or long ones, a sentence is not read: the picture has them.
    most = max(2, min(5, 90 // max(map(len, map(short, untold)), default=1)))
    text = f" {listed(list(map(short, untold)), most=most)} cannot be told from it." if untold else ""
    if not untold and beaten:
        text = f" It beats {f'all {len(beaten)} others' if len(beaten) > 1 else short(beaten[0])}."
    return text + (f" It is undefined for {listed(list(map(short, undefined)))}." if undefined else "")


def _with_interval(overview: Overview, system: str, spec: str) -> str:
    estimate = overview.estimate(system, spec)
    low, high = (estimate.low, estimate.high) if estimate is not None else (None, None)
    return interval(overview.value(system, spec), low, high, page=True)


def _disagreement(overview: Overview) -> Iterator[Sentence]:
    directed = [spec for spec in overview.specs if overview.metric(spec).better != "neither"]
    if len(directed) < 2 or len(overview.systems) < 2:
        return
    first = {spec: overview.evaluation.ranking(spec)[0] for spec in directed}
    if len(set(first.values())) > 1:
        by: dict[str, list[str]] = {}
        for spec, system in first.items():
            by.setdefault(system, []).append(spec)
        shown = [f"{short(system)} leads by {listed(specs)}" for system, specs in by.items()]
        yield Sentence(
            f"The metrics do not agree on who is best: {listed(shown)}. They measure different things.", "tradeoff"
        )
    else:
        yield Sentence(f"All {len(directed)} metrics put {short(next(iter(first.values())))} first.", "scores")


def _tradeoff(overview: Overview) -> Iterator[Sentence]:
    chosen = axes(overview.evaluation)
    if chosen is None or len(overview.systems) < 3:
        return
    simplicity, meaning = chosen
    unbeaten = front(overview.evaluation, simplicity, meaning)
    if unbeaten:
        yield Sentence(
            f"With {simplicity.spec} for simplicity and {meaning.spec} for meaning, no system is better on both than "
            f"{listed(list(map(short, unbeaten)))}.",
            "tradeoff",
        )


def _habits(overview: Overview) -> Iterator[Sentence]:
    habits = {habit.key: habit for habit in overview.habits if habit.defined}
    shares = [
        _share(habits[key], verb, verbs)
        for key, verb, verbs in (("split", "split", "splits"), ("copied", "copy", "copies"))
        if key in habits
    ]
    if shares:
        yield Sentence(" ".join(shares), "habits")
    length = habits.get("compression")
    if length is not None and not math.isnan(length.people) and len(length.systems) > 1:
        people = length.shown(length.people)
        yield Sentence(f"People write {people} of the source's length; systems {_from_to(length)}.", "habits")


def _share(habit: Habit, verb: str, verbs: str) -> str:
    """How many sentences are split, or copied: by people, by systems."""
    values = habit.defined
    people = "" if math.isnan(habit.people) else f"People {verb} {habit.shown(habit.people)} of the sentences; "
    if len(set(values.values())) > 1:
        return f"{people}{'systems' if people else f'Systems {verb}'} {_from_to(habit)}."
    system, value = next(iter(values.items()))
    if people:
        return f"{people}{short(system) if len(values) == 1 else 'all systems'} {habit.shown(value)}."
    who = f"{short(system)} {verbs}" if len(values) == 1 else f"All systems {verb}"
    return f"{who} {habit.shown(value)} of the sentences."


def _from_to(habit: Habit) -> str:
    values = habit.defined
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return f"between {habit.shown(values[low])} ({short(low)}) and {habit.shown(values[high])} ({short(high)})"


def _alarms(overview: Overview) -> Iterator[Sentence]:
    if overview.alarms:
        specs = list(dict.fromkeys(alarm.metric for alarm in overview.alarms))
        yield Sentence(f"Read {listed(specs)} with care: see the alarms.", "tricks")
    if overview.cautions:
        yield Sentence(f"The texts gave {counted(len(overview.cautions), 'warning')}.", "warnings")


# What stands for simplicity and for meaning, the best evidence first. All are stand-ins, and the page says so.
SIMPLICITY = ("cefr", "cefr-published", "sle", "sari", "fkgl", "flesch", "ari", "coleman_liau", "smog", "gunning_fog")
MEANING = ("meaning", "bertscore", "nli", "bleu", "chrf", "tbleu", "levenshtein")


@dataclass(frozen=True)
class Axis:
    """A metric that stands for a quality; ``sign`` is −1 where lower is better."""

    spec: str
    sign: float


def axes(evaluation: Evaluation) -> tuple[Axis, Axis] | None:
    """The metrics for simplicity and meaning, where both are there and there are systems to compare."""
    simplicity, meaning = (_first(evaluation, names) for names in (SIMPLICITY, MEANING))
    return (simplicity, meaning) if simplicity and meaning and len(evaluation) > 1 else None


def front(evaluation: Evaluation, simplicity: Axis, meaning: Axis) -> list[str]:
    """Systems that no other beats or equals on one axis while beating it on the other."""
    points = {
        system: [axis.sign * float(scores[axis.spec]) for axis in (simplicity, meaning)]
        for system, scores in evaluation.systems.items()
    }
    defined = {system: point for system, point in points.items() if not any(map(math.isnan, point))}
    return [
        system
        for system, (s, m) in defined.items()
        if not any(os >= s and om >= m and (os > s or om > m) for os, om in defined.values())
    ]


def _first(evaluation: Evaluation, names: tuple[str, ...]) -> Axis | None:
    for name in names:
        for spec, metric in evaluation.metrics.items():
            if metric.name == name and metric.better != "neither":  # a level without a target says nothing
                return Axis(spec, -1.0 if metric.better == "lower" else 1.0)
    return None
