"""What a metric is: a table of additive counts and one formula over their sums."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from plainly.core.evalset import EvalSet

Floats = npt.NDArray[np.float64]
Needs = frozenset[Literal["source", "references"]]
Better = Literal["higher", "lower", "neither"]


@runtime_checkable
class Metric(Protocol):
    """A metric as a value: a frozen dataclass (with ``repr=False``) whose fields are its parameters.

    ``measure`` gives one row of numbers per item; rows of any items may be added up. ``score`` is a formula over
    summed rows, vectorised over leading axes, so that corpus scores, segment scores and bootstrap draws are one call.
    """

    name: ClassVar[str]
    needs: ClassVar[Needs]
    better: ClassVar[Better]
    outputs: ClassVar[tuple[str, ...]]

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        """One row per item, shape (n, k); rows add up."""
        ...

    def score(self, totals: Floats) -> Floats:
        """From summed rows (..., k) to the named outputs (..., len(outputs)); undefined is NaN."""
        ...

    def __repr__(self) -> str:
        return spec(self)


def suited(metric: Metric, texts: Any) -> Metric:
    """The metric as a set or corpus needs it: one that aims at something (``for_set``) takes from its ``columns`` what
    that is."""
    choose = getattr(metric, "for_set", None)
    return metric if choose is None else choose(texts.columns)


def spec(metric: Metric, *, full: bool = False) -> str:
    """The text that names a metric: ``sari(variant=hf)``. Parameters at their default are left out unless ``full``."""
    if not dataclasses.is_dataclass(metric):  # somebody's own object, with no parameters that we know of
        return metric.name
    shown = [
        f"{field.name}={_text(getattr(metric, field.name))}"
        for field in dataclasses.fields(metric)
        if field.init and (full or getattr(metric, field.name) != field.default)
    ]
    return f"{metric.name}({','.join(shown)})" if shown else metric.name


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
