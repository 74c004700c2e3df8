"""The forms of figures: values one under another, points on two axes, lines, and a table of shares.

Each form is drawn once; the drawing goes to the page and to files.
"""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress, repeat
from typing import ClassVar

from plainly.core.formatting import abridge, number
from plainly.reporting import svg
from plainly.reporting.geometry import PlacedName, Scale, fit_scale, place_names, text_width
from plainly.reporting.svg import WIDTH, Drawing, Figure, hue, percent, series_shape

SIDES = {"higher": "higher is better", "lower": "lower is better", "neither": "no direction is better"}
Points = Sequence[tuple[float, float]]
Opens = Mapping[str, str | int]  # what the item browser shows after a click
_LONG = 140  # pixels: longer names stand above their marks, so that they fit on a phone
_LONGEST = 40  # letters of a name
_EDGE = 8  # pixels on the right of a field
_DENSE = 8  # a line with at least this many points has small marks
_ROW = 17  # pixels of a line of text
_TALL = 18  # with more rows the axis is repeated at the top
# The narrowest fields of a scatter plot, and their height, on a phone, a tablet and a desk: as figure.css has them.
_FIELDS = ((240, 300), (540, 380), (1000, 460))
# Widths of a scatter plot in a file, and the heights of its field: the first that fits.
_FILES = ((WIDTH, 300), (680, 400))
# A circle for the best, a diamond for what cannot be told from it, a ring for what is worse.
_KINDS = {
    "best": "circle", "tied": "diamond", "other": "ring", "copied": "cross",
    "plain": "circle", "not": "ring", "fooled": "up",
}  # fmt: skip
_LINE, _MOST_LINES = 44, 3  # letters of a line of a long name that stands above its marks, and lines


def slug(text: str, keep: str = "") -> str:
    """Return a text that can be part of a file name."""
    return "".join(c if c.isalnum() or c in keep else "-" for c in text).strip("-")


def _describe_cut(names: Sequence[str]) -> str:
    """Return a sentence about the systems that lie beyond the axis."""
    if not names:
        return ""
    return f"The axis is cut: {', '.join(names)} {'lies' if len(names) == 1 else 'lie'} far beyond its end (arrow)."


def _group(
    content: str, kind: str, name: str, tip: str, opens: Opens | None, system: int | None, first: bool, link: str = ""
) -> str:
    """Draw a mark with its tip; the mark of a system opens its items. Tab reaches the first, arrows the others."""
    elements = svg.tip(name, tip) + content
    tab = 0 if first else -1
    if link:
        return svg.element("a", elements, class_=kind, href=link, tabindex=tab)
    if system is None or opens is None:
        return svg.element("g", elements, class_=kind)
    data = {f"data_{key}": value for key, value in opens.items()}
    return svg.element("g", elements, class_=kind, role="button", tabindex=tab, data_system=system, **data)


def _draw_x_ticks(scale: Scale, y: object, dy: int, room: float) -> Iterator[str]:
    """Draw the numbers of a horizontal axis; in a narrow field, every second one."""
    for index, (value, text) in enumerate(scale.ticks):
        if index % 2 == 0 or not room or room / len(scale.ticks) > text_width(text) + 4:
            kind = "tick thin" if index % 2 and not room else "tick"
            yield svg.text(text, percent(scale.at(value)), y, kind, dy=dy, text_anchor="middle")


