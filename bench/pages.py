"""How long pages take: a report on ten systems and ASSET, ten thousand items, and a studio from start to first answer.

    python bench/pages.py     (needs Chromium and playwright, and the public ASSET files, see docs/data.md)

The limit stands beside each figure. Figures are by the clock, so run it where nothing else runs; the time at
work is what the processor spent, which others do not lengthen as much.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does

from plainly import data, report
from plainly.core.evalset import EvalSet
from plainly.core.sampling import Sampling
from plainly.scoring.evaluate import evaluate

# From a change of a control to what the list shows, layout included.
FILTER = """async ([id, value]) => {
  const control = document.getElementById(id), start = performance.now();
  control.value = value;
  control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input"));
  void document.getElementById("list").offsetHeight;
  return performance.now() - start;
}"""
# To the middle of the list and back: until its rows are there.
SCROLL = """async () => {
  const list = document.getElementById("list"), start = performance.now();
  for (const to of [list.scrollHeight / 2, 0]) {
    list.scrollTop = to;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
  return (performance.now() - start) / 2;
}"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
PORT = 8899


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        place = Path(folder)
        evalset = data.load("asset/test")
        outputs = {system: data.outputs("asset/test", system) for system in data.system_names("asset/test")[:10]}
        evaluation = evaluate(evalset, outputs, ["sari", "bleu", "fkgl"])
        start, worked = time.perf_counter(), time.process_time()
        path = report(evaluation).write(place / "asset.html")
        print(f"10 systems × ASSET: made in {time.perf_counter() - start:.1f} s (limit 5), ", end="")
        print(f"{time.process_time() - worked:.1f} s of it at work, {path.stat().st_size / 1e6:.2f} MB (limit 3)")
        look(chromium, path, "10 systems × ASSET", ("film", "the"), limit=100)
        look(chromium, large(place), "2 systems × 10,000 items", ("breakfast", "the"), limit=250)
        studio(place)


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        yield chromium
        chromium.close()


def look(chromium: Any, path: Path, name: str, words: tuple[str, ...], *, limit: float) -> None:
    """First paint, until the items can be used, the middle one of some filter times, and scrolling."""
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html.settled", state="attached")
    ready = page.evaluate("performance.now()")
    paint = page.evaluate(PAINT)
    page.evaluate(FILTER, ["search", "a"])  # The first search makes the text to look in.
    changes = [*(("search", word) for word in words), ("order", "low"), ("order", "difference"), ("search", "")]
    times = sorted(page.evaluate(FILTER, list(change)) for change in changes)
    print(f"{name}: first paint {paint:.0f} ms (limit 400), everything there after {ready:.0f} ms, ", end="")
    print(f"filter {times[len(times) // 2]:.0f} ms (limit {limit:g}), scroll {page.evaluate(SCROLL):.0f} ms")
    page.close()


def large(place: Path) -> Path:
    """The demo again and again, ten thousand items."""
    small, written = data.demo()
    n = 10_000
    evalset = EvalSet.of(
        [small.sources[i % len(small)] for i in range(n)],
        references=[small.references[i % len(small)] for i in range(n)],
    )
    outputs = {s: [written[s][i % len(small)] for i in range(n)] for s in ("editor", "noisy")}
    evaluation = evaluate(evalset, outputs, ["fkgl"], sampling=Sampling(resamples=100))
    return report(evaluation, labeller=None, audit=False).write(place / "large.html")


def studio(place: Path) -> None:
    """From the command to the first answer of a server."""
    (place / "s.txt").write_text("A hard sentence.\n", encoding="utf-8")
    (place / "o.txt").write_text("An easy one.\n", encoding="utf-8")
    run = [sys.executable, "-m", "plainly", "studio"]
    create = [*run, "create", "study.toml", "--source", "s.txt", "--outputs", "A=o.txt"]
    subprocess.run(create, cwd=place, check=True, capture_output=True)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        server = subprocess.Popen([*run, "serve", "study.toml", "--port", str(PORT)], cwd=place, stderr=subprocess.PIPE)
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=1):
                    break
            except OSError:
                time.sleep(0.01)
        times.append(time.perf_counter() - start)
        server.terminate()
        server.communicate(timeout=15)
    print(f"studio: first answer after {min(times):.2f} s (limit 2)")


if __name__ == "__main__":
    main()
