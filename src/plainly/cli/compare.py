"""``plainly compare``: which differences between systems are real."""

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from plainly.cli import options
from plainly.cli.show import say_written, show
from plainly.core.errors import BadInput
from plainly.core.progress import bar

HELP = """\
Test which differences between systems are real.

  plainly compare --demo
  plainly compare -t asset/test -m sari,bleu ACCESS Dress Dress-Ls
  plainly compare -t asset/test all --baseline ACCESS
  plainly compare --by length A.txt B.txt --source src.txt --references 'ref.*.txt'
  plainly compare saved.npz
"""

_TESTS: dict[str, Any] = {"bootstrap": "paired-bootstrap", "ar": "approximate-randomisation"}  # by their short names


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser, metrics=True, streaming=True)
    options.add_calls(parser)
    add = parser.add_argument_group("how to compare").add_argument
    add("--baseline", metavar="SYSTEM", help="compare each system with this one; without it, all pairs")
    add("--test", action="append", choices=(*_TESTS, *_TESTS.values()), help="which test; both unless one is named")
    trials = "trials of randomisation for every pair (10,000; as many as needed where there are many systems)"
    add("--trials", type=options.number("--trials"), metavar="N", help=trials)
    add("--by", metavar="FIELD", help="on subsets: length, group, references, split, copy, operation, or a column")
    add("--no-advice", action="store_true", help="leave out warnings and advice on metrics")
    options.add_sampling(parser, method=False, over=True)
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> int:
    from plainly.io.files import stem
    from plainly.scoring.compare import compare
    from plainly.scoring.score_file import open_saved
    from plainly.streaming.corpus import Corpus

    options.check_targets(args, args.set_aside)
    is_saved = len(args.systems) == 1 and args.systems[0].endswith(".npz")
    is_added = not is_saved and _add_baseline(args)
    source: Any = nullcontext(open_saved(args.systems[0])) if is_saved else options.open_arguments(args)
    with source as data:
        if is_added:
            args.baseline = data.systems[0]
        elif not is_saved and args.baseline is not None and args.baseline not in data.systems:
            if stem(args.baseline) not in data.systems:
                names = ", ".join(data.systems)
                raise BadInput(f"The baseline {args.baseline!r} is not among the systems: {names}.")
            args.baseline = stem(args.baseline)
        result = compare(
            data,
            metrics=args.metrics,
            like=args.like,
            target=args.target,
            baseline=args.baseline,
            tests=tuple(dict.fromkeys(_TESTS.get(test, test) for test in args.test or _TESTS)),
            trials=args.trials,
            sampling=options.sampling(args),
            by=args.by,
            over=args.over,
            advice=not args.no_advice,
            engine=args.engine,
            processes=args.processes,
            address=args.address,
            on_error=args.on_error,
            set_aside=args.set_aside,
            state=options.state_file(args, data) if isinstance(data, Corpus) else None,
            progress=bar,
        )
    options.say_resumed(result.evaluation)
    say_written(args.set_aside)
    warnings = show(result, args.format)
    return 130 if not result.evaluation.complete else int(args.strict and warnings > 0)


def _add_baseline(args: argparse.Namespace) -> bool:
    """Add a baseline that is not among the systems (another published system, another file) before them."""
    from plainly.io.files import stem
    from plainly.io.tables import table_format

    if args.baseline is None or not args.systems or "all" in args.systems or any(map(table_format, args.systems)):
        return False
    if args.baseline in {name for system in args.systems for name in (system, system.partition("=")[0], stem(system))}:
        return False
    if args.test_set is None and not Path(args.baseline).exists():
        return False
    args.systems = [args.baseline, *args.systems]
    return True
