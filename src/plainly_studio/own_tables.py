"""A study out of what a study exported: scales, revisions, times and who is excluded come back as they were."""

import datetime
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from plainly.core.errors import BadInput
from plainly.io.lines import read_lines
from plainly.io.tables import Sheet, read_table, table_format
from plainly.people.rating_tables import is_studio_export, is_true, unescape_export
from plainly_studio.creation import Items
from plainly_studio.exports import COLUMNS
from plainly_studio.imports import Load, PastAnswer
from plainly_studio.project import Project, parse_project

_SCALE = ("question", "minimum", "maximum", "low", "high", "step", "level")


def load(name: str) -> Load | None:
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
    return {"rating": _ratings, "ranking": _rankings, "operations": _operations}[task](name, table)


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


def _ratings(name: str, table: Sheet) -> Load:
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


def _rankings(name: str, table: Sheet) -> Load:
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


def _operations(name: str, table: Sheet) -> Load:
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
        return _entries([json.loads(line) for line in lines])
    except (ValueError, KeyError, TypeError):
        again = "plainly studio export PROJECT --format entries.jsonl"
        raise BadInput(
            f"{name} is a study that was exported, but damaged or cut off. Export it again: {again}"
        ) from None


def _entries(lines: list[dict[str, Any]]) -> Load:
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
