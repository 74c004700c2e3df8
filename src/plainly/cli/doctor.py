"""``plainly doctor``: what is wrong with the input."""

import argparse

from plainly.checks.doctor import doctor, explain
from plainly.cli import inputs, options
from plainly.cli.show import add_formats, show
from plainly.io.texts import Texts, with_language

HELP = """\
Look for what is wrong with a test set and with what systems wrote.

  plainly doctor -t turkcorpus/test-legacy Dress
  plainly doctor --source src.txt --references 'ref.*.txt' -- A.txt
  plainly doctor --source src.txt mine.jsonl --fix cleaned/
  plainly doctor --explain misaligned

Exit status 0 when nothing was found, 1 when something was.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    inputs.add_metrics(parser)
    parser.add_argument("--explain", metavar="CODE", help="say what a code means and what to do about it")
    parser.add_argument(
        "--fix",
        metavar="DIR",
        help="write copies without what language models put around answers, and a list of every "
        "change, into DIR; the originals stay as they are",
    )
    parser.add_argument("--list", action="store_true", help="list all codes")
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.list or args.explain is not None:
        show(explain(*(() if args.list else (args.explain,))), args.format)
        return 0
    texts = _read(args)
    metrics = inputs.resolve_metrics(args, texts) if args.metrics else {}
    diagnosis = doctor(texts, metrics=list(metrics), fix=args.fix, force=args.force)
    show(diagnosis, args.format)
    return 1 if diagnosis.warnings else 0


def _read(args: argparse.Namespace) -> Texts:
    """As every command reads, but a set can be looked at without outputs."""
    if args.test_set is not None and not args.systems:
        from plainly import data
        from plainly.cli.progress import bar

        return with_language(Texts(data.load(args.test_set, progress=bar), {}), args.language)
    if not args.systems and args.source and args.references:
        from plainly.io import read_evalset

        evalset = read_evalset(source=args.source, references=args.references, groups=args.groups)
        return with_language(Texts(evalset, {}), args.language)
    return inputs.read_arguments(args)
