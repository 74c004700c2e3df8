"""``plainly align``: align the sentences of outputs with those of their sources."""

import argparse

from plainly.cli import options
from plainly.core.result import Result

HELP = """\
Align the sentences of outputs with those of their sources, many to many.

  plainly align --source leaflets.txt simple.txt --save links.jsonl
  plainly align -t tsar2025/test EhiMeNLP/run1
  plainly align --against cochrane-auto/test-sentences
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser)
    add = parser.add_argument
    add("--save", metavar="FILE", help="write the alignments: .jsonl, or .csv with the columns of Cochrane-auto")
    add("--against", metavar="FILE", help="known alignments (a file or a data set): report the agreement")
    add("--words", action="store_true", help="align by words alone, without the encoder: much faster")
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> Result:
    from plainly.typology.sentence_alignment import align

    options.check_targets(args, args.save)
    texts = options.read_arguments(args) if args.against is None else None
    return align(texts, against=args.against, encoder=not args.words, save=args.save)
