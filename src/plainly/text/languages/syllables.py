"""Syllables in languages other than English: by rules that a language's file holds, or by hyphenation patterns.

The rules rewrite silent and gliding letters, then count vowels and pairs of vowels that sound as one. They need nothing
installed. Both ways are measured against espeak-ng's phonemes in docs/languages.md.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from plainly.core.errors import needing
from plainly.text.languages import Language, language

_PARTS = re.compile(r"[0-9]+|[^\W\d_]+")
_LONGEST = 60  # letters of a word; the patterns would take quadratic time on whatever is longer


@cache
def by_rules(code: str) -> Callable[[str], int]:
    """Syllables of a word by rule, never less than one; numbers as they are read, initials letter by letter."""
    known = language(code)
    silent = [(re.compile(pattern), instead) for pattern, instead in known.syllables["silent"]]
    nucleus = re.compile(known.syllables["nucleus"])

    def count(letters: str) -> int:
        if len(letters) <= _LONGEST:
            for pattern, instead in silent:
                letters = pattern.sub(instead, letters)
        return len(nucleus.findall(letters))

    return _of_words(known, count)


@cache
def by_hyphenation(code: str) -> Callable[[str], int]:
    """Syllables of a word as hyphenation patterns part it, which never leave a single letter at an end."""
    with needing("syllables=hyphenation", package="pyphen", extra="hyphenation"):
        import pyphen
    patterns = pyphen.Pyphen(lang=code, left=1, right=1)
    return _of_words(language(code), lambda letters: len(patterns.positions(letters)) + 1)


def _of_words(known: Language, count: Callable[[str], int]) -> Callable[[str], int]:
    figures = known.syllables["figures"]

    def of_part(part: str) -> int:
        if part.isdigit():
            return _figures(part, figures)
        if part.isupper() and 1 < len(part) < 6 and not count(part.lower()):
            return len(part)
        return max(1, count(part.lower()))

    def of_word(word: str) -> int:
        whole = unicodedata.normalize("NFC", word)
        whole = re.sub(r"(?<=[0-9])[.,](?=[0-9]{3})", "", whole)
        return max(1, sum(map(of_part, _PARTS.findall(whole))))

    return of_word


def _figures(digits: str, table: Mapping[str, Any]) -> int:
    """The syllables of a number below a million as it is read; of a longer one, digit by digit."""
    ones: list[int] = table["below_twenty"]
    if len(digits) > 6 or (len(digits) > 1 and digits[0] == "0"):
        return sum(ones[int(digit)] for digit in digits)
    number = int(digits)
    if number < 20:
        return ones[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return int(table["tens"][ten - 2] + (ones[one] + table["between"] if one else 0))
    if table["as_years"] and 1100 <= number < 2000:
        hundreds, rest = divmod(number, 100)
        return ones[hundreds] + int(table["hundred"]) + (_figures(str(rest), table) if rest else 0)
    scale, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    times, rest = divmod(number, scale)
    said = _figures(str(times), table) if times > 1 else 0
    return said + int(table[name]) + (_figures(str(rest), table) if rest else 0)
