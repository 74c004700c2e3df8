"""What can be done with a study, named by its project's file: what ``plainly studio`` offers, as functions.

The database is given, or named by ``PLAINLY_STUDIO_DATABASE``, or a SQLite file beside the project's.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plainly.core import formatting
from plainly.core.errors import BadInput
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.io.files import PathLike
from plainly.people.preferences import Choice
from plainly.people.ratings import Judgements
from plainly_studio import creation, exports, imports, payment, people
from plainly_studio.creation import LOCAL_URL, SCHEMA, NewProject
from plainly_studio.ledger import Ledger
from plainly_studio.live import overview
from plainly_studio.people import InvitationKind, Secret
from plainly_studio.project import Project, TaskName, read_project, write_project
from plainly_studio.store import Store

DATABASE = "PLAINLY_STUDIO_DATABASE"


@dataclass(frozen=True, repr=False)
class Invitations(Result):
    """Links for people; they are shown here and never again."""

    links: tuple[str, ...]

    def records(self) -> list[Record]:
        return [{"link": link} for link in self.links]

    def json(self) -> Record:
        return {"schema": SCHEMA, "links": list(self.links)}

    def tables(self) -> list[Table]:
        return []

    def notes(self) -> list[Note]:
        return [Note(link, "claim") for link in self.links]


@dataclass(frozen=True, repr=False)
class Status(Result):
    """A running project in figures: those of the owner's page (see ``live.overview``)."""

    figures: dict[str, Any]

    def records(self) -> list[Record]:
        return [{name: value for name, value in row.items() if name != "growth"} for row in self.figures["agreement"]]

    def json(self) -> Record:
        return {"schema": SCHEMA, **self.figures}

    def tables(self) -> list[Table]:
        figures = self.figures
        caption = f"{figures['answers']} of {figures['wanted']} answers by {len(figures['raters'])} raters"
        rows = [
            (row["name"], *(formatting.number(row[name], 3) for name in ("alpha", "low", "high")), str(row["compared"]))
            for row in figures["agreement"]
        ]
        return [Table(("of", "alpha", "low", "high", "compared"), tuple(rows), caption=caption)]

    def notes(self) -> list[Note]:
        flagged = [row for row in self.figures["raters"] if row["reasons"]]
        return [Note(f"Rater {row['rater']}: {'; '.join(row['reasons'])}") for row in flagged]


def create(
    file: PathLike,
    *,
    database: str | None = None,
    demo: bool = False,
    task: TaskName | None = None,
    protocol: str | None = None,
    test_set: str | None = None,
    systems: Sequence[str] | None = None,
    source: str | None = None,
    outputs: Sequence[str] | None = None,
    items: int | None = None,
    overlap: int | None = None,
    progress: Progress = no_progress,
) -> NewProject:
    """Make a project's database, and its file from the options where there is none yet."""
    path = Path(file)
    settings = {
        "task": task,
        "protocol": protocol,
        "test_set": test_set,
        "systems": systems,
        "source": source,
        "outputs": outputs,
        "items": items,
        "overlap": overlap,
    }
    wrote = write_project(path, {name: value for name, value in settings.items() if value is not None}, demo=demo)
    with _new_database(path, database, wrote_file=wrote) as store:
        project = creation.create(store, read_project(path), directory=path.parent, demo=demo, progress=progress)
    return replace(project, file=str(path), wrote_file=wrote)


def import_set(
    file: PathLike, name: str, *, database: str | None = None, progress: Progress = no_progress
) -> NewProject:
    """Make a project of a public set of ratings or annotations, or of a table of ratings."""
    path = Path(file)
    with _new_database(path, database) as store:
        project = imports.import_set(store, name, progress=progress)
    return replace(project, file=str(path))


