"""Taking an answer: once, however often it is sent; never over somebody's newer one; and never lost for being late."""

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from plainly_studio import schema, tasks
from plainly_studio.assignments import laid_out, take
from plainly_studio.guard import Refusal, invalid
from plainly_studio.project import Project

LARGEST_ANSWER = 64 * 1024
MOST_REVISIONS = 50
item, assignment, entry, draft = schema.item, schema.assignment, schema.entry, schema.draft

# What every answer asks for is put together once.
_OWN = (
    select(assignment, item.c.kind, item.c.source, item.c.outputs, item.c.tokens, item.c.expected, item.c.feedback)
    .join(item, item.c.id == assignment.c.item_id)
    .where(assignment.c.id == bindparam("wanted"), assignment.c.rater_id == bindparam("who"))
)
_OWN_LOCKED = _OWN.with_for_update(of=assignment)
_BEFORE = select(entry).where(entry.c.rater_id == bindparam("who"), entry.c.key == bindparam("sent"))
_STORE = insert(entry).returning(entry)


def own_assignment(connection: Connection, rater_id: int, assignment_id: int) -> Row[Any]:
    """The assignment with its item; another person's is as unknown as one that does not exist."""
    statement = _OWN_LOCKED if connection.dialect.name == "postgresql" else _OWN
    row = connection.execute(statement, {"wanted": assignment_id, "who": rater_id}).first()
    if row is None:
        raise Refusal(404, "unknown", "This item is not one of yours.")
    return row


def submit(
    connection: Connection,
    project: Project,
    rater_id: int,
    assignment_id: int,
    *,
    key: str,
    revision: int,
    payload: object,
    seconds: float | None,
    counts: bool = True,
) -> dict[str, Any]:
    """Store an answer and say which revision it became; ``counts`` is false for somebody who is excluded.

    ``key`` was made by the client for this answer: the same key again gets the first answer's reply, with another
    payload a refusal. ``revision`` is the one that the client's page was based on.
    """
    row = own_assignment(connection, rater_id, assignment_id)
    digest = fingerprint(assignment_id, revision, payload)
    before = connection.execute(_BEFORE, {"who": rater_id, "sent": key}).first()
    if before is not None:
        if before.digest != digest:
            raise Refusal(409, "key-reused", "This key was used for another answer. Nothing was changed.")
        return reply(project, row, before)
    if revision != row.revision:
        raise _stale(connection, row)
    outputs = laid_out(row.outputs, row.layout)
    texts = {"source": row.source, "output": outputs[0]["text"], "tokens": row.tokens}
    answer = tasks.check(project, payload, texts, len(outputs))
    if choice := answer.get("choice"):  # The places were this rater's alone: say which systems stood there.
        choice["shown"] = [output["system"] for output in outputs]
        named = {f"{name}_system": outputs[choice[name]]["system"] for name in ("best", "worst") if name in choice}
        choice.update(named)
    if row.revision >= MOST_REVISIONS:
        raise Refusal(409, "revisions", f"An answer can be changed {MOST_REVISIONS} times. The last one stays.")
    now, limit = time.time(), project.quality.time_limit_seconds
    answered = {
        "assignment_id": row.id,
        "item_id": row.item_id,
        "rater_id": rater_id,
        "revision": row.revision + 1,
        "key": key,
        "digest": digest,
        "payload": _stored(answer),
        "late": row.state == "expired" or (row.state == "leased" and row.expires_at < now),
        "overtime": bool(limit and seconds is not None and seconds > limit),
        "seconds": seconds,
        "created_at": now,
    }
    stored = connection.execute(_STORE, answered).one()
    done = update(assignment).where(assignment.c.id == row.id)
    state = "done" if counts and row.state != "replaced" else "replaced"  # Then somebody else has the item.
    connection.execute(done.values(revision=row.revision + 1, state=state))
    if row.state == "expired" and counts:
        take(connection, row.item_id)
    connection.execute(delete(draft).where(draft.c.assignment_id == row.id))
    return reply(project, row, stored)


def _stale(connection: Connection, row: Row[Any]) -> Refusal:
    """The refusal of an answer that was based on an earlier one than there is, with the one that there is."""
    current = select(entry.c.payload).where(entry.c.assignment_id == row.id, entry.c.revision == row.revision)
    message = (
        "This item was answered elsewhere, perhaps in another tab, after this page was loaded. "
        "That answer was kept and yours was not written over it."
    )
    answer = public(connection.execute(current).scalar())
    return Refusal(409, "stale", message, revision=row.revision, current=answer)


def fingerprint(assignment_id: int, revision: int, payload: object) -> str:
    """What makes two requests the same request."""
    text = json.dumps([assignment_id, revision, payload], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def reply(project: Project, row: Row[Any], stored: Row[Any]) -> dict[str, Any]:
    """What the client is told, the same for the first time and for every repetition."""
    told: dict[str, Any] = {
        "assignment": row.id,
        "entry": stored.id,
        "revision": stored.revision,
        "late": bool(stored.late),
    }
    if row.kind == "training":
        told["feedback"] = feedback(project, json.loads(stored.payload), row)
    return told


def feedback(project: Project, answer: Mapping[str, Any], row: Row[Any]) -> dict[str, Any]:
    """What a practice item teaches."""
    expected = json.loads(row.expected or "{}")
    return {
        "right": tasks.agrees(project, answer, expected),
        "text": row.feedback or "",
        "expected": {name: expected[name] for name in ("values", "labels") if name in expected},
    }


def public(payload: str | None) -> dict[str, Any] | None:
    """A stored answer as its own author's browser may see it: without the systems behind the places."""
    if payload is None:
        return None
    answer: dict[str, Any] = json.loads(payload)
    if "choice" in answer:
        choice = answer["choice"]
        answer["choice"] = {name: choice[name] for name in ("tie", "best", "worst") if name in choice}
    return answer


def save_draft(connection: Connection, rater_id: int, assignment_id: int, payload: object) -> None:
    """Keep unfinished work, to be taken up on another machine. A draft is no answer and is never exported."""
    row = own_assignment(connection, rater_id, assignment_id)
    if not isinstance(payload, Mapping):
        raise invalid("payload", "A draft must be an object.")
    text = _stored(payload)
    connection.execute(delete(draft).where(draft.c.assignment_id == row.id))
    connection.execute(insert(draft).values(assignment_id=row.id, payload=text, updated_at=time.time()))


def _stored(payload: Mapping[str, Any]) -> str:
    """As it goes into the database, where nobody's answer may take more than its share of the disk."""
    text = json.dumps(payload, ensure_ascii=True)
    if len(text) > LARGEST_ANSWER:
        raise Refusal(413, "too-large", f"An answer or a draft may hold {LARGEST_ANSWER // 1024} KB.")
    return text
