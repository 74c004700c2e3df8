"""Simpler, or closer in meaning? Systems on both axes, and those that no other system beats on both."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from plainly.core import plots as style
from plainly.core.formatting import label, listed, number, short
from plainly.core.plots import altair, themed
from plainly.reporting import figures
from plainly.reporting.figures import Scatter
from plainly.reporting.marks import chart, colours, shapes
from plainly.reporting.overview import Overview
from plainly.reporting.panel import Panel
from plainly.reporting.pareto_front import Axis, axes, front
from plainly.reporting.scale import Scale

Point = tuple[float, float]
_SIZES = ((300, 280), (620, 420))  # of the field in a file: a column where the names fit, or the width of a page


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
        lambda: _scattered(figure),
    )


def _point(overview: Overview, system: str, at: Point, front: bool, simplicity: Axis, meaning: Axis) -> figures.Spot:
    said = (
        f"{simplicity.spec} {number(at[1], page=True)}; {meaning.spec} {number(at[0], page=True)}; "
        f"{'nobody is better on both' if front else 'some system is better on both'}"
    )
    return figures.Spot(label(system), *at, "front" if front else "beaten", said, overview.systems.index(system))


def _scattered(figure: Scatter) -> Any:
    """The same as on the page: its axes, its names and its lines to them."""
    alt = altair()
    width, height = next(((w, h) for w, h in _SIZES if not figure.named(w, h).numbered), _SIZES[-1])
    x, y, names = figure.x, figure.y, figure.named(width, height)

    def data(left: float, top: float, right: float = 0.0, down: float = 0.0) -> tuple[float, float]:
        left, top = left + 100 * right / width, top + 100 * down / height
        return x.low + (x.high - x.low) * left / 100, y.low + (y.high - y.low) * (
            top if figure.turned else 100 - top
        ) / 100

    def values(places: Iterable[tuple[float, ...]], **also: Sequence[Any]) -> Any:
        columns = [dict(zip(("x", "y", "x2", "y2"), place, strict=False)) for place in places]
        return chart([{**column, **{key: of[at] for key, of in also.items()}} for at, column in enumerate(columns)])

    on = {
        "x": alt.X("x:Q", title=figure.across, axis=_axis(x),
                   scale=alt.Scale(domain=[x.low, x.high], nice=False)),
        "y": alt.Y("y:Q", title=figure.up, axis=_axis(y),
                   scale=alt.Scale(domain=[y.low, y.high], nice=False, reverse=figure.turned)),
    }  # fmt: skip
    front = values(data(*at) for at in figure.front)
    drawn = front.mark_line(strokeDash=[4, 3], color=style.BEST, opacity=0.7).encode(**on)
    led = [name for name in names.names if name.leader is not None]
    leaders = values((*data(*name.point), *data(*name.point, *(name.leader or ()))) for name in led)
    drawn += leaders.mark_rule(color=style.MUTED).encode(**on, x2="x2:Q", y2="y2:Q")
    far = {*x.beyond, *y.beyond}
    kinds = ["far" if spot.name in far else spot.kind for spot in figure.points]
    points = values((data(x.at(spot.x), figure.top(spot.y)) for spot in figure.points), kind=kinds)
    drawn += points.mark_point(size=70, filled=True, opacity=1).encode(
        **on,
        shape=shapes("kind", {"front": "circle", "beaten": "triangle-right", "far": "triangle-right"}),
        color=colours("kind", {"front": style.BEST, "beaten": style.OTHER, "far": style.PEOPLE}),
    )
    for side, align in ((1, "left"), (-1, "right"), (0, "center")):
        beside = [name for name in names.names if name.side == side]
        texts = values((data(*name.point, name.away, name.down) for name in beside), text=[n.text for n in beside])
        drawn += texts.mark_text(align=align, baseline="middle", color=style.INK).encode(**on, text="text:N")
    sized = themed(drawn).properties(width=width, height=height, autosize="pad")
    if not names.numbered:
        return sized
    key = textwrap.wrap(
        "; ".join(f"{at}\u00a0{short(spot.name)}" for at, spot in enumerate(figure.points, 1)), width // 7
    )
    title = alt.TitleParams(key, orient="bottom", anchor="start", fontSize=12, fontWeight="normal", color=style.INK)
    return sized.properties(title=title)


def _axis(scale: Scale) -> Any:
    decimals = max(len(shown.partition(".")[2]) for _, shown in scale.ticks)
    return altair().Axis(values=[value for value, _ in scale.ticks], format=f".{decimals}f")
