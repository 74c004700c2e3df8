"""docs/inputs.md cannot rot: its files are written and its Python is run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from conftest import ROOT
from fences import fences

PAGE = ROOT / "docs" / "inputs.md"


def test_the_examples_give_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = fences(PAGE)
    for block in blocks:
        if block.title:
            Path(block.title).parent.mkdir(exist_ok=True)
            Path(block.title).write_text(block.body, encoding="utf-8")
    examples = "\n".join(block.body for block in blocks if block.language == "pycon")
    test = doctest.DocTestParser().get_doctest(examples, {}, "docs/inputs.md", str(PAGE), 0)
    assert len(test.examples) > 20
    messages: list[str] = []
    results = doctest.DocTestRunner().run(test, out=messages.append)
    assert results.failed == 0, "".join(messages)
