"""``plainly report`` on the command line: from texts, from saved scores, from both, with ratings, and wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import plainly
from plainly import data
from plainly.cli import main

QUICK = ["--no-audit", "--labeller", "none", "-m", "fkgl"]


def test_writes_the_page_and_prints_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--demo", "editor", "copy", *QUICK, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "plainly.report/1"
    assert record["page"] == "report.html"
    assert record["summary"][0].startswith("By FKGL, editor scores best")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_saved_scores_give_the_same_numbers_with_texts_and_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score_file = str(tmp_path / "scores.npz")
    assert main(["score", "--demo", "-m", "fkgl", "editor", "copy", "--save", score_file]) == 0
    capsys.readouterr()
    summaries = []
    for words in (
        [score_file],
        ["--saved", score_file],
        [score_file, "--demo"],
        ["--demo", "-m", "fkgl", "editor", "copy"],
    ):
        rest = ["--no-audit", "--labeller", "none", "-o", str(tmp_path / "page.html"), "--json"]
        assert main(["report", *words, *rest]) == 0
        summaries.append(json.loads(capsys.readouterr().out)["summary"])
    without, named, with_texts, afresh = summaries
    assert named == without
    assert with_texts == afresh
    assert without[0] == afresh[0]
    assert len(without) < len(afresh)


def test_saved_scores_of_other_texts_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score_file = str(tmp_path / "scores.npz")
    assert main(["score", "--demo", "-m", "fkgl", "editor", "--save", score_file]) == 0
    for name in ("src.txt", "editor.txt"):
        (tmp_path / name).write_text("A text.\n" * 72, encoding="utf-8")
    words = ["--saved", score_file, "--source", str(tmp_path / "src.txt"), str(tmp_path / "editor.txt")]
    assert main(["report", *words, "-o", str(tmp_path / "x.html")]) == 2
    assert "fkgl(" in capsys.readouterr().err.splitlines()[-1]  # the signature of the scores that do not fit
    assert not (tmp_path / "x.html").exists()


def test_a_directory_that_is_not_there_is_said_before_anything_is_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--demo", "-o", str(tmp_path / "no" / "page.html")]) == 2
    assert str(tmp_path / "no") in capsys.readouterr().err


def test_ratings_of_the_same_outputs_are_correlated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evalset, outputs = data.demo()
    rows = ["system,item,rater,simplicity"]
    for system in ("copy", "editor"):
        for i, identifier in enumerate(evalset.ids):
            # A rater who likes short outputs: fkgl falls with length as well, and agrees.
            rows.append(f"{system},{identifier},r1,{100 - min(len(outputs[system][i]) // 3, 99)}")
    (tmp_path / "ratings.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = ["--demo", *QUICK, "copy", "editor", "--ratings", str(tmp_path / "ratings.csv")]
    assert main(["report", *words, "-o", str(tmp_path / "page.html"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["left_out"] == []
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="ratings"' in page
    assert "Strongest: FKGL, 0." in page
    assert page.index('<section id="people">') < page.index('<section id="scores">')


def test_people_come_first_and_their_disagreements_with_metrics_name_items() -> None:
    """Ratings as a study has them, with outputs and without references, which are those of the report."""
    evalset, outputs = data.demo()
    rng = np.random.default_rng(1)
    rows = [
        {
            "system": system, "item": item, "rater": rater, "simplicity": quality + rng.normal(scale=0.5),
            "source": evalset.sources[place], "output": outputs[system][place],
        }
        for system, quality in (("copy", 4), ("editor", 2))
        for place, item in enumerate(evalset.ids[:20])
        for rater in "abcde"
    ]  # fmt: skip
    texts = {"evalset": evalset, "outputs": {system: outputs[system] for system in ("copy", "editor")}}
    page = plainly.report(**texts, metrics=["sari", "fkgl"], ratings=rows, labeller=None, audit=False)
    assert page.overview.left_out == ()
    assert {row.metric for row in page.overview.correlations} == {"sari", "fkgl"}
    assert page.summary[0].text.startswith("People, simplicity: ")
    first = page.overview.disagreements[0]
    assert (first.better, first.other) == ("copy", "editor")
    assert set(first.items) <= set(evalset.ids[:20])
    assert f'<a href="#item-{first.items[0]}">' in page.html
    assert "Where metrics and people disagree" in page.html
