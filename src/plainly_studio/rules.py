"""Exclusion rules: whose answers do not count in the analysis, as the study's file said before the first answer.

The rules are applied to all answers whenever figures are computed, so that the same data always give the same result.
They do not affect pay.
"""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from plainly_studio import tasks
from plainly_studio.project import Project

if TYPE_CHECKING:
    from plainly_studio.exports import StudyAnswer, Unit

# Times, repeated answers and shares of fewer answers say little about a person.
FEWEST_ANSWERS = 5


def exclusions(project: Project, items: Mapping[int, "Unit"], answers: Iterable["StudyAnswer"]) -> dict[str, str]:
    """Return the raters whom a rule excludes, with the rule and what it measured."""
    by_rater: dict[str, dict[str, list[StudyAnswer]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        by_rater[answer.rater][items[answer.item].kind].append(answer)
    reasons = {rater: _find_reasons(project, items, own) for rater, own in by_rater.items()}
    return {rater: "; ".join(own) for rater, own in reasons.items() if own}


def _find_reasons(project: Project, items: Mapping[int, "Unit"], own: Mapping[str, list["StudyAnswer"]]) -> list[str]:
    rules, reasons = project.exclusion, []

    def count_expected(kind: str) -> tuple[int, int]:
        results = [
            tasks.is_as_expected(project, answer.payload, items[answer.item].expected or {})
            for answer in own.get(kind, ())
        ]
        return sum(results), len(results)

    passed, checks = count_expected("check")
    if rules.checks_missed and checks - passed >= rules.checks_missed:
        reasons.append(f"checks_missed: {checks - passed} of {checks}")
    right, gold = (sum(pair) for pair in zip((passed, checks), count_expected("qualification"), strict=True))
    if gold >= FEWEST_ANSWERS and right / gold < rules.gold_agreement:
        reasons.append(f"gold_agreement: {right} of {gold} as expected")
    main = own.get("main", [])
    seconds = [answer.seconds for answer in main if answer.seconds is not None]
    if len(seconds) >= FEWEST_ANSWERS and statistics.median(seconds) < rules.minimum_seconds:
        reasons.append(f"minimum_seconds: {statistics.median(seconds):.1f} s")
    content = Counter(_content(answer.payload) for answer in main if not answer.cannot_judge)
    same, count = max(content.values(), default=0), content.total()
    if rules.straight_lining and count >= FEWEST_ANSWERS and same / count >= rules.straight_lining:
        reasons.append(f"straight_lining: {same} of {count} answers are the same")
    return reasons


def _content(payload: Mapping[str, Any]) -> str:
    """Return what two answers share that a person gives without reading: values, the position of a choice, labels."""
    if "choice" in payload:
        choice = payload["choice"]
        return json.dumps({name: choice[name] for name in ("tie", "best", "worst") if name in choice})
    if "groups" in payload:
        return json.dumps(sorted({label for group in payload["groups"] for label in group["labels"]}))
    return json.dumps(payload.get("values"), sort_keys=True)
