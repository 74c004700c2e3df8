"""Positions in a figure: the axis of a plot, and names beside points that do not overlap.

Names are placed for the narrowest field that they serve. A name keeps its distance from its point in pixels, so in a
wider field of the same height names only move apart, if names side by side are in the order of their points.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Percent = tuple[float, float]  # from the left and from the top of a field
# A value farther from the others than this many times their spread would squeeze them into a corner.
_FAR = 4.0
_FEWEST_OTHERS = 3
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

HEIGHT = 17.0  # of a line of text, in pixels
_AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
_DISTANCES = (9, 16, 23, 30, 46, 62, 78, 110)  # pixels from a point
_LEADER = 16  # from this distance on a line leads to the name
_POINT = 8.0  # half the size of a point
# Widths of letters in a wide typeface, in pixels, so that other typefaces fit as well.
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
        """Return the position of a value in percent from the low end; values beyond an end stand at it."""
        return round(min(max(100 * (value - self.low) / (self.high - self.low), 0.0), 100.0), 2)


def fit_scale(
    points: Mapping[str, Sequence[float]], also: Sequence[float] = (), *, most: int = 5, whole: bool = False
) -> Scale:
    """Return an axis for values by name, including the ends of intervals; ``also`` are numbers that it must include.

    A ``whole`` axis includes every value, however far off.
    """
    spans = {name: (min(finite), max(finite)) for name, values in points.items() if (finite := _finite(values))}
    beyond = [] if whole else _far(spans, _finite(also))
    within = [span for name, span in spans.items() if name not in beyond]
    ends = [*(end for span in within for end in span), *_finite(also)] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    low, high = low - (room if low not in also else 0.0), high + room
    return Scale(low, high, _ticks(low, high, most), tuple(beyond))


def _far(spans: Mapping[str, tuple[float, float]], also: Sequence[float]) -> list[str]:
    """Return the names far beyond the others, and what else is on the axis, as long as enough are left."""
    left, beyond = dict(spans), []
    while len(left) > _FEWEST_OTHERS:
        extremes = (min(left, key=lambda name: left[name][0]), max(left, key=lambda name: left[name][1]))
        for name in extremes:
            others = [span for other, span in left.items() if other != name]
            low, high = min(*also, *(span[0] for span in others)), max(*also, *(span[1] for span in others))
            gap = max(low - left[name][1], left[name][0] - high)
            if high > low and gap > _FAR * (high - low):
                beyond.append(name)
                del left[name]
                break
        else:
            break
    return beyond if len(beyond) <= len(spans) / 3 else []


def _ticks(low: float, high: float, most: int) -> tuple[tuple[float, str], ...]:
    """Return round numbers between two ends, at most ``most``."""
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
class _Box:
    """A box that is occupied, as distances from its point."""

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
) -> list[PlacedName]:
    """Place names beside points so that none covers a point, the line or another name.

    Names that do not fit are left out; earlier names find a place more easily than later ones.
    """
    centres = [(width * x / 100, height * y / 100) for x, y in points]
    boxes = [_Box(x, -_POINT, _POINT, y - _POINT, y + _POINT) for x, y in centres]
    boxes += [
        _Box(x, -1, 1, y - 1, y + 1) for x, y in _points_along([(width * x / 100, height * y / 100) for x, y in line])
    ]
    labels = []
    for name, point, (x, y) in zip(names, points, centres, strict=True):
        for box, side, distance in _boxes_around(x, y, text_width(name)):
            inside = x + box.left >= 0 and x + box.right <= width and box.top >= 0 and box.bottom <= height
            if inside and not any(box.meets(other) for other in boxes):
                boxes.append(box)
                near = (min(max(0.0, box.left), box.right), min(max(0.0, box.top - y), box.bottom - y))
                leader = near if distance > _LEADER else None
                labels.append(PlacedName(name, point, side, side * distance, (box.top + box.bottom) / 2 - y, leader))
                break
    return labels


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
    """Return the largest width that a text can have, in pixels."""
    full = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    slim = sum(c in _SLIM for c in text)
    broad = sum(c.isupper() or c in "mw@%" for c in text)
    return 2 + _LETTER * (len(text) - full - slim - broad) + _FULL * full + _NARROW * slim + _CAPITAL * broad
