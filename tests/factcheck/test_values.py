"""Values in every notation of both languages, and their comparison."""

from __future__ import annotations

import random
import tomllib
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from plainly.factcheck.comparing import check_values
from plainly.factcheck.pairs import Facts
from plainly.factcheck.reading import BLOCKING, CERTAIN, PRECISE, PRECISION, VALUES, FactFinding, match_pairs
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
        ("The fee is 45 euros.", "The fee is 45 euros. You pay 10 euros more in summer.", False),
        ("The tickets cost 3, 5 and 8 euros.", "Some are cheap. Families pay 12 euros.", False),
    ],
)
def test_a_finding_is_certain_only_where_one_value_replaces_another(source: str, output: str, is_certain: bool) -> None:
    (match,) = match_pairs([source], [output])
    findings = [finding for finding in check_values(match) if finding.harms]
    assert findings
    assert any(finding.sure >= CERTAIN for finding in findings) is is_certain


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
    frame = "The office says: {}." if language == "en" else "Das Amt sagt: {}."
    for _ in range(60):
        one, two, other = _notations(rng, language)
        assert not _check(frame.format(one), frame.format(two), language), (one, two)
        assert any(finding.sure >= CERTAIN for finding in _check(frame.format(one), frame.format(other), language)), (
            other
        )


def test_what_blocks_follows_from_measured_precision() -> None:
    assert {kind for kind, row in PRECISION.items() if row["right"] / row["n"] >= PRECISE} == BLOCKING
    assert all(0 <= row["low"] <= row["right"] / row["n"] <= row["high"] <= 1 for row in PRECISION.values())


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
