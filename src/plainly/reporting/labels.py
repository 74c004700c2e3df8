"""Where the names of points stand: beside them, where no two meet, on the page and in files.

Places are found for the narrowest field that they serve. A name keeps its distance from its point in pixels, so in a
wider field of the same height names only move apart: two side by side must stand in the order of their points.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

Percent = tuple[float, float]  # from the left and from the top of a field
HEIGHT = 17.0  # of a line of text, in pixels
_AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
_DISTANCES = (9, 16, 23, 30, 46, 62, 78, 110, 142)  # pixels from a point
_FARTHEST = 70  # for a name; a number may stand farther off
_LEADER = 16  # from here on a line leads to the name
_POINT = 8.0  # half of what a point takes
# Letters as wide as those of a wide typeface, in pixels at the size of the page, so that others fit as well.
_NARROW, _LETTER, _CAPITAL, _FULL = 5.4, 8.8, 10.4, 14.0
_SLIM = frozenset(" .,:;'|!/()[]-ijltfr")


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


def place(
    names: Sequence[str], points: Sequence[Percent], line: Sequence[Percent], *, width: float, height: float
) -> PlacedNames:
    """Names, or numbers, beside points; none stands on a point, on the line or on another."""
    placed = _placed(names, points, line, width, height, _FARTHEST)
    if len(placed) == len(names):
        return PlacedNames(tuple(placed), numbered=False)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    return PlacedNames(tuple(_placed(numbers, points, line, width, height, max(_DISTANCES))), numbered=True)


def _placed(
    names: Sequence[str], points: Sequence[Percent], line: Sequence[Percent], width: float, height: float, most: float
) -> list[PlacedName]:
    """Those that find a place."""
    centres = [(width * x / 100, height * y / 100) for x, y in points]
    taken = [_Box(x, -_POINT, _POINT, y - _POINT, y + _POINT) for x, y in centres]
    taken += [_Box(x, -1, 1, y - 1, y + 1) for x, y in _along([(width * x / 100, height * y / 100) for x, y in line])]
    placed = []
    for name, point, (x, y) in zip(names, points, centres, strict=True):
        for box, side, distance in _around(x, y, _wide(name)):
            inside = x + box.left >= 0 and x + box.right <= width and box.top >= 0 and box.bottom <= height
            if distance <= most and inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                near = (min(max(0.0, box.left), box.right), min(max(0.0, box.top - y), box.bottom - y))
                leader = near if distance > _LEADER else None
                placed.append(PlacedName(name, point, side, side * distance, (box.top + box.bottom) / 2 - y, leader))
                break
    return placed


def _around(x: float, y: float, wide: float) -> Iterator[tuple[_Box, int, int]]:
    for distance in _DISTANCES:
        for right, down in _AROUND:
            left = distance if right > 0 else -distance - wide if right < 0 else -wide / 2
            top = y + distance if down > 0 else y - distance - HEIGHT if down < 0 else y - HEIGHT / 2
            yield _Box(x, left, left + wide, top, top + HEIGHT), right, distance


def _along(line: Sequence[Percent]) -> Iterator[Percent]:
    for (x, y), (next_x, next_y) in pairwise(line):
        steps = max(2, round(max(abs(next_x - x), abs(next_y - y)) / 4))
        yield from ((x + k * (next_x - x) / steps, y + k * (next_y - y) / steps) for k in range(steps + 1))


def _wide(text: str) -> float:
    """How wide a text is, in pixels, at most."""
    return 2 + sum(map(_letter, text))


def _letter(c: str) -> float:
    if unicodedata.east_asian_width(c) in "WF":
        return _FULL
    return _NARROW if c in _SLIM else _CAPITAL if c.isupper() or c in "mw@%" else _LETTER
