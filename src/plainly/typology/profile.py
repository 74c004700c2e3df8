"""What a set of simplifications does, in numbers: which operations, how often, on how many words, with which others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput
from plainly.stats.estimate import Estimate
from plainly.typology.annotation import Pair
from plainly.typology.typology import all_labels

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OperationCount:
    """One operation in a set. Token means and deviations are over its annotations; NaN where a side has none at all."""

    label: str
    pairs: int
    annotations: int
    source_tokens: float
    source_deviation: float
    output_tokens: float
    output_deviation: float


@dataclass(frozen=True)
class Profile:
    """Counts of a set of annotated pairs. ``cooccurrence[i, j]`` is the number of pairs with both labels."""

    name: str
    pairs: int
    unchanged: int
    operations: tuple[OperationCount, ...]
    per_pair: dict[int, int]
    annotations_per_pair: dict[int, int]
    labels: tuple[str, ...]
    cooccurrence: Ints

    def __getitem__(self, label: str) -> OperationCount:
        return next(count for count in self.operations if count.label == label)

    def share(self, label: str) -> float:
        """The share of pairs in which the operation occurs."""
        return self[label].pairs / self.pairs if self.pairs else float("nan")

    def data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "name": self.name,
            "pairs": self.pairs,
            "unchanged": self.unchanged,
            "operations": [
                {
                    "label": each.label,
                    "pairs": each.pairs,
                    "share": self.share(each.label),
                    "annotations": each.annotations,
                    "source_tokens": _side(each.source_tokens, each.source_deviation),
                    "output_tokens": _side(each.output_tokens, each.output_deviation),
                }
                for each in self.operations
            ],
            "operations_per_pair": self.per_pair,
            "annotations_per_pair": self.annotations_per_pair,
            "cooccurrence": {"labels": list(self.labels), "pairs": self.cooccurrence.tolist()},
        }


@dataclass(frozen=True)
class Difference:
    """How often one set does something, how often another, and the difference in shares with its interval."""

    label: str
    share: float
    people: float
    difference: Estimate

    @property
    def ratio(self) -> float:
        return self.share / self.people if self.people else float("nan")

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out zero."""
        return bool(self.difference.low > 0 or self.difference.high < 0)


