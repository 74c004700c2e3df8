"""Sentence boundaries, decided between neighbouring white-space chunks, so that counting is a table look-up.

A chunk may end a sentence (``End``) and may begin one (``Start``); whether there is a boundary between two chunks
depends on these two alone. A sentence contains a word: stops and quotation marks alone are not sentences.
"""

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np

from plainly.text.arrays import ChunkMemo, Ints, Ragged
from plainly.text.languages import language as known_language
from plainly.text.words import has_words


class End(IntEnum):
    """Whether a boundary may follow the end of a chunk."""

    NONE = 0
    STOP = 1  # a full stop after an ordinary word: a boundary, whatever follows
    SOFT = 2  # "Stop!" he said; Yahoo! is; well… no: a boundary unless the text goes on in lower case
    TITLE = 3  # Mr. Dr. e.g.: never a boundary
    ABBREVIATION = 4  # etc. Inc. U.S. a.m. and initials: a boundary only before a usual first word
    NUMBERED = 5  # No. Fig. p. and c.: no boundary before a number


class Start(IntEnum):
    """Whether a boundary may precede the beginning of a chunk."""

    LOWER = 0
    UPPER = 1
    OPENER = 2  # The, He, In: a usual first word of a sentence
    NUMBER = 3
    OTHER = 4  # letters without case, symbols


_BOUNDARY = np.array(
    [
        # LOWER, UPPER, OPENER, NUMBER, OTHER
        [0, 0, 0, 0, 0],  # NONE
        [1, 1, 1, 1, 1],  # STOP
        [0, 1, 1, 1, 1],  # SOFT
        [0, 0, 0, 0, 0],  # TITLE
        [0, 0, 1, 0, 0],  # ABBREVIATION
        [1, 1, 1, 0, 1],  # NUMBERED
    ],
    dtype=bool,
)


_CLOSERS = "\"'”’)]}»›」』）】》"
_OPENING = "\"'“‘([{«‹「『（【《¿¡"
_WIDE = "。！？｡．"  # Chinese and Japanese stops: no space follows them
_STOPS = ".!?…؟۔।॥" + _WIDE
_CLOSER = f"[{re.escape(_CLOSERS)}]"
_INSIDE = re.compile(
    rf"[{_WIDE}]+{_CLOSER}*(?=[^{_STOPS}{re.escape(_CLOSERS)}])"
    r"|(?<=[^\W\d_][^\W\d_])[.!?]+(?=[A-Z][a-z])"  # a missing space: "the end.Next"
)
_CHUNK = re.compile(r"\S+")
_SPACED_CHUNK = re.compile(r"(?:[«‹]\s+)?\S+(?:\s+[?!:;»›]+(?=\s|$))*")
_SPACE_AT_MARK = re.compile(r"(?<=[«‹])\s+|\s+(?=[?!:;»›]+(?:\s|$))")
_ADDRESS = re.compile(r"://|^www\.|@")


def end_of(chunk: str, language: str = "en") -> End:
    """Classify the end of a chunk."""
    lists = known_language(language).sentences
    body = chunk.rstrip(_CLOSERS)
    word = body.rstrip(_STOPS)
    stops, closers = body[len(word) :], chunk[len(body) :]
    if not stops:
        return End.NONE
    if stops == ".":
        word = word.lstrip(_OPENING)
        lower = word.casefold()
        if lower in lists.titles:
            return End.TITLE
        if word in lists.numbered:
            return End.NUMBERED
        if lower in lists.abbreviations or _is_initials(word) or (lists.ordinals and _is_ordinal(word)):
            return End.ABBREVIATION
    goes_on = closers or (word and stops != "." and not set(stops) - set(".!?…")) or stops in ("...", "…")
    return End.SOFT if goes_on else End.STOP


def _is_ordinal(word: str) -> bool:
    """Whether a word is 1 to 99 or a Roman numeral, which a full stop makes an ordinal in some languages."""
    return (word.isdigit() and len(word) < 3) or (len(word) > 1 and not set(word) - set("IVX"))


def _is_initials(word: str) -> bool:
    """Whether a word is single letters between stops: J, U.S, a.m, J.R.R; but not a lone lower-case letter."""
    letters = word.split(".")
    return all(len(part) == 1 and part.isalpha() for part in letters) and (len(letters) > 1 or word.isupper())


def start_of(chunk: str, language: str = "en") -> Start:
    """Classify the beginning of a chunk."""
    bare = chunk.lstrip(_OPENING)
    first = bare[:1]
    if first.isdigit():
        return Start.NUMBER
    if first.islower():
        return Start.LOWER
    if first.isupper():
        word = re.split("['’]", bare, maxsplit=1)[0].rstrip(_CLOSERS + _STOPS + ",;:")
        return Start.OPENER if word in known_language(language).sentences.openers else Start.UPPER
    return Start.OTHER


