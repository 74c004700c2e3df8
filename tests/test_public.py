"""The public API is the whole tool: every command's work is a public function, and every result shows itself."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plainly
from conftest import ROOT
from plainly import data
from plainly.cli import commands
from plainly.cli.show import FORMATS, show
from plainly.core import tables
from plainly.core.result import Result

# Commands whose public function has another name, or is in another package.
ELSEWHERE = {
    "models": ("plainly.learned.adapters.published", "get"),
    "metrics": ("plainly.scoring.explain", "describe"),
    "data": ("plainly.data", "catalogue"),
    "studio": ("plainly_studio", "create"),
    **{name: ("plainly_lab", name) for name in ("field", "grid", "reproduce", "train")},
    "completion": ("plainly.cli.completion", "script"),
}


@pytest.mark.parametrize("command", commands())
def test_every_command_is_a_public_function(command: str) -> None:
    import importlib

    if command in ELSEWHERE:
        module, name = ELSEWHERE[command]
        assert callable(getattr(importlib.import_module(module), name))
    else:
        assert command in plainly.__all__
        assert callable(getattr(plainly, command))


@pytest.mark.parametrize("path", sorted((ROOT / "src/plainly/cli").glob("*.py")), ids=lambda path: path.stem)
def test_a_command_is_parse_call_show(path: Path) -> None:
    """A command has no branches by format: results describe themselves."""
    text = path.read_text(encoding="utf-8")
    assert "args.format ==" not in text
    if path.stem in commands():
        names = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        assert "run" in names
        assert "configure" in text


def _demo() -> dict[str, Any]:
    evalset, outputs = data.demo()
    return {"evalset": evalset, "outputs": {name: outputs[name] for name in ("copy", "editor", "noisy")}}


RATED = [
    {"system": system, "item": str(item), "rater": rater, "simplicity": 1 + (item + place + number) % 5}
    for place, system in enumerate(("copy", "editor", "noisy"))
    for item in range(12)
    for number, rater in enumerate(("r1", "r2", "r3"))
]

RESULTS: dict[str, Callable[[], Result]] = {
    "score": lambda: plainly.score(**_demo(), metrics=["sari", "fkgl"]),
    "score of one system": lambda: plainly.score(sources=["A b."], outputs=["A."], metrics=["fkgl"]),
    "score by": lambda: plainly.score(**_demo(), metrics=["sari"], by="length", sanity=True),
    "compare": lambda: plainly.compare(**_demo(), metrics=["sari"], trials=99),
    "compare by": lambda: plainly.compare(**_demo(), metrics=["sari"], trials=99, by="length"),
    "audit": lambda: plainly.audit(**_demo(), metrics=["fkgl"], attacks=["shuffle"], trials=2),
    "doctor": lambda: plainly.doctor(**_demo()),
    "facts": lambda: plainly.facts(**_demo()),
    "align": lambda: plainly.align(**_demo(), encoder=False),
    "operations": lambda: plainly.operations(**_demo(), labeller="rules"),
    "agreement": lambda: plainly.agreement(_ratings()),
    "results": lambda: plainly.results(_ratings(), agreement=True),
    "plan": lambda: plainly.plan(_ratings(), dimension="simplicity"),
    "report": lambda: plainly.report(**_demo(), metrics=["sari"], labeller=None, audit=False),
    "data": lambda: data.catalogue(),
}


def _ratings() -> Any:
    from plainly.people import read_ratings

    return read_ratings(RATED)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_shows_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = RESULTS[name]()
    records = result.records()
    assert records
    assert all(isinstance(record, dict) for record in records)
    payload = result.json()
    assert payload["schema"].startswith("plainly.")
    json.dumps(payload, allow_nan=False)
    for table in result.tables():
        assert all(len(row) == len(table.header) for row in table.rows)
        assert tables.plain(table) in repr(result)
    assert len(result.to_pandas()) == len(records)
    assert result.to_polars().height == len(records)
    assert "<" in result._repr_html_()
    for note in result.notes():
        assert note.kind != "warning" or note.code, note.message
    for form in (None, *FORMATS):
        show(result, form)
        assert capsys.readouterr().out.strip()


def test_a_name_means_one_thing() -> None:
    """No two public classes share a name."""
    classes: dict[str, list[str]] = {}
    for path in (ROOT / "src/plainly").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}
