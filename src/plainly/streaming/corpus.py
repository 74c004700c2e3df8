"""What to measure, when it may be too large to hold: files become parts before anything is read in earnest."""

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
from plainly.io.tables import BATCH_ITEMS, Sheet, arrow, open_parquet, parse_records, table_format
from plainly.streaming.batches import (
    LINE,
    JsonlPart,
    LineIndex,
    LinesPart,
    ParquetPart,
    Part,
    index_lines,
    seekable,
)

T = TypeVar("T")
Texts = tuple[EvalSet, dict[str, tuple[str, ...]]]  # of consecutive items: the set, and what each system wrote

# Batches of lines in a part: a second or two of work, so that little is lost when it is interrupted.
_BATCHES = 4
# Rows of a Parquet row group in a part. To read a group's second part one must skip the first, so parts are larger.
_PARQUET_ROWS = 1 << 17
_LOOKED_AT = 1000  # lines of JSONL in which the names of columns are found

_SUFFIXES = {"parquet": (".parquet", ".pq"), "jsonl": (".jsonl", ".ndjson")}


@dataclass(frozen=True)
class Corpus:
    """A corpus in parts. ``rows`` counts all rows, sound or not; ``identity`` changes when files or columns do."""

    name: str
    parts: tuple[Part, ...] = field(repr=False)
    systems: tuple[str, ...]
    has_sources: bool
    has_references: bool
    keyed_by: str  # what decides an item's bin: "group", "id", "source", "line"
    identity: str
    scratch: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # what a table has beside texts, ids and groups
    language: str = ""

    @property
    def rows(self) -> int:
        return sum(part.count for part in self.parts)

    def gather(
        self, numbers: Sequence[int], needs: Needs, known: Mapping[int, Sequence[Texts]]
    ) -> tuple[EvalSet, dict[str, tuple[str, ...]]]:
        """The sound rows of these parts as an evaluation set and outputs, for a corpus that can be held.

        ``known`` are the texts of parts that were read already; the others are read now.
        """
        texts = [texts for number in numbers for texts in known.get(number) or self._read(number, needs)]
        sets = [part for part, _ in texts if len(part)]
        evalset = EvalSet(
            ids=_joined(part.ids for part in sets),
            sources=_joined(part.sources for part in sets),
            references=_joined(part.references for part in sets),
            groups=_joined(part.groups or () for part in sets) if self.keyed_by == "group" else None,
            columns={name: _joined(part.columns[name] for part in sets) for name in (sets[0].columns if sets else ())},
            name=self.name,
            language=self.language,
        )
        return evalset, {system: _joined(outputs[system] for _, outputs in texts) for system in self.systems}

    def _read(self, number: int, needs: Needs) -> list[Texts]:
        return [(batch.evalset, batch.outputs) for batch in self.parts[number].read(needs, rest=True)]

    def close(self) -> None:
        """Remove temporary copies, if any were made."""
        for path in self.scratch:
            with contextlib.suppress(OSError):
                os.unlink(path)


def open_corpus(
    tables: Iterable[str] = (),
    *,
    source: str | None = None,
    references: Iterable[str] = (),
    outputs: Mapping[str, str] | Sequence[str] = (),
    groups: str | None = None,
    columns: Columns | None = None,
) -> Corpus:
    """A corpus from tables (Parquet or JSONL files, folders or buckets of them), or from files with one text a line.

    Only names of columns and places of lines are read here. All tables together are one corpus, in natural order.
    """
    scratch: list[str] = []
    try:
        tables = list(tables)
        if not tables:
            return _from_texts(source, references, outputs, groups, scratch)
        if source or references or outputs or groups:
            raise BadInput("A corpus comes from tables or from files with one text a line, not from both.")
        return _from_tables(tables, columns, scratch)
    except BaseException:
        Corpus("", (), (), False, False, "", "", tuple(scratch)).close()
        raise


def _from_tables(given: Sequence[str], columns: Columns | None, scratch: list[str]) -> Corpus:
    paths = [path for table in given for path in table_files(table)]
    kinds = {"parquet" if "://" in path else str(table_format(path)) for path in paths}
    if len(kinds) > 1 or not kinds <= set(_SUFFIXES):
        raise BadInput(
            f"{', '.join(sorted(kinds))} cannot be read a part at a time. Give Parquet or JSONL files, all of one "
            f"kind; a smaller table is read as a whole with engine='memory'."
        )
    place = given[0].rstrip("/")
    name = place if len(given) == 1 else f"{place} and {len(given) - 1} more"
    parts: list[Part] = []
    if kinds == {"parquet"}:
        with open_parquet(paths[0], paths[0]) as file:
            roles = _roles(file.schema_arrow.names, paths[0], columns, stem(place))
        for path in paths:
            parts += _parquet_parts(path, roles)
    else:
        indices = [index_lines(seekable(path, scratch), name=label(path)) for path in paths]
        roles = _roles(_jsonl_names(indices), paths[0], columns, stem(place))
        parts = [
            JsonlPart(first, count, roles, index.spans(batches))
            for index in indices
            for first, count, batches in _divided(index.lines)
        ]
    keyed = "group" if roles.group else "id" if roles.id else "source" if roles.source else "output"
    chosen = {role: column for role, column in vars(roles).items() if role != "rest"}
    return Corpus(
        name=name,
        parts=tuple(parts),
        systems=tuple(roles.outputs),
        has_sources=roles.source is not None,
        has_references=bool(roles.references),
        keyed_by=keyed,
        identity=_digest([chosen, [_stat(path) for path in paths]]),
        scratch=tuple(scratch),
        columns=roles.rest,
    )


