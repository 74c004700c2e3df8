"""Sulem et al. 2018, "BLEU is Not Suitable for the Evaluation of Text Simplification", computed again.

What the paper does not state:

- BLEU is multi-bleu on lowercase text. The references were tokenised again by Moses, which keeps ``-lrb-`` where the
  source has "(": every bracket is a mismatch. ``sound`` compares source and references in one tokenisation.
- System-level correlations are of human means rounded to two decimals; without rounding, near-ties change places.
- SARI is the sentence mean of the authors' SARI.py (``xu``). No counter that was tried reproduces −FK.
- Sentences end as in Punkt, so that "later.This" is inside one; ``sound`` splits it there.
- The agreement of raters is reproduced for meaning only.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from rapidfuzz.distance import Levenshtein

from plainly import data
from plainly.core import registry
from plainly.core.errors import require_package
from plainly.core.evalset import EvalSet
from plainly.people import Judgements, Ratings
from plainly.people import load as load_ratings
from plainly.stats.agreement import resampled_kappa
from plainly.stats.correlate import Alternative, correlation, p_value
from plainly.text import sentences
from plainly_lab.reproductions.cells import Cell, RecipeOptions, Values, cells_of, published

PRINTED = published("bleu-splitting")
DIMENSIONS = {"G": "grammaticality", "M": "meaning", "S": "simplicity", "StS": "structural_simplicity"}
NTS = tuple(f"NTS-{beam}_{model}_model" for model in ("default", "w2v") for beam in ("h1", "h4"))
WITHOUT_SPLITS = (*NTS, "Moses", "SBMT-SARI", "Identity")
HSPLIT = ("HSplit1", "HSplit2", "HSplit3", "HSplit4")
AVERAGE = "HSplitAverage"
TWELVE = (*WITHOUT_SPLITS, *HSPLIT, AVERAGE)
SPLITTING = ("DSS", "DSS^m", "SEMoses", "SEMoses^m", "SEMoses_LM", "SEMoses_LM^m")
SENTENCE_METRICS = {
    "BLEU": "bleu(tokenize=none,lowercase=true)",
    "iBLEU": "ibleu(tokenize=none,lowercase=true)",
    "SARI": "sari(variant=xu)",
}
RATED = 70


@dataclass(frozen=True)
class Material:
    """The data of every table: the texts, tokenised as by the authors, and the sets as published."""

    judgements: Judgements
    seed: int
    source: list[str]
    one_reference: list[tuple[str, ...]]
    eight_references: list[tuple[str, ...]]
    outputs: dict[str, list[str]]
    hsplit_full: list[list[str]]
    legacy: EvalSet
    simple: EvalSet

    @cached_property
    def system_scores(self) -> dict[str, dict[str, float]]:
        """By metric and system."""
        source = self.source[:RATED]
        single, eight = self.one_reference[:RATED], self.eight_references[:RATED]
        copies = [(text,) for text in source]
        by_metric: dict[str, dict[str, float]] = {}
        for system in (*WITHOUT_SPLITS, *HSPLIT):
            outputs = self.outputs[system]
            of_source = bleu(copies, outputs)
            scores = {"BLEU-1ref": bleu(single, outputs), "BLEU-8ref": bleu(eight, outputs)}
            scores |= {f"i{name}": 0.9 * value - 0.1 * of_source for name, value in scores.items()}
            scores["-FK"] = -_corpus("fkgl", source, eight, outputs)
            scores["SARI-8ref"] = _corpus("sari(variant=xu)", source, eight, outputs)
            scores["-LDsc"] = -float(np.mean(distances(map(str.lower, source), map(str.lower, outputs))))
            for name, value in scores.items():
                by_metric.setdefault(name, {})[system] = value
        for by_system in by_metric.values():
            by_system[AVERAGE] = float(np.mean([by_system[name] for name in HSPLIT]))
        return by_metric


def run(options: RecipeOptions) -> list[Cell]:
    """Compute the cells of Tables 1 to 3 and of the numbers in the text."""
    material = _material(options)
    return [cell for table, build in TABLES.items() if options.wants(table) for cell in build(material)]


def conclusions(cells: Sequence[Cell]) -> list[str]:
    """Check the paper's conclusions against our own numbers."""
    ours = {(cell.table, cell.row, cell.column): cell.ours for cell in cells}
    lines = []
    bleu = [
        value
        for (table, row, column), value in ours.items()
        if table == "2" and row.startswith(("BLEU", "iBLEU")) and column.startswith(("S", "StS")) and value is not None
    ]
    if bleu:
        negative = sum(value < 0 for value in bleu)
        lines.append(f"BLEU and iBLEU correlate negatively with simplicity in {negative} of {len(bleu)} cells.")
    copying, splitting = (ours.get(("bleu", row, "1ref, first 70")) for row in ("Identity", "HSplit"))
    if copying is not None and splitting is not None:
        lines.append(f"Copying the source scores {copying:.2f} BLEU, splitting it by hand {splitting:.2f}.")
    return lines


