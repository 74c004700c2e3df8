"""Statements that an output adds or leaves out, clause by clause.

A content word is supported if the other text has it or another of its root, or if it may replace missing words of the
same gap. The rest is weighted: names and numbers more, adverbs less, main clauses more than asides.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from plainly.factcheck.reading import FactFinding, MatchedPair, ReadText, common_words, cue_words
from plainly.text.lexicon import CONTENT, KIND

_NAME, _NUMBER = KIND["name"], KIND["number"]
_EXPLAINS = cue_words("explaining")
_IS = frozenset(["is", "are", "was", "were", "means"])
_CREDIT = 1.5  # the number of words that may replace one word
_EMPTY = cue_words("empty")
_LIGHT = cue_words("light")


def find_unsupported(pair: MatchedPair, *, of_source: bool = False) -> dict[int, float]:
    """Return content words without a counterpart, each with its unsupported share, 0 to 1."""
    own, other = (pair.source, pair.output) if of_source else (pair.output, pair.source)
    links, other_links = (pair.forward, pair.backward) if of_source else (pair.backward, pair.forward)
    gaps, other_gaps = pair.gaps if of_source else pair.gaps[::-1]
    credits: dict[int, float] = defaultdict(float)
    for at in other.content:
        if other_links[at] < 0 and other.lower[at] not in own.bag and other.stems[at] not in own.stem_bag:
            credits[other_gaps[at]] += (0.6 if other.lower[at] in _LIGHT else 1.0) * _CREDIT
    open_words: dict[int, float] = {}
    clauses_with_support = {own.clauses[at] for at in own.content if links[at] >= 0 or own.lower[at] in other.bag}
    for at in own.content:
        if _is_covered(own, at, links, other):
            continue
        full = weight = 0.4 if own.lower[at] in _LIGHT else 1.0
        if own.clauses[at] not in clauses_with_support and not of_source:
            weight *= 2  # in a clause without support, a word must replace more
        for gap in (gaps[at], gaps[at] - 1, gaps[at] + 1):
            credit = min(credits[gap], weight)
            credits[gap] -= credit
            weight -= credit
        if weight > 0:
            open_words[at] = min(weight, full)
    return open_words


def measure_novelty(pair: MatchedPair) -> float:
    """Return the share of the output's content words that the source lacks in any form; light words count less."""
    output, source = pair.output, pair.source
    weights = {at: 0.4 if output.lower[at] in _LIGHT else 1.0 for at in output.content}
    new = sum(weight for at, weight in weights.items() if not _is_covered(output, at, pair.backward, source))
    return new / sum(weights.values()) if weights else 0.0


def _is_covered(own: ReadText, at: int, links: Sequence[int], other: ReadText) -> bool:
    """Return whether a word has a counterpart, or the other text has the same word or one of its root."""
    lower = own.lower[at]
    alike = lower in other.bag or own.stems[at] in other.stem_bag or (len(lower) > 5 and lower[:5] in other.beginnings)
    return links[at] >= 0 or alike


def _split_clauses(reading: ReadText) -> Iterator[list[int]]:
    for _, places in groupby(range(len(reading)), reading.clauses.__getitem__):
        yield list(places)


def check_added(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report clauses of the output that are mostly new."""
    output = pair.output
    open_words = find_unsupported(pair)
    for clause in _split_clauses(output):
        content = [at for at in clause if output.kinds[at] in CONTENT]
        new = [at for at in content if at in open_words]
        amount = sum(open_words[at] for at in new)
        is_new = amount >= 1.0 and len(new) == len(content) and len(clause) > 4 and clause[0] not in output.firsts
        if (amount < 1.2 and not is_new) or not content:
            continue
        share = amount / max(sum(0.4 if output.lower[at] in _LIGHT else 1.0 for at in content), 1.0)
        if share < 0.45:
            continue
        sure = min(0.9, 0.1 * amount + 0.5 * share - 0.04)
        if _is_explanation(pair, clause, new):
            yield pair.finding("harmless", "explanation", 0.6, [], _fill_stretch(new))
        elif sure > 0.15:
            yield pair.finding("added", "claim", sure, [], _fill_stretch(new))


def _is_explanation(pair: MatchedPair, clause: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether a clause explains a word of the source: "which is …", "called …", "X is a …", brackets."""
    output = pair.output
    if any(output.kinds[at] in (_NAME, _NUMBER) and at not in output.firsts for at in new):
        return False
    words = [output.lower[at] for at in clause]
    if any(word in _EXPLAINS for word in words):
        return True
    is_bracketed = output.tokens[clause[0]] in ("(", "-LRB-")
    place = next((number for number, word in enumerate(words) if word in _IS), None)
    if place is None:
        return is_bracketed and len(new) <= 6
    subject = [at for at in clause[:place] if output.kinds[at] in CONTENT]
    after = words[place + 1 : place + 2]
    supported = all(pair.backward[at] >= 0 or output.lower[at] in pair.source.bag for at in subject)
    is_relative = words[0] in ("which", "who", "that") and after and after[0] in ("a", "an", "the")
    return (bool(subject) and supported and bool(after) and after[0] in ("a", "an")) or bool(
        is_relative and after[0] != "the"
    )


def _fill_stretch(places: Sequence[int]) -> list[int]:
    """Return the positions from the first of some words to the last where they are close together."""
    stretch: list[int] = []
    for at in places:
        if stretch and at - stretch[-1] <= 3:
            stretch += range(stretch[-1] + 1, at)
        stretch.append(at)
    return stretch


def check_lost(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report runs of words that are missing, weighted by their share of the source and by their clause."""
    source = pair.source
    weights = {at: _weigh_word(source, at) for at in source.content}
    total = sum(weights.values())
    if not total:
        return
    open_words = find_unsupported(pair, of_source=True)
    for clause in _split_clauses(source):
        missing = [at for at in clause if at in open_words]
        if not missing:
            continue
        is_aside = source.lower[clause[0]] in ("which", "who", "(", "-lrb-", "whose", "where", "–", "—")
        weight = sum(weights[at] * open_words[at] for at in missing) / total * (0.8 if is_aside else 1.0)
        share = len(missing) / max(1, sum(at in weights for at in clause))
        sure = min(0.95, 0.2 + 0.12 * len(missing) + 0.4 * share)
        yield pair.finding("lost", "claim", sure, _fill_stretch(missing), [], weight)


def _weigh_word(reading: ReadText, at: int) -> float:
    lower = reading.lower[at]
    if lower in _EMPTY:
        return 0.1
    if reading.kinds[at] in (_NAME, _NUMBER):
        return 1.4
    return 0.4 if lower in _LIGHT else 1.0 if lower in common_words() else 1.2
