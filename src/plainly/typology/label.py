"""Label the operations between sources and outputs: by rules alone, or with a small trained model, offline and fast.

>>> pairs = labeller("rules").label(["It is old and it leaks ."], ["It is old . It leaks ."])
>>> sorted(pairs[0].labels)
['delcst', 'split']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from plainly.errors import BadInput, UnknownName, way
from plainly.progress import Tell
from plainly.typology.annotation import Pair
from plainly.typology.groups import build_groups
from plainly.typology.lexicon import Words, tokenise
from plainly.typology.network import NetworkWeights, load, predict
from plainly.typology.parse import DEFAULT_MODEL, Parse, Parser
from plainly.typology.pipeline import PairBatch, batches, facts

NAMES = ("light", "rules", "spacy")
NOTICE = (
    "The labeller's weights were trained on ASSETann, whose licence (CC-BY-NC-4.0) allows no commercial use. The "
    f"setting 'rules' is free of it: {way('labeller=', '--labeller ')}rules"
)
CHUNK = 2000  # Pairs that are labelled together: more would take more memory and no less time.
_VOCABULARY = 400_000

_UNPARSED = Parse([], [], [])

# Of a pair: the label of every word on both sides, and how sure each is where that is known.
WordLabels = tuple[tuple[list[str], list[str]], tuple[list[float], list[float]] | None]


class WordLabeller(Protocol):
    """What decides on the words' labels. ``notice`` is what a user must know before using it, or nothing."""

    name: str
    notice: str

    def decide(self, batch: PairBatch, words: Words) -> Iterator[WordLabels]:
        """Labels and confidences of every word of both sides, pair by pair."""
        ...


class RulesLabeller:
    """Rules over the alignment; no trained weights."""

    name = "rules"
    notice = ""

    def decide(self, batch: PairBatch, words: Words) -> Iterator[WordLabels]:
        for labels in batch.rules:
            yield labels, None


class TrainedLabeller:
    """A small network over facts about words and the rules' opinion of them; with a parser, over its parses too."""

    notice = NOTICE

    def __init__(self, weights: NetworkWeights, name: str = "light", *, parser: Parser | None = None) -> None:
        self.name = name
        self.weights = weights
        self._parser = parser
        self._labels = [np.array(names, dtype=object) for names in weights.labels]

    def decide(self, batch: PairBatch, words: Words) -> Iterator[WordLabels]:
        inputs = facts(batch, words, buckets=self.weights.buckets, parses=self._parses(batch))
        labels, sure = [], []
        for probabilities, names in zip(predict(self.weights, *inputs), self._labels, strict=True):
            best = probabilities.argmax(axis=1)
            labels.append(names[best].tolist())
            sure.append(np.take_along_axis(probabilities, best[:, None], axis=1)[:, 0].tolist())
        for _, source, output in batch.spans():
            yield (labels[0][source], labels[1][output]), (sure[0][source], sure[1][output])

    def _parses(self, batch: PairBatch) -> tuple[list[Parse], list[Parse]] | None:
        if self._parser is None:
            return None
        order = batch.aligned.order.tolist()
        parses = []
        for texts in (batch.sources, batch.outputs):
            parsed = dict(zip(order, self._parser.parse([texts[pair] for pair in order]), strict=True))
            parses.append([parsed.get(pair, _UNPARSED) for pair in range(len(texts))])
        return parses[0], parses[1]


class Labeller:
    """Gives pairs of texts their groups: tokenises, works in chunks that bound memory, and builds the groups."""

    def __init__(self, decider: WordLabeller) -> None:
        self._decider = decider
        self.name, self.notice = decider.name, decider.notice
        self._words = Words()

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

    def _pairs(self, sources: Sequence[str], outputs: Sequence[str], ids: Sequence[str], part: str) -> list[Pair]:
        tokens = [text.split() for text in sources], [text.split() for text in outputs]
        pairs: dict[int, Pair] = {}
        for batch in batches(*tokens, self._words):
            for at, (labels, confidences) in enumerate(self._decider.decide(batch, self._words)):
                pair = int(batch.aligned.order[at])
                groups = build_groups(labels, confidences, batch.links(at))
                pairs[pair] = Pair(ids[pair], sources[pair], outputs[pair], groups, part)
        return [pairs[pair] for pair in range(len(sources))]


TextPairs = tuple[Sequence[str], Sequence[str], Sequence[str], str]  # sources, outputs, ids, and whose outputs


@dataclass(frozen=True)
class LabelTexts:
    """Work for an engine: label some pairs."""

    labeller: str

    def __call__(self, task: TextPairs, tell: Tell) -> tuple[Pair, ...]:
        sources, outputs, ids, part = task
        pairs = loaded(self.labeller).label(sources, outputs, ids=ids, part=part)
        tell(len(pairs))
        return pairs


@lru_cache(maxsize=1)
def loaded(name: str) -> Labeller:
    """A labeller that this process keeps, with the words that it has seen."""
    return labeller(name)


def labeller(name: str = "light") -> Labeller:
    """The labeller of that name: light, rules, or spacy where its extra is installed.

    ``spacy:PATH`` loads another spaCy model than en_core_web_sm; the weights were trained with that one.
    """
    if name == "rules":
        return Labeller(RulesLabeller())
    if name == "light":
        return Labeller(TrainedLabeller(load("labeller-light")))
    kind, _, model = name.partition(":")
    if kind == "spacy":
        parser = Parser(model or DEFAULT_MODEL)
        return Labeller(TrainedLabeller(load("labeller-spacy"), name, parser=parser))
    raise UnknownName("labeller", name, NAMES, see="plainly operations label --help")
