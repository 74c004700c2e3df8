"""A structural score after SAMSA: does every event of the source have a sentence of its own in the output?

How it differs from SAMSA (Sulem et al. 2018): events come from a dependency parse (clauses with a verb), not from a
semantic (UCCA) parse by TUPA, so events named by nouns are missed; words are matched by lemma, not by a word aligner;
and participants are the heads of subjects, objects and prepositional phrases. The formula is SAMSA's. Its numbers
cannot be compared with published SAMSA scores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from plainly.core.errors import BadInput, DataUnavailable, needing
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Needs, ratio


class Word(NamedTuple):
    """A parsed word: its lemma, coarse part of speech, relation to its head, and the head's place in the sentence."""

    lemma: str
    kind: str
    relation: str
    head: int


class Event(NamedTuple):
    """What happens, by the lemma of its verb, and who and what takes part."""

    verb: str
    participants: tuple[str, ...]


Sentences = list[list[Word]]
Parser = Callable[[Sequence[str]], list[Sentences]]
_PARSERS: dict[str, Parser] = {}
_CLAUSES = frozenset({"ROOT", "root", "conj", "relcl", "advcl", "ccomp", "acl", "parataxis", "csubj", "acl:relcl"})
_PARTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "dobj", "obj", "iobj", "dative", "attr", "pobj", "obl", "oprd"})
_LINKS = frozenset({"prep", "agent"})


def use_parser(name: str, parser: Parser) -> None:
    """Let ``samsa(parser=NAME)`` use any parser: a function from texts to the words of each sentence of each text."""
    _PARSERS[name] = parser


@dataclass(frozen=True, repr=False)
class Samsa(Metric):
    """SAMSA-like structural score, 0–100: 100 where each event of the source has an output sentence of its own.

    An output with more sentences than the source has events scores 0, as in SAMSA; ``unpenalised`` leaves out the
    reward for splitting. ``parser`` is a spaCy pipeline, or a name given to ``use_parser``. Items without an event in
    the source have no score. It says nothing about words made simpler.
    """

    parser: str = "en_core_web_sm"

    name: ClassVar[str] = "samsa"
    needs: ClassVar[Needs] = frozenset({"source"})
    outputs: ClassVar[tuple[str, ...]] = ("samsa", "unpenalised", "events", "sentences")
    packages: ClassVar[tuple[str, ...]] = ("spacy",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        parse = _parser(self.parser)
        known = evalset.prepare(
            ("samsa", self.parser), lambda evalset: [events(sentences) for sentences in parse(evalset.sources)]
        )
        rows = np.zeros((len(outputs), 5))
        for row, scenes, sentences in zip(rows, known, parse(outputs), strict=True):
            if scenes:
                kept = [{word.lemma for word in sentence} for sentence in sentences if sentence]
                unpenalised = _kept(scenes, kept)
                share = len(kept) / len(scenes)
                row[:] = (share * unpenalised if share <= 1 else 0.0, unpenalised, len(scenes), len(kept), 1)
        return rows

    def score(self, totals: Floats) -> Floats:
        scale: Floats = np.array([100.0, 100.0, 1.0, 1.0])
        return ratio(totals[..., :4], totals[..., 4:]) * scale


def events(sentences: Sentences) -> list[Event]:
    """The clauses with a verb of their own, each with the heads of what takes part in it."""
    clauses = []
    for words in sentences:
        for at, word in enumerate(words):
            if word.kind not in ("VERB", "AUX") or word.relation not in _CLAUSES:
                continue
            direct = [i for i, other in enumerate(words) if other.head == at and i != at]
            linked = [
                i for i, other in enumerate(words) if words[other.head].relation in _LINKS and other.head in direct
            ]
            parts = [words[i].lemma for i in (*direct, *linked) if words[i].relation in _PARTS]
            clauses.append(Event(word.lemma, tuple(parts)))
    return clauses


def _kept(scenes: Sequence[Event], sentences: Sequence[set[str]]) -> float:
    """Half for the verb and half for the participants, in the sentence that has most of the event (SAMSA, Eq. 1)."""
    if not sentences:
        return 0.0
    total = 0.0
    for event in scenes:
        words = (event.verb, *event.participants)
        best = max(sentences, key=lambda sentence: sum(word in sentence for word in words))
        parts = [word in best for word in event.participants]
        total += (event.verb in best) + (sum(parts) / len(parts) if parts else event.verb in best)
    return total / (2 * len(scenes))


def _parser(name: str) -> Parser:
    if name in _PARSERS:
        return _PARSERS[name]
    loaded = pipeline(name, metric="samsa", parameter="parser", gives=("DEP", "POS", "LEMMA"), exclude=("ner",))

    def sentences(document: Any) -> Sentences:
        return [
            [Word(token.lemma_.casefold(), token.pos_, token.dep_, token.head.i - sentence.start) for token in sentence]
            for sentence in document.sents
            if any(token.is_alpha or token.like_num for token in sentence)
        ]

    return lambda texts: list(map(sentences, loaded.pipe(texts)))


@lru_cache(maxsize=4)
def pipeline(name: str, *, metric: str, parameter: str, gives: Sequence[str], exclude: Sequence[str] = ()) -> Any:
    """The installed pipeline of this name, which must annotate all that ``gives`` lists (DEP, LEMMA, ENT_IOB, …)."""
    with needing(metric, package="spacy", extra="spacy"):
        import spacy
    try:
        loaded = spacy.load(name, exclude=list(exclude))
    except OSError:
        raise DataUnavailable(
            f"The spaCy pipeline {name!r} is not installed. Install it: python -m spacy download {name}; or give "
            f"another: {metric}({parameter}=NAME)"
        ) from None
    probe = loaded("They came to London.")
    lacking = [annotation for annotation in gives if not probe.has_annotation(annotation)]
    if lacking:
        raise BadInput(
            f"The spaCy pipeline {name!r} gives no {', '.join(lacking)}, which {metric} needs. Give another: "
            f"{metric}({parameter}=NAME)"
        )
    return loaded
