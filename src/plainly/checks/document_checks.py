"""Check documents: is this text plain? With a source, also: does it say the same?

A finding of a rule has a position in the file. Comments in the file, a baseline and a comparison with a branch take
findings out of the decision; they stay in the result with the reason.
"""

import bisect
import hashlib
import json
import math
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from plainly.checks.check import CheckResult, check
from plainly.checks.documents import Document, Kind, read_document, read_documents
from plainly.checks.findings import Finding, strictest
from plainly.checks.prose import TARGETS, Prose, ProsePart, analyse
from plainly.checks.rules import LEVEL, FailOn
from plainly.checks.styles import PACKS, StyleMatch, read_styles
from plainly.core.errors import BadInput, check_choice, did_you_mean
from plainly.core.files import read_whole
from plainly.core.formatting import count_noun, number
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.factcheck.reading import OUTCOMES, Outcome
from plainly.io.files import PathLike
from plainly.text.languages import detection

Target = Literal["A1", "A2", "B1", "B2", "C1"]
SEVERITIES: Mapping[Outcome, str] = {"block": "error", "review": "warning", "pass": "suggestion"}
_SHOWN = 5  # hardest sentences of a file, and comments in it that ignore no rule
_CONTEXT = 100  # characters around a finding by which a baseline knows it
_BASELINE = "plainly.baseline/1"


@dataclass(frozen=True)
class DocumentFinding(Finding):
    """A finding with its place in the file: line and column of its beginning and end, from 1.

    ``context`` is the sentence that it stands in, or a part of it.
    """

    line_number: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1
    suggestions: tuple[str, ...] = ()
    context: str = ""

    @property
    def severity(self) -> str:
        return SEVERITIES[self.outcome]

    @property
    def fingerprint(self) -> str:
        """What stays the same if the text around the sentences of a finding changes."""
        file = os.path.relpath(self.item).replace("\\", "/")
        text = "\0".join((file, self.rule, " ".join(self.words.split()), self.context))
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class DocumentCheck:
    """One document: its prose, what rules found, and the result for the pair where there is a source."""

    document: Document
    prose: Prose
    findings: tuple[DocumentFinding, ...]
    pair: CheckResult | None = None
    fail_on: FailOn = "block"

    @cached_property
    def outcome(self) -> Outcome:
        return strictest(finding.outcome for finding in self.findings if not finding.waived)

    @property
    def passed(self) -> bool:
        return OUTCOMES.index(self.outcome) > OUTCOMES.index(self.fail_on)

    @property
    def summary(self) -> str:
        """The verdict, and how many findings make the outcome stricter than the verdict."""
        verdict = self.prose.verdict
        if self.outcome == verdict.outcome:
            return verdict.message
        count = sum(not finding.waived and finding.outcome == self.outcome for finding in self.findings)
        what = "must be put right" if self.outcome == "block" else "should be looked at"
        return f"{verdict.message} {count_noun(count, 'finding')} {what}."

    @property
    def open_matches(self) -> list[StyleMatch]:
        """What rules of packs found, less what a comment, a baseline or a comparison with a branch takes out."""
        own = self.findings[len(self.findings) - len(self.prose.findings) :]
        return [match for match, finding in zip(self.prose.findings, own, strict=True) if not finding.waived]

    @property
    def hardest_paragraphs(self) -> list[ProsePart]:
        """The three hardest of more than three paragraphs, of those with a level and more than ten words."""
        levelled = [part for part in self.prose.paragraphs if math.isfinite(part.level.value) and part.words > 10]
        return sorted(levelled, key=lambda part: -part.level.value)[:3] if len(self.prose.paragraphs) > 3 else []

    @property
    def name(self) -> str:
        return self.document.name

    @cached_property
    def word_count(self) -> int:
        return sum(len(passage.words) for passage in self.prose.passages)

    def place(self, part: ProsePart) -> tuple[int, int, int, int]:
        """Return where a part stands in the file: first and last character, line and column."""
        start, stop = self.prose.passages[part.passage].unit.slice(part.start, part.stop)
        return start, stop, *self.document.position(start)

    def quote(self, part: ProsePart) -> str:
        """Return a part as the file writes it, in one line."""
        start, stop, *_ = self.place(part)
        return _printable(" ".join(self.document.content[start:stop].split()))

    def json(self) -> Record:
        prose = self.prose
        return {
            "file": self.name,
            "outcome": self.outcome,
            "passed": self.passed,
            "language": prose.language,
            "verdict": {
                "audience": prose.verdict.audience,
                "outcome": prose.verdict.outcome,
                "message": prose.verdict.message,
            },
            "level": prose.level.json(),
            "readability": {"formula": prose.formula, **prose.readability.json()},
            "words": self.word_count,
            "sentences": [self._part_json(part) for part in prose.hardest],
            "paragraphs": [self._part_json(part) for part in prose.paragraphs],
            "findings": [_finding_json(finding) for finding in self.findings],
            "pair": self.pair.json() if self.pair else None,
        }

    def _part_json(self, part: ProsePart) -> Record:
        start, stop, line, column = self.place(part)
        return {
            "start": start,
            "stop": stop,
            "line": line,
            "column": column,
            "words": part.words,
            "level": part.level.json(),
            "readability": part.readability.json(),
            "reasons": list(part.reasons),
            "text": self.prose.passages[part.passage].unit.text[part.start : part.stop],
        }


