"""The few kinds of marks that the plots of a report are made of, each drawn in one way."""

from collections.abc import Mapping, Sequence
from typing import Any

from plainly.core.metric import Metric
from plainly.core.plots import MUTED, PEOPLE, altair

Value = Mapping[str, Any]
SIDES = {"higher": "higher is better", "lower": "lower is better", "neither": "no better side"}


def chart(values: Sequence[Value]) -> Any:
    """A chart of values that it carries with it."""
    return altair().Chart(altair().Data(values=list(values)))


def down(field: str, order: Sequence[str], **axis: Any) -> Any:
    """Names down the side, in this order."""
    alt = altair()
    return alt.Y(f"{field}:N", sort=list(order), title=None, **({"axis": alt.Axis(**axis)} if axis else {}))


def across(field: str, title: str, **scale: Any) -> Any:
    """Numbers from left to right."""
    alt = altair()
    return alt.X(f"{field}:Q", title=title, **({"scale": alt.Scale(**scale)} if scale else {}))


def colours(field: str, of: Mapping[str, str]) -> Any:
    """A colour for each value of a field; the shape says the same."""
    alt = altair()
    return alt.Color(f"{field}:N", legend=None, scale=alt.Scale(domain=list(of), range=list(of.values())))


def shapes(field: str, of: Mapping[str, str]) -> Any:
    """A shape for each value of a field."""
    alt = altair()
    return alt.Shape(f"{field}:N", legend=None, scale=alt.Scale(domain=list(of), range=list(of.values())))


def line_at(x: float, title: str, *, dashed: bool = False) -> Any:
    """A line from top to bottom: where nothing changes, or, dashed, what to compare with."""
    marked = chart([{"x": x}])
    rule = marked.mark_rule(color=PEOPLE, strokeDash=[5, 3]) if dashed else marked.mark_rule(color=MUTED)
    return rule.encode(x=across("x", title))


def direction(metric: Metric) -> str:
    return SIDES[metric.better]


def slug(text: str) -> str:
    """A text as a part of a file's name."""
    return "".join(c if c.isalnum() else "-" for c in text).strip("-")
