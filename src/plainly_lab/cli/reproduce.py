"""``plainly reproduce``: a paper's tables computed again, cell by cell, beside the published ones."""

import argparse

from plainly.cli.options import add_formats, number
from plainly.core.progress import bar
from plainly.core.result import Result

SUMMARY = "compute the tables of a paper again"
HELP = """\
Compute the tables of a paper again and show them beside the published ones.

  plainly reproduce --list
  plainly reproduce assetann
  plainly reproduce assetann --table 4 --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    from plainly_lab.reproductions import RecipeOptions

    parser.add_argument("name", nargs="?", metavar="PAPER", help="which paper (see --list)")
    parser.add_argument("--list", action="store_true", help="list the papers that can be reproduced")
    parser.add_argument("--table", action="append", metavar="N", help="only this table; may be repeated")
    parser.add_argument("--outputs", metavar="DIR", help="licensed system outputs, where a paper needs them")
    parser.add_argument("--figures", metavar="DIR", help="draw the figures there, where a paper has any")
    seed, trials = RecipeOptions.seed, RecipeOptions.trials
    parser.add_argument("--seed", type=number("--seed", "seed"), default=seed, help="random seed (%(default)s)")
    parser.add_argument(
        "--trials",
        type=number("--trials"),
        metavar="N",
        default=trials,
        help="repetitions, where a paper has any (%(default)s)",
    )
    parser.add_argument("--processes", type=number("--processes"), metavar="N", help="number of processes (all cores)")
    parser.add_argument("--summary", action="store_true", help="show verdicts by table, without the cells")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly_lab.reproductions import recipes, reproduce

    if args.list or args.name is None:
        return recipes()
    reproduction = reproduce(
        args.name,
        tables=args.table,
        outputs=args.outputs,
        figures=args.figures,
        seed=args.seed,
        trials=args.trials,
        processes=args.processes,
        progress=bar,
    )
    return reproduction.summary() if args.summary else reproduction
