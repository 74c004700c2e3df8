"""A test that forgets to say what it needs fails on every machine, not only on a bare one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

# No test here sends anything, whether it is refused or not: names under .invalid have no address, and the connection to
# an address is announced as Python itself announces it, without being made.
TESTS = """
import os, socket, subprocess, sys, urllib.request
from pathlib import Path
import pytest

DOWNLOAD = "import urllib.request; urllib.request.urlopen('https://data.invalid/file')"

def connect(host):
    with socket.socket() as connection:
        sys.audit("socket.connect", connection, (host, 443))

def test_name():
    urllib.request.urlopen("https://data.invalid/file")

def test_address():
    connect("203.0.113.1")

def test_caught():
    try:
        connect("203.0.113.1")
    except BaseException:
        pass

def test_child():
    subprocess.run([sys.executable, "-c", DOWNLOAD], check=False, capture_output=True)

@pytest.fixture(scope="module")
def table():
    connect("203.0.113.1")

def test_fixture(table):
    pass

def test_mirror_is_hidden():
    assert "PLAINLY_MIRROR" not in os.environ
    assert not Path(os.environ["PLAINLY_CACHE"]).exists()

def test_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        connect(socket.gethostname())

@pytest.mark.mirror
def test_marked_mirror():
    assert Path(os.environ["PLAINLY_MIRROR"]).is_dir()
    connect("203.0.113.1")

@pytest.mark.packages
def test_marked_packages():
    connect("203.0.113.1")
"""
REFUSED = ("name", "address", "caught", "child", "fixture")
ALLOWED = ("mirror_is_hidden", "this_machine", "marked_mirror", "marked_packages")


def _run(folder: Path, *arguments: str, **environment: str) -> str:
    (folder / "test_planted.py").write_text(TESTS, encoding="utf-8")
    guard = str(ROOT / "tests" / "guard")
    conftest = f"import sys\nsys.path.insert(0, {guard!r})\npytest_plugins = ['isolation']\n"
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    own = ("CI", "PYTHONPATH", "PLAINLY_TEST_REFUSED")  # what this test run itself has set
    inherited = {name: value for name, value in os.environ.items() if name not in own}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "--tb=short", "-p", "no:cacheprovider", *arguments],
        cwd=folder, env=inherited | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("planted")
    return _run(folder, PLAINLY_MIRROR=str(folder))


@pytest.mark.parametrize("name", REFUSED)
def test_connections_are_refused_with_the_name_of_the_test_and_of_the_marks(report: str, name: str) -> None:
    assert f"PASSED test_planted.py::test_{name}" not in report
    host = "data.invalid" if name in ("name", "child") else "203.0.113.1"
    (line,) = {line for line in report.splitlines() if f"test_planted.py::test_{name} tried to connect" in line[-400:]}
    assert host in line
    assert "@pytest.mark.mirror" in line
    assert "@pytest.mark.packages" in line


@pytest.mark.parametrize("name", ALLOWED)
def test_what_a_test_may_do(report: str, name: str) -> None:
    assert f"PASSED test_planted.py::test_{name}" in report


@pytest.mark.parametrize("ci", [False, True])
def test_without_public_data_marked_tests_are_skipped_except_in_ci(tmp_path: Path, ci: bool) -> None:
    missing = str(tmp_path / "missing")
    report = _run(tmp_path, "-k", "marked_mirror", PLAINLY_MIRROR=missing, **({"CI": "true"} if ci else {}))
    assert ("1 skipped" in report) is not ci
    assert ("1 error" in report) is ci
