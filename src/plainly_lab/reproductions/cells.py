"""A published number beside ours: the cell that every recipe is made of, its verdict, and all cells of a paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from plainly.core import formatting
from plainly.core.files import read_shipped
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling

SCHEMA = "plainly.reproduce/1"
Verdict = Literal["exact", "close", "differs"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
# Where a number comes from: print, the recipe, or the recipe without the artefacts of the published files.
Origin = Literal["published", "ours", "sound"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
Values = dict[tuple[str, str], float]  # by row and column
_SETTINGS = ("decimals", "tolerance", "recipe", "relative", "columns")  # keys of a table that are not rows


@dataclass(frozen=True)
class RecipeOptions:
    """Options of a recipe: tables, directories of licensed outputs and of figures, trials, processes and progress."""

    tables: frozenset[str] | None = None
    outputs: Path | None = None
    figures: Path | None = None
    seed: int = Sampling().seed
    trials: int = 100
    processes: int | None = None  # None: one for each core
    progress: Progress = no_progress

    def wants(self, table: str) -> bool:
        return self.tables is None or table in self.tables


@dataclass(frozen=True)
class Cell:
    """One number of a published table, computed again.

    ``ours`` follows the paper, with the artefacts of its files; ``sound`` is the value without them, where they matter.
    ``decimals`` is the printed precision and ``tolerance`` what still counts as close. A published ``None`` is a cell
    that the paper prints as not available; an undefined value of ours agrees with it.
    """

    table: str
    row: str
    column: str
    published: float | None
    ours: float | None
    decimals: int
    tolerance: float
    recipe: str
    sound: float | None = None
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """exact: equal as printed; close: within the tolerance; differs: further away, or defined on one side only."""
        ours = None if self.ours is None or math.isnan(self.ours) else self.ours
        if self.published is None or ours is None:
            return "exact" if self.published is ours else "differs"
        rounding = 0.5 * 10**-self.decimals + 1e-9  # The printed number may stand for any that rounds to it.
        distance = abs(ours - self.published)
        if distance <= rounding:
            return "exact"
        return "close" if distance <= self.tolerance + rounding else "differs"

    def value(self, origin: Origin) -> float:
        """Return one of the cell's numbers, or NaN."""
        number: float | None = getattr(self, origin)
        return math.nan if number is None else number

    def json(self) -> Record:
        """Return the cell as in a reproduction's JSON."""
        names = ("table", "row", "column", "published", "ours", "sound", "verdict", "recipe")
        return {name: getattr(self, name) for name in names} | ({"note": self.note} if self.note else {})


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """All cells of a paper, or of some of its tables, and what follows from them."""

    name: str
    cells: tuple[Cell, ...]
    conclusions: tuple[str, ...]
    brief: bool = False

    def summary(self) -> Reproduction:
        """The same, shown as verdicts by table, without the cells."""
        return replace(self, brief=True)

    def records(self) -> list[Record]:
        return [{**cell.json(), "note": cell.note} for cell in self.cells]

    def json(self) -> Record:
        return {
            "schema": SCHEMA,
            "recipe": self.name,
            "cells": [cell.json() for cell in self.cells],
            "tables": {table: dict(counts) for table, counts in tally(self.cells).items()},
            "conclusions": list(self.conclusions),
        }

    def tables(self) -> list[Table]:
        tables = tally(self.cells)
        rows = [(name, *map(str, (of.total(), *(of[verdict] for verdict in VERDICTS)))) for name, of in tables.items()]
        summary = Table(("table", "cells", *VERDICTS), tuple(rows))
        return [*([] if self.brief else [_tabulate(name, of, self.cells) for name, of in tables.items()]), summary]

    def notes(self) -> list[Note]:
        return [Note(sentence, kind="claim") for sentence in self.conclusions]


def published(name: str) -> dict[str, Any]:
    """Read a paper's title and printed tables: for each table its columns, and its rows by name."""
    return read_shipped(__file__, f"published/{name}.toml")


def cells_of(
    printed: dict[str, Any],
    table: str,
    ours: Values,
    *,
    sound: Values | None = None,
    notes: dict[tuple[str, str], str] | None = None,
    **details: object,
) -> list[Cell]:
    """Return a cell for each number that the paper prints in a table; the values have row and column as keys.

    Beside its columns and rows, a table of the TOML file has ``decimals``, ``tolerance`` and ``recipe``: each for all
    cells, or by cell, column or row with ``other`` for the rest; ``relative`` is a tolerance as a share of the value.
    The ``details`` fill the placeholders of the recipe.
    """
    settings = printed[table]
    cells = []
    for row, values in settings.items():
        for column, value in zip(settings["columns"], values, strict=True) if row not in _SETTINGS else ():
            number = None if value == "NA" else float(value)
            decimals, tolerance, recipe = (_setting(settings[name], row, column) for name in _SETTINGS[:3])
            tolerance = max(tolerance, settings.get("relative", 0) * (number or 0))
            values = [of.get((row, column), math.nan) for of in (ours, sound or {})]
            our_value, sound_value = (None if math.isnan(value) else float(value) for value in values)
            note = (notes or {}).get((row, column), "")
            recipe = recipe.format(**details)
            cells.append(Cell(table, row, column, number, our_value, decimals, tolerance, recipe, sound_value, note))
    return cells


def _setting(setting: Any, row: str, column: str) -> Any:
    if not isinstance(setting, dict):
        return setting
    return next(setting[key] for key in (f"{row} {column}", column, row, "other") if key in setting)


def tally(cells: Sequence[Cell]) -> dict[str, Counter[str]]:
    """Count the verdicts of each table."""
    counts: dict[str, Counter[str]] = {}
    for cell in cells:
        counts.setdefault(cell.table, Counter())[cell.verdict] += 1
    return counts


def _tabulate(table: str, counts: Counter[str], cells: Sequence[Cell]) -> Table:
    """Show the cells of a table, a row each."""
    cells = [cell for cell in cells if cell.table == table]
    origins = ORIGINS if any(cell.sound is not None for cell in cells) else ORIGINS[:2]
    rows = []
    for cell in cells:
        values = [formatting.number(getattr(cell, origin), cell.decimals, undefined="–") for origin in origins]
        rows.append((cell.row, cell.column, *values, cell.verdict, cell.note))
    header = ("row", "column", *origins, "verdict", "note")
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return Table(
        header,
        tuple(rows),
        caption=f"Table {table}: {len(cells)} cells, {summary}",
        notes=tuple(dict.fromkeys(cell.recipe for cell in cells)),
        text_columns=frozenset({0, 1, len(header) - 2, len(header) - 1}),
    )
