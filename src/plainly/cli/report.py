"""``plainly report``: one page to read and share, and figures and tables for a paper."""

import argparse
from typing import Any

from plainly.cli import options
from plainly.core.errors import BadInput
from plainly.core.progress import bar
from plainly.core.result import Result
from plainly.metrics.evidence import KINDS

HELP = """\
Make a report: one HTML file that needs no network, with scores, plots and every item.

  plainly report --demo -o demo.html
  plainly report -t asset/test ACCESS Dress mine.txt -o asset.html
  plainly report --source src.txt --references 'ref.*.txt' -o mine.html -- A.txt B.txt
  plainly report scores.npz -o scores.html
  plainly report --demo --figures figures/
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser, metrics=True)
    options.add_calls(parser)
    parser.add_argument("--saved", metavar="FILE", help="scores of plainly score --save, with the texts or without")
    add = parser.add_argument_group("files to write").add_argument
    add("-o", "--out", metavar="FILE", help="the page (report.html, unless only --figures is passed)")
    add("--figures", metavar="DIR", help="plots as SVG, PDF, PNG; tables, methods paragraph and BibTeX")
    add("--title", default="", help="the title of the page")
    add = parser.add_argument_group("what to include").add_argument
    add(
        "--ratings",
        metavar="FILE",
        help="human ratings of these outputs: a study, an export, a table, or a public set's name",
    )
    add("--labeller", default="rules", metavar="NAME", help="what labels operations (rules); none: no labels")
    kind = "who wrote the outputs: shows the agreement of learned scores with people on such outputs alone"
    add("--kind", choices=KINDS, help=kind)
    add("--no-audit", action="store_true", help="do not attack the metrics")
    options.add_sampling(parser, method=False)
    options.add_formats(parser, force=True)


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
        kind=args.kind,
        sampling=options.sampling(args),
        progress=bar,
    )


def _data(args: argparse.Namespace) -> dict[str, Any]:
    """Return texts to score, or saved scores, with their texts if these are named too."""
    from plainly.scoring.score_file import open_saved

    score_files = [name for name in args.systems if name.endswith(".npz")]
    if args.saved is None and score_files:  # as compare takes them
        args.saved = score_files[0]
        args.systems = [name for name in args.systems if name != args.saved]
    if args.saved is None:
        texts = options.read_arguments(args)
        return {"data": texts, "metrics": options.resolve_metrics(args, texts)}
    if args.metrics:
        raise BadInput("Saved scores have their metrics; leave out -m, or leave out --saved to score again.")
    if not (args.test_set or args.demo or args.source or args.references or args.table or args.systems):
        return {"data": open_saved(args.saved)}
    texts = options.read_arguments(args)
    return {"data": open_saved(args.saved), "evalset": texts.evalset, "outputs": texts.outputs}
