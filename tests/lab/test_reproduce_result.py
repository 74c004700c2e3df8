"""A reproduction shows itself as every result does: cells, verdicts by table, conclusions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plainly.cli import main
from plainly.core.errors import BadInput, UnknownName
from plainly_lab.reproductions import RECIPES, recipe, recipes, reproduce
from plainly_lab.reproductions.cells import Cell, Reproduction

CELLS = (
    Cell("2", "BLEU", "G", 0.43, 0.431, decimals=2, tolerance=0.01, recipe="corpus"),
    Cell("2", "BLEU", "M", 0.50, 0.7, decimals=2, tolerance=0.01, recipe="corpus", note="misprint"),
    Cell("3", "SARI", "G", None, None, decimals=1, tolerance=0.1, recipe="xu", sound=2.0),
)
PAPER = Reproduction("a-paper", CELLS, ("It holds.",))


def test_json_has_the_keys_that_are_promised() -> None:
    written = PAPER.json()
    assert list(written) == ["schema", "recipe", "cells", "tables", "conclusions"]
    assert written["schema"] == "plainly.reproduce/1"
    assert written["cells"][0] == {
        "table": "2", "row": "BLEU", "column": "G", "published": 0.43, "ours": 0.431, "sound": None,
        "verdict": "exact", "recipe": "corpus",
    }  # fmt: skip
    assert written["cells"][1]["note"] == "misprint"
    assert written["tables"] == {"2": {"exact": 1, "differs": 1}, "3": {"exact": 1}}


def test_tables_show_the_cells_and_then_the_verdicts() -> None:
    second, third, verdicts = PAPER.tables()
    assert second.caption == "Table 2: 2 cells, 1 exact, 1 differs"
    assert second.rows[1] == ("BLEU", "M", "0.50", "0.70", "differs", "misprint")
    assert third.rows == (("SARI", "G", "–", "–", "2.0", "exact", ""),)
    assert verdicts.rows == (("2", "2", "1", "0", "1"), ("3", "1", "1", "0", "0"))
    assert PAPER.summary().tables() == [verdicts]
    assert PAPER.summary().json() == PAPER.json()
    assert repr(PAPER).endswith("It holds.")


def test_records_are_cells_with_all_columns() -> None:
    assert [record["note"] for record in PAPER.records()] == ["", "misprint", ""]
    assert {tuple(record) for record in PAPER.records()} == {
        ("table", "row", "column", "published", "ours", "sound", "verdict", "recipe", "note")
    }


def test_papers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [record["name"] for record in recipes().records()] == list(RECIPES)
    assert main(["reproduce", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == ["schema", "recipes"]
    assert all(hasattr(recipe(name), "run") and hasattr(recipe(name), "conclusions") for name in RECIPES)


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownName, match="'assetann'"):
        reproduce("assetan")


@pytest.mark.mirror
def test_a_paper_is_computed_by_one_call(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduction = reproduce("sle", tables=["relations"])
    assert [cell.verdict for cell in reproduction.cells] == ["exact", "exact"]
    assert main(["reproduce", "sle", "--table", "relations", "--summary"]) == 0
    assert "relations      2      2      0        0" in capsys.readouterr().out
    with pytest.raises(BadInput, match="77"):
        reproduce("sle", tables=["77"])
