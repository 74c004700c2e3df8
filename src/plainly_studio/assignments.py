"""Assignments: who gets which item, and what they answer.

Every item goes to one person before any goes to a second, up to the overlap, in a different order for each person. Only
the first items get all their people at once, so that agreement is known early.

A person who gets an item has a lease on it. When it expires, the item is offered to others, and to the same person
again while it is open. ``item.taken`` counts leases and answers towards the overlap, in the transaction that changes
them, so that a claim costs the same however large the project is. An answer is stored once, however often it is sent;
it never replaces a newer one, and a late one is stored and marked.
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

from sqlalchemy import Connection, Row, bindparam, delete, exists, func, insert, select, text, update

from plainly_studio import tasks
from plainly_studio.project import Project
from plainly_studio.schema import assignment, draft, entry, item
from plainly_studio.store import InvalidField, Refusal, read_fact

LARGEST_ANSWER = 64 * 1024
MOST_REVISIONS = 50
_POOL = 200
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
_COUNT_ANSWERS = select(func.count()).where(assignment.c.rater_id == bindparam("rater"), assignment.c.state == "done")
_TAKE = update(item).where(item.c.id == bindparam("number")).values(taken=item.c.taken + bindparam("times"))


@dataclass(frozen=True)
class Claim:
    """The next items of a rater, or the reason why there are none."""

    items: tuple[dict[str, Any], ...]
    state: str  # working, waiting (others hold what is left), finished, failed
    answered: int
    total: int | None  # how many items this person will have answered in the end, as things stand
    done: int  # of the study's own items, without practice, test and checks


def claim(
    connection: Connection, project: Project, rater_id: int, *, want: int, have: Sequence[int] = (), now: float
) -> Claim:
    """Return the items that the rater holds already but not in ``have``, and new ones until there are ``want``."""
    if connection.dialect.name == "postgresql":  # One claim at a time; SQLite has a single writer anyway.
        connection.execute(text("SELECT pg_advisory_xact_lock(709217)"))
    change_state(connection, "leased", "expired", assignment.c.expires_at < now)
    leases = select(assignment.c.id).where(assignment.c.rater_id == rater_id, assignment.c.state == "leased")
    numbers = [
        number for number in connection.execute(leases.order_by(assignment.c.id)).scalars() if number not in have
    ]
    state = "working"
    while (missing := want - len(numbers)) > 0:
        rows, state = _choose(connection, project, rater_id, missing, have)
        if not rows:
            break
        numbers += [_lease(connection, project, rater_id, row, now) for row in rows]
    items = tuple(present(connection, project, number) for number in numbers)
    return Claim(
        items,
        "working" if items or have else state,
        count_answers(connection, rater_id),
        _estimate_total(connection, project, rater_id),
        count_main_answers(connection, rater_id),
    )


def next_state(connection: Connection, project: Project, rater_id: int) -> str:
    """Return the state of the next claim, without handing anything out."""
    if _count(connection, assignment.c.rater_id == rater_id, assignment.c.state == "leased"):
        return "working"
    return _choose(connection, project, rater_id, 1, ())[1]


def count_answers(connection: Connection, rater_id: int) -> int:
    """Count the items that a rater has answered."""
    return int(connection.execute(_COUNT_ANSWERS, {"rater": rater_id}).scalar_one())


def count_main_answers(connection: Connection, rater_id: int) -> int:
    """Count the study's own items that a rater has answered."""
    return _count(connection, item.c.kind == "main", assignment.c.state == "done", assignment.c.rater_id == rater_id)


def release(connection: Connection, rater_id: int) -> None:
    """End all leases of a rater."""
    change_state(connection, "leased", "expired", assignment.c.rater_id == rater_id)


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
    return until


def _take(connection: Connection, item_id: int, times: int = 1) -> None:
    """Count people who hold or have answered an item; a negative number frees it."""
    connection.execute(_TAKE, {"number": item_id, "times": times})


def _special_kinds(connection: Connection) -> set[str]:
    return set(connection.execute(select(item.c.kind).where(item.c.kind != "main").distinct()).scalars())


def _estimate_total(connection: Connection, project: Project, rater_id: int) -> int:
    """Estimate how many answers a rater will have given in the end: answers so far, leases, and items open to them."""
    kinds = _special_kinds(connection)
    is_own = assignment.c.rater_id == rater_id
    total = _count(connection, is_own, assignment.c.state.in_(("leased", "done")))
    total += _count(connection, item.c.kind.in_(kinds - {"check"}), _is_unseen(rater_id), table=item)
    limit = project.assignment.per_rater
    most = limit - _count_by_kind(connection, rater_id)["main"] if limit else sys.maxsize
    is_open = (item.c.kind == "main") & (item.c.taken < project.assignment.overlap)
    own = _count(connection, is_open, is_own, assignment.c.state != "expired")
    left = min(_count(connection, is_open, table=item) - own, most, _remaining_items(connection, project))
    if "check" in kinds and (every := project.quality.check_every):
        left += min(_count(connection, item.c.kind == "check", _is_unseen(rater_id), table=item), left // every)
    return total + max(0, left)


def _count(connection: Connection, *conditions: Any, table: Any = _WITH_ITEM) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())


