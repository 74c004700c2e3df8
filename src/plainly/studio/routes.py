"""The route table. Who may call what stands beside the path, and the security tests are generated from this list."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

from plainly.studio import doors, owner, work
from plainly.studio.context import Call

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
    Endpoint("GET", "/", "public", doors.start),
    Endpoint("GET", "/health", "public", doors.health, limited=False),
    Endpoint("GET", "/static/{name}", "public", doors.static, limited=False),
    Endpoint("GET", "/join/{token}", "public", doors.show_invitation),
    Endpoint("POST", "/join/{token}", "public", doors.accept_invitation),
    Endpoint("GET", "/work", "rater", work.page),
    Endpoint("POST", "/leave", "rater", doors.leave),
    Endpoint("GET", "/api/me", "rater", work.me),
    Endpoint("POST", "/api/claim", "rater", work.claim),
    Endpoint("POST", "/api/answer", "rater", work.answer),
    Endpoint("POST", "/api/draft", "rater", work.draft),
    Endpoint("POST", "/api/more-time", "rater", work.more_time),
    Endpoint("GET", "/api/answered", "rater", work.answered),
    Endpoint("GET", "/owner", "owner", owner.page),
    Endpoint("GET", "/owner/people", "owner", owner.people_page),
    Endpoint("GET", "/owner/disagreements", "owner", owner.disagreements_page),
    Endpoint("GET", "/owner/trail", "owner", owner.trail_page),
    Endpoint("GET", "/owner/export/{name}", "owner", owner.export),
    Endpoint("GET", "/owner/backup", "owner", owner.backup),
    Endpoint("GET", "/api/live", "owner", owner.live),
    Endpoint("POST", "/owner/invite", "owner", owner.invite),
    Endpoint("POST", "/owner/revoke", "owner", owner.revoke),
    Endpoint("POST", "/owner/remove", "owner", owner.remove),
    Endpoint("POST", "/owner/stop", "owner", owner.stop),
    Endpoint("POST", "/owner/adjudicate", "owner", owner.adjudicate),
    Endpoint("POST", "/owner/leave", "owner", doors.leave),
)
