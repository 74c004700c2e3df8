"""What is known of the field: how systems score, what fools metrics, whom metrics agree with, what papers printed.

All of it can be written to JSON (schema plainly.field/1) and to the cache of finished tasks. Undefined numbers are NaN.
"""

import math
from dataclasses import asdict, dataclass

from plainly.auditing.attacks import ATTACKS
from plainly.auditing.verdicts import Effect
from plainly.core.metric import Better
from plainly.core.result import Note, Record
from plainly.metrics.evidence import Evidence
from plainly.people.correlations import MetricCorrelation
from plainly.reporting.findings import Alarm
from plainly_lab.reproductions.cells import Cell


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One system on one set by one metric. ``tied`` says that it cannot be told from the best."""

    system: str
    rank: int
    cluster: int | None
    best: bool
    tied: bool
    value: float
    low: float = math.nan
    high: float = math.nan
    level: float | None = None  # of the interval; None: there is none
    n: int
    undefined: int
    signature: str
    seeds: tuple[float, ...]  # the scores of several trainings, if there are several

    def json(self) -> Record:
        absent = ("low", "high", "level") if self.level is None else ()
        return {name: value for name, value in vars(self).items() if name not in absent}


@dataclass(frozen=True)
class Standings:
    """All systems of a set by one metric, best first, and how they were compared."""

    better: Better
    output: str
    systems: tuple[Standing, ...]
    clusters: int
    test: str | None
    draws: int | None
    pairs: int
    method: str | None

    def json(self) -> Record:
        return {**vars(self), "systems": [standing.json() for standing in self.systems]}


@dataclass(frozen=True)
class Doubts:
    """The size of a set, what is odd about its texts, and which scores are misleading, of all systems and of each."""

    items: int
    references: tuple[int, ...]
    documents: int | None
    warnings: tuple[Note, ...]
    alarms: tuple[Alarm, ...]
    alarms_of: dict[str, tuple[str, ...]]
    reference_systems: tuple[str, ...]

    def json(self) -> Record:
        keys = ("code", "where", "message")
        return asdict(self) | {"warnings": [{key: getattr(note, key) for key in keys} for note in self.warnings]}


@dataclass(frozen=True)
class Description:
    """What its card says of a set."""

    title: str
    description: str
    licence: str = ""
    homepage: str = ""
    notes: str = ""


@dataclass(frozen=True)
class FieldSet:
    """A test set, and the standings on it by metric."""

    name: str
    about: Description
    doubts: Doubts
    standings: dict[str, Standings]

    def json(self) -> Record:
        standings = {spec: standings.json() for spec, standings in self.standings.items()}
        return {"name": self.name, **vars(self.about), **self.doubts.json(), "standings": standings}


@dataclass(frozen=True)
class MetricAudit:
    """What a metric can be fooled by, on some items of some systems."""

    test_set: str
    systems: tuple[str, ...]
    items: int
    trials: int
    seed: int
    signature: str
    verdict: str
    effects: tuple[Effect, ...]

    def json(self) -> Record:
        effects = [
            {**vars(effect), "fooled": effect.fooled, "what": ATTACKS[effect.attack].what} for effect in self.effects
        ]
        return {**vars(self), "effects": effects}


@dataclass(frozen=True)
class Agreement:
    """How a metric correlates with a dimension that people rated, over outputs or over systems."""

    ratings: str
    signature: str
    correlation: MetricCorrelation

    def json(self) -> Record:
        return {**self.correlation.record(), "ratings": self.ratings, "signature": self.signature}


@dataclass(frozen=True)
class FieldMetric:
    """A metric: what is known of it, what fools it, and whom it agrees with."""

    name: str
    evidence: Evidence
    better: Better
    audit: MetricAudit | None
    people: tuple[Agreement, ...]

    def json(self) -> Record:
        return {
            "name": self.name,
            **{key: getattr(self.evidence, key) for key in ("measures", "blind", "advice", "page")},
            "papers": [{"short": paper.short, "url": paper.url} for paper in self.evidence.papers],
            "better": self.better,
            "audit": self.audit.json() if self.audit else None,
            "people": [agreement.json() for agreement in self.people],
        }


@dataclass(frozen=True)
class Paper:
    """A paper computed again, or ``why`` it was not; ``known`` is what its recipe found out."""

    name: str
    title: str
    cells: tuple[Cell, ...] = ()
    conclusions: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    why: str = ""

    def json(self) -> Record:
        return {**vars(self), "cells": [{**cell.json(), "decimals": cell.decimals} for cell in self.cells]}
