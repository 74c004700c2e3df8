"""What was done to the sentences: which operations, how often, beside people's, and how surely they are told.

>>> profile = operations(sources=["It is old and it leaks ."], outputs=["It is old . It leaks ."], labeller="rules")
>>> profile["split"].share
1.0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.formatting import number, percent
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs, Texts
from plainly.io.units import Unit
from plainly.stats.resample import Estimate, Floats, interval
from plainly.typology.annotation import SIDES, Pair, squeeze
from plainly.typology.features import Ints
from plainly.typology.labeller import loaded
from plainly.typology.labelling import (
    Annotated,
    LabelledPairs,
    annotated,
    between,
    label,
    label_texts,
    licence,
    payload,
    set_name,
    unsuited,
)
from plainly.typology.selection import reference_pairs
from plainly.typology.sentence_alignment import sentence_table
from plainly.typology.vocabulary import all_labels, operation

_MAX_DIFFERENCES = 6  # that are told in words


def operations(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    labeller: str = "light",
    processes: int = 1,
    progress: Progress = no_progress,
) -> Profile:
    """How often each operation occurs, on how many words and with which others.

    ``data`` is annotated pairs (a file, a set such as ``"assetann/annotations"``, what ``label`` returned) or texts as
    ``plainly.score`` takes them, which are labelled first.
    """
    if isinstance(data, LabelledPairs):
        return profile_labelled(data)
    if isinstance(data, str | Path) or (isinstance(data, Sequence) and data and isinstance(data[0], Pair)):
        return profile(annotated(data), name=set_name(data))
    return profile_labelled(
        label(
            data,
            sources=sources,
            outputs=outputs,
            references=references,
            evalset=evalset,
            ids=ids,
            groups=groups,
            columns=columns,
            language=language,
            incomplete=incomplete,
            unit=unit,
            labeller=labeller,
            processes=processes,
            progress=progress,
        )
    )


@dataclass(frozen=True)
class OperationCount:
    """One operation in a set. Token means and deviations are over its annotations; NaN where a side has none at all."""

    label: str
    pairs: int
    share: float
    annotations: int
    source_tokens: float
    source_deviation: float
    output_tokens: float
    output_deviation: float


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """Counts of a set of annotated pairs."""

    name: str
    pairs: int
    unchanged: int
    operations: tuple[OperationCount, ...]
    per_pair: dict[int, int]
    annotations_per_pair: dict[int, int]
    labels: tuple[str, ...]
    cooccurrence: Ints  # [i, j] is the number of pairs with both labels.
    systems: Mapping[str, Profile] = field(default_factory=dict)  # Where there are several.
    labeller: str = ""  # Empty where people annotated.
    notice: str = ""
    documents: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # What became of sentences, by system.

    def __getitem__(self, label: str) -> OperationCount:
        return next(count for count in self.operations if count.label == label)

    def together(self) -> Cooccurrence:
        """Which operations occur together."""
        return Cooccurrence(self)

    def records(self) -> list[Record]:
        if self.systems:
            rows = ((system, row) for system, profile in self.systems.items() for row in profile.records())
            return [{"system": system, **row} for system, row in rows]
        return list(map(asdict, self._by_frequency()))

    def json(self) -> Record:
        fields: Record = {"labeller": self.labeller} if self.labeller else {}
        if self.documents:
            fields["documents"] = self.documents
        if self.systems:
            fields["systems"] = {system: profile._json() for system, profile in self.systems.items()}
        return payload(self, profile=self._json(), **fields)

    def tables(self) -> list[Table]:
        return [*([sentence_table(self.documents)] if self.documents else []), self._table()]

    def _table(self) -> Table:
        if self.systems:
            shown = [count.label for count in self._by_frequency()]
            rows = [(label, *(percent(system[label].share) for system in self.systems.values())) for label in shown]
            return Table(("operation", *self.systems), tuple(rows))
        header = ("operation", "pairs", "share", "annotations", "source words", "output words")
        rows = []
        for count in self._by_frequency():
            words = (number(mean, undefined="–") for mean in (count.source_tokens, count.output_tokens))
            rows.append((count.label, str(count.pairs), percent(count.share, 1), str(count.annotations), *words))
        return Table(header, tuple(rows))

    def notes(self) -> list[Note]:
        spread = ", ".join(f"{many}: {pairs}" for many, pairs in self.per_pair.items())
        counted = f"{self.pairs} pairs, {self.unchanged} without any operation. Pairs by number of operations: {spread}"
        return [Note(counted), *licence(self.notice)]

    def _by_frequency(self) -> list[OperationCount]:
        return sorted((count for count in self.operations if count.annotations), key=lambda count: -count.pairs)

    def _json(self) -> Record:
        operations = list(map(asdict, self.operations))
        for row in operations:
            for side in SIDES:
                row[f"{side}_tokens"] = {"mean": row[f"{side}_tokens"], "deviation": row.pop(f"{side}_deviation")}
        return {
            **{name: getattr(self, name) for name in ("name", "pairs", "unchanged")},
            "operations": operations,
            "operations_per_pair": self.per_pair,
            "annotations_per_pair": self.annotations_per_pair,
            "cooccurrence": {"labels": list(self.labels), "pairs": self.cooccurrence.tolist()},
        }


@dataclass(frozen=True, repr=False)
class Cooccurrence(Result):
    """Which operations of a profile occur together, and in how many pairs."""

    profile: Profile

    def records(self) -> list[Record]:
        """One row an operation, with a column for each other."""
        labels, together = self.profile.labels, self.profile.cooccurrence
        present = np.flatnonzero(together.diagonal()).tolist()
        return [
            {"pairs with both": labels[at], **{labels[other]: int(together[at, other]) for other in present}}
            for at in present
        ]

    def json(self) -> Record:
        return self.profile.json()

    def tables(self) -> list[Table]:
        rows = self.records()
        header = tuple(rows[0]) if rows else ("pairs with both",)
        return [Table(header, tuple(tuple(map(str, row.values())) for row in rows))]

    def notes(self) -> list[Note]:
        return licence(self.profile.notice)


def labels_in(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """The typology's labels, then whatever else occurs."""
    return (*all_labels(), *sorted({group.label for pair in pairs for group in pair.groups} - set(all_labels())))


