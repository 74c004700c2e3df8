"""New projects: from texts, in random order, or from a past study with its answers, to look at and to continue.

A past study is a public set of ratings or annotations, or an export. The rater ids of a public set are pseudonyms
already and stay, so that an export can be compared with its source. From an export of the studio, scales, revisions,
times and exclusions return unchanged.
"""

import contextlib
import datetime
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from sqlalchemy import Connection, insert, select, text

from plainly import data, io
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.formatting import count_noun
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.io.files import read_lines
from plainly.io.tables import Sheet, table_format
from plainly.people import rating_tables
from plainly.people.rating_tables import is_true
from plainly.people.ratings import guess_scale
from plainly_studio import designs, people, schema, tasks
from plainly_studio.assignments import fingerprint
from plainly_studio.exports import COLUMNS, SCALE_COLUMNS, StudyAnswer
from plainly_studio.project import Project, TaskName, change_path, parse_project
from plainly_studio.store import UNSTORABLE, Refusal, Store, create_tables, hide_password, log_event, store_fact

SCHEMA = "plainly.studio/1"
LOCAL_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, repr=False)
class NewProject(Result):
    """A new project: its database, its size, and the path of the first owner's link."""

    project: str
    database: str
    owner_path: str
    items: int
    raters: int = 0
    answers: int = 0
    file: str = ""
    wrote_file: bool = False
    url: str = LOCAL_URL
    remark: str = ""
    balance: tuple[Record, ...] = ()  # of a planned design

    def records(self) -> list[Record]:
        others = ("file", "wrote_file", "url", "remark", "balance")
        return [{name: value for name, value in asdict(self).items() if name not in others}]

    def json(self) -> Record:
        return {"schema": SCHEMA, **self.records()[0], **({"balance": list(self.balance)} if self.balance else {})}

    def tables(self) -> list[Table]:
        rows = tuple(tuple(map(str, row.values())) for row in self.balance)
        return [Table(tuple(self.balance[0]), rows)] if rows else []

    def notes(self) -> list[Note]:
        sentences = [
            "This is your owner link. It is shown only now, and works until you revoke it.",
            *([f"Wrote {self.file}."] if self.wrote_file else []),
            f"{self.project}: {count_noun(self.items, 'item')}, {count_noun(self.raters, 'rater')}, "
            f"{count_noun(self.answers, 'answer')}.",
            *([self.remark] if self.remark else []),
            f"The database is {self.database}. Next: plainly studio serve {self.file}{self._port()}",
        ]
        return [Note(f"{self.url.rstrip('/')}{self.owner_path}", "claim"), *map(Note, sentences)]

    def _port(self) -> str:
        """Return the option that serves the project where the link points, if that is another port of this machine."""
        machine, _, port = self.url.rstrip("/").rpartition(":")
        is_local = LOCAL_URL.startswith(machine) and port.isdigit()
        return f" --port {port}" if is_local and self.url.rstrip("/") != LOCAL_URL else ""


def create(
    store: Store, project: Project, *, directory: Path, demo: bool = False, progress: Progress = no_progress
) -> NewProject:
    """Fill a new database with the project and its items."""
    items = make_items(project, directory=directory, demo=demo, progress=progress)
    project = share_items(project, sum(row["kind"] == "main" for row in items))
    items += quality_items(project, directory)
    places, balance = plan_places(project, items)
    kinds = Counter(row["kind"] for row in items)
    count = len(items) - kinds["tied"] - kinds["repeat"]
    create_tables(store)
    owner_path = store.write_now(
        lambda connection: fill(connection, project, items, "create", {"items": count}, places=places)
    )
    remarks = [f"The design has {len(places)} places for raters."] if places else []
    if not places and (raters := project.assignment.raters):
        remarks.append(f"Each of the {raters} raters judges up to {count_noun(project.assignment.per_rater, 'item')}.")
    if tied := kinds["tied"]:
        remarks.append(f"Identical outputs are tied and not shown: {tied} in this study.")
    project_facts = (project.name, hide_password(store.url), owner_path, count)
    return NewProject(*project_facts, remark=" ".join(remarks), balance=tuple(balance))


