"""Parts of a corpus, read in batches: the rows that can be measured, and each row that cannot be, with the reason.

A part describes where some of the rows are, so that any process on any machine can read them. Lines of text files are
located by an index of bytes; they end at line feeds only, as everywhere in plainly (see ``plainly.io.files``).
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from plainly.core import limits
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Needs
from plainly.core.result import Note, Record
from plainly.io.columns import Roles, names, references_by_item, strings, texts
from plainly.io.files import COMPRESSED, STDIN, check_encoding, label, open_unpacked, split_lines, suffixes
from plainly.io.tables import BATCH_ITEMS, Sheet, import_pyarrow, open_parquet, parquet_batches, parse_records

_CHUNK = 1 << 23
_BOM = b"\xef\xbb\xbf"
_NO_REFERENCES = "the item has no references, and one of the metrics needs one."


@dataclass(frozen=True)
class Bad:
    """Rows of a file that cannot be measured, and why: ``first`` to ``last``, mostly one row."""

    file: str
    first: int
    last: int
    reason: str

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def where(self) -> str:
        rows = f"row {self.first}" if self.first == self.last else f"rows {self.first} to {self.last}"
        return f"{self.file}, {rows}"

    def error(self) -> BadInput:
        """Return the error that ends a run in which no row may be set aside."""
        return BadInput(f"{self.where}: {self.reason} To set such rows aside: on_error='set-aside'")


@dataclass(frozen=True)
class Reading:
    """The number of rows in the files, of those read and of those set aside, with the reasons.

    ``read`` is less than ``rows`` if a run was interrupted; ``resumed`` counts the parts that an earlier run did.
    """

    rows: int
    read: int
    set_aside: int = 0
    bad: tuple[Bad, ...] = ()
    resumed: int = 0
    parts: int = 1
    save_error: str = ""  # why the state of the run could not be saved

    @property
    def complete(self) -> bool:
        return self.read == self.rows

    def json(self) -> Record:
        return {"total": self.rows, "read": self.read, "set_aside": self.set_aside, "named": [*map(asdict, self.bad)]}

    def notes(self) -> list[Note]:
        """Return warnings about rows that were set aside, and about a run that was interrupted."""
        messages: dict[str, str] = {}
        if not self.complete:
            messages["partial"] = (
                f"PARTIAL RESULT: interrupted after {self.read:,} of {self.rows:,} rows ({self.read / self.rows:.0%}). "
                "These are not a random sample. The same command resumes from here."
            )
        if self.save_error:
            messages["state"] = f"This run cannot be resumed if it is killed: {self.save_error}"
        if self.set_aside:
            reasons = "; ".join(f"{bad.where}: {bad.reason}" for bad in self.bad[:3])
            more = " …" if self.set_aside > 3 else ""
            messages["set-aside"] = f"{self.set_aside:,} rows were set aside. {reasons}{more}"
        return [Note(message, "warning", code) for code, message in messages.items()]


@dataclass(frozen=True)
class Batch:
    """Consecutive items: texts to measure, the keys that determine each item's bin, and the rows set aside."""

    evalset: EvalSet
    outputs: dict[str, tuple[str, ...]]
    keys: Sequence[str]
    rows: Sequence[int]  # the row of each item in its file, from 1
    read: int  # rows read, good and bad
    bad: list[Bad] = field(default_factory=list)


@dataclass(frozen=True)
class Part(ABC):
    """``count`` consecutive rows of a corpus, from row ``first`` of ``file``."""

    file: str
    first: int
    count: int
    roles: Roles

    @abstractmethod
    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        """Yield batches: the rows that can be read, those that cannot, and the number of both."""

    def read(self, needs: Needs, *, rest: bool = False) -> Iterator[Batch]:
        """Yield the batches of the part; with ``rest``, including the columns without a role."""
        roles = self.roles
        single = [name for name in (roles.source, roles.id, roles.group) if name is not None]
        columns = [*single, *roles.references, *roles.outputs.values(), *(roles.rest if rest else ())]
        for sheet, unreadable, count in self.sheets(list(dict.fromkeys(columns))):
            batch = _to_batch(sheet, roles, needs, rest=rest)
            yield replace(batch, read=count, bad=sorted([*unreadable, *batch.bad], key=lambda bad: bad.first))


