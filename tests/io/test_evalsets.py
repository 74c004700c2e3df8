"""Line files become an evaluation set and outputs that fit it, or an error that says what, where and what next."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.io import check_references, read_evalset, read_outputs
from plainly.io.consistency import check_length

SOURCES = ["The cat perched upon the mat.", "Dogs habitually bark.", "Rain commenced to fall."]
SIMPLE = ["The cat sat on the mat.", "Dogs often bark.", "Rain began to fall."]


def put(folder: Path, name: str, lines: list[str] | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode())
    return str(path)


def fault(call: Any, *values: Any, **options: Any) -> str:
    with pytest.raises(BadInput) as caught:
        call(*values, **options)
    return str(caught.value)


def test_an_evalset_from_line_files(tmp_path: Path) -> None:
    source = put(tmp_path, "src.txt", SOURCES)
    one = put(tmp_path, "ref.1", ["a", "", "c"])
    two = put(tmp_path, "ref.2", ["d", " \t", ""])
    groups, ids = put(tmp_path, "docs", ["x", "x", "y"]), put(tmp_path, "ids", ["i", "j", "k"])
    e = read_evalset(source=source, references=[two, one], groups=groups, ids=ids)
    assert e.sources == tuple(SOURCES)
    assert e.references == (("d", "a"), (), ("c",))
    assert (e.groups, e.ids, e.name) == (("x", "x", "y"), ("i", "j", "k"), source)
    assert read_evalset(source=source).references == ()
    assert read_evalset(source=source).ids == ("1", "2", "3")
    assert len(read_evalset(references=Path(one), name="mine")) == 3


def test_patterns_are_in_natural_order(tmp_path: Path) -> None:
    source = put(tmp_path, "src.txt", ["s"])
    for k in (1, 2, 10, 9):
        put(tmp_path, f"ref.{k}.txt", [f"r{k}"])
    (tmp_path / "ref.folder.txt").mkdir()
    assert read_evalset(source=source, references=str(tmp_path / "ref.*.txt")).references == (
        ("r1", "r2", "r9", "r10"),
    )


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    path = put(tmp_path, "ref[1].txt", ["r"])
    assert read_evalset(references=path).references == (("r",),)


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    source = put(tmp_path, "src.txt", ["s"])
    message = fault(read_evalset, source=source, references=str(tmp_path / "reff.*"))
    assert "No file matches the pattern" in message
    assert "holds: src.txt" in message


def test_nothing_given_and_things_given_twice(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", ["s"])
    assert "nothing to evaluate against" in fault(read_evalset)
    assert "given twice" in fault(read_evalset, source=path, references=[path, path])
    assert "'-' (standard input) is given more than once" in fault(read_evalset, source="-", references=["-"])
    assert "a.txt:2: the id 'x'" in fault(
        read_evalset, source=put(tmp_path, "b", ["s", "t"]), ids=put(tmp_path, "a.txt", ["x", "x"])
    )


def test_lengths_that_differ_name_both_files_and_the_line(tmp_path: Path) -> None:
    source, reference = put(tmp_path, "src.txt", SOURCES), put(tmp_path, "ref.txt", ["a", "b"])
    message = fault(read_evalset, source=source, references=reference)
    assert f"{reference} has 2 lines but {source} has 3: {reference} stops after line 2" in message
    assert f"{source} goes on at line 3: “Rain commenced to fall.”" in message
    assert "made from the same items" in message
    one = put(tmp_path, "one.txt", ["a"])
    assert f"{one} has 1 line but {source} has 3" in fault(read_outputs, one, n=3, against=source)
    assert "ids has 1 line but" in fault(read_evalset, source=source, ids=put(tmp_path, "ids", ["a"]))


@pytest.mark.parametrize(
    ("separator", "name"),
    [
        ("\u2028", "U+2028 (LINE SEPARATOR)"),
        ("\u2029", "U+2029 (PARAGRAPH SEPARATOR)"),
        ("\x85", "U+0085 (NEXT LINE)"),
        ("\x0c", "U+000C (FORM FEED)"),
        ("\x1d", "U+001D (a control character)"),
        ("\r", "U+000D (CARRIAGE RETURN)"),
    ],
)
def test_lengths_that_differ_by_a_unicode_separator(tmp_path: Path, separator: str, name: str) -> None:
    source = put(tmp_path, "src.txt", ["one", f"two{separator}still two", "three"])
    output = put(tmp_path, "out.txt", ["one", "two", "still two", "three"])
    e = read_evalset(source=source)
    message = fault(read_outputs, output, n=3, against=source, sources=e.sources)
    assert f"Line 2 of {source} holds {name}" in message
    assert f"split there, {source} has 4 lines, like {output}" in message
    assert f"Line 2 of {source} holds {name}" in fault(read_evalset, source=source, references=output)


def test_lengths_that_differ_by_several_separators() -> None:
    lines = ["a\u2028b", "c\x0cd", "e"]
    assert "Line 1 of s holds U+2028" in fault(check_length, "o", list("abcde"), against="s", expected=lines)
    assert "holds" not in fault(check_length, "o", list("abcdef"), against="s", expected=lines)


def test_lengths_that_differ_by_blank_lines() -> None:
    assert "The last line of o is blank" in fault(check_length, "o", ["a", "b", " "], against="s", expected=["x", "y"])
    message = fault(check_length, "o", ["a", "b"], against="s", expected=["x", "", "y", ""])
    assert "s has 2 blank lines, the first at line 2" in message


def test_transposed_reference_files(tmp_path: Path) -> None:
    source = put(tmp_path, "src.txt", SOURCES)
    for at in range(3):
        put(tmp_path, f"ref.{at}", [SIMPLE[at], SOURCES[at]])
    message = fault(read_evalset, source=source, references=str(tmp_path / "ref.*"))
    for part in ("transposed", "2 lines each", "3 items", "paste -s FILES | cut -f 1"):
        assert part in message
    put(tmp_path, "ref.1", ["a"])
    assert "1 to 2 lines each" in fault(read_evalset, source=source, references=str(tmp_path / "ref.*"))


def test_the_advice_on_transposed_files_works(tmp_path: Path) -> None:
    for at in range(3):
        put(tmp_path, f"item.{at}", [SIMPLE[at], SOURCES[at]])
    assert os.system(f"cd {tmp_path} && paste -s item.0 item.1 item.2 | cut -f 1 > reference.1.txt") == 0
    assert read_evalset(references=tmp_path / "reference.1.txt").references == tuple((text,) for text in SIMPLE)


def test_a_square_of_reference_files_is_read_by_what_it_says(tmp_path: Path) -> None:
    source = put(tmp_path, "src.txt", SOURCES)
    for at in range(3):
        put(tmp_path, f"good.{at}", SIMPLE)
        put(tmp_path, f"bad.{at}", [SIMPLE[at]] * 3)
    assert read_evalset(source=source, references=str(tmp_path / "good.*")).references[1] == (SIMPLE[1],) * 3
    assert "transposed" in fault(read_evalset, source=source, references=str(tmp_path / "bad.*"))


def test_references_from_python() -> None:
    assert check_references([["a", "", " "], (None, "b"), []], 3) == (("a",), ("b",), ())
    assert check_references([["a", float("nan")]], 1) == (("a",),)
    assert check_references((iter(["a"]) for _ in range(2)), 2) == (("a",), ("a",))


def test_references_in_the_order_of_sacrebleu_are_refused() -> None:
    message = fault(check_references, [SIMPLE, SOURCES], 3)
    for part in ("2 lists of 3", "sacrebleu", "3 lists of 2", "list(zip(*references))"):
        assert part in message
    assert check_references(list(zip(SIMPLE, SOURCES, strict=True)), 3) == tuple(zip(SIMPLE, SOURCES, strict=True))
    assert "references has 2 rows for 3 items" in fault(check_references, [["a"], ["b"]], 3)
    assert "references has 0 rows for 3 items" in fault(check_references, [], 3)


def test_a_square_of_references_is_read_by_what_it_says() -> None:
    by_item = [[text] * 3 for text in SIMPLE]
    by_reference = [list(row) for row in zip(*by_item, strict=True)]
    assert check_references(by_item, 3, sources=SOURCES) == tuple(map(tuple, by_item))
    message = fault(check_references, by_reference, 3, sources=SOURCES)
    assert "references holds 3 lists of 3" in message
    assert "list(zip(*references))" in message
    assert check_references(by_reference, 3)[0] == tuple(SIMPLE)
    chinese = ["猫坐在垫子上。", "狗经常叫。"]
    assert "zip" in fault(check_references, [["猫在垫子上。", "狗叫。"]] * 2, 2, sources=chinese)
    assert check_references([["猫在垫子上。"] * 2, ["狗叫。"] * 2], 2, sources=chinese)
    assert check_references([["a"]], 1, sources=["x"]) == (("a",),)


@pytest.mark.long
@settings(deadline=None)
@given(st.lists(st.lists(st.text()), min_size=1))
def test_checked_references_are_those_that_say_something(rows: list[list[str]]) -> None:
    checked = check_references(rows, len(rows))
    assert checked == tuple(tuple(text for text in row if text.strip()) for row in rows)
    assert checked == EvalSet.of(references=rows).references


def test_references_of_the_wrong_kind() -> None:
    assert "[[r] for r in references]" in fault(check_references, SIMPLE, 3)
    assert "references[1] is of type NoneType" in fault(check_references, [["a"], None], 2)
    assert "references[0][1] is of type int, not text" in fault(check_references, [["a", 3]], 1)


def test_outputs_of_several_systems(tmp_path: Path) -> None:
    a, b = put(tmp_path, "A.tok.txt", SIMPLE), put(tmp_path, "b.out", [*SIMPLE[:2], ""])
    assert read_outputs([a, f"Mine={b}"], n=3) == {"A.tok": tuple(SIMPLE), "Mine": (*SIMPLE[:2], "")}
    assert list(read_outputs(str(tmp_path / "*"), n=3)) == ["A.tok", "b"]
    assert read_outputs(Path(a)) == {"A.tok": tuple(SIMPLE)}
    assert read_outputs([a, f"A={a}"]).keys() == {"A.tok", "A"}


def test_outputs_with_equal_signs_in_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "lr=1/out.txt", ["a"])
    put(tmp_path, "x=y.txt", ["b"])
    assert read_outputs(["lr=1/out.txt", "x=y.txt"]) == {"out": ("a",), "x=y": ("b",)}
    assert "There is no file runs/lr=2/out.txt" in fault(read_outputs, "runs/lr=2/out.txt")
    assert "the name is missing" in fault(read_outputs, "=x")
    assert "the path is missing" in fault(read_outputs, "x=")


def test_outputs_of_the_same_name(tmp_path: Path) -> None:
    one, two = put(tmp_path, "run1/out.txt", ["a"]), put(tmp_path, "run2/out.txt", ["b"])
    assert read_outputs([one, two]) == {"run1/out": ("a",), "run2/out": ("b",)}
    for specs in ([one, one], [f"X={one}", f"X={two}"]):
        message = fault(read_outputs, specs)
        assert "Two systems would be called" in message
        assert "NAME=PATH" in message
    assert read_outputs([f"out={one}", two]) == {"out": ("a",), "run2/out": ("b",)}
    assert "gives one name to 2 files" in fault(read_outputs, f"X={tmp_path}/run*/out.txt")


def test_outputs_of_tables_with_the_same_systems(tmp_path: Path) -> None:
    one = put(tmp_path, "dev.csv", ["output_A", "x"])
    two = put(tmp_path, "test.csv", ["output_A", "y"])
    assert read_outputs([one, two]) == {"dev/A": ("x",), "test/A": ("y",)}


def test_outputs_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    for spec, name in (("-", "stdin"), ("X=-", "X")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a\u2028b\nc".encode())))
        assert read_outputs(spec, n=2) == {name: ("a\u2028b", "c")}
    assert "more than once" in fault(read_outputs, ["-", "X=-"])


def test_no_outputs_missing_outputs_and_uneven_outputs(tmp_path: Path) -> None:
    a, b = put(tmp_path, "ACCESS.txt", ["x", "y"]), put(tmp_path, "b.txt", ["x"])
    assert "There are no outputs" in fault(read_outputs, [])
    assert "Did you mean 'ACCESS.txt'?" in fault(read_outputs, str(tmp_path / "access.txt"))
    assert f"{b} has 1 line but {a} has 2" in fault(read_outputs, [a, b])
    assert "b.txt has 1 line but the evaluation set has 2" in fault(read_outputs, [a, b], n=2)
    without_sources = fault(read_outputs, b, n=2, against="ref.txt", sources=["", ""])
    assert "blank" not in without_sources
    assert "is a folder" in fault(read_outputs, str(tmp_path))


@settings(deadline=None, max_examples=30)
@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r")), min_size=1, max_size=20))
def test_source_and_output_stay_in_step(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    folder = tmp_path_factory.mktemp("step")
    path = put(folder, "a.txt", ["first", *lines])
    e = read_evalset(source=path, references=path)
    assert e.sources == ("first", *lines)
    assert read_outputs(path, n=len(e))["a"] == e.sources
    assert [row[0] if row else "" for row in e.references] == [line if line.strip() else "" for line in e.sources]
