"""``plainly agreement``: how far raters agree, and who deviates."""

import argparse

from plainly.cli import options
from plainly.core.result import Result

HELP = """\
How far do raters agree, and who deviates? Every suitable coefficient, with intervals over the rated items.

  plainly agreement ratings.csv
  plainly agreement study.toml --dimension simplicity
  plainly agreement simplicity-da --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_ratings(parser)
    parser.add_argument("--dimension", action="append", metavar="NAME", help="which dimension (all); repeatable")
    options.add_sampling(parser)
    options.add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.people.meta_evaluation import agreement

    return agreement(options.read_rated(args), dimensions=args.dimension or (), sampling=options.sampling(args))
