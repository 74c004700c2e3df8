"""What every handler needs: the open project, the request as it was understood, and how to answer."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from plainly.render.show import jsonable
from plainly.studio.guard import Address, Limiter
from plainly.studio.ledger import Ledger
from plainly.studio.people import Person, Secret
from plainly.studio.project import Project
from plainly.studio.refusal import Refusal, invalid
from plainly.studio.store import Store, Transaction, note

T = TypeVar("T")
HERE = Path(__file__).parent
SESSION_COOKIE = "studio_session"
VISIT_COOKIE = "studio_visit"
MEDIA = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass
class Studio:
    """A running studio."""

    store: Store
    secret: Secret
    address: Address = field(default_factory=Address)
    writes: Limiter = field(default_factory=lambda: Limiter(rate=40, burst=400))
    visits: Limiter = field(default_factory=lambda: Limiter(rate=10, burst=300))

    @cached_property
    def project(self) -> Project:
        return self.store.project()

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.store)

    @cached_property
    def assets(self) -> Mapping[str, tuple[bytes, str]]:
        """The page's scripts and styles with a tag for each content; nothing else can be asked for."""
        contents = {path.name: path.read_bytes() for path in (HERE / "static").iterdir() if path.suffix in MEDIA}
        return {name: (content, hashlib.sha256(content).hexdigest()[:16]) for name, content in contents.items()}

    @cached_property
    def templates(self) -> Environment:
        files = FileSystemLoader(HERE / "templates")
        return Environment(
            loader=files, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    def page(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A page from its template."""
        text = self.templates.get_template(name).render(base=self.address.base, project=self.project, **values)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def redirect(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self.address.base}{path}", 303)

    async def read(self, work: Transaction[T]) -> T:
        return await run_in_threadpool(self.store.read, work)

    async def compute(self, work: Callable[[Ledger, Project], T]) -> T:
        """Do this with all answers as they are now, beside the requests that go on."""
        await run_in_threadpool(self.ledger.refresh)
        return await run_in_threadpool(work, self.ledger, self.project)

    async def write(self, work: Transaction[T]) -> T:
        return await asyncio.wrap_future(self.store.write(work))

    def page_token(self, session: str) -> str:
        """What our own page sends with every change."""
        return self.secret.sign("page", session)


@dataclass(frozen=True)
class Call:
    """A request that passed the guard."""

    studio: Studio
    request: Request
    visitor: Person | None
    data: Mapping[str, Any]

    @property
    def person(self) -> Person:
        if self.visitor is None:
            raise Refusal(401, "session", "Your session has ended. Open your link again to go on.")
        return self.visitor

    def text(self, name: str, default: str | None = None, *, longest: int = 4000) -> str:
        """A text field of the request."""
        value = self.data.get(name, default)
        if not isinstance(value, str) or len(value) > longest:
            raise invalid(name, f"{name} must be text of at most {longest} characters.")
        return value

    def page(self, name: str, **values: Any) -> Response:
        """A page for the person who asked, whose forms carry its token."""
        return self.studio.page(name, page_token=self.studio.page_token(self.person.session), **values)

    def note(self, connection: Connection, action: str, **detail: Any) -> None:
        """Add what the person did to the audit trail."""
        note(connection, self.person.pseudonym, action, detail)

    async def change(self, work: Transaction[None], then: str) -> Response:
        """Write, and go on to another page."""
        await self.studio.write(work)
        return self.studio.redirect(then)


def reply(content: dict[str, Any], status: int = 200) -> Response:
    """JSON; what is not a number is null."""
    return JSONResponse(jsonable(content), status)
