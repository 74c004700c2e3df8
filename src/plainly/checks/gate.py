"""The gate: stop a build, or an answer, when a text is not simpler, not faithful, or not fit to show.

>>> outcome = gate(sources=["The canine left."], outputs=["Certainly! The dog left."], preset="quick")
>>> outcome.outcome, [finding.rule for finding in outcome.findings]
('block', ['preamble'])
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from plainly.checks.decisions import Decision, decide_limit, decide_margin
from plainly.checks.findings import Finding, Segments, find_language, find_violations, strictest
from plainly.checks.rules import (
    COPY,
    MISALIGNED,
    PRESETS,
    WORDS,
    FailOn,
    Rules,
    Waiver,
    preset_text,
    resolve_rules,
)
from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, check_choice, check_text, check_texts
from plainly.core.evalset import EvalSet
from plainly.core.formatting import count_noun, interval, p_value, percent
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling, check_sampling
from plainly.data import diagnose
from plainly.factcheck.reading import OUTCOMES, Outcome
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.faults.corpus_faults import UNNAMED
from plainly.io.files import stem
from plainly.io.texts import Outputs, TextArguments, Texts, with_language
from plainly.io.units import Unit
from plainly.metrics.evidence import find_key
from plainly.scoring.evaluate import evaluate, on_shared_items, resolve_metrics
from plainly.scoring.scores import Evaluation
from plainly.text.languages.detection import language_name

__all__ = ["PRESETS", "Decision", "Finding", "Gate", "Rules", "gate", "preset_text"]

Undecided = Literal["fail", "pass"]
_WORST = 10
_TEXT_LENGTH = 70
_NAMED = 3  # findings in the sentence about a system
OUTCOME_NAMES = {"block": "FAIL", "review": "REVIEW", "pass": "PASS"}  # of a system, on screen and on the page


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """All rules applied to all systems: verdicts on the corpus, and the outputs that break rules.

    Every finding, output and system has an outcome: "block", "review" or "pass". The gate passes unless the outcome of
    a system is ``fail_on`` or stricter.
    """

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    rules: Rules
    verdicts: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    undecided: Undecided = "fail"
    fail_on: FailOn = "block"
    language: str | None = None
    expired: tuple[Waiver, ...] = ()
    evaluation: Evaluation | None = None
    remarks: tuple[Note, ...] = ()

    @cached_property
    def output_counts(self) -> dict[str, int]:
        """How many outputs of each system there are."""
        texts = Texts(self.evalset, self.outputs)
        return {system: int(texts.present(system).sum()) for system in self.outputs}

    @cached_property
    def _violations(self) -> dict[str, list[Finding]]:
        by_system: dict[str, list[Finding]] = {system: [] for system in self.outputs}
        for finding in self.findings:
            if not finding.waived:
                by_system[finding.system].append(finding)
        return by_system

    def violations(self, system: str) -> list[Finding]:
        """Return the findings in one system's outputs that are not waived."""
        return self._violations[system]

    def item_outcomes(self, system: str) -> dict[str, Outcome]:
        """Return the outcome of every output that a system has, by the id of the item."""
        outcomes: dict[int, Outcome] = {}
        for finding in self.violations(system):
            outcomes[finding.place] = strictest((finding.outcome, outcomes.get(finding.place, "pass")))
        present = Texts(self.evalset, self.outputs).present(system)
        return {item: outcomes.get(place, "pass") for place, item in enumerate(self.evalset.ids) if present[place]}

    @cached_property
    def reasons(self) -> dict[str, dict[Outcome, tuple[str, ...]]]:
        """Why each system is blocked, and why it is to be reviewed.

        Findings about style count from the share on that the rules allow; all others count from the first on.
        """
        return {
            system: {outcome: self._reasons(system, outcome) for outcome in OUTCOMES[:2]} for system in self.outputs
        }

    def _reasons(self, system: str, outcome: Outcome) -> tuple[str, ...]:
        stopping = [verdict for verdict in self.verdicts if verdict.system == system and self.stops(verdict)]
        reasons = [f"{verdict.rule}: {verdict.outcome}" for verdict in stopping if outcome == "block"]
        total = max(self.output_counts[system], 1)
        strict = [finding for finding in self.violations(system) if not self.rules.is_tolerated(finding.rule)]
        blocked = {finding.place for finding in strict if finding.outcome == "block"}
        counted, style = [], []
        for finding in self.violations(system):
            if outcome == "review" and finding.place in blocked:  # It is counted there.
                continue
            if not self.rules.is_tolerated(finding.rule):
                counted += [finding] * (finding.outcome == outcome)
            elif outcome in ("review", finding.outcome):
                style.append(finding)
        if len({finding.place for finding in style}) / total > self.rules.allow:
            style = [finding for finding in style if finding.outcome == outcome]
            counted += style
        else:
            style = []
        if counted:
            places = len({finding.place for finding in counted})
            named = [
                f"item {finding.item} {finding.rule}: {_shorten(finding.text).rstrip('.')}"
                for finding in counted[:_NAMED]
            ]
            more = f" and {len(counted) - _NAMED} more" if len(counted) > _NAMED else ""
            verb = {"block": "blocked", "review": "to review"}[outcome]
            share = f" ({percent(self.rules.allow, 1)} may break rules of style)" if style and self.rules.allow else ""
            reasons.append(f"{count_noun(places, 'output')} of {total} {verb}{share}: {'; '.join(named)}{more}")
        return tuple(reasons)

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of each system."""
        return {
            system: strictest(outcome for outcome, why in reasons.items() if why)
            for system, reasons in self.reasons.items()
        }

    @property
    def outcome(self) -> Outcome:
        """The strictest outcome of all systems."""
        return strictest(self.outcomes.values())

    @cached_property
    def failures(self) -> dict[str, tuple[str, ...]]:
        """The reasons why each system fails, by ``fail_on``; none for a system that passes."""
        counted = OUTCOMES[: OUTCOMES.index(self.fail_on) + 1]
        return {
            system: tuple(reason for outcome in counted for reason in reasons[outcome])
            for system, reasons in self.reasons.items()
        }

    @property
    def passed(self) -> bool:
        """Whether every system passes."""
        return not any(self.failures.values())

    def summary(self, system: str) -> str:
        """Return in a sentence how many outputs of a system are blocked and to be reviewed."""
        counts = Counter(self.item_outcomes(system).values())
        outputs = count_noun(self.output_counts[system], "output")
        failed = [f"{verdict.rule} {verdict.outcome}" for verdict in self.verdicts if self.stops(verdict)]
        corpus = [f"The rule {rule}." for rule in failed if self.outcomes[system] == "block"]
        if not counts["block"] + counts["review"]:
            return " ".join([*corpus, f"None of {outputs} breaks a rule."])
        allowed = " All of it is style, and allowed." if self.outcomes[system] == "pass" else ""
        # Where the system is not blocked, what its blocked outputs break is style, and allowed.
        style = " (style, which the rules allow)" if counts["block"] and self.outcomes[system] == "review" else ""
        numbers = f"{counts['block']} blocked{style}, {counts['review']} to review"
        return " ".join([*corpus, f"Of {outputs}, {numbers}.{allowed}"])

    @staticmethod
    def leading(findings: Sequence[Finding]) -> Finding:
        """Return the first of the findings with the strictest outcome."""
        return min(findings, key=lambda finding: OUTCOMES.index(finding.outcome))

    def is_error(self, finding: Finding) -> bool:
        """Return whether a finding blocks its system: not waived, not to review, and not allowed as style."""
        if finding.waived or finding.outcome != "block":
            return False
        return self.outcomes[finding.system] == "block" or not self.rules.is_tolerated(finding.rule)

    def stops(self, verdict: Decision) -> bool:
        """Return whether a verdict on the corpus stops the run."""
        is_undecided = verdict.outcome == "cannot tell" and self.undecided == "fail"
        return not verdict.waived and (verdict.outcome == "fails" or is_undecided)

    @property
    def item_rules(self) -> tuple[str, ...]:
        """The rules that apply to every output, and the kinds of facts that were found."""
        words = (WORDS,) if self.rules.words else ()
        copy = (COPY,) if self.rules.copies else ()
        limits = (limit.text for limit in self.rules.items)
        kinds = (finding.rule for finding in self.findings)
        return tuple(dict.fromkeys((*self.rules.forbid, *words, *copy, *limits, *kinds)))

    @cached_property
    def worst(self) -> list[tuple[str, int, list[Finding]]]:
        """Outputs that break rules, the blocked first: system, place, findings that are not waived."""
        by_output: dict[tuple[str, int], list[Finding]] = defaultdict(list)
        for finding in self.findings:
            if not finding.waived:
                by_output[finding.system, finding.place].append(finding)
        worst = [(system, place, findings) for (system, place), findings in by_output.items()]

        def order(row: tuple[str, int, list[Finding]]) -> tuple[bool, int, int, str, int]:
            system, place, findings = row
            is_blocked = any(finding.outcome == "block" for finding in findings)
            strict = sum(not self.rules.is_tolerated(finding.rule) for finding in findings)
            return not is_blocked, -strict, -len(findings), system, place

        return sorted(worst, key=order)

    def records(self) -> list[Record]:
        """Return a record for each rule on the corpus and each finding; without any, one for each system."""
        blank = {"item": None, "message": "", "words": ""}
        corpus = [{"kind": "corpus", **blank, **verdict.json()} for verdict in self.verdicts]
        items = [
            {"kind": "item", **finding.json(), "outcome": "waived" if finding.waived else finding.outcome}
            for finding in self.findings
        ]
        systems = [{"kind": "system", "system": system, "outcome": self.outcomes[system]} for system in self.outputs]
        return corpus + items or systems

    def json(self) -> Record:
        """Return everything, in the schema plainly.gate/1."""
        return {
            "schema": "plainly.gate/1",
            "test_set": self.evalset.name or None,
            "items": len(self.evalset),
            "language": self.language,
            "fail_on": self.fail_on,
            "outcome": self.outcome,
            "passed": self.passed,
            "systems": [
                {
                    "system": system,
                    "items": self.output_counts[system],
                    "outcome": self.outcomes[system],
                    "passed": not self.failures[system],
                    "reasons": {outcome: list(why) for outcome, why in reasons.items()},
                    "outcomes": self.item_outcomes(system),
                }
                for system, reasons in self.reasons.items()
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
            first = self.leading(findings)
            worst.append((system, self.evalset.ids[place], first.outcome, rules, _shorten(first.text)))
        more = len(self.worst) - len(worst)
        notes = (f"and {more} more; --json lists all",) if more > 0 else ()
        tables = [
            Table(("system", "rule", "value", "outcome", ""), verdicts, text_columns=frozenset({0, 1, 3, 4})),
            Table(
                ("system", "item", "outcome", "rules", "finding"),
                tuple(worst),
                notes=notes,
                text_columns=frozenset(range(5)),
            ),
        ]
        return [table for table in tables if table.rows]

    def notes(self) -> list[Note]:
        notes = []
        for system, outcome in self.outcomes.items():
            reasons = "; ".join(reason for why in self.reasons[system].values() for reason in why)
            result = f"{OUTCOME_NAMES[outcome]}. {f'{reasons}.' if reasons else self.summary(system)}"
            notes.append(Note(f"{system}: {result}" if system else result, "claim"))
        if waived := sum(bool(entry.waived) for entries in (self.findings, self.verdicts) for entry in entries):
            notes.append(Note(f"{count_noun(waived, 'finding')} waived; --json has the reasons."))
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


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT_LENGTH else f"{text[: _TEXT_LENGTH - 1]}…"


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
    doubts: str | None = None,
    undecided: Undecided = "fail",
    fail_on: FailOn = "block",
    today: datetime.date | None = None,
    sampling: Sampling = Sampling(),
    progress: Progress = no_progress,
) -> Gate:
    """Apply rules to outputs: those of a file or a ``preset``, and single ones such as ``require=["quality >= 55"]``.

    A baseline of ``not_worse_than`` is one of the systems; rules are not applied to it. Rules for the corpus are
    decided by intervals; one that cannot be decided fails unless ``undecided="pass"``. A system fails if an output is
    blocked; with ``fail_on="review"`` also if one is to be reviewed. ``doubts`` is a metric that is asked about the
    words of each doubtful fact, ``judge(model=NAME,rubric=doubt)``; findings in which it sees no difference are waived.
    The language is detected unless it is passed.
    """
    check_choice("undecided", undecided, get_args(Undecided))
    check_choice("fail_on", fail_on, get_args(FailOn))
    check_sampling(sampling)
    check_texts("require", require)
    check_texts("not_worse_than", not_worse_than)
    active = resolve_rules(rules, preset).with_more(require, not_worse_than)
    if doubts is not None:
        check_text("doubts", doubts)
        active = replace(active, doubts=doubts)
    if active.is_empty:
        raise BadInput(
            f"There is no rule. Pass a rules file, require=['sari >= 38'], or a preset: {', '.join(PRESETS)}"
        )
    if active.needs_baseline and not active.not_worse:
        raise BadInput("These rules compare with a baseline. Name one: not_worse_than=['old:sari:0.5']")
    inputs = TextArguments(
        sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit
    ).read(data)
    code = inputs.language or None
    if active.needs_language and code is None:
        code = find_language(inputs.evalset, next(iter(inputs.outputs.values()), ()))
        inputs = inputs if code in (None, "en") else with_language(inputs, code)
    remarks = inputs.notes
    if active.languages and code is not None and active.name:
        note = f"The preset {active.name} with its rules for {language_name(code)}. Another language: language="
        remarks = (*remarks, Note(note))
    active = active.for_language(code)
    if not inputs.evalset.has_sources:
        skipped = [limit for limit in active.items if "source" in registry.metric(limit.spec).needs]
        active = replace(active, items=tuple(limit for limit in active.items if limit not in skipped))
        if skipped or active.facts != "ignore":
            rules_left_out = [*(["facts"] if active.facts != "ignore" else []), *(limit.text for limit in skipped)]
            remarks = (*remarks, Note(f"Not applied, because there are no sources: {', '.join(rules_left_out)}."))
    baselines = {}
    for margin in active.not_worse:
        names = [name for name in (margin.baseline, stem(margin.baseline)) if name in inputs.outputs]
        if not names:
            raise UnknownName("baseline", margin.baseline, inputs.outputs, see="plainly gate --help")
        baselines[margin.text] = names[0]
    outputs = {name: texts for name, texts in inputs.outputs.items() if name not in baselines.values()}
    if not outputs:
        raise BadInput("There are no outputs beside the baseline. Name another file of outputs.")
    evaluation, metrics = None, {}
    if active.specs:
        metrics = resolve_metrics(list(active.specs), inputs.evalset)
        evaluation = evaluate(inputs.evalset, inputs.outputs, metrics, sampling=sampling, progress=progress)
    misaligned: dict[str, tuple[str, ...]] = {}
    if MISALIGNED in active.forbid and inputs.evalset.has_sources:
        notes = diagnose(inputs.evalset, outputs, quick=True, only=(MISALIGNED,))
        misaligned = {note.where: note.ids for note in notes}
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
                decide_limit(rule, scores[find_key(rule.spec, metrics)], sampling, has_groups=has_groups)
                for rule in active.require
            ]
            for rule in active.not_worse:
                baseline = baselines[rule.text]
                both = on_shared_items(evaluation, system, baseline)
                decisions.append(decide_margin(rule, system, baseline, both, sampling))
            keys = {limit.spec: find_key(limit.spec, metrics) for limit in active.items}
            segments = {spec: evaluation.systems[system][key].segments for spec, key in keys.items()}
        verdicts += [replace(decision, waived=active.waiver_reason(decision.rule, "", day)) for decision in decisions]
        findings += find_violations(
            active,
            inputs.evalset,
            texts,
            segments,
            language=code,
            system=system,
            misaligned=misaligned.get(system or UNNAMED, ()),
            today=day,
        )
    expired = tuple(waiver for waiver in active.waivers if waiver.until < day)
    decided = tuple(verdicts), tuple(findings), undecided, fail_on, code, expired, evaluation
    return Gate(inputs.evalset, outputs, active, *decided, remarks=remarks)
