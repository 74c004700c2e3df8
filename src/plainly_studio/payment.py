"""Who did the agreed work: what each person's code says, and the lists that crowd platforms pay by.

There are three codes, because platforms pay three kinds of work differently: complete, screened out by the test, and
returned (stopped early, or no more work was there).
"""

import json
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from sqlalchemy import Connection, func, select, update

from plainly.core.tables import delimited
from plainly.people.rating_tables import escape_formula
from plainly_studio import schema
from plainly_studio.people import Outcome, Person, Secret
from plainly_studio.project import Project

_TIMED = 20
_READING = 60 / 200  # seconds a word
_DECIDING = {"rating": 5.0, "ranking": 8.0, "operations": 45.0}  # seconds a question
_SUBMIT = "/mturk/externalSubmit"
item, rater, entry, assignment = schema.item, schema.rater, schema.entry, schema.assignment


def agreed(project: Project) -> int:
    """How many items earn the completion code; 0 where that is all there is."""
    return project.crowd.agreed or project.assignment.per_rater


def outcome_of(project: Project, state: str, done: int) -> Outcome | None:
    """What a person's work came to; None while it goes on."""
    if state == "failed":
        return "screened-out"
    enough = done >= max(1, agreed(project))
    if state == "finished":
        return "complete" if enough else "returned"
    if state == "left":  # One's own wish to stop earns the code only where it was agreed how much is enough.
        return "complete" if agreed(project) and enough else "returned"
    return "complete" if agreed(project) and enough else None


def record(connection: Connection, rater_id: int, outcome: Outcome) -> None:
    """Keep what somebody's work came to, with the first time at which it did."""
    other = rater.c.outcome.is_(None) | (rater.c.outcome != outcome)
    connection.execute(update(rater).where(rater.c.id == rater_id, other).values(outcome=outcome, ended_at=time.time()))


def code(project: Project, secret: Secret, outcome: str, pseudonym: str) -> str:
    """What the platform wants to see: the project's code for this outcome, or one of the person's own."""
    crowd = project.crowd
    fixed = {
        "complete": crowd.completion_code,
        "returned": crowd.returned_code,
        "screened-out": crowd.screened_out_code,
    }
    purpose = "completion" if outcome == "complete" else outcome
    return fixed[outcome] or secret.sign(purpose, pseudonym)[:10].upper()


def handover(project: Project, secret: Secret, person: Person, outcome: str) -> dict[str, str]:
    """What the page shows at the end: the code and the way back to the platform."""
    own = code(project, secret, outcome, person.pseudonym)
    told = {"code": own, "completion_url": project.crowd.completion_url.replace("{code}", quote(own, safe=""))}
    platform = json.loads(person.crowd)
    parts = urlsplit(platform.get("turkSubmitTo", ""))
    if f"{parts.scheme}://{parts.netloc}" in project.crowd.frame:
        told |= {"submit_to": f"{parts.scheme}://{parts.netloc}{_SUBMIT}"}
        told |= {"assignment_id": platform.get("assignmentId", "")}
    return told


def seconds_each(connection: Connection, project: Project) -> float:
    """About how long an item takes: as it took so far, or by its words while hardly anybody has answered."""
    latest = select(entry.c.seconds).where(entry.c.seconds.is_not(None)).order_by(entry.c.id.desc()).limit(200)
    times = list(connection.execute(latest).scalars())
    if len(times) >= _TIMED:
        return float(statistics.median(times))
    rows = connection.execute(select(item.c.source, item.c.outputs).where(item.c.kind == "main").limit(50)).all()
    texts = [" ".join([row.source, *(output["text"] for output in json.loads(row.outputs))]) for row in rows]
    words = statistics.mean(len(text.split()) for text in texts) if texts else 0
    return words * _READING + _DECIDING[project.task] * max(1, len(project.scales))


def workload(connection: Connection, project: Project) -> dict[str, int]:
    """For somebody who thinks about coming: how many items, and about how many minutes."""
    counted = select(item.c.kind, func.count()).group_by(item.c.kind)
    kinds = {kind: int(count) for kind, count in connection.execute(counted)}
    open_ = select(func.count()).where(item.c.kind == "main", item.c.taken < project.assignment.overlap)
    main = min(int(connection.execute(open_).scalar_one()), agreed(project) or kinds.get("main", 0))
    every = project.quality.check_every
    checks = min(kinds.get("check", 0), main // every) if every else 0
    count = main + checks + kinds.get("training", 0) + kinds.get("qualification", 0)
    return {"count": count, "minutes": max(1, round(count * seconds_each(connection, project) / 60 + 0.4))}


def roster(connection: Connection, project: Project, secret: Secret) -> list[dict[str, Any]]:
    """Everybody who came, with platform ids, what they did, and what their code is."""
    answers = func.count(assignment.c.id).label("answers")
    done = assignment.c.state.in_(("done", "replaced"))
    counted = select(assignment.c.rater_id, answers).where(done).group_by(assignment.c.rater_id).subquery()
    came = select(rater, counted.c.answers).outerjoin(counted, counted.c.rater_id == rater.c.id)
    rows = connection.execute(came.where(rater.c.role == "rater").order_by(rater.c.id)).all()
    return [
        {
            "rater": row.pseudonym,
            **dict.fromkeys(project.crowd.parameters, ""),
            **json.loads(row.crowd),
            "answers": row.answers or 0,
            "outcome": row.outcome or "",
            "code": code(project, secret, row.outcome, row.pseudonym) if row.outcome else "",
            "state": row.state,
            "excluded": row.excluded_why or "excluded" if row.excluded_at else "",
            "created_at": row.created_at,
        }
        for row in rows
    ]


def _people(rows: list[dict[str, Any]]) -> str:
    names = [name for name in (rows[0] if rows else {"rater": ""}) if name != "created_at"]
    return delimited(names, [[escape_formula(row[name]) for name in names] for row in rows])


def _prolific(rows: list[dict[str, Any]], *, good: bool) -> str:
    """Prolific takes a list of participants, one a line, to approve or to reject."""
    chosen = [row["PROLIFIC_PID"] for row in rows if row.get("PROLIFIC_PID") and _paid(row) is good]
    return "\n".join(dict.fromkeys(chosen))


def _mturk(rows: list[dict[str, Any]]) -> str:
    """MTurk takes its own results back, with an X under Approve or a reason under Reject."""
    table = [
        (row["assignmentId"], row["hitId"], row["workerId"], "X" if _paid(row) else "",
         f"The answers were excluded: {row['excluded']}" if _paid(row) is False else "")
        for row in rows
        if row.get("workerId")
    ]  # fmt: skip
    return delimited(
        ("AssignmentId", "HITId", "WorkerId", "Approve", "Reject"), [list(map(escape_formula, row)) for row in table]
    )


def _paid(row: Mapping[str, Any]) -> bool | None:
    """Whether to approve; None where that is for the owner to decide."""
    return False if row["excluded"] else True if row["outcome"] == "complete" else None


LISTS: Mapping[str, Callable[[list[dict[str, Any]]], str]] = {
    "people.csv": _people,
    "prolific-approve.csv": lambda rows: _prolific(rows, good=True),
    "prolific-reject.csv": lambda rows: _prolific(rows, good=False),
    "mturk.csv": _mturk,
}


def write(connection: Connection, project: Project, secret: Secret, name: str) -> bytes:
    """A list for the platform or the accountant; unlike the exports it holds platform ids."""
    text = LISTS[name](roster(connection, project, secret))
    return f"{text}\n".encode() if text else b""
