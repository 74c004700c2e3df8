"""What every handler needs: the open project, the request as it was understood, and how to answer."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from plainly.core.tables import jsonable
from plainly_studio import payment
from plainly_studio.guard import Address, Limiter, Refusal, invalid
from plainly_studio.ledger import Ledger
from plainly_studio.people import Person, Secret
from plainly_studio.project import Project
from plainly_studio.store import Store, Transaction, fact, keep_fact, note
from plainly_studio.wording import page_text

T = TypeVar("T")
HERE = Path(__file__).parent
_FRESH_SECONDS = 2.0
SESSION_COOKIE = "studio_session"
OWNER_COOKIE = "studio_owner"  # a second one, so that an owner can be a rater in the same browser
VISIT_COOKIE = "studio_visit"
MEDIA = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass
class Studio:
    """A running studio."""

    store: Store
    secret: Secret
    address: Address = field(default_factory=Address)
    file: Path | None = None
    writes: Limiter = field(default_factory=lambda: Limiter(rate=40, burst=400))
    visits: Limiter = field(default_factory=lambda: Limiter(rate=10, burst=300))
    _project: tuple[float, Project] | None = None
    _proof: Future[None] | None = None
    _proved: float = 0.0
    _pace: tuple[float, float] | None = None

    @property
    def project(self) -> Project:
        """The settings; read anew every few seconds, because another server may have changed them."""
        now = time.monotonic()
        if self._project is None or now - self._project[0] > _FRESH_SECONDS:
            self._project = (now, self.store.project())
        return self._project[1]

    def reload(self) -> None:
        """Read the settings anew at once."""
        self._project = None

    @cached_property
    def foreign_secret(self) -> bool:
        """Whether the secret is another than the one that the study began with, whose print is kept."""
        printed = self.secret.sign("print", "")[:16]

        def first(connection: Connection) -> str:
            if (before := fact(connection, "secret")) is None:
                keep_fact(connection, "secret", printed)
            return before or printed

        return self.store.write_now(first) != printed

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
        common = {"base": self.address.base, "project": self.project, "t": partial(page_text, self.project.language)}
        text = self.templates.get_template(name).render(**common, **values)
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

    async def seconds_each(self) -> float:
        """About how long an item takes; worked out anew every half minute."""
        now = time.monotonic()
        if self._pace is None or now - self._pace[0] > 30:
            project = self.project
            seconds = await self.read(lambda connection: payment.seconds_each(connection, project))
            self._pace = (now, seconds)
        return self._pace[1]

    async def written(self) -> None:
        """Prove that something can be written; whoever asks within the same second gets the same answer."""
        now = time.monotonic()
        if self._proof is None or now - self._proved > 1:
            moment = str(time.time())
            self._proof = self.store.write(lambda connection: keep_fact(connection, "alive_at", moment))
            self._proved = now
        await asyncio.shield(asyncio.wrap_future(self._proof))

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

    async def change(self, work: Transaction[object], then: str) -> Response:
        """Write, and go on to another page."""
        await self.studio.write(work)
        return self.studio.redirect(then)


def reply(content: dict[str, Any], status: int = 200) -> Response:
    """JSON; what is not a number is null."""
    return JSONResponse(jsonable(content), status)


def day(seconds: float | None) -> str:
    """A moment as the owner's pages show it, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else ""
