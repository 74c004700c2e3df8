"""Ranking in the browser, and what an owner sees while it goes on."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from plainly_studio import export, live, status
from plainly_studio.creation import make_item, make_items
from plainly_studio.exports import Ledger
from plainly_studio.project import parse_project
from studio.conftest import Make, Study, join, rater, rating_project, simple_items, wait_for_item, wait_until_saved


def ranking_items(count: int, systems: int) -> list[dict[str, Any]]:
    return [
        make_item(
            f"Source number {at}.",
            [(f"secret-system-{one}", f"text {at} of s{one}") for one in range(systems)],
            name=str(at),
        )
        for at in range(count)
    ]


def test_rankings_are_blind_shuffled_and_translated_back(make: Make) -> None:
    project = parse_project({"name": "Pairs", "task": "ranking", "assignment": {"overlap": 9, "ahead": 10}})
    study = make(project, ranking_items(10, 2))
    one = rater(study)
    response = one.post("/api/claim", {"want": 10, "have": []})
    assert "secret-system" not in response.text + one.client.get("/work").text
    texts = []
    for item in response.json()["items"]:
        texts.append(item["outputs"][0])
        assert "secret-system" not in one.answer(item, {"choice": {"best": 0}}).text
    choices = [json.loads(row.payload)["choice"] for row in study.query("SELECT payload FROM entry ORDER BY id")]
    assert [choice["best_system"] for choice in choices] == [f"secret-system-{text[-1]}" for text in texts]
    assert len({choice["best_system"] for choice in choices}) == 2, "the order is shuffled"
    assert "secret-system" not in one.client.get("/api/answered").text


@pytest.mark.system
def test_pairwise_ranking_is_blind_shuffled_and_has_ties(make: Make, serve: Any, context: Any) -> None:
    bodies: list[str] = []
    context.on("response", lambda answer: bodies.append(_body(answer)))
    project = parse_project({"name": "Pairs", "task": "ranking", "assignment": {"overlap": 9}})
    study = make(project, ranking_items(12, 2))
    page = context.new_page()
    join(page, serve(study).url, study.link())
    wait_for_item(page)
    page.keyboard.press("Enter")
    page.locator("#notice", has_text="Choose the better version first").wait_for()
    best_texts = []
    for number in range(12):
        wait_for_item(page)
        texts = page.locator(".candidate .sentence").all_text_contents()
        best_texts.append(texts[0])
        page.keyboard.press("0" if number == 11 else "1")
        page.keyboard.press("Enter")
        wait_until_saved(page, number + 1)
    rows = study.query("SELECT payload FROM entry ORDER BY id")
    choices = [json.loads(row.payload)["choice"] for row in rows]
    assert choices[-1]["tie"] is True
    for text, choice in zip(best_texts[:-1], choices[:-1], strict=True):
        assert choice["best_system"] == f"secret-system-{text[-1]}", "the position is translated back"
    assert len({choice["best_system"] for choice in choices[:-1]}) == 2, "the order is shuffled"
    assert not any("secret-system" in text for text in bodies)


@pytest.mark.system
def test_best_and_worst_of_four(make: Make, serve: Any, context: Any) -> None:
    project = parse_project({"name": "BWS", "task": "ranking", "ranking": {"method": "best-worst", "ties": False}})
    study = make(project, ranking_items(2, 4))
    page = context.new_page()
    join(page, serve(study).url, study.link())
    wait_for_item(page)
    texts = page.locator(".candidate .sentence").all_text_contents()
    boxes = [card.bounding_box() for card in page.locator(".candidate").all()]
    assert len({round(box["x"]) for box in boxes}) == len({round(box["y"]) for box in boxes}) == 2, "two by two"
    assert page.locator(".candidate kbd").all_inner_texts() == ["1", "q", "2", "w", "3", "e", "4", "r"]
    for key in ("2", "q", "3", "Enter"):
        page.keyboard.press(key)
    wait_until_saved(page, 1)
    choice = json.loads(study.query("SELECT payload FROM entry")[0].payload)["choice"]
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
        (tmp_path / f"{name}.txt").write_text(lines.replace("line", name))
    (tmp_path / "source.txt").write_text(lines)
    outputs = [f"{name}={name}.txt" for name in "abcde"]
    pairs = parse_project({"name": "x", "task": "ranking", "data": {"source": "source.txt", "outputs": outputs}})
    rows = list(make_items(pairs, directory=tmp_path))
    assert len(rows) == 5 * 10
    groups = parse_project(
        {"name": "x", "task": "ranking", "ranking": {"method": "best-worst", "size": 3},
         "data": {"source": "source.txt", "outputs": outputs}}
    )  # fmt: skip
    for name in {row["name"] for row in make_items(groups, directory=tmp_path)}:
        rows = [json.loads(row["outputs"]) for row in make_items(groups, directory=tmp_path) if row["name"] == name]
        assert {one["system"] for group in rows for one in group} == set("abcde")
        assert all(len(group) == 3 for group in rows)


def rate_with_outlier(make: Make) -> tuple[Study, str]:
    """Make a study with six raters, the last of whom rates against the others; return it with the name of that one."""
    study = make(rating_project(assignment={"overlap": 6, "ahead": 10}), simple_items(12))
    for number in range(6):
        one = rater(study)
        while items := one.claim(10)["items"]:
            for item in items:
                truth = 1 + int(re.findall(r"\d+", item["source"])[0]) % 5
                value = 6 - truth if number == 5 else truth
                assert one.answer(item, {"values": {"grammaticality": value, "meaning": value, "simplicity": 3 - value,
                    "structural_simplicity": 0}}).status_code == 201  # fmt: skip
    # Measured in a test, times are a few milliseconds, of which one rater may need three times as many as another.
    study.store.write_now(lambda connection: connection.exec_driver_sql("UPDATE entry SET seconds = 20"))
    return study, one.name


def test_the_figures_count_what_sql_counts_and_flag_the_outlier(make: Make) -> None:
    from studio.test_security import ORIGIN, owner

    study, outlier = rate_with_outlier(make)
    manager = owner(study)
    figures = manager.client.get("/api/live").json()
    (count,) = study.query("SELECT count(*) AS n FROM entry")
    assert figures["answers"] == count.n == 72
    assert [row["rater"] for row in figures["raters"] if row["reasons"]] == [outlier]
    agreement = {row["name"]: row for row in figures["agreement"]}
    assert agreement["structural_simplicity"]["alpha"] is None, "undefined is null"
    assert agreement["meaning"]["alpha"] == pytest.approx(status(study.file).json()["agreement"][1]["alpha"])
    form = {"value.grammaticality": "3", "value.meaning": "1", "value.simplicity": "1"}
    form |= {"value.structural_simplicity": "1", "item": "1", "page_token": manager.token}
    assert manager.client.post("/owner/adjudicate", data=form, headers={"origin": ORIGIN}).status_code == 303
    assert study.query("SELECT count(*) AS n FROM entry")[0].n == 72, "the raters' answers are as they were"
    lines = export(study.file, "entries.jsonl").splitlines()
    decisions = [row for row in map(json.loads, lines) if row["kind"] == "adjudication"]
    assert [row["answer"]["values"]["grammaticality"] for row in decisions] == [3]


def test_people_are_filtered_and_changed_together_and_lead_to_their_answers(make: Make) -> None:
    from studio.test_security import ORIGIN, owner

    study, outlier = rate_with_outlier(make)
    manager = owner(study)

    def read(path: str) -> tuple[list[str], str]:
        page = manager.client.get(path).text
        return re.findall(r'<tr id="([^"]*)"', page), page

    names, page = read("/owner/people")
    assert len(names) == 6
    assert f"/owner/answers?rater={outlier}" in page
    answers = manager.client.get(f"/owner/answers?rater={outlier}").text
    assert answers.count("<summary>") == 12
    assert "secret-system" not in answers
    assert manager.client.get("/owner/answers").text.count("<summary>") == 50, "one page of them"
    assert manager.client.get("/owner/answers?page=2").text.count("<summary>") == 22
    assert manager.client.get("/owner/answers?search=choice+7.").text.count("<summary>") == 6
    assert read(f"/owner/people?search={outlier[2:].upper()}")[0] == [outlier]
    form = {"page_token": manager.token, "action": "exclude", "why": "too fast", "state": "active"}

    def apply(**more: str) -> Any:
        return manager.client.post("/owner/bulk", data={**form, **more}, headers={"origin": ORIGIN})

    assert apply().status_code == 422, "no one is selected"
    selected = {f"rater.{name}": "yes" for name in names[:2]}
    assert apply(**selected, action="erase").status_code == 422, "people are deleted one by one"
    assert apply(**selected, **{"rater.r-none": "yes"}).status_code == 404
    assert len(read("/owner/people?state=excluded")[0]) == 0, "all of it or nothing"
    response = apply(**selected)
    assert (response.status_code, response.headers["location"]) == (303, "/owner/people?state=active")
    assert read("/owner/people?state=excluded")[0] == names[:2]
    assert read("/owner/people?state=active")[0] == names[2:]
    assert read("/owner/people?search=too+fast")[0] == names[:2]
    assert apply(**selected, action="restore").status_code == 303
    assert read("/owner/people?state=excluded")[0] == []


@pytest.mark.system
def test_people_and_live_pages_on_a_phone(make: Make, serve: Any, context: Any) -> None:
    study, outlier = rate_with_outlier(make)
    server = serve(study)
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 800})
    join(page, server.url, study.owner_token)
    page.locator("#live[data-ready]").wait_for()

    def fits() -> bool:
        return bool(page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")) and not page.evaluate(
            "[...document.querySelectorAll('.scroll')].some(part => part.scrollWidth > part.clientWidth)"
        )

    assert fits()
    page.get_by_role("link", name=f"12 answers of {outlier}").click()
    page.locator("h1", has_text="Answers").wait_for()
    page.wait_for_load_state()
    assert fits()
    assert page.locator("tbody tr").count() == 12
    page.goto(f"{server.url}/owner/people")
    assert fits()
    page.get_by_label("Select all in this list").check()
    page.get_by_label(f"Select {outlier}").uncheck()
    page.get_by_label("With the selected").select_option("exclude")
    page.get_by_role("button", name="Apply").click()
    page.locator("select[name=state]", has_text="excluded").wait_for()
    assert page.locator("tr", has_text="excluded").count() == 5


def test_disagreements_are_blind_filtered_and_paged_and_decisions_are_kept(make: Make) -> None:
    from studio.test_security import ORIGIN, owner

    study = make(rating_project(assignment={"overlap": 3, "ahead": 10}), simple_items(27))
    names = []
    for number in range(3):
        one = rater(study)
        names.append(one.name)
        while items := one.claim(10)["items"]:
            for item in items:
                at = int(re.findall(r"\d+", item["source"])[0])
                values = {"grammaticality": 1 + number, "meaning": 1 + number * (at % 9 == 0), "simplicity": 0}
                answer = {"values": {**values, "structural_simplicity": 0}}
                assert one.answer(item, {"cannot_judge": True} if number == 2 and at > 1 else answer).status_code == 201
    manager = owner(study)

    def read(query: str) -> tuple[list[str], str]:
        page = manager.client.get(f"/owner/disagreements?{query}").text
        return re.findall(r">Item (\d+)</h2>", page), page

    pages = [read(f"page={number}") for number in (1, 2, 3)]
    assert [len(titles) for titles, _ in pages] == [10, 10, 7]
    assert sorted(int(name) for titles, _ in pages for name in titles) == [*range(27)]
    assert not any("secret-system" in page for _, page in pages)
    assert {*read("question=meaning")[0]} == {"0", "9", "18"}
    assert read("search=NUMBER+17.")[0] == ["17"]
    assert {*read(f"rater={names[2]}")[0]} == {"0", "1"}
    assert read("page=x")[1].count("must be a whole number") == 1
    (number,) = [row.id for row in study.query("SELECT id, name FROM item") if row.name == "9"]
    form = {f"value.{scale.name}": "1" for scale in study.project.scales} | {"comment": 'a "reason"'}
    form |= {"item": str(number), "page_token": manager.token, "show": "open", "question": "meaning", "page": "2"}
    response = manager.client.post("/owner/adjudicate", data=form, headers={"origin": ORIGIN})
    assert response.headers["location"] == "/owner/disagreements?show=open&question=meaning&page=2"
    assert {*read("question=meaning")[0]} == {"0", "18"}
    titles, page = read("show=settled")
    assert titles == ["9"]
    assert page.count('step="1" value="1"') == 4
    assert "a &#34;reason&#34;" in page
    study.store.write_now(lambda connection: connection.exec_driver_sql("UPDATE rater SET excluded_at = 1"))
    assert read("show=settled")[0] == ["9"], "a decision stays when no answers differ any more"


@pytest.mark.system
def test_the_dashboard_shows_the_figures(make: Make, serve: Any, context: Any) -> None:
    study, outlier = rate_with_outlier(make)
    server = serve(study)
    page = context.new_page()
    join(page, server.url, study.owner_token)
    page.locator("#live[data-ready]").wait_for()
    assert "72 / 72" in page.locator(".tiles").inner_text()
    agreement = {row["name"]: row for row in status(study.file).json()["agreement"]}
    assert outlier in page.locator("tr", has_text="rates against the others").inner_text()
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
    page.locator("select[name=show]", has_text="settled (1)").wait_for()
    page.locator("select[name=show]").select_option("settled")
    page.get_by_role("button", name="Filter").click()
    page.get_by_text("Settled:").first.wait_for()
    assert page.locator("input[type=number]").first.input_value() == "3"
    assert study.query("SELECT count(*) AS n FROM adjudication")[0].n == 1


def test_precision_narrows_and_the_stop_rule_sees_it(make: Make) -> None:
    study = make(rating_project(stop={"half_width": 3.0}, assignment={"overlap": 1, "ahead": 10}), simple_items(20))
    one = rater(study)
    ledger = Ledger(study.store)
    half_widths = []
    while items := one.claim(10)["items"]:
        for at, item in enumerate(items):
            one.answer(item, {"values": {"grammaticality": 1 + at % 5, "meaning": 3, "simplicity": 0,
                "structural_simplicity": at % 2}})  # fmt: skip
        ledger.refresh()
        rows = live.overview(ledger, study.project)["precision"]
        half_widths.append([row["now"] for row in rows if row["dimension"] == "grammaticality"])
        assert all(row["at_the_end"] <= row["now"] + 1e-12 for row in rows)
    assert np_mean(half_widths[-1]) < np_mean(half_widths[0])
    assert live.is_precise(ledger, study.project)


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
    for study, is_ranking in ((ranking, True), (marking, False)):
        names = []
        for payload in answers[study.project.task]:
            one = rater(study)
            (item,) = one.claim()["items"]
            assert one.answer(item, payload).status_code == 201
            names.append(one.name)
        boss = owner(study)
        page = boss.client.get("/owner/disagreements").text
        assert "<h3>Original</h3>" in page
        assert "secret-system" not in page, "the owner decides without knowing whose version it is"
        letter = re.findall(r"Version ([AB])</h3><p[^>]*>text 0 of s1", page) if is_ranking else []
        form = {"best": letter[0]} if is_ranking else {"marks": names[0]}
        form_data = {"item": "1", "page_token": boss.token, **form}
        assert boss.client.post("/owner/adjudicate", data=form_data, headers={"origin": ORIGIN}).status_code == 303
        assert "<h3>Original</h3>" not in boss.client.get("/owner/disagreements").text
        settled = boss.client.get("/owner/disagreements?show=settled").text
        assert f'value="{next(iter(form.values()))}" selected' in settled
        assert "secret-system" not in settled
        (row,) = study.query("SELECT payload FROM adjudication")
        decision = json.loads(row.payload)
        if is_ranking:
            assert decision["choice"]["best_system"] == "secret-system-1"
            wrong = {**form_data, "best": "nobody"}
            assert boss.client.post("/owner/adjudicate", data=wrong, headers={"origin": ORIGIN}).status_code == 422
        else:
            assert decision == {"groups": [group], "by": names[0]}
