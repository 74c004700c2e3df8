"""The forms that figures have: values one under another, points on two axes, lines, and a table of shares.

Each form draws itself once; the drawing goes to the page and to files.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from plainly.core.display import abridged
from plainly.core.metric import Metric
from plainly.reporting.geometry import PlacedNames, Scale, fit_scale, place_names, text_width
from plainly.reporting.svg import (
    WIDTH,
    Drawing,
    Entry,
    Figure,
    draw_line,
    draw_mark,
    draw_text,
    draw_tip,
    element,
    hue,
    percent,
    series_shape,
)

SIDES = {"higher": "higher is better", "lower": "lower is better", "neither": "no better side"}
Opens = Mapping[str, str | int]  # what the item browser shows after a click
_LONG = 140  # pixels of a name that stands beside its marks, on a phone too
_LONGEST = 40  # letters of a name
_DENSE = 8  # points of a line from which on its marks are small
_TALL = 18  # rows from which on the axis stands above them as well
# The narrowest fields of a scatter plot, and their height, on a phone, a tablet and a desk: as figure.css has them.
_FIELDS = ((240, 300), (540, 380), (1000, 460))
_FILES = (
    (WIDTH, 300),
    (680, 400),
)  # widths of a scatter plot in a file, and the heights of its field: the first that fits
_KINDS = {"best": "circle", "tied": "diamond", "plain": "circle", "not": "circle", "other": "right", "fooled": "right"}


def describe_direction(metric: Metric) -> str:
    return SIDES[metric.better]


def slug(text: str, keep: str = "") -> str:
    """A text as a part of a file's name."""
    return "".join(c if c.isalnum() or c in keep else "-" for c in text).strip("-")


def _describe_cut(names: Sequence[str]) -> str:
    """That the axis ends before somebody, in a sentence."""
    if not names:
        return ""
    return f"The axis is cut: {', '.join(names)} {'lies' if len(names) == 1 else 'lie'} far beyond its end (arrow)."


def _group(content: str, kind: str, name: str, tip: str, opens: Opens, system: int | None, *, first: bool) -> str:
    """A mark with its tip; one that belongs to a system opens its items."""
    button: dict[str, object] = {}
    if system is not None:
        button = {"role": "button", "tabindex": 0 if first else -1, "data_system": system}
        button |= {f"data_{key}": value for key, value in opens.items()}
    return element("g", draw_tip(name, tip) + content, class_=kind, **button)


def _draw_path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A line through points in percent; a path cannot have such coordinates, so it is drawn piece by piece."""
    pieces = pairwise([(percent(x), percent(y)) for x, y in points])
    return "".join(draw_line(x1, y1, x2, y2, kind) for (x1, y1), (x2, y2) in pieces)


def _draw_x_ticks(scale: Scale, y: object, dy: int, room: float) -> Iterator[str]:
    """The numbers of an axis from left to right; where there is little room, every second."""
    for place, (value, shown) in enumerate(scale.ticks):
        if place % 2 == 0 or not room or room / len(scale.ticks) > text_width(shown) + 4:
            kind = "tick thin" if place % 2 and not room else "tick"
            yield draw_text(shown, percent(scale.at(value)), y, kind, dy=dy, text_anchor="middle")


@dataclass(frozen=True)
class Strip:
    """One line of a plot: a name, a value with its interval, the number as shown, and all that is known of it."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    inner: tuple[float, float] | None = None  # the middle half
    kind: str = "plain"
    shown: str = ""
    said: str = ""
    system: int | None = None  # gives the colour, and whose items a click opens
    link: str = ""  # or the page that it leads to
    was: float = math.nan  # what it was before


