"""The role of each column of a table (source, references, output, id, group), and the values in it.

``find_roles`` is the one place where columns are resolved: by the user's choice, else by their names.
"""

import contextlib
import fnmatch
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from plainly.core.errors import BadInput, did_you_mean
from plainly.core.evalset import ABSENT, as_name, is_missing
from plainly.core.formatting import listed
from plainly.io.consistency import plain_id
from plainly.io.files import natural_key
from plainly.io.tables import Sheet, excerpt

Columns = Mapping[str, str | Sequence[str]]
_ROLES = ("source", "references", "output", "id", "group", "system")
_ALIASES = {
    "sources": "source", "reference": "references", "outputs": "output", "ids": "id", "groups": "group",
    "systems": "system",
}  # fmt: skip
_NAMES = {
    "source": ("source", "complex", "orig", "original", "src", "input"),
    "id": ("id", "text_id", "item_id", "sentence_id", "sent_id", "example_id", "uid"),
    "group": ("group", "document", "doc"),
    "system": ("system", "model", "system_name", "model_name"),
}
# Columns that a table of people's answers has: an export of the studio.
_ANSWERS = {"item", "rater", "cannot_judge", "excluded"}
_REFERENCE_LISTS = ("references", "refs", "simplifications")
_NUMBERED = re.compile(r"(reference|ref)(?:[ ._-]?[0-9]+)?|(simp)[ ._-]?[0-9]+")
_OUTPUT = re.compile(r"output(?:[ ._:/-](.+))?", re.DOTALL)
# Names that programs give to what a model wrote; used where no column is called output.
_USUAL_OUTPUTS = (
    "simplified", "prediction", "predictions", "predicted", "generated", "generation", "generated_text", "response",
    "model_output", "system_output", "hypothesis", "completion", "output_text",
)  # fmt: skip


@dataclass(frozen=True)
class Roles:
    """The columns of a table by role; ``rest`` is everything else."""

    source: str | None
    references: tuple[str, ...]
    outputs: Mapping[str, str]  # system → column; the system is "" if only the file's name can name it
    id: str | None
    group: str | None
    rest: tuple[str, ...]
    system: str | None = None  # of a long table: a row for each system and item


def find_roles(table: Sheet, columns: Columns | None = None) -> Roles:
    """Assign a role to each column: ``columns`` (role → column names, patterns allowed) goes before their names."""
    choice = _resolve_choice(table, columns or {})
    explicit = set(chain.from_iterable(choice.values()))
    free = {name: _fold(name) for name in table.columns if name not in explicit}
    source, id_, group = (_find_one(table, role, choice, free) for role in ("source", "id", "group"))
    references = choice["references"] if "references" in choice else _find_references(table, free)
    outputs = _find_outputs(table, choice.get("output"), free)
    system = _find_one(table, "system", choice, free) if len(outputs) == 1 or "system" in choice else None
    if system is not None and len(outputs) > 1:
        several = ", ".join(map(repr, outputs.values()))
        raise BadInput(
            f"{table.path} has a column of systems and {len(outputs)} columns of outputs ({several}). Name one of "
            "these: columns={'output': 'COLUMN'}"
        )
    with_role = {source, id_, group, system, *references, *outputs.values()}
    rest = tuple(name for name in table.columns if name not in with_role)
    return Roles(source, tuple(references), outputs, id_, group, rest, system)


def columns_in(table: Sheet, columns: Columns | None) -> dict[str, str | Sequence[str]]:
    """Return the user's choice of columns as far as this table has them; the others may be for another table."""
    return {
        role: choice
        for role, choice in (columns or {}).items()
        if all(name in table.columns or fnmatch.filter(table.columns, name) for name in listed_columns(choice))
    }


def check_columns(sheets: Sequence[Sheet], columns: Columns | None) -> None:
    """Raise unless every column that the user chose is in one of the tables."""
    if columns and not sheets:
        raise BadInput(f"{listed(list(columns))}: only tables have columns, and none of the files is a table.")
    for role, choice in (columns or {}).items():
        if not any(columns_in(sheet, {role: choice}) for sheet in sheets):
            for name in listed_columns(choice):
                sheets[-1].column(name)


