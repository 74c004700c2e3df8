"""``plainly doctor``: what is wrong with the input."""

import argparse

from plainly.cli import options
from plainly.cli.show import show
from plainly.core.progress import bar

HELP = """\
Find faults in a test set and in the outputs of systems.

  plainly doctor -t turkcorpus/test-legacy Dress
  plainly doctor --source src.txt --references 'ref.*.txt' -- A.txt
  plainly doctor --source src.txt mine.jsonl --fix cleaned/
  plainly doctor -t asset/test all --details
  plainly doctor --explain misaligned

Exit status 0 when nothing was found, 1 when something was.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser, metrics=True)
    add = parser.add_argument
    add("--details", action="store_true", help="list every warning; more than 20 are summarised otherwise")
    add("--explain", metavar="CODE", help="explain a code and what to do about it")
    add("--fix", metavar="DIR", help="write copies without what language models add, and a list of changes, there")
    add("--list", action="store_true", help="list all codes")
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> int:
    from plainly import data, io
    from plainly.checks.doctor import doctor, explain
    from plainly.io.texts import Texts, with_language

    if args.list or args.explain is not None:
        show(explain(*(() if args.list else (args.explain,))), args.format)
        return 0
    if args.systems or not (args.test_set or (args.source and args.references)):
        texts = options.read_arguments(args)
    else:  # a test set without outputs, which other commands refuse
        files = {"source": args.source, "references": args.references, "groups": args.groups}
        evalset = data.load(args.test_set, progress=bar) if args.test_set else io.read_evalset(**files)
        texts = with_language(Texts(evalset, {}), args.language)
    metrics = options.resolve_metrics(args, texts) if args.metrics is not None else {}
    diagnosis = doctor(texts, metrics=list(metrics), fix=args.fix, force=args.force, details=args.details)
    show(diagnosis, args.format)
    return 1 if diagnosis.warnings else 0
