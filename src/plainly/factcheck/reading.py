"""A text as the rules read it: words with places, kinds and stems, sentences and clauses; and two of them aligned.

Clauses are cut by closed-class words and marks alone: enough to ask what a negation denies and what was left out.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from plainly.core.files import read_shipped
from plainly.factcheck.finding import Effect, FactFinding, Span, words_at
from plainly.text.languages.detection import detect
from plainly.text.lexicon import CONTENT, KIND, Words, kind, split_chunk, stem
from plainly.text.parse import DEFAULT_MODEL, Parser, code
from plainly.text.word_alignment import align, pieces

KEPT = 1024  # readings of which something is kept that several checks ask for
_CHUNK = re.compile(r"\S+")
_STOP, _COMMA, _BRACKET, _QUOTE = (KIND[name] for name in ("stop", "comma", "bracket", "quote"))
_MARKS = frozenset(KIND[name] for name in ("stop", "comma", "bracket", "quote", "punctuation", "possessive"))


@cache
def vocabulary() -> dict[str, Any]:
    """The word lists in words.toml."""
    return read_shipped(__file__, "words.toml")


@cache
def cues(name: str) -> frozenset[str]:
    """One list of cue words."""
    return frozenset(vocabulary()["cues"][name].split())


@cache
def opposites() -> dict[str, dict[str, str]]:
    """word → its opposites, each with the kind of relation."""
    table: dict[str, dict[str, str]] = {}
    for relation in ("polarity", "comparison", "order", "person"):
        for entry in vocabulary()["opposites"][relation].replace("\n", " ").split(","):
            a, b = entry.split()
            table.setdefault(a, {})[b] = relation
            table.setdefault(b, {})[a] = relation
    return table


@cache
def common_words() -> frozenset[str]:
    """Words that are written small inside sentences (counted in WikiSplit, OneStopEnglish): no names."""
    return frozenset(_lower_words().partition("\n\n")[0].split())


@cache
def opening_words() -> frozenset[str]:
    """Words that are written small as often as not: at the beginning of a sentence their capital says nothing."""
    return frozenset(_lower_words().split())


def _lower_words() -> str:
    return Path(__file__).with_name("lower_words.txt").read_text(encoding="utf-8")


_OPENERS = cues("openers")
_AFTER_COMMA = cues("after_comma")


@lru_cache(maxsize=100_000)
def _known(token: str) -> tuple[str, str, int]:
    lower = token.lower().replace("’", "'")
    return lower, stem(lower), kind(token, lower)


@dataclass(frozen=True, eq=False)
class ReadText:
    """One text, read; equal to itself alone, so that what is known of it can be kept by it."""

    text: str
    tokens: tuple[str, ...]
    spans: tuple[Span, ...]
    lower: tuple[str, ...]
    stems: tuple[str, ...]
    kinds: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "ReadText":
        tokens, spans = [], []
        for chunk in _CHUNK.finditer(text):
            at = chunk.start()
            for token in split_chunk(chunk[0]):
                tokens.append(token)
                spans.append((at, at + len(token)))
                at += len(token)
        if tokens and len(tokens[-1]) > 1 and tokens[-1].endswith(".") and tokens[-1].count(".") == 1:
            start, end = spans[-1]
            tokens[-1:], spans[-1:] = [tokens[-1][:-1], "."], [(start, end - 1), (end - 1, end)]
        lower, stems, kinds = zip(*map(_known, tokens), strict=True) if tokens else ((), (), ())
        return cls(text, tuple(tokens), tuple(spans), lower, stems, kinds)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def size(self) -> int:
        """How many words it has; marks are none."""
        return sum(kind_of not in _MARKS for kind_of in self.kinds)

    @cached_property
    def sentences(self) -> tuple[int, ...]:
        """The number of the sentence that each word stands in."""
        return tuple(accumulate((kind_of == _STOP for kind_of in self.kinds[:-1]), initial=0))[: len(self)]

    @cached_property
    def firsts(self) -> frozenset[int]:
        """Words that begin a sentence, a quotation, or what a colon opens: their capital says nothing."""
        firsts, fresh = [], True
        for at, kind_of in enumerate(self.kinds):
            if kind_of in _MARKS:
                fresh = fresh or kind_of in (_STOP, _QUOTE) or self.tokens[at] in (":", "(", "-", "–", "—", "*")
            else:
                firsts += [at] if fresh else []
                fresh = False
        return frozenset(firsts)

    @cached_property
    def clauses(self) -> tuple[int, ...]:
        """The number of the clause that each word stands in."""
        numbers, number, length = [], 0, 0
        for at, lower in enumerate(self.lower):
            after_mark = at > 0 and self.kinds[at - 1] in (_STOP, _COMMA, _BRACKET)
            begins = (
                (at > 0 and self.kinds[at - 1] == _STOP)
                or self.tokens[at] in ("(", "-LRB-", "–", "—", ";")
                or (at > 0 and self.tokens[at - 1] in (")", "-RRB-", ";"))
                or (lower in _OPENERS and length > 1)
                or (after_mark and lower in _AFTER_COMMA and length > 2)
            )
            if begins and length:
                number, length = number + 1, 0
            numbers.append(number)
            length += 1
        return tuple(numbers)

    def clause(self, at: int) -> range:
        """All places of the clause in which a word stands."""
        own = self.clauses[at]  # numbers of clauses never fall
        return range(bisect_left(self.clauses, own), bisect_right(self.clauses, own))

    @cached_property
    def content(self) -> tuple[int, ...]:
        """The places of words that say what the text is about."""
        return tuple(at for at, kind_of in enumerate(self.kinds) if kind_of in CONTENT)

    @cached_property
    def bag(self) -> frozenset[str]:
        """Every word in small letters, and the parts of those with hyphens."""
        parts = (part for lower in self.lower if "-" in lower or "–" in lower for part in re.split("[-–/]", lower))
        return frozenset((*self.lower, *parts))

    @cached_property
    def stem_bag(self) -> frozenset[str]:
        return frozenset((*self.stems, *(stem(word) for word in self.bag)))

    @cached_property
    def language(self) -> str | None:
        """The language that the text is in, if that can be told."""
        return detect(self.text)

    @cached_property
    def content_places(self) -> frozenset[int]:
        return frozenset(self.content)

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The first five letters of every word that has more."""
        return frozenset(word[:5] for word in self.bag if len(word) > 4)

    def words_between(self, span: Span) -> list[int]:
        """The words that overlap with a stretch of characters."""
        first = bisect_right(self.spans, (span[0], 0)) - 1
        reach = range(max(first, 0), bisect_left(self.spans, (span[1], 0)))
        return [at for at in reach if self.spans[at][0] < span[1] and self.spans[at][1] > span[0]]

    def joined(self, places: Iterable[int]) -> tuple[Span, ...]:
        """The places of some words in the text; words that stand side by side become one stretch."""
        spans: list[Span] = []
        last = -2
        for at in sorted(set(places)):
            if at == last + 1 and spans:
                spans[-1] = (spans[-1][0], self.spans[at][1])
            else:
                spans.append(self.spans[at])
            last = at
        return tuple(spans)


