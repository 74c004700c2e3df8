"""The open project and the request, as every handler gets them."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from plainly.core.errors import BadInput
from plainly.core.files import read_shipped
from plainly.core.tables import jsonable
from plainly_studio.exports import Ledger
from plainly_studio.people import Person, Secret, seconds_per_item
from plainly_studio.project import Project
from plainly_studio.store import InvalidField, Refusal, Store, Transaction, log_event, read_fact, store_fact

T = TypeVar("T")
HERE = Path(__file__).parent
ENGLISH = "en"
_FRESH_SECONDS = 2.0
_ESTIMATE_SECONDS = 10.0
# By role: an owner can be a rater in the same browser, and a visitor has no session yet.
COOKIES = {"rater": "studio_session", "owner": "studio_owner", "visitor": "studio_visit"}
_TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def languages() -> tuple[str, ...]:
    """Return the languages of the interface; each has a file, and English supplies what a file lacks."""
    return tuple(sorted(path.stem for path in (HERE / "languages").glob("*.toml")))


@cache
def read_words(language: str) -> Mapping[str, dict[str, str]]:
    """Return the words of the pages by section and name, in English where the language has no file."""
    name = language.partition("-")[0].lower()
    english, own = (read_shipped(__file__, f"languages/{one if one in languages() else ENGLISH}.toml")
                    for one in (ENGLISH, name))  # fmt: skip
    return {section: {**english[section], **own.get(section, {})} for section in english}


@dataclass(frozen=True)
class Address:
    """The address of the studio: the URL of a proxy in front of it, or the machine itself."""

    public_url: str = ""
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})

    @property
    def base(self) -> str:
        """The path under which a proxy shows the studio, without a slash at its end."""
        return urlsplit(self.public_url).path.rstrip("/")

    @property
    def secure(self) -> bool:
        return self.public_url.startswith("https:")

    def origin(self, request: Request) -> str | None:
        """Return the only origin from which this request may change something; None for a foreign host name."""
        if self.public_url:
            parts = urlsplit(self.public_url)
            return f"{parts.scheme}://{parts.netloc}"
        host = request.headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            raise Refusal(400, "host", "The Host header of this request is not a host name.") from None
        return f"http://{host}" if name in self.hosts else None


@dataclass
class Limiter:
    """A bucket for each sender that fills at ``rate`` a second up to ``burst``; a request needs one unit."""

    rate: float
    burst: float
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait_seconds(self, sender: str) -> float:
        """Count a request; return 0 when it may go on, else the seconds to wait."""
        now = time.monotonic()
        level, then = self._buckets.get(sender, (self.burst, now))
        level = min(self.burst, level + (now - then) * self.rate)
        if len(self._buckets) > 10_000:
            self._buckets = {key: value for key, value in self._buckets.items() if now - value[1] < 600}
        self._buckets[sender] = (level if level < 1 else level - 1, now)
        return max(0.0, (1 - level) / self.rate)


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
    _proof: tuple[float, Future[None]] | None = None
    _seconds_per_item: tuple[float, float] | None = None

    @property
    def project(self) -> Project:
        """The settings, read again every few seconds because another server may have changed them."""
        now = time.monotonic()
        if self._project is None or now - self._project[0] > _FRESH_SECONDS:
            try:
                self._project = (now, self.store.project())
            except BadInput:  # The database does not answer, or the study was moved: requests that need it are refused.
                if self._project is None:
                    raise
        return self._project[1]

    def seconds_per_item(self, connection: Connection) -> float:
        """Estimate how long an item takes; the estimate is renewed every few seconds."""
        now = time.monotonic()
        if self._seconds_per_item is None or now - self._seconds_per_item[0] > _ESTIMATE_SECONDS:
            self._seconds_per_item = (now, seconds_per_item(connection, self.project))
        return self._seconds_per_item[1]

    def reload(self) -> None:
        """Read the settings again at the next use."""
        self._project = None

    @cached_property
    def has_foreign_secret(self) -> bool:
        """Whether the secret differs from the one with which the study began, whose fingerprint is stored."""
        fingerprint = self.secret.sign("print", "")[:16]

        def read_first(connection: Connection) -> str:
            if (first := read_fact(connection, "secret")) is None:
                store_fact(connection, "secret", fingerprint)
            return first or fingerprint

        return self.store.write_now(read_first) != fingerprint

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.store)

    def page(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page from its template."""
        language = self.project.language
        words = read_words(language)["pages"]

        def translate(name: str, **gaps: object) -> str:
            is_one = gaps.get("count") == 1 or (gaps.get("count") == 0 and language.startswith("fr"))
            return ((is_one and words.get(f"{name}_one")) or words[name]).format(**gaps)

        common = {"base": self.address.base, "project": self.project, "t": translate}
        text = _TEMPLATES.get_template(name).render(**common, **values)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def redirect(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self.address.base}{path}", 303)

    async def read(self, work: Transaction[T]) -> T:
        return await run_in_threadpool(self.store.read, work)

    async def look_up(self, work: Transaction[T]) -> T:
        """Read something short that every request needs."""
        return await asyncio.wrap_future(self.store.look_up(work))

    async def write(self, work: Transaction[T]) -> T:
        return await asyncio.wrap_future(self.store.write(work))

    async def compute(self, work: Callable[[Ledger, Project], T]) -> T:
        """Run a function over all current answers, in a thread, so that other requests go on."""
        await run_in_threadpool(self.ledger.refresh)
        return await run_in_threadpool(work, self.ledger, self.project)

    async def prove_writable(self) -> None:
        """Write something to the database, at most once a second; callers within a second share the result."""
        now = time.monotonic()
        if self._proof is None or now - self._proof[0] > 1:
            moment = str(time.time())
            self._proof = (now, self.store.write(lambda connection: store_fact(connection, "alive_at", moment)))
        await asyncio.shield(asyncio.wrap_future(self._proof[1]))

    def page_token(self, session: str) -> str:
        """Return the token that a page sends with every change."""
        return self.secret.sign("page", session)


@dataclass(frozen=True)
class Call:
    """A request that was admitted."""

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
        """Return a text field of the request."""
        value = self.data.get(name, default)
        if not isinstance(value, str) or len(value) > longest:
            raise InvalidField(name, f"{name} must be text of at most {longest} characters.")
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a field of the request that is a whole number."""
        return parse_integer(self.data.get(name, default), name)

    def page(self, name: str, **values: Any) -> Response:
        """Return a page whose forms carry the person's token."""
        return self.studio.page(name, page_token=self.studio.page_token(self.person.session), **values)

    def log(self, connection: Connection, action: str, **detail: Any) -> None:
        """Add what the person did to the audit trail."""
        log_event(connection, self.person.pseudonym, action, detail)

    async def change(self, work: Transaction[object], then: str) -> Response:
        """Write, and redirect to another page."""
        await self.studio.write(work)
        return self.studio.redirect(then)


def reply(content: dict[str, Any], status: int = 200) -> Response:
    """Return a JSON response; NaN becomes null."""
    return JSONResponse(jsonable(content), status)


def parse_integer(value: Any, name: str) -> int:
    """Return a whole number from a request, or refuse it."""
    with suppress(ValueError):
        if isinstance(value, (int, str)) and not isinstance(value, bool) and abs(int(value)) < 2**53:
            return int(value)
    raise InvalidField(name, f"{name} must be a whole number, and not too large.")


def format_time(seconds: float | None) -> str:
    """Return a moment as the owner's pages show it, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else ""
