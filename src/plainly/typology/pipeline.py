"""From texts to what a labeller decides on, in batches: words, alignment, the rules' opinion, the model's facts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.text.lexicon import Words
from plainly.text.parse import Parse
from plainly.text.word_alignment import KIND_COLUMN, Aligned, align
from plainly.typology.features import Ints, features, hashed, parse_values, shift, status
from plainly.typology.network import NEIGHBOURS
from plainly.typology.rules import AlignedText, PairLabels, label_pair
from plainly.typology.vocabulary import NONE, all_labels

Tokens = Sequence[str]

_CODE = {label: number for number, label in enumerate((*all_labels(), NONE), 1)}
# Templates of the rules' opinion and of a parse, numbered after those of features.py.
_RULE_TEMPLATE, _PARSE_TEMPLATE = 56, 64


@dataclass(frozen=True)
class PairBatch:
    """A batch of aligned pairs with the labels that the rules give them."""

    aligned: Aligned
    sources: Sequence[Tokens]
    outputs: Sequence[Tokens]
    rules: list[PairLabels]
    texts: list[tuple[AlignedText, AlignedText]]

    def links(self, at: int) -> tuple[list[int], list[int]]:
        pair = int(self.aligned.order[at])
        source, output = (side.links[at].tolist() for side in (self.aligned.source, self.aligned.output))
        return source[: len(self.sources[pair])], output[: len(self.outputs[pair])]

    def spans(self) -> Iterator[tuple[int, slice, slice]]:
        """Every pair's number, and where its words stand among all words of the source and of the output."""
        source, output = 0, 0
        for pair in self.aligned.order.tolist():
            ends = source + len(self.sources[pair]), output + len(self.outputs[pair])
            yield pair, slice(source, ends[0]), slice(output, ends[1])
            source, output = ends


def batches(sources: Sequence[Tokens], outputs: Sequence[Tokens], words: Words) -> Iterator[PairBatch]:
    """Align pairs of token lists and let the rules label them."""
    encoded = [words.encode(tokens) for tokens in sources], [words.encode(tokens) for tokens in outputs]
    for aligned in align(*encoded, words):
        kinds = words.table[:, KIND_COLUMN]
        sides = []
        for side, tokens in ((aligned.source, sources), (aligned.output, outputs)):
            texts = [tokens[pair] for pair in aligned.order.tolist()]
            columns = (array.tolist() for array in (kinds[side.words], side.links, side.passes))
            rows = zip(texts, *columns, strict=True)
            sides.append([AlignedText(text, *(column[: len(text)] for column in row)) for text, *row in rows])
        pairs = list(zip(sides[0], sides[1], strict=True))
        yield PairBatch(aligned, sources, outputs, [label_pair(*pair) for pair in pairs], pairs)


def facts(
    batch: PairBatch, words: Words, *, buckets: int, parses: tuple[Sequence[Parse], Sequence[Parse]] | None = None
) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints], tuple[Ints, Ints]]:
    """What ``network.predict`` takes; ``parses`` are of all pairs, in the pairs' own order."""
    sides = batch.aligned.source, batch.aligned.output
    rows, numbers, count = [], [], 1
    for side, (own, other) in enumerate((sides, sides[::-1])):
        seen = features(own, other, words.table, side=side, buckets=buckets)
        parts = [seen, _opinions(batch, own.words, seen, side=side, buckets=buckets)]
        real = own.words != 0
        if parses is not None:
            chosen = [parses[side][pair] for pair in batch.aligned.order.tolist()]
            kind = words.table[own.words, KIND_COLUMN].astype(np.int64)
            values = parse_values(chosen, status(own, other, words.table), kind)
            parts.append(hashed([value[real] for value in values], _PARSE_TEMPLATE, side=side, buckets=buckets))
        rows.append(np.concatenate(parts, axis=1))
        number = np.zeros(own.words.shape, dtype=np.int64)
        number[real] = np.arange(count, count + len(seen))
        numbers.append(number)
        count += len(seen)
    places = [_neighbours(number) for number in numbers]
    links = [
        np.where(own.links >= 0, np.take_along_axis(other, np.maximum(own.links, 0), axis=1), 0)[number > 0]
        for own, number, other in zip(sides, numbers, numbers[::-1], strict=True)
    ]
    return (rows[0], rows[1]), (places[0], places[1]), (links[0], links[1])


def _neighbours(number: Ints) -> Ints:
    """Rows of the words around each word; 0 beyond the ends."""
    pairs, width = number.shape
    reach = max(NEIGHBOURS)
    padded = np.zeros((pairs, width + 2 * reach), dtype=np.int64)
    padded[:, reach : reach + width] = number
    real = number > 0
    return np.stack([padded[:, reach + by : reach + by + width][real] for by in NEIGHBOURS], axis=1)


def _opinions(batch: PairBatch, side_words: npt.NDArray[np.int32], facts: Ints, *, side: int, buckets: int) -> Ints:
    """The rules' labels of a word and its neighbours as further facts."""
    real = side_words != 0
    label = np.zeros(side_words.shape, dtype=np.int64)
    label[real] = [_CODE[name] for pair in batch.rules for name in pair[side]]
    own, left, right = label[real], shift(label, 1)[real], shift(label, -1)[real]
    values = [own, left * 32 + own, own * 32 + right, (left * 32 + right) * 32 + own]
    values += [facts[:, template] * 32 + own for template in (2, 10, 5)]
    return hashed(values, _RULE_TEMPLATE, side=side, buckets=buckets)
