"""Doubtful outputs are stated on the first screen, once, by system, with links to their items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plainly
from plainly import data

pytestmark = pytest.mark.system

REFUSAL = "I'm sorry, but I can't help with that."
OPENING = "Sure! Here is a simpler version: "
Spoil = Callable[[int, str, str], str | None]
# By kind: what becomes of an output, and of how many of the 72.
CASES: dict[str, tuple[Spoil, int]] = {
    "missing": (lambda item, text, reference: None if item < 30 else text, 30),
    "reference": (lambda item, text, reference: reference if item < 30 else f"{text} So.", 26),  # 4 are the source
    "refused": (lambda item, text, reference: REFUSAL if item % 6 == 0 else text, 12),
    "wrapped": (lambda item, text, reference: f"{OPENING}{text}" if item % 3 == 0 else text, 24),
    "empty": (lambda item, text, reference: "" if item < 4 else text, 4),
}


@pytest.mark.parametrize("kind", CASES)
def test_the_first_screen_states_each_doubt_once_with_its_items(
    kind: str, open_page: Any, axe: str, tmp_path: Path
) -> None:
    evalset, outputs = data.demo()
    spoil, count = CASES[kind]
    rows = zip(outputs["noisy"], evalset.references, strict=True)
    doubtful = [spoil(item, text, row[0]) for item, (text, row) in enumerate(rows)]
    report = plainly.report(
        evalset=evalset,
        outputs={"editor": outputs["editor"], "doubtful": doubtful, "copy": outputs["copy"]},
        metrics=["sari", "bleu", "fkgl"],
        incomplete="skip",
        out=tmp_path / "page.html",
    )
    for width in (360, 1400):
        page = open_page(report.pages[0], width=width)
        banner = page.locator(".banner")
        box = banner.bounding_box()
        assert box["y"] + box["height"] < 900, "the banner is on the first screen, above the picture"
        assert box["y"] < page.locator(".headline").bounding_box()["y"]
        (stated,) = banner.locator("dt").all_inner_texts()
        assert stated.startswith(f"{count} outputs are ")
        (link,) = banner.locator("a").all()
        assert link.inner_text() == f"doubtful {count} of 72"
    # What the banner states is stated nowhere else.
    assert page.locator("#remarks dt").filter(has_text="doubtful").count() == 0
    text = page.locator("main").inner_text().replace(banner.inner_text(), "")
    assert f"{count} outputs" not in text
    assert "no output for" not in text
    link.click()
    page.wait_for_function("document.querySelector('#count').textContent.includes(' of 72 items')")
    assert page.locator("#count").inner_text() == f"{count} of 72 items"
    block = page.locator(".text-block.here")
    words = {"missing": "No output.", "refused": "sorry", "wrapped": "Sure!", "empty": "(empty)"}.get(kind, "doubtful")
    assert words in block.inner_text()
    if kind == "reference":
        verdict = page.locator(".picture .shown .verdict").inner_text()
        assert "without doubtful, which copies references" in verdict
        assert page.locator("#plot-scores-sari .strip").last.get_attribute("data-name") == "doubtful"
    page.evaluate(axe)
    violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"][:160]) for rule in violations] == []


def test_sound_outputs_have_no_banner(open_page: Any, demo_page: Path) -> None:
    assert open_page(demo_page).locator(".banner").count() == 0