def serve(
    file: PathLike,
    *,
    database: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    expose: bool = False,
    public_url: str = "",
    ready: Callable[[str], None] = lambda message: None,
) -> None:
    """Serve the project's pages until interrupted; ``ready`` is told when and where people can come.

    ``expose`` is needed for an address that other machines can reach; ``public_url`` is what a proxy in front calls it.
    """
    from plainly_studio import owner_pages, server
    from plainly_studio.context import Studio
    from plainly_studio.guard import Address

    address = Address(public_url.rstrip("/"), Address().hosts | {host})
    studio = Studio(Store(_database(Path(file), database)), _secret(Path(file)), address, file=Path(file))
    name = studio.project.name  # A database without a project is an error now and not at the first request.
    for warning in owner_pages.warnings(studio):
        ready(f"Attention: {warning}")

    def tell(url: str) -> None:
        ready(f"Serving {name} on {public_url or url} (Ctrl-C ends)")

    server.serve(studio, host=host, port=port, expose=expose, ready=tell)


def invite(
    file: PathLike,
    *,
    database: str | None = None,
    kind: InvitationKind = "person",
    label: str = "",
    once: bool = False,
    count: int = 1,
    public_url: str = LOCAL_URL,
) -> Invitations:
    """Make links for raters or owners."""
    if once and kind == "crowd":
        raise BadInput("A crowd's link is for many people; one that works only once is for a person.")
    with _opened(file, database) as store:
        tokens = [
            store.write_now(lambda connection: people.invite(connection, kind, label=label, once=once))
            for _ in range(count)
        ]
    return Invitations(tuple(f"{public_url.rstrip('/')}/join/{token}" for token in tokens))


def export(file: PathLike, form: str = "csv", *, database: str | None = None) -> bytes:
    """The data collected so far, as a file of that format."""
    known = (*exports.FORMATS, *payment.LISTS)
    if form not in known:
        raise BadInput(f"Unknown format {form!r}. Known: {', '.join(known)}.")
    with _opened(file, database) as store:
        if form in payment.LISTS:
            project, secret = store.project(), _secret(Path(file))
            return store.read(lambda connection: payment.write(connection, project, secret, form))
        return exports.write(*_current(store), form)


def status(file: PathLike, *, database: str | None = None) -> Status:
    """How far the project is: the figures of the owner's page."""
    with _opened(file, database) as store:
        return Status(overview(*_current(store)))


def judgements(file: PathLike, *, database: str | None = None) -> Judgements:
    """The ratings of a running or finished study, as ``plainly meta`` takes them."""
    with _opened(file, database) as store:
        return exports.judgements(*_current(store))


def rankings(file: PathLike, *, database: str | None = None) -> tuple[Choice, ...] | None:
    """The rankings of a running or finished study; None where people do something else."""
    with _opened(file, database) as store:
        return exports.rankings(*_current(store))


def backup(file: PathLike, output: PathLike, *, database: str | None = None) -> Path:
    """Copy a SQLite project while it runs."""
    with _opened(file, database) as store:
        store.copy_to(Path(output))
    secret = Path(file).with_suffix(".secret")
    if secret.is_file():  # Without it codes and people from crowd platforms are not known again.
        copy = os.open(Path(output).with_suffix(".secret"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(copy, "wb") as there:
            there.write(secret.read_bytes())
    return Path(output)


def _database(path: Path, database: str | None) -> str:
    return database or os.environ.get(DATABASE) or _beside(path)


def _beside(path: Path) -> str:
    if not path.name:
        raise BadInput("Name the study's file, for example study.toml.")
    return f"sqlite:///{path.with_suffix('.db')}"


def _secret(path: Path) -> Secret:
    return Secret(path.with_suffix(".secret"))


def _current(store: Store) -> tuple[Ledger, Project]:
    ledger = Ledger(store)
    ledger.refresh()
    return ledger, store.project()


@contextmanager
def _opened(file: PathLike, database: str | None, *, new: bool = False) -> Iterator[Store]:
    store = Store(_database(Path(file), database), create=new)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _new_database(path: Path, database: str | None, *, wrote_file: bool = False) -> Iterator[Store]:
    """A store to be filled. If that fails, what is new goes: half a project would be in the way of the next attempt."""
    beside = _beside(path)
    file = path.with_suffix(".db")
    own = _database(path, database) == beside and not file.exists()
    leftovers = [file.with_name(file.name + end) for end in ("", "-wal", "-shm")] if own else []
    try:
        with _opened(path, database, new=True) as store:
            yield store
            _secret(path)
    except BaseException:
        for leftover in [*leftovers, path] if wrote_file else leftovers:
            leftover.unlink(missing_ok=True)
        raise
