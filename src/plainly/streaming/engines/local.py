"""All cores of one machine. A worker that is killed is replaced and its task done again, so nothing is lost.

Python's own pools give up when a worker dies; on a run of hours somebody's memory killer will pick one.
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
# A task that ends its process this often is not unlucky: it needs more memory than there is, or meets a fault.
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
        pool = _Pool(work, min(self.processes, len(tasks)))
        try:
            yield from pool.run(tasks, tell)
        finally:
            pool.close()


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    task: int | None = None
    told: int = 0  # what it said of a task that it may yet not finish


class _Pool:
    def __init__(self, work: Any, size: int) -> None:
        # Fresh processes: forking one that has threads (a progress bar, a BLAS) may lock up.
        self._context = multiprocessing.get_context("spawn")
        try:
            self._work = pickle.dumps(work)
        except Exception as error:  # whatever the objects of others raise
            raise BadInput(
                f"What is to be done cannot be sent to another process ({error}). Define metrics and attacks of your "
                f"own in a module, or use one process (processes=1)."
            ) from error
        self._workers: list[_Worker] = []
        try:
            for _ in range(size):
                self._workers.append(self._start())
        except BaseException:  # stopped while workers were starting
            self.close()
            raise

    def run(self, tasks: Sequence[Any], tell: Tell) -> Iterator[tuple[int, Any]]:
        waiting = deque(range(len(tasks)))
        deaths: Counter[int] = Counter()
        while waiting or any(worker.task is not None for worker in self._workers):
            for worker in self._workers:
                if worker.task is None and waiting:
                    self._give(worker, waiting.popleft(), tasks)
            busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                try:
                    kind, value = worker.pipe.recv()
                except (EOFError, OSError):
                    number = self._replace(worker)
                    deaths[number] += 1
                    tell(-worker.told)
                    if deaths[number] == _ATTEMPTS:
                        raise PlainlyError(
                            f"The process that worked on part {number + 1} ended {_ATTEMPTS} times (exit status "
                            f"{worker.process.exitcode}). {_FEWER}"
                        ) from None
                    waiting.appendleft(number)
                    continue
                if kind == "told":
                    worker.told += value
                    tell(value)
                elif kind == "error":
                    raise value
                else:
                    finished, worker.task, worker.told = worker.task, None, 0
                    if waiting:  # before the result is unpacked, so that the worker need not wait for that
                        self._give(worker, waiting.popleft(), tasks)
                    if finished is not None:
                        yield finished, pickle.loads(value)

    def close(self) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_SECONDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _give(self, worker: _Worker, number: int, tasks: Sequence[Any]) -> None:
        worker.task, worker.told = number, 0
        with contextlib.suppress(OSError):  # it has died: found out when its answer is waited for
            worker.pipe.send(tasks[number])

    def _start(self) -> _Worker:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._work), daemon=True)
        with _interrupts_held():
            process.start()
        there.close()
        return _Worker(process, here)

    def _replace(self, worker: _Worker) -> int:
        worker.process.join()
        worker.pipe.close()
        place = self._workers.index(worker)
        self._workers[place] = self._start()
        if worker.task is None:
            raise RuntimeError("A worker was waited for that had no task.")
        return worker.task


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits; a process that is started meanwhile never sees it, not even before it has come to ``_serve``."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(parent: Any) -> None:
    """End this process when its parent is gone, however that went, and the programs that it runs with it."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS)
    os._exit(1)


def _leave(number: int, frame: object) -> None:
    sys.unraisablehook = lambda _: None  # the signal may come while something is being deleted
    sys.exit(128 + number)


def _serve(pipe: Connection, pickled: bytes) -> None:
    """A worker's life: receive a task, do it, send the result; until the pipe closes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that decides what to keep
    signal.signal(signal.SIGTERM, _leave)  # so that programs which it runs end as well
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    work = pickle.loads(pickled)

    def tell(amount: int) -> None:
        pipe.send(("told", amount))

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
