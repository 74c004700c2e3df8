"""docs/inputs.md cannot rot: its files are written and its Python is run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "inputs.md"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_the_examples_give_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = FENCE.findall(PAGE.read_text(encoding="utf-8"))
    for _, title, body in blocks:
        if title:
            Path(title).parent.mkdir(exist_ok=True)
            Path(title).write_text(body, encoding="utf-8")
    examples = "\n".join(body for language, _, body in blocks if language == "pycon")
    test = doctest.DocTestParser().get_doctest(examples, {}, "docs/inputs.md", str(PAGE), 0)
    assert len(test.examples) > 20
    said: list[str] = []
    results = doctest.DocTestRunner().run(test, out=said.append)
    assert results.failed == 0, "".join(said)
