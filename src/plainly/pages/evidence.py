"""What is known about a metric, beside every number it gives: what it measures, what it does not, and who found out."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from plainly.protocol import Metric

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Paper:
    """A paper: its name in a sentence, its address and its BibTeX."""

    key: str
    short: str
    url: str
    bibtex: str


@dataclass(frozen=True)
class Evidence:
    """Two lines on a metric, the papers they rest on, and the page of the documentation that says more."""

    measures: str
    blind: str
    papers: tuple[Paper, ...] = ()
    page: str = ""


@cache
def papers() -> dict[str, Paper]:
    """All papers by key."""
    table = tomllib.loads((_HERE / "papers.toml").read_text(encoding="utf-8"))
    return {key: Paper(key, **entry) for key, entry in table.items()}


@cache
def _known() -> dict[str, Evidence]:
    table = tomllib.loads((_HERE / "evidence.toml").read_text(encoding="utf-8"))
    return {
        name: Evidence(
            entry["measures"], entry["blind"], tuple(papers()[key] for key in entry["papers"]), entry["page"]
        )
        for name, entry in table.items()
    }


def of(metric: Metric) -> Evidence:
    """What is known; for a metric of somebody's own, what it says of itself, and that no study is known to us."""
    return of_class(type(metric))


def of_class(cls: type[Any]) -> Evidence:
    """The same, for the class behind a name."""
    if cls.name in _known():
        return _known()[cls.name]
    told = (cls.__doc__ or "").strip().partition("\n\n")[0]
    blind = getattr(cls, "evidence", "") or "No study of it is known to plainly. Audit it before you rely on it."
    return Evidence(" ".join(told.split()) or f"{cls.name}: its author says nothing about it.", blind)
