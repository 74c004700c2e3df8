"""Agreement on operations, token by token: of annotators with one another, with a gold, and of labellers with both.

A labeller is measured against people's annotations, beside baselines and beside people themselves. Annotations that
break their guide's rules can be repaired first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from plainly.core.errors import BadInput, UnknownName
from plainly.core.files import read_shipped
from plainly.core.formatting import number
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.stats import agreement as statistics
from plainly.text.lexicon import Words
from plainly.text.parse import Parser
from plainly.typology import annotation, formats, network
from plainly.typology.annotation import SIDES, Group, Pair, TextSide, build_groups, squeeze, token_labels
from plainly.typology.labeller import batches, labeller
from plainly.typology.labelling import Annotated, annotated, licence, payload, set_name
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
        rows = []
        for score in self.labels:
            numbers = (number(value, decimals, undefined="–") for value in (score.precision, score.recall, score.f1))
            others = map(number, reversed(beside[score.label])) if beside and score.label in beside else "––"
            rows.append((score.label, str(score.gold), str(score.marked), *numbers, *others))
        header = ("label", "gold", "marked", "precision", "recall", "F1", "people's precision", "people's recall")
        columns = len(header) if beside else len(header) - 2
        return Table(header[:columns], tuple(row[:columns] for row in rows), caption)


@dataclass(frozen=True, repr=False)
class GoldAgreement(Result):
    """How far annotators agree with a gold."""

    gold: str
    merge: Merge
    annotators: tuple[AgainstGold, ...]

    def records(self) -> list[Record]:
        return [row for annotator in self.annotators for row in annotator.records()]

    def json(self) -> Record:
        return payload(self, gold=self.gold, merge=self.merge, annotators=[one.json() for one in self.annotators])

    def tables(self) -> list[Table]:
        return [
            side.table(
                f"{side.annotator}, {side.side}: kappa {number(side.kappa, 3)}, micro F1 {number(side.micro_f1, 3)}, "
                f"macro F1 {number(side.macro_f1, 3)}, {side.tokens} tokens"
            )
            for side in self.annotators
        ]


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
        return [Note(f"{len(self.violations)} findings; {len(self.repaired)} labels on the wrong side repaired.")]


def annotator_agreement(sets: Mapping[str, Annotated], *, merge: Merge = "labels") -> AnnotatorAgreement:
    """How far annotators of the same pairs agree with one another, on each side."""
    if len(sets) < 2:
        raise BadInput("Agreement needs two annotators or more, or a gold standard to compare one with (gold=).")
    annotators = {name: annotated(pairs) for name, pairs in sets.items()}
    sides = {side: aligned_labels(annotators, side, merge=merge) for side in SIDES}
    return AnnotatorAgreement(
        annotators=tuple(sets),
        merge=merge,
        tokens={side: len(next(iter(labels.values()))) for side, labels in sides.items()},
        kappas={side: davies_fleiss(labels) for side, labels in sides.items()},
        labels={side: label_agreement(labels) for side, labels in sides.items()},
    )


def gold_agreement(gold: Annotated, sets: Mapping[str, Annotated], *, merge: Merge = "labels") -> GoldAgreement:
    """How far each annotator agrees with a gold, on each side."""
    truth = annotated(gold)
    scored = (against_gold(truth, annotated(pairs), name=name, merge=merge) for name, pairs in sets.items())
    return GoldAgreement(set_name(gold), merge, tuple(chain.from_iterable(scored)))


def repair(data: Annotated) -> Repair:
    """Look for what the guide does not allow, and turn labels on the wrong side into their counterparts."""
    pairs = annotated(data)
    repaired, changes = annotation.repair(pairs)
    return Repair(tuple(annotation.violations(pairs)), tuple(changes), repaired)


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
    changed = scores[:-1]
    return AgainstGold(
        annotator=name,
        side=side,
        tokens=len(gold),
        kappa=davies_fleiss(rows),
        accuracy=_ratio(of_both.total(), len(gold)),
        micro_f1=_ratio(
            2 * sum(of_both[score.label] for score in changed), sum(score.gold + score.marked for score in changed)
        ),
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


_NINE = "nine people, the paper's gold"
_TOO_GOOD = (
    "These weights were trained on all of ASSETann, the sources of its gold among them: on either, the figures are too "
    "good. For honest ones: plainly operations train"
)


@cache
def people() -> dict[str, Any]:
    """The paper's nine annotators, by side: mean kappa with the gold, and recall and precision by label."""
    table = read_shipped(__file__, "annotators.toml")
    return {side: {"kappa": table["kappa"][side], "labels": table[side]} for side in SIDES}


