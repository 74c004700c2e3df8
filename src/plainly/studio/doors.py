"""Coming in and going out: the first page, invitations, the page's own files."""

import secrets
from pathlib import Path

from sqlalchemy import delete, select
from starlette.responses import Response

from plainly.studio import people, schema
from plainly.studio.context import MEDIA, SESSION_COOKIE, VISIT_COOKIE, Call, reply
from plainly.studio.refusal import Refusal


async def start(call: Call) -> Response:
    """To one's own page, or a word on how to get one."""
    if call.visitor is None:
        return call.studio.page("welcome.html")
    return call.studio.redirect("/owner" if call.visitor.role == "owner" else "/work")


async def health(call: Call) -> Response:
    """For proxies and supervisors: is the database there?"""
    await call.studio.read(lambda connection: connection.execute(select(schema.about.c.key).limit(1)).all())
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
    page = studio.page(
        "join.html", token=token, page_token=studio.page_token(visit), crowd=crowd, owner=invitation.kind == "owner"
    )
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
    response = studio.redirect("/")
    _set_cookie(call, response, SESSION_COOKIE, session, int(people.SESSION_SECONDS))
    return response


async def leave(call: Call) -> Response:
    """End this session."""
    session = call.person.session
    await call.studio.write(
        lambda connection: connection.execute(delete(schema.session).where(schema.session.c.token_hash == session))
    )
    response = call.studio.redirect("/")
    response.delete_cookie(SESSION_COOKIE, path=call.studio.address.base or "/")
    return response


def _set_cookie(call: Call, response: Response, name: str, value: str, seconds: int) -> None:
    path, secure = call.studio.address.base or "/", call.studio.address.secure
    response.set_cookie(name, value, max_age=seconds, path=path, secure=secure, httponly=True, samesite="lax")
