"""Numbers, amounts, dates and codes in a text, each with its value, whatever way it is written.

Digits, number words (read by text2num), scales ("1.5 million"), fractions, percentages, money, units, ordinals, years,
decades, centuries, days and months.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from plainly.factcheck.finding import Span
from plainly.factcheck.reading import vocabulary

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
    # Nothing begins inside a word but digits: looked at first, because most places are inside words.
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
_PERCENT = re.compile(r"\s?(?:%|percent\b|per\s+cent\b|pct\b)", re.IGNORECASE)
_UNIT = re.compile(r"[-\s]?((?:square|cubic|sq|percentage|degrees?)[-\s.]+)?([A-Za-z°²/%]+2?)", re.IGNORECASE)
_LONG_MONTH = "|".join(month.title() for month in _MONTHS if len(month) > 4)
_BARE_MONTH = re.compile(rf"\b((?i:{_MONTH})(?=,?\s+[12]\d\d\d\b)|{_LONG_MONTH}|June|July|May)\b")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b")
_ROMAN_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_ROMAN, key=len, reverse=True))})\b")


@dataclass(frozen=True)
class Quantity:
    """A value in a text. ``kind`` says what sort of number it is, ``unit`` what it is a number of, if known."""

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
        """Whether it is often no number at all: "one", "a first", "both"."""
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
    """All quantities of a text, in its order."""
    return tuple(sorted(_read(text), key=lambda quantity: quantity.span))


def _read(text: str) -> Iterator[Quantity]:
    taken: list[Span] = []
    for match in _MENTION.finditer(text):
        if taken and match.start() < taken[-1][1]:  # a quantity may reach further than its match
            continue
        kind = match.lastgroup or ""
        for quantity in _calendar(match) if kind in ("iso", "slashed") else [_quantity(text, kind, match)]:
            if quantity is not None:
                taken.append(quantity.span)
                yield quantity
    for month_match in _BARE_MONTH.finditer(text):
        last = bisect_left(taken, (month_match.end(), 0))  # of what begins before the month ends
        if last and taken[last - 1][1] > month_match.start():
            continue
        before = text[max(0, month_match.start() - 20) : month_match.start()].rstrip().rpartition(" ")[2].lower()
        dated = text[month_match.end() : month_match.end() + 3].strip(" ,")[:1].isdigit()
        if (
            month_match[0] in ("May", "March")
            and not dated
            and before not in ("in", "of", "since", "until", "by", "last", "early", "late")
        ):
            continue
        yield Quantity(month_match.span(), _MONTHS[month_match[0].lower()] * 100, "month", text=month_match[0])
    for weekday in _WEEKDAY.finditer(text):
        yield Quantity(weekday.span(), _DAYS.index(weekday[0][:3].lower()) + 1, "weekday", text=weekday[0])
    for roman in _ROMAN_WORD.finditer(text):
        yield Quantity(roman.span(), _ROMAN[roman[0]], "roman", words=True, text=roman[0])


def _quantity(text: str, kind: str, match: re.Match[str]) -> Quantity | None:
    """The quantity behind a match, with what follows it: a scale, a percent sign, a unit."""
    word, (start, end) = match[0], match.span()
    lower = word.lower()
    if kind in ("d1", "m2"):
        month, day = _MONTHS[(match["m1"] or match["m2"]).lower()], match["d1"] or match["d2"]
        return Quantity((start, end), month * 100 + int(day), "day", text=word)
    if kind == "listed":  # 1) one thing; 2) another
        return None
    if kind == "glued":  # in1994
        return Quantity((end, end + 4), float(text[end : end + 4]), "year", text=text[end : end + 4])
    if kind == "short":
        return Quantity((start, end), 1900 + float(word[1:]), "year", text=word)
    if kind == "period":
        unit = re.split(r"[-\s]+", lower)[-1]
        years = {"decade": 10.0, "century": 100.0, "millennium": 1000.0}[unit] / (1 + lower.startswith("half"))
        return Quantity((start, end), years, "special", "time", _units()["year"][1], words=True, text=word)
    if kind == "ratio":
        part, whole = map(int, word.split("/"))
        return Quantity((start, end), part / whole, "fraction", text=word) if whole else None
    if kind == "clock":
        hours, minutes = word.split(":")
        return Quantity((start, end), int(hours) * 60 + int(minutes), "clock", text=word)
    if kind == "decade":
        value = float(re.sub(r"\D", "", word))
        if value % 10:  # 1988's
            return Quantity((start, end), value, "year", text=word)
        return Quantity((start, end), value + 1900 if value < 100 else value, "decade", text=word)
    if kind == "century":
        return Quantity(match.span(), _position(lower), "century", text=word)
    if kind == "ordinal":
        return Quantity((start, end), float(re.sub(r"\D", "", word)), "ordinal", text=word)
    if kind == "code":
        return Quantity((start, end), hash_of(lower), "code", text=word)
    if kind == "glyph":
        value = {"½": 0.5, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 0.25, "¾": 0.75, "⅛": 0.125}[word]
        return Quantity((start, end), value, "fraction", text=word)
    if kind == "special":
        return Quantity((start, end), _SPECIAL[lower], "special", words=True, text=word)
    if kind == "position":
        return Quantity((start, end), _position(lower), "ordinal", words=True, text=word)
    if kind == "fraction":
        value = _fraction(lower)
        if scale := re.compile(r"\s+(?:a|of\s+a)\s+(hundred|thousand|million|billion|dozen)\b", re.I).match(text, end):
            value *= _SCALE.get(scale[1].lower(), 12.0)
            return Quantity((start, scale.end()), value, "count", words=True, text=text[start : scale.end()])
        return Quantity((start, end), value, "fraction", words=True, text=word)
    return _amount(text, start, end, in_words=kind == "words")


def _calendar(match: re.Match[str]) -> Iterator[Quantity]:
    """A date in figures: day and month, in either order where both are possible, and the year."""
    parts = re.split(r"[-/.]", match[0])
    year, first, second = (parts[0], parts[1], parts[2]) if len(parts[0]) == 4 else (parts[2], parts[0], parts[1])
    full = int(year) if len(year) == 4 else 1900 + int(year) if int(year) > 30 else 2000 + int(year)
    month, day = (int(first), int(second)) if int(first) <= 12 else (int(second), int(first))
    either = day <= 12 and len(parts[0]) < 4
    yield Quantity(match.span(), month * 100 + day, "either" if either else "day", text=match[0])
    yield Quantity((match.end() - len(year), match.end()), float(full), "year", text=match[0])


def _amount(text: str, start: int, end: int, *, in_words: bool) -> Quantity | None:
    word = text[start:end]
    symbol = re.match(r"((?:US|A|C|NZ)?[$£€¥])\s?", word)
    value = _spelled(word.lower()) if in_words else float(re.sub(r"[^\d.]", "", word))
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
        short = len(following[2]) <= 2 and following[2].islower() and text[end : end + 1] == " "
        if name in _units() and name not in ("in", "second", "a") and not (name == "t" or (name == "m" and not short)):
            unit, factor = _units()[name]
            end = following.end()
    year = not unit and not scaled and not in_words and len(word) == 4 and word.isdigit() and 1000 <= value <= 2100
    return Quantity((start, end), value, "year" if year else "count", unit, factor, about, in_words, text[start:end])


def hash_of(code: str) -> float:
    """A value for a code (A320, MP3), equal for equal codes."""
    return float(sum(ord(character) * 31**place for place, character in enumerate(code[:10])))


def _position(word: str) -> float:
    digits = re.sub(r"\D", "", word)
    return float(digits) if digits else float(_ORDINAL.get(re.sub(r"\s+", "-", word), 0))


def _fraction(words: str) -> float:
    *before, part = re.split(r"[-\s]+", words)
    return {"two": 2, "three": 3}.get(before[0] if before else "", 1) * _SPECIAL[part]


@lru_cache(maxsize=10_000)
def _spelled(words: str) -> float | None:
    """The value of number words."""
    from text_to_num import text2num

    bare = re.sub(r"^(?:a|an)\s+", "one ", words)
    if bare.split()[0].split("-")[0] in _SCALES:
        return None if bare == words and " " not in bare else _spelled(f"one {bare}")
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
