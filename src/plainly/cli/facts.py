"""``plainly facts``: what happened to numbers, names, negations and claims."""

import argparse

from plainly.cli import inputs
from plainly.cli.options import number
from plainly.cli.progress import bar
from plainly.cli.show import add_formats
from plainly.core.errors import BadInput
from plainly.core.files import read_whole
from plainly.core.result import Result
from plainly.factcheck.facts import facts
from plainly.factcheck.head import MODEL
from plainly.io.lines import decode, split_lines
from plainly.io.texts import Texts, read_texts

HELP = """\
Find facts that were changed, turned round, added or lost, with the words in both texts.

  plainly facts --pair "It opened in 1985." "It opened in 1885."
  plainly facts -t asset/test ACCESS
  plainly facts --source src.txt -- A.txt B.txt
  plainly facts --demo editor noisy --json

What is lost is not an error in itself: simplification leaves things out on purpose.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    parser.add_argument("--pair", nargs=2, metavar=("SOURCE", "OUTPUT"), help="two texts, in quotation marks")
    parser.add_argument(
        "--least",
        type=number("--least", "float"),
        default=0.5,
        metavar="SURE",
        help="how sure a finding must be to be listed, 0.2 to 1 (0.5); the rates count all, by how sure they are",
    )
    parser.add_argument(
        "--ignore",
        nargs="+",
        default=[],
        metavar="WORD",
        help="words or patterns that are no finding, such as NATO or '[A-Z]{2,}'",
    )
    parser.add_argument("--ignore-list", metavar="FILE", help="the same, one a line")
    parser.add_argument(
        "--parser",
        default="",
        metavar="PIPELINE",
        help="let a spaCy pipeline say which words are names: spacy, or its name (default: capital letters)",
    )
    parser.add_argument(
        "--rules",
        action="store_true",
        help="rules alone: ten times as fast; the risk then leaves out what the model says",
    )
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


def _read(args: argparse.Namespace) -> Texts:
    """Two texts on the command line, or whatever the other commands read."""
    if args.pair is None:
        return inputs.read(args)
    if args.systems or args.test_set or args.source or args.table or args.demo:
        raise BadInput("--pair takes two texts and nothing beside them.")
    return read_texts(sources=args.pair[:1], outputs=args.pair[1:])


def _ignored(args: argparse.Namespace) -> list[str]:
    words = list(args.ignore)
    if args.ignore_list:
        lines = split_lines(decode(read_whole(args.ignore_list), args.ignore_list))
        words += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return words
