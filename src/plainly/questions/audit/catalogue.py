"""Every attack that comes with plainly, by name, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence

from plainly.errors import BadInput, UnknownName
from plainly.evalset import EvalSet
from plainly.questions.audit import attacks, periods
from plainly.questions.audit.attack import ATTACKS, Attack

__all__ = ["ATTACKS", "attacks", "chosen", "periods"]


def chosen(names: Sequence[str | Attack], evalset: EvalSet) -> list[Attack]:
    """The attacks that the names mean. ``all`` and ``paper`` leave out what the data does not allow."""
    found: dict[str, Attack] = {}
    for name in names:
        if isinstance(name, Attack):
            found[name.name] = name
        elif name in ("all", "paper"):
            group = (each for each in ATTACKS.values() if name == "all" or each.paper)
            found |= {each.name: each for each in group if not _lacks(each, evalset)}
        elif name in ATTACKS:
            if lacking := _lacks(ATTACKS[name], evalset):
                raise BadInput(f"The attack {name} needs {lacking}, and none were given.")
            found[name] = ATTACKS[name]
        else:
            raise UnknownName("attack", name, ("all", "paper", *ATTACKS), see="plainly audit --list")
    if not found:
        raise BadInput("No attack was chosen. See: plainly audit --list")
    return list(found.values())


def _lacks(one: Attack, evalset: EvalSet) -> str:
    if "source" in one.needs and not evalset.has_sources:
        return "sources"
    if "references" in one.needs and not evalset.reference_counts.all():
        return "a reference for each item"
    return ""
