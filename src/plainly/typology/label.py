"""Label the operations between sources and outputs: by rules alone, or with a small trained model, offline and fast.

>>> pairs = labeller("rules").label(["It is old and it leaks ."], ["It is old . It leaks ."])
>>> sorted(pairs[0].labels)
['delcst', 'split']
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from plainly.core.errors import BadInput, UnknownName
from plainly.core.progress import Tell, silent
from plainly.text.lexicon import Words, tokenise
from plainly.text.parse import DEFAULT_MODEL, Parse, Parser
from plainly.text.pieces import pieces
from plainly.typology.annotation import Group, Pair
from plainly.typology.groups import build_groups, by_place, moved
from plainly.typology.network import NetworkWeights, load, predict
from plainly.typology.pipeline import PairBatch, batches, facts
from plainly.typology.refine import refine

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
            counted = f"{len(sources)} sources and {len(outputs)} outputs"
            raise BadInput(f"There are {counted}; operations lie between pairs.")
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
            best = probabilities.argmax(axis=1)
            labels.append(np.array(names, dtype=object)[best].tolist())
            sure.append(np.take_along_axis(probabilities, best[:, None], axis=1)[:, 0].tolist())
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


def label_task(name: str, task: TextPairs, tell: Tell = silent) -> tuple[Pair, ...]:
    """Work for an engine: label some pairs."""
    sources, outputs, ids, part = task
    pairs = loaded(name).label(sources, outputs, ids=ids, part=part)
    tell(len(pairs))
    return pairs


@lru_cache(maxsize=1)
def loaded(name: str) -> Labeller:
    """A labeller that this process keeps, with the words that it has seen."""
    return labeller(name)


def labeller(name: str = "light") -> Labeller:
    """The labeller of that name: light, rules, or spacy where its extra is installed."""
    if name == "rules":
        return Labeller(name)
    if name == "light":
        return Labeller(name, load("labeller-light"))
    if not isinstance(name, str):
        raise BadInput(f"labeller= is the name of a labeller, such as 'light' or 'rules', not {name!r:.60}.")
    # spacy:PATH loads another spaCy model than en_core_web_sm, with which the weights were trained.
    kind, _, model = name.partition(":")
    if kind == "spacy":
        return Labeller(name, load("labeller-spacy"), parser=Parser(model or DEFAULT_MODEL))
    raise UnknownName("labeller", name, NAMES, see="plainly operations label --help")
