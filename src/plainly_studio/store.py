"""The database: how it is opened, and the one place through which everything is written.

SQLite allows one writer. Rather than let fifty requests compete for the lock, one thread holds the only writing
connection and takes whatever is waiting into one transaction, so that a busy moment costs one sync and not fifty.
PostgreSQL gets a few such threads, a transaction each.

An outcome is reported after the commit that holds it, never before. SQLite gives up a whole transaction by itself when
the disk is full, and a later COMMIT then does nothing and reports nothing: so at the first fault of the database the
batch is abandoned and each job gets a transaction of its own, and no commit is trusted without a transaction behind it.
"""

import json
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine, create_engine, delete, event, insert, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from plainly.core.errors import BadInput, MissingExtra
from plainly_studio import schema
from plainly_studio.project import Project, parse_project

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


def _check_database(path: Path) -> None:
    """SQLite takes a short file for an empty database and writes over it: only its own are opened."""
    with open(path, "rb") as file:
        start = file.read(16)
    if start and start != b"SQLite format 3\0":
        raise BadInput(f"{path} is not the database of a study. Name another.")


class Store:
    """A project's database, open. ``write`` gives a future that is done when the change is on disk."""

    def __init__(self, url: str, *, create: bool = False) -> None:
        self.url = make_url(_complete(url))
        self.sqlite = self.url.get_backend_name() == "sqlite"
        if self.sqlite and not create and not Path(self.url.database or "").is_file():
            missing = f"There is no database {self.url.database}."
            raise BadInput(f"{missing} Make it first: plainly studio create PROJECT.toml")
        if self.sqlite and create and self.url.database:
            # The other files that SQLite makes beside it take its mode: what people wrote is nobody else's business.
            os.close(os.open(self.url.database, os.O_CREAT | os.O_RDWR, 0o600))
        if self.sqlite and self.url.database:
            _check_database(Path(self.url.database))
        self.readers = self._engine(write=False)
        self._writers = self._engine(write=True)
        if not create:
            self._upgrade()
        self._writer = Writer(self._writers)

    def _engine(self, *, write: bool) -> Engine:
        if not self.sqlite:
            return create_engine(self.url, pool_size=8, max_overflow=4, pool_pre_ping=True, hide_parameters=True)
        patient = {"check_same_thread": False, "timeout": 30}
        engine = create_engine(self.url, connect_args=patient, hide_parameters=True)

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            connection.isolation_level = None  # Transactions begin where we say, not at the driver's first INSERT.
            connection.execute("PRAGMA busy_timeout=30000")
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def _upgrade(self) -> None:
        """Add the columns that a study made by an earlier version does not have; all of them may be empty."""
        with suppress(DBAPIError):  # A server that cannot be reached is an error of its own, later.
            known = inspect(self.readers)
            missing = [
                (table.name, column)
                for table in schema.metadata.sorted_tables
                if known.has_table(table.name)
                for column in table.columns
                if column.nullable and column.name not in {old["name"] for old in known.get_columns(table.name)}
            ]
            for table, column in missing:
                with self._writers.begin() as connection:
                    kind = column.type.compile(self._writers.dialect)
                    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind}")

    def write(self, work: Transaction[T]) -> Future[T]:
        """Do this inside a transaction; the future is done after the commit, or holds what went wrong."""
        return self._writer.write(work)

    def write_now(self, work: Transaction[T]) -> T:
        """As ``write``, and wait."""
        return self.write(work).result(600)

    def read(self, work: Transaction[T]) -> T:
        """Do this on a consistent view of the data, without waiting for writers."""
        with self.readers.connect() as connection, connection.begin():
            return work(connection)

    def close(self) -> None:
        """Finish what is waiting, then let go of the database."""
        self._writer.close()
        self.readers.dispose()
        self._writers.dispose()

    def copy_to(self, path: Path) -> None:
        """Copy a SQLite project while it runs, as of one moment, to a new file readable by its owner alone."""
        if not self.sqlite or self.url.database is None:
            raise BadInput("Only SQLite projects are backed up here. PostgreSQL has pg_dump.")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise BadInput(f"{path} exists already. Choose another name for the copy.") from None
        with closing(sqlite3.connect(self.url.database)) as here, closing(sqlite3.connect(path)) as there:
            here.backup(there)

    def project(self) -> Project:
        """What was decided when the database was made."""
        with self.readers.connect() as connection:
            stored = None
            with suppress(DBAPIError):
                stored = fact(connection, "project")
        if stored is None:
            raise BadInput(f"{shown(self.url)} holds no studio project. Make one: plainly studio create PROJECT.toml")
        return parse_project(json.loads(stored))


def create_tables(store: Store) -> None:
    """Make the tables; an error when there is a project already, because answers are never overwritten."""
    with store.readers.connect() as connection:
        if store.readers.dialect.has_table(connection, "about"):
            raise BadInput(
                f"{shown(store.url)} holds a project already, and its answers are not overwritten. "
                "Choose another --database, or move the file away."
            )
    with store._writers.begin() as connection:
        schema.metadata.create_all(connection)


def fact(connection: Connection, key: str) -> str | None:
    """What is kept about the study as a whole under a key."""
    about = schema.about.c
    return connection.execute(select(about.value).where(about.key == key)).scalar()


def keep_fact(connection: Connection, key: str, value: str | None) -> None:
    """Keep a fact in place of what was there; None takes it away."""
    connection.execute(delete(schema.about).where(schema.about.c.key == key))
    if value is not None:
        connection.execute(insert(schema.about).values(key=key, value=value))


def note(connection: Connection, actor: str, action: str, detail: Mapping[str, Any] | None = None) -> None:
    """Add a line to the audit trail."""
    values = {"at": time.time(), "actor": actor, "action": action, "detail": json.dumps(detail or {})}
    connection.execute(insert(schema.event).values(**values))


def lock(connection: Connection) -> None:
    """One claim at a time: SQLite's single writer sees to it; PostgreSQL is asked for a lock until the commit."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(709217)"))


def shown(url: Any) -> str:
    """A database URL without its password."""
    return str(url.render_as_string(hide_password=True))


def _complete(url: str) -> str:
    if "://" not in url:
        return f"sqlite:///{url}"
    scheme, _, rest = url.partition("://")
    if scheme in ("postgres", "postgresql"):
        scheme = "postgresql+psycopg"
    try:
        make_url(f"{scheme}://{rest}").get_dialect().import_dbapi()
    except (ArgumentError, NoSuchModuleError):
        unknown = f"{scheme}:// is no database that the studio knows."
        raise BadInput(f"{unknown} Use sqlite:///FILE or postgresql://…") from None
    except ImportError:
        raise MissingExtra("PostgreSQL", package="psycopg", extra="postgres") from None
    return f"{scheme}://{rest}"
