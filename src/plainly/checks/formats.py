"""The findings of gate and check in the formats of other programs: JUnit XML, SARIF, and GitHub annotations."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from plainly import __version__
from plainly.checks.document_checks import DocumentChecks, DocumentFinding
from plainly.checks.gate import Gate
from plainly.checks.rules import LEVEL, FailOn
from plainly.core.formatting import count_noun, interval
from plainly.core.result import Record
from plainly.io.faults import EXPLANATIONS

_MOST = 100  # items that one failure of JUnit lists
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
_PROPERTIES = ("outcome", "words", "start", "stop", "source_words", "source_start", "source_stop")
_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


_Case = tuple[str, str, str, str]  # name, result (an element, or "" for a test that passes), its message and text


def junit(outcome: Gate) -> str:
    """Write JUnit XML: a suite for each system, a test for each rule; a rule that outputs break lists them."""
    return _junit("plainly gate", {system or "outputs": list(_cases(outcome, system)) for system in outcome.outputs})


def junit_documents(checks: DocumentChecks) -> str:
    """Write JUnit XML: a suite for each file, a test for the verdict and for each rule that the file breaks."""
    suites = {}
    for check in checks.documents:
        by_rule: dict[str, list[DocumentFinding]] = {LEVEL: []}
        for finding in check.findings:
            if not finding.waived:
                by_rule.setdefault(finding.rule, []).append(finding)
        suites[check.name] = [
            (rule, _result(findings, check.fail_on), f"{len(findings)}", _list_lines(map(_line, findings)))
            for rule, findings in by_rule.items()
        ]
    return _junit("plainly check", suites)


def _result(findings: Sequence[DocumentFinding], fail_on: FailOn) -> str:
    outcomes = {finding.outcome for finding in findings}
    if "block" in outcomes or (fail_on == "review" and "review" in outcomes):
        return "failure"
    return "skipped" if "review" in outcomes else ""


def _line(finding: DocumentFinding) -> str:
    return f"{finding.item}:{finding.line_number}:{finding.column}: {finding.message}"


def _list_lines(lines: Iterable[str]) -> str:
    texts = list(lines)
    return "\n".join([*texts[:_MOST], *([f"and {len(texts) - _MOST} more"] if len(texts) > _MOST else [])])


def _junit(name: str, cases_by_suite: Mapping[str, Sequence[_Case]]) -> str:
    suites = ElementTree.Element("testsuites", name=name)
    for suite_name, cases in cases_by_suite.items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_UNPRINTABLE.sub("�", suite_name))
        for case_name, kind, message, text in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=suite.get("name", ""), name=case_name)
            if kind:
                element = ElementTree.SubElement(case, kind, message=_UNPRINTABLE.sub("�", message))
                element.text = _UNPRINTABLE.sub("�", text)
        suite.set("tests", str(len(cases)))
        for attribute, kind in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(attribute, str(sum(case[1] == kind for case in cases)))
        suite.set("errors", "0")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _cases(outcome: Gate, system: str) -> Iterator[_Case]:
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
        count = (
            f"{count_noun(len({finding.place for finding in findings}), 'output')} of {outcome.output_counts[system]}"
        )
        yield (
            f"items: {rule}",
            kind,
            f"{'block' if errors else 'review'}: {count}",
            _list_lines(finding.line for finding in findings),
        )


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
    return _sarif(descriptions, results)


def sarif_documents(checks: DocumentChecks) -> str:
    """Write SARIF 2.1.0: a result for each finding, with its characters in the file."""
    rules = list(dict.fromkeys(finding.rule for finding in checks.findings))
    results = []
    for finding in checks.findings:
        region = {"startLine": finding.line_number, "startColumn": finding.column}
        if finding.stop > finding.start:
            region |= {"endLine": finding.end_line, "endColumn": finding.end_column}
        physical = {"artifactLocation": {"uri": _address(finding.item)}, "region": region}
        result: Record = {
            "ruleId": finding.rule,
            "ruleIndex": rules.index(finding.rule),
            "level": {"block": "error", "review": "warning", "pass": "note"}[finding.outcome],
            "message": {"text": finding.message},
            "locations": [{"physicalLocation": physical}],
            "partialFingerprints": {"plainly/1": finding.fingerprint},
        }
        if finding.waived:
            result["suppressions"] = [{"kind": "external", "justification": finding.waived}]
        results.append(result)
    return _sarif({rule: rule for rule in rules}, results)


def github_documents(checks: DocumentChecks) -> str:
    """Write workflow commands: errors, warnings to review, and notices for suggestions."""
    kinds = {"block": "error", "review": "warning", "pass": "notice"}
    return "".join(
        f"::{kinds[finding.outcome]} file={_escape_property(finding.item)},line={finding.line_number},"
        f"col={finding.column},title={_escape_property(f'plainly check: {finding.rule}')}::{_escape(finding.message)}\n"
        for finding in checks.findings
        if not finding.waived
    )


def _address(path: str) -> str:
    """Return a path as the relative address that SARIF asks for."""
    return quote(path.replace("\\", "/"))


def _sarif(descriptions: Mapping[str, str], results: Sequence[Record]) -> str:
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
    physical: Record = {"artifactLocation": {"uri": _address(path)}}
    if place is not None:
        physical["region"] = {"startLine": place + 1}
    return {"locations": [{"physicalLocation": physical}]}


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
