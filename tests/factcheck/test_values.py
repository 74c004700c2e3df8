"""Values in every notation of both languages, and their comparison."""

from __future__ import annotations

import random
import tomllib
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import plainly
from plainly.core.errors import BadInput
from plainly.factcheck.comparing import check_values
from plainly.factcheck.equality import is_equal
from plainly.factcheck.pairs import Facts
from plainly.factcheck.reading import (
    BLOCKING,
    CERTAIN,
    PRECISION,
    VALUES,
    FactFinding,
    list_blocking,
    match_pairs,
)
from plainly.factcheck.values import read_values

PAIRS: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("values.toml").read_text(encoding="utf-8")
)
MONTHS = {
    "en": "January February March April May June July August September October November December".split(),  # noqa: SIM905
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),  # noqa: SIM905
}


def _check(source: str, output: str, language: str) -> list[FactFinding]:
    pair = next(iter(match_pairs([source], [output], language=language)))
    return [finding for finding in check_values(pair) if finding.harms]


@pytest.mark.parametrize(
    ("language", "text", "kind", "numbers"),
    [
        ("en", "1,234.5 metres", "quantity", [1234.5]),
        ("en", "two hundred and fifty-five men", "number", [255]),
        ("en", "half a million", "number", [500_000]),
        ("en", "$5 million", "amount", [5e6]),
        ("en", "EUR 45.00", "amount", [45]),
        ("en", "fifty pounds", "amount", [50]),
        ("en", "25 per cent", "percent", [25]),
        ("en", "two thirds", "percent", [200 / 3]),
        ("en", "one in ten", "percent", [10]),
        ("en", "44 out of every 100", "percent", [44]),
        ("en", "a quarter of a litre", "quantity", [0.25]),
        ("en", "within a week", "period", [7]),
        ("en", "a fortnight", "period", [14]),
        ("en", "a year and a half", "period", [547.875]),
        ("en", "1 hour and 15 minutes", "period", [75 / 1440, 60 / 1440]),
        ("en", "at six-monthly intervals", "period", [182.625]),
        ("en", "1 metre 20", "quantity", [1.2]),
        ("en", "-2 °C", "quantity", [-2]),
        ("en", "10 kilolitres", "quantity", [10_000]),
        ("en", "twice a year", "period", [182.625]),
        ("en", "every second week", "period", [14]),
        ("en", "7:30 p.m.", "time", [1170]),
        ("en", "twenty to three in the afternoon", "time", [880]),
        ("en", "10 at night", "time", [1320]),
        ("en", "noon", "time", [720]),
        ("en", "May 1st, 2026", "date", [20260501]),
        ("en", "end of March", "date", [331]),
        ("en", "06/11/1981", "date", [19810611, 19811106]),
        ("de", "1.342,60 Euro", "amount", [1342.6]),
        ("de", "45 Euro 50", "amount", [45.5]),
        ("de", "45,- EUR", "amount", [45]),
        ("de", "3,5 Mrd. EUR", "amount", [3.5e9]),
        ("de", "anderthalb Liter", "quantity", [1.5]),
        ("de", "zwei Dutzend", "number", [24]),
        ("de", "zweihundertfünfzig", "number", [250]),
        ("de", "0,8 ‰", "percent", [0.08]),
        ("de", "jeder Zehnte", "percent", [10]),
        ("de", "eine Viertelstunde", "period", [15 / 1440]),
        ("de", "dreieinhalb Jahre", "period", [1278.375]),
        ("de", "alle zwei Wochen", "period", [14]),
        ("de", "viermal im Jahr", "period", [91.3125]),
        ("de", "19.30 Uhr", "time", [1170]),
        ("de", "halb acht am Abend", "time", [1170]),
        ("de", "Viertel vor elf am Morgen", "time", [645]),
        ("de", "Mitternacht", "time", [0]),
        ("de", "1. Mai 2026", "date", [20260501]),
        ("de", "01.05.2026", "date", [20260501]),
        ("de", "Heiligabend", "date", [1224]),
    ],
)
def test_a_value_is_read(language: str, text: str, kind: str, numbers: list[float]) -> None:
    (value,) = read_values(text, language)
    assert value.kind == kind
    assert list(value.numbers) == pytest.approx(numbers, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ("Call +49 221 4710-283.", "phone", "02214710283"),
        ("planning(at)westvale.example", "email", "planning@westvale.example"),
        ("https://www.harbour.example/permits/", "url", "harbour.example/permits"),
        ("IBAN GB49 ZZZZ 9901 0055 2318 74", "reference", "gb49zzzz99010055231874"),
        ("Platform 318", "reference", "318"),
        ("77/3051-B", "reference", "773051b"),
        ("in SM4 7QT", "address", "sm47qt"),
        ("at 22 Brewhouse Lane", "address", "22"),
    ],
)
def test_a_reference_is_its_letters_and_digits(text: str, kind: str, key: str) -> None:
    (value,) = read_values(text)
    assert (value.kind, value.key) == (kind, key)


