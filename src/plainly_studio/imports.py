"""Public ratings and annotations, and what a study exported, as a new project: to look at, to continue, to compare.

A set's own rater ids are pseudonyms already and are kept, so that what is exported can be compared with what came in.
From an export of the studio, scales, revisions, times and exclusions come back as they were.
"""

import datetime
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert, select

from plainly import data
from plainly.core.errors import BadInput
from plainly.core.progress import Progress, no_progress
from plainly.io.lines import read_lines
from plainly.io.tables import Sheet, read_table, table_format
from plainly.people.rating_tables import (
    AVERAGED,
    is_studio_export,
    is_true,
    ratings_in,
    roles_of,
    table_of,
    unescape_export,
)
from plainly.people.ratings import guess_scale
from plainly.stats.resample import Floats
from plainly_studio import people, schema, tasks
from plainly_studio.assignments import fingerprint
from plainly_studio.creation import Items, NewProject, add_items, make_item
from plainly_studio.exports import COLUMNS
from plainly_studio.project import Project, parse_project
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
    if Path(name).is_file():
        return _load_export(name) or _ratings(name, table_of(name))
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
        source, output, comment = (_text(cells and cells[row]) for cells in texts.values())
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


_SCALE = ("question", "minimum", "maximum", "low", "high", "step", "level")


def _load_export(name: str) -> Load | None:
    """The study in a file that the studio exported; None for any other file."""
    if name.endswith(".jsonl"):
        lines = read_lines(name)
        with suppress(ValueError):
            first = json.loads(lines[0])
            if isinstance(first, dict) and first.get("kind") == "project":
                return _whole_study(name, lines)
    if table_format(name) is None or not is_studio_export(table := unescape_export(read_table(name))):
        return None
    task = next((task for task, columns in COLUMNS.items() if set(columns) <= set(table.columns)), None)
    if task is None:
        return None
    if not len(table):
        raise BadInput(f"{name} holds no answers.")
    readers = {"rating": _exported_ratings, "ranking": _exported_rankings, "operations": _exported_operations}
    return readers[task](name, table)


def _place(items: Items, row: Mapping[str, Any], outputs: list[tuple[str, str]] | None = None, **more: Any) -> int:
    source, name = _text(row["source"]), _text(row["item"])
    written = outputs or [(_text(row["system"]), _text(row["output"]))]
    return items.place((more.get("kind"), name, source, *written), source, written, name=name, **more)


def _answer(row: Mapping[str, Any], place: int, payload: dict[str, Any]) -> PastAnswer:
    if is_true(row["cannot_judge"]):
        payload = {"cannot_judge": True}
    if _text(row.get("comment")):
        payload["comment"] = _text(row["comment"])
    seconds = row["seconds"]
    return PastAnswer(
        place,
        _text(row["rater"]),
        payload,
        revision=int(row["revision"] or 1),
        late=is_true(row["late"]),
        overtime=is_true(row["overtime"]),
        seconds=None if seconds in (None, "") else float(seconds),
        at=datetime.datetime.fromisoformat(str(row["at"])).timestamp(),
    )


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)


def _whole(cell: Any) -> float:
    number = float(cell)
    return int(number) if number.is_integer() else number


def _excluded(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {_text(row["rater"]): "excluded" for row in rows if is_true(row["excluded"])}


def _exported_ratings(name: str, table: Sheet) -> Load:
    items, answers, rows = Items(), dict[tuple[int, str], PastAnswer](), list(table.records())
    scales: dict[str, dict[str, Any]] = {}
    for row in rows:
        place = _place(items, row)
        value = None if row["rating"] in (None, "") else float(row["rating"])
        scales.setdefault(_text(row["dimension"]), {key: row[key] for key in _SCALE})
        answer = answers.setdefault((place, _text(row["rater"])), _answer(row, place, {"values": {}}))
        if "values" in answer.payload:
            answer.payload["values"][_text(row["dimension"])] = value
    numbers = ("minimum", "maximum", "step")
    described = [
        {"name": key, **{part: _whole(cell) if part in numbers else _text(cell) for part, cell in scale.items()}}
        for key, scale in scales.items()
    ]
    project = parse_project({"name": name, "task": "rating", "scales": described})
    return Load(project, items.rows, list(answers.values()), _excluded(rows))


def _exported_rankings(name: str, table: Sheet) -> Load:
    items, answers, rows = Items(), [], list(table.records())
    for row in rows:
        systems, texts = _list(row["shown"]), _list(row["outputs"])
        place = _place(items, row, sorted(zip(systems, texts, strict=True)))
        choice: dict[str, Any] = {"shown": systems}
        if is_true(row["tie"]):
            choice["tie"] = True
        for end in ("best", "worst"):
            if row[end]:
                choice |= {end: systems.index(row[end]), f"{end}_system": row[end]}
        answers.append(_answer(row, place, {"choice": choice}))
    how = {"method": rows[0]["method"], "ties": is_true(rows[0]["ties"]), "question": rows[0]["question"]}
    project = parse_project({"name": name, "task": "ranking", "ranking": how})
    return Load(project, items.rows, answers, _excluded(rows))


def _list(cell: Any) -> list[str]:
    return [str(text) for text in (json.loads(cell) if isinstance(cell, str) else cell)]


def _exported_operations(name: str, table: Sheet) -> Load:
    items, answers, rows = Items(), dict[tuple[int, str], PastAnswer](), list(table.records())
    for row in rows:
        place = _place(items, row, tokens=_text(row["tokens"]))
        answer = answers.setdefault((place, _text(row["rater"])), _answer(row, place, {"groups": []}))
        if row["labels"] and "groups" in answer.payload:
            group: dict[str, Any] = {
                side: [int(number) for number in _text(row[f"{side}_tokens"]).split(",") if number]
                for side in ("source", "output")
            }
            answer.payload["groups"].append({**group, "labels": _text(row["labels"]).split(",")})
    data = {"tokens": rows[0]["tokens"]}
    project = parse_project({"name": name, "task": "operations", "data": data})
    return Load(project, items.rows, list(answers.values()), _excluded(rows))


def _whole_study(name: str, lines: Sequence[str]) -> Load:
    try:
        return _exported_entries([json.loads(line) for line in lines])
    except (ValueError, KeyError, TypeError):
        again = "plainly studio export PROJECT --format entries.jsonl"
        raise BadInput(
            f"{name} is a study that was exported, but damaged or cut off. Export it again: {again}"
        ) from None


def _exported_entries(lines: list[dict[str, Any]]) -> Load:
    """The whole study; only items that nobody answered are not there."""
    project: Project = parse_project(lines[0]["project"])
    items, answers, decisions = Items(), [], []
    place_of: dict[tuple[str, str], int] = {}
    excluded: dict[str, str] = {}
    for line in lines[1:]:
        at = datetime.datetime.fromisoformat(line["at"]).timestamp()
        if line["kind"] == "adjudication":
            if (line["item"], line["system"]) in place_of:
                decisions.append((place_of[line["item"], line["system"]], line["answer"], at))
            continue
        outputs = [(output["system"], output["text"]) for output in line["outputs"]]
        more = {name: line[name] for name in ("kind", "tokens", "expected")}
        place = _place(items, line, outputs, **more)
        place_of.setdefault((line["item"], items.rows[place]["system"]), place)
        kept = {name: line[name] for name in ("revision", "late", "overtime", "seconds")}
        answers.append(PastAnswer(place, line["rater"], line["answer"], at=at, **kept))
        if line.get("excluded") is not None:
            excluded[line["rater"]] = line["excluded"]
    return Load(project, items.rows, answers, excluded, decisions)
