"""What is broken on disk, or cannot be written: one sentence and exit status 2, for every kind of file."""

from __future__ import annotations

import ast
import io
import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT
from plainly.cli import main
from plainly.learned.encoder import SHIPPED, directory

SOURCE = ROOT / "src" / "plainly"


def _error_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    status = main([*arguments, "--debug"])
    error = capsys.readouterr().err
    assert status == 2, error[-1500:]
    assert error.splitlines()[-1].startswith("plainly: ")
    return error.splitlines()[-1]


def _sheet(kind: str) -> bytes:
    """A small spreadsheet, as offices write them."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        if kind == ".ods":
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            office = "urn:oasis:names:tc:opendocument:xmlns"
            archive.writestr(
                "content.xml",
                f'<office:document-content xmlns:office="{office}:office:1.0" xmlns:table="{office}:table:1.0" '
                f'xmlns:text="{office}:text:1.0"><office:body><office:spreadsheet><table:table table:name="a">'
                "<table:table-row><table:table-cell><text:p>system</text:p></table:table-cell></table:table-row>"
                "</table:table></office:spreadsheet></office:body></office:document-content>",
            )
        else:
            main_space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
            relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
            archive.writestr(
                "xl/workbook.xml",
                f'<workbook xmlns="{main_space}" xmlns:r="{relations}"><sheets><sheet name="a" sheetId="1" r:id="rId1"'
                "/></sheets></workbook>",
            )
            archive.writestr(
                "xl/_rels/workbook.xml.rels",
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
                f'Id="rId1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
            )
            archive.writestr(
                "xl/worksheets/sheet1.xml",
                f'<worksheet xmlns="{main_space}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>system</t></is>'
                "</c></row></sheetData></worksheet>",
            )
    return sink.getvalue()


@pytest.mark.parametrize("suffix", [".ods", ".xlsx"])
def test_damaged_sheets(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)
    whole = _sheet(suffix)
    path = tmp_path / f"ratings{suffix}"
    cases = [whole, b"", b"PK\x03\x04", b"nonsense", whole[: len(whole) // 2], whole[:-10]]
    for _ in range(40):
        broken = bytearray(whole)
        for _ in range(rng.choice((1, 5, 30))):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        cases.append(bytes(broken))
    for content in cases:
        path.write_bytes(content)
        for command in ("meta", "plan", "results", "agreement"):
            _error_of([command, str(path)], capsys)


@pytest.mark.parametrize("metric", ["sle", "meaning"])
@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "model.json"])
def test_models_that_are_broken(metric: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = directory(SHIPPED)
    content = (whole / name).read_bytes()
    other = b"{}" if name.endswith("json") else content[:4] + b"\0" * 100
    for number, broken in enumerate((b"", content[: len(content) // 2], other, b"[1, 2]", b"\xff\xfe")):
        place = tmp_path / str(number)
        shutil.copytree(whole, place)
        (place / name).write_bytes(broken)
        error = _error_of(["score", "--demo", "editor", "-m", f"{metric}(model={place})"], capsys)
        assert str(place) in error
    (tmp_path / "0" / name).unlink()
    assert name in _error_of(["score", "--demo", "editor", "-m", f"{metric}(model={tmp_path / '0'})"], capsys)


def test_a_model_whose_description_is_another_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(directory(SHIPPED), tmp_path / "model")
    facts = json.loads((tmp_path / "model" / "model.json").read_text())
    (tmp_path / "model" / "model.json").write_text(json.dumps(facts | {"heads": ["a"] * 9}))
    assert "heads" in _error_of(["score", "--demo", "editor", "-m", f"sle(model={tmp_path / 'model'})"], capsys)


def test_studies_whose_database_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "study.toml"
    assert main(["studio", "create", str(project), "--demo", "--items", "3"]) == 0
    database = next(tmp_path.glob("*.db"))
    whole = database.read_bytes()
    capsys.readouterr()
    for broken in (b"nonsense" * 400, whole[:100], whole[:16] + b"\xff" * 5000, whole[:5000]):
        database.write_bytes(broken)
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        for action in (["status"], ["export"], ["invite"], ["backup", str(tmp_path / "copy.db"), "--force"]):
            _error_of(["studio", action[0], str(project), *action[1:]], capsys)
        _error_of(["meta", str(project)], capsys)


WRITERS = (
    "score --demo editor -m fkgl --save out.npz", "score --demo editor -m fkgl --segments out.csv",
    "score --demo editor -m fkgl --segments out.tsv", "score --demo editor -m fkgl --segments out.jsonl",
    "score --demo editor -m fkgl --segments out.parquet", "report --demo editor noisy -o out.html",
    "operations label --source s.txt s.txt -o out.jsonl", "operations label --source s.txt s.txt -o out.tsv",
    "operations label --source s.txt s.txt -o out.aln", "operations label --source s.txt s.txt -o out.ann",
    "operations convert labels.jsonl out.tsv", "operations repair labels.jsonl -o out.jsonl",
    "plan ratings.csv --plot out.svg", "grid grid.toml", "studio export study.toml -o out.csv --force",
    "score --source s.txt s.txt --engine local --processes 1 -m fkgl --on-error set-aside --set-aside out.jsonl",
)  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", WRITERS)
def test_a_full_disk_is_said(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.txt").write_text("A cat sat on the mat.\nA dog ran.\n")
    assert main(["operations", "label", "--source", "s.txt", "s.txt", "-o", "labels.jsonl"]) == 0
    ratings = [f"{s},{i},{r},{(i * 7 + len(s) + r) % 5}" for s in ("A", "BB") for i in range(9) for r in range(3)]
    (tmp_path / "ratings.csv").write_text("\n".join(["system,item,rater,simplicity", *ratings]) + "\n")
    (tmp_path / "grid.toml").write_text(
        'out = "results"\nmetrics = ["fkgl"]\n[test_sets.a]\nsource = "s.txt"\n[systems]\nb = "s.txt"\n'
    )
    if "studio" in arguments:
        assert main(["studio", "create", "study.toml", "--demo", "--items", "2"]) == 0
    capsys.readouterr()
    for suffix in ("npz", "csv", "tsv", "jsonl", "parquet", "html", "svg", "aln", "crp", "ann", "txt"):
        (tmp_path / f"out.{suffix}").symlink_to("/dev/full")
    if "grid" in arguments:
        (tmp_path / "results").mkdir()
        monkeypatch.setattr("plainly.core.files.os.replace", _full)
    error = _error_of(arguments.split(), capsys)
    assert "out." in error or "grid" in arguments
    assert not list(tmp_path.rglob(".*.part"))


def _full(*_: object) -> None:
    raise OSError(28, os.strerror(28))


def test_standard_output_that_is_full(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "plainly", "score", "--demo", "editor", "-m", "fkgl", "--no-advice"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_cache_that_cannot_be_written_is_needed_only_for_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "file"))
    (tmp_path / "s.txt").write_text("A cat sat on the mat.\n" * 3)
    text = str(tmp_path / "s.txt")
    assert main(["score", "--source", text, text, "--engine", "local", "--processes", "1", "-m", "fkgl"]) == 0
    assert "[state]" in capsys.readouterr().err


def test_nothing_in_a_data_file_is_run() -> None:
    """No pickle from a file, no code by name, no model that brings code: looked for in the whole source."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            named = {word.arg: ast.unparse(word.value) for word in node.keywords}
            where = f"{path.relative_to(SOURCE)}:{node.lineno}"
            if name == "torch.load":
                assert named.get("weights_only") == "True", where
            assert named.get("allow_pickle") != "True", where
            assert named.get("trust_remote_code") in (None, "False"), where
            assert name not in ("eval", "exec", "yaml.load", "yaml.unsafe_load", "joblib.load", "pickle.load"), where
            if name in ("pickle.loads", "ray.cloudpickle.loads"):
                assert path.parent.name == "engines", f"{where}: only between our own processes"
