"""``plainly align``: which sentences of an output belong to which of the source."""

import argparse

from plainly.cli import inputs, options
from plainly.cli.show import add_formats
from plainly.core.result import Result
from plainly.typology.sentence_alignment import align

HELP = """\
Align the sentences of outputs with those of their sources, many to many.

  plainly align --source leaflets.txt simple.txt --save links.jsonl
  plainly align -t tsar2025/test EhiMeNLP/run1
  plainly align --against cochrane-auto/test-sentences
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    parser.add_argument(
        "--save", metavar="FILE", help="write the alignments: .jsonl, or .csv with the columns of Cochrane-auto"
    )
    parser.add_argument(
        "--against",
        metavar="FILE",
        help="known alignments (such a file, or cochrane-auto/test-sentences): align their sentences "
        "and say how far it agrees",
    )
    parser.add_argument("--words", action="store_true", help="align by words alone, without the encoder: much quicker")
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    options.check_targets(args, args.save)
    settings = {"encoder": not args.words, "save": args.save}
    if args.against is not None:
        return align(against=args.against, **settings)
    return align(inputs.read_arguments(args), **settings)
