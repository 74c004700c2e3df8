"""The loop: metrics × systems → scores. Nothing else in plainly loops over metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import plainly
from plainly import protocol, registry
from plainly.errors import BadInput, did_you_mean
from plainly.evalset import EvalSet
from plainly.protocol import Floats, Metric
from plainly.render import tables
from plainly.result import Table
from plainly.stats.estimate import Estimate
from plainly.stats.resample import Method, Resampler, interval

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class Scores:
    """One metric on one system: the rows, from which every score follows, and the signature that says how."""

    metric: Metric
    system: str
    ids: tuple[str, ...]
    rows: Floats = field(repr=False)
    signature: str
    intervals: Mapping[str, Estimate] = field(default_factory=dict, repr=False)

    @cached_property
    def corpus(self) -> dict[str, float]:
        """Every output by name, at corpus level; undefined is NaN."""
        values = self.metric.score(self.rows.sum(axis=0))
        return {name: float(value) for name, value in zip(self.metric.outputs, values, strict=True)}

    @cached_property
    def segments(self) -> dict[str, Floats]:
        """Every output by name, one value an item."""
        values = self.metric.score(self.rows)
        return {name: values[:, position] for position, name in enumerate(self.metric.outputs)}

    @property
    def value(self) -> float | Estimate:
        """The headline: a number, or an Estimate where intervals were asked for."""
        headline = self.metric.outputs[0]
        return self.intervals.get(headline, self.corpus[headline])

    @property
    def parts(self) -> dict[str, float]:
        """The outputs beside the headline."""
        return {name: value for name, value in self.corpus.items() if name != self.metric.outputs[0]}

    def subset(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Scores:
        """The same scores on some of the items; nothing is measured again."""
        ids = tuple(np.array(self.ids, dtype=object)[chosen])
        return Scores(self.metric, self.system, ids, self.rows[chosen], f"{self.signature}|subset:{len(ids)}")

    def __float__(self) -> float:
        return self.corpus[self.metric.outputs[0]]

    def __repr__(self) -> str:
        shown = format(self.value, ".2f")
        return f"<{self.metric!r} of {self.system or 'the outputs'}: {shown}, {len(self.ids)} items>"


@dataclass(frozen=True)
class SystemScores(Mapping[str, Scores]):
    """All metrics on one system: ``scores["sari"]``, keyed by the spec as it was written."""

    system: str
    _scores: dict[str, Scores]

    def __getitem__(self, spec: str) -> Scores:
        if spec not in self._scores:
            known = ", ".join(self._scores)
            raise KeyError(f"{spec!r} was not computed.{did_you_mean(spec, self._scores)} There are: {known}")
        return self._scores[spec]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        return repr(Evaluation("", {self.system: self}))

    def _repr_html_(self) -> str:
        return Evaluation("", {self.system: self})._repr_html_()

    def to_pandas(self) -> pandas.DataFrame:
        return Evaluation("", {self.system: self}).to_pandas()

    def to_polars(self) -> polars.DataFrame:
        return Evaluation("", {self.system: self}).to_polars()


@dataclass(frozen=True)
class Evaluation(Mapping[str, SystemScores]):
    """All metrics on all systems: ``evaluation["ACCESS"]["sari"].value``."""

    test_set: str
    systems: dict[str, SystemScores]
    seed: int | None = None

    def __getitem__(self, system: str) -> SystemScores:
        if system not in self.systems:
            known = ", ".join(self.systems)
            raise KeyError(f"There is no system {system!r}.{did_you_mean(system, self.systems)} There are: {known}")
        return self.systems[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    @property
    def specs(self) -> tuple[str, ...]:
        """The metrics, as they were asked for."""
        return next((tuple(scores) for scores in self.systems.values()), ())

    @property
    def items(self) -> int:  # type: ignore[override]
        """How many items were scored."""
        first = next((scores for system in self.systems.values() for scores in system.values()), None)
        return len(first.ids) if first is not None else 0

    def records(self) -> list[dict[str, Any]]:
        """One flat record for each system, metric and output."""
        return [
            {
                "system": system,
                "metric": spec,
                "output": name,
                "value": value,
                "low": scores.intervals[name].low if name in scores.intervals else None,
                "high": scores.intervals[name].high if name in scores.intervals else None,
                "signature": scores.signature,
            }
            for system, of_system in self.systems.items()
            for spec, scores in of_system.items()
            for name, value in scores.corpus.items()
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise _missing("to_pandas", "pandas") from None
        return pandas.DataFrame.from_records(self.records())

    def to_polars(self) -> polars.DataFrame:
        """The records as a polars DataFrame."""
        try:
            import polars
        except ImportError:
            raise _missing("to_polars", "polars") from None
        return polars.DataFrame(self.records())

    def table(self) -> Table:
        """Systems down, metrics across, with intervals where there are any."""
        metrics = {spec: scores.metric for spec, scores in next(iter(self.systems.values()), {}).items()}
        shown = {spec: _shown(metric) for spec, metric in metrics.items()}
        header = ["system"]
        for spec, names in shown.items():
            # SARI's headline is called sari; that of edits is called kept, and says so.
            header += [spec if name == metrics[spec].name else name for name in names]
            if names[0] != metrics[spec].name:
                header[-len(names)] = f"{spec}: {names[0]}"
        rows = []
        for system, of_system in self.systems.items():
            cells = [system or "outputs"]
            for spec, names in shown.items():
                scores = of_system[spec]
                cells += [
                    _cell(scores.corpus[name], scores.intervals.get(name) if position == 0 else None)
                    for position, name in enumerate(names)
                ]
            rows.append(tuple(cells))
        return Table(tuple(header), tuple(rows))

    def __repr__(self) -> str:
        return tables.plain(self.table())

    def _repr_html_(self) -> str:
        return tables.html(self.table())


def evaluate(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    metrics: Sequence[str | Metric],
    *,
    intervals: bool = True,
    level: float = 0.95,
    resamples: int = 1000,
    method: Method = "percentile",
    seed: int = 12345,
) -> Evaluation:
    """Measure every system with every metric. All inputs are checked before anything is measured."""
    chosen = _checked_metrics(metrics, evalset)
    for system, texts in outputs.items():
        if len(texts) != len(evalset):
            raise BadInput(
                f"System {system!r} has {len(texts)} outputs for {len(evalset)} items; give one for each item."
            )
    systems = {}
    resampler = Resampler(n=len(evalset), resamples=resamples, seed=seed, groups=evalset.groups)
    for system, rows in measure(evalset, outputs, chosen):
        scores = {
            spec: Scores(metric, system, evalset.ids, rows[spec], signature(metric, evalset))
            for spec, metric in chosen.items()
        }
        if intervals and len(evalset) > 1:
            scores = with_intervals(scores, resampler, level=level, method=method)
        systems[system] = SystemScores(system, scores)
    return Evaluation(evalset.name, systems, seed=seed if intervals else None)


def measure(
    evalset: EvalSet, outputs: Mapping[str, Sequence[str]], metrics: Mapping[str, Metric]
) -> Iterator[tuple[str, dict[str, Floats]]]:
    """The loop itself: system by system, the rows of every metric. Corpora too large to hold come in batches."""
    for system, texts in outputs.items():
        yield system, {spec: metric.measure(evalset, texts) for spec, metric in metrics.items()}


def signature(metric: Metric, evalset: EvalSet) -> str:
    """How a number was made: the full spec, reference count, data hash and version."""
    parts = [protocol.spec(metric, full=True)]
    if "references" in metric.needs:
        counts = evalset.reference_counts
        fewest, most = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        parts.append(f"refs:{most}" if fewest == most else f"refs:{fewest}-{most}")
    parts.append(f"data:{evalset.fingerprint}")
    parts += [f"{package}:{_version(package)}" for package in getattr(metric, "packages", ())]
    parts.append(f"plainly:{plainly.__version__}")
    return "|".join(parts)


def _checked_metrics(metrics: Sequence[str | Metric], evalset: EvalSet) -> dict[str, Metric]:
    if not metrics:
        raise BadInput("No metric was asked for. See: plainly metrics")
    chosen = {given if isinstance(given, str) else repr(given): registry.metric(given) for given in metrics}
    for spec, metric in chosen.items():
        if "source" in metric.needs and not evalset.has_sources and len(evalset):
            raise BadInput(f"{spec} compares with the source, and no sources were given. Add them (--source FILE).")
        if "references" in metric.needs and not evalset.references and len(evalset):
            raise BadInput(f"{spec} compares with references, and none were given. Add them (--references FILE…).")
    return chosen


def with_intervals(
    scores: dict[str, Scores], resampler: Resampler, *, level: float, method: Method
) -> dict[str, Scores]:
    """The same scores with an Estimate for every output, from draws that all metrics share."""
    drawn = resampler.totals([found.rows for found in scores.values()])
    estimated = {}
    for (spec, found), totals in zip(scores.items(), drawn, strict=True):
        estimates = interval(
            resampler.units(found.rows), found.metric.score, totals, level=level, method=method, unit=resampler.unit
        )
        named = dict(zip(found.metric.outputs, estimates, strict=True))
        estimated[spec] = Scores(found.metric, found.system, found.ids, found.rows, found.signature, named)
    return estimated


def _shown(metric: Metric) -> tuple[str, ...]:
    """The outputs that a table has room for; the rest is in --json, --csv and .parts."""
    return tuple(getattr(metric, "shown", metric.outputs[:1]))


def _cell(value: float, estimate: Estimate | None) -> str:
    if math.isnan(value):
        return "undefined"
    if estimate is None or math.isnan(estimate.low):
        return f"{value:.2f}"
    return f"{value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _missing(feature: str, package: str) -> Exception:
    from plainly.errors import MissingExtra

    return MissingExtra(feature, package=package, extra=package)
