"""People: how they join, whose answers count, and what their work has earned.

People join by a link with a random token, of which the database stores only the hash. Opening a link changes nothing,
because chat programs and mail scanners open links too; pressing the button does. There are no passwords: a link works
until it is revoked.

The answers of excluded people stay in the database and, marked, in the exports, but count nowhere else. When a person
is deleted, only the pseudonym and the number of answers stay in the audit trail.

Crowd platforms pay three kinds of work differently, so there are three codes: complete, screened out by the test, and
returned (stopped early, or no work was left).
"""

import datetime
import hashlib
import hmac
import json
import os
import secrets
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from plainly.core.errors import BadInput
from plainly.core.tables import format_csv
from plainly.people.rating_tables import escape_formula
from plainly_studio.assignments import change_state, count_newcomer_items, count_scattered, release
from plainly_studio.project import Project
from plainly_studio.schema import assignment, draft, entry, invitation, item, rater, session
from plainly_studio.store import Refusal, log_event

InvitationKind = Literal["person", "crowd", "owner"]
Outcome = Literal["complete", "returned", "screened-out"]
SESSION_SECONDS = 30 * 24 * 3600.0
_FEWEST_TIMES = 20
_SECONDS_PER_WORD = 60 / 200
_SECONDS_PER_QUESTION = {"rating": 5.0, "ranking": 8.0, "operations": 45.0}
_FIND_PERSON = (  # runs with every request, so it is built once
    select(rater, session.c.token_hash, session.c.expires_at)
    .join(session, session.c.rater_id == rater.c.id)
    .where(session.c.token_hash == bindparam("token"))
)


