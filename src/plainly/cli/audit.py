"""``plainly audit``: attack what systems wrote, and see which metrics are fooled."""

from __future__ import annotations

import argparse
from pathlib import Path

from plainly.cli import inputs
from plainly.cli.progress import bar
from plainly.engines import engine
from plainly.errors import BadInput
from plainly.questions.audit import audit
from plainly.questions.audit.catalogue import listing
from plainly.questions.audit.sweep import LEVELS, SEED, TRIALS
from plainly.questions.audit.tabulation import DEFAULT_TABLES, TABLES
from plainly.render.show import add_formats, show

HELP = """Find out whether metrics can be fooled: attack a share of the outputs and watch every metric.

  plainly audit --demo
  plainly audit -t asset/test -m sari,bleu,fkgl ACCESS Dress-Ls Hybrid
  plainly audit -t asset/test -m 'command(run=./my_metric.py)' --attacks paper ACCESS Dress-Ls
  plainly audit --list
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    inputs.add_metrics(parser)
    attacks = parser.add_argument_group("attacks")
    attacks.add_argument("--list", action="store_true", help="the attacks, and what a sound metric makes of them")
    which = "all, paper (the six of Tanprasert & Kauchak 2021), or names between commas (all)"
    attacks.add_argument("--attacks", default="all", metavar="NAMES", help=which)
    shares = "shares of outputs to attack (10,20,…,100)"
    attacks.add_argument("--levels", type=_levels, default=LEVELS, metavar="PERCENT,…", help=shares)
    attacks.add_argument(
        "--trials", type=int, default=TRIALS, metavar="N", help=f"repetitions of each attack ({TRIALS})"
    )
    attacks.add_argument("--seed", type=int, default=SEED, help=f"seed of the trials ({SEED}), kept in the results")
    attacks.add_argument("--processes", type=int, metavar="N", help="how many to use; results are the same (all cores)")
    attacks.add_argument("--engine", choices=("local", "ray"), default="local", help="where trials are done (local)")
    attacks.add_argument("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    shown = parser.add_argument_group("what to show")
    names = f"all, or names between commas: {', '.join(TABLES)} ({','.join(DEFAULT_TABLES)})"
    shown.add_argument("--tables", default=DEFAULT_TABLES, metavar="NAMES", help=names)
    shown.add_argument("--intervals", action="store_true", help="show where 95 %% of the trials lie, in levels")
    drawn = "draw every metric of every system there, as SVG and PNG"
    shown.add_argument("--plots", type=Path, metavar="DIR", help=drawn)
    shown.add_argument("--out", type=Path, metavar="DIR", help="write all tables there, as CSV and Markdown")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.list:
        show(listing(), args.format)
        return 0
    for directory in (args.plots, args.out):
        if directory is not None and not directory.is_dir():
            raise BadInput(f"There is no directory {directory}. Make it first: mkdir {directory}")
    texts = inputs.read(args)
    result = audit(
        texts,
        metrics=inputs.chosen_metrics(args, references=texts.has_references),
        attacks=args.attacks,
        levels=args.levels,
        trials=args.trials,
        seed=args.seed,
        engine=engine(args.engine, processes=args.processes, address=args.address),
        tables=args.tables,
        intervals=args.intervals,
        progress=bar,
    )
    if args.plots is not None:
        result.draw(args.plots)
    if args.out is not None:
        result.write(args.out)
    show(result, args.format)
    return 0


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part.strip().rstrip("%")) / 100 for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"percentages between commas, such as 10,50,100; not {text!r}") from None
