"""An assertion for promptfoo: ``type: python``, ``value: file://assert_plainly.py`` with one line in that file,

    from plainly.integrations.promptfoo import get_assert

The source is the variable ``source`` of the test (or ``text``, ``input``); ``config`` may hold ``preset`` or ``rules``.
"""

from typing import Any

from plainly.questions.gate import check

_SOURCES = ("source", "text", "input")


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """What promptfoo calls a grading result: pass, score, reason."""
    variables, config = context.get("vars") or {}, context.get("config") or {}
    source = next((str(variables[name]) for name in _SOURCES if name in variables), None)
    if source is None:
        return {"pass": False, "score": 0.0, "reason": f"The test has no variable {' or '.join(_SOURCES)}."}
    judged = check(source, output, preset=config.get("preset"), rules=config.get("rules"))
    reasons = [f"{finding.rule}: {finding.words or finding.message}" for finding in judged.findings]
    return {"pass": judged.passed, "score": float(judged.passed), "reason": "; ".join(reasons) or "every rule holds"}
