"""What cheap tricks on the outputs would gain, by plainly.questions.audit on a part of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from plainly.progress import Progress, unseen
from plainly.sampling import Sampling
from plainly.scoring.scores import Evaluation

# Tricks are tried on this many items, spread over the set: a slow metric must not make the reader wait.
MOST_TRIED = 100
TRICKS = ("random-period", "random-the", "replace-longest", "random-period+replace-longest")


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


def tricks(evaluation: Evaluation, progress: Progress = unseen) -> Tricks:
    """Tricks of the literature, on the outputs of the best, the middle and the worst system."""
    from plainly.questions.audit import audit

    directed = [spec for spec, metric in evaluation.metrics.items() if metric.better != "neither"]
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
