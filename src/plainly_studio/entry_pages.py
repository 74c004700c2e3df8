"""Coming in and going out: the first page, invitations, the page's own files."""

import secrets
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import delete
from starlette.responses import Response

from plainly_studio import payment, people, schema
from plainly_studio.context import MEDIA, OWNER_COOKIE, SESSION_COOKIE, VISIT_COOKIE, Call, reply
from plainly_studio.refusal import Refusal

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
    studio = call.studio
    token = call.request.path_params["token"]
    invitation = await studio.read(lambda connection: people.find_invitation(connection, token))
    visit = call.request.cookies.get(VISIT_COOKIE) or secrets.token_urlsafe(24)
    crowd = {name: call.data[name] for name in studio.project.crowd.parameters if call.data.get(name)}
    workload = await studio.read(lambda connection: payment.workload(connection, studio.project))
    told: dict[str, Any] = {"crowd": crowd, "workload": workload, "owner": invitation.kind == "owner"}
    told["preview"] = crowd.get("assignmentId") == _NOT_ACCEPTED
    page = studio.page("join.html", token=token, page_token=studio.page_token(visit), **told)
    _set_cookie(call, page, VISIT_COOKIE, visit, 3600)
    return page


async def accept_invitation(call: Call) -> Response:
    """Take the invitation up: consent is checked, a session begins."""
    studio = call.studio
    project = studio.project
    token = call.request.path_params["token"]
    crowd = {name: call.text(name, "", longest=200) for name in project.crowd.parameters if call.data.get(name)}
    invitation = await studio.read(lambda connection: people.find_invitation(connection, token))
    if project.consent and invitation.kind != "owner" and call.data.get("consent") != "yes":
        raise Refusal(422, "consent", "Taking part needs your consent. Go back, read the text and tick the box.")
    session = await studio.write(lambda connection: people.accept(connection, project, studio.secret, token, crowd))
    owner = invitation.kind == "owner"
    response = studio.redirect("/owner" if owner else "/work")
    _set_cookie(call, response, OWNER_COOKIE if owner else SESSION_COOKIE, session, int(people.SESSION_SECONDS))
    return response


async def leave(call: Call) -> Response:
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