@dataclass(frozen=True)
class MeasuredOnSet:
    """Labellers on one annotated set."""

    gold: str
    shown: tuple[str, ...]  # Those whose labels are shown one by one.
    whole: tuple[AgainstGold, ...]
    clean: tuple[AgainstGold, ...]  # Without the pairs marked as erroneous, in which by rule nothing else is annotated.

    def records(self) -> list[Record]:
        rows: list[Record] = []
        for side, clean in zip(self.whole, self.clean, strict=True):
            overall, *labels = side.records()
            rows += [overall | {"kappa_without_erroneous_pairs": clean.kappa}, *labels]
        rows += [
            {"annotator": _NINE, "side": side, "label": "all", "kappa": nine["kappa"]}
            for side, nine in people().items()
        ]
        return [{"set": self.gold, **row} for row in rows]

    def tables(self) -> list[Table]:
        numbers: list[tuple[Any, ...]] = [
            (side.annotator, side.side, side.kappa, side.micro_f1, side.macro_f1, clean.kappa)
            for side, clean in zip(self.whole, self.clean, strict=True)
        ]
        numbers += [(_NINE, side, nine["kappa"], *[float("nan")] * 3) for side, nine in people().items()]
        rows = tuple((name, side, *(number(value, 3, undefined="–") for value in row)) for name, side, *row in numbers)
        header = ("labeller", "side", "kappa", "micro F1", "macro F1", "kappa without err pairs")
        by_label = [
            side.table(f"{side.annotator}: {side.side}", decimals=3, beside=people()[side.side]["labels"])
            for side in self.whole
            if side.annotator in self.shown
        ]
        return [Table(header, rows, f"{self.gold}:", text_columns=frozenset({0, 1})), *by_label]


@dataclass(frozen=True, repr=False)
class LabellerQuality(Result):
    """How labellers do on annotated sets, beside baselines and people."""

    sets: tuple[MeasuredOnSet, ...]
    notice: str = ""

    def records(self) -> list[Record]:
        return [row for measured in self.sets for row in measured.records()]

    def json(self) -> Record:
        sets = [
            {
                "gold": measured.gold,
                "labellers": [side.json() for side in measured.whole],
                "without_erroneous_pairs": [side.json() for side in measured.clean],
            }
            for measured in self.sets
        ]
        return payload(self, sets=sets, people=people())

    def tables(self) -> list[Table]:
        return [table for measured in self.sets for table in measured.tables()]

    def notes(self) -> list[Note]:
        return [*licence(self.notice), *([Note(_TOO_GOOD, code="trained-on")] if self.notice else [])]


def evaluate_labeller(data: Annotated = "assetann/gold", *, name: str = "light") -> LabellerQuality:
    """How well a labeller gives the labels that people gave."""
    gold, chosen = annotated(data), labeller(name)
    return LabellerQuality((_measured(set_name(data), gold, {chosen.name: chosen.again(gold)}),), chosen.notice)


