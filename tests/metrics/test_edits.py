"""Edits, lengths and word frequencies: definitions by hand, EASSE's numbers recomputed, invariants for any text."""

from __future__ import annotations

import doctest
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from conftest import ROOT
from plainly.core.errors import BadSpec, MissingExtra
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.metrics.edits import Compression, EasseQuality, Edits, LevenshteinEdits, Splits
from plainly.metrics.readability import Length, Lexical, third_quartile
from plainly.text.tokenise import tokens_13a

METRICS: list[Metric] = [
    LevenshteinEdits(),
    LevenshteinEdits(lowercase=True),
    Edits(),
    Compression(),
    EasseQuality(),
    Splits(),
    Length(),
    Length(variant="kauchak"),
]
EASSE = "raw.githubusercontent.com/feralvam/easse/6a4352ec299ed03fda8ee45445ca43d9c7673e89/easse/resources/data"


def _scores(metric: Metric, sources: list[str], outputs: list[str]) -> dict[str, float]:
    totals = metric.measure(EvalSet.of(sources), outputs).sum(axis=0)
    return dict(zip(metric.outputs, metric.score(totals).tolist(), strict=True))


def test_levenshtein_by_hand() -> None:
    scores = _scores(LevenshteinEdits(), ["the cat sat", "abcd"], ["the bat sat", "ab"])
    assert scores["distance"] == pytest.approx((1 + 2) / 2)
    assert scores["similarity"] == pytest.approx((10 / 11 + 2 / 4) / 2)
    # A substitution is a deletion and an insertion: 2 of 22 characters, and 2 of 6.
    assert scores["ratio"] == pytest.approx((20 / 22 + 4 / 6) / 2)
    assert scores["word_distance"] == pytest.approx(1)
    assert scores["word_similarity"] == pytest.approx((2 / 3 + 0) / 2)


def test_case_can_be_set_aside() -> None:
    assert _scores(LevenshteinEdits(), ["ABC"], ["abc"])["distance"] == 3
    assert _scores(LevenshteinEdits(lowercase=True), ["ABC"], ["abc"])["distance"] == 0
    assert _scores(Edits(), ["ABC"], ["abc"])["copies"] == 0
    assert _scores(Edits(lowercase=True), ["ABC"], ["abc"])["copies"] == 1


def test_added_deleted_and_kept_by_hand() -> None:
    # Source: the x2 big cat sat . = 6 tokens; output: the cat sat down . = 5 tokens; kept the cat sat . = 4.
    scores = _scores(Edits(), ["the the big cat sat."], ["the cat sat down."])
    assert scores["kept"] == pytest.approx(4 / 6)
    assert scores["added"] == pytest.approx(1 / 6)
    assert scores["deleted"] == pytest.approx(2 / 6)
    assert scores["added_of_output"] == pytest.approx(1 / 5)
    assert scores["deleted_of_source"] == pytest.approx(2 / 6)
    assert scores["copies"] == 0


def test_compression_by_hand() -> None:
    scores = _scores(Compression(), ["abcd efgh", "a b"], ["abcd", "a b"])
    assert scores["compression"] == pytest.approx((4 / 9 + 1) / 2)
    assert scores["corpus"] == pytest.approx(7 / 12)
    assert scores["words"] == pytest.approx((1 / 2 + 1) / 2)
    assert scores["words_corpus"] == pytest.approx(3 / 4)


def test_splits_by_both_definitions() -> None:
    sources = ["One thing and another.", "He left. She stayed.", "It costs 3 dollars."]
    outputs = ["One thing. And another.", "He left and she stayed.", "It costs approx. 3.0 dollars."]
    scores = _scores(Splits(), sources, outputs)
    assert scores["split"] == pytest.approx(1 / 3)
    assert scores["merged"] == pytest.approx(1 / 3)
    assert scores["full_stops"] == pytest.approx(2 / 3), "the 2021 definition takes a decimal for a split"
    assert scores["ratio"] == pytest.approx((2 + 1 / 2 + 1) / 3)
    assert scores["sentences_in"] == pytest.approx(4 / 3)
    assert scores["sentences_out"] == pytest.approx(4 / 3)


