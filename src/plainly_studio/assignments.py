"""Assignments: who gets which item, and what they answer.

In a planned design each person takes a place, and gets its items in the plan's order (see ``designs``). In a free one,
every item goes to one person before any goes to a second, up to the overlap, in a different order for each person; only
the first items get all their people at once, so that agreement is known early. Checks and repeated items come at random
places between the others.

A person to whom a number of items was announced has them reserved from the consent on, as long as they are at work.
They get that number in any case: who comes back after the place was given up may judge items beyond the overlap.

A person who gets an item has a lease on it. When it expires, the item is offered to others, and to the same person
again while it is open. ``item.taken`` counts reserved items, leases and answers towards the overlap, in the transaction
that changes them, so that a claim costs the same however large the project is. An answer is stored once, however often
it is sent; it never replaces a newer one, and a late one is stored and marked. "Cannot judge" is an answer, but the
item is offered to somebody else.
"""

import hashlib
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, exists, func, insert, select, text, tuple_, update

from plainly_studio import tasks
from plainly_studio.project import Project
from plainly_studio.schema import assignment, draft, entry, item, plan, rater
from plainly_studio.store import InvalidField, Refusal, read_fact

LARGEST_ANSWER = 64 * 1024
MOST_REVISIONS = 50
ANSWERED = ("done", "declined", "replaced")
_TAKING = ("reserved", "leased", "done")  # the states that count in ``item.taken``
_LEASES_PER_AHEAD = 3
_POOL = 200
_PLANNED_PLACE_SECONDS = 24 * 3600.0  # so long a place in a plan stays reserved for a person who is away
_WITH_ITEM = item.join(assignment, assignment.c.item_id == item.c.id)
# Statements of every request are built once, which saves a tenth of its time.
_FIND = (
    select(assignment, item, draft.c.payload.label("draft"))
    .select_from(_WITH_ITEM.outerjoin(draft, draft.c.assignment_id == assignment.c.id))
    .where(assignment.c.id == bindparam("number"))
)
_FIND_OWN = _FIND.where(assignment.c.rater_id == bindparam("rater"))
_FIND_OWN_LOCKED = _FIND_OWN.with_for_update(of=assignment)
_FIND_KEY = select(entry).where(entry.c.rater_id == bindparam("rater"), entry.c.key == bindparam("sent_key"))
_INSERT = insert(entry).returning(entry)
_COUNT_STATES = (
    select(assignment.c.state, func.count())
    .where(assignment.c.rater_id == bindparam("rater"))
    .group_by(assignment.c.state)
)
_COUNT_MAIN = (
    select(assignment.c.state, func.count())
    .select_from(_WITH_ITEM)
    .where(item.c.kind == "main", assignment.c.rater_id == bindparam("rater"), assignment.c.state.in_(ANSWERED))
    .group_by(assignment.c.state)
)
_COUNT_KINDS = (
    select(item.c.kind, func.count())
    .select_from(_WITH_ITEM)
    .where(assignment.c.rater_id == bindparam("rater"), assignment.c.state.not_in(("expired", "reserved")))
    .group_by(item.c.kind)
)
_FIND_SPECIAL_KINDS = select(item.c.kind).where(item.c.kind.not_in(("main", "tied"))).distinct()
_FIND_LEASE = select(assignment.c.id, assignment.c.state).where(
    assignment.c.item_id == bindparam("item"), assignment.c.rater_id == bindparam("rater")
)
_INSERT_LEASE = insert(assignment).returning(assignment.c.id)
_END_PLACES = update(rater).where(rater.c.place_until < bindparam("now")).values(place_until=None).returning(rater.c.id)
_TAKE = update(item).where(item.c.id == bindparam("number")).values(taken=item.c.taken + bindparam("times"))


@dataclass(frozen=True)
class Claim:
    """The next items of a rater, or the reason why there are none."""

    items: tuple[dict[str, Any], ...]
    state: str  # working, waiting (others hold what is left), finished, failed
    answered: int
    total: int | None  # how many items this person will have answered in the end, as things stand
    done: int  # of the study's own items, without practice, test and checks
    declined: int = 0  # of these, the items that the rater could not judge


