"""What scoring returns: the rows of every metric on every system, from which all else follows."""

from __future__ import annotations

import dataclasses
import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

import plainly
from plainly.core.errors import BadInput, check_choice, did_you_mean
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import count_noun, interval
from plainly.core.metric import Floats, Metric
from plainly.core.result import Note, Record, Result, Table, pandas_frame, polars_frame, warnings
from plainly.core.sampling import Sampling
from plainly.metrics.evidence import find_key
from plainly.stats.exact_sum import BINS, ExactSum
from plainly.stats.resample import Draws, Estimate, PoissonResampler, Resampler
from plainly.streaming.batches import Reading

if TYPE_CHECKING:
    import pandas
    import polars

    from plainly.scoring.sanity import LeaveOneOut
    from plainly.scoring.subsets import Subset

# Of a frame: a row for each number of each system, or for each system and item.
Level = Literal["scores", "items"]
Bools = npt.NDArray[np.bool_]
# (metric, system, other system) → on how many items the first scores higher, lower and the same
Outcomes = Mapping[tuple[str, str, str], tuple[int, int, int]]
_SAME = 1e-9  # of the largest score: two items closer than this are equal

_TEXT = re.compile(
    r"(?P<spec>.*?)(?:\|refs:(?P<refs>[\d-]+))?\|data:(?P<data>[^|]*)(?P<rest>(?:\|[^|:]+:[^|]*)*)", re.DOTALL
)


@dataclass(frozen=True, repr=False)
class Signature:
    """The full spec, the fewest and most references of an item, the data, packages that decide about the number, and
    what else was done to it (``subset:30``)."""

    spec: str
    data: str
    references: tuple[int, int] | None = None
    packages: tuple[tuple[str, str], ...] = ()
    version: str = plainly.__version__
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, metric: Metric, *, data: str, references: tuple[int, int] | None) -> Signature:
        """Return the signature of a metric on data with this fingerprint."""
        return cls(
            spec=metric.spec(full=True),
            data=data,
            references=references if "references" in metric.needs else None,
            packages=tuple((package, _version(package)) for package in metric.packages),
            remarks=metric.provenance(data),
        )

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse the text of a signature, as score files contain it."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a signature")
        counts = [int(count) for count in match["refs"].split("-")] if match["refs"] else []
        fields = [tuple(field.split(":", 1)) for field in match["rest"].split("|")[1:]]
        names = [name for name, _ in fields]
        at = names.index("plainly") if "plainly" in names else len(names)
        return cls(
            spec=match["spec"],
            data=match["data"],
            references=(counts[0], counts[-1]) if counts else None,
            packages=tuple((name, value) for name, value in fields[:at]),
            version=fields[at][1] if at < len(fields) else "",
            remarks=tuple(f"{name}:{value}" for name, value in fields[at + 1 :]),
        )

    @property
    def headline(self) -> str:
        """The output that the spec names, ``output`` of ``sle(…).output``; empty where it names a whole metric."""
        return self.spec.rpartition(").")[2] if ")." in self.spec else ""

    def __str__(self) -> str:
        parts = [self.spec]
        if self.references is not None:
            fewest, most = self.references
            parts.append(f"refs:{most}" if fewest == most else f"refs:{fewest}-{most}")
        parts += [f"data:{self.data}", *(f"{package}:{version}" for package, version in self.packages)]
        return "|".join([*parts, f"plainly:{self.version}", *self.remarks])

    __repr__ = __str__


def reference_range(evalset: EvalSet) -> tuple[int, int]:
    """Return the fewest and most references of an item."""
    counts = evalset.reference_counts
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


