"""Security, generated from the route table: a route added tomorrow is tested tomorrow."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from plainly.core.errors import BadInput
from plainly_studio.app import ENDPOINTS, LONGEST_BODY, Endpoint, build
from plainly_studio.app import serve as run_server
from plainly_studio.context import COOKIES, Address, Limiter, Studio
from plainly_studio.creation import make_item
from plainly_studio.people import Secret, hash_token
from plainly_studio.project import parse_project
from plainly_studio.store import store_fact
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

ORIGIN = "http://localhost"
CHANGING = [row for row in ENDPOINTS if row.method != "GET"]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}\u202e"


def path_of(row: Endpoint, study: Study) -> str:
    token = study.link("owner") if "{token}" in row.path else ""
    return row.path.replace("{token}", token).replace("{name}", "csv" if "export" in row.path else "studio.css")


def route_name(row: Endpoint) -> str:
    return f"{row.method} {row.path}"


def owner(study: Study) -> Rater:
    person = Rater(ORIGIN, study.link("owner"), client=local_client(study))
    person.token = hidden_field(person.client.get("/owner").text, "page_token")
    return person


def person_for(row: Endpoint, study: Study) -> Rater:
    if row.access == "owner":
        return owner(study)
    person = rater(study)
    if row.access == "public":
        person.token = hidden_field(person.client.get(path_of(row, study)).text, "page_token")
    return person


@pytest.fixture
def study(make: Make) -> Study:
    return make(rating_project(), simple_items(6))


@pytest.fixture(scope="module")
def callers(shared_study: Study) -> Mapping[str, Any]:
    """A client without a session, one of a rater and one of an owner."""
    study = shared_study
    return {"nobody": local_client(study), "rater": rater(study).client, "owner": owner(study).client}


@pytest.mark.parametrize("row", CHANGING, ids=route_name)
def test_a_change_needs_the_own_origin_and_the_token_of_the_page(shared_study: Study, row: Endpoint) -> None:
    study = shared_study
    one, path = person_for(row, study), path_of(row, study)

    def send(**headers: str) -> httpx.Response:
        return one.client.post(path, json={}, headers={name.replace("_", "-"): text for name, text in headers.items()})

    origins = ("", "null", "https://evil.example", "http://localhost.evil.example", "http://localhost:81")
    tokens = ("", "0" * 64, rater(study).token)
    refusals = {
        "origin": [send(x_studio_token=one.token), *(send(x_studio_token=one.token, origin=text) for text in origins)],
        "token": [send(origin=ORIGIN), *(send(origin=ORIGIN, x_studio_token=text) for text in tokens)],
    }
    for code, answers in refusals.items():
        assert [answer.status_code for answer in answers] == [403] * len(answers), code
        if "/api/" in path:
            assert {answer.json()["error"] for answer in answers} == {code}
    answer = send(origin=ORIGIN, x_studio_token=one.token)
    assert answer.status_code not in (401, 403, 415, 500), "the same request with both is admitted"
    study.store.write_now(lambda connection: store_fact(connection, "stopped", None))


@pytest.mark.parametrize("row", ENDPOINTS, ids=route_name)
def test_only_the_roles_of_the_table_are_admitted(
    callers: Mapping[str, Any], shared_study: Study, row: Endpoint
) -> None:
    for who, client in callers.items():
        call = client.get if row.method == "GET" else client.post
        answer = call(path_of(row, shared_study), headers={"origin": ORIGIN})
        if row.access == "public" or row.access == who:
            assert answer.status_code not in (401,), who
            assert answer.status_code != 500
        else:
            assert answer.status_code == (401 if who == "nobody" else 403), who
        assert "secret-system" not in answer.text or who == "owner"


@pytest.mark.parametrize("row", ENDPOINTS, ids=route_name)
def test_every_response_carries_the_policy_and_none_allows_other_sites(shared_study: Study, row: Endpoint) -> None:
    client = local_client(shared_study)
    call = client.get if row.method == "GET" else client.post
    answer = call(path_of(row, shared_study), headers={"origin": "https://evil.example"})
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["cache-control"] in ("no-store", "no-cache")


def test_an_unknown_path_and_method_carry_the_policy_too(study: Study) -> None:
    client = local_client(study)
    for answer in (client.get("/nothing"), client.put("/api/answer"), client.options("/api/answer")):
        assert answer.status_code in (404, 405)
        assert "content-security-policy" in answer.headers


def test_a_rater_cannot_reach_anothers_item(study: Study) -> None:
    one, other = rater(study), rater(study)
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


def test_opening_a_link_uses_nothing_up_and_pressing_the_button_does(study: Study) -> None:
    token = study.link("person", once=True)
    for _ in range(3):
        assert local_client(study).get(f"/join/{token}").status_code == 200
    assert study.query("SELECT uses FROM invitation ORDER BY id DESC LIMIT 1")[0].uses == 0
    Rater(ORIGIN, token, client=local_client(study))
    assert local_client(study).get(f"/join/{token}").status_code == 404, "once means once"


def test_tokens_are_stored_hashed_only(study: Study) -> None:
    token = study.link()
    one = Rater(ORIGIN, token, client=local_client(study))
    session = one.client.cookies[COOKIES["rater"]]
    everything = json.dumps([[str(row) for row in study.query(f"SELECT * FROM {name}")] for name in
                             ("invitation", "session", "rater", "event")])  # fmt: skip
    assert token not in everything
    assert session not in everything
    assert hash_token(token) in everything


def test_a_revoked_link_ends_its_sessions(study: Study) -> None:
    token = study.link()
    one = Rater(ORIGIN, token, client=local_client(study))
    boss = owner(study)
    number = study.query(f"SELECT id FROM invitation WHERE token_hash = '{hash_token(token)}'")[0].id
    response = boss.client.post(
        "/owner/revoke", data={"invitation": number, "page_token": boss.token}, headers={"origin": ORIGIN}
    )
    assert response.status_code == 303
    assert one.client.get("/api/me").status_code == 401
    assert local_client(study).get(f"/join/{token}").status_code == 404


def test_a_removed_rater_is_out_and_their_answers_stay(study: Study) -> None:
    one, boss = rater(study), owner(study)
    (item,) = one.claim()["items"]
    one.answer(item, four())
    form = {"rater": one.name, "page_token": boss.token}
    assert boss.client.post("/owner/remove", data=form, headers={"origin": ORIGIN}).status_code == 303
    assert one.client.get("/work").status_code == 401
    assert len(study.query("SELECT id FROM entry")) == 1


def test_hostile_text_in_every_field_stays_text(make: Make) -> None:
    project = parse_project(
        {"name": HOSTILE, "instructions": HOSTILE, "consent": HOSTILE, "scales": [
            {"name": HOSTILE, "question": HOSTILE, "minimum": 1, "maximum": 5, "low": HOSTILE, "high": HOSTILE}]}
    )  # fmt: skip
    items = [make_item(HOSTILE, [(HOSTILE, HOSTILE)], name=HOSTILE) for _ in range(2)]
    study = make(project, items)
    crowd = "&".join(f"{name}={quote(HOSTILE[:50])}" for name in project.crowd.parameters)
    raters = [rater(study), rater(study)]
    raters[0].client.get(f"/join/{study.link('crowd')}?{crowd}")
    for value, one in enumerate(raters, 1):
        for item in one.claim(2)["items"]:
            assert one.answer(item, {"values": {HOSTILE: value}, "comment": HOSTILE}).status_code == 201
    boss = owner(study)
    label = boss.client.post(
        "/owner/invite", data={"kind": "person", "label": HOSTILE, "page_token": boss.token}, headers={"origin": ORIGIN}
    )
    pages = [boss.client.get(path) for path in ("/owner", "/owner/people", "/owner/disagreements", "/owner/trail")]
    pages += [label, raters[0].client.get("/work"), local_client(study).get(f"/join/{study.link('crowd')}?{crowd}")]
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
def test_bodies_are_limited_and_checked(study: Study, content: bytes, kind: str, status: int) -> None:
    one = rater(study)
    headers = {"origin": ORIGIN, "x-studio-token": one.token, "content-type": kind}
    assert one.client.post("/api/claim", content=content, headers=headers).status_code == status


def test_a_body_without_a_length_is_limited_too(study: Study) -> None:
    one = rater(study)
    headers = {"origin": ORIGIN, "x-studio-token": one.token, "content-type": "application/json"}
    parts = (b"x" * 65_536 for _ in range(10))
    assert one.client.post("/api/claim", content=parts, headers=headers).status_code == 413


def test_too_many_requests_are_slowed_down(study: Study) -> None:
    studio = study.studio()
    studio.visits = Limiter(rate=0.5, burst=5)
    client = TestClient(build(studio), base_url=ORIGIN)
    answers = [client.get("/join/guess") for _ in range(8)]
    assert [answer.status_code for answer in answers] == [404] * 5 + [429] * 3
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_a_foreign_host_name_is_not_answered(study: Study) -> None:
    client = TestClient(build(study.studio()), base_url="http://rebind.example")
    assert client.get("/").status_code == 421


def test_a_host_that_is_no_host_is_a_bad_request(study: Study) -> None:
    for host in ("[::1", "[x]", "]"):
        assert local_client(study).get("/", headers={"host": host}).status_code == 400, host


def test_a_completion_url_is_https_in_the_file_and_in_the_settings(study: Study) -> None:
    for url in (
        "http://platform.example/",
        "javascript:alert(1)",
        "//platform.example",
        "https://",
        " https://x.example",
    ):
        with pytest.raises(BadInput, match="completion_url must begin with https"):
            rating_project(crowd={"completion_url": url})
    boss = owner(study)
    form = {"page_token": boss.token, "crowd.completion_url": "http://platform.example/"}
    response = boss.client.post("/owner/settings", data=form, headers={"origin": ORIGIN})
    assert response.status_code == 422
    assert "https://" in response.text


def test_exports_are_named_after_the_study(make: Make) -> None:
    study = make(rating_project(name='Été 2027: "simple" & süß/../x'), simple_items(2))
    boss = owner(study)
    names = {
        "export/csv": ".csv",
        "export/entries.jsonl": "-entries.jsonl",
        "export/people.csv": "-people.csv",
        "backup": "-backup.zip",
    }
    for path, ending in names.items():
        header = boss.client.get(f"/owner/{path}").headers["content-disposition"]
        assert header == (
            f'attachment; filename="Ete-2027-simple-su-..-x{ending}"; '
            f"filename*=UTF-8''%C3%89t%C3%A9-2027-simple-s%C3%BC%C3%9F-..-x{ending}"
        )


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_an_address_that_others_can_reach_needs_a_flag(study: Study, host: str) -> None:
    with pytest.raises(BadInput, match="--expose"):
        run_server(study.studio(), host=host)


def test_the_secret_is_made_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "p.secret"
    first = Secret(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Secret(path).sign("a", "b") == first.sign("a", "b")
    os.chmod(path, 0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        Secret(path)


def test_the_database_is_private(make: Make) -> None:
    study = make(rating_project(), simple_items(1))
    path = Path(str(study.store.url.database))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for beside in path.parent.glob(path.name + "-*"):
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600


@pytest.mark.parametrize("strips", [True, False])
def test_behind_a_proxy_with_https_and_a_path(study: Study, strips: bool) -> None:
    address = Address("https://rate.example.org/studio")
    studio = Studio(study.store, Secret(study.file.with_suffix(".secret")), address)
    prefix = "" if strips else "/studio"
    client = TestClient(build(studio), base_url="https://internal:8000", follow_redirects=False)
    token = study.link()
    page = client.get(f"{prefix}/join/{token}")
    assert f'action="/studio/join/{token}"' in page.text
    cookie = page.headers["set-cookie"]
    assert "Path=/studio" in cookie
    assert "Secure" in cookie
    assert "HttpOnly" in cookie
    form = {"page_token": hidden_field(page.text, "page_token")}
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
    from plainly_studio.exports import Ledger

    project = rating_project(
        crowd={"completion_url": "https://platform.example/done?cc={code}"}, assignment={"per_rater": 1}
    )
    study = make(project, simple_items(3))
    link = study.link("crowd")
    query = {"PROLIFIC_PID": "person-4711", "STUDY_ID": "s1"}
    names, client = [], local_client(study)
    for _ in range(2):
        one = Rater(ORIGIN, link, client=client, data=query)
        names.append(one.name)
    assert names[0] == names[1]
    (item,) = one.claim()["items"]
    one.answer(item, four())
    reply = one.claim()
    assert reply["completion_url"] == f"https://platform.example/done?cc={reply['code']}"
    ledger = Ledger(study.store)
    ledger.refresh()
    for form in exports.FORMATS:
        content = exports.write(ledger, project, form)
        assert b"person-4711" not in content
    assert names[0].encode() in exports.write(ledger, project, "csv")


def test_consent_is_asked_for_and_needed(make: Make) -> None:
    study = make(rating_project(consent="We store your answers."), simple_items(1))
    client = local_client(study)
    token = study.link()
    page = client.get(f"/join/{token}")
    assert "We store your answers." in page.text
    form: dict[str, Any] = {"page_token": hidden_field(page.text, "page_token")}
    assert client.post(f"/join/{token}", data=form, headers={"origin": ORIGIN}).status_code == 422
    form["consent"] = "yes"
    assert client.post(f"/join/{token}", data=form, headers={"origin": ORIGIN}).status_code == 303
    assert study.query("SELECT consented_at FROM rater")[0].consented_at is not None