def _finding_json(finding: DocumentFinding) -> Record:
    left_out = ("item", "system", "place", "context", "source_words", "source_start", "source_stop", "reason")
    values = {name: value for name, value in finding.json().items() if name not in left_out}
    return {"line": values.pop("line_number"), **values, "severity": finding.severity}


@dataclass(frozen=True, repr=False)
class DocumentChecks(Result):
    """The documents that were checked, in their order."""

    documents: tuple[DocumentCheck, ...]
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(document.passed for document in self.documents)

    @property
    def outcome(self) -> Outcome:
        return strictest(document.outcome for document in self.documents)

    @property
    def findings(self) -> list[DocumentFinding]:
        return [finding for document in self.documents for finding in document.findings]

    def records(self) -> list[Record]:
        return [{"file": finding.item, **_finding_json(finding)} for finding in self.findings]

    def json(self) -> Record:
        return {
            "schema": "plainly.check/1",
            "outcome": self.outcome,
            "passed": self.passed,
            "documents": [document.json() for document in self.documents],
            "warnings": [note.json() for note in self.notes() if note.kind != "claim"],
        }

    def tables(self) -> list[Table]:
        rows = []
        for document in self.documents:
            open_findings = [finding for finding in document.findings if not finding.waived]
            by_severity = [sum(finding.severity == name for finding in open_findings) for name in SEVERITIES.values()]
            prose = document.prose
            cells = (str(prose.level), str(prose.readability), str(document.word_count), *map(str, by_severity))
            rows.append((document.name, document.outcome, *cells))
        formula = self.documents[0].prose.formula if self.documents else "readability"
        header = ("file", "outcome", "level", formula, "words", "errors", "warnings", "suggestions")
        return [Table(header, tuple(rows), text_columns=frozenset({0, 1}))]

    def notes(self) -> list[Note]:
        problems = [Note(problem) for problem in dict.fromkeys(self.problems)]
        return [
            *(Note(f"{each.name}: {each.prose.verdict.message}", kind="claim") for each in self.documents),
            *problems,
        ]