class Secret:
    """The key of computed tokens, made at the first start and readable by its owner only."""

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
            raise BadInput(f"{path} is not the secret of a study. Restore the study's file from a backup.") from None

    def sign(self, purpose: str, text: str) -> str:
        """Return a keyed hash, which cannot be computed without the secret."""
        return hmac.new(self._key, f"{purpose}\x00{text}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Person:
    """The sender of a request."""

    id: int
    pseudonym: str
    role: str
    session: str
    state: str = "active"  # people who left or are excluded get no more items
    crowd: str = "{}"
    outcome: Outcome | None = None  # once their work has ended


def hash_token(token: str) -> str:
    """Return what the database stores of a token; 256 random bits need no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def invite(
    connection: Connection, kind: InvitationKind, *, label: str = "", once: bool = False, by: str = "command line"
) -> str:
    """Make a link and return its token, which is not stored and cannot be read again."""
    token = secrets.token_urlsafe(32)
    values = {"token_hash": hash_token(token), "kind": kind, "label": label, "once": once, "uses": 0}
    statement = insert(invitation).values(**values, created_at=time.time()).returning(invitation.c.id)
    log_event(connection, by, "invite", {"kind": kind, "invitation": connection.execute(statement).scalar_one()})
    return token


def find_invitation(connection: Connection, token: str) -> Row[Any]:
    """Return the invitation behind a token; a wrong token and a revoked one get the same refusal."""
    statement = select(invitation).where(invitation.c.token_hash == hash_token(token))
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update()
    row = connection.execute(statement).first()
    if row is None or row.revoked_at is not None or (row.once and row.uses):
        raise Refusal(404, "no-invitation", "This link is not valid (any more). Ask the sender for a new one.")
    return row


def accept(connection: Connection, project: Project, secret: Secret, token: str, crowd: Mapping[str, str]) -> str:
    """Accept an invitation and return the token of a new session; the first time, add the person."""
    row = find_invitation(connection, token)
    person = _find_or_add_person(connection, project, secret, row, crowd)
    if person.state == "removed":
        raise Refusal(403, "removed", "Your access was ended. Ask the person who invited you.")
    values = {"uses": row.uses + 1} | ({"rater_id": person.id} if row.kind != "crowd" else {})
    connection.execute(update(invitation).where(invitation.c.id == row.id).values(**values))
    log_event(connection, person.pseudonym, "join", {"invitation": row.id})
    session_token, now = secrets.token_urlsafe(32), time.time()
    connection.execute(delete(session).where(session.c.expires_at < now))
    values = {"token_hash": hash_token(session_token), "rater_id": person.id, "invitation_id": row.id}
    connection.execute(insert(session).values(**values, created_at=now, expires_at=now + SESSION_SECONDS))
    return session_token


def _find_or_add_person(
    connection: Connection, project: Project, secret: Secret, row: Row[Any], crowd: Mapping[str, str]
) -> Row[Any]:
    """Return the person of an invitation; on a crowd's link, the person whom the platform names."""
    names = [f"{name}={crowd[name]}" for name in project.crowd.person if crowd.get(name)]
    key = secret.sign("person", names[0]) if names and row.kind == "crowd" else None
    if key or row.kind != "crowd":
        same = rater.c.person == key if key else rater.c.id == row.rater_id
        person = connection.execute(select(rater).where(same)).first()
        if person is not None:
            if crowd:  # The same worker with another task of the platform: the latest ids are needed for the payment.
                latest = json.dumps({**json.loads(person.crowd), **crowd})
                connection.execute(update(rater).where(rater.c.id == person.id).values(crowd=latest))
            return person
    now = time.time()
    values = {
        "pseudonym": "r-" + secrets.token_hex(5),  # It reveals neither the person nor when they joined.
        "role": "owner" if row.kind == "owner" else "rater",
        "state": "active",
        "crowd": json.dumps(dict(crowd)),
        "person": key,
        "consented_at": now if project.consent else None,
        "created_at": now,
    }
    return connection.execute(insert(rater).values(**values).returning(rater)).one()


def find_person(connection: Connection, tokens: Iterable[str]) -> Person | None:
    """Return the person of the first session that has not expired and was not ended."""
    for token in tokens:
        row = connection.execute(_FIND_PERSON, {"token": hash_token(token)}).first()
        if row is not None and row.expires_at >= time.time() and row.state != "removed":
            state = "excluded" if row.excluded_at is not None else row.state
            return Person(row.id, row.pseudonym, row.role, row.token_hash, state, row.crowd, row.outcome)
    return None


def revoke(connection: Connection, invitation_id: int) -> None:
    """End a link and all sessions that were opened with it."""
    active = update(invitation).where(invitation.c.id == invitation_id, invitation.c.revoked_at.is_(None))
    connection.execute(active.values(revoked_at=time.time()))
    connection.execute(delete(session).where(session.c.invitation_id == invitation_id))


def find_rater(connection: Connection, pseudonym: str) -> Row[Any]:
    """Return a rater by pseudonym, or refuse the request."""
    row = connection.execute(select(rater).where(rater.c.pseudonym == pseudonym, rater.c.role == "rater")).first()
    if row is None:
        raise Refusal(404, "unknown", "There is no such rater.")
    return row


def exclude(connection: Connection, pseudonym: str, *, why: str, replace: bool, by: str) -> None:
    """Stop counting a rater's answers; with ``replace`` their items are offered to others again."""
    row = find_rater(connection, pseudonym)
    release(connection, row.id)
    if row.excluded_at is None:
        values = {"excluded_at": time.time(), "excluded_why": why or "excluded"}
        connection.execute(update(rater).where(rater.c.id == row.id).values(**values))
    count = change_state(connection, "done", "replaced", assignment.c.rater_id == row.id) if replace else 0
    log_event(connection, by, "exclude", {"rater": pseudonym, "why": why, "reopened": count})


def restore(connection: Connection, pseudonym: str, *, by: str) -> None:
    """Count a rater's answers again, also for the overlap of their items."""
    row = find_rater(connection, pseudonym)
    connection.execute(update(rater).where(rater.c.id == row.id).values(excluded_at=None, excluded_why=None))
    count = change_state(connection, "replaced", "done", assignment.c.rater_id == row.id, times=1)
    log_event(connection, by, "restore", {"rater": pseudonym, "closed": count})


def end_access(connection: Connection, pseudonym: str, *, by: str) -> None:
    """End a person's access. Their answers stay and count."""
    row = find_rater(connection, pseudonym)
    release(connection, row.id)
    connection.execute(update(rater).where(rater.c.id == row.id).values(state="removed"))
    connection.execute(delete(session).where(session.c.rater_id == row.id))
    log_event(connection, by, "remove", {"rater": pseudonym})


def erase(connection: Connection, pseudonym: str, *, by: str, action: str = "delete") -> None:
    """Delete a person and all of their answers."""
    row = find_rater(connection, pseudonym)
    release(connection, row.id)
    change_state(connection, "done", "replaced", assignment.c.rater_id == row.id)
    own_assignments = select(assignment.c.id).where(assignment.c.rater_id == row.id)
    connection.execute(delete(draft).where(draft.c.assignment_id.in_(own_assignments)))
    count = len(connection.execute(delete(entry).where(entry.c.rater_id == row.id).returning(entry.c.id)).all())
    for table in (assignment, session):
        connection.execute(delete(table).where(table.c.rater_id == row.id))
    own_links = update(invitation).where(invitation.c.rater_id == row.id)  # Labels may name people.
    connection.execute(own_links.values(label="", rater_id=None, revoked_at=time.time()))
    connection.execute(delete(rater).where(rater.c.id == row.id))
    log_event(connection, by, action, {"rater": pseudonym, "answers": count})


def purge(connection: Connection, project: Project, now: float) -> int:
    """After the project's last day for personal data, delete platform ids and labels; return the number of people."""
    today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    if not project.personal_until or today <= datetime.date.fromisoformat(project.personal_until):
        return 0
    forget = update(rater).where((rater.c.crowd != "{}") | rater.c.person.is_not(None)).values(crowd="{}", person=None)
    count = len(connection.execute(forget.returning(rater.c.id)).all())
    unlabel = update(invitation).where(invitation.c.label != "").values(label="")
    links = len(connection.execute(unlabel.returning(invitation.c.id)).all())
    if count or links:
        log_event(connection, "personal_until", "forget", {"people": count, "links": links})
    return count


def agreed_items(project: Project) -> int:
    """Return how many items earn the completion code; 0 means all there are."""
    is_free = project.assignment.design == "free"  # Otherwise the agreed items are those of the person's place.
    return project.crowd.agreed or (project.assignment.per_rater if is_free else 0)


def outcome_of(project: Project, state: str, done: int) -> Outcome | None:
    """Return the outcome of a person's work; None while it continues."""
    if state == "failed":
        return "screened-out"
    # A person who stops early earns the code only if a number of items was agreed.
    if done >= max(1, agreed_items(project)) and (agreed_items(project) or state == "finished"):
        return "complete"
    return "returned" if state in ("finished", "left") else None


def record_outcome(connection: Connection, rater_id: int, outcome: Outcome) -> None:
    """Store the outcome of a person's work, and when it was first reached."""
    differs = rater.c.outcome.is_(None) | (rater.c.outcome != outcome)
    statement = update(rater).where(rater.c.id == rater_id, differs)
    connection.execute(statement.values(outcome=outcome, ended_at=time.time()))


def completion_code(project: Project, secret: Secret, outcome: str, pseudonym: str) -> str:
    """Return the code for the platform: the project's for this outcome, or one made for the person."""
    purpose = "completion" if outcome == "complete" else outcome
    code: str = getattr(project.crowd, f"{purpose.replace('-', '_')}_code")
    return code or secret.sign(purpose, pseudonym)[:10].upper()


def final_page(project: Project, secret: Secret, person: Person, outcome: str) -> dict[str, str]:
    """Return what the page shows at the end: the code and the way back to the platform."""
    code = completion_code(project, secret, outcome, person.pseudonym)
    content = {"code": code, "completion_url": project.crowd.completion_url.replace("{code}", quote(code, safe=""))}
    platform = json.loads(person.crowd)
    parts = urlsplit(platform.get("turkSubmitTo", ""))
    origin = f"{parts.scheme}://{parts.netloc}"
    if origin in project.crowd.frame:
        content["submit_to"] = f"{origin}/mturk/externalSubmit"
        content["assignment_id"] = platform.get("assignmentId", "")
    return content


def seconds_per_item(connection: Connection, project: Project) -> float:
    """Estimate how long an item takes, from past answers or, while there are few, from the number of words."""
    latest = select(entry.c.seconds).where(entry.c.seconds.is_not(None)).order_by(entry.c.id.desc()).limit(200)
    times = connection.execute(latest).scalars().all()
    if len(times) >= _FEWEST_TIMES:
        return float(statistics.median(times))
    rows = connection.execute(select(item.c.source, item.c.outputs).where(item.c.kind == "main").limit(50)).all()
    texts = [" ".join([row.source, *(output["text"] for output in json.loads(row.outputs))]) for row in rows]
    words = statistics.mean(len(text.split()) for text in texts) if texts else 0
    return words * _SECONDS_PER_WORD + _SECONDS_PER_QUESTION[project.task] * max(1, len(project.scales))


def workload(connection: Connection, project: Project) -> dict[str, int]:
    """Return how many items await a newcomer, and about how many minutes they take."""
    by_kind = select(item.c.kind, func.count()).group_by(item.c.kind)
    kinds = {kind: int(count) for kind, count in connection.execute(by_kind)}
    open_items = select(func.count()).where(item.c.kind == "main", item.c.taken < project.assignment.overlap)
    main = min(int(connection.execute(open_items).scalar_one()), agreed_items(project) or kinds.get("main", 0))
    if project.assignment.design != "free":
        main = count_newcomer_items(connection)
    scattered = sum(min(kinds.get(kind, 0), count_scattered(project, kind, main)) for kind in ("check", "repeat"))
    count = main + scattered + kinds.get("training", 0) + kinds.get("qualification", 0)
    return {"count": count, "minutes": max(1, round(count * seconds_per_item(connection, project) / 60 + 0.4))}


def list_raters(connection: Connection, project: Project, secret: Secret) -> list[dict[str, Any]]:
    """Return all raters with their platform ids, number of answers, outcome and code."""
    answers = func.count(assignment.c.id).label("answers")
    is_done = assignment.c.state.in_(("done", "replaced"))
    counts = select(assignment.c.rater_id, answers).where(is_done).group_by(assignment.c.rater_id).subquery()
    statement = select(rater, counts.c.answers).outerjoin(counts, counts.c.rater_id == rater.c.id)
    rows = connection.execute(statement.where(rater.c.role == "rater").order_by(rater.c.id)).all()
    return [
        {
            "rater": row.pseudonym,
            **dict.fromkeys(project.crowd.parameters, ""),
            **json.loads(row.crowd),
            "answers": row.answers or 0,
            "outcome": row.outcome or "",
            "code": completion_code(project, secret, row.outcome, row.pseudonym) if row.outcome else "",
            "state": row.state,
            "excluded": row.excluded_why or "excluded" if row.excluded_at else "",
            "created_at": row.created_at,
        }
        for row in rows
    ]


def _format_people(rows: list[dict[str, Any]]) -> str:
    names = [name for name in (rows[0] if rows else {"rater": ""}) if name != "created_at"]
    return format_csv(names, [[escape_formula(row[name]) for name in names] for row in rows])


def _format_prolific(rows: list[dict[str, Any]], *, approve: bool) -> str:
    """Format the list of participants, one per line, that Prolific takes to approve or to reject."""
    ids = [row["PROLIFIC_PID"] for row in rows if row.get("PROLIFIC_PID") and _is_approved(row) is approve]
    return "\n".join(dict.fromkeys(ids))


def _format_mturk(rows: list[dict[str, Any]]) -> str:
    """Format MTurk's own table of results, with an X under Approve or a reason under Reject."""
    table = [
        (row["assignmentId"], row["hitId"], row["workerId"], "X" if _is_approved(row) else "",
         f"The answers were excluded: {row['excluded']}" if _is_approved(row) is False else "")
        for row in rows
        if row.get("workerId")
    ]  # fmt: skip
    header = ("AssignmentId", "HITId", "WorkerId", "Approve", "Reject")
    return format_csv(header, [list(map(escape_formula, row)) for row in table])


def _is_approved(row: Mapping[str, Any]) -> bool | None:
    """Return whether to approve a rater's work; None where the owner has to decide."""
    return False if row["excluded"] else True if row["outcome"] == "complete" else None


LISTS: Mapping[str, Callable[[list[dict[str, Any]]], str]] = {
    "people.csv": _format_people,
    "prolific-approve.csv": lambda rows: _format_prolific(rows, approve=True),
    "prolific-reject.csv": lambda rows: _format_prolific(rows, approve=False),
    "mturk.csv": _format_mturk,
}


def write_list(connection: Connection, project: Project, secret: Secret, name: str) -> bytes:
    """Return a list for the platform or the accountant; unlike the exports it contains platform ids."""
    text = LISTS[name](list_raters(connection, project, secret))
    return f"{text}\n".encode() if text else b""
