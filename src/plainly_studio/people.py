"""People: how they join, whose answers count, and what their work has earned.

People join by a link with a random token, of which the database stores only the hash. Opening a link changes nothing,
because chat programs and mail scanners open links too; pressing the button does. There are no passwords: a link works
until it is revoked.

The answers of excluded people stay in the database and, marked, in the exports, but count nowhere else. Pay is another
question: everyone who did what was asked is paid, unless the owner decides otherwise and gives a reason.

A person who withdraws loses all answers, but keeps what they have earned and the verdict of tests and checks, under a
keyed hash of the platform's id, so that joining again does not reset the record. When a person is deleted, only the
pseudonym and the number of answers stay in the audit trail.

Crowd platforms pay three kinds of work differently, so there are three codes: complete, screened out by the test, and
returned (stopped early). People with a crowd's link may know the ids of others; so an id alone does not open the work
of a person, and coming back needs the cookie or the personal code.
"""

import datetime
import hashlib
import hmac
import json
import os
import re
import secrets
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote, urlsplit

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from plainly.core.errors import BadInput
from plainly.core.tables import format_csv
from plainly.people.rating_tables import escape_formula
from plainly_studio import assignments, tasks
from plainly_studio.assignments import change_state, release
from plainly_studio.project import Project
from plainly_studio.schema import assignment, draft, entry, event, invitation, item, rater, session
from plainly_studio.store import DELETIONS, InvalidField, Refusal, log_event, read_fact, store_fact

