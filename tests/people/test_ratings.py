"""Ratings from every shape of table that studies use, and from the public sets; every fault is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import plainly
from conftest import opendocument
from plainly import people
from plainly.core.errors import BadInput, UnknownName
from plainly.core.sampling import Sampling
from plainly.people import Judgements, Ratings, read_ratings
from plainly.people.rating_tables import MISSING, READERS

LONG = """system,item,rater,dimension,rating
A,1,x,simplicity,2
A,1,y,simplicity,1
A,2,x,simplicity,-1
B,1,x,simplicity,0
B,2,y,simplicity,
A,1,x,meaning,5
"""


def check(result: Judgements) -> None:
    """What LONG says, however it was stored."""
    simplicity = result["simplicity"]
    assert result.systems == ("A", "B")
    assert result.items == ("1", "2")
    assert simplicity.raters == ("x", "y")
    expected = [[[2, 1], [-1, np.nan]], [[0, np.nan], [np.nan, np.nan]]]
    np.testing.assert_array_equal(simplicity.values, expected)
    assert simplicity.scale == (-2, 2)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_long_csv_and_jsonl(tmp_path: Path) -> None:
    check(read_ratings(write(tmp_path / "r.csv", LONG)))
    head, *lines = LONG.splitlines()
    records = [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]
    for record in records:
        record["rating"] = float(record["rating"]) if record["rating"] else None  # type: ignore[assignment]
    check(read_ratings(write(tmp_path / "r.jsonl", "".join(json.dumps(record) + "\n" for record in records))))


def test_a_column_for_each_dimension(tmp_path: Path) -> None:
    text = "sys_name,sent_id,worker_id,simplicity,meaning\nA,1,x,2,5\nA,1,y,1,\nA,2,x,-1,4\nB,1,x,0,3\nB,2,x,,\n"
    result = read_ratings(write(tmp_path / "r.csv", text))
    check(result)
    assert result["meaning"].scale == (1, 3) or result["meaning"].scale == (1, 5)
    assert result.dimensions == ("simplicity", "meaning")


def test_wide_tables(tmp_path: Path) -> None:
    numbered = "system,id,simplicity_1,simplicity_2,fluency\nA,1,2,1,88.5\nA,2,-1,,70\nB,1,0,,60\nB,2,,,50\n"
    result = read_ratings(write(tmp_path / "wide.csv", numbered))
    assert result["simplicity"].raters == ("1", "2")
    assert result["simplicity"].means.tolist()[0] == [1.5, -1]
    assert result["fluency"].raters == ("mean",)
    assert result["fluency"].scale is None
    named = "system\titem\tsimplicity:x\tsimplicity:y\nA\t1\t2\t1\nA\t2\t-1\t\nB\t1\t0\t\nB\t2\t\t\n"
    check(read_ratings(write(tmp_path / "wide.tsv", named)))


WIDE = "system,item,rater,simplicity,fluency,comment\n" + "".join(
    f"{system},{item},{rater},{(item + len(rater)) % 5 + 1},{item % 4 + 1},well said\n"
    for system in "AB"
    for item in range(10)
    for rater in ("x", "yy", "zzz")
)


@pytest.mark.parametrize("word", sorted({"", *MISSING, "N/A", "NA", "NaN", "None", " - "}))
@pytest.mark.parametrize("shape", ["a column a dimension", "a row per rating", "a column per rater", "records"])
def test_a_cell_that_says_there_is_none_costs_one_rating_and_is_counted(tmp_path: Path, word: str, shape: str) -> None:
    if shape == "a column a dimension":
        result = read_ratings(write(tmp_path / "r.csv", WIDE.replace("A,3,x,5,", f"A,3,x,{word},", 1)))
        assert result.dimensions == ("simplicity", "fluency")
        assert int(result["fluency"].counts.sum()) == 60
    elif shape == "a row per rating":
        result = read_ratings(write(tmp_path / "r.csv", LONG.replace("x,simplicity,0", f"x,simplicity,{word}")))
        assert int(result["simplicity"].counts.sum()) == 3
    elif shape == "a column per rater":
        result = read_ratings(write(tmp_path / "r.csv", f"item,simplicity_1,simplicity_2\n1,3,4\n2,{word},3\n"))
        assert result["simplicity"].raters == ("1", "2")
    else:
        result = people.read_ratings([{"item": "1", "simplicity": 2}, {"item": "2", "simplicity": word}])
    assert np.isnan(result["simplicity"].values).any()
    (message,) = [note.message for note in result.remarks if "hold no rating" in note.message]
    assert ("empty" if not word.strip() else repr(word.strip())) in message


@pytest.mark.parametrize("word", ["x", "3,5", "five", "inf", "3*", "true"])
@pytest.mark.parametrize("column", ["simplicity", "fluency"])
def test_any_other_word_is_an_error_with_row_and_column(tmp_path: Path, word: str, column: str) -> None:
    cells = {"simplicity": "5", "fluency": "4"} | {column: f'"{word}"'}
    path = write(tmp_path / "r.csv", WIDE.replace("A,3,x,5,4", f"A,3,x,{cells['simplicity']},{cells['fluency']}", 1))
    with pytest.raises(BadInput, match=rf"r\.csv:11, column '{column}': '{word[0]}.*' is not a number"):
        read_ratings(path)


def test_columns_that_are_no_ratings_are_said_in_every_answer(tmp_path: Path) -> None:
    text = WIDE.replace("fluency,comment", "fluency,mood").replace("well said", "good")
    path = write(tmp_path / "r.csv", text.replace(",good", ",3", 2).replace("A,3,x,5,", "A,3,x,n/a,", 1))
    scores = write(tmp_path / "s.csv", "system,id,sari,remark\n" + "".join(f"A,{i},{i},fine\n" for i in range(10)))
    answers = [
        plainly.agreement(str(path), sampling=Sampling(resamples=5)),
        plainly.meta(str(path), tradeoff=True, sampling=Sampling(resamples=5)),
        plainly.meta(str(path), scores=str(scores), sampling=Sampling(resamples=5)),
        plainly.plan(str(path), sampling=Sampling(resamples=5)),
    ]
    for answer in answers:
        messages = [note.message for note in answer.notes()]
        assert sum("1 of 120 cells hold no rating (1 'n/a')" in line for line in messages) == 1
        assert [note.code for note in answer.notes() if note.kind == "warning"][:1] == ["not-ratings"]
        assert any("column 'mood' is not read as ratings, because only 2 of its 60" in line for line in messages)
    assert any("'remark'" in note.message for note in answers[2].notes())
    assert any("'comment'" in note.message for note in read_ratings(write(path, WIDE)).remarks)


def test_xlsx_with_one_and_with_two_rows_of_names(tmp_path: Path) -> None:
    import openpyxl

    one = openpyxl.Workbook()
    for line in LONG.splitlines():
        cells = line.split(",")
        one.active.append([int(cell) if cell.lstrip("-").isdigit() else cell or None for cell in cells])
    one.save(tmp_path / "one.xlsx")
    check(read_ratings(tmp_path / "one.xlsx"))
    two = openpyxl.Workbook()
    rows = [
        ["system", "item", "x", None, "y", None],
        [None, None, "simplicity", "meaning", "simplicity", "meaning"],
        ["A", 1, 2, 5, 1, None],
        ["A", 2, -1, None, None, None],
        ["B", 1, 0, None, None, None],
        ["B", 2, None, None, None, 4],
    ]
    for row in rows:
        two.active.append(row)
    two.save(tmp_path / "two.xlsx")
    check(read_ratings(tmp_path / "two.xlsx"))


def test_ods(tmp_path: Path) -> None:
    def cell(value: str) -> str:
        kind = (
            f'office:value-type="float" office:value="{value}"'
            if value.lstrip("-").isdigit()
            else 'office:value-type="string"'
        )
        return f"<table:table-cell {kind}><text:p>{value}</text:p></table:table-cell>"

    rows = "".join(
        f"<table:table-row>{''.join(map(cell, line.split(',')))}</table:table-row>" for line in LONG.splitlines()
    )
    (tmp_path / "r.ods").write_bytes(opendocument(rows))
    check(read_ratings(tmp_path / "r.ods"))
    write(tmp_path / "not.ods", "no zip")
    with pytest.raises(BadInput, match=r"not\.ods"):
        read_ratings(tmp_path / "not.ods")


def test_columns_may_be_named_and_one_system_needs_no_column(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", "sent,who,mark\n1,x,3\n1,y,4\n2,x,5\n")
    result = read_ratings(path, columns={"item": "sent", "rater": "who", "rating": "mark"})
    assert result.systems == ("outputs",)
    assert result["rating"].means.tolist() == [[3.5, 5]]


def test_texts_and_references_come_along(tmp_path: Path) -> None:
    text = "system,item,rater,rating,source,output,reference_1,reference_2\n" + "".join(
        f"{system},{item},x,3,source {item},output {system}{item},first {item},{'second' if item == 1 else ''}\n"
        for system in "AB"
        for item in (1, 2)
    )
    result = read_ratings(write(tmp_path / "r.csv", text))
    assert result.dimensions == ("rating",)
    assert result.sources == {"1": "source 1", "2": "source 2"}
    assert result.outputs["B", "2"] == "output B2"
    assert result.references == {"given": {"1": ("first 1", "second"), "2": ("first 2",)}}
    line = {"item": 1, "rating": 2, "output": "", "references": ["a", "b"]}
    again = read_ratings(write(tmp_path / "r.jsonl", json.dumps(line) + "\n"))
    assert again.references == {"given": {"1": ("a", "b")}}
    assert again.outputs == {("outputs", "1"): ""}


@pytest.mark.parametrize(
    ("text", "columns", "scale", "says"),
    [
        ("system,item,rater,rating\nA,1,x,2\nA,1,x,3\n", None, None, r"r.csv:3: rater 'x' rated item '1' of 'A'"),
        ("system,item,rater,rating\nA,1,x,two\n", None, None, r"r.csv:2, column 'rating': 'two'"),
        ("system,item,rater,rating\nA,1,x,6\n", None, (1, 5), r"'1'.*1\.\.5"),
        ("system,rater,rating\nA,x,6\n", None, None, r"r\.csv.*--columns item="),
        ("system,item,note\nA,1,good\n", None, None, r"r\.csv.*--columns rating="),
        ("system,item,rater,rating\nA,1,x,\n", None, None, r"r\.csv"),
        ("system,item,rater,rating\nA,,x,1\n", None, None, r"r\.csv:2: column 'item'"),
        ("system,item,rater,rating\nA,1,x,1\n", {"judge": "rater"}, None, "'judge'"),
        ("system,item,rater,rating\nA,1,x,1\n", {"rater": "who"}, None, "'who'"),
    ],
)
def test_faults_are_named(
    tmp_path: Path, text: str, columns: dict[str, str] | None, scale: tuple[float, float] | None, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        read_ratings(write(tmp_path / "r.csv", text), columns=columns, scale=scale)


def test_a_kind_of_file_may_have_a_reader_of_its_own_imported_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_kind.py").write_text(
        "from plainly.people import Judgements, Rating\n"
        "def judgements(path):\n"
        "    ratings = [Rating('A', '1', 'x', 'clarity', 6.0), Rating('A', '1', 'y', 'clarity', float('nan'))]\n"
        "    return Judgements.of(str(path), ratings, scales={'clarity': (1, 7)}, sources={'1': 'a source'})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(READERS, ".own", "own_kind")
    assert "own_kind" not in sys.modules
    result = read_ratings("study.own")
    assert (result.name, result["clarity"].scale, result["clarity"].raters) == ("study.own", (1, 7), ("x", "y"))
    np.testing.assert_array_equal(result["clarity"].values, [[[6, np.nan]]])
    assert result.sources == {"1": "a source"}
    with pytest.raises(BadInput, match=r"study\.own"):
        read_ratings("study.own", scale=(1, 5))


def test_reading_a_table_does_not_import_the_studio(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", LONG)
    script = (
        "import sys; from plainly import people; "
        f"people.read_ratings({str(path)!r}); print('plainly_studio' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "False"


def test_standardised_takes_strictness_away() -> None:
    values = np.array([[[1.0, 51, 7], [2, 52, 7], [3, 53, np.nan]]])
    result = Ratings("simplicity", ("A",), ("1", "2", "3"), ("x", "y", "z"), values).standardise()
    np.testing.assert_allclose(result.values[0, :, 0], result.values[0, :, 1])
    assert np.isnan(result.values[0, :, 2]).all()  # Always the same: no z-score.
    np.testing.assert_allclose(result.values[0, :, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)])


def test_means_that_are_equal_on_paper_are_equal() -> None:
    values = np.array([[[1.0, 0, 0], [0, 0, 0.0]], [[0, 0, 0.0], [0, 1, 0]]]) / 10
    result = Ratings("s", ("A", "B"), ("1", "2"), ("x", "y", "z"), values)
    assert result.system_means[0] == result.system_means[1]


def test_units_matrix_and_systems() -> None:
    values = np.full((2, 3, 2), np.nan)
    values[0, 0], values[1, 2, 0], values[0, 2, 0] = [1, 2], 3, 4
    result = Ratings("s", ("A", "B"), ("1", "2", "3"), ("x", "y"), values)
    assert list(zip(result.units().system_names, result.units().item_names, strict=True)) == [
        ("A", "1"), ("A", "3"), ("B", "3"),
    ]  # fmt: skip
    assert result.matrix().shape == (3, 2)
    assert result.paired.tolist() == [False, False, True]
    assert result.of_systems(["B"]).values.shape == (1, 3, 2)
    with pytest.raises(UnknownName):
        result.of_systems(["C"])
    with pytest.raises(BadInput, match="shape"):
        Ratings("s", ("A",), ("1",), ("x",), values)


def test_judgements_come_together(tmp_path: Path) -> None:
    one = read_ratings(write(tmp_path / "a.csv", "system,item,rater,rating\nA,1,x,1\nA,2,x,2\n"))
    two = read_ratings(write(tmp_path / "b.csv", "system,item,rater,rating\nB,2,y,3\n"))
    both = Judgements.combine("both", one, two)
    assert both["rating"].values.shape == (2, 2, 2)
    assert both["rating"].means[1, 1] == 3
    with pytest.raises(UnknownName, match="dimension of both"):
        both["fluency"]


@pytest.mark.mirror
def test_public_sets(mirror: Path) -> None:
    result = people.load("simplicity-da")
    assert result.systems[0] == "Hybrid"
    assert {len(result.systems), len(result.items)} == {6, 302}
    assert (result["simplicity"].counts[result["simplicity"].counts > 0] == 15).all()
    assert len(result["simplicity"].units()) == 600
    assert {name: {len(of) for of in sets.values()} for name, sets in result.references.items()} == {
        "all": {22}, "asset": {10}, "turkcorpus": {8}, "hsplit": {4},
    }  # fmt: skip
    acl = people.load("acl2018")
    assert len(acl.systems) == 32
    assert acl["simplicity"].paired.all()
    assert set(acl["grammaticality"].counts.ravel().tolist()) == {3}
    with pytest.raises(UnknownName, match="simplicity-da"):
        people.load("simplicity-dx")


@pytest.mark.mirror
def test_every_card_of_ratings_by_system_and_item_can_be_read(mirror: Path) -> None:
    for name in ("asset/ratings", "samsa/ratings", "simpeval/past", "structural-simplicity", "hsplit/ratings"):
        result = people.load(name)
        assert result.dimensions
        assert all(np.isfinite(result[dimension].system_means).all() for dimension in result), name


@pytest.mark.parametrize(
    ("value", "is_reported"), [(55, True), (11, True), (99, True), (-9, True), (6, False), (0, False)]
)
def test_a_rating_far_off_the_scale_is_reported(tmp_path: Path, value: float, is_reported: bool) -> None:
    rows = [f"{system},{item},{1 + (7 * item + len(system)) % 5}" for system in ("A", "BB") for item in range(12)]
    rows[5] = f"A,5,{value}"
    path = tmp_path / "ratings.csv"
    path.write_text("system,item,simplicity\n" + "\n".join(rows) + "\n", encoding="utf-8")
    warnings = [note for note in read_ratings(path).remarks if note.kind == "warning"]
    assert [(note.code, note.where, note.ids) for note in warnings] == [
        ("off-scale", "simplicity", ("5",))
    ] * is_reported
    assert all(f"gave {value:g} to item '5' of 'A'" in note.message for note in warnings)


@pytest.mark.parametrize(("usual", "rare"), [((4, 5), 1), ((60, 100), 3), ((1, 3), 7), ((-1.8, 2.2), -4.1)])
def test_rare_ratings_on_the_scale_are_not_off_it(usual: tuple[float, float], rare: float) -> None:
    values = np.tile(usual, 250).reshape(1, 500, 1).astype(float)
    values[0, :3] = rare
    items = tuple(map(str, range(500)))
    assert Ratings("simplicity", ("A",), items, ("r",), values).off_scale() == []
