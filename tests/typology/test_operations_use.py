"""Profiles, agreement, selection and relations: against published numbers, a peer's code, or by construction."""

from __future__ import annotations

import argparse
import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import plainly
from conftest import ROOT
from plainly import data, operations
from plainly.cli import main
from plainly.cli.operations import configure
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.registry import metric
from plainly.core.sampling import Sampling
from plainly.io.texts import TextArguments, Texts
from plainly.scoring.evaluate import evaluate
from plainly.typology import formats
from plainly.typology.agreement import against_gold, aligned_labels, davies_fleiss, label_agreement
from plainly.typology.annotation import Group, Pair
from plainly.typology.metric_correlations import correlations, leave_one_out, regression
from plainly.typology.operations import PeopleComparison, compare_with_people, profile, share_differences
from plainly.typology.selection import ByOperation, reference_labels, select


def test_davies_fleiss_equals_nltk() -> None:
    agreement = pytest.importorskip("nltk.metrics.agreement")
    rng = np.random.default_rng(3)
    truth = rng.integers(4, size=200)
    raters = {name: np.where(rng.random(200) < 0.7, truth, rng.integers(4, size=200)) for name in "abc"}
    triples = [(name, str(item), str(label)) for name, row in raters.items() for item, label in enumerate(row)]
    peer = agreement.AnnotationTask(data=triples)
    labels = {name: [str(label) for label in row] for name, row in raters.items()}
    assert davies_fleiss(labels) == pytest.approx(peer.multi_kappa(), abs=1e-12)
    pair = agreement.AnnotationTask(data=[triple for triple in triples if triple[0] != "c"])
    assert davies_fleiss({name: labels[name] for name in "ab"}) == pytest.approx(pair.kappa(), abs=1e-12)


def test_agreement_is_undefined_where_nothing_varies() -> None:
    assert np.isnan(davies_fleiss({"a": ["none"] * 5, "b": ["none"] * 5}))
    assert set(label_agreement({"a": ["x", "y"], "b": ["x", "y"]}).values()) == {1.0}


def test_an_annotator_against_gold() -> None:
    gold = [Pair("1", "a b c d", "a e", (Group((1, 2), (), "delmod"), Group((3,), (1,), "synonym")))]
    marked = [
        Pair(
            "1", "a b c d", "a e", (Group((1,), (), "delmod"), Group((2,), (), "deloth"), Group((3,), (1,), "synonym"))
        )
    ]
    source, output = against_gold(gold, marked)
    scores = {score.label: score for score in source.labels}
    assert (scores["delmod"].precision, scores["delmod"].recall) == (1.0, 0.5)
    assert np.isnan(scores["deloth"].recall)
    assert output.kappa == 1.0
    assert against_gold(gold, marked, merge="insertions-deletions")[0].kappa == 1.0
    with pytest.raises(BadInput):
        aligned_labels({"a": gold, "b": [Pair("2", "a", "b")]}, "source")


@pytest.fixture(scope="module")
def assetann(mirror: Path) -> tuple[Pair, ...]:
    return formats.load("assetann/annotations")


def test_the_corpus_against_the_gold(assetann: tuple[Pair, ...]) -> None:
    """The released corpus also annotates the pairs of the gold: one person's agreement, computed, not published."""
    nine = [pair for pair in assetann if pair.part == "9"]
    nine = [Pair(pair.id, pair.source, pair.output, pair.groups) for pair in nine]
    source, output = against_gold(formats.load("assetann/gold"), nine)
    assert (source.tokens, output.tokens) == (1191, 968)
    assert (source.kappa, output.kappa) == (pytest.approx(0.801, abs=0.001), pytest.approx(0.776, abs=0.001))


def test_selection_finds_the_published_subsets(assetann: tuple[Pair, ...]) -> None:
    evalset = data.load("asset/test")  # Not tokenised: references are found by their words.
    labels = reference_labels(evalset, assetann)
    assert all(labels_of is not None for row in labels for labels_of in row)
    assert select(evalset, labels, references_with="lexical", references_without="err").references == 2138
    assert select(evalset, labels, references_with="paper-replace", references_without="err").references == 2719
    clean = select(evalset, labels, references_without="err")
    assert clean.references == 3590 - 233
    assert len(clean.positions) == 359
    split = select(evalset, labels, items_with="split", share=0.5)
    for at in split.positions:
        assert sum("split" in (labels_of or ()) for labels_of in labels[at]) >= 5
    assert len(split.positions) + len(select(evalset, labels, items_without="split", share=0.5).positions) == 359


