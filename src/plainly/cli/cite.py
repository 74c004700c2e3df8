"""``plainly cite``: BibTeX for plainly, and for the metrics, data and models that a result used."""

import argparse

from plainly.cli import options
from plainly.core.result import Result

HELP = """\
Print BibTeX for plainly, and for exactly the metrics, data, models and statistics that saved results used.

  plainly cite
  plainly score -t asset/test -m sari,bleu ACCESS --json > result.json
  plainly cite result.json > references.bib
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", nargs="*", metavar="RESULT", help="what a command printed with --json, a file of score --save, or -"
    )
    options.add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.scoring.citations import cite

    return cite(args.results)
