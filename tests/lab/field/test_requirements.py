"""The field asks for what it needs before it works, keeps what it has done, and shows what systems write."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import plainly_lab
from plainly.core.errors import MissingExtra
from plainly_lab.field_site import tasks
from plainly_lab.field_site.tasks import FieldTask, make_plan


@pytest.fixture
def without_sklearn(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "sklearn" else find(name, *rest)
    )


def test_a_paper_whose_package_is_missing_is_left_out_and_named(without_sklearn: None) -> None:
    plan = make_plan(["demo"], ["sari"], None, None)
    assert "assetann" not in plan.papers
    assert len(plan.papers) == 4
    assert [reason for reason in plan.left_out if "assetann" in reason and "plainly[regression]" in reason]


def test_a_chosen_paper_is_refused_before_any_work(without_sklearn: None, tmp_path: Path) -> None:
    def work(what: str, **_: Any) -> Any:
        raise AssertionError(f"{what} before requirements were checked")

    with pytest.raises(MissingExtra, match="scikit-learn"):
        plainly_lab.field("demo", out=tmp_path, metrics=["sari"], papers=["assetann"], progress=work)


def test_a_paper_that_lacks_a_package_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def reproduce(name: str, **_: Any) -> Any:
        raise MissingExtra("reproduce", package="scikit-learn", extra="regression")

    monkeypatch.setattr(tasks, "reproduce", reproduce)
    paper = tasks.KINDS["paper"](FieldTask("paper", "assetann"))
    assert "scikit-learn" in paper.why  # type: ignore[union-attr]


@pytest.mark.long
def test_work_is_kept_when_it_stops_and_every_build_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"metrics": ["sari"], "papers": (), "cache": tmp_path / "cache", "processes": 1}

    def fail(task: FieldTask) -> Any:
        raise KeyboardInterrupt

    samples = tasks.KINDS["samples"]
    monkeypatch.setitem(tasks.KINDS, "standings", fail)
    with pytest.raises(KeyboardInterrupt):
        plainly_lab.field("demo", out=tmp_path / "site", **options)
    monkeypatch.undo()
    assert tasks.KINDS["samples"] is samples
    first = plainly_lab.field("demo", out=tmp_path / "site", **options)
    assert 0 < first.field.done < first.field.total, "what was done before the interruption was kept"
    second = plainly_lab.field("demo", out=tmp_path / "site", **options)
    assert second.field.done == 0
    assert [build["built"] for build in second.field.history] == [first.field.built]
    page = (tmp_path / "site" / "changes.html").read_text(encoding="utf-8")
    assert first.field.changes[0] in page
    assert json.loads((tmp_path / "site" / "field.json").read_text(encoding="utf-8"))["history"]

    items = second.field.sets[0].samples["editor"]
    assert [item.is_worst for item in items] == [False, False, True, True, True]
    scores = sorted(item.value for item in items)
    assert [item.value for item in items if item.is_worst] == scores[:3]
    text = (tmp_path / "site" / "system-editor.html").read_text(encoding="utf-8")
    assert items[2].id in text
    assert "among the worst" in text
