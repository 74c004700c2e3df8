"""The heads that read CEFR levels, fitted to a finished encoder in minutes, on a CPU, without torch.

The sentence head learns from sentences whose level people rated: the Wiki-Auto part of CEFR-SP and ReadMe++. The text
head learns from stretches of three to ten sentences of OneStopEnglish, whose elementary, intermediate and advanced
articles are taken to stand between A2 and B1, B1 and B2, B2 and C1: 2.5, 3.5 and 4.5. Both are ridge regressions; their
readings are then spread as widely as the levels, because a least-squares fit squeezes everything to the middle.
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
from plainly.learned.cefr import FILE, Head, LevelReader, averaged, save, sentence_features
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
    """The head that says these values; ``ridge`` weighs its squared coefficients beside the summed squared errors.

    Every feature is brought to unit variance first.
    """
    weights = np.ones(len(values)) if weights is None else weights
    centre, spread = np.average(features, axis=0, weights=weights), features.std(axis=0) + 1e-6
    scaled, mean = (features - centre) / spread, np.average(values, weights=weights)
    products = (scaled * weights[:, None]).T @ scaled
    products[np.diag_indices_from(products)] += ridge
    slopes = np.linalg.solve(products, (scaled * weights[:, None]).T @ (values - mean)) / spread
    return Head(slopes, np.array(mean - slopes @ centre))


@dataclass(frozen=True, repr=False)
class LevelFit(Result):
    """Heads that were fitted, where they lie, and how well they read sentences that they did not learn from."""

    output: Path
    checks: tuple[Mapping[str, Any], ...]  # of each set: set, items, pearson, slope, rmse

    def records(self) -> list[Record]:
        return [dict(check) for check in self.checks]

    def json(self) -> Record:
        return {"schema": "plainly.train-cefr/1", "output": str(self.output), "checks": self.records()}

    def tables(self) -> list[Table]:
        header = ("read on", "items", "pearson", "slope", "rmse")
        rows = tuple(
            (str(check["set"]), str(check["items"]), *(f"{check[name]:.3f}" for name in header[2:]))
            for check in self.checks
        )
        return [Table(header, rows)]

    def notes(self) -> list[Note]:
        return [Note(f"Wrote {self.output}. The slope is that of the reading on the true level: 1 squeezes nothing.")]


@dataclass(frozen=True)
class _Rated:
    """Sentences with levels: from which set and part, and what the encoder sees of them."""

    names: npt.NDArray[np.str_]
    parts: npt.NDArray[np.str_]
    levels: Floats
    features: Floats
    values: slice  # where among the features the model's own values stand

    def of(self, part: str, *names: str) -> npt.NDArray[np.bool_]:
        chosen: npt.NDArray[np.bool_] = (self.parts == part) & np.isin(self.names, names)
        return chosen


def fit_levels(output: str | Path, *, progress: Progress = no_progress) -> LevelFit:
    """Fit both heads to the model in the directory ``output`` (or a shipped model's name) and write them there."""
    place = encoder.directory(str(output))
    model = encoder.load(str(place))
    with progress("reading sentences", total=2, unit="sets") as tell:
        rated = _rated(model)
        tell(1)
        stretches = _stretches(model)
        tell(1)
    reader = LevelReader(model, _sentence_head(rated), _text_head(model, *stretches))
    save(place / FILE, reader)
    return LevelFit(place / FILE, tuple(_checks(reader, rated)))


def _rated(model: encoder.Encoder) -> _Rated:
    from plainly import data

    rows: list[tuple[str, str, str, float]] = []
    for name in (*_RATED, "cefr-sp/score"):  # the last is only read: its licence forbids commercial use
        table = data.table(name)
        twice = "level_a" in table.columns
        levels = [(a + b) / 2 for a, b in zip(table["level_a"], table["level_b"], strict=True)] if twice else None
        for at, sentence in enumerate(table["sentence"]):
            text = close_up(sentence) if twice else sentence
            rows.append((name, table["part"][at], text, levels[at] if levels else table["level"][at]))
    names, parts, sentences, numbers = zip(*rows, strict=True)
    features = sentence_features(model, sentences)
    values = slice(_vector(model, features) - len(model.heads), _vector(model, features))
    return _Rated(np.array(names), np.array(parts), np.array(numbers, dtype=np.float64), features, values)


def _vector(model: encoder.Encoder, features: Floats) -> int:
    """Where among the features of sentences the average vector begins; the model's values stand before it."""
    return features.shape[1] - model.width


def _sentence_head(rated: _Rated) -> Head:
    learnt = rated.of("train", *_RATED)
    weights = np.array([_WEIGHTS.get(str(name), 0.0) for name in rated.names])[learnt]
    ridge = np.full(rated.features.shape[1], _SENTENCE_RIDGE)
    ridge[rated.values] = _VALUES_RIDGE
    head = fit_ridge(rated.features[learnt], rated.levels[learnt], ridge, weights)
    stretches = [
        rated.levels[chosen].std() / head(rated.features[chosen]).std()
        for chosen in (rated.of("dev", name) for name in _RATED)
    ]
    centre = float(np.average(rated.levels[learnt], weights=weights))
    return _spread(head, float(np.mean(stretches)), centre, centre)


def _stretches(model: encoder.Encoder) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Average features of stretches of articles, their levels, and which the encoder has not been trained on."""
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
        places = list(document)
        start, stop = places[0], places[-1] + 1
        while start < stop:
            end = min(start + int(rng.integers(_SHORTEST, _LONGEST + 1)), stop)
            if end - start >= _SHORTEST:
                owners[start:end] = len(levels)
                levels.append(float(levelled.levels[start]))
                fresh.append(levelled.articles[start] in unseen_articles)
            start = end
    used = owners >= 0
    return averaged(features[used], owners[used], len(levels)), np.array(levels), np.array(fresh)


def _text_head(model: encoder.Encoder, features: Floats, levels: Floats, fresh: npt.NDArray[np.bool_]) -> Head:
    """A ridge on the average vectors of training articles, joined with the model's own estimate on the others.

    The estimate has learnt the training articles and would look too good there.
    """
    width = features.shape[1]
    vector = _vector(model, features)
    seen = ~fresh
    first = fit_ridge(features[seen, vector:], levels[seen], _TEXT_RIDGE)
    estimate = vector - len(model.heads) + model.heads.index("sle")
    both = np.column_stack([first(features[fresh, vector:]), features[fresh, estimate]])
    last = fit_ridge(both, levels[fresh], _LAST_RIDGE)
    weights = np.zeros(width)
    weights[vector:] = last.weights[0] * first.weights
    weights[estimate] += last.weights[1]
    head = Head(weights, last.bias + last.weights[0] * first.bias)
    readings = head(features[fresh])
    return _spread(head, levels[fresh].std() / readings.std(), float(readings.mean()), float(levels[fresh].mean()))


def _spread(head: Head, stretch: float, centre: float, level: float) -> Head:
    """The head stretched about a reading, which becomes this level."""
    return Head(head.weights * stretch, (head.bias - centre) * stretch + level)


def _checks(reader: LevelReader, rated: _Rated) -> Iterator[Record]:
    wiki, readme = _RATED
    sets = {
        "CEFR-SP dev": ("dev", wiki, "cefr-sp/score"),
        "CEFR-SP test": ("test", wiki, "cefr-sp/score"),
        "CEFR-SP test, Wiki-Auto": ("test", wiki),
        "CEFR-SP test, SCoRE": ("test", "cefr-sp/score"),
        "ReadMe++ dev": ("dev", readme),
        "ReadMe++ test": ("test", readme),
    }
    for name, (which, *names) in sets.items():
        chosen = rated.of(which, *names)
        yield check(name, reader.sentence(rated.features[chosen]), rated.levels[chosen])


def check(name: str, readings: Floats, levels: Floats) -> Record:
    """How readings agree with true levels."""
    spread = np.cov(readings, levels)
    return {
        "set": name,
        "items": len(levels),
        "pearson": float(np.corrcoef(readings, levels)[0, 1]),
        "slope": float(spread[0, 1] / spread[1, 1]),
        "rmse": float(np.sqrt(np.mean((readings - levels) ** 2))),
    }
