"""Texts as the rules read them (words with kinds and stems, clauses), two of them aligned, and a finding in these.

Clauses are split at closed-class words and punctuation, which is enough to find the targets of negations and losses.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from plainly.core.files import read_shipped
from plainly.text.languages.detection import detect, detect_or_guess
from plainly.text.lexicon import CONTENT, KIND, Words, kind, kind_german, split_chunk, stem, stem_german
from plainly.text.parse import DEFAULT_MODEL, Parser, code
from plainly.text.word_alignment import align, pieces, runs

Span = tuple[int, int]
Spans = tuple[Span, ...]
Effect = Literal["changed", "flipped", "added", "lost", "harmless"]
EFFECTS: tuple[Effect, ...] = ("changed", "flipped", "added", "lost", "harmless")
HARMS: tuple[Effect, ...] = ("changed", "flipped", "added")
Rewording = Literal["close", "bold", "long"]
Outcome = Literal["block", "review", "pass"]
OUTCOMES: tuple[Outcome, ...] = ("block", "review", "pass")  # the strictest first
VALUES = (
    "amount", "percent", "quantity", "number", "period", "date", "time",
    "reference", "phone", "email", "url", "address",
)  # fmt: skip
# Findings by language and type on pairs that no rule was tuned on: how many are right. Measured by bench/facts.py.
PRECISION: dict[str, dict[str, dict[str, float]]] = read_shipped(__file__, "precision.toml")
PRECISE = 0.95  # the share of right findings, in both languages, from which a type blocks; others ask for review
# The type of a finding is its kind, but for values that the source has for another thing, and for those that could be
# calculated from others: both are judged by other evidence.
MISPLACED, CALCULATED = "misplaced", "calculated"


# Confidences from which a type may block: the lowest at which enough of its findings were right.
LEVELS = (0.85, 0.9, 0.95, 0.97)
CERTAIN, RULED = LEVELS[0], LEVELS[-1]  # the least of a certain finding, and that of one that follows from a rule alone


def is_precise(right: float, n: float) -> bool:
    """Return whether enough findings were right for their type to block."""
    return right >= PRECISE * n > 0


def list_blocking(precision: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, float]:
    """Return the types of findings of which enough are right, in both languages together, from a confidence on."""
    rows: dict[str, list[Mapping[str, float]]] = {}
    for table in precision.values():
        for name, row in table.items():
            rows.setdefault(name, []).append(row)
    return {
        name: own[0]["from"]
        for name, own in rows.items()
        if is_precise(sum(row["right"] for row in own), sum(row["n"] for row in own))
    }


BLOCKING = list_blocking(PRECISION)
SURE = 0.5  # the confidence from which a finding is probable; an output with one that harms is not faithful
# The confidence from which a finding about a statement asks for review; one about a value does if it is probable. With
# these limits about a quarter of the sound letters are sent to a person (docs/facts.md).
REVIEW = {"en": 0.26, "de": 0.2}

# The sentence for a finding, by its effect, or by its effect and kind.
_MESSAGES = {
    "changed": "The {kind} changed: “{source}” became “{output}”.",
    "flipped polarity": "The statement was reversed: “{source}” became “{output}”.",
    "flipped modality": "The degree of certainty or obligation changed: “{source}” became “{output}”.",
    "flipped cause": "Cause and effect were swapped: “{source}” became “{output}”.",
    "flipped comparison": "The comparison was reversed: “{source}” became “{output}”.",
    "flipped order": "The order or direction was reversed: “{source}” became “{output}”.",
    "flipped quantifier": "It holds for more, fewer or others: “{source}” became “{output}”.",
    "flipped condition": "The condition changed: “{source}” became “{output}”.",
    "flipped roles": "Subject and object were swapped: “{source}” became “{output}”.",
    "added": "The {kind} “{output}” is not in the source.",
    "added claim": "The source does not say “{output}”.",
    "added negation": "A negation was added: “{output}”. The source does not deny this.",
    "lost": "The output does not say “{source}”.",
    "lost value": "The output does not say “{source}”, but gives another {kind}.",
    "harmless notation": "The same value in another notation: “{source}” and “{output}”.",
    "harmless rounding": "Rounded: “{source}” became “{output}”.",
    "harmless conversion": "Converted to another unit: “{source}” became “{output}”.",
    "harmless precision": "Less exact, but true: “{source}” became “{output}”.",
    "harmless arithmetic": "Follows from numbers in the source: “{output}”.",
    "harmless abbreviation": "An abbreviation and its full form: “{source}” and “{output}”.",
    "harmless spelling": "The name is spelled differently: “{source}” became “{output}”.",
    "harmless negation": "The same negation in other words: “{source}” became “{output}”.",
    "harmless relation": "The same relation from the other side: “{source}” became “{output}”.",
    "harmless explanation": "An explanation, not a new fact: “{output}”.",
}

KIND_NAMES = {
    "percent": "percentage", "phone": "phone number", "email": "e-mail address", "url": "web address",
}  # fmt: skip

_CLOSE = 0.6  # the share of the content words of either text that the other has, from which rewording is close
_KEPT = 0.65  # the share of both texts from which a word that is new or gone means something
_CLOSE_REST = 0.5  # the same share of both texts, apart from words that may have been added
_LONG, _CLOSE_LONG = 40, 0.75  # content words of a long text, and the same share there
CACHE_SIZE = 1024  # texts for which results are cached that several checks need
_LOWER_WORDS = Path(__file__).with_name("lower_words.txt")
_STOP, _COMMA, _BRACKET, _QUOTE = (KIND[name] for name in ("stop", "comma", "bracket", "quote"))
_MARKS = frozenset(KIND[name] for name in ("stop", "comma", "bracket", "quote", "punctuation", "possessive"))


@cache
def vocabulary() -> dict[str, Any]:
    """Read the word lists in words.toml."""
    return read_shipped(__file__, "words.toml")


@cache
def _precisions() -> dict[str, dict[str, list[int]]]:
    return read_shipped(__file__, "situations.toml")


def is_one_sided(situation: str) -> bool:
    """Return whether only one text has the words in question: something is new or lost there."""
    name = situation.removeprefix("German ").partition(",")[0]
    return name.endswith("lost") or "added" in name or name.startswith(_NEW)


_NEW = ("new ", "strong polarity", "fair polarity", "weak polarity")
_PRIOR = 5  # findings of all situations alike that count with those of a situation


@cache
def _mean_precision(rewording: Rewording, one_sided: bool) -> float:
    counts = [count for name, count in _precisions()[rewording].items() if is_one_sided(name) == one_sided]
    return sum(right / total for right, total in counts) / max(1, len(counts))


@cache
def measured_precision(situation: str, rewording: Rewording) -> float:
    """Return the share of findings in a situation that were right where it was measured; see ``situations.toml``.

    Rare situations borrow from others, so that one lucky find does not make a rule sure.
    """
    right, total = _precisions()[rewording].get(situation, [0, 0])
    mean = _mean_precision(rewording, is_one_sided(situation))
    return (right + _PRIOR * mean) / (total + _PRIOR)


@cache
def cue_words(name: str) -> frozenset[str]:
    """Return one list of cue words."""
    return frozenset(vocabulary()["cues"][name].split())


@cache
def opposites() -> dict[str, dict[str, str]]:
    """Map each word to its opposites, each with the kind of relation."""
    table: dict[str, dict[str, str]] = {}
    for relation in ("polarity", "comparison", "order", "person"):
        for entry in vocabulary()["opposites"][relation].replace("\n", " ").split(","):
            a, b = entry.split()
            table.setdefault(a, {})[b] = relation
            table.setdefault(b, {})[a] = relation
    return table


@cache
def opening_words() -> frozenset[str]:
    """Return words often written in lower case, whose capital at the start of a sentence does not indicate a name."""
    return frozenset(_LOWER_WORDS.read_text(encoding="utf-8").split())


@cache
def common_words() -> frozenset[str]:
    """Return the first part of that list: words in lower case inside sentences of WikiSplit and OneStopEnglish."""
    return frozenset(_LOWER_WORDS.read_text(encoding="utf-8").partition("\n\n")[0].split())


_OPENERS = cue_words("openers")
_AFTER_COMMA = cue_words("after_comma")


@lru_cache(maxsize=100_000)
def _describe_token(token: str, language: str) -> tuple[str, str, int]:
    lower = token.lower().replace("’", "'")
    if language == "de":
        return lower, stem_german(lower), kind_german(token, lower)
    return lower, stem(lower), kind(token, lower)


@dataclass(frozen=True, eq=False)
class ReadText:
    """One text with its words described; compared by identity, so that results can be cached by it."""

    text: str
    tokens: tuple[str, ...]
    spans: tuple[Span, ...]
    lower: tuple[str, ...]
    stems: tuple[str, ...]
    kinds: tuple[int, ...]
    language: str = "en"

    @classmethod
    def of(cls, text: str, language: str = "en") -> "ReadText":
        tokens, spans = [], []
        for chunk in re.finditer(r"\S+", text):
            at = chunk.start()
            for token in split_chunk(chunk[0]):
                tokens.append(token)
                spans.append((at, at + len(token)))
                at += len(token)
        if tokens and len(tokens[-1]) > 1 and tokens[-1].endswith(".") and tokens[-1].count(".") == 1:
            start, end = spans[-1]
            tokens[-1:], spans[-1:] = [tokens[-1][:-1], "."], [(start, end - 1), (end - 1, end)]
        lower, stems, kinds = ((), (), ())
        if tokens:
            lower, stems, kinds = zip(*(_describe_token(token, language) for token in tokens), strict=True)
        return cls(text, tuple(tokens), tuple(spans), lower, stems, kinds, language)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def word_count(self) -> int:
        """The number of words, without punctuation."""
        return sum(kind_of not in _MARKS for kind_of in self.kinds)

    @cached_property
    def sentences(self) -> tuple[int, ...]:
        """The number of the sentence of each word."""
        return tuple(accumulate((kind_of == _STOP for kind_of in self.kinds[:-1]), initial=0))[: len(self)]

    @cached_property
    def firsts(self) -> frozenset[int]:
        """Words that begin a sentence, a quotation, or the text after a colon, where capitals are uninformative."""
        firsts, is_first = set(), True
        for at, kind_of in enumerate(self.kinds):
            if kind_of in (_STOP, _QUOTE) or (kind_of in _MARKS and self.tokens[at] in (":", "(", "-", "–", "—", "*")):
                is_first = True
            elif kind_of not in _MARKS and is_first:
                firsts.add(at)
                is_first = False
        return frozenset(firsts)

    @cached_property
    def clauses(self) -> tuple[int, ...]:
        """The number of the clause of each word."""
        numbers, number, length = [], 0, 0
        for at, lower in enumerate(self.lower):
            # A clause has words already where its length is not 0, so there is a word before.
            begins = length > 0 and (
                self.kinds[at - 1] == _STOP
                or self.tokens[at] in ("(", "-LRB-", "–", "—", ";")
                or self.tokens[at - 1] in (")", "-RRB-", ";")
                or (lower in _OPENERS and length > 1)
                or (self.kinds[at - 1] in (_COMMA, _BRACKET) and lower in _AFTER_COMMA and length > 2)
            )
            if begins:
                number, length = number + 1, 0
            numbers.append(number)
            length += 1
        return tuple(numbers)

    def clause(self, at: int) -> range:
        """Return all positions in the clause of a word."""
        own = self.clauses[at]  # numbers of clauses never fall
        return range(bisect_left(self.clauses, own), bisect_right(self.clauses, own))

    @cached_property
    def content(self) -> tuple[int, ...]:
        """The positions of content words."""
        return tuple(at for at, kind_of in enumerate(self.kinds) if kind_of in CONTENT)

    @cached_property
    def bag(self) -> frozenset[str]:
        """Every word in lower case, and the parts of hyphenated words."""
        parts = (part for lower in self.lower if "-" in lower or "–" in lower for part in re.split("[-–/]", lower))
        return frozenset((*self.lower, *parts))

    @cached_property
    def stem_bag(self) -> frozenset[str]:
        return frozenset((*self.stems, *map(stem_german if self.language == "de" else stem, self.bag)))

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The first five letters of every longer word."""
        return frozenset(word[:5] for word in self.bag if len(word) > 4)

    def words_between(self, span: Span) -> list[int]:
        """Return the words that overlap with a range of characters."""
        first = bisect_right(self.spans, (span[0], 0)) - 1
        reach = range(max(first, 0), bisect_left(self.spans, (span[1], 0)))
        return [at for at in reach if self.spans[at][0] < span[1] and self.spans[at][1] > span[0]]

    def join_spans(self, places: Iterable[int]) -> Spans:
        """Return the spans of some words; adjacent words share one span."""
        return tuple((self.spans[run[0]][0], self.spans[run[-1]][1]) for run in runs(sorted(set(places))))

    def join_texts(self, spans: Spans) -> str:
        """Return the text of some spans, with an ellipsis between two of them."""
        return " … ".join(self.text[start:end] for start, end in spans)


