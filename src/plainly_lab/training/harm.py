"""Damage and harm done to texts on purpose: what learned metrics must not take for simplicity, or must learn to see.

*Noise* damages a sentence without changing its words: it is shown again with the same label, because a model that has
only seen sound sentences takes a stray full stop or a cut-off end for simplicity. *Harm* says how much fluency and
meaning it costs, from 0 to 1, and whether it changes, flips or adds a fact; a judge that reads source and output learns
from it. Nothing here is taken from the lists that ``plainly audit`` attacks with, so that the audit remains a test:
what the source does not say comes from other pairs, and what a chat model says around its answer was written anew.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
_REFUSALS, _OPENINGS, _CLOSINGS, _WRAPPERS = (
    tuple(_LISTS[name]) for name in ("refusals", "openings", "closings", "wrappers")
)


Noise = Callable[[list[str], Rng], list[str]]


def damage(text: str, rng: Rng) -> str:
    """The text after one kind of noise, drawn at random."""
    words = text.split()
    return " ".join(pick(_NOISE_DRAWN, rng)(words, rng)) if len(words) >= 4 else text


def add_stops(words: list[str], rng: Rng) -> list[str]:
    """Full stops after words chosen at random; half the time the next word takes a capital."""
    capital = bool(rng.random() < 0.5)
    damaged = list(words)
    for at in rng.choice(len(words) - 1, size=_few(words, rng), replace=False):
        damaged[at] = damaged[at].rstrip(".,;:") + (" ." if rng.random() < 0.3 else ".")
        if capital:
            damaged[at + 1] = damaged[at + 1][:1].upper() + damaged[at + 1][1:]
    return damaged


def add_articles(words: list[str], rng: Rng) -> list[str]:
    """The word "the" put in at random."""
    return insert_words(words, rng.integers(1, len(words), size=_few(words, rng)), "the")


def shorten_longest(words: list[str], rng: Rng) -> list[str]:
    """The longest word replaced by a short one or by a full stop."""
    return replace_longest(words, pick(("the", "a", "it", "."), rng))


def fill_in(words: list[str], rng: Rng) -> list[str]:
    """Words chosen at random replaced by "the" or a full stop."""
    filler = "the" if rng.random() < 0.5 else "."
    return replace_words(words, rng.choice(len(words), size=_few(words, rng), replace=False), filler)


def cut_end(words: list[str], rng: Rng) -> list[str]:
    """The end cut off; half the time a full stop hides it."""
    kept = words[: max(2, round(len(words) * rng.uniform(0.3, 0.8)))]
    return [*kept[:-1], end_with_stop(kept[-1])] if rng.random() < 0.5 else kept


def drop_words(words: list[str], rng: Rng) -> list[str]:
    """Some words left out."""
    kept = rng.random(len(words)) >= rng.uniform(0.1, 0.4)
    return [word for word, keep in zip(words, kept, strict=True) if keep] or words


def repeat_words(words: list[str], rng: Rng) -> list[str]:
    """A stretch of words said twice."""
    length = int(rng.integers(2, max(3, len(words) // 2)))
    start = int(rng.integers(0, len(words) - length + 1))
    return [*words[: start + length], *words[start : start + length], *words[start + length :]]


def strip_marks(words: list[str], rng: Rng) -> list[str]:
    """Lower case, no punctuation, or both."""
    which = rng.integers(3)
    kept = [word.lower() for word in words] if which != 1 else words
    stripped = [word.strip(".,;:!?\"'()") for word in kept] if which != 0 else kept
    return [word for word in stripped if word] or words


def _few(words: list[str], rng: Rng) -> int:
    return int(rng.integers(1, max(2, len(words) // 6) + 1))


NOISE: tuple[Noise, ...] = (
    add_stops, add_articles, shorten_longest, fill_in, cut_end, drop_words, shuffle_words, repeat_words, strip_marks
)  # fmt: skip
# Stray full stops and cut-off ends lift a learned estimate the most, so they are drawn more often.
_NOISE_DRAWN = (*NOISE, add_stops, add_stops, cut_end, cut_end, shorten_longest)


class Harmed(NamedTuple):
    """An output after harm, what that costs in fluency and meaning, and whether a fact is wrong now (NaN: open)."""

    text: str
    fluency: float
    meaning: float
    fact: float


@dataclass(frozen=True)
class Stock:
    """What other pairs lend: whole outputs, clauses, names and words."""

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


Harm = Callable[[str, Stock, Rng], Harmed | None]


def harm(text: str, stock: Stock, rng: Rng) -> tuple[str, Harmed] | None:
    """One kind of harm, drawn at random; None where it finds nothing to do."""
    kind = pick(_DRAWN, rng)
    harmed = KINDS[kind](text, stock, rng)
    return None if harmed is None or harmed.text == text or not harmed.text.strip() else (kind, harmed)


def dropped(text: str, stock: Stock, rng: Rng) -> Harmed:
    words = text.split()
    share = rng.uniform(0.05, 0.45)
    kept = [word for word in words if rng.random() >= share]
    return Harmed(" ".join(kept or words), min(1, 0.15 + 1.8 * share), min(1, 1.4 * share), 0.0)


def shuffled(text: str, stock: Stock, rng: Rng) -> Harmed:
    return Harmed(" ".join(shuffle_words(text.split(), rng)), 1.0, 0.6, np.nan)


def displaced(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    """Some neighbours exchanged."""
    words = text.split()
    if len(words) < 4:
        return None
    times = int(rng.integers(1, max(2, len(words) // 3) + 1))
    for at in rng.integers(0, len(words) - 1, size=times):
        words[at], words[at + 1] = words[at + 1], words[at]
    share = times / len(words)
    return Harmed(" ".join(words), min(1, 0.2 + 2 * share), min(1, share), np.nan)


def repeated(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    words = text.split()
    return Harmed(" ".join(repeat_words(words, rng)), 0.5, 0.1, 0.0) if len(words) > 4 else None


def said_again(text: str, stock: Stock, rng: Rng) -> Harmed:
    """The whole output two to six times over."""
    return Harmed(" ".join([text] * int(rng.integers(2, 7))), 0.85, 0.3, 0.0)


def stray(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    """Stray full stops and articles, words replaced by fillers."""
    words = text.split()
    if len(words) < 5:
        return None
    return Harmed(" ".join(pick(NOISE[:4], rng)(words, rng)), 0.45, 0.2, np.nan)


def foreign_words(text: str, stock: Stock, rng: Rng) -> Harmed:
    """Words from elsewhere in place of its own."""
    words = text.split()
    share = rng.uniform(0.03, 0.35)
    places = [at for at in range(len(words)) if rng.random() < share] or [int(rng.integers(len(words)))]
    for at in places:
        words[at] = pick(stock.words, rng)
    share = len(places) / len(words)
    return Harmed(" ".join(words), min(1, 0.2 + 1.5 * share), min(1, 0.15 + 1.5 * share), 1.0)


def another(text: str, stock: Stock, rng: Rng) -> Harmed:
    return Harmed(_other(text, stock, rng), 0.0, 1.0, 1.0)


def truncated(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    words = text.split()
    if len(words) < 4:
        return None
    share = rng.uniform(0.3, 0.85) if rng.random() < 0.6 else 0.5
    kept = words[: max(1, int(np.ceil(share * len(words))))]
    stopped = rng.random() < 0.3
    end = end_with_stop(kept[-1]) if stopped else kept[-1]
    return Harmed(" ".join([*kept[:-1], end]), 0.5 if stopped else 0.6, min(1, 1.15 * (1 - share) + 0.05), 0.0)


def half_and_half(text: str, stock: Stock, rng: Rng) -> Harmed:
    mine, other = text.split(), _other(text, stock, rng).split()
    a, b = max(1, len(mine) // 2), len(other) // 2
    return Harmed(" ".join([*mine[:a], *other[b:]]), 0.6, 0.7, 1.0)


def bare(text: str, stock: Stock, rng: Rng) -> Harmed:
    """Lower case or no punctuation: ugly, and no less true."""
    if rng.random() < 0.5:
        return Harmed(text.lower(), 0.08, 0.0, 0.0)
    return Harmed(" ".join(re.sub(r"[,.;:!?\"()]+(?=\s|$)", "", text).split()), 0.3, 0.05, 0.0)


def sentence_lost(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    parts = re.split(r"(?<=[.!?]) (?=[A-Z\"])", text)
    if len(parts) < 2:
        return None
    lost = int(rng.integers(len(parts)))
    share = len(parts[lost]) / len(text)
    return Harmed(" ".join(part for at, part in enumerate(parts) if at != lost), 0.0, min(1, share), 0.0)


def aside_lost(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    """What stands in brackets or between commas left out, as simplifiers do."""
    asides = list(_ASIDE.finditer(text))
    if not asides:
        return None
    aside = pick(asides, rng)
    kept = replace_spans(text, [(*aside.span(), "")]).replace(",,", ",")
    return Harmed(kept, 0.05, min(1, 0.6 * len(aside[0]) / len(text)), 0.0)


def refused(text: str, stock: Stock, rng: Rng) -> Harmed:
    chosen = [_REFUSALS[at] for at in rng.choice(len(_REFUSALS), size=1 + (rng.random() < 0.25), replace=False)]
    return Harmed(" ".join(chosen), 0.3, 1.0, np.nan)


def chatty(text: str, stock: Stock, rng: Rng) -> Harmed:
    before = pick(_OPENINGS, rng) if rng.random() < 0.8 else ""
    after = pick(_CLOSINGS, rng) if not before or rng.random() < 0.2 else ""
    joint = "\n\n" if rng.random() < 0.3 else " "
    return Harmed(joint.join(filter(None, [before, text, after])), 0.45, 0.1, 0.0)


def wrapped(text: str, stock: Stock, rng: Rng) -> Harmed:
    return Harmed(pick(_WRAPPERS, rng).format(text), 0.5, 0.05, 0.0)


def negated(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    if (denials := list(_NOT.finditer(text))) and rng.random() < 0.7:
        return Harmed(replace_spans(text, [(*pick(denials, rng).span(), "")]), 0.1, 0.45, 1.0)
    verbs = list(_AUXILIARY.finditer(text))
    if not verbs:
        opened = text[:1].lower() + text[1:]
        return Harmed(f"{pick(('It is false that', 'It is not the case that'), rng)} {opened}", 0.1, 0.45, 1.0)
    end = pick(verbs, rng).end()
    return Harmed(replace_spans(text, [(end, end, f" {pick(('not', 'not', 'never'), rng)}")]), 0.1, 0.45, 1.0)


def turned(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    """A word replaced by its opposite, or a month by another."""
    words = text.split()
    places = [at for at, word in enumerate(words) if word in _OPPOSITES or word.strip(",.") in _MONTHS]
    if not places:
        return None
    at = pick(places, rng)
    bare = words[at].strip(",.")
    words[at] = words[at].replace(bare, pick(_MONTHS, rng)) if bare in _MONTHS else _OPPOSITES[words[at]]
    return Harmed(" ".join(words), 0.05, 0.35, 1.0)


def renumbered(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return None
    chosen = numbers if rng.random() < 0.5 else [pick(numbers, rng)]
    # From the last to the first: the seed of a shipped model decides in this order.
    spans = [(*number.span(), _change_digits(number[0], rng)) for number in reversed(chosen)]
    return Harmed(replace_spans(text, spans), 0.03, 0.35, 1.0)


def _change_digits(number: str, rng: Rng) -> str:
    digits = list(number)
    for at in set(rng.integers(0, len(digits), size=int(rng.integers(1, len(digits) + 1))).tolist()):
        digits[at] = str((int(digits[at]) + int(rng.integers(1, 10))) % 10)
    return "".join(digits)


def renamed(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    names = list(_NAME.finditer(text))
    if not names:
        return None
    chosen = names if rng.random() < 0.5 else [pick(names, rng)]
    spans = [(*name.span(), pick(stock.names, rng)) for name in reversed(chosen)]
    return Harmed(replace_spans(text, spans), 0.05, 0.45, 1.0)


def invented(text: str, stock: Stock, rng: Rng) -> Harmed | None:
    """A clause or a sentence of another text put in."""
    if rng.random() < 0.35:
        added = _other(text, stock, rng)
        return Harmed(f"{text} {added}" if rng.random() < 0.7 else f"{added} {text}", 0.05, 0.5, 1.0)
    clause = pick(stock.clauses, rng).lstrip(",")
    ends = [match.start() for match in re.finditer(r"[,.;](?=\s|$)", text)]
    at = ends[-1] if ends and rng.random() < 0.8 else pick(ends, rng) if ends else len(text)
    return Harmed(f"{text[:at]}{',' if rng.random() < 0.6 else ''}{clause}{text[at:]}", 0.1, 0.35, 1.0)


def _other(text: str, stock: Stock, rng: Rng) -> str:
    other = pick(stock.outputs, rng)
    return other if other != text else pick(stock.outputs, rng)


_ALL = (
    dropped, shuffled, displaced, repeated, said_again, stray, foreign_words, another, truncated, half_and_half, bare,
    sentence_lost, aside_lost, refused, chatty, wrapped, negated, turned, renumbered, renamed, invented,
)  # fmt: skip
KINDS: dict[str, Harm] = {kind.__name__: kind for kind in _ALL}
# What is frequent in the outputs of systems, or hard to see, is drawn more often; what is gross, less.
_OFTEN = {
    "dropped": 3, "displaced": 2, "foreign_words": 3, "aside_lost": 4, "truncated": 2, "invented": 4, "negated": 3,
    "renumbered": 3, "renamed": 3, "turned": 3, "stray": 2, "sentence_lost": 2,
}  # fmt: skip
_DRAWN = tuple(kind for kind in KINDS for _ in range(_OFTEN.get(kind, 1)))
