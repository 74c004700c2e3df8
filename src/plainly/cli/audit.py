"""``plainly audit``: attack what systems wrote, and see which metrics are fooled."""

import argparse

from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.engines import engine
from plainly.errors import BadInput
from plainly.questions.audit import audit
from plainly.questions.audit.catalogue import listing
from plainly.questions.audit.sweep import LEVELS, SEED
from plainly.questions.audit.tabulation import DEFAULT_TABLES, TABLES
from plainly.render.show import add_formats
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    inputs.add_metrics(parser)
    names = f"all, or names between commas: {', '.join(TABLES)} ({','.join(DEFAULT_TABLES)})"
    options.add(
        parser,
        "audit",
        levels={"type": _levels, "default": LEVELS},
        seed={"default": SEED},
        tables={"default": DEFAULT_TABLES, "help": names},
    )
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    if args.list:
        return listing()
    for directory in (args.plots, args.out):
        if directory is not None and not directory.is_dir():
            raise BadInput(f"There is no directory {directory}. Make it first: mkdir {directory}")
    texts = inputs.read(args)
    result = audit(
        texts,
        metrics=inputs.chosen_metrics(args, texts),
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
    return result


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part.strip().rstrip("%")) / 100 for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"percentages between commas, such as 10,50,100; not {text!r}") from None
