"""What an owner sees and does: the live figures, the people, the disagreements, the exports, the trail."""

import asyncio
import io
import json
import tempfile
import time
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from plainly.core.errors import MissingExtra
from plainly.core.result import Record
from plainly_studio import exports, payment, roster, schema, settings, tasks
from plainly_studio import live as figures
from plainly_studio.context import Call, Studio, day, reply
from plainly_studio.guard import integer
from plainly_studio.ledger import Ledger
from plainly_studio.project import Project
from plainly_studio.refusal import Refusal
from plainly_studio.store import fact, keep_fact, note

_WATCHED = 30.0  # seconds between two looks at the rules
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "aln": "application/zip",
    "entries.jsonl": "application/jsonl",
}


async def page(call: Call) -> Response:
    """The dashboard; its script asks for the figures."""
    stopped = await call.studio.read(partial(fact, key="stopped"))
    told: dict[str, Any] = {"stopped": stopped, "warnings": settings.warnings(call.studio)}
    return call.page("owner.html", formats=exports.FORMATS, here="owner", **told)


async def live(call: Call) -> Response:
    """The figures."""
    return reply(await call.studio.compute(figures.overview))


async def stop(call: Call) -> Response:
    """Hand nothing more out, or go on handing out."""
    wanted = call.text("stopped", "yes") == "yes"

    def work(connection: Connection) -> None:
        keep_fact(connection, "stopped", call.person.pseudonym if wanted else None)
        call.note(connection, "stop" if wanted else "resume")

    return await call.change(work, "/owner")


async def disagreements_page(call: Call) -> Response:
    """Where raters differ most, with a form to settle each; the settled ones apart."""
    rows, settled = await call.studio.compute(_open_and_settled)
    return call.page("disagreements.html", rows=rows, settled=settled, here="disagreements")


def _open_and_settled(ledger: Ledger, project: Project) -> tuple[list[Record], dict[int, dict[str, Any]]]:
    settled = {unit.id: payload for unit, payload, _ in ledger.adjudications()}
    return figures.disagreements(ledger, project, most=50 + len(settled)), settled


async def adjudicate(call: Call) -> Response:
    """Settle an item: the owner's own answer, stored beside the raters' and never in their place."""
    number = integer(call.data.get("item"), "item")
    project = call.studio.project
    payload = await call.studio.compute(lambda ledger, project: _decision(call, ledger, project, number))
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


def _decision(call: Call, ledger: Ledger, project: Project, number: int) -> dict[str, Any]:
    """What the form says, as an answer: values, a choice, or one rater's marks."""
    if number not in ledger.items:
        raise Refusal(404, "unknown", "There is no such item.")
    if project.task == "rating":
        texts = {scale.name: call.text(f"value.{scale.name}", "").strip() for scale in project.scales}
        try:
            return {"values": {name: float(text) if text else None for name, text in texts.items()}}
        except ValueError:
            raise Refusal(422, "invalid", "Values must be numbers.") from None
    if project.task == "ranking":
        shown = [system for system, _ in ledger.items[number].outputs]
        named = {f"{end}_system": call.text(end, "") for end in ("best", "worst") if call.data.get(end)}
        if any(system not in shown for system in named.values()) or len(set(named.values())) < len(named):
            raise Refusal(422, "invalid", "Choose versions that were shown, two different ones.")
        return {"choice": {"shown": shown, **(named if "best_system" in named else {"tie": True})}}
    by = call.text("marks", "", longest=64)
    marks = [
        answer.payload.get("groups", []) for answer in ledger.answers() if (answer.item, answer.rater) == (number, by)
    ]
    if by and not marks:
        raise Refusal(422, "invalid", "This rater has not marked the item.")
    return {"groups": marks[0] if marks else [], "by": by}


async def trail_page(call: Call) -> Response:
    """Who did what, when."""
    latest = select(schema.event).order_by(schema.event.c.id.desc()).limit(500)
    rows = await call.studio.read(lambda connection: connection.execute(latest).all())
    return call.page("trail.html", rows=rows, day=day, here="trail")


async def export(call: Call) -> Response:
    """The data as it is now."""
    name = call.request.path_params["name"]
    known = (*exports.FORMATS, *payment.LISTS)
    if name not in known:
        raise Refusal(404, "unknown", f"There is no such export. There are: {', '.join(known)}.")
    studio = call.studio
    await studio.write(lambda connection: call.note(connection, "export", format=name))
    if name in payment.LISTS:
        content = await studio.read(lambda connection: payment.write(connection, studio.project, studio.secret, name))
        return _attached(content, name, _MEDIA["csv"])
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
        sink = io.BytesIO()
        with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            path = Path(directory) / "studio.db"
            store.copy_to(path)
            archive.write(path, path.name)
            archive.writestr("studio.secret", call.studio.secret.text)
        return sink.getvalue()

    return _attached(await run_in_threadpool(copy), "zip", _MEDIA["aln"])


def _attached(content: bytes, ending: str, media: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="studio.{ending}"'}
    return Response(content, media_type=media, headers=headers)


async def watch(studio: Studio) -> None:
    """Look again and again whether the stop rule on precision is met, and whether personal data have to go."""
    while True:
        project = studio.project
        await studio.write(partial(roster.purge, project=project, now=time.time()))
        if project.stop.half_width and await studio.compute(figures.enough):
            await studio.write(partial(_reached, half_width=project.stop.half_width))
        await asyncio.sleep(_WATCHED)


def _reached(connection: Connection, half_width: float) -> None:
    if fact(connection, "stopped") is None:
        keep_fact(connection, "stopped", "precision reached")
        note(connection, "stop rule", "stop", {"half_width": half_width})