@dataclass(frozen=True)
class LinesPart(Part):
    """Lines of parallel text files: for each column of ``roles`` except the ids the bytes of its batches."""

    columns: dict[str, tuple[Span, ...]]

    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        first = self.first
        # The only possible fault of readable lines is that an item has no reference.
        file = self.columns[self.roles.references[0]][0].name if self.roles.references else self.file
        for spans in zip(*self.columns.values(), strict=True):
            lines: list[list[Any]] = [span.texts() for span in spans]
            bad: dict[int, Bad] = {}
            for span, column in zip(spans, lines, strict=True):
                for number in (number for number, text in enumerate(column, first) if text is None):
                    bad.setdefault(number, Bad(span.name, number, number, "this line is not UTF-8."))
            count = len(lines[0])
            numbers = [number for number in range(first, first + count) if number not in bad]
            if bad:
                lines = [[column[number - first] for number in numbers] for column in lines]
            cells = {LINE: list(map(str, numbers)), **dict(zip(self.columns, lines, strict=True))}
            yield Sheet(cells, file, numbers, "line"), list(bad.values()), count
            first += count


LINE = "line"  # the id column of a LinesPart: the numbers of the lines


@dataclass(frozen=True)
class JsonlPart(Part):
    """Lines of a file with a JSON object on each."""

    spans: tuple[Span, ...]

    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        first = self.first
        for span in self.spans:
            lines = span.texts()
            sheet, faults = parse_records(lines, self.file, first=first, names=columns)
            yield sheet, [Bad(self.file, line, line, reason) for line, reason in faults], len(lines)
            first += len(lines)


@dataclass(frozen=True)
class ParquetPart(Part):
    """Rows of one row group of a Parquet file, after the first ``skip`` rows of the group."""

    group: int
    skip: int
    fault: str = ""  # why none of these rows can be read, if that is known from the file's schema

    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        rows = {"group": self.group, "skip": self.skip, "count": self.count, "first": self.first}
        next_row = self.first
        try:
            if self.fault:
                raise BadInput(self.fault)
            with open_parquet(self.file) as file:
                for sheet in parquet_batches(file, self.file, names=columns, **rows):
                    yield sheet, [], len(sheet)
                    next_row += len(sheet)
        except (import_pyarrow().ArrowException, OSError, BadInput) as error:
            reason = f"the rows cannot be read: {str(error).splitlines()[0]}"
            bad = Bad(self.file, next_row, self.first + self.count - 1, reason)
            yield Sheet({name: [] for name in columns}, self.file, []), [bad], len(bad)


def _to_batch(sheet: Sheet, roles: Roles, needs: Needs, *, rest: bool) -> Batch:
    """Return a batch of the rows that can be measured; each of the others becomes a Bad."""
    with suppress(BadInput):
        return _check_rows(sheet, roles, needs, rest=rest)
    good: list[int] = []
    bad: list[Bad] = []
    for row, place in enumerate(sheet.places):
        single = sheet.select([row])
        try:
            _check_rows(single, roles, needs, rest=False)
            good.append(row)
        except BadInput as error:
            bad.append(Bad(sheet.path, place, place, str(error).removeprefix(f"{single.where(0)}: ")))
    return replace(_check_rows(sheet.select(good), roles, needs, rest=rest), bad=bad)


def _check_rows(sheet: Sheet, roles: Roles, needs: Needs, *, rest: bool) -> Batch:
    """Return a batch of all rows, or raise an error about the first that cannot be measured."""
    n = len(sheet)
    sources = texts(sheet, roles.source) if roles.source is not None else ("",) * n
    outputs = {system: texts(sheet, column) for system, column in roles.outputs.items()}
    references = tuple(references_by_item(sheet, roles.references)) if roles.references else ()
    if "references" in needs and not all(references):
        row = next(row for row, of_item in enumerate(references) if not of_item)
        raise BadInput(f"{sheet.where(row)}: {_NO_REFERENCES}")
    groups = names(sheet, roles.group) if roles.group is not None else None
    ids = names(sheet, roles.id) if roles.id is not None else None
    # What identifies an item in any file: its id; without ids, its text.
    keys = groups or ids or (sources if roles.source is not None else next(iter(outputs.values()), sources))
    columns = {name: strings(sheet.column(name)) for name in roles.rest} if rest else {}
    evalset = EvalSet(ids or tuple(map(str, sheet.places)), sources, references, groups, columns)
    return Batch(evalset, outputs, keys, sheet.places, n)


