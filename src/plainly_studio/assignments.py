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
import heapq
import json
import math
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, Row, bindparam, delete, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from plainly.text.words import token_spans
from plainly_studio import tasks
from plainly_studio.project import Project
from plainly_studio.schema import about, assignment, draft, entry, item, plan, rater
from plainly_studio.store import InvalidField, Refusal, read_fact

LARGEST_ANSWER = 64 * 1024
MOST_REVISIONS = 50
ANSWERED = ("done", "declined", "replaced")
_TAKING = ("reserved", "leased", "done")  # the states that count in ``item.taken``
_LEASES_PER_AHEAD = 3
_POOL = 200
_PLANNED_PLACE_SECONDS = 24 * 3600.0  # so long a place in a plan stays reserved for a person who is away
_WITH_ITEM = item.join(assignment, assignment.c.item_id == item.c.id)
# Statements of every request are built once, which saves more time than the database needs for them.
_same = assignment.alias("same")
_COUNT_SAME = select(func.count()).select_from(_same).where(_same.c.rater_id == assignment.c.rater_id)
_FIND_OWN = (
    select(
        assignment,
        item,
        draft.c.payload.label("draft"),
        _COUNT_SAME.where(_same.c.state == "leased").scalar_subquery().label("leases"),
        _COUNT_SAME.where(_same.c.state.in_(ANSWERED)).scalar_subquery().label("answers"),
    )
    .select_from(_WITH_ITEM.outerjoin(draft, draft.c.assignment_id == assignment.c.id))
    .where(assignment.c.id.in_(bindparam("numbers", expanding=True)))
)
_FIND_KEY = select(entry).where(entry.c.rater_id == bindparam("rater"), entry.c.key == bindparam("sent_key"))
_INSERT = insert(entry).returning(entry.c.id, sort_by_parameter_order=True)
_ANSWER = (
    update(assignment)
    .where(assignment.c.id == bindparam("number"))
    .values(revision=bindparam("new_revision"), state=bindparam("new_state"))
)
_MARK_SHOWN = (
    update(assignment)
    .where(assignment.c.id == bindparam("number"), assignment.c.rater_id == bindparam("rater"))
    .where(assignment.c.shown_at.is_(None), assignment.c.revision == 0)
    .values(shown_at=bindparam("now"))
)
_COUNT_KINDS = select(item.c.kind, func.count()).group_by(item.c.kind)
_FIND_HISTORY = (
    select(
        assignment.c.id,
        assignment.c.item_id,
        assignment.c.rater_id,
        assignment.c.state,
        item.c.kind,
        item.c.name,
        item.c.system,
        item.c.taken,
    )
    .select_from(_WITH_ITEM)
    .where(assignment.c.rater_id.in_(bindparam("raters", expanding=True)))
    .order_by(assignment.c.id)
)
_ITEMS = item.c.id.in_(bindparam("items", expanding=True))
_IS_OWN = (assignment.c.item_id == item.c.id) & (assignment.c.rater_id == bindparam("rater"))
_FIND_ITEMS = (
    select(
        item,
        assignment.c.id.label("number"),
        assignment.c.state,
        assignment.c.layout,
        assignment.c.revision,
        assignment.c.expires_at,
        draft.c.payload.label("draft"),
    )
    .select_from(item.outerjoin(assignment, _IS_OWN).outerjoin(draft, draft.c.assignment_id == assignment.c.id))
    .where(_ITEMS)
)
_INSERT_LEASES = insert(assignment).returning(assignment.c.id, sort_by_parameter_order=True)
_TAKE = update(item).where(item.c.id == bindparam("number")).values(taken=item.c.taken + bindparam("times"))
_TAKE_SEVERAL = update(item).where(_ITEMS).values(taken=item.c.taken + 1)
_TAKE_NEW = _TAKE_SEVERAL.returning(item)
_END_LEASES = (
    update(assignment)
    .where(assignment.c.state == "leased", assignment.c.expires_at < bindparam("now"))
    .values(state="expired")
    .returning(assignment.c.item_id)
)
_END_PLACES = update(rater).where(rater.c.place_until < bindparam("now")).values(place_until=None).returning(rater.c.id)
_FIND_SITUATION = select(
    exists().where(about.c.key == "stopped").label("is_stopped"),
    (
        exists().where(assignment.c.state == "leased", assignment.c.expires_at < bindparam("now"))
        | exists().where(rater.c.place_until < bindparam("now"))
    ).label("has_expired"),
)
_TAKE_PLACE = update(rater).where(rater.c.id == bindparam("number")).values(place_until=bindparam("until"))
_KEEP_PLACE = _TAKE_PLACE.where(rater.c.place_until.is_not(None))
# Items that a rater never had, or whose lease expired and which left their page.
_IS_UNSEEN = ~exists().where(
    assignment.c.item_id == item.c.id,
    assignment.c.rater_id == bindparam("rater"),
    ~((assignment.c.state == "expired") & assignment.c.id.not_in(bindparam("have", expanding=True))),
)
_IS_OPEN = (item.c.kind == "main") & (item.c.taken < bindparam("overlap"))
_FIND_OPEN = (
    select(item.c.id, item.c.name, item.c.system, item.c.taken)
    .where(_IS_OPEN, _IS_UNSEEN)
    .order_by(item.c.taken, item.c.place)
    .limit(bindparam("most"))
)
_FIND_URGENT = _FIND_OPEN.where(item.c.taken <= bindparam("urgent"))
_FIND_AGAIN = _FIND_OPEN.where(_ITEMS)
_EARLY = select(item.c.place).where(item.c.kind == "main").order_by(item.c.place).limit(bindparam("early")).subquery()
_FIND_EARLY = _FIND_OPEN.where(item.c.place.in_(select(_EARLY.c.place)))
_COUNT_OPEN = select(func.count()).select_from(item).where(_IS_OPEN)
_item_counts: WeakKeyDictionary[Engine, Counter[str]] = WeakKeyDictionary()