InvitationKind = Literal["person", "crowd", "owner"]
Outcome = Literal["complete", "returned", "screened-out"]
Decision = Literal["approve", "reject"]
SESSION_SECONDS = 30 * 24 * 3600.0
SECOND_DEVICE = "second-device"
_SECOND_DEVICE_SECONDS = 600.0
_LONGEST_ID = 64
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\$\{|^\{.*\}$|^<.*>$|^\[.*\]$|^%.*%$")  # as of Prolific, Qualtrics, MTurk
_FEWEST_TIMES = 20
_SECONDS_PER_WORD = 60 / 200
_SECONDS_PER_QUESTION = {"rating": 5.0, "ranking": 8.0, "operations": 45.0}
_FIND_PEOPLE = (  # runs with every request, so it is built once
    select(rater, session.c.token_hash, session.c.expires_at)
    .join(session, session.c.rater_id == rater.c.id)
    .where(session.c.token_hash.in_(bindparam("tokens", expanding=True)))
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
    promised: int | None = None


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
    row = connection.execute(select(invitation).where(invitation.c.token_hash == hash_token(token))).first()
    if row is None or row.revoked_at is not None or (row.once and row.uses):
        raise Refusal(404, "no-invitation", "This link is not valid (any more). Ask the sender for a new one.")
    return row


def read_ids(project: Project, values: Mapping[str, str]) -> dict[str, str]:
    """Return the platform's parameters of a link, or refuse those that cannot be a person's."""
    ids = {name: str(values[name]).strip() for name in project.crowd.parameters if str(values.get(name) or "").strip()}
    for name, value in ids.items():
        if _PLACEHOLDER.search(value):
            message = f"The link has a placeholder in place of {name}. Open the study from the platform's own page."
            raise Refusal(422, "placeholder", message)
        is_address = name == "turkSubmitTo"
        if not value.isprintable() or len(value) > (200 if is_address else _LONGEST_ID):
            message = f"{name} in the link must be one line of at most {_LONGEST_ID} characters."
            raise Refusal(422, "bad-id", message)
    return ids


@dataclass(frozen=True)
class Visit:
    """Who opens a link: the invitation, the person whom it names if they were here before, and whether that is sure."""

    invitation: Row[Any]
    key: str | None
    person: Row[Any] | None
    is_sure: bool


def recognise(
    connection: Connection,
    project: Project,
    secret: Secret,
    token: str,
    crowd: Mapping[str, str],
    *,
    session_token: str = "",
    code: str = "",
) -> Visit:
    """Find the person who opens a link; on a crowd's link an id alone is not enough to be somebody."""
    row = find_invitation(connection, token)
    if row.kind != "crowd":
        person = connection.execute(select(rater).where(rater.c.id == row.rater_id)).first()
        return _admit(Visit(row, None, person, True))
    names = [f"{name}={crowd[name]}" for name in project.crowd.person if crowd.get(name)]
    if not names and project.crowd.require_id:
        options = " or ".join(project.crowd.person)
        message = f"The link lacks your id on the platform ({options}). Open the study from the platform's own page."
        raise Refusal(422, "id-missing", message)
    key = secret.sign("person", names[0]) if names else None
    current = _find_crowd_member(connection, secret, row, session_token, code)
    if key is None:
        return _admit(Visit(row, None, current, True))
    person = connection.execute(select(rater).where(rater.c.person == key)).first()
    is_sure = person is None or (current is not None and current.id == person.id)
    return _admit(Visit(row, key, person, is_sure))


def _find_crowd_member(
    connection: Connection, secret: Secret, row: Row[Any], session_token: str, code: str
) -> Row[Any] | None:
    """Return who joined by this crowd's link and has the cookie, or gives the personal code."""
    if code := re.sub(r"[^0-9a-f]", "", code.lower()):
        people = connection.execute(select(rater).where(rater.c.role == "rater")).all()
        return next((one for one in people if hmac.compare_digest(_sign_return(secret, one.pseudonym), code)), None)
    is_valid = (session.c.token_hash == hash_token(session_token)) & (session.c.invitation_id == row.id)
    own = select(rater).join(session, session.c.rater_id == rater.c.id).where(is_valid)
    return connection.execute(own.where(session.c.expires_at >= time.time())).first()


def _admit(visit: Visit) -> Visit:
    state = visit.person.state if visit.person is not None else "active"
    if state == "removed":
        raise Refusal(403, "removed", "Your access was ended. Ask the person who invited you.")
    if state == "withdrawn":
        message = "You withdrew from this study. Only the person who invited you can let you take part again."
        raise Refusal(403, "withdrawn", message)
    return visit


def _sign_return(secret: Secret, pseudonym: str) -> str:
    return secret.sign("return", pseudonym)[:12]


def return_code(secret: Secret, pseudonym: str) -> str:
    """Return the code with which a person goes on in another browser."""
    text = _sign_return(secret, pseudonym)
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def accept(
    connection: Connection,
    project: Project,
    secret: Secret,
    token: str,
    crowd: Mapping[str, str],
    *,
    session_token: str = "",
    code: str = "",
    announced: int | None = None,
) -> str:
    """Accept an invitation and return the token of a new session; the first time, add the person.

    ``announced`` is the number of items that the page has shown; a newcomer gets no fewer.
    """
    visit = recognise(connection, project, secret, token, crowd, session_token=session_token, code=code)
    if code and not (visit.person and visit.is_sure):
        raise Refusal(409, "code", "This code does not belong to you, or it was mistyped.")
    if not visit.is_sure:
        raise Refusal(409, "known", "Somebody takes part with this id already. Going on needs the personal code.")
    row, now = visit.invitation, time.time()
    person = visit.person or _add_person(connection, project, visit, crowd, announced)
    if visit.person is not None:
        if crowd:  # The same worker with another task of the platform: the latest ids are needed for the payment.
            latest = json.dumps({**json.loads(person.crowd), **crowd})
            connection.execute(update(rater).where(rater.c.id == person.id).values(crowd=latest))
        _report_second_device(connection, person, session_token, now)
    values = {"uses": row.uses + 1} | ({"rater_id": person.id} if row.kind != "crowd" else {})
    connection.execute(update(invitation).where(invitation.c.id == row.id).values(**values))
    log_event(connection, person.pseudonym, "join", {"invitation": row.id})
    new_token = secrets.token_urlsafe(32)
    connection.execute(delete(session).where(session.c.expires_at < now))
    values = {"token_hash": hash_token(new_token), "rater_id": person.id, "invitation_id": row.id}
    connection.execute(insert(session).values(**values, created_at=now, expires_at=now + SESSION_SECONDS))
    return new_token


def _report_second_device(connection: Connection, person: Row[Any], session_token: str, now: float) -> None:
    """Tell the owner when a person's link is opened elsewhere while there is work in another browser."""
    others = (session.c.rater_id == person.id) & (session.c.token_hash != hash_token(session_token))
    latest = select(func.max(assignment.c.leased_at)).where(assignment.c.rater_id == person.id)
    answered = select(func.max(entry.c.created_at)).where(entry.c.rater_id == person.id)
    moments = [connection.execute(statement).scalar() or 0.0 for statement in (latest, answered)]
    if now - max(moments) < _SECOND_DEVICE_SECONDS and connection.execute(select(session).where(others)).first():
        log_event(connection, person.pseudonym, SECOND_DEVICE, {})


def _add_person(
    connection: Connection, project: Project, visit: Visit, crowd: Mapping[str, str], announced: int | None
) -> Row[Any]:
    """Add a person, with a place in the study for a rater."""
    now, role = time.time(), "owner" if visit.invitation.kind == "owner" else "rater"
    if role == "rater":
        assignments.end_expired(connection, now)
    count = count_places(connection, project) if role == "rater" else 1
    if not count:
        raise Refusal(409, "full", "This study is full: no items are open. Nothing about you was stored.")
    promised = count if announces_number(project) and role == "rater" else None
    if promised is not None and announced is not None and promised < announced:
        raise Refusal(
            409, "fewer", "Others have begun since you opened the page, and there are fewer items for you now."
        )
    has_agreed = bool(project.consent) and role == "rater"
    values = {
        "pseudonym": "r-" + secrets.token_hex(5),  # It reveals neither the person nor when they joined.
        "role": role,
        "state": "active",
        "crowd": json.dumps(dict(crowd)),
        "person": visit.key,
        "promised": promised,
        "consented_at": now if has_agreed else None,
        "consent_version": _record_consent(connection, project) if has_agreed else None,
        "created_at": now,
    }
    person = connection.execute(insert(rater).values(**values).returning(rater)).one()
    if promised is not None:
        assignments.reserve(connection, project, person.id, promised, now)
    return person


def _record_consent(connection: Connection, project: Project) -> str:
    """Return the version of the consent text; the audit trail gets the text of a new one."""
    content = f"{project.consent}\n{project.personal_until}"
    version = hashlib.sha256(content.encode()).hexdigest()[:8]
    if connection.execute(select(rater.c.id).where(rater.c.consent_version == version).limit(1)).first() is None:
        detail = {"version": version, "text": project.consent, "personal_until": project.personal_until}
        log_event(connection, "studio", "consent", detail)
    return version


def find_person(connection: Connection, tokens: Sequence[str]) -> Person | None:
    """Return the person of the first session that has not expired and was not ended."""
    return find_people(connection, [tokens])[0]


def find_people(connection: Connection, visitors: Sequence[Sequence[str]]) -> list[Person | None]:
    """Return the person behind the tokens of each visitor: that of the first valid session."""
    hashes = [[hash_token(token) for token in tokens] for tokens in visitors]
    rows = connection.execute(_FIND_PEOPLE, {"tokens": [one for own in hashes for one in own]})
    now = time.time()
    valid = {row.token_hash: row for row in rows if row.expires_at >= now and row.state != "removed"}
    first = [next((valid[one] for one in own if one in valid), None) for own in hashes]
    return [_as_person(row) if row is not None else None for row in first]


def _as_person(row: Row[Any]) -> Person:
    state = "excluded" if row.excluded_at is not None else row.state
    return Person(row.id, row.pseudonym, row.role, row.token_hash, state, row.crowd, row.outcome, row.promised)


def is_of_crowd(connection: Connection, person: Person) -> bool:
    """Return whether a person came by a crowd's link, which does not tell who opens it."""
    own = select(invitation.c.kind).join(session, session.c.invitation_id == invitation.c.id)
    return connection.execute(own.where(session.c.token_hash == person.session)).scalar() == "crowd"


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


def readmit(connection: Connection, pseudonym: str, *, by: str) -> None:
    """Let a person in again who stopped, withdrew or was removed; the verdict of tests and exclusions stays."""
    row = find_rater(connection, pseudonym)
    values: dict[str, Any] = {"state": "active"}
    if row.outcome == "returned":
        values |= {"outcome": None, "ended_at": None}
    connection.execute(update(rater).where(rater.c.id == row.id).values(**values))
    log_event(connection, by, "readmit", {"rater": pseudonym})


def decide(connection: Connection, pseudonym: str, *, decision: str, why: str, by: str) -> None:
    """Store the owner's own decision about a person's pay; an empty one returns to the default."""
    row = find_rater(connection, pseudonym)
    if decision not in ("", *get_args(Decision)):
        raise InvalidField("decision", "A decision is approve, reject or nothing.")
    if decision == "reject" and not why.strip():
        raise InvalidField("why", "Give the reason why the work is not paid; the person will read it.")
    values = {"decision": decision or None, "decision_why": why.strip() if decision else None}
    connection.execute(update(rater).where(rater.c.id == row.id).values(**values))
    log_event(connection, by, "decide", {"rater": pseudonym, "decision": decision, "why": why})


def set_bonus(connection: Connection, pseudonym: str, *, amount: float | None, by: str) -> None:
    """Store a bonus by hand; None returns to the rule."""
    row = find_rater(connection, pseudonym)
    connection.execute(update(rater).where(rater.c.id == row.id).values(bonus=amount))
    log_event(connection, by, "bonus", {"rater": pseudonym, "amount": amount})


def withdraw(connection: Connection, project: Project, person: Person) -> tuple[int, Outcome]:
    """Delete a person's answers at their own request; return the number of answers and what the work has earned.

    The row stays until ``personal_until``: what is owed, and the verdict of tests and checks. Platform ids stay only
    where they are needed for the payment.
    """
    count = assignments.read_history(connection, project, person.id).answered
    outcome = end_work(connection, project, person)
    past = connection.execute(select(rater.c.past_checks).where(rater.c.id == person.id)).scalar()
    checks = _add_checks(_count_checks(connection, project).get(person.id), past)
    _delete_answers(connection, person.id)
    values: dict[str, Any] = {"state": "withdrawn", "past_checks": json.dumps(checks), "place_until": None}
    if outcome == "returned":
        values["crowd"] = "{}"
    connection.execute(update(rater).where(rater.c.id == person.id).values(**values))
    own_links = update(invitation).where(invitation.c.rater_id == person.id)  # Labels may name people.
    connection.execute(own_links.values(label=""))
    log_event(connection, person.pseudonym, "withdraw", {"rater": person.pseudonym, "answers": count})
    return count, outcome


def erase(connection: Connection, pseudonym: str, *, by: str) -> None:
    """Delete a person and all of their answers."""
    row = find_rater(connection, pseudonym)
    count = _delete_answers(connection, row.id)
    own_links = update(invitation).where(invitation.c.rater_id == row.id)
    connection.execute(own_links.values(label="", rater_id=None, revoked_at=time.time()))
    connection.execute(delete(rater).where(rater.c.id == row.id))
    log_event(connection, by, "delete", {"rater": pseudonym, "answers": count})


def _delete_answers(connection: Connection, rater_id: int) -> int:
    """Delete a person's answers, drafts and sessions, and free the items; return the number of answers."""
    release(connection, rater_id)
    change_state(connection, "done", "replaced", assignment.c.rater_id == rater_id)
    own_assignments = select(assignment.c.id).where(assignment.c.rater_id == rater_id)
    connection.execute(delete(draft).where(draft.c.assignment_id.in_(own_assignments)))
    count = len(connection.execute(delete(entry).where(entry.c.rater_id == rater_id).returning(entry.c.id)).all())
    for table in (assignment, session):
        connection.execute(delete(table).where(table.c.rater_id == rater_id))
    store_fact(connection, DELETIONS, str(int(read_fact(connection, DELETIONS) or 0) + 1))
    return count


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
    """Return how many items earn the completion code; 0 means all there are, or all of a place in the plan."""
    is_free = project.assignment.design == "free"
    return project.crowd.agreed or (project.assignment.per_rater if is_free else 0)


def announces_number(project: Project) -> bool:
    """Return whether people are told before the consent how many items they will judge."""
    return agreed_items(project) > 0 or project.assignment.design != "free"


def outcome_of(
    project: Project, state: str, done: int, declined: int = 0, promised: int | None = None
) -> Outcome | None:
    """Return the outcome of a person's work; None while it continues.

    Complete is who did all announced items, or, where no number was announced, all that was left. When the owner stops
    the study, people who have begun are paid.
    """
    if state in ("failed", "working"):
        return "screened-out" if state == "failed" else None
    is_over = state in ("finished", "waiting")
    if done and (is_over if promised is None else done >= promised or is_over):
        return "returned" if declined > project.quality.cannot_judge_share * done else "complete"
    return "returned" if state in ("finished", "left") else None


def settle(connection: Connection, project: Project, people: Sequence[Person]) -> None:
    """Record the outcome of people without leases as soon as nothing is left, whatever the browser does next."""
    histories = assignments.read_histories(connection, project, [person.id for person in people]) if people else {}
    for person in people:
        history = histories[person.id]
        state = assignments.next_state(connection, project, person.id, person.promised, history)
        outcome = outcome_of(project, state, history.main, history.declined, person.promised)
        if outcome is not None:
            record_outcome(connection, person.id, outcome)


def end_work(connection: Connection, project: Project, person: Person) -> Outcome:
    """End a person's work for good, and record the outcome; one that was reached before stays."""
    history, state = assignments.read_history(connection, project, person.id), "working"
    if not history.count("leased"):
        state = assignments.next_state(connection, project, person.id, person.promised, history)
    state = "left" if state == "working" else state
    outcome = outcome_of(project, state, history.main, history.declined, person.promised)
    outcome = outcome if person.outcome in (None, "returned") else person.outcome
    release(connection, person.id)
    record_outcome(connection, person.id, outcome or "returned")
    return outcome or "returned"


def record_outcome(connection: Connection, rater_id: int, outcome: Outcome) -> None:
    """Store the outcome of a person's work, and when it was first reached."""
    differs = rater.c.outcome.is_(None) | (rater.c.outcome != outcome)
    statement = update(rater).where(rater.c.id == rater_id, differs)
    connection.execute(statement.values(outcome=outcome, ended_at=time.time()))
    if outcome == "screened-out":
        release(connection, rater_id)


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


def count_places(connection: Connection, project: Project) -> int:
    """Return how many of the study's own items a newcomer would get; 0 when the study is full."""
    count = assignments.count_open_items(connection, project)
    return min(count, agreed_items(project) or count)


def workload(connection: Connection, project: Project, seconds: float) -> dict[str, int]:
    """Return how many items await a newcomer, about how many minutes they take, and how many are the study's own."""
    main = count_places(connection, project)
    count = main + assignments.count_additional(project, assignments.count_items(connection), main)
    minutes = max(1, round(count * seconds / 60 + 0.4))
    return {"count": count if main else 0, "minutes": minutes, "main": main}


def _count_checks(connection: Connection, project: Project) -> dict[int, tuple[int, int]]:
    """Return how many checks each person answered as expected, and how many in all."""
    statement = (
        select(assignment.c.rater_id, entry.c.payload, item.c.expected)
        .join(entry, (entry.c.assignment_id == assignment.c.id) & (entry.c.revision == assignment.c.revision))
        .join(item, item.c.id == assignment.c.item_id)
        .where(item.c.kind == "check")
    )
    counts: dict[int, tuple[int, int]] = {}
    for row in connection.execute(statement):
        right, total = counts.get(row.rater_id, (0, 0))
        is_right = tasks.is_as_expected(project, json.loads(row.payload), json.loads(row.expected or "{}"))
        counts[row.rater_id] = (right + is_right, total + 1)
    return counts


def _add_checks(checks: tuple[int, int] | None, past: str | None) -> tuple[int, int]:
    """Return a person's checks with those from before a withdrawal."""
    right, total = checks or (0, 0)
    past_right, past_total = json.loads(past or "[0, 0]")
    return right + past_right, total + past_total


def list_raters(
    connection: Connection, project: Project, secret: Secret, by_rule: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return all raters with their platform ids, number of answers, outcome, code and pay.

    ``by_rule`` names those whom a rule of the study excludes, with the reason.
    """
    by_state = select(assignment.c.rater_id, assignment.c.state, func.count())
    states: dict[int, dict[str, int]] = {}
    for rater_id, state, count in connection.execute(by_state.group_by(assignment.c.rater_id, assignment.c.state)):
        states.setdefault(rater_id, {})[state] = count
    checks = _count_checks(connection, project)
    twice = select(event.c.actor).where(event.c.action == SECOND_DEVICE).distinct()
    devices = set(connection.execute(twice).scalars())
    rows = []
    for row in connection.execute(select(rater).where(rater.c.role == "rater").order_by(rater.c.id)).all():
        own = states.get(row.id, {})
        right, total = _add_checks(checks.get(row.id), row.past_checks)
        by_owner = row.excluded_why or "excluded" if row.excluded_at else ""
        excluded = by_owner or by_rule.get(row.pseudonym, "")
        rows.append(
            {
                "rater": row.pseudonym,
                **dict.fromkeys(project.crowd.parameters, ""),
                **json.loads(row.crowd),
                "joined": _utc(row.created_at),
                "ended": _utc(row.ended_at),
                "minutes": round((row.ended_at - row.created_at) / 60, 1) if row.ended_at else "",
                "consented": _utc(row.consented_at),
                "consent_version": row.consent_version or "",
                "promised": "" if row.promised is None else row.promised,
                "answers": sum(own.get(state, 0) for state in assignments.ANSWERED),
                "cannot_judge": own.get("declined", 0),
                "checks": f"{right} of {total}" if total else "",
                "outcome": row.outcome or "",
                "code": completion_code(project, secret, row.outcome, row.pseudonym) if row.outcome else "",
                **_pay(project, row, counts=not excluded, right=right, total=total),
                "state": row.state,
                "excluded": excluded,
                "second_device": "yes" if row.pseudonym in devices else "",
            }
        )
    return rows


def _pay(project: Project, row: Row[Any], *, counts: bool, right: int, total: int) -> dict[str, Any]:
    """Return the decision about a person's pay with its reason, and the bonus: the owner's own, or by the rules."""
    reasons = {
        "complete": "did what was asked",
        "screened-out": "did not pass the test",
        "returned": "stopped before the end, or could not judge too many items",
        None: "has not finished",
    }
    decision, reason = row.decision, row.decision_why
    if decision is None:
        decision, reason = "approve" if row.outcome == "complete" else "", reasons[row.outcome]
    is_good = row.outcome == "complete" and counts and right >= project.crowd.bonus_checks * total
    bonus = row.bonus if row.bonus is not None else project.crowd.bonus if is_good and decision == "approve" else 0
    return {"decision": decision, "reason": reason or "", "bonus": bonus or ""}


def _utc(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")


def _format_people(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0] if rows else {"rater": ""})
    return format_csv(names, [[escape_formula(row[name]) for name in names] for row in rows])


def _format_prolific(rows: list[dict[str, Any]], decision: Decision) -> str:
    """Format the list of participants, one per line, that Prolific takes to approve or to reject."""
    ids = [row["PROLIFIC_PID"] for row in rows if row.get("PROLIFIC_PID") and row["decision"] == decision]
    return "\n".join(map(escape_formula, dict.fromkeys(ids)))


def _format_bonuses(rows: list[dict[str, Any]]) -> str:
    """Format the lines with participant and amount that Prolific takes for bonuses."""
    pairs = [(escape_formula(row["PROLIFIC_PID"]), row["bonus"]) for row in rows if row.get("PROLIFIC_PID")]
    return "\n".join(f"{participant},{bonus:.2f}" for participant, bonus in pairs if bonus)


def _format_mturk(rows: list[dict[str, Any]]) -> str:
    """Format MTurk's own table of results, with an X under Approve or a reason under Reject."""
    table = [
        (row["assignmentId"], row["hitId"], row["workerId"], "X" if row["decision"] == "approve" else "",
         row["reason"] if row["decision"] == "reject" else "")
        for row in rows
        if row.get("workerId")
    ]  # fmt: skip
    header = ("AssignmentId", "HITId", "WorkerId", "Approve", "Reject")
    return format_csv(header, [list(map(escape_formula, row)) for row in table])


LISTS: Mapping[str, Callable[[list[dict[str, Any]]], str]] = {
    "people.csv": _format_people,
    "prolific-approve.csv": lambda rows: _format_prolific(rows, "approve"),
    "prolific-reject.csv": lambda rows: _format_prolific(rows, "reject"),
    "prolific-bonus.csv": _format_bonuses,
    "mturk.csv": _format_mturk,
}


def write_list(
    connection: Connection, project: Project, secret: Secret, by_rule: Mapping[str, str], name: str
) -> bytes:
    """Return a list for the platform or the accountant; unlike the exports it contains platform ids."""
    text = LISTS[name](list_raters(connection, project, secret, by_rule))
    return f"{text}\n".encode() if text else b""
