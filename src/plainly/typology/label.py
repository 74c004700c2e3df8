"""Label the operations between sources and outputs: by rules alone, or with a small trained model, offline and fast.

>>> found = labeller("rules").label(["It is old and it leaks ."], ["It is old . It leaks ."])
>>> sorted(found[0].labels)
['delcst', 'split']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plainly.errors import BadInput, UnknownName
from plainly.evalset import EvalSet
from plainly.typology.annotation import Pair
from plainly.typology.groups import build_groups
from plainly.typology.model import Weights, load, predict
from plainly.typology.parse import DEFAULT_MODEL, Parse, Parser
from plainly.typology.pipeline import Batch, batches, facts
from plainly.typology.words import Words, tokenise

if TYPE_CHECKING:
    from concurrent.futures import Future

NAMES = ("light", "rules", "spacy")
NOTICE = (
    "The labeller's weights were trained on ASSETann, whose licence (CC-BY-NC-4.0) allows no commercial use. The "
    "setting 'rules' is free of it: --labeller rules"
)
_CHUNK = 2000
_VOCABULARY = 400_000

_UNPARSED = Parse([], [], [])

Labelled = tuple[tuple[list[str], list[str]], tuple[list[float], list[float]] | None]


class Labeller(Protocol):
    """What gives pairs of texts their groups. ``notice`` is what a user must know before using it, or nothing."""

    name: str
    notice: str

    def decide(self, batch: Batch, words: Words) -> Iterator[Labelled]:
        """Labels and confidences of every word of both sides, pair by pair."""
        ...


class RulesLabeller:
    """Rules over the alignment; no trained weights."""

    name = "rules"
    notice = ""

    def decide(self, batch: Batch, words: Words) -> Iterator[Labelled]:
        for labels in batch.rules:
            yield labels, None


class TrainedLabeller:
    """A small network over facts about words and the rules' opinion of them; with a parser, over its parses too."""

    notice = NOTICE

    def __init__(self, weights: Weights, name: str = "light", *, parser: Parser | None = None) -> None:
        self.name = name
        self.weights = weights
        self._parser = parser
        self._labels = [np.array(names, dtype=object) for names in weights.labels]

    def decide(self, batch: Batch, words: Words) -> Iterator[Labelled]:
        found = predict(self.weights, *facts(batch, words, buckets=self.weights.buckets, parses=self._parses(batch)))
        best = [each.argmax(axis=1) for each in found]
        labels = [names[chosen].tolist() for names, chosen in zip(self._labels, best, strict=True)]
        sure = [
            np.take_along_axis(each, at[:, None], axis=1)[:, 0].tolist() for each, at in zip(found, best, strict=True)
        ]
        starts = [0, 0]
        for pair in batch.aligned.order.tolist():
            stops = starts[0] + len(batch.sources[pair]), starts[1] + len(batch.outputs[pair])
            yield (
                (labels[0][starts[0] : stops[0]], labels[1][starts[1] : stops[1]]),
                (sure[0][starts[0] : stops[0]], sure[1][starts[1] : stops[1]]),
            )
            starts = list(stops)

    def _parses(self, batch: Batch) -> tuple[list[Parse], list[Parse]] | None:
        if self._parser is None:
            return None
        order = batch.aligned.order.tolist()
        found = []
        for texts in (batch.sources, batch.outputs):
            parsed = dict(zip(order, self._parser.parse([texts[pair] for pair in order]), strict=True))
            found.append([parsed.get(pair, _UNPARSED) for pair in range(len(texts))])
        return found[0], found[1]


