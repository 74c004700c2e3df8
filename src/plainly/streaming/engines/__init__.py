"""Where work is done: in this process, in many on this machine, or on a Ray cluster. The results are the same.

An engine takes work (something that can be called with a task) and tasks, and gives back each task's result with its
number, in whatever order they are done. A worker that dies is replaced and its task done again.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from plainly.core.errors import BadInput, UnknownName
from plainly.core.machine import cores
from plainly.core.progress import Tell, ignore_progress

__all__ = ["NAMES", "Engine", "Tell", "Work", "engine", "ignore_progress", "needs_gpu"]

Task_co = TypeVar("Task_co", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)
Task = TypeVar("Task")
Result = TypeVar("Result")

NAMES = ("auto", "memory", "local", "ray")


class Work(Protocol[Task_co, Result_co]):
    """What a worker does with a task. It is sent to each worker once, and may keep what is costly to load."""

    def __call__(self, task: Task_co, tell: Tell) -> Result_co:
        """The result; ``tell`` takes how much was done since it was last called, for the progress bar."""
        ...


class Engine(Protocol):
    """A place where work is done."""

    name: str

    def run(
        self, work: Work[Task, Result], tasks: Sequence[Task], *, tell: Tell = ..., gpus: float = ...
    ) -> Iterator[tuple[int, Result]]:
        """Every task's number and result, as they are done. ``gpus`` is how many a worker needs, or what share."""
        ...


def engine(name: str = "local", *, processes: int | None = None, address: str | None = None) -> Engine:
    """The engine of that name; ``processes`` is how many workers it may use (all cores, all of a cluster's CPUs).

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


def needs_gpu(metrics: Sequence[Any]) -> bool:
    """Whether a metric runs a model that a GPU makes faster: learned metrics say so themselves."""
    return any(metric.gpu for metric in metrics)
