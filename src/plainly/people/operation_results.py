"""The result of a study in which people marked operations: how often each system does what, and what is confused.

An operation either occurs in an output or not, for each annotator. These ones and zeros are treated as ratings, so that
rates and their differences have the intervals and tests of ``plainly.people.rating_comparisons``, over items and
annotators. Agreement and confusions are about tokens, as in the annotation paper (Cardon et al. 2022): the label of a
token is the first of the first group that contains it, or none.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from plainly.core.errors import BadInput, UnknownName
from plainly.core.formatting import count_noun, p_value, percent
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.sampling import Sampling
from plainly.people.rating_comparisons import METHOD, Reliability, compare_ratings, note_on_excluded
from plainly.people.rating_tables import RatingsLike, is_true, read_studio_table
from plainly.people.ratings import Judgements, Rating
from plainly.scoring.comparisons import Comparison, Comparisons
from plainly.stats.agreement import krippendorff
from plainly.stats.crossed import Contrast, contrast
from plainly.stats.resample import Estimate, Floats, ratio
from plainly.text.words import token_spans

NONE = "none"
_MOST_CONFUSED = 3
_SIDES = ("source", "output")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one annotator marked in one output: the operations, and the label of each token of source and output."""

    system: str
    item: str
    rater: str
    operations: frozenset[str]
    tokens: tuple[str, ...]
    excluded: bool = False  # the study excluded the annotator


def read_annotations(ratings: RatingsLike) -> tuple[Annotation, ...] | None:
    """Read the operations that people marked in a study, or in its export; return None for other ratings."""
    table = read_studio_table(ratings)
    if table is None or "source_tokens" not in table.columns:
        return None
    rows = [dict(zip(table.columns, cells, strict=True)) for cells in zip(*table.columns.values(), strict=True)]
    keys = [(str(row["system"]), str(row["item"]), str(row["rater"])) for row in rows]
    answers: dict[tuple[str, str, str], list[Record]] = {}
    for key, row in zip(keys, rows, strict=True):
        if not is_true(row["cannot_judge"]):
            answers.setdefault(key, []).append(row)
    return tuple(_annotation(*key, groups) for key, groups in answers.items())


def _annotation(system: str, item: str, rater: str, groups: Sequence[Record]) -> Annotation:
    """Return an answer, of which each group of tokens is a row; without operations, there is one row without labels."""
    labels = [str(group["labels"] or "").split(",") if group["labels"] else [] for group in groups]
    tokens: list[str] = []
    for side in _SIDES:
        names = [NONE] * len(token_spans(str(groups[0][side]), str(groups[0]["tokens"])))
        for group, operations in reversed(list(zip(groups, labels, strict=True))):
            for token in str(group[f"{side}_tokens"] if group[f"{side}_tokens"] is not None else "").split(","):
                if token:
                    names[int(float(token))] = operations[0]
        tokens += names
    marked = frozenset(itertools.chain.from_iterable(labels))
    return Annotation(system, item, rater, marked, tuple(tokens), is_true(groups[0]["excluded"]))


@dataclass(frozen=True)
class Confusions:
    """How annotators label the same token: ``counts[i, j]`` is how often one chose label i where another chose j.

    The pairs of annotators of one token count as one token together (Krippendorff's coincidences).
    """

    labels: tuple[str, ...]
    counts: Floats

    def share(self, label: str) -> dict[str, float]:
        """Return what other annotators chose where one chose this label, the most frequent first."""
        row = self.counts[self.labels.index(label)]
        shares = dict(zip(self.labels, ratio(row, row.sum()).tolist(), strict=True))
        return dict(sorted(shares.items(), key=lambda entry: -entry[1]))

    def records(self) -> list[Record]:
        return [
            {"label": one, "other": other, "tokens": float(self.counts[i, j]), "share": self.share(one)[other]}
            for i, one in enumerate(self.labels)
            for j, other in enumerate(self.labels)
            if self.counts[i, j] > 0
        ]

    def table(self) -> Table:
        rows = []
        for label in sorted(self.labels, key=lambda name: -self.counts[self.labels.index(name)].sum()):
            shares = self.share(label)
            others = [f"{name} {percent(part)}" for name, part in shares.items() if part >= 0.005 and name != label]
            tokens = self.counts[self.labels.index(label)].sum()
            if label != NONE and tokens:
                rows.append((label, f"{tokens:.0f}", percent(shares[label]), ", ".join(others[:_MOST_CONFUSED])))
        caption = "Tokens that an annotator labels so, and what another annotator of the same output chooses there"
        header = ("operation", "tokens", "the same", "others, most frequent first")
        return Table(header, tuple(rows), caption, text_columns=frozenset({0, 3}))


