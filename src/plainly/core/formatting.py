"""Numbers, p-values, intervals and lists in words: one way each, for tables, sentences and pages."""

import math
from collections.abc import Sequence

# A sentence with more names than this is not read; the JSON has them all.
MOST_NAMES = 8


def number(
    value: float | None, decimals: int = 2, *, sign: bool = False, undefined: str = "undefined", page: bool = False
) -> str:
    """A number with so many decimals; ``sign`` shows a plus too.

    On a ``page`` it is set as in print: a true minus, and a dash for what is undefined.
    """
    if value is None or math.isnan(value):
        return "–" if page else undefined
    shown = f"{value:{'+' if sign else ''}.{decimals}f}"
    return shown.replace("-", "−") if page else shown


def signed(value: float, decimals: int = 2) -> str:
    """A change: ``+0.12``; what rounds to nothing is ``+0.00``, never ``-0.00``."""
    return number(round(value, decimals) + 0.0, decimals, sign=True)  # adding 0 turns −0 into 0


def interval(
    value: float | None,
    low: float | None,
    high: float | None,
    decimals: int = 2,
    *,
    sign: bool = False,
    page: bool = False,
) -> str:
    """``43.18 [41.39, 45.18]``; without the brackets where there is no interval."""
    shown = number(value, decimals, sign=sign, page=page)
    if value is None or low is None or high is None or math.isnan(value) or math.isnan(low):
        return shown
    return f"{shown} [{number(low, decimals, page=page)}, {number(high, decimals, page=page)}]"


def span(low: float, high: float, decimals: int = 2) -> str:
    """``3.94 to 4.09``, or one number where both are shown alike."""
    ends = [f"{end:.{decimals}f}" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def p_value(p: float | None, decimals: int | None = None) -> str:
    """A p-value as people read it; with so many decimals, what is too small for them is ``<.001``."""
    if p is None or math.isnan(p):
        return "undefined"
    if decimals is not None:
        return f"<.{1:0{decimals}d}" if p < 10**-decimals else f"{p:.{decimals}f}"
    if p < 0.00005:
        return "<0.0001"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def percent(share: float, decimals: int = 0) -> str:
    """A share as a percentage: ``12%``."""
    return "undefined" if math.isnan(share) else f"{share:.{decimals}%}"


def size(count: int) -> str:
    """Bytes as people read them: ``398 KB``, ``1.2 MB``."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} KB"


def share(part: float) -> str:
    """A share as a whole percentage, where more than nothing is not shown as nothing: ``<1%``."""
    return "<1%" if 0 < part < 0.005 else percent(part)


def counted(count: int, noun: str) -> str:
    """``1 item``, ``2,000 items``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], *, most: int = MOST_NAMES) -> str:
    """``A``, ``A and B``, ``A, B and C``, ``A, B and 9 more``."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
