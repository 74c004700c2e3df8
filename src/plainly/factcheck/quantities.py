"""Numbers, amounts, dates and codes in any notation, compared with those of the source.

Digits, number words (read by text2num), scales ("1.5 million"), fractions, percentages, money, units, ordinals, years,
decades, centuries, days and months have a value. A quantity of an output is the same as one of the source, a harmless
variant of it (rounded, converted, less exact, computed), changed, or new.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from plainly.factcheck.reading import FactFinding, MatchedPair, ReadText, Span, vocabulary
from plainly.text.lexicon import KIND

_NUMBERS: dict[str, str] = vocabulary()["numbers"]
_CARDINALS, _TENS, _SCALES, _ORDINALS = (_NUMBERS[name].split() for name in ("cardinals", "tens", "scales", "ordinals"))
_MONTHS = {name: at for at, name in enumerate(_NUMBERS["months"].split(), 1)}
_MONTHS |= {name: _MONTHS[next(full for full in _MONTHS if full.startswith(name[:3]))]
            for name in _NUMBERS["month_abbreviations"].split()}  # fmt: skip
_SPECIAL = {word: float(value) for word, value in (entry.split() for entry in _NUMBERS["special"].split(","))}
_ABOUT = frozenset(_NUMBERS["about"].split())
_SCALE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "m": 1e6, "bn": 1e9}
_ORDINAL = {word: at for at, word in enumerate(_ORDINALS, 1)} | {
    "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_ORDINAL |= {f"{tens}-{unit}": 10 * at + _ORDINAL[unit] for at, tens in enumerate(_TENS, 2) for unit in _ORDINALS[:9]}
_ROMAN = {"II": 2, "III": 3, "IV": 4, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "XI": 11, "XII": 12, "XIII": 13,
          "XIV": 14, "XV": 15, "XVI": 16, "XVII": 17, "XVIII": 18, "XIX": 19, "XX": 20, "XXI": 21}  # fmt: skip

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WORD = "|".join((*_CARDINALS, *_TENS))
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.])\.\d+"
_MENTION = re.compile(
    # Only digits begin inside a word. Checked first, because most positions are inside words.
    rf"""
    (?:(?<!\w)(?=\S|\A)|(?=[\d½⅓⅔¼¾⅛]))(?:
    (?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)
    |(?P<slashed>(?<![\w/])\d{{1,2}}[/.]\d{{1,2}}[/.](?:\d{{4}}|\d{{2}})(?![\w/]))
    |(?P<short>(?<![\w])['’]\d{{2}}\b(?!['’]?s))
    |(?P<listed>(?<![\w(])\d{{1,2}}(?=\)\s)|\A\s*\d{{1,2}}\.(?=\s[A-Z]))
    |(?P<glued>(?<![\w])(?:in|to|from|of|and|by|until|since|on)(?=[12]\d\d\d\b))
    |(?P<period>\b(?:a|one|the|per|every|each|past|last|half[-\s]a)[-\s]+(?:decade|century|millennium)\b(?!['’]))
    |(?P<ratio>(?<![\w/.,])\d{{1,2}}/\d{{1,3}}(?![\w/]))
    |(?P<clock>\b\d{{1,2}}:\d{{2}}\b)
    |\b(?P<m1>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\b(?![.,:]?\d)
    |\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m2>{_MONTH})\b
    |(?P<decade>(?<![\w,.])['’]?\d{{2,4}}['’]?s\b)
    |(?P<century>\b(?:\d{{1,2}}(?:st|nd|rd|th)|(?:twenty[-\s])?(?:{"|".join(_ORDINALS)}))
        (?=(?:\s*(?:,|and|or|to|through|until|–|-|/)\s*(?:the\s+|early\s+|late\s+|mid[-\s]?)*
            (?:\d{{1,2}}(?:st|nd|rd|th)|(?:twenty[-\s])?(?:{"|".join(_ORDINALS)})))*[-\s]+centur))
    |(?P<ordinal>\b\d[\d,]*(?:st|nd|rd|th)\b)
    |(?P<digits>(?<![\w.,])(?:(?:US|A|C|NZ)?[$£€¥]\s?)?(?:{_DIGITS})(?:(?![\w])|(?=(?:km|kg|cm|mm|mph|kph|bn|lb|ft|m|g|mi)\b))|(?<=[\s(\[–\-/$£€¥x:])(?:{_DIGITS})(?=[-–/x:])|(?<=[–\-/x:])(?:{_DIGITS})(?![\w]))
    |(?P<code>(?<![\w$£€¥])(?=\w*\d)(?=\w*[^\W\d])[\w]+(?:[-.]\w+)*)
    |(?P<fraction>\b(?:(?:one|two|three|a)[-\s])?(?:half|thirds?|quarters?)\b(?![-\s]+(?:of\s+the\s+)?(?:century|place|time|party|world)))
    |(?P<position>\b(?:(?:{"|".join(_TENS)})[-\s])?(?:{"|".join(_ORDINALS)}|thirtieth|fiftieth|hundredth)\b)
    |(?P<words>\b(?:(?:a|an)\s+(?=hundred|thousand|million|billion))?(?:{_WORD}|hundred|thousand|million|billion)
        (?:(?:[-\s]+|\s+and\s+)(?:{_WORD}|{"|".join(_SCALES)}))*\b)
    |(?P<special>\b(?:dozens?|couple|pair|twice|doubled?|triple|trio)\b)
    |(?P<glyph>[½⅓⅔¼¾⅛]))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SCALED = re.compile(r"\s?[-\s]?(hundred|thousand|million|billion|trillion|bn)\b", re.IGNORECASE)
_AND_A = re.compile(r"\s+and\s+a\s+(half|quarter)\b", re.IGNORECASE)
_YEAR_BEFORE = re.compile(r"\b(1[0-9]|20)\d\d(?:\s?[-–/]\s?|\s)$")
_OF_A_SCALE = re.compile(r"\s+(?:a|of\s+a)\s+(hundred|thousand|million|billion|dozen)\b", re.IGNORECASE)
_PERIODS = {"decade": 10.0, "century": 100.0, "millennium": 1000.0}
_GLYPHS = {"½": 0.5, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 0.25, "¾": 0.75, "⅛": 0.125}
_PERCENT = re.compile(r"\s?(?:%|percent\b|per\s+cent\b|pct\b)", re.IGNORECASE)
_UNIT = re.compile(r"[-\s]?((?:square|cubic|sq|percentage|degrees?)[-\s.]+)?([A-Za-z°²/%]+2?)", re.IGNORECASE)
_LONG_MONTH = "|".join(month.title() for month in _MONTHS if len(month) > 4)
_BARE_MONTH = re.compile(rf"\b((?i:{_MONTH})(?=,?\s+[12]\d\d\d\b)|{_LONG_MONTH}|June|July|May)\b")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_BEFORE_MONTHS = frozenset(("in", "of", "since", "until", "by", "last", "early", "late"))
_WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b")
_ROMAN_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_ROMAN, key=len, reverse=True))})\b")

