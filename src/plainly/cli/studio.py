"""``plainly studio``: make a project, serve it, invite people, get the data out."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plainly.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    from plainly.studio.store import Store

HELP = """run the human evaluation: a web application in which people rate, annotate and rank

  plainly studio create simplicity.toml -t asset/test --systems ACCESS,Dress-Ls
  plainly studio create simplicity.toml --source source.txt --outputs A=a.txt B=b.txt
  plainly studio serve simplicity.toml"""

DATABASE = "PLAINLY_STUDIO_DATABASE"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, summary: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=summary, description=summary)
        made.add_argument("project", metavar="PROJECT", type=Path, help="the project's TOML file")
        made.add_argument("--database", metavar="URL", help=f"sqlite:///FILE or postgresql://… (or ${DATABASE})")
        return made

    create = action("create", "make a project's database, and its TOML file where there is none yet")
    create.add_argument(
        "--outputs", metavar="FILE", nargs="+", action="extend", help="what systems wrote: PATH or NAME=PATH"
    )
    create.add_argument("-t", "--test-set", metavar="NAME", help="a public evaluation set, for example asset/test")
    create.add_argument("--systems", metavar="NAMES", help="systems of the set, separated by commas")
    create.add_argument("--source", metavar="FILE", help="the sources, one a line")
    create.add_argument("--task", choices=("rating", "operations", "ranking"), help="what people do (default: rating)")
    create.add_argument("--protocol", metavar="NAME", help="sulem-2018, tradeoff-2018 or direct-assessment")
    create.add_argument("--items", type=int, metavar="N", help="draw N sources at random")
    create.add_argument("--overlap", type=int, metavar="N", help="people for each item (default: 2)")
    create.add_argument("--demo", action="store_true", help="use the small data set that comes with plainly")
    create.add_argument("--json", action="store_true", help="print JSON")

    serve = action("serve", "serve the project's pages")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    serve.add_argument("--port", type=int, default=8000, help="port to listen on (default: 8000)")
    serve.add_argument("--expose", action="store_true", help="allow an address that other machines can reach")
    serve.add_argument("--public-url", default="", metavar="URL", help="what a proxy in front calls it")

    invite = action("invite", "make links for raters or owners")
    invite.add_argument("--kind", choices=("person", "crowd", "owner"), default="person", help="for whom")
    invite.add_argument("--label", default="", help="a note to yourself; never exported")
    invite.add_argument("--once", action="store_true", help="a personal link that works only once")
    invite.add_argument("-n", type=int, default=1, metavar="N", help="how many links")
    invite.add_argument("--public-url", default="http://127.0.0.1:8000", metavar="URL", help="where people reach it")
    invite.add_argument("--json", action="store_true", help="print JSON")

    export = action("export", "write the data collected so far")
    export.add_argument("--format", default="csv", help="csv, jsonl, parquet, aln (a zip) or entries.jsonl")
    export.add_argument("-o", "--output", default="-", metavar="FILE", help="where to (default: standard output)")

    load = action("import", "load a public set of ratings or annotations as a project of its own")
    load.add_argument("name", metavar="NAME", help="asset/ratings, assetann/annotations, simplicity-da/ratings …")

    status = action("status", "how far the project is")
    status.add_argument("--json", action="store_true", help="print JSON")
    backup = action("backup", "copy a SQLite project while it runs")
    backup.add_argument("output", metavar="FILE", type=Path, help="where the copy goes")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments say; the exit status."""
    try:
        import jinja2  # noqa: F401
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra("The studio", package=error.name or "starlette", extra="studio") from None
    actions = {
        "create": _create,
        "serve": _serve,
        "invite": _invite,
        "export": _export,
        "import": _import,
        "status": _status,
        "backup": _backup,
    }
    return actions[args.action](args)


def _database(args: argparse.Namespace) -> str:
    found: str = args.database or os.environ.get(DATABASE) or f"sqlite:///{args.project.with_suffix('.db')}"
    return found


def _open(args: argparse.Namespace) -> Store:
    from plainly.studio.store import Store

    return Store(_database(args))


def _create(args: argparse.Namespace) -> int:
    from plainly.studio.create import create
    from plainly.studio.people import Secret
    from plainly.studio.project import read_project
    from plainly.studio.serve import secret_path
    from plainly.studio.store import Store, shown

    written = _write_project(args)
    made: list[Path] = [args.project] if written else []
    try:
        project = read_project(args.project)
        database = args.project.with_suffix(".db")
        if _database(args) == f"sqlite:///{database}" and not database.exists():
            made += [database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))]
        store = Store(_database(args), create=True)
        try:
            token = create(store, project, directory=args.project.parent, demo=args.demo)
            Secret(secret_path(args.project))
            where = shown(store.url)
        finally:
            store.close()
    except BaseException:
        # Half a project would be in the way of the next attempt.
        for leftover in made:
            leftover.unlink(missing_ok=True)
        raise
    path = f"/join/{token}"
    if args.json:
        _print({"schema": "plainly.studio/1", "project": project.name, "database": where, "owner_path": path})
        return 0
    print(f"{project.name}: ready in {where}.", file=sys.stderr)
    print(f"Next: plainly studio serve {args.project}", file=sys.stderr)
    print("Your owner link; it works once and is shown only now:", file=sys.stderr)
    print(f"http://127.0.0.1:8000{path}")
    return 0


