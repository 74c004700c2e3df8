"""Public ratings and annotations as a project: to look at, to continue, and to prove that nothing is lost on the way.

A set's own rater ids are pseudonyms already and are kept, so that what is exported can be compared with what came in.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert, select

from plainly import data
from plainly.core.errors import BadInput
from plainly.core.progress import Progress, no_progress
from plainly.io.tables import Sheet
from plainly.people.rating_tables import AVERAGED, ratings_in, roles_of, table_of
from plainly.people.ratings import guess_scale
from plainly.stats.resample import Floats
from plainly_studio import people, schema, tasks
from plainly_studio.answers import fingerprint
from plainly_studio.creation import Items, add_items, make_item
from plainly_studio.project import Project, parse_project
from plainly_studio.results import NewProject
from plainly_studio.store import Store, create_tables, keep_fact, note, shown


@dataclass(frozen=True)
class PastAnswer:
    """What a rater answered to the item at a place, and the circumstances where they are known."""

    place: int
    rater: str
    payload: dict[str, Any]
    revision: int = 1
    late: bool = False
    overtime: bool = False
    seconds: float | None = None
    at: float | None = None

    @property
    def key(self) -> tuple[int, str]:
        return self.place, self.rater


@dataclass(frozen=True)
class Load:
    """A project with its items and the answers to them."""

    project: Project
    items: Sequence[dict[str, Any]]
    answers: Sequence[PastAnswer]
    excluded: Mapping[str, str] = field(default_factory=dict)  # rater → why
    decisions: Sequence[tuple[int, dict[str, Any], float]] = ()


def import_set(store: Store, name: str, *, progress: Progress = no_progress) -> NewProject:
    """Make a project of a named set, or of a table of ratings: any that ``plainly meta`` reads."""
    load = _load(name, progress)
    create_tables(store)
    owner_path = store.write_now(lambda connection: _store(connection, load, name))
    people_asked = {answer.rater for answer in load.answers}
    return NewProject(name, shown(store.url), owner_path, len(load.items), len(people_asked), len(load.answers))


def _load(name: str, progress: Progress) -> Load:
    from plainly_studio import own_tables

    if Path(name).is_file():
        return own_tables.load(name) or _ratings(name, table_of(name))
    card = data.card(name)
    if card.kind == "annotations":
        return _annotations(name)
    if name == "asset/pairwise":
        return _pairwise(name, progress)
    if card.kind != "ratings":
        raise BadInput(f"{name} holds {card.kind}; ratings and annotations can be imported. See: plainly data list")
    return _ratings(name, data.table(name, progress=progress))


def _annotations(name: str) -> Load:
    from plainly.typology import formats

    pairs = formats.load(name)
    project = parse_project({"name": name, "task": "operations", "data": {"tokens": "spaces"}})
    items, answers = [], []
    for at, pair in enumerate(pairs):
        items.append(make_item(pair.source, [(pair.part or "output", pair.output)], name=pair.id, tokens="spaces"))
        lengths = {"source": len(pair.source_tokens), "output": len(pair.output_tokens)}
        marks = [
            {"source": list(group.source), "output": list(group.output), "labels": [group.label]}
            for group in pair.groups
        ]
        answers.append(PastAnswer(at, name.partition("/")[0], {"groups": tasks.groups(marks, lengths, lenient=True)}))
    return Load(project, items, answers)


def _ratings(name: str, table: Sheet) -> Load:
    """The ratings of a table, whose columns and scales ``plainly.people`` knows, as items and raters' answers."""
    roles = roles_of(table)
    named = {"comment": "comment", **roles}
    texts = {role: table.columns.get(named.get(role, "")) for role in ("source", "output", "comment")}
    items = Items()
    answers: dict[tuple[int, str], dict[str, Any]] = {}
    ranges: dict[str, list[float]] = {}
    for row, rating in ratings_in(table, roles):
        if rating.dimension.endswith("_zscore"):
            continue  # computed from the ratings beside it, and on no scale
        if rating.rater == AVERAGED and "rater" not in roles:
            raise BadInput(f"{name} holds means, not each rater's ratings: a project needs raters.")
        source, output, comment = (_text(cells, row) for cells in texts.values())
        key = (rating.system, rating.item, output)
        place = items.place(key, source, [(rating.system, output)], name=rating.item)
        answer = answers.setdefault((place, rating.rater), {"values": {}})
        answer["values"][rating.dimension] = rating.value if rating.said else None
        if comment:
            answer["comment"] = comment
        ranges.setdefault(rating.dimension, []).append(rating.value)
    scales = [_scale(dimension, np.array(values)) for dimension, values in ranges.items()]
    project = parse_project({"name": name, "task": "rating", "scales": scales})
    return Load(project, items.rows, [PastAnswer(place, rater, answer) for (place, rater), answer in answers.items()])


