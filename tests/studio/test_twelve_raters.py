"""A paid study that twelve people of different character play in a browser.

Each of them must end with the right decision about the pay, in the right place of the analysis, and with a page that
told the truth.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import plainly_studio
from plainly_studio.creation import make_item
from plainly_studio.project import parse_project
from studio.conftest import Make, Study

pytestmark = [pytest.mark.system, pytest.mark.long]

OWN, CHECKS, PRACTICE = 6, 3, 1
ALL = OWN + CHECKS + PRACTICE
SCALES = ("simplicity", "meaning")
EXPECTED = {"simplicity": 5, "meaning": 1}
FINISHERS = ("good", "careless", "random", "straight", "copier", "phone", "tabs", "slow", "keyboard", "reader")
Answers = Callable[[str], tuple[int, int]]


def make_study(make: Make) -> Study:
    """Ten people judge 6 of 20 items each, with 3 checks and a practice item."""
    scales = [{"name": name, "question": f"How is the {name}?", "minimum": 1, "maximum": 5} for name in SCALES]
    project = parse_project(
        {
            "name": "Twelve people",
            "scales": scales,
            "consent": "We keep your answers.",
            "assignment": {"overlap": 3, "per_rater": OWN, "early": 0, "ahead": 2},
            "quality": {"check_every": 2},
            "exclusion": {"checks_missed": 2, "straight_lining": 0.9},
            "crowd": {"require_id": True, "completion_url": "https://platform.example/?cc={code}"},
        }
    )
    items = [make_item(f"Hard sentence {at}.", [("A", f"Easy one {at}.")], name=str(at)) for at in range(20)]
    marks: dict[str, Any] = {"expected": {"values": EXPECTED}}
    texts = {"check": [f"Checking sentence {at}." for at in range(CHECKS)], "training": ["Practice sentence 0."]}
    for kind, sources in texts.items():
        extra = {"feedback": "It is easy and says something else."} if kind == "training" else {}
        items += [make_item(text, [("A", f"{text} Easy.")], name=text, kind=kind, **marks, **extra) for text in sources]
    return make(project, items)


def read_carefully(text: str) -> tuple[int, int]:
    """The answers of people who read: those that are expected, or what the sentence deserves."""
    number = int(re.findall(r"\d+", text)[0])
    return (1 + number % 5, 1 + (number + 2) % 5) if text.startswith("Hard") else (5, 1)


def answer_carelessly(text: str) -> tuple[int, int]:
    return 1 + len(text) % 4, 4 if text.startswith("Hard") else 5


def answer_at_random(text: str) -> tuple[int, int]:
    rng = random.Random(f"7{text}")
    return rng.randint(1, 5), rng.randint(1, 5)


def press_keys(page: Any, values: tuple[int, int]) -> None:
    for key in (*map(str, values), "Enter"):
        page.keyboard.press(key)


def tap(page: Any, values: tuple[int, int]) -> None:
    for at, value in enumerate(values):
        page.locator(f"input[name=scale-{at}][value='{value}']").locator("xpath=..").tap()
    page.locator("#submit").tap()


def use_roles(page: Any, values: tuple[int, int]) -> None:
    """Answer by roles and names only, as a screen reader offers them."""
    for name, value in zip(SCALES, values, strict=True):
        group = page.get_by_role("group", name=f"How is the {name}?")
        group.get_by_role("radio", name=str(value), exact=True).check()
    page.get_by_role("button", name="Save and go on").click()


def work(page: Any, answers: Answers, *, how: Callable[..., None] = press_keys, most: int = 99) -> int:
    """Answer what the page shows until there is nothing left, or so many times; return how often."""
    for done in range(most):
        page.locator(".item[data-settled], #end, #feedback").first.wait_for()
        if page.locator("#feedback").count():
            page.locator("#feedback button").press("Enter")
            page.locator(".item[data-settled]").wait_for()
        if page.locator("#end").count():
            return done
        item = page.locator(".item").element_handle()
        how(page, answers(page.locator(".sentence").first.inner_text()))
        item.wait_for_element_state("hidden")  # The next one may be there already.
    return most


class Crowd:
    """The platform: it sends people to the link, with their ids."""

    def __init__(self, chromium: Any, address: str) -> None:
        self.chromium, self.address = chromium, address
        self.contexts: list[Any] = []

    def browser(self, **options: Any) -> Any:
        context = self.chromium.new_context(**{"viewport": {"width": 1100, "height": 800}, **options})
        context.set_default_timeout(40_000)
        self.contexts.append(context)
        return context

    def url(self, name: str) -> str:
        return f"{self.address}?PROLIFIC_PID={name}&STUDY_ID=s&SESSION_ID=x{name}"

    def join(self, name: str, page: Any = None) -> Any:
        page = page or self.browser().new_page()
        page.goto(self.url(name))
        assert f"You will judge {ALL} items." in page.locator("#workload").inner_text()
        page.check("input[name=consent]")
        page.click("button.primary")
        return page

    def finish(self, page: Any, answered: int = ALL) -> str:
        """Check that the last page tells the truth, and return its code."""
        page.locator("#end[data-state=finished]").wait_for()
        assert f"You have answered {answered} items." in page.locator("#end").inner_text()
        code = str(page.locator("#code").inner_text())
        assert page.locator("#end a").get_attribute("href") == f"https://platform.example/?cc={code}"
        return code


@pytest.fixture
def study(make: Make) -> Study:
    return make_study(make)


@pytest.fixture
def crowd(study: Study, serve: Any, chromium: Any) -> Iterator[Crowd]:
    crowd = Crowd(chromium, f"{serve(study).url}/join/{study.link('crowd')}")
    yield crowd
    for context in crowd.contexts:
        context.close()


def test_twelve_people_are_treated_as_they_deserve(study: Study, crowd: Crowd) -> None:
    codes = {}
    # Four who press keys: good, careless, random, and always the same.
    for name, answers in (
        ("good", read_carefully),
        ("careless", answer_carelessly),
        ("random", answer_at_random),
        ("straight", lambda text: (3, 3)),
    ):
        page = crowd.join(name)
        assert work(page, answers) == ALL
        codes[name] = crowd.finish(page)
    # The copier gives what the good one gives, and hands in the same code: the owner's list has another one.
    page = crowd.join("copier")
    work(page, read_carefully)
    codes["copier"] = crowd.finish(page)
    codes["phone"] = quit_and_return_on_a_phone(crowd)
    codes["tabs"] = work_in_two_tabs(crowd)
    codes["slow"] = work_on_a_slow_network(crowd)
    codes["keyboard"] = work_without_a_mouse(crowd)
    codes["reader"] = work_by_roles(crowd)
    come_without_javascript(crowd)
    use_the_link_of_somebody_else(study, crowd)

    rows = {row["PROLIFIC_PID"]: row for row in read_list(study, "people.csv")}
    assert set(rows) == set(FINISHERS), "the two who never agreed left nothing behind"
    assert {name: row["code"] for name, row in rows.items()} == codes
    assert len(set(codes.values())) == len(FINISHERS), "a copied code is not one's own"
    for name, row in rows.items():
        assert (row["outcome"], row["decision"]) == ("complete", "approve"), name
        assert row["consented"] <= row["ended"], name
        assert int(row["promised"]) == OWN, name
        assert int(row["answers"]) == ALL, name
    assert [name for name, row in rows.items() if row["second_device"]] == ["phone"]
    approved = plainly_studio.export(study.file, "prolific-approve.csv", database=study.database)
    assert approved.decode().split() == list(FINISHERS)

    status = plainly_studio.status(study.file, database=study.database).json()
    pseudonyms = {row["rater"]: name for name, row in rows.items()}
    excluded = {pseudonyms[row["rater"]]: row["why"] for row in status["excluded"]}
    assert set(excluded) == {"careless", "random", "straight"}
    assert "checks_missed" in excluded["careless"]
    assert "checks_missed" in excluded["random"]
    assert "straight_lining: 6 of 6" in excluded["straight"]
    judgements = plainly_studio.judgements(study.file, database=study.database)
    for name in SCALES:
        ratings = judgements.ratings[name]
        assert {pseudonyms[rater] for rater in ratings.raters} == set(FINISHERS) - set(excluded)
        assert ratings.counts.sum() == OWN * (len(FINISHERS) - len(excluded))
    counts = [row.taken for row in study.query("SELECT taken FROM item WHERE kind = 'main'")]
    assert counts == [3] * 20, "every judgement was collected"


def quit_and_return_on_a_phone(crowd: Crowd) -> str:
    page = crowd.join("phone")
    work(page, read_carefully, most=4)
    page.locator("#saved", has_text="All 4 answers saved").wait_for()
    page.click("#leave-button")
    code = page.locator("#return-code").inner_text()
    page.context.close()
    small = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True}
    phone = crowd.browser(**small).new_page()
    phone.goto(crowd.url("phone"))
    assert "enter the code" in phone.locator("#workload").inner_text()
    phone.fill("input[name=code]", code)
    phone.tap("button.primary")
    phone.locator("#progress", has_text=f"4 of {ALL} answered").wait_for()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    assert work(phone, read_carefully, how=tap) == ALL - 4
    return crowd.finish(phone)


def work_in_two_tabs(crowd: Crowd) -> str:
    """One item is answered differently in both tabs: the second tab says so and keeps the first answer."""
    first = crowd.join("tabs")
    work(first, read_carefully, most=1)
    first.locator("#feedback button").press("Enter")
    first.locator(".item[data-settled]").wait_for()
    second = first.context.new_page()
    second.goto(first.url)
    second.locator(".item[data-settled]").wait_for()
    text, is_answered = second.locator(".sentence").first.inner_text(), False
    first.bring_to_front()
    while not is_answered:
        is_answered = text == first.locator(".sentence").first.inner_text()
        work(first, read_carefully, most=1)
        first.locator(".item[data-settled]").wait_for()
    first.locator("#saved[data-state=saved]").wait_for()
    second.bring_to_front()
    simplicity, meaning = read_carefully(text)
    work(second, lambda text: (simplicity, 1 + meaning % 5), most=1)
    second.locator("#notice", has_text="answered elsewhere").wait_for()
    assert text in second.locator("#notice").inner_text()
    second.get_by_role("button", name="Keep the saved answer").click()
    second.reload()
    work(second, read_carefully, most=2)
    second.locator("#saved[data-state=saved]").wait_for()
    first.bring_to_front()
    first.reload()
    work(first, read_carefully)
    return crowd.finish(first)


def work_on_a_slow_network(crowd: Crowd) -> str:
    """Requests are late or lost, and the tab is closed a quarter of a second after the last answer went out."""
    page = crowd.join("slow")
    rng = random.Random(3)

    def delay(route: Any) -> None:
        if rng.random() < 0.15:
            route.abort()
        else:
            page.wait_for_timeout(rng.randint(50, 300))
            route.continue_()

    page.route("**/api/**", delay)
    work(page, read_carefully, most=ALL - 1)
    page.locator(f"#saved:has-text('All {ALL - 1} answers saved')").wait_for()
    page.unroute_all(behavior="wait")
    work(page, read_carefully, most=1)
    page.wait_for_timeout(250)
    context = page.context
    page.close(run_before_unload=False)
    again = context.new_page()
    again.goto(crowd.url("slow"))
    assert "You have begun already" in again.locator("#workload").inner_text()
    again.click("button.primary")
    return crowd.finish(again)


def work_without_a_mouse(crowd: Crowd) -> str:
    page = crowd.browser().new_page()
    page.goto(crowd.url("keyboard"))

    def tab_to(selector: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.locator(f"{selector}:focus").count():
                return
        raise AssertionError(f"{selector} cannot be reached with Tab")

    tab_to("input[name=consent]")
    page.keyboard.press("Space")
    tab_to("button.primary")
    page.keyboard.press("Enter")

    def arrows(page: Any, values: tuple[int, int]) -> None:
        """Without single keys, as people work who turned them off: Tab, arrows and Space."""
        tab_to("input[name=scale-0]")
        for at, value in enumerate(values):
            page.keyboard.press("Space")
            for _ in range(value - 1):
                page.keyboard.press("ArrowRight")
            if at == 0:
                tab_to("input[name=scale-1]")
        tab_to("#submit")
        page.keyboard.press("Enter")

    work(page, read_carefully, how=arrows, most=3)
    assert work(page, read_carefully) == ALL - 3
    return crowd.finish(page)


def work_by_roles(crowd: Crowd) -> str:
    page = crowd.browser().new_page()
    page.goto(crowd.url("reader"))
    assert f"You will judge {ALL} items." in page.locator("main").aria_snapshot()
    page.get_by_role("checkbox", name="I have read this and agree").check()
    page.get_by_role("button", name="Start").click()
    page.locator(".item[data-settled]").wait_for()
    tree = page.locator("body").aria_snapshot()
    for part in (
        'heading "Item 1 of 10"', "status: ✓ Ready", 'group "How is the simplicity?"', 'radio "1"',
        'heading "Original"', 'button "Save and go on', "progressbar",
    ):  # fmt: skip
        assert part in tree, tree
    work(page, read_carefully, how=use_roles)
    code = crowd.finish(page)
    assert 'heading "All done, thank you"' in page.locator("main").aria_snapshot()
    assert page.locator("#end:focus").count(), "the end is read out"
    return code


def come_without_javascript(crowd: Crowd) -> None:
    """The first page says before the consent that nothing works; the person leaves."""
    page = crowd.browser(java_script_enabled=False).new_page()
    page.goto(crowd.url("bare"))
    content = page.locator("main").inner_text()
    warning, consent = content.index("needs JavaScript"), content.find("I have read this")
    assert consent < 0 or warning < consent


def use_the_link_of_somebody_else(study: Study, crowd: Crowd) -> None:
    """A friend's whole link opens nothing, and the link without an id is refused."""
    before = study.query("SELECT * FROM rater ORDER BY id")
    page = crowd.browser().new_page()
    page.goto(crowd.url("good"))
    assert "Somebody takes part with this id already" in page.locator("#workload").inner_text()
    page.fill("input[name=code]", "0000-0000-0000")
    page.click("button.primary")
    assert "does not belong to you" in page.locator(".notice").inner_text()
    assert page.goto(f"{crowd.address.partition('/join')[0]}/work").status == 401
    assert page.goto(crowd.address).status == 422
    assert "lacks your id" in page.locator("main").inner_text()
    assert study.query("SELECT * FROM rater ORDER BY id") == before


def read_list(study: Study, name: str) -> list[dict[str, str]]:
    content = plainly_studio.export(study.file, name, database=study.database).decode()
    return list(csv.DictReader(io.StringIO(content)))
