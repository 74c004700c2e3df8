"""Strips as an Altair chart, for files and notebooks."""

import math
from collections.abc import Iterator
from typing import Any

from plainly.core import plots as style
from plainly.core.formatting import short
from plainly.core.plots import WIDTH, room_for, rows_height, themed
from plainly.reporting.figures import Strip, Strips
from plainly.reporting.marks import across, chart, colours, down, line_at, shapes

_COLOURS = {
    "best": style.BEST, "tied": style.BEST, "plain": style.BEST, "other": style.OTHER, "fooled": style.PEOPLE,
    "not": style.OTHER,
}  # fmt: skip
_SHAPES = {
    "best": "circle", "tied": "diamond", "plain": "circle", "other": "triangle-right", "fooled": "triangle-right",
    "not": "circle",
}  # fmt: skip


def strip_chart(strips: Strips) -> Any:
    """The marks from the back to the front."""
    layers = list(_layers(strips))
    drawn = layers[0]
    for layer in layers[1:]:
        drawn += layer
    names = [short(row.name) for row in strips.rows]
    return themed(drawn, height=rows_height(len(strips.rows)), width=WIDTH + room_for(names))


def _layers(strips: Strips) -> Iterator[Any]:
    def x(field: str) -> Any:
        return across(field, strips.unit, domain=[strips.scale.low, strips.scale.high], nice=False, clamp=True)

    if strips.band is not None:
        band = chart([dict(zip(("low", "high"), strips.band, strict=True))])
        yield band.mark_rect(color=style.PEOPLE, opacity=0.14).encode(x=x("low"), x2="high:Q")
    if strips.zero:
        yield line_at(0, strips.unit)
    if not math.isnan(strips.line):
        yield line_at(strips.line, strips.unit, dashed=True)
    values = [_value(row, zero=strips.zero) for row in strips.rows]
    base = chart(values).encode(y=down("name", [value["name"] for value in values]))
    colour = colours("kind", _COLOURS)
    spread = any(row.inner is not None for row in strips.rows)
    width = 1.5 if spread else 4 if strips.zero else 3
    yield base.mark_rule(strokeWidth=width, opacity=0.6 if spread or strips.zero else 0.45).encode(
        x=x("low"), x2="high:Q", color=colour
    )
    if spread:
        yield base.mark_bar(height=9, opacity=0.45, color=style.BEST).encode(x=x("from"), x2="to:Q")
        yield base.mark_tick(thickness=3, height=13, color=style.INK).encode(x=x("value"))
    else:
        points = base.mark_point(size=70, filled=True, opacity=1)
        yield points.encode(x=x("value"), color=colour, shape=shapes("kind", _SHAPES))


def _value(row: Strip, *, zero: bool) -> dict[str, Any]:
    known = math.isfinite(row.low + row.high)
    low, high = (0.0, row.value) if zero else (row.low, row.high) if known else (row.value, row.value)
    first, last = row.inner or (row.value, row.value)
    return {"name": short(row.name), "value": row.value, "low": low, "high": high, "from": first, "to": last,
            "kind": row.kind}  # fmt: skip