def _from_texts(
    source: str | None,
    references: Iterable[str],
    outputs: Mapping[str, str] | Sequence[str],
    groups: str | None,
    scratch: list[str],
) -> Corpus:
    named = outputs if isinstance(outputs, Mapping) else name_files(outputs)
    if not named:
        raise BadInput("There are no outputs. Give at least one file that a system wrote.")
    files = {"source": source} if source else {}
    files |= {f"reference {number}": path for number, path in enumerate(expand(references), 1)}
    roles = Roles(
        source="source" if source else None,
        references=tuple(name for name in files if name != "source"),
        outputs={system: f"output {system}" for system in named},
        id=LINE,
        group="group" if groups else None,
        rest=(),
    )
    files |= {roles.outputs[system]: path for system, path in named.items()}
    if groups:
        files["group"] = groups
    indices = {name: index_lines(seekable(path, scratch), name=label(path)) for name, path in files.items()}
    first, *others = indices.values()
    for other in others:
        check_length(other.name, other.lines, against=first.name, expected=first.lines)
    parts = [
        LinesPart(line, count, roles, {name: index.spans(batches) for name, index in indices.items()})
        for line, count, batches in _divided(first.lines)
    ]
    return Corpus(
        name=label(source or next(iter(named.values()))),
        parts=tuple(parts),
        systems=tuple(named),
        has_sources=source is not None,
        has_references=bool(roles.references),
        keyed_by="group" if groups else "line",
        identity=_digest([list(named), [_stat(path) for path in files.values()]]),
        scratch=tuple(scratch),
    )


def table_files(path: str) -> list[str]:
    """The files that a path means: itself, what a pattern matches, or all tables in a folder or bucket."""
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
        raise BadInput(f"The folder {path} holds no Parquet or JSONL files.")
    return sorted(inside, key=natural_key)


def _bucket_files(uri: str) -> list[str]:
    arrow("A bucket")
    from pyarrow.fs import FileSelector, FileSystem, FileType

    def listing() -> list[Any] | None:
        """What is inside; None where it is a file itself."""
        filesystem, inside = FileSystem.from_uri(uri)
        if filesystem.get_file_info(inside).type == FileType.File:
            return None
        return list(filesystem.get_file_info(FileSelector(inside, recursive=True)))

    try:
        files = limits.within(listing, uri)
    except (OSError, ValueError) as error:
        raise BadInput(f"{uri} cannot be read: {str(error).splitlines()[0]}") from None
    if files is None:
        return [uri]
    scheme = uri.partition("://")[0]
    names = [
        f"{scheme}://{file.path}"
        for file in files
        if file.type == FileType.File
        and file.base_name.endswith(_SUFFIXES["parquet"])
        and file.base_name[0] not in "._"
    ]
    if not names:
        raise BadInput(f"{uri} holds no Parquet files.")
    return sorted(names, key=natural_key)


def _parquet_parts(path: str, roles: Roles) -> list[Part]:
    with open_parquet(path, path) as file:
        has = list(file.schema_arrow.names)
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    wanted = [roles.source, roles.id, roles.group, *roles.references, *roles.outputs.values()]
    lacking = [name for name in wanted if name is not None and name not in has]
    fault = f"the file has no column {lacking[0]!r}; its columns are {', '.join(map(repr, has))}" if lacking else ""
    parts: list[Part] = []
    row = 1
    for group, rows in enumerate(sizes):
        pieces = -(-rows // _PARQUET_ROWS)
        step = -(-rows // pieces) if pieces else 1
        for skip in range(0, rows, step):
            count = min(step, rows - skip)
            parts.append(ParquetPart(row + skip, count, roles, path, group, skip, fault))
        row += rows
    return parts


def _jsonl_names(indices: Sequence[LineIndex]) -> list[str]:
    """The names of columns in the first lines of the first file that has any."""
    for index in indices:
        with open(index.path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
            sheet, _ = parse_records(list(islice(file, _LOOKED_AT)), index.name)
        if sheet.columns:
            return list(sheet.columns)
    return []


def _divided(lines: int) -> Iterator[tuple[int, int, range]]:
    """The first line, the number of lines and the batches of each part."""
    batches = range(-(-lines // BATCH_ITEMS))
    for start in range(0, len(batches), _BATCHES):
        chosen = batches[start : start + _BATCHES]
        first = chosen[0] * BATCH_ITEMS
        yield first + 1, min((chosen[-1] + 1) * BATCH_ITEMS, lines) - first, chosen


def _roles(names: Sequence[str], path: str, columns: Columns | None, system: str) -> Roles:
    table = Sheet({name: [] for name in names}, path, [])
    roles = find_roles(table, columns)
    require_outputs(table, roles)
    if "outputs" in roles.outputs:
        raise BadInput(f"{path}: a column of objects (system → output) is not read a part at a time. Use output_NAME.")
    return replace(roles, outputs={name or system: column for name, column in roles.outputs.items()})


def _stat(path: str) -> list[object]:
    if path == STDIN:
        return [path, os.urandom(8).hex()]  # never the same twice
    if "://" in path:
        return [path]
    file = os.stat(path)
    return [os.path.abspath(path), file.st_size, file.st_mtime_ns]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _joined(parts: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(parts))