def _material(options: RecipeOptions) -> Material:
    with require_package("reproduce bleu-splitting", package="sacremoses", extra="moses"):
        from sacremoses import MosesTokenizer
    moses = partial(MosesTokenizer(lang="en").tokenize, return_str=True, escape=True)
    legacy = data.load("turkcorpus/test-legacy", progress=options.progress)
    simple = data.load("turkcorpus/test-simplewiki", progress=options.progress)
    source = [moses(text) for text in data.load("turkcorpus/test-gem", progress=options.progress).sources]
    first70 = data.load("hsplit/first70", progress=options.progress)
    names = [system for system in (*WITHOUT_SPLITS, *SPLITTING) if system not in ("Identity", "SBMT-SARI")]
    published_outputs = data.outputs_of("hsplit/first70", names, progress=options.progress)
    outputs = {system: [text.strip() for text in texts] for system, texts in published_outputs.items()}
    sbmt = data.outputs("turkcorpus/test-legacy", "xu/SBMT-SARI", progress=options.progress)
    outputs["SBMT-SARI"] = [moses(text) for text in sbmt[:RATED]]
    outputs["Identity"] = source[:RATED]
    outputs |= {name: [row[number] for row in first70.references] for number, name in enumerate(HSPLIT)}
    splits = data.outputs_of("turkcorpus/test-gem", HSPLIT, progress=options.progress)
    return Material(
        load_ratings("acl2018", progress=options.progress),
        options.seed,
        source,
        [(moses(row[0]),) for row in simple.references],
        [tuple(map(moses, row)) for row in legacy.references],
        outputs,
        [list(splits[name]) for name in HSPLIT],
        legacy,
        simple,
    )


def _table1(paper: Material) -> list[Cell]:
    ours: Values = {}
    sound: Values = {}
    for values, count in ((ours, count_sentences), (sound, sentences.count)):
        for name, lines in zip(HSPLIT, paper.hsplit_full, strict=True):
            counts = np.array([count(line) for line in lines])
            values[name, "# Sents"] = float(counts.mean())
            values[name, "SplitSents (%)"] = float(100 * (counts > 1).mean())
        for column in PRINTED["1"]["columns"]:
            values[AVERAGE, column] = float(np.mean([values[name, column] for name in HSPLIT]))
    return cells_of(PRINTED, "1", ours, sound=sound)


_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.){2,}|(?:Dr|Mr|Mrs|Ms|St|vs)\.")


def count_sentences(line: str) -> int:
    """Count the sentences of a tokenised line as a Punkt model does."""
    words = line.split()
    ends = 0
    for word, following in itertools.pairwise(words):
        if word[-1] not in ".!?" or _ABBREVIATION.fullmatch(word):
            continue
        # A full stop attached to its word ends no sentence before a lowercase word; one that stands alone always does.
        ends += len(word) == 1 or not following[0].islower()
    return ends + 1


def _bleu(paper: Material) -> list[Cell]:
    ours: Values = {}
    sound: Values = {}
    for references, clean, label in (
        (paper.one_reference, paper.simple.references, "1ref"),
        (paper.eight_references, paper.legacy.references, "8ref"),
    ):
        for size, where in ((RATED, "first 70"), (len(paper.source), "all 359")):
            column = f"{label}, {where}"
            ours["Identity", column] = bleu(references[:size], paper.source[:size])
            by_hand = [bleu(references[:size], lines[:size]) for lines in paper.hsplit_full]
            ours["HSplit", column] = float(np.mean(by_hand))
            sound["Identity", column] = bleu(clean[:size], paper.legacy.sources[:size])
    return cells_of(PRINTED, "bleu", ours, sound=sound)


def bleu(references: Sequence[tuple[str, ...]], outputs: Sequence[str]) -> float:
    """Compute corpus BLEU as multi-bleu.perl -lc does."""
    return _corpus("bleu(variant=multi-bleu,lowercase=true)", [""] * len(outputs), references, outputs)


def _corpus(spec: str, source: Sequence[str], references: Sequence[tuple[str, ...]], outputs: Sequence[str]) -> float:
    metric = registry.metric(spec)
    rows = metric.measure(EvalSet.of(source, references=references), outputs)
    return float(metric.score(rows.sum(axis=0))[0])