def labels_in(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """The typology's labels, then whatever else occurs."""
    others = sorted({group.label for pair in pairs for group in pair.groups} - set(all_labels()))
    return (*all_labels(), *others)


def counts(pairs: Sequence[Pair], labels: Sequence[str] | None = None) -> Ints:
    """Annotations of each label in each pair, shape (pairs, labels)."""
    labels = labels_in(pairs) if labels is None else labels
    column = {label: at for at, label in enumerate(labels)}
    found = np.zeros((len(pairs), len(labels)), dtype=np.int64)
    for row, pair in enumerate(pairs):
        for group in pair.groups:
            if group.label in column:
                found[row, column[group.label]] += 1
    return found


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
    operations = tuple(
        OperationCount(
            label,
            int(present[:, at].sum()),
            int(table[:, at].sum()),
            *_moments(sizes[label][0]),
            *_moments(sizes[label][1]),
        )
        for at, label in enumerate(labels)
    )
    return Profile(
        name=name,
        pairs=len(pairs),
        unchanged=int((table.sum(axis=1) == 0).sum()),
        operations=operations,
        per_pair=dict(sorted(Counter(map(int, present.sum(axis=1))).items())),
        annotations_per_pair=dict(sorted(Counter(map(int, table.sum(axis=1))).items())),
        labels=labels,
        cooccurrence=present.T @ present,
    )


def compare(
    pairs: Sequence[Pair],
    people: Sequence[Pair],
    *,
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator,
) -> tuple[Difference, ...]:
    """Shares of pairs with each operation, of a system and of people who simplified the same sources.

    Sources are drawn with replacement, each with all its outputs on both sides, so that neither ten references of one
    source nor a source that invites an operation counts for more than it should. Sources are told apart by their words.
    """
    labels = all_labels()
    ours, theirs = _by_source(pairs, labels), _by_source(people, labels)
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        raise BadInput("The two sets have no source in common, so that their profiles cannot be compared item by item.")
    sums = [np.array([table[source] for source in shared]) for table in (ours, theirs)]
    weights = rng.multinomial(len(shared), np.full(len(shared), 1 / len(shared)), size=resamples).astype(np.float64)
    drawn = [_shares(weights @ each) for each in sums]
    point = [_shares(each.sum(axis=0)) for each in sums]
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(drawn[0] - drawn[1], [tail, 100 - tail], axis=0)
    return tuple(
        Difference(
            label,
            float(point[0][at]),
            float(point[1][at]),
            Estimate(
                value=float(point[0][at] - point[1][at]),
                low=float(low[at]),
                high=float(high[at]),
                level=level,
                n=len(shared),
                method=f"percentile bootstrap over {len(shared)} sources, {resamples} draws",
            ),
        )
        for at, label in enumerate(labels)
    )


def sentences(differences: Sequence[Difference], *, at_most: int = 6) -> list[str]:
    """The largest certain differences in words: "splits 12 % of sentences (people: 28 %)"."""
    certain = [each for each in differences if each.certain and each.label != "err"]
    certain.sort(key=lambda each: -abs(each.difference.value))
    return [
        f"{_VERBS[each.label]} in {each.share:.0%} of sentences (people: {each.people:.0%})"
        for each in certain[:at_most]
    ]


_VERBS = {
    "synonym": "replaces words with synonyms",
    "hyperonym": "uses a broader term",
    "hyponym": "uses a narrower term",
    "s2p": "turns singular to plural",
    "p2s": "turns plural to singular",
    "verbf": "changes tense or modality",
    "POSchange": "changes a word's part of speech",
    "pron": "brings in a pronoun",
    "fromPron": "resolves a pronoun",
    "move": "moves words",
    "inprop": "inserts a clause",
    "inmod": "inserts a modifier",
    "inoth": "inserts other words",
    "incst": "inserts words for consistency",
    "delprop": "deletes a clause",
    "delmod": "deletes a modifier",
    "deloth": "deletes other words",
    "delcst": "deletes words for consistency",
    "a2p": "turns active to passive",
    "p2a": "turns passive to active",
    "split": "splits the sentence",
    "merge": "merges sentences",
    "toImp": "uses an impersonal form",
    "fromImp": "drops an impersonal form",
    "pos2neg": "brings in a negation",
    "neg2pos": "drops a negation",
    "err": "errs",
}


def squeeze(text: str) -> str:
    """A text without white space and case: equal for the same sentence however it was tokenised."""
    return "".join(text.split()).casefold()


def _by_source(pairs: Sequence[Pair], labels: Sequence[str]) -> dict[str, Floats]:
    """By source: pairs that hold each label, then the number of pairs."""
    present = np.minimum(counts(pairs, labels), 1)
    found: dict[str, Floats] = {}
    for pair, row in zip(pairs, present, strict=True):
        key = squeeze(pair.source)
        found[key] = found.get(key, np.zeros(len(labels) + 1)) + np.append(row, 1)
    return found


def _shares(sums: Floats) -> Floats:
    shares: Floats = sums[..., :-1] / sums[..., -1:]
    return shares


def _moments(sizes: Sequence[int]) -> tuple[float, float]:
    """Mean and (population) standard deviation, NaN for a side on which no annotation has a token."""
    if not any(sizes):
        return float("nan"), float("nan")
    return float(np.mean(sizes)), float(np.std(sizes))


def _side(mean: float, deviation: float) -> dict[str, float | None]:
    return {"mean": None if np.isnan(mean) else mean, "deviation": None if np.isnan(deviation) else deviation}
