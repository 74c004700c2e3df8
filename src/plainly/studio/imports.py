"""Public ratings and annotations as a project: to look at, to continue, and to prove that nothing is lost on the way.

A set's own rater ids are pseudonyms already and are kept, so that what is exported can be compared with what came in.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from plainly import data, inputs
from plainly.errors import BadInput
from plainly.ratings.read import ONE_SYSTEM
from plainly.studio import people, schema, tasks
from plainly.studio.answers import fingerprint
from plainly.studio.create import add_items, make_item
from plainly.studio.export import original
from plainly.studio.project import Project, parse_project
from plainly.studio.store import Store, create_tables, note

_BLOCK = 500
_LONG = ("system", "item", "rater", "dimension", "rating")
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "asset/ratings": {
        "item": "original_sentence_id", "source": "original", "output": "simplification", "rater": "worker_id",
        "dimension": "aspect", "rating": "rating",
    },
    "simplicity-da/ratings": {
        "system": "sys_name", "item": "sent_id", "source": "orig_sent", "output": "simp_sent", "rater": "rater_id",
        "rating": "simplicity",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Imported:
    """How much came in, and the link to look at it."""

    items: int
    raters: int
    answers: int
    owner_token: str


@dataclass(frozen=True)
class _Load:
    """A project with its items and, for each item's position, the answers by rater."""

    project: Project
    items: Sequence[dict[str, Any]]
    answers: Sequence[tuple[int, str, dict[str, Any]]]


def import_set(store: Store, name: str) -> Imported:
    """Make a project of a named set, or of a table as ``plainly studio export`` writes it."""
    if Path(name).is_file():
        table = inputs.read_table(name)
        load = _ratings(name, {key: list(map(_back, column)) for key, column in table.columns.items()})
    else:
        card = data.card(name)
        if card.kind == "annotations":
            load = _annotations(name)
        elif name == "asset/pairwise":
            load = _pairwise(name)
        elif card.kind == "ratings":
            load = _ratings(name, dict(data.table(name).columns), _COLUMNS.get(name, {}))
        else:
            raise BadInput(f"{name} holds {card.kind}; ratings and annotations can be imported. See: plainly data list")
    create_tables(store)
    return store.write_now(lambda connection: _store(connection, load, name))


def _annotations(name: str) -> _Load:
    from plainly.typology import formats

    pairs = formats.load(name)
    project = parse_project({"name": name, "task": "operations", "data": {"tokens": "spaces"}})
    items, answers = [], []
    for at, pair in enumerate(pairs):
        items.append(make_item(pair.source, [(pair.part or "output", pair.output)], name=pair.id, tokens="spaces"))
        lengths = {"source": len(pair.source_tokens), "output": len(pair.output_tokens)}
        found = [
            {"source": list(group.source), "output": list(group.output), "labels": [group.label]}
            for group in pair.groups
        ]
        answers.append((at, name.partition("/")[0], {"groups": tasks.groups(found, lengths, lenient=True)}))
    return _Load(project, items, answers)


def _ratings(name: str, columns: Mapping[str, Sequence[Any]], named: Mapping[str, str] | None = None) -> _Load:
    """Ratings in a long table: a row for each system, item, rater and dimension."""
    found = {role: columns[(named or {}).get(role, role)] for role in (*_LONG, "source", "output", "comment")
             if (named or {}).get(role, role) in columns}  # fmt: skip
    for role in ("item", "rater", "rating"):
        if role not in found:
            raise BadInput(f"{name} has no column {role!r}. A table of ratings has: {', '.join(_LONG)}.")
    single = (named or {}).get("rating", "rating")
    rows = range(len(found["rating"]))
    places: dict[tuple[str, str, str], int] = {}
    items: list[dict[str, Any]] = []
    given: dict[tuple[int, str], dict[str, Any]] = {}
    ranges: dict[str, list[float]] = {}

    def cell(role: str, row: int, default: str = "") -> str:
        value = found[role][row] if role in found else default
        return default if value is None else str(value)

    for row in rows:
        key = (cell("system", row, ONE_SYSTEM), cell("item", row), cell("output", row))
        if key not in places:
            places[key] = len(items)
            items.append(make_item(cell("source", row), [(key[0], key[2])], name=key[1]))
        dimension = cell("dimension", row, single)
        rating = _number(found["rating"][row], f"{name}, row {row + 1}")
        answer = given.setdefault((places[key], cell("rater", row)), {"values": {}})
        if dimension in answer["values"]:
            raise BadInput(f"{name}, row {row + 1}: {cell('rater', row)} rates item {key[1]!r} for {dimension} twice.")
        answer["values"][dimension] = rating
        if comment := cell("comment", row):
            answer["comment"] = comment
        ranges.setdefault(dimension, []).extend([] if rating is None else [rating])
    scales = [_scale(dimension, values) for dimension, values in ranges.items()]
    project = parse_project({"name": name, "task": "rating", "scales": scales})
    return _Load(project, items, [(place, rater, answer) for (place, rater), answer in given.items()])


