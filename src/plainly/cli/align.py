"""``plainly align``: which sentences of an output belong to which of the source."""

import argparse

from plainly.cli import inputs, options
from plainly.questions.align import align
from plainly.render.show import add_formats, show

HELP = options.help_text("align")


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    options.add(parser, "align")
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    options.check_targets(args, args.save)
    settings = {"encoder": not args.words, "save": args.save}
    if args.against is not None:
        alignments = align(against=args.against, **settings)
    else:
        alignments = align(inputs.read(args), **settings)
    show(alignments, args.format)
    return 0
