"""Data for each language: sentence ends, words, syllables, readability formulas. A language is a file here.

To add one, write its file beside the others; the tests report what is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from plainly.core.errors import BadSpec, did_you_mean
from plainly.core.files import read_shipped

_FILES = Path(__file__).parent.glob("??.toml")
CODES: tuple[str, ...] = ("en", *sorted({path.stem for path in _FILES} - {"en"}))


@dataclass(frozen=True)
class ReadabilityFormula:
    """A linear formula over counts of a text: a constant, and a coefficient for each quantity."""

    name: str
    title: str
    source: str  # who published it, and where
    better: Literal["higher", "lower"]
    scale: str
    constant: float
    coefficients: Mapping[str, float]


@dataclass(frozen=True)
class SentenceWords:
    """Words that decide whether a sentence ends at the full stop after them, or begins with them."""

    titles: frozenset[str]
    abbreviations: frozenset[str]
    numbered: frozenset[str]
    openers: frozenset[str]
    ordinals: bool  # whether a number with a full stop may be an ordinal: 3. Oktober
    spaced_marks: bool  # whether there may be a space before a mark: « Vraiment ? »


@dataclass(frozen=True)
class Language:
    """The data of one language, from its file."""

    code: str
    name: str
    sentences: SentenceWords
    elisions: tuple[str, ...]  # words that are written before an apostrophe: l'homme
    syllables: Mapping[str, Any]
    formulas: Mapping[str, ReadabilityFormula]  # the first is the default
    limits: str


@cache
def language(code: str) -> Language:
    """Return the language with this code; raise an error that lists all codes if there is none."""
    if code not in CODES:
        raise BadSpec(f"language={code!r} is not known.{did_you_mean(code, CODES)} It may be: {', '.join(CODES)}")
    table = read_shipped(__file__, f"{code}.toml")
    formulas = {**table["formulas"], **read_shipped(__file__, "all.toml")["formulas"]}
    sentences: dict[str, Any] = {
        key: frozenset(value.split()) if isinstance(value, str) else value for key, value in table["sentences"].items()
    }
    return Language(
        code=code,
        name=table["name"],
        sentences=SentenceWords(**sentences),
        elisions=tuple(table.get("elisions", "").split()),
        syllables=table.get("syllables", {}),
        formulas={name: _formula(name, entry) for name, entry in formulas.items()},
        limits=" ".join(table.get("limits", "").split()),
    )


def _formula(name: str, entry: Mapping[str, Any]) -> ReadabilityFormula:
    fields = ("title", "source", "better", "scale", "constant")
    coefficients = {quantity: float(value) for quantity, value in entry.items() if quantity not in fields}
    return ReadabilityFormula(name, coefficients=coefficients, **{key: entry[key] for key in fields})
