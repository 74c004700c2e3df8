"""The pages of a study's owner: live figures, people and links, disagreements, settings, exports, the trail.

What people are asked (the task, the scales, the items) cannot be changed while a study runs: an answer keeps the
meaning that it had when it was given.
"""

import asyncio
import io
import json
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from sqlalchemy import Connection, insert, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from plainly.core.errors import BadInput, MissingExtra
from plainly.core.result import Record
from plainly_studio import exports, payment, people, schema, tasks
from plainly_studio import live as figures
from plainly_studio.context import Call, Studio, day, reply
from plainly_studio.guard import Refusal, integer, invalid
from plainly_studio.ledger import Ledger
from plainly_studio.project import Project, parse_project, read_project
from plainly_studio.store import fact, keep_fact, note

_WATCHED = 30.0  # seconds between two looks at the rules
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "aln": "application/zip",
    "entries.jsonl": "application/jsonl",
}


async def dashboard(call: Call) -> Response:
    """The dashboard; its script asks for the figures."""
    stopped = await call.studio.read(partial(fact, key="stopped"))
    return call.page(
        "owner.html", formats=exports.FORMATS, here="owner", stopped=stopped, warnings=warnings(call.studio)
    )


async def live_figures(call: Call) -> Response:
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
    return {"groups": next(iter(marks), []), "by": by}


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
        await studio.write(partial(people.purge, project=project, now=time.time()))
        if project.stop.half_width and await studio.compute(figures.enough):
            await studio.write(partial(_reached, half_width=project.stop.half_width))
        await asyncio.sleep(_WATCHED)


def _reached(connection: Connection, half_width: float) -> None:
    if fact(connection, "stopped") is None:
        keep_fact(connection, "stopped", "precision reached")
        note(connection, "stop rule", "stop", {"half_width": half_width})


async def people_page(call: Call, link: str = "") -> Response:
    """Who was invited, who came, and the form for another link."""
    rater, invitation, studio = schema.rater, schema.invitation, call.studio
    invited = select(invitation, rater.c.pseudonym).outerjoin(rater, rater.c.id == invitation.c.rater_id)

    def work(connection: Connection) -> tuple[Any, Any]:
        came = payment.roster(connection, studio.project, studio.secret)
        return connection.execute(invited.order_by(invitation.c.id)).all(), came

    invitations, raters = await studio.read(work)
    ids = [name for name in studio.project.crowd.parameters if any(row[name] for row in raters)]
    return call.page(
        "people.html",
        here="people",
        lists=payment.LISTS,
        invitations=invitations,
        raters=raters,
        ids=ids,
        link=link,
        day=day,
    )


async def invite(call: Call) -> Response:
    """Make a link and show it, once."""
    wanted, by = call.text("kind"), call.person.pseudonym
    label = call.text("label", "", longest=200)
    kinds: tuple[people.InvitationKind, ...] = ("person", "crowd", "owner")
    kind = next((kind for kind in kinds if kind == wanted), None)
    if kind is None:
        raise invalid("kind", "A link is for a person, a crowd or an owner.")
    once = kind != "crowd" and call.data.get("once") == "yes"
    token = await call.studio.write(lambda connection: people.invite(connection, kind, label=label, once=once, by=by))
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
    """End a person's access. What they answered stays and counts."""
    return await _decide(call, people.end_access)


async def exclude(call: Call) -> Response:
    """A person's answers count nowhere; their items may go to others."""
    why = call.text("why", "", longest=200)
    return await _decide(call, people.exclude, why=why, replace=call.data.get("replace") == "yes")


async def restore(call: Call) -> Response:
    """A person's answers count again."""
    return await _decide(call, people.restore)


async def erase(call: Call) -> Response:
    """Delete a person and what they answered, at their request."""
    if call.data.get("sure") != "yes":
        raise Refusal(422, "sure", "Deleting cannot be undone. Go back and tick the box beside the button.")
    return await _decide(call, people.erase)


async def _decide(call: Call, action: Callable[..., object], **how: Any) -> Response:
    """What the owner decides about a rater."""
    rater = call.text("rater", longest=64)
    return await call.change(partial(action, pseudonym=rater, by=call.person.pseudonym, **how), "/owner/people")


