"""Ratings from tables: a row for each rating, or a row for each output with columns for raters, dimensions or means.

Columns are found by the names that studies use (``ROLES``); ``columns`` says otherwise. A rating that is empty was not
given. What is no number, stands twice or lies outside the scale is an error that names the place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from plainly.errors import BadInput
from plainly.inputs import workbooks
from plainly.inputs.files import label, read_bytes, suffixes
from plainly.inputs.tables import Sheet, read_table
from plainly.ratings.types import Judgements, Ratings, Scale, guess_scale

ROLES: dict[str, tuple[str, ...]] = {
    "system": ("system", "sys_name", "system_name", "model", "systems"),
    "item": ("item", "item_id", "sent_id", "sentence_id", "original_sentence_id", "original_id", "id", "sentence"),
    "rater": ("rater", "rater_id", "worker_id", "worker", "annotator", "annotator_id", "judge", "workerid"),
    "dimension": ("dimension", "aspect", "criterion", "question", "scale"),
    "rating": ("rating", "score", "value", "judgement", "judgment", "label"),
    "source": ("source", "orig_sent", "original", "complex", "src", "input"),
    "output": ("output", "simp_sent", "simplification", "generation", "prediction", "simplified"),
    "type": ("type", "sys_type", "system_type"),
}
_TAKEN = frozenset(alias for role, aliases in ROLES.items() if role != "rating" for alias in aliases)
ONE_SYSTEM = "outputs"
AVERAGED = "mean"

# simplicity_1, simplicity_rater2, rating 3, simplicity:alice
_WIDE = re.compile(r"(?P<dimension>.+?)[\s._:-]*(?:rater|annotator|worker|judge|rating)?[\s._:-]*(?P<rater>\d+)", re.I)
_NAMED = re.compile(r"(?P<dimension>[^:]+):(?P<rater>.+)")


def read_ratings(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    dimension: str = "rating",
    scale: Scale | None = None,
) -> Judgements:
    """Ratings from a CSV, TSV, JSONL, JSON, Parquet, .ods or .xlsx file; a scale that is given is checked."""
    if suffixes(path)[0] in workbooks.SUFFIXES:
        table = sheet_table(workbooks.read_cells(read_bytes(path), path), label(path))
    else:
        table = read_table(path)
    name = Path(str(path)).name
    return judgements_of(table, name=name, columns=columns, dimension=dimension, scale=scale)


def judgements_of(
    table: Sheet,
    *,
    name: str,
    columns: Mapping[str, str] | None = None,
    dimension: str = "rating",
    scale: Scale | None = None,
) -> Judgements:
    """Ratings from a table that was read."""
    roles = _roles(table, columns or {})
    items = _texts(table, roles["item"])
    systems = _texts(table, roles["system"]) if "system" in roles else [ONE_SYSTEM] * len(table)
    found: dict[str, dict[tuple[str, str, str], float]] = {}

    def take(row: int, what: str, rater: str, cell: object, column: str) -> None:
        value = _number(cell, where=f"{table.where(row)}, column {column!r}")
        key = (systems[row], items[row], rater)
        given = found.setdefault(what, {})
        if key in given:
            raise BadInput(
                f"{table.where(row)}: rater {rater!r} rated item {key[1]!r} of {key[0]!r} on {what!r} twice. Keep one "
                "of the rows, or name the columns that tell them apart (--columns system=… item=… rater=…)."
            )
        given[key] = value

    raters = _texts(table, roles["rater"]) if "rater" in roles else None
    if "rating" in roles:
        dimensions = _texts(table, roles["dimension"]) if "dimension" in roles else [dimension] * len(table)
        for row, cell in enumerate(table.column(roles["rating"])):
            take(row, dimensions[row], raters[row] if raters else AVERAGED, cell, roles["rating"])
    else:
        for column, (what, rater) in _rating_columns(table, roles, long=raters is not None).items():
            for row, cell in enumerate(table.column(column)):
                take(row, what, raters[row] if raters else rater, cell, column)
    if not any(not math.isnan(value) for given in found.values() for value in given.values()):
        raise BadInput(f"{table.path} has no ratings. {table.listing()}")
    return _judgements(name, found, scale, table, roles, systems, items)


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
    if any(not name and _filled(cell) for name, cell in zip(names, second, strict=True)) and not any(
        _is_number(cell) for cell in second
    ):
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


def _roles(table: Sheet, given: Mapping[str, str]) -> dict[str, str]:
    for role, column in given.items():
        if role not in ROLES:
            raise BadInput(f"A table of ratings has no role {role!r}. Its roles: {', '.join(ROLES)}")
        table.column(column)
    folded = {name.strip().casefold().replace(" ", "_"): name for name in table.columns}
    roles = {role: folded[alias] for role, aliases in ROLES.items() for alias in reversed(aliases) if alias in folded}
    roles |= given
    if "item" not in roles:
        raise BadInput(
            f"{table.path} has no column that says which item was rated. {table.listing()} "
            "Name it: --columns item=COLUMN"
        )
    return roles


def _rating_columns(table: Sheet, roles: Mapping[str, str], *, long: bool) -> dict[str, tuple[str, str]]:
    """Column → (dimension, rater): all columns of numbers that play no other part."""
    numeric = [
        name
        for name, cells in table.columns.items()
        if name.strip().casefold().replace(" ", "_") not in _TAKEN
        and name not in roles.values()
        and any(_is_number(cell) for cell in cells)
        and all(_is_number(cell) or not _filled(cell) for cell in cells)
    ]
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


def _judgements(
    name: str,
    found: Mapping[str, Mapping[tuple[str, str, str], float]],
    scale: Scale | None,
    table: Sheet,
    roles: Mapping[str, str],
    systems: Sequence[str],
    items: Sequence[str],
) -> Judgements:
    system_at = {system: at for at, system in enumerate(dict.fromkeys(systems))}
    item_at = {item: at for at, item in enumerate(dict.fromkeys(items))}
    ratings = {}
    for what, given in found.items():
        rater_at = {rater: at for at, rater in enumerate(dict.fromkeys(rater for _, _, rater in given))}
        values = np.full((len(system_at), len(item_at), len(rater_at)), np.nan)
        for (system, item, rater), value in given.items():
            values[system_at[system], item_at[item], rater_at[rater]] = value
        ratings[what] = Ratings(
            what, tuple(system_at), tuple(item_at), tuple(rater_at), values, scale or guess_scale(values)
        )
    texts = {
        role: ["" if not _filled(cell) else str(cell) for cell in table.column(roles[role])]
        for role in ("source", "output", "type")
        if role in roles
    }
    references = _references(table, items)
    return Judgements(
        name,
        tuple(system_at),
        tuple(item_at),
        ratings,
        references={"given": references} if references else {},
        sources=dict(zip(items, texts["source"], strict=True)) if "source" in texts else {},
        outputs=dict(zip(zip(systems, items, strict=True), texts["output"], strict=True)) if "output" in texts else {},
        types=dict(zip(systems, texts["type"], strict=True)) if "type" in texts else {},
    )


def _references(table: Sheet, items: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """References from columns whose names begin with ``reference``: a text each, or a list of texts."""
    columns = [cells for name, cells in table.columns.items() if name.strip().casefold().startswith("reference")]
    found: dict[str, tuple[str, ...]] = {}
    for row, item in enumerate(items):
        texts: list[str] = []
        for cell in (cells[row] for cells in columns):
            texts += [str(text) for text in (cell if isinstance(cell, list) else [cell]) if _filled(text)]
        if texts and item not in found:
            found[item] = tuple(texts)
    return found


def _texts(table: Sheet, column: str) -> list[str]:
    found = []
    for row, cell in enumerate(table.column(column)):
        if not _filled(cell):
            raise BadInput(f"{table.where(row)}: column {column!r} is empty. Fill it in or take the row out.")
        # A sheet stores the item 3 as 3.0.
        found.append(str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip())
    return found


def _number(cell: object, *, where: str) -> float:
    if not _filled(cell):
        return math.nan
    if not _is_number(cell):
        raise BadInput(f"{where}: {cell!r} is not a number. Leave the cell empty where there is no rating.")
    return float(cell)  # type: ignore[arg-type]


def _is_number(cell: object) -> bool:
    if isinstance(cell, bool) or not _filled(cell):
        return False
    try:
        return math.isfinite(float(cell))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _filled(cell: object) -> bool:
    return not (cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()))
