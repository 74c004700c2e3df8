"""The notebooks in examples/ run from the first cell to the last and show what they say they show."""

from __future__ import annotations

from pathlib import Path

import pytest

import notebook
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    for cell, text in zip(notebook.cells(path), notebook.run_cells(path), strict=True):
        assert text == notebook.stored(cell), "".join(cell["source"])
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
