"""An engine for all cores of one machine. A worker that is killed is replaced and its task done again.

Python's own pools give up when a worker dies; in a run of hours the operating system may kill one for its memory.
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from plainly.core.errors import BadInput, PlainlyError
from plainly.streaming.engines import Result, Task, Tell, Work, ignore_progress

_SECONDS = 5.0  # that a worker has to end by itself
# A task whose process ends this often needs more memory than there is, or causes a crash.
_ATTEMPTS = 3
_FEWER = "If memory was short, use fewer: processes="


class LocalEngine:
    """A pool of processes; with one process, this one."""

    name = "local"

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def run(
        self, work: Work[Task, Result], tasks: Sequence[Task], *, tell: Tell = ignore_progress, gpus: float = 0.0
    ) -> Iterator[tuple[int, Result]]:
        if self.processes == 1:
            for number, task in enumerate(tasks):
                yield number, work(task, tell)
            return
        with contextlib.closing(_Pool(work)) as pool:
            yield from pool.run(tasks, min(self.processes, len(tasks)), tell)


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    task: int | None = None
    progress: int = 0  # reported on its current task


class _Pool:
    def __init__(self, work: Any) -> None:
        # Fresh processes: forking one that has threads (a progress bar, a BLAS) may lock up.
        self._context = multiprocessing.get_context("spawn")
        try:
            self._work = pickle.dumps(work)
        except Exception as error:  # objects of users may raise anything
            raise BadInput(
                f"The work cannot be sent to another process ({error}). Define your own metrics and attacks in a "
                "module, or use one process (processes=1)."
            ) from error
        self._workers: list[_Worker] = []

    def run(self, tasks: Sequence[Any], processes: int, tell: Tell) -> Iterator[tuple[int, Any]]:
        for _ in range(processes):
            self._workers.append(self._start_worker())
        waiting = deque(range(len(tasks)))
        deaths: Counter[int] = Counter()
        while waiting or any(worker.task is not None for worker in self._workers):
            for worker in self._workers:
                if worker.task is None and waiting:
                    self._assign(worker, waiting.popleft(), tasks)
            busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                try:
                    kind, value = worker.pipe.recv()
                except (EOFError, OSError):
                    number = self._replace(worker)
                    deaths[number] += 1
                    tell(-worker.progress)
                    if deaths[number] == _ATTEMPTS:
                        raise PlainlyError(
                            f"The process that worked on part {number + 1} ended {_ATTEMPTS} times (exit status "
                            f"{worker.process.exitcode}). {_FEWER}"
                        ) from None
                    waiting.appendleft(number)
                    continue
                if kind == "progress":
                    worker.progress += value
                    tell(value)
                elif kind == "error":
                    raise value
                else:
                    number, worker.task, worker.progress = worker.task, None, 0  # type: ignore[assignment]
                    if waiting:  # before the result is unpacked, so that the worker need not wait for that
                        self._assign(worker, waiting.popleft(), tasks)
                    yield number, pickle.loads(value)

    def close(self) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_SECONDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _assign(self, worker: _Worker, number: int, tasks: Sequence[Any]) -> None:
        worker.task, worker.progress = number, 0
        with contextlib.suppress(OSError):  # it has died, which is noticed when its result is awaited
            worker.pipe.send(tasks[number])

    def _start_worker(self) -> _Worker:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._work), daemon=True)
        with _interrupts_blocked():
            process.start()
        there.close()
        return _Worker(process, here)

    def _replace(self, worker: _Worker) -> int:
        worker.process.join()
        worker.pipe.close()
        self._workers[self._workers.index(worker)] = self._start_worker()
        if worker.task is None:
            raise RuntimeError("A worker without a task ended.")
        return worker.task


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C; a process started meanwhile does not receive it, not even before it runs ``_serve``."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(parent: Any) -> None:
    """End this process, and the programs that it runs, when its parent is gone."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS)
    os._exit(1)


def _leave(number: int, frame: object) -> None:
    sys.unraisablehook = lambda _: None  # the signal may arrive while an object is deleted
    sys.exit(128 + number)


def _serve(pipe: Connection, pickled: bytes) -> None:
    """Receive tasks, do them and send the results, until the pipe closes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    signal.signal(signal.SIGTERM, _leave)  # so that the programs it runs end, too
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    work = pickle.loads(pickled)

    def tell(amount: int) -> None:
        pipe.send(("progress", amount))

    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task = pipe.recv()
            try:
                answer: tuple[str, Any] = ("done", pickle.dumps(work(task, tell)))
            except MemoryError:
                answer = ("error", BadInput(f"There is not enough memory for this. {_FEWER}"))
            except PlainlyError as error:
                answer = ("error", BadInput(*error.args))
            except Exception as error:
                answer = ("error", RuntimeError(f"A worker failed: {type(error).__name__}: {error}"))
            pipe.send(answer)