def test_nothing_is_read_where_nothing_is() -> None:
    for text in ("", "no value here", "...", "一二三", "x" * 10_000, "Und dann kamen sie.", "It may rain."):
        assert read_values(text) == ()
        assert read_values(text, "de") == ()


def test_other_languages_have_digits_only() -> None:
    assert [value.kind for value in read_values("Le 2026-05-01 à 14:30, deux euros ou 45 €.", "fr")] == [
        "date",
        "time",
        "amount",
    ]


@pytest.mark.parametrize("pair", PAIRS["same"], ids=lambda pair: pair["output"][:40])
def test_the_same_value_in_other_words_is_no_finding(pair: dict[str, Any]) -> None:
    assert not _check(pair["source"], pair["output"], pair["language"])


@pytest.mark.parametrize("pair", PAIRS["changed"], ids=lambda pair: pair["output"][:40])
def test_a_changed_value_is_found(pair: dict[str, Any]) -> None:
    findings = _check(pair["source"], pair["output"], pair["language"])
    assert any(finding.harms and finding.kind in VALUES for finding in findings)


@pytest.mark.parametrize(
    ("source", "output", "is_certain"),
    [
        ("The fee is 45 euros.", "You must pay 54 euros.", True),
        ("The fee is 45 euros a month.", "The fee is 54 euros a month.", True),
        ("Pay within 14 days.", "Pay within 14 weeks.", True),
        ("Visitors must depart by 18:15.", "Please go home at a quarter to six in the evening.", True),
        ("The lease ends on 3 May 2026.", "You can stay until 3 June 2026.", True),
        ("The lease ends on 3 May 2026.", "You can stay until 28 July 2026.", True),
        ("Replies take up to 48 hours.", "You hear from us in the next 48 days.", True),
        ("Replies take up to 16 weeks.", "You hear from us in the next 9 months.", True),
        ("The meeting is on 30 October 2025.", "We meet on Friday, 30 October 2025.", True),
        ("Keep it at between 2 °C and 8 °C.", "Keep it at between -2 and 8 degrees.", True),
        ("Our office: 1150 Larch Boulevard.", "Come to 1150 Larch Avenue.", True),
        ("Bills come every six weeks.", "You get a bill every six months.", True),
        ("You may camp here until 15 July.", "You can put up your tent from 15 July.", True),
        ("Leave at least 50 cm free.", "Leave at most 50 cm free.", True),
        ("The lease ends on 3 May 2026.", "You can stay until 33 May 2026.", True),
    ],
)
def test_a_finding_is_certain_only_where_one_value_replaces_another(source: str, output: str, is_certain: bool) -> None:
    (match,) = match_pairs([source], [output])
    findings = [finding for finding in check_values(match) if finding.harms]
    assert findings
    assert any(finding.sure >= CERTAIN for finding in findings) is is_certain


