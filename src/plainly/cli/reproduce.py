"""``plainly reproduce``: a paper's tables computed again, cell by cell, beside the published ones."""

import argparse

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.questions.reproduce import RecipeOptions, recipes, reproduce
from plainly.render.show import add_formats
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "reproduce", seed={"default": RecipeOptions.seed}, trials={"default": RecipeOptions.trials})
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    if args.list or args.name is None:
        return recipes()
    options = {name: getattr(args, name) for name in ("outputs", "figures", "seed", "trials", "processes")}
    reproduction = reproduce(args.name, tables=args.table, progress=bar, **options)
    return reproduction.summary() if args.summary else reproduction