def _write_project(args: argparse.Namespace) -> bool:
    """Write a project file from the options, unless there is one; then nothing may be said twice. Whether it wrote."""
    given = {
        "task": args.task,
        "protocol": args.protocol,
        "test_set": args.test_set,
        "systems": args.systems,
        "source": args.source,
        "items": args.items,
        "overlap": args.overlap,
        "outputs": args.outputs,
    }
    if args.project.exists():
        if named := [name for name, value in given.items() if value is not None]:
            raise BadInput(f"{args.project} exists; say {', '.join(named)} there, or choose another name.")
        return False
    if not any((args.demo, args.test_set, args.source)):
        raise BadInput(f"There is no {args.project}. Give -t NAME, --source FILE or --demo, and it is written for you.")
    lines = ["# What people are asked to do. All settings: docs/studio.md", "[project]"]
    lines += [f"name = {_toml(args.project.stem)}", f"task = {_toml(args.task or 'rating')}"]
    if (args.task or "rating") == "rating":
        lines.append(f"protocol = {_toml(args.protocol or 'tradeoff-2018')}")
    lines += ["", "[data]"]
    directory = args.project.parent
    if args.test_set:
        lines.append(f"test_set = {_toml(args.test_set)}")
    if args.source:
        lines.append(f"source = {_toml(_relative(args.source, directory))}")
    if args.systems:
        lines.append(f"systems = {_toml(args.systems.split(','))}")
    if args.outputs:
        lines.append(f"outputs = {_toml([_relative_output(one, directory) for one in args.outputs])}")
    if args.items:
        lines.append(f"items = {args.items}")
    if args.overlap:
        lines += ["", "[assignment]", f"overlap = {args.overlap}"]
    args.project.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"Wrote {args.project}.", file=sys.stderr)
    return True


def _relative(path: str, directory: Path) -> str:
    return os.path.relpath(path, directory)


def _relative_output(spec: str, directory: Path) -> str:
    name, equals, path = spec.partition("=")
    return f"{name}={_relative(path, directory)}" if equals else _relative(spec, directory)


def _toml(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)  # JSON's strings and lists of strings are TOML's


def _serve(args: argparse.Namespace) -> int:
    from plainly.studio.serve import open_studio, secret_path, serve

    studio = open_studio(_database(args), secret_path(args.project), public_url=args.public_url, hosts=(args.host,))

    def ready(url: str) -> None:
        print(f"Serving {studio.project.name} on {args.public_url or url} (Ctrl-C ends)", file=sys.stderr, flush=True)

    serve(studio, host=args.host, port=args.port, expose=args.expose, ready=ready)
    return 0


def _invite(args: argparse.Namespace) -> int:
    from plainly.studio import people

    store = _open(args)
    try:
        once = args.once or args.kind == "owner"
        tokens = [
            store.write_now(lambda connection: people.invite(connection, args.kind, label=args.label, once=once))
            for _ in range(args.n)
        ]
    finally:
        store.close()
    links = [f"{args.public_url.rstrip('/')}/join/{token}" for token in tokens]
    if args.json:
        _print({"schema": "plainly.studio/1", "links": links})
    else:
        print("\n".join(links))
    return 0


def _export(args: argparse.Namespace) -> int:
    from plainly.studio.export import FORMATS, write
    from plainly.studio.ledger import Ledger

    if args.format not in FORMATS:
        raise BadInput(f"Unknown format {args.format!r}. Known: {', '.join(FORMATS)}.")
    store = _open(args)
    try:
        ledger = Ledger(store)
        ledger.refresh()
        content = write(ledger, store.project(), args.format)
    finally:
        store.close()
    if args.output == "-":
        sys.stdout.buffer.write(content)
    else:
        Path(args.output).write_bytes(content)
    return 0


def _import(args: argparse.Namespace) -> int:
    from plainly.studio.imports import import_set
    from plainly.studio.people import Secret
    from plainly.studio.serve import secret_path
    from plainly.studio.store import Store

    store = Store(_database(args), create=True)
    try:
        told = import_set(store, args.name)
        Secret(secret_path(args.project))
    finally:
        store.close()
    print(f"{args.name}: {told.items} items, {told.raters} raters, {told.answers} answers.", file=sys.stderr)
    print("Your owner link; it works once and is shown only now:", file=sys.stderr)
    print(f"http://127.0.0.1:8000/join/{told.owner_token}")
    return 0


def _status(args: argparse.Namespace) -> int:
    from plainly.studio.context import finite
    from plainly.studio.ledger import Ledger
    from plainly.studio.live import overview

    store = _open(args)
    try:
        ledger = Ledger(store)
        ledger.refresh()
        found = overview(ledger, store.project())
    finally:
        store.close()
    if args.json:
        _print({"schema": "plainly.studio/1", **finite(found)})
        return 0
    print(f"{found['answers']} of {found['wanted']} answers by {len(found['raters'])} raters")
    for one in found["agreement"]:
        print(f"{one['name']}\talpha {one['alpha']:.3f}\t{one['compared']} compared")
    return 0


def _backup(args: argparse.Namespace) -> int:
    from plainly.studio.backup import backup_to

    store = _open(args)
    try:
        backup_to(store, args.output)
    finally:
        store.close()
    return 0


def _print(content: dict[str, Any]) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=2))
