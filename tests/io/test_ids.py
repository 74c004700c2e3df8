"""Ids and tables as people have them: read as the same texts values alone are, or refused with advice that works."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plainly
from plainly.cli import main
from plainly.cli.show import for_shell
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.io import TextArguments, read_evalset, read_outputs, read_table
from plainly.io.alignments import read_alignments
from plainly.io.consistency import plain_id

SOURCES = [
    "He was obliged to leave.",
    "The cat sat on the mat today.",
    "It commenced at dawn.",
    "They were unable to come.",
]
REFERENCES = ["He had to leave.", "The cat sat on the mat.", "It began at dawn.", "They could not come."]
A = ["He had to go.", "The cat sat on a mat.", "It began at dawn.", "They could not come."]
B = ["He left.", "The cat sat today.", "It commenced.", "They could come."]
WHOLE = list(range(1, 5))
SPELLINGS: list[Callable[[int], object]] = [str, float, " {}".format, "{}.0".format, "x{}".format]


def _sari(data: Any = None, **options: Any) -> dict[str, float]:
    scores = plainly.score(data, metrics=["sari"], intervals=False, advice=False, **options)
    return {system: round(scores[system]["sari"].value, 9) for system in scores}


def _alone(items: list[int] | None = None, **outputs: list[str]) -> dict[str, float]:
    numbers = items if items is not None else range(4)
    return _sari(
        sources=[SOURCES[item] for item in numbers],
        references=[[REFERENCES[item]] for item in numbers],
        outputs={system: [lines[item] for item in numbers] for system, lines in outputs.items()},
    )


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    assert main(["score", *arguments, "-m", "sari", "--json", "--no-intervals"]) == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    return {system["system"]: round(system["scores"]["sari"]["value"], 9) for system in systems}


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["score", *arguments, "-m", "sari"]) == 2
    return capsys.readouterr().err


def fault(call: Callable[..., object], *values: Any, **options: Any) -> str:
    with pytest.raises(BadInput) as caught:
        call(*values, **options)
    return str(caught.value)


def put(path: Path, frame: pd.DataFrame) -> str:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return str(path)


def wide(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": WHOLE, "source": SOURCES, "reference": REFERENCES, **columns})


def long(system: str = "system", output: str = "output") -> pd.DataFrame:
    frames = [wide(**{system: name, output: lines}) for name, lines in (("A", A), ("B", B))]
    return pd.concat(frames, ignore_index=True)


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sample(frac=1, random_state=3)


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    """Return options that name a set without ids: its items are numbered."""
    (tmp_path / "src.txt").write_text("\n".join(SOURCES) + "\n")
    (tmp_path / "ref.txt").write_text("\n".join(REFERENCES) + "\n")
    return ["--source", str(tmp_path / "src.txt"), "--references", str(tmp_path / "ref.txt")]


@pytest.mark.parametrize(
    "ids",
    [
        WHOLE,
        [1.0, 2.0, 3.0, 4.0],
        ["1.0", "2.0", "3.0", "4.0"],
        [" 1", "2 ", "\t3", "4"],
        [0, 1, 2, 3],
        ["0.0", 1, 2, 3],
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_ids_in_any_spelling_find_their_items(
    ids: list[object], kind: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = put(tmp_path / f"A.{kind}", shuffled(pd.DataFrame({"id": pd.Series(ids, dtype=object), "output": A})))
    assert _run(capsys, run, *lines) == _alone(A=A)
    gold = put(tmp_path / "gold.csv", wide(id=[1.0, 2.0, 3.0, 4.0]))
    if ids[0] not in (0, "0.0"):
        assert _run(capsys, run, "--table", gold) == _alone(A=A)


@pytest.mark.parametrize(
    "unknown", [["asset-1", "asset-2", "asset-3", "asset-4"], ["001", "002", "003", "004"], list("abcd")]
)
def test_unknown_ids_are_refused_and_the_advice_works(
    unknown: list[str], lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"id": unknown, "output": A})
    message = _refused(capsys, run := put(tmp_path / "A.csv", frame), *lines)
    assert f"{run}:2: the id {unknown[0]!r} is not in the evaluation set, whose items are numbered 1 to 4" in message
    assert "delete the column of ids" in message
    assert _run(capsys, put(tmp_path / "A.csv", frame.drop(columns="id")), *lines) == _alone(A=A)
    assert "Correct the id" in message
    assert _run(capsys, put(tmp_path / "A.csv", frame.assign(id=WHOLE)), *lines) == _alone(A=A)


def test_ids_of_a_set_that_differ_only_in_spelling_are_taken_as_they_are(tmp_path: Path) -> None:
    ids = ["1", "1.0", " 1"]
    run = put(tmp_path / "A.jsonl", pd.DataFrame({"id": ids[::-1], "output": ["c", "b", "a"]}))
    assert read_outputs(run, n=3, ids=ids) == {"A": ("a", "b", "c")}
    other = put(tmp_path / "A.jsonl", pd.DataFrame({"id": ["1", "1.00", " 1"], "output": ["c", "b", "a"]}))
    assert "the id '1.00' is not in the evaluation set, whose items are called '1', '1.0' and ' 1'" in fault(
        read_outputs, other, n=3, ids=ids
    )


def test_one_id_in_two_spellings_is_used_twice(tmp_path: Path) -> None:
    run = put(tmp_path / "A.jsonl", pd.DataFrame({"id": ["1", "1.0"], "output": ["a", "b"]}))
    assert "A.jsonl:2: the id '1' is already used at" in fault(read_outputs, run, n=2, ids=["1", "2"])


def test_some_ids_from_zero(lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an id 0 and none of 4, the ids of four items can only count from 0."""
    run = put(tmp_path / "A.csv", pd.DataFrame({"id": [3, 0], "output": [A[3], A[0]]}))
    assert _run(capsys, run, *lines, "--incomplete", "skip") == _alone([0, 3], A=A)
    other = put(tmp_path / "A.csv", pd.DataFrame({"id": [4, 0], "output": [A[3], A[0]]}))
    assert "the id '0' is not in" in _refused(capsys, other, *lines, "--incomplete", "skip")