def claim(
    connection: Connection,
    project: Project,
    rater_id: int,
    *,
    want: int,
    have: Sequence[int] = (),
    now: float,
    promised: int | None = None,
) -> Claim:
    """Return the items that the rater holds already but not in ``have``, and new ones until there are ``want``.

    A person to whom a number of items was ``promised`` gets as many, and no more.
    """
    end_expired(connection, now)
    if promised is not None:
        _keep_place(connection, project, rater_id, now)
    leases = select(assignment.c.id).where(assignment.c.rater_id == rater_id, assignment.c.state == "leased")
    own = connection.execute(leases.order_by(assignment.c.id)).scalars().all()
    numbers = [number for number in own if number not in have]
    want = min(want, len(numbers) + max(0, _LEASES_PER_AHEAD * project.assignment.ahead - len(own)))
    state = "working"
    while (missing := want - len(numbers)) > 0:
        rows, state = _choose(connection, project, rater_id, missing, have, promised)
        if not rows:
            break
        numbers += [_lease(connection, project, rater_id, row, now) for row in rows]
    items = tuple(present(connection, project, number) for number in numbers)
    return Claim(
        items,
        "working" if items or have else state,
        count_answers(connection, rater_id),
        _estimate_total(connection, project, rater_id, promised),
        *count_main_answers(connection, rater_id),
    )


def next_state(connection: Connection, project: Project, rater_id: int, promised: int | None = None) -> str:
    """Return the state of the next claim of a rater without leases, without handing anything out."""
    return _choose(connection, project, rater_id, 1, (), promised, is_peek=True)[1]


def count_answers(connection: Connection, rater_id: int) -> int:
    """Count the items that a rater has answered."""
    states = count_states(connection, rater_id)
    return sum(states[state] for state in ANSWERED)


def count_states(connection: Connection, rater_id: int) -> Counter[str]:
    """Count a rater's assignments by state."""
    return Counter({str(state): int(count) for state, count in connection.execute(_COUNT_STATES, {"rater": rater_id})})


def count_main_answers(connection: Connection, rater_id: int) -> tuple[int, int]:
    """Count the study's own items that a rater has answered, and those of them that they could not judge."""
    rows = connection.execute(_COUNT_MAIN, {"rater": rater_id})
    counts = Counter({str(state): int(count) for state, count in rows})
    return counts.total(), counts["declined"]


def release(connection: Connection, rater_id: int) -> None:
    """End all leases of a rater, and give up the place."""
    for state in ("leased", "reserved"):
        change_state(connection, state, "expired", assignment.c.rater_id == rater_id)
    connection.execute(update(rater).where(rater.c.id == rater_id).values(place_until=None))


def count_open_items(connection: Connection, project: Project) -> int:
    """Count the study's own items that a newcomer could get."""
    if project.assignment.design == "free":
        count = _count(connection, item.c.kind == "main", item.c.taken < project.assignment.overlap, table=item)
    else:
        count = _count(connection, plan.c.place == _find_place(connection), _is_open_in_plan(), table=plan)
    return max(0, min(count, _remaining_items(connection, project)))


def reserve(connection: Connection, project: Project, rater_id: int, count: int, now: float) -> None:
    """Reserve items for a person at the consent: those of a free place in the plan or, without a plan, open ones.

    Without a plan, items that every one of the people still needed has to judge come first. So the last person finds
    enough different items where the numbers of people and items fit exactly.
    """
    if project.assignment.design != "free":
        place = _find_place(connection)
        connection.execute(update(rater).where(rater.c.id == rater_id).values(place=place))
        planned = select(item).join(plan, plan.c.item_id == item.c.id).where(plan.c.place == place, _is_open_in_plan())
        _reserve_items(
            connection, project, rater_id, connection.execute(planned.order_by(plan.c.position).limit(count)).all(), now
        )
        _keep_place(connection, project, rater_id, now, is_new=True)
        return
    overlap = project.assignment.overlap
    free = select(func.sum(overlap - item.c.taken)).where(item.c.kind == "main", item.c.taken < overlap)
    people = math.ceil((connection.execute(free).scalar() or 0) / count)
    _keep_place(connection, project, rater_id, now, is_new=True)
    while count > 0:
        rows, _ = _choose_main(connection, project, rater_id, count, (), urgent=overlap - people)
        if not rows:
            return
        _reserve_items(connection, project, rater_id, rows, now)
        count -= len(rows)


