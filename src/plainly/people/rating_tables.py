"""Ratings from tables: a row for each rating, or a row for each output with columns for raters, dimensions or means.

Columns are recognised by the names in columns.toml, or named by ``columns``. A cell that is empty, or holds one of the
words for it there (n/a), is a missing rating, and is counted. Anything else that is not a number, occurs twice or lies
outside the scale is an error that names the cell. Columns that are not read as ratings are reported.

Tables that the studio exported contain their scales and say whose ratings do not count. In its CSV files, text that a
spreadsheet would run as a formula has an apostrophe in front.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.files import read_shipped
from plainly.core.formatting import listed
from plainly.core.result import Note
from plainly.io import workbooks
from plainly.io.files import label, read_bytes, suffixes
from plainly.io.tables import Sheet, read_table
from plainly.people.ratings import Judgements, Rating, Scale

# Suffix → the module whose functions judgements(path) and rankings(path) read such a file, imported when needed.
READERS: dict[str, str] = {".toml": "plainly_studio"}

ROLES: dict[str, list[str]] = read_shipped(__file__, "columns.toml")
_MISSING = frozenset(ROLES.pop("missing"))
_TAKEN = frozenset(alias for role, aliases in ROLES.items() if role != "rating" for alias in aliases)
ONE_SYSTEM = "outputs"
AVERAGED = "mean"

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
# The columns that every table of the studio has, and no other table by chance.
_STUDIO_COLUMNS = frozenset(
    {"item", "rater", "cannot_judge", "revision", "late", "overtime", "seconds", "at", "excluded"}
)
# simplicity_1, simplicity_rater2, rating 3, simplicity:alice
_WIDE = re.compile(r"(?P<dimension>.+?)[\s._:-]*(?:rater|annotator|worker|judge|rating)?[\s._:-]*(?P<rater>\d+)", re.I)
_NAMED = re.compile(r"(?P<dimension>[^:]+):(?P<rater>.+)")


def table_of(path: str | Path) -> Sheet:
    if suffixes(path)[0] in workbooks.SUFFIXES:
        return sheet_table(workbooks.read_cells(read_bytes(path), path), label(path))
    return unescape_export(read_table(path))


def judgements_of(
    table: Sheet, *, name: str, columns: Mapping[str, str] | None = None, scale: Scale | None = None
) -> Judgements:
    table = without_excluded(table)
    roles = roles_of(table, columns)
    ratings = [rating for _, rating in ratings_in(table, roles)]
    if not any(rating.said for rating in ratings):
        raise BadInput(f"{table.path} has no ratings. {table.listing()}")
    systems, items = _systems(table, roles), _texts(table, roles["item"])
    texts = {
        role: ["" if not _filled(cell) else str(cell) for cell in table.column(roles[role])]
        for role in ("source", "output", "type")
        if role in roles
    }
    references = _references(table, items)
    return Judgements.of(
        name,
        ratings,
        scales={rating.dimension: scale for rating in ratings} if scale else _exported_scales(table),
        sources=dict(zip(items, texts.get("source", ()), strict=False)),
        outputs=dict(zip(zip(systems, items, strict=True), texts.get("output", ()), strict=False)),
        references={"given": references} if references else {},
        types=dict(zip(systems, texts.get("type", ()), strict=False)),
        remarks=remarks_on(table, roles),
    )


def remarks_on(table: Sheet, roles: Mapping[str, str]) -> tuple[Note, ...]:
    """What is not among the ratings of a table: cells without one, and columns that are not of numbers."""
    if "rating" in roles:
        columns, other = [roles["rating"]], []
    else:
        columns = list(_rating_columns(table, roles, long=True))
        other = [name for name in _unnamed_columns(table, roles) if name not in columns]
    remarks = []
    words = Counter(str("" if not _filled(cell) else cell).strip() for name in columns for cell in table.column(name))
    empty = {word: count for word, count in words.items() if word.casefold() in _MISSING}
    if empty:
        counts = [f"{count:,} {'empty' if not word else repr(word)}" for word, count in empty.items()]
        said = f"{sum(empty.values()):,} of {sum(words.values()):,} cells hold no rating ({', '.join(counts)})"
        remarks.append(Note(f"{table.path}: {said}; they count as not rated."))
    numbers = {name: sum(map(_is_number, table.column(name))) for name in other}
    if plain := [repr(name) for name, count in numbers.items() if not count]:
        remarks.append(Note(f"{table.path}: no ratings, because there is no number, in {listed(plain)}."))
    for name, count in numbers.items():
        if count:
            message = (
                f"{table.path}: column {name!r} is not taken for ratings, because only {count:,} of its {len(table):,} "
                "cells are numbers. Correct the others, or take the column out."
            )
            remarks.append(Note(message, kind="warning", code="not-ratings", where=name))
    return tuple(remarks)


def roles_of(table: Sheet, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Which column plays which part: by the names that studies use, and as ``columns`` says."""
    for role, column in (columns or {}).items():
        if role not in ROLES:
            raise BadInput(f"A table of ratings has no role {role!r}. Its roles: {', '.join(ROLES)}")
        table.column(column)
    folded = {name.strip().casefold().replace(" ", "_"): name for name in table.columns}
    roles = {role: folded[alias] for role, aliases in ROLES.items() for alias in reversed(aliases) if alias in folded}
    roles |= columns or {}
    if "item" not in roles:
        missing = f"{table.path} has no column that says which item was rated. {table.listing()}"
        raise BadInput(f"{missing} Name it: --columns item=COLUMN")
    return roles


