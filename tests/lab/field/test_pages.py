"""The pages of the field in a browser: accessible, without horizontal scrolling, in any theme or width."""

from __future__ import annotations

from typing import Any

import pytest

import browser
from plainly_lab.field_site.build import FieldSite

pytestmark = pytest.mark.system
PAGES = ("index.html", "papers.html", "set-hsplit-first70.html", "metric-fkgl.html", "system-ACCESS.html")


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (360, "dark")])
def test_pages_are_accessible_and_fit(large_site: FieldSite, chromium: Any, width: int, theme: str) -> None:
    axe = browser.axe_core().read_text(encoding="utf-8")
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(request.url))
    for name in PAGES:
        page.goto((large_site.folder / name).as_uri())
        assert not errors, name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls sideways"
        assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none", "no style"
        page.evaluate(axe)
        violations = page.evaluate("axe.run().then(r => r.violations.map(v => v.id + ' ' + v.nodes[0].html))")
        assert violations == [], name
        errors.clear()  # axe asks for style sheets, which the page's policy refuses
    context.close()


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_no_two_labels_of_a_plot_meet(large_site: FieldSite, chromium: Any, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    for name in ("papers.html", "set-hsplit-first70.html", "metric-fkgl.html"):
        page.goto((large_site.folder / name).as_uri())
        for choice in page.locator(".choices button").all() or [None]:
            if choice is not None:
                choice.click()
            count, overlaps = browser.labels_that_meet(page, width)
            assert count >= 9, name
            assert overlaps == [], name
    page.close()


def test_a_row_of_a_plot_leads_to_its_system_and_tells_its_signature(large_site: FieldSite, chromium: Any) -> None:
    page = chromium.new_page()
    page.goto((large_site.folder / "set-pwkp-test.html").as_uri())
    best = large_site.field.sets[1].standings["sari"].systems[0]
    row = page.locator(".picture .strip").first
    row.hover()
    assert best.signature in page.locator("#tip").inner_text()
    row.click()
    assert page.locator("h1").inner_text() == best.system
    page.close()


def test_tables_sort_and_the_theme_turns(large_site: FieldSite, chromium: Any) -> None:
    page = chromium.new_page()
    page.goto((large_site.folder / "set-pwkp-test.html").as_uri())
    page.click("thead th:nth-child(3) button")
    values = page.eval_on_selector_all("tbody tr td:nth-child(3)", "cells => cells.map(c => Number(c.dataset.value))")
    assert values == sorted(values)  # FKGL: lower is better, so the lowest first
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.close()


def test_a_table_that_goes_on_to_the_right_shows_it(large_site: FieldSite, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 360, "height": 900})
    page.goto((large_site.folder / "set-hsplit-first70.html").as_uri())
    frame = page.locator(".scroll").first
    assert frame.evaluate("frame => frame.scrollWidth > frame.clientWidth"), "too wide for this screen"
    page.wait_for_selector(".scroll.more")
    assert "gradient" in frame.evaluate("frame => getComputedStyle(frame).maskImage")
    frame.evaluate("frame => { frame.scrollLeft = frame.scrollWidth; }")
    page.wait_for_function("!document.querySelector('.scroll').classList.contains('more')")
    page.close()
