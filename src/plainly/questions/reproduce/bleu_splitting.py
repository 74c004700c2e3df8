"""Sulem et al. 2018, "BLEU is Not Suitable for the Evaluation of Text Simplification", computed again.

What the recipe had to find out:

- BLEU is multi-bleu on lowercase text. The references were tokenised again by Moses, which escapes quotes and keeps
  ``-lrb-``, while the source has "(": every bracket is a mismatch, which lowers what copying scores. ``ours`` has it,
  ``sound`` compares source and references in one tokenisation.
- System-level correlations are of human means rounded to two decimals; unrounded, near-ties order otherwise.
- SARI is the sentence mean of the authors' SARI.py (``xu``). No counter that was tried reproduces −FK.
- Sentences end at a mark at a word's end, as in Punkt, so that "later.This" is within one; ``sound`` splits it.
- The agreement of raters is reproduced for meaning only, whichever systems and rounding are taken.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from plainly import data, registry
from plainly.errors import MissingExtra
from plainly.evalset import EvalSet
from plainly.questions.reproduce.cells import Cell, RecipeOptions, cells_of, published
from plainly.ratings import Judgements
from plainly.ratings import load as load_ratings
from plainly.stats.agreement import resampled_kappa
from plainly.stats.correlate import Alternative, correlation, p_value
from plainly.stats.resample import Floats
from plainly.text import sentences

Values = dict[tuple[str, str], float]

DIMENSIONS = {"G": "grammaticality", "M": "meaning", "S": "simplicity", "StS": "structural_simplicity"}
WITHOUT_SPLITS = (
    "NTS-h1_default_model",
    "NTS-h4_default_model",
    "NTS-h1_w2v_model",
    "NTS-h4_w2v_model",
    "Moses",
    "SBMT-SARI",
    "Identity",
)
HSPLIT = ("HSplit1", "HSplit2", "HSplit3", "HSplit4")
AVERAGE = "HSplitAverage"
SPLITTING = ("DSS", "DSS^m", "SEMoses", "SEMoses^m", "SEMoses_LM", "SEMoses_LM^m")
RATED = 70


@dataclass(frozen=True)
class PaperTexts:
    """Everything that is scored, tokenised as the paper's authors had it; and the sets as they are published."""

    source: list[str]
    one_reference: list[tuple[str, ...]]
    eight_references: list[tuple[str, ...]]
    outputs: dict[str, list[str]]
    hsplit_full: list[list[str]]
    legacy: EvalSet
    simple: EvalSet


def run(options: RecipeOptions) -> list[Cell]:
    """The cells of Tables 1 to 3 and of the numbers in the text, or of those that were asked for."""
    printed = published("bleu-splitting")
    texts = _texts(options)
    judgements = load_ratings("acl2018", progress=options.progress)
    human = {name: _system_means(judgements, dimension) for name, dimension in DIMENSIONS.items()}
    cells: list[Cell] = []
    if options.wants("1"):
        cells += _table1(printed, texts)
    if options.wants("bleu"):
        cells += _bleu(printed, texts)
    if options.wants("2") or options.wants("conservatism"):
        cells += _table2(printed, texts, human, options)
    if options.wants("3"):
        cells += _table3(printed, texts, judgements)
    if options.wants("systems"):
        cells += _splitting_systems(printed, texts, judgements)
    if options.wants("sd"):
        cells += _deviations(printed, judgements)
    if options.wants("kappa"):
        cells += _kappa(printed, judgements, options.seed)
    return cells


def conclusions(cells: Sequence[Cell]) -> list[str]:
    """What the paper concludes, checked against our own numbers."""
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
    copying, splitting = (
        ours.get(("bleu", "Identity", "1ref, first 70")),
        ours.get(("bleu", "HSplit", "1ref, first 70")),
    )
    if copying is not None and splitting is not None:
        lines.append(f"Copying the source scores {copying:.2f} BLEU, splitting it by hand {splitting:.2f}.")
    return lines


@cache
def _tokenise() -> Any:
    try:
        from sacremoses import MosesTokenizer
    except ImportError:
        raise MissingExtra("reproduce bleu-splitting", package="sacremoses", extra="moses") from None
    tokenizer = MosesTokenizer(lang="en")
    return lambda text: str(tokenizer.tokenize(text, return_str=True, escape=True))


