"""Which column of a table is what: recognised by its name, or named by the user."""

import contextlib
import fnmatch
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from plainly.core.errors import BadInput, did_you_mean
from plainly.io.files import natural_key
from plainly.io.tables import Sheet

Columns = Mapping[str, str | Sequence[str]]
_SOURCE = ("source", "complex", "orig", "original", "src", "input")
_ID = ("id", "text_id", "item_id", "sentence_id", "sent_id", "example_id", "uid")
_GROUP = ("group", "document", "doc")
_REFERENCE_LISTS = ("references", "refs", "simplifications")
_NUMBERED = re.compile(r"(reference|ref)(?:[ ._-]?[0-9]+)?|(simp)[ ._-]?[0-9]+")
# Names that programs give to what a model wrote; taken where no column is called output.
_WRITTEN = (
    "simplified", "prediction", "predictions", "predicted", "generated", "generation", "generated_text", "response",
    "model_output", "system_output", "hypothesis", "completion", "output_text",
)  # fmt: skip
_OUTPUT = re.compile(r"output(?:[ ._:/-](.+))?", re.DOTALL)
_ROLES = ("source", "references", "output", "id", "group")
_ALSO = {"sources": "source", "reference": "references", "outputs": "output", "ids": "id", "groups": "group"}


@dataclass(frozen=True)
class Roles:
    """The columns of a table by what they are; ``rest`` is everything else."""

    source: str | None
    references: tuple[str, ...]
    outputs: Mapping[str, str]  # system → column; the system is "" where only the file's name can name it
    id: str | None
    group: str | None
    rest: tuple[str, ...]


def find_roles(table: Sheet, columns: Columns | None = None) -> Roles:
    """What each column is; ``columns`` (role → column name or names, patterns allowed) goes before what names say."""
    chosen = _chosen(table, columns or {})
    source = _only(table, "source", _SOURCE, chosen)
    id_ = _only(table, "id", _ID, chosen, needed=False)
    group = _only(table, "group", _GROUP, chosen)
    taken = {name for names in chosen.values() for name in names}
    references = chosen["references"] if "references" in chosen else _references(table, taken)
    outputs = _outputs(table, chosen.get("output"), taken)
    used = {source, id_, group, *references, *outputs.values()}
    rest = tuple(name for name in table.columns if name not in used)
    return Roles(source, tuple(references), outputs, id_, group, rest)


def texts(table: Sheet, name: str) -> tuple[str, ...]:
    """A column that must hold text in every row."""
    values = table.column(name)
    if _all_text(values):
        return tuple(values)  # type: ignore[arg-type]
    for row, value in enumerate(values):
        if not isinstance(value, str):
            held = "nothing" if missing(value) else f"{_excerpt(value)}, not text"
            raise BadInput(f'{table.where(row)}: column {name!r} holds {held}. Write text; "" if there is none.')
    return tuple(values)  # type: ignore[arg-type]


def names(table: Sheet, name: str) -> tuple[str, ...]:
    """A column that names things, ids or documents: numbers will do."""
    values = table.column(name)
    if _all_text(values):
        return tuple(values)  # type: ignore[arg-type]
    for row, value in enumerate(values):
        if missing(value) or isinstance(value, (dict, list)):
            raise BadInput(f"{table.where(row)}: column {name!r} holds no name. Give every row one.")
    return tuple(map(str, values))


def strings(values: Sequence[object]) -> tuple[str, ...]:
    """Any values as text, for columns that are only carried along."""
    return tuple(value if isinstance(value, str) else _string(value) for value in values)


def references_by_item(table: Sheet, columns: Sequence[str]) -> Sequence[tuple[str, ...]]:
    """Each row's references, from one column of lists or several columns; blank and missing ones are left out."""
    held = [(name, table.column(name), _folded(name) in _REFERENCE_LISTS) for name in columns]
    if all(_all_text(values) and not (listed and _any_list(values)) for _, values, listed in held):
        rows: Iterable[Any] = zip(*(values for _, values, _ in held), strict=True)
        return [tuple(text for text in row if text and not text.isspace()) for row in rows]
    if len(held) == 1 and set(map(type, held[0][1])) == {list}:
        cells: list[Any] = held[0][1]
        inside = list(chain.from_iterable(cells))
        if _all_text(inside) and all(map(str.strip, inside)):
            return list(map(tuple, cells))
    return [
        tuple(
            text
            for name, values, listed in held
            for text in _references_in(values[row], listed, table, row, name)
            if text and not text.isspace()
        )
        for row in range(len(table))
    ]


def outputs_by_system(table: Sheet, outputs: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Each system's outputs, from a column each or from one column of objects (system → output)."""
    by_system: dict[str, tuple[str, ...]] = {}
    for system, column in outputs.items():
        held = _from_objects(table, column) if _folded(column) == "outputs" else {system: texts(table, column)}
        for name, lines in held.items():
            if name in by_system:
                raise BadInput(f"{table.path} has the outputs of system {name!r} twice. Remove one.")
            by_system[name] = lines
    return by_system


def require_outputs(table: Sheet, roles: Roles) -> None:
    """Raise unless a column is known to hold outputs."""
    if not roles.outputs:
        raise BadInput(
            f"{table.path} has no column that is known to hold outputs. {table.listing()} Rename one to 'output' (or "
            "output_NAME, one for each system), or say which: output=COLUMN (in Python columns={'output': …})."
        )


def missing(value: object) -> bool:
    """None, or the NaN that dataframes write for it."""
    return value is None or (isinstance(value, float) and value != value)


def _string(value: object) -> str:
    if missing(value):
        return ""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list, bool)) else str(value)


