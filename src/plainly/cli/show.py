"""Any result in any format: data on stdout, messages on stderr. Nothing else in plainly prints results."""

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence

from plainly.core import tables
from plainly.core.result import Note, Result, Table

FORMATS = {
    "json": "print JSON",
    "csv": "print CSV, one row per system",
    "long": "print CSV, one row per number",
    "latex": "print LaTeX",
    "markdown": "print Markdown",
    "wide": "print tables with all columns, however narrow the terminal",
}

# Messages name Python arguments. The command line prints these options instead: an option with a placeholder for its
# value, or for one value of an argument a separate option.
_SAME_NAME = (
    "by difference doubts dry_run engine folds force incomplete labeller level levels like not_worse_than on_error "
    "operations over preset recipe require resamples rules seed segments target tradeoff trials unit"
)
FLAGS = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAME.split()} | {
    "address": "--address HOST:PORT",
    "against": "--against FILE",
    "calibrate": "--calibrate FILE",
    "columns": "--columns ROLE=COLUMN",
    "dimensions": "--dimension NAME",
    "documents": "--corpus FILE",
    "eight_bits=False": "--float",
    "gold": "--gold SET",
    "groups": "--groups FILE",
    "intervals=False": "--no-intervals",
    "language": "--language CODE",
    "judges": "--judges FILE",
    "max_cost": "--max-cost AMOUNT",
    "metrics": "-m",
    "outputs": "OUTPUT",
    "outputs='DIR'": "--outputs DIR",
    "outputs={'NAME': …}": "NAME=FILE",
    "people": "--people SET",
    "processes": "--processes N",
    "record": "--record FILE",
    "replay": "--replay FILE",
    "references": "--references FILE…, or -t SET",
    "scores": "--scores FILE",
    "select": "A selection by operation",
    "sources": "--source FILE",
    "systems": "--systems A,B",
    "tables": "--table",
    "test_set": "-t SET",
}
_NAMES = "|".join(sorted({key.partition("=")[0] for key in FLAGS}))
# An argument stands after a space or an opening bracket; the parameters of a metric's spec, sle(model=x), do not.
_ARGUMENT = re.compile(
    rf"(?<![^\s(])(?<!\w\()({_NAMES})=(\[[^]]*\]|\{{[^}}]*\}}|'[^']*'|\"[^\"]*\"|True|False|[0-9]+)?(?!\w)"
)


def for_shell(message: str) -> str:
    """Return a message with the options of the command line in place of Python's arguments."""
    return _ARGUMENT.sub(_flag, message)


def _flag(match: re.Match[str]) -> str:
    name, value = match[1], match[2] or ""
    if f"{name}={value}" in FLAGS or name not in FLAGS:
        return FLAGS.get(f"{name}={value}", match[0])
    if not value:
        return FLAGS[name]
    flag = FLAGS[name].partition(" ")[0]
    if value == "True":
        return flag
    if value.startswith("{"):
        pairs = re.findall(r"'([^']*)': (\[[^]]*\]|'[^']*'|[^',}]*)", value)
        items = [(key, item.strip("[]'").replace("', '", ",")) for key, item in pairs]
        return f"{flag} {','.join(f'{key}={item}' for key, item in items)}"
    text = value.strip("[]").strip("'\"")
    return f"{flag} {shlex.quote(text)}"


def show(result: Result, form: str | None = None, *, parts: bool = True) -> int:
    """Print a result. Claims are data and go to stdout with the tables; warnings and remarks go to stderr.

    Without ``parts``, minor columns are left out.

    Return the number of warnings, for ``--strict``.
    """
    notes = result.notes()
    warnings = [note for note in notes if note.kind == "warning"]
    # A warning that makes a number meaningless is printed before the number.
    print_warnings([warning for warning in warnings if warning.severity == "error"])
    if form == "json":  # undefined is null
        print(json.dumps(result.json(), ensure_ascii=False, indent=2, allow_nan=False))
    elif form in ("csv", "long"):
        records = tables.wide(result.records()) if form == "csv" else result.records()
        names = list(dict.fromkeys(name for record in records for name in record))
        print(tables.format_csv(names, [[record.get(name) for name in names] for record in records]))
    else:
        grids = result.tables()
        for position, table in enumerate(grids):
            if position:
                print()
            print_table(table if parts else tables.without_minor(table), form)
        if claims := [for_shell(note.message) for note in notes if note.kind == "claim"]:
            print("\n" * bool(grids) + "\n".join(claims))
        for note in notes if form in (None, "wide") else ():
            if note.kind == "about":
                say(note.message)
    print_warnings([warning for warning in warnings if warning.severity != "error"])
    return sum(warning.severity != "note" for warning in warnings)


def print_table(table: Table, form: str | None = None) -> None:
    """Print a table: with rules and colours in a terminal, aligned by spaces in a pipe."""
    if form in ("latex", "markdown"):
        print(tables.RENDERERS[form](table))
    elif form is None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        _print_rich(table)
    else:
        print(tables.plain(table))


def say(message: str) -> None:
    """Print a message on stderr."""
    print(for_shell(message), file=sys.stderr)


def say_written(*paths: object) -> None:
    """Report on stderr which files were written; None is skipped."""
    for path in paths:
        if path is not None:
            say(f"Wrote {path}")


def print_warnings(warnings: Sequence[Note]) -> None:
    """Print one line per code: its first warning and where else it occurred; then how to learn more."""
    by_code: dict[str, list[Note]] = {}
    for warning in warnings:
        by_code.setdefault(warning.code, []).append(warning)
    for code, (first, *others) in by_code.items():
        elsewhere = list(dict.fromkeys(warning.where for warning in others if warning.where not in ("", first.where)))
        more = f" Also {', '.join(elsewhere[:3])}{f' and {len(elsewhere) - 3} more' if len(elsewhere) > 3 else ''}."
        say(f"plainly: [{code}] {first.message}{more if elsewhere else ''}")
    if warnings:
        say(f"plainly: what a code means: plainly doctor --explain {warnings[0].code}")


def _print_rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    for number, part in enumerate(tables.fit_columns(table, console.width)):
        if number:
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
