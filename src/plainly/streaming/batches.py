"""Parts of a corpus, read batch by batch: what can be measured, and the rows that cannot be, named one by one.

A part says where some of the rows are, so that any process on any machine can read them. Lines of text files are found
by an index of bytes; they end at line feeds only, as everywhere in plainly (see ``plainly.io.lines``).
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from plainly.core import limits
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Needs
from plainly.core.result import Note, Record
from plainly.io.columns import Roles, names, references_by_item, strings, texts
from plainly.io.files import COMPRESSED, STDIN, label, open_unpacked, suffixes
from plainly.io.lines import check_encoding, split_lines
from plainly.io.tables import BATCH_ITEMS, Sheet, arrow, open_parquet, parquet_batches, parse_records

_CHUNK = 1 << 23
_BOM = b"\xef\xbb\xbf"
_NO_REFERENCES = "the item has no references, and a metric that was asked for needs one."


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
        """The error that ends a run in which no row may be set aside."""
        return BadInput(f"{self.where}: {self.reason} To set such rows aside: on_error='set-aside'")


@dataclass(frozen=True)
class Reading:
    """What became of the rows of the files: how many there are, were read and were set aside, and why.

    ``read`` is less than ``rows`` when a run was interrupted; ``resumed`` counts the parts that an earlier run did.
    """

    rows: int
    read: int
    set_aside: int = 0
    bad: tuple[Bad, ...] = ()
    resumed: int = 0
    parts: int = 1
    unkept: str = ""  # why how far the run came could not be kept

    @property
    def complete(self) -> bool:
        return self.read == self.rows

    def json(self) -> Record:
        return {"total": self.rows, "read": self.read, "set_aside": self.set_aside, "named": [*map(asdict, self.bad)]}

    def notes(self) -> list[Note]:
        """What a reader of the numbers must know: that rows were set aside, or that the run was interrupted."""
        notes = []
        if not self.complete:
            share = self.read / self.rows if self.rows else 0.0
            partial = (
                f"PARTIAL RESULT: interrupted after {self.read:,} of {self.rows:,} rows ({share:.0%}). These are not a "
                "random sample. The same command goes on from here."
            )
            notes.append(Note(partial, "warning", "partial"))
        if self.unkept:
            notes.append(Note(f"A run that is killed will start again: {self.unkept}", "warning", "state"))
        if self.set_aside:
            shown = "; ".join(f"{bad.where}: {bad.reason}" for bad in self.bad[:3])
            more = " …" if self.set_aside > 3 else ""
            notes.append(Note(f"{self.set_aside:,} rows were set aside. {shown}{more}", "warning", "set-aside"))
        return notes


@dataclass(frozen=True)
class Batch:
    """Consecutive items: what to measure, the keys that decide in which bin each falls, and the rows set aside."""

    evalset: EvalSet
    outputs: dict[str, tuple[str, ...]]
    keys: Sequence[str]
    rows: Sequence[int]  # the place of each item in its file, from 1
    read: int  # rows looked at, good and bad
    bad: list[Bad] = field(default_factory=list)


@dataclass(frozen=True)
class Part(ABC):
    """``count`` consecutive rows of a corpus, from row ``first`` of their file."""

    first: int
    count: int
    roles: Roles

    @property
    @abstractmethod
    def file(self) -> str:
        """What messages call the file."""

    @abstractmethod
    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        """Batch by batch: the rows that can be read, those that cannot, and how many there are of both."""

    def read(self, needs: Needs, *, rest: bool = False) -> Iterator[Batch]:
        """The batches of the part; with ``rest``, the columns that hold neither texts nor ids come along."""
        roles = self.roles
        single = [name for name in (roles.source, roles.id, roles.group) if name is not None]
        wanted = [*single, *roles.references, *roles.outputs.values(), *(roles.rest if rest else ())]
        for sheet, unreadable, count in self.sheets(list(dict.fromkeys(wanted))):
            batch = _to_batch(sheet, roles, needs, rest=rest)
            yield replace(batch, read=count, bad=sorted([*unreadable, *batch.bad], key=lambda bad: bad.first))


@dataclass(frozen=True)
class LinesPart(Part):
    """Lines of parallel text files: for each column of ``roles`` but the ids the bytes of its batches."""

    columns: dict[str, tuple[Span, ...]]

    @property
    def file(self) -> str:
        return self.columns[self.roles.source or next(iter(self.roles.outputs.values()))][0].name

    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        first = self.first
        # What can still be wrong with lines that can be read is that an item has no reference.
        file = self.columns[self.roles.references[0]][0].name if self.roles.references else self.file
        for spans in zip(*self.columns.values(), strict=True):
            lines = dict(zip(self.columns, (span.texts() for span in spans), strict=True))
            bad: dict[int, Bad] = {}
            for span, column in zip(spans, lines.values(), strict=True):
                for number in (number for number, text in enumerate(column, first) if text is None):
                    bad.setdefault(number, Bad(span.name, number, number, "this line is not UTF-8."))
            count = len(next(iter(lines.values())))
            places = [number for number in range(first, first + count) if number not in bad]
            cells: dict[str, list[object]] = {
                name: [column[number - first] for number in places] if bad else list(column)
                for name, column in lines.items()
            }
            ids: list[object] = list(map(str, places))
            yield Sheet({LINE: ids, **cells}, file, places, "line"), list(bad.values()), count
            first += count


LINE = "line"  # the column of a LinesPart that holds ids: the numbers of the lines


@dataclass(frozen=True)
class JsonlPart(Part):
    """Lines of a file with a JSON object on each."""

    spans: tuple[Span, ...]

    @property
    def file(self) -> str:
        return self.spans[0].name

    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        first = self.first
        for span in self.spans:
            lines = span.texts()
            sheet, faults = parse_records(lines, span.name, first=first, names=columns)
            yield sheet, [Bad(span.name, line, line, reason) for line, reason in faults], len(lines)
            first += len(lines)


@dataclass(frozen=True)
class ParquetPart(Part):
    """Rows of one row group of a Parquet file, after the first ``skip`` rows of the group."""

    path: str
    group: int
    skip: int
    fault: str = ""  # why none of these rows can be read, where that is known from the file's schema

    @property
    def file(self) -> str:
        return self.path

    def sheets(self, columns: Sequence[str]) -> Iterator[tuple[Sheet, list[Bad], int]]:
        rows = {"group": self.group, "skip": self.skip, "count": self.count, "first": self.first}
        next_row = self.first
        try:
            if self.fault:
                raise BadInput(self.fault)
            with open_parquet(self.path, self.path) as file:
                for sheet in parquet_batches(file, self.path, names=columns, **rows):
                    yield sheet, [], len(sheet)
                    next_row += len(sheet)
        except (arrow().ArrowException, OSError, BadInput) as error:
            reason = f"the rows cannot be read: {str(error).splitlines()[0]}"
            lost = Bad(self.path, next_row, self.first + self.count - 1, reason)
            yield Sheet({name: [] for name in columns}, self.path, []), [lost], len(lost)


def _to_batch(sheet: Sheet, roles: Roles, needs: Needs, *, rest: bool) -> Batch:
    """A batch of the rows that can be measured; each of the others becomes a Bad."""
    try:
        return _check_rows(sheet, roles, needs, rest=rest)
    except BadInput:
        pass
    good: list[int] = []
    bad: list[Bad] = []
    for row, place in enumerate(sheet.places):
        single = sheet.chosen([row])
        try:
            _check_rows(single, roles, needs, rest=False)
            good.append(row)
        except BadInput as error:
            bad.append(Bad(sheet.path, place, place, str(error).removeprefix(f"{single.where(0)}: ")))
    return replace(_check_rows(sheet.chosen(good), roles, needs, rest=rest), bad=bad)


def _check_rows(sheet: Sheet, roles: Roles, needs: Needs, *, rest: bool) -> Batch:
    """A batch of all rows, or an error about the first that cannot be measured."""
    n = len(sheet)
    sources = texts(sheet, roles.source) if roles.source is not None else ("",) * n
    outputs = {system: texts(sheet, column) for system, column in roles.outputs.items()}
    references = tuple(references_by_item(sheet, roles.references)) if roles.references else ()
    if "references" in needs and not all(references):
        row = next(row for row, of_item in enumerate(references) if not of_item)
        raise BadInput(f"{sheet.where(row)}: {_NO_REFERENCES}")
    groups = names(sheet, roles.group) if roles.group is not None else None
    ids = names(sheet, roles.id) if roles.id is not None else None
    # What is the same item wherever it is stored: its id; without ids, its text.
    keys = groups or ids or (sources if roles.source is not None else next(iter(outputs.values()), sources))
    columns = {name: strings(sheet.column(name)) for name in roles.rest} if rest else {}
    evalset = EvalSet(ids or tuple(map(str, sheet.places)), sources, references, groups, columns)
    return Batch(evalset, outputs, keys, sheet.places, n)


@dataclass(frozen=True)
class LineIndex:
    """A file of lines: where every ``BATCH_ITEMS``-th line begins, how many lines there are, where the file ends."""

    path: str  # where the bytes are
    name: str  # what messages call it
    begins: tuple[int, ...]
    lines: int
    size: int

    def spans(self, batches: Iterable[int]) -> tuple[Span, ...]:
        """The bytes of batches of lines."""
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
        """The lines without their ends; None for one that is not UTF-8."""
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
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def index_lines(path: str, *, name: str | None = None) -> LineIndex:
    """Find the lines of a file in one pass over its bytes."""
    shown = name or label(path)
    begins, lines, position, last = [0], 0, 0, b"\n"
    try:
        with open(path, "rb") as file:
            check_encoding(file.read(64), shown)
            file.seek(0)
            while chunk := file.read(_CHUNK):
                ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == 10)
                # The batch that begins next begins after this many more line feeds.
                chosen = ends[BATCH_ITEMS - 1 - lines % BATCH_ITEMS :: BATCH_ITEMS]
                begins += (chosen + (position + 1)).tolist()
                lines += len(ends)
                position += len(chunk)
                last = chunk[-1:]
    except OSError as error:
        raise BadInput(f"{shown} cannot be read: {error.strerror or error}. Check the path.") from None
    if position == 0:
        raise BadInput(f"{shown} is empty. Check that what wrote it finished, or give another file.")
    lines += last != b"\n"
    if begins[-1] == position:
        begins.pop()
    return LineIndex(path, shown, tuple(begins), lines, position)


def seekable(path: str, scratch: list[str]) -> str:
    """A path whose bytes can be read anywhere: itself, or a temporary copy of standard input, a pipe or a packed file.

    Where carriage returns alone end lines, as they did on old Macintoshes, the copy has line feeds. The copy's path is
    added to ``scratch``, for the caller to remove.
    """
    packed = "" if path == STDIN else suffixes(path)[1]
    if path != STDIN and not packed and not Path(path).is_fifo() and not _has_returns_only(path):
        return path
    handle, copy = tempfile.mkstemp(prefix="plainly-", suffix=".unpacked")
    scratch.append(copy)
    try:
        with os.fdopen(handle, "wb") as target, open_unpacked(path) as origin:
            start = origin.read(_CHUNK)
            returns = b"\r" in start[:-1] and b"\n" not in start
            while start:
                target.write(start.replace(b"\r", b"\n") if returns else start)
                start = origin.read(_CHUNK)
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except (OSError, EOFError, ValueError) as error:
        kind = COMPRESSED.get(packed, "text")
        raise BadInput(f"{label(path)} cannot be read as {kind} ({error}). Copy or download it again.") from None
    return copy


def _has_returns_only(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            start = file.read(_CHUNK)
    except OSError:
        return False
    return b"\r" in start[:-1] and b"\n" not in start
