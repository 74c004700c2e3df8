"""``plainly metrics``: which metrics there are, what one of them means, and why variants of one name differ."""

import argparse

from plainly.cli import inputs, options
from plainly.errors import BadInput
from plainly.render.show import add_formats
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "metrics")
    options.add(parser, "inputs")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.questions.explain import describe, explain

    if not args.explain:
        return describe(args.name)
    if args.name is None:
        raise BadInput("Which metric should be explained? For example: plainly metrics sari --explain --demo")
    if not (args.test_set or args.source or args.references or args.table or args.systems):
        args.demo = True
    return explain(args.name, inputs.read(args))
