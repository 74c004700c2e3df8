"""Metrics that people bring: anything with ``measure`` and ``score`` is made into a metric, with sensible defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, cast

import numpy as np

from plainly import registry
from plainly.evalset import EvalSet
from plainly.protocol import Floats, Metric, Needs

_STATED = ("name", "needs", "better", "outputs")


def as_metric(given: str | Metric | object) -> Metric:
    """The metric that a spec names or that an object is. What the object does not state is assumed: higher is better,
    it needs nothing but outputs, and it gives one number."""
    found = registry.metric(cast("str | Metric", given))
    if is_dataclass(found) and all(hasattr(found, attribute) for attribute in _STATED):
        return found
    return cast(Metric, OwnMetric(found))


@dataclass(frozen=True, init=False, repr=False)
class OwnMetric:
    """A plain object in a metric's clothes."""

    def __init__(self, inner: Any) -> None:
        name = str(getattr(inner, "name", type(inner).__name__.lower()))
        stated: dict[str, object] = {
            "inner": inner,
            "name": name,
            "needs": frozenset(getattr(inner, "needs", Needs())),
            "better": getattr(inner, "better", "higher"),
            "outputs": tuple(getattr(inner, "outputs", (name,))),
        }
        for attribute, value in stated.items():
            object.__setattr__(self, attribute, value)

    def __repr__(self) -> str:
        return cast(str, self.name)  # type: ignore[attr-defined]

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = np.asarray(self.inner.measure(evalset, outputs), dtype=np.float64)  # type: ignore[attr-defined]
        return rows[:, None] if rows.ndim == 1 else rows

    def score(self, totals: Floats) -> Floats:
        scores = np.asarray(self.inner.score(totals), dtype=np.float64)  # type: ignore[attr-defined]
        return scores[..., None] if scores.ndim < totals.ndim else scores
