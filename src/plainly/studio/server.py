"""Serving: one process, loopback unless told otherwise, ready in under two seconds."""

import asyncio
import contextlib
import ipaddress
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette

from plainly.errors import BadInput
from plainly.studio import owner
from plainly.studio.app import build
from plainly.studio.context import Studio


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
        watcher = asyncio.create_task(owner.watch(studio)) if studio.project.stop.half_width else None
        asyncio.get_running_loop().call_soon(ready, url)
        try:
            yield
        finally:
            if watcher is not None:
                watcher.cancel()
            studio.store.close()

    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    application.router.lifespan_context = lifespan
    quiet: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False}
    proxy: dict[str, Any] = {"proxy_headers": True, "forwarded_allow_ips": "127.0.0.1,::1"}
    limits: dict[str, Any] = {"timeout_graceful_shutdown": 10, "limit_concurrency": 1000}
    config = uvicorn.Config(application, host=host, port=port, **quiet, **proxy, **limits)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    uvicorn.Server(config).run()


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
