"""Simpler, or closer in meaning? Which metrics stand for the two, and whom no other system beats on both."""

import math
from dataclasses import dataclass

from plainly.scoring.scores import Evaluation

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
