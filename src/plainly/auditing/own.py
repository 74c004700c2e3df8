"""Metrics that people bring: anything with ``measure`` and ``score`` is made into a metric, with sensible defaults."""

from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any, cast

import numpy as np

from plainly.core import registry
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric

_STATED = ("name", "needs", "better", "outputs")


def as_metric(spec: str | Metric | object) -> Metric:
    """The metric that a spec names or that an object is. What the object does not state is assumed: higher is better,
    it needs nothing but outputs, and it gives one number."""
    metric = registry.metric(cast("str | Metric", spec))
    if is_dataclass(metric) and all(hasattr(metric, attribute) for attribute in _STATED):
        return metric
    return cast(Metric, OwnMetric(metric))


class OwnMetric:
    """An object with ``measure`` and ``score`` as a metric: with everything stated that a metric states."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name = str(getattr(inner, "name", type(inner).__name__.lower()))
        self.needs = frozenset(getattr(inner, "needs", ()))
        self.better = getattr(inner, "better", "higher")
        self.outputs = tuple(getattr(inner, "outputs", (self.name,)))

    def __repr__(self) -> str:
        return self.name

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = np.asarray(self.inner.measure(evalset, outputs), dtype=np.float64)
        return rows[:, None] if rows.ndim == 1 else rows

    def score(self, totals: Floats) -> Floats:
        scores = np.asarray(self.inner.score(totals), dtype=np.float64)
        return scores[..., None] if scores.ndim < totals.ndim else scores