def ratings_in(table: Sheet, roles: Mapping[str, str]) -> Iterator[tuple[int, Rating]]:
    """Every rating of a table with its row; a cell that is empty is a rating that was not given."""
    items, systems = _texts(table, roles["item"]), _systems(table, roles)
    raters = _texts(table, roles["rater"]) if "rater" in roles else None
    dimensions = ["rating"] * len(table)
    if "rating" in roles:
        columns = {roles["rating"]: ("", AVERAGED)}
        if "dimension" in roles:
            dimensions = _texts(table, roles["dimension"])
    else:
        columns = _rating_columns(table, roles, long=raters is not None)
    seen: set[tuple[str, str, str, str]] = set()
    for column, (named, numbered) in columns.items():
        for row, cell in enumerate(table.column(column)):
            value = _number(cell, where=f"{table.where(row)}, column {column!r}")
            key = (systems[row], items[row], raters[row] if raters else numbered, named or dimensions[row])
            if key in seen:
                raise BadInput(
                    f"{table.where(row)}: rater {key[2]!r} rated item {key[1]!r} of {key[0]!r} on {key[3]!r} twice. "
                    "Keep one of the rows, or name the columns that tell them apart (--columns system=… item=… "
                    "rater=…)."
                )
            seen.add(key)
            yield row, Rating(*key, value)


def sheet_table(rows: Sequence[Sequence[object]], path: str) -> Sheet:
    """A table from a sheet: its first row names the columns. Two rows of names are read as ``dimension:rater``."""
    filled = [(number, list(row)) for number, row in enumerate(rows, 1) if any(_filled(cell) for cell in row)]
    if len(filled) < 2:
        raise BadInput(f"{path} has no rows below the column names.")
    width = max(len(row) for _, row in filled)
    padded = [(number, [*row, *[None] * (width - len(row))]) for number, row in filled]
    (_, head), *body = padded
    names = [str(cell).strip() if _filled(cell) else "" for cell in head]
    second = body[0][1]
    unnamed = any(not name and _filled(cell) for name, cell in zip(names, second, strict=True))
    if unnamed and not any(map(_is_number, second)):
        # The raters stand above their dimensions, each over the first of its columns.
        above = ""
        for at, cell in enumerate(second):
            above = names[at] or above
            if _filled(cell):
                names[at] = f"{str(cell).strip()}:{above}"
        body = body[1:]
    kept = [at for at, name in enumerate(names) if name]
    if len({names[at] for at in kept}) < len(kept):
        raise BadInput(f"{path} has two columns of one name among: {', '.join(names[at] for at in kept)}. Rename one.")
    return Sheet({names[at]: [row[at] for _, row in body] for at in kept}, path, [number for number, _ in body], "row")


def _systems(table: Sheet, roles: Mapping[str, str]) -> list[str]:
    return _texts(table, roles["system"]) if "system" in roles else [ONE_SYSTEM] * len(table)


def _unnamed_columns(table: Sheet, roles: Mapping[str, str]) -> list[str]:
    """Columns that play no part by their name."""
    return [
        name
        for name in table.columns
        if (folded := name.strip().casefold().replace(" ", "_")) not in _TAKEN
        and not folded.startswith("reference")
        and name not in roles.values()
    ]


