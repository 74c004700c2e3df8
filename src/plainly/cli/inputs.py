"""What a command evaluates: a named set, files, a table, the demo, a corpus too large to hold, or ratings.

Every command that takes texts declares its options and reads them here.
"""

import argparse
import dataclasses
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import say
from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, did_you_mean
from plainly.core.files import cache_directory, check_target
from plainly.core.metric import Metric
from plainly.io.files import named
from plainly.io.tables import table_format
from plainly.io.texts import Texts, absence_notes, with_language
from plainly.streaming.corpus import Corpus, open_corpus
from plainly.text.languages import detection

if TYPE_CHECKING:
    from plainly.people.ratings import Judgements
    from plainly.scoring.scores import Evaluation

# Files larger than this in all are read in parts unless --engine memory is given.
LARGE = 200_000_000
_STREAMED = ("parquet", "jsonl")
_CONDITIONS = ("references_with", "references_without", "items_with", "items_without")


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


def add_streaming(parser: argparse.ArgumentParser) -> None:
    """The arguments for a corpus that is too large to hold in memory."""
    group = parser.add_argument_group("large corpora")
    group.add_argument(
        "--engine",
        choices=("auto", "memory", "local", "ray"),
        default="auto",
        help="memory: read everything; local: a part at a time, on all cores; ray: on a Ray cluster; "
        "auto (the default): local for folders and for more than 200 MB, else memory",
    )
    group.add_argument(
        "--processes", type=number("--processes"), metavar="N", help="how many workers; results are the same"
    )
    group.add_argument("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    group.add_argument(
        "--on-error",
        choices=("stop", "set-aside"),
        default="stop",
        help="what to do with rows that cannot be measured; either way they are named (stop)",
    )
    group.add_argument("--set-aside", metavar="FILE", help="where to list the rows set aside (.jsonl)")
    group.add_argument("--state", metavar="FILE", help="where to keep how far the run has come (default: in the cache)")
    group.add_argument("--restart", action="store_true", help="begin again, even if an earlier run was interrupted")


def add_ratings(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """The arguments that name human ratings; with a ``default`` they may be left out."""
    parser.add_argument(
        "ratings",
        metavar="RATINGS",
        nargs=None if default is None else "?",
        default=default,
        help="a public set (simplicity-da, acl2018, structural-simplicity, or a card of ratings: "
        "plainly data list) or a table of ratings: CSV, TSV, JSONL, Parquet, .ods, .xlsx; or a "
        "study: its project's .toml",
    )
    group = parser.add_argument_group("how to read the ratings")
    group.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="ROLE=COLUMN",
        help="which columns of a table to take: system, item, rater, dimension, rating, source, output, type",
    )
    group.add_argument("--scale", metavar="LOW..HIGH", help="the scale, checked: 1..5, -2..2, 0..100")
    group.add_argument(
        "--language",
        metavar="CODE",
        help="language of what was rated: en, de, fr, es, it, pt, nl and others; a public set says its own",
    )
    group.add_argument("--z-scores", action="store_true", help="standardise each rater's ratings first")
    group.add_argument("--systems", metavar="A,B,…", help="only these systems, in this order")


def resolve_metrics(args: argparse.Namespace, data: Texts | Corpus) -> dict[str, Metric]:
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
def open_arguments(args: argparse.Namespace) -> Iterator[Texts | Corpus]:
    """What the arguments name: texts that were read, or a corpus that is read in parts."""
    if not _is_streamed(args):
        yield read_arguments(args)
        return
    corpus = _open_corpus(args)
    try:
        yield corpus
    finally:
        corpus.close()


def select_items(args: argparse.Namespace, data: Texts | Corpus) -> Texts | Corpus:
    """The items and references that --references-with and similar options select."""
    conditions = {name: getattr(args, name) for name in _CONDITIONS}
    if not any(conditions.values()):
        return data
    if isinstance(data, Corpus):
        raise BadInput("References and items can be selected by operation only in memory: --engine memory.")
    from plainly.typology.selection import choose

    selection = choose(data.evalset, operations=args.operations, share=args.items_share, **conditions)
    say(f"Chosen by operation: {selection}.")
    outputs = {system: selection.outputs(texts) for system, texts in data.outputs.items()}
    return Texts(selection.evalset, outputs, data.notes)


def read_arguments(args: argparse.Namespace) -> Texts:
    """Read the texts that the arguments name; the first thing wrong is an error."""
    given = [args.test_set is not None, args.demo, bool(args.source or args.references or args.table)]
    if sum(given) > 1:
        raise BadInput("Give one of -t SET, --demo, or own files (--source, --references, --table).")
    if args.groups and (args.demo or args.test_set is not None):
        raise BadInput("--groups goes with files of your own; a named set has its documents already, or none.")
    texts = _demo(args.systems) if args.demo else _named(args) if args.test_set is not None else _files(args)
    texts = with_language(texts, args.language)
    if args.unit is None:
        return texts
    from plainly.io.units import with_unit

    return with_unit(texts, args.unit)


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
    outputs: dict[str, tuple[str, ...]] = {}
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


