"""Who gets which item: each to exactly as many people as wanted, breadth first, in an order of each person's own.

The first items get all their people before the rest gets any, so that agreement is known early.

An item handed out is leased. A lease that runs out is offered to someone else, and to the first person again while it
is open; if that person answers after all, the answer is kept and marked late. ``item.taken`` counts the leases that run
and the answers that count, inside the same transaction that changes them, so that a claim is one small query however
large the project is.
"""

import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, exists, func, insert, select, update

from plainly_studio import schema, tasks
from plainly_studio.project import Project
from plainly_studio.store import fact, lock

_POOL = 200
item, assignment, entry = schema.item, schema.assignment, schema.entry
_GIVEN = item.join(assignment, assignment.c.item_id == item.c.id)  # items with the people who got them


# What every request asks for is put together once.
_PRESENTED = (
    select(assignment, item, schema.draft.c.payload.label("draft"))
    .join(item, item.c.id == assignment.c.item_id)
    .outerjoin(schema.draft, schema.draft.c.assignment_id == assignment.c.id)
    .where(assignment.c.id == bindparam("wanted"))
)
_ANSWERED = select(func.count()).where(assignment.c.rater_id == bindparam("who"), assignment.c.state == "done")
_TAKEN = update(item).where(item.c.id == bindparam("wanted")).values(taken=item.c.taken + bindparam("times"))


@dataclass(frozen=True)
class Claim:
    """What a rater works on next, and why there may be nothing."""

    items: tuple[dict[str, Any], ...]
    state: str  # working, waiting (others hold what is left), finished, failed
    answered: int
    total: int | None  # what this person will have answered in the end, as things stand
    done: int  # of the study's own items, without practice, test and checks


def claim(
    connection: Connection, project: Project, rater_id: int, *, want: int, have: Sequence[int] = (), now: float
) -> Claim:
    """The items that the rater holds already but not in ``have``, and new ones until there are ``want``."""
    lock(connection)
    move(connection, "leased", "expired", assignment.c.expires_at < now)
    leased = select(assignment.c.id).where(assignment.c.rater_id == rater_id, assignment.c.state == "leased")
    held = [number for number in connection.execute(leased.order_by(assignment.c.id)).scalars() if number not in have]
    counts = _done(connection, rater_id)
    kinds = _kinds(connection)
    state = "working"
    fresh: list[int] = []
    while (missing := want - len(held) - len(fresh)) > 0:
        chosen, state = _choose(connection, project, rater_id, counts, kinds, missing, have)
        if not chosen:
            break
        fresh += [_lease(connection, project, rater_id, row, now) for row in chosen]
        counts.update(row.kind for row in chosen)
    items = tuple(present(connection, project, assignment_id) for assignment_id in [*held, *fresh])
    if items or have:
        state = "working"
    return Claim(
        items,
        state,
        answered(connection, rater_id),
        _total(connection, project, rater_id, kinds),
        done(connection, rater_id),
    )


def standing(connection: Connection, project: Project, rater_id: int) -> str:
    """Whether there would be more for a rater, without handing anything out: a state as in ``Claim``."""
    if _count(connection, assignment.c.rater_id == rater_id, assignment.c.state == "leased"):
        return "working"
    return _choose(connection, project, rater_id, _done(connection, rater_id), _kinds(connection), 1, ())[1]


def done(connection: Connection, rater_id: int) -> int:
    """How many of the study's own items a rater has answered."""
    return _count(connection, item.c.kind == "main", assignment.c.state == "done", assignment.c.rater_id == rater_id)


def release(connection: Connection, rater_id: int) -> None:
    """Give back what a rater holds."""
    move(connection, "leased", "expired", assignment.c.rater_id == rater_id)


def move(connection: Connection, old: str, new: str, chosen: Any, *, times: int = -1) -> int:
    """Put chosen assignments into another state, which frees their items or takes them again; how many."""
    moved = update(assignment).where(assignment.c.state == old, chosen).values(state=new)
    items = connection.execute(moved.returning(assignment.c.item_id)).scalars().all()
    for item_id, people in Counter(items).items():
        take(connection, item_id, times * people)
    return len(items)


def _kinds(connection: Connection) -> set[str]:
    return set(connection.execute(select(item.c.kind).where(item.c.kind != "main").distinct()).scalars())


