"""Under abuse: idle and half-sent connections, made-up cookies, numbers out of any range, errors of every kind."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy.exc import DBAPIError

from plainly_studio import rater_pages
from plainly_studio.app import BODY_SECONDS, ENDPOINTS, HEAD_SECONDS, build
from plainly_studio.context import Limiter
from studio.conftest import (
    Make,
    Rater,
    Study,
    TestClient,
    four,
    local_client,
    new_database,
    rater,
    rating_project,
    simple_items,
    studies_in,
)
from studio.test_security import ORIGIN, path_of, person_for

WILD = [
    2**31,
    -(2**31) - 1,
    2**53,
    2**63,
    -(2**63) - 1,
    10**400,
    -1,
    0,
    1e308,
    "9" * 400,
    "²",
    "1e5",
    None,
    True,
    [],
    {},
]


@pytest.fixture
def study(make: Make) -> Study:
    return make(rating_project(), simple_items(6))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def wild_study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    database = "" if request.param == "sqlite" else new_database(request.getfixturevalue("postgres"))
    with studies_in(tmp_path_factory.mktemp("wild")) as make_study:
        yield make_study(rating_project(), simple_items(3), database=database)


def flood(port: int, count: int, sent: bytes) -> list[socket.socket]:
    sockets = []
    for _ in range(count):
        one = socket.socket()
        one.settimeout(5)
        one.connect(("127.0.0.1", port))
        if sent:
            one.sendall(sent)
        sockets.append(one)
    return sockets


@pytest.mark.system
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        b"POST /api/claim HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
    ],
    ids=["idle", "half a head", "half a body"],
)
def test_two_thousand_idle_connections_do_not_block_raters(study: Study, serve: Any, sent: bytes) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard > 0 else 8192, hard))
    server = serve(study)
    waiting = flood(server.port, 2000, sent)
    began = time.monotonic()
    one = Rater(server.url, study.link())
    for item in one.claim(3)["items"]:
        assert one.answer(item, four()).status_code == 201
    assert time.monotonic() - began < 8, "raters go on working"
    one.client.close()
    for connection in waiting:
        connection.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.system
def test_a_request_that_is_not_http_is_refused_with_the_headers(study: Study, serve: Any) -> None:
    assert HEAD_SECONDS <= 15
    assert BODY_SECONDS <= 30
    server = serve(study)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as one:
        one.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        answer = one.recv(4096).decode()
    assert answer.startswith("HTTP/1.1 400")
    assert "content-security-policy" in answer
    assert "nosniff" in answer


@pytest.mark.system
@pytest.mark.long
def test_waiting_connections_are_closed_in_time(study: Study, serve: Any) -> None:
    server = serve(study)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as one:
        one.sendall(b"GET / HTTP/1.1\r\n")
        began = time.monotonic()
        for _ in range(3):
            time.sleep(1)
            one.sendall(b"X: y\r\n")
        assert one.recv(100) == b""
        assert time.monotonic() - began < HEAD_SECONDS + 3


def test_a_made_up_cookie_has_no_allowance_of_its_own(study: Study) -> None:
    studio = study.studio()
    studio.visits = Limiter(rate=0.01, burst=5)
    app = build(studio)
    answers = [
        TestClient(app, base_url=ORIGIN, cookies={"studio_session": f"made-up-{at}"}).get("/") for at in range(8)
    ]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 3


@pytest.mark.parametrize("row", [row for row in ENDPOINTS if row.method == "POST"], ids=lambda row: row.path)
def test_numbers_out_of_any_range_are_refused(wild_study: Study, row: Any) -> None:
    study = wild_study
    one = person_for(row, study)
    fields = (
        "assignment",
        "revision",
        "shown",
        "waited",
        "hidden",
        "want",
        "have",
        "invitation",
        "item",
        "rater",
        "values",
        "payload",
        "key",
    )
    path = path_of(row, study)
    if row.path.endswith("leave") or row.path == "/api/exit":
        pytest.skip("takes no numbers")
    for wild in WILD:
        for shape in (dict.fromkeys(fields, wild), {"assignment": 1, "revision": 0, "key": "k" * 12,
            "waited": wild, "hidden": wild, "shown": wild, "have": [wild], "want": wild,
            "payload": {"values": dict.fromkeys(four()["values"], wild)}}):  # fmt: skip
            headers = {"origin": ORIGIN, "x-studio-token": one.token, "content-type": "application/json"}
            answer = one.client.post(path, content=json.dumps(shape), headers=headers)
            assert answer.status_code < 500, (row.path, wild, answer.text)


def test_an_error_of_any_kind_carries_the_headers_and_logs_no_text(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    study = make(rating_project(), simple_items(3))
    one = rater(study)
    (item,) = one.claim()["items"]
    secret = "Herr Mustermann"

    def fail_in_database(*args: Any, **more: Any) -> None:
        raise DBAPIError(f"INSERT … {secret}", {"payload": secret}, ValueError(secret))

    def fail_in_code(*args: Any, **more: Any) -> None:
        raise ZeroDivisionError(secret)

    with caplog.at_level(logging.DEBUG):
        for fault, status in ((fail_in_database, 503), (fail_in_code, 500)):
            monkeypatch.setattr(rater_pages.assignments, "submit_all", fault)
            answer = one.answer(item, {**four(), "comment": secret})
            assert answer.status_code == status
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["cache-control"] == "no-store"
            assert "kept in this browser" in answer.json()["message"]
            assert secret not in answer.text
    mine = [record for record in caplog.records if record.name.startswith("plainly")]
    assert len(mine) == 2
    token = study.link()
    monkeypatch.setattr(rater_pages.people, "workload", fail_in_code)
    assert local_client(study).get(f"/join/{token}").status_code == 500
    text = "".join(record.getMessage() for record in caplog.records if record.name.startswith("plainly"))
    assert secret not in text
    assert token not in text


@pytest.mark.parametrize("text", ["a\x00b", "half \ud800 character"])
def test_characters_that_cannot_be_stored_are_refused(study: Study, text: str) -> None:
    one = rater(study)
    (item,) = one.claim()["items"]
    answer = one.answer(item, {**four(), "comment": text})
    assert (answer.status_code, answer.json()["error"]) == (422, "characters")
    draft = one.post("/api/draft", {"assignment": item["assignment"], "payload": {"comment": text}})
    assert draft.status_code == 422
    assert httpx.codes.is_success(one.answer(item, four()).status_code)
