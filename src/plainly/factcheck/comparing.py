"""Values of an output compared with those of its source: equal, derived, changed or added; and which are lost.

A value is equal if it stands for the same thing in any notation (7 days, a week), and derived if it follows from values
of the source that stand together (3 × 400 mg a day, 1,200 mg). Other values are changed if the source has one of the
same kind that the output does not have, otherwise added. Equal values are compared by what limits them, too.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cached_property, lru_cache
from itertools import combinations, pairwise

from plainly.factcheck.reading import CERTAIN, FactFinding, MatchedPair, Span
from plainly.factcheck.values import ADULT, LAST_DAYS, Value, digits, read_values, relative_days, squeeze, words

LIKELY = 0.6  # of a finding that a person has to look at
_EXACT = 1e-6  # the relative difference up to which two numbers are the same
_NEARBY = 48  # values of the source that a new one is compared with: the nearest in a long text
_TOGETHER, _IN_A_SENTENCE = 300, 160  # characters between values that are multiplied, or added
_KEYS = ("reference", "phone", "email", "url", "address")
_MEASURED = ("amount", "percent", "quantity", "period", "number")
_SPLIT = re.compile(r"(?<=[.!?;:])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_SMALL = words("small")


def check_values(pair: MatchedPair) -> Iterator[FactFinding]:
    """Compare every value in the output with those of the source."""
    language = pair.language or "en"
    sources, outputs = (read_values(reading.text, language) for reading in (pair.source, pair.output))
    yield from _Comparison(pair, sources, outputs).findings()


class _Comparison:
    """The values of one pair."""

    def __init__(self, pair: MatchedPair, sources: Sequence[Value], outputs: Sequence[Value]) -> None:
        self.pair, self.sources, self.outputs = pair, sources, outputs
        self.lower = pair.source.text.lower()
        self.equals = [[other for other in sources if is_equal(value, other)] for value in outputs]
        self.equals = [self._with_year(value, others) for value, others in zip(outputs, self.equals, strict=True)]
        matched = {id(other) for others in self.equals for other in others}
        self.free = [value for value in sources if id(value) not in matched]

    @cached_property
    def squeezed(self) -> str:
        return squeeze(self.pair.source.text)

    @cached_property
    def _surplus(self) -> list[Value]:
        """Values that the source has more often than the output."""
        surplus = []
        for value in self.sources:
            if value.kind not in _KEYS and not value.weak and not any(value is lost for lost in self.free):
                same = sum(_is_equal_kind(value, other) for other in self.sources if other.kind == value.kind)
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
        # What is certain first, so that it takes its counterpart.
        for value in sorted(unequal, key=lambda value: (value.weak, value.kind == "number", value.span)):
            yield from self._check_unequal(value)
        yield from self._find_exchanges()
        yield from self._compare_channels()
        for value in self.free:
            if not value.weak and value.kind != "number" and value.form not in ("weekday", "interval", "fraction"):
                yield self.pair.span_finding("lost", value.kind, 1.0, (value.span,), (), 0.0)

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
        if value.kind in _KEYS and len(key) >= 4 and squeeze(key) in self.squeezed:
            return True
        return value.kind == "number" and len(key) >= 5 and key in self.squeezed

    # Equal values: what limits them

    def _check_equal(self, value: Value, others: Sequence[Value]) -> Iterator[FactFinding]:
        if (turned := self._find_turned(value, others)) is not None:
            yield self._changed(turned, value, LIKELY)
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
        if value.per and value.kind == "amount":
            due = [other.per for other in others if other.kind == "amount"]
            if due and all(per and not _is_close(per, value.per, 0.01) for per in due):
                return others[0]
        return None

    # Values that the source does not have

    def _check_unequal(self, value: Value) -> Iterator[FactFinding]:
        place = value.span[0] * len(self.pair.source.text) / max(1, len(self.pair.output.text))
        middle = bisect_left(self.sources, place, key=lambda other: other.span[0])
        start = max(0, min(middle - _NEARBY // 2, len(self.sources) - _NEARBY))
        near = self.sources[start : start + _NEARBY]
        for other in near:
            if kind := _classify_harmless(value, other):
                self._take(other)
                yield self.pair.span_finding("harmless", kind, 1.0, (other.span,), (value.span,))
                return
        if self._is_derived(value, near):
            yield self.pair.span_finding("harmless", "arithmetic", 0.6, (), (value.span,))
            return
        counterpart = self._find_counterpart(value)
        sure = self._estimate(value, counterpart)
        if sure >= LIKELY and value.kind in ("amount", "quantity") and self._is_calculated_in_steps(value, near):
            is_close = counterpart is not None and _differ_in_a_digit(value.text, counterpart.text)
            sure = LIKELY if sure >= CERTAIN and not is_close else sure if is_close else 0.3
        if sure < 0.2:
            return
        if counterpart is not None:
            if sure >= 0.5:
                self._take(counterpart)
            yield self._changed(counterpart, value, sure)
        else:
            yield self.pair.span_finding("added", value.kind, sure, (), (value.span,))

    def _take(self, other: Value) -> None:
        self.free = [value for value in self.free if value is not other]

    def _changed(self, other: Value, value: Value, sure: float) -> FactFinding:
        return self.pair.span_finding("changed", value.kind, sure, (other.span,), (value.span,))

    def _estimate(self, value: Value, other: Value | None) -> float:
        """Return the confidence that a value was changed (from another one) or added.

        A value that replaces no value of the source may follow from it in a way that is not known here: it is doubtful.
        """
        sure = self._estimate_alone(value, other)
        if sure < CERTAIN or value.kind in _KEYS:
            return sure
        return sure if other is not None and self._is_replaced(value, other) else LIKELY

    def _is_replaced(self, value: Value, other: Value) -> bool:
        """Return whether a value stands for another one beyond doubt.

        It stands in its place; or no other value of the source may be meant, and the words around it agree, or there
        are few values and it is the same with another digit or unit.
        """
        if self._is_in_place(value, other):
            return True
        if value.kind != other.kind or any(mine is not other and _is_alike(value, mine) for mine in self.free):
            return False
        shared = len(_context(self.pair.output.text, value.span) & _context(self.pair.source.text, other.span))
        is_variant = _is_close(value.raw, other.raw) or _differ_in_a_digit(value.text, other.text)
        are_few = max(len(self.sources), len(self.outputs)) <= 3
        return shared >= 2 or (are_few and (is_variant or shared == 1))

    def _estimate_alone(self, value: Value, other: Value | None) -> float:
        if value.kind in ("email", "url", "phone", "reference", "address"):
            is_short = (
                value.kind == "reference"
                and value.form == "label"
                and (other is None or other.form not in ("label", "house"))
            )
            is_code = value.kind == "reference" and value.form == "code" and len(value.key) < 4
            return LIKELY if is_short or (is_code and other is None) else CERTAIN
        if value.kind == "number":
            return CERTAIN if len(digits(value.text)) >= 7 else self._estimate_number(value, other)
        if value.kind == "percent" and value.form == "fraction":
            return 0.0 if other is None else LIKELY if other.form == "fraction" else 0.35
        if value.kind == "period":
            if value.form == "bare":
                return CERTAIN if other is not None and other.form == "bare" else 0.0
            if value.form == "interval":
                is_pair = other is not None and other.form == "interval"
                return CERTAIN if is_pair else 0.3 if value.raw == 1 else LIKELY
            if value.raw == 1 and value.in_words:
                return CERTAIN if other is not None and other.form != "interval" else 0.3
            if any(
                mine.kind == "period"
                and mine.unit == value.unit
                and 0 < abs(mine.number - value.number) < 0.09 * value.number
                and (mine.scale < 28) != (value.scale < 28)
                for mine in self.sources
            ):
                return LIKELY  # about a month: four weeks
            is_unit = any(
                mine.kind == "period" and mine.raw == value.raw and mine.form == value.form for mine in self.sources
            )
            if value.in_words and value.raw in (100, 1000) and other is None:
                return 0.3
            return CERTAIN if other is not None or is_unit or not value.in_words else LIKELY
        if value.kind == "date":
            if value.form == "weekday":
                return CERTAIN if other is not None else 0.35
            if value.form in ("month", "quarter", "decade", "century", "year") and other is None:
                return LIKELY
            return CERTAIN
        if value.kind == "quantity" and value.in_words and value.raw <= 2:
            return 0.3 if other is None or value.raw == 1 else CERTAIN
        return LIKELY if value.unit == "pound" and other is None else CERTAIN

    def _estimate_number(self, value: Value, other: Value | None) -> float:
        same = (
            other is not None
            and _next_word(self.pair.output.text, value.span) == _next_word(self.pair.source.text, other.span) != ""
        )
        if value.weak or value.form in ("ordinal", "times", "special"):
            is_digits = not value.in_words and value.form in ("ordinal", "times")
            return (CERTAIN if is_digits and same else 0.3) if other is not None else 0.0
        if other is None:
            return 0.3 if value.in_words and (value.raw <= 12 or value.raw in (100, 1000)) else LIKELY
        if other.weak:
            return 0.3
        in_place = self._is_in_place(value, other)
        if value.in_words and value.raw <= 12:
            return CERTAIN if same and in_place else LIKELY if same or in_place else 0.35
        return CERTAIN if same or in_place or not value.in_words else LIKELY

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

    # What follows from the source

    def _is_derived(self, value: Value, sources: Sequence[Value]) -> bool:
        if value.kind == "phone":
            numbers = [other.key for other in sources if other.kind == "phone"]
            ends = {other.key for other in sources if other.kind == "reference"} | {
                digits(other.text) for other in sources if other.kind == "number"
            }
            return any(
                value.key.endswith(end) and number.startswith(value.key[: -len(end)])
                for end in ends
                if len(end) >= 2
                for number in numbers
            )
        if value.kind == "date":
            return self._is_derived_date(value)
        if value.kind == "time":
            return self._is_derived_time(value)
        if value.kind in _MEASURED:
            if value.raw == 18 and ADULT & set(re.findall(r"[\w-]+", self.lower)):
                return True
            return (
                self._is_calculated(value, sources)
                or self._is_count(value)
                or self._is_border(value)
                or self._is_between(value)
            )
        return False

    def _is_between(self, value: Value) -> bool:
        """Return whether a period lies between two times or two days of the source."""
        if value.kind != "period":
            return False
        if value.form == "interval":  # four times a year, with four days
            return (
                value.raw > 1
                and sum(other.kind == "date" and other.form in ("day", "month") for other in self.sources) == value.raw
            )
        if (value.number >= 3650 and re.match(r"\s(?:ago|old)\b", self.pair.output.text[value.span[1] :])) or re.search(
            r"\bvor\s(?:\w+\s){0,2}$", self.pair.output.text[: value.span[0]]
        ):
            years = value.number / 365.25
            since = [
                other.date[0] or (other.number * 100 - 50 if other.form == "century" else other.number)
                for other in self.sources
                if other.form in ("year", "decade", "century", "day") and other.kind == "date"
            ]
            return any(0.75 * years <= 2025 - year <= 1.35 * years for year in since)
        if value.number < 1:
            times = sorted({number for other in self.sources if other.kind == "time" for number in other.numbers})
            gap = round(value.number * 1440)
            return any(
                (later - earlier) % 1440 == gap or (earlier - later) % 1440 == gap
                for earlier, later in combinations(times, 2)
            )
        days = [date_of(other) for other in self.sources if other.kind == "date" and other.form == "day"]
        gaps = {abs((later - earlier).days) for earlier, later in combinations([day for day in days if day], 2)}
        return any(round(value.number) in (gap, gap + 1) for gap in gaps)

    def _is_border(self, value: Value) -> bool:
        """Return whether a whole number is the last before or the first after one: below 16, up to 15."""
        if value.kind not in ("number", "period") or not value.raw.is_integer():
            return False
        near = {
            other.raw - value.raw
            for other in self.sources
            if other.kind in ("number", "period") and (value.kind == "number" or other.scale == value.scale)
        }
        text, (start, end) = self.pair.output.text.lower(), value.span
        around = f"{text[max(0, start - 20) : start]}|{text[end : end + 20]}"
        is_last = 1 in near and re.search(
            r"\b(?:to|until|bis|bis zu|up to|und|and|höchstens|at most)\s(?:the age of\s|age\s|zum alter von\s|"
            r"einschließlich\s)?\|.|\|\s+(?:or|oder|and|und)\s(?:less|fewer|younger|weniger|jünger)",
            around,
        )
        is_first = -1 in near and re.search(
            r"\b(?:from|ab|day|tag|und|and|oder|or|over)\s\|.|\|\s+(?:or|oder|and|und)\s(?:more|older|mehr|älter)",
            around,
        )
        return bool(is_last or is_first)

    def _is_count(self, value: Value) -> bool:
        """Return whether a small number may count what the source lists."""
        if value.kind != "number" or not value.in_words:
            return False
        listed = (
            self.pair.source.tokens.count(",")
            + 1
            + sum(word in ("and", "und", "or", "oder") for word in self.pair.source.lower)
        )
        return 2 <= value.raw <= min(9, listed)

    def _is_calculated(self, value: Value, sources: Sequence[Value]) -> bool:
        measured = [other for other in sources if other.kind in _MEASURED and other.numbers]
        same = [
            other
            for other in measured
            if _measure(other) == _measure(value) or (value.kind == "number" and other.kind == "amount")
        ]
        target = value.number
        for a, b in combinations(same, 2):
            if _are_together(a, b, _IN_A_SENTENCE if value.kind != "number" else _IN_A_SENTENCE // 2) and not (
                a.weak or b.weak
            ):
                low, high = sorted((a.number, b.number))
                if value.kind == "number" and value.in_words and value.raw <= 2:
                    break
                if _is_close(target, high + low) or (
                    _is_close(target, high - low)
                    and value.kind != "period"
                    and (target > 10 or value.kind != "number" or a.kind != "number")
                ):
                    return True
                if value.kind == "percent" and high and abs(100 * low / high - target) < 0.5 and a.kind != "percent":
                    return True
        if value.kind == "percent":
            numbers = [other for other in measured if other.kind in ("number", "amount", "quantity") and not other.weak]
            for a, b in combinations(numbers, 2):
                low, high = sorted((a.number, b.number))
                if (
                    _are_together(a, b)
                    and _measure(a) == _measure(b)
                    and high
                    and (
                        abs(100 * low / high - target) < 0.5 or abs(100 * (high - low) / low - target) < 0.5
                        if low
                        else False
                    )
                ):
                    return True
            if any(
                other.kind == "percent" and _is_close(100 - other.number, target)
                for other in sources
                if any(is_equal(mine, other) for mine in self.outputs)
            ):
                return True
        if value.kind == "number" and value.raw <= 12:
            return False
        beside = [
            mine.raw
            for mine in self.outputs
            if mine.kind == "number"
            and 2 <= mine.raw <= 12
            and not mine.form
            and abs(mine.span[0] - value.span[0]) < 60
        ]
        if value.kind in ("amount", "quantity") and any(
            _is_close(target, other.number * times) for other in same for times in beside
        ):
            return True
        intervals = {
            v.number for v in (*self.sources, *self.outputs) if v.kind == "period" and v.form == "interval" and v.number
        }
        intervals |= {v.per for v in (*self.sources, *self.outputs) if v.per}
        ratios = {a / b for a in intervals for b in intervals if a > b * 1.5}
        bases = [(other, other.number) for other in same]
        for other in measured:
            factors = []
            if other.kind == "number" and other.raw >= 2 and other.form != "ordinal":
                factors = [other.raw, 1 / other.raw]
            elif other.kind == "percent" and 0 < other.number < 100:
                share = other.number / 100
                factors = [share, 1 - share]
                if value.kind != "percent" and other.form != "fraction":
                    factors += [1 + share, 1 / (1 + share), share / (1 + share)]
            elif other.raw > 1 and (other.kind, value.kind) in _RATES:
                factors = [other.raw, 1 / other.raw]
            for base, number in bases:
                if base is not other and _are_together(base, other):
                    for factor in factors:
                        if _comes_to(target, number * factor):
                            return True
                        # Two steps: 3 × 400 mg, less a third.
                        for third in measured:
                            if (
                                third is not other
                                and third is not base
                                and third.kind == "percent"
                                and third.form == "fraction"
                                and factor > 1
                                and _are_together(base, third)
                            ):
                                share = third.number / 100
                                if _comes_to(target, number * factor * (1 - share)) or _comes_to(
                                    target, number * factor * share
                                ):
                                    return True
        if value.kind in ("amount", "quantity"):
            return any(
                _is_close(target, number * rate, 0.01)
                for _, number in bases
                for ratio in ratios
                for rate in (ratio, 1 / ratio)
            )
        if value.kind != "period" or value.form == "interval":
            return False
        return any(
            _is_close(target, number * times)
            and _REPEATED.search(self.lower, max(0, base.span[0] - _IN_A_SENTENCE), base.span[1] + _IN_A_SENTENCE)
            for base, number in bases
            for times in (2, 3)
        )

    def _is_calculated_in_steps(self, value: Value, sources: Sequence[Value]) -> bool:
        """Return whether a number may come out in two steps, or from three values: then it may still be right."""
        same = [
            other for other in (*sources, *self.outputs) if other is not value and _measure(other) == _measure(value)
        ][:14]
        numbers = list(dict.fromkeys(other.number for other in same if other.numbers))
        plain = {
            other.raw
            for other in (*sources, *self.outputs)
            if other.kind in ("number", "quantity", "period") and 1 < other.raw <= 1000
        }
        shares = {other.number / 100 for other in sources if other.kind == "percent" and 0 < other.number < 100}
        factors = (
            plain
            | {1 / number for number in plain}
            | shares
            | {1 - share for share in shares}
            | {12.0, 1 / 12, 52.0, 4.0, 0.25, 2.0, 0.5, 3.0, 1 / 3}
        )
        target = value.number
        results = {number * factor for number in numbers for factor in factors}
        if any(_comes_to(target, result) for result in results):
            return True
        if any(_comes_to(target, a + sign * b) for a in results for b in numbers for sign in (1, -1)):
            return True
        return any(_is_close(target, sum(some)) for size in (2, 3, 4) for some in combinations(numbers[:10], size))

    def _is_derived_date(self, value: Value) -> bool:
        """Return whether a day, month or weekday follows from the dates and periods of the source."""
        dates = [other for other in self.sources if other.kind == "date"]
        has_relative = bool(relative_days().search(self.lower))
        if value.form == "weekday":
            full = [
                other.date
                for other in (*dates, *(mine for mine in self.outputs if mine.kind == "date"))
                if all(other.date)
            ]
            names = {_weekday(*day) for day in full} - {0}
            if value.number in names or has_relative:
                return True
            around = {name for day in full for name in (_weekday(*_shift(day, -1)), _weekday(*_shift(day, 1)))}
            days = sorted({other.number for other in dates if other.form == "weekday"})
            is_between = (
                len(days) >= 2 and days[0] < value.number < days[-1] and re.search(r"\b(?:to|bis|–|-)\b", self.lower)
            )
            return value.number in around or bool(is_between)
        if _MOVABLE.search(self.lower) and not self._has_lost_day():
            return True
        year, month, day = value.date
        if (
            (month, day) in _QUARTER_DAYS
            and re.search(r"quart|halbjahr|half-year", self.lower)
            and not self._has_lost_day()
        ):
            return True
        if value.form in ("month", "quarter"):
            years = {other.date[0] for other in dates} - {0}
            if year and (
                (years and year not in years)
                or any(
                    other.date[0] == year and other.date[1] not in (0, month)
                    for other in dates
                    if other.form != "quarter"
                )
            ):
                return False
            months = _covered_months(dates, self.lower)
            return month in months or any(
                other.form == "day" and other.date[1] in (month, month % 12 + 1) and has_relative for other in dates
            )
        if value.form == "year":
            years = {other.date[0] for other in dates} - {0}
            spans = [
                round(other.number / 365.25) for other in self.sources if other.kind == "period" and other.number >= 365
            ]
            is_age = re.search(r"\b(?:aged?|old|alter|alt)\b", self.lower)
            ages = [
                int(other.raw) for other in self.sources if is_age and other.kind == "number" and 1 < other.raw < 130
            ]
            return any(abs(year - base) == span for base in years for span in (*spans, *ages)) or any(
                other.form == "century"
                and (other.number - 1) * 100 <= year <= other.number * 100
                and re.search("mid|mitte", self.lower)
                for other in dates
            )
        if value.form != "day":
            return False
        known_years = {other.date[0] for other in dates if other.date[0]}
        if year and known_years and year not in known_years and not any(abs(year - base) <= 1 for base in known_years):
            return False
        steps = {
            round(other.number) for other in self.sources if other.kind == "period" and 1 <= other.number <= 400
        } | ({1} if has_relative else set())
        month_steps = {
            round(other.number / 30.4375) for other in self.sources if other.kind == "period" and other.number >= 28
        }
        for other in dates:
            _, other_month, other_day = other.date
            if not other_month:
                continue
            base = (other.date[0] or year or 2026, other_month, other_day or 1)
            if other_day:
                is_kept = not any(lost is other or (lost.form == "day" and lost.date[1] == month) for lost in self.free)
                for step in steps if is_kept else ():
                    if any(_shift(base, sign * step)[1:] == (month, day) for sign in (1, -1)):
                        return True
                for step in month_steps if is_kept else ():
                    if year and other.date[0] and abs(12 * (year - other.date[0]) + month - other_month) != step:
                        continue
                    if day == other_day and month in (
                        (other_month + step - 1) % 12 + 1,
                        (other_month - step - 1) % 12 + 1,
                    ):
                        return True
                if (
                    _shift(base, 1)[1:] == (month, day)
                    and (value.bound in ("before", "from") or _opens(self.pair.output.text, value.span))
                    and other.bound != "before"
                ):
                    return True
                if _shift(base, -1)[1:] == (month, day) and other.bound == "before" and value.bound in ("until", ""):
                    return True
            elif (
                other_month == month
                and other.form != "quarter"
                and (
                    self._is_named_weekday(value, other, has_relative)
                    or re.search(
                        rf"\b(?:half|week|weeks|third|hälfte|woche|wochen|drittel|early|late|mid\w*|mitte)\b[^.]{{0,24}}\b{re.escape(other.text.lower().split()[0])}",
                        self.lower,
                    )
                )
            ) or (
                other.form == "quarter"
                and (month, day)
                in (
                    (other_month, LAST_DAYS[other_month - 1]),
                    (other_month - 2, 1),
                )
            ):
                return True
        return (
            bool(
                re.search(
                    r"\b(?:end|close)\sof\s(?:the|each|every)\s(?:calendar\s)?year|year-end|jahresende|(?:ende|schluss)\s(?:des|eines)\s(?:kalender)?jahre?s",
                    self.lower,
                )
            )
            and (month, day) in ((12, 31), (1, 1))
            and not self._has_lost_day()
        )

    def _is_named_weekday(self, value: Value, month: Value, has_relative: bool) -> bool:
        """Return whether a day is on a weekday that the source names before its month: the last Saturday in April."""
        before = [
            other.number for other in self.sources if other.form == "weekday" and 0 < month.span[0] - other.span[1] < 24
        ]
        year = value.date[0] or month.date[0]
        named = _weekday(year, *value.date[1:])
        return bool(before) and (not year or named in before or (has_relative and (named - 2) % 7 + 1 in before))

    def _has_lost_day(self) -> bool:
        return any(other.kind == "date" and other.form == "day" for other in self.free)

    def _is_derived_time(self, value: Value) -> bool:
        times = [number for other in self.sources if other.kind == "time" for number in other.numbers]
        steps = [other.number * 1440 for other in self.sources if other.kind == "period" and other.number < 1]
        for number in times:
            for step in steps:
                if any(round(number + sign * step - own) % 1440 == 0 for sign in (1, -1) for own in value.numbers):
                    return True
        is_hourly = re.search(r"hourly|stündlich|full hour|on the hour|every hour|volle[nr]? stunde", self.lower)
        return (
            bool(is_hourly)
            and bool(times)
            and any(number % 60 == 0 and min(times) <= number <= max(times) for number in value.numbers)
        )

    # The value that was replaced

    def _find_counterpart(self, value: Value) -> Value | None:
        """Return the value of the source that this one replaces: of the same kind, in a similar place."""
        best, most = None, 0.0
        length = max(1, len(self.pair.source.text)), max(1, len(self.pair.output.text))
        own = _context(self.pair.output.text, value.span)
        for other in (*self.free, *self._surplus):
            if not _is_alike(value, other):
                continue
            apart = abs(other.span[0] / length[0] - value.span[0] / length[1])
            shared = len(own & _context(self.pair.source.text, other.span))
            rate = (
                1.0
                - apart
                + 0.5 * min(shared, 4)
                + (0.8 if other.unit == value.unit and other.form == value.form else 0.0)
                - (0.8 if other.weak else 0.0)
            )
            rate += (
                0.7 if other.raw == value.raw or sorted(digits(other.text)) == sorted(digits(value.text)) != [] else 0.0
            )
            if value.kind == "number" and shared == 0 and apart > 0.35:
                continue
            if rate > most:
                best, most = other, rate
        return best

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
                    or _measure(other) != _measure(value)
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
            if is_swapped or is_repeated or value.kind in ("amount", "percent"):
                is_sure = (is_swapped or is_repeated) and (value.kind != "number" or not value.in_words)
                yield self._changed(new, value, CERTAIN if is_sure else LIKELY)


# Days that move from year to year, or are named by their week.
_MOVABLE = re.compile(
    r"karfreitag|oster(?:n|montag|sonntag|samstag|ferien)|himmelfahrt|pfingst|fronleichnam|rosenmontag"
    r"|aschermittwoch|fasching|advent"
    r"|buß- und bettag|good friday|easter|ascension|whit|pentecost|thanksgiving"
    r"|\bkw\b|kalenderwoche|calendar week|\bweek \d"
)
_QUARTER_DAYS = frozenset({(3, 31), (6, 30), (9, 30), (12, 31), (1, 1), (4, 1), (7, 1), (10, 1)})
_RATES = frozenset({("period", "amount"), ("period", "quantity"), ("period", "number"), ("quantity", "amount")})
_REPEATED = re.compile(
    r"\b(?:again|repeat\w*|renew\w*|same|like|further|twice|double|zweimal\w*|verlänger\w*|denselben|gleiche\w*|nochmals|erneut)\b"
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
    for one in (("min", "max"), ("before", "after"), ("each", "total"), ("gross", "net"), ("by", "to"))
    for a, b in (one, one[::-1])
)


def _side_words(text: str, value: Value) -> set[str]:
    """Return marks for the words directly beside a value: gross or net, by or to."""
    start, end = value.span
    before, after = text[max(0, start - 14) : start].lower(), text[end : end + 16].lower()
    around = before + " " + after
    marks: set[str] = set()
    if value.kind not in ("amount", "percent", "quantity", "period") or value.form == "interval":
        return marks
    if re.search(r"\b(?:gross|brutto\w*)\b", around):
        marks.add("gross")
    if re.search(r"\b(?:net|netto\w*)\b", around):
        marks.add("net")
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
        return (len(a) > 1 and sorted(a) == sorted(b)) or sum(x != y for x, y in zip(a, b, strict=True)) == 1
    short, long = sorted((a, b), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _next_word(text: str, span: Span) -> str:
    match = re.match(r"\.?\s?-?([^\W\d_]{3,})", text[span[1] : span[1] + 40])
    return match[1].lower()[:6] if match else ""


def _opens(text: str, span: Span) -> bool:
    around = text[max(0, span[0] - 40) : span[1] + 20].lower()
    return bool(re.search(r"\b(?:again|open|reopen|back|wieder|erst|neu|return|resume)\b", around))


def _measure(value: Value) -> tuple[str, str]:
    if value.kind == "amount":
        return "amount", ""
    return value.kind, value.unit if value.kind in ("quantity", "period") else ""


def _is_alike(value: Value, other: Value) -> bool:
    """Return whether one may replace the other."""
    if value.kind in _KEYS:
        if value.kind != other.kind:
            if value.unit in ("number", "nummer", "nr", "no") and other.form == "house":
                return True
            return (
                {value.kind, other.kind} <= {"phone", "reference", "address"}
                and other.form != "label"
                and len(digits(other.key)) >= 5
            )
        return value.kind != "reference" or value.form == other.form
    if value.kind == "date" and other.kind == "date":
        groups = ({"day", "month"}, {"weekday"}, {"year", "decade", "century"}, {"quarter", "month"})
        return any({value.form, other.form} <= group for group in groups)
    if value.kind == other.kind:
        if value.kind == "period":
            return (value.form == "interval") == (other.form == "interval") and (value.form == "bare") == (
                other.form == "bare"
            )
        if value.kind == "quantity":
            return value.unit == other.unit or _is_close(value.raw, other.raw)
        return True
    pair = {value.kind, other.kind}
    if _is_close(value.raw, other.raw) and pair <= {"amount", "quantity", "percent", "period"}:
        return value.raw != 1 and not other.weak
    return (
        "number" in pair
        and pair & {"quantity", "amount", "percent", "period"} != set()
        and not (value.weak or other.weak or value.form or other.form)
    )


def is_equal(value: Value, other: Value) -> bool:
    """Return whether a value of the source stands for the same."""
    kinds = {value.kind, other.kind}
    if value.kind in _KEYS or other.kind in _KEYS:
        return _is_equal_key(value, other)
    if len(kinds) == 1:
        return _is_equal_kind(value, other)
    if "time" in kinds:
        clock, plain = (value, other) if value.kind == "time" else (other, value)
        if plain.kind != "number" or plain.raw > 24 or (clock is value and not re.fullmatch(r"\w+", clock.text)):
            return False
        hours = {number // 60 for number in clock.numbers} | {clock.raw, clock.raw % 12, (clock.raw + 12) % 24}
        return plain.raw in hours or any(plain.raw == number % 60 for number in clock.numbers if number % 60)
    if "date" in kinds:
        day, plain = (value, other) if value.kind == "date" else (other, value)
        if plain.kind != "number":
            return False
        return (plain is value and plain.raw in day.date) or (
            day.form in ("century", "decade", "quarter", "year") and plain.raw == day.raw
        )
    if "number" in kinds:
        plain, measured = (value, other) if value.kind == "number" else (other, value)
        if measured.kind == "percent" and measured.form == "fraction":
            return plain is value and any(
                _is_close(plain.raw, float(part)) for part in re.findall(r"\d+", measured.text)
            )
        if plain is other and (plain.form or plain.weak):
            return False
        return any(_is_close(plain.number, number) for number in (measured.raw, *measured.numbers))
    if kinds == {"amount", "quantity"}:
        amount, mass = (value, other) if value.kind == "amount" else (other, value)
        return "pound" in amount.text + mass.text and _is_close(amount.raw, mass.raw) and mass.unit == "mass"
    return False


def _is_equal_kind(value: Value, other: Value) -> bool:
    match value.kind:
        case "time":
            return not set(value.numbers).isdisjoint(other.numbers)
        case "date":
            return _is_equal_date(value, other)
        case "amount":
            units = {value.unit, other.unit}
            is_same = (
                len(units) == 1
                or "" in units
                or units <= {"pound", "sterling"}
                or ("cent" in units and units <= {"cent", "euro", "dollar"})
            )
            return is_same and any(_is_close(a, b) for a in value.numbers for b in other.numbers)
        case "percent":
            return _is_close(value.number, other.number) or (
                "fraction" in (value.form, other.form)
                and abs(value.number - other.number) < min(0.5, 0.02 * other.number)
            )
        case "quantity":
            return (
                value.unit == other.unit
                and any(_is_close(a, b, 0.001) for a in value.numbers for b in other.numbers)
                and _same_degrees(value, other)
            )
        case "period":
            if value.unit != other.unit:
                return False
            return any(_is_close(a, b, 0.005) for a in value.numbers for b in other.numbers)
    return any(_is_close(a, b) for a in value.numbers for b in other.numbers)


def _same_degrees(value: Value, other: Value) -> bool:
    if value.unit != "temperature":
        return True
    letters = {text.lower()[-1:] for text in (value.text, other.text)}
    return not {"c", "f"} <= letters


def _is_equal_key(value: Value, other: Value) -> bool:
    if value.kind in ("email", "url") or other.kind in ("email", "url"):
        return value.kind == other.kind and value.key == other.key
    if not value.key or not other.key:
        plain, code = (value, other) if not value.key else (other, value)
        raw = f"{plain.raw:g}" if plain.kind in ("number", "time", "date") else ""
        return raw != "" and (code.key == raw or digits(code.key) == raw or code.key == squeeze(plain.text))
    if value.form == "label" and other.form == "label" and not digits(value.key):
        return value.key == other.key and value.unit == other.unit
    return value.key == other.key


_EDGE = re.compile(r"(?:very\s)?(?:end|close|last|beginning|start|first|ende|anfang|letzten?|ersten?)\s")


def _is_equal_date(value: Value, other: Value) -> bool:
    if {value.form, other.form} & {"weekday", "decade", "century"}:
        return value.form == other.form and value.number == other.number
    options = [
        tuple((int(number) // 10_000, int(number) // 100 % 100, int(number) % 100) for number in one.numbers)
        if one.form != "year"
        else (one.date,)
        for one in (value, other)
    ]
    for own in options[0]:
        for theirs in options[1]:
            is_end = own[1] == theirs[1] == 2 and {own[2], theirs[2]} == {28, 29}  # the end of February
            if is_end or all(a == b or not a or not b for a, b in zip(own, theirs, strict=True)):
                if is_end:
                    return True
                if own[2] and not theirs[2] and not _EDGE.match(value.text.lower()):
                    continue  # a day where the source has a month
                if not (own[1] and theirs[1]) and own[0] != theirs[0]:
                    continue
                if own[1] and not theirs[1]:
                    continue  # a month where the source has a year
                return True
    return False


def _classify_harmless(value: Value, other: Value) -> str:
    """Return the kind of harmless variation between two values, or an empty string."""
    a, b = other, value
    forms = {a.form, b.form}
    if (
        a.kind == b.kind == "date"
        and forms & {"decade", "century"}
        and forms <= {"year", "decade", "century", "day", "month"}
    ):
        return _classify_less_exact(a, b)
    if a.kind == b.kind == "date" and a.form == "day" and b.form == "month":
        return (
            "precision" if a.date[1] == b.date[1] and (not b.date[0] or not a.date[0] or a.date[0] == b.date[0]) else ""
        )
    if a.kind == b.kind == "quantity" and a.unit == b.unit:
        if a.unit == "temperature":
            both = (a.raw * 1.8 + 32, (a.raw - 32) / 1.8)
            return (
                "conversion"
                if any(_is_close(b.raw, number, 0.06) for number in both) and a.text[-1:].lower() != b.text[-1:].lower()
                else ""
            )
        if a.scale != b.scale and _is_close(a.number, b.number, 0.06) and not _is_decimal(a.scale / b.scale):
            return "conversion"
    if (
        a.kind == "percent"
        and b.kind == "percent"
        and "fraction" in forms
        and abs(a.number - b.number) < 3
        and b.form == "fraction"
    ):
        return "rounding"
    if (
        a.kind in ("number", "quantity", "amount", "percent")
        and a.kind == b.kind
        and a.unit == b.unit
        and a.form != "ordinal"
    ):
        return "rounding" if _is_rounded(a, b) else ""
    if a.kind == "number" and b.kind == "quantity" and _is_close(a.raw, b.raw):
        return "notation"
    return ""


def _is_decimal(ratio: float) -> bool:
    return f"{max(ratio, 1 / ratio):.0e}".startswith("1e") and _is_close(
        max(ratio, 1 / ratio), float(f"{max(ratio, 1 / ratio):.0e}")
    )


def _is_rounded(a: Value, b: Value) -> bool:
    """Return whether b is a rounded: close to it, with fewer significant digits."""
    if not a.raw or (a.raw < 11 and a.raw.is_integer()):
        return False
    if a.kind in ("amount", "percent") and not b.about:
        return False
    nearness = abs(a.number - b.number) / abs(a.number)
    fewer = _count_significant(b.raw) < _count_significant(a.raw)
    return fewer and nearness <= (0.12 if b.about else 0.05 if b.raw >= 100 else 0.08)


def _count_significant(number: float) -> int:
    text = f"{number:.6f}".rstrip("0").rstrip(".") if not number.is_integer() else str(int(number)).rstrip("0")
    return len(text.replace(".", "").lstrip("0")) or 1


def _classify_less_exact(a: Value, b: Value) -> str:
    """Compare years, decades and centuries: 1985 and the 1980s match, "5th century" and "the 1400s" do not."""
    if {a.form, b.form} == {"decade", "century"}:
        decade, century = (a, b) if a.form == "decade" else (b, a)
        if decade.number // 100 + 1 != century.number:
            return ""
        return "notation" if decade.number % 100 == 0 else "precision" if b is century else ""
    year = a.date[0] or a.number
    if b.form == "decade" and a.form != "century":
        is_inside = year // 10 == b.number // 10 or (b.number % 100 == 0 and year // 100 == b.number // 100)
        return "precision" if is_inside else ""
    if b.form == "century" and a.form != "decade":
        return "precision" if b.number in (year // 100 + 1, (year - 1) // 100 + 1) else ""
    return ""


_SEASONS = {
    "spring|frühling|frühjahr": {3, 4, 5}, "summer|sommer": {6, 7, 8}, "autumn|herbst": {9, 10, 11},
    "winter": {10, 11, 12, 1, 2, 3}, "halbjahr|half-year|half of the year": set(range(1, 13)),
}  # fmt: skip


def _covered_months(dates: Sequence[Value], lower: str) -> set[int]:
    """Return the months in ranges and quarters of the source."""
    months: set[int] = set()
    named = [other for other in dates if other.date[1]]
    for first, second in pairwise(named):
        between = lower[first.span[1] : second.span[0]]
        if re.fullmatch(
            r"[\s\d.]*(?:to|bis|bis\szum|until|and|und|–|-|through|up\sto|up\sto\sand\sincluding)\s?(?:zum\s|the\s)?(?:end\sof\s|ende\s)?",
            between,
        ):
            start, stop = first.date[1], second.date[1]
            while True:
                months.add(start)
                if start == stop:
                    break
                start = start % 12 + 1
    for other in dates:
        if other.form == "quarter" or "quart" in other.text.lower():
            months |= {other.date[1] - 2, other.date[1] - 1, other.date[1]}
    for season, covered in _SEASONS.items():
        if re.search(season, lower):
            months |= covered
    return months


def _weekday(year: int, month: int, day: int) -> int:
    try:
        return date(year, month, day).isoweekday()
    except ValueError:
        return 0


def date_of(value: Value) -> date | None:
    """Return a day as a date; one without a year is in a common year."""
    year, month, day = value.date
    try:
        return date(year or 2026, month, day)
    except ValueError:
        return None


def _shift(day: tuple[int, int, int], steps: int) -> tuple[int, int, int]:
    try:
        moved = date(*day) + timedelta(days=steps)
    except (ValueError, OverflowError):
        return 0, 0, 0
    return moved.year, moved.month, moved.day


def _are_together(a: Value, b: Value, limit: int = _TOGETHER) -> bool:
    return abs(a.span[0] - b.span[0]) <= limit


def _comes_to(target: float, result: float) -> bool:
    """Return whether a calculated number is the target, rounded to cents."""
    return abs(target - result) <= 0.006 if target >= 12 else _is_close(target, result, 0.0005)


def _is_close(a: float, b: float, tolerance: float = _EXACT) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-15)
