"""Which words of a text are names, without a tagger: by capital letters, and by how the words are written elsewhere.

A capital letter alone says little: sentences and quotations begin with one, and so do months, languages and titles. A
name is a run of capitalised words of which one is never written small in the same texts and is no such word. Where
a sentence begins, a word counts only if it is capitalised in the middle of some sentence too, or if the name goes on.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plainly.auditing.word_lists import lists
from plainly.text import sentences
from plainly.text.lexicon import NAME_PARTICLES
from plainly.text.words import FUNCTION_WORDS, spans

_LINKS = re.compile(rf" (?:(?:{'|'.join(NAME_PARTICLES)}) ){{0,2}}")
_OPENING = re.compile(r"[\"“”‘'«(\[:;*•–—-]\s*$")
_MOST_CAPITALS = 0.6  # A text with more of them is a heading, or shouts: its capitals say nothing.
_POSSESSIVE = ("'s", "’s")
Span = tuple[int, int]


@dataclass(frozen=True)
class Namer:
    """What some texts show of how their words are written."""

    small: frozenset[str]  # written without a capital somewhere
    inside: frozenset[str]  # written with a capital where no sentence begins

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Namer":
        small, inside = set(FUNCTION_WORDS), set()
        for text in dict.fromkeys(texts):
            begins = _begins(text)
            for start, end in spans(text):
                word = text[start:end]
                if word[0].islower():
                    small.add(word)
                elif word[0].isupper() and start not in begins:
                    inside.add(word)
        return cls(frozenset(small), frozenset(inside))

    def spans(self, text: str) -> list[Span]:
        """Where the names of a text begin and end."""
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
        """Whether a name may begin with the first word of a run: it may not with one that merely opens a sentence."""
        word = text[slice(*run[0])]
        if run[0][0] not in begins:
            return True
        return self._is_name(word) and (word in self.inside or len(run) > 1)

    def _is_name(self, word: str) -> bool:
        bare = word[:-2] if word.endswith(_POSSESSIVE) else word
        parts = [part for part in bare.split("-") if part[:1].isupper() and len(part) > 1]
        named = [part for part in parts if part.lower() not in self.small and part not in lists().no_names]
        return bool(named) and bare.lower() not in self.small and not bare.endswith("ese")


def _runs(text: str, words: Sequence[Span]) -> Iterator[list[Span]]:
    """Capitalised words that stand together, with nothing between but a space or a linking word (Bank of England)."""
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
    """Where a word has its capital because something begins: a sentence, a quotation, what a colon opens."""
    begins, at = set(), 0
    for sentence in sentences.split(text):
        at = text.index(sentence, at)
        begins.add(at + next(iter(spans(sentence)), (0, 0))[0])
        at += len(sentence)
    begins.update(start for start, _ in spans(text) if _OPENING.search(text, max(0, start - 3), start))
    return frozenset(begins)
