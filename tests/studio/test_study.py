"""A study without a web server: its ratings go straight to ``plainly meta``, and every action is a function."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plainly_studio
from plainly import people
from plainly.cli import main
from plainly.core.errors import BadInput
from plainly.people import Judgements
from plainly_studio.project import RatingScale, parse_project, protocols
from studio.conftest import Make, Rater, Study, four, rater, rating_project, simple_items
from studio.test_ranking_and_owner_pages import ranking_items


def rate_everything(study: Study, who: Rater, *, shift: int = 0) -> None:
    """Answer every item, with values that differ from item to item."""
    while items := who.claim(10)["items"]:
        for item in items:
            number = int(re.findall(r"\d+", item["source"])[0]) + shift
            values = {scale.name: _value(scale, number + at) for at, scale in enumerate(study.project.scales)}
            assert who.answer(item, {"values": values}).status_code == 201


def _value(scale: RatingScale, number: int) -> float:
    return scale.points[number % len(scale.points)]


def same(first: Judgements, second: Judgements) -> None:
    """The same ratings of the same texts."""
    assert (first.systems, first.items, first.dimensions) == (second.systems, second.items, second.dimensions)
    assert dict(first.sources) == dict(second.sources)
    assert dict(first.outputs) == dict(second.outputs)
    for name in first:
        assert first[name].raters == second[name].raters
        np.testing.assert_array_equal(first[name].values, second[name].values)


@pytest.mark.parametrize("protocol", [*protocols(), "own"])
def test_a_running_study_is_read_as_its_export_is(make: Make, tmp_path: Path, protocol: str) -> None:
    seven = {"name": "clarity", "question": "Clear?", "minimum": 1, "maximum": 7}
    how: dict[str, Any] = {"scales": [seven]} if protocol == "own" else {"protocol": protocol}
    study = make(parse_project({"name": "Test", "assignment": {"overlap": 2, "ahead": 10}, **how}), simple_items(8))
    rate_everything(study, rater(study))
    for shift in (1, 2):  # Two more people have begun.
        who = rater(study)
        (item,) = who.claim()["items"]
        low = {scale.name: scale.minimum for scale in study.project.scales}
        answer = {"values": low} if shift == 1 else {"cannot_judge": True}
        assert who.answer(item, answer).status_code == 201
    direct = people.read_ratings(study.file)
    (tmp_path / "export.csv").write_bytes(plainly_studio.export(study.file))
    same(direct, people.read_ratings(tmp_path / "export.csv"))
    assert direct.systems == ("secret-system-0", "secret-system-1") or direct.systems[0].startswith("secret-system")
    assert {direct[scale.name].scale for scale in study.project.scales} == {
        (scale.minimum, scale.maximum) for scale in study.project.scales
    }, "the study knows its scales; a table's can only be guessed"
    assert sum(int(np.isfinite(direct[name].values).sum()) for name in direct) == 9 * len(study.project.scales)


def test_meta_and_plan_take_a_study_while_it_is_open(make: Make, capsys: Any) -> None:
    study = make(rating_project(assignment={"overlap": 6, "ahead": 10}), simple_items(12))
    names = []
    for number in range(6):
        who = rater(study)
        names.append(who.name)
        while items := who.claim(10)["items"]:
            for item in items:
                truth = 1 + int(re.findall(r"\d+", item["source"])[0]) % 5
                assert who.answer(item, four(6 - truth if number == 5 else truth)).status_code == 201
    assert main(["meta", str(study.file), "--agreement", "--resamples", "20", "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    figures = plainly_studio.status(study.file).json()
    assert figures["schema"] == "plainly.studio/1"
    alphas = {row["name"]: row["alpha"] for row in figures["agreement"]}
    for row in reply["agreement"]:
        (alpha,) = (c["value"] for c in row["coefficients"] if c["name"] == "Krippendorff's alpha, ordinal")
        expected = alphas[row["dimension"]]
        assert alpha == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert [row["rater"] for row in figures["raters"] if row["reasons"]] == [names[5]]
    assert "grammaticality, meaning, simplicity: rates against the others" in next(
        row["reasons"][0] for row in figures["raters"] if row["reasons"]
    ), "the dashboard flags whom plainly meta flags, in its words"
    assert main(["meta", str(study.file), "-m", "fkgl", "--resamples", "20"]) == 0
    assert main(["plan", str(study.file), "--dimension", "meaning", "--resamples", "20"]) == 0
    assert main(["meta", str(study.file), "--scale", "1..5"]) == 2
    assert "scale" in capsys.readouterr().err


def test_studies_without_ratings_name_their_task(make: Make, capsys: Any) -> None:
    ranking = make(parse_project({"name": "Pairs", "task": "ranking"}), ranking_items(3, 2), name="ranking")
    marking = make(parse_project({"name": "Marks", "task": "operations"}), simple_items(3), name="operations")
    empty = make(rating_project(), simple_items(3), name="empty")
    for study, words in ((ranking, "rank"), (marking, "operation"), (empty, "Test")):
        assert main(["meta", str(study.file)]) == 2
        assert words in capsys.readouterr().err
    with pytest.raises(BadInput, match=r"nowhere\.db"):
        people.read_ratings("nowhere.toml")


@pytest.mark.system
def test_a_study_elsewhere_is_found_by_the_environment(
    make: Make, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(rating_project(), simple_items(2), database=postgres_database)
    who = rater(study)
    rate_everything(study, who)
    monkeypatch.setenv("PLAINLY_STUDIO_DATABASE", postgres_database)
    assert people.read_ratings(study.file)["meaning"].raters == (who.name,)


def test_what_cannot_be_judged_and_comments_come_back_from_an_export(make: Make, tmp_path: Path) -> None:
    study = make(rating_project(assignment={"overlap": 1, "ahead": 1}), simple_items(3))
    who = rater(study)
    for answer in ({**four(2), "comment": "-1 for style"}, {"cannot_judge": True, "comment": "garbled"}, four(4)):
        (item,) = who.claim()["items"]
        assert who.answer(item, answer).status_code == 201
    table = tmp_path / "export.csv"
    table.write_bytes(plainly_studio.export(study.file))
    again = tmp_path / "again.toml"
    project = plainly_studio.import_set(again, str(table))
    assert (project.project, project.items, project.raters, project.answers) == (str(table), 3, 1, 3)
    lines, before = (
        [json.loads(line) for line in plainly_studio.export(file, "jsonl").splitlines()] for file in (again, study.file)
    )
    assert lines == before
    same(people.read_ratings(again), people.read_ratings(study.file))


def test_only_ratings_by_people_become_a_project_and_a_failed_one_leaves_nothing(make: Make, tmp_path: Path) -> None:
    study = make(parse_project({"name": "Pairs", "task": "ranking"}), ranking_items(2, 2), name="ranking")
    who = rater(study)
    (item,) = who.claim()["items"]
    assert who.answer(item, {"choice": {"best": 0}}).status_code == 201
    (tmp_path / "choices.csv").write_bytes(plainly_studio.export(study.file))
    (tmp_path / "means.csv").write_text("system,item,simplicity\nA,1,2.5\n")
    wide = "system,item,simplicity_1,simplicity_2,simplicity_zscore\nA,1,2,-1,0.5\nA,2,0,,0.1\n"
    (tmp_path / "wide.csv").write_text(wide)
    for name in ("means.csv",):
        with pytest.raises(BadInput, match=name):
            plainly_studio.import_set(tmp_path / "new.toml", str(tmp_path / name))
        assert not list(tmp_path.glob("new.*"))
    plainly_studio.import_set(tmp_path / "new.toml", str(tmp_path / "wide.csv"))
    ratings = people.read_ratings(tmp_path / "new.toml")  # the database is enough
    assert ratings.dimensions == ("simplicity",), "z-scores are computed, not given"
    assert ratings["simplicity"].scale == (-2, 2)
    np.testing.assert_array_equal(ratings["simplicity"].values, [[[2, -1], [0, np.nan]]])


@pytest.mark.mirror
def test_labels_outside_the_typology_are_left_out_and_counted(mirror: Path, tmp_path: Path) -> None:
    project = plainly_studio.import_set(tmp_path / "gold.toml", "assetann/gold")
    assert (project.items, project.answers) == (50, 50)
    assert "1 'literal'" in " ".join(note.message for note in project.notes())


def test_results_show_themselves(make: Make, tmp_path: Path, capsys: Any) -> None:
    project = plainly_studio.create(tmp_path / "demo.toml", demo=True, task="ranking", overlap=3)
    assert project.json() | {"owner_path": ""} == {
        "schema": "plainly.studio/1",
        "project": "demo",
        "database": f"sqlite:///{tmp_path}/demo.db",
        "owner_path": "",
        "items": project.items,
        "raters": 0,
        "answers": 0,
    }
    assert "http://127.0.0.1:8000/join/" in repr(project)
    elsewhere = plainly_studio.create(tmp_path / "port.toml", demo=True, public_url="http://127.0.0.1:8123")
    assert f"http://127.0.0.1:8123{elsewhere.owner_path}" in repr(elsewhere)
    assert elsewhere.notes()[-1].message.endswith("port.toml --port 8123")
    invitations = plainly_studio.invite(tmp_path / "demo.toml", count=2, public_url="https://rate.example.org/")
    assert [record["link"] for record in invitations.records()] == invitations.json()["links"]
    assert all(link.startswith("https://rate.example.org/join/") for link in invitations.links)
    study = make(rating_project(assignment={"overlap": 2, "ahead": 10}), simple_items(6))
    for shift in (0, 1):
        rate_everything(study, rater(study), shift=shift)
    status = plainly_studio.status(study.file)
    (table,) = status.tables()
    assert table.caption == "12 of 12 answers by 2 raters"
    assert [row[0] for row in table.rows] == [scale.name for scale in study.project.scales]
    assert main(["studio", "status", str(study.file), "--csv", "--strict"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.startswith("name,level,alpha,low,high,first_half,second_half,ratings,compared")
    assert len(lines) == 4
    assert status.to_pandas()["ratings"].tolist() == [12] * 4
    assert plainly_studio.backup(study.file, tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("")
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from plainly.cli import main\n"
        f"sys.exit(main(['meta', {str(tmp_path / 'study.toml')!r}]))"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.returncode == 2
    assert "plainly[studio]" in process.stderr


def test_meta_reads_rankings_of_a_study_and_of_its_export(make: Make, tmp_path: Path, capsys: Any) -> None:
    study = make(parse_project({"name": "Pairs", "task": "ranking", "assignment": {"ahead": 10}}), ranking_items(8, 2))
    who = rater(study)
    for at, item in enumerate(who.claim(10)["items"]):
        best = next(position for position, text in enumerate(item["outputs"]) if text.endswith("s1"))
        choice = {"tie": True} if at == 0 else {"best": best}
        assert who.answer(item, {"choice": choice}).status_code == 201
    (tmp_path / "choices.csv").write_bytes(plainly_studio.export(study.file))
    reply = []
    for file in (study.file, tmp_path / "choices.csv"):
        assert main(["meta", str(file), "--resamples", "50", "--json"]) == 0
        reply.append(json.loads(capsys.readouterr().out))
    assert reply[0] == reply[1]
    first, second = reply[0]["systems"]
    assert (first["system"], first["wins"], first["ties"]) == ("secret-system-1", 7, 1)
    assert first["win_rate"]["value"] == pytest.approx(7.5 / 8)
    assert second["strength"]["value"] == pytest.approx(-first["strength"]["value"])
    figures = plainly_studio.status(study.file).json()["preferences"]
    assert figures[0]["system"] == "secret-system-1"


def test_the_report_shows_what_people_preferred(make: Make, tmp_path: Path) -> None:
    study = make(parse_project({"name": "Pairs", "task": "ranking", "assignment": {"ahead": 10}}), ranking_items(4, 2))
    who = rater(study)
    for item in who.claim(10)["items"]:
        assert who.answer(item, {"choice": {"best": 0}}).status_code == 201
    for name in ("source", "a"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {at} is short.\n" for at in range(4)))
    page = tmp_path / "report.html"
    command = ["report", "--source", str(tmp_path / "source.txt"), "-m", "fkgl", "--ratings", str(study.file)]
    assert main([*command, "-o", str(page), "--", f"A={tmp_path / 'a.txt'}"]) == 0
    text = page.read_text()
    assert "What do people prefer?" in text
    assert "secret-system-1" in text
