"""The gate's findings for other programs: JUnit XML, SARIF, and annotations of GitHub."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

from plainly import __version__
from plainly.checks.decisions import Finding
from plainly.checks.gate_result import Gate
from plainly.core.formatting import counted, interval
from plainly.core.result import Record
from plainly.io.faults import EXPLANATIONS

_MOST = 100  # items that one failure of JUnit lists
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def junit(outcome: Gate) -> str:
    """One suite a system, one test a rule; a rule that outputs break lists them."""
    suites = ElementTree.Element("testsuites", name="plainly gate")
    for system in outcome.outputs:
        suite = ElementTree.SubElement(suites, "testsuite", name=system or "outputs")
        cases = [*_verdict_cases(outcome, system), *_item_cases(outcome, system)]
        for name, failure, text in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=system or "outputs", name=name)
            if failure:
                ElementTree.SubElement(case, "failure", message=_printable(failure)).text = _printable(text)
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(sum(bool(failure) for _, failure, _ in cases)))
        suite.set("errors", "0")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _verdict_cases(outcome: Gate, system: str) -> list[tuple[str, str, str]]:
    cases = []
    for verdict in (verdict for verdict in outcome.verdicts if verdict.system == system):
        value = interval(verdict.value, verdict.low, verdict.high)
        failure = f"{verdict.outcome}: {value}" if outcome.stops(verdict) else ""
        cases.append((verdict.rule, failure, f"{verdict.rule}: {value}, {counted(verdict.n, 'item')}"))
    return cases


def _item_cases(outcome: Gate, system: str) -> list[tuple[str, str, str]]:
    """A test for each rule of items; whether the run stops is a test of its own, since some slips may be allowed."""
    by_rule: dict[str, list[Finding]] = {rule: [] for rule in outcome.item_rules}
    for finding in outcome.of_system(system):
        if not finding.waived:
            by_rule[finding.rule].append(finding)
    cases = []
    stopped = [reason for reason in outcome.failures[system] if not any(v.rule in reason for v in outcome.verdicts)]
    for rule, seen in by_rule.items():
        lines = [finding.line for finding in seen[:_MOST]]
        lines += [f"and {len(seen) - _MOST} more"] if len(seen) > _MOST else []
        failure = f"{counted(len(seen), 'output')} of {len(outcome.evalset)}" if seen and stopped else ""
        cases.append((f"items: {rule}", failure, "\n".join(lines)))
    return cases


def sarif(outcome: Gate, files: Mapping[str, str]) -> str:
    """SARIF 2.1.0: a result for each finding, in its file and line where that is known."""
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
            "level": "error",
            "message": {"text": finding.line},
            **_location(files.get(finding.system), finding.place),
        }
        if finding.waived:
            result["suppressions"] = [{"kind": "external", "justification": finding.waived}]
        results.append(result)
    described = [{"id": rule, "shortDescription": {"text": _described(rule)}} for rule in rules]
    driver = {"name": "plainly", "version": __version__, "rules": described}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1) + "\n"


def github(outcome: Gate, files: Mapping[str, str]) -> str:
    """Workflow commands: GitHub shows them beside the lines of the file."""
    lines = []
    for verdict in outcome.verdicts:
        if outcome.stops(verdict):
            text = f"{verdict.rule}: {verdict.outcome}, {interval(verdict.value, verdict.low, verdict.high)}"
            lines.append(_annotation("error", files.get(verdict.system), None, verdict.system, text))
    failing = {system for system, reasons in outcome.failures.items() if reasons}
    for finding in outcome.findings:
        if not finding.waived:
            kind = "error" if finding.system in failing else "warning"
            lines.append(_annotation(kind, files.get(finding.system), finding.place, finding.rule, finding.line))
    return "".join(f"{line}\n" for line in lines)


def _annotation(kind: str, path: str | None, place: int | None, title: str, text: str) -> str:
    where = [f"file={_property(path)}"] if path else []
    where += [f"line={place + 1}"] if path and place is not None else []
    where.append(f"title={_property(f'plainly gate: {title}')}")
    return f"::{kind} {','.join(where)}::{_escaped(text)}"


def _location(path: str | None, place: int | None) -> Record:
    if not path:
        return {}
    physical: Record = {"artifactLocation": {"uri": path.replace("\\", "/")}}
    if place is not None:
        physical["region"] = {"startLine": place + 1}
    return {"locations": [{"physicalLocation": physical}]}


def _described(rule: str) -> str:
    return " ".join(EXPLANATIONS.get(rule, rule).split())


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _printable(text: str) -> str:
    """Without characters that XML cannot hold."""
    return _UNPRINTABLE.sub("�", text)
