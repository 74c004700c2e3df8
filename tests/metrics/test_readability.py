"""Readability: EASSE's numbers, formulas worked by hand, and what must hold for any text."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conftest import ROOT
from plainly.core.errors import BadSpec, DataUnavailable
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.metrics.readability import Ari, ColemanLiau, Fkgl, Flesch, GunningFog, Smog
from plainly.text import arrays, counts, sentences, syllables, words

# EASSE at 6a4352e, corpus_fkgl (13a, lower case, Punkt) on the public outputs for TurkCorpus test, 359 items.
EASSE = {
    "ACCESS": 7.288572145725762,
    "BTRLTS": 7.592855741022564,
    "BTRLTS10": 8.393764645773079,
    "BTTS": 7.512379531580727,
    "BTTS10": 7.8260628838650454,
    "BTTS100": 8.85887291255084,
    "DMASS-DCSS": 7.729808123136113,
    "Dress": 7.52975489282386,
    "Dress-Ls": 7.6637601230961145,
    "EditNTS": 8.377243071869213,
    "Hybrid": 5.177198681827896,
    "NTS-SARI": 8.18354577028487,
    "PBMT-R": 8.846346653346654,
    "RM+EX": 7.429642700746658,
    "RM+EX+LS": 7.245046725514545,
    "RM+EX+LS+RO": 7.329668954331343,
    "RM+EX+RO": 7.526218342086306,
    "SBMT-SARI": 7.945579215651474,
    "UNMT": 8.972732934425473,
    "UNTS": 7.60049620402355,
    "UNTS_10K": 8.02036547962916,
    "Identity": 10.016488304288945,
}
METRICS: list[Metric] = [Fkgl(), Fkgl(variant="easse"), Flesch(), Ari(), ColemanLiau(), Smog(), GunningFog()]
ODD = [
    "",
    " ",
    "Word",
    "...",
    "😀",
    "我喜欢苹果。你呢？",
    "هذا نص. وهذا آخر؟",
    "cafe\u0301 x",
    "a" * 10_000,
    "word " * 2_000,
]
TEXTS = ["The cat sat. It was happy.", "Simplification, in 1918, made everything considerably easier.", "No stop", *ODD]


def _score(metric: Metric, texts: list[str]) -> dict[str, float]:
    totals = metric.measure(EvalSet.of(items=len(texts)), texts).sum(axis=0)
    return dict(zip(metric.outputs, metric.score(totals).tolist(), strict=True))


def _lines(mirror: Path, system: str) -> list[str]:
    data = (
        mirror
        / "raw.githubusercontent.com/feralvam/easse/6a4352ec299ed03fda8ee45445ca43d9c7673e89/easse/resources/data"
    )
    if system == "Identity":
        path = data / "test_sets/turkcorpus/test.truecase.detok.orig"
    else:
        path = data / "system_outputs/turkcorpus/test" / system
    return path.read_text(encoding="utf-8").split("\n")[:359]


@pytest.mark.mirror
@pytest.mark.parametrize("system", EASSE)
def test_easse_variant_equals_easse_without_punkt(mirror: Path, system: str) -> None:
    assert _score(Fkgl(variant="easse"), _lines(mirror, system))["fkgl"] == pytest.approx(EASSE[system], abs=1e-9)


@pytest.fixture
def fresh_punkt() -> Iterator[None]:
    counts.punkt.cache_clear()
    yield
    counts.punkt.cache_clear()


@pytest.mark.mirror
@pytest.mark.usefixtures("fresh_punkt")
@pytest.mark.parametrize("system", EASSE)
def test_easse_variant_equals_easse_with_punkt(mirror: Path, system: str) -> None:
    try:
        counts.punkt()
    except DataUnavailable as absent:
        pytest.skip(f"needs NLTK's English Punkt model: {absent}")
    metric = Fkgl(variant="easse", sentences="punkt")
    assert _score(metric, _lines(mirror, system))["fkgl"] == pytest.approx(EASSE[system], abs=1e-9)


@pytest.mark.usefixtures("fresh_punkt")
def test_punkt_is_found_where_nltk_looks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = pytest.importorskip("nltk")
    from nltk.tokenize import punkt

    model = punkt.PunktParameters()
    model.abbrev_types.update({"mr", "approx"})
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    punkt.save_punkt_params(model, dir=str(folder))
    text = "Mr. Hill paid approx. five pounds. He left."
    assert counts.punkt_counts([text, "", "One. Two. Three."]).tolist() == [2, 0, 3]
    assert _score(Fkgl(sentences="punkt"), [text])["words_per_sentence"] == 4
    # Punkt sees 13a text under variant=easse, where "mr ." is two tokens and so two sentences.
    assert _score(Fkgl(variant="easse", sentences="punkt"), [text])["sentences"] == 4


@pytest.mark.usefixtures("fresh_punkt")
def test_without_the_punkt_model_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(DataUnavailable, match="punkt_tab"):
        _score(Fkgl(sentences="punkt"), ["One. Two."])


def test_fkgl_by_hand() -> None:
    # 7 words, 2 sentences, 1+1+1 + 1+1+1+2 = 8 syllables.
    scores = _score(Fkgl(), ["The cat sat. It was so happy."])
    assert (scores["words"], scores["sentences"], scores["syllables"]) == (7, 2, 8)
    assert scores["fkgl"] == pytest.approx(0.39 * 7 / 2 + 11.8 * 8 / 7 - 15.59)
    assert scores["fkgl"] < 0, "FKGL is not cut off at 0"


def test_the_other_formulas_by_hand() -> None:
    # 13 words, 2 sentences, 3 words of three syllables or more, one of them capitalised.
    text = ["Considerable difficulties arose. The cat sat on the mat in the open hospital."]
    syllables = 5 + 4 + 2 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 2 + 3
    letters = 12 + 12 + 5 + 3 + 3 + 3 + 2 + 3 + 3 + 2 + 3 + 4 + 8
    assert _score(Flesch(), text)["flesch"] == pytest.approx(206.835 - 1.015 * 13 / 2 - 84.6 * syllables / 13)
    assert _score(Ari(), text)["ari"] == pytest.approx(4.71 * letters / 13 + 0.5 * 13 / 2 - 21.43)
    assert _score(ColemanLiau(), text)["coleman_liau"] == pytest.approx(
        0.0588 * 100 * letters / 13 - 0.296 * 100 * 2 / 13 - 15.8
    )
    assert _score(Smog(), text)["smog"] == pytest.approx(1.0430 * (30 * 3 / 2) ** 0.5 + 3.1291)
    assert _score(GunningFog(), text)["gunning_fog"] == pytest.approx(0.4 * (13 / 2 + 100 * 2 / 13))


def test_fog_leaves_out_compounds_names_and_endings() -> None:
    text = ["the bookkeeper-owner Washington trespasses, collided, visiting, simplified, mother-in-law"]
    # bookkeeper-owner has a long part, and simplified is long without its ending; the others are none.
    assert _score(GunningFog(), text)["complex_words_percent"] == pytest.approx(100 * 2 / 8)


def test_easse_counts_punctuation_and_lower_cases() -> None:
    scores = _score(Fkgl(variant="easse"), ['He said, "The END." Then left.'])
    assert (scores["words"], scores["sentences"]) == (11, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('It is over . "', 1),
        ('It is over . " "', 2),
        ('It is over."', 1),
        ("Mr. Smith. e.g. this", 5),
        ("What?! No", 3),
        ("<skipped>", 0),
        ("a . <skipped>", 1),
        ("well-\nknown. yes", 2),
        ("3.5 and .5", 2),
    ],
)
def test_sentences_at_lone_stops(text: str, expected: int) -> None:
    assert _score(Fkgl(variant="easse"), [text])["sentences"] == expected


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_text_without_words_is_undefined(metric: Metric) -> None:
    if metric == Fkgl(variant="easse"):
        assert np.isnan(_score(metric, ["", "  "])["fkgl"])
    else:
        assert np.isnan(_score(metric, ["", "  ", "...", "😀"])[metric.outputs[0]])


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_rows_do_not_depend_on_their_neighbours(metric: Metric) -> None:
    together = metric.measure(EvalSet.of(items=len(TEXTS)), TEXTS)
    apart = np.concatenate([metric.measure(EvalSet.of(items=1), [text]) for text in TEXTS])
    backwards = metric.measure(EvalSet.of(items=len(TEXTS)), TEXTS[::-1])[::-1]
    np.testing.assert_array_equal(together, apart)
    np.testing.assert_array_equal(together, backwards)
    assert (together >= 0).all()
    assert metric.measure(EvalSet.of(items=0), []).shape == (0, together.shape[1])


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_scores_are_vectorised(metric: Metric) -> None:
    rows = metric.measure(EvalSet.of(items=len(TEXTS)), TEXTS)
    scores = metric.score(np.stack([rows, rows * 2]))
    assert scores.shape == (2, len(TEXTS), len(metric.outputs))
    np.testing.assert_array_equal(scores[0], metric.score(rows))
    np.testing.assert_allclose(scores[1][:, 0], scores[0][:, 0], equal_nan=True)


def test_a_memo_that_is_full_starts_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MEMO_LIMIT", 100)
    monkeypatch.setattr(arrays, "BLOCK", 50)
    texts = [f"word{i} other{i}. Next" for i in range(500)]
    scores = _score(Fkgl(), texts)
    assert (scores["words"], scores["sentences"]) == (1500, 1000)


@pytest.mark.parametrize(
    "parameters",
    [
        {"variant": "eases"},
        {"sentences": "stops"},
        {"syllables": "guess"},
        {"variant": "easse", "sentences": "stops"},
        {"variant": "easse", "syllables": "cmudict"},
    ],
)
def test_unknown_settings_are_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(BadSpec, match=[*parameters.values()][-1]):
        Fkgl(**parameters)  # type: ignore[arg-type]


def test_specs() -> None:
    assert repr(Fkgl()) == "fkgl"
    assert repr(Fkgl(variant="easse", sentences="punkt")) == "fkgl(variant=easse,sentences=punkt)"


@pytest.mark.parametrize("module", [sentences, syllables, words])
def test_examples_in_the_code(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed


def test_examples_in_the_documentation() -> None:
    page = ROOT / "docs" / "metrics-readability.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted
    assert not outcome.failed
