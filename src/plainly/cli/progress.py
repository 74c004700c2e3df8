"""Progress on stderr: a bar where a person is watching, a line now and then elsewhere; nothing before two seconds."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plainly.core.progress import Tell

_PATIENCE = 2.0  # seconds before anything is shown
_EVERY = 30.0  # seconds between two lines of a log


@contextmanager
def bar(what: str, *, total: int | None, unit: str = "items") -> Iterator[Tell]:
    """A ``Progress``: tell it what was done, and it shows how much, how fast and how long it takes."""
    work = _Work(what, total, unit)
    try:
        yield work.tell
    finally:
        work.close()


class _Work:
    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._lock = threading.Lock()
        self._start = self._said = time.monotonic()
        self._before: int | None = None  # what an earlier run had done is no work of this one
        self._done = 0
        self._bars: Any = None
        self._task: Any = None

    def tell(self, amount: int) -> None:
        with self._lock:
            self._done += amount
            if self._before is None:
                self._before = self._done
            now = time.monotonic()
            if now - self._start < _PATIENCE:
                return
            if sys.stderr.isatty():
                self._draw()
            elif now - self._said >= _EVERY:
                self._said = now
                self._log()

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()

    @property
    def _rate(self) -> float:
        return (self._done - (self._before or 0)) / max(time.monotonic() - self._start, 1e-9)

    def _draw(self) -> None:
        if self._bars is None:
            from rich import progress as shown
            from rich.console import Console

            size: shown.ProgressColumn = shown.MofNCompleteColumn()
            rate: shown.ProgressColumn = shown.TextColumn("{task.fields[rate]}")
            if self._unit == "bytes":
                size, rate = shown.DownloadColumn(), shown.TransferSpeedColumn()
            elif self._total is None:
                size = shown.TextColumn("{task.completed} {task.fields[unit]}")
            columns = (
                shown.TextColumn("{task.description}"),
                shown.BarColumn(),
                size,
                rate,
                shown.TimeRemainingColumn(),
            )
            self._bars = shown.Progress(*columns, console=Console(stderr=True), transient=True)
            self._bars.start()
            self._task = self._bars.add_task(self._what, total=self._total, rate="", unit=self._unit)
        self._bars.update(self._task, completed=self._done, rate=f"{self._rate:,.0f} {self._unit}/s")

    def _log(self) -> None:
        rate = self._rate
        of, left = "", ""
        if self._total is not None:
            of = f" of {self._total:,}"
            left = f", about {(self._total - self._done) / rate / 60:.0f} minutes left" if rate > 0 else ""
        print(f"plainly: {self._what}: {self._done:,}{of} {self._unit}, {rate:,.0f} a second{left}", file=sys.stderr)
