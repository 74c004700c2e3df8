"""Names of an output beside those of its source: the same, shortened, abbreviated, spelt otherwise, changed, or new.

Without a tagger a name is a capitalised word that does not merely begin a sentence and is not usually written small.
Single words are judged, by a list of how words are usually written, because there is one pair of texts to learn from
and one part of a name may be exchanged. The audit (``auditing/names.py``) looks for whole names that it can exchange
and learns from all texts of a set; the coherence metric and the training data need a pattern alone. They share the
particles in ``text/lexicon.toml``.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from rapidfuzz.distance import Prefix
from rapidfuzz.fuzz import ratio

from plainly.factcheck.finding import FactFinding
from plainly.factcheck.quantities import quantities
from plainly.factcheck.reading import KEPT, Matched, ReadText, common_words, cues, opening_words, vocabulary
from plainly.text.lexicon import KIND, NAME_PARTICLES, kind
from plainly.text.word_alignment import runs

_MOST_CAPITALS = 0.8  # a text with more of them is a heading, or shouts
_LINKS = cues("links") | frozenset(NAME_PARTICLES)
_PARTS = re.compile(r"[-–/.,:;()'’]")
_SPACED = re.compile(r"\b[A-Z]\.(?: ?[A-Z]\.)+")
_NEVER = frozenset(KIND[name] for name in KIND if name not in ("content", "name", "number", "adverb"))
_PLAIN = cues("plain")


def check_names(pair: Matched) -> Iterator[FactFinding]:
    """What happened to every name of the output."""
    if pair.tags is None:
        if _shouts(pair.output) or _shouts(pair.source):
            return
        in_source, in_output = _name_words(pair.source), _name_words(pair.output)
    else:
        in_source, in_output = _tagged(pair.source, pair.tags[0]), _tagged(pair.output, pair.tags[1])
    if not in_output:
        return
    known = _known(pair.source)
    fresh, expanded = [], _expanded(pair.output, pair.source)
    for at in in_output:
        why = known.why(pair.output.tokens[at], pair.output.lower[at])
        if why == "new" and at in expanded:
            why = "abbreviation"
        if why == "new":
            fresh.append(at)
        elif why != "same":
            linked = pair.backward[at]
            yield pair.finding("harmless", why, 0.8, [linked] if linked >= 0 else [], [at])
    kept = {pair.output.lower[at] for at in in_output} | pair.output.bag
    gone = [run for run in runs(in_source) if not any(pair.source.lower[at] in kept for at in run)]
    for run in runs(fresh):
        yield from _new_name(pair, run, gone, in_output, in_source)


def _new_name(
    pair: Matched, run: list[int], gone: list[list[int]], in_output: Sequence[int], in_source: Sequence[int]
) -> Iterator[FactFinding]:
    """A name that the source does not have: in the place of one that is gone, or new."""
    sure = max(_sure(pair, at) for at in run)
    around = [at for at in (run[0] - 1, run[-1] + 1) if at in in_output and at not in run]
    gaps = pair.gaps
    own = {gaps[1][at] for at in run}
    there = [other for other in gone if own & {gaps[0][at] for at in other}]
    if not there and around:  # part of a name: the other part is kept
        linked = {pair.backward[at] for at in around if pair.backward[at] >= 0}
        beside = {place + step for place in linked for step in (-1, 1)}
        there = [[at] for at in in_source if at in beside and pair.source.lower[at] not in pair.output.bag]
    if there:
        inside = any(at not in pair.output.firsts for at in run)
        plain = all(pair.source.lower[at] in opening_words() for at in there[0])
        sure = max(sure, 0.45 if plain and sure < 0.5 else 0.6) if inside and pair.english else sure
        yield pair.finding("changed", "name", min(sure + 0.05, 0.97), there[0], run)
        if there[0] in gone:
            gone.remove(there[0])
        return
    if around and sure > 0.5:  # a name that is told in more words than in the source
        sure = 0.45 if all(pair.output.lower[at] in opening_words() for at in run) else 0.6
    if sure > 0.5 and all(len(pair.output.tokens[at]) <= 3 and pair.output.tokens[at].isupper() for at in run):
        sure = 0.45  # PC, TV, OS: short for words that are no names
    if gone:
        yield pair.finding("changed", "name", sure, gone.pop(0), run)
        return
    if all(at in pair.output.firsts for at in run) and pair.tags is None:
        sure = min(sure, 0.45)  # any word may begin a sentence
    yield pair.finding("added", "name", sure, (), run)


def _sure(pair: Matched, at: int) -> float:
    output = pair.output
    lower = output.lower[at]
    common = lower in common_words() or output.stems[at] in common_words() or lower in _PLAIN
    if pair.tags is not None:
        return 0.5 if common else 0.9
    if not pair.english:
        return 0.6 if at not in output.firsts else 0.3
    if at in output.firsts:
        return 0.1 if common or lower in opening_words() else 0.65
    return 0.35 if common else 0.9


def _tagged(reading: ReadText, tags: Sequence[bool]) -> tuple[int, ...]:
    return tuple(at for at in range(len(reading)) if tags[at] and reading.tokens[at][:1].isalpha())


@lru_cache(maxsize=KEPT)
def _name_words(reading: ReadText) -> tuple[int, ...]:
    """The places of words that are names, or parts of one."""
    # Dates and other quantities have a check of their own.
    counted = {at for quantity in quantities(reading.text) for at in reading.words_between(quantity.span)}
    words = []
    for at, token in enumerate(reading.tokens):
        if not token[0].isupper() or reading.kinds[at] in _NEVER or not any(map(str.isalpha, token)):
            continue
        lower = reading.lower[at]
        if at in reading.firsts and (lower in opening_words() or reading.stems[at] in common_words()):
            following = at + 1 < len(reading) and reading.tokens[at + 1][0].isupper() and lower not in _PLAIN
            if not following or reading.kinds[at + 1] in _NEVER:
                continue
        if not lower.startswith("i'") and lower != "i" and at not in counted:
            words.append(at)
    return tuple(words)


@lru_cache(maxsize=KEPT)
def _shouts(reading: ReadText) -> bool:
    letters = [token for token in reading.tokens if token[0].isalpha()]
    return len(letters) > 6 and sum(token[0].isupper() for token in letters) > _MOST_CAPITALS * len(letters)


class _Known:
    """What the source's words stand for."""

    def __init__(self, source: ReadText) -> None:
        self.source = source
        self.folded = {fold(word).strip(".") for word in source.bag}
        self.folded |= {match[0].replace(" ", "").replace(".", "").lower() for match in _SPACED.finditer(source.text)}
        self.stems = source.stem_bag
        self.groups: set[str] = set()
        for word in (*source.bag, *self.folded):
            self.groups |= _groups().get(word, frozenset())
        self.short = _initials(source)
        self.long = [fold(word).strip(".") for word in source.bag if len(word) > 3]

    def _is_part(self, part: str) -> bool:
        return fold(part) in self.folded or part.isdigit() or _small(part) or part in self.short

    def why(self, token: str, lower: str) -> str:
        """``same``, the kind of a harmless variant, or ``new``."""
        bare = lower.removesuffix("'s").removesuffix("'").strip(".")
        folded = fold(bare)
        if bare in self.source.bag or lower in self.source.bag or folded in self.folded:
            return "same"
        parts = [part for part in _PARTS.split(bare) if part]
        if len(parts) > 1 and all(self._is_part(part) for part in parts):
            return "same"
        if self.source.text.lower().find(bare) >= 0 and len(bare) > 3:
            return "same"
        if _groups().get(bare, frozenset()) & self.groups or (token.isupper() and bare.replace(".", "") in self.short):
            return "abbreviation"
        if bare.rstrip("s") in self.folded or f"{folded}s" in self.folded:
            return "same"
        short = folded.rstrip("s")
        if len(short) >= 3 and any(other.startswith(short) and len(other) > len(short) + 2 for other in self.long):
            return "abbreviation"
        if any(_share_root(folded, other) for other in self.long):
            return "same"
        if len(folded) >= 5 and any(other[:1] == folded[0] and ratio(folded, other) >= 82 for other in self.long):
            return "spelling"
        return "new"


