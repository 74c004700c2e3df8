"""A tagger's and parser's view of the words, for the setting that has one: spaCy's tags, heads and relations.

What decides whether a deletion is a modifier, a clause or something else is how its topmost word hangs on the rest; so
each word also looks at the top of the unaligned stretch that it stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.errors import MissingExtra
from plainly.typology.features import shift
from plainly.typology.lexicon import stable_hash

Ints = npt.NDArray[np.int64]
DEFAULT_MODEL = "en_core_web_sm"


@dataclass(frozen=True)
class Parse:
    """One text: a number for each word's tag and relation, and the place of its head (its own for a root)."""

    tags: list[int]
    relations: list[int]
    heads: list[int]


class Parser:
    """spaCy, kept to our tokens; equal texts are parsed once in a call."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        try:
            import spacy
        except ImportError:
            raise MissingExtra("The labeller with a parser", package="spacy", extra="spacy") from None
        try:
            self._nlp: Any = spacy.load(model, exclude=["ner", "lemmatizer", "attribute_ruler"])
        except OSError:
            raise MissingExtra(
                f"The labeller with a parser (python -m spacy download {model})", package=model, extra="spacy"
            ) from None
        self._codes: dict[str, int] = {}

    def parse(self, texts: Sequence[Sequence[str]]) -> list[Parse]:
        """Tags, relations and heads of tokenised texts."""
        from spacy.tokens import Doc

        distinct = list(dict.fromkeys(tuple(tokens) for tokens in texts))
        docs = (Doc(self._nlp.vocab, words=list(tokens) or ["."]) for tokens in distinct)
        parses = {}
        for tokens, doc in zip(distinct, self._nlp.pipe(docs, batch_size=256), strict=True):
            parses[tokens] = Parse(
                [self._code(token.tag_) for token in doc],
                [self._code(token.dep_) for token in doc],
                [token.head.i for token in doc],
            )
        return [parses[tuple(tokens)] for tokens in texts]

    def _code(self, name: str) -> int:
        if name not in self._codes:
            self._codes[name] = stable_hash(name) % 4093 + 1
        return self._codes[name]


def parse_values(parses: Sequence[Parse], state: Ints, kind: Ints) -> list[Ints]:
    """Facts from parses, padded to a batch: tags and relations of a word, its head, and the top of its stretch."""
    shape = state.shape
    tags, relations, heads = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for at, parse in enumerate(parses):
        size = min(len(parse.tags), shape[1])
        tags[at, :size], relations[at, :size], heads[at, :size] = (
            parse.tags[:size],
            parse.relations[:size],
            parse.heads[:size],
        )
    heads = np.minimum(heads, shape[1] - 1)
    column = np.broadcast_to(np.arange(shape[1]), shape)
    stretch = np.where(state >= 2, 2 + (state >= 4), state)
    run = np.cumsum(
        np.concatenate([np.zeros((shape[0], 1), dtype=bool), stretch[:, 1:] != stretch[:, :-1]], axis=1), axis=1
    )
    top = column.copy()
    for _ in range(8):
        above = np.take_along_axis(heads, top, axis=1)
        inside = np.take_along_axis(run, above, axis=1) == run
        top = np.where(inside, above, top)

    def of(values: Ints, places: Ints) -> Ints:
        return np.take_along_axis(values, places, axis=1)

    over = of(heads, top)
    size = np.minimum(np.abs(top - column), 3)
    return [
        tags * 8 + state,
        relations * 8 + state,
        (of(tags, heads) * 64 + relations) * 8 + state,
        (relations * 8 + state) * 8 + of(state, heads),
        of(relations, top) * 8 + state,
        of(tags, top) * 8 + state,
        (of(relations, top) * 32 + kind) * 8 + state,
        (of(relations, top) * 8 + of(state, over)) * 8 + state,
        (of(tags, over) * 8 + of(state, over)) * 8 + state,
        (of(relations, top) * 4 + size) * 8 + state,
        shift(tags, 1) * 8 + state,
        shift(tags, -1) * 8 + state,
        shift(relations, 1) * 8 + state,
        shift(relations, -1) * 8 + state,
    ]
