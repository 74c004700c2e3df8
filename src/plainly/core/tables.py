"""A table as plain text, Markdown, LaTeX, CSV or HTML."""

import csv
import html as html_escapes
import io
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from plainly.core.result import Record, Table


def plain(grid: Table) -> str:
    """Format a table with aligned columns, for a pipe or a repr."""
    cells = [grid.header, *grid.rows]
    widths = [max(display_width(row[column]) for row in cells) for column in range(len(grid.header))]

    def line(row: Sequence[str]) -> str:
        gaps = [" " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True)]
        is_text = [column in grid.text_columns for column in range(len(row))]
        cells = [cell + gap if text else gap + cell for cell, gap, text in zip(row, gaps, is_text, strict=True)]
        return "  ".join(cells).rstrip()

    lines = [line(grid.header), "  ".join("-" * width for width in widths), *map(line, grid.rows)]
    return "\n".join([*([grid.caption] if grid.caption else []), *lines, *grid.notes])


def fit_columns(grid: Table, width: int) -> list[Table]:
    """Fit a table into the width of a terminal: without minor columns, or in parts that repeat the first column.

    Minor columns that stand side by side are shown or left out together, the widest first.
    """
    columns = list(range(len(grid.header)))
    minor = [[column for _, column in run] for _, run in groupby(enumerate(sorted(grid.minor)), lambda p: p[1] - p[0])]
    for group in sorted(minor, key=lambda group: -_wide(grid, group)):
        if _wide(grid, columns) > width:
            columns = [column for column in columns if column not in group]
    left_out = [name for column, name in enumerate(grid.header) if column not in columns]
    if not left_out and _wide(grid, columns) <= width:
        return [grid]
    parts: list[list[int]] = [[]]
    for column in columns[1:]:
        if parts[-1] and _wide(grid, [columns[0], *parts[-1], column]) > width:
            parts.append([])
        parts[-1].append(column)
    notes = (f"Columns left out: {', '.join(left_out)}. Show them with --wide.",) if left_out else ()
    last = len(parts) - 1
    return [
        _of_columns(grid, [columns[0], *part], (*grid.notes, *notes) if place == last else (), first=place == 0)
        for place, part in enumerate(parts)
    ]


def without_minor(grid: Table) -> Table:
    """Return a table without its minor columns."""
    return _of_columns(grid, [at for at in range(len(grid.header)) if at not in grid.minor], grid.notes, first=True)


def _wide(grid: Table, columns: Sequence[int]) -> int:
    """Return the width of the columns in a terminal, with the space between them."""
    widths = (max(display_width(row[column]) for row in (grid.header, *grid.rows)) for column in columns)
    return sum(widths) + 3 * (len(columns) - 1)


def _of_columns(grid: Table, columns: Sequence[int], notes: tuple[str, ...], *, first: bool) -> Table:
    rows = tuple(tuple(row[column] for column in columns) for row in grid.rows)
    text = frozenset(place for place, column in enumerate(columns) if column in grid.text_columns)
    header = tuple(grid.header[column] for column in columns)
    return Table(header, rows, grid.caption if first else "", notes, text)


def markdown(grid: Table) -> str:
    """Return a GitHub-flavoured Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = "|" + "|".join(":--" if column in grid.text_columns else "--:" for column in range(len(grid.header))) + "|"
    return "\n".join([line(grid.header), rule, *map(line, grid.rows)])


_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "±": r"$\pm$",
    "Δ": r"$\Delta$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
}


def latex(grid: Table) -> str:
    """Return a booktabs table."""

    def line(cells: Sequence[str]) -> str:
        return "  " + " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in cells) + r" \\"

    columns = "".join("l" if column in grid.text_columns else "r" for column in range(len(grid.header)))
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"  \toprule",
            line(grid.header),
            r"  \midrule",
            *map(line, grid.rows),
            r"  \bottomrule",
            r"\end{tabular}",
        ]
    )


def format_csv(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, delimiter: str = ",", line_end: str = "\n"
) -> str:
    """Format raw values as CSV or TSV; undefined is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(header)
    writer.writerows([["" if value is None or value != value else value for value in row] for row in rows])
    return out.getvalue().removesuffix(line_end)


def html(grid: Table) -> str:
    """Return a plain HTML table, for notebooks."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if column in grid.text_columns else "right" for column in range(len(cells)))
        cells_html = (
            f'<{tag} style="text-align:{side}">{html_escapes.escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return "<tr>" + "".join(cells_html) + "</tr>"

    caption = f"<caption>{html_escapes.escape(grid.caption)}</caption>" if grid.caption else ""
    body = "".join(line(row, "td") for row in grid.rows)
    return f"<table>{caption}<thead>{line(grid.header, 'th')}</thead><tbody>{body}</tbody></table>"


def paragraphs(sentences: Sequence[str]) -> str:
    """Format sentences as HTML paragraphs, for notebooks."""
    return "".join(f"<p>{html_escapes.escape(sentence)}</p>" for sentence in sentences)


RENDERERS: dict[str, Callable[[Table], str]] = {"plain": plain, "markdown": markdown, "latex": latex, "html": html}


def display_width(text: str) -> int:
    """Return how many columns a text takes in a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    text = re.sub("[\u200b-\u200f\u202a-\u202e\ufe00-\ufe0f]", "", text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wide(records: Sequence[Record]) -> list[Record]:
    """Return one record per system, with a key for each number; other records are returned unchanged."""
    if not all({"system", "metric", "output", "value"} <= record.keys() for record in records):
        return list(records)
    rows: dict[tuple[Any, ...], Record] = {}
    headlines: dict[str, str] = {}
    of_number = ("metric", "output", "value", "low", "high", "signature")
    for record in records:
        who = {name: value for name, value in record.items() if name not in of_number}
        row = rows.setdefault(tuple(who.items()), who)
        metric, output = record["metric"], record["output"]
        name = metric if headlines.setdefault(metric, output) == output else f"{metric}.{output}"
        row[name] = record["value"]
        row |= {f"{name}.{end}": record[end] for end in ("low", "high") if record.get(end) is not None}
    return list(rows.values())


def jsonable(value: Any) -> Any:
    """Return the same value with NaN and infinities as None, and NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(inner) for inner in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
