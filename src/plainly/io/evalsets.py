"""An evaluation set, and what systems wrote for it, from files; checked as a whole before anything is computed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from plainly.core.errors import BadInput
from plainly.core.evalset import ABSENT, EvalSet
from plainly.io.columns import (
    Columns,
    Roles,
    find_roles,
    names,
    outputs_by_system,
    references_by_item,
    require_outputs,
    strings,
    texts,
)
from plainly.io.consistency import Side, check_length, looks_transposed
from plainly.io.files import STDIN, PathLike, check_once, expand, label, stem
from plainly.io.files import named as named_path
from plainly.io.lines import read_lines
from plainly.io.tables import Format, Sheet, read_table, table_format

_TURN = (
    "Each file is one reference and has a line for every item. Turn them, with FILES in the order of the items: "
    "paste -s FILES | cut -f 1 > reference.1.txt, then cut -f 2, and so on."
)


@dataclass(frozen=True)
class _Part(Side):
    """One file's contribution: its lines, and its rows of references where it is a table."""

    rows: Sequence[tuple[str, ...]] = ()

    def by_item(self) -> Sequence[tuple[str, ...]]:
        return self.rows or [(line,) for line in self.text]

    def fit(self, other: _Part) -> None:
        check_length(self.name, self.lines, against=other.name, expected=other.lines, unit=self.unit)


def read_evalset(
    *,
    source: PathLike | None = None,
    references: PathLike | Iterable[PathLike] = (),
    groups: PathLike | None = None,
    ids: PathLike | None = None,
    table: PathLike | Sheet | None = None,
    format: Format | None = None,
    columns: Columns | None = None,
    name: str | None = None,
) -> EvalSet:
    """An evaluation set from files with one sentence a line, from a table with named columns, or from both.

    ``references`` are any number of files, each with a line for every item; patterns such as ``ref.*.txt`` are allowed.
    A blank line there means that the item lacks this reference. ``groups`` names each item's document. ``columns`` maps
    a role (source, references, output, id, group) to a column of the table where its name does not say what it is. A
    file given beside the table goes before the table's column. ``format`` is the table's, if its suffix does not say.
    """
    if table is None and source is not None and table_format(source):
        source, table = None, source
    paths = expand(references)
    for at, path in enumerate(paths):
        if path in paths[:at]:
            raise BadInput(f"The references file {path} is given twice; a reference that counts twice changes scores.")
    check_once([source, *paths, groups, ids, None if isinstance(table, Sheet) else table])
    sheet = None if table is None else table if isinstance(table, Sheet) else read_table(table, format=format)
    roles = None if sheet is None else _roles(sheet, columns)
    parts = [_references(path, columns) for path in paths]
    sources: Sequence[str] | None = None
    if source is not None:
        sources = read_lines(source)
        first = _Part(label(source), sources)
    elif sheet is not None and roles is not None:
        sources = texts(sheet, roles.source) if roles.source is not None else None
        first = _Part(sheet.path, len(sheet) if sources is None else sources, unit="row")
    elif parts:
        first = parts[0]
    else:
        raise BadInput("There is nothing to evaluate against. Give a file of sources, files of references or a table.")
    if sheet is not None:
        _Part(sheet.path, len(sheet), unit="row").fit(first)
    rows: Sequence[tuple[str, ...]] | None = _by_item(parts, first, compare=sources is not None) if parts else None
    if rows is None and sheet is not None and roles is not None and roles.references:
        rows = references_by_item(sheet, roles.references)
    return EvalSet.of(
        sources,
        references=rows,
        ids=_unique(_names(ids, "id", first, sheet, roles), label(ids) if ids is not None else sheet),
        groups=_names(groups, "group", first, sheet, roles),
        columns={key: strings(sheet.column(key)) for key in roles.rest} if sheet is not None and roles else None,
        name=first.name if name is None else name,
        items=len(first),
    )


def _roles(sheet: Sheet, columns: Columns | None) -> Roles:
    roles = find_roles(sheet, columns)
    if not (roles.source or roles.references or roles.outputs):
        raise BadInput(
            f"{sheet.path} has no column that is known to be a source, references or an output. {sheet.listing()} "
            "Rename them, or say which is which: source=COLUMN (in Python columns={'source': …})."
        )
    return roles


def _references(path: str, columns: Columns | None) -> _Part:
    if not table_format(path):
        return _Part(label(path), read_lines(path))
    sheet = read_table(path)
    roles = find_roles(sheet, {role: name for role, name in (columns or {}).items() if role.startswith("reference")})
    if not roles.references:
        raise BadInput(
            f"{sheet.path} has no column that is known to hold references. {sheet.listing()} Rename one to "
            "'references', or say which: references=COLUMN (in Python columns={'references': …})."
        )
    rows = references_by_item(sheet, roles.references)
    return _Part(sheet.path, [" ".join(row) for row in rows], "row", rows)