def check_documents(
    paths: Iterable[PathLike],
    *,
    kind: Kind | None = None,
    source: PathLike | None = None,
    language: str | None = None,
    preset: str = "plain",
    target: Target | None = None,
    packs: Sequence[str] = (),
    on: Sequence[str] = (),
    off: Sequence[str] = (),
    learned: bool = True,
    baseline: PathLike | None = None,
    diff: str | None = None,
    fail_on: FailOn = "block",
    progress: Progress = no_progress,
) -> DocumentChecks:
    """Check files, folders and patterns: is each text plain enough, which sentences are hard, what do rules find?

    With a ``source``, the one document is also compared with it. ``baseline`` is a file of findings that are known,
    ``diff`` a branch: only lines that differ from it are judged.
    """
    check_choice("preset", preset, TARGETS)
    if target is not None:
        check_choice("target", target, ("A1", "A2", "B1", "B2", "C1"))
    check_choice("fail_on", fail_on, ("block", "review"))
    documents = list(read_documents(paths, kind=kind))
    if source is not None and len(documents) != 1:
        raise BadInput(f"A source belongs to one document, and there are {len(documents)}.")
    accepted = read_baseline(baseline) if baseline is not None else Counter[str]()
    lines = {document.name: changed_lines(document.name, diff) for document in documents} if diff is not None else {}
    documents = [document for document in documents if lines.get(document.name) != []]
    results: list[DocumentCheck] = []
    problems: list[str] = []
    with progress("checking", total=len(documents), unit="files") as tell:
        for document in documents:
            code = _language(document, language)
            prose = analyse(
                document, language=code, preset=preset, target=target, packs=packs, on=on, off=off, learned=learned
            )
            pair = None if source is None else _check_pair(document, source, code, preset, fail_on)
            findings = [*_pair_findings(document, pair), *_prose_findings(document, prose)]
            findings = [_waive(document, prose, finding, accepted, lines.get(document.name)) for finding in findings]
            results.append(DocumentCheck(document, prose, tuple(findings), pair, fail_on))
            problems += [*prose.problems, *_unknown_ignores(document, packs)]
            tell(1)
    return DocumentChecks(tuple(results), tuple(problems))


def _language(document: Document, language: str | None) -> str | None:
    if language not in (None, "auto"):
        return detection.check(str(language))
    longest = sorted(document.units, key=lambda unit: -len(unit.text))[:20]
    texts = [unit.text for unit in longest]
    codes = [code for code in map(detection.detect, texts) if code]
    return max(set(codes), key=codes.count) if codes else detection.detect_or_guess(" ".join(texts))


def _joined(document: Document) -> str:
    return "\n".join(unit.text for unit in document.units)


def _check_pair(
    document: Document, source: PathLike, language: str | None, preset: str, fail_on: FailOn
) -> CheckResult:
    text = _joined(read_document(str(source)))
    return check(_joined(document), source=text, language=language, preset=preset, fail_on=fail_on)


def _finding(document: Document, rule: str, message: str, outcome: Outcome, start: int, stop: int) -> DocumentFinding:
    (line, column), (end_line, end_column) = document.position(start), document.position(stop)
    words = " ".join(document.content[start:stop].split())
    return DocumentFinding(
        document.name, rule, message, outcome, words, start, stop, system=document.name, place=line - 1,
        line_number=line, column=column, end_line=end_line, end_column=end_column,
    )  # fmt: skip


def _pair_findings(document: Document, pair: CheckResult | None) -> list[DocumentFinding]:
    """Return the findings of the comparison with the source, with their places in the file."""
    if pair is None:
        return []
    offsets = []
    for unit in document.units:
        offsets += [*zip(unit.starts, unit.stops, strict=True), (unit.stops[-1], unit.stops[-1])]
    findings = []
    for finding in pair.findings:
        start = offsets[finding.start][0] if finding.start < len(offsets) else 0
        stop = offsets[finding.stop - 1][1] if 0 < finding.stop <= len(offsets) else start
        own = _finding(document, finding.rule, finding.text, finding.outcome, start, stop)
        findings.append(
            replace(
                own,
                source_words=finding.source_words,
                source_start=finding.source_start,
                source_stop=finding.source_stop,
                value=finding.value,
                waived=finding.waived,
            )
        )
    return findings


def _prose_findings(document: Document, prose: Prose) -> list[DocumentFinding]:
    findings = []
    if prose.verdict.outcome != "pass":
        finding = _finding(document, LEVEL, prose.verdict.message, prose.verdict.outcome, 0, 0)
        findings.append(replace(finding, value=prose.level.value))
    for entry in prose.findings:
        start, stop = document.units[entry.unit].slice(entry.start, entry.stop)
        outcome = next(outcome for outcome, level in SEVERITIES.items() if level == entry.rule.level)
        finding = _finding(document, entry.rule.name, entry.message, outcome, start, stop)
        findings.append(
            replace(
                finding, suggestions=entry.suggestions, context=_context(prose, entry.unit, entry.start, entry.stop)
            )
        )
    return findings


