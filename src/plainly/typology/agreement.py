"""Do annotators mark the same operations? Agreement token by token, on each side, by label and with kinds merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput
from plainly.stats import agreement as statistics
from plainly.typology.annotation import SIDES, Pair, TextSide, token_labels
from plainly.typology.typology import NONE, all_labels, known, operation

Merge = Literal["labels", "insertions-deletions", "computational", "changed"]
MERGES: tuple[Merge, ...] = ("labels", "insertions-deletions", "computational", "changed")


@dataclass(frozen=True, slots=True)
class LabelScore:
    """One label of one annotator against the gold, over tokens; undefined is NaN."""

    label: str
    gold: int
    marked: int
    both: int

    @property
    def precision(self) -> float:
        return self.both / self.marked if self.marked else float("nan")

    @property
    def recall(self) -> float:
        return self.both / self.gold if self.gold else float("nan")

    @property
    def f1(self) -> float:
        return 2 * self.both / (self.gold + self.marked) if self.gold + self.marked else float("nan")


@dataclass(frozen=True)
class AgainstGold:
    """One annotator's tokens on one side against the gold's."""

    annotator: str
    side: TextSide
    tokens: int
    kappa: float
    accuracy: float
    labels: tuple[LabelScore, ...]

    @property
    def micro_f1(self) -> float:
        """Over all tokens that either marks as changed, whatever the label: F1 of exact labels, ``none`` left out."""
        counted = [each for each in self.labels if each.label != NONE]
        gold, marked, both = (sum(getattr(each, name) for each in counted) for name in ("gold", "marked", "both"))
        return 2 * both / (gold + marked) if gold + marked else float("nan")

    @property
    def macro_f1(self) -> float:
        """The mean F1 over the labels that the gold holds on this side, ``none`` left out."""
        values = [each.f1 for each in self.labels if each.label != NONE and each.gold]
        return float(np.mean(values)) if values else float("nan")

    def data(self) -> dict[str, Any]:
        return {
            "annotator": self.annotator,
            "side": self.side,
            "tokens": self.tokens,
            "kappa": _null(self.kappa),
            "accuracy": _null(self.accuracy),
            "micro_f1": _null(self.micro_f1),
            "macro_f1": _null(self.macro_f1),
            "labels": {
                each.label: {
                    "gold": each.gold,
                    "marked": each.marked,
                    "precision": _null(each.precision),
                    "recall": _null(each.recall),
                    "f1": _null(each.f1),
                }
                for each in self.labels
            },
        }


def merged(label: str, merge: Merge) -> str:
    """A label as it counts when kinds are merged: all insertions one, all deletions one, and so on."""
    if merge == "labels" or label == NONE or not known(label):
        return label
    if merge == "changed":
        return "changed"
    kind = operation(label).computational
    if merge == "computational":
        return label if label in ("move", "split", "err") else kind
    return kind if kind in ("add", "delete") else label


def aligned_labels(
    sets: Mapping[str, Sequence[Pair]], side: TextSide, *, merge: Merge = "labels"
) -> dict[str, list[str]]:
    """Every annotator's labels for the same tokens, in the same order; only pairs that all of them have."""
    keyed = {name: {(pair.part, pair.id): pair for pair in pairs} for name, pairs in sets.items()}
    if len({len(next(iter(found))[0]) > 0 for found in keyed.values() if found}) > 1:
        keyed = {name: {("", pair.id): pair for pair in pairs} for name, pairs in sets.items()}
    shared = [key for key in next(iter(keyed.values()), {}) if all(key in found for found in keyed.values())]
    if not shared:
        raise BadInput("The annotators have no pair in common. Agreement needs pairs with the same id (and part).")
    found: dict[str, list[str]] = {name: [] for name in sets}
    for key in shared:
        pairs = {name: keyed[name][key] for name in sets}
        length = max(len(pair.tokens(side)) for pair in pairs.values())
        if len({pair.tokens(side) for pair in pairs.values() if pair.tokens(side)}) > 1:
            raise BadInput(f"The {side} texts of pair {key[1]!r} differ between annotators. Are they of one set?")
        if not length:
            raise BadInput(f"Pair {key[1]!r} has no {side} text, so that tokens without a label cannot be counted.")
        for name, pair in pairs.items():
            found[name] += [merged(label, merge) for label in token_labels(pair, side, length=length)]
    return found


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Agreement of two beyond chance (Cohen 1960); NaN where both use one and the same label throughout."""
    return davies_fleiss({"a": first, "b": second})


def davies_fleiss(labels: Mapping[str, Sequence[str]]) -> float:
    """Agreement of several beyond chance, each with its own distribution of labels (Davies and Fleiss 1982).

    The mean over all pairs of annotators of observed agreement, against the mean of what chance would make of it.
    """
    codes = _codes(labels)
    return statistics.davies_fleiss(codes.T) if len(codes) > 1 and codes.shape[1] else float("nan")


def label_agreement(labels: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Davies–Fleiss of each label against all others together: which operations do annotators see alike?"""
    present = sorted({label for row in labels.values() for label in row})
    return {
        label: davies_fleiss({name: [str(each == label) for each in row] for name, row in labels.items()})
        for label in present
    }


def against_gold(
    gold: Sequence[Pair], annotated: Sequence[Pair], *, name: str = "", merge: Merge = "labels"
) -> tuple[AgainstGold, ...]:
    """Kappa, precision, recall and F1 of an annotator (or a labeller) with the gold, on each side."""
    found = []
    for side in SIDES:
        rows = aligned_labels({"gold": gold, "annotated": annotated}, side, merge=merge)
        found.append(score_labels(rows["gold"], rows["annotated"], name=name, side=side))
    return tuple(found)


def score_labels(gold: Sequence[str], marked: Sequence[str], *, name: str, side: TextSide) -> AgainstGold:
    """Two rows of labels for the same tokens, compared."""
    truth, guess = np.array(gold, dtype=object), np.array(marked, dtype=object)
    order = [*all_labels(), "add", "delete", "replace", "other", "changed"]
    present = {*gold, *marked}
    labels = [each for each in order if each in present]
    labels += [*sorted(present - {*labels, NONE}), NONE]
    scores = tuple(
        LabelScore(
            label,
            int((truth == label).sum()),
            int((guess == label).sum()),
            int(((truth == label) & (guess == label)).sum()),
        )
        for label in labels
    )
    accuracy = float((truth == guess).mean()) if len(truth) else float("nan")
    return AgainstGold(name, side, len(truth), cohen_kappa(gold, marked), accuracy, scores)


def _codes(labels: Mapping[str, Sequence[str]]) -> npt.NDArray[np.intp]:
    """Labels as numbers, a row for each annotator."""
    lengths = {len(row) for row in labels.values()}
    if len(lengths) > 1:
        raise BadInput("Annotators must have labelled the same tokens: their numbers of labels differ.")
    index: dict[str, int] = {}
    rows = [[index.setdefault(label, len(index)) for label in row] for row in labels.values()]
    return np.array(rows, dtype=np.intp)


def _null(value: float) -> float | None:
    return None if np.isnan(value) else value
