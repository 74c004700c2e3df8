"""Scatter plots with the fitted line: a metric against people, one dimension against another."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from plainly.core import plots
from plainly.people.ratings import Units
from plainly.stats.correlate import correlation
from plainly.stats.resample import Floats

_WIDTH, _HEIGHT = 300, 260


def panels(drawn: Iterable[Any]) -> Any:
    return plots.altair().concat(*drawn, columns=3).configure_view(stroke=None)


def panel(x: Floats, y: Floats, x_name: str, y_name: str, units: Units) -> Any:
    """One scatter plot: a point for each unit, coloured by system, and the line of least squares."""
    alt = plots.altair()
    shown = [
        {"x": float(a), "y": float(b), "system": system, "item": item}
        for a, b, system, item in zip(x, y, units.system_names, units.item_names, strict=True)
        if not (np.isnan(a) or np.isnan(b))
    ]
    r = correlation(x, y)
    title = f"r = {r:.2f}, n = {len(shown)}" if not np.isnan(r) else f"r is undefined, n = {len(shown)}"
    base = alt.Chart(alt.Data(values=shown), title=title, width=_WIDTH, height=_HEIGHT).encode(
        x=alt.X("x:Q", title=x_name, scale=alt.Scale(zero=False)),
        y=alt.Y("y:Q", title=y_name, scale=alt.Scale(zero=False)),
    )
    points = base.mark_circle(size=18, opacity=0.5).encode(
        color=alt.Color("system:N", title="system"), tooltip=["system:N", "item:N", "x:Q", "y:Q"]
    )
    line = base.transform_regression("x", "y").mark_line(color="black", strokeWidth=1.5)
    return points + line if not np.isnan(r) else points
