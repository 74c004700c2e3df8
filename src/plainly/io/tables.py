"""Tables with named columns, from CSV, TSV, JSONL, JSON or Parquet: the same table whichever it was stored in.

``table_format`` recognises the kind of a file, ``read_table`` reads it whole. A corpus in parts (``plainly.streaming``)
reads lines of JSONL and rows of Parquet with the same functions, so that the same fault has the same message.
"""

from __future__ import annotations

import csv
import io
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, get_args

from plainly.core import limits
from plainly.core.errors import BadInput, did_you_mean, require_package
from plainly.core.files import check_archive
from plainly.io.files import STDIN, PathLike, decode, label, read_bytes, split_lines, suffixes

Format = Literal["csv", "tsv", "jsonl", "json", "parquet"]
_SUFFIXES: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
SPREADSHEETS = (".ods", ".xlsx")
# Rows that are read and measured at once; a multiple of the blocks in which n-grams are counted.
BATCH_ITEMS = 8192
_WELL_QUOTED = re.compile(r'"(?:[^"]|"")*"', re.DOTALL)
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


@dataclass(frozen=True)
class Sheet:
    """Columns by name, each with a value per row; ``None`` where a row has none."""

    columns: dict[str, list[object]]
    path: str
    places: Sequence[int]  # the number of each row's line (or row, or item) in the file
    unit: Literal["line", "row", "item"] = "row"

    def __len__(self) -> int:
        return len(self.places)

    def column(self, name: str) -> list[Any]:
        """Return the values of a column, or raise an error that lists the columns that exist."""
        if name not in self.columns:
            raise BadInput(f"{self.path} has no column {name!r}.{did_you_mean(name, self.columns)} {self.listing()}")
        return self.columns[name]

    __getitem__ = column

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a mapping from column name to value."""
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))

    def select(self, rows: Sequence[int]) -> Sheet:
        """Return a sheet with these rows only."""
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return Sheet(columns, self.path, [self.places[row] for row in rows], self.unit)

    def listing(self) -> str:
        """Return a sentence for errors that lists the columns."""
        return f"Its columns are: {', '.join(map(repr, self.columns))}."

    def where(self, row: int) -> str:
        """Return the file and place of a row, for errors: ``data.csv:7`` or ``data.parquet, row 6``."""
        separator = ":" if self.unit == "line" else f", {self.unit} "
        return f"{self.path}{separator}{self.places[row]}"


def table_format(path: PathLike) -> Format | None:
    """Return the table format that a path's suffix names (``.csv``, ``.csv.gz`` …), if it names one."""
    return None if path == STDIN else _SUFFIXES.get(suffixes(path)[0])


def read_table(path: PathLike, *, format: Format | None = None) -> Sheet:
    """Read a table from a file; its suffix names the format unless ``format`` does; ``-`` is standard input."""
    formats = ", ".join(get_args(Format))
    if format is not None and format not in get_args(Format):
        raise BadInput(f"Unknown table format {format!r}.{did_you_mean(format, get_args(Format))} Known: {formats}.")
    kind = format or table_format(path)
    if kind is None:
        raise BadInput(
            f"{label(path)}: the name does not show the format of the table. Pass format= ({formats}), or give the "
            f"file one of the suffixes {', '.join(_SUFFIXES)}."
        )
    data = read_bytes(path)
    if kind == "parquet":
        table = parse_parquet(data, label(path))
    else:
        table = _PARSERS[kind](decode(data, path), label(path))
    if not table.columns:
        raise BadInput(f"{table.path} names no columns. The first row must name them, for example: source, output.")
    if not len(table):
        raise BadInput(f"{table.path} has column names but no rows. Check that the program that wrote it finished.")
    return table


def read_cells(data: bytes, path: PathLike) -> list[list[object]]:
    """Read the rows of the first sheet of a spreadsheet file. An empty cell is "", a whole number an int."""
    from python_calamine import CalamineError, CalamineWorkbook

    check_archive(data, label(path))
    try:
        rows = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0).to_python(skip_empty_area=False)
    except (CalamineError, IndexError, ValueError, OSError) as error:
        kinds = " or ".join(SPREADSHEETS)
        raise BadInput(f"{label(path)} is not a readable spreadsheet: {error}. Save it again as {kinds}.") from None
    return [[int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in row] for row in rows]


def parse_csv(text: str, path: str) -> Sheet:
    """Parse comma-separated values; semicolons or tabs if the first line has no comma, as European spreadsheets."""
    header = split_lines(text)[0]
    delimiter = next((mark for mark in ",;\t" if mark in header), ",")
    return _collect(_quoted_rows(text, delimiter, path), path)


