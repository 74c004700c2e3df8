"""The pages of a study's owner: live figures, people and links, disagreements, settings, exports, the audit trail.

What people are asked (the task, the scales, the items) cannot be changed while a study runs: an answer keeps the
meaning that it had when it was given.
"""

import asyncio
import io
import json
import logging
import random
import re
import tempfile
import time
import unicodedata
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlencode

from msgspec import to_builtins
from sqlalchemy import Connection, func, insert, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from plainly.core.errors import BadInput, MissingExtra
from plainly_studio import assignments, exports, live, people, schema, tasks
from plainly_studio.context import Call, Studio, format_time, reply
from plainly_studio.exports import Ledger, Unit
from plainly_studio.project import Project, check_numbers, parse_project, read_project
from plainly_studio.store import InvalidField, Refusal, log_event, read_fact, store_fact

_WATCH_SECONDS = 30.0
log = logging.getLogger("plainly_studio")
_PEOPLE_FILTERS = ("search", "outcome", "state")
_NO_OUTCOME = "none yet"
_DISAGREEMENT_FILTERS = ("show", "question", "rater", "search")
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "aln": "application/zip",
    "entries.jsonl": "application/jsonl",
}


async def dashboard(call: Call) -> Response:
    """Show the dashboard; its script requests the figures."""
    values = {"stopped": await call.studio.read(partial(read_fact, key="stopped")), "warnings": warnings(call.studio)}
    return call.page("owner.html", formats=exports.FORMATS, here="owner", **values)


async def live_figures(call: Call) -> Response:
    """Return the figures of the dashboard."""
    return reply(await call.studio.compute(live.overview))


async def stop(call: Call) -> Response:
    """Stop or resume handing out items."""
    is_stop = call.text("stopped", "yes") == "yes"

    def work(connection: Connection) -> None:
        store_fact(connection, "stopped", call.person.pseudonym if is_stop else None)
        call.log(connection, "stop" if is_stop else "resume")

    return await call.change(work, "/owner")


async def disagreements_page(call: Call) -> Response:
    """Show the items on which raters differ most, with a form to settle each; no system is named."""
    filters = _read_filters(call, _DISAGREEMENT_FILTERS)
    show = filters.pop("show") or "open"

    def work(ledger: Ledger, project: Project) -> dict[str, Any]:
        decisions = {unit.id: payload for unit, payload, _ in ledger.adjudications()}
        rows = live.disagreements(ledger, project, settled=decisions, **filters)
        parts = {"open": [row for row in rows if row["item"].id not in decisions], "all": rows}
        parts["settled"] = [row for row in rows if row["item"].id in decisions]
        counts = {name: len(part) for name, part in parts.items()}
        page = _paginate(call, parts.get(show, rows), {"show": show, **filters})
        for row in page["rows"]:
            row["versions"] = _hide_systems(project, row["item"])
        raters = sorted({answer.rater for answer in ledger.answers()})
        return {**page, "counts": counts, "settled": decisions, "raters": raters}

    values = await call.studio.compute(work)
    return call.page("disagreements.html", here="disagreements", show=show, filters=filters, **values)


def _hide_systems(project: Project, unit: Unit) -> dict[str, tuple[str, str]]:
    """Return an item's outputs by system, each with a letter, in an order that does not reveal the systems."""
    outputs = list(unit.outputs)
    random.Random(f"{project.seed}:{unit.id}").shuffle(outputs)
    return {system: (letter, text) for letter, (system, text) in zip("ABCDEFGH", outputs, strict=False)}


def _read_filters(call: Call, names: Sequence[str]) -> dict[str, str]:
    """Return the filters of a list, empty where there is none."""
    return {name: call.text(name, "", longest=200).strip() for name in names}


