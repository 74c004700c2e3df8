"""Schwarzer and Kauchak 2018, "The Simplicity-Adequacy Tradeoff": their procedures on the ratings that are public.

The paper's own ratings were never released, so no cell can be expected to agree: ``published`` is what they found on
their 500 outputs, ``ours`` what the same procedure finds on others. That is the point of running it. The inverse
relation of simplicity and adequacy that names the paper shows on the ACL-2018 systems and is *positive* on
Simplicity-DA, where broken outputs are rated low on everything; that sentences are worth more than raters holds on
both.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from plainly.people import Judgements
from plainly.people import load as load_ratings
from plainly.people.meta_evaluation import relate
from plainly_lab.reproductions.cells import Cell, RecipeOptions, cells_of, published
from plainly_lab.reproductions.significance import Significance

PRINTED = published("tradeoff")
# Identity, Moses, SBMT-SARI and NTS: the seven systems of the BLEU paper that do not split.
NTS = tuple(f"NTS-{beam}_{model}_model" for beam in ("h1", "h4") for model in ("default", "w2v"))
SEVEN = ("Identity", "Moses", "SBMT-SARI", *NTS)
BUDGET = 100


def run(options: RecipeOptions) -> list[Cell]:
    """Relate dimensions and resample raters and budgets, on two public sets."""
    sda = load_ratings("simplicity-da", progress=options.progress)
    sda = sda.of_systems(sorted(sda.systems))
    acl = load_ratings("acl2018", progress=options.progress).of_systems(SEVEN)
    sets: list[tuple[str, Judgements, dict[str, str]]] = [
        ("Simplicity-DA", sda, {"simplicity": "simplicity", "adequacy": "meaning", "fluency": "fluency"}),
        ("ACL 2018", acl, {"simplicity": "simplicity", "adequacy": "meaning", "fluency": "grammaticality"}),
    ]
    cells: list[Cell] = []
    for name, judgements, dimensions in sets:
        if options.wants("relations"):
            cells += _relations(name, judgements, dimensions)
        # Only simplicity was released by rater in Simplicity-DA.
        ratings = judgements[dimensions["simplicity" if name == "Simplicity-DA" else "adequacy"]]
        cells += _resample(f"{name}, {ratings.dimension}", Significance.of(ratings), options)
    return sorted(cells, key=lambda cell: ("relations", "raters", "budget").index(cell.table))


def _resample(row: str, pilot: Significance, options: RecipeOptions) -> list[Cell]:
    """Test how well fewer raters, and a budget spent in several ways, keep the pattern of significant differences."""
    how = f"{row}, {pilot.test} t-test at p < .01, 1,000 draws; other data than the paper's"
    rng = np.random.default_rng(options.seed)
    cells: list[Cell] = []
    if options.wants("raters"):
        columns = {"1 rater": 1, "2 raters": 2}
        points = {name: pilot.resample(raters=n, rng=rng) for name, n in columns.items()}
        ours = {("adequacy", column): point.tau_as_listed for column, point in points.items()}
        sound = {("adequacy", column): point.tau for column, point in points.items()}
        cells += cells_of(PRINTED, "raters", ours, sound=sound, how=how)
    if options.wants("budget"):
        counts = [count for count in (1, 2, 3, 5, 10) if count <= max(3, round(pilot.raters))]
        spendings = [pilot.resample(sentences=BUDGET // count, raters=count, rng=rng) for count in counts]
        falls = all(fewer.tau > more.tau for fewer, more in pairwise(spendings))
        key = ("adequacy", "agreement falls as raters are added")
        notes = {key: ", ".join(f"{point.sentences}×{point.raters} {point.tau:.2f}" for point in spendings)}
        cells += cells_of(PRINTED, "budget", {key: float(falls)}, notes=notes, how=how, budget=BUDGET)
    return [replace(cell, row=row) for cell in cells]


def conclusions(cells: Sequence[Cell]) -> list[str]:
    """Report which of the paper's conclusions hold on public ratings."""
    lines = []
    signs = {cell.row: cell.ours for cell in cells if cell.table == "relations" and cell.column == "sign"}
    tradeoffs = {row: sign for row, sign in signs.items() if "simplicity–adequacy" in row}
    if tradeoffs:
        inverse = [row.partition(":")[0] for row, sign in tradeoffs.items() if sign is not None and sign < 0]
        lines.append(
            f"Simplicity and adequacy are inversely related on {len(inverse)} of {len(tradeoffs)} public sets "
            f"({', '.join(inverse) or 'none'}): whether there is a trade-off depends on the systems that were rated."
        )
    budgets = [cell for cell in cells if cell.table == "budget"]
    if budgets and all(cell.ours == 1 for cell in budgets):
        lines.append(
            "With a fixed number of ratings, more sentences beat more raters on every set, as the paper found."
        )
    return lines


def _relations(name: str, judgements: Judgements, dimensions: dict[str, str]) -> list[Cell]:
    ours, notes = {}, {}
    for row in ("simplicity–adequacy", "adequacy–fluency"):
        x, y = (dimensions[dimension] for dimension in row.split("–"))
        relation = relate(judgements, x, y)
        correlation = relation.correlation
        ours[row, "R²"], ours[row, "sign"] = relation.r2, float(np.sign(correlation.value))
        notes[row, "R²"] = f"r {correlation.value:.3f}, slope {relation.slope:.2f}, p {correlation.p_independent:.1g}"
    cells = cells_of(PRINTED, "relations", ours, notes=notes)
    return [replace(cell, row=f"{name}: {cell.row}") for cell in cells]
