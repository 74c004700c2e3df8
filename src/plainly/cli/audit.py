"""``plainly audit``: attack what systems wrote, and see which metrics are fooled."""

import argparse
from pathlib import Path

from plainly.auditing import audit
from plainly.auditing.attacks import listing
from plainly.auditing.outcome import DEFAULT_TABLES, TABLES
from plainly.auditing.sweep import LEVELS, SEED
from plainly.cli import inputs
from plainly.cli.options import number
from plainly.cli.progress import bar
from plainly.cli.show import add_formats
from plainly.core.errors import BadInput
from plainly.core.machine import cores
from plainly.core.result import Result

HELP = """\
Find out whether metrics can be fooled: attack a share of the outputs and watch every metric.

  plainly audit --demo
  plainly audit -t asset/test -m sari,bleu,fkgl ACCESS Dress-Ls Hybrid
  plainly audit -t asset/test -m 'command(run=./my_metric.py)' --attacks paper ACCESS Dress-Ls
  plainly audit --list
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    inputs.add_metrics(parser)
    names = f"all, or names between commas: {', '.join(TABLES)} ({','.join(DEFAULT_TABLES)})"
    group = parser.add_argument_group("attacks")
    group.add_argument("--list", action="store_true", help="the attacks, and what a sound metric makes of them")
    group.add_argument(
        "--attacks",
        default="all",
        metavar="NAMES",
        help="all, paper (the six of Tanprasert & Kauchak 2021), or names between commas (all)",
    )
    group.add_argument(
        "--levels", metavar="PERCENT,…", help="shares of outputs to attack (10,20,…,100)", type=_levels, default=LEVELS
    )
    group.add_argument(
        "--trials",
        type=number("--trials"),
        metavar="N",
        help="repetitions of each attack (100; 5 with learned metrics)",
    )
    group.add_argument(
        "--seed",
        type=number("--seed", "seed"),
        help="seed of the trials (%(default)s), kept in the results",
        default=SEED,
    )
    group.add_argument(
        "--processes", type=number("--processes"), metavar="N", help="how many to use; results are the same (all cores)"
    )
    group.add_argument("--engine", choices=("local", "ray"), default="local", help="where trials are done (local)")
    group.add_argument("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    group = parser.add_argument_group("what to show")
    group.add_argument("--tables", metavar="NAMES", default=DEFAULT_TABLES, help=names)
    group.add_argument("--intervals", action="store_true", help="show where 95 %% of the trials lie, in levels")
    group.add_argument(
        "--plots", type=Path, metavar="DIR", help="draw every metric of every system there, as SVG and PNG"
    )
    group.add_argument("--out", type=Path, metavar="DIR", help="write all tables there, as CSV and Markdown")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    if args.list:
        return listing()
    for directory in (args.plots, args.out):
        if directory is not None and not directory.is_dir():
            raise BadInput(f"There is no directory {directory}. Make it first: mkdir {directory}")
    texts = inputs.read_arguments(args)
    result = audit(
        texts,
        metrics=inputs.resolve_metrics(args, texts),
        attacks=args.attacks,
        levels=args.levels,
        trials=args.trials,
        seed=args.seed,
        engine=args.engine,
        processes=args.processes or cores(),
        address=args.address,
        tables=args.tables,
        intervals=args.intervals,
        progress=bar,
    )
    if args.plots is not None:
        from plainly.reporting.curves import save_attacks

        save_attacks(result, args.plots)
    if args.out is not None:
        result.write(args.out)
    return result


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part.strip().rstrip("%")) / 100 for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"percentages between commas, such as 10,50,100; not {text!r}") from None
