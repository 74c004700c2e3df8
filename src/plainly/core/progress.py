"""Progress of long computations: the code that does the work reports it, and a display may show it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

# Called with the amount of work done since the last call; negative when work is lost and must be repeated. Thread-safe.
Tell = Callable[[int], None]
# For nested work: the callback of the work around it, and a function that returns how much of that work is left.
_OUTER: ContextVar[tuple[Tell, Callable[[], int]] | None] = ContextVar("outer", default=None)


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
