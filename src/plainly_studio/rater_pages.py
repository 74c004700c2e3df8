"""The pages of a rater: the invitation, the work page and its script's requests; and the owner's preview of them."""

import json
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from msgspec import to_builtins
from sqlalchemy import Connection, Row, delete, select, update
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from plainly_studio import assignments, people, schema, tasks
from plainly_studio.context import COOKIES, HERE, Call, parse_integer, read_words, reply
from plainly_studio.paragraphs import align_paragraphs
from plainly_studio.project import Project
from plainly_studio.store import InvalidField, Part, Refusal, log_event

_NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk sends while a worker only looks
_KEY = re.compile(r"[A-Za-z0-9_\-]{8,64}")
_REVIEW_ITEMS = 20
_MOST_POINTS = 11
_STATIC = StaticFiles(directory=HERE / "static")


async def start(call: Call) -> Response:
    """Redirect to the visitor's own page, or explain how to get one."""
    if call.visitor is None:
        return call.studio.page("welcome.html")
    return call.studio.redirect("/owner" if call.visitor.role == "owner" else "/work")


async def health(call: Call) -> Response:
    """Report to proxies and supervisors whether something can be written."""
    await call.studio.prove_writable()
    return reply({"status": "ok"})


async def static(call: Call) -> Response:
    """Return a script or style of the page."""
    response = await _STATIC.get_response(call.request.path_params["name"], call.request.scope)
    response.headers["cache-control"] = "no-cache"
    return response


async def show_invitation(call: Call) -> Response:
    """Show the invitation and the button; looking at it uses nothing up."""
    return await _join_page(call, people.read_ids(call.studio.project, call.data))


async def _join_page(call: Call, crowd: dict[str, str], *, status: int = 200, notice: str = "") -> Response:
    studio, project, token = call.studio, call.studio.project, call.request.path_params["token"]
    is_preview = crowd.get("assignmentId") == _NOT_ACCEPTED

    def work(connection: Connection) -> tuple[people.Visit | None, dict[str, int]]:
        options = {"session_token": call.request.cookies.get(COOKIES["rater"], "")}
        people.find_invitation(connection, token)
        visit = None if is_preview else people.recognise(connection, project, studio.secret, token, crowd, **options)
        return visit, people.workload(connection, project, studio.seconds_per_item(connection))

    visit, workload = await studio.read(work)
    is_known = visit is not None and visit.person is not None
    cookie = call.request.cookies.get(COOKIES["visitor"]) or secrets.token_urlsafe(24)
    page = studio.page(
        "join.html",
        status=status,
        token=token,
        page_token=studio.page_token(cookie),
        crowd=crowd,
        workload=workload,
        promised=people.announces_number(project),
        owner=visit is not None and visit.invitation.kind == "owner",
        crowd_link=visit is not None and visit.invitation.kind == "crowd",
        has_id=visit is not None and visit.key is not None,
        known=is_known,
        sure=visit is not None and visit.is_sure,
        preview=is_preview,
        notice=notice,
    )
    _set_cookie(call, page, "visitor", cookie, 3600)
    return page


async def accept_invitation(call: Call) -> Response:
    """Check the consent and begin a session."""
    studio, project, token = call.studio, call.studio.project, call.request.path_params["token"]
    crowd = people.read_ids(project, {name: call.text(name, "") for name in project.crowd.parameters})
    own = {"session_token": call.request.cookies.get(COOKIES["rater"], ""), "code": call.text("code", "", longest=40)}
    announced = call.integer("announced") if "announced" in call.data else None

    def work(connection: Connection) -> tuple[str, bool]:
        visit = people.recognise(connection, project, studio.secret, token, crowd, **own)
        is_owner = visit.invitation.kind == "owner"
        if project.consent and not is_owner and visit.person is None and call.data.get("consent") != "yes":
            raise Refusal(422, "consent", "Taking part needs your consent. Go back, read the text and tick the box.")
        session = people.accept(connection, project, studio.secret, token, crowd, announced=announced, **own)
        return session, is_owner

    try:
        session, is_owner = await studio.write(work)
    except Refusal as refusal:
        if refusal.body["error"] not in ("known", "code", "fewer"):
            raise
        sentences = read_words(project.language)["refused"]
        return await _join_page(call, crowd, status=refusal.status, notice=sentences[refusal.body["error"]])
    response = studio.redirect("/owner" if is_owner else "/work")
    _set_cookie(call, response, "owner" if is_owner else "rater", session, int(people.SESSION_SECONDS))
    return response


