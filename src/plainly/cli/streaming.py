"""What is too large to hold: measured a part at a time, on all cores or a cluster, with a bar and a way back."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plainly.cli import inputs, output
from plainly.engines import Tell, engine
from plainly.errors import BadInput
from plainly.inputs.tables import table_format
from plainly.render import tables

if TYPE_CHECKING:
    from plainly.inputs.corpus import Corpus
    from plainly.scoring.streamed import StreamEvaluation

# Files larger than this in all are not read whole unless that is asked for.
LARGE = 200_000_000
_STREAMED = ("parquet", "jsonl")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to measure what is large."""
    large = parser.add_argument_group("large corpora")
    large.add_argument(
        "--engine",
        choices=("auto", "memory", "local", "ray"),
        default="auto",
        help="memory: read everything; local: a part at a time, on all cores; ray: on a Ray cluster; auto (the "
        "default): local for folders and for more than 200 MB, else memory",
    )
    large.add_argument("--processes", type=int, metavar="N", help="how many workers; results are the same")
    large.add_argument("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    large.add_argument(
        "--on-error",
        choices=("stop", "set-aside"),
        default="stop",
        help="what to do with rows that cannot be measured; either way they are named (stop)",
    )
    large.add_argument("--set-aside", metavar="FILE", help="where to list the rows set aside (.jsonl)")
    large.add_argument("--state", metavar="FILE", help="where to keep how far the run has come (default: in the cache)")
    large.add_argument("--restart", action="store_true", help="begin again, even if an earlier run was interrupted")


def wanted(args: argparse.Namespace) -> bool:
    """Whether the arguments ask for a corpus that is read a part at a time."""
    if args.engine != "auto":
        if args.engine != "memory" and (args.test_set or args.demo):
            raise BadInput(f"--engine {args.engine} reads your own files; named sets are small: leave it out.")
        return bool(args.engine != "memory")
    if args.test_set is not None or args.demo:
        return False
    paths = [*([args.source] if args.source else []), *args.references, *([args.table] if args.table else [])]
    paths += [system if os.path.exists(system) else system.partition("=")[2] for system in args.systems]
    if any("://" in path or os.path.isdir(path) for path in paths):
        return True
    files = [path for path in paths if os.path.isfile(path)]
    if any(path.endswith(".npz") for path in files):  # saved scores
        return False
    kinds = {table_format(path) for path in files}
    streamed = kinds <= {None} or (len(files) == 1 and kinds <= set(_STREAMED))
    return streamed and sum(map(os.path.getsize, files)) > LARGE


def run(args: argparse.Namespace) -> int:
    """Measure, print, and say what is missing; 130 when it was interrupted."""
    refuse(args, "by", "sanity", "references_with", "references_without", "items_with", "items_without", "groups")
    found = evaluated(args)
    if args.save:
        from plainly.scoring.scorefile import save

        save(args.save, *found.binned())
    _print(found, args)
    return 0 if found.complete else 130


def refuse(args: argparse.Namespace, *names: str) -> None:
    """Options that need the whole corpus at once are refused, not ignored."""
    given = [name for name in names if getattr(args, name, None)]
    if getattr(args, "over", "items") != "items":
        given.append("over")
    if given:
        raise BadInput(f"--{given[0].replace('_', '-')} needs the corpus as a whole: --engine memory, or leave it out.")


