"""The answers that count, in memory: read once, then only what was added since, because rows are only ever added.

Whose answers count is read each time, and who was deleted is forgotten.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from plainly_studio import schema
from plainly_studio.store import Store

item, rater, entry = schema.item, schema.rater, schema.entry


@dataclass(frozen=True, slots=True)
class Unit:
    """What an item is, for whoever may know."""

    id: int
    kind: str
    name: str
    system: str
    source: str
    outputs: tuple[tuple[str, str], ...]
    tokens: str
    expected: dict[str, Any] | None

    @classmethod
    def of(cls, row: Any) -> Unit:
        outputs = tuple((output["system"], output["text"]) for output in json.loads(row.outputs))
        expected = json.loads(row.expected) if row.expected else None
        return cls(row.id, row.kind, row.name, row.system, row.source, outputs, row.tokens, expected)

    @property
    def output(self) -> str:
        return self.outputs[0][1]


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """A rater's latest answer to an item."""

    entry: int
    item: int
    rater: str
    revision: int
    payload: dict[str, Any]
    late: bool
    overtime: bool
    seconds: float | None
    at: float

    @property
    def values(self) -> dict[str, float | None]:
        values: dict[str, float | None] = self.payload.get("values", {})
        return values

    @property
    def unable(self) -> bool:
        """Whether the rater said that this cannot be judged."""
        return bool(self.payload.get("cannot_judge"))


class Ledger:
    """Items, raters and current answers, as of the last ``refresh``."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.items: dict[int, Unit] = {}
        self.raters: dict[int, str] = {}
        self.excluded: dict[str, str] = {}  # pseudonym → why
        self._answers: dict[int, StudyAnswer] = {}
        self._last = 0
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Catch up with the database."""
        with self._lock:
            self.store.read(self._catch_up)

    def _catch_up(self, connection: Connection) -> None:
        if connection.execute(select(func.count()).select_from(item)).scalar_one() != len(self.items):
            self.items = {row.id: Unit.of(row) for row in connection.execute(select(item).order_by(item.c.place))}
        # An id is given out before its row is committed: with several writers a smaller one may appear after a larger.
        behind = 0 if self.store.sqlite else 1000
        rows = connection.execute(select(entry).where(entry.c.id > self._last - behind).order_by(entry.c.id)).all()
        known = (rater.c.id, rater.c.pseudonym, rater.c.excluded_at, rater.c.excluded_why)
        people = connection.execute(select(*known)).all()
        raters = {row.id: row.pseudonym for row in people}
        self.excluded = {row.pseudonym: row.excluded_why or "" for row in people if row.excluded_at is not None}
        if gone := set(self.raters.values()) - set(raters.values()):
            self._answers = {at: answer for at, answer in self._answers.items() if answer.rater not in gone}
        self.raters = raters
        for row in rows:
            before = self._answers.get(row.assignment_id)
            if before is None or row.revision > before.revision:
                self._answers[row.assignment_id] = self._answer(row)
            self._last = max(self._last, row.id)

    def _answer(self, row: Any) -> StudyAnswer:
        return StudyAnswer(
            entry=row.id,
            item=row.item_id,
            rater=self.raters[row.rater_id],
            revision=row.revision,
            payload=json.loads(row.payload),
            late=bool(row.late),
            overtime=bool(row.overtime),
            seconds=row.seconds,
            at=row.created_at,
        )

    def answers(self, kind: str | None = "main", *, excluded: bool = False) -> list[StudyAnswer]:
        """The current answers to items of a kind (None: all), in the order in which they came.

        Those of people who are excluded only where they are asked for.
        """
        with self._lock:
            answers = sorted(self._answers.values(), key=lambda answer: answer.entry)
        return [
            answer
            for answer in answers
            if (kind is None or self.items[answer.item].kind == kind)
            and (excluded or answer.rater not in self.excluded)
        ]

    def revisions(self) -> list[StudyAnswer]:
        """Every answer that was ever given, earlier ones too."""
        rows = self.store.read(lambda connection: connection.execute(select(entry).order_by(entry.c.id)).all())
        return [self._answer(row) for row in rows if row.rater_id in self.raters]

    def adjudications(self) -> list[tuple[Unit, dict[str, Any], float]]:
        """The owners' decisions on items, in the order in which they were made."""
        decisions = select(schema.adjudication).order_by(schema.adjudication.c.id)
        rows = self.store.read(lambda connection: connection.execute(decisions).all())
        return [(self.items[row.item_id], json.loads(row.payload), row.created_at) for row in rows]
