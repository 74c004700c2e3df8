"""Label the operations between sources and outputs: by rules alone, or with a small trained model, offline and fast.

>>> pairs = labeller("rules").label(["It is old and it leaks ."], ["It is old . It leaks ."])
>>> sorted(pairs[0].labels)
['delcst', 'split']
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, UnknownName
from plainly.core.progress import Tell, ignore_progress
from plainly.text.lexicon import Words, tokenise
from plainly.text.parse import DEFAULT_MODEL, Parse, Parser
from plainly.text.word_alignment import KIND_COLUMN, Aligned, align, pieces
from plainly.typology.annotation import Group, Pair, build_groups, by_place, moved
from plainly.typology.features import Ints, features, hashed, parse_values, shift, status, take
from plainly.typology.network import NEIGHBOURS, NetworkWeights, load, predict
from plainly.typology.rules import AlignedText, PairLabels, label_pair, refine
from plainly.typology.vocabulary import NONE, all_labels

NAMES = ("light", "rules", "spacy")
NOTICE = (
    "The labeller's weights were trained on ASSETann, whose licence (CC-BY-NC-4.0) allows no commercial use. The "
    "setting 'rules' is free of it: labeller='rules'"
)
CHUNK = 2000  # Pairs that are labelled together: more would take more memory and no less time.
_VOCABULARY = 400_000

_UNPARSED = Parse([], [], [])

# Of a pair: the label of every word on both sides, and how sure each is where that is known.
WordLabels = tuple[tuple[list[str], list[str]], tuple[list[float], list[float]] | None]
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

    def links(self, at: int) -> tuple[Sequence[int], Sequence[int]]:
        return self.texts[at][0].links, self.texts[at][1].links

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
    links = [
        np.where(own.links >= 0, take(other, np.maximum(own.links, 0)), 0)[number > 0]
        for own, number, other in zip(sides, numbers, numbers[::-1], strict=True)
    ]
    return (rows[0], rows[1]), (_neighbours(numbers[0]), _neighbours(numbers[1])), (links[0], links[1])


def _neighbours(number: Ints) -> Ints:
    """Rows of the words around each word; 0 beyond the ends."""
    reach, width = max(NEIGHBOURS), number.shape[1]
    padded = np.pad(number, ((0, 0), (reach, reach)))
    return np.stack([padded[:, reach + by : reach + by + width][number > 0] for by in NEIGHBOURS], axis=1)


def _opinions(batch: PairBatch, side_words: npt.NDArray[np.int32], facts: Ints, *, side: int, buckets: int) -> Ints:
    """The rules' labels of a word and its neighbours as further facts."""
    real = side_words != 0
    label = np.zeros(side_words.shape, dtype=np.int64)
    label[real] = [_CODE[name] for pair in batch.rules for name in pair[side]]
    own, left, right = label[real], shift(label, 1)[real], shift(label, -1)[real]
    values = [own, left * 32 + own, own * 32 + right, (left * 32 + right) * 32 + own]
    values += [facts[:, template] * 32 + own for template in (2, 10, 5)]
    return hashed(values, _RULE_TEMPLATE, side=side, buckets=buckets)


