"""``plainly gate --report``: the page says what the gate found, and leads to the texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plainly import data
from plainly.cli import main

pytestmark = pytest.mark.system


def test_findings_stand_on_the_page_with_links_to_the_items(
    open_page: Any, axe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evalset, outputs = data.demo()
    texts = [f"Certainly! {text}" if place == 17 else text for place, text in enumerate(outputs["editor"])]
    for name, lines in (("src", evalset.sources), ("mine", texts)):
        Path(f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rules = ["--preset", "plain", "--require", "fkgl <= 2"]
    assert main(["gate", "--source", "src.txt", "mine.txt", *rules, "--report", "gate.html"]) == 1
    page = open_page(tmp_path / "gate.html")
    first = page.locator("main *").evaluate_all("all => all.map((e) => e.tagName).find((tag) => tag[0] === 'H')")
    assert first == "H1"
    assert page.locator("h1").inner_text() == "FAIL"
    assert "fkgl <= 2 fails" in page.locator(".decision").inner_text()
    assert "Certainly!" in page.locator(".decision .found").inner_text()
    row = page.locator("#gate .texts tbody tr").first
    assert "preamble" in row.inner_text()
    row.locator("a").click()
    page.wait_for_function("document.querySelector('#detail h3').textContent.startsWith('Item 18')")
    assert "plainly gate --source src.txt" in page.locator("#paper").inner_text()
    page.evaluate(axe)
    violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"][:160]) for rule in violations] == []
