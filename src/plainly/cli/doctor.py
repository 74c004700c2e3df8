"""``plainly doctor``: what is wrong with the input."""

from __future__ import annotations

import argparse

from plainly.cli import inputs
from plainly.inputs.texts import Inputs
from plainly.questions.doctor import doctor, explain
from plainly.questions.doctor.language import LANGUAGES
from plainly.render.show import add_formats, show

HELP = """Look for what is wrong with a test set and with what systems wrote.

  plainly doctor -t turkcorpus/test-legacy Dress
  plainly doctor --source src.txt --references 'ref.*.txt' -- A.txt
  plainly doctor --explain misaligned

Exit status 0 when nothing was found, 1 when something was.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    inputs.add_metrics(parser)
    parser.add_argument(
        "--language", metavar="CODE", choices=LANGUAGES, help=f"expected language: {', '.join(LANGUAGES)}"
    )
    parser.add_argument("--explain", metavar="CODE", help="say what a code means and what to do about it")
    parser.add_argument("--list", action="store_true", help="list all codes")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.list or args.explain is not None:
        show(explain(*(() if args.list else (args.explain,))), args.format)
        return 0
    texts = _read(args)
    specs = inputs.chosen_metrics(args, references=bool(texts.evalset.references)) if args.metrics else ()
    diagnosis = doctor(texts, metrics=specs, language=args.language)
    show(diagnosis, args.format)
    return 1 if diagnosis.warnings else 0


def _read(args: argparse.Namespace) -> Inputs:
    """As every command reads, but a set can be looked at without outputs."""
    if args.test_set is not None and not args.systems:
        from plainly import data
        from plainly.cli.progress import bar

        return Inputs(data.load(args.test_set, progress=bar), {})
    if not args.systems and args.source and args.references:
        from plainly.inputs import read_evalset

        return Inputs(read_evalset(source=args.source, references=args.references, groups=args.groups), {})
    return inputs.read(args)