def evaluated(args: argparse.Namespace, *, paired: bool = False) -> StreamEvaluation:
    """Everything that the arguments name, measured."""
    from plainly.scoring.streamed import run_key, score_stream

    segments = getattr(args, "segments", None)
    if segments and Path(segments).suffix:
        raise BadInput(f"--segments names a folder for Parquet files when a corpus is read in parts; not {segments}.")
    corpus = opened(args)
    try:
        specs = inputs.chosen_metrics(args, references=corpus.has_references)
        state = Path(args.state) if args.state else _states() / f"{run_key(corpus, specs)}.npz"
        if args.restart:
            state.unlink(missing_ok=True)
        with measuring(corpus.rows) as tell:
            found = score_stream(
                corpus,
                specs,
                engine=engine(_engine(args), processes=args.processes, address=args.address),
                intervals=not getattr(args, "no_intervals", False),
                level=args.level,
                resamples=args.resamples,
                method=getattr(args, "method", "percentile"),
                seed=args.seed,
                on_error=args.on_error,
                segments=segments,
                set_aside=args.set_aside,
                paired=paired,
                state=state,
                tell=tell,
            )
    finally:
        corpus.close()
    if found.resumed:
        parts = len(corpus.parts)
        output.note(f"plainly: went on from an earlier run: {found.resumed} of {parts} parts were measured before")
    if not found.items:
        if not found.complete:
            raise KeyboardInterrupt
        raise BadInput(f"{corpus.name} has no row that can be measured; {found.set_aside} were set aside.")
    return found


def label(args: argparse.Namespace) -> None:
    """``plainly operations label`` on a corpus in parts: a folder of JSONL files, one for each part."""
    from plainly.questions.labelling import label_stream

    if not args.output or Path(args.output).suffix:
        raise BadInput("A corpus that is read in parts is labelled into a folder. Name one: -o FOLDER")
    corpus = opened(args)
    try:
        with measuring(corpus.rows) as tell:
            found = label_stream(
                corpus,
                args.output,
                labeller=args.labeller,
                engine=engine(_engine(args), processes=args.processes, address=args.address),
                on_error=args.on_error,
                restart=args.restart,
                tell=tell,
            )
    finally:
        corpus.close()
    if args.format == "json":
        output.print_json({"schema": "plainly.operations/1", "labeller": args.labeller, **found.payload()})
    output.note(f"plainly: {found.pairs:,} pairs labelled into {args.output} ({found.parts} parts)")
    if found.resumed:
        output.note(f"plainly: {found.resumed} of {found.parts} parts were labelled before")
    if found.bad:
        shown = "; ".join(f"{bad.where}: {bad.reason}" for bad in found.bad[:3])
        output.note(f"plainly: {sum(map(len, found.bad)):,} rows were set aside. {shown}")


def opened(args: argparse.Namespace) -> Corpus:
    """The corpus that the arguments name."""
    from plainly.inputs.corpus import open_corpus

    systems = list(args.systems)
    given = [args.table] if args.table else []
    if args.source or args.references:
        if given:
            raise BadInput("A corpus comes from tables or from files with one text a line, not from both.")
        return open_corpus(source=args.source, references=args.references, outputs=systems)
    columns = inputs._columns(args.columns)
    if given or any(_is_table(system) for system in systems):
        return open_corpus([*given, *systems], columns=columns)
    if not systems:
        raise BadInput("Nothing to score. Name a table, a folder of tables, or files with one text a line.")
    return open_corpus(outputs=systems)


def incomplete(found: StreamEvaluation) -> list[str]:
    """What a reader of the numbers must know: that rows were set aside, or that the run was interrupted."""
    lines = []
    if not found.complete:
        share = found.read / found.rows if found.rows else 0.0
        lines.append(
            f"PARTIAL RESULT: interrupted after {found.read:,} of {found.rows:,} rows ({share:.0%}). These are not a "
            "random sample. The same command goes on from here."
        )
    if found.set_aside:
        shown = "; ".join(f"{bad.where}: {bad.reason}" for bad in found.bad[:3])
        lines.append(f"{found.set_aside:,} rows were set aside. {shown}{' …' if found.set_aside > 3 else ''}")
    return lines