@pytest.mark.parametrize(
    ("source", "output", "asks"),
    [
        # A value of the source is gone, and another one of its kind is there: it may have taken its place.
        ("Your payment of £92 has been raised to £117.", "From now on you pay £92.", True),
        ("For a leak ring 0800 327 4410, for bills 0800 327 4490.", "A leak? Ring 0800 327 4490.", True),
        ("Pay by 20 August. You leave on 3 September.", "You leave on 3 September. Pay by then.", True),
        # It is gone together with all of its kind, follows from what is there, or is named by its weekday.
        ("Your payment of £92 has been raised to £117.", "From now on you pay more.", False),
        ("Your rent of £500 rises by £20.", "Your rent of £500 rises. You pay £520.", False),
        ("Come on Monday 20 April or Tuesday 21 April 2026.", "Come on Monday 20 April or the Tuesday.", False),
    ],
)
def test_a_lost_value_asks_for_review_where_another_one_may_have_replaced_it(
    source: str, output: str, asks: bool
) -> None:
    (check,) = Facts(model=None).check([source], [output])
    assert any(finding.outcome == "review" for finding in check.findings if finding.kind in VALUES) is asks
    rows = [row for table in plainly.facts(sources=[source], outputs=[output]).tables()[1:] for row in table.rows]
    assert any(cell.startswith("lost: ") for row in rows for cell in row) is asks


_MONDAYS = "Staff meet on the first Monday of each month. The year starts on 1 August 2026."


@pytest.mark.parametrize(
    ("source", "output", "follows"),
    [
        ("It is of 2 December and came on 9 December.", "It is of 2 December and came 7 days later.", True),
        # What is calculated must use what is gone, or nothing of its kind may be gone.
        ("It is of 2 December, came on 9 December and holds from 16 December.",
         "It is of 2 December and came two weeks later. It holds from 16 December.", False),
        ("Of 640 people, 480 are happy and 96 are not.", "Of 640, 480 are happy, 96 not, and 64 do not say.", True),
        (_MONDAYS, "The year starts on 1 August 2026. Staff meet on 3 August.", True),
        (_MONDAYS, "The year starts on 1 August 2026. Staff meet on 4 August.", False),
        ("Post it by 23 December.", "Post it two days before Christmas Day.", True),
        ("Clear it on the day preceding 13 April.", "Work is on 13 April. Clear it on 12 April.", True),
        ("Clear it on the day preceding 13 April.", "Work is on 13 April. Clear it on 14 April.", False),
        ("Members receive a 35 per cent discount.", "Members pay 65% of the price.", True),
        ("Members receive a 35 per cent discount.", "Members get a 65% discount.", False),
        ("Children below the age of eight travel free.", "Those who are seven or younger travel free.", True),
        ("Children below the age of eight travel free.", "Those who are nine or younger travel free.", False),
        ("Women born on or before 22 September 1959 qualify.", "Women born before 23 September 1959 do.", True),
        ("Women born on or before 22 September 1959 qualify.", "Women born before 21 September 1959 do.", False),
        ("You may appeal within 21 days of 4 May 2026.", "You may appeal by 25/05/2026.", True),
        ("You may appeal within 21 days of 4 May 2026.", "You may appeal by 27/05/2026.", False),
        ("The pool is open daily.", "The pool is open seven days a week.", True),
        ("The clinic is on 4, 5 and 9 April 2026.", "The clinic is on 04/04, 05/04 and 09/04/2026.", True),
        ("It lasts three months and may be extended by another three months.", "It can last six months.", True),
        ("It lasts three months and may be extended by another three months.", "It can last nine months.", False),
        ("Visitors are admitted Monday to Saturday.", "You can visit us every day but Sunday.", True),
        ("Visitors are admitted Monday to Saturday.", "You can visit us every day but Friday.", False),
        ("A fee is due if a payment is more than three days late.", "Are you four days late or later? Pay.", True),
        ("Branches fall in number from eight to three.", "There are five fewer branches.", True),
        ("Branches fall in number from eight to three.", "There are four fewer branches.", False),
    ],
)  # fmt: skip
def test_a_value_follows_from_those_of_the_source(source: str, output: str, follows: bool) -> None:
    pair = next(iter(match_pairs([source], [output])))
    assert any(finding.kind == "arithmetic" for finding in check_values(pair)) is follows


