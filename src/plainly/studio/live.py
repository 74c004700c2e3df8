"""The running project in figures: how far, how fast, how well people agree, who stands apart, what is open."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.studio import tasks
from plainly.studio.agreement import Coded, Level
from plainly.studio.ledger import Answer, Ledger
from plainly.studio.project import Project

_GROWTH = 10
_PACE_SECONDS = 3600.0
_FEW = 5
_LOUD = 2.5
_Z = 1.959963984540054


@dataclass(frozen=True)
class Column:
    """One question's answers: which unit, which rater, which value."""

    name: str
    level: Level
    coded: Coded
    raters: npt.NDArray[np.str_]
    values: npt.NDArray[np.float64]
    systems: npt.NDArray[np.str_]

    def alpha(self, first: int | None = None) -> float:
        return self.coded.alpha(level=self.level, first=first)


def overview(ledger: Ledger, project: Project) -> dict[str, Any]:
    """Everything that the dashboard shows."""
    answers = ledger.answers()
    columns = list(measured(ledger, project, answers))
    total = sum(one.kind == "main" for one in ledger.items.values()) * project.assignment.overlap
    pace = _pace(answers)
    left = max(0, total - len(answers))
    return {
        "answers": len(answers),
        "wanted": total,
        "ratings": sum(len(one.values) for one in answers) if project.task == "rating" else len(answers),
        "cannot_judge": sum(bool(one.payload.get("cannot_judge")) for one in answers),
        "late": sum(one.late for one in answers),
        "pace_per_hour": pace,
        "hours_left": left / pace if pace else math.nan,
        "median_seconds": _median([one.seconds for one in answers if one.seconds is not None]),
        "agreement": [_agreement(column) for column in columns],
        "raters": raters(ledger, project, answers, columns),
        "precision": list(precision(columns, answers, project, ledger, pace)) if project.task == "rating" else [],
    }


def measured(ledger: Ledger, project: Project, answers: Sequence[Answer]) -> Iterator[Column]:
    """The columns on which agreement is measured: scales, labels of tokens, or the version chosen."""
    if project.task == "rating":
        for scale in project.scales:
            rows = [(one.item, one.rater, one.values.get(scale.name)) for one in answers]
            yield _column(scale.name, scale.level, [row for row in rows if row[2] is not None], ledger)
    elif project.task == "operations":
        yield from _token_columns(ledger, answers)
    else:
        names: dict[str, int] = {}
        rows = []
        for one in answers:
            choice = one.payload.get("choice", {})
            best = "tie" if choice.get("tie") else choice.get("best_system")
            if best is not None:
                rows.append((one.item, one.rater, float(names.setdefault(best, len(names)))))
        yield _column("best", "nominal", rows, ledger)


def _column(name: str, level: Level, rows: Sequence[tuple[int, str, float | None]], ledger: Ledger) -> Column:
    values = np.array([row[2] for row in rows], dtype=np.float64)
    return Column(
        name,
        level,
        Coded.of(np.array([row[0] for row in rows], dtype=np.int64), values),
        np.array([row[1] for row in rows], dtype=np.str_),
        values,
        np.array([ledger.items[row[0]].system for row in rows], dtype=np.str_),
    )


