"""A table as plain text, Markdown, LaTeX, CSV or HTML."""

import csv
import html as html_escapes
import io
import re
import unicodedata
from collections.abc import Callable, Sequence

from plainly.result import Table


def plain(grid: Table) -> str:
    """Aligned with spaces, for a pipe or a repr."""
    cells = [grid.header, *grid.rows]
    widths = [max(display_width(row[column]) for row in cells) for column in range(len(grid.header))]

    def line(row: Sequence[str]) -> str:
        padded = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - display_width(cell))
            padded.append(cell + gap if column in grid.text_columns else gap + cell)
        return "  ".join(padded).rstrip()

    lines = [line(grid.header), "  ".join("-" * width for width in widths), *map(line, grid.rows)]
    return "\n".join([*([grid.caption] if grid.caption else []), *lines, *grid.notes])


def markdown(grid: Table) -> str:
    """A GitHub-flavoured Markdown table."""

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
    """A booktabs table."""

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


def delimited(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, delimiter: str = ",", line_end: str = "\n"
) -> str:
    """CSV (or TSV) of raw values; undefined is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(header)
    writer.writerows([["" if value is None or value != value else value for value in row] for row in rows])
    return out.getvalue().removesuffix(line_end)


def html(grid: Table) -> str:
    """A plain HTML table, for notebooks."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if column in grid.text_columns else "right" for column in range(len(cells)))
        styled = (
            f'<{tag} style="text-align:{side}">{html_escapes.escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return "<tr>" + "".join(styled) + "</tr>"

    caption = f"<caption>{html_escapes.escape(grid.caption)}</caption>" if grid.caption else ""
    body = "".join(line(row, "td") for row in grid.rows)
    return f"<table>{caption}<thead>{line(grid.header, 'th')}</thead><tbody>{body}</tbody></table>"


def paragraphs(sentences: Sequence[str]) -> str:
    """Sentences below a table in a notebook."""
    return "".join(f"<p>{html_escapes.escape(sentence)}</p>" for sentence in sentences)


RENDERERS: dict[str, Callable[[Table], str]] = {"plain": plain, "markdown": markdown, "latex": latex, "html": html}


def display_width(text: str) -> int:
    """Columns that a text takes in a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    text = re.sub("[\u200b-\u200f\u202a-\u202e\ufe00-\ufe0f]", "", text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
