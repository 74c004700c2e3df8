"""Every attack that comes with plainly, by name, and the choice among them."""

from collections.abc import Sequence

from plainly.auditing import attacks as _attacks  # noqa: F401  (registers them, and those of the paper)
from plainly.auditing.attack import ATTACKS, Attack
from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.result import Listing


def listing() -> Listing:
    """The attacks that come with plainly, and what a sound metric makes of each."""
    rows = tuple(
        {"attack": attack.name, "expected": attack.expected, "what": attack.what, "paper": attack.paper}
        for attack in ATTACKS.values()
    )
    headings = {"attack": "attack", "expected": "should be", "what": "what stands in for an output"}
    return Listing({"schema": "plainly.audit/1", "attacks": list(rows)}, rows, headings)


def chosen(names: str | Sequence[str | Attack], evalset: EvalSet) -> list[Attack]:
    """The attacks that the names mean. ``all`` and ``paper`` leave out what the data does not allow."""
    attacks: dict[str, Attack] = {}
    for name in registry.split_specs(names) if isinstance(names, str) else names:
        if isinstance(name, Attack):
            attacks[name.name] = name
        elif name in ("all", "paper"):
            group = (attack for attack in ATTACKS.values() if name == "all" or attack.paper)
            attacks |= {attack.name: attack for attack in group if not _lacks(attack, evalset)}
        elif name in ATTACKS:
            if lacking := _lacks(ATTACKS[name], evalset):
                raise BadInput(f"The attack {name} needs {lacking}, and none were given.")
            attacks[name] = ATTACKS[name]
        else:
            raise UnknownName("attack", name, ("all", "paper", *ATTACKS), see="plainly audit --list")
    if not attacks:
        raise BadInput("No attack was chosen. See: plainly audit --list")
    return list(attacks.values())


def _lacks(attack: Attack, evalset: EvalSet) -> str:
    if "source" in attack.needs and not evalset.has_sources:
        return "sources"
    if "references" in attack.needs and not evalset.reference_counts.all():
        return "a reference for each item"
    return ""
