"""Values of an output compared with those of its source: equal, derived, changed or added; and which are lost.

A value is equal if it stands for the same thing in any notation (7 days, a week), and derived if it follows from values
of the source that stand together (3 × 400 mg a day, 1,200 mg). Other values are changed if the source has one of the
same kind that the output does not have, otherwise added. Equal values are compared by what limits them, too.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

from plainly.factcheck.derivations import Derivations, date_of
from plainly.factcheck.equality import (
    KEYS,
    classify_harmless,
    is_alike,
    is_close,
    is_equal,
    is_equal_kind,
    measure,
)
from plainly.factcheck.reading import CERTAIN, FactFinding, MatchedPair, Span
from plainly.factcheck.values import Value, digits, read_values, squeeze, words

LIKELY, UNLIKELY = 0.6, 0.3  # of a finding that a person has to look at, and of one that counts little
_CONFUSABLE = ("address", "amount", "percent", "quantity", "date", "time", "phone", "email")
_NEARBY = 48  # values of the source that a new one is compared with: the nearest in a long text
_OFTEN_CALCULATED = ("percent", "period", "date", "time")  # certain only where one is lost and one is new
LEAST = 0.2  # the confidence from which a finding is reported
_SPLIT = re.compile(r"(?<=[.!?;:])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_SMALL = words("small")


def check_values(pair: MatchedPair) -> Iterator[FactFinding]:
    """Compare every value in the output with those of the source."""
    language = pair.language or "en"
    sources, outputs = (read_values(reading.text, language) for reading in (pair.source, pair.output))
    yield from _Comparison(pair, sources, outputs).findings()


@dataclass(frozen=True)
class _Evidence:
    """What speaks for the change of a value of the source to another one."""

    in_place: bool  # it stands in the same gap, beside the same word
    shared: int  # content words that the two sentences share
    only: bool  # no other value of its kind is missing, and no other is new
    lost: bool  # the output does not have the value of the source at all
    variant: bool  # the same digits in another order, or with one changed; the same number with another unit
    follows: bool  # it may be calculated from other values
    beside: bool  # the same word follows
    rated: bool  # amounts or quantities may be given for another time: 120 a year, 10 a month


def _judge_change(value: Value, other: Value, evidence: _Evidence) -> float:
    """Return the confidence that a value was changed."""
    is_beside = evidence.shared >= 2 or evidence.variant or (evidence.in_place and evidence.shared > 0)
    is_exact = evidence.lost and (evidence.only or (is_beside and value.kind not in _OFTEN_CALCULATED))
    if value.kind in KEYS:
        return CERTAIN if len(value.key) >= 4 or is_exact or evidence.in_place else LIKELY
    is_written = not (value.in_words or other.in_words or value.weak or other.weak)
    is_in_place = is_exact and evidence.in_place and evidence.shared > 0 and is_written
    if value.form == "impossible" or (is_in_place and not evidence.follows):
        return CERTAIN
    if {value.kind, other.kind} == {"date", "number"}:  # a year that cannot be one: 7536
        return CERTAIN if evidence.lost and evidence.only and evidence.shared > 0 else LIKELY
    if value.kind != other.kind:
        return LIKELY if evidence.variant and evidence.only else UNLIKELY
    if value.kind == "number":
        return _judge_number(value, other, evidence)
    if value.weak or other.weak:
        if value.form == other.form == "bare":
            return CERTAIN if evidence.only and evidence.lost else UNLIKELY
        if value.kind == "percent" and value.raw != 0.5:  # half: most of them
            return LIKELY if evidence.only and evidence.lost else UNLIKELY
        is_pair = value.form == other.form and evidence.only and evidence.lost
        is_stated = _is_stated(value) and _is_stated(other) and not evidence.rated
        return UNLIKELY if not is_pair else CERTAIN if is_stated else LIKELY
    if evidence.follows:
        return LIKELY if evidence.variant and evidence.lost else UNLIKELY
    is_kept = evidence.in_place and evidence.shared > 0
    return CERTAIN if is_exact and (is_kept or _differ_in_one_part(value, other, evidence)) else LIKELY


def _differ_in_one_part(value: Value, other: Value, evidence: _Evidence) -> bool:
    """Return whether only one part of a value was changed: number or unit, hour or minutes, day or month.

    Otherwise it may be another value altogether: one that was calculated, or was not read as a whole.
    """
    if value.kind == "time":
        pairs = [(int(a), int(b)) for a in value.numbers for b in other.numbers]
        return any(a // 60 % 12 == b // 60 % 12 or (a - b) % 30 == 0 for a, b in pairs)
    if value.kind in ("period", "quantity"):
        is_whole = (value.scale < 28) == (other.scale < 28)  # weeks and months cannot be converted exactly
        return (
            value.raw == other.raw or value.scale == other.scale or (is_whole and evidence.only and evidence.shared > 0)
        )
    if value.kind == "date" and value.form == other.form == "day":
        months, days = zip(value.date[1:], other.date[1:], strict=True)
        return months[0] == months[1] or days[0] == days[1] or months == days[::-1]
    return value.kind != "date" or value.form == other.form


def _judge_number(value: Value, other: Value, evidence: _Evidence) -> float:
    """Return the same for a number without a unit, which must count the same."""
    is_count = not value.in_words and not other.in_words and {value.form, other.form} == {"", "ordinal"}
    if (value.form != other.form or value.form == "special") and not is_count:
        return UNLIKELY
    if (value.in_words and value.raw <= 12) or value.form:
        is_exact = evidence.lost and evidence.only
        return CERTAIN if is_exact and evidence.beside else LIKELY if is_exact and evidence.in_place else UNLIKELY
    return CERTAIN if evidence.lost and (evidence.in_place or evidence.beside or evidence.only) else LIKELY


def _judge_addition(value: Value) -> float:
    """Return the confidence that a value was added."""
    if value.kind in KEYS:
        return CERTAIN if len(value.key) >= 4 else LIKELY
    if value.form == "impossible":
        return CERTAIN
    is_one = value.raw <= 1 and value.kind != "date" and is_close(value.number, value.raw * value.scale)
    is_name = value.kind == "time" and not re.search(r"\d|\w\s\w", value.text)  # noon
    is_vague = (value.in_words and value.kind != "time") or value.about or is_one or is_name or value.form == "weekday"
    return 0.0 if value.weak else UNLIKELY if is_vague else LIKELY


class _Comparison:
    """The values of one pair."""

    def __init__(self, pair: MatchedPair, sources: Sequence[Value], outputs: Sequence[Value]) -> None:
        self.pair, self.sources, self.outputs = pair, sources, outputs
        self.equals = [[other for other in sources if is_equal(value, other)] for value in outputs]
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
            if value.kind not in KEYS and not value.weak and not any(value is lost for lost in self.free):
                same = sum(is_equal_kind(value, other) for other in self.sources if other.kind == value.kind)
                matches = sum(any(other is value for other in others) for others in self.equals)
                if matches < same:
                    surplus.append(value)
        return surplus

    def findings(self) -> Iterator[FactFinding]:
        unequal = []
        for value, others in zip(self.outputs, self.equals, strict=True):
            if others:
                yield from self._check_equal(value, others)
            elif not self._is_contained(value):
                unequal.append(value)
        derived: set[str] = set()
        for from_lost in (True, False):  # what explains a lost value first
            doubtful = []
            for value in unequal:
                explained = self._explain(value, from_lost=from_lost)
                if explained is None:
                    doubtful.append(value)
                else:
                    derived.add(value.kind)
                    yield explained
            unequal = doubtful
        yield from self._check_doubtful(unequal)
        yield from self._find_exchanges()
        yield from self._find_wrong_weekdays()
        yield from self._compare_channels()
        for value in self.free:
            if not value.weak and value.kind != "number" and value.form not in ("weekday", "interval", "fraction"):
                lost = self.pair.span_finding("lost", value.kind, 1.0, (value.span,), (), 0.0)
                yield replace(lost, is_confusable=self._is_confusable(value, derived))

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
                yield self.pair.span_finding("changed", "date", CERTAIN, (), (weekday.span,))

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

    # Equal values: what limits them

    def _check_equal(self, value: Value, others: Sequence[Value]) -> Iterator[FactFinding]:
        if (turned := self._find_turned(value, others)) is not None:
            yield self._changed(turned, value, CERTAIN)
        elif value.text.lower() not in {other.text.lower() for other in others} and not value.weak:
            yield self.pair.span_finding("harmless", "notation", 1.0, (others[0].span,), (value.span,))

    def _find_turned(self, value: Value, others: Sequence[Value]) -> Value | None:
        """Return the equal value of the source that a contrary word belongs to: at least and at most."""
        own = {value.bound, value.share, *_side_words(self.pair.output.text, value)} - {""}
        for ours, theirs in _CONTRARY:
            if ours in own:
                marks = [{other.bound, other.share, *_side_words(self.pair.source.text, other)} for other in others]
                if all(theirs in mark and ours not in mark for mark in marks):
                    return others[0]
        if value.per and value.kind in ("amount", "percent"):
            due = [other.per for other in others if other.kind == value.kind]
            if due and all(per and not is_close(per, value.per, 0.01) for per in due):
                return others[0]
        return None

    # Values that the source does not have

    def _explain(self, value: Value, *, from_lost: bool) -> FactFinding | None:
        """Return what makes a value harmless that the source does not have: it is rounded, converted or calculated."""
        for other in self._near(value) if from_lost else ():
            if kind := classify_harmless(value, other):
                self._take(other)
                return self.pair.span_finding("harmless", kind, 1.0, (other.span,), (value.span,))
        operands = self.derivations.origin(value, self._near(value), from_lost=from_lost)
        if operands is None:
            return None
        self._take(*operands)
        self.derivations.results.append(replace(value, span=operands[0].span) if operands else value)
        return self.pair.span_finding("harmless", "arithmetic", 0.6, (), (value.span,))

    def _near(self, value: Value) -> Sequence[Value]:
        """Return the values of the source that a new one is compared with: the nearest in a long text."""
        place = value.span[0] * len(self.pair.source.text) / max(1, len(self.pair.output.text))
        middle = bisect_left(self.sources, place, key=lambda other: other.span[0])
        start = max(0, min(middle - _NEARBY // 2, len(self.sources) - _NEARBY))
        return self.sources[start : start + _NEARBY]

    def _take(self, *others: Value) -> None:
        ids = {id(other) for other in others}
        self.free[:] = [value for value in self.free if id(value) not in ids]

    def _changed(self, other: Value, value: Value, sure: float) -> FactFinding:
        return self.pair.span_finding("changed", value.kind, sure, (other.span,), (value.span,))

    # Values that the source does not have: which one each of them replaces

    def _check_doubtful(self, values: Sequence[Value]) -> Iterator[FactFinding]:
        """Report values without an origin: as changed, if one of the source is missing, or as added."""
        replaced = self._align(values)
        for value in values:
            if (other := replaced.get(id(value))) is not None:
                evidence = self._weigh(value, other, values)
                sure = _judge_change(value, other, evidence)
                yield self._changed(other, value, sure)
            elif (sure := _judge_addition(value)) >= LEAST and not self._is_example(value):
                yield self.pair.span_finding("added", value.kind, sure, (), (value.span,))
        self._take(*replaced.values())

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
        length = max(1, len(self.pair.source.text)), max(1, len(self.pair.output.text))
        apart = abs(other.span[0] / length[0] - value.span[0] / length[1])
        shared = self._count_shared(value, other)
        if value.kind == "number" and shared == 0 and apart > 0.35:
            return 0.0
        is_surplus = not any(other is mine for mine in self.free)
        return (
            1.0 - apart + 0.5 * min(shared, 4) - 0.8 * other.weak - 1.0 * is_surplus
            + 0.8 * (other.unit == value.unit and other.form == value.form)
            + 0.7 * _is_variant(value, other)
        )  # fmt: skip

    def _count_shared(self, value: Value, other: Value) -> int:
        return len(_context(self.pair.output.text, value.span) & _context(self.pair.source.text, other.span))

    def _weigh(self, value: Value, other: Value, values: Sequence[Value]) -> _Evidence:
        """Return what speaks for the change of one value to another."""
        return _Evidence(
            in_place=self._is_in_place(value, other),
            shared=self._count_shared(value, other),
            only=sum(is_alike(value, mine) and mine.kind == other.kind for mine in self.free) == 1
            and sum(is_alike(mine, other) and mine.kind == value.kind for mine in values) == 1,
            lost=any(other is mine for mine in self.free),
            variant=_is_variant(value, other),
            follows=self.derivations.may_follow(value, self._near(value)),
            beside=_next_word(self.pair.output.text, value.span) == _next_word(self.pair.source.text, other.span) != "",
            rated=any(mine.kind in ("amount", "quantity") for mine in self.outputs),
        )

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
            yield self.pair.span_finding("changed", "address", CERTAIN, (old[0].span(),), (now[0].span(),))

    def _find_exchanges(self) -> Iterator[FactFinding]:
        """Report values that both texts have, but of different things: 24 for the first child, 8 for each further."""
        kinds = ("amount", "percent", "quantity", "number", "time", "date", "period")
        pairs = []
        texts = self.pair.source.text, self.pair.output.text
        for value, others in zip(self.outputs, self.equals, strict=True):
            if (
                value.kind not in kinds
                or value.weak
                or len(others) != 1
                or others[0].kind != value.kind
                or value.form in ("weekday", "interval")
            ):
                continue
            own = _near_words(texts[1], value.span)
            first = _near_words(texts[0], others[0].span)
            for other in self.sources:
                if (
                    other is others[0]
                    or other.kind != value.kind
                    or other.weak
                    or measure(other) != measure(value)
                    or is_equal(value, other)
                ):
                    continue
                second = _near_words(texts[0], other.span)
                if own & (second - first) and not own & (first - second):
                    pairs.append((value, others[0], other))
        for value, old, new in pairs:
            is_swapped = any(o is new and n is old for _, o, n in pairs)
            is_repeated = any(new is lost for lost in self.free) and any(
                _near_words(texts[1], mine.span) & (_near_words(texts[0], old.span) - _near_words(texts[0], new.span))
                for mine, others in zip(self.outputs, self.equals, strict=True)
                if mine is not value and others and others[0] is old
            )
            if (is_swapped or is_repeated) and (value.kind != "number" or not value.in_words):
                self._take(new)
                yield self._changed(new, value, CERTAIN)


def _is_stated(value: Value) -> bool:
    """Return whether a value says how often: "a week" and "im Monat" may belong to an amount, "daily" to times."""
    return value.form == "interval" and not re.match(r"(?:an?|per|pro|[ai]m|in|daily|täglich)\b", value.text.lower())


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
    )
    for a, b in (one, one[::-1])
)


_UP_TO = r"\s(?:(?:zum|am|dem|den|the|on|and\sincluding|einschließlich)\s)*(?:\w+,?\s(?:dem\s|den\s|the\s)?)?$"
_TAXED = {
    "gross": re.compile(r"\b(?:gross|before\stax|brutto\w*|vor\s(?:Steuern|Abzug|Abzügen))\b", re.IGNORECASE),
    "net": re.compile(r"\b(?:net|after\stax|takes?\shome|netto\w*|nach\s(?:Steuern|Abzug|Abzügen))\b", re.IGNORECASE),
}
_LIMITS = {
    "starting": re.compile(rf"\b(?:ab|seit|starting|as\sof|from){_UP_TO}"),
    "ending": re.compile(rf"\b(?:until|till|by|no\slater\sthan|at\sthe\slatest|bis|spätestens){_UP_TO}"),
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
    if value.kind not in ("amount", "percent", "quantity", "period") or value.form == "interval":
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
