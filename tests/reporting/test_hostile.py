"""Hostile text in any field shows as text: nothing runs, nothing is loaded, nothing hides, nothing breaks the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import plainly
from plainly.core.evalset import EvalSet
from plainly.core.formatting import visible
from plainly.reporting.page import script_json
from plainly.reporting.report import Report

pytestmark = pytest.mark.system

ATTACKS = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "</script><script>document.title='owned'</script><!--",
    "\"'><svg/onload=alert(3)> &lt;b&gt; {{7*7}} ${alert(4)} javascript:alert(5)",
    "\u202egnirts desrever\u202c ע\u05d1\u05e8\u05d9\u05ea العربية \u2066isolated\u2069",
    "zero\u200bwidth\ufeff and \u2028 separators \u2029 and \x00 nul \x1b[31m",
    "word " * 2000,
    "\U0001f9d1\u200d\U0001f3eb 漢字 𝒳 \ud800 lone",
    "",
)


@pytest.fixture(scope="module")
def hostile() -> Report:
    n = len(ATTACKS)
    evalset = EvalSet(
        ids=tuple(f"{i} {text[:60]}" for i, text in enumerate(ATTACKS)),
        sources=tuple(text or "A source." for text in ATTACKS),
        references=tuple((ATTACKS[(i + 1) % n] or "R.", "A plain reference.") for i in range(n)),
        groups=tuple(ATTACKS[(i + 3) % n][:100] for i in range(n)),
        name=ATTACKS[0],
    )
    outputs = {ATTACKS[s] or "plain": tuple(ATTACKS[(i + s + 1) % n] for i in range(n)) for s in range(6)}
    return plainly.report(evalset=evalset, outputs=outputs, metrics=["fkgl", "edits"], title=ATTACKS[1])


@pytest.fixture(scope="module")
def hostile_page(hostile: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile.write(tmp_path_factory.mktemp("hostile") / "hostile.html")


def test_nothing_runs_and_everything_shows(open_page: Any, hostile_page: Path, hostile: Report) -> None:
    page = open_page(hostile_page)  # fails on dialogs, requests and console errors, those of the CSP included
    assert page.title().endswith("plainly report")
    assert page.locator("h1").inner_text() == ATTACKS[1]
    assert page.locator("main script, main img, main iframe, main svg[onload], main [onclick]").count() == 0
    assert page.locator("script").count() == 2
    names = page.eval_on_selector_all("#table tbody th", "cells => cells.map(cell => cell.textContent.trim())")
    assert {visible(system).strip() for system in hostile.overview.systems} == set(names)
    for place in range(len(ATTACKS)):
        if place:
            page.get_by_role("button", name="Next").click()
        page.locator("[name=view][value=plain]").check()
        text = page.locator("#detail .source .prose").evaluate("e => e.textContent")
        expected = re.sub("[\u2028-\u202e\u200b\u2066-\u2069\ufeff\x00\x1b]", lambda c: f"U+{ord(c[0]):04X}",
                          ATTACKS[place] or "A source.").replace("\ud800", "\ufffd")  # fmt: skip
        assert text == expected
        for view in ("changes", "operations"):
            page.locator(f"[name=view][value={view}]").check()
    page.locator("#search").fill("<script>alert")
    assert int(page.locator("#count").inner_text().split()[0]) >= 1
    assert page.evaluate("document.documentElement.scrollWidth") == 1400


def test_the_policy_forbids_what_is_not_ours(hostile: Report) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', hostile.html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe-inline" not in policy[1].partition("script-src")[2].partition(";")[0]
    assert not re.search(r'(src|href)="https?:', re.sub(r'<a href="https://[^"]*" rel="noreferrer">', "", hostile.html))


def test_json_cannot_leave_its_element() -> None:
    for text in ATTACKS:
        written = script_json([text])
        assert not re.search("[<>&\u2028\u2029]", written)
        assert json.loads(written) == [text.replace("\ud800", "\ufffd")]
