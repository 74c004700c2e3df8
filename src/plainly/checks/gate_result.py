"""What the gate says: passed or not, which rules hold, and the worst items with the reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from plainly.checks.decisions import Decision, Finding
from plainly.checks.rules import WORDS, Rules, Waiver
from plainly.core.evalset import EvalSet
from plainly.core.formatting import counted, interval, p_value, percent
from plainly.core.result import Note, Record, Result, Table
from plainly.data import diagnose
from plainly.scoring.scores import Evaluation

_WORST = 10


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """All rules on all systems."""

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    rules: Rules
    verdicts: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    undecided: Literal["fail", "pass"] = "fail"
    expired: tuple[Waiver, ...] = ()
    evaluation: Evaluation | None = None

    @cached_property
    def failures(self) -> dict[str, tuple[str, ...]]:
        """Why each system does not pass; nothing for one that does."""
        reasons: dict[str, list[str]] = {system: [] for system in self.outputs}
        for verdict in self.verdicts:
            if self.stops(verdict):
                reasons[verdict.system].append(f"{verdict.rule}: {verdict.outcome}")
        for system in self.outputs:
            counted_findings = [finding for finding in self.of_system(system) if not finding.waived]
            flagged = len({finding.place for finding in counted_findings})
            share = flagged / max(len(self.evalset), 1)
            never = sorted({finding.rule for finding in counted_findings} & set(self.rules.never))
            if never:
                reasons[system].append(f"not one output may be: {', '.join(never)}")
            if share > self.rules.allow:
                allowed = f", and {percent(self.rules.allow, 1)} may" if self.rules.allow else ""
                flagged_of = f"{counted(flagged, 'output')} of {len(self.evalset)} ({percent(share, 1)})"
                reasons[system].append(f"{flagged_of} break rules{allowed}")
        return {system: tuple(texts) for system, texts in reasons.items()}

    @property
    def passed(self) -> bool:
        """Whether every system passes."""
        return not any(self.failures.values())

    def stops(self, verdict: Decision) -> bool:
        """Whether a verdict on the corpus stops the run."""
        undecided = verdict.outcome == "cannot tell" and self.undecided == "fail"
        return not verdict.waived and (verdict.outcome == "fails" or undecided)

    @property
    def item_rules(self) -> tuple[str, ...]:
        """The rules that every output is held to."""
        words = (WORDS,) if self.rules.words else ()
        return (*self.rules.forbid, *words, *dict.fromkeys(limit.text for limit in self.rules.items))

    def of_system(self, system: str) -> list[Finding]:
        """What was found in one system's outputs."""
        return [finding for finding in self.findings if finding.system == system]

    @cached_property
    def worst(self) -> list[tuple[str, int, list[Finding]]]:
        """Outputs that break rules, those that break most first: system, place, findings that are not waived."""
        by_output: dict[tuple[str, int], list[Finding]] = defaultdict(list)
        for finding in self.findings:
            if not finding.waived:
                by_output[finding.system, finding.place].append(finding)
        never = set(self.rules.never)
        order = sorted(
            by_output.items(),
            key=lambda pair: (-sum(f.rule in never for f in pair[1]), -len(pair[1]), pair[0][0], pair[0][1]),
        )
        return [(system, place, seen) for (system, place), seen in order]

    def records(self) -> list[Record]:
        """A record for each rule on the corpus and each finding; where there is none, one for each system."""
        blank = {"item": None, "message": "", "words": ""}
        corpus = [{"kind": "corpus", **blank, **verdict.json()} for verdict in self.verdicts]
        items = [
            {"kind": "item", "outcome": "waived" if finding.waived else "fails", **finding.json()}
            for finding in self.findings
        ]
        systems = [
            {"kind": "system", "system": system, "outcome": "fails" if reasons else "passes"}
            for system, reasons in self.failures.items()
        ]
        return corpus + items or systems

    def json(self) -> Record:
        """Schema plainly.gate/1."""
        return {
            "schema": "plainly.gate/1",
            "test_set": self.evalset.name or None,
            "items": len(self.evalset),
            "passed": self.passed,
            "systems": [
                {"system": system, "passed": not reasons, "reasons": list(reasons)}
                for system, reasons in self.failures.items()
            ],
            "verdicts": [verdict.json() for verdict in self.verdicts],
            "findings": [finding.json() for finding in self.findings],
            "warnings": [note.json() for note in self.notes() if note.kind == "warning"],
        }

    def tables(self) -> list[Table]:
        return [*([self._verdicts()] if self.verdicts else []), *([self._worst()] if self.worst else [])]

    def _verdicts(self) -> Table:
        rows = tuple(
            (verdict.system, verdict.rule, interval(verdict.value, verdict.low, verdict.high), *self._shown(verdict))
            for verdict in self.verdicts
        )
        return Table(("system", "rule", "value", "outcome", ""), rows, text_columns=frozenset({0, 1, 3, 4}))

    def _worst(self) -> Table:
        rows = tuple(
            (
                system,
                self.evalset.ids[place],
                ", ".join(dict.fromkeys(finding.rule for finding in seen)),
                _shortened(seen[0].words or self.outputs[system][place]),
            )
            for system, place, seen in self.worst[:_WORST]
        )
        more = len(self.worst) - len(rows)
        notes = (f"and {more} more; --json lists all",) if more > 0 else ()
        return Table(("system", "item", "breaks", "words"), rows, notes=notes, text_columns=frozenset(range(4)))

    def _shown(self, verdict: Decision) -> tuple[str, str]:
        if verdict.waived:
            return "waived", verdict.waived
        if verdict.outcome == "cannot tell":
            needs = f", needs about {verdict.needs:,}" if verdict.needs else ""
            return "cannot tell", f"with {counted(verdict.n, 'item')}{needs}"
        return verdict.outcome, f"p {p_value(verdict.p_value, 3)}" if verdict.baseline else ""

    def notes(self) -> list[Note]:
        notes = []
        for system, reasons in self.failures.items():
            name = f"{system}: " if system else ""
            flagged = len({finding.place for finding in self.of_system(system) if not finding.waived})
            verb = "breaks" if flagged == 1 else "break"
            allowed = f" {counted(flagged, 'output')} of {len(self.evalset)} {verb} a rule, which is allowed."
            said = f"FAILS. {'; '.join(reasons)}." if reasons else f"passes.{allowed if flagged else ''}"
            notes.append(Note(f"{name}{said}", "claim"))
        waived = sum(bool(finding.waived) for finding in self.findings)
        waived += sum(bool(verdict.waived) for verdict in self.verdicts)
        if waived:
            notes.append(Note(f"{counted(waived, 'finding')} waived, with reasons in the rules file."))
        for waiver in self.expired:
            where = f" of item {waiver.item}" if waiver.item else ""
            message = f"The waiver for {waiver.rule}{where} ended on {waiver.until}: it no longer counts."
            notes.append(Note(message, "warning", "expired-waiver"))
        specs = self.evaluation.specs if self.evaluation is not None else ()
        return [*notes, *diagnose(self.evalset, self.outputs, specs, quick=True, only=("metric-language",))]


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 50 else f"{words[:49]}…"
