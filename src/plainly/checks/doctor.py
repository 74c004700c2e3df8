"""What is wrong with the input, said before anybody believes the numbers: small checks, each with a code.

>>> diagnosis = doctor(sources=["He left early.", "She stayed."], outputs=["He left.", ""])
>>> [warning.code for warning in diagnosis.warnings]
['empty-outputs']
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from plainly.checks.cleaning import CHANGES, Mended, mend, targets, write
from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.formatting import counted
from plainly.core.metric import Metric
from plainly.core.result import Listing, Note, Record, Result, Table
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.consistency import check_length
from plainly.io.faults import CHECKS, EXPLANATIONS
from plainly.io.texts import Incomplete, Outputs, read_texts
from plainly.io.units import Unit


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """What every check has seen. The warnings are the answer here, so they are its table, not remarks beside one."""

    test_set: str
    items: int
    systems: int
    warnings: tuple[Note, ...]
    changes: tuple[Mended, ...] = ()
    fixed: str | None = None  # the directory into which cleaned copies were written

    def records(self) -> list[Record]:
        return [{**warning.json(), "items": " ".join(warning.ids)} for warning in self.warnings]

    def json(self) -> Record:
        return {
            "schema": "plainly.doctor/1",
            "test_set": self.test_set or None,
            "items": self.items,
            "checks": list(CHECKS),
            "warnings": [warning.json() for warning in self.warnings],
            **({"changes": [asdict(change) for change in self.changes]} if self.fixed is not None else {}),
        }

    def tables(self) -> list[Table]:
        rows = tuple((warning.code, warning.message) for warning in self.warnings)
        return [Table(("code", "what was seen"), rows, text_columns=frozenset({0, 1}))] if rows else []

    def notes(self) -> list[Note]:
        systems = f" and {counted(self.systems, 'system')}" if self.systems else ""
        seen = len({warning.code for warning in self.warnings})
        summary = f"{len(CHECKS)} checks on {counted(self.items, 'item')}{systems}: "
        if not seen:
            notes = [Note(f"{summary}nothing found.")]
        else:
            notes = [
                Note(f"{summary}{seen} found something."),
                Note(f"What a code means: plainly doctor --explain {self.warnings[0].code}"),
            ]
        if self.fixed is not None:
            changed = f"{counted(len(self.changes), 'output')} of them changed; every change is in {CHANGES}"
            notes.append(Note(f"Cleaned copies are in {self.fixed}, {changed}. What is not mended needs a new answer."))
        return notes

    def __repr__(self) -> str:
        return super().__repr__() or self.notes()[0].message


def doctor(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    metrics: str | Sequence[str | Metric] | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    fix: str | Path | None = None,
    force: bool = False,
) -> Diagnosis:
    """Every check on every item of a set and on what systems wrote for it; a set may be looked at without outputs.

    ``metrics`` are those to be used, since some faults matter only to some. ``fix`` is a directory for copies of the
    outputs without what models put around answers, and a list of every change.
    """
    set_alone = outputs is None and (data is None or isinstance(data, EvalSet))
    if set_alone:  # a set may be checked without outputs; its sources stand in for them while it is read
        evalset = data if isinstance(data, EvalSet) else evalset
        outputs = sources if evalset is None else evalset.sources
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
    if set_alone:
        inputs = replace(inputs, outputs={})
    if fix is not None:
        if not inputs.outputs:
            raise BadInput("There are no outputs to mend; name a file with some.")
        targets(Path(fix), list(inputs.outputs), force=force)
    if isinstance(metrics, str):
        metrics = registry.split_specs(metrics)
    specs = [metric if isinstance(metric, str) else repr(metric) for metric in metrics or ()]
    for system, lines in inputs.outputs.items():
        called = f"outputs[{system!r}]" if system else "outputs"
        check_length(called, lines, against="the set", expected=len(inputs.evalset))
    warnings = diagnose(inputs.evalset, inputs.outputs, specs)
    diagnosis = Diagnosis(inputs.evalset.name, len(inputs.evalset), len(inputs.outputs), tuple(warnings))
    if fix is None:
        return diagnosis
    cleaned, changes = mend(inputs.evalset, inputs.outputs)
    write(Path(fix), inputs.evalset, cleaned, changes, force=force)
    return replace(diagnosis, changes=tuple(changes), fixed=str(fix))


def explain(*asked: str) -> Listing:
    """What codes mean and what to do about them; without any, all of them."""
    for code in asked:
        if code not in EXPLANATIONS:
            raise UnknownName("code", code, EXPLANATIONS, see="plainly doctor --list")
    explained = {code: EXPLANATIONS[code] for code in asked or EXPLANATIONS}
    rows = tuple({"code": code, "explanation": text} for code, text in explained.items())
    prose = "\n\n".join(f"{code}\n  {text}" for code, text in explained.items())
    return Listing({"schema": "plainly.codes/1", **explained}, rows, prose=prose)