def _by_item(parts: Sequence[_Part], first: _Part, *, compare: bool) -> list[tuple[str, ...]]:
    """Each item's references; ``compare`` when ``first`` holds sources, against which a transposed set can be seen."""
    n = len(first)
    lengths = set(map(len, parts))
    square = compare and n > 1 and len(parts) == n and all(part.unit == "line" for part in parts)
    if square and n not in lengths:
        many = f"{min(lengths)}" if len(lengths) == 1 else f"{min(lengths)} to {max(lengths)}"
        raise BadInput(
            f"The {n} references files are transposed: {parts[0].name} and the others have {many} lines each, so each "
            f"holds the references of one of the {n} items in {first.name}. {_TURN}"
        )
    for part in parts:
        part.fit(first)
    if all(part.unit == "line" for part in parts):  # the usual case, without a little tuple for each reference
        rows = list(zip(*(part.text for part in parts), strict=True))
    else:
        rows = [tuple(chain.from_iterable(pieces)) for pieces in zip(*(part.by_item() for part in parts), strict=True)]
    if square and looks_transposed(rows, first.text):
        raise BadInput(
            f"The {n} references files are transposed: line i of {parts[0].name} is not like line i of {first.name}, "
            f"but each file as a whole is like one of its lines. {_TURN}"
        )
    return rows


def _names(
    path: PathLike | None, role: str, first: _Part, sheet: Sheet | None, roles: Roles | None
) -> Sequence[str] | None:
    """What each item is called (its id, its group): from a file with one a line, or from the table's column."""
    if path is None:
        column = getattr(roles, role, None)
        return names(sheet, column) if sheet is not None and column is not None else None
    if table_format(path):
        raise BadInput(f"{label(path)} is a table; ids and groups come from files with one a line, or from table=.")
    lines = read_lines(path)
    _Part(label(path), lines).fit(first)
    return lines


def _unique(ids: Sequence[str] | None, origin: str | Sheet | None) -> Sequence[str] | None:
    seen: dict[str, int] = {}
    for row, name in enumerate(ids or ()):
        if seen.setdefault(name, row) != row:
            where, before = (
                origin.where(at) if isinstance(origin, Sheet) else f"{origin}:{at + 1}" for at in (row, seen[name])
            )
            raise BadInput(f"{where}: the id {name!r} is that of {before} too. Each names one item.")
    return ids


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
    lines: tuple[str, ...] = ()
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
            named += [("", spec)] if isinstance(spec, Sheet) else _parse_spec(spec)
    if not named:
        raise BadInput("There are no outputs. Give at least one file that a system wrote.")
    check_once(place for _, place in named if not isinstance(place, Sheet))
    systems: list[_System] = []
    for name, place in named:
        kind = format or (None if isinstance(place, Sheet) else table_format(place))
        if not isinstance(place, Sheet) and kind in (None, "lines"):
            lines = tuple(read_lines(place))
            systems.append(_System(name or stem(place), "" if name else _longer(place), label(place), lines))
            continue
        sheet = place if isinstance(place, Sheet) else read_table(place, format=kind)  # type: ignore[arg-type]
        systems += _from_table(name, sheet, ids, columns, incomplete)
    if n is None:
        against, sources, n = systems[0].file, systems[0].lines, len(systems[0].lines)
    expected: Sequence[str] | int = sources if len(sources) == n and any(sources) else n
    for system in systems:
        check_length(system.file, system.lines, against=against, expected=expected, unit=system.unit)
    named_systems = dict(zip(_name_apart(systems), systems, strict=True))
    if missing is not None:
        missing.update({name: system.missing for name, system in named_systems.items() if system.missing})
    return {name: system.lines for name, system in named_systems.items()}


def _parse_spec(spec: PathLike) -> list[tuple[str, str]]:
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


def name_files(specs: Iterable[PathLike]) -> dict[str, str]:
    """Files of outputs by system, as ``read_outputs`` names them, without reading them."""
    files = [pair for spec in specs for pair in _parse_spec(spec)]
    systems = [_System(name or stem(path), "" if name else _longer(path), path) for name, path in files]
    return {name: system.file for name, system in zip(_name_apart(systems), systems, strict=True)}


def _from_table(
    name: str, table: Sheet, ids: Sequence[str] | None, columns: Columns | None, incomplete: str
) -> list[_System]:
    roles = find_roles(table, _for_outputs(table, columns))
    require_outputs(table, roles)
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
            "as empty, or only what there is: incomplete='empty' or incomplete='skip'"
        )
    return [at.get(name) for name in ids]


def _longer(path: str) -> str:
    return "" if path == STDIN else f"{Path(path).absolute().parent.name}/{stem(path)}"


def _name_apart(systems: Sequence[_System]) -> list[str]:
    """A name for each system: the longer one where two would have the same."""
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
