"""Fair to raters: announced work is paid, pay is not analysis, and the work of others cannot be opened."""

from __future__ import annotations

import asyncio
import csv
import html
import io
import random
import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import plainly_studio
from plainly_studio import assignments, creation, exports, owner_pages, people
from plainly_studio.context import COOKIES
from plainly_studio.owner_pages import tidy
from plainly_studio.schema import entry
from studio.conftest import Make, Rater, Study, four, hidden_field, local_client, rater, rating_project, simple_items
from studio.test_paid import act, crowd, figures, finish, trail
from studio.test_security import ORIGIN, owner

RIGHT = {"values": {"grammaticality": 3, "meaning": 3}}
CANNOT = {"cannot_judge": True}


def people_of(study: Study) -> list[dict[str, str]]:
    """The rows of people.csv."""
    return list(csv.DictReader(io.StringIO(owner(study).client.get("/owner/export/people.csv").text)))


def lines_of(study: Study, name: str) -> list[str]:
    return owner(study).client.get(f"/owner/export/{name}").text.split()


def post_join(client: Any, link: str, **data: str) -> Any:
    """Open a link with the platform's ids and press the button, as a browser does it."""
    page = client.get(f"/join/{link}", params=data)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    form = {**{name: html.unescape(text) for name, text in fields.items()}, "consent": "yes", **data}
    return client.post(f"/join/{link}", data=form, headers={"origin": ORIGIN})


def answer_all(one: Rater, payload: Any = None) -> int:
    """Answer every item without a further request; return how many there were."""
    count, total = 0, one.claim()["total"]
    while count < total:
        for item in one.claim(10)["items"]:
            assert one.answer(item, payload or four()).status_code == 201
            count += 1
    return count


# Pay is not analysis.


@pytest.mark.parametrize("per_rater", [0, 3])
def test_the_last_answer_completes_the_work_whatever_the_browser_does_next(make: Make, per_rater: int) -> None:
    study = make(rating_project(assignment={"per_rater": per_rater}), simple_items(3))
    one = rater(study)
    for item in one.claim(3)["items"]:
        assert people_of(study)[0]["outcome"] == ""
        one.answer(item, four())
    (row,) = people_of(study)
    assert (row["outcome"], row["decision"]) == ("complete", "approve")
    assert row["code"] == study.studio().secret.sign("completion", one.name)[:10].upper()


def test_the_last_answer_of_a_test_screens_out_and_frees_the_place(make: Make) -> None:
    items = simple_items(2, kind="qualification", expected=RIGHT) + simple_items(3)
    study = make(rating_project(assignment={"per_rater": 3, "overlap": 1}), items)
    one = rater(study)
    for item in (one.claim()["items"] + one.claim()["items"])[:2]:
        one.answer(item, four(1))
    (item,) = one.claim()["items"] or [None]
    if item:
        one.answer(item, four(1))
    assert people_of(study)[0]["outcome"] == "screened-out"
    assert one.claim()["state"] == "failed"
    assert {row.taken for row in study.query("SELECT taken FROM item WHERE kind = 'main'")} == {0}


def test_excluding_answers_rejects_nobody_and_rejecting_excludes_nobody(make: Make, database: str) -> None:
    study = make(rating_project(assignment={"per_rater": 2}), simple_items(4), database=database)
    link = study.link("crowd")
    raters = [crowd(study, link, name) for name in ("p0", "p1", "p2")]
    for one in raters:
        finish(one)
    manager = owner(study)
    assert act(manager, "/owner/exclude", rater=raters[0].name, why="random clicks").status_code == 303
    assert lines_of(study, "prolific-approve.csv") == ["p0", "p1", "p2"]
    assert lines_of(study, "prolific-reject.csv") == []
    assert raters[0].claim()["code"] == study.studio().secret.sign("completion", raters[0].name)[:10].upper()
    assert act(manager, "/owner/decide", rater=raters[1].name, decision="reject").status_code == 422, "needs a reason"
    assert act(manager, "/owner/decide", rater=raters[1].name, decision="maybe", why="x").status_code == 422
    decided = act(manager, "/owner/decide", rater=raters[1].name, decision="reject", why="pasted text")
    assert decided.status_code == 303
    assert lines_of(study, "prolific-approve.csv") == ["p0", "p2"]
    assert lines_of(study, "prolific-reject.csv") == ["p1"]
    rows = {row["PROLIFIC_PID"]: row for row in people_of(study)}
    assert (rows["p0"]["excluded"], rows["p0"]["decision"]) == ("random clicks", "approve")
    assert (rows["p1"]["excluded"], rows["p1"]["reason"]) == ("", "pasted text")
    assert figures(study)["answers"] == 4, "the rejected answers count, the excluded ones do not"
    assert act(manager, "/owner/decide", rater=raters[1].name, decision="").status_code == 303
    assert lines_of(study, "prolific-approve.csv") == ["p0", "p1", "p2"], "the default again"
    assert "pasted text" in str([detail for action, detail in trail(study) if action == "decide"])