_known = lru_cache(maxsize=KEPT)(_Known)


def _share_root(a: str, b: str) -> bool:
    shared, shorter, longer = Prefix.similarity(a, b), *sorted((len(a), len(b)))
    return shared >= 4 and shared >= 0.55 * longer and shared >= shorter - 3


def _small(part: str) -> bool:
    return part in _LINKS or part in ("re", "ll", "ve", "d", "s", "m", "t") or kind(part, part) in _NEVER


@cache
def _groups() -> dict[str, frozenset[str]]:
    """Words that name the same, by word."""
    groups: dict[str, frozenset[str]] = {}
    for line in vocabulary()["same"]["names"].split("\n"):
        for word in line.split():
            groups[word] = groups.get(word, frozenset()) | {line}
    return groups


def _initials(source: ReadText) -> frozenset[str]:
    """The initials of every few words of the source in which the first and the last are capitalised."""
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


def _expanded(output: ReadText, source: ReadText) -> set[int]:
    """Words of the output that spell out an abbreviation of the source."""
    expanded: set[int] = set()
    short = {token.replace(".", "").lower() for token in source.tokens if len(token) > 1 and token.isupper()}
    if not short:
        return expanded
    words = [at for at, token in enumerate(output.tokens) if token[0].isalpha()]
    for number in range(len(words)):
        letters, run = "", []
        for at in words[number : number + 8]:
            if output.tokens[at][0].isupper() or output.lower[at] not in _LINKS:
                letters += output.lower[at][0]
            run.append(at)
            if len(letters) > 1 and letters in short:
                expanded.update(run)
    return expanded


@lru_cache(maxsize=50_000)
def fold(word: str) -> str:
    """A word without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(c)) or word