def share_items(project: Project, count: int) -> Project:
    """Return the project with the number of items for each rater that follows from the number of raters."""
    settings = project.assignment
    if settings.design != "free" or not settings.raters or settings.per_rater:
        return project
    if settings.raters < settings.overlap:
        raise BadInput(f"overlap = {settings.overlap} needs at least as many raters, not raters = {settings.raters}.")
    per_rater = -(-count * settings.overlap // settings.raters)
    return structs.replace(project, assignment=structs.replace(settings, per_rater=per_rater))


def fill(
    connection: Connection,
    project: Project,
    items: Sequence[Mapping[str, Any]],
    action: str,
    detail: Mapping[str, Any],
    *,
    places: Sequence[Sequence[int]] = (),
) -> str:
    """Store the project, its items in the order in which they will be offered, and the plan; return the owner's path.

    ``places`` are the items of each rater of a planned design, by position.
    """
    store_fact(connection, "project", project.to_json())
    store_fact(connection, "created_at", str(time.time()))
    if items:
        connection.execute(insert(schema.item), [{**row, "place": place} for place, row in enumerate(items)])
    if places:
        ids = _item_ids(connection)
        rows = [
            {"place": number, "position": position, "item_id": ids[at]}
            for number, place in enumerate(places, 1)
            for position, at in enumerate(place)
        ]
        connection.execute(insert(schema.plan), rows)
    log_event(connection, "command line", action, detail)
    return f"/join/{people.invite(connection, 'owner', label='first owner')}"


def _item_ids(connection: Connection) -> list[int]:
    return list(connection.execute(select(schema.item.c.id).order_by(schema.item.c.place)).scalars())


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
    """Return a row of the item table; ``outputs`` are pairs of system and text."""
    for cell in (source, name, feedback or "", *itertools.chain(*outputs)):
        if UNSTORABLE.search(cell):
            raise BadInput(f"{cell[:60]!r} contains NUL or half a character, which cannot be stored. Remove it.")
    return {
        "kind": kind,
        "name": name,
        "system": outputs[0][0] if len(outputs) == 1 else "",
        "source": source,
        "outputs": json.dumps([{"system": system, "text": text} for system, text in outputs], ensure_ascii=True),
        "tokens": tokens,
        "expected": None if expected is None else json.dumps(expected),
        "feedback": feedback,
        "taken": 0,
    }


def make_items(
    project: Project, *, directory: Path, demo: bool = False, progress: Progress = no_progress
) -> list[dict[str, Any]]:
    """Return the items of the project's data, in random order."""
    evalset, outputs = data.demo() if demo else _read(project, directory, progress)
    order = list(range(len(evalset)))
    rng = random.Random(project.seed)
    rng.shuffle(order)
    if project.data.items > len(order):
        raise BadInput(f"The project asks for {project.data.items} items, but its data has {len(order)}.")
    tokens = "words" if project.task == "ranking" else project.data.tokens
    items = []
    for at in order[: project.data.items or None]:
        texts = [(system, outputs[system][at]) for system in outputs]
        groups = _rankings(project, texts, rng) if project.task == "ranking" else ([text] for text in texts)
        for group in groups:
            different, identical = _split_identical(group, rng)
            kinds = [("main", different)] * (len(different) > 1 or len(group) == 1)
            kinds += [("tied", part) for part in identical]
            items += [
                make_item(evalset.sources[at], part, name=evalset.ids[at], tokens=tokens, kind=kind)
                for kind, part in kinds
            ]
    rng.shuffle(items)
    if project.quality.repeat_every:
        items += [{**row, "kind": "repeat"} for row in items if row["kind"] == "main"]
    return items


def _split_identical(
    group: Sequence[tuple[str, str]], rng: random.Random
) -> tuple[list[tuple[str, str]], list[list[tuple[str, str]]]]:
    """Return the outputs of a comparison that differ, and the groups of those that look the same, which tie.

    One of those that look the same, drawn at random, is compared with the others.
    """
    by_text: dict[str, list[tuple[str, str]]] = {}
    for output in group:
        by_text.setdefault(" ".join(output[1].split()), []).append(output)
    return [rng.choice(part) for part in by_text.values()], [part for part in by_text.values() if len(part) > 1]


def plan_places(project: Project, items: Sequence[Mapping[str, Any]]) -> tuple[list[list[int]], list[Record]]:
    """Return the items of each place by position, and the balance of the design; nothing for a free one.

    Outputs that tie because they are identical have a cell in the design and no item.
    """
    settings = project.assignment
    if settings.design == "free":
        return [], []
    has_groups = project.task == "ranking" and project.ranking.method == "best-worst"
    names = list(dict.fromkeys(row["name"] for row in items if row["kind"] in ("main", "tied")))
    counts, conditions, positions = Counter[str](), dict[Hashable, int](), dict[tuple[str, int], int]()
    for at, row in enumerate(items):
        systems: Hashable = tuple(sorted(output["system"] for output in json.loads(row["outputs"])))
        if has_groups:
            if row["kind"] != "main":
                continue
            systems = counts[row["name"]]  # Each source has its own groups of systems: number them.
            counts[row["name"]] += 1
        if row["kind"] in ("main", "tied"):
            condition = conditions.setdefault(systems, len(conditions))
            if row["kind"] == "main":
                positions[row["name"], condition] = at
    if has_groups and settings.design == "latin-square" and len(conditions) > 1:
        raise BadInput(
            "Every source has its own groups of outputs, so a Latin square cannot balance systems. "
            'Raise [ranking] size to the number of systems, or use design = "blocks".'
        )
    size = designs.Size(len(names), len(conditions), settings.overlap, settings.per_rater, settings.raters)
    size = designs.require_size(
        settings.design, size, conditions="comparisons" if project.task == "ranking" else "systems"
    )
    plan = designs.make_plan(settings.design, size, random.Random(project.seed))
    cells = ([(names[cell.source], cell.condition) for cell in place] for place in plan)
    places = [[positions[cell] for cell in place if cell in positions] for place in cells]
    return places, designs.measure_balance(plan, size)


def _read(project: Project, directory: Path, progress: Progress) -> tuple[EvalSet, Mapping[str, Sequence[str]]]:
    origin = project.data
    if origin.test_set:
        evalset = data.load(origin.test_set, progress=progress)
    elif origin.source:
        evalset = io.read_evalset(source=directory / origin.source)
    else:
        raise BadInput('The project names no data. Add to [data] test_set = "asset/test" or source = "FILE".')
    outputs: dict[str, Sequence[str]] = {}
    if origin.systems:
        outputs |= data.outputs_of(origin.test_set, origin.systems, progress=progress)
    if origin.outputs:
        files = [change_path(spec, directory.joinpath) for spec in origin.outputs]
        against = origin.test_set or origin.source
        outputs |= io.read_outputs(files, n=len(evalset), against=against, sources=evalset.sources, ids=evalset.ids)
    if not outputs:
        names = ", ".join(data.system_names(origin.test_set)) if origin.test_set else ""
        systems = f" Systems of {origin.test_set}: {names}." if names else ""
        raise BadInput(f'The project names no outputs. Add to [data] outputs = ["NAME=FILE"].{systems}')
    if project.task == "ranking" and len(outputs) < 2:
        raise BadInput("A ranking compares outputs; give at least two systems.")
    return evalset, outputs


def _rankings(
    project: Project, systems: list[tuple[str, str]], rng: random.Random
) -> Iterator[Sequence[tuple[str, str]]]:
    """Yield the comparisons for one source: all pairs, or groups that contain every system once."""
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


def quality_items(project: Project, directory: Path) -> Iterator[dict[str, Any]]:
    """Yield the items for practice, test and checks from their files."""
    quality = project.quality
    files = {"training": quality.training, "qualification": quality.qualification, "check": quality.checks}
    for kind, path in files.items():
        if not path:
            continue
        table = io.read_table(directory / path)
        for row, record in enumerate(table.records()):
            outputs = record.get("outputs") or {"": record.get("output")}
            texts = [record.get("source"), *(outputs.values() if isinstance(outputs, Mapping) else [None])]
            if not all(isinstance(text, str) for text in texts):
                raise BadInput(f"{table.where(row)}: a {kind} item needs source and output (for rankings: outputs).")
            settings = {"name": f"{kind}-{row + 1}", "kind": kind, "tokens": project.data.tokens}
            expected = _check_expected(project, record.get("expected"), outputs, table.where(row))
            pairs = [(str(system), text) for system, text in outputs.items()]
            feedback = str(record.get("feedback") or "")
            yield make_item(str(record["source"]), pairs, expected=expected, feedback=feedback, **settings)


def _check_expected(project: Project, expected: Any, outputs: Iterable[str], where: str) -> Mapping[str, Any]:
    """Return the expected answer; an impossible one, which would fail every rater, is an error."""
    if isinstance(expected, str):
        with contextlib.suppress(ValueError):
            expected = json.loads(expected)
    if expected == {"cannot_judge": True}:
        return {"cannot_judge": True}
    forms: dict[TaskName, tuple[str, type, Iterable[str]]] = {
        "rating": ("values", dict, [scale.name for scale in project.scales]),
        "operations": ("labels", list, tasks.labels()),
        "ranking": ("best", str, outputs),
    }
    key, form, options = forms[project.task]
    answer: Any = expected.get(key) if isinstance(expected, Mapping) and set(expected) == {key} else None
    names: Any = [answer] if form is str else answer
    numbers = answer.values() if isinstance(answer, dict) else ()
    is_possible = isinstance(answer, form) and {*map(str, names)} <= {*options}
    if not is_possible or any(type(number) not in (int, float) for number in numbers):
        example = {"values": dict.fromkeys(options, 2), "labels": ["split"], "best": "NAME"}[key]
        contrast = f"such as {json.dumps({key: example})}, not {json.dumps(expected, default=str)}"
        raise BadInput(f'{where}: "expected" must be an answer {contrast}.')
    return {key: answer}


@dataclass
class PastStudy:
    """A project with its items and the answers to them; an answer names its item by position."""

    items: list[dict[str, Any]] = field(default_factory=list)
    answers: list[StudyAnswer] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)  # rater → reason
    decisions: list[tuple[int, dict[str, Any], float]] = field(default_factory=list)
    rule_changes: list[Record] = field(default_factory=list)  # of the exclusion rules, after the first answer
    remark: str = ""  # on what was left out
    _positions: dict[Hashable, int] = field(default_factory=dict)
    _by_rater: dict[tuple[int, str], StudyAnswer] = field(default_factory=dict)

    def add_item(self, key: Hashable, source: str, outputs: Sequence[tuple[str, str]], **more: Any) -> int:
        """Add an item unless there is one with this key; return its position."""
        if key not in self._positions:
            self._positions[key] = len(self.items)
            self.items.append(make_item(source, outputs, **more))
        return self._positions[key]

    def add_row(self, row: Mapping[str, Any], outputs: list[tuple[str, str]] | None = None, **more: Any) -> int:
        """Add the item of a row of an export; return its position."""
        source, name = _text(row["source"]), _text(row["item"])
        outputs = outputs or [(_text(row["system"]), _text(row["output"]))]
        return self.add_item((more.get("kind"), name, source, *outputs), source, outputs, name=name, **more)

    def add_answer(self, answer: StudyAnswer) -> StudyAnswer:
        """Add an answer unless the rater has one to this item; return the answer that counts."""
        key = (answer.item, answer.rater)
        if key not in self._by_rater:
            self._by_rater[key] = answer
            self.answers.append(answer)
        return self._by_rater[key]


