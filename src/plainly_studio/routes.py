"""The route table. Who may call what stands beside the path, and the security tests are generated from this list."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

from plainly_studio import entry_pages, owner, owner_people, preview, settings, work
from plainly_studio.context import Call

Access = Literal["public", "rater", "owner"]


@dataclass(frozen=True)
class Endpoint:
    """One path and method, who may use it, and what answers."""

    method: Literal["GET", "POST"]
    path: str
    access: Access
    handler: Callable[[Call], Awaitable[Response]]
    limited: bool = True


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/", "public", entry_pages.start),
    Endpoint("GET", "/health", "public", entry_pages.health, limited=False),
    Endpoint("GET", "/static/{name}", "public", entry_pages.static, limited=False),
    Endpoint("GET", "/join/{token}", "public", entry_pages.show_invitation),
    Endpoint("POST", "/join/{token}", "public", entry_pages.accept_invitation),
    Endpoint("GET", "/work", "rater", work.page),
    Endpoint("POST", "/leave", "rater", entry_pages.leave),
    Endpoint("GET", "/api/me", "rater", work.me),
    Endpoint("POST", "/api/claim", "rater", work.claim),
    Endpoint("POST", "/api/answer", "rater", work.answer),
    Endpoint("POST", "/api/draft", "rater", work.draft),
    Endpoint("POST", "/api/more-time", "rater", work.more_time),
    Endpoint("POST", "/api/exit", "rater", work.leave),
    Endpoint("GET", "/api/answered", "rater", work.answered),
    Endpoint("GET", "/owner", "owner", owner.page),
    Endpoint("GET", "/owner/people", "owner", owner_people.page),
    Endpoint("GET", "/owner/disagreements", "owner", owner.disagreements_page),
    Endpoint("GET", "/owner/trail", "owner", owner.trail_page),
    Endpoint("GET", "/owner/export/{name}", "owner", owner.export),
    Endpoint("GET", "/owner/backup", "owner", owner.backup),
    Endpoint("GET", "/api/live", "owner", owner.live),
    Endpoint("POST", "/owner/invite", "owner", owner_people.invite),
    Endpoint("POST", "/owner/revoke", "owner", owner_people.revoke),
    Endpoint("POST", "/owner/remove", "owner", owner_people.remove),
    Endpoint("POST", "/owner/exclude", "owner", owner_people.exclude),
    Endpoint("POST", "/owner/restore", "owner", owner_people.restore),
    Endpoint("POST", "/owner/erase", "owner", owner_people.erase),
    Endpoint("GET", "/owner/settings", "owner", settings.page),
    Endpoint("POST", "/owner/settings", "owner", settings.save),
    Endpoint("POST", "/owner/settings/file", "owner", settings.take_file),
    Endpoint("POST", "/owner/stop", "owner", owner.stop),
    Endpoint("POST", "/owner/adjudicate", "owner", owner.adjudicate),
    Endpoint("POST", "/owner/leave", "owner", entry_pages.leave),
    Endpoint("GET", "/preview", "owner", preview.page),
    Endpoint("GET", "/preview/api/me", "owner", preview.me),
    Endpoint("GET", "/preview/api/answered", "owner", preview.nothing),
    Endpoint("POST", "/preview/api/claim", "owner", preview.claim),
    Endpoint("POST", "/preview/api/answer", "owner", preview.answer),
    Endpoint("POST", "/preview/api/draft", "owner", preview.nothing),
)
