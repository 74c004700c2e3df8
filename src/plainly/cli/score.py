"""``plainly score``: what systems wrote in, a table of scores out."""

import argparse
from pathlib import Path

from plainly.cli import inputs, options, streaming
from plainly.cli.progress import bar
from plainly.cli.show import add_formats, show
from plainly.scoring import score_file
from plainly.scoring.references import OVER
from plainly.scoring.score import score
from plainly.scoring.subsets import FIELDS
from plainly.streaming.corpus import Corpus

HELP = """\
Score what systems wrote.

  plainly score --demo
  plainly score -t asset/test -m sari,bleu,fkgl ACCESS mine.txt
  plainly score --source src.txt --references 'ref.*.txt' -- A.txt B.txt
  plainly score data.csv
  plainly score shards/ --on-error set-aside
  plainly score --engine ray --address HOST:6379 s3://bucket/pairs
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    inputs.add_metrics(parser)
    inputs.add_selection(parser)
    options.add_sampling(parser).add_argument("--no-intervals", action="store_true", help="scores only")
    by = f"scores on subsets: {', '.join(FIELDS)}, or any column of a table"
    group = parser.add_argument_group("what else to show")
    group.add_argument("--by", metavar="FIELD", help=by)
    group.add_argument(
        "--sanity",
        action="store_true",
        help="add what a copy, its first words, nothing and shuffled words score, and a held-out reference",
    )
    group.add_argument(
        "--over",
        default="items",
        help="intervals say: other items (default), other references for the same items, or both",
        choices=OVER,
    )
    group.add_argument("--signature", action="store_true", help="show how each number was made")
    group.add_argument("--no-advice", action="store_true", help="leave out warnings and what a metric cannot do")
    group = parser.add_argument_group("what to keep")
    group.add_argument(
        "--segments",
        metavar="FILE",
        help="write every item's scores: .csv, .tsv, .jsonl or .parquet; for large corpora, a folder",
    )
    group.add_argument("--save", metavar="FILE", help="keep the measured rows (.npz), for every later analysis")
    streaming.add_streaming(parser)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    with inputs.opened(args) as data:
        specs = inputs.chosen_metrics(args, data)
        settings = streaming.settings(args, data, specs) if isinstance(data, Corpus) else {}
        if args.segments and isinstance(data, Corpus) and not Path(args.segments).suffix:
            settings["segments"] = args.segments
        elif args.segments:
            score_file.check_segments(args.segments)
        if args.save:
            score_file.check_saved(args.save)
        options.check_targets(args, args.save, args.set_aside, None if "segments" in settings else args.segments)
        evaluation = score(
            inputs.selected(args, data),
            metrics=specs,
            sampling=options.sampling(args),
            intervals=not args.no_intervals,
            by=args.by,
            sanity=args.sanity,
            over=args.over,
            advice=not args.no_advice,
            progress=bar,
            **settings,
        )
    if args.segments and "segments" not in settings:
        score_file.write_segments(args.segments, evaluation)
    if args.save:
        score_file.save(args.save, evaluation)
    streaming.say_resumed(evaluation)
    warned = show(evaluation, args.format)
    if args.signature and args.format not in ("json", "csv", "long"):
        for scores in next(iter(evaluation.values())).values():
            print(scores.signature)
    return 130 if not evaluation.complete else int(args.strict and warned > 0)
