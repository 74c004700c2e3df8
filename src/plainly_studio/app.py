"""Between the network and the handlers: the route table, the guard, and the server.

The table states who may call each path; the security tests are generated from it. A request that changes something
must come from the studio's own page, which its Origin and a token of that page prove. A connection has a few seconds to
send the head of its request; when there are too many, the one that has waited longest is closed.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import json
import logging
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import parse_qsl

import uvicorn
from sqlalchemy.exc import DBAPIError
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from plainly.core.errors import BadInput
from plainly_studio import owner_pages, people, rater_pages
from plainly_studio.context import COOKIES, ENGLISH, Address, Call, Studio, read_words, reply
from plainly_studio.store import UNSTORABLE, Part, Refusal, is_disk_full

HEAD_SECONDS = 10.0
MOST_CONNECTIONS = 1000
MOST_OF_ONE_ADDRESS = 200
_LOCAL = frozenset({"127.0.0.1", "::1", ""})
LONGEST_BODY = 256 * 1024
BODY_SECONDS = 20.0
log = logging.getLogger("plainly_studio")


@dataclass(frozen=True)
class Endpoint:
    """A path and method, who may use it, and its handler."""

    method: Literal["GET", "POST"]
    path: str
    access: Literal["public", "rater", "owner"]
    handler: Callable[[Call], Awaitable[Response]]
    is_limited: bool = True


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/", "public", rater_pages.start),
    Endpoint("GET", "/health", "public", rater_pages.health, is_limited=False),
    Endpoint("GET", "/static/{name}", "public", rater_pages.static, is_limited=False),
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
    Endpoint("GET", "/api/answered", "rater", rater_pages.list_answers),
    Endpoint("GET", "/owner", "owner", owner_pages.dashboard),
    Endpoint("GET", "/owner/people", "owner", owner_pages.people_page),
    Endpoint("GET", "/owner/answers", "owner", owner_pages.answers_page),
    Endpoint("GET", "/owner/disagreements", "owner", owner_pages.disagreements_page),
    Endpoint("GET", "/owner/trail", "owner", owner_pages.trail_page),
    Endpoint("GET", "/owner/export/{name}", "owner", owner_pages.export),
    Endpoint("GET", "/owner/backup", "owner", owner_pages.backup),
    Endpoint("GET", "/api/live", "owner", owner_pages.live_figures),
    Endpoint("POST", "/owner/invite", "owner", owner_pages.invite),
    Endpoint("POST", "/owner/revoke", "owner", owner_pages.revoke),
    Endpoint("POST", "/owner/remove", "owner", owner_pages.change_rater),
    Endpoint("POST", "/owner/exclude", "owner", owner_pages.change_rater),
    Endpoint("POST", "/owner/restore", "owner", owner_pages.change_rater),
    Endpoint("POST", "/owner/readmit", "owner", owner_pages.change_rater),
    Endpoint("POST", "/owner/decide", "owner", owner_pages.change_rater),
    Endpoint("POST", "/owner/bonus", "owner", owner_pages.change_rater),
    Endpoint("POST", "/owner/erase", "owner", owner_pages.change_rater),
    Endpoint("POST", "/owner/bulk", "owner", owner_pages.change_selected_raters),
    Endpoint("GET", "/owner/settings", "owner", owner_pages.settings_page),
    Endpoint("POST", "/owner/settings", "owner", owner_pages.save_settings),
    Endpoint("POST", "/owner/settings/file", "owner", owner_pages.apply_file_settings),
    Endpoint("POST", "/owner/stop", "owner", owner_pages.stop),
    Endpoint("POST", "/owner/adjudicate", "owner", owner_pages.adjudicate),
    Endpoint("POST", "/owner/leave", "owner", rater_pages.end_session),
    Endpoint("GET", "/preview", "owner", rater_pages.work_page),
    Endpoint("GET", "/preview/api/me", "owner", rater_pages.me),
    Endpoint("GET", "/preview/api/answered", "owner", rater_pages.preview_nothing),
    Endpoint("POST", "/preview/api/claim", "owner", rater_pages.preview_claim),
    Endpoint("POST", "/preview/api/answer", "owner", rater_pages.preview_answer),
    Endpoint("POST", "/preview/api/draft", "owner", rater_pages.preview_nothing),
)


_POLICY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Not no-referrer: with it browsers send "Origin: null" from our own forms. Other sites get no referrer either way.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_WILL_RETRY = "What you entered is kept in this browser and will be sent again."
_FAULTS = {
    404: Refusal(404, "http", "There is no such page."),
    405: Refusal(405, "http", "This is not possible here."),
    500: Refusal(500, "server", f"Something went wrong here. {_WILL_RETRY}"),
    503: Refusal(503, "database", f"The study's database does not answer just now. {_WILL_RETRY}"),
    507: Refusal(507, "storage", f"The study's disk is full, so nothing can be stored just now. {_WILL_RETRY}"),
}


def security_headers(frame: Sequence[str], *, secure: bool) -> dict[str, str]:
    """Return the headers of every response; the origins in ``frame`` may embed the pages and receive their form."""
    content = _POLICY["content-security-policy"]
    if frame:
        content = content.replace("frame-ancestors 'none'", f"frame-ancestors {' '.join(frame)}")
        content = content.replace("form-action 'self'", f"form-action 'self' {' '.join(frame)}")
    strict = {"strict-transport-security": "max-age=31536000"} if secure else {}
    return {**_POLICY, "content-security-policy": content, **strict}


class Headers:
    """Middleware that adds the security headers to every response, and forbids caching unless a response allows it."""

    def __init__(self, app: ASGIApp, *, address: Address, frame: Sequence[str] = ()) -> None:
        self.app, self.base = app, address.base
        self.headers = security_headers(frame, secure=address.secure)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if self.base and (path == self.base or path.startswith(self.base + "/")):
            # Some proxies cut the prefix off and some do not.
            scope = {**scope, "path": path[len(self.base) :] or "/", "raw_path": None}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self.headers)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


def build(studio: Studio) -> Starlette:
    """Return the ASGI application of a studio."""

    async def handle_http_error(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        return _refuse(studio, request, _FAULTS.get(status) or Refusal(status, "http", "This did not work."))

    return Starlette(
        routes=[Route(row.path, _guard(studio, row), methods=[row.method]) for row in ENDPOINTS],
        middleware=[Middleware(Headers, address=studio.address, frame=studio.project.crowd.frame)],
        exception_handlers={HTTPException: handle_http_error},
    )


def _guard(studio: Studio, row: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await row.handler(await _admit(studio, row, request))
        except HTTPException:
            raise
        except Refusal as refusal:
            return _refuse(studio, request, refusal)
        except Exception as error:
            # Caught here and not by the framework, so that this response carries the headers of every other.
            status = 500 if not isinstance(error, DBAPIError) else 507 if is_disk_full(error) else 503
            log.error("%s %s: %s", row.method, row.path, _describe(error))
            return _refuse(studio, request, _FAULTS[status])

    return endpoint


def _describe(error: Exception) -> str:
    """Return the class and place of an error, but not its message, which may contain an answer or a token."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    cause = f" ({type(error.orig).__name__})" if isinstance(error, DBAPIError) else ""
    return f"{type(error).__name__}{cause} in " + " > ".join(f"{frame.name}:{frame.lineno}" for frame in frames)


