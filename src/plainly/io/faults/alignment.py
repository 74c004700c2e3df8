"""Does every text stand beside its own source? Checks that find lines which slipped, and references turned around."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from plainly.core.result import Note
from plainly.io.faults.subject import Collection, Subject, check, warning

_WORD = re.compile(r"\w+")
# A word in more than this many sources says little about which of them a text belongs to.
_COMMON = 20
# A text is out of place if another source has most of its rare words and its own source hardly any.
_OWN, _OTHER, _SHARED = 0.2, 0.6, 4


@check("misaligned")
def misaligned(subject: Subject) -> Iterator[Note]:
    if not subject.sources.lines:
        return
    index = _index(subject)
    for texts in (subject.references, *subject.systems.values()):
        misfits = _misfits(texts, index) if not _turned(subject, texts, index) else {}
        if misfits:
            shift, times = Counter(fits - texts.owners[place] for place, fits in misfits.items()).most_common(1)[0]
            mostly = f", mostly {abs(shift)} {'later' if shift > 0 else 'earlier'}"
            pattern = mostly if times > max(3, len(misfits) / 2) else ""
            places = list(misfits)
            example = subject.evalset.ids[misfits[places[0]]]
            better = f"{texts.items(places)} {'fits' if len(places) == 1 else 'fit'} another source better{pattern}"
            yield texts.warning(f"{better}; the first fits that of item {example}.", places)


@check("transposed-references")
def transposed_references(subject: Subject) -> Iterator[Note]:
    if not subject.sources.lines or not subject.references.lines:
        return
    index = _index(subject)
    if _turned(subject, subject.references, index):
        yield warning(
            "Most references share their words with the sources of other items, not with their own.",
            where="the references",
        )


def _turned(subject: Subject, texts: Collection, index: _Index) -> bool:
    """Whether most references stand beside the wrong source."""
    if texts is not subject.references or not texts.lines:
        return False

    def build(_: object) -> bool:
        return len(_misfits(texts, index)) > 0.4 * sum(1 for line in texts.lines if len(index.rare(line)) >= _SHARED)

    return subject.evalset.prepare(("doctor: turned", subject.quick), build)


def _index(subject: Subject) -> _Index:
    return subject.evalset.prepare(("doctor: rare words", subject.quick), lambda _: _Index(subject.sources))


class _Index:
    """Which sources hold each rare word, and how much that word weighs."""

    def __init__(self, sources: Collection) -> None:
        self.words = {
            item: frozenset(_WORD.findall(source.lower()))
            for source, item in zip(sources.lines, sources.owners, strict=True)
        }
        self.places: dict[str, list[int]] = defaultdict(list)
        for item, words in self.words.items():
            for word in words:
                self.places[word].append(item)
        self._n = len(self.words)

    def rare(self, text: str) -> dict[str, float]:
        """The text's words that stand in few sources, with their weights (inverse document frequency)."""
        words = set(_WORD.findall(text.lower()))
        limit = max(2, min(_COMMON, self._n // 10))
        return {
            word: math.log((self._n + 1) / len(self.places[word]))
            for word in words
            if word in self.places and len(self.places[word]) <= limit
        }


def _misfits(texts: Collection, index: _Index) -> dict[int, int]:
    """The places of texts that fit another item's source better → that item."""
    misfits = {}
    for place, (line, item) in enumerate(zip(texts.lines, texts.owners, strict=True)):
        rare = index.rare(line)
        total = sum(rare.values())
        if len(rare) < _SHARED:
            continue
        own = sum(weight for word, weight in rare.items() if word in index.words[item])
        if own > _OWN * total:
            continue
        weights: dict[int, float] = defaultdict(float)
        shared: Counter[int] = Counter()
        for word, weight in rare.items():
            for other in index.places[word]:
                weights[other] += weight
                shared[other] += 1
        best = max(weights, key=lambda other: weights[other])
        if weights[best] >= _OTHER * total and shared[best] >= _SHARED:
            misfits[place] = best
    return misfits
