"""Options for what is too large to hold, and the decision whether something is: measured a part at a time."""

import argparse
import glob
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import say
from plainly.core.errors import BadInput
from plainly.core.files import check_target
from plainly.io.files import named
from plainly.io.tables import table_format
from plainly.scoring.scores import Evaluation
from plainly.streaming.corpus import Corpus, open_corpus
from plainly.streaming.engines import NAMES, Engine, engine
from plainly.text.languages import detection

# Files larger than this in all are not read whole unless that is asked for.
LARGE = 200_000_000
_STREAMED = ("parquet", "jsonl")


def add_streaming(parser: argparse.ArgumentParser) -> None:
    """The arguments for a corpus that is too large to hold in memory."""
    group = parser.add_argument_group("large corpora")
    group.add_argument(
        "--engine",
        choices=NAMES,
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


def wanted(args: argparse.Namespace) -> bool:
    """Whether the arguments ask for a corpus that is read a part at a time."""
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


def opened(args: argparse.Namespace) -> Corpus:
    """The corpus that the arguments name, in the language that they name."""
    if args.language == "auto":
        raise BadInput("The language of a corpus that is read in parts is not found out; say which: --language CODE")
    language = detection.check(args.language) if args.language else ""
    return replace(_opened(args), language=language)


def _opened(args: argparse.Namespace) -> Corpus:
    systems = list(args.systems)
    tables = [args.table] if args.table else []
    if args.source or args.references:
        if tables:
            raise BadInput("A corpus comes from tables or from files with one text a line, not from both.")
        return open_corpus(source=args.source, references=args.references, outputs=systems, groups=args.groups)
    if tables or any(_is_table(system) for system in systems):
        return open_corpus([*tables, *systems], columns=options.columns(args.columns))
    if not systems:
        raise BadInput("Nothing to score. Name a table, a folder of tables, or files with one text a line.")
    return open_corpus(outputs=systems, groups=args.groups)


def settings(args: argparse.Namespace, corpus: Corpus, specs: list[str]) -> dict[str, Any]:
    """Where to measure a corpus and where to keep what, as ``score`` and ``compare`` take it."""
    from plainly.scoring.streamed import run_key

    state = Path(args.state) if args.state else _states() / f"{run_key(corpus, specs)}.npz"
    if args.state:
        check_target(state, inputs=[part.file for part in corpus.parts])
    if args.restart:
        state.unlink(missing_ok=True)
    return {"engine": chosen_engine(args), "on_error": args.on_error, "set_aside": args.set_aside, "state": state}


def say_resumed(evaluation: Evaluation) -> None:
    """Say that an earlier run had done some of the work."""
    reading = evaluation.reading
    if reading is not None and reading.resumed:
        before = f"{reading.resumed} of {reading.parts} parts were measured before"
        say(f"plainly: went on from an earlier run: {before}")


def chosen_engine(args: argparse.Namespace) -> Engine:
    """Where a corpus in parts is worked on."""
    return engine(args.engine, processes=args.processes, address=args.address)


def _is_pattern(path: str | None) -> bool:
    return path is not None and glob.has_magic(path) and not os.path.exists(path) and table_format(path) in _STREAMED


def _is_table(spec: str) -> bool:
    return "://" in spec or os.path.isdir(spec) or table_format(spec.rstrip("*?")) is not None


def _states() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("plainly")) / "runs"