def _reserve_items(
    connection: Connection, project: Project, rater_id: int, rows: Sequence[Row[Any]], now: float
) -> None:
    values = {"leased_at": now, "expires_at": now, "state": "reserved"}
    connection.execute(insert(assignment), [{**_new_assignment(project, rater_id, row), **values} for row in rows])
    for row in rows:
        _take(connection, row.id)


def end_expired(connection: Connection, now: float) -> None:
    """End expired leases, and the places of people who are away; until the commit, others wait to choose."""
    if connection.dialect.name == "postgresql":  # One at a time; SQLite has a single writer anyway.
        connection.execute(text("SELECT pg_advisory_xact_lock(709217)"))
    change_state(connection, "leased", "expired", assignment.c.expires_at < now)
    if people := connection.execute(_END_PLACES, {"now": now}).scalars().all():
        change_state(connection, "reserved", "expired", assignment.c.rater_id.in_(people))


def _keep_place(connection: Connection, project: Project, rater_id: int, now: float, *, is_new: bool = False) -> None:
    """Keep a person's reserved items for another while; a place that was given up stays so."""
    own = update(rater).where(rater.c.id == rater_id)
    if not is_new:
        own = own.where(rater.c.place_until.is_not(None))
    seconds = project.assignment.lease_minutes * 60
    if project.assignment.design != "free":  # Somebody else would disturb the plan.
        seconds = max(seconds, _PLANNED_PLACE_SECONDS)
    connection.execute(own.values(place_until=now + seconds))


def change_state(connection: Connection, old: str, new: str, condition: Any, *, times: int = -1) -> int:
    """Change the state of assignments, which frees their items or takes them again; return their number."""
    change = update(assignment).where(assignment.c.state == old, condition).values(state=new)
    items = connection.execute(change.returning(assignment.c.item_id)).scalars().all()
    for item_id, people in Counter(items).items():
        _take(connection, item_id, times * people)
    return len(items)


def extend_lease(connection: Connection, project: Project, rater_id: int, number: int) -> float:
    """Give a rater more time for an item; return when it expires now."""
    row = own_assignment(connection, rater_id, number)
    until = time.time() + project.assignment.lease_minutes * 60
    state = "leased" if row.state == "expired" else row.state
    connection.execute(update(assignment).where(assignment.c.id == row.id).values(expires_at=until, state=state))
    if row.state == "expired":
        _take(connection, row.item_id)
    _keep_place(connection, project, rater_id, time.time())
    return until


def _take(connection: Connection, item_id: int, times: int = 1) -> None:
    """Count people who hold or have answered an item; a negative number frees it."""
    connection.execute(_TAKE, {"number": item_id, "times": times})


def _special_kinds(connection: Connection) -> set[str]:
    return set(connection.execute(_FIND_SPECIAL_KINDS).scalars())


def _estimate_total(connection: Connection, project: Project, rater_id: int, promised: int | None) -> int:
    """Estimate how many answers a rater will have given in the end: answers so far, leases, and items open to them."""
    kinds = _special_kinds(connection)
    is_own = assignment.c.rater_id == rater_id
    if promised is not None:
        total = promised + _count(connection, item.c.kind.in_(kinds - {*_SCATTERED}), table=item)
        for kind in kinds & {*_SCATTERED}:
            available = _count(connection, item.c.kind == kind, table=item)
            total += min(available, count_scattered(project, kind, promised))
        return total
    total = _count(connection, is_own, assignment.c.state.in_(("leased", *ANSWERED)))
    total += _count(connection, item.c.kind.in_(kinds - {*_SCATTERED}), _is_unseen(rater_id), table=item)
    limit = project.assignment.per_rater
    counts = _count_by_kind(connection, rater_id) if limit or kinds & {*_SCATTERED} else Counter[str]()
    most = limit - counts["main"] if limit else sys.maxsize
    is_open = (item.c.kind == "main") & (item.c.taken < project.assignment.overlap)
    own = _count(connection, is_open, is_own, assignment.c.state != "expired")
    left = max(0, min(_count(connection, is_open, table=item) - own, most, _remaining_items(connection, project)))
    for kind in kinds & {*_SCATTERED}:
        unseen = _count(connection, item.c.kind == kind, _is_unseen(rater_id), table=item)
        left += max(0, min(unseen, count_scattered(project, kind, counts["main"] + left) - counts[kind]))
    return total + left


