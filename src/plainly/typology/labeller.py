"""Label the operations between sources and outputs: by rules alone, or with a small trained model, offline and fast.

>>> pairs = labeller("rules").label(["It is old and it leaks ."], ["It is old . It leaks ."])
>>> sorted(pairs[0].labels)
['delcst', 'split']

The trained model is a table of facts and two layers that look at neighbours and counterparts, in NumPy alone. Its
weights are a few hundred kilobytes and were trained on ASSETann (CC-BY-NC-4.0) by ``labeller_training.py``;
``weights/labeller-light.md`` says how well they do.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, UnknownName
from plainly.core.files import write_whole
from plainly.core.progress import Tell, ignore_progress
from plainly.text.lexicon import Words, tokenise
from plainly.text.parse import DEFAULT_MODEL, Parse, Parser
from plainly.text.word_alignment import KIND_COLUMN, AlignedPairs, align, pieces
from plainly.typology.annotation import Group, Pair, build_groups
from plainly.typology.features import Ints, features, hash_values, parse_values, shift, status, take
from plainly.typology.rules import AlignedText, PairLabels, label_pair, refine
from plainly.typology.vocabulary import NONE, all_labels

NAMES = ("light", "rules", "spacy")
NOTICE = (
    "The labeller's weights were trained on ASSETann, whose licence (CC-BY-NC-4.0) forbids commercial use. To label "
    "without them: labeller='rules'"
)
CHUNK = 2000  # Pairs that are labelled together: more would take more memory and no less time.
WEIGHTS = Path(__file__).parent / "weights"
NEIGHBOURS = (-2, -1, 0, 1, 2)
_VOCABULARY = 400_000
_BLOCK = 1024

Floats = npt.NDArray[np.float32]

# Of a pair: the label of every word on both sides, and how sure each is where that is known.
WordLabels = tuple[tuple[list[str], list[str]], tuple[list[float], list[float]] | None]
Tokens = Sequence[str]

_CODE = {label: number for number, label in enumerate((*all_labels(), NONE), 1)}
# Templates of the rules' opinion and of a parse, numbered after those of features.py.
_RULE_TEMPLATE, _PARSE_TEMPLATE = 56, 64


@dataclass(frozen=True)
class PairBatch:
    """A batch of aligned pairs with the labels that the rules give them."""

    aligned: AlignedPairs
    texts: list[tuple[AlignedText, AlignedText]]
    rules: list[PairLabels]

    def links(self, at: int) -> tuple[Sequence[int], Sequence[int]]:
        return self.texts[at][0].links, self.texts[at][1].links

    def spans(self) -> Iterator[tuple[slice, slice]]:
        """Yield the slices of every pair's words among all words of the source and of the output."""
        start, other_start = 0, 0
        for source, output in self.texts:
            end, other_end = start + len(source.words), other_start + len(output.words)
            yield slice(start, end), slice(other_start, other_end)
            start, other_start = end, other_end


def batches(sources: Sequence[Tokens], outputs: Sequence[Tokens], words: Words) -> Iterator[PairBatch]:
    """Align pairs of token lists and label them with the rules."""
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
        yield PairBatch(aligned, pairs, [label_pair(*pair) for pair in pairs])


def facts(
    batch: PairBatch, words: Words, *, buckets: int, parses: Sequence[Sequence[Parse]] | None = None
) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints], tuple[Ints, Ints]]:
    """Return the arguments of ``predict``; ``parses`` are those of both sides, in the order of the batch."""
    sides = batch.aligned.source, batch.aligned.output
    rows, numbers, count = [], [], 1
    for side, (own, other) in enumerate((sides, sides[::-1])):
        word_facts = features(own, other, words.table, side=side, buckets=buckets)
        parts = [word_facts, _opinions(batch, own.words, word_facts, side=side, buckets=buckets)]
        real = own.words != 0
        if parses is not None:
            kind = words.table[own.words, KIND_COLUMN].astype(np.int64)
            values = parse_values(parses[side], status(own, other, words.table), kind)
            parts.append(hash_values([value[real] for value in values], _PARSE_TEMPLATE, side=side, buckets=buckets))
        rows.append(np.concatenate(parts, axis=1))
        number = np.zeros(own.words.shape, dtype=np.int64)
        number[real] = np.arange(count, count + len(word_facts))
        numbers.append(number)
        count += len(word_facts)
    links = [
        np.where(own.links >= 0, take(other, np.maximum(own.links, 0)), 0)[number > 0]
        for own, number, other in zip(sides, numbers, numbers[::-1], strict=True)
    ]
    return (rows[0], rows[1]), (_neighbours(numbers[0]), _neighbours(numbers[1])), (links[0], links[1])


def _neighbours(number: Ints) -> Ints:
    """Return the rows of the words around each word; 0 beyond the ends."""
    reach, width = max(NEIGHBOURS), number.shape[1]
    padded = np.pad(number, ((0, 0), (reach, reach)))
    return np.stack([padded[:, reach + by : reach + by + width][number > 0] for by in NEIGHBOURS], axis=1)


