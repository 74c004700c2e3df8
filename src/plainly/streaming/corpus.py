"""What to measure, when it may be too large to hold: files become parts before anything is read in earnest."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from plainly.core import limits
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Needs
from plainly.io.columns import Columns, Roles, find_roles
from plainly.io.files import STDIN, expand, label, natural_key, stem
from plainly.io.files import named as named_path
from plainly.io.tables import Sheet, arrow, table_format
from plainly.streaming.batches import BATCH_ITEMS
from plainly.streaming.line_index import LineIndex, Span, head, index_lines, seekable
from plainly.streaming.parts import JsonlPart, LinesPart, ParquetPart, Part, open_parquet

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
        if tables:
            if source or references or outputs or groups:
                raise BadInput("A corpus comes from tables or from files with one text a line, not from both.")
            return _from_tables(tables, columns, scratch)
        return _from_texts(source, references, outputs, groups, scratch)
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
        roles = _roles(_parquet_names(paths[0]), paths[0], columns, stem(place))
        for path in paths:
            parts += _parquet_parts(path, roles)
    else:
        copies = [seekable(path, scratch) for path in paths]
        roles = _roles(_jsonl_names(copies), paths[0], columns, stem(place))
        for path, copy in zip(paths, copies, strict=True):
            index = index_lines(copy, name=label(path))
            parts += [
                JsonlPart(first, count, _spans(index, batches), roles)
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
    named = outputs if isinstance(outputs, Mapping) else _named(outputs)
    if not named:
        raise BadInput("There are no outputs. Give at least one file that a system wrote.")
    of_references = expand(references)
    paths = [*([source] if source else []), *of_references, *named.values(), *([groups] if groups else [])]
    indices = [index_lines(seekable(path, scratch), name=label(path)) for path in paths]
    for other in indices[1:]:
        if other.lines != indices[0].lines:
            raise BadInput(
                f"{other.name} has {other.lines} lines but {indices[0].name} has {indices[0].lines}. Each line is one "
                "item: check that both were made from the same items."
            )
    rest = iter(indices)
    of_source = next(rest) if source else None
    indexed = [next(rest) for _ in of_references]
    written = [(system, next(rest)) for system in named]
    of_groups = next(rest) if groups else None
    parts = [
        LinesPart(
            first=first,
            count=count,
            source=_spans(of_source, chosen) if of_source else (),
            references=tuple(_spans(index, chosen) for index in indexed),
            outputs=tuple((system, _spans(index, chosen)) for system, index in written),
            groups=_spans(of_groups, chosen) if of_groups else (),
        )
        for first, count, chosen in _divided(indices[0].lines)
    ]
    return Corpus(
        name=label(source or next(iter(named.values()))),
        parts=tuple(parts),
        systems=tuple(named),
        has_sources=source is not None,
        has_references=bool(indexed),
        keyed_by="group" if of_groups else "line",
        identity=_digest([list(named), [_stat(path) for path in paths]]),
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


def _parquet_names(path: str) -> list[str]:
    pyarrow = arrow()
    try:
        with open_parquet(path) as file:
            return list(file.schema_arrow.names)
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{path} is not a Parquet file that can be read: {reason}. Write it again.") from None


def _parquet_parts(path: str, roles: Roles) -> list[Part]:
    has = _parquet_names(path)
    wanted = [roles.source, roles.id, roles.group, *roles.references, *roles.outputs.values()]
    lacking = [name for name in wanted if name is not None and name not in has]
    fault = f"the file has no column {lacking[0]!r}; its columns are {', '.join(map(repr, has))}" if lacking else ""
    parts: list[Part] = []
    row = 1
    with open_parquet(path) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    for group, rows in enumerate(sizes):
        pieces = -(-rows // _PARQUET_ROWS)
        step = -(-rows // pieces) if pieces else 1
        for skip in range(0, rows, step):
            count = min(step, rows - skip)
            parts.append(ParquetPart(row + skip, count, path, group, skip, roles, fault))
        row += rows
    return parts


def _jsonl_names(paths: Sequence[str]) -> list[str]:
    names: dict[str, None] = {}
    for path in paths:
        for line in head(path, _LOOKED_AT):
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict):
                    names |= dict.fromkeys(record)
        if names:
            break
    return list(names)


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
    if not roles.outputs:
        raise BadInput(
            f"{path} has no column that is known to hold outputs. {table.listing()} Rename one to 'output' (or "
            "output_NAME, one for each system), or say which: columns={'output': 'COLUMN'}."
        )
    if "outputs" in roles.outputs:
        raise BadInput(f"{path}: a column of objects (system → output) is not read a part at a time. Use output_NAME.")
    return replace(roles, outputs={name or system: column for name, column in roles.outputs.items()})


def _named(specs: Sequence[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for spec in specs:
        name, path = named_path(spec)
        for file in expand(path):
            key = name or stem(file)
            if key in named:
                raise BadInput(f"Two outputs are called {key!r}. Name them apart: NAME=FILE.")
            named[key] = file
    return named


def _spans(index: LineIndex, batches: range) -> tuple[Span, ...]:
    return tuple(index.span(batch) for batch in batches)


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
