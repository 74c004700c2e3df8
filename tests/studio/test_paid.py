"""Paid studies: leases, codes, bad raters, deletion, settings; on both databases where it matters."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import time
from typing import Any

import pytest

import plainly_studio as api
from plainly_studio import live, people
from plainly_studio.app import build
from plainly_studio.exports import Ledger
from studio.conftest import (
    Make,
    Rater,
    Study,
    TestClient,
    four,
    hidden_field,
    local_client,
    rater,
    rating_project,
    simple_items,
)
from studio.test_security import ORIGIN, owner


def finish(one: Rater, value: int = 3) -> dict[str, Any]:
    """Answer all items; return the last reply."""
    while items := (reply := one.claim(10))["items"]:
        for item in items:
            assert one.answer(item, four(value)).status_code == 201
    return reply


def act(manager: Rater, path: str, **data: str) -> Any:
    return manager.client.post(path, data={"page_token": manager.token, **data}, headers={"origin": ORIGIN})


def figures(study: Study) -> dict[str, Any]:
    ledger = Ledger(study.store)
    ledger.refresh()
    return live.overview(ledger, study.store.project())


def trail(study: Study) -> list[tuple[str, dict[str, Any]]]:
    return [(row.action, json.loads(row.detail)) for row in study.query("SELECT action, detail FROM event ORDER BY id")]


def test_an_item_that_ran_out_goes_back_to_its_rater_with_its_draft(make: Make, database: str) -> None:
    project = rating_project(assignment={"overlap": 2, "lease_minutes": 0.002, "ahead": 3})
    study = make(project, simple_items(12), database=database)
    first, second = rater(study), rater(study)
    (item, *_) = first.claim(3)["items"]
    draft = {"values": {"meaning": 2}}
    assert first.post("/api/draft", {"assignment": item["assignment"], "payload": draft}).status_code == 200
    second.claim(3)
    time.sleep(0.2)
    again = {one["assignment"]: one for one in first.claim(3)["items"]}
    assert again[item["assignment"]]["draft"] == draft
    for one in (first, second):
        assert finish(one)["state"] == "finished"
    assert len(study.query("SELECT id FROM entry")) == 24, "two people at overlap 2 get through"
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {2}


def test_waiting_out_the_lease_skips_neither_training_nor_the_test(make: Make, database: str) -> None:
    right = {"values": {"grammaticality": 3, "meaning": 3}}
    special = simple_items(1, kind="training", expected=right) + simple_items(2, kind="qualification", expected=right)
    project = rating_project(assignment={"lease_minutes": 0.0005, "ahead": 1})
    study = make(project, special + simple_items(3), database=database)
    lazy = rater(study)
    for _ in range(4):
        (item,) = lazy.claim()["items"]
        assert item["training"]
        time.sleep(0.05)
    lazy.answer(item, four())
    for _ in range(2):
        (item,) = lazy.claim()["items"]
        time.sleep(0.05)
    kinds = study.query(
        f"SELECT kind FROM item JOIN assignment ON item.id = item_id WHERE assignment.id = {item['assignment']}"
    )
    assert kinds[0].kind == "qualification", "the test is not skipped"


def crowd(study: Study, link: str, who: str, **more: str) -> Rater:
    return Rater(ORIGIN, link, client=local_client(study), data={"PROLIFIC_PID": who, "SESSION_ID": f"s-{who}", **more})


def test_codes_are_for_the_agreed_work_only(make: Make, database: str) -> None:
    codes = {"completion_code": "GOOD", "screened_out_code": "OUT", "returned_code": "BACK"}
    crowd_settings = {**codes, "completion_url": "https://platform.example/?cc={code}"}
    project = rating_project(crowd=crowd_settings, assignment={"per_rater": 2, "overlap": 1})
    study = make(project, simple_items(5), database=database)
    link = study.link("crowd")
    full = [crowd(study, link, f"p{at}") for at in range(2)]
    for one in full:
        reply = finish(one)
        assert (reply["state"], reply["code"]) == ("finished", "GOOD")
        assert reply["completion_url"] == "https://platform.example/?cc=GOOD"
    third = crowd(study, link, "p2")
    assert third.claim()["total"] == 1
    page = local_client(study).get(f"/join/{link}?PROLIFIC_PID=p3").text
    assert "This study is full" in page, "the last item is reserved"
    assert "<form" not in page
    reply = third.post("/api/exit", {}).json()
    assert (reply["state"], reply["code"]) == ("left", "BACK"), "stopping early is another code"
    last = crowd(study, link, "p3")
    reply = finish(last)
    assert (reply["state"], reply["code"], reply["done"]) == ("finished", "GOOD", 1), "did all that was announced"
    manager = owner(study)
    page = manager.client.get("/owner/people").text
    for who, code in (("p0", "GOOD"), ("p2", "BACK")):
        (row,) = [line for line in page.splitlines() if f">{who}</td>" in line]
        assert f"<code>{code}</code>" in row
    people = list(csv.DictReader(io.StringIO(manager.client.get("/owner/export/people.csv").text)))
    assert [(row["PROLIFIC_PID"], row["outcome"], row["code"]) for row in people] == [
        ("p0", "complete", "GOOD"), ("p1", "complete", "GOOD"), ("p2", "returned", "BACK"), ("p3", "complete", "GOOD"),
    ]  # fmt: skip
    assert manager.client.get("/owner/export/prolific-approve.csv").text.split() == ["p0", "p1", "p3"]


def test_mturk_gets_its_own_form_and_frame(make: Make) -> None:
    frame = "https://workersandbox.mturk.com"
    study = make(rating_project(crowd={"frame": [frame]}, assignment={"per_rater": 1}), simple_items(3))
    link = study.link("crowd")
    looking = local_client(study).get(f"/join/{link}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=h")
    assert "<form" not in looking.text
    assert "preview" in looking.text
    policy = looking.headers["content-security-policy"]
    assert f"frame-ancestors {frame}" in policy
    assert f"form-action 'self' {frame}" in policy
    ids = {"workerId": "w1", "assignmentId": "a1", "hitId": "h1", "turkSubmitTo": frame}
    one = Rater(ORIGIN, link, client=local_client(study), data=ids)
    reply = finish(one)
    assert (reply["submit_to"], reply["assignment_id"]) == (f"{frame}/mturk/externalSubmit", "a1")
    other = Rater(
        ORIGIN, link, client=local_client(study), data={**ids, "workerId": "w2", "turkSubmitTo": "https://evil.example"}
    )
    assert "submit_to" not in finish(other)
    manager = owner(study)
    act(manager, "/owner/decide", rater=other.name, decision="reject", why="bot")
    rows = list(csv.DictReader(io.StringIO(manager.client.get("/owner/export/mturk.csv").text)))
    assert [(row["AssignmentId"], row["Approve"], row["Reject"]) for row in rows] == [
        ("a1", "X", ""), ("a1", "", "bot"),
    ]  # fmt: skip


def test_a_waiting_rater_can_leave_and_keeps_the_code(make: Make) -> None:
    study = make(rating_project(assignment={"overlap": 1, "ahead": 3}), simple_items(4))
    first, second = rater(study), rater(study)
    leases = first.claim(3)["items"]
    (item,) = second.claim(3)["items"]
    second.answer(item, four())
    assert second.claim()["state"] == "waiting"
    reply = second.post("/api/exit", {}).json()
    assert (reply["state"], reply["answered"]) == ("left", 1)
    completion = study.studio().secret.sign("completion", second.name)[:10].upper()
    assert reply["code"] == completion, "nothing else could be done"
    assert second.claim()["code"] == completion, "and it stays so"
    first.answer(leases[0], four())
    early = first.post("/api/exit", {}).json()
    assert early["code"] != study.studio().secret.sign("completion", first.name)[:10].upper(), "there was more to do"
    third = rater(study)
    assert len(third.claim(3)["items"]) == 2, "the leases are open again"


def test_number_of_items_and_time_are_shown_before_and_during_work(make: Make) -> None:
    study = make(rating_project(assignment={"per_rater": 5, "overlap": 1}), simple_items(8))
    page = local_client(study).get(f"/join/{study.link()}").text
    match = re.search(r"You will judge (\d+) items. That takes about (\d+) minutes", page)
    assert match is not None
    assert match.group(1) == "5"
    one = rater(study)
    reply = one.claim(1)
    assert (reply["total"], reply["answered"]) == (5, 0)
    assert reply["seconds"] > 5
    finish(one)
    second = rater(study)
    assert second.claim(1)["total"] == 3, "only three are left"


def test_an_excluded_rater_counts_nowhere_and_their_items_open_again(make: Make, database: str) -> None:
    study = make(rating_project(assignment={"overlap": 2, "ahead": 10}), simple_items(10), database=database)
    good, bad = rater(study), rater(study)
    while items := good.claim(10)["items"]:
        for item in items:
            good.answer(item, four(1 + int(re.findall(r"\d+", item["source"])[0]) % 5))
    finish(bad, 1)
    manager = owner(study)
    before = figures(study)
    assert act(manager, "/owner/exclude", rater=bad.name, why="always 1", replace="yes").status_code == 303
    now = figures(study)
    assert (before["answers"], now["answers"]) == (20, 10)
    (row,) = [row for row in now["agreement"] if row["name"] == "meaning"]
    assert math.isnan(row["alpha"])
    assert row["alpha_with_excluded"] == pytest.approx(
        next(one["alpha"] for one in before["agreement"] if one["name"] == "meaning")
    )
    assert {one["mean_with_excluded"] == one["mean"] for one in now["precision"]} >= {False}
    assert {one.taken for one in study.query("SELECT taken FROM item")} == {1}
    assert bad.claim()["items"] == []
    assert bad.claim()["state"] == "ended"
    own = f"rater_id = (SELECT id FROM rater WHERE pseudonym = '{bad.name}')"
    late = study.query(f"SELECT id, revision FROM assignment WHERE {own}")[0]
    assert bad.answer({"assignment": late.id, "revision": late.revision}, four(2)).status_code == 201
    assert {one.taken for one in study.query("SELECT taken FROM item")} == {1}, "a late change does not take the item"
    for form in ("csv", "jsonl", "entries.jsonl"):
        content = api.export(study.file, form, database=study.database).decode()
        assert bad.name in content, "their answers stay, and are marked"
    rows = list(csv.DictReader(io.StringIO(api.export(study.file, database=study.database).decode())))
    assert {(row["rater"] == bad.name, row["excluded"]) for row in rows} == {(True, "True"), (False, "False")}
    assert api.judgements(study.file, database=study.database)["meaning"].raters == (good.name,)
    third = rater(study)
    finish(third, 4)
    assert figures(study)["answers"] == 20, "somebody else has their items"
    assert act(manager, "/owner/restore", rater=bad.name).status_code == 303
    assert figures(study)["answers"] == 30
    assert {one.taken for one in study.query("SELECT taken FROM item")} == {3}
    assert [name for name, _ in trail(study) if name in ("exclude", "restore")] == ["exclude", "restore"]


def test_a_person_is_deleted_and_only_an_id_and_a_count_stay(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(4), database=database)
    link = study.link("crowd", label="Anna's link")
    one = crowd(study, link, "secret-person-4711")
    own = Rater(ORIGIN, study.link("person", label="Berta Beispiel"), client=local_client(study))
    for item in one.claim(3)["items"]:
        one.answer(item, {**four(), "comment": "I live in Musterstadt"})
    (item,) = own.claim(1)["items"]
    own.post("/api/draft", {"assignment": item["assignment"], "payload": {"comment": "half a thought"}})
    manager = owner(study)
    assert act(manager, "/owner/erase", rater=one.name).status_code == 422, "it is asked for twice"
    assert act(manager, "/owner/erase", rater=one.name, sure="yes").status_code == 303
    assert own.post("/api/exit", {"withdraw": True}).json()["state"] == "withdrawn"
    assert own.client.get("/api/me").status_code == 401
    everything = json.dumps([[str(row) for row in study.query(f"SELECT * FROM {name}")] for name in
        ("rater", "entry", "draft", "assignment", "invitation", "event", "session")])  # fmt: skip
    for text in ("person-4711", "Musterstadt", "half a thought", "Berta"):
        assert text not in everything
    assert ("delete", {"rater": one.name, "answers": 3}) in trail(study)
    assert ("withdraw", {"rater": own.name, "answers": 0}) in trail(study)
    assert {row.taken for row in study.query("SELECT taken FROM item")} == {0}
    assert figures(study)["answers"] == 0


def test_personal_data_are_deleted_after_their_day(make: Make) -> None:
    project = rating_project(personal_until="2026-01-31")
    study = make(project, simple_items(2))
    one = crowd(study, study.link("crowd", label="for Anna"), "person-4711")
    finish(one)
    day = 24 * 3600
    limit = 1769904000.0  # 2026-02-01 UTC
    assert study.store.write_now(lambda connection: people.purge(connection, project, limit - day)) == 0
    assert study.store.write_now(lambda connection: people.purge(connection, project, limit + 60)) == 1
    remains = json.dumps(
        [str(row) for name in ("rater", "invitation", "event") for row in study.query(f"SELECT * FROM {name}")]
    )
    assert "person-4711" not in remains
    assert "Anna" not in remains
    assert len(study.query("SELECT id FROM entry")) == 2


def test_owner_and_rater_live_in_one_browser(make: Make) -> None:
    study = make(rating_project(), simple_items(3))
    client = local_client(study)
    link = study.link("owner")
    Rater(ORIGIN, link, client=client)
    one = Rater(ORIGIN, study.link(), client=client)
    assert client.get("/owner").status_code == 200
    assert one.claim()["items"]
    token = re.search(r'name="page_token" value="([^"]*)"', client.get("/owner").text).group(1)  # type: ignore[union-attr]
    out = client.post("/owner/leave", data={"page_token": token}, headers={"origin": ORIGIN})
    assert out.status_code == 303
    assert client.get("/owner").status_code == 403, "signed out as an owner, still a rater"
    assert one.claim()["items"]
    Rater(ORIGIN, link, client=client)
    assert client.get("/owner").status_code == 200, "the owner's link works again"


def test_the_preview_stores_nothing(make: Make) -> None:
    right = {"values": {"grammaticality": 3, "meaning": 3}}
    study = make(rating_project(), simple_items(1, kind="training", expected=right) + simple_items(3))
    manager = owner(study)
    page = manager.client.get("/preview")
    assert page.status_code == 200
    headers = {"origin": ORIGIN, "x-studio-token": manager.client.get("/preview/api/me").json()["token"]}
    reply = manager.client.post("/preview/api/claim", json={"want": 3, "have": []}, headers=headers).json()
    assert [item["training"] for item in reply["items"]] == [True, False, False, False]
    answer = {"assignment": 1, "payload": four(3)}
    assert manager.client.post("/preview/api/answer", json=answer, headers=headers).json()["feedback"]["right"] is True
    wrong = {"assignment": 2, "payload": {"values": {"meaning": 9}}}
    assert manager.client.post("/preview/api/answer", json=wrong, headers=headers).status_code == 422
    left = manager.client.post("/preview/api/claim", json={"want": 3, "have": [2]}, headers=headers).json()["items"]
    assert [item["assignment"] for item in left] == [3, 4]
    for table in ("entry", "assignment", "draft"):
        assert not study.query(f"SELECT * FROM {table}")
    assert rater(study).client.get("/preview").status_code == 403


def test_settings_change_while_it_runs_and_a_changed_file_is_offered(make: Make) -> None:
    study = make(rating_project(assignment={"overlap": 1}), simple_items(3))
    study.file.write_text('[project]\nname = "Test"\nprotocol = "sulem-2018"\n[assignment]\noverlap = 1\n')
    one, manager = rater(study), owner(study)
    finish(one)
    assert "This study is full" in local_client(study).get(f"/join/{study.link()}").text
    response = act(manager, "/owner/settings", **{"assignment.overlap": "2", "instructions": "Look twice."})
    assert response.status_code == 303
    again = rater(study)
    assert again.claim()["items"], "every item is open to one more"
    assert "Look twice." in local_client(study).get(f"/join/{study.link()}").text
    assert (
        "settings",
        {"assignment.overlap": [1, 2], "instructions": [study.project.instructions, "Look twice."]},
    ) in trail(study)
    assert act(manager, "/owner/settings", **{"assignment.overlap": "0"}).status_code == 422
    assert act(manager, "/owner/settings", **{"assignment.overlap": "many"}).status_code == 422
    from plainly_studio.owner_pages import warnings

    studio = study.studio()
    studio.file = study.file
    assert "assignment.overlap" in warnings(studio)[0]
    client = TestClient(build(studio), base_url=ORIGIN, follow_redirects=False)
    again = Rater(ORIGIN, study.link("owner"), client=client)
    again.token = hidden_field(client.get("/owner").text, "page_token")
    page = client.get("/owner/settings").text
    assert "/owner/settings/file" in page
    assert act(again, "/owner/settings/file").status_code == 303
    assert study.store.project().assignment.overlap == 1, "taken over from the file"
    study.file.write_text('[project]\nname = "Test"\ntask = "ranking"\n')
    assert "task" in warnings(studio)[0]


def test_a_lost_secret_is_reported_and_a_backup_contains_it(make: Make, tmp_path: Any) -> None:
    from plainly_studio.owner_pages import warnings

    study = make(rating_project(), simple_items(2))
    secret = study.file.with_suffix(".secret")
    study.file.unlink()
    assert warnings(study.studio()) == []
    api.backup(study.file, tmp_path / "copy.db", database=study.database)
    assert (tmp_path / "copy.secret").read_text() == secret.read_text()
    assert (tmp_path / "copy.secret").stat().st_mode & 0o777 == 0o600
    secret.unlink()
    assert ".secret" in warnings(study.studio())[0]
    content = owner(study).client.get("/owner/backup").content
    import zipfile

    assert sorted(zipfile.ZipFile(io.BytesIO(content)).namelist()) == ["studio.db", "studio.secret"]


def test_an_early_block_overlaps_and_alpha_has_an_interval(make: Make) -> None:
    study = make(rating_project(assignment={"overlap": 2, "early": 10, "ahead": 10}), simple_items(200))
    for shift in (0, 1):
        one = rater(study)
        for _ in range(2):
            for item in one.claim(10)["items"]:
                number = int(re.findall(r"\d+", item["source"])[0])
                one.answer(item, four(1 + (number + (shift and number % 3 == 0)) % 5))
    (row,) = [row for row in figures(study)["agreement"] if row["name"] == "meaning"]
    assert row["compared"] == 10, "ten items have both after twenty answers each"
    assert row["low"] < row["alpha"] <= row["high"]


def test_drift_is_reported(make: Make) -> None:
    study = make(rating_project(assignment={"overlap": 2, "ahead": 10, "early": 0}), simple_items(60))
    steady, drifting = rater(study), rater(study)
    for one in (steady, drifting):
        count = 0
        while items := one.claim(10)["items"]:
            for item in items:
                value = 2 + int(re.findall(r"\d+", item["source"])[0]) % 3
                one.answer(item, four(value - (one is drifting and count > 30)))
                count += 1
    (row,) = [row for row in figures(study)["raters"] if row["rater"] == drifting.name]
    assert any("rates lower than at first" in reason for reason in row["reasons"])