def _paginate(call: Call, rows: Sequence[Any], filters: Mapping[str, str], *, size: int = 10) -> dict[str, Any]:
    """Return the rows of one page of a list, its number, and the addresses of the pages before and after it."""
    pages = max(1, -(-len(rows) // size))
    page = min(max(1, call.integer("page", 1)), pages)
    query = {name: text for name, text in filters.items() if text}
    before, after = (f"?{urlencode({**query, 'page': page + step})}" for step in (-1, 1))
    links = {"before": before if page > 1 else "", "after": after if page < pages else ""}
    return {"rows": rows[(page - 1) * size : page * size], "pager": {"page": page, "pages": pages, **links}}


async def adjudicate(call: Call) -> Response:
    """Settle an item: store the owner's own answer beside the raters' answers."""
    number = call.integer("item")
    payload = await call.studio.compute(lambda ledger, project: _read_decision(call, ledger, project, number))
    if comment := call.text("comment", ""):
        payload["comment"] = comment
    if call.studio.project.task == "rating":
        tasks.check(call.studio.project, payload, {}, 1)

    def work(connection: Connection) -> None:
        values = {"item_id": number, "owner_id": call.person.id, "payload": json.dumps(payload)}
        connection.execute(insert(schema.adjudication).values(**values, created_at=time.time()))
        call.log(connection, "adjudicate", item=number)

    filters = {name: text for name, text in _read_filters(call, _DISAGREEMENT_FILTERS).items() if text}
    query = urlencode({**filters, "page": call.integer("page", 1)})
    return await call.change(work, f"/owner/disagreements?{query}")


def _read_decision(call: Call, ledger: Ledger, project: Project, number: int) -> dict[str, Any]:
    """Return the form's content as an answer: values, a choice, or one rater's marks."""
    if number not in ledger.items:
        raise Refusal(404, "unknown", "There is no such item.")
    if project.task == "rating":
        texts = {scale.name: call.text(f"value.{scale.name}", "").strip() for scale in project.scales}
        try:
            return {"values": {name: float(text) if text else None for name, text in texts.items()}}
        except ValueError:
            raise Refusal(422, "invalid", "Values must be numbers.") from None
    if project.task == "ranking":
        systems = {letter: system for system, (letter, _) in _hide_systems(project, ledger.items[number]).items()}
        letters = {end: call.text(end, "") for end in ("best", "worst") if call.data.get(end)}
        if not set(letters.values()) <= set(systems) or len(set(letters.values())) < len(letters):
            raise Refusal(422, "invalid", "Choose versions that were shown, two different ones.")
        choice: dict[str, Any] = {f"{end}_system": systems[letter] for end, letter in letters.items()}
        return {"choice": {"shown": [*systems.values()], **(choice if "best" in letters else {"tie": True})}}
    rater = call.text("marks", "", longest=64)
    marks = {answer.rater: answer.payload.get("groups", []) for answer in ledger.answers() if answer.item == number}
    if rater and rater not in marks:
        raise Refusal(422, "invalid", "This rater has not marked the item.")
    return {"groups": marks.get(rater, []), "by": rater}


async def trail_page(call: Call) -> Response:
    """Show the audit trail."""
    latest = select(schema.event).order_by(schema.event.c.id.desc()).limit(500)
    rows = await call.studio.read(lambda connection: connection.execute(latest).all())
    return call.page("trail.html", rows=rows, day=format_time, here="trail")


async def export(call: Call) -> Response:
    """Return the current data in one of the formats."""
    studio, name = call.studio, call.request.path_params["name"]
    names = (*exports.FORMATS, *people.LISTS)
    if name not in names:
        raise Refusal(404, "unknown", f"There is no such export. Available: {', '.join(names)}.")
    await studio.write(lambda connection: call.log(connection, "export", format=name))
    if name in people.LISTS:
        by_rule = await _find_exclusions(studio)
        options = {"project": studio.project, "secret": studio.secret, "by_rule": by_rule, "name": name}
        return _attach(call, await studio.read(partial(people.write_list, **options)), f"-{name}", "csv")
    try:
        content = await studio.compute(lambda ledger, project: exports.write(ledger, project, name))
    except MissingExtra as error:
        raise Refusal(501, "extra", str(error)) from None
    return _attach(call, content, {"aln": ".zip", "entries.jsonl": "-entries.jsonl"}.get(name, f".{name}"), name)


async def backup(call: Call) -> Response:
    """Return a consistent copy of the SQLite database, while everyone keeps working."""
    store = call.studio.store
    if not store.sqlite:
        raise Refusal(409, "postgresql", "Back PostgreSQL up with pg_dump.")
    await call.studio.write(lambda connection: call.log(connection, "backup"))

    def copy() -> bytes:
        sink = io.BytesIO()
        with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            path = Path(directory) / "studio.db"
            store.copy_to(path)
            archive.write(path, path.name)
            archive.writestr("studio.secret", call.studio.secret.text)
        return sink.getvalue()

    return _attach(call, await run_in_threadpool(copy), "-backup.zip", "aln")


def _attach(call: Call, content: bytes, ending: str, form: str) -> Response:
    """Return a file whose name begins with the study's name."""
    words = re.findall(r"[\w.]+", call.studio.project.name)
    name = f"{'-'.join(words).strip('.')[:80] or 'studio'}{ending}"
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    headers = {"content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type=_MEDIA[form], headers=headers)


async def watch(studio: Studio) -> None:
    """Tidy up every half minute, also after a minute without a database."""
    while True:
        try:
            await tidy(studio)
        except Exception as error:
            log.error("tidying up: %s", type(error).__name__)
        await asyncio.sleep(_WATCH_SECONDS)


async def tidy(studio: Studio) -> None:
    """Give up idle places, delete personal data on their day, erase what was deleted, and apply the stop rule."""
    project, now = studio.project, time.time()
    await studio.write(partial(assignments.end_expired, now=now))
    await studio.write(partial(people.purge, project=project, now=now))
    await run_in_threadpool(studio.store.erase_traces)
    if project.stop.half_width and await studio.compute(live.is_precise):
        await studio.write(partial(_stop_at_precision, half_width=project.stop.half_width))


def _stop_at_precision(connection: Connection, half_width: float) -> None:
    if read_fact(connection, "stopped") is None:
        store_fact(connection, "stopped", "precision reached")
        log_event(connection, "stop rule", "stop", {"half_width": half_width})


async def people_page(call: Call, link: str = "") -> Response:
    """Show links and raters, and the form for another link."""
    rater, invitation, studio = schema.rater, schema.invitation, call.studio
    statement = select(invitation, rater.c.pseudonym).outerjoin(rater, rater.c.id == invitation.c.rater_id)

    rows = await studio.read(lambda connection: connection.execute(statement.order_by(invitation.c.id)).all())
    by_rule = await _find_exclusions(studio)
    options: dict[str, Any] = {"project": studio.project, "secret": studio.secret, "by_rule": by_rule}
    raters = await studio.read(partial(people.list_raters, **options))
    ids = [name for name in studio.project.crowd.parameters if any(row[name] for row in raters)]
    codes = {row["rater"]: people.return_code(studio.secret, row["rater"]) for row in raters}
    choices = {
        "outcome": sorted({row["outcome"] or _NO_OUTCOME for row in raters}),
        "state": sorted({"excluded" if row["excluded"] else row["state"] for row in raters}),
    }
    filters = _read_filters(call, _PEOPLE_FILTERS)
    page = _paginate(call, [row for row in raters if _is_listed(row, ids, **filters)], filters, size=50)
    lists = {"invitations": rows, "raters": page["rows"], "codes": codes, "ids": ids, "lists": people.LISTS}
    values = {"filters": filters, "choices": choices, "pager": page["pager"], "by_rule": by_rule}
    return call.page("people.html", here="people", link=link, day=format_time, **lists, **values)


async def _find_exclusions(studio: Studio) -> Mapping[str, str]:
    """Return whom the study's rules exclude, with the reasons."""
    return await studio.compute(lambda ledger, project: ledger.excluded_by_rule)


def _is_listed(row: Mapping[str, Any], ids: Sequence[str], *, search: str, outcome: str, state: str) -> bool:
    """Return whether a rater passes the filters of the people page."""
    texts = [row["rater"], row["excluded"], row["code"], *(str(row[name]) for name in ids)]
    return (
        any(search.casefold() in text.casefold() for text in texts)
        and outcome in ("", row["outcome"] or _NO_OUTCOME)
        and state in ("", "excluded" if row["excluded"] else row["state"])
    )


async def answers_page(call: Call) -> Response:
    """Show the current answers, of everyone or of one rater, without the names of systems."""
    filters = _read_filters(call, ("rater", "kind", "search"))

    def work(ledger: Ledger, project: Project) -> dict[str, Any]:
        answers = ledger.answers(None, include_excluded=True)[::-1]
        kinds = sorted({ledger.items[answer.item].kind for answer in answers})
        rows = [
            {"answer": answer, "item": unit}
            for answer in answers
            if filters["rater"] in ("", answer.rater)
            and (unit := ledger.items[answer.item])
            and filters["kind"] in ("", unit.kind)
            and any(
                filters["search"].casefold() in text.casefold()
                for text in (unit.source, answer.payload.get("comment", ""), *(text for _, text in unit.outputs))
            )
        ]
        page = _paginate(call, rows, filters, size=50)
        for row in page["rows"]:
            row["versions"] = _hide_systems(project, row["item"])
        raters = sorted({answer.rater for answer in answers})
        return {**page, "raters": raters, "kinds": kinds, "excluded": ledger.excluded}

    values = await call.studio.compute(work)
    return call.page("answers.html", here="answers", day=format_time, filters=filters, **values)


async def invite(call: Call) -> Response:
    """Make a link and show it, once."""
    kind: Any = call.text("kind")
    if kind not in get_args(people.InvitationKind):
        raise InvalidField("kind", "A link is for a person, a crowd or an owner.")
    options: dict[str, Any] = {"label": call.text("label", "", longest=200), "by": call.person.pseudonym}
    once = kind != "crowd" and call.data.get("once") == "yes"
    token = await call.studio.write(partial(people.invite, kind=kind, once=once, **options))
    address = call.studio.address
    return await people_page(call, f"{address.origin(call.request) or ''}{address.base}/join/{token}")


async def revoke(call: Call) -> Response:
    """End a link and its sessions."""
    number = call.integer("invitation")

    def work(connection: Connection) -> None:
        people.revoke(connection, number)
        call.log(connection, "revoke", invitation=number)

    return await call.change(work, "/owner/people")


_RATER_ACTIONS: Mapping[str, Callable[..., object]] = {
    "remove": people.end_access,
    "exclude": people.exclude,
    "restore": people.restore,
    "readmit": people.readmit,
    "decide": people.decide,
    "bonus": people.set_bonus,
    "erase": people.erase,
}


async def change_rater(call: Call) -> Response:
    """End or renew a person's access, stop or resume counting their answers, decide about their pay, or delete all."""
    action = call.request.scope["path"].rpartition("/")[2]
    options = {"pseudonym": call.text("rater", longest=64), **_action_options(call, action)}
    if action == "erase" and call.data.get("sure") != "yes":
        raise Refusal(422, "sure", "Deleting cannot be undone. Go back and tick the box beside the button.")
    return await call.change(partial(_RATER_ACTIONS[action], **options), "/owner/people")


def _action_options(call: Call, action: str) -> dict[str, Any]:
    options: dict[str, Any] = {"by": call.person.pseudonym}
    if action == "exclude":
        options |= {"why": call.text("why", "", longest=200), "replace": call.data.get("replace") == "yes"}
    if action == "decide":
        options |= {"decision": call.text("decision", "", longest=8), "why": call.text("why", "", longest=200)}
    if action == "bonus":
        options["amount"] = _read_amount(call.text("amount", "", longest=20))
    return options


def _read_amount(text: str) -> float | None:
    """Return an amount of money; None for an empty field."""
    try:
        amount = float(text.replace(",", ".")) if text.strip() else None
    except ValueError:
        amount = -1.0
    if amount is not None and not 0 <= amount < 1e6:
        raise InvalidField("amount", "A bonus is a number such as 0.50.")
    return amount


async def change_selected_raters(call: Call) -> Response:
    """Do the same with all people whose boxes are ticked."""
    action = call.text("action", "", longest=20)
    if action not in _RATER_ACTIONS or action == "erase":
        raise Refusal(422, "invalid", "Choose what to do with the selected people.")
    names = [name.removeprefix("rater.") for name in call.data if name.startswith("rater.")]
    if not names:
        raise Refusal(422, "invalid", "No one is selected. Go back and tick the boxes beside the names.")
    options = _action_options(call, action)

    def work(connection: Connection) -> None:
        for name in names:
            _RATER_ACTIONS[action](connection, name, **options)

    filters = {name: text for name, text in _read_filters(call, _PEOPLE_FILTERS).items() if text}
    return await call.change(work, f"/owner/people?{urlencode(filters)}")


# Name → label in the form; a dot separates a section and its key.
EDITABLE: Mapping[str, str] = {
    "instructions": "Instructions",
    "consent": "Consent text (people who have agreed are not asked again)",
    "assignment.overlap": "People for each item",
    "assignment.early": "Items that get all their people first",
    "assignment.per_rater": "Most items for one person (0: no limit)",
    "assignment.lease_minutes": "Minutes until an item, or the place of somebody who is away, goes to another person",
    "assignment.replacements": "People who are replaced for an item because they cannot judge it",
    "stop.answers": "Stop after this many answers (0: never)",
    "stop.half_width": "Stop when the interval of every mean has this half-width (0: never)",
    "quality.time_limit_seconds": "Time limit for an item in seconds (0: none)",
    "quality.cannot_judge_share": "Largest share of items that a person cannot judge and still has done the work",
    "exclusion.checks_missed": "Do not count people who missed this many checks (0: no rule)",
    "exclusion.minimum_seconds": "Do not count people whose median time for an item is below this (0: no rule)",
    "exclusion.straight_lining": "Do not count people of whose answers this share is the same (0: no rule)",
    "exclusion.gold_agreement": "Do not count people with a smaller share of expected answers (0: no rule)",
    "crowd.agreed": "Items that earn the completion code (0: the most items for one person, or all there are)",
    "crowd.bonus": "Bonus for complete work that counts (0: none)",
    "crowd.bonus_checks": "Share of checks that a bonus needs",
    "crowd.completion_url": "Where people go when they are done; {code} is filled in",
    "crowd.completion_code": "Completion code (empty: one for each person)",
    "crowd.screened_out_code": "Code for people who did not pass the test",
    "crowd.returned_code": "Code for people who stopped early",
    "personal_until": "Delete platform ids and notes after this day (2027-01-31)",
}


_PLANNED = ("assignment.overlap", "assignment.per_rater")


def _flatten(project: Project) -> dict[str, Any]:
    """Return every setting by its dotted name."""
    settings: dict[str, Any] = {}
    for name, value in to_builtins(project).items():
        section = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        settings |= section
    return settings


def _change_settings(project: Project, values: Mapping[str, str]) -> Project:
    """Return the project with other settings, checked like those of a file."""
    settings, current = json.loads(project.to_json()), _flatten(project)
    for name, text in values.items():
        section, _, key = name.rpartition(".")
        value: Any = text.replace("\r\n", "\n").strip()
        if not isinstance(current[name], str):
            try:
                value = type(current[name])(value or 0)
            except ValueError:
                raise BadInput(f"{EDITABLE[name]}: {text!r} is not a number.") from None
        (settings[section] if section else settings)[key] = value
    changed = parse_project(settings)
    check_numbers(changed, where="Settings")
    return changed


def _differences(project: Project, other: Project) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ: name → (in the first project, in the other)."""
    first, second = _flatten(project), _flatten(other)
    return {name: (first[name], second[name]) for name in first if first[name] != second[name]}


def _compare_file(studio: Studio) -> tuple[dict[str, tuple[Any, Any]], str]:
    """Return where the project's file differs from the running study, and why the file cannot be read."""
    if studio.file is None or not studio.file.is_file():
        return {}, ""
    try:
        return _differences(studio.project, read_project(studio.file)), ""
    except BadInput as error:
        return {}, str(error)


async def settings_page(call: Call) -> Response:
    """Show the form, and what differs in the file."""
    differences, error = _compare_file(call.studio)
    current = _flatten(call.studio.project)
    values = {name: f"{value:g}" if isinstance(value, float) else value for name, value in current.items()}
    fields = [(name, title, values[name], name in ("instructions", "consent")) for name, title in EDITABLE.items()]
    file = {"differs": differences, "editable": EDITABLE, "unreadable": error}
    return call.page("settings.html", here="settings", fields=fields, **file)


async def save_settings(call: Call) -> Response:
    """Apply the values of the form."""
    current = _flatten(call.studio.project)
    values = {name: call.text(name, longest=20_000) for name in EDITABLE if name in call.data}
    return await _apply(call, {name: text for name, text in values.items() if text != str(current[name])})


async def apply_file_settings(call: Call) -> Response:
    """Apply the settings of the file, as far as they can be changed while the study runs."""
    differences, _ = _compare_file(call.studio)
    return await _apply(call, {name: str(new) for name, (_, new) in differences.items() if name in EDITABLE})


async def _apply(call: Call, values: Mapping[str, str]) -> Response:
    old = call.studio.project
    try:
        new = _change_settings(old, values)
    except BadInput as error:
        raise Refusal(422, "invalid", str(error)) from None
    if old.assignment.design != "free" and {*_PLANNED} & {*_differences(old, new)}:
        raise Refusal(422, "invalid", "The plan of a balanced design is fixed. For other numbers create a new study.")

    def work(connection: Connection) -> None:
        store_fact(connection, "project", new.to_json())
        if differences := _differences(old, new):
            call.log(connection, "settings", **differences)
            _record_rule_changes(connection, differences)

    response = await call.change(work, "/owner/settings")
    call.studio.reload()
    return response


def _record_rule_changes(connection: Connection, differences: Mapping[str, tuple[Any, Any]]) -> None:
    """Keep which exclusion rules were changed after the first answer: every report names these changes."""
    answers = connection.execute(select(func.count()).select_from(schema.entry)).scalar_one()
    changes = json.loads(read_fact(connection, "rule_changes") or "[]")
    new = [
        {"rule": name.removeprefix("exclusion."), "before": before, "after": after, "answers": answers}
        for name, (before, after) in differences.items()
        if name.startswith("exclusion.") and answers
    ]
    if new:
        store_fact(connection, "rule_changes", json.dumps([*changes, *new]))


def warnings(studio: Studio) -> list[str]:
    """Return what an owner has to know before anything else."""
    differences, error = _compare_file(studio)
    sentences = {
        f"The study's file differs from the running study ({', '.join(differences)}). See Settings.": differences,
        f"The study's file cannot be read: {error}": error,
        "The .secret file is not the one with which this study began. Completion codes no longer match, and people "
        "from a crowd platform are not recognised. Restore the first file.": studio.has_foreign_secret,
    }
    return [sentence for sentence, applies in sentences.items() if applies]
