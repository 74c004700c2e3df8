"""Facts as a function, a command and a metric: attacks are found, losses are weighted, positions are right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import plainly
from conftest import english_pipeline
from plainly.auditing.attacks import ATTACKS, SystemOutputs
from plainly.cli import main
from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Reason
from plainly.factcheck.pairs import Facts
from plainly.factcheck.reading import CERTAIN
from plainly.factcheck.reasons import add_facts, describe_findings

SOURCES = [
    "Maria Keller moved to Lisbon in 1987 and was offered 250 euros a month.",
    "The old harbour was closed because the water had risen by 3 metres.",
    "The council of Oslo did not accept the plan, and the mayor resigned in May.",
    "About 40 percent of the visitors come from Denmark. They stay for two weeks.",
]
OUTPUTS = [
    "Maria Keller moved to Lisbon in 1987. She was offered 250 euros a month.",
    "The old harbour was closed. The water had risen by 3 metres.",
    "The council of Oslo did not accept the plan. The mayor resigned in May.",
    "About 40% of the visitors come from Denmark. They stay for two weeks.",
]


def _rows(outputs: list[str]) -> np.ndarray:
    metric = plainly.metric("facts")
    return metric.score(metric.measure(EvalSet.of(SOURCES), outputs))


def test_faithful_outputs_are_faithful() -> None:
    result = plainly.facts(sources=SOURCES, outputs=OUTPUTS)
    assert not [finding for finding in result.findings if finding.effect != "lost"]
    assert result.numbers("")["faithful"] == 100


@pytest.mark.parametrize("attack", ["negate", "swap-numbers", "swap-names", "hallucinate"])
def test_attacks_are_seen(attack: str) -> None:
    system = SystemOutputs(EvalSet.of(SOURCES), tuple(OUTPUTS))
    attacked = ATTACKS[attack].apply(system, np.random.default_rng(1))
    changed = np.array([a != b for a, b in zip(attacked, OUTPUTS, strict=True)])
    assert changed.any()
    before, after = _rows(OUTPUTS), _rows(attacked)
    assert (after[changed, 0] == 0).all(), "not faithful any more"
    assert (after[changed, 1] > before[changed, 1]).all(), "the risk has grown"
    np.testing.assert_allclose(before[~changed], after[~changed], atol=Facts.batch_tolerance)


def test_what_a_dropped_sentence_said_is_lost() -> None:
    system = SystemOutputs(EvalSet.of(SOURCES), tuple(OUTPUTS))
    attacked = ATTACKS["drop-split"].apply(system, np.random.default_rng(1))
    before, after = _rows(OUTPUTS), _rows(attacked)
    assert (after[:, 5] > before[:, 5] + 15).all()


def test_segments_and_intervals_are_those_of_every_metric() -> None:
    wrong = [OUTPUTS[0].replace("1987", "1978"), *OUTPUTS[1:]]
    scores = plainly.score(sources=SOURCES, outputs=wrong, metrics=["facts"])["facts"]
    assert float(scores) == 75
    assert scores.segments["risk"][0] >= 0.5
    assert (scores.segments["risk"][1:] < 0.3).all()
    assert scores.intervals["faithful"].low <= 75 <= scores.intervals["faithful"].high
    assert 100 * CERTAIN / 4 <= scores.parts["changed"] <= 100 / 4


def test_an_output_that_says_nothing_is_not_faithful() -> None:
    scores = plainly.score(sources=SOURCES[:1], outputs=[" "], metrics=["facts"], intervals=False)["facts"]
    assert float(scores) == 0
    assert scores.parts["lost"] == 100


def test_new_words_that_no_finding_covers_raise_the_risk_but_are_not_counted_as_added() -> None:
    """``added`` counts findings; a pair in which nothing was found once had 46.5 of them for 100 outputs."""
    texts = {"sources": ["He was obliged to depart."], "outputs": ["The man had to go away then."]}
    result = plainly.facts(**texts, model=None)
    assert not result.findings
    numbers = result.numbers("")
    assert (numbers["faithful"], numbers["changed"], numbers["flipped"], numbers["added"]) == (100, 0, 0, 0)
    assert numbers["risk"] > 0.3


def test_what_is_ignored_is_no_finding() -> None:
    texts = {"sources": ["The club won."], "outputs": ["The club from Turin won 12 cups."]}
    assert {finding.output_words for finding in plainly.facts(**texts).findings} == {"Turin", "12"}
    assert {finding.output_words for finding in plainly.facts(**texts, ignore=["turin"]).findings} == {"12"}
    assert not plainly.facts(**texts, ignore=r"Turin|\d+").findings
    assert plainly.metric("facts(ignore=Turin|12)").measure(EvalSet.of(texts["sources"]), texts["outputs"])[0, 0] == 1
    with pytest.raises(BadSpec, match="ignore="):
        plainly.metric("facts(ignore=[a)")


def test_another_language_gets_what_is_free_of_language() -> None:
    dutch = "De burgemeester van Utrecht opende in 1985 de nieuwe brug over de rivier, niet zonder trots."
    result = plainly.facts(sources=[dutch], outputs=["De burgemeester van Utrecht opende in 1958 de nieuwe brug."])
    assert [(finding.effect, finding.kind) for finding in result.findings] == [("changed", "date")]
    assert [note.code for note in result.notes() if note.kind == "warning"] == ["facts-not-english"]


def test_german_statements_are_compared() -> None:
    source = "Das Betreten der Eisfläche ist untersagt, weil das Eis noch zu dünn ist."
    wrong = plainly.facts(sources=[source], outputs=["Sie dürfen die Eisfläche betreten, weil das Eis dick genug ist."])
    assert {(finding.effect, finding.kind) for finding in wrong.findings} & {
        ("flipped", "polarity"),
        ("flipped", "modality"),
    }
    right = plainly.facts(sources=[source], outputs=["Sie dürfen nicht auf das Eis gehen, denn es ist noch zu dünn."])
    assert right.numbers("")["faithful"] == 100
    assert not [note for note in wrong.notes() if note.kind == "warning"]


def test_the_risk_does_not_grow_with_length() -> None:
    sentence = "Visitors are not allowed to bring dogs into the museum."
    reworded = "Please leave your dog at home when you come to the museum."
    short, long = Facts(model=None).check([sentence, " ".join([sentence] * 9)], [reworded, " ".join([reworded] * 9)])
    assert long.risk <= short.risk + 0.05


def test_a_text_without_sources_is_refused() -> None:
    with pytest.raises(BadInput, match="sources"):
        plainly.facts(outputs=["A."])
    with pytest.raises(BadInput, match=r"0\.2 to 1"):
        plainly.facts(sources=["A."], outputs=["A."], least=2)


def test_the_command_prints_findings_with_their_places(capsys: pytest.CaptureFixture[str]) -> None:
    source, output = "It opened in 1985.", "It opened in 1885."
    assert main(["facts", "--pair", source, output, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    finding = payload["systems"][0]["outputs"][0]["findings"][0]
    ((start, end),) = finding["source"]["spans"]
    assert source[start:end] == "1985"
    ((start, end),) = finding["output"]["spans"]
    assert output[start:end] == "1885"
    assert finding["message"] == "The date changed: “1985” became “1885”."
    assert main(["facts", "--pair", source, output, "--ignore", r"\d+"]) == 0
    assert "1885" not in capsys.readouterr().out


@pytest.mark.system
def test_a_parser_decides_which_words_are_names(english: str) -> None:
    texts = {"sources": ["a runner from norway won."], "outputs": ["a runner from Sweden won."]}
    assert english_pipeline() == english
    assert {finding.kind for finding in plainly.facts(**texts, parser=english).findings} >= {"name"}
    assert repr(plainly.metric(f"facts(parser={english})")) == f"facts(parser={english})"


def test_long_and_strange_texts_do_not_break_it() -> None:
    texts = ["", " ", ".", "\x00", "1" * 500, "A" * 5000, "not " * 500, "1985 " * 800, "(" * 50, "é" * 300]
    right, wrong = ["The year was 1985."] * len(texts), ["The year was 1885."] * len(texts)
    result = plainly.facts(sources=[*texts, *right], outputs=[*wrong, *texts], model=None)
    assert len(result.json()["systems"][0]["outputs"]) == 2 * len(texts)
    with_model = plainly.facts(sources=texts[:5], outputs=[*texts[1:5], "The year was 1885."])
    assert 0 <= with_model.numbers("")["risk"] <= 1


def test_the_model_changes_the_risk_and_no_finding() -> None:
    wrong = [OUTPUTS[0].replace("Lisbon", "Madrid"), *OUTPUTS[1:]]
    texts = {"sources": SOURCES, "outputs": wrong}
    rules, judged = plainly.facts(**texts, model=None), plainly.facts(**texts)
    assert judged.findings == rules.findings
    alone, together = rules.numbers(""), judged.numbers("")
    assert together["risk"] != alone["risk"]
    assert {name: value for name, value in together.items() if name != "risk"} == pytest.approx(
        {name: value for name, value in alone.items() if name != "risk"}
    )
    assert repr(plainly.metric("facts(model=none)")) == "facts(model=None)"
    assert judged.json()["metric"] == "facts"
    with pytest.raises(BadInput, match="model=none"):
        plainly.facts(**texts, model="plainly-sle-2")


def test_a_list_to_ignore_in_another_encoding_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = tmp_path / "words.txt"
    words.write_bytes("# ours\n\nCaf\u00e9\n".encode("latin-1"))
    pair = ["facts", "--pair", "She saw 3 dogs.", "She saw 4 dogs.", "--ignore-list", str(words)]
    assert main(pair) == 2
    assert "words.txt:3" in capsys.readouterr().err
    words.write_bytes(b"# none yet\n")
    assert main(pair) == 0


@pytest.mark.parametrize(
    ("source", "output", "words"),
    [
        ("The bridge opened in 1985.", "The bridge opened in 1885.", "one date changed"),
        ("Anna Weber met Paul Klein.", "Maria Braun met Otto Wolf.", "two names changed"),
        ("The dog bit the man.", "The dog bit the man.", ""),
        ("He did not pay the fee.", "He paid the fee.", "one statement reversed"),
    ],
)
def test_findings_are_counted_in_words(source: str, output: str, words: str) -> None:
    (pair,) = Facts(model=None).check([source], [output])
    assert describe_findings(pair.findings) == words


def test_only_meaning_is_explained_by_facts() -> None:
    (pair,) = Facts(model=None).check(["The bridge opened in 1985."], ["The bridge opened in 1885."])
    meaning, fluency = add_facts([Reason("meaning", -18.2, {"more left out": -11.0}), Reason("fluency", 2.0)], pair)
    assert meaning.text == "meaning −18: more left out −11 (one date changed)"
    assert fluency.text == "fluency +2"
