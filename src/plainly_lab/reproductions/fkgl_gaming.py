"""Tanprasert & Kauchak 2021, "Flesch-Kincaid is not a text simplification evaluation metric", computed again.

The Newsela outputs that the paper modifies are licensed: pass a directory that holds Complex, Reference, Dress,
Dress-Ls, EncDecA, Hybrid and PBMT-R, one sentence per line. What the paper does not state:

- SARI was computed with **eight references of which seven are empty**, so that seven eighths of every n-gram count as
  "should have been deleted": keep is divided by about eight and delete is near 1, whatever a system does. ``ours`` does
  the same (``reference_count=8``); ``sound`` counts the one real reference.
- FKGL divides words by sentences as whole numbers, hence the steps. No syllable counter that was tried gives the values
  at 0 %: those cells differ, and ``sound`` is plainly's own FKGL.
- Tables 9 and 10 print Dress-Ls's values under every other system: all modified columns, and in Table 10 the unmodified
  one too. ``ours`` is Dress-Ls's value there, ``sound`` the value of the system that the table names.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from plainly.auditing.attacks import resolve_attacks
from plainly.auditing.sweep import Sweep, sweep
from plainly.core.errors import BadInput, DataUnavailable, MissingExtra
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Metric, Needs, ratio
from plainly.io.files import read_lines
from plainly.metrics.edits import Splits
from plainly.metrics.readability import Length
from plainly.streaming.engines import engine
from plainly.text import counts
from plainly_lab.reproductions import punkt_count
from plainly_lab.reproductions.cells import ORIGINS, Cell, RecipeOptions, Values, cells_of, published

PRINTED = published("fkgl-gaming")
ITEMS = 1077
SYSTEMS = {"4": "Dress-Ls", "5": "EncDecA", "6": "Hybrid", "7": "Dress", "8": "PBMT-R"}
LEVELS = {10 * step: step for step in range(11)}  # percent → index on a curve


@dataclass(frozen=True, repr=False)
class PaperFkgl(Metric):
    """FKGL as the paper's tables show it: runs of punctuation are words, and words/sentences is a whole number."""

    name: ClassVar[str] = "paper_fkgl"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("paper_fkgl",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return Length(variant="kauchak").measure(evalset, outputs)[:, :3]

    def score(self, totals: Floats) -> Floats:
        sentences, words, syllables = np.moveaxis(totals, -1, 0)
        grade = 0.39 * np.floor(ratio(words, sentences)) + 11.8 * ratio(syllables, words) - 15.59
        return np.asarray(grade[..., None])


@dataclass(frozen=True)
class _Scoring:
    """How a column of numbers is computed: with the paper's recipe, and soundly."""

    spec: str
    sound: str
    scale: float
    tolerance: float
    recipe: str


SCORINGS = {name: _Scoring(**settings) for name, settings in PRINTED["scorings"].items()}


def run(options: RecipeOptions) -> list[Cell]:
    """Compute the cells of Tables 1 to 10; figures where a directory for them is given."""
    if options.outputs is None:
        raise BadInput(
            "The outputs of this paper are licensed and cannot be fetched. Pass a directory with Complex, Reference, "
            f"{', '.join(SYSTEMS.values())}, one sentence per line: outputs='DIR'"
        )
    files = read(options.outputs)
    cells: list[Cell] = []
    if options.wants("3"):
        cells += _table3(files)
    if options.tables is None or options.tables - {"3"} or options.figures:
        outcome = _sweep(files, options)
        cells += [cell for cell in _sweep_cells(outcome) if options.wants(cell.table)]
        if options.figures:
            draw(outcome, options.figures)
    return sorted(cells, key=lambda cell: int(cell.table))


def conclusions(cells: Sequence[Cell]) -> list[str]:
    """Describe what the paper's SARI hides, with the numbers of Table 4 and Table 10."""
    table = {(cell.row, cell.column): cell for cell in cells if cell.table == "4"}
    lines = []
    attack_cells = [cell for (row, column), cell in table.items() if row.startswith("SARI ") and column == "100 %"]
    if attack_cells:
        moves = {origin: [cell.value(origin) for cell in attack_cells] for origin in ORIGINS}
        ranges = "; ".join(f"{origin} {max(values) - min(values):.4f}" for origin, values in moves.items())
        lines.append(f"How far apart the six modifications leave Dress-Ls's SARI at 100 %: {ranges}.")
    whole = {
        system: [
            cell.published or 0
            for cell in cells
            if (cell.table, cell.column) == ("10", "0 %") and cell.row.startswith(f"{system} ")
        ]
        for system in ("Dress-Ls", "EncDecA")
    }
    if all(len(parts) == 12 for parts in whole.values()):
        sari = {system: sum(parts) / 12 for system, parts in whole.items()}
        lines.append(
            f"The parts that Table 10 prints for the unmodified Dress-Ls make a SARI of {sari['Dress-Ls']:.4f}; those "
            f"it prints under the other systems make {sari['EncDecA']:.4f}, and Table 1 says .363 for Dress-Ls."
        )
    return lines


def read(directory: Path) -> dict[str, tuple[str, ...]]:
    """Read the seven files, with any suffix, and check that they have the same length."""
    if not directory.is_dir():
        raise BadInput(f"There is no directory {directory}.")
    names = ("Complex", "Reference", *SYSTEMS.values())
    files = {name: tuple(read_lines(_find(directory, name))) for name in names}
    lengths = {name: len(lines) for name, lines in files.items()}
    if len(set(lengths.values())) > 1:
        counts_text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadInput(f"The files in {directory} differ in length: {counts_text}. They hold one sentence per line.")
    return files


def _find(directory: Path, name: str) -> Path:
    files = (path for path in directory.iterdir() if path.is_file())
    paths = [path for path in files if path.name.split(".")[0].lower() == name.lower()]
    paths.sort(key=lambda path: len(path.suffixes))
    if not paths:
        raise BadInput(
            f"{directory} has no file {name} (with any suffix). It needs Complex, Reference and the systems."
        )
    if len(paths) > 1 and len(paths[0].suffixes) == len(paths[1].suffixes):
        raise BadInput(f"{directory} has {paths[0].name} and {paths[1].name}: which is {name}? Remove one of them.")
    return paths[0]


def _evalset(files: dict[str, tuple[str, ...]]) -> EvalSet:
    # Not EvalSet.of, which drops blank references: here every line is one.
    ids = tuple(str(number) for number in range(1, len(files["Complex"]) + 1))
    return EvalSet(ids, files["Complex"], tuple((line,) for line in files["Reference"]))


def _sweep(files: dict[str, tuple[str, ...]], options: RecipeOptions) -> Sweep:
    tables = set(SYSTEMS) | {"1", "2", "9", "10"} if options.tables is None else options.tables
    systems = [
        system
        for table, system in SYSTEMS.items()
        if table in tables or system == "Dress-Ls" or tables & {"9", "10"} or ("1" in tables and table in "456")
    ]
    evalset = _evalset(files)
    specs = dict.fromkeys(spec for scoring in SCORINGS.values() for spec in (scoring.spec, scoring.sound))
    return sweep(
        evalset,
        {system: files[system] for system in systems},
        [PaperFkgl() if spec == PaperFkgl.name else spec for spec in specs],
        resolve_attacks("paper", evalset),
        trials=options.trials,
        seed=options.seed,
        engine=engine("local", processes=options.processes),
        progress=options.progress,
    )


def _sweep_cells(outcome: Sweep) -> Iterator[Cell]:
    attacks = [attack.name for attack in outcome.design.attacks]
    for metric, systems in PRINTED["1"].items():
        for system in [system for system in systems if system in outcome.systems]:
            rows = dict(systems[system])
            row, value = f"{system} {metric}", rows.pop("unharmed")
            yield replace(_headline("1", row, value, metric, system, attacks[0], 0, outcome), decimals=3)
            yield from _levels("1", metric, system, rows, [10, 50, 100], outcome)
    yield from _parts_table("2", "Dress-Ls", PRINTED["2"], outcome)
    for table, system in SYSTEMS.items():
        if system in outcome.systems:
            for metric, rows in PRINTED[table].items():
                yield from _levels(table, metric, system, rows, list(LEVELS)[1:], outcome)
    for table, metric in (("9", "BLEU"), ("10", "SARI")):
        for system, rows in PRINTED[table].items():
            if system in outcome.systems:
                rows_by_name = {f"{metric} {row}": values for row, values in rows.items()}
                yield from _parts_table(table, system, rows_by_name, outcome)


def _levels(
    table: str, metric: str, system: str, rows: dict[str, list[float]], percents: Iterable[int], outcome: Sweep
) -> Iterator[Cell]:
    for attack, values in rows.items():
        row = f"{system} {metric} {attack}" if table == "1" else f"{metric} {attack}"
        for percent, value in zip(percents, values, strict=True):
            if not math.isnan(value):  # not legible in our copy of the paper
                yield _headline(table, row, value, metric, system, attack, percent, outcome)


def _headline(
    table: str, row: str, value: float, metric: str, system: str, attack: str, percent: int, outcome: Sweep
) -> Cell:
    scoring, level = SCORINGS[metric], LEVELS[percent]
    specs = (scoring.spec, scoring.sound)
    ours, sound = (scoring.scale * float(outcome.headline(system, attack, spec)[level]) for spec in specs)
    sound_value = sound if scoring.sound != scoring.spec else None
    recipe = f"{scoring.recipe}{_trials(outcome, level)}"
    return Cell(table, row, f"{percent} %", value, ours, 4, scoring.tolerance, recipe, sound_value)


def _parts_table(table: str, system: str, rows: dict[str, list[float]], outcome: Sweep) -> Iterator[Cell]:
    attacks = [attack.name for attack in outcome.design.attacks]
    for row, values in rows.items():
        metric, part = row.split(" ", 1)
        scoring = SCORINGS[metric]
        for column, value in zip(("0 %", *attacks), values, strict=True):
            attack, level = (attacks[0], 0) if column == "0 %" else (column, 10)
            repeats = system != "Dress-Ls" and (level > 0 or metric == "SARI")
            sound = _part(outcome, system, attack, scoring.sound, part, level)
            yield Cell(
                table=table,
                row=row if table == "2" else f"{system} {part}",
                column=column,
                published=value,
                ours=_part(outcome, "Dress-Ls" if repeats else system, attack, scoring.spec, part, level),
                decimals=4,
                tolerance=0.004,
                recipe=f"{scoring.recipe}{_trials(outcome, level)}",
                sound=sound if repeats or metric == "SARI" else None,
                note="the paper prints Dress-Ls's value here; sound is this system's own" if repeats else "",
            )


def _part(outcome: Sweep, system: str, attack: str, spec: str, part: str, level: int) -> float:
    """Return a part by the paper's name for it: "2-gram" of BLEU, "2-gram Add F1" of SARI."""
    n, _, operation = part.partition(" ")
    name = f"{operation.split()[0].lower()}{n[0]}" if operation else f"precision{n[0]}"
    return 0.01 * float(
        outcome.curves[system, attack, spec].mean[level, outcome.design.metrics[spec].outputs.index(name)]
    )


def _trials(outcome: Sweep, level: int) -> str:
    design = outcome.design
    trials = f"; mean of {design.trials} trials, seed {design.seed}" if level else ""
    return f"{trials}{_other_items(len(design.evalset))}"


def _other_items(items: int) -> str:
    return "" if items == ITEMS else f"; NOT the paper's data: {items} items where it has {ITEMS}"


def _table3(files: dict[str, tuple[str, ...]]) -> list[Cell]:
    evalset, columns = _evalset(files), PRINTED["3"]["columns"]
    ours: Values = {}
    sound: Values = {}
    how = ""
    for row in ("Original", "Reference", *SYSTEMS.values()):
        lines = files["Complex" if row == "Original" else row]
        sentences, how = count_sentences(lines)
        words = float(Length(variant="kauchak").measure(evalset, ["\n".join(lines)])[0, 1])
        totals = Length().measure(evalset, lines).sum(axis=0)
        split = Splits().score(Splits().measure(evalset, lines).sum(axis=0))[Splits.outputs.index("full_stops")]
        our_values = (words / sentences, totals[2] / words, 100 * split)
        sound_values = (totals[1] / totals[0], totals[2] / totals[1], math.nan)
        ours |= {(row, column): float(value) for column, value in zip(columns, our_values, strict=True)}
        sound |= {(row, column): float(value) for column, value in zip(columns, sound_values, strict=True)}
    return cells_of(PRINTED, "3", ours, sound=sound, how=how, other_items=_other_items(len(evalset)))


def count_sentences(lines: Sequence[str]) -> tuple[int, str]:
    """Count the sentences of a file by Punkt, or without its model by an approximation; return count and method."""
    text = "\n".join(lines)
    try:
        return len(counts.punkt()(text)), "Punkt sentences"
    except (MissingExtra, DataUnavailable):
        return max(punkt_count.count(text), 1), "sentences counted as Punkt does (its model is not installed)"


def draw(outcome: Sweep, directory: Path) -> list[Path]:
    """Draw Figures 1 to 3: FKGL, BLEU and SARI of Dress-Ls, with the published values (Table 4) as crosses."""
    from plainly.reporting.curves import draw_attacks

    if not directory.is_dir():
        raise BadInput(f"There is no directory {directory} for the figures. Create it first.")
    paths = []
    for number, metric in enumerate(("FKGL", "BLEU", "SARI"), start=1):
        scoring = SCORINGS[metric]
        crosses = {
            attack: [(10.0 * step, value / scoring.scale) for step, value in enumerate(values, start=1)]
            for attack, values in PRINTED["4"][metric].items()
        }
        title = f"Figure {number}: {metric} of Dress-Ls"
        figure = draw_attacks(outcome, "Dress-Ls", scoring.spec, title=title, axis=metric, crosses=crosses)
        paths += [figure.save(directory / f"figure{number}-{metric.lower()}.{form}") for form in ("svg", "png")]
    return paths
