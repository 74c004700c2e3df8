"""Cardon et al. 2022, "Linguistic corpus annotation for automatic text simplification evaluation", computed again.

``ours`` has the artefacts that docs/reproduce.md describes, ``sound`` has not: in Table 3, every source is in both
parts of the cross-validation; in Table 4, each sentence of a subset keeps its ``ID<TAB>`` prefix, and a reference that
was removed stays as a blank line, which SARI counts as a reference.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, compress
from statistics import fmean

import numpy as np
import numpy.typing as npt

from plainly import data
from plainly.core import registry
from plainly.core.evalset import EvalSet
from plainly.core.metric import Metric
from plainly.io.files import read_lines
from plainly.metrics.edits import Edits
from plainly.typology import formats
from plainly.typology.annotation import Pair
from plainly.typology.metric_correlations import correlations, leave_one_out, regression
from plainly.typology.operations import counts, profile
from plainly.typology.vocabulary import all_labels
from plainly_lab.reproductions.cells import ORIGINS, Cell, RecipeOptions, Values, cells_of, published

Floats = npt.NDArray[np.float64]

PRINTED = published("assetann")
ALPHAS = {"keep": 0.6, "add": 0.2, "delete": 0.5}  # Not in the paper: found by trying, see docs/reproduce.md.
SUBSETS = {"new": "new", "lex": "lexical", "synt": "syntactic", "add": "add", "del": "delete", "repl": "replace"}
# The paper's name → the published outputs; those of MUSS are five trainings, which are averaged.
SYSTEMS = {
    **{name: (name,) for name in ("Dress", "Dress-Ls", "EditNTS", "NTS-SARI", "PBMT-R")},
    **{
        name: tuple(f"{model}/{seed}" for seed in range(5))
        for name, model in {
            "MUSS♠": "muss_bart_access_mined",
            "MUSSnewsela": "muss_bart_access_newsela",
            "MUSSnewsela♠": "muss_bart_access_newsela_mined",
            "MUSSwiki": "muss_bart_access_wikilarge",
            "MUSSwiki♠": "muss_bart_access_wikilarge_mined",
            "MUSS♣♠": "muss_mbart_access_mined",
            "seq2seq♠": "seq2seq_mined",
            "seq2seqwiki": "seq2seq_wikilarge",
        }.items()
    },
}


def run(options: RecipeOptions) -> list[Cell]:
    """Compute the cells of Tables 1, 3, 4, 6, 7, 9 and 10."""
    labels = tuple(label for label in all_labels() if label != "err")
    pairs = formats.load("assetann/annotations")
    gold = [_as_counted(pair) for pair in formats.load("assetann/gold")]
    table = counts(pairs, labels)
    scores = leave_one_out(pairs, registry.metric("sari")) if any(map(options.wants, ("3", "9", "10"))) else {}
    cells: list[Cell] = []
    if options.wants("1"):
        ours = {
            (operation.label, column): float(operation.pairs)
            for column, annotations in (("all", pairs), ("gold", gold))
            for operation in profile(annotations).operations
        }
        cells += cells_of(PRINTED, "1", ours)
    if options.wants("3"):
        cells += _table3(pairs, table, labels, scores)
    if options.wants("4"):
        cells += _table4(options)
    if options.wants("6"):
        cells += _table6(pairs, gold)
    if options.wants("7"):
        per_pair = profile([pair for pair in pairs if "err" not in pair.labels]).per_pair
        cells += cells_of(PRINTED, "7", {(str(number), "pairs"): float(count) for number, count in per_pair.items()})
    if options.wants("9"):
        cells += cells_of(PRINTED, "9", _correlations(table, labels, {"": scores["sari"]}))
    if options.wants("10"):
        parts = {f"{part} ": scores[part] for part in ALPHAS}
        cells += cells_of(PRINTED, "10", _correlations(table, labels, parts))
    return cells


def conclusions(cells: Sequence[Cell]) -> list[str]:
    """Describe how the sound columns of Table 4 change the paper's conclusions."""
    table = {(cell.row, cell.column): cell for cell in cells if cell.table == "4"}
    if not table:
        return []
    lines = []
    for column, claim in (("lex", 3.5), ("synt", 1.3), ("add", 4.0), ("del", 1.3), ("repl", 1.8)):
        falls = {
            origin: fmean(
                table[system, "SARI orig"].value("ours") - table[system, f"SARI {column}"].value(origin)
                for system in SYSTEMS
            )
            for origin in ORIGINS
        }
        lines.append(
            f"SARI on the {column} references falls by {falls['published']:.1f} on average as printed (the text says "
            f"{claim}), by {falls['ours']:.1f} with the files' artefacts, by {falls['sound']:z.1f} soundly."
        )
    for column in ("SARI lex", "SARI synt", "SARI add"):
        values = [{system: table[system, column].value(origin) for system in SYSTEMS} for origin in ORIGINS[1:]]
        with_artefacts, sound = (sorted(SYSTEMS, key=by_system.__getitem__, reverse=True) for by_system in values)
        swaps = sum(sound.index(better) > sound.index(worse) for better, worse in combinations(with_artefacts, 2))
        lines.append(
            f"{column}: the best system is {with_artefacts[0]} with the artefacts and {sound[0]} soundly; "
            f"{swaps} of 78 pairs of systems change places."
        )
    bleu = table["seq2seqwiki", "BLEU orig"]
    lines.append(
        f"seq2seqwiki's original BLEU is printed as {bleu.published}, which is MUSSwiki's; it is {bleu.ours:.1f}. That "
        "removing errors makes it the best system by BLEU is therefore wrong: it was the best before."
    )
    return lines