def test_a_rater_who_is_excluded_in_the_middle_is_told_so_and_has_a_code(make: Make) -> None:
    study = make(rating_project(assignment={"per_rater": 3}), simple_items(4))
    one = rater(study)
    (item, *_) = one.claim(3)["items"]
    one.answer(item, four())
    act(owner(study), "/owner/exclude", rater=one.name, why="checks")
    reply = one.claim()
    assert (reply["state"], reply["answered"], reply["items"]) == ("ended", 1, [])
    assert reply["code"] == study.studio().secret.sign("returned", one.name)[:10].upper()
    assert people_of(study)[0]["decision"] == "", "the owner decides"


def test_people_csv_has_times_consent_and_pay(make: Make) -> None:
    study = make(rating_project(consent="We keep your answers.", assignment={"per_rater": 2}), simple_items(4))
    one = crowd(study, study.link("crowd"), "p0")
    finish(one)
    manager = owner(study)
    act(manager, "/owner/settings", consent="We keep your answers for a year.")
    finish(crowd(study, study.link("crowd"), "p1"))
    rows = people_of(study)
    for row in rows:
        assert row["joined"][:2] == "20"
        assert row["joined"] == row["consented"]
        assert row["ended"] >= row["joined"]
        assert 0 <= float(row["minutes"]) < 5
        assert (row["promised"], row["answers"], row["outcome"]) == ("2", "2", "complete")
        assert (row["decision"], row["reason"], row["excluded"]) == ("approve", "did what was asked", "")
    versions = [row["consent_version"] for row in rows]
    assert len(set(versions)) == 2
    texts = {detail["version"]: detail["text"] for action, detail in trail(study) if action == "consent"}
    assert [texts[version] for version in versions] == ["We keep your answers.", "We keep your answers for a year."]


def test_withdrawing_after_the_end_keeps_what_is_owed(make: Make, database: str) -> None:
    study = make(rating_project(assignment={"per_rater": 2}), simple_items(4), database=database)
    link = study.link("crowd")
    done, early = crowd(study, link, "p-done"), crowd(study, link, "p-early")
    code = finish(done)["code"]
    early.answer(early.claim()["items"][0], {**four(), "comment": "I live in Musterstadt"})
    assert done.post("/api/exit", {"withdraw": True}).json()["code"] == code
    assert early.post("/api/exit", {"withdraw": True}).json()["code"] != code
    assert not study.query("SELECT id FROM entry")
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {0}
    rows = people_of(study)
    assert [(row["state"], row["outcome"], row["decision"]) for row in rows] == [
        ("withdrawn", "complete", "approve"),
        ("withdrawn", "returned", ""),
    ]
    assert (rows[0]["PROLIFIC_PID"], rows[0]["code"]) == ("p-done", code)
    assert lines_of(study, "prolific-approve.csv") == ["p-done"]
    assert rows[1]["PROLIFIC_PID"] == "", "ids stay only where somebody is owed something"


def test_bonuses_are_given_by_rule_and_by_hand(make: Make) -> None:
    quality = {"check_every": 1}
    crowd_settings = {"bonus": 0.5, "bonus_checks": 1.0}
    items = simple_items(1, kind="check", expected=RIGHT) + simple_items(4)
    study = make(rating_project(crowd=crowd_settings, quality=quality, assignment={"per_rater": 2}), items)
    link = study.link("crowd")
    good, bad, other = (crowd(study, link, name) for name in ("good", "bad", "other"))
    finish(good, 3)
    finish(bad, 1)
    finish(other, 3)
    assert [row["checks"] for row in people_of(study)] == ["1 of 1", "0 of 1", "1 of 1"]
    assert lines_of(study, "prolific-bonus.csv") == ["good,0.50", "other,0.50"]
    manager = owner(study)
    assert act(manager, "/owner/bonus", rater=bad.name, amount="a lot").status_code == 422
    assert act(manager, "/owner/bonus", rater=bad.name, amount="1.25").status_code == 303
    assert act(manager, "/owner/bonus", rater=other.name, amount="0").status_code == 303
    assert lines_of(study, "prolific-bonus.csv") == ["good,0.50", "bad,1.25"]


