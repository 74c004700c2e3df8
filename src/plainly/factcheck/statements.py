"""Statements that an output adds or leaves out, clause by clause.

A content word is supported if the other text has it or another of its root, or if it may replace missing words of the
same gap. The rest is weighted: names and numbers more, adverbs less, main clauses more than asides.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from plainly.factcheck.reading import FactFinding, MatchedPair, ReadText, common_words, cue_words
from plainly.factcheck.signals import Unit, align_pair, find_common, place_units
from plainly.text.lexicon import CONTENT, KIND
from plainly.text.sentence_alignment import Alignment

_NAME, _NUMBER = KIND["name"], KIND["number"]
_EXPLAINS = cue_words("explaining")
_IS = frozenset(["is", "are", "was", "were", "means"])
_CREDIT = 1.5  # the number of words that may replace one word
_EMPTY = cue_words("empty")
_LIGHT = cue_words("light")


def find_unsupported(pair: MatchedPair, *, factor: float = 1.0) -> dict[int, float]:
    """Return content words of the output without a counterpart, each with its unsupported share, 0 to 1.

    In a clause without support, a word must replace ``factor`` times as many words.
    """
    source, output = pair.source, pair.output
    credits: dict[int, float] = defaultdict(float)
    for at in source.content:
        if pair.forward[at] < 0 and source.lower[at] not in output.bag and source.stems[at] not in output.stem_bag:
            credits[pair.gaps[0][at]] += (0.6 if source.lower[at] in _LIGHT else 1.0) * _CREDIT
    open_words: dict[int, float] = {}
    supported_clauses = {
        output.clauses[at] for at in output.content if pair.backward[at] >= 0 or output.lower[at] in source.bag
    }
    for at in output.content:
        if _is_covered(pair, at):
            continue
        full = weight = _weigh_lightly(output, at)
        if output.clauses[at] not in supported_clauses:
            weight *= factor
        own_gap = pair.gaps[1][at]
        for gap in (own_gap, own_gap - 1, own_gap + 1):
            credit = min(credits[gap], weight)
            credits[gap] -= credit
            weight -= credit
        if weight > 0:
            open_words[at] = min(weight, full)
    return open_words


def measure_novelty(pair: MatchedPair) -> float:
    """Return the share of the output's content words that the source lacks in any form; light words count less."""
    weights = {at: _weigh_lightly(pair.output, at) for at in pair.output.content}
    new = sum(weight for at, weight in weights.items() if not _is_covered(pair, at))
    return new / sum(weights.values()) if weights else 0.0


def _weigh_lightly(reading: ReadText, at: int) -> float:
    return 0.4 if reading.lower[at] in _LIGHT else 1.0


def _is_covered(pair: MatchedPair, at: int) -> bool:
    """Return whether a word of the output has a counterpart, or the source has the same word or one of its root."""
    source, lower = pair.source, pair.output.lower[at]
    is_alike = lower in source.bag or pair.output.stems[at] in source.stem_bag
    return pair.backward[at] >= 0 or is_alike or (len(lower) > 5 and lower[:5] in source.beginnings)


def _split_clauses(reading: ReadText) -> list[list[int]]:
    return [list(places) for _, places in groupby(range(len(reading)), reading.clauses.__getitem__)]


