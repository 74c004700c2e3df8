"""``plainly field``: every public output, scored and doubted in one way, as a small site."""

import argparse

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.registry import split_specs
from plainly.render.show import add_formats
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "field")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.pages.field import field

    return field(
        args.sets or None,
        out=args.out,
        metrics=split_specs(args.metrics) if args.metrics else None,
        papers=() if args.no_papers else None,
        newsela=args.newsela,
        cache=args.cache,
        restart=args.restart,
        processes=args.processes,
        progress=bar,
    )
