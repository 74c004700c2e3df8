"""Values of a text, in English and German: money, shares, quantities, periods, dates, times, references and contacts.

A value is read into a number in the unit of its kind (euros, percent, days, minutes of the day), a date or a key
(letters and digits of a reference), together with what limits it ("at least", "before") and how often it is due.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import cast

from plainly.core.files import read_shipped
from plainly.factcheck.reading import Span

LANGUAGES = ("en", "de")  # languages of which words are read; of others, only digits and signs
_DATA: dict[str, dict[str, str]] = read_shipped(__file__, "values.toml")
DAY, MONTH, YEAR = 1.0, 30.4375, 365.25


def _read_factors(listed: str) -> dict[str, float]:
    """Return the number after each group of words, for each of them."""
    table: dict[str, float] = {}
    for entry in listed.split(","):
        *names, factor = entry.split()
        table |= dict.fromkeys(names, float(factor))
    return table


def _join(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


@cache
def words(name: str) -> frozenset[str]:
    """Return a list of words in values.toml."""
    return frozenset(_DATA["words"][name].split())


_UNITS = {
    name: (measure, factor)
    for measure, listed in _DATA["units"].items()
    for name, factor in _read_factors(listed).items()
}
_CURRENCIES: dict[str, list[tuple[str, float]]] = {}
for _currency, _listed in _DATA["money"].items():
    for _name, _factor in _read_factors(_listed).items():
        _CURRENCIES.setdefault(_name, []).append((_currency, _factor))
_SCALES = _read_factors(_DATA["numbers"]["scales"])
_ABOUT = frozenset(_DATA["numbers"]["about"].split())
_NAMED_DAYS = {
    " ".join(words): (int(month), int(day))
    for *words, month, day in (entry.split() for entry in _DATA["dates"]["named"].replace("\n", " ").split(","))
}
ADULT = frozenset(_DATA["dates"]["adult"].split())
_DIGITS = r"\d{1,3}(?:[.,’'\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
_GLYPHS = {"½": 0.5, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 0.25, "¾": 0.75, "⅛": 0.125}
_ROMAN = {"II": 2, "III": 3, "IV": 4, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "XI": 11, "XII": 12, "XIII": 13,
          "XIV": 14, "XV": 15, "XVI": 16, "XVII": 17, "XVIII": 18, "XIX": 19, "XX": 20, "XXI": 21}  # fmt: skip
_ROMAN_WORD = re.compile(rf"\b(?:{_join(_ROMAN)})\b")
_TOKEN = re.compile(r"(?<![\w.,])(?:(?:US|A|C|NZ)?[$£€¥]\s?)?\d|[½⅓⅔¼¾⅛]|[^\W\d_]+")
LAST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True)
class Value:
    """A value in a text."""

    span: Span
    kind: str  # amount, percent, quantity, number, period, date, time, reference, phone, email, url or address
    text: str
    numbers: tuple[float, ...] = ()  # what it may stand for, in the unit of its kind
    raw: float = 0.0  # the number as written, without its unit
    unit: str = ""  # the currency, what a unit measures, "working" for working days, or the label of a reference
    scale: float = 1.0  # of the unit
    form: str = ""  # for dates: day, month, year, decade, century, weekday; interval, fraction, times, ordinal, code
    date: tuple[int, int, int] = (0, 0, 0)  # year, month and day; 0 where it does not say
    key: str = ""  # of a reference: its letters and digits
    bound: str = ""  # min, max, before, after, until or from
    per: float = 0.0  # the days after which an amount is due again
    share: str = ""  # each or total
    in_words: bool = False
    about: bool = False
    after: str = ""  # of a number: the word before it
    counts: str = ""  # of a number: the thing that it counts

    @property
    def number(self) -> float:
        return self.numbers[0] if self.numbers else 0.0

    @property
    def weak(self) -> bool:
        """Whether it is often no value at all: "one", "a first", "both", "half"."""
        if self.share == "of":
            return True
        if self.kind == "number":
            return self.form in ("special", "roman") or (
                self.in_words and (self.raw <= 1 or self.form in ("ordinal", "times"))
            )
        return (
            (self.kind == "percent" and self.form == "fraction")
            or self.form in ("bare", "per")
            or (self.kind == "period" and self.form == "interval" and self.raw == 1)
        )


_Read = Callable[["_Reader", re.Match[str]], Iterator[Value]]  # yields the values of a match


def _cased(pattern: str) -> str:
    """Return a pattern in which capitals count."""
    return f"(?-i:{pattern})"


@dataclass(frozen=True)
class _Grammar:
    """The patterns of one language."""

    language: str
    patterns: tuple[
        tuple[re.Pattern[str], _Read, tuple[str, ...]], ...
    ]  # with words of which one must occur ("0": or a digit)
    number: re.Pattern[str]
    words: dict[str, float]
    parts: dict[str, float]
    special: dict[str, float]
    ordinals: dict[str, int]
    months: dict[str, int]
    days: dict[str, int]
    periods: dict[str, float]
    working: frozenset[str]
    often: dict[str, float]
    period: re.Pattern[str]
    day_part: re.Pattern[str]
    day_part_before: re.Pattern[str]


@cache
def _grammar(language: str) -> _Grammar:
    base = language if language in LANGUAGES else "en"
    table, dates, spans = _DATA["numbers"], _DATA["dates"], _DATA["periods"]
    cardinals, tens, ordinals = (table[f"{name}_{base}"].split() for name in ("cardinals", "tens", "ordinals"))
    by_word = {word: float(at) for at, word in enumerate(cardinals)}
    by_word |= {word: 10.0 * at for at, word in enumerate(tens, 2)}
    by_order = {word: at for at, word in enumerate(ordinals, 1)}
    parts, special = (_read_factors(table[f"{name}_{base}"]) for name in ("parts", "special"))
    full = dates[f"months_{base}"].split()
    months = {name: at for at, name in enumerate(full, 1)}
    months |= {name: int(at) for name, at in _read_factors(dates[f"short_{base}"]).items()}
    days = {name: min(at, 6) if name != "sonnabend" else 5 for at, name in enumerate(dates[f"days_{base}"].split())}
    periods, often = _read_factors(spans[base]), _read_factors(spans[f"often_{base}"])
    if base == "en":
        by_order |= {"thirtieth": 30, "fortieth": 40, "fiftieth": 50, "hundredth": 100, "thousandth": 1000}
        by_order |= {
            f"{ten}-{unit}": 10 * at + by_order[unit] for at, ten in enumerate(tens, 2) for unit in ordinals[:9]
        }
        working = frozenset(word.strip() for word in spans["working_en"].split(","))
        word = _join((*cardinals, *tens))
        scale = "hundred|thousand|million|billion|trillion"
        in_words = rf"(?:(?:a|an)\s+(?=(?:{scale})\b))?(?:{word}|{scale})(?:(?:[-\s]+|\s+and\s+)(?:{word}|{scale}))*"
        part = _join(parts)
        fraction = (
            rf"(?:(?:a|one|two|three|four|five|seven|nine)[-\s])(?:{part})|half|halves|thirds|quarters|"
            r"fifths|tenths|quarter(?=\sof\san?\s)"
        )
        order = rf"(?:(?:{'|'.join(tens)})[-\s])?(?:{_join(ordinals)}|thirtieth|fiftieth|hundredth)"
        article = "a|an|one"
    else:
        by_order |= {word + ending: at for word, at in list(by_order.items()) for ending in "nrsm"}
        by_order |= {"erstens": 1, "zweitens": 2, "drittens": 3}
        working = frozenset(spans["working_de"].split())
        unit = "ein|eins|zwei|zwo|drei|vier|fünf|sechs|sech|sieben|sieb|acht|neun|zehn|elf|zwölf"
        in_words = rf"(?:{unit}|{_join(tens)}|zig|und|hundert|tausend|null|million(?:en)?)+"
        part = _join(parts)
        numerator = r"(?:(?:eine?[mnrs]?|zwei|drei|vier|fünf|sieben|neun)\s?|die\s|der\s)"
        fraction = rf"{numerator}?(?:{part})|drei[-\s]?viertel"
        order = _join(by_order)
        article = "eine?[mnrs]?"
    mul = _join(special)
    spelled = (
        rf"""|\b(?P<fraction>{fraction})\b|\b(?P<order>{order})\b|\b(?P<special>{mul})\b
        |\b(?P<words>{in_words})(?=\b|mal\b|fach|-?(?:jährig|monatig|wöchig|tägig|stündig|minütig|wöchentlich|monatlich|jährlich|täglich))
        |\b(?P<article>{article})\b"""
        if language in LANGUAGES
        else ""
    )
    openers = _join(words("openers_de"))  # of sentences: the number before them was the last word
    full_stop = rf"|\.(?=\s(?!(?:{openers})\b)[A-ZÄÖÜ]?[a-zäöüß]{{4,}}\b)" if base == "de" else ""
    number = re.compile(
        rf"""(?:(?<![\w.,/])(?P<slash>[1-9]/(?:10|[2-9]))(?![\d/])|(?<![\w.,])(?P<symbol>(?:US|A|C|NZ)?[$£€¥]|EUR|USD|GBP|CHF|S?Fr\.|PLN|SEK|NOK|DKK)?\s?(?P<digits>{_DIGITS})
        (?P<ordinal>(?:st|nd|rd|th)\b{full_stop})?
        |(?P<glyph>[½⅓⅔¼¾⅛]){spelled})""",
        re.VERBOSE | re.IGNORECASE,
    )
    adjective = (
        "consecutive|calendar|further|more|full|whole|additional|extra|school|clear|complete|straight|other|long|last|next"
        if base == "en"
        else r"(?:aufeinander\s?folgend|weiter|voll|ganz|zusätzlich|letzt|nächst|erst|folgend)e[nrsm]?"
    )
    unit = _join((*periods, *working))
    weekdays = "(?!arbeitswoche|mon|diens|donners|frei|sams|sonn|viertel|dreiviertel|halb)"
    prefix = (
        rf"(?:{weekdays}[a-zäöüß]{{3,}}?(?=tag|woche|monat|jahr)|(?:arbeits|wochen|unterrichts|schul|zeit|plus|minus|über)(?=stunde))?"
        if base == "de"
        else ""
    )
    glued = (
        r"|-(?P<glued>yearly|monthly|weekly|daily|hourly)"
        if base == "en"
        else r"|-?(?P<glued>jährig|monatig|wöchig|tägig|stündig|minütig|wöchentlich|monatlich|jährlich|täglich|"
        r"stündlich)(?:e[nrsm]?)?"
    )
    period = re.compile(
        rf"(?:[-\s]?(?:(?:{adjective})\s+){{0,2}}(?P<working>working|business|"
        rf"school)?\s?{prefix}(?P<unit>{unit})(?:[’']s?)?(?:(?P<beat>-?(?:takt|rhythmus|turnus))|-?(?:[f]rist|dienst|zeitraum)\w*)?"
        rf"{glued})\b(?!-)",
        re.IGNORECASE,
    )
    if base == "en":
        part_after = (
            r"\s*,?\s*(?:(?:in|of)\s+(?:the\s+)?(?:early\s+|late\s+)?(?P<part>morning|afternoon|evening|night)|"
            r"at\s+(?P<night>night|noon|midnight))"
        )
        part_before = (
            r"(?P<part>morning|afternoon|evening|night)s?\s+(?:at|from|between|until)\s+(?:[\w:.]+\s+(?:and|to|"
            r"until|–|-)\s+)?$"
        )
    else:
        part_after = (
            r"\s*,?\s*(?:am\s+(?:frühen\s+|späten\s+)?|in\s+der\s+)?(?P<part>morgen|vormittag|mittag|nachmittag|"
            r"abend|nacht|nächte|früh)s?\b"
        )
        part_before = (
            r"(?P<part>morgen|vormittag|mittag|nachmittag|abend|nacht|nächte|früh)s?,?\s+(?:um|von|zwischen|bis|"
            r"ab|gegen)\s+(?:[\w:.äöüß]+\s+(?:und|bis|–|-)\s+)?$"
        )
    readers = tuple(
        (re.compile(pattern, re.VERBOSE | re.IGNORECASE), method, _cues(method, language))
        for pattern, method in _patterns(language, full, months, days, cardinals)
    )
    return _Grammar(
        language, readers, number, by_word, parts, special, by_order, months, days,
        periods, working, often, period, re.compile(part_after, re.IGNORECASE), re.compile(part_before, re.IGNORECASE),
    )  # fmt: skip


def _patterns(
    language: str, full: list[str], months: dict[str, int], days: dict[str, int], cardinals: list[str]
) -> Iterator[tuple[str, _Read]]:
    """Yield each pattern with its reader, in the order in which they take characters."""
    at = r"(?:@|\s?\(at\)\s?|\s?\[at\]\s?)"
    yield rf"[\w.+-]+{at}[\w-]+(?:\.[\w-]+)+", _Reader.read_email
    yield (
        r"(?:https?://|www\.)[^\s<>()„“”\"]*[\w/]|(?<![\w@.])(?:[a-zäöü][\w-]*\.)+(?:example(?:\.\w+)?|com|org|net|de|uk|eu|gov|edu|info|at|ch|io)\b(?:/[\w./?=&%-]*[\w/])?",
        _Reader.read_url,
    )
    yield _cased(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]){9,30}(?<=\d)\b"), _Reader.read_reference
    # Dates in digits
    yield r"\b(?:1\d|2[01])\d\d-\d{2}-\d{2}\b", _Reader.read_date_digits
    yield r"(?<![\w/.])\d{1,2}([/.])\s?\d{1,2}\1\s?(?:\d{4}|\d{2})(?![\w/])", _Reader.read_date_digits
    yield r"(?<![\w/.,])(?:0\d|[12]\d|3[01])\.(?:0\d|1[012])\.(?!\d)", _Reader.read_date_digits
    yield r"(?<![\w/.,-])(?P<numeric>0?[1-9]|1[0-2])/(?P<year>20\d\d)(?![\w/-])", _Reader.read_month
    if language == "en":
        yield r"(?<![\w/.,])(?P<short>(?:1[3-9]|2\d|3[01])/(?:0\d|1[012]))(?![\w/%])", _Reader.read_date_digits
    if language == "de":
        yield (
            r"(?<![\w/.,])(?<!CHF\s)(?<!Fr\.\s)(?P<short>\d{1,2}\.\s?\d{1,2}\.)(?!\s?\d)",
            _Reader.read_date_digits,
        )
    yield (
        r"(?<![\w:.,])(?:(?P<hours>\d{1,2}):(?P<minutes>[0-5]\d):|(?P<minutes2>\d{1,2}):(?=[0-5]\d[.,]\d))"
        r"(?P<seconds>[0-5]\d(?:[.,]\d{1,3})?)(?![\d:])(?:\s(?:hours|minutes|Stunden|Minuten)\b)?",
        _Reader.read_duration,
    )
    if language in LANGUAGES:
        yield from _date_patterns(language, full, months, days)
        yield from _time_patterns(language, cardinals)
    else:
        yield r"(?<![\w.:])(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?![\d:])", _Reader.read_time
    # Contacts
    yield (
        (
            r"(?<![\w/.,-])(?:\+\d{1,3}[\s/-]*(?:\(0\)\s*)?|00\d{2}|\(\d{2,5}\)|0\d{1,5})[\s/.-]{0,3}\d(?:[\s/.-]{0,3}\d){4,}(?!\w|\s(?:hours|days|minutes|weeks|Stunden|Tage|Minuten|Wochen|Uhr|%)\b)"
            r"|(?<![\w/.,-])\(?\d{3}\)?[\s.-]\d{3}[\s.-]\d{4}(?!\w)|(?<![\w/.,-])\d{3}-\d{4}(?![\w-])"
        ),
        _Reader.read_phone,
    )
    yield _cased(r"\b[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}\b"), _Reader.read_postcode
    yield (
        _cased(
            r"(?<![\w.,/-])(?:D-|A-|CH-)?\d{5}(?=\s+[A-ZÄÖÜ][a-zäöüß]{2,})|(?<=[a-z]\s)\d{5}(?:-\d{4})?(?=[.,;\n]|$)"
        ),
        _Reader.read_postcode,
    )
    if language == "de":
        street = "straße|strasse|str\\.|weg|platz|allee|gasse|ring|ufer|promenade|damm|chaussee|markt|graben|wall|steig"
        house = _cased(
            rf"\b(?:[A-ZÄÖÜ][\wäöüß-]*(?:{street})|[A-ZÄÖÜ][\wäöüß-]+(?:-|\s)(?:Straße|Weg|Platz|Allee|Ring|Ufer)|(?:Am|An\sder|An\sden|Im|In\sder|Auf\sder|Auf\sdem|Zum|Zur|Unter\sden|Beim)\s(?!Jahre?\b|Alter\b|Umfang\b|Wert\b)[A-ZÄÖÜ][\wäöüß]+)\s+(?P<house>\d{{1,4}}(?:\s?[a-z]\b)?)(?!\d|\s?Uhr|[.,:]\d)"
        )
        label = _join(words("labels_de"))
    else:
        yield _cased(r"(?<=\b[A-Z]{2}\s)\d{5}(?:-\d{4})?(?!\d)"), _Reader.read_postcode
        street = _join(words("streets_en"))
        house = _cased(
            rf"(?<![\w.,$£€])(?P<house>\d{{1,4}}[A-Za-z]?)\s(?:[A-Z][\w'’]+\s){{0,3}}(?P<street>{street})\b"
            rf"|\b(?:[A-Z][\w'’]+\s){{1,3}}(?P<street2>{street}),?\s(?P<house2>\d{{1,4}}[A-Za-z]?)\b(?![.:,]?\d|\s?(?:[ap]\.?m\b|%))"
        )
        label = "|".join(
            f"[{word[0].upper()}{word[0]}]{re.escape(word[1:])}"
            for word in sorted(words("labels_en"), key=len, reverse=True)
        )
    yield (
        _cased(r"""(?<![\w$£€¥.,/-])(?:
        [A-ZÄÖÜ]{1,5}[-/\s]\d+(?:[-/]\w+)+|[A-Z]{2,5}-\d\w*|[IVX]+\s[A-Z]\s\d+\s?[-–]\s?\d+/\d+|\d+\s[A-Z][A-Za-z]{0,2}\s\d+/\d+
        |[A-Z]{2}(?:\s\d\d){3,}(?:\s[A-Z])?|\d{4,}-[A-Z]|\d+(?:[/-](?:\d+|[A-Z]+)){2,}(?:-[A-Z])?|\d{3,}(?:[.]\d{1,6}){2,}|\d{4,}\.\d{4,}(?:[-/.]\d+)*|(?!\d{1,3}(?:\s\d{3})+(?!\s?\d))\d{3,4}(?:\s\d{1,4}){2,}|[A-Z]\s?\d{3}(?:\s\d{3}){1,3}|\d{7,}|\d+/\d+-[A-Z]|(?!(?:19|20)\d\d/\d\d(?!\d))\d{3,}/\d{2,4}|(?=\w*\d)(?=\w*[A-Za-z])(?:[A-Z]+\d\w*|\d+[A-Z]+\d+\w*)(?:[-.]\w+)*)(?!\w)"""),
        _Reader.read_reference,
    )
    yield (
        _cased(
            rf"\b(?P<label>{label})\s+-?(?P<code>\d{{1,2}}(?:\s\d\d)+(?!\d)|[A-Z]{{0,3}}-?\d[\w/-]*(?:[./]\d+)*|[A-Z](?![\w'’]))"
        ),
        _Reader.read_labelled,
    )
    yield (
        _cased(
            r"\b(?:(?i:reference|ref\.?|booking|invoice|order|customer|case|claim|policy|permit|licen[cs]e)|Az\.|"
            r"[A-ZÄÖÜ][a-zäöüß]*(?:nummer|zeichen)|Nummer|Nr\.)(?:\s(?:(?i:number|no\.?)|Nr\.|lautet|ist|is))?:?\s+"
            r"(?P<code>(?=[\w./-]*(?:\d{3}|[A-Z]))[A-Z]{0,4}\d\w*(?:[-/.]\w*\d\w*)+)(?!\w)"
        ),
        _Reader.read_code,
    )
    yield house, _Reader.read_house
    if language in LANGUAGES:
        order = _join((*_DATA["numbers"][f"ordinals_{language}"].split()[:12], "ground"))
        yield (
            rf"\b(?P<floor>{order}|\d{{1,2}}(?:st|nd|rd|th))[-\s]floor\b"
            if language == "en"
            else rf"\b(?:(?P<floor>(?:{order})[nrsm]?|\d{{1,2}}\.)\s(?:Stock(?:werk)?|Etage|Obergeschoss|OG)"
            r"|(?P<ground>Erdgeschoss|EG))\b",
            _Reader.read_floor,
        )


def _cues(method: Callable[..., Iterator[Value]], language: str) -> tuple[str, ...]:
    """Return words of which one must occur for a pattern to match; "0" stands for any digit."""
    months = tuple(_DATA["dates"][f"months_{language}"].split()) if language else ()
    short = tuple(_read_factors(_DATA["dates"][f"short_{language}"])) if language else ()
    return {
        "read_email": ("@", "at)", "at]"),
        "read_url": ("www.", "://", *(f".{end}" for end in words("domains"))),
        "read_date": (*months, *short),
        "read_named_day": tuple(name.split()[0].rstrip("s") for name in _NAMED_DAYS),
        "read_weekday": ("",),
        "read_century": ("centur", "jahrhundert"),
        "read_quarter": ("quarter", "quartal", "vierteljahr"),
        "read_time_name": ("noon", "midday", "midnight", "mitternacht", "mittag"),
        "read_decade": ("0", "erjahr", "er jahr"),
        "read_spoken_time": ("past", "quarter", " to ", "before", "after", "halb ", "viertel", " vor ", " nach "),
        "read_time": (
            "0",
            "clock",
            "morning",
            "afternoon",
            "evening",
            "night",
            "uhr",
            "morgen",
            "mittag",
            "abend",
            "nacht",
            "früh",
            "um ",
        ),
        "read_labelled": ("",),
    }.get(method.__name__, ("0",))


def _date_patterns(
    language: str, full: list[str], months: dict[str, int], days: dict[str, int]
) -> Iterator[tuple[str, _Read]]:
    month = rf"(?P<month>{_join(months)})\b\.?"
    year = r"(?:,?\s+(?P<year>[12]\d{3})(?![\d.,]\d))?"
    any_year = r"(?:,?\s+(?P<year>\d{4})(?![\d.,]\d))?"
    named = "|".join(
        re.sub(r"\s+", r"\\s", re.escape(name).replace("\\ ", " ").replace("'", "['’]")) for name in _NAMED_DAYS
    )
    yield rf"\b(?P<named>{named})s?\b{year}", _Reader.read_named_day
    if language == "en":
        day = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
        more = r"(?:(?P<first>\d{1,2})(?:st|nd|rd|th)?\s?(?:to|until|and|or|–|-|,)\s?)?"
        yield (
            rf"\b(?P<edge>(?:very\s)?(?:end|close|last\sday|middle|beginning|start|first\sday)\s(?:of|in)|mid[-\s])\s?(?:the\smonth\sof\s)?{month}{year}",
            _Reader.read_date,
        )
        yield rf"\b{more}{day}\s+(?:of\s+)?(?:the\s)?{month}{any_year}", _Reader.read_date
        ordinal = "|".join(_DATA["numbers"]["ordinals_en"].split())
        yield rf"\b(?:the\s)?(?P<order>{ordinal})\s+(?:of\s+)?{month}{year}", _Reader.read_date
        yield rf"\b{month}\s+(?:the\s+)?{day}\b(?![.:]\d|\s?%|,\d){any_year}", _Reader.read_date
        yield (
            r"(?<=\bthe\s)(?P<short>\d{1,2})(?:st|nd|rd|th)(?=\s?[.,;:!?)]|\s(?:at|from|until|to|and|or|of\s(?:the|each|every)\smonth)\b|$)",
            _Reader.read_month_day,
        )
        yield (
            r"\b(?P<edge>(?:end|close)\sof\s)?(?:the\s)?(?P<quarter>first|second|third|fourth|last|1st|2nd|3rd|4th)\s(?:calendar\s)?quarter\b(?!\sof\san?\s)(?:\s(?:of\s)?(?P<year>[12]\d{3}))?",
            _Reader.read_quarter,
        )
        bare = _join(name.title() for name in full if name not in ("march", "may"))
        yield (
            _cased(
                rf"\b(?:(?P<month>{bare})(?:,?\s+(?P<year>[12]\d{{3}}))?|(?P<month2>March|"
                rf"May)(?:,?\s+(?P<year2>[12]\d{{3}}))|(?<=\b(?:in|of|by)\s)(?P<month3>March|May)|(?:(?<=\bto\s)|"
                rf"(?<=\band\s))(?P<month4>March|May)|(?P<month5>March|May)(?=\s(?:to|and|"
                rf"until)\s(?:{_join(name.title() for name in full)})\b))\b"
            ),
            _Reader.read_date,
        )
        yield rf"\b(?P<weekday>{_join(days)})s?\b", _Reader.read_weekday
        yield (
            _cased(
                r"\b(?P<weekday>Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b\.?(?=\s?[-–/,&:]|\s(?:to|and)\s[A-Z]|\s\d)|(?<=[-–/&])(?P<weekday2>Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b"
            ),
            _Reader.read_weekday,
        )
        ordinal = "|".join(_DATA["numbers"]["ordinals_en"].split())
        yield (
            rf"""(?P<century>\b(?:\d{{1,2}}(?:st|nd|rd|th)|(?:twenty[-\s])?(?:{ordinal}))
            (?=(?:\s*(?:,|and|or|to|through|until|–|-|/)\s*(?:the\s+|early\s+|late\s+|mid[-\s]?)*
            (?:\d{{1,2}}(?:st|nd|rd|th)|(?:twenty[-\s])?(?:{ordinal})))*[-\s]+centur))""",
            _Reader.read_century,
        )
        yield r"(?<![\w,.])(?:['’]?\d{2}|\d{3,4})['’]?s\b", _Reader.read_decade
        yield r"(?<!\w)['’]\d{2}\b(?!['’]?s)", _Reader.read_short_year
        yield r"(?<!\w)(?:in|to|from|of|and|by|until|since|on)(?P<glued>[12]\d\d\d)\b", _Reader.read_short_year
    else:
        day = r"(?P<day>\d{1,2})\."
        more = r"(?:(?P<first>\d{1,2})\.?\s?(?:bis(?:\szum)?|und|oder|auf\sden|–|-|,)\s?(?:den\s|dem\s|zum\s)?)?"
        yield (
            rf"\b(?P<edge>Ende|Mitte|Anfang|(?:am\s)?letzten?\sTag\s(?:im|des|in)|(?:am\s)?ersten?\sTag\s(?:im|des))\s(?:(?:des\s)?Monats\s)?{month}{year}",
            _Reader.read_date,
        )
        yield rf"\b{more}{day}\s?{month}{any_year}", _Reader.read_date
        ordinal = "|".join(_DATA["numbers"]["ordinals_de"].split())
        yield rf"\b(?P<order>{ordinal})[nrsm]?\s{month}{year}", _Reader.read_date
        yield (
            r"\b(?:am|dem|zum|den|vom)\s(?P<short>\d{1,2})\.(?!\d|\s?[a-zäöü]|\s(?:Tag|Lebens|Kalender|Monat|Jahr|Woche|Stock|Spiel|Platz))",
            _Reader.read_month_day,
        )
        yield (
            r"\b(?P<edge>Ende\sdes\s)?(?P<quarter>erste[nsrm]?|zweite[nsrm]?|dritte[nsrm]?|vierte[nsrm]?|letzte[nsrm]?|1\.|2\.|3\.|4\.)\s(?:Quartals?|Vierteljahre?s?)(?:\s(?P<year>[12]\d{3}))?\b",
            _Reader.read_quarter,
        )
        yield (
            _cased(rf"\b(?P<month>{_join(name.title() for name in full)}|Jänner)\b(?:\s+(?P<year>[12]\d{{3}})\b)?"),
            _Reader.read_date,
        )
        yield (
            rf"\b(?P<weekday>{_join(days)})(?:s|e|en)?(?=abend|morgen|vormittag|nachmittag|nacht|\b)",
            _Reader.read_weekday,
        )
        yield (
            _cased(
                r"\b(?P<weekday>Mo|Di|Mi|Do|Fr(?!\.\s\d+(?:\.\d\d|\.[-–]|,))|Sa|So)\b\.?(?=\s?[-–/,&:]|\s(?:bis|und)\s[A-Z]|\s\d)|(?<=[-–/&])(?P<weekday2>Mo|Di|Mi|Do|Fr|Sa|So)\b"
            ),
            _Reader.read_weekday,
        )
        yield (
            r"(?P<century>\b\d{1,2}\.)(?=(?:\s(?:und|bis|oder)\s\d{1,2}\.)*\s?Jahrhundert)",
            _Reader.read_century,
        )
        tens = "zwanziger|dreißiger|vierziger|fünfziger|sechziger|siebziger|achtziger|neunziger"
        yield rf"(?<![\w,.])\d{{2,4}}er\b(?:[-\s]?Jahren?)?|\b(?P<tens>{tens})[-\s]?Jahren?", _Reader.read_decade


def _time_patterns(language: str, cardinals: list[str]) -> Iterator[tuple[str, _Read]]:
    words = "|".join(cardinals[1:13])
    if language == "de":
        later = (*cardinals[13:], "zwanzig", "einundzwanzig", "zweiundzwanzig", "dreiundzwanzig", "vierundzwanzig")
        words = "|".join((*later, words, "ein"))
    hour = rf"(?P<hour>\d{{1,2}}|{words}{'|midnight|noon|midday' if language == 'en' else ''})"
    minutes = "five|ten|twenty|twenty[-\\s]five" if language == "en" else "fünf|zehn|zwanzig"
    if language == "en":
        half = r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)"
        end = r"(?:\s?(?:hours|hrs|h|o['’]clock)\b)"
        yield (
            rf"\b(?:(?P<past>half\spast)|(?:a\s)?(?P<quarter>quarter)\s(?P<side>past|to|after|before)|(?:(?P<minutes>\d{{1,2}}|{minutes})\s(?:minutes\s)?|(?P<minutes2>{words})\sminutes?\s)(?P<side2>past|to|before|after))\s{hour}(?:{half}|{end})?(?!\s(?:%|per|days?|weeks?|months?|years?|hours|minutes|people|of)\b)(?![\w:.,]*\d)",
            _Reader.read_spoken_time,
        )
        yield r"\b(?:(?:12|twelve)\s(?:o['’]clock\s)?)?(?P<name>noon|midday|midnight)\b", _Reader.read_time_name
        yield (
            rf"(?<![\w.:,£€$])(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d)|\.(?P<minute2>[0-5]\d)(?=\s?(?:[ap]\.?\s?m|hrs|hours|h|o['’]clock)\b))(?![\d:]){half}?{end}?",
            _Reader.read_time,
        )
        yield (
            r"\b(?:at|by|to|from|till|until|after|before|between)\s(?P<dotted>(?P<hour>[01]?\d|2[0-4])\.(?P<minute>[0-5]\d))"
            r"(?![\d.,]*\d|\s?(?:%|per\b|percent|million|(?!(?:on|at|to|by|in|or|if|we)\b)[a-z]{1,2}\b)"
            rf"|[-\s](?:{_join(name for name in _UNITS if len(name) > 2)}|pounds|euros|dollars|times)\b)",
            _Reader.read_dotted_time,
        )
        yield (
            r"\bthe\s(?P<dotted>(?P<hour>[01]?\d|2[0-4])\.(?P<minute>[0-5]\d))"
            r"(?=\s(?:service|train|bus|coach|flight|ferry|sailing|departure|crossing)\b)",
            _Reader.read_time,
        )
        yield (
            rf"(?<=\b(?:at|by|to)\s){hour}\s(?P<spoken>fifteen|thirty|forty-five)\b|"
            rf"\b{hour.replace('hour', 'hour2')}\s(?P<spoken2>fifteen|thirty|forty-five)\b"
            r"(?=\s(?:in\sthe|at\snight|[ap]\.?m))",
            _Reader.read_time,
        )
        yield rf"(?<![\w.:,£€$]){hour}(?:{half}|\s?(?:o['’]clock)\b)", _Reader.read_time
        yield (
            rf"(?<![\w.:,£€$]){hour}(?=\s?(?:to|until|and|–|-|or)\s?(?:(?:\d{{1,2}})(?:[:.]\d\d)?\s?(?:[ap]\.?\s?m\b|o['’]clock)|(?:12\s)?(?:noon|midday|midnight)\b|\d{{1,2}}:\d\d))(?!\s?and\s?\d{{1,2}}\s?%)",
            _Reader.read_time,
        )
        yield (
            r"\b(?:(?P<hour>[01]\d|2[0-4])(?P<minute>[0-5]\d)\s?(?:hours|hrs|h)\b|(?P<hour2>0\d)(?P<minute2>[0-5]\d)(?=\s?(?:to|until|and|–|-)\s?(?:[01]\d|2[0-4])[0-5]\d\b))",
            _Reader.read_time,
        )
        yield (
            r"(?<=\b0\d\d\d\sto\s)(?P<hour>[01]\d|2[0-4])(?P<minute>[0-5]\d)\b|(?<=\b0\d\d\d[-–])(?P<hour2>[01]\d|2[0-4])(?P<minute3>[0-5]\d)\b",
            _Reader.read_time,
        )
        yield (
            rf"(?<![\w.:,£€$]){hour}(?=\s+(?:in\sthe\s(?:early\s)?(?:morning|afternoon|evening)|at\snight)\b)",
            _Reader.read_time,
        )
        yield (
            rf"(?<=\bat\s){hour}\b(?=[.,;!?]|\s(?:on|and|or|every|each|sharp|today|tomorrow)\b)(?![.,:]\d|\sand\s(?:one-|a\s)?(?:half|quarter))",
            _Reader.read_time,
        )
    else:
        end = r"(?:\s?(?:Uhr|h)\b)"
        yield (
            rf"(?<=(?:rgens|bends|orgen|ittag|Abend|Nacht|abend|nacht)\sum\s){hour}\b(?!\s(?:Prozent|Euro|Uhr)|\s?%|[.,:]\d)",
            _Reader.read_time,
        )
        listed = r"(?:\s?(?:,|und|sowie|bis|oder|–|-|/)\s?(?:um\s|von\s)?\d{1,2}(?:[:.]\d\d)?)*"
        yield (
            rf"\b(?:(?P<tohalf>\d{{1,2}}|{words})\s(?:Minuten?\s)?(?P<halfside>vor|nach)\s(?=halb))?(?:(?P<past>halb)|(?P<quarter>(?:drei\s?)?viertel)\s?(?P<side>vor|nach)?|(?:(?P<minutes>\d{{1,2}}|{minutes})\s(?:Minuten\s)?|(?P<minutes2>{words})\sMinuten\s)(?P<side2>vor|nach))\s{hour}\b(?!\s?(?:%|prozent|tagen?|wochen?|monaten?|jahren?|stunden?|minuten?|euro|der|von|liter|meter|kilo)\b)(?![.,:]?\d){end}?",
            _Reader.read_spoken_time,
        )
        yield (
            r"\b(?:(?P<name>Mitternacht)|(?P<noon>(?<=gegen\s)Mittag|(?<=bis\s)Mittag|(?<=zum\s)Mittag|12\sUhr\smittags?|zwölf\sUhr\smittags?))\b",
            _Reader.read_time_name,
        )
        yield (
            rf"(?<![\w.:,])(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d)(?![\d:]){end}?|\.(?P<minute2>[0-5]\d){end}|\sUhr\s(?P<minute3>[0-5]\d)(?!\d|\s?%|,\d)|\sUhr\sund\s(?P<minute5>[0-5]?\d)\sMinuten|\.(?P<minute4>[0-5]\d)(?=\s?(?:bis|und|oder|–|-)\s?\d{{1,2}}\.\d\d\sUhr))",
            _Reader.read_time,
        )
        yield rf"(?<![\w.:,]){hour}{end}(?!\s?\d)", _Reader.read_time
        yield (
            (
                rf"(?<![\w.:,]){hour}(?={listed}\s?(?:,|und|sowie|bis|oder|–|"
                rf"-)\s?(?:von\s)?(?:{hour.replace('hour', 'next')})(?:[:.]\d\d)?\s?(?:Uhr|h)\b)"
            ),
            _Reader.read_time,
        )
        yield (
            rf"(?<![\w.:,]){hour}(?=\s(?:am\s(?:Morgen|Vormittag|Mittag|Nachmittag|Abend)|in\sder\s(?:Nacht|Früh)|morgens|vormittags|mittags|nachmittags|abends|nachts)\b)",
            _Reader.read_time,
        )
        yield (
            rf"(?<=\bum\s){hour}\b(?=[.,;!?]|\s(?:und|oder|bis|am|an|ist|beginnt|können|kommen|geht|fängt|sind)\b)(?![.,:]\d)(?!\s(?:und|oder|bis)\s\w+\s(?:%|prozent|tage?|wochen?|monate?|jahre?|stunden?|minuten?|euro)\b)",
            _Reader.read_time,
        )


class _Reader:
    """Reads one text; each method yields the values of a match."""

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.language = language
        self.grammar = _grammar(language if language in LANGUAGES else "")
        self.taken = bytearray(len(text))
        self.values: list[Value] = []
        self.has_24_hours = bool(re.search(r"\b(?:(?:1[3-9]|2[0-3])[:.][0-5]\d|0\d:[0-5]\d)\b", text))

    def read(self) -> tuple[Value, ...]:
        lower = self.text.lower()
        has_digits = bool(re.search(r"\d", lower))
        for pattern, method, cues in self.grammar.patterns:
            if not (has_digits and "0" in cues) and not any(cue in lower for cue in cues):
                continue
            for match in pattern.finditer(self.text):
                if not any(self.taken[match.start() : match.end()]):
                    for value in method(self, match):
                        self._add(value)
        for match in _LISTED.finditer(self.text):
            self.taken[match.start() : match.end()] = b"\1" * len(match[0])
        place = 0
        for token in _TOKEN.finditer(self.text):
            start = token.start()
            if (
                start < place
                or self.taken[start]
                or not (
                    token[0][-1].isdigit() or token[0] in _GLYPHS or _starts_number(token[0].lower(), self.language)
                )
            ):
                continue
            written = self.grammar.number.match(self.text, start)
            if written is None or any(self.taken[start : written.end()]):
                continue
            number = self._read_number(written)
            if number is not None:
                self._add(number)
                place = number.span[1]
        if self.language in LANGUAGES:
            for match in _ROMAN_WORD.finditer(self.text):
                if not any(self.taken[match.start() : match.end()]):
                    roman = float(_ROMAN[match[0]])
                    self._add(Value(match.span(), "number", match[0], (roman,), roman, form="roman", in_words=True))
        if self.language in LANGUAGES and any(cue in lower for cue in _PERIOD_CUES):
            self._read_often()
        values = self._join_periods(sorted(self.values, key=lambda value: value.span))
        return tuple(self._qualify(values, at) for at in range(len(self._share_units(values))))

    def _add(self, value: Value) -> None:
        self.values.append(value)
        start, end = value.span
        self.taken[start:end] = b"\1" * (end - start)

    # Contacts and references

    def read_email(self, match: re.Match[str]) -> Iterator[Value]:
        key = re.sub(r"\s?[(\[]at[)\]]\s?", "@", match[0]).lower().rstrip(".")
        yield Value(match.span(), "email", match[0], key=key)

    def read_url(self, match: re.Match[str]) -> Iterator[Value]:
        key = re.sub(r"^(?:https?://)?(?:www\.)?", "", match[0].lower()).rstrip("/.,")
        yield Value(match.span(), "url", match[0], key=key)

    def read_phone(self, match: re.Match[str]) -> Iterator[Value]:
        key = digits(
            re.sub(r"^\+1\b|^(?:\+|00)\d{2}[\s/-]*(?:\(0\))?\s*", lambda code: "0" if code[0] != "+1" else "", match[0])
        )
        yield Value(match.span(), "phone", match[0], key=key)

    def read_postcode(self, match: re.Match[str]) -> Iterator[Value]:
        yield Value(match.span(), "address", match[0], key=squeeze(match[0]), form="postcode")

    def read_house(self, match: re.Match[str]) -> Iterator[Value]:
        groups = match.groupdict()
        name = "house" if groups["house"] else "house2"
        street = (groups.get("street") or groups.get("street2") or "").lower()
        street = next((long for short, long in _STREETS.items() if street == short), street)
        yield Value(match.span(name), "address", match[name], key=squeeze(match[name]), form="house", unit=street)

    def read_labelled(self, match: re.Match[str]) -> Iterator[Value]:
        label, code = match["label"].lower().rstrip("."), match["code"]
        if re.match(r"\d+(?:st|nd|rd|th|er|%)$", code) or (
            self.language == "en" and code in ("I", "A") and label != "exit"
        ):
            return
        yield Value(match.span(), "reference", match[0], key=squeeze(code), unit=label, form="label")

    def read_code(self, match: re.Match[str]) -> Iterator[Value]:
        """Read a reference after the word for it, without this word: "booking 20268-K"."""
        yield Value(match.span("code"), "reference", match["code"], key=squeeze(match["code"]), form="code")

    def read_reference(self, match: re.Match[str]) -> Iterator[Value]:
        end = match.end()
        if word := re.search(r"-[A-ZÄÖÜ]?[a-zäöüß]{2,}$", match[0]):  # an A4-sheet
            end -= len(word[0])
        text = self.text[match.start() : end]
        yield Value((match.start(), end), "reference", text, key=squeeze(text), form="code")

    def read_floor(self, match: re.Match[str]) -> Iterator[Value]:
        word = (match["floor"] or "ground").lower()
        order = digits(word) or self.grammar.ordinals.get(word, 0)
        yield Value(match.span(), "address", match[0], key=str(order), form="floor")

    # Dates

    def _date(self, match: re.Match[str], span: Span, year: int, month: int, day: int, form: str) -> Iterator[Value]:
        text = self.text[slice(*span)]
        number = float(year * 10_000 + month * 100 + day)
        if month > 12 or day > (LAST_DAYS[month - 1] if month else 31):
            yield Value(span, "date", text, (number,), float(day), form="impossible")
        else:
            yield Value(span, "date", text, (number,), float(day or month or year), form=form, date=(year, month, day))

    def read_date_digits(self, match: re.Match[str]) -> Iterator[Value]:
        short = "short" in match.groupdict() and match["short"]
        parts = [part for part in re.split(r"[-/.]\s?", short or match[0]) if part]
        if len(parts) == 2:
            yield from self._date(
                match, match.span("short") if short else match.span(), 0, int(parts[1]), int(parts[0]), "day"
            )
            return
        year, first, second = parts if len(parts[0]) == 4 else (parts[2], *parts[:2])
        full = int(year) if len(year) == 4 else 1900 + int(year) if int(year) > 30 else 2000 + int(year)
        month, day = int(first), int(second)
        if "." in match[0] and len(parts[0]) < 4:  # day first
            month, day = day, month
        is_open = "/" in match[0] and month <= 12 and day <= 12
        if is_open and self._writes_day_first():
            month, day, is_open = day, month, False
        if month > 12 and "." not in match[0]:
            month, day = day, month
        for value in self._date(match, match.span(), full, month, day, "day"):
            if is_open and month != day:
                value = replace(value, numbers=(*value.numbers, float(full * 10_000 + day * 100 + month)))
            yield value

    def _writes_day_first(self) -> bool:
        """Return whether another date in digits shows that the day stands before the month."""
        pairs = re.findall(r"(?<![\w/])(\d{1,2})/(\d{1,2})/\d{2,4}(?![\w/])", self.text)
        return any(int(first) > 12 for first, _ in pairs) and not any(int(second) > 12 for _, second in pairs)

    def read_date(self, match: re.Match[str]) -> Iterator[Value]:
        groups = match.groupdict()
        name = next(groups[key] for key in ("month", "month2", "month3", "month4", "month5") if groups.get(key))
        month = self.grammar.months[name.lower()]
        year = int(next((groups[key] for key in ("year", "year2") if groups.get(key)), 0) or 0)
        day = int(groups.get("day") or 0)
        if groups.get("order"):
            day = self.grammar.ordinals[groups["order"].lower()]
        if name in ("may", "march", "mar") and self.language == "en" and not year:  # platform 3 may close
            return
        if edge := (groups.get("edge") or "").lower():
            if re.match("very|end|close|last|letzt|am letzt", edge):
                day = LAST_DAYS[month - 1]
            elif re.match("mi", edge):
                day = 15
            else:
                day = 1
            end = match.end() - match[0].endswith(".")
            for value in self._date(match, (match.start(), end), year, month, day, "day"):
                yield replace(value, about=bool(re.match("mi|beginning|start|anfang", edge)))
            return
        is_short = len(name) == 3 and name.lower() not in ("may", "mai")
        end = match.end() - (match[0].endswith(".") and not is_short)
        if groups.get("first"):
            yield from self._date(match, match.span("first"), year, month, int(groups["first"]), "day")
            yield from self._date(match, (match.start("day"), end), year, month, day, "day")
        else:
            yield from self._date(match, (match.start(), end), year, month, day, "day" if day else "month")

    def read_month(self, match: re.Match[str]) -> Iterator[Value]:
        """Read a month in digits: 11/2027."""
        yield from self._date(match, match.span(), int(match["year"]), int(match["numeric"]), 0, "month")

    def read_month_day(self, match: re.Match[str]) -> Iterator[Value]:
        """Read a day whose month is named elsewhere: "on Monday the 30th"."""
        if 1 <= int(match["short"]) <= 31:
            yield from self._date(match, match.span("short"), 0, 0, int(match["short"]), "day")

    def read_quarter(self, match: re.Match[str]) -> Iterator[Value]:
        order = match["quarter"].lower()
        quarter = 4 if order.startswith(("la", "le")) else next(
            at for at, starts in enumerate((("f", "1", "er"), ("s", "2", "zw"), ("t", "3", "dr"), ("", "4")), 1)
            if order.startswith(starts) and not (at == 1 and order.startswith("fo"))
        )  # fmt: skip
        month = 3 * quarter
        day = LAST_DAYS[month - 1] if match["edge"] else 0
        for value in self._date(match, match.span(), int(match["year"] or 0), month, day, "day" if day else "quarter"):
            yield replace(value, raw=float(quarter))

    def read_named_day(self, match: re.Match[str]) -> Iterator[Value]:
        name = re.sub(r"\s+", " ", match["named"].lower().replace("’", "'"))
        yield from self._date(match, match.span(), int(match["year"] or 0), *_NAMED_DAYS[name], "day")

    def read_weekday(self, match: re.Match[str]) -> Iterator[Value]:
        name = (match["weekday"] or match.groupdict()["weekday2"]).lower()
        number = next(place for day, place in self.grammar.days.items() if day.startswith(name)) + 1.0
        yield Value(match.span(), "date", match[0], (number,), number, form="weekday")

    def read_century(self, match: re.Match[str]) -> Iterator[Value]:
        number = float(digits(match[0]) or self.grammar.ordinals.get(re.sub(r"\s+", "-", match[0].lower()), 0))
        yield Value(match.span(), "date", match[0], (number,), number, form="century")

    def read_decade(self, match: re.Match[str]) -> Iterator[Value]:
        if "tens" in match.groupdict() and match["tens"]:
            starts = _DATA["numbers"]["tens_de"].split()
            number = 1920.0 + 10 * next(at for at, ten in enumerate(starts) if match["tens"].lower().startswith(ten))
        else:
            number = float(digits(match[0]))
            number += 1900 if number < 100 else 0
        form = "year" if number % 10 else "decade"
        yield Value(
            match.span(),
            "date",
            match[0],
            (number,),
            number,
            form=form,
            date=(int(number) if form == "year" else 0, 0, 0),
        )

    def read_short_year(self, match: re.Match[str]) -> Iterator[Value]:
        glued = "glued" in match.groupdict() and match["glued"]
        year = int(match["glued"]) if glued else 1900 + int(digits(match[0]))
        span = match.span("glued") if glued else match.span()
        yield Value(span, "date", self.text[slice(*span)], (float(year),), float(year), form="year", date=(year, 0, 0))

    # Times

    def read_time_name(self, match: re.Match[str]) -> Iterator[Value]:
        minutes = 0.0 if re.search(r"night|nacht", match[0], re.IGNORECASE) else 720.0
        yield Value(match.span(), "time", match[0], (minutes,), minutes // 60 or 12)

    def _hour(self, word: str) -> int:
        lower = word.lower()
        if lower in ("midnight", "noon", "midday"):
            return 24 if lower == "midnight" else 12
        return int(word) if word.isdigit() else 1 if lower == "ein" else int(parse_words(lower, self.language) or 0)

    def read_spoken_time(self, match: re.Match[str]) -> Iterator[Value]:
        hour, part = self._hour(match["hour"]), 0
        german = self.language == "de"
        groups = match.groupdict()
        if match["past"]:
            minutes = 60 * hour + (-30 if german else 30)
            if groups.get("tohalf"):
                minutes += self._hour(match["tohalf"]) * (-1 if match["halfside"] == "vor" else 1)
        elif match["quarter"]:
            three = match["quarter"].lower().startswith("drei")
            side = match["side"]
            minutes = 60 * hour + (15 if side in ("past", "after", "nach") else -15 if side or three else -45)
        else:
            word = re.sub(r"\s", "-", (match["minutes"] or match["minutes2"]).lower())
            ten = {"twenty-five": 25, "twenty": 20, "zwanzig": 20}
            part = int(word) if word.isdigit() else ten.get(word) or int(self.grammar.words.get(word, 0))
            minutes = 60 * hour + part * (1 if match["side2"] in ("past", "after", "nach") else -1)
        is_range = groups["minutes"] and (
            re.search(
                r"\b(?:from|between|aged?|ages|of|von|zwischen)\s$",
                self.text[max(0, match.start() - 9) : match.start()],
            )
            or (match["minutes"].isdigit() and int(match["minutes"]) not in (5, 10, 20, 25))
        )
        if is_range and part * 60 >= minutes:  # from ten to nine: no range
            is_range = not self.grammar.day_part.match(self.text, match.end())
        if (hour <= 12 or match["hour"].isalpha()) and not is_range:
            yield self._time(match, minutes % 1440, open_half=hour < 24)

    def read_time(self, match: re.Match[str]) -> Iterator[Value]:
        groups = match.groupdict()
        hour_text = match["hour"] or groups.get("hour2") or ""
        hour = self._hour(hour_text)
        if hour > 24:
            return
        minute = next(
            (groups[key] for key in ("minute", "minute2", "minute3", "minute4", "minute5") if groups.get(key)), ""
        )
        if word := groups.get("spoken") or groups.get("spoken2"):
            minute = {"fifteen": "15", "thirty": "30", "forty-five": "45"}[word.lower()]
        minutes = 60 * hour + int(minute or 0)
        if half := groups.get("half"):
            minutes = minutes % 720 + (720 if half.lower() == "p" else 0)
            yield Value(match.span(), "time", match[0], (float(minutes),), float(hour))
            return
        is_sure = (
            hour > 12
            or hour_text.startswith("0")
            or re.fullmatch(r"\d{4}", match[0])
            or (minute and (self.language == "de" or self.has_24_hours))
        )
        yield self._time(match, minutes % 1440, open_half=not is_sure)

    def read_dotted_time(self, match: re.Match[str]) -> Iterator[Value]:
        """Read "until 11.15" as a time if other words of the text are about times of the day."""
        if _CLOCK.search(self.text):
            for value in self.read_time(match):
                yield replace(value, span=match.span("dotted"), text=match["dotted"])

    def _time(self, match: re.Match[str], minutes: int, *, open_half: bool) -> Value:
        start, end = match.span()
        part = self.grammar.day_part.match(self.text, end)
        name = ""
        if part:
            name, end = (part["part"] or cast("str", part.groupdict().get("night")) or "").lower(), part.end()
        elif before := self.grammar.day_part_before.search(self.text, max(0, start - 40), start):
            name = before["part"].lower()
        options: tuple[int, ...] = (minutes, (minutes + 720) % 1440) if open_half else (minutes,)
        if name and minutes <= 780:
            ranges = {
                ("morning", "morgen", "vormittag", "früh"): (0, 721), ("afternoon", "nachmittag"): (720, 1140),
                ("evening", "abend"): (960, 1440), ("mittag", "noon"): (660, 900),
            }  # fmt: skip
            low, high = next((span for names, span in ranges.items() if name in names), (0, 0))
            both = (minutes % 720, minutes % 720 + 720)
            if high:
                options = tuple(option for option in both if low <= option < high) or options
            else:  # at night
                options = tuple(option for option in both if option >= 1020 or option < 360) or options
        return Value(
            (start, end),
            "time",
            self.text[start:end],
            tuple(map(float, options)),
            float(minutes // 60),
            in_words=not match[0][0].isdigit(),
        )

    def read_duration(self, match: re.Match[str]) -> Iterator[Value]:
        """Read "2:11:46" and "4:03.85" as the time that something took."""
        seconds = float(match["seconds"].replace(",", "."))
        seconds += 3600 * int(match["hours"] or 0) + 60 * int(match["minutes"] or match["minutes2"])
        days = seconds / 86_400
        yield Value(match.span(), "period", match[0], (days,), seconds, scale=1 / 86_400)

    # Numbers with what they count

    def _read_number(self, match: re.Match[str]) -> Value | None:
        groups = match.groupdict()
        start, end = match.span()
        text, grammar = self.text, self.grammar
        in_words, form, symbol = False, "", (groups.get("symbol") or "").upper()
        if groups["digits"]:
            if not symbol:
                start = match.start("digits")
            options = self._parse_digits(
                match["digits"], is_money=bool(symbol) or bool(_MONEY_AFTER.match(text, match.end("digits")))
            )
            end = match.end("digits")
            follows = text[end : end + 1]
            if re.match(r"[A-Za-zÄÖÜäöü]", follows) and not re.match(_ATTACHED, text[end:]) and not groups["ordinal"]:
                return None
            if groups["ordinal"] and len(match["digits"]) <= 3:
                form, end = "ordinal", match.end("ordinal") if match["ordinal"] != "." else end
            if (century := self._two_digit_year(start, match["digits"])) is not None:
                return century
        elif groups["slash"]:
            over, under = map(int, match["slash"].split("/"))
            options, form = (over / under,), "fraction"
        elif groups["glyph"]:
            options, form = (_GLYPHS[match["glyph"]],), "fraction"
        elif groups.get("fraction"):
            return self._read_fraction(match)
        elif groups.get("order"):
            before = text[max(0, start - 8) : start].lower()
            order = float(grammar.ordinals.get(re.sub(r"[-\s]+", "-", match["order"].lower()), 0))
            if (
                order > 2
                and re.search(r"\b(?:every|jede[nrsm]?)\s$", before)
                and not grammar.period.match(text, end)
                and not re.match(r"\s\w+tag", text[end:])
            ):
                return Value(
                    (start, end), "percent", match[0], (100 / order,), 1 / order, form="fraction", in_words=True
                )
            options, form, in_words = (
                (float(grammar.ordinals.get(re.sub(r"[-\s]+", "-", match["order"].lower()), 0)),),
                "ordinal",
                True,
            )
        elif groups.get("special"):
            options, form, in_words = (grammar.special[match["special"].lower()],), "special", True
            if match["special"].lower() == "twice":
                return self._read_frequency(
                    Value((start, end), "number", match[0], options, options[0], form=form, in_words=True)
                )
            if options[0] in (1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 12.0):
                form = ""
        elif groups.get("words") and match["words"].lower() not in ("ein", "one"):
            parsed, end = self._parse_longest(match["words"], match.start("words"))
            if parsed is None:
                return None
            options, in_words = (parsed,), True
        else:
            return self._read_article(match)
        scaled = 1.0
        while scale := _SCALED.match(text, end):
            scaled, end = scaled * _SCALES[scale[1].lower().rstrip(".")], scale.end()
        if symbol and (letter := re.match(r"(m|bn|k)\b", text[end:])):
            scaled, end = scaled * {"m": 1e6, "bn": 1e9, "k": 1e3}[letter[1]], end + letter.end()
        if (more := _AND_A.match(text, end)) and not form:
            part = _GLYPHS[more[2]] if more[2] else 0.25 if more[1] and more[1].lower() == "quarter" else 0.5
            options = tuple(option + part for option in options)
            end = more.end()
        numbers = tuple(option * scaled for option in options)
        value = Value((start, end), "number", text[start:end], numbers, numbers[0], form=form, in_words=in_words)
        return self._read_unit(value, symbol, scaled)

    def _parse_longest(self, words: str, start: int) -> tuple[float | None, int]:
        """Return the number in the longest part of some words that is one, and where it ends: "four and six"."""
        parts = [match.end() for match in re.finditer(r"[^\W\d_]+", words)]
        for end in reversed(parts):
            if (parsed := parse_words(words[:end].lower(), self.language)) is not None:
                return parsed, start + end
        return None, start

    def _two_digit_year(self, start: int, word: str) -> Value | None:
        since = _YEAR_BEFORE.search(self.text, max(0, start - 9), start)
        is_measured = self.grammar.period.match(self.text, start + len(word))  # 1994 – 17 hours
        if len(word) != 2 or not since or is_measured:
            return None
        year = int(since[1] + word)  # 1954–73
        return Value((start, start + 2), "date", word, (float(year),), float(year), form="year", date=(year, 0, 0))

    def _parse_digits(self, word: str, *, is_money: bool) -> tuple[float, ...]:
        if " " in word:  # 10 000, or a number after another one
            return *self._parse_digits(word.replace(" ", ""), is_money=is_money), float(
                re.sub(r"[.,].*", "", word.split()[-1])
            )
        bare = re.sub(r"[’'\u00a0\u202f]", "", word)
        marks = re.findall("[.,]", bare)
        if len(set(marks)) == 2:
            decimal = marks[-1]
            return (float(bare.replace("," if decimal == "." else ".", "").replace(",", ".")),)
        if len(marks) > 1:
            return (float(re.sub("[.,]", "", bare)),)
        if not marks:
            return (float(bare),)
        whole, part = re.split("[.,]", bare)
        joined, split = float(whole + part), float(f"{whole}.{part}")
        if len(part) != 3 or len(whole) > 3 or whole == "0":
            return (split,)
        if self.language not in LANGUAGES:
            return joined, split
        return (joined,) if is_money or (marks[0] == ".") == (self.language == "de") else (split,)

    def _read_fraction(self, match: re.Match[str]) -> Value | None:
        """Read a fraction: of a unit (half an hour), of a number (half a million) or of anything (a share)."""
        words = re.split(r"[-\s]+", match["fraction"].lower())
        if re.match(r"-(?:yearly|annual)", self.text[match.end() :]):
            return None
        last = words[-1]
        numerator = 1.0
        if last.startswith("drei") and last != "drei" and last not in self.grammar.parts:
            numerator, last = 3.0, last[4:]
        elif last not in self.grammar.parts:  # zweidrittel
            return None
        if len(words) > 1:
            numerator = self.grammar.words.get(words[0], 1.0)
        value = numerator / self.grammar.parts[last]
        start, end = match.span()
        text = self.text
        if re.match(
            r"(?:\s+of)?\s+(?:a|an|one)\s+(hundred|thousand|million|billion|dozen)\b|\s+(?:million|milliarde)\b",
            text[end:],
            re.IGNORECASE,
        ):
            scale = re.match(r"(?:\s+of)?(?:\s+(?:a|an|one))?\s+(\w+)", text[end:])
            assert scale is not None
            number = value * (_SCALES.get(scale[1].lower()) or 12.0)
            result = Value((start, end + scale.end()), "number", "", (number,), number, in_words=True)
            return self._read_unit(replace(result, text=text[slice(*result.span)]), "", 1.0)
        if joint := re.match(
            r"(?:\s+of)?[-\s]+(?:a|an|one|eine?[mnrs]?)[-\s]+(?=\S)|[-\s](?=\S)|(?<=iertel)(?=[a-z])",
            text[end:],
            re.IGNORECASE,
        ):
            result = Value((start, end + joint.end()), "number", "", (value,), value, in_words=True)
            read = self._read_unit(result, "", 1.0, glued=True)
            if read.kind != "number":
                return replace(read, text=text[slice(*read.span)])
        if (
            last == "quarter"
            and (
                due := re.search(
                    r"\b(?:within|per|every|each|last|next|than|once|twice|times)\s$", text[max(0, start - 8) : start]
                )
            )
            and not re.match(r"\sof\b", text[end:])
        ):
            if due[0].strip() in ("per", "every", "each", "once"):
                return Value((start, end), "period", text[start:end], (3 * MONTH,), 1.0, form="interval", in_words=True)
            return Value((start, end), "period", text[start:end], (3 * MONTH,), 1.0, scale=3 * MONTH, in_words=True)
        if last in ("quarter", "quarters") and len(words) == 1:
            return None
        return Value((start, end), "percent", text[start:end], (100 * value,), value, form="fraction", in_words=True)

    def _read_article(self, match: re.Match[str]) -> Value | None:
        """Read "a", "one" or "ein" before a unit; in other places it is not a value."""
        start, end = match.span()
        word = match[0].lower()
        one = Value((start, end), "number", match[0], (1.0,), 1.0, in_words=True)
        if word in ("one", "ein") and (more := _AND_A.match(self.text, end)):
            number = 1.25 if more[1] and more[1].lower() == "quarter" else 1.5
            one = replace(
                one, span=(start, more.end()), text=self.text[start : more.end()], numbers=(number,), raw=number
            )
            return self._read_unit(one, "", 1.0)
        value = self._read_unit(one, "", 1.0)
        if value.kind == "period" and ("weekday" in value.text or _DAY_NAME.match(value.text)):
            return None
        if value.kind == "period":
            before = self.text[max(0, start - 16) : start].lower().split()
            if (
                word in ("a", "an")
                and "fortnight" not in value.text
                and not (before and before[-1].strip("(,") in _BEFORE_DURATIONS)
            ):
                return None if value.number < 1 / 1500 else replace(value, form="interval")
            return value
        if value.kind in ("percent", "quantity", "amount") and (word not in ("a", "an") or value.kind == "percent"):
            return value
        return Value((start, end), "number", match[0], (1.0,), 1.0, in_words=True) if word in ("one", "eins") else None

    def _read_unit(self, value: Value, symbol: str, scaled: float, *, glued: bool = False) -> Value:
        """Return a number with what follows it: percent, a currency, a unit or a period."""
        text, (start, end) = self.text, value.span

        def build(kind: str, until: int, factor: float = 1.0, unit: str = "", form: str = "") -> Value:
            numbers = tuple(number * factor for number in value.numbers)
            return replace(
                value,
                kind=kind,
                span=(start, until),
                text=text[start:until],
                numbers=numbers,
                unit=unit,
                scale=factor,
                form=form,
            )

        if symbol:
            options = _CURRENCIES.get(symbol.lower()) or _CURRENCIES.get(symbol[-1]) or [("", 1.0)]
            return self._add_cents(build("amount", end, unit=options[0][0], form=""))
        if percent := _PERCENT.match(text, end):
            return build("percent", percent.end(), 0.1 if percent[2] else 1.0, form="")
        if money := (_MONEY_GLUED if glued else _MONEY).match(text, end):
            name = (money[1] or cast("str", money[2])).lower()
            currency, factor = _CURRENCIES[name][0]
            if name in ("cent", "cents", "ct"):
                currency = "cent"
            elif name in ("pound", "pounds", "pfund"):
                currency = "pound"
            until = money.end()
            result = build("amount", until, factor, currency, form="")
            cent_match = _SPOKEN_CENTS.match(text, until) if self.language in LANGUAGES else None
            cent_words = (
                (int(cent_match[1]) if cent_match[1].isdigit() else parse_words(cent_match[1].lower(), self.language))
                if cent_match and factor == 1
                else None
            )
            if cent_match and cent_words and cent_words < 100:  # three euros twenty
                both: tuple[float, ...] = (result.number + cent_words / 100,)
                if not cent_match[1].isdigit():  # or the words count something else
                    both = (*both, result.number)
                return replace(
                    result, numbers=both, span=(start, cent_match.end()), text=text[start : cent_match.end()]
                )
            return self._add_cents(result)
        if (
            self.language in LANGUAGES
            and value.form in ("", "fraction", "ordinal")
            and (period := self.grammar.period.match(text, end))
        ):
            read = self._read_period(value, period)
            if read is not None:
                return read
        if times := re.match(r"\s?-?(?:(?:times|mal|fach|fold|x)\b|×)", text[end:], re.IGNORECASE):
            return self._read_frequency(build("number", end + times.end(), form="times"))
        if (following := (_UNIT_GLUED if glued else _UNIT).match(text, end)) and value.form != "ordinal":
            bare = re.sub(r"\s", "", following[2])
            name = (re.sub(r"[\s.]+", "-", following[1].lower()) if following[1] else "") + bare.lower()
            is_short = len(bare) <= 2
            doubtful = name in ("in", "second", "a", "stone", "knot", "t", "el", "tl", "ps", "bar", "w") or (
                is_short and bare.lower() in ("m", "g", "l", "t", "mi", "h") and not bare.islower()
            )
            if name == "t" and value.numbers and not value.in_words and bare == "t":
                doubtful = False
            if name in _UNITS and not doubtful and not (value.in_words and is_short):
                unit, factor = _UNITS[name]
                until = following.end()
                if unit == "length" and (
                    hour := re.match(r"\s?(?:per|an|pro|in\sder|/)\s?(?:hour|stunde|h)\b", text[until:], re.IGNORECASE)
                ):
                    unit, factor, until = "speed", factor / 3600, until + hour.end()
                result = build("quantity", until, factor, unit)
                if factor == 1 and unit == "length" and (parts := _CENTIMETRES.match(text, until)):  # 1 metre 20
                    numbers = tuple(number + int(parts[1]) / 100 for number in result.numbers)
                    return replace(result, numbers=numbers, span=(start, parts.end()), text=text[start : parts.end()])
                below = _BELOW_ZERO.match(text, until)  # nine degrees below zero
                if unit == "temperature" and (below or _MINUS.search(text[max(0, start - 8) : start])):
                    until = below.end() if below else until
                    numbers = tuple(-number for number in result.numbers)
                    return replace(
                        result, numbers=numbers, raw=-result.raw, span=(start, until), text=text[start:until]
                    )
                if value.in_words and (more := re.match(r"\s+and\s+a\s+half\b", text[until:])):
                    numbers, until = tuple(number + factor / 2 for number in result.numbers), until + more.end()
                    return replace(result, numbers=numbers, span=(start, until), text=text[start:until])
                return result
        if value.form == "fraction":
            return build("percent", end, 100.0, form="fraction")
        if value.form == "" and (due := _PER.match(text, end)) and due["unit"]:
            return self._read_frequency(value)
        word = text[start:end]
        if value.form == "" and not value.in_words and scaled == 1 and re.fullmatch(r"1\d{3}|20\d{2}|2100", word):
            year = int(word)
            return replace(value, kind="date", form="year", date=(year, 0, 0))
        return self._read_share(value)

    def _add_cents(self, amount: Value) -> Value:
        """Return an amount with the cents that follow it: "three euros and ten cents", "£54 and 30p"."""
        start, end = amount.span
        cents = _CENTS.match(self.text, end)
        word = (cents[1] or cents[2]).lower() if cents else ""
        if cents and (part := int(word) if word.isdigit() else self.grammar.words.get(word, 0)):
            numbers = tuple(number + part / 100 for number in amount.numbers)
            return replace(amount, numbers=numbers, span=(start, cents.end()), text=self.text[start : cents.end()])
        return amount

    def _read_share(self, value: Value) -> Value:
        """Read "one in ten", "3 out of 4", "three of four": a share."""
        start, end = value.span
        if value.form:
            return value
        if re.match(r"eine?[mns]?$", value.text, re.IGNORECASE):
            return value
        noun = r"(?:\s+[A-ZÄÖÜ][a-zäöüß]+)?" if self.language == "de" else r"(?:\s+(?!and|or|to|until)[a-z]+)?"
        if value.text.lower() == "einer":
            noun = ""
        whole = r"(?P<digits>\d[\d,.]*\d|\d)|(?P<words>[a-zäöüß]+)"
        if out := re.match(
            rf"{noun}\s+(?:in|out\s+of(?:\s+every|\s+the)?|von|je|of\severy)\s+(?:{whole})\b(?!\s?(?:%|percent|prozent|uhr|days?|weeks?|months?|years?|tagen?|wochen?|monaten?|jahren?|hours?|euros?))",
            self.text[end:],
        ):
            total = (
                self._parse_digits(out["digits"], is_money=False)[0]
                if out["digits"]
                else parse_words(out["words"], self.language)
            )
            if total and value.raw <= total <= 100_000 and total >= 3 and not (1900 <= total <= 2100):
                share = 100 * value.raw / total
                until = end + out.end()
                return replace(
                    value,
                    kind="percent",
                    span=(start, until),
                    text=self.text[start:until],
                    numbers=(share,),
                    form="fraction" if value.in_words else "",
                )
        return value

    def _read_period(self, value: Value, match: re.Match[str]) -> Value | None:
        grammar, (start, _) = self.grammar, value.span
        groups = match.groupdict()
        end = match.end()
        if groups.get("glued"):
            root = match["glued"].lower()
            factor = next(
                days
                for name, days in (
                    ("jähr", YEAR),
                    ("monat", MONTH),
                    ("wöch", 7.0),
                    ("täg", 1.0),
                    ("stünd", 1 / 24),
                    ("minüt", 1 / 1440),
                    ("year", YEAR),
                    ("month", MONTH),
                    ("week", 7.0),
                    ("dai", 1.0),
                    ("hour", 1 / 24),
                )
                if root.startswith(name)
            )
            form = (
                "interval" if root.endswith(("lich", "ly")) or (root == "tägig" and value.raw in (7, 14)) else "period"
            )
            if root in ("monatlich", "jährlich", "täglich", "wöchentlich") and match[0][:1] == " ":
                return None
        else:
            unit = re.sub(r"\s+", " ", match["unit"].lower())
            if unit in grammar.working or groups.get("working"):
                factor, form = grammar.periods.get(unit, DAY), "working"
                if factor != DAY:
                    factor = factor * 5 / 7 if factor == 7 else factor
            elif value.in_words and (
                unit in ("min", "h", "sec", "std", "sek") or (unit == "quarter" and value.raw <= 3)
            ):
                return None
            else:
                factor, form = grammar.periods[unit], "period"
            if unit == "second" and value.raw <= 1:
                return None
        if value.form == "ordinal":
            if re.search(r"jahr|year|month|monat|day|tag", match[0], re.IGNORECASE) and not value.in_words:
                return replace(value, span=(start, end), text=self.text[start:end])  # the 25th year: a number
            return None
        numbers = tuple(number * factor for number in value.numbers)
        if more := re.match(r"\s+and\s+(?:a\s+(half|quarter)|(three)\s+quarters)\b", self.text[end:]):
            part = 0.75 if more[2] else 0.5 if more[1] == "half" else 0.25
            numbers, end = tuple(number + factor * part for number in numbers), end + more.end()
        unit_kind = "working" if form == "working" else ""
        result = replace(
            value,
            kind="period",
            span=(start, end),
            text=self.text[start:end],
            numbers=numbers,
            unit=unit_kind,
            scale=factor,
            form="interval" if form == "interval" or groups.get("beat") else "",
        )
        before = self.text[max(0, start - 44) : start].lower()
        if re.search(
            r"\b(?:(?:every|each|once\s(?:every|in)|alle|per|pro|je)\s(?:\w+\s)?|"
            r"(?:intervals\sof|im\sabstand\svon|in\sabständen\svon)\s(?:\w+\s){0,4})$",
            before,
        ):
            result = replace(result, form="interval")
        return result

    def _read_frequency(self, value: Value) -> Value:
        """Read "3 times a day": how often, in days between two times."""
        start, end = value.span
        if result := _PER.match(self.text, end):
            days = self._days_of(result)
            if days and value.raw:
                return replace(
                    value,
                    kind="period",
                    form="interval",
                    span=(start, result.end()),
                    text=self.text[start : result.end()],
                    numbers=(days / value.raw,),
                    raw=value.raw,
                )
        return value

    def _days_of(self, match: re.Match[str]) -> float:
        word = re.sub(r"e[nrsm]?$", "", match["often"].lower()) if match["often"] else match["unit"].lower()
        table = _OFTEN if match["often"] else _PERIODS
        return table.get(word) or table.get(match["often"].lower() if match["often"] else word, 0.0)

    def _read_often(self) -> None:
        """Read intervals without a number: "monthly", "every second week", "twice a year", "per month"."""
        orders = {
            "other": 2,
            "second": 2,
            "third": 3,
            "fourth": 4,
            "fifth": 5,
            "alternate": 2,
            "zweit": 2,
            "dritt": 3,
            "viert": 4,
            "fünft": 5,
            "zehnt": 10,
        }
        counts = {
            "once": 1,
            "twice": 2,
            "thrice": 3,
            "einmal": 1,
            "zweimal": 2,
            "dreimal": 3,
            "viermal": 4,
            "sechsmal": 6,
        }
        for match in _BARE.finditer(self.text):
            if not any(self.taken[match.start("unit") : match.end("unit")]):
                self._add(
                    Value(
                        match.span("unit"),
                        "period",
                        match["unit"],
                        (_PERIODS[match["unit"].lower()],),
                        1.0,
                        form="bare",
                    )
                )
        for match in _EACH_UNIT.finditer(self.text):
            if not any(self.taken[match.start() : match.end()]):
                measure, factor = _UNITS[match["unit"].lower()]
                self._add(
                    Value(match.span(), "quantity", match[0], (factor,), 1.0, measure, factor, "per", in_words=True)
                )
        for match in _COMPOUND.finditer(self.text) if self.language == "de" else ():
            if not any(self.taken[match.start() : match.end()]):
                days = _PERIODS[match["unit"].lower()]
                self._add(Value(match.span(), "period", match[0], (days,), 1.0, form="interval"))
        for match in _INTERVAL.finditer(self.text):
            start, end = match.span()
            inside = [value for value in self.values if value.span[0] < end and value.span[1] > start]
            replaceable = {*_REPLACEABLE, ("percent", "fraction")} if match["often"] else _REPLACEABLE
            if any((value.kind, value.form) not in replaceable for value in inside):
                continue
            days = 14.0 if match["odd"] else 7.0 if match["order2"] else self._days_of(match)
            raw = 1.0
            if order := match["order"] or match["order2"]:
                raw = float(next((times for name, times in orders.items() if order.lower().startswith(name)), 1))
                days *= raw
            if count := match["count"]:
                times = counts.get(count.lower(), 1)
                days, raw = days / times, float(times)
            if days:
                self.values = [value for value in self.values if value not in inside]
                self._add(Value((start, end), "period", match[0], (days,), raw, form="interval"))

    def _join_periods(self, values: list[Value]) -> list[Value]:
        """Return the values with periods of two units as one: "1 hour and 15 minutes"."""
        joined: list[Value] = []
        for value in values:
            last = joined[-1] if joined else None
            if (
                last
                and last.kind == value.kind
                and value.kind in ("period", "quantity")
                and not (last.form or value.form or last.unit != value.unit or value.unit == "working")
                and (value.kind == "period" or value.unit == "length")
                and value.scale < last.scale
                and value.number < last.scale
                and re.fullmatch(
                    r",?\s(?:and\s|und\s)?" if last.scale < 1 else r"\s(?:and\s|und\s)?",
                    self.text[last.span[1] : value.span[0]],
                )
            ):
                span = last.span[0], value.span[1]
                numbers = (last.number + value.number, last.number)  # the second may be left out
                joined[-1] = replace(last, span=span, text=self.text[slice(*span)], numbers=numbers, scale=value.scale)
            else:
                joined.append(value)
        return joined

    def _share_units(self, values: list[Value]) -> list[Value]:
        """Give a number in a range the unit of the next: "5 to 7 days", "nach drei und nach zwölf Monaten"."""
        for at in (*range(len(values) - 2, -1, -1), *range(len(values) - 1)):
            first, second = values[at], values[at + 1]
            pair = {first.kind, second.kind}
            if pair == {"date", "number"} and _DAYS_LISTED.fullmatch(self.text, first.span[1], second.span[0]):
                place, day, plain = (at, second, first) if second.kind == "date" else (at + 1, first, second)
                is_after = day is first and not day.text[0].isdigit()  # May 3 and 5
                is_before = day is second and day.text[0].isdigit()  # 3 and 5 May
                is_day = not plain.in_words and 1 <= plain.raw <= 31 and plain.raw.is_integer()
                if day.form == "day" and (is_after or is_before) and is_day:
                    year, month, _ = day.date
                    number = float(year * 10_000 + month * 100 + int(plain.raw))
                    changed = (year, month, int(plain.raw))
                    values[place] = replace(plain, kind="date", form="day", numbers=(number,), date=changed)
        for at in range(len(values) - 2, -1, -1):
            first, second = values[at], values[at + 1]
            if first.form in ("day", "month") and first.form == second.form and second.date[0] and not first.date[0]:
                year, (_, month, day) = second.date[0], first.date
                is_range = _RANGE.fullmatch(self.text, first.span[1], second.span[0])
                if is_range and first.date[1:] <= second.date[1:]:  # between May and July 2025
                    values[at] = replace(first, numbers=(first.numbers[0] + year * 10_000,), date=(year, month, day))
            if (
                first.kind == "number"
                and not first.form
                and second.kind in ("period", "quantity", "percent", "amount")
                and second.form not in ("interval", "fraction")
            ):
                between = self.text[first.span[1] : second.span[0]]
                is_listed = between == ", " and second.text.isdigit()  # 3, 5 and 8 euros
                if is_listed or re.fullmatch(
                    r"\s?(?:to|bis|or|oder|–|-|bis\szu|and|und|und\snach|and\safter|von|auf)\s?", between
                ):
                    scale = second.scale
                    is_below = second.unit == "temperature" and _MINUS.search(
                        self.text[max(0, first.span[0] - 8) : first.span[0]]
                    )
                    first = replace(first, raw=-first.raw, numbers=(-first.number,)) if is_below else first
                    values[at] = replace(
                        first,
                        kind=second.kind,
                        unit=second.unit,
                        scale=scale,
                        numbers=tuple(number * scale for number in first.numbers),
                    )
        return values

    def _find_interval(self, values: list[Value], at: int) -> float:
        """Return the days after which an amount is due again: "10 euros a month", "weekly charges of 10 euros"."""
        start, end = values[at].span
        due = _PER.match(self.text, end)
        if due and not due[0].lstrip().startswith(","):
            return self._days_of(due)
        if values[at].kind in ("quantity", "period"):
            return 0.0
        for other, first, last in (
            *((value, end, value.span[0]) for value in values[at + 1 : at + 2]),
            *((value, value.span[1], start) for value in values[max(0, at - 1) : at]),
        ):
            if other.form == "interval" and other.raw == 1 and _CLOSE_BY.fullmatch(self.text, first, last):
                return other.number
        return self._days_of(due) if due else 0.0

    def _qualify(self, values: list[Value], at: int) -> Value:
        """Return a value with what limits it and how often it is due."""
        value = values[at]
        if value.kind in ("reference", "phone", "email", "url", "address"):
            return value
        start, end = value.span
        since = max(values[at - 1].span[1] if at else 0, start - 36)
        before, after = self.text[since:start].lower(), self.text[end : end + 28].lower()
        before = re.split(r"[.;:!?\n](?:\s|$)", before)[-1]
        bound = _find_bound(before, after, value.kind)
        if bound == "min" and value.form == "interval" and re.search(r"\b(?:every|once|alle)\s(?:\w+\s)?$", before):
            bound = "max"  # at least every three hours
        per = 0.0
        if value.kind in ("amount", "percent") or (value.kind in ("quantity", "period") and not value.form):
            per = self._find_interval(values, at)
        if (
            value.kind == "period"
            and value.form == "interval"
            and value.raw == 1
            and at
            and values[at - 1].kind == "number"
            and values[at - 1].raw > 1
        ):
            between = self.text[values[at - 1].span[1] : start]
            if re.fullmatch(r"(?:\s[\w-]+){1,2}\s?", between):  # two tests a year
                value = replace(value, numbers=(*value.numbers, value.number / values[at - 1].raw))
        about = value.about or any(token.strip("(") in _ABOUT for token in before.split()[-2:])
        share = (
            "of"
            if re.search(r"\b(?:out\sof|von|every|jede|je)\s$", before)
            and value.raw in (5, 10, 20, 50, 100, 1000)
            and not re.match(r"\s(?:auf|bis|to)\s", after)
            else "each"
            if re.search(r"\b(?:je|jeweils|each)\s$", before)
            or re.match(r"\s(?:each|apiece|pro\sperson|per\sperson|je\sperson)\b", after)
            else (
                "total"
                if re.search(r"\b(?:insgesamt|zusammen|total\sof|altogether|in\stotal|jointly|gemeinsam)\s$", before)
                or re.match(r"\s(?:in\stotal|altogether|insgesamt|zusammen)\b", after)
                else ""
            )
        )
        if value.kind == "number" and not value.form:
            last = re.search(r"([\w–-]+)\s?$", before)
            counted = _COUNTED[self.language == "de"].match(self.text, end)
            noun = counted["noun"].lower() if counted and counted["noun"].lower() not in _SMALL else ""
            value = replace(value, after=last[1] if last else "", counts=noun)
        return replace(value, bound=bound, per=per, about=about, share=share)


_SMALL = words("small")
# Nouns after a number, maybe with adjectives between them: in English those that are in the plural.
_COUNTED = (
    re.compile(
        r"\s(?:(?!and\b|or\b|to\b|of\b|in\b|the\b|is\b|are\b|if\b|at\b|on\b|for\b)[a-z-]+\s){0,2}?"
        r"(?P<noun>[a-z-]{3,}(?<![s'’u])s|people|children|women|men)\b"
    ),
    re.compile(r"\s(?:[a-zäöüß]{3,}e[nrsm]?\s){0,2}?(?P<noun>[A-ZÄÖÜ][a-zäöüß]{2,})\b(?!-)"),
)
_MIN = re.compile(
    r"(?:\b(?:at\sleast|minimum(?:\sof)?|not?\s(?:less|fewer|shorter|lower|younger)\sthan|never\s(?:less|fewer)\sthan|nie(?:mals)?\s(?:weniger|unter)(?:\sals)?|mindestens|wenigstens|minimal|nicht\s(?:weniger|kürzer|unter|kleiner|jünger)(?:\sals)?|mindestdauer\svon|mindestalter\svon)\s(?:\w+\s){0,2})$"
)
_MAX = re.compile(
    r"(?:\b(?:at\s(?:the\s)?most|up\sto|maximum(?:\sof)?|not?\s(?:more|longer|larger|higher|older|greater)\sthan|never\s(?:more|longer)\sthan|nie(?:mals)?\s(?:mehr|länger|über)(?:\sals)?|höchstens|maximal|längstens|bis\szu|nicht\s(?:mehr|länger|über|älter|größer|höher)(?:\sals)?|höchstdauer\svon)\s(?:\w+\s){0,2})$"
)
_LATE = re.compile(r"\b(?:not?\slater\sthan|at\s(?:the\s)?latest|spätestens|nicht\sspäter\sals)\s(?:\w+\s){0,2}$")
_EARLY = re.compile(
    r"\b(?:not?\s(?:earlier|sooner)\sthan|at\sthe\searliest|frühestens|nicht\sfrüher\sals)\s(?:\w+\s){0,2}$"
)
_AHEAD = re.compile(r"\s(?:before|prior|ahead|in\sadvance|beforehand|vor|vorher|zuvor|im\svoraus)\b")
_AFTER_MIN = re.compile(
    r"[\s,]*(?:or|oder|and|und)\s(?:more|longer|over|older|above|earlier|mehr|länger|älter|darüber|früher)\b|\s(?:at\sleast|minimum|mindestens)\b"
)
_AFTER_MAX = re.compile(
    r"[\s,]*(?:or|oder|and|und)\s(?:less|fewer|shorter|under|younger|below|weniger|kürzer|jünger|darunter)\b|\s(?:at\s(?:the\s)?most|maximum|höchstens|maximal)\b"
)


def _find_bound(before: str, after: str, kind: str) -> str:
    if kind in ("date", "time"):
        if re.search(r"\b(?:not|nicht|never|nie|unless|ausser|außer)\b", before):
            return ""
        if re.search(
            r"\b(?:before|prior\sto|earlier\sthan|vor\s(?:dem|der)|früher\sals)\s(?:\w+,?\s(?:dem\s)?)?$", before
        ):
            return "before"
        if (
            re.search(r"\b(?:after|later\sthan|nach\s(?:dem|der)|später\sals)\s(?:\w+,?\s(?:dem\s)?)?$", before)
            and "no later" not in before
            and "not later" not in before
        ):
            return "after"
        if re.search(
            r"\b(?:by|until|till|through|to|including|no\slater\sthan|latest|bis|spätestens|einschließlich)\s(?:(?:zum|am|the|on|einschließlich|including|and)\s)*(?:\w+,?\s(?:dem\s)?)?$",
            before,
        ):
            return "until"
        if re.search(
            r"\b(?:from|since|starting|as\sof|on|ab|seit|von|vom|wieder|again)\s(?:(?:dem|the|on|am)\s)*(?:\w+,?\s(?:dem\s)?)?$",
            before,
        ):
            return "from"
        return ""
    is_min, is_max = _MIN.search(before) or _AFTER_MIN.match(after), _MAX.search(before) or _AFTER_MAX.match(after)
    if not is_min and not is_max and ((late := _LATE.search(before)) or _EARLY.search(before)):
        return "min" if bool(late) == bool(_AHEAD.match(after)) else "max"
    return "" if bool(is_min) == bool(is_max) else "min" if is_min else "max"


_PERIODS = _read_factors(_DATA["periods"]["en"]) | _read_factors(_DATA["periods"]["de"])
_OFTEN = _read_factors(_DATA["periods"]["often_en"]) | _read_factors(_DATA["periods"]["often_de"])
_OFTEN_WORDS = _join(_OFTEN)
_UNIT_WORDS = _join(
    _PERIODS.keys() - {"second", "seconds", "sec", "secs", "min", "mins", "hr", "hrs", "h", "std", "sek"}
)
_PERIOD_CUES = (*words("period_cues"), " je ", " pro ", " per ")
_WEEKDAYS = _join((_DATA["dates"]["days_en"] + " " + _DATA["dates"]["days_de"]).split())
_PER = re.compile(
    rf"\s?,?\s?(?:(?:(?:a|an|per|each|every|pro|je|jede[nrsm]?|im|am|in\sder)\s(?:calendar\s|kalender|full\s)?(?P<unit>{_UNIT_WORDS})|(?P<often>{_OFTEN_WORDS})(?:e[nrsm]?)?)\b)",
    re.IGNORECASE,
)
_INTERVAL = re.compile(
    rf"""\b(?:(?:(?P<count>once|twice|thrice|einmal|zweimal|dreimal|viermal|sechsmal)\s)?
    (?:(?:(?:every|each|on|jede[nrsm]?)\s(?P<order>other|second|third|fourth|fifth|alternate|zweite[nrsm]?|dritte[nrsm]?|vierte[nrsm]?|fünfte[nrsm]?|zehnte[nrsm]?)
      |every|each|per|a|an|pro|jede[nrsm]?|im|am|in\sder|once\sa|je)\s(?:calendar\s)?(?P<unit>{_UNIT_WORDS})
    |(?:(?:every|each|on|jede[nrsm]?)\s)?(?P<order2>other|second|alternate|zweite[nrsm]?)\s(?=(?:{_WEEKDAYS})s?\b)
    |(?P<often>{_OFTEN_WORDS})(?:e[nrsm]?)?
    |(?P<odd>odd|even|ungerade[nr]?|gerade[nr]?)[-\s](?:numbered\s)?(?:calendar\s)?(?:weeks|kalenderwochen|wochen)))\b""",
    re.VERBOSE | re.IGNORECASE,
)
_REPLACEABLE = {("number", "ordinal"), ("number", "times"), ("number", "special")}  # by an interval around them
_COMPOUND = re.compile(  # Jahresbeitrag
    r"\b(?P<unit>(?:Jahr|Tag)es|Monats|Wochen|Quartals)(?:grund|netto|brutto|kalt|gesamt|mindest)*"
    r"(?:gebühr|beitrag|miete|kaltmiete|rate|prämie|zins|lohn|gehalt|preis|pauschale|betrag|kosten|einkommen|entgelt)\w*",
    re.IGNORECASE,
)
_LONG_TIMES = "decades|centuries|millennia|jahrzehnten?|jahrhunderten?|jahrtausenden?"
_BARE = re.compile(
    rf"\b(?:(?:for|after|within|nach|seit|in|binnen|erst\snach)\s(?P<unit>minutes|hours|days|weeks|months|years|minuten|stunden|tagen|wochen|monaten|jahren|{_LONG_TIMES}))\b",
    re.IGNORECASE,
)
_EACH_UNIT = re.compile(
    rf"\b(?:je|pro|per|jede[nrsm]?|each|every)\s(?P<unit>{_join(name for name in _UNITS if len(name) > 4)})\b",
    re.IGNORECASE,
)
_LISTED = re.compile(r"^[ \t]*(?:\d{1,2}[.)]|\(\d{1,2}\))(?=\s\D)", re.MULTILINE)  # the number of a point in a list
_BEFORE_DURATIONS = words("before_durations")
_MONEY_NAMES = _join(name for name in _CURRENCIES if name not in "$£€¥p" and len(name) > 1)
_PERCENT = re.compile(
    r"\s?-?(?:(%|percent\b|per\s+cent\b|pct\b|prozent(?:punkten?|ige[nrs]?|ig)?\b|percentage\spoints?|v\.\s?h\.|\svom\shundert\b)|(‰|promille\b))",
    re.IGNORECASE,
)
_SPOKEN_CENTS = re.compile(r"\s([a-zäöüß]+(?:-[a-z]+)?|\d\d)(?=[.,;!?)]|$|\s[a-zäöü])")
_CENTS = re.compile(
    r"\s(?:(?:und|and)\s)?(\d\d?|[a-zäöüß]+)\s?(?:cents?|ct|pence|p)\b|(?<=euro)\s(\d\d)(?!\d|[.,:]\d|\s?%|(?-i:\s[A-ZÄÖÜ]))",
    re.IGNORECASE,
)
_STREETS = {
    "st": "street", "rd": "road", "ln": "lane", "ave": "avenue", "dr": "drive", "blvd": "boulevard",
}  # fmt: skip
_CLOCK = re.compile(
    r"\d:[0-5]\d|\b0\d\.[0-5]\d\b|\.[0-5]\d\son\s\w+day\b|o['’]clock|\d\s?[ap]\.?m\b|\b(?:quarter|half)\s(?:to|past)\b|\b(?:noon|morning|afternoon|evening|night|midnight)\b",
    re.IGNORECASE,
)
_CENTIMETRES = re.compile(r"\s(\d\d)(?![\d.,:]*\d|\s?(?:[%°]|[ckm]?m\b|k?g\b|m?l\b|mal\b|Uhr|Zentimet|[Cc]entimet|-))")
_DAY_NAME = re.compile(r"ein\w*\s(?!kalender)\w{3,}tage?s?$", re.IGNORECASE)  # a holiday: no duration
_CLOSE_BY = re.compile(r"(?:\s(?!and\b|or\b|und\b|oder\b|for\b|für\b|over\b|über\b)[^\W\d_]+){0,3}\s")
_MONEY = re.compile(rf"(?:,[-–—]{{1,2}})?(?:\s?-?((?:{_MONEY_NAMES})\b|[€£$¥](?!\s?\d))|(?<=\d)(p)\b)", re.IGNORECASE)
_MONEY_GLUED = re.compile(rf"((?:{_MONEY_NAMES})\b)(p)?", re.IGNORECASE)
_MONEY_AFTER = re.compile(r"\s?(?:[€£$]|(?:eur|euros?|usd|gbp|dollars?|pounds?|chf|franken)\b)", re.IGNORECASE)
_ATTACHED = re.compile(
    r"(?:p|ct|km|kg|cm|mm|mph|kph|bn|lb|ft|mi|mg|ml|cl|dl|µg|m|g|l|k|t|h|min|st|nd|rd|th|x|er|°|kWh|GB|MB|EUR|qm|m²|m³|mal|fach|jährig|monatig|wöchig|tägig|stündig)(?![a-z])"
)
_SCALED = re.compile(
    r"\s?[-\s]?(hundred|thousand|million|millions|billion|trillion|bn|dozen|dutzend|hundert|tausend|tsd\.?|millionen|mio\.?|milliarden?|mrd\.?|billionen)(?!\w)",
    re.IGNORECASE,
)
_AND_A = re.compile(r"[-\s]+and[-\s]+(?:a|one)[-\s]+(half|quarter)\b|\s?ein(?:halb)\b|\s?([½¼¾])", re.IGNORECASE)
_DAYS_LISTED = re.compile(r"\.?\s?(?:,|/|–|-|und|bis|oder|auf\sden|bis\szum|to|and|or|until)\s?(?:den\s|the\s)?")
_RANGE = re.compile(r"\s?(?:to|until|and|or|bis|und|oder|–|-|through)\s?(?:(?:the|zum|den|dem)\s)?")
_MINUS = re.compile(r"(?:^|[\s(])(?:[-−–]|minus\s)$")
_BELOW_ZERO = re.compile(r"\s(?:below\s(?:zero|freezing)|of\sfrost|unter\snull|minus|frost)\b", re.IGNORECASE)
_YEAR_BEFORE = re.compile(r"\b(1[0-9]|20)\d\d(?:\s?[-–/]\s?)$")
_UNIT = re.compile(
    r"[-\s]?((?:square|cubic|sq|nautical|kilowatt(?=[-\s]hours?\b)|(?:degrees?|grad)(?=[-\s.]+(?:celsius|fahrenheit)))[-\s.]+)?([A-Za-zäöüßµμ°²³/%]+(?:[23]|\s[²³])?)",
    re.IGNORECASE,
)
_UNIT_GLUED = re.compile(
    r"((?:square|cubic|sq|nautical|kilowatt(?=[-\s]hours?\b)|(?:degrees?|grad)(?=[-\s.]+(?:celsius|fahrenheit)))[-\s.]+)?([A-Za-zäöüßµμ°²³/%]+[23]?)",
    re.IGNORECASE,
)


@lru_cache(maxsize=100_000)
def _starts_number(word: str, language: str) -> bool:
    """Return whether a number may begin with a word."""
    if word in _CODES:
        return True
    return language in LANGUAGES and bool(_first_words(language).fullmatch(word))


_CODES = frozenset(["eur", "usd", "gbp", "chf", "pln", "sek", "nok", "dkk", "fr", "sfr"])


@cache
def _first_words(language: str) -> re.Pattern[str]:
    table = _DATA["numbers"]
    words = [word for name in ("cardinals", "tens", "ordinals") for word in table[f"{name}_{language}"].split()]
    words += [word for name in ("parts", "special") for word in _read_factors(table[f"{name}_{language}"])]
    if language == "en":
        return re.compile(
            _join(
                (*words, "a", "an", "hundred", "thousand", "million", "billion", "thirtieth", "fiftieth", "hundredth")
            )
        )
    unit = "ein|eins|zwei|zwo|drei|vier|fünf|sechs|sech|sieben|sieb|acht|neun|zehn|elf|zwölf"
    numbers = rf"(?:{unit}|{_join(table['tens_de'].split())}|zig|und|hundert|tausend|null)+"
    ending = r"mal|(?:fach|jährig|monatig|wöchig|tägig|stündig|minütig|wöchentlich|monatlich|jährlich|täglich)\w*"
    return re.compile(
        rf"eine?[mnrs]?|(?:{_join(words)})[nrsm]?|(?!und(?:mal|fach)?$){numbers}(?:{ending})?|millionen|(?:drei)?viertel\w*"
    )


@lru_cache(maxsize=10_000)
def parse_words(words: str, language: str) -> float | None:
    """Return the value of number words, read by text2num."""
    from text_to_num import text2num

    if language == "de":
        if words in ("ein", "eins"):
            return 1.0
        if words.strip("und") == "" or words.startswith("und"):
            return None
        try:
            return float(text2num(words, "de"))
        except (ValueError, KeyError):
            return None
    bare = re.sub(r"^(?:a|an)\s+", "one ", words)
    if bare.split()[0].split("-")[0] in ("hundred", "thousand", "million", "billion", "trillion"):
        return None if bare == words and " " not in bare else parse_words(f"one {bare}", language)
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


@lru_cache(maxsize=50_000)
def read_values(text: str, language: str = "en") -> tuple[Value, ...]:
    """Return all values of a text, in order."""
    if not text:
        return ()
    joints = [match.start() for match in _JOINT.finditer(text)] if language == "de" else []
    if not joints:
        return _Reader(text, language).read()
    # Easy language writes compounds with hyphens (Viertel-Jahr). They are read without, and the places moved back.
    places = [at for at in range(len(text) + 1) if at not in set(joints)]
    plain = _JOINT.sub(lambda match: match[1].lower(), text)
    values = []
    for value in _Reader(plain, language).read():
        span = places[value.span[0]], places[value.span[1] - 1] + 1
        values.append(replace(value, span=span, text=text[slice(*span)]))
    return tuple(values)


_JOINT = re.compile(r"(?<=[a-zäöüß])[-·]([A-ZÄÖÜ])(?=[a-zäöüß])")


def digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def squeeze(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text)).lower()


@cache
def relative_days() -> re.Pattern[str]:
    """Return the pattern of words that make other days follow from those in a text."""
    return re.compile(rf"\b(?:{_DATA['dates']['relative'].replace(chr(10), '')})\b")