def listed_columns(choice: str | Sequence[str]) -> list[str]:
    """Return the names that a user chose for one role as a list."""
    return [choice] if isinstance(choice, str) else list(choice)


def require_outputs(table: Sheet, roles: Roles) -> None:
    """Raise unless a column has the role of outputs."""
    if not roles.outputs:
        raise BadInput(
            f"{table.path} has no column that is recognised as outputs. {table.listing()} Rename one to 'output' (or "
            "output_NAME, one for each system), or name it: columns={'output': 'COLUMN'}, or columns={'output': ['A', "
            "'B']} for the systems A and B."
        )


def arrange(sheet: Sheet, columns: Columns | None = None) -> tuple[Sheet, Roles]:
    """Return a table with a row per item and a column per system, and its roles; every reader of tables calls this.

    A long table has a row for each system and item. Its items are told apart by id, or else by source, and an output
    that it lacks is ``ABSENT``. Columns without a role are kept if they have one value for each item.
    """
    if not columns and set(sheet.columns) >= _ANSWERS:
        raise BadInput(
            f"{sheet.path} has what people answered in a study, not outputs. Its result: plainly results {sheet.path}. "
            f"Beside the scores of its systems: plainly report … --ratings {sheet.path}"
        )
    roles = find_roles(sheet, columns)
    if roles.system is None or not roles.outputs:
        return sheet, roles
    systems = names(sheet, roles.system)
    key = roles.id or roles.source
    if key is None and len(set(systems)) > 1:
        raise BadInput(
            f"{sheet.path} has outputs of several systems, and no column tells the items apart. Write the id of the "
            "item in each row, in a column called 'id'."
        )
    items = [plain_id(name) for name in names(sheet, key)] if key else list(map(str, range(len(sheet))))
    rows: dict[str, list[int]] = {}
    cells: dict[str, dict[str, int]] = {system: {} for system in systems}
    for row, (system, item) in enumerate(zip(systems, items, strict=True)):
        rows.setdefault(item, []).append(row)
        if (first := cells[system].setdefault(item, row)) != row:
            raise BadInput(
                f"{sheet.where(row)}: {system!r} has a second output for the item {excerpt(item)}; the first is at "
                f"{sheet.where(first)}. Delete one, or give different items different ids in a column called 'id'."
            )
    shared = [name for name in (roles.source, roles.group, *roles.references) if name is not None]
    wide = {name: [_only_value(sheet, name, own) for own in rows.values()] for name in shared}
    for name in filter(None, (roles.id, *roles.rest)):
        values, as_text = sheet.column(name), strings(sheet.column(name))
        if name == roles.id or all(len({as_text[row] for row in own}) == 1 for own in rows.values()):
            wide[name] = [values[own[0]] for own in rows.values()]
    (output,) = (sheet.column(name) for name in roles.outputs.values())
    outputs = {system: f"output of {system}" for system in cells}
    wide |= {
        column: [output[cells[system][item]] if item in cells[system] else ABSENT for item in rows]
        for system, column in outputs.items()
    }
    first_rows = replace(sheet, columns=wide, places=[sheet.places[own[0]] for own in rows.values()])
    rest = tuple(name for name in roles.rest if name in wide)
    return first_rows, replace(roles, outputs=outputs, rest=rest, system=None)


def _only_value(sheet: Sheet, name: str, rows: Sequence[int]) -> object:
    """Return what the rows of one item have in a column; cells without a value do not count."""
    values = sheet.column(name)
    first = rows[0]
    for row in rows:
        if is_missing(values[first]) or values[first] in ("", []):
            first = row
        elif not is_missing(values[row]) and values[row] not in ("", []) and values[row] != values[first]:
            raise BadInput(
                f"{sheet.where(row)}: column {name!r} contains {excerpt(values[row])}, but {sheet.where(first)} has "
                f"{excerpt(values[first])} for the same item. Correct one, or give different items different ids in a "
                "column called 'id'."
            )
    return values[first]


def texts(table: Sheet, name: str) -> tuple[str, ...]:
    """Return a column that must contain text in every row."""
    values = table.column(name)
    for row, value in enumerate(() if _is_text(values) else values):
        if not isinstance(value, str):
            content = "nothing" if is_missing(value) else f"{excerpt(value)}, not text"
            raise BadInput(f'{table.where(row)}: column {name!r} contains {content}. Write text; "" if there is none.')
    return tuple(values)


