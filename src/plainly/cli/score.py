"""``plainly score``: scores of systems' outputs."""

import argparse
from pathlib import Path

from plainly.cli import options
from plainly.cli.show import say_written, show
from plainly.core.progress import bar

HELP = """\
Score the outputs of systems.

  plainly score --demo
  plainly score -t asset/test -m sari,bleu,fkgl ACCESS mine.txt
  plainly score --source src.txt --references 'ref.*.txt' -- A.txt B.txt
  plainly score data.csv
  plainly score shards/ --on-error set-aside
  plainly score --engine ray --address HOST:6379 s3://bucket/pairs
"""
_CONDITIONS = ("references_with", "references_without", "items_with", "items_without")


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser, metrics=True, streaming=True)
    options.add_calls(parser)
    add = parser.add_argument_group("by operation").add_argument
    add("--references-with", metavar="NAMES", help="keep references that have one of these: lexical, split, err, …")
    add("--references-without", "--without", metavar="NAMES", help="remove references that have one of these")
    add("--items-with", metavar="NAMES", help="keep items of which a reference has one of these operations")
    add("--items-without", metavar="NAMES", help="remove such items")
    share = "for items, require this share of references instead of one"
    add("--items-share", type=options.number("--items-share", "float"), metavar="SHARE", help=share)
    add("--operations", metavar="SET", help="annotated operations: a file, a data set, or auto to label them now")
    options.add_sampling(parser, over=True).add_argument("--no-intervals", action="store_true", help="scores only")
    add = parser.add_argument_group("additional results").add_argument
    add("--by", metavar="FIELD", help="on subsets: length, group, references, split, copy, operation, or a column")
    add("--sanity", action="store_true", help="add the scores of a copy, an empty output, a held-out reference, …")
    add("--signature", action="store_true", help="show how each number was computed")
    add("--no-advice", action="store_true", help="leave out warnings and advice on metrics")
    add = parser.add_argument_group("files to write").add_argument
    add("--segments", metavar="FILE", help="every item's scores: .csv, .tsv, .jsonl, .parquet; for corpora, a folder")
    add("--save", metavar="FILE", help="the measured rows (.npz), for every later analysis")
    options.add_formats(parser, force=True)
    parser.add_argument("--parts", action="store_true", help="with --latex: columns for parts of metrics, too")


def run(args: argparse.Namespace) -> int:
    """Read the texts, score them, write and show the scores."""
    from plainly.scoring import score_file
    from plainly.scoring.score import score
    from plainly.streaming.corpus import Corpus

    select = None
    conditions = {name: getattr(args, name) for name in _CONDITIONS}
    if any(conditions.values()):
        from plainly.typology.selection import ByOperation

        select = ByOperation(operations=args.operations, share=args.items_share, **conditions)
    with options.open_arguments(args) as data:
        corpus = data if isinstance(data, Corpus) else None
        # The scores of a corpus in parts are written as they are measured, into a folder; others at the end, to a file.
        folder = args.segments if corpus and not Path(args.segments or "").suffix else None
        file = None if folder else args.segments
        if file:
            score_file.check_segments(file)
        if args.save:
            score_file.check_saved(args.save)
        parts = map(str, Path(folder).glob("part-*.parquet")) if folder else ()
        if targets := [path for path in (args.save, args.set_aside, file, *parts) if path]:
            options.check_targets(args, *targets)
        evaluation = score(
            data,
            metrics=args.metrics,
            like=args.like,
            target=args.target,
            select=select,
            intervals=not args.no_intervals,
            sampling=options.sampling(args),
            by=args.by,
            over=args.over,
            sanity=args.sanity,
            advice=not args.no_advice,
            engine=args.engine,
            processes=args.processes,
            address=args.address,
            on_error=args.on_error,
            segments=folder,
            set_aside=args.set_aside,
            state=options.state_file(args, corpus) if corpus else None,
            progress=bar,
        )
    if file:
        score_file.write_segments(file, evaluation)
    if args.save:
        score_file.save(args.save, evaluation)
    options.say_resumed(evaluation)
    say_written(args.segments, args.save, args.set_aside)
    warnings = show(evaluation, args.format, parts=args.parts or args.format != "latex")
    if args.signature and args.format not in ("json", "csv", "long"):
        for scores in next(iter(evaluation.values())).values():
            print(scores.signature)
    return 130 if not evaluation.complete else int(args.strict and warnings > 0)
