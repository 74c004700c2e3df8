"""What an owner sees and does: the live figures, the people, the disagreements, the exports, the trail."""

from __future__ import annotations

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
from plainly.studio.refusal import Refusal
from plainly.studio.store import note

_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "aln": "application/zip",
    "entries.jsonl": "application/jsonl",
}


async def page(call: Call) -> Response:
    """The dashboard; its script asks for the figures."""
    token = call.studio.page_token(call.person.session)
    stopped = await call.studio.read(_stopped)
    return call.studio.page("owner.html", page_token=token, stopped=stopped, formats=exports.FORMATS, here="owner")


async def live(call: Call) -> Response:
    """The figures."""
    return reply(await call.studio.compute(figures.overview))


async def people_page(call: Call) -> Response:
    """Who was invited, who came, and the form for another link."""
    return await _people(call)


async def _people(call: Call, link: str = "") -> Response:
    def work(connection: Connection) -> tuple[list[Any], list[Any]]:
        invitations = connection.execute(
            select(schema.invitation, schema.rater.c.pseudonym)
            .outerjoin(schema.rater, schema.rater.c.id == schema.invitation.c.rater_id)
            .order_by(schema.invitation.c.id)
        ).all()
        counted = (
            select(schema.entry.c.rater_id, func.count(schema.entry.c.assignment_id.distinct()).label("answers"))
            .group_by(schema.entry.c.rater_id)
            .subquery()
        )
        raters = connection.execute(
            select(schema.rater, counted.c.answers)
            .outerjoin(counted, counted.c.rater_id == schema.rater.c.id)
            .where(schema.rater.c.role == "rater")
            .order_by(schema.rater.c.id)
        ).all()
        return list(invitations), list(raters)

    invitations, raters = await call.studio.read(work)
    studio = call.studio
    token = studio.page_token(call.person.session)
    codes = {row.pseudonym: people.completion_code(studio.project, studio.secret, row.pseudonym) for row in raters}
    shown: dict[str, Any] = {"invitations": invitations, "raters": raters, "codes": codes, "link": link, "day": _day}
    return studio.page("people.html", page_token=token, here="people", **shown)


async def invite(call: Call) -> Response:
    """Make a link and show it, once."""
    wanted, by = call.text("kind"), call.person.pseudonym
    label = call.text("label", "", longest=200)
    once: dict[people.InvitationKind, bool] = {
        "person": call.data.get("once") == "yes", "crowd": False, "owner": True,
    }  # fmt: skip
    kind = next((kind for kind in once if kind == wanted), None)
    if kind is None:
        raise Refusal(422, "invalid", "A link is for a person, a crowd or an owner.", field="kind")
    token = await call.studio.write(
        lambda connection: people.invite(connection, kind, label=label, once=once[kind], by=by)
    )
    origin = call.studio.address.origin(call.request) or ""
    return await _people(call, f"{origin}{call.studio.address.base}/join/{token}")


async def revoke(call: Call) -> Response:
    """End a link and its sessions."""
    number = integer(call.data.get("invitation"), "invitation")
    by = call.person.pseudonym
    await call.studio.write(lambda connection: people.revoke(connection, number, by=by))
    return call.studio.redirect("/owner/people")


async def remove(call: Call) -> Response:
    """End a person's access. What they answered stays, as everything does."""
    pseudonym = call.text("rater", longest=64)
    by = call.person.pseudonym

    def work(connection: Connection) -> None:
        row = connection.execute(
            update(schema.rater)
            .where(schema.rater.c.pseudonym == pseudonym, schema.rater.c.role == "rater")
            .values(state="removed")
            .returning(schema.rater.c.id)
        ).first()
        if row is None:
            raise Refusal(404, "unknown", "There is no such rater.")
        connection.execute(delete(schema.session).where(schema.session.c.rater_id == row.id))
        note(connection, by, "remove", {"rater": pseudonym})

    await call.studio.write(work)
    return call.studio.redirect("/owner/people")


