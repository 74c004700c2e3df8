"""Do annotators mark the same operations, by their guide's rules? Agreement token by token, and repairs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from plainly.core.errors import BadInput, UnknownName
from plainly.core.formatting import number
from plainly.core.result import Note, Record, Result, Table
from plainly.stats import agreement as statistics
from plainly.typology import annotation, formats
from plainly.typology.annotation import SIDES, Pair, TextSide, token_labels
from plainly.typology.labelling import Annotated, annotated, payload, set_name
from plainly.typology.vocabulary import NONE, all_labels, known, operation

Merge = Literal["labels", "insertions-deletions", "computational", "changed"]
TokenLabels = Mapping[str, Sequence[str]]  # by annotator, for the same tokens


@dataclass(frozen=True)
class LabelScore:
    """One label of one annotator against the gold, over tokens; undefined is NaN."""

    label: str
    gold: int
    marked: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class AgainstGold:
    """One annotator's tokens on one side against the gold's. Both F1 leave out ``none``."""

    annotator: str
    side: TextSide
    tokens: int
    kappa: float
    accuracy: float
    micro_f1: float  # Of exact labels, over all tokens that either marks as changed.
    macro_f1: float  # The mean over the labels that the gold holds on this side.
    labels: tuple[LabelScore, ...]

    def records(self) -> list[Record]:
        """All labels together, then each."""
        overall = {"label": "all", **asdict(self)}
        rows = (overall, *overall.pop("labels"))
        return [{"annotator": self.annotator, "side": self.side, **row} for row in rows]

    def json(self) -> Record:
        plain = asdict(self)
        return plain | {"labels": {score.pop("label"): score for score in plain["labels"]}}

    def table(self, caption: str, *, decimals: int = 2, beside: Mapping[str, Sequence[float]] | None = None) -> Table:
        """The labels one by one; ``beside`` are others' recall and precision."""
        people = () if beside is None else ("people's precision", "people's recall")
        rows = []
        for score in self.labels:
            numbers = (number(value, decimals, undefined="–") for value in (score.precision, score.recall, score.f1))
            others: Iterable[str] = ()
            if beside is not None:
                others = map(number, reversed(beside[score.label])) if score.label in beside else "––"
            rows.append((score.label, str(score.gold), str(score.marked), *numbers, *others))
        return Table(("label", "gold", "marked", "precision", "recall", "F1", *people), tuple(rows), caption)


@dataclass(frozen=True, repr=False)
class GoldAgreement(Result):
    """How far annotators agree with a gold."""

    gold: str
    merge: Merge
    annotators: tuple[AgainstGold, ...]

    def records(self) -> list[Record]:
        return [row for annotator in self.annotators for row in annotator.records()]

    def json(self) -> Record:
        annotators = [annotator.json() for annotator in self.annotators]
        return payload(self, gold=self.gold, merge=self.merge, annotators=annotators)

    def tables(self) -> list[Table]:
        tables = []
        for side in self.annotators:
            kappa, micro, macro = (number(value, 3) for value in (side.kappa, side.micro_f1, side.macro_f1))
            overall = f"kappa {kappa}, micro F1 {micro}, macro F1 {macro}, {side.tokens} tokens"
            tables.append(side.table(f"{side.annotator}, {side.side}: {overall}"))
        return tables


@dataclass(frozen=True, repr=False)
class AnnotatorAgreement(Result):
    """How far annotators agree with one another: Davies–Fleiss kappa overall, and of each label against the others."""

    annotators: tuple[str, ...]
    merge: Merge
    tokens: Mapping[TextSide, int]
    kappas: Mapping[TextSide, float]
    labels: Mapping[TextSide, Mapping[str, float]]

    def records(self) -> list[Record]:
        return [
            {"side": side, "label": label, "davies_fleiss": kappa}
            for side in SIDES
            for label, kappa in (("all", self.kappas[side]), *self.labels[side].items())
        ]

    def json(self) -> Record:
        sides = {
            side: {"tokens": self.tokens[side], "davies_fleiss": self.kappas[side], "labels": self.labels[side]}
            for side in SIDES
        }
        return payload(self, annotators=list(self.annotators), merge=self.merge, agreement=sides)

    def tables(self) -> list[Table]:
        kappas = ((*row.values(),) for row in self.records())
        rows = tuple((side, label, number(kappa, 3, undefined="–")) for side, label, kappa in kappas)
        return [Table(("side", "label", "Davies–Fleiss kappa"), rows, text_columns=frozenset({0, 1}))]


