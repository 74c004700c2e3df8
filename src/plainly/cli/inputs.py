"""What to evaluate, as every command that scores takes it: a named set, own files, a table, or the demo."""

import argparse
import dataclasses
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import say
from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, did_you_mean
from plainly.core.metric import Metric
from plainly.io.texts import Texts, absence_notes, with_language
from plainly.streaming.corpus import Corpus

Outputs = dict[str, tuple[str, ...]]
_CONDITIONS = ("references_with", "references_without", "items_with", "items_without")  # of by_operation.toml


def add_texts(parser: argparse.ArgumentParser) -> None:
    """The arguments that name texts: outputs, and what to score them against."""
    parser.add_argument(
        "systems",
        nargs="*",
        metavar="OUTPUT",
        help="a file with one output a line, NAME=FILE, a table (CSV, TSV, JSONL, Parquet) with an "
        "output column, - for stdin; with -t also the name of a published system, or 'all'",
    )
    group = parser.add_argument_group("what to score against")
    group.add_argument("-t", "--test-set", metavar="SET", help="a named set, e.g. asset/test (see: plainly data list)")
    group.add_argument("--source", metavar="FILE", help="the original sentences, one a line")
    group.add_argument(
        "--references",
        nargs="+",
        default=[],
        metavar="FILE",
        help="reference simplifications, one file each with one a line; patterns such as 'ref.*.txt' are expanded",
    )
    group.add_argument("--groups", metavar="FILE", help="document of each item, one a line, for clustered resampling")
    group.add_argument("--table", metavar="FILE", help="a table that holds source and references, and may hold outputs")
    group.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="ROLE=COLUMN",
        help="which columns of a table to take: source, references, output, id, group",
    )
    group.add_argument(
        "--incomplete",
        choices=("refuse", "empty", "skip"),
        default="refuse",
        help="items for which a table with ids has no output: an error (default), scored as an empty "
        "output, or left out of that system's scores",
    )
    group.add_argument(
        "--unit",
        choices=("document", "paragraph", "sentence"),
        help="what an item is: sentences with --groups are joined into documents; texts are taken "
        "apart along the sentences or paragraphs of their sources",
    )
    group.add_argument("--demo", action="store_true", help="the small data set that comes with plainly")
    group.add_argument(
        "--language",
        metavar="CODE",
        help="language of the texts: en, de, fr, es, it, pt, nl and others, or 'auto' to have it found "
        "out; a named set says its own",
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The arguments that choose references and items by operation."""
    group = parser.add_argument_group("by operation")
    group.add_argument(
        "--references-with",
        metavar="NAMES",
        help="keep references that have one of these operations; NAMES are labels or classes: lexical, split, err, …",
    )
    group.add_argument(
        "--references-without", "--without", metavar="NAMES", help="remove references that have one of these operations"
    )
    group.add_argument(
        "--items-with", metavar="NAMES", help="keep items of which a reference has one of these operations"
    )
    group.add_argument("--items-without", metavar="NAMES", help="remove such items")
    group.add_argument(
        "--items-share",
        type=number("--items-share", "float"),
        metavar="SHARE",
        help="for items, ask for this share of references instead of one",
    )
    group.add_argument(
        "--operations",
        metavar="SET",
        help="where the operations are annotated: a file or data set (assetann/annotations), or auto to label them now",
    )


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """The arguments that choose metrics."""
    from plainly.scoring.presets import PRESETS

    parser.add_argument(
        "-m",
        "--metrics",
        action="append",
        metavar="METRIC",
        help="which metrics, e.g. -m sari,bleu,'fkgl(variant=easse)'; may be repeated (see: plainly metrics)",
    )
    parser.add_argument(
        "--target",
        metavar="LEVEL",
        help="the level that systems aim at: A1 to C2 or a column of the set for cefr, a number from 0 to 4 for sle",
    )
    parser.add_argument(
        "--like",
        help="metrics with the defaults of another tool: %(choices)s; says what it sets",
        choices=tuple(PRESETS),
    )


def chosen_metrics(args: argparse.Namespace, data: Texts | Corpus) -> dict[str, Metric]:
    """The metrics that were asked for, or a sensible few, by spec; all are checked before anything is measured."""
    from plainly.scoring import evaluate, presets

    specs = [spec for written in args.metrics or () for spec in registry.split_specs(written)]
    if args.metrics and not specs:
        raise BadInput("-m names no metric. See: plainly metrics")
    if args.like is not None:
        specs, said = presets.like(args.like, specs, references=data.has_references)
        say(said)
    texts = data if isinstance(data, Corpus) else data.evalset
    metrics = registry.metrics(specs or evaluate.default_specs(texts))
    if args.target is not None:
        metrics = _aimed(metrics, args.target)
    return evaluate.resolve_metrics(metrics, texts)


def _aimed(metrics: dict[str, Metric], target: str) -> dict[str, Metric]:
    """The metrics, with the target for those that have one of its kind and were not given another.

    A number is for metrics that aim at numbers, if there are any; a name, or a number without them, for CEFR levels.
    """
    value: str | float = target
    if any(metric.target_kind == "number" for metric in metrics.values()):
        with suppress(ValueError):
            value = float(target)
    kind = "number" if isinstance(value, float) else "level"
    if not any(metric.target_kind == kind for metric in metrics.values()):
        raise BadInput(
            "--target is for metrics that measure the distance from a level; none that takes it is named. Add: -m cefr "
            "for a CEFR level, -m sle for a number."
        )
    aimed = {}
    for spec, metric in metrics.items():
        if metric.target_kind == kind and metric.target is None:
            metric = dataclasses.replace(metric, target=value)  # type: ignore[type-var]
            spec = repr(metric)
        aimed[spec] = metric
    return aimed


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[Texts | Corpus]:
    """What the arguments name: texts that were read, or a corpus that is read a part at a time."""
    from plainly.cli import streaming

    if not streaming.wanted(args):
        yield read(args)
        return
    corpus = streaming.opened(args)
    try:
        yield corpus
    finally:
        corpus.close()


def selected(args: argparse.Namespace, data: Texts | Corpus) -> Texts | Corpus:
    """The items and references that --references-with and its like choose."""
    conditions = {name: getattr(args, name) for name in _CONDITIONS}
    if not any(conditions.values()):
        return data
    if isinstance(data, Corpus):
        raise BadInput("References and items are chosen by operation where all are at hand: --engine memory.")
    from plainly.typology.select import choose

    selection = choose(data.evalset, operations=args.operations, share=args.items_share, **conditions)
    say(f"Chosen by operation: {selection}.")
    outputs = {system: selection.outputs(texts) for system, texts in data.outputs.items()}
    return Texts(selection.evalset, outputs, data.notes)


def read(args: argparse.Namespace) -> Texts:
    """Read what the arguments name; the first thing wrong is an error and nothing is returned."""
    inputs = _read(args)
    if getattr(args, "unit", None) is None:
        return inputs
    from plainly.io.units import with_unit

    return with_unit(inputs, args.unit)


def _read(args: argparse.Namespace) -> Texts:
    named = [args.test_set is not None, args.demo, bool(args.source or args.references or args.table)]
    if sum(named) > 1:
        raise BadInput("Give one of -t SET, --demo, or own files (--source, --references, --table).")
    if args.groups and (args.demo or args.test_set is not None):
        raise BadInput("--groups goes with files of your own; a named set has its documents already, or none.")
    inputs = _demo(args.systems) if args.demo else _named(args) if args.test_set is not None else _files(args)
    return with_language(inputs, args.language)


def _demo(systems: Sequence[str]) -> Texts:
    from plainly import data

    evalset, outputs = data.demo()
    for system in systems:
        if system not in outputs:
            raise UnknownName("demo system", system, outputs, see="plainly score --demo")
    return Texts(evalset, {system: outputs[system] for system in systems or outputs})


def _named(args: argparse.Namespace) -> Texts:
    from plainly import data
    from plainly.cli.progress import bar
    from plainly.io.reading import read_inputs

    name, systems = args.test_set, args.systems
    evalset = data.load(name, progress=bar)
    published = data.system_names(name)
    if not systems:
        shown = ", ".join(published[:12]) + (", …" if len(published) > 12 else "")
        raise BadInput(
            f"Which outputs of {name} should be scored? Name a file or a published system ({shown or 'none'}), "
            "or 'all'."
        )
    outputs: Outputs = {}
    own = [system for system in systems if system not in published and (system != "all" or Path(system).exists())]
    for spec in own:
        _check_own(spec, name, published)
    read = Texts(evalset, {})
    if own or args.columns:
        columns = options.columns(args.columns)
        read = read_inputs(own, evalset=evalset, columns=columns, incomplete=args.incomplete)
    for system in systems:
        if system not in own:
            outputs |= data.outputs_of(name, published if system == "all" else [system], progress=bar)
    if both := outputs.keys() & read.outputs:
        raise BadInput(f"Two systems are called {min(both)!r}. Name yours apart: NAME=FILE")
    parts = (read.outputs, outputs) if systems[0] in own else (outputs, read.outputs)
    return Texts(evalset, {**parts[0], **parts[1]}, (*read.notes, *absence_notes(outputs)))


def _check_own(spec: str, name: str, published: Sequence[str]) -> None:
    path = Path(spec.partition("=")[2] or spec)
    if spec != "-" and not Path(spec).exists() and not path.exists() and not any(mark in spec for mark in "*?["):
        raise BadInput(
            f"{spec!r} is neither a file nor a published system of {name}."
            f"{did_you_mean(spec, published)} See: plainly data info {name}"
        )


def _files(args: argparse.Namespace) -> Texts:
    from plainly.io.reading import read_inputs

    references, systems, columns = list(args.references), list(args.systems), options.columns(args.columns)
    if references and not systems and not args.table:
        references, systems = split_references(references)
    if not systems and not args.table and not args.source and not references:
        raise BadInput(
            "Nothing to score. Name a set (-t asset/test ACCESS), files (--source FILE --references FILE… OUTPUT…), a "
            "table (data.csv), or try --demo."
        )
    return read_inputs(
        systems,
        source=args.source,
        references=references,
        table=args.table,
        groups=args.groups,
        columns=columns,
        incomplete=args.incomplete,
    )


def split_references(paths: list[str]) -> tuple[list[str], list[str]]:
    """Part references from outputs where a shell has expanded ``--references ref.*.txt OUT``.

    References are files that are named alike; what is named otherwise, after them, is an output.
    """
    shape = _shape(paths[0])
    last = 0
    while last + 1 < len(paths) and _alike(_shape(paths[last + 1]), shape):
        last += 1
    references, outputs = paths[: last + 1], paths[last + 1 :]
    if not outputs:
        raise BadInput(
            f"All {len(paths)} files after --references look like references, so there is no output to score. Put the "
            "outputs first (plainly score OUTPUT --source … --references …) or after --"
        )
    say(
        f"plainly: took {references[0]}{f' … {references[-1]}' if last else ''} as references, "
        f"{', '.join(outputs)} as outputs"
    )
    return references, outputs


def _shape(path: str) -> tuple[str, ...]:
    return tuple(re.split(r"[._-]", re.sub(r"\d+", "#", path)))


def _alike(shape: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if len(shape) != len(other):
        return False
    differing = [place for place, (a, b) in enumerate(zip(shape, other, strict=True)) if a != b]
    return not differing or (len(shape) >= 3 and len(differing) == 1 and differing[0] > 0)
