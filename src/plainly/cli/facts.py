"""``plainly facts``: what happened to numbers, names, negations and claims."""

import argparse
from pathlib import Path

from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.fidelity.head import MODEL
from plainly.inputs.texts import Inputs, take
from plainly.questions.facts import facts
from plainly.render.show import add_formats, show

HELP = options.help_text("facts")


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    options.add(parser, "facts")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    checked = facts(
        _read(args),
        ignore=_ignored(args),
        parser=args.parser,
        model=None if args.rules else MODEL,
        least=args.least,
        progress=bar,
    )
    return int(show(checked, args.format) > 0 and args.strict)


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
        lines = Path(args.ignore_list).read_text(encoding="utf-8").splitlines()
        words += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return words
