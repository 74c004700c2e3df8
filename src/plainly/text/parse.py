"""Tags, heads and relations of words by spaCy, where it is installed."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from plainly.core.errors import MissingExtra, require_package
from plainly.text.lexicon import stable_hash

DEFAULT_MODEL = "en_core_web_sm"


class Parse(NamedTuple):
    """One text: a number for each word's tag and relation, and the position of its head (a root is its own head)."""

    tags: list[int]
    relations: list[int]
    heads: list[int]


class Parser:
    """spaCy on our tokens; equal texts are parsed once per call."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        with require_package("The labeller with a parser", package="spacy", extra="spacy"):
            import spacy
        try:
            self._nlp: Any = spacy.load(model, exclude=["ner", "lemmatizer", "attribute_ruler"])
        except OSError:
            raise MissingExtra(
                f"The labeller with a parser (python -m spacy download {model})", package=model, extra="spacy"
            ) from None

    def parse(self, texts: Sequence[Sequence[str]]) -> list[Parse]:
        """Return tags, relations and heads of tokenised texts."""
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
    """Return the number of a tag or a relation in a parse."""
    return stable_hash(name) % 4093 + 1
