"""What models said of texts, kept in memory and on disk: ``score``, then ``compare``, of the same files pay once.

Kept are numbers under the digest of model and text, never the text. The file is an SQLite database that any number of
processes may share. It is a convenience and behaves like one: where it cannot be written, is locked or was damaged,
scores are computed as if it were not there, and a damaged file is begun anew.
"""

import contextlib
import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plainly.core.files import cache_directory
from plainly.core.metric import Floats

SWITCH = "PLAINLY_SCORE_CACHE"  # "off", or how many megabytes the file may take
_FILE = "scores.sqlite"
_MEGABYTES = 256
_IN_MEMORY = 500_000  # scores
_AT_ONCE = 500  # keys in one question
_PATIENCE = 5.0  # seconds to wait for another process
# What reading a damaged file may raise: its very messages may not be text.
_FAULTS = (sqlite3.Error, ValueError, OverflowError, SystemError, MemoryError)


def remembered(model: str, texts: Sequence[str], width: int, compute: Callable[[list[int]], Floats]) -> Floats:
    """A row of ``width`` numbers for each text; ``compute`` gives those of the positions that nothing is known of.

    Equal texts are computed once. ``model`` says all that the numbers depend on beside the text.
    """
    keys = [_key(model, text) for text in texts]
    first = {key: at for at, key in reversed(list(enumerate(keys)))}
    known = _STORE.get(list(first)) if _megabytes() else {}
    known = {key: row for key, row in known.items() if len(row) == width}
    missing = sorted(at for key, at in first.items() if key not in known)
    if missing:
        new = dict(zip((keys[at] for at in missing), compute(missing), strict=True))
        if _megabytes():
            _STORE.put(new)
        known |= new
    return np.array([known[key] for key in keys], dtype=np.float64).reshape(len(texts), width)


def trouble() -> str:
    """Why scores of this run are not kept on disk, if they are not though they should be."""
    return _STORE.trouble


def place() -> Path:
    """Where the scores are kept: ``$PLAINLY_CACHE/scores.sqlite``, or in the platform's cache directory."""
    return cache_directory() / _FILE


def _megabytes() -> int:
    said = os.environ.get(SWITCH, "").strip().lower()
    if said in ("off", "no", "false", "none"):
        return 0
    return int(said) if said.isdigit() else _MEGABYTES


def _key(model: str, text: str) -> bytes:
    said = f"{model}\x1f{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=16).digest()


class _Store:
    """Rows by key: what this process has seen, and behind it the file."""

    def __init__(self) -> None:
        self.trouble = ""
        self._lock = threading.Lock()
        self._memory: dict[bytes, Floats] = {}
        self._connection: Any = None
        self._opened: tuple[int, Path] | None = None  # by which process, where

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        with self._lock:
            rows = {key: self._memory[key] for key in keys if key in self._memory}
            unseen = [key for key in keys if key not in rows]

            def read(connection: Any) -> None:
                for at in range(0, len(unseen), _AT_ONCE):
                    asked = unseen[at : at + _AT_ONCE]
                    marks = ",".join("?" * len(asked))
                    kept = connection.execute(f"SELECT key, row FROM scores WHERE key IN ({marks})", asked).fetchall()
                    rows.update((key, row) for key, packed in kept if (row := _unpacked(packed)) is not None)

            if unseen:
                self._ask(read)
                self._keep(rows)
            return rows

    def put(self, rows: Mapping[bytes, Floats]) -> None:
        def write(connection: Any) -> None:
            connection.execute("BEGIN IMMEDIATE")
            packed = [(key, _packed(row)) for key, row in rows.items()]
            connection.executemany("INSERT OR REPLACE INTO scores (key, row) VALUES (?, ?)", packed)
            _shorten(connection)
            connection.execute("COMMIT")

        with self._lock:
            self._keep(rows)
            if not self.trouble:
                self._ask(write)

    def close(self) -> None:
        """Forget what is in memory, and the file until it is asked for again."""
        with self._lock:
            self._memory.clear()
            self._disconnect()
            self._opened, self.trouble = None, ""

    def _keep(self, rows: Mapping[bytes, Floats]) -> None:
        if len(self._memory) + len(rows) > _IN_MEMORY:
            self._memory.clear()
        self._memory.update(rows)

    def _ask(self, action: Callable[[Any], None]) -> None:
        """Do something with the file, if that is possible: a damaged one is begun anew, everything else only noted."""
        for _ in range(2):
            connection = self._open()
            if connection is None:
                return
            try:
                action(connection)
                return
            except _FAULTS as error:
                with contextlib.suppress(*_FAULTS):
                    connection.execute("ROLLBACK")
                if not self._begun_anew(error):
                    return

    def _open(self) -> Any:
        asked = os.getpid(), place()
        if self._opened == asked:
            return self._connection
        if self._opened is not None and self._opened[0] == asked[0]:
            self._disconnect()
        self._connection, self._opened = None, asked  # What another process opened is its own to close.
        for _ in range(2):
            try:
                self._connection = _connect(asked[1])
                break
            except (OSError, *_FAULTS) as error:
                if not self._begun_anew(error):
                    break
        return self._connection

    def _begun_anew(self, error: Exception) -> bool:
        """Remove a damaged file; False where the file is not damaged, or cannot be removed."""
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return False
        if not isinstance(error, (OSError, sqlite3.OperationalError)):
            self._disconnect()
            with contextlib.suppress(OSError):
                place().unlink(missing_ok=True)
                self._opened = None
                return True
        self.trouble = str(error)
        return False

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _connect(path: Path) -> Any:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        # What a crash of the machine may lose or spoil is found by its checksum, and no more than time.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, row BLOB NOT NULL)")
    except _FAULTS:
        connection.close()
        raise
    return connection


def _shorten(connection: Any) -> None:
    """Leave out the oldest third where the file would grow past its bound; what comes after takes its room."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    if (pages - free) * size > _megabytes() << 20:
        connection.execute(
            "DELETE FROM scores WHERE rowid <= (SELECT rowid FROM scores ORDER BY rowid "
            "LIMIT 1 OFFSET (SELECT COUNT(*) / 3 FROM scores))"
        )


def _packed(row: Floats) -> bytes:
    values = np.asarray(row, dtype="<f8").tobytes()
    return zlib.crc32(values).to_bytes(4, "little") + values


def _unpacked(packed: Any) -> Floats | None:
    """The row, or nothing where it is not what was written."""
    if not isinstance(packed, bytes) or len(packed) % 8 != 4:
        return None
    if zlib.crc32(packed[4:]) != int.from_bytes(packed[:4], "little"):
        return None
    return np.frombuffer(packed[4:], dtype="<f8")


_STORE = _Store()
forget = _STORE.close