def _context(prose: Prose, unit: int, start: int, stop: int) -> str:
    """Return some characters of a unit with the rest of their sentences, up to 100 characters on each side."""
    passage = prose.passages[unit]
    first = bisect.bisect_right(passage.sentences, (start, math.inf)) - 1
    last = bisect.bisect_left(passage.sentences, (stop, 0)) - 1
    low = passage.sentences[first][0] if first >= 0 else 0
    high = passage.sentences[last][1] if last >= 0 else stop
    return passage.unit.text[max(low, start - _CONTEXT) : min(max(high, stop), stop + _CONTEXT)]


def _waive(
    document: Document,
    prose: Prose,
    finding: DocumentFinding,
    accepted: Counter[str],
    lines: Sequence[tuple[int, int]] | None,
) -> DocumentFinding:
    """Return a finding with the reason for which it does not count, if there is one."""
    if finding.waived:
        return finding
    is_level = finding.rule == LEVEL
    for ignore in document.ignores if is_level else document.ignores_of(document.unit_at(finding.start)):
        if ignore.covers(finding.rule):
            return replace(finding, waived=ignore.reason or "ignored by a comment in the file")
    if accepted and accepted[finding.fingerprint]:
        accepted[finding.fingerprint] -= 1  # the same words in the same sentence once more are new
        return replace(finding, waived="in the baseline")
    if lines is not None and not _is_changed(document, finding, lines):
        return replace(finding, waived="not in the changed lines")
    return finding


