"""The words that attacks work with: small lists that this project wrote."""

import functools
from dataclasses import dataclass

from plainly.core.files import read_shipped


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
