"""Simpler, or closer in meaning? Systems on both axes, and those that no other system beats on both."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from plainly.pages import figures
from plainly.pages.figures import Scatter
from plainly.pages.marks import chart, colours, shapes
from plainly.pages.panel import Panel
from plainly.questions.overview import Overview
from plainly.questions.overview.front import Axis, axes, front
from plainly.render import plots as style
from plainly.render.names import label, short
from plainly.render.numbers import listed, number
from plainly.render.plots import altair, themed

SIZE = 300
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom
# Where a name stands beside its point: align, baseline, dx, dy.
_PLACES = {
    "right": ("left", "middle", 8, 0),
    "left": ("right", "middle", -8, 0),
    "above": ("center", "bottom", 0, -7),
    "below": ("center", "top", 0, 8),
}


def tradeoff_plots(overview: Overview) -> Iterator[Panel]:
    """Who is simpler, who is closer in meaning, and who is beaten on both?"""
    chosen = axes(overview.evaluation)
    if chosen is None:
        return
    simplicity, meaning = chosen
    points = {
        system: (overview.value(system, meaning.spec), overview.value(system, simplicity.spec))
        for system in overview.systems
    }
    points = {system: point for system, point in points.items() if not any(map(math.isnan, point))}
    if len(points) < 2:
        return
    unbeaten = sorted(front(overview.evaluation, simplicity, meaning))
    figure = Scatter(
        tuple(_point(overview, system, points[system], system in unbeaten, simplicity, meaning) for system in points),
        f"meaning: {meaning.spec} →",
        f"simplicity: {simplicity.spec} {'→' if simplicity.sign > 0 else '(lower is better)'}",
        turned=simplicity.sign < 0,
    )
    yield Panel(
        "tradeoff",
        "tradeoff",
        f"{simplicity.spec} against {meaning.spec}",
        f"No system is better on both than {listed([short(system) for system in unbeaten])}.",
        figure,
        lambda: themed(_scattered(points, unbeaten, simplicity, meaning), height=SIZE),
    )


def _point(overview: Overview, system: str, at: Point, front: bool, simplicity: Axis, meaning: Axis) -> figures.Spot:
    said = (
        f"{simplicity.spec} {number(at[1], page=True)}; {meaning.spec} {number(at[0], page=True)}; "
        f"{'nobody is better on both' if front else 'some system is better on both'}"
    )
    return figures.Spot(label(system), *at, "front" if front else "beaten", said, overview.systems.index(system))


def _scattered(points: Mapping[str, Point], unbeaten: list[str], simplicity: Axis, meaning: Axis) -> Any:
    alt = altair()
    places = _label_places(points, reverse=simplicity.sign < 0)
    values = [
        {
            "system": short(system),
            "x": x,
            "y": y,
            "front": "front" if system in unbeaten else "beaten",
            "place": places[system],
        }
        for system, (x, y) in points.items()
    ]
    better = "→" if simplicity.sign > 0 else "lower is better"
    upright = alt.Scale(zero=False, padding=24, reverse=simplicity.sign < 0)
    base = chart(values).encode(
        x=alt.X("x:Q", title=f"meaning: {meaning.spec} →", scale=alt.Scale(zero=False, padding=24)),
        y=alt.Y("y:Q", title=f"simplicity: {simplicity.spec} {better}", scale=upright),
    )
    line = base.transform_filter("datum.front == 'front'").mark_line(strokeDash=[4, 3], color=style.BEST, opacity=0.7)
    layers = line + base.mark_point(size=70, filled=True, opacity=1).encode(
        shape=shapes("front", {"front": "circle", "beaten": "triangle-right"}),
        color=colours("front", {"front": style.BEST, "beaten": style.OTHER}),
    )
    for place, (align, baseline, dx, dy) in _PLACES.items():
        layers += (
            base.transform_filter(f"datum.place == '{place}'")
            .mark_text(align=align, baseline=baseline, dx=dx, dy=dy, limit=110, color=style.INK)
            .encode(text="system:N")
        )
    return layers


def _label_places(points: Mapping[str, Point], *, reverse: bool) -> dict[str, str]:
    """Where each name goes so that few of them meet: the first of four sides that is free, by rough widths."""
    xs, ys = zip(*points.values(), strict=True)
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    inner = SIZE - 90
    pixels = {
        system: (24 + (x - min(xs)) / wide * inner, 24 + (y - min(ys)) / high * inner * (-1 if reverse else 1))
        for system, (x, y) in points.items()
    }
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in pixels.values()]
    places = {}
    for system, pixel in pixels.items():
        boxes = _boxes(pixel, min(6.2 * max(len(short(system)), 3), 110))
        costs = {
            place: max(0.0, box[2] - (inner + 70)) + max(0.0, -box[0]) + sum(_overlap(box, other) for other in taken)
            for place, box in boxes.items()
        }
        places[system] = min(costs, key=costs.__getitem__)
        taken.append(boxes[places[system]])
    return places


def _boxes(pixel: Point, width: float) -> dict[str, Box]:
    """What a name of this width covers on each side of its point."""
    x, y = pixel
    return {
        "right": (x + 8, y - 6, x + 8 + width, y + 6),
        "left": (x - 8 - width, y - 6, x - 8, y + 6),
        "above": (x - width / 2, y + 7, x + width / 2, y + 19),
        "below": (x - width / 2, y - 19, x + width / 2, y - 7),
    }


def _overlap(box: Box, other: Box) -> float:
    wide = min(box[2], other[2]) - max(box[0], other[0])
    high = min(box[3], other[3]) - max(box[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)
