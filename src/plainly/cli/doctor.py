"""``plainly doctor``: what is wrong with the input."""

import argparse

from plainly.checks.doctor import doctor, explain
from plainly.cli import options
from plainly.cli.show import show
from plainly.io.texts import Texts, with_language

HELP = """\
Find faults in a test set and in the outputs of systems.

  plainly doctor -t turkcorpus/test-legacy Dress
  plainly doctor --source src.txt --references 'ref.*.txt' -- A.txt
  plainly doctor --source src.txt mine.jsonl --fix cleaned/
  plainly doctor --explain misaligned

Exit status 0 when nothing was found, 1 when something was.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser, metrics=True)
    add = parser.add_argument
    add("--explain", metavar="CODE", help="explain a code and what to do about it")
    add(
        "--fix",
        metavar="DIR",
        help="write copies without the text that language models add to answers, and a list of changes, into DIR",
    )
    add("--list", action="store_true", help="list all codes")
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> int:
    if args.list or args.explain is not None:
        show(explain(*(() if args.list else (args.explain,))), args.format)
        return 0
    texts = _read(args)
    metrics = options.resolve_metrics(args, texts) if args.metrics is not None else {}
    diagnosis = doctor(texts, metrics=list(metrics), fix=args.fix, force=args.force)
    show(diagnosis, args.format)
    return 1 if diagnosis.warnings else 0


def _read(args: argparse.Namespace) -> Texts:
    """Read texts as other commands do, but allow a test set without outputs."""
    if args.test_set is not None and not args.systems:
        from plainly import data
        from plainly.core.progress import bar

        return with_language(Texts(data.load(args.test_set, progress=bar), {}), args.language)
    if not args.systems and args.source and args.references:
        from plainly.io import read_evalset

        evalset = read_evalset(source=args.source, references=args.references, groups=args.groups)
        return with_language(Texts(evalset, {}), args.language)
    return options.read_arguments(args)