@dataclass(frozen=True, repr=False)
class Scores:
    """One metric on one system: a row for each item, their exact totals over ``n`` items, and how they were made.

    ``present`` says which items the system has, None that it has all; the rows of the others are zero.
    """

    metric: Metric
    system: str
    rows: Floats
    totals: Floats
    n: int
    signature: Signature
    intervals: Mapping[str, Estimate] = field(default_factory=dict)
    present: Bools | None = None

    @classmethod
    def of_items(
        cls, metric: Metric, system: str, rows: Floats, signature: Signature, present: Bools | None = None
    ) -> Scores:
        """Build scores from rows of single items."""
        if present is not None and present.all():
            present = None
        n = len(rows) if present is None else int(present.sum())
        return cls(metric, system, rows, ExactSum.of(rows).to_floats(), n, signature, present=present)

    @property
    def rows_of_items(self) -> Floats:
        """The rows of the items that the system has."""
        return self.rows if self.present is None else self.rows[self.present]

    @cached_property
    def corpus(self) -> dict[str, float]:
        """Every output by name, at corpus level; undefined is NaN."""
        return dict(zip(self.metric.outputs, map(float, self.metric.score(self.totals)), strict=True))

    @cached_property
    def segments(self) -> dict[str, Floats]:
        """Every output by name, one value per item; NaN where it is undefined or the system lacks the item."""
        if not len(self.rows):
            return dict.fromkeys(self.metric.outputs, np.zeros(0))
        values = self.metric.score(self.rows)
        if self.present is not None:
            values = np.where(self.present[:, None], values, np.nan)
        return {name: values[:, position] for position, name in enumerate(self.metric.outputs)}

    @cached_property
    def undefined(self) -> int | None:
        """On how many items the headline is undefined; None where that is not known."""
        return int(np.isnan(self.segments[self.metric.outputs[0]]).sum()) - (len(self.rows) - self.n)

    @property
    def value(self) -> float | Estimate:
        """The headline: a number, or an Estimate if it has an interval."""
        headline = self.metric.outputs[0]
        return self.intervals.get(headline, self.corpus[headline])

    @property
    def parts(self) -> dict[str, float]:
        """The outputs beside the headline."""
        return {name: value for name, value in self.corpus.items() if name != self.metric.outputs[0]}

    def subset(self, items: Bools | npt.NDArray[np.intp]) -> Scores:
        """Return the same scores on some of the items; nothing is measured again."""
        rows = self.rows[items]
        signature = dataclasses.replace(self.signature, remarks=(*self.signature.remarks, f"subset:{len(rows)}"))
        present = None if self.present is None else self.present[items]
        return Scores.of_items(self.metric, self.system, rows, signature, present)

    def with_estimates(self, estimates: Sequence[Estimate]) -> Scores:
        """Return the same scores with an Estimate for each output."""
        return dataclasses.replace(self, intervals=dict(zip(self.metric.outputs, estimates, strict=True)))

    def json(self) -> Record:
        """Return value, interval, parts and signature."""
        headline = self.metric.outputs[0]
        record: Record = {"value": self.corpus[headline]}
        estimate = self.intervals.get(headline)
        if estimate is not None:
            record |= {"low": estimate.low, "high": estimate.high, "level": estimate.level, "method": estimate.method}
        return {
            **record,
            "n": self.n,
            "undefined": self.undefined,
            "parts": self.parts,
            "signature": str(self.signature),
        }

    def __float__(self) -> float:
        return self.corpus[self.metric.outputs[0]]

    def __repr__(self) -> str:
        return f"<{self.metric!r} of {self.system or 'the outputs'}: {self.value:.2f}, {count_noun(self.n, 'item')}>"


@dataclass(frozen=True, repr=False)
class BinnedScores(Scores):
    """One metric on one system of a corpus that was not held: a row is the sum of the items in a bin."""

    @cached_property
    def segments(self) -> dict[str, Floats]:
        """There are none: raises an error that says how to write them."""
        raise BadInput(f"Scores of the {self.n:,} items were not kept; write them as they are made: segments='DIR'")

    @cached_property
    def undefined(self) -> int | None:
        """Not known."""
        return None

    def with_estimates(self, estimates: Sequence[Estimate]) -> Scores:
        """Return the same scores with an Estimate for each output, about items although bins were drawn."""
        return super().with_estimates([dataclasses.replace(estimate, n=self.n) for estimate in estimates])