@dataclass(frozen=True, repr=False)
class OperationResults(Result):
    """How often each operation occurs in the outputs of each system, with intervals and tests over items and raters.

    ``judgements`` has a dimension for each operation, 1 where an annotator marked it in an output. ``everyone`` is the
    result with the annotators whom the study excluded, if there are any.
    """

    judgements: Judgements
    comparisons: Comparisons
    reliability: Reliability | None
    confusions: Confusions
    annotations: int
    everyone: OperationResults | None = None

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations that occur, the most frequent first."""
        means = {name: float(np.nanmean(self.judgements[name].system_means)) for name in self.judgements}
        return tuple(sorted(means, key=lambda name: (-means[name], name)))

    def rate(self, operation: str, system: str) -> Estimate:
        """Return the share of a system's outputs that have an operation, with its interval over items and raters."""
        ratings = self.judgements[operation]
        place = ratings.systems.index(system)
        outputs = int((ratings.counts[place] > 0).sum())
        return estimate_rate(contrast(ratings.values[[place]], np.ones(1)), outputs, self.comparisons.sampling.level)

    @property
    def claims(self) -> list[str]:
        """Which system does what more often, a sentence for each operation on which systems can be told apart."""
        pairs = [pair for name in self.operations for pair in self._differing(name)]
        if not pairs and self.comparisons.comparisons:
            return [f"No two systems can be told apart by how often they use an operation ({self._correction})."]
        return [
            f"{pair.metric}: {pair.winner} has it more often than {_loser(pair)}, by {percent(abs(pair.difference))} "
            f"of the outputs ({pair.level:.0%} interval {percent(_ends(pair)[0])} to {percent(_ends(pair)[1])}; "
            f"p = {p_value(pair.p_holm)}, {self._correction})."
            for pair in pairs
        ]

    def records(self) -> list[Record]:
        """Return one flat record for each operation and system."""
        return [
            {
                "operation": operation,
                "system": system,
                "rate": self.rate(operation, system).value,
                "low": self.rate(operation, system).low,
                "high": self.rate(operation, system).high,
                "outputs": self.rate(operation, system).n,
            }
            for operation in self.operations
            for system in self.judgements.systems
        ]

    def json(self) -> Record:
        """Return the schema plainly.operation-results/1."""
        pairs = [pair.json() for pair in self.comparisons.comparisons]
        return {
            "schema": "plainly.operation-results/1",
            "ratings": self.judgements.name,
            "level": self.comparisons.sampling.level,
            "annotations": self.annotations,
            "raters": self._raters,
            "rates": self.records(),
            "comparisons": pairs,
            "family": "all comparisons of one operation",
            "claims": self.claims,
            "confusions": self.confusions.records(),
            "reliability": self.reliability and self.reliability.json(),
            "with_excluded": self.everyone and {"rates": self.everyone.records(), "claims": self.everyone.claims},
            "warnings": warnings(self),
        }

    def tables(self) -> list[Table]:
        """Return the rates by system, and what annotators confuse if there are several."""
        systems, rows = self.judgements.systems, []
        for operation in self.operations:
            rates = [self.rate(operation, system) for system in systems]
            apart = ", ".join(f"{pair.winner} > {_loser(pair)}" for pair in self._differing(operation))
            cells = [f"{percent(rate.value)} [{percent(rate.low)}, {percent(rate.high)}]" for rate in rates]
            rows.append((operation, *cells, *((apart,) if len(systems) > 1 else ())))
        caption = (
            f"Outputs with each operation: {count_noun(self.annotations, 'annotation')} by "
            f"{count_noun(self._raters, 'annotator')}, with {self.comparisons.sampling.level:.0%} intervals"
        )
        header = ("operation", *systems, *(("more often",) if len(systems) > 1 else ()))
        tables = [Table(header, tuple(rows), caption, text_columns=frozenset({0, len(systems) + 1}))]
        if self.everyone is not None:
            table = self.everyone.tables()[0]
            tables.append(dataclasses.replace(table, caption=f"With excluded annotators. {table.caption}"))
        return tables + ([self.confusions.table()] if self.confusions.counts.any() else [])

    def notes(self) -> list[Note]:
        notes = [Note(claim, "claim") for claim in self.claims]
        if self.reliability is not None:
            notes.append(Note(self.reliability.sentence, "claim"))
        if self.everyone is not None:
            notes.append(note_on_excluded(self.comparisons, self.everyone.comparisons, self.everyone.claims))
        about = (
            f"{self.judgements.name}: {count_noun(len(self.judgements.items), 'item')}. Intervals and tests over items "
            "and annotators, by a mixed model in which both are samples."
        )
        if self._raters < 2:
            about = "One annotator: intervals and tests are about other items, not about other annotators."
        return [*notes, Note(about), *(self.judgements.few_items() if self.reliability else [])]

    @property
    def _raters(self) -> int:
        return max(ratings.count_raters() for ratings in self.judgements.ratings.values())

    @property
    def _correction(self) -> str:
        family = self.comparisons.family(self.operations[0])
        level = f"{1 - self.comparisons.sampling.level:.0%} level"
        return level + (f", Holm over {family} comparisons" if family > 1 else "")

    def _differing(self, operation: str) -> Iterator[Comparison]:
        return (pair for pair in self.comparisons.deciding_comparisons(operation) if pair.winner is not None)


