"""A corpus that may be too large to hold: files become parts before any text is read."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from plainly.core import limits
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Needs
from plainly.io.columns import Columns, Roles, find_roles, require_outputs
from plainly.io.consistency import check_length
from plainly.io.evalsets import name_files
from plainly.io.files import STDIN, expand, label, natural_key, stem
from plainly.io.tables import BATCH_ITEMS, Sheet, import_pyarrow, open_parquet, parse_records, table_format
from plainly.streaming.batches import LINE, JsonlPart, LineIndex, LinesPart, ParquetPart, Part, index_lines, seekable

T = TypeVar("T")
Texts = tuple[EvalSet, dict[str, tuple[str, ...]]]  # of consecutive items: the set, and the outputs of each system

# Batches of lines in a part: a second or two of work, so that little is lost on an interruption.
_BATCHES = 4
# Rows of a Parquet row group in a part. Reading a group's second part means skipping the first, so parts are larger.
_PARQUET_ROWS = 1 << 17
_HEAD = 1000  # lines of JSONL from which the names of columns are read


@dataclass(frozen=True)
class Corpus:
    """A corpus in parts. ``rows`` counts all rows, readable or not; ``identity`` changes when files or columns do."""

    name: str
    parts: tuple[Part, ...] = field(repr=False)
    systems: tuple[str, ...]
    has_sources: bool
    has_references: bool
    keyed_by: str  # what decides an item's bin: "group", "id" (or the number of the line), "source", "output"
    identity: str
    scratch: tuple[str, ...] = ()  # temporary copies
    columns: tuple[str, ...] = ()  # columns of a table other than texts, ids and groups
    language: str = ""

    @property
    def rows(self) -> int:
        return sum(part.count for part in self.parts)

    def gather(self, numbers: Sequence[int], needs: Needs, texts_by_part: Mapping[int, Sequence[Texts]]) -> Texts:
        """Return the measurable rows of these parts as an evaluation set and outputs, for a corpus that can be held.

        ``texts_by_part`` are the texts of parts that were read before; the others are read now.
        """
        texts = [
            texts
            for number in numbers
            for texts in texts_by_part.get(number)
            or ((batch.evalset, batch.outputs) for batch in self.parts[number].read(needs, rest=True))
        ]
        sets = [part for part, _ in texts if len(part)]
        evalset = EvalSet(
            ids=_join(part.ids for part in sets),
            sources=_join(part.sources for part in sets),
            references=_join(part.references for part in sets),
            groups=_join(part.groups or () for part in sets) if self.keyed_by == "group" else None,
            columns={name: _join(part.columns[name] for part in sets) for name in (sets[0].columns if sets else ())},
            name=self.name,
            language=self.language,
        )
        return evalset, {system: _join(outputs[system] for _, outputs in texts) for system in self.systems}

    def close(self) -> None:
        """Remove temporary copies, if any were made."""
        _remove(self.scratch)


def open_corpus(
    tables: Iterable[str] = (),
    *,
    source: str | None = None,
    references: Iterable[str] = (),
    outputs: Mapping[str, str] | Sequence[str] = (),
    groups: str | None = None,
    columns: Columns | None = None,
) -> Corpus:
    """Open a corpus of tables (Parquet or JSONL files, folders or buckets of them), or of files with one text per line.

    Only names of columns and places of lines are read here. All tables together are one corpus, in natural order.
    """
    scratch: list[str] = []
    try:
        tables = list(tables)
        if tables and (source or references or outputs or groups):
            raise BadInput("A corpus comes from tables or from files with one text per line, not from both.")
        if tables:
            paths = [path for table in tables for path in table_files(table)]
            roles, parts = _divide_tables(paths, columns, stem(tables[0].rstrip("/")), scratch)
            name = f"{tables[0].rstrip('/')}{f' and {len(tables) - 1} more' if len(tables) > 1 else ''}"
        else:
            roles, files = _line_files(source, references, outputs, groups)
            parts = _divide_lines(files, roles, scratch)
            paths = list(files.values())
            name = label(source or files[next(iter(roles.outputs.values()))])
        return Corpus(
            name=name,
            parts=tuple(parts),
            systems=tuple(roles.outputs),
            has_sources=roles.source is not None,
            has_references=bool(roles.references),
            keyed_by="group" if roles.group else "id" if roles.id else "source" if roles.source else "output",
            identity=_identify(roles, paths),
            scratch=tuple(scratch),
            columns=roles.rest,
        )
    except BaseException:
        _remove(scratch)
        raise


def _divide_tables(
    paths: Sequence[str], columns: Columns | None, system: str, scratch: list[str]
) -> tuple[Roles, list[Part]]:
    kinds = {"parquet" if "://" in path else str(table_format(path)) for path in paths}
    if kinds == {"parquet"}:
        with open_parquet(paths[0]) as file:
            roles = _table_roles(file.schema_arrow.names, paths[0], columns, system)
        return roles, [part for path in paths for part in _parquet_parts(path, roles)]
    if kinds == {"jsonl"}:
        indices = [index_lines(seekable(path, scratch), name=label(path)) for path in paths]
        roles = _table_roles(_jsonl_names(indices), paths[0], columns, system)
        return roles, [
            JsonlPart(index.name, first, count, roles, index.spans(batches))
            for index in indices
            for first, count, batches in _divide(index.lines)
        ]
    raise BadInput(
        f"{', '.join(sorted(kinds))} cannot be read a part at a time. Give Parquet or JSONL files, all of one "
        f"kind; a smaller table is read as a whole with engine='memory'."
    )


def _line_files(
    source: str | None, references: Iterable[str], outputs: Mapping[str, str] | Sequence[str], groups: str | None
) -> tuple[Roles, dict[str, str]]:
    """Return the roles of parallel text files, and their paths by column."""
    systems = outputs if isinstance(outputs, Mapping) else name_files(outputs)
    if not systems:
        raise BadInput("There are no outputs. Give at least one file with the outputs of a system.")
    by_reference = {f"reference {number}": path for number, path in enumerate(expand(references), 1)}
    roles = Roles(
        source="source" if source else None,
        references=tuple(by_reference),
        outputs={system: f"output {system}" for system in systems},
        id=LINE,
        group="group" if groups else None,
        rest=(),
    )
    files = {"source": source} if source else {}
    files |= by_reference | {roles.outputs[system]: path for system, path in systems.items()}
    return roles, files | ({"group": groups} if groups else {})


def _divide_lines(files: Mapping[str, str], roles: Roles, scratch: list[str]) -> list[Part]:
    indices = {name: index_lines(seekable(path, scratch), name=label(path)) for name, path in files.items()}
    first = next(iter(indices.values()))
    for other in indices.values():
        check_length(other.name, other.lines, against=first.name, expected=first.lines)
    file = indices[roles.source or next(iter(roles.outputs.values()))].name
    return [
        LinesPart(file, line, count, roles, {name: index.spans(batches) for name, index in indices.items()})
        for line, count, batches in _divide(first.lines)
    ]


def table_files(path: str) -> list[str]:
    """Return the files of a path: itself, what a pattern matches, or all tables in a folder or bucket."""
    if "://" in path:
        return _bucket_files(path)
    if not os.path.isdir(path):
        return expand(path)
    inside = [
        str(file)
        for file in Path(path).rglob("*")
        if file.is_file() and table_format(file) and not file.name.startswith((".", "_"))
    ]
    if not inside:
        raise BadInput(f"The folder {path} contains no Parquet or JSONL files.")
    return sorted(inside, key=natural_key)


def _bucket_files(uri: str) -> list[str]:
    import_pyarrow("A bucket")
    from pyarrow.fs import FileSelector, FileSystem, FileType

    def listing() -> list[Any] | None:
        """Return what is inside; None if it is a file itself."""
        filesystem, inside = FileSystem.from_uri(uri)
        if filesystem.get_file_info(inside).type == FileType.File:
            return None
        return list(filesystem.get_file_info(FileSelector(inside, recursive=True)))

    try:
        files = limits.run_within_limit(listing, uri)
    except (OSError, ValueError) as error:
        raise BadInput(f"{uri} cannot be read: {str(error).splitlines()[0]}") from None
    if files is None:
        return [uri]
    scheme = uri.partition("://")[0]
    names = [
        f"{scheme}://{file.path}"
        for file in files
        if file.type == FileType.File and file.base_name.endswith((".parquet", ".pq")) and file.base_name[0] not in "._"
    ]
    if not names:
        raise BadInput(f"{uri} contains no Parquet files.")
    return sorted(names, key=natural_key)


def _parquet_parts(path: str, roles: Roles) -> list[Part]:
    with open_parquet(path) as file:
        names = list(file.schema_arrow.names)
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    names_needed = [roles.source, roles.id, roles.group, *roles.references, *roles.outputs.values()]
    absent = [name for name in names_needed if name is not None and name not in names]
    fault = f"the file has no column {absent[0]!r}; its columns are {', '.join(map(repr, names))}" if absent else ""
    parts: list[Part] = []
    row = 1
    for group, rows in enumerate(sizes):
        pieces = max(-(-rows // _PARQUET_ROWS), 1)
        step = max(-(-rows // pieces), 1)
        parts += (
            ParquetPart(path, row + skip, min(step, rows - skip), roles, group, skip, fault)
            for skip in range(0, rows, step)
        )
        row += rows
    return parts


def _jsonl_names(indices: Sequence[LineIndex]) -> list[str]:
    """Return the names of columns in the first lines of the first file that has any."""
    for index in indices:
        with open(index.path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
            sheet, _ = parse_records(list(islice(file, _HEAD)), index.name)
        if sheet.columns:
            return list(sheet.columns)
    return []


def _divide(lines: int) -> Iterator[tuple[int, int, range]]:
    """Yield the first line, the number of lines and the batches of each part."""
    size = _BATCHES * BATCH_ITEMS
    for first in range(0, lines, size):
        count = min(size, lines - first)
        yield first + 1, count, range(first // BATCH_ITEMS, -(-(first + count) // BATCH_ITEMS))


def _table_roles(names: Sequence[str], path: str, columns: Columns | None, system: str) -> Roles:
    table = Sheet({name: [] for name in names}, path, [])
    roles = find_roles(table, columns)
    require_outputs(table, roles)
    if roles.system is not None:
        raise BadInput(
            f"{path}: the column {roles.system!r} names systems, and a table with a row for each system and item is "
            "not read a part at a time. Read it whole (--engine memory; in Python plainly.io.read_table), or rename "
            "the column if all rows are of one system."
        )
    if "outputs" in roles.outputs:
        raise BadInput(f"{path}: a column of objects (system → output) is not read a part at a time. Use output_NAME.")
    return replace(roles, outputs={name or system: column for name, column in roles.outputs.items()})


def _identify(roles: Roles, paths: Iterable[str]) -> str:
    """Return a hash of the columns and of the paths, sizes and times of the files; standard input is always new."""
    values: list[object] = [vars(replace(roles, rest=()))]
    for path in paths:
        if path == STDIN or "://" in path:
            values.append([path, os.urandom(8).hex() if path == STDIN else ""])
        else:
            file = os.stat(path)
            values.append([os.path.abspath(path), file.st_size, file.st_mtime_ns])
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _join(parts: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(parts))


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
