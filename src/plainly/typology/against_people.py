"""What systems do to sentences, beside what people do to the same sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from plainly.core.errors import BadInput, way
from plainly.core.formatting import percent
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.io.texts import TextArguments, take
from plainly.stats.resample import Estimate, Floats, interval
from plainly.typology.annotation import Pair, squeeze
from plainly.typology.label import loaded
from plainly.typology.labelling import Annotated, annotated, between, label_texts, licence, payload, unsuited
from plainly.typology.profiles import counts
from plainly.typology.select import reference_pairs
from plainly.typology.vocabulary import all_labels, operation

_MOST_SAID = 6  # differences in words


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
            for row in certain[:_MOST_SAID]
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
    data: Any = None,
    *,
    people: Annotated | None = None,
    labeller: str = "light",
    sampling: Sampling = Sampling(),
    processes: int = 1,
    progress: Progress = no_progress,
    **texts: Unpack[TextArguments],
) -> PeopleComparison:
    """Each system's operations beside those of people: of the references, labelled alike, or of annotated pairs."""
    inputs = take(data, **texts)
    evalset = inputs.evalset
    sides = [between(evalset, outputs) for outputs in inputs.outputs.values()]
    if people is None:
        if not evalset.references:
            references, pairs = way("references=", "--references FILE…"), way("people=", "--people SET")
            asked = f"give {references} or annotated pairs of people ({pairs})"
            raise BadInput(f"There is nobody to compare with: {asked}.")
        sides.append((*reference_pairs(evalset), [""] * int(evalset.reference_counts.sum()), ""))
    labelled = label_texts(sides, labeller=labeller, processes=processes, progress=progress)
    theirs = labelled.pop() if people is None else annotated(people)
    differences = [share_differences(pairs, theirs, sampling=sampling) for pairs in labelled]
    systems = dict(zip(inputs.outputs, differences, strict=True))
    return PeopleComparison(labeller, loaded(labeller).notice, systems, sampling, unsuited(inputs))


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
