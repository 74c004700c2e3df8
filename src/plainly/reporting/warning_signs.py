"""Reasons to distrust a score: what systems do beside what people do, and what cheap tricks on outputs would gain."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from plainly.auditing import audit
from plainly.core.evalset import EvalSet
from plainly.core.files import read_shipped
from plainly.core.formatting import counted, listed, percent, short
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.sampling import Sampling
from plainly.reporting.habits import Habit
from plainly.scoring.scores import Evaluation

# Tricks are tried on this many items, spread over the set: a slow metric must not make the reader wait.
MOST_TRIED = 100
TRICKS = ("random-period", "random-the", "replace-longest", "random-period+replace-longest")


@dataclass(frozen=True)
class Alarm:
    """A reason to distrust a score: a metric, the systems it concerns, and why, in a sentence with its numbers."""

    metric: str
    systems: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class _Rule:
    """When a habit makes a metric misleading: for which metrics, how far from people, and what to say about it."""

    metrics: tuple[str, ...]
    habit: str
    verbs: tuple[str, str]
    message: str
    at_least: float = math.nan
    above_people: float = math.nan
    below_people: float = math.nan

    def crossed(self, system: float, people: float) -> bool:
        """Whether a system does it too much; what is not known, of people or of the rule, is NaN and never crossed."""
        return system >= self.at_least or system > people + self.above_people or system < people - self.below_people


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(_Rule(**rule) for rule in read_shipped(__file__, "warning_signs.toml")["rule"])


def alarms(metrics: Mapping[str, Metric], habits: Sequence[Habit]) -> tuple[Alarm, ...]:
    """The alarms for metrics, by spec."""
    return tuple(alarm for spec, metric in metrics.items() for alarm in _of_metric(spec, metric, habits))


# A share of outputs that say word for word what a reference says; more is no simplification but a copy of the answer.
_EQUAL = 0.1
_FEWEST_EQUAL = 5


def from_references(evaluation: Evaluation) -> tuple[Alarm, ...]:
    """Systems whose outputs are, more often than chance allows, a reference of the same item."""
    evalset, shares = evaluation.evalset, {}
    if not evalset.references:
        return ()
    for system, texts in (evaluation.outputs or {}).items():
        same = [item for item in range(len(evalset)) if _is_reference(evalset, item, texts[item])]
        if len(same) >= max(_FEWEST_EQUAL, _EQUAL * len(evalset)):
            shares[system] = len(same) / len(evalset)
    if not shares:
        return ()
    who = listed([f"{short(system)} ({percent(share)})" for system, share in shares.items()])
    specs = [spec for spec, metric in evaluation.metrics.items() if "references" in metric.needs]
    verb = "writes" if len(shares) == 1 else "write"
    message = f"{who} {verb} word for word what a reference says. A high score of a copied answer is no victory."
    return tuple(Alarm(spec, tuple(shares), message) for spec in specs[:1])


def _is_reference(evalset: EvalSet, item: int, text: str) -> bool:
    words = text.split()
    if evalset.has_sources and words == evalset.sources[item].split():
        return False  # people leave sentences as they are, too
    return any(words == reference.split() for reference in evalset.references[item])


def undefined(evaluation: Evaluation) -> tuple[Alarm, ...]:
    """Systems for which a metric is undefined on some items, so that its number leaves them out."""
    alarms = []
    for spec in evaluation.measurable:
        counts = {name: scores.undefined for name, scores in evaluation.of_metric(spec).items() if scores.undefined}
        if counts:
            who = listed([f"{short(system)} ({counted(missing, 'item')})" for system, missing in counts.items()])
            message = (
                f"is undefined on items of {who}: the number is that of the others, and leaving items out moves it."
            )
            alarms.append(Alarm(spec, tuple(counts), message))
    return tuple(alarms)


def _of_metric(spec: str, metric: Metric, habits: Sequence[Habit]) -> Iterator[Alarm]:
    for rule in _rules():
        habit = next((habit for habit in habits if habit.key == rule.habit), None)
        if habit is None or metric.name not in rule.metrics:
            continue
        systems = [system for system, value in habit.systems.items() if rule.crossed(value, habit.people)]
        if systems:
            names = listed([f"{short(system)} ({habit.shown(habit.systems[system])})" for system in systems])
            message = rule.message.format(spec=spec, people=habit.shown(habit.people))
            yield Alarm(spec, tuple(systems), f"{names} {rule.verbs[len(systems) > 1]} {message}")


@dataclass(frozen=True)
class Gain:
    """What a trick does to a metric, in units of the distance between the worst and the best system."""

    metric: str
    trick: str
    what: str
    spreads: float
    fooled: bool


@dataclass(frozen=True)
class Tricks:
    """What tricks gain, and on whose outputs they were tried."""

    gains: tuple[Gain, ...] = ()
    systems: tuple[str, ...] = ()


def tricks(evaluation: Evaluation, progress: Progress = no_progress) -> Tricks:
    """Tricks of the literature, on the outputs of the best, the middle and the worst system."""
    directed = [spec for spec in evaluation.measurable if evaluation.metrics[spec].better != "neither"]
    if not directed or evaluation.outputs is None:
        return Tricks()
    ranked = evaluation.ranking(directed[0])
    systems = tuple(dict.fromkeys((ranked[0], ranked[len(ranked) // 2], ranked[-1])))
    n = len(evaluation.evalset)
    chosen = np.unique(np.linspace(0, n - 1, min(MOST_TRIED, n)).astype(int))
    result = audit(
        evalset=evaluation.evalset[chosen],
        outputs={system: [evaluation.outputs[system][item] for item in chosen] for system in systems},
        metrics=directed,
        attacks=TRICKS,
        levels=(1.0,),
        trials=1,
        seed=(evaluation.sampling or Sampling()).seed,
        progress=progress,
    )
    what = {attack.name: attack.what for attack in result.sweep.design.attacks}
    gains = [
        Gain(spec, effect.attack, what[effect.attack], effect.gain / _distance(evaluation, spec), effect.fooled)
        for spec, verdict in result.verdicts.items()
        for effect in verdict.effects
    ]
    return Tricks(tuple(gains), systems)


def _distance(evaluation: Evaluation, spec: str) -> float:
    """From the worst to the best of all systems; undefined where there is none."""
    values = [value for scores in evaluation.of_metric(spec).values() if not math.isnan(value := float(scores))]
    return (max(values) - min(values) if values else 0.0) or math.nan