def cross_validate_labeller(
    data: Annotated = "assetann/annotations",
    *,
    gold: Annotated | None = "assetann/gold",
    folds: int = 5,
    spacy: str | None = None,
    save: str | Path | None = None,
    progress: Progress = no_progress,
) -> LabellerQuality:
    """How well the trained labeller does on sources that it was not trained on, and on a ``gold`` of the same pairs.

    ``spacy`` is the model of a labeller with a parser; ``save`` is where the labels go.
    """
    from plainly.typology.labeller_training import cross_validate

    pairs = annotated(data)
    labelled = cross_validate(pairs, folds=folds, parser=Parser(spacy) if spacy else None, progress=progress)
    if save:
        formats.save(labelled, save)
    name = f"trained{' with a parser' if spacy else ''}, {folds} folds by source"
    sets = [_measured(set_name(data), pairs, {name: labelled})]
    if gold:
        truth = annotated(gold)
        sets.append(_measured(set_name(gold), truth, {name: _same_texts(truth, labelled)}))
    return LabellerQuality(tuple(sets))


def train_labeller(
    path: str | Path,
    data: Annotated = "assetann/annotations",
    *,
    spacy: str | None = None,
    progress: Progress = no_progress,
) -> tuple[float, ...]:
    """Train on everything and write the weights (``.npz``); returns the mean loss a pair in each epoch."""
    from plainly.typology.labeller_training import train_on_all

    parser = Parser(spacy) if spacy else None
    weights = train_on_all(annotated(data), data=set_name(data), parser=parser, progress=progress)
    network.save(Path(path), weights)
    return tuple(weights.card["losses"])


def _same_texts(gold: Sequence[Pair], labelled: Sequence[Pair]) -> tuple[Pair, ...]:
    """The gold's pairs with the groups of the labelled pairs that have the same words."""
    groups = {(squeeze(pair.source), squeeze(pair.output)): pair.groups for pair in labelled}
    missing = next((pair for pair in gold if (squeeze(pair.source), squeeze(pair.output)) not in groups), None)
    if missing is not None:
        raise BadInput(f"The gold's {missing.where} is not among the pairs that were labelled.")
    return tuple(pair.with_groups(groups[squeeze(pair.source), squeeze(pair.output)]) for pair in gold)


def baseline_none(gold: Sequence[Pair]) -> tuple[Pair, ...]:
    """The majority class: nothing was done to any word."""
    return tuple(pair.with_groups(()) for pair in gold)


def baseline_words(gold: Sequence[Pair]) -> tuple[Pair, ...]:
    """What EASSE's word-level labels say, each as the commonest label that it can be in ASSETann.

    An unaligned source word was deleted (deloth), an unaligned output word added (incst), a word aligned with another
    one replaced (synonym), and a word aligned out of order moved. The alignment is plainly's.
    """
    tokens = [pair.source_tokens for pair in gold], [pair.output_tokens for pair in gold]
    groups: dict[int, tuple[Group, ...]] = {}
    for batch in batches(*tokens, Words()):
        for at, pair in enumerate(batch.aligned.order.tolist()):
            source, output = tokens[0][pair], tokens[1][pair]
            links = batch.links(at)
            labels = ["deloth"] * len(source), ["incst"] * len(output)
            for place, link in enumerate(links[0]):
                if link >= 0:
                    same = source[place].lower() == output[link].lower()
                    moved = batch.aligned.source.passes[at, place] > 1
                    labels[0][place] = labels[1][link] = ("move" if moved else NONE) if same else "synonym"
            groups[pair] = build_groups(labels, None, links)
    return tuple(pair.with_groups(groups[at]) for at, pair in enumerate(gold))


def _measured(name: str, gold: Sequence[Pair], systems: Mapping[str, Sequence[Pair]]) -> MeasuredOnSet:
    """Labels of the same pairs, and of baselines, against the gold."""
    everything: dict[str, Sequence[Pair]] = {
        "nothing changed": baseline_none(gold),
        "EASSE-style words": baseline_words(gold),
    }
    if "rules" not in systems:
        everything["rules"] = labeller("rules").again(gold)
    clean = [at for at, pair in enumerate(gold) if "err" not in pair.labels]
    whole: list[AgainstGold] = []
    without: list[AgainstGold] = []
    for system, pairs in (everything | dict(systems)).items():
        whole += against_gold(gold, pairs, name=system)
        without += against_gold([gold[at] for at in clean], [pairs[at] for at in clean], name=system)
    return MeasuredOnSet(name, tuple(systems), tuple(whole), tuple(without))