@dataclass(frozen=True)
class LineIndex:
    """A file of lines: where every ``BATCH_ITEMS``-th line begins, the number of lines, and where the file ends."""

    path: str
    name: str  # in messages
    begins: tuple[int, ...]
    lines: int
    size: int

    def spans(self, batches: Iterable[int]) -> tuple[Span, ...]:
        """Return the bytes of batches of lines."""
        ends = [*self.begins[1:], self.size]
        return tuple(Span(self.path, self.name, self.begins[batch], ends[batch]) for batch in batches)


@dataclass(frozen=True)
class Span:
    """Whole lines of a file."""

    path: str
    name: str
    start: int
    stop: int

    def texts(self) -> list[str | None]:
        """Return the lines without their ends; None for one that is not UTF-8."""
        limits.check("file", self.stop - self.start, f"A batch of lines of {self.name}")
        with open(self.path, "rb") as file:
            file.seek(self.start)
            data = file.read(self.stop - self.start)
        if self.start == 0:
            data = data.removeprefix(_BOM)
        try:
            return [*split_lines(data.decode(), end="\n")]
        except UnicodeDecodeError:
            return [_decode(line.rstrip(b"\r")) for line in data.removesuffix(b"\n").split(b"\n")]


def _decode(line: bytes) -> str | None:
    with suppress(UnicodeDecodeError):
        return line.decode()
    return None


def index_lines(path: str, *, name: str | None = None) -> LineIndex:
    """Locate the lines of a file in one pass over its bytes."""
    name = name or label(path)
    begins, lines, position, last = [0], 0, 0, b"\n"
    try:
        with open(path, "rb") as file:
            check_encoding(file.read(64), name)
            file.seek(0)
            while chunk := file.read(_CHUNK):
                ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == 10)
                # The next batch begins after this many more line feeds.
                batch_ends = ends[BATCH_ITEMS - 1 - lines % BATCH_ITEMS :: BATCH_ITEMS]
                begins += (batch_ends + (position + 1)).tolist()
                lines += len(ends)
                position += len(chunk)
                last = chunk[-1:]
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}. Check the path.") from None
    if position == 0:
        raise BadInput(f"{name} is empty. Check that the program that wrote it finished, or give another file.")
    lines += last != b"\n"
    if begins[-1] == position:
        begins.pop()
    return LineIndex(path, name, tuple(begins), lines, position)


def seekable(path: str, scratch: list[str]) -> str:
    """Return a path that can be read from any byte: itself, or a copy of standard input, a pipe or a packed file.

    If carriage returns alone end lines, as on old Macintoshes, the copy has line feeds. The copy's path is added to
    ``scratch``, for the caller to remove.
    """
    packed = "" if path == STDIN else suffixes(path)[1]
    if path != STDIN and not packed and not Path(path).is_fifo():
        try:
            with open(path, "rb") as file:
                if not _has_returns_only(file.read(_CHUNK)):
                    return path
        except OSError:
            return path  # reported when it is read
    handle, copy = tempfile.mkstemp(prefix="plainly-", suffix=".unpacked")
    scratch.append(copy)
    try:
        with os.fdopen(handle, "wb") as target, open_unpacked(path) as origin:
            chunk = origin.read(_CHUNK)
            converts = _has_returns_only(chunk)
            while chunk:
                target.write(chunk.replace(b"\r", b"\n") if converts else chunk)
                chunk = origin.read(_CHUNK)
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except BadInput:
        raise
    except Exception as error:  # each library has its own exception for damaged data
        kind = COMPRESSED.get(packed, "text")
        raise BadInput(f"{label(path)} cannot be read as {kind} ({error}). Copy or download it again.") from None
    return copy


def _has_returns_only(start: bytes) -> bool:
    return b"\r" in start[:-1] and b"\n" not in start