def _table3(
    pairs: Sequence[Pair], table: npt.NDArray[np.int64], labels: Sequence[str], scores: dict[str, Floats]
) -> list[Cell]:
    erroneous = {pair.id for pair in pairs if "err" in pair.labels}
    is_clean = np.array([pair.id not in erroneous for pair in pairs])
    clean_pairs = list(compress(pairs, is_clean))
    ours: Values = {}
    sound: Values = {}
    for part, alpha in ALPHAS.items():
        as_published, by_source = (
            regression(table[is_clean], labels, scores[part][is_clean], groups=groups, alpha=alpha)
            for groups in ([pair.part for pair in clean_pairs], [pair.source for pair in clean_pairs])
        )
        ours |= {(label, part): value for label, value in as_published.coefficients.items()}
        ours["fitted", part], ours["cross-validated", part] = as_published.r2, as_published.r2_held_out
        sound["cross-validated", part] = by_source.r2_held_out
    alphas = ", ".join(f"{part} {alpha}" for part, alpha in ALPHAS.items())
    cells = cells_of(PRINTED, "3", ours, alphas=alphas)
    return cells + cells_of(PRINTED, "3 R²", ours, sound=sound, alphas=alphas)


def _table4(options: RecipeOptions) -> list[Cell]:
    whole = data.load("asset/test", progress=options.progress)
    names = [system for systems in SYSTEMS.values() for system in systems]
    texts = data.outputs_of("asset/test", names, progress=options.progress)
    outputs = {name: [texts[system] for system in systems] for name, systems in SYSTEMS.items()}
    sari, bleu, edits = registry.metric("sari"), registry.metric("bleu(lowercase=true)"), Edits(lowercase=True)
    with_artefacts = {column: _with_artefacts(subset) for column, subset in SUBSETS.items()}
    clean = {column: data.load(f"assetann/{subset}", progress=options.progress) for column, subset in SUBSETS.items()}
    with_prefixes = replace(whole, sources=with_artefacts["new"].sources)
    without_blanks = EvalSet.of(with_artefacts["new"].sources, references=with_artefacts["new"].references)
    ours: Values = {}
    sound: Values = {}
    for name, runs in outputs.items():
        ours[name, "SARI orig"], ours[name, "BLEU orig"] = _score(sari, whole, runs), _score(bleu, whole, runs)
        ours[name, "BLEU new"] = _score(bleu, without_blanks, runs)
        sound[name, "BLEU new"] = _score(bleu, clean["new"], runs)
        for column, part in (("add", edits.outputs.index("added")), ("del", edits.outputs.index("deleted"))):
            ours[name, column] = _score(edits, with_prefixes, runs, part)
            sound[name, column] = _score(edits, whole, runs, part)
        for column in SUBSETS:
            subset_runs = [tuple(run[int(identifier) - 1] for identifier in clean[column].ids) for run in runs]
            ours[name, f"SARI {column}"] = _score(sari, with_artefacts[column], subset_runs)
            sound[name, f"SARI {column}"] = _score(sari, clean[column], subset_runs)
    notes = {("seq2seqwiki", "BLEU orig"): "printed is MUSSwiki's"}
    return cells_of(PRINTED, "4", ours, sound=sound, notes=notes)


def _table6(pairs: Sequence[Pair], gold: Sequence[Pair]) -> list[Cell]:
    ours: Values = {}
    for prefix, annotations in (("", pairs), ("gold ", gold)):
        for operation in profile(annotations).operations:
            for side in ("source", "output"):
                ours[operation.label, f"{prefix}{side} mean"] = getattr(operation, f"{side}_tokens")
                # The paper prints NA for a deviation of 0, whether all values are equal or there is only one.
                deviation = getattr(operation, f"{side}_deviation") or float("nan")
                ours[operation.label, f"{prefix}{side} sd"] = deviation
    notes = {
        (label, column): "hyponym and hyperonym are exchanged in print"
        for label in ("hyponym", "hyperonym")
        for column in ("gold source mean", "gold source sd")
    }
    return cells_of(PRINTED, "6", ours, notes=notes)


def _correlations(table: npt.NDArray[np.int64], labels: Sequence[str], scores: dict[str, Floats]) -> Values:
    ours: Values = {}
    for prefix, values in scores.items():
        for correlation in correlations(table, labels, values):
            ours[correlation.label, f"{prefix}rho"] = correlation.rho
            # p-values below .0001 are printed as 0.
            ours[correlation.label, f"{prefix}p"] = correlation.p_value if correlation.p_value >= 0.0001 else 0.0
    return ours


def _with_artefacts(subset: str) -> EvalSet:
    """Read a subset as in its files: the number before each sentence is text, and a blank line is a reference."""
    files = data.paths(f"assetann/{subset}")
    sources = read_lines(files["source"][0])
    references = [(read_lines(path) + [""] * len(sources))[: len(sources)] for path in files["reference"]]
    return EvalSet(tuple(map(str, range(len(sources)))), tuple(sources), tuple(zip(*references, strict=True)))


def _score(metric: Metric, evalset: EvalSet, runs: Sequence[Sequence[str]], output: int = 0) -> float:
    return fmean(float(metric.score(metric.measure(evalset, run).sum(axis=0))[output]) for run in runs)


def _as_counted(pair: Pair) -> Pair:
    """Relabel Yawat's default label, left on one group, as synonym, as the paper's counts of the gold do."""
    return pair.with_groups(
        replace(group, label="synonym") if group.label == "literal" else group for group in pair.groups
    )