class Labeller:
    """Gives pairs of texts their groups: tokenises, works in chunks that bound memory, and builds the groups.

    The words' labels come from rules, or, with ``weights``, from a small network over facts about words and the rules'
    opinion of them; with a parser, over its parses too. ``notice`` is what a user must know first, or nothing.
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
        """Pairs with groups. Texts are tokenised first (the pair then holds the tokens) unless they already are."""
        if len(sources) != len(outputs):
            raise BadInput(
                f"There are {len(sources)} sources and {len(outputs)} outputs; operations lie between pairs."
            )
        names = [str(at + 1) for at in range(len(sources))] if ids is None else ids
        pairs: list[Pair] = []
        for start in range(0, len(sources), CHUNK):
            if len(self._words) > _VOCABULARY:
                self._words = Words()
            chunk = slice(start, start + CHUNK)
            texts = [[text if tokenised else tokenise(text) for text in side[chunk]] for side in (sources, outputs)]
            pairs += self._pairs(texts[0], texts[1], names[chunk], part)
        return tuple(pairs)

    def again(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """Annotated pairs with the groups that this labeller gives them."""
        labelled = self.label([pair.source for pair in pairs], [pair.output for pair in pairs], tokenised=True)
        return tuple(pair.with_groups(other.groups) for pair, other in zip(pairs, labelled, strict=True))

    def _pairs(self, sources: Sequence[str], outputs: Sequence[str], ids: Sequence[str], part: str) -> list[Pair]:
        tokens = [text.split() for text in sources], [text.split() for text in outputs]
        cut = [
            (pair, *piece)
            for pair, (source, output) in enumerate(zip(*tokens, strict=True))
            for piece in pieces(source, output, ids[pair])
        ]
        sides = [tokens[0][pair][own] for pair, own, _ in cut], [tokens[1][pair][other] for pair, _, other in cut]
        groups: list[list[Group]] = [[] for _ in sources]
        for batch in batches(*sides, self._words):
            for at, (labels, confidences) in enumerate(self._decide(batch)):
                pair, own, other = cut[int(batch.aligned.order[at])]
                groups[pair] += moved(build_groups(labels, confidences, batch.links(at)), own.start, other.start)
        return [
            Pair(ids[pair], sources[pair], outputs[pair], tuple(sorted(groups[pair], key=by_place)), part)
            for pair in range(len(sources))
        ]

    def _decide(self, batch: PairBatch) -> Iterator[WordLabels]:
        """Labels and confidences of every word of both sides, pair by pair."""
        if self._weights is None:
            yield from ((refine(*texts, labels), None) for texts, labels in zip(batch.texts, batch.rules, strict=True))
            return
        inputs = facts(batch, self._words, buckets=self._weights.buckets, parses=self._parses(batch))
        labels, sure = [], []
        for probabilities, names in zip(predict(self._weights, *inputs), self._weights.labels, strict=True):
            labels.append(np.array(names, dtype=object)[probabilities.argmax(axis=1)].tolist())
            sure.append(probabilities.max(axis=1).tolist())
        for texts, (_, source, output) in zip(batch.texts, batch.spans(), strict=True):
            refined = refine(*texts, (labels[0][source], labels[1][output]))
            yield refined, (sure[0][source], sure[1][output])

    def _parses(self, batch: PairBatch) -> tuple[list[Parse], list[Parse]] | None:
        if self._parser is None:
            return None
        order = batch.aligned.order.tolist()
        parses = []
        for texts in (batch.sources, batch.outputs):
            parsed = dict(zip(order, self._parser.parse([texts[pair] for pair in order]), strict=True))
            parses.append([parsed.get(pair, _UNPARSED) for pair in range(len(texts))])
        return parses[0], parses[1]


TextPairs = tuple[Sequence[str], Sequence[str], Sequence[str], str]  # sources, outputs, ids, and whose outputs


def label_task(name: str, task: TextPairs, tell: Tell = ignore_progress) -> tuple[Pair, ...]:
    """Work for an engine: label some pairs."""
    sources, outputs, ids, part = task
    pairs = loaded(name).label(sources, outputs, ids=ids, part=part)
    tell(len(pairs))
    return pairs


def labeller(name: str = "light") -> Labeller:
    """The labeller of that name: light, rules, or spacy where its extra is installed."""
    if not isinstance(name, str):
        raise BadInput(f"labeller= is the name of a labeller, such as 'light' or 'rules', not {name!r:.60}.")
    # spacy:PATH loads another spaCy model than en_core_web_sm, with which the weights were trained.
    match name.partition(":"):
        case "rules", "", _:
            return Labeller(name)
        case "light", "", _:
            return Labeller(name, load("labeller-light"))
        case "spacy", _, model:
            return Labeller(name, load("labeller-spacy"), parser=Parser(model or DEFAULT_MODEL))
    raise UnknownName("labeller", name, NAMES, see="plainly operations label --help")


# The labeller that this process keeps, with the words that it has seen.
loaded = lru_cache(maxsize=1)(labeller)
