"""Damage that must not make a sentence count as simpler: sentences are shown again, damaged, with the same label.

A model that has only seen sound sentences takes a stray full stop or a cut-off end for simplicity. Each kind of damage
here stands for a way to cheat; the words of the sentence stay its own, so its label stays too.
"""

from collections.abc import Callable

import numpy as np

Damage = Callable[[list[str], np.random.Generator], list[str]]


def damage(text: str, rng: np.random.Generator) -> str:
    """The text after one kind of damage, drawn at random."""
    words = text.split()
    if len(words) < 4:
        return text
    return " ".join(_DRAWN[rng.integers(len(_DRAWN))](words, rng))


def stops(words: list[str], rng: np.random.Generator) -> list[str]:
    """Full stops after words chosen at random; half the time the next word takes a capital."""
    capital = bool(rng.random() < 0.5)
    damaged = list(words)
    for at in rng.choice(len(words) - 1, size=_few(words, rng), replace=False):
        damaged[at] = damaged[at].rstrip(".,;:") + (" ." if rng.random() < 0.3 else ".")
        if capital:
            damaged[at + 1] = damaged[at + 1][:1].upper() + damaged[at + 1][1:]
    return damaged


def articles(words: list[str], rng: np.random.Generator) -> list[str]:
    """The word "the" put in at random."""
    damaged = list(words)
    for at in sorted(rng.integers(1, len(words), size=_few(words, rng)), reverse=True):
        damaged.insert(at, "the")
    return damaged


def longest(words: list[str], rng: np.random.Generator) -> list[str]:
    """The longest word replaced by a short one or by a full stop."""
    at = max(range(len(words)), key=lambda place: len(words[place]))
    return [*words[:at], ("the", "a", "it", ".")[rng.integers(4)], *words[at + 1 :]]


def replaced(words: list[str], rng: np.random.Generator) -> list[str]:
    """Words chosen at random replaced by "the" or a full stop."""
    damaged = list(words)
    filler = "the" if rng.random() < 0.5 else "."
    for at in rng.choice(len(words), size=_few(words, rng), replace=False):
        damaged[at] = filler
    return damaged


def truncated(words: list[str], rng: np.random.Generator) -> list[str]:
    """The end cut off; half the time a full stop hides it."""
    kept = words[: max(2, round(len(words) * rng.uniform(0.3, 0.8)))]
    return [*kept[:-1], kept[-1].rstrip(".,;:") + "."] if rng.random() < 0.5 else kept


def dropped(words: list[str], rng: np.random.Generator) -> list[str]:
    """Some words left out."""
    kept = rng.random(len(words)) >= rng.uniform(0.1, 0.4)
    return [word for word, keep in zip(words, kept, strict=True) if keep] or words


def shuffled(words: list[str], rng: np.random.Generator) -> list[str]:
    """All words in another order."""
    return [words[at] for at in rng.permutation(len(words))]


def repeated(words: list[str], rng: np.random.Generator) -> list[str]:
    """A stretch of words said twice."""
    length = int(rng.integers(2, max(3, len(words) // 2)))
    start = int(rng.integers(0, len(words) - length + 1))
    return [*words[: start + length], *words[start : start + length], *words[start + length :]]


def bare(words: list[str], rng: np.random.Generator) -> list[str]:
    """Lower case, no punctuation, or both."""
    which = rng.integers(3)
    kept = [word.lower() for word in words] if which != 1 else words
    stripped = [word.strip(".,;:!?\"'()") for word in kept] if which != 0 else kept
    return [word for word in stripped if word] or words


_ALL = (stops, articles, longest, replaced, truncated, dropped, shuffled, repeated, bare)
KINDS: dict[str, Damage] = {kind.__name__: kind for kind in _ALL}
# Stray full stops and cut-off ends lift a learned estimate the most, so they are drawn more often.
_DRAWN = (*KINDS.values(), stops, stops, truncated, truncated, longest)


def _few(words: list[str], rng: np.random.Generator) -> int:
    return int(rng.integers(1, max(2, len(words) // 6) + 1))
