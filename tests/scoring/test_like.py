"""Presets and explanations hold what other tools compute; see test_parity for those numbers themselves."""

from __future__ import annotations

import json

import pytest

import plainly
from plainly import data
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.io.texts import Texts
from plainly.scoring.explain import explain, explained
from plainly.scoring.presets import PRESETS, like


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_what_it_sets(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--demo", "editor", "--like", name, "--no-intervals", "--json"]) == 0
    printed = capsys.readouterr()
    specs = list(json.loads(printed.out)["systems"][0]["scores"])
    assert specs == PRESETS[name]["specs"]
    assert all(spec in printed.err for spec in specs)


def test_names_are_replaced_and_specs_stay() -> None:
    assert like("easse", ["fkgl", "sari(variant=xu)"])[0] == ["fkgl(variant=easse)", "sari(variant=xu)"]
    assert like("easse", [], references=False)[0] == ["fkgl(variant=easse)"]
    with pytest.raises(BadInput, match="sacreBLEU has no sari"):
        like("sacrebleu", ["sari"])


@pytest.mark.parametrize("name", explained())
def test_an_explanation_has_the_numbers_of_score(name: str) -> None:
    evalset, outputs = data.demo()
    two = {system: outputs[system] for system in ("editor", "noisy")}
    told = explain(name, Texts(evalset, two))
    scored = plainly.score(evalset=evalset, outputs=two, metrics=list(told.why), intervals=False)
    for record in told.records():
        if record["system"] in two:
            assert record["value"] == scored[record["system"]][record["variant"]].value
    assert next(iter(told.why)) == name


def test_fkgl_of_easse_is_told_where_it_differs() -> None:
    evalset, outputs = data.demo()
    copy = {"copy": outputs["copy"]}
    other = plainly.score(evalset=evalset, outputs=copy, metrics=["fkgl(variant=easse)"], intervals=False)
    said = [note.message for note in plainly.score(evalset=evalset, outputs=copy, metrics=["fkgl"]).notes()]
    number = f"{other['copy']['fkgl(variant=easse)'].value:.2f}"
    assert any(f"{number} in EASSE" in message for message in said)
    assert not any("in EASSE" in note.message for note in other.notes())
