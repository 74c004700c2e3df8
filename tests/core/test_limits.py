"""Nothing is waited for without end, nothing too large is tried: what is refused is refused with the limit's name."""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from plainly.cli import main
from plainly.core import limits
from plainly.core.errors import BadInput
from plainly.core.files import read_whole


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.SETTING, "wait=1,command=1,file=1000000,text=500000")


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    return path


# Every reader of files: lines, tables, ratings, labels, saved scores, states, corpora in parts, grids, recipes.
READERS = (
    "score {}", "score --source {0} {0}", pytest.param("score -t asset/test {}", marks=pytest.mark.mirror),
    "score --demo {}", "score {} --engine local",
    "score --source {0} {0} --engine local", "compare {}", "compare {}.npz", "report {}", "report {}.npz",
    "audit --source {0} {0}", "doctor {}", "operations label {}", "operations profile {}",
    "operations agreement {0} {0}", "operations repair {}", "operations convert {} out.tsv",
    "operations compare {}", "operations evaluate {}",
    "meta {}", "meta {}.csv", "plan {}.ods", "plan {}", "grid {}", "train sle --corpus {}", "train sle --recipe {} x",
    "score --source {0} {0} --groups {0}", "score --table {}",
)  # fmt: skip


@pytest.mark.parametrize("arguments", READERS)
def test_a_pipe_without_a_writer_is_not_waited_for(
    arguments: str, fifo: Path, short: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fifo.parent)
    for suffix in (".npz", ".csv", ".ods"):
        os.mkfifo(f"{fifo}{suffix}")
    start = time.monotonic()
    try:
        status: object = main(arguments.format(fifo).split())
    except SystemExit as refused:
        status = refused.code
    assert status == 2
    assert time.monotonic() - start < 20
    assert capsys.readouterr().err.count("\n") >= 1


def test_a_pipe_with_a_late_writer_is_read(fifo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write() -> None:
        time.sleep(1)
        fifo.write_text('{"source": "A cat sat.", "output": "A cat."}\n' * 3)

    for more in ([], ["--engine", "local", "--processes", "1"]):
        threading.Thread(target=write).start()
        assert main(["score", str(fifo), "-m", "length", "--json", "--no-advice", *more]) == 0
        assert '"items": 3' in capsys.readouterr().out


def test_an_endless_program_is_stopped(tmp_path: Path, short: None, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "endless.sh"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert main(["score", "--demo", "editor", "-m", f"command(run={program})"]) == 2
    assert "PLAINLY_LIMITS=command=" in capsys.readouterr().err


def test_a_bucket_that_does_not_answer_is_given_up(
    short: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fs = pytest.importorskip("pyarrow.fs")

    class Silent:
        @staticmethod
        def from_uri(uri: str) -> None:
            time.sleep(30)

    monkeypatch.setattr(fs, "FileSystem", Silent)
    assert main(["score", "s3://nowhere/corpus", "-m", "fkgl"]) == 2
    assert "s3://nowhere/corpus" in capsys.readouterr().err


def _zip(name: str, size: int) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"0" * size)
    return sink.getvalue()


def _npz() -> bytes:
    sink = io.BytesIO()
    np.savez_compressed(sink, about=np.zeros(3_000_000, dtype=np.uint8))
    return sink.getvalue()


def _parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    sink = io.BytesIO()
    texts = [f"{at}" * 500 for at in range(3000)]
    pq.write_table(pyarrow.table({"output": texts}), sink, compression="gzip", use_dictionary=False)
    return sink.getvalue()


BOMBS = {
    "a.txt.gz": lambda: gzip.compress(b"word " * 1_000_000),
    "a.jsonl.gz": lambda: gzip.compress(b'{"output": "a"}\n' * 200_000),
    "large.csv": lambda: b"output\n" + b"word\n" * 300_000,
    "a.npz": _npz,
    "a.parquet": _parquet,
    "a.xlsx": lambda: _zip("xl/workbook.xml", 5_000_000),
    "a.ods": lambda: _zip("content.xml", 5_000_000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_too_large_unpacked_is_refused(
    name: str, tmp_path: Path, short: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    command = {".npz": "compare", ".xlsx": "meta", ".ods": "meta"}.get(path.suffix, "score")
    assert main([command, str(path), *(["-m", "fkgl"] if command == "score" else [])]) == 2
    error = capsys.readouterr().err
    assert re.search(r"1,000,000\b.*PLAINLY_LIMITS=file=", error), error


def test_a_line_that_is_too_long_is_refused_wherever_it_comes_from(
    tmp_path: Path, short: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.txt"
    path.write_text("A cat.\n" + "x" * 600_000 + "\n")
    for more in (["--engine", "memory"], ["--engine", "local", "--processes", "1"]):
        assert main(["score", str(path), "-m", "length", *more]) == 2
        assert "PLAINLY_LIMITS=text=600000" in capsys.readouterr().err


def test_a_device_without_end_is_refused(short: None) -> None:
    with pytest.raises(BadInput, match="/dev/zero"):
        read_whole("/dev/zero")


def test_every_limit_is_documented() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for name, of in limits.LIMITS.items():
        assert f"| `{name}` | {of.scope} | {of.value:,} {of.unit} |" in page, name
