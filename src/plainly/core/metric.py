"""The contract of a metric: a table of additive counts and one formula over their sums."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, BadSpec, did_you_mean
from plainly.core.evalset import EvalSet
from plainly.core.formatting import number

Floats = npt.NDArray[np.float64]
Need = Literal["source", "references"]
Needs = frozenset[Need]
Better = Literal["higher", "lower", "neither"]
TargetKind = Literal["number", "level"] | None


class TextSource(Protocol):
    """What metrics are checked against: an evaluation set, texts that were read, or a corpus in files."""

    @property
    def has_sources(self) -> bool: ...

    @property
    def has_references(self) -> bool: ...

    @property
    def columns(self) -> Collection[str]: ...

    @property
    def language(self) -> str: ...


@dataclasses.dataclass(frozen=True)
class Reason:
    """How far a part of an item's score is from what is usual, in points, and what made it so.

    ``terms`` are what adds to the part or takes from it, in words, the largest first. ``facts`` says in words which
    facts of the source differ in the output; they are found by rules and are not what the points are computed from.
    """

    part: str
    points: float
    terms: Mapping[str, float] = dataclasses.field(default_factory=dict)
    facts: str = ""

    @property
    def text(self) -> str:
        """The reason in a line: "meaning −18: more left out −11, less close in meaning −7 (one fact lost)"."""
        terms = ", ".join(f"{term} {_signed(points)}" for term, points in self.terms.items())
        facts = f" ({self.facts})" if self.facts else ""
        return f"{self.part} {_signed(self.points)}{terms and f': {terms}'}{facts}"

    def json(self) -> dict[str, Any]:
        terms = {term: round(points, 1) for term, points in self.terms.items()}
        return {
            "part": self.part,
            "points": round(self.points, 1),
            "terms": terms,
            "facts": self.facts,
            "text": self.text,
        }


def _signed(points: float) -> str:
    return number(points, 0, sign=True, page=True)


class Metric(ABC):
    """A metric as a value: a frozen dataclass (with ``repr=False``) whose fields are its parameters.

    ``measure`` gives one row of numbers per item; rows of any items may be added up. ``score`` is a formula over
    summed rows, vectorised over leading axes, so that corpus scores, segment scores and bootstrap draws are one call.
    Every optional trait of a metric is declared here with its default. ``repr(metric)`` is its spec.
    """

    name: ClassVar[str]
    outputs: ClassVar[tuple[str, ...]]  # the first is the headline
    needs: ClassVar[Needs] = frozenset()  # what the metric as a whole compares with, beside the outputs
    needs_of: ClassVar[Mapping[str, Needs]] = {}  # outputs that need less than the metric: {"output": frozenset()}
    better: ClassVar[Better] = "higher"
    member_outputs: ClassVar[tuple[str, ...]] = ()  # of a panel: the scores of each member
    main_outputs: ClassVar[tuple[str, ...]] = ()  # what tables show; empty means the headline alone
    languages: ClassVar[str] = ""  # codes separated by spaces, "any", or "model"; empty means not stated
    evidence: ClassVar[str] = ""  # for metrics outside evidence.toml: what is known not to be measured
    packages: ClassVar[tuple[str, ...]] = ()  # packages whose version belongs in the signature
    learned: ClassVar[bool] = False  # reads texts with a model
    batch_tolerance: ClassVar[float] = 0.0  # how far a row may depend on the texts that are measured with it
    gpu: ClassVar[bool] = False  # a GPU makes it faster
    runs_first: ClassVar[bool] = False  # fills the score cache for other metrics
    runs_programs: ClassVar[bool] = False  # must not be run because a data file names it
    is_remote: ClassVar[bool] = False  # calls a server, from one process; ``plainly.core.calls`` has its options
    is_measurable: ClassVar[bool] = True  # False for what was read from a file and may only be scored
    reads_columns: ClassVar[bool] = False  # ``for_evalset`` looks at the columns of the set
    target_kind: ClassVar[TargetKind] = None  # what the parameter ``target`` is, if there is one
    choices: ClassVar[Mapping[str, Collection[str]]] = {}  # values of parameters that are not declared by ``Literal``
    _allowed: ClassVar[Mapping[str, Collection[str]]] = {}  # those, and the values of ``Literal`` parameters

    # Parameters that several metrics have; those without one keep the default.
    language: str = ""
    model: str | None = ""
    variant: str = ""
    tokenize: str = ""
    target: str | float | None = None

    @abstractmethod
    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        """Return one row per item, shape (n, k); rows add up."""

    @abstractmethod
    def score(self, totals: Floats) -> Floats:
        """Compute the outputs (..., len(outputs)) from summed rows (..., k); undefined is NaN."""

    def for_evalset(self, evalset: TextSource) -> Metric:
        """Return the metric as a set or corpus needs it: one with a target may take it from a column."""
        return self

    def in_language(self, code: str) -> Metric:
        """Return the same metric for texts in another language; it must have the parameter ``language``."""
        return dataclasses.replace(self, language=code)  # type: ignore[type-var]

    def explain_items(self, evalset: EvalSet, outputs: Sequence[str]) -> list[tuple[Reason, ...]]:
        """Return for each item what its score is made of; empty where the metric does not say."""
        return []

    def count_long_items(self, totals: Floats) -> int:
        """Return how many items were longer than the model's window and were read in pieces."""
        return 0

    def provenance(self, data: str) -> tuple[str, ...]:
        """Return what the signature of scores on data with this fingerprint has beside the spec, as ``name:value``."""
        return ()

    def own_systems(self) -> tuple[str, ...]:
        """Return the names that a system has if its outputs are by the metric's own model."""
        return ()

    def measured_agreement(self) -> tuple[Mapping[str, Any], ...]:
        """Return how far these scores agreed with people, where that was measured and kept with the metric."""
        return ()

    def calibration_key(self) -> tuple[str, ...]:
        """Return what a calibration of the scores holds for, as ``name:value``; empty if it has no ``calibration``."""
        return ()

    @property
    def reference_columns(self) -> npt.NDArray[np.bool_] | None:
        """Which columns of a row count every reference, so that with half of them they are half as large."""
        return None

    @property
    def definition(self) -> object:
        """The object whose class describes the metric and whose fields are its parameters."""
        return self

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters with their default values."""
        definition = self.definition
        fields = dataclasses.fields(definition) if dataclasses.is_dataclass(definition) else ()
        return {field.name: field.default for field in fields if field.init}

    def spec(self, *, full: bool = False) -> str:
        """Return the text that names the metric: ``sari(variant=hf)``; ``full`` includes default parameters."""
        values = {name: getattr(self.definition, name) for name in self.defaults}
        parameters = [
            f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            for name, value in values.items()
            if full or value != self.defaults[name]
        ]
        return f"{self.name}({','.join(parameters)})" if parameters else self.name

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        hints = get_type_hints(cls)
        literals = {parameter: get_args(hint) for parameter, hint in hints.items() if get_origin(hint) is Literal}
        cls._allowed = {**literals, **cls.choices}

    def __post_init__(self) -> None:
        for parameter, allowed in self._allowed.items():
            if getattr(self, parameter) not in allowed:
                raise unknown_value(parameter, getattr(self, parameter), allowed)

    def __repr__(self) -> str:
        return self.spec()


# Specs, metrics or objects with ``measure`` and ``score``; or metrics by the spec as it was written.
Metrics = str | Sequence[str | Metric | object] | Mapping[str, Metric]


class MeanMetric(Metric):
    """A metric whose scores are averages over the items that have a value; its rows come from ``mean_rows``."""

    def score(self, totals: Floats) -> Floats:
        return means(totals)


class PairwiseMetric(Metric):
    """A metric that says which of two outputs is better. A system's score is the share of comparisons that it wins.

    Each system meets every other one on each item that both have; a tie is half a win. With two systems, their paired
    test is one of wins and losses over items. ``contradictory`` is the share of comparisons in which the order of the
    two outputs decided; these count as ties. ``position`` is by how many points above 50 % the output that is shown
    first is preferred.
    """

    own_columns: ClassVar[int] = 6  # of a row; then wins against each system and ties with each, in their order
    outputs = ("win_rate", "contradictory", "position")
    main_outputs = ("win_rate", "contradictory")

    @abstractmethod
    def prefer(self, evalset: EvalSet, first: Sequence[str], second: Sequence[str]) -> Floats:
        """Return for each item 1 if the first output is better, 0 if the second is, 0.5 for a tie, NaN if undecided;
        and how far the order decided: 1 if the output shown first is preferred in both orders, -1 if the one shown
        second is, 0 if the orders agree: shape (n, 2)."""

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        raise BadInput(f"{self!r} compares systems with each other. Give the outputs of at least two.")

    def score(self, totals: Floats) -> Floats:
        return 100.0 * means(totals[..., : self.own_columns])


@dataclasses.dataclass(frozen=True, repr=False)
class OutputMetric(Metric):
    """A metric without the outputs that need more than ``headline`` does: ``sle.output`` needs no source."""

    metric: Metric
    headline: str

    def __post_init__(self) -> None:
        if self.headline not in self.metric.needs_of:
            allowed = ", ".join(self.metric.needs_of) or "none"
            raise BadSpec(
                f"{self.metric.name}.{self.headline} cannot be computed by itself. Outputs of {self.metric.name} that "
                f"can: {allowed}"
            )
        needs = self.metric.needs_of[self.headline]
        others = [name for name, of in self.metric.needs_of.items() if of <= needs and name != self.headline]
        outputs = (self.headline, *others)
        main_outputs = tuple(name for name in outputs if name in self.metric.main_outputs)
        traits = {"needs": needs, "needs_of": {}, "outputs": outputs, "main_outputs": main_outputs}
        vars(self).update(_traits_of(self.metric) | traits)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return self.metric.measure(evalset, outputs)

    def score(self, totals: Floats) -> Floats:
        return self.metric.score(totals)[..., [self.metric.outputs.index(name) for name in self.outputs]]

    def in_language(self, code: str) -> Metric:
        return dataclasses.replace(self, metric=self.metric.in_language(code))

    def count_long_items(self, totals: Floats) -> int:
        return self.metric.count_long_items(totals)

    def provenance(self, data: str) -> tuple[str, ...]:
        return self.metric.provenance(data)

    @property
    def definition(self) -> object:
        return self.metric.definition

    def spec(self, *, full: bool = False) -> str:
        return f"{self.metric.spec(full=full)}.{self.headline}"


@dataclasses.dataclass(frozen=True, repr=False)
class AdaptedMetric(Metric):
    """Any object with ``measure`` and ``score`` as a metric. What it does not state is assumed: higher is better, it
    needs only outputs, and it has one output."""

    inner: Any

    def __post_init__(self) -> None:
        if not (hasattr(self.inner, "measure") and hasattr(self.inner, "score")):
            raise BadSpec(f"A metric has the methods measure and score; {type(self.inner).__name__} lacks one of them.")
        traits = {"name": type(self.inner).__name__.lower(), "needs": ()} | _traits_of(self.inner)
        outputs = traits.get("outputs", (traits["name"],))
        more = {"needs": frozenset(traits["needs"]), "outputs": tuple(outputs), "__doc__": type(self.inner).__doc__}
        vars(self).update(traits | more)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = np.asarray(self.inner.measure(evalset, outputs), dtype=np.float64)
        return rows[:, None] if rows.ndim == 1 else rows

    def score(self, totals: Floats) -> Floats:
        scores = np.asarray(self.inner.score(totals), dtype=np.float64)
        return scores[..., None] if scores.ndim < totals.ndim else scores

    def in_language(self, code: str) -> Metric:
        return AdaptedMetric(dataclasses.replace(self.inner, language=code))

    @property
    def definition(self) -> object:
        return self.inner

    @property
    def defaults(self) -> dict[str, Any]:  # an object without a name cannot be found by a spec
        return super().defaults if hasattr(self.inner, "name") else {}


def unknown_value(parameter: str, value: str, allowed: Collection[str]) -> BadSpec:
    """Return the error for a parameter whose value is not allowed."""
    return BadSpec(f"{parameter}={value!r} is not known.{did_you_mean(value, allowed)} It may be: {', '.join(allowed)}")


def mean_rows(*columns: Floats) -> Floats:
    """Return rows (n, 2k) from k columns of values: values, then counts. NaN means that an item has no value."""
    values = np.stack(columns, axis=-1).astype(np.float64)
    is_undefined = np.isnan(values)
    return np.concatenate((np.where(is_undefined, 0.0, values), (~is_undefined).astype(np.float64)), axis=-1)


def means(totals: Floats) -> Floats:
    """Return the averages over the items that have a value; NaN where none has."""
    middle = totals.shape[-1] // 2
    return ratio(totals[..., :middle], totals[..., middle:])


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide part by whole; undefined (NaN) where the whole is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole == 0, np.nan, np.divide(part, whole))


def _traits_of(metric: object) -> dict[str, Any]:
    """Return those traits of a metric or a similar object that it declares."""
    return {name: getattr(metric, name) for name in Metric.__annotations__ if hasattr(metric, name)}