def test_work_that_a_rule_excludes_is_paid_and_has_no_bonus(make: Make) -> None:
    """The bonus is for work that counts; the list says which rule excludes it."""
    settings = {"crowd": {"bonus": 0.5}, "exclusion": {"straight_lining": 0.9}, "assignment": {"per_rater": 5}}
    study = make(rating_project(**settings), simple_items(5))
    link = study.link("crowd")
    for name, values in (("reads", (1, 2, 3, 4, 5)), ("same", (3,) * 5)):
        one = crowd(study, link, name)
        for value in values:
            assert one.answer(one.claim()["items"][0], four(value)).status_code == 201
    for rows in (people_of(study), read_list(study)):
        assert [row["decision"] for row in rows] == ["approve", "approve"]
        assert [row["bonus"] for row in rows] == ["0.5", ""]
        assert [row["excluded"].partition(":")[0] for row in rows] == ["", "straight_lining"]
    assert lines_of(study, "prolific-bonus.csv") == ["reads,0.50"]
    manager = owner(study)
    page = manager.client.get("/owner/people?state=excluded").text
    assert page.count("straight_lining: 5 of 5") == 2
    assert "/owner/restore" not in page, "the rule would exclude the answers again"


def read_list(study: Study) -> list[dict[str, str]]:
    """The rows of people.csv, as the command line writes it."""
    content = plainly_studio.export(study.file, "people.csv", database=study.database).decode()
    return list(csv.DictReader(io.StringIO(content)))


# No work for nothing.


def test_a_full_study_says_so_before_the_consent(make: Make) -> None:
    items = simple_items(2, kind="training", expected=RIGHT) + simple_items(2)
    settings = {"per_rater": 2, "overlap": 1}
    study = make(rating_project(consent="We keep your answers.", assignment=settings), items)
    link = study.link("crowd")
    crowd(study, link, "p0")
    client = local_client(study)
    page = client.get(f"/join/{link}?PROLIFIC_PID=p1").text
    assert "This study is full" in page
    assert "We keep your answers." not in page
    form = {"PROLIFIC_PID": "p1", "consent": "yes", "page_token": hidden_field_of(client, link)}
    response = client.post(f"/join/{link}", data=form, headers={"origin": ORIGIN})
    assert response.status_code == 409
    assert "This study is full" in response.text
    assert len(people_of(study)) == 1, "nothing was stored"


def hidden_field_of(client: Any, link: str) -> str:
    """A page token of this browser, from the form for people who were here before."""
    return hidden_field(client.get(f"/join/{link}").text, "page_token")


def test_fewer_items_than_announced_are_announced_again(make: Make) -> None:
    study = make(rating_project(assignment={"per_rater": 4, "overlap": 1}), simple_items(6))
    client, link = local_client(study), study.link()
    page = client.get(f"/join/{link}").text
    assert "You will judge 4 items" in page
    rater(study)
    form = {name: hidden_field(page, name) for name in ("page_token", "announced")}
    again = client.post(f"/join/{link}", data=form, headers={"origin": ORIGIN})
    assert again.status_code == 409
    assert "You will judge 2 items" in again.text
    assert "fewer items for you now" in again.text
    form = {name: hidden_field(again.text, name) for name in ("page_token", "announced")}
    assert client.post(f"/join/{link}", data=form, headers={"origin": ORIGIN}).status_code == 303


