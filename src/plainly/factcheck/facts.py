"""What happened to the facts: which numbers, names, negations and claims of outputs are not those of their sources.

>>> checked = facts(sources=["The bridge opened in 1985."], outputs=["The bridge opened in 1885."])
>>> print(checked.findings[0].message)
The date changed: “1985” became “1885”.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from plainly.core.errors import BadInput, check_number
from plainly.core.evalset import EvalSet
from plainly.core.formatting import counted, label, number, visible
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.factcheck.finding import EFFECTS, HARMS, FactFinding
from plainly.factcheck.metric import Facts, rows
from plainly.factcheck.pairs import LEAST, MODEL, Checked, CheckSettings, check_pairs
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs, Texts, read_texts
from plainly.io.units import Unit

_PART = 1000  # pairs between two steps of the progress
SHOWN = 40  # findings in a table; the JSON and CSV have them all


@dataclass(frozen=True, repr=False)
class FactChecks(Result):
    """What was found in every output of every system. ``least`` is how sure a finding must be to be listed."""

    evalset: EvalSet
    outputs: Mapping[str, Sequence[str]]
    checked: Mapping[str, tuple[Checked, ...]]
    settings: CheckSettings
    least: float
    remarks: tuple[Note, ...] = ()

    @cached_property
    def findings(self) -> tuple[FactFinding, ...]:
        """Every finding that is sure enough, in the order of systems and items; those that harm nothing left out."""
        return tuple(finding for _, _, finding in self.listed() if finding.effect != "harmless")

    def listed(self) -> Iterator[tuple[str, int, FactFinding]]:
        """Every finding that is sure enough, with its system and the position of its item."""
        for system, pairs in self.checked.items():
            for item, pair in enumerate(pairs):
                for finding in pair.findings:
                    if finding.sure >= self.least:
                        yield system, item, finding

    def numbers(self, system: str) -> dict[str, float]:
        """The outputs of the metric ``facts`` for a system."""
        values = Facts().score(rows(self.checked[system]).sum(axis=0))
        return dict(zip(Facts.outputs, values.tolist(), strict=True))

    def records(self) -> list[Record]:
        rates = [{"system": label(system), **self.numbers(system)} for system in self.checked]
        findings = [
            {
                "system": label(system),
                "id": self.evalset.ids[item],
                **{name: getattr(finding, name) for name in ("effect", "kind", "sure", "weight")},
                "source": finding.source_words,
                "output": finding.output_words,
                "source_spans": _places(finding.source),
                "output_spans": _places(finding.output),
                "message": finding.message,
            }
            for system, item, finding in self.listed()
        ]
        return findings or rates

    def json(self) -> Record:
        return {
            "schema": "plainly.facts/1",
            "test_set": self.evalset.name or None,
            "items": len(self.evalset),
            "metric": repr(Facts(self.settings.ignore, self.settings.parser, self.settings.model)),
            "systems": [
                {"system": system, "scores": self.numbers(system), "outputs": list(self._of_outputs(system))}
                for system in self.checked
            ],
            "warnings": warnings(self),
        }

    def _of_outputs(self, system: str) -> Iterator[Record]:
        for item, pair in enumerate(self.checked[system]):
            yield {
                "id": self.evalset.ids[item],
                "faithful": pair.faithful,
                "risk": round(pair.risk, 4),
                "findings": [finding.json() for finding in pair.findings if finding.sure >= self.least],
            }

    def rates(self) -> Table:
        """The outputs of the metric, by system."""
        rows = []
        for system in self.checked:
            numbers = [number(value, 2 if name == "risk" else 1) for name, value in self.numbers(system).items()]
            rows.append((label(system), *numbers))
        header = ("system", "faithful %", "risk", "changed", "flipped", "added", "lost %")
        return Table(header, tuple(rows), caption="Facts, for 100 outputs")

    def tables(self) -> list[Table]:
        listed = [(system, item, finding) for system, item, finding in self.listed() if finding.effect in HARMS]
        tables = [self.rates()]
        if listed:
            several = len(self.checked) > 1
            body = tuple(
                (
                    *((label(system),) if several else ()),
                    self.evalset.ids[item],
                    f"{finding.effect}: {finding.kind}",
                    visible(finding.message),
                    number(finding.sure),
                )
                for system, item, finding in listed[:SHOWN]
            )
            columns = (*(("system",) if several else ()), "item", "kind", "what was found", "sure")
            tables.append(Table(columns, body, text_columns=frozenset(range(len(columns) - 1))))
        return tables

    def notes(self) -> list[Note]:
        listed = [finding for _, _, finding in self.listed()]
        counts = Counter(finding.effect for finding in listed)
        total = sum(len(pairs) for pairs in self.checked.values())
        said = ", ".join(f"{counts[effect]} {effect}" for effect in EFFECTS if counts[effect]) or "nothing"
        notes = [Note(f"{counted(total, 'output')} checked: {said}. What was lost is weighed, not an error in itself.")]
        harmful = sum(counts[effect] for effect in HARMS)
        if harmful > SHOWN:
            notes.append(Note(f"The first {SHOWN} of {harmful:,} findings are shown; --json and --csv have all."))
        return [*self.remarks, *notes, *self._foreign()]

    def _foreign(self) -> Iterator[Note]:
        """Said of texts in another language: what was not looked at."""
        for system, pairs in self.checked.items():
            ids = tuple(self.evalset.ids[item] for item, pair in enumerate(pairs) if not pair.english)
            if ids:
                message = (
                    f"{label(system)}: {counted(len(ids), 'pair')} not in English. There only numbers, dates and names "
                    "were compared; negations, relations and claims were not."
                )
                yield Note(message, kind="warning", code="facts-not-english", where=label(system), ids=ids[:20])


def _places(spans: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{start}-{end}" for start, end in spans)


def facts(
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
    ignore: str | Sequence[str] = (),
    parser: str = "",
    model: str | None = MODEL,
    least: float = 0.5,
    progress: Progress = no_progress,
) -> FactChecks:
    """Check every output against its source.

    ``ignore`` are words or patterns that are no finding ("NATO", "[A-Z]{2,}"); ``parser="spacy"`` lets spaCy say which
    words are names. ``least`` is how sure a finding must be to be reported, from 0.2 on; numbers count all of them. The
    risk takes in what the ``model`` says that reads source and output together; ``model=None`` is rules alone.
    """
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
    if not inputs.evalset.has_sources:
        raise BadInput("Facts are those of the sources, and no sources were given.")
    check_number("least", least, LEAST, 1)
    settings = CheckSettings(ignore=ignore if isinstance(ignore, str) else "|".join(ignore), parser=parser, model=model)
    settings.check()
    inputs.evalset.check(inputs.outputs)
    pairs = len(inputs.evalset) * len(inputs.outputs)
    with progress("checking facts", total=pairs, unit="outputs") as tell:
        systems = _checked(inputs, settings, tell)
    return FactChecks(inputs.evalset, dict(inputs.outputs), systems, settings, least, inputs.notes)


def _checked(inputs: Texts, settings: CheckSettings, tell: Any) -> dict[str, tuple[Checked, ...]]:
    """By system; every item with all its outputs at once, so that its source is read once."""
    systems = list(inputs.outputs)
    checked: list[Checked] = []
    step = max(1, _PART // max(1, len(systems)))
    for start in range(0, len(inputs.evalset), step):
        sources = inputs.evalset.sources[start : start + step]
        outputs = zip(*(inputs.outputs[system][start : start + step] for system in systems), strict=True)
        texts = [text for of_item in outputs for text in of_item]
        checked += check_pairs([source for source in sources for _ in systems], texts, settings)
        tell(len(texts))
    return {system: tuple(checked[at :: len(systems)]) for at, system in enumerate(systems)}
