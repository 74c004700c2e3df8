"""What is wrong with the input, said before anybody believes the numbers: small checks, each with a code.

>>> diagnosis = doctor(sources=["He left early.", "She stayed."], outputs=["He left.", ""])
>>> [warning.code for warning in diagnosis.warnings]
['empty-outputs']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from plainly import registry
from plainly.errors import UnknownName
from plainly.evalset import EvalSet
from plainly.inputs.texts import Inputs, TextArguments, take
from plainly.protocol import Metric
from plainly.questions.doctor import alignment, content, notation
from plainly.questions.doctor import language as languages
from plainly.questions.doctor.subject import CHECKS, Check, Subject
from plainly.render.numbers import counted
from plainly.result import Note, Record, Result, Table

__all__ = ["CHECKS", "Check", "Codes", "Diagnosis", "Subject", "codes", "diagnose", "doctor", "explain", "quick"]

# The modules of checks; importing them registers what they check.
MODULES = (content, notation, alignment, languages)

# Warnings that other commands give; they are explained here too.
_OTHERS = {
    "small-subset": "A subset has fewer than 100 items. Intervals and tests keep their promises from about 100 items "
    "on; below that, intervals are too narrow, and a difference has to be very large to be more than chance.",
    "few-draws": "Correcting for many comparisons multiplies p-values, and the smallest possible p-value is one over "
    "the number of draws plus one. With too few draws nothing can be significant. More draws cost little.",
}


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """What every check has seen. The warnings are the answer here, so they are its table, not remarks beside one."""

    test_set: str
    items: int
    systems: int
    warnings: tuple[Note, ...]

    def records(self) -> list[Record]:
        return [{**warning.json(), "items": " ".join(warning.ids)} for warning in self.warnings]

    def json(self) -> Record:
        return {
            "schema": "plainly.doctor/1",
            "test_set": self.test_set or None,
            "items": self.items,
            "checks": list(CHECKS),
            "warnings": [warning.json() for warning in self.warnings],
        }

    def tables(self) -> list[Table]:
        rows = tuple((warning.code, warning.message) for warning in self.warnings)
        return [Table(("code", "what was seen"), rows, text_columns=frozenset({0, 1}))] if rows else []

    def notes(self) -> list[Note]:
        systems = f" and {counted(self.systems, 'system')}" if self.systems else ""
        seen = len({warning.code for warning in self.warnings})
        summary = f"{len(CHECKS)} checks on {counted(self.items, 'item')}{systems}: "
        if not seen:
            return [Note(f"{summary}nothing found.")]
        return [
            Note(f"{summary}{seen} found something."),
            Note(f"What a code means: plainly doctor --explain {self.warnings[0].code}"),
        ]

    def __repr__(self) -> str:
        return super().__repr__() or self.notes()[0].message


@dataclass(frozen=True, repr=False)
class Codes(Result):
    """Codes of warnings with what they mean and what to do about them: texts to be read, not a table."""

    explained: Mapping[str, str]

    def records(self) -> list[Record]:
        return [{"code": code, "explanation": text} for code, text in self.explained.items()]

    def json(self) -> Record:
        return {"schema": "plainly.codes/1", **self.explained}

    def tables(self) -> list[Table]:
        return []

    def notes(self) -> list[Note]:
        return [Note("\n\n".join(f"{code}\n  {text}" for code, text in self.explained.items()), kind="claim")]


def doctor(
    data: Any = None,
    *,
    metrics: str | Sequence[str | Metric] = (),
    language: str | None = None,
    **texts: Unpack[TextArguments],
) -> Diagnosis:
    """Every check on every item of a set and on what systems wrote for it; a set may be looked at without outputs.

    ``metrics`` are those to be used, since some faults matter only to some; ``language`` is the expected one ("en").
    """
    if language is not None and language not in languages.LANGUAGES:
        raise UnknownName("language", language, languages.LANGUAGES, see="plainly doctor --help")
    inputs = _inputs(data, texts)
    if isinstance(metrics, str):
        metrics = registry.split_specs(metrics)
    specs = [metric if isinstance(metric, str) else repr(metric) for metric in metrics]
    warnings = diagnose(inputs.evalset, inputs.outputs, specs, language=language)
    return Diagnosis(inputs.evalset.name, len(inputs.evalset), len(inputs.outputs), tuple(warnings))


def diagnose(
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    specs: Sequence[str] = (),
    *,
    language: str | None = None,
) -> list[Note]:
    """The warnings of all checks, which look at every item."""
    return _warnings(Subject(evalset, outputs, tuple(specs), language))


def quick(evalset: EvalSet, outputs: Mapping[str, Sequence[str]], specs: Sequence[str] = ()) -> list[Note]:
    """The warnings of all checks on some two hundred items: cheap enough for every run."""
    return _warnings(Subject(evalset, outputs, tuple(specs), quick=True))


def codes() -> tuple[str, ...]:
    """Every code that can be explained."""
    return (*CHECKS, *_OTHERS)


def explain(*asked: str) -> Codes:
    """What codes mean and what to do about them; without any, all of them."""
    known = {**{code: check.explanation for code, check in CHECKS.items()}, **_OTHERS}
    for code in asked:
        if code not in known:
            raise UnknownName("code", code, known, see="plainly doctor --list")
    return Codes({code: known[code] for code in asked or known})


def _warnings(subject: Subject) -> list[Note]:
    return [warning for check in CHECKS.values() for warning in check.run(subject)]


def _inputs(data: Any, texts: TextArguments) -> Inputs:
    """As every question takes texts, but a set may come alone."""
    evalset = data if isinstance(data, EvalSet) else texts.get("evalset")
    sources = texts.get("sources") if evalset is None else evalset.sources
    if texts.get("outputs") is not None or sources is None or (data is not None and data is not evalset):
        return take(data, **texts)
    alone: TextArguments = {**texts, "outputs": sources}
    return Inputs(take(data, **alone).evalset, {})
