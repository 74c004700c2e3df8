"""The gate: stop a build, or an answer, when a text is not simpler, not faithful, or not fit to show.

>>> outcome = gate(sources=["The canine left."], outputs=["Certainly! The dog left."], preset="quick")
>>> outcome.passed, [finding.rule for finding in outcome.findings]
(False, ['preamble'])
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from plainly.checks.decisions import (
    Decision,
    Finding,
    Segments,
    decide_limit,
    decide_margin,
    find_violations,
)
from plainly.checks.rules import PRESETS, WORDS, Rules, Waiver, preset_text, resolve_rules
from plainly.core.errors import BadInput, UnknownName, check_choice, check_texts
from plainly.core.evalset import EvalSet
from plainly.core.formatting import count_noun, interval, p_value, percent
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.files import stem
from plainly.io.texts import Outputs, Texts, read_texts
from plainly.io.units import Unit
from plainly.scoring.evaluate import evaluate, on_shared_items, resolve_metrics
from plainly.scoring.scores import Evaluation

__all__ = ["PRESETS", "Decision", "Finding", "Gate", "Rules", "gate", "preset_text"]

Undecided = Literal["fail", "pass"]
_WORST = 10
_TEXT_LENGTH = 50


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """All rules applied to all systems: verdicts on the corpus, and the outputs that break rules."""

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    rules: Rules
    verdicts: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    undecided: Undecided = "fail"
    expired: tuple[Waiver, ...] = ()
    evaluation: Evaluation | None = None
    remarks: tuple[Note, ...] = ()

    @cached_property
    def output_counts(self) -> dict[str, int]:
        """How many outputs of each system there are."""
        texts = Texts(self.evalset, self.outputs)
        return {system: int(texts.present(system).sum()) for system in self.outputs}

    def violations(self, system: str) -> list[Finding]:
        """Return the findings in one system's outputs that are not waived."""
        return [finding for finding in self.findings if finding.system == system and not finding.waived]

    @cached_property
    def failures(self) -> dict[str, tuple[str, ...]]:
        """The reasons why each system fails; none for a system that passes."""
        failures = {}
        for system in self.outputs:
            stopping = [verdict for verdict in self.verdicts if verdict.system == system and self.stops(verdict)]
            reasons = [f"{verdict.rule}: {verdict.outcome}" for verdict in stopping]
            violations = self.violations(system)
            flagged = len({finding.place for finding in violations})
            share = flagged / max(self.output_counts[system], 1)
            if never := sorted({finding.rule for finding in violations} & set(self.rules.never)):
                reasons.append(f"not one output may be: {', '.join(never)}")
            if share > self.rules.allow:
                limit = f", and {percent(self.rules.allow, 1)} may" if self.rules.allow else ""
                count = f"{count_noun(flagged, 'output')} of {self.output_counts[system]} ({percent(share, 1)})"
                reasons.append(f"{count} break rules{limit}")
            failures[system] = tuple(reasons)
        return failures

    @property
    def passed(self) -> bool:
        """Whether every system passes."""
        return not any(self.failures.values())

    def stops(self, verdict: Decision) -> bool:
        """Return whether a verdict on the corpus stops the run."""
        is_undecided = verdict.outcome == "cannot tell" and self.undecided == "fail"
        return not verdict.waived and (verdict.outcome == "fails" or is_undecided)

    @property
    def item_rules(self) -> tuple[str, ...]:
        """The rules that apply to every output."""
        words = (WORDS,) if self.rules.words else ()
        return (*self.rules.forbid, *words, *dict.fromkeys(limit.text for limit in self.rules.items))

    @cached_property
    def worst(self) -> list[tuple[str, int, list[Finding]]]:
        """Outputs that break rules, those that break most first: system, place, findings that are not waived."""
        by_output: dict[tuple[str, int], list[Finding]] = defaultdict(list)
        for finding in self.findings:
            if not finding.waived:
                by_output[finding.system, finding.place].append(finding)
        worst = [(system, place, findings) for (system, place), findings in by_output.items()]
        never = set(self.rules.never)
        return sorted(worst, key=lambda row: (-sum(f.rule in never for f in row[2]), -len(row[2]), row[0], row[1]))

    def records(self) -> list[Record]:
        """Return a record for each rule on the corpus and each finding; without any, one for each system."""
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
        """Return everything, in the schema plainly.gate/1."""
        return {
            "schema": "plainly.gate/1",
            "test_set": self.evalset.name or None,
            "items": len(self.evalset),
            "passed": self.passed,
            "systems": [
                {
                    "system": system,
                    "items": self.output_counts[system],
                    "passed": not reasons,
                    "reasons": list(reasons),
                }
                for system, reasons in self.failures.items()
            ],
            "verdicts": [verdict.json() for verdict in self.verdicts],
            "findings": [finding.json() for finding in self.findings],
            "warnings": [note.json() for note in self.notes() if note.kind == "warning"],
        }

    def tables(self) -> list[Table]:
        verdicts = tuple(
            (verdict.system, verdict.rule, interval(verdict.value, verdict.low, verdict.high), *_outcome_cells(verdict))
            for verdict in self.verdicts
        )
        worst = []
        for system, place, findings in self.worst[:_WORST]:
            rules = ", ".join(dict.fromkeys(finding.rule for finding in findings))
            text = " ".join((findings[0].words or self.outputs[system][place]).split())
            text = text if len(text) <= _TEXT_LENGTH else f"{text[: _TEXT_LENGTH - 1]}…"
            worst.append((system, self.evalset.ids[place], rules, text))
        more = len(self.worst) - len(worst)
        notes = (f"and {more} more; --json lists all",) if more > 0 else ()
        tables = [
            Table(("system", "rule", "value", "outcome", ""), verdicts, text_columns=frozenset({0, 1, 3, 4})),
            Table(("system", "item", "breaks", "words"), tuple(worst), notes=notes, text_columns=frozenset(range(4))),
        ]
        return [table for table in tables if table.rows]

    def notes(self) -> list[Note]:
        notes = []
        for system, reasons in self.failures.items():
            flagged = len({finding.place for finding in self.violations(system)})
            verb = "breaks" if flagged == 1 else "break"
            within = (
                f" {count_noun(flagged, 'output')} of {self.output_counts[system]} {verb} a rule, which is allowed."
            )
            result = f"FAILS. {'; '.join(reasons)}." if reasons else f"passes.{within if flagged else ''}"
            notes.append(Note(f"{system}: {result}" if system else result, "claim"))
        if waived := sum(bool(entry.waived) for entries in (self.findings, self.verdicts) for entry in entries):
            notes.append(Note(f"{count_noun(waived, 'finding')} waived, with reasons in the rules file."))
        for waiver in self.expired:
            where = f" of item {waiver.item}" if waiver.item else ""
            message = f"The waiver for {waiver.rule}{where} ended on {waiver.until}: it no longer counts."
            notes.append(Note(message, "warning", "expired-waiver"))
        specs = self.evaluation.specs if self.evaluation is not None else ()
        return [
            *notes,
            *self.remarks,
            *diagnose(self.evalset, self.outputs, specs, quick=True, only=("metric-language",)),
        ]