def count_operations(
    annotations: Sequence[Annotation],
    *,
    name: str = "operations",
    baseline: str | None = None,
    sampling: Sampling = Sampling(),
) -> OperationResults:
    """Compute how often each system uses each operation, which differences may be claimed, and what is confused."""
    result = _count([each for each in annotations if not each.excluded], name, baseline, sampling)
    if any(each.excluded for each in annotations):
        result = dataclasses.replace(result, everyone=_count(annotations, name, baseline, sampling))
    return result


def operation_judgements(annotations: Sequence[Annotation], *, name: str = "operations") -> Judgements:
    """Return annotations as ratings: for each operation, 1 where an annotator marked it in an output, else 0.

    The annotations of excluded people do not count.
    """
    return _judgements([each for each in annotations if not each.excluded], name)


def _judgements(annotations: Sequence[Annotation], name: str) -> Judgements:
    labels = sorted(frozenset().union(*(each.operations for each in annotations)))
    if not labels:
        raise BadInput(f"{name}: no operation has been marked yet.")
    ratings = [
        Rating(each.system, each.item, each.rater, label, float(label in each.operations))
        for label in labels
        for each in annotations
    ]
    return Judgements.of(name, ratings, scales=dict.fromkeys(labels, (0.0, 1.0)))


def _count(annotations: Sequence[Annotation], name: str, baseline: str | None, sampling: Sampling) -> OperationResults:
    judgements = _judgements(annotations, name)
    if baseline is not None and baseline not in judgements.systems:
        raise UnknownName("baseline", baseline, judgements.systems, see="plainly results --help")
    comparisons = compare_ratings(judgements, judgements.ratings, baseline=baseline, sampling=sampling)
    labels = (*judgements.dimensions, NONE)
    matrix, items = _label_tokens(annotations, labels)
    reliability = None
    if matrix.shape[1] > 1:
        estimate = krippendorff(matrix, distance="nominal").estimate(sampling, groups=items)
        reliability = Reliability("labels of tokens", "Krippendorff's nominal alpha", estimate, of="annotations")
    return OperationResults(
        judgements, comparisons, reliability, Confusions(labels, _coincidences(matrix, len(labels))), len(annotations)
    )


def _label_tokens(annotations: Sequence[Annotation], labels: Sequence[str]) -> tuple[Floats, list[str]]:
    """Return the number of each token's label, (tokens, annotations of its output), and the item of each token."""
    numbers = {label: at for at, label in enumerate(labels)}
    outputs: dict[tuple[str, str], list[Annotation]] = {}
    for each in annotations:
        outputs.setdefault((each.system, each.item), []).append(each)
    width = max(map(len, outputs.values()))
    blocks, items = [], []
    for (_, item), group in outputs.items():
        block = np.full((len(group[0].tokens), width), np.nan)
        for column, each in enumerate(group):
            block[:, column] = [numbers[label] for label in each.tokens]
        blocks.append(block)
        items += [item] * len(block)
    return np.concatenate(blocks), items


def _coincidences(matrix: Floats, size: int) -> Floats:
    """Return how often two annotators of a token chose each pair of labels; the pairs of a token add up to its raters.

    >>> _coincidences(np.array([[0.0, 1.0]]), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    counts = np.stack([(matrix == label).sum(axis=1) for label in range(size)], axis=1).astype(float)
    raters = counts.sum(axis=1, keepdims=True)
    weighted = np.divide(counts, raters - 1, out=np.zeros_like(counts), where=raters > 1)
    return np.asarray(weighted.T @ counts - np.diag(weighted.sum(axis=0)))


def estimate_rate(mean: Contrast, outputs: int, level: float) -> Estimate:
    """Return a rate with Wilson's interval (1927), for as many independent outputs as would make it vary as much.

    A symmetric interval would be too short near 0 and 1, and of no width at them; there all outputs are independent.
    """
    p, half = mean.value, mean.half_width(level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    k = half**2 / (p * (1 - p)) if 0 < p < 1 and half > 0 else z**2 / outputs
    centre, reach = (p + k / 2) / (1 + k), math.sqrt(k * p * (1 - p) + k**2 / 4) / (1 + k)
    return Estimate(p, max(0.0, centre - reach), min(1.0, centre + reach), level, outputs, METHOD)


def _loser(pair: Comparison) -> str:
    return pair.baseline if pair.winner == pair.system else pair.system


def _ends(pair: Comparison) -> tuple[float, float]:
    """Return the interval of how much more often the winner has an operation."""
    low, high = (pair.low, pair.high) if pair.winner == pair.system else (-pair.high, -pair.low)
    return low, min(high, 1.0)
