"""Names and texts that others wrote, as they are shown: every character can be seen, and none is too long."""

import hashlib
import re

# Characters that are not seen, or that turn the order of those around them: shown by their code, so that nothing hides.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """A text that can be encoded: lone surrogates as �."""
    return _SURROGATE.sub("\ufffd", text)


def visible(text: str) -> str:
    """A text in which every character can be seen: hidden ones by their code."""
    return whole(HIDDEN.sub(lambda hidden: f"⟨U+{ord(hidden[0]):04X}⟩", text))


def label(system: str) -> str:
    """A system's name as it is shown; scores of a single unnamed list of outputs have none."""
    return visible(system) or "outputs"


def short(system: str) -> str:
    """A system's name where there is little room: in a plot, in a sentence. Long names are cut and stay distinct."""
    name = label(system)
    if len(name) <= 60:
        return name
    return f"{name[:48].rstrip()}… {hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


def abridged(system: str, most: int = 32) -> str:
    """A system's name in the margin of a plot: the middle is left out, since names of one team differ at their ends."""
    name = label(system)
    return name if len(name) <= most else f"{name[: most // 3]}…{name[most // 3 + 1 - most :]}"
