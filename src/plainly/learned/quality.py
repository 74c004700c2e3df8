"""Quality: is the output fluent, and faithful, and simpler? Read by the judge from source and output, no references.

The parts are multiplied, so none can buy off another: a refusal is fluent and simple and keeps nothing, a copy is
fluent and faithful and no simpler, and both are far from good.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats
from plainly.learned import encoder, judge
from plainly.learned.reading import ReadingMetric, rows
from plainly.learned.sle import gains


@dataclass(frozen=True)
class Combination:
    """How the parts become one: constants that come with a model (``combination`` in its model.json).

    Simplicity is what the judge's head says, mixed with the gain of ``sle`` brought to 0–1 by a logistic curve;
    quality is the weighted geometric mean of the parts.
    """

    powers: Mapping[str, float] = field(
        default_factory=lambda: {"overall": 1.0, "fluency": 1.0, "meaning": 1.0, "simplicity": 1.0}
    )
    gain: float = 0.5  # how much of simplicity is the gain, and not the head
    middle: float = 0.0  # the gain that counts one half
    width: float = 0.5  # so much more gain, and the odds are e times as good
    sle: str = encoder.SHIPPED

    @classmethod
    def of(cls, facts: Mapping[str, Any] | None) -> "Combination":
        """What a model's facts say; the defaults where they say nothing."""
        return cls(**(facts or {}).get("combination", {}))

    def simplicity(self, head: Floats, gains: Floats) -> Floats:
        """Simplicity from 0 to 1, by the head and by the gain in levels."""
        if not self.gain:
            return head
        return (1 - self.gain) * head + self.gain / (1 + np.exp((self.middle - gains) / self.width))

    def quality(self, parts: Mapping[str, Floats]) -> Floats:
        """Quality from 0 to 1: 0 where a part is 0, 1 where all are 1, and never more for less of any part."""
        weights = {name: power for name, power in self.powers.items() if power}
        product = np.prod([parts[name] ** power for name, power in weights.items()], axis=0)
        total: Floats = product ** (1 / sum(weights.values()))
        return total


@dataclass(frozen=True, repr=False)
class Quality(ReadingMetric):
    """Quality of a simplification without references, 0–100: fluent and faithful and simpler, beside its parts."""

    model: str = encoder.JUDGE

    name: ClassVar[str] = "quality"
    outputs: ClassVar[tuple[str, ...]] = ("quality", "fluency", "meaning", "simplicity")
    shown: ClassVar[tuple[str, ...]] = outputs
    moved: ClassVar[Mapping[str, str]] = {"lowercase": "easse-quality", "sentences": "easse-quality"}

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        model = judge.load(self.model)
        combination = Combination.of(model.facts)
        readings = judge.judged(model, evalset, outputs)
        parts = {head: readings.values[:, model.heads.index(head)] for head in judge.HEADS}
        gained = gains(combination.sle, evalset, outputs) if combination.gain else np.zeros(len(outputs))
        simplicity = combination.simplicity(parts["simplicity"], gained)
        parts["simplicity"] = np.where(parts["simplicity"] == 0, 0.0, simplicity)  # nothing written is not simple
        columns = [combination.quality(parts), *(parts[name] for name in self.outputs[1:])]
        return rows(*(100 * column for column in columns), pieces=readings.pieces)


@dataclass(frozen=True, repr=False)
class Fluency(ReadingMetric):
    """Fluency of the output as the judge reads it beside its source, 0–100: is it well-formed English?"""

    model: str = encoder.JUDGE

    name: ClassVar[str] = "fluency"
    outputs: ClassVar[tuple[str, ...]] = ("fluency",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        model = judge.load(self.model)
        readings = judge.judged(model, evalset, outputs)
        return rows(100 * readings.values[:, model.heads.index("fluency")], pieces=readings.pieces)
