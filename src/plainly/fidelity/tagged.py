"""Which words are names by a tagger's opinion, for whoever asks for one: spaCy's tags in place of capital letters."""

from collections.abc import Sequence
from functools import lru_cache

from plainly.typology.parse import DEFAULT_MODEL, Parser, code


def name_flags(parser: str, texts: Sequence[Sequence[str]]) -> list[list[bool]]:
    """For each tokenised text, which of its words are names."""
    names = {code("NNP"), code("NNPS")}
    return [[tag in names for tag in parse.tags] for parse in _loaded(parser).parse(texts)]


@lru_cache(maxsize=1)
def _loaded(parser: str) -> Parser:
    return Parser(DEFAULT_MODEL if parser == "spacy" else parser)
