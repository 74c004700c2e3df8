"""The words that attacks work with: the small lists that this project wrote, and where words stand in a text."""

import functools
import itertools
from dataclasses import dataclass

from plainly.core.files import read_shipped
from plainly.text.words import spans


@dataclass(frozen=True)
class Lists:
    """Own word lists, read once: rare words, clauses that no source says, refusals and openings as chat models write
    them, capitalised words that name nobody, and pairs of a common and a rarer word."""

    rare: tuple[str, ...]
    clauses: tuple[str, ...]
    refusals: tuple[str, ...]
    openings: tuple[str, ...]
    titles: frozenset[str]
    no_names: frozenset[str]
    rarer: dict[str, str]
    commoner: dict[str, str]


@functools.cache
def lists() -> Lists:
    listed = read_shipped(__file__, "word_lists.toml")
    pairs = [line.split() for line in listed["synonyms"]["pairs"].splitlines() if line]
    return Lists(
        rare=tuple(listed["rare"]["words"].split()),
        clauses=_lines(listed["hallucinations"]["clauses"]),
        refusals=_lines(listed["chat"]["refusals"]),
        openings=_lines(listed["chat"]["openings"]),
        titles=frozenset(listed["names"]["titles"].split()),
        no_names=frozenset(listed["names"]["not_names"].split()),
        rarer=dict(pairs),
        commoner={rare: common for common, rare in reversed(pairs)},  # of several common words, the first
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.splitlines() if line)


def units(text: str) -> tuple[list[str], str]:
    """The words of a text and what joins them: chunks and a space, or, where no spaces are written, characters.

    >>> units("The cat sat.")
    (['The', 'cat', 'sat.'], ' ')
    >>> units("我很好。")
    (['我', '很', '好', '。'], '')
    """
    chunks = text.split()
    if len(chunks) != 1 or chunks[0].isascii() or len(spans(chunks[0])) < 2:
        return chunks, " "
    cuts = sorted({0, len(chunks[0]), *(edge for span in spans(chunks[0]) for edge in span)})
    return [chunks[0][a:b] for a, b in itertools.pairwise(cuts)], ""


def like(word: str, model: str) -> str:
    """``word`` with its first letter as large as that of ``model``."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