def parse_tsv(text: str, path: str) -> Sheet:
    """Parse tab-separated values.

    Spreadsheets quote fields in TSV as in CSV; most language data does not, and there a sentence may begin with a
    quotation mark of its own. Writers that quote do so either with every text, the header included, or only with
    fields that contain a quotation mark.
    """
    rows = [line.split("\t") for line in split_lines(text)]
    opening = [field for row in rows for field in row if field.startswith('"')]
    if opening:
        if all(map(_WELL_QUOTED.fullmatch, rows[0])) or all(
            _WELL_QUOTED.fullmatch(field) and ('""' in field[1:-1] or "\r" in field) for field in opening
        ):
            return _collect(_quoted_rows(text, "\t", path), path)
        if any(len(row) != len(rows[0]) for row in rows if row != [""]):
            # A quoted field that contains a tab or a newline comes in pieces, and then rows do not fit the header.
            with suppress(BadInput):
                return _collect(_quoted_rows(text, "\t", path), path)
    return _collect(((number, row if row != [""] else []) for number, row in enumerate(rows, 1)), path)


def _quoted_rows(text: str, delimiter: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line on which it starts."""
    reader = csv.reader(io.StringIO(text, newline="\n" if "\n" in text else ""), delimiter=delimiter, strict=True)
    start = 1
    limit = csv.field_size_limit(2**31 - 1)  # 128 KiB by default; a document is longer
    try:
        for row in reader:
            yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(
            f"{path}:{start}: this row is not well quoted: {error}. A field with quotation marks is written in "
            'quotation marks, with those inside doubled: "He said ""yes""."'
        ) from None
    finally:
        csv.field_size_limit(limit)


def _collect(rows: Iterable[tuple[int, list[str]]], path: str) -> Sheet:
    rows = iter(rows)
    names = [name.strip() or f"column {at}" for at, name in enumerate(next(rows, (1, []))[1], 1)]
    if duplicates := [name for at, name in enumerate(names) if name in names[:at]]:
        raise BadInput(
            f"{path}:1: two columns are called {excerpt(duplicates[0], most=30)}. Rename one. If the first line is "
            "already data, write a line above it that names the columns."
        )
    width = len(names)
    table: list[list[str]] = []
    lines = array("q")
    blank = 0
    for line, row in rows:
        if not row and width != 1:
            blank = blank or line
            continue
        if blank:
            raise BadInput(
                f"{path}:{blank}: this line is blank, and rows follow. Delete it, or give it {width} fields."
            )
        if len(row or [""]) != width:
            raise BadInput(
                f"{path}:{line}: this row has {len(row)} field{'s' * (len(row) != 1)}, but the first line names "
                f"{width} ({', '.join(names)}). Quote a field that contains the separator, or add what is missing."
            )
        table.append(row or [""])
        lines.append(line)
    columns = [list[object](column) for column in zip(*table, strict=True)] if table else [[] for _ in names]
    return Sheet(dict(zip(names, columns, strict=True)), path, lines, "line")


def parse_jsonl(text: str, path: str) -> Sheet:
    """Parse JSONL: an object on each line."""
    lines = split_lines(text)
    sheet, faults = parse_records(lines, path)
    for line, fault in faults:
        is_json = line == 1 and lines[0].strip() in ("[", "{")
        step = " The file looks like one JSON value: name it .json." if is_json else ""
        raise BadInput(f"{path}:{line}: {fault}{step}")
    return sheet


def parse_records(
    lines: Sequence[str | None], path: str, *, first: int = 1, names: Iterable[str] | None = None
) -> tuple[Sheet, list[tuple[int, str]]]:
    """Return the objects on lines of JSONL as a sheet, and the numbers of the other lines with the reason.

    ``first`` is the number of the first line; a line that is not UTF-8 is None. Columns are ``names``, or all names
    in the objects.
    """
    records: list[dict[str, object]] = []
    places: list[int] = []
    faults: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first):
        if line is not None and not line.strip():
            continue
        record = _parse_record(line)
        if isinstance(record, str):
            faults.append((number, record))
        else:
            records.append(record)
            places.append(number)
    return Sheet(columns_of(records, names), path, places, "line"), faults


def _parse_record(line: str | None) -> dict[str, object] | str:
    """Return the object on a line, or the reason why there is none."""
    if line is None:
        return "this line is not UTF-8."
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"this line is not JSON: {_describe(error)}. JSONL has one object on each line."
    if not isinstance(record, dict):
        example = 'Write each row as an object: {"source": "…", "output": "…"}'
        return f"this line is JSON {_json_kind(record)}, not an object. {example}"
    return _half_character(line, record) or record


def parse_json(text: str, path: str) -> Sheet:
    """Parse JSON: a list of objects, or an object with a list for each column."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return parse_jsonl(text, path)  # Many tools write JSONL to .json files.
        raise BadInput(f"{path}:{error.lineno}: this is not JSON: {_describe(error)}. Correct that line.") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not readable JSON: {_describe(error)}.") from None
    if half := _half_character(text, value):
        raise BadInput(f"{path}: {half}")
    if isinstance(value, list):
        for at, record in enumerate(value, 1):
            if not isinstance(record, dict):
                raise BadInput(
                    f"{path}, item {at}: this is {_json_kind(record)}, not an object. "
                    'Write each row as an object: [{"source": "…", "output": "…"}, …]'
                )
        return Sheet(columns_of(value), path, range(1, len(value) + 1), "item")
    if isinstance(value, dict) and value and all(isinstance(column, list) for column in value.values()):
        first, length = next((name, len(column)) for name, column in value.items())
        for name, column in value.items():
            if len(column) != length:
                counts = f"column {name!r} has {len(column)} values but {first!r} has {length}"
                raise BadInput(f"{path}: {counts}. Give one for every row.")
        return Sheet(value, path, range(1, length + 1), "item")
    raise BadInput(
        f"{path} contains {_json_kind(value)} that is not a table. Write a list of objects, one for each row "
        "(pandas: to_json(path, orient='records')), or an object with a list for each column."
    )


_PARSERS = {"csv": parse_csv, "tsv": parse_tsv, "jsonl": parse_jsonl, "json": parse_json}


def parse_parquet(data: bytes, path: str) -> Sheet:
    """Parse a Parquet file as a whole."""
    with open_parquet(path, data) as file:
        about = file.metadata
        size = sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
        limits.check("file", size, f"{path}, unpacked,")
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise BadInput(f"{path} has two columns of the same name among: {', '.join(names)}. Rename one.")
        batches = list(parquet_batches(file, path))
    columns = {name: list(chain.from_iterable(batch.columns[name] for batch in batches)) for name in names}
    return Sheet(columns, path, range(1, about.num_rows + 1), "row")


@contextmanager
def open_parquet(path: str, data: bytes | None = None) -> Iterator[Any]:
    """Open a Parquet file on disk or in a bucket (``s3://…``), or its content as ``data``."""
    pyarrow = import_pyarrow()

    def open_file() -> Any:
        source: Any = path if data is None else pyarrow.BufferReader(data)
        if is_remote:
            from pyarrow.fs import FileSystem

            filesystem, inside = FileSystem.from_uri(path)
            source = filesystem.open_input_file(inside)
        return pyarrow.parquet.ParquetFile(source, buffer_size=1 << 20)

    is_remote = data is None and "://" in path
    try:
        with limits.run_within_limit(open_file, path) if is_remote else open_file() as file:
            yield file
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{path} is not a readable Parquet file: {reason}. Write it again.") from None


def parquet_batches(
    file: Any,
    path: str,
    *,
    names: Sequence[str] | None = None,
    group: int | None = None,
    skip: int = 0,
    count: int | None = None,
    first: int = 1,
) -> Iterator[Sheet]:
    """Yield the rows of an open Parquet file in batches: all, or ``count`` rows of a row group after ``skip`` rows.

    ``first`` is the number of the first row that is returned.
    """
    last = file.metadata.num_rows if count is None else first + count - 1
    groups = None if group is None else [group]
    for batch in file.iter_batches(BATCH_ITEMS, row_groups=groups, columns=names, use_threads=group is None):
        if skip >= batch.num_rows:
            skip -= batch.num_rows
            continue
        batch, skip = batch.slice(skip, last - first + 1), 0
        columns = {name: _values(batch.column(name)) for name in batch.schema.names}
        yield Sheet(columns, path, range(first, first + batch.num_rows), "row")
        first += batch.num_rows
        if first > last:
            return


def _values(column: Any) -> list[object]:
    """Return a column's values; bytes where a text is not UTF-8, so that only its row is rejected."""
    with suppress(UnicodeDecodeError):
        return list(column.to_pylist())
    values: list[object] = [b"not UTF-8"] * len(column)
    for row, item in enumerate(column):
        with suppress(UnicodeDecodeError):
            values[row] = item.as_py()
    return values


def import_pyarrow(feature: str = "Parquet") -> Any:
    """Import pyarrow with its Parquet module, or raise an error that says how to install it."""
    with require_package(feature, package="pyarrow", extra="parquet"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow


def columns_of(records: Sequence[Mapping[str, object]], names: Iterable[str] | None = None) -> dict[str, list[object]]:
    """Return the columns of records: those named, or all that occur; None where a record has no value."""
    names = dict.fromkeys(chain.from_iterable(records)) if names is None else names
    return {str(name): [record.get(name) for record in records] for name in names}


def excerpt(value: object, *, most: int = 50) -> str:
    """Return the beginning of a value in quotation marks, for messages."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return repr(text if len(text) <= most else f"{text[:most]}…")


def _half_character(raw: str, value: Any) -> str:
    """Return a message about half a surrogate pair: it is valid JSON, but cannot be encoded as text."""
    if "\\ud" in raw.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            return f"contains {half}, half of a pair that makes one character. Write whole characters."
    return ""


def _describe(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return "too deeply nested" if isinstance(error, RecursionError) else str(error)


def _json_kind(value: object) -> str:
    return "null" if value is None else _KINDS[type(value)]