@dataclass(frozen=True)
class Strips:
    """Values one under another; ``ends`` are the lines after which a cluster ends."""

    form: ClassVar[str] = "strips"
    rows: tuple[Strip, ...]
    unit: str
    zero: bool = False  # bars start at a line at zero
    share: bool = False  # the axis starts at zero
    line: float = math.nan  # dashed, to compare with
    band: tuple[float, float] | None = None
    ends: frozenset[int] = frozenset()
    opens: Opens = field(default_factory=dict)

    @cached_property
    def scale(self) -> Scale:
        points = {row.name: (row.value, row.low, row.high, row.was) for row in self.rows}
        also = [self.line, *(self.band or ()), *([0.0] if self.zero or self.share else [])]
        return fit_scale(points, also, whole=self.share)

    @property
    def cut(self) -> str:
        return _describe_cut([f"{row.name} ({row.shown})" for row in self.rows if row.name in self.scale.beyond])

    def draw(self, label: str = "", width: float = 0) -> Drawing:
        """A line for each row: its name, its marks and its number. Long names stand above their marks."""
        names = [abridged(row.name, _LONGEST) for row in self.rows]
        widest = max(map(text_width, names), default=0.0)
        above = widest > _LONG
        left = 4.0 if above else widest + 10
        right = max((text_width(row.shown) for row in self.rows), default=0.0) + 10
        step = 40 if above else 26
        height = step * len(self.rows)
        tall = len(self.rows) > _TALL
        room = width and width - left - right
        parts = [*self._draw_background(height), *_draw_x_ticks(self.scale, height, 17, room)]
        if tall:
            parts += _draw_x_ticks(self.scale, 0, -7, room)
        for place, (row, name) in enumerate(zip(self.rows, names, strict=True)):
            top = place * step
            middle = top + (28 if above else step / 2)
            wide = f"width:calc(100% + {left + right:.0f}px)"
            content = element("rect", x=-left, y=top, width="100%", height=step, class_="hit", style=wide)
            content += draw_text(name, -left if above else -12.0, top + 15 if above else middle + 4.5, "who",
                                 text_anchor=None if above else "end")  # fmt: skip
            content += self._draw_marks(row, middle)
            content += " " + draw_text(row.shown, "100%", middle + 4.5, "num", dx=right - 2, text_anchor="end")
            kind = f"strip {row.kind if row.system is None else hue(row.system)}{' end' * (place + 1 in self.ends)}"
            drawn = _group(content, kind, row.name, row.said, self.opens, row.system, first=place == 0)
            if row.link:
                drawn = element("a", drawn, href=row.link, tabindex=0 if place == 0 else -1)
            parts.append(drawn)
            if place + 1 in self.ends:
                parts.append(draw_line(-left, top + step, "100%", top + step, "divider"))
        parts.append(draw_text(self.unit, "50%", height, "unit", dy=36, text_anchor="middle"))
        return Drawing("".join(parts), label, height, left, right, 22 if tall else 4, 44)

    def _draw_background(self, height: float) -> Iterator[str]:
        at = self.scale.at
        if self.band is not None:
            low, high = map(at, self.band)
            yield element("rect", x=percent(low), y=0, width=percent(high - low), height=height, class_="band")
        lines = [(value, "grid") for value, _ in self.scale.ticks]
        lines += [(self.line, "people dashed")] if not math.isnan(self.line) else []
        for value, kind in [*lines, *([(0.0, "zero")] if self.zero else [])]:
            yield draw_line(percent(at(value)), 0, percent(at(value)), height, kind)

    def _draw_marks(self, row: Strip, y: float) -> str:
        at = self.scale.at
        low, high = (row.low, row.high) if math.isfinite(row.low + row.high) else (row.value, row.value)
        if self.zero:
            low, high = sorted((0.0, row.value))
        drawn = draw_line(percent(at(low)), y, percent(at(high)), y, "span thin" if row.inner else "span")
        if row.inner is not None:
            first, last = map(at, row.inner)
            drawn += element("rect", x=percent(first), y=y - 5, width=percent(last - first), height=10, class_="inner")
            return drawn + draw_line(percent(at(row.value)), y - 7, percent(at(row.value)), y + 7, "median")
        if row.name in self.scale.beyond:
            arrow = draw_mark("left" if at(row.value) == 0 else "right", percent(at(row.value)), y)
            return drawn + element("g", arrow, class_="people")
        if not math.isnan(row.was):
            drawn += element("g", draw_mark("up", percent(at(row.was)), y), class_="people")
        return drawn + draw_mark(_KINDS[row.kind], percent(at(row.value)), y)


