"""One answer, however often it is sent; nothing overwritten; late ones kept. On SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter
from typing import Any

import pytest

from studio.conftest import Make, four, rater, rating_project, simple_items


def test_the_same_key_gets_the_same_reply_and_another_payload_a_refusal(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(3), database=database)
    one = rater(study)
    (item,) = one.claim()["items"]
    key = uuid.uuid4().hex
    first = one.answer(item, four(2), key=key)
    again = one.answer(item, four(2), key=key)
    other = one.answer(item, four(4), key=key)
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 409)
    assert first.json() == again.json()
    assert other.json()["error"] == "key-reused"
    assert len(study.query("SELECT id FROM entry")) == 1


def test_a_stale_revision_is_refused_with_the_current_answer(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(3), database=database)
    one = rater(study)
    (item,) = one.claim()["items"]
    assert one.answer(item, four(2)).status_code == 201
    stale = one.answer(item, four(5))
    assert stale.status_code == 409
    assert (stale.json()["error"], stale.json()["revision"]) == ("stale", 1)
    assert stale.json()["current"] == json.loads(json.dumps(four(2)))
    assert stale.json()["item"]["source"] == item["source"]
    assert one.answer(item, four(2)).json()["revision"] == 1, "the same answer again does not conflict"
    assert one.answer({**item, "revision": 1}, four(5)).json()["revision"] == 2
    rows = study.query("SELECT revision, payload FROM entry ORDER BY id")
    assert [row.revision for row in rows] == [1, 2]
    assert json.loads(rows[0].payload)["values"]["meaning"] == 2, "an edit adds a row and changes none"


def test_the_server_measures_the_time_and_bounds_what_the_page_reports(make: Make, database: str) -> None:
    study = make(rating_project(assignment={"ahead": 6}), simple_items(6), database=database)
    one = rater(study)
    items = one.claim(6)["items"]
    reports: list[dict[str, Any]] = [
        {}, {"hidden": 30}, {"waited": 50}, {"hidden": -1e9, "waited": -1e9}, {"hidden": 1e9}, {"seconds": 7},
    ]  # fmt: skip
    shift = "UPDATE assignment SET leased_at = leased_at - 100, shown_at = shown_at - 60"
    one.post("/api/claim", {"want": 0, "have": [item["assignment"] for item in items], "shown": items[0]["assignment"]})
    study.store.write_now(lambda connection: connection.exec_driver_sql(shift))
    for item in (items[0], items[1]):  # The first was shown before: a reload changes nothing.
        one.post("/api/claim", {"want": 0, "have": [item["assignment"]], "shown": item["assignment"]})
    for item, times in zip(items, reports, strict=True):
        assert one.answer(item, four(2), **times).status_code == 201
    measured = [row.seconds for row in study.query("SELECT seconds FROM entry ORDER BY id")]
    assert measured == pytest.approx([60, 0, 50, 100, 0, 100], abs=5)
    assert one.answer({**items[0], "revision": 1}, four(3), hidden=20).status_code == 201
    (edit,) = study.query("SELECT seconds FROM entry WHERE revision = 2")
    assert edit.seconds == measured[0], "an edit keeps the time of the first answer"
    assert one.answer({**items[0], "revision": 2}, four(3), hidden="1").status_code == 422


def test_parallel_sends_of_one_answer_store_it_once(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(3), database=database)
    one = rater(study)
    (item,) = one.claim()["items"]
    key = uuid.uuid4().hex
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(one.answer(item, four(2), key=key))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(answer.status_code for answer in answers) == {201: 12}
    assert len({answer.text for answer in answers}) == 1
    assert len(study.query("SELECT id FROM entry")) == 1


def test_fifty_parallel_claims_give_each_item_three_different_raters(make: Make, database: str) -> None:
    from plainly_studio import assignments, people

    project = rating_project(assignment={"overlap": 3, "ahead": 5})
    study = make(project, simple_items(30), database=database)
    studio = study.studio()

    def newcomer(connection: Any) -> int:
        token = people.invite(connection, "person")
        people.accept(connection, project, studio.secret, token, {})
        return int(connection.exec_driver_sql("SELECT max(id) FROM rater").scalar_one())

    ids = [study.store.write_now(newcomer) for _ in range(50)]
    gate = threading.Barrier(50)

    def claim(rater_id: int) -> None:
        gate.wait()
        for _ in range(2):
            study.store.write_now(
                lambda connection: assignments.claim(connection, project, rater_id, want=5, now=time.time())
            )

    threads = [threading.Thread(target=claim, args=(one,)) for one in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    leases = study.query("SELECT item_id, rater_id FROM assignment")
    assert len(leases) == 30 * 3
    assert len({(row.item_id, row.rater_id) for row in leases}) == 30 * 3
    assert set(Counter(row.item_id for row in leases).values()) == {3}
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {3}


def test_a_lease_that_ran_out_is_offered_again_and_a_late_answer_is_kept_and_flagged(make: Make, database: str) -> None:
    project = rating_project(assignment={"overlap": 1, "lease_minutes": 0.0005})
    study = make(project, simple_items(1), database=database)
    slow, quick = rater(study), rater(study)
    (item,) = slow.claim()["items"]
    time.sleep(0.05)
    (again,) = quick.claim()["items"]
    assert again["source"] == item["source"]
    assert again["assignment"] != item["assignment"]
    assert quick.answer(again, four(4)).status_code == 201
    late = slow.answer(item, four(2))
    assert late.status_code == 201
    assert late.json()["late"] is True
    rows = study.query("SELECT late, payload FROM entry ORDER BY id")
    assert len(rows) == 2
    assert bool(rows[1].late)
    assert slow.claim()["state"] == "finished"


def test_items_come_breadth_first_balanced_over_systems_and_in_each_raters_own_order(make: Make) -> None:
    study = make(rating_project(assignment={"overlap": 2, "ahead": 1, "early": 0}), simple_items(40, systems=4))
    orders = []
    for _ in range(2):
        one = rater(study)
        sources = []
        for _ in range(20):
            (item,) = one.claim()["items"]
            sources.append(item["source"])
            assert one.answer(item, four()).status_code == 201
        orders.append(sources)
    assert len({*orders[0], *orders[1]}) == 40, "every item once before any twice"
    counts = study.query(
        "SELECT rater_id, system, count(*) AS n FROM assignment JOIN item ON item.id = item_id "
        "GROUP BY rater_id, system"
    )
    assert {row.n for row in counts} == {5}
    assert orders[0] != sorted(orders[0])


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"values": {"meaning": 3}}, "grammaticality"),
        ({"values": {**four()["values"], "meaning": 6}}, "meaning"),
        ({"values": {**four()["values"], "meaning": 2.5}}, "meaning"),
        ({"values": {**four()["values"], "meaning": True}}, "meaning"),
        ({"values": {**four()["values"], "meaning": "3"}}, "meaning"),
        ({"values": {**four()["values"], "beauty": 3}}, "beauty"),
        ({"values": [1, 2]}, "values"),
        ([], "payload"),
        (None, "payload"),
        ({**four(), "admin": True}, "admin"),
        ({**four(), "comment": "x" * 4001}, "comment"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_by_field(make: Make, payload: Any, field: str) -> None:
    study = make(rating_project(), simple_items(2))
    one = rater(study)
    (item,) = one.claim()["items"]
    response = one.answer(item, payload)
    assert response.status_code == 422
    assert response.json()["field"] == field
    assert not study.query("SELECT id FROM entry")


def test_training_feedback_qualification_and_checks(make: Make) -> None:
    quality = {"check_every": 2, "pass_share": 0.5, "tolerance": 1}
    right = {"values": {"grammaticality": 3, "meaning": 3}}
    items = (
        simple_items(1, kind="training", expected=right, feedback="Look at the tense.")
        + simple_items(2, kind="qualification", expected=right)
        + simple_items(1, kind="check", expected=right)
        + simple_items(6)
    )
    study = make(rating_project(quality=quality, assignment={"ahead": 1}), items)
    good = rater(study)
    (item,) = good.claim()["items"]
    assert item["training"]
    reply = good.answer(item, four(5)).json()["feedback"]
    assert reply == {"right": False, "text": "Look at the tense.", "expected": right}
    kinds = []
    for _ in range(9):
        (item,) = good.claim()["items"]
        assert not item["training"], "what is a test or a check is not told"
        assert good.answer(item, four(3)).status_code == 201
    kinds = [
        row.kind for row in study.query("SELECT kind FROM entry JOIN item ON item.id = entry.item_id ORDER BY entry.id")
    ]
    assert kinds[:3] == ["training", "qualification", "qualification"]
    assert sorted(kinds[3:6]) == ["check", "main", "main"], "the check is somewhere in the first round"
    assert kinds[6:] == ["main"] * 4
    assert good.claim()["state"] == "finished"
    bad = rater(study)
    for _ in range(3):
        (item,) = bad.claim()["items"]
        bad.answer(item, four(1) if not item["training"] else four(3))
    reply = bad.claim()
    assert (reply["items"], reply["state"], reply["done"]) == ([], "failed", 0)
    assert reply["code"] != good.claim()["code"], "screened out is another code"


def test_stop_rules_end_the_handing_out(make: Make) -> None:
    study = make(rating_project(stop={"answers": 3}, assignment={"ahead": 1, "per_rater": 2}), simple_items(10))
    first, second = rater(study), rater(study)
    for one, expected in ((first, 2), (second, 1)):
        count = 0
        while items := one.claim()["items"]:
            assert one.answer(items[0], four()).status_code == 201
            count += 1
        assert count == expected
        reply = one.claim()
        assert reply["state"] == "finished", "also for the second, who was told that there is one item"
        assert len(reply["code"]) == 10


def test_drafts_are_kept_for_their_author_and_are_not_answers(make: Make) -> None:
    study = make(rating_project(), simple_items(3))
    one, other = rater(study), rater(study)
    (item,) = one.claim()["items"]
    draft = {"values": {"meaning": 2}, "comment": "half"}
    assert one.post("/api/draft", {"assignment": item["assignment"], "payload": draft}).status_code == 200
    assert one.claim()["items"][0]["draft"] == draft
    assert other.post("/api/draft", {"assignment": item["assignment"], "payload": {}}).status_code == 404
    assert not study.query("SELECT id FROM entry")
    assert one.answer(item, four()).status_code == 201
    assert not study.query("SELECT assignment_id FROM draft")
