"""``plainly meta``: does a metric agree with people, and do people agree with each other?"""

import argparse

from plainly.cli import options, rated
from plainly.cli.progress import bar
from plainly.render.show import add_formats, say
from plainly.result import Result

# What --level took before it meant confidence, as --unit calls it.
_OLD_LEVELS = {"item": "items", "items": "items", "system": "systems", "systems": "systems", "both": "both"}


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "rated")
    options.add(parser, "meta", confidence={"help": argparse.SUPPRESS})
    options.add_sampling(parser, level=_level)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.questions.meta import Filter, meta
    from plainly.render import plots

    _take_old_names(args)
    options.check_targets(args, args.plot)
    if (choices := rated.rankings(args)) is not None:
        from plainly.questions.preferences import rank

        return rank(choices, sampling=options.sampling(args))
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
    return result


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
