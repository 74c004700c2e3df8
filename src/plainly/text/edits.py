"""Text edits that the attacks of an audit share with the noise and harm of training; each has its own word lists."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def pick(choices: Sequence[T], rng: np.random.Generator) -> T:
    """Return one of the choices at random."""
    return choices[int(rng.integers(len(choices)))]


def shuffle_words(words: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return the words in random order."""
    return [words[at] for at in rng.permutation(len(words))]


def replace_words(words: Sequence[str], places: Iterable[int], filler: str) -> list[str]:
    """Return the words with ``filler`` at some places.

    >>> replace_words(["a", "red", "fox"], [1], "the")
    ['a', 'the', 'fox']
    """
    copy = list(words)
    for at in places:
        copy[at] = filler
    return copy


def replace_longest(words: Sequence[str], filler: str) -> list[str]:
    """Return the words with ``filler`` in place of the longest, the first of several.

    >>> replace_longest(["a", "red", "fox"], "the")
    ['a', 'the', 'fox']
    """
    return replace_words(words, [max(range(len(words)), key=lambda at: len(words[at]))], filler)


def insert_words(words: Sequence[str], places: Iterable[int], word: str) -> list[str]:
    """Return the words with ``word`` before those at some places.

    >>> insert_words(["a", "red", "fox"], [1, 2], ".")
    ['a', '.', 'red', '.', 'fox']
    """
    copy = list(words)
    for at in sorted(places, reverse=True):
        copy.insert(at, word)
    return copy


def end_with_stop(word: str) -> str:
    """Return a word with a full stop in place of the mark that follows it, if any."""
    return word.rstrip(".,;:") + "."


def replace_spans(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with other words at some places, given as (start, end, new words), which do not overlap.

    >>> replace_spans("In 1987 it closed.", [(3, 7, "1950")])
    'In 1950 it closed.'
    """
    for start, end, after in sorted(spans, reverse=True):
        text = text[:start] + after + text[end:]
    return text
