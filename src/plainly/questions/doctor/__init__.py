"""What is wrong with the input, said before anybody believes the numbers: small checks, each with a code.

>>> from plainly.evalset import EvalSet
>>> sick = EvalSet.of(["He left ."] * 12, references=[["He went away."]] * 12)
>>> [finding.code for finding in diagnose(sick, {"A": ["He left ."] * 12})]    # doctest: +SKIP
['double-tokenisation', 'duplicate-items', 'copies', …]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plainly.errors import UnknownName
from plainly.evalset import EvalSet
from plainly.questions.doctor import alignment, content, form
from plainly.questions.doctor import language as languages
from plainly.questions.doctor.patient import CHECKS, Check, Finding, Patient

__all__ = ["CHECKS", "Check", "Finding", "Patient", "codes", "diagnose", "explain", "quick"]

# The modules of checks; importing them registers what they check.
MODULES = (content, form, alignment, languages)

# Warnings that other commands give; they are explained here too.
_OTHERS = {
    "small-subset": "A subset has fewer than 100 items. Intervals and tests keep their promises from about 100 items "
    "on; below that, intervals are too narrow, and a difference has to be very large to be more than chance.",
    "few-draws": "Correcting for many comparisons multiplies p-values, and the smallest possible p-value is one over "
    "the number of draws plus one. With too few draws nothing can be significant. More draws cost little.",
}


def diagnose(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    specs: Sequence[str] = (),
    *,
    language: str | None = None,
) -> list[Finding]:
    """Every check on every item. ``specs`` are the metrics to be used, since some faults matter only to some."""
    patient = Patient(evalset, outputs, tuple(specs), language)
    return [finding for check in CHECKS.values() for finding in check.run(patient)]


def quick(evalset: EvalSet, outputs: Mapping[str, Sequence[str]], specs: Sequence[str] = ()) -> list[Finding]:
    """The checks that are cheap enough for every run, on some two hundred items."""
    patient = Patient(evalset, outputs, tuple(specs), quick=True)
    return [finding for check in CHECKS.values() if check.quick for finding in check.run(patient)]


def codes() -> tuple[str, ...]:
    """Every code that can be explained."""
    return (*CHECKS, *_OTHERS)


def explain(code: str) -> str:
    """What a code means and what to do about it."""
    if code in _OTHERS:
        return _OTHERS[code]
    if code not in CHECKS:
        raise UnknownName("code", code, codes(), see="plainly doctor --list")
    return CHECKS[code].explanation
