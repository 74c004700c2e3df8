"""``plainly meta``: does a metric agree with people, and do people agree with each other?"""

from __future__ import annotations

import argparse

from plainly.cli import options, rated
from plainly.cli.progress import bar
from plainly.render.show import add_formats, say, show

HELP = """Does a metric agree with people? And do people agree with each other?

  plainly meta simplicity-da -m sari,bleu,fkgl
  plainly meta simplicity-da -m sari --dimension simplicity_zscore --filter --without-sources simpeval/past
  plainly meta ratings.csv -m sari --test-set asset/test
  plainly meta ratings.xlsx --agreement
  plainly meta acl2018 --tradeoff --plot dimensions.html
"""
# What --level took before it meant confidence, as --unit calls it.
_OLD_LEVELS = {"item": "items", "items": "items", "system": "systems", "systems": "systems", "both": "both"}


def configure(parser: argparse.ArgumentParser) -> None:
    rated.add_arguments(parser)
    what = parser.add_argument_group("what to ask")
    what.add_argument("-m", "--metrics", action="append", metavar="METRIC", help="correlate these metrics with people")
    what.add_argument("--agreement", action="store_true", help="how far raters agree, and who stands apart")
    what.add_argument(
        "--tradeoff", action="store_true", help="dimensions against each other, and systems on all of them"
    )
    what.add_argument("--dimension", action="append", metavar="NAME", help="which dimension (simplicity); repeatable")
    what.add_argument(
        "--unit", choices=("items", "systems", "both"), default="both", help="correlate over items, systems, or both"
    )
    what.add_argument("--no-tests", action="store_true", help="leave out tests between metrics")
    what.add_argument("--plot", metavar="FILE", help="scatter plots with the fitted line: .html, .svg, .png, .pdf")
    scores = parser.add_argument_group("where scores come from")
    scores.add_argument("-t", "--test-set", metavar="SET", help="texts of a named set whose ids are the rated items")
    scores.add_argument("--scores", metavar="FILE", help="scores that exist: a table with system, item and metrics")
    scores.add_argument(
        "--references", action="append", metavar="SET", help="which references, where there are several; 'each' for all"
    )
    slices = parser.add_argument_group("which outputs")
    slices.add_argument("--filter", action="store_true", help="also on outputs that are fluent and keep the meaning")
    slices.add_argument("--filter-by", metavar="A,B", help="the filter's dimensions (fluency and meaning)")
    slices.add_argument("--threshold", type=float, default=0.3, help="the filter's threshold (0.3)")
    slices.add_argument(
        "--filter-unit", choices=("sd", "points"), default="sd", help="of the threshold: sd above the mean, or points"
    )
    slices.add_argument(
        "--without-sources", default="", metavar="FILE", help="filter out these sources: a file of lines, or a card"
    )
    slices.add_argument("--by", action="append", choices=("type", "simplicity"), help="slices; repeatable")
    slices.add_argument("--control", metavar="A,B", help="held fixed in partial correlations; 'none' for no such")
    options.add_sampling(parser, level=_level)
    parser.add_argument("--confidence", type=float, help=argparse.SUPPRESS)  # until the next version
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    from plainly.questions.meta import Filter, meta
    from plainly.render import plots

    _take_old_names(args)
    judgements = rated.read(args)
    subset = None
    if args.filter:
        subset = Filter.of(
            judgements,
            dimensions=rated.names(args.filter_by),
            threshold=args.threshold,
            unit=args.filter_unit,
            without_sources=args.without_sources,
        )
    result = meta(
        judgements,
        metrics=args.metrics or (),
        dimensions=args.dimension or (),
        agreement=args.agreement,
        tradeoff=args.tradeoff,
        scores=args.scores,
        test_set=args.test_set,
        references=args.references or (),
        subset=subset,
        by=args.by or (),
        control=None if args.control is None else [] if args.control == "none" else rated.names(args.control),
        unit=args.unit,
        compare=not args.no_tests,
        progress=bar,
        sampling=options.sampling(args),
    )
    if args.plot:
        say(f"Plots are in {plots.save(result.chart(), args.plot)}")
    return int(show(result, args.format) > 0 and args.strict)


def _level(text: str) -> float | str:
    return text if text in _OLD_LEVELS else float(text)


def _take_old_names(args: argparse.Namespace) -> None:
    """For one version: --level items|systems|both, which is --unit now, and --confidence, which is --level."""
    if args.level in _OLD_LEVELS:
        args.unit = _OLD_LEVELS[args.level]
        say(f"plainly: --level {args.level} is now --unit {args.unit}; --level means confidence, here as everywhere")
        args.level = None
    if args.confidence is not None:
        say("plainly: --confidence is now --level, as everywhere; the old name goes with the next version")
        args.level = args.confidence
