"""Reading texts: no file, column, row or cell is dropped without a line that says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import plainly
from plainly.cli import main
from plainly.core.errors import BadInput

SOURCES = [
    "He was obliged to leave.",
    "The cat sat on the mat today.",
    "It commenced at dawn.",
    "They were unable to come.",
]
REFERENCES = ["He had to leave.", "The cat sat on the mat.", "It began at dawn.", "They could not come."]
OUTPUTS = ["He had to go.", "The cat sat on a mat.", "It began at dawn.", "They could not come."]


def _write(path: Path, records: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def _records(**columns: list[str]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _scores(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    assert main(["score", *arguments, "-m", "sari", "--json", "--no-intervals"]) == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    return {system["system"]: system["scores"]["sari"]["value"] for system in systems}


IDS = ["a", "b", "c", "d"]


def test_every_file_is_a_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten files in, ten systems out: the first is the set and a system too."""
    files = [
        _write(tmp_path / f"run{k}.jsonl", _records(source=SOURCES, references=REFERENCES, model_output=OUTPUTS))
        for k in range(3)
    ]
    assert len(_scores(capsys, *files, "--columns", "output=model_output")) == 3
    other = _records(source=["Another one.", *SOURCES[1:]], references=REFERENCES, output=OUTPUTS)
    assert main(["score", files[0], _write(tmp_path / "other.jsonl", other), "-m", "sari"]) == 2
    assert "other.jsonl:1: the source column" in capsys.readouterr().err


def test_gold_and_submissions_may_name_their_columns_differently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = _write(tmp_path / "gold.jsonl", _records(text_id=IDS, original=SOURCES, reference=REFERENCES))
    run = _records(text_id=IDS, simplified=OUTPUTS)
    sound = _scores(capsys, "--table", gold, _write(tmp_path / "run.jsonl", run))
    shuffled = _scores(capsys, "--table", gold, _write(tmp_path / "run.jsonl", run[::-1]))
    assert sound == shuffled
    assert main(["score", "--table", gold, str(tmp_path / "run.jsonl"), "-m", "sari", "--columns", "output=no"]) == 2
    assert "no column 'no'" in capsys.readouterr().err
    assert main(["score", "--table", gold, str(tmp_path / "run.jsonl"), "-m", "sari"]) == 0
    assert "'text_id' as id and 'simplified' as output" in capsys.readouterr().err


def test_missing_double_and_unknown_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = _write(tmp_path / "gold.jsonl", _records(id=IDS, source=SOURCES, reference=REFERENCES))
    run = _records(id=IDS, output=OUTPUTS)
    part = _write(tmp_path / "part.jsonl", run[:3])
    assert main(["score", "--table", gold, part, "-m", "sari"]) == 2
    assert "'d'" in capsys.readouterr().err
    assert main(["score", "--table", gold, part, "-m", "sari", "--incomplete", "empty", "--strict"]) == 1
    printed = capsys.readouterr()
    assert "[incomplete] part has no output for 1 item of 4" in printed.err
    assert "blank" in printed.out
    for broken, message in (
        ([*run, run[0]], f"b.jsonl:5: the id {run[0]['id']!r}"),
        ([*run[:3], {"id": "x", "output": "y"}], "not in the"),
    ):
        assert main(["score", "--table", gold, _write(tmp_path / "b.jsonl", broken), "-m", "sari"]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.mirror
def test_named_sets_are_joined_by_id_too(tmp_path: Path, mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = plainly.systems("asset/test")["ACCESS"]
    for first in (0, 1):
        rows: list[dict[str, object]] = [{"id": at, "output": text} for at, text in enumerate(outputs, first)]
        scores = _scores(capsys, "-t", "asset/test", "ACCESS", _write(tmp_path / f"mine{first}.jsonl", rows[::-1]))
        assert scores[f"mine{first}"] == scores["ACCESS"] == pytest.approx(40.13, abs=0.01)


def test_a_missing_line_is_told_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [f"word{k} is the {k}th of many words." for k in range(40)]
    (tmp_path / "src.txt").write_text("\n".join(sources) + "\n")
    (tmp_path / "out.txt").write_text("\n".join(sources[:17] + sources[18:]) + "\n")
    assert main(["score", "--source", str(tmp_path / "src.txt"), str(tmp_path / "out.txt")]) == 2
    assert "fit up to number 17" in capsys.readouterr().err


def test_lines_that_end_in_carriage_returns_are_lines_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes(b"A cat sat.\rA dog ran.\rIt rained.\r")
    for engine in ("memory", "local"):
        assert main(["score", str(path), "-m", "fkgl", "--json", "--engine", engine, "--processes", "1"]) == 0
        assert json.loads(capsys.readouterr().out)["items"] == 3


@pytest.mark.parametrize("bad", [None, float("nan"), 3, b"x"])
def test_what_is_no_text_is_named_with_its_item(bad: object) -> None:
    with pytest.raises(BadInput, match=r"outputs\[1\] is "):
        plainly.score(sources=["a", "b"], outputs=["a", bad])  # type: ignore[list-item]
    with pytest.raises(BadInput, match=r"sources\[0\] is "):
        plainly.score(sources=[bad, "b"], outputs=["a", "b"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "option", [["--seed", "-1"], ["--level", "2"], ["--level", "nan"], ["--resamples", "0"], ["--method", "BCa"]]
)
@pytest.mark.parametrize("command", ["score", "compare", "report"])
def test_options_of_sampling_are_checked_once(
    command: str, option: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status: object = main([command, "--demo", "editor", "noisy", *option])
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2


@pytest.mark.parametrize("argument", ["sources", "outputs", "references", "ids", "groups"])
def test_a_python_set_has_no_order_and_is_refused(argument):
    arguments = {
        "sources": ["He left early.", "She stayed."],
        "outputs": ["He left.", "She was here."],
        "references": [("He went.",), ("She was there.",)],
        "ids": ["1", "2"],
        "groups": ["a", "b"],
    }
    with pytest.raises(BadInput, match=rf"{argument}.*not (frozen)?set"):
        plainly.score(**{**arguments, argument: frozenset(arguments[argument])})


def test_an_evaluation_set_is_no_list_of_sources():
    with pytest.raises(BadInput, match="evalset="):
        plainly.score(sources=plainly.EvalSet.of(["He left."]), outputs=["He went."])
