"""Agreement on operations, token by token: between annotators, with a gold, and of labellers with both.

Labellers are measured against the annotations of people, beside baselines and people themselves. Annotations that
violate the guide can be repaired first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, compress
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
from plainly.typology import annotation, formats
from plainly.typology.annotation import SIDES, Group, Pair, TextSide, build_groups, token_labels
from plainly.typology.labeller import batches, labeller, save_weights
from plainly.typology.labelling import Annotated, load_annotated, note_licence, payload, set_name
from plainly.typology.vocabulary import NONE, all_labels, describe, is_operation, operation

Merge = Literal["labels", "insertions-deletions", "computational", "changed"]
TokenLabels = Mapping[str, Sequence[str]]  # by annotator, for the same tokens
_PEOPLE_COLUMNS = ("people's precision", "people's recall")


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
    """One annotator against the gold on one side, over tokens. Both F1 scores leave out ``none``."""

    annotator: str
    side: TextSide
    tokens: int
    kappa: float
    accuracy: float
    micro_f1: float  # Of exact labels, over all tokens that either marks as changed.
    macro_f1: float  # The mean over the labels that the gold holds on this side.
    labels: tuple[LabelScore, ...]

    def records(self) -> list[Record]:
        """Return a row for all labels together, then one for each."""
        overall = {"label": "all", **asdict(self)}
        rows = (overall, *overall.pop("labels"))
        return [{"annotator": self.annotator, "side": self.side, **row} for row in rows]

    def json(self) -> Record:
        plain = asdict(self)
        return plain | {"labels": {score.pop("label"): score for score in plain["labels"]}}

    def table(self, caption: str, *, decimals: int = 2, beside: Mapping[str, Sequence[float]] | None = None) -> Table:
        """Return a table with a row per label; ``beside`` adds the recall and precision of people."""
        header = ("label", "gold", "marked", "precision", "recall", "F1")
        rows = []
        for score in self.labels:
            numbers = (number(value, decimals, undefined="–") for value in (score.precision, score.recall, score.f1))
            shares = () if beside is None else reversed(beside.get(score.label, (np.nan, np.nan)))
            people = (number(share, undefined="–") for share in shares)
            rows.append((describe(score.label), str(score.gold), str(score.marked), *numbers, *people))
        return Table(header if beside is None else (*header, *_PEOPLE_COLUMNS), tuple(rows), caption)


@dataclass(frozen=True, repr=False)
class GoldAgreement(Result):
    """Agreement of annotators with a gold."""

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
    """Agreement of annotators with one another: Davies–Fleiss kappa overall, and of each label against the others."""

    annotators: tuple[str, ...]
    merge: Merge
    tokens: Mapping[TextSide, int]
    kappas: Mapping[TextSide, float]
    labels: Mapping[TextSide, Mapping[str, float]]

    def records(self) -> list[Record]:
        kappas = {side: {"all": self.kappas[side], **self.labels[side]} for side in SIDES}
        rows = [(side, *row) for side, labels in kappas.items() for row in labels.items()]
        return [{"side": side, "label": label, "davies_fleiss": kappa} for side, label, kappa in rows]

    def json(self) -> Record:
        sides = {
            side: {"tokens": self.tokens[side], "davies_fleiss": self.kappas[side], "labels": self.labels[side]}
            for side in SIDES
        }
        return payload(self, annotators=list(self.annotators), merge=self.merge, agreement=sides)

    def tables(self) -> list[Table]:
        kappas = ((*row.values(),) for row in self.records())
        rows = tuple((side, describe(label), number(kappa, 3, undefined="–")) for side, label, kappa in kappas)
        return [Table(("side", "label", "Davies–Fleiss kappa"), rows, text_columns=frozenset({0, 1}))]


@dataclass(frozen=True, repr=False)
class Repair(Result):
    """Violations of the annotation guide, the labels that were repaired, and the pairs after repair."""

    violations: tuple[annotation.Violation, ...]
    repaired: tuple[annotation.Violation, ...]
    pairs: tuple[Pair, ...]

    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write the repaired pairs in the format given by the file name; return the files written."""
        return formats.save(self.pairs, path)

    def records(self) -> list[Record]:
        return list(map(asdict, self.violations))

    def json(self) -> Record:
        repaired = [{"where": row.where, "label": row.label, "detail": row.detail} for row in self.repaired]
        return payload(self, findings=self.records(), repaired=repaired)

    def tables(self) -> list[Table]:
        rows = tuple((row.where, row.what, describe(row.label), row.detail) for row in self.violations)
        return [Table(("where", "what", "label", "detail"), rows, text_columns=frozenset(range(4)))]

    def notes(self) -> list[Note]:
        return [Note(f"{len(self.violations)} findings; {len(self.repaired)} labels on the wrong side repaired.")]


