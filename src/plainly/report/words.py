"""Small matters of English that several parts of a report need."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """``A``, ``A and B``, ``A, B and C``, ``A, B and 9 more``."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def number(value: float, *, places: int = 2) -> str:
    """A number as people read it: a true minus, and a dash for what is undefined."""
    if value != value:
        return "–"
    return f"{value:.{places}f}".replace("-", "−")


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
