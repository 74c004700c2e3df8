"""Our packs of rules: each rule finds what it says, has a measured rate, and is on or off as the rate decides."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from conftest import ROOT
from plainly.checks.styles import PACKS, StyleRule, find_matches, read_styles
from plainly.checks.styles.rates import FILE, Rate, load_rates

FOLDERS = FILE.parent / "packs"
RULES = {
    f"{file.parent.name}.{file.stem}": rule
    for file in sorted(FOLDERS.glob("*/*.yml"))
    for rule in read_styles([file]).rules
}


def load_bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_rules", ROOT / "bench" / "rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLES = {
    "en-plain.Words": ("They commenced the work.", ["commenced"]),
    "en-plain.Wordiness": ("We write at this point in time prior to it.", ["at this point in time", "prior to"]),
    "en-plain.HiddenVerbs": ("They conducted an investigation into it.", ["conducted an investigation into"]),
    "en-plain.DoubleNegation": ("It is not uncommon, but not unique.", ["not uncommon"]),
    "en-plain.Passive": ("The letter was sent. She was tired. It is not yet known.", ["was sent"]),
    "en-plain.NounStrings": ("The patient safety procedure failed.", ["patient safety procedure"]),
    "en-plain.Abbreviations": ("Ask the DWP.", ["DWP"]),
    "en-plain.LatinAbbreviations": ("Fruit, e.g. apples.", ["e.g."]),
    "en-plain.NumberWords": ("Two and twenty people.", ["twenty"]),
    "en-plain.Shall": ("You shall pay.", ["shall"]),
    "en-plain.Semicolons": ("One; two.", [";"]),
    "en-plain.Repetition": ("It is the the end. No, no!", ["the the"]),
    "en-plain.LongBrackets": ("It (a b c d e f g) works (well).", ["(a b c d e f g)"]),
    "en-easy.Words": ("The majority approved it.", ["majority", "approved"]),
    "en-easy.Idioms": ("It is the tip of the iceberg.", ["tip of the iceberg"]),
    "en-easy.LongWords": ("An international meeting.", ["international"]),
    "en-easy.Percentages": ("About 40 % of us, or 3 per cent.", ["40 %", "per cent"]),
    "en-easy.RomanNumerals": ("Henry VIII and I.", ["VIII"]),
    "en-easy.PerfectTense": ("She has been there. She was there.", ["has been"]),
    "en-easy.Participles": ("He left, taking the bag.", [", taking"]),
    "en-easy.RelativeClauses": ("The man, who came, left.", [", who"]),
    "de-plain.Words": ("Bitte zahlen Sie umgehend bezüglich der Rechnung.", ["umgehend", "bezüglich"]),
    "de-plain.HiddenVerbs": ("Das kommt zur Anwendung.", ["kommt zur Anwendung"]),
    "de-plain.Compounds": ("Die Donaudampfschifffahrt und das Haus.", ["Donaudampfschifffahrt"]),
    "de-plain.GenitiveChains": ("Die Farbe des Hauses des Lehrers ist rot.", ["des Hauses des Lehrers"]),
    "de-plain.Genitive": ("Die Farbe des Hauses ist rot.", ["des Hauses"]),
    "de-plain.Subjunctive": ("Er könnte kommen. Er kann kommen.", ["könnte"]),
    "de-plain.Passive": ("Der Brief wird geschickt. Er wird kommen.", ["wird geschickt"]),
    "de-plain.DoubleNegation": ("Das ist nicht unmöglich und nicht unser Ziel.", ["nicht unmöglich"]),
    "de-plain.ShortForms": ("Obst, z. B. Äpfel, usw.", ["z. B.", "usw."]),
    "de-plain.Abbreviations": ("Fragen Sie das BAMF.", ["BAMF"]),
    "de-plain.NumberWords": ("Zwei und zwanzig Leute.", ["zwanzig"]),
    "de-plain.Participles": ("Der von der Stadt geschickte Brief kam.", ["Der von der Stadt geschickte Brief"]),
    "de-easy.NestedClauses": ("Ich weiß, dass er kommt.", [", dass"]),
    "de-easy.Preterite": ("Er ging nach Hause.", ["ging"]),
    "de-easy.Man": ("Man sagt das.", ["Man"]),
    "de-easy.ForeignWords": ("Die Implementierung von Informationen.", ["Implementierung"]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_finds_its_examples_and_nothing_else(name: str) -> None:
    text, expected = EXAMPLES[name]
    result = find_matches(text, [RULES[name]], language=name[:2])
    assert [text[match.start : match.stop] for match in result.matches] == expected


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("en-plain.SentenceLength", 25), ("en-easy.SentenceLength", 15),
        ("de-plain.SentenceLength", 20), ("de-easy.SentenceLength", 12),
        ("en-plain.ParagraphLength", 150), ("de-easy.ParagraphLength", 60),
    ],
)  # fmt: skip
def test_lengths_are_those_that_the_message_names(name: str, limit: int) -> None:
    assert str(limit) in RULES[name].message
    assert not find_matches("Wort " * (limit - 1) + "Wort.", [RULES[name]], language=name[:2]).matches
    (match,) = find_matches("Wort " * limit + "Wort.", [RULES[name]], language=name[:2]).matches
    assert str(limit + 1) in match.message


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_every_rule_says_what_it_finds_and_was_measured(rule: StyleRule) -> None:
    assert rule.description.endswith(".")
    assert load_rates()[rule.name].easy_words > 100_000


def test_every_rate_is_that_of_a_rule() -> None:
    assert {name for name in load_rates() if not name.startswith("words.")} == set(RULES)


@pytest.mark.parametrize("pack", PACKS)
def test_the_rate_decides_whether_a_rule_is_on(pack: str) -> None:
    names = {rule.name for rule in read_styles(pack).rules}
    own = {name for name in RULES if name.startswith(f"{pack}.")}
    assert names & own == {name for name in own if load_rates()[name].is_default}
    assert {rule.name for rule in read_styles(pack, all_rules=True).rules} >= own
    assert own - names, "no rule is off, so that this test shows nothing"


def test_an_easy_pack_has_the_rules_of_the_plain_one_in_its_stead() -> None:
    names = {rule.name for rule in read_styles("de-easy").rules}
    assert "de-easy.SentenceLength" in names
    assert "de-plain.SentenceLength" not in names
    assert "de-plain.Words" in names
    english = {rule.name for rule in read_styles("en-easy").rules}
    assert "en-plain.SentenceLength" in english  # the stricter one fires on easy texts as often


@pytest.mark.parametrize(
    ("easy", "ordinary", "low", "high", "verdict", "is_default"),
    [
        (10, 90, 3.0, 9.0, "more often", True),
        (40, 60, 1.05, 2.0, "as often", False),
        (40, 40, 0.7, 1.3, "as often", False),
        (90, 10, 0.1, 0.3, "as often", False),
        (1, 3, 0.5, 9.0, "rare", True),
        (9, 9, 0.5, 2.0, "rare", False),
    ],
)
def test_verdicts(easy: int, ordinary: int, low: float, high: float, verdict: str, is_default: bool) -> None:
    rate = Rate(easy, ordinary, 100_000, 100_000, ordinary / easy, low, high)
    assert (rate.verdict, rate.is_default) == (verdict, is_default)


def test_the_documentation_has_the_rates() -> None:
    """What docs/rules.md states is what decides."""
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    for name, rate in load_rates().items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        easy, ordinary = rate.per_thousand
        assert cells[2:5] == [
            f"{easy:.2f} ({rate.easy})",
            f"{ordinary:.2f} ({rate.ordinary})",
            f"{rate.ratio:.2f} [{rate.low:.2f}, {rate.high:.2f}]",
        ]
        if not name.startswith("words."):
            assert cells[5].startswith("yes") == rate.is_default


@pytest.mark.mirror
@pytest.mark.long
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_rates_are_those_of_the_public_texts(language: str) -> None:
    measured = load_bench().measure(language)
    assert measured == {name: load_rates()[name] for name in measured}


@pytest.mark.mirror
def test_public_lists_are_rules() -> None:
    for name, least in (("words/plainlanguage", 200), ("words/retext-simplify", 300)):
        (rule,) = read_styles(name).rules
        (match,) = find_matches("It is adjacent to the park.", [rule]).matches[-1:]
        assert match.suggestions == ("next to",)
        from plainly import data

        assert len(data.table(name)) > least


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    "piece",
    [
        "a", "A", " ", "a ", "A ", "(", "(a ", "a.", "a, ", "ABC ", "is not ", "make a ", "der a b ", "des Hauses ",
        "ge", "wird geht ", "\u200b", "\0", "👍🏽 ", "a\r\n", "İ", "مرحبا. ",
    ],
)  # fmt: skip
def test_no_rule_of_ours_is_slow_on_odd_text(language: str, piece: str) -> None:
    text = (piece * 3000)[:3000]
    result = find_matches(text, read_styles(f"{language}-easy", all_rules=True).rules, language=language)
    assert result.warnings == ()
    assert all(0 <= match.start < match.stop <= len(text) for match in result.matches)