def test_length_by_hand() -> None:
    scores = _scores(Length(), ["", ""], ["The cat sat. It slept.", "Simple words."])
    assert scores["words_per_sentence"] == pytest.approx(7 / 3)
    assert scores["characters_per_word"] == pytest.approx((9 + 7 + 11) / 7)
    assert scores["syllables_per_word"] == pytest.approx((3 + 2 + 3) / 7)
    assert (scores["words"], scores["sentences"], scores["characters"]) == (3.5, 1.5, 13.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a , b", 3),
        ('a . " b', 3),
        ("word, word.", 2),
        ("he said .", 3),
        ("it's $5.00 now", 4),
        ("one two", 2),
        ("one  two", 3),
        ("", 0),
    ],
)
def test_words_as_in_the_2021_paper(text: str, expected: int) -> None:
    rows = Length(variant="kauchak").measure(EvalSet.of(items=1), [text])
    assert rows[0, 1] == expected


def _easse(sources: list[str], outputs: list[str]) -> list[float]:
    """EASSE's definitions, reckoned one item at a time."""
    values = []
    for source, output in zip(sources, outputs, strict=True):
        a, b = ([token for chunk in text.split() for token in tokens_13a(chunk)] for text in (source, output))
        stops = [1 + sum(t in ".?!" for t in side) - _ends_with_stop(side) for side in (a, b)]
        words = max(len(a), len(b))
        values.append(
            [
                len(" ".join(b)) / len(" ".join(a)),
                stops[1] / stops[0],
                Indel.normalized_similarity(" ".join(a), " ".join(b)),
                a == b,
                sum((Counter(b) - Counter(a)).values()) / words,
                sum((Counter(a) - Counter(b)).values()) / words,
            ]
        )
    return np.mean(values, axis=0).tolist()


def _ends_with_stop(tokens: list[str]) -> bool:
    last = tokens[:-1] if len(tokens) > 1 and tokens[-1] in "\"')]}" and tokens[-2] in ".?!" else tokens
    return last[-1] in ".?!"


@pytest.mark.mirror
@pytest.mark.parametrize("system", ["ACCESS", "Hybrid", "BTTS10"])
def test_quality_by_easse_definitions(mirror: Path, system: str) -> None:
    data = mirror / EASSE
    sources = (data / "test_sets/turkcorpus/test.truecase.detok.orig").read_text("utf-8").split("\n")[:359]
    outputs = (data / "system_outputs/turkcorpus/test" / system).read_text("utf-8").split("\n")[:359]
    assert list(_scores(EasseQuality(), sources, outputs).values()) == pytest.approx(
        _easse(sources, outputs), abs=1e-12
    )


def test_a_copy_changes_nothing() -> None:
    texts = ["The cat sat. It slept.", "Mr. Smith (72) left..."]
    assert set(_scores(EasseQuality(), texts, texts).values()) == {0.0, 1.0}
    edits = _scores(Edits(), texts, texts)
    assert (edits["kept"], edits["added"], edits["deleted"], edits["copies"]) == (1, 0, 0, 1)
    assert set(_scores(Compression(), texts, texts).values()) == {1.0}
    assert _scores(Splits(), texts, texts)["split"] == 0


def test_what_has_no_source_is_undefined_and_not_counted() -> None:
    assert np.isnan(_scores(Compression(), [""], ["word"])["compression"])
    assert _scores(Compression(), ["", "ab"], ["word", "a"])["compression"] == 0.5
    assert np.isnan(_scores(Splits(), [""], ["One. Two."])["ratio"])
    assert np.isnan(_scores(Edits(), [""], [""])["kept"])
    assert np.isnan(_scores(Length(), [""], [""])["words_per_sentence"])


