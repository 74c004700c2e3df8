"""``plainly data``: results on stdout, words on stderr, JSON with a schema, and errors that name the next step."""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from plainly import data
from plainly.cli import data as command
from plainly.cli.show import show
from plainly.core.errors import BadInput, UnknownName


def plainly_data(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    args = parser.parse_args(words)
    return show(command.run(args), args.format)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))


def test_list_is_a_plain_table_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly_data("list") == 0
    out, err = capsys.readouterr()
    head, _, *rows = out.splitlines()
    assert head.split() == ["name", "kind", "items", "size", "licence", "here", "title"]
    assert [row.split()[0] for row in rows] == list(data.names())
    assert "\x1b" not in out
    assert err == ""


def test_list_by_kind_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly_data("list", "--kind", "outputs", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "plainly.data/1"
    assert {entry["kind"] for entry in answer["sets"]} == {"outputs"}
    assert {entry["name"] for entry in answer["sets"]} >= {"outputs/easse", "outputs/muss"}
    assert set(answer["sets"][0]) == {"name", "kind", "title", "items", "bytes", "licence", "here"}


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly_data("info", "asset/test") == 0
    out = capsys.readouterr().out
    assert "CC-BY-NC-4.0" in out
    assert "@inproceedings{alva-manchego-etal-2020-asset," in out
    assert re.search(r"^Systems: ACCESS, ", out, re.MULTILINE)
    assert re.search(r"^files +11 \(398 KB\), \d+ of them on this machine$", out, re.MULTILINE)


@pytest.mark.parametrize("name", data.names())
def test_info_as_json_for_every_set(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly_data("info", name, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    card, entry = data.card(name), answer["set"]
    assert answer["schema"] == "plainly.data/1"
    assert entry["name"] == name
    assert [file["url"] for file in entry["files"]] == [file.url for file in card.files]
    assert {"sha256", "size", "role", "system", "path"} <= set(entry["files"][0])
    assert entry["citation"].startswith("@")


def test_get_says_where_the_files_are(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly_data("get", "asset/test", "--with-outputs") == 0
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["asset/test", "outputs/easse", "outputs/muss"]
    assert rows[0][1:5] == ["11", "398", "KB", "CC-BY-NC-4.0"]
    assert Path(rows[0][5]).is_relative_to(mirror)
    assert len(err.splitlines()) == 1


def test_get_as_json(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly_data("get", "pwkp/test", "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)["sets"]
    assert entry["here"] is True
    assert [Path(path).name for path in entry["paths"]] == ["pwkp.test.orig", "pwkp.test.simp"]


@pytest.mark.mirror
def test_get_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert plainly_data("get", "--all") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(data.names())


def test_wrong_names_and_none() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'asset/test'"):
        plainly_data("info", "asset/tset")
    with pytest.raises(UnknownName, match="plainly data list"):
        plainly_data("get", "asset/test", "nonsense")
    with pytest.raises(BadInput, match="--all"):
        plainly_data("get")


@pytest.fixture
def mirror_url(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The mirror as an institution would offer it: any web server over the directory."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(mirror)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("PLAINLY_MIRROR", f"http://127.0.0.1:{server.server_address[1]}")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("mirror_url")
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
def test_get_from_a_web_server(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("COLUMNS", "300")
    names = ["onestopenglish/pairs", "pwkp/test"]
    assert plainly_data("get", *names) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines() if "/" in line] == names
    assert str(tmp_path / "cache") in out
    assert "fetching" not in err, "downloads that take less than two seconds are not worth a line"
    assert plainly_data("get", *names) == 0
    assert len(data.load("pwkp/test")) == 100
