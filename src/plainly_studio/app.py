"""The application: the route table, and each of its rows behind the guard that its access asks for.

Who may call what stands beside the path. The security tests are generated from this list.
"""

import json
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import parse_qsl

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from plainly_studio import guard, owner_pages, people, rater_pages
from plainly_studio.context import OWNER_COOKIE, SESSION_COOKIE, VISIT_COOKIE, Call, Studio, reply
from plainly_studio.guard import Refusal
from plainly_studio.store import disk_full
from plainly_studio.wording import translate_refusal

Access = Literal["public", "rater", "owner"]


@dataclass(frozen=True)
class Endpoint:
    """One path and method, who may use it, and what answers."""

    method: Literal["GET", "POST"]
    path: str
    access: Access
    handler: Callable[[Call], Awaitable[Response]]
    limited: bool = True


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/", "public", rater_pages.start),
    Endpoint("GET", "/health", "public", rater_pages.health, limited=False),
    Endpoint("GET", "/static/{name}", "public", rater_pages.static, limited=False),
    Endpoint("GET", "/join/{token}", "public", rater_pages.show_invitation),
    Endpoint("POST", "/join/{token}", "public", rater_pages.accept_invitation),
    Endpoint("GET", "/work", "rater", rater_pages.work_page),
    Endpoint("POST", "/leave", "rater", rater_pages.end_session),
    Endpoint("GET", "/api/me", "rater", rater_pages.me),
    Endpoint("POST", "/api/claim", "rater", rater_pages.claim),
    Endpoint("POST", "/api/answer", "rater", rater_pages.answer),
    Endpoint("POST", "/api/draft", "rater", rater_pages.draft),
    Endpoint("POST", "/api/more-time", "rater", rater_pages.more_time),
    Endpoint("POST", "/api/exit", "rater", rater_pages.stop_work),
    Endpoint("GET", "/api/answered", "rater", rater_pages.answered),
    Endpoint("GET", "/owner", "owner", owner_pages.dashboard),
    Endpoint("GET", "/owner/people", "owner", owner_pages.people_page),
    Endpoint("GET", "/owner/disagreements", "owner", owner_pages.disagreements_page),
    Endpoint("GET", "/owner/trail", "owner", owner_pages.trail_page),
    Endpoint("GET", "/owner/export/{name}", "owner", owner_pages.export),
    Endpoint("GET", "/owner/backup", "owner", owner_pages.backup),
    Endpoint("GET", "/api/live", "owner", owner_pages.live_figures),
    Endpoint("POST", "/owner/invite", "owner", owner_pages.invite),
    Endpoint("POST", "/owner/revoke", "owner", owner_pages.revoke),
    Endpoint("POST", "/owner/remove", "owner", owner_pages.remove),
    Endpoint("POST", "/owner/exclude", "owner", owner_pages.exclude),
    Endpoint("POST", "/owner/restore", "owner", owner_pages.restore),
    Endpoint("POST", "/owner/erase", "owner", owner_pages.erase),
    Endpoint("GET", "/owner/settings", "owner", owner_pages.settings_page),
    Endpoint("POST", "/owner/settings", "owner", owner_pages.save_settings),
    Endpoint("POST", "/owner/settings/file", "owner", owner_pages.take_file_settings),
    Endpoint("POST", "/owner/stop", "owner", owner_pages.stop),
    Endpoint("POST", "/owner/adjudicate", "owner", owner_pages.adjudicate),
    Endpoint("POST", "/owner/leave", "owner", rater_pages.end_session),
    Endpoint("GET", "/preview", "owner", rater_pages.preview_page),
    Endpoint("GET", "/preview/api/me", "owner", rater_pages.preview_me),
    Endpoint("GET", "/preview/api/answered", "owner", rater_pages.preview_nothing),
    Endpoint("POST", "/preview/api/claim", "owner", rater_pages.preview_claim),
    Endpoint("POST", "/preview/api/answer", "owner", rater_pages.preview_answer),
    Endpoint("POST", "/preview/api/draft", "owner", rater_pages.preview_nothing),
)


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
log = logging.getLogger("plainly_studio")
_KEPT = "What you entered is kept in this browser and will be sent again."
_FAULTS = {
    404: Refusal(404, "http", "There is no such page."),
    405: Refusal(405, "http", "This is not possible here."),
    500: Refusal(500, "server", f"Something went wrong here. {_KEPT}"),
    503: Refusal(503, "database", f"The study's database does not answer just now. {_KEPT}"),
    507: Refusal(507, "storage", f"The study's disk is full, so nothing can be stored just now. {_KEPT}"),
}


