"""Requests that wait at the same moment run together with few statements, and each gets what it would get alone."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event

from plainly_studio import assignments, people
from plainly_studio.assignments import Submission, submit_all
from plainly_studio.store import Part, Refusal
from studio.conftest import Make, Study, four, rating_project, simple_items

RATERS = 30


def claim_all(connection: Any, raters: Sequence[int], *, study: Study) -> list[assignments.Claim]:
    now = time.time()
    histories = assignments.read_histories(connection, study.project, raters, now)
    return [
        assignments.claim(connection, study.project, one, want=3, now=now, history=histories[one]) for one in raters
    ]


def add_raters(study: Study, count: int = RATERS) -> list[int]:
    secret = study.studio().secret

    def add(connection: Any) -> int:
        token = people.accept(connection, study.project, secret, people.invite(connection, "person"), {})
        person = people.find_person(connection, [token])
        assert person is not None
        return person.id

    return [study.store.write_now(add) for _ in range(count)]


def write_together(study: Study, works: Sequence[Any]) -> tuple[list[Future[Any]], int]:
    """Let functions wait for the writer until all are there; return their futures and the number of statements."""
    gate, statements = threading.Event(), Counter[str]()
    first = study.store.write(lambda connection: gate.wait(20))
    time.sleep(0.05)
    futures = [study.store.write(work) for work in works]
    listen = (study.store.writers, "before_cursor_execute", lambda *_: statements.update(["one"]))
    event.listen(*listen)
    gate.set()
    first.result(20)
    for future in futures:
        future.exception(60)
    event.remove(*listen)
    return futures, statements["one"]


def test_claims_that_wait_together_get_what_they_would_get_one_after_another(make: Make, database: str) -> None:
    project = rating_project(assignment={"overlap": 2, "early": 4})
    names = ("together", "alone")
    studies = [
        make(project, simple_items(45, systems=3), name=name, database=database if name == "together" else "")
        for name in names
    ]
    together, alone = studies
    raters = add_raters(together)
    assert add_raters(alone) == raters
    for _ in range(2):
        run = partial(claim_all, study=together)
        futures, _ = write_together(together, [Part(run, one, one) for one in raters])
        claims = [future.result() for future in futures]
        for one, claim in zip(raters, claims, strict=True):
            (other,) = alone.store.write_now(partial(claim_all, raters=[one], study=alone))
            assert [item["source"] for item in claim.items] == [item["source"] for item in other.items]
            assert claim.state == other.state
    leases = [(row.item_id, row.rater_id) for row in together.query("SELECT item_id, rater_id FROM assignment")]
    assert set(Counter(item for item, _ in leases).values()) == {2}
    assert {row.taken for row in together.query("SELECT taken FROM item")} == {2}


@pytest.fixture
def leased(make: Make, database: str) -> tuple[Study, dict[int, list[int]]]:
    """A study of which each rater has three items."""
    study = make(rating_project(assignment={"overlap": RATERS, "early": 0}), simple_items(3), database=database)
    numbers = {}
    for one in add_raters(study):
        (claim,) = study.store.write_now(partial(claim_all, raters=[one], study=study))
        numbers[one] = [item["assignment"] for item in claim.items]
    return study, numbers


def answers_of(study: Study, sent: Sequence[Submission]) -> list[Part[Any, Any]]:
    run = partial(_submit, study=study)
    return [Part(run, one, one.rater_id) for one in sent]


def _submit(connection: Any, sent: Sequence[Submission], *, study: Study) -> list[assignments.Receipt]:
    return submit_all(connection, study.project, sent)


def test_answers_that_wait_together_are_stored_with_few_statements(leased: tuple[Study, dict[int, list[int]]]) -> None:
    study, numbers = leased
    sent = [Submission(one, own[at], f"key-{one:03d}-{at}", 0, four()) for one, own in numbers.items() for at in (0, 1)]
    futures, statements = write_together(study, answers_of(study, [*sent, sent[0]]))
    receipts = [future.result() for future in futures]
    assert [receipt.answers for receipt in receipts] == [*[1, 2] * RATERS, 2]
    assert [receipt.leases for receipt in receipts] == [*[2, 1] * RATERS, 1]
    assert receipts[-1].content == receipts[0].content, "the same answer again gets the same response"
    rows = study.query("SELECT id, assignment_id, rater_id FROM entry")
    assert len(rows) == 2 * RATERS
    assert {row.id: row.assignment_id for row in rows} == {
        receipt.content["entry"]: receipt.content["assignment"] for receipt in receipts
    }
    most = 1.5 if study.store.sqlite else 0.5  # One by one it would be three for each; SQLite inserts one by one.
    assert statements <= most * len(futures)


def test_a_refused_answer_among_others_changes_nothing_and_refuses_none(
    leased: tuple[Study, dict[int, list[int]]],
) -> None:
    study, numbers = leased
    raters = list(numbers)
    sent = [Submission(one, own[0], f"key-{one:03d}-0", 0, four(2)) for one, own in numbers.items()]
    victim = sent[7].assignment_id
    thieves = [Submission(one, victim, f"stolen-{one:03d}", 0, four(5)) for one in (raters[3], raters[20])]
    stale = Submission(raters[9], numbers[raters[9]][1], "stale-answer", 4, four())
    futures, _ = write_together(study, answers_of(study, [thieves[0], *sent, thieves[1], stale]))
    refusals = [future.exception() for future in (futures[0], *futures[-2:])]
    assert [refusal.status for refusal in refusals if isinstance(refusal, Refusal)] == [404, 404, 409]
    assert all(future.exception() is None for future in futures[1:-2])
    stored = study.query(f"SELECT rater_id, payload FROM entry WHERE assignment_id = {victim}")
    assert [row.rater_id for row in stored] == [sent[7].rater_id]
    assert len(study.query("SELECT id FROM entry")) == RATERS


def test_the_limit_of_replaced_raters_holds_for_answers_that_wait_together(
    leased: tuple[Study, dict[int, list[int]]],
) -> None:
    study, numbers = leased
    sent = [Submission(one, own[0], f"key-{one:03d}", 0, {"cannot_judge": True}) for one, own in numbers.items()]
    futures, _ = write_together(study, answers_of(study, sent))
    assert all(future.exception() is None for future in futures)
    states = Counter(
        (row.item_id, row.state) for row in study.query("SELECT item_id, state FROM assignment WHERE revision = 1")
    )
    assert {count for (_, state), count in states.items() if state == "declined"} == {2}
    leases = Counter(row.item_id for row in study.query("SELECT item_id FROM assignment WHERE state != 'declined'"))
    assert {row.id: row.taken for row in study.query("SELECT id, taken FROM item")} == leases


def test_visitors_are_found_together_as_alone(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(3), database=database)
    secret = study.studio().secret
    tokens = [
        study.store.write_now(
            lambda connection: people.accept(connection, study.project, secret, people.invite(connection, "person"), {})
        )
        for _ in range(3)
    ]
    ended = study.store.read(partial(people.find_person, tokens=[tokens[1]]))
    assert ended is not None
    study.store.write_now(partial(people.end_access, pseudonym=ended.pseudonym, by="test"))
    visitors = [[tokens[2]], ["unknown"], [tokens[1]], ["unknown", tokens[0]], [tokens[2]], []]
    people_behind = study.store.read(partial(people.find_people, visitors=visitors))
    assert [person is not None for person in people_behind] == [True, False, False, True, True, False]
    alone = [study.store.read(partial(people.find_person, tokens=own)) for own in visitors]
    assert people_behind == alone