def test_the_announced_number_is_true_with_practice_and_checks(make: Make) -> None:
    rng = random.Random(5)
    for number in range(12):
        special = {kind: rng.randint(0, 2) for kind in ("training", "qualification", "check")}
        items = [row for kind, n in special.items() for row in simple_items(n, kind=kind, expected=RIGHT)]
        quality = {"check_every": rng.randint(1, 4)}
        settings = {"per_rater": rng.randint(1, 6), "overlap": rng.randint(1, 3), "ahead": rng.randint(1, 4)}
        project = rating_project(quality=quality, assignment=settings)
        study = make(project, items + simple_items(rng.randint(3, 8)), name=f"study{number}")
        page = local_client(study).get(f"/join/{study.link()}").text
        announced = int(re.findall(r"You will judge (\d+) items", page)[0])
        one = rater(study)
        count = 0
        while claimed := one.claim(3)["items"]:
            for item in claimed:
                assert one.claim()["total"] == announced
                assert one.answer(item, four()).status_code == 201
                count += 1
        assert count == announced, (special, quality, settings)
        assert people_of(study)[0]["outcome"] == "complete"


def test_who_did_all_announced_items_is_complete_although_others_took_the_place(make: Make, database: str) -> None:
    settings = {"per_rater": 3, "overlap": 1, "ahead": 1}
    study = make(rating_project(assignment=settings), simple_items(3), database=database)
    slow = rater(study)
    (item,) = slow.claim()["items"]
    assert "This study is full" in local_client(study).get(f"/join/{study.link()}").text
    in_an_hour = time.time() + 3600
    study.store.write_now(lambda connection: assignments.end_expired(connection, in_an_hour))
    fast = rater(study)
    assert finish(fast)["code"]
    assert slow.answer(item, four()).status_code == 201
    reply = finish(slow)
    assert (reply["state"], reply["done"]) == ("finished", 3)
    assert people_of(study)[0]["outcome"] == "complete"


def play(study: Study, raters: int, rng: random.Random) -> list[int]:
    """Let raters come and work in random order until nothing is left for them; return how many items each judged."""
    secret, now = study.studio().secret, time.time()

    def work(connection: Any) -> list[int]:
        waiting = [people.invite(connection, "person") for _ in range(raters)]
        at_work: dict[int, people.Person] = {}
        done: dict[int, int] = {}
        while waiting or at_work:
            if waiting and (not at_work or rng.random() < 0.1):
                token = people.accept(connection, study.project, secret, waiting.pop(), {})
                person = people.find_person(connection, [token])
                assert person is not None
                at_work[person.id] = person
                done[person.id] = 0
            person = rng.choice(list(at_work.values()))
            want = {"want": rng.randint(1, 3), "now": now, "promised": person.promised}
            claim = assignments.claim(connection, study.project, person.id, **want)
            if not claim.items and claim.state == "waiting":
                continue
            if not claim.items:
                assert person.promised in (None, claim.done)
                del at_work[person.id]
                continue
            key = f"key-{sum(done.values()):05d}"
            sent = assignments.Submission(person.id, claim.items[0]["assignment"], key, revision=0, payload=four())
            assignments.submit_all(connection, study.project, [sent])
            done[person.id] += 1
        return list(done.values())

    return study.store.write_now(work)


@pytest.mark.parametrize("seed", range(20))
def test_every_judgement_is_collected_where_raters_and_items_fit(make: Make, seed: int) -> None:
    """12 raters with 15 items each judge 60 items three times, and others; the share is given or follows."""
    rng = random.Random(seed)
    per_rater, overlap = (15, 3) if seed < 5 else (rng.randint(2, 9), rng.randint(1, 4))
    raters = 12 if seed < 5 else overlap * rng.randint(1, 4)
    items = per_rater * raters // overlap
    number = {"per_rater": per_rater} if seed % 2 else {"raters": raters}
    settings = {**number, "overlap": overlap, "early": rng.choice((0, 5, 8, 20)), "ahead": 3}
    project = creation.share_items(rating_project(assignment=settings), items)
    study = make(project, simple_items(items, systems=3))
    assert play(study, raters, rng) == [per_rater] * raters
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {overlap}


@pytest.mark.parametrize("seed", range(10))
def test_every_judgement_is_collected_by_people_who_judge_what_is_open(make: Make, seed: int) -> None:
    rng = random.Random(seed)
    overlap, items = rng.randint(1, 4), rng.randint(5, 30)
    settings = {"overlap": overlap, "early": rng.choice((0, 5, 20)), "ahead": 3}
    study = make(rating_project(assignment=settings), simple_items(items, systems=3))
    assert sum(play(study, overlap, rng)) == items * overlap
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {overlap}


