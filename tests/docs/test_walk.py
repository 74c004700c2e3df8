"""The walk of a new user: every command block of README and docs, page by page, on a fresh copy of the project."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from fences import fences

PAGES = [
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    if any(block.commands() for block in fences(page))
]
# These say by their exit status what they found; the others end with 0.
FINDS = ("check", "doctor", "gate", "facts", "reproduce")
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


@pytest.fixture(scope="session")
def copy(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fresh") / "plainly"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")
    shutil.copytree(ROOT, place, ignore=ignored)
    return place


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_every_command_ends_well_or_says_what_is_missing(
    page: str, copy: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    record = tmp_path / "walk.json"
    # One cache for all pages: what a model said of a text on one page need not be computed on the next.
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    environment = {key: value for key, value in os.environ.items() if key != "PLAINLY_SCORE_CACHE"}
    words = [sys.executable, str(copy / "scripts" / "walk"), "--page", page, "--record", str(record)]
    subprocess.run(words, env=environment | {"PLAINLY_CACHE": str(cache)}, check=True)
    commands = json.loads(record.read_text(encoding="utf-8"))
    assert commands
    wrong = [
        f"{entry['command']}\n  exit {entry['exit']}: {entry['stdout'][-2000:]}\n{entry['stderr'][-1000:]}"
        for entry in commands
        if "skipped" not in entry and not (_well(entry) and _as_shown(entry))
    ]
    assert wrong == [], "\n".join(wrong)


def _well(entry: dict[str, object]) -> bool:
    command, code, stderr = str(entry["command"]), entry["exit"], str(entry["stderr"])
    if "Traceback" in stderr or "fault of plainly's" in stderr:
        return False
    if code == 0 or (code == 1 and any(f"plainly {name}" in command for name in FINDS)):
        return True
    # What is missing is said in a sentence that names it or the way to get it, before anything is printed.
    missing = r"pip install|download|There is no directory|'plainly train' wrote"
    return code == 2 and re.search(missing, stderr) is not None and not entry["stdout"]


def _as_shown(entry: dict[str, object]) -> bool:
    """Whether the page shows what the command prints; models round a little otherwise on other processors."""
    on_page, printed = str(entry.get("shown", "")), str(entry["stdout"]).strip("\n")
    if not on_page:
        return True
    pairs = zip(_numbers(on_page), _numbers(printed), strict=False)
    close = all(math.isclose(*pair, rel_tol=0.01, abs_tol=0.011) for pair in pairs)
    return close and _words(on_page) == _words(printed)


def _words(text: str) -> list[str]:
    return re.sub(r"-{2,}", "", NUMBER.sub("0", text)).split()


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]
