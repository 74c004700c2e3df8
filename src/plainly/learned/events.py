"""A structural score after SAMSA: does every event of the source have its own sentence in the output?

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

from plainly.core.errors import BadInput, DataUnavailable, require_package
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Needs, ratio


class Word(NamedTuple):
    """A parsed word: its lemma, part of speech, relation to its head, and the head's position in the sentence."""

    lemma: str
    kind: str
    relation: str
    head: int


class Event(NamedTuple):
    """The lemma of a verb, and those of its participants."""

    verb: str
    participants: tuple[str, ...]


Sentences = list[list[Word]]
Parser = Callable[[Sequence[str]], list[Sentences]]
_PARSERS: dict[str, Parser] = {}
_CLAUSES = frozenset({"ROOT", "root", "conj", "relcl", "advcl", "ccomp", "acl", "parataxis", "csubj", "acl:relcl"})
_PARTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "dobj", "obj", "iobj", "dative", "attr", "pobj", "obl", "oprd"})
_LINKS = frozenset({"prep", "agent"})


def use_parser(name: str, parser: Parser) -> None:
    """Register a function from texts to the words of each sentence of each text, for ``samsa(parser=NAME)``."""
    _PARSERS[name] = parser


@dataclass(frozen=True, repr=False)
class Samsa(Metric):
    """SAMSA-like structural score, 0–100: 100 where each event of the source has its own sentence in the output.

    An output with more sentences than the source has events scores 0, as in SAMSA; ``unpenalised`` leaves out the
    reward for splitting. ``parser`` is a spaCy pipeline, or a name given to ``use_parser``. Items without an event in
    the source have no score. It does not measure simpler words.
    """

    parser: str = "en_core_web_sm"

    name: ClassVar[str] = "samsa"
    needs: ClassVar[Needs] = frozenset({"source"})
    outputs: ClassVar[tuple[str, ...]] = ("samsa", "unpenalised", "events", "sentences")
    packages: ClassVar[tuple[str, ...]] = ("spacy",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        parse = load_parser(self.parser)
        by_item = evalset.prepare(("samsa", self.parser), lambda evalset: list(map(events, parse(evalset.sources))))
        rows = np.zeros((len(outputs), 5))
        for row, scenes, sentences in zip(rows, by_item, parse(outputs), strict=True):
            if scenes:
                lemmas = [{word.lemma for word in sentence} for sentence in sentences if sentence]
                overlap = _overlap(scenes, lemmas)
                share = len(lemmas) / len(scenes)
                row[:] = (share * overlap if share <= 1 else 0.0, overlap, len(scenes), len(lemmas), 1)
        return rows

    def score(self, totals: Floats) -> Floats:
        scale: Floats = np.array([100.0, 100.0, 1.0, 1.0])
        return ratio(totals[..., :4], totals[..., 4:]) * scale


def events(sentences: Sentences) -> list[Event]:
    """Return the clauses with a verb, each with the heads of its participants."""
    clauses = []
    for words in sentences:
        for at, word in enumerate(words):
            if word.kind not in ("VERB", "AUX") or word.relation not in _CLAUSES:
                continue
            direct = [i for i, other in enumerate(words) if other.head == at and i != at]
            linking = {i for i in direct if words[i].relation in _LINKS}
            indirect = [i for i, other in enumerate(words) if other.head in linking]
            parts = [words[i].lemma for i in (*direct, *indirect) if words[i].relation in _PARTS]
            clauses.append(Event(word.lemma, tuple(parts)))
    return clauses


def _overlap(scenes: Sequence[Event], sentences: Sequence[set[str]]) -> float:
    """Return the average over events of the share of verb (half) and participants (half) that the best sentence has.

    This is Eq. 1 of SAMSA; the best sentence is the one with most words of the event.
    """
    if not sentences:
        return 0.0
    total = 0.0
    for event in scenes:
        words = (event.verb, *event.participants)
        best = max(sentences, key=lambda sentence: sum(word in sentence for word in words))
        parts = [word in best for word in event.participants]
        total += (event.verb in best) + (sum(parts) / len(parts) if parts else event.verb in best)
    return total / (2 * len(scenes))


def load_parser(name: str) -> Parser:
    """Return the parser of this name that was registered, or one that uses the spaCy pipeline of this name."""
    if name in _PARSERS:
        return _PARSERS[name]
    nlp = load_pipeline(name, metric="samsa", parameter="parser", gives=("DEP", "POS", "LEMMA"), exclude=("ner",))

    def sentences(document: Any) -> Sentences:
        return [
            [Word(token.lemma_.casefold(), token.pos_, token.dep_, token.head.i - sentence.start) for token in sentence]
            for sentence in document.sents
            if any(token.is_alpha or token.like_num for token in sentence)
        ]

    return lambda texts: list(map(sentences, nlp.pipe(texts)))


@lru_cache(maxsize=4)
def load_pipeline(name: str, *, metric: str, parameter: str, gives: Sequence[str], exclude: Sequence[str] = ()) -> Any:
    """Load the spaCy pipeline of this name, which must annotate what ``gives`` lists (DEP, LEMMA, ENT_IOB, …)."""
    with require_package(metric, package="spacy", extra="spacy"):
        import spacy
    try:
        nlp = spacy.load(name, exclude=list(exclude))
    except OSError:
        raise DataUnavailable(
            f"The spaCy pipeline {name!r} is not installed. Install it: python -m spacy download {name}; or pass "
            f"another: {metric}({parameter}=NAME)"
        ) from None
    probe = nlp("They came to London.")
    missing = [annotation for annotation in gives if not probe.has_annotation(annotation)]
    if missing:
        raise BadInput(
            f"The spaCy pipeline {name!r} does not annotate {', '.join(missing)}, which {metric} needs. Pass another: "
            f"{metric}({parameter}=NAME)"
        )
    return nlp
