"""Small matters of English that several parts of a report need."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

# Characters that are not seen, or that turn the order of those around them: shown by their code, so that nothing hides.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """A text in which every character can be seen, fit for a page: hidden ones by their code, lone surrogates as �."""
    return _SURROGATE.sub("\ufffd", HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text))


def label(system: str) -> str:
    """A system's name as it is shown; scores of a single unnamed list of outputs have none."""
    return visible(system) or "outputs"


def short(system: str) -> str:
    """A system's name where there is little room: in a plot, in a sentence. Long names are cut and stay distinct."""
    name = label(system)
    if len(name) <= 60:
        return name
    return f"{name[:48].rstrip()}… {hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


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
