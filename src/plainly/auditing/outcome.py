"""An audit from beginning to end: attacks on systems, curves of metrics, what they say, and tables of them.

The tables are shaped like those of Tanprasert & Kauchak (2021): attacks down, levels or parts across.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from plainly.auditing.attacks import Attack, resolve_attacks
from plainly.auditing.sweep import LEVELS, SEED, Curve, Sweep, first_trial, sweep
from plainly.auditing.verdicts import Effect, Verdict, judge, paragraph
from plainly.core.errors import UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.formatting import interval, number, percent, share, signed
from plainly.core.metric import Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.tables import delimited, markdown
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs, read_texts
from plainly.io.units import Unit
from plainly.scoring.evaluate import evaluate, resolve_metrics
from plainly.streaming import engines

_SIDES = ("mean", "low", "high")  # of a curve
DEFAULT_TABLES = ("gameability", "flips")
_TEXT = frozenset({0, 1})
_OVERVIEW_LEVELS = (0.1, 0.5, 1.0)
_MOST_FLIPS = 12  # of one metric
# Metric → which of its outputs, times what, under which title.
_FORM = {
    "length": (("words_per_sentence", 1, "words per sentence"), ("syllables_per_word", 1, "syllables per word")),
    "splits": (("full_stops", 100, "% split (full stops)"),),
}


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """A sweep, the verdicts that follow from it, and which tables of it to show (of ``TABLES``)."""

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
        return {spec: paragraph(verdict) for spec, verdict in self.verdicts.items()}

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
    """Find out whether metrics can be fooled on what systems wrote (texts are given as to ``plainly.score``).

    ``metrics`` are specs, metrics, or objects with ``measure`` and ``score``; ``attacks`` are names, ``all``,
    ``paper``, or attacks of your own; ``levels`` are shares of the outputs; ``trials`` are 100, or 5 with learned
    metrics. ``tables`` says which tables the result shows, by name or ``all``, and ``intervals`` whether they say where
    95 % of the trials lie. More than one process needs a script that guards its start with
    ``if __name__ == "__main__":``.
    """
    shown = named_tables(tables)
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
    swept = sweep(
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
    remarks = diagnose(inputs.evalset, inputs.outputs, swept.design.metrics, quick=True, only=("metric-language",))
    return Audit(swept, shown, intervals, (*inputs.notes, *remarks))


def levels_table(sweep: Sweep, system: str, *, intervals: bool = False) -> Table:
    """Every metric at every level (Tables 4–8): one row for each metric and attack."""
    rows = [
        (spec, attack.name, *_cells(sweep.curves[system, attack.name, spec], intervals))
        for spec in sweep.design.metrics
        for attack in sweep.design.attacks
    ]
    header = ("metric", "attack", *map(percent, (0.0, *sweep.design.levels)))
    return Table(header, tuple(rows), caption=f"{system}: scores by share of outputs attacked", text_columns=_TEXT)


def overview_table(sweep: Sweep) -> Table:
    """A few levels of all systems side by side (Table 1)."""
    shown = (0.0, *sweep.design.levels)
    columns = [
        (system, place)
        for system in sweep.systems
        for place, level in enumerate(shown)
        if place == 0 or level in _OVERVIEW_LEVELS
    ]
    header = ("metric", "attack", *(f"{system} {percent(shown[place])}" for system, place in columns))
    rows = [
        (spec, attack.name, *(number(sweep.headline(system, attack.name, spec)[place]) for system, place in columns))
        for spec in sweep.design.metrics
        for attack in sweep.design.attacks
    ]
    return Table(header, tuple(rows), caption="Scores by system and share of outputs attacked", text_columns=_TEXT)


def parts_table(sweep: Sweep, system: str) -> Table:
    """Everything a metric is made of, before and with every output attacked (Tables 2, 9 and 10)."""
    attacks = [attack.name for attack in sweep.design.attacks]
    rows = []
    for spec, metric in sweep.design.metrics.items():
        curves = [sweep.curves[system, attack, spec].mean for attack in attacks]
        rows += [
            (spec, part, number(curves[0][0, place]), *(number(curve[-1, place]) for curve in curves))
            for place, part in enumerate(metric.outputs)
        ]
    top = percent(sweep.design.levels[-1])
    caption = f"{system}: the parts of each metric, unharmed and with {top} of the outputs attacked"
    return Table(("metric", "part", "unharmed", *attacks), tuple(rows), caption=caption, text_columns=_TEXT)


def gameability_table(sweep: Sweep, verdicts: Sequence[Verdict]) -> Table:
    """How far each attack moves each metric, in spreads; marked where that is the wrong direction."""
    rows = []
    for place, attack in enumerate(sweep.design.attacks):
        effects = [verdict.effects[place] for verdict in verdicts]
        rows.append((attack.name, attack.expected, percent(effects[0].touched), *map(_moved, effects)))
    several = any(not math.isnan(verdict.spread) for verdict in verdicts)
    if several:
        rows.append(("gameability", "", "", *(number(verdict.gameability) for verdict in verdicts)))
    units = "in units of the spread between the systems" if several else "in its own units (one system has no spread)"
    return Table(
        ("attack", "should be", "applies to", *(verdict.metric for verdict in verdicts)),
        tuple(rows),
        caption=f"How far each attack moves each metric, {units}",
        notes=(
            "Positive: the metric says better. * marks the wrong direction, at the level where it is most wrong"
            f"{'; gameability is the largest of these' if several else ''}.",
        ),
        text_columns=_TEXT,
    )


def items_table(sweep: Sweep, verdicts: Sequence[Verdict]) -> Table:
    """On how many of the outputs that an attack changes each metric's own score of the output gets worse."""
    rows = []
    for place, attack in enumerate(sweep.design.attacks):
        worse = [
            np.array([sweep.worse[system, attack.name, verdict.metric] for system in sweep.systems])
            for verdict in verdicts
        ]
        shares = [
            float(of_metric[~np.isnan(of_metric)].mean()) if not np.isnan(of_metric).all() else math.nan
            for of_metric in worse
        ]
        touched = percent(verdicts[0].effects[place].touched)
        rows.append((attack.name, attack.expected, touched, *map(percent, shares)))
    return Table(
        ("attack", "should be", "applies to", *(verdict.metric for verdict in verdicts)),
        tuple(rows),
        caption="Of the outputs that the attack changes, how many get a worse score of their own",
        text_columns=_TEXT,
    )


