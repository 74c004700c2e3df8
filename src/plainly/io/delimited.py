"""CSV as spreadsheets write it, and TSV in both of its kinds: with quotes that mean something and without."""

import csv
import io
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from plainly.core.errors import BadInput
from plainly.io.lines import split_lines

_WELL_QUOTED = re.compile(r'"(?:[^"]|"")*"', re.DOTALL)


@dataclass(frozen=True)
class Delimited:
    """Columns of text, and the line of the file on which each row starts."""

    columns: dict[str, list[str]]
    lines: Sequence[int]


def parse_csv(text: str, path: str) -> Delimited:
    """Comma-separated values; semicolons or tabs if the first line has no comma, as spreadsheets in Europe write."""
    header = split_lines(text)[0]
    delimiter = next((mark for mark in ",;\t" if mark in header), ",")
    return _collect(_quoted(text, delimiter, path), path)


def parse_tsv(text: str, path: str) -> Delimited:
    """Tab-separated values.

    Spreadsheets quote fields in TSV as in CSV; most language data does not, and there a sentence may begin with a
    quotation mark of its own. The fields themselves tell which it is.
    """
    rows = [line.split("\t") for line in split_lines(text)]
    opening = [field for row in rows for field in row if field.startswith('"')]
    if opening and _quotes_mean_something(rows[0], opening):
        return _collect(_quoted(text, "\t", path), path)
    if opening and any(len(row) != len(rows[0]) for row in rows if row != [""]):
        # A quoted field that holds a tab or a newline comes in pieces, and then rows do not fit the first.
        with suppress(BadInput):
            return _collect(_quoted(text, "\t", path), path)
    return _collect(((number, row if row != [""] else []) for number, row in enumerate(rows, 1)), path)


def _quotes_mean_something(header: Sequence[str], opening: Sequence[str]) -> bool:
    """Writers quote either every text, the names included, or only what needs it: what holds a quotation mark."""
    if all(_WELL_QUOTED.fullmatch(name) for name in header):
        return True
    return all(_WELL_QUOTED.fullmatch(field) and ('""' in field[1:-1] or "\r" in field) for field in opening)


def _quoted(text: str, delimiter: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line on which each starts."""
    reader = csv.reader(io.StringIO(text, newline="\n" if "\n" in text else ""), delimiter=delimiter, strict=True)
    start = 1
    with _any_field_size():
        try:
            for row in reader:
                yield start, row
                start = reader.line_num + 1
        except csv.Error as error:
            raise BadInput(
                f"{path}:{start}: this row is not well quoted: {error}. A field with quotation marks is written in "
                'quotation marks, with those inside doubled: "He said ""yes""."'
            ) from None


def _collect(rows: Iterable[tuple[int, list[str]]], path: str) -> Delimited:
    numbered = iter(rows)
    names = _names(next(numbered, (1, []))[1], path)
    width = len(names)
    kept: list[list[str]] = []
    lines = array("q")
    blank = 0
    for line, row in numbered:
        if not row and width != 1:
            blank = blank or line
            continue
        if blank:
            raise BadInput(
                f"{path}:{blank}: this line is blank, and rows follow. Delete it, or give it {width} fields."
            )
        if len(row) != width and not (width == 1 and not row):
            raise BadInput(
                f"{path}:{line}: this row has {len(row)} field{'s' * (len(row) != 1)}, but the first line names "
                f"{width} ({', '.join(names)}). Quote a field that holds the separator, or add what is missing."
            )
        kept.append(row or [""])
        lines.append(line)
    columns = [list(column) for column in zip(*kept, strict=True)] if kept else [[] for _ in names]
    return Delimited(dict(zip(names, columns, strict=True)), lines)


def _names(header: Sequence[str], path: str) -> list[str]:
    names = [name.strip() or f"column {at}" for at, name in enumerate(header, 1)]
    for at, name in enumerate(names):
        if name in names[:at]:
            shown = name if len(name) <= 30 else f"{name[:30]}…"
            raise BadInput(
                f"{path}:1: two columns are called {shown!r}. Rename one; if the first line is data already, write a "
                "line above it that names the columns."
            )
    return names


@contextmanager
def _any_field_size() -> Iterator[None]:
    """The csv module refuses fields over 128 KiB; a document is longer. The limit is global, so it is put back."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
