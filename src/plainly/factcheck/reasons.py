"""Reasons for a score in plain words: the facts that differ between source and output, beside what a metric says."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from plainly.core.metric import Reason
from plainly.factcheck.pairs import PairCheck
from plainly.factcheck.reading import EFFECTS, KIND_NAMES, SURE, FactFinding

_PART = "meaning"  # the part of a score that facts explain
_REVERSALS = ("polarity", "comparison", "order", "cause", "roles")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def add_facts(reasons: Sequence[Reason], pair: PairCheck) -> tuple[Reason, ...]:
    """Return the reasons for an item's score; that for its meaning also says which facts differ."""
    facts = describe_findings(pair.findings)
    return tuple(replace(reason, facts=facts) if reason.part == _PART else reason for reason in reasons)


def describe_findings(findings: Iterable[FactFinding]) -> str:
    """Count the probable findings in words: "one name changed, two facts lost"."""
    probable = [finding for finding in findings if finding.sure >= SURE and finding.effect != "harmless"]
    probable.sort(key=lambda finding: EFFECTS.index(finding.effect))
    counts = Counter(map(_describe, probable))
    return ", ".join(f"{_count(count, noun)} {effect}" for (noun, effect), count in counts.items())


def _describe(finding: FactFinding) -> tuple[str, str]:
    """Return what differs and how: "name", "changed"."""
    if finding.effect == "flipped":
        return "statement", "reversed" if finding.kind in _REVERSALS else "changed"
    if finding.kind == "claim":
        return "fact", finding.effect
    return KIND_NAMES.get(finding.kind, finding.kind), finding.effect


def _count(count: int, noun: str) -> str:
    number = _NUMBERS[count - 1] if count <= len(_NUMBERS) else f"{count:,}"
    return f"{number} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"
