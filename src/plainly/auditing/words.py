"""The words that attacks work with: small word lists, and the names that occur in a text.

Names are found without a tagger, by capital letters and by how words are written elsewhere. A capital letter alone is
weak evidence: sentences and quotations begin with one, and so do months, languages and titles. A name is a run of
capitalised words of which one is never written in lower case in the same texts and is not such a word. At the beginning
of a sentence, a word counts only if it is also capitalised in the middle of some sentence, or if the name goes on.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import msgspec

from plainly.core.files import read_shipped
from plainly.text import sentences
from plainly.text.lexicon import NAME_PARTICLES
from plainly.text.words import FUNCTION_WORDS, spans

_LINKS = re.compile(rf" (?:(?:{'|'.join(NAME_PARTICLES)}) ){{0,2}}")
_OPENING = re.compile(r"[\"“”‘'«(\[:;*•–—-]\s*$")
_MOST_CAPITALS = 0.6  # With more, a text is a heading or in capitals, which say nothing about names.
_POSSESSIVE = ("'s", "’s")
Span = tuple[int, int]


@dataclass(frozen=True)
class Lists:
    """The lists of ``word_lists.toml``."""

    rare: tuple[str, ...]
    clauses: tuple[str, ...]
    refusals: tuple[str, ...]
    openings: tuple[str, ...]
    titles: frozenset[str]
    not_names: frozenset[str]
    rarer: dict[str, str]  # by a common word

    @cached_property
    def commoner(self) -> dict[str, str]:
        """A common word by a rarer one; the first if there are several."""
        return {rare: common for common, rare in reversed(self.rarer.items())}


@cache
def lists() -> Lists:
    """Read the lists, once."""
    return msgspec.convert(read_shipped(__file__, "word_lists.toml"), Lists)


@dataclass(frozen=True)
class Namer:
    """Finds names by how words are written in some texts."""

    lower: frozenset[str]  # words written without a capital somewhere
    inside: frozenset[str]  # words written with a capital inside a sentence

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Namer":
        """Learn from texts how their words are written."""
        lower, inside = set(FUNCTION_WORDS), set()
        for text in dict.fromkeys(texts):
            begins = _begins(text)
            for start, end in spans(text):
                word = text[start:end]
                if word[0].islower():
                    lower.add(word)
                elif word[0].isupper() and start not in begins:
                    inside.add(word)
        return cls(frozenset(lower), frozenset(inside))

    def spans(self, text: str) -> list[Span]:
        """Return where the names of a text begin and end."""
        words = spans(text)
        capitals = sum(text[start].isupper() for start, _ in words)
        if len(words) > 3 and capitals > _MOST_CAPITALS * len(words):
            return []
        begins = _begins(text)
        names = []
        for run in _runs(text, words):
            while run and (text[slice(*run[0])] in lists().titles or not self._may_begin(text, run, begins)):
                run = run[1:]
            if any(self._is_name(text[slice(*word)]) for word in run):
                end = run[-1][1]
                names.append((run[0][0], end - 2 if text[:end].endswith(_POSSESSIVE) else end))
        return names

    def _may_begin(self, text: str, run: Sequence[Span], begins: frozenset[int]) -> bool:
        """Return whether a name can begin with the first word of a run, which may only open a sentence."""
        word = text[slice(*run[0])]
        return run[0][0] not in begins or (self._is_name(word) and (word in self.inside or len(run) > 1))

    def _is_name(self, word: str) -> bool:
        bare = word[:-2] if word.endswith(_POSSESSIVE) else word
        parts = [part for part in bare.split("-") if part[:1].isupper() and len(part) > 1]
        if bare.lower() in self.lower or bare.endswith("ese"):
            return False
        return any(part.lower() not in self.lower and part not in lists().not_names for part in parts)


def _runs(text: str, words: Sequence[Span]) -> Iterator[list[Span]]:
    """Yield runs of capitalised words, with only a space or linking words between them (Bank of England)."""
    run: list[Span] = []
    for start, end in words:
        if not text[start].isupper() or text[start:end].startswith(("I'", "I’")) or text[start:end] == "I":
            continue
        if run and not _LINKS.fullmatch(text, run[-1][1], start):
            yield run
            run = []
        run.append((start, end))
    if run:
        yield run


def _begins(text: str) -> frozenset[int]:
    """Return where words have a capital because a sentence or quotation begins, or because they follow a colon."""
    begins, at = set(), 0
    for sentence in sentences.split(text):
        at = text.index(sentence, at)
        begins.add(at + next(iter(spans(sentence)), (0, 0))[0])
        at += len(sentence)
    begins.update(start for start, _ in spans(text) if _OPENING.search(text, max(0, start - 3), start))
    return frozenset(begins)