async def _admit(studio: Studio, row: Endpoint, request: Request) -> Call:
    """Return the request with its person and data; every reason to refuse it is checked here, cheapest first."""
    own_origin = studio.address.origin(request)
    if own_origin is None:  # A foreign name that resolves to this machine must not read our pages.
        raise Refusal(421, "host", "The studio does not answer under this host name. Serve it with --public-url.")
    changes = request.method not in ("GET", "HEAD")
    if changes and request.headers.get("origin") != own_origin:
        raise Refusal(403, "origin", "This request did not come from the studio's own page.")
    # A person with two roles comes in the role that the page is for.
    names = [COOKIES[role] for role in sorted(("owner", "rater"), key=lambda role: role != row.access)]
    tokens = [request.cookies[name] for name in names if request.cookies.get(name)]
    visitor = await studio.look_up(Part(people.find_people, tokens, sender=object())) if tokens else None
    if row.is_limited:
        # Only a session that exists has its own bucket: cookies are easy to invent, addresses are not.
        address = request.client.host if request.client else "?"
        wait = studio.writes.wait_seconds(visitor.session) if visitor else studio.visits.wait_seconds(address)
        if wait:
            raise Refusal(429, "slow-down", "Too many requests at once. Wait a moment.", retry_after=wait)
    call = Call(studio, request, visitor, request.query_params)
    if row.access != "public" and call.person.role != row.access:
        raise Refusal(403, "role", "This page is not for you.")
    if not changes:
        return call
    data = _parse(request, await _read_body(request))
    visit = request.cookies.get(COOKIES["visitor"]) if row.access == "public" else call.person.session
    if not visit:
        raise Refusal(403, "token", "The page's token is missing. Allow cookies for this site and load it again.")
    token = request.headers.get("x-studio-token") or data.get("page_token")
    expected = studio.page_token(visit).encode()
    if not isinstance(token, str) or not hmac.compare_digest(token.encode("utf-8", "replace"), expected):
        raise Refusal(403, "token", "The page's token is missing or out of date. Load the page again.")
    return replace(call, data=data)


