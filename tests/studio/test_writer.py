"""With a full disk, acknowledged answers are stored, each job has one outcome, and the writer goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError

from plainly_studio.assignments import LARGEST_ANSWER, MOST_REVISIONS
from plainly_studio.store import Job, Writer, is_disk_full
from studio.conftest import Make, Rater, Study, four, rater, rating_project, simple_items

BIG = "x" * 100_000


class AckBeforeCommit(Writer):
    """A mutant: the caller gets its result before the commit."""

    def _run(self, jobs: Any) -> list[Any]:
        def acknowledge(job: Job[Any], connection: Any) -> Any:
            job.future.set_result(job.work(connection))

        return super()._run([Job(partial(acknowledge, job), job.future) for job in jobs])


class OutcomeInsideSavepoint(Writer):
    """A mutant: a batch is never abandoned, and the outcome stands before its savepoint is released."""

    def _run(self, jobs: Any) -> list[Any]:
        results: list[Any] = []
        with self.engine.connect() as connection, connection.begin():
            for job in jobs:
                try:
                    with connection.begin_nested():
                        results.append(job.work(connection))
                except Exception as error:
                    job.future.set_exception(error)
                    results.append(None)
        return results


def limited_writer(study: Study, kind: type[Writer], spare_pages: int) -> Writer:
    """A writer on the study's own database, which may grow by so many pages and no more."""
    from sqlalchemy import event

    engine = create_engine(study.store.url, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages + spare_pages}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return kind(engine)


def count_losses(study: Study, writer: Writer) -> tuple[int, int]:
    """Write sixty jobs, too many for the disk; return how many are acknowledged but missing, and how many failed."""
    missing: set[str] = set()
    gate = threading.Event()
    writer.write(lambda connection: gate.wait(10))
    keys = [uuid.uuid4().hex for _ in range(60)]

    def job(key: str, at: int) -> Callable[[Any], None]:
        text = BIG if at % 2 else "small"
        return lambda connection: connection.exec_driver_sql("INSERT INTO about VALUES (?, ?)", (key, text)) and None

    def look(key: str, future: Any) -> None:
        if not future.exception() and not study.query(f"SELECT key FROM about WHERE key = '{key}'"):
            missing.add(key)

    futures = {key: writer.write(job(key, at)) for at, key in enumerate(keys)}
    for key, future in futures.items():
        future.add_done_callback(partial(look, key))
    time.sleep(0.05)
    gate.set()
    faults = {key: future.exception(20) for key, future in futures.items()}
    stored = {row.key for row in study.query("SELECT key FROM about")}
    missing |= {key for key, fault in faults.items() if fault is None and key not in stored}
    return len(missing), sum(fault is not None for fault in faults.values())


@pytest.mark.parametrize("spare", [30, 200, 600])
def test_with_a_full_disk_nothing_acknowledged_is_missing_and_the_writer_goes_on(make: Make, spare: int) -> None:
    study = make(rating_project(), simple_items(2))
    writer = limited_writer(study, Writer, spare)
    missing, failures = count_losses(study, writer)
    assert missing == 0
    assert failures > 0, "the disk did get full"
    assert writer.write(lambda connection: 7).result(5) == 7
    writer.close()


@pytest.mark.parametrize("mutant", [AckBeforeCommit, OutcomeInsideSavepoint])
def test_mutants_of_the_writer_are_caught(make: Make, mutant: type[Writer]) -> None:
    study = make(rating_project(), simple_items(2))
    writer = limited_writer(study, mutant, 200)
    missing, _ = count_losses(study, writer)
    assert missing > 0
    writer.close()


def test_a_refused_job_affects_no_other_and_every_caller_gets_an_outcome(make: Make) -> None:
    study = make(rating_project(), simple_items(2))
    gate = threading.Event()
    study.store.write(lambda connection: gate.wait(10))

    def refuse(connection: Any) -> None:
        connection.exec_driver_sql("INSERT INTO about VALUES ('refused', '')")
        raise ValueError("no")

    def store(name: str) -> Callable[[Any], Any]:
        return lambda connection: connection.exec_driver_sql(f"INSERT INTO about VALUES ('{name}', '')") and name

    left = study.store.write(store("left"))
    left.cancel()
    futures = [study.store.write(work) for work in (store("a"), refuse, store("b"), store("a"), store("c"))]
    gate.set()
    outcomes = [future.exception(10) or future.result() for future in futures]
    assert [outcome for outcome in outcomes if isinstance(outcome, str)] == ["a", "b", "c"]
    assert isinstance(outcomes[1], ValueError)
    assert isinstance(outcomes[3], DBAPIError), "the same key twice"
    assert {row.key for row in study.query("SELECT key FROM about")} >= {"a", "b", "c"}
    assert not study.query("SELECT key FROM about WHERE key IN ('refused', 'left')")
    assert study.store.write(store("d")).result(5) == "d"


