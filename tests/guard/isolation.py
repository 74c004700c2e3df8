"""The pytest hooks behind the marks ``mirror`` and ``packages``: what a test may reach, and what it finds.

A test without a mark runs as in a bare clone, whatever lies on the machine: no mirror, an empty cache, no connections.
"""

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import connections
import pytest

MIRROR = "PLAINLY_MIRROR"
CACHE = "PLAINLY_CACHE"
_DEFAULT_MIRROR = Path(__file__).resolve().parents[2].parent / "shared" / "mirror"
_TEMPORARY = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
_MIRROR_DIRECTORY = pytest.StashKey[Path | None]()

connections.install()


def pytest_configure(config: pytest.Config) -> None:
    directory = Path(os.environ.get(MIRROR) or _DEFAULT_MIRROR)
    config.stash[_MIRROR_DIRECTORY] = directory if directory.is_dir() else None
    config.stash[_TEMPORARY] = temporary = tempfile.TemporaryDirectory(prefix="plainly-tests-")
    os.environ[CACHE] = str(Path(temporary.name) / "cache")
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_TEMPORARY].cleanup()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that uses the fixture ``mirror``, itself or through another fixture, has the mark."""
    for item in items:
        if "mirror" in getattr(item, "fixturenames", ()):
            item.add_marker("mirror")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Prepare the environment before any fixture runs, also one that is shared by several tests."""
    log = _refusals(item.config)
    log.unlink(missing_ok=True)
    os.environ.pop(MIRROR, None)
    os.environ.pop(connections.LOG, None)
    if item.get_closest_marker("mirror"):
        os.environ[MIRROR] = str(_mirror_directory(item.config))
    elif not item.get_closest_marker("packages"):
        os.environ[connections.LOG] = str(log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    yield
    log = _refusals(item.config)
    if log.exists():
        pytest.fail(log.read_text(encoding="utf-8"), pytrace=False)


def _refusals(config: pytest.Config) -> Path:
    """The file to which refused connections of the current test are written."""
    return Path(config.stash[_TEMPORARY].name) / "refused"


@pytest.fixture(scope="session")
def mirror(pytestconfig: pytest.Config) -> Path:
    """The directory of mirrored public data."""
    return _mirror_directory(pytestconfig)


def _mirror_directory(config: pytest.Config) -> Path:
    """The directory of mirrored public data. Without one the test is skipped, and fails in CI."""
    directory = config.stash[_MIRROR_DIRECTORY]
    if directory is not None:
        return directory
    if os.environ.get("CI"):
        pytest.fail("In CI the public data must be there: set PLAINLY_MIRROR, or put the mirror at ../shared/mirror")
    pytest.skip("needs public data: set PLAINLY_MIRROR to a mirror, a directory laid out as host/path")
