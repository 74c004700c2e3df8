"""The application: each row of the route table behind the guard that its access asks for."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from plainly.studio import guard, people
from plainly.studio.context import SESSION_COOKIE, VISIT_COOKIE, Call, Studio, reply
from plainly.studio.refusal import Refusal
from plainly.studio.routes import ENDPOINTS, Endpoint

log = logging.getLogger("plainly.studio")
_FAULTS = {
    404: Refusal(404, "http", "There is no such page."),
    405: Refusal(405, "http", "This is not possible here."),
    500: Refusal(500, "server", "Something went wrong here. What you entered is kept on this page."),
}


def build(studio: Studio) -> Starlette:
    """The ASGI application of a studio."""

    async def fault(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 500:
            log.error("%s %s", request.method, request.url.path, exc_info=error)
        refusal = _FAULTS.get(status) or Refusal(status, "http", "This did not work.")
        return _refused(studio, request, refusal)

    return Starlette(
        routes=[Route(row.path, _guarded(studio, row), methods=[row.method]) for row in ENDPOINTS],
        middleware=[Middleware(guard.Headers, address=studio.address)],
        exception_handlers={HTTPException: fault, Exception: fault},
    )


def _guarded(studio: Studio, row: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await row.handler(await _admit(studio, row, request))
        except Refusal as refusal:
            return _refused(studio, request, refusal)

    return endpoint


async def _admit(studio: Studio, row: Endpoint, request: Request) -> Call:
    """The request with its person and data; every reason to refuse it is found here, cheapest first."""
    guard.check_host(request, studio.address)
    changes = request.method not in guard.SAFE
    if changes:
        guard.check_origin(request, studio.address)
    cookie = request.cookies.get(SESSION_COOKIE)
    if row.limited:
        sender = cookie and people.hashed(cookie)
        bucket = studio.writes if sender else studio.visits
        wait = bucket.take(sender or (request.client.host if request.client else "?"))
        if wait:
            raise Refusal(429, "slow-down", "Too many requests at once. Wait a moment.", retry_after=wait)
    visitor = await studio.read(lambda connection: people.who(connection, cookie)) if cookie else None
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


def _parse(request: Request, raw: bytes) -> Mapping[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        try:
            content = json.loads(raw or b"{}", parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise Refusal(400, "json", "The request is not JSON.") from None
        if not isinstance(content, dict):
            raise Refusal(400, "json", "The request must be a JSON object.")
        return content
    if kind == "application/x-www-form-urlencoded":
        try:
            return dict(parse_qsl(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=200))
        except ValueError:
            raise Refusal(400, "form", "The form cannot be read.") from None
    raise Refusal(415, "content-type", "Send JSON or a form.")


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _refused(studio: Studio, request: Request, refusal: Refusal) -> Response:
    if request.url.path.startswith("/api/"):  # a script asked, not a person
        response = reply(refusal.body, refusal.status)
    else:
        response = studio.page("error.html", status=refusal.status, message=refusal.message)
    if "retry_after" in refusal.more:
        response.headers["retry-after"] = str(int(refusal.more["retry_after"]) + 1)
    return response
