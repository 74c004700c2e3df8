"""What systems wrote, several in one call, each under the name by which every later table calls it."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from plainly.core.errors import BadInput
from plainly.core.evalset import ABSENT
from plainly.io.columns import Columns, find_roles, names, outputs_by_system
from plainly.io.consistency import check_length
from plainly.io.files import STDIN, PathLike, check_once, expand, label, stem
from plainly.io.files import named as named_path
from plainly.io.lines import read_lines
from plainly.io.tables import Format, Sheet, read_table, table_format


@dataclass(frozen=True)
class NamedSheet:
    """A table of outputs that was read already, with the name that the user gave it, if any."""

    name: str
    sheet: Sheet


Spec = PathLike | Sheet | NamedSheet


@dataclass(frozen=True)
class _System:
    name: str
    longer_name: str  # what tells it from another of the same name; empty when the user chose the name
    file: str
    lines: tuple[str, ...]
    unit: str = "line"
    missing: int = 0  # items without an output, where that is allowed


def read_outputs(
    specs: Spec | Iterable[Spec],
    *,
    n: int | None = None,
    against: str = "the evaluation set",
    sources: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    format: Format | Literal["lines"] | None = None,
    columns: Columns | None = None,
    incomplete: str = "refuse",
    missing: dict[str, int] | None = None,
) -> dict[str, tuple[str, ...]]:
    """The outputs of each system: ``PATH`` or ``NAME=PATH``, patterns allowed, ``-`` for standard input.

    A path is a file with one output a line, or a table with an output column or several. A system's name defaults to
    that in the column's name (``output_NAME``) or to the file's, without suffixes such as .txt.

    ``n`` is how many items there must be; ``against`` and ``sources`` let an error say with what a file was compared;
    without ``n`` all must be as long as the first. With ``ids``, a table that has an id column is put in their order;
    an id that it lacks is an error, with ``incomplete="empty"`` an empty output, counted in ``missing``, or with
    ``"skip"`` no output at all, and the system is scored on the items that it has.
    """
    named: list[tuple[str, str | Sheet]] = []
    for spec in [specs] if isinstance(specs, (str, os.PathLike, Sheet, NamedSheet)) else specs:
        if isinstance(spec, NamedSheet):
            named.append((spec.name, spec.sheet))
        else:
            named += [("", spec)] if isinstance(spec, Sheet) else _parse(spec)
    if not named:
        raise BadInput("There are no outputs. Give at least one file that a system wrote.")
    check_once(place for _, place in named if not isinstance(place, Sheet))
    systems: list[_System] = []
    for name, place in named:
        kind = format or (None if isinstance(place, Sheet) else table_format(place))
        if not isinstance(place, Sheet) and kind in (None, "lines"):
            systems.append(_from_lines(name, place))
            continue
        sheet = place if isinstance(place, Sheet) else read_table(place, format=kind)  # type: ignore[arg-type]
        systems += _from_table(name, sheet, ids, columns, incomplete)
    if n is None:
        against, sources, n = systems[0].file, systems[0].lines, len(systems[0].lines)
    expected: Sequence[str] | int = sources if len(sources) == n and any(sources) else n
    for system in systems:
        check_length(system.file, system.lines, against=against, expected=expected, unit=system.unit)
    named_systems = dict(zip(_names(systems), systems, strict=True))
    if missing is not None:
        missing.update({name: system.missing for name, system in named_systems.items() if system.missing})
    return {name: system.lines for name, system in named_systems.items()}


def _parse(spec: PathLike) -> list[tuple[str, str | Sheet]]:
    text = os.fspath(spec)
    name, path = named_path(text)
    if path == text:
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


def _from_table(
    name: str, table: Sheet, ids: Sequence[str] | None, columns: Columns | None, incomplete: str
) -> list[_System]:
    roles = find_roles(table, _for_outputs(table, columns))
    if not roles.outputs:
        raise BadInput(
            f"{table.path} has no column that is known to hold outputs. {table.listing()} Rename one to 'output' (or "
            "output_NAME, one for each system), or say which: output=COLUMN (in Python columns={'output': …})."
        )
    order: Sequence[int | None] | None = None
    if roles.id is not None and ids is not None:
        order = _order(table, names(table, roles.id), ids, incomplete)
    path = STDIN if table.path == label(STDIN) else table.path
    systems: list[_System] = []
    for system, lines in outputs_by_system(table, roles.outputs).items():
        if name:
            called, longer = f"{name}/{system}" if len(roles.outputs) > 1 and system else name, ""
        else:
            called, longer = system or stem(path), f"{stem(path)}/{system}" if system else _longer(path)
        lacking = ABSENT if incomplete == "skip" else ""
        ordered = lines if order is None else tuple(lacking if row is None else lines[row] for row in order)
        missing = sum(row is None for row in order or ()) if incomplete == "empty" else 0
        systems.append(_System(called, longer, table.path, ordered, "row", missing))
    return systems


def _for_outputs(table: Sheet, columns: Columns | None) -> Columns:
    """Of the user's choice of columns, what can matter here: roles whose columns this table lacks were for another."""
    kept = {role: name for role, name in (columns or {}).items() if role.startswith("output")}
    return kept | {
        role: name
        for role, name in (columns or {}).items()
        if isinstance(name, str) and name in table.columns and role not in kept
    }


def _order(table: Sheet, own: Sequence[str], ids: Sequence[str], incomplete: str) -> list[int | None] | None:
    """The row of each item of the set, by id; None where the set's ids are only line numbers and the table's are not.

    Ids that count from 0 are those of a set that counts from 1, one less.
    """
    numbered = all(name == str(at) for at, name in enumerate(ids, 1))
    if numbered and sorted(own) == sorted(str(at) for at in range(len(ids))):
        own = [str(int(name) + 1) for name in own]
    if list(own) == list(ids):
        return None
    known = set(ids)
    if numbered and not known & set(own):
        return None
    at: dict[str, int] = {}
    for row, name in enumerate(own):
        if name not in known:
            raise BadInput(
                f"{table.where(row)}: the id {name!r} is not in the evaluation set. Give outputs for the same items, "
                "or leave the id column out to pair them in order."
            )
        if name in at:
            raise BadInput(f"{table.where(row)}: the id {name!r} is that of {table.where(at[name])} too. Remove one.")
        at[name] = row
    lacking = [name for name in ids if name not in at]
    if lacking and incomplete == "refuse":
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise BadInput(
            f"{table.path} has no output for the item with id {lacking[0]!r}{more}. Add it, or score what is missing "
            f"as empty, or only what there is: incomplete='empty' or incomplete='skip'"
        )
    return [at.get(name) for name in ids]


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