def _unknown_ignores(document: Document, packs: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each rule that a comment ignores and no pack has; rules for pairs have small letters."""
    if not document.ignores:
        return
    rules = [rule.name for pack in (*PACKS, *packs) for rule in read_styles(pack, all_rules=True).rules]
    names = {*rules, *(rule.partition(".")[2] for rule in rules)}
    lines = {name: document.position(ignore.at)[0] for ignore in reversed(document.ignores) for name in ignore.rules}
    unknown = [name for name in lines if name not in names and name.rpartition(".")[2][:1].isupper()]
    for name in unknown[-_SHOWN:]:
        near = did_you_mean(name, names)
        yield f"{document.name}:{lines[name]}: a comment ignores the rule {name}, which no pack has.{near}"


def _is_changed(document: Document, finding: DocumentFinding, lines: Sequence[tuple[int, int]]) -> bool:
    """Return whether a finding touches changed lines; the verdict is about all lines."""
    if finding.rule == LEVEL:
        last, _ = document.position(len(document.content.rstrip()))
        return any(low == 1 and high >= last for low, high in lines)
    return any(low <= finding.end_line and finding.line_number <= high for low, high in lines)


def read_baseline(path: PathLike) -> Counter[str]:
    """Read the fingerprints of the findings that are known, and how many findings have each."""
    try:
        content = msgspec.json.decode(read_whole(Path(path)))
        if content["schema"] != _BASELINE:
            raise KeyError
        return Counter(map(str, content["findings"]))
    except FileNotFoundError:
        raise BadInput(f"There is no baseline {path}. Write one: plainly check … --write-baseline {path}") from None
    except (msgspec.DecodeError, KeyError, TypeError):
        raise BadInput(f"{path} is not a baseline. Write one: plainly check … --write-baseline FILE") from None


def format_baseline(checks: DocumentChecks) -> str:
    """Return a baseline with every finding that counts."""
    prints = sorted(finding.fingerprint for finding in checks.findings if finding.waived in ("", "in the baseline"))
    return json.dumps({"schema": _BASELINE, "findings": prints}, indent=0) + "\n"


def changed_lines(path: str, branch: str) -> list[tuple[int, int]]:
    """Return the first and last lines of each part of a file that differs from a branch, as git reports them."""
    if branch.startswith("-"):
        raise BadInput(f"diff={branch!r} is not a branch.")
    file = Path(path)
    command = [
        "git",
        "-C",
        str(file.parent),
        "diff",
        "--unified=0",
        "--no-color",
        "--no-ext-diff",
        branch,
        "--",
        file.name,
    ]
    tracked = ["git", "-C", str(file.parent), "ls-files", "--error-unmatch", "--", file.name]
    try:
        if subprocess.run(tracked, capture_output=True).returncode == 1:
            return [(1, 1 << 60)]  # a new file
        run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError:
        raise BadInput(f"diff={branch!r} needs git, which is not installed.") from None
    if run.returncode:
        why = (run.stderr.strip().splitlines() or ["git failed"])[0]
        raise BadInput(f"Cannot compare {path} with {branch!r}: {why}")
    spans = []
    for line in run.stdout.splitlines():
        if line.startswith("@@"):
            start, _, count = line.split("+", 1)[1].split(" ", 1)[0].partition(",")
            if count != "0":
                spans.append((int(start), int(start) + int(count or 1) - 1))
    return spans


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _printable(text: str) -> str:
    """Return words of a file without characters that a terminal would obey."""
    return _CONTROL.sub("\ufffd", text)


_ANSI = {"error": "31", "warning": "33", "suggestion": "36"}


def format_text(checks: DocumentChecks, *, is_terminal: bool = False, suggestions: bool = False) -> str:
    """Return what a person reads: the verdict, the hardest sentences with their reasons, paragraphs, findings."""

    def style(text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if is_terminal and text else text

    lines = []
    for each in checks.documents:
        prose = each.prose
        open_findings = [finding for finding in each.findings if not finding.waived]
        title = {"block": "FAIL", "review": "REVIEW", "pass": "PASS"}[each.outcome]
        lines += [f"{style(each.name, '1')}: {title}. {each.summary}"]
        formula = f"{prose.formula} {prose.readability}" if math.isfinite(prose.readability.value) else ""
        totals = [count_noun(each.word_count, "word"), count_noun(len(prose.sentences), "sentence"), formula]
        lines += [f"  {', '.join(filter(None, totals))}"]
        hard = [part for part in prose.hardest if prose.is_notable(part)][:_SHOWN]
        if hard:
            lines += ["", "  Hardest sentences"]
        for part in hard:
            _, _, line, column = each.place(part)
            level = f"level {number(part.level.value)}: " if math.isfinite(part.level.value) else ""
            reasons = "; ".join(part.reasons) or "no single reason"
            lines += [f"  {line}:{column}  {level}{reasons}", f"      {_shorten(each.quote(part))}"]
        paragraphs = each.hardest_paragraphs
        if paragraphs:
            lines += ["", "  Hardest paragraphs"]
        for part in paragraphs:
            _, _, line, column = each.place(part)
            lines += [f"  {line}:{column}  level {part.level}, {prose.formula} {part.readability}"]
        if open_findings:
            lines += ["", f"  {_summary(open_findings)}"]
        for finding in open_findings:
            if finding.rule == LEVEL or (finding.outcome == "pass" and not suggestions):
                continue
            head = f"  {finding.line_number}:{finding.column}  {style(finding.severity, _ANSI[finding.severity])}  "
            lines += [f"{head}{_printable(finding.message)} [{finding.rule}]"]
            lines += _underline(each.document, finding) if is_terminal else []
        waived = len(each.findings) - len(open_findings)
        if waived:
            lines += [f"  {count_noun(waived, 'finding')} ignored (comments, baseline or unchanged lines)"]
        lines.append("")
    return "\n".join(lines)


def _summary(findings: Sequence[DocumentFinding]) -> str:
    counts = [(name, sum(finding.severity == name for finding in findings)) for name in SEVERITIES.values()]
    return ", ".join(count_noun(count, name) for name, count in counts if count)


def _shorten(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _underline(document: Document, finding: DocumentFinding) -> list[str]:
    """Return the line of the file with the words of a finding underlined."""
    start = finding.start - finding.column + 1
    end = document.content.find("\n", finding.start)
    line = document.content[start : end if end >= 0 else len(document.content)]
    first, last = finding.column - 1, min(finding.stop - start, len(line))
    low = max(0, first - 60)
    parts = [_printable(part) for part in (line[low:first], line[first:last], line[last : max(last, low + 140)])]
    return [f"      {parts[0]}\x1b[4m{parts[1]}\x1b[0m{parts[2]}".rstrip()] if last > first else []
