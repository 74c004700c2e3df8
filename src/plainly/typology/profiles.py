"""What a set of simplifications does, in numbers: which operations, how often, on how many words, with which others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from plainly.core.formatting import number, percent
from plainly.core.result import Note, Record, Result, Table
from plainly.typology.annotation import SIDES, Pair
from plainly.typology.features import Ints
from plainly.typology.labelling import LabelledPairs, licence, payload
from plainly.typology.sentence_alignment import sentence_table
from plainly.typology.vocabulary import all_labels


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
    others = sorted({group.label for pair in pairs for group in pair.groups} - set(all_labels()))
    return (*all_labels(), *others)


def counts(pairs: Sequence[Pair], labels: Sequence[str]) -> Ints:
    """Annotations of each label in each pair, shape (pairs, labels)."""
    column = {label: at for at, label in enumerate(labels)}
    table = np.zeros((len(pairs), len(labels)), dtype=np.int64)
    for row, pair in enumerate(pairs):
        for group in pair.groups:
            if group.label in column:
                table[row, column[group.label]] += 1
    return table


def profile(pairs: Sequence[Pair], *, name: str = "") -> Profile:
    """The profile of a set of annotated pairs."""
    labels = labels_in(pairs)
    table = counts(pairs, labels)
    present = (table > 0).astype(np.int64)
    sizes: dict[str, tuple[list[int], list[int]]] = {label: ([], []) for label in labels}
    for pair in pairs:
        for group in pair.groups:
            sizes[group.label][0].append(len(group.source))
            sizes[group.label][1].append(len(group.output))
    operations = []
    totals = zip(labels, present.sum(axis=0).tolist(), table.sum(axis=0).tolist(), strict=True)
    for label, having, marked in totals:
        share = having / len(pairs) if pairs else float("nan")
        moments = (moment for side in sizes[label] for moment in _moments(side))
        operations.append(OperationCount(label, having, share, marked, *moments))
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


def _moments(sizes: Sequence[int]) -> tuple[float, float]:
    """Mean and (population) standard deviation, NaN for a side on which no annotation has a token."""
    if not any(sizes):
        return float("nan"), float("nan")
    return float(np.mean(sizes)), float(np.std(sizes))