# Name → the question of the form; a dot stands between a section and its key.
EDITABLE: Mapping[str, str] = {
    "instructions": "Instructions",
    "consent": "Consent text (who has agreed already is not asked again)",
    "assignment.overlap": "People for each item",
    "assignment.early": "Items that get all their people first",
    "assignment.per_rater": "The most that one person does (0: no limit)",
    "assignment.lease_minutes": "Minutes until an item is offered to somebody else",
    "stop.answers": "Stop after so many answers (0: never)",
    "stop.half_width": "Stop when every mean is known this well (0: never)",
    "quality.time_limit_seconds": "Time limit for an item in seconds (0: none)",
    "crowd.agreed": "Items that earn the completion code (0: the most that one person does, or all there is)",
    "crowd.completion_url": "Where people go when they are done; {code} is filled in",
    "crowd.completion_code": "Completion code (empty: one for each person)",
    "crowd.screened_out_code": "Code for people who did not pass the test",
    "crowd.returned_code": "Code for people who stopped early or found no more work",
    "personal_until": "Delete platform ids and notes after this day (2027-01-31)",
}
LONG = ("instructions", "consent")


def flatten_settings(project: Project) -> dict[str, Any]:
    """Every setting by name."""
    whole: dict[str, Any] = {}
    for name, value in to_builtins(project).items():
        if isinstance(value, dict):
            whole |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            whole[name] = value
    return whole


def change_settings(project: Project, values: Mapping[str, str]) -> Project:
    """The project with these settings, checked as a file's are."""
    whole = json.loads(project.to_json())
    current = flatten_settings(project)
    for name, text in values.items():
        section, _, key = name.rpartition(".")
        value: Any = text.replace("\r\n", "\n").strip()
        if not isinstance(current[name], str):
            try:
                value = type(current[name])(value or 0)
            except ValueError:
                raise BadInput(f"{EDITABLE[name]}: {text!r} is not a number.") from None
        (whole[section] if section else whole)[key] = value
    return parse_project(whole)


def differences(project: Project, other: Project) -> dict[str, tuple[Any, Any]]:
    """What another version says otherwise: name → (here, there)."""
    here, there = flatten_settings(project), flatten_settings(other)
    return {name: (here[name], there[name]) for name in here if here[name] != there[name]}


def compare_file(project: Project, file: Path | None) -> tuple[dict[str, tuple[Any, Any]], str]:
    """Where the project's file says otherwise than the running study, and what is wrong with the file."""
    if file is None or not file.is_file():
        return {}, ""
    try:
        return differences(project, read_project(file)), ""
    except BadInput as error:
        return {}, str(error)


async def settings_page(call: Call) -> Response:
    """The form, and what the file says otherwise."""
    differs, unreadable = compare_file(call.studio.project, call.studio.file)
    current = {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in flatten_settings(call.studio.project).items()
    }
    fields = [(name, title, current[name], name in LONG) for name, title in EDITABLE.items()]
    return call.page(
        "settings.html", here="settings", fields=fields, differs=differs, editable=EDITABLE, unreadable=unreadable
    )


async def save_settings(call: Call) -> Response:
    """Take the form's values over."""
    current = flatten_settings(call.studio.project)
    values = {name: call.text(name, longest=20_000) for name in EDITABLE if name in call.data}
    return await _apply(call, {name: text for name, text in values.items() if text != str(current[name])})


async def take_file_settings(call: Call) -> Response:
    """Take over what the file says, as far as that can be changed while the study runs."""
    differs, _ = compare_file(call.studio.project, call.studio.file)
    return await _apply(call, {name: str(there) for name, (_, there) in differs.items() if name in EDITABLE})


async def _apply(call: Call, values: Mapping[str, str]) -> Response:
    studio, old = call.studio, call.studio.project
    try:
        new = change_settings(old, values)
    except BadInput as error:
        raise Refusal(422, "invalid", str(error)) from None

    def work(connection: Connection) -> None:
        keep_fact(connection, "project", new.to_json())
        if detail := {name: list(pair) for name, pair in differences(old, new).items()}:
            call.note(connection, "settings", **detail)

    response = await call.change(work, "/owner/settings")
    studio.reload()
    return response


def warnings(studio: Studio) -> list[str]:
    """What an owner has to know before anything else."""
    differs, unreadable = compare_file(studio.project, studio.file)
    secret = (
        "The .secret file is not the one that this study began with. Completion codes that were given out do not match "
        "any more, and people from a crowd platform are not known again. Put the first file back."
    )
    sentences = {
        f"The study's file says otherwise than the running study ({', '.join(differs)}). See Settings.": differs,
        f"The study's file cannot be read: {unreadable}": unreadable,
        secret: studio.foreign_secret,
    }
    return [sentence for sentence, applies in sentences.items() if applies]
