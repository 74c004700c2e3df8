"""How good a labeller is: against people's annotations, beside baselines and beside people themselves."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plainly.errors import BadInput
from plainly.typology.agreement import AgainstGold, against_gold
from plainly.typology.annotation import Group, Pair
from plainly.typology.groups import build_groups
from plainly.typology.label import Labels
from plainly.typology.pipeline import batches
from plainly.typology.profile import squeeze
from plainly.typology.typology import NONE
from plainly.typology.words import Words


@dataclass(frozen=True)
class People:
    """The paper's nine annotators on one side: mean kappa with the gold, and recall and precision by label."""

    kappa: float
    labels: Mapping[str, tuple[float, float]]


@cache
def people() -> dict[str, People]:
    """The published figures, by side."""
    table = tomllib.loads((Path(__file__).parent / "annotators.toml").read_text(encoding="utf-8"))
    return {
        side: People(table["kappa"][side], {label: (row[0], row[1]) for label, row in table[side].items()})
        for side in ("source", "output")
    }


def labelled_again(gold: Sequence[Pair], labels: Labels) -> tuple[Pair, ...]:
    """The gold's texts, as a labeller labels them."""
    found = labels.label([pair.source for pair in gold], [pair.output for pair in gold], tokenised=True)
    return tuple(pair.with_groups(done.groups) for pair, done in zip(gold, found, strict=True))


def same_texts(gold: Sequence[Pair], labelled: Sequence[Pair]) -> tuple[Pair, ...]:
    """The gold's pairs with the groups of the labelled pairs that have the same words."""
    known = {(squeeze(pair.source), squeeze(pair.output)): pair for pair in labelled}
    missing = next((pair for pair in gold if (squeeze(pair.source), squeeze(pair.output)) not in known), None)
    if missing is not None:
        raise BadInput(f"The gold's {missing.where} is not among the pairs that were labelled.")
    return tuple(pair.with_groups(known[squeeze(pair.source), squeeze(pair.output)].groups) for pair in gold)


def baseline_none(gold: Sequence[Pair]) -> tuple[Pair, ...]:
    """The majority class: nothing was done to any word."""
    return tuple(pair.with_groups(()) for pair in gold)


def baseline_words(gold: Sequence[Pair]) -> tuple[Pair, ...]:
    """What EASSE's word-level labels say, each as the commonest label that it can be in ASSETann.

    An unaligned source word was deleted (deloth), an unaligned output word added (incst), a word aligned with another
    one replaced (synonym), and a word aligned out of order moved. The alignment is plainly's.
    """
    words = Words()
    tokens = [pair.source_tokens for pair in gold], [pair.output_tokens for pair in gold]
    found: dict[int, tuple[Group, ...]] = {}
    for batch in batches(*tokens, words):
        for at, number in enumerate(batch.aligned.order.tolist()):
            source, output = tokens[0][number], tokens[1][number]
            links = batch.links(at)
            labels = ["deloth"] * len(source), ["incst"] * len(output)
            for place, link in enumerate(links[0]):
                if link >= 0:
                    same = source[place].lower() == output[link].lower()
                    moved = batch.aligned.source_pass[at, place] > 1
                    labels[0][place] = labels[1][link] = ("move" if moved else NONE) if same else "synonym"
            found[number] = build_groups(labels, None, links)
    return tuple(pair.with_groups(found[at]) for at, pair in enumerate(gold))


def without_errors(pairs: Sequence[Pair], labelled: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Both without the pairs that people marked as erroneous, in which by rule nothing else is annotated."""
    kept = [at for at, pair in enumerate(pairs) if "err" not in pair.labels]
    return [pairs[at] for at in kept], [labelled[at] for at in kept]


def table(gold: Sequence[Pair], systems: Mapping[str, Sequence[Pair]]) -> list[AgainstGold]:
    """Every system on both sides."""
    return [each for name, pairs in systems.items() for each in against_gold(gold, pairs, name=name)]
