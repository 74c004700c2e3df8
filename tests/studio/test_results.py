"""The result of a study, from its file and from its export."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import plainly
import plainly_studio
from plainly import data
from plainly.cli import main
from plainly.people import read_ratings
from plainly_studio.project import parse_project
from studio.conftest import Make, four, rater, rating_project, simple_items
from studio.test_ranking_and_owner_pages import ranking_items


def test_rankings_have_a_result_and_agreement(make: Make, tmp_path: Path, capsys: Any) -> None:
    project = parse_project({"name": "Pairs", "task": "ranking", "assignment": {"ahead": 10, "overlap": 3}})
    study = make(project, ranking_items(8, 2))
    for at in range(3):
        who = rater(study)
        for number, item in enumerate(who.claim(10)["items"]):
            best = next(position for position, text in enumerate(item["outputs"]) if text.endswith("s1"))
            choice = {"tie": True} if number == at else {"best": best}
            assert who.answer(item, {"choice": choice}).status_code == 201
    (tmp_path / "choices.csv").write_bytes(plainly_studio.export(study.file))
    replies = []
    for file in (study.file, tmp_path / "choices.csv"):
        assert main(["results", str(file), "--json"]) == 0
        replies.append(json.loads(capsys.readouterr().out))
        for command in (["agreement", str(file)], ["meta", str(file), "--agreement"]):
            assert main(command) == 0
            assert "Krippendorff's alpha" in capsys.readouterr().out
    assert replies[0] == replies[1]
    (comparison,) = replies[0]["comparisons"]
    assert comparison["winner"] == "secret-system-1"
    assert replies[0]["reliability"]["name"].startswith("Krippendorff")


def test_metrics_take_references_from_the_set_that_a_study_names(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    evalset, outputs = data.demo()
    study = make(rating_project(), simple_items(4))
    study.file.write_text('[data]\ntest_set = "some/set"\n')
    who = rater(study)
    for item in who.claim(10)["items"]:
        assert who.answer(item, four(3)).status_code == 201
    assert read_ratings(study.file).test_set == "some/set"
    rows = [
        {"system": system, "item": item, "rater": "r", "simplicity": 1 + place % 5, "output": outputs[system][place]}
        for system in ("copy", "editor")
        for place, item in enumerate(evalset.ids[:12])
    ]
    judgements = dataclasses.replace(read_ratings(rows), test_set="some/set")
    monkeypatch.setattr(data, "load", lambda name, **_: {"some/set": evalset}[name])
    monkeypatch.setattr(data, "system_names", lambda name: ())
    monkeypatch.setattr(data, "outputs_of", lambda name, systems, **_: {})
    result = plainly.meta(judgements, metrics=["sari"])
    assert result.correlations is not None
    assert result.correlations.row("sari").estimate.n == 24


@pytest.mark.parametrize("command", ["score", "compare", "report"])
def test_a_study_in_the_place_of_outputs_leads_to_results(command: str, capsys: Any) -> None:
    assert main([command, "study.toml"]) == 2
    assert "plainly results study.toml" in capsys.readouterr().err
