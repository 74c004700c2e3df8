"""``plainly facts``: what happened to numbers, names, negations and statements."""

import argparse

from plainly.cli import options
from plainly.cli.options import number
from plainly.core.errors import BadInput
from plainly.core.files import read_whole
from plainly.core.progress import bar
from plainly.core.result import Result
from plainly.factcheck.facts import facts
from plainly.factcheck.pairs import MODEL
from plainly.io.files import decode, split_lines
from plainly.io.texts import Texts, read_texts

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
    add(
        "--least",
        type=number("--least", "float"),
        default=0.5,
        metavar="SURE",
        help="lowest confidence of findings that are listed, 0.2 to 1 (0.5); the rates count all, by their confidence",
    )
    add(
        "--ignore",
        nargs="+",
        default=[],
        metavar="WORD",
        help="words or patterns to ignore, such as NATO or '[A-Z]{2,}'",
    )
    add("--ignore-list", metavar="FILE", help="the same, one per line")
    add(
        "--parser",
        default="",
        metavar="PIPELINE",
        help="find names with a spaCy pipeline: spacy, or its name (default: by capital letters)",
    )
    add("--rules", action="store_true", help="rules alone: ten times as fast; the risk then leaves out the model")
    options.add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    return facts(
        _read(args),
        ignore=_words_to_ignore(args),
        parser=args.parser,
        model=None if args.rules else MODEL,
        least=args.least,
        progress=bar,
    )


def _read(args: argparse.Namespace) -> Texts:
    """Read two texts from the command line, or texts as other commands do."""
    if args.pair is None:
        return options.read_arguments(args)
    if args.systems or args.test_set or args.source or args.table or args.demo:
        raise BadInput("--pair takes two texts and cannot be combined with other inputs.")
    return read_texts(sources=args.pair[:1], outputs=args.pair[1:])


def _words_to_ignore(args: argparse.Namespace) -> list[str]:
    words = list(args.ignore)
    if args.ignore_list:
        lines = split_lines(decode(read_whole(args.ignore_list), args.ignore_list))
        words += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return words