def _token_columns(ledger: Ledger, answers: Sequence[Answer]) -> Iterator[Column]:
    """Each token's label, as the annotation paper measures agreement: each side by itself, then each label."""
    marked = [one for one in answers if "groups" in one.payload]
    names = ["none", *sorted({label for one in marked for group in one.payload["groups"] for label in group["labels"]})]
    number = {name: at for at, name in enumerate(names)}
    marks: list[npt.NDArray[np.int64]] = []
    units: list[npt.NDArray[np.int64]] = []
    begins: dict[tuple[int, int], int] = {}
    sides: list[npt.NDArray[np.int64]] = []
    end = 0
    for one in marked:
        unit = ledger.items[one.item]
        for side, text in enumerate((unit.source, unit.output)):
            many = len(tasks.spans(text, unit.tokens))
            found = np.zeros(many, dtype=np.int64)
            for group in reversed(one.payload["groups"]):
                found[group["source" if side == 0 else "output"]] = number[group["labels"][0]]
            if (one.item, side) not in begins:
                begins[one.item, side] = end
                end += many
            marks.append(found)
            units.append(np.arange(many) + begins[one.item, side])
            sides.append(np.full(many, side))
    if not marks:
        return
    mark, unit_number, which = np.concatenate(marks), np.concatenate(units), np.concatenate(sides)
    lengths = [len(found) for found in marks]
    raters = np.repeat(np.array([one.rater for one in marked for _ in range(2)], dtype=np.str_), lengths)
    systems = np.repeat(np.array([ledger.items[one.item].system for one in marked for _ in range(2)]), lengths)

    def column(name: str, values: npt.NDArray[np.int64], points: int, chosen: npt.NDArray[np.bool_]) -> Column:
        coded = Coded(unit_number[chosen], values[chosen], np.arange(points, dtype=np.float64))
        return Column(name, "nominal", coded, raters[chosen], values[chosen].astype(np.float64), systems[chosen])

    for side, title in enumerate(("source", "output")):
        yield column(f"tokens of the {title}", mark, len(names), which == side)
    everywhere = np.ones(len(mark), dtype=np.bool_)
    for at, name in enumerate(names[1:], 1):
        yield column(name, (mark == at).astype(np.int64), 2, everywhere)


def _agreement(column: Column) -> dict[str, Any]:
    many = len(column.values)
    cuts = sorted({round(many * part / _GROWTH) for part in range(1, _GROWTH + 1)} - {0})
    sizes = np.bincount(column.coded.units)
    return {
        "name": column.name,
        "level": column.level,
        "alpha": column.alpha(),
        "ratings": many,
        "compared": int((sizes > 1).sum()),
        "growth": [{"ratings": cut, "alpha": column.alpha(cut)} for cut in cuts],
    }


def raters(
    ledger: Ledger, project: Project, answers: Sequence[Answer], columns: Sequence[Column]
) -> list[dict[str, Any]]:
    """Each rater's amount, speed, distance from the others and missed checks; with the reasons to look closer."""
    mine: dict[str, list[Answer]] = defaultdict(list)
    for one in answers:
        mine[one.rater].append(one)
    checks: dict[str, list[bool]] = defaultdict(list)
    for one in ledger.answers("check"):
        checks[one.rater].append(tasks.agrees(project, one.payload, ledger.items[one.item].expected or {}))
    apart = _apart(columns[:2] if project.task == "operations" else columns)
    middle = _median([one.seconds for one in answers if one.seconds is not None])
    spread = [value for value, count in apart.values() if count >= _FEW]
    found = []
    for name in sorted(mine, key=lambda one: -len(mine[one])):
        distance, count = apart.get(name, (math.nan, 0))
        own = _median([one.seconds for one in mine[name] if one.seconds is not None])
        reasons = []
        if count >= _FEW and len(spread) > 2 and (z := _z(distance, spread)) > _LOUD:
            reasons.append(f"far from the others (z = {z:.1f})")
        if own < middle / 3 and len(mine[name]) >= _FEW:
            reasons.append("three times as fast as usual")
        if checks[name] and sum(checks[name]) < len(checks[name]) / 2:
            reasons.append("missed most checks")
        found.append(
            {
                "rater": name,
                "answers": len(mine[name]),
                "seconds": own,
                "distance": distance,
                "compared": count,
                "checks": f"{sum(checks[name])}/{len(checks[name])}" if checks[name] else "",
                "reasons": reasons,
            }
        )
    return found


def _apart(columns: Sequence[Column]) -> dict[str, tuple[float, int]]:
    """For each rater the mean distance from the others' mean on the same unit, in standard deviations of the column
    (a share of disagreement where values have no order)."""
    sums: dict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for column in columns:
        if not len(column.values):
            continue
        unit = column.coded.units
        size = np.bincount(unit)
        others = size[unit] - 1
        compared = others > 0
        if column.level == "nominal":
            cell = unit * len(column.coded.points) + column.coded.values
            same = np.bincount(cell)[cell] - 1
            away = 1.0 - same[compared] / others[compared]
        else:
            total = np.bincount(unit, weights=column.values)
            mean = (total[unit] - column.values)[compared] / others[compared]
            scale = float(column.values.std())
            if not scale:
                continue
            away = np.abs(column.values[compared] - mean) / scale
        names, place = np.unique(column.raters[compared], return_inverse=True)
        for name, amount, times in zip(names, np.bincount(place, weights=away), np.bincount(place), strict=True):
            sums[str(name)] += float(amount)
            counts[str(name)] += int(times)
    return {name: (sums[name] / counts[name], counts[name]) for name in sums}


