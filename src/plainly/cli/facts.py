"""``plainly facts``: what happened to numbers, names, negations and claims."""

import argparse

from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.fidelity.head import MODEL
from plainly.files import read_whole
from plainly.inputs.lines import decode, split_lines
from plainly.inputs.texts import Inputs, take
from plainly.questions.facts import facts
from plainly.render.show import add_formats
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    options.add(parser, "facts")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    return facts(
        _read(args),
        ignore=_ignored(args),
        parser=args.parser,
        model=None if args.rules else MODEL,
        least=args.least,
        progress=bar,
    )


def _read(args: argparse.Namespace) -> Inputs:
    """Two texts on the command line, or whatever the other commands read."""
    if args.pair is None:
        return inputs.read(args)
    if args.systems or args.test_set or args.source or args.table or args.demo:
        raise BadInput("--pair takes two texts and nothing beside them.")
    return take(sources=args.pair[:1], outputs=args.pair[1:])


def _ignored(args: argparse.Namespace) -> list[str]:
    words = list(args.ignore)
    if args.ignore_list:
        lines = split_lines(decode(read_whole(args.ignore_list), args.ignore_list))
        words += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return words