def _pairwise(name: str) -> _Load:
    """ASSET against another set, one item for each pair of texts and question."""
    table = data.table(name)
    places: dict[tuple[str, ...], int] = {}
    items: list[dict[str, Any]] = []
    answers: list[tuple[int, str, dict[str, Any]]] = []
    for row in range(len(table)):
        cell = {column: str(table[column][row]) for column in table.columns}
        other = cell["other_dataset"]
        texts = [("asset", cell["asset_simplification"]), (other, cell["other_simplification"])]
        key = (cell["sentence_id"], cell["aspect"], other, texts[0][1], texts[1][1])
        if key not in places:
            places[key] = len(items)
            items.append(make_item(cell["source"], texts, name=f"{cell['sentence_id']} {cell['aspect']}"))
        choice: dict[str, Any] = {"shown": ["asset", other]}
        if cell["winner"] in choice["shown"]:
            best = choice["shown"].index(cell["winner"])
            choice |= {"best": best, "best_system": cell["winner"]}
        else:
            choice["tie"] = True
        answers.append((places[key], cell["worker_id"], {"choice": choice}))
    project = parse_project({"name": name, "task": "ranking", "ranking": {"question": "Which version is better?"}})
    return _Load(project, items, answers)


def _scale(name: str, values: Sequence[float]) -> dict[str, Any]:
    low, high = min(values, default=1), max(values, default=5)
    minimum, maximum = (0, 100) if high > 5 else (-2, 2) if low < 1 else (1, 5)
    level = "interval" if maximum == 100 else "ordinal"
    return {"name": name, "question": name, "minimum": minimum, "maximum": maximum, "level": level}


def _store(connection: Connection, load: _Load, name: str) -> Imported:
    now = time.time()
    connection.execute(insert(schema.about).values(key="project", value=load.project.to_json()))
    add_items(connection, load.items)
    ids = list(connection.execute(select(schema.item.c.id).order_by(schema.item.c.place)).scalars())
    names = dict.fromkeys(rater for _, rater, _ in load.answers)
    for rater in names:
        connection.execute(
            insert(schema.rater).values(pseudonym=rater, role="rater", state="imported", crowd="{}", created_at=now)
        )
    raters = {row.pseudonym: row.id for row in connection.execute(select(schema.rater))}
    layouts = {place: json.dumps(list(range(len(json.loads(row["outputs"]))))) for place, row in enumerate(load.items)}
    assignments, entries = [], []
    for number, (place, rater, payload) in enumerate(load.answers, 1):
        both = {"item_id": ids[place], "rater_id": raters[rater]}
        assignments.append(
            {**both, "id": number, "state": "done", "layout": layouts[place], "revision": 1, "leased_at": now,
             "expires_at": now}
        )  # fmt: skip
        entries.append(
            {**both, "assignment_id": number, "revision": 1, "key": f"import-{number}", "late": False,
             "digest": fingerprint(number, 0, payload), "payload": json.dumps(payload), "overtime": False,
             "seconds": None, "created_at": now}
        )  # fmt: skip
    for table, rows in ((schema.assignment, assignments), (schema.entry, entries)):
        for start in range(0, len(rows), _BLOCK):
            connection.execute(insert(table), rows[start : start + _BLOCK])
    _count_taken(connection)
    note(connection, "command line", "import", {"name": name, "answers": len(entries)})
    owner = people.invite(connection, "owner", label="first owner", once=True)
    return Imported(len(load.items), len(names), len(entries), owner)


def _count_taken(connection: Connection) -> None:
    connection.exec_driver_sql(
        "UPDATE item SET taken = (SELECT count(*) FROM assignment WHERE assignment.item_id = item.id)"
    )
    if connection.dialect.name == "postgresql":  # Ids were given, so the counter that makes the next one has to follow.
        connection.exec_driver_sql(
            "SELECT setval(pg_get_serial_sequence('assignment', 'id'), coalesce((SELECT max(id) FROM assignment), 1))"
        )


def _number(value: Any, where: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{where}: {value!r} is not a rating.") from None
    return None if math.isnan(found) else found


def _back(value: Any) -> Any:
    return original(value) if isinstance(value, str) else value