def _opinions(batch: PairBatch, side_words: npt.NDArray[np.int32], facts: Ints, *, side: int, buckets: int) -> Ints:
    """Return the rules' labels of a word and its neighbours as further facts."""
    real = side_words != 0
    label = np.zeros(side_words.shape, dtype=np.int64)
    label[real] = [_CODE[name] for pair in batch.rules for name in pair[side]]
    own, left, right = label[real], shift(label, 1)[real], shift(label, -1)[real]
    values = [own, left * 32 + own, own * 32 + right, (left * 32 + right) * 32 + own]
    values += [facts[:, template] * 32 + own for template in (2, 10, 5)]
    return hash_values(values, _RULE_TEMPLATE, side=side, buckets=buckets)


@dataclass(frozen=True)
class NetworkWeights:
    """Trained weights: the table of facts, two convolutions and an output layer for each side."""

    table: Floats
    bias: Floats
    layers: tuple[tuple[Floats, Floats], ...]
    outputs: tuple[tuple[Floats, Floats], ...]
    labels: tuple[tuple[str, ...], ...]
    card: dict[str, Any]

    @classmethod
    def of(cls, arrays: Mapping[str, Floats], labels: Sequence[Sequence[str]], card: dict[str, Any]) -> NetworkWeights:
        """Build the weights from arrays by their names in a file."""
        layers, outputs = (
            tuple((arrays[f"{kind}{at}_w"], arrays[f"{kind}{at}_b"]) for at in (0, 1)) for kind in ("layer", "output")
        )
        return cls(arrays["table"], arrays["bias"], layers, outputs, tuple(map(tuple, labels)), card)


@cache
def load_weights(name: str) -> NetworkWeights:
    """Load the weights of that name, once."""
    path = WEIGHTS / f"{name}.npz"
    if not path.is_file():
        raise BadInput(f"The weights {name!r} are missing. Reinstall plainly, or use the labeller rules.")
    with np.load(path) as archive:
        card = json.loads(str(archive["card"]))
        arrays = {name: archive[name].astype(np.float32) for name in archive.files if name != "card"}
    arrays["table"] *= arrays["scale"]
    return NetworkWeights.of(arrays, card["labels"], card)


def save_weights(path: Path, weights: NetworkWeights) -> None:
    """Write weights: the table in eight bits with one scale a column, the rest in sixteen."""
    scale = np.maximum(np.abs(weights.table).max(axis=0), 1e-8) / 127
    arrays: dict[str, Any] = {
        "table": np.round(weights.table / scale).astype(np.int8),
        "scale": scale.astype(np.float32),
        "bias": weights.bias.astype(np.float32),
        "card": np.array(json.dumps(weights.card | {"labels": weights.labels}, ensure_ascii=False)),
    }
    for name, layers in (("layer", weights.layers), ("output", weights.outputs)):
        for at, (matrix, bias) in enumerate(layers):
            arrays[f"{name}{at}_w"], arrays[f"{name}{at}_b"] = matrix.astype(np.float16), bias.astype(np.float32)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_whole(path, buffer.getvalue())


def predict(
    weights: NetworkWeights, facts: tuple[Ints, Ints], places: tuple[Ints, Ints], links: tuple[Ints, Ints]
) -> list[Floats]:
    """Return the probabilities of labels for the words of a batch, (words, labels) for each side.

    ``facts`` are rows of the table. ``places`` are the rows of each word's neighbours among all words of the batch, the
    source's words first, counted from 1; ``links`` those of its counterpart; 0 stands for none.
    """
    neighbours, counterparts = np.concatenate(places), np.concatenate(links)
    first = np.maximum(np.concatenate([_sum_rows(weights.table, rows) for rows in facts]) + weights.bias, 0)
    state, states = first, []
    for matrix, bias in weights.layers:
        padded = np.concatenate([np.zeros((1, state.shape[1]), dtype=np.float32), state])
        context = np.concatenate(
            [padded[neighbours].reshape(len(state), neighbours.shape[1] * state.shape[1]), padded[counterparts]], axis=1
        )
        state = np.maximum(context @ matrix + bias, 0)
        states.append(state)
    sides = np.split(np.concatenate([first, states[0] + states[1]], axis=1), [len(facts[0])])
    scores = (side @ matrix + bias for side, (matrix, bias) in zip(sides, weights.outputs, strict=True))
    exponentials = (np.exp(side - side.max(axis=1, keepdims=True)) for side in scores)
    return [side / side.sum(axis=1, keepdims=True) for side in exponentials]


