"""The same table whichever format stores it; columns known by name; every fault named with its line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plainly.core.errors import BadInput
from plainly.io import Sheet, read_evalset, read_outputs, read_table
from plainly.io.tables import parse_csv, parse_json, parse_jsonl, parse_parquet, parse_tsv

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
NAMES = ("source", "output", "note")
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8)
PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\t\n"), max_size=20)


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def delimited(rows: list[tuple[str, ...]], **options: Any) -> str:
    held = io.StringIO(newline="")
    csv.writer(held, **options).writerows([NAMES, *rows])
    return held.getvalue()


@settings(deadline=None)
@given(ROWS)
def test_every_format_gives_the_same_table(rows: list[tuple[str, ...]]) -> None:
    columns = {name: [row[at] for row in rows] for at, name in enumerate(NAMES)}
    records = [dict(zip(NAMES, row, strict=True)) for row in rows]
    held = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), held)
    assert parse_csv(delimited(rows), "x").columns == columns
    assert parse_csv(delimited(rows, quoting=csv.QUOTE_ALL, delimiter=";"), "x").columns == columns
    assert parse_tsv(delimited(rows, quoting=csv.QUOTE_ALL, delimiter="\t"), "x").columns == columns
    assert parse_jsonl("\n".join(json.dumps(record, ensure_ascii=False) for record in records), "x").columns == columns
    assert parse_jsonl("\r\n".join(map(json.dumps, records)), "x").columns == columns
    assert parse_json(json.dumps(records), "x").columns == columns
    assert parse_json(json.dumps(columns, indent=1), "x").columns == columns
    assert parse_parquet(held.getvalue().to_pybytes(), "x").columns == columns


@settings(deadline=None)
@given(st.lists(st.tuples(PLAIN, PLAIN, PLAIN), min_size=1, max_size=8))
def test_tsv_with_quotes_only_where_needed(rows: list[tuple[str, ...]]) -> None:
    columns = {name: [row[at] for row in rows] for at, name in enumerate(NAMES)}
    assert parse_tsv(delimited(rows, delimiter="\t"), "x").columns == columns


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('source\toutput\n"Yes," he said.\t"Yes."\n', [['"Yes," he said.'], ['"Yes."']]),
        (
            'source\toutput\n"He left.\tHe left.\nHe came."\tHe came.\n',
            [['"He left.', 'He came."'], ["He left.", "He came."]],
        ),
        ('source\toutput\n"one\ttwo"\tthree\n', [["one\ttwo"], ["three"]]),
        ('source\toutput\n"one\ntwo"\tthree\n', [["one\ntwo"], ["three"]]),
        ('source\toutput\n"say ""yes"""\tyes\n', [['say "yes"'], ["yes"]]),
        ("source\toutput\n\tb\n", [[""], ["b"]]),
    ],
)
def test_tsv_quotation_marks(text: str, cells: list[list[str]]) -> None:
    assert list(parse_tsv(text, "x").columns.values()) == cells


def test_separators_do_not_split_rows(tmp_path: Path) -> None:
    odd = "a\u2028b\x85c\x0cd\x1ee"
    for name, text in [
        ("a.csv", f"source,output\n{odd},x\n"),
        ("a.tsv", f"source\toutput\n{odd}\tx\n"),
        ("a.jsonl", json.dumps({"source": odd, "output": "x"}, ensure_ascii=False) + "\n"),
    ]:
        assert read_table(put(tmp_path, name, text)).columns == {"source": [odd], "output": ["x"]}


def test_bom_crlf_mac_gzip_and_long_fields(tmp_path: Path) -> None:
    long = "word " * 60_000
    for text in (f"\ufeffsource,output\r\nå,{long}\r\n\r\n", f"source,output\rå,{long}\r"):
        path = put(tmp_path, "a.csv.gz", gzip.compress(text.encode()))
        assert read_table(path).columns == {"source": ["å"], "output": [long]}
    assert csv.field_size_limit() == 131072


def test_spreadsheet_semicolons(tmp_path: Path) -> None:
    assert read_table(put(tmp_path, "a.csv", "source;output\na, b;c\n")).columns == {
        "source": ["a, b"],
        "output": ["c"],
    }