def import_set(store: Store, name: str, *, progress: Progress = no_progress) -> NewProject:
    """Make a project of a named set, or of any table of ratings that ``plainly meta`` reads."""
    try:
        project, study = _read_past_study(name, progress)
    except Refusal as fault:
        raise BadInput(f"{name} cannot be imported: {fault.message}") from fault
    create_tables(store)
    owner_path = store.write_now(lambda connection: _store_past_study(connection, project, study, name))
    raters = {answer.rater for answer in study.answers}
    counts = (len(study.items), len(raters), len(study.answers))
    return NewProject(name, hide_password(store.url), owner_path, *counts, remark=study.remark)


def _read_past_study(name: str, progress: Progress) -> tuple[Project, PastStudy]:
    if Path(name).is_file():
        return _read_export(name) or _read_ratings(name, rating_tables.read_rating_table(name))
    card = data.card(name)
    if card.kind == "annotations":
        return _read_annotations(name)
    if name == "asset/pairwise":
        return _read_pairwise(name, progress)
    if card.kind != "ratings":
        raise BadInput(f"{name} has {card.kind}; ratings and annotations can be imported. See: plainly data list")
    return _read_ratings(name, data.table(name, progress=progress))


def _read_annotations(name: str) -> tuple[Project, PastStudy]:
    from plainly.typology import formats
    from plainly.typology.vocabulary import is_operation

    study, rater, others = PastStudy(), name.partition("/")[0], Counter[str]()
    for at, pair in enumerate(formats.load(name)):
        outputs = [(pair.part or "output", pair.output)]
        study.add_item(at, pair.source, outputs, name=pair.id, tokens="spaces")
        lengths = {"source": len(pair.source_tokens), "output": len(pair.output_tokens)}
        others.update(group.label for group in pair.groups if not is_operation(group.label))
        marks = [
            {"source": group.source, "output": group.output, "labels": [group.label]}
            for group in pair.groups
            if is_operation(group.label)
        ]
        study.answers.append(StudyAnswer(at, rater, {"groups": tasks.check_groups(marks, lengths, lenient=True)}))
    if others:
        labels = ", ".join(f"{count} {label!r}" for label, count in others.items())
        study.remark = f"Left out, because these labels are not in the typology: {labels}."
    return parse_project({"name": name, "task": "operations", "data": {"tokens": "spaces"}}), study


