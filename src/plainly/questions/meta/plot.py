"""Scatter plots with the fitted line: a metric against people, one dimension against another, systems on a frontier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plainly.errors import BadInput, MissingExtra
from plainly.questions.meta.scores import MetricScores
from plainly.questions.meta.tradeoff import common_units
from plainly.ratings.types import Judgements, Units
from plainly.stats.correlate import correlation
from plainly.stats.resample import Floats

SUFFIXES = (".html", ".svg", ".png", ".pdf", ".json")
_WIDTH, _HEIGHT = 300, 260


def metric_plot(judgements: Judgements, scores: MetricScores, dimension: str) -> Any:
    """A panel for each metric: its scores against the mean ratings of the same outputs."""
    human = judgements.human(dimension, scores.units)
    panels = [
        _panel(metric.segments, human, metric.name, f"mean {dimension}", scores.units)
        for metric in scores.metrics.values()
    ]
    return altair_module().concat(*panels, columns=3).configure_view(stroke=None)


def dimension_plot(judgements: Judgements, pairs: Sequence[tuple[str, str]]) -> Any:
    """A panel for each pair of dimensions, over the outputs rated on both."""
    panels = []
    for x, y in pairs:
        units = common_units(judgements, (x, y))
        panels.append(_panel(judgements.human(x, units), judgements.human(y, units), x, y, units))
    return altair_module().concat(*panels, columns=3).configure_view(stroke=None)


def save(chart: Any, path: str) -> None:
    """Write a chart; the suffix says how. A page (.html) needs no network: what draws it is written into it."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"Cannot tell from {path} how to draw; let it end in {', '.join(SUFFIXES)}.")
    if not Path(path).parent.is_dir():
        raise BadInput(f"Cannot write {path}: there is no directory {Path(path).parent}. Make it first.")
    try:
        chart.save(path, **({"inline": True} if suffix == ".html" else {}))
    except ImportError:
        raise MissingExtra(f"drawing {suffix}", package="vl-convert-python", extra="plots") from None


def _panel(x: Floats, y: Floats, x_name: str, y_name: str, units: Units) -> Any:
    alt = altair_module()
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


def altair_module() -> Any:
    """altair, or an error that says how to install it."""
    try:
        import altair
    except ImportError:
        raise MissingExtra("drawing plots", package="altair", extra="plots") from None
    return altair