async def stop(call: Call) -> Response:
    """Hand nothing more out, or go on handing out."""
    wanted = call.text("stopped", "yes") == "yes"
    by = call.person.pseudonym

    def work(connection: Connection) -> None:
        connection.execute(delete(schema.about).where(schema.about.c.key == "stopped"))
        if wanted:
            connection.execute(insert(schema.about).values(key="stopped", value=by))
        note(connection, by, "stop" if wanted else "resume")

    await call.studio.write(work)
    return call.studio.redirect("/owner")


async def disagreements_page(call: Call) -> Response:
    """Where raters differ most, with a form to settle each."""
    rows = await call.studio.compute(figures.disagreements)
    settled = await call.studio.read(
        lambda connection: {
            row.item_id: json.loads(row.payload)
            for row in connection.execute(select(schema.adjudication).order_by(schema.adjudication.c.id))
        }
    )
    token = call.studio.page_token(call.person.session)
    return call.studio.page("disagreements.html", page_token=token, rows=rows, settled=settled, here="disagreements")


async def adjudicate(call: Call) -> Response:
    """Settle an item: the owner's own answer, stored beside the raters' and never in their place."""
    number = integer(call.data.get("item"), "item")
    project, person = call.studio.project, call.person
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
        row = connection.execute(select(schema.item).where(schema.item.c.id == number)).first()
        if row is None:
            raise Refusal(404, "unknown", "There is no such item.")
        if project.task == "rating":
            tasks.check(project, payload, {}, 1)
        connection.execute(
            insert(schema.adjudication).values(
                item_id=number, owner_id=person.id, payload=json.dumps(payload), created_at=time.time()
            )
        )
        note(connection, person.pseudonym, "adjudicate", {"item": number})

    await call.studio.write(work)
    return call.studio.redirect("/owner/disagreements")


async def trail_page(call: Call) -> Response:
    """Who did what, when."""
    rows = await call.studio.read(
        lambda connection: connection.execute(select(schema.event).order_by(schema.event.c.id.desc()).limit(500)).all()
    )
    return call.studio.page("trail.html", rows=rows, day=_day, here="trail")


async def export(call: Call) -> Response:
    """The data as it is now."""
    name = call.request.path_params["name"]
    if name not in exports.FORMATS:
        raise Refusal(404, "unknown", f"There is no such export. There are: {', '.join(exports.FORMATS)}.")
    by = call.person.pseudonym
    await call.studio.write(lambda connection: note(connection, by, "export", {"format": name}))
    try:
        content = await call.studio.compute(lambda ledger, project: exports.write(ledger, project, name))
    except MissingExtra as error:
        raise Refusal(501, "extra", str(error)) from None
    ending = "zip" if name == "aln" else name
    headers = {"content-disposition": f'attachment; filename="studio.{ending}"'}
    return Response(content, media_type=_MEDIA[name], headers=headers)


async def backup(call: Call) -> Response:
    """A copy of the SQLite database, whole and consistent, while everybody goes on working."""
    store, by = call.studio.store, call.person.pseudonym
    if not store.sqlite:
        raise Refusal(409, "postgresql", "Back PostgreSQL up with pg_dump.")
    await call.studio.write(lambda connection: note(connection, by, "backup"))

    def copy() -> bytes:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "studio.db"
            store.copy_to(path)
            return path.read_bytes()

    content = await run_in_threadpool(copy)
    headers = {"content-disposition": 'attachment; filename="studio.db"'}
    return Response(content, media_type="application/vnd.sqlite3", headers=headers)


async def watch(studio: Studio, *, every: float = 30.0) -> None:
    """Look again and again whether the stop rule on precision is met, and stop then."""
    while True:
        await asyncio.sleep(every)
        if await studio.compute(figures.enough) and not await studio.read(_stopped):

            def work(connection: Connection) -> None:
                connection.execute(insert(schema.about).values(key="stopped", value="precision reached"))
                note(connection, "stop rule", "stop", {"half_width": studio.project.stop.half_width})

            await studio.write(work)
            return


def _stopped(connection: Connection) -> str | None:
    return connection.execute(select(schema.about.c.value).where(schema.about.c.key == "stopped")).scalar()


def _day(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else ""
