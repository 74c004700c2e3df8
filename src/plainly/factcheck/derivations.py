"""What follows from the values of a source: sums and shares, days and times that are counted from others, limits.

A value of the output that follows is not a change. ``origin`` is sure of it; ``may_follow`` is true where it may have
been calculated in a way that cannot be told from an error.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import combinations, pairwise
from math import isfinite

from plainly.factcheck.equality import is_alike, is_close, is_equal, measure
from plainly.factcheck.reading import ReadText, Span
from plainly.factcheck.values import ADULT, LAST_DAYS, MONTH, YEAR, Value, digits, relative_days

_RESULTS = 6  # results of calculations from which more may be calculated: the last ones
_TOGETHER, _IN_A_SENTENCE = 300, 220  # characters between values that are multiplied, or added


_MEASURED = ("amount", "percent", "quantity", "period", "number")
# Factors that a calculation may use although no text names them: days, weeks and months of a year, pairs, dozens.
_USUAL_FACTORS = (2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 24.0, 52.0, 60.0, 100.0)
_FACTORS_UP_TO = 60
_NEARLY = 0.12  # a month and four weeks, a year and eleven months
# Names of origins that leave no doubt: a telephone number with its extension, a period with another one that is
# added to it, and a weekday on which something is closed.
COMPOSED, EXTENDED, OUT_OF_RANGE = "composed", "extended", "weekday out of a range"
CERTAIN_ORIGINS = frozenset({COMPOSED, EXTENDED, OUT_OF_RANGE})
Operands = tuple[Value, ...]  # values of the source that another one is calculated from


@dataclass(frozen=True)
class Origin:
    """How a value follows from the source, and the values that it follows from."""

    name: str
    operands: Operands = ()


class Derivations:
    """The values of two texts, and which of the source the output lacks.

    With the texts exchanged, it tells what follows from an output.
    """

    def __init__(
        self,
        source: ReadText,
        output: ReadText,
        sources: Sequence[Value],
        outputs: Sequence[Value],
        free: Sequence[Value],
    ) -> None:
        self.source, self.output = source, output
        self.sources, self.outputs, self.free = sources, outputs, free
        self.lower = source.text.lower()
        self.results: list[Value] = []  # what was calculated, from which more may be

    def may_follow(self, value: Value, near: Sequence[Value]) -> bool:
        """Return whether a value may come out of others in a way that the rules do not know for sure."""
        if value.kind in ("amount", "quantity"):
            return self._is_calculated_in_steps(value, near)
        if value.kind == "period":
            if re.match(r"\s(?:a|per|im|pro)\s(?:year|jahr)", self.output.text[value.span[1] :].lower()):
                return True  # two days a month, 24 days a year
            return any(  # about a month: four weeks
                mine.kind == "period"
                and mine.number
                and abs(mine.number - value.number) < 0.12 * value.number
                and (mine.scale < 28) != (value.scale < 28)
                for mine in self.sources
            )
        return False

    def list_calculations(self, value: Value, sources: Sequence[Value]) -> Iterator[str]:
        """Yield the ways in which a value could be calculated from some of the source; many are coincidences."""
        if value.kind not in _MEASURED:
            return
        target = value.number
        same = [other for other in sources if measure(other) == measure(value) and other.numbers]
        numbers = list(dict.fromkeys(other.number for other in same))
        plain = {
            other.raw
            for other in (*sources, *self.outputs)
            if other is not value and other.kind in ("number", "period") and 1 < other.raw <= _FACTORS_UP_TO
        }
        if any(is_close(target, a.number + b.number) for a, b in combinations(same, 2)):
            yield "sum"
        if any(is_close(target, abs(a - b)) for a, b in combinations(numbers, 2)):
            yield "difference"
        for name, factors in (("multiple", plain), ("usual multiple", _USUAL_FACTORS)):
            factors = {*factors, *(1 / factor for factor in factors)}
            if any(_comes_to(target, number * factor) for number in numbers for factor in factors):
                yield name
        if any(abs(value.raw - other.raw) == 1 and other.scale == value.scale for other in same):
            yield "one more or less"
        if any(abs(value.number - number) <= _NEARLY * number and value.number != number for number in numbers):
            yield "nearly"
        if value.scale in (1.0, YEAR):
            years = {other.date[0] for other in sources if other.kind == "date" and other.date[0]}
            if any(abs(abs(a - b) - value.raw) <= 1 for a, b in combinations(years, 2)):
                yield "years between"
        measured = [other for other in sources if measure(other) == measure(value)]
        if any(a.number < target < b.number and _is_range(self.lower, a, b) for a, b in pairwise(measured)):
            yield "in a range"
        if value.kind == "percent" and any(is_close(target, 100 - number) for number in numbers):
            yield "rest of a hundred"

    def origin(self, value: Value, sources: Sequence[Value], *, from_lost: bool) -> Origin | None:
        """Return how a value follows from the source; None if it does not.

        With ``from_lost`` the output must lack one of the operands. Without, it must lack nothing that the value may
        stand for: otherwise the value is rather a wrong version of what is lost than calculated from what is there.
        """
        if not from_lost and (value.kind == "phone" or value.form == "day") and self._is_composed(value):
            return Origin(COMPOSED)
        if not from_lost and (name := self._derive(value)):
            return Origin(name)
        if value.kind == "date":
            for days in self._day_origins(value):
                if not from_lost or any(_is_in(operand, self.free) for operand in days):
                    return Origin("counted day", days)
        if value.kind not in _MEASURED:
            return None
        wrong = [other for other in self.free if other.kind == value.kind and _is_wrong_version(value, other)]
        for origin in self._origins(value, sources):
            if any(not _is_in(other, origin.operands) for other in wrong):
                continue
            if any(_is_in(operand, self.free) for operand in origin.operands):
                return origin
            if not from_lost and not self._lacks_any(value, origin.operands):
                return origin
        return None

    def _origins(self, value: Value, sources: Sequence[Value]) -> Iterator[Origin]:
        yield from (Origin(EXTENDED, operands) for operands in self._extensions(value))
        yield from self._calculations(value, sources)
        for name, origins in (
            ("border", self._borders(value)),
            ("gap", self._gaps(value)),
            ("rest", self._rests(value)),
            ("rate", self._rates(value)),
        ):
            yield from (Origin(name, operands) for operands in origins)
        if self._is_count(value):
            yield Origin("count")

    def _lacks_any(self, value: Value, operands: Operands) -> bool:
        """Return whether the output lacks a value like this one, or like those that it would follow from."""
        measures = {measure(operand) for operand in operands}
        return any(
            not other.weak and (is_alike(value, other) or measure(other) in measures)
            for other in self.free
            if other.kind != "number" or value.kind == "number"
        )

    def _is_composed(self, value: Value) -> bool:
        """Return whether a number has an extension of the source, or a day of the source is counted from this one."""
        if value.kind == "phone":
            numbers = [other.key for other in self.sources if other.kind == "phone"]
            ends = {other.key for other in self.sources if other.kind == "reference"} | {
                digits(other.text) for other in self.sources if other.kind == "number"
            }
            return any(
                value.key.endswith(end) and number.startswith(value.key[: -len(end)])
                for end in ends
                if len(end) >= 2
                for number in numbers
            )
        return self._is_counted_from(value)

    def _derive(self, value: Value) -> str:
        """Return how a date, a time or an age follows from the source, or an empty string."""
        if value.kind == "date":
            dates = [other for other in self.sources if other.kind == "date"]
            return self._derive_weekday(value, dates) if value.form == "weekday" else self._derive_date(value, dates)
        if value.kind == "time":
            return "time" if self._is_derived_time(value) else ""
        is_age = value.kind in _MEASURED and value.raw == 18
        if is_age and not ADULT.isdisjoint(re.findall(r"[\w-]+", self.lower)):
            return "adult"
        return "span" if self._is_span(value) else ""

    def _is_span(self, value: Value) -> bool:
        """Return whether a period counts days in the source (four times a year, with four days), or the years since."""
        if value.kind != "period":
            return False
        if value.form == "interval":
            return (
                value.raw > 1
                and sum(other.kind == "date" and other.form in ("day", "month") for other in self.sources) == value.raw
            )
        if (value.number >= 3650 and re.match(r"\s(?:ago|old)\b", self.output.text[value.span[1] :])) or re.search(
            r"\bvor\s(?:\w+\s){0,2}$", self.output.text[: value.span[0]]
        ):
            years = value.number / 365.25
            since = [
                other.date[0] or (other.number * 100 - 50 if other.form == "century" else other.number)
                for other in self.sources
                if other.form in ("year", "decade", "century", "day") and other.kind == "date"
            ]
            return any(0.75 * years <= 2025 - year <= 1.35 * years for year in since)
        return False

    def _gaps(self, value: Value) -> Iterator[Operands]:
        """Yield the times or days that a period lies between."""
        if value.kind != "period" or value.form == "interval":
            return
        if value.number < 1:
            gap = round(value.number * 1440)
            for a, b in combinations([other for other in self.sources if other.kind == "time"], 2):
                between = {(first - second) % 1440 for first in a.numbers for second in b.numbers}
                if gap in between or (-gap) % 1440 in between:
                    yield a, b
            return
        days = [(other, date_of(other)) for other in self.sources if other.kind == "date" and other.form == "day"]
        for (a, first), (b, second) in combinations(days, 2):
            if first and second and round(value.number) - abs((first - second).days) in (0, 1):
                yield a, b

    def _borders(self, value: Value) -> Iterator[Operands]:
        """Yield a whole number of which this is the last before it or the first after it: below 16, up to 15."""
        if value.kind not in ("number", "period") or not value.raw.is_integer():
            return
        for other in self.sources:
            step = value.raw - other.raw
            is_age = other.kind == "number" and value.scale == YEAR and _YEAR_OF_LIFE.match(self.lower, other.span[1])
            is_measured_alike = value.kind == "number" or other.scale == value.scale or is_age
            if other.kind in ("number", "period") and is_measured_alike and abs(step) == 1:
                texts = (self.output.text, value.span), (self.source.text, other.span)
                edges = [_find_edge(text.lower(), span) for text, span in texts]
                if (*edges, step) in _SAME_EDGES:
                    yield (other,)

    def _rests(self, value: Value) -> Iterator[Operands]:
        """Yield a percentage of which it is the rest, in words of the contrary: 35% off, 65% of the price."""
        of_hundred = re.match(r"\s(?:(?:out\s)?of|in|von)\s(?:100|a\shundred|hundert)\b", self._after(value))
        if value.kind != "percent" and not (value.kind == "number" and of_hundred):
            return
        own = _is_contrary(self.output.text, value.span)
        for other in self.free:
            is_rest = other.kind == "percent" and abs(100 - other.number - value.number) < 0.006
            if is_rest and own != _is_contrary(self.source.text, other.span):
                yield (other,)

    def _rates(self, value: Value) -> Iterator[Operands]:
        """Yield an interval that is named in another way: daily, seven days a week; £240 a year, £20 a month."""
        if value.kind != "period":
            return
        intervals = [other for other in self.sources if other.kind == "period" and other.form == "interval"]
        if value.form == "interval" and value.raw == 1:
            results = [result for result in self.results if is_close(result.per, value.number, 0.02)]
            amounts = [other for other in self.sources if other.kind in ("amount", "quantity") and other.per]
            for other in intervals:
                is_rate = other.raw == 1 and any(
                    measure(result) == measure(base)
                    and is_close(base.per, other.number, 0.02)
                    and is_close(result.number * base.per, base.number * result.per, 0.02)
                    for result in results
                    for base in amounts
                )
                if is_rate or any(result.kind == "period" and result.raw == other.raw > 1 for result in results):
                    yield (other,)
        elif value.form == "interval" and _EACH_OF.search(self.output.text[: value.span[0]].lower()):
            lasting = [other for other in self.sources if other.kind == "period" and other.form != "interval"]
            if any(is_close(other.number, value.raw * value.scale, 0.02) for other in lasting) or any(
                other.kind == "number" and other.raw == value.raw for other in self.sources
            ):
                yield from ((other,) for other in intervals if is_close(other.number, value.scale))
        elif value.per and not value.form:
            for other in intervals:
                if other.raw == 1 and is_close(other.number, 1.0) and is_close(value.number, value.per, 0.01):
                    yield (other,)
                if other.raw == value.raw > 1 and any(
                    is_close(value.per, days, 0.02) and re.search(word, other.text.lower())
                    for word, days in _CYCLES.items()
                ):
                    yield (other,)

    def _after(self, value: Value) -> str:
        return self.output.text[value.span[1] : value.span[1] + 40].lower()

    def _day_origins(self, value: Value) -> Iterator[Operands]:
        """Yield the date that a date shares its limit with, or the date and the period that it is counted from."""
        dates = [other for other in self.sources if other.kind == "date"]
        limit = _limit_of(self.output.text, value)
        written = _digits_around(self.output.text, value.span)
        for other in dates:
            is_lost = _is_in(other, self.free) and not is_equal(value, other)
            if limit and is_lost and _is_same_limit(limit, _limit_of(self.source.text, other)):
                yield (other,)
            if other.form == "day" and written and other.date[1:] in (written, written[::-1]):
                yield (other,)
        if value.form != "day":
            return
        periods = [other for other in self.sources if other.kind == "period" and other.form != "interval"]
        for other in dates:
            start = date_of(other) if other.form == "day" else None
            is_kept = any(is_equal(mine, other) for mine in self.outputs if mine is not value)
            for period in periods if start else ():
                joint = self.lower[period.span[1] : other.span[0]] if period.span[1] <= other.span[0] else ""
                is_linked = value.bound == "until" and len(joint) < _LINK and _COUNTED_FROM.match(joint) is not None
                if not (is_kept or is_linked or _is_in(period, self.free)):
                    continue
                if not are_together(other, period, _IN_A_SENTENCE):
                    continue
                sign = -1 if re.match(r"\s(?:before|prior\sto|vor)\b", joint) else 1
                end = _add_period(start, period, sign) if start else None
                ends = [end] if end else []
                if end and sign > 0 and value.bound == "until":
                    ends.append(end - timedelta(days=1))  # the last day of a period that begins on a day
                if any(_is_day(value, each, has_year=other.date[0] > 0) for each in ends):
                    yield other, period

    def _is_count(self, value: Value) -> bool:
        """Return whether a small number may count what the source lists."""
        if value.kind != "number" or value.form:
            return False
        if 2 <= value.raw <= 12 and re.search(rf"\b(?:{_SMALL_NUMBERS[int(value.raw)]})[-a-zäöüß]", self.lower):
            return True  # two beds, of a Zweibettzimmer
        if not value.in_words:
            return False
        listed = (
            self.source.tokens.count(",") + 1 + sum(word in ("and", "und", "or", "oder") for word in self.source.lower)
        )
        return 2 <= value.raw <= min(9, listed)

    def _calculations(self, value: Value, sources: Sequence[Value]) -> Iterator[Origin]:
        """Yield the values of the source that a value may be calculated from, for each way to do so."""
        measured = [
            other for other in (*sources, *self.results[-_RESULTS:]) if other.kind in _MEASURED and other.numbers
        ]
        same = [
            other
            for other in measured
            if measure(other) == measure(value) or (value.kind == "number" and other.kind == "amount")
        ]
        yield from (Origin("sum", operands) for operands in self._sums(value, same))
        if value.kind == "percent":
            yield from (Origin("share", operands) for operands in self._shares(value, sources, measured))
        if (value.kind == "number" and value.raw <= 12) or value.form == "interval":
            return
        yield from (Origin("product", operands) for operands in self._products(value, measured, same))

    def _sums(self, value: Value, same: Sequence[Value]) -> Iterator[Operands]:
        """Yield two values of which it is the sum, the difference or the percentage."""
        target = value.number
        limit = _IN_A_SENTENCE if value.kind != "number" or value.raw > 12 else _IN_A_SENTENCE // 2
        if value.kind == "number" and value.in_words and value.raw <= 2:
            return
        wholes = {} if value.kind == "period" else {round(other.number, 4): other for other in same}
        for a, b in combinations(same, 2):
            if not are_together(a, b, limit) or a.weak or b.weak:
                continue
            low, high = sorted((a.number, b.number))
            is_difference = is_close(target, high - low) and (
                _BACK.search(self.lower)
                if value.kind == "period"
                else (target > 10 or value.kind != "number" or a.kind != "number" or self._is_change(value, a, b))
            )
            is_share = value.kind == "percent" and high and abs(100 * low / high - target) < 0.5 and a.kind != "percent"
            whole = wholes.get(round(target + high + low, 4))  # it is the rest: 640 − 480 − 96
            if whole and target > 2 and whole is not a and whole is not b and are_together(a, whole, limit):
                yield whole, a, b
            is_sum = is_close(target, high + low) and (value.kind != "period" or low < high)
            if is_sum or is_difference or is_share:
                yield a, b

    def _extensions(self, value: Value) -> Iterator[Operands]:
        """Yield a period and another one by which it may be extended: three months, and by a further three months."""
        periods = [other for other in self.sources if value.kind == other.kind == "period" and not other.form]
        for first, more in pairwise(periods):
            is_more = _MORE_OF_IT.search(self.lower[: more.span[0]])
            if is_more and measure(first) == measure(more) and is_close(value.number, first.number + more.number, 0.01):
                yield first, more

    def _is_change(self, value: Value, old: Value, new: Value) -> bool:
        """Return whether a number is the difference in a change of counts: from eight to three, five fewer."""
        before, joint = self.lower[: old.span[0]], self.lower[old.span[1] : new.span[0]]
        is_change = _CHANGE_FROM.search(before) and _CHANGE_TO.fullmatch(joint)
        compared = _COMPARED.match(self._after(value))
        return bool(is_change and compared and compared["less"]) == (new.number < old.number) and bool(
            is_change and compared
        )

    def _shares(self, value: Value, sources: Sequence[Value], measured: Sequence[Value]) -> Iterator[Operands]:
        """Yield two values of which it is the ratio or the growth, or the share that is the rest of it."""
        numbers = [other for other in measured if other.kind in ("number", "amount", "quantity") and not other.weak]
        for a, b in combinations(numbers, 2):
            low, high = sorted((a.number, b.number))
            if are_together(a, b) and measure(a) == measure(b) and low:
                shares = (100 * low / high, 100 * (high - low) / low, 100 * (high - low) / high)
                if any(abs(share - value.number) < 0.5 for share in shares):
                    yield a, b
        for other in sources:
            is_rest = other.kind == "percent" and is_close(100 - other.number, value.number, 0.01)
            is_named = _REST.search(self.output.text)
            if is_rest and (
                is_named or other.form == "fraction" or any(is_equal(mine, other) for mine in self.outputs)
            ):
                yield (other,)

    def _products(self, value: Value, measured: Sequence[Value], same: Sequence[Value]) -> Iterator[Operands]:
        """Yield values of which it is the product, in one step or in two: 3 × 400 mg, less a third."""
        target = value.number
        beside = [
            mine.raw
            for mine in self.outputs
            if mine.kind in ("number", "period")
            and 2 <= mine.raw <= 12
            and not mine.form
            and abs(mine.span[0] - value.span[0]) < 60
        ]
        if _TOTAL.search(self.output.text[max(0, value.span[0] - 60) : value.span[1] + 30]):
            months = [mine.number / MONTH for mine in self.outputs if mine.kind == "period"]
            beside += [round(count) for count in months if 1.5 < count < 60.5]
        if value.kind in ("amount", "quantity"):
            yield from ((other,) for other in same for times in beside if is_close(target, other.number * times))
        for other in measured:
            factors: list[float] = []
            if other.kind == "number" and other.raw >= 2 and other.form != "ordinal":
                factors = [other.raw, 1 / other.raw]
            elif other.kind == "percent" and 0 < other.number < 100:
                share = other.number / 100
                factors = [share, 1 - share]
                if value.kind != "percent" and other.form != "fraction":
                    factors += [1 + share, 1 / (1 + share), share / (1 + share)]
            elif other.raw > 1 and (other.kind, value.kind) in _RATES:
                factors = [other.raw, 1 / other.raw]
            for base in same:
                if base is other or not are_together(base, other):
                    continue
                for factor in factors:
                    if _comes_to(target, base.number * factor):
                        yield base, other
                    for third in measured if factor > 1 else ():
                        is_share = third.kind == "percent" and third.form == "fraction"
                        if is_share and third is not other and third is not base and are_together(base, third):
                            share = third.number / 100
                            if any(_comes_to(target, base.number * factor * part) for part in (share, 1 - share)):
                                yield base, other, third
        if value.kind in ("amount", "quantity"):
            if _DOUBLE.search(self.lower) or _DOUBLE.search(self.output.text.lower()):
                yield from ((base,) for base in same if is_close(target, 2 * base.number))
            intervals = {
                each.number
                for each in (*self.sources, *self.outputs)
                if each.kind == "period" and each.form == "interval" and each.number
            }
            intervals |= {each.per for each in (*self.sources, *self.outputs) if each.per}
            both = self.lower, self.output.text.lower()
            intervals |= {days for word, days in _CYCLES.items() if any(re.search(word, text) for text in both)}
            ratios = {a / b for a in intervals for b in intervals if a > b * 1.5}
            for base in same:
                if any(is_close(target, base.number * rate, 0.01) for ratio in ratios for rate in (ratio, 1 / ratio)):
                    yield (base,)
        elif value.kind == "period":
            for base in same:
                around = max(0, base.span[0] - _IN_A_SENTENCE), base.span[1] + _IN_A_SENTENCE
                if any(is_close(target, base.number * times) for times in (2, 3)) and _REPEATED.search(
                    self.lower, *around
                ):
                    yield (base,)

    def _is_calculated_in_steps(self, value: Value, sources: Sequence[Value]) -> bool:
        """Return whether a number may come out in two steps, or from three values: then it may still be right."""
        same = [
            other for other in (*sources, *self.outputs) if other is not value and measure(other) == measure(value)
        ][:14]
        numbers = list(dict.fromkeys(other.number for other in same if other.numbers))
        plain = {
            other.raw
            for other in (*sources, *self.outputs)
            if other.kind in ("number", "period") and 1 < other.raw <= 60
        }
        shares = {other.number / 100 for other in sources if other.kind == "percent" and 0 < other.number < 100}
        factors = (
            plain
            | {1 / number for number in plain}
            | shares
            | {1 - share for share in shares}
            | ({12.0, 1 / 12, 4.0, 0.25} if _PERIODIC.search(self.lower + self.output.text.lower()) else set())
            | ({2.0, 0.5} if _DOUBLE.search(self.lower + self.output.text.lower()) else set())
        )
        target = value.number
        results = {number * factor for number in numbers for factor in factors}
        if any(_comes_to(target, result) for result in results):
            return True
        return any(is_close(target, sum(some)) for size in (2, 3, 4) for some in combinations(numbers[:10], size))

    def _derive_date(self, value: Value, dates: Sequence[Value]) -> str:
        """Return how a day, month or year follows from the dates and periods of the source, or an empty string."""
        has_relative = bool(relative_days().search(self.lower))
        if _MOVABLE.search(self.lower) and not self._has_lost_day():
            return "movable day"
        if value.form == "day" and (self._is_nth_weekday(value, dates) or self._is_listed_day(value, dates)):
            return "listed day"
        year, month, day = value.date
        if (
            (month, day) in _QUARTER_DAYS
            and re.search(r"quart|halbjahr|half-year", self.lower)
            and not self._has_lost_day()
        ):
            return "quarter day"
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
                return ""
            months = _covered_months(dates, self.lower)
            is_near = has_relative and any(
                other.form == "day" and other.date[1] in (month, month % 12 + 1) for other in dates
            )
            return "month" if month in months else "relative month" if is_near else ""
        if value.form == "year":
            years = {other.date[0] for other in dates} - {0}
            spans = [
                round(other.number / 365.25) for other in self.sources if other.kind == "period" and other.number >= 365
            ]
            is_age = re.search(r"\b(?:aged?|old|alter|alt)\b", self.lower)
            ages = [
                int(other.raw) for other in self.sources if is_age and other.kind == "number" and 1 < other.raw < 130
            ]
            if self._is_year_beside(value, dates):
                return "year beside"
            is_counted = any(abs(year - base) == span for base in years for span in (*spans, *ages)) or any(
                other.form == "century"
                and (other.number - 1) * 100 <= year <= other.number * 100
                and re.search("mid|mitte", self.lower)
                for other in dates
            )
            return "counted year" if is_counted else ""
        if value.form != "day":
            return ""
        if any(
            lost.form == "day"
            and all(lost.date[1:])
            and (lost.date[1] == month) != (lost.date[2] == day)
            and abs(lost.date[2] - day) != 1  # after the 1st: from the 2nd
            for lost in self.free
        ):
            return ""
        known_years = {other.date[0] for other in dates if other.date[0]}
        if year and known_years and year not in known_years and not any(abs(year - base) <= 1 for base in known_years):
            return ""
        steps = {round(other.number) for other in self.sources if other.kind == "period" and 1 <= other.number <= 400}
        relative = _relative_steps(self.lower) if has_relative else set()
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
                shifts = {sign * step for step in steps for sign in (1, -1)} | relative
                shifts |= {step - 1 for step in steps if step >= 7}  # the last day of a period
                if (month, day) == other.date[1:] and year - other.date[0] in self._anniversaries():
                    return "anniversary"
                if is_kept and any(_shift(base, shift)[1:] == (month, day) for shift in shifts):
                    return "day some days away"
                for step in month_steps if is_kept else ():
                    if year and other.date[0] and abs(12 * (year - other.date[0]) + month - other_month) != step:
                        continue
                    if day == other_day and month in (
                        (other_month + step - 1) % 12 + 1,
                        (other_month - step - 1) % 12 + 1,
                    ):
                        return "day some months away"
                if (
                    _shift(base, 1)[1:] == (month, day)
                    and (value.bound == "before" or _opens(self.output.text, value.span))
                    and other.bound != "before"
                ):
                    return "next day"
                if _shift(base, -1)[1:] == (month, day) and other.bound == "before" and value.bound in ("until", ""):
                    return "day before"
            elif (
                other_month == month
                and other.form != "quarter"
                and (
                    self._is_named_weekday(value, other, has_relative)
                    or (day == 1 and _FIRST_DAY.search(self.lower))
                    or (day == LAST_DAYS[month - 1] and _LAST_DAY.search(self.lower))
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
                return "day of a month"
        is_year_end = (
            bool(
                re.search(
                    r"\b(?:end|close)\sof\s(?:the|each|every)\s(?:calendar\s)?year|year-end|jahresende|(?:ende|schluss)\s(?:des|eines)\s(?:kalender)?jahre?s",
                    self.lower,
                )
            )
            and (month, day) in ((12, 31), (1, 1))
            and not self._has_lost_day()
        )
        return "end of the year" if is_year_end else ""

    def _is_year_beside(self, value: Value, dates: Sequence[Value]) -> bool:
        """Return whether a year is in a range of years, or the last before one or the first after it."""
        year = value.date[0]
        for first, second in pairwise(dates):
            joint = self.lower[first.span[1] : second.span[0]]
            is_range = first.date[0] < year < second.date[0] and first.form == second.form == "year"
            if is_range and re.fullmatch(r"\s?(?:to|bis|and|und|–|-|until)\s?", joint):
                return True
        for other in dates:
            before = self.lower[max(0, other.span[0] - 24) : other.span[0]]
            is_start = other.form == "year" or other.date[1:] == (1, 1)
            if is_start and year == other.date[0] - 1 and re.search(r"\b(?:before|vor)\s(?:dem\s|the\s)?$", before):
                return True
            if other.form == "year" and year == other.date[0] + 1 and re.search(r"\b(?:after|nach)\s$", before):
                return True
        own = self.output.text[max(0, value.span[0] - 8) : value.span[1] + 16].lower()
        is_before = re.search(rf"\b(?:before|bevor)\s{year}\s(?:begins|starts|beginnt|anfängt)", own)
        return is_before is not None and any(other.date[0] == year - 1 for other in dates)  # by the end of 2027

    def _is_listed_day(self, value: Value, dates: Sequence[Value]) -> bool:
        """Return whether a day is in a range of days, both of which are in the output: 6, 7 and 8 November."""
        for first, last in pairwise(dates):
            is_range = first.form == last.form == "day" and _is_range(self.lower, first, last)
            if is_range and first.date[:2] == last.date[:2] == (value.date[0] or first.date[0], value.date[1]):
                has_ends = not (_is_in(first, self.free) or _is_in(last, self.free))
                if has_ends and first.date[2] < value.date[2] < last.date[2]:
                    return True
        return False

    def _step_from(self, value: Value) -> float | None:
        """Return how many days from a value of the output its text counts: −2, in "two days before Christmas Day"."""
        last = next((mine for mine in reversed(self.outputs) if mine.span[1] < value.span[0]), None)
        if last is None or last.kind != "period" or not isfinite(last.number):
            return None
        side = re.fullmatch(
            r"\s(before|after|vor|nach)\s(?:the\s|dem\s|der\s)?", self.output.text[last.span[1] : value.span[0]]
        )
        return side and last.number * (-1 if side[1] in ("before", "vor") else 1)

    def _is_counted_from(self, value: Value) -> bool:
        """Return whether a day of the source is counted from this one: two days before Christmas Day."""
        step = self._step_from(value)
        return step is not None and any(
            _shift((value.date[0] or other.date[0] or 2026, *value.date[1:]), round(step))[1:] == other.date[1:]
            for other in self.sources
            if other.kind == "date" and other.form == "day"
        )

    def _is_nth_weekday(self, value: Value, dates: Sequence[Value]) -> bool:
        """Return whether a day is one that the source names by its week: the first Monday of a month."""
        year, month, day = value.date
        years = {year} if year else {other.date[0] for other in (*dates, *self.outputs) if other.date[0]}
        places = {(day - 1) // 7 + 1, -1 if month and day + 7 > LAST_DAYS[month - 1] else 0}
        return any(
            other.form == "weekday"
            and any(_weekday(each, month, day) == other.number for each in years)
            and (order := _NTH.search(self.lower[max(0, other.span[0] - 16) : other.span[0]])) is not None
            and next(place for place, words in _PLACES.items() if order[1].startswith(words)) in places
            for other in dates
        )

    def _derive_weekday(self, value: Value, dates: Sequence[Value]) -> str:
        """Return whether a weekday is that of a date, in a range or group of days, or the day before or after one."""
        full = [
            mine.date for mine in (*dates, *(mine for mine in self.outputs if mine.kind == "date")) if all(mine.date)
        ]
        weekday = int(value.number)
        listed = [other for other in dates if other.form == "weekday"]
        days = {_weekday(*day) for day in full} | {int(other.number) for other in listed}
        steps = _relative_steps(self.lower)
        if weekday in {_weekday(*day) for day in full}:
            return "weekday of a date"
        if weekday in {(day - 1 + step) % 7 + 1 for day in days for step in steps}:
            return "relative weekday"
        if any(weekday in group and re.search(pattern, self.lower) for pattern, group in _DAY_GROUPS.items()):
            return "weekday of a group"
        around = self.output.text[max(0, value.span[0] - 80) : value.span[1] + 80]
        ranges = [
            (first, last)
            for first, last in pairwise(listed)
            if re.fullmatch(r"s?\s?(?:to|bis|through|–|-)\s?", self.lower[first.span[1] : last.span[0]])
        ]
        text, (start, end) = self.output.text, value.span
        before = re.split(r"[.!?;\n]", text[max(0, start - 60) : start])[-1]
        after = re.split(r"[.!?;\n]", text[end : end + 60])[0]
        if _CLOSED.search(f"{before} {after}"):
            span = start - len(before), end + len(after)
            named = {
                int(mine.number)
                for mine in self.outputs
                if mine.form == "weekday" and span[0] <= mine.span[0] < span[1]
            }
            for first, last in ranges:
                is_open = {(day - first.number) % 7 <= (last.number - first.number) % 7 for day in named}
                if is_open == {False} and not _CLOSED.search(self.lower, max(0, first.span[0] - 60), last.span[1] + 60):
                    return OUT_OF_RANGE  # open from Monday to Saturday: closed on Sundays
        if listed and _CLOSED.search(around) and not _CLOSED.search(self.source.text):
            return "closed weekday"
        is_within = any((weekday - first.number) % 7 <= (last.number - first.number) % 7 for first, last in ranges)
        return "weekday in a range" if is_within else ""

    def _anniversaries(self) -> set[int]:
        """Return the years after which a day returns, where the source counts them: the fourth anniversary."""
        if not re.search(r"anniversar|jahrestag|geburtstag|birthday", self.lower):
            return set()
        return {int(other.raw) for other in self.sources if other.kind == "number" and other.form in ("", "ordinal")}

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

    def _is_time_counted_from(self, value: Value) -> bool:
        """Return whether a time of the source is counted from this one: 18 minutes before midnight."""
        step = self._step_from(value)
        if step is None or abs(step) >= 1:
            return False
        numbers = {(number + round(step * 1440)) % 1440 for number in value.numbers}
        return any(
            not numbers.isdisjoint({number % 1440 for number in other.numbers})
            for other in self.sources
            if other.kind == "time"
        )

    def _is_derived_time(self, value: Value) -> bool:
        if self._is_time_counted_from(value):
            return True
        lost = [other for other in self.free if other.kind == "time"]
        bases = lost or [other for other in self.sources if other.kind == "time"]
        times = [number for other in bases for number in other.numbers]
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


# Days that move from year to year, or are named by their week.
_MOVABLE = re.compile(
    r"karfreitag|oster(?:n|montag|sonntag|samstag|ferien)|himmelfahrt|pfingst|fronleichnam|rosenmontag"
    r"|aschermittwoch|fasching|advent"
    r"|buß- und bettag|good friday|easter|ascension|whit|pentecost|thanksgiving"
    r"|\bkw\b|kalenderwoche|calendar week|\bweek \d"
)


_QUARTER_DAYS = frozenset({(3, 31), (6, 30), (9, 30), (12, 31), (1, 1), (4, 1), (7, 1), (10, 1)})


_RATES = frozenset({("period", "amount"), ("period", "quantity"), ("period", "number"), ("quantity", "amount")})


_SMALL_NUMBERS = dict(
    enumerate(
        (
            "two|zwei", "three|drei", "four|vier", "five|fünf", "six|sechs", "seven|sieben", "eight|acht", "nine|neun",
            "ten|zehn", "eleven|elf", "twelve|zwölf",
        ),
        2,
    )
)  # fmt: skip


_CYCLES = {r"year|annu|jahr|jähr": YEAR, r"month|monat": MONTH, r"week|woche|wöch": 7.0}
_REST = re.compile(r"\b(?:rest|remain\w*|übrige\w*|restliche\w*)\b", re.IGNORECASE)
_TOTAL = re.compile(r"\b(?:in\s(?:total|all)|altogether|adds?\sup|zusammen|insgesamt|gesamt|total)\b", re.IGNORECASE)
_DOUBLE = re.compile(r"\bhal[fb]|hälfte|double|doppel|twice|zweimal|both|beide|couple|paar")


_MORE_OF_IT = re.compile(r"\b(?:by|um)\s(?:an?\s)?(?:another|further|additional|weitere[nrsm]?|zusätzliche[nrsm]?)\s$")
_AGE = r"(?:(?:the\s)?age\sof\s|age\s|(?:dem\s|zum\s)?alter\svon\s)"
_LESS = r"(?:fewer|less|younger|shorter|below|under|before|weniger|jünger|kürzer|unter|vor)"
_MORE = r"(?:more|older|longer|over|above|after|mehr|älter|länger|über|nach)"
# What stands before a number and after it; the first that matches holds.
_EDGES = {
    "last": (
        r"\b(?:up\sto|to|until|bis(?:\szu)?|und|and|höchstens|at\smost|maximum\sof)\s"
        rf"(?:{_AGE}|einschließlich\s)?$|\b(?:not?|nicht)\s{_MORE}\s(?:than\s|als\s)?(?:{_AGE})?$",
        r"\s(?:\w+\s){0,2}(?:or|oder|and|und)\s"
        r"(?:less|fewer|younger|under|below|shorter|weniger|jünger|darunter|kürzer)",
    ),
    "under": (
        rf"\b{_LESS}\s(?:than\s|als\s)?(?:{_AGE}|\w+\s)?$|\b(?:not(?:\syet)?|nicht)\s(?:\w+\s){{0,3}}{_AGE}?$"
        r"|\bbis\s(?:zum\svollendeten|zur\svollendung\sdes)\s$",
        r"\.?\slebensjahr\s(?:noch\s)?nicht\svollende",
    ),
    "over": (rf"\b{_MORE}\s(?:than\s|als\s)?(?:{_AGE}|\w+\s)?$", ""),
    "first": (
        rf"\b(?:from|ab|day|tag|at\sleast|mindestens|minimum\sof)\s(?:dem\s|the\s)?{_AGE}?$",
        r"\s(?:\w+\s){0,2}(?:or|oder|and|und)\s(?:noch\s)?(?:more|older|over|above|longer|later|mehr|älter|darüber|länger|später)",
    ),
}


# Of the output, of the source, and the step between them: "up to 15" is "under 16".
_SAME_EDGES = frozenset(
    {
        ("last", "under", -1), ("under", "last", 1), ("first", "over", 1), ("over", "first", -1), ("first", "last", 1),
        ("first", "year of life", -1), ("year of life", "first", 1),
    }
)  # fmt: skip


_YEAR_OF_LIFE = re.compile(r"\.?\s(?:lebensjahr|geburtstag|birthday)")


def _find_edge(text: str, span: Span) -> str:
    """Return what a number limits, by the words beside it."""
    before, after = text[max(0, span[0] - 40) : span[0]], text[span[1] : span[1] + 40]
    if re.match(r"(?:\.|th)?\s(?:geburtstag|birthday)\b", after):  # before it, they are one year younger
        side = re.search(r"\b(?:(?P<under>bis|vor|until|before)|ab|from)\s(?:\w+\s)?$", before)
        return "" if side is None else "under" if side["under"] else "first"
    if re.match(r"\.?\slebensjahr", after) and re.search(r"\bab\s(?:dem\s|beginn\sdes\s)$", before):
        return "year of life"  # the 66th begins at 65
    for name, (left, right) in _EDGES.items():
        if re.search(left, before) or (right and re.match(right, after)):
            return name
    return ""


_AWAY = re.compile(
    r"\b(?:discount\w*|reduc\w*|rebates?|relief|off|cut|lower\w*|(?:less|fewer)(?!\sthan)|lost|lose[sd]?|missing|decreas\w*|fall\w*|fell|drop\w*|deduct\w*"
    r"|sav(?:e|es|ings?)|\w*rabatt\w*|\w*ermäßig\w*|\w*nachlass\w*|\w*erlass\w*|reduzier\w*|\w*minder\w*|gekürzt\w*"
    r"|\w*kürzung\w*|verringer\w*|gesenkt\w*|sink\w*|senk\w*|weniger(?!\sals)|eingebüßt|verlor\w*|verlier\w*|fehl\w*|abschlag\w*|abzug\w*|abgezogen|billiger|günstiger"
    r"|spar\w*)\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|none|no|against|without|lack\w*|fail\w*|empty|unhappy|dissatisfied|oppos\w*|reject\w*|never|except"
    r"|nicht|kein\w*|gegen|dagegen|ohne|leer|unzufrieden\w*|abgelehnt|ablehn\w*|nie|außer)\b|n[’']t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:!?,](?:\s|$)|\b(?:and|und|but|aber|while|whereas|sondern)\b")


def _is_contrary(text: str, span: Span) -> bool:
    """Return whether the clause of a share says what is taken away, or what is not so."""
    before = _CLAUSE.split(text[max(0, span[0] - 80) : span[0]])[-1]
    after = _CLAUSE.split(text[span[1] : span[1] + 80])[0]
    clause = f"{before} {after}"
    return bool(_AWAY.search(clause)) != bool(_NOT.search(clause))


_EACH_OF = re.compile(r"\b(?:each\sof|every\sone\sof|jede[mnrs]?\sder)\s(?:the\s|these\s|diese[mnr]?\s)?$")
_CHANGE_FROM = re.compile(r"\b(?:from|von)\s(?:\w+\s)?$")
_CHANGE_TO = re.compile(r"\s(?:\w+\s){0,2}(?:to|auf)\s(?:\w+\s)?")
_COMPARED = re.compile(
    r"\s(?:[\w-]+\s){0,2}?(?:(?P<less>fewer|less|weniger)|more|mehr|zusätzlich\w*|additional|extra)\b(?!\s(?:than|als)\b)"
)

_INCLUDED = re.compile(
    r"\b(?:on\sor\s(?P<side>before|after)|(?P<bis>bis)\s(?:\w+\s)?einschließlich(?:\s\w+)?)\s(?:\w+,?\s)?$"
)
_TO_THE_END = re.compile(
    r"\b(?:(?P<until>by|until|till|before|bis|vor)|after|nach)\s(?:zum\s|the\s|dem\s)?(?:end|close|ende)\s(?:of\s|des\sjahres\s)?$"
)
_COUNTED_FROM = re.compile(r"\s(?:after|subsequent\sto|following|from|of|nach|ab)\b[^.;]*$")
_LINK = 60  # characters between a period and the day that it is counted from
_Limit = tuple[date | int, bool]  # a day, and whether its year is given; or a weekday, and whether something ends


def _limit_of(text: str, value: Value) -> _Limit | None:
    """Return the day on which something begins or no longer holds: of "until 3 May" and "from 4 May", 4 May."""
    before = text[max(0, value.span[0] - 40) : value.span[0]].lower()
    bound = value.bound
    if included := _INCLUDED.search(before):
        bound = "from" if included["side"] == "after" else "until"
    elif value.form in ("year", "month") and (ending := _TO_THE_END.search(before)):
        bound = "until" if ending["until"] else "after"
    elif value.form == "year" and bound in ("until", "after"):
        return None  # by 2027: before it begins or ends
    if bound not in ("until", "before", "from", "after"):
        return None
    is_end = bound in ("until", "after")
    if value.form == "weekday":
        return int(value.number + is_end - 1) % 7, bound in ("until", "before")
    year, month, day = value.date
    if value.form not in ("day", "month", "year") or not (month or value.form == "year"):
        return None
    try:
        if day:
            limit = date(year or 2026, month, day) + timedelta(days=is_end)
        elif month:
            limit = date((year or 2026) + (is_end and month == 12), month % 12 + 1 if is_end else month, 1)
        else:
            limit = date(year + is_end, 1, 1)
    except (ValueError, OverflowError):
        return None
    return limit, year > 0


def _is_same_limit(limit: _Limit, other: _Limit | None) -> bool:
    if other is None or isinstance(limit[0], int) or isinstance(other[0], int):
        return limit == other
    has_year = limit[1] and other[1]
    return limit[0] == other[0] if has_year else limit[0].timetuple()[1:3] == other[0].timetuple()[1:3]


def _digits_around(text: str, span: Span) -> tuple[int, int] | None:
    """Return the two numbers of a date without its year that a value was read from a part of: 05/04."""
    for match in re.finditer(r"(?<![\d/.])(\d\d?)[/.](\d\d?)(?![\d/])", text[max(0, span[0] - 3) : span[1] + 4]):
        start = max(0, span[0] - 3)
        if start + match.start() <= span[0] and span[1] <= start + match.end():
            return int(match[2]), int(match[1])
    return None


def _add_period(start: date, period: Value, sign: int) -> date | None:
    """Return the day that a period after a day, or before it, ends on; in months and years, on the same day."""
    if period.scale >= 28:
        months = period.raw * round(period.scale / MONTH) * sign
        if not months.is_integer():
            return None
        years, month = divmod(start.month - 1 + int(months), 12)
        try:
            return date(start.year + years, month + 1, min(start.day, 28 if month == 1 else LAST_DAYS[month]))
        except ValueError:
            return None
    if not period.number.is_integer() or period.unit == "working" or not 1 <= period.number <= 800:
        return None
    return start + timedelta(days=sign * int(period.number))


def _is_day(value: Value, day: date, *, has_year: bool) -> bool:
    year, month, number = value.date
    return (month, number) == (day.month, day.day) and (not year or not has_year or year == day.year)


_PERIODIC = re.compile(r"month|year|annual|annum|monat|jahr|jähr|quart|viertelj")


_REPEATED = re.compile(
    r"\b(?:again|repeat\w*|renew\w*|same|like|further|twice|double|zweimal\w*|verlänger\w*|denselben|gleiche\w*|nochmals|erneut)\b"
)


def _opens(text: str, span: Span) -> bool:
    before, around = text[max(0, span[0] - 24) : span[0]].lower(), text[max(0, span[0] - 40) : span[1] + 20].lower()
    if re.search(r"\b(?:from|starting|as\sof|ab)\s(?:[a-zäöü]+,?\s){0,2}$", before):
        return True
    return bool(re.search(r"\b(?:again|open|reopen|back|wieder|erst|neu|return|resume)\b", around))


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


_FIRST_DAY = re.compile(
    r"\b(?:first|1st)(?:\sday)?\sof\s(?:the|each|every|a)\b|\b(?:ersten|1\.)\s(?:des|eines|jedes|tag)\b|monatserst"
)
_LAST_DAY = re.compile(r"\b(?:last\sday|end)\sof\b|\b(?:letzten\s(?:des|tag)|ende)\b|monatsletzt")
_PLACES = {1: ("first", "1st", "erste"), 2: ("second", "2nd", "zweite"), 3: ("third", "3rd", "dritte"),
           4: ("fourth", "4th", "vierte"), -1: ("last", "letzte")}  # fmt: skip
_NTH = re.compile(r"\b(first|second|third|fourth|last|1st|2nd|3rd|4th|(?:erste|zweite|dritte|vierte|letzte)[nrsm]?)\s$")
# Words that name several weekdays.
_DAY_GROUPS = {
    r"\bweekdays?\b|\bworking\sdays?|\bwochentag|\bwerktag|\bwerktäglich|\barbeitstag|\bschooldays?\b": range(1, 6),
    r"\bwerktag|\bwerktäglich": range(6, 7),
    r"\bweekend|\bwochenend": range(6, 8),
}
_BACK = re.compile(
    r"\b(?:preceding|previous|before|prior|eve)\b|\bvor(?:tag|abend)|\bnacht\s(?:zum|auf)\b|\b(?:davor|zuvor|vorher|vorige\w?)\b|\bam\stag\svor\b"
)
_ON = re.compile(
    r"\b(?:following|after|next|thereafter)\b|\bfolgetag|\b(?:nächste|folgende|darauf\s?folgende)\w?\b|\b(?:danach|darauf)\b"
    r"|\bam\stag\snach\b|\bnacht\s(?:zum|auf|vom)\b"
)


_CLOSED = re.compile(
    r"\b(?:closed?|shut|not|no|never|nobody|except(?:ed)?|every\sday\sbut|zu(?=[.,;!])|geschlossen|nicht|kein\w*|niemand|außer)\b",
    re.IGNORECASE,
)


def _relative_steps(lower: str) -> set[int]:
    """Return the days by which a text moves from those that it names: the day before, the following day."""
    return ({-1} if _BACK.search(lower) else set()) | ({1} if _ON.search(lower) else set())


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


def differ_in_a_digit(value: Value, other: Value) -> bool:
    """Return whether two values have the same digits in another order, differ in one, or by a factor of ten."""
    if value.unit != other.unit or value.in_words or other.in_words or min(value.raw, other.raw) < 10:
        return False
    if any(is_close(value.number, other.number * factor) for factor in (10, 100, 0.1, 0.01)):
        return True
    a, b = f"{value.raw:g}", f"{other.raw:g}"
    return len(a) == len(b) > 1 and (sorted(a) == sorted(b) or sum(x != y for x, y in zip(a, b, strict=True)) == 1)


def _is_wrong_version(value: Value, other: Value) -> bool:
    """Return whether a value is rather another one with an error than a result of others."""
    return differ_in_a_digit(value, other) or (bool(value.counts) and value.counts[:5] == other.counts[:5])


_RANGE = re.compile(r"\W{0,3}(?:\w+\s){0,2}(?:to|and|und|bis|–|-|or|oder)\s?(?:\w+\s){0,2}")


def _is_range(text: str, first: Value, last: Value) -> bool:
    """Return whether two values are the ends of a range: from 6 to 8 November."""
    return _RANGE.fullmatch(text, first.span[1], last.span[0]) is not None


def _is_in(value: Value, values: Iterable[Value]) -> bool:
    return any(value is other for other in values)


def are_together(a: Value, b: Value, limit: int = _TOGETHER) -> bool:
    return abs(a.span[0] - b.span[0]) <= limit


def _comes_to(target: float, result: float) -> bool:
    """Return whether a calculated number is the target, rounded to cents."""
    return abs(target - result) <= 0.006 if target >= 12 else is_close(target, result, 0.0005)