def _text(cells: Sequence[object] | None, row: int) -> str:
    return "" if cells is None or cells[row] is None else str(cells[row])


def _pairwise(name: str, progress: Progress) -> Load:
    """ASSET against another set, one item for each pair of texts and question."""
    items, answers = Items(), []
    for row in data.table(name, progress=progress).records():
        cell = {column: str(value) for column, value in row.items()}
        other = cell["other_dataset"]
        texts = [("asset", cell["asset_simplification"]), (other, cell["other_simplification"])]
        key = (cell["sentence_id"], cell["aspect"], other, texts[0][1], texts[1][1])
        place = items.place(key, cell["source"], texts, name=f"{cell['sentence_id']} {cell['aspect']}")
        shown, winner = ["asset", other], cell["winner"]
        result = {"best": shown.index(winner), "best_system": winner} if winner in shown else {"tie": True}
        answers.append(PastAnswer(place, cell["worker_id"], {"choice": {"shown": shown, **result}}))
    project = parse_project({"name": name, "task": "ranking", "ranking": {"question": "Which version is better?"}})
    return Load(project, items.rows, answers)


def _scale(name: str, values: Floats) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    ends = (float(known.min()), float(known.max())) if len(known) else (1, 5)
    low, high = guess_scale(values) or (ends if ends[0] < ends[1] else (ends[0] - 1, ends[0] + 1))
    level = "interval" if high > 5 else "ordinal"
    return {"name": name, "question": name, "minimum": low, "maximum": high, "level": level}


def _store(connection: Connection, load: Load, name: str) -> str:
    now = time.time()
    keep_fact(connection, "project", load.project.to_json())
    add_items(connection, load.items)
    ids = list(connection.execute(select(schema.item.c.id).order_by(schema.item.c.place)).scalars())
    for rater in dict.fromkeys(answer.rater for answer in load.answers):
        why = load.excluded.get(rater)
        person = {"pseudonym": rater, "role": "rater", "state": "imported", "crowd": "{}", "created_at": now}
        person |= {"excluded_why": why, "excluded_at": None if why is None else now}
        connection.execute(insert(schema.rater).values(**person))
    raters = {row.pseudonym: row.id for row in connection.execute(select(schema.rater))}
    layouts = {place: json.dumps(list(range(len(json.loads(row["outputs"]))))) for place, row in enumerate(load.items)}
    numbers = {key: at for at, key in enumerate(dict.fromkeys(answer.key for answer in load.answers), 1)}
    latest = {answer.key: answer for answer in sorted(load.answers, key=lambda answer: answer.revision)}
    assignments = [
        {"id": numbers[place, rater], "item_id": ids[place], "rater_id": raters[rater], "state": "done",
         "layout": layouts[place], "revision": answer.revision, "leased_at": answer.at or now,
         "expires_at": answer.at or now}
        for (place, rater), answer in latest.items()
    ]  # fmt: skip
    entries = []
    for at, answer in enumerate(load.answers, 1):
        number, text = numbers[answer.key], json.dumps(answer.payload)
        kept = {name: getattr(answer, name) for name in ("revision", "late", "overtime", "seconds")}
        entries.append(
            {"assignment_id": number, "item_id": ids[answer.place], "rater_id": raters[answer.rater], **kept,
             "key": f"import-{at}", "digest": fingerprint(number, answer.revision - 1, answer.payload), "payload": text,
             "created_at": answer.at or now}
        )  # fmt: skip
    connection.execute(insert(schema.assignment), assignments)
    connection.execute(insert(schema.entry), entries)
    if load.decisions:
        owner = {"pseudonym": "imported-owner", "role": "owner", "state": "imported", "crowd": "{}", "created_at": now}
        owner_id = connection.execute(insert(schema.rater).values(**owner).returning(schema.rater.c.id)).scalar_one()
        settled = [
            {"item_id": ids[place], "owner_id": owner_id, "payload": json.dumps(payload), "created_at": at}
            for place, payload, at in load.decisions
        ]
        connection.execute(insert(schema.adjudication), settled)
    connection.exec_driver_sql(
        "UPDATE item SET taken = (SELECT count(*) FROM assignment WHERE assignment.item_id = item.id)"
    )
    if connection.dialect.name == "postgresql":  # Ids were given, so the counter that makes the next one has to follow.
        connection.exec_driver_sql(
            "SELECT setval(pg_get_serial_sequence('assignment', 'id'), coalesce((SELECT max(id) FROM assignment), 1))"
        )
    note(connection, "command line", "import", {"name": name, "answers": len(entries)})
    return people.owner_path(connection)