@dataclass(frozen=True)
class Spot:
    """A point on two axes."""

    name: str
    x: float
    y: float
    kind: str  # front, beaten or dot
    said: str
    system: int


@dataclass(frozen=True)
class Scatter:
    """Points on two axes, and a line: through those that nobody beats, or one that was fitted."""

    form: ClassVar[str] = "scatter"
    points: tuple[Spot, ...]
    across: str
    up: str
    turned: bool = False  # lower is better, so that low values stand at the top
    opens: Opens = field(default_factory=dict)
    fitted: tuple[tuple[float, float], ...] = ()
    legend: tuple[Entry, ...] = ()  # of many points, whose names would not fit

    @cached_property
    def x(self) -> Scale:
        return fit_scale({point.name: (point.x,) for point in self.points}, most=6, whole=bool(self.legend))

    @cached_property
    def y(self) -> Scale:
        return fit_scale({point.name: (point.y,) for point in self.points}, most=6, whole=bool(self.legend))

    def top(self, y: float) -> float:
        return self.y.at(y) if self.turned else round(100 - self.y.at(y), 2)

    @property
    def beyond(self) -> set[str]:
        return {*self.x.beyond, *self.y.beyond}

    @property
    def cut(self) -> str:
        return _describe_cut([point.name for point in self.points if point.name in self.beyond])

    @property
    def line(self) -> list[tuple[float, float]]:
        """The fitted line, or the one through those that nobody beats."""
        unbeaten = sorted((point for point in self.points if point.kind == "front"), key=lambda point: point.x)
        ends = self.fitted or tuple((point.x, point.y) for point in unbeaten)
        return [(self.x.at(x), self.top(y)) for x, y in ends]

    def place_names(self, width: float, height: float) -> PlacedNames:
        """The names in a field of this width, or wider, and this height."""
        points = [(self.x.at(point.x), self.top(point.y)) for point in self.points]
        names = [abridged(point.name, _LONGEST) for point in self.points]
        return place_names(names, points, self.line, width=width, height=height)

    def draw(self, label: str = "", width: float = 0) -> Drawing:
        """The points with their names, or with a legend."""
        left = max((text_width(shown) for _, shown in self.y.ticks), default=0.0) + 10
        parts = [*_draw_axes(self.x, self.y, self.top, self.across, self.up, left)]
        kind = "fitted" if self.fitted else "front"
        parts.append(_draw_path(self.line, kind))
        height = next((high for wide, high in _FILES if wide >= width), _FILES[-1][1])
        for place, point in enumerate(self.points):
            at = percent(self.x.at(point.x)), percent(self.top(point.y))
            if self.legend:
                mark = draw_mark(series_shape(point.system), *at, size=0.5)
                parts.append(element("g", mark, class_=f"dot {hue(point.system)}"))
                continue
            content = element("circle", cx=at[0], cy=at[1], r=12, class_="hit")
            content += draw_mark("circle" if point.kind == "front" else "right", *at)
            colour = "people" if point.name in self.beyond else hue(point.system)
            kind = f"point {colour}"
            parts.append(_group(content, kind, point.name, point.said, self.opens, point.system, first=place == 0))
        rooms = [] if self.legend else [(width - left - 8, height)] if width else list(_FIELDS)
        fields = [self.place_names(*room) for room in rooms]
        parts += [self._draw_names(names, number) for number, names in enumerate(fields, start=1)]
        numbered = [f"room-{number}" for number, names in enumerate(fields, start=1) if names.numbered]
        numbers = tuple(Entry(f"{number} {point.name}") for number, point in enumerate(self.points, start=1))
        return Drawing(
            "".join(parts), label, height, left, 8, 26, 44, kind="" if self.legend else "scatter",
            legend=self.legend or (numbers if numbered else ()),
            legend_kind="series" if self.legend else f"numbers {' '.join(numbered)}",
        )  # fmt: skip

    @property
    def file_width(self) -> float:
        """The narrowest width of a file in which all names find a place."""
        fits = (wide for wide, high in _FILES if not self.place_names(wide - 60, high).numbered)
        return WIDTH if self.legend else next(fits, _FILES[-1][0])

    def _draw_names(self, placed: PlacedNames, room: int) -> str:
        drawn = []
        for name in placed.names:
            content = ""
            if name.leader is not None:
                content = draw_line(0, 0, *name.leader, "leader")
            anchor = {1: "start", -1: "end", 0: "middle"}[name.side]
            content += draw_text(name.text, name.away, name.down + 4.5, "name", text_anchor=anchor)
            x, y = map(percent, name.point)
            drawn.append(element("svg", content, x=x, y=y, overflow="visible"))
        return element("g", "".join(drawn), class_=f"names room-{room}", aria_hidden="true")