def test_format_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.txt", "source\toutput\na\tb\n")
    assert read_table(path, format="tsv").columns == {"source": ["a"], "output": ["b"]}
    assert "a.txt" in fault(read_table, path)
    assert "Did you mean 'parquet'?" in fault(read_table, path, format="parquett")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"output": "x"}\n')))
    table = read_table("-", format="jsonl")
    assert table.columns == {"output": ["x"]}
    assert read_outputs([table]) == {"stdin": ("x",)}


def test_json_lines_called_json(tmp_path: Path) -> None:
    assert read_table(put(tmp_path, "a.json", '{"source": "a"}\n{"source": "b"}\n')).columns == {"source": ["a", "b"]}


def fault(call: Any, *values: Any, **options: Any) -> str:
    with pytest.raises(BadInput) as caught:
        call(*values, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            'source,output\na,b\n"c\nc",d\ne\n',
            "a.csv:5: this row has 1 field, but the first line names 2 (source, output)",
        ),
        ("a.csv", "source,output\na,b,c\n", "a.csv:2: this row has 3 fields"),
        ("a.csv", "source,output\n\na,b\n", "a.csv:2: this line is blank, and rows follow"),
        ("a.csv", 'source,output\n"a" b,c\n', "a.csv:2: this row is not well quoted"),
        ("a.csv", 'source,output\na,b\n"c,d\n', "a.csv:3: this row is not well quoted"),
        ("a.csv", "source,source\na,b\n", "a.csv:1: two columns are called 'source'"),
        ("a.csv", "source,output\n", "has column names but no rows"),
        ("a.csv", "\n\n", "names no columns"),
        ("a.csv", "", "a.csv is empty"),
        ("a.tsv", "source\toutput\na\tb\nc\n", "a.tsv:3: this row has 1 field"),
        ("a.tsv", 'source\toutput\n"a\tb\nc\n', "a.tsv:3: this row has 1 field"),
        (
            "a.jsonl",
            '{"source": "a"}\n\n{"source": \n',
            "a.jsonl:3: this line is not JSON: expecting value at column 12",
        ),
        ("a.jsonl", '{"source": "a"}\n["b"]\n', "a.jsonl:2: this line is JSON a list, not an object"),
        ("a.jsonl", "[\n{}\n]", "name it .json"),
        ("a.jsonl", '{"source": "\\ud83d"}\n', "a.jsonl:1: contains \\ud83d"),
        ("a.jsonl", "[" * 100_000, "a.jsonl:1: this line is not JSON: too deeply nested"),
        ("a.json", '[{"source": "a"},\n {"source" "b"}]', "a.json:2: this is not JSON: expecting ':' delimiter"),
        ("a.json", '[{"source": "a"}, "b"]', "a.json, item 2: this is a string, not an object"),
        ("a.json", '{"source": ["a", "b"], "output": ["c"]}', "column 'output' has 1 values but 'source' has 2"),
        ("a.json", '{"source": {"0": "a"}}', "orient='records'"),
        ("a.json", "3", "a number that is not a table"),
        ("a.parquet", "not parquet", "a.parquet"),
        ("a.csv", b"source,output\na,b\ncaf\xe9,d\n", "a.csv:3: byte 0xe9 at byte offset 21"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    assert message in fault(read_table, put(tmp_path, name, text))


def evalset_of(cells: dict[str, list[Any]], **options: Any) -> Any:
    rows = len(next(iter(cells.values())))
    return read_evalset(table=Sheet(cells, "t.parquet", range(1, rows + 1)), **options)


@pytest.mark.parametrize("name", ["source", "Source", "complex", "orig", "original", "src", "input"])
def test_source_column(name: str) -> None:
    assert evalset_of({name: ["a", "b"]}).sources == ("a", "b")


def test_source_goes_before_its_synonyms_and_two_synonyms_are_refused() -> None:
    e = evalset_of({"original": ["x"], "source": ["a"]})
    assert (e.sources, e.columns["original"]) == (("a",), ("x",))
    message = fault(evalset_of, {"original": ["x"], "complex": ["a"]})
    assert "2 columns that may be the source: 'original', 'complex'" in message
    assert evalset_of({"original": ["x"], "complex": ["a"]}, columns={"source": "complex"}).sources == ("a",)


@pytest.mark.parametrize(
    "names",
    [
        ["reference_0", "reference_1", "reference_2", "reference_10"],
        ["reference.1", "reference.2", "reference.3", "reference.11"],
        ["ref", "ref1", "ref2", "ref10"],
        ["simp.0", "simp.1", "simp.2", "simp.10"],
        ["Reference 1", "Reference 2", "Reference 3", "Reference 20"],
    ],
)
def test_numbered_references_in_natural_order(names: list[str]) -> None:
    cells = dict(zip(names, [["a"], ["b"], ["c"], ["d"]], strict=True))
    shuffled = {name: cells[name] for name in sorted(names)}
    assert evalset_of({"source": ["s"], **shuffled}).references == (("a", "b", "c", "d"),)


def test_references_are_ragged_and_blanks_are_none() -> None:
    e = evalset_of({"source": ["s", "t", "u"], "ref1": ["a", "", None], "ref2": [" ", "\u3000b", float("nan")]})
    assert e.references == (("a",), ("\u3000b",), ())


def test_lists_of_references(tmp_path: Path) -> None:
    wanted = (("a", "[b]"), ("c",), ())
    lists = [["a", "[b]", ""], ["c", None], []]
    assert evalset_of({"source": ["s", "t", "u"], "references": lists}).references == wanted
    assert evalset_of({"source": ["s", "t", "u"], "references": [json.dumps(v) for v in lists]}).references == wanted
    assert evalset_of({"source": ["s", "t", "u"], "reference": lists}).references == wanted
    assert evalset_of({"source": ["s", "t"], "references": ["plain", None]}).references == (("plain",), ())
    assert evalset_of({"source": ["s"], "reference": ["[1] kept"]}).references == (("[1] kept",),)
    table = pyarrow.table({"original": ["s", "t", "u"], "simplifications": lists})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    assert read_evalset(table=tmp_path / "t.parquet").references == wanted


def test_faulty_references() -> None:
    message = fault(evalset_of, {"source": ["s", "t"], "references": ['["a"]', "['a', 'b']"]})
    assert "t.parquet, row 2: column 'references'" in message
    assert "json.dumps" in message
    assert "neither text nor a list of texts" in fault(evalset_of, {"source": ["s"], "reference": [3]})
    assert "several kinds" in fault(evalset_of, {"source": ["s"], "reference": ["a"], "simp.0": ["b"]})


def test_ids_groups_and_what_remains() -> None:
    e = evalset_of(
        {
            "id": [7, 8],
            "source": ["s", "t"],
            "doc": ["d", "d"],
            "output": ["o", "p"],
            "level": [1.5, None],
            "tags": [["x"], True],
        }
    )
    assert (e.ids, e.groups) == (("7", "8"), ("d", "d"))
    assert dict(e.columns) == {"level": ("1.5", ""), "tags": ('["x"]', "true")}
    message = fault(evalset_of, {"id": [7, 7], "source": ["s", "t"]})
    assert "row 2: the id '7'" in message
    assert "t.parquet, row 1" in message
    assert "row 1: column 'id'" in fault(evalset_of, {"id": [None], "source": ["s"]})


def test_columns_named_by_the_user() -> None:
    columns = {"text": ["s"], "b.10": ["y"], "b.2": ["x"], "source": ["Wikipedia"], "model": ["o"]}
    e = evalset_of(columns, columns={"source": "text", "references": "b.*", "output": "model"})
    assert (e.sources, e.references, dict(e.columns)) == (("s",), (("x", "y"),), {"source": ("Wikipedia",)})
    assert "Did you mean 'model'? Its columns are: 'text'" in fault(evalset_of, columns, columns={"source": "modle"})
    assert "Unknown role 'sorce' for a column. Did you mean 'source'?" in fault(
        evalset_of, columns, columns={"sorce": "text"}
    )
    assert "source is one column, not 2" in fault(evalset_of, columns, columns={"source": ["text", "model"]})


def test_source_must_be_text() -> None:
    assert "row 2: column 'source' contains nothing" in fault(evalset_of, {"source": ["a", None]})
    assert "row 1: column 'source' contains '3', not text" in fault(evalset_of, {"source": [3]})
    assert "Its columns are: 'a', 'b'" in fault(evalset_of, {"a": ["x"], "b": ["y"]})


def test_table_without_source_still_has_its_items() -> None:
    e = evalset_of({"output": ["a", "b"]})
    assert (len(e), e.has_sources, e.references) == (2, False, ())


def test_outputs_in_tables(tmp_path: Path) -> None:
    path = put(tmp_path, "mine.csv", "source,output,output_A,output.b c\ns,1,2,3\nt,4,5,6\n")
    assert read_outputs(path, n=2) == {"mine": ("1", "4"), "A": ("2", "5"), "b c": ("3", "6")}
    assert read_outputs(f"X={path}", columns={"output": "output_A"}) == {"X": ("2", "5")}
    assert read_outputs(path, columns={"output": "output_A"}) == {"A": ("2", "5")}
    assert read_outputs(path, columns={"output": ["output", "source"]}) == {"output": ("1", "4"), "source": ("s", "t")}
    assert read_outputs(f"X={path}") == {"X": ("1", "4"), "X/A": ("2", "5"), "X/b c": ("3", "6")}


def test_outputs_as_objects(tmp_path: Path) -> None:
    lines = [{"outputs": {"A": "1", "B": ""}}, {"outputs": {"B": "4", "A": "3"}}]
    path = put(tmp_path, "o.jsonl", "\n".join(map(json.dumps, lines)))
    assert read_outputs(path) == {"A": ("1", "3"), "B": ("", "4")}
    cell = put(tmp_path, "o.csv", 'outputs\n"{""A"": ""x""}"\n')
    assert read_outputs(cell) == {"A": ("x",)}
    broken = put(tmp_path, "b.jsonl", '{"outputs": {"A": "1", "B": "2"}}\n{"outputs": {"A": "1"}}\n')
    assert "b.jsonl: B has no output for the item number 2" in fault(read_outputs, broken)
    assert "b.jsonl:1: column 'outputs'" in fault(read_outputs, put(tmp_path, "b.jsonl", '{"outputs": "x"}\n'))


def test_faulty_outputs(tmp_path: Path) -> None:
    assert "Its columns are: 'a', 'b'" in fault(read_outputs, put(tmp_path, "a.csv", "a,b\n1,2\n"))
    assert "a.jsonl: a has no output for the item number 2" in fault(
        read_outputs, put(tmp_path, "a.jsonl", '{"output": "x"}\n{"source": "y"}\n')
    )
    message = fault(read_outputs, put(tmp_path, "a.csv", "output\nx\ny\n"), n=3, against="src.txt", sources="abc")
    assert "a.csv has 2 rows but src.txt has 3: " in message
    assert "stops after row 2, src.txt goes on at line 3: “c”" in message


def test_outputs_are_put_in_the_order_of_ids(tmp_path: Path) -> None:
    path = put(tmp_path, "o.csv", "id,output\nb,2\na,1\n")
    assert read_outputs(path, n=2, ids=["a", "b"]) == {"o": ("1", "2")}
    assert "whose items are numbered 1 to 2" in fault(read_outputs, path, n=2, ids=["1", "2"])
    assert "o.csv:2: the id 'b' is not in the evaluation set" in fault(read_outputs, path, n=2, ids=["a", "c"])
    assert "has no output for the item with id 'c'" in fault(read_outputs, path, n=3, ids=["a", "b", "c"])
    twice = put(tmp_path, "o.csv", "id,output\na,2\na,1\n")
    assert "o.csv:3: the id 'a'" in fault(read_outputs, twice, n=2, ids=["a", "b"])


def test_a_newline_in_a_cell_explains_a_longer_output(tmp_path: Path) -> None:
    table = put(tmp_path, "t.csv", 'source\n"one\nstill one"\ntwo\n')
    output = put(tmp_path, "o.txt", "one\nstill one\ntwo\n")
    e = read_evalset(table=table)
    message = fault(read_outputs, output, n=len(e), against=e.name, sources=e.sources)
    assert f"Row 1 of {table} holds U+000A (LINE FEED)" in message


def test_tables_beside_line_files(tmp_path: Path) -> None:
    table = put(tmp_path, "t.csv", "source,reference,doc\ns,r,d\nt,,d\n")
    lines = put(tmp_path, "r.txt", "x\ny\n")
    e = read_evalset(source=table, references=lines)
    assert (e.sources, e.references, e.groups, e.name) == (("s", "t"), (("x",), ("y",)), ("d", "d"), str(table))
    assert read_evalset(source=lines, references=[table, lines]).references == (("r", "x"), ("y",))
    assert read_evalset(source=lines, table=table, name="mine").sources == ("x", "y")
    short = put(tmp_path, "s.txt", "x\n")
    assert f"{table} has 2 rows but {short} has 1" in fault(read_evalset, source=short, table=table)
    assert "Its columns are: 'a'" in fault(read_evalset, source=lines, references=put(tmp_path, "u.csv", "a\nx\ny\n"))
