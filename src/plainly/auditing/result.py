"""The audit as a whole: attacks on systems, curves and verdicts of metrics, and their tables.

The tables are shaped like those of Tanprasert & Kauchak (2021): attacks down, levels or parts across.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from plainly.auditing.attacks import Attack, resolve_attacks
from plainly.auditing.biases import Bias, find_biases
from plainly.auditing.sweep import LEVELS, SEED, Movement, Sweep, repeat_first_trial, sweep
from plainly.auditing.verdicts import Effect, Verdict, average_systems, reach_verdict, write_paragraph
from plainly.core.errors import UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.formatting import count_noun, format_change, interval, listed, number, p_value, percent, share
from plainly.core.metric import Metrics
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.tables import format_csv, markdown
from plainly.data import diagnose
from plainly.io.columns import Columns
from plainly.io.evalsets import Incomplete
from plainly.io.texts import Outputs, TextArguments, Texts
from plainly.io.units import Unit
from plainly.scoring.evaluate import evaluate, resolve_metrics
from plainly.stats.paired import holm
from plainly.streaming import engines

_SIDES = ("mean", "low", "high")  # of a curve
DEFAULT_TABLES = ("gameability", "flips")
_TEXT = frozenset({0, 1})
_OVERVIEW_LEVELS = (0.0, 0.1, 0.5, 1.0)
_MOST_FLIPS = 12  # of one metric
_ACCUSED = 0.01  # p below which a metric is called biased
_MOVEMENT = ("points moved", "verdicts flipped", "p Holm", "n")
_MARKED = "* marks a movement in the wrong direction with p < .01."
_QUICK_ITEMS = 400  # 31 attacks on these with the default metrics take seconds
# Metric → which of its outputs, times what, under which title.
_FORM = {
    "length": (("words_per_sentence", 1, "words per sentence"), ("syllables_per_word", 1, "syllables per word")),
    "splits": (("full_stops", 100, "% split (full stops)"),),
}


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """A sweep, the verdicts that follow from it, and the tables to show (of ``TABLES``).

    ``sweep`` has each system on the items that it has. What compares systems rests on ``compared``, the same on the
    items that all of them have; it is None if there are none.
    """

    sweep: Sweep
    compared: Sweep | None
    biases: tuple[Bias, ...] = ()
    table_names: tuple[str, ...] = DEFAULT_TABLES
    intervals: bool = False  # whether the table of levels shows where 95 % of the trials lie
    remarks: tuple[Note, ...] = ()

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """Verdicts by metric."""
        sweep, ranked = self.compared or self.sweep, self.compared is not None
        return {
            spec: reach_verdict(
                sweep, spec, ranked=ranked, significant=self._significant(spec) if metric.is_remote else None
            )
            for spec, metric in sweep.design.metrics.items()
        }

    @cached_property
    def paragraphs(self) -> dict[str, str]:
        """A paragraph about each metric."""
        return {spec: write_paragraph(verdict) for spec, verdict in self.verdicts.items()}

    @cached_property
    def movements(self) -> dict[tuple[str, str, str], tuple[Movement, float]]:
        """By system, attack or bias, and metric: how far it moves the scores of items, and p that it does not.

        p is corrected (Holm) for the number of systems, attacks and biases that were tried on the metric.
        """
        moved = dict(self.sweep.moved) | {(bias.system, bias.bias, bias.metric): bias.moved for bias in self.biases}
        values: dict[tuple[str, str, str], tuple[Movement, float]] = {}
        for spec in dict.fromkeys(key[2] for key in moved):
            keys = [key for key in moved if key[2] == spec]
            corrected = holm([moved[key].p_value for key in keys])
            values |= {key: (moved[key], p) for key, p in zip(keys, corrected, strict=True)}
        return values

    def is_biased(self, system: str, attack: str, spec: str) -> bool:
        """Return whether scores of items move in a direction in which they should not, with p < .01."""
        moved, corrected = self.movements[system, attack, spec]
        expected = {attack.name: attack.expected for attack in self.sweep.design.attacks}.get(attack, "unchanged")
        metric = self.sweep.design.metrics.get(spec)
        sign = -1 if metric is not None and metric.better == "lower" else 1
        is_wrong = {"worse": sign * moved.mean > 0, "better": sign * moved.mean < 0, "unchanged": True}[expected]
        return corrected < _ACCUSED and is_wrong

    def _significant(self, spec: str) -> set[str]:
        attacks = [attack.name for attack in self.sweep.design.attacks]
        return {name for name in attacks for system in self.sweep.systems if self.is_biased(system, name, spec)}

    @property
    def item_counts(self) -> dict[str, int]:
        """How many items each system has."""
        return {system: len(own.outputs) for system, own in self.sweep.design.systems.items()}

    @property
    def shared_items(self) -> int:
        """How many items all systems have."""
        return min(len(own.outputs) for own in self.compared.design.systems.values()) if self.compared else 0

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
            "systems": [{"system": system, "items": n} for system, n in self.item_counts.items()],
            "shared_items": self.shared_items,
            "quick": design.quick,
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
                    "moved": self._movement_record(system, attack, spec),
                    "outputs": {
                        output: {side: getattr(curve, side)[:, column].tolist() for side in _SIDES}
                        for column, output in enumerate(design.metrics[spec].outputs)
                    },
                }
                for (system, attack, spec), curve in self.sweep.curves.items()
            ],
            "biases": [
                {"metric": bias.metric, "bias": bias.bias, "system": bias.system or None}
                | {"moved": self._movement_record(bias.system, bias.bias, bias.metric)}
                for bias in self.biases
            ],
            "warnings": warnings(self),
        }

    def _movement_record(self, *key: str) -> Record:
        moved, corrected = self.movements[key[0], key[1], key[2]]
        about = {"p_value": moved.p_value, "p_holm": corrected, "is_biased": self.is_biased(*key)}
        return vars(moved) | about

    def tables(self) -> list[Table]:
        names = self.table_names if self.verdicts else ()
        return [*(table for name in names for table in TABLES[name](self)), *_biases_table(self)]

    def notes(self) -> list[Note]:
        design = self.sweep.design
        items = count_noun(len(design.evalset), "item")
        if min(self.item_counts.values()) < len(design.evalset):
            items += f", of which {listed([f'{system} has {n}' for system, n in self.item_counts.items()])}"
            if len(self.item_counts) > 1:
                items += f"; systems are compared on the {self.shared_items} that all of them have"
        rewriting = ", every output rewritten once" if design.quick else ""
        about = f"{items}; {count_noun(design.trials, 'trial')} of each attack{rewriting}, seed {design.seed}."
        verdicts = [Note(text, "claim", where=spec) for spec, text in self.paragraphs.items()]
        significant = [bias for bias in self.biases if self.is_biased(bias.system, bias.bias, bias.metric)]
        biases = [Note(bias.claim, "claim", where=bias.metric) for bias in significant]
        return [*verdicts, *biases, Note(about), *self.remarks]

    def changes(self) -> list[Record]:
        """Return all changes by the first trial of each attack: the place, and the text before and after."""
        design = self.sweep.design
        return [
            {"system": system, "attack": attack.name, "id": id, **vars(change)}
            for system, own in design.systems.items()
            for attack in design.attacks
            for id, record in zip(own.evalset.ids, repeat_first_trial(design, attack, system), strict=True)
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
    quick: bool = False,
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
    ``quick`` gives a first look in seconds: at most 400 items, and every attack rewrites each output once.
    ``tables`` are the tables that the result shows, by name or ``all``; with ``intervals`` they show where 95 % of the
    trials lie. More than one process needs a script that guards its start with ``if __name__ == "__main__":``.
    """
    if isinstance(tables, str):
        tables = list(TABLES) if tables == "all" else [name.strip() for name in tables.split(",") if name.strip()]
    for name in tables:
        if name not in TABLES:
            raise UnknownName("table", name, TABLES, see="plainly audit --help")
    inputs = TextArguments(
        sources, outputs, references, evalset, ids, groups, columns, language, incomplete, unit
    ).read(data)
    if isinstance(engine, str):
        engine = engines.engine(engine, processes=processes, address=address)
    notes = inputs.notes
    if quick and len(inputs.evalset) > _QUICK_ITEMS:
        items = np.linspace(0, len(inputs.evalset) - 1, _QUICK_ITEMS).astype(int)
        notes += (Note(f"quick: {_QUICK_ITEMS} of {len(inputs.evalset):,} items, evenly spaced."),)
        inputs = inputs[items]
    attempt = partial(
        sweep,
        metrics=resolve_metrics(metrics, inputs.evalset),
        attacks=resolve_attacks(attacks, inputs.evalset),
        levels=levels,
        trials=trials,
        seed=seed,
        quick=quick,
        engine=engine,
        progress=progress,
    )
    texts = Texts(
        inputs.evalset,
        {system or "outputs": lines for system, lines in inputs.outputs.items() if inputs.present(system).any()},
    )
    result = attempt(texts.evalset, texts.outputs)
    compared: Sweep | None = result
    if not texts.is_complete and len(texts.outputs) > 1:
        shared = texts.shared()
        compared = attempt(shared.evalset, shared.outputs) if len(shared.evalset) else None
    biases = tuple(find_biases(result.evaluation, result.evaluation.metrics))
    remarks = diagnose(inputs.evalset, inputs.outputs, result.design.metrics, quick=True, only=("metric-language",))
    return Audit(result, compared, biases, tuple(tables), intervals, (*notes, *remarks))


