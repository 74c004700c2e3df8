"""The actions of ``plainly studio`` as functions; a study is named by its project's file.

The database is the argument ``database``, or ``PLAINLY_STUDIO_DATABASE``, or a SQLite file beside the project's file.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from plainly.core import formatting
from plainly.core.errors import BadInput
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Listing, Note, Record, Result, Table
from plainly.io.files import PathLike
from plainly.people.ratings import Judgements
from plainly_studio import creation, exports, people
from plainly_studio.creation import LOCAL_URL, SCHEMA, NewProject
from plainly_studio.exports import Ledger
from plainly_studio.live import overview
from plainly_studio.people import InvitationKind, Secret
from plainly_studio.project import Project, TaskName, read_project, write_project
from plainly_studio.store import Store, hide_password, move_study

T = TypeVar("T")
DATABASE = "PLAINLY_STUDIO_DATABASE"


class Invitations(Listing):
    """New links; they are not stored and cannot be shown again."""

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(row["link"] for row in self.rows)


@dataclass(frozen=True, repr=False)
class Status(Result):
    """The figures of a running project, as on the owner's page (see ``live.overview``)."""

    figures: dict[str, Any]

    def records(self) -> list[Record]:
        return [{name: value for name, value in row.items() if name != "growth"} for row in self.figures["agreement"]]

    def json(self) -> Record:
        return {"schema": SCHEMA, **self.figures}

    def tables(self) -> list[Table]:
        figures = self.figures
        wanted, raters = formatting.count_noun(figures["wanted"], "answer"), len(figures["raters"])
        caption = f"{figures['answers']} of {wanted} by {formatting.count_noun(raters, 'rater')}"
        rows = [
            (row["name"], *(formatting.number(row[name], 3) for name in ("alpha", "low", "high")), str(row["compared"]))
            for row in figures["agreement"]
        ]
        tables = [Table(("of", "alpha", "low", "high", "compared"), tuple(rows), caption=caption)]
        if repeats := figures["self_agreement"]:
            cells = [
                (row["name"], *(formatting.number(row[name], 3) for name in ("same", "alpha")), str(row["repeated"]))
                for row in repeats
            ]
            header = ("with themselves", "same", "alpha", "repeated")
            tables.append(Table(header, tuple(cells), caption="Agreement of raters with themselves"))
        return tables

    def notes(self) -> list[Note]:
        raters = [row for row in self.figures["raters"] if row["reasons"]]
        notes = [Note(f"Rater {row['rater']}: {'; '.join(row['reasons'])}") for row in raters]
        notes += [Note(f"Excluded: {row['rater']} ({row['why']})") for row in self.figures["excluded"]]
        return [*notes, *(Note(describe_rule_change(change)) for change in self.figures["rule_changes"])]


def describe_rule_change(change: Record) -> str:
    """Return the sentence on a rule that was changed after the first answer."""
    values = f"{change['rule']} was {change['before']:g} and is {change['after']:g}"
    return f"The exclusion rule {values}: it was changed after {change['answers']} answers."


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
    public_url: str = LOCAL_URL,
    progress: Progress = no_progress,
) -> NewProject:
    """Create a project's database, and its file from the options where there is none yet.

    The owner's link begins with ``public_url``.
    """
    path = Path(file)
    settings: dict[str, dict[str, Any]] = {
        "project": {"task": task, "protocol": protocol},
        "data": {"test_set": test_set, "systems": systems, "items": items, "source": source, "outputs": outputs},
        "assignment": {"overlap": overlap},
    }
    wrote = write_project(path, settings, demo=demo)
    with _new_database(path, database, wrote_file=wrote) as store:
        project = creation.create(store, read_project(path), directory=path.parent, demo=demo, progress=progress)
    return replace(project, file=str(path), wrote_file=wrote, url=public_url)


def import_set(
    file: PathLike,
    name: str,
    *,
    database: str | None = None,
    public_url: str = LOCAL_URL,
    progress: Progress = no_progress,
) -> NewProject:
    """Create a project from a public set of ratings or annotations, or from a table of ratings."""
    path = Path(file)
    with _new_database(path, database) as store:
        project = creation.import_set(store, name, progress=progress)
    return replace(project, file=str(path), url=public_url)


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
    """Serve the project's pages until interrupted; ``ready`` gets the messages of the start.

    ``expose`` is needed for an address that other machines can reach; ``public_url`` is the URL of a proxy in front.
    """
    from plainly_studio import app, owner_pages
    from plainly_studio.context import Address, Studio

    address = Address(public_url.rstrip("/"), Address().hosts | {host})
    studio = Studio(Store(_database(Path(file), database)), _secret(Path(file)), address, file=Path(file))
    name = studio.project.name  # A database without a project is an error now and not at the first request.
    for warning in owner_pages.warnings(studio):
        ready(f"Warning: {warning}")

    def announce(url: str) -> None:
        ready(f"Serving {name} on {public_url or url} (Ctrl-C ends)")
        if (here := (public_url or url).rstrip("/")) != LOCAL_URL:
            ready(f"Links work as {here}/join/…; replace the beginning of those that name another address.")

    app.serve(studio, host=host, port=port, expose=expose, ready=announce)


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
        raise BadInput("A crowd's link is for many people; only a personal link can work once.")
    with _open(file, database) as store:
        tokens = [
            store.write_now(lambda connection: people.invite(connection, kind, label=label, once=once))
            for _ in range(count)
        ]
    links = [f"{public_url.rstrip('/')}/join/{token}" for token in tokens]
    return Invitations(
        {"schema": SCHEMA, "links": links}, tuple({"link": link} for link in links), prose="\n".join(links)
    )


