"""Properties of a word that need no parser: its kind, stem and ending, computed once for each word.

The lists in ``lexicon.toml`` are short and closed (determiners, prepositions, auxiliaries, …); everything else
is a content word. English, and kinds and stems of German words.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plainly.core.files import read_shipped

Ints = npt.NDArray[np.int32]

_DATA = read_shipped(__file__, "lexicon.toml")
_LISTS: dict[str, list[str]] = {name: words.split() for name, words in _DATA["classes"].items()}
KINDS = ("pad", "content", "number", "name", "stop", "comma", "bracket", "quote", "punctuation", "possessive", *_LISTS)
KIND = {name: number for number, name in enumerate(KINDS)}
_CLOSED = {word: KIND[kind] for kind, words in reversed(list(_LISTS.items())) for word in words}
_PUNCTUATION = {mark: KIND[kind] for kind, marks in _DATA["punctuation"].items() for mark in marks.split()}
FUNCTION = frozenset(KIND[name] for name in _LISTS if name != "adverb")
CONTENT = frozenset({KIND["content"], KIND["name"], KIND["number"]})
NAME_PARTICLES: tuple[str, ...] = tuple(_DATA["names"]["particles"].split())
_NEGATIONS = frozenset(_LISTS["negation"])
BE = frozenset(("is", "are", "was", "were", "be", "been", "being"))

_IRREGULAR = {form: base for base, forms in _DATA["irregular"].items() for form in forms.split()}
IRREGULAR_FORMS = frozenset(_IRREGULAR)
_ENDINGS: list[str] = _DATA["endings"]["stem"].split()
_SUFFIXES: list[str] = _DATA["endings"]["kind"].split()
SUFFIX = {name: number for number, name in enumerate(("", *_SUFFIXES))}
_BY_LENGTH = sorted(_SUFFIXES, key=len, reverse=True)
_GERMAN = {
    word: KIND[name] for name, words in reversed(list(_DATA["german"]["classes"].items())) for word in words.split()
}
_GERMAN_ENDINGS: list[str] = sorted(_DATA["german"]["endings"]["stem"].split(), key=len, reverse=True)
_FOLDED = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
_LEADING, _TRAILING = '"“”„‚‘([]', ',;:!?"”“’)]'
_ABBREVIATION = re.compile(r"(?:\w\.)+\w?|\w|(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|etc|No|Inc|Ltd|Co|Corp|U\.S|e\.g|i\.e|c)")


@lru_cache(maxsize=200_000)
def split_chunk(chunk: str) -> tuple[str, ...]:
    """Return the tokens of a chunk between spaces: punctuation at its edges and a possessive mark are split off."""
    if chunk.isalnum():
        return (chunk,)
    rest = chunk.lstrip(_LEADING)
    word = rest.rstrip(_TRAILING)
    lead, after = chunk[: len(chunk) - len(rest)], list(rest[len(word) :])
    if not after and word.endswith("..."):
        word, after = word[:-3], ["..."]
    bare = word.rstrip(".")
    dots = len(word) - len(bare)
    if bare and (dots > 1 or (dots == 1 and not _ABBREVIATION.fullmatch(bare))):
        after = [*(["..."] if dots > 2 else ["."] * dots), *after]
        word = bare.rstrip('"”’),;:]')
        after = [*bare[len(word) :], *after]
    for mark in ("'s", "’s"):
        if word.endswith(mark) and len(word) > 2:
            word, after = word[:-2], [mark, *after]
    return tuple(token for token in (*lead, word, *after) if token)


def tokenise(text: str) -> str:
    """Return a text with one space between tokens; a tokenised text does not change, except for repeated spaces."""
    words = [word for chunk in text.split() for word in split_chunk(chunk)]
    if words and len(words[-1]) > 1 and words[-1].endswith(".") and words[-1].count(".") == 1:
        words[-1:] = [words[-1][:-1], "."]  # a full stop ends the sentence, also after an abbreviation
    return " ".join(words)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return a rough stem of a lower-case word, which forms of one root usually share."""
    word = _IRREGULAR.get(word, word)
    if len(word) < 4:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word.rstrip("ey") if len(word) > 4 else word


