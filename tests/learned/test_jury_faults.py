"""What servers do wrong: nothing is lost, nothing is paid for twice, and what cannot be repaired is said."""

from __future__ import annotations

import email.utils
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from judge_server import FAULTS, JudgeServer, hashed_points, random_faults, run_server, write_judges
from plainly.core import registry
from plainly.core.calls import call_options
from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats

TEXTS = [f"Text number {number}." for number in range(10_000)]
SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from plainly.core import registry
from plainly.core.calls import call_options
from plainly.core.evalset import EvalSet

texts = [f"Text number {number}." for number in range(int(sys.argv[2]))]
with call_options(judges=sys.argv[1]) as run:
    rows = registry.metric("judge").measure(EvalSet.of(texts), texts)
np.save(sys.argv[3], rows)
print(run.used.calls)
"""

PROGRAM = """
import signal, sys
from plainly.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    with run_server() as server:
        yield server


def _measure(server: JudgeServer, folder: Path, n: int = 6, **settings: object) -> Floats:
    judges = write_judges(folder / "judges.toml", server.port, **settings)
    with call_options(judges=judges):
        return registry.metric("judge").measure(EvalSet.of(TEXTS[:n]), TEXTS[:n])


def _expected(n: int) -> list[float]:
    return [hashed_points({"original": text, "simplified": text}, "quality") for text in TEXTS[:n]]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_is_survived(server: JudgeServer, tmp_path: Path, fault: str) -> None:
    server.fault = lambda number: fault if number % 2 == 0 and number < 8 else ""
    server.slowness = 2.0
    rows = _measure(server, tmp_path, timeout=0.5, concurrency=2)
    assert rows[:, 0].tolist() == _expected(6)
    assert server.count > 6
    assert set(server.answered.values()) == {1}


@pytest.mark.parametrize("fault", ["429", "500", "malformed", "truncated", "drop"])
def test_a_fault_that_stays_is_an_error_that_keeps_the_answers(server: JudgeServer, tmp_path: Path, fault: str) -> None:
    server.fault = lambda number: fault if number >= 3 else ""
    with pytest.raises(BadInput, match=r"4 attempts.*kept"):
        _measure(server, tmp_path, attempts=4, concurrency=1)
    assert server.count == 3 + 4
    server.fault = lambda number: ""
    assert _measure(server, tmp_path, concurrency=1)[:, 0].tolist() == _expected(6)
    assert server.count == 3 + 4 + 3


@pytest.mark.parametrize(("fault", "most"), [("401", 1), ("403", 1), ("404", 1), ("400", 6), ("413", 6), ("422", 6)])
def test_a_request_that_the_server_refuses_is_not_repeated(
    server: JudgeServer, tmp_path: Path, fault: str, most: int
) -> None:
    server.fault = lambda number: fault
    with pytest.raises(BadInput, match=fault):
        _measure(server, tmp_path, concurrency=1)
    sent = [str(body["messages"]) for body in server.requests]
    assert len(sent) == len(set(sent)) == most


@pytest.mark.parametrize("at", [0, 3, 5])
@pytest.mark.parametrize("fault", ["400", "413", "422"])
def test_a_text_that_the_server_refuses_has_no_score_and_does_not_stop_the_others(
    server: JudgeServer, tmp_path: Path, fault: str, at: int
) -> None:
    server.fault = lambda number: fault if number == at else ""
    judges, metric = write_judges(tmp_path / "judges.toml", server.port, concurrency=1), registry.metric("judge")
    with call_options(judges=judges, record=tmp_path / "run.jsonl") as run:
        rows = metric.measure(EvalSet.of(TEXTS[:6]), TEXTS[:6])
    points = metric.score(rows)[:, 0]
    assert np.isnan(points).nonzero()[0].tolist() == [at]
    assert [value for value in points.tolist() if value == value] == [
        value for number, value in enumerate(_expected(6)) if number != at
    ]
    assert rows[:, 1].tolist() == [100.0 * (number == at) for number in range(6)]
    assert [warning.code for warning in run.warnings] == ["judge-unparsed"]
    assert fault in run.warnings[0].message
    with call_options(replay=tmp_path / "run.jsonl"):
        np.testing.assert_array_equal(metric.measure(EvalSet.of(TEXTS[:6]), TEXTS[:6]), rows)
    assert server.count == 6
    assert _measure(server, tmp_path)[:, 0].tolist() == _expected(6), "asked again, since it cost nothing"
    assert server.count == 7


def test_a_server_that_refuses_everything_from_some_point_stops_the_run(server: JudgeServer, tmp_path: Path) -> None:
    server.fault = lambda number: "400" if number >= 5 else ""
    with pytest.raises(BadInput, match="400"):
        _measure(server, tmp_path, n=100, concurrency=1)
    assert server.count == 5 + 10


def test_the_server_decides_how_long_to_wait(server: JudgeServer, tmp_path: Path) -> None:
    server.fault = lambda number: "429-after" if number == 0 else ""
    for seconds in ("0.6", None):
        # A date has whole seconds, and the time until the request counts too.
        moment = seconds or email.utils.formatdate(time.time() + 4, usegmt=True)
        server.count, server.retry_after = 0, moment
        start = time.monotonic()
        _measure(server, tmp_path, n=1, max_tokens=100 + len(moment))
        assert time.monotonic() - start > 0.5
        assert server.count == 2