def _draw_axes(x: Scale, y: Scale, top: Callable[[float], float], across: str, up: str, left: float) -> Iterator[str]:
    """Lines and numbers of both axes, and what they measure."""
    for value, _ in x.ticks:
        yield draw_line(percent(x.at(value)), 0, percent(x.at(value)), "100%", "grid")
    yield from _draw_x_ticks(x, "100%", 17, math.inf)
    for value, shown in y.ticks:
        yield draw_line(0, percent(top(value)), "100%", percent(top(value)), "grid")
        yield draw_text(shown, -7, percent(top(value)), "tick", dy=4.5, text_anchor="end")
    yield draw_text(up, -left, -12, "unit")
    yield draw_text(across, "50%", "100%", "unit", dy=36, text_anchor="middle")


@dataclass(frozen=True)
class Line:
    """Points from left to right; ``series`` gives colour and shape, None is background."""

    name: str
    points: tuple[tuple[float, float], ...]
    series: int | None
    shown: tuple[str, ...] = ()
    system: int | None = None
    band: tuple[tuple[float, float], ...] = ()  # low and high at each point
    crosses: tuple[tuple[float, float], ...] = ()  # values to compare with


@dataclass(frozen=True)
class Lines:
    """Values over an axis."""

    form: ClassVar[str] = "lines"
    cut: ClassVar[str] = ""
    lines: tuple[Line, ...]
    x: Scale
    across: str
    up: str
    opens: Opens = field(default_factory=dict)
    ends: tuple[float, ...] = ()  # numbers that the axis must hold
    height: int = 220

    @cached_property
    def y(self) -> Scale:
        values = [y for line in self.lines for _, y in (*line.points, *line.crosses)]
        values += [end for line in self.lines for ends in line.band for end in ends]
        return fit_scale({str(place): (value,) for place, value in enumerate(values)}, self.ends, whole=True)

    def top(self, y: float) -> float:
        return round(100 - self.y.at(y), 2)

    def draw(self, label: str = "", width: float = 0) -> Drawing:
        """The background first, then the lines that are told apart."""
        left = max((text_width(shown) for _, shown in self.y.ticks), default=0.0) + 10
        parts = [*_draw_axes(self.x, self.y, self.top, self.across, self.up, left)]
        parts += map(self._draw_line, sorted(self.lines, key=lambda line: line.series is not None))
        entries = [
            Entry(line.name, line.series, ", ".join(line.shown), self._attributes(line))
            for line in self.lines
            if line.series is not None
        ]
        return Drawing(
            "".join(parts), label, self.height, left, 8, 26, 44, legend=tuple(entries) if len(entries) > 1 else ()
        )

    def _attributes(self, line: Line) -> dict[str, object]:
        opens = {f"data_{key}": value for key, value in self.opens.items()}
        return {"data_system": line.system, **opens} if line.system is not None else {}

    def _draw_line(self, line: Line) -> str:
        defined = [(self.x.at(x), self.top(y)) for x, y in line.points if math.isfinite(y)]
        drawn = _draw_path(defined, "line")
        if line.series is None:
            return element("g", drawn, class_="background")
        if line.band:
            at = [self.x.at(x) for x, _ in line.points]
            edge = [*zip(at, (low for low, _ in line.band), strict=True)]
            edge += reversed([*zip(at, (high for _, high in line.band), strict=True)])
            shape = " ".join(f"{x},{self.top(y)}" for x, y in edge if math.isfinite(y))
            area = element("polygon", points=shape, class_="area")
            stretched = {"viewBox": "0 0 100 100", "preserveAspectRatio": "none", "width": "100%", "height": "100%"}
            drawn = element("svg", area, **stretched) + drawn
        tips = line.shown or ("",) * len(line.points)
        for (x, y), tip in zip(line.points, tips, strict=True):
            if math.isfinite(y):
                size = 1 if len(line.points) < _DENSE else 0.6
                mark = draw_mark(series_shape(line.series), percent(self.x.at(x)), percent(self.top(y)), size)
                drawn += element("g", draw_tip(line.name, tip) + mark) if tip else mark
        for x, y in line.crosses:
            drawn += draw_mark("cross", percent(self.x.at(x)), percent(self.top(y))) if math.isfinite(y) else ""
        return element("g", drawn, class_=hue(line.series))


