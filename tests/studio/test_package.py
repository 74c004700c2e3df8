"""From the wheel, in a clean environment: everything is there, nothing is fetched, and it is quick."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import ROOT
from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly_studio import creation
from plainly_studio.app import build
from plainly_studio.context import Studio
from plainly_studio.owner_pages import EDITABLE
from plainly_studio.people import Secret
from plainly_studio.project import parse_project, protocols, read_project
from plainly_studio.store import Store
from studio.conftest import Make, TestClient, free_port, join, rating_project, simple_items
from studio.test_paid import act
from studio.test_security import owner


def test_one_command_from_files_to_a_study(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "source.txt").write_text("One hard sentence.\nAnother hard sentence.\n")
    (tmp_path / "a.txt").write_text("One easy one.\nAnother easy one.\n")
    project = tmp_path / "study.toml"
    command = [
        "create",
        str(project),
        "--source",
        str(tmp_path / "source.txt"),
        "--outputs",
        f"A={tmp_path / 'a.txt'}",
        "--json",
    ]
    assert main(["studio", *command]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert read_project(project).data.outputs == ("A=a.txt",)
    with closing(Store(f"sqlite:///{tmp_path}/study.db")) as store:
        application = build(Studio(store, Secret(tmp_path / "study.secret")))
        assert TestClient(application, base_url="http://localhost").get(reply["owner_path"]).status_code == 200
    assert main(["studio", *command]) == 2, "an existing project is not overwritten"
    assert main(["studio", "create", str(project)]) == 2
    assert "study.db" in capsys.readouterr().err


def test_a_failed_attempt_leaves_nothing_behind(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "source.txt").write_text("One hard sentence.\nAnother hard sentence.\n")
    (tmp_path / "short.txt").write_text("One easy one.\n")
    project = tmp_path / "study.toml"
    command = ["create", str(project), "--source", str(tmp_path / "source.txt"), "--outputs"]
    assert main(["studio", *command, str(tmp_path / "short.txt")]) == 2
    assert "short.txt" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["short.txt", "source.txt"]
    assert main(["studio", *command, f"A={tmp_path / 'source.txt'}"]) == 0


def test_status_invite_export_and_backup_from_the_command_line(make: Make, tmp_path: Path, capsys: Any) -> None:
    study = make(rating_project(), simple_items(3))
    common = [str(study.file), "--database", study.database]
    assert main(["studio", "status", *common, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wanted"] == 6
    assert main(["studio", "invite", *common, "-n", "3"]) == 0
    assert len(set(capsys.readouterr().out.split())) == 3
    assert main(["studio", "export", *common, "--format", "jsonl", "-o", str(tmp_path / "out.jsonl")]) == 0
    assert main(["studio", "backup", *common, str(tmp_path / "copy.db")]) == 0
    assert main(["studio", "export", *common, "--format", "xls"]) == 2
    assert "csv, jsonl, parquet" in capsys.readouterr().err


@pytest.mark.parametrize(
    "setting",
    [
        "assignment.per_rater = -2",
        "assignment.raters = -3",
        "quality.check_every = -1",
        "quality.cannot_judge_share = 3",
        "crowd.bonus = -0.5",
        "crowd.bonus_checks = 1.2",
        "stop.half_width = nan",
        "exclusion.minimum_seconds = inf",
    ],
)
def test_impossible_numbers_are_refused_in_the_file_and_in_the_form(make: Make, tmp_path: Path, setting: str) -> None:
    name, _, value = setting.partition(" = ")
    file = tmp_path / "study.toml"
    file.write_text(f'{setting}\n[project]\nname = "x"\n')
    with pytest.raises(BadInput, match=re.escape(name)):
        read_project(file)
    if name in EDITABLE:
        study = make(rating_project(), simple_items(2))
        assert act(owner(study), "/owner/settings", **{name: value}).status_code == 422
        assert study.store.project() == study.project


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"name": "x", "tusk": "rating"}, "Did you mean 'task'"),
        ({"name": "x", "assignment": {"overlapp": 3}}, "Did you mean 'overlap'"),
        ({"task": "rating"}, "'name' is missing"),
        ({"name": "x", "task": "dancing"}, "task must be one of 'operations', 'ranking', 'rating', not 'dancing'"),
        ({"name": "x", "assignment": {"overlap": "3"}}, "assignment.overlap must be a whole number"),
        ({"name": "x", "ranking": {"method": "best"}}, "'best-worst', 'pairwise'"),
        ({"name": "x", "assignment": {"overlap": 0}}, "overlap >= 1"),
        ({"name": "x", "assignment": 3}, "assignment must be a table, not 3"),
        ({"name": "x", "scales": 3}, "scales must be a list (each: a table), not 3"),
        ({"name": "x", "scales": [3]}, "scales[1] must be a table, not 3"),
        ({"name": "x", "scales": [{"name": "s", "question": "?", "minimum": 5, "maximum": 1}]}, "minimum < maximum"),
    ],
)
def test_a_wrong_project_file_is_explained(content: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        parse_project(content)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"a": "caf\udce9"}'], "is not UTF-8"),
        (['{"kind": "project", "project": {"name": "x"}}', '{"kind": "ma'], "cut off"),
        (['{"kind": "project", "project": {"name": "x"}}', '{"kind": "main"}'], "cut off"),
    ],
)
def test_a_damaged_export_is_refused_and_leaves_nothing_behind(
    lines: list[str], message: str, tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "entries.jsonl"
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    assert main(["studio", "import", str(tmp_path / "new.toml"), str(file)]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("task", "item"),
    [
        ("rating", {"output": "A.", "expected": {"valeus": {"simplicity": 2}}}),
        ("rating", {"output": "A.", "expected": {"values": {"beauty": 2}}}),
        ("rating", {"output": "A.", "expected": {"values": {"simplicity": "2"}}}),
        ("rating", {"output": "A.", "expected": {"values": 2}}),
        ("rating", {"output": "A.", "expected": "two"}),
        ("rating", {"expected": {"values": {"simplicity": 2}}}),
        ("operations", {"output": "A.", "expected": {"labels": "split"}}),
        ("operations", {"output": "A.", "expected": {"labels": ["splitt"]}}),
        ("ranking", {"outputs": {"x": "A.", "y": "B."}, "expected": {"best": "z"}}),
    ],
)
def test_an_impossible_expected_answer_is_refused(task: str, item: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps({"source": "A b.", **item}))
    project = tmp_path / "study.toml"
    project.write_text(f'[project]\nname = "x"\ntask = "{task}"\n[quality]\nqualification = "test.jsonl"\n')
    assert main(["studio", "create", str(project), "--demo"]) == 2
    assert "test.jsonl:1: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "item"),
    [
        ("rating", {"output": "A.", "expected": {"values": {"simplicity": 2, "fluency": 1.5}}}),
        ("rating", {"output": "A.", "expected": '{"values": {"simplicity": 2}}'}),
        ("rating", {"output": "", "expected": {"cannot_judge": True}}),
        ("operations", {"output": "A.", "expected": {"labels": ["split"]}}),
        ("ranking", {"outputs": {"x": "A.", "y": "B."}, "expected": {"best": "x"}}),
    ],
)
def test_right_answers_are_kept(task: str, item: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps({"source": "A b.", **item}))
    project = parse_project({"name": "x", "task": task, "quality": {"training": "test.jsonl"}})
    (row,) = creation.quality_items(project, tmp_path)
    expected = item["expected"]
    assert json.loads(row["expected"]) == (json.loads(expected) if isinstance(expected, str) else expected)


def test_a_damaged_secret_and_a_crowd_of_one_are_refused(tmp_path: Path, capsys: Any) -> None:
    project = tmp_path / "study.toml"
    assert main(["studio", "create", str(project), "--demo"]) == 0
    assert main(["studio", "invite", str(project), "--kind", "crowd", "--once"]) == 2
    assert "crowd" in capsys.readouterr().err
    project.with_suffix(".secret").write_text("no")
    assert main(["studio", "export", str(project), "--format", "people.csv"]) == 2
    assert "study.secret" in capsys.readouterr().err


def test_the_papers_protocols() -> None:
    projects = {name: parse_project({"name": "x", "protocol": name}) for name in protocols()}
    scales = {
        name: [(one.name, one.minimum, one.maximum) for one in project.scales] for name, project in projects.items()
    }
    assert scales["sulem-2018"] == [
        ("grammaticality", 1, 5), ("meaning", 1, 5), ("simplicity", -2, 2), ("structural_simplicity", -2, 2)
    ]  # fmt: skip
    assert scales["tradeoff-2018"] == [("simplicity", -2, 2), ("fluency", 1, 5), ("adequacy", 1, 5)]
    assert {(low, high) for _, low, high in scales["direct-assessment"]} == {(0, 100)}
    with pytest.raises(UnknownName, match="sulem-2018"):
        parse_project({"name": "x", "protocol": "sulem-2019"})


def test_a_project_survives_its_own_json() -> None:
    project = parse_project(
        {"name": "x", "task": "ranking", "ranking": {"method": "best-worst"}, "stop": {"answers": 9}}
    )
    assert parse_project(json.loads(project.to_json())) == project


@pytest.mark.system
def test_the_first_page_is_small_and_asks_for_nothing_elsewhere(make: Make, serve: Any, context: Any) -> None:
    study = make(rating_project(), simple_items(3))
    server = serve(study)
    urls: list[str] = []
    sizes: dict[str, int] = {}

    def note(response: Any) -> None:
        urls.append(response.url)
        if response.status == 200:
            sizes[response.url] = len(response.body())

    page = context.new_page()
    page.on("response", note)
    join(page, server.url, study.link())
    page.locator("fieldset.current").wait_for()
    page.wait_for_timeout(300)
    assert urls
    assert all(url.startswith(server.url) for url in urls), urls
    first = {url: size for url, size in sizes.items() if "/join/" not in url}
    assert sum(first.values()) <= 100_000, first


@pytest.mark.system
def test_a_wheel_in_a_clean_environment_serves_everything(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run(
        [*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-w", str(wheels)], check=True, cwd=tmp_path
    )
    (wheel,) = wheels.glob("plainly-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "plainly_studio").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files <= names, files - names
    site = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    # The packages that the extra names come from this environment; plainly itself only from the wheel.
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site), "HOME": str(tmp_path)}
    project = tmp_path / "study.toml"
    (tmp_path / "s.txt").write_text("A hard sentence.\n")
    (tmp_path / "o.txt").write_text("An easy one.\n")
    run = [sys.executable, "-c", "import sys, plainly.cli; sys.exit(plainly.cli.main())", "studio"]
    where = subprocess.run(
        [sys.executable, "-c", "import plainly; print(plainly.__file__)"],
        env=environment, cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(site))
    subprocess.run(
        [*run, "create", str(project), "--source", str(tmp_path / "s.txt"), "--outputs", f"A={tmp_path / 'o.txt'}"],
        env=environment, cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    port = free_port()
    began = time.perf_counter()
    process = subprocess.Popen(
        [*run, "serve", str(project), "--port", str(port)], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                    break
            except OSError:
                assert process.poll() is None
                assert time.perf_counter() - began < 30
                time.sleep(0.02)
        for name in sorted(path.name for path in (ROOT / "src" / "plainly_studio" / "static").iterdir()):
            assert httpx.get(f"http://127.0.0.1:{port}/static/{name}").status_code == 200
    finally:
        process.terminate()
        process.wait(timeout=15)