ODD = ["", " ", "Word", "...", "😀 ok", "我喜欢苹果。你呢？", "هذا نص. وهذا آخر؟", "cafe\u0301 x", "a" * 10_000]
SOURCES = ["The cat sat. It slept.", "One thing and another, e.g. this.", *ODD]
OUTPUTS = ["The cat slept.", "One thing. And another.", *ODD[3:], *ODD[:3]]


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_rows_do_not_depend_on_their_neighbours(metric: Metric) -> None:
    together = metric.measure(EvalSet.of(SOURCES), OUTPUTS)
    apart = [metric.measure(EvalSet.of([s]), [o]) for s, o in zip(SOURCES, OUTPUTS, strict=True)]
    np.testing.assert_array_equal(together, np.concatenate(apart))
    backwards = metric.measure(EvalSet.of(SOURCES[::-1]), OUTPUTS[::-1])
    np.testing.assert_array_equal(together, backwards[::-1])
    assert metric.measure(EvalSet.of(items=0), []).shape == (0, together.shape[1])
    scores = metric.score(np.stack([together, together]))
    np.testing.assert_array_equal(scores[1], metric.score(together))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=5))
def test_any_text_gives_sound_proportions(pairs: list[tuple[str, str]]) -> None:
    sources, outputs = (list(side) for side in zip(*pairs, strict=True))
    scores = _scores(Edits(), sources, outputs)
    for value in scores.values():
        assert np.isnan(value) or 0 <= value <= 1
    similar = _scores(LevenshteinEdits(), sources, outputs)
    assert 0 <= similar["word_similarity"] <= 1
    assert 0 <= similar["similarity"] <= similar["ratio"] + 1e-12 <= 1 + 1e-12


class TestLexical:
    def test_common_words_score_higher_than_rare_ones(self) -> None:
        pytest.importorskip("wordfreq", reason="needs the package wordfreq: pip install 'plainly[frequency]'")
        easy = _scores(Lexical(), [""], ["The good doctor helped people."])
        hard = _scores(Lexical(), [""], ["The benevolent physician succoured the populace."])
        assert easy["zipf"] > hard["zipf"]
        assert easy["rank_quartile"] < hard["rank_quartile"]
        assert _scores(Lexical(), [""], ["xqzzvk the"])["unknown"] == 0.5

    def test_zipf_is_the_mean_over_words_and_no_words_are_undefined(self) -> None:
        wordfreq = pytest.importorskip("wordfreq")
        expected = np.mean([wordfreq.zipf_frequency(word, "en") for word in ("the", "cat", "sat")])
        assert _scores(Lexical(), ["", ""], ["The cat", "sat."])["zipf"] == pytest.approx(expected)
        assert all(np.isnan(value) for value in _scores(Lexical(), [""], ["..."]).values())
        scores = _scores(Lexical(), [""], ["of the"])
        assert np.isnan(scores["rank_quartile"]), "function words have no part in the quartile"

    def test_quartile_of_log_ranks(self) -> None:
        wordfreq = pytest.importorskip("wordfreq")
        ranks = [wordfreq.top_n_list("en", 50_000).index(word) for word in ("cat", "sat", "window")]
        expected = np.quantile(np.log(1 + np.array(ranks)), 0.75)
        assert _scores(Lexical(), [""], ["The cat sat at the window."])["rank_quartile"] == pytest.approx(expected)

    def test_unknown_language_and_missing_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("wordfreq")
        with pytest.raises(BadSpec, match="language='xx'"):
            _scores(Lexical(language="xx"), [""], ["a"])
        monkeypatch.setitem(__import__("sys").modules, "wordfreq", None)
        with pytest.raises(MissingExtra, match=r"plainly\[frequency\]"):
            _scores(Lexical(language="sv"), [""], ["a"])  # a list that was not read before


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_third_quartile_is_numpys(values: list[float]) -> None:
    assert third_quartile(values) == pytest.approx(np.quantile(values, 0.75))


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(BadSpec, match="punkt"):
        Splits(sentences="punk")  # type: ignore[arg-type]
    for metric in (Splits, Length):
        with pytest.raises(BadSpec, match="xx"):
            metric(language="xx")
    with pytest.raises(BadSpec, match="punkt"):
        EasseQuality(sentences="stops")  # type: ignore[arg-type]
    assert repr(EasseQuality(lowercase=True)) == "easse-quality(lowercase=true)"


def test_examples_in_the_documentation() -> None:
    page = ROOT / "docs" / "metrics-edits.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted
    assert not outcome.failed
