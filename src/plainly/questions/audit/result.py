"""An audit from beginning to end: attacks on systems, curves of metrics, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from plainly.evalset import EvalSet
from plainly.protocol import Metric
from plainly.questions.audit import grids, prose
from plainly.questions.audit.attack import Attack
from plainly.questions.audit.catalogue import chosen
from plainly.questions.audit.sweep import LEVELS, Progress, Sweep, sweep
from plainly.questions.audit.verdict import Verdict, judge_all
from plainly.render import tables


@dataclass(frozen=True)
class Audit:
    """A sweep and the verdicts that follow from it."""

    sweep: Sweep

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """By metric, as it was asked for."""
        return {verdict.metric: verdict for verdict in judge_all(self.sweep)}

    @cached_property
    def paragraphs(self) -> dict[str, str]:
        """By metric: the verdict in words."""
        return {spec: prose.paragraph(verdict) for spec, verdict in self.verdicts.items()}

    def __repr__(self) -> str:
        return "\n\n".join(
            [
                tables.plain(grids.gameability(self.sweep, list(self.verdicts.values()))),
                *self.paragraphs.values(),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: schema plainly.audit/1."""
        plan = self.sweep.plan
        return {
            "schema": "plainly.audit/1",
            "test_set": plan.evalset.name or None,
            "items": len(plan.evalset),
            "trials": plan.trials,
            "seed": plan.seed,
            "levels": [0.0, *plan.levels],
            "attacks": [
                {"attack": attack.name, "expected": attack.expected, "what": attack.what} for attack in plan.attacks
            ],
            "metrics": [self._metric(spec) for spec in plan.metrics],
            "curves": [
                {
                    "system": system,
                    "attack": attack,
                    "metric": spec,
                    "touched": self.sweep.touched[system, attack],
                    "outputs": {
                        name: {
                            "mean": curve.mean[:, place].tolist(),
                            "low": curve.low[:, place].tolist(),
                            "high": curve.high[:, place].tolist(),
                        }
                        for place, name in enumerate(plan.metrics[spec].outputs)
                    },
                }
                for (system, attack, spec), curve in self.sweep.curves.items()
            ],
            "warnings": [],
        }

    def _metric(self, spec: str) -> dict[str, Any]:
        verdict = self.verdicts[spec]
        cheapest = verdict.cheapest
        return {
            "metric": spec,
            "better": verdict.better,
            "signature": self.sweep.signatures[spec],
            "scores": verdict.scores,
            "ranking": verdict.ranking,
            "spread": verdict.spread,
            "gameability": verdict.gameability,
            "cheapest": vars(cheapest) if cheapest is not None else None,
            "effects": [{**vars(effect), "fooled": effect.fooled} for effect in verdict.effects],
            "flips": [vars(flip) for flip in verdict.flips],
            "verdict": self.paragraphs[spec],
        }


def audit(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    metrics: Sequence[str | Metric | object],
    *,
    attacks: Sequence[str | Attack] = ("all",),
    levels: Sequence[float] = LEVELS,
    trials: int = 100,
    seed: int = 12345,
    processes: int = 1,
    progress: Progress | None = None,
) -> Audit:
    """Find out whether metrics can be fooled on these systems. ``metrics`` are specs, metrics, or objects with
    ``measure`` and ``score``; ``attacks`` are names, ``all``, ``paper``, or attacks of your own."""
    return Audit(
        sweep(
            evalset,
            outputs,
            metrics,
            chosen(attacks, evalset),
            levels=levels,
            trials=trials,
            seed=seed,
            processes=processes,
            progress=progress,
        )
    )