def count_items(connection: Connection) -> Counter[str]:
    """Count the study's items by kind; they never change after its creation."""
    if connection.engine not in _item_counts:
        kinds = Counter({str(kind): int(count) for kind, count in connection.execute(_COUNT_KINDS)})
        if not kinds:
            return kinds
        _item_counts[connection.engine] = kinds
    return _item_counts[connection.engine]


@dataclass(frozen=True)
class History:
    """All assignments of a rater so far, whether the study hands out no more items, and how many were open before."""

    rows: Sequence[Any]
    is_stopped: bool
    open_items: Callable[[], int]

    @cached_property
    def counts(self) -> Counter[tuple[str, str]]:
        return Counter((row.kind, row.state) for row in self.rows)

    def count(self, *states: str, kind: str = "") -> int:
        """Count the assignments in these states, of one kind of item or of all."""
        return sum(count for (own, state), count in self.counts.items() if state in states and kind in ("", own))

    @property
    def answered(self) -> int:
        return self.count(*ANSWERED)

    @property
    def main(self) -> int:
        """The number of answers to the study's own items."""
        return self.count(*ANSWERED, kind="main")

    @property
    def declined(self) -> int:
        """The number of the study's own items that the rater could not judge."""
        return self.counts["main", "declined"]

    def has_any(self, items: Sequence[int]) -> bool:
        """Return whether the rater has or had one of these items."""
        return any(row.item_id in items for row in self.rows)

    def received(self, kind: str) -> int:
        """Count the items of a kind that were handed out."""
        return self.count("leased", *ANSWERED, kind=kind)


def read_history(connection: Connection, project: Project, rater_id: int, now: float | None = None) -> History:
    """Return what a rater got and answered so far; with ``now``, end what has expired before."""
    return read_histories(connection, project, [rater_id], now)[rater_id]


def read_histories(
    connection: Connection, project: Project, raters: Sequence[int], now: float | None = None
) -> dict[int, History]:
    """Return what raters got and answered so far; with ``now``, end what has expired before."""
    situation = connection.execute(_FIND_SITUATION, {"now": now or 0.0}).one()
    if situation.has_expired:
        end_expired(connection, now or 0.0)
    rows: dict[int, list[Any]] = {rater_id: [] for rater_id in raters}
    for row in connection.execute(_FIND_HISTORY, {"raters": raters}):
        rows[row.rater_id].append(row)

    @cache
    def count_open() -> int:
        return int(connection.execute(_COUNT_OPEN, {"overlap": project.assignment.overlap}).scalar_one())

    return {rater_id: History(own, bool(situation.is_stopped), count_open) for rater_id, own in rows.items()}


