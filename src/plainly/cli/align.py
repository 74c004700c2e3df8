"""``plainly align``: which sentences of an output belong to which of the source."""

import argparse

from plainly.cli import inputs, options
from plainly.questions.align import align
from plainly.render.show import add_formats
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    options.add(parser, "align")
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    options.check_targets(args, args.save)
    settings = {"encoder": not args.words, "save": args.save}
    if args.against is not None:
        return align(against=args.against, **settings)
    return align(inputs.read(args), **settings)
