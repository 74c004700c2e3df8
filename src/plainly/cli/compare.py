"""``plainly compare``: which differences between systems are real."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from plainly.cli import inputs, options
from plainly.cli.options import number
from plainly.cli.progress import bar
from plainly.cli.show import add_formats, show
from plainly.core.errors import BadInput
from plainly.core.metric import Metric
from plainly.io.files import stem
from plainly.io.tables import table_format
from plainly.scoring.compare import compare
from plainly.scoring.comparisons import TESTS, Comparisons, Test
from plainly.scoring.references import OVER
from plainly.scoring.score_file import open_saved
from plainly.scoring.subsets import FIELDS

HELP = """\
Say which differences between systems are real.

  plainly compare --demo
  plainly compare -t asset/test -m sari,bleu ACCESS Dress Dress-Ls
  plainly compare -t asset/test all --baseline ACCESS
  plainly compare --by length A.txt B.txt --source src.txt --references 'ref.*.txt'
  plainly compare saved.npz
"""


_SHORT: dict[str, Test] = {"bootstrap": "paired-bootstrap", "ar": "approximate-randomisation"}


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    inputs.add_metrics(parser)
    by = f"compare on subsets: {', '.join(FIELDS)} or a column"
    group = parser.add_argument_group("how to compare")
    group.add_argument("--baseline", metavar="SYSTEM", help="compare each system with this one; without it, all pairs")
    group.add_argument(
        "--test",
        action="append",
        help="paired bootstrap or approximate randomisation (ar); both unless one is named",
        choices=(*_SHORT, *TESTS),
    )
    group.add_argument("--by", metavar="FIELD", help=by)
    group.add_argument(
        "--trials",
        type=number("--trials"),
        metavar="N",
        help="trials of randomisation for every pair (10,000; as many as needed where there are many systems)",
    )
    group.add_argument(
        "--over",
        default="items",
        help="what the bootstrap draws: other items (default), other references for the same items, or both",
        choices=OVER,
    )
    parser.add_argument(
        "--no-advice", action="store_true", help="leave out warnings and what a metric cannot be used for"
    )
    options.add_sampling(parser, method=False)
    inputs.add_streaming(parser)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    options.check_targets(args, args.set_aside)
    if len(args.systems) == 1 and args.systems[0].endswith(".npz"):
        if args.metrics:
            raise BadInput("Saved scores have their metrics already; leave -m out.")
        result = _compare(args, open_saved(args.systems[0]))
    else:
        added = _add_baseline(args)
        with inputs.open_arguments(args) as data:
            metrics = inputs.resolve_metrics(args, data)
            if added:
                args.baseline = data.systems[0]
            elif (
                args.baseline is not None and args.baseline not in data.systems and stem(args.baseline) in data.systems
            ):
                args.baseline = stem(args.baseline)
            if args.baseline not in (None, *data.systems):
                raise BadInput(f"The baseline {args.baseline!r} is not among the systems: {', '.join(data.systems)}.")
            result = _compare(args, data, metrics, inputs.state_file(args, data, metrics))
    inputs.say_resumed(result.evaluation)
    warned = show(result, args.format)
    return 130 if not result.evaluation.complete else int(args.strict and warned > 0)


def _compare(
    args: argparse.Namespace, data: object, metrics: Mapping[str, Metric] | None = None, state: Path | None = None
) -> Comparisons:
    return compare(
        data,
        metrics=metrics,
        baseline=args.baseline,
        tests=tuple(dict.fromkeys(_SHORT.get(test, test) for test in args.test or TESTS)),
        trials=args.trials,
        sampling=options.sampling(args),
        by=args.by,
        over=args.over,
        advice=not args.no_advice,
        engine=inputs.engine_name(args),
        processes=args.processes,
        address=args.address,
        on_error=args.on_error,
        set_aside=args.set_aside,
        state=state,
        progress=bar,
    )


def _add_baseline(args: argparse.Namespace) -> bool:
    """Add a baseline that is not among the systems (another published system, another file) before them."""
    if args.baseline is None or not args.systems or "all" in args.systems or any(map(table_format, args.systems)):
        return False
    if args.baseline in {name for system in args.systems for name in (system, system.partition("=")[0], stem(system))}:
        return False
    if args.test_set is None and not Path(args.baseline).exists():
        return False
    args.systems = [args.baseline, *args.systems]
    return True
