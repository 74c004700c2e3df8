"""A tagger's and parser's view of the words, for the setting that has one: spaCy's tags, heads and relations.

What decides whether a deletion is a modifier, a clause or something else is how its topmost word hangs on the rest; so
each word also looks at the top of the unaligned stretch that it stands in.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from plainly.errors import MissingExtra, needing
from plainly.typology.features import Ints, Runs, shift, take
from plainly.typology.lexicon import stable_hash

DEFAULT_MODEL = "en_core_web_sm"


class Parse(NamedTuple):
    """One text: a number for each word's tag and relation, and the place of its head (its own for a root)."""

    tags: list[int]
    relations: list[int]
    heads: list[int]


class Parser:
    """spaCy, kept to our tokens; equal texts are parsed once in a call."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        with needing("The labeller with a parser", package="spacy", extra="spacy"):
            import spacy
        try:
            self._nlp: Any = spacy.load(model, exclude=["ner", "lemmatizer", "attribute_ruler"])
        except OSError:
            raise MissingExtra(
                f"The labeller with a parser (python -m spacy download {model})", package=model, extra="spacy"
            ) from None

    def parse(self, texts: Sequence[Sequence[str]]) -> list[Parse]:
        """Tags, relations and heads of tokenised texts."""
        from spacy.tokens import Doc

        distinct = list(dict.fromkeys(tuple(tokens) for tokens in texts))
        docs = (Doc(self._nlp.vocab, words=list(tokens) or ["."]) for tokens in distinct)
        parses = {}
        for tokens, doc in zip(distinct, self._nlp.pipe(docs, batch_size=256), strict=True):
            parses[tokens] = Parse(
                [code(token.tag_) for token in doc],
                [code(token.dep_) for token in doc],
                [token.head.i for token in doc],
            )
        return [parses[tuple(tokens)] for tokens in texts]


@cache
def code(name: str) -> int:
    """The number that stands for a tag or a relation in a parse."""
    return stable_hash(name) % 4093 + 1


def parse_values(parses: Sequence[Parse], state: Ints, kind: Ints) -> list[Ints]:
    """Facts from parses, padded to a batch: tags and relations of a word, its head, and the top of its stretch."""
    width = state.shape[1]
    padded = np.zeros((3, *state.shape), dtype=np.int64)
    for at, parse in enumerate(parses):
        size = min(len(parse.tags), width)
        padded[:, at, :size] = [values[:size] for values in parse]
    tags, relations, heads = padded
    heads = np.minimum(heads, width - 1)
    column = np.broadcast_to(np.arange(width), state.shape)
    run = Runs(state).start
    top = column.copy()
    for _ in range(8):
        above = take(heads, top)
        top = np.where(take(run, above) == run, above, top)
    over = take(heads, top)
    top_tag, top_relation, over_state = take(tags, top), take(relations, top), take(state, over)
    size = np.minimum(np.abs(top - column), 3)
    return [
        tags * 8 + state,
        relations * 8 + state,
        (take(tags, heads) * 64 + relations) * 8 + state,
        (relations * 8 + state) * 8 + take(state, heads),
        top_relation * 8 + state,
        top_tag * 8 + state,
        (top_relation * 32 + kind) * 8 + state,
        (top_relation * 8 + over_state) * 8 + state,
        (take(tags, over) * 8 + over_state) * 8 + state,
        (top_relation * 4 + size) * 8 + state,
        shift(tags, 1) * 8 + state,
        shift(tags, -1) * 8 + state,
        shift(relations, 1) * 8 + state,
        shift(relations, -1) * 8 + state,
    ]
