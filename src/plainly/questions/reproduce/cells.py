"""A published number beside ours: the cell that every recipe is made of, its verdict, and how cells are shown."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from plainly.progress import Progress, unseen
from plainly.result import Table

Verdict = Literal["exact", "close", "differs"]
_PUBLISHED = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Options:
    """What a recipe may be told: which tables, where licensed outputs lie, how to draw, whom to tell of progress."""

    tables: frozenset[str] | None = None
    outputs: Path | None = None
    seed: int = 12345
    trials: int = 100
    processes: int = 1
    figures: Path | None = None
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

    def data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
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


def published(name: str) -> dict[str, dict[str, Any]]:
    """A paper's printed tables: for each table its columns, and its rows by name."""
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
    found = []
    for row, values in printed.items():
        if row == "columns":
            continue
        for column, value in zip(printed["columns"], values, strict=True):
            key = (row, column)
            number = None if value == "NA" else float(value)
            found.append(
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
    return found


def tally(cells: Sequence[Cell]) -> dict[str, Counter[str]]:
    """How many cells of each table have which verdict."""
    found: dict[str, Counter[str]] = {}
    for cell in cells:
        found.setdefault(cell.table, Counter())[cell.verdict] += 1
    return found


def grid(cells: Sequence[Cell], table: str) -> Table:
    """A table's cells, a row each, for printing."""
    chosen = [cell for cell in cells if cell.table == table]
    sound = any(cell.sound is not None for cell in chosen)
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
        for cell in chosen
    )
    header = ("row", "column", "published", "ours", *(("sound",) if sound else ()), "verdict", "note")
    counts = tally(chosen)[table]
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("exact", "close", "differs") if counts[verdict])
    return Table(
        header,
        rows,
        caption=f"Table {table}: {len(chosen)} cells, {summary}",
        notes=tuple(dict.fromkeys(cell.recipe for cell in chosen)),
        text_columns=frozenset({0, 1, len(header) - 2, len(header) - 1}),
    )


def _none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _shown(value: float | None, decimals: int) -> str:
    return "–" if value is None else f"{value:.{decimals}f}"
