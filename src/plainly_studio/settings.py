"""What may be changed while a study runs, by whom and when: the form, the file that changed, and the trail.

What people are asked (the task, the scales, the items) stays as it was: an answer means what it meant when it was
given.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from sqlalchemy import Connection
from starlette.responses import Response

from plainly.core.errors import BadInput
from plainly_studio.context import Call, Studio
from plainly_studio.project import Project, parse_project, read_project
from plainly_studio.refusal import Refusal
from plainly_studio.store import keep_fact

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


def flat(project: Project) -> dict[str, Any]:
    """Every setting by name."""
    whole: dict[str, Any] = {}
    for name, value in to_builtins(project).items():
        if isinstance(value, dict):
            whole |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            whole[name] = value
    return whole


def changed(project: Project, values: Mapping[str, str]) -> Project:
    """The project with these settings, checked as a file's are."""
    whole = json.loads(project.to_json())
    current = flat(project)
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
    here, there = flat(project), flat(other)
    return {name: (here[name], there[name]) for name in here if here[name] != there[name]}


def file_says(project: Project, file: Path | None) -> tuple[dict[str, tuple[Any, Any]], str]:
    """Where the project's file says otherwise than the running study, and what is wrong with the file."""
    if file is None or not file.is_file():
        return {}, ""
    try:
        return differences(project, read_project(file)), ""
    except BadInput as error:
        return {}, str(error)


def store(connection: Connection, old: Project, new: Project) -> dict[str, Any]:
    """Put the new settings where every server reads them; what changed, for the trail."""
    keep_fact(connection, "project", new.to_json())
    return {name: list(pair) for name, pair in differences(old, new).items()}


async def page(call: Call, problem: str = "") -> Response:
    """The form, and what the file says otherwise."""
    differs, unreadable = file_says(call.studio.project, call.studio.file)
    current = {
        name: f"{value:g}" if isinstance(value, float) else value for name, value in flat(call.studio.project).items()
    }
    fields = [(name, title, current[name], name in LONG) for name, title in EDITABLE.items()]
    told: dict[str, Any] = {"fields": fields, "differs": differs, "editable": EDITABLE, "unreadable": unreadable}
    return call.page("settings.html", here="settings", problem=problem, **told)


async def save(call: Call) -> Response:
    """Take the form's values over."""
    current = flat(call.studio.project)
    values = {name: call.text(name, longest=20_000) for name in EDITABLE if name in call.data}
    return await _apply(call, {name: text for name, text in values.items() if text != str(current[name])})


async def take_file(call: Call) -> Response:
    """Take over what the file says, as far as that can be changed while the study runs."""
    differs, _ = file_says(call.studio.project, call.studio.file)
    return await _apply(call, {name: str(there) for name, (_, there) in differs.items() if name in EDITABLE})


async def _apply(call: Call, values: Mapping[str, str]) -> Response:
    studio, old = call.studio, call.studio.project
    try:
        new = changed(old, values)
    except BadInput as error:
        raise Refusal(422, "invalid", str(error)) from None

    def work(connection: Connection) -> None:
        if detail := store(connection, old, new):
            call.note(connection, "settings", **detail)

    response = await call.change(work, "/owner/settings")
    studio.reload()
    return response


def warnings(studio: Studio) -> list[str]:
    """What an owner has to know before anything else."""
    differs, unreadable = file_says(studio.project, studio.file)
    told = []
    if differs:
        told.append(f"The study's file says otherwise than the running study ({', '.join(differs)}). See Settings.")
    if unreadable:
        told.append(f"The study's file cannot be read: {unreadable}")
    if studio.foreign_secret:
        told.append(
            "The .secret file is not the one that this study began with. Completion codes that were given out do not "
            "match any more, and people from a crowd platform are not known again. Put the first file back."
        )
    return told
