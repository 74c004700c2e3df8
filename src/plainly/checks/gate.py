"""Stop a build, or an answer, when the text is not simpler, not faithful, or not fit to show.

>>> outcome = gate(sources=["The canine left."], outputs=["Certainly! The dog left."], preset="quick")
>>> outcome.passed, [finding.rule for finding in outcome.findings]
(False, ['preamble'])
"""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from plainly.checks.decisions import Decision, Finding, decide_limit, decide_margin, find_violations
from plainly.checks.gate_result import Gate
from plainly.checks.rules import PRESETS, Rules, preset_text, resolve_rules
from plainly.core.errors import BadInput, UnknownName, check_choice, check_texts
from plainly.core.evalset import EvalSet
from plainly.core.progress import Progress, no_progress
from plainly.core.sampling import Sampling, check_sampling
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs, Texts, read_texts
from plainly.io.units import Unit
from plainly.scoring.score import measure
from plainly.scoring.scores import Evaluation

__all__ = ["PRESETS", "Decision", "Finding", "Gate", "Rules", "gate", "preset_text"]

Undecided = Literal["fail", "pass"]


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
    """Hold outputs to rules: those of a file or a ``preset``, and ``require=["quality >= 55"]`` and its like.

    A baseline of ``not_worse_than`` is one of the systems; it is not judged itself. Rules for the corpus are decided by
    intervals; one that cannot be decided fails unless ``undecided="pass"``.
    """
    check_choice("undecided", undecided, get_args(Undecided))
    check_sampling(sampling)
    check_texts("require", require)
    check_texts("not_worse_than", not_worse_than)
    asked_for = resolve_rules(rules, preset).with_more(require, not_worse_than)
    if asked_for.empty:
        raise BadInput(
            f"There is no rule. Pass a rules file, require=['sari >= 38'], or a preset: {', '.join(PRESETS)}"
        )
    if asked_for.needs_baseline and not asked_for.not_worse:
        raise BadInput("These rules compare with a baseline, and none is named: not_worse_than=['old:sari:0.5']")
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
    baselines = {margin.text: _baseline(margin.baseline, inputs) for margin in asked_for.not_worse}
    judged = [name for name in inputs.outputs if name not in baselines.values()]
    if not judged:
        raise BadInput("There is nothing to judge beside the baseline. Name another file of outputs.")
    evaluation = None
    if asked_for.specs:
        evaluation = measure(inputs, metrics=list(asked_for.specs), sampling=sampling, progress=progress, advice=False)
    day = today or datetime.date.today()
    verdicts: list[Decision] = []
    seen: list[Finding] = []
    for system in judged:
        if evaluation is not None:
            verdicts += _verdicts(asked_for, system, baselines, evaluation, sampling, day)
        scores = evaluation.systems[system] if evaluation is not None else {}
        seen += find_violations(
            asked_for,
            inputs.evalset.sources if inputs.evalset.has_sources else None,
            inputs.outputs[system],
            {spec: scores[spec].segments for spec in {limit.spec for limit in asked_for.items}},
            ids=inputs.evalset.ids,
            system=system,
            today=day,
        )
    expired = tuple(waiver for waiver in asked_for.waivers if waiver.until < day)
    outputs = {system: inputs.outputs[system] for system in judged}
    return Gate(inputs.evalset, outputs, asked_for, tuple(verdicts), tuple(seen), undecided, expired, evaluation)


def _baseline(written: str, inputs: Texts) -> str:
    from plainly.io.files import stem

    for name in (written, stem(written)):
        if name in inputs.outputs:
            return name
    raise UnknownName("baseline", written, inputs.outputs, see="plainly gate --help")


def _verdicts(
    rules: Rules,
    system: str,
    baselines: Mapping[str, str],
    evaluation: Evaluation,
    sampling: Sampling,
    today: datetime.date,
) -> list[Decision]:
    grouped = evaluation.evalset.groups is not None
    verdicts = [
        decide_limit(limit, evaluation.systems[system][limit.spec], sampling, grouped=grouped)
        for limit in rules.require
    ]
    verdicts += [
        decide_margin(margin, system, baselines[margin.text], evaluation, sampling) for margin in rules.not_worse
    ]
    return [dataclasses.replace(verdict, waived=rules.waived(verdict.rule, "", today)) for verdict in verdicts]