def check_added(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report clauses of the output that are mostly new."""
    output = pair.output
    open_words = find_unsupported(pair, factor=2.0)
    for clause in _split_clauses(output):
        content = [at for at in clause if output.kinds[at] in CONTENT]
        new = [at for at in content if at in open_words]
        amount = sum(open_words[at] for at in new)
        is_new = amount >= 1.0 and len(new) == len(content) and len(clause) > 4 and clause[0] not in output.firsts
        if (amount < 1.2 and not is_new) or not content:
            continue
        share = amount / max(sum(_weigh_lightly(output, at) for at in content), 1.0)
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
    is_supported = all(pair.backward[at] >= 0 or output.lower[at] in pair.source.bag for at in subject)
    is_relative = words[0] in ("which", "who", "that")
    return words[place + 1 : place + 2] in (["a"], ["an"]) and (is_relative or (bool(subject) and is_supported))


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
    open_words = find_unsupported(pair.reverse)
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


_EXPLAINING = {
    "en": frozenset(["called", "call", "calls", "means", "known", "name", "word", "example"]),
    "de": frozenset(["heißt", "heißen", "nennt", "nennen", "bedeutet", "beispiel", "bezeichnet", "wort", "also"]),
}
_DEFINITION = re.compile(r"\W*(?:\w+\W+){1,4}(?:is|are|was|ist|sind|war) (?:a|an|the|ein|eine|einer|der|die|das)\b")
_LEAST_NEW = 2  # content words of a sentence, or of a clause, that the other text lacks
_LEAST_KEPT = (0.2, 0.3)  # the share of the rest that is kept, for an added sentence and for a lost clause


def check_sentences(pair: MatchedPair) -> Iterator[FactFinding]:
    """Report sentences of the output and clauses of the source that the other text cannot account for.

    Rewording replaces words, so that words of one side without a counterpart are expected where the other side has
    such words too. A sentence is new if its part of the output has more of them than its part of the source.
    """
    alignment = align_pair(pair.source.text, pair.output.text, pair.language)
    sides = [place_units(side, pair.language) for side in (alignment.source, alignment.output)]
    stems = [_join(unit for units in side for unit in units) for side in sides]
    new = [[_find_new(units, stems[1 - side]) for units in sides[side]] for side in (0, 1)]
    links = [[set[int]() for _ in side] for side in sides]
    for i, j in alignment.edges:
        links[0][i].add(j)
        links[1][j].add(i)
    for j, units in enumerate(sides[1]):
        if (
            links[1][j]
            or _is_told(j, alignment, pair)
            or len(new[1][j]) < _LEAST_NEW
            or len(_join(units)) > len(new[1][j]) + 1
        ):
            continue
        around, across = _find_surroundings(j, links[1], links[0])
        gone = len(set().union(*(new[0][i] for i in across)))
        surplus = len(set().union(*(new[1][at] for at in around))) - gone
        kept_share = 1 - gone / max(1, len(_join(unit for i in across for unit in sides[0][i])))
        if surplus >= _LEAST_NEW and kept_share >= _LEAST_KEPT[0]:
            span = (alignment.output[j].start, alignment.output[j].end)
            situation = "last sentence added" if j == len(sides[1]) - 1 else "sentence added"
            yield pair.span_finding("added", "claim", situation, (), (span,))
    for i, units in enumerate(sides[0]):
        for unit in units:
            if len(unit.stems) < _LEAST_NEW or _find_new([unit], stems[1]) != unit.stems:
                continue
            around, across = _find_surroundings(i, links[0], links[1])
            surplus = len(set().union(*(new[0][at] for at in around))) - len(set().union(*(new[1][j] for j in across)))
            rest = [other for at in around for other in sides[0][at] if other is not unit]
            kept_share = 1 - len(_find_new(rest, stems[1])) / max(1, len(_join(rest)))
            if surplus >= -1 and kept_share >= _LEAST_KEPT[1] and rest:
                is_last = i == len(sides[0]) - 1 and unit is units[-1]
                situation = ("last " if is_last else "") + ("sentence lost" if len(units) == 1 else "clause lost")
                yield pair.span_finding("lost", "condition", situation, ((unit.start, unit.end),), ())


def _is_told(j: int, alignment: Alignment, pair: MatchedPair) -> bool:
    """Return whether a sentence cannot be an addition: it asks, explains, stands alone or has a known number."""
    text = alignment.output[j].text
    words = {word.strip(".,:;!“”„").lower() for word in text.split()}
    return (
        all("?" in other.text for place, other in enumerate(alignment.output) if place != j)
        or "?" in text
        or not words.isdisjoint(_EXPLAINING[pair.language])
        or bool(_DEFINITION.match(text.lower()))
        or any(number in pair.source.text for number in re.findall(r"\d{2,}", text))
    )


def _find_surroundings(at: int, own: Sequence[set[int]], other: Sequence[set[int]]) -> tuple[range, set[int]]:
    """Return a sentence with its neighbours, and their counterparts with neighbours that have none."""
    around = range(max(0, at - 1), min(len(own), at + 2))
    across = {place for near in around for place in own[near]} or set(range(len(other)))
    steps = {place + step for place in across for step in (-1, 1)}
    return around, across | {place for place in steps if 0 <= place < len(other) and not other[place]}


def _join(units: Iterable[Unit]) -> frozenset[str]:
    return frozenset(stem for unit in units for stem in unit.stems)


def _find_new(units: Iterable[Unit], others: frozenset[str]) -> set[str]:
    stems = _join(units)
    return set(stems - find_common(stems, others))