@dataclass(frozen=True)
class Strip:
    """One line of a plot: a name, a value with its interval, the value as text, and details for its tip."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    inner: tuple[float, float] | None = None  # the middle half
    kind: str = "plain"
    details: str = ""
    system: int | None = None  # gives the colour, and whose items a click opens
    link: str = ""  # or the page that it leads to
    previous: float = math.nan  # the published value, in a plot of published and sound numbers
    label: str = ""  # the value as text, where it is not a number with two decimals
    code: str = ""  # a short name in small print after a name in words

    @property
    def lines(self) -> list[str]:
        """The name: one line, or several if it consists of words."""
        if not self.code:
            return [abridge(self.name, _LONGEST)]
        lines = textwrap.wrap(self.name, _LINE, max_lines=_MOST_LINES, placeholder=" …")
        has_room = len(lines[-1]) + len(self.code) <= _LINE
        return lines if has_room else [*lines, ""]  # the code follows in the last line

    @property
    def text(self) -> str:
        return self.label or number(self.value, page=True)


@dataclass(frozen=True)
class Strips:
    """Values one under another; ``ends`` are the lines after which a cluster ends."""

    form: ClassVar[str] = "strips"
    file_width: ClassVar[float] = WIDTH
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
        points = {row.name: (row.value, row.low, row.high, row.previous) for row in self.rows}
        also = [self.line, *(self.band or ()), *([0.0] if self.zero or self.share else [])]
        return fit_scale(points, also, whole=self.share)

    @property
    def cut(self) -> str:
        return _describe_cut([f"{row.name} ({row.text})" for row in self.rows if row.name in self.scale.beyond])

    def draw(self, width: float = 0) -> Drawing:
        """Draw a line for each row: its name, its marks and its number. Long names stand above their marks."""
        widest = max((text_width(line) for row in self.rows for line in row.lines), default=0.0)
        above = widest > _LONG or any(row.code for row in self.rows)
        left = 4.0 if above else widest + 10
        right = max((text_width(row.text) for row in self.rows), default=0.0) + 10
        steps = [24 + _ROW * len(row.lines) if above else 26 for row in self.rows]
        tops = [0, *accumulate(steps)]
        height = tops[-1]
        tall = len(self.rows) > _TALL
        room = width and width - left - right
        parts = [*self._draw_background(height), *_draw_x_ticks(self.scale, height, 17, room)]
        if tall:
            parts += _draw_x_ticks(self.scale, 0, -7, room)
        for index, (row, top, step) in enumerate(zip(self.rows, tops, steps, strict=False)):
            middle = top + (step - 12 if above else step / 2)
            wide = f"width:calc(100% + {left + right:.0f}px)"
            content = svg.element("rect", x=-left, y=top, width="100%", height=step, class_="hit", style=wide)
            for place, line in enumerate(row.lines):
                y = top + 15 + _ROW * place if above else middle + 4.5
                last = row.code if place == len(row.lines) - 1 else ""
                content += svg.text(line, -left if above else -12.0, y, "who", small=last,
                                    text_anchor=None if above else "end")  # fmt: skip
            content += self._draw_marks(row, middle)
            content += " " + svg.text(row.text, "100%", middle + 4.5, "num", dx=right - 2, text_anchor="end")
            kind = f"strip {row.kind if row.system is None else hue(row.system)}{' end' * (index + 1 in self.ends)}"
            about = kind, row.name, row.details, self.opens, row.system
            parts.append(_group(content, *about, index == 0, row.link))
            if index + 1 in self.ends:
                parts.append(svg.line(-left, top + step, "100%", top + step, "divider"))
        parts.append(svg.text(self.unit, "50%", height, "unit", dy=36, text_anchor="middle"))
        return Drawing("".join(parts), height, left, right, top=22 if tall else 4)

    def _draw_background(self, height: float) -> Iterator[str]:
        at = self.scale.at
        if self.band is not None:
            low, high = map(at, self.band)
            yield svg.element("rect", x=percent(low), y=0, width=percent(high - low), height=height, class_="band")
        lines = [(value, "grid") for value, _ in self.scale.ticks]
        lines += [(self.line, "people dashed")] if not math.isnan(self.line) else []
        lines += [(0.0, "zero")] if self.zero else []
        for x, kind in [(percent(at(value)), kind) for value, kind in lines]:
            yield svg.line(x, 0, x, height, kind)

    def _draw_marks(self, row: Strip, y: float) -> str:
        at = self.scale.at
        low, high = (row.low, row.high) if math.isfinite(row.low + row.high) else (row.value, row.value)
        if self.zero:
            low, high = sorted((0.0, row.value))
        elements = svg.line(percent(at(low)), y, percent(at(high)), y, "span thin" if row.inner else "span")
        x = percent(at(row.value))
        if row.inner is not None:
            first, last = map(at, row.inner)
            width = percent(last - first)
            elements += svg.element("rect", x=percent(first), y=y - 5, width=width, height=10, class_="inner")
            return elements + svg.line(x, y - 7, x, y + 7, "median")
        if row.name in self.scale.beyond:
            arrow = svg.mark("left" if at(row.value) == 0 else "right", x, y)
            return elements + svg.element("g", arrow, class_="people")
        if not math.isnan(row.previous):
            elements += svg.element("g", svg.mark("up", percent(at(row.previous)), y), class_="people")
        return elements + svg.mark(_KINDS[row.kind], x, y)


@dataclass(frozen=True)
class Series:
    """Points that belong together; ``index`` gives their colour and shape, None keeps them in the background."""

    name: str
    points: Points
    index: int | None = None
    tips: tuple[str, ...] = ()
    shape: str = ""  # overrides the shape of its index
    has_line: bool = True
    band: Points = ()  # low and high at each point
    code: str = ""  # a short name in small print after a name in words


@dataclass(frozen=True)
class Plane:
    """Points and lines on two axes, with a legend or with names beside the points."""

    form: ClassVar[str] = "plane"
    series: tuple[Series, ...]
    across: str
    up: str
    axis: Scale | None = None  # the horizontal axis; None: fitted to the points
    ends: tuple[float, ...] = ()  # numbers that the vertical axis must include
    line: Points = ()
    has_names: bool = False  # beside the points, instead of a legend
    is_inverted: bool = False  # lower is better, so low values stand at the top
    opens: Opens | None = None  # None: marks cannot be clicked
    height: float = 220

    @cached_property
    def x(self) -> Scale:
        return self.axis or self._fit(0, ())

    @cached_property
    def y(self) -> Scale:
        return self._fit(1, self.ends)

    def _fit(self, side: int, also: Sequence[float]) -> Scale:
        values = {
            each.name if self.has_names else str(index): [
                *(point[side] for point in each.points),
                *(end for ends in (each.band if side else ()) for end in ends),
            ]
            for index, each in enumerate(self.series)
        }
        return fit_scale(values, also, most=6 if self.has_names else 5, whole=not self.has_names)

    def at(self, points: Points) -> list[tuple[float, float]]:
        """Convert points to percentages from the left and from the top, without undefined points."""
        percents = [(self.x.at(x), self.y.at(y)) for x, y in points if math.isfinite(x + y)]
        return [(x, y if self.is_inverted else round(100 - y, 2)) for x, y in percents]

    @property
    def cut(self) -> str:
        return _describe_cut([each.name for each in self.series if each.name in (*self.x.beyond, *self.y.beyond)])

    def place_names(self, width: float, height: float) -> list[PlacedName]:
        """Place the names in a field of this width or wider; those of circles first."""
        ordered = sorted(self.series, key=lambda each: each.shape != "circle")
        names = [abridge(each.name, _LONGEST if width > _FIELDS[0][0] else _LONGEST // 2) for each in ordered]
        points = [point for each in ordered for point in self.at(each.points)]
        return place_names(names, points, self.at(self.line), width=width, height=height)

    @property
    def file_width(self) -> float:
        """The narrowest width of a file in which all names find a place."""
        fits = (
            wide
            for wide, high in _FILES
            if not self.has_names or len(self.place_names(wide - 60, high)) == len(self.series)
        )
        return next(fits, _FILES[-1][0])

    def draw(self, width: float = 0) -> Drawing:
        """Draw grey series first, then coloured ones, then a legend or names."""
        left = max((text_width(text) for _, text in self.y.ticks), default=0.0) + 10
        room = width - left - _EDGE if width else _FIELDS[0][0]
        parts = [*self._draw_axes(left), svg.path(self.at(self.line), "front" if self.has_names else "fitted")]
        parts += map(self._draw_series, sorted(self.series, key=lambda each: each.index is not None))
        if not self.has_names:
            legend = [each for each in self.series if each.index is not None and not each.shape]
            elements, below = self._draw_legend(legend, room) if len(legend) > 1 else ("", 0)
            return Drawing("".join([*parts, elements]), self.height, left, _EDGE, top=26, bottom=44 + below)
        height = next((high for wide, high in _FILES if wide >= width), _FILES[-1][1])
        fields = [self.place_names(*field) for field in (((room, height),) if width else _FIELDS)]
        parts += [_draw_names(names, number) for number, names in enumerate(fields, start=1)]
        nameless = tuple(
            tuple(each.name for each in self.series if self.at(each.points)[0] not in {name.point for name in names})
            for names in fields
        )
        return Drawing("".join(parts), height, left, _EDGE, top=26, kind="scatter", nameless=nameless)

    def _draw_axes(self, left: float) -> Iterator[str]:
        for value, _ in self.x.ticks:
            yield svg.line(percent(self.x.at(value)), 0, percent(self.x.at(value)), "100%", "grid")
        yield from _draw_x_ticks(self.x, "100%", 17, math.inf)
        for value, text in self.y.ticks:
            ((_, y),) = self.at([(self.x.low, value)])
            yield svg.line(0, percent(y), "100%", percent(y), "grid")
            yield svg.text(text, -7, percent(y), "tick", dy=4.5, text_anchor="end")
        yield svg.text(self.up, -left, -12, "unit")
        yield svg.text(self.across, "50%", "100%", "unit", dy=36, text_anchor="middle")

    def _draw_series(self, series: Series) -> str:
        positions = self.at(series.points)
        elements = svg.path(positions, "line") if series.has_line else ""
        if series.index is None:
            return svg.element("g", elements, class_="background")
        if series.band:
            across = [x for x, _ in series.points]
            lows, highs = zip(*series.band, strict=True)
            edge = self.at([*zip(across, lows, strict=True), *reversed([*zip(across, highs, strict=True)])])
            elements = svg.area(edge) + elements
        colour = "people" if series.name in (*self.x.beyond, *self.y.beyond) else hue(series.index)
        shape = series.shape or series_shape(series.index)
        size = 0.6 if len(positions) >= _DENSE else 1
        are_finite = [math.isfinite(sum(point)) for point in series.points]
        for (x, y), tip in zip(positions, compress(series.tips or repeat(""), are_finite), strict=True):
            mark = svg.mark(shape, percent(x), percent(y), size)
            if self.has_names:
                hit = svg.element("circle", cx=percent(x), cy=percent(y), r=12, class_="hit")
                first = series is self.series[0]
                return _group(hit + mark, f"point {colour}", series.name, tip, self.opens, series.index, first=first)
            elements += svg.element("g", svg.tip(series.name, tip) + mark) if tip else mark
        return svg.element("g", elements, class_=colour if series.has_line else f"dots {colour}")

    def _draw_legend(self, legend: Sequence[Series], room: float) -> tuple[str, float]:
        """Draw names with their marks in as many columns as fit; return the drawing and its height."""
        names = [
            textwrap.shorten(each.name, 34, placeholder=" …") if each.code else abridge(each.name) for each in legend
        ]
        step = 33 if any(each.code for each in legend) else 20  # codes stand below the names
        fit = max(1, int(room // (max(map(text_width, names)) + 28)))
        rows = math.ceil(len(legend) / fit)
        columns = math.ceil(len(legend) / rows)
        elements = []
        for index, each in enumerate(legend):
            assert each.index is not None
            x = percent(100 * (index % columns) / columns)
            mark = svg.element("g", svg.mark(series_shape(each.index), x, "100%"), transform="translate(7,-4.5)")
            content = mark + svg.text(names[index], x, "100%", "name", dx=20)
            content += " " + svg.text(each.code, x, "100%", "code", dx=20, dy=13) if each.code else ""
            kind, down = f"entry {hue(each.index)}", 60 + step * (index // columns)
            entry = _group(content, kind, each.name, ", ".join(each.tips), self.opens, each.index, first=index == 0)
            elements.append(svg.element("g", entry, transform=f"translate(0,{down})"))
        return "".join(elements), 8 + step * rows


def _draw_names(names: Sequence[PlacedName], width: int) -> str:
    """Draw names beside their points, with lines to those that stand far off."""
    elements = []
    for name in names:
        content = "" if name.leader is None else svg.line(0, 0, *name.leader, "leader")
        anchor = {1: "start", -1: "end", 0: "middle"}[name.side]
        content += svg.text(name.text, name.away, name.down + 4.5, "name", text_anchor=anchor)
        x, y = name.point
        elements.append(svg.element("svg", content, x=percent(x), y=percent(y), overflow="visible"))
    return svg.element("g", "".join(elements), class_=f"names width-{width}", aria_hidden="true")


def group_axis(names: Sequence[str]) -> Scale:
    """Return an axis of groups instead of numbers: the first at 0, the next at 1."""
    return Scale(-0.5, len(names) - 0.5, tuple((float(index), name) for index, name in enumerate(names)))


@dataclass(frozen=True)
class Heat:
    """Percentages in a table, darker where they are higher; each row has a name in words and a short code."""

    form: ClassVar[str] = "heat"
    cut: ClassVar[str] = ""
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[float]]]

    def draw(self, width: float = 0) -> Drawing:
        """Draw a table of cells; column names are vertical."""
        names = [abridge(name, _LONGEST // 2) for name in self.columns]
        left = max(text_width(name) + 0.85 * text_width(code) for name, code, _ in self.rows) + 22
        top = max(map(text_width, names)) + 12
        step, wide = 24, 100 / len(self.columns)
        heads = ""
        for index, name in enumerate(names):
            head = svg.text(name, 4, 4, "name", transform="rotate(-90)", role="columnheader")
            heads += svg.element("svg", head, x=percent((index + 0.5) * wide), y=-8, overflow="visible")
        elements = svg.element("g", heads, role="row")
        for index, (name, code, shares) in enumerate(self.rows):
            y = index * step
            cells = svg.text(name, 8 - left, y + 16.5, "who", small=code, role="rowheader")
            for column, share in enumerate(shares):
                left_edge, middle = percent(column * wide), percent((column + 0.5) * wide)
                cells += svg.element("rect", x=left_edge, y=y + 1, width=percent(wide * 0.97), height=step - 2, rx=3,
                                 class_="cell", opacity=share / 200)  # fmt: skip
                cells += svg.text(f"{share:.0f}", middle, y + 16.5, "num", text_anchor="middle", role="cell")
            elements += svg.element("g", cells, role="row")
        least = 30 * len(self.columns)
        return Drawing(elements, step * len(self.rows), left, 4, top, 8, role="table", least=least)

    @property
    def file_width(self) -> float:
        """Wide enough for every number."""
        return self.draw().left + max(WIDTH - 100, 30 * len(self.columns))


Form = Strips | Plane | Heat


@dataclass(frozen=True)
class Panel:
    """A figure with its name, its title, a caption that also describes it to screen readers, and its section."""

    name: str
    section: str
    title: str
    caption: str
    form: Form

    @property
    def figure(self) -> Figure:
        """The figure for a file: as wide as a column of a paper, or as its names need."""
        width = self.form.file_width
        return Figure((self.form.draw(width),), width, label=f"{self.title}. {self.caption}")
