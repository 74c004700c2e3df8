"""Security, generated from the route table: a route added tomorrow is tested tomorrow."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from plainly.core.errors import BadInput
from plainly_studio.app import ENDPOINTS, Endpoint, build
from plainly_studio.context import SESSION_COOKIE, Studio
from plainly_studio.creation import make_item
from plainly_studio.guard import LONGEST_BODY, Address, Limiter
from plainly_studio.people import Secret, hashed
from plainly_studio.project import parse_project
from plainly_studio.server import serve as run_server
from studio.conftest import (
    Make,
    Place,
    Rater,
    TestClient,
    _hidden,
    four,
    local_client,
    rater,
    rating_project,
    simple_items,
)

ORIGIN = "http://localhost"
CHANGING = [row for row in ENDPOINTS if row.method != "GET"]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}\u202e"


def path_of(row: Endpoint, place: Place) -> str:
    token = place.link("owner") if "{token}" in row.path else ""
    return row.path.replace("{token}", token).replace("{name}", "csv" if "export" in row.path else "studio.css")


def named(row: Endpoint) -> str:
    return f"{row.method} {row.path}"


def owner(place: Place) -> Rater:
    made = Rater(ORIGIN, place.link("owner"), client=local_client(place))
    made.token = _hidden(made.client.get("/owner").text, "page_token")
    return made


def person_for(row: Endpoint, place: Place) -> Rater:
    if row.access == "owner":
        return owner(place)
    made = rater(place)
    if row.access == "public":
        made.token = _hidden(made.client.get(path_of(row, place)).text, "page_token")
    return made


@pytest.fixture
def place(make: Make) -> Place:
    return make(rating_project(), simple_items(6))


@pytest.mark.parametrize("row", CHANGING, ids=named)
@pytest.mark.parametrize(
    "origin", [None, "null", "https://evil.example", "http://localhost.evil.example", "http://localhost:81"]
)
def test_a_change_needs_our_own_origin(place: Place, row: Endpoint, origin: str | None) -> None:
    one = person_for(row, place)
    headers = {"x-studio-token": one.token} | ({"origin": origin} if origin else {})
    answer = one.client.post(path_of(row, place), json={}, headers=headers)
    assert answer.status_code == 403
    assert "own page" in answer.text


@pytest.mark.parametrize("row", CHANGING, ids=named)
@pytest.mark.parametrize("token", [None, "", "0" * 64, "another"])
def test_a_change_needs_the_pages_token(place: Place, row: Endpoint, token: str | None) -> None:
    one, other = person_for(row, place), rater(place)
    sent = other.token if token == "another" else token
    headers = {"origin": ORIGIN} | ({"x-studio-token": sent} if sent is not None else {})
    answer = one.client.post(path_of(row, place), json={}, headers=headers)
    assert answer.status_code == 403
    assert "token" in answer.text


@pytest.mark.parametrize("row", CHANGING, ids=named)
def test_with_origin_and_token_the_same_request_gets_through_the_guard(place: Place, row: Endpoint) -> None:
    one = person_for(row, place)
    answer = one.client.post(path_of(row, place), json={}, headers={"origin": ORIGIN, "x-studio-token": one.token})
    assert answer.status_code not in (401, 403, 415, 500), answer.text


@pytest.mark.parametrize("row", ENDPOINTS, ids=named)
def test_nobody_gets_past_what_the_table_says(place: Place, row: Endpoint) -> None:
    stranger = local_client(place)
    callers = {"nobody": stranger, "rater": rater(place).client, "owner": owner(place).client}
    for who, client in callers.items():
        call = client.get if row.method == "GET" else client.post
        answer = call(path_of(row, place), headers={"origin": ORIGIN})
        if row.access == "public" or row.access == who:
            assert answer.status_code not in (401,), who
            assert answer.status_code != 500
        else:
            assert answer.status_code == (401 if who == "nobody" else 403), who
        assert "secret-system" not in answer.text or who == "owner"


@pytest.mark.parametrize("row", ENDPOINTS, ids=named)
def test_every_response_carries_the_policy_and_none_allows_other_sites(place: Place, row: Endpoint) -> None:
    client = local_client(place)
    call = client.get if row.method == "GET" else client.post
    answer = call(path_of(row, place), headers={"origin": "https://evil.example"})
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["cache-control"] in ("no-store", "no-cache")


def test_an_unknown_path_and_method_carry_the_policy_too(place: Place) -> None:
    client = local_client(place)
    for answer in (client.get("/nothing"), client.put("/api/answer"), client.options("/api/answer")):
        assert answer.status_code in (404, 405)
        assert "content-security-policy" in answer.headers


def test_a_rater_cannot_reach_anothers_item(place: Place) -> None:
    one, other = rater(place), rater(place)
    (item,) = one.claim()["items"]
    for path, more in (
        ("/api/answer", {"revision": 0, "key": "k" * 16, "payload": four()}),
        ("/api/draft", {"payload": {}}),
        ("/api/more-time", {}),
    ):
        answer = other.post(path, {"assignment": item["assignment"], **more})
        assert answer.status_code == 404, path
    one.answer(item, four())
    assert other.client.get("/api/answered").json() == {"items": []}


def test_opening_a_link_uses_nothing_up_and_pressing_the_button_does(place: Place) -> None:
    token = place.link("person", once=True)
    for _ in range(3):
        assert local_client(place).get(f"/join/{token}").status_code == 200
    assert place.query("SELECT uses FROM invitation ORDER BY id DESC LIMIT 1")[0].uses == 0
    Rater(ORIGIN, token, client=local_client(place))
    assert local_client(place).get(f"/join/{token}").status_code == 404, "once means once"


def test_tokens_are_stored_hashed_only(place: Place) -> None:
    token = place.link()
    one = Rater(ORIGIN, token, client=local_client(place))
    session = one.client.cookies[SESSION_COOKIE]
    everything = json.dumps([[str(row) for row in place.query(f"SELECT * FROM {name}")] for name in
                             ("invitation", "session", "rater", "event")])  # fmt: skip
    assert token not in everything
    assert session not in everything
    assert hashed(token) in everything


def test_a_revoked_link_ends_its_sessions(place: Place) -> None:
    token = place.link()
    one = Rater(ORIGIN, token, client=local_client(place))
    boss = owner(place)
    number = place.query(f"SELECT id FROM invitation WHERE token_hash = '{hashed(token)}'")[0].id
    done = boss.client.post(
        "/owner/revoke", data={"invitation": number, "page_token": boss.token}, headers={"origin": ORIGIN}
    )
    assert done.status_code == 303
    assert one.client.get("/api/me").status_code == 401
    assert local_client(place).get(f"/join/{token}").status_code == 404


def test_a_removed_rater_is_out_and_their_answers_stay(place: Place) -> None:
    one, boss = rater(place), owner(place)
    (item,) = one.claim()["items"]
    one.answer(item, four())
    form = {"rater": one.name, "page_token": boss.token}
    assert boss.client.post("/owner/remove", data=form, headers={"origin": ORIGIN}).status_code == 303
    assert one.client.get("/work").status_code == 401
    assert len(place.query("SELECT id FROM entry")) == 1


def test_hostile_text_in_every_field_stays_text(make: Make) -> None:
    project = parse_project(
        {"name": HOSTILE, "instructions": HOSTILE, "consent": HOSTILE, "scales": [
            {"name": HOSTILE, "question": HOSTILE, "minimum": 1, "maximum": 5, "low": HOSTILE, "high": HOSTILE}]}
    )  # fmt: skip
    items = [make_item(HOSTILE, [(HOSTILE, HOSTILE)], name=HOSTILE) for _ in range(2)]
    place = make(project, items)
    crowd = "&".join(f"{name}={HOSTILE}" for name in project.crowd.parameters)
    raters = [rater(place), rater(place)]
    raters[0].client.get(f"/join/{place.link('crowd')}?{crowd}")
    for value, one in enumerate(raters, 1):
        for item in one.claim(2)["items"]:
            assert one.answer(item, {"values": {HOSTILE: value}, "comment": HOSTILE}).status_code == 201
    boss = owner(place)
    label = boss.client.post(
        "/owner/invite", data={"kind": "person", "label": HOSTILE, "page_token": boss.token}, headers={"origin": ORIGIN}
    )
    pages = [boss.client.get(path) for path in ("/owner", "/owner/people", "/owner/disagreements", "/owner/trail")]
    pages += [label, raters[0].client.get("/work"), local_client(place).get(f"/join/{place.link('crowd')}?{crowd}")]
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "49}}" not in page.text
        assert len(re.findall(r"<script", page.text)) == len(re.findall(r'<script type="', page.text))


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{" * 100_000, "application/json", 400),
        (b"[1]", "application/json", 400),
        (b'{"a": NaN}', "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"x" * (LONGEST_BODY + 1), "application/json", 413),
        (b"a=1", "text/plain", 415),
        (b"<a/>", "application/xml", 415),
        (b"&".join(b"a=1" for _ in range(300)), "application/x-www-form-urlencoded", 400),
    ],
)
def test_bodies_are_limited_and_checked(place: Place, content: bytes, kind: str, status: int) -> None:
    one = rater(place)
    headers = {"origin": ORIGIN, "x-studio-token": one.token, "content-type": kind}
    assert one.client.post("/api/claim", content=content, headers=headers).status_code == status


def test_a_body_without_a_length_is_limited_too(place: Place) -> None:
    one = rater(place)
    headers = {"origin": ORIGIN, "x-studio-token": one.token, "content-type": "application/json"}
    parts = (b"x" * 65_536 for _ in range(10))
    assert one.client.post("/api/claim", content=parts, headers=headers).status_code == 413


def test_too_many_requests_are_slowed_down(place: Place) -> None:
    studio = place.studio()
    studio.visits = Limiter(rate=0.5, burst=5)
    client = TestClient(build(studio), base_url=ORIGIN)
    answers = [client.get("/join/guess") for _ in range(8)]
    assert [answer.status_code for answer in answers] == [404] * 5 + [429] * 3
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_a_foreign_host_name_is_not_answered(place: Place) -> None:
    client = TestClient(build(place.studio()), base_url="http://rebind.example")
    assert client.get("/").status_code == 421


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_an_address_that_others_can_reach_needs_a_flag(place: Place, host: str) -> None:
    with pytest.raises(BadInput, match="--expose"):
        run_server(place.studio(), host=host)


def test_the_secret_is_made_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "p.secret"
    first = Secret(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Secret(path).sign("a", "b") == first.sign("a", "b")
    os.chmod(path, 0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        Secret(path)


def test_the_database_is_private(make: Make) -> None:
    place = make(rating_project(), simple_items(1))
    path = Path(str(place.store.url.database))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for beside in path.parent.glob(path.name + "-*"):
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600


@pytest.mark.parametrize("strips", [True, False])
def test_behind_a_proxy_with_https_and_a_path(place: Place, strips: bool) -> None:
    address = Address("https://rate.example.org/studio")
    studio = Studio(place.store, Secret(place.file.with_suffix(".secret")), address)
    prefix = "" if strips else "/studio"
    client = TestClient(build(studio), base_url="https://internal:8000", follow_redirects=False)
    token = place.link()
    page = client.get(f"{prefix}/join/{token}")
    assert f'action="/studio/join/{token}"' in page.text
    cookie = page.headers["set-cookie"]
    assert "Path=/studio" in cookie
    assert "Secure" in cookie
    assert "HttpOnly" in cookie
    form = {"page_token": _hidden(page.text, "page_token")}
    visit = cookie.split(";")[0]
    wrong = client.post(
        f"{prefix}/join/{token}", data=form, headers={"origin": "https://internal:8000", "cookie": visit}
    )
    assert wrong.status_code == 403
    right = client.post(
        f"{prefix}/join/{token}", data=form, headers={"origin": "https://rate.example.org", "cookie": visit}
    )
    assert right.status_code == 303
    assert right.headers["location"] == "/studio/work"
    assert "max-age" in right.headers["strict-transport-security"]


def test_crowd_people_are_known_again_and_exported_under_a_pseudonym(make: Make) -> None:
    from plainly_studio import exports
    from plainly_studio.ledger import Ledger

    project = rating_project(
        crowd={"completion_url": "https://platform.example/done?cc={code}"}, assignment={"per_rater": 1}
    )
    place = make(project, simple_items(3))
    link = place.link("crowd")
    query = {"PROLIFIC_PID": "person-4711", "STUDY_ID": "s1"}
    names = []
    for _ in range(2):
        one = Rater(ORIGIN, link, client=local_client(place), data=query)
        names.append(one.name)
    assert names[0] == names[1]
    (item,) = one.claim()["items"]
    one.answer(item, four())
    told = one.claim()
    assert told["completion_url"] == f"https://platform.example/done?cc={told['code']}"
    ledger = Ledger(place.store)
    ledger.refresh()
    for form in exports.FORMATS:
        content = exports.write(ledger, project, form)
        assert b"4711" not in content
    assert names[0].encode() in exports.write(ledger, project, "csv")


def test_consent_is_asked_for_and_needed(make: Make) -> None:
    place = make(rating_project(consent="We store your answers."), simple_items(1))
    client = local_client(place)
    token = place.link()
    page = client.get(f"/join/{token}")
    assert "We store your answers." in page.text
    form: dict[str, Any] = {"page_token": _hidden(page.text, "page_token")}
    assert client.post(f"/join/{token}", data=form, headers={"origin": ORIGIN}).status_code == 422
    form["consent"] = "yes"
    assert client.post(f"/join/{token}", data=form, headers={"origin": ORIGIN}).status_code == 303
    assert place.query("SELECT consented_at FROM rater")[0].consented_at is not None