def test_plain_ids() -> None:
    values = ["1", "1.0", " 1 ", "10.00", "1.5", "01", "a.0", "1.", "v1.0", ""]
    assert [plain_id(name) for name in values] == ["1", "1", "1", "10", "1.5", "01", "a.0", "1.", "v1.0", ""]


def test_references_in_a_table_are_joined_by_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = put(tmp_path / "gold.csv", wide()[["id", "source"]])
    references = put(tmp_path / "refs.csv", shuffled(wide()[["id", "reference"]]))
    run = put(tmp_path / "A.csv", shuffled(wide(output=A)[["id", "output"]]))
    assert _run(capsys, run, "--table", gold, "--references", references) == _alone(A=A)
    assert read_evalset(references=references).ids == tuple(map(str, shuffled(wide())["id"]))
    other = put(tmp_path / "refs.csv", wide(id=list("abcd"))[["id", "reference"]])
    assert "refs.csv:2: the id 'a' is not in" in _refused(capsys, run, "--table", gold, "--references", other)


def test_tables_of_outputs_alone_are_joined_by_id(tmp_path: Path) -> None:
    from plainly.io.texts import read_inputs

    one = put(tmp_path / "A.csv", wide(output=A)[["id", "output"]])
    two = put(tmp_path / "B.csv", shuffled(wide(output=B)[["id", "output"]]))
    assert dict(read_inputs([one, two]).outputs) == {"A": tuple(A), "B": tuple(B)}


def test_two_columns_of_ids(tmp_path: Path) -> None:
    frame = wide(output=A).rename(columns={"id": "text_id"}).assign(sentence_id=[4, 3, 2, 1])
    message = fault(TextArguments().read, frame)
    assert "2 columns that may be the id: 'text_id', 'sentence_id'" in message
    assert "columns={'id': 'COLUMN'}" in message
    assert TextArguments(columns={"id": "sentence_id"}).read(frame).evalset.ids == ("4", "3", "2", "1")
    one_tells_items_apart = frame.assign(text_id="d")
    assert TextArguments().read(one_tells_items_apart).evalset.ids == ("4", "3", "2", "1")


def test_ids_in_python() -> None:
    for ids in ([7, 8, 9, 10], np.arange(7, 11), [7.0, 8.0, 9.0, 10.0], pd.Series([7, 8, 9, 10])):
        options: dict[str, Any] = {"references": [[text] for text in REFERENCES], "groups": [1, 1, 2, 2], "ids": ids}
        scores = plainly.score(sources=SOURCES, outputs={"A": ["", *A[1:]], "B": B}, **options)
        assert scores.evalset.ids == ("7", "8", "9", "10")
        assert scores.evalset.groups == ("1", "1", "2", "2")
        assert scores.notes()
        assert json.dumps(scores.json())
    indexed = shuffled(wide(output_A=A, output_B=B).set_index("id"))
    assert TextArguments().read(indexed).evalset.ids == tuple(map(str, indexed.index))
    assert "ids[1]: the id 'x' is already used at ids[0]" in fault(
        TextArguments(["a", "b"], ["a", "b"], ids=["x", "x"]).read
    )
    assert "ids[1] is None" in fault(EvalSet.of, ["a", "b"], ids=[1, None])
    for values in ("ids", "groups"):
        assert "go with sources=" in fault(plainly.score, EvalSet.of(["a"]), outputs=["a"], **{values: ["x"]})
        assert "go with sources=" in fault(plainly.score, wide(output=A), **{values: WHOLE})