@dataclass(frozen=True)
class FactFinding:
    """One fact that differs between the texts; spans are character positions, (start, end)."""

    effect: Effect
    kind: str
    source: Spans
    output: Spans
    source_words: str
    output_words: str
    sure: float
    weight: float = 1.0  # for losses: the share of the source's content
    situation: str = ""  # what the rule saw, by which the confidence was measured
    language: str = ""  # of both texts
    is_doubtful: bool = False  # a word is only new or gone, in a bold rewording: it does not ask for review
    subtype: str = ""  # MISPLACED, CALCULATED, or none
    is_confusable: bool = False  # a lost value, where the output gives another one of its kind: it asks for review

    @property
    def message(self) -> str:
        """One sentence in plain English."""
        key = f"{self.effect} {self.kind}"
        if self.effect == "flipped" and not self.source_words:
            key = "added negation" if self.kind == "polarity" else "added claim"
        elif self.effect == "flipped" and not self.output_words:
            key = "lost"
        elif self.is_confusable:
            key = "lost value"
        kind = KIND_NAMES.get(self.kind, self.kind)
        text = _MESSAGES.get(key) or _MESSAGES[self.effect]
        return text.format(kind=kind, source=self.source_words, output=self.output_words)

    @property
    def type(self) -> str:
        """What the precision of a finding is measured by."""
        return self.subtype or self.kind

    @property
    def harms(self) -> bool:
        """Whether a fact was probably changed, flipped or added."""
        return self.effect in HARMS and self.sure >= SURE

    @property
    def outcome(self) -> Outcome:
        """What follows: a certain finding of a precise type blocks the output; a probable one asks for review.

        Losses pass, since simplifying leaves out, unless a value may have been confused with another one.
        """
        if self.harms and self.sure >= BLOCKING.get(self.type, math.inf):
            return "block"
        least = SURE if self.kind in VALUES else REVIEW.get(self.language, SURE)
        asks = self.effect in HARMS and self.sure >= least and not self.is_doubtful
        return "review" if asks or self.is_confusable else "pass"

    def json(self) -> dict[str, Any]:
        return {
            "effect": self.effect,
            "kind": self.kind,
            "outcome": self.outcome,
            "sure": round(self.sure, 3),
            "source": {"words": self.source_words, "spans": [list(span) for span in self.source]},
            "output": {"words": self.output_words, "spans": [list(span) for span in self.output]},
            "weight": round(self.weight, 3),
            "message": self.message,
        }