# Kinds of items that are scattered between the others: the setting for how often, and the first round that has one.
_SCATTERED = {"check": ("check_every", 0), "repeat": ("repeat_every", 1)}


def count_scattered(project: Project, kind: str, main: int) -> int:
    """Return how many checks or repeated items belong to a number of items: one for each whole round."""
    setting, start = _SCATTERED[kind]
    every: int = getattr(project.quality, setting)
    return max(0, main // every - start) if every else 0


def _next_scattered(project: Project, kind: str, rater_id: int, count: int) -> int:
    """Return after how many items the next check or repeated item comes: at a random place of its round."""
    setting, start = _SCATTERED[kind]
    every: int = getattr(project.quality, setting)
    return (count + start) * every + random.Random(f"{project.seed}:{rater_id}:{kind}:{count}").randrange(every)


def _find_repeats(connection: Connection, project: Project, rater_id: int) -> Any:
    """Return the condition for items that repeat one which the rater answered at least a round ago."""
    main = item.alias()
    was_handed_out = assignment.c.state.not_in(("expired", "reserved"))
    answered = (
        select(main.c.name, main.c.outputs, assignment.c.state)
        .join(assignment, assignment.c.item_id == main.c.id)
        .where(assignment.c.rater_id == rater_id, main.c.kind == "main", was_handed_out)
        .order_by(assignment.c.id)
    )
    rows = connection.execute(answered).all()
    old = [row for row in rows[: max(0, len(rows) - project.quality.repeat_every + 1)] if row.state == "done"]
    return tuple_(item.c.name, item.c.outputs).in_([(row.name, row.outputs) for row in old])


def _count(connection: Connection, *conditions: Any, table: Any = _WITH_ITEM) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())


def _count_by_kind(connection: Connection, rater_id: int) -> Counter[str]:
    rows = connection.execute(_COUNT_KINDS, {"rater": rater_id})
    return Counter({str(kind): int(count) for kind, count in rows})


def _choose(
    connection: Connection,
    project: Project,
    rater_id: int,
    most: int,
    have: Sequence[int],
    promised: int | None,
    *,
    is_peek: bool = False,
) -> tuple[Sequence[Row[Any]], str]:
    """Return the next items for a rater, or why there are none. Training comes first, then the test, then the work."""
    counts, kinds = _count_by_kind(connection, rater_id), _special_kinds(connection)

    def next_special(kind: str) -> Sequence[Row[Any]]:
        is_new = (item.c.kind == kind) & _is_unseen(rater_id, have)
        return connection.execute(select(item).where(is_new).order_by(item.c.place).limit(1)).all()

    def draw_special(kind: str) -> Sequence[Row[Any]]:
        conditions = [item.c.kind == kind, _is_unseen(rater_id, have)]
        if kind == "repeat":
            conditions.append(_find_repeats(connection, project, rater_id))
        numbers = connection.execute(select(item.c.id).where(*conditions)).scalars()
        number = min(numbers, key=lambda number: _shuffle_key(project.seed, rater_id, number), default=0)
        return connection.execute(select(item).where(item.c.id == number)).all()

    def scatter(rows: Sequence[Row[Any]], own: int) -> Sequence[Row[Any]]:
        """Return a check or repeated item if one is due; otherwise the items that come before the next one."""
        for kind in [kind for kind in _SCATTERED if rows and kind in kinds]:
            if counts[kind] < count_scattered(project, kind, own):
                position = _next_scattered(project, kind, rater_id, counts[kind])
                if counts["main"] >= position and (special := draw_special(kind)):
                    return special
                rows = rows[: max(1, position - counts["main"])]
        return rows

    for kind in [kind for kind in ("training", "qualification") if kind in kinds]:
        if rows := next_special(kind):
            return rows, "working"
        is_open = assignment.c.state.in_(("leased", "expired"))
        if _count(connection, assignment.c.rater_id == rater_id, item.c.kind == kind, is_open):
            return [], "working"  # the answers of this part decide what comes next
    if "qualification" in kinds and not _is_qualified(connection, project, rater_id):
        return [], "failed"
    if promised is not None:
        rows, state = _choose_promised(connection, project, rater_id, min(most, promised - counts["main"]), have)
        return scatter(rows, promised), state
    if project.assignment.per_rater:
        most = min(most, project.assignment.per_rater - counts["main"])
    most = min(most, _remaining_items(connection, project))
    if most <= 0:
        return [], "finished"
    if is_peek and connection.execute(_open_items(project, rater_id, have).limit(1)).first():
        return [], "working"
    rows, state = _choose_main(connection, project, rater_id, most, have)
    return scatter(rows, project.assignment.per_rater or _count(connection, item.c.kind == "main", table=item)), state


