"""Tables with named columns, from CSV, TSV, JSONL, JSON or Parquet: the same table whichever it was stored in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from plainly.core import limits
from plainly.core.errors import BadInput, MissingExtra, did_you_mean
from plainly.io.delimited import parse_csv, parse_tsv
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
    if format is not None and format not in get_args(Format):
        known = ", ".join(get_args(Format))
        raise BadInput(f"Unknown table format {format!r}.{did_you_mean(format, get_args(Format))} Known: {known}.")
    kind = format or table_format(path)
    if kind is None:
        known = ", ".join(_SUFFIXES)
        raise BadInput(
            f"{label(path)}: the format of the table cannot be told from the name. Say which it is "
            f"({', '.join(get_args(Format))}), or give it one of the suffixes {known}."
        )
    data = read_bytes(path)
    if kind == "parquet":
        table = _parquet(data, label(path))
    else:
        table = _parse(decode(data, path), label(path), kind)
    if not table.columns:
        raise BadInput(f"{table.path} names no columns. The first row must name them, for example: source, output.")
    if not len(table):
        raise BadInput(f"{table.path} has column names but no rows. Check that what wrote it finished.")
    return table


def _parse(text: str, path: str, kind: Format) -> Sheet:
    if kind in ("csv", "tsv"):
        rows = parse_csv(text, path) if kind == "csv" else parse_tsv(text, path)
        return Sheet(cast("dict[str, list[object]]", rows.columns), path, rows.lines, "line")
    return _jsonl(text, path) if kind == "jsonl" else _json(text, path)


def _jsonl(text: str, path: str) -> Sheet:
    records: list[dict[str, object]] = []
    places: list[int] = []
    for number, line in enumerate(split_lines(text), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            whole = number == 1 and line.strip() in "[{"
            step = (
                "The file looks like one JSON value: name it .json." if whole else "JSONL has one object on each line."
            )
            raise BadInput(f"{path}:{number}: this line is not JSON: {_fault(error)}. {step}") from None
        if not isinstance(record, dict):
            raise BadInput(
                f"{path}:{number}: this line is JSON {_json_kind(record)}, not an object. "
                'Write each row as an object: {"source": "…", "output": "…"}'
            )
        _check_unicode(line, record, f"{path}:{number}")
        records.append(record)
        places.append(number)
    return Sheet(_columns(records), path, places, "line")


def _json(text: str, path: str) -> Sheet:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return _jsonl(text, path)  # Many tools call JSONL .json.
        raise BadInput(f"{path}:{error.lineno}: this is not JSON: {_fault(error)}. Mend it there.") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON that can be read: {_fault(error)}.") from None
    _check_unicode(text, value, path)
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
        f"{path} holds {_json_kind(value)} that is no table. Write a list of objects, one for each row "
        "(pandas: to_json(path, orient='records')), or an object with a list for each column."
    )


def _parquet(data: bytes, path: str) -> Sheet:
    pyarrow = arrow()
    try:
        about = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data)).metadata
        size = sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
        limits.check("file", size, f"{path}, unpacked,")
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{path} is not a Parquet file that can be read: {reason}. Write it again.") from None
    if len(set(table.column_names)) < len(table.column_names):
        raise BadInput(f"{path} has two columns of one name among: {', '.join(table.column_names)}. Rename one.")
    columns: dict[str, list[object]] = {name: table.column(name).to_pylist() for name in table.column_names}
    return Sheet(columns, path, range(1, table.num_rows + 1), "row")


def arrow(feature: str = "Parquet") -> Any:
    """pyarrow with its module for Parquet; where it is not installed, an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(feature, package="pyarrow", extra="parquet") from None
    return pyarrow


def _columns(records: Sequence[dict[str, object]]) -> dict[str, list[object]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _check_unicode(raw: str, value: Any, where: str) -> None:
    if half := half_character(raw, value):
        raise BadInput(f"{where}: holds {half}, half of a pair that makes one character. Write whole characters.")


def half_character(raw: str, value: Any) -> str:
    """Half a surrogate pair in JSON, if any: it is JSON but no text, and nothing could write it out again."""
    if "\\ud" in raw.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            return f"\\u{ord(error.object[error.start]):04x}"
    return ""


def _fault(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return "too deeply nested" if isinstance(error, RecursionError) else str(error)


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds[type(value)]