@pytest.mark.parametrize("system", ["system", "model", "Model", "system_name"])
def test_long_tables(system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = _alone(A=A, B=B)
    frame = shuffled(long(system))
    assert _sari(frame) == expected
    assert _sari(frame.assign(id=frame["id"].astype(float))) == expected
    assert _sari(frame.drop(columns="id")) == expected
    for kind in ("csv", "jsonl", "parquet"):
        table = put(tmp_path / f"long.{kind}", frame)
        assert _run(capsys, table) == expected
        texts = TextArguments().read(read_table(table))
        assert read_outputs(table) == {name: texts.outputs[name] for name in ("A", "B")}
    gold = put(tmp_path / "gold.csv", wide())
    runs = put(tmp_path / "runs.csv", frame[["id", system, "output"]])
    assert _run(capsys, runs, "--table", gold) == expected


def test_long_tables_with_columns_of_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = long("run", "text")
    table = put(tmp_path / "long.csv", frame)
    message = _refused(capsys, table, "--columns", "output=text")
    assert "long.csv:6: the id '1' is already used at" in message
    assert "--columns system=COLUMN" in message
    assert _run(capsys, table, "--columns", "output=text", "system=run") == _alone(A=A, B=B)
    assert _sari(frame, columns={"output": "text", "system": "run"}) == _alone(A=A, B=B)
    assert "no column 'rnu'. Did you mean 'run'?" in _refused(capsys, table, "--columns", "output=text", "system=rnu")


def test_long_tables_without_all_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = long("model").drop(index=[1, 6])  # A lacks the second item, B the third
    table = put(tmp_path / "long.csv", frame)
    message = _refused(capsys, table)
    assert "long.csv: A has no output for the item with id '2'" in message
    assert "--incomplete empty or --incomplete skip" in message
    skipped = _alone([0, 2, 3], A=A) | _alone([0, 1, 3], B=B)
    assert _run(capsys, table, "--incomplete", "skip") == skipped == _sari(frame, incomplete="skip")
    empty = _alone(A=[A[0], "", *A[2:]], B=[*B[:2], "", B[3]])
    assert _run(capsys, table, "--incomplete", "empty") == empty == _sari(frame, incomplete="empty")
    for how in ("empty", "skip"):
        assert f"incomplete='{how}'" in fault(read_outputs, table)
        assert len(read_outputs(table, incomplete=how)["A"]) == 4  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["source", "reference", "group"])
