"""The built wheel, installed into an empty environment outside the repository, does the main jobs."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from conftest import ROOT

EXAMPLE = """
import plainly
result = plainly.score(
    sources=["He was obliged to leave."],
    outputs=["He had to go."],
    references=[["He had to leave."]],
    metrics=["sari"],
    intervals=False,
)
assert round(result["sari"].value, 2) == 49.98, result
assert str(plainly.__file__).startswith(__import__("sys").prefix), plainly.__file__
"""


@pytest.mark.long
@pytest.mark.packages
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    built = tmp_path / "dist"
    _run([sys.executable, "-m", "build", "--outdir", str(built), str(ROOT)], tmp_path)
    _run([sys.executable, "-m", "twine", "check", "--strict", *map(str, built.iterdir())], tmp_path)
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    programs = tmp_path / "empty" / "bin"
    _run([str(programs / "pip"), "install", "-q", f"{wheel}[report,studio]"], tmp_path)
    plainly = str(programs / "plainly")
    assert "sari" in _run([plainly, "score", "--demo"], tmp_path)
    _run([plainly, "report", "--demo", "--out", "report.html"], tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 10_000
    _run([plainly, "studio", "create", "study.toml", "--demo"], tmp_path)
    assert (tmp_path / "study.toml").exists()
    assert "fkgl-gaming" in _run([plainly, "reproduce", "--list"], tmp_path)
    _run([str(programs / "python"), "-c", EXAMPLE], tmp_path)


def _run(command: list[str], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
