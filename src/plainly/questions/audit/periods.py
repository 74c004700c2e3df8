"""The six modifications of Tanprasert & Kauchak (2021): they shorten sentences or words and help no reader.

A word is what stands between white space, as in the tokenised outputs that the paper modified. Where the paper leaves
room, its tables decide: a period or "the" goes between two words and never to either end (of the choices tried, this
fits the drop of BLEU beside that of the replacing modifications), any word may be replaced, and the longest word is the
first of the longest.
"""

from __future__ import annotations

import numpy as np

from plainly.questions.audit.attack import Item, attack

Rng = np.random.Generator


def insert(output: str, word: str, rng: Rng) -> str:
    """``word`` between two words of the output; after a single word; an empty output stays empty."""
    words = output.split()
    if not words:
        return output
    words.insert(int(rng.integers(1, len(words))) if len(words) > 1 else 1, word)
    return " ".join(words)


def replace_random(output: str, word: str, rng: Rng) -> str:
    words = output.split()
    if not words:
        return output
    words[int(rng.integers(len(words)))] = word
    return " ".join(words)


def replace_first_longest(output: str, word: str) -> str:
    words = output.split()
    if not words:
        return output
    words[words.index(max(words, key=len))] = word
    return " ".join(words)


@attack("random-period", expected="worse", paper=True, what="a full stop between two words")
def random_period(item: Item, rng: Rng) -> str:
    return insert(item.output, ".", rng)


@attack("random-the", expected="worse", paper=True, what='the word "the" between two words')
def random_the(item: Item, rng: Rng) -> str:
    return insert(item.output, "the", rng)


@attack("replace-longest", expected="worse", paper=True, random=False, what='"the" in place of the longest word')
def replace_longest(item: Item, rng: Rng) -> str:
    return replace_first_longest(item.output, "the")


@attack("replace-rand-period", expected="worse", paper=True, what="a full stop in place of a word")
def replace_rand_period(item: Item, rng: Rng) -> str:
    return replace_random(item.output, ".", rng)


@attack("replace-rand-the", expected="worse", paper=True, what='"the" in place of a word')
def replace_rand_the(item: Item, rng: Rng) -> str:
    return replace_random(item.output, "the", rng)


@attack(
    "random-period+replace-longest",
    expected="worse",
    paper=True,
    what='a full stop between two words, and "the" in place of the longest word',
)
def random_period_replace_longest(item: Item, rng: Rng) -> str:
    return replace_first_longest(insert(item.output, ".", rng), "the")
