"""One look for all charts: narrow enough for a phone and a paper's column, few colours, no meaning by colour alone."""

from __future__ import annotations

from typing import Any

# The page's style sheet turns exactly these colours for the dark theme: see page/report.css.
INK = "#1b1f24"
MUTED = "#57606a"
GRID = "#e1e4e8"
BEST = "#0b5cad"
OTHER = "#8c959f"
PEOPLE = "#a8480f"
SERIES = ("#0b5cad", "#a8480f", "#1f7a4d", "#7b4bb3")
SHAPES = ("circle", "triangle-up", "square", "diamond")
WIDTH = 328
ROW = 22


def themed(chart: Any, *, height: int | None = None, width: int = WIDTH) -> Any:
    """A chart in the house style, its whole width fixed, so that text is as large on paper as it is here."""
    sized = chart.properties(width=width, autosize={"type": "fit", "contains": "padding"})
    if height is not None:
        sized = sized.properties(height=height)
    return sized.configure(
        background="white",
        font="sans-serif",
        padding=4,
        view={"stroke": None},
        axis={
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": MUTED,
            "gridColor": GRID,
            "domainColor": GRID,
            "tickColor": GRID,
            "labelLimit": 120,
        },
        legend={
            "labelFontSize": 12,
            "labelColor": INK,
            "titleFontSize": 12,
            "titleColor": MUTED,
            "orient": "bottom",
            "direction": "horizontal",
            "columns": 2,
            "labelLimit": 130,
            "symbolSize": 60,
        },
        text={"color": INK, "fontSize": 12},
        aria=False,
    )


def rows_height(count: int) -> int:
    """Height of a chart with so many systems or metrics down its side."""
    return ROW * max(count, 2) + 46