def _chosen(table: Sheet, columns: Columns) -> dict[str, list[str]]:
    chosen: dict[str, list[str]] = {}
    for key, wanted in columns.items():
        role = _ALSO.get(key, key)
        if role not in _ROLES:
            raise BadInput(f"Unknown role {key!r} for a column.{did_you_mean(key, _ROLES)} Roles: {', '.join(_ROLES)}.")
        picked: list[str] = []
        for name in [wanted] if isinstance(wanted, str) else wanted:
            matching = [] if name in table.columns else sorted(fnmatch.filter(table.columns, name), key=natural_key)
            if not matching:
                table.column(name)
            picked += matching or [name]
        if role not in ("references", "output") and len(picked) > 1:
            raise BadInput(f"{table.path}: {role} is one column, not {len(picked)} ({', '.join(picked)}). Name one.")
        chosen[role] = picked
    return chosen


def _only(
    table: Sheet, role: str, known: Sequence[str], chosen: Mapping[str, list[str]], *, needed: bool = True
) -> str | None:
    if role in chosen:
        return chosen[role][0]
    taken = {name for names in chosen.values() for name in names}
    candidates = [name for name in table.columns if _folded(name) in known and name not in taken]
    exact = [name for name in candidates if _folded(name) == role]
    if len(exact or candidates) > 1:
        if not needed:
            return None
        raise BadInput(
            f"{table.path} has {len(exact or candidates)} columns that may be the {role}: "
            f"{', '.join(map(repr, exact or candidates))}. "
            f"Say which: {role}=COLUMN (in Python columns={{{role!r}: …}})."
        )
    return next(iter(exact or candidates), None)


def _references(table: Sheet, taken: set[str]) -> list[str]:
    families: dict[str, list[str]] = {}
    for name in table.columns:
        if name in taken:
            continue
        folded = _folded(name)
        if folded in _REFERENCE_LISTS:
            families[folded] = [name]
        elif matched := _NUMBERED.fullmatch(folded):
            families.setdefault(matched[1] or matched[2], []).append(name)
    if len(families) > 1:
        held = ", ".join(repr(name) for names in families.values() for name in names)
        raise BadInput(
            f"{table.path} has several kinds of columns that may be the references: {held}. Say which: "
            "references=COLUMN (in Python columns={'references': […]})."
        )
    return sorted(next(iter(families.values()), []), key=lambda name: natural_key(_folded(name)))


def _outputs(table: Sheet, chosen: Sequence[str] | None, taken: set[str]) -> dict[str, str]:
    if chosen is not None:
        return {_system(name) or (name if len(chosen) > 1 else ""): name for name in chosen}
    outputs: dict[str, str] = {}
    for name in table.columns:
        system = _system(name)
        if system is None or name in taken:
            continue
        if system in outputs:
            raise BadInput(
                f"{table.path} has the outputs of one system twice, in {outputs[system]!r} and {name!r}. Rename one."
            )
        outputs[system] = name
    if not outputs:
        usual = [name for name in table.columns if _folded(name) in _WRITTEN and name not in taken]
        if len(usual) == 1:
            return {"": usual[0]}
    return outputs


def _system(column: str) -> str | None:
    """The system that a column's name says wrote it; "" if it says only "output"; None if it is no output."""
    name = column.strip()
    if name.casefold() == "outputs":
        return "outputs"
    matched = _OUTPUT.fullmatch(name.casefold())
    return None if matched is None else name[matched.start(1) :] if matched[1] else ""


def _references_in(value: object, listed: bool, table: Sheet, row: int, column: str) -> Sequence[str]:
    if isinstance(value, str):
        if not listed or not value.lstrip().startswith("["):
            return (value,)
        try:
            value = json.loads(value)
        except ValueError:
            raise BadInput(
                f"{table.where(row)}: column {column!r} does not hold a JSON list: {_excerpt(value)} "
                "Write lists as JSON (in Python json.dumps(references)), or store the table as JSONL or Parquet; "
                "a column of single references is called 'reference'."
            ) from None
    if missing(value):
        return ()
    if isinstance(value, list) and all(isinstance(text, str) or missing(text) for text in value):
        return [text for text in value if isinstance(text, str)]
    raise BadInput(
        f"{table.where(row)}: column {column!r} holds {_excerpt(value)}, which is neither text nor a list of texts. "
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
                f"{table.where(row)}: column {column!r} holds {_excerpt(value)}, not an object. Write "
                '{"SYSTEM": "what it wrote", …}; one system\'s outputs go in a column called \'output\'.'
            )
        rows.append(value)
    systems = list(dict.fromkeys(name for row in rows for name in row))
    for at, row_ in enumerate(rows):
        for name in systems:
            if not isinstance(row_.get(name), str):
                raise BadInput(
                    f"{table.where(at)}: column {column!r} has no text for the system {name!r}. "
                    'Write what it wrote, "" if that was nothing.'
                )
    return {name: tuple(str(row[name]) for row in rows) for name in systems}


# Looking at each value of a large corpus one by one costs a tenth of measuring it; a set of types is found at once.
def _all_text(values: Iterable[object]) -> bool:
    return set(map(type, values)) <= {str}


def _any_list(values: Iterable[Any]) -> bool:
    return any(value.lstrip().startswith("[") for value in values)


def _folded(name: str) -> str:
    return name.strip().casefold()


def _excerpt(value: object, *, most: int = 50) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return repr(text if len(text) <= most else f"{text[:most]}…")
