"""How far a long piece of work has come: whoever does it tells, whoever is watching shows."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

# What was done since it was last called; negative when work is lost and must be done again. Threads may share it.
Tell = Callable[[int], None]
# Who is told of work that is part of other work, and how much of that is left.
_INSIDE: ContextVar[tuple[Tell, Callable[[], int]] | None] = ContextVar("inside", default=None)


class Progress(Protocol):
    """Something that shows work: called with what is done, how much there is of it (None: unknown) and in which unit.

    It is used with ``with``; nothing is shown before work has gone on for two seconds.
    """

    def __call__(self, what: str, *, total: int | None, unit: str = ...) -> AbstractContextManager[Tell]: ...


def silent(_: int) -> None:
    """Tell nobody."""


def unseen(what: str, *, total: int | None, unit: str = "items") -> AbstractContextManager[Tell]:
    """The progress that nobody watches, for calls from Python."""
    return nullcontext(silent)


@contextmanager
def whole(tell: Tell, amount: int) -> Iterator[None]:
    """A piece of work of this ``amount``, told at its end, or bit by bit by those inside who say how far they are."""
    told = 0

    def inside(more: int) -> None:
        nonlocal told
        more = min(more, amount - told)
        told += more
        tell(more)

    before = _INSIDE.set((inside, lambda: amount - told))
    try:
        yield
    finally:
        _INSIDE.reset(before)
    inside(amount)


@contextmanager
def stretch(total: int) -> Iterator[Tell]:
    """A stretch of the work that somebody around it tells of, if anybody does: ``total`` steps, and then three quarters
    of what was left are done, since there may be more to do."""
    listener = _INSIDE.get()
    if listener is None or not total:
        yield silent
        return
    inside, left = listener
    share, steps, told = 0.75 * left() / total, 0, 0

    def tell(more: int) -> None:
        nonlocal steps, told
        steps += more
        inside(int(share * steps) - told)
        told = int(share * steps)

    yield tell
