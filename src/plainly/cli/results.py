"""``plainly results``: the result of a human evaluation."""

import argparse

from plainly.cli import options
from plainly.core.progress import bar
from plainly.core.result import Result

HELP = """\
Which system do people find better? Systems in order on each dimension, with intervals and tests over items and raters.

  plainly results study.toml
  plainly results ratings.csv --dimension simplicity --baseline ours
  plainly results simplicity-da --all
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_ratings(parser)
    add = parser.add_argument_group("what to ask").add_argument
    add("--dimension", action="append", metavar="NAME", help="which dimension (all); repeatable")
    add("--baseline", metavar="SYSTEM", help="compare every system with this one, not all with each other")
    add("--all", dest="agreement", action="store_true", help="all figures of agreement, not only the recommended one")
    options.add_sampling(parser, method=False)
    options.add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.people.results import results

    return results(
        options.read_rated(args),
        dimensions=args.dimension or (),
        agreement=args.agreement,
        baseline=args.baseline,
        sampling=options.sampling(args),
        progress=bar,
    )
