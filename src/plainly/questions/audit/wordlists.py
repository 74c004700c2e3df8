"""The words that attacks work with: the small lists that this project wrote, and where words stand in a text."""

import functools
import itertools
import tomllib
from dataclasses import dataclass
from importlib.resources import files

from plainly.text import sentences
from plainly.text.words import spans


@dataclass(frozen=True)
class Lists:
    """Own word lists, read once: rare words, clauses that no source says, and pairs of a common and a rarer word."""

    rare: tuple[str, ...]
    clauses: tuple[str, ...]
    rarer: dict[str, str]
    commoner: dict[str, str]


@functools.cache
def lists() -> Lists:
    listed = tomllib.loads(files("plainly.questions.audit").joinpath("wordlists.toml").read_text(encoding="utf-8"))
    pairs = [line.split() for line in listed["synonyms"]["pairs"].splitlines() if line]
    return Lists(
        rare=tuple(listed["rare"]["words"].split()),
        clauses=tuple(line for line in listed["hallucinations"]["clauses"].splitlines() if line),
        rarer=dict(pairs),
        commoner={rare: common for common, rare in reversed(pairs)},  # of several common words, the first
    )


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


def names(text: str) -> list[tuple[int, int]]:
    """Where capitalised words stand that do not begin a sentence: names, as far as one can tell without a tagger."""
    begins, at = set(), 0
    for sentence in sentences.split(text):
        at = text.index(sentence, at)
        begins.add(at + next(iter(spans(sentence)), (0, 0))[0])
        at += len(sentence)
    return [(start, end) for start, end in spans(text) if start not in begins and _is_name(text[start:end])]


def _is_name(word: str) -> bool:
    return word[0].isupper() and word != "I" and not word.startswith(("I'", "I’"))


def like(word: str, model: str) -> str:
    """``word`` with its first letter as large as that of ``model``."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
