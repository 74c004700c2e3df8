"""The parser of a command, and the options that several commands share, each declared and read in one place.

What a command evaluates is a named set, files, a table, the demo, a corpus too large to hold, or ratings. The packages
that read them are imported when something is read, so that ``--help`` does not wait for them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import glob
import itertools
import math
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from plainly.cli import load_command
from plainly.cli.show import FORMATS, say
from plainly.core.errors import BadInput, PlainlyError, UnknownName, did_you_mean
from plainly.core.files import cache_directory, check_target
from plainly.core.progress import bar
from plainly.core.sampling import DEFAULTS, METHODS, Sampling

if TYPE_CHECKING:
    from plainly.core.metric import Metric
    from plainly.io.texts import Texts
    from plainly.people.ratings import Judgements
    from plainly.scoring.scores import ScoreTable
    from plainly.streaming.corpus import Corpus

# Files with more bytes than this in all are read in parts unless --engine memory is passed.
LARGE = 200_000_000
PRESETS = ("easse", "sacrebleu", "hf")  # repeated here so that --help does not import plainly.scoring
_STREAMED = ("parquet", "jsonl")
_UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
_CHOICE = re.compile(r"argument ([^:]+): invalid choice: '?([^']*?)'? \(choose from (.*)\)")
# Kinds of numbers with the smallest and largest allowed value: a count, a seed, a port, a measurement.
_NUMBERS: dict[str, tuple[type[int] | type[float], float, float]] = {
    "int": (int, 1, 10**9),
    "seed": (int, 0, 2**63 - 1),
    "port": (int, 0, 65535),
    "float": (float, -math.inf, math.inf),
}


class CommandParser(argparse.ArgumentParser):
    """Raises one sentence, with the nearest option that exists, instead of printing a screen of usage."""

    def error(self, message: str) -> NoReturn:
        see = f"See: {self.prog} --help"
        if unknown := _UNKNOWN.fullmatch(message):
            name = (unknown[1].split() or [unknown[1]])[0].partition("=")[0]
            suggestion = did_you_mean(name, self._option_string_actions) if name.startswith("-") else ""
            kind = "option" if name.startswith("-") else "argument"
            raise PlainlyError(f"{self.prog} has no {kind} {name!r}.{suggestion} {see}")
        if choice := _CHOICE.fullmatch(message):
            allowed = re.findall(r"[^\s,']+", choice[3])
            suggestion = did_you_mean(choice[2], allowed)
            raise PlainlyError(f"{choice[1]} may be {', '.join(allowed)}; not {choice[2]!r}.{suggestion} {see}")
        raise PlainlyError(f"{message[:1].upper()}{message[1:]}. {see}")


def command_parser(name: str, command: ModuleType | None = None) -> CommandParser:
    """Return the parser of a command with all its options."""
    command = command or load_command(name)
    parser = CommandParser(
        prog=f"plainly {name}",
        description=command.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    return parser


@dataclasses.dataclass(frozen=True)
class number:
    """The type of an option whose value is a number: ``type=number("--seed", "seed")``."""

    flag: str
    kind: str = "int"

    def __call__(self, text: str) -> int | float:
        cast, least, most = _NUMBERS[self.kind]
        with contextlib.suppress(ValueError):
            value = cast(text)
            if math.isfinite(value) and least <= value <= most:
                return value
        allowed = "a number" if cast is float else f"a whole number of at least {least:,} and at most {most:,}"
        raise BadInput(f"{self.flag} is {allowed}, not {text!r}.")


def add_texts(parser: argparse.ArgumentParser, *, metrics: bool = False, streaming: bool = False) -> None:
    """Add the options that name texts; with ``metrics`` those that choose metrics, with ``streaming`` large corpora."""
    add = parser.add_argument
    outputs = (
        "a file with one output per line, NAME=FILE, a table (CSV, TSV, JSONL, Parquet) with an output column, - for "
        "stdin; with -t also the name of a published system, or 'all'"
    )
    add("systems", nargs="*", metavar="OUTPUT", help=outputs)
    if metrics:
        from plainly.core.registry import split_specs

        names = "metrics, e.g. -m sari,bleu,'fkgl(variant=easse)'; may be repeated (see: plainly metrics)"
        add("-m", "--metrics", action="extend", type=split_specs, metavar="METRIC", help=names)
        add("--target", metavar="LEVEL", help="level that systems aim at: A1 to C2 or a column (cefr), 0 to 4 (sle)")
        add("--like", choices=PRESETS, help="the metrics with the defaults of another tool: %(choices)s")
    add = parser.add_argument_group("data").add_argument
    add("-t", "--test-set", metavar="SET", help="a named set, e.g. asset/test (see: plainly data list)")
    add("--source", metavar="FILE", help="the original sentences, one per line")
    add("--references", nargs="+", default=[], metavar="FILE", help="references, one per line: FILE …, or 'ref.*.txt'")
    add("--groups", metavar="FILE", help="document of each item, one per line, for clustered resampling")
    add("--table", metavar="FILE", help="a table that holds source and references, and may hold outputs")
    add(
        "--columns",
        nargs="+",
        default=[],
        metavar="ROLE=COLUMN",
        help="roles: source, references, output, id, group, system",
    )
    incomplete = "items without an output in a table with ids: an error (default), an empty output, or not scored"
    add("--incomplete", choices=("refuse", "empty", "skip"), default="refuse", help=incomplete)
    add("--unit", choices=("document", "paragraph", "sentence"), help="join or divide items into units of this size")
    add("--demo", action="store_true", help="use the small data set that comes with plainly")
    add("--language", metavar="CODE", help="language of the texts: en, de, fr, …, or 'auto' to detect it")
    if not streaming:
        return
    add = parser.add_argument_group("large corpora").add_argument
    engine = (
        "memory: read everything; local: a part at a time, on all cores; ray: on a Ray cluster; auto (the default): "
        "local for folders and for more than 200 MB, else memory"
    )
    add("--engine", choices=("auto", "memory", "local", "ray"), default="auto", help=engine)
    add("--processes", type=number("--processes"), metavar="N", help="number of workers; results are the same")
    add("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    add("--on-error", choices=("stop", "set-aside"), default="stop", help="for rows that cannot be measured (stop)")
    add("--set-aside", metavar="FILE", help="where to list the rows set aside (.jsonl)")
    add("--state", metavar="FILE", help="where to record how far the run has come (default: in the cache)")
    add("--restart", action="store_true", help="begin again, even if an earlier run was interrupted")


class CallOption(argparse.Action):
    """Collects an option of judges under ``args.calls``, for ``plainly.core.calls.call_options``."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, value: Any, flag: str | None = None) -> None:
        calls: dict[str, Any] = getattr(namespace, "calls", {})
        namespace.calls = calls | {self.dest: self.const if value == [] else value}


