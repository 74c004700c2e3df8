"""Assignments: who gets which item, and what they answer.

Each item goes to exactly as many people as wanted, breadth first, in an order of each person's own. The first items get
all their people before the rest gets any, so that agreement is known early.

An item handed out is leased. A lease that runs out is offered to someone else, and to the first person again while it
is open; if that person answers after all, the answer is kept and marked late. ``item.taken`` counts the leases that run
and the answers that count, inside the same transaction that changes them, so that a claim is one small query however
large the project is.

An answer is stored once, however often it is sent; it never replaces a newer one, and is never lost for being late.
"""

import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, exists, func, insert, select, update

from plainly_studio import schema, tasks
from plainly_studio.guard import Refusal, invalid
from plainly_studio.project import Project
from plainly_studio.store import fact, lock

_POOL = 200
item, assignment, entry, draft = schema.item, schema.assignment, schema.entry, schema.draft
_GIVEN = item.join(assignment, assignment.c.item_id == item.c.id)  # items with the people who got them


# What every request asks for is put together once.
_PRESENTED = (
    select(assignment, item, draft.c.payload.label("draft"))
    .join(item, item.c.id == assignment.c.item_id)
    .outerjoin(draft, draft.c.assignment_id == assignment.c.id)
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


LARGEST_ANSWER = 64 * 1024
MOST_REVISIONS = 50
# What every answer asks for is put together once.
_OWN = (
    select(assignment, item.c.kind, item.c.source, item.c.outputs, item.c.tokens, item.c.expected, item.c.feedback)
    .join(item, item.c.id == assignment.c.item_id)
    .where(assignment.c.id == bindparam("wanted"), assignment.c.rater_id == bindparam("who"))
)
_OWN_LOCKED = _OWN.with_for_update(of=assignment)
_BEFORE = select(entry).where(entry.c.rater_id == bindparam("who"), entry.c.key == bindparam("sent"))
_STORE = insert(entry).returning(entry)


def own_assignment(connection: Connection, rater_id: int, assignment_id: int) -> Row[Any]:
    """The assignment with its item; another person's is as unknown as one that does not exist."""
    statement = _OWN_LOCKED if connection.dialect.name == "postgresql" else _OWN
    row = connection.execute(statement, {"wanted": assignment_id, "who": rater_id}).first()
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
    seconds: float | None,
    counts: bool = True,
) -> dict[str, Any]:
    """Store an answer and say which revision it became; ``counts`` is false for somebody who is excluded.

    ``key`` was made by the client for this answer: the same key again gets the first answer's reply, with another
    payload a refusal. ``revision`` is the one that the client's page was based on.
    """
    row = own_assignment(connection, rater_id, assignment_id)
    digest = fingerprint(assignment_id, revision, payload)
    before = connection.execute(_BEFORE, {"who": rater_id, "sent": key}).first()
    if before is not None:
        if before.digest != digest:
            raise Refusal(409, "key-reused", "This key was used for another answer. Nothing was changed.")
        return reply(project, row, before)
    if revision != row.revision:
        raise _stale(connection, row)
    outputs = laid_out(row.outputs, row.layout)
    texts = {"source": row.source, "output": outputs[0]["text"], "tokens": row.tokens}
    answer = tasks.check(project, payload, texts, len(outputs))
    if choice := answer.get("choice"):  # The places were this rater's alone: say which systems stood there.
        choice["shown"] = [output["system"] for output in outputs]
        named = {f"{name}_system": outputs[choice[name]]["system"] for name in ("best", "worst") if name in choice}
        choice.update(named)
    if row.revision >= MOST_REVISIONS:
        raise Refusal(409, "revisions", f"An answer can be changed {MOST_REVISIONS} times. The last one stays.")
    now, limit = time.time(), project.quality.time_limit_seconds
    answered = {
        "assignment_id": row.id,
        "item_id": row.item_id,
        "rater_id": rater_id,
        "revision": row.revision + 1,
        "key": key,
        "digest": digest,
        "payload": _stored(answer),
        "late": row.state == "expired" or (row.state == "leased" and row.expires_at < now),
        "overtime": bool(limit and seconds is not None and seconds > limit),
        "seconds": seconds,
        "created_at": now,
    }
    stored = connection.execute(_STORE, answered).one()
    done = update(assignment).where(assignment.c.id == row.id)
    state = "done" if counts and row.state != "replaced" else "replaced"  # Then somebody else has the item.
    connection.execute(done.values(revision=row.revision + 1, state=state))
    if row.state == "expired" and counts:
        take(connection, row.item_id)
    connection.execute(delete(draft).where(draft.c.assignment_id == row.id))
    return reply(project, row, stored)


def _stale(connection: Connection, row: Row[Any]) -> Refusal:
    """The refusal of an answer that was based on an earlier one than there is, with the one that there is."""
    current = select(entry.c.payload).where(entry.c.assignment_id == row.id, entry.c.revision == row.revision)
    message = (
        "This item was answered elsewhere, perhaps in another tab, after this page was loaded. "
        "That answer was kept and yours was not written over it."
    )
    answer = public(connection.execute(current).scalar())
    return Refusal(409, "stale", message, revision=row.revision, current=answer)


def fingerprint(assignment_id: int, revision: int, payload: object) -> str:
    """What makes two requests the same request."""
    text = json.dumps([assignment_id, revision, payload], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def reply(project: Project, row: Row[Any], stored: Row[Any]) -> dict[str, Any]:
    """What the client is told, the same for the first time and for every repetition."""
    told: dict[str, Any] = {
        "assignment": row.id,
        "entry": stored.id,
        "revision": stored.revision,
        "late": bool(stored.late),
    }
    if row.kind == "training":
        told["feedback"] = feedback(project, json.loads(stored.payload), row)
    return told


def feedback(project: Project, answer: Mapping[str, Any], row: Row[Any]) -> dict[str, Any]:
    """What a practice item teaches."""
    expected = json.loads(row.expected or "{}")
    return {
        "right": tasks.agrees(project, answer, expected),
        "text": row.feedback or "",
        "expected": {name: expected[name] for name in ("values", "labels") if name in expected},
    }


def public(payload: str | None) -> dict[str, Any] | None:
    """A stored answer as its own author's browser may see it: without the systems behind the places."""
    if payload is None:
        return None
    answer: dict[str, Any] = json.loads(payload)
    if "choice" in answer:
        choice = answer["choice"]
        answer["choice"] = {name: choice[name] for name in ("tie", "best", "worst") if name in choice}
    return answer


def save_draft(connection: Connection, rater_id: int, assignment_id: int, payload: object) -> None:
    """Keep unfinished work, to be taken up on another machine. A draft is no answer and is never exported."""
    row = own_assignment(connection, rater_id, assignment_id)
    if not isinstance(payload, Mapping):
        raise invalid("payload", "A draft must be an object.")
    text = _stored(payload)
    connection.execute(delete(draft).where(draft.c.assignment_id == row.id))
    connection.execute(insert(draft).values(assignment_id=row.id, payload=text, updated_at=time.time()))


def _stored(payload: Mapping[str, Any]) -> str:
    """As it goes into the database, where nobody's answer may take more than its share of the disk."""
    text = json.dumps(payload, ensure_ascii=True)
    if len(text) > LARGEST_ANSWER:
        raise Refusal(413, "too-large", f"An answer or a draft may hold {LARGEST_ANSWER // 1024} KB.")
    return text