def test_a_rate_limit_holds_back_all_requests(server: JudgeServer, tmp_path: Path) -> None:
    server.retry_after = "0.5"
    server.fault = lambda number: "429-after" if number == 0 else ""
    start = time.monotonic()
    _measure(server, tmp_path, n=6, concurrency=2)
    assert time.monotonic() - start > 0.5
    assert server.count == 7


def test_a_refusal_has_no_score(server: JudgeServer, tmp_path: Path) -> None:
    server.fault = lambda number: "refusal" if number == 2 else ""
    rows = _measure(server, tmp_path, concurrency=1)
    assert np.isnan(registry.metric("judge").score(rows)[:, 0]).tolist() == [False, False, True, False, False, False]
    assert rows[:, 1].tolist() == [0, 0, 100, 0, 0, 0]


def test_a_server_that_is_not_there_is_named_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    judges = write_judges(tmp_path / "judges.toml", 9)
    with call_options(judges=judges), pytest.raises(BadInput, match=r"127\.0\.0\.1:9 cannot be reached \(3 attempts\)"):
        registry.metric("judge").measure(EvalSet.of(TEXTS[:2]), TEXTS[:2])


def test_a_cache_that_cannot_be_written_stops_the_run_before_anything_is_paid(
    server: JudgeServer, tmp_path: Path
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "answers.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(BadInput, match="PLAINLY_CACHE"):
        _measure(server, tmp_path)
    assert server.count == 0


@pytest.mark.long
def test_ten_thousand_calls_with_faults_lose_and_duplicate_nothing(server: JudgeServer, tmp_path: Path) -> None:
    server.keep = False
    server.fault = random_faults(0.2)
    rows = _measure(server, tmp_path, n=10_000, concurrency=32, attempts=12)
    assert rows[:, 0].tolist() == _expected(10_000)
    assert rows[:, 2].tolist() == [1] * 10_000
    assert len(server.answered) == 10_000
    assert set(server.answered.values()) == {1}
    assert 11_500 < server.count < 13_500


@pytest.mark.long
def test_a_killed_run_continues_where_it_was(server: JudgeServer, tmp_path: Path) -> None:
    server.keep, server.delay = False, 0.005
    n, out = 3000, tmp_path / "rows.npy"
    judges = write_judges(tmp_path / "judges.toml", server.port, concurrency=8)
    command = [sys.executable, "-c", SCRIPT, str(judges), str(n), str(out)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    process = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 120
    while server.count < 500 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed_at = server.count
    assert 500 <= killed_at < n
    assert not out.exists()
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert np.load(out)[:, 0].tolist() == _expected(n)
    # Only what was under way when the process died is asked for again.
    assert server.count - n <= 8
    assert n - killed_at <= int(result.stdout) <= n - killed_at + 8


@pytest.mark.long
@pytest.mark.parametrize("delay", [0.0, 0.1])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_is_asked_to_end_ends_at_once(
    server: JudgeServer, tmp_path: Path, number: signal.Signals, status: int, delay: float
) -> None:
    server.keep, server.delay = False, delay
    judges = write_judges(tmp_path / "judges.toml", server.port, concurrency=16)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS[:5000]), encoding="utf-8")
    arguments = ["score", "texts.txt", "--source", "texts.txt", "-m", "judge", "--judges", str(judges)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while server.count < 300 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    count = server.count
    _, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    assert "Traceback" not in errors
    assert server.count < count + 1000
    answered, server.count = server.count, 0
    server.delay = 0
    assert _measure(server, tmp_path, n=400)[:, 0].tolist() == _expected(400)
    assert server.count <= max(0, 400 - answered) + 16, "answers are kept"


TIMED = """
import resource, sys, time
from plainly.core import registry
from plainly.core.calls import call_options
from plainly.core.evalset import EvalSet

texts = [f"Text number {number}." for number in range(2000)]
metric, evalset = registry.metric("judge"), EvalSet.of(texts)
memory, processor, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time(), time.monotonic()
with call_options(judges=sys.argv[1]):
    rows = metric.measure(evalset, texts)
assert not (metric.score(rows) != metric.score(rows)).any()
print(time.monotonic() - clock, time.process_time() - processor)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024)
"""


@pytest.mark.long
def test_two_thousand_calls_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server, in a process of its own, waits 50 ms a call; one after the other they would take 100 seconds."""
    monkeypatch.setenv("PLAINLY_CACHE", str(tmp_path / "cache"))
    program = [sys.executable, str(ROOT / "tests" / "judge_server.py"), "--delay", "0.05"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            judges = write_judges(tmp_path / "judges.toml", int(server.stdout.readline()), concurrency=32)
            is_quiet = os.getloadavg()[0] < (os.cpu_count() or 1) / 2
            command = [sys.executable, "-c", TIMED, str(judges)]
            result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        finally:
            server.kill()
    clock, processor, memory = map(float, result.stdout.split())
    assert memory < 80, "megabytes"
    assert processor < 6, "beside 3.1 seconds of waiting"
    assert clock < (8 if is_quiet else 50)
