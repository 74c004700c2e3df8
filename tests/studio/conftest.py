"""What the studio's tests share: studies, raters in process, a server process, PostgreSQL and Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import browser

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Newer versions would like another HTTP client, older ones know only this.
    from starlette.testclient import TestClient

from plainly_studio import creation, people
from plainly_studio.app import build
from plainly_studio.context import Studio
from plainly_studio.people import Secret
from plainly_studio.project import Project, parse_project
from plainly_studio.store import Store, create_tables

HERE = Path(__file__).parent


def rating_project(**more: Any) -> Project:
    """A project with the four scales of the 2018 paper."""
    return parse_project({"name": "Test", "protocol": "sulem-2018", **more})


def fill(store: Store, project: Project, items: list[dict[str, Any]]) -> str:
    """Make the project with exactly these items; the owner's token."""
    create_tables(store)

    def work(connection: Any) -> str:
        creation.fill(connection, project, items, "create", {}, places=creation.plan_places(project, items)[0])
        return people.invite(connection, "owner", once=True)

    return store.write_now(work)


def simple_items(count: int, *, systems: int = 2, **more: Any) -> list[dict[str, Any]]:
    """Items whose texts name themselves but not their systems."""
    return [
        creation.make_item(
            f"The committee subsequently reached decision number {at}.",
            [(f"secret-system-{at % systems}", f"Then the group made choice {at}.")],
            name=str(at),
            **more,
        )
        for at in range(count)
    ]


@dataclass
class Server:
    """The studio in a process of its own, as a user starts it; ``command`` may be a mutant."""

    project_file: Path
    database: str
    port: int
    command: list[str] = field(default_factory=lambda: [sys.executable, "-m", "plainly", "studio"])
    options: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    log: Path | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _options(self) -> list[str]:
        return ["--port", str(self.port), "--database", self.database, *self.options]

    def start(self) -> Server:
        self.log = self.project_file.with_suffix(".log")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "serve", str(self.project_file), *self._options()],
                stderr=log,
                stdout=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended: {self.log.read_text()}")
            try:
                if httpx.get(f"{self.url}/health", timeout=1).status_code == 200:
                    return self
            except httpx.HTTPError:
                time.sleep(0.02)
        raise AssertionError(f"the server did not start: {self.log.read_text()}")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=15)


@dataclass
class Study:
    """A project on disk, with its store open for the test itself."""

    store: Store
    project: Project
    file: Path
    database: str
    owner_token: str

    def link(self, kind: people.InvitationKind = "person", **more: Any) -> str:
        return self.store.write_now(lambda connection: people.invite(connection, kind, **more))

    def studio(self) -> Studio:
        return Studio(self.store, Secret(self.file.with_suffix(".secret")))

    def query(self, statement: str) -> list[Any]:
        from sqlalchemy import text

        return self.store.read(lambda connection: list(connection.execute(text(statement)).all()))


Make = Callable[..., Study]


def integrity_faults(store: Store) -> list[str]:
    """What SQLite itself finds wrong; empty when all is well."""
    if not store.sqlite:
        return []
    with store.readers.connect() as connection:
        lines = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
        lines += [str(tuple(row)) for row in connection.exec_driver_sql("PRAGMA foreign_key_check")]
    return [line for line in lines if line != "ok"]


@contextmanager
def studies_in(directory: Path) -> Iterator[Make]:
    """Yield a function that makes studies; the database is SQLite unless a URL is given."""
    with ExitStack() as stores:

        def make_study(
            project: Project, items: list[dict[str, Any]], *, database: str = "", name: str = "project"
        ) -> Study:
            file = directory / f"{name}.toml"
            file.write_text("# made by a test\n")
            url = database or f"sqlite:///{directory / name}.db"
            store = stores.enter_context(closing(Store(url, create=True)))
            return Study(store, project, file, url, fill(store, project, items))

        yield make_study


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with studies_in(tmp_path) as make_study:
        yield make_study


@pytest.fixture(scope="module")
def shared_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A study for all tests of a module, which must not depend on its state."""
    with studies_in(tmp_path_factory.mktemp("shared")) as make_study:
        yield make_study(rating_project(), simple_items(300))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers; they are ended with the test."""
    running: list[Server] = []

    def one(study: Study, *, port: int = 0, **more: Any) -> Server:
        server = Server(study.file, study.database, port or free_port(), **more)
        running.append(server)
        return server.start()

    yield one
    for server in running:
        server.stop()


@dataclass
class Postgres:
    """A PostgreSQL server of the tests' own; the URL is without a database's name."""

    url: str
    start: Callable[[], object]
    kill: Callable[[], object]


