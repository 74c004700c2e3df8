"""What the tests of the report share: a page made of the demo, and Debian's Chromium to look at it with."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plainly import data
from plainly.evaluate import evaluate
from plainly.report import Report, make_report

AXE = "4.14.0"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
Open = Callable[..., Any]


@pytest.fixture(scope="package")
def demo() -> Report:
    """A report on the demo: four metrics, seven systems."""
    evalset, outputs = data.demo()
    found = evaluate(evalset, outputs, ["sari", "bleu", "fkgl", "edits"])
    return make_report(found, evalset=evalset, outputs=outputs, title="The demo")


@pytest.fixture(scope="package")
def demo_page(demo: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo.write(tmp_path_factory.mktemp("report") / "demo.html")


# Not for the session: two drivers cannot live in one, and the studio's tests have one too.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright."""
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


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Open a file in a fresh browser; the test fails on any error, and on any request but the file's."""
    contexts, complaints = [], []

    def complain(what: str) -> None:
        complaints.append(what)

    def opened(path: Path, *, width: int = 1400, theme: str = "light", **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **options)
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: message.type in ("error", "warning") and complain(f"console: {message.text}")
        )
        page.on("pageerror", lambda error: complain(f"page error: {error}"))
        page.on("request", lambda request: request.url != path.as_uri() and complain(f"request: {request.url[:120]}"))
        page.on("dialog", lambda dialog: (complain(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, fetched from the npm registry into a cache the first time; it is no part of the project."""
    import platformdirs

    place = Path(platformdirs.user_cache_dir("plainly-tests", appauthor=False)) / f"axe-core-{AXE}.js"
    if not place.is_file():
        npm = shutil.which("npm")
        if npm is None:
            if os.environ.get("CI"):
                pytest.fail("In CI npm must be there to fetch axe-core.")
            pytest.skip("needs npm to fetch axe-core")
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([npm, "pack", f"axe-core@{AXE}", "--silent"], cwd=place.parent, check=True, capture_output=True)
        with tarfile.open(place.parent / f"axe-core-{AXE}.tgz") as archive:
            content = archive.extractfile("package/axe.min.js")
            assert content is not None
            place.write_bytes(content.read())
    return place.read_text(encoding="utf-8")
