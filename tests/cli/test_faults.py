"""What happens to the user's files, streams and disks: nothing is lost, and every fault is one sentence."""

from __future__ import annotations

import io
import lzma
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plainly.cli import commands, main

TEXTS = "A cat sat on the mat.\nA dog ran home.\n"
PRECIOUS = {
    "page.html": '<meta name="generator" content="plainly"><div id="vega">my notes</div>',
    "items.csv": "system,id,sari\nA,1,40\n",
    "rows.jsonl": '{"system": "A", "id": "1"}\n{"file": "x", "first": 1}\n',
    "result.json": '{"schema": "plainly.score/1"}',
    "figure.svg": '<svg class="figure plainly-figure"></svg>',
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    for name in ("source.txt", "out.txt"):
        Path(name).write_text(TEXTS)
    for name, content in PRECIOUS.items():
        Path(name).write_text(content)
    return tmp_path


SCORE = ["score", "--source", "source.txt", "out.txt", "-m", "length", "--no-advice", "--no-intervals"]
REPORT = ["report", "--source", "source.txt", "out.txt", "-m", "length", "--no-audit", "--labeller", "none"]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([*REPORT, "-o"], "page.html"),
        ([*SCORE, "--segments"], "items.csv"),
        ([*SCORE, "--segments"], "rows.jsonl"),
        ([*SCORE, "--engine", "local", "--processes", "1", "--set-aside"], "rows.jsonl"),
        (["gate", "--preset", "quick", "--source", "source.txt", "out.txt", "--sarif"], "result.json"),
        (["operations", "label", "--labeller", "rules", "--source", "source.txt", "out.txt", "-o"], "rows.jsonl"),
        (["operations", "convert", "labels.jsonl"], "rows.jsonl"),
        (["operations", "repair", "labels.jsonl", "-o"], "rows.jsonl"),
    ],
)
def test_files_of_the_user_stay(arguments: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("labels.jsonl").write_text('{"id": "1", "source": "a b", "output": "a", "groups": []}\n')
    assert main([*arguments, name]) == 2
    assert "--force" in capsys.readouterr().err
    assert Path(name).read_text() == PRECIOUS[name]
    assert main([*arguments, name, "--force"]) in (0, 1)
    assert main([*arguments, name]) in (0, 1), "what plainly wrote may be written again"
    Path(name).write_text(Path(name).read_text() + "\n")
    assert main([*arguments, name]) == 2, "but not what the user has changed since"


@pytest.mark.parametrize(
    ("arguments", "directory", "name"),
    [
        ([*REPORT, "--figures"], "figures", "methods.txt"),
        (["audit", "--demo", "editor", "-m", "length", "--attacks", "lowercase", "--trials", "2", "--processes", "1",
          "--out"], "tables", "verdicts.md"),
    ],
)  # fmt: skip
def test_files_of_the_user_in_a_directory_stay(arguments: list[str], directory: str, name: str) -> None:
    Path(directory).mkdir()
    precious = Path(directory, name)
    precious.write_text("precious")
    assert main([*arguments, directory]) == 2
    assert precious.read_text() == "precious"
    assert main([*arguments, directory, "--force"]) == 0
    assert main([*arguments, directory]) == 0


def test_parts_of_a_corpus_in_a_folder_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    streamed = [*SCORE, "--engine", "local", "--processes", "1", "--segments", "parts"]
    assert main(streamed) == 0
    assert "Wrote parts" in capsys.readouterr().err
    assert main(streamed) == 0
    Path("parts/part-000000.parquet").write_text("precious")
    assert main(streamed) == 2
    assert Path("parts/part-000000.parquet").read_text() == "precious"


def test_no_page_is_there_after_an_error() -> None:
    assert main([*REPORT, "--figures", "out.txt", "-o", "new.html"]) == 2
    assert not Path("new.html").exists()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_what_cannot_be_encoded_is_replaced(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out.txt").write_text("A cat — 城市.\nA dog\u2028ran.\n", encoding="utf-8")
    for arguments in (["metrics", "chrf"], ["facts", "--rules", "--source", "source.txt", "out.txt"]):
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding))
        assert main(arguments) == 0
        assert out.getvalue()


@pytest.mark.parametrize("streams", [("stdout",), ("stderr",), ("stdout", "stderr")])
def test_closed_streams(streams: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in ([*SCORE, "--json"], ["--help"], SCORE, ["gate", "init"]):
        for stream in streams:
            monkeypatch.setattr(sys, stream, None)
        assert main(arguments) == 0
    for stream in streams:
        monkeypatch.setattr(sys, stream, None)
    assert main(["score", "missing.txt"]) == 2


@contextmanager
def _files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk(capsys: pytest.CaptureFixture[str]) -> None:
    with _files_of_at_most(300):
        status = main([*SCORE, "--engine", "local", "--processes", "1", "--segments", "parts"])
    assert status == 2
    assert "parts" in capsys.readouterr().err
    assert os.listdir("parts") == []


@pytest.mark.parametrize("at", [30, 45, 70])
def test_a_damaged_archive_is_refused_wherever_it_is_read(at: int, capsys: pytest.CaptureFixture[str]) -> None:
    content = bytearray(lzma.compress(TEXTS.encode()))
    content[at] ^= 255
    Path("out.xz").write_bytes(content)
    for engine in ("memory", "local"):
        arguments = ["--engine", engine, "--source", "source.txt", "out.xz", "-m", "length", "--processes", "1"]
        assert main(["score", *arguments]) == 2
        assert "out.xz" in capsys.readouterr().err


def test_names_that_are_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    for name in (".", "..", "/", ""):
        for option in ("--save", "--segments"):
            assert main([*SCORE, option, name]) in ((0, 2) if not name else (2,)), (option, name)


def test_what_was_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SCORE, "--save", "new.npz", "--segments", "new.csv"]) == 0
    gate = ["gate", "--preset", "quick", "--source", "source.txt", "out.txt", "--junit", "new.xml", "--sarif", "n.json"]
    assert main(gate) in (0, 1)
    messages = capsys.readouterr().err
    assert all(f"Wrote {name}" in messages for name in ("new.npz", "new.csv", "new.xml", "n.json"))


@pytest.mark.parametrize("command", commands())
def test_help_shows_placeholders_and_no_lists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "['" not in capsys.readouterr().out
