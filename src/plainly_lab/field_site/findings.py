"""The findings about the field: how systems score, what fools metrics, how they agree with people, what papers printed.

All of it can be written to JSON (schema plainly.field/1) and to the cache of finished tasks. Undefined numbers are NaN.
"""

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property

import plainly
from plainly.auditing.attacks import ATTACKS
from plainly.auditing.verdicts import Effect
from plainly.core.formatting import count_noun
from plainly.core.metric import Better
from plainly.core.result import Note, Record
from plainly.core.tables import jsonable
from plainly.metrics.evidence import Evidence
from plainly.people.correlations import MetricCorrelation
from plainly.reporting.findings import Alarm
from plainly_lab.reproductions.cells import Cell


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One system on one set by one metric. ``tied``: it is not significantly different from the best."""

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
    """The size of a set, warnings about its texts, and misleading scores, of all systems and of each."""

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
class Sample:
    """An output of a system beside its source, with the score of the set's first metric."""

    id: str
    source: str
    output: str
    value: float
    is_worst: bool


@dataclass(frozen=True)
class FieldSet:
    """A test set, and the standings on it by metric."""

    name: str
    about: dict[str, str]  # what its card says: title, description, licence, homepage, notes
    doubts: Doubts
    standings: dict[str, Standings]
    samples: dict[str, tuple[Sample, ...]] = field(default_factory=dict)

    @property
    def by_metric(self) -> dict[str, dict[str, Standing]]:
        """The standing of each system, by metric and system."""
        return {spec: {row.system: row for row in of.systems} for spec, of in self.standings.items()}

    @property
    def systems(self) -> list[str]:
        """The systems, ranked by the first metric."""
        return [standing.system for standing in next(iter(self.standings.values())).systems]

    def json(self) -> Record:
        standings = {spec: standings.json() for spec, standings in self.standings.items()}
        return {"name": self.name, **self.about, **self.doubts.json(), "standings": standings}


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
    """A metric: the evidence about it, what fools it, and how it agrees with people."""

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
    """A paper computed again, or the reason ``why`` it was not; ``recipe_notes`` explain its recipe."""

    name: str
    title: str
    cells: tuple[Cell, ...] = ()
    conclusions: tuple[str, ...] = ()
    recipe_notes: tuple[str, ...] = ()
    why: str = ""

    def json(self) -> Record:
        return {**vars(self), "cells": [{**cell.json(), "decimals": cell.decimals} for cell in self.cells]}


@dataclass(frozen=True)
class Field:
    """The state of the field: sets, metrics and papers, each with a page."""

    sets: tuple[FieldSet, ...]
    metrics: tuple[FieldMetric, ...]
    papers: tuple[Paper, ...]
    built: str
    done: int = 0  # pieces of work that were done now; the others were in the cache
    total: int = 0
    left_out: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    history: tuple[Record, ...] = ()  # what changed in earlier builds, the latest first

    @cached_property
    def systems(self) -> dict[str, dict[str, dict[str, tuple[Standing, Standings]]]]:
        """The standing of each system by set and metric, with the standings that contain it."""
        by_system: dict[str, dict[str, dict[str, tuple[Standing, Standings]]]] = {}
        for test_set in self.sets:
            for spec, standings in test_set.standings.items():
                for standing in standings.systems:
                    by_set = by_system.setdefault(standing.system, {})
                    by_set.setdefault(test_set.name, {})[spec] = standing, standings
        return dict(sorted(by_system.items(), key=lambda entry: entry[0].lower()))

    def json(self) -> Record:
        """Schema plainly.field/1: everything that the pages show."""
        record: Record = jsonable(
            {
                "schema": "plainly.field/1",
                "version": plainly.__version__,
                "built": self.built,
                "sets": [test_set.json() for test_set in self.sets],
                "metrics": [metric.json() for metric in self.metrics],
                "papers": [paper.json() for paper in self.papers],
                "left_out": self.left_out,
                "changes": self.changes,
                "history": self.history,
                "warnings": [note.json() for note in self.notes()],
            }
        )
        return record

    def notes(self) -> list[Note]:
        """Return what was done now and what was left out."""
        done = f"{self.done} of {count_noun(self.total, 'piece')} of work were done now, the others were in the cache."
        return [Note(done), *(Note(f"Left out: {reason}.") for reason in self.left_out)]