_PLAIN = frozenset({"count", "ordinal", "year", "special", "roman", "fraction"})
_EXACT = 1e-6  # the relative difference up to which two values are the same
_NEARBY = 64  # how many numbers of the source a new one is compared with: the nearest in a long text


@dataclass(frozen=True)
class Quantity:
    """A value in a text. ``kind`` is the sort of number, ``unit`` what it measures, if known."""

    span: Span
    value: float
    kind: str  # count, ordinal, year, decade, century, day, month, clock, code, fraction
    unit: str = ""  # what a unit measures: length, mass, share, dollar, …
    scale: float = 1.0  # of the unit
    about: bool = False
    words: bool = False  # written in letters
    text: str = ""

    @property
    def amount(self) -> float:
        return self.value * self.scale

    @property
    def weak(self) -> bool:
        """Whether it is often not a number at all: "one", "a first", "both"."""
        return self.words and (self.value in (0.0, 1.0) or self.kind in ("special", "ordinal", "fraction", "roman"))

    @property
    def is_date(self) -> bool:
        return self.kind in ("year", "decade", "century", "day", "month", "clock", "either", "weekday")


@cache
def _units() -> dict[str, tuple[str, float]]:
    table: dict[str, tuple[str, float]] = {}
    for measure, listed in vocabulary()["units"].items():
        for entry in listed.split(","):
            *names, factor = entry.split()
            table |= {name: (measure, float(factor)) for name in names}
    return table


