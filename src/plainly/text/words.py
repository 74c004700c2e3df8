"""Words as readers see them: without punctuation; contractions, hyphenated words and numbers are one word.

Flesch (1948) counts contractions, hyphenated words, abbreviations and figures as one word each; so does this.
Scripts written without spaces (Chinese, Japanese) have a word per character, since there is no segmenter.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path

from plainly.text.languages import language as known_language

# Words with a grammatical function rather than a meaning of their own.
FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text(encoding="utf-8").split())
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_CHARACTER = rf"[^\W_{_UNSPACED}]"
_JOIN = (
    r"['’ʼ&@\-‐‑\u200c\u200d]"  # don't, well-known, R&B, an e-mail address; joiners of Persian and Indic scripts
    r"|(?<=\d)[.,:](?=\d)"  # 1,000.5 and 10:30
    r"|\.(?![A-Z][a-z])(?!$)"  # e.g. and example.com, but not a missing space: "end.Next"
)
_MARKED = re.compile(r"\w+(?:[’'\-]\w+)*|[^\w\s]+|\S")
_COMBINING = ("Mn", "Mc", "Me")
_WORD = re.compile(rf"[{_UNSPACED}]|{_CHARACTER}+(?:(?:{_JOIN}){_CHARACTER}+)*")


def words(text: str, language: str = "en") -> list[str]:
    """Return the words of a text, as written. An elided article is a word in languages that have them: l'homme.

    >>> words("Don't panic: it's a well-known, 1,000-page book (e.g. in the U.S.)...")
    ["Don't", 'panic', "it's", 'a', 'well-known', '1,000-page', 'book', 'e.g', 'in', 'the', 'U.S']
    """
    if text.isalpha() and text.isascii():
        return [text]
    whole = [text[start:end] for start, end in spans(text)]
    elision = _elision(language)
    return whole if elision is None else [part for word in whole for part in elision.sub(r"\1 ", word).split()]


def has_words(text: str) -> bool:
    """Whether a text has a word: ``bool(words(text))``."""
    return _WORD.search(text) is not None


@cache
def _elision(language: str) -> re.Pattern[str] | None:
    """Return a pattern of the words before an apostrophe that count as words, if the language has any."""
    elisions = known_language(language).elisions
    return re.compile(rf"^((?:{'|'.join(elisions)})['’ʼ])(?=\w)", re.IGNORECASE) if elisions else None


def spans(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text begin and end."""
    return [match.span() for match in _WORD.finditer(text if text.isascii() else _bare(text))]


def token_spans(text: str, method: str) -> list[tuple[int, int]]:
    """Return where the tokens of a text begin and end, in Unicode code points.

    With ``spaces``, tokens are what stands between white space, else words and marks of punctuation. These are the
    tokens that people mark in the studio. The browser counts in UTF-16 and would be off by one after every emoji; it
    gets the tokens from here and sends only their numbers back. A mark that combines with the character before it stays
    in that character's token.
    """
    if method == "spaces":
        return [match.span() for match in re.finditer(r"\S+", text)]
    result: list[tuple[int, int]] = []
    for match in _MARKED.finditer(text):
        start, end = match.span()
        if result and result[-1][1] == start and _continues_token(text[start], text[start - 1]):
            start = result.pop()[0]
        result.append((start, end))
    return result


def _continues_token(character: str, before: str) -> bool:
    if character in "\u200d\ufe0f" or before == "\u200d" or "\U0001f3fb" <= character <= "\U0001f3ff":
        return True
    follows_mark = before != "\ufe0f" and unicodedata.category(before) in _COMBINING and character.isalnum()
    return follows_mark or unicodedata.category(character) in _COMBINING


def _bare(text: str) -> str:
    # Combining marks (accents written apart, Indic vowel signs, Arabic points) are not word characters to ``re``; a
    # letter stands in for each one that follows a letter, so that positions stay as they are.
    marks = "".join(character for character in set(text) if unicodedata.category(character).startswith("M"))
    return re.sub(rf"(?<=[^\W_])[{marks}]+", lambda run: "a" * len(run[0]), text) if marks else text
