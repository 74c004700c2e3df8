"""``plainly audit``: attack outputs, and report which metrics are fooled."""

import argparse
from pathlib import Path

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import say_written
from plainly.core.errors import BadInput
from plainly.core.limits import cores
from plainly.core.progress import bar
from plainly.core.result import Result
from plainly.core.sampling import DEFAULTS

HELP = """\
Find out whether metrics can be fooled: attack a share of the outputs and watch every metric.

  plainly audit --demo --quick
  plainly audit -t asset/test -m sari,bleu,fkgl ACCESS Dress-Ls Hybrid
  plainly audit -t asset/test -m 'command(run=./my_metric.py)' --attacks paper ACCESS Dress-Ls
  plainly audit --list
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser, metrics=True)
    options.add_calls(parser)
    add = parser.add_argument_group("attacks").add_argument
    add("--list", action="store_true", help="list the attacks, and how a sound metric reacts to them")
    attacks = "all (default), paper (the six of Tanprasert & Kauchak 2021), judge (for language models), or names"
    add("--attacks", default="all", metavar="NAMES", help=attacks)
    add("--levels", type=_levels, metavar="PERCENT,…", help="shares of outputs to attack (10,20,…,100)")
    add("--trials", type=number("--trials"), metavar="N", help="trials of each attack (100; 5 with learned metrics)")
    add("--quick", action="store_true", help="a first look in seconds: at most 400 items, each rewritten once")
    add("--seed", type=number("--seed", "seed"), default=DEFAULTS["seed"], help="seed of the trials (%(default)s)")
    add("--processes", type=number("--processes"), metavar="N", help="number of workers (all cores; 1 with --quick)")
    add("--engine", choices=("local", "ray"), default="local", help="where trials are run (local)")
    add("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    add = parser.add_argument_group("what to show").add_argument
    tables = "all, or some of gameability, items, points, flips, overview, levels, parts, form (gameability,flips)"
    add("--tables", metavar="NAMES", default=("gameability", "flips"), help=tables)
    add("--intervals", action="store_true", help="show where 95 %% of the trials lie, in levels")
    add("--plots", type=Path, metavar="DIR", help="draw every metric of every system there, as SVG and PNG")
    add("--out", type=Path, metavar="DIR", help="write all tables there, as CSV and Markdown")
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> Result:
    from plainly.auditing import audit
    from plainly.auditing.attacks import list_attacks
    from plainly.auditing.sweep import LEVELS

    if args.list:
        return list_attacks()
    for directory in (args.plots, args.out):
        if directory is not None and not directory.is_dir():
            raise BadInput(f"There is no directory {directory}. Make it first: mkdir {directory}")
    texts = options.read_arguments(args)
    result = audit(
        texts,
        metrics=options.resolve_metrics(args, texts),
        attacks=args.attacks,
        levels=args.levels or LEVELS,
        trials=args.trials,
        seed=args.seed,
        quick=args.quick,
        engine=args.engine,
        processes=args.processes or (1 if args.quick else cores()),
        address=args.address,
        tables=args.tables,
        intervals=args.intervals,
        progress=bar,
    )
    if args.plots is not None:
        from plainly.reporting.curves import save_attacks

        say_written(*save_attacks(result, args.plots))
    if args.out is not None:
        result.write(args.out)
        say_written(f"all tables to {args.out}")
    return result


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part.strip().rstrip("%")) / 100 for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"percentages separated by commas, such as 10,50,100; not {text!r}") from None
