"""The database: how it is opened, and the only code that writes to it.

There is one writer at a time. Instead of fifty requests that compete for a lock, one thread writes all waiting jobs in
one transaction, so that a busy moment costs one sync. SQLite allows no other writer; in PostgreSQL, where several
servers may share a database, every transaction that writes begins with the same lock.

An outcome is reported after its commit, never before. SQLite ends a whole transaction by itself when the disk is full,
and a later COMMIT then does nothing and reports nothing. A batch in which anything fails is therefore abandoned, each
half gets its own transaction, and a commit counts only if its transaction was still open.
"""

import itertools
import json
import os
import queue
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, delete, event, insert, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from plainly.core.errors import BadInput, MissingExtra
from plainly_studio import schema
from plainly_studio.project import Project, parse_project

T = TypeVar("T")
A = TypeVar("A")
Transaction = Callable[[Connection], T]
_BATCH = 64
_LOCK = "SELECT pg_advisory_xact_lock(709217)"
_ERASE_ATTEMPTS = 20
DELETIONS = "deletions"  # the fact that counts how often answers were deleted
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates: not every database and format can hold them
_FULL = ("disk is full", "disk i/o error", "no space left")


class Refusal(Exception):
    """A request that is refused: undoes the transaction in which it is raised, and becomes the response."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more
        self.body = {"error": code, "message": message, **more}


class InvalidField(Refusal):
    """The refusal of a request because of one of its fields."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(422, "invalid", message, field=field)


@dataclass(frozen=True)
class Part(Generic[A, T]):
    """A transaction that can be run together with others of its kind, which needs fewer statements.

    ``run`` gets the arguments of several, no two of which have the same sender.
    """

    run: Callable[[Connection, Sequence[A]], Sequence[T]]
    argument: A
    sender: Hashable

    def __call__(self, connection: Connection) -> T:
        """Run this one alone."""
        return self.run(connection, [self.argument])[0]


def run_together(connection: Connection, works: Sequence[Transaction[Any]]) -> list[Any]:
    """Run functions in one transaction, and parts of one kind together; return the results in order.

    Parts of one sender keep their order. Others wait at the same moment, so any order would do for them.
    """
    results: list[Any] = [None] * len(works)
    for group in _group(works):
        first = works[group[0]]
        if isinstance(first, Part):
            own = first.run(connection, [works[at].argument for at in group])  # type: ignore[attr-defined]
        else:
            own = [first(connection)]
        for at, result in zip(group, own, strict=True):
            results[at] = result
    return results


def _group(works: Sequence[Transaction[Any]]) -> Iterator[list[int]]:
    """Yield the positions of functions that run together."""
    groups: dict[Hashable, list[int]] = {}
    rounds: Counter[Hashable] = Counter()
    for at, work in enumerate(works):
        key: Hashable = at
        if isinstance(work, Part):
            rounds[work.run, work.sender] += 1
            key = (work.run, rounds[work.run, work.sender])
        groups.setdefault(key, []).append(at)
    yield from groups.values()


class Job(NamedTuple, Generic[T]):
    """A function that writes, and the future of its result."""

    work: Transaction[T]
    future: Future[T]


