"""The trade-off paper's procedures on public ratings: what holds there and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from plainly_lab.reproductions import RecipeOptions, recipe
from plainly_lab.reproductions.cells import Cell

pytestmark = pytest.mark.mirror


@pytest.fixture(scope="module")
def cells(mirror: Path) -> list[Cell]:
    computed: list[Cell] = recipe("tradeoff").run(RecipeOptions())
    return computed


def test_simplicity_and_adequacy_rise_together_on_simplicity_da(cells: list[Cell]) -> None:
    (cell,) = (c for c in cells if c.row == "Simplicity-DA: simplicity–adequacy" and c.column == "R²")
    assert cell.ours == pytest.approx(0.744**2, abs=0.001)
    assert "r 0.744" in cell.note
    (sign,) = (c for c in cells if c.row == "Simplicity-DA: simplicity–adequacy" and c.column == "sign")
    assert (sign.published, sign.ours, sign.verdict) == (-1, 1, "differs")


def test_and_inversely_on_the_acl_2018_systems(cells: list[Cell]) -> None:
    (sign,) = (c for c in cells if c.row == "ACL 2018: simplicity–adequacy" and c.column == "sign")
    assert sign.ours == -1


def test_a_fixed_budget_favours_sentences(cells: list[Cell]) -> None:
    assert [cell.ours for cell in cells if cell.table == "budget"] == [1, 1]


def test_raters(cells: list[Cell]) -> None:
    published = {"Simplicity-DA, simplicity": (0.706, 0.818), "ACL 2018, meaning": (0.907, 0.953)}
    for row, figures in published.items():
        assert [c.ours for c in cells if c.table == "raters" and c.row == row] == pytest.approx(figures, abs=0.02)


def test_conclusions(cells: list[Cell]) -> None:
    lines = recipe("tradeoff").conclusions(cells)
    assert "inversely related on 1 of 2" in lines[0]
    assert "more sentences beat more raters" in lines[1]


def test_cells_say_that_the_data_is_not_the_papers(cells: list[Cell]) -> None:
    assert all("other data" in cell.recipe for cell in cells)
