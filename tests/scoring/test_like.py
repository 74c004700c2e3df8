"""Presets and explanations hold what other tools compute; see test_parity for those numbers themselves."""

from __future__ import annotations

import json

import pytest

import plainly
from plainly import data
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.io.texts import Texts
from plainly.scoring.evaluate import PRESETS, resolve_metrics, use_preset
from plainly.scoring.explain import explain, load_variants


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_what_it_sets(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--demo", "editor", "--like", name, "--no-intervals", "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    specs = list(result["systems"][0]["scores"])
    assert specs == PRESETS[name]["specs"]
    notes = [warning["message"] for warning in result["warnings"] if warning["code"] == "like"]
    assert len(notes) == 1
    assert all(spec in notes[0] for spec in specs)
    evalset, outputs = data.demo()
    texts = {"evalset": evalset, "outputs": {"editor": outputs["editor"]}}
    evaluation = plainly.score(**texts, like=name, intervals=False)
    assert {spec: float(evaluation["editor"][spec]) for spec in specs} == pytest.approx(
        {spec: scores["value"] for spec, scores in result["systems"][0]["scores"].items()}, nan_ok=True
    )


def test_names_are_replaced_and_specs_stay() -> None:
    assert use_preset("easse", ["fkgl", "sari(variant=xu)"]) == ["fkgl(variant=easse)", "sari(variant=xu)"]
    assert use_preset("easse", "fkgl,bleu(lowercase=true)") == ["fkgl(variant=easse)", "bleu(lowercase=true)"]
    assert use_preset("easse", None) == PRESETS["easse"]["specs"]
    assert use_preset("easse", None, references=False) == ["fkgl(variant=easse)"]
    with pytest.raises(BadInput, match="sacreBLEU has no sari"):
        use_preset("sacrebleu", ["sari"])
    with pytest.raises(BadInput, match="like="):
        plainly.score(outputs=["a"], like="eas")


def test_a_target_is_for_metrics_that_have_one() -> None:
    evalset, _ = data.demo()
    assert list(resolve_metrics(["cefr", "sari"], evalset, target="A2")) == ["cefr(target=A2)", "sari"]
    assert list(resolve_metrics(["sle", "cefr"], evalset, target="2")) == ["sle(target=2.0)", "cefr"]
    assert list(resolve_metrics(["cefr(target=B1)"], evalset, target="A2")) == ["cefr(target=B1)"]
    with pytest.raises(BadInput, match="target="):
        plainly.score(outputs=["a"], metrics=["fkgl"], target="A2")


@pytest.mark.parametrize("name", load_variants())
def test_an_explanation_has_the_numbers_of_score(name: str) -> None:
    evalset, outputs = data.demo()
    two = {system: outputs[system] for system in ("editor", "noisy")}
    explanation = explain(name, Texts(evalset, two))
    evaluation = plainly.score(evalset=evalset, outputs=two, metrics=list(explanation.why), intervals=False)
    for record in explanation.records():
        if record["system"] in two:
            assert record["value"] == evaluation[record["system"]][record["variant"]].value
    assert next(iter(explanation.why)) == name


def test_fkgl_of_easse_is_told_where_it_differs() -> None:
    evalset, outputs = data.demo()
    copy = {"copy": outputs["copy"]}
    other = plainly.score(evalset=evalset, outputs=copy, metrics=["fkgl(variant=easse)"], intervals=False)
    messages = [note.message for note in plainly.score(evalset=evalset, outputs=copy, metrics=["fkgl"]).notes()]
    number = f"{other['copy']['fkgl(variant=easse)'].value:.2f}"
    assert any(f"{number} in EASSE" in message for message in messages)
    assert not any("in EASSE" in note.message for note in other.notes())


def test_intervals_like_sacrebleu_are_plain_percentiles() -> None:
    """Others are expanded for the demo's twelve documents; a warning says how often such intervals cover."""
    evalset, outputs = data.demo()
    texts = {"evalset": evalset, "outputs": {name: outputs[name] for name in ("editor", "noisy")}, "metrics": ["bleu"]}
    plain = plainly.Sampling(method="percentile")
    theirs, ours = plainly.compare(**texts, like="sacrebleu"), plainly.compare(**texts)
    percentile = plainly.compare(**texts, sampling=plain)
    for one, other, wide in zip(theirs.comparisons, percentile.comparisons, ours.comparisons, strict=True):
        assert (one.low, one.high) == (other.low, other.high)
        assert wide.low < one.low < one.high < wide.high
    (score,), (same,), (wider,) = (result.evaluation["editor"].values() for result in (theirs, percentile, ours))
    assert score.value == same.value
    assert wider.value.low < score.value.low < score.value.high < wider.value.high
    assert [note.message for note in theirs.notes() if note.code == "few-groups" and "90 %" in note.message]
    assert not [note for note in ours.notes() if note.code == "few-groups"]


@pytest.mark.parametrize(
    ("units", "count", "coverage"),
    [
        ("groups", 2, "50 %"),
        ("groups", 5, "91 %"),
        ("groups", 7, "92 %"),
        ("groups", 8, None),
        ("items", 1, None),
        ("items", 2, "48 %"),
        ("items", 9, "91 %"),
        ("items", 10, None),
    ],
)
def test_intervals_over_few_units_have_a_warning_with_their_coverage(
    units: str, count: int, coverage: str | None
) -> None:
    n = 16 if units == "groups" else count
    groups = [at % count for at in range(n)] if units == "groups" else None
    result = plainly.score(sources=["a b c"] * n, outputs=["a b"] * n, groups=groups, metrics=["fkgl"])
    messages = [note.message for note in result.notes() if note.code == f"few-{units}"]
    assert [coverage in message for message in messages] == ([] if coverage is None else [True])
