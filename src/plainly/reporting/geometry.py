"""Where things stand in a figure: the axis of a plot, and names beside points where no two meet.

Names are placed for the narrowest field that they serve. A name keeps its distance from its point in pixels, so in a
wider field of the same height names only move apart: two side by side must stand in the order of their points.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Percent = tuple[float, float]  # from the left and from the top of a field
# Who lies farther from the others than so many times their whole spread would squeeze them into a corner.
_FAR = 4.0
_FEWEST_OTHERS = 3
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

HEIGHT = 17.0  # of a line of text, in pixels
_AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
_DISTANCES = (9, 16, 23, 30, 46, 62, 78, 110, 142)  # pixels from a point
_FARTHEST = 70  # for a name; a number may stand farther off
_LEADER = 16  # from here on a line leads to the name
_POINT = 8.0  # half of what a point takes
# Letters as wide as those of a wide typeface, in pixels at the size of the page, so that others fit as well.
_NARROW, _LETTER, _CAPITAL, _FULL = 5.1, 8.3, 9.8, 13.2
_SLIM = frozenset(" .,:;'|!/()[]-ijltfr")


@dataclass(frozen=True)
class Scale:
    """Both ends, the numbers on the axis as they are shown, and the names that lie beyond an end."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    beyond: tuple[str, ...] = ()

    def at(self, value: float) -> float:
        """Where a value stands, in percent from the low end; what lies beyond an end stands at it."""
        return round(min(max(100 * (value - self.low) / (self.high - self.low), 0.0), 100.0), 2)


def fit_scale(
    points: Mapping[str, Sequence[float]], also: Sequence[float] = (), *, most: int = 5, whole: bool = False
) -> Scale:
    """An axis for values by name, an interval's ends among them; ``also`` are numbers that it must hold.

    A ``whole`` axis holds everybody, however far off.
    """
    spans = {name: (min(finite), max(finite)) for name, values in points.items() if (finite := _finite(values))}
    beyond = [] if whole else _far(spans)
    kept = [span for name, span in spans.items() if name not in beyond]
    ends = [*(end for span in kept for end in span), *_finite(also)] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    low, high = low - (room if low not in also else 0.0), high + room
    return Scale(low, high, _ticks(low, high, most), tuple(beyond))


def _far(spans: Mapping[str, tuple[float, float]]) -> list[str]:
    """Names beyond the others, at either end, one after another while enough are left."""
    left, beyond = dict(spans), []
    while len(left) > _FEWEST_OTHERS:
        extremes = (min(left, key=lambda name: left[name][0]), max(left, key=lambda name: left[name][1]))
        for name in extremes:
            others = [span for other, span in left.items() if other != name]
            low, high = min(span[0] for span in others), max(span[1] for span in others)
            gap = max(low - left[name][1], left[name][0] - high)
            if high > low and gap > _FAR * (high - low):
                beyond.append(name)
                del left[name]
                break
        else:
            break
    return beyond if len(beyond) <= len(spans) / 3 else []


def _ticks(low: float, high: float, most: int) -> tuple[tuple[float, str], ...]:
    """Round numbers, at most so many."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(
        power * step for step in (*_STEPS, 20.0) if math.floor(high / (power * step)) - low / (power * step) < most
    )
    first = math.ceil(low / step - 1e-9)
    values = [(first + k) * step for k in range(math.floor(high / step + 1e-9) - first + 1)]
    decimals = next((k for k in range(8) if all(abs(round(v, k) - v) < step * 1e-6 for v in (step, *values))), 8)
    return tuple((value, f"{value + 0.0:.{decimals}f}".replace("-", "−")) for value in values)


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


@dataclass(frozen=True)
class PlacedName:
    """A name beside a point: where that is, on which side (1 right, −1 left, 0 in the middle) the name stands, and how
    many pixels its near end and its middle line are away.
    """

    text: str
    point: Percent
    side: int
    away: float
    down: float
    leader: tuple[float, float] | None = None  # the end of a line from the point


@dataclass(frozen=True)
class PlacedNames:
    """All names of a field from a width on; where they do not fit they are numbers, and a list tells the names."""

    names: tuple[PlacedName, ...]
    numbered: bool


@dataclass(frozen=True)
class _Box:
    """What is taken around a point, as distances from it."""

    x: float
    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        if self.bottom <= other.top or other.bottom <= self.top:
            return False
        first, second = (self, other) if self.x <= other.x else (other, self)
        if first.x == second.x and second.x + second.right <= first.x + first.left:
            return False
        return first.x + first.right > second.x + second.left


def place_names(
    names: Sequence[str], points: Sequence[Percent], line: Sequence[Percent], *, width: float, height: float
) -> PlacedNames:
    """Names, or numbers, beside points; none stands on a point, on the line or on another."""
    placed = _find_places(names, points, line, width, height, _FARTHEST)
    if len(placed) == len(names):
        return PlacedNames(tuple(placed), numbered=False)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    return PlacedNames(tuple(_find_places(numbers, points, line, width, height, max(_DISTANCES))), numbered=True)


def _find_places(
    names: Sequence[str], points: Sequence[Percent], line: Sequence[Percent], width: float, height: float, most: float
) -> list[PlacedName]:
    """Those that find a place."""
    centres = [(width * x / 100, height * y / 100) for x, y in points]
    taken = [_Box(x, -_POINT, _POINT, y - _POINT, y + _POINT) for x, y in centres]
    taken += [
        _Box(x, -1, 1, y - 1, y + 1) for x, y in _points_along([(width * x / 100, height * y / 100) for x, y in line])
    ]
    placed = []
    for name, point, (x, y) in zip(names, points, centres, strict=True):
        for box, side, distance in _boxes_around(x, y, text_width(name)):
            inside = x + box.left >= 0 and x + box.right <= width and box.top >= 0 and box.bottom <= height
            if distance <= most and inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                near = (min(max(0.0, box.left), box.right), min(max(0.0, box.top - y), box.bottom - y))
                leader = near if distance > _LEADER else None
                placed.append(PlacedName(name, point, side, side * distance, (box.top + box.bottom) / 2 - y, leader))
                break
    return placed


def _boxes_around(x: float, y: float, wide: float) -> Iterator[tuple[_Box, int, int]]:
    for distance in _DISTANCES:
        for right, down in _AROUND:
            left = distance if right > 0 else -distance - wide if right < 0 else -wide / 2
            top = y + distance if down > 0 else y - distance - HEIGHT if down < 0 else y - HEIGHT / 2
            yield _Box(x, left, left + wide, top, top + HEIGHT), right, distance


def _points_along(line: Sequence[Percent]) -> Iterator[Percent]:
    for (x, y), (next_x, next_y) in pairwise(line):
        steps = max(2, round(max(abs(next_x - x), abs(next_y - y)) / 4))
        yield from ((x + k * (next_x - x) / steps, y + k * (next_y - y) / steps) for k in range(steps + 1))


def text_width(text: str) -> float:
    """The width of a text in pixels, at most."""
    full = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    slim = sum(c in _SLIM for c in text)
    broad = sum(c.isupper() or c in "mw@%" for c in text)
    return 2 + _LETTER * (len(text) - full - slim - broad) + _FULL * full + _NARROW * slim + _CAPITAL * broad
