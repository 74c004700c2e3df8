"""What systems wrote, several in one call, each under the name by which every later table calls it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from plainly.errors import BadInput
from plainly.inputs.checks import check_length
from plainly.inputs.columns import Columns, find_roles, names, outputs_by_system
from plainly.inputs.files import STDIN, PathLike, check_once, expand, label, stem
from plainly.inputs.lines import read_lines
from plainly.inputs.tables import Format, Sheet, read_table, table_format

Spec = PathLike | Sheet


@dataclass(frozen=True)
class _System:
    name: str
    longer_name: str  # what tells it from another of the same name; empty when the user chose the name
    file: str
    lines: tuple[str, ...]
    unit: str = "line"


def read_outputs(
    specs: Spec | Iterable[Spec],
    *,
    n: int | None = None,
    against: str = "the evaluation set",
    sources: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    format: Format | Literal["lines"] | None = None,
    columns: Columns | None = None,
) -> dict[str, tuple[str, ...]]:
    """The outputs of each system: ``PATH`` or ``NAME=PATH``, patterns allowed, ``-`` for standard input.

    A path is a file with one output a line, or a table with an output column or several. A system's name defaults to
    that in the column's name (``output_NAME``) or to the file's, without suffixes such as .txt.

    ``n`` is how many items there must be; ``against`` and ``sources`` let an error say with what a file was compared;
    without ``n`` all must be as long as the first. With ``ids``, a table that has an id column is put in their order.
    """
    named: list[tuple[str, str | Sheet]] = []
    for spec in [specs] if isinstance(specs, (str, os.PathLike, Sheet)) else specs:
        named += [("", spec)] if isinstance(spec, Sheet) else _parse(spec)
    if not named:
        raise BadInput("There are no outputs. Give at least one file that a system wrote.")
    check_once(place for _, place in named if not isinstance(place, Sheet))
    systems: list[_System] = []
    for name, place in named:
        kind = format or (None if isinstance(place, Sheet) else table_format(place))
        if isinstance(place, Sheet):
            systems += _from_table(name, place, ids, columns)
        elif kind is None or kind == "lines":
            systems.append(_from_lines(name, place))
        else:
            systems += _from_table(name, read_table(place, format=kind), ids, columns)
    if n is None:
        against, sources, n = systems[0].file, systems[0].lines, len(systems[0].lines)
    expected: Sequence[str] | int = sources if len(sources) == n and any(sources) else n
    for system in systems:
        check_length(system.file, system.lines, against=against, expected=expected, unit=system.unit)
    return dict(zip(_names(systems), (system.lines for system in systems), strict=True))


def _parse(spec: PathLike) -> list[tuple[str, str | Sheet]]:
    text = os.fspath(spec)
    name, equals, path = text.partition("=")
    if not equals or os.path.exists(text) or any(separator in name for separator in {"/", os.sep}):
        return [("", path) for path in expand(text)]
    if not name or not path:
        raise BadInput(f"{text!r} is not NAME=PATH: {'the name' if not name else 'the path'} is missing.")
    paths = expand(path)
    if len(paths) > 1:
        raise BadInput(f"{text!r} gives one name to {len(paths)} files. Give each its own NAME=PATH, or no name.")
    return [(name, paths[0])]


def _from_lines(name: str, path: str) -> _System:
    lines = tuple(read_lines(path))
    if name:
        return _System(name, "", label(path), lines)
    return _System(stem(path), _longer(path), label(path), lines)


def _from_table(name: str, table: Sheet, ids: Sequence[str] | None, columns: Columns | None) -> list[_System]:
    roles = find_roles(table, _for_outputs(table, columns))
    if not roles.outputs:
        raise BadInput(
            f"{table.path} has no column that is known to hold outputs. {table.listing()} Rename one to 'output' (or "
            "output_NAME, one for each system), or say which: output=COLUMN (in Python columns={'output': …})."
        )
    order = _order(table, names(table, roles.id), ids) if roles.id is not None and ids is not None else None
    path = STDIN if table.path == label(STDIN) else table.path
    systems: list[_System] = []
    for system, lines in outputs_by_system(table, roles.outputs).items():
        if name:
            called, longer = f"{name}/{system}" if len(roles.outputs) > 1 and system else name, ""
        else:
            called, longer = system or stem(path), f"{stem(path)}/{system}" if system else _longer(path)
        ordered = lines if order is None else tuple(lines[row] for row in order)
        systems.append(_System(called, longer, table.path, ordered, "row"))
    return systems


def _for_outputs(table: Sheet, columns: Columns | None) -> Columns:
    """Of the user's choice of columns, what can matter here: roles whose columns this table lacks were for another."""
    kept = {role: name for role, name in (columns or {}).items() if role.startswith("output")}
    return kept | {
        role: name
        for role, name in (columns or {}).items()
        if isinstance(name, str) and name in table.columns and role not in kept
    }


def _order(table: Sheet, own_ids: Sequence[str], ids: Sequence[str]) -> list[int] | None:
    """Rows in the order of the evaluation set's ids; None where those are only 1, 2, 3 … and say nothing."""
    if list(own_ids) == list(ids) or all(name == str(at) for at, name in enumerate(ids, 1)):
        return None
    at = {name: row for row, name in enumerate(own_ids)}
    known = set(ids)
    for row, name in enumerate(own_ids):
        if name not in known:
            raise BadInput(
                f"{table.where(row)}: the id {name!r} is not in the evaluation set. Give outputs for the same items, "
                "or leave the id column out to pair them in order."
            )
        if at[name] != row:
            raise BadInput(f"{table.where(at[name])}: the id {name!r} is that of {table.where(row)} too. Remove one.")
    for name in ids:
        if name not in at:
            raise BadInput(f"{table.path} has no output for the item with id {name!r}. Add it.")
    return [at[name] for name in ids]


def _longer(path: str) -> str:
    return "" if path == STDIN else f"{Path(path).absolute().parent.name}/{stem(path)}"


def _names(systems: Sequence[_System]) -> list[str]:
    taken = Counter(system.name for system in systems)
    names = [system.longer_name if taken[system.name] > 1 and system.longer_name else system.name for system in systems]
    files: dict[str, str] = {}
    for name, system in zip(names, systems, strict=True):
        if name in files:
            raise BadInput(
                f"Two systems would be called {name!r}: {files[name]} and {system.file}. Name them apart: NAME=PATH"
            )
        files[name] = system.file
    return names
