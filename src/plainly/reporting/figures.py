"""What the page draws: strips, points, lines and shaded tables, as places in percent of a plot that has any width."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from plainly.reporting.labels import PlacedNames, place
from plainly.reporting.scale import Scale, scale

_LONG = 18  # letters of a name that stand beside its marks on a phone
# The narrowest fields of a scatter, and their height, on a phone, a tablet and a desk: as page.css has them.
_FIELDS = ((240, 300), (540, 380), (1000, 460))


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
    system: int | None = None  # whose items a click opens
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
    opens: Mapping[str, str | int] = field(default_factory=dict)  # what the item browser shows after a click

    @cached_property
    def scale(self) -> Scale:
        points = {row.name: (row.value, row.low, row.high, row.was) for row in self.rows}
        also = [self.line, *(self.band or ()), *([0.0] if self.zero or self.share else [])]
        return scale(points, also, whole=self.share)

    @property
    def long(self) -> bool:
        """Whether the names need a line of their own where there is little room."""
        return max(map(len, (row.name for row in self.rows)), default=0) > _LONG

    @cached_property
    def places(self) -> list[dict[str, object]]:
        """Every row with its marks in percent."""
        at = self.scale.at
        placed: list[dict[str, object]] = []
        for row in self.rows:
            low, high = (row.low, row.high) if math.isfinite(row.low + row.high) else (row.value, row.value)
            if self.zero:
                low, high = sorted((0.0, row.value))
            inner = None if row.inner is None else (at(row.inner[0]), round(at(row.inner[1]) - at(row.inner[0]), 2))
            beyond = row.name in self.scale.beyond and ("left" if at(row.value) == 0 else "right")
            span = (at(low), round(at(high) - at(low), 2))
            was = None if math.isnan(row.was) else at(row.was)
            marks = {"at": at(row.value), "was": was, "span": span, "inner": inner, "beyond": beyond or ""}
            placed.append({"row": row, **marks})
        return placed

    @property
    def cut(self) -> str:
        """That the axis ends before somebody, in a sentence."""
        far = [f"{row.name} ({row.shown})" for row in self.rows if row.name in self.scale.beyond]
        return _cut(far)


@dataclass(frozen=True)
class Spot:
    """A system on two axes."""

    name: str
    x: float
    y: float
    kind: str
    said: str
    system: int


@dataclass(frozen=True)
class Scatter:
    """Systems on two axes, and the line of those that nobody beats on both."""

    form: ClassVar[str] = "scatter"
    points: tuple[Spot, ...]
    across: str
    up: str
    turned: bool = False  # lower is better, so that low values stand at the top
    opens: Mapping[str, str | int] = field(default_factory=dict)

    @cached_property
    def x(self) -> Scale:
        return scale({point.name: (point.x,) for point in self.points}, most=6)

    @cached_property
    def y(self) -> Scale:
        return scale({point.name: (point.y,) for point in self.points}, most=6)

    def top(self, y: float) -> float:
        return self.y.at(y) if self.turned else round(100 - self.y.at(y), 2)

    @property
    def places(self) -> list[dict[str, object]]:
        beyond = {*self.x.beyond, *self.y.beyond}
        return [
            {"point": point, "left": self.x.at(point.x), "top": self.top(point.y), "beyond": point.name in beyond}
            for point in self.points
        ]

    @property
    def front(self) -> list[tuple[float, float]]:
        """The line through those that nobody beats."""
        unbeaten = sorted((point for point in self.points if point.kind == "front"), key=lambda point: point.x)
        return [(self.x.at(point.x), self.top(point.y)) for point in unbeaten]

    def named(self, width: float, height: float) -> PlacedNames:
        """The names in a field of this width, or wider, and this height."""
        points = [(self.x.at(point.x), self.top(point.y)) for point in self.points]
        return place([point.name for point in self.points], points, self.front, width=width, height=height)

    @property
    def fields(self) -> list[PlacedNames]:
        """The names on the page, by how much room there is."""
        return [self.named(width, height) for width, height in _FIELDS]

    @property
    def cut(self) -> str:
        return _cut([point.name for point in self.points if point.name in {*self.x.beyond, *self.y.beyond}])


@dataclass(frozen=True)
class Line:
    """A system's values from left to right; ``series`` counts those that are told apart, None is background."""

    name: str
    values: tuple[float, ...]
    series: int | None
    shown: tuple[str, ...]
    system: int


@dataclass(frozen=True)
class LineSet:
    """Values over groups."""

    form: ClassVar[str] = "lines"
    lines: tuple[Line, ...]
    bins: tuple[str, ...]
    across: str
    up: str
    cut: ClassVar[str] = ""
    opens: Mapping[str, str | int] = field(default_factory=dict)

    @cached_property
    def y(self) -> Scale:
        return scale({f"{line.name} {at}": (v,) for line in self.lines for at, v in enumerate(line.values)}, whole=True)

    def left(self, place: int) -> float:
        return round(100 * (place + 0.5) / len(self.bins), 2)

    @property
    def drawn(self) -> list[dict[str, object]]:
        """The background first."""
        order = sorted(self.lines, key=lambda line: line.series is not None)
        return [{"line": line, "dots": dots, "points": " ".join(f"{x},{y}" for x, y, _ in dots)}
                for line in order if (dots := self._dots(line))]  # fmt: skip

    def _dots(self, line: Line) -> list[tuple[float, float, str]]:
        return [
            (self.left(place), round(100 - self.y.at(value), 2), line.shown[place])
            for place, value in enumerate(line.values)
            if math.isfinite(value)
        ]


@dataclass(frozen=True)
class Heat:
    """Shares of 100 in a table, the darker the more; ``columns`` have a name and what it means."""

    form: ClassVar[str] = "heat"
    columns: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, Sequence[float]]]
    cut: ClassVar[str] = ""


Figure = Strips | Scatter | LineSet | Heat


def _cut(far: Sequence[str]) -> str:
    if not far:
        return ""
    return f"The axis is cut: {', '.join(far)} {'lies' if len(far) == 1 else 'lie'} far beyond its end (arrow)."