def test_a_day_that_its_year_does_not_have_is_read() -> None:
    assert _check("We meet on 28 February 2025.", "We meet on Friday, 29 February 2025.", "en") == []  # Its last day.
    assert _check("We meet on 27 February 2025.", "We meet on Friday, 29 February 2025.", "en")


def test_the_numbers_of_an_example_are_free() -> None:
    assert not _check("Der Preis ist 45 Euro.", "Der Preis ist 45 Euro. Wer z. B. 99 Euro hat, zahlt ihn.", "de")
    assert _check("The fee is 45 euros.", "They say the fee is 45 euros, but later 99 euros.", "en")
    source = "The fee is 40 euros. Members pay half."
    assert not _check(source, "The fee is 40 euros. For example, members pay 15 euros instead of 30 euros.", "en")
    assert _check(source, "The fee is 40 euros. Members pay 15 euros.", "en")


# Each row has one value in several notations.
SAME = {
    "en": [
        "at: 16:30, 16.30 hrs, 1630 hours, 4:30 p.m., 4.30pm, half past four in the afternoon, 4:30 in the afternoon",
        "at: 09:00, 9 a.m., 9am, nine in the morning, nine o'clock in the morning, 0900 hrs, 9.00 a.m.",
        "at: 20:45, a quarter to nine in the evening, 8.45pm, 8:45 at night",
        "at: 12:00, noon, midday, 12 noon, 12 o'clock noon",
        "at: 06:52, eight minutes to seven in the morning, 6:52 a.m.",
        "on: 1 May 2026, the 1st of May 2026, 01/05/2026, 2026-05-01, 1.5.2026, the first of May 2026",
        "on: 3 February, February 3, the 3rd of February, 3 Feb, Feb. 3",
        "within: 14 days, two weeks, a fortnight, fourteen days, 14 calendar days",
        "within: six months, half a year, 6 months, half-a-year",
        "within: 18 months, a year and a half, one-and-a-half years, 1.5 years, 1½ years, one year and six months",
        "within: 90 minutes, an hour and a half, 1.5 hours, 1 hour 30 minutes, one hour and thirty minutes",
        "pays: £1250, 1250 pounds, GBP 1250",
        "pays: 50p, 50 pence, £0.50, fifty pence",
        "pays: £2 million, £2m, two million pounds",
        "pays: 25 %, 25 per cent, a quarter, one in four, 1/4, ¼",
        "comes: every two weeks, fortnightly, every other week, once every two weeks",
        "comes: quarterly, every three months, four times a year, once a quarter",
        "comes: twice a year, every six months, half-yearly, two times a year",
        "rings: 01632 960 577, 01632 960577, +44 1632 960577, (01632) 960577, +44 (0)1632 960 577",
        "uses: 940 kWh, 940 kilowatt hours, 940 kilowatt-hours",
        "keeps: −30 °C, minus 30 °C, 30 degrees below zero",
        "takes: 2:11:46, 2 hours 11 minutes and 46 seconds, 2 hours 11 minutes 46 seconds",
        "pays: £54.30, £54 and 30p",
        "pays: 1.5 times, one and a half times, one and one-half times",
        "leaves: every 30 minutes, half-hourly",
        "lasts until: November 2027, 11/2027, Nov. 2027",
        "rings: (415) 555-0132, 415-555-0132, +1 415 555 0132",
    ],
    "de": [
        "um: 16:30 Uhr, halb fünf am Nachmittag, 16 Uhr 30, halb 5 nachmittags",
        "um: 19:45 Uhr, Viertel vor acht am Abend, dreiviertel acht am Abend, drei viertel acht abends",
        "um: 11:40 Uhr, zwanzig vor zwölf am Vormittag, 20 Minuten vor 12 Uhr mittags",
        "am: 3. Februar, 03.02., 3.2., dritten Februar, 3. Feb.",
        "am: 1. Mai 2026, 01.05.2026, 1.Mai 2026, 1.5.26",
        "um: 3.42 Uhr, 3 Uhr 42, 3 Uhr und 42 Minuten",
        "um: 21:27 Uhr, drei Minuten vor halb zehn am Abend",
        "zahlt: CHF 3.60, Fr. 3.60, 3 Franken 60",
        "kommt: alle fünf Jahre, im Abstand von fünf Jahren, in Abständen von längstens fünf Jahren",
        "dauert: drei Monate, ein Vierteljahr, ein Quartal, ein Viertel-Jahr",
        "dauert: anderthalb Jahre, 18 Monate, ein Jahr und sechs Monate, 1½ Jahre",
        "dauert: zehn Werktage, 10 Arbeitstage, zehn Werk-Tage",
        "zahlt: 1.250 Euro, 1250 Euro, 1 250 Euro, 1.250 €",
        "zahlt: 45 Euro 50, 45 Euro und 50 Cent, 45 Euro fünfzig",
        "zahlt: 25 Prozent, ein Viertel, 25 v. H., 25 vom Hundert, 1/4",
        "kommt: vierteljährlich, alle drei Monate, viermal im Jahr, 4 Mal im Jahr",
        "kommt: 14-tägig, alle zwei Wochen, jede zweite Woche, zweiwöchentlich",
        "ruft: 0221 4710-283, 0221 4710283, +49 221 4710283, 02 21 / 4 71 02 83",
    ],
}


