"""Claims that an output adds, and what it leaves out, clause by clause.

A content word is accounted for if the other text has it, or another of its root, or if it may stand for words of the
same gap that are gone. What is left is weighed: names and numbers more, adverbs less; main clauses more than asides.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from plainly.factcheck.finding import FactFinding
from plainly.factcheck.reading import Matched, ReadText, common_words, cues
from plainly.text.lexicon import KIND

_NAME, _NUMBER = KIND["name"], KIND["number"]
_EXPLAINS = cues("explaining")
_IS = frozenset(["is", "are", "was", "were", "means"])
_CREDIT = 1.5  # words that one word may be told in
_EMPTY = cues("empty")
_LIGHT = cues("light")


def check_claims(pair: Matched) -> Iterator[FactFinding]:
    """What was added and what was lost."""
    yield from _added(pair)
    yield from _lost(pair)


def unsupported(pair: Matched, *, of_source: bool = False) -> dict[int, float]:
    """Content words without a counterpart, each with how much of it is not accounted for, 0 to 1."""
    own, other = (pair.source, pair.output) if of_source else (pair.output, pair.source)
    links, back = (pair.forward, pair.backward) if of_source else (pair.backward, pair.forward)
    gaps, other_gaps = pair.gaps if of_source else pair.gaps[::-1]
    spare: dict[int, float] = defaultdict(float)
    for at in other.content:
        if back[at] < 0 and other.lower[at] not in own.bag and other.stems[at] not in own.stem_bag:
            spare[other_gaps[at]] += (0.6 if other.lower[at] in _LIGHT else 1.0) * _CREDIT
    open_words: dict[int, float] = {}
    known = {own.clauses[at] for at in own.content if links[at] >= 0 or own.lower[at] in other.bag}
    for at in own.content:
        if _is_covered(own, at, links, other):
            continue
        full = weight = 0.4 if own.lower[at] in _LIGHT else 1.0
        if own.clauses[at] not in known and not of_source:
            weight *= 2  # in a clause of which nothing is known, a word needs more in whose place it may stand
        for gap in (gaps[at], gaps[at] - 1, gaps[at] + 1):
            paid = min(spare[gap], weight)
            spare[gap] -= paid
            weight -= paid
        if weight > 0:
            open_words[at] = min(weight, full)
    return open_words


def novelty(pair: Matched) -> float:
    """The share of the output's content words that the source does not have, in any form; light words count less."""
    output, source = pair.output, pair.source
    new = total = 0.0
    for at in output.content:
        weight = 0.4 if output.lower[at] in _LIGHT else 1.0
        total += weight
        new += 0.0 if _is_covered(output, at, pair.backward, source) else weight
    return new / total if total else 0.0


def _is_covered(own: ReadText, at: int, links: Sequence[int], other: ReadText) -> bool:
    """Whether a word has a counterpart, or the other text has a word that is the same, or of its root."""
    lower = own.lower[at]
    alike = lower in other.bag or own.stems[at] in other.stem_bag or (len(lower) > 5 and lower[:5] in other.beginnings)
    return links[at] >= 0 or alike


def _clauses(reading: ReadText) -> Iterator[list[int]]:
    for _, places in groupby(range(len(reading)), reading.clauses.__getitem__):
        yield list(places)


def _added(pair: Matched) -> Iterator[FactFinding]:
    output = pair.output
    open_words = unsupported(pair)
    for clause in _clauses(output):
        content = [at for at in clause if at in output.content_places]
        new = [at for at in content if at in open_words]
        amount = sum(open_words[at] for at in new)
        alone = amount >= 1.0 and len(new) == len(content) and len(clause) > 4 and clause[0] not in output.firsts
        if (amount < 1.2 and not alone) or not content:
            continue
        share = amount / max(sum(0.4 if output.lower[at] in _LIGHT else 1.0 for at in content), 1.0)
        if share < 0.45:
            continue
        sure = min(0.9, 0.1 * amount + 0.5 * share - 0.04)
        if _explains(pair, clause, new):
            yield pair.finding("harmless", "explanation", 0.6, [], _stretch(new))
        elif sure > 0.15:
            yield pair.finding("added", "claim", sure, [], _stretch(new))


def _explains(pair: Matched, clause: Sequence[int], new: Sequence[int]) -> bool:
    """Whether a clause says what a word of the source means: "which is …", "called …", "X is a …", in brackets."""
    output = pair.output
    if any(output.kinds[at] in (_NAME, _NUMBER) and at not in output.firsts for at in new):
        return False
    words = [output.lower[at] for at in clause]
    if any(word in _EXPLAINS for word in words):
        return True
    bracket = output.tokens[clause[0]] in ("(", "-LRB-")
    place = next((number for number, word in enumerate(words) if word in _IS), None)
    if place is None:
        return bracket and len(new) <= 6
    subject = [at for at in clause[:place] if at in output.content_places]
    rest = words[place + 1 : place + 2]
    kept = all(pair.backward[at] >= 0 or output.lower[at] in pair.source.bag for at in subject)
    relative = words[0] in ("which", "who", "that") and rest and rest[0] in ("a", "an", "the")
    return (bool(subject) and kept and bool(rest) and rest[0] in ("a", "an")) or bool(relative and rest[0] != "the")


def _stretch(places: Sequence[int]) -> list[int]:
    """From the first of some words to the last, where they are close together."""
    stretch: list[int] = []
    for at in places:
        if stretch and at - stretch[-1] <= 3:
            stretch += range(stretch[-1] + 1, at)
        stretch.append(at)
    return stretch


def _lost(pair: Matched) -> Iterator[FactFinding]:
    """Runs of words that are gone, each weighed by its share of what the source says and by where it stands."""
    source = pair.source
    weights = {at: _weight(source, at) for at in source.content}
    total = sum(weights.values())
    if not total:
        return
    open_words = unsupported(pair, of_source=True)
    for clause in _clauses(source):
        gone = [at for at in clause if at in open_words]
        if not gone:
            continue
        aside = source.lower[clause[0]] in ("which", "who", "(", "-lrb-", "whose", "where", "–", "—")
        weight = sum(weights[at] * open_words[at] for at in gone) / total * (0.8 if aside else 1.0)
        share = len(gone) / max(1, sum(at in weights for at in clause))
        sure = min(0.95, 0.2 + 0.12 * len(gone) + 0.4 * share)
        yield pair.finding("lost", "claim", sure, _stretch(gone), [], weight)


def _weight(reading: ReadText, at: int) -> float:
    lower = reading.lower[at]
    if lower in _EMPTY:
        return 0.1
    if reading.kinds[at] in (_NAME, _NUMBER):
        return 1.4
    return 0.4 if lower in _LIGHT else 1.0 if lower in common_words() else 1.2
