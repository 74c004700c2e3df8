"""Any result in any format: data on stdout, messages on stderr. Nothing else in plainly prints results."""

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from plainly.core import tables
from plainly.core.result import Note, Record, Result, Table

FORMATS = {
    "json": "print JSON",
    "csv": "print CSV, one row a system",
    "long": "print CSV, one row a number",
    "latex": "print LaTeX",
    "markdown": "print Markdown",
    "wide": "print tables with all columns, however narrow the terminal",
}

# Messages name arguments as Python does. Here is what stands for each of them on the command line: an option with the
# placeholder of its value, or for one value of an argument an option of its own.
FLAGS = {
    "address": "--address HOST:PORT",
    "against": "--against FILE",
    "by": "--by",
    "columns": "--columns ROLE=COLUMN",
    "difference": "--difference",
    "dimensions": "--dimension NAME",
    "documents": "--corpus FILE",
    "eight_bits=False": "--float",
    "engine": "--engine",
    "folds": "--folds",
    "force": "--force",
    "gold": "--gold SET",
    "groups": "--groups FILE",
    "incomplete": "--incomplete",
    "intervals=False": "--no-intervals",
    "labeller": "--labeller",
    "language": "--language CODE",
    "level": "--level",
    "levels": "--levels",
    "metrics": "-m",
    "not_worse_than": "--not-worse-than",
    "on_error": "--on-error",
    "operations": "--operations",
    "outputs": "OUTPUT",
    "outputs='DIR'": "--outputs DIR",
    "outputs={'NAME': …}": "NAME=FILE",
    "over": "--over",
    "people": "--people SET",
    "preset": "--preset",
    "processes": "--processes N",
    "recipe": "--recipe",
    "references": "--references FILE…, or -t SET",
    "require": "--require",
    "resamples": "--resamples",
    "rules": "--rules",
    "scores": "--scores FILE",
    "seed": "--seed",
    "segments": "--segments",
    "sources": "--source FILE",
    "systems": "--systems A,B",
    "tables": "--table",
    "test_set": "-t SET",
    "tradeoff": "--tradeoff",
    "trials": "--trials",
    "unit": "--unit",
}
_NAMES = "|".join(sorted({key.partition("=")[0] for key in FLAGS}))
# An argument stands after a space or an opening bracket; the parameters of a metric's spec, sle(model=x), do not.
_ARGUMENT = re.compile(
    rf"(?<![^\s(])(?<!\w\()({_NAMES})=(\[[^]]*\]|\{{[^}}]*\}}|'[^']*'|\"[^\"]*\"|True|False|[0-9]+)?(?!\w)"
)


def for_shell(message: str) -> str:
    """A message with the options of the command line in place of Python's arguments."""
    return _ARGUMENT.sub(_flag, message)


def _flag(match: re.Match[str]) -> str:
    name, value = match[1], match[2] or ""
    if f"{name}={value}" in FLAGS:
        return FLAGS[f"{name}={value}"]
    if name not in FLAGS:
        return match[0]
    if not value:
        return FLAGS[name]
    flag = FLAGS[name].partition(" ")[0]
    if value == "True":
        return flag
    if value.startswith("{"):
        pairs = re.findall(r"'([^']*)': '?([^',}]*)", value)
        return f"{flag} {','.join(f'{key}={of}' for key, of in pairs)}"
    text = value.strip("[]").strip("'\"")
    return f"{flag} {shlex.quote(text)}"


def add_formats(parser: argparse.ArgumentParser) -> None:
    """--json, --csv, --long, --latex, --markdown, --wide: at most one of them."""
    formats = parser.add_argument_group("how to print").add_mutually_exclusive_group()
    for name, help_text in FORMATS.items():
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=help_text)
    parser.add_argument("--strict", action="store_true", help="exit with status 1 if there is any warning")


def show(result: Result, form: str | None = None) -> int:
    """Print a result. Claims are data and go to stdout with the tables; warnings and remarks go to stderr.

    The answer is how many warnings there were, for ``--strict``.
    """
    notes = result.notes()
    warnings = [note for note in notes if note.kind == "warning"]
    # What makes a number meaningless is said before the number.
    print_warnings([warning for warning in warnings if warning.severity == "error"])
    if form == "json":
        print_json(result.json())
    elif form in ("csv", "long"):
        records = result.records()
        print_records(tables.wide(records) if form == "csv" else records)
    else:
        grids = result.tables()
        for place, table in enumerate(grids):
            print_table(table, form)
            if place + 1 < len(grids):
                print()
        claims = [for_shell(note.message) for note in notes if note.kind == "claim"]
        if claims:
            print("\n" * bool(grids) + "\n".join(claims))
        if form in (None, "wide"):
            for note in notes:
                if note.kind == "about":
                    say(note.message)
    print_warnings([warning for warning in warnings if warning.severity != "error"])
    return sum(warning.severity != "note" for warning in warnings)


def print_table(table: Table, form: str | None = None) -> None:
    """A table on stdout: with rules and colours in a terminal, aligned by spaces in a pipe."""
    if form in ("latex", "markdown"):
        print(tables.RENDERERS[form](table))
    elif form is None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        _print_rich(table)
    else:
        print(tables.plain(table))


def print_json(payload: Any) -> None:
    """JSON on stdout, where undefined is null."""
    print(json.dumps(tables.jsonable(payload), ensure_ascii=False, indent=2, allow_nan=False))


def print_records(records: Sequence[Record]) -> None:
    """CSV on stdout; a record without a column leaves it empty."""
    names = list(dict.fromkeys(name for record in records for name in record))
    print(tables.delimited(names, [[record.get(name) for name in names] for record in records]))


def say(message: str) -> None:
    """A message for the person at the terminal, on stderr."""
    print(for_shell(message), file=sys.stderr)


def print_warnings(warnings: Sequence[Note]) -> None:
    """One line a code: its first warning and where else it was seen; how to learn more is said once."""
    by_code: dict[str, list[Note]] = {}
    for warning in warnings:
        by_code.setdefault(warning.code, []).append(warning)
    for code, same in by_code.items():
        elsewhere = list(dict.fromkeys(warning.where for warning in same if warning.where not in ("", same[0].where)))
        more = f" Also {', '.join(elsewhere[:3])}{f' and {len(elsewhere) - 3} more' if len(elsewhere) > 3 else ''}."
        say(f"plainly: [{code}] {same[0].message}{more if elsewhere else ''}")
    if warnings:
        say(f"plainly: what a code means: plainly doctor --explain {warnings[0].code}")


def _print_rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    for place, part in enumerate(tables.fitted(table, console.width)):
        if place:
            console.print()
        title = part.caption or None
        grid = RichTable(box=box.SIMPLE_HEAD, title=title, title_justify="left", show_edge=False, pad_edge=False)
        for position, name in enumerate(part.header):
            grid.add_column(Text(name), justify="left" if position in part.text_columns else "right", overflow="fold")
        for row in part.rows:
            grid.add_row(*map(Text, row))
        console.print(grid)
        for line in part.notes:
            console.print(Text(line, style="dim"))
