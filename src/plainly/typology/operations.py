"""Profiles of operations: how often each occurs, and how systems compare with people.

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
from plainly.core.formatting import count_noun, listed, number, percent
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.texts import Outputs, TextArguments, Texts
from plainly.io.units import Unit
from plainly.stats.resample import Estimate, Floats, interval
from plainly.typology.annotation import SIDES, Pair, squeeze
from plainly.typology.features import Ints
from plainly.typology.labelling import (
    Annotated,
    LabelledPairs,
    label_arguments,
    label_texts,
    load_annotated,
    note_inputs,
    note_licence,
    pair_texts,
    payload,
    set_name,
)
from plainly.typology.selection import reference_pairs
from plainly.typology.sentence_alignment import sentence_table
from plainly.typology.vocabulary import all_labels, describe, operation

_MAX_DIFFERENCES = 6  # differences that are described in words


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
    """Count how often each operation occurs, on how many words and with which others.

    ``data`` is annotated pairs (a file, a set such as ``"assetann/annotations"``, a result of ``label``) or texts as in
    ``plainly.score``, which are labelled first.
    """
    if isinstance(data, LabelledPairs):
        return profile_labelled(data)
    if isinstance(data, str | Path) or (isinstance(data, Sequence) and data and isinstance(data[0], Pair)):
        return profile(load_annotated(data), name=set_name(data))
    arguments = TextArguments(sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit)
    pairs = label_arguments(data, arguments, labeller=labeller, processes=processes, progress=progress)
    return profile_labelled(pairs)


@dataclass(frozen=True)
class OperationCount:
    """One operation in a set. Means and deviations of tokens are over its annotations; NaN where a side has none."""

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
    cooccurrence: Ints  # [i, j] is the number of pairs with both operations.
    systems: Mapping[str, Profile] = field(default_factory=dict)  # Where there are several.
    labeller: str = ""  # Empty where people annotated.
    documents: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # What became of sentences, by system.
    remarks: tuple[Note, ...] = ()

    def __getitem__(self, label: str) -> OperationCount:
        return next(count for count in self.operations if count.label == label)

    def together(self) -> Cooccurrence:
        """Return which operations occur together."""
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
        tables = [sentence_table(self.documents)] if self.documents else []
        if self.systems:
            labels = (count.label for count in self._by_frequency())
            systems = self.systems.values()
            rows = [(describe(label), *(percent(system[label].share) for system in systems)) for label in labels]
            return [*tables, Table(("operation", *self.systems), tuple(rows))]
        header = ("operation", "pairs", "share", "annotations", "source words", "output words")
        rows = []
        for count in self._by_frequency():
            words = (number(mean, undefined="–") for mean in (count.source_tokens, count.output_tokens))
            numbers = (str(count.pairs), percent(count.share, 1), str(count.annotations))
            rows.append((describe(count.label), *numbers, *words))
        return [*tables, Table(header, tuple(rows))]

    def notes(self) -> list[Note]:
        distribution = ", ".join(f"{operations}: {pairs}" for operations, pairs in self.per_pair.items())
        counts = f"{self.pairs} pairs, {self.unchanged} without any operation."
        about = Note(f"{counts} Pairs by number of operations: {distribution}")
        return [about, *note_licence(self.labeller), *self.remarks]

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
            "cooccurrence": {"labels": [row["label"] for row in operations], "pairs": self.cooccurrence.tolist()},
        }


@dataclass(frozen=True, repr=False)
class Cooccurrence(Result):
    """Operations of a profile that occur together, and in how many pairs."""

    profile: Profile

    def records(self) -> list[Record]:
        """Return one row per operation, with a column for each other."""
        together = self.profile.cooccurrence
        labels = [count.label for count in self.profile.operations]
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
        cells = [[str(value) for value in row.values()] for row in rows]
        return [Table(header, tuple((describe(label), *counts) for label, *counts in cells))]

    def notes(self) -> list[Note]:
        return note_licence(self.profile.labeller)


def labels_in(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Return the labels of the typology, then any others that occur."""
    return (*all_labels(), *sorted({group.label for pair in pairs for group in pair.groups} - set(all_labels())))


