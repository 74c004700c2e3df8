"""Serving: one process, loopback unless told otherwise, ready in under two seconds."""

import asyncio
import contextlib
import ipaddress
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette

from plainly.core.errors import BadInput
from plainly_studio import owner
from plainly_studio.app import build
from plainly_studio.connections import protocol
from plainly_studio.context import Studio


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
        watcher = asyncio.create_task(owner.watch(studio))
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