def annotator_agreement(sets: Mapping[str, Annotated], *, merge: Merge = "labels") -> AnnotatorAgreement:
    """Measure the agreement of annotators of the same pairs with one another, on each side."""
    if len(sets) < 2:
        raise BadInput("Agreement needs two annotators or more, or one and a gold standard (gold=).")
    annotators = {name: load_annotated(pairs) for name, pairs in sets.items()}
    sides = {side: aligned_labels(annotators, side, merge=merge) for side in SIDES}
    return AnnotatorAgreement(
        annotators=tuple(sets),
        merge=merge,
        tokens={side: len(next(iter(labels.values()))) for side, labels in sides.items()},
        kappas={side: davies_fleiss(labels) for side, labels in sides.items()},
        labels={side: label_agreement(labels) for side, labels in sides.items()},
    )


def gold_agreement(gold: Annotated, sets: Mapping[str, Annotated], *, merge: Merge = "labels") -> GoldAgreement:
    """Measure the agreement of each annotator with a gold, on each side."""
    truth = load_annotated(gold)
    scores = (against_gold(truth, load_annotated(pairs), name=name, merge=merge) for name, pairs in sets.items())
    return GoldAgreement(set_name(gold), merge, tuple(chain.from_iterable(scores)))


def repair(data: Annotated) -> Repair:
    """Find violations of the guide, and turn labels on the wrong side into their counterparts."""
    pairs = load_annotated(data)
    repaired, changes = annotation.repair(pairs)
    return Repair(tuple(annotation.violations(pairs)), tuple(changes), repaired)


def against_gold(
    gold: Sequence[Pair], candidate: Sequence[Pair], *, name: str = "", merge: Merge = "labels"
) -> tuple[AgainstGold, ...]:
    """Compute kappa, precision, recall and F1 of an annotator (or a labeller) against the gold, on each side."""
    both = {"gold": gold, "marked": candidate}
    return tuple(_score_labels(aligned_labels(both, side, merge=merge), name=name, side=side) for side in SIDES)


def aligned_labels(
    sets: Mapping[str, Sequence[Pair]], side: TextSide, *, merge: Merge = "labels"
) -> dict[str, list[str]]:
    """Return every annotator's labels for the same tokens in the same order, for the pairs that all of them have."""
    if merge not in get_args(Merge):
        raise UnknownName("way to merge", merge, get_args(Merge), see="plainly operations agreement --help")
    by_key = {name: {(pair.part, pair.id): pair for pair in pairs} for name, pairs in sets.items()}
    if len({len(next(iter(pairs))[0]) > 0 for pairs in by_key.values() if pairs}) > 1:
        by_key = {name: {("", pair.id): pair for pair in pairs} for name, pairs in sets.items()}
    keys = [key for key in next(iter(by_key.values()), {}) if all(key in pairs for pairs in by_key.values())]
    if not keys:
        raise BadInput("The annotators have no pair in common. Agreement needs pairs with the same id (and part).")
    labels: dict[str, list[str]] = {name: [] for name in sets}
    for key in keys:
        same = {name: by_key[name][key] for name in sets}
        length = max(len(pair.tokens(side)) for pair in same.values())
        if len({pair.tokens(side) for pair in same.values() if pair.tokens(side)}) > 1:
            raise BadInput(f"The {side} texts of pair {key[1]!r} differ. Pass annotations of the same set.")
        if not length:
            raise BadInput(f"Pair {key[1]!r} has no {side} text, so its tokens cannot be counted. Add the texts.")
        for name, pair in same.items():
            labels[name] += [_merge_label(label, merge) for label in token_labels(pair, side, length=length)]
    return labels


