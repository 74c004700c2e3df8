"""What follows from the values of a source: sums and shares, days and times that are counted from others, limits.

A value of the output that follows is not a change. ``explains`` is sure of it; ``may_follow`` is true where it may have
been calculated in a way that cannot be told from an error.
"""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import combinations, pairwise

from plainly.factcheck.equality import is_close, is_equal, measure
from plainly.factcheck.reading import MatchedPair, Span
from plainly.factcheck.values import ADULT, LAST_DAYS, Value, digits, relative_days

_TOGETHER, _IN_A_SENTENCE = 300, 220  # characters between values that are multiplied, or added


_MEASURED = ("amount", "percent", "quantity", "period", "number")


class Derivations:
    """The values of a pair, and which of the source the output lacks."""

    def __init__(
        self, pair: MatchedPair, sources: Sequence[Value], outputs: Sequence[Value], free: Sequence[Value]
    ) -> None:
        self.pair, self.sources, self.outputs, self.free = pair, sources, outputs, free
        self.lower = pair.source.text.lower()

    def may_follow(self, value: Value, near: Sequence[Value]) -> bool:
        """Return whether a value may come out of others in a way that the rules do not know for sure."""
        if value.kind in ("amount", "quantity"):
            return self._is_calculated_in_steps(value, near)
        if value.kind == "period":
            if re.match(r"\s(?:a|per|im|pro)\s(?:year|jahr)", self.pair.output.text[value.span[1] :].lower()):
                return True  # two days a month, 24 days a year
            return any(  # about a month: four weeks
                mine.kind == "period"
                and mine.number
                and abs(mine.number - value.number) < 0.12 * value.number
                and (mine.scale < 28) != (value.scale < 28)
                for mine in self.sources
            )
        return False

    def explains(self, value: Value, sources: Sequence[Value]) -> bool:
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
        for other in self.sources:
            step = value.raw - other.raw
            is_measured_alike = value.kind == "number" or other.scale == value.scale
            if other.kind in ("number", "period") and is_measured_alike and abs(step) == 1:
                texts = (self.pair.output.text, value.span), (self.pair.source.text, other.span)
                edges = [_find_edge(text.lower(), span) for text, span in texts]
                if (*edges, step) in _SAME_EDGES:
                    return True
        return False

    def _is_count(self, value: Value) -> bool:
        """Return whether a small number may count what the source lists."""
        if value.kind != "number":
            return False
        if 2 <= value.raw <= 12 and re.search(rf"\b(?:{_SMALL_NUMBERS[int(value.raw)]})[-a-zäöüß]", self.lower):
            return True  # two beds, of a Zweibettzimmer
        if not value.in_words:
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
            if measure(other) == measure(value) or (value.kind == "number" and other.kind == "amount")
        ]
        target = value.number
        for a, b in combinations(same, 2):
            if are_together(
                a, b, _IN_A_SENTENCE if value.kind != "number" or value.raw > 12 else _IN_A_SENTENCE // 2
            ) and not (a.weak or b.weak):
                low, high = sorted((a.number, b.number))
                if value.kind == "number" and value.in_words and value.raw <= 2:
                    break
                if is_close(target, high + low) or (
                    is_close(target, high - low)
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
                    are_together(a, b)
                    and measure(a) == measure(b)
                    and high
                    and (
                        abs(100 * low / high - target) < 0.5 or abs(100 * (high - low) / low - target) < 0.5
                        if low
                        else False
                    )
                ):
                    return True
            if any(
                other.kind == "percent" and is_close(100 - other.number, target, 0.01)
                for other in sources
                if other.form == "fraction" or any(is_equal(mine, other) for mine in self.outputs)
            ):
                return True
        if value.kind == "number" and value.raw <= 12:
            return False
        beside = [
            mine.raw
            for mine in self.outputs
            if mine.kind in ("number", "period")
            and 2 <= mine.raw <= 12
            and not mine.form
            and abs(mine.span[0] - value.span[0]) < 60
        ]
        if value.kind in ("amount", "quantity") and any(
            is_close(target, other.number * times) for other in same for times in beside
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
                if base is not other and are_together(base, other):
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
                                and are_together(base, third)
                            ):
                                share = third.number / 100
                                if _comes_to(target, number * factor * (1 - share)) or _comes_to(
                                    target, number * factor * share
                                ):
                                    return True
        if value.kind in ("amount", "quantity"):
            return any(
                is_close(target, number * rate, 0.01)
                for _, number in bases
                for ratio in ratios
                for rate in (ratio, 1 / ratio)
            )
        if value.kind != "period" or value.form == "interval":
            return False
        return any(
            is_close(target, number * times)
            and _REPEATED.search(self.lower, max(0, base.span[0] - _IN_A_SENTENCE), base.span[1] + _IN_A_SENTENCE)
            for base, number in bases
            for times in (2, 3)
        )

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
            | ({12.0, 1 / 12, 4.0, 0.25} if _PERIODIC.search(self.lower + self.pair.output.text.lower()) else set())
            | ({2.0, 0.5} if _DOUBLE.search(self.lower + self.pair.output.text.lower()) else set())
        )
        target = value.number
        results = {number * factor for number in numbers for factor in factors}
        if any(_comes_to(target, result) for result in results):
            return True
        return any(is_close(target, sum(some)) for size in (2, 3, 4) for some in combinations(numbers[:10], size))

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