@dataclass(frozen=True)
class MatchedPair:
    """A source and an output, aligned: for each word the position of its counterpart, −1 where it has none."""

    source: ReadText
    output: ReadText
    forward: Sequence[int]
    backward: Sequence[int]
    gaps: tuple[list[int], list[int]]  # for each word of both texts, the number of the gap between words kept in order
    language: str  # the code of the language of both texts; "" if they are in two languages
    tags: tuple[list[bool], list[bool]] | None  # whether each word is a name, if a parser decides

    @cached_property
    def kept_share(self) -> float:
        """The share of the source's content words that the output has."""
        count = sum(self.source.stems[at] in self.output.stem_bag for at in self.source.content)
        return count / len(self.source.content) if self.source.content else 1.0

    @cached_property
    def rewording(self) -> Rewording:
        """Whether the output keeps most of the source's wording ("close") or has its own ("bold"; "long" in letters).

        A sentence of a long text is rarely the wrong one, and long texts share words by chance.
        """
        is_long = len(self.source.content) > _LONG
        if max(self.kept_share, self.reverse.kept_share) >= (_CLOSE_LONG if is_long else _CLOSE):
            return "close"
        return "long" if is_long else "bold"

    def rewording_without(self, spans: Spans) -> Rewording:
        """Return how the output is worded apart from some words, which may have been added to it."""
        output = self.output
        added = {at for span in spans for at in output.words_between(span)}
        rest = [at for at in output.content if at not in added]
        share = sum(output.stems[at] in self.source.stem_bag for at in rest) / len(rest) if rest else 0.0
        is_close = min(share, self.kept_share) >= _CLOSE_REST and len(self.source.content) <= _LONG
        return "close" if is_close else self.rewording

    def keeps_wording(self, spans: Spans = ()) -> bool:
        """Return whether both texts have most words of each other, apart from some that may have been added."""
        output = self.output
        added = {at for span in spans for at in output.words_between(span)}
        rest = [at for at in output.content if at not in added]
        share = sum(output.stems[at] in self.source.stem_bag for at in rest) / len(rest) if rest else 0.0
        return min(share, self.kept_share) >= _KEPT

    @cached_property
    def reverse(self) -> "MatchedPair":
        """The same pair with source and output exchanged."""
        links, tags = (self.backward, self.forward), self.tags and self.tags[::-1]
        return MatchedPair(self.output, self.source, *links, self.gaps[::-1], self.language, tags)

    def finding(
        self,
        effect: Effect,
        kind: str,
        sure: float | str,
        source: Iterable[int],
        output: Iterable[int],
        weight: float = 1.0,
    ) -> FactFinding:
        """Return a finding at some words of both texts; see ``span_finding``."""
        spans = self.source.join_spans(source), self.output.join_spans(output)
        return self.span_finding(effect, kind, sure, *spans, weight)

    def span_finding(
        self,
        effect: Effect,
        kind: str,
        sure: float | str,
        source: Spans,
        output: Spans,
        weight: float = 1.0,
    ) -> FactFinding:
        """Return a finding at some spans of both texts; ``sure`` is its confidence or the situation it was found in."""
        situation, sure = (sure, measured_precision(sure, self.rewording)) if isinstance(sure, str) else ("", sure)
        words = self.source.join_texts(source), self.output.join_texts(output)
        return FactFinding(effect, kind, source, output, *words, sure, weight, situation, self.language)