def test_when_the_owner_stops_the_study_nobody_who_has_begun_loses_the_pay(make: Make) -> None:
    study = make(rating_project(assignment={"per_rater": 3, "ahead": 1}), simple_items(4))
    one, idle = rater(study), rater(study)
    one.answer(one.claim()["items"][0], four())
    act(owner(study), "/owner/stop", stopped="yes")
    assert one.claim()["state"] == "finished"
    assert idle.claim()["state"] == "full"
    assert [row["outcome"] for row in people_of(study)] == ["complete", "returned"]


# Rejoining does not reset a record.


def test_withdrawing_does_not_reset_the_verdict_of_a_test(make: Make, database: str) -> None:
    items = simple_items(1, kind="qualification", expected=RIGHT) + simple_items(3)
    study = make(rating_project(), items, database=database)
    link = study.link("crowd")
    one = crowd(study, link, "p0")
    one.answer(one.claim()["items"][0], four(1))
    assert one.claim()["state"] == "failed"
    assert one.post("/api/exit", {"withdraw": True}).json()["state"] == "withdrawn"
    client = local_client(study)
    response = client.get(f"/join/{link}?PROLIFIC_PID=p0")
    assert response.status_code == 403
    assert "You withdrew from this study" in response.text
    assert act(owner(study), "/owner/readmit", rater=one.name).status_code == 303
    code = people.return_code(study.studio().secret, one.name)
    again = Rater(ORIGIN, link, client=client, data={"PROLIFIC_PID": "p0", "code": code})
    assert again.name == one.name
    assert again.claim()["state"] == "failed", "the test is not taken again"


def test_exclusions_and_checks_stay_after_a_withdrawal(make: Make) -> None:
    items = simple_items(1, kind="check", expected=RIGHT) + simple_items(4)
    project = rating_project(quality={"check_every": 1}, assignment={"per_rater": 2})
    study = make(project, items)
    own_link = study.link()
    one = Rater(ORIGIN, own_link, client=local_client(study))
    finish(one, 1)
    manager = owner(study)
    act(manager, "/owner/exclude", rater=one.name, why="random")
    one.post("/api/exit", {"withdraw": True})
    (row,) = people_of(study)
    assert (row["checks"], row["excluded"], row["answers"]) == ("0 of 1", "random", "0")
    act(manager, "/owner/readmit", rater=one.name)
    again = Rater(ORIGIN, own_link, client=local_client(study))
    assert again.name == one.name
    assert again.claim()["state"] == "ended"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{{%PROLIFIC_PID%}}", "placeholder"),
        ("${e://Field/PID}", "placeholder"),
        ("REAL\nFRIEND1", "one line"),
        ("REAL\u2028FRIEND1", "one line"),
        ("x" * 65, "64 characters"),
    ],
)
def test_ids_that_are_no_ids_are_refused_with_a_sentence(make: Make, value: str, words: str) -> None:
    study = make(rating_project(), simple_items(2))
    client, link = local_client(study), study.link("crowd")
    page = client.get(f"/join/{link}", params={"PROLIFIC_PID": value})
    assert (page.status_code, words in page.text) == (422, True)
    form = {"PROLIFIC_PID": value, "page_token": hidden_field_of(client, link)}
    assert client.post(f"/join/{link}", data=form, headers={"origin": ORIGIN}).status_code == 422
    assert people_of(study) == []