@dataclass(frozen=True)
class Matched:
    """A source and an output, read and aligned: for each word the place of its counterpart, −1 where it has none."""

    source: ReadText
    output: ReadText
    forward: Sequence[int]
    backward: Sequence[int]
    english: bool = True
    tags: tuple[list[bool], list[bool]] | None = field(default=None, compare=False)  # names, where a parser was asked

    @cached_property
    def gaps(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each word of both texts the gap between words kept in order that it stands in."""
        anchors, last = [], -1
        for at, place in enumerate(self.forward):
            if place > last:
                anchors.append((at, place))
                last = place
        kept, kept_in_output = ([anchor[side] for anchor in anchors] for side in (0, 1))
        return (
            tuple(bisect_right(kept, at) for at in range(len(self.source))),
            tuple(bisect_right(kept_in_output, at) for at in range(len(self.output))),
        )

    def finding(
        self, effect: Effect, what: str, sure: float, source: Iterable[int], output: Iterable[int], weight: float = 1.0
    ) -> FactFinding:
        """A finding at some words of both texts."""
        return self.at_spans(effect, what, sure, self.source.joined(source), self.output.joined(output), weight)

    def at_spans(
        self,
        effect: Effect,
        what: str,
        sure: float,
        source: tuple[Span, ...],
        output: tuple[Span, ...],
        weight: float = 1.0,
    ) -> FactFinding:
        """A finding at some stretches of both texts."""
        words = words_at(self.source.text, source), words_at(self.output.text, output)
        return FactFinding(effect, what, source, output, *words, sure, weight)


def matched(sources: Sequence[str], outputs: Sequence[str], parser: str = "") -> Iterator[tuple[int, Matched]]:
    """Pairs of texts, read and aligned; in another order, each with its number. A parser says which words are names."""
    read: dict[str, ReadText] = {}
    for text in (*sources, *outputs):
        if text not in read:
            read[text] = ReadText.of(text)
    flags = _flags(parser, list(read.values())) if parser else {}
    pairs = [(read[source], read[output]) for source, output in zip(sources, outputs, strict=True)]
    for number, (forward, backward) in _links(pairs, Words()):
        source, output = pairs[number]
        tags = (flags[source.text], flags[output.text]) if flags else None
        english = {source.language, output.language} <= {"en", None}
        yield number, Matched(source, output, forward, backward, english, tags)


Links = tuple[list[int], list[int]]


def _links(pairs: Sequence[tuple[ReadText, ReadText]], words: Words) -> Iterator[tuple[int, Links]]:
    """For each pair the counterparts of its words; long texts are aligned in pieces."""
    jobs = [
        (number, *piece)
        for number, (source, output) in enumerate(pairs)
        for piece in pieces(source.tokens, output.tokens, str(number + 1))
    ]
    encoded = [[words.encode(pairs[job[0]][side].tokens[job[1 + side]]) for job in jobs] for side in (0, 1)]
    waiting = Counter(job[0] for job in jobs)
    links: dict[int, Links] = {}
    for batch in align(encoded[0], encoded[1], words):
        rows = batch.source.links.tolist(), batch.output.links.tolist()
        for row, job in enumerate(batch.order.tolist()):
            number, *spans = jobs[job]
            whole = links.setdefault(number, ([-1] * len(pairs[number][0]), [-1] * len(pairs[number][1])))
            for side, (own, other) in enumerate((spans, spans[::-1])):
                part = rows[side][row][: own.stop - own.start]
                whole[side][own] = [link + other.start if link >= 0 else -1 for link in part]
            waiting[number] -= 1
            if not waiting[number]:
                yield number, links.pop(number)


def _flags(parser: str, readings: Sequence[ReadText]) -> dict[str, list[bool]]:
    """For each text which of its words are names, by a tagger's opinion in place of capital letters."""
    names = {code("NNP"), code("NNPS")}
    parses = _parser(parser).parse([reading.tokens for reading in readings])
    return {reading.text: [tag in names for tag in parse.tags] for reading, parse in zip(readings, parses, strict=True)}


@lru_cache(maxsize=1)
def _parser(name: str) -> Parser:
    return Parser(DEFAULT_MODEL if name == "spacy" else name)
