"""The answers of a study: read once, kept up to date, and exported as ``Judgements`` or as files.

People appear under their pseudonyms only, and excluded people are marked. Text that a spreadsheet would run as a
formula gets an apostrophe in front in CSV, and only there; JSONL and Parquet hold it as it was typed.
"""

from __future__ import annotations

import datetime
import io
import itertools
import json
import math
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import to_builtins
from sqlalchemy import Connection, func, select

from plainly.core.errors import BadInput
from plainly.core.result import Record
from plainly.core.tables import format_csv, jsonable
from plainly.io.tables import import_pyarrow
from plainly.people.choices import Choice
from plainly.people.rating_tables import escape_formula
from plainly.people.ratings import Judgements, Rating
from plainly.text.words import token_spans
from plainly_studio import rules, tasks
from plainly_studio.project import Project, TaskName, parse_project
from plainly_studio.schema import adjudication, entry, item, rater
from plainly_studio.store import DELETIONS, Store, read_fact

_LINE_END = "\r\n"
SCALE_COLUMNS = ("question", "minimum", "maximum", "low", "high", "step", "level")
_CIRCUMSTANCES = ("comment", "cannot_judge", "revision", "late", "overtime", "seconds", "at", "excluded")
COLUMNS: Mapping[TaskName, tuple[str, ...]] = {
    "rating": (
        "system", "item", "rater", "dimension", "rating", "minimum", "maximum", "step", "level", "low", "high",
        "question", "source", "output", *_CIRCUMSTANCES,
    ),
    "ranking": (
        "item", "rater", "shown", "best", "worst", "tie", "method", "ties", "question", "source", "outputs",
        *_CIRCUMSTANCES,
    ),
    "operations": (
        "system", "item", "rater", "group", "labels", "source_tokens", "output_tokens", "source_spans", "output_spans",
        "tokens", "source", "output", *_CIRCUMSTANCES,
    ),
}  # fmt: skip
_NO_RATINGS = {
    "ranking": "people rank outputs. For which systems they prefer: plainly results.",
    "operations": "people mark operations. For their rates: plainly results. For plainly operations: plainly studio "
    "export … --format aln",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """An item with what raters must not see: its system, its name and the expected answer."""

    id: int
    kind: str
    name: str
    system: str
    source: str
    outputs: tuple[tuple[str, str], ...]
    tokens: str
    expected: dict[str, Any] | None

    @classmethod
    def from_row(cls, row: Any) -> Unit:
        outputs = tuple((output["system"], output["text"]) for output in json.loads(row.outputs))
        expected = json.loads(row.expected) if row.expected else None
        return cls(row.id, row.kind, row.name, row.system, row.source, outputs, row.tokens, expected)

    @property
    def output(self) -> str:
        return self.outputs[0][1]


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """A rater's answer to an item; ``item`` is its id, or its position while it is imported."""

    item: int
    rater: str
    payload: dict[str, Any]
    revision: int = 1
    late: bool = False
    overtime: bool = False
    seconds: float | None = None
    at: float = 0.0
    entry: int = 0

    @property
    def values(self) -> dict[str, float | None]:
        return dict(self.payload.get("values", {}))

    @property
    def cannot_judge(self) -> bool:
        return bool(self.payload.get("cannot_judge"))


class Ledger:
    """Items, raters and current answers, as of the last ``refresh``.

    Only new rows are read, because answers are only ever added. Exclusions are read each time. After a deletion
    everything is read again: SQLite gives the ids of deleted rows to new ones.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.items: dict[int, Unit] = {}
        self.raters: dict[int, str] = {}
        self.excluded: dict[str, str] = {}  # pseudonym → reason, by the owner or by the study's rules
        self.excluded_by_rule: dict[str, str] = {}
        self.rule_changes: list[Record] = []  # after the first answer
        self._answers: dict[int, StudyAnswer] = {}
        self._last = 0
        self._deletions: str | None = None
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Read what is new in the database."""
        with self._lock:
            self.store.read(self._read_new)

    def _read_new(self, connection: Connection) -> None:
        if connection.execute(select(func.count()).select_from(item)).scalar_one() != len(self.items):
            rows = connection.execute(select(item).order_by(item.c.place))
            self.items = {row.id: Unit.from_row(row) for row in rows}
        if (deletions := read_fact(connection, DELETIONS)) != self._deletions:
            self._deletions, self._answers, self._last = deletions, {}, 0
        entries = connection.execute(select(entry).where(entry.c.id > self._last).order_by(entry.c.id)).all()
        people = connection.execute(select(rater)).all()
        self.raters = {person.id: person.pseudonym for person in people}
        excluded = [person for person in people if person.excluded_at is not None]
        self.excluded = {person.pseudonym: person.excluded_why or "" for person in excluded}
        for row in entries:
            current = self._answers.get(row.assignment_id)
            if current is None or row.revision > current.revision:
                self._answers[row.assignment_id] = self._answer(row)
            self._last = max(self._last, row.id)
        settings = json.loads(read_fact(connection, "project") or "{}")
        self.excluded_by_rule = {}
        if any(settings.get("exclusion", {}).values()):
            self.excluded_by_rule = rules.exclusions(parse_project(settings), self.items, self._answers.values())
            self.excluded = {**self.excluded_by_rule, **self.excluded}
        self.rule_changes = json.loads(read_fact(connection, "rule_changes") or "[]")

    def _answer(self, row: Any) -> StudyAnswer:
        payload, circumstances = json.loads(row.payload), (row.revision, row.late, row.overtime, row.seconds)
        return StudyAnswer(row.item_id, self.raters[row.rater_id], payload, *circumstances, row.created_at, row.id)

    def answers(self, kind: str | None = "main", *, include_excluded: bool = False) -> list[StudyAnswer]:
        """Return the current answers to items of a kind (None: all), in the order in which they came."""
        with self._lock:
            answers = sorted(self._answers.values(), key=lambda answer: answer.entry)
        return [
            answer
            for answer in answers
            if (kind is None or self.items[answer.item].kind == kind)
            and (include_excluded or answer.rater not in self.excluded)
        ]

    def revisions(self) -> list[StudyAnswer]:
        """Return every answer that was ever given, including earlier revisions."""
        rows = self.store.read(lambda connection: connection.execute(select(entry).order_by(entry.c.id)).all())
        return [self._answer(row) for row in rows if row.rater_id in self.raters]

    def adjudications(self) -> list[tuple[Unit, dict[str, Any], float]]:
        """Return the owners' decisions on items, in the order in which they were made."""
        statement = select(adjudication).order_by(adjudication.c.id)
        rows = self.store.read(lambda connection: connection.execute(statement).all())
        return [(self.items[row.item_id], json.loads(row.payload), row.created_at) for row in rows]


def judgements(ledger: Ledger, project: Project) -> Judgements:
    """Return the ratings as ``plainly meta`` and ``plainly plan`` take them."""
    if project.task != "rating":
        raise BadInput(f"{project.name} has no ratings: {_NO_RATINGS[project.task]}")
    answers = [(ledger.items[answer.item], answer) for answer in ledger.answers()]
    ratings = [rating for unit, answer in answers for rating in _ratings(project, unit, answer)]
    if not any(rating.is_given for rating in ratings):
        raise BadInput(f"{project.name} has no ratings yet.")
    return Judgements.of(
        project.name,
        ratings,
        scales={scale.name: (scale.minimum, scale.maximum) for scale in project.scales},
        sources={unit.name: unit.source for unit, _ in answers},
        outputs={(unit.system, unit.name): unit.output for unit, _ in answers},
    )


def rankings(ledger: Ledger, project: Project) -> tuple[Choice, ...] | None:
    """Return the choices as ``plainly meta`` takes them; None where people do not rank."""
    if project.task != "ranking":
        return None
    judged = [_choice(ledger.items[answer.item], answer) for answer in ledger.answers()]
    return (*judged, *(_choice(unit, answer) for unit, answer in _automatic_ties(ledger, project)))


def _automatic_ties(ledger: Ledger, project: Project) -> Iterator[tuple[Unit, StudyAnswer]]:
    """Yield a tie without a rater for each rater that a comparison of identical outputs would have had."""
    for unit in ledger.items.values():
        if unit.kind == "tied":
            systems = [system for system, _ in unit.outputs]
            answer = StudyAnswer(unit.id, "", {"choice": {"shown": systems, "tie": True}})
            yield from [(unit, answer)] * project.assignment.overlap


def _choice(unit: Unit, answer: StudyAnswer) -> Choice:
    choice = answer.payload.get("choice", {})
    systems = tuple(choice.get("shown") or dict(unit.outputs))
    best, worst = choice.get("best_system"), choice.get("worst_system")
    return Choice(unit.name, answer.rater, systems, best, worst, bool(choice.get("tie")))


def rows(ledger: Ledger, project: Project) -> Iterator[Record]:
    """Yield the long table: a row for each rating, ranking or group of words; no value where it was not judged."""
    answers = [(ledger.items[answer.item], answer) for answer in ledger.answers(include_excluded=True)]
    for unit, answer in [*answers, *_automatic_ties(ledger, project)]:
        texts = {"system": unit.system, "item": unit.name, "source": unit.source, "output": unit.output}
        common: Record = {**texts, "tokens": unit.tokens, **_circumstances(answer)}
        common |= {"comment": answer.payload.get("comment", ""), "cannot_judge": answer.cannot_judge}
        common["excluded"] = answer.rater in ledger.excluded
        for row in _ROWS[project.task](project, unit, answer):
            yield {name: row[name] if name in row else common[name] for name in COLUMNS[project.task]}


def write(ledger: Ledger, project: Project, form: str) -> bytes:
    """Return the content of an export in a format."""
    return _WRITERS[form](ledger, project)


def _ratings(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Rating]:
    values = {scale.name: None for scale in project.scales} if answer.cannot_judge else answer.values
    for dimension, value in values.items():
        yield Rating(unit.system, unit.name, answer.rater, dimension, math.nan if value is None else value)


def _rating_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    scales = {scale.name: to_builtins(scale) for scale in project.scales}
    for rating in _ratings(project, unit, answer):
        scale = scales.get(rating.dimension) or dict.fromkeys(SCALE_COLUMNS)
        yield {"dimension": rating.dimension, "rating": rating.value if rating.is_given else None, **scale}


def _ranking_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    choice, outputs = _choice(unit, answer), dict(unit.outputs)
    texts = {"shown": choice.shown, "outputs": [outputs[system] for system in choice.shown]}
    yield {
        **{name: getattr(choice, name) for name in ("best", "worst", "tie")},
        **to_builtins(project.ranking),
        **{name: json.dumps(cell, ensure_ascii=False) for name, cell in texts.items()},
    }


def _operation_rows(project: Project, unit: Unit, answer: StudyAnswer) -> Iterator[Record]:
    texts = {"source": unit.source, "output": unit.output}
    # Where the tokens stand in the text, in Unicode code points: 0-3,9-12
    offsets = {
        side: [f"{start}-{end}" for start, end in token_spans(text, unit.tokens)] for side, text in texts.items()
    }
    groups = answer.payload.get("groups", ())
    if not groups:  # No operation, or not judged: that is an answer too.
        yield {"group": None, "labels": "", **{f"{side}_{what}": "" for side in texts for what in ("tokens", "spans")}}
    for at, group in enumerate(groups):
        yield {
            "group": at,
            "labels": ",".join(group["labels"]),
            **{f"{side}_tokens": ",".join(map(str, group[side])) for side in texts},
            **{f"{side}_spans": ",".join(offsets[side][token] for token in group[side]) for side in texts},
        }


def _circumstances(answer: StudyAnswer) -> Record:
    names = ("rater", "revision", "late", "overtime", "seconds")
    return {**{name: getattr(answer, name) for name in names}, "at": _utc(answer.at) if answer.at else ""}


def _utc(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="milliseconds")


def _entries(ledger: Ledger, project: Project) -> Iterator[Record]:
    """Yield the whole study: settings, every revision of every answer to every kind of item, the owners' decisions."""
    yield {"kind": "project", "project": json.loads(project.to_json()), "rule_changes": ledger.rule_changes}
    current = {answer.entry for answer in ledger.answers(None, include_excluded=True)}
    for answer in ledger.revisions():
        unit = ledger.items[answer.item]
        outputs = [{"system": system, "text": text} for system, text in unit.outputs]
        yield {
            "entry": answer.entry,
            "current": answer.entry in current,
            "rater": answer.rater,
            "kind": unit.kind,
            "item": unit.name,
            "source": unit.source,
            "outputs": outputs,
            "tokens": unit.tokens,
            "expected": unit.expected,
            "answer": answer.payload,
            **_circumstances(answer),
            "excluded": ledger.excluded.get(answer.rater),
        }
    for unit in ledger.items.values():
        if unit.kind == "tied":
            outputs = [{"system": system, "text": text} for system, text in unit.outputs]
            yield {"kind": "tied", "item": unit.name, "source": unit.source, "outputs": outputs, "tokens": unit.tokens}
    for unit, payload, at in ledger.adjudications():
        yield {"kind": "adjudication", "item": unit.name, "system": unit.system, "answer": payload, "at": _utc(at)}


def _csv(ledger: Ledger, project: Project) -> bytes:
    names = COLUMNS[project.task]
    cells = [[escape_formula(row[name]) for name in names] for row in rows(ledger, project)]
    return f"{format_csv(names, cells, line_end=_LINE_END)}{_LINE_END}".encode()


def _jsonl(records: Iterable[Record]) -> bytes:
    return "".join(json.dumps(jsonable(record), ensure_ascii=True) + "\n" for record in records).encode()


def _parquet(ledger: Ledger, project: Project) -> bytes:
    pa = import_pyarrow()
    kinds = dict.fromkeys(("rating", "seconds", "minimum", "maximum", "step"), pa.float64())
    kinds |= dict.fromkeys(("group", "revision"), pa.int64())
    kinds |= dict.fromkeys(("cannot_judge", "late", "overtime", "tie", "ties", "excluded"), pa.bool_())
    records = list(rows(ledger, project))
    columns = {
        name: pa.array([record[name] for record in records], type=kinds.get(name, pa.string()))
        for name in COLUMNS[project.task]
    }
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _alignments(ledger: Ledger, project: Project) -> bytes:
    """Return a zip with an .aln and a .crp file for each system and rater, the format of the annotation paper.

    The format splits tokens at white space, so the tokens of a text are written with spaces between them.
    """
    from plainly.typology.annotation import Group, Pair
    from plainly.typology.formats import write_alignment, write_corpus

    parts: dict[tuple[str, str], list[Pair]] = {}
    for answer in ledger.answers(include_excluded=True):
        if "groups" not in answer.payload:
            continue
        unit = ledger.items[answer.item]
        groups = tuple(
            Group(tuple(group["source"]), tuple(group["output"]), label)
            for group in answer.payload["groups"]
            for label in group["labels"]
        )
        source, output = (" ".join(tasks.tokens(text, unit.tokens)) for text in (unit.source, unit.output))
        pair = Pair(unit.name, source, output, groups=groups)
        parts.setdefault((unit.system, answer.rater), []).append(pair)
    sink, files = io.BytesIO(), dict[str, dict[str, str]]()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for (system, rater), pairs in sorted(parts.items()):
            pairs.sort(key=lambda pair: (0, int(pair.id), "") if pair.id.isdigit() else (1, 0, pair.id))
            folder = "excluded/" if rater in ledger.excluded else ""
            stem = f"{folder}{_file_name(system)}.{_file_name(rater)}"
            numbers = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
            stem = next(name for name in numbers if name not in files)  # Two systems may differ in a dot only.
            files[stem] = {"system": system, "rater": rater}
            archive.writestr(f"{stem}.aln", write_alignment(pairs))
            archive.writestr(f"{stem}.crp", write_corpus(pairs))
        about = {"project": json.loads(project.to_json()), "files": files}
        archive.writestr("study.json", json.dumps(about, ensure_ascii=False, indent=1))
    return sink.getvalue()


def _file_name(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text) or "output"


_ROWS: Mapping[TaskName, Callable[[Project, Unit, StudyAnswer], Iterator[Record]]] = {
    "rating": _rating_rows,
    "ranking": _ranking_rows,
    "operations": _operation_rows,
}
_WRITERS: Mapping[str, Callable[[Ledger, Project], bytes]] = {
    "csv": _csv,
    "jsonl": lambda ledger, project: _jsonl(rows(ledger, project)),
    "parquet": _parquet,
    "aln": _alignments,
    "entries.jsonl": lambda ledger, project: _jsonl(_entries(ledger, project)),
}
FORMATS = tuple(_WRITERS)
