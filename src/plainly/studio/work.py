"""What a rater's page asks for: the next items, a place for the answers, and the answers given before."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, select
from starlette.responses import Response

from plainly.studio import answers, assign, labels, people, schema
from plainly.studio.context import Call, reply
from plainly.studio.guard import integer
from plainly.studio.project import Project
from plainly.studio.refusal import Refusal

_KEY = re.compile(r"[A-Za-z0-9_\-]{8,64}")
_REVIEWED = 20


async def page(call: Call) -> Response:
    """The page on which all work is done."""
    return call.studio.page("work.html", about=_about(call), task=call.studio.project.task)


async def me(call: Call) -> Response:
    """Who the page belongs to, and a token for it; asked again after a session ended and a new one began."""
    return reply(_identity(call))


async def claim(call: Call) -> Response:
    """Items to work on."""
    studio, person = call.studio, call.person
    want = min(integer(call.data.get("want", 1), "want"), studio.project.assignment.ahead)
    have = call.data.get("have", [])
    if not isinstance(have, list) or len(have) > 100:
        raise Refusal(422, "invalid", "have must be a list.", field="have")
    numbers = [integer(number, "have") for number in have]
    claimed = await studio.write(
        lambda connection: assign.claim(connection, studio.project, person.id, want=want, have=numbers, now=time.time())
    )
    told = asdict(claimed)
    if claimed.state == "finished":
        code = people.completion_code(studio.project, studio.secret, person.pseudonym)
        told["code"] = code
        told["completion_url"] = studio.project.crowd.completion_url.replace("{code}", code)
    return reply(told)


async def answer(call: Call) -> Response:
    """Store an answer. It is acknowledged when it is on disk."""
    studio, person = call.studio, call.person
    key = call.text("key", longest=64)
    if not _KEY.fullmatch(key):
        raise Refusal(422, "invalid", "key must be 8 to 64 letters and digits.", field="key")
    assignment_id = integer(call.data.get("assignment"), "assignment")
    revision = integer(call.data.get("revision"), "revision")
    seconds = call.data.get("seconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
        raise Refusal(422, "invalid", "seconds must be a number.", field="seconds")

    def work(connection: Connection) -> tuple[dict[str, Any], int]:
        told = answers.submit(
            connection,
            studio.project,
            person.id,
            assignment_id,
            key=key,
            revision=revision,
            payload=call.data.get("payload"),
            seconds=None if seconds is None else min(max(float(seconds), 0.0), 1e7),
            now=time.time(),
        )
        return told, assign.answered(connection, person.id)

    told, count = await studio.write(work)
    response = reply(told, 201)
    response.headers["x-studio-answered"] = str(count)  # Not in the body, which is the same for every repetition.
    return response


async def draft(call: Call) -> Response:
    """Keep unfinished work."""
    assignment_id = integer(call.data.get("assignment"), "assignment")
    return reply(
        await call.studio.write(
            lambda connection: answers.save_draft(
                connection, call.person.id, assignment_id, payload=call.data.get("payload"), now=time.time()
            )
        )
    )


async def more_time(call: Call) -> Response:
    """Extend the lease of an item that somebody is still thinking about."""
    assignment_id = integer(call.data.get("assignment"), "assignment")
    studio, now = call.studio, time.time()

    def work(connection: Any) -> float:
        row = answers.own_assignment(connection, call.person.id, assignment_id)
        return assign.extend(connection, studio.project, row, now)

    return reply({"assignment": assignment_id, "expires_at": await studio.write(work)})


async def answered(call: Call) -> Response:
    """The latest answers of this rater, newest first, to look at and to change."""
    studio, person = call.studio, call.person

    def work(connection: Any) -> list[dict[str, Any]]:
        table, entry = schema.assignment, schema.entry
        rows = connection.execute(
            select(table.c.id, entry.c.payload)
            .join(entry, (entry.c.assignment_id == table.c.id) & (entry.c.revision == table.c.revision))
            .where(table.c.rater_id == person.id, table.c.state == "done")
            .order_by(entry.c.id.desc())
            .limit(_REVIEWED)
        ).all()
        return [
            {**assign.present(connection, studio.project, row.id), "answer": answers.public(row.payload)}
            for row in rows
        ]

    return reply({"items": await studio.read(work)})


def _identity(call: Call) -> dict[str, Any]:
    person = call.person
    return {"rater": person.pseudonym, "token": call.studio.page_token(person.session)}


def _about(call: Call) -> dict[str, Any]:
    project: Project = call.studio.project
    about: dict[str, Any] = {
        **_identity(call),
        "base": call.studio.address.base,
        "task": project.task,
        "ahead": project.assignment.ahead,
        "comments": project.comments,
        "cannotJudge": project.cannot_judge,
        "direction": project.direction,
        "timeLimit": project.quality.time_limit_seconds,
    }
    if project.task == "rating":
        about["scales"] = [
            {
                "name": scale.name,
                "question": scale.question,
                "points": list(scale.points) if len(scale.points) <= 11 else [],
                "minimum": scale.minimum,
                "maximum": scale.maximum,
                "step": scale.step,
                "low": scale.low,
                "high": scale.high,
            }
            for scale in project.scales
        ]
    elif project.task == "operations":
        about["labels"] = labels.for_page()
    else:
        ranking = project.ranking
        about["ranking"] = {"method": ranking.method, "ties": ranking.ties, "question": ranking.question}
    return about
