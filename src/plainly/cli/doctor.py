"""``plainly doctor``: what is wrong with the input."""

import argparse

from plainly.cli import inputs, options
from plainly.inputs.texts import Inputs, spoken
from plainly.questions.doctor import doctor, explain
from plainly.render.show import add_formats, show


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    inputs.add_metrics(parser)
    options.add(parser, "doctor")
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.list or args.explain is not None:
        show(explain(*(() if args.list else (args.explain,))), args.format)
        return 0
    texts = _read(args)
    specs = inputs.chosen_metrics(args, texts) if args.metrics else ()
    diagnosis = doctor(texts, metrics=specs, fix=args.fix, force=args.force)
    show(diagnosis, args.format)
    return 1 if diagnosis.warnings else 0


def _read(args: argparse.Namespace) -> Inputs:
    """As every command reads, but a set can be looked at without outputs."""
    if args.test_set is not None and not args.systems:
        from plainly import data
        from plainly.cli.progress import bar

        return spoken(Inputs(data.load(args.test_set, progress=bar), {}), args.language)
    if not args.systems and args.source and args.references:
        from plainly.inputs import read_evalset

        evalset = read_evalset(source=args.source, references=args.references, groups=args.groups)
        return spoken(Inputs(evalset, {}), args.language)
    return inputs.read(args)
