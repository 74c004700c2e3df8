"""What the tests of the report share: a page made of the demo, and Debian's Chromium to look at it with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
import plainly
from plainly import data
from plainly.reporting.report import Report

Open = Callable[..., Any]


@pytest.fixture(scope="package")
def demo() -> Report:
    """A report on the demo: four metrics, seven systems."""
    evalset, outputs = data.demo()
    metrics = ["sari", "bleu", "fkgl", "edits"]
    return plainly.report(evalset=evalset, outputs=outputs, metrics=metrics, title="The demo")


@pytest.fixture(scope="package")
def demo_page(demo: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo.write(tmp_path_factory.mktemp("report") / "demo.html")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from browser.chromium()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Open a file in a fresh browser; the test fails on any error, and on any request but the file's."""
    contexts, complaints = [], []

    def complain(what: str) -> None:
        complaints.append(what)

    def open_file(path: Path, *, width: int = 1400, theme: str = "light", **options: Any) -> Any:
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
        if options.get("java_script_enabled", True) and page.locator("script").count():
            page.wait_for_selector("html.settled", state="attached")
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture(scope="session")
def axe() -> str:
    return browser.axe_core().read_text(encoding="utf-8")
