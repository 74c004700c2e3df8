"""``plainly report``: one page to look at and pass on, and figures and tables for a paper."""

import argparse
from typing import Any

from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.cli.show import add_formats
from plainly.core.errors import BadInput
from plainly.core.result import Result
from plainly.scoring.score_file import open_saved

HELP = """\
Make a report: one HTML file that needs no network, with scores, plots and every item.

  plainly report --demo -o demo.html
  plainly report -t asset/test ACCESS Dress mine.txt -o asset.html
  plainly report --source src.txt --references 'ref.*.txt' -o mine.html -- A.txt B.txt
  plainly report scores.npz -o scores.html
  plainly report --demo --figures figures/
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    inputs.add_metrics(parser)
    parser.add_argument(
        "--saved", metavar="FILE", help="scores saved by plainly score --save; with the texts or without"
    )
    group = parser.add_argument_group("what to write")
    group.add_argument("-o", "--out", metavar="FILE", help="the page (report.html, unless only figures are asked for)")
    group.add_argument("--figures", metavar="DIR", help="plots as SVG, PDF, PNG; tables, methods paragraph and BibTeX")
    group.add_argument("--title", default="", help="the title of the page")
    group = parser.add_argument_group("what to say")
    group.add_argument(
        "--ratings", metavar="FILE", help="human ratings of these outputs: a table, or a public set's name"
    )
    group.add_argument(
        "--labeller", default="rules", metavar="NAME", help="who labels operations (rules); none: nobody"
    )
    group.add_argument("--no-audit", action="store_true", help="do not try tricks on the metrics")
    options.add_sampling(parser, method=False)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.reporting.report import report

    page = args.out or (None if args.figures else "report.html")
    options.check_targets(args, page)
    return report(
        **_data(args),
        title=args.title,
        labeller=None if args.labeller == "none" else args.labeller,
        audit=not args.no_audit,
        ratings=args.ratings,
        out=page,
        figures=args.figures,
        command=args.command_line,
        sampling=options.sampling(args),
        progress=bar,
    )


def _data(args: argparse.Namespace) -> dict[str, Any]:
    """Texts to score, or scores that were saved, with their texts where these are named too."""
    saved = [name for name in args.systems if name.endswith(".npz")]
    if args.saved is None and saved:  # as compare takes them
        args.saved = saved[0]
        args.systems = [name for name in args.systems if name != args.saved]
    if args.saved is None:
        texts = inputs.read_arguments(args)
        return {"data": texts, "metrics": inputs.resolve_metrics(args, texts)}
    if args.metrics:
        raise BadInput("Saved scores have their metrics; leave out -m, or leave out --saved to score again.")
    if not (args.test_set or args.demo or args.source or args.references or args.table or args.systems):
        return {"data": open_saved(args.saved)}
    texts = inputs.read_arguments(args)
    return {"data": open_saved(args.saved), "evalset": texts.evalset, "outputs": texts.outputs}
