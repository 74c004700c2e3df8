"""What an owner sees and does: the live figures, the people, the disagreements, the exports, the trail."""

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from plainly.errors import MissingExtra
from plainly.studio import exports, people, schema, tasks
from plainly.studio import live as figures
from plainly.studio.context import Call, Studio, reply
from plainly.studio.guard import integer
from plainly.studio.refusal import Refusal, invalid
from plainly.studio.store import note

_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "aln": "application/zip",
    "entries.jsonl": "application/jsonl",
    "db": "application/vnd.sqlite3",
}


async def page(call: Call) -> Response:
    """The dashboard; its script asks for the figures."""
    stopped = await call.studio.read(_stopped)
    return call.page("owner.html", stopped=stopped, formats=exports.FORMATS, here="owner")


async def live(call: Call) -> Response:
    """The figures."""
    return reply(await call.studio.compute(figures.overview))


async def people_page(call: Call, link: str = "") -> Response:
    """Who was invited, who came, and the form for another link."""
    rater, invitation, entry = schema.rater, schema.invitation, schema.entry
    invited = select(invitation, rater.c.pseudonym).outerjoin(rater, rater.c.id == invitation.c.rater_id)
    answers = func.count(entry.c.assignment_id.distinct()).label("answers")
    counted = select(entry.c.rater_id, answers).group_by(entry.c.rater_id).subquery()
    came = select(rater, counted.c.answers).outerjoin(counted, counted.c.rater_id == rater.c.id)

    def work(connection: Connection) -> tuple[Any, Any]:
        raters = connection.execute(came.where(rater.c.role == "rater").order_by(rater.c.id)).all()
        return connection.execute(invited.order_by(invitation.c.id)).all(), raters

    studio = call.studio
    invitations, raters = await studio.read(work)
    codes = {row.pseudonym: people.completion_code(studio.project, studio.secret, row.pseudonym) for row in raters}
    shown: dict[str, Any] = {"invitations": invitations, "raters": raters, "codes": codes, "link": link, "day": _day}
    return call.page("people.html", here="people", **shown)


async def invite(call: Call) -> Response:
    """Make a link and show it, once."""
    wanted, by = call.text("kind"), call.person.pseudonym
    label = call.text("label", "", longest=200)
    once: dict[people.InvitationKind, bool] = {
        "person": call.data.get("once") == "yes", "crowd": False, "owner": True,
    }  # fmt: skip
    kind = next((kind for kind in once if kind == wanted), None)
    if kind is None:
        raise invalid("kind", "A link is for a person, a crowd or an owner.")
    token = await call.studio.write(
        lambda connection: people.invite(connection, kind, label=label, once=once[kind], by=by)
    )
    origin = call.studio.address.origin(call.request) or ""
    return await people_page(call, f"{origin}{call.studio.address.base}/join/{token}")


async def revoke(call: Call) -> Response:
    """End a link and its sessions."""
    number = integer(call.data.get("invitation"), "invitation")

    def work(connection: Connection) -> None:
        people.revoke(connection, number)
        call.note(connection, "revoke", invitation=number)

    return await call.change(work, "/owner/people")


async def remove(call: Call) -> Response:
    """End a person's access. What they answered stays, as everything does."""
    pseudonym, rater = call.text("rater", longest=64), schema.rater

    def work(connection: Connection) -> None:
        removed = update(rater).where(rater.c.pseudonym == pseudonym, rater.c.role == "rater").values(state="removed")
        row = connection.execute(removed.returning(rater.c.id)).first()
        if row is None:
            raise Refusal(404, "unknown", "There is no such rater.")
        connection.execute(delete(schema.session).where(schema.session.c.rater_id == row.id))
        call.note(connection, "remove", rater=pseudonym)

    return await call.change(work, "/owner/people")


async def stop(call: Call) -> Response:
    """Hand nothing more out, or go on handing out."""
    wanted = call.text("stopped", "yes") == "yes"

    def work(connection: Connection) -> None:
        connection.execute(delete(schema.about).where(schema.about.c.key == "stopped"))
        if wanted:
            connection.execute(insert(schema.about).values(key="stopped", value=call.person.pseudonym))
        call.note(connection, "stop" if wanted else "resume")

    return await call.change(work, "/owner")