def test_an_id_can_be_required(make: Make) -> None:
    study = make(rating_project(crowd={"require_id": True}), simple_items(2))
    client, link = local_client(study), study.link("crowd")
    page = client.get(f"/join/{link}")
    assert (page.status_code, "lacks your id" in page.text) == (422, True)
    assert client.get(f"/join/{study.link()}").status_code == 200, "a personal link needs none"
    looking = client.get(f"/join/{link}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    assert (looking.status_code, "preview" in looking.text) == (200, True)
    assert post_join(client, link, workerId="w1").status_code == 303


def test_lists_contain_one_line_per_person_and_no_formulas(make: Make) -> None:
    study = make(rating_project(), simple_items(2))
    link = study.link("crowd")
    finish(crowd(study, link, "=HYPERLINK(1)"))
    assert lines_of(study, "prolific-approve.csv") == ["'=HYPERLINK(1)"]
    assert people_of(study)[0]["PROLIFIC_PID"] == "'=HYPERLINK(1)"


def test_a_crowd_link_and_an_id_do_not_open_the_work_of_somebody_else(make: Make, database: str) -> None:
    study = make(rating_project(consent="Yes?", assignment={"per_rater": 3}), simple_items(4), database=database)
    link = study.link("crowd")
    one = crowd(study, link, "p0")
    one.answer(one.claim()["items"][0], four())
    stranger = local_client(study)
    page = stranger.get(f"/join/{link}?PROLIFIC_PID=p0")
    assert "enter the code" in page.text
    assert one.name not in page.text
    response = post_join(stranger, link, PROLIFIC_PID="p0")
    assert response.status_code == 409
    assert COOKIES["rater"] not in stranger.cookies
    assert post_join(stranger, link, PROLIFIC_PID="p0", code="0000-0000-0000").status_code == 409
    other = crowd(study, link, "p1")
    code = re.findall(r'id="return-code">([0-9a-f-]+)<', other.client.get("/work").text)[0]
    assert post_join(stranger, link, PROLIFIC_PID="p0", code=code).status_code == 409, "the code of another person"
    code = re.findall(r'id="return-code">([0-9a-f-]+)<', one.client.get("/work").text)[0]
    phone = local_client(study)
    assert post_join(phone, link, PROLIFIC_PID="p0", code=f" {code.upper()} ").status_code == 303
    assert phone.get("/api/me").json()["rater"] == one.name
    assert post_join(one.client, link, PROLIFIC_PID="p0").status_code == 303, "the own browser needs no code"
    assert len(people_of(study)) == 2


def test_people_without_ids_are_known_by_cookie_or_code(make: Make) -> None:
    study = make(rating_project(assignment={"per_rater": 1}), simple_items(4))
    link = study.link("crowd")
    client = local_client(study)
    for _ in range(3):
        assert post_join(client, link).status_code == 303
    name = client.get("/api/me").json()["rater"]
    phone = local_client(study)
    assert post_join(phone, link, code="0123-4567-89ab").status_code == 409
    assert post_join(phone, link, code=people.return_code(study.studio().secret, name)).status_code == 303
    assert phone.get("/api/me").json()["rater"] == name
    assert len(people_of(study)) == 1


def test_a_personal_link_on_two_devices_at_once_is_reported(make: Make) -> None:
    study = make(rating_project(), simple_items(9))
    link = study.link()
    first = Rater(ORIGIN, link, client=local_client(study))
    first.answer(first.claim()["items"][0], four())
    Rater(ORIGIN, link, client=first.client)
    assert people_of(study)[0]["second_device"] == "", "the same browser again"
    Rater(ORIGIN, link, client=local_client(study))
    assert people_of(study)[0]["second_device"] == "yes"
    assert "two devices" in owner(study).client.get("/owner/people").text


# "Cannot judge" is an answer, not a completion; leases are few.


def test_an_item_that_somebody_cannot_judge_goes_to_others_up_to_a_limit(make: Make, database: str) -> None:
    settings = {"overlap": 1, "replacements": 2, "ahead": 1}
    study = make(rating_project(assignment=settings), simple_items(1), database=database)
    for number in range(3):
        one = rater(study)
        (item,) = one.claim()["items"]
        assert one.answer(item, CANNOT).status_code == 201
        assert study.query("SELECT taken FROM item")[0].taken == (number == 2), number
    assert "This study is full" in local_client(study).get(f"/join/{study.link()}").text
    figure = figures(study)
    assert (figure["answers"], figure["cannot_judge"], figure["cannot_judge_share"]) == (0, 3, 1.0)


def test_a_change_of_mind_counts(make: Make) -> None:
    study = make(rating_project(assignment={"overlap": 1}), simple_items(1))
    one = rater(study)
    (item,) = one.claim()["items"]
    for revision, (payload, count) in enumerate([(CANNOT, 0), (four(), 1), (CANNOT, 0), (CANNOT, 0), (four(), 1)]):
        assert one.answer({**item, "revision": revision}, payload).status_code == 201
        assert study.query("SELECT taken FROM item")[0].taken == count
    assert len(one.client.get("/api/answered").json()["items"]) == 1


def test_too_many_of_them_do_not_earn_the_code(make: Make) -> None:
    settings = {"per_rater": 4, "ahead": 1}
    study = make(rating_project(assignment=settings, quality={"cannot_judge_share": 0.25}), simple_items(8))
    page = local_client(study).get(f"/join/{study.link()}").text
    assert "more than 25 % of them" in page, "and it is said beforehand"
    outcomes = []
    for cannot in (1, 2):
        one = rater(study)
        for number in range(4):
            one.answer(one.claim()["items"][0], CANNOT if number < cannot else four())
        reply = one.claim()
        outcomes.append((reply["state"], people_of(study)[-1]["outcome"]))
        assert people_of(study)[-1]["cannot_judge"] == str(cannot)
    assert outcomes == [("finished", "complete"), ("declined", "returned")]


def test_a_page_holds_a_limited_number_of_leases(make: Make) -> None:
    study = make(rating_project(assignment={"ahead": 3}), simple_items(40))
    one = rater(study)
    have: list[int] = []
    for _ in range(10):
        have += [item["assignment"] for item in one.claim(3, have)["items"]]
    assert len(have) == 9
    assert len(study.query("SELECT id FROM assignment WHERE state = 'leased'")) == 9


def test_visits_without_consent_take_nothing_and_idle_places_are_given_up(make: Make) -> None:
    settings = {"per_rater": 2, "overlap": 1}
    study = make(rating_project(consent="Yes?", assignment=settings), simple_items(4))
    link = study.link("crowd")
    for _ in range(20):
        client = local_client(study)
        page = client.get(f"/join/{link}").text
        form = {"page_token": hidden_field(page, "page_token")}
        assert client.post(f"/join/{link}", data=form, headers={"origin": ORIGIN}).status_code == 422
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {0}
    for _ in range(2):
        assert post_join(local_client(study), link).status_code == 303
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {1}
    in_an_hour = time.time() + 3600
    study.store.write_now(lambda connection: assignments.end_expired(connection, in_an_hour))
    assert post_join(local_client(study), link).status_code == 303


# Erasure is real.


def personal_study(make: Make, database: str = "", **more: Any) -> tuple[Study, list[Rater]]:
    """A study with two people from a platform and one with a personal link, all with things to say about themselves."""
    study = make(rating_project(assignment={"per_rater": 2}, **more), simple_items(9), database=database)
    link = study.link("crowd", label="for Berta Beispiel")
    raters = [crowd(study, link, f"SECRETPERSON{at}") for at in range(2)]
    raters.append(Rater(ORIGIN, study.link(label="for Berta Beispiel"), client=local_client(study)))
    for one in raters:
        first, second = one.claim(2)["items"]
        one.answer(first, {**four(), "comment": "I live in Musterstadt"})
        one.post("/api/draft", {"assignment": second["assignment"], "payload": {"comment": "born in Probeheim"}})
    return study, raters


def erase_everyone(study: Study, raters: list[Rater]) -> None:
    assert raters[0].post("/api/exit", {"withdraw": True}).status_code == 200
    for one in raters[1:]:
        assert act(owner(study), "/owner/erase", rater=one.name, sure="yes").status_code == 303


PERSONAL = ("SECRETPERSON1", "Musterstadt", "Probeheim")


def test_deleted_data_are_gone_from_the_file_and_its_log(make: Make, tmp_path: Path) -> None:
    study, raters = personal_study(make)

    def content() -> bytes:
        return b"".join((tmp_path / f"project.db{end}").read_bytes() for end in ("", "-wal"))

    assert [word.encode() in content() for word in PERSONAL] == [True] * 3
    erase_everyone(study, raters)
    asyncio.run(tidy(study.studio()))
    assert [word for word in (*PERSONAL, "SECRETPERSON0") if word.encode() in content()] == []
    assert (tmp_path / "project.db-wal").stat().st_size == 0


def test_somebody_who_reads_for_long_delays_the_erasure_but_not_the_answers(make: Make) -> None:
    study, raters = personal_study(make)
    with study.store.readers.connect() as connection, connection.begin():
        connection.execute(select(entry)).all()
        began = time.monotonic()
        eraser = threading.Thread(target=study.store.erase_traces)
        eraser.start()
        (item,) = raters[0].claim()["items"]
        assert raters[0].answer(item, four()).status_code == 201
        assert time.monotonic() - began < 2
        assert eraser.is_alive()
    eraser.join(5)
    assert not eraser.is_alive()


@pytest.mark.system
def test_deleted_data_cannot_be_read_by_sql_in_postgresql(make: Make, postgres_database: str) -> None:
    study, raters = personal_study(make, postgres_database)

    def everything() -> str:
        with study.store.writers.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("ANALYZE")
        tables = [row.name for row in study.query("SELECT table_name AS name FROM information_schema.tables "
                                                  "WHERE table_schema = 'public'")]  # fmt: skip
        tables += ["pg_stats", "pg_stat_activity"]
        return str([study.query(f"SELECT * FROM {table}") for table in tables])

    before = everything()
    assert [word in before for word in PERSONAL] == [True] * 3
    assert "Musterstadt" not in str(study.query("SELECT * FROM pg_stats"))
    erase_everyone(study, raters)
    after = everything()
    assert [word for word in PERSONAL if word in after] == []


def test_personal_data_go_on_their_day_whoever_runs(make: Make, tmp_path: Path) -> None:
    yesterday = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 24 * 3600))
    study, _ = personal_study(make, personal_until=yesterday)
    asyncio.run(tidy(study.studio()))
    content = b"".join((tmp_path / f"project.db{end}").read_bytes() for end in ("", "-wal"))
    assert [word for word in ("SECRETPERSON", "Berta") if word.encode() in content] == []
    crowd(study, study.link("crowd"), "SECRETPERSON9")
    lists = plainly_studio.export(study.file, "people.csv", database=study.database)
    assert b"SECRETPERSON" not in lists, "the command line does not wait for the server"


