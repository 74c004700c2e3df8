"""The gate's findings in the formats of other programs: JUnit XML, SARIF, and GitHub annotations."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping

from plainly import __version__
from plainly.checks.gate import Gate
from plainly.core.formatting import count_noun, interval
from plainly.core.result import Record
from plainly.io.faults import EXPLANATIONS

_MOST = 100  # items that one failure of JUnit lists
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
_PROPERTIES = ("outcome", "words", "start", "stop", "source_words", "source_start", "source_stop")
_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def junit(outcome: Gate) -> str:
    """Write JUnit XML: a suite for each system, a test for each rule; a rule that outputs break lists them."""
    suites = ElementTree.Element("testsuites", name="plainly gate")
    for system in outcome.outputs:
        suite = ElementTree.SubElement(suites, "testsuite", name=system or "outputs")
        cases = list(_cases(outcome, system))
        for name, kind, message, text in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=system or "outputs", name=name)
            if kind:
                element = ElementTree.SubElement(case, kind, message=_UNPRINTABLE.sub("�", message))
                element.text = _UNPRINTABLE.sub("�", text)
        suite.set("tests", str(len(cases)))
        for attribute, kind in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(attribute, str(sum(case[1] == kind for case in cases)))
        suite.set("errors", "0")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _cases(outcome: Gate, system: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, the result (an element, or "" for a test that passes), its message and text for each rule.

    A rule for items fails if it is a reason why the system fails. Findings to be reviewed that do not fail it are
    "skipped", which test reports show; a fault of style that is allowed passes.
    """
    for verdict in (verdict for verdict in outcome.verdicts if verdict.system == system):
        value = interval(verdict.value, verdict.low, verdict.high)
        kind, message = ("failure", f"{verdict.outcome}: {value}") if outcome.stops(verdict) else ("", "")
        yield verdict.rule, kind, message, f"{verdict.rule}: {value}, {count_noun(verdict.n, 'item')}"
    for rule in outcome.item_rules:
        findings = [finding for finding in outcome.violations(system) if finding.rule == rule]
        errors = [finding for finding in findings if outcome.is_error(finding)]
        reviews = [finding for finding in findings if finding.outcome == "review"]
        is_failing = errors or (reviews and outcome.fail_on == "review" and outcome.outcomes[system] != "pass")
        kind = "failure" if is_failing else "skipped" if reviews else ""
        lines = [finding.line for finding in findings[:_MOST]]
        lines += [f"and {len(findings) - _MOST} more"] if len(findings) > _MOST else []
        count = (
            f"{count_noun(len({finding.place for finding in findings}), 'output')} of {outcome.output_counts[system]}"
        )
        yield f"items: {rule}", kind, f"{'block' if errors else 'review'}: {count}", "\n".join(lines)


def sarif(outcome: Gate, files: Mapping[str, str]) -> str:
    """Write SARIF 2.1.0: a result for each finding, with its file and line where they are known."""
    rules = list(dict.fromkeys([*(verdict.rule for verdict in outcome.verdicts), *outcome.item_rules]))
    results = [
        {
            "ruleId": verdict.rule,
            "ruleIndex": rules.index(verdict.rule),
            "level": "error" if outcome.stops(verdict) else "none",
            "kind": "fail" if outcome.stops(verdict) else "pass",
            "message": {"text": f"{verdict.system}: {verdict.rule}: {verdict.outcome}".lstrip(": ")},
            **_location(files.get(verdict.system), None),
        }
        for verdict in outcome.verdicts
    ]
    for finding in outcome.findings:
        result: Record = {
            "ruleId": finding.rule,
            "ruleIndex": rules.index(finding.rule),
            "level": "error" if outcome.is_error(finding) else "warning",
            "message": {"text": finding.line},
            "properties": {name: getattr(finding, name) for name in _PROPERTIES},
            **_location(files.get(finding.system), finding.place),
        }
        if finding.waived:
            result["suppressions"] = [{"kind": "external", "justification": finding.waived}]
        results.append(result)
    descriptions = {rule: " ".join(EXPLANATIONS.get(rule, rule).split()) for rule in rules}
    entries = [{"id": rule, "shortDescription": {"text": text}} for rule, text in descriptions.items()]
    driver = {"name": "plainly", "version": __version__, "rules": entries}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1) + "\n"


def github(outcome: Gate, files: Mapping[str, str]) -> str:
    """Write workflow commands, which GitHub shows beside the lines of the file: errors, and warnings to review."""
    lines = []
    for verdict in outcome.verdicts:
        if outcome.stops(verdict):
            text = f"{verdict.rule}: {verdict.outcome}, {interval(verdict.value, verdict.low, verdict.high)}"
            lines.append(_annotation("error", files.get(verdict.system), None, verdict.system, text))
    for finding in outcome.findings:
        if not finding.waived:
            kind = "error" if outcome.is_error(finding) else "warning"
            lines.append(_annotation(kind, files.get(finding.system), finding.place, finding.rule, finding.line))
    return "".join(f"{line}\n" for line in lines)


def _annotation(kind: str, path: str | None, place: int | None, title: str, text: str) -> str:
    where = [f"file={_escape_property(path)}"] if path else []
    where += [f"line={place + 1}"] if path and place is not None else []
    where.append(f"title={_escape_property(f'plainly gate: {title}')}")
    return f"::{kind} {','.join(where)}::{_escape(text)}"


def _location(path: str | None, place: int | None) -> Record:
    if not path:
        return {}
    physical: Record = {"artifactLocation": {"uri": path.replace("\\", "/")}}
    if place is not None:
        physical["region"] = {"startLine": place + 1}
    return {"locations": [{"physicalLocation": physical}]}


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
