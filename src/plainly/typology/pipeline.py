"""From texts to what a labeller decides on, in batches: words, alignment, the rules' opinion, the model's facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.typology.align import KIND_COLUMN, Aligned, align
from plainly.typology.features import features, status, views
from plainly.typology.model import NEIGHBOURS
from plainly.typology.parse import Parse, parse_values
from plainly.typology.rules import Side, label_pair
from plainly.typology.typology import NONE, all_labels
from plainly.typology.words import Words

Ints = npt.NDArray[np.int64]
Tokens = Sequence[str]

_CODE = {label: number for number, label in enumerate((*all_labels(), NONE), 1)}
# Templates of the rules' opinion and of a parse, numbered after those of features.py.
_RULE_TEMPLATE, _PARSE_TEMPLATE = 56, 64
_MIX = np.int64(0x9E3779B1)


@dataclass(frozen=True)
class Batch:
    """A batch of aligned pairs with the labels that the rules give them."""

    aligned: Aligned
    sources: Sequence[Tokens]
    outputs: Sequence[Tokens]
    rules: list[tuple[list[str], list[str]]]

    def links(self, at: int) -> tuple[list[int], list[int]]:
        pair = int(self.aligned.order[at])
        return (
            self.aligned.source_link[at, : len(self.sources[pair])].tolist(),
            self.aligned.output_link[at, : len(self.outputs[pair])].tolist(),
        )


def batches(sources: Sequence[Tokens], outputs: Sequence[Tokens], words: Words) -> Iterator[Batch]:
    """Align pairs of token lists and let the rules label them."""
    encoded = [words.encode(tokens) for tokens in sources], [words.encode(tokens) for tokens in outputs]
    for aligned in align(*encoded, words):
        kinds = words.table[:, KIND_COLUMN]
        source_kinds, output_kinds = kinds[aligned.source].tolist(), kinds[aligned.output].tolist()
        links = aligned.source_link.tolist(), aligned.output_link.tolist()
        passes = aligned.source_pass.tolist(), aligned.output_pass.tolist()
        rules = []
        for at, pair in enumerate(aligned.order.tolist()):
            source, output = sources[pair], outputs[pair]
            n, m = len(source), len(output)
            rules.append(
                label_pair(
                    Side(source, source_kinds[at][:n], links[0][at][:n], passes[0][at][:n]),
                    Side(output, output_kinds[at][:m], links[1][at][:m], passes[1][at][:m]),
                )
            )
        yield Batch(aligned, sources, outputs, rules)


def facts(
    batch: Batch, words: Words, *, buckets: int, parses: tuple[Sequence[Parse], Sequence[Parse]] | None = None
) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints], tuple[Ints, Ints]]:
    """What ``model.predict`` takes: rows of facts, neighbours and counterparts of all words of both sides.

    ``parses`` are of all pairs, in the order in which the pairs were given.
    """
    aligned = batch.aligned
    rows = []
    for side, view in enumerate(views(aligned)):
        found = features(view, words.table, side=side, buckets=buckets)
        parts = [found, _opinions(batch, view.words, found, side=side, buckets=buckets)]
        if parses is not None:
            chosen = [parses[side][pair] for pair in aligned.order.tolist()]
            kind = words.table[view.words, KIND_COLUMN].astype(np.int64)
            shape = (view.words.shape[0], view.words.shape[1])
            values = parse_values(chosen, shape, status(view, words.table), kind)
            real = view.words != 0
            parts.append(_hashed([value[real] for value in values], _PARSE_TEMPLATE, side=side, buckets=buckets))
        rows.append(np.concatenate(parts, axis=1))
    count = len(rows[0])
    numbers = []
    for start, side_words in ((1, aligned.source), (1 + count, aligned.output)):
        real = side_words != 0
        number = np.zeros(side_words.shape, dtype=np.int64)
        number[real] = np.arange(start, start + int(real.sum()))
        numbers.append(number)
    places = tuple(_neighbours(number) for number in numbers)
    links = tuple(
        np.where(link >= 0, np.take_along_axis(other, np.maximum(link, 0), axis=1), 0)[number > 0]
        for number, other, link in (
            (numbers[0], numbers[1], aligned.source_link),
            (numbers[1], numbers[0], aligned.output_link),
        )
    )
    return (rows[0], rows[1]), (places[0], places[1]), (links[0], links[1])


def _neighbours(number: Ints) -> Ints:
    """Rows of the words around each word; 0 beyond the ends."""
    pairs, width = number.shape
    reach = max(NEIGHBOURS)
    padded = np.zeros((pairs, width + 2 * reach), dtype=np.int64)
    padded[:, reach : reach + width] = number
    real = number > 0
    return np.stack([padded[:, reach + by : reach + by + width][real] for by in NEIGHBOURS], axis=1)


def _opinions(batch: Batch, side_words: npt.NDArray[np.int32], found: Ints, *, side: int, buckets: int) -> Ints:
    """The rules' labels of a word and its neighbours as further facts."""
    label = np.zeros(side_words.shape, dtype=np.int64)
    label[side_words != 0] = [_CODE[name] for pair in batch.rules for name in pair[side]]
    before, after = np.zeros_like(label), np.zeros_like(label)
    before[:, 1:], after[:, :-1] = label[:, :-1], label[:, 1:]
    real = side_words != 0
    own, left, right = label[real], before[real], after[real]
    values = [
        own,
        left * 32 + own,
        own * 32 + right,
        (left * 32 + right) * 32 + own,
        found[:, 2] * 32 + own,
        found[:, 10] * 32 + own,
        found[:, 5] * 32 + own,
    ]
    return _hashed(values, _RULE_TEMPLATE, side=side, buckets=buckets)


def _hashed(values: Sequence[Ints], first: int, *, side: int, buckets: int) -> Ints:
    rows = np.empty((len(values[0]), len(values)), dtype=np.int64)
    for template, value in enumerate(values):
        hashed = (value * 128 + first + template) * 2 + side
        hashed = (hashed ^ (hashed >> 15)) * _MIX
        rows[:, template] = (hashed ^ (hashed >> 29)) % buckets
    return rows
