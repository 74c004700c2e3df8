"""Progress on stderr: a bar where a person is watching, a few lines elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
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


@contextmanager
def working(what: str) -> Iterator[Callable[[int, int], None]]:
    """Something to tell of work done, as (done, total): a bar with the time left on a terminal, elsewhere tenths."""
    shown = _Work(what)
    try:
        yield shown.tell
    finally:
        shown.close()


class _Work:
    def __init__(self, what: str) -> None:
        self._what = what
        self._bars: Bars | None = None
        self._task: TaskID | None = None
        self._tenths = 0

    def tell(self, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            if 10 * done // total > self._tenths:
                self._tenths = 10 * done // total
                print(f"{done} of {total} {self._what}", file=sys.stderr)
            return
        if self._bars is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
            self._bars.start()
            self._task = self._bars.add_task(self._what, total=total)
        if self._task is not None:
            self._bars.update(self._task, completed=done)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()


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
