"""How good a labeller is: against people's annotations, beside baselines and beside people themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.files import read_shipped
from plainly.core.formatting import number
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.text.lexicon import Words
from plainly.text.parse import Parser
from plainly.typology import formats, network
from plainly.typology.annotation import SIDES, Group, Pair, squeeze
from plainly.typology.annotators import AgainstGold, against_gold
from plainly.typology.groups import build_groups
from plainly.typology.label import labeller
from plainly.typology.labelling import Annotated, annotated, licence, payload, set_name
from plainly.typology.pipeline import batches
from plainly.typology.vocabulary import NONE

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
        for side_name, nine in people().items():
            rows.append({"annotator": _NINE, "side": side_name, "label": "all", "kappa": nine["kappa"]})
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
        sets = []
        for measured in self.sets:
            whole, clean = ([side.json() for side in sides] for sides in (measured.whole, measured.clean))
            sets.append({"gold": measured.gold, "labellers": whole, "without_erroneous_pairs": clean})
        return payload(self, sets=sets, people=people())

    def tables(self) -> list[Table]:
        return [table for measured in self.sets for table in measured.tables()]

    def notes(self) -> list[Note]:
        return [*licence(self.notice), *([Note(_TOO_GOOD, code="trained-on")] if self.notice else [])]


def evaluate_labeller(data: Annotated = "assetann/gold", *, name: str = "light") -> LabellerQuality:
    """How well a labeller gives the labels that people gave."""
    gold = annotated(data)
    chosen = labeller(name)
    measured = _measured(set_name(data), gold, {chosen.name: chosen.again(gold)})
    return LabellerQuality((measured,), chosen.notice)


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
    from plainly.typology.training import cross_validate

    pairs = annotated(data)
    parser = Parser(spacy) if spacy else None
    labelled = cross_validate(pairs, folds=folds, parser=parser, progress=progress)
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
    from plainly.typology.training import train_on_all

    parser = Parser(spacy) if spacy else None
    weights = train_on_all(annotated(data), data=set_name(data), parser=parser, progress=progress)
    network.save(Path(path), weights)
    return tuple(weights.card["losses"])


def _same_texts(gold: Sequence[Pair], labelled: Sequence[Pair]) -> tuple[Pair, ...]:
    """The gold's pairs with the groups of the labelled pairs that have the same words."""
    known = {(squeeze(pair.source), squeeze(pair.output)): pair.groups for pair in labelled}
    same = []
    for pair in gold:
        groups = known.get((squeeze(pair.source), squeeze(pair.output)))
        if groups is None:
            raise BadInput(f"The gold's {pair.where} is not among the pairs that were labelled.")
        same.append(pair.with_groups(groups))
    return tuple(same)


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
