"""Builds of the field site that tests share: a small one, and a large one for browsers and for many systems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
import plainly_lab
from plainly_lab.field_site.build import FieldSite
from plainly_lab.field_site.tasks import SETTINGS

SMALL = {"metrics": ["sari", "fkgl"], "papers": ["tradeoff", "fkgl-gaming"], "processes": 1}


@pytest.fixture(scope="package")
def site(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FieldSite]:
    """Two sets, two metrics, one paper; fewer attacks and ratings than the field has."""
    place = tmp_path_factory.mktemp("field")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SETTINGS, "audit", {**SETTINGS["audit"], "items": 20, "trials": 2, "levels": [1.0]})
        patch.setitem(SETTINGS, "ratings", {"simplicity-da": SETTINGS["ratings"]["simplicity-da"]})
        yield plainly_lab.field(["demo", "pwkp/test"], out=place / "site", cache=place / "cache", **SMALL)  # type: ignore[arg-type]


@pytest.fixture(scope="package")
def large_site(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> FieldSite:
    place = tmp_path_factory.mktemp("field")
    return plainly_lab.field(
        ["demo", "pwkp/test", "hsplit/first70"],
        out=place / "site",
        metrics=["sari", "fkgl"],
        papers=["sle", "fkgl-gaming"],
        cache=place / "cache",
        processes=1,
    )


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from browser.chromium()
