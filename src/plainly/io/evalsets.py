"""An evaluation set, and the outputs of systems for it, from files; checked as a whole before anything is computed."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from plainly.core.errors import BadInput
from plainly.core.evalset import ABSENT, Absent, EvalSet
from plainly.io.columns import (
    Columns,
    arrange,
    check_columns,
    columns_in,
    find_roles,
    names,
    outputs_by_system,
    references_by_item,
    require_outputs,
    strings,
    texts,
)
from plainly.io.consistency import HINT_LONG, Side, check_length, check_unique, looks_transposed, match_ids
from plainly.io.files import STDIN, PathLike, check_once, expand, label, read_lines, split_name, stem
from plainly.io.tables import Sheet, read_table, table_format

Incomplete = Literal["refuse", "empty", "skip"]
_TURN = (
    "Each file must be one reference, with a line for every item. Transpose them, with FILES in the order of items: "
    "paste -s FILES | cut -f 1 > reference.1.txt, then cut -f 2, and so on."
)


def read_evalset(
    *,
    source: PathLike | None = None,
    references: PathLike | Iterable[PathLike] = (),
    groups: PathLike | None = None,
    ids: PathLike | None = None,
    table: PathLike | Sheet | None = None,
    columns: Columns | None = None,
    name: str | None = None,
) -> EvalSet:
    """Read an evaluation set from files with one sentence a line, from a table with named columns, or from both.

    ``references`` are any number of files, each with a line for every item; patterns such as ``ref.*.txt`` are allowed.
    A blank line there means that the item lacks this reference. ``groups`` names each item's document. ``columns`` maps
    a role (source, references, output, id, group) to a column of the table if its name does not show its role. A file
    beside the table takes precedence over the table's column.
    """
    if table is None and source is not None and table_format(source):
        source, table = None, source
    paths = expand(references)
    for at, path in enumerate(paths):
        if path in paths[:at]:
            raise BadInput(f"The references file {path} is given twice; a reference that counts twice changes scores.")
    check_once([source, *paths, groups, ids, None if isinstance(table, Sheet) else table])
    sheet = table if isinstance(table, Sheet) else read_table(table) if table is not None else Sheet({}, "", ())
    parts = [_read_references(path, columns) for path in paths]
    tables = [*([sheet] if table is not None else []), *(part.table for part in parts if part.table is not None)]
    check_columns(tables, columns if tables else None)
    sheet, roles = arrange(sheet, columns_in(sheet, columns))
    if table is not None and not (roles.source or roles.references or roles.outputs):
        raise BadInput(
            f"{sheet.path} has no column that is recognised as source, references or output. {sheet.listing()} "
            "Rename them, or assign roles: columns={'source': 'COLUMN'}"
        )
    sources: Sequence[str] | None = None
    if source is not None:
        sources = read_lines(source)
        first = Side(label(source), sources)
    elif table is not None:
        sources = texts(sheet, roles.source) if roles.source is not None else None
        first = Side(sheet.path, len(sheet) if sources is None else sources, unit="row")
    elif parts:
        first = parts[0]
    else:
        raise BadInput("There is nothing to evaluate against. Give a file of sources, files of references or a table.")
    if table is not None:
        Side(sheet.path, len(sheet), unit="row").check(first)
    own_ids = _read_names(ids, "id", first, sheet, roles.id)
    if own_ids is None and first.ids is not None:  # references are all that there is
        own_ids = first.ids
        check_unique(own_ids, first.table.where if first.table else str)
    rows: Sequence[tuple[str, ...]] | None = None
    if parts:
        numbers = own_ids or [str(at) for at in range(1, len(first) + 1)]
        rows = _join_references(parts, first, numbers, has_sources=sources is not None)
    elif roles.references:
        rows = references_by_item(sheet, roles.references)
    return EvalSet.of(
        sources,
        references=rows,
        ids=own_ids,
        groups=_read_names(groups, "group", first, sheet, roles.group),
        columns={key: strings(sheet.column(key)) for key in roles.rest},
        name=first.name if name is None else name,
        items=len(first),
    )


def _read_references(path: str, columns: Columns | None) -> Side:
    if not table_format(path):
        return Side(label(path), read_lines(path))
    sheet = read_table(path)
    roles = find_roles(sheet, columns_in(sheet, columns))
    if not roles.references:
        raise BadInput(
            f"{sheet.path} has no column that is recognised as references. {sheet.listing()} Rename one to "
            "'references', or name it: columns={'references': 'COLUMN'}"
        )
    rows = references_by_item(sheet, roles.references)
    ids = names(sheet, roles.id) if roles.id is not None else None
    return Side(sheet.path, [" ".join(row) for row in rows], "row", rows, sheet, ids)


def _join_references(
    parts: Sequence[Side], first: Side, ids: Sequence[str], *, has_sources: bool
) -> list[tuple[str, ...]]:
    """Return each item's references; a transposed set is recognised if ``first`` contains sources."""
    n = len(first)
    lengths = set(map(len, parts))
    is_lines = all(part.unit == "line" for part in parts)
    is_square = has_sources and n > 1 and len(parts) == n and is_lines
    problem = f"The {n} references files are transposed:"
    if is_square and n not in lengths:
        many = f"{min(lengths)}" if len(lengths) == 1 else f"{min(lengths)} to {max(lengths)}"
        raise BadInput(
            f"{problem} {parts[0].name} and the others have {many} lines each, so each holds the references of one "
            f"of the {n} items in {first.name}. {_TURN}"
        )
    for part in parts:
        part.check(first)
    parts = [part.reorder(ids) for part in parts]
    if is_lines:  # the usual case, without a tuple for each reference
        rows = list(zip(*(part.text for part in parts), strict=True))
    else:
        by_file = (part.rows or [(line,) for line in part.text] for part in parts)
        rows = [tuple(chain.from_iterable(pieces)) for pieces in zip(*by_file, strict=True)]
    if is_square and looks_transposed(rows, first.text):
        raise BadInput(
            f"{problem} line i of {parts[0].name} is not like line i of {first.name}, but each file as a whole is "
            f"like one of its lines. {_TURN}"
        )
    return rows


