"""People: how they come in, and whose answers do not count, count again, or are deleted.

People come by link. A link is a random token that only its holder has; the database has its hash. Opening a link
changes nothing, because chat programs and mail scanners open links too; pressing the button does. There are no
passwords: a link leads its person back in until it is revoked, an owner's too.

The answers of excluded people stay in the database and, marked, in the exports, and count nowhere else. A person who is
deleted is gone; only the random id and the number of answers stay in the trail.
"""

import datetime
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from plainly.core.errors import BadInput
from plainly_studio import schema
from plainly_studio.assignments import move, release
from plainly_studio.guard import Refusal
from plainly_studio.project import Project
from plainly_studio.store import note

InvitationKind = Literal["person", "crowd", "owner"]
Outcome = Literal["complete", "returned", "screened-out"]
SESSION_SECONDS = 30 * 24 * 3600.0
rater, invitation, session = schema.rater, schema.invitation, schema.session
_WHO = (  # asked with every request, so it is put together once
    select(rater, session.c.token_hash, session.c.expires_at)
    .join(session, session.c.rater_id == rater.c.id)
    .where(session.c.token_hash == bindparam("wanted"))
)


class Secret:
    """The key for tokens that are computed, made at the first start and readable by its owner alone."""

    def __init__(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            if path.stat().st_mode & 0o077:
                raise BadInput(f"{path} can be read by others. Close it: chmod 600 {path}") from None
        else:
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32))
        self.text = path.read_text().strip()
        try:
            self._key = bytes.fromhex(self.text)
        except ValueError:
            raise BadInput(f"{path} is not the secret of a study. Put the study's own back, from a backup.") from None

    def sign(self, purpose: str, text: str) -> str:
        """A keyed hash that nobody without the secret can make."""
        return hmac.new(self._key, f"{purpose}\x00{text}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Person:
    """Whoever sent a request."""

    id: int
    pseudonym: str
    role: str
    session: str
    state: str = "active"  # who left or is excluded gets nothing more
    crowd: str = "{}"
    outcome: Outcome | None = None  # what their work came to, once it has ended


def hashed(token: str) -> str:
    """What the database keeps of a token; 256 random bits need no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def invite(
    connection: Connection, kind: InvitationKind, *, label: str = "", once: bool = False, by: str = "command line"
) -> str:
    """Make a link's token. It is returned here and never again."""
    token = secrets.token_urlsafe(32)
    values = {"token_hash": hashed(token), "kind": kind, "label": label, "once": once, "uses": 0}
    made = insert(invitation).values(**values, created_at=time.time()).returning(invitation.c.id)
    number = connection.execute(made).scalar_one()
    note(connection, by, "invite", {"kind": kind, "invitation": number})
    return token


def owner_path(connection: Connection) -> str:
    """The path of the first owner's link."""
    return f"/join/{invite(connection, 'owner', label='first owner')}"


def find_invitation(connection: Connection, token: str) -> Row[Any]:
    """The invitation behind a token, or a refusal that does not tell a wrong token from a revoked one."""
    statement = select(invitation).where(invitation.c.token_hash == hashed(token))
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update()
    row = connection.execute(statement).first()
    over = row is not None and row.expires_at is not None and row.expires_at < time.time()
    if row is None or over or row.revoked_at is not None or (row.once and row.uses):
        raise Refusal(404, "no-invitation", "This link is not valid (any more). Ask whoever sent it for a new one.")
    return row


def accept(connection: Connection, project: Project, secret: Secret, token: str, crowd: Mapping[str, str]) -> str:
    """Take up an invitation: the token of a new session for its person, who is made at the first time."""
    row = find_invitation(connection, token)
    person = _person_of(connection, project, secret, row, crowd)
    if person.state == "removed":
        raise Refusal(403, "removed", "Your access was ended. Ask whoever invited you.")
    values: dict[str, Any] = {"uses": row.uses + 1}
    if row.kind != "crowd":
        values["rater_id"] = person.id
    connection.execute(update(invitation).where(invitation.c.id == row.id).values(**values))
    note(connection, person.pseudonym, "join", {"invitation": row.id})
    session_token, now = secrets.token_urlsafe(32), time.time()
    connection.execute(delete(session).where(session.c.expires_at < now))
    opened = {"token_hash": hashed(session_token), "rater_id": person.id, "invitation_id": row.id}
    connection.execute(insert(session).values(**opened, created_at=now, expires_at=now + SESSION_SECONDS))
    return session_token


def who(connection: Connection, token: str) -> Person | None:
    """The person of a session, unless it ran out or was ended."""
    row = connection.execute(_WHO, {"wanted": hashed(token)}).first()
    if row is None or row.expires_at < time.time() or row.state == "removed":
        return None
    state = "excluded" if row.excluded_at is not None else row.state
    return Person(row.id, row.pseudonym, row.role, row.token_hash, state, row.crowd, row.outcome)


def revoke(connection: Connection, invitation_id: int) -> None:
    """End a link and every session that came of it."""
    running = update(invitation).where(invitation.c.id == invitation_id, invitation.c.revoked_at.is_(None))
    connection.execute(running.values(revoked_at=time.time()))
    connection.execute(delete(session).where(session.c.invitation_id == invitation_id))


def _person_of(
    connection: Connection, project: Project, secret: Secret, row: Row[Any], crowd: Mapping[str, str]
) -> Row[Any]:
    """Whom the invitation is for, made at the first time; on a crowd's link, whom the platform names."""
    named = [f"{name}={crowd[name]}" for name in project.crowd.person if crowd.get(name)]
    key = secret.sign("person", named[0]) if named and row.kind == "crowd" else None
    if key or row.kind != "crowd":
        same = rater.c.person == key if key else rater.c.id == row.rater_id
        known = connection.execute(select(rater).where(same)).first()
        if known is not None:
            if crowd:  # The same worker with another task of the platform: its latest ids are those to pay by.
                latest = json.dumps({**json.loads(known.crowd), **crowd})
                connection.execute(update(rater).where(rater.c.id == known.id).values(crowd=latest))
            return known
    now = time.time()
    person = {
        "pseudonym": "r-" + secrets.token_hex(5),  # It says nothing about the person, nor when they came.
        "role": "owner" if row.kind == "owner" else "rater",
        "state": "active",
        "crowd": json.dumps(dict(crowd)),
        "person": key,
        "consented_at": now if project.consent else None,
        "created_at": now,
    }
    return connection.execute(insert(rater).values(**person).returning(rater)).one()


rater, assignment, entry, draft = schema.rater, schema.assignment, schema.entry, schema.draft
invitation, session, event = schema.invitation, schema.session, schema.event


def find_rater(connection: Connection, pseudonym: str) -> Row[Any]:
    """A rater by pseudonym, or a refusal."""
    row = connection.execute(select(rater).where(rater.c.pseudonym == pseudonym, rater.c.role == "rater")).first()
    if row is None:
        raise Refusal(404, "unknown", "There is no such rater.")
    return row


def exclude(connection: Connection, pseudonym: str, *, why: str, replace: bool, by: str) -> None:
    """A rater's answers count nowhere from now on; with ``replace`` their items are offered to others again."""
    row = find_rater(connection, pseudonym)
    release(connection, row.id)
    if row.excluded_at is None:
        values = {"excluded_at": time.time(), "excluded_why": why or "excluded"}
        connection.execute(update(rater).where(rater.c.id == row.id).values(**values))
    reopened = move(connection, "done", "replaced", assignment.c.rater_id == row.id) if replace else 0
    note(connection, by, "exclude", {"rater": pseudonym, "why": why, "reopened": reopened})


def restore(connection: Connection, pseudonym: str, *, by: str) -> None:
    """A rater's answers count again, and stand for their items again."""
    row = find_rater(connection, pseudonym)
    back = update(rater).where(rater.c.id == row.id)
    connection.execute(back.values(excluded_at=None, excluded_why=None))
    closed = move(connection, "replaced", "done", assignment.c.rater_id == row.id, times=1)
    note(connection, by, "restore", {"rater": pseudonym, "closed": closed})


def end_access(connection: Connection, pseudonym: str, *, by: str) -> None:
    """A person cannot come in any more. What they answered stays and counts."""
    row = find_rater(connection, pseudonym)
    release(connection, row.id)
    connection.execute(update(rater).where(rater.c.id == row.id).values(state="removed"))
    connection.execute(delete(session).where(session.c.rater_id == row.id))
    note(connection, by, "remove", {"rater": pseudonym})


def erase(connection: Connection, pseudonym: str, *, by: str, action: str = "delete") -> int:
    """Delete a person and everything that they answered; how many answers there were."""
    row = find_rater(connection, pseudonym)
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
