"""Studies that move to another database or come from an older version, while people are at work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import plainly_studio
from plainly.core.errors import BadInput
from plainly_studio.store import Store, store_fact
from studio.conftest import Make, Rater, Server, Study, four, local_client, rating_project, simple_items

CROWD = {"PROLIFIC_PID": "person-1"}
NEW_COLUMNS = (
    "decision", "decision_why", "bonus", "promised", "place_until", "past_checks", "consent_version", "place",
)  # fmt: skip


def age(study: Study) -> None:
    """Make the database one of version 1, which lacked these columns and the plan."""

    def work(connection: Any) -> None:
        for statement in ("DROP TABLE plan", "DROP INDEX rater_place", "ALTER TABLE assignment DROP COLUMN shown_at"):
            connection.execute(text(statement))
        for name in NEW_COLUMNS:
            connection.execute(text(f"ALTER TABLE rater DROP COLUMN {name}"))
        store_fact(connection, "schema", None)

    study.store.write_now(work)


def test_the_database_of_an_older_version_is_upgraded_when_it_is_opened(make: Make, database: str) -> None:
    study = make(rating_project(), simple_items(3), database=database)
    age(study)
    with pytest.raises(Exception, match="promised"):
        study.query("SELECT promised FROM rater")
    plainly_studio.status(study.file, database=study.database)
    (link,) = plainly_studio.invite(study.file, database=study.database).links
    one = Rater("http://localhost", link.rsplit("/", 1)[-1], client=local_client(study))
    (item,) = one.claim()["items"]
    assert one.answer(item, four()).status_code == 201
    assert study.query("SELECT value FROM about WHERE key = 'schema'")[0].value == "2"


def test_the_database_of_a_newer_version_is_refused(make: Make) -> None:
    study = make(rating_project(), simple_items(3))
    study.store.write_now(lambda connection: store_fact(connection, "schema", "99"))
    with pytest.raises(BadInput, match="newer version"):
        Store(study.database)


def test_a_study_that_moved_is_not_opened_again_and_nothing_is_overwritten(make: Make, tmp_path: Path) -> None:
    study = make(rating_project(), simple_items(3))
    target = f"sqlite:///{tmp_path / 'new.db'}"
    result = plainly_studio.move(study.file, target, database=study.database)
    assert result.json()["items"] == 3
    with pytest.raises(BadInput, match=r"moved to .*new\.db"):
        plainly_studio.status(study.file, database=study.database)
    other = make(rating_project(), simple_items(1), name="other")
    with pytest.raises(BadInput, match="already"):
        plainly_studio.move(other.file, target, database=other.database)
    assert plainly_studio.status(other.file, database=other.database).json()["wanted"] == 2


@pytest.mark.system
def test_raters_go_on_after_the_move_to_postgresql(make: Make, serve: Any, postgres_database: str) -> None:
    """Sessions, links, leases, drafts and ids move; what an old server cannot store is stored by the new one."""
    project = rating_project(assignment={"overlap": 2, "per_rater": 4}, consent="Yes?")
    study = make(project, simple_items(8))
    old: Server = serve(study)
    personal, crowd = study.link(), study.link("crowd")
    one, two = Rater(old.url, personal), Rater(old.url, crowd, data=CROWD)
    held = one.claim(2)["items"]
    assert one.answer(held[0], four(5)).status_code == 201
    assert one.post("/api/draft", {"assignment": held[1]["assignment"], "payload": four(2)}).status_code == 200
    two.claim(1)
    tables = ("rater", "invitation", "session", "assignment", "entry", "draft", "event", "item")
    before = {name: study.query(f"SELECT * FROM {name} ORDER BY 1") for name in tables}

    plainly_studio.move(study.file, postgres_database, database=study.database)
    unsent = {"assignment": held[1]["assignment"], "revision": 0, "key": "key-of-the-answer", "payload": four(4)}
    assert one.post("/api/answer", unsent).status_code == 503, "the page keeps the answer and sends it again"
    old.stop()

    three: Rater | None = None
    moved = Study(Store(postgres_database), project, study.file, postgres_database, "")
    try:
        for name in tables:
            rows = moved.query(f"SELECT * FROM {name} ORDER BY 1")
            assert [tuple(row) for row in rows] == [tuple(row) for row in before[name]], name
        new = serve(moved, port=old.port)
        assert one.post("/api/answer", unsent).status_code == 201
        for item in one.claim(3)["items"]:
            assert one.answer(item, four(3)).status_code == 201
        assert one.claim()["state"] == "finished"
        assert one.claim()["code"]
        again = Rater(new.url, crowd, client=two.client, data=CROWD)
        assert again.name == two.name
        three = Rater(new.url, moved.link())  # Its ids must not collide with those that moved.
        assert three.claim(3)["items"]
        answers = moved.query("SELECT payload, late FROM entry WHERE key = 'key-of-the-answer'")
        assert json.loads(answers[0].payload) == four(4)
        assert not moved.query("SELECT id FROM assignment GROUP BY id HAVING count(*) > 1")
    finally:
        moved.store.close()
        for client in (one.client, two.client, *([three.client] if three else [])):
            client.close()