def _texts(options: RecipeOptions) -> PaperTexts:
    moses = _tokenise()
    legacy = data.load("turkcorpus/test-legacy", progress=options.progress)
    simple = data.load("turkcorpus/test-simplewiki", progress=options.progress)
    source = [moses(text) for text in data.load("turkcorpus/test-gem", progress=options.progress).sources]
    rated = data.load("hsplit/first70", progress=options.progress)
    wanted = [system for system in (*WITHOUT_SPLITS, *SPLITTING) if system not in ("Identity", "SBMT-SARI")]
    published_outputs = data.outputs_of("hsplit/first70", wanted, progress=options.progress)
    outputs = {system: [text.strip() for text in texts] for system, texts in published_outputs.items()}
    sbmt = data.outputs("turkcorpus/test-legacy", "xu/SBMT-SARI", progress=options.progress)
    outputs["SBMT-SARI"] = [moses(text) for text in sbmt[:RATED]]
    outputs["Identity"] = source[:RATED]
    outputs |= {name: [row[number] for row in rated.references] for number, name in enumerate(HSPLIT)}
    splits = data.outputs_of("turkcorpus/test-gem", HSPLIT, progress=options.progress)
    return PaperTexts(
        source,
        [(moses(row[0]),) for row in simple.references],
        [tuple(map(moses, row)) for row in legacy.references],
        outputs,
        [list(splits[name]) for name in HSPLIT],
        legacy,
        simple,
    )


def _table1(printed: dict[str, Any], texts: PaperTexts) -> list[Cell]:
    ours: Values = {}
    sound: Values = {}
    for values, count in ((ours, count_sentences), (sound, sentences.count)):
        for name, lines in zip(HSPLIT, texts.hsplit_full, strict=True):
            counts = np.array([count(line) for line in lines])
            values[name, "# Sents"] = float(counts.mean())
            values[name, "SplitSents (%)"] = float(100 * (counts > 1).mean())
        for column in printed["table1"]["columns"]:
            values[AVERAGE, column] = float(np.mean([values[name, column] for name in HSPLIT]))
    return cells_of(
        "1",
        printed["table1"],
        ours,
        decimals={"# Sents": 2, "SplitSents (%)": 0},
        tolerance=lambda column, _: 0.015 if column == "# Sents" else 1.0,
        recipe="a sentence ends at . ! ? at a word's end, but not in abbreviations and acronyms; split = more than one",
        sound=sound,
    )


_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.){2,}|(?:Dr|Mr|Mrs|Ms|St|vs)\.")


def count_sentences(line: str) -> int:
    """Sentences of a tokenised line, as a Punkt model finds them."""
    words = line.split()
    ends = 0
    for word, following in itertools.pairwise(words):
        if word[-1] not in ".!?" or _ABBREVIATION.fullmatch(word):
            continue
        # A stop that hangs on its word ends nothing if the text goes on in lowercase; one that stands alone does.
        ends += len(word) == 1 or not following[0].islower()
    return ends + 1


def _bleu(printed: dict[str, Any], texts: PaperTexts) -> list[Cell]:
    ours: Values = {}
    sound: Values = {}
    for references, clean, label in (
        (texts.one_reference, texts.simple.references, "1ref"),
        (texts.eight_references, texts.legacy.references, "8ref"),
    ):
        for size, where in ((RATED, "first 70"), (len(texts.source), "all 359")):
            column = f"{label}, {where}"
            ours["Identity", column] = bleu(references[:size], texts.source[:size])
            ours["HSplit", column] = float(
                np.mean([bleu(references[:size], lines[:size]) for lines in texts.hsplit_full])
            )
            sound["Identity", column] = bleu(clean[:size], texts.legacy.sources[:size])
    return cells_of(
        "bleu",
        printed["bleu"],
        ours,
        decimals=2,
        tolerance=lambda column, _: 0.1 if column.startswith("1ref") else 1.0,
        recipe="multi-bleu, lowercase; references retokenised by Moses (-lrb- kept), the source has '('",
        sound=sound,
    )


