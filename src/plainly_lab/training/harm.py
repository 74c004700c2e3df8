"""Damage and harm done to texts on purpose, which learned metrics must not mistake for simplicity or must detect.

*Noise* damages a sentence, which keeps its label: a model that has only seen sound sentences takes a stray full stop or
a truncated end for simplicity. *Harm* has a cost in fluency and meaning, from 0 to 1, and may make a fact wrong; the
model of ``quality`` learns from it. Nothing here is taken from the word lists of ``plainly audit``, so that the audit
remains a test: additions come from other pairs, and the remarks of chat models were written for this file.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np

from plainly.core.files import read_shipped
from plainly.text.edits import (
    end_with_stop,
    insert_words,
    pick,
    replace_longest,
    replace_spans,
    replace_words,
    shuffle_words,
)

Rng = np.random.Generator
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*")
_NUMBER = re.compile(r"\d+")
_CLAUSE = re.compile(
    r",? (?:which|who|where|when|although|because|after|before|while|since|and) [^,.;:()\"]{15,90}(?=[,.;])"
)
_ASIDE = re.compile(
    r" \([^()]{3,60}\)|, [^,.;()\"]{8,70}(?=,)|,? (?:which|who|where|although|because|while) [^,.;()\"]{10,90}(?=[,.])"
)
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|will|would|should|may|might|must|has|have|had|do|does|did)\b")
_NOT = re.compile(r" not\b|n't\b| never\b")
_MONTHS = tuple(calendar.month_name)[1:]
_LISTS = read_shipped(__file__, "harm.toml")
_PAIRS = [pair.split() for pair in _LISTS["opposites"].split(",")]
_OPPOSITES = {word: other for pair in _PAIRS for word, other in (pair, pair[::-1])}
REFUSALS, OPENINGS, CLOSINGS, _WRAPPERS = (
    tuple(_LISTS[name]) for name in ("refusals", "openings", "closings", "wrappers")
)
Noise = Callable[[list[str], Rng], list[str]]


def damage(text: str, rng: Rng) -> str:
    """Return the text after one kind of noise, drawn at random."""
    words = text.split()
    return " ".join(pick(_NOISE_DRAWS, rng)(words, rng)) if len(words) >= 4 else text


def add_stops(words: list[str], rng: Rng) -> list[str]:
    """Add full stops after random words; half the time the next word is capitalised."""
    capital = bool(rng.random() < 0.5)
    words = list(words)
    for at in rng.choice(len(words) - 1, size=_few(words, rng), replace=False):
        words[at] = words[at].rstrip(".,;:") + (" ." if rng.random() < 0.3 else ".")
        if capital:
            words[at + 1] = words[at + 1][:1].upper() + words[at + 1][1:]
    return words


def add_articles(words: list[str], rng: Rng) -> list[str]:
    """Insert the word "the" at random places."""
    return insert_words(words, rng.integers(1, len(words), size=_few(words, rng)), "the")


def shorten_longest(words: list[str], rng: Rng) -> list[str]:
    """Replace the longest word by a short one or by a full stop."""
    return replace_longest(words, pick(("the", "a", "it", "."), rng))


def fill_in(words: list[str], rng: Rng) -> list[str]:
    """Replace random words by "the" or a full stop."""
    filler = "the" if rng.random() < 0.5 else "."
    return replace_words(words, rng.choice(len(words), size=_few(words, rng), replace=False), filler)


def cut_end(words: list[str], rng: Rng) -> list[str]:
    """Cut off the end; half the time a full stop hides it."""
    rest = words[: max(2, round(len(words) * rng.uniform(0.3, 0.8)))]
    return [*rest[:-1], end_with_stop(rest[-1])] if rng.random() < 0.5 else rest


def drop_words(words: list[str], rng: Rng) -> list[str]:
    """Leave out some words."""
    keep = rng.random(len(words)) >= rng.uniform(0.1, 0.4)
    return list(compress(words, keep)) or words


def repeat_words(words: list[str], rng: Rng) -> list[str]:
    """Repeat a stretch of words."""
    length = int(rng.integers(2, max(3, len(words) // 2)))
    start = int(rng.integers(0, len(words) - length + 1))
    return [*words[: start + length], *words[start : start + length], *words[start + length :]]


def strip_marks(words: list[str], rng: Rng) -> list[str]:
    """Remove capitals, punctuation, or both."""
    which = rng.integers(3)
    plain = [word.lower() for word in words] if which != 1 else words
    plain = [word.strip(".,;:!?\"'()") for word in plain] if which != 0 else plain
    return [word for word in plain if word] or words


def _few(words: list[str], rng: Rng) -> int:
    return int(rng.integers(1, max(2, len(words) // 6) + 1))


NOISE: tuple[Noise, ...] = (
    add_stops, add_articles, shorten_longest, fill_in, cut_end, drop_words, shuffle_words, repeat_words, strip_marks
)  # fmt: skip
# Stray full stops and truncated ends raise a learned estimate the most, so they are drawn more often.
_NOISE_DRAWS = (*NOISE, add_stops, add_stops, cut_end, cut_end, shorten_longest)


class Harm(NamedTuple):
    """An output after harm, the cost in fluency and meaning, and whether a fact is wrong now (NaN: unknown)."""

    text: str
    fluency: float
    meaning: float
    fact: float


@dataclass(frozen=True)
class Stock:
    """Material from other pairs: whole outputs, clauses, names and words."""

    outputs: Sequence[str]
    clauses: Sequence[str]
    names: Sequence[str]
    words: Sequence[str]

    @classmethod
    def of(cls, outputs: Sequence[str]) -> Stock:
        clauses = dict.fromkeys(match[0] for text in outputs for match in _CLAUSE.finditer(text))
        names = dict.fromkeys(match[0] for text in outputs for match in _NAME.finditer(text))
        words = dict.fromkeys(word for text in outputs for word in text.split() if word.isalpha() and word.islower())
        return cls(outputs, tuple(clauses) or (" and so on",), tuple(names) or ("Nowhere",), tuple(words) or ("thing",))


def harm(text: str, stock: Stock, rng: Rng) -> tuple[str, Harm] | None:
    """Do one kind of harm, drawn at random, and return its name and result; None where it changes nothing."""
    kind = pick(_DRAWS, rng)
    result = KINDS[kind](text, stock, rng)
    return None if result is None or result.text == text or not result.text.strip() else (kind, result)


def drop_some(text: str, stock: Stock, rng: Rng) -> Harm:
    words = text.split()
    share = rng.uniform(0.05, 0.45)
    rest = [word for word in words if rng.random() >= share]
    return Harm(" ".join(rest or words), min(1, 0.15 + 1.8 * share), min(1, 1.4 * share), 0.0)


def shuffle(text: str, stock: Stock, rng: Rng) -> Harm:
    return Harm(" ".join(shuffle_words(text.split(), rng)), 1.0, 0.6, np.nan)


def swap_neighbours(text: str, stock: Stock, rng: Rng) -> Harm | None:
    words = text.split()
    if len(words) < 4:
        return None
    times = int(rng.integers(1, max(2, len(words) // 3) + 1))
    for at in rng.integers(0, len(words) - 1, size=times):
        words[at], words[at + 1] = words[at + 1], words[at]
    share = times / len(words)
    return Harm(" ".join(words), min(1, 0.2 + 2 * share), min(1, share), np.nan)


def repeat_part(text: str, stock: Stock, rng: Rng) -> Harm | None:
    words = text.split()
    return Harm(" ".join(repeat_words(words, rng)), 0.5, 0.1, 0.0) if len(words) > 4 else None


def repeat_all(text: str, stock: Stock, rng: Rng) -> Harm:
    """Repeat the whole output two to six times."""
    return Harm(" ".join([text] * int(rng.integers(2, 7))), 0.85, 0.3, 0.0)


def add_noise(text: str, stock: Stock, rng: Rng) -> Harm | None:
    """Add stray full stops and articles, or replace words by fillers."""
    words = text.split()
    return Harm(" ".join(pick(NOISE[:4], rng)(words, rng)), 0.45, 0.2, np.nan) if len(words) > 4 else None


def replace_some(text: str, stock: Stock, rng: Rng) -> Harm:
    """Replace words by words of other texts."""
    words = text.split()
    share = rng.uniform(0.03, 0.35)
    indices = [at for at in range(len(words)) if rng.random() < share] or [int(rng.integers(len(words)))]
    for at in indices:
        words[at] = pick(stock.words, rng)
    share = len(indices) / len(words)
    return Harm(" ".join(words), min(1, 0.2 + 1.5 * share), min(1, 0.15 + 1.5 * share), 1.0)


def replace_all(text: str, stock: Stock, rng: Rng) -> Harm:
    return Harm(_pick_other(text, stock, rng), 0.0, 1.0, 1.0)


def truncate(text: str, stock: Stock, rng: Rng) -> Harm | None:
    words = text.split()
    if len(words) < 4:
        return None
    share = rng.uniform(0.3, 0.85) if rng.random() < 0.6 else 0.5
    rest = words[: max(1, int(np.ceil(share * len(words))))]
    has_stop = rng.random() < 0.3
    end = end_with_stop(rest[-1]) if has_stop else rest[-1]
    return Harm(" ".join([*rest[:-1], end]), 0.5 if has_stop else 0.6, min(1, 1.15 * (1 - share) + 0.05), 0.0)


def replace_half(text: str, stock: Stock, rng: Rng) -> Harm:
    words, other = text.split(), _pick_other(text, stock, rng).split()
    return Harm(" ".join([*words[: max(1, len(words) // 2)], *other[len(other) // 2 :]]), 0.6, 0.7, 1.0)


def strip_case(text: str, stock: Stock, rng: Rng) -> Harm:
    """Remove capitals or punctuation, which makes no fact wrong."""
    if rng.random() < 0.5:
        return Harm(text.lower(), 0.08, 0.0, 0.0)
    return Harm(" ".join(re.sub(r"[,.;:!?\"()]+(?=\s|$)", "", text).split()), 0.3, 0.05, 0.0)


def drop_sentence(text: str, stock: Stock, rng: Rng) -> Harm | None:
    parts = re.split(r"(?<=[.!?]) (?=[A-Z\"])", text)
    if len(parts) < 2:
        return None
    part = parts.pop(int(rng.integers(len(parts))))
    return Harm(" ".join(parts), 0.0, min(1, len(part) / len(text)), 0.0)


def drop_aside(text: str, stock: Stock, rng: Rng) -> Harm | None:
    """Leave out a phrase in brackets or between commas, as simplifiers do."""
    asides = list(_ASIDE.finditer(text))
    if not asides:
        return None
    aside = pick(asides, rng)
    rest = replace_spans(text, [(*aside.span(), "")]).replace(",,", ",")
    return Harm(rest, 0.05, min(1, 0.6 * len(aside[0]) / len(text)), 0.0)


def refuse(text: str, stock: Stock, rng: Rng) -> Harm:
    indices = rng.choice(len(REFUSALS), size=1 + (rng.random() < 0.25), replace=False)
    return Harm(" ".join(REFUSALS[at] for at in indices), 0.3, 1.0, np.nan)


def add_chat(text: str, stock: Stock, rng: Rng) -> Harm:
    before = pick(OPENINGS, rng) if rng.random() < 0.8 else ""
    after = pick(CLOSINGS, rng) if not before or rng.random() < 0.2 else ""
    joint = "\n\n" if rng.random() < 0.3 else " "
    return Harm(joint.join(filter(None, [before, text, after])), 0.45, 0.1, 0.0)


def wrap(text: str, stock: Stock, rng: Rng) -> Harm:
    return Harm(pick(_WRAPPERS, rng).format(text), 0.5, 0.05, 0.0)


def negate(text: str, stock: Stock, rng: Rng) -> Harm | None:
    if (denials := list(_NOT.finditer(text))) and rng.random() < 0.7:
        return Harm(replace_spans(text, [(*pick(denials, rng).span(), "")]), 0.1, 0.45, 1.0)
    verbs = list(_AUXILIARY.finditer(text))
    if not verbs:
        start = pick(("It is false that", "It is not the case that"), rng)
        return Harm(f"{start} {text[:1].lower()}{text[1:]}", 0.1, 0.45, 1.0)
    end = pick(verbs, rng).end()
    return Harm(replace_spans(text, [(end, end, f" {pick(('not', 'not', 'never'), rng)}")]), 0.1, 0.45, 1.0)


def invert(text: str, stock: Stock, rng: Rng) -> Harm | None:
    """Replace a word by its opposite, or a month by another."""
    words = text.split()
    indices = [at for at, word in enumerate(words) if word in _OPPOSITES or word.strip(",.") in _MONTHS]
    if not indices:
        return None
    at = pick(indices, rng)
    bare = words[at].strip(",.")
    words[at] = words[at].replace(bare, pick(_MONTHS, rng)) if bare in _MONTHS else _OPPOSITES[words[at]]
    return Harm(" ".join(words), 0.05, 0.35, 1.0)


def change_numbers(text: str, stock: Stock, rng: Rng) -> Harm | None:
    return _replace_matches(_NUMBER, text, 0.03, 0.35, lambda number: _change_digits(number, rng), rng)


def _change_digits(number: str, rng: Rng) -> str:
    digits = list(number)
    for at in set(rng.integers(0, len(digits), size=int(rng.integers(1, len(digits) + 1))).tolist()):
        digits[at] = str((int(digits[at]) + int(rng.integers(1, 10))) % 10)
    return "".join(digits)


def change_names(text: str, stock: Stock, rng: Rng) -> Harm | None:
    return _replace_matches(_NAME, text, 0.05, 0.45, lambda name: pick(stock.names, rng), rng)


def _replace_matches(
    pattern: re.Pattern[str], text: str, fluency: float, meaning: float, replace: Callable[[str], str], rng: Rng
) -> Harm | None:
    """Replace all matches of a pattern, or one of them."""
    matches = list(pattern.finditer(text))
    if not matches:
        return None
    if rng.random() >= 0.5:
        matches = [pick(matches, rng)]
    # From the last to the first: the training data of the shipped model depends on this order of random numbers.
    spans = [(*match.span(), replace(match[0])) for match in reversed(matches)]
    return Harm(replace_spans(text, spans), fluency, meaning, 1.0)


def add_statement(text: str, stock: Stock, rng: Rng) -> Harm | None:
    """Insert a clause or a sentence of another text."""
    if rng.random() < 0.35:
        other = _pick_other(text, stock, rng)
        return Harm(f"{text} {other}" if rng.random() < 0.7 else f"{other} {text}", 0.05, 0.5, 1.0)
    clause = pick(stock.clauses, rng).lstrip(",")
    ends = [match.start() for match in re.finditer(r"[,.;](?=\s|$)", text)]
    at = ends[-1] if ends and rng.random() < 0.8 else pick(ends, rng) if ends else len(text)
    return Harm(f"{text[:at]}{',' if rng.random() < 0.6 else ''}{clause}{text[at:]}", 0.1, 0.35, 1.0)


def _pick_other(text: str, stock: Stock, rng: Rng) -> str:
    other = pick(stock.outputs, rng)
    return other if other != text else pick(stock.outputs, rng)


# The kinds and how often each is drawn: more often if frequent in the outputs of systems or hard to detect.
_FREQUENCIES: dict[Callable[[str, Stock, Rng], Harm | None], int] = {
    drop_some: 3, shuffle: 1, swap_neighbours: 2, repeat_part: 1, repeat_all: 1, add_noise: 2, replace_some: 3,
    replace_all: 1, truncate: 2, replace_half: 1, strip_case: 1, drop_sentence: 2, drop_aside: 4, refuse: 1,
    add_chat: 1, wrap: 1, negate: 3, invert: 3, change_numbers: 3, change_names: 3, add_statement: 4,
}  # fmt: skip
KINDS = {kind.__name__: kind for kind in _FREQUENCIES}
_DRAWS = tuple(kind.__name__ for kind, times in _FREQUENCIES.items() for _ in range(times))