class Writer:
    """A thread that runs all waiting jobs in one transaction."""

    def __init__(self, engine: Engine, *, attempts: int = 8) -> None:
        self.engine, self.attempts = engine, attempts
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="studio-database", daemon=True)
        self._thread.start()

    def write(self, work: Transaction[T]) -> Future[T]:
        """Run a function in a transaction; the future is done after the commit, or holds the exception."""
        if not self._thread.is_alive():
            raise RuntimeError("The database is closed.")
        job: Job[T] = Job(work, Future())
        self._jobs.put(job)
        return job.future

    def close(self) -> None:
        """Finish the waiting jobs."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            jobs = [job]
            with suppress(queue.Empty):
                while len(jobs) < _BATCH and (job := self._jobs.get_nowait()) is not None:
                    jobs.append(job)
            if waiting := [one for one in jobs if one.future.set_running_or_notify_cancel()]:
                self._settle(waiting)
            if job is None:
                return

    def _settle(self, jobs: Sequence[Job[Any]]) -> None:
        """Run all jobs in one transaction; if any fails, each half of them."""
        try:
            results = self._run(jobs)
        except BaseException as fault:
            if len(jobs) > 1:
                half = len(jobs) // 2
                self._settle(jobs[:half])
                self._settle(jobs[half:])
                return
            reports = [partial(jobs[0].future.set_exception, fault)]
        else:
            reports = [partial(job.future.set_result, result) for job, result in zip(jobs, results, strict=True)]
        for report in reports:
            with suppress(Exception):  # The caller may have gone away; that must not end the thread.
                report()

    def _run(self, jobs: Sequence[Job[Any]]) -> list[Any]:
        """Run jobs in one transaction and return their results after the commit."""
        for attempt in itertools.count(1):
            try:
                with self.engine.connect() as connection, connection.begin():
                    results = run_together(connection, [job.work for job in jobs])
                    raw = connection.connection.dbapi_connection
                    if isinstance(raw, sqlite3.Connection) and not raw.in_transaction:
                        fault = sqlite3.OperationalError("the transaction was undone: database or disk is full")
                        raise DBAPIError("COMMIT", None, fault)
                return results
            except DBAPIError as error:
                if not error.connection_invalidated or attempt == self.attempts:
                    raise
                time.sleep(0.01 * 2**attempt)  # The connection was lost; perhaps the database is starting again.
        raise AssertionError("every attempt returns or raises")


def is_disk_full(error: BaseException) -> bool:
    """Return whether the database could not write because the disk is full."""
    original = getattr(error, "orig", None) or error
    message = str(original).lower()
    return getattr(original, "sqlstate", None) in ("53100", "53000") or any(words in message for words in _FULL)


class Store:
    """The open database of a project."""

    def __init__(self, url: str, *, create: bool = False) -> None:
        self.url = make_url(_with_driver(url))
        self.sqlite = self.url.get_backend_name() == "sqlite"
        if self.sqlite and self.url.database:
            self._check_file(Path(self.url.database), create=create)
        self.readers = self._engine(write=False)
        self.writers = self._engine(write=True)
        self._writer = Writer(self.writers)
        self._reader = Writer(self.readers, attempts=2)
        if not create:
            self._check_version()

    @staticmethod
    def _check_file(path: Path, *, create: bool) -> None:
        """Refuse a missing file and a file of another kind; SQLite would take a short one for an empty database."""
        if create:
            # SQLite gives the files beside it the same mode: the answers are readable by the owner of the file only.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        elif not path.is_file():
            raise BadInput(f"There is no database {path}. Create it first: plainly studio create PROJECT.toml")
        with open(path, "rb") as file:
            start = file.read(16)
        if start and start != b"SQLite format 3\0":
            raise BadInput(f"{path} is not the database of a study. Choose another file.")

    def _check_version(self) -> None:
        """Upgrade the database of an older version, and refuse one of a newer version or one that was moved."""
        about = schema.about.c
        is_wanted = about.key.in_(("project", "schema", "moved"))
        try:
            rows = self.read(
                lambda connection: connection.execute(select(about.key, about.value).where(is_wanted)).all()
            )
        except DBAPIError:  # There is no project, which the next step reports, or no database.
            return
        facts, database, fault = {row.key: row.value for row in rows}, hide_password(self.url), ""
        version = int(facts.get("schema", 1)) if "project" in facts else schema.VERSION
        if "moved" in facts:
            fault = f"The study in {database} was moved to {facts['moved']}. Pass that URL as --database."
        elif version > schema.VERSION:
            fault = f"{database} was made by a newer version of plainly. Install that version to open it."
        if fault:
            self.close()
            raise BadInput(fault)
        if version < schema.VERSION:
            self.write_now(upgrade_tables)

    def _engine(self, *, write: bool) -> Engine:
        if not self.sqlite:
            # A lost connection is noticed when it is used, and the work is then done again on a new one.
            level: Any = "READ COMMITTED" if write else "REPEATABLE READ"
            engine = create_engine(self.url, pool_size=8, max_overflow=4, isolation_level=level, hide_parameters=True)
            if write:
                event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(_LOCK))
            return engine
        options = {"check_same_thread": False, "timeout": 30}
        engine = create_engine(self.url, connect_args=options, hide_parameters=True)

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            connection.isolation_level = None  # Transactions begin explicitly, not at the driver's first INSERT.
            pragmas = ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
            for pragma in (*pragmas, "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def write(self, work: Transaction[T]) -> Future[T]:
        """Run a function in a transaction; the future is done after the commit, or holds the exception."""
        return self._writer.write(work)

    def write_now(self, work: Transaction[T]) -> T:
        """Run a function in a transaction and wait for the commit."""
        return self.write(work).result(600)

    def read(self, work: Transaction[T]) -> T:
        """Run a function on a consistent view of the data, without waiting for writers."""
        try:
            return self._read(work)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            return self._read(work)  # The database was started again since the last use of this connection.

    def _read(self, work: Transaction[T]) -> T:
        with self.readers.connect() as connection, connection.begin():
            return work(connection)

    def look_up(self, work: Transaction[T]) -> Future[T]:
        """Read something short; what several callers look up at the same time is one transaction."""
        return self._reader.write(work)

    def erase_traces(self) -> bool:
        """Erase what was deleted from the write-ahead log of SQLite; return False if others kept reading there.

        Deleted content in the file itself is overwritten with zeros (``secure_delete``), but the log keeps older pages
        until it is truncated.
        """
        if not self.sqlite:
            return True
        with closing(sqlite3.connect(str(self.url.database), timeout=0.1)) as connection:  # Writers wait as long.
            for _ in range(_ERASE_ATTEMPTS):
                is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not is_busy:
                    return True
                time.sleep(0.5)
        return False

    def close(self) -> None:
        """Finish the waiting jobs and close the database."""
        self._writer.close()
        self._reader.close()
        self.readers.dispose()
        self.writers.dispose()

    def copy_to(self, path: Path) -> None:
        """Copy a SQLite project while it runs, as of one moment, to a new file that only its owner can read."""
        if not self.sqlite or self.url.database is None:
            raise BadInput("Only SQLite projects are backed up here. Use pg_dump for PostgreSQL.")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise BadInput(f"{path} exists already. Choose another name for the copy.") from None
        with closing(sqlite3.connect(self.url.database)) as original, closing(sqlite3.connect(path)) as copy:
            original.backup(copy)

    def project(self) -> Project:
        """Return the settings of the project, as the database holds them."""
        settings = None
        with suppress(DBAPIError):
            settings = self.read(partial(read_fact, key="project"))
        if settings is None:
            database = hide_password(self.url)
            raise BadInput(f"{database} has no studio project. Create one: plainly studio create PROJECT.toml")
        return parse_project(json.loads(settings))


def create_tables(store: Store) -> None:
    """Create the tables of a new study."""
    _require_empty(store)
    store.write_now(upgrade_tables)


def _require_empty(store: Store) -> None:
    """Refuse a database that has a study, because answers are never overwritten."""
    if inspect(store.readers).has_table("about"):
        raise BadInput(
            f"{hide_password(store.url)} has a project already, and its answers are not overwritten. "
            "Choose another --database, or move the file away."
        )


def upgrade_tables(connection: Connection) -> None:
    """Create the tables, columns and indexes that a database does not have; a new column is always optional."""
    inspector = inspect(connection)
    for table in schema.metadata.sorted_tables:
        if not inspector.has_table(table.name):
            table.create(connection)
            continue
        columns = {column["name"] for column in inspector.get_columns(table.name)}
        for column in [column for column in table.columns if column.name not in columns]:
            kind = column.type.compile(connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind}")
        indexes = {index["name"] for index in inspector.get_indexes(table.name)}
        for index in [index for index in table.indexes if index.name not in indexes]:
            index.create(connection)
    if connection.dialect.name == "postgresql":  # Its statistics would show samples of deleted values in pg_stats.
        for column in schema.PERSONAL:
            change = f"ALTER TABLE {column.table.name} ALTER COLUMN {column.name} SET STATISTICS 0"
            connection.exec_driver_sql(change)
    store_fact(connection, "schema", str(schema.VERSION))


def move_study(source: Store, target: Store) -> dict[str, int]:
    """Copy a study to an empty database and close the old one for good; return the number of rows by table.

    Nothing is written to the old database meanwhile. Afterwards its tables have other names, so that a server which
    still runs stores nothing there: browsers keep what they cannot send, and send it when the new server answers.
    """
    _require_empty(target)

    def copy(old: Connection, new: Connection) -> dict[str, int]:
        counts = {}
        upgrade_tables(new)
        new.execute(delete(schema.about))
        for table in schema.metadata.sorted_tables:
            counts[table.name] = 0
            for rows in old.execute(select(table)).mappings().partitions(1000):
                new.execute(insert(table), [dict(row) for row in rows])
                counts[table.name] += len(rows)
            if new.dialect.name == "postgresql" and "id" in table.c:  # The counter of the next id has to follow.
                last = f"coalesce((SELECT max(id) FROM {table.name}), 1), EXISTS (SELECT FROM {table.name})"
                new.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {last})")
        return counts

    def close(old: Connection) -> dict[str, int]:
        counts = target.write_now(partial(copy, old))
        for table in schema.metadata.sorted_tables:
            old.exec_driver_sql(f"ALTER TABLE {table.name} RENAME TO moved_{table.name}")
        schema.about.create(old)
        store_fact(old, "moved", hide_password(target.url))
        return counts

    return source.write_now(close)


def read_fact(connection: Connection, key: str) -> str | None:
    """Return the value that the table ``about`` holds under a key."""
    about = schema.about.c
    return connection.execute(select(about.value).where(about.key == key)).scalar()


def store_fact(connection: Connection, key: str, value: str | None) -> None:
    """Store a value under a key in the table ``about``; None deletes the key."""
    connection.execute(delete(schema.about).where(schema.about.c.key == key))
    if value is not None:
        connection.execute(insert(schema.about).values(key=key, value=value))


def log_event(connection: Connection, actor: str, action: str, detail: Mapping[str, Any]) -> None:
    """Add a line to the audit trail."""
    values = {"at": time.time(), "actor": actor, "action": action, "detail": json.dumps(detail)}
    connection.execute(insert(schema.event).values(**values))


def hide_password(url: URL) -> str:
    """Return a database URL without its password."""
    return url.render_as_string(hide_password=True)


def _with_driver(url: str) -> str:
    if "://" not in url:
        return f"sqlite:///{url}"
    scheme, _, rest = url.partition("://")
    if scheme in ("postgres", "postgresql"):
        scheme = "postgresql+psycopg"
    try:
        make_url(f"{scheme}://{rest}").get_dialect().import_dbapi()
    except (ArgumentError, NoSuchModuleError):
        raise BadInput(f"Unknown database {scheme}://. Use sqlite:///FILE or postgresql://…") from None
    except ImportError:
        raise MissingExtra("PostgreSQL", package="psycopg", extra="postgres") from None
    return f"{scheme}://{rest}"
