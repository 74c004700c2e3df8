"""A cache of model scores in memory and on disk, so that ``score`` and then ``compare`` of the same files pay once.

It stores numbers under a digest of model and text, never the text. The file is an SQLite database that any number of
processes may share. Where it cannot be written, is locked or damaged, scores are computed as if there were no cache,
and a damaged file is replaced.
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

Text = str | tuple[str, str]  # a text, or a source and its output
SWITCH = "PLAINLY_SCORE_CACHE"  # "off", or how many megabytes the file may take
_MEGABYTES = 256
_IN_MEMORY = 500_000  # scores
_KEYS_PER_QUERY = 500
_TIMEOUT = 5.0  # seconds to wait for another process
# What reading a damaged file may raise: even the text of SQLite's error messages may be damaged.
_FAULTS = (sqlite3.Error, ValueError, OverflowError, SystemError, MemoryError)


def cached_rows(model: str, texts: Sequence[Any], width: int, compute: Callable[[list[Any]], Floats]) -> Floats:
    """Return a row of ``width`` numbers for each text; ``compute`` returns the rows of texts that are not cached.

    Equal texts are computed once. ``model`` names everything that the numbers depend on beside the text.
    """
    keys = [_key(model, text) for text in texts]
    by_key = dict(zip(keys, texts, strict=True))
    rows = _CACHE.get(list(by_key)) if _megabytes() else {}
    rows = {key: row for key, row in rows.items() if len(row) == width}
    missing = [key for key in by_key if key not in rows]
    if missing:
        new = dict(zip(missing, compute([by_key[key] for key in missing]), strict=True))
        if _megabytes():
            _CACHE.put(new)
        rows |= new
    return np.array([rows[key] for key in keys], dtype=np.float64).reshape(len(texts), width)


def trouble() -> str:
    """Return why the scores of this run are not saved on disk, or an empty string."""
    return _CACHE.trouble


def cache_path() -> Path:
    """Return the path of the file: ``$PLAINLY_CACHE/scores.sqlite``, or in the platform's cache directory."""
    return cache_directory() / "scores.sqlite"


def _megabytes() -> int:
    setting = os.environ.get(SWITCH, "").strip().lower()
    if setting in ("off", "no", "false", "none"):
        return 0
    return int(setting) if setting.isdigit() else _MEGABYTES


def _key(model: str, text: Text) -> bytes:
    content = text if isinstance(text, str) else f"\x1e{text[0]}\x1e{text[1]}"
    return hashlib.blake2b(f"{model}\x1f{content}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Cache:
    """Rows by key: in memory for this process, and in the file."""

    def __init__(self) -> None:
        self.trouble = ""
        self._lock = threading.Lock()
        self._memory: dict[bytes, Floats] = {}

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        with self._lock:
            rows = {key: self._memory[key] for key in keys if key in self._memory}
            missing = [key for key in keys if key not in rows]

            def read(connection: sqlite3.Connection) -> None:
                for at in range(0, len(missing), _KEYS_PER_QUERY):
                    block = missing[at : at + _KEYS_PER_QUERY]
                    query = f"SELECT key, row FROM scores WHERE key IN ({','.join('?' * len(block))})"
                    entries = connection.execute(query, block).fetchall()
                    rows.update((key, row) for key, blob in entries if (row := _unpack(blob)) is not None)

            if missing:
                self._use_file(read)
                self._remember(rows)
            return rows

    def put(self, rows: Mapping[bytes, Floats]) -> None:
        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            entries = [(key, _pack(row)) for key, row in rows.items()]
            connection.executemany("INSERT OR REPLACE INTO scores (key, row) VALUES (?, ?)", entries)
            _shrink(connection)
            connection.execute("COMMIT")

        with self._lock:
            self._remember(rows)
            self._use_file(write)

    def clear(self) -> None:
        """Forget what is in memory, as a new process would."""
        with self._lock:
            self._memory.clear()
            self.trouble = ""

    def _remember(self, rows: Mapping[bytes, Floats]) -> None:
        if len(self._memory) + len(rows) > _IN_MEMORY:
            self._memory.clear()
        self._memory.update(rows)

    def _use_file(self, action: Callable[[sqlite3.Connection], None]) -> None:
        """Run an action on the file if possible: replace a damaged file once, record any other failure."""
        path = cache_path()
        for _ in range(0 if self.trouble else 2):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                # A connection must not survive a fork, so each action opens its own.
                with contextlib.closing(sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None)) as connection:
                    # A crash of the machine may lose or damage rows; the checksum finds those.
                    connection.execute("PRAGMA synchronous = OFF")
                    connection.execute("CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, row BLOB NOT NULL)")
                    action(connection)
                return
            except (OSError, sqlite3.OperationalError) as error:
                self.trouble = "" if "locked" in str(error) else str(error)
                return
            except _FAULTS as error:
                try:
                    path.unlink(missing_ok=True)
                except OSError:
                    self.trouble = str(error)


def _shrink(connection: sqlite3.Connection) -> None:
    """Delete the oldest third where the file would exceed its limit; new rows reuse the space."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    if (pages - free) * size > _megabytes() << 20:
        connection.execute(
            "DELETE FROM scores WHERE rowid <= (SELECT rowid FROM scores ORDER BY rowid "
            "LIMIT 1 OFFSET (SELECT COUNT(*) / 3 FROM scores))"
        )


def _pack(row: Floats) -> bytes:
    values = np.asarray(row, dtype="<f8").tobytes()
    return _checksum(values) + values


def _unpack(blob: Any) -> Floats | None:
    """Return the row, or None where the checksum shows that it is not what was written."""
    is_row = isinstance(blob, bytes) and len(blob) % 8 == 4 and blob[:4] == _checksum(blob[4:])
    return np.frombuffer(blob[4:], dtype="<f8") if is_row else None


def _checksum(values: bytes) -> bytes:
    return zlib.crc32(values).to_bytes(4, "little")


_CACHE = _Cache()
forget = _CACHE.clear
