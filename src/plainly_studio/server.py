"""The server: one process, on this machine only unless told otherwise, ready in under two seconds.

Each connection has a few seconds to send the head of its request; when there are too many, the one that has waited
longest is closed. So two thousand idle connections do not block anybody.
"""

import asyncio
import contextlib
import ipaddress
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from plainly.core.errors import BadInput
from plainly_studio import owner_pages
from plainly_studio.app import build
from plainly_studio.context import Studio
from plainly_studio.guard import policy

HEAD_SECONDS = 10.0
MOST_CONNECTIONS = 1000
MOST_OF_ONE_ADDRESS = 200
_LOCAL = frozenset({"127.0.0.1", "::1", ""})


class Waiting:
    """The connections of one server, those without a request in the order in which they began to wait."""

    def __init__(self, *, frame: Sequence[str] = (), secure: bool = False) -> None:
        self.idle: dict[Connection, asyncio.TimerHandle] = {}
        self.open: set[Connection] = set()
        self.addresses: Counter[str] = Counter()
        self.headers = policy(frame, secure=secure)


class Connection(H11Protocol):
    """A connection that is closed when it does not come to the point; ``waiting`` is set by ``protocol``."""

    waiting: Waiting

    def connection_made(self, transport: Any) -> None:
        """Begin to wait, and send those away who wait longest where there are too many."""
        super().connection_made(transport)
        here, peer = self.waiting, transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        here.open.add(self)
        here.addresses[self.address] += 1
        if self.address not in _LOCAL and here.addresses[self.address] > MOST_OF_ONE_ADDRESS:
            transport.close()
            return
        if len(here.open) > MOST_CONNECTIONS and here.idle:
            next(iter(here.idle)).transport.close()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop()
        self.waiting.open.discard(self)
        self.waiting.addresses[self.address] -= 1
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A head that drips in does not gain time: the clock runs from its first byte."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop()

    def on_response_complete(self) -> None:
        """It waits again, for the next request or for the rest of a body that nobody read."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is refused with the headers of every other answer."""
        body = msg.encode()
        head = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), "connection": "close"}
        lines = [f"{name}: {value}" for name, value in (head | self.waiting.headers).items()]
        if not self.transport.is_closing():
            self.transport.write("\r\n".join(["HTTP/1.1 400 Bad Request", *lines, "", ""]).encode() + body)
            self.transport.close()

    def _wait(self) -> None:
        if self not in self.waiting.idle:
            self.waiting.idle[self] = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if (timer := self.waiting.idle.pop(self, None)) is not None:
            timer.cancel()


def protocol(*, frame: Sequence[str] = (), secure: bool = False) -> type[Connection]:
    """The protocol for one server."""
    return type("StudioConnection", (Connection,), {"waiting": Waiting(frame=frame, secure=secure)})


def serve(
    studio: Studio,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    expose: bool = False,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Run until interrupted. ``expose`` is needed for an address that others can reach."""
    if not _loopback(host) and not expose:
        raise BadInput(
            f"{host} can be reached from other machines. If that is meant, add --expose, and put a proxy with HTTPS in "
            "front (--public-url https://…)."
        )
    application = build(studio)

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
    application.router.lifespan_context = lifespan
    quiet: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False}
    proxy: dict[str, Any] = {"proxy_headers": True, "forwarded_allow_ips": "127.0.0.1,::1"}
    connection = protocol(frame=studio.project.crowd.frame, secure=studio.address.secure)
    limits: dict[str, Any] = {"timeout_graceful_shutdown": 10, "http": connection, "backlog": 4096}
    config = uvicorn.Config(application, host=host, port=port, **quiet, **proxy, **limits)
    _more_files()
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    uvicorn.Server(config).run()


def _more_files() -> None:
    """As many open connections as the system allows; many systems begin with 1,024."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
