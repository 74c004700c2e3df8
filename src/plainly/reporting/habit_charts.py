"""What systems do beside what people do: habits and operations."""

import math
from collections.abc import Iterator
from typing import Any

from plainly.core import plots as style
from plainly.core.formatting import label, number, short
from plainly.core.plots import WIDTH, altair, room_for, themed
from plainly.reporting.figures import Heat, Strip, Strips
from plainly.reporting.habits import Habit
from plainly.reporting.marks import chart, down
from plainly.reporting.operation_spans import PlacedOperations
from plainly.reporting.overview import Overview
from plainly.reporting.panel import Panel

MOST_OPERATIONS = 14


def habit_plots(overview: Overview) -> Iterator[Panel]:
    """What do systems do, beside people?"""
    for habit in overview.habits:
        if habit.defined:
            yield Panel(f"habit-{habit.key}", "habits", habit.title, _caption(habit), _habit(overview, habit))


def _habit(overview: Overview, habit: Habit) -> Strips:
    """A point for each system; for people a dashed line, and a band from one reference to another."""
    order = sorted(habit.defined, key=lambda system: -habit.defined[system])
    people = "" if math.isnan(habit.people) else f"; people {habit.shown(habit.people)}"
    rows = tuple(
        Strip(
            label(system),
            habit.defined[system],
            shown=habit.shown(habit.defined[system]),
            said=f"{habit.shown(habit.defined[system])}{people}",
            system=overview.systems.index(system),
        )
        for system in order
    )
    opens = {"filter": habit.key} if habit.key in ("split", "copied") else {}
    return Strips(rows, habit.unit, share=habit.is_share, line=habit.people, band=habit.people_range, opens=opens)


def _caption(habit: Habit) -> str:
    values = habit.defined.values()
    words = f"From {habit.shown(min(values))} to {habit.shown(max(values))}. "
    if math.isnan(habit.people):
        return words.strip()
    words += f"People: {habit.shown(habit.people)} (dashed line)"
    if habit.people_range is not None:
        low, high = map(habit.shown, habit.people_range)
        words += f", from {low} to {high} by reference (band)"
    return f"{words}."


def operation_plots(overview: Overview) -> Iterator[Panel]:
    """Which operations, how often?"""
    operations = overview.operations
    if operations is None or not operations.labels:
        return
    often = {
        name: max([*operations.shares[name].values(), operations.people.get(name, 0.0)]) for name in operations.labels
    }
    labels = sorted(often, key=often.__getitem__, reverse=True)[:MOST_OPERATIONS]
    most = labels[0]
    yield Panel(
        "operations",
        "operations",
        "Share of outputs with an operation, in %",
        f"Most often: {most} ({operations.labels[most].lower()}), in up to {number(often[most], 0)} % of the outputs. "
        f"Found by the {operations.labeller} labeller, which errs; people means the references, labelled the same way.",
        _heat(operations, labels),
        lambda: _operations(operations, labels),
    )


def _people(operations: PlacedOperations) -> str:
    return "people" if "people" not in operations.groups else "people (references)"


def _heat(operations: PlacedOperations, labels: list[str]) -> Heat:
    """A line for each system, and for people."""
    columns = [(name, operations.labels[name]) for name in labels]
    rows = [(label(system), [operations.shares[name][system] for name in labels]) for system in operations.groups]
    if operations.people:
        rows.insert(0, (_people(operations), [operations.people[name] for name in labels]))
    return Heat(columns, rows)


def _operations(operations: PlacedOperations, labels: list[str]) -> Any:
    """A cell for each operation and system, and for people; the darker, the more often."""
    alt = altair()
    people = _people(operations)
    columns = [*map(short, operations.groups), *([people] if operations.people else [])]
    values = [
        {"operation": name, "who": short(system), "share": share}
        for name in labels
        for system, share in operations.shares[name].items()
    ]
    if operations.people:
        values += [{"operation": name, "who": people, "share": operations.people[name]} for name in labels]
    base = chart(values).encode(
        y=down("operation", labels),
        x=alt.X("who:N", sort=columns, title=None, axis=alt.Axis(orient="top", labelAngle=-90)),
    )
    cells = base.mark_rect(color=style.BEST).encode(
        opacity=alt.Opacity("share:Q", legend=None, scale=alt.Scale(domain=[0, 100], range=[0.03, 0.55]))
    )
    size = 10 if len(columns) > 8 else 11
    drawn = cells + base.mark_text(color=style.INK, fontSize=size).encode(text=alt.Text("share:Q", format=".0f"))
    wide = max(WIDTH, 70 + 21 * len(columns))
    return themed(drawn, height=20 * len(labels) + 120 + room_for(columns), width=wide)
