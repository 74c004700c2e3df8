"""Sets, outputs and metrics by name, from Python; and for one more version, what was public under another name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plainly import registry
from plainly.arguments import public
from plainly.evalset import EvalSet
from plainly.protocol import Metric

if TYPE_CHECKING:
    import altair

    from plainly.pages import Report
    from plainly.scoring.scores import Evaluation, SystemScores


@public
def load(name: str) -> EvalSet:
    """A named evaluation set, ``"asset/test"``; fetched at first use. See ``plainly data list``."""
    from plainly import data

    return data.load(name)


@public
def systems(name: str) -> Mapping[str, tuple[str, ...]]:
    """The named outputs of a named set, by system, read when asked for: ``systems("asset/test")["ACCESS"]``."""
    from plainly import data

    return _Outputs(name, data.systems(name))


@public
def metric(spec: str | Metric) -> Metric:
    """A metric as a value: ``metric("sari(variant=hf)")``."""
    return registry.metric(spec)


def metric_names() -> tuple[str, ...]:
    """The names of all metrics; from the next version on ``plainly.registry.names()``."""
    _renamed("metric_names()", "plainly.registry.names()")
    return registry.names()


def make_report(
    evaluation: Evaluation | SystemScores, *, evalset: Any = None, outputs: Any = None, **options: Any
) -> Report:
    """A report on scores; from the next version on ``plainly.report(evaluation, …)``, which may have its texts."""
    from plainly.pages import report

    _renamed("make_report()", "plainly.report()")
    texts = {} if evalset is None or outputs is None else {"evalset": evalset, "outputs": outputs}
    return report(evaluation, **texts, **options)


def plot(result: Evaluation | SystemScores, metric: str | None = None) -> altair.TopLevelMixin:
    """Scores by one metric as a chart; from the next version on ``plainly.pages.plot``."""
    from plainly.pages import plot

    _renamed("plot()", "plainly.pages.plot()")
    return plot(result, metric)


class _Outputs(Mapping[str, tuple[str, ...]]):
    def __init__(self, name: str, systems: tuple[str, ...]) -> None:
        self._name, self._systems = name, systems

    def __getitem__(self, system: str) -> tuple[str, ...]:
        from plainly import data

        return data.outputs(self._name, system)

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"plainly.{old} goes away in the next version; use {new}.", FutureWarning, stacklevel=3)