_DOUBLE = re.compile(r"\bhal[fb]|hälfte|double|doppel|twice|zweimal|both|beide|couple|paar")


_EDGES = {
    "under": (
        r"\b(?:fewer|less|younger|shorter|below|under|before|weniger|jünger|kürzer|unter|vor)\s(?:than\s|als\s)?(?:\w+\s)?$|\b(?:not(?:\syet)?|nicht)\s(?:\w+\s){0,3}$",
        "",
    ),
    "over": (r"\b(?:more|older|longer|over|above|after|mehr|älter|länger|über|nach)\s(?:than\s|als\s)?(?:\w+\s)?$", ""),
    "last": (
        r"\b(?:up\sto|to|until|bis(?:\szu)?|und|and|höchstens|at\smost|maximum\sof)\s(?:the\sage\sof\s|age\s|zum\salter\svon\s|einschließlich\s)?$",
        r"\s(?:\w+\s){0,2}(?:or|oder|and|und)\s(?:less|fewer|younger|under|below|weniger|jünger|darunter)",
    ),
    "first": (
        r"\b(?:from|ab|day|tag|at\sleast|mindestens|minimum\sof)\s(?:dem\s|the\s)?$",
        r"\s(?:\w+\s){0,2}(?:or|oder|and|und)\s(?:more|older|over|above|mehr|älter|darüber)",
    ),
}


# Of the output, of the source, and the step between them: "up to 15" is "under 16".
_SAME_EDGES = frozenset(
    {("last", "under", -1), ("under", "last", 1), ("first", "over", 1), ("over", "first", -1), ("first", "last", 1)}
)


def _find_edge(text: str, span: Span) -> str:
    """Return what a number limits, by the words beside it."""
    before, after = text[max(0, span[0] - 30) : span[0]], text[span[1] : span[1] + 40]
    for name, (left, right) in _EDGES.items():
        if re.search(left, before) or (right and re.match(right, after)):
            return name
    return ""


_PERIODIC = re.compile(r"month|year|annual|annum|monat|jahr|jähr|quart|viertelj")


_REPEATED = re.compile(
    r"\b(?:again|repeat\w*|renew\w*|same|like|further|twice|double|zweimal\w*|verlänger\w*|denselben|gleiche\w*|nochmals|erneut)\b"
)


def _opens(text: str, span: Span) -> bool:
    around = text[max(0, span[0] - 40) : span[1] + 20].lower()
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


def are_together(a: Value, b: Value, limit: int = _TOGETHER) -> bool:
    return abs(a.span[0] - b.span[0]) <= limit


def _comes_to(target: float, result: float) -> bool:
    """Return whether a calculated number is the target, rounded to cents."""
    return abs(target - result) <= 0.006 if target >= 12 else is_close(target, result, 0.0005)