def _is_open_in_plan() -> Any:
    """Return the condition for rows of the plan that none of the people who have or had the place holds or answered."""
    is_taken = (assignment.c.item_id == plan.c.item_id) & assignment.c.state.in_(_TAKING)
    own = select(1).join(rater, rater.c.id == assignment.c.rater_id).where(is_taken, rater.c.place == plan.c.place)
    return ~own.correlate(plan).exists()


def _find_place(connection: Connection) -> int | None:
    """Return the first place of the plan in which something is open and no one is at work; None if there is none."""
    is_at_work = rater.c.place_until.is_not(None) & (rater.c.state == "active") & rater.c.excluded_at.is_(None)
    holders = select(rater.c.place).where(rater.c.place.is_not(None), is_at_work)
    free = select(func.min(plan.c.place)).where(plan.c.place.not_in(holders), _is_open_in_plan())
    return connection.execute(free).scalar()


def _choose_promised(
    connection: Connection, project: Project, rater_id: int, most: int, have: Sequence[int]
) -> tuple[Sequence[Row[Any]], str]:
    """Return reserved items, or others for a place that was given up, also those that enough people have judged."""
    if most <= 0 or read_fact(connection, "stopped"):
        return [], "finished"
    is_reserved = (assignment.c.rater_id == rater_id) & (assignment.c.state == "reserved")
    reserved = select(item).select_from(_WITH_ITEM).where(is_reserved).order_by(assignment.c.id).limit(most)
    if rows := connection.execute(reserved).all():
        return rows, "working"
    unseen = select(item).where(item.c.kind == "main", _is_unseen(rater_id, have))
    if project.assignment.design == "free":
        rows, _ = _choose_main(connection, project, rater_id, most, have)
    else:
        place = select(rater.c.place).where(rater.c.id == rater_id).scalar_subquery()
        unseen = unseen.where(item.c.id.in_(select(plan.c.item_id).where(plan.c.place == place)))
    if not rows:
        rows = connection.execute(unseen.order_by(item.c.taken, item.c.place).limit(most)).all()
    return rows, "working" if rows else "finished"


def _is_unseen(rater_id: int, have: Sequence[int] = ()) -> Any:
    """Return the condition for items that a rater never had, or whose lease expired and which left their page."""
    is_gone = (assignment.c.state == "expired") & assignment.c.id.not_in(have)
    return ~exists().where(assignment.c.item_id == item.c.id, assignment.c.rater_id == rater_id, ~is_gone)


def _is_qualified(connection: Connection, project: Project, rater_id: int) -> bool:
    """Return whether enough of the test items were answered as expected."""
    rows = connection.execute(
        select(entry.c.payload, item.c.expected)
        .join(item, item.c.id == entry.c.item_id)
        .where(entry.c.rater_id == rater_id, item.c.kind == "qualification", entry.c.revision == 1)
    ).all()
    right = [tasks.is_as_expected(project, json.loads(row.payload), json.loads(row.expected or "{}")) for row in rows]
    return not right or sum(right) / len(right) >= project.quality.pass_share


def _remaining_items(connection: Connection, project: Project) -> int:
    """Return how many items may still be handed out under the stop rules."""
    if read_fact(connection, "stopped"):
        return 0
    if not project.stop.answers:
        return sys.maxsize
    return project.stop.answers - _count(connection, assignment.c.state.in_(_TAKING), item.c.kind == "main")


