"""The role of each column of a table (source, references, output, id, group), and the values in it.

``find_roles`` is the one place where columns are resolved: by the user's choice, else by their names.
"""

import contextlib
import fnmatch
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

from plainly.core.errors import BadInput, did_you_mean
from plainly.io.files import natural_key
from plainly.io.tables import Sheet, excerpt

Columns = Mapping[str, str | Sequence[str]]
_ROLES = ("source", "references", "output", "id", "group")
_ALIASES = {"sources": "source", "reference": "references", "outputs": "output", "ids": "id", "groups": "group"}
_SYSTEM = "system"
_NAMES = {
    "source": ("source", "complex", "orig", "original", "src", "input"),
    "id": ("id", "text_id", "item_id", "sentence_id", "sent_id", "example_id", "uid"),
    "group": ("group", "document", "doc"),
}
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


def find_roles(table: Sheet, columns: Columns | None = None) -> Roles:
    """Assign a role to each column: ``columns`` (role → column names, patterns allowed) goes before their names."""
    choice = _resolve_choice(table, columns or {})
    explicit = set(chain.from_iterable(choice.values()))
    free = {name: _fold(name) for name in table.columns if name not in explicit}
    source, id_, group = (_find_one(table, role, choice, free) for role in ("source", "id", "group"))
    references = choice["references"] if "references" in choice else _find_references(table, free)
    outputs = _find_outputs(table, choice.get("output"), free)
    with_role = {source, id_, group, *references, *outputs.values()}
    rest = tuple(name for name in table.columns if name not in with_role)
    return Roles(source, tuple(references), outputs, id_, group, rest)


def columns_in(table: Sheet, columns: Columns | None) -> dict[str, str | Sequence[str]]:
    """Return the user's choice of columns as far as this table has them; the others may be for another table."""
    return {
        role: choice
        for role, choice in (columns or {}).items()
        if all(name in table.columns or fnmatch.filter(table.columns, name) for name in listed_columns(choice))
    }


def listed_columns(choice: str | Sequence[str]) -> list[str]:
    """Return the names that a user chose for one role as a list."""
    return [choice] if isinstance(choice, str) else list(choice)


def require_outputs(table: Sheet, roles: Roles) -> None:
    """Raise unless a column has the role of outputs."""
    if not roles.outputs:
        raise BadInput(
            f"{table.path} has no column that is recognised as outputs. {table.listing()} Rename one to 'output' (or "
            "output_NAME, one for each system), or name it: output=COLUMN (in Python columns={'output': …})."
        )


def to_wide(sheet: Sheet, columns: Columns | None = None) -> Sheet:
    """Return a long table (a row for each system and item) as a wide one (a row per item, a column per system).

    Items are identified by id, or else by source; a table without a column ``system`` is returned as it is.
    """
    choice = dict(columns or {})
    system = str(choice.pop(_SYSTEM, _SYSTEM))
    if system not in sheet.columns:
        return sheet
    roles = find_roles(sheet, choice)
    key = roles.id or roles.source
    if len(roles.outputs) != 1 or key is None:
        return sheet
    (column,) = roles.outputs.values()
    first: dict[str, int] = {}
    cells: dict[str, dict[str, object]] = {}
    for row, (name, item) in enumerate(zip(names(sheet, system), names(sheet, key), strict=True)):
        first.setdefault(item, row)
        if item in cells.setdefault(name, {}):
            raise BadInput(f"{sheet.where(row)}: system {name!r} has a second output for the item {item!r}.")
        cells[name][item] = sheet.column(column)[row]
    for name, item in product(cells, first):
        if item not in cells[name]:
            raise BadInput(f"{sheet.path}: system {name!r} has no output for the item {item!r}.")
    wide = sheet.select(list(first.values()))
    rest = {name: values for name, values in wide.columns.items() if name not in (system, column)}
    by_system = {f"output_{name}": [outputs[item] for item in first] for name, outputs in cells.items()}
    return replace(wide, columns=rest | by_system)


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
    return tuple(map(str, values))


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
    """Return each system's outputs, from a column each or from one column of objects (system → output)."""
    by_system: dict[str, tuple[str, ...]] = {}
    for system, column in outputs.items():
        more = _from_objects(table, column) if _fold(column) == "outputs" else {system: texts(table, column)}
        if duplicates := by_system.keys() & more.keys():
            raise BadInput(f"{table.path} has the outputs of system {min(duplicates)!r} twice. Remove one.")
        by_system |= more
    return by_system


def is_missing(value: object) -> bool:
    """Return whether a value is None, or the NaN that data frames write for it."""
    return value is None or (isinstance(value, float) and value != value)


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
    """Return the column with a role that only one may have; several candidates for ids count as none."""
    if role in choice:
        return choice[role][0]
    exact = [name for name, key in free.items() if key == role]
    candidates = exact or [name for name, key in free.items() if key in _NAMES[role]]
    if len(candidates) > 1 and role != "id":
        raise BadInput(
            f"{table.path} has {len(candidates)} columns that may be the {role}: {', '.join(map(repr, candidates))}. "
            f"Name one: {role}=COLUMN (in Python columns={{{role!r}: …}})."
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
            f"{table.path} has several kinds of columns that may be the references: {candidates}. Name them: "
            "references=COLUMN (in Python columns={'references': […]})."
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


def _from_objects(table: Sheet, column: str) -> dict[str, tuple[str, ...]]:
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
    for (row, outputs), name in product(enumerate(rows), systems):
        if not isinstance(outputs.get(name), str):
            problem = f"column {column!r} has no text for the system {name!r}"
            raise BadInput(f'{table.where(row)}: {problem}. Write its output, "" if that was empty.')
    return {name: tuple(str(outputs[name]) for outputs in rows) for name in systems}


# Looking at each value of a large corpus one by one costs a tenth of measuring it; a set of types is found at once.
def _is_text(values: Iterable[object]) -> bool:
    return set(map(type, values)) <= {str}


def _looks_like_list(text: Any) -> bool:
    return str(text).lstrip().startswith("[")


def _fold(name: str) -> str:
    return name.strip().casefold()
