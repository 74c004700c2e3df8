"""What systems do beside what people do: habits and operations."""

import math
from collections.abc import Iterator
from typing import Any

from plainly.pages.marks import across, chart, down
from plainly.pages.picture import Plot
from plainly.questions.overview import Overview
from plainly.questions.overview.habits import Habit
from plainly.questions.overview.placement import PlacedOperations
from plainly.render import plots as style
from plainly.render.names import short
from plainly.render.numbers import number
from plainly.render.plots import altair, rows_height, themed

MOST_OPERATIONS = 14


def habit_plots(overview: Overview) -> Iterator[Plot]:
    """What do systems do, beside people?"""
    for habit in overview.habits:
        if habit.defined:
            picture = themed(_habit(habit), height=rows_height(len(habit.defined)))
            yield Plot(f"habit-{habit.key}", "habits", habit.title, _caption(habit), picture)


def _habit(habit: Habit) -> Any:
    """A point for each system; for people a dashed line, and a band from one reference to another."""
    order = sorted(habit.defined, key=lambda system: -habit.defined[system])
    values = [{"system": short(system), "value": habit.defined[system]} for system in order]

    def x(field: str) -> Any:
        return across(field, habit.unit, zero=habit.is_share)

    points = chart(values).mark_point(size=70, filled=True, opacity=1, color=style.BEST)
    layers = points.encode(y=down("system", [short(system) for system in order]), x=x("value"))
    if math.isnan(habit.people):
        return layers
    line = chart([{"people": habit.people}]).mark_rule(strokeDash=[5, 3], strokeWidth=2, color=style.PEOPLE)
    layers = line.encode(x=x("people")) + layers
    if habit.people_range is None:
        return layers
    low, high = habit.people_range
    band = chart([{"low": low, "high": high}]).mark_rect(color=style.PEOPLE, opacity=0.14)
    return band.encode(x=x("low"), x2="high:Q") + layers


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


def operation_plots(overview: Overview) -> Iterator[Plot]:
    """Which operations, how often?"""
    operations = overview.operations
    if operations is None or not operations.labels:
        return
    often = {
        label: max([*operations.shares[label].values(), operations.people.get(label, 0.0)])
        for label in operations.labels
    }
    labels = sorted(often, key=often.__getitem__, reverse=True)[:MOST_OPERATIONS]
    most = labels[0]
    yield Plot(
        "operations",
        "operations",
        "Share of outputs with an operation, in %",
        f"Most often: {most} ({operations.labels[most].lower()}), in up to {number(often[most], 0)} % of the outputs. "
        f"Found by the {operations.labeller} labeller, which errs; people means the references, labelled the same way.",
        themed(_operations(operations, labels), height=20 * len(labels) + 110),
    )


def _operations(operations: PlacedOperations, labels: list[str]) -> Any:
    """A cell for each operation and system, and for people; the darker, the more often."""
    alt = altair()
    people = "people" if "people" not in operations.groups else "people (references)"
    columns = [*map(short, operations.groups), *([people] if operations.people else [])]
    values = [
        {"operation": label, "who": short(system), "share": share}
        for label in labels
        for system, share in operations.shares[label].items()
    ]
    if operations.people:
        values += [{"operation": label, "who": people, "share": operations.people[label]} for label in labels]
    base = chart(values).encode(
        y=down("operation", labels),
        x=alt.X("who:N", sort=columns, title=None, axis=alt.Axis(orient="top", labelAngle=-50, labelLimit=90)),
    )
    cells = base.mark_rect(color=style.BEST).encode(
        opacity=alt.Opacity("share:Q", legend=None, scale=alt.Scale(domain=[0, 100], range=[0.03, 0.55]))
    )
    size = 10 if len(columns) > 8 else 11
    return cells + base.mark_text(color=style.INK, fontSize=size).encode(text=alt.Text("share:Q", format=".0f"))