@pytest.fixture(scope="session")
def postgres(postgres_server: Postgres) -> str:
    return postgres_server.url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    initdb = shutil.which("initdb") or (str(binaries[-1] / "initdb") if binaries else None)
    if initdb is None:
        if os.environ.get("CI"):
            pytest.fail("In CI PostgreSQL must be installed.")
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    bin_directory = Path(initdb).parent
    base = Path("/tmp") / f"plainly-pg-{uuid.uuid4().hex[:8]}"
    base.mkdir(mode=0o755)
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root.
        shutil.chown(base, "postgres", "postgres")
        as_user = {"user": "postgres", "group": "postgres"}
    port = free_port()
    quiet: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, "cwd": base, **as_user}
    subprocess.run([bin_directory / "initdb", "-D", base / "data", "-A", "trust", "-U", "studio", "--no-sync"], **quiet)
    options = f"-p {port} -k {base} -c listen_addresses=127.0.0.1"
    control = [bin_directory / "pg_ctl", "-D", base / "data", "-l", base / "log", "-w"]
    start = partial(subprocess.run, [*control, "-o", options, "start"], **quiet)
    kill = partial(subprocess.run, [*control, "-m", "immediate", "stop"], **quiet)
    start()
    yield Postgres(f"postgresql://studio@127.0.0.1:{port}", start, kill)
    kill()
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def postgres_database(postgres: str) -> str:
    return new_database(postgres)


def new_database(postgres: str) -> str:
    """Create a PostgreSQL database and return its URL."""
    import psycopg

    name = f"studio_{uuid.uuid4().hex[:10]}"
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{postgres}/{name}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def database(request: pytest.FixtureRequest) -> str:
    """Each kind of database in turn."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_database"))


class Rater:
    """A rater without a browser: joins by link and calls what the page calls."""

    def __init__(
        self, url: str, token: str, *, client: httpx.Client | None = None, data: Mapping[str, str] = {}
    ) -> None:
        self.url, self.client = url, client or httpx.Client(base_url=url, timeout=20)
        page = self.client.get(f"/join/{token}")
        assert page.status_code == 200, page.text
        form = {"page_token": hidden_field(page.text, "page_token"), "consent": "yes", **data}
        response = self.client.post(f"/join/{token}", data=form, headers={"origin": self.origin})
        assert response.status_code == 303, response.text
        self.token = ""
        if self.client.get("/api/me").status_code == 200:
            me = self.client.get("/api/me").json()
            self.token, self.name = me["token"], me["rater"]

    @property
    def origin(self) -> str:
        return self.url

    def post(self, path: str, data: Any) -> httpx.Response:
        headers = {"origin": self.origin, "x-studio-token": self.token, "content-type": "application/json"}
        return self.client.post(path, content=json.dumps(data), headers=headers)

    def claim(self, want: int = 1, have: list[int] | None = None) -> dict[str, Any]:
        answer = self.post("/api/claim", {"want": want, "have": have or []})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def answer(self, item: Mapping[str, Any], payload: Any, **more: Any) -> httpx.Response:
        body = {"assignment": item["assignment"], "revision": item["revision"], "key": uuid.uuid4().hex}
        return self.post("/api/answer", {**body, "payload": payload, **more})


def local_client(study: Study) -> Any:
    """The application without a network."""
    return TestClient(build(study.studio()), base_url="http://localhost", follow_redirects=False)


def rater(study: Study, **more: Any) -> Rater:
    """A rater of the application without a network."""
    return Rater("http://localhost", study.link(), client=local_client(study), **more)


def hidden_field(page: str, name: str) -> str:
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert match is not None, page
    return match.group(1)


def four(value: int = 3) -> dict[str, Any]:
    """An answer on the four scales."""
    return {"values": {"grammaticality": value, "meaning": value, "simplicity": value - 3, "structural_simplicity": 0}}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from browser.chromium()


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    """A browser context without cookies or storage."""
    new_context = chromium.new_context(viewport={"width": 1100, "height": 800})
    new_context.set_default_timeout(10_000)
    yield new_context
    new_context.close()


def join(page: Any, url: str, token: str) -> None:
    """Open a link and press the button."""
    page.goto(f"{url}/join/{token}")
    if page.locator("input[name=consent]").count():
        page.check("input[name=consent]")
    page.click("button.primary")


def wait_for_item(page: Any) -> None:
    """Wait until an item has been on the screen for a moment, and so takes an answer."""
    page.locator(".item[data-settled]").wait_for()


def wait_until_saved(page: Any, count: int, *, timeout: float = 15_000) -> None:
    """Wait until the page says that so many answers are on the server."""
    text = f"All {count} answers saved" if count > 1 else "1 answer saved"
    page.locator("#saved", has_text=text).wait_for(timeout=timeout)