@dataclass(frozen=True, repr=False)
class ScoreTable(Mapping[str, "SystemScores"], Result):
    """All metrics on all systems, with all that does not need single items: the base of both kinds of evaluation.

    ``outputs`` are the texts, where they were kept; ``reading`` says what became of the rows of the files.
    ``input_notes`` describe how the texts were read; ``advise`` looks for warnings when they are needed.
    """

    evalset: EvalSet
    systems: Mapping[str, Mapping[str, Scores]]
    sampling: Sampling | None = None
    outputs: Mapping[str, Sequence[str]] | None = None
    reading: Reading | None = None
    input_notes: tuple[Note, ...] = ()
    advise: Callable[[ScoreTable], Sequence[Note]] | None = None

    def __getitem__(self, system: str) -> SystemScores:
        _check_name(system, self.systems, "There is no system")
        return SystemScores(self, system)

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    @property
    def specs(self) -> tuple[str, ...]:
        """The specs of the metrics, as they were written."""
        return tuple(self.metrics)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The metrics by spec."""
        first: Mapping[str, Scores] = next(iter(self.systems.values()), {})
        return {spec: scores.metric for spec, scores in first.items()}

    @property
    def measurable(self) -> tuple[str, ...]:
        """The metrics with which other texts can be measured: not those that a file names and that run programs."""
        return tuple(spec for spec, metric in self.metrics.items() if metric.is_measurable)

    @property
    def n(self) -> int:
        """How many items were scored."""
        return self._any.n if self._any else len(self.evalset)

    @property
    def units(self) -> int:
        """How many rows there are for each metric and system, of items or of bins."""
        return len(self._any.rows) if self._any else 0

    @cached_property
    def _any(self) -> Scores | None:
        return next((scores for system in self.systems.values() for scores in system.values()), None)

    @property
    def complete(self) -> bool:
        """Whether every row was read: not when the run was interrupted."""
        return self.reading is None or self.reading.complete

    @property
    @abstractmethod
    def resampling_unit(self) -> str:
        """What intervals and tests are about: items or groups."""

    @property
    def effect_scale(self) -> float:
        """By what an effect size over units is multiplied to be one over items."""
        return 1.0

    @abstractmethod
    def draws(self, sampling: Sampling, present: Bools | None = None) -> Draws:
        """Return the draws that all metrics share, and all systems with the same items: all of them if None."""

    @abstractmethod
    def count_wins(self, spec: str, system: str, other: str) -> tuple[int, int, int]:
        """Return on how many items a system scores higher, lower and the same as another."""

    @abstractmethod
    def by_item(self, purpose: str) -> Evaluation:
        """Return the evaluation with a row for each item; raise an error that names the ``purpose`` if it has none."""

    @abstractmethod
    def describe_rows(self) -> Record:
        """Return what the rows are, as files of saved scores say it."""

    def of_metric(self, spec: str) -> dict[str, Scores]:
        """Return one metric on every system."""
        return {system: scores[spec] for system, scores in self.systems.items()}

    def ranking(self, spec: str) -> list[str]:
        """Return the systems by score, best first (largest first where no side is better); undefined scores last."""
        sign = 1 if self.metrics[spec].better == "lower" else -1
        values = {system: float(scores) for system, scores in self.of_metric(spec).items()}
        return sorted(values, key=lambda system: (math.isnan(values[system]), sign * values[system]))

    def records(self) -> list[Record]:
        """Return one flat record for each system, metric and output."""
        return [
            {
                "system": system,
                "metric": spec,
                "output": name,
                "value": value,
                **{end: getattr(scores.intervals.get(name), end, None) for end in ("low", "high")},
                "signature": str(scores.signature),
            }
            for system, of_system in self.systems.items()
            for spec, scores in of_system.items()
            for name, value in scores.corpus.items()
        ]

    def item_columns(self, *, parts: bool = True, absent: bool = True) -> dict[str, list[Any]]:
        """Return columns with a value for each system and item: id, group, and the headline of every metric.

        ``parts`` adds the other outputs as ``metric.output``; without ``absent``, items that a system does not have
        are left out instead of being NaN.
        """
        evalset = self.evalset
        columns: dict[str, list[Any]] = {"system": [], "id": []}
        labels: dict[str, Sequence[Any]] = {"id": evalset.ids}
        if evalset.groups is not None:
            labels["group"] = evalset.groups
        for system, of_system in self.systems.items():
            present = next((scores.present for scores in of_system.values()), None)
            mask = np.ones(self.n, dtype=bool) if absent or present is None else present
            columns["system"] += [system] * int(mask.sum())
            for name, values in labels.items():
                columns.setdefault(name, []).extend(compress(values, mask))
            for spec, scores in of_system.items():
                headline = scores.metric.outputs[0]
                for name, numbers in scores.segments.items():
                    if parts or name == headline:
                        key = spec if name == headline else f"{spec}.{name}"
                        columns.setdefault(key, []).extend(numbers[mask].tolist())
        return columns

    def to_pandas(self, *, level: Level = "scores", parts: bool = False) -> pandas.DataFrame:
        """Return a pandas DataFrame: a row for each number, or with ``level="items"`` for each system and item.

        The frame of items has a column for the headline of each metric, with ``parts`` also for its other outputs.
        Items that a system does not have are left out.
        """
        return pandas_frame(self._frame(level, parts))

    def to_polars(self, *, level: Level = "scores", parts: bool = False) -> polars.DataFrame:
        """Return a polars DataFrame: a row for each number, or with ``level="items"`` for each system and item."""
        return polars_frame(self._frame(level, parts))

    def _frame(self, level: Level, parts: bool) -> list[Record] | dict[str, list[Any]]:
        check_choice("level", level, get_args(Level))
        return self.records() if level == "scores" else self.item_columns(parts=parts, absent=False)

    def json(self) -> Record:
        """Return the schema plainly.score/1."""
        reading = self.reading or Reading(rows=self.n, read=self.n)
        return {
            "schema": "plainly.score/1",
            "test_set": self.evalset.name or None,
            "items": self.n,
            "seed": self.sampling.seed if self.sampling else None,
            "systems": self.systems_json(),
            **self._parts_json(),
            "rows": reading.json(),
            "complete": self.complete,
            "warnings": warnings(self),
        }

    def systems_json(self) -> list[Record]:
        """Return every system with its scores."""
        return [
            {"system": system, "scores": {spec: scores.json() for spec, scores in of_system.items()}}
            for system, of_system in self.systems.items()
        ]

    def _parts_json(self) -> Record:
        """Return scores of parts of the items, which follow those of all items."""
        return {}

    def tables(self) -> list[Table]:
        """Return systems by metrics with intervals."""
        return [self.table()]

    def table(self) -> Table:
        """Return the scores alone."""
        outputs = {spec: metric.main_outputs or metric.outputs[:1] for spec, metric in self.metrics.items()}
        header, columns, minor = ["system"], self._count_columns(), set()
        for spec, names in outputs.items():
            minor |= set(range(len(header) + 1, len(header) + len(names)))
            # The headline of sari is called sari; that of edits is called kept, and its column "edits: kept".
            name = self.metrics[spec].name
            is_plain = names[0] == name or spec.endswith(f".{names[0]}")
            header += [spec if is_plain else f"{spec}: {names[0]}"]
            header += [spec if output == name else output for output in names[1:]]
        rows = []
        for system, of_system in self.systems.items():
            cells = [system or "outputs"]
            for spec, names in outputs.items():
                scores = of_system[spec]
                estimate = scores.intervals.get(names[0])
                ends = (estimate.low, estimate.high) if estimate else (None, None)
                cells.append(interval(scores.corpus[names[0]], *ends))
                cells += [interval(scores.corpus[name], None, None) for name in names[1:]]
            rows.append((*cells, *(str(of_systems.get(system, 0)) for of_systems in columns.values())))
        return Table((*header, *columns), tuple(rows), minor=frozenset(minor))

    def _count_columns(self) -> dict[str, dict[str, int]]:
        """Return how many items a system has, outputs are blank, and a metric is undefined for, where that matters."""
        items = {system: next(iter(by_spec.values())).n for system, by_spec in self.systems.items() if by_spec}
        columns = {"items": items} if len(set(items.values())) > 1 else {}
        blank = {
            system: sum(not text.strip() and not isinstance(text, Absent) for text in texts)
            for system, texts in (self.outputs or {}).items()
        }
        if any(blank.values()):
            columns["blank"] = blank
        for spec in self.metrics:
            of_systems = {system: scores.undefined or 0 for system, scores in self.of_metric(spec).items()}
            if any(of_systems.values()):
                columns[f"{spec}: undefined"] = of_systems
        return columns

    def notes(self) -> list[Note]:
        """Return items, kind of intervals, what the metrics do not measure, and possible faults of the input."""
        return [Note(self._about()), *self.remarks]

    @cached_property
    def remarks(self) -> tuple[Note, ...]:
        """Warnings and advice: about the reading of files, the metrics, the texts and small subsets."""
        return tuple(self._warnings())

    def _warnings(self) -> list[Note]:
        read = self.reading.notes() if self.reading is not None else []
        return [*self.input_notes, *read, *(self.advise(self) if self.advise is not None else ())]

    @cached_property
    def reference_systems(self) -> tuple[str, ...]:
        """Systems that copy references, which then score against themselves, as far as texts are available."""
        from plainly.io.faults.corpus_faults import reference_systems

        return tuple(reference_systems(self.evalset, self.outputs or {}))

    def _about(self) -> str:
        fewest, most = self._reference_range()
        references = ""
        if most:
            many = f"{most}" if fewest == most else f"{fewest} to {most}"
            references = f", {many} reference{'' if fewest == most == 1 else 's'} each"
        line = f"{count_noun(self.n, 'item')}{references}{f' of {self.evalset.name}' if self.evalset.name else ''}."
        estimate = next(iter(self._any.intervals.values()), None) if self._any else None
        if estimate is not None and self.sampling is not None:
            line += f" In brackets: {estimate.level:.0%} {estimate.method}, seed {self.sampling.seed}."
        return line

    def _reference_range(self) -> tuple[int, int]:
        if self.evalset.references:
            return reference_range(self.evalset)
        every = (scores.signature.references for system in self.systems.values() for scores in system.values())
        return next((references for references in every if references is not None), (0, 0))


@dataclass(frozen=True, repr=False)
class Evaluation(ScoreTable):
    """All metrics on all systems, with a row for each item: ``evaluation["ACCESS"]["sari"].value``.

    ``by``, ``subsets`` and ``held_out`` are set if requested.
    """

    by: str | None = None
    subsets: tuple[tuple[Subset, Evaluation], ...] = ()
    held_out: LeaveOneOut | None = None

    @property
    def texts(self) -> Mapping[str, Sequence[str]]:
        """The outputs by system; raises an error if only scores are available."""
        if self.outputs is None:
            raise BadInput("The texts are needed, which are not saved with scores. Pass evalset= and outputs= as well.")
        return self.outputs

    @property
    def resampling_unit(self) -> str:
        """What intervals and tests draw: items, or groups where the set has them."""
        return "items" if self.evalset.groups is None else "groups"

    @property
    def n(self) -> int:
        """How many items the set has; ``Scores.n`` says how many of them a system has."""
        return self.units or len(self.evalset)

    @cached_property
    def shared(self) -> Evaluation:
        """The evaluation on the items that every system has: what comparisons and rankings rest on."""
        masks = [scores.present for by_spec in self.systems.values() for scores in by_spec.values()]
        partial = [present for present in masks if present is not None]
        return self.select(np.logical_and.reduce(partial)) if partial else self

    def ranking(self, spec: str) -> list[str]:
        """Return the systems by their scores on the items that all have, best first; undefined scores last."""
        return super().ranking(spec) if self.shared is self else self.shared.ranking(spec)

    def draws(self, sampling: Sampling, present: Bools | None = None) -> Draws:
        groups = self.evalset.groups
        if present is None:
            return Resampler(self.n, sampling.resamples, sampling.seed, groups)
        own = None if groups is None else tuple(compress(groups, present))
        return Resampler(int(present.sum()), sampling.resamples, sampling.seed, own)

    def count_wins(self, spec: str, system: str, other: str) -> tuple[int, int, int]:
        """Return on how many items a system scores higher, lower and the same; undefined items are not counted."""
        headline = self.metrics[spec].outputs[0]
        one, two = (self.systems[name][spec].segments[headline] for name in (system, other))
        difference = one - two
        is_same = np.abs(difference) <= _SAME * np.nanmax(np.abs([one, two]), initial=0.0)
        higher, lower = (difference > 0) & ~is_same, (difference < 0) & ~is_same
        return int(higher.sum()), int(lower.sum()), int(is_same.sum())

    def by_item(self, purpose: str) -> Evaluation:
        return self

    def describe_rows(self) -> Record:
        return {"units": "items", "drawn": "items", "outcomes": []}

    def select(self, mask: Bools) -> Evaluation:
        """Return the evaluation on some of the items, without intervals; nothing is measured again."""
        outputs = self.outputs and {
            system: tuple(np.array(texts, dtype=object)[mask]) for system, texts in self.outputs.items()
        }
        systems = {
            system: {spec: scores.subset(mask) for spec, scores in of_system.items()}
            for system, of_system in self.systems.items()
        }
        return Evaluation(self.evalset[np.flatnonzero(mask)], systems, self.sampling, outputs)

    def records(self) -> list[Record]:
        """Return one flat record for each system, metric and output; of subsets too, where there are any."""
        records = super().records()
        if not self.subsets and self.held_out is None:
            return records
        parts = [(f"{subset.field}: {subset.label}", evaluation) for subset, evaluation in self.subsets]
        if self.held_out is not None:
            parts.append(("leave-one-out", self.held_out.evaluation))
        records = [{"subset": "", **record} for record in records]
        return records + [{"subset": label, **record} for label, part in parts for record in part.records()]

    def _parts_json(self) -> Record:
        keys: Record = {}
        if self.by is not None:
            keys["subsets"] = [
                {"field": subset.field, "label": subset.label, "systems": evaluation.systems_json()}
                for subset, evaluation in self.subsets
            ]
        if self.held_out is not None:
            keys["leave_one_out"] = self.held_out.json()
        return keys

    def tables(self) -> list[Table]:
        """Return systems by metrics with intervals; then subsets, then scores against one reference fewer."""
        from plainly.scoring.subsets import subset_table

        tables = super().tables()
        if self.subsets:
            tables.append(subset_table(self.by or "", self.subsets))
        return tables + (self.held_out.tables() if self.held_out is not None else [])

    def _warnings(self) -> list[Note]:
        from plainly.scoring.subsets import warnings

        return [*super()._warnings(), *warnings(self)]


@dataclass(frozen=True, repr=False)
class BinnedEvaluation(ScoreTable):
    """All metrics on all systems of a corpus too large to hold: of its items only sums by bin are kept.

    It has the scores, intervals and comparisons that an ``Evaluation`` of the same texts has, but nothing that needs
    single items. ``outcomes`` says on how many items one system scores higher, lower and the same as another, where
    that was counted; ``bin_content`` says what a bin holds (items, groups, sources, outputs). See docs/scale.md.
    """

    outcomes: Outcomes = field(default_factory=dict)
    bin_content: str = "items"

    @property
    def resampling_unit(self) -> str:
        """What intervals and tests are about: items, or groups where a bin holds whole groups."""
        return "groups" if self.bin_content == "groups" else "items"

    @property
    def effect_scale(self) -> float:
        """Items vary √(bins / items) times as much as bins do; how they vary within groups is not known."""
        return (BINS / max(self.n, 1)) ** 0.5 if self.bin_content != "groups" else math.nan

    def draws(self, sampling: Sampling, present: Bools | None = None) -> Draws:
        """Return draws of bins, with Poisson counts."""
        return PoissonResampler(sampling.resamples, sampling.seed, self.bin_content)

    def count_wins(self, spec: str, system: str, other: str) -> tuple[int, int, int]:
        """Return on how many items a system scores higher, lower and the same as another; zeros if not counted."""
        if (spec, system, other) in self.outcomes:
            return self.outcomes[spec, system, other]
        lower, higher, same = self.outcomes.get((spec, other, system), (0, 0, 0))
        return higher, lower, same

    def describe_rows(self) -> Record:
        outcomes = [[*pair, *counts] for pair, counts in self.outcomes.items()]
        return {"units": "bins", "drawn": self.bin_content, "outcomes": outcomes}

    def by_item(self, purpose: str) -> Evaluation:
        raise BadInput(
            f"{purpose} needs single items, which are not kept for a corpus this large. Use engine='memory'."
        )


@dataclass(frozen=True, repr=False)
class SystemScores(Mapping[str, Scores], Result):
    """All metrics on one system: ``scores["sari"]``, keyed by the spec as it was written."""

    evaluation: ScoreTable
    system: str

    def __getitem__(self, spec: str) -> Scores:
        scores = self.evaluation.systems[self.system]
        spec = spec if spec in scores else find_key(spec, self.evaluation.metrics)
        _check_name(spec, scores, "There is no metric")
        return scores[spec]

    def __iter__(self) -> Iterator[str]:
        return iter(self.evaluation.systems[self.system])

    def __len__(self) -> int:
        return len(self.evaluation.systems[self.system])

    @property
    def alone(self) -> ScoreTable:
        """The evaluation of this system only."""
        return dataclasses.replace(self.evaluation, systems={self.system: self.evaluation.systems[self.system]})

    def records(self) -> list[Record]:
        return self.alone.records()

    def to_pandas(self, *, level: Level = "scores", parts: bool = False) -> pandas.DataFrame:
        """Return a pandas DataFrame: a row for each number, or with ``level="items"`` for each item."""
        return self.alone.to_pandas(level=level, parts=parts)

    def to_polars(self, *, level: Level = "scores", parts: bool = False) -> polars.DataFrame:
        """Return a polars DataFrame: a row for each number, or with ``level="items"`` for each item."""
        return self.alone.to_polars(level=level, parts=parts)

    def json(self) -> Record:
        return self.alone.json()

    def tables(self) -> list[Table]:
        return self.alone.tables()

    def notes(self) -> list[Note]:
        return self.alone.notes()


def _check_name(name: str, choices: Mapping[str, Any], problem: str) -> None:
    if name not in choices:
        raise KeyError(f"{problem} {name!r}.{did_you_mean(name, choices)} There are: {', '.join(choices)}")
