"""From files or a named set to a project's database: the items, shuffled once, and the first owner's link."""

import contextlib
import itertools
import json
import random
import re
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select

from plainly import data, io
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly_studio import people, schema, wording
from plainly_studio.project import Project, TaskName, with_path
from plainly_studio.store import Store, create_tables, keep_fact, note, shown

SCHEMA = "plainly.studio/1"
LOCAL_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, repr=False)
class NewProject(Result):
    """A project that was made: where its data are, what it began with, and the path of its first owner's link."""

    project: str
    database: str
    owner_path: str
    items: int
    raters: int = 0
    answers: int = 0
    file: str = ""
    wrote_file: bool = False

    def records(self) -> list[Record]:
        return [{name: value for name, value in asdict(self).items() if name not in ("file", "wrote_file")}]

    def json(self) -> Record:
        return {"schema": SCHEMA, **self.records()[0]}

    def tables(self) -> list[Table]:
        return []

    def notes(self) -> list[Note]:
        wrote = [Note(f"Wrote {self.file}.")] if self.wrote_file else []
        return [
            Note(f"{LOCAL_URL}{self.owner_path}", "claim"),
            Note("This is your owner link: it is shown only now, and works until you revoke it."),
            *wrote,
            Note(f"{self.project}: {self.items} items, {self.raters} raters, {self.answers} answers."),
            Note(f"It is ready in {self.database}. Next: plainly studio serve {self.file}"),
        ]


def create(
    store: Store, project: Project, *, directory: Path, demo: bool = False, progress: Progress = no_progress
) -> NewProject:
    """Fill a new database with the project and its items."""
    items = gather(project, directory=directory, demo=demo, progress=progress)
    items += _quality_items(project, directory)
    create_tables(store)

    def work(connection: Connection) -> str:
        keep_fact(connection, "project", project.to_json())
        keep_fact(connection, "created_at", str(time.time()))
        add_items(connection, items)
        note(connection, "command line", "create", {"items": len(items)})
        return people.owner_path(connection)

    return NewProject(project.name, shown(store.url), store.write_now(work), len(items))


def add_items(connection: Connection, items: Sequence[Mapping[str, Any]]) -> None:
    """Put items into the database, in the order in which they will be offered."""
    start = connection.execute(select(func.coalesce(func.max(schema.item.c.place), -1))).scalar_one() + 1
    if items:
        connection.execute(insert(schema.item), [{**row, "place": start + at} for at, row in enumerate(items)])


def make_item(
    source: str,
    outputs: Sequence[tuple[str, str]],
    *,
    name: str,
    kind: str = "main",
    tokens: str = "words",
    expected: Mapping[str, Any] | None = None,
    feedback: str | None = None,
) -> dict[str, Any]:
    """A row of the item table; ``outputs`` are pairs of system and text."""
    shown = [{"system": system, "text": _storable(text)} for system, text in outputs]
    return {
        "kind": kind,
        "name": _storable(name),
        "system": _storable(outputs[0][0]) if len(outputs) == 1 else "",
        "source": _storable(source),
        "outputs": json.dumps(shown, ensure_ascii=True),
        "tokens": tokens,
        "expected": None if expected is None else json.dumps(expected),
        "feedback": None if feedback is None else _storable(feedback),
        "taken": 0,
    }


class Items:
    """Items as they come, each once; ``place`` says where one stands."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._places: dict[Hashable, int] = {}

    def place(self, key: Hashable, source: str, outputs: Sequence[tuple[str, str]], **more: Any) -> int:
        if key not in self._places:
            self._places[key] = len(self.rows)
            self.rows.append(make_item(source, outputs, **more))
        return self._places[key]


def gather(
    project: Project, *, directory: Path, demo: bool = False, progress: Progress = no_progress
) -> list[dict[str, Any]]:
    """The items of the project's data, in random order."""
    evalset, outputs = data.demo() if demo else _read(project, directory, progress)
    order = list(range(len(evalset)))
    rng = random.Random(project.seed)
    rng.shuffle(order)
    if project.data.items:
        if project.data.items > len(order):
            raise BadInput(f"The project asks for {project.data.items} items, but its data has {len(order)}.")
        order = order[: project.data.items]
    tokens = "words" if project.task == "ranking" else project.data.tokens
    items = []
    for at in order:
        texts = [(system, outputs[system][at]) for system in outputs]
        groups = _rankings(project, texts, rng) if project.task == "ranking" else ([text] for text in texts)
        items += [make_item(evalset.sources[at], group, name=evalset.ids[at], tokens=tokens) for group in groups]
    rng.shuffle(items)
    return items


