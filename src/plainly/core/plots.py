"""One look for all charts, one import of altair, one way to write them.

Charts are narrow enough for a phone and a paper's column, have few colours, and no meaning by colour alone.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput, MissingExtra
from plainly.core.files import write_whole

FORMATS = ("svg", "png", "pdf", "html", "json")

# The page's style sheet turns exactly these colours for the dark theme: see pages/page/page.css.
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
_LONG = 16  # letters of a name for which there is room anyway


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
            "labelLimit": 400,
        },
        legend={
            "labelFontSize": 12,
            "labelColor": INK,
            "titleFontSize": 12,
            "titleColor": MUTED,
            "orient": "bottom",
            "direction": "horizontal",
            "columns": 2,
            "labelLimit": 400,
            "symbolSize": 60,
        },
        text={"color": INK, "fontSize": 12},
        aria=False,
    )


def room_for(names: Iterable[str]) -> int:
    """How much longer than others these names are, in pixels: a file has no tip to tell one that is cut."""
    return 7 * max(max(map(len, names), default=0) - _LONG, 0)


def rows_height(count: int) -> int:
    """Height of a chart with so many systems or metrics down its side."""
    return ROW * max(count, 2) + 46


def altair() -> Any:
    """altair, or an error that says how to install it."""
    try:
        import altair
    except ImportError:
        raise MissingExtra("drawing plots", package="altair", extra="plots") from None
    return altair


def converter() -> Any:
    """vl-convert, which draws without a browser or a network, or an error that says how to install it."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("drawing plots", package="vl-convert-python", extra="plots") from None
    return vl_convert


def drawn(described: dict[str, Any], form: str, *, scale: float = 2) -> str | bytes:
    """A chart, as its Vega-Lite description, in one of the formats; a page (html) carries what draws it.

    ``scale`` is that of a PNG.
    """
    import json

    if form == "json":
        return json.dumps(described, ensure_ascii=False)
    if form == "html":
        return str(converter().vegalite_to_html(described, bundle=True))
    if form == "svg":
        return str(converter().vegalite_to_svg(described))
    sized = {"scale": scale} if form == "png" else {}
    return bytes(getattr(converter(), f"vegalite_to_{form}")(described, **sized))


def save(chart: Any, path: str | Path) -> Path:
    """Write a chart whole or not at all; the suffix says how."""
    target = Path(path)
    form = target.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise BadInput(
            f"Cannot tell from {path} how to draw; let it end in {', '.join(f'.{name}' for name in FORMATS)}."
        )
    write_whole(target, drawn(chart.to_dict(), form))
    return target