@pytest.mark.parametrize(("language", "row"), [(language, row) for language, rows in SAME.items() for row in rows])
def test_notations_are_read_as_one_value(language: str, row: str) -> None:
    verb, _, notations = row.partition(": ")
    values = [read_values(f"The office {verb} {text}", language) for text in notations.split(", ")]
    assert [len(one) for one in values] == [1] * len(values)
    assert all(is_equal(one[0], values[0][0]) for one in values)


def test_a_compound_with_hyphens_is_read_and_its_place_is_right() -> None:
    text = "Nehmen Sie 25 Milli-Liter in 7 Werk-Tagen."
    assert [text[slice(*value.span)] for value in read_values(text, "de")] == ["25 Milli-Liter", "7 Werk-Tagen"]


def _notations(rng: random.Random, language: str) -> tuple[str, str, str]:
    """A random value in two notations, and another one."""
    kind = rng.choice(["date", "time", "amount"])
    if kind == "date":
        day = date(2020, 1, 1) + timedelta(days=rng.randrange(3000))
        other = day + timedelta(days=rng.randrange(2, 300))
        short = day.strftime("%d.%m.%Y") if language == "de" else day.isoformat()
        month, new = MONTHS[language][day.month - 1], MONTHS[language][other.month - 1]
        dot = "." if language == "de" else ""
        return short, f"{day.day}{dot} {month} {day.year}", f"{other.day}{dot} {new} {other.year}"
    if kind == "time":
        hour, minute = rng.randrange(13, 24), rng.choice([0, 5, 15, 40])
        if language == "de":
            return f"{hour}:{minute:02} Uhr", f"{hour}.{minute:02} Uhr", f"{hour - 1}.{minute:02} Uhr"
        return f"{hour}:{minute:02}", f"{hour - 12}:{minute:02} p.m.", f"{hour - 12}:{minute:02} a.m."
    cents = rng.randrange(1000, 5_000_000)
    text = f"{cents / 100:,.2f}"
    changed = f"{(cents + rng.randrange(1, 9) * 100) / 100:,.2f}"
    if language == "de":
        text, changed = (one.translate(str.maketrans(",.", ".,")) for one in (text, changed))
        return f"{text} €", f"{text} Euro", f"{changed} Euro"
    return f"€{text}", f"{text} euros", f"{changed} euros"


@pytest.mark.parametrize("language", ["en", "de"])
def test_two_notations_are_equal_and_another_value_is_changed(language: str) -> None:
    rng = random.Random(5)
    frame = "The office says {}." if language == "en" else "Das Amt nennt {}."
    for _ in range(60):
        one, two, other = _notations(rng, language)
        assert not _check(frame.format(one), frame.format(two), language), (one, two)
        assert any(finding.sure >= CERTAIN for finding in _check(frame.format(one), frame.format(other), language)), (
            other
        )