def test_drafts_and_revisions_have_a_size_and_a_number(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(3), database=database)
    one = rater(study)
    (item,) = one.claim()["items"]
    large = {"assignment": item["assignment"], "payload": {"comment": "x" * LARGEST_ANSWER}}
    assert one.post("/api/draft", large).status_code == 413
    for revision in range(MOST_REVISIONS):
        assert one.answer({**item, "revision": revision}, four(1 + revision % 5)).status_code == 201
    again = one.answer({**item, "revision": MOST_REVISIONS}, four())
    assert (again.status_code, again.json()["error"]) == (409, "revisions")


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of a few megabytes: a tmpfs, which only root can mount."""
    if os.geteuid() != 0:
        pytest.skip("a small disk is a tmpfs, which only root can mount")
    where = Path("/tmp") / f"plainly-disk-{uuid.uuid4().hex[:8]}"
    where.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(where)], capture_output=True)
    if mount.returncode:
        where.rmdir()
        pytest.skip(f"a tmpfs cannot be mounted here: {mount.stderr.decode()}")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)
    where.rmdir()


@pytest.fixture(params=["sqlite", "postgresql"])
def on_small_disk(request: Any, small_disk: Path) -> Iterator[str]:
    """The URL of a database that lies on the small disk, of either kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{small_disk}/study.db"
        return
    import psycopg

    server = request.getfixturevalue("postgres")
    shutil.chown(small_disk, "postgres", "postgres")
    name = f"small_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE {name} LOCATION '{small_disk}'")
        connection.execute(f"CREATE DATABASE {name} TABLESPACE {name}")
    yield f"{server}/{name}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:  # before the disk goes
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP TABLESPACE {name}")


@pytest.mark.system
def test_a_full_disk_is_reported_and_writing_resumes_when_there_is_space(
    make: Make, serve: Any, small_disk: Path, on_small_disk: str
) -> None:
    study = make(rating_project(), simple_items(40), database=on_small_disk)
    server = serve(study)
    one = Rater(server.url, study.link())
    filler = small_disk / "filler"
    saved, refused = {}, []
    comment = 20 * "word "

    def answer(times: int) -> None:
        for _ in range(times):
            for item in one.claim(3)["items"]:
                for revision in range(30):
                    key = uuid.uuid4().hex
                    reply = one.answer({**item, "revision": revision}, {**four(), "comment": comment * 30}, key=key)
                    (saved.setdefault(key, reply) if reply.status_code == 201 else refused.append(reply))
                    if refused:
                        return

    answer(1)
    assert not refused
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    for _ in range(8):  # What is already reserved on the disk can still be used.
        if not refused:
            try:
                answer(1)
            except AssertionError as reply:  # even the claim was refused
                refused.append(reply)
    if not refused:
        pytest.fail("the disk never got full")
    sentence = getattr(refused[0], "text", str(refused[0]))
    assert "disk is full" in sentence
    assert "kept in this browser" in sentence
    time.sleep(1.1)
    health = httpx.get(f"{server.url}/health")
    # PostgreSQL may find space for one small row in a page that it has; SQLite's journal has none.
    assert health.status_code == 507 or not study.store.sqlite, health.text
    filler.unlink()
    time.sleep(1.1)
    assert httpx.get(f"{server.url}/health").status_code == 200
    key = uuid.uuid4().hex
    (item, *_) = one.claim(1)["items"]
    reply = one.answer(item, four(), key=key)
    assert reply.status_code in (201, 409), reply.text
    if reply.status_code == 201:
        saved[key] = reply
    one.client.close()
    stored = {row.key for row in study.query("SELECT key FROM entry")}
    assert set(saved) <= stored, "acknowledged but missing"
    assert "word" not in (server.log.read_text() if server.log else ""), "no texts in the log"


def test_a_full_disk_is_recognised() -> None:
    import sqlite3

    assert is_disk_full(DBAPIError("", None, sqlite3.OperationalError("database or disk is full")))
    assert not is_disk_full(DBAPIError("", None, sqlite3.OperationalError("database is locked")))


@pytest.mark.system
def test_a_full_disk_keeps_the_answer_in_the_browser(make: Make, serve: Any, context: Any) -> None:
    from studio.conftest import join, wait_until_saved

    study = make(rating_project(), simple_items(3))
    page = context.new_page()
    join(page, serve(study).url, study.link())
    page.locator("fieldset.current").wait_for()
    page.route("**/api/answer", lambda route: route.fulfill(status=507, json={"error": "storage", "message": "full"}))
    page.wait_for_timeout(400)
    for key in ("4", "5", "2", "1", "Enter"):
        page.keyboard.press(key)
    page.locator("#saved", has_text="disk is full. 1 answer is kept").wait_for()
    page.unroute("**/api/answer")
    wait_until_saved(page, 1)