def export(file: PathLike, form: str = "csv", *, database: str | None = None) -> bytes:
    """Return the data collected so far, as the content of a file in this format."""
    formats = (*exports.FORMATS, *people.LISTS)
    if form not in formats:
        raise BadInput(f"Unknown format {form!r}. Available: {', '.join(formats)}.")
    if form in exports.FORMATS:
        return _compute(file, database, partial(exports.write, form=form))
    with _open(file, database) as store:
        project, secret = store.project(), _secret(Path(file))
        store.write_now(lambda connection: people.purge(connection, project, time.time()))
        ledger = Ledger(store)
        ledger.refresh()
        return store.read(
            lambda connection: people.write_list(connection, project, secret, ledger.excluded_by_rule, form)
        )


def status(file: PathLike, *, database: str | None = None) -> Status:
    """Return the figures of the owner's page."""
    return Status(_compute(file, database, overview))


def judgements(file: PathLike, *, database: str | None = None) -> Judgements:
    """Return the ratings of a running or finished study, as ``plainly meta`` takes them."""
    return _compute(file, database, exports.judgements)


def backup(file: PathLike, output: PathLike, *, database: str | None = None) -> Path:
    """Copy a SQLite project while it runs."""
    with _open(file, database) as store:
        store.copy_to(Path(output))
    secret = Path(file).with_suffix(".secret")
    if secret.is_file():  # Codes and people from crowd platforms are recognised with it.
        copy = os.open(Path(output).with_suffix(".secret"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(copy, "wb") as target:
            target.write(secret.read_bytes())
    return Path(output)


def move(file: PathLike, target: str, *, database: str | None = None) -> Listing:
    """Move a study to another database, with its links, sessions, leases and ids; raters go on there.

    The study's secret stays where it is. The old database keeps its content under other names and is not used again.
    """
    if not target:
        raise BadInput("Name the new database, for example postgresql://studio@db.example.org/study.")
    with _open(file, database) as source, _new_database(Path(file), target) as store:
        project, counts = source.project(), move_study(source, store)
    new = hide_password(store.url)
    numbers = {"items": counts["item"], "raters": counts["rater"], "answers": counts["entry"]}
    facts: Record = {"project": project.name, "database": new, **numbers}
    parts = ", ".join(formatting.count_noun(count, name.removesuffix("s")) for name, count in numbers.items())
    remark = f"Next: plainly studio serve {file} --database {new} (or set ${DATABASE}). Links and sessions stay valid."
    prose = f"Moved {project.name} to {new}: {parts}."
    return Listing({"schema": SCHEMA, **facts}, (facts,), prose=prose, remark=remark)


def _database(path: Path, database: str | None) -> str:
    if not path.name:
        raise BadInput("Name the study's file, for example study.toml.")
    return database or os.environ.get(DATABASE) or f"sqlite:///{path.with_suffix('.db')}"


def _secret(path: Path) -> Secret:
    return Secret(path.with_suffix(".secret"))


def _open(file: PathLike, database: str | None, *, create: bool = False) -> closing[Store]:
    return closing(Store(_database(Path(file), database), create=create))


def _compute(file: PathLike, database: str | None, work: Callable[[Ledger, Project], T]) -> T:
    """Run a function over all current answers."""
    with _open(file, database) as store:
        ledger = Ledger(store)
        ledger.refresh()
        return work(ledger, store.project())


@contextmanager
def _new_database(path: Path, database: str | None, *, wrote_file: bool = False) -> Iterator[Store]:
    """Open a store to be filled. If that fails, delete the new files, which would block the next attempt."""
    url, file = _database(path, database), path.with_suffix(".db")
    is_new = url == f"sqlite:///{file}" and not file.exists()
    leftovers = [file.with_name(file.name + end) for end in ("", "-wal", "-shm")] if is_new else []
    try:
        with _open(path, url, create=True) as store:
            yield store
            _secret(path)
    except BaseException:
        for leftover in [*leftovers, path] if wrote_file else leftovers:
            leftover.unlink(missing_ok=True)
        raise