def bleu(references: Sequence[tuple[str, ...]], outputs: Sequence[str]) -> float:
    """Corpus BLEU as multi-bleu.perl -lc gives it."""
    return _corpus("bleu(variant=multi-bleu,lowercase=true)", [""] * len(outputs), references, outputs)


def _corpus(spec: str, source: Sequence[str], references: Sequence[tuple[str, ...]], outputs: Sequence[str]) -> float:
    metric = registry.metric(spec)
    rows = metric.measure(EvalSet.of(source, references=references), outputs)
    return float(metric.score(rows.sum(axis=0))[0])


def _segments(spec: str, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
    metric = registry.metric(spec)
    scores: Floats = metric.score(metric.measure(evalset, outputs))[:, 0]
    return scores


def _table2(
    printed: dict[str, Any], texts: PaperTexts, human: Mapping[str, Mapping[str, float]], options: RecipeOptions
) -> list[Cell]:
    scores = _system_scores(texts)
    ours: Values = {}
    notes: dict[tuple[str, str], str] = {}
    for row, by_system in scores.items():
        for name in DIMENSIONS:
            for suffix, systems in (("", WITHOUT_SPLITS), (", all", (*WITHOUT_SPLITS, *HSPLIT, AVERAGE))):
                x = [by_system[system] for system in systems]
                y = [human[name][system] for system in systems]
                ours[row, name + suffix] = value = correlation(x, y, kind="spearman")
                side: Alternative = "greater" if value >= 0 else "less"
                notes[row, name + suffix] = f"one-sided p {p_value(x, y, kind='spearman', alternative=side):.2g}"
    tolerances = {"SARI-8ref": 0.1, "-LDsc": 0.04}
    cells: list[Cell] = []
    for row in scores if options.wants("2") else ():
        cells += cells_of(
            "2",
            {"columns": printed["table2"]["columns"], row: printed["table2"][row]},
            ours,
            decimals=2,
            tolerance=tolerances.get(row, 0.015),
            recipe="Spearman over 7 and 12 systems, human means to two decimals; BLEU as above, iBLEU alpha .9, SARI "
            "xu, LD in characters of lowercase text, FK by plainly's fkgl",
            notes=notes,
        )
    if options.wants("conservatism"):
        values: Values = {}
        for row in printed["conservatism"]:
            if row != "columns":
                for column, systems in (
                    ("without splits", WITHOUT_SPLITS),
                    ("all", (*WITHOUT_SPLITS, *HSPLIT, AVERAGE)),
                ):
                    pair = ([scores[name][system] for system in systems] for name in (row, "-LDsc"))
                    values[row, column] = correlation(*pair, kind="spearman")
        cells += cells_of(
            "conservatism",
            printed["conservatism"],
            values,
            decimals=2,
            tolerance=0.06,
            recipe="Spearman of BLEU with −LD to the source, over systems",
        )
    return cells


def _system_scores(texts: PaperTexts) -> dict[str, dict[str, float]]:
    source = texts.source[:RATED]
    single, eight = texts.one_reference[:RATED], texts.eight_references[:RATED]
    copies = [(text,) for text in source]
    by_metric: dict[str, dict[str, float]] = {}
    for system in (*WITHOUT_SPLITS, *HSPLIT):
        outputs = texts.outputs[system]
        of_source = bleu(copies, outputs)
        scores = {"BLEU-1ref": bleu(single, outputs), "BLEU-8ref": bleu(eight, outputs)}
        scores |= {f"i{name}": 0.9 * value - 0.1 * of_source for name, value in scores.items()}
        scores["-FK"] = -_corpus("fkgl", source, eight, outputs)
        scores["SARI-8ref"] = _corpus("sari(variant=xu)", source, eight, outputs)
        scores["-LDsc"] = -float(np.mean(distances(source, outputs, lowercase=True)))
        for name, value in scores.items():
            by_metric.setdefault(name, {})[system] = value
    for by_system in by_metric.values():
        by_system[AVERAGE] = float(np.mean([by_system[name] for name in HSPLIT]))
    return by_metric


def distances(sources: Sequence[str], outputs: Sequence[str], *, lowercase: bool) -> list[int]:
    """Levenshtein distances in characters."""
    from rapidfuzz.distance import Levenshtein

    pairs = zip(sources, outputs, strict=True)
    return [Levenshtein.distance(a.lower(), b.lower()) if lowercase else Levenshtein.distance(a, b) for a, b in pairs]


def _table3(printed: dict[str, Any], texts: PaperTexts, judgements: Judgements) -> list[Cell]:
    source = texts.source[:RATED] * len(SPLITTING)
    references = list(zip(*(lines[:RATED] for lines in texts.hsplit_full), strict=True)) * len(SPLITTING)
    outputs = [text for system in SPLITTING for text in texts.outputs[system]]
    evalset = EvalSet.of(source, references=references)
    scores = {
        "BLEU": _segments("bleu(tokenize=none,lowercase=true)", evalset, outputs),
        "iBLEU": _segments("ibleu(tokenize=none,lowercase=true)", evalset, outputs),
        "SARI": _segments("sari(variant=xu)", evalset, outputs),
        "-LDsc": -np.array(distances(source, outputs, lowercase=False), dtype=float),
    }
    ours = {}
    for name, dimension in DIMENSIONS.items():
        human = judgements[dimension].of_systems(SPLITTING).means.ravel()
        for row, values in scores.items():
            ours[row, name] = correlation(np.round(values, 9), human, kind="spearman")
    return cells_of(
        "3",
        printed["table3"],
        ours,
        decimals=2,
        tolerance=0.01,
        recipe="Spearman over 420 outputs; SARI xu against the four HSplit references; LD in characters, cased; BLEU "
        "by sentence as sacrebleu smooths it (the paper's NLTK version is not known)",
    )


def _splitting_systems(printed: dict[str, Any], texts: PaperTexts, judgements: Judgements) -> list[Cell]:
    references = list(zip(*(lines[:RATED] for lines in texts.hsplit_full), strict=True))
    scores = [bleu(references, texts.outputs[system]) for system in SPLITTING]
    ours = {
        ("BLEU", name): correlation(scores, judgements[dimension].of_systems(SPLITTING).system_means, kind="spearman")
        for name, dimension in DIMENSIONS.items()
    }
    return cells_of(
        "systems",
        printed["systems"],
        ours,
        decimals=2,
        tolerance=0.05,
        recipe="Spearman over the six splitting systems, multi-bleu against the four HSplit references",
    )


def _deviations(printed: dict[str, Any], judgements: Judgements) -> list[Cell]:
    ours = {}
    for name, dimension in DIMENSIONS.items():
        ratings = judgements[dimension]
        splits = ratings.of_systems(HSPLIT).means
        plain = ratings.of_systems(WITHOUT_SPLITS).means
        ours["six splitting systems", name] = float(ratings.of_systems(SPLITTING).means.std())
        ours["seven without splits", name] = float(plain.std())
        ours["all twelve", name] = float(np.concatenate([plain, splits, splits.mean(axis=0, keepdims=True)]).std())
    return cells_of(
        "sd",
        printed["sd"],
        ours,
        decimals=2,
        tolerance=0.01,
        recipe="standard deviation of the mean ratings of all outputs; twelve = seven, four HSplit and their average",
    )


def _kappa(printed: dict[str, Any], judgements: Judgements, seed: int) -> list[Cell]:
    ours, notes = {}, {}
    for name, dimension in DIMENSIONS.items():
        kappa = resampled_kappa(judgements[dimension].matrix(), draws=1000, rng=np.random.default_rng(seed))
        ours["resampled, quadratic", name] = kappa.median
        notes["resampled, quadratic", name] = f"±{kappa.margin:.3f}"
    return cells_of(
        "kappa",
        printed["kappa"],
        ours,
        decimals=2,
        tolerance=0.01,
        recipe="one rater against the rounded mean of the two others, quadratic weights, 1,000 draws, all 32 systems",
        notes=notes,
    )


def _system_means(judgements: Judgements, dimension: str) -> dict[str, float]:
    ratings = judgements[dimension]
    means = {name: round(float(mean), 2) for name, mean in zip(ratings.systems, ratings.system_means, strict=True)}
    means[AVERAGE] = round(float(np.mean([means[name] for name in HSPLIT])), 2)
    return means
