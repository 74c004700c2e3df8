"""ASSETann's tables come out as published: counts of exact cells, and the values that matter."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from plainly_lab.reproductions.assetann import conclusions, run
from plainly_lab.reproductions.cells import Cell, RecipeOptions

pytestmark = pytest.mark.long

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def cells(mirror: Path) -> list[Cell]:
    return run(RecipeOptions())


def _verdicts(cells: list[Cell], table: str) -> Counter[str]:
    return Counter(cell.verdict for cell in cells if cell.table == table)


def test_a_verdict_is_about_the_printed_precision() -> None:
    def verdict(published: float | None, ours: float | None) -> str:
        return Cell("1", "r", "c", published, ours, decimals=1, tolerance=0.2, recipe="").verdict

    assert verdict(36.3, 36.26) == "exact"
    assert verdict(36.3, 36.2) == "close"
    assert verdict(36.3, 36.6) == "differs"
    assert verdict(None, None) == "exact"
    assert verdict(None, 1.0) == verdict(1.0, None) == verdict(1.0, float("nan")) == "differs"


def test_counts(cells: list[Cell]) -> None:
    gold = [cell for cell in cells if cell.table == "1" and cell.column == "gold"]
    assert sum(cell.verdict == "exact" for cell in gold) == 26
    whole = [cell for cell in cells if cell.table == "1" and cell.column == "all"]
    assert sum(cell.verdict == "exact" for cell in whole) == 6
    assert all(0 <= (cell.ours or 0) - (cell.published or 0) <= 24 for cell in whole)


def test_lasso(cells: list[Cell]) -> None:
    assert _verdicts(cells, "3")["differs"] == _verdicts(cells, "3 R²")["differs"] == 0
    r2 = {(cell.row, cell.column): cell for cell in cells if cell.table == "3 R²"}
    assert [r2["fitted", part].ours for part in ("keep", "add", "delete")] == pytest.approx(
        [0.253, 0.051, 0.239], abs=6e-4
    )
    held_out = [r2["cross-validated", part] for part in ("keep", "add", "delete")]
    assert [cell.ours for cell in held_out] == pytest.approx([0.241, 0.036, 0.230], abs=6e-4)
    assert all((cell.sound or 1) < (cell.ours or 0) for cell in held_out), "keeping sources apart must cost something"


def test_systems(cells: list[Cell]) -> None:
    table = {(cell.row, cell.column): cell for cell in cells if cell.table == "4"}
    assert sum(cell.verdict == "exact" for cell in table.values()) == 130
    scores = [cell for (_, column), cell in table.items() if column not in ("add", "del")]
    assert len(scores) == 117
    assert sum(cell.verdict == "exact" for cell in scores) >= 106
    assert [(cell.row, cell.column) for cell in scores if cell.verdict == "differs"] == [("seq2seqwiki", "BLEU orig")]
    columns = ("new", "lex", "synt", "add", "del", "repl")
    with_artefacts = [table["Dress", f"SARI {column}"].ours for column in columns]
    assert with_artefacts == pytest.approx([36.26, 33.38, 34.57, 31.96, 34.60, 34.70], abs=0.005)
    soundly = [table["Dress", f"SARI {column}"].sound for column in columns]
    assert soundly == pytest.approx([37.2, 37.1, 36.7, 36.4, 36.7, 36.8], abs=0.05)


def test_tokens_and_annotations(cells: list[Cell]) -> None:
    assert _verdicts(cells, "6")["exact"] == 154
    assert _verdicts(cells, "7")["differs"] == 0


def test_correlations(cells: list[Cell]) -> None:
    for table, rows in (("9", 19), ("10", 18)):
        by_row: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell.table == table and cell.column.endswith("rho"):
                by_row.setdefault(cell.row, []).append(cell)
        assert len(by_row) == 26
        assert sum(all(cell.verdict == "exact" for cell in row) for row in by_row.values()) >= rows
        assert all(cell.verdict != "differs" for row in by_row.values() for cell in row)


def test_the_conclusions_name_what_the_artefacts_change(cells: list[Cell]) -> None:
    text = "\n".join(conclusions(cells))
    assert "falls by 4.5 on average as printed" in text
    assert "by -0.3 soundly" in text
    assert conclusions([]) == []


def test_one_table_can_be_asked_for(mirror: Path) -> None:
    assert {cell.table for cell in run(RecipeOptions(tables=frozenset({"7"})))} == {"7"}