def _read_ratings(name: str, table: Sheet) -> tuple[Project, PastStudy]:
    """Return the ratings of a table, whose columns and scales ``plainly.people`` recognises."""
    roles = rating_tables.find_roles(table)
    columns = {"comment": "comment", **roles}
    texts = [table.columns.get(columns.get(role, "")) for role in ("source", "output", "comment")]
    study = PastStudy()
    ranges: dict[str, list[float]] = {}
    for row, rating in rating_tables.iterate_ratings(table, roles):
        if rating.dimension.endswith("_zscore"):
            continue  # computed from the ratings beside it, and on no scale
        if rating.rater == rating_tables.AVERAGED and "rater" not in roles:
            raise BadInput(f"{name} has means instead of each rater's ratings: a project needs raters.")
        source, output, comment = (_text(cells and cells[row]) for cells in texts)
        key = (rating.system, rating.item, output)
        item = study.add_item(key, source, [(rating.system, output)], name=rating.item)
        answer = study.add_answer(StudyAnswer(item, rating.rater, {"values": {}}))
        answer.payload["values"][rating.dimension] = rating.value if rating.is_given else None
        if comment:
            answer.payload["comment"] = comment
        ranges.setdefault(rating.dimension, []).append(rating.value)
    scales = [_guess_scale(dimension, values) for dimension, values in ranges.items()]
    return parse_project({"name": name, "task": "rating", "scales": scales}), study


