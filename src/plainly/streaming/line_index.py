"""Where lines begin in a file of any size, so that any process can read any of them; and files that cannot be sought.

Lines end at line feeds only, as everywhere in plainly (see ``plainly.io.lines``).
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from plainly.core import limits
from plainly.core.errors import BadInput
from plainly.core.files import open_bytes
from plainly.io.files import COMPRESSED, STDIN, UNPACKERS, label, suffixes
from plainly.streaming.batches import BATCH_ITEMS

_CHUNK = 1 << 23
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PAR1": "Parquet", b"\x1f\x8b": "gzip"}
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class LineIndex:
    """A file of lines: where every ``BATCH_ITEMS``-th line begins, how many lines there are, where the file ends."""

    path: str  # where the bytes are
    name: str  # what messages call it
    begins: tuple[int, ...]
    lines: int
    size: int

    def span(self, batch: int) -> Span:
        """The bytes of a batch of lines."""
        ends = self.begins[batch + 1] if batch + 1 < len(self.begins) else self.size
        return Span(self.path, self.name, self.begins[batch], ends)


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
            lines = data.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            return [_decoded(line.rstrip(b"\r")) for line in data.removesuffix(b"\n").split(b"\n")]
        return [line.rstrip("\r") for line in lines] if b"\r" in data else [*lines]


def index_lines(path: str, *, name: str | None = None) -> LineIndex:
    """Find the lines of a file in one pass over its bytes."""
    shown = name or label(path)
    begins, lines, position, last = [0], 0, 0, b"\n"
    try:
        with open(path, "rb") as file:
            _refuse(file.read(4), shown)
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
    if path != STDIN and not packed and not Path(path).is_fifo() and not _returns_alone(path):
        return path
    handle, copy = tempfile.mkstemp(prefix="plainly-", suffix=".unpacked")
    scratch.append(copy)
    try:
        with os.fdopen(handle, "wb") as target, _opened(path, packed) as origin:
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


def _returns_alone(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            start = file.read(_CHUNK)
    except OSError:
        return False
    return b"\r" in start[:-1] and b"\n" not in start


def head(path: str, lines: int) -> Iterator[bytes]:
    """The first lines of a file."""
    with open(path, "rb") as file:
        for number, line in enumerate(file):
            if number == lines:
                return
            yield line.removeprefix(_BOM) if number == 0 else line


def _opened(path: str, packed: str) -> IO[bytes]:
    if path == STDIN:
        return sys.stdin.buffer
    if not packed:
        return open_bytes(path)
    opened: IO[bytes] = importlib.import_module(UNPACKERS[packed]).open(Path(path), "rb")
    return opened


def _refuse(start: bytes, name: str) -> None:
    for mark, kind in _MARKS.items():
        if start.startswith(mark):
            raise BadInput(
                f"{name} is {kind}, not lines of UTF-8 text. Convert it, or give it the suffix that says what it is."
            )


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None
