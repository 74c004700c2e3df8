"""Tables with named columns, from CSV, TSV, JSONL, JSON or Parquet: the same table whichever it was stored in.

``read_table`` reads a file whole. A corpus in parts (``plainly.streaming``) reads lines of JSONL and rows of Parquet
with the same functions, so that the same fault has the same words.
"""

from __future__ import annotations

import csv
import io
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, get_args

from plainly.core import limits
from plainly.core.errors import BadInput, MissingExtra, did_you_mean
from plainly.io.files import STDIN, PathLike, label, read_bytes, suffixes
from plainly.io.lines import decode, split_lines

Format = Literal["csv", "tsv", "jsonl", "json", "parquet"]
_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
# Rows that are read and measured at once; a whole number of the blocks in which n-grams are counted.
BATCH_ITEMS = 8192
_WELL_QUOTED = re.compile(r'"(?:[^"]|"")*"', re.DOTALL)
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


@dataclass(frozen=True)
class Sheet:
    """Columns by name, each with a value per row; ``None`` where a row has none."""

    columns: dict[str, list[object]]
    path: str
    places: Sequence[int]  # the line (or row, or item) of the file where each row stands
    unit: Literal["line", "row", "item"] = "row"

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, name: str) -> list[Any]:
        return self.column(name)

    def column(self, name: str) -> list[object]:
        """The values of a column, or an error that lists the columns that exist."""
        if name not in self.columns:
            raise BadInput(f"{self.path} has no column {name!r}.{did_you_mean(name, self.columns)} {self.listing()}")
        return self.columns[name]

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows, each by the names of the columns."""
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))

    def chosen(self, rows: Sequence[int]) -> Sheet:
        """Some of the rows."""
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return Sheet(columns, self.path, [self.places[row] for row in rows], self.unit)

    def listing(self) -> str:
        """The columns that exist, as a sentence for errors."""
        return f"Its columns are: {', '.join(map(repr, self.columns))}."

    def where(self, row: int) -> str:
        """File and place of a row, for errors: ``data.csv:7`` or ``data.parquet, row 6``."""
        at = self.places[row]
        return f"{self.path}:{at}" if self.unit == "line" else f"{self.path}, {self.unit} {at}"


def table_format(path: PathLike) -> Format | None:
    """The table format that a path's suffix names (``.csv``, ``.csv.gz`` …), if it names one."""
    return None if path == STDIN else _SUFFIXES.get(suffixes(path)[0])


def read_table(path: PathLike, *, format: Format | None = None) -> Sheet:
    """A table from a file; the format is the suffix's unless given; ``-`` is standard input."""
    formats = ", ".join(get_args(Format))
    if format is not None and format not in get_args(Format):
        raise BadInput(f"Unknown table format {format!r}.{did_you_mean(format, get_args(Format))} Known: {formats}.")
    kind = format or table_format(path)
    if kind is None:
        raise BadInput(
            f"{label(path)}: the format of the table cannot be told from the name. Say which it is "
            f"({formats}), or give it one of the suffixes {', '.join(_SUFFIXES)}."
        )
    data = read_bytes(path)
    if kind == "parquet":
        table = parse_parquet(data, label(path))
    else:
        parse = {"csv": parse_csv, "tsv": parse_tsv, "jsonl": parse_jsonl, "json": parse_json}[kind]
        table = parse(decode(data, path), label(path))
    if not table.columns:
        raise BadInput(f"{table.path} names no columns. The first row must name them, for example: source, output.")
    if not len(table):
        raise BadInput(f"{table.path} has column names but no rows. Check that what wrote it finished.")
    return table


def parse_csv(text: str, path: str) -> Sheet:
    """Comma-separated values; semicolons or tabs if the first line has no comma, as spreadsheets in Europe write."""
    header = split_lines(text)[0]
    delimiter = next((mark for mark in ",;\t" if mark in header), ",")
    return _collect(_quoted(text, delimiter, path), path)


def parse_tsv(text: str, path: str) -> Sheet:
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


def _collect(rows: Iterable[tuple[int, list[str]]], path: str) -> Sheet:
    numbered = iter(rows)
    names = _header(next(numbered, (1, []))[1], path)
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
    columns = [list[object](column) for column in zip(*kept, strict=True)] if kept else [[] for _ in names]
    return Sheet(dict(zip(names, columns, strict=True)), path, lines, "line")


def _header(header: Sequence[str], path: str) -> list[str]:
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


def parse_jsonl(text: str, path: str) -> Sheet:
    """JSONL: an object on each line."""
    sheet, faults = parse_records(split_lines(text), path)
    for line, fault in faults:
        whole = line == 1 and split_lines(text)[0].strip() in ("[", "{")
        step = " The file looks like one JSON value: name it .json." if whole else ""
        raise BadInput(f"{path}:{line}: {fault}{step}")
    return sheet


