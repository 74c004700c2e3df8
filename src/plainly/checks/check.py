"""Check one text against the rules for items, with or without its source.

>>> result = check("Certainly! The dog left its house.", source="The canine departed from its kennel.")
>>> result.outcome, [finding.rule for finding in result.findings]
('block', ['preamble'])
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, get_args

from plainly.checks.documents import parse_document
from plainly.checks.findings import (
    Finding,
    Segments,
    check_facts,
    explain_scores,
    find_language,
    find_violations,
    measure_segments,
    strictest,
)
from plainly.checks.prose import TARGETS, Prose, analyse
from plainly.checks.rules import FailOn, Rules, resolve_rules
from plainly.core import registry
from plainly.core.errors import BadInput, check_choice, check_text, check_texts
from plainly.core.evalset import EvalSet
from plainly.core.metric import Reason
from plainly.core.result import Record
from plainly.factcheck.reading import OUTCOMES, Outcome
from plainly.metrics.evidence import in_language, works_in
from plainly.text.languages import detection


@dataclass(frozen=True)
class CheckResult:
    """Whether a text may be shown, every rule that it breaks, and what its quality is made of.

    The outcome is "block", "review" (a person should look at the findings) or "pass". A text has passed unless its
    outcome is ``fail_on`` or stricter. ``reasons`` has an entry for each part of the learned scores in the rules.
    """

    outcome: Outcome
    findings: tuple[Finding, ...]
    not_applied: tuple[str, ...] = ()  # metrics of rules that need a source or references, or another language
    language: str | None = None
    fail_on: FailOn = "block"
    reasons: tuple[Reason, ...] = ()
    text: str = field(default="", repr=False)
    preset: str = "plain"

    @cached_property
    def prose(self) -> Prose:
        """How hard the text is, sentence by sentence, and what the rules of packs find: see docs/check.md."""
        preset = self.preset if self.preset in TARGETS else "plain"
        language = self.language or detection.detect_or_guess(self.text)
        return analyse(parse_document(self.text), language=language, preset=preset)

    @property
    def passed(self) -> bool:
        return OUTCOMES.index(self.outcome) > OUTCOMES.index(self.fail_on)

    def __bool__(self) -> bool:
        return self.passed

    def json(self) -> Record:
        """Return the decision as ``plainly gate --stream`` writes it."""
        findings = [
            {name: value for name, value in finding.json().items() if name not in ("item", "system", "place")}
            for finding in self.findings
        ]
        return {
            "outcome": self.outcome,
            "passed": self.passed,
            "language": self.language,
            "findings": findings,
            "reasons": [reason.json() for reason in self.reasons],
            "not_applied": list(self.not_applied),
        }


def check(
    text: str,
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    language: str | None = None,
    rules: str | Path | Rules | None = None,
    preset: str | None = None,
    fail_on: FailOn = "block",
) -> CheckResult:
    """Decide whether one text may be shown, by the rules for items: those of a file or a ``preset``.

    Without rules and preset, the preset "plain". The ``language`` is a code ("de"); without one it is detected. Rules
    whose metric needs a source or references that were not given, or does not work in the language, are not applied;
    the result names them. Made for a service: fast when warm, and thread-safe.
    """
    check_text("text", text)
    if source is not None:
        check_text("source", source)
    check_texts("references", references)
    check_choice("fail_on", fail_on, get_args(FailOn))
    active = resolve_rules(rules, "plain" if preset is None and rules is None else preset)
    code = "" if language in (None, "auto") else detection.check(language)
    sources = None if source is None else [source]
    rows = [tuple(references)] if references else None
    evalset = EvalSet.of(sources, references=rows, items=1, language=code)
    if active.needs_language and not code:
        code = find_language(evalset, [text]) or ""
        evalset = EvalSet.of(sources, references=rows, items=1, language=code)
    active = active.for_language(code or None)
    available = frozenset([*(["source"] if source is not None else []), *(["references"] if references else [])])
    segments: dict[str, Mapping[str, Any]] = {}
    not_applied = []
    for spec in dict.fromkeys(limit.spec for limit in active.items):
        if _is_applicable(spec, available, code):
            segments |= measure_segments([spec], evalset, [text])
        else:
            not_applied.append(spec)
    scores: Segments = segments
    today = datetime.date.today()
    facts = check_facts(active, evalset, [text], [0])
    findings = tuple(find_violations(active, evalset, [text], scores, language=code or None, today=today, facts=facts))
    outcome = strictest(finding.outcome for finding in findings if not finding.waived)
    explained = explain_scores(segments, evalset, [text], facts).values()
    reasons = {reason.part: reason for (of_text,) in explained for reason in of_text}
    return CheckResult(
        outcome, findings, tuple(not_applied), code or None, fail_on, tuple(reasons.values()), text, active.name
    )


@lru_cache(maxsize=1000)
def _is_applicable(spec: str, available: frozenset[str], language: str) -> bool:
    """Return whether a metric has the texts that it needs and works in a language (unknown: "")."""
    metric = registry.metric(spec)
    return metric.needs <= available and (not language or works_in(in_language(metric, language, spec), language))


def check_lines(
    rows: Iterable[Mapping[str, Any]],
    *,
    language: str | None = None,
    rules: str | Path | Rules | None = None,
    preset: str | None = None,
    fail_on: FailOn = "block",
) -> Iterator[Record]:
    """Yield a decision on each row, which has an ``output`` and may have ``id``, ``source`` and ``language``.

    Rules for the whole file, which need all of it, are refused.
    """
    active = resolve_rules(rules, preset)
    if active.is_empty:
        raise BadInput("There is no rule. Pass rules= or preset=.")
    if active.require or active.not_worse or active.needs_baseline:
        raise BadInput("A stream is decided line by line: leave out rules for the whole file and baselines.")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping) or not isinstance(row.get("output"), str):
            raise BadInput(f'Line {number} is not an object with an output: {{"source": "…", "output": "…"}}')
        source, own = row.get("source"), row.get("language")
        try:
            result = check(row["output"], source=source, language=own or language, rules=active, fail_on=fail_on)
        except BadInput as error:
            raise BadInput(f"Line {number}: {error}") from None
        yield {"id": str(row.get("id", number)), **result.json()}
