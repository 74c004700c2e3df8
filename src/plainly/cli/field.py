"""``plainly field``: every public output, scored and doubted in one way, as a small site."""

import argparse

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.registry import split_specs
from plainly.render.show import add_formats, show

HELP = options.help_text("field")


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "field")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    from plainly.pages.field import field

    result = field(
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
    return int(show(result, args.format) > 0 and args.strict)