def add_calls(parser: argparse.ArgumentParser) -> None:
    """Add the options of judges: which there are, what they may cost, recording and replaying."""
    add = partial(
        parser.add_argument_group("language models as judges").add_argument,
        action=CallOption,
        default=argparse.SUPPRESS,
    )
    add("--judges", metavar="FILE", help="describes the judges (default: judges.toml in your configuration folder)")
    add("--dry-run", nargs=0, const=True, help="print calls, tokens and cost; send and write nothing")
    cost = "stop before the calls of this run cost more, and keep the answers; in the currency of your prices"
    add("--max-cost", type=number("--max-cost", "float"), metavar="AMOUNT", help=cost)
    add("--record", metavar="FILE", help="write every request and answer (.jsonl); the file contains the texts")
    add("--replay", metavar="FILE", help="take every answer from such a file, and call no server")


def add_ratings(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """Add the options that name human ratings; with a ``default`` they may be left out."""
    ratings = (
        "a public set (simplicity-da, acl2018, structural-simplicity, or a card of ratings: plainly data list) or a "
        "table of ratings: CSV, TSV, JSONL, Parquet, .ods, .xlsx; or a study: its project's .toml"
    )
    nargs = None if default is None else "?"
    parser.add_argument("ratings", metavar="RATINGS", nargs=nargs, default=default, help=ratings)
    add = parser.add_argument_group("how to read the ratings").add_argument
    roles = "columns: system, item, rater, dimension, rating, source, output, type"
    add("--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help=roles)
    add("--scale", metavar="LOW..HIGH", help="the scale that all ratings must be on: 1..5, -2..2, 0..100")
    add("--language", metavar="CODE", help="language of the rated texts: en, de, fr, …; a public set has its own")
    add("--z-scores", action="store_true", help="standardise each rater's ratings first")
    add("--systems", metavar="A,B,…", help="only these systems, in this order")


def add_sampling(
    parser: argparse.ArgumentParser, *, method: bool = True, over: bool = False
) -> argparse._ArgumentGroup:
    """Add --level, --resamples, --seed, and where they apply --method and --over: how intervals and tests are drawn."""
    group = parser.add_argument_group("resampling")
    add = group.add_argument
    add("--level", type=number("--level", "float"), help=f"confidence level ({DEFAULTS['level']})")
    add("--resamples", type=number("--resamples"), metavar="N", help=f"bootstrap draws ({DEFAULTS['resamples']})")
    if method:
        add(
            "--method",
            choices=METHODS,
            help=f"kind of interval ({DEFAULTS['method']}: percentile, wider for few items)",
        )
    add("--seed", type=number("--seed", "seed"), help=f"seed of the draws ({DEFAULTS['seed']}), kept in the results")
    if over:
        drawn = "what is drawn: other items (default), other references for the same items, or both"
        add("--over", default="items", choices=("items", "references", "both"), help=drawn)
    return group


def add_formats(parser: argparse.ArgumentParser, *, force: bool = False) -> None:
    """Add --json, --csv and the other formats, at most one of them; --strict; --force where files are written."""
    if force:
        parser.add_argument("--force", action="store_true", help="overwrite files that plainly did not write")
    formats = parser.add_argument_group("output format").add_mutually_exclusive_group()
    for name, help_text in FORMATS.items():
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=help_text)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if there is any warning")


def sampling(args: argparse.Namespace) -> Sampling:
    """Return the sampling that the arguments describe, with the defaults of ``Sampling`` for the rest."""
    return Sampling(**{name: value for name, value in vars(args).items() if name in DEFAULTS and value is not None})


def check_targets(args: argparse.Namespace, *paths: str | None) -> None:
    """Raise unless all these files may be written, before anything is computed; none may be one that is read."""
    names = ("source", "table", "groups", "ratings", "config", "scores", "saved", "set")
    read = [getattr(args, name, None) for name in names]
    read += [*(getattr(args, "references", None) or ()), *(getattr(args, "systems", None) or ())]
    inputs = [path for path in read if isinstance(path, str)]
    inputs += [path.partition("=")[2] for path in inputs if "=" in path]
    for path in paths:
        if path is not None:
            check_target(path, inputs=[name for name in inputs if name], force=args.force)


def columns(pairs: Sequence[str]) -> dict[str, str | list[str]] | None:
    """Parse --columns ROLE=COLUMN …, several columns separated by commas; None if there are none."""
    roles: dict[str, str | list[str]] = {}
    for pair in pairs:
        role, _, column = pair.partition("=")
        if not role or not column:
            raise BadInput(f"--columns takes ROLE=COLUMN, for example source=complex; not {pair!r}.")
        roles[role] = column.split(",") if "," in column else column
    return roles or None


def split_names(text: str | None) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def resolve_metrics(args: argparse.Namespace, texts: Texts) -> dict[str, Metric]:
    """Return the metrics that the arguments name, or a sensible few, by spec; print what --like sets."""
    from plainly.scoring import evaluate

    metrics = evaluate.resolve_metrics(args.metrics, texts.evalset, like=args.like, target=args.target)
    if args.like is not None:
        say(evaluate.describe_preset(args.like, metrics))
    return metrics


@contextlib.contextmanager
def open_arguments(args: argparse.Namespace) -> Iterator[Texts | Corpus]:
    """Read the texts that the arguments name, or open a corpus that is read in parts."""
    if args.engine == "memory" and (args.on_error == "set-aside" or args.set_aside):
        raise BadInput("Rows are set aside where a corpus is read in parts: --engine local.")
    is_named = args.test_set is not None or args.demo
    if is_named and args.engine in ("local", "ray"):
        raise BadInput(f"--engine {args.engine} is for your own files; named sets are small. Leave it out.")
    if is_named or not _is_streamed(args):
        yield read_arguments(args)
        return
    args.engine = "ray" if args.engine == "ray" else "local"
    with contextlib.closing(_open_corpus(args)) as corpus:
        yield corpus


def read_arguments(args: argparse.Namespace) -> Texts:
    """Read the texts that the arguments name; the first thing wrong is an error."""
    from plainly import data
    from plainly.io.texts import Texts, with_language

    if study := next((name for name in args.systems if name.endswith(".toml")), None):
        file = study.rpartition("=")[2]
        raise BadInput(
            f"{file} is a study, not a file of outputs. Its result: plainly results {file}. Beside the scores of its "
            f"systems: plainly report … --ratings {file}"
        )
    if (args.test_set is not None) + args.demo + bool(args.source or args.references or args.table) > 1:
        raise BadInput("Give one of -t SET, --demo, or your own files (--source, --references, --table).")
    if args.groups and (args.demo or args.test_set is not None):
        raise BadInput("--groups goes with files of your own; a named set has its documents already, or none.")
    if args.demo:
        evalset, outputs = data.demo()
        if unknown := [system for system in args.systems if system not in outputs]:
            raise UnknownName("demo system", unknown[0], outputs, see="plainly score --demo")
        texts = Texts(evalset, {system: outputs[system] for system in args.systems or outputs})
    else:
        texts = _read_named_set(args) if args.test_set is not None else _read_files(args)
    texts = with_language(texts, args.language)
    if args.unit is not None:
        from plainly.io.units import with_unit

        texts = with_unit(texts, args.unit)
    return texts


def _read_named_set(args: argparse.Namespace) -> Texts:
    from plainly import data
    from plainly.io.texts import Texts, absence_notes, read_inputs

    name, systems = args.test_set, args.systems
    evalset = data.load(name, progress=bar)
    published = data.system_names(name)
    if not systems:
        examples = ", ".join(published[:12]) + (", …" if len(published) > 12 else "")
        raise BadInput(
            f"Which outputs of {name} should be scored? Name a file or a published system ({examples or 'none'}), "
            "or 'all'."
        )
    for system in systems:
        if (system == "all" or system in published) and Path(system).is_file():
            raise BadInput(
                f"{system!r} is a file here and a name of published outputs for {name}. Write ./{system} for the file; "
                "rename it, or use another folder, for what is published."
            )
    own = [system for system in systems if system not in published and system != "all"]
    for spec in own:
        paths = (Path(spec), Path(spec.partition("=")[2] or spec))
        if spec != "-" and not any(path.exists() for path in paths) and not glob.has_magic(spec):
            raise BadInput(
                f"{spec!r} is neither a file nor a published system of {name}."
                f"{did_you_mean(spec, published)} See: plainly data info {name}"
            )
    read = Texts(evalset, {})
    if own or args.columns:
        read = read_inputs(own, evalset=evalset, columns=columns(args.columns), incomplete=args.incomplete)
    outputs: dict[str, tuple[str, ...]] = {}
    for system in systems:
        if system not in own:
            outputs |= data.outputs_of(name, published if system == "all" else [system], progress=bar)
    if both := outputs.keys() & read.outputs:
        raise BadInput(f"Two systems are called {min(both)!r}. Rename yours: NAME=FILE")
    parts = (read.outputs, outputs) if systems[0] in own else (outputs, read.outputs)
    return Texts(evalset, {**parts[0], **parts[1]}, (*read.notes, *absence_notes(outputs)))


def _read_files(args: argparse.Namespace) -> Texts:
    from plainly.io.texts import read_inputs

    references, systems, roles = args.references, args.systems, columns(args.columns)
    if references and not systems and not args.table:
        references, systems = split_references(references)
    if not (systems or args.table or args.source or references):
        raise BadInput(
            "Nothing to score. Name a set (-t asset/test ACCESS), files (--source FILE --references FILE… OUTPUT…), a "
            "table (data.csv), or try --demo."
        )
    files = {"source": args.source, "references": references, "table": args.table, "groups": args.groups}
    return read_inputs(systems, **files, columns=roles, incomplete=args.incomplete)


def split_references(paths: list[str]) -> tuple[list[str], list[str]]:
    """Separate references from outputs where a shell has expanded ``--references ref.*.txt OUT``.

    References are files with similar names; the files after them, with other names, are outputs.
    """
    shapes = [re.split(r"[._-]", re.sub(r"\d+", "#", path)) for path in paths]
    count = sum(1 for _ in itertools.takewhile(lambda shape: _is_similar(shape, shapes[0]), shapes))
    references, outputs = paths[:count], paths[count:]
    if not outputs:
        raise BadInput(
            f"All {len(paths)} files after --references look like references, so there is no output to score. Put the "
            "outputs first (plainly score OUTPUT --source … --references …) or after --"
        )
    to = f" … {references[-1]}" if count > 1 else ""
    say(f"plainly: read {references[0]}{to} as references, {', '.join(outputs)} as outputs")
    return references, outputs


def _is_similar(shape: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names are the same but for one part, which is not their first."""
    differing = [position for position, (a, b) in enumerate(zip(shape, other, strict=False)) if a != b]
    return len(shape) == len(other) and (
        not differing or (len(shape) >= 3 and len(differing) == 1 and differing[0] > 0)
    )


def _is_streamed(args: argparse.Namespace) -> bool:
    """Return whether the arguments name files that are read in parts."""
    from plainly.io.files import split_name
    from plainly.io.tables import table_format

    if args.engine != "auto":
        return bool(args.engine != "memory")
    if args.on_error == "set-aside":
        return True
    paths = [path for path in (args.source, *args.references, args.table) if path]
    paths += [system if "://" in system else split_name(system)[1] for system in args.systems]
    if any("://" in path or os.path.isdir(path) for path in paths):
        return True
    patterns = [path for path in (args.table, *args.systems) if path and glob.has_magic(path)]
    tables = [path for path in patterns if not os.path.exists(path) and table_format(path) in _STREAMED]
    if not args.source and not args.references and tables:
        return True  # all files that match are one corpus
    files = [path for path in paths if os.path.isfile(path)]
    if any(path.endswith(".npz") for path in files):  # saved scores
        return False
    kinds = {table_format(path) for path in files}
    readable = kinds <= {None} or (len(files) == 1 and kinds <= set(_STREAMED))
    return readable and sum(map(os.path.getsize, files)) > LARGE


def _open_corpus(args: argparse.Namespace) -> Corpus:
    from plainly.io.tables import table_format
    from plainly.streaming.corpus import open_corpus
    from plainly.text.languages import detection

    if args.language == "auto":
        raise BadInput("The language of a corpus that is read in parts is not detected; pass --language CODE")
    language = detection.check(args.language) if args.language else ""
    tables = [args.table] if args.table else []
    if args.source or args.references:
        if tables:
            raise BadInput("A corpus comes from tables or from files with one text per line, not from both.")
        corpus = open_corpus(source=args.source, references=args.references, outputs=args.systems, groups=args.groups)
    elif tables or any(
        "://" in spec or os.path.isdir(spec) or table_format(spec.rstrip("*?")) is not None for spec in args.systems
    ):
        corpus = open_corpus([*tables, *args.systems], columns=columns(args.columns))
    elif not args.systems:
        raise BadInput("Nothing to score. Name a table, a folder of tables, or files with one text per line.")
    else:
        corpus = open_corpus(outputs=args.systems, groups=args.groups)
    return dataclasses.replace(corpus, language=language)


def state_file(args: argparse.Namespace, corpus: Corpus) -> Path:
    """Return the file in which a run over a corpus records what is needed to resume it; remove it with --restart."""
    from plainly.scoring import evaluate
    from plainly.scoring.corpus_evaluation import run_key

    if args.state:
        state = Path(args.state)
        check_target(state, inputs=[part.file for part in corpus.parts], force=args.force)
    else:
        metrics = evaluate.resolve_metrics(args.metrics, corpus, like=args.like, target=args.target)
        state = cache_directory() / "runs" / f"{run_key(corpus, metrics)}.npz"
    if args.restart:
        state.unlink(missing_ok=True)
    return state


def say_resumed(evaluation: ScoreTable) -> None:
    """Report that an earlier run had done some of the work."""
    reading = evaluation.reading
    if reading is not None and reading.resumed:
        say(f"plainly: resumed an earlier run: {reading.resumed} of {reading.parts} parts were measured before")


def read_rated(args: argparse.Namespace, *about_scales: str) -> Judgements | str:
    """Read the ratings that the arguments name; return the file's name if it contains rankings or operations.

    These are refused together with options ``about_scales``, which would have no effect.
    """
    from plainly.people.choices import read_rankings
    from plainly.people.operation_results import read_annotations

    if read_rankings(args.ratings) is None and read_annotations(args.ratings) is None:
        return read_judgements(args)
    for name in ("columns", "scale", "z_scores", "systems", *about_scales):
        if getattr(args, name):
            raise BadInput(
                f"--{name.replace('_', '-')} is for ratings on a scale, but in this study people ranked outputs or "
                f"marked operations. Leave it out. Their result: plainly results {args.ratings}"
            )
    return str(args.ratings)


def read_judgements(args: argparse.Namespace) -> Judgements:
    """Read the ratings that the arguments name."""
    from plainly.people import read_ratings
    from plainly.text.languages import detection

    roles = (columns(args.columns) or {}).items()
    judgements = read_ratings(
        args.ratings,
        columns={role: column if isinstance(column, str) else ",".join(column) for role, column in roles},
        scale=_scale(args.scale),
        systems=split_names(args.systems),
        z_scores=args.z_scores,
        progress=bar,
    )
    return dataclasses.replace(judgements, language=detection.check(args.language)) if args.language else judgements


def _scale(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = map(float, text.split(".."))
    except ValueError:
        raise BadInput(f"--scale takes LOW..HIGH, for example 1..5 or -2..2; not {text!r}.") from None
    return low, high