def cuts_inside(chunk: str) -> list[int]:
    """Return positions inside the chunk where a sentence ends: after wide stops, and where a space is missing."""
    if chunk.isalpha() or _ADDRESS.search(chunk):
        return []
    return [match.end() for match in _INSIDE.finditer(chunk)]


def split(text: str, language: str = "en") -> list[str]:
    """Return the sentences of a text, without the white space between them.

    >>> split('Dr. Smith paid $3.50 to J. Doe. "Really?" she asked. He nodded...')
    ['Dr. Smith paid $3.50 to J. Doe.', '"Really?" she asked.', 'He nodded...']
    """
    return [text[start:end] for start, end in spans(text, language)]


def spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return where the sentences of a text begin and end, without the white space between them."""
    cuts: list[int] = []
    before = End.NONE
    for match in (_SPACED_CHUNK if known_language(language).sentences.spaced_marks else _CHUNK).finditer(text):
        begins, stops, inside = _classify(match[0], language)
        if before and _BOUNDARY[before, begins]:
            cuts.append(match.start())
        if inside:
            cuts += (match.start() + cut for cut in inside)
        before = stops
    ends: list[int] = []
    begin = 0
    for end in [*cuts, len(text)]:
        if has_words(text[begin:end]):
            ends.append(end)
        elif ends:
            ends[-1] = end
        else:
            continue
        begin = end
    sentences = [(begin, text[begin:end].strip()) for begin, end in pairwise([0, *ends])]
    starts = [text.index(sentence, begin) for begin, sentence in sentences]
    return [(start, start + len(sentence)) for start, (_, sentence) in zip(starts, sentences, strict=True)]


@lru_cache(maxsize=1 << 14)  # most chunks of a text are frequent ones
def _classify(chunk: str, language: str) -> tuple[Start, End, list[int]]:
    """Classify the beginning and end of a chunk, and find where sentences end inside it."""
    bare = "".join(chunk.split())
    return start_of(bare, language), end_of(bare, language), cuts_inside(chunk)


def count(text: str, language: str = "en") -> int:
    """Return how many sentences a text has."""
    return len(spans(text, language))


# The facts that counting needs about a chunk: how it may end and begin a sentence; whether sentences end inside it and,
# if so, whether its first and last piece have words and how many of the pieces between them have.
FACTS = slice(0, 6)


def facts(chunk: str, language: str = "en") -> tuple[int, int, int, int, int, int]:
    """Return the row of facts about a chunk that ``count_chunked`` reads."""
    cuts = cuts_inside(chunk)
    with_words = [has_words(chunk[a:b]) for a, b in pairwise([0, *cuts, len(chunk)])]
    ends = end_of(chunk, language), start_of(chunk, language)
    return *ends, bool(cuts), with_words[0], with_words[-1], sum(with_words[1:-1])


def count_chunked(chunks: Ragged) -> Ints:
    """Return how many sentences each text has, as ``count`` does, from the facts about its chunks."""
    n = len(chunks.offsets) - 1
    end, start, cut, first, last, between = chunks.values[:, FACTS].T
    text = chunks.owners
    begins = np.ones(len(text), dtype=bool)
    begins[1:] = _BOUNDARY[end[:-1], start[1:]] | (text[1:] != text[:-1])
    with_words = first.astype(bool)
    extra = np.zeros(n, dtype=np.int64)
    if cut.any():
        # A chunk in which a sentence ends is two pieces, the second of which begins a sentence.
        pieces = np.repeat(np.arange(len(text)), 1 + cut)
        second = np.zeros(len(pieces), dtype=bool)
        second[1:] = pieces[1:] == pieces[:-1]
        with_words = np.where(second, last[pieces], first[pieces]).astype(bool)
        begins, text = begins[pieces] | second, text[pieces]
        extra = np.bincount(chunks.owners, weights=between, minlength=n).astype(np.int64)
    # A sentence counts at its first word: where its number differs from that of the word before.
    sentence = np.cumsum(begins)[with_words]
    first_words = np.flatnonzero(np.diff(sentence, prepend=-1))
    return np.bincount(text[with_words][first_words], minlength=n).astype(np.int64) + extra


def cleaner(language: str) -> Callable[[Sequence[str]], Sequence[str]]:
    """Return a function that attaches marks after a space to their words, before texts are split at white space."""
    if not known_language(language).sentences.spaced_marks:
        return lambda texts: texts
    return lambda texts: [_SPACE_AT_MARK.sub("", text) for text in texts]


@cache
def _memo(language: str) -> ChunkMemo:
    return ChunkMemo(lambda chunk: facts(chunk, language), clean=cleaner(language))


def counts(texts: Sequence[str], language: str = "en") -> Ints:
    """Return how many sentences each text has."""
    return _memo(language).rows(texts, count_chunked)
