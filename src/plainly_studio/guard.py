"""Between the network and the handlers: what is refused before a handler sees it, and what every response carries.

Access is part of the route table (see ``app``): a route that does not name its access is not served. A request that
changes something must come from our own page, which is shown twice: by its Origin, and by a token that only our page
was given.
"""

import asyncio
import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Refusal(Exception):
    """Raised inside a transaction it undoes it; raised in a handler it becomes the answer."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more
        self.body = {"error": code, "message": message, **more}


def invalid(field: str, message: str) -> Refusal:
    """The refusal of a request for one of its fields."""
    return Refusal(422, "invalid", message, field=field)


SAFE = frozenset({"GET", "HEAD"})
LONGEST_BODY = 256 * 1024
BODY_SECONDS = 20.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
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


def policy(frame: Sequence[str], *, secure: bool) -> dict[str, str]:
    """What every response carries; ``frame`` are the origins that may show our pages and get their form back."""
    content = _POLICY["content-security-policy"]
    if frame:
        hosts = " ".join(frame)
        content = content.replace("frame-ancestors 'none'", f"frame-ancestors {hosts}")
        content = content.replace("form-action 'self'", f"form-action 'self' {hosts}")
    strict = {"strict-transport-security": "max-age=31536000"} if secure else {}
    return {**_POLICY, "content-security-policy": content, **strict}


@dataclass(frozen=True)
class Address:
    """Where people reach the studio: what a proxy in front of it calls it, or the machine itself."""

    public_url: str = ""
    hosts: frozenset[str] = _LOOPBACK

    @property
    def base(self) -> str:
        """The path under which a proxy shows the studio, without a slash at its end."""
        return urlsplit(self.public_url).path.rstrip("/")

    @property
    def secure(self) -> bool:
        return self.public_url.startswith("https:")

    def origin(self, request: Request) -> str | None:
        """The one origin from which this request may change something; None for a host that is not ours."""
        if self.public_url:
            parts = urlsplit(self.public_url)
            return f"{parts.scheme}://{parts.netloc}"
        host = request.headers.get("host", "")
        name = urlsplit(f"//{host}").hostname or ""
        return f"http://{host}" if name in self.hosts else None


@dataclass
class Limiter:
    """A bucket for each sender that fills at ``rate`` a second up to ``burst``; empty means wait."""

    rate: float
    burst: float
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, who: str) -> float:
        """0 when the request may go on, else the seconds to wait."""
        now = time.monotonic()
        level, then = self._buckets.get(who, (self.burst, now))
        level = min(self.burst, level + (now - then) * self.rate)
        if len(self._buckets) > 10_000:
            self._buckets = {key: value for key, value in self._buckets.items() if now - value[1] < 600}
        if level < 1:
            self._buckets[who] = (level, now)
            return (1 - level) / self.rate
        self._buckets[who] = (level - 1, now)
        return 0.0


def check_host(request: Request, address: Address) -> None:
    """Refuse a host name that is not ours: a foreign name that resolves to this machine must not read our pages."""
    if address.origin(request) is None:
        raise Refusal(421, "host", "The studio does not answer under this host name. Serve it with --public-url.")


def check_origin(request: Request, address: Address) -> None:
    """Refuse a change that was not asked for by our own page."""
    origin = request.headers.get("origin")
    if origin is None or origin != address.origin(request):
        raise Refusal(403, "origin", "This request did not come from the studio's own page.")


def check_token(sent: object, expected: str) -> None:
    """Refuse a change without the page's token."""
    if not isinstance(sent, str) or not hmac.compare_digest(sent.encode("utf-8", "replace"), expected.encode()):
        raise Refusal(403, "token", "The page's token is missing or out of date. Load the page again.")


async def body(request: Request) -> bytes:
    """The body, up to the limit, whatever the length header says."""
    too_large = Refusal(413, "too-large", f"A request may hold {LONGEST_BODY // 1024} KB.")
    declared = request.headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdigit()) or len(declared) > 12 or int(declared) > LONGEST_BODY:
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


class Headers:
    """Every response, errors and files too, carries the policy and is not cached unless it says so."""

    def __init__(self, app: ASGIApp, *, address: Address, frame: Sequence[str] = ()) -> None:
        self.app, self.base = app, address.base
        self.policy = policy(frame, secure=address.secure)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        base, path = self.base, scope["path"]
        if base and (path == base or path.startswith(base + "/")):
            # Some proxies cut the prefix off and some do not.
            scope = {**scope, "path": path[len(base) :] or "/", "raw_path": None}

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self.policy)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_policy)


def integer(value: Any, name: str) -> int:
    """A whole number from a request, or a refusal."""
    try:
        number = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None:
        raise invalid(name, f"{name} must be a whole number.")
    if not -(2**53) < number < 2**53:
        raise invalid(name, f"{name} is out of range.")
    return number
