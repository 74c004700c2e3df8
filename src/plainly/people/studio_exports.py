"""Tables that the studio exported: they say themselves what their scales are and whose ratings do not count.

In CSV a text that a spreadsheet would run as a formula has an apostrophe in front, which is none of the text.
"""

from dataclasses import replace
from typing import Any

from plainly.io.tables import Sheet

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
# What every table of ours has, and no other by chance.
MARKS = frozenset({"item", "rater", "cannot_judge", "revision", "late", "overtime", "seconds", "at", "excluded"})


def is_formula(value: object) -> bool:
    """Whether a spreadsheet would take a text for a formula, apostrophes before it aside."""
    return isinstance(value, str) and value.lstrip("'").startswith(_FORMULA)


def harmless(value: Any) -> Any:
    """A cell of our CSV, which no spreadsheet runs."""
    return f"'{value}" if is_formula(value) else value


def original(value: Any) -> Any:
    """What stands behind a cell of our CSV."""
    return value[1:] if is_formula(value) and value.startswith("'") else value


def is_ours(table: Sheet) -> bool:
    """Whether a table is one of the studio's."""
    return set(table.columns) >= MARKS


def plain(table: Sheet) -> Sheet:
    """One of our tables with its texts as they were typed; any other as it is."""
    if not is_ours(table) or not table.path.partition("?")[0].endswith((".csv", ".tsv", ".csv.gz")):
        return table
    return replace(table, columns={name: list(map(original, cells)) for name, cells in table.columns.items()})


def true(cell: object) -> bool:
    """Whether a cell says yes, as any of the formats writes it."""
    return cell is True or str(cell).strip().lower() in ("true", "1", "yes")


def counted(table: Sheet) -> Sheet:
    """One of our tables without the rows of people who were excluded."""
    if not is_ours(table):
        return table
    return table.chosen([row for row, cell in enumerate(table.columns["excluded"]) if not true(cell)])


def scales_of(table: Sheet) -> dict[str, tuple[float, float]]:
    """The ends of each scale, where the table says them."""
    if not is_ours(table) or not {"dimension", "minimum", "maximum"} <= set(table.columns):
        return {}
    rows = zip(*(table.columns[name] for name in ("dimension", "minimum", "maximum")), strict=True)
    return {str(name): (float(str(low)), float(str(high))) for name, low, high in rows}
