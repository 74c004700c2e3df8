"""However a command ends (SIGTERM, Ctrl-C, killed outright), no process and no temporary file of it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from plainly.cli import main

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc"),
]
_SECONDS = 40


def _children(parent: int) -> list[int]:
    """All processes that descend from one."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    descended, waiting = [], [parent]
    while waiting:
        of_one = parents.get(waiting.pop(), [])
        descended += of_one
        waiting += of_one
    return descended


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.1)
    return False


AUDIT = ["audit", "--demo", "editor", "-m", "sari", "--trials", "100000", "--processes", "2"]


def _commands(folder: Path) -> dict[str, list[str]]:
    (folder / "lines.txt").write_text("The committee that had met in the old hall decided it.\n" * 60_000)
    endless = folder / "endless.sh"
    endless.write_text("#!/bin/sh\nsleep 3600\n")
    endless.chmod(0o755)
    (folder / "two.jsonl").write_text('{"source": "A cat.", "output": "A cat."}\n' * 70_000)
    lines = str(folder / "lines.txt")
    return {
        "audit": AUDIT,
        "score": [
            *("score", str(folder / "two.jsonl"), "--engine", "local", "--processes", "2"),
            *("-m", f"command(run={endless})", "--state", str(folder / "state.npz")),
        ],
        "label": ["operations", "label", "--source", lines, lines, "--processes", "2"],
    }


def _start(arguments: list[str], folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A command whose workers are at work."""
    (folder / "tmp").mkdir(exist_ok=True)
    started = subprocess.Popen(
        [sys.executable, "-m", "plainly", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
    )
    wanted = 4 if "command" in str(arguments) else 2  # workers; and what they run
    seen = _until(lambda: len(_children(started.pid)) > wanted or started.poll() is not None)
    assert seen, "workers did not start"
    assert started.poll() is None, started.communicate()
    time.sleep(1)
    return started, _children(started.pid)


@pytest.mark.parametrize("command", ["audit", "score", "label"])
@pytest.mark.parametrize("how", ["term", "interrupt", "kill"])
def test_nothing_is_left_behind(command: str, how: str, tmp_path: Path) -> None:
    if command != "audit" and how == "interrupt":
        pytest.skip("the same as for audit; score then gives what it has")
    process, workers = _start(_commands(tmp_path)[command], tmp_path)
    if how == "interrupt":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    else:
        process.send_signal({"term": signal.SIGTERM, "kill": signal.SIGKILL}[how])
    out, err = process.communicate(timeout=_SECONDS)
    assert process.returncode == {"term": 143, "interrupt": 130, "kill": -9}[how], err
    assert "Traceback" not in err
    assert out == ""
    assert _until(lambda: not any(map(_alive, workers))), "orphans"
    if how != "kill":
        assert not list((tmp_path / "tmp").iterdir())
        assert not list(tmp_path.glob(".*.part"))


def test_a_killed_worker_is_replaced_and_all_end(tmp_path: Path) -> None:
    arguments = [*AUDIT, "--json"]
    arguments[arguments.index("100000")] = "60"
    process, workers = _start(arguments, tmp_path)
    os.kill(max(workers), signal.SIGKILL)
    out, err = process.communicate(timeout=4 * _SECONDS)
    assert process.returncode == 0, err
    assert out.startswith("{")
    assert _until(lambda: not any(map(_alive, workers)))


def test_a_handler_of_the_caller_is_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert main(["--version"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before
