"""The page in a real browser: it opens from disk, asks the network for nothing, and does what its controls say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import plainly
from plainly.reporting.report import Report

pytestmark = pytest.mark.system

COLUMN = "rows => rows.map(row => row.cells[{}].dataset.value)"
ROWS = "#table tbody tr"


def _ids(page: Any) -> list[str]:
    """The ids of the rows that the list shows, from the top."""
    ids: list[str] = page.eval_on_selector_all(
        ".option",
        "rows => rows.sort((a, b) => a.offsetTop - b.offsetTop).map(r => r.querySelector('span').textContent)",
    )
    return ids


def test_opens_from_disk_without_network_or_errors(open_page: Any, demo_page: Path) -> None:
    page = open_page(demo_page)
    assert page.title() == "The demo · plainly report"
    assert page.locator("h1").inner_text() == "The demo"
    assert page.locator("figure.plot").count() >= 15
    # The picture comes first: above it only a title, and it is seen without scrolling.
    box = page.locator("#plot-scores-sari").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 700
    assert 1 <= page.locator(".headline .sentences li").count() <= 5
    assert page.locator("nav a").count() <= 8
    targets = page.locator("nav a").evaluate_all("links => links.map((link) => link.getAttribute('href').slice(1))")
    assert all(page.locator(f"#{target}").count() == 1 for target in targets)
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") == 1400


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_axe_finds_nothing(open_page: Any, demo_page: Path, axe: str, width: int, theme: str) -> None:
    page = open_page(demo_page, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") == width, "the page scrolls sideways"
    page.evaluate(axe)
    for view in ("changes", "operations", "facts"):
        page.locator(f"[name=view][value={view}]").check()
        violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        faults = [(rule["id"], [node["html"][:160] for node in rule["nodes"][:3]]) for rule in violations]
        assert faults == [], view


def test_the_table_sorts_by_any_column(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    bleu = page.get_by_role("columnheader", name="BLEU").get_by_role("button")
    bleu.click()
    overview = demo.overview
    expected = sorted(overview.systems, key=lambda system: -overview.value(system, "bleu"))
    assert page.eval_on_selector_all(ROWS, COLUMN.format(0)) == expected
    assert page.locator("th[aria-sort]").count() == 1
    bleu.click()
    assert page.eval_on_selector_all(ROWS, COLUMN.format(0)) == expected[::-1]
    # Where lower is better the best comes first at the first click, and the keyboard works as the mouse does.
    page.get_by_role("columnheader", name="FKGL").get_by_role("button").press("Enter")
    assert page.eval_on_selector_all(ROWS, COLUMN.format(0))[0] == overview.evaluation.ranking("fkgl")[0]
    page.get_by_role("columnheader", name="System").get_by_role("button").click()
    assert page.eval_on_selector_all(ROWS, COLUMN.format(0)) == sorted(overview.systems)


def test_best_is_marked_and_parts_can_be_shown(open_page: Any, demo_page: Path) -> None:
    page = open_page(demo_page)
    assert page.locator("#table .mark.best").count() == 3  # edits has no better side
    assert page.locator("td.part").first.is_hidden()
    page.locator("#parts").click()
    assert page.locator("td.part").first.is_visible()
    assert page.locator("#parts").get_attribute("aria-pressed") == "true"


def test_search_finds_words_of_source_outputs_and_references(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    evalset, outputs = demo.overview.evalset, demo.overview.outputs
    for words in ("tensolane", "never be given", "e.g. ibuprofen"):
        page.locator("#search").fill(words)
        expected = [
            identifier
            for i, identifier in enumerate(evalset.ids)
            if all(
                word
                in "\n".join(
                    [identifier, evalset.sources[i], *(o[i] for o in outputs.values()), *evalset.references[i]]
                ).lower()
                for word in words.split()
            )
        ]
        assert expected
        assert _ids(page)[:6] == expected[:6]
        assert page.locator("#count").inner_text() == f"{len(expected)} of 72 items"
    page.locator("#search").fill("zzz")
    assert page.locator("#count").inner_text() == "0 of 72 items"
    assert page.locator("#detail .empty").count() == 1


def test_filters_and_orders(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    overview = demo.overview
    page.locator("#system").select_option(label="noisy")
    page.get_by_label("that are split").check()
    split = int(overview.split["noisy"].sum())
    assert page.locator("#count").inner_text() == f"{split} of 72 items"
    page.get_by_label("that are split").uncheck()
    page.get_by_label("that are copied").check()
    assert page.locator("#count").inner_text() == f"{int(overview.copied['noisy'].sum())} of 72 items"
    page.get_by_label("that are copied").uncheck()
    for box in ("where metrics disagree", "where systems differ most"):
        page.get_by_label(box).check()
        count = int(page.locator("#count").inner_text().split()[0])
        assert 0 < count <= 20, box
        page.get_by_label(box).uncheck()

    segments = overview.evaluation["noisy"]["sari"].segments["sari"]
    ranking = [overview.evalset.ids[i] for i in segments.argsort(kind="stable")]
    page.locator("#order").select_option("low")
    assert _ids(page)[:5] == ranking[:5]
    page.locator("#order").select_option("high")
    assert _ids(page)[0] == ranking[-1]
    page.locator("#order").select_option("difference")
    spread = {
        identifier: max(values) - min(values)
        for i, identifier in enumerate(overview.evalset.ids)
        if (values := [overview.evaluation[s]["sari"].segments["sari"][i] for s in overview.systems])
    }
    assert spread[_ids(page)[0]] == pytest.approx(max(spread.values()), rel=1e-3)


def test_the_keyboard_goes_everywhere(open_page: Any, demo_page: Path) -> None:
    page = open_page(demo_page)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("the")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "list"
    first = page.locator("#detail h3").inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator("#detail h3").inner_text() != first
    option = page.locator("#list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{option}").get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    assert page.get_by_role("button", name="Next").is_disabled()
    page.keyboard.press("Home")
    assert page.locator("#detail h3").inner_text() == first
    page.keyboard.press("PageDown")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"


def test_differences_are_shown_word_by_word(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    evalset, outputs = demo.overview.evalset, demo.overview.outputs
    blocks = page.locator("#detail > .text-block:not(.source)")
    for at, system in enumerate(demo.overview.systems):
        text = blocks.nth(at).locator(".prose")
        # What is not inserted is the source, what is not deleted is the output.
        parts = text.evaluate("e => [...e.childNodes].map(n => [n.nodeName, n.textContent])")
        before = "".join(content for kind, content in parts if kind != "INS")
        after = "".join(content for kind, content in parts if kind != "DEL")
        assert before.split() == evalset.sources[0].split(), system
        assert after.split() == outputs[system][0].split(), system
    page.get_by_label("Show changes against").select_option("r0")
    parts = blocks.first.locator(".prose").evaluate("e => [...e.childNodes].map(n => [n.nodeName, n.textContent])")
    assert "".join(content for kind, content in parts if kind != "INS").split() == evalset.references[0][0].split()


def test_operations_are_spans_with_their_names(open_page: Any, demo_page: Path, demo: Report) -> None:
    page = open_page(demo_page)
    page.locator("[name=view][value=operations]").check()
    assert page.locator(".legend .op sup").count() >= 3
    spans = page.locator("#detail > .text-block:not(.source) .prose .op")
    groups = demo.overview.operations
    assert groups is not None
    expected = sum(len(group.output) for system in demo.overview.systems for group in groups.groups[system][0])
    assert spans.count() == expected > 0
    assert spans.first.locator("sup").inner_text() in groups.labels
    lost = [group for system in demo.overview.systems for group in groups.groups[system][0] if not group.output]
    assert page.locator("#detail .gone .op").count() == len(lost) > 0


def test_facts_are_marked_in_both_texts_and_can_be_filtered(open_page: Any, demo_page: Path, demo: Report) -> None:
    checks = demo.overview.facts
    assert checks is not None
    page = open_page(demo_page)
    assert page.locator("#facts table tbody tr").count() == len(demo.overview.systems)
    page.get_by_label("with a fact that may be wrong").check()
    wrong = [
        item
        for item in range(len(demo.overview.evalset))
        if not all(checks.by_system[system][item].faithful for system in demo.overview.systems)
    ]
    assert page.locator("#count").inner_text().startswith(f"{len(wrong)} of ")
    page.locator("[name=view][value=facts]").check()
    by_system = [
        [
            finding
            for finding in checks.by_system[system][wrong[0]].findings
            if finding.sure >= checks.least and finding.effect != "harmless"
        ]
        for system in demo.overview.systems
    ]
    findings = [finding for own in by_system for finding in own]
    messages = page.locator("#detail .findings li").all_inner_texts()
    assert len(messages) == len(findings) > 0
    assert findings[0].message in messages[0]
    # In the source, the marks are those of the chosen system, which is the first.
    in_source, in_outputs = (finding.source_words for finding in by_system[0]), (each.output_words for each in findings)
    for block, all_words in ((".source", in_source), (":not(.source)", in_outputs)):
        marks = page.locator(f"#detail > .text-block{block} .prose .op").all_inner_texts()
        starts = {words.split(" … ")[0] for words in all_words if words}
        assert all(any(mark.startswith(start) for mark in marks) for start in starts)


def test_the_theme_can_be_chosen(open_page: Any, demo_page: Path) -> None:
    page = open_page(demo_page, theme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.locator("#theme").click()
    dark = page.evaluate(colour)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    line = page.locator(".strip .who").first.evaluate("e => getComputedStyle(e).fill")
    assert line not in ("rgb(27, 31, 36)", "rgb(0, 0, 0)"), "plots keep their light colours in the dark"


def test_prints_without_controls(open_page: Any, demo_page: Path) -> None:
    page = open_page(demo_page, theme="dark")
    page.emulate_media(media="print")
    assert page.locator(".controls").is_hidden()
    assert page.locator(".top").is_hidden()
    assert page.locator("#table").is_visible()
    assert page.locator("#plot-scores-fkgl").is_visible(), "a printed page cannot offer a choice of metrics"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    # Browsers may leave colours out on paper unless they are told not to.
    assert (
        page.locator("#plot-scores-sari .mark").first.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"
    )
    assert len(page.pdf()) > 50_000


def test_a_plot_can_be_saved(open_page: Any, demo_page: Path) -> None:
    page = open_page(demo_page)
    figure = page.locator("#plot-scores-sari")
    figure.hover()
    with page.expect_download() as waiting:
        figure.locator(".save").click()
    svg = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert waiting.value.suggested_filename == "scores-sari.svg"
    assert "editor" in svg
    assert svg.startswith("<svg")


def test_documents_are_shown_side_by_side(open_page: Any, tmp_path: Path) -> None:
    source = "The old bridge was closed in 1999. Two people were hurt. Engineers rebuilt it with steel."
    output = "The bridge was closed in 1999. Engineers built it again. They used steel. Come and see it!"
    report = plainly.report(
        sources=[source, "A short one."], outputs={"A": [output, "Short."], "B": [source, "One."]}, metrics=["fkgl"],
        labeller=None, audit=False,
    )  # fmt: skip
    page = open_page(report.write(tmp_path / "documents.html"))
    page.locator("[name=view][value=columns]").check()
    rows = page.locator(".text-block").nth(1).locator(".aligned .link")
    texts = rows.evaluate_all("rows => rows.map(row => [...row.children].map(cell => cell.textContent))")
    assert ["Two people were hurt.", "(dropped)", "dropped"] in texts
    assert any(left.startswith("The old bridge") and right.startswith("The bridge") for left, right, _ in texts)
    assert {what for _, _, what in texts} <= {"rephrased", "dropped", "split", "added"}
    page.get_by_role("button", name="Next").click()
    assert page.locator("[name=view][value=columns]").count() == 0