async def end_session(call: Call) -> Response:
    """End this session."""
    table = schema.session
    statement = delete(table).where(table.c.token_hash == call.person.session)
    response = await call.change(lambda connection: connection.execute(statement), "/")
    response.delete_cookie(COOKIES[call.person.role], path=call.studio.address.base or "/")
    return response


def _set_cookie(call: Call, response: Response, role: str, value: str, seconds: int) -> None:
    path, secure = call.studio.address.base or "/", call.studio.address.secure
    # In a platform's frame our cookies are third-party cookies, and only this kind is sent there.
    site: Literal["none", "lax"] = "none" if secure and call.studio.project.crowd.frame else "lax"
    response.set_cookie(COOKIES[role], value, max_age=seconds, path=path, secure=secure, httponly=True, samesite=site)


async def work_page(call: Call) -> Response:
    """Show the page on which all work is done; an owner sees a preview."""
    studio, person, code = call.studio, call.person, ""
    if not _is_preview(call) and await studio.read(partial(people.is_of_crowd, person=person)):
        code = people.return_code(studio.secret, person.pseudonym)
    return call.page("work.html", about=_page_settings(call), preview=_is_preview(call), return_code=code)


async def me(call: Call) -> Response:
    """Return the page's rater and token; the script asks again when a session has ended and a new one begun."""
    return reply(_identity(call))


async def claim(call: Call) -> Response:
    """Return items to work on."""
    studio, person, project = call.studio, call.person, call.studio.project
    _read_on_screen(call)  # An impossible number is refused here, alone.
    wish = _Wish(call, project, min(call.integer("want", 1), project.assignment.ahead), _read_have(call))
    claim, outcome, seconds = await studio.write(Part(_claim_all, wish, person.id))
    items = await _add_rows(call, claim.items)
    content: dict[str, Any] = {"now": time.time(), "seconds": seconds, **asdict(claim), "items": items}
    if outcome is not None:
        content |= people.final_page(project, studio.secret, person, outcome)
    if claim.state == "finished" and outcome == "returned":
        content["state"] = "declined" if claim.done else "full"
    return reply(content)


@dataclass(frozen=True)
class _Wish:
    """What a rater's page asks for."""

    call: Call
    project: Project
    want: int
    have: Sequence[int]


def _claim_all(
    connection: Connection, wishes: Sequence[_Wish]
) -> list[tuple[assignments.Claim, people.Outcome | None, float]]:
    """Hand out items to several raters; return what each gets, the outcome of the work and the seconds for an item."""
    studio, project, now = wishes[0].call.studio, wishes[0].project, time.time()
    seconds = studio.seconds_per_item(connection)
    _mark_shown(connection, [wish.call for wish in wishes if _final_state(wish.call.person) is None])
    raters = [wish.call.person.id for wish in wishes]
    histories = assignments.read_histories(connection, project, raters, now)
    results: list[tuple[assignments.Claim, people.Outcome | None, float]] = []
    for wish in wishes:
        person, history = wish.call.person, histories[wish.call.person.id]
        if (state := _final_state(person)) is not None:
            outcome = person.outcome or people.end_work(connection, project, person)
            claim = assignments.Claim((), state, history.answered, None, history.main, history.declined)
            results.append((claim, outcome, seconds))
            continue
        claim = assignments.claim(
            connection, project, person.id,
            want=wish.want, have=wish.have, now=now, promised=person.promised, history=history,
        )  # fmt: skip
        earned = people.outcome_of(project, claim.state, claim.done, claim.declined, person.promised)
        if earned is not None:
            people.record_outcome(connection, person.id, earned)
        results.append((claim, earned, seconds))
    return results


def _mark_shown(connection: Connection, calls: Sequence[Call]) -> None:
    """Store which items are on the screens of raters."""
    items = [(call.person.id, number) for call in calls if (number := _read_on_screen(call)) is not None]
    assignments.mark_shown(connection, items, time.time())


def _final_state(person: people.Person) -> str | None:
    """Return the last state of somebody who gets no more items; None for everyone else."""
    if person.state in ("left", "excluded"):
        return "left" if person.state == "left" else "ended"
    if person.outcome == "screened-out":
        return "failed"
    return "finished" if person.outcome == "complete" and person.promised is not None else None


