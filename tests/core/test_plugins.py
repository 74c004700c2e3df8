"""Metrics of other packages: whatever one of them does, the rest works, and the warning says which it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plainly.cli import main
from plainly.core import registry
from plainly.core.errors import BrokenPlugin

BROKEN = {
    "raises": "raise RuntimeError('out of date')",
    "exits": "import sys; sys.exit(3)",
    "missing": "import no_such_package_at_all",
    "nonsense": "def (",
    "empty": "",
    "function": "def Metric(): ...",
    "plain": "class Metric: ...",
    "parts": "from dataclasses import dataclass\n@dataclass\nclass Metric:\n    name = 'parts'",
}


@pytest.fixture(params=BROKEN)
def plugin(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    module = f"broken_plugin_{name}"
    (tmp_path / f"{module}.py").write_text(BROKEN[name], encoding="utf-8")
    info = tmp_path / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[plainly.metrics]\n{name} = {module}:Metric\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_broken_plugin_disables_nothing_but_itself(plugin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics"]) == 0
    printed = capsys.readouterr()
    assert "sari" in printed.out
    assert f"'{plugin}'" in printed.err
    assert f"broken_plugin_{plugin}:Metric" in printed.err
    assert main(["metrics", "--json", "--strict"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert [warning["code"] for warning in result["warnings"]] == ["plugin"]
    assert len(result["metrics"]) == len(registry.METRICS)
    assert main(["metrics", "sari"]) == 0
    assert main(["score", "--demo", "-m", "sari", "editor"]) == 0
    capsys.readouterr()
    for arguments in (["metrics", plugin], ["score", "--demo", "-m", plugin, "editor"]):
        assert main(arguments) == 2
        printed = capsys.readouterr()
        assert f"'{plugin}'" in printed.err
        assert printed.err.count("\n") == 1
    with pytest.raises(BrokenPlugin):
        registry.metric(plugin)
