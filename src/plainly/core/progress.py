"""Progress of long computations: the code that does the work reports it, and a display may show it."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

# Called with the amount of work done since the last call; negative when work is lost and must be repeated. Thread-safe.
Tell = Callable[[int], None]
# For nested work: the callback of the work around it, and a function that returns how much of that work is left.
_OUTER: ContextVar[tuple[Tell, Callable[[], int]] | None] = ContextVar("outer", default=None)
# What the display shows beside the amount of work, such as its cost so far.
_DETAIL: list[str] = []
_PATIENCE = 2.0  # seconds before anything is shown
_EVERY = 30.0  # seconds between two lines of a log


class Progress(Protocol):
    """A progress display: called with a description of the work, its amount (None: unknown) and its unit.

    It is a context manager, and shows nothing during the first two seconds.
    """

    def __call__(self, what: str, *, total: int | None, unit: str = ...) -> AbstractContextManager[Tell]: ...


def ignore_progress(_: int) -> None:
    """Ignore one progress event."""


def no_progress(what: str, *, total: int | None, unit: str = "items") -> AbstractContextManager[Tell]:
    """Ignore all progress events: the default for calls from Python."""
    return nullcontext(ignore_progress)


@contextmanager
def report_work(tell: Tell, amount: int) -> Iterator[None]:
    """Report ``amount`` of work at the end of the block, or gradually if nested code calls ``report_steps``."""
    reported = 0

    def report(more: int) -> None:
        nonlocal reported
        more = min(more, amount - reported)
        reported += more
        tell(more)

    token = _OUTER.set((report, lambda: amount - reported))
    try:
        yield
    finally:
        _OUTER.reset(token)
    report(amount)


@contextmanager
def report_steps(total: int) -> Iterator[Tell]:
    """Report ``total`` steps to the surrounding ``report_work``, if there is one.

    Together they advance it by three quarters of what was left, because more nested work may follow.
    """
    outer = _OUTER.get()
    if outer is None or not total:
        yield ignore_progress
        return
    report, left = outer
    share, steps, reported = 0.75 * left() / total, 0, 0

    def tell(more: int) -> None:
        nonlocal steps, reported
        steps += more
        report(int(share * steps) - reported)
        reported = int(share * steps)

    yield tell


def show_detail(text: str) -> None:
    """Show a text, such as the cost so far, in the displays of this process; an empty one ends that."""
    _DETAIL[:] = [text] if text else []


@contextmanager
def bar(what: str, *, total: int | None, unit: str = "items") -> Iterator[Tell]:
    """Show progress on stderr: a bar in a terminal, a line now and then elsewhere; nothing before two seconds."""
    work = _Work(what, total, unit)
    try:
        yield work.tell
    finally:
        _DETAIL.clear()
        if work.bars is not None:
            work.bars.stop()


@dataclass
class _Work:
    what: str
    total: int | None
    unit: str
    start: float = field(default_factory=time.monotonic)
    logged: float = field(default_factory=time.monotonic)
    lock: Any = field(default_factory=threading.Lock)
    before: int | None = None  # what an earlier run had done does not count for the rate
    done: int = 0
    bars: Any = None

    def tell(self, amount: int) -> None:
        with self.lock:
            self.done += amount
            if self.before is None:
                self.before = self.done
            now = time.monotonic()
            if now - self.start < _PATIENCE:
                return
            rate = (self.done - self.before) / (now - self.start)
            if sys.stderr.isatty():
                self._draw(rate)
            elif now - self.logged >= _EVERY:
                self.logged = now
                of, left = "", ""
                if self.total is not None:
                    of = f" of {self.total:,}"
                    left = f", about {(self.total - self.done) / rate / 60:.0f} minutes left" if rate > 0 else ""
                line = f"plainly: {self.what}: {self.done:,}{of} {self.unit}, {rate:,.0f} a second{left}"
                line = ", ".join((line, *_DETAIL))
                sys.stderr.write(f"{line}\n")

    def _draw(self, rate: float) -> None:
        if self.bars is None:
            from rich import progress
            from rich.console import Console

            size: progress.ProgressColumn = progress.MofNCompleteColumn()
            speed: progress.ProgressColumn = progress.TextColumn("{task.fields[rate]}")
            if self.unit == "bytes":
                size, speed = progress.DownloadColumn(), progress.TransferSpeedColumn()
            elif self.total is None:
                size = progress.TextColumn("{task.completed} {task.fields[unit]}")
            name, gauge = progress.TextColumn("{task.description}"), progress.BarColumn()
            columns = (name, gauge, size, speed, progress.TimeRemainingColumn())
            self.bars = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self.bars.start()
            self.bars.add_task(self.what, total=self.total, rate="", unit=self.unit)
        self.bars.update(
            self.bars.task_ids[0], completed=self.done, rate=", ".join((f"{rate:,.0f} {self.unit}/s", *_DETAIL))
        )
