"""plainly from Python: lists in, scores out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from plainly import registry
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.protocol import Metric
from plainly.scoring.evaluate import Evaluation, SystemScores, evaluate
from plainly.stats.resample import Method

DEFAULT_METRICS = ("sari", "bleu", "fkgl")
DEFAULT_WITHOUT_REFERENCES = ("fkgl", "edits", "splits")


@overload
def score(
    *,
    outputs: Sequence[str],
    sources: Sequence[str] | None = ...,
    references: Sequence[Sequence[str]] | None = ...,
    evalset: EvalSet | None = ...,
    metrics: Sequence[str | Metric] | None = ...,
    groups: Sequence[str] | None = ...,
    ids: Sequence[str] | None = ...,
    intervals: bool = ...,
    level: float = ...,
    resamples: int = ...,
    method: Method = ...,
    seed: int = ...,
) -> SystemScores: ...
@overload
def score(
    *,
    outputs: Mapping[str, Sequence[str]],
    sources: Sequence[str] | None = ...,
    references: Sequence[Sequence[str]] | None = ...,
    evalset: EvalSet | None = ...,
    metrics: Sequence[str | Metric] | None = ...,
    groups: Sequence[str] | None = ...,
    ids: Sequence[str] | None = ...,
    intervals: bool = ...,
    level: float = ...,
    resamples: int = ...,
    method: Method = ...,
    seed: int = ...,
) -> Evaluation: ...
def score(
    *,
    outputs: Sequence[str] | Mapping[str, Sequence[str]],
    sources: Sequence[str] | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    metrics: Sequence[str | Metric] | None = None,
    groups: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    intervals: bool = True,
    level: float = 0.95,
    resamples: int = 1000,
    method: Method = "percentile",
    seed: int = 12345,
) -> SystemScores | Evaluation:
    """Score outputs against sources and references, or against an evaluation set (``plainly.load``).

    ``references`` has one entry for each item: all references of that item. Blank references are left out. With a
    mapping of several systems the result is by system, then by metric; with one list of outputs, by metric.
    """
    if isinstance(outputs, str):
        raise BadInput("outputs is a list of texts (or a mapping from system to such a list), not one text.")
    several = isinstance(outputs, Mapping)
    systems: Mapping[str, Sequence[str]] = outputs if isinstance(outputs, Mapping) else {"": outputs}
    if evalset is None:
        evalset = _evalset(systems, sources=sources, references=references, groups=groups, ids=ids)
    elif sources is not None or references is not None:
        raise BadInput("Give either an evaluation set or sources and references, not both.")
    if metrics is None:
        metrics = DEFAULT_METRICS if evalset.references else DEFAULT_WITHOUT_REFERENCES
    elif isinstance(metrics, str):
        metrics = registry.split_specs(metrics)
    found = evaluate(
        evalset,
        systems,
        metrics,
        intervals=intervals,
        level=level,
        resamples=resamples,
        method=method,
        seed=seed,
    )
    return found if several else found[""]


def load(name: str) -> EvalSet:
    """A named evaluation set, ``"asset/test"``; fetched at first use. See ``plainly data list``."""
    from plainly import data

    return data.load(name)


def systems(name: str) -> Mapping[str, tuple[str, ...]]:
    """The named outputs of a named set, by system, read when asked for: ``systems("asset/test")["ACCESS"]``."""
    from plainly import data

    return _Outputs(name, data.systems(name))


def metric(spec: str | Metric) -> Metric:
    """A metric as a value: ``metric("sari(variant=hf)")``."""
    return registry.metric(spec)


def metric_names() -> tuple[str, ...]:
    """The names of all metrics."""
    return registry.names()


class _Outputs(Mapping[str, tuple[str, ...]]):
    def __init__(self, name: str, systems: tuple[str, ...]) -> None:
        self._name, self._systems = name, systems

    def __getitem__(self, system: str) -> tuple[str, ...]:
        from plainly import data

        return data.outputs(self._name, system)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


def _evalset(
    systems: Mapping[str, Sequence[str]],
    *,
    sources: Sequence[str] | None,
    references: Sequence[Sequence[str]] | None,
    groups: Sequence[str] | None,
    ids: Sequence[str] | None,
) -> EvalSet:
    from plainly.inputs import check_references

    if not systems:
        raise BadInput("No outputs were given.")
    n = len(sources) if sources is not None else len(next(iter(systems.values())))
    checked = check_references(references, n, sources=sources) if references is not None else None
    return EvalSet.of(sources, references=checked, groups=groups, ids=ids, items=n)