def _read_names(
    path: PathLike | None, role: str, first: Side, sheet: Sheet, column: str | None
) -> Sequence[str] | None:
    """Return each item's id or group: from a file with one per line, or from the table's column."""
    if path is None and column is None:
        return None
    if path is None:
        values: Sequence[str] = names(sheet, str(column))
    elif table_format(path):
        raise BadInput(f"{label(path)} is a table; ids and groups come from files with one per line, or from table=.")
    else:
        values = read_lines(path)
        Side(label(path), values).check(first)
    if role == "id":
        if path is None:
            check_unique(values, sheet.where, HINT_LONG)
        else:
            check_unique(values, lambda row: f"{path}:{row + 1}")
    return values


Spec = PathLike | Sheet | tuple[str, str | Sheet]  # a tuple is a system's name, if the user named it, and its file


@dataclass(frozen=True)
class _System:
    name: str
    longer_name: str  # distinguishes it from another of the same name; empty if the user chose the name
    file: str
    lines: tuple[str, ...] = ()
    unit: str = "line"


def read_outputs(
    specs: Spec | Iterable[Spec],
    *,
    n: int | None = None,
    against: str = "the evaluation set",
    sources: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    columns: Columns | None = None,
    incomplete: Incomplete = "refuse",
) -> dict[str, tuple[str, ...]]:
    """Read the outputs of each system: ``PATH`` or ``NAME=PATH``, patterns allowed, ``-`` for standard input.

    A path is a file with one output per line, or a table with an output column or several. A system's name defaults to
    that in the column's name (``output_NAME``) or to the file's, without suffixes such as .txt.

    ``n`` is how many items there must be; ``against`` and ``sources`` describe them in an error; without ``n`` all
    must be as long as the first. With ``ids``, a table that has an id column is put in their order. An output that a
    table lacks is an error, or with ``incomplete`` an empty output ("empty") or ``ABSENT`` ("skip").
    """
    pairs: list[tuple[str, str | Sheet]] = []
    for spec in [specs] if isinstance(specs, (str, os.PathLike, Sheet, tuple)) else specs:
        if isinstance(spec, Sheet):
            pairs.append(("", spec))
        else:
            pairs += [spec] if isinstance(spec, tuple) else parse_spec(spec)
    if not pairs:
        raise BadInput("There are no outputs. Give at least one file with the outputs of a system.")
    check_once(file for _, file in pairs if not isinstance(file, Sheet))
    systems: list[_System] = []
    for name, file in pairs:
        if isinstance(file, Sheet) or table_format(file):
            sheet = file if isinstance(file, Sheet) else read_table(file)
            systems += _from_table(name, sheet, ids, columns)
        else:
            systems.append(_from_file(name, file, tuple(read_lines(file))))
    if n is None:
        against, sources, n = systems[0].file, systems[0].lines, len(systems[0].lines)
    expected: Sequence[str] | int = sources if len(sources) == n and any(sources) else n
    for system in systems:
        check_length(system.file, system.lines, against=against, expected=expected, unit=system.unit)
        if incomplete == "refuse":
            _check_complete(system, ids)
    as_empty = incomplete == "empty"
    by_name = zip(_distinct_names(systems), systems, strict=True)
    return {name: tuple(map(str, system.lines)) if as_empty else system.lines for name, system in by_name}