def _sum_rows(table: Floats, rows: Ints) -> Floats:
    """Sum the rows of each word in the table, in blocks that stay in the processor's cache."""
    total = np.zeros((len(rows), table.shape[1]), dtype=np.float32)
    columns = np.ascontiguousarray(rows.T)
    buffer = np.empty((min(_BLOCK, len(rows)), table.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        part = total[start : start + _BLOCK]
        for column in columns:
            # Rows are within the table by construction; clipping only spares NumPy the check.
            part += np.take(table, column[start : start + _BLOCK], axis=0, out=buffer[: len(part)], mode="clip")
    return total


class Labeller:
    """A labeller of operations, which works in chunks that bound memory.

    The words' labels come from rules, or, with ``weights``, from a small network over facts about words and the rules'
    labels; with a parser, over its parses too. ``notice`` is what users must know about the licence.
    """

    def __init__(self, name: str, weights: NetworkWeights | None = None, *, parser: Parser | None = None) -> None:
        self.name, self.notice = name, NOTICE if weights else ""
        self._weights, self._parser, self._words = weights, parser, Words()

    def label(
        self,
        sources: Sequence[str],
        outputs: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        part: str = "",
        tokenised: bool = False,
    ) -> tuple[Pair, ...]:
        """Return pairs with groups. Texts are tokenised first (the pair then holds the tokens) unless ``tokenised``."""
        if len(sources) != len(outputs):
            raise BadInput(f"There are {len(sources)} sources and {len(outputs)} outputs. Pass one output per source.")
        names = [str(at + 1) for at in range(len(sources))] if ids is None else ids
        pairs: list[Pair] = []
        for start in range(0, len(sources), CHUNK):
            if len(self._words) > _VOCABULARY:
                self._words = Words()
            chunk = slice(start, start + CHUNK)
            texts = [[text if tokenised else tokenise(text) for text in side[chunk]] for side in (sources, outputs)]
            pairs += self._pairs(texts[0], texts[1], names[chunk], part)
        return tuple(pairs)

    def relabel(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """Return annotated pairs with the groups of this labeller."""
        new_pairs = self.label([pair.source for pair in pairs], [pair.output for pair in pairs], tokenised=True)
        return tuple(pair.with_groups(other.groups) for pair, other in zip(pairs, new_pairs, strict=True))

    def _pairs(self, sources: Sequence[str], outputs: Sequence[str], ids: Sequence[str], part: str) -> list[Pair]:
        tokens = [text.split() for text in sources], [text.split() for text in outputs]
        pieces_of_pairs = [
            (pair, *piece)
            for pair, (source, output) in enumerate(zip(*tokens, strict=True))
            for piece in pieces(source, output, ids[pair])
        ]
        sides = (
            [tokens[0][pair][own] for pair, own, _ in pieces_of_pairs],
            [tokens[1][pair][other] for pair, _, other in pieces_of_pairs],
        )
        groups: list[list[Group]] = [[] for _ in sources]
        for batch in batches(*sides, self._words):
            for at, (piece, labels) in enumerate(zip(batch.aligned.order, self._decide(batch), strict=True)):
                pair, own, other = pieces_of_pairs[piece]
                groups[pair] += [
                    group.shift(own.start, other.start) for group in build_groups(*labels, batch.links(at))
                ]
        return [
            Pair(ids[at], sources[at], outputs[at], tuple(sorted(groups[at], key=lambda group: group.position)), part)
            for at in range(len(sources))
        ]

    def _decide(self, batch: PairBatch) -> Iterator[WordLabels]:
        """Yield labels and confidences of every word of both sides, pair by pair."""
        if self._weights is None:
            yield from ((refine(*texts, labels), None) for texts, labels in zip(batch.texts, batch.rules, strict=True))
            return
        sides = zip(*batch.texts, strict=True)
        parses = [self._parser.parse([text.words for text in side]) for side in sides] if self._parser else None
        inputs = facts(batch, self._words, buckets=len(self._weights.table), parses=parses)
        labels, confidences = [], []
        for probabilities, names in zip(predict(self._weights, *inputs), self._weights.labels, strict=True):
            labels.append(np.array(names, dtype=object)[probabilities.argmax(axis=1)].tolist())
            confidences.append(probabilities.max(axis=1).tolist())
        for texts, (source, output) in zip(batch.texts, batch.spans(), strict=True):
            refined_labels = refine(*texts, (labels[0][source], labels[1][output]))
            yield refined_labels, (confidences[0][source], confidences[1][output])


TextPairs = tuple[Sequence[str], Sequence[str], Sequence[str], str]  # sources, outputs, ids, and whose outputs


def label_task(name: str, task: TextPairs, tell: Tell = ignore_progress) -> tuple[Pair, ...]:
    """Label some pairs, as a task of an engine."""
    sources, outputs, ids, part = task
    pairs = cached_labeller(name).label(sources, outputs, ids=ids, part=part)
    tell(len(pairs))
    return pairs


def labeller(name: str = "light") -> Labeller:
    """Return the labeller of that name: light, rules, or spacy where its extra is installed."""
    if not isinstance(name, str):
        raise BadInput(f"labeller= must be the name of a labeller, such as 'light' or 'rules', not {name!r:.60}.")
    # spacy:PATH loads another spaCy model than en_core_web_sm, with which the weights were trained.
    match name.partition(":"):
        case "rules", "", _:
            return Labeller(name)
        case "light", "", _:
            return Labeller(name, load_weights("labeller-light"))
        case "spacy", _, model:
            return Labeller(name, load_weights("labeller-spacy"), parser=Parser(model or DEFAULT_MODEL))
    raise UnknownName("labeller", name, NAMES, see="plainly operations label --help")


# The labeller of this process, with its cache of words.
cached_labeller = lru_cache(maxsize=1)(labeller)
