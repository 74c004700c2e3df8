"""Rating in the browser: five keys an item, no key dropped, and nothing entered is ever gone."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from plainly_studio.creation import make_item
from studio.conftest import Make, Study, join, rating_project, simple_items, wait_for_item, wait_until_saved

pytestmark = pytest.mark.system

KEYS = ("4", "5", "2", "1", "Enter")


def stored_answers(study: Study) -> list[dict[str, Any]]:
    return [json.loads(row.payload) for row in study.query("SELECT payload FROM entry ORDER BY id")]


def rate(page: Any, times: int = 1, *, stopped_clock: bool = False) -> None:
    """Answer items as a quick person does: each when it has been on the screen for a moment."""
    for _ in range(times):
        if stopped_clock:
            page.locator(".item").wait_for()
            page.clock.run_for(400)
        wait_for_item(page)
        for key in KEYS:
            page.keyboard.press(key)


def start(make: Make, serve: Any, context: Any, *, items: int, **more: Any) -> tuple[Study, Any, Any, str]:
    study = make(rating_project(**more), simple_items(items))
    server = serve(study)
    page = context.new_page()
    link = study.link()
    join(page, server.url, link)
    wait_for_item(page)
    return study, server, page, link


def test_four_scales_and_submit_in_five_keys_and_no_system_is_sent(make: Make, serve: Any, context: Any) -> None:
    seen: list[str] = []
    context.on("response", lambda response: seen.append(_text(response)))
    study, _, page, _ = start(make, serve, context, items=5)
    rate(page)
    wait_until_saved(page, 1)
    (answer,) = stored_answers(study)
    assert answer["values"] == {"grammaticality": 4, "meaning": 5, "simplicity": 2, "structural_simplicity": 1}
    assert any("Then the group made choice" in text for text in seen), "the bodies were looked at"
    assert not any("secret-system" in text for text in seen)


def _text(response: Any) -> str:
    try:
        return str(response.text())
    except Exception:
        return ""  # redirects have no body


def test_a_quick_rater_loses_no_key(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=30)
    rate(page, 30)
    wait_until_saved(page, 30, timeout=40_000)
    answers = stored_answers(study)
    assert len(answers) == 30
    assert {json.dumps(one["values"], sort_keys=True) for one in answers} == {
        json.dumps(answers[0]["values"], sort_keys=True)
    }


def test_thirty_percent_failing_requests_lose_nothing(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=12, assignment={"ahead": 10})
    rng = random.Random(4)
    failed = []

    def fail(route: Any) -> None:
        draw = rng.random()
        if draw >= 0.3:
            route.continue_()
            return
        failed.append(draw)
        if draw < 0.1:
            route.abort()
        elif draw < 0.2:
            route.fulfill(status=503, body="busy")
        else:  # The server has it, but the reply gets lost: only the key keeps this from being stored twice.
            route.fetch()
            route.abort()

    page.clock.install()
    page.route("**/api/**", fail)
    for _ in range(12):
        rate(page, stopped_clock=True)
        page.clock.run_for(3500)
    for _ in range(200):
        page.clock.run_for(1000)
        if page.locator("#saved[data-state=saved]").count():
            break
    wait_until_saved(page, 12)
    assert failed
    assert len(stored_answers(study)) == 12


def test_a_ten_minute_outage_loses_nothing_and_shows_what_waits(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=8)
    page.clock.install()
    page.route("**/api/**", lambda route: route.abort())
    rate(page, 3, stopped_clock=True)
    page.locator("#saved", has_text="Not connected. 3 answers are kept in this browser").wait_for()
    page.clock.fast_forward("10:00")
    page.locator("#saved[data-state=waiting]", has_text="3 answers").wait_for()
    assert stored_answers(study) == []
    page.unroute("**/api/**")
    for _ in range(40):
        page.clock.run_for(1000)
        if page.locator("#saved[data-state=saved]").count():
            break
    wait_until_saved(page, 3)
    assert len(stored_answers(study)) == 3


def test_a_closed_tab_loses_nothing(make: Make, serve: Any, context: Any) -> None:
    study, server, page, _ = start(make, serve, context, items=8)
    page.route("**/api/**", lambda route: route.abort())
    rate(page, 2)
    wait_for_item(page)
    page.keyboard.press("3")
    page.close(run_before_unload=False)
    assert stored_answers(study) == []
    again = context.new_page()
    again.goto(f"{server.url}/work")
    wait_until_saved(again, 2)
    assert len(stored_answers(study)) == 2
    assert again.locator("fieldset").first.locator("input:checked").get_attribute("value") == "3", "unfinished work too"


def test_an_ended_session_loses_nothing(make: Make, serve: Any, context: Any) -> None:
    study, server, page, link = start(make, serve, context, items=8)
    study.store.write_now(lambda connection: connection.exec_driver_sql("DELETE FROM session"))
    rate(page, 2)
    page.locator("#saved", has_text="Session ended. 2 answers are kept").wait_for()
    assert stored_answers(study) == []
    other = context.new_page()
    join(other, server.url, link)
    wait_until_saved(page, 2, timeout=40_000)
    assert len(stored_answers(study)) == 2


def test_another_persons_session_does_not_send_what_waits(make: Make, serve: Any, context: Any) -> None:
    study, server, page, _ = start(make, serve, context, items=8)
    study.store.write_now(lambda connection: connection.exec_driver_sql("DELETE FROM session"))
    rate(page, 1)
    page.locator("#saved", has_text="Session ended").wait_for()
    other = context.new_page()
    join(other, server.url, study.link())
    wait_for_item(other)
    page.locator("#saved", has_text="Another person uses this browser").wait_for(timeout=40_000)
    assert stored_answers(study) == []


def test_a_stale_tab_explains_and_overwrites_nothing(make: Make, serve: Any, context: Any) -> None:
    study, server, page, _ = start(make, serve, context, items=6)
    second = context.new_page()
    second.goto(f"{server.url}/work")
    wait_for_item(second)
    assert second.locator(".sentence").first.text_content() == page.locator(".sentence").first.text_content()
    rate(page)
    wait_until_saved(page, 1)
    for key in ("1", "1", "1", "1", "Enter"):
        second.keyboard.press(key)
    notice = second.locator("#notice", has_text="answered elsewhere")
    notice.wait_for()
    assert [one["values"]["meaning"] for one in stored_answers(study)] == [5]
    notice.get_by_text("Replace it with mine").click()
    second.locator("#saved[data-state=saved]").wait_for()
    assert [one["values"]["meaning"] for one in stored_answers(study)] == [5, 1], "added, not overwritten"


def test_a_blocked_submit_says_why_and_goes_there(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=3)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.locator("#notice", has_text="Does the version keep the meaning").wait_for()
    assert page.evaluate("() => document.activeElement.name") == "scale-1"
    assert stored_answers(study) == []


def test_back_changes_an_answer_also_after_a_reload(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=5)
    rate(page)
    wait_until_saved(page, 1)
    page.reload()
    wait_for_item(page)
    page.keyboard.press("b")
    page.get_by_text("You answered this item before").wait_for()
    wait_for_item(page)
    for key in ("1", "Enter"):
        page.keyboard.press(key)
    page.locator("#saved[data-state=saved]").wait_for()
    assert [one["values"]["grammaticality"] for one in stored_answers(study)] == [4, 1]
    assert [row.revision for row in study.query("SELECT revision FROM entry ORDER BY id")] == [1, 2]


def test_keys_are_shown_can_be_changed_and_turned_off(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=5)
    page.click("#keys-button")
    page.get_by_label("Cannot judge this item: j. Change").click()
    page.keyboard.press("q")
    page.click("#keys-close")
    assert page.locator("#cannot kbd").text_content() == "q"
    page.keyboard.press("q")
    wait_until_saved(page, 1)
    assert stored_answers(study) == [{"cannot_judge": True}]
    page.click("#keys-button")
    page.get_by_label("Turn single-character keys off").check()
    page.click("#keys-close")
    page.keyboard.press("q")
    page.wait_for_timeout(300)
    assert len(stored_answers(study)) == 1


def test_a_long_scale_is_a_slider_and_digits_are_tens(make: Make, serve: Any, context: Any) -> None:
    study = make(rating_project(protocol="direct-assessment"), simple_items(3))
    page = context.new_page()
    join(page, serve(study).url, study.link())
    wait_for_item(page)
    for key in ("7", "3", "0", "Enter"):
        page.keyboard.press(key)
    wait_until_saved(page, 1)
    assert stored_answers(study)[0]["values"] == {"simplicity": 70, "fluency": 30, "meaning": 100}


def scale(name: str, minimum: float, maximum: float, step: float = 1) -> dict[str, Any]:
    return {"name": name, "question": f"{name}?", "minimum": minimum, "maximum": maximum, "step": step}


def test_a_digit_is_the_number_that_stands_on_the_scale(make: Make, serve: Any, context: Any) -> None:
    scales = [
        scale("around", -2, 2), scale("below", -2, 2), scale("from_zero", 0, 5), scale("to_ten", 1, 10),
        scale("halves", 1, 3, 0.5), scale("hundreds", 100, 500, 100),
    ]  # fmt: skip
    study, _, page, _ = start(make, serve, context, items=3, scales=scales)
    rows = page.locator("fieldset").all()
    hints = {row.locator("legend").inner_text(): row.locator("kbd").all_inner_texts() for row in rows}
    assert hints["around?"] == hints["from_zero?"] == hints["halves?"] == [], "the digit is the number on the button"
    assert hints["to_ten?"] == ["0"]
    assert hints["hundreds?"] == ["1", "2", "3", "4", "5"]
    for key in ("5", "2", "-", "2", "0", "0", "-", "3", "2", "Enter"):  # 5 and the last minus mean nothing here
        page.keyboard.press(key)
    wait_until_saved(page, 1)
    values = {"around": 2, "below": -2, "from_zero": 0, "to_ten": 10, "halves": 3, "hundreds": 200}
    assert stored_answers(study)[0]["values"] == values


def test_keys_are_large_enough_and_absent_on_a_touch_screen(
    make: Make, serve: Any, chromium: Any, context: Any
) -> None:
    study = make(rating_project(scales=[scale("hundreds", 100, 500, 100)]), simple_items(3))
    server = serve(study)
    phone = chromium.new_context(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    for browser, is_visible in ((context, True), (phone, False)):
        page = browser.new_page()
        join(page, server.url, study.link())
        wait_for_item(page)
        for key in page.locator("kbd").all():
            assert key.is_visible() is is_visible
            assert float(key.evaluate("element => getComputedStyle(element).fontSize").removesuffix("px")) >= 12
    phone.close()


def test_time_out_of_sight_does_not_count_and_a_reload_does_not_reset_it(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=8)
    page.wait_for_timeout(1500)
    page.reload()
    rate(page)
    wait_until_saved(page, 1)
    hide = "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});" \
        " document.dispatchEvent(new Event('visibilitychange')); }"  # fmt: skip
    wait_for_item(page)
    page.evaluate(hide, True)
    page.wait_for_timeout(2000)
    page.evaluate(hide, False)
    rate(page)
    wait_until_saved(page, 2)
    first, second = [row.seconds for row in study.query("SELECT seconds FROM entry ORDER BY id")]
    assert 1.5 <= first < 10
    assert second < 1.5, "two seconds in a hidden tab"
    assert len(study.query("SELECT id FROM assignment WHERE shown_at IS NOT NULL")) == 2


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_a_comment_keeps_hostile_and_bidirectional_text(make: Make, serve: Any, context: Any, direction: str) -> None:
    study, _, page, _ = start(make, serve, context, items=2, direction=direction)
    text = "<script>alert(1)</script> שלום 👩‍👩‍👧 e\u0301 =1+1 \u202e'\";--"
    page.fill("#comment", text)
    page.keyboard.press("Escape")
    rate(page)
    wait_until_saved(page, 1)
    assert stored_answers(study)[0]["comment"] == text


def test_practice_items_show_feedback_before_the_work_begins(make: Make, serve: Any, context: Any) -> None:
    right = {"values": {"grammaticality": 4, "meaning": 5}}
    items = simple_items(1, kind="training", expected=right, feedback="Nothing is missing.") + simple_items(2)
    study = make(rating_project(), items)
    page = context.new_page()
    join(page, serve(study).url, study.link())
    page.get_by_text("Practice item").wait_for()
    rate(page)
    page.locator("#feedback", has_text="Nothing is missing.").wait_for()
    assert page.locator("#feedback h2").inner_text() == "As expected"
    rows = [row.locator("th, td").all_inner_texts() for row in page.locator("#feedback tbody tr").all()]
    assert rows[0] == ["Is the version fluent and grammatical?", "4", "4"]
    assert rows[2] == ["Is the version simpler than the original?", "+2 – much simpler", "–"]
    assert page.locator("#feedback .sentence").all_inner_texts() == [items_text(0, "source"), items_text(0, "output")]
    page.keyboard.press("Enter")
    wait_for_item(page)
    assert page.get_by_text("Practice item").count() == 0
    rate(page, 2)
    page.locator("#code").wait_for()
    assert len(stored_answers(study)) == 3


def items_text(at: int, side: str) -> str:
    item = simple_items(at + 1)[at]
    return str(item["source"] if side == "source" else json.loads(item["outputs"])[0]["text"])


@pytest.mark.parametrize(
    ("count", "width", "rows"), [(3, 1400, 1), (3, 900, 3), (3, 360, 3), (4, 1400, 2), (5, 1400, 5), (6, 1400, 2)]
)
def test_questions_leave_no_gap(make: Make, serve: Any, context: Any, count: int, width: int, rows: int) -> None:
    _, _, page, _ = start(make, serve, context, items=2, scales=[scale(f"s{at}", 1, 5) for at in range(count)])
    page.set_viewport_size({"width": width, "height": 900})
    boxes = [box.bounding_box() for box in page.locator("fieldset").all()]
    lines = [[box for box in boxes if round(box["y"]) == y] for y in {round(box["y"]) for box in boxes}]
    assert len(lines) == rows
    assert {len(line) for line in lines} == {count // rows}, "every row is full"
    bar = page.locator("#bar")
    assert (bar.get_attribute("max"), bar.evaluate("bar => bar.value")) == ("2", 0)
    for _ in range(count):
        page.keyboard.press("3")
    page.keyboard.press("Enter")
    wait_until_saved(page, 1)
    assert bar.evaluate("bar => bar.value") == 1


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_a_document_has_aligned_paragraphs_and_questions_in_sight(
    make: Make, serve: Any, context: Any, width: int
) -> None:
    source = [
        f"The committee convened about matter {at} and deliberated on it for a long time. " * 3 for at in range(12)
    ]
    output = [f"The group met about matter {at}." for at in range(12) if at != 5]
    item = make_item("\n\n".join(source), [("s", "\n\n".join(output))], name="1")
    study = make(rating_project(), [item])
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 800})
    join(page, serve(study).url, study.link())
    wait_for_item(page)
    rows = page.locator(".aligned tbody tr")
    assert rows.count() == 12
    assert "matter 7" in rows.nth(7).locator("td").nth(1).inner_text()
    assert rows.nth(5).locator("td").nth(1).locator("p").count() == 0, "a paragraph without a counterpart"
    for scroll in (0, 600, 1200):
        page.evaluate("y => scrollTo(0, y)", scroll)
        box = page.locator("fieldset").first.bounding_box()
        assert 0 <= box["y"] < 780
    widths = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    for key in ("4", "5", "2", "1", "Enter"):
        page.keyboard.press(key)
    wait_until_saved(page, 1)


def test_without_javascript_the_first_page_says_so_before_the_consent(make: Make, serve: Any, chromium: Any) -> None:
    study = make(rating_project(consent="You agree."), simple_items(2))
    plain = chromium.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(f"{serve(study).url}/join/{study.link()}")
    notice = page.locator(".notice", has_text="needs JavaScript")
    assert notice.bounding_box()["y"] < page.locator("#consent-title").bounding_box()["y"]
    plain.close()


def test_keys_pressed_before_an_item_is_seen_answer_nothing(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=30, assignment={"ahead": 1})
    page.route("**/api/claim", lambda route: route.abort())
    rate(page)
    page.get_by_text("Not connected. The next item").wait_for()
    for _ in range(6):
        for key in KEYS:
            page.keyboard.press(key)
    page.unroute("**/api/claim")
    page.locator(".item").wait_for()
    wait_for_item(page)
    page.wait_for_timeout(300)
    assert page.locator("input:checked").count() == 0, "what was typed before belongs to no item"
    assert len(stored_answers(study)) == 1


def test_a_key_that_is_held_counts_once(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=30)
    for _ in range(40):
        page.keyboard.down("j")
    page.wait_for_timeout(400)
    for _ in range(40):
        page.keyboard.down("j")
    page.keyboard.up("j")
    wait_until_saved(page, 1)
    assert len(stored_answers(study)) == 1


def test_cannot_judge_asks_before_it_throws_ratings_away(make: Make, serve: Any, context: Any) -> None:
    study, _, page, _ = start(make, serve, context, items=3)
    page.keyboard.press("4")
    page.keyboard.press("j")
    notice = page.locator("#notice", has_text="thrown away")
    notice.get_by_text("No, keep what I entered").click()
    assert stored_answers(study) == []
    assert page.locator("input:checked").count() == 1
    page.keyboard.press("j")
    notice.get_by_text("Yes, I cannot judge it").click()
    wait_until_saved(page, 1)
    assert stored_answers(study) == [{"cannot_judge": True}]


def test_forward_after_back_and_the_new_item_has_the_focus(make: Make, serve: Any, context: Any) -> None:
    _, _, page, _ = start(make, serve, context, items=5)
    rate(page)
    wait_for_item(page)
    assert page.evaluate("() => document.activeElement.id") == "item-title"
    assert "Item 2" in page.locator("#announce").inner_text()
    second = page.locator(".sentence").first.inner_text()
    page.keyboard.press("3")
    page.keyboard.press("b")
    page.get_by_text("You answered this item before").wait_for()
    wait_for_item(page)
    page.keyboard.press(".")
    wait_for_item(page)
    assert page.locator(".sentence").first.inner_text() == second
    assert page.locator("input:checked").count() == 1, "with what was entered"


def test_blocked_storage_and_a_wrong_clock_are_said(make: Make, serve: Any, context: Any) -> None:
    context.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('no', 'QuotaExceededError'); };"
        "const now = Date.now; Date.now = () => now() + 3600e3;"
    )
    study, _, page, _ = start(make, serve, context, items=3)
    page.locator("#warning", has_text="minutes off").wait_for()
    page.locator("#warning", has_text="storage is full").wait_for()
    rate(page)
    wait_until_saved(page, 1)
    assert len(stored_answers(study)) == 1


@pytest.mark.parametrize("width", [320, 360, 640, 700, 900, 1100, 1400])
def test_the_points_of_a_scale_stand_in_one_row_equally_wide(make: Make, serve: Any, context: Any, width: int) -> None:
    _, _, page, _ = start(make, serve, context, items=2)
    page.set_viewport_size({"width": width, "height": 800})
    for row in page.locator(".points").all():
        boxes = [label.bounding_box() for label in row.locator("label").all()]
        assert len({round(box["y"]) for box in boxes}) == 1, "one row"
        assert max(box["width"] for box in boxes) - min(box["width"] for box in boxes) < 1
        assert min(box["width"] for box in boxes) >= 24
    for end in page.locator(".ends span").all():
        assert end.bounding_box()["width"] > 20
        assert end.is_visible()


def test_a_slider_has_no_thumb_before_it_is_touched_and_scrolling_is_no_answer(
    make: Make, serve: Any, chromium: Any
) -> None:
    study = make(rating_project(protocol="direct-assessment"), simple_items(2))
    server = serve(study)
    phone = chromium.new_context(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    page = phone.new_page()
    join(page, server.url, study.link())
    wait_for_item(page)
    slider = page.locator("input[type=range]").first
    assert "untouched" in slider.get_attribute("class")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    x, y = box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2
    touch = phone.new_cdp_session(page)
    touch.send("Input.synthesizeScrollGesture", {"x": x, "y": y, "yDistance": -200, "gestureSourceType": "touch"})
    page.wait_for_timeout(200)
    assert "untouched" in slider.get_attribute("class"), "a scroll is not an answer"
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
    assert "untouched" not in slider.get_attribute("class")
    assert int(page.locator(".slide output").first.inner_text()) == pytest.approx(80, abs=5)
    phone.close()
