"""``plainly studio``: create a project, serve it, invite people, export the data."""

import argparse
import sys
from pathlib import Path
from typing import Any

import plainly_studio
from plainly.cli.options import add_formats, number, split_names
from plainly.cli.show import say, say_written, show
from plainly.core.files import check_target, record_written, write_whole
from plainly.core.progress import bar

SUMMARY = "collect people's judgements in the browser"
HELP = """\
run the human evaluation: a web application in which people rate, annotate and rank

  plainly studio create simplicity.toml -t asset/test --systems ACCESS,Dress-Ls
  plainly studio create simplicity.toml --source source.txt --outputs A=a.txt B=b.txt
  plainly studio serve simplicity.toml
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, summary: str, *, formats: bool = False) -> argparse.ArgumentParser:
        options = actions.add_parser(name, help=summary, description=summary)
        options.add_argument("project", metavar="PROJECT", type=Path, help="the project's TOML file")
        database = "sqlite:///FILE or postgresql://… (or $PLAINLY_STUDIO_DATABASE)"
        options.add_argument("--database", metavar="URL", help=database)
        if formats:
            add_formats(options)
        return options

    create = action("create", "create a project's database, and its TOML file where there is none yet", formats=True)
    create.add_argument("--outputs", metavar="FILE", nargs="+", action="extend", help="outputs: PATH or NAME=PATH")
    create.add_argument("-t", "--test-set", metavar="NAME", help="a public evaluation set, for example asset/test")
    create.add_argument("--systems", metavar="A,B", type=split_names, help="systems of the set, separated by commas")
    create.add_argument("--source", metavar="FILE", help="the sources, one per line")
    create.add_argument("--task", choices=("rating", "operations", "ranking"), help="what people do (default: rating)")
    create.add_argument("--protocol", metavar="NAME", help="sulem-2018, tradeoff-2018 or direct-assessment")
    create.add_argument("--items", type=number("--items"), metavar="N", help="draw N sources at random")
    create.add_argument("--overlap", type=number("--overlap"), metavar="N", help="people for each item (default: 2)")
    create.add_argument("--demo", action="store_true", help="use the small data set that comes with plainly")

    serve = action("serve", "serve the project's pages")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    serve.add_argument("--port", type=number("--port", "port"), default=8000, help="port to listen on (default: 8000)")
    serve.add_argument("--expose", action="store_true", help="allow an address that other machines can reach")
    serve.add_argument("--public-url", default="", metavar="URL", help="the URL of a proxy in front")

    invite = action("invite", "make links for raters or owners", formats=True)
    invite.add_argument("--kind", choices=("person", "crowd", "owner"), default="person", help="who gets the link")
    invite.add_argument("--label", default="", help="a note for yourself; never exported")
    invite.add_argument("--once", action="store_true", help="a personal link that works only once")
    invite.add_argument("-n", dest="count", type=number("-n"), default=1, metavar="N", help="how many links")

    export = action("export", "write the data collected so far")
    lists = "people.csv, prolific-approve.csv, prolific-reject.csv, prolific-bonus.csv, mturk.csv"
    formats = f"csv, jsonl, parquet, aln (a zip), entries.jsonl (everything), or a list for payment: {lists}"
    export.add_argument("--format", default="csv", help=formats)
    export.add_argument("--force", action="store_true", help="overwrite a file that plainly did not write")
    export.add_argument("-o", "--output", default="-", metavar="FILE", help="file to write (default: standard output)")

    load = action("import", "create a project from a public set, or from a table of ratings", formats=True)
    load.add_argument("name", metavar="NAME", help="asset/ratings, assetann/annotations, simplicity-da/ratings …")
    for linking in (create, invite, load):
        linking.add_argument("--public-url", metavar="URL", help="what links begin with (default: local, port 8000)")

    action("status", "show progress, agreement and conspicuous raters", formats=True)
    move = action("move", "move a running study to another database, as from SQLite to PostgreSQL", formats=True)
    move.add_argument("target", metavar="NEW", help="the new database: postgresql://… or sqlite:///FILE")
    backup = action("backup", "copy a SQLite project while it runs")
    backup.add_argument("--force", action="store_true", help="overwrite a file that plainly did not write")
    backup.add_argument("output", metavar="FILE", type=Path, help="file for the copy")


def run(args: argparse.Namespace) -> int:
    """Run the action; return the exit status."""
    options: dict[str, Any] = {
        name: value for name, value in vars(args).items() if name != "command_line" and value is not None
    }
    action, project = options.pop("action"), options.pop("project")
    strict, form = options.pop("strict", False), options.pop("format", None)
    if action in ("export", "backup") and str(args.output) != "-":
        files = [project, *(project.with_suffix(suffix) for suffix in (".db", ".secret") if project.name)]
        is_forced = options.pop("force")
        check_target(args.output, inputs=files, force=is_forced)
        if action == "backup" and args.output.name:
            check_target(args.output.with_suffix(".secret"), inputs=files, force=is_forced)
    if action == "export":
        content = plainly_studio.export(project, form, database=args.database)
        if args.output == "-":
            sys.stdout.buffer.write(content)
        else:
            write_whole(args.output, content)
            say_written(args.output)
        return 0
    if action == "serve":
        options["ready"] = say
    elif action in ("create", "import"):
        options["progress"] = bar
    result = getattr(plainly_studio, "import_set" if action == "import" else action)(project, **options)
    if action == "backup":
        for copy in filter(Path.is_file, (args.output, args.output.with_suffix(".secret"))):
            record_written(copy)
            say_written(copy)
    warnings = 0 if action in ("serve", "backup") else show(result, form)
    return int(strict and warnings > 0)
