"""Which language is a text in? Small words decide among languages of one script; the script decides the rest.

This is no language identifier: it knows when outputs are plainly not in the language of their sources.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from plainly.questions.doctor.subject import Subject, check
from plainly.result import Note

_KNOWN = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
_NAMES: dict[str, str] = _KNOWN["names"]
LANGUAGES = tuple(_NAMES)


@cache
def _owner() -> dict[str, str]:
    """Small word → the one language that has it."""
    seen = Counter(word for words in _KNOWN["small_words"].values() for word in set(words.split()))
    return {word: name for name, words in _KNOWN["small_words"].items() for word in words.split() if seen[word] == 1}


@cache
def _script_patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(f"[{span}]") for name, span in _KNOWN["scripts"].items()}


def guess(text: str) -> str | None:
    """A language's code, a script's name, or None where there is too little to go by."""
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        for name, pattern in _script_patterns().items():
            if len(pattern.findall(text)) > max(0.4 * letters, 3):
                # Japanese is written in Kana and Han; a little Kana makes it so.
                return "Kana" if name == "Han" and _script_patterns()["Kana"].search(text) else name
    words = text.lower().split()
    owner = _owner()
    known = Counter(owner[word] for word in words if word in owner)
    if not known:
        return None
    (best, count), *rest = known.most_common(2)
    # Foreign names and titles bring small words of other languages: it takes three of them, every seventh word, and
    # three times as many as of any other language.
    if count < max(3, len(words) / 7) or (rest and count < 3 * rest[0][1]):
        return None
    return best


@check("language")
def language(subject: Subject) -> Iterator[Note]:
    expected = subject.language or guess(" ".join((subject.sources.lines or subject.references.lines)[:200]))
    if expected is None:
        return
    for texts in subject.collections():
        if texts is subject.sources and subject.language is None:
            continue
        guesses = {place: guess(line) for place, line in enumerate(texts.lines)}
        places = [place for place, guessed in guesses.items() if guessed not in (None, expected)]
        if places:
            spoken = Counter(guesses[place] or "" for place in places).most_common(1)[0][0]
            message = f"{_NAMES.get(spoken, spoken)} where {_NAMES.get(expected, expected)} is expected, "
            yield texts.warning(f"{message}{texts.items(places)}: “{texts.lines[places[0]][:40]}…”.", places)
