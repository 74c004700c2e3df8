"""docs/audit.md cannot rot: its Python runs, is as short as promised, and says what the page says."""

from __future__ import annotations

import re
from typing import Any

from conftest import ROOT
from fences import fences
from plainly.auditing.attacks import ATTACKS, resolve_attacks
from plainly.auditing.result import TABLES
from plainly.core.evalset import EvalSet

PATH = ROOT / "docs" / "audit.md"
PAGE = PATH.read_text(encoding="utf-8")
PYTHON = [block.body for block in fences(PATH) if block.language == "python"]


def test_the_examples_run(capsys: Any) -> None:
    names: dict[str, Any] = {}
    own, attack = PYTHON
    exec(compile(own, "docs/audit.md", "exec"), names)
    message = capsys.readouterr().out
    assert "shortwords can be gamed" in message
    assert "sari: none of the 2 attacks" in message or "sari is hard to game" in message
    exec(compile(attack, "docs/audit.md", "exec"), names)
    assert "shout" in capsys.readouterr().out


def test_auditing_your_own_metric_takes_fifteen_lines() -> None:
    assert len([line for line in PYTHON[0].splitlines() if line.strip()]) <= 15


def test_every_attack_is_on_the_page_under_what_it_expects() -> None:
    assert resolve_attacks(["paper"], EvalSet.of(items=1))
    for attack in ATTACKS.values():
        row = re.search(rf"^\| {attack.expected} \|(.*)$", PAGE, re.MULTILINE)
        assert row is not None
        assert f"`{attack.name}`" in row[1], attack.name


def test_every_table_is_on_the_page() -> None:
    for name in TABLES:
        assert re.search(rf"(`{name}`|\*\*{name}\*\*)", PAGE), name
