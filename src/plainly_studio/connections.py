"""Connections that only wait: each has a few seconds to send its request's head, and when there are too many the one
that has waited longest goes. So two thousand idle ones are in nobody's way.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

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
