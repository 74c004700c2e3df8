"""A published number beside ours: the cell that every recipe is made of, its verdict, and all cells of a paper."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from plainly.machine import cores
from plainly.progress import Progress, unseen
from plainly.render import numbers
from plainly.result import Note, Record, Result, Table
from plainly.sampling import Sampling

SCHEMA = "plainly.reproduce/1"
Verdict = Literal["exact", "close", "differs"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
# Where a number comes from: print, the recipe, or the recipe without the artefacts of the published files.
Origin = Literal["published", "ours", "sound"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
_PUBLISHED = Path(__file__).parent / "published"


@dataclass(frozen=True)
class RecipeOptions:
    """What a recipe may be told: which tables, where licensed outputs lie, how to draw, whom to tell of progress."""

    tables: frozenset[str] | None = None
    outputs: Path | None = None
    figures: Path | None = None
    seed: int = Sampling().seed
    trials: int = 100
    processes: int = field(default_factory=cores)
    progress: Progress = unseen

    def wants(self, table: str) -> bool:
        return self.tables is None or table in self.tables


@dataclass(frozen=True)
class Cell:
    """One number of a published table, computed again.

    ``ours`` follows the paper, artefacts of its files and all; ``sound`` is the value without them, where they matter.
    ``decimals`` is the printed precision and ``tolerance`` what still counts as close. A published ``None`` is a cell
    that the paper prints as not available; it is met by a value of ours that is undefined.
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
        """One of the cell's numbers; NaN where there is none."""
        number: float | None = getattr(self, origin)
        return math.nan if number is None else number

    def json(self) -> Record:
        """As it stands in a reproduction's JSON."""
        return {
            "table": self.table,
            "row": self.row,
            "column": self.column,
            "published": self.published,
            "ours": self.ours,
            "sound": self.sound,
            "verdict": self.verdict,
            "recipe": self.recipe,
            **({"note": self.note} if self.note else {}),
        }


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
        by_table: dict[str, list[Cell]] = {}
        for cell in self.cells:
            by_table.setdefault(cell.table, []).append(cell)
        counts = tally(self.cells)
        rows = tuple(
            (table, str(len(cells)), *(str(counts[table][verdict]) for verdict in VERDICTS))
            for table, cells in by_table.items()
        )
        in_full = [] if self.brief else [_in_full(table, cells) for table, cells in by_table.items()]
        return [*in_full, Table(("table", "cells", *VERDICTS), rows)]

    def notes(self) -> list[Note]:
        return [Note(sentence, kind="claim") for sentence in self.conclusions]


def published(name: str) -> dict[str, Any]:
    """A paper's title and printed tables: for each table its columns, and its rows by name."""
    return tomllib.loads((_PUBLISHED / f"{name}.toml").read_text(encoding="utf-8"))


def cells_of(
    table: str,
    printed: dict[str, Any],
    ours: dict[tuple[str, str], float],
    *,
    decimals: int | dict[str, int],
    tolerance: float | Callable[[str, float], float],
    recipe: str,
    sound: dict[tuple[str, str], float] | None = None,
    notes: dict[tuple[str, str], str] | None = None,
) -> list[Cell]:
    """One cell for each printed number; ``ours`` and the rest are keyed by row and column.

    ``tolerance`` is a number, or depends on the column and the printed value.
    """
    cells = []
    for row, values in printed.items():
        if row == "columns":
            continue
        for column, value in zip(printed["columns"], values, strict=True):
            key = (row, column)
            number = None if value == "NA" else float(value)
            cells.append(
                Cell(
                    table=table,
                    row=row,
                    column=column,
                    published=number,
                    ours=_none(ours.get(key)),
                    decimals=decimals[column] if isinstance(decimals, dict) else decimals,
                    tolerance=tolerance(column, number or 0) if callable(tolerance) else tolerance,
                    recipe=recipe,
                    sound=_none((sound or {}).get(key)),
                    note=(notes or {}).get(key, ""),
                )
            )
    return cells


def tally(cells: Sequence[Cell]) -> dict[str, Counter[str]]:
    """How many cells of each table have which verdict."""
    counts: dict[str, Counter[str]] = {}
    for cell in cells:
        counts.setdefault(cell.table, Counter())[cell.verdict] += 1
    return counts


def _in_full(table: str, cells: Sequence[Cell]) -> Table:
    """A table's cells, a row each."""
    sound = any(cell.sound is not None for cell in cells)
    rows = tuple(
        (
            cell.row,
            cell.column,
            _shown(cell.published, cell.decimals),
            _shown(cell.ours, cell.decimals),
            *((_shown(cell.sound, cell.decimals),) if sound else ()),
            cell.verdict,
            cell.note,
        )
        for cell in cells
    )
    header = ("row", "column", "published", "ours", *(("sound",) if sound else ()), "verdict", "note")
    counts = tally(cells)[table]
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return Table(
        header,
        rows,
        caption=f"Table {table}: {len(cells)} cells, {summary}",
        notes=tuple(dict.fromkeys(cell.recipe for cell in cells)),
        text_columns=frozenset({0, 1, len(header) - 2, len(header) - 1}),
    )


def _none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _shown(value: float | None, decimals: int) -> str:
    return numbers.number(value, decimals, undefined="–")