def _read(project: Project, directory: Path, progress: Progress) -> tuple[EvalSet, Mapping[str, Sequence[str]]]:
    where = project.data
    against = where.test_set or where.source
    if where.test_set:
        evalset = data.load(where.test_set, progress=progress)
    elif where.source:
        evalset = io.read_evalset(source=directory / where.source)
    else:
        raise BadInput('The project names no data. Say [data] test_set = "asset/test" or source = "FILE".')
    outputs: dict[str, Sequence[str]] = {}
    if where.systems:
        outputs |= data.outputs_of(where.test_set, where.systems, progress=progress)
    if where.outputs:
        named = [with_path(spec, directory.joinpath) for spec in where.outputs]
        outputs |= io.read_outputs(named, n=len(evalset), against=against, sources=evalset.sources, ids=evalset.ids)
    if not outputs:
        known = (
            f" Systems of {where.test_set}: {', '.join(data.system_names(where.test_set))}." if where.test_set else ""
        )
        raise BadInput(f'The project names no outputs. Say [data] outputs = ["NAME=FILE"].{known}')
    if project.task == "ranking" and len(outputs) < 2:
        raise BadInput("A ranking compares outputs; give at least two systems.")
    return evalset, outputs


def _rankings(
    project: Project, systems: list[tuple[str, str]], rng: random.Random
) -> Iterator[Sequence[tuple[str, str]]]:
    """The comparisons for one source: all pairs, or groups that hold every system once."""
    if project.ranking.method == "pairwise":
        yield from itertools.combinations(systems, 2)
        return
    rng.shuffle(systems)
    size = project.ranking.size
    for start in range(0, len(systems), size):
        group = systems[start : start + size]
        spare = [system for system in systems if system not in group]
        group += rng.sample(spare, min(len(spare), max(0, size - len(group))))
        if len(group) >= 2:
            yield group


def _quality_items(project: Project, directory: Path) -> Iterator[dict[str, Any]]:
    quality = project.quality
    files = {"training": quality.training, "qualification": quality.qualification, "check": quality.checks}
    for kind, path in files.items():
        if not path:
            continue
        table = io.read_table(directory / path)
        for row, record in enumerate(table.records()):
            yield _quality_item(project, record, kind, row + 1, where=table.where(row))


def _quality_item(project: Project, record: Mapping[str, Any], kind: str, number: int, *, where: str) -> dict[str, Any]:
    outputs = record.get("outputs") or {"": record.get("output")}
    texts = [record.get("source"), *(outputs.values() if isinstance(outputs, Mapping) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{where}: a {kind} item needs source and output (for rankings: outputs).")
    return make_item(
        str(record["source"]),
        [(str(system), text) for system, text in outputs.items()],
        name=f"{kind}-{number}",
        kind=kind,
        tokens=project.data.tokens,
        expected=_expected(project, record.get("expected"), outputs, where),
        feedback=str(record.get("feedback") or ""),
    )


def _expected(project: Project, expected: Any, outputs: Iterable[str], where: str) -> Mapping[str, Any]:
    """The right answer to an item: one that nobody can give would fail everybody, and a misspelt one nobody."""
    if isinstance(expected, str):
        with contextlib.suppress(ValueError):
            expected = json.loads(expected)
    if expected == {"cannot_judge": True}:
        return {"cannot_judge": True}
    shapes: dict[TaskName, tuple[str, type, Iterable[str]]] = {
        "rating": ("values", dict, [scale.name for scale in project.scales]),
        "operations": ("labels", list, wording.labels()),
        "ranking": ("best", str, outputs),
    }
    key, shape, possible = shapes[project.task]
    answer: Any = expected.get(key) if isinstance(expected, Mapping) and set(expected) == {key} else None
    names = [answer] if shape is str else answer
    numbers = answer.values() if isinstance(answer, dict) else ()
    sound = isinstance(answer, shape) and {*map(str, names)} <= {*possible}
    if not sound or any(type(number) not in (int, float) for number in numbers):
        form = {"values": dict.fromkeys(possible, 2), "labels": ["split"], "best": "NAME"}[key]
        such = f"such as {json.dumps({key: form})}, not {json.dumps(expected, default=str)}"
        raise BadInput(f'{where}: "expected" is the right answer, {such}.')
    return {key: answer}


def _storable(text: str) -> str:
    """NUL and lone surrogates cannot be held by every database and format: such a text is refused, not repaired."""
    if re.search("[\x00\ud800-\udfff]", text):
        raise BadInput(f"{text[:60]!r} holds NUL or half a character, which cannot be stored. Take it out.")
    return text
