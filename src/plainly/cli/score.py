"""``plainly score``: what systems wrote in, a table of scores out."""

import argparse
from pathlib import Path

from plainly.cli import inputs, options
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
    inputs.add_streaming(parser)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    with inputs.open_arguments(args) as data:
        metrics = inputs.resolve_metrics(args, data)
        # The scores of a corpus in parts are written as they are measured, into a folder; others at the end, to a file.
        folder = args.segments if isinstance(data, Corpus) and not Path(args.segments or "").suffix else None
        file = None if folder else args.segments
        if file:
            score_file.check_segments(file)
        if args.save:
            score_file.check_saved(args.save)
        options.check_targets(args, args.save, args.set_aside, file)
        evaluation = score(
            inputs.select_items(args, data),
            metrics=metrics,
            intervals=not args.no_intervals,
            sampling=options.sampling(args),
            by=args.by,
            over=args.over,
            sanity=args.sanity,
            advice=not args.no_advice,
            engine=inputs.engine_name(args),
            processes=args.processes,
            address=args.address,
            on_error=args.on_error,
            segments=folder,
            set_aside=args.set_aside,
            state=inputs.state_file(args, data, metrics),
            progress=bar,
        )
    if file:
        score_file.write_segments(file, evaluation)
    if args.save:
        score_file.save(args.save, evaluation)
    inputs.say_resumed(evaluation)
    warned = show(evaluation, args.format)
    if args.signature and args.format not in ("json", "csv", "long"):
        for scores in next(iter(evaluation.values())).values():
            print(scores.signature)
    return 130 if not evaluation.complete else int(args.strict and warned > 0)
