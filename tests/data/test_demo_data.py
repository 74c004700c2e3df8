"""The demo set is what a new user sees first: it must hold what its README says, item by item."""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
from collections import Counter
from typing import Any

import pytest

from conftest import ROOT

DEMO = ROOT / "src" / "plainly" / "data" / "demo" / "demo.jsonl"
SYSTEMS = ("copy", "truncate", "delete", "lexical", "split", "editor", "noisy")

Item = dict[str, Any]


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]


def texts(item: Item) -> list[str]:
    return [item["source"], *item["references"], *item["outputs"].values()]


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(token in rest for token in part)


def sentence_count(text: str) -> int:
    """Count full stops, question and exclamation marks before a capital or at the end; titles do not count."""
    return len(re.findall(r'(?<!\bDr)(?<!\bMs)(?<!\bSt)(?<!\bU\.S)(?<!\bLtd)[.?!]"?(?= "?[A-Z]|$)', text))


def test_layout_of_every_line(items: list[Item]) -> None:
    for item in items:
        assert list(item) == ["id", "group", "source", "references", "outputs"], item["id"]
        assert tuple(item["outputs"]) == SYSTEMS, item["id"]
        assert len(item["references"]) == 4, item["id"]


def test_twelve_documents_of_six_sentences_in_order(items: list[Item]) -> None:
    ids = [item["id"] for item in items]
    groups = list(dict.fromkeys(item["group"] for item in items))
    assert len(groups) == 12
    assert ids == [f"{group}-{number}" for group in groups for number in range(1, 7)]
    assert [item["group"] for item in items] == [group for group in groups for _ in range(6)]


def test_sources_are_unique_and_vary_in_length(items: list[Item]) -> None:
    assert len({item["source"] for item in items}) == len(items)
    lengths = [len(item["source"].split()) for item in items]
    assert min(lengths) == 8
    assert max(lengths) == 55
    assert sum(length <= 20 for length in lengths) >= 18
    assert sum(length >= 30 for length in lengths) >= 18


def test_text_is_clean(items: list[Item]) -> None:
    for item in items:
        for text in texts(item):
            assert text, item["id"]
            assert text == " ".join(text.split()), f"{item['id']}: stray white space in {text!r}"
            assert text == unicodedata.normalize("NFC", text), item["id"]
            assert not [c for c in text if unicodedata.category(c).startswith("C")], f"{item['id']}: {text!r}"


def test_everything_but_truncation_ends_like_a_sentence(items: list[Item]) -> None:
    for item in items:
        for text in [*item["references"], *(item["outputs"][name] for name in SYSTEMS if name != "truncate")]:
            assert re.search(r'[.?!]"?$', text), f"{item['id']}: {text!r}"
            assert text[0].isupper() or text[0] == '"', f"{item['id']}: {text!r}"


def test_the_hard_cases_are_there(items: list[Item]) -> None:
    sources = " ".join(item["source"] for item in items)
    for piece in ("Dr.", "e.g.", "U.S.", "a.m.", "St.", "Łódź", "Zoë", "£4,860", "€25", "(", '"', "7.5"):
        assert piece in sources, piece


def test_four_references_differ(items: list[Item]) -> None:
    for item in items:
        assert len(set(item["references"])) == 4, item["id"]
        assert item["references"].count(item["source"]) <= 1, item["id"]


def test_reference_hands_keep_their_styles(items: list[Item]) -> None:
    minimal, splitter, shortener, rewriter = zip(*(item["references"] for item in items), strict=True)
    sources = [item["source"] for item in items]

    def words(column: tuple[str, ...] | list[str]) -> int:
        return sum(len(text.split()) for text in column)

    def mean_sentences(column: tuple[str, ...]) -> float:
        return sum(map(sentence_count, column)) / len(column)

    assert words(shortener) < 0.6 * words(sources) < words(minimal) < words(rewriter)
    assert mean_sentences(minimal) < 1.1
    assert mean_sentences(shortener) < 1.1
    assert mean_sentences(splitter) > 2


def test_copy_is_the_source(items: list[Item]) -> None:
    for item in items:
        assert item["outputs"]["copy"] == item["source"], item["id"]


def test_truncate_keeps_the_first_four_fifths(items: list[Item]) -> None:
    for item in items:
        words = item["source"].split()
        assert item["outputs"]["truncate"] == " ".join(words[: math.ceil(len(words) * 4 / 5)]), item["id"]


def test_delete_only_deletes(items: list[Item]) -> None:
    for item in items:
        assert is_subsequence(tokens(item["outputs"]["delete"]), tokens(item["source"])), item["id"]
    shorter = [item for item in items if len(item["outputs"]["delete"]) < len(item["source"])]
    assert len(shorter) >= 60


def test_lexical_never_splits_and_keeps_the_length(items: list[Item]) -> None:
    for item in items:
        output = item["outputs"]["lexical"]
        assert sentence_count(output) == sentence_count(item["source"]), item["id"]
        assert len(output.split()) == pytest.approx(len(item["source"].split()), rel=0.2), item["id"]


def test_split_splits_and_keeps_the_words(items: list[Item]) -> None:
    divided = 0
    for item in items:
        source = Counter(re.findall(r"\w+", item["source"].lower()))
        output = Counter(re.findall(r"\w+", item["outputs"]["split"].lower()))
        assert (source & output).total() >= 0.8 * source.total(), item["id"]
        divided += sentence_count(item["outputs"]["split"]) > sentence_count(item["source"])
    assert divided >= 55


def test_editor_is_not_a_reference(items: list[Item]) -> None:
    matches = [item for item in items if item["outputs"]["editor"] in item["references"]]
    assert len(matches) <= 10
    assert all(item["outputs"]["editor"] == item["source"] for item in matches)


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(SYSTEMS, 2)))
def test_every_two_systems_differ_on_a_third_of_the_items(items: list[Item], one: str, other: str) -> None:
    differing = sum(item["outputs"][one] != item["outputs"][other] for item in items)
    assert differing >= len(items) / 3
