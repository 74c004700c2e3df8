"""``plainly score``: what systems wrote in, a table of scores out."""

import argparse
from pathlib import Path

from plainly.cli import inputs, options, streaming
from plainly.cli.progress import bar
from plainly.inputs.corpus import Corpus
from plainly.questions.score import score
from plainly.render.show import add_formats, show
from plainly.scoring import scorefile
from plainly.scoring.references import OVER
from plainly.scoring.subsets import FIELDS


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    inputs.add_metrics(parser)
    options.add(parser, "by_operation")
    options.add_sampling(parser).add_argument("--no-intervals", action="store_true", help="scores only")
    by = f"scores on subsets: {', '.join(FIELDS)}, or any column of a table"
    options.add(parser, "score", by={"help": by}, over={"choices": OVER})
    options.add(parser, "streaming")
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    with inputs.opened(args) as data:
        specs = inputs.chosen_metrics(args, data)
        settings = streaming.settings(args, data, specs) if isinstance(data, Corpus) else {}
        if args.segments and isinstance(data, Corpus) and not Path(args.segments).suffix:
            settings["segments"] = args.segments
        elif args.segments:
            scorefile.check_segments(args.segments)
        if args.save:
            scorefile.check_saved(args.save)
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
        scorefile.write_segments(args.segments, evaluation)
    if args.save:
        scorefile.save(args.save, evaluation)
    streaming.say_resumed(evaluation)
    warned = show(evaluation, args.format)
    if args.signature and args.format not in ("json", "csv", "long"):
        for scores in next(iter(evaluation.values())).values():
            print(scores.signature)
    return 130 if not evaluation.complete else int(args.strict and warned > 0)