@dataclass(frozen=True)
class Receipt:
    """The response to an answer, and the leases and answers of the rater after it."""

    content: dict[str, Any]
    leases: int
    answers: int


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
    history: History | None = None,
) -> Claim:
    """Return the items that the rater holds already but not in ``have``, and new ones until there are ``want``.

    A person to whom a number of items was ``promised`` gets as many, and no more. ``history`` is read if it is left
    out.
    """
    history = history or read_history(connection, project, rater_id, now)
    if promised is not None:
        _keep_place(connection, project, rater_id, now)
    total = _estimate_total(connection, project, promised, history)
    own = [row for row in history.rows if row.state == "leased"]
    held = [row.item_id for row in own if row.id not in have]
    rows = _find_items(connection, rater_id, held)
    want = min(want, len(rows) + max(0, _LEASES_PER_AHEAD * project.assignment.ahead - len(own)))
    state = "working"
    while (missing := want - len(rows)) > 0:
        items, state = _choose(connection, project, rater_id, missing, have, promised, history)
        if not items:
            break
        rows += _lease(connection, project, rater_id, items, now, history)
        history = read_history(connection, project, rater_id) if len(rows) < want else history
    pages = tuple(present(project, row) for row in rows)
    state = "working" if rows or have else state
    return Claim(pages, state, history.answered, total, history.main, history.declined)


def next_state(connection: Connection, project: Project, rater_id: int, promised: int | None, history: History) -> str:
    """Return the state of the next claim of a rater without leases, without handing anything out."""
    return _choose(connection, project, rater_id, 1, (), promised, history, is_peek=True)[1]


def release(connection: Connection, rater_id: int) -> None:
    """End all leases of a rater, and give up the place."""
    for state in ("leased", "reserved"):
        change_state(connection, state, "expired", assignment.c.rater_id == rater_id)
    connection.execute(update(rater).where(rater.c.id == rater_id).values(place_until=None))


def count_open_items(connection: Connection, project: Project) -> int:
    """Count the study's own items that a newcomer could get."""
    if project.assignment.design == "free":
        count = connection.execute(_COUNT_OPEN, {"overlap": project.assignment.overlap}).scalar_one()
    else:
        count = _count(connection, plan.c.place == _find_place(connection), _is_open_in_plan(), table=plan)
    is_stopped = read_fact(connection, "stopped") is not None
    return max(0, min(count, _remaining_items(connection, project, is_stopped=is_stopped)))


def reserve(connection: Connection, project: Project, rater_id: int, count: int, now: float) -> None:
    """Reserve items for a person at the consent: those of a free place in the plan or, without a plan, open ones.

    Without a plan, items that every one of the people still needed has to judge come first. So the last person finds
    enough different items where the numbers of people and items fit exactly.
    """
    if project.assignment.design != "free":
        place = _find_place(connection)
        connection.execute(update(rater).where(rater.c.id == rater_id).values(place=place))
        planned = select(plan.c.item_id).where(plan.c.place == place, _is_open_in_plan())
        items = connection.execute(planned.order_by(plan.c.position).limit(count)).scalars().all()
        history = read_history(connection, project, rater_id)
        _lease(connection, project, rater_id, items, now, history, state="reserved")
        _keep_place(connection, project, rater_id, now, is_new=True)
        return
    overlap = project.assignment.overlap
    free = select(func.sum(overlap - item.c.taken)).where(item.c.kind == "main", item.c.taken < overlap)
    people = math.ceil((connection.execute(free).scalar() or 0) / count)
    _keep_place(connection, project, rater_id, now, is_new=True)
    while count > 0:
        history = read_history(connection, project, rater_id)
        items, _ = _choose_main(connection, project, rater_id, count, (), history, urgent=overlap - people)
        if not items:
            return
        _lease(connection, project, rater_id, items, now, history, state="reserved")
        count -= len(items)


