"""Profiles, agreement, selection and relations: against published numbers, a peer's code, or by construction."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from plainly import data
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.registry import metric
from plainly.scoring.evaluate import evaluate
from plainly.typology import formats, options
from plainly.typology.agreement import against_gold, aligned_labels, cohen_kappa, davies_fleiss, label_agreement
from plainly.typology.annotation import Group, Pair
from plainly.typology.profile import compare, profile, sentences
from plainly.typology.relations import correlate, leave_one_out, regress
from plainly.typology.select import reference_labels, select


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
    assert cohen_kappa(labels["a"], labels["b"]) == pytest.approx(pair.kappa(), abs=1e-12)


def test_agreement_is_undefined_where_nothing_varies() -> None:
    assert np.isnan(cohen_kappa(["none"] * 5, ["none"] * 5))
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
    with pytest.raises(BadInput, match="no pair in common"):
        aligned_labels({"a": gold, "b": [Pair("2", "a", "b")]}, "source")


def test_the_corpus_against_the_gold(mirror: Path) -> None:
    """The released corpus annotates the gold's pairs too: what one person reaches, computed and not published."""
    nine = [pair for pair in formats.load("assetann/annotations") if pair.part == "9"]
    nine = [Pair(pair.id, pair.source, pair.output, pair.groups) for pair in nine]
    source, output = against_gold(formats.load("assetann/gold"), nine)
    assert (source.tokens, output.tokens) == (1191, 968)
    assert (source.kappa, output.kappa) == (pytest.approx(0.801, abs=0.001), pytest.approx(0.776, abs=0.001))


def test_selection_finds_the_published_subsets(mirror: Path) -> None:
    annotated = formats.load("assetann/annotations")
    evalset = data.load("asset/test")  # Not tokenised: references are found by their words.
    labels = reference_labels(evalset, annotated)
    assert all(found is not None for row in labels for found in row)
    assert select(evalset, labels, references_with="lexical", references_without="err").references == 2138
    assert select(evalset, labels, references_with="paper-replace", references_without="err").references == 2719
    clean = select(evalset, labels, references_without="err")
    assert clean.references == 3590 - 233
    assert len(clean.kept) == 359
    split = select(evalset, labels, items_with="split", share=0.5)
    for at in split.kept:
        assert sum("split" in (found or ()) for found in labels[at]) >= 5
    assert len(split.kept) + len(select(evalset, labels, items_without="split", share=0.5).kept) == 359


def test_a_removed_reference_is_gone() -> None:
    evalset = EvalSet.of(["a b c", "d e f"], references=[["a b", "a"], ["d"]])
    labels = [[frozenset({"deloth"}), frozenset({"err"})], [None]]
    found = select(evalset, labels, references_without="err")
    assert found.evalset.references == (("a b",),)
    assert found.outputs(["x", "y"]) == ("x",)
    assert (found.items_without_references, found.unlabelled) == (1, 1)
    scores = [
        float(evaluate(each, {"s": ["a b"]}, ["sari"], sampling=None)["s"]["sari"])
        for each in (found.evalset, EvalSet.of(["a b c"], references=[["a b"]]))
    ]
    assert scores[0] == scores[1]
    with pytest.raises(BadInput, match="share"):
        select(evalset, labels, items_with="err", share=2)


def test_options_of_score(mirror: Path) -> None:
    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    evalset = data.load("asset/test")
    assert options.apply(parser.parse_args([]), evalset) is None
    found = options.apply(parser.parse_args(["--references-with", "lexical", "--without", "err"]), evalset)
    assert found is not None
    assert "352 of 359 items and 2138 of 3590 references; 7 items" in str(found)
    with pytest.raises(BadInput, match="--operations auto"):
        options.apply(parser.parse_args(["--without", "err"]), EvalSet.of(["a"], references=[["b"]]))
    labelled = options.apply(
        parser.parse_args(["--references-with", "split", "--operations", "auto"]),
        EvalSet.of(["It is old and it leaks."], references=[["It is old. It leaks.", "It is old and leaks."]]),
    )
    assert labelled is not None
    assert labelled.evalset.references == (("It is old. It leaks.",),)


def test_profiles_are_compared_source_by_source() -> None:
    split = Group((), (1,), "split")
    people = [
        Pair(str(at), f"s {at}", "o .", (split,) if at % 2 else (), part=str(part)) for at in range(60) for part in "ab"
    ]
    system = [Pair(str(at), f"s {at}", "o", ()) for at in range(60)]
    found = {each.label: each for each in compare(system, people, rng=np.random.default_rng(0))}
    assert (found["split"].share, found["split"].people) == (0.0, 0.5)
    assert found["split"].certain
    assert -0.7 < found["split"].difference.low < -0.5 < found["split"].difference.high < -0.3
    assert not found["move"].certain
    assert sentences(list(found.values())) == ["splits the sentence in 0% of sentences (people: 50%)"]
    assert profile(people).share("split") == 0.5
    with pytest.raises(BadInput, match="no source in common"):
        compare(system, [Pair("1", "other", "o")], rng=np.random.default_rng(0))


def test_relations_find_what_was_put_in() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, size=(300, 3))
    values = 2.0 * counts[:, 0] - 1.0 * counts[:, 1] + rng.normal(0, 0.1, 300)
    groups = [str(at // 10) for at in range(300)]
    found = regress(counts, ["split", "move", "synonym"], values, groups=groups)
    assert found.coefficients["split"] == pytest.approx(2, abs=0.05)
    assert found.coefficients["move"] == pytest.approx(-1, abs=0.05)
    assert found.coefficients["synonym"] == pytest.approx(0, abs=0.02)
    assert found.r2_held_out > 0.98
    rho = {each.label: each for each in correlate(counts, ["split", "move", "synonym"], values)}
    assert rho["split"].rho > 0.7
    assert rho["synonym"].p_value > 0.01
    assert np.isnan(correlate(counts * 0, ["a", "b", "c"], values)[0].rho)


def test_leave_one_out_is_the_score_against_the_others() -> None:
    pairs = [Pair("1", "a b c d", text) for text in ("a b", "a c", "a b d")] + [Pair("2", "x", "y")]
    found = leave_one_out(pairs, metric("sari"))
    alone = EvalSet.of(["a b c d"], references=[["a c", "a b d"]])
    assert found["sari"][0] == pytest.approx(
        float(evaluate(alone, {"s": ["a b"]}, ["sari"], sampling=None)["s"]["sari"])
    )
    assert np.isnan(found["sari"][3])
