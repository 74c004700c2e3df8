"""A study without a web server: its ratings go straight to ``plainly meta``, and every action is a function."""

from __future__ import annotations

import json
import math
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
from studio.conftest import Make, Place, Rater, four, rater, rating_project, simple_items
from studio.test_ranking_and_owner_pages import ranking_items


def rate_everything(place: Place, who: Rater, *, shift: int = 0) -> None:
    """Answer every item, with values that differ from item to item."""
    while items := who.claim(10)["items"]:
        for item in items:
            number = int(re.findall(r"\d+", item["source"])[0]) + shift
            values = {scale.name: _value(scale, number + at) for at, scale in enumerate(place.project.scales)}
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
    place = make(parse_project({"name": "Test", "assignment": {"overlap": 2, "ahead": 10}, **how}), simple_items(8))
    rate_everything(place, rater(place))
    for shift in (1, 2):  # Two more people have begun.
        who = rater(place)
        (item,) = who.claim()["items"]
        low = {scale.name: scale.minimum for scale in place.project.scales}
        answer = {"values": low} if shift == 1 else {"cannot_judge": True}
        assert who.answer(item, answer).status_code == 201
    direct = people.read_ratings(place.file)
    (tmp_path / "export.csv").write_bytes(plainly_studio.export(place.file))
    same(direct, people.read_ratings(tmp_path / "export.csv"))
    assert direct.systems == ("secret-system-0", "secret-system-1") or direct.systems[0].startswith("secret-system")
    assert {direct[scale.name].scale for scale in place.project.scales} == {
        (scale.minimum, scale.maximum) for scale in place.project.scales
    }, "the study knows its scales; a table's can only be guessed"
    assert sum(int(np.isfinite(direct[name].values).sum()) for name in direct) == 9 * len(place.project.scales)