def names(table: Sheet, name: str) -> tuple[str, ...]:
    """Return a column of ids or documents as text."""
    values = table.column(name)
    if _is_text(values):
        return tuple(values)
    for row, value in enumerate(values):
        if is_missing(value) or isinstance(value, (dict, list)):
            raise BadInput(f"{table.where(row)}: column {name!r} is not a name here. Give every row one.")
    return tuple(map(as_name, values))


def strings(values: Sequence[object]) -> tuple[str, ...]:
    """Return any values as text, for columns without a role."""
    return tuple(value if isinstance(value, str) else _to_string(value) for value in values)


def references_by_item(table: Sheet, columns: Sequence[str]) -> Sequence[tuple[str, ...]]:
    """Return each row's references, from a column of lists or several columns, without blank and missing ones."""
    cells = [table.column(name) for name in columns]
    is_list = [_fold(name) in _REFERENCE_LISTS for name in columns]
    if all(
        _is_text(values) and not (may_be_list and any(map(_looks_like_list, values)))
        for values, may_be_list in zip(cells, is_list, strict=True)
    ):
        rows: Iterable[Any] = zip(*cells, strict=True)
        return [tuple(text for text in row if text and not text.isspace()) for row in rows]
    if len(cells) == 1 and set(map(type, cells[0])) == {list}:
        inside = list(chain.from_iterable(cells[0]))
        if _is_text(inside) and all(map(str.strip, inside)):
            return list(map(tuple, cells[0]))
    return [
        tuple(
            text
            for name, value, may_be_list in zip(columns, row, is_list, strict=True)
            for text in _references_in(value, may_be_list, table, at, name)
            if text and not text.isspace()
        )
        for at, row in enumerate(zip(*cells, strict=True))
    ]


