"""The pages of a rater: the invitation, the work page and what its script asks for; and the owner's preview of them."""

import json
import re
import secrets
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins
from sqlalchemy import Connection, delete, select, update
from starlette.responses import Response

from plainly_studio import assignments, payment, people, schema, tasks
from plainly_studio.context import MEDIA, OWNER_COOKIE, SESSION_COOKIE, VISIT_COOKIE, Call, reply
from plainly_studio.guard import Refusal, integer, invalid
from plainly_studio.store import note
from plainly_studio.wording import labels, words

_NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk says while a worker only looks


async def start(call: Call) -> Response:
    """To one's own page, or a word on how to get one."""
    if call.visitor is None:
        return call.studio.page("welcome.html")
    return call.studio.redirect("/owner" if call.visitor.role == "owner" else "/work")


async def health(call: Call) -> Response:
    """For proxies and supervisors: can something be written? Asked of the database at most once a second."""
    await call.studio.written()
    return reply({"status": "ok"})


async def static(call: Call) -> Response:
    """A script or style of the page."""
    name = call.request.path_params["name"]
    if name not in call.studio.assets:
        raise Refusal(404, "unknown", "There is no such file.")
    content, tag = call.studio.assets[name]
    headers = {"etag": f'"{tag}"', "cache-control": "no-cache"}
    if call.request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=MEDIA[Path(name).suffix])


async def show_invitation(call: Call) -> Response:
    """What one is invited to, and the button. Nothing is used up by looking."""
    studio, token = call.studio, call.request.path_params["token"]
    invitation = await studio.read(partial(people.find_invitation, token=token))
    visit = call.request.cookies.get(VISIT_COOKIE) or secrets.token_urlsafe(24)
    crowd = {name: call.data[name] for name in studio.project.crowd.parameters if call.data.get(name)}
    workload = await studio.read(partial(payment.workload, project=studio.project))
    page = studio.page(
        "join.html",
        token=token,
        page_token=studio.page_token(visit),
        crowd=crowd,
        workload=workload,
        owner=invitation.kind == "owner",
        preview=crowd.get("assignmentId") == _NOT_ACCEPTED,
    )
    _set_cookie(call, page, VISIT_COOKIE, visit, 3600)
    return page


async def accept_invitation(call: Call) -> Response:
    """Take the invitation up: consent is checked, a session begins."""
    studio, project, token = call.studio, call.studio.project, call.request.path_params["token"]
    crowd = {name: call.text(name, "", longest=200) for name in project.crowd.parameters if call.data.get(name)}
    invitation = await studio.read(partial(people.find_invitation, token=token))
    owner = invitation.kind == "owner"
    if project.consent and not owner and call.data.get("consent") != "yes":
        raise Refusal(422, "consent", "Taking part needs your consent. Go back, read the text and tick the box.")
    session = await studio.write(lambda connection: people.accept(connection, project, studio.secret, token, crowd))
    response = studio.redirect("/owner" if owner else "/work")
    _set_cookie(call, response, OWNER_COOKIE if owner else SESSION_COOKIE, session, int(people.SESSION_SECONDS))
    return response


async def end_session(call: Call) -> Response:
    """End this session."""
    session = call.person.session
    await call.studio.write(
        lambda connection: connection.execute(delete(schema.session).where(schema.session.c.token_hash == session))
    )
    response = call.studio.redirect("/")
    response.delete_cookie(
        OWNER_COOKIE if call.person.role == "owner" else SESSION_COOKIE, path=call.studio.address.base or "/"
    )
    return response


def _set_cookie(call: Call, response: Response, name: str, value: str, seconds: int) -> None:
    path, secure = call.studio.address.base or "/", call.studio.address.secure
    # In a platform's frame our cookies are a third party's, and only this kind is sent there.
    site: Literal["none", "lax"] = "none" if secure and call.studio.project.crowd.frame else "lax"
    response.set_cookie(name, value, max_age=seconds, path=path, secure=secure, httponly=True, samesite=site)


_KEY = re.compile(r"[A-Za-z0-9_\-]{8,64}")
_REVIEWED = 20
_MOST_POINTS = 11


async def work_page(call: Call) -> Response:
    """The page on which all work is done."""
    return call.page("work.html", about=_about(call), preview=False)


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

    def work(connection: Connection) -> tuple[assignments.Claim, people.Outcome | None]:
        if person.state in ("left", "excluded"):
            claimed = assignments.Claim((), "left", assignments.answered(connection, person.id), None, 0)
            return claimed, person.outcome if person.state == "left" else None
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