def counts(pairs: Sequence[Pair], labels: Sequence[str]) -> Ints:
    """Count the annotations of each label in each pair, shape (pairs, labels)."""
    by_pair = [Counter(group.label for group in pair.groups) for pair in pairs]
    table = np.array([[count[label] for label in labels] for count in by_pair], dtype=np.int64)
    return table.reshape(len(pairs), len(labels))


def profile(pairs: Sequence[Pair], *, name: str = "") -> Profile:
    """Return the profile of a set of annotated pairs."""
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
        cooccurrence=present.T @ present,
    )


def profile_labelled(labelled: LabelledPairs) -> Profile:
    """Return the profile of labelled pairs, and of each system where there are several."""
    systems: dict[str, list[Pair]] = {}
    for pair in labelled.pairs:
        systems.setdefault(pair.part, []).append(pair)
    several = {system: profile(pairs, name=system) for system, pairs in systems.items()} if len(systems) > 1 else {}
    whole = profile(labelled.pairs)
    fields = {name: getattr(labelled, name) for name in ("labeller", "documents", "remarks")}
    return replace(whole, systems=several, **fields)


def _moments(sizes: Sequence[tuple[int, int]]) -> Iterator[float]:
    """Yield mean and population deviation of the tokens of each side; NaN where no annotation has a token there."""
    for side in zip(*sizes, strict=True) if sizes else ((), ()):
        yield float(np.mean(side)) if any(side) else np.nan
        yield float(np.std(side)) if any(side) else np.nan


@dataclass(frozen=True)
class ShareDifference:
    """The share of an operation for a system and for people, and the difference with its interval."""

    label: str
    share: float
    people: float
    difference: Estimate

    @property
    def certain(self) -> bool:
        """Whether the interval excludes zero."""
        return bool(self.difference.low > 0 or self.difference.high < 0)

    def numbers(self) -> Record:
        difference, low, high = self.difference.value, self.difference.low, self.difference.high
        return {"share": self.share, "people": self.people, "difference": difference, "low": low, "high": high}


@dataclass(frozen=True, repr=False)
class PeopleComparison(Result):
    """The operations of every system beside those of people."""

    labeller: str
    systems: Mapping[str, tuple[ShareDifference, ...]]
    sampling: Sampling
    remarks: tuple[Note, ...] = ()

    def in_words(self, system: str) -> list[str]:
        """Return the largest certain differences: "splits the sentence in 12% of sentences (people: 28%)"."""
        certain = [row for row in self.systems[system] if row.certain and row.label != "err"]
        certain.sort(key=lambda row: -abs(row.difference.value))
        return [
            f"{operation(row.label).verb} in {percent(row.share)} of sentences (people: {percent(row.people)})"
            for row in certain[:_MAX_DIFFERENCES]
        ]

    def records(self) -> list[Record]:
        listed = [(system, row) for system, rows in self.systems.items() for row in rows]
        return [{"system": system, "operation": row.label, **row.numbers()} for system, row in listed]

    def json(self) -> Record:
        systems = []
        for system, rows in self.systems.items():
            operations = {row.label: row.numbers() for row in rows}
            systems.append({"system": system, "operations": operations, "in_words": self.in_words(system)})
        return payload(self, labeller=self.labeller, systems=systems)

    def tables(self) -> list[Table]:
        rows = [
            (
                describe(same[0].label),
                percent(same[0].people),
                *(f"{percent(row.share)}{'*' if row.certain else ' '}" for row in same),
            )
            for same in zip(*self.systems.values(), strict=True)
            if same[0].people or any(row.share for row in same)
        ]
        return [Table(("operation", "people", *self.systems), tuple(rows))]

    def notes(self) -> list[Note]:
        claims = [
            Note(f"{system}: " + ("; ".join(self.in_words(system)) or "does what people do"), kind="claim")
            for system in self.systems
        ]
        level = f"{100 * self.sampling.level:g} % bootstrap over sources"
        legend = f"Share of sentences with each operation. * differs from people's ({level})."
        return [*claims, Note(legend), *note_licence(self.labeller), *self.remarks]