def end_expired(connection: Connection, now: float) -> None:
    """End expired leases, and the places of people who are away."""
    _free(connection, connection.execute(_END_LEASES, {"now": now}).scalars().all())
    if people := connection.execute(_END_PLACES, {"now": now}).scalars().all():
        change_state(connection, "reserved", "expired", assignment.c.rater_id.in_(people))


def _keep_place(connection: Connection, project: Project, rater_id: int, now: float, *, is_new: bool = False) -> None:
    """Keep a person's reserved items for another while; a place that was given up stays so."""
    seconds = project.assignment.lease_minutes * 60
    if project.assignment.design != "free":  # Somebody else would disturb the plan.
        seconds = max(seconds, _PLANNED_PLACE_SECONDS)
    statement = _TAKE_PLACE if is_new else _KEEP_PLACE
    connection.execute(statement, {"number": rater_id, "until": now + seconds})


def change_state(connection: Connection, old: str, new: str, condition: Any, *, times: int = -1) -> int:
    """Change the state of assignments, which frees their items or takes them again; return their number."""
    change = update(assignment).where(assignment.c.state == old, condition).values(state=new)
    items = connection.execute(change.returning(assignment.c.item_id)).scalars().all()
    _free(connection, items, times)
    return len(items)


def _free(connection: Connection, items: Sequence[int], times: int = -1) -> None:
    """Free items that assignments held; each is named once for each of them."""
    for item_id, people in Counter(items).items():
        _take(connection, item_id, times * people)


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


def _estimate_total(connection: Connection, project: Project, promised: int | None, history: History) -> int:
    """Estimate how many answers a rater will have given in the end: answers so far, leases, and items open to them."""
    kinds, settings = count_items(connection), project.assignment
    if promised is not None:
        return promised + count_additional(project, kinds, promised)
    main = history.received("main")
    left = history.open_items()
    own = [row for row in history.rows if row.kind == "main" and row.state != "expired"]
    left -= sum(1 for row in own if row.taken < settings.overlap)
    most = settings.per_rater - main if settings.per_rater else sys.maxsize
    main += max(0, min(left, most, _remaining_items(connection, project, is_stopped=history.is_stopped)))
    others = sum(history.received(kind) for kind in kinds if kind != "main")
    return main + max(others, count_additional(project, kinds, main))


def count_additional(project: Project, kinds: Mapping[str, int], main: int) -> int:
    """Return how many items come beside a number of the study's own: practice, test, checks and repeated items."""
    scattered = (min(kinds.get(kind, 0), count_scattered(project, kind, main)) for kind in _SCATTERED)
    return kinds.get("training", 0) + kinds.get("qualification", 0) + sum(scattered)


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


def _find_repeats(project: Project, history: History) -> Any:
    """Return the condition for items that repeat one which the rater answered at least a round ago."""
    rows = [row for row in history.rows if row.kind == "main" and row.state not in ("expired", "reserved")]
    old = [row for row in rows[: max(0, len(rows) - project.quality.repeat_every + 1)] if row.state == "done"]
    first = item.alias()
    same = select(1).where(first.c.id.in_([row.item_id for row in old]), first.c.name == item.c.name)
    return same.where(first.c.outputs == item.c.outputs).correlate(item).exists()


def _count(connection: Connection, *conditions: Any, table: Any = _WITH_ITEM) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())


