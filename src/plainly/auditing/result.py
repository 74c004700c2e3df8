"""The audit as a whole: attacks on systems, curves and verdicts of metrics, and their tables.

The tables are shaped like those of Tanprasert & Kauchak (2021): attacks down, levels or parts across.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from plainly.auditing.attacks import Attack, resolve_attacks
from plainly.auditing.sweep import LEVELS, SEED, Sweep, repeat_first_trial, sweep
from plainly.auditing.verdicts import Verdict, average_systems, reach_verdict, write_paragraph
from plainly.core.errors import UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.formatting import format_change, interval, number, percent, share
from plainly.core.metric import Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.tables import format_csv, markdown
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs, read_texts
from plainly.io.units import Unit
from plainly.scoring.evaluate import evaluate, resolve_metrics
from plainly.streaming import engines

_SIDES = ("mean", "low", "high")  # of a curve
DEFAULT_TABLES = ("gameability", "flips")
_TEXT = frozenset({0, 1})
_OVERVIEW_LEVELS = (0.0, 0.1, 0.5, 1.0)
_MOST_FLIPS = 12  # of one metric
# Metric → which of its outputs, times what, under which title.
_FORM = {
    "length": (("words_per_sentence", 1, "words per sentence"), ("syllables_per_word", 1, "syllables per word")),
    "splits": (("full_stops", 100, "% split (full stops)"),),
}


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """A sweep, the verdicts that follow from it, and the tables to show (of ``TABLES``)."""

    sweep: Sweep
    table_names: tuple[str, ...] = DEFAULT_TABLES
    intervals: bool = False  # whether the table of levels shows where 95 % of the trials lie
    remarks: tuple[Note, ...] = ()

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """Verdicts by metric."""
        return {spec: reach_verdict(self.sweep, spec) for spec in self.sweep.design.metrics}

    @cached_property
    def paragraphs(self) -> dict[str, str]:
        """A paragraph about each metric."""
        return {spec: write_paragraph(verdict) for spec, verdict in self.verdicts.items()}

    def records(self) -> list[Record]:
        """Return a row for every number of every curve."""
        return [
            {"system": system, "attack": attack, "metric": spec, "output": output, "level": level}
            | {side: float(getattr(curve, side)[place, column]) for side in _SIDES}
            for (system, attack, spec), curve in self.sweep.curves.items()
            for column, output in enumerate(self.sweep.design.metrics[spec].outputs)
            for place, level in enumerate(curve.levels)
        ]

    def json(self) -> Record:
        """Return everything, in the schema plainly.audit/1."""
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
            "metrics": [
                vars(verdict)
                | {
                    "signature": self.sweep.signatures[spec],
                    "gameability": verdict.gameability,
                    "cheapest": vars(verdict.cheapest) if verdict.cheapest is not None else None,
                    "effects": [{**vars(effect), "fooled": effect.fooled} for effect in verdict.effects],
                    "flips": [vars(flip) for flip in verdict.flips],
                    "verdict": self.paragraphs[spec],
                }
                for spec, verdict in self.verdicts.items()
            ],
            "curves": [
                {
                    "system": system,
                    "attack": attack,
                    "metric": spec,
                    "touched": self.sweep.changed[system, attack],
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
        return [table for name in self.table_names for table in TABLES[name](self)]

    def notes(self) -> list[Note]:
        design = self.sweep.design
        about = f"{len(design.evalset)} items, {design.trials} trials of each attack, seed {design.seed}."
        verdicts = [Note(text, "claim", where=spec) for spec, text in self.paragraphs.items()]
        return [*verdicts, Note(about), *self.remarks]

    def changes(self) -> list[Record]:
        """Return all changes by the first trial of each attack: the place, and the text before and after."""
        design = self.sweep.design
        return [
            {"system": system, "attack": attack.name, "id": id, **vars(change)}
            for system, outputs in design.outputs.items()
            for attack in design.attacks
            for id, record in zip(design.evalset.ids, repeat_first_trial(design, attack, outputs), strict=True)
            for change in record.changes
        ]

    def write(self, directory: Path) -> None:
        """Write all tables as Markdown and CSV, the curves, the changes by first trials, and verdicts."""
        for name, records in (("curves", self.records()), ("changes", self.changes())):
            rows = [list(record.values()) for record in records]
            write_whole(directory / f"{name}.csv", format_csv(list(records[0]), rows) + "\n")
        with_intervals = replace(self, intervals=True)
        for name, build in TABLES.items():
            tables = build(with_intervals)
            page = "\n\n".join(f"{table.caption}\n\n{markdown(table)}" for table in tables)
            write_whole(directory / f"{name}.md", f"{page}\n")
            for table, system in zip(tables, self.sweep.systems, strict=False):
                suffix = re.sub(r"[^\w.+-]", "-", system).strip("-")
                stem = name if len(tables) == 1 else f"{name}-{suffix}"
                write_whole(directory / f"{stem}.csv", format_csv(table.header, table.rows) + "\n")
        write_whole(directory / "verdicts.md", "\n\n".join(self.paragraphs.values()) + "\n")


def audit(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    metrics: Metrics | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    attacks: str | Sequence[str | Attack] = "all",
    levels: Sequence[float] = LEVELS,
    trials: int | None = None,
    seed: int = SEED,
    engine: engines.Engine | str = "local",
    processes: int = 1,
    address: str | None = None,
    tables: str | Sequence[str] = DEFAULT_TABLES,
    intervals: bool = False,
    progress: Progress = no_progress,
) -> Audit:
    """Find out whether attacks on the outputs fool metrics (texts are passed as to ``plainly.score``).

    ``metrics`` are specs, metrics, or objects with ``measure`` and ``score``; ``attacks`` are names, ``all``,
    ``paper``, or your own attacks; ``levels`` are shares of the outputs; ``trials`` are 100, or 5 with learned metrics.
    ``tables`` are the tables that the result shows, by name or ``all``; with ``intervals`` they show where
    95 % of the trials lie. More than one process needs a script that guards its start with
    ``if __name__ == "__main__":``.
    """
    if isinstance(tables, str):
        tables = list(TABLES) if tables == "all" else [name.strip() for name in tables.split(",") if name.strip()]
    for name in tables:
        if name not in TABLES:
            raise UnknownName("table", name, TABLES, see="plainly audit --help")
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
    if isinstance(engine, str):
        engine = engines.engine(engine, processes=processes, address=address)
    result = sweep(
        inputs.evalset,
        {system or "outputs": lines for system, lines in inputs.outputs.items()},
        resolve_metrics(metrics, inputs.evalset),
        resolve_attacks(attacks, inputs.evalset),
        levels=levels,
        trials=trials,
        seed=seed,
        engine=engine,
        progress=progress,
    )
    remarks = diagnose(inputs.evalset, inputs.outputs, result.design.metrics, quick=True, only=("metric-language",))
    return Audit(result, tuple(tables), intervals, (*inputs.notes, *remarks))


def gameability_table(audit: Audit) -> list[Table]:
    """Return how far each attack moves each metric, in spreads, with a mark where the direction is wrong."""
    verdicts = audit.verdicts.values()
    rows = []
    for place, attack in enumerate(audit.sweep.design.attacks):
        effects = [verdict.effects[place] for verdict in verdicts]
        changes = [effect.gain if math.isnan(effect.spreads) else effect.spreads for effect in effects]
        cells = [format_change(change) + "*" * effect.fooled for change, effect in zip(changes, effects, strict=True)]
        rows.append((attack.name, attack.expected, percent(effects[0].touched), *cells))
    has_spread = any(not math.isnan(verdict.spread) for verdict in verdicts)
    if has_spread:
        rows.append(("gameability", "", "", *(number(verdict.gameability) for verdict in verdicts)))
    units = "units of the spread between the systems" if has_spread else "its own units (one system has no spread)"
    note = (
        "Positive: the score gets better. * marks the wrong direction, at the level where it is most wrong"
        f"{'; gameability is the largest of these' if has_spread else ''}."
    )
    header = ("attack", "should be", "applies to", *audit.verdicts)
    caption = f"How far each attack moves each metric, in {units}"
    return [Table(header, tuple(rows), caption, (note,), text_columns=_TEXT)]


def items_table(audit: Audit) -> list[Table]:
    """Return the share of the outputs changed by an attack whose own score gets worse, by metric."""
    sweep = audit.sweep
    rows = []
    for attack in sweep.design.attacks:
        changed = [[sweep.changed[system, attack.name]] for system in sweep.systems]
        worse = [[sweep.worse[system, attack.name, spec] for spec in audit.verdicts] for system in sweep.systems]
        shares = average_systems(np.hstack([changed, worse]))
        rows.append((attack.name, attack.expected, *map(percent, shares)))
    header = ("attack", "should be", "applies to", *audit.verdicts)
    caption = "Of the outputs that the attack changes, how many get a worse score themselves"
    return [Table(header, tuple(rows), caption, text_columns=_TEXT)]


def flips_table(audit: Audit) -> list[Table]:
    """Return how much of which attack changes the winner: first which systems could win, then how the winner loses."""
    rows = []
    for verdict in audit.verdicts.values():
        flips = [flip for flip in verdict.flips if flip.share <= 1]
        for flip in sorted(flips, key=lambda flip: (not flip.wins, flip.share))[:_MOST_FLIPS]:
            system, result = f"{flip.system} ({flip.rank})", "wins, past" if flip.wins else "loses to"
            rows.append((verdict.metric, flip.attack, system, result, flip.rival, share(flip.share)))
    header = ("metric", "attack", "system (place)", "", "rival", "share of outputs")
    table = Table(header, tuple(rows), "What changes the winner", text_columns=frozenset({0, 1, 2, 3, 4}))
    return [table] if len(audit.sweep.systems) > 1 else []


def overview_table(audit: Audit) -> list[Table]:
    """Return a few levels of all systems side by side (Table 1)."""
    sweep = audit.sweep
    levels = [(place, level) for place, level in enumerate((0.0, *sweep.design.levels)) if level in _OVERVIEW_LEVELS]
    columns = [(system, place, level) for system in sweep.systems for place, level in levels]
    rows = [
        (spec, attack.name, *(number(sweep.headline(system, attack.name, spec)[place]) for system, place, _ in columns))
        for spec in sweep.design.metrics
        for attack in sweep.design.attacks
    ]
    header = ("metric", "attack", *(f"{system} {percent(level)}" for system, _, level in columns))
    return [Table(header, tuple(rows), "Scores by system and share of outputs attacked", text_columns=_TEXT)]


def levels_tables(audit: Audit) -> list[Table]:
    """Return, for each system, every metric at every level (Tables 4–8): a row for each metric and attack."""
    sweep = audit.sweep
    header = ("metric", "attack", *map(percent, (0.0, *sweep.design.levels)))
    tables = []
    for system in sweep.systems:
        rows = []
        for spec, attack in product(sweep.design.metrics, sweep.design.attacks):
            curve = sweep.curves[system, attack.name, spec]
            cells = [number(mean) for mean in curve.mean[:, 0]]
            if audit.intervals:
                sides = zip(*(getattr(curve, side)[1:, 0] for side in _SIDES), strict=True)
                cells[1:] = [interval(*values) for values in sides]
            rows.append((spec, attack.name, *cells))
        tables.append(Table(header, tuple(rows), f"{system}: scores by share of outputs attacked", text_columns=_TEXT))
    return tables


def parts_tables(audit: Audit) -> list[Table]:
    """Return, for each system, the parts of each metric before and at the highest level (Tables 2, 9 and 10)."""
    sweep = audit.sweep
    attacks = [attack.name for attack in sweep.design.attacks]
    tables = []
    for system in sweep.systems:
        rows = []
        for spec, metric in sweep.design.metrics.items():
            curves = [sweep.curves[system, attack, spec].mean for attack in attacks]
            rows += [
                (spec, part, number(curves[0][0, place]), *(number(curve[-1, place]) for curve in curves))
                for place, part in enumerate(metric.outputs)
            ]
        top = percent(sweep.design.levels[-1])
        caption = f"{system}: the parts of each metric, unharmed and with {top} of the outputs attacked"
        tables.append(Table(("metric", "part", "unharmed", *attacks), tuple(rows), caption, text_columns=_TEXT))
    return tables


def form_table(audit: Audit) -> list[Table]:
    """Return what the paper's Table 3 shows, counted by plainly: sources, first references and systems."""
    evalset, texts = audit.sweep.design.evalset, dict(audit.sweep.design.outputs)
    if evalset.references and evalset.reference_counts.all():
        texts = {"first references": tuple(references[0] for references in evalset.references)} | texts
    if evalset.has_sources:
        texts = {"sources": evalset.sources} | texts
    specs = [spec for spec in _FORM if spec != "splits" or evalset.has_sources]
    columns = [(spec, *column) for spec in specs for column in _FORM[spec]]
    evaluation = evaluate(evalset, texts, specs, sampling=None)
    rows = tuple(
        (text, *(number(scale * evaluation[text][spec].corpus[part], 3) for spec, part, scale, _ in columns))
        for text in texts
    )
    return [Table(("text", *(title for *_, title in columns)), rows, caption="The form of the texts")]


# Tables by name: one for all systems, or one for each system.
TABLES: dict[str, Callable[[Audit], list[Table]]] = {
    "gameability": gameability_table,
    "items": items_table,
    "flips": flips_table,
    "overview": overview_table,
    "levels": levels_tables,
    "parts": parts_tables,
    "form": form_table,
}