def test_a_type_blocks_if_nearly_all_of_its_findings_in_both_languages_are_right() -> None:
    table = {
        "en": {"time": {"from": 0.95, "n": 40, "right": 37}, "url": {"from": 0.85, "n": 9, "right": 9}},
        "de": {"time": {"from": 0.95, "n": 60, "right": 58}},
    }
    assert list_blocking(table) == {"time": 0.95, "url": 0.85}
    table["de"]["time"]["right"] -= 1
    assert list_blocking(table) == {"url": 0.85}


@pytest.mark.parametrize("language", ["en", "de"])
def test_intervals_of_measured_precision_contain_it(language: str) -> None:
    rows = PRECISION[language]
    assert all(0 <= row["low"] <= row["right"] / row["n"] <= row["high"] <= 1 for row in rows.values())
    assert set(rows) >= BLOCKING.keys() & set(VALUES)


@pytest.mark.parametrize(
    ("source", "output", "is_wrong"),
    [
        (
            "Your payment will rise from £96 to £128 in February.",
            "You will pay £128 instead of £96 from February.",
            False,
        ),
        (
            "Your payment will rise from £96 to £128 in February.",
            "You will pay £96 instead of £128 from February.",
            True,
        ),
        ("The number of thefts declined from 412 to 309.", "There were 309 thefts, down from 412.", False),
        ("The number of thefts declined from 412 to 309.", "There were 412 thefts, up from 309.", True),
        ("An annual charge of £48 applies to the account.", "Your account costs £48 a year.", False),
        ("An annual charge of £48 applies to the account.", "Your account costs £48 a month.", True),
        ("Der Jahresbeitrag beträgt 14,90 Euro.", "Sie zahlen 14,90 Euro im Jahr.", False),
        ("Der Jahresbeitrag beträgt 14,90 Euro.", "Sie zahlen 14,90 Euro im Monat.", True),
    ],
)
def test_a_value_that_contradicts_its_source_is_certainly_wrong(source: str, output: str, is_wrong: bool) -> None:
    pair = next(iter(match_pairs([source], [output])))
    assert any(finding.outcome == "block" for finding in check_values(pair)) is is_wrong


def test_too_many_values_are_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAINLY_LIMITS", "values=8")
    text = "It costs 3 euros, 4 euros or 5 euros."
    with pytest.raises(BadInput, match="with its source has 9 pairs of values; the limit is 8"):
        plainly.facts(sources=[text], outputs=[text])


def test_the_same_value_is_quoted_with_its_limit() -> None:
    (finding,) = _check("Bags of up to 20 kg are free.", "Bags of at least 20 kg are free.", "en")
    assert (finding.source_words, finding.output_words) == ("of up to 20 kg are free", "of at least 20 kg are free")
    assert (finding.type, finding.outcome != "pass") == ("misplaced", True)


def test_a_doubtful_finding_asks_for_review() -> None:
    (finding,) = _check("You pay £12 each month.", "You pay £12 each month. Members pay £7.", "en")
    assert (finding.effect, finding.outcome) == ("added", "review")


@pytest.mark.parametrize(
    "odd", ["0 days", "0 %", "£0", "99:99", "1/0", "31.02.2026", "one in 0", "1e400", "9" * 400, "0 mal im Jahr"]
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_odd_values_break_nothing(odd: str, language: str) -> None:
    texts = f"It takes 30 days and costs 40 euros; {odd}.", f"It takes a month, {odd}, and costs 50 euros."
    for source, output in (texts, texts[::-1]):
        (check,) = Facts(model=None, language=language).check([source], [output])
        assert check.source_words > 5


def test_a_number_that_counts_something_else_is_not_a_period() -> None:
    source = read_values("Two people may stay for 45 minutes.")
    assert not is_equal(read_values("for two hours")[0], source[0])
    assert source[0].counts == "people"


def test_degrees_are_read_before_any_word() -> None:
    assert read_values("mehr als 38,5 Grad Fieber", "de")[0].kind == "quantity"
