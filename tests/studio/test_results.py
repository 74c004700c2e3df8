"""The result of a study, from its file and from its export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import plainly_studio
from plainly.cli import main
from plainly_studio.project import parse_project
from studio.conftest import Make, rater
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