def _read_pairwise(name: str, progress: Progress) -> tuple[Project, PastStudy]:
    """Return ASSET against another set, with one item for each pair of texts and question."""
    study = PastStudy()
    for row in data.table(name, progress=progress).records():
        cell = {column: str(value) for column, value in row.items()}
        other, winner = cell["other_dataset"], cell["winner"]
        texts = [("asset", cell["asset_simplification"]), (other, cell["other_simplification"])]
        key = (cell["sentence_id"], cell["aspect"], other, texts[0][1], texts[1][1])
        item = study.add_item(key, cell["source"], texts, name=f"{cell['sentence_id']} {cell['aspect']}")
        systems = ["asset", other]
        result = {"best": systems.index(winner), "best_system": winner} if winner in systems else {"tie": True}
        study.answers.append(StudyAnswer(item, cell["worker_id"], {"choice": {"shown": systems, **result}}))
    question = {"question": "Which version is better?"}
    return parse_project({"name": name, "task": "ranking", "ranking": question}), study


def _guess_scale(name: str, values: list[float]) -> dict[str, Any]:
    numbers = [value for value in values if value == value] or [1, 5]
    low, high = min(numbers), max(numbers)
    low, high = guess_scale(np.array(values)) or ((low, high) if low < high else (low - 1, low + 1))
    level = "interval" if high > 5 else "ordinal"
    return {"name": name, "question": name, "minimum": low, "maximum": high, "level": level}