def _choose(
    connection: Connection,
    project: Project,
    rater_id: int,
    most: int,
    have: Sequence[int],
    promised: int | None,
    history: History,
    *,
    is_peek: bool = False,
) -> tuple[Sequence[int], str]:
    """Return the next items for a rater, or why there are none. Training comes first, then the test, then the work."""
    kinds, main = count_items(connection), history.received("main")

    def find_special(kind: str, *conditions: Any) -> Sequence[int]:
        statement = select(item.c.id).where(item.c.kind == kind, _IS_UNSEEN, *conditions).order_by(item.c.place)
        return connection.execute(statement, {"rater": rater_id, "have": have}).scalars().all()

    def scatter(items: Sequence[int], own: int) -> Sequence[int]:
        """Return a check or repeated item if one is due; otherwise the items that come before the next one."""
        for kind in [kind for kind in _SCATTERED if items and kind in kinds]:
            count = history.received(kind)
            if count < count_scattered(project, kind, own):
                position = _next_scattered(project, kind, rater_id, count)
                conditions = [_find_repeats(project, history)] if kind == "repeat" else []
                if main >= position and (special := find_special(kind, *conditions)):
                    return [min(special, key=lambda number: _shuffle_key(project.seed, rater_id, number))]
                items = items[: max(1, position - main)]
        return items

    for kind in [kind for kind in ("training", "qualification") if kind in kinds]:
        if items := find_special(kind):
            return items[:1], "working"
        if history.count("leased", "expired", kind=kind):
            return [], "working"  # the answers of this part decide what comes next
    if "qualification" in kinds and not _is_qualified(connection, project, rater_id):
        return [], "failed"
    if promised is not None:
        items, state = _choose_promised(connection, project, rater_id, min(most, promised - main), have, history)
        return scatter(items, promised), state
    if project.assignment.per_rater:
        most = min(most, project.assignment.per_rater - main)
    most = min(most, _remaining_items(connection, project, is_stopped=history.is_stopped))
    if most <= 0:
        return [], "finished"
    values = {"overlap": project.assignment.overlap, "rater": rater_id, "have": have, "most": 1}
    if is_peek and connection.execute(_FIND_OPEN, values).first():
        return [], "working"
    items, state = _choose_main(connection, project, rater_id, most, have, history)
    return scatter(items, project.assignment.per_rater or kinds["main"]), state


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
    connection: Connection, project: Project, rater_id: int, most: int, have: Sequence[int], history: History
) -> tuple[Sequence[int], str]:
    """Return reserved items, or others for a place that was given up, also those that enough people have judged."""
    if most <= 0 or history.is_stopped:
        return [], "finished"
    items: Sequence[int] = [row.item_id for row in history.rows if row.state == "reserved"][:most]
    if not items and project.assignment.design == "free":
        items, _ = _choose_main(connection, project, rater_id, most, have, history)
    if not items:
        unseen = select(item.c.id).where(item.c.kind == "main", _IS_UNSEEN)
        if project.assignment.design != "free":
            place = select(rater.c.place).where(rater.c.id == rater_id).scalar_subquery()
            unseen = unseen.where(item.c.id.in_(select(plan.c.item_id).where(plan.c.place == place)))
        unseen = unseen.order_by(item.c.taken, item.c.place).limit(most)
        items = connection.execute(unseen, {"rater": rater_id, "have": have}).scalars().all()
    return items, "working" if items else "finished"


def _is_qualified(connection: Connection, project: Project, rater_id: int) -> bool:
    """Return whether enough of the test items were answered as expected."""
    rows = connection.execute(
        select(entry.c.payload, item.c.expected)
        .join(item, item.c.id == entry.c.item_id)
        .where(entry.c.rater_id == rater_id, item.c.kind == "qualification", entry.c.revision == 1)
    ).all()
    right = [tasks.is_as_expected(project, json.loads(row.payload), json.loads(row.expected or "{}")) for row in rows]
    return not right or sum(right) / len(right) >= project.quality.pass_share


def _remaining_items(connection: Connection, project: Project, *, is_stopped: bool) -> int:
    """Return how many items may still be handed out under the stop rules."""
    if is_stopped or not project.stop.answers:
        return 0 if is_stopped else sys.maxsize
    return project.stop.answers - _count(connection, assignment.c.state.in_(_TAKING), item.c.kind == "main")