def _total(connection: Connection, project: Project, rater_id: int, kinds: set[str]) -> int:
    """How many answers a rater will have given in the end: what is answered, held, and open to them."""
    mine = assignment.c.rater_id == rater_id
    total = _count(connection, mine, assignment.c.state.in_(("leased", "done")))
    total += _count(connection, item.c.kind.in_(kinds - {"check"}), _unseen(rater_id), of=item)
    limit = project.assignment.per_rater
    most = limit - _done(connection, rater_id)["main"] if limit else sys.maxsize
    open_ = (item.c.kind == "main") & (item.c.taken < project.assignment.overlap)
    ours = _count(connection, open_, mine, assignment.c.state != "expired")
    left = min(_count(connection, open_, of=item) - ours, most, _left(connection, project))
    if "check" in kinds and (every := project.quality.check_every):
        checks = _count(connection, item.c.kind == "check", _unseen(rater_id), of=item)
        left += min(checks, left // every)
    return total + max(0, left)


def _count(connection: Connection, *conditions: Any, of: Any = _GIVEN) -> int:
    return int(connection.execute(select(func.count()).select_from(of).where(*conditions)).scalar_one())


def answered(connection: Connection, rater_id: int) -> int:
    """How many items a rater has answered."""
    return int(connection.execute(_ANSWERED, {"who": rater_id}).scalar_one())


def take(connection: Connection, item_id: int, times: int = 1) -> None:
    """Count people who hold or answered an item, or who let go of it."""
    connection.execute(_TAKEN, {"wanted": item_id, "times": times})


def extend(connection: Connection, project: Project, row: Row[Any], now: float) -> float:
    """More time for an item that is being worked on; when it runs out now."""
    until = now + project.assignment.lease_minutes * 60
    state = "leased" if row.state == "expired" else row.state
    connection.execute(update(assignment).where(assignment.c.id == row.id).values(expires_at=until, state=state))
    if row.state == "expired":
        take(connection, row.item_id)
    return until


def _done(connection: Connection, rater_id: int) -> Counter[str]:
    counted = select(item.c.kind, func.count()).select_from(_GIVEN).group_by(item.c.kind)
    rows = connection.execute(counted.where(assignment.c.rater_id == rater_id, assignment.c.state != "expired"))
    return Counter({str(kind): int(count) for kind, count in rows})


def _choose(
    connection: Connection,
    project: Project,
    rater_id: int,
    counts: Counter[str],
    kinds: set[str],
    most: int,
    have: Sequence[int],
) -> tuple[list[Row[Any]], str]:
    """The next items for a rater, or why there are none. Training comes first, then the test, then the work."""
    for kind in ("training", "qualification"):
        if kind not in kinds:
            continue
        if unseen := _special(connection, rater_id, kind, have):
            return unseen, "working"
        unanswered = assignment.c.state.in_(("leased", "expired"))
        if _count(connection, assignment.c.rater_id == rater_id, item.c.kind == kind, unanswered):
            return [], "working"  # the answers of this part decide what comes next
    if "qualification" in kinds and not _qualified(connection, project, rater_id):
        return [], "failed"
    if project.assignment.per_rater:
        most = min(most, project.assignment.per_rater - counts["main"])
    most = min(most, _left(connection, project))
    if most <= 0:
        return [], "finished"
    every = project.quality.check_every
    if "check" in kinds and every:
        if counts["main"] // every > counts["check"] and (unseen := _special(connection, rater_id, "check", have)):
            return unseen, "working"
        most = min(most, every - counts["main"] % every)
    return _main(connection, project, rater_id, most, have)


def _unseen(rater_id: int, have: Sequence[int] = ()) -> Any:
    """Items that a rater never had, or let run out and has not still on the page."""
    gone = (assignment.c.state == "expired") & assignment.c.id.not_in(have)
    return ~exists().where(assignment.c.item_id == item.c.id, assignment.c.rater_id == rater_id, ~gone)


def _special(connection: Connection, rater_id: int, kind: str, have: Sequence[int]) -> list[Row[Any]]:
    statement = select(item).where(item.c.kind == kind, _unseen(rater_id, have)).order_by(item.c.place).limit(1)
    return list(connection.execute(statement).all())


def _qualified(connection: Connection, project: Project, rater_id: int) -> bool:
    """Whether enough of the test items were answered as expected."""
    rows = connection.execute(
        select(entry.c.payload, item.c.expected)
        .join(item, item.c.id == entry.c.item_id)
        .where(entry.c.rater_id == rater_id, item.c.kind == "qualification", entry.c.revision == 1)
    ).all()
    right = [tasks.agrees(project, json.loads(row.payload), json.loads(row.expected or "{}")) for row in rows]
    return not right or sum(right) / len(right) >= project.quality.pass_share


def _left(connection: Connection, project: Project) -> int:
    """How many items may still be handed out under the stop rules."""
    if fact(connection, "stopped"):
        return 0
    if not project.stop.answers:
        return sys.maxsize
    handed_out = assignment.c.state.in_(("leased", "done"))
    return project.stop.answers - _count(connection, handed_out, item.c.kind == "main")


def _main(
    connection: Connection, project: Project, rater_id: int, most: int, have: Sequence[int]
) -> tuple[list[Row[Any]], str]:
    overlap, early = project.assignment.overlap, project.assignment.early
    wanted = select(item).where(item.c.kind == "main", item.c.taken < overlap, _unseen(rater_id, have))
    had = select(assignment.c.item_id).where(assignment.c.rater_id == rater_id, assignment.c.state == "expired")
    if ran_out := connection.execute(had).scalars().all():  # What one had comes first: perhaps there is a draft.
        again = connection.execute(wanted.where(item.c.id.in_(ran_out)).order_by(item.c.place).limit(most)).all()
        if again:
            return list(again), "working"
    first = select(item.c.place).where(item.c.kind == "main").order_by(item.c.place).limit(early).subquery()
    block = wanted.where(item.c.place.in_(select(first.c.place))).order_by(item.c.taken, item.c.place)
    pool = connection.execute(block).all() if early and overlap > 1 else []
    pool = pool or connection.execute(wanted.order_by(item.c.taken, item.c.place).limit(_POOL)).all()
    if not pool:
        own = assignment.alias("own")
        seen_too = exists().where(
            own.c.item_id == assignment.c.item_id, own.c.rater_id == rater_id, own.c.state != "expired"
        )
        others = select(assignment.c.id).where(assignment.c.state == "leased", assignment.c.rater_id != rater_id)
        running = connection.execute(others.where(~seen_too).limit(1)).first()
        return [], "waiting" if running is not None else "finished"
    seen = select(item.c.system, item.c.name).select_from(_GIVEN).where(assignment.c.rater_id == rater_id)
    shown = connection.execute(seen.where(assignment.c.state != "expired")).all()
    systems, names = Counter(row.system for row in shown), Counter(row.name for row in shown)
    free = {row.id: row for row in pool if row.taken == pool[0].taken}
    chosen: list[Row[Any]] = []

    def rank(row: Row[Any]) -> tuple[int, int, bytes]:
        return names[row.name], systems[row.system], _shuffle(project.seed, rater_id, row.id)

    while free and len(chosen) < most:
        best = min(free.values(), key=rank)
        chosen.append(free.pop(best.id))
        names[best.name] += 1
        systems[best.system] += 1
    return chosen, "working"


@lru_cache(maxsize=100_000)
def _shuffle(seed: int, rater_id: int, item_id: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{rater_id}:{item_id}".encode(), digest_size=8).digest()


def _lease(connection: Connection, project: Project, rater_id: int, row: Row[Any], now: float) -> int:
    take(connection, row.id)
    times = {"state": "leased", "leased_at": now, "expires_at": now + project.assignment.lease_minutes * 60}
    mine = (assignment.c.item_id == row.id) & (assignment.c.rater_id == rater_id)
    again = connection.execute(update(assignment).where(mine).values(**times).returning(assignment.c.id)).scalar()
    if again is not None:
        return int(again)
    layout = list(range(len(json.loads(row.outputs))))
    random.Random(f"{project.seed}:{rater_id}:{row.id}").shuffle(layout)
    lease = {"item_id": row.id, "rater_id": rater_id, "layout": json.dumps(layout), "revision": 0, **times}
    return int(connection.execute(insert(assignment).values(**lease).returning(assignment.c.id)).scalar_one())


def present(connection: Connection, project: Project, assignment_id: int) -> dict[str, Any]:
    """An item as the rater's browser gets it: texts and numbers, no system, no id of the evaluation set, no hint at
    which items are checks."""
    row = connection.execute(_PRESENTED, {"wanted": assignment_id}).one()
    return {
        **shown(project, row, json.loads(row.layout)),
        "assignment": assignment_id,
        "revision": row.revision,
        "expires_at": row.expires_at,
        "draft": json.loads(row.draft) if row.draft else None,
    }


def shown(project: Project, row: Row[Any], layout: Sequence[int]) -> dict[str, Any]:
    """What the page shows of an item, whoever looks at it."""
    texts = laid_out(row.outputs, json.dumps(layout))
    told: dict[str, Any] = {
        "assignment": 0,
        "revision": 0,
        "training": row.kind == "training",
        "source": row.source,
        "outputs": [text["text"] for text in texts],
        "expires_at": 1e12,
        "draft": None,
    }
    if project.task == "operations":
        told["source_spans"] = _parts(row.source, row.tokens)
        told["output_spans"] = _parts(texts[0]["text"], row.tokens)
    return told


def laid_out(outputs: str, layout: str) -> list[Mapping[str, str]]:
    """The outputs in the order in which they stand on this rater's page."""
    stored = json.loads(outputs)
    return [stored[place] for place in json.loads(layout)]


def _parts(text: str, how: str) -> list[list[str]]:
    """Tokens, each with what stands before it, so that the page shows the text as it is."""
    places = tasks.spans(text, how)
    ends = [0, *(end for _, end in places)]
    return [[text[before:start], text[start:end]] for before, (start, end) in zip(ends, places, strict=False)]
