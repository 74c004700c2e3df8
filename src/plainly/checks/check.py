"""Check one text against the rules for items, with or without its source.

>>> result = check("Certainly! The dog left its house.", source="The canine departed from its kennel.")
>>> result.passed, [finding.rule for finding in result.findings]
(False, ['preamble'])
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plainly.checks.decisions import Finding, find_violations
from plainly.checks.rules import Rules, resolve_rules
from plainly.core import registry
from plainly.core.errors import check_text, check_texts
from plainly.core.evalset import EvalSet


@dataclass(frozen=True)
class CheckResult:
    """Whether a text may be shown, and every rule that it breaks."""

    passed: bool
    findings: tuple[Finding, ...]
    not_applied: tuple[str, ...] = ()  # metrics of rules that need a source or references, which are missing

    def __bool__(self) -> bool:
        return self.passed


def check(
    text: str,
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    rules: str | Path | Rules | None = None,
    preset: str | None = None,
) -> CheckResult:
    """Decide whether one text may be shown, by the rules for items: those of a file or a ``preset``.

    Without rules and preset, the preset "plain". Rules whose metric needs a source or references that were not given
    are not applied; the result names them. Made for a service: fast when warm, and thread-safe.
    """
    check_text("text", text)
    if source is not None:
        check_text("source", source)
    check_texts("references", references)
    active = resolve_rules(rules, preset if preset or rules is not None else "plain")
    sources = None if source is None else [source]
    evalset = EvalSet.of(sources, references=[tuple(references)] if references else None, items=1)
    available = {*(["source"] if source is not None else []), *(["references"] if references else [])}
    segments: dict[str, Mapping[str, Any]] = {}
    not_applied = []
    for spec in dict.fromkeys(limit.spec for limit in active.items):
        metric = registry.metric(spec)
        if not metric.needs <= available:
            not_applied.append(spec)
            continue
        values = metric.score(metric.measure(evalset, [text]))
        segments[spec] = {name: values[:, place] for place, name in enumerate(metric.outputs)}
    today = datetime.date.today()
    violations = tuple(find_violations(active, sources, [text], segments, ids=["1"], today=today))
    return CheckResult(all(finding.waived for finding in violations), violations, tuple(not_applied))