async def _read_body(request: Request) -> bytes:
    """Return the body, up to the limit, whatever the length header says."""
    too_large = Refusal(413, "too-large", f"A request may hold {LONGEST_BODY // 1024} KB.")
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or len(length) > 12 or int(length) > LONGEST_BODY:
        raise too_large
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                content += part
                if len(content) > LONGEST_BODY:
                    raise too_large
    except TimeoutError:
        raise Refusal(408, "slow", "The request took too long to arrive.") from None
    return bytes(content)


def _parse(request: Request, raw: bytes) -> Mapping[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        try:
            content = json.loads(raw or b"{}", parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise Refusal(400, "json", "The request is not JSON.") from None
        if not isinstance(content, dict):
            raise Refusal(400, "json", "The request must be a JSON object.")
    elif kind == "application/x-www-form-urlencoded":
        try:
            content = dict(parse_qsl(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=200))
        except ValueError:
            raise Refusal(400, "form", "The form cannot be read.") from None
    else:
        raise Refusal(415, "content-type", "Send JSON or a form.")
    values: list[Any] = [content]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += [*value, *value.values()]
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str) and UNSTORABLE.search(value):
            raise Refusal(422, "characters", "The text contains NUL or half a character, which cannot be stored.")
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _refuse(studio: Studio, request: Request, refusal: Refusal) -> Response:
    """Return the response to a refused request: JSON for a script, a page in the study's language for a person."""
    path = request.scope["path"]
    if "/api/" in path or path == "/health":
        response = reply(refusal.body, refusal.status)
    else:
        language, message = studio.project.language, refusal.message
        if language.partition("-")[0].lower() != ENGLISH:
            message = read_words(language)["refused"].get(str(refusal.body["error"]), message)
        response = studio.page("error.html", status=refusal.status, message=message)
    if "retry_after" in refusal.more:
        response.headers["retry-after"] = str(int(refusal.more["retry_after"]) + 1)
    return response


class WebConnection(H11Protocol):
    """A connection that is closed when it does not send its request in time.

    The class attributes belong to one server: ``serve`` sets them on a subclass.
    """

    headers_of_errors: Mapping[str, str]
    idle: dict["WebConnection", asyncio.TimerHandle]  # without a request, in the order in which they began to wait
    by_address: Counter[str]

    def connection_made(self, transport: Any) -> None:
        """Begin to wait; when there are too many connections, close the one that has waited longest."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        self.by_address[self.address] += 1
        if self.address not in _LOCAL and self.by_address[self.address] > MOST_OF_ONE_ADDRESS:
            transport.close()
            return
        if self.by_address.total() > MOST_CONNECTIONS and self.idle:
            next(iter(self.idle)).transport.close()
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the counts."""
        self._stop_timer()
        self.by_address[self.address] -= 1
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read data; a head that arrives slowly gains no time, because the timer runs from its first byte."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._start_timer()
        else:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of a body that was not read."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._start_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, with the headers of every other response."""
        head = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(msg)), "connection": "close"}
        lines = [f"{name}: {value}" for name, value in {**head, **self.headers_of_errors}.items()]
        if not self.transport.is_closing():
            self.transport.write("\r\n".join(["HTTP/1.1 400 Bad Request", *lines, "", msg]).encode())
            self.transport.close()

    def _start_timer(self) -> None:
        if self not in self.idle:
            self.idle[self] = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if (timer := self.idle.pop(self, None)) is not None:
            timer.cancel()


def serve(
    studio: Studio,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    expose: bool = False,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Run until interrupted. ``expose`` is needed for an address that other machines can reach."""
    if not _is_loopback(host) and not expose:
        advice = "If you want that, add --expose, and put a proxy with HTTPS in front (--public-url https://…)."
        raise BadInput(f"{host} can be reached from other machines. {advice}")

    @contextlib.asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        watcher = asyncio.create_task(owner_pages.watch(studio))
        asyncio.get_running_loop().call_soon(ready, url)
        try:
            yield
        finally:
            watcher.cancel()
            studio.store.close()

    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    application = build(studio)
    application.router.lifespan_context = lifespan
    headers = security_headers(studio.project.crowd.frame, secure=studio.address.secure)
    attributes = {"headers_of_errors": headers, "idle": {}, "by_address": Counter()}
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        http=type("StudioConnection", (WebConnection,), attributes),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_graceful_shutdown=10,
        backlog=4096,
    )
    with contextlib.suppress(ImportError, ValueError, OSError):  # Many systems begin with 1,024 open files.
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    uvicorn.Server(config).run()


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
