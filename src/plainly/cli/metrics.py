"""``plainly metrics``: list the metrics, describe one, or show why its variants differ."""

import argparse

from plainly.cli import options
from plainly.core.errors import BadInput
from plainly.core.result import Result
from plainly.metrics.evidence import KINDS

HELP = """\
List the metrics, describe one, or show on your own files why its variants differ.

  plainly metrics
  plainly metrics sari
  plainly metrics quality --kind language-models
  plainly metrics sari --explain -t turkcorpus/test ACCESS
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="METRIC", help="the metric to describe")
    parser.add_argument("--explain", action="store_true", help="compute every variant on the given files, side by side")
    parser.add_argument(
        "--kind", choices=KINDS, help="agreement with people on outputs of this kind alone (default: of all kinds)"
    )
    options.add_texts(parser)
    options.add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.scoring.explain import describe, explain

    if not args.explain:
        return describe(args.name, kind=args.kind)
    if args.name is None:
        raise BadInput("Which metric should be explained? For example: plainly metrics sari --explain --demo")
    if not (args.test_set or args.source or args.references or args.table or args.systems):
        args.demo = True
    return explain(args.name, options.read_arguments(args))
