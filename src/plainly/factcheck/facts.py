"""Numbers, names, negations and statements of outputs that differ from those of their sources.

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
from plainly.core.evalset import Absent, EvalSet
from plainly.core.formatting import count_noun, label, number, visible
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.factcheck.pairs import LEAST, MODEL, Facts, PairCheck, count_rows
from plainly.factcheck.reading import EFFECTS, HARMS, FactFinding
from plainly.factcheck.signals import LANGUAGES
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.texts import Outputs, TextArguments
from plainly.io.units import Unit

_PART = 1000  # pairs between two steps of the progress bar
MAX_ROWS = 40  # findings in a table; JSON and CSV have them all


@dataclass(frozen=True, repr=False)
class FactChecks(Result):
    """Findings in every output of every system; those below ``least`` in confidence are not listed.

    ``by_system`` has, for each system, the check of every item that it has, by the position of the item.
    """

    evalset: EvalSet
    by_system: Mapping[str, Mapping[int, PairCheck]]
    metric: Facts
    least: float
    remarks: tuple[Note, ...] = ()

    @cached_property
    def findings(self) -> tuple[FactFinding, ...]:
        """All listed findings in the order of systems and items, without the harmless ones."""
        return tuple(finding for _, _, finding in self.list_findings() if finding.effect != "harmless")

    def list_findings(self) -> Iterator[tuple[str, int, FactFinding]]:
        """Yield every listed finding with its system and the position of its item."""
        for system, pairs in self.by_system.items():
            for item, pair in pairs.items():
                for finding in pair.findings:
                    if finding.sure >= self.least:
                        yield system, item, finding

    def numbers(self, system: str) -> dict[str, float]:
        """Return the outputs of the metric ``facts`` for a system."""
        values = self.metric.score(count_rows(self.by_system[system].values()).sum(axis=0))
        return dict(zip(Facts.outputs, values.tolist(), strict=True))

    def records(self) -> list[Record]:
        rates = [{"system": label(system), **self.numbers(system)} for system in self.by_system]
        findings = [
            {
                "system": label(system),
                "id": self.evalset.ids[item],
                **{name: getattr(finding, name) for name in ("effect", "kind", "sure", "weight")},
                "source": finding.source_words,
                "output": finding.output_words,
                "source_spans": _format_spans(finding.source),
                "output_spans": _format_spans(finding.output),
                "message": finding.message,
            }
            for system, item, finding in self.list_findings()
        ]
        return findings or rates

    def json(self) -> Record:
        return {
            "schema": "plainly.facts/1",
            "test_set": self.evalset.name or None,
            "items": len(self.evalset),
            "metric": repr(self.metric),
            "systems": [
                {
                    "system": system,
                    "items": len(pairs),
                    "scores": self.numbers(system),
                    "outputs": [
                        {
                            "id": self.evalset.ids[item],
                            "faithful": pair.faithful,
                            "risk": round(pair.risk, 4),
                            "findings": [finding.json() for finding in pair.findings if finding.sure >= self.least],
                        }
                        for item, pair in pairs.items()
                    ],
                }
                for system, pairs in self.by_system.items()
            ],
            "warnings": warnings(self),
        }

    def rates(self) -> Table:
        """Return the outputs of the metric by system."""
        rows = []
        is_complete = all(len(pairs) == len(self.evalset) for pairs in self.by_system.values())
        for system, pairs in self.by_system.items():
            numbers = [number(value, 2 if name == "risk" else 1) for name, value in self.numbers(system).items()]
            rows.append((label(system), *([] if is_complete else [f"{len(pairs):,}"]), *numbers))
        names = ("faithful %", "risk", "changed", "flipped", "added", "lost %")
        header = ("system", *([] if is_complete else ["items"]), *names)
        caption = "Facts, for 100 outputs (changed, flipped, added: expected numbers, by confidence)"
        return Table(header, tuple(rows), caption=caption)

    def tables(self) -> list[Table]:
        harmful = [listed for listed in self.list_findings() if _is_listed(listed[-1])]
        first = 0 if len(self.by_system) > 1 else 1  # the system is a column only where there are several
        columns = ("system", "item", "kind", "finding", "confidence")[first:]
        rows = []
        for system, item, finding in harmful[:MAX_ROWS]:
            kind, message = f"{finding.effect}: {finding.kind}", visible(finding.message)
            rows.append((label(system), self.evalset.ids[item], kind, message, number(finding.sure))[first:])
        findings = Table(columns, tuple(rows), text_columns=frozenset(range(len(columns) - 1)))
        return [self.rates(), *([findings] if rows else [])]

    def notes(self) -> list[Note]:
        findings = [finding for _, _, finding in self.list_findings()]
        counts = Counter(finding.effect for finding in findings)
        total = sum(len(pairs) for pairs in self.by_system.values())
        summary = ", ".join(f"{counts[effect]} {effect}" for effect in EFFECTS if counts[effect]) or "nothing"
        notes = [Note(f"{count_noun(total, 'output')} checked: {summary}. A loss is not an error in itself.")]
        harmful = sum(map(_is_listed, findings))
        if harmful > MAX_ROWS:
            notes.append(Note(f"The first {MAX_ROWS} of {harmful:,} findings are shown; --json and --csv have all."))
        for system, pairs in self.by_system.items():
            ids = tuple(self.evalset.ids[item] for item, pair in pairs.items() if pair.language not in LANGUAGES)
            if ids:
                message = (
                    f"{label(system)}: {count_noun(len(ids), 'pair')} not in English or German. Only numbers, dates "
                    "and names were compared there, not negations, relations and statements."
                )
                notes.append(Note(message, kind="warning", code="facts-not-english", where=label(system), ids=ids[:20]))
        return [*self.remarks, *notes]


def _is_listed(finding: FactFinding) -> bool:
    """Return whether a finding has a row: it harms, or a value is gone that another one may have replaced."""
    return finding.effect in HARMS or finding.is_confusable


def _format_spans(spans: Sequence[tuple[int, int]]) -> str:
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

    ``ignore`` lists words or patterns to leave out ("NATO", "[A-Z]{2,}"). With ``parser="spacy"``, spaCy decides which
    words are names. ``least`` is the confidence from which a finding is listed, at least 0.2; rates count all findings.
    The ``model`` reads source and output together and adds to the risk; ``model=None`` uses rules alone.
    """
    inputs = TextArguments(
        sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit
    ).read(data)
    if not inputs.evalset.has_sources:
        raise BadInput("Facts are compared with the sources, but there are none. Pass sources=.")
    check_number("least", least, LEAST, 1)
    metric = Facts(ignore if isinstance(ignore, str) else "|".join(ignore), parser, model)
    # By item, so that the outputs of a source are checked together and it is read once.
    pairs = [
        (system, item)
        for item in range(len(inputs.evalset))
        for system, texts in inputs.outputs.items()
        if not isinstance(texts[item], Absent)
    ]
    checks: dict[str, dict[int, PairCheck]] = {system: {} for system in inputs.outputs}
    with progress("checking facts", total=len(pairs), unit="outputs") as tell:
        for start in range(0, len(pairs), _PART):
            part = pairs[start : start + _PART]
            texts = [inputs.outputs[system][item] for system, item in part]
            results = metric.check([inputs.evalset.sources[item] for _, item in part], texts)
            for (system, item), result in zip(part, results, strict=True):
                checks[system][item] = result
            tell(len(part))
    return FactChecks(inputs.evalset, checks, metric, least, inputs.notes)
