"""An evaluation set from files, checked as a whole before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.io.columns import Columns, Roles, find_roles, names, references_by_item, strings, texts
from plainly.io.consistency import check_length, looks_transposed
from plainly.io.files import PathLike, check_once, expand, label
from plainly.io.lines import read_lines
from plainly.io.tables import Format, Sheet, read_table, table_format

_TURN = (
    "Each file is one reference and has a line for every item. Turn them, with FILES in the order of the items: "
    "paste -s FILES | cut -f 1 > reference.1.txt, then cut -f 2, and so on."
)


@dataclass(frozen=True)
class _Part:
    """One file's contribution: what it is called, the text that shows where it stands, and its rows of references."""

    name: str
    lines: Sequence[str] | int  # only their number where there is no text to show
    rows: Sequence[tuple[str, ...]] = ()
    unit: str = "line"

    def __len__(self) -> int:
        return self.lines if isinstance(self.lines, int) else len(self.lines)

    @property
    def text(self) -> Sequence[str]:
        return () if isinstance(self.lines, int) else self.lines

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
    return _Part(sheet.path, [" ".join(row) for row in rows], rows, "row")


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