@dataclass(frozen=True, repr=False)
class Repair(Result):
    """What an annotation's guide does not allow in it, what was put right, and the pairs as they are then."""

    violations: tuple[annotation.Violation, ...]
    repaired: tuple[annotation.Violation, ...]
    pairs: tuple[Pair, ...]

    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write the repaired pairs in the format that the name ends in; returns the files written."""
        return formats.save(self.pairs, path)

    def records(self) -> list[Record]:
        return list(map(asdict, self.violations))

    def json(self) -> Record:
        repaired = [{"where": row.where, "label": row.label, "detail": row.detail} for row in self.repaired]
        return payload(self, findings=self.records(), repaired=repaired)

    def tables(self) -> list[Table]:
        rows = tuple(tuple(row.values()) for row in self.records())
        return [Table(("where", "what", "label", "detail"), rows, text_columns=frozenset(range(4)))]

    def notes(self) -> list[Note]:
        repaired = f"{len(self.repaired)} labels on the wrong side repaired"
        return [Note(f"{len(self.violations)} findings; {repaired}.")]


def annotator_agreement(sets: Mapping[str, Annotated], *, merge: Merge = "labels") -> AnnotatorAgreement:
    """How far annotators of the same pairs agree with one another, on each side."""
    if len(sets) < 2:
        raise BadInput("Agreement needs two annotators or more, or a gold standard to compare one with (gold=).")
    annotators = {name: annotated(pairs) for name, pairs in sets.items()}
    sides = {side: aligned_labels(annotators, side, merge=merge) for side in SIDES}
    tokens = {side: len(next(iter(labels.values()))) for side, labels in sides.items()}
    kappas = {side: davies_fleiss(labels) for side, labels in sides.items()}
    by_label = {side: label_agreement(labels) for side, labels in sides.items()}
    return AnnotatorAgreement(tuple(sets), merge, tokens, kappas, by_label)


def gold_agreement(gold: Annotated, sets: Mapping[str, Annotated], *, merge: Merge = "labels") -> GoldAgreement:
    """How far each annotator agrees with a gold, on each side."""
    truth = annotated(gold)
    scored = (against_gold(truth, annotated(pairs), name=name, merge=merge) for name, pairs in sets.items())
    return GoldAgreement(set_name(gold), merge, tuple(chain.from_iterable(scored)))


def repair(data: Annotated) -> Repair:
    """Look for what the guide does not allow, and turn labels on the wrong side into their counterparts."""
    pairs = annotated(data)
    fixed, changed = annotation.repair(pairs)
    return Repair(tuple(annotation.violations(pairs)), tuple(changed), fixed)


def against_gold(
    gold: Sequence[Pair], marked: Sequence[Pair], *, name: str = "", merge: Merge = "labels"
) -> tuple[AgainstGold, ...]:
    """Kappa, precision, recall and F1 of an annotator (or a labeller) with the gold, on each side."""
    both = {"gold": gold, "marked": marked}
    return tuple(_scored(aligned_labels(both, side, merge=merge), name=name, side=side) for side in SIDES)


def aligned_labels(
    sets: Mapping[str, Sequence[Pair]], side: TextSide, *, merge: Merge = "labels"
) -> dict[str, list[str]]:
    """Every annotator's labels for the same tokens, in the same order; only pairs that all of them have."""
    if merge not in get_args(Merge):
        raise UnknownName("way to merge", merge, get_args(Merge), see="plainly operations agreement --help")
    keyed = {name: {(pair.part, pair.id): pair for pair in pairs} for name, pairs in sets.items()}
    if len({len(next(iter(pairs))[0]) > 0 for pairs in keyed.values() if pairs}) > 1:
        keyed = {name: {("", pair.id): pair for pair in pairs} for name, pairs in sets.items()}
    shared = [key for key in next(iter(keyed.values()), {}) if all(key in pairs for pairs in keyed.values())]
    if not shared:
        raise BadInput("The annotators have no pair in common. Agreement needs pairs with the same id (and part).")
    labels: dict[str, list[str]] = {name: [] for name in sets}
    for key in shared:
        same = {name: keyed[name][key] for name in sets}
        length = max(len(pair.tokens(side)) for pair in same.values())
        if len({pair.tokens(side) for pair in same.values() if pair.tokens(side)}) > 1:
            raise BadInput(f"The {side} texts of pair {key[1]!r} differ between annotators. Are they of one set?")
        if not length:
            raise BadInput(f"Pair {key[1]!r} has no {side} text, so that tokens without a label cannot be counted.")
        for name, pair in same.items():
            labels[name] += [_merged(label, merge) for label in token_labels(pair, side, length=length)]
    return labels


