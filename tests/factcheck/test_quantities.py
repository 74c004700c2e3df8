"""Values and kinds of numbers in every notation."""

from __future__ import annotations

import pytest

from plainly.factcheck.quantities import quantities


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234.5 metres", [1234.5]),
        ("two hundred and fifty-five men", [255]),
        ("nineteen eighty-five", [1985]),
        ("a thousand and half a million", [1000, 500_000]),
        ("$5 million and 3.5bn", [5e6, 3.5e9]),
        ("25% or 25 per cent", [25, 25]),
        ("the twenty-first of the 3rd", [21, 3]),
        ("1954–73", [1954, 1973]),
        ("two thirds and ¾", [2 / 3, 0.75]),
        ("65mph, 30 square miles", [65, 30]),
    ],
)
def test_values(text: str, values: list[float]) -> None:
    assert [quantity.value for quantity in quantities(text)] == pytest.approx(values, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("in 1985, the 1980s and the 20th century", ["year", "decade", "century"]),
        ("the 16th and 17th centuries", ["century", "century"]),
        ("5 March 1985 or March 5th", ["day", "year", "day"]),
        ("06/11/1981", ["either", "year"]),
        ("in May it may rain", ["month"]),
        ("an A320 at 10:30", ["code", "clock"]),
        ("on Tuesday", ["weekday"]),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [quantity.kind for quantity in quantities(text)] == kinds


def test_places_and_units() -> None:
    text = "It is 2.4 km long, or 1.5 miles."
    first, second = quantities(text)
    assert [text[slice(*quantity.span)] for quantity in (first, second)] == ["2.4 km", "1.5 miles"]
    assert first.amount == pytest.approx(second.amount, rel=0.01)


def test_nothing_is_read_where_nothing_is() -> None:
    for text in ("", "no number here", "...", "一二三", "x" * 10_000):
        assert quantities(text) == ()
