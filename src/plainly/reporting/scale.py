"""The axis of a plot: from where to where, which numbers stand on it, and who lies too far off for it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Who lies farther from the others than so many times their whole spread would squeeze them into a corner.
_FAR = 4.0
_FEWEST_OTHERS = 3
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


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


def scale(
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
