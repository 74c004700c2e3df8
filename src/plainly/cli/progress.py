"""Progress of downloads on stderr: a bar where a person is watching, one line a file elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from plainly.data import File, Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


@contextmanager
def fetching() -> Iterator[Progress]:
    """Something to tell of downloads; it shows nothing, and imports nothing slow, before the first byte comes."""
    shown = _Downloads()
    try:
        yield shown.tell
    finally:
        shown.close()


class _Downloads:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bars: Bars | None = None
        self._tasks: dict[File, TaskID | None] = {}

    def tell(self, file: File, size: int) -> None:
        with self._lock:
            if file not in self._tasks:
                self._tasks[file] = self._announce(file)
            task = self._tasks[file]
            if self._bars is not None and task is not None:
                self._bars.update(task, completed=size)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()

    def _announce(self, file: File) -> TaskID | None:
        name = file.url.rsplit("/", 1)[-1]
        if not sys.stderr.isatty():
            print(f"Fetching {file.url} …", file=sys.stderr)
            return None
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
        from rich.progress import Progress as Bars

        if self._bars is None:
            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
            self._bars.start()
        return self._bars.add_task(name, total=file.size)
