"""The people of a study, as its owner sees them: links, who came, what they are paid by, and whose answers count."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import Connection, select
from starlette.responses import Response

from plainly_studio import payment, people, roster, schema
from plainly_studio.context import Call, day
from plainly_studio.guard import integer
from plainly_studio.refusal import Refusal, invalid

_PAGE = "/owner/people"


async def page(call: Call, link: str = "") -> Response:
    """Who was invited, who came, and the form for another link."""
    rater, invitation, studio = schema.rater, schema.invitation, call.studio
    invited = select(invitation, rater.c.pseudonym).outerjoin(rater, rater.c.id == invitation.c.rater_id)

    def work(connection: Connection) -> tuple[Any, Any]:
        came = payment.roster(connection, studio.project, studio.secret)
        return connection.execute(invited.order_by(invitation.c.id)).all(), came

    invitations, raters = await studio.read(work)
    ids = [name for name in studio.project.crowd.parameters if any(row[name] for row in raters)]
    shown: dict[str, Any] = {"invitations": invitations, "raters": raters, "ids": ids, "link": link, "day": day}
    return call.page("people.html", here="people", lists=payment.LISTS, **shown)


async def invite(call: Call) -> Response:
    """Make a link and show it, once."""
    wanted, by = call.text("kind"), call.person.pseudonym
    label = call.text("label", "", longest=200)
    kinds: tuple[people.InvitationKind, ...] = ("person", "crowd", "owner")
    kind = next((kind for kind in kinds if kind == wanted), None)
    if kind is None:
        raise invalid("kind", "A link is for a person, a crowd or an owner.")
    once = kind != "crowd" and call.data.get("once") == "yes"
    token = await call.studio.write(lambda connection: people.invite(connection, kind, label=label, once=once, by=by))
    origin = call.studio.address.origin(call.request) or ""
    return await page(call, f"{origin}{call.studio.address.base}/join/{token}")


async def revoke(call: Call) -> Response:
    """End a link and its sessions."""
    number = integer(call.data.get("invitation"), "invitation")

    def work(connection: Connection) -> None:
        people.revoke(connection, number)
        call.note(connection, "revoke", invitation=number)

    return await call.change(work, _PAGE)


async def remove(call: Call) -> Response:
    """End a person's access. What they answered stays and counts."""
    return await _decide(call, roster.end_access)


async def exclude(call: Call) -> Response:
    """A person's answers count nowhere; their items may go to others."""
    why = call.text("why", "", longest=200)
    return await _decide(call, roster.exclude, why=why, replace=call.data.get("replace") == "yes")


async def restore(call: Call) -> Response:
    """A person's answers count again."""
    return await _decide(call, roster.restore)


async def erase(call: Call) -> Response:
    """Delete a person and what they answered, at their request."""
    if call.data.get("sure") != "yes":
        raise Refusal(422, "sure", "Deleting cannot be undone. Go back and tick the box beside the button.")
    return await _decide(call, roster.erase)


async def _decide(call: Call, action: Callable[..., object], **how: Any) -> Response:
    """What the owner decides about a rater."""
    rater = call.text("rater", longest=64)
    return await call.change(partial(action, pseudonym=rater, by=call.person.pseudonym, **how), _PAGE)
