"""A grid measures every cell once: what is done is kept, what changes is measured again, and compare reads it."""

from __future__ import annotations

import collections
import csv
import io
import json
import random
import statistics
from pathlib import Path

import pytest

from plainly import data
from plainly.cli import main
from plainly.core.errors import BadInput, PlainlyError
from plainly.scoring.evaluate import evaluate
from plainly_lab.grids import grid, read_config

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
    scores = evaluate(evalset, {"": lines}, ["sari", "fkgl"], sampling=None)[""]
    assert result.scores["first", "mine@2"].scores == {spec: float(scores[spec]) for spec in scores}
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
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "plainly.grid/1"
    assert {(cell["test_set"], cell["system"], cell["seed"]) for cell in record["cells"]} == {
        (name, system, seed)
        for name in ("first", "second")
        for system, seed in (("copy", None), ("mine", 1), ("mine", 2))
    }
    assert main(["compare", record["saved"]["first"], "--json", "--trials", "200", "--no-advice"]) == 0
    comparison = json.loads(capsys.readouterr().out)
    assert {scores["system"] for scores in comparison["systems"]} == {"copy", "mine@1", "mine@2"}
    assert main(["grid", str(config), "--processes", "1"]) == 0
    captured = capsys.readouterr()
    assert "0 of 12 scores" in captured.err
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
        (('"sari", "fkgl"', '"sarri"'), "'sari'"),
        (("seeds = [1, 2]", ""), r"mine: .*\{seed\}"),
        (("seeds = [1, 2]", "sedes = [1]"), r"grid.toml: .*'sedes'.*metrics"),
        (("[systems]", "[systems"), "grid.toml"),
        (('copy = "{test_set}.src"', 'copy = {published = "ACCESS"}'), "copy: .*first"),
    ],
)
def test_a_wrong_grid_says_what_is_wrong(config: Path, change: tuple[str, str], message: str) -> None:
    config.write_text(CONFIG.replace(*change), "utf-8")
    with pytest.raises(PlainlyError, match=message):
        read_config(config)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("copy = ", '"my sys" = "{test_set}.src"\nmy-sys = '), ("'my sys'", "'my-sys'")),
        (("copy = ", '"mine@1" = "{test_set}.src"\ncopy = '), ("'mine@1'", "'mine' with seed 1")),
        (("[test_sets.second]", '[test_sets."second/x"]\nsource = "first.src"\n[test_sets."second-x"]'),
         ("'second/x'", "'second-x'")),
        (("copy = ", '"a/b" = "{test_set}.src"\n"a:b" = '), ("'a/b'", "'a:b'")),
    ],
)  # fmt: skip
def test_two_names_that_would_share_a_file_are_refused(
    config: Path, change: tuple[str, str], names: tuple[str, str]
) -> None:
    config.write_text(CONFIG.replace(*change), "utf-8")
    with pytest.raises(BadInput) as caught:
        grid(config, processes=1)
    assert all(name in str(caught.value) for name in names)
    assert not (config.parent / "results").exists()


def test_names_with_commas_quotes_and_lines_come_back_from_csv(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = 'one, "two"\nthree'
    config.write_text(CONFIG.replace("copy = ", '"one, \\"two\\"\\nthree" = '), "utf-8")
    for form in ("--csv", "--long"):
        assert main(["grid", str(config), "--processes", "1", form]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert {row["system"] for row in rows} == {name, "mine"}
        assert all(None not in row for row in rows)


# What may stand wherever a grid has a value, and names that files cannot have or that clash.
WRONG = (
    "1", "-1", "0.5", "nan", "inf", "true", '""', '" "', '"x"', r'"a\u0000b"', "[]", "[1]", '["x"]', "[[1]]",
    "{}", "{x = 1}", "{set = 3}", "1979-05-27", '"nodir/x"', '["fkgl","fkgl"]', "[true]", "[1,1]", "[-1]", '["1"]',
    '"."', '"first.src"', "{outputs = 3}", '{published = "x"}', "{published = 3}", '{outputs="{seed}"}', "9" * 30,
    '"' + "a" * 300 + '"', '{source="first.src"}', '{table="first.src"}', '{source=["first.src"]}', "{references=3}",
    '{columns=3, table="first.src"}', '{source="first.src", groups=3}', '{columns={source=3}, table="t.csv"}',
    '"*.src"', '{source="first.src", references=[3]}', '{set="asset/test", source="x"}',
    '{outputs="first.src", seeds=3}',
)  # fmt: skip
NAMES = ("x", '""', '"my sys"', "my-sys", '"mine@1"', '"a/b"', '".."', r'"\u0000"', '"é"', '"' + "k" * 300 + '"')
GOOD_SET, GOOD_SYSTEM = '{source = "first.src", references = ["first.ref"]}', '"mine.{test_set}.{seed}.txt"'


def _fuzz_config(rng: random.Random) -> str:
    def value(good: str) -> str:
        return rng.choice(WRONG) if rng.random() < 0.12 else good

    top = {"out": value('"results"'), "metrics": value('["fkgl"]'), "seeds": value("[1, 2]")}
    lines = [f"{key} = {text}" for key, text in top.items() if rng.random() < 0.97]
    if rng.random() < 0.04:
        lines.append(f"{rng.choice([*NAMES, 'systems', 'test_sets'])} = {rng.choice(WRONG)}")
    lines += ["[test_sets]", f"first = {value(GOOD_SET)}"]
    if rng.random() < 0.2:
        lines.append(f"{rng.choice(NAMES)} = {value(GOOD_SET)}")
    lines += ["[systems]", f"mine = {value(GOOD_SYSTEM)}"]
    for name in rng.sample(NAMES, rng.choice([0, 0, 0, 1, 2])):
        lines.append(f"{name} = {value(chr(34) + 'first.src' + chr(34))}")
    return "\n".join(lines)


@pytest.mark.long
def test_any_grid_file_gives_a_result_or_one_line_of_error(config: Path) -> None:
    _write(config.parent / "t.csv", ["source,output", "a,b"])
    rng = random.Random(7)
    outcomes = collections.Counter()
    for _ in range(400):
        text = _fuzz_config(rng)
        config.write_text(text, "utf-8")
        try:
            result = grid(config, processes=1)
        except PlainlyError as error:
            outcomes["refused" if "\n" not in str(error) else text] += 1
        else:
            outcomes["done"] += 1
            assert len({scores.file for scores in result.scores.values()}) == len(result.config.entries), text
    assert min(outcomes["done"], outcomes["refused"]) > 50
    assert outcomes.keys() == {"done", "refused"}


def test_a_missing_output_is_named(config: Path) -> None:
    (config.parent / "mine.first.2.txt").unlink()
    with pytest.raises(BadInput, match=r"mine\.first\.2\.txt"):
        grid(config, processes=1)