def _store_past_study(connection: Connection, project: Project, study: PastStudy, name: str) -> str:
    now = time.time()
    owner_path = fill(connection, project, study.items, "import", {"name": name, "answers": len(study.answers)})
    if study.rule_changes:
        store_fact(connection, "rule_changes", json.dumps(study.rule_changes))
    ids = _item_ids(connection)

    def add_person(pseudonym: str, role: str) -> int:
        why = study.excluded.get(pseudonym)
        values = {"pseudonym": pseudonym, "role": role, "state": "imported", "crowd": "{}", "created_at": now}
        values |= {"excluded_why": why, "excluded_at": None if why is None else now}
        return int(connection.execute(insert(schema.rater).values(**values).returning(schema.rater.c.id)).scalar_one())

    raters = {rater: add_person(rater, "rater") for rater in dict.fromkeys(answer.rater for answer in study.answers)}
    latest: dict[tuple[int, str], dict[str, Any]] = {}  # the assignment of each item and rater
    entries = []
    for at, answer in enumerate(study.answers, 1):
        own = {"item_id": ids[answer.item], "rater_id": raters[answer.rater], "revision": answer.revision}
        moment = answer.at or now
        layout = json.dumps(list(range(len(json.loads(study.items[answer.item]["outputs"])))))
        new = {"id": len(latest) + 1, "state": "done", "layout": layout, **own}
        row = latest.setdefault((answer.item, answer.rater), new)
        if answer.revision >= row["revision"]:
            row |= {"revision": answer.revision, "leased_at": moment, "expires_at": moment}
        digest = fingerprint(row["id"], answer.revision - 1, answer.payload)
        circumstances = {"late": answer.late, "overtime": answer.overtime, "seconds": answer.seconds}
        sent = {"key": f"import-{at}", "digest": digest, "payload": json.dumps(answer.payload), "created_at": moment}
        entries.append({"assignment_id": row["id"], **own, **circumstances, **sent})
    connection.execute(insert(schema.assignment), list(latest.values()))
    connection.execute(insert(schema.entry), entries)
    if study.decisions:
        owner = add_person("imported-owner", "owner")
        decisions = [
            {"item_id": ids[item], "owner_id": owner, "payload": json.dumps(payload), "created_at": at}
            for item, payload, at in study.decisions
        ]
        connection.execute(insert(schema.adjudication), decisions)
    count = "SELECT count(*) FROM assignment WHERE assignment.item_id = item.id"
    connection.execute(text(f"UPDATE item SET taken = ({count})"))
    if connection.dialect.name == "postgresql":  # The ids were given, so the counter of the next id has to follow.
        last = "coalesce((SELECT max(id) FROM assignment), 1)"
        connection.execute(text(f"SELECT setval(pg_get_serial_sequence('assignment', 'id'), {last})"))
    return owner_path


def _read_export(name: str) -> tuple[Project, PastStudy] | None:
    """Return the study in a file that the studio exported; None for any other file."""
    if name.endswith(".jsonl"):
        lines = read_lines(name)
        with contextlib.suppress(ValueError):
            first = json.loads(lines[0])
            if isinstance(first, dict) and first.get("kind") == "project":
                return _read_entries(name, lines)
    if table_format(name) is None:
        return None
    table = rating_tables.unescape_export(io.read_table(name))
    task = next((task for task, columns in COLUMNS.items() if set(columns) <= set(table.columns)), None)
    if task is None:
        return None
    if not len(table):
        raise BadInput(f"{name} has no answers.")
    rows = list(table.records())
    study = PastStudy(excluded={_text(row["rater"]): "excluded" for row in rows if is_true(row["excluded"])})
    readers = {"rating": _read_rating_rows, "ranking": _read_ranking_rows, "operations": _read_operation_rows}
    settings = readers[task](study, rows)
    return parse_project({"name": name, "task": task, **settings}), study


def _answer(row: Mapping[str, Any], item: int, payload: dict[str, Any]) -> StudyAnswer:
    if is_true(row["cannot_judge"]):
        payload = {"cannot_judge": True}
    if comment := _text(row.get("comment")):
        payload["comment"] = comment
    seconds = None if row["seconds"] in (None, "") else float(row["seconds"])
    circumstances = (int(row["revision"] or 1), is_true(row["late"]), is_true(row["overtime"]), seconds)
    return StudyAnswer(item, _text(row["rater"]), payload, *circumstances, _seconds(row["at"]))


