"""What to score, from files: every file that is given is read, and what was taken for what is said.

A set comes from a table that is named as the set, from files of sources and references, or from the first table among
the outputs that has sources or references of its own. Every other file holds outputs; where it carries sources or
references too, they must be those of the set.
"""

from collections.abc import Iterable, Mapping, Sequence

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.formatting import listed
from plainly.core.result import Note
from plainly.io.columns import Columns, Roles, find_roles, names, references_by_item, texts
from plainly.io.evalsets import NamedSheet, read_evalset, read_outputs
from plainly.io.files import STDIN, expand
from plainly.io.files import named as named_path
from plainly.io.tables import Sheet, read_table, table_format
from plainly.io.texts import Incomplete, Texts, absence_notes, empty_notes, widened


def read_inputs(
    outputs: Iterable[str],
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    table: str | None = None,
    groups: str | None = None,
    columns: Columns | None = None,
    evalset: EvalSet | None = None,
    incomplete: Incomplete = "refuse",
) -> Texts:
    """The set and the outputs that files hold. ``evalset`` is a set that is known already (a named one).

    ``incomplete`` says what becomes of items for which a table with ids has no output: an error, an empty output, or
    nothing: the system is then scored on what it has.
    """
    sheets: dict[str, Sheet] = {}
    specs = [_opened(spec, sheets, columns) for path in outputs for spec in _split(path)]
    named = [read_table(table)] if table is not None else []
    sheets |= {sheet.path: widened(sheet, _present(sheet, columns)) for sheet in named}
    _check_roles(sheets.values(), columns)
    notes = [note for sheet in sheets.values() for note in _taken(sheet, columns)]
    origin = sheets[named[0].path] if named else None
    if evalset is None and origin is None and source is None and not references:
        origin = next((sheet for sheet in sheets.values() if _carries_set(sheet, columns)), None)
    if evalset is None and (origin is not None or source is not None or references):
        chosen = _present(origin, columns) if origin is not None else None
        evalset = read_evalset(table=origin, source=source, references=references, groups=groups, columns=chosen)
    holders: list[str | NamedSheet] = [*specs]
    if named and find_roles(sheets[named[0].path], _present(sheets[named[0].path], columns)).outputs:
        holders = [NamedSheet("", sheets[named[0].path]), *specs]
    if not holders:
        raise BadInput("No outputs were given. Name at least one file with what a system wrote: plainly score … OUTPUT")
    if evalset is None:
        written = read_outputs(holders, columns=columns)
        return Texts(EvalSet.of(items=len(next(iter(written.values())))), written, tuple(notes))
    missing: dict[str, int] = {}
    written = read_outputs(
        holders,
        n=len(evalset),
        against=str(source or (references[0] if references else evalset.name or table)),
        sources=evalset.sources,
        ids=evalset.ids,
        columns=columns,
        incomplete=incomplete,
        missing=missing,
    )
    for sheet in sheets.values():
        if sheet is not origin:
            _check_same(sheet, evalset, columns)
    return Texts(evalset, written, (*notes, *empty_notes(missing, len(evalset)), *absence_notes(written)))


def _split(spec: str) -> list[str]:
    """Patterns become the files that they match; NAME=FILE stays together."""
    return [spec] if spec == STDIN or named_path(spec)[0] else expand(spec)


def _opened(spec: str, sheets: dict[str, Sheet], columns: Columns | None) -> str | NamedSheet:
    """A table among the outputs, read once; other files are left to who reads lines."""
    name, path = named_path(spec)
    if path == STDIN or not table_format(path):
        return spec
    if any(path == sheet.path for sheet in sheets.values()):
        raise BadInput(f"{path} is given twice.")
    sheet = read_table(path)
    sheets[path] = widened(sheet, _present(sheet, columns))
    return NamedSheet(name, sheets[path])


def _present(sheet: Sheet, columns: Columns | None) -> dict[str, str | Sequence[str]]:
    """Of the user's choice of columns, those that this table has: another's may be for another table."""
    chosen: dict[str, str | Sequence[str]] = {}
    for role, wanted in (columns or {}).items():
        listed_names = [wanted] if isinstance(wanted, str) else list(wanted)
        if all("*" in name or "?" in name or name in sheet.columns for name in listed_names):
            chosen[role] = wanted
    return chosen


def _check_roles(sheets: Iterable[Sheet], columns: Columns | None) -> None:
    """Every column that was named must be in one of the tables."""
    tables = list(sheets)
    for role, wanted in (columns or {}).items():
        if tables and not any(role in _present(sheet, {role: wanted}) for sheet in tables):
            for name in [wanted] if isinstance(wanted, str) else wanted:
                tables[-1].column(name)
    if columns and not tables:
        raise BadInput(f"{listed(list(columns))}: columns are chosen in tables, and none of the files is one.")


def _carries_set(sheet: Sheet, columns: Columns | None) -> bool:
    roles = find_roles(sheet, _present(sheet, columns))
    return roles.source is not None or bool(roles.references)


def _taken(sheet: Sheet, columns: Columns | None) -> list[Note]:
    """Columns that were recognised by a usual name rather than the plain one, so that nobody wonders."""
    chosen = _present(sheet, columns)
    roles = find_roles(sheet, chosen)
    usual: dict[str, list[str | None]] = {
        "source": [roles.source], "id": [roles.id], "output": [*roles.outputs.values()],
    }  # fmt: skip
    taken = [
        f"{name!r} as {role}"
        for role, columns_taken in usual.items()
        for name in columns_taken
        if name is not None and role not in chosen and not name.strip().casefold().startswith(role)
    ]
    return [Note(f"{sheet.path}: took {listed(taken)}.", code="columns")] if taken else []


def _check_same(sheet: Sheet, evalset: EvalSet, columns: Columns | None) -> None:
    """Sources and references that a file of outputs carries must be those of the set."""
    roles = find_roles(sheet, _present(sheet, columns))
    place = _places(sheet, roles, evalset)
    if roles.source is not None and evalset.has_sources:
        for row, text in enumerate(texts(sheet, roles.source)):
            if row in place and text.split() != evalset.sources[place[row]].split():
                raise BadInput(
                    f"{sheet.where(row)}: the source is not that of item {evalset.ids[place[row]]!r} of "
                    f"{evalset.name or 'the set'}. Give outputs for the same items, in the same order or with ids."
                )
    if roles.references and evalset.references:
        for row, kept in enumerate(references_by_item(sheet, roles.references)):
            if row in place and sorted(kept) != sorted(evalset.references[place[row]]):
                raise BadInput(
                    f"{sheet.where(row)}: the references are not those of item {evalset.ids[place[row]]!r} of "
                    f"{evalset.name or 'the set'}. Leave the column out, or name the set with --table."
                )


def _places(sheet: Sheet, roles: Roles, evalset: EvalSet) -> Mapping[int, int]:
    """For each row of the table the item that it is about."""
    if roles.id is not None:
        at = {name: place for place, name in enumerate(evalset.ids)}
        if by_id := {row: at[name] for row, name in enumerate(names(sheet, roles.id)) if name in at}:
            return by_id
    return {row: row for row in range(min(len(sheet), len(evalset)))}