def _choose_main(
    connection: Connection,
    project: Project,
    rater_id: int,
    most: int,
    have: Sequence[int],
    history: History,
    *,
    urgent: int = -1,
) -> tuple[Sequence[int], str]:
    """Return open items; those that ``urgent`` or fewer people have come before all others."""
    overlap, early = project.assignment.overlap, project.assignment.early
    values = {"overlap": overlap, "rater": rater_id, "have": have, "most": _POOL}
    own = [row.item_id for row in history.rows if row.state == "expired"]  # They come first: perhaps there is a draft.
    if own and (again := connection.execute(_FIND_AGAIN, {**values, "items": own, "most": most}).all()):
        return [row.id for row in again], "working"
    pool = connection.execute(_FIND_URGENT, {**values, "urgent": urgent}).all() if urgent >= 0 else []
    if not pool and early and overlap > 1:
        pool = connection.execute(_FIND_EARLY, {**values, "early": early, "most": early}).all()
    pool = pool or connection.execute(_FIND_OPEN, values).all()
    if not pool:
        other = assignment.alias("own")
        is_own = exists().where(
            other.c.item_id == assignment.c.item_id, other.c.rater_id == rater_id, other.c.state != "expired"
        )
        others = assignment.c.state.in_(("leased", "reserved")) & (assignment.c.rater_id != rater_id) & ~is_own
        return [], "waiting" if _count(connection, others, table=assignment) else "finished"
    systems = Counter(row.system for row in history.rows if row.state != "expired")
    names = Counter(row.name for row in history.rows if row.state != "expired")

    # By system, in order of the rater's earlier items of the same source, and then in the rater's own order.
    candidates: dict[str, list[tuple[int, int, int, str]]] = defaultdict(list)
    for row in pool:
        if row.taken == pool[0].taken:
            key = _shuffle_key(project.seed, rater_id, row.id)
            candidates[row.system].append((names[row.name], key, row.id, row.name))
    for heap in candidates.values():
        heapq.heapify(heap)
    choice: list[int] = []
    while candidates and len(choice) < most:
        for heap in candidates.values():
            while heap[0][0] != (count := names[heap[0][3]]):  # An item of the same source was chosen meanwhile.
                heapq.heapreplace(heap, (count, *heap[0][1:]))
        system = min(candidates, key=lambda name: (candidates[name][0][0], systems[name], candidates[name][0][1]))
        _, _, number, source = heapq.heappop(candidates[system])
        if not candidates[system]:
            del candidates[system]
        choice.append(number)
        names[source] += 1
        systems[system] += 1
    return choice, "working"


def _shuffle_key(seed: int, rater_id: int, item_id: int) -> int:
    """Return a number by which items are in another order for each person; hashes of whole numbers are constant."""
    return hash((seed, rater_id, item_id))


def _find_items(connection: Connection, rater_id: int, items: Sequence[int]) -> list[SimpleNamespace]:
    """Return items in this order, each with the rater's assignment, if there is one."""
    rows = connection.execute(_FIND_ITEMS, {"rater": rater_id, "items": items}) if items else ()
    by_id = {row.id: SimpleNamespace(**row._mapping) for row in rows}
    return [by_id[number] for number in items]


def _lease(
    connection: Connection,
    project: Project,
    rater_id: int,
    items: Sequence[int],
    now: float,
    history: History,
    state: str = "leased",
) -> list[SimpleNamespace]:
    """Lease or reserve items for a rater, and return them with their assignments."""
    if history.has_any(items):
        rows = _find_items(connection, rater_id, items)
        if free := [row.id for row in rows if row.state != "reserved"]:
            connection.execute(_TAKE_SEVERAL, {"items": free})
    else:
        own = dict.fromkeys(("number", "state", "layout", "revision", "expires_at", "draft"))
        by_id = {
            row.id: SimpleNamespace(**row._mapping, **own)
            for row in connection.execute(_TAKE_NEW, {"items": items}).all()
        }
        rows = [by_id[number] for number in items]
    seconds = project.assignment.lease_minutes * 60 if state == "leased" else 0.0
    values = {"state": state, "leased_at": now, "expires_at": now + seconds}
    new = [row for row in rows if row.number is None]
    if numbers := [row.number for row in rows if row.number is not None]:
        connection.execute(update(assignment).where(assignment.c.id.in_(numbers)).values(**values))
    for row in new:
        layout = list(range(len(json.loads(row.outputs))))
        random.Random(f"{project.seed}:{rater_id}:{row.id}").shuffle(layout)
        row.layout, row.revision = json.dumps(layout), 0
    if new:
        shared = {"rater_id": rater_id, "revision": 0, **values}
        parameters = [{"item_id": row.id, "layout": row.layout, **shared} for row in new]
        for row, number in zip(new, connection.execute(_INSERT_LEASES, parameters).scalars().all(), strict=True):
            row.number = number
    for row in rows:
        row.state, row.expires_at = state, values["expires_at"]
    return rows


