"""How far a long piece of work has come: whoever does it tells, whoever is watching shows."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

# What was done since it was last called; negative when work is lost and must be done again. Threads may share it.
Tell = Callable[[int], None]


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
