"""The study as a rater sees it, for its owner: the same page on the same items, and nothing is stored."""

import json
import time
from typing import Any

from sqlalchemy import Connection, select
from starlette.responses import Response

from plainly_studio import answers, assignments, schema, tasks, work
from plainly_studio.context import Call, reply
from plainly_studio.guard import integer
from plainly_studio.refusal import Refusal

_MAIN, _TRAINING = 8, 2
item = schema.item


async def page(call: Call) -> Response:
    """The work page, whose calls come here."""
    about = work.about(call)
    about |= {"base": f"{call.studio.address.base}/preview", "preview": True, "rater": "preview"}
    return call.page("work.html", about=about, preview=True)


async def me(call: Call) -> Response:
    """As for a rater."""
    return reply({"rater": "preview", "token": call.studio.page_token(call.person.session)})


async def claim(call: Call) -> Response:
    """The first practice items and the first of the study's, all of them at once."""
    project = call.studio.project

    def read(connection: Connection) -> list[dict[str, Any]]:
        return [assignments.shown(project, row, list(range(candidates(row)))) for row in _first(connection)]

    have = call.data.get("have", [])
    seen = {integer(number, "have") for number in (have if isinstance(have, list) else [])}
    last = max(seen, default=0)  # What was answered is not sent again: items are numbered in the order of the page.
    items = await call.studio.read(read)
    items = [{**shown, "assignment": number} for number, shown in enumerate(items, 1) if number > last]
    told = {"items": items, "state": "finished", "answered": 0, "total": len(items) + last, "now": time.time()}
    return reply({**told, "seconds": await call.studio.seconds_each(), "code": "PREVIEW"})


async def answer(call: Call) -> Response:
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
    checked = tasks.check(project, call.data.get("payload"), whole, candidates(row))
    told: dict[str, Any] = {"assignment": number, "entry": 0, "revision": 1, "late": False}
    if row.kind == "training":
        told["feedback"] = answers.feedback(project, checked, row)
    return reply(told, 201)


async def nothing(call: Call) -> Response:
    """What a rater's page may ask for and a preview does not have."""
    return reply({"items": [], "saved": False})


def _first(connection: Connection) -> list[Any]:
    parts = (("training", _TRAINING), ("main", _MAIN))
    chosen = [select(item).where(item.c.kind == kind).order_by(item.c.place).limit(most) for kind, most in parts]
    return [row for statement in chosen for row in connection.execute(statement).all()]


def candidates(row: Any) -> int:
    """How many outputs an item shows."""
    return len(json.loads(row.outputs))