def precision(
    columns: Sequence[Column], answers: Sequence[Answer], project: Project, ledger: Ledger, pace: float
) -> Iterator[dict[str, Any]]:
    """Each system's mean with the half-width of its 95 % interval: now, in an hour at this pace, and at the end."""
    planned = Counter(one.system for one in ledger.items.values() if one.kind == "main")
    for column in columns:
        for system in np.unique(column.systems):
            chosen = column.systems == system
            _, unit = np.unique(column.coded.units[chosen], return_inverse=True)
            means = np.bincount(unit, weights=column.values[chosen]) / np.bincount(unit)
            n, whole = len(means), planned[str(system)]
            sd = float(means.std(ddof=1)) if n > 1 else math.nan
            share = pace / max(1, len(planned)) / max(1, project.assignment.overlap)
            yield {
                "dimension": column.name,
                "system": str(system),
                "mean": float(means.mean()),
                "items": n,
                "now": _Z * sd / math.sqrt(n),
                "in_an_hour": _Z * sd / math.sqrt(min(whole, n + share)),
                "at_the_end": _Z * sd / math.sqrt(whole),
            }


def disagreements(ledger: Ledger, project: Project, *, most: int = 50) -> list[dict[str, Any]]:
    """The items on which raters differ most, the widest first."""
    answers: dict[int, list[Answer]] = defaultdict(list)
    for one in ledger.answers():
        if not one.payload.get("cannot_judge"):
            answers[one.item].append(one)
    scored = []
    for item_id, given in answers.items():
        if len(given) < 2:
            continue
        spread = _spread(project, given)
        if spread > 0:
            scored.append((spread, item_id, given))
    scored.sort(key=lambda row: (-row[0], row[1]))
    return [
        {"item": ledger.items[item_id], "spread": spread, "answers": given} for spread, item_id, given in scored[:most]
    ]


def _spread(project: Project, given: Sequence[Answer]) -> float:
    if project.task == "rating":
        widths = []
        for scale in project.scales:
            values = [value for one in given if (value := one.values.get(scale.name)) is not None]
            if len(values) > 1:
                widths.append((max(values) - min(values)) / (scale.maximum - scale.minimum))
        return max(widths, default=0.0)
    if project.task == "operations":
        used = [{label for group in one.payload["groups"] for label in group["labels"]} for one in given]
        union = set().union(*used)
        return 1 - len(set.intersection(*used)) / len(union) if union else 0.0
    best = Counter(str(one.payload["choice"].get("best_system", "tie")) for one in given)
    return 1 - best.most_common(1)[0][1] / len(given)


def enough(ledger: Ledger, project: Project) -> bool:
    """Whether the stop rule on precision is met: every system's mean on every scale is known well enough."""
    limit = project.stop.half_width
    if not limit or project.task != "rating":
        return False
    answers = ledger.answers()
    rows = list(precision(list(measured(ledger, project, answers)), answers, project, ledger, 0.0))
    systems = {one.system for one in ledger.items.values() if one.kind == "main"}
    return len(rows) == len(systems) * len(project.scales) and all(row["now"] <= limit for row in rows)


def _pace(answers: Sequence[Answer]) -> float:
    """Answers an hour over the last hour of work, or over all of it while it is shorter."""
    now = time.time()
    recent = [one.at for one in answers if now - one.at < _PACE_SECONDS]
    if len(recent) < 2:
        return 0.0
    return len(recent) / max(now - recent[0], 60.0) * 3600


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else math.nan


def _z(value: float, among: Sequence[float]) -> float:
    """How far out, by median and median deviation, which an outlier cannot move."""
    middle = float(np.median(among))
    deviation = 1.4826 * float(np.median(np.abs(np.asarray(among) - middle)))
    return (value - middle) / deviation if deviation else 0.0