@lru_cache(maxsize=50_000)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return all quantities of a text, in order."""
    return tuple(sorted(_find_quantities(text), key=lambda quantity: quantity.span))


def _find_quantities(text: str) -> Iterator[Quantity]:
    spans: list[Span] = []
    for mention in _MENTION.finditer(text):
        if spans and mention.start() < spans[-1][1]:  # a quantity may reach further than its match
            continue
        kind = mention.lastgroup or ""
        for quantity in _read_date(mention) if kind in ("iso", "slashed") else [_to_quantity(text, kind, mention)]:
            if quantity is not None:
                spans.append(quantity.span)
                yield quantity
    for month in _BARE_MONTH.finditer(text):
        start, end = month.span()
        last = bisect_left(spans, (end, 0))  # of what begins before the month ends
        before = text[max(0, start - 20) : start].rstrip().rpartition(" ")[2].lower()
        is_dated = before in _BEFORE_MONTHS or text[end : end + 3].strip(" ,")[:1].isdigit()
        is_counted = last > 0 and spans[last - 1][1] > start
        if not is_counted and (is_dated or month[0] not in ("May", "March")):
            yield Quantity(month.span(), _MONTHS[month[0].lower()] * 100, "month", text=month[0])
    for weekday in _WEEKDAY.finditer(text):
        yield Quantity(weekday.span(), _DAYS.index(weekday[0][:3].lower()) + 1, "weekday", text=weekday[0])
    for roman in _ROMAN_WORD.finditer(text):
        yield Quantity(roman.span(), _ROMAN[roman[0]], "roman", words=True, text=roman[0])


def _to_quantity(text: str, kind: str, mention: re.Match[str]) -> Quantity | None:
    """Return the quantity behind a match, including the scale, percent sign or unit that follows."""
    word, span = mention[0], mention.span()
    lower, end = word.lower(), mention.end()
    match kind:
        case "listed":  # 1) one thing; 2) another
            return None
        case "d1" | "m2":
            month, day = _MONTHS[(mention["m1"] or mention["m2"]).lower()], mention["d1"] or mention["d2"]
            return Quantity(span, month * 100 + int(day), "day", text=word)
        case "glued":  # in1994
            return Quantity((end, end + 4), float(text[end : end + 4]), "year", text=text[end : end + 4])
        case "short":
            return Quantity(span, 1900 + float(word[1:]), "year", text=word)
        case "period":
            years = _PERIODS[re.split(r"[-\s]+", lower)[-1]] / (1 + lower.startswith("half"))
            return Quantity(span, years, "special", "time", _units()["year"][1], words=True, text=word)
        case "ratio":
            part, whole = map(int, word.split("/"))
            return Quantity(span, part / whole, "fraction", text=word) if whole else None
        case "clock":
            hours, minutes = map(int, word.split(":"))
            return Quantity(span, hours * 60 + minutes, "clock", text=word)
        case "decade":
            value = float(_digits(word))
            if value % 10:  # 1988's
                return Quantity(span, value, "year", text=word)
            return Quantity(span, value + 1900 if value < 100 else value, "decade", text=word)
        case "century" | "ordinal":
            return Quantity(span, _ordinal_value(lower), kind, text=word)
        case "code":
            # Equal for equal codes: A320, MP3.
            value = float(sum(ord(character) * 31**place for place, character in enumerate(lower[:10])))
            return Quantity(span, value, "code", text=word)
        case "glyph":
            return Quantity(span, _GLYPHS[word], "fraction", text=word)
        case "special":
            return Quantity(span, _SPECIAL[lower], "special", words=True, text=word)
        case "position":
            return Quantity(span, _ordinal_value(lower), "ordinal", words=True, text=word)
        case "fraction":
            *before, part_name = re.split(r"[-\s]+", lower)
            value = {"two": 2, "three": 3}.get(before[0] if before else "", 1) * _SPECIAL[part_name]
            if scale := _OF_A_SCALE.match(text, end):
                value *= _SCALE.get(scale[1].lower(), 12.0)
                word = text[mention.start() : scale.end()]
                return Quantity((mention.start(), scale.end()), value, "count", words=True, text=word)
            return Quantity(span, value, "fraction", words=True, text=word)
    return _read_amount(text, *span, in_words=kind == "words")


def _read_date(match: re.Match[str]) -> Iterator[Quantity]:
    """Read a date in figures: day and month, in either order where both are possible, and the year."""
    parts = re.split(r"[-/.]", match[0])
    year, first, second = parts if len(parts[0]) == 4 else (parts[2], *parts[:2])
    full = int(year) if len(year) == 4 else 1900 + int(year) if int(year) > 30 else 2000 + int(year)
    month, day = (int(first), int(second)) if int(first) <= 12 else (int(second), int(first))
    either = day <= 12 and len(parts[0]) < 4
    yield Quantity(match.span(), month * 100 + day, "either" if either else "day", text=match[0])
    yield Quantity((match.end() - len(year), match.end()), float(full), "year", text=match[0])


def _read_amount(text: str, start: int, end: int, *, in_words: bool) -> Quantity | None:
    word = text[start:end]
    symbol = re.match(r"((?:US|A|C|NZ)?[$£€¥])\s?", word)
    value = _parse_words(word.lower()) if in_words else float(re.sub(r"[^\d.]", "", word))
    if value is None:
        return None
    if len(word) == 2 and not in_words and (since := _YEAR_BEFORE.search(text, max(0, start - 9), start)):
        return Quantity((start, end), float(since[1] + word), "year", text=word)  # 1954–73
    scaled = False
    while scale := _SCALED.match(text, end):
        value, end, scaled = value * _SCALE[scale[1].lower()], scale.end(), True
    if more := _AND_A.match(text, end):
        value, end = value + _SPECIAL[more[1].lower()], more.end()
    before = text[max(0, start - 60) : start].split()[-2:]
    about = any(token.lower().strip("(") in _ABOUT for token in before)
    unit, factor = "", 1.0
    if symbol:
        unit, factor = _units().get(symbol[1][-1], ("", 1.0))
    elif percent := _PERCENT.match(text, end):
        unit, end = "share", percent.end()
    elif (following := _UNIT.match(text, end)) and not (in_words and value == 1):
        name = (re.sub(r"[\s.]+", "-", following[1].lower()) if following[1] else "") + following[2].lower()
        is_short = len(following[2]) <= 2 and following[2].islower() and text[end : end + 1] == " "
        if (
            name in _units()
            and name not in ("in", "second", "a")
            and not (name == "t" or (name == "m" and not is_short))
        ):
            unit, factor = _units()[name]
            end = following.end()
    is_year = not unit and not scaled and not in_words and len(word) == 4 and word.isdigit() and 1000 <= value <= 2100
    return Quantity((start, end), value, "year" if is_year else "count", unit, factor, about, in_words, text[start:end])


def _ordinal_value(word: str) -> float:
    return float(_digits(word) or _ORDINAL.get(re.sub(r"\s+", "-", word), 0))


@lru_cache(maxsize=10_000)
def _parse_words(words: str) -> float | None:
    """Return the value of number words."""
    from text_to_num import text2num

    bare = re.sub(r"^(?:a|an)\s+", "one ", words)
    if bare.split()[0].split("-")[0] in _SCALES:
        return None if bare == words and " " not in bare else _parse_words(f"one {bare}")
    for attempt in (bare, bare.replace("-", " "), bare.replace(" and ", " ")):
        try:
            return float(text2num(attempt, "en"))
        except ValueError:
            continue
    parts = re.split(r"[-\s]+", bare)
    for cut in range(1, len(parts)):  # nineteen eighty-five
        try:
            hundreds, rest = (text2num("-".join(piece), "en") for piece in (parts[:cut], parts[cut:]))
        except ValueError:
            continue
        if 10 <= hundreds <= 20 and 10 <= rest <= 99:
            return float(hundreds * 100 + rest)
    return None


def check_amounts(pair: MatchedPair) -> Iterator[FactFinding]:
    """Classify every quantity in the output."""
    sources, outputs = quantities(pair.source.text), quantities(pair.output.text)
    if not outputs:
        return
    values = np.array([quantity.value for quantity in sources])
    equals: dict[tuple[str, float, str], list[Quantity]] = {}
    open_outputs = []
    for quantity in outputs:
        key = quantity.kind, quantity.value, quantity.text
        if key not in equals:
            candidates = (sources[at] for at in _find_near(values, *_possible_values(quantity)))
            equals[key] = [other for other in candidates if _is_equal(quantity, other)]
        if equals[key]:
            yield from _check_equal(pair, quantity, equals[key])
        else:
            open_outputs.append(quantity)
    free = set(sources).difference(*equals.values())
    first = any(token == "I" and at not in pair.source.firsts for at, token in enumerate(pair.source.tokens))
    for quantity in open_outputs:
        if not (first and quantity.value == 1):  # World War I and World War 1
            place = quantity.span[0] * len(pair.source.text) / len(pair.output.text)
            middle = bisect_left(sources, place, key=lambda other: other.span[0])
            start = max(0, min(middle - _NEARBY // 2, len(sources) - _NEARBY))
            yield from _check_unequal(pair, quantity, sources[start : start + _NEARBY], free)
    yield from _find_exchanges(pair, sources, outputs)


def _find_near(values: npt.NDArray[np.float64], *targets: float) -> list[int]:
    """Return the positions of all values that may equal one of the targets; fast for long texts too."""
    with np.errstate(invalid="ignore"):  # infinity: a number of hundreds of digits
        is_near = [np.abs(values - target) <= 2 * _EXACT * max(abs(target), 1e-9) for target in targets]
    return [int(at) for at in np.flatnonzero(np.any(is_near, axis=0))]


def _possible_values(quantity: Quantity) -> tuple[float, ...]:
    """Return the values that a number may stand for: "3/4" is a fraction or one of two days."""
    if quantity.kind == "fraction" and "/" in quantity.text:
        month, day = map(int, quantity.text.split("/"))
        return quantity.value, month * 100 + day, day * 100 + month
    if quantity.kind in ("either", "day"):
        return quantity.value, quantity.value % 100 * 100 + quantity.value // 100
    return (quantity.value,)


def _is_equal(quantity: Quantity, other: Quantity) -> bool:
    """Return whether a number of the source has the same value."""
    kinds = {quantity.kind, other.kind}
    if (quantity.kind == "fraction" and other.kind == "day" and "/" in quantity.text) or (
        "either" in kinds and kinds <= {"either", "day"}
    ):
        return other.value in _possible_values(quantity)
    return (len(kinds) == 1 or kinds <= _PLAIN) and _is_close(quantity.value, other.value)


def _check_equal(pair: MatchedPair, quantity: Quantity, others: Sequence[Quantity]) -> Iterator[FactFinding]:
    """Compare the unit and the notation of an equal number."""
    units = {other.unit for other in others}
    if {quantity.unit, *units} <= {"sterling", "mass"} and "pound" in (quantity.text + "".join(o.text for o in others)):
        return  # £5 and 5 pounds
    spans = (others[0].span,), (quantity.span,)
    scales = {other.scale for other in others if other.unit == quantity.unit}
    forms = {form for other in others for form in (other.text.lower(), other.text.lower().strip("the "))}
    if quantity.unit and quantity.unit not in units and "" not in units:
        sure = 0.4 if "temperature" in (quantity.unit, others[0].unit) else 0.8
        yield pair.span_finding("changed", "unit", sure, *spans)
    elif quantity.unit and scales and not any(_is_close(scale, quantity.scale) for scale in scales):
        yield pair.span_finding("changed", "unit", 0.85, *spans)
    elif quantity.text.lower() not in forms and not quantity.weak:
        yield pair.span_finding("harmless", "notation", 1.0, *spans)


def _check_unequal(
    pair: MatchedPair, quantity: Quantity, sources: Sequence[Quantity], free: set[Quantity]
) -> Iterator[FactFinding]:
    """Classify a number that the source does not have: rounded, converted, less exact, computed, changed or new."""
    for other in sources:
        if kind := _classify_harmless(quantity, other):
            free.discard(other)
            yield pair.span_finding("harmless", kind, 1.0, (other.span,), (quantity.span,))
            return
    if _is_computed(quantity, sources, pair):
        yield pair.span_finding("harmless", "arithmetic", 0.6, (), (quantity.span,))
        return
    counterpart = _find_counterpart(pair, quantity, [other for other in sources if other in free])
    what = "date" if quantity.is_date else "quantity" if quantity.unit else "number"
    tiny = quantity.words and quantity.value <= 2
    if counterpart is not None:
        free.remove(counterpart)
        sure = 0.92
        if quantity.weak or counterpart.weak or tiny:
            sure = 0.6 if _is_in_place(pair, quantity, counterpart) else 0.35
        yield pair.span_finding("changed", what, sure, (counterpart.span,), (quantity.span,))
    elif not quantity.weak and quantity.kind != "special":
        sure = 0.35 if tiny else 0.55 if quantity.words and quantity.value <= 10 else 0.9
        yield pair.span_finding("added", what, sure, (), (quantity.span,))


def _classify_harmless(quantity: Quantity, other: Quantity) -> str:
    """Return the kind of harmless variation between two numbers, or an empty string."""
    a, b = other, quantity
    kinds = {a.kind, b.kind}
    if kinds <= {"year", "decade", "century", "count"} and kinds & {"decade", "century"}:
        return _classify_less_exact(a, b)
    if a.kind == "day" and b.kind in ("ordinal", "count") and b.value == int(a.value) % 100:
        return "notation"
    if a.kind == "day" and b.kind == "month":
        return "precision" if int(a.value) // 100 * 100 == b.value else ""
    if kinds & {"day", "month", "clock", "code", "decade", "century", "weekday", "either"}:
        is_code = "code" in kinds and kinds <= {"code", "count"}
        return "notation" if is_code and _digits(a.text) == _digits(b.text) != "" else ""
    if a.unit == "share" and b.kind == "fraction" and abs(a.value / 100 - b.value) < 0.03:
        return "rounding" if not _is_close(a.value / 100, b.value) else "notation"
    if b.unit == "share" and a.kind == "fraction" and abs(b.value / 100 - a.value) < 0.03:
        return "notation"
    if a.unit and a.unit == b.unit and a.scale != b.scale and a.unit != "temperature":
        if _is_close(a.amount, b.amount, 0.001):
            return "notation"
        return "conversion" if _is_close(a.amount, b.amount, 0.06) else ""
    if a.unit == b.unit == "temperature" and any(
        _is_close(b.value, value, 0.06) for value in (a.value * 1.8 + 32, (a.value - 32) / 1.8)
    ):
        return "conversion"
    if "ordinal" in kinds and kinds != {"ordinal"}:
        return ""
    if a.kind == "year" or b.kind == "year" or (a.unit and b.unit and a.unit != b.unit):
        return ""
    return "rounding" if _is_rounded(a, b) else ""


def _is_rounded(a: Quantity, b: Quantity) -> bool:
    """Return whether b is a rounded: close to it, with fewer significant digits."""
    if not a.value or (a.value < 11 and float(a.value).is_integer()):
        return False
    nearness = abs(a.amount - b.amount) / abs(a.amount)
    fewer = _count_significant(b.value) < _count_significant(a.value)
    return fewer and nearness <= (0.12 if b.about else 0.05 if b.value >= 100 else 0.08)


def _count_significant(value: float) -> int:
    digits = f"{value:.6f}".rstrip("0").rstrip(".") if not float(value).is_integer() else str(int(value)).rstrip("0")
    return len(digits.replace(".", "").lstrip("0")) or 1


def _classify_less_exact(a: Quantity, b: Quantity) -> str:
    """Compare years, decades and centuries: 1985 and the 1980s match, "5th century" and "the 1400s" do not."""
    if {a.kind, b.kind} == {"decade", "century"}:
        decade, century = (a, b) if a.kind == "decade" else (b, a)
        if decade.value // 100 + 1 != century.value:
            return ""
        return "notation" if decade.value % 100 == 0 else "precision" if b is century else ""
    is_inside = False
    if b.kind == "decade" and a.kind in ("year", "count", "decade"):
        is_inside = a.value // 10 == b.value // 10 or (b.value % 100 == 0 and a.value // 100 == b.value // 100)
    elif b.kind == "century" and a.kind in ("year", "count"):
        is_inside = b.value in (a.value // 100 + 1, (a.value - 1) // 100 + 1)
    return "precision" if is_inside else ""


def _is_computed(quantity: Quantity, sources: Sequence[Quantity], pair: MatchedPair) -> bool:
    """Return whether a number is a sum or difference of two, or counts what the source lists."""
    if quantity.kind not in ("count", "special"):
        return False
    value = quantity.value
    values = [other.value for other in sources if other.kind in ("count", "year") and not other.weak]
    for low, high in map(sorted, combinations(values, 2) if value > 2 or not quantity.words else ()):
        are_years = low >= 1000 and high <= 2100
        if (
            (quantity.unit == "share" and high and abs(100 * low / high - value) <= 1.5)
            or (value == high - low and (are_years or value > 10))
            or (value == low + high and not are_years)
        ):
            return True
    list_length = pair.source.tokens.count(",") + 1 + ("and" in pair.source.lower)
    return quantity.words and 2 <= value <= min(9, list_length)


def _find_counterpart(pair: MatchedPair, quantity: Quantity, free: Sequence[Quantity]) -> Quantity | None:
    """Return the number of the source that this one replaces: nearby, of the same thing, of the same kind."""
    own_gaps = {pair.gaps[1][at] for at in pair.output.words_between(quantity.span)}
    own_stem = _counted_stem(pair.output, quantity)

    def rate(other: Quantity) -> float:
        gaps = {pair.gaps[0][at] for at in pair.source.words_between(other.span)}
        apart = min((abs(own - gap) for own in own_gaps for gap in gaps), default=9)
        return (
            (2.0 / (1 + apart) if apart < 4 else 0.0)
            + (1.5 if own_stem and own_stem == _counted_stem(pair.source, other) else 0.0)
            + (0.6 if other.kind == quantity.kind else 0.0)
            + (0.5 if other.unit == quantity.unit != "" else 0.0)
            - (0.8 if other.weak else 0.0)
        )

    rates = {other: rate(other) for other in free if other.is_date == quantity.is_date or other.kind == "count"}
    best = max(rates, key=rates.__getitem__, default=None)
    return best if best is not None and rates[best] >= 0.5 else None


def _is_in_place(pair: MatchedPair, quantity: Quantity, other: Quantity) -> bool:
    """Return whether one number stands exactly where the other stood and is of the same kind."""
    places = pair.source.words_between(other.span), pair.output.words_between(quantity.span)
    same_gap = {pair.gaps[0][at] for at in places[0]} & {pair.gaps[1][at] for at in places[1]}
    after = places[0][-1] + 1, places[1][-1] + 1
    before = places[0][0] - 1, places[1][0] - 1
    has_same_neighbour = (after[0] < len(pair.source) and pair.forward[after[0]] == after[1]) or (
        before[0] >= 0 and pair.forward[before[0]] == before[1] >= 0
    )
    return bool(same_gap) and has_same_neighbour and quantity.kind == other.kind


def _counted_stem(reading: ReadText, quantity: Quantity) -> str:
    """Return the stem of the next content word: what is counted."""
    following = bisect_left(reading.spans, (quantity.span[1], 0))
    is_noun = following < len(reading) and reading.kinds[following] in (KIND["content"], KIND["name"])
    return reading.stems[following] if is_noun else ""


def _find_exchanges(
    pair: MatchedPair, sources: Sequence[Quantity], outputs: Sequence[Quantity]
) -> Iterator[FactFinding]:
    """Report numbers that both texts have, but of different things: "3 cats and 2 dogs", "2 cats and 3 dogs"."""
    counts = [quantity for quantity in sources if quantity.kind == "count"]
    things: dict[str, list[Quantity]] = {}
    for quantity in counts:
        things.setdefault(_counted_stem(pair.source, quantity), []).append(quantity)
    amounts = np.array([quantity.amount for quantity in counts])
    exchanges = []
    for quantity in outputs:
        thing = _counted_stem(pair.output, quantity) if quantity.kind == "count" else ""
        candidates = things.get(thing, []) if thing else []
        if (
            len(candidates) == 1
            and not _is_close(candidates[0].amount, quantity.amount)
            and not _is_rounded(candidates[0], quantity)
        ):
            near = (counts[at] for at in _find_near(amounts, quantity.amount))
            elsewhere = next((other for other in near if _is_close(other.amount, quantity.amount)), candidates[0])
            if elsewhere is not candidates[0]:
                exchanges.append((candidates[0], quantity))
    if len(exchanges) >= 2:
        for other, quantity in exchanges:
            yield pair.span_finding("changed", "number", 0.85, (other.span,), (quantity.span,))


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _is_close(a: float, b: float, tolerance: float = _EXACT) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-9)