@lru_cache(maxsize=CACHE_SIZE)
def detect_pair(source: str, output: str) -> str:
    """Return the code of the language of two texts, "en" where nothing speaks against it, or "" where they differ.

    >>> detect_pair("Das Betreten ist untersagt.", "Gehen Sie nicht hinein."), detect_pair("It rained.", "Rain.")
    ('de', 'en')
    """
    codes = {code for code in (detect(source), detect(output)) if code is not None}
    if not codes:
        return detect_or_guess(f"{source} {output}")
    return codes.pop() if len(codes) == 1 else ""


def match_pairs(
    sources: Sequence[str], outputs: Sequence[str], parser: str = "", language: str = ""
) -> Iterator[MatchedPair]:
    """Yield aligned pairs of texts. A ``parser`` decides which words are names; the language is detected by default."""
    texts = list(zip(sources, outputs, strict=True))
    codes = [language or detect_pair(*pair) for pair in texts]
    readings = {(text, own): ReadText.of(text, own) for pair, own in zip(texts, codes, strict=True) for text in pair}
    flags: dict[ReadText, list[bool]] = {}
    if parser:
        names = {code("NNP"), code("NNPS")}
        parses = _load_parser(parser).parse([reading.tokens for reading in readings.values()])
        flags = {
            reading: [tag in names for tag in parse.tags]
            for reading, parse in zip(readings.values(), parses, strict=True)
        }
    pairs = [(readings[pair[0], own], readings[pair[1], own]) for pair, own in zip(texts, codes, strict=True)]
    for number, (forward, backward) in enumerate(_align_pairs(pairs)):
        source, output = pairs[number]
        gaps = [0] * len(source), [0] * len(output)
        last = -1
        for at, place in enumerate(forward):
            if place > last:
                gaps[0][at] = gaps[1][place] = 1
                last = place
        counts = list(accumulate(gaps[0])), list(accumulate(gaps[1]))
        tags = (flags[source], flags[output]) if flags else None
        yield MatchedPair(source, output, forward, backward, counts, codes[number], tags)