def _rating_columns(table: Sheet, roles: Mapping[str, str], *, long: bool) -> dict[str, tuple[str, str]]:
    """Column → (dimension, rater): the columns that play no other part and are mostly numbers, where not empty."""
    numeric = []
    for name in _unnamed_columns(table, roles):
        cells = [cell for cell in table.columns[name] if not _missing(cell)]
        if cells and 2 * sum(map(_is_number, cells)) >= len(cells):
            numeric.append(name)
    if not numeric:
        raise BadInput(
            f"{table.path} has no column of ratings. {table.listing()} Name it: --columns rating=COLUMN, or give each "
            "dimension or rater a column of numbers."
        )
    if long:
        return {name: (name, AVERAGED) for name in numeric}
    parted = {name: _NAMED.fullmatch(name) or _WIDE.fullmatch(name) for name in numeric}
    shared = [match["dimension"] for match in parted.values() if match]
    return {
        name: (match["dimension"].strip(), match["rater"].strip())
        if match and (":" in name or shared.count(match["dimension"]) > 1)
        else (name, AVERAGED)
        for name, match in parted.items()
    }


def _references(table: Sheet, items: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """References from columns whose names begin with ``reference``: a text each, or a list of texts."""
    columns = [cells for name, cells in table.columns.items() if name.strip().casefold().startswith("reference")]
    references: dict[str, tuple[str, ...]] = {}
    for row, item in enumerate(items):
        texts: list[object] = []
        for cell in (cells[row] for cells in columns):
            texts += filter(_filled, cell if isinstance(cell, list) else [cell])
        if texts:
            references.setdefault(item, tuple(map(str, texts)))
    return references


def _texts(table: Sheet, column: str) -> list[str]:
    texts = []
    for row, cell in enumerate(table.column(column)):
        if not _filled(cell):
            raise BadInput(f"{table.where(row)}: column {column!r} is empty. Fill it in or take the row out.")
        # A sheet stores the item 3 as 3.0.
        texts.append(str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip())
    return texts


def _number(cell: object, *, where: str) -> float:
    if _missing(cell):
        return math.nan
    if not _is_number(cell):
        raise BadInput(f"{where}: {cell!r} is not a number. Leave the cell empty where there is no rating.")
    return float(cell)  # type: ignore[arg-type]


def _missing(cell: object) -> bool:
    return not _filled(cell) or (isinstance(cell, str) and cell.strip().casefold() in _MISSING)


def _is_number(cell: object) -> bool:
    if isinstance(cell, bool) or not _filled(cell):
        return False
    try:
        return math.isfinite(float(cell))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _filled(cell: object) -> bool:
    return not (cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()))


def is_formula(value: object) -> bool:
    """Whether a spreadsheet would take a text for a formula, apostrophes before it aside."""
    return isinstance(value, str) and value.lstrip("'").startswith(_FORMULA)


def escape_formula(value: Any) -> Any:
    """A cell of an exported CSV file that no spreadsheet runs as a formula."""
    return f"'{value}" if is_formula(value) else value


def unescape_formula(value: Any) -> Any:
    """The value of a cell of an exported CSV file."""
    return value[1:] if is_formula(value) and value.startswith("'") else value


def is_studio_export(table: Sheet) -> bool:
    return set(table.columns) >= _STUDIO_COLUMNS


def unescape_export(table: Sheet) -> Sheet:
    """A table of the studio with its texts as they were typed; any other table unchanged."""
    if not is_studio_export(table) or not table.path.partition("?")[0].endswith((".csv", ".tsv", ".csv.gz")):
        return table
    return replace(table, columns={name: list(map(unescape_formula, cells)) for name, cells in table.columns.items()})


def is_true(cell: object) -> bool:
    """Whether a cell means yes, in any of the formats."""
    return cell is True or str(cell).strip().lower() in ("true", "1", "yes")


def without_excluded(table: Sheet) -> Sheet:
    """A table of the studio without the rows of excluded raters; any other table unchanged."""
    if not is_studio_export(table):
        return table
    return table.chosen([row for row, cell in enumerate(table.columns["excluded"]) if not is_true(cell)])


def _exported_scales(table: Sheet) -> dict[str, Scale]:
    """The scale of each dimension, where the table contains it."""
    if not is_studio_export(table) or not {"dimension", "minimum", "maximum"} <= set(table.columns):
        return {}
    rows = zip(*(table.columns[name] for name in ("dimension", "minimum", "maximum")), strict=True)
    return {str(name): (float(str(low)), float(str(high))) for name, low, high in rows}
