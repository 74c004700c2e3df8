"""Checks that a regular expression cannot express: abbreviations that are never explained, and strings of nouns.

A rule file uses one of them with ``extends: linguistic`` and ``check: NAME``, and is otherwise like any other.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from plainly.checks.styles.rules import Area, Finder, Hit, RuleFile
from plainly.text.words import FUNCTION_WORDS

_ABBREVIATION = re.compile(r"\b[^\W\d_][^\W_]{1,7}\b(?:[./&][^\W\d_]+)*")
_ROMAN = re.compile(r"[IVXLC]+")
_STANDS_FOR = re.compile(r"\(|=|[-–—:]\s|\b(?:stands? for|is short for|means|steht für|bedeutet|heißt|heisst)\b")
_LAST_WORD = re.compile(r"(\w[\w./&]*)[\"”“’']?\s*\Z")
# Endings of English nouns that verbs and adjectives rarely have.
_NOUN = re.compile(
    r"(?:[a-z]{2,}(?:tion|sion|ment|ness|ity|ance|ence|ency|ancy|ship|ism|dure|sure|ture|ology|graphy|nomy|hood|dom|ware)"
    r"|[a-z]{3,}(?:ator|itor|ager|eer|ist|cian))s?"
)
# Common short nouns.
_SHORT = frozenset(Path(__file__).with_name("nouns.txt").read_text(encoding="utf-8").split())


class Linguistic(RuleFile, frozen=True, kw_only=True):
    """A check of ours by its name; ``max`` and ``exceptions`` mean what the check says."""

    check: str
    max: int = 0
    exceptions: tuple[str, ...] = ()

    def finder(self) -> Finder:
        if self.check not in CHECKS:
            raise ValueError(f"check: unknown check {self.check!r}. Allowed: {', '.join(CHECKS)}.")
        check, exceptions = CHECKS[self.check], frozenset(self.exceptions)
        return lambda area, timeout: check(area, self.max, exceptions)


def find_abbreviations(area: Area, most: int, exceptions: frozenset[str]) -> Iterator[Hit]:
    """Yield the first use of each abbreviation that the text explains nowhere.

    An abbreviation is a word with at least two capital letters and no more small ones than capital ones. It is
    explained where it stands in brackets, before a bracket, or before words such as "stands for".
    """
    text = area.text
    seen = {*exceptions, *_explained_abbreviations(text)}
    shouted = set(_capital_runs(text))
    for match in _ABBREVIATION.finditer(text):
        stem = _abbreviation_stem(match[0])
        if stem and stem not in seen and match.start() not in shouted:
            seen.add(stem)
            yield Hit(*match.span(), (match[0],))


def _abbreviation_stem(word: str) -> str:
    """Return an abbreviation without the ending of the plural, and "" for another word."""
    stem = word.removesuffix("s") if len(word) > 2 else word
    capitals = sum(map(str.isupper, stem))
    is_abbreviation = capitals > 1 and sum(map(str.islower, stem)) <= capitals and not _ROMAN.fullmatch(stem)
    return stem if is_abbreviation else ""


def _explained_abbreviations(text: str) -> Iterator[str]:
    """Yield the abbreviations in brackets, and those before a bracket or words such as "stands for"."""
    for bracket in re.finditer(r"[(\[]([^()\[\]]{2,60})[)\]]", text):
        yield from map(_abbreviation_stem, _ABBREVIATION.findall(bracket[1]))
    for match in _STANDS_FOR.finditer(text):
        word = _LAST_WORD.search(text, max(0, match.start() - 20), match.start())
        if word:
            yield _abbreviation_stem(word[1])


def _capital_runs(text: str) -> Iterator[int]:
    """Yield where words begin that stand next to another one in capital letters: a title, not abbreviations."""
    before: re.Match[str] | None = None
    for match in re.finditer(r"[^\W\d_]+", text):
        is_title = match[0].isupper() and len(match[0]) > 1
        if is_title and before is not None and text[before.end() : match.start()].isspace():
            yield before.start()
            yield match.start()
        before = match if is_title else None


def find_noun_strings(area: Area, most: int, exceptions: frozenset[str]) -> Iterator[Hit]:
    """Yield English nouns that follow each other without a word between them, if they are more than ``most``."""
    run: list[re.Match[str]] = []
    for match in re.finditer(r"[A-Za-z]+|[^A-Za-z ]", area.text):
        if match[0].islower() and _is_noun(match[0]) and match[0] not in exceptions:
            run.append(match)
            continue
        if len(run) > most:
            yield _noun_hit(area.text, run)
        run = []
    if len(run) > most:
        yield _noun_hit(area.text, run)


def _noun_hit(text: str, run: list[re.Match[str]]) -> Hit:
    start, stop = run[0].start(), run[-1].end()
    return Hit(start, stop, (text[start:stop],))


def _is_noun(word: str) -> bool:
    if word in FUNCTION_WORDS:
        return False
    return word in _SHORT or word.removesuffix("s") in _SHORT or _NOUN.fullmatch(word) is not None


Check = Callable[[Area, int, frozenset[str]], Iterator[Hit]]
CHECKS: Mapping[str, Check] = {"abbreviations": find_abbreviations, "noun_strings": find_noun_strings}
