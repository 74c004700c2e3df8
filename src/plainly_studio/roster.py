"""People whose answers do not count, come back, or go: each with a line in the trail.

Whoever is excluded stays in the database and in the exports, where their rows are marked, and counts nowhere else.
Whoever is deleted is gone; only the random id and how much there was stay in the trail.
"""

import datetime
import json
import time
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from plainly_studio import schema
from plainly_studio.assignments import move, release
from plainly_studio.project import Project
from plainly_studio.refusal import Refusal
from plainly_studio.store import note

rater, assignment, entry, draft = schema.rater, schema.assignment, schema.entry, schema.draft
invitation, session, event = schema.invitation, schema.session, schema.event


def find(connection: Connection, pseudonym: str) -> Row[Any]:
    """A rater by pseudonym, or a refusal."""
    row = connection.execute(select(rater).where(rater.c.pseudonym == pseudonym, rater.c.role == "rater")).first()
    if row is None:
        raise Refusal(404, "unknown", "There is no such rater.")
    return row


def exclude(connection: Connection, pseudonym: str, *, why: str, replace: bool, by: str) -> None:
    """A rater's answers count nowhere from now on; with ``replace`` their items are offered to others again."""
    row = find(connection, pseudonym)
    release(connection, row.id)
    if row.excluded_at is None:
        values = {"excluded_at": time.time(), "excluded_why": why or "excluded"}
        connection.execute(update(rater).where(rater.c.id == row.id).values(**values))
    reopened = move(connection, "done", "replaced", assignment.c.rater_id == row.id) if replace else 0
    note(connection, by, "exclude", {"rater": pseudonym, "why": why, "reopened": reopened})


def restore(connection: Connection, pseudonym: str, *, by: str) -> None:
    """A rater's answers count again, and stand for their items again."""
    row = find(connection, pseudonym)
    back = update(rater).where(rater.c.id == row.id)
    connection.execute(back.values(excluded_at=None, excluded_why=None))
    closed = move(connection, "replaced", "done", assignment.c.rater_id == row.id, times=1)
    note(connection, by, "restore", {"rater": pseudonym, "closed": closed})


def end_access(connection: Connection, pseudonym: str, *, by: str) -> None:
    """A person cannot come in any more. What they answered stays and counts."""
    row = find(connection, pseudonym)
    release(connection, row.id)
    connection.execute(update(rater).where(rater.c.id == row.id).values(state="removed"))
    connection.execute(delete(session).where(session.c.rater_id == row.id))
    note(connection, by, "remove", {"rater": pseudonym})


def erase(connection: Connection, pseudonym: str, *, by: str, action: str = "delete") -> int:
    """Delete a person and everything that they answered; how many answers there were."""
    row = find(connection, pseudonym)
    release(connection, row.id)
    move(connection, "done", "replaced", assignment.c.rater_id == row.id)
    mine = select(assignment.c.id).where(assignment.c.rater_id == row.id)
    connection.execute(delete(draft).where(draft.c.assignment_id.in_(mine)))
    count = len(connection.execute(delete(entry).where(entry.c.rater_id == row.id).returning(entry.c.id)).all())
    connection.execute(delete(assignment).where(assignment.c.rater_id == row.id))
    connection.execute(delete(session).where(session.c.rater_id == row.id))
    _forget_links(connection, invitation.c.rater_id == row.id)
    own = update(invitation).where(invitation.c.rater_id == row.id)
    connection.execute(own.values(rater_id=None, revoked_at=time.time()))
    connection.execute(delete(rater).where(rater.c.id == row.id))
    note(connection, by, action, {"rater": pseudonym, "answers": count})
    return count


def purge(connection: Connection, project: Project, now: float) -> int:
    """After the day that the project names: no platform ids and no notes on links any more. How many people it was."""
    if not project.personal_until:
        return 0
    today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    if today <= datetime.date.fromisoformat(project.personal_until):
        return 0
    known = (rater.c.crowd != "{}") | rater.c.person.is_not(None)
    forget = update(rater).where(known).values(crowd="{}", person=None)
    count = len(connection.execute(forget.returning(rater.c.id)).all())
    links = _forget_links(connection, invitation.c.label != "")
    if count or links:
        note(connection, "personal_until", "forget", {"people": count, "links": links})
    return count


def _forget_links(connection: Connection, chosen: Any) -> int:
    """Notes on links may name people; they go from the links and from the trail."""
    labels = set(
        connection.execute(update(invitation).where(chosen).values(label="").returning(invitation.c.id)).scalars()
    )
    for row in connection.execute(select(event).where(event.c.action == "invite")).all():
        detail = json.loads(row.detail)
        if detail.pop("label", "") and detail.get("invitation", 0) in {0, *labels}:
            connection.execute(update(event).where(event.c.id == row.id).values(detail=json.dumps(detail)))
    return len(labels)
