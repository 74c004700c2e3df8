"""The report in sentences: what a colleague would say who has read all of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from plainly.pages.material import Habit, Material
from plainly.pages.tradeoff import axes, pareto
from plainly.pages.words import counted, listed, number, short


@dataclass(frozen=True)
class Sentence:
    """One thing to know, and the part of the page that shows it."""

    text: str
    section: str = ""


def sentences(material: Material) -> list[Sentence]:
    """The most important first."""
    found = [
        *_scores(material),
        *_disagreement(material),
        *_tradeoff(material),
        *_habits(material),
        *_alarms(material),
    ]
    return [Sentence(each.text.replace(" %", "\u00a0%"), each.section) for each in found]


def scope(material: Material) -> str:
    """What was evaluated, in a line."""
    counts = material.evalset.reference_counts
    parts = [counted(len(material.systems), "system"), counted(material.evaluation.n, "item")]
    if material.evalset.references:
        low, high = int(counts.min()), int(counts.max())
        parts.append(f"{counted(high, 'reference')} each" if low == high else f"{low} to {high} references each")
    parts.append(counted(len(material.specs), "metric"))
    return ", ".join(parts)


def _scores(material: Material) -> Iterator[Sentence]:
    if len(material.systems) == 1:
        system = material.systems[0]
        shown = [
            f"{spec} {_with_interval(material, system, spec)}"
            for spec in material.specs
            if not math.isnan(material.value(system, spec))
        ]
        yield Sentence(
            f"{short(system)} scores {listed(shown)}. A single system can only be judged beside another.", "scores"
        )
        return
    for spec in material.specs:
        if material.metric(spec).better == "neither":
            continue
        ranked = material.ranking(spec)
        best = ranked[0]
        if math.isnan(material.value(best, spec)):
            yield Sentence(f"{spec} is undefined for these outputs.", "scores")
            continue
        tied = [short(system) for system in ranked if material.standing(spec, system) == "tied"]
        text = f"By {spec}, {short(best)} scores best: {_with_interval(material, best, spec)}."
        if tied:
            text += f" {listed(tied)} cannot be told from it."
        elif spec in material.comparisons:
            text += f" It beats all {len(ranked) - 1} others." if len(ranked) > 2 else f" It beats {short(ranked[1])}."
        yield Sentence(text, "scores")


def _with_interval(material: Material, system: str, spec: str) -> str:
    estimate = material.estimate(system, spec)
    if estimate is None or math.isnan(estimate.low):
        return number(material.value(system, spec))
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def _disagreement(material: Material) -> Iterator[Sentence]:
    directed = [spec for spec in material.specs if material.metric(spec).better != "neither"]
    if len(directed) < 2 or len(material.systems) < 2:
        return
    first = {spec: material.ranking(spec)[0] for spec in directed}
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


def _tradeoff(material: Material) -> Iterator[Sentence]:
    chosen = axes(material)
    if chosen is None or len(material.systems) < 3:
        return
    front = pareto(material, *chosen)
    if not front:
        return
    simplicity, meaning = chosen
    yield Sentence(
        f"With {simplicity.spec} for simplicity and {meaning.spec} for meaning, no system is better on both than "
        f"{listed([short(system) for system in front])}.",
        "tradeoff",
    )


def _habits(material: Material) -> Iterator[Sentence]:
    habits = {habit.key: habit for habit in material.habits}
    parts = [
        part
        for key, verb in (("split", "split"), ("copied", "copy"))
        if key in habits and (part := _beside(habits[key], verb))
    ]
    if parts:
        yield Sentence(" ".join(parts), "habits")
    length = habits.get("compression")
    if length is not None and length.people is not None and len(length.systems) > 1:
        low, high = (
            min(length.systems, key=length.systems.__getitem__),
            max(length.systems, key=length.systems.__getitem__),
        )
        yield Sentence(
            f"People write {length.people:.2f} of the source's length; systems between {length.systems[low]:.2f} "
            f"({short(low)}) and {length.systems[high]:.2f} ({short(high)}).",
            "habits",
        )


def _beside(habit: Habit, verb: str) -> str:
    values = {system: value for system, value in habit.systems.items() if not math.isnan(value)}
    if not values:
        return ""
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    people = f"People {verb} {habit.people:.0f} % of the sentences; " if habit.people is not None else ""
    if low == high or len(values) == 1:
        return f"{people}{short(low)} {values[low]:.0f} %."
    start = "systems" if people else f"Systems {verb}"
    return f"{people}{start} between {values[low]:.0f} % ({short(low)}) and {values[high]:.0f} % ({short(high)})."


def _alarms(material: Material) -> Iterator[Sentence]:
    if material.alarms:
        specs = list(dict.fromkeys(alarm.metric for alarm in material.alarms))
        yield Sentence(f"Read {listed(specs)} with care: see the alarms.", "tricks")
    if material.findings:
        yield Sentence(f"The texts gave {counted(len(material.findings), 'warning')}.", "warnings")