def test_the_watcher_survives_a_minute_without_a_database(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(rating_project(), simple_items(1))
    calls = []

    async def fail(studio: Any) -> None:
        calls.append(studio)
        if len(calls) == 3:
            raise KeyboardInterrupt
        raise OSError("no database")

    monkeypatch.setattr(owner_pages, "tidy", fail)
    monkeypatch.setattr(owner_pages, "_WATCH_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(owner_pages.watch(study.studio()))
    assert len(calls) == 3


@pytest.mark.parametrize("how", ["withdraw", "erase"])
def test_deleted_answers_leave_the_figures_of_a_running_server(make: Make, database: str, how: str) -> None:
    study = make(rating_project(), simple_items(6), database=database)
    leaves, stays = rater(study), rater(study)
    ledger = study.studio().ledger
    for _ in range(2):
        stays.answer(stays.claim()["items"][0], four(2))
    for _ in range(2):
        leaves.answer(leaves.claim()["items"][0], {**four(5), "comment": "my secret"})
    ledger.refresh()
    assert Counter(answer.rater for answer in ledger.answers()) == {stays.name: 2, leaves.name: 2}
    if how == "withdraw":
        assert leaves.post("/api/exit", {"withdraw": True}).status_code == 200
    else:
        act(owner(study), "/owner/erase", rater=leaves.name, sure="yes")
    ledger.refresh()
    assert [answer.rater for answer in ledger.answers()] == [stays.name] * 2
    newcomer = rater(study)  # In SQLite, the new answers get the ids of the deleted ones.
    newcomer.answer(newcomer.claim()["items"][0], four(4))
    ledger.refresh()
    assert [answer.rater for answer in ledger.answers()] == [stays.name, stays.name, newcomer.name]
    assert b"my secret" not in exports.write(ledger, study.project, "jsonl")


def test_a_person_who_withdrew_can_be_let_in_again(make: Make) -> None:
    study = make(rating_project(assignment={"per_rater": 2}), simple_items(4))
    link = study.link()
    one = Rater(ORIGIN, link, client=local_client(study))
    one.answer(one.claim()["items"][0], four())
    assert "your answers are deleted. Finished work is paid as agreed" in one.client.get("/work").text
    one.post("/api/exit", {"withdraw": True})
    assert local_client(study).get(f"/join/{link}").status_code == 403
    page = owner(study).client.get("/owner/people").text
    assert "Let in again" in page
    act(owner(study), "/owner/readmit", rater=one.name)
    again = Rater(ORIGIN, link, client=local_client(study))
    assert finish(again)["state"] == "finished"
    assert ("readmit", {"rater": one.name}) in trail(study)
