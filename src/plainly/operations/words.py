"""What can be known about a word without a parser: its kind, its stem, its ending; looked up once for each word, ever.

The lists are short and closed (determiners, prepositions, auxiliaries, pronouns, …); everything else is a content word.
English; another language replaces this module's lists and stemmer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]

_LISTS = {
    "determiner": "the a an this that these those each every some any no all both either neither another such",
    "preposition": "of in to for on at by with from into onto over under about after before between among through during "
    "without within against along across behind beyond near off out up down around since until toward towards upon per "
    "via despite throughout except like as than",
    "conjunction": "and or but nor so yet because although though while whereas if unless whether once",
    "relative": "who whom whose which where when why what how",
    "pronoun": "he she it they we i you him her them us me his its their our my your hers theirs himself herself itself "
    "themselves one someone something everyone",
    "auxiliary": "is are was were be been being am 's has have had having do does did will would can could may might shall "
    "should must ought became become becomes",
    "negation": "not n't never no none nobody nothing nor cannot can't don't doesn't didn't isn't aren't wasn't weren't "
    "won't couldn't wouldn't shouldn't hasn't haven't hadn't without",
    "adverb": "also however therefore thus then there here very too just only even still already often usually mostly mainly "
    "largely later now again always sometimes approximately currently originally especially particularly about around",
}
KINDS = ("pad", "content", "number", "name", "stop", "comma", "bracket", "quote", "punctuation", "possessive", *_LISTS)
KIND = {name: number for number, name in enumerate(KINDS)}
_CLOSED = {word: KIND[kind] for kind, words in reversed(list(_LISTS.items())) for word in words.split()}
_PUNCTUATION = {
    **dict.fromkeys((".", "!", "?", "..."), KIND["stop"]),
    **dict.fromkeys((",", ";", ":"), KIND["comma"]),
    **dict.fromkeys(("(", ")", "[", "]", "-lrb-", "-rrb-"), KIND["bracket"]),
    **dict.fromkeys(('"', "'", "``", "''", "“", "”", "‘", "’"), KIND["quote"]),
}
FUNCTION = frozenset(KIND[name] for name in _LISTS if name != "adverb")

_IRREGULAR = {
    form: base
    for base, forms in {
        "be": "is are was were been being am",
        "have": "has had having",
        "do": "does did done doing",
        "go": "goes went gone going",
        "make": "made making",
        "take": "took taken taking",
        "give": "gave given giving",
        "write": "wrote written writing",
        "become": "became becoming",
        "begin": "began begun beginning",
        "come": "came coming",
        "know": "knew known",
        "see": "saw seen",
        "find": "found",
        "build": "built",
        "lead": "led",
        "leave": "left",
        "lose": "lost",
        "win": "won winning",
        "hold": "held",
        "keep": "kept",
        "say": "said",
        "sell": "sold",
        "send": "sent",
        "speak": "spoke spoken",
        "think": "thought",
        "buy": "bought",
        "bring": "brought",
        "teach": "taught",
        "catch": "caught",
        "fight": "fought",
        "grow": "grew grown",
        "fall": "fell fallen",
        "rise": "rose risen",
        "break": "broke broken",
        "choose": "chose chosen",
        "drive": "drove driven",
        "eat": "ate eaten",
        "get": "got gotten getting",
        "meet": "met",
        "run": "ran running",
        "stand": "stood",
        "tell": "told",
        "wear": "wore worn",
        "child": "children",
        "man": "men",
        "woman": "women",
        "person": "people",
        "foot": "feet",
        "die": "dying died dies death",
    }.items()
    for form in forms.split()
}
_ENDINGS = (
    "ications ication ational ization isation fulness ousness iveness ations ation itions ition ments ment ically ingly "
    "edly ness ions ion ally ing ies ied ier est ed es ly er or al s e y"
).split()
_SUFFIXES = (
    "ing ed ly tion sion ment ness ity al ous ive able ible ful less er or est ist ism s es ies ship ance ence ic ish"
).split()
SUFFIX = {name: number for number, name in enumerate(("", *_SUFFIXES))}
_BY_LENGTH = sorted(_SUFFIXES, key=len, reverse=True)
_EDGES = re.compile(r"([\"“”‘(\[\]]*)(.*?)([,;:!?\"”’)\]]*|\.\.\.)", re.DOTALL)
_ABBREVIATION = re.compile(r"(?:\w\.)+\w?|\w|(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|etc|No|Inc|Ltd|Co|Corp|U\.S|e\.g|i\.e|c)")


@lru_cache(maxsize=200_000)
def split_chunk(chunk: str) -> tuple[str, ...]:
    """The tokens of what stands between two spaces: punctuation at its edges and a possessive mark come off."""
    if chunk.isalnum():
        return (chunk,)
    lead, word, trail = _EDGES.fullmatch(chunk).groups()  # type: ignore[union-attr]
    after = list(trail) if trail != "..." else ["..."]
    if word.endswith(".") and len(word) > 1 and not _ABBREVIATION.fullmatch(word[:-1]):
        word, after = word[:-1], [".", *after]
        stripped = word.rstrip("\"”’),;:]")
        word, after = stripped, [*word[len(stripped) :], *after]
    for mark in ("'s", "’s"):
        if word.endswith(mark) and len(word) > 2:
            word, after = word[:-2], [mark, *after]
    return tuple(token for token in (*lead, word, *after) if token)


def tokenise(text: str) -> str:
    """A text with one space between tokens; a tokenised text stays as it is, but for repeated spaces."""
    words: list[str] = []
    chunks = text.split()
    for chunk in chunks:
        words.extend(split_chunk(chunk))
    if words and len(words[-1]) > 1 and words[-1].endswith(".") and words[-1].count(".") == 1:
        words[-1:] = [words[-1][:-1], "."]  # A sentence ends in a stop, whatever stands before it.
    return " ".join(words)


def stem(word: str) -> str:
    """A rough stem of a lower-case word, equal for forms of one root more often than not."""
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


def kind(word: str, lower: str) -> int:
    """The kind of a word as a number, see KINDS."""
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
    """Numbers for words, and a table of what is known about each; 0 is no word (padding)."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {"": 0}
        self._lower: dict[str, int] = {"": 0}
        self._stems: dict[str, int] = {"": 0}
        self._prefixes: dict[str, int] = {"": 0}
        self._rows: list[tuple[int, ...]] = [(0,) * 8]
        self.texts: list[str] = [""]
        self._table: Ints = np.zeros((1, 8), dtype=np.int32)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The numbers of tokens; new ones are added."""
        index = self._index
        found = []
        for token in tokens:
            number = index.get(token)
            found.append(self._add(token) if number is None else number)
        return found

    @property
    def table(self) -> Ints:
        """Columns: lower case, stem, prefix, kind, ending, length, shape, and a hash of closed-class words.

        Open-class words are told apart by their ending alone: which nouns a few hundred sentences happen to hold says
        nothing about the next ones.
        """
        if len(self._table) != len(self._rows):
            self._table = np.array(self._rows, dtype=np.int32)
        return self._table

    def _add(self, token: str) -> int:
        lower = token.lower()
        number = len(self._rows)
        self._index[token] = number
        root = stem(lower)
        ending = next((name for name in _BY_LENGTH if lower.endswith(name) and len(lower) > len(name) + 2), "")
        shape = 0 if token.islower() else 1 if token[:1].isupper() and token[1:].islower() else 2 if token.isupper() else 3
        self._rows.append(
            (
                self._lower.setdefault(lower, len(self._lower)),
                self._stems.setdefault(root, len(self._stems)),
                self._prefixes.setdefault(lower[:4] if len(lower) > 4 else lower, len(self._prefixes)),
                kind(token, lower),
                SUFFIX[ending],
                min(len(token), 12),
                shape,
                stable_hash(lower if lower in _CLOSED or lower in _PUNCTUATION else f"-{ending}"),
            )
        )
        self.texts.append(token)
        return number

    def __len__(self) -> int:
        return len(self._rows)


def stable_hash(text: str) -> int:
    """The same number for the same text on every machine and in every run: FNV-1a over UTF-8, 31 bits."""
    value = 2166136261
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value & 0x7FFFFFFF