def _outcome_cells(verdict: Decision) -> tuple[str, str]:
    if verdict.waived:
        return "waived", verdict.waived
    if verdict.outcome == "cannot tell":
        needs = f", needs about {verdict.needs:,}" if verdict.needs else ""
        return "cannot tell", f"with {count_noun(verdict.n, 'item')}{needs}"
    return verdict.outcome, f"p {p_value(verdict.p_value, 3)}" if verdict.baseline else ""


def gate(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    rules: str | Path | Rules | None = None,
    preset: str | None = None,
    require: Sequence[str] = (),
    not_worse_than: Sequence[str] = (),
    undecided: Undecided = "fail",
    today: datetime.date | None = None,
    sampling: Sampling = Sampling(),
    progress: Progress = no_progress,
) -> Gate:
    """Apply rules to outputs: those of a file or a ``preset``, and single ones such as ``require=["quality >= 55"]``.

    A baseline of ``not_worse_than`` is one of the systems; rules are not applied to it. Rules for the corpus are
    decided by intervals; one that cannot be decided fails unless ``undecided="pass"``.
    """
    check_choice("undecided", undecided, get_args(Undecided))
    check_sampling(sampling)
    check_texts("require", require)
    check_texts("not_worse_than", not_worse_than)
    active = resolve_rules(rules, preset).with_more(require, not_worse_than)
    if active.is_empty:
        raise BadInput(
            f"There is no rule. Pass a rules file, require=['sari >= 38'], or a preset: {', '.join(PRESETS)}"
        )
    if active.needs_baseline and not active.not_worse:
        raise BadInput("These rules compare with a baseline. Name one: not_worse_than=['old:sari:0.5']")
    inputs = read_texts(
        data,
        sources=sources,
        outputs=outputs,
        references=references,
        evalset=evalset,
        ids=ids,
        groups=groups,
        columns=columns,
        language=language,
        incomplete=incomplete,
        unit=unit,
    )
    baselines = {}
    for margin in active.not_worse:
        names = [name for name in (margin.baseline, stem(margin.baseline)) if name in inputs.outputs]
        if not names:
            raise UnknownName("baseline", margin.baseline, inputs.outputs, see="plainly gate --help")
        baselines[margin.text] = names[0]
    outputs = {name: texts for name, texts in inputs.outputs.items() if name not in baselines.values()}
    if not outputs:
        raise BadInput("There are no outputs beside the baseline. Name another file of outputs.")
    evaluation = None
    if active.specs:
        metrics = resolve_metrics(list(active.specs), inputs.evalset)
        evaluation = evaluate(inputs.evalset, inputs.outputs, metrics, sampling=sampling, progress=progress)
    day = today or datetime.date.today()
    has_groups = inputs.evalset.groups is not None
    verdicts: list[Decision] = []
    findings: list[Finding] = []
    for system, texts in outputs.items():
        decisions: list[Decision] = []
        segments: Segments = {}
        if evaluation is not None:
            scores = evaluation.systems[system]
            decisions = [
                decide_limit(rule, scores[rule.spec], sampling, has_groups=has_groups) for rule in active.require
            ]
            for rule in active.not_worse:
                baseline = baselines[rule.text]
                both = on_shared_items(evaluation, system, baseline)
                decisions.append(decide_margin(rule, system, baseline, both, sampling))
            segments = {limit.spec: evaluation.systems[system][limit.spec].segments for limit in active.items}
        verdicts += [replace(decision, waived=active.waiver_reason(decision.rule, "", day)) for decision in decisions]
        findings += find_violations(
            active,
            inputs.evalset.sources if inputs.evalset.has_sources else None,
            texts,
            segments,
            ids=inputs.evalset.ids,
            system=system,
            today=day,
        )
    expired = tuple(waiver for waiver in active.waivers if waiver.until < day)
    decided = tuple(verdicts), tuple(findings), undecided, expired, evaluation
    return Gate(inputs.evalset, outputs, active, *decided, remarks=inputs.notes)