def payload(found: StreamEvaluation) -> dict[str, Any]:
    """The JSON of ``plainly score`` on a corpus in parts: schema plainly.score/1 with what became of the rows."""
    from plainly.cli.score import score_payload

    evaluation = found.evaluation()
    warnings = []
    if not found.complete:
        warnings.append({"code": "partial", "message": incomplete(found)[0]})
    if found.set_aside:
        warnings.append({"code": "set-aside", "message": incomplete(found)[-1]})
    return {
        "schema": "plainly.score/1",
        "test_set": found.name,
        "items": found.items,
        "seed": found.seed,
        "systems": [
            {"system": system, "scores": {spec: score_payload(scores) for spec, scores in of_system.items()}}
            for system, of_system in evaluation.systems.items()
        ],
        "rows": {
            "total": found.rows,
            "read": found.read,
            "set_aside": found.set_aside,
            "named": [
                {"file": bad.file, "first": bad.first, "last": bad.last, "reason": bad.reason} for bad in found.bad
            ],
        },
        "complete": found.complete,
        "drawn_by": found.keyed_by,
        "warnings": warnings,
    }


def _print(found: StreamEvaluation, args: argparse.Namespace) -> None:
    evaluation = found.evaluation()
    if args.format == "json":
        output.print_json(payload(found))
    elif args.format == "csv":
        records = evaluation.records()
        print(tables.delimited(list(records[0]), [list(record.values()) for record in records]))
    else:
        output.print_grid(evaluation.table(), form=args.format)
        if args.signature:
            for spec in evaluation.specs:
                print(next(iter(evaluation.values()))[spec].signature)
        if args.format is None:
            _footnotes(found, args)
    for line in incomplete(found):
        output.note(f"plainly: {line}")


def _footnotes(found: StreamEvaluation, args: argparse.Namespace) -> None:
    references = ""
    if found.references is not None:
        fewest, most = found.references
        many = f"{most}" if fewest == most else f"{fewest} to {most}"
        references = f", {many} reference{'' if fewest == most == 1 else 's'} each"
    line = f"{found.items:,} items{references} of {found.name}."
    first = next(iter(next(iter(found.systems.values())).values()))
    for estimate in first.intervals.values():
        line += f" In brackets: {estimate.level:.0%} {estimate.method}, seed {args.seed}."
        break
    output.note(line)
    if not args.no_advice:
        for spec, tally in next(iter(found.systems.values())).items():
            if evidence := getattr(tally.metric, "evidence", ""):
                output.note(f"{spec}: {evidence}")


@contextmanager
def measuring(total: int, *, unit: str = "rows") -> Iterator[Tell]:
    """Something to tell of work done: a bar with rate and time left for a person, a line now and then for a log."""
    if not sys.stderr.isatty():
        yield _Log(total, unit).tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("measuring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=total, rate="")
        log = _Log(total, unit)

        def tell(amount: int) -> None:
            log.count(amount)
            bar.update(task, advance=amount, rate=f"{log.rate:,.0f} {unit}/s")

        yield tell


class _Log:
    """Counts rows; as a log, says every half minute how many, how fast and how long it will take."""

    def __init__(self, total: int, unit: str, *, every: float = 30.0) -> None:
        self._total, self._unit, self._every = total, unit, every
        self._start = self._said = time.monotonic()
        self._first: int | None = None  # what an earlier run had done is no work of this one
        self.done = 0

    @property
    def rate(self) -> float:
        return (self.done - (self._first or 0)) / max(time.monotonic() - self._start, 1e-9)

    def count(self, amount: int) -> None:
        self.done += amount
        if self._first is None:
            self._first = self.done

    def tell(self, amount: int) -> None:
        self.count(amount)
        if time.monotonic() - self._said >= self._every:
            self._said = time.monotonic()
            left = (self._total - self.done) / self.rate if self.rate else float("inf")
            output.note(
                f"plainly: {self.done:,} of {self._total:,} {self._unit}, {self.rate:,.0f} a second, "
                f"about {left / 60:.0f} minutes left"
            )


def _engine(args: argparse.Namespace) -> str:
    return "local" if args.engine == "auto" else str(args.engine)


def _is_table(spec: str) -> bool:
    return "://" in spec or os.path.isdir(spec) or table_format(spec.rstrip("*?")) is not None


def _states() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("plainly")) / "runs"