def test_meta_and_plan_take_a_study_while_it_is_served(make: Make, serve: Any, capsys: Any) -> None:
    place = make(rating_project(assignment={"overlap": 6, "ahead": 10}), simple_items(12))
    server = serve(place)
    names = []
    for number in range(6):
        who = Rater(server.url, place.link())
        names.append(who.name)
        while items := who.claim(10)["items"]:
            for item in items:
                truth = 1 + int(re.findall(r"\d+", item["source"])[0]) % 5
                assert who.answer(item, four(6 - truth if number == 5 else truth)).status_code == 201
        who.client.close()
    assert main(["meta", str(place.file), "--agreement", "--resamples", "20", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    shown = plainly_studio.status(place.file).json()
    assert shown["schema"] == "plainly.studio/1"
    alphas = {row["name"]: row["alpha"] for row in shown["agreement"]}
    for row in told["agreement"]:
        (alpha,) = (c["value"] for c in row["coefficients"] if c["name"] == "Krippendorff's alpha, ordinal")
        expected = alphas[row["dimension"]]
        assert alpha is None if math.isnan(expected) else alpha == pytest.approx(expected, abs=1e-9)
    assert [row["rater"] for row in shown["raters"] if row["reasons"]] == [names[5]]
    assert "grammaticality, meaning, simplicity: rates against the others" in next(
        row["reasons"][0] for row in shown["raters"] if row["reasons"]
    ), "the dashboard flags whom plainly meta flags, in its words"
    assert main(["meta", str(place.file), "-m", "fkgl", "--resamples", "20"]) == 0
    assert main(["plan", str(place.file), "--dimension", "meaning", "--resamples", "20"]) == 0
    assert main(["meta", str(place.file), "--scale", "1..5"]) == 2
    assert "Leave columns and scale out" in capsys.readouterr().err


def test_studies_without_ratings_say_what_they_hold(make: Make, capsys: Any) -> None:
    ranking = make(parse_project({"name": "Pairs", "task": "ranking"}), ranking_items(3, 2), name="ranking")
    marking = make(parse_project({"name": "Marks", "task": "operations"}), simple_items(3), name="operations")
    empty = make(rating_project(), simple_items(3), name="empty")
    for place, says in (
        (ranking, "Nobody has ranked anything yet"),
        (marking, "Marks holds no ratings: people mark operations"),
        (empty, "Test has no ratings yet"),
    ):
        assert main(["meta", str(place.file)]) == 2
        assert says in capsys.readouterr().err
    with pytest.raises(BadInput, match="There is no database"):
        people.read_ratings("nowhere.toml")


def test_a_study_elsewhere_is_found_by_the_environment(
    make: Make, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make(rating_project(), simple_items(2), database=postgres_database)
    who = rater(place)
    rate_everything(place, who)
    monkeypatch.setenv("PLAINLY_STUDIO_DATABASE", postgres_database)
    assert people.read_ratings(place.file)["meaning"].raters == (who.name,)


def test_what_cannot_be_judged_and_comments_come_back_from_an_export(make: Make, tmp_path: Path) -> None:
    place = make(rating_project(assignment={"overlap": 1, "ahead": 1}), simple_items(3))
    who = rater(place)
    for answer in ({**four(2), "comment": "-1 for style"}, {"cannot_judge": True, "comment": "garbled"}, four(4)):
        (item,) = who.claim()["items"]
        assert who.answer(item, answer).status_code == 201
    table = tmp_path / "export.csv"
    table.write_bytes(plainly_studio.export(place.file))
    again = tmp_path / "again.toml"
    imported = plainly_studio.import_set(again, str(table))
    assert (imported.project, imported.items, imported.raters, imported.answers) == (str(table), 3, 1, 3)
    lines, before = (
        [json.loads(line) for line in plainly_studio.export(file, "jsonl").splitlines()] for file in (again, place.file)
    )
    assert lines == before
    same(people.read_ratings(again), people.read_ratings(place.file))


def test_only_ratings_by_people_become_a_project_and_a_failed_one_leaves_nothing(make: Make, tmp_path: Path) -> None:
    place = make(parse_project({"name": "Pairs", "task": "ranking"}), ranking_items(2, 2), name="ranking")
    who = rater(place)
    (item,) = who.claim()["items"]
    assert who.answer(item, {"choice": {"best": 0}}, seconds=3).status_code == 201
    (tmp_path / "choices.csv").write_bytes(plainly_studio.export(place.file))
    (tmp_path / "means.csv").write_text("system,item,simplicity\nA,1,2.5\n")
    wide = "system,item,simplicity_1,simplicity_2,simplicity_zscore\nA,1,2,-1,0.5\nA,2,0,,0.1\n"
    (tmp_path / "wide.csv").write_text(wide)
    for name, says in (("means.csv", "holds means"),):
        with pytest.raises(BadInput, match=says):
            plainly_studio.import_set(tmp_path / "new.toml", str(tmp_path / name))
        assert not list(tmp_path.glob("new.*"))
    plainly_studio.import_set(tmp_path / "new.toml", str(tmp_path / "wide.csv"))
    judged = people.read_ratings(tmp_path / "new.toml")  # the database is enough
    assert judged.dimensions == ("simplicity",), "z-scores are computed, not given"
    assert judged["simplicity"].scale == (-2, 2)
    np.testing.assert_array_equal(judged["simplicity"].values, [[[2, -1], [0, np.nan]]])


def test_results_show_themselves(make: Make, tmp_path: Path, capsys: Any) -> None:
    created = plainly_studio.create(tmp_path / "demo.toml", demo=True, task="ranking", overlap=3)
    assert created.json() | {"owner_path": ""} == {
        "schema": "plainly.studio/1",
        "project": "demo",
        "database": f"sqlite:///{tmp_path}/demo.db",
        "owner_path": "",
        "items": created.items,
        "raters": 0,
        "answers": 0,
    }
    assert "http://127.0.0.1:8000/join/" in repr(created)
    invited = plainly_studio.invite(tmp_path / "demo.toml", count=2, public_url="https://rate.example.org/")
    assert [record["link"] for record in invited.records()] == invited.json()["links"]
    assert all(link.startswith("https://rate.example.org/join/") for link in invited.links)
    place = make(rating_project(assignment={"overlap": 2, "ahead": 10}), simple_items(6))
    for shift in (0, 1):
        rate_everything(place, rater(place), shift=shift)
    status = plainly_studio.status(place.file)
    (table,) = status.tables()
    assert table.caption == "12 of 12 answers by 2 raters"
    assert [row[0] for row in table.rows] == [scale.name for scale in place.project.scales]
    assert main(["studio", "status", str(place.file), "--csv", "--strict"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.startswith("name,level,alpha,low,high,first_half,second_half,ratings,compared")
    assert len(lines) == 4
    assert status.to_pandas()["ratings"].tolist() == [12] * 4
    assert plainly_studio.backup(place.file, tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_without_its_packages_the_studio_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("")
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from plainly.cli import main\n"
        f"sys.exit(main(['meta', {str(tmp_path / 'study.toml')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert "plainly[studio]" in done.stderr


def test_meta_reads_rankings_of_a_study_and_of_its_export(make: Make, tmp_path: Path, capsys: Any) -> None:
    place = make(parse_project({"name": "Pairs", "task": "ranking", "assignment": {"ahead": 10}}), ranking_items(8, 2))
    who = rater(place)
    for at, item in enumerate(who.claim(10)["items"]):
        best = next(place for place, text in enumerate(item["outputs"]) if text.endswith("s1"))
        choice = {"tie": True} if at == 0 else {"best": best}
        assert who.answer(item, {"choice": choice}).status_code == 201
    (tmp_path / "choices.csv").write_bytes(plainly_studio.export(place.file))
    told = []
    for file in (place.file, tmp_path / "choices.csv"):
        assert main(["meta", str(file), "--resamples", "50", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]
    first, second = told[0]["systems"]
    assert (first["system"], first["wins"], first["ties"]) == ("secret-system-1", 7, 1)
    assert first["win_rate"]["value"] == pytest.approx(7.5 / 8)
    assert second["strength"]["value"] == pytest.approx(-first["strength"]["value"])
    shown = plainly_studio.status(place.file).json()["preferences"]
    assert shown[0]["system"] == "secret-system-1"


def test_the_report_shows_what_people_preferred(make: Make, tmp_path: Path) -> None:
    place = make(parse_project({"name": "Pairs", "task": "ranking", "assignment": {"ahead": 10}}), ranking_items(4, 2))
    who = rater(place)
    for item in who.claim(10)["items"]:
        assert who.answer(item, {"choice": {"best": 0}}).status_code == 201
    for name in ("source", "a"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {at} is short.\n" for at in range(4)))
    page = tmp_path / "report.html"
    command = ["report", "--source", str(tmp_path / "source.txt"), "-m", "fkgl", "--ratings", str(place.file)]
    assert main([*command, "-o", str(page), "--", f"A={tmp_path / 'a.txt'}"]) == 0
    text = page.read_text()
    assert "What do people prefer?" in text
    assert "secret-system-1" in text