def counts(pairs: Sequence[Pair], labels: Sequence[str]) -> Ints:
    """Annotations of each label in each pair, shape (pairs, labels)."""
    by_pair = [Counter(group.label for group in pair.groups) for pair in pairs]
    table = np.array([[count[label] for label in labels] for count in by_pair], dtype=np.int64)
    return table.reshape(len(pairs), len(labels))


def profile(pairs: Sequence[Pair], *, name: str = "") -> Profile:
    """The profile of a set of annotated pairs."""
    labels = labels_in(pairs)
    table = counts(pairs, labels)
    present = (table > 0).astype(np.int64)
    sizes: dict[str, list[tuple[int, int]]] = {name: [] for name in labels}
    for group in (group for pair in pairs for group in pair.groups):
        sizes[group.label].append((len(group.source), len(group.output)))
    totals = zip(sizes.items(), present.sum(axis=0).tolist(), table.sum(axis=0).tolist(), strict=True)
    operations = (
        OperationCount(name, having, having / len(pairs) if pairs else np.nan, annotations, *_moments(tokens))
        for (name, tokens), having, annotations in totals
    )
    return Profile(
        name=name,
        pairs=len(pairs),
        unchanged=int((table.sum(axis=1) == 0).sum()),
        operations=tuple(operations),
        per_pair=dict(sorted(Counter(present.sum(axis=1).tolist()).items())),
        annotations_per_pair=dict(sorted(Counter(table.sum(axis=1).tolist()).items())),
        labels=labels,
        cooccurrence=present.T @ present,
    )


def profile_labelled(labelled: LabelledPairs) -> Profile:
    """The profile of what a labeller labelled, and of each system where there are several."""
    systems: dict[str, list[Pair]] = {}
    for pair in labelled.pairs:
        systems.setdefault(pair.part, []).append(pair)
    several = {system: profile(pairs, name=system) for system, pairs in systems.items()} if len(systems) > 1 else {}
    return replace(
        profile(labelled.pairs),
        systems=several,
        labeller=labelled.labeller,
        notice=labelled.notice,
        documents=labelled.documents,
    )


def _moments(sizes: Sequence[tuple[int, int]]) -> Iterator[float]:
    """Mean and (population) deviation of the tokens of each side; NaN where no annotation has a token there."""
    for side in zip(*sizes, strict=True) if sizes else ((), ()):
        yield float(np.mean(side)) if any(side) else np.nan
        yield float(np.std(side)) if any(side) else np.nan