def davies_fleiss(labels: TokenLabels) -> float:
    """Return the agreement of several annotators beyond chance (Davies and Fleiss 1982).

    The mean observed agreement over all pairs of annotators is set against the mean expected by chance, with a
    distribution of labels per annotator. For two it is Cohen's kappa; NaN where all use a single label throughout.
    """
    index: dict[str, int] = {}
    codes = np.array([[index.setdefault(label, len(index)) for label in row] for row in labels.values()])
    return statistics.davies_fleiss(codes.T) if len(codes) > 1 and codes.size else float("nan")


def label_agreement(labels: TokenLabels) -> dict[str, float]:
    """Return the Davies–Fleiss kappa of each label against all others together."""
    return {
        label: davies_fleiss({name: [str(other == label) for other in row] for name, row in labels.items()})
        for label in sorted(set().union(*labels.values()))
    }


def _score_labels(rows: TokenLabels, *, name: str, side: TextSide) -> AgainstGold:
    """Compare the labels of an annotator with those of the gold."""
    gold, candidate = rows["gold"], rows["marked"]
    of_gold, of_marked = Counter(gold), Counter(candidate)
    of_both = Counter(label for label, other in zip(gold, candidate, strict=True) if label == other)
    present = of_gold.keys() | of_marked.keys()
    labels = [label for label in (*all_labels(), "add", "delete", "replace", "other", "changed") if label in present]
    labels += [*sorted(present - {*labels, NONE}), NONE]
    scores = []
    for label in labels:
        truth, guess, both = of_gold[label], of_marked[label], of_both[label]
        numbers = _ratio(both, guess), _ratio(both, truth), _ratio(2 * both, truth + guess)
        scores.append(LabelScore(label, truth, guess, *numbers))
    operations = scores[:-1]
    return AgainstGold(
        annotator=name,
        side=side,
        tokens=len(gold),
        kappa=davies_fleiss(rows),
        accuracy=_ratio(of_both.total(), len(gold)),
        micro_f1=_ratio(
            2 * sum(of_both[score.label] for score in operations),
            sum(score.gold + score.marked for score in operations),
        ),
        macro_f1=float(np.mean([score.f1 for score in operations if score.gold] or [np.nan])),
        labels=tuple(scores),
    )


def _merge_label(label: str, merge: Merge) -> str:
    """Return the label that stands for a label after merging: all insertions one, all deletions one, and so on."""
    if merge == "labels" or label == NONE or not is_operation(label):
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
_TRAINED_ON_GOLD = (
    "These weights were trained on all of ASSETann, including the sources of its gold, so figures on either are too "
    "high. For unbiased ones: plainly operations train"
)


@cache
def people() -> dict[str, Any]:
    """Return the paper's nine annotators by side: mean kappa with the gold, and recall and precision by label."""
    table = read_shipped(__file__, "annotators.toml")
    return {side: {"kappa": table["kappa"][side], "labels": table[side]} for side in SIDES}


@dataclass(frozen=True)
class SetQuality:
    """Labellers on one annotated set."""

    gold: str
    names: tuple[str, ...]  # Those whose labels are shown one by one.
    whole: tuple[AgainstGold, ...]
    clean: tuple[AgainstGold, ...]  # Without erroneous pairs, in which nothing else is annotated.

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
            if side.annotator in self.names
        ]
        return [Table(header, rows, f"{self.gold}:", text_columns=frozenset({0, 1})), *by_label]


@dataclass(frozen=True, repr=False)
class LabellerQuality(Result):
    """Quality of labellers on annotated sets, beside baselines and people."""

    sets: tuple[SetQuality, ...]
    labeller: str = ""  # Empty where the labels were cross-validated.

    def records(self) -> list[Record]:
        return [row for quality in self.sets for row in quality.records()]

    def json(self) -> Record:
        sets = []
        for quality in self.sets:
            whole, clean = ([side.json() for side in sides] for sides in (quality.whole, quality.clean))
            sets.append({"gold": quality.gold, "labellers": whole, "without_erroneous_pairs": clean})
        return payload(self, sets=sets, people=people())

    def tables(self) -> list[Table]:
        return [table for quality in self.sets for table in quality.tables()]

    def notes(self) -> list[Note]:
        licence = note_licence(self.labeller)
        return [*licence, Note(_TRAINED_ON_GOLD, code="trained-on")] if licence else []


def evaluate_labeller(data: Annotated = "assetann/gold", *, name: str = "light") -> LabellerQuality:
    """Measure how well a labeller reproduces the labels of people."""
    gold, model = load_annotated(data), labeller(name)
    return LabellerQuality((_measure(set_name(data), gold, {name: model.relabel(gold)}),), name)


