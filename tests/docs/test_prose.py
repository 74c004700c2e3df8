"""The prose check: it passes on the project (scripts/check runs it) and fails on every construction that it bans."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT

PROSE = ROOT / "scripts" / "prose"


def run_prose(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(PROSE), *map(str, files)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("page.md", "Read this first.\n\nA folder is no path to a file.\n", "BareNo"),
        ("page.md", "Whoever reads this can mend it.\n", "Wording"),
        ("page.md", "Utilise the table.\n", "Terms"),
        ("module.py", '"""The one net: nobody passes."""\n', "Wording"),
        ("module.py", 'raise ValueError(f"{file} is no table, see above")\n', "BareNo"),
        ("module.py", "x = 1  # for want of a better name\n", "Wording"),
        ("module.py", "def chosen(items):\n    return items\n", "Names"),
        ("module.py", "kept = [1]\n", "Names"),
    ],
)
def test_a_banned_construction_is_reported(tmp_path: Path, name: str, text: str, rule: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    result = run_prose(file)
    assert result.returncode == 1
    assert f"[{rule}]" in result.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "page.md",
            "There is no file. It is no longer needed.\n\n```sh\nwhoever --lest\n```\n\nThe option `--mend`.\n",
        ),
        ("module.py", '"""Return the items that are kept."""\nkept_items = "door"\n'),
    ],
)
def test_standard_prose_and_code_are_not_reported(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    result = run_prose(file)
    assert (result.returncode, result.stdout) == (0, "")


def test_every_exception_has_a_reason() -> None:
    exceptions = tomllib.loads((ROOT / "styles" / "exceptions.toml").read_text(encoding="utf-8"))
    for entry in exceptions.get("exception", []):
        assert set(entry) == {"file", "rule", "text", "reason"}
        assert len(entry["reason"].split()) > 2