def _check_complete(system: _System, ids: Sequence[str] | None) -> None:
    """Raise unless a system has an output for each item."""
    absent = [item for item, text in enumerate(system.lines) if isinstance(text, Absent)]
    if absent:
        item = f"with id {ids[absent[0]]!r}" if ids is not None else f"number {absent[0] + 1}"
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise BadInput(
            f"{system.file}: {system.name} has no output for the item {item}{more}. Add it, or score what is missing "
            "as empty, or only what there is: incomplete='empty' or incomplete='skip'"
        )


def parse_spec(spec: PathLike) -> list[tuple[str, str]]:
    """Return name and path of each file that PATH or NAME=PATH means; the name is empty if there is none."""
    text = os.fspath(spec)
    name, path = split_name(text)
    if path == text:
        return [("", path) for path in expand(text)]
    if not name or not path:
        raise BadInput(f"{text!r} is not NAME=PATH: {'the name' if not name else 'the path'} is missing.")
    paths = expand(path)
    if len(paths) > 1:
        raise BadInput(f"{text!r} gives one name to {len(paths)} files. Give each its own NAME=PATH, or no name.")
    return [(name, paths[0])]


def name_files(specs: Iterable[PathLike]) -> dict[str, str]:
    """Return files of outputs by system, named as in ``read_outputs``, without reading them."""
    pairs = [pair for spec in specs for pair in parse_spec(spec)]
    names = _distinct_names([_from_file(*pair) for pair in pairs])
    return dict(zip(names, (path for _, path in pairs), strict=True))


def _from_file(name: str, path: str, lines: tuple[str, ...] = ()) -> _System:
    return _System(name or stem(path), "" if name else _longer_name(path), label(path), lines)


def _from_table(name: str, table: Sheet, ids: Sequence[str] | None, columns: Columns | None) -> list[_System]:
    output_columns = {role: choice for role, choice in (columns or {}).items() if role.startswith("output")}
    table, roles = arrange(table, columns_in(table, columns) | output_columns)
    require_outputs(table, roles)
    rows: Sequence[int | None] | None = None
    if roles.id is not None and ids is not None:
        rows = match_ids(table, names(table, roles.id), ids)
    path = STDIN if table.path == label(STDIN) else table.path
    systems: list[_System] = []
    for system, lines in outputs_by_system(table, roles.outputs).items():
        if name:
            short, longer = f"{name}/{system}" if len(roles.outputs) > 1 and system else name, ""
        else:
            short, longer = system or stem(path), f"{stem(path)}/{system}" if system else _longer_name(path)
        outputs = lines if rows is None else tuple(ABSENT if row is None else lines[row] for row in rows)
        systems.append(_System(short, longer, table.path, outputs, "row"))
    return systems


def _longer_name(path: str) -> str:
    return "" if path == STDIN else f"{Path(path).absolute().parent.name}/{stem(path)}"


def _distinct_names(systems: Sequence[_System]) -> list[str]:
    """Return a name for each system: the longer one if two would have the same."""
    counts = Counter(system.name for system in systems)
    files: dict[str, str] = {}
    for system in systems:
        name = system.longer_name if counts[system.name] > 1 and system.longer_name else system.name
        if name in files:
            both = f"{files[name]} and {system.file}"
            raise BadInput(f"Two systems would be called {name!r}: {both}. Give each its own name: NAME=PATH")
        files[name] = system.file
    return list(files)
