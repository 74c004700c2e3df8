"""What a rater's page asks for: the next items, a place for the answers, and the answers given before."""

import re
import time
from dataclasses import asdict
from typing import Any

from msgspec import to_builtins
from sqlalchemy import Connection, select, update
from starlette.responses import Response

from plainly_studio import answers, assignments, labels, payment, roster, schema
from plainly_studio.context import Call, reply
from plainly_studio.guard import integer
from plainly_studio.refusal import invalid
from plainly_studio.store import note
from plainly_studio.words import words

_KEY = re.compile(r"[A-Za-z0-9_\-]{8,64}")
_REVIEWED = 20
_MOST_POINTS = 11


async def page(call: Call) -> Response:
    """The page on which all work is done."""
    return call.page("work.html", about=about(call), preview=False)


async def me(call: Call) -> Response:
    """Who the page belongs to, and a token for it; asked again after a session ended and a new one began."""
    return reply(_identity(call))


async def claim(call: Call) -> Response:
    """Items to work on."""
    studio, person = call.studio, call.person
    want = min(integer(call.data.get("want", 1), "want"), studio.project.assignment.ahead)
    have = call.data.get("have", [])
    if not isinstance(have, list) or len(have) > 100:
        raise invalid("have", "have must be a list.")
    numbers = [integer(number, "have") for number in have]
    project = studio.project

    def work(connection: Connection) -> tuple[assignments.Claim, payment.Outcome | None]:
        if person.state in ("left", "excluded"):
            claimed = assignments.Claim((), "left", assignments.answered(connection, person.id), None, 0)
            return claimed, payment.recorded(connection, person.id) if person.state == "left" else None
        claimed = assignments.claim(connection, project, person.id, want=want, have=numbers, now=time.time())
        outcome = None if claimed.items or numbers else payment.outcome_of(project, claimed.state, claimed.done)
        if outcome is not None:
            payment.record(connection, person.id, outcome)
        return claimed, outcome

    claimed, outcome = await studio.write(work)
    told: dict[str, Any] = {"now": time.time(), "seconds": await studio.seconds_each(), **asdict(claimed)}
    if outcome is not None:
        told |= payment.handover(project, studio.secret, person, outcome)
    if claimed.state == "finished" and outcome == "returned":
        told["state"] = "full"
    return reply(told)


async def leave(call: Call) -> Response:
    """Stop for good: one's answers stay, or go as well; and the code that this has earned."""
    studio, person = call.studio, call.person
    project, withdraw = studio.project, call.data.get("withdraw") is True

    def work(connection: Connection) -> tuple[int, payment.Outcome]:
        count, done = assignments.answered(connection, person.id), assignments.done(connection, person.id)
        if withdraw:
            roster.erase(connection, person.pseudonym, by=person.pseudonym, action="withdraw")
            return count, "returned"
        state = assignments.standing(connection, project, person.id)
        outcome = payment.outcome_of(project, "finished" if state == "waiting" else state, done)
        outcome = outcome or payment.outcome_of(project, "left", done) or "returned"
        assignments.release(connection, person.id)
        connection.execute(update(schema.rater).where(schema.rater.c.id == person.id).values(state="left"))
        payment.record(connection, person.id, outcome)
        note(connection, person.pseudonym, "leave", {"outcome": outcome})
        return count, outcome

    count, outcome = await studio.write(work)
    told = payment.handover(project, studio.secret, person, outcome) if person.state != "excluded" else {}
    return reply({"state": "withdrawn" if withdraw else "left", "answered": count, **told})


async def answer(call: Call) -> Response:
    """Store an answer. It is acknowledged when it is on disk."""
    key = call.text("key", longest=64)
    if not _KEY.fullmatch(key):
        raise invalid("key", "key must be 8 to 64 letters and digits.")
    assignment_id = integer(call.data.get("assignment"), "assignment")
    revision = integer(call.data.get("revision"), "revision")
    seconds = call.data.get("seconds")
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and abs(seconds) < 1e15
    if seconds is not None and not number:
        raise invalid("seconds", "seconds must be a number.")
    sent: dict[str, Any] = {"key": key, "revision": revision, "payload": call.data.get("payload")}
    sent["counts"] = call.person.state != "excluded"
    sent["seconds"] = None if seconds is None else min(max(float(seconds), 0.0), 1e7)

    def work(connection: Connection) -> tuple[dict[str, Any], int]:
        told = answers.submit(connection, call.studio.project, call.person.id, assignment_id, **sent)
        return told, assignments.answered(connection, call.person.id)

    told, count = await call.studio.write(work)
    response = reply(told, 201)
    response.headers["x-studio-answered"] = str(count)  # Not in the body, which is the same for every repetition.
    return response


async def draft(call: Call) -> Response:
    """Keep unfinished work."""
    number, payload = integer(call.data.get("assignment"), "assignment"), call.data.get("payload")
    await call.studio.write(lambda connection: answers.save_draft(connection, call.person.id, number, payload))
    return reply({"assignment": number, "saved": True})


async def more_time(call: Call) -> Response:
    """Extend the lease of an item that somebody is still thinking about."""
    number, now = integer(call.data.get("assignment"), "assignment"), time.time()

    def work(connection: Connection) -> float:
        row = answers.own_assignment(connection, call.person.id, number)
        return assignments.extend(connection, call.studio.project, row, now)

    return reply({"assignment": number, "expires_at": await call.studio.write(work)})


async def answered(call: Call) -> Response:
    """The latest answers of this rater, newest first, to look at and to change."""
    assignment, entry = schema.assignment, schema.entry
    latest = (
        select(assignment.c.id, entry.c.payload)
        .join(entry, (entry.c.assignment_id == assignment.c.id) & (entry.c.revision == assignment.c.revision))
        .where(assignment.c.rater_id == call.person.id, assignment.c.state == "done")
        .order_by(entry.c.id.desc())
        .limit(_REVIEWED)
    )

    def work(connection: Connection) -> list[dict[str, Any]]:
        return [
            {**assignments.present(connection, call.studio.project, row.id), "answer": answers.public(row.payload)}
            for row in connection.execute(latest).all()
        ]

    return reply({"items": await call.studio.read(work)})


def _identity(call: Call) -> dict[str, Any]:
    return {"rater": call.person.pseudonym, "token": call.studio.page_token(call.person.session)}


def about(call: Call) -> dict[str, Any]:
    project = call.studio.project
    spoken = words(project.language)
    told: dict[str, Any] = {
        **_identity(call),
        "base": call.studio.address.base,
        "preview": False,
        "words": spoken["page"] | {f"refused_{code}": sentence for code, sentence in spoken["refused"].items()},
        "task": project.task,
        "ahead": project.assignment.ahead,
        "comments": project.comments,
        "cannotJudge": project.cannot_judge,
        "direction": project.direction,
        "timeLimit": project.quality.time_limit_seconds,
    }
    if project.task == "rating":
        told["scales"] = [
            {**to_builtins(scale), "points": scale.points if len(scale.points) <= _MOST_POINTS else []}
            for scale in project.scales
        ]
    elif project.task == "operations":
        told["labels"] = list(labels.labels().values())
    else:
        told["ranking"] = to_builtins(project.ranking)
    return told