def _choose_main(
    connection: Connection, project: Project, rater_id: int, most: int, have: Sequence[int], *, urgent: int = -1
) -> tuple[Sequence[Row[Any]], str]:
    """Return open items; those that ``urgent`` or fewer people have come before all others."""
    overlap, early = project.assignment.overlap, project.assignment.early
    open_items = _open_items(project, rater_id, have)
    had = select(assignment.c.item_id).where(assignment.c.rater_id == rater_id, assignment.c.state == "expired")
    if own := connection.execute(had).scalars().all():  # Own items come first: perhaps there is a draft.
        again = connection.execute(open_items.where(item.c.id.in_(own)).order_by(item.c.place).limit(most)).all()
        if again:
            return again, "working"
    first = select(item.c.place).where(item.c.kind == "main").order_by(item.c.place).limit(early).subquery()
    block = open_items.where(item.c.place.in_(select(first.c.place))).order_by(item.c.taken, item.c.place)
    in_order = open_items.order_by(item.c.taken, item.c.place).limit(_POOL)
    pool = connection.execute(in_order.where(item.c.taken <= urgent)).all() if urgent >= 0 else []
    pool = pool or (connection.execute(block).all() if early and overlap > 1 else [])
    pool = pool or connection.execute(in_order).all()
    if not pool:
        other = assignment.alias("own")
        is_own = exists().where(
            other.c.item_id == assignment.c.item_id, other.c.rater_id == rater_id, other.c.state != "expired"
        )
        others = assignment.c.state.in_(("leased", "reserved")) & (assignment.c.rater_id != rater_id) & ~is_own
        return [], "waiting" if _count(connection, others, table=assignment) else "finished"
    past = select(item.c.system, item.c.name).select_from(_WITH_ITEM).where(assignment.c.rater_id == rater_id)
    rows = connection.execute(past.where(assignment.c.state != "expired")).all()
    systems, names = Counter(row.system for row in rows), Counter(row.name for row in rows)
    candidates = {row.id: row for row in pool if row.taken == pool[0].taken}
    choice: list[Row[Any]] = []

    def rank(row: Row[Any]) -> tuple[int, int, bytes]:
        return names[row.name], systems[row.system], _shuffle_key(project.seed, rater_id, row.id)

    while candidates and len(choice) < most:
        best = candidates.pop(min(candidates.values(), key=rank).id)
        choice.append(best)
        names[best.name] += 1
        systems[best.system] += 1
    return choice, "working"


def _open_items(project: Project, rater_id: int, have: Sequence[int]) -> Select[Any]:
    is_open = (item.c.kind == "main") & (item.c.taken < project.assignment.overlap)
    return select(item).where(is_open, _is_unseen(rater_id, have))


