"""Numbers, p-values, intervals, lists and names as text: one way each, for tables, sentences and pages.

Names and texts that others wrote are shown so that every character is visible and none is too long.
"""

import hashlib
import math
import re
from collections.abc import Sequence

# Sentences list at most this many names; the JSON has them all.
MOST_NAMES = 8


def number(
    value: float | None, decimals: int = 2, *, sign: bool = False, undefined: str = "undefined", page: bool = False
) -> str:
    """Return a number with ``decimals`` decimals; ``sign`` shows a plus too.

    On a ``page`` it is set as in print: a true minus, and a dash for what is undefined.
    """
    if value is None or math.isnan(value):
        return "–" if page else undefined
    text = f"{value:{'+' if sign else ''}.{decimals}f}"
    return text.replace("-", "−") if page else text


def format_change(value: float, decimals: int = 2) -> str:
    """Return a change: ``+0.12``; a change that rounds to 0 is ``+0.00``, never ``-0.00``."""
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
    """Return ``43.18 [41.39, 45.18]``; without the brackets where there is no interval."""
    text = number(value, decimals, sign=sign, page=page)
    if value is None or low is None or high is None or math.isnan(value) or math.isnan(low):
        return text
    return f"{text} [{number(low, decimals, page=page)}, {number(high, decimals, page=page)}]"


def span(low: float, high: float, decimals: int = 2) -> str:
    """Return ``3.94 to 4.09``, or one number where both are shown alike."""
    ends = [f"{end:.{decimals}f}" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def p_value(p: float | None, decimals: int | None = None) -> str:
    """Return a p-value as people read it; with ``decimals``, smaller values are ``<.001``."""
    if p is None or math.isnan(p):
        return "undefined"
    if decimals is not None:
        return f"<.{1:0{decimals}d}" if p < 10**-decimals else f"{p:.{decimals}f}"
    if p < 0.00005:
        return "<0.0001"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def percent(share: float, decimals: int = 0) -> str:
    """Return a share as a percentage: ``12%``."""
    return "undefined" if math.isnan(share) else f"{share:.{decimals}%}"


def size(count: int) -> str:
    """Return bytes as people read them: ``398 KB``, ``1.2 MB``, ``1.42 GB``."""
    if count >= 1e9:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} KB"


def share(part: float) -> str:
    """Return a share as a whole percentage; a small share is ``<1%``, not ``0%``."""
    return "<1%" if 0 < part < 0.005 else percent(part)


def count_noun(count: int, noun: str) -> str:
    """Return ``1 item``, ``2,000 items``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], *, most: int = MOST_NAMES) -> str:
    """Return ``A``, ``A and B``, ``A, B and C``, ``A, B and 9 more``."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


# Characters that are invisible or change the order of those around them; they are shown by their code.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Return a text that can be encoded: lone surrogates as �."""
    return _SURROGATE.sub("\ufffd", text)


def visible(text: str) -> str:
    """Return a text in which every character can be seen: hidden ones by their code."""
    return replace_surrogates(HIDDEN.sub(lambda hidden: f"⟨U+{ord(hidden[0]):04X}⟩", text))


def label(system: str) -> str:
    """Return a system's name as it is shown; scores of a single unnamed list of outputs have none."""
    return visible(system) or "outputs"


def short(system: str) -> str:
    """Return a system's name for a plot or a sentence. Long names are cut and stay distinct."""
    name = label(system)
    if len(name) <= 60:
        return name
    return f"{name[:48].rstrip()}… {hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


def abridge(system: str, most: int = 32) -> str:
    """Return a system's name for the margin of a plot, without its middle: names of one team differ at their ends."""
    name = label(system)
    return name if len(name) <= most else f"{name[: most // 3]}…{name[most // 3 + 1 - most :]}"