def _count_by_kind(connection: Connection, rater_id: int) -> Counter[str]:
    statement = select(item.c.kind, func.count()).select_from(_WITH_ITEM).group_by(item.c.kind)
    rows = connection.execute(statement.where(assignment.c.rater_id == rater_id, assignment.c.state != "expired"))
    return Counter({str(kind): int(count) for kind, count in rows})


def _choose(
    connection: Connection, project: Project, rater_id: int, most: int, have: Sequence[int]
) -> tuple[Sequence[Row[Any]], str]:
    """Return the next items for a rater, or why there are none. Training comes first, then the test, then the work."""
    counts, kinds = _count_by_kind(connection, rater_id), _special_kinds(connection)

    def next_special(kind: str) -> Sequence[Row[Any]]:
        is_new = (item.c.kind == kind) & _is_unseen(rater_id, have)
        return connection.execute(select(item).where(is_new).order_by(item.c.place).limit(1)).all()

    for kind in [kind for kind in ("training", "qualification") if kind in kinds]:
        if rows := next_special(kind):
            return rows, "working"
        is_open = assignment.c.state.in_(("leased", "expired"))
        if _count(connection, assignment.c.rater_id == rater_id, item.c.kind == kind, is_open):
            return [], "working"  # the answers of this part decide what comes next
    if "qualification" in kinds and not _is_qualified(connection, project, rater_id):
        return [], "failed"
    if project.assignment.per_rater:
        most = min(most, project.assignment.per_rater - counts["main"])
    most = min(most, _remaining_items(connection, project))
    if most <= 0:
        return [], "finished"
    every = project.quality.check_every
    if "check" in kinds and every:
        if counts["main"] // every > counts["check"] and (rows := next_special("check")):
            return rows, "working"
        most = min(most, every - counts["main"] % every)
    return _choose_main(connection, project, rater_id, most, have)


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
    return project.stop.answers - _count(connection, assignment.c.state.in_(("leased", "done")), item.c.kind == "main")


def _choose_main(
    connection: Connection, project: Project, rater_id: int, most: int, have: Sequence[int]
) -> tuple[Sequence[Row[Any]], str]:
    overlap, early = project.assignment.overlap, project.assignment.early
    open_items = select(item).where(item.c.kind == "main", item.c.taken < overlap, _is_unseen(rater_id, have))
    had = select(assignment.c.item_id).where(assignment.c.rater_id == rater_id, assignment.c.state == "expired")
    if own := connection.execute(had).scalars().all():  # Own items come first: perhaps there is a draft.
        again = connection.execute(open_items.where(item.c.id.in_(own)).order_by(item.c.place).limit(most)).all()
        if again:
            return again, "working"
    first = select(item.c.place).where(item.c.kind == "main").order_by(item.c.place).limit(early).subquery()
    block = open_items.where(item.c.place.in_(select(first.c.place))).order_by(item.c.taken, item.c.place)
    pool = connection.execute(block).all() if early and overlap > 1 else []
    pool = pool or connection.execute(open_items.order_by(item.c.taken, item.c.place).limit(_POOL)).all()
    if not pool:
        other = assignment.alias("own")
        is_own = exists().where(
            other.c.item_id == assignment.c.item_id, other.c.rater_id == rater_id, other.c.state != "expired"
        )
        others = (assignment.c.state == "leased") & (assignment.c.rater_id != rater_id) & ~is_own
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


@lru_cache(maxsize=100_000)
def _shuffle_key(seed: int, rater_id: int, item_id: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{rater_id}:{item_id}".encode(), digest_size=8).digest()


def _lease(connection: Connection, project: Project, rater_id: int, row: Row[Any], now: float) -> int:
    _take(connection, row.id)
    values = {"state": "leased", "leased_at": now, "expires_at": now + project.assignment.lease_minutes * 60}
    is_own = (assignment.c.item_id == row.id) & (assignment.c.rater_id == rater_id)
    number = connection.execute(update(assignment).where(is_own).values(**values).returning(assignment.c.id)).scalar()
    if number is None:
        layout = list(range(len(json.loads(row.outputs))))
        random.Random(f"{project.seed}:{rater_id}:{row.id}").shuffle(layout)
        values |= {"item_id": row.id, "rater_id": rater_id, "layout": json.dumps(layout), "revision": 0}
        number = connection.execute(insert(assignment).values(**values).returning(assignment.c.id)).scalar_one()
    return int(number)


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
    state = "done" if counts and row.state != "replaced" else "replaced"  # replaced: another person has the item
    change = update(assignment).where(assignment.c.id == row.id)
    connection.execute(change.values(revision=row.revision + 1, state=state))
    if row.state == "expired" and counts:
        _take(connection, row.item_id)
    connection.execute(delete(draft).where(draft.c.assignment_id == row.id))
    return _acknowledge(project, row, new)


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