def _is_streamed(args: argparse.Namespace) -> bool:
    """Whether the arguments name a corpus that is read in parts."""
    if args.engine != "auto":
        if args.engine != "memory" and (args.test_set or args.demo):
            raise BadInput(f"--engine {args.engine} reads your own files; named sets are small: leave it out.")
        if args.engine == "memory" and (args.on_error == "set-aside" or args.set_aside):
            raise BadInput("Rows are set aside where a corpus is read in parts: --engine local.")
        return bool(args.engine != "memory")
    if args.test_set is not None or args.demo:
        return False
    if args.on_error == "set-aside":
        return True
    paths = [*([args.source] if args.source else []), *args.references, *([args.table] if args.table else [])]
    paths += [system if "://" in system else named(system)[1] for system in args.systems]
    if any("://" in path or os.path.isdir(path) for path in paths):
        return True
    if not args.source and not args.references and any(_is_pattern(path) for path in (args.table, *args.systems)):
        return True  # all files that match are one corpus
    files = [path for path in paths if os.path.isfile(path)]
    if any(path.endswith(".npz") for path in files):  # saved scores
        return False
    kinds = {table_format(path) for path in files}
    streamed = kinds <= {None} or (len(files) == 1 and kinds <= set(_STREAMED))
    return streamed and sum(map(os.path.getsize, files)) > LARGE


def _open_corpus(args: argparse.Namespace) -> Corpus:
    """The corpus that the arguments name."""
    if args.language == "auto":
        raise BadInput("The language of a corpus that is read in parts is not detected; pass --language CODE")
    language = detection.check(args.language) if args.language else ""
    tables = [args.table] if args.table else []
    if args.source or args.references:
        if tables:
            raise BadInput("A corpus comes from tables or from files with one text a line, not from both.")
        corpus = open_corpus(source=args.source, references=args.references, outputs=args.systems, groups=args.groups)
    elif tables or any(_is_table(system) for system in args.systems):
        corpus = open_corpus([*tables, *args.systems], columns=options.columns(args.columns))
    elif not args.systems:
        raise BadInput("Nothing to score. Name a table, a folder of tables, or files with one text a line.")
    else:
        corpus = open_corpus(outputs=args.systems, groups=args.groups)
    return dataclasses.replace(corpus, language=language)


def _is_pattern(path: str | None) -> bool:
    return path is not None and glob.has_magic(path) and not os.path.exists(path) and table_format(path) in _STREAMED


def _is_table(spec: str) -> bool:
    return "://" in spec or os.path.isdir(spec) or table_format(spec.rstrip("*?")) is not None


def engine_name(args: argparse.Namespace) -> str:
    """The engine that reads a corpus in parts, if there is one."""
    return "ray" if args.engine == "ray" else "local"


def state_file(args: argparse.Namespace, data: Texts | Corpus, metrics: Mapping[str, Metric]) -> Path | None:
    """Where a run over a corpus in parts keeps what is needed to resume it; removed with --restart."""
    if not isinstance(data, Corpus):
        return None
    from plainly.scoring.streamed import run_key

    if args.state:
        state = Path(args.state)
        check_target(state, inputs=[part.file for part in data.parts])
    else:
        state = cache_directory() / "runs" / f"{run_key(data, metrics)}.npz"
    if args.restart:
        state.unlink(missing_ok=True)
    return state


def say_resumed(evaluation: "Evaluation") -> None:
    """Say that an earlier run had done some of the work."""
    reading = evaluation.reading
    if reading is not None and reading.resumed:
        say(f"plainly: went on from an earlier run: {reading.resumed} of {reading.parts} parts were measured before")


def read_judgements(args: argparse.Namespace) -> "Judgements":
    """The ratings that the arguments name."""
    from plainly.cli.progress import bar
    from plainly.people import read_ratings

    columns = (options.columns(args.columns) or {}).items()
    judgements = read_ratings(
        args.ratings,
        columns={role: column if isinstance(column, str) else ",".join(column) for role, column in columns},
        scale=_scale(args.scale),
        systems=options.split_names(args.systems),
        z_scores=args.z_scores,
        progress=bar,
    )
    return dataclasses.replace(judgements, language=detection.check(args.language)) if args.language else judgements


def _scale(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, dots, high = text.partition("..")
    try:
        if not dots:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise BadInput(f"--scale takes LOW..HIGH, for example 1..5 or -2..2; not {text!r}.") from None