async def disagreements_page(call: Call) -> Response:
    """Where raters differ most, with a form to settle each."""
    rows = await call.studio.compute(figures.disagreements)
    decisions = await call.studio.compute(lambda ledger, project: ledger.adjudications())
    settled = {unit.id: payload for unit, payload, _ in decisions}
    return call.page("disagreements.html", rows=rows, settled=settled, here="disagreements")


async def adjudicate(call: Call) -> Response:
    """Settle an item: the owner's own answer, stored beside the raters' and never in their place."""
    number = integer(call.data.get("item"), "item")
    project = call.studio.project
    payload: dict[str, Any] = {}
    if project.task == "rating":
        texts = {scale.name: call.text(f"value.{scale.name}", "").strip() for scale in project.scales}
        try:
            payload["values"] = {name: float(text) if text else None for name, text in texts.items()}
        except ValueError:
            raise Refusal(422, "invalid", "Values must be numbers.") from None
    if comment := call.text("comment", ""):
        payload["comment"] = comment

    def work(connection: Connection) -> None:
        if connection.execute(select(schema.item.c.id).where(schema.item.c.id == number)).first() is None:
            raise Refusal(404, "unknown", "There is no such item.")
        if project.task == "rating":
            tasks.check(project, payload, {}, 1)
        decision = {"item_id": number, "owner_id": call.person.id, "payload": json.dumps(payload)}
        connection.execute(insert(schema.adjudication).values(**decision, created_at=time.time()))
        call.note(connection, "adjudicate", item=number)

    return await call.change(work, "/owner/disagreements")


async def trail_page(call: Call) -> Response:
    """Who did what, when."""
    latest = select(schema.event).order_by(schema.event.c.id.desc()).limit(500)
    rows = await call.studio.read(lambda connection: connection.execute(latest).all())
    return call.studio.page("trail.html", rows=rows, day=_day, here="trail")


async def export(call: Call) -> Response:
    """The data as it is now."""
    name = call.request.path_params["name"]
    if name not in exports.FORMATS:
        raise Refusal(404, "unknown", f"There is no such export. There are: {', '.join(exports.FORMATS)}.")
    await call.studio.write(lambda connection: call.note(connection, "export", format=name))
    try:
        content = await call.studio.compute(lambda ledger, project: exports.write(ledger, project, name))
    except MissingExtra as error:
        raise Refusal(501, "extra", str(error)) from None
    return _attached(content, "zip" if name == "aln" else name, _MEDIA[name])


async def backup(call: Call) -> Response:
    """A copy of the SQLite database, whole and consistent, while everybody goes on working."""
    store = call.studio.store
    if not store.sqlite:
        raise Refusal(409, "postgresql", "Back PostgreSQL up with pg_dump.")
    await call.studio.write(lambda connection: call.note(connection, "backup"))

    def copy() -> bytes:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "studio.db"
            store.copy_to(path)
            return path.read_bytes()

    return _attached(await run_in_threadpool(copy), "db", _MEDIA["db"])


def _attached(content: bytes, ending: str, media: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="studio.{ending}"'}
    return Response(content, media_type=media, headers=headers)


async def watch(studio: Studio, *, every: float = 30.0) -> None:
    """Look again and again whether the stop rule on precision is met, and stop then."""

    def work(connection: Connection) -> None:
        connection.execute(insert(schema.about).values(key="stopped", value="precision reached"))
        note(connection, "stop rule", "stop", {"half_width": studio.project.stop.half_width})

    while True:
        await asyncio.sleep(every)
        if await studio.compute(figures.enough) and not await studio.read(_stopped):
            return await studio.write(work)


def _stopped(connection: Connection) -> str | None:
    return connection.execute(select(schema.about.c.value).where(schema.about.c.key == "stopped")).scalar()


def _day(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else ""
