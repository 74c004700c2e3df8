"""The walk of a new user: every command block of README and docs, in order, on a fresh copy of the project."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

# These say by their exit status what they found; the others end with 0.
FINDS = ("doctor", "gate", "facts", "reproduce")


@pytest.mark.walk
def test_every_command_block_ends_well_or_says_what_is_missing(mirror: Path, tmp_path: Path) -> None:
    copy = tmp_path / "plainly"
    ignored = shutil.ignore_patterns(".git", ".venv", "*cache*", "__pycache__", "build", "dist")
    shutil.copytree(ROOT, copy, ignore=ignored)
    record = tmp_path / "walk.json"
    walked = subprocess.run([sys.executable, str(copy / "scripts" / "walk"), "--record", str(record)], check=False)
    assert walked.returncode == 0
    commands = json.loads(record.read_text(encoding="utf-8"))
    assert len(commands) > 100
    wrong = [
        f"{entry['page']}: {entry['command']}\n  exit {entry['exit']}: {entry['stderr'][-300:]}"
        for entry in commands
        if "skipped" not in entry and not _well(entry)
    ]
    assert wrong == [], "\n".join(wrong)


def _well(entry: dict[str, object]) -> bool:
    command, code, said = str(entry["command"]), entry["exit"], str(entry["stderr"])
    if "Traceback" in said or "fault of plainly's" in said:
        return False
    if code == 0 or (code == 1 and any(f"plainly {name}" in command for name in FINDS)):
        return True
    # What is missing is said in a sentence that names the way to get it, before anything is printed.
    return code == 2 and "pip install" in said and not entry["stdout"]
