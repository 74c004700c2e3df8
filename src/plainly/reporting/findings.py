"""What an evaluation shows beside its scores: what systems and people do, how scores spread over the items, and
reasons to distrust a score, such as what cheap tricks on outputs would gain.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from plainly.auditing import audit
from plainly.core.evalset import EvalSet
from plainly.core.files import read_shipped
from plainly.core.formatting import counted, listed, number, percent, short
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.sampling import Sampling
from plainly.scoring.evaluate import evaluate
from plainly.scoring.scores import Evaluation

# Key, title, unit, metric, output.
HABITS = (
    ("split", "Sentences split", "% of outputs", "splits", "split"),
    ("copied", "Copied unchanged", "% of outputs", "edits", "copies"),
    ("compression", "Length beside the source", "output / source", "compression", "compression"),
    ("added", "Words added", "% of words", "edits", "added_of_output"),
    ("deleted", "Words deleted", "% of words", "edits", "deleted_of_source"),
    ("sentence", "Words a sentence", "words", "length", "words_per_sentence"),
)
# People's habits are measured on at most this many references, spread over the set.
MOST_REFERENCES = 5000


@dataclass(frozen=True)
class Habit:
    """One thing that systems do; what people do beside it, and from which to which of them, where that is known."""

    key: str
    title: str
    unit: str
    systems: Mapping[str, float]
    people: float = math.nan
    people_range: tuple[float, float] | None = None

    @property
    def is_share(self) -> bool:
        return self.unit.startswith("%")

    @property
    def defined(self) -> dict[str, float]:
        """The systems of which it can be said."""
        return {system: value for system, value in self.systems.items() if not math.isnan(value)}

    def shown(self, value: float) -> str:
        """A value of this habit, in words."""
        return f"{number(value, 0, page=True)} %" if self.is_share else number(value, page=True)


def habits(evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> tuple[Habit, ...]:
    """Every habit, of systems and of people."""
    metrics = list(dict.fromkeys(metric for *_, metric, _ in HABITS))
    of_systems = evaluate(evalset, outputs, metrics, sampling=None)
    places, repeated, texts = _flat_references(evalset)
    of_people = evaluate(repeated, {"people": texts}, metrics, sampling=None)["people"] if places else None
    numbers, counts = np.array([number for _, number in places]), evalset.reference_counts
    writers = int(counts.min()) if len(counts) and counts.min() == counts.max() else 0
    measured = []
    for key, title, unit, metric, output in HABITS:
        scale = 100.0 if unit.startswith("%") else 1.0
        systems = {system: scale * of_systems[system][metric].corpus[output] for system in outputs}
        if of_people is None:
            measured.append(Habit(key, title, unit, systems))
            continue
        written = of_people[metric]
        # The first reference of every item, the second, …: sets often have one writer for each.
        parts = [scale * written.subset(numbers == writer).corpus[output] for writer in range(writers)]
        spread = (min(parts), max(parts)) if writers > 1 else None
        measured.append(Habit(key, title, unit, systems, scale * written.corpus[output], spread))
    return tuple(measured)


def _flat_references(evalset: EvalSet) -> tuple[list[tuple[int, int]], EvalSet, list[str]]:
    """References as if a system had written them: (item, number) of each, the set that repeats sources, the texts."""
    places = [(item, number) for item, row in enumerate(evalset.references) for number in range(len(row))]
    if len(places) > MOST_REFERENCES:
        keep = set(np.linspace(0, len(evalset) - 1, max(1, MOST_REFERENCES * len(evalset) // len(places))).astype(int))
        places = [place for place in places if place[0] in keep]
    repeated = EvalSet.of([evalset.sources[item] for item, _ in places]) if places else EvalSet.of([])
    return places, repeated, [evalset.references[item][number] for item, number in places]


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LENGTH_BINS = 4
# With fewer items than these a distribution, and groups of items by length, show nothing.
FEWEST_ITEMS, FEWEST_IN_BINS = 5, 40

Five = tuple[float, ...]


@dataclass(frozen=True)
class LengthScores:
    """Scores on items with short, longer and long sources: by metric and system, a value for each bin."""

    bins: tuple[str, ...]  # words in the source: "3–12", …
    scores: Mapping[str, Mapping[str, tuple[float, ...]]]


def item_spreads(evaluation: Evaluation) -> dict[str, dict[str, Five]]:
    """By metric and system, best first: five quantiles of the items' scores, for metrics whose scores do spread."""
    if evaluation.n < FEWEST_ITEMS:
        return {}
    spreads = {}
    for spec, metric in evaluation.metrics.items():
        of_systems: dict[str, Five] = {}
        for system in evaluation.ranking(spec):
            segments = evaluation[system][spec].segments[metric.outputs[0]]
            defined = segments[np.isfinite(segments)]
            if len(defined):
                of_systems[system] = tuple(map(float, np.quantile(defined, QUANTILES)))
        # A yes or no an item is no distribution.
        decided = {five[2] for five in of_systems.values()} <= {0.0, 1.0}
        if not decided and any(five[0] != five[-1] for five in of_systems.values()):
            spreads[spec] = of_systems
    return spreads


def length_scores(evaluation: Evaluation) -> LengthScores | None:
    """Scores by length of the source, in groups of about equal size."""
    from plainly.text.words import words

    evalset = evaluation.evalset
    if not evalset.has_sources or len(evalset) < FEWEST_IN_BINS:
        return None
    lengths = np.array([len(words(source)) for source in evalset.sources], dtype=np.float64)
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, LENGTH_BINS + 1)))
    if len(edges) < 3:
        return None
    part = np.clip(np.searchsorted(edges, lengths, side="right") - 1, 0, len(edges) - 2)
    masks = [part == number for number in np.unique(part)]
    scores = {
        spec: {
            system: tuple(float(evaluation[system][spec].subset(mask)) for mask in masks)
            for system in evaluation.ranking(spec)
        }
        for spec in evaluation.specs
    }
    return LengthScores(tuple(f"{lengths[mask].min():.0f}–{lengths[mask].max():.0f}" for mask in masks), scores)


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
    return tuple(_Rule(**rule) for rule in read_shipped(__file__, "findings.toml")["rule"])


def alarms(metrics: Mapping[str, Metric], habits: Sequence[Habit]) -> tuple[Alarm, ...]:
    """The alarms for metrics, by spec."""
    by_key = {habit.key: habit for habit in habits}
    rung = []
    for spec, rule in product(metrics, _rules()):
        habit = by_key.get(rule.habit)
        if habit is None or metrics[spec].name not in rule.metrics:
            continue
        systems = [system for system, value in habit.systems.items() if rule.crossed(value, habit.people)]
        if systems:
            names = listed([f"{short(system)} ({habit.shown(habit.systems[system])})" for system in systems])
            message = rule.message.format(spec=spec, people=habit.shown(habit.people))
            rung.append(Alarm(spec, tuple(systems), f"{names} {rule.verbs[len(systems) > 1]} {message}"))
    return tuple(rung)


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