Links = tuple[list[int], list[int]]


def _align_pairs(pairs: Sequence[tuple[ReadText, ReadText]]) -> list[Links]:
    """Return the counterparts of the words of each pair; long texts are aligned in pieces."""
    links: list[Links] = [([-1] * len(source), [-1] * len(output)) for source, output in pairs]
    jobs = [
        (number, *piece)
        for number, (source, output) in enumerate(pairs)
        for piece in pieces(source.tokens, output.tokens, str(number + 1))
    ]
    for is_german in sorted({source.language == "de" for source, _ in pairs}):
        words = Words("de" if is_german else "en")
        own_jobs = [job for job in jobs if (pairs[job[0]][0].language == "de") == is_german]
        encoded = [[words.encode(pairs[job[0]][side].tokens[job[1 + side]]) for job in own_jobs] for side in (0, 1)]
        for batch in align(encoded[0], encoded[1], words):
            rows = batch.source.links.tolist(), batch.output.links.tolist()
            for row, job in enumerate(batch.order.tolist()):
                number, *spans = own_jobs[job]
                for side, (own, other) in enumerate((spans, spans[::-1])):
                    part = rows[side][row][: own.stop - own.start]
                    links[number][side][own] = [link + other.start if link >= 0 else -1 for link in part]
    return links


@lru_cache(maxsize=1)
def _load_parser(name: str) -> Parser:
    return Parser(DEFAULT_MODEL if name == "spacy" else name)