def _table2(paper: Material) -> list[Cell]:
    ours: Values = {}
    notes: dict[tuple[str, str], str] = {}
    human = {name: _system_means(paper.judgements[dimension]) for name, dimension in DIMENSIONS.items()}
    for row, by_system in paper.system_scores.items():
        for name in DIMENSIONS:
            for suffix, systems in (("", WITHOUT_SPLITS), (", all", TWELVE)):
                x, y = ([values[system] for system in systems] for values in (by_system, human[name]))
                ours[row, name + suffix] = value = correlation(x, y, kind="spearman")
                side: Alternative = "greater" if value >= 0 else "less"
                notes[row, name + suffix] = f"one-sided p {p_value(x, y, kind='spearman', alternative=side):.2g}"
    return cells_of(PRINTED, "2", ours, notes=notes)


def _conservatism(paper: Material) -> list[Cell]:
    scores = paper.system_scores
    ours: Values = {}
    for row in ("BLEU-1ref", "BLEU-8ref"):
        for column, systems in (("without splits", WITHOUT_SPLITS), ("all", TWELVE)):
            pair = ([scores[name][system] for system in systems] for name in (row, "-LDsc"))
            ours[row, column] = correlation(*pair, kind="spearman")
    return cells_of(PRINTED, "conservatism", ours)


def distances(sources: Iterable[str], outputs: Iterable[str]) -> list[int]:
    """Return Levenshtein distances in characters."""
    return [Levenshtein.distance(*pair) for pair in zip(sources, outputs, strict=True)]


def _table3(paper: Material) -> list[Cell]:
    source = paper.source[:RATED] * len(SPLITTING)
    references = list(zip(*(lines[:RATED] for lines in paper.hsplit_full), strict=True)) * len(SPLITTING)
    outputs = [text for system in SPLITTING for text in paper.outputs[system]]
    evalset = EvalSet.of(source, references=references)
    scores = {"-LDsc": -np.array(distances(source, outputs), dtype=float)}
    for row, spec in SENTENCE_METRICS.items():
        metric = registry.metric(spec)
        scores[row] = metric.score(metric.measure(evalset, outputs))[:, 0]
    ours = {}
    for name, dimension in DIMENSIONS.items():
        human = paper.judgements[dimension].of_systems(SPLITTING).means.ravel()
        for row, values in scores.items():
            ours[row, name] = correlation(np.round(values, 9), human, kind="spearman")
    return cells_of(PRINTED, "3", ours)


def _splitting_systems(paper: Material) -> list[Cell]:
    references = list(zip(*(lines[:RATED] for lines in paper.hsplit_full), strict=True))
    scores = [bleu(references, paper.outputs[system]) for system in SPLITTING]
    ours = {
        ("BLEU", name): correlation(
            scores, paper.judgements[dimension].of_systems(SPLITTING).system_means, kind="spearman"
        )
        for name, dimension in DIMENSIONS.items()
    }
    return cells_of(PRINTED, "systems", ours)


def _deviations(paper: Material) -> list[Cell]:
    ours = {}
    for name, dimension in DIMENSIONS.items():
        ratings = paper.judgements[dimension]
        splits = ratings.of_systems(HSPLIT).means
        plain = ratings.of_systems(WITHOUT_SPLITS).means
        ours["six splitting systems", name] = float(ratings.of_systems(SPLITTING).means.std())
        ours["seven without splits", name] = float(plain.std())
        ours["all twelve", name] = float(np.concatenate([plain, splits, splits.mean(axis=0, keepdims=True)]).std())
    return cells_of(PRINTED, "sd", ours)


def _kappa(paper: Material) -> list[Cell]:
    ours, notes = {}, {}
    for name, dimension in DIMENSIONS.items():
        kappa = resampled_kappa(paper.judgements[dimension].matrix(), draws=1000, rng=np.random.default_rng(paper.seed))
        ours["resampled, quadratic", name] = kappa.median
        notes["resampled, quadratic", name] = f"±{kappa.margin:.3f}"
    return cells_of(PRINTED, "kappa", ours, notes=notes)


def _system_means(ratings: Ratings) -> dict[str, float]:
    means = {name: round(float(mean), 2) for name, mean in zip(ratings.systems, ratings.system_means, strict=True)}
    means[AVERAGE] = round(float(np.mean([means[name] for name in HSPLIT])), 2)
    return means


TABLES: dict[str, Callable[[Material], list[Cell]]] = {
    "1": _table1,
    "bleu": _bleu,
    "2": _table2,
    "conservatism": _conservatism,
    "3": _table3,
    "systems": _splitting_systems,
    "sd": _deviations,
    "kappa": _kappa,
}
