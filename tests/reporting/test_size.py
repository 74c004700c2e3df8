"""Ten systems on ASSET, and ten thousand items: a small file, and lists that show what is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import plainly
from plainly import data
from plainly.core.evalset import EvalSet

pytestmark = pytest.mark.system

FILTER = """async ([id, value]) => {
  const control = document.getElementById(id);
  control.value = value;
  control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input"));
  return document.getElementById("count").innerText;
}"""


def test_ten_systems_on_asset(mirror: Path, open_page: Any, tmp_path: Path) -> None:
    evalset = data.load("asset/test")
    outputs = {system: data.outputs("asset/test", system) for system in data.system_names("asset/test")[:10]}
    metrics = ["sari", "bleu", "fkgl"]
    path = plainly.report(evalset=evalset, outputs=outputs, metrics=metrics, out=tmp_path / "asset.html").pages[0]
    assert path.stat().st_size <= 1_500_000
    page = open_page(path)
    counts = {word: page.evaluate(FILTER, ["search", word]) for word in ("film", "", "zyzzyva")}
    number = {word: int(count.split()[0]) for word, count in counts.items()}
    texts = zip(evalset.sources, evalset.references, zip(*outputs.values(), strict=True), strict=True)
    holding = sum("film" in " ".join([source, *row, *written]).lower() for source, row, written in texts)
    assert number == {"film": holding, "": len(evalset), "zyzzyva": 0}


def test_five_systems_on_asset_are_a_short_page_that_answers_everything(
    mirror: Path, open_page: Any, tmp_path: Path
) -> None:
    evalset = data.load("asset/test")
    outputs = {system: data.outputs("asset/test", system) for system in data.system_names("asset/test")[:5]}
    report = plainly.report(evalset=evalset, outputs=outputs, metrics=["sari", "bleu", "fkgl"])
    page = open_page(report.write(tmp_path / "asset.html"))
    assert page.evaluate("document.documentElement.scrollHeight") < 8_000
    topics = page.locator("details.topic").evaluate_all("all => all.map((topic) => [topic.id, topic.open])")
    answers = ("tradeoff", "spread", "length", "habits", "operations", "facts", "tricks", "evidence")
    assert {name for name, is_open in topics if is_open} >= set(answers)
    assert page.locator("#table tbody tr").count() == 5
    assert page.locator("details.matrix").count() == 3


def test_ten_thousand_items(open_page: Any, tmp_path: Path) -> None:
    small, written = data.demo()
    n = 10_000
    evalset = EvalSet.of(
        [small.sources[i % len(small)] for i in range(n)],
        references=[small.references[i % len(small)] for i in range(n)],
    )
    outputs = {s: [written[s][i % len(small)] for i in range(n)] for s in ("editor", "noisy")}
    fast = {"sampling": plainly.Sampling(resamples=100), "labeller": None, "audit": False}
    report = plainly.report(evalset=evalset, outputs=outputs, metrics=["fkgl"], **fast)  # type: ignore[arg-type]
    page = open_page(report.write(tmp_path / "large.html"))
    assert page.locator("#count").inner_text() == "10,000 items"
    assert page.locator(".option").count() < 60, "the list holds only what is seen"
    page.locator("#list").focus()
    page.keyboard.press("End")
    assert page.locator("#detail h3").inner_text() == "Item 10000"
    assert page.locator("[aria-selected=true]").is_visible()
    holding = sum("breakfast" in " ".join([evalset.sources[i], *evalset.references[i], outputs["editor"][i],
                  outputs["noisy"][i]]).lower() for i in range(n))  # fmt: skip
    assert page.evaluate(FILTER, ["search", "breakfast"]).startswith(f"{holding:,} ")
