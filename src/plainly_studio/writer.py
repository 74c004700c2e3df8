"""The one place through which everything is written.

SQLite allows one writer. Rather than let fifty requests fight for the lock, one thread holds the only writing
connection and takes whatever is waiting into one transaction, so that a busy moment costs one sync and not fifty.
PostgreSQL gets a few such threads, a transaction each.

An outcome is told after the commit that holds it, never before. SQLite gives up a whole transaction by itself when the
disk is full, and a later COMMIT then does nothing and says nothing: so at the first fault of the database the batch is
abandoned and each job gets a transaction of its own, and no commit is believed without a transaction behind it.
"""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

T = TypeVar("T")
Transaction = Callable[[Connection], T]
_GROUP = 64
_RETRIES = 8
_FULL = ("disk is full", "disk i/o error", "no space left")


@dataclass(frozen=True)
class Job(Generic[T]):
    """Something to write, and whoever waits for it."""

    work: Transaction[T]
    future: Future[T]


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its result, or what went wrong."""

    job: Job[Any]
    result: Any = None
    fault: BaseException | None = None

    def tell(self) -> None:
        with suppress(Exception):  # Whoever asked may have gone away; that must not end the thread.
            if self.fault is None:
                self.job.future.set_result(self.result)
            else:
                self.job.future.set_exception(self.fault)


class Writer:
    """Threads that write; ``write`` gives a future that is done when the change is on disk."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.grouped = engine.dialect.name == "sqlite"
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()  # None: a thread is to end
        count = 1 if self.grouped else 4
        self._threads = [
            threading.Thread(target=self._serve, name=f"studio-writer-{at}", daemon=True) for at in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def write(self, work: Transaction[T]) -> Future[T]:
        """Do this inside a transaction; the future is done after the commit, or holds what went wrong."""
        future: Future[T] = Future()
        self._jobs.put(Job(work, future))
        return future

    def close(self) -> None:
        """Finish what is waiting."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(timeout=30)

    def _serve(self) -> None:
        waiting: list[Job[Any] | None] = []
        while None not in waiting:
            waiting = [self._jobs.get()]
            with suppress(queue.Empty):
                while self.grouped and len(waiting) < _GROUP:
                    waiting.append(self._jobs.get_nowait())
            jobs = [job for job in waiting if job is not None and job.future.set_running_or_notify_cancel()]
            if jobs:
                self._settle(jobs)

    def _settle(self, jobs: Sequence[Job[Any]]) -> None:
        """All jobs in one transaction; if the database itself fails, each in one of its own."""
        try:
            outcomes = self._together(jobs)
        except BaseException as fault:
            if len(jobs) > 1:
                for job in jobs:
                    self._settle([job])
                return
            outcomes = [Outcome(jobs[0], fault=fault)]
        for outcome in outcomes:
            outcome.tell()

    def _together(self, jobs: Sequence[Job[Any]]) -> list[Outcome]:
        for attempt in range(_RETRIES):
            try:
                with self.engine.connect() as connection, connection.begin():
                    outcomes = [self._one(connection, job, alone=len(jobs) == 1) for job in jobs]
                    _check_transaction(connection)
                return outcomes
            except DBAPIError as error:
                if self.grouped or disk_full(error) or attempt == _RETRIES - 1:
                    raise
                # Two transactions met, or the connection went away. Once more sees what the other one wrote.
                time.sleep(0.02 * 2**attempt)
        raise AssertionError("every attempt returns or raises")

    def _one(self, connection: Connection, job: Job[Any], *, alone: bool) -> Outcome:
        """A job that is refused spoils no other; a fault of the database spoils the transaction."""
        if alone:
            return Outcome(job, job.work(connection))
        try:
            with connection.begin_nested():
                result = job.work(connection)
            return Outcome(job, result)
        except DBAPIError:
            raise
        except Exception as refusal:
            return Outcome(job, fault=refusal)


def disk_full(error: BaseException) -> bool:
    """Whether the database could not write because there is no room."""
    original = getattr(error, "orig", None) or error
    return getattr(original, "sqlstate", None) in ("53100", "53000") or any(
        words in str(original).lower() for words in _FULL
    )


def _check_transaction(connection: Connection) -> None:
    """SQLite may have ended the transaction by itself; then a commit would do nothing, and say nothing."""
    raw = connection.connection.dbapi_connection
    if isinstance(raw, sqlite3.Connection) and not raw.in_transaction:
        fault = sqlite3.OperationalError("the transaction was undone: database or disk is full")
        raise DBAPIError("COMMIT", None, fault)