async def _add_rows(call: Call, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add aligned paragraphs to items that are documents."""
    if call.studio.project.task != "rating" or not any("\n" in item["source"] for item in items):
        return list(items)

    def work() -> list[dict[str, Any]]:
        return [{**item, "rows": align_paragraphs(item["source"], item["outputs"][0])} for item in items]

    return await run_in_threadpool(work)


def _read_have(call: Call) -> list[int]:
    """Return the numbers of the items that the page has already."""
    have = call.data.get("have", [])
    if not isinstance(have, list) or len(have) > 100:
        raise InvalidField("have", "have must be a list.")
    return [parse_integer(number, "have") for number in have]


async def stop_work(call: Call) -> Response:
    """End a rater's work for good, with or without deleting the answers; return the code that it has earned."""
    studio, person = call.studio, call.person
    project, withdraw = studio.project, call.data.get("withdraw") is True

    def work(connection: Connection) -> tuple[int, people.Outcome]:
        if withdraw:
            return people.withdraw(connection, project, person)
        outcome = people.end_work(connection, project, person)
        connection.execute(update(schema.rater).where(schema.rater.c.id == person.id).values(state="left"))
        log_event(connection, person.pseudonym, "leave", {"outcome": outcome})
        return assignments.read_history(connection, project, person.id).answered, outcome

    count, outcome = await studio.write(work)
    code = people.final_page(project, studio.secret, person, outcome)
    return reply({"state": "withdrawn" if withdraw else "left", "answered": count, **code})


async def answer(call: Call) -> Response:
    """Store an answer. It is acknowledged when it is on disk."""
    key = call.text("key", longest=64)
    if not _KEY.fullmatch(key):
        raise InvalidField("key", "key must be 8 to 64 letters and digits.")
    number, revision = call.integer("assignment"), call.integer("revision")
    times = {name: _read_seconds(call, name) for name in ("waited", "hidden")}
    payload, counts = call.data.get("payload"), call.person.state != "excluded"
    submission = assignments.Submission(call.person.id, number, key, revision, payload, **times, counts=counts)
    _read_on_screen(call)  # An impossible number is refused here, alone.
    receipt = await call.studio.write(Part(_submit_all, (call, submission), call.person.id))
    response = reply(receipt.content, 201)
    # Not in the body, which is the same for every repetition.
    response.headers["x-studio-answered"] = str(receipt.answers)
    return response


def _submit_all(
    connection: Connection, sent: Sequence[tuple[Call, assignments.Submission]]
) -> list[assignments.Receipt]:
    """Store answers of several raters."""
    project = sent[0][0].studio.project
    receipts = assignments.submit_all(connection, project, [submission for _, submission in sent])
    _mark_shown(connection, [call for call, _ in sent])
    people.settle(
        connection, project, [call.person for (call, _), one in zip(sent, receipts, strict=True) if not one.leases]
    )
    return receipts


def _read_on_screen(call: Call) -> int | None:
    """Return the number of the item that is on the screen, which comes with other messages."""
    return call.integer("shown") if "shown" in call.data else None


def _read_seconds(call: Call, name: str) -> float:
    """Return a duration that the page reports; a negative one is 0."""
    seconds = call.data.get(name, 0.0)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not abs(seconds) < 1e15:
        raise InvalidField(name, f"{name} must be a number of seconds.")
    return max(float(seconds), 0.0)


async def draft(call: Call) -> Response:
    """Store unfinished work."""
    number, payload = call.integer("assignment"), call.data.get("payload")
    await call.studio.write(lambda connection: assignments.save_draft(connection, call.person.id, number, payload))
    return reply({"assignment": number, "saved": True})


async def more_time(call: Call) -> Response:
    """Extend the lease of an item on which a rater is still working."""
    number, project, rater_id = call.integer("assignment"), call.studio.project, call.person.id
    until = await call.studio.write(lambda connection: assignments.extend_lease(connection, project, rater_id, number))
    return reply({"assignment": number, "expires_at": until})


async def list_answers(call: Call) -> Response:
    """Return the rater's latest answers, newest first, to look at and to change."""
    assignment, entry, project = schema.assignment, schema.entry, call.studio.project
    latest = (
        select(assignment.c.item_id, entry.c.payload)
        .join(entry, (entry.c.assignment_id == assignment.c.id) & (entry.c.revision == assignment.c.revision))
        .where(assignment.c.rater_id == call.person.id, assignment.c.state.in_(("done", "declined")))
        .order_by(entry.c.id.desc())
        .limit(_REVIEW_ITEMS)
    )

    def work(connection: Connection) -> list[dict[str, Any]]:
        answers = {row.item_id: assignments.without_systems(row.payload) for row in connection.execute(latest)}
        items = assignments.present_own(connection, project, call.person.id, list(answers))
        return [{**item, "answer": answer} for item, answer in zip(items, answers.values(), strict=True)]

    return reply({"items": await _add_rows(call, await call.studio.read(work))})


def _is_preview(call: Call) -> bool:
    return call.person.role == "owner"


def _identity(call: Call) -> dict[str, Any]:
    rater = "preview" if _is_preview(call) else call.person.pseudonym
    return {"rater": rater, "token": call.studio.page_token(call.person.session)}


def _page_settings(call: Call) -> dict[str, Any]:
    project = call.studio.project
    words = read_words(project.language)
    settings: dict[str, Any] = {
        **_identity(call),
        "base": call.studio.address.base + ("/preview" if _is_preview(call) else ""),
        "preview": _is_preview(call),
        "words": words["page"] | {f"refused_{code}": sentence for code, sentence in words["refused"].items()},
        "task": project.task,
        "ahead": project.assignment.ahead,
        "comments": project.comments,
        "cannotJudge": project.cannot_judge,
        "direction": project.direction,
        "timeLimit": project.quality.time_limit_seconds,
    }
    if project.task == "rating":
        settings["scales"] = [
            {**to_builtins(scale), "points": scale.points if len(scale.points) <= _MOST_POINTS else []}
            for scale in project.scales
        ]
    elif project.task == "operations":
        settings["labels"] = list(tasks.labels().values())
    else:
        settings["ranking"] = to_builtins(project.ranking)
    return settings


async def preview_claim(call: Call) -> Response:
    """Return the first practice items and the first items of the study, all at once."""
    project = call.studio.project
    last = max(_read_have(call), default=0)  # Items are numbered in the order of the page; these were answered.

    def read(connection: Connection) -> tuple[list[dict[str, Any]], float]:
        rows = _preview_rows(connection)
        items = [assignments.page_item(project, row, range(len(json.loads(row.outputs)))) for row in rows]
        return items, call.studio.seconds_per_item(connection)

    items, seconds = await call.studio.read(read)
    items = await _add_rows(call, items)
    constant = {"revision": 0, "expires_at": 1e12, "draft": None}
    new = [{**item, **constant, "assignment": number} for number, item in enumerate(items, 1) if number > last]
    content = {"items": new, "state": "finished", "answered": 0, "total": max(len(items), last), "now": time.time()}
    return reply({**content, "seconds": seconds, "code": "PREVIEW"})


async def preview_answer(call: Call) -> Response:
    """Check an answer like a rater's, and store nothing."""
    number, project = call.integer("assignment"), call.studio.project
    rows = await call.studio.read(_preview_rows)
    if not 0 < number <= len(rows):
        raise Refusal(404, "unknown", "This item is not one of yours.")
    row = rows[number - 1]
    outputs = json.loads(row.outputs)
    texts = {"source": row.source, "output": outputs[0]["text"], "tokens": row.tokens}
    payload = tasks.check(project, call.data.get("payload"), texts, len(outputs))
    if "best" in (choice := payload.get("choice", {})):
        choice["best_system"] = outputs[choice["best"]]["system"]
    content: dict[str, Any] = {"assignment": number, "entry": 0, "revision": 1, "late": False}
    return reply({**content, **assignments.feedback(project, payload, row, range(len(outputs)))}, 201)


async def preview_nothing(call: Call) -> Response:
    """Return nothing for the requests that a preview does not support."""
    return reply({"items": [], "saved": False})


def _preview_rows(connection: Connection) -> list[Row[Any]]:
    table = schema.item
    statements = [
        select(table).where(table.c.kind == kind).order_by(table.c.place).limit(most)
        for kind, most in (("training", 2), ("main", 8))
    ]
    return [row for statement in statements for row in connection.execute(statement).all()]