def test_a_removed_reference_is_gone() -> None:
    evalset = EvalSet.of(["a b c", "d e f"], references=[["a b", "a"], ["d"]])
    labels = [[frozenset({"deloth"}), frozenset({"err"})], [None]]
    selection = select(evalset, labels, references_without="err")
    assert selection.evalset.references == (("a b",),)
    assert selection.outputs(["x", "y"]) == ("x",)
    assert (selection.items_without_references, selection.unlabelled_references) == (1, 1)
    scores = [
        float(evaluate(each, {"s": ["a b"]}, ["sari"], sampling=None)["s"]["sari"])
        for each in (selection.evalset, EvalSet.of(["a b c"], references=[["a b"]]))
    ]
    assert scores[0] == scores[1]
    with pytest.raises(BadInput, match="share"):
        select(evalset, labels, items_with="err", share=2)


def test_selection_by_operation(assetann: tuple[Pair, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plainly.typology.selection.load", {"assetann/annotations": assetann}.__getitem__)
    everything = Texts(data.load("asset/test"), {})
    lexical = ByOperation(references_with="lexical", references_without="err")(everything)
    assert re.findall(r"\d+", lexical.notes[0].message) == ["352", "359", "2138", "3590", "7"]
    unlabelled = Texts(EvalSet.of(["a"], references=[["b"]]), {})
    with pytest.raises(BadInput, match="operations='auto'"):
        ByOperation(references_without="err")(unlabelled)


def test_scores_of_selected_references(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = "It is old and it leaks.", "It leaks."
    references = ["It is old. It leaks.", "It is old and leaks."]
    split = ByOperation(references_with="split", operations="auto")
    scores = [
        plainly.score(sources=[source], outputs=[output], references=[rows], metrics=["sari"], select=selection)
        for rows, selection in ((references, split), (references[:1], None))
    ]
    assert scores[0]["sari"].value == scores[1]["sari"].value
    for name, text in {"src": source, "ref.1": references[0], "ref.2": references[1], "out": output}.items():
        (tmp_path / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    texts = ["--source", str(tmp_path / "src.txt"), "--references", str(tmp_path / "ref.*.txt"), "-m", "sari", "--json"]
    options = ["--references-with", "split", "--operations", "auto"]
    assert main(["score", str(tmp_path / "out.txt"), *texts, *options]) == 0
    printed = json.loads(capsys.readouterr().out)["systems"][0]["scores"]["sari"]["value"]
    assert printed == pytest.approx(scores[0]["sari"].value, abs=0.01)
    with pytest.raises(BadInput, match="select="):
        plainly.score(plainly.score(sources=["a"], outputs=["a"], metrics=["length"]), select=split)


def test_profiles_are_compared_source_by_source() -> None:
    split = Group((), (1,), "split")
    people = [
        Pair(str(at), f"s {at}", "o .", (split,) if at % 2 else (), part=str(part)) for at in range(60) for part in "ab"
    ]
    system = [Pair(str(at), f"s {at}", "o", ()) for at in range(60)]
    rows = share_differences(system, people, sampling=Sampling(seed=0))
    by_label = {row.label: row for row in rows}
    split = by_label["split"]
    assert (split.share, split.people) == (0.0, 0.5)
    assert split.certain
    assert -0.7 < split.difference.low < -0.5 < split.difference.high < -0.3
    assert not by_label["move"].certain
    comparison = PeopleComparison("rules", {"a system": rows}, Sampling(seed=0))
    sentence = "splits the sentence in 0% of sentences (people: 50%)"
    assert comparison.in_words("a system") == [sentence]
    assert f"a system: {sentence}" in repr(comparison)
    assert profile(people)["split"].share == 0.5
    with pytest.raises(BadInput):
        share_differences(system, [Pair("1", "other", "o")])


def test_relations_find_what_was_put_in() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, size=(300, 3))
    values = 2.0 * counts[:, 0] - 1.0 * counts[:, 1] + rng.normal(0, 0.1, 300)
    groups = [str(at // 10) for at in range(300)]
    fit = regression(counts, ["split", "move", "synonym"], values, groups=groups)
    assert fit.coefficients["split"] == pytest.approx(2, abs=0.05)
    assert fit.coefficients["move"] == pytest.approx(-1, abs=0.05)
    assert fit.coefficients["synonym"] == pytest.approx(0, abs=0.02)
    assert fit.r2_held_out > 0.98
    rho = {each.label: each for each in correlations(counts, ["split", "move", "synonym"], values)}
    assert rho["split"].rho > 0.7
    assert rho["synonym"].p_value > 0.01
    assert np.isnan(correlations(counts * 0, ["a", "b", "c"], values)[0].rho)


def test_leave_one_out_is_the_score_against_the_others() -> None:
    pairs = [Pair("1", "a b c d", text) for text in ("a b", "a c", "a b d")] + [Pair("2", "x", "y")]
    scores = leave_one_out(pairs, metric("sari"))
    alone = EvalSet.of(["a b c d"], references=[["a c", "a b d"]])
    assert scores["sari"][0] == pytest.approx(
        float(evaluate(alone, {"s": ["a b"]}, ["sari"], sampling=None)["s"]["sari"])
    )
    assert np.isnan(scores["sari"][3])


SOURCES = ["It is old, and it leaks.", "She resides here."]
OUTPUTS = {"A": ["It is old. It leaks.", "She lives here."], "B": SOURCES}


def test_operations_from_python() -> None:
    alone = operations(sources=SOURCES, outputs=OUTPUTS["A"], labeller="rules")
    assert (alone.pairs, alone["split"].share, alone.systems) == (2, 0.5, {})
    assert alone.json()["profile"]["operations"][0]["label"] == "synonym"
    assert alone.to_pandas().set_index("label").loc["split", "pairs"] == 1
    assert "split" in repr(alone)
    assert alone.notes()[0].message in alone._repr_html_()
    both = operations(sources=SOURCES, outputs=OUTPUTS, labeller="rules")
    assert [both.systems[system]["split"].share for system in "AB"] == [0.5, 0.0]
    assert both.tables()[0].header == ("operation", "A", "B")
    assert {record["system"] for record in both.records()} == {"A"}, "B does nothing"
    assert both.json()["systems"]["B"]["unchanged"] == 2
    assert [note.code for note in operations(sources=SOURCES, outputs=SOURCES).notes()] == ["", "licence"]
    with pytest.raises(BadInput, match="sources="):
        operations(outputs=["a"], labeller="rules")


def test_people_are_the_references_or_annotated_pairs() -> None:
    texts = TextArguments(SOURCES, OUTPUTS).read()
    with_references = TextArguments(SOURCES, OUTPUTS, [[text] for text in OUTPUTS["A"]]).read()
    comparison = compare_with_people(with_references, labeller="rules")
    assert all(row.difference.value == 0 for row in comparison.systems["A"])
    annotated = [Pair(str(at), source, "…", (Group((0,), (), "deloth"),)) for at, source in enumerate(SOURCES)]
    rows = compare_with_people(texts, people=annotated, labeller="rules").records()
    assert [row["people"] for row in rows if row["operation"] == "deloth"] == [1.0, 1.0]
    with pytest.raises(BadInput, match=r"references=.*people="):
        compare_with_people(texts, labeller="rules")


def test_every_action_has_a_function_that_the_docs_name() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z`, ]+) \| (`[a-z_.`, ]+) \|$", text, re.MULTILINE)
    named = {action for actions, _ in rows for action in re.findall(r"`(\w+)`", actions)}
    parser = argparse.ArgumentParser()
    configure(parser)
    (actions,) = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    assert named == set(actions) - {"profile", "convert"}, "profile is plainly.operations; convert is formats.save"
    for module, function in re.findall(r"`(\w+)\.(\w+)`", " ".join(functions for _, functions in rows)):
        assert callable(getattr(importlib.import_module(f"plainly.typology.{module}"), function))
