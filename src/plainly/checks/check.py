"""Check one text against the rules for items, with or without its source.

>>> result = check("Certainly! The dog left its house.", source="The canine departed from its kennel.")
>>> result.passed, [finding.rule for finding in result.findings]
(False, ['preamble'])
"""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plainly.checks.item_rules import findings
from plainly.checks.outcome import Judged
from plainly.checks.rules import Rules, chosen
from plainly.core import registry
from plainly.core.errors import check_text, check_texts
from plainly.core.evalset import EvalSet


def check(
    text: str,
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    rules: str | Path | Rules | None = None,
    preset: str | None = None,
) -> Judged:
    """Decide whether one text may be shown, by the rules for items: those of a file or a ``preset``.

    Without rules and preset, the preset "plain". Rules whose metric needs a source or references that were not given
    are not applied; the result names them. Made for a service: fast when warm, and thread-safe.
    """
    check_text("text", text)
    if source is not None:
        check_text("source", source)
    check_texts("references", references)
    asked_for = chosen(rules, preset if preset or rules else "plain")
    sources = None if source is None else [source]
    evalset = EvalSet.of(sources, references=[tuple(references)] if references else None, items=1)
    given = {"source"} if source is not None else set()
    given |= {"references"} if references else set()
    segments: dict[str, Mapping[str, Any]] = {}
    not_applied = []
    for spec in dict.fromkeys(limit.spec for limit in asked_for.items):
        metric = registry.metric(spec)
        if not metric.needs <= given:
            not_applied.append(spec)
            continue
        values = metric.score(metric.measure(evalset, [text]))
        segments[spec] = {name: values[:, place] for place, name in enumerate(metric.outputs)}
    today = datetime.date.today()
    seen = tuple(findings(asked_for, sources, [text], segments, ids=["1"], today=today))
    return Judged(all(finding.waived for finding in seen), seen, tuple(not_applied))