@dataclass(frozen=True)
class ShareDifference:
    """How often a system does something, how often people do, and the difference in shares with its interval."""

    label: str
    share: float
    people: float
    difference: Estimate

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out zero."""
        return bool(self.difference.low > 0 or self.difference.high < 0)

    def numbers(self) -> Record:
        apart = self.difference
        return {
            "share": self.share, "people": self.people, "difference": apart.value, "low": apart.low, "high": apart.high
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class PeopleComparison(Result):
    """Every system's operations beside people's."""

    labeller: str
    notice: str
    systems: Mapping[str, tuple[ShareDifference, ...]]
    sampling: Sampling
    remarks: tuple[Note, ...] = ()

    def in_words(self, system: str) -> list[str]:
        """The largest certain differences: "splits the sentence in 12% of sentences (people: 28%)"."""
        certain = [row for row in self.systems[system] if row.certain and row.label != "err"]
        certain.sort(key=lambda row: -abs(row.difference.value))
        return [
            f"{operation(row.label).verb} in {percent(row.share)} of sentences (people: {percent(row.people)})"
            for row in certain[:_MAX_DIFFERENCES]
        ]

    def records(self) -> list[Record]:
        return [
            {"system": system, "operation": row.label, **row.numbers()}
            for system, rows in self.systems.items()
            for row in rows
        ]

    def json(self) -> Record:
        systems = []
        for system, rows in self.systems.items():
            operations = {row.label: row.numbers() for row in rows}
            systems.append({"system": system, "operations": operations, "in_words": self.in_words(system)})
        return payload(self, labeller=self.labeller, systems=systems)

    def tables(self) -> list[Table]:
        rows = []
        for same in zip(*self.systems.values(), strict=True):
            if same[0].people or any(row.share for row in same):
                shares = (f"{percent(row.share)}{'*' if row.certain else ' '}" for row in same)
                rows.append((same[0].label, percent(same[0].people), *shares))
        return [Table(("operation", "people", *self.systems), tuple(rows))]

    def notes(self) -> list[Note]:
        claims = [
            Note(f"{system}: " + ("; ".join(self.in_words(system)) or "does what people do"), kind="claim")
            for system in self.systems
        ]
        level = f"{100 * self.sampling.level:g} % bootstrap over sources"
        legend = f"Share of sentences with each operation. * differs from people's ({level})."
        return [*claims, Note(legend), *licence(self.notice), *self.remarks]


def compare_with_people(
    texts: Texts,
    *,
    people: Annotated | None = None,
    labeller: str = "light",
    sampling: Sampling = Sampling(),
    processes: int = 1,
    progress: Progress = no_progress,
) -> PeopleComparison:
    """Each system's operations beside those of people: of the references, labelled alike, or of annotated pairs."""
    evalset = texts.evalset
    sides = [between(evalset, outputs) for outputs in texts.outputs.values()]
    if people is None:
        if not evalset.references:
            raise BadInput("There is nothing to compare with: pass references= or annotated pairs of people (people=).")
        sides.append((*reference_pairs(evalset), [""] * int(evalset.reference_counts.sum()), ""))
    labelled = label_texts(sides, labeller=labeller, processes=processes, progress=progress)
    theirs = labelled.pop() if people is None else annotated(people)
    differences = [share_differences(pairs, theirs, sampling=sampling) for pairs in labelled]
    systems = dict(zip(texts.outputs, differences, strict=True))
    return PeopleComparison(labeller, loaded(labeller).notice, systems, sampling, unsuited(texts))


def share_differences(
    pairs: Sequence[Pair], people: Sequence[Pair], *, sampling: Sampling = Sampling()
) -> tuple[ShareDifference, ...]:
    """Shares of pairs with each operation, of a system and of people who simplified the same sources.

    Sources are drawn with replacement, each with all its outputs on both sides, so that neither ten references of one
    source nor a source that invites an operation counts for more than it should. Sources are told apart by their words.
    """
    labels = all_labels()
    ours, theirs = _by_source(pairs, labels), _by_source(people, labels)
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        raise BadInput("The two sets have no source in common, so that their profiles cannot be compared item by item.")
    rows = np.array([np.concatenate([ours[source], theirs[source]]) for source in shared])
    rng = np.random.default_rng(sampling.seed)
    weights = rng.multinomial(len(shared), np.full(len(shared), 1 / len(shared)), size=sampling.resamples)
    draws = weights.astype(np.float64) @ rows
    differences = interval(rows, lambda sums: np.subtract(*_shares(sums)), draws, sampling=sampling, unit="sources")
    share, of_people = _shares(rows.sum(axis=0))
    return tuple(map(ShareDifference, labels, share.tolist(), of_people.tolist(), differences))


def _by_source(pairs: Sequence[Pair], labels: Sequence[str]) -> dict[str, Floats]:
    """By source: pairs that hold each label, then the number of pairs."""
    present = np.minimum(counts(pairs, labels), 1)
    sums: dict[str, Floats] = {}
    for pair, row in zip(pairs, present, strict=True):
        key = squeeze(pair.source)
        sums[key] = sums.get(key, np.zeros(len(labels) + 1)) + np.append(row, 1)
    return sums


def _shares(sums: Floats) -> list[Floats]:
    """The shares of pairs with each label, of the system and of people."""
    return [part[..., :-1] / part[..., -1:] for part in np.split(sums, 2, axis=-1)]