def cross_validate_labeller(
    data: Annotated = "assetann/annotations",
    *,
    gold: Annotated | None = "assetann/gold",
    folds: int = 5,
    spacy: str | None = None,
    save: str | Path | None = None,
    progress: Progress = no_progress,
) -> LabellerQuality:
    """Measure the trained labeller on sources that it was not trained on, and on a ``gold`` of the same pairs.

    ``spacy`` is the model of a labeller with a parser; ``save`` is the file for the labels.
    """
    from plainly.typology.labeller_training import cross_validate

    pairs = load_annotated(data)
    predictions = cross_validate(pairs, folds=folds, parser=Parser(spacy) if spacy else None, progress=progress)
    if save:
        formats.save(predictions, save)
    name = f"trained{' with a parser' if spacy else ''}, {folds} folds by source"
    sets = [_measure(set_name(data), pairs, {name: predictions})]
    if gold:
        truth = load_annotated(gold)
        sets.append(_measure(set_name(gold), truth, {name: _match_texts(truth, predictions)}))
    return LabellerQuality(tuple(sets))


def train_labeller(
    path: str | Path,
    data: Annotated = "assetann/annotations",
    *,
    spacy: str | None = None,
    progress: Progress = no_progress,
) -> tuple[float, ...]:
    """Train on everything and write the weights (``.npz``); return the mean loss per pair in each epoch."""
    from plainly.typology.labeller_training import train_on_all

    parser = Parser(spacy) if spacy else None
    weights = train_on_all(load_annotated(data), data=set_name(data), parser=parser, progress=progress)
    save_weights(Path(path), weights)
    return tuple(weights.card["losses"])


def _match_texts(gold: Sequence[Pair], predictions: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return the gold's pairs with the groups of the labelled pairs that have the same words."""
    groups = {pair.words: pair.groups for pair in predictions}
    missing = next((pair for pair in gold if pair.words not in groups), None)
    if missing is not None:
        raise BadInput(f"The gold's {missing.where} is not among the labelled pairs. Pass the gold of the same pairs.")
    return tuple(pair.with_groups(groups[pair.words]) for pair in gold)


def baseline_none(gold: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return the pairs without operations: the majority class."""
    return tuple(pair.with_groups(()) for pair in gold)


def baseline_words(gold: Sequence[Pair]) -> tuple[Pair, ...]:
    """Label words like EASSE, with the most common label in ASSETann for each kind.

    An unaligned source word was deleted (deloth), an unaligned output word added (incst), a word aligned with another
    one replaced (synonym), and a word aligned out of order moved. The alignment is plainly's.
    """
    tokens = [pair.source_tokens for pair in gold], [pair.output_tokens for pair in gold]
    groups: dict[int, tuple[Group, ...]] = {}
    for batch in batches(*tokens, Words()):
        for pair, (source, output) in zip(batch.aligned.order.tolist(), batch.texts, strict=True):
            labels = ["deloth"] * len(source.words), ["incst"] * len(output.words)
            for at, link in enumerate(source.links):
                if link >= 0:
                    is_same = source.words[at].lower() == output.words[link].lower()
                    has_moved = source.passes[at] > 1
                    labels[0][at] = labels[1][link] = "synonym" if not is_same else "move" if has_moved else NONE
            groups[pair] = build_groups(labels, None, (source.links, output.links))
    return tuple(pair.with_groups(groups[at]) for at, pair in enumerate(gold))


def _measure(name: str, gold: Sequence[Pair], systems: Mapping[str, Sequence[Pair]]) -> SetQuality:
    """Compare labellers and baselines with the gold."""
    labelled = {
        "nothing changed": baseline_none(gold),
        "EASSE-style words": baseline_words(gold),
        "rules": systems.get("rules") or labeller("rules").relabel(gold),
        **systems,
    }
    is_clean = ["err" not in pair.labels for pair in gold]
    whole: list[AgainstGold] = []
    clean: list[AgainstGold] = []
    for system, pairs in labelled.items():
        whole += against_gold(gold, pairs, name=system)
        clean += against_gold([*compress(gold, is_clean)], [*compress(pairs, is_clean)], name=system)
    return SetQuality(name, tuple(systems), tuple(whole), tuple(clean))
