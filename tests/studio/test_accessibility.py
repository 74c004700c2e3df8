"""WCAG 2.2 AA on every page, at 360 px and at 200 % zoom, in both themes: axe finds nothing, targets are large.

axe-core is fetched from the npm registry into a cache the first time; it is not part of the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
from plainly_studio.creation import make_item
from plainly_studio.project import Project, parse_project
from plainly_studio.store import Store
from studio.conftest import Make, Server, Study, fill, four, free_port, join, rater, rating_project, simple_items

pytestmark = pytest.mark.system

VIEWS = {
    "phone": ({"width": 360, "height": 740}, 1),
    "zoomed": ({"width": 640, "height": 400}, 2),
    "wide": ({"width": 1400, "height": 900}, 1),
}
EVERYDAY = [("phone", "light"), ("zoomed", "dark")]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SMALL = """() => [...document.querySelectorAll("button, a, input, select, textarea, summary, [role=button]")]
  .filter((one) => one.type !== "hidden" && !one.closest("[hidden]") && !one.classList.contains("skip"))
  .map((one) => [one.outerHTML.slice(0, 90), one.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.width < 24 || box.height < 24))
  .map(([html, box]) => `${html} ${box.width.toFixed(1)}x${box.height.toFixed(1)}`)"""


@pytest.fixture(scope="session")
def axe() -> Path:
    return browser.axe_core()


Look = Callable[[Any, str], None]


@pytest.fixture(
    params=[
        pytest.param((view, theme), marks=() if (view, theme) in EVERYDAY else pytest.mark.long, id=f"{view}-{theme}")
        for view in VIEWS
        for theme in ("light", "dark")
    ]
)
def opened(request: Any, chromium: Any, axe: Path) -> Iterator[tuple[Any, Look]]:
    view, theme = request.param
    size, scale = VIEWS[view]
    context = chromium.new_context(viewport=size, device_scale_factor=scale, color_scheme=theme)
    context.set_default_timeout(10_000)
    context.add_init_script(path=str(axe))

    def look(page: Any, name: str) -> None:
        page.wait_for_timeout(150)
        if pictures := os.environ.get("PLAINLY_SCREENSHOTS"):
            page.screenshot(path=f"{pictures}/{name}-{view}-{theme}.png", full_page=True)
        assert page.evaluate("() => document.documentElement.dataset.theme") == theme
        violations = page.evaluate(
            "(tags) => axe.run({runOnly: tags}).then((one) => one.violations.flatMap((violation) => "
            "violation.nodes.map((node) => `${violation.id}: ${node.html.slice(0, 120)} ${node.failureSummary}`)))",
            TAGS,
        )
        assert violations == [], name
        assert page.evaluate(SMALL) == [], name
        width = page.evaluate("() => [document.scrollingElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1], f"{name} scrolls sideways"

    yield context, look
    context.close()


@pytest.fixture(scope="module")
def studios(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Study, Server]]]:
    """One running project of each kind, for all views."""
    pair = make_item(
        "The committee was subsequently dissolved by the angry mayor of the town.",
        [("s", "The mayor then closed the group. He was angry.")],
        name="1",
    )
    versions = make_item("A source.", [(f"s{at}", f"Version number {at} is here.") for at in range(4)], name="1")
    many = {"overlap": 50, "ahead": 10}
    kinds: dict[str, tuple[Project, list[dict[str, Any]]]] = {
        "rating": (
            rating_project(consent="We store your answers under a random id.", assignment=many),
            simple_items(6),
        ),
        "slider": (rating_project(protocol="direct-assessment", assignment=many), simple_items(2)),
        "operations": (parse_project({"name": "Operations", "task": "operations", "assignment": many}), [pair]),
        "ranking": (
            parse_project(
                {"name": "Ranking", "task": "ranking", "assignment": many, "ranking": {"method": "best-worst"}}
            ),
            [versions],
        ),
    }
    studies: dict[str, tuple[Study, Server]] = {}
    for name, (project, items) in kinds.items():
        file = tmp_path_factory.mktemp(name) / "project.toml"
        where = f"sqlite:///{file.with_suffix('.db')}"
        store = Store(where, create=True)
        study = Study(store, project, file, where, fill(store, project, items))
        studies[name] = (study, Server(file, where, free_port()).start())
    for value in (2, 3, 5):
        one = rater(studies["rating"][0])
        for at, item in enumerate(one.claim(10)["items"]):
            one.answer(item, four(max(1, min(5, value - at % 2))))
    yield studies
    for study, server in studies.values():
        server.stop()
        study.store.close()


def test_rating_pages(studios: Any, opened: Any) -> None:
    context, look = opened
    study, server = studios["rating"]
    page = context.new_page()
    page.goto(server.url)
    look(page, "welcome")
    page.goto(f"{server.url}/nothing")
    look(page, "error")
    page.goto(f"{server.url}/join/{study.link()}")
    look(page, "join")
    join(page, server.url, study.link())
    page.locator(".item[data-settled]").wait_for()
    page.keyboard.press("3")
    look(page, "rating")
    page.keyboard.press("Enter")
    look(page, "rating-blocked")
    page.click("#keys-button")
    look(page, "keys")
    page.click("#keys-close")
    page.click("#leave-button")
    look(page, "leave")
    page.click("#leave-stop")
    page.locator("#end").wait_for()
    look(page, "end")


def test_slider_operations_and_ranking_pages(studios: Any, opened: Any) -> None:
    context, look = opened
    for name in ("slider", "operations", "ranking"):
        study, server = studios[name]
        page = context.new_page()
        join(page, server.url, study.link())
        page.locator(".item[data-settled]").wait_for()
        if name == "operations":
            page.locator("[data-side=source][data-token='3']").click()
            page.keyboard.press("m")
            page.locator("[data-side=source][data-token='4']").click()
            page.locator("[data-side=output][data-token='3']").click()
        else:
            page.keyboard.press("1")
        look(page, name)
        page.close()


def test_owner_pages(studios: Any, opened: Any) -> None:
    context, look = opened
    study, server = studios["rating"]
    page = context.new_page()
    join(page, server.url, study.link("owner", once=True))
    page.locator("#live[data-ready]").wait_for()
    look(page, "live")
    page.goto(f"{server.url}/owner/people")
    page.click("button.primary")
    assert f"{server.url}/join/" in page.locator("#link").inner_text()
    look(page, "people")
    page.locator("details summary").first.click()
    look(page, "people-act")
    for name in ("answers", "disagreements", "trail", "settings"):
        assert page.goto(f"{server.url}/owner/{name}").status == 200
        look(page, name)
    page.goto(f"{server.url}/preview")
    page.locator(".item[data-settled]").wait_for()
    look(page, "preview")


def test_labels_and_states_do_not_depend_on_colour(make: Make, serve: Callable[..., Server], context: Any) -> None:
    operations = parse_project({"name": "Operations", "task": "operations"})
    study = make(operations, [make_item("One two three.", [("s", "One three.")], name="1")])
    page = context.new_page()
    join(page, serve(study).url, study.link())
    page.locator(".item[data-settled]").wait_for()
    word = page.locator("[data-side=source][data-token='1']")
    word.click()
    assert word.get_attribute("aria-pressed") == "true"
    page.keyboard.press("m")
    assert word.locator("sup").text_content() == "1", "the group's number stands at its words"
    assert "Delete a modifier" in str(word.locator(".hidden").text_content()), "and its label is read out with them"
    assert "Delete a modifier" in page.locator(".groups li").inner_text()