async def stop_work(call: Call) -> Response:
    """Stop for good: one's answers stay, or go as well; and the code that this has earned."""
    studio, person = call.studio, call.person
    project, withdraw = studio.project, call.data.get("withdraw") is True

    def work(connection: Connection) -> tuple[int, people.Outcome]:
        count, done = assignments.answered(connection, person.id), assignments.done(connection, person.id)
        if withdraw:
            people.erase(connection, person.pseudonym, by=person.pseudonym, action="withdraw")
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
        told = assignments.submit(connection, call.studio.project, call.person.id, assignment_id, **sent)
        return told, assignments.answered(connection, call.person.id)

    told, count = await call.studio.write(work)
    response = reply(told, 201)
    response.headers["x-studio-answered"] = str(count)  # Not in the body, which is the same for every repetition.
    return response


async def draft(call: Call) -> Response:
    """Keep unfinished work."""
    number, payload = integer(call.data.get("assignment"), "assignment"), call.data.get("payload")
    await call.studio.write(lambda connection: assignments.save_draft(connection, call.person.id, number, payload))
    return reply({"assignment": number, "saved": True})


async def more_time(call: Call) -> Response:
    """Extend the lease of an item that somebody is still thinking about."""
    number, now = integer(call.data.get("assignment"), "assignment"), time.time()

    def work(connection: Connection) -> float:
        row = assignments.own_assignment(connection, call.person.id, number)
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
            {**assignments.present(connection, call.studio.project, row.id), "answer": assignments.public(row.payload)}
            for row in connection.execute(latest).all()
        ]

    return reply({"items": await call.studio.read(work)})


def _identity(call: Call) -> dict[str, Any]:
    return {"rater": call.person.pseudonym, "token": call.studio.page_token(call.person.session)}


def _about(call: Call) -> dict[str, Any]:
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
        told["labels"] = list(labels().values())
    else:
        told["ranking"] = to_builtins(project.ranking)
    return told


_MAIN, _TRAINING = 8, 2


async def preview_page(call: Call) -> Response:
    """The work page, whose calls come here."""
    about = _about(call)
    about |= {"base": f"{call.studio.address.base}/preview", "preview": True, "rater": "preview"}
    return call.page("work.html", about=about, preview=True)


async def preview_me(call: Call) -> Response:
    """As for a rater."""
    return reply({"rater": "preview", "token": call.studio.page_token(call.person.session)})


async def preview_claim(call: Call) -> Response:
    """The first practice items and the first of the study's, all of them at once."""
    project = call.studio.project

    def read(connection: Connection) -> list[dict[str, Any]]:
        return [
            assignments.shown(project, row, list(range(len(json.loads(row.outputs))))) for row in _first(connection)
        ]

    have = call.data.get("have", [])
    seen = {integer(number, "have") for number in (have if isinstance(have, list) else [])}
    last = max(seen, default=0)  # What was answered is not sent again: items are numbered in the order of the page.
    items = await call.studio.read(read)
    items = [{**shown, "assignment": number} for number, shown in enumerate(items, 1) if number > last]
    told = {"items": items, "state": "finished", "answered": 0, "total": len(items) + last, "now": time.time()}
    return reply({**told, "seconds": await call.studio.seconds_each(), "code": "PREVIEW"})


async def preview_answer(call: Call) -> Response:
    """Check an answer as a real one is checked, and forget it."""
    number, project = integer(call.data.get("assignment"), "assignment"), call.studio.project

    def read(connection: Connection) -> Any:
        rows = _first(connection)
        return rows[number - 1] if 0 < number <= len(rows) else None

    row = await call.studio.read(read)
    if row is None:
        raise Refusal(404, "unknown", "This item is not one of yours.")
    texts = assignments.laid_out(row.outputs, "[0]")
    whole = {"source": row.source, "output": texts[0]["text"], "tokens": row.tokens}
    checked = tasks.check(project, call.data.get("payload"), whole, len(json.loads(row.outputs)))
    told: dict[str, Any] = {"assignment": number, "entry": 0, "revision": 1, "late": False}
    if row.kind == "training":
        told["feedback"] = assignments.feedback(project, checked, row)
    return reply(told, 201)


async def preview_nothing(call: Call) -> Response:
    """What a rater's page may ask for and a preview does not have."""
    return reply({"items": [], "saved": False})


def _first(connection: Connection) -> list[Any]:
    parts = (("training", _TRAINING), ("main", _MAIN))
    chosen = [
        select(schema.item).where(schema.item.c.kind == kind).order_by(schema.item.c.place).limit(most)
        for kind, most in parts
    ]
    return [row for statement in chosen for row in connection.execute(statement).all()]
