"""``plainly compare``: which differences between systems are real."""

import argparse
from pathlib import Path

from plainly.cli import inputs, options, streaming
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.inputs.corpus import Corpus
from plainly.inputs.files import stem
from plainly.inputs.tables import table_format
from plainly.inputs.texts import Inputs
from plainly.questions.compare import compare
from plainly.questions.comparisons import TESTS, Comparisons, Test
from plainly.render.show import add_formats, show
from plainly.scoring.references import OVER
from plainly.scoring.scorefile import open_saved
from plainly.scoring.subsets import FIELDS

_SHORT: dict[str, Test] = {"bootstrap": "paired-bootstrap", "ar": "approximate-randomisation"}


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    inputs.add_metrics(parser)
    by = f"compare on subsets: {', '.join(FIELDS)} or a column"
    options.add(
        parser,
        "compare",
        test={"choices": (*_SHORT, *TESTS)},
        by={"help": by},
        over={"choices": OVER},
    )
    options.add_sampling(parser, method=False)
    options.add(parser, "streaming")
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    options.check_targets(args, args.set_aside)
    if len(args.systems) == 1 and args.systems[0].endswith(".npz"):
        if args.metrics:
            raise BadInput("Saved scores hold the metrics they hold; leave -m out.")
        result = _compared(args, open_saved(args.systems[0]))
    else:
        added = _add_baseline(args)
        with inputs.opened(args) as data:
            specs = inputs.chosen_metrics(args, data)
            settings = streaming.settings(args, data, specs) if isinstance(data, Corpus) else {}
            names = list(data.outputs if isinstance(data, Inputs) else data.systems)
            if added:
                args.baseline = names[0]
            elif args.baseline is not None and args.baseline not in names and stem(args.baseline) in names:
                args.baseline = stem(args.baseline)
            if args.baseline is not None and args.baseline not in names:
                raise BadInput(f"The baseline {args.baseline!r} is not among the systems: {', '.join(names)}.")
            result = _compared(args, data, metrics=specs, **settings)
    streaming.say_resumed(result.evaluation)
    warned = show(result, args.format)
    return 130 if not result.evaluation.complete else int(args.strict and warned > 0)


def _compared(args: argparse.Namespace, data: object, **settings: object) -> Comparisons:
    return compare(
        data,
        baseline=args.baseline,
        tests=tuple(dict.fromkeys(_SHORT.get(test, test) for test in args.test or TESTS)),
        trials=args.trials,
        by=args.by,
        over=args.over,
        sampling=options.sampling(args),
        advice=not args.no_advice,
        progress=bar,
        **settings,  # type: ignore[arg-type]
    )


def _add_baseline(args: argparse.Namespace) -> bool:
    """Put a baseline that is no system yet (another published system, another file) before the systems."""
    if args.baseline is None or not args.systems or "all" in args.systems or any(map(table_format, args.systems)):
        return False
    if args.baseline in {name for system in args.systems for name in (system, system.partition("=")[0], stem(system))}:
        return False
    if args.test_set is None and not Path(args.baseline).exists():
        return False
    args.systems = [args.baseline, *args.systems]
    return True
