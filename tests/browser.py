"""A real browser for the tests of pages: Debian's Chromium, and axe-core to check accessibility."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

AXE = "4.14.0"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium() -> Iterator[Any]:
    """Chromium, driven by Playwright. For a fixture of one module: two drivers cannot live at once, and a driver keeps
    an event loop running that other modules' tests should not meet.
    """
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    playwright = pytest.importorskip("playwright.sync_api")
    if where is None:
        if os.environ.get("CI"):
            pytest.fail("In CI Chromium must be installed.")
        pytest.skip("needs Chromium: apt-get install chromium (scripts/test does so where it may)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=FLAGS, headless=True)
        yield browser
        browser.close()


def axe_core() -> Path:
    """Return the path of axe-core, which is not part of the project but fetched from the npm registry once."""
    import platformdirs

    place = Path(platformdirs.user_cache_dir("plainly-tests", appauthor=False)) / f"axe-core-{AXE}.js"
    if place.is_file():
        return place
    npm = shutil.which("npm")
    if npm is None:
        if os.environ.get("CI"):
            pytest.fail("In CI npm must be there to fetch axe-core.")
        pytest.skip("needs npm to fetch axe-core")
    place.parent.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", f"axe-core@{AXE}", "--silent", "--fetch-retries=0"]
    process = subprocess.run(command, cwd=place.parent, check=False, capture_output=True, text=True)
    if process.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"In CI npm must be able to fetch axe-core: {process.stderr}")
        pytest.skip("needs axe-core, which npm could not fetch from its registry")
    with tarfile.open(place.parent / f"axe-core-{AXE}.tgz") as archive:
        content = archive.extractfile("package/axe.min.js")
        assert content is not None
        place.write_bytes(content.read())
    return place


# Every text that a plot shows, with its box, cut to what its own frame lets through.
LABELS = """() => [...document.querySelectorAll(".plot")].filter((plot) => plot.offsetParent).flatMap((plot) => {
  const labels = ".figure text";
  return [...plot.querySelectorAll(labels)].map((element) => {
    const box = element.getBoundingClientRect();
    return [plot.id, element.textContent.trim().slice(0, 50), box.left, box.top, box.right, box.bottom];
  }).filter((label) => label[4] > label[2] && label[5] > label[3]);
})"""


def labels_that_meet(page: Any, width: int) -> tuple[int, list[Any]]:
    """How many labels the plots of a page show, and those that lie on another or outside."""
    labels = page.evaluate(LABELS)
    by_plot: dict[str, list[Any]] = {}
    for plot, *label in labels:
        by_plot.setdefault(plot, []).append(label)
    overlaps = [
        (plot, one[0], other[0])
        for plot, boxes in by_plot.items()
        for place, one in enumerate(boxes)
        for other in boxes[:place]
        if min(one[3], other[3]) - max(one[1], other[1]) > 1 and min(one[4], other[4]) - max(one[2], other[2]) > 1
    ]
    return len(labels), [*overlaps, *(label for _, *label in labels if label[1] < -1 or label[3] > width + 1)]