def flips_table(verdicts: Sequence[Verdict]) -> Table:
    """How much of which attack changes who wins: first who could win by it, then how the winner loses."""
    rows = []
    for verdict in verdicts:
        turned = [flip for flip in verdict.flips if flip.share <= 1]
        for flip in sorted(turned, key=lambda flip: (not flip.wins, flip.share))[:_MOST_FLIPS]:
            place, after = f"{flip.system} ({flip.rank})", "wins, past" if flip.wins else "loses to"
            rows.append((verdict.metric, flip.attack, place, after, flip.rival, share(flip.share)))
    return Table(
        ("metric", "attack", "system (place)", "", "rival", "share of outputs"),
        tuple(rows),
        caption="What changes the winner",
        text_columns=frozenset({0, 1, 2, 3, 4}),
    )


def form_table(sweep: Sweep) -> Table:
    """What the paper's Table 3 shows, as plainly counts it: source, first references and systems."""
    evalset, texts = sweep.design.evalset, dict(sweep.design.outputs)
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
    return Table(("text", *(title for *_, title in columns)), rows, caption="The form of what was written")


# Each gives one table, or one for each system; the last argument is whether to show where 95 % of the trials lie.
TABLES: dict[str, Callable[[Sweep, Sequence[Verdict], bool], list[Table]]] = {
    "gameability": lambda sweep, verdicts, _: [gameability_table(sweep, verdicts)],
    "items": lambda sweep, verdicts, _: [items_table(sweep, verdicts)],
    "flips": lambda sweep, verdicts, _: [flips_table(verdicts)] if len(sweep.systems) > 1 else [],
    "overview": lambda sweep, *_: [overview_table(sweep)],
    "levels": lambda sweep, _, intervals: [
        levels_table(sweep, system, intervals=intervals) for system in sweep.systems
    ],
    "parts": lambda sweep, *_: [parts_table(sweep, system) for system in sweep.systems],
    "form": lambda sweep, *_: [form_table(sweep)],
}


def named_tables(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names of tables, checked; ``all`` is all of them."""
    if isinstance(names, str):
        names = list(TABLES) if names == "all" else [name.strip() for name in names.split(",") if name.strip()]
    for name in names:
        if name not in TABLES:
            raise UnknownName("table", name, TABLES, see="plainly audit --help")
    return tuple(names)


def _cells(curve: Curve, intervals: bool) -> list[str]:
    means = curve.mean[:, 0]
    if not intervals:
        return [number(mean) for mean in means]
    ends = zip(means[1:], curve.low[1:, 0], curve.high[1:, 0], strict=True)
    return [number(means[0]), *(interval(mean, low, high) for mean, low, high in ends)]


def _moved(effect: Effect) -> str:
    value = effect.spreads if not math.isnan(effect.spreads) else effect.gain
    return f"{signed(value)}{'*' if effect.fooled else ''}"


def _csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return delimited(header, rows) + "\n"


def _safe(name: str) -> str:
    """A name as a part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name).strip("-")
