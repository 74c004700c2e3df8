"""``plainly grid``: systems × test sets × metrics × seeds from one file."""

import argparse

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.questions.grid import grid
from plainly.render.show import add_formats, show

HELP = options.help_text("grid")


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "grid")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    where = {name: getattr(args, name) for name in ("engine", "processes", "address")}
    show(grid(args.config, restart=args.restart, progress=bar, **where), args.format)
    return 0
