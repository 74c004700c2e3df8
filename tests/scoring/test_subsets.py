"""Subsets are masks over rows: they partition the set, equal a fresh evaluation of those items, and warn when small."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.scoring import subsets
from plainly.scoring.compare import compare
from plainly.scoring.evaluate import evaluate

N = 60


@pytest.fixture(scope="module")
def setting() -> tuple[EvalSet, dict[str, list[str]]]:
    sources = [" ".join(f"word{k}{i}" for i in range(4 + k % 20)) + "." for k in range(N)]
    outputs = {
        "A": [
            s if k % 3 == 0 else s.replace("0 ", "0. It ", 1) if k % 3 == 1 else s[:20] + "."
            for k, s in enumerate(sources)
        ],
        "B": [s if k % 2 == 0 else s.upper() for k, s in enumerate(sources)],
    }
    evalset = EvalSet.of(
        sources,
        references=[[s[:15] + ".", s][: 1 + k % 2] for k, s in enumerate(sources)],
        groups=[f"document {k // 10}" for k in range(N)],
        columns={
            "topic": ["law" if k < 40 else "health" for k in range(N)],
            "year": [str(1990 + k) for k in range(N)],
            "id2": [f"x{k}" for k in range(N)],
        },
    )
    return evalset, outputs


@pytest.mark.parametrize("by", ["length", "split", "copy", "group", "references", "topic", "year"])
def test_fields_partition_the_set_and_scores_are_those_of_the_items(setting, by):
    evalset, outputs = setting
    evaluation = evaluate(evalset, outputs, ["bleu", "fkgl"], sampling=None)
    parts = subsets.divide(evalset, outputs, by)
    assert len(parts) > 1
    for system, texts in outputs.items():
        coverage = np.sum([part.masks[system] for part in parts], axis=0)
        assert (coverage == 1).all()
        for part in parts:
            mask = part.masks[system]
            if not mask.any():
                continue
            result = subsets.evaluate_subset(evaluation, part)[system]
            fresh = evaluate(
                evalset[mask],
                {system: [t for t, m in zip(texts, mask, strict=True) if m]},
                ["bleu", "fkgl"],
                sampling=None,
            )
            for spec in ("bleu", "fkgl"):
                assert float(result[spec]) == pytest.approx(float(fresh[system][spec]), nan_ok=True)
                assert result[spec].n == mask.sum()


def test_length_comes_in_thirds_in_order(setting):
    evalset, outputs = setting
    parts = subsets.divide(evalset, outputs, "length")
    lengths = np.array([len(s.split()) for s in evalset.sources])
    limits = [(lengths[p.masks["A"]].min(), lengths[p.masks["A"]].max()) for p in parts]
    assert [p.label for p in parts] == [f"source words {low}–{high}" for low, high in limits]
    assert limits == sorted(limits)
    assert all(12 <= p.masks["A"].sum() <= 28 for p in parts)


def test_what_outputs_do_is_by_system_or_together(setting):
    evalset, outputs = setting
    copied, changed = subsets.divide(evalset, outputs, "copy")
    np.testing.assert_array_equal(copied.masks["A"], [k % 3 == 0 for k in range(N)])
    np.testing.assert_array_equal(copied.masks["B"], [k % 2 == 0 for k in range(N)])
    split, _ = subsets.divide(evalset, outputs, "split")
    np.testing.assert_array_equal(split.masks["A"], [k % 3 == 1 for k in range(N)])
    together, rest = subsets.divide(evalset, outputs, "copy", together=True)
    np.testing.assert_array_equal(together.masks["A"], [k % 3 == 0 or k % 2 == 0 for k in range(N)])
    np.testing.assert_array_equal(together.masks["A"], together.masks["B"])
    np.testing.assert_array_equal(rest.masks["A"], ~together.masks["A"])
    assert changed.fewest == 30


def test_a_table_of_subsets_has_every_system_and_the_number_of_items(setting) -> None:
    evalset, outputs = setting
    evaluation = evaluate(evalset, outputs, ["sari"], sampling=None)
    parts = [(part, subsets.evaluate_subset(evaluation, part)) for part in subsets.divide(evalset, outputs, "copy")]
    table = subsets.subset_table("copy", parts)
    assert [(row[2], int(row[1])) for row in table.rows] == [("A", 20), ("B", 30), ("A", 40), ("B", 30)]
    assert all(len(row) == len(table.header) for row in table.rows)


@pytest.mark.parametrize(("distinct", "expected"), [(12, 12), (13, 3)])
def test_a_column_of_many_numbers_comes_in_thirds(distinct: int, expected: int) -> None:
    evalset = EvalSet.of(["a"] * 26, columns={"year": [str(2000 + at % distinct) for at in range(26)]})
    parts = subsets.divide(evalset, {"A": ["a"] * 26}, "year")
    assert len(parts) == expected
    assert sum(part.fewest for part in parts) == 26


def test_a_comparison_by_what_outputs_do_is_on_the_items_of_any_system(setting) -> None:
    evalset, outputs = setting
    evaluation = evaluate(evalset, outputs, ["sari"], sampling=None)
    result = compare(evaluation, by="copy", trials=50, sampling=Sampling(resamples=50))
    copied = np.array([k % 3 == 0 or k % 2 == 0 for k in range(N)])
    assert [len(table.rows) for table in result.tables()] == [1, 1]
    assert result.family("sari") == 2
    for (_, part), mask in zip(result.subsets, (copied, ~copied), strict=True):
        assert part.evaluation.n == mask.sum()
        for pair in part.comparisons:
            assert pair.n == mask.sum()
            assert pair.score == pytest.approx(float(evaluation.select(mask)[pair.system]["sari"]))


def test_small_subsets_are_warned_of(setting):
    evalset, outputs = setting
    (warning,) = subsets.small_subsets(subsets.divide(evalset, outputs, "group"))
    assert warning.code == "small-subset"
    assert "'document 0' has 10" in warning.message
    assert "2 more" in warning.message
    big = EvalSet.of(["a b c."] * 250, columns={"half": ["x"] * 125 + ["y"] * 125})
    assert subsets.small_subsets(subsets.divide(big, {"A": ["a"] * 250}, "half")) == []


def test_fields_that_cannot_divide(setting):
    evalset, outputs = setting
    with pytest.raises(UnknownName, match="Did you mean 'topic'"):
        subsets.divide(evalset, outputs, "topics")
    with pytest.raises(BadInput, match="60 different values"):
        subsets.divide(evalset, outputs, "id2")
    with pytest.raises(BadInput, match="groups="):
        subsets.divide(EvalSet.of(["a"]), {"A": ["a"]}, "group")
    with pytest.raises(BadInput, match="sources="):
        subsets.divide(EvalSet.of(references=[["a"]]), {"A": ["a"]}, "length")


def test_labels_from_elsewhere_may_overlap(setting, monkeypatch):
    """The hook for operation labels: an item may have none, one or several."""
    evalset, outputs = setting
    monkeypatch.setitem(subsets.LABELLERS, "operation", label_by_length)
    parts = {part.label: part for part in subsets.divide(evalset, outputs, "operation")}
    assert set(parts) == {"long", "even"}
    assert (parts["long"].masks["A"] & parts["even"].masks["A"]).any()


def test_operation_labels_come_from_the_labeller(setting, monkeypatch):
    evalset, outputs = setting
    pairs = [SimpleNamespace(labels={"split"} if k % 2 else set()) for k in range(N)]
    rules = SimpleNamespace(label=lambda sources, texts: pairs)
    monkeypatch.setitem(sys.modules, "plainly.typology.labeller", SimpleNamespace(labeller=lambda name: rules))
    (split,) = subsets.divide(evalset, outputs, "operation")
    assert split.label == "split"
    assert split.fewest == N // 2


def label_by_length(sources, outputs):
    return [
        {name for name, there in (("long", len(s.split()) > 12), ("even", len(s.split()) % 2 == 0)) if there}
        for s in sources
    ]


def test_by_on_the_command_line(capsys):
    assert main(["score", "--demo", "--by", "group", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {part["field"] for part in result["subsets"]} == {"group"}
    items = {part["label"]: part["systems"][0]["scores"]["sari"]["n"] for part in result["subsets"]}
    assert sum(items.values()) == result["items"]
    assert "small-subset" in {warning["code"] for warning in result["warnings"]}
    assert main(["score", "--demo", "--by", "length", "--csv"]) == 0
    assert "length: source words" in capsys.readouterr().out
    assert main(["compare", "--demo", "-m", "sari,fkgl", "editor", "lexical", "--by", "length", "--json"]) == 0
    all_subsets = json.loads(capsys.readouterr().out)["subsets"]
    family = [
        each for part in all_subsets for each in part["comparisons"] if each["test"] == "approximate-randomisation"
    ]
    for metric in ("sari", "fkgl"):
        of_metric = [each for each in family if each["metric"] == metric]
        smallest = min(of_metric, key=lambda each: each["p_value"])
        corrected = pytest.approx(min(1, smallest["p_value"] * len(of_metric)))
        assert smallest["p_holm"] == corrected, "a metric's comparisons on all subsets are one family"
