"""Lines are what their writer meant: no Unicode character shifts a sentence, and what cannot be read is named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plainly.core.errors import BadInput
from plainly.io import read_lines
from plainly.io.files import decode, natural_key, split_lines, stem

SEPARATORS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
ANY_LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"))
TEXTS = [
    "القطة تجلس على السجادة.",
    "猫坐在垫子上。",
    "👩‍👩‍👧‍👦 the family 🇩🇪",
    "e\u0301le\u0300ve",
    "",
    "a\x00b\tc\x07",
    "long " * 2000,
]


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@settings(deadline=None)
@given(st.lists(ANY_LINE, min_size=1), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_lines_of_any_unicode_come_back(lines: list[str], end: str, last: bool, bom: bool) -> None:
    if not bom and lines[0].startswith("\ufeff"):
        lines[0] = "x" + lines[0]
    if not last and lines[-1] == "":
        lines[-1] = "x"
    text = end.join(lines) + (end if last else "")
    assert split_lines(decode(text.encode("utf-8-sig" if bom else "utf-8"), "x")) == lines


@settings(deadline=None)
@given(st.lists(ANY_LINE, min_size=1), st.sampled_from(["utf-16", "utf-32"]))
def test_marked_utf16_and_utf32_are_read(lines: list[str], encoding: str) -> None:
    lines = ["first", *lines]  # UTF-16 text that begins with NUL has the same first bytes as UTF-32
    assert split_lines(decode("".join(f"{line}\n" for line in lines).encode(encoding), "x")) == lines


@pytest.mark.parametrize("separator", SEPARATORS)
def test_no_separator_but_a_newline_ends_a_line(tmp_path: Path, separator: str) -> None:
    path = put(tmp_path, "a.txt", f"one{separator}still one\ntwo\n".encode())
    assert read_lines(path) == [f"one{separator}still one", "two"]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"one\ntwo", ["one", "two"]),
        (b"one\ntwo\n\n", ["one", "two", ""]),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\r\r\ntwo\r", ["one", "two"]),
        (b"one\rstill\ntwo\n", ["one\rstill", "two"]),
        (b"one\rtwo\rthree\r", ["one", "two", "three"]),
        (b"one\rtwo", ["one", "two"]),
        (b"\xef\xbb\xbfone\n", ["one"]),
        (b"\xef\xbb\xbf\n", [""]),
        ("one\ufefftwo\n".encode(), ["one\ufefftwo"]),
        (b"\x00" * 80 + b"\n", ["\x00" * 80]),
    ],
)
def test_ends_of_lines(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    assert read_lines(put(tmp_path, "a.txt", data)) == lines


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_compressed_files_are_unpacked(tmp_path: Path, pack: object) -> None:
    suffix = {gzip.compress: ".gz", lzma.compress: ".xz", bz2.compress: ".bz2"}[pack]  # type: ignore[index]
    packed = pack("\n".join(TEXTS).encode())  # type: ignore[operator]
    assert read_lines(put(tmp_path, f"a.txt{suffix}", packed)) == TEXTS


@pytest.mark.mirror
def test_published_sentence_pairs_hold_separators(mirror: Path) -> None:
    # OneStopEnglish gives three lines a pair: two sentences and a row of stars. str.splitlines finds more lines.
    (path,) = mirror.rglob("ELE-INT.txt")
    lines = read_lines(path)
    assert len(lines) == 5022
    assert set(lines[2::3]) == {"*******"}
    assert len(path.read_text(encoding="utf-8").splitlines()) == 5025


def test_text_in_many_scripts_and_long_lines(tmp_path: Path) -> None:
    assert read_lines(put(tmp_path, "a.txt", "\r\n".join(TEXTS).encode())) == TEXTS


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO("\ufeffone\u2028\ntwo\r\n".encode()), encoding="latin-1")
    )
    assert read_lines("-") == ["one\u2028", "two"]
    with pytest.raises(BadInput, match=r"standard input is empty.*only once"):
        read_lines("-")


def test_stdin_without_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert read_lines("-") == ["one", "two"]


def error(path: Path | str) -> str:
    with pytest.raises(BadInput) as caught:
        read_lines(path)
    return str(caught.value)


def test_latin1_is_named_with_line_offset_and_command(tmp_path: Path) -> None:
    path = put(tmp_path, "my file.txt", "plain line\nun café très bon\n".encode("latin-1"))
    message = error(path)
    assert message.startswith(f"{path}:2: byte 0xe9 at byte offset 17 is not UTF-8")
    assert f"iconv -f WINDOWS-1252 -t UTF-8 '{path}'" in message
    assert "Latin-1" in message
    packed = put(tmp_path, "a.txt.gz", gzip.compress("café".encode("latin-1")))
    assert f"gzip -dc {packed} | iconv" in error(packed)


def test_other_encodings_are_not_guessed(tmp_path: Path) -> None:
    message = error(put(tmp_path, "a.txt", "猫坐在垫子上。\n".encode("gb18030")))
    assert "a.txt:1: byte 0xd7 at byte offset 2" in message
    assert "iconv -f ENCODING" in message
    assert "Latin" not in message


def test_cut_off_text(tmp_path: Path) -> None:
    message = error(put(tmp_path, "a.txt", "one\ntwo 猫".encode()[:-1]))
    assert ":2: byte 0xe7 at byte offset 8" in message
    assert "cut off" in message
    assert "cut off" in error(put(tmp_path, "b.txt", "one two".encode("utf-16")[:-1]))
    assert "cut off" in error(put(tmp_path, "c.gz", gzip.compress(b"one\n" * 1000)[:-20]))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_unmarked_utf16_is_named(tmp_path: Path, encoding: str) -> None:
    message = error(put(tmp_path, "a.txt", ("A sentence of plain text, long enough.\n").encode(encoding)))
    assert "looks like UTF-16 without a byte-order mark" in message
    assert f"iconv -f {encoding.upper().replace('-LE', 'LE').replace('-BE', 'BE')}" in message


def test_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    put(tmp_path, "source.txt", b"x\n")
    assert "There is no file" in error(tmp_path / "sorce.txt")
    assert "Did you mean 'source.txt'?" in error(tmp_path / "sorce.txt")
    assert "holds: source.txt" in error(tmp_path / "zzz")
    (tmp_path / "outputs").mkdir()
    message = error(tmp_path / "output" / "a.txt")
    assert "does not exist" in message
    assert "Did you mean 'outputs'?" in message


def test_folder_instead_of_file(tmp_path: Path) -> None:
    put(tmp_path, "source.txt", b"x\n")
    message = error(tmp_path)
    assert "is a folder, not a file" in message
    assert "source.txt" in message
    assert "is a file, not a folder" in error(tmp_path / "source.txt" / "a.txt")


def test_empty_file(tmp_path: Path) -> None:
    assert "a.txt is empty" in error(put(tmp_path, "a.txt", b""))
    assert "a.gz is empty" in error(put(tmp_path, "a.gz", gzip.compress(b"")))


def test_files_that_are_not_text(tmp_path: Path) -> None:
    assert "not gzip data" in error(put(tmp_path, "a.txt.gz", b"plain"))
    assert "save the sheet as CSV" in error(put(tmp_path, "a.xlsx", b"PK\x03\x04...."))
    assert "is a Parquet table" in error(put(tmp_path, "a.txt", b"PAR1...."))
    assert "is not a path" in error("a\0b")


def test_natural_order() -> None:
    assert sorted(["ref.10", "ref.2", "ref.1", "ref"], key=natural_key) == ["ref", "ref.1", "ref.2", "ref.10"]
    assert sorted(["10", "9a", "a1", "1"], key=natural_key) == ["1", "9a", "10", "a1"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/ACCESS.txt", "ACCESS"),
        ("a/T5.v1.tok.txt.gz", "T5.v1.tok"),
        ("out", "out"),
        (".txt", ".txt"),
        ("-", "stdin"),
    ],
)
def test_names_of_systems_from_files(path: str, name: str) -> None:
    assert stem(path) == name