def present_own(connection: Connection, project: Project, rater_id: int, items: Sequence[int]) -> list[dict[str, Any]]:
    """Return items that a rater has, as their browser gets them."""
    return [present(project, row) for row in _find_items(connection, rater_id, items)]


def present(project: Project, row: SimpleNamespace) -> dict[str, Any]:
    """Return an item as the rater's browser gets it: no system, no id of the evaluation set, no sign of a check."""
    return {
        **page_item(project, row, json.loads(row.layout)),
        "assignment": row.number,
        "revision": row.revision,
        "expires_at": row.expires_at,
        "draft": json.loads(row.draft) if row.draft else None,
    }


def page_item(project: Project, row: Any, layout: Sequence[int]) -> dict[str, Any]:
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
    spans = token_spans(text, method)
    ends = [0, *(end for _, end in spans)]
    return [[text[before:start], text[start:end]] for before, (start, end) in zip(ends, spans, strict=False)]


def own_assignment(connection: Connection, rater_id: int, number: int) -> Row[Any]:
    """Return an assignment with its item; another person's is refused like one that does not exist."""
    return _own_assignments(connection, [(rater_id, number)])[number]


def _own_assignments(connection: Connection, owners: Sequence[tuple[int, int]]) -> dict[int, Row[Any]]:
    """Return assignments with their items by number; ``owners`` are pairs of a rater and an assignment."""
    rows = {row.id: row for row in connection.execute(_FIND_OWN, {"numbers": [number for _, number in owners]})}
    if any(number not in rows or rows[number].rater_id != rater_id for rater_id, number in owners):
        raise Refusal(404, "unknown", "This item is not one of yours.")
    return rows


@dataclass(frozen=True)
class Submission:
    """An answer as a rater's page sends it; ``counts`` is false for excluded people.

    The client made ``key`` for this answer: the same key again gets the same response, and with another payload a
    refusal. ``revision`` is the one that the client's page was based on. For ``waited`` and ``hidden`` see
    ``_measure_time``.
    """

    rater_id: int
    assignment_id: int
    key: str
    revision: int
    payload: object
    waited: float = 0.0
    hidden: float = 0.0
    counts: bool = True


def submit_all(connection: Connection, project: Project, submissions: Sequence[Submission]) -> list[Receipt]:
    """Store answers of different raters; a refusal of one refuses them all."""
    rows = _own_assignments(connection, [(sent.rater_id, sent.assignment_id) for sent in submissions])
    receipts: dict[int, Receipt] = {}
    new: list[tuple[Row[Any], dict[str, Any], str]] = []
    declined = Counter[int]()  # by item
    for sent in submissions:
        row = rows[sent.assignment_id]
        content = _check_submission(connection, project, row, sent)
        if isinstance(content, Receipt):
            receipts[row.id] = content
            continue
        state = "done"
        if not sent.counts or row.state == "replaced":  # Another person has the item.
            state = "replaced"
        elif row.kind == "main" and "cannot_judge" in content:
            others = _count_declined(connection, row) + declined[row.item_id]
            if others < project.assignment.replacements:
                state = "declined"
                declined[row.item_id] += 1
        new.append((row, _make_entry(connection, project, row, sent, content), state))
    if not new:
        return [receipts[sent.assignment_id] for sent in submissions]
    try:
        ids = connection.execute(_INSERT, [values for _, values, _ in new]).scalars().all()
    except IntegrityError:  # The key was used for another item, as this one has no answer with it.
        if len(new) > 1:
            raise
        raise _reused_key() from None
    changes = [{"number": row.id, "new_revision": row.revision + 1, "new_state": state} for row, _, state in new]
    connection.execute(_ANSWER, changes)
    for row, _, state in new:
        if times := (state in _TAKING) - (row.state in _TAKING):
            _take(connection, row.item_id, times)
    if drafts := [row.id for row, _, _ in new if row.draft is not None]:
        connection.execute(delete(draft).where(draft.c.assignment_id.in_(drafts)))
    for (row, values, _), number in zip(new, ids, strict=True):
        leases, answers = row.leases - (row.state == "leased"), row.answers + (row.state not in ANSWERED)
        receipts[row.id] = Receipt(_acknowledge(project, row, {**values, "id": number}), leases, answers)
    return [receipts[sent.assignment_id] for sent in submissions]