@lru_cache(maxsize=100_000)
def _shuffle_key(seed: int, rater_id: int, item_id: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{rater_id}:{item_id}".encode(), digest_size=8).digest()


def _lease(connection: Connection, project: Project, rater_id: int, row: Row[Any], now: float) -> int:
    values = {"state": "leased", "leased_at": now, "expires_at": now + project.assignment.lease_minutes * 60}
    own = connection.execute(_FIND_LEASE, {"item": row.id, "rater": rater_id}).first()
    if own is None or own.state != "reserved":
        _take(connection, row.id)
    if own is not None:
        connection.execute(update(assignment).where(assignment.c.id == own.id).values(**values))
        return int(own.id)
    values |= _new_assignment(project, rater_id, row)
    return int(connection.execute(_INSERT_LEASE, values).scalar_one())


def _new_assignment(project: Project, rater_id: int, row: Row[Any]) -> dict[str, Any]:
    layout = list(range(len(json.loads(row.outputs))))
    random.Random(f"{project.seed}:{rater_id}:{row.id}").shuffle(layout)
    return {"item_id": row.id, "rater_id": rater_id, "layout": json.dumps(layout), "revision": 0}


def present(connection: Connection, project: Project, number: int) -> dict[str, Any]:
    """Return an item as the rater's browser gets it: no system, no id of the evaluation set, no sign of a check."""
    row = connection.execute(_FIND, {"number": number}).one()
    return {
        **page_item(project, row, json.loads(row.layout)),
        "assignment": number,
        "revision": row.revision,
        "expires_at": row.expires_at,
        "draft": json.loads(row.draft) if row.draft else None,
    }


def page_item(project: Project, row: Row[Any], layout: Sequence[int]) -> dict[str, Any]:
    """Return what the page shows of an item, to a rater or in a preview."""
    texts = [output["text"] for output in arrange(row.outputs, layout)]
    content: dict[str, Any] = {"training": row.kind == "training", "source": row.source, "outputs": texts}
    if project.task == "operations":
        content["source_spans"] = _split(row.source, row.tokens)
        content["output_spans"] = _split(texts[0], row.tokens)
    return content


def arrange(outputs: str, layout: Sequence[int]) -> list[Mapping[str, str]]:
    """Return stored outputs in the order in which they stand on a rater's page."""
    texts = json.loads(outputs)
    return [texts[position] for position in layout]


def _split(text: str, method: str) -> list[list[str]]:
    """Return tokens, each with the text before it, so that the page shows the whole text."""
    spans = tasks.spans(text, method)
    ends = [0, *(end for _, end in spans)]
    return [[text[before:start], text[start:end]] for before, (start, end) in zip(ends, spans, strict=False)]


def own_assignment(connection: Connection, rater_id: int, number: int) -> Row[Any]:
    """Return an assignment with its item; another person's is refused like one that does not exist."""
    statement = _FIND_OWN_LOCKED if connection.dialect.name == "postgresql" else _FIND_OWN
    row = connection.execute(statement, {"number": number, "rater": rater_id}).first()
    if row is None:
        raise Refusal(404, "unknown", "This item is not one of yours.")
    return row


def submit(
    connection: Connection,
    project: Project,
    rater_id: int,
    assignment_id: int,
    *,
    key: str,
    revision: int,
    payload: object,
    waited: float = 0.0,
    hidden: float = 0.0,
    counts: bool = True,
) -> dict[str, Any]:
    """Store an answer and report which revision it became; ``counts`` is false for excluded people.

    The client made ``key`` for this answer: the same key again gets the same response, and with another payload a
    refusal. ``revision`` is the one that the client's page was based on. For ``waited`` and ``hidden`` see
    ``_measure_time``.
    """
    row = own_assignment(connection, rater_id, assignment_id)
    digest = fingerprint(assignment_id, revision, payload)
    earlier = connection.execute(_FIND_KEY, {"rater": rater_id, "sent_key": key}).first()
    if earlier is not None:
        if earlier.digest != digest:
            raise Refusal(409, "key-reused", "This key was used for another answer. Nothing was changed.")
        return _acknowledge(project, row, earlier)
    layout = json.loads(row.layout)
    outputs = arrange(row.outputs, layout)
    texts = {"source": row.source, "output": outputs[0]["text"], "tokens": row.tokens}
    answer = tasks.check(project, payload, texts, len(outputs))
    if choice := answer.get("choice"):  # The positions are this rater's own; store the systems behind them.
        systems = [output["system"] for output in outputs]
        ends = {f"{end}_system": systems[choice[end]] for end in ("best", "worst") if end in choice}
        choice.update({"shown": systems, **ends})
    if revision != row.revision:
        statement = select(entry).where(entry.c.assignment_id == row.id, entry.c.revision == row.revision)
        current = connection.execute(statement).first()
        if current is not None and json.loads(current.payload) == answer:
            return _acknowledge(project, row, current)
        message = "This item was answered elsewhere after this page was loaded. That answer was kept, yours was not."
        latest, page = without_systems(current.payload if current else None), page_item(project, row, layout)
        raise Refusal(409, "stale", message, revision=row.revision, current=latest, item=page)
    if row.revision >= MOST_REVISIONS:
        raise Refusal(409, "revisions", f"An answer can be changed {MOST_REVISIONS} times. The last one stays.")
    now, limit = time.time(), project.quality.time_limit_seconds
    seconds = _measure_time(connection, row, now, waited, hidden)
    values = {
        "assignment_id": row.id,
        "item_id": row.item_id,
        "rater_id": rater_id,
        "revision": row.revision + 1,
        "key": key,
        "digest": digest,
        "payload": _to_json(answer),
        "late": row.state == "expired" or (row.state == "leased" and row.expires_at < now),
        "overtime": bool(limit and seconds is not None and seconds > limit),
        "seconds": seconds,
        "created_at": now,
    }
    new = connection.execute(_INSERT, values).one()
    state = "done"
    if not counts or row.state == "replaced":  # Another person has the item.
        state = "replaced"
    elif row.kind == "main" and "cannot_judge" in answer and _can_be_replaced(connection, project, row):
        state = "declined"
    change = update(assignment).where(assignment.c.id == row.id)
    connection.execute(change.values(revision=row.revision + 1, state=state))
    if times := (state in _TAKING) - (row.state in _TAKING):
        _take(connection, row.item_id, times)
    connection.execute(delete(draft).where(draft.c.assignment_id == row.id))
    return _acknowledge(project, row, new)


def _can_be_replaced(connection: Connection, project: Project, row: Row[Any]) -> bool:
    """Return whether an item goes to somebody else because a person cannot judge it: not without end."""
    is_declined = (assignment.c.item_id == row.item_id) & (assignment.c.state == "declined")
    others = _count(connection, is_declined, assignment.c.id != row.id, table=assignment)
    return others < project.assignment.replacements


def mark_shown(connection: Connection, rater_id: int, assignment_id: int, now: float) -> None:
    """Store when an item first stood on the rater's screen; showing it again changes nothing."""
    is_new = (assignment.c.shown_at.is_(None)) & (assignment.c.revision == 0)
    own = update(assignment).where(assignment.c.id == assignment_id, assignment.c.rater_id == rater_id, is_new)
    connection.execute(own.values(shown_at=now))


def _measure_time(connection: Connection, row: Row[Any], now: float, waited: float, hidden: float) -> float | None:
    """Return the seconds from showing an item to its first answer; an edit keeps the time of that answer.

    The browser reports how long the item was ``hidden`` after it was shown, and how long it ``waited`` before, which
    counts only if no message came when it was shown. Neither can make the time negative or longer than the lease.
    """
    if row.revision:
        first = select(entry.c.seconds).where(entry.c.assignment_id == row.id, entry.c.revision == 1)
        seconds: float | None = connection.execute(first).scalar()
        return seconds
    start: float = row.shown_at if row.shown_at is not None else row.leased_at + waited
    return max(0.0, now - start - hidden)


def fingerprint(assignment_id: int, revision: int, payload: object) -> str:
    """Return a hash of what makes two requests the same request."""
    content = json.dumps([assignment_id, revision, payload], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _acknowledge(project: Project, row: Row[Any], answer: Row[Any]) -> dict[str, Any]:
    """Return the response to an answer, the same for the first time and for every repetition."""
    content = {"assignment": row.id, "entry": answer.id, "revision": answer.revision, "late": answer.late}
    return {**content, **feedback(project, json.loads(answer.payload), row, json.loads(row.layout))}


def feedback(project: Project, answer: Mapping[str, Any], row: Row[Any], layout: Sequence[int]) -> dict[str, Any]:
    """Return what a training item teaches; nothing for other items."""
    if row.kind != "training":
        return {}
    expected = json.loads(row.expected or "{}")
    is_right = tasks.is_as_expected(project, answer, expected)
    solution = {name: expected[name] for name in ("values", "labels", "cannot_judge") if name in expected}
    if "best" in expected:
        systems = [output["system"] for output in arrange(row.outputs, layout)]
        solution["choice"] = {"best": systems.index(expected["best"])}
    return {"feedback": {"right": is_right, "text": row.feedback or "", "expected": solution}}


def without_systems(payload: str | None) -> dict[str, Any] | None:
    """Return a stored answer as its author's browser may see it: without the systems behind the positions."""
    answer: dict[str, Any] | None = json.loads(payload or "null")
    if answer and "choice" in answer:
        choice = answer["choice"]
        answer["choice"] = {name: choice[name] for name in ("tie", "best", "worst") if name in choice}
    return answer


def save_draft(connection: Connection, rater_id: int, assignment_id: int, payload: object) -> None:
    """Store unfinished work, so that it can be continued on another machine. Drafts are never exported."""
    row = own_assignment(connection, rater_id, assignment_id)
    if not isinstance(payload, Mapping):
        raise InvalidField("payload", "A draft must be an object.")
    content = _to_json(payload)
    connection.execute(delete(draft).where(draft.c.assignment_id == row.id))
    connection.execute(insert(draft).values(assignment_id=row.id, payload=content, updated_at=time.time()))


def _to_json(payload: Mapping[str, Any]) -> str:
    content = json.dumps(payload, ensure_ascii=True)
    if len(content) > LARGEST_ANSWER:
        raise Refusal(413, "too-large", f"An answer or a draft may hold {LARGEST_ANSWER // 1024} KB.")
    return content