def davies_fleiss(labels: TokenLabels) -> float:
    """Agreement of several beyond chance, each with its own distribution of labels (Davies and Fleiss 1982).

    The mean over all pairs of annotators of observed agreement, against the mean of what chance would make of it. Of
    two it is Cohen's kappa; NaN where all use one and the same label throughout.
    """
    index: dict[str, int] = {}
    codes = np.array([[index.setdefault(label, len(index)) for label in row] for row in labels.values()])
    return statistics.davies_fleiss(codes.T) if len(codes) > 1 and codes.size else float("nan")


def label_agreement(labels: TokenLabels) -> dict[str, float]:
    """Davies–Fleiss of each label against all others together: which operations do annotators see alike?"""
    return {
        label: davies_fleiss({name: [str(other == label) for other in row] for name, row in labels.items()})
        for label in sorted(set().union(*labels.values()))
    }


def _scored(rows: TokenLabels, *, name: str, side: TextSide) -> AgainstGold:
    """Labels of the gold and of one who marked the same tokens, compared."""
    gold, marked = rows["gold"], rows["marked"]
    of_gold, of_marked = Counter(gold), Counter(marked)
    of_both = Counter(label for label, other in zip(gold, marked, strict=True) if label == other)
    present = of_gold.keys() | of_marked.keys()
    labels = [label for label in (*all_labels(), "add", "delete", "replace", "other", "changed") if label in present]
    labels += [*sorted(present - {*labels, NONE}), NONE]
    scores = []
    for label in labels:
        truth, guess, both = of_gold[label], of_marked[label], of_both[label]
        numbers = _ratio(both, guess), _ratio(both, truth), _ratio(2 * both, truth + guess)
        scores.append(LabelScore(label, truth, guess, *numbers))
    changed = [score for score in scores if score.label != NONE]
    both = sum(of_both[score.label] for score in changed)
    return AgainstGold(
        annotator=name,
        side=side,
        tokens=len(gold),
        kappa=davies_fleiss(rows),
        accuracy=_ratio(of_both.total(), len(gold)),
        micro_f1=_ratio(2 * both, sum(score.gold + score.marked for score in changed)),
        macro_f1=float(np.mean([score.f1 for score in changed if score.gold] or [np.nan])),
        labels=tuple(scores),
    )


def _merged(label: str, merge: Merge) -> str:
    """A label as it counts when kinds are merged: all insertions one, all deletions one, and so on."""
    if merge == "labels" or label == NONE or not known(label):
        return label
    if merge == "changed":
        return "changed"
    kind = operation(label).computational
    if merge == "computational":
        return label if label in ("move", "split", "err") else kind
    return kind if kind in ("add", "delete") else label


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
