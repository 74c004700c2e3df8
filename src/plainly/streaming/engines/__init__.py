"""Engines that run work in this process, in many on this machine, or on a Ray cluster, with the same results.

An engine takes work (a callable) and tasks, and yields each task's number and result in the order in which they are
done. A worker that dies is replaced and its task done again.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from plainly.core.errors import BadInput, UnknownName
from plainly.core.limits import cores
from plainly.core.progress import Tell, ignore_progress

__all__ = ["NAMES", "Engine", "Tell", "Work", "engine", "ignore_progress"]

Task_co = TypeVar("Task_co", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)
Task = TypeVar("Task")
Result = TypeVar("Result")

NAMES = ("auto", "memory", "local", "ray")


class Work(Protocol[Task_co, Result_co]):
    """The function that a worker applies to each task. It is sent to each worker once, and may keep loaded models."""

    def __call__(self, task: Task_co, tell: Tell) -> Result_co:
        """Return the result; ``tell`` takes the amount of work done since its last call, for the progress bar."""
        ...


class Engine(Protocol):
    """An object that applies work to tasks."""

    name: str

    def run(
        self, work: Work[Task, Result], tasks: Sequence[Task], *, tell: Tell = ..., gpus: float = ...
    ) -> Iterator[tuple[int, Result]]:
        """Yield every task's number and result. ``gpus`` is the number that a worker needs, or the share of one."""
        ...


def engine(name: str = "local", *, processes: int | None = None, address: str | None = None) -> Engine:
    """Return the engine of that name; ``processes`` limits its workers (default: all cores, or CPUs of a cluster).

    ``memory`` works in this process, ``local`` (or ``auto``) in many on this machine, ``ray`` on a cluster.
    """
    if name not in NAMES:
        raise UnknownName("engine", name, NAMES, see=f"the engines are {', '.join(NAMES)}")
    if processes is not None and processes < 1:
        raise BadInput(f"The number of processes must be at least 1, not {processes}.")
    if address is not None and name != "ray":
        raise BadInput("address= is the address of a Ray cluster; use it with engine='ray'.")
    if name == "ray":
        from plainly.streaming.engines.ray import RayEngine

        return RayEngine(address=address, workers=processes)
    from plainly.streaming.engines.local import LocalEngine

    return LocalEngine(1 if name == "memory" else processes or cores())