def test_rows_of_one_item_that_disagree(column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = long().assign(group="d")
    other = frame.copy()
    other.loc[5, column] = "Something else."
    message = _refused(capsys, put(tmp_path / "long.csv", other))
    assert f"long.csv:7: column {column!r} contains 'Something else.', but {tmp_path / 'long.csv'}:3 has" in message
    assert "Correct one" in message
    assert _run(capsys, put(tmp_path / "long.csv", frame)) == _alone(A=A, B=B)
    assert "different ids" in message
    own = put(tmp_path / "long.csv", other.assign(id=[1, 2, 3, 4, 1, 5, 3, 4]))
    assert _run(capsys, own, "--incomplete", "skip")["A"] == _alone(A=A)["A"]
    blank = other.copy()
    blank.loc[5, column] = None
    assert _sari(blank) == _alone(A=A, B=B)
    assert _sari(shuffled(blank)) == _alone(A=A, B=B)


def test_other_columns_of_long_tables_are_kept_where_they_belong_to_items() -> None:
    frame = long().assign(topic=list("xyxy") * 2, seconds=range(8))
    assert dict(TextArguments().read(frame).evalset.columns) == {"topic": ("x", "y", "x", "y")}


def test_second_outputs_in_long_tables() -> None:
    frame = pd.concat([long(), long().iloc[[5]].assign(output="Another.")], ignore_index=True)
    message = fault(TextArguments().read, frame)
    assert "row 9: 'B' has a second output for the item '2'; the first is at the data frame, row 6." in message
    assert "Delete one" in message
    assert _sari(frame.drop(index=8)) == _alone(A=A, B=B)
    same = long().drop(columns="id").assign(source=[SOURCES[0], SOURCES[0], *SOURCES[2:]] * 2)
    assert "different items different ids in a column called 'id'" in fault(TextArguments().read, same)
    assert len(TextArguments().read(same.assign(id=WHOLE * 2)).evalset) == 4


def test_long_tables_without_items() -> None:
    frame = long()[["system", "output"]]
    assert "in a column called 'id'" in fault(TextArguments().read, frame)
    assert TextArguments().read(frame.assign(id=WHOLE * 2)).systems == ("A", "B")
    assert TextArguments().read(frame[:4]).outputs == {"A": tuple(A)}


def test_wide_tables_with_a_column_per_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = shuffled(wide(A=A, B=B, topic="x"))
    table = put(tmp_path / "wide.csv", frame)
    message = _refused(capsys, table)
    assert "--columns output=A,B" in message
    assert _run(capsys, table, "--columns", "output=A,B") == _alone(A=A, B=B)
    assert _sari(frame, columns={"output": ["A", "B"]}) == _alone(A=A, B=B)
    assert "output_NAME" in message
    assert _sari(frame.rename(columns={"A": "output_A", "B": "output_B"})) == _alone(A=A, B=B)
    holes = wide(output_A=[A[0], None, *A[2:]], output_B=B, model="m")
    assert "A has no output for the item with id '2'" in fault(TextArguments().read, holes)
    assert _sari(holes, incomplete="skip") == _alone([0, 2, 3], A=A) | _alone(B=B)
    both = wide(output_A=A, output_B=B, run="r")
    assert "columns={'output': 'COLUMN'}" in fault(TextArguments(columns={"system": "run"}).read, both)
    assert _sari(both, columns={"system": "run", "output": "output_A"}) == {"r": _alone(A=A)["A"]}


def test_frames_with_arrays_and_marks_of_missing_values(tmp_path: Path) -> None:
    lists = [[text] for text in REFERENCES]
    frame = wide(references=[np.array(row, dtype=object) for row in lists], output=A).drop(columns="reference")
    assert plainly.score(frame, metrics=["sari"], intervals=False)["sari"].value == pytest.approx(_alone(A=A)["A"])
    for mark in (None, float("nan"), pd.NA, pd.NaT):
        values: Any = [["a", mark], [mark]]
        assert EvalSet.of(["x", "y"], references=values).references == (("a",), ())
        assert TextArguments(["x", "y"], ["a", "b"], values).read().evalset.references == (("a",), ())
        holes: Any = {"A": ["a", mark]}
        assert "incomplete='skip'" in fault(TextArguments(["x", "y"], holes).read)
        texts = TextArguments(sources=["x", "y"], outputs=holes, incomplete="skip").read()
        assert texts.present("A").tolist() == [True, False]
        filled = TextArguments(sources=["x", "y"], outputs=holes, incomplete="empty").read()
        assert (filled.outputs, filled.notes[0].code) == ({"A": ("a", "")}, "incomplete")
    twice = pd.DataFrame([["a", "b"]], columns=["output", "output"])
    assert "Two columns of the data frame are called 'output'. Rename one." in fault(TextArguments().read, twice)


def test_sets_of_the_wrong_kind_are_refused() -> None:
    bad: list[dict[str, Any]] = [
        {"references": 3},
        {"references": "abc"},
        {"references": [3]},
        {"references": [[3]]},
        {"references": {"a": 1}},
        {"ids": 3},
        {"ids": "a"},
        {"groups": 3},
        {"groups": [[1]]},
        {"ids": ["a", "b"]},
        {"ids": {"a"}},
        {"references": {("a",)}},
    ]
    for options in bad:
        assert fault(EvalSet.of, ["a"], **options)
    for sources in ("abc", 3, [3], [None], {"a", "b"}, {"a": "b"}):
        assert fault(EvalSet.of, sources).startswith("sources")
    for name in ("sources", "outputs", "references"):
        lists: dict[str, Any] = {"sources": ["a"], "outputs": ["a"], "references": [["a"]]}
        assert "must be a list" in fault(TextArguments(**lists | {name: {"a"}}).read)


@pytest.mark.parametrize("name", ["level", "resamples", "method", "seed"])
@pytest.mark.parametrize("value", [np.array([1, 2]), np.array([0.5]), [1], None, pd.NA, pd.Series([1, 2]), {}, True])
def test_sampling_refuses_what_is_not_one_value(name: str, value: object) -> None:
    assert f"{name}= must be" in fault(plainly.Sampling, **{name: value})


def test_sampling_takes_numbers_of_numpy() -> None:
    plain = plainly.Sampling(level=0.5, resamples=10, seed=3)
    assert plainly.Sampling(level=np.float32(0.5), resamples=np.int64(10), seed=np.uint8(3)) == plain  # type: ignore[arg-type]
    assert hash(plainly.Sampling(resamples=np.int64(10))) == hash(plainly.Sampling(resamples=10))  # type: ignore[arg-type]


def test_a_corpus_in_parts_refuses_long_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = put(tmp_path / "long.jsonl", long())
    message = _refused(capsys, table, "--engine", "local", "--processes", "1")
    assert "the column 'system' names systems" in message
    assert "--engine memory; in Python plainly.io.read_table" in message
    assert _run(capsys, table, "--engine", "memory") == _sari(read_table(table)) == _alone(A=A, B=B)


def test_alignments_with_one_id_twice(tmp_path: Path) -> None:
    line = json.dumps({"id": "a", "source": [], "output": [], "links": []})
    (tmp_path / "a.jsonl").write_text(f"{line}\n\n{line}\n")
    assert "a.jsonl:3: the id 'a' is already used at" in fault(read_alignments, tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text("\n".join((line, line.replace('"a"', '"b"'))))
    assert list(read_alignments(tmp_path / "a.jsonl")) == ["a", "b"]


@pytest.mark.mirror
def test_a_file_with_the_name_of_a_published_system(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    published = _run(capsys, "-t", "asset/test", "ACCESS")
    (tmp_path / "all").mkdir()
    (tmp_path / "ACCESS").write_text("\n".join(plainly.load("asset/test").sources) + "\n")
    message = _refused(capsys, "-t", "asset/test", "ACCESS")
    assert "'ACCESS' is a file here and a name of published outputs for asset/test. Write ./ACCESS" in message
    assert _run(capsys, "-t", "asset/test", "./ACCESS")["ACCESS"] < 25 < published["ACCESS"]
    assert "Rename yours: NAME=FILE" in _refused(capsys, "-t", "asset/test", "./ACCESS", "all")
    assert _run(capsys, "-t", "asset/test", "Mine=ACCESS")["Mine"] < 25
    (tmp_path / "ACCESS").rename(tmp_path / "mine")
    assert _run(capsys, "-t", "asset/test", "ACCESS") == published


def test_advice_with_columns_is_in_the_language_of_the_shell() -> None:
    assert for_shell("Or columns={'output': ['A', 'B']}.") == "Or --columns output=A,B."
    assert for_shell("Or columns={'source': 'COLUMN'}.") == "Or --columns source=COLUMN."


def test_any_table_of_the_same_texts_gives_the_same_scores(tmp_path: Path) -> None:
    """Random orders, spellings of ids, shapes and holes against the texts of each system values alone."""
    draw = random.Random(5)
    for _ in range(25):
        items = {system: sorted(draw.sample(range(4), draw.randint(1, 4))) for system in ("A", "B")}
        present = sorted({*items["A"], *items["B"]})
        texts = {"A": A, "B": B}
        expected = _alone(items["A"], A=A) | _alone(items["B"], B=B)
        spell = draw.choice(SPELLINGS)
        rows = [(spell(item + 1), system, item) for system, own in items.items() for item in own]
        draw.shuffle(rows)
        as_long = pd.DataFrame(
            {
                "id": [identifier for identifier, _, _ in rows],
                "model": [system for _, system, _ in rows],
                "source": [SOURCES[item] for _, _, item in rows],
                "reference": [REFERENCES[item] for _, _, item in rows],
                "output": [texts[system][item] for _, system, item in rows],
            }
        )
        assert _sari(as_long, incomplete="skip") == expected
        order = draw.sample(present, len(present))
        cells = {
            f"output_{system}": [texts[system][item] if item in own else None for item in order]
            for system, own in items.items()
        }
        as_wide = pd.DataFrame(
            {
                "id": [spell(item + 1) for item in order],
                "source": [SOURCES[item] for item in order],
                "reference": [REFERENCES[item] for item in order],
                **cells,
            }
        )
        assert _sari(as_wide, incomplete="skip") == expected
        assert _sari(read_table(put(tmp_path / "t.jsonl", as_wide)), incomplete="skip") == expected
