"""The parts of a corpus: each says where some of its rows are, so that any process on any machine can read them."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from plainly.core import limits
from plainly.core.errors import BadInput
from plainly.core.metric import Needs
from plainly.io.columns import Roles
from plainly.io.tables import Sheet, arrow, half_character
from plainly.streaming.batches import BATCH_ITEMS, Bad, Batch, Lines, from_lines, from_table
from plainly.streaming.line_index import Span


@dataclass(frozen=True)
class LinesPart:
    """Lines of parallel text files: batch after batch, the spans of the source, the references and the outputs."""

    first: int
    count: int
    source: tuple[Span, ...]
    references: tuple[tuple[Span, ...], ...]  # by file, then by batch
    outputs: tuple[tuple[str, tuple[Span, ...]], ...]
    groups: tuple[Span, ...] = ()

    @property
    def file(self) -> str:
        return (self.source or self.outputs[0][1])[0].name

    def read(self, needs: Needs, *, rest: bool = False) -> Iterator[Batch]:
        first = self.first
        for at in range(len(self.outputs[0][1])):
            source = _lines(self.source[at]) if self.source else None
            references = [_lines(spans[at]) for spans in self.references]
            outputs = {system: _lines(spans[at]) for system, spans in self.outputs}
            groups = _lines(self.groups[at]) if self.groups else None
            batch = from_lines(source, references, outputs, groups, first=first, needs=needs)
            first += batch.read
            yield batch


@dataclass(frozen=True)
class JsonlPart:
    """Lines of a file with a JSON object on each."""

    first: int
    count: int
    spans: tuple[Span, ...]
    roles: Roles

    @property
    def file(self) -> str:
        return self.spans[0].name

    def read(self, needs: Needs, *, rest: bool = False) -> Iterator[Batch]:
        first = self.first
        for span in self.spans:
            lines = span.texts()
            records, places, bad = [], [], []
            for number, line in enumerate(lines, first):
                if line is not None and not line.strip():
                    continue
                record = _record(line)
                if isinstance(record, str):
                    bad.append(Bad(span.name, number, number, record))
                else:
                    records.append(record)
                    places.append(number)
            columns = {name: [record.get(name) for record in records] for name in _columns(self.roles, rest=rest)}
            batch = from_table(Sheet(columns, span.name, places, "line"), self.roles, needs, rest=rest)
            bad = sorted([*bad, *batch.bad], key=lambda rows: rows.first)
            yield replace(batch, read=len(lines), bad=bad)
            first += len(lines)


@dataclass(frozen=True)
class ParquetPart:
    """Rows of one row group of a Parquet file: ``count`` from row ``first`` of the file, ``skip`` of the group."""

    first: int
    count: int
    path: str
    group: int
    skip: int
    roles: Roles
    fault: str = ""  # why none of these rows can be read, where that is known from the file's schema

    @property
    def file(self) -> str:
        return self.path

    def read(self, needs: Needs, *, rest: bool = False) -> Iterator[Batch]:
        pyarrow = arrow()
        done = 0
        try:
            if self.fault:
                raise BadInput(self.fault)
            for table in self._tables(_columns(self.roles, rest=rest)):
                yield from_table(table, self.roles, needs, rest=rest)
                done += len(table)
        except (pyarrow.ArrowException, OSError, BadInput) as error:
            reason = str(error).splitlines()[0]
            nothing = from_table(
                Sheet({name: [] for name in _columns(self.roles)}, self.path, []), self.roles, frozenset()
            )
            lost = Bad(self.path, self.first + done, self.first + self.count - 1, f"the rows cannot be read: {reason}")
            yield replace(nothing, read=len(lost), bad=[lost])

    def _tables(self, wanted: Sequence[str]) -> Iterator[Sheet]:
        first, skip, left = self.first, self.skip, self.count
        with open_parquet(self.path) as file:
            batches = file.iter_batches(
                batch_size=BATCH_ITEMS, row_groups=[self.group], columns=list(wanted), use_threads=False
            )
            for batch in batches:
                if skip >= batch.num_rows:
                    skip -= batch.num_rows
                    continue
                batch = batch.slice(skip, min(left, batch.num_rows - skip))
                skip = 0
                columns = {name: _values(batch.column(name)) for name in batch.schema.names}
                yield Sheet(columns, self.path, range(first, first + batch.num_rows), "row")
                first, left = first + batch.num_rows, left - batch.num_rows
                if not left:
                    return


Part = LinesPart | JsonlPart | ParquetPart


def open_parquet(path: str) -> Any:
    """A Parquet file, on disk or in a bucket (``s3://…``), read a little at a time."""
    pyarrow = arrow()
    if "://" in path:
        from pyarrow.fs import FileSystem

        def opened() -> Any:
            filesystem, inside = FileSystem.from_uri(path)
            return pyarrow.parquet.ParquetFile(filesystem.open_input_file(inside), buffer_size=1 << 20)

        return limits.within(opened, path)
    return pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20)


def _columns(roles: Roles, *, rest: bool = False) -> tuple[str, ...]:
    single = [name for name in (roles.source, roles.id, roles.group) if name is not None]
    return tuple(dict.fromkeys([*single, *roles.references, *roles.outputs.values(), *(roles.rest if rest else ())]))


def _lines(span: Span) -> Lines:
    return Lines(span.name, span.texts())


def _record(line: str | None) -> dict[str, object] | str:
    """The object on a line, or why there is none."""
    if line is None:
        return "the line is not UTF-8."
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"the line is not JSON: {error}."
    if not isinstance(record, dict):
        return "the line is JSON, but not an object."
    if half_character(line, record):
        return "the line holds half of a pair that makes one character (\\ud800 to \\udfff)."
    return record


def _values(column: Any) -> list[object]:
    """A column's values; bytes where a text is not UTF-8, so that only its row is bad."""
    with suppress(UnicodeDecodeError):
        return list(column.to_pylist())
    return [_value(item) for item in column]


def _value(item: Any) -> Any:
    with suppress(UnicodeDecodeError):
        return item.as_py()
    return b"not UTF-8"
