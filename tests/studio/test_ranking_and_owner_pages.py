"""Ranking in the browser, and what an owner sees while it goes on."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from plainly_studio import exports, live
from plainly_studio.creation import gather, make_item
from plainly_studio.ledger import Ledger
from plainly_studio.project import parse_project
from studio.conftest import Make, join, rater, rating_project, saved, settled, simple_items


def ranking_items(count: int, systems: int) -> list[dict[str, Any]]:
    return [
        make_item(
            f"Source number {at}.",
            [(f"secret-system-{one}", f"text {at} of s{one}") for one in range(systems)],
            name=str(at),
        )
        for at in range(count)
    ]


def test_pairwise_ranking_is_blind_shuffled_and_has_ties(make: Make, serve: Any, context: Any) -> None:
    seen: list[str] = []
    context.on("response", lambda answer: seen.append(_body(answer)))
    project = parse_project({"name": "Pairs", "task": "ranking", "assignment": {"overlap": 9}})
    place = make(project, ranking_items(12, 2))
    page = context.new_page()
    join(page, serve(place).url, place.link())
    settled(page)
    page.keyboard.press("Enter")
    page.locator("#notice", has_text="Choose the better version first").wait_for()
    chosen = []
    for number in range(12):
        settled(page)
        texts = page.locator(".candidate .sentence").all_text_contents()
        chosen.append(texts[0])
        page.keyboard.press("0" if number == 11 else "1")
        page.keyboard.press("Enter")
        saved(page, number + 1)
    rows = place.query("SELECT payload FROM entry ORDER BY id")
    choices = [json.loads(row.payload)["choice"] for row in rows]
    assert choices[-1]["tie"] is True
    for text, choice in zip(chosen[:-1], choices[:-1], strict=True):
        assert choice["best_system"] == f"secret-system-{text[-1]}", "the place is translated back"
    assert len({choice["best_system"] for choice in choices[:-1]}) == 2, "the order is shuffled"
    assert not any("secret-system" in text for text in seen)


def test_best_and_worst_of_four(make: Make, serve: Any, context: Any) -> None:
    project = parse_project({"name": "BWS", "task": "ranking", "ranking": {"method": "best-worst", "ties": False}})
    place = make(project, ranking_items(2, 4))
    page = context.new_page()
    join(page, serve(place).url, place.link())
    settled(page)
    texts = page.locator(".candidate .sentence").all_text_contents()
    for key in ("3", "1", "Enter"):
        page.keyboard.press(key)
    saved(page, 1)
    choice = json.loads(place.query("SELECT payload FROM entry")[0].payload)["choice"]
    assert (choice["best_system"], choice["worst_system"]) == (
        f"secret-system-{texts[2][-1]}",
        f"secret-system-{texts[0][-1]}",
    )


def _body(answer: Any) -> str:
    try:
        return str(answer.text())
    except Exception:
        return ""


def test_rankings_hold_every_pair_and_every_group_all_systems(tmp_path: Any) -> None:
    lines = "\n".join(f"line {at}" for at in range(5)) + "\n"
    for name in "abcde":
        (tmp_path / f"{name}.txt").write_text(lines)
    (tmp_path / "source.txt").write_text(lines)
    outputs = [f"{name}={name}.txt" for name in "abcde"]
    pairs = parse_project({"name": "x", "task": "ranking", "data": {"source": "source.txt", "outputs": outputs}})
    made = list(gather(pairs, directory=tmp_path))
    assert len(made) == 5 * 10
    groups = parse_project(
        {"name": "x", "task": "ranking", "ranking": {"method": "best-worst", "size": 3},
         "data": {"source": "source.txt", "outputs": outputs}}
    )  # fmt: skip
    for name in {row["name"] for row in gather(groups, directory=tmp_path)}:
        shown = [json.loads(row["outputs"]) for row in gather(groups, directory=tmp_path) if row["name"] == name]
        assert {one["system"] for group in shown for one in group} == set("abcde")
        assert all(len(group) == 3 for group in shown)


def test_the_dashboard_counts_what_sql_counts_and_flags_the_outlier(make: Make, serve: Any, context: Any) -> None:
    place = make(rating_project(assignment={"overlap": 6, "ahead": 10}), simple_items(12))
    for number in range(6):
        one = rater(place)
        while items := one.claim(10)["items"]:
            for item in items:
                truth = 1 + int(re.findall(r"\d+", item["source"])[0]) % 5
                value = 6 - truth if number == 5 else truth
                assert one.answer(item, {"values": {"grammaticality": value, "meaning": value, "simplicity": 3 - value,
                    "structural_simplicity": 0}}).status_code == 201  # fmt: skip
    outlier = one.name
    server = serve(place)
    page = context.new_page()
    join(page, server.url, place.owner_token)
    page.locator("#live[data-ready]").wait_for()
    (count,) = place.query("SELECT count(*) AS n FROM entry")
    assert f"{count.n} / 72" in page.locator(".tiles").inner_text()
    ledger = Ledger(place.store)
    ledger.refresh()
    shown = live.overview(ledger, place.project)
    assert shown["answers"] == count.n == 72
    flagged = [row["rater"] for row in shown["raters"] if row["reasons"]]
    assert flagged == [outlier]
    assert outlier in page.locator("tr", has_text="rates against the others").inner_text()
    agreement = {row["name"]: row for row in shown["agreement"]}
    assert agreement["structural_simplicity"]["alpha"] != agreement["structural_simplicity"]["alpha"], (
        "undefined is NaN"
    )
    cell = page.locator("tr", has_text="structural_simplicity").first.locator("td").nth(1)
    assert cell.inner_text() == "–"
    number = page.locator("tr", has_text="meaning").first.locator("td").nth(1).inner_text()
    assert float(number.replace("−", "-")) == pytest.approx(agreement["meaning"]["alpha"], abs=5e-4)
    page.goto(f"{server.url}/owner/disagreements")
    first = page.locator("section.card").first
    first.locator("input[type=number]").nth(0).fill("3")
    for at in (1, 2, 3):
        first.locator("input[type=number]").nth(at).fill("1")
    first.get_by_role("button").click()
    page.get_by_text("Settled:").first.wait_for()
    assert place.query("SELECT count(*) AS n FROM adjudication")[0].n == 1
    assert place.query("SELECT count(*) AS n FROM entry")[0].n == 72, "the raters' answers are as they were"
    whole = [json.loads(line) for line in exports.write(ledger, place.project, "entries.jsonl").splitlines()]
    assert [row["answer"]["values"]["grammaticality"] for row in whole if row["kind"] == "adjudication"] == [3]


def test_precision_narrows_and_the_stop_rule_sees_it(make: Make) -> None:
    place = make(rating_project(stop={"half_width": 3.0}, assignment={"overlap": 1, "ahead": 10}), simple_items(20))
    one = rater(place)
    ledger = Ledger(place.store)
    reached = []
    while items := one.claim(10)["items"]:
        for at, item in enumerate(items):
            one.answer(item, {"values": {"grammaticality": 1 + at % 5, "meaning": 3, "simplicity": 0,
                "structural_simplicity": at % 2}})  # fmt: skip
        ledger.refresh()
        rows = live.overview(ledger, place.project)["precision"]
        reached.append([row["now"] for row in rows if row["dimension"] == "grammaticality"])
        assert all(row["at_the_end"] <= row["now"] + 1e-12 for row in rows)
    assert np_mean(reached[-1]) < np_mean(reached[0])
    assert live.enough(ledger, place.project)


def np_mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_rankings_and_operations_are_settled_too_and_stand_apart(make: Make) -> None:
    from studio.test_security import ORIGIN, owner

    ranking = make(parse_project({"name": "Pairs", "task": "ranking"}), ranking_items(1, 2), name="ranking")
    marks = parse_project({"name": "Marks", "task": "operations"})
    marking = make(marks, [make_item("One two three.", [("s", "One three.")], name="1")], name="operations")
    group = {"source": [1], "output": [], "labels": ["delmod"]}
    answers = {
        "ranking": ({"choice": {"tie": True}}, {"choice": {"best": 0}}),
        "operations": ({"groups": [group]}, {"groups": []}),
    }
    for place, form in ((ranking, {"best": "secret-system-1"}), (marking, {})):
        names = []
        for payload in answers[place.project.task]:
            one = rater(place)
            (item,) = one.claim()["items"]
            assert one.answer(item, payload).status_code == 201
            names.append(one.name)
        boss = owner(place)
        page = boss.client.get("/owner/disagreements").text
        assert "<h4>Original</h4>" in page
        assert "<h2>Settled</h2>" not in page
        sent = {"item": "1", "page_token": boss.token, **(form or {"marks": names[0]})}
        assert boss.client.post("/owner/adjudicate", data=sent, headers={"origin": ORIGIN}).status_code == 303
        assert "<h2>Settled</h2>" in boss.client.get("/owner/disagreements").text
        (row,) = place.query("SELECT payload FROM adjudication")
        decided = json.loads(row.payload)
        if form:
            assert decided["choice"]["best_system"] == "secret-system-1"
            wrong = {**sent, "best": "nobody"}
            assert boss.client.post("/owner/adjudicate", data=wrong, headers={"origin": ORIGIN}).status_code == 422
        else:
            assert decided == {"groups": [group], "by": names[0]}