def compare_with_people(
    texts: Texts,
    *,
    people: Annotated | None = None,
    labeller: str = "light",
    sampling: Sampling = Sampling(),
    processes: int = 1,
    progress: Progress = no_progress,
) -> PeopleComparison:
    """Compare each system's operations with people's: in the references, labelled alike, or in annotated pairs."""
    texts = _compared_texts(texts)
    evalset = texts.evalset
    sides = [pair_texts(texts, system) for system in texts.outputs]
    if people is None:
        if not evalset.references:
            raise BadInput("There is nothing to compare with. Pass references= or annotated pairs of people (people=).")
        sides.append((*reference_pairs(evalset), [""] * int(evalset.reference_counts.sum()), ""))
    pairs_by_system = label_texts(sides, labeller=labeller, processes=processes, progress=progress)
    people_pairs = pairs_by_system.pop() if people is None else load_annotated(people)
    differences = [share_differences(pairs, people_pairs, sampling=sampling) for pairs in pairs_by_system]
    systems = dict(zip(texts.outputs, differences, strict=True))
    return PeopleComparison(labeller, systems, sampling, note_inputs(texts))


def _compared_texts(texts: Texts) -> Texts:
    """Return the items that all systems have, with a note on how many where some lack items."""
    shared = texts.shared()
    if len(shared.evalset) == len(texts.evalset):
        return shared
    if not len(shared.evalset):
        raise BadInput(f"{listed(texts.systems)} have no item in common. Leave out those that have the fewest.")
    items = f"{len(shared.evalset)} of {count_noun(len(texts.evalset), 'item')}"
    who = "all systems have" if len(texts.outputs) > 1 else "the system has"
    return replace(shared, notes=(*texts.notes, Note(f"Compared on the {items} that {who}.")))


def share_differences(
    pairs: Sequence[Pair], people: Sequence[Pair], *, sampling: Sampling = Sampling()
) -> tuple[ShareDifference, ...]:
    """Compare the shares of pairs with each operation between a system and people who simplified the same sources.

    Sources are drawn with replacement, each with all its outputs on both sides, so that neither ten references of one
    source nor an unusual source gets too much weight. Sources are identified by their words.
    """
    labels = all_labels()
    system_sums, people_sums = _by_source(pairs, labels), _by_source(people, labels)
    sources = sorted(system_sums.keys() & people_sums.keys())
    if not sources:
        raise BadInput("The two sets have no source in common. Pass annotations of the same sources.")
    rows = np.array([np.concatenate([system_sums[source], people_sums[source]]) for source in sources])
    rng = np.random.default_rng(sampling.seed)
    weights = rng.multinomial(len(sources), np.full(len(sources), 1 / len(sources)), size=sampling.resamples)
    draws = weights.astype(np.float64) @ rows
    differences = interval(rows, lambda sums: np.subtract(*_shares(sums)), draws, sampling=sampling, unit="sources")
    share, people_share = _shares(rows.sum(axis=0))
    return tuple(map(ShareDifference, labels, share.tolist(), people_share.tolist(), differences))


def _by_source(pairs: Sequence[Pair], labels: Sequence[str]) -> dict[str, Floats]:
    """Return, for each source, the number of pairs with each label, then the number of pairs."""
    present = np.minimum(counts(pairs, labels), 1)
    sums: dict[str, Floats] = {}
    for pair, row in zip(pairs, present, strict=True):
        key = squeeze(pair.source)
        sums[key] = sums.get(key, np.zeros(len(labels) + 1)) + np.append(row, 1)
    return sums


def _shares(sums: Floats) -> list[Floats]:
    """Return the shares of pairs with each label, of the system and of people."""
    return [part[..., :-1] / part[..., -1:] for part in np.split(sums, 2, axis=-1)]