def group_axis(names: Sequence[str]) -> Scale:
    """An axis of groups instead of numbers; the first stands at 0, the next at 1."""
    return Scale(-0.5, len(names) - 0.5, tuple((float(place), name) for place, name in enumerate(names)))


@dataclass(frozen=True)
class Heat:
    """Shares of 100 in a table, the darker the more; ``columns`` have a name and what it means."""

    form: ClassVar[str] = "heat"
    cut: ClassVar[str] = ""
    columns: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, Sequence[float]]]

    def draw(self, label: str = "", width: float = 0) -> Drawing:
        """A table of cells; the names of the columns stand upright."""
        names = [abridged(name, _LONGEST // 2) for name, _ in self.rows]
        left = max(map(text_width, names)) + 10
        top = max(text_width(name) for name, _ in self.columns) + 16
        step, wide = 26, 100 / len(self.columns)
        heads = ""
        for place, (name, meaning) in enumerate(self.columns):
            title = draw_tip(name, meaning)
            head = draw_text(name, 4, 4, "name", transform="rotate(-90)", role="columnheader")
            heads += element("svg", title + head, x=percent((place + 0.5) * wide), y=-8, overflow="visible")
        drawn = element("g", heads, role="row")
        for place, (name, (_, shares)) in enumerate(zip(names, self.rows, strict=True)):
            y = place * step
            cells = draw_text(name, -8, y + 17.5, "who", text_anchor="end", role="rowheader")
            for column, share in enumerate(shares):
                left_edge, middle = percent(column * wide), percent((column + 0.5) * wide)
                cells += element("rect", x=left_edge, y=y + 1, width=percent(wide * 0.97), height=step - 2, rx=3,
                                 class_="cell", opacity=share / 200)  # fmt: skip
                cells += draw_text(f"{share:.0f}", middle, y + 17.5, "num", text_anchor="middle", role="cell")
            drawn += element("g", cells, role="row")
        least = 30 * len(self.columns)
        return Drawing(drawn, label, step * len(self.rows), left, 4, top, 8, role="table", least=least)

    @property
    def file_width(self) -> float:
        """Wide enough for every number."""
        return self.draw().left + max(WIDTH - 100, 30 * len(self.columns))


Form = Strips | Scatter | Lines | Heat


@dataclass(frozen=True)
class Panel:
    """A figure with the question it answers, its words for those who do not see it, and the section it belongs to."""

    name: str
    section: str
    title: str
    caption: str
    form: Form

    @property
    def figure(self) -> Figure:
        """The figure of a file: a column of a paper wide, or as wide as its names need."""
        width = getattr(self.form, "file_width", WIDTH)
        return Figure((self.form.draw(f"{self.title}. {self.caption}", width),), width)