def _seconds(moment: object) -> float:
    return datetime.datetime.fromisoformat(str(moment)).timestamp()


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)


def _read_rating_rows(study: PastStudy, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add the answers of exported ratings; return the settings of the project."""
    scales: dict[str, dict[str, Any]] = {}
    for row in rows:
        name = _text(row["dimension"])
        scales.setdefault(name, {"name": name, **{key: _text(row[key]) for key in SCALE_COLUMNS}})
        answer = study.add_answer(_answer(row, study.add_row(row), {"values": {}}))
        if "values" in answer.payload:
            answer.payload["values"][name] = None if row["rating"] in (None, "") else float(row["rating"])
    for scale in scales.values():
        for key in ("minimum", "maximum", "step"):
            scale[key] = float(scale[key])
            scale[key] = int(scale[key]) if scale[key].is_integer() else scale[key]
    return {"scales": list(scales.values())}


def _read_ranking_rows(study: PastStudy, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ties = Counter[int]()  # Identical outputs tie once for each rater that they would have had.
    for row in rows:
        systems, texts = (
            [str(text) for text in (json.loads(cell) if isinstance(cell, str) else cell)]
            for cell in (row["shown"], row["outputs"])
        )
        if not _text(row["rater"]):
            ties[study.add_row(row, sorted(zip(systems, texts, strict=True)), kind="tied")] += 1
            continue
        choice: dict[str, Any] = {"shown": systems, **({"tie": True} if is_true(row["tie"]) else {})}
        for end in ("best", "worst"):
            if row[end]:
                choice |= {end: systems.index(row[end]), f"{end}_system": row[end]}
        item = study.add_row(row, sorted(zip(systems, texts, strict=True)))
        study.answers.append(_answer(row, item, {"choice": choice}))
    first = rows[0]
    ranking = {"method": first["method"], "ties": is_true(first["ties"]), "question": first["question"]}
    return {"ranking": ranking, **({"assignment": {"overlap": max(ties.values())}} if ties else {})}


def _read_operation_rows(study: PastStudy, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    for row in rows:
        item = study.add_row(row, tokens=_text(row["tokens"]))
        answer = study.add_answer(_answer(row, item, {"groups": []}))
        if row["labels"] and "groups" in answer.payload:
            group: dict[str, Any] = {
                side: [int(number) for number in _text(row[f"{side}_tokens"]).split(",") if number]
                for side in ("source", "output")
            }
            answer.payload["groups"].append({**group, "labels": _text(row["labels"]).split(",")})
    return {"data": {"tokens": rows[0]["tokens"]}}


def _read_entries(name: str, lines: Sequence[str]) -> tuple[Project, PastStudy]:
    """Return a whole study from an export with all revisions; only items without an answer are missing."""
    study = PastStudy()
    positions: dict[tuple[str, str], int] = {}
    try:
        first, *records = (json.loads(line) for line in lines)
        study.rule_changes = first.get("rule_changes", [])
        for record in records:
            if record["kind"] == "adjudication":
                if (key := (record["item"], record["system"])) in positions:
                    study.decisions.append((positions[key], record["answer"], _seconds(record["at"])))
                continue
            outputs = [(output["system"], output["text"]) for output in record["outputs"]]
            if record["kind"] == "tied":
                study.add_row(record, outputs, kind="tied", tokens=record["tokens"])
                continue
            at = _seconds(record["at"])
            more = {name: record[name] for name in ("kind", "tokens", "expected")}
            item = study.add_row(record, outputs, **more)
            positions.setdefault((record["item"], study.items[item]["system"]), item)
            circumstances = {name: record[name] for name in ("revision", "late", "overtime", "seconds")}
            study.answers.append(StudyAnswer(item, record["rater"], record["answer"], at=at, **circumstances))
            if record.get("excluded") is not None:
                study.excluded[record["rater"]] = record["excluded"]
        return parse_project(first["project"]), study
    except (ValueError, KeyError, TypeError):
        again = "Export it again: plainly studio export PROJECT --format entries.jsonl"
        raise BadInput(f"{name} is an exported study, but it is damaged or cut off. {again}") from None