def build(studio: Studio) -> Starlette:
    """The ASGI application of a studio."""

    async def fault(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return _refused(studio, request, _FAULTS.get(status) or Refusal(status, "http", "This did not rater_pages."))

    return Starlette(
        routes=[Route(row.path, _guarded(studio, row), methods=[row.method]) for row in ENDPOINTS],
        middleware=[Middleware(guard.Headers, address=studio.address, frame=studio.project.crowd.frame)],
        exception_handlers={HTTPException: fault},
    )


def _guarded(studio: Studio, row: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await row.handler(await _admit(studio, row, request))
        except Refusal as refusal:
            return _refused(studio, request, refusal)
        except Exception as error:
            # Caught here and not by the framework, so that this answer carries the headers of every other.
            status = 500 if not isinstance(error, DBAPIError) else 507 if disk_full(error) else 503
            log.error("%s %s: %s", row.method, row.path, _where(error))
            return _refused(studio, request, _FAULTS[status])

    return endpoint


def _where(error: Exception) -> str:
    """What kind of error it was and where, and not its message: that may hold what somebody typed, or a token."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    cause = f" ({type(error.orig).__name__})" if isinstance(error, DBAPIError) else ""
    return f"{type(error).__name__}{cause} in " + " > ".join(f"{place.name}:{place.lineno}" for place in places)


async def _admit(studio: Studio, row: Endpoint, request: Request) -> Call:
    """The request with its person and data; every reason to refuse it is found here, cheapest first."""
    guard.check_host(request, studio.address)
    changes = request.method not in guard.SAFE
    if changes:
        guard.check_origin(request, studio.address)
    visitor = await _visitor(studio, row, request)
    if row.limited:
        # Only a session that exists has a bucket of its own: a cookie can be made up, an address hardly.
        address = request.client.host if request.client else "?"
        wait = studio.writes.take(visitor.session) if visitor else studio.visits.take(address)
        if wait:
            raise Refusal(429, "slow-down", "Too many requests at once. Wait a moment.", retry_after=wait)
    call = Call(studio, request, visitor, request.query_params)
    if row.access != "public" and call.person.role != row.access:
        raise Refusal(403, "role", "This page is not for you.")
    if not changes:
        return call
    data = _parse(request, await guard.body(request))
    visit = request.cookies.get(VISIT_COOKIE) if row.access == "public" else call.person.session
    if not visit:
        raise Refusal(403, "token", "The page's token is missing. Allow cookies for this site and load it again.")
    guard.check_token(request.headers.get("x-studio-token") or data.get("page_token"), studio.page_token(visit))
    return replace(call, data=data)


async def _visitor(studio: Studio, row: Endpoint, request: Request) -> people.Person | None:
    """Whoever asks, as the role that the page is for where they have two."""
    order = (SESSION_COOKIE, OWNER_COOKIE) if row.access == "rater" else (OWNER_COOKIE, SESSION_COOKIE)
    tokens = [request.cookies[name] for name in order if request.cookies.get(name)]

    def read(connection: Connection) -> people.Person | None:
        known = (people.who(connection, token) for token in tokens)
        return next((person for person in known if person is not None), None)

    return await studio.read(read) if tokens else None


def _parse(request: Request, raw: bytes) -> Mapping[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        try:
            content = json.loads(raw or b"{}", parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise Refusal(400, "json", "The request is not JSON.") from None
        if not isinstance(content, dict):
            raise Refusal(400, "json", "The request must be a JSON object.")
        return _storable(content)
    if kind == "application/x-www-form-urlencoded":
        try:
            return _storable(dict(parse_qsl(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=200)))
        except ValueError:
            raise Refusal(400, "form", "The form cannot be read.") from None
    raise Refusal(415, "content-type", "Send JSON or a form.")


def _storable(content: dict[str, Any]) -> dict[str, Any]:
    """Refuse NUL and lone surrogates: not every database and format can hold them, and no keyboard types them."""
    waiting: list[Any] = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and _UNSTORABLE.search(value):
            raise Refusal(
                422, "characters", "The text holds characters that cannot be stored (NUL or half a character)."
            )
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _refused(studio: Studio, request: Request, refusal: Refusal) -> Response:
    path = request.scope["path"]
    if "/api/" in path or path == "/health":  # a script asked, not a person
        response = reply(refusal.body, refusal.status)
    else:
        message = translate_refusal(studio.project.language, str(refusal.body["error"]), refusal.message)
        response = studio.page("error.html", status=refusal.status, message=message)
    if "retry_after" in refusal.more:
        response.headers["retry-after"] = str(int(refusal.more["retry_after"]) + 1)
    return response