def outputs_by_system(table: Sheet, outputs: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return each system's outputs, from a column each or from one column of objects (system → output).

    An output is ``ABSENT`` where a cell contains nothing: None or NaN, not an empty text.
    """
    by_system: dict[str, tuple[str, ...]] = {}
    for system, column in outputs.items():
        cells = _from_objects(table, column) if _fold(column) == "outputs" else {system: table.column(column)}
        more = {name: _texts_or_absent(table, column, values) for name, values in cells.items()}
        if duplicates := by_system.keys() & more.keys():
            raise BadInput(f"{table.path} has the outputs of system {min(duplicates)!r} twice. Remove one.")
        by_system |= more
    return by_system


def _texts_or_absent(table: Sheet, column: str, values: Sequence[object]) -> tuple[str, ...]:
    cells = values if _is_text(values) else [ABSENT if is_missing(value) else value for value in values]
    return texts(replace(table, columns={column: list(cells)}), column)


def _to_string(value: object) -> str:
    if is_missing(value):
        return ""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list, bool)) else str(value)


def _resolve_choice(table: Sheet, columns: Columns) -> dict[str, list[str]]:
    """Return the columns that the user chose by role, with patterns replaced by the columns that match."""
    choices: dict[str, list[str]] = {}
    for key, choice in columns.items():
        role = _ALIASES.get(key, key)
        if role not in _ROLES:
            raise BadInput(f"Unknown role {key!r} for a column.{did_you_mean(key, _ROLES)} Roles: {', '.join(_ROLES)}.")
        choices[role] = []
        for name in listed_columns(choice):
            matches = [] if name in table.columns else sorted(fnmatch.filter(table.columns, name), key=natural_key)
            if not matches:
                table.column(name)
            choices[role] += matches or [name]
        if role not in ("references", "output") and len(choices[role]) > 1:
            several = f"{len(choices[role])} ({', '.join(choices[role])})"
            raise BadInput(f"{table.path}: {role} is one column, not {several}. Name one.")
    return choices


def _find_one(table: Sheet, role: str, choice: Mapping[str, list[str]], free: Mapping[str, str]) -> str | None:
    """Return the column with a role that only one may have; several candidates for systems count as none."""
    if role in choice:
        return choice[role][0]
    exact = [name for name, key in free.items() if key == role]
    candidates = exact or [name for name, key in free.items() if key in _NAMES[role]]
    if len(candidates) > 1 and role == "id":  # of words, sentences and documents: only one may tell the items apart
        candidates = [name for name in candidates if len(set(map(str, table.columns[name]))) == max(len(table), 1)]
    if len(candidates) > 1 and role != "system":
        raise BadInput(
            f"{table.path} has {len(candidates)} columns that may be the {role}: {', '.join(map(repr, candidates))}. "
            f"Name one: columns={{{role!r}: 'COLUMN'}}"
        )
    return candidates[0] if len(candidates) == 1 else None


def _find_references(table: Sheet, free: Mapping[str, str]) -> list[str]:
    families: dict[str, list[str]] = {}
    for name, key in free.items():
        if key in _REFERENCE_LISTS:
            families[key] = [name]
        elif match := _NUMBERED.fullmatch(key):
            families.setdefault(match[1] or match[2], []).append(name)
    if len(families) > 1:
        candidates = ", ".join(map(repr, chain.from_iterable(families.values())))
        raise BadInput(
            f"{table.path} has several kinds of columns that may be the references: {candidates}. Name those "
            "that are: columns={'references': ['COLUMN', 'COLUMN']}"
        )
    return sorted(next(iter(families.values()), []), key=lambda name: natural_key(free[name]))


def _find_outputs(table: Sheet, choice: Sequence[str] | None, free: Mapping[str, str]) -> dict[str, str]:
    if choice is not None:
        return {_system_in(name) or (name if len(choice) > 1 else ""): name for name in choice}
    outputs: dict[str, str] = {}
    for name in free:
        system = _system_in(name)
        if system in outputs:
            both = f"{outputs[system]!r} and {name!r}"
            raise BadInput(f"{table.path} has the outputs of one system twice, in {both}. Rename one.")
        if system is not None:
            outputs[system] = name
    usual = [name for name, key in free.items() if key in _USUAL_OUTPUTS]
    return {"": usual[0]} if not outputs and len(usual) == 1 else outputs


def _system_in(column: str) -> str | None:
    """Return the system in the name of a column of outputs; "" if it is just "output"; None for another column."""
    name = column.strip()
    if name.casefold() == "outputs":
        return "outputs"
    match = _OUTPUT.fullmatch(name.casefold())
    return None if match is None else name[match.start(1) :] if match[1] else ""


def _references_in(value: object, may_be_list: bool, table: Sheet, row: int, column: str) -> Sequence[str]:
    if isinstance(value, str):
        if not may_be_list or not _looks_like_list(value):
            return (value,)
        try:
            value = json.loads(value)
        except ValueError:
            raise BadInput(
                f"{table.where(row)}: column {column!r} does not contain a JSON list: {excerpt(value)} Write lists as "
                "JSON (in Python json.dumps(references)), or store the table as JSONL or Parquet; a column of single "
                "references is called 'reference'."
            ) from None
    if is_missing(value):
        return ()
    if isinstance(value, list) and all(isinstance(text, str) or is_missing(text) for text in value):
        return [text for text in value if isinstance(text, str)]
    raise BadInput(
        f"{table.where(row)}: column {column!r} contains {excerpt(value)}, which is neither text nor a list of texts. "
        "Write the references as text, or as a list of texts."
    )


def _from_objects(table: Sheet, column: str) -> dict[str, list[object]]:
    rows: list[dict[str, object]] = []
    for row, value in enumerate(table.column(column)):
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                value = json.loads(value)
        if not isinstance(value, dict):
            raise BadInput(
                f"{table.where(row)}: column {column!r} contains {excerpt(value)}, not an object. Write "
                '{"SYSTEM": "its output", …}; one system\'s outputs go in a column called \'output\'.'
            )
        rows.append(value)
    systems = list(dict.fromkeys(chain.from_iterable(rows)))
    return {str(name): [outputs.get(name) for outputs in rows] for name in systems}


# Looking at each value of a large corpus one by one costs a tenth of measuring it; a set of types is found at once.
def _is_text(values: Iterable[object]) -> bool:
    return set(map(type, values)) <= {str}


def _looks_like_list(text: Any) -> bool:
    return str(text).lstrip().startswith("[")


def _fold(name: str) -> str:
    return name.strip().casefold()