def _check_submission(
    connection: Connection, project: Project, row: Row[Any], sent: Submission
) -> Receipt | dict[str, Any]:
    """Return the content of an answer, or the receipt of an earlier one that is the same, or refuse it."""
    parameters = {"rater": sent.rater_id, "sent_key": sent.key}
    if row.revision and (earlier := connection.execute(_FIND_KEY, parameters).first()):
        if earlier.digest != fingerprint(row.id, sent.revision, sent.payload):
            raise _reused_key()
        return Receipt(_acknowledge(project, row, earlier._mapping), row.leases, row.answers)
    layout = json.loads(row.layout)
    outputs = arrange(row.outputs, layout)
    texts = {"source": row.source, "output": outputs[0]["text"], "tokens": row.tokens}
    answer = tasks.check(project, sent.payload, texts, len(outputs))
    if choice := answer.get("choice"):  # The positions are this rater's own; store the systems behind them.
        systems = [output["system"] for output in outputs]
        ends = {f"{end}_system": systems[choice[end]] for end in ("best", "worst") if end in choice}
        choice.update({"shown": systems, **ends})
    if sent.revision != row.revision:
        statement = select(entry).where(entry.c.assignment_id == row.id, entry.c.revision == row.revision)
        current = connection.execute(statement).first()
        if current is not None and json.loads(current.payload) == answer:
            return Receipt(_acknowledge(project, row, current._mapping), row.leases, row.answers)
        message = "This item was answered elsewhere after this page was loaded. That answer was kept, yours was not."
        latest, page = without_systems(current.payload if current else None), page_item(project, row, layout)
        raise Refusal(409, "stale", message, revision=row.revision, current=latest, item=page)
    if row.revision >= MOST_REVISIONS:
        raise Refusal(409, "revisions", f"An answer can be changed {MOST_REVISIONS} times. The last one stays.")
    return answer


def _make_entry(
    connection: Connection, project: Project, row: Row[Any], sent: Submission, content: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an answer as it is stored."""
    now, limit = time.time(), project.quality.time_limit_seconds
    seconds = _measure_time(connection, row, now, sent.waited, sent.hidden)
    return {
        "assignment_id": row.id,
        "item_id": row.item_id,
        "rater_id": row.rater_id,
        "revision": row.revision + 1,
        "key": sent.key,
        "digest": fingerprint(row.id, sent.revision, sent.payload),
        "payload": _to_json(content),
        "late": row.state == "expired" or (row.state == "leased" and row.expires_at < now),
        "overtime": bool(limit and seconds is not None and seconds > limit),
        "seconds": seconds,
        "created_at": now,
    }


def _reused_key() -> Refusal:
    return Refusal(409, "key-reused", "This key was used for another answer. Nothing was changed.")


def _count_declined(connection: Connection, row: Row[Any]) -> int:
    """Count the other people who could not judge an item and were replaced."""
    is_declined = (assignment.c.item_id == row.item_id) & (assignment.c.state == "declined")
    return _count(connection, is_declined, assignment.c.id != row.id, table=assignment)


def mark_shown(connection: Connection, items: Sequence[tuple[int, int]], now: float) -> None:
    """Store when the assignments of raters first stood on the screen; showing them again changes nothing."""
    if items:
        rows = [{"rater": rater_id, "number": number, "now": now} for rater_id, number in items]
        connection.execute(_MARK_SHOWN, rows)


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


def _acknowledge(project: Project, row: Row[Any], answer: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the response to an answer, the same for the first time and for every repetition."""
    content = {"assignment": row.id, "entry": answer["id"], "revision": answer["revision"], "late": answer["late"]}
    if row.kind == "training":
        content |= feedback(project, json.loads(answer["payload"]), row, json.loads(row.layout))
    return content


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
