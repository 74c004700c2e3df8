"""The heads that estimate CEFR levels, fitted to a finished encoder: minutes on a CPU, without PyTorch.

The sentence head learns from sentences whose level people rated: the Wiki-Auto part of CEFR-SP and ReadMe++. The text
head learns from stretches of three to ten sentences of OneStopEnglish, whose elementary, intermediate and advanced
articles are assumed to lie between A2 and B1, B1 and B2, B2 and C1: 2.5, 3.5 and 4.5. Both are ridge regressions; their
estimates are then spread as widely as the levels, because a least-squares fit shrinks everything towards the mean.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.learned import encoder
from plainly.learned.cefr import FILE, Head, LevelReader, average_features, save, sentence_features
from plainly_lab.training.documents import close_up, cut_sentences, split_by_article
from plainly_lab.training.recipe import Recipe

_RATED = ("cefr-sp/wiki-auto", "readme/english")
_ARTICLES = "onestopenglish/texts"
_ANCHORS = {"elementary": 2.5, "intermediate": 3.5, "advanced": 4.5}
# Chosen on the development parts and, for texts, on TSAR's trial part.
_SENTENCE_RIDGE, _TEXT_RIDGE, _LAST_RIDGE = 5000.0, 300.0, 1.0
_VALUES_RIDGE = 50.0  # of the model's own values among the features of a sentence
_SHORTEST, _LONGEST = 3, 10
_WEIGHTS = {"cefr-sp/wiki-auto": 1.0, "readme/english": 0.5}


def fit_ridge(features: Floats, values: Floats, ridge: float | Floats, weights: Floats | None = None) -> Head:
    """Fit a head to these values; ``ridge`` weights its squared coefficients against the summed squared errors.

    Every feature is scaled to unit variance first.
    """
    weights = np.ones(len(values)) if weights is None else weights
    centre, spread = np.average(features, axis=0, weights=weights), features.std(axis=0) + 1e-6
    units, mean = (features - centre) / spread, np.average(values, weights=weights)
    products = (units * weights[:, None]).T @ units
    products[np.diag_indices_from(products)] += ridge
    slopes = np.linalg.solve(products, (units * weights[:, None]).T @ (values - mean)) / spread
    return Head(slopes, np.array(mean - slopes @ centre))


@dataclass(frozen=True, repr=False)
class LevelFit(Result):
    """The file of the heads, and how well they estimate the levels of sentences that they did not learn from."""

    output: Path
    checks: tuple[Mapping[str, Any], ...]  # of each set: set, items, pearson, slope, rmse

    def records(self) -> list[Record]:
        return [dict(check) for check in self.checks]

    def json(self) -> Record:
        return {"schema": "plainly.train-cefr/1", "output": str(self.output), "checks": self.records()}

    def tables(self) -> list[Table]:
        measures = ("pearson", "slope", "rmse")
        rows = tuple(
            (str(check["set"]), str(check["items"]), *(f"{check[name]:.3f}" for name in measures))
            for check in self.checks
        )
        return [Table(("tested on", "items", *measures), rows)]

    def notes(self) -> list[Note]:
        return [Note(f"Wrote {self.output}. The slope of the estimate on the true level is 1 without shrinkage.")]


@dataclass(frozen=True)
class RatedFeatures:
    """The features of sentences with levels, and the set and part of each."""

    names: npt.NDArray[np.str_]
    parts: npt.NDArray[np.str_]
    levels: Floats
    features: Floats
    values: slice  # the columns of the model's own values

    def select(self, part: str, *names: str) -> Any:
        """Return a mask of the sentences of a part of some sets."""
        return (self.parts == part) & np.isin(self.names, names)


def fit_levels(output: str | Path, *, progress: Progress = no_progress) -> LevelFit:
    """Fit both heads to the model in the directory ``output`` (or a shipped model's name) and write them there."""
    directory = encoder.directory(str(output))
    model = encoder.load(str(directory))
    with progress("reading sentences", total=2, unit="sets") as tell:
        sentences = _rated_features(model)
        tell(1)
        text_head = _fit_text_head(model, *_stretches(model))
        tell(1)
    reader = LevelReader(model, fit_sentence_head(sentences), text_head)
    save(directory / FILE, reader)
    return LevelFit(directory / FILE, tuple(_checks(reader, sentences)))


def _rated_features(model: encoder.Encoder) -> RatedFeatures:
    from plainly import data

    rows: list[tuple[str, str, str, float]] = []
    for name in (*_RATED, "cefr-sp/score"):  # the last is only for checks: its licence forbids commercial use
        table = data.table(name)
        texts: list[Any] = table["sentence"]
        levels: Any = table.columns.get("level")
        if "level_a" in table.columns:
            texts = list(map(close_up, texts))
            levels = [(a + b) / 2 for a, b in zip(table["level_a"], table["level_b"], strict=True)]
        rows += [(name, *row) for row in zip(table["part"], texts, levels, strict=True)]
    names, parts, sentences, numbers = zip(*rows, strict=True)
    features = sentence_features(model, sentences)
    vector = features.shape[1] - model.width
    values = slice(vector - len(model.heads), vector)
    return RatedFeatures(np.array(names), np.array(parts), np.array(numbers, dtype=np.float64), features, values)


def fit_sentence_head(sentences: RatedFeatures) -> Head:
    """Fit the head of sentences on training parts, and spread it as widely as the levels of development parts."""
    train = sentences.select("train", *_RATED)
    weights = np.array([_WEIGHTS.get(str(name), 0.0) for name in sentences.names])[train]
    ridge = np.full(sentences.features.shape[1], _SENTENCE_RIDGE)
    ridge[sentences.values] = _VALUES_RIDGE
    head = fit_ridge(sentences.features[train], sentences.levels[train], ridge, weights)
    factors = [
        sentences.levels[dev].std() / head(sentences.features[dev]).std()
        for dev in (sentences.select("dev", name) for name in _RATED)
    ]
    centre = float(np.average(sentences.levels[train], weights=weights))
    return _spread(head, float(np.mean(factors)), centre, centre)


def _stretches(model: encoder.Encoder) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return average features of stretches of articles, their levels, and which the encoder was not trained on."""
    from plainly import data

    table = data.table(_ARTICLES)
    levelled = cut_sentences(table["article"], table["level"], table["text"], scale=_ANCHORS)
    recipe = Recipe.read("shipped")
    parts = split_by_article(levelled, valid=recipe.valid, test=recipe.test, seed=recipe.seed)
    unseen_articles = {*parts.valid.articles, *parts.test.articles}
    features = sentence_features(model, levelled.sentences)
    rng = np.random.default_rng(recipe.seed)
    owners = np.full(len(levelled), -1)
    levels: list[float] = []
    fresh: list[bool] = []
    for _, document in groupby(range(len(levelled)), key=levelled.documents.__getitem__):
        indices = list(document)
        start, stop = indices[0], indices[-1] + 1
        while start < stop:
            end = min(start + int(rng.integers(_SHORTEST, _LONGEST + 1)), stop)
            if end - start >= _SHORTEST:
                owners[start:end] = len(levels)
                levels.append(float(levelled.levels[start]))
                fresh.append(levelled.articles[start] in unseen_articles)
            start = end
    has_owner = owners >= 0
    return average_features(features[has_owner], owners[has_owner], len(levels)), np.array(levels), np.array(fresh)


def _fit_text_head(model: encoder.Encoder, features: Floats, levels: Floats, fresh: npt.NDArray[np.bool_]) -> Head:
    """Fit a ridge on the average vectors of training articles, then mix in the model's own estimate on the others.

    The model was trained on the training articles, so its estimate would look too good there.
    """
    vector = features.shape[1] - model.width
    first = fit_ridge(features[~fresh, vector:], levels[~fresh], _TEXT_RIDGE)
    estimate = vector - len(model.heads) + model.heads.index("sle")
    both = np.column_stack([first(features[fresh, vector:]), features[fresh, estimate]])
    last = fit_ridge(both, levels[fresh], _LAST_RIDGE)
    weights = np.zeros(features.shape[1])
    weights[vector:] = last.weights[0] * first.weights
    weights[estimate] += last.weights[1]
    head = Head(weights, last.bias + last.weights[0] * first.bias)
    estimates = head(features[fresh])
    return _spread(head, levels[fresh].std() / estimates.std(), float(estimates.mean()), float(levels[fresh].mean()))


def _spread(head: Head, factor: float, centre: float, level: float) -> Head:
    """Multiply the distances of estimates from ``centre``, which becomes ``level``."""
    return Head(head.weights * factor, (head.bias - centre) * factor + level)


def _checks(reader: LevelReader, sentences: RatedFeatures) -> Iterator[Record]:
    wiki, readme = _RATED
    sets = {
        "CEFR-SP dev": ("dev", wiki, "cefr-sp/score"),
        "CEFR-SP test": ("test", wiki, "cefr-sp/score"),
        "CEFR-SP test, Wiki-Auto": ("test", wiki),
        "CEFR-SP test, SCoRE": ("test", "cefr-sp/score"),
        "ReadMe++ dev": ("dev", readme),
        "ReadMe++ test": ("test", readme),
    }
    for name, (part, *names) in sets.items():
        mask = sentences.select(part, *names)
        yield check(name, reader.sentence(sentences.features[mask]), sentences.levels[mask])


def check(name: str, estimates: Floats, levels: Floats) -> Record:
    """Return how well estimates agree with true levels."""
    spread = np.cov(estimates, levels)
    return {
        "set": name,
        "items": len(levels),
        "pearson": float(np.corrcoef(estimates, levels)[0, 1]),
        "slope": float(spread[0, 1] / spread[1, 1]),
        "rmse": float(np.sqrt(np.mean((estimates - levels) ** 2))),
    }
