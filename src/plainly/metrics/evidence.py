"""What is known about a metric, beside every number it gives: what it measures, what it does not, and who found out."""

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
    """Two lines on a metric, a word of advice beside its scores, the papers, and the page that says more."""

    measures: str
    blind: str
    advice: str = ""
    papers: tuple[Paper, ...] = ()
    page: str = ""


@cache
def papers() -> dict[str, Paper]:
    """All papers by key."""
    table = tomllib.loads((_HERE / "papers.toml").read_text(encoding="utf-8"))
    return {key: Paper(key, **entry) for key, entry in table.items()}


@cache
def known() -> dict[str, Evidence]:
    """What is known of plainly's own metrics, by name."""
    table = tomllib.loads((_HERE / "evidence.toml").read_text(encoding="utf-8"))
    return {
        name: Evidence(**{**entry, "papers": tuple(papers()[key] for key in entry["papers"])})
        for name, entry in table.items()
    }


def evidence(metric: Metric | type[Any]) -> Evidence:
    """What is known of a metric or its class; a metric of somebody's own may say so itself (``evidence``)."""
    cls = metric if isinstance(metric, type) else type(metric)
    if cls.__module__.startswith("plainly.") and cls.name in known():
        return known()[cls.name]
    told = " ".join((cls.__doc__ or "").strip().partition("\n\n")[0].split())
    own = getattr(metric, "evidence", "")
    return Evidence(
        told or f"{cls.name}: its author says nothing about it.",
        own or "No study of it is known to plainly. Audit it before you rely on it.",
        advice=own,
    )