def parse_records(
    lines: Sequence[str | None], path: str, *, first: int = 1, names: Iterable[str] | None = None
) -> tuple[Sheet, list[tuple[int, str]]]:
    """The objects on lines of JSONL, and the numbers of lines that hold none, with the reason.

    ``first`` is the number of the first line; a line that is not UTF-8 is None. Columns are ``names``, or what the
    objects have.
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
    return Sheet(_columns(records, names), path, places, "line"), faults


def _parse_record(line: str | None) -> dict[str, object] | str:
    """The object on a line, or why there is none."""
    if line is None:
        return "this line is not UTF-8."
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"this line is not JSON: {_describe(error)}. JSONL has one object on each line."
    if not isinstance(record, dict):
        return (
            f"this line is JSON {_json_kind(record)}, not an object. "
            'Write each row as an object: {"source": "…", "output": "…"}'
        )
    return _half_character(line, record) or record


def parse_json(text: str, path: str) -> Sheet:
    """JSON: a list of objects, or an object with a list for each column."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return parse_jsonl(text, path)  # Many tools call JSONL .json.
        raise BadInput(f"{path}:{error.lineno}: this is not JSON: {_describe(error)}. Correct it there.") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON that can be read: {_describe(error)}.") from None
    if half := _half_character(text, value):
        raise BadInput(f"{path}: {half}")
    if isinstance(value, list):
        for at, record in enumerate(value, 1):
            if not isinstance(record, dict):
                raise BadInput(
                    f"{path}, item {at}: this is {_json_kind(record)}, not an object. "
                    'Write each row as an object: [{"source": "…", "output": "…"}, …]'
                )
        return Sheet(_columns(value), path, range(1, len(value) + 1), "item")
    if isinstance(value, dict) and value and all(isinstance(column, list) for column in value.values()):
        (first, length), *others = ((name, len(column)) for name, column in value.items())
        for name, other in others:
            if other != length:
                raise BadInput(
                    f"{path}: column {name!r} has {other} values but {first!r} has {length}. Give one for every row."
                )
        return Sheet(value, path, range(1, length + 1), "item")
    raise BadInput(
        f"{path} holds {_json_kind(value)} that is not a table. Write a list of objects, one for each row "
        "(pandas: to_json(path, orient='records')), or an object with a list for each column."
    )


def parse_parquet(data: bytes, path: str) -> Sheet:
    """A Parquet file that is read whole."""
    with open_parquet(data, path) as file:
        about = file.metadata
        size = sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
        limits.check("file", size, f"{path}, unpacked,")
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise BadInput(f"{path} has two columns of one name among: {', '.join(names)}. Rename one.")
        batches = list(parquet_batches(file, path))
    columns = {name: list(chain.from_iterable(batch.columns[name] for batch in batches)) for name in names}
    return Sheet(columns, path, range(1, about.num_rows + 1), "row")


@contextmanager
def open_parquet(place: str | bytes, name: str) -> Iterator[Any]:
    """A Parquet file: its bytes, or its path on disk or in a bucket (``s3://…``). Errors call it ``name``."""
    pyarrow = arrow()

    def open_file() -> Any:
        source: Any = pyarrow.BufferReader(place) if isinstance(place, bytes) else place
        if isinstance(place, str) and "://" in place:
            from pyarrow.fs import FileSystem

            filesystem, inside = FileSystem.from_uri(place)
            source = filesystem.open_input_file(inside)
        return pyarrow.parquet.ParquetFile(source, buffer_size=1 << 20)

    try:
        remote = isinstance(place, str) and "://" in place
        with limits.within(open_file, str(place)) if remote else open_file() as file:
            yield file
    except FileNotFoundError:
        raise BadInput(f"There is no file {name}.") from None
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{name} is not a Parquet file that can be read: {reason}. Write it again.") from None


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
    """The rows of an open Parquet file, batch by batch: all, or ``count`` rows of a row group after the first ``skip``.

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
    """A column's values; bytes where a text is not UTF-8, so that only its row is at fault."""

    def value(item: Any) -> Any:
        with suppress(UnicodeDecodeError):
            return item.as_py()
        return b"not UTF-8"

    with suppress(UnicodeDecodeError):
        return list(column.to_pylist())
    return list(map(value, column))


def arrow(feature: str = "Parquet") -> Any:
    """pyarrow with its module for Parquet; where it is not installed, an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(feature, package="pyarrow", extra="parquet") from None
    return pyarrow


def _columns(records: Sequence[dict[str, object]], names: Iterable[str] | None = None) -> dict[str, list[object]]:
    if names is None:
        names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _half_character(raw: str, value: Any) -> str:
    """A complaint about half a surrogate pair: it is JSON but not text, and nothing could write it out again."""
    if "\\ud" in raw.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            return f"holds {half}, half of a pair that makes one character. Write whole characters."
    return ""


def _describe(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return "too deeply nested" if isinstance(error, RecursionError) else str(error)


def _json_kind(value: object) -> str:
    return "null" if value is None else _KINDS[type(value)]
