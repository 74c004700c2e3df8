"""How results leave the command line: a table for people, JSON, CSV, LaTeX or Markdown for what comes next."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from typing import Any

from plainly.render import tables
from plainly.result import Table

FORMATS = ("json", "csv", "latex", "markdown")


def add_formats(parser: argparse.ArgumentParser) -> None:
    """--json, --csv, --latex, --markdown: at most one of them."""
    formats = parser.add_argument_group("how to print").add_mutually_exclusive_group()
    for name in FORMATS:
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=f"print {name.upper()}")


def print_grid(grid: Table, *, form: str | None = None) -> None:
    """A table on stdout: with rules and colours in a terminal, aligned by spaces in a pipe."""
    if form in ("latex", "markdown"):
        print(tables.RENDERERS[form](grid))
    elif sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        _print_rich(grid)
    else:
        print(tables.plain(grid))


def print_json(payload: Any) -> None:
    """JSON on stdout, where undefined is null."""
    print(json.dumps(jsonable(payload), ensure_ascii=False, indent=2, allow_nan=False))


def jsonable(value: Any) -> Any:
    """The same value with NaN and infinities as None, and NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(inner) for inner in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def note(message: str) -> None:
    """A message for the person at the terminal, on stderr."""
    print(message, file=sys.stderr)


def _print_rich(grid: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=grid.caption or None, title_justify="left")
    for position, name in enumerate(grid.header):
        table.add_column(Text(name), justify="left" if position in grid.text_columns else "right", overflow="fold")
    for row in grid.rows:
        table.add_row(*map(Text, row))
    console = Console()
    console.print(table)
    for line in grid.notes:
        console.print(Text(line, style="dim"))
