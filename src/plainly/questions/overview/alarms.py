"""Reasons to distrust a score on these outputs, seen from what systems do beside what people do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plainly.protocol import Metric
from plainly.questions.overview.habits import Habit
from plainly.render.names import short
from plainly.render.numbers import listed

READABILITY = frozenset({"fkgl", "flesch", "ari", "coleman_liau", "smog", "gunning_fog"})
OVERLAP = frozenset({"bleu", "chrf", "ibleu", "tbleu"})
# Where these are crossed an alarm is given. They are choices; the numbers in the message are measured.
MANY_COPIES = 25.0
FAR_SHORTER = 0.15
MORE_SPLITS = 10.0


@dataclass(frozen=True)
class Alarm:
    """A reason to distrust a score: a metric, the systems it concerns, and why, in a sentence with its numbers."""

    metric: str
    systems: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class _Rule:
    """When a habit makes a metric misleading: for which metrics, how far from people, and what to say about it."""

    metrics: frozenset[str]
    habit: str
    crossed: Callable[[float, float], bool]  # what a system does, what people do (NaN: not known)
    verbs: tuple[str, str]
    message: str


_RULES = (
    _Rule(
        OVERLAP,
        "copied",
        lambda system, people: system >= MANY_COPIES,
        ("copies", "copy"),
        "a quarter of the sources or more. {spec} rewards copies.",
    ),
    _Rule(
        READABILITY,
        "split",
        lambda system, people: system > people + MORE_SPLITS,
        ("splits", "split"),
        "far more sentences than people do ({people}). {spec} improves with every full stop, whether the split is "
        "sound or not.",
    ),
    _Rule(
        READABILITY,
        "compression",
        lambda system, people: system < people - FAR_SHORTER,
        ("is", "are"),
        "much shorter beside the source than what people write ({people}). {spec} does not see what was left out.",
    ),
    _Rule(
        frozenset({"sari"}),
        "compression",
        lambda system, people: system < people - FAR_SHORTER,
        ("deletes", "delete"),
        "much more than people do (length {people}). Deletions count a third of {spec}, and those that lose meaning "
        "count as the others do.",
    ),
)


def alarms(metrics: Mapping[str, Metric], habits: Sequence[Habit]) -> tuple[Alarm, ...]:
    """The alarms for metrics, by spec."""
    return tuple(alarm for spec, metric in metrics.items() for alarm in _of_metric(spec, metric, habits))


def _of_metric(spec: str, metric: Metric, habits: Sequence[Habit]) -> Iterator[Alarm]:
    for rule in _RULES:
        habit = next((habit for habit in habits if habit.key == rule.habit), None)
        if habit is None or metric.name not in rule.metrics:
            continue
        systems = [system for system, value in habit.systems.items() if rule.crossed(value, habit.people)]
        if systems:
            names = listed([f"{short(system)} ({habit.shown(habit.systems[system])})" for system in systems])
            message = rule.message.format(spec=spec, people=habit.shown(habit.people))
            yield Alarm(spec, tuple(systems), f"{names} {rule.verbs[len(systems) > 1]} {message}")
