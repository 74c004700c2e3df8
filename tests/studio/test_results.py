"""The result of a study, from its file and from its export."""

from __future__ import annotations

import csv
import dataclasses
import json
import sqlite3
from contextlib import closing
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


def test_exclusions_are_applied_and_the_result_without_them_is_shown(make: Make, tmp_path: Path, capsys: Any) -> None:
    how = {"protocol": "tradeoff-2018", "assignment": {"overlap": 3, "ahead": 10}}
    study = make(parse_project({"name": "Test", **how}), simple_items(6))
    names = []
    for value in (2, 3, 5):
        who = rater(study)
        names.append(who.name)
        while items := who.claim(10)["items"]:
            for item in items:
                values = {scale.name: min(value, scale.maximum) for scale in study.project.scales}
                assert who.answer(item, {"values": values}).status_code == 201
    table = plainly_studio.export(study.file).decode()
    lines = table.splitlines()
    excluded = lines[0].split(",").index("excluded")
    everyone = tmp_path / "everyone.csv"
    everyone.write_text(table)
    assert plainly.results(everyone).everyone is None
    export = tmp_path / "export.csv"
    rows = list(csv.reader(lines))
    for row in rows[1:]:
        row[excluded] = "true" if names[2] in row else "false"
    with export.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    result = plainly.results(export)
    assert result.everyone is not None
    dimension = result.dimensions[0]
    assert result.judgements[dimension].count_raters() == 2
    assert result.everyone.judgements[dimension].count_raters() == 3
    assert main(["results", str(export)]) == 0
    assert "with excluded raters" in capsys.readouterr().out
    with closing(sqlite3.connect(study.database.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE rater SET excluded_at = 1 WHERE pseudonym = ?", (names[2],))
    running = plainly.results(study.file)
    assert running.everyone is not None
    assert running.records() == result.records()
    assert running.everyone.records() == result.everyone.records()
