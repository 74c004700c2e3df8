"""What is known of the field: how systems score, what fools metrics, whom metrics agree with, what papers printed.

They are written to JSON (schema plainly.field/1) and to the cache of finished tasks. Undefined numbers are None.
"""

from dataclasses import asdict, dataclass

from plainly.core.metric import Better
from plainly.core.result import Record
from plainly.reporting.warning_signs import Alarm
from plainly_lab.reproductions.cells import Cell


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One system on one set by one metric. ``tied`` says that it cannot be told from the best."""

    system: str
    rank: int
    cluster: int | None
    best: bool
    tied: bool
    value: float | None
    low: float | None = None
    high: float | None = None
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
class Warned:
    """What is odd about some texts: a warning's code, where it was seen, and its message."""

    code: str
    where: str | None
    message: str


@dataclass(frozen=True)
class Doubts:
    """The size of a set, what is odd about its texts, and which scores are misleading, of all systems and of each."""

    items: int
    references: tuple[int, ...]
    documents: int | None
    warnings: tuple[Warned, ...]
    alarms: tuple[Alarm, ...]
    alarms_of: dict[str, tuple[str, ...]]
    reference_systems: tuple[str, ...]


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
        return {"name": self.name, **vars(self.about), **asdict(self.doubts), "standings": standings}


@dataclass(frozen=True)
class AttackEffect:
    """What an attack does to a metric (see ``plainly.auditing.verdicts.Effect``)."""

    metric: str
    attack: str
    expected: str
    level: float
    gain: float | None
    spreads: float | None
    wrong: float | None
    wrong_spreads: float | None
    touched: float
    fooled: bool
    what: str


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
    effects: tuple[AttackEffect, ...]


@dataclass(frozen=True)
class Agreement:
    """A correlation of a metric with a dimension that people rated, over outputs or over systems."""

    metric: str
    dimension: str
    level: str
    slice: str
    references: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    confidence: float | None
    n: int
    method: str | None
    p_value: float | None
    p_drawn: float | None
    detail: str | None
    ratings: str
    signature: str


@dataclass(frozen=True)
class Agreements:
    """Whom a metric agrees with, or why that is not known."""

    rows: tuple[Agreement, ...]
    why: str = ""


@dataclass(frozen=True)
class Link:
    """A paper about a metric."""

    short: str
    url: str


@dataclass(frozen=True)
class FieldMetric:
    """A metric: what is known of it, what fools it, and whom it agrees with."""

    name: str
    measures: str
    blind: str
    advice: str
    page: str
    papers: tuple[Link, ...]
    better: Better
    audit: MetricAudit | None
    people: tuple[Agreement, ...]


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
        cells = [{**cell.json(), "decimals": cell.decimals} for cell in self.cells]
        return {**vars(self), "cells": cells}
