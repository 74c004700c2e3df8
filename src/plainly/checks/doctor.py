"""Faults of inputs, reported before anyone relies on the numbers: small checks, each with a code.

>>> diagnosis = doctor(sources=["He left early.", "She stayed."], outputs=["He left.", ""])
>>> [warning.code for warning in diagnosis.warnings]
['empty-outputs']
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import Absent, EvalSet
from plainly.core.files import check_target, write_whole
from plainly.core.formatting import count_noun
from plainly.core.metric import Metric
from plainly.core.result import Listing, Note, Record, Result, Table
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.faults import CHECKS, EXPLANATIONS
from plainly.io.faults.output_faults import repair
from plainly.io.texts import Outputs, TextArguments, Texts
from plainly.io.units import Unit

CHANGES = "changes.jsonl"
_MOST_ROWS = 20  # warnings; more are summarised


@dataclass(frozen=True)
class Change:
    """An output that was cleaned: the codes of its faults, and its text before and after."""

    system: str
    item: str
    codes: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """The warnings of all checks. They are the result itself, so they form its table and are not listed beside it."""

    test_set: str
    items: int
    systems: int
    warnings: tuple[Note, ...]
    changes: tuple[Change, ...] = ()
    fixed: str | None = None  # the directory of the cleaned copies
    details: bool = False  # whether the table has a row for every warning, however many systems have the same fault

    def records(self) -> list[Record]:
        return [
            {**record, "items": " ".join(record["items"])} for record in (warning.json() for warning in self.warnings)
        ]

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
        if self._is_summary:
            first = {warning.code: warning.message for warning in reversed(self.warnings)}
            counts = Counter(warning.code for warning in self.warnings)
            summary = tuple((code, str(count), first[code]) for code, count in counts.items())
            return [Table(("code", "places", "the first of them"), summary, text_columns=frozenset({0, 2}))]
        rows = tuple((warning.code, warning.message) for warning in self.warnings)
        return [Table(("code", "what was seen"), rows, text_columns=frozenset({0, 1}))] if rows else []

    @property
    def _is_summary(self) -> bool:
        return not self.details and len(self.warnings) > _MOST_ROWS

    def notes(self) -> list[Note]:
        systems = f" and {count_noun(self.systems, 'system')}" if self.systems else ""
        codes = {warning.code for warning in self.warnings}
        result = f"{len(codes)} found something" if codes else "nothing found"
        lines = [f"{len(CHECKS)} checks on {count_noun(self.items, 'item')}{systems}: {result}."]
        if self._is_summary:
            lines.append(f"Every one of the {len(self.warnings)} warnings: plainly doctor --details, or --json")
        if codes:
            lines.append(f"What a code means: plainly doctor --explain {self.warnings[0].code}")
        if self.fixed is not None:
            lines.append(
                f"Cleaned copies are in {self.fixed}. {count_noun(len(self.changes), 'output')} changed; {CHANGES} "
                "lists every change. Outputs with other faults need a new answer."
            )
        return [Note(line) for line in lines]

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
    details: bool = False,
) -> Diagnosis:
    """Run every check on the items of a set and on the outputs for it; a set can be checked without outputs.

    ``metrics`` are those you are going to use, since some faults affect only some metrics. ``fix`` is a directory for
    copies of the outputs without the text that models put around answers, and for a list of all changes. The table
    summarises more than 20 warnings, unless ``details``.
    """
    set_alone = outputs is None and (data is None or isinstance(data, EvalSet))
    if set_alone:  # the sources stand in for the outputs while the set is read
        evalset = data if isinstance(data, EvalSet) else evalset
        outputs = sources if evalset is None else evalset.sources
    inputs = TextArguments(
        sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit
    ).read(data)
    if set_alone:
        inputs = replace(inputs, outputs={})
    if fix is not None:
        if not inputs.outputs:
            raise BadInput("There are no outputs to clean. Name a file with outputs.")
        paths = _check_targets(Path(fix), inputs.outputs, force=force)
    if isinstance(metrics, str):
        metrics = registry.split_specs(metrics)
    specs = [metric if isinstance(metric, str) else repr(metric) for metric in metrics or ()]
    missing = [note for note in inputs.notes if note.kind == "warning"]
    warnings = [*missing, *diagnose(inputs.evalset, inputs.outputs, specs)]
    sizes = len(inputs.evalset), len(inputs.outputs)
    diagnosis = Diagnosis(inputs.evalset.name, *sizes, tuple(warnings), details=details)
    if fix is None:
        return diagnosis
    return replace(diagnosis, changes=tuple(_write_cleaned(inputs, paths, Path(fix))), fixed=str(fix))


def _check_targets(directory: Path, systems: Iterable[str], *, force: bool) -> dict[str, Path]:
    """Return the file of each system's cleaned outputs; existing files are refused unless ``force``."""
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"{directory} is a file; cleaned copies are written into a directory.")
    paths = {system: directory / f"{quote(system or 'outputs', safe=' ')}.jsonl" for system in systems}
    for path in filter(Path.exists, (*paths.values(), directory / CHANGES)):
        if not force:
            raise BadInput(f"{path} exists. Name another directory, or overwrite it: --force")
        check_target(path, force=force)
    return paths


def _write_cleaned(texts: Texts, paths: Mapping[str, Path], directory: Path) -> list[Change]:
    """Write a JSONL file for each system (id, output) and one with all changes; return the changes."""
    evalset = texts.evalset
    sources = evalset.sources if evalset.has_sources else ("",) * len(evalset)
    directory.mkdir(parents=True, exist_ok=True)
    changes: list[Change] = []
    for system, path in paths.items():
        rows = []
        for item, source, before in zip(evalset.ids, sources, texts.outputs[system], strict=True):
            if isinstance(before, Absent):  # a row would be an empty output
                continue
            after, faults = repair(before, source=source)
            rows.append({"id": item, "output": after})
            if faults:
                codes = tuple(dict.fromkeys(fault.code for fault in faults))
                changes.append(Change(system, item, codes, before, after))
        write_whole(path, _json_lines(rows))
    write_whole(directory / CHANGES, _json_lines(map(vars, changes)))
    return changes


def _json_lines(records: Iterable[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def explain(*codes: str) -> Listing:
    """Explain codes and what to do about them; without an argument, all of them."""
    for code in codes:
        if code not in EXPLANATIONS:
            raise UnknownName("code", code, EXPLANATIONS, see="plainly doctor --list")
    explanations = {code: EXPLANATIONS[code] for code in codes or EXPLANATIONS}
    rows = tuple({"code": code, "explanation": text} for code, text in explanations.items())
    prose = "\n\n".join(f"{code}\n  {text}" for code, text in explanations.items())
    return Listing({"schema": "plainly.codes/1", **explanations}, rows, prose=prose)
