"""``plainly grid``: systems × test sets × metrics × seeds from one file."""

import argparse

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.questions.grid import grid
from plainly.render.show import add_formats
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "grid")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    where = {name: getattr(args, name) for name in ("engine", "processes", "address")}
    return grid(args.config, restart=args.restart, progress=bar, **where)
