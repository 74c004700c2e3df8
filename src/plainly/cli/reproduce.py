"""``plainly reproduce``: a paper's tables computed again, cell by cell, beside the published ones."""

from __future__ import annotations

import argparse

from plainly.cli.progress import bar
from plainly.questions.reproduce import RecipeOptions, recipes, reproduce
from plainly.render.show import add_formats, show

HELP = """Compute the tables of a paper again and show them beside the published ones.

  plainly reproduce --list
  plainly reproduce assetann
  plainly reproduce assetann --table 4 --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="PAPER", help="which paper (see --list)")
    parser.add_argument("--list", action="store_true", help="the papers that can be reproduced")
    parser.add_argument("--table", action="append", metavar="N", help="only this table; may be repeated")
    parser.add_argument("--outputs", metavar="DIR", help="licensed system outputs, where a paper needs them")
    parser.add_argument("--figures", metavar="DIR", help="draw the figures there, where a paper has any")
    seed, trials = RecipeOptions.seed, RecipeOptions.trials
    parser.add_argument("--seed", type=int, default=seed, help=f"seed of whatever is drawn ({seed})")
    parser.add_argument(
        "--trials", type=int, default=trials, metavar="N", help=f"repetitions, where a paper has any ({trials})"
    )
    parser.add_argument("--processes", type=int, metavar="N", help="how many to use (all cores)")
    parser.add_argument("--summary", action="store_true", help="verdicts by table, without the cells")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.list or args.name is None:
        show(recipes(), args.format)
        return 0
    options = {name: getattr(args, name) for name in ("outputs", "figures", "seed", "trials", "processes")}
    reproduction = reproduce(args.name, tables=args.table, progress=bar, **options)
    show(reproduction.summary() if args.summary else reproduction, args.format)
    return 0
