"""An audit from beginning to end: attacks on systems, curves of metrics, and what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack, cast

from plainly.auditing import prose
from plainly.auditing.attack import Attack
from plainly.auditing.catalogue import chosen
from plainly.auditing.sweep import LEVELS, SEED, Sweep, first_trial, sweep
from plainly.auditing.tables import DEFAULT_TABLES, TABLES, named_tables
from plainly.auditing.verdicts import Verdict, judge
from plainly.core import registry
from plainly.core.arguments import public
from plainly.core.files import write_whole
from plainly.core.metric import Metric
from plainly.core.progress import Progress, unseen
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.tables import delimited, markdown
from plainly.data import diagnose
from plainly.io.texts import TextArguments, take
from plainly.scoring.score import chosen_metrics
from plainly.streaming import engines

_SIDES = ("mean", "low", "high")  # of a curve


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """A sweep, the verdicts that follow from it, and which tables of it to show (of ``tabulation.TABLES``)."""

    sweep: Sweep
    shown: tuple[str, ...] = DEFAULT_TABLES
    intervals: bool = False  # whether the table of levels says where 95 % of the trials lie
    remarks: tuple[Note, ...] = ()

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """By metric, as it was asked for."""
        return {spec: judge(self.sweep, spec) for spec in self.sweep.design.metrics}

    @cached_property
    def paragraphs(self) -> dict[str, str]:
        """By metric: the verdict in words."""
        return {spec: prose.paragraph(verdict) for spec, verdict in self.verdicts.items()}

    def records(self) -> list[Record]:
        """Every number of every curve, a row each."""
        return [
            {"system": system, "attack": attack, "metric": spec, "output": output, "level": level}
            | {side: float(getattr(curve, side)[place, column]) for side in _SIDES}
            for (system, attack, spec), curve in self.sweep.curves.items()
            for column, output in enumerate(self.sweep.design.metrics[spec].outputs)
            for place, level in enumerate(curve.levels)
        ]

    def json(self) -> Record:
        """Everything: schema plainly.audit/1."""
        design = self.sweep.design
        return {
            "schema": "plainly.audit/1",
            "test_set": design.evalset.name or None,
            "items": len(design.evalset),
            "trials": design.trials,
            "seed": design.seed,
            "levels": [0.0, *design.levels],
            "attacks": [
                {"attack": attack.name, "expected": attack.expected, "what": attack.what} for attack in design.attacks
            ],
            "metrics": [self._metric(spec) for spec in design.metrics],
            "curves": [
                {
                    "system": system,
                    "attack": attack,
                    "metric": spec,
                    "touched": self.sweep.touched[system, attack],
                    "worse": self.sweep.worse[system, attack, spec],
                    "outputs": {
                        output: {side: getattr(curve, side)[:, column].tolist() for side in _SIDES}
                        for column, output in enumerate(design.metrics[spec].outputs)
                    },
                }
                for (system, attack, spec), curve in self.sweep.curves.items()
            ],
            "warnings": warnings(self),
        }

    def tables(self) -> list[Table]:
        return [table for name in self.shown for table in self._tables(name)]

    def notes(self) -> list[Note]:
        design = self.sweep.design
        how = f"{len(design.evalset)} items, {design.trials} trials of each attack, seed {design.seed}."
        return [*(Note(said, "claim", where=spec) for spec, said in self.paragraphs.items()), Note(how), *self.remarks]

    def changes(self) -> list[Record]:
        """Every place that the first trial of each attack changed: what stood there, and what stands there now."""
        design = self.sweep.design
        return [
            {"system": system, "attack": attack.name, "id": id, **vars(change)}
            for system, outputs in design.outputs.items()
            for attack in design.attacks
            for id, record in zip(design.evalset.ids, first_trial(design, attack, outputs), strict=True)
            for change in record.changes
        ]

    def write(self, directory: Path) -> None:
        """Write all tables there as Markdown and CSV, every number of the curves, what the first trials changed, and
        the verdicts in words."""
        for name, records in (("curves", self.records()), ("changes", self.changes())):
            write_whole(
                directory / f"{name}.csv", _csv(list(records[0]), [list(record.values()) for record in records])
            )
        for name in TABLES:
            tables = self._tables(name, intervals=True)
            page = "\n\n".join(f"{table.caption}\n\n{markdown(table)}" for table in tables)
            write_whole(directory / f"{name}.md", f"{page}\n")
            for table, system in zip(tables, self.sweep.systems, strict=False):
                stem = name if len(tables) == 1 else f"{name}-{_safe(system)}"
                write_whole(directory / f"{stem}.csv", _csv(table.header, table.rows))
        write_whole(directory / "verdicts.md", "\n\n".join(self.paragraphs.values()) + "\n")

    def _tables(self, name: str, *, intervals: bool | None = None) -> list[Table]:
        return TABLES[name](
            self.sweep, list(self.verdicts.values()), self.intervals if intervals is None else intervals
        )

    def _metric(self, spec: str) -> Record:
        verdict = self.verdicts[spec]
        return vars(verdict) | {
            "signature": self.sweep.signatures[spec],
            "gameability": verdict.gameability,
            "cheapest": vars(verdict.cheapest) if verdict.cheapest is not None else None,
            "effects": [{**vars(effect), "fooled": effect.fooled} for effect in verdict.effects],
            "flips": [vars(flip) for flip in verdict.flips],
            "verdict": self.paragraphs[spec],
        }


@public
def audit(
    data: Any = None,
    *,
    metrics: str | Sequence[str | Metric | object] | None = None,
    attacks: str | Sequence[str | Attack] = "all",
    levels: Sequence[float] = LEVELS,
    trials: int | None = None,
    seed: int = SEED,
    processes: int = 1,
    engine: engines.Engine | None = None,
    tables: str | Sequence[str] = DEFAULT_TABLES,
    intervals: bool = False,
    progress: Progress = unseen,
    **texts: Unpack[TextArguments],
) -> Audit:
    """Find out whether metrics can be fooled on what systems wrote (texts are given as to ``plainly.score``).

    ``metrics`` are specs, metrics, or objects with ``measure`` and ``score``; ``attacks`` are names, ``all``,
    ``paper``, or attacks of your own; ``levels`` are shares of the outputs; ``trials`` are 100, or 5 with learned
    metrics. ``tables`` says which tables the result shows, by name or ``all``, and ``intervals`` whether they say where
    95 % of the trials lie. More than one process needs a script that guards its start with
    ``if __name__ == "__main__":``.
    """
    shown = named_tables(tables)
    inputs = take(data, **texts)
    swept = sweep(
        inputs.evalset,
        {system or "outputs": outputs for system, outputs in inputs.outputs.items()},
        chosen_metrics(cast("Sequence[str | Metric] | None", metrics), inputs.has_references, inputs.language),
        chosen(attacks, inputs.evalset),
        levels=levels,
        trials=trials,
        seed=seed,
        engine=engine or engines.engine("local", processes=processes),
        progress=progress,
    )
    specs = [spec for spec in swept.design.metrics if spec.partition("(")[0] in registry.METRICS]
    language = diagnose(inputs.evalset, inputs.outputs, specs, quick=True, only=("metric-language",))
    return Audit(swept, shown, intervals, (*inputs.notes, *language))


def _csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return delimited(header, rows) + "\n"


def _safe(name: str) -> str:
    """A name as a part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name).strip("-")