def gameability_table(audit: Audit) -> list[Table]:
    """Return how far each attack moves each metric, in spreads: with all outputs attacked, and where it is worst."""
    verdicts = audit.verdicts.values()
    attacks, full = audit.sweep.design.attacks, percent(audit.sweep.design.levels[-1])
    header = ["attack", "should be", "applies to"]
    touched = [percent(effect.touched) for effect in next(iter(verdicts)).effects]
    columns: list[list[str]] = [[a.name for a in attacks], [a.expected for a in attacks], touched]
    has_spread = any(not math.isnan(verdict.spread) for verdict in verdicts)
    last = ["gameability", "", ""]
    for spec, verdict in audit.verdicts.items():
        header.append(f"{spec} {full}")
        columns.append([_full_cell(effect, full) for effect in verdict.effects])
        last.append(number(verdict.gameability))
        worst = [_worst_cell(effect) for effect in verdict.effects]
        if any(worst):
            header.append(f"{spec} worst")
            columns.append(worst)
            last[-1:] = ["", last[-1]]
    rows = [*zip(*columns, strict=True), *([tuple(last)] if has_spread else [])]
    units = "units of the spread between the systems" if has_spread else "its own units (there is no spread)"
    worst_note = "; worst: where a smaller share moves it farther in the wrong direction"
    note = (
        f"{full}: with {full} of the outputs attacked{worst_note if len(header) > 3 + len(verdicts) else ''}. "
        "Positive: the score gets better. * marks the wrong direction"
        f"{'; gameability is the largest of these' if has_spread else ''}."
    )
    caption = f"How far each attack moves each metric, in {units}"
    return [Table(tuple(header), tuple(rows), caption, (note,), text_columns=_TEXT)]


