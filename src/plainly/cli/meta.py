"""``plainly meta``: does a metric agree with people, and do people agree with each other?"""

import argparse

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import say, say_written
from plainly.core.progress import bar
from plainly.core.result import Result

# Options that need ratings on a scale.
_ABOUT_SCALES = ("metrics", "tradeoff", "dimension", "scores", "filter", "by", "control", "calibrate", "plot")

HELP = """\
Does a metric agree with people? And do people agree with each other?

  plainly meta simplicity-da -m sari,bleu,fkgl
  plainly meta simplicity-da -m sari --dimension simplicity_zscore --filter --without-sources simpeval/past
  plainly meta ratings.csv -m sari --test-set asset/test
  plainly meta ratings.xlsx --agreement
  plainly meta acl2018 --tradeoff --plot dimensions.html
  plainly meta ratings.csv -m 'judge(model=local)' --calibrate calibration.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_ratings(parser)
    add = parser.add_argument_group("what to ask").add_argument
    add("-m", "--metrics", action="append", metavar="METRIC", help="correlate these metrics with people")
    add("--agreement", action="store_true", help="how far raters agree, and which raters differ")
    add("--tradeoff", action="store_true", help="dimensions against each other, and systems on all of them")
    add("--dimension", action="append", metavar="NAME", help="which dimension (simplicity); repeatable")
    add("--unit", choices=("items", "systems", "both"), default="both", help="correlate over items, systems, or both")
    add("--no-tests", action="store_true", help="leave out tests between metrics")
    add("--calibrate", metavar="FILE", help="write a map from a judge's points to the scale of the ratings (.json)")
    add("--plot", metavar="FILE", help="scatter plots with the fitted line: .html, .svg, .png, .pdf")
    add = parser.add_argument_group("where scores come from").add_argument
    add("-t", "--test-set", metavar="SET", help="texts of a named set whose ids are the rated items")
    add("--scores", metavar="FILE", help="scores that exist: a table with system, item and metrics")
    add("--references", action="append", metavar="SET", help="references to use, where there are several; or 'each'")
    add = parser.add_argument_group("which outputs").add_argument
    add("--filter", action="store_true", help="also on outputs that are fluent and keep the meaning")
    add("--filter-by", metavar="A,B", help="the filter's dimensions (fluency and meaning)")
    add("--threshold", type=number("--threshold", "float"), default=0.3, help="the filter's threshold (0.3)")
    add("--filter-unit", choices=("sd", "points"), default="sd", help="of the threshold: sd above the mean, or points")
    add("--without-sources", default="", metavar="FILE", help="filter out these sources: a file, or a data set")
    add("--by", action="append", choices=("type", "simplicity"), help="slices; repeatable")
    add("--control", metavar="A,B", help="dimensions held fixed in partial correlations; 'none' for none")
    options.add_calls(parser)
    options.add_sampling(parser)
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> Result:
    from plainly.people.correlations import Filter
    from plainly.people.meta_evaluation import agreement, meta
    from plainly.people.results import results

    options.check_targets(args, args.plot, args.calibrate)
    judgements = options.read_rated(args, *_ABOUT_SCALES)
    if isinstance(judgements, str):
        return (agreement if args.agreement else results)(judgements, sampling=options.sampling(args))
    subset = None
    if args.filter:
        filters = {"threshold": args.threshold, "unit": args.filter_unit, "without_sources": args.without_sources}
        subset = Filter.of(judgements, dimensions=options.split_names(args.filter_by), **filters)
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
        control=None if args.control is None else [] if args.control == "none" else options.split_names(args.control),
        unit=args.unit,
        compare=not args.no_tests,
        calibrate=args.calibrate,
        progress=bar,
        sampling=options.sampling(args),
    )
    say_written(args.calibrate)
    if args.plot:
        from plainly.reporting.curves import draw_correlations

        say(f"Plots are in {draw_correlations(result).save(args.plot)}")
    return result
