"""Rules in Vale's format: each kind finds what Vale finds, and files that cannot be read are refused by name."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import plainly
from plainly.checks.styles import StyleRule, find_matches, read_styles
from plainly.checks.styles.rules import TextUnit, trie_pattern
from plainly.core.errors import BadInput, UnknownName


def write_rule(folder: Path, text: str, name: str = "Rule") -> StyleRule:
    (rule,) = write_pack(folder, **{name: text}).rules
    return rule


def write_pack(folder: Path, **rules: str):  # type: ignore[no-untyped-def]
    pack = folder / "Pack"
    pack.mkdir(exist_ok=True)
    for name, text in rules.items():
        (pack / f"{name}.yml").write_text(text, encoding="utf-8")
    return read_styles(pack)


def words(rule: StyleRule, text: str, kind: str = "paragraph") -> list[str]:
    result = find_matches([TextUnit(text, kind)], [rule])
    assert result.warnings == ()
    return [text[match.start : match.stop] for match in result.matches]


@pytest.mark.parametrize(
    ("keys", "text", "expected"),
    [
        ("tokens: [very]", "Very every very.", ["very"]),
        ("tokens: [very]\nignorecase: true", "Very every very.", ["Very", "very"]),
        ("tokens: [ver]\nnonword: true", "Very every very.", ["ver", "ver"]),
        ("tokens: ['[A-Z]\\w+ing', 'to be']", "Being asked to be Kind", ["Being", "to be"]),
        ("tokens: ['(?i)very', 'end']", "VERY End end", ["VERY", "end"]),
        ("tokens: ['(?<!not )allowed']", "allowed, not allowed", ["allowed"]),
        ("raw: ['\\bto ', '(\\w+)ly go']", "to boldly go", ["to boldly go"]),
        ("raw: ['very ']\ntokens: [good, bad]", "good very good bad", ["very good"]),
        ("tokens: [good, bad]\nraw: [' idea']\nappend: true", "good idea, bad plan", ["good idea"]),
        ("tokens: ['\\w+ly']\nexceptions: [family, only]", "the family only quickly", ["quickly"]),
        ("tokens: [mea]\nexceptions: [mea culpa]", "mea culpa and mea", ["mea"]),
        ("tokens: ['^so']", "so it is, so", ["so"]),
        ("tokens: [no, 'on', 1.10]", "no, on 1.10", ["no", "on", "1.10"]),
    ],
)
def test_existence_finds_what_vale_finds(tmp_path: Path, keys: str, text: str, expected: list[str]) -> None:
    rule = write_rule(tmp_path, f"extends: existence\nmessage: x\n{keys}\n")
    assert words(rule, text) == expected


@pytest.mark.parametrize(
    ("keys", "text", "expected"),
    [
        ("ignorecase: true\nswap: {start: begin}", "Start it", [("Use 'begin' not 'Start'", ("begin",))]),
        ("swap: {start: begin}", "Start it", []),
        (
            "ignorecase: true\nswap: {javascript: JavaScript}",
            "javascript JavaScript",
            [("Use 'JavaScript' not 'javascript'", ("JavaScript",))],
        ),
        (
            "swap: {'(give|gave) rise to': lead to}",
            "gave rise to",
            [("Use 'lead to' not 'gave rise to'", ("lead to",))],
        ),
        (
            "swap: {'organiz(e|ation)': organis$1}",
            "organization",
            [("Use 'organisation' not 'organization'", ("organisation",))],
        ),
        (
            "swap: {in spite: o, in spite of: despite}",
            "in spite of",
            [("Use 'despite' not 'in spite of'", ("despite",))],
        ),
        (
            "action: {name: replace}\nswap: {commence: start|begin}",
            "commence",
            [("Use 'start' or 'begin' not 'commence'", ("start", "begin"))],
        ),
        (
            "capitalize: true\nignorecase: true\nswap: {start: begin}",
            "Start",
            [("Use 'Begin' not 'Start'", ("Begin",))],
        ),
        ("exceptions: [main event]\nswap: {main: chief}", "main event, main", [("Use 'chief' not 'main'", ("chief",))]),
        ("nonword: true\nswap: {'\\.\\.\\.': …}", "well...", [("Use '…' not '...'", ("…",))]),
        ("swap: {'py.*\\b': '[pP]y.*\\b'}", "python", []),
        ("swap: {no: none, 'off': away}", "no", [("Use 'none' not 'no'", ("none",))]),
    ],
)
def test_substitution_names_the_better_words(tmp_path: Path, keys: str, text: str, expected: list[object]) -> None:
    rule = write_rule(tmp_path, f"extends: substitution\nmessage: \"Use '%s' not '%s'\"\n{keys}\n")
    assert [(match.message, match.suggestions) for match in find_matches(text, [rule]).matches] == expected


def test_occurrence_counts_in_its_scope(tmp_path: Path) -> None:
    rule = write_rule(tmp_path, "extends: occurrence\nmessage: '%s'\nscope: sentence\ntoken: ','\nmax: 1\n")
    text = "A, b. C, d, e, f. G, h."
    (match,) = find_matches(text, [rule]).matches
    assert (text[match.start : match.stop], match.message) == ("C, d, e, f.", "3")
    least = write_rule(tmp_path, "extends: occurrence\nmessage: x\nscope: heading\ntoken: Introduction\nmin: 1\n")
    assert words(least, "First", "heading") == ["First"]
    assert words(least, "Introduction", "heading") == []
    assert words(least, "First", "paragraph") == []


@pytest.mark.parametrize(
    ("keys", "text", "expected"),
    [
        ("", "The the cat sat on the the mat.", ["the the"]),
        ("ignorecase: true", "The the cat.", ["The the"]),
        ("", "I forgot that. that is all", []),
        ("max: 1", "very very good, very very very good", ["very very"]),
        ("alpha: true", "1 1 and - - and go go", ["go go"]),
        ("exceptions: [tiny]", "tiny tiny go go", ["go go"]),
    ],
)
def test_repetition_finds_words_that_are_repeated(tmp_path: Path, keys: str, text: str, expected: list[str]) -> None:
    rule = write_rule(tmp_path, f"extends: repetition\nmessage: x\ntokens: ['[^\\s.,]+']\n{keys}\n")
    assert words(rule, text) == expected


def test_a_metric_is_that_of_the_whole_document(tmp_path: Path) -> None:
    formula = "(0.39 * (words / sentences)) + (11.8 * (syllables / words)) - 15.59"
    rule = write_rule(tmp_path, f'extends: metric\nmessage: "%s"\nformula: |\n  {formula}\ncondition: "> -10.0"\n')
    texts = ["The municipal authority discontinued the nocturnal bus service.", "No one was asked."]
    (match,) = find_matches([TextUnit(text) for text in texts], [rule]).matches
    expected = plainly.score(sources=["x"], outputs=[" ".join(texts)], metrics=["fkgl"], intervals=False)["fkgl"].value
    assert match.unit == 0
    assert float(match.message) == pytest.approx(expected, abs=0.006)
    assert not find_matches("", [rule]).matches


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [("> 2", True), (">= 3.0", True), ("< 3", False), ("== 3.0 && 1 < 2", True), ("> 5 || words == 3", True)],
)
def test_conditions_of_metrics(tmp_path: Path, condition: str, is_met: bool) -> None:
    rule = write_rule(
        tmp_path,
        f"extends: metric\nmessage: x\nscope: heading\nformula: math.sqrt(words * words)\ncondition: '{condition}'\n",
    )
    units = [TextUnit("One two three", "heading"), TextUnit("One two three four")]
    assert [match.unit for match in find_matches(units, [rule]).matches] == ([0] if is_met else [])


@pytest.mark.parametrize(
    ("scope", "kinds"),
    [
        ("text", ["paragraph", "heading.h2", "item"]),
        ("heading", ["heading.h2"]),
        ("heading.h2", ["heading.h2"]),
        ("heading.h1", []),
        ("list", ["item"]),
        ("[paragraph, list]", ["paragraph", "item"]),
        ("~heading", ["paragraph", "item"]),
        ("~heading & ~list", ["paragraph"]),
        ("sentence", ["paragraph", "heading.h2", "item"]),
        ("sentence & ~list", ["paragraph", "heading.h2"]),
        ("summary", ["paragraph", "heading.h2", "item"]),
        ("identifier", ["identifier"]),
    ],
)
def test_scopes(tmp_path: Path, scope: str, kinds: list[str]) -> None:
    value = f"'{scope}'" if "~" in scope else scope
    rule = write_rule(tmp_path, f"extends: existence\nmessage: x\nscope: {value}\ntokens: [word]\n")
    units = [TextUnit("One word", kind) for kind in ("paragraph", "heading.h2", "item", "identifier")]
    matches = find_matches(units, [rule]).matches
    assert [units[match.unit].kind for match in matches] == kinds
    assert all(units[match.unit].text[match.start : match.stop] == "word" for match in matches)


def test_a_limit_ends_the_search(tmp_path: Path) -> None:
    rule = write_rule(tmp_path, "extends: existence\nmessage: x\nlimit: 2\ntokens: [a]\n")
    assert words(rule, "a a a a") == ["a", "a"]


@pytest.mark.parametrize(
    ("action", "suggestions"),
    [
        ("{name: remove}", ("",)),
        ("{name: replace, params: [few, none]}", ("few", "none")),
        ("{name: edit, params: [trim_right, '!']}", ("hardly any",)),
        ("{name: edit, params: [regex, '(\\w+) (\\w+)!', '$2']}", ("any",)),
        ("{name: edit, params: [split, ' ', '1']}", ("any!",)),
        ("{name: edit, params: [replace, any, no]}", ("hardly no!",)),
        ("{name: edit, params: [split, ' ', '7']}", ()),
        ("{name: suggest, params: [script.tengo]}", ()),
    ],
)
def test_actions_become_suggestions(tmp_path: Path, action: str, suggestions: tuple[str, ...]) -> None:
    rule = write_rule(
        tmp_path, f"extends: existence\nmessage: x\nnonword: true\naction: {action}\ntokens: [hardly any!]\n"
    )
    (match,) = find_matches("There is hardly any!", [rule]).matches
    assert match.suggestions == suggestions


def test_kinds_and_scopes_that_are_not_read_are_named(tmp_path: Path) -> None:
    styles = write_pack(
        tmp_path,
        Spelling="extends: spelling\nmessage: x\ncustom: true\n",
        Script="extends: script\nmessage: x\nscript: y\n",
        Raw="extends: existence\nmessage: x\nscope: raw\ntokens: [a]\n",
        Good="extends: existence\nmessage: x\nscope: [raw, text]\ntokens: [a]\n",
    )
    assert [rule.name for rule in styles.rules] == ["Pack.Good"]
    assert styles.rules[0].level == "warning"
    for name in ("Pack.Spelling", "Pack.Script", "Pack.Raw"):
        assert any(name in warning for warning in styles.warnings)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("extends: existence\ntokens: [a]\n", ["message", "missing"]),
        ("extends: existance\nmessage: x\n", ["extends", "existence"]),
        ("message: x\n", ["extends"]),
        ("extends: existence\nmessage: x\ntoken: a\n", ["'token'", "'tokens'"]),
        ("extends: existence\nmessage: x\ntokens: ['(a', b]\n", ["tokens", "entry 1"]),
        ("extends: existence\nmessage: x\ntokens: {a: b}\n", ["tokens"]),
        ("extends: existence\nmessage: x\nlevel: fatal\ntokens: [a]\n", ["level", "'suggestion'"]),
        ("extends: existence\nmessage: x\nignorecase: perhaps\ntokens: [a]\n", ["ignorecase", "true or false"]),
        ("extends: existence\nmessage: x\n", ["tokens"]),
        ("extends: substitution\nmessage: x\nswap: {'a[': b}\n", ["swap", "entry 1"]),
        ("extends: substitution\nmessage: x\nswap: {a: b, a: c}\n", ["line 3", "'a'", "repeated"]),
        ("extends: occurrence\nmessage: x\ntoken: a\n", ["max"]),
        ("extends: occurrence\nmessage: x\ntoken: a\nmax: many\n", ["max", "whole number"]),
        ("extends: metric\nmessage: x\nformula: words ** 9\ncondition: '> 1'\n", ["formula", "words ** 9"]),
        ("extends: metric\nmessage: x\nformula: __import__('os')\ncondition: '> 1'\n", ["formula"]),
        ("extends: metric\nmessage: x\nformula: pre / words\ncondition: '> 1'\n", ["formula", "pre"]),
        ("extends: metric\nmessage: x\nformula: words\ncondition: 'above 1'\n", ["condition"]),
        ("extends: linguistic\nmessage: x\ncheck: magic\n", ["check", "noun_strings"]),
        ("extends: [existence\n", ["line 2"]),
        ("- a\n- b\n", ["not a rule"]),
        ("extends: existence\nmessage: x\ntokens: " + "[" * 1200 + "\n", ["Rule.yml"]),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_its_key(tmp_path: Path, text: str, names: list[str]) -> None:
    with pytest.raises(BadInput) as error:
        write_rule(tmp_path, text)
    for name in ["Rule.yml", *names]:
        assert name in str(error.value)


def test_files_that_are_not_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "Bad.yml").write_bytes(b"extends: \xff\xfe")
    with pytest.raises(BadInput, match="UTF-8"):
        read_styles(tmp_path)
    with pytest.raises(BadInput, match="no file or folder"):
        read_styles(tmp_path / "nowhere")
    with pytest.raises(UnknownName, match="en-plain"):
        read_styles("en-plane")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no rules"):
        read_styles(tmp_path / "empty")


def test_folders_beside_styles_are_not_rules(tmp_path: Path) -> None:
    for name in ("config/vocabularies/x.yml", ".github/workflow.yml", "Style/Rule.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("extends: existence\nmessage: x\ntokens: [a]\n", encoding="utf-8")
    assert [rule.name for rule in read_styles(tmp_path).rules] == ["Style.Rule"]
    assert [rule.name for rule in read_styles([tmp_path / "Style" / "Rule.yml"]).rules] == ["Style.Rule"]


def test_a_catastrophic_pattern_ends_with_a_warning(tmp_path: Path) -> None:
    pack = write_pack(
        tmp_path,
        Slow="extends: existence\nmessage: x\nnonword: true\ntokens: ['(a|aa)+$']\n",
        Quick="extends: existence\nmessage: x\ntokens: [b]\n",
    )
    began = time.thread_time()
    result = find_matches([TextUnit("a" * 60 + " b")] * 50, pack.rules, seconds=0.1)
    assert time.thread_time() - began < 5  # without a limit, longer than the universe has existed
    assert len(result.matches) == 50
    (warning,) = result.warnings
    assert "Pack.Slow" in warning


def test_a_trie_matches_exactly_its_words() -> None:
    import re

    entries = ["a", "ab", "abc", "b c", "b-c", "don't", "x" * 300]
    pattern = re.compile(trie_pattern(entries))
    for word in [*entries, "ac", "b", "don", "x" * 299, ""]:
        assert bool(pattern.fullmatch(word)) == (word in entries)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The NHS grew. The NHS is large.", ["NHS"]),
        ("The National Health Service (NHS) grew. The NHS is large.", []),
        ("The NHS (National Health Service) grew.", []),
        ("NHS stands for National Health Service.", []),
        ("Many NGOs and one NGO came.", ["NGOs"]),
        ("HENRY VIII AND HIS WIVES. Henry VIII lived.", []),
        ("She lives in the USA.", []),
        ("A PhD takes time. An MSc is shorter.", ["MSc"]),
    ],
)
def test_abbreviations_are_explained_somewhere(text: str, expected: list[str]) -> None:
    rule = next(rule for rule in read_styles("en-plain", all_rules=True).rules if rule.name == "en-plain.Abbreviations")
    assert words(rule, text) == expected


def test_every_match_lies_in_its_unit_and_order_is_by_place() -> None:
    rules = read_styles("en-plain", all_rules=True).rules
    units = [TextUnit("We commence the NHS.", "heading"), TextUnit(""), TextUnit("We commence, and commence it.")]
    matches = find_matches(units, rules).matches
    assert len(matches) > 3
    assert [(match.unit, match.start) for match in matches] == sorted((match.unit, match.start) for match in matches)
    assert all(0 <= match.start < match.stop <= len(units[match.unit].text) for match in matches)