def _full_cell(effect: Effect, full: str) -> str:
    cell = format_change(effect.full_gain if math.isnan(effect.full_spreads) else effect.full_spreads)
    cell += "*" * effect.fully_fooled
    return cell if percent(effect.full_level) == full else f"{cell} at {percent(effect.full_level)}"


def _worst_cell(effect: Effect) -> str:
    """Return the effect where it is worst, or nothing where that is with all outputs attacked or rounds to 0."""
    change = format_change(effect.gain if math.isnan(effect.spreads) else effect.spreads)
    if effect.level == effect.full_level or float(change) == 0:
        return ""
    return f"{change}{'*' * effect.fooled} at {percent(effect.level)}"


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


def points_table(audit: Audit) -> list[Table]:
    """Return how far each attack moves the scores of single items on average, with a test that it does not."""
    rows = tuple(
        (spec, attack.name, attack.expected, system, *_movement_cells(audit, system, attack.name, spec))
        for spec in audit.verdicts
        for attack in audit.sweep.design.attacks
        for system in audit.sweep.systems
    )
    caption = "How far the score of an output moves when it is attacked, and which share of verdicts on items changes"
    header = ("metric", "attack", "should be", "system", *_MOVEMENT)
    return [Table(header, rows, caption, (_MARKED,), text_columns=frozenset({0, 1, 2, 3}))]


def _biases_table(audit: Audit) -> list[Table]:
    """Return the biases that no attack shows, if any were tested."""
    rows = tuple(
        (bias.metric, bias.bias, bias.system, *_movement_cells(audit, bias.system, bias.bias, bias.metric))
        for bias in audit.biases
    )
    caption = "What judges prefer beyond the texts"
    table = Table(
        ("metric", "bias", "system", *_MOVEMENT), rows, caption, (_MARKED,), text_columns=frozenset({0, 1, 2})
    )
    return [table] if rows else []


def _movement_cells(audit: Audit, *key: str) -> tuple[str, ...]:
    moved, corrected = audit.movements[key[0], key[1], key[2]]
    points = f"{format_change(moved.mean)}{'*' * audit.is_biased(*key)}"
    return points, percent(moved.flipped), p_value(corrected), str(moved.n)


def flips_table(audit: Audit) -> list[Table]:
    """Return how much of which attack changes the winner: first which systems could win, then how the winner loses."""
    rows, cut = [], []
    for verdict in audit.verdicts.values():
        flips = [flip for flip in verdict.flips if flip.share <= 1]
        if len(flips) > _MOST_FLIPS:
            cut.append(f"{len(flips)} ({verdict.metric})")
        for flip in sorted(flips, key=lambda flip: (not flip.wins, flip.share))[:_MOST_FLIPS]:
            system, result = f"{flip.system} ({flip.rank})", "wins, past" if flip.wins else "loses to"
            rows.append((verdict.metric, flip.attack, system, result, flip.rival, share(flip.share)))
    header = ("metric", "attack", "system (place)", "", "rival", "share of outputs")
    notes = (f"Of each metric the first {_MOST_FLIPS} of {listed(cut)}.",) if cut else ()
    table = Table(header, tuple(rows), "What changes the winner", notes, text_columns=frozenset({0, 1, 2, 3, 4}))
    return [table] if len(audit.sweep.systems) > 1 else []


def overview_table(audit: Audit) -> list[Table]:
    """Return a few levels of all systems side by side (Table 1)."""
    sweep = audit.compared or audit.sweep
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
    "points": points_table,
    "flips": flips_table,
    "overview": overview_table,
    "levels": levels_tables,
    "parts": parts_tables,
    "form": form_table,
}
