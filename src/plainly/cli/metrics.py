"""``plainly metrics``: which metrics there are, what one of them means, and why variants of one name differ."""

from __future__ import annotations

import argparse

from plainly.cli import inputs
from plainly.errors import BadInput
from plainly.render.show import add_formats, show

HELP = """List the metrics, describe one, or show on your own files why its variants differ.

  plainly metrics
  plainly metrics sari
  plainly metrics sari --explain -t turkcorpus/test ACCESS
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="METRIC", help="the metric to describe")
    inputs.add_arguments(parser)
    parser.add_argument("--explain", action="store_true", help="compute every variant on the given files, side by side")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    from plainly.questions.explain import describe, explain

    if not args.explain:
        show(describe(args.name), args.format)
        return 0
    if args.name is None:
        raise BadInput("Which metric should be explained? For example: plainly metrics sari --explain --demo")
    if not (args.test_set or args.source or args.references or args.table or args.systems):
        args.demo = True
    show(explain(args.name, inputs.read(args)), args.format)
    return 0
