"""A grid measures every cell once: what is done is kept, what changes is measured again, and compare reads it."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from plainly import data
from plainly.cli import main
from plainly.errors import BadInput, PlainlyError
from plainly.questions.grid import grid, read_config
from plainly.scoring.evaluate import evaluate

CONFIG = """
out = "results"
metrics = ["sari", "fkgl"]
seeds = [1, 2]

[test_sets.first]
source = "first.src"
references = ["first.ref"]

[test_sets.second]
source = "second.src"
references = "second.ref"

[systems]
copy = "{test_set}.src"
mine = "mine.{test_set}.{seed}.txt"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    evalset, outputs = data.demo()
    first, second = list(outputs)[-2:]
    half = len(evalset) // 2
    for name, part in (("first", slice(0, half)), ("second", slice(half, None))):
        _write(tmp_path / f"{name}.src", evalset.sources[part])
        _write(tmp_path / f"{name}.ref", [row[0] for row in evalset.references[part]])
        for seed, system in ((1, first), (2, second)):
            _write(tmp_path / f"mine.{name}.{seed}.txt", outputs[system][part])
    path = tmp_path / "grid.toml"
    path.write_text(CONFIG, "utf-8")
    return path


def _write(path: Path, lines: object) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")  # type: ignore[attr-defined]


def test_a_grid_gives_the_scores_of_each_cell(config: Path) -> None:
    result = grid(config, processes=2)
    assert len(result.scores) == 6
    evalset = result.config.test_sets["first"].load()
    lines = (config.parent / "mine.first.2.txt").read_text("utf-8").splitlines()
    held = evaluate(evalset, {"": lines}, ["sari", "fkgl"], sampling=None)[""]
    assert result.scores["first", "mine@2"].scores == {spec: float(held[spec]) for spec in held}
    values = result.values("first", "mine", "sari")
    row = result.tables()[0].rows[1]
    assert row[:2] == ("mine", f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f}")


def test_what_is_done_is_not_done_again(config: Path) -> None:
    assert grid(config, processes=1).measured == 12
    assert grid(config, processes=1).measured == 0
    config.write_text(CONFIG.replace('"fkgl"]', '"fkgl", "bleu"]'), "utf-8")
    assert grid(config, processes=1).measured == 6  # the new metric only
    path = config.parent / "mine.second.1.txt"
    path.write_text(path.read_text("utf-8").replace(" the ", " that "), "utf-8")
    again = grid(config, processes=1)
    assert again.measured == 3  # all metrics of the cell whose outputs changed
    assert again.scores["second", "mine@1"].measured == ("sari", "fkgl", "bleu")
    assert grid(config, processes=1, restart=True).measured == 18


def test_the_command_feeds_compare(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grid", str(config), "--json", "--processes", "1"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["schema"] == "plainly.grid/1"
    assert {(cell["test_set"], cell["system"], cell["seed"]) for cell in printed["cells"]} == {
        (name, system, seed)
        for name in ("first", "second")
        for system, seed in (("copy", None), ("mine", 1), ("mine", 2))
    }
    assert main(["compare", printed["saved"]["first"], "--json", "--trials", "200", "--no-advice"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert {scores["system"] for scores in compared["systems"]} == {"copy", "mine@1", "mine@2"}
    assert main(["grid", str(config), "--processes", "1"]) == 0
    captured = capsys.readouterr()
    assert "0 of 12 scores were measured now" in captured.err
    assert "±" in captured.out


def test_records_are_one_number_each_and_csv_one_row_an_entry(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = grid(config, processes=1).records()
    assert len(records) == 12
    assert list(records[0]) == ["test_set", "system", "seed", "metric", "output", "value"]
    assert main(["grid", str(config), "--processes", "1", "--csv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header == "test_set,system,seed,sari,fkgl"
    assert len(rows) == 6
    assert rows[0].startswith("first,copy,,")
    assert main(["grid", str(config), "--processes", "1", "--long"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 13


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"sari", "fkgl"', '"sarri"'), "Did you mean 'sari'"),
        (("seeds = [1, 2]", ""), "say which seeds"),
        (("seeds = [1, 2]", "sedes = [1]"), "Unknown setting 'sedes'"),
        (("[systems]", "[systems"), "is not TOML"),
        (('copy = "{test_set}.src"', 'copy = {published = "ACCESS"}'), "no named set"),
    ],
)
def test_a_wrong_grid_says_what_is_wrong(config: Path, change: tuple[str, str], message: str) -> None:
    config.write_text(CONFIG.replace(*change), "utf-8")
    with pytest.raises(PlainlyError, match=message):
        read_config(config)


def test_a_missing_output_is_named(config: Path) -> None:
    (config.parent / "mine.first.2.txt").unlink()
    with pytest.raises(BadInput, match=r"mine\.first\.2\.txt"):
        grid(config, processes=1)
