"""A small build that the tests of the field share: the demo and two small sets, two metrics, one paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
import plainly_lab
from plainly_lab.field_site.build import FieldSite

SETS = ("demo", "pwkp/test", "hsplit/first70")


@pytest.fixture(scope="package")
def built(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> FieldSite:
    place = tmp_path_factory.mktemp("field")
    return plainly_lab.field(
        SETS,
        out=place / "site",
        metrics=["sari", "fkgl"],
        papers=["sle", "fkgl-gaming"],
        cache=place / "cache",
        processes=1,
    )


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from browser.chromium()