class Labels:
    """A labeller with the texts around it: tokenises, works in chunks that bound memory, and builds groups."""

    def __init__(self, chosen: Labeller) -> None:
        self._chosen = chosen
        self.name, self.notice = chosen.name, chosen.notice
        self._words = Words()

    def label(
        self,
        sources: Sequence[str],
        outputs: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        part: str = "",
        tokenised: bool = False,
        workers: int = 1,
    ) -> tuple[Pair, ...]:
        """Pairs with groups. Texts are tokenised first (the pair then holds the tokens) unless they already are."""
        return tuple(self.stream(sources, outputs, ids=ids, part=part, tokenised=tokenised, workers=workers))

    def stream(
        self,
        sources: Sequence[str],
        outputs: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        part: str = "",
        tokenised: bool = False,
        workers: int = 1,
    ) -> Iterator[Pair]:
        """The same, pair by pair in order, for more pairs than memory holds results of.

        With several ``workers``, chunks of pairs go to processes of their own.
        """
        if len(sources) != len(outputs):
            raise BadInput(
                f"There are {len(sources)} sources and {len(outputs)} outputs; operations lie between pairs."
            )
        chunks = (
            (
                sources[start : start + _CHUNK],
                outputs[start : start + _CHUNK],
                [str(at + 1) for at in range(start, min(start + _CHUNK, len(sources)))]
                if ids is None
                else ids[start : start + _CHUNK],
                part,
                tokenised,
            )
            for start in range(0, len(sources), _CHUNK)
        )
        if workers < 2 or len(sources) <= _CHUNK:
            for chunk in chunks:
                yield from self._chunk(*chunk)
            return
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # A fresh interpreter for each worker: forking a process that has threads may hang it.
        with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start, initargs=(self.name,)) as pool:
            waiting: deque[Future[list[Pair]]] = deque()
            for chunk in chunks:
                waiting.append(pool.submit(_work, chunk))
                if len(waiting) > 2 * workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()

    def label_evalset(self, evalset: EvalSet) -> tuple[Pair, ...]:
        """Every reference of every item; ``part`` is the reference's number, counted from 0."""
        places = [(at, number) for at, row in enumerate(evalset.references) for number in range(len(row))]
        found = self.label(
            [evalset.sources[at] for at, _ in places],
            [evalset.references[at][number] for at, number in places],
            ids=[evalset.ids[at] for at, _ in places],
        )
        return tuple(
            Pair(pair.id, pair.source, pair.output, pair.groups, str(number))
            for pair, (_, number) in zip(found, places, strict=True)
        )

    def _chunk(
        self, sources: Sequence[str], outputs: Sequence[str], ids: Sequence[str], part: str, tokenised: bool
    ) -> list[Pair]:
        if len(self._words) > _VOCABULARY:
            self._words = Words()
        texts = [[text if tokenised else tokenise(text) for text in side] for side in (sources, outputs)]
        return self._pairs(texts[0], texts[1], ids, part, self._words)

    def _pairs(
        self, sources: Sequence[str], outputs: Sequence[str], ids: Sequence[str], part: str, words: Words
    ) -> list[Pair]:
        tokens = [text.split() for text in sources], [text.split() for text in outputs]
        found: list[Pair | None] = [None] * len(sources)
        for batch in batches(*tokens, words):
            for at, (labels, confidences) in enumerate(self._chosen.decide(batch, words)):
                pair = int(batch.aligned.order[at])
                groups = build_groups(labels, confidences, batch.links(at))
                found[pair] = Pair(ids[pair], sources[pair], outputs[pair], groups, part)
        return [pair for pair in found if pair is not None]


def labeller(name: str = "light") -> Labels:
    """The labeller of that name: light, rules, or spacy where its extra is installed.

    ``spacy:PATH`` loads another spaCy model than en_core_web_sm; the weights were trained with that one.
    """
    if name == "rules":
        return Labels(RulesLabeller())
    if name == "light":
        return Labels(TrainedLabeller(load("labeller-light")))
    kind, _, model = name.partition(":")
    if kind == "spacy":
        parser = Parser(model or DEFAULT_MODEL)
        return Labels(TrainedLabeller(load("labeller-spacy"), name, parser=parser))
    raise UnknownName("labeller", name, NAMES, see="plainly operations label --help")


def label_evalset(evalset: EvalSet, *, name: str = "rules") -> tuple[Pair, ...]:
    """Every reference of an evaluation set, labelled; by rules unless told otherwise, for the licence's sake."""
    return labeller(name).label_evalset(evalset)


_worker: list[Labels] = []


def _start(name: str) -> None:
    _worker.append(labeller(name))


def _work(chunk: Any) -> list[Pair]:
    return _worker[0]._chunk(*chunk)
