"""Values of an output compared with those of its source: equal, derived, changed or added; and which are lost.

A value is equal if it stands for the same thing in any notation (7 days, a week), and derived if it follows from values
of the source that stand together (3 × 400 mg a day, 1,200 mg). Other values are changed if the source has one of the
same kind that the output does not have, otherwise added. Equal values may stand for another thing, or be limited in
another way. How likely a value is wrong follows from what speaks for and against it (``evidence``).
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

from plainly.core import limits
from plainly.core.formatting import visible
from plainly.factcheck.derivations import CERTAIN_ORIGINS, Derivations, date_of
from plainly.factcheck.equality import (
    KEYS,
    classify_harmless,
    is_alike,
    is_close,
    is_equal,
    is_equal_kind,
    may_be_measured,
    measure,
)
from plainly.factcheck.evidence import Evidence, capped, judges
from plainly.factcheck.reading import (
    CALCULATED,
    HARMS,
    MISPLACED,
    RULED,
    FactFinding,
    MatchedPair,
    ReadText,
    Span,
)
from plainly.factcheck.sides import AXES, read_sides
from plainly.factcheck.signals import LANGUAGES, align_pair, find_zones
from plainly.factcheck.values import Value, digits, read_values, squeeze, words
from plainly.text.lexicon import CONTENT
from plainly.text.sentence_alignment import PlacedSentence

_CONFUSABLE = ("address", "amount", "percent", "quantity", "date", "time", "phone", "email")
_NEARBY = 48  # values of the source that one of the output is compared with: the nearest in a long text
_UNPROMPTED = 0.6  # of a number that is added to words that are kept, or to a source without one of its kind
_REACH = 10  # words on either side that a value may stand by
_NEIGHBOURS = 120  # characters between two values whose order is compared
LEAST = 0.2  # the confidence from which a finding is reported
_OVERRULES = 0.7  # the confidence from which a value is reported although it could be calculated
_SPLIT = re.compile(r"(?<=[.!?;:])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LETTERS = re.compile(r"[^\W\d_]")
_SMALL = words("small")


def check_values(pair: MatchedPair) -> Iterator[FactFinding]:
    """Compare every value in the output with those of the source; of several findings about one, yield the surest."""
    findings = list(_Comparison.of(pair).findings())
    harmful = sorted((finding for finding in findings if finding.effect in HARMS), key=lambda finding: finding.sure)
    surest = {finding.output or finding.source: finding for finding in harmful}
    for finding in findings:
        if finding.effect not in HARMS or finding is surest[finding.output or finding.source]:
            yield finding


def _differ_in_one_part(value: Value, other: Value) -> bool:
    """Return whether only one part of a value was changed: number or unit, hour or minutes, day or month.

    Otherwise it may be another value altogether: one that was calculated, or was not read as a whole.
    """
    if value.kind == "time":
        pairs = [(int(a), int(b)) for a in value.numbers for b in other.numbers]
        return any(a // 60 % 12 == b // 60 % 12 or (a - b) % 30 == 0 for a, b in pairs)
    if value.kind in ("period", "quantity"):
        is_whole = (value.scale < 28) == (other.scale < 28)  # weeks and months cannot be converted exactly
        return value.raw == other.raw or value.scale == other.scale or is_whole
    if value.kind == "date" and value.form == other.form == "day":
        months, days = zip(value.date[1:], other.date[1:], strict=True)
        return months[0] == months[1] or days[0] == days[1] or months == days[::-1]
    return value.kind != "date" or value.form == other.form


def _is_no_date(value: Value, other: Value) -> bool:
    """Return whether a value that replaces a date cannot be one: 33 May, or the year 7144."""
    if value.kind == "number":
        return other.form == "year" and len(value.text) == 4 and value.text.isdigit()
    return value.form == "impossible" and _LETTERS.search(value.text) is not None


@dataclass(frozen=True)
class JudgedValue:
    """A value of the output, what speaks for and against it, and the value of the source that it may stand for."""

    value: Value
    judge: str  # "new": the source does not have it; "equal": it does
    evidence: Evidence
    other: Value | None = None
    explanation: FactFinding | None = None  # what makes it harmless


def describe_values(pair: MatchedPair) -> list[JudgedValue]:
    """Return the values of the output with their evidence."""
    return _Comparison.of(pair).describe()


Votes = list[tuple[Value, float]]  # values of the source, and how many words each has of one of the output


class _Comparison:
    """The values of one pair."""

    @classmethod
    def of(cls, pair: MatchedPair) -> "_Comparison":
        language = pair.language or "en"
        sources, outputs = (read_values(reading.text, language) for reading in (pair.source, pair.output))
        subject = f"The output “{visible(pair.output.text[:40])}…” with its source"
        limits.check("values", len(sources) * len(outputs), subject)
        return cls(pair, sources, outputs)

    def __init__(self, pair: MatchedPair, sources: Sequence[Value], outputs: Sequence[Value]) -> None:
        self.pair, self.sources, self.outputs = pair, sources, outputs
        self.equals = [self._find_equals(value) for value in outputs]
        self.equals = [self._with_year(value, others) for value, others in zip(outputs, self.equals, strict=True)]
        matched = {
            id(other) for value, others in zip(outputs, self.equals, strict=True) for other in _closest(value, others)
        }
        self.free = [value for value in sources if id(value) not in matched]
        self.derivations = Derivations(pair.source, pair.output, sources, outputs, self.free)
        self.equals = [
            [] if self._has_better(value, others) else others
            for value, others in zip(outputs, self.equals, strict=True)
        ]
        for at, value in enumerate(outputs):
            if not self.equals[at] and (counted := [other for other in self.free if may_be_measured(value, other)]):
                self.equals[at] = counted[:1]
                self._take(counted[0])

    def _find_equals(self, value: Value) -> list[Value]:
        """Return the values of the source that stand for the same; of very many, those in about the same place."""
        equals = [other for other in self.sources if is_equal(value, other)]
        if len(equals) <= _NEARBY:
            return equals
        nearest = sorted(equals, key=lambda other: self._measure_distance(value, other))[:_NEARBY]
        return sorted(nearest, key=lambda other: other.span)

    @cached_property
    def _equal_ids(self) -> list[frozenset[int]]:
        return [frozenset(map(id, others)) for others in self.equals]

    def _has_better(self, value: Value, others: Sequence[Value]) -> bool:
        """Return whether an interval equals only periods that are not intervals, while an interval is missing."""
        return (
            value.kind == "period"
            and value.form == "interval"
            and bool(others)
            and all(other.form != "interval" for other in others)
            and any(other.kind == "period" and other.form == "interval" for other in self.free)
        )

    @cached_property
    def squeezed(self) -> str:
        return squeeze(self.pair.source.text)

    @cached_property
    def _reverse(self) -> Derivations:
        """What follows from the output."""
        return Derivations(self.pair.output, self.pair.source, self.outputs, self.sources, ())

    @cached_property
    def _surplus(self) -> list[Value]:
        """Values that the source has more often than the output."""
        surplus = []
        for value in self.sources:
            if value.kind not in KEYS and not value.weak and not self._is_free(value):
                same = sum(is_equal_kind(value, other) for other in self.sources if other.kind == value.kind)
                matches = sum(id(value) in each for each in self._equal_ids)
                if matches < same:
                    surplus.append(value)
        return surplus

    def findings(self) -> Iterator[FactFinding]:
        derived: set[str] = set()
        for judged in self.describe():
            finding = self._judge(judged)
            if finding is not None:
                yield finding
                if finding.effect == "harmless" and judged.judge == "new":
                    derived.add(judged.value.kind)
                elif finding.harms and judged.other is not None:
                    self._take(judged.other)  # it has been replaced: it is not also lost
        yield from self._find_wrong_weekdays()
        yield from self._compare_channels()
        for value in self.free:
            if not value.weak and value.kind != "number" and value.form not in ("weekday", "interval", "fraction"):
                lost = self.pair.span_finding("lost", value.kind, 1.0, (value.span,), (), 0.0)
                yield replace(lost, is_confusable=self._is_confusable(value, derived))

    def _judge(self, judged: JudgedValue) -> FactFinding | None:
        """Return the finding about a value: it may be wrong, or something makes it harmless; None if there is none."""
        value, other = judged.value, judged.other
        if judged.explanation is not None and judged.explanation.situation in CERTAIN_ORIGINS:
            return judged.explanation
        sure = judges()[judged.judge].probability(judged.evidence)
        if judged.evidence.get("contradicts"):
            sure = max(sure, RULED)
        if other is not None and _is_no_date(value, other):
            sure = max(sure, RULED)
        elif other is None and judged.explanation is None and not (value.weak or value.in_words):
            sure = max(sure, _UNPROMPTED if self._is_unprompted(value) else 0.0)
        subtype = MISPLACED if judged.judge == "equal" else CALCULATED if judged.explanation else ""
        if sure < (_OVERRULES if subtype == CALCULATED else LEAST):
            return judged.explanation
        if other is not None:
            return replace(self._changed(other, value, sure), subtype=subtype)
        if not self._is_example(value):
            return replace(self.pair.span_finding("added", value.kind, sure, (), (value.span,)), subtype=subtype)
        return None

    def _is_unprompted(self, value: Value) -> bool:
        """Return whether nothing in the source may have led to a value."""
        return not any(mine.kind == value.kind for mine in self.sources) or self.pair.keeps_wording((value.span,))

    def describe(self) -> list[JudgedValue]:
        """Return every value with its evidence."""
        equal = [
            self._describe_equal(value, others)
            for value, others in zip(self.outputs, self.equals, strict=True)
            if others
        ]
        new = [
            value
            for value, others in zip(self.outputs, self.equals, strict=True)
            if not others and not self._is_contained(value)
        ]
        return [*equal, *self._describe_new(new)]

    # Equal values: they may stand for another thing, or be limited in another way

    def _describe_equal(self, value: Value, others: Sequence[Value]) -> JudgedValue:
        rivals = [
            other
            for other in self._near(value)
            if other.kind == value.kind
            and not other.weak
            and measure(other) == measure(value)
            and (other.form == "weekday") == (value.form == "weekday")
            and not any(other is equal for equal in others)
        ]
        lost = [other for other in rivals if self._is_free(other)]
        turned = self._find_turned(value, others)
        own = frozenset(map(id, others))
        uses = sum(not own.isdisjoint(each) for each in self._equal_ids)
        inverted, in_order = self._count_order(value, others[0])
        votes = self._count_votes(value)
        exchanged, reverse = self._exchanged.get(id(value)), self._reversed.get(id(value))
        borrowed, gain = self._borrowed.get(id(value), (None, 0.0))

        def most(rate: Callable[[Value, Value], float], values: Sequence[Value]) -> float:
            return max((rate(value, other) for other in values), default=0.0)

        described = self._describe_value(value)
        differs = self._differs_in_interval(value, others) or described.get("contradicts", 0.0) > 0
        evidence = described | {
            "turned": float(turned is not None),
            "another kind": float(all(other.kind != value.kind for other in others)),
            "uses": capped(uses, 4),
            "uses beyond": capped(max(0, uses - len(others)), 3),
            "equals": capped(len(others), 4),
            "rivals": capped(len(rivals), 4),
            "lost rivals": capped(len(lost), 3),
            "lost of kind": capped(sum(other.kind == value.kind and not other.weak for other in self.free), 3),
            "apart": min(self._measure_distance(value, other) for other in others),
            "same text": float(any(other.text.lower() == value.text.lower() for other in others)),
            "weak equal": float(others[0].weak),
            "near": most(self._count_near, others),
            "near rival": most(self._count_near, rivals),
            "near lost": most(self._count_near, lost),
            "shared": most(self._count_shared, others),
            "shared rival": most(self._count_shared, rivals),
            "shared lost": most(self._count_shared, lost),
            "beside": most(self._is_beside, others),
            "beside rival": most(self._is_beside, rivals),
            "votes": capped(sum(number for other, number in votes if id(other) in own), 6),
            "votes against": capped(sum(number for other, number in votes if other in rivals), 6),
            "votes lost": capped(sum(number for other, number in votes if other in lost), 6),
            "aligned": most(self._rate_place, others),
            "aligned rival": most(self._rate_place, rivals),
            "aligned lost": most(self._rate_place, lost),
            "inverted": inverted,
            "in order": in_order,
            "between": self._count_between(value, others),
            "lost between": self._count_between(value, lost),
            "bound here": float(bool(value.bound) and not any(other.bound for other in others)),
            "bound there": float(not value.bound and all(other.bound for other in others)),
            **self._compare_sides(value, others),
            **{f"calculation: {name}": 1.0 for name in self.derivations.list_calculations(value, self._near(value))},
            "exchanged": float(exchanged is not None) + float(exchanged is not None and exchanged in lost),
            "borrowed": capped(gain, 4),
            "contradicts": float(reverse is not None or differs),
        }
        explanation = None
        if value.text.lower() not in {other.text.lower() for other in others} and not value.weak:
            explanation = self.pair.span_finding("harmless", "notation", 1.0, (others[0].span,), (value.span,))
        likeliest = max(
            lost or rivals,
            key=lambda other: (self._rate_place(value, other), self._count_near(value, other)),
            default=None,
        )
        other = turned or reverse or exchanged or borrowed or likeliest or others[0]
        return JudgedValue(value, "equal", evidence, other, explanation)

    def _count_votes(self, value: Value) -> Votes:
        """Return values of the source that stand by the words of a value, and how many of its words each has.

        Its words are those that are nearer to it than to other values that measure the same; nearer words count more.
        """
        pair, votes = self.pair, dict[int, float]()
        mine = _nearest_in_order(self.outputs, value.span[0])
        own = [other for other in mine if measure(other) == measure(value)]
        theirs = [other for other in self._near(value) if measure(other) == measure(value) and not other.weak]
        place = pair.output.words_between(value.span)
        if not theirs or not place:
            return []
        sentence = pair.output.sentences[place[0]]
        for at in range(max(0, place[0] - _REACH), min(len(pair.output), place[-1] + _REACH + 1)):
            link = pair.backward[at]
            if link < 0 or at in place or pair.output.kinds[at] not in CONTENT or pair.output.sentences[at] != sentence:
                continue
            if _find_nearest(own, pair.output, at) is not value:
                continue
            nearest = _find_nearest(theirs, pair.source, link)
            apart = min(abs(at - place[0]), abs(at - place[-1]))
            if nearest is not None and _gap(nearest.span, pair.source.spans[link]) <= _NEIGHBOURS:
                votes[id(nearest)] = votes.get(id(nearest), 0.0) + (2.0 if apart <= 2 else 1.0)
        return [(other, votes[id(other)]) for other in theirs if id(other) in votes]

    def _compare_sides(self, value: Value, others: Sequence[Value]) -> Evidence:
        """Return the axes on which the words beside a value and those beside its equals name different sides."""
        own = read_sides(self.pair.output.text, value.span)
        theirs = [read_sides(self.pair.source.text, other.span) for other in others]
        apart = {axis: min(abs(own[axis] - sides[axis]) for sides in theirs) for axis in AXES}
        return {f"side: {axis}": float(distance) for axis, distance in apart.items()} | {
            "contrary sides": capped(sum(distance == 2 for distance in apart.values()), 2),
        }

    def _count_order(self, value: Value, own: Value) -> tuple[float, float]:
        """Count the neighbours of the same kind that stand on the other side of the value than in the source."""
        counts = [0, 0]
        for neighbour, others in zip(self.outputs, self.equals, strict=True):
            is_neighbour = others and neighbour is not value and neighbour.kind == value.kind and others[0] is not own
            if is_neighbour and abs(neighbour.span[0] - value.span[0]) <= _NEIGHBOURS:
                counts[(neighbour.span[0] < value.span[0]) == (others[0].span[0] < own.span[0])] += 1
        return capped(counts[0], 2), capped(counts[1], 2)

    @cached_property
    def _anchors(self) -> list[tuple[int, int]]:
        """The places in both texts of values that stand for one value only, in the order of the output."""
        return [
            (value.span[0], others[0].span[0])
            for value, others in zip(self.outputs, self.equals, strict=True)
            if len(others) == 1 and not value.weak
        ]

    def _count_between(self, value: Value, values: Sequence[Value]) -> float:
        """Count the values of the source that stand between the counterparts of the neighbours of a value."""
        anchors = [anchor for anchor in self._anchors if anchor[0] != value.span[0]]
        at = bisect_left(anchors, (value.span[0], 0))
        first = anchors[at - 1][1] if at else -1
        last = anchors[at][1] if at < len(anchors) else len(self.pair.source.text)
        return capped(sum(first < other.span[0] < last for other in values), 2)

    def _rate_place(self, value: Value, other: Value) -> float:
        """Return 2 if the sentences of two values are aligned, 1 if they may be, 0 if others are."""
        for source, output, near in self._zones:
            if output[0] <= value.span[0] < output[1]:
                return 2.0 if source[0] <= other.span[0] < source[1] else float(near[0] <= other.span[0] < near[1])
        return 1.0

    @cached_property
    def _zones(self) -> list[tuple[Span, Span, Span]]:
        """The places of aligned sentences: in the source, in the output, and in the source with their neighbours."""
        if self.pair.language not in LANGUAGES:
            return []
        alignment = align_pair(self.pair.source.text, self.pair.output.text, self.pair.language)
        zones = []
        for zone in find_zones(alignment):
            source, near = (_cover(alignment.source, places) for places in (zone.source, zone.near_source))
            zones.append((source, _cover(alignment.output, zone.output), near))
        return zones

    def _find_wrong_weekdays(self) -> Iterator[FactFinding]:
        """Report a weekday that is not that of the date beside it, unless the source has it too."""
        for weekday, day in pairwise(self.outputs):
            between = self.pair.output.text[weekday.span[1] : day.span[0]]
            if (
                weekday.form != "weekday"
                or day.form != "day"
                or not re.fullmatch(r",?\s(?:(?:the|dem|den)\s)?", between)
            ):
                continue
            dates = [date_of(other) for other in (day, *self.sources) if all(other.date) and is_equal(day, other)]
            names = {each.isoweekday() for each in dates if each}
            stated = {int(other.number) for other in self.sources if other.form == "weekday"}
            if names and weekday.number not in names and weekday.number not in stated:
                yield self.pair.span_finding("changed", "date", RULED, (), (weekday.span,))

    def _is_confusable(self, lost: Value, derived: Collection[str]) -> bool:
        """Return whether the output gives another value of the same kind, and nothing that may follow from this one."""
        if lost.kind not in _CONFUSABLE or lost.kind in derived or (lost.kind == "date" and lost.form != "day"):
            return False
        if lost.kind == "time" and lost.number % 1440 == 0:  # midnight: the end of a day
            return False
        matches = zip(self.outputs, self.equals, strict=True)
        if not any(others and measure(value) == measure(lost) for value, others in matches):
            return False
        weekdays = {int(value.number) for value in self.outputs if value.form == "weekday"}
        if lost.kind == "date" and not weekdays.isdisjoint(_weekday_of(lost, self.sources)):  # by Wednesday
            return False
        return self._reverse.origin(lost, self.outputs, from_lost=False) is None

    def _with_year(self, value: Value, others: list[Value]) -> list[Value]:
        """Leave out days and months without a year if the source has another month in the year of the value."""
        year, month, _ = value.date
        if not (year and month) or value.form == "day" or any(other.date[0] == year for other in others):
            return others
        return (
            [] if any(other.date[0] == year and other.date[1] not in (0, month) for other in self.sources) else others
        )

    def _is_contained(self, value: Value) -> bool:
        """Return whether the letters and digits of a reference stand in the source, maybe written apart."""
        key = value.key or digits(value.text)
        if value.kind in KEYS and value.form != "house" and len(key) >= 4 and squeeze(key) in self.squeezed:
            return True
        return value.kind == "number" and len(key) >= 5 and key in self.squeezed

    def _find_turned(self, value: Value, others: Sequence[Value]) -> Value | None:
        """Return the equal value of the source that a contrary word belongs to: at least and at most."""
        own = {value.bound, value.share, *_side_words(self.pair.output.text, value)} - {""}
        for ours, theirs in _CONTRARY:
            if ours in own:
                marks = [{other.bound, other.share, *_side_words(self.pair.source.text, other)} for other in others]
                if all(theirs in mark and ours not in mark for mark in marks):
                    return others[0]
        return others[0] if self._differs_in_interval(value, others) else None

    def _differs_in_interval(self, value: Value, others: Sequence[Value]) -> bool:
        """Return whether a value is for another interval than in the source: "£48 a month", "£48 a year"."""
        due = [other.per for other in others if other.kind == value.kind] if value.per else []
        return bool(due) and all(per and not is_close(per, value.per, 0.02) for per in due)

    # Values that the source does not have

    def _explain(self, value: Value, *, from_lost: bool) -> FactFinding | None:
        """Return what may make a value harmless that the source does not have: it is rounded or calculated."""
        for other in self._near(value) if from_lost else ():
            kind = classify_harmless(value, other)
            if kind and kind != "notation" and self._lacks_another(value, other):
                continue
            if kind:
                self._take(other)
                finding = self.pair.span_finding("harmless", kind, 1.0, (other.span,), (value.span,))
                return replace(finding, situation=kind)
        origin = self.derivations.origin(value, self._near(value), from_lost=from_lost)
        if origin is None:
            return None
        self._take(*origin.operands)
        self.derivations.results.append(replace(value, span=origin.operands[0].span) if origin.operands else value)
        operands = tuple(operand.span for operand in sorted(origin.operands, key=lambda operand: operand.span))
        finding = self.pair.span_finding("harmless", "arithmetic", 0.6, operands, (value.span,))
        return replace(finding, situation=origin.name)

    def _lacks_another(self, value: Value, other: Value) -> bool:
        """Return whether a value of the source is in the output, while one that is like it is missing."""
        return not any(other is mine for mine in self.free) and any(
            mine.kind == value.kind and mine.form == other.form and is_alike(value, mine) for mine in self.free
        )

    def _near(self, value: Value) -> Sequence[Value]:
        """Return the values of the source that a new one is compared with: the nearest in a long text."""
        place = value.span[0] * len(self.pair.source.text) / max(1, len(self.pair.output.text))
        return _nearest_in_order(self.sources, place)

    def _take(self, *others: Value) -> None:
        ids = {id(other) for other in others}
        self.free[:] = [value for value in self.free if id(value) not in ids]

    def _changed(self, other: Value, value: Value, sure: float) -> FactFinding:
        """Return the finding that a value changed; an equal one is quoted with the words beside it: "at least 50"."""
        spans = other.span, value.span
        if is_equal(value, other):
            texts = self.pair.source.text, self.pair.output.text
            spans = _widen(texts[0], other.span), _widen(texts[1], value.span)
        return self.pair.span_finding("changed", value.kind, sure, spans[:1], spans[1:])

    # Values that the source does not have: which one each of them replaces

    def _describe_new(self, values: Sequence[Value]) -> Iterator[JudgedValue]:
        """Yield each value without an equal, with what may explain it and with the value that it may replace."""
        lost = list(self.free)
        explanations: dict[int, FactFinding] = {}
        for from_lost in (True, False):  # what explains a lost value first
            for value in values:
                finding = self._explain(value, from_lost=from_lost) if id(value) not in explanations else None
                if finding is not None:
                    explanations[id(value)] = finding
        rest = [value for value in values if id(value) not in explanations]
        replaced = self._align(rest)
        for value in values:
            explanation = explanations.get(id(value))
            other = replaced.get(id(value)) if explanation is None else self._find_closest(value, lost)
            votes = self._count_votes(value)
            nearest = other or self._find_addressed(value, votes)
            evidence = self._describe_value(value) | {
                "new": capped(len(rest), 4),
                "explained": capped(len(explanations), 4),
                "lost": capped(len(self.free), 5),
                "lost alike": capped(sum(is_alike(value, mine) for mine in lost), 3),
                "example": float(self._is_example(value)),
                "variant of any": self._rate_variants(value),
            }
            evidence |= {
                f"calculation: {name}": 1.0 for name in self.derivations.list_calculations(value, self._near(value))
            }
            if explanation is not None:
                evidence |= self._describe_explanation(explanation, lost)
            if nearest is not None:
                evidence |= self._compare_with(value, nearest, rest, votes) | {"replaces": float(other is not None)}
            yield JudgedValue(value, "new", evidence, other, explanation)
        self._take(*replaced.values())

    def _describe_explanation(self, explanation: FactFinding, lost: Sequence[Value]) -> Evidence:
        """Return what explains a value, and whether the output has the values that it follows from."""
        gone = sum(span in {value.span for value in lost} for span in explanation.source)
        apart = explanation.source[-1][0] - explanation.source[0][1] if len(explanation.source) > 1 else 0
        return {
            f"explained: {explanation.situation}": 1.0,
            "operands lost": capped(gone, 3),
            "operands kept": capped(len(explanation.source) - gone, 3),
            "operands apart": capped(max(0, apart) / _NEIGHBOURS, 3),
        }

    def _rate_variants(self, value: Value) -> float:
        """Return 2 if a value differs from one of its kind in the source in a digit, 1 if in a part, else 0."""
        alike = [other for other in self.sources if other.kind == value.kind and is_alike(value, other)]
        if any(_is_variant(value, other) for other in alike):
            return 2.0
        return float(value.kind not in KEYS and any(_differ_in_one_part(value, other) for other in alike))

    def _find_closest(self, value: Value, lost: Sequence[Value]) -> Value | None:
        """Return the lost value that a value fits best, if it fits any."""
        rated = [(self._rate(value, other), at) for at, other in enumerate(lost) if is_alike(value, other)]
        best = max(rated, default=(0.0, 0))
        return lost[best[1]] if best[0] > 0 else None

    def _find_addressed(self, value: Value, votes: Votes) -> Value | None:
        """Return the value of the source by whose words a value stands, or else the one that it fits best."""
        return max(votes, key=lambda vote: vote[1])[0] if votes else self._find_closest(value, self._near(value))

    def _compare_with(self, value: Value, other: Value, values: Sequence[Value], votes: Votes) -> Evidence:
        """Return what speaks for the change of a value of the source to a new one."""
        alike = [mine for mine in self.free if is_alike(value, mine) and mine.kind == other.kind]
        rivals = [mine for mine in self._near(value) if mine.kind == other.kind and mine is not other]
        ratio = math.log((abs(value.number) + 1e-9) / (abs(other.number) + 1e-9))
        return {
            "in place": float(self._is_in_place(value, other)),
            "between": self._count_between(value, [other]),
            "same scale": float(value.scale == other.scale),
            "only": float(
                len(alike) == 1 and sum(is_alike(mine, other) and mine.kind == value.kind for mine in values) == 1
            ),
            "replaces lost": float(self._is_free(other)),
            "variant": float(_is_variant(value, other)),
            "votes": capped(sum(number for mine, number in votes if mine is other), 6),
            "votes against": capped(sum(number for mine, number in votes if mine is not other), 6),
            "follows": float(self.derivations.may_follow(value, self._near(value))),
            "beside": self._is_beside(value, other),
            "shared": self._count_shared(value, other),
            "near": self._count_near(value, other),
            "near rival": max((self._count_near(value, rival) for rival in rivals), default=0.0),
            "same kind": float(value.kind == other.kind),
            "same unit": float(value.unit == other.unit),
            "same form": float(value.form == other.form),
            "same number": float(value.raw == other.raw),
            "one part": float(_differ_in_one_part(value, other)),
            "ratio": min(max(ratio, -4.0), 4.0),
            "apart": self._measure_distance(value, other),
            "other in words": float(other.in_words),
            "other weak": float(other.weak),
        }

    def _describe_value(self, value: Value) -> Evidence:
        """Return what speaks for or against any value."""
        kinds = [sum(mine.kind == value.kind for mine in values) for values in (self.sources, self.outputs)]
        return {
            f"kind: {value.kind}": 1.0,
            "weak": float(value.weak),
            "in words": float(value.in_words),
            "digits": capped(len(digits(value.text)), 5),
            "kept wording": self.pair.kept_share,
            "long text": float(self.pair.rewording == "long"),
            "of kind in source": capped(kinds[0], 8),
            "of kind in output": capped(kinds[1], 8),
            "about": float(value.about),
            "bound": float(bool(value.bound)),
            **(self._describe_owner(value) if value.form == "interval" and value.raw == 1 else {}),
        }

    def _describe_owner(self, interval: Value) -> Evidence:
        """Return whether the source has the value that an interval belongs to, and whether with another interval."""
        owners = [
            (value, others)
            for value, others in zip(self.outputs, self.equals, strict=True)
            if value.per == interval.number and _gap(value.span, interval.span) <= _IN_A_CHANGE
        ]
        if not owners:
            return {}
        value, others = min(owners, key=lambda owner: _gap(owner[0].span, interval.span))
        return {
            "owner equal": float(bool(others)),
            "owner due": float(any(other.per for other in others)),
            "contradicts": float(self._differs_in_interval(value, others)),
        }

    def _is_free(self, value: Value) -> bool:
        return any(value is lost for lost in self.free)

    def _measure_distance(self, value: Value, other: Value) -> float:
        """Return how far apart two values stand, as a share of the texts."""
        length = max(1, len(self.pair.source.text)), max(1, len(self.pair.output.text))
        return abs(other.span[0] / length[0] - value.span[0] / length[1])

    def _is_beside(self, value: Value, other: Value) -> float:
        """Return whether the same word follows both values."""
        word = _next_word(self.pair.output.text, value.span)
        return float(word != "" and word == _next_word(self.pair.source.text, other.span))

    def _count_near(self, value: Value, other: Value) -> float:
        """Count the words that the clauses of two values share."""
        texts = self.pair.output.text, self.pair.source.text
        return capped(len(_near_words(texts[0], value.span) & _near_words(texts[1], other.span)), 4)

    def _is_example(self, value: Value) -> bool:
        """Return whether a value stands in an example, whose numbers are free."""
        before = self.pair.output.text[max(0, value.span[0] - 160) : value.span[0]]
        return bool(_EXAMPLE.search(before))

    def _align(self, values: Sequence[Value]) -> dict[int, Value]:
        """Return the value of the source that each one replaces: the pairs that fit best come first."""
        fits = [
            (self._rate(value, other), at, place)
            for at, value in enumerate(values)
            for place, other in enumerate((*self.free, *self._surplus))
            if is_alike(value, other)
        ]
        others = (*self.free, *self._surplus)
        replaced: dict[int, Value] = {}
        places: set[int] = set()
        for rate, at, place in sorted(fits, reverse=True):
            if rate > 0 and id(values[at]) not in replaced and place not in places:
                replaced[id(values[at])] = others[place]
                places.add(place)
        return replaced

    def _rate(self, value: Value, other: Value) -> float:
        """Return how well a value fits another one: by the words around them, the place in the text, unit and form."""
        apart = self._measure_distance(value, other)
        shared = self._count_shared(value, other)
        if value.kind == "number" and shared == 0 and apart > 0.35:
            return 0.0
        is_surplus = not any(other is mine for mine in self.free)
        return (
            1.0 - apart + 0.5 * min(shared, 4) - 0.8 * other.weak - 1.0 * is_surplus
            + 0.8 * (other.unit == value.unit and other.form == value.form)
            + 0.7 * _is_variant(value, other)
        )  # fmt: skip

    def _count_shared(self, value: Value, other: Value) -> float:
        """Count the content words that the sentences of two values share."""
        return capped(len(_context(self.pair.output.text, value.span) & _context(self.pair.source.text, other.span)), 4)

    def _is_in_place(self, value: Value, other: Value) -> bool:
        """Return whether one value stands exactly where the other stood: in the same gap, beside the same word."""
        pair = self.pair
        places = pair.source.words_between(other.span), pair.output.words_between(value.span)
        if not all(places) or not {pair.gaps[0][at] for at in places[0]} & {pair.gaps[1][at] for at in places[1]}:
            return False
        after, before = (places[0][-1] + 1, places[1][-1] + 1), (places[0][0] - 1, places[1][0] - 1)
        return (after[0] < len(pair.source) and pair.forward[after[0]] == after[1]) or (
            before[0] >= 0 and pair.forward[before[0]] == before[1] >= 0
        )

    def _compare_channels(self) -> Iterator[FactFinding]:
        """Report another way to send or reach something: by post, by e-mail."""
        ways = [
            {name: match for name, pattern in _CHANNELS.items() if (match := pattern.search(text))}
            for text in (self.pair.source.text, self.pair.output.text)
        ]
        lost, new = (set(ways[0]) - set(ways[1])), (set(ways[1]) - set(ways[0]))
        old = [ways[0][name] for name in lost if ways[0][name]["by"]]
        now = [ways[1][name] for name in new if ways[1][name]["by"]]
        if len(old) == len(now) == 1:
            yield self.pair.span_finding("changed", "address", RULED, (old[0].span(),), (now[0].span(),))

    @cached_property
    def _exchanged(self) -> dict[int, Value]:
        """For values that stand by the words of another one in the source, this one: 8 for the first, 24 for others."""
        texts = self.pair.source.text, self.pair.output.text
        exchanged: dict[int, Value] = {}
        for value, own in self._single_matches:
            if value.kind in KEYS or value.form in ("weekday", "interval"):
                continue
            words = _near_words(texts[1], value.span)
            first = _near_words(texts[0], own.span)
            for other in self.sources:
                if _may_be_confused(value, other) and not is_equal(value, other):
                    second = _near_words(texts[0], other.span)
                    if words & (second - first) and not words & (first - second):
                        exchanged[id(value)] = other
        return exchanged

    @cached_property
    def _borrowed(self) -> dict[int, tuple[Value, float]]:
        """For values that the output has more often, the lost one that each fits better, and by how much."""
        borrowed: dict[int, tuple[Value, float]] = {}
        for lost in self.free:
            for value, others in zip(self.outputs, self.equals, strict=True):
                if not others or not _may_be_confused(value, lost) or value.form != lost.form:
                    continue
                if self._count_equal(value, self.outputs) > self._count_equal(value, self.sources):
                    gain = self._fit(value, lost) - max(self._fit(value, other) for other in others)
                    if gain > borrowed.get(id(value), (lost, 0.0))[1]:
                        borrowed[id(value)] = lost, gain
        return borrowed

    @cached_property
    def _reversed(self) -> dict[int, Value]:
        """For the old and the new value of a change, the other one if they have changed places: from 520 to 480."""
        partners: dict[int, Value] = {}
        matches = [(value, others) for value, others in zip(self.outputs, self.equals, strict=True) if others]
        for (a, firsts), (b, seconds) in pairwise(matches):
            if measure(a) != measure(b) or is_equal_kind(a, b) or b.span[0] - a.span[1] > _IN_A_CHANGE:
                continue
            here = _find_old(self.pair.output.text, a.span, b.span)
            changes = [
                (first, second, _find_old(self.pair.source.text, first.span, second.span))
                for first in firsts
                for second in seconds
                if _gap(first.span, second.span) <= _NEIGHBOURS
            ]
            places = {place for _, _, place in changes} - {None}
            if here is not None and places == {1 - here}:
                first, second = next(change[:2] for change in changes if change[2] is not None)
                partners |= {id(a): second, id(b): first}
        return partners

    @cached_property
    def _single_matches(self) -> list[tuple[Value, Value]]:
        """The values of the output that are equal to one of their kind in the source, and this one."""
        return [
            (value, others[0])
            for value, others in zip(self.outputs, self.equals, strict=True)
            if len(others) == 1 and not value.weak and others[0].kind == value.kind
        ]

    def _count_equal(self, value: Value, values: Sequence[Value]) -> int:
        return sum(other.kind == value.kind and is_equal_kind(value, other) for other in values)

    def _fit(self, value: Value, other: Value) -> float:
        """Return how much the words around two values have in common."""
        texts = self.pair.output.text, self.pair.source.text
        near = len(_near_words(texts[0], value.span) & _near_words(texts[1], other.span))
        return 2 * self._is_in_place(value, other) + near + 0.5 * min(self._count_shared(value, other), 4)


def _nearest_in_order(values: Sequence[Value], place: float) -> Sequence[Value]:
    """Return the values around a place in their text."""
    middle = bisect_left(values, place, key=lambda value: value.span[0])
    start = max(0, min(middle - _NEARBY // 2, len(values) - _NEARBY))
    return values[start : start + _NEARBY]


def _gap(span: Span, other: Span) -> int:
    """Return how many characters stand between two places."""
    return max(span[0] - other[1], other[0] - span[1], 0)


def _find_nearest(values: Sequence[Value], text: ReadText, place: int) -> Value | None:
    """Return the value that is nearest to a word; one beyond a comma or "and" counts as farther away."""
    start, end = text.spans[place]

    def measure_gap(value: Value) -> int:
        between = text.text[min(end, value.span[1]) : max(start, value.span[0])]
        return _gap(value.span, (start, end)) + (_ACROSS_JOINT if _JOINT.search(between) else 0)

    return min(values, key=measure_gap, default=None)


_JOINT = re.compile(r"[,;:.]\s|\b(?:and|or|und|oder|sowie|but|aber)\b")
_ACROSS_JOINT = 25  # characters that a comma or "and" between a word and a value adds to their distance
_IN_A_CHANGE = 40  # characters between the old and the new value
_OLD = re.compile(
    r"\b(?:instead\sof|rather\sthan|(?:an)?statt|(?:not|nicht)(?:\smehr)?|no\slonger|(?:up|down|increased|reduced|raised)\sfrom"
    r"|previously|formerly|bisher|vorher|zuvor)"
    r"(?:\s(?:wie\s)?(?:bisher|um|am|on|at))?\s$"
)
_FROM = re.compile(r"\b(?:from|vo[nm])\s$")
_TO = re.compile(r"\b(?:to|auf)\s$")


def _widen(text: str, span: Span) -> Span:
    """Return a span with up to three words before it and two after it, in the same clause."""
    start, end = span
    before = re.search(r"(?:\b[\w’'-]+\s){0,3}$", text[max(0, start - 50) : start])
    after = re.match(r"(?:\s[\w’'-]+\b){0,2}", text[end : end + 50])
    return start - len(before[0] if before else ""), end + len(after[0] if after else "")


def _may_be_confused(value: Value, other: Value) -> bool:
    return value.kind == other.kind and not (value.weak or other.weak) and measure(value) == measure(other)


def _find_old(text: str, *spans: Span) -> int | None:
    """Return which of two values is the old one of a change, by the words before them; None if none is."""
    before = [text[max(0, start - 30) : start].lower() for start, _ in spans]
    for at in (0, 1):
        if _OLD.search(before[at]) or (_FROM.search(before[at]) and _TO.search(before[1 - at])):
            return at
    return None


_EXAMPLE = re.compile(
    r"\b(?:for\s(?:example|instance)\b|e\.g\.|(?:an\sexample|(?:ein|zum)\sBeispiel)\b|z\.\s?B\.|Beispiel:|Example:|(?:imagine|angenommen)\b)"
    r"[^\n]*$",
    re.IGNORECASE,
)
_CHANNELS = {
    name: re.compile(
        rf"\b(?P<by>(?:by|per|via|mit\sder|mit|through|als)\s(?:einer?\s|the\s|an?\s)?)?(?:{words})\b", re.IGNORECASE
    )
    for name, words in {
        "post": (
            "post(?:al|weg|alisch|alische[rn]?)?|letters?|(?<!-)mail|brief(?:e|post|lich)?|in\\swriting|"
            "schriftlich|envelopes?|umschlag"
        ),
        "email": "e-?mails?|(?:e-)?mailen|mailadresse",
        "phone": (
            "phone|telephone|telefon(?:isch)?|call(?:s|ing)?|ring|dial|anrufen?|ruf(?:en|t)?|hotline|helpline|sms|"
            "text\\smessage|anruf"
        ),
        "fax": "fax|telefax",
        "online": "online|internet|website|portal|elektronisch\\w*|electronic(?:ally)?|app|www|web",
        "person": "in\\sperson|personally|persönlich|visit|vor\\sort|counter|schalter",
    }.items()
}
_CONTRARY = tuple(
    (a, b)
    for one in (
        ("min", "max"),
        ("before", "after"),
        ("each", "total"),
        ("gross", "net"),
        ("by", "to"),
        ("starting", "ending"),
        ("ending", "earliest"),
        ("less", "more"),
        ("first", "last"),
    )
    for a, b in (one, one[::-1])
)


_UP_TO = r"\s(?:(?:zum|am|dem|den|the|on|and\sincluding|einschließlich)\s)*(?:\w+,?\s(?:dem\s|den\s|the\s)?)?$"
_TAXED = {
    "gross": re.compile(r"\b(?:gross|before\stax|brutto\w*|vor\s(?:Steuern|Abzug|Abzügen))\b", re.IGNORECASE),
    "net": re.compile(r"\b(?:net|after\stax|takes?\shome|netto\w*|nach\s(?:Steuern|Abzug|Abzügen))\b", re.IGNORECASE),
}
_LIMITS = {
    "starting": re.compile(rf"\b(?:ab|seit|starting|beginning|as\sof|from){_UP_TO}"),
    "ending": re.compile(rf"\b(?:until|till|by|no\slater\sthan|on\sor\sbefore|at\sthe\slatest|bis|spätestens){_UP_TO}"),
    "earliest": re.compile(rf"\b(?:frühestens|not?\searlier\sthan|not\sbefore|nicht\svor){_UP_TO}"),
}
# Words directly before a measured value, and directly after it, that relate it to another one.
_RELATIONS = {
    "less": (
        r"\bminus\s$",
        r"\s(?:too\slittle|zu\swenig|(?:less|fewer|lower|shorter|cheaper|weniger|niedriger|billiger|günstiger|kürzer)(?!\sthan\s\d|\sals\s\d))\b",
    ),
    "more": (
        r"\bplus\s$",
        r"\s(?:too\smuch|zu\sviel|(?:more|higher|longer|mehr|höher|teurer|länger)(?!\sthan\s\d|\sals\s\d))\b",
    ),
    "first": (r"\b(?:first|ersten?)\s$", ""),
    "last": (r"\b(?:last|final|letzten?)\s$", ""),
}
_BESIDE = {
    name: (before and re.compile(before), after and re.compile(after)) for name, (before, after) in _RELATIONS.items()
}


def _weekday_of(day: Value, values: Sequence[Value]) -> set[int]:
    """Return the weekday of a day, if its year is known or the weekday stands directly before it."""
    year = day.date[0] or next((value.date[0] for value in values if value.date[0]), 0)
    named = {
        int(a.number) for a, b in pairwise(values) if b is day and a.form == "weekday" and b.span[0] - a.span[1] < 8
    }
    full_date = date_of(replace(day, date=(year, *day.date[1:]))) if year and all(day.date[1:]) else None
    return named | ({full_date.isoweekday()} if full_date else set())


def _side_words(text: str, value: Value) -> set[str]:
    """Return marks for the words beside a value that limit it: gross or net, by or to, until or from."""
    start, end = value.span
    before = text[max(0, start - 14) : start].lower()
    marks: set[str] = set()
    if value.kind in ("date", "time"):
        close = text[max(0, start - 30) : start].lower()
        marks |= {name for name, pattern in _LIMITS.items() if pattern.search(close)}
    if value.kind not in ("amount", "percent", "quantity", "period", "number") or value.form:
        return marks
    close, after = text[max(0, start - 30) : start].lower(), text[end : end + 30].lower()
    for name, (left, right) in _BESIDE.items():
        if (left and left.search(close)) or (right and right.match(after)):
            marks.add(name)
    if value.kind == "number":
        return marks
    clause = (
        re.split(r"[.;:!?]\s", text[max(0, start - 40) : start])[-1]
        + " "
        + re.split(r"[.;:!?]\s", text[end : end + 40])[0]
    )
    marks |= {name for name, pattern in _TAXED.items() if pattern.search(clause)}
    if re.search(r"\b(?:by|um)\s$", before):
        marks.add("by")
    if re.search(r"(?<!up )(?<!due )\b(?:to|auf)\s$", before):
        marks.add("to")
    return marks


def _cover(sentences: Sequence[PlacedSentence], places: Sequence[int]) -> Span:
    """Return where some sentences begin and end."""
    return sentences[places[0]].start, sentences[places[-1]].end


@lru_cache(maxsize=4096)
def _context(text: str, span: Span) -> frozenset[str]:
    """Return the beginnings of the content words in the sentence of a value."""
    start = max(
        (match.end() for match in _SPLIT.finditer(text, max(0, span[0] - 300), span[0])), default=max(0, span[0] - 300)
    )
    stop = next(
        (match.start() for match in _SPLIT.finditer(text, span[1], span[1] + 300)), min(len(text), span[1] + 300)
    )
    words = _WORD.findall(f"{text[start : span[0]]} {text[span[1] : stop]}".lower())
    return frozenset(word[:6] for word in words if word not in _SMALL)


@lru_cache(maxsize=4096)
def _near_words(text: str, span: Span) -> frozenset[str]:
    """Return the beginnings of the content words near a value, in its clause."""
    before = re.split(
        r"[.!?;:,\n(]\s|\b(?:and|und|but|aber|while|whereas)\b", text[max(0, span[0] - 60) : span[0]].lower()
    )[-1]
    after = re.split(
        r"[.!?;:,\n)](?:\s|$)|\b(?:and|und|but|aber|while|whereas)\b", text[span[1] : span[1] + 50].lower()
    )[0]
    return frozenset(word[:6] for word in _WORD.findall(before + " " + after) if word not in _SMALL)


def _differ_in_a_digit(first: str, second: str) -> bool:
    """Return whether two numbers have the same digits in another order, or differ in one, or in one that was added."""
    a, b = digits(first), digits(second)
    if not a or not b:
        return False
    if len(a) == len(b):
        return len(a) > 1 and (sorted(a) == sorted(b) or sum(x != y for x, y in zip(a, b, strict=True)) == 1)
    short, long = sorted((a, b), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _is_variant(value: Value, other: Value) -> bool:
    """Return whether two values differ in a digit, in the order of their digits, or only in the unit."""
    if value.kind in ("date", "time") and value.form != "year":
        return False
    return (value.raw == other.raw and value.raw > 1) or _differ_in_a_digit(value.text, other.text)


def _next_word(text: str, span: Span) -> str:
    match = re.match(r"\.?\s?-?([^\W\d_]{3,})", text[span[1] : span[1] + 40])
    return match[1].lower()[:6] if match else ""


def _closest(value: Value, others: Sequence[Value]) -> Sequence[Value]:
    """Return those of some equal values that are as exact as a value, or all: "December" is not "22 December"."""
    return [other for other in others if (other.kind, other.form) == (value.kind, value.form)] or others
