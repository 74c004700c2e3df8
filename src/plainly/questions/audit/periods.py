"""The six modifications of Tanprasert & Kauchak (2021): they shorten sentences or words and help no reader.

A word is what stands between white space, as in the tokenised outputs that the paper modified. Where the paper leaves
room, its tables decide: a period or "the" goes between two words and never to either end (of the choices tried, this
fits the drop of BLEU beside that of the replacing modifications), any word may be replaced, and the longest word is the
first of the longest.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from plainly.questions.audit.attack import Item, attack

Rng = np.random.Generator
_of_the_paper = partial(attack, expected="worse", paper=True)


def insert(output: str, word: str, rng: Rng) -> str:
    """``word`` between two words of the output; after a single word; an empty output stays empty."""
    words = output.split()
    if not words:
        return output
    words.insert(int(rng.integers(1, len(words))) if len(words) > 1 else 1, word)
    return " ".join(words)


# Decorators are applied from the last to the first: the attacks are listed in the order of the paper.
@_of_the_paper("random-the", what='the word "the" between two words', word="the")
@_of_the_paper("random-period", what="a full stop between two words", word=".")
def insert_anywhere(item: Item, rng: Rng, word: str) -> str:
    return insert(item.output, word, rng)


@_of_the_paper("replace-longest", random=False, what='"the" in place of the longest word')
def replace_longest(item: Item, rng: Rng) -> str:
    return _without_longest(item.output)


@_of_the_paper("replace-rand-the", what='"the" in place of a word', word="the")
@_of_the_paper("replace-rand-period", what="a full stop in place of a word", word=".")
def replace_any(item: Item, rng: Rng, word: str) -> str:
    words = item.output.split()
    if not words:
        return item.output
    words[int(rng.integers(len(words)))] = word
    return " ".join(words)


@_of_the_paper(
    "random-period+replace-longest", what='a full stop between two words, and "the" in place of the longest word'
)
def insert_and_replace(item: Item, rng: Rng) -> str:
    return _without_longest(insert(item.output, ".", rng))


def _without_longest(output: str) -> str:
    words = output.split()
    if not words:
        return output
    words[words.index(max(words, key=len))] = "the"
    return " ".join(words)