@lru_cache(maxsize=200_000)
def stem_german(word: str) -> str:
    """Return a rough stem of a German word in lower case, without umlauts and the prefix of participles.

    >>> [stem_german(word) for word in ("häuser", "haus", "stiftung", "behörden")]
    ['haus', 'haus', 'stift', 'behord']
    """
    word = word.translate(_FOLDED)
    if word.startswith("ge") and len(word) > 6 and word.endswith(("t", "en")):
        word = word[2:]
    for ending in _GERMAN_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def kind_german(word: str, lower: str) -> int:
    """Return the kind of a German word; a capital letter does not make it a name."""
    if lower in _GERMAN:
        return _GERMAN[lower]
    english = kind(word, lower)
    return KIND["content"] if english == KIND["name"] or english in FUNCTION else english


def is_negation(lower: str) -> bool:
    """Return whether a lower-case word is a negation, such as not, never or isn't."""
    return lower in _NEGATIONS or lower.endswith(("n't", "n’t"))


def kind(word: str, lower: str) -> int:
    """Return the kind of a word as a number, see KINDS."""
    if lower in _PUNCTUATION:
        return _PUNCTUATION[lower]
    if lower in ("'s", "’s"):
        return KIND["possessive"]
    if lower in _CLOSED:
        return _CLOSED[lower]
    if any(character.isdigit() for character in word):
        return KIND["number"]
    if not any(character.isalnum() for character in word):
        return KIND["punctuation"]
    return KIND["name"] if word[0].isupper() else KIND["content"]


class Words:
    """Numbers for words, and a table of their properties; 0 is padding."""

    def __init__(self, language: str = "en") -> None:
        self._kind, self._stem = (kind_german, stem_german) if language == "de" else (kind, stem)
        self._index: dict[str, int] = {"": 0}
        self._lower, self._stems, self._prefixes = {"": 0}, {"": 0}, {"": 0}
        self._rows: list[tuple[int, ...]] = [(0,) * 8]
        self._table: Ints = np.zeros((1, 8), dtype=np.int32)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the numbers of tokens; new tokens are added."""
        index = self._index
        return [index[token] if token in index else self._add(token) for token in tokens]

    @property
    def table(self) -> Ints:
        """Columns: lower case, stem, prefix, kind, ending, length, shape, and a hash of closed-class words."""
        if len(self._table) != len(self._rows):
            self._table = np.array(self._rows, dtype=np.int32)
        return self._table

    def _add(self, token: str) -> int:
        lower = token.lower()
        number = self._index[token] = len(self._rows)
        ending = next((name for name in _BY_LENGTH if lower.endswith(name) and len(lower) > len(name) + 2), "")
        if token.islower():
            shape = 0
        else:
            shape = 1 if token[:1].isupper() and token[1:].islower() else 2 if token.isupper() else 3
        # In the hash, open-class words differ by their ending alone: nouns learnt from a few hundred sentences would
        # not help on other sentences.
        self._rows.append(
            (
                self._lower.setdefault(lower, len(self._lower)),
                self._stems.setdefault(self._stem(lower), len(self._stems)),
                self._prefixes.setdefault(lower[:4] if len(lower) > 4 else lower, len(self._prefixes)),
                self._kind(token, lower),
                SUFFIX[ending],
                min(len(token), 12),
                shape,
                stable_hash(lower if lower in _CLOSED or lower in _PUNCTUATION else f"-{ending}"),
            )
        )
        return number

    def __len__(self) -> int:
        return len(self._rows)


def stable_hash(text: str) -> int:
    """Return a hash that is the same on every machine and in every run: FNV-1a over UTF-8, 31 bits."""
    value = 2166136261
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value & 0x7FFFFFFF
