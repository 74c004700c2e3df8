"""``plainly data``: list, describe and download public data sets."""

import argparse

from plainly.cli import options
from plainly.core.errors import BadInput
from plainly.core.progress import bar
from plainly.core.result import Result

HELP = "list, describe and download public test sets, system outputs and ratings"


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="all data sets, one per line")
    listing.add_argument(
        "--kind",
        choices=("evalset", "outputs", "ratings", "annotations", "levels", "words"),
        help="only data sets of this kind",
    )

    info = actions.add_parser("info", help="describe a data set: origin, licence, and systems with outputs")
    info.add_argument("name", metavar="NAME", help="for example asset/test")

    get = actions.add_parser("get", help="download data sets into the cache and check every file")
    get.add_argument("names", metavar="NAME", nargs="*", help="for example asset/test")
    get.add_argument("--all", action="store_true", help="every data set (about 30 MB)")
    get.add_argument("--with-outputs", action="store_true", help="and all system outputs for the named test sets")

    for action in (listing, info, get):
        options.add_formats(action)


def run(args: argparse.Namespace) -> Result:
    from plainly import data

    if args.action == "list":
        return data.catalogue(args.kind)
    if args.action == "info":
        return data.describe(args.name)
    if not args.names and not args.all:
        raise BadInput("Name the data sets to fetch, or pass --all. See: plainly data list")
    names = data.names() if args.all else args.names
    return data.get(*names, with_outputs=args.with_outputs, progress=bar)
