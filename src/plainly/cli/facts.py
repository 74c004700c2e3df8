"""``plainly facts``: what happened to numbers, names, negations and statements."""

import argparse

from plainly.cli import options
from plainly.cli.options import number
from plainly.core.errors import BadInput
from plainly.core.progress import bar
from plainly.core.result import Result

HELP = """\
Find facts that were changed, negated, added or lost, with the words in both texts.

  plainly facts --pair "It opened in 1985." "It opened in 1885."
  plainly facts -t asset/test ACCESS
  plainly facts --source src.txt -- A.txt B.txt
  plainly facts --demo editor noisy --json

What is lost is not an error in itself: simplification leaves things out on purpose.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser)
    add = parser.add_argument
    add("--pair", nargs=2, metavar=("SOURCE", "OUTPUT"), help="two texts, in quotation marks")
    least = "lowest confidence of the findings listed, 0.2 to 1 (0.5); rates count all findings by their confidence"
    add("--least", type=number("--least", "float"), default=0.5, metavar="SURE", help=least)
    add("--ignore", nargs="+", default=[], metavar="WORD", help="words or patterns to ignore: NATO, '[A-Z]{2,}'")
    add("--ignore-list", metavar="FILE", help="the same, one per line")
    add("--parser", default="", metavar="PIPELINE", help="find names with spaCy: spacy, or the name of a pipeline")
    add("--rules", action="store_true", help="rules alone: ten times as fast, but the risk leaves out the model")
    options.add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.factcheck.facts import facts
    from plainly.factcheck.pairs import MODEL
    from plainly.io.files import read_lines
    from plainly.io.texts import TextArguments

    lines = read_lines(args.ignore_list) if args.ignore_list else ()
    words = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if args.pair is None:
        texts = options.read_arguments(args)
    elif args.systems or args.test_set or args.source or args.table or args.demo:
        raise BadInput("--pair takes two texts and cannot be combined with other inputs.")
    else:
        texts = TextArguments(args.pair[:1], args.pair[1:]).read()
    model = None if args.rules else MODEL
    ignore = [*args.ignore, *words]
    return facts(texts, ignore=ignore, parser=args.parser, model=model, least=args.least, progress=bar)
