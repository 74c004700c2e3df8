"""Names of an output compared with those of its source: the same, a variant, changed or new.

Without a tagger, a name is a capitalised word that does not merely begin a sentence and is not usually in lower case.
Single words are compared, by a list of usual spellings, because there is only one pair of texts to learn from and a
part of a name may change. (``auditing/names.py`` exchanges whole names and learns from all texts of a set.)
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from rapidfuzz.distance import Prefix
from rapidfuzz.fuzz import ratio

from plainly.factcheck.reading import (
    CACHE_SIZE,
    FactFinding,
    MatchedPair,
    ReadText,
    common_words,
    cue_words,
    opening_words,
    vocabulary,
)
from plainly.factcheck.values import read_values
from plainly.text.lexicon import KIND, NAME_PARTICLES, kind
from plainly.text.word_alignment import runs

_MOST_CAPITALS = 0.8  # a text with a larger share is a heading or all in capitals
_LINKS = cue_words("links") | frozenset(NAME_PARTICLES)
_PARTS = re.compile(r"[-–/.,:;()'’]")
_SPACED = re.compile(r"\b[A-Z]\.(?: ?[A-Z]\.)+")
_NEVER = frozenset(KIND[name] for name in KIND if name not in ("content", "name", "number", "adverb"))
_PLAIN = cue_words("plain")


def check_names(pair: MatchedPair) -> Iterator[FactFinding]:
    """Classify every name in the output."""
    texts = pair.source, pair.output
    if pair.tags is None:
        if any(map(_is_shouting, texts)):
            return
        in_source, in_output = map(_name_words, texts)
    else:
        in_source, in_output = (
            tuple(at for at, token in enumerate(text.tokens) if tags[at] and token[:1].isalpha())
            for text, tags in zip(texts, pair.tags, strict=True)
        )
    if not in_output:
        return
    source_names = _source_names(pair.source)
    new_words, expansions = [], _find_expansions(pair.output, pair.source)
    for at in in_output:
        relation = source_names.classify(pair.output.tokens[at], pair.output.lower[at])
        if relation == "new" and at in expansions:
            relation = "abbreviation"
        if relation == "new":
            new_words.append(at)
        elif relation != "same":
            link = pair.backward[at]
            yield pair.finding("harmless", relation, 0.8, [link] if link >= 0 else [], [at])
    output_words = {pair.output.lower[at] for at in in_output} | pair.output.bag
    missing = [run for run in runs(in_source) if not any(pair.source.lower[at] in output_words for at in run)]
    for run in runs(new_words):
        yield from _check_new_name(pair, run, missing, in_output, in_source)


def _check_new_name(
    pair: MatchedPair, run: list[int], missing: list[list[int]], in_output: Sequence[int], in_source: Sequence[int]
) -> Iterator[FactFinding]:
    """Report a name that the source does not have: it replaces a missing one, or it is new."""
    sure = max(_estimate_confidence(pair, at) for at in run)
    adjacent = [at for at in (run[0] - 1, run[-1] + 1) if at in in_output and at not in run]
    gaps = pair.gaps
    own_gaps = {gaps[1][at] for at in run}
    candidates = [other for other in missing if own_gaps & {gaps[0][at] for at in other}]
    if not candidates and adjacent:  # part of a name, of which the other part is kept
        links = {pair.backward[at] for at in adjacent if pair.backward[at] >= 0}
        beside = {place + step for place in links for step in (-1, 1)}
        candidates = [[at] for at in in_source if at in beside and pair.source.lower[at] not in pair.output.bag]
    if candidates:
        is_inside = any(at not in pair.output.firsts for at in run)
        is_plain = all(pair.source.lower[at] in opening_words() for at in candidates[0])
        sure = max(sure, 0.45 if is_plain and sure < 0.5 else 0.6) if is_inside and pair.language == "en" else sure
        yield pair.finding("changed", "name", min(sure + 0.05, 0.97), candidates[0], run)
        if candidates[0] in missing:
            missing.remove(candidates[0])
        return
    if adjacent and sure > 0.5:  # a name with more words than in the source
        sure = 0.45 if all(pair.output.lower[at] in opening_words() for at in run) else 0.6
    if sure > 0.5 and all(len(pair.output.tokens[at]) <= 3 and pair.output.tokens[at].isupper() for at in run):
        sure = 0.45  # PC, TV, OS: short for words that are not names
    if missing:
        yield pair.finding("changed", "name", sure, missing.pop(0), run)
        return
    if all(at in pair.output.firsts for at in run) and pair.tags is None:
        sure = min(sure, 0.45)  # any word may begin a sentence
    yield pair.finding("added", "name", sure, (), run)


def _estimate_confidence(pair: MatchedPair, at: int) -> float:
    output = pair.output
    lower = output.lower[at]
    is_common = lower in common_words() or output.stems[at] in common_words() or lower in _PLAIN
    if pair.tags is not None:
        return 0.5 if is_common else 0.9
    if pair.language != "en":
        return 0.6 if at not in output.firsts else 0.3
    if at in output.firsts:
        return 0.1 if is_common or lower in opening_words() else 0.65
    return 0.35 if is_common else 0.9


@lru_cache(maxsize=CACHE_SIZE)
def _name_words(reading: ReadText) -> tuple[int, ...]:
    """Return the positions of words that are names or parts of names."""
    # Dates and other values have their own check.
    in_values = {at for value in read_values(reading.text, "en") for at in reading.words_between(value.span)}
    words = []
    for at, token in enumerate(reading.tokens):
        if not token[0].isupper() or reading.kinds[at] in _NEVER or not any(map(str.isalpha, token)):
            continue
        lower = reading.lower[at]
        if at in reading.firsts and (lower in opening_words() or reading.stems[at] in common_words()):
            is_followed = at + 1 < len(reading) and reading.tokens[at + 1][0].isupper() and lower not in _PLAIN
            if not is_followed or reading.kinds[at + 1] in _NEVER:
                continue
        if not lower.startswith("i'") and lower != "i" and at not in in_values:
            words.append(at)
    return tuple(words)


@lru_cache(maxsize=CACHE_SIZE)
def _is_shouting(reading: ReadText) -> bool:
    letters = [token for token in reading.tokens if token[0].isalpha()]
    return len(letters) > 6 and sum(token[0].isupper() for token in letters) > _MOST_CAPITALS * len(letters)


class _SourceNames:
    """The words of a source in the forms in which an output may repeat them."""

    def __init__(self, source: ReadText) -> None:
        self.source = source
        self.folded = {remove_accents(word).strip(".") for word in source.bag}
        self.folded |= {match[0].replace(" ", "").replace(".", "").lower() for match in _SPACED.finditer(source.text)}
        self.groups = set().union(*(_name_groups().get(word, ()) for word in (*source.bag, *self.folded)))
        self.short = _find_initials(source)
        self.long = [remove_accents(word).strip(".") for word in source.bag if len(word) > 3]

    def _is_part(self, part: str) -> bool:
        small = part in _LINKS or part in ("re", "ll", "ve", "d", "s", "m", "t") or kind(part, part) in _NEVER
        return small or remove_accents(part) in self.folded or part.isdigit() or part in self.short

    def classify(self, token: str, lower: str) -> str:
        """Return ``same``, the kind of a harmless variant, or ``new``."""
        bare = lower.removesuffix("'s").removesuffix("'").strip(".")
        folded = remove_accents(bare)
        parts = [part for part in _PARTS.split(bare) if part]
        if (
            not self.source.bag.isdisjoint((bare, lower))
            or folded in self.folded
            or (len(parts) > 1 and all(map(self._is_part, parts)))
            or (len(bare) > 3 and bare in self.source.text.lower())
        ):
            return "same"
        if _name_groups().get(bare, frozenset()) & self.groups or (
            token.isupper() and bare.replace(".", "") in self.short
        ):
            return "abbreviation"
        if bare.rstrip("s") in self.folded or f"{folded}s" in self.folded:
            return "same"
        short = folded.rstrip("s")
        if len(short) >= 3 and any(other.startswith(short) and len(other) > len(short) + 2 for other in self.long):
            return "abbreviation"
        if any(_have_same_root(folded, other) for other in self.long):
            return "same"
        if len(folded) >= 5 and any(other[:1] == folded[0] and ratio(folded, other) >= 82 for other in self.long):
            return "spelling"
        return "new"


_source_names = lru_cache(maxsize=CACHE_SIZE)(_SourceNames)


def _have_same_root(a: str, b: str) -> bool:
    common, shorter, longer = Prefix.similarity(a, b), *sorted((len(a), len(b)))
    return common >= 4 and common >= 0.55 * longer and common >= shorter - 3


@cache
def _name_groups() -> dict[str, frozenset[str]]:
    """Map each word to the groups of words that name the same thing."""
    groups: dict[str, frozenset[str]] = {}
    for line in vocabulary()["same"]["names"].split("\n"):
        for word in line.split():
            groups[word] = groups.get(word, frozenset()) | {line}
    return groups


def _find_initials(source: ReadText) -> frozenset[str]:
    """Return the initials of every few words of the source whose first and last are capitalised."""
    initials = set()
    words = [token for token in source.tokens if token[0].isalpha()]
    for start in range(len(words)):
        letters, with_small = "", ""
        for token in words[start : start + 7]:
            if not token[0].isupper() and token.lower() not in _LINKS:
                break
            with_small += token[0].lower()
            letters += token[0].lower() if token[0].isupper() else ""
            if len(letters) > 1:
                initials |= {letters, with_small}
    return frozenset(initials)


def _find_expansions(output: ReadText, source: ReadText) -> set[int]:
    """Return the positions of words in the output that spell out an abbreviation of the source."""
    expansions: set[int] = set()
    short = {token.replace(".", "").lower() for token in source.tokens if len(token) > 1 and token.isupper()}
    if not short:
        return expansions
    words = [at for at, token in enumerate(output.tokens) if token[0].isalpha()]
    for number in range(len(words)):
        letters, run = "", []
        for at in words[number : number + 8]:
            if output.tokens[at][0].isupper() or output.lower[at] not in _LINKS:
                letters += output.lower[at][0]
            run.append(at)
            if len(letters) > 1 and letters in short:
                expansions.update(run)
    return expansions


@lru_cache(maxsize=50_000)
def remove_accents(word: str) -> str:
    """Return a word in lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(c)) or word
