"""Choices between outputs: rankings of a study or its export, and tables in which each row compares two systems.

Such a table has the columns item, first, second and winner, and may have rater and dimension; other names that studies
use are in ``_PAIRS``. The winner is the name of a system, or says that the first or the second was better, or that they
tie. A cell without a winner is a rater who could not decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plainly import data
from plainly.core.errors import BadInput
from plainly.io.files import suffixes
from plainly.io.tables import SPREADSHEETS, Sheet, table_format
from plainly.io.texts import sheet_of
from plainly.people.rating_tables import (
    MISSING,
    READERS,
    RatingsLike,
    column_key,
    find_roles,
    is_studio_export,
    is_true,
    read_rating_table,
    read_studio_table,
    read_texts_of,
)
from plainly.people.ratings import Judgements, Ratings

_PAIRS = {
    "first": ("first", "system_a", "system_1", "model_a"),
    "second": ("second", "system_b", "system_2", "model_b"),
    "winner": ("winner", "preferred", "preference", "better", "choice"),
}
_WINNERS = {"first": {"first", "a", "1", "left"}, "second": {"second", "b", "2", "right"}}
_TIES = {"tie", "tied", "same", "similar", "equal", "both", "neither", "draw", "0"}
_ONE_RATER = "rater"
_ASSET = "asset/pairwise"


@dataclass(frozen=True, slots=True)
class Choice:
    """One rater's choice among the systems shown for one item; all fields are empty if they could not judge.

    Identical outputs tie without a rater.
    """

    item: str
    rater: str
    shown: tuple[str, ...]
    best: str | None = None
    worst: str | None = None
    tie: bool = False
    excluded: bool = False  # the study excluded the rater
    dimension: str = ""  # what the choice is about, where a table has several


def read_rankings(ratings: RatingsLike) -> tuple[Choice, ...] | None:
    """Read the rankings of a study or its export, or a table of pairs of systems; return None for other ratings."""
    table = _read_table(ratings)
    if table is None:
        return None
    if is_studio_export(table):
        return tuple(_study_choices(table)) if "shown" in table.columns else None
    keys = {column_key(name): name for name in table.columns}
    columns = {role: next((keys[alias] for alias in names if alias in keys), "") for role, names in _PAIRS.items()}
    return tuple(_pair_choices(table, columns)) if all(columns.values()) else None


def _read_table(ratings: RatingsLike) -> Sheet | None:
    if ratings is None or isinstance(ratings, (Judgements, Ratings, Iterator)):
        return None
    if not isinstance(ratings, (str, Path)):
        return sheet_of(ratings)
    suffix = suffixes(ratings)[0]
    if suffix in READERS:
        return read_studio_table(ratings)
    if str(ratings) == _ASSET:
        table = data.table(_ASSET)
        first: list[object] = ["asset"] * len(table)
        return replace(table, columns={**table.columns, "first": first, "second": table.columns["other_dataset"]})
    is_table = table_format(ratings) is not None or suffix in SPREADSHEETS
    return read_rating_table(ratings) if is_table and Path(ratings).is_file() else None


def _study_choices(table: Sheet) -> Iterator[Choice]:
    names = ("item", "rater", "shown", "best", "worst", "tie", "excluded")
    for item, rater, systems, best, worst, tie, excluded in zip(*map(table.column, names), strict=True):
        yield Choice(
            str(item), str(rater or ""), tuple(json.loads(str(systems))),
            str(best or "") or None, str(worst or "") or None, is_true(tie), is_true(excluded),
        )  # fmt: skip


def _pair_choices(table: Sheet, columns: dict[str, str]) -> Iterator[Choice]:
    roles = find_roles(table)
    items, first, second = (read_texts_of(table, name) for name in (roles["item"], columns["first"], columns["second"]))
    raters = read_texts_of(table, roles["rater"]) if "rater" in roles else [_ONE_RATER] * len(table)
    dimensions = read_texts_of(table, roles["dimension"]) if "dimension" in roles else [""] * len(table)
    earlier: set[tuple[str, str, str, frozenset[str]]] = set()
    for row, pair in enumerate(zip(first, second, strict=True)):
        if pair[0] == pair[1]:
            raise BadInput(f"{table.where(row)}: {pair[0]!r} is compared with itself.")
        key = (items[row], raters[row], dimensions[row], frozenset(pair))
        if key in earlier:
            raise BadInput(
                f"{table.where(row)}: rater {raters[row]!r} compared {pair[0]!r} and {pair[1]!r} on item "
                f"{items[row]!r} twice. Keep one of the rows."
            )
        earlier.add(key)
        best, is_tie = _winner(table, row, columns, pair)
        yield Choice(items[row], raters[row], pair, best, tie=is_tie, dimension=dimensions[row])


def _winner(table: Sheet, row: int, columns: dict[str, str], pair: Sequence[str]) -> tuple[str | None, bool]:
    """Return the system that was better, or None, and whether they tie."""
    cell = table.columns[columns["winner"]][row]
    text = (
        str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str("" if cell is None else cell).strip()
    )
    word = text.casefold()
    if text in pair:
        return text, False
    for system, role in zip(pair, _WINNERS, strict=True):
        if word in _WINNERS[role] or column_key(word) == column_key(columns[role]):
            return system, False
    if word in _TIES or word in MISSING:
        return None, word in _TIES
    raise BadInput(
        f"{table.where(row)}, column {columns['winner']!r}: {text!r} is neither {pair[0]!r} nor {pair[1]!r}. Write "
        "the name of the better system, first, second or tie; leave the cell empty if there is no answer."
    )
