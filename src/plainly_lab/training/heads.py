"""The fitted heads of ``quality``: linear, increasing in every term, over a finished model's values and measurements.

The encoder learned from ratings of older systems. Ratings of modern outputs are few, so only a handful of weights is
fitted to them: each part is a ridge regression that is held to the model's own head, on several sets at once, each with
its own mean. Weights are never negative, so that more of what was lost cannot raise a part. A least-squares fit shrinks
everything towards the mean; the result is scaled to the mean and spread of the model's own head, so that scores keep
their scale. A minute on a CPU, without PyTorch; readings are cached, so a repeated command starts from them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import read_whole, write_whole
from plainly.core.formatting import number
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.learned import encoder
from plainly.learned.measurements import MEASUREMENTS, measure_pairs
from plainly.learned.quality import load_judge, read_pairs
from plainly_lab.training.documents import plain
from plainly_lab.training.pairs import HEADS, RATINGS, JudgedPairs, load_reworded
from plainly_lab.training.recipe import JudgeRecipe, PartRecipe

REWORDED = "reworded"  # the pairs written for this project
_FOLDS = 6
_FILES = ("model.onnx", "tokenizer.json", "CARD.md")


@dataclass(frozen=True)
class RatedValues:
    """A rated set as the heads see it: what the model and the measurements say of each pair, and the ratings."""

    values: Mapping[str, Floats]
    ratings: Mapping[str, Floats]  # by head, NaN where there is none
    sources: npt.NDArray[np.str_]

    @classmethod
    def of(cls, model: encoder.Encoder, pairs: JudgedPairs) -> RatedValues:
        readings = read_pairs(model, EvalSet.of(pairs.sources), pairs.outputs).values
        values = dict(zip(model.heads, readings.T, strict=True))
        values |= zip(MEASUREMENTS, measure_pairs(pairs.sources, pairs.outputs).T, strict=True)
        sources = np.array([plain(source) for source in pairs.sources])
        return cls(values, dict(zip(HEADS, pairs.targets.T, strict=True)), sources)


@dataclass(frozen=True, repr=False)
class HeadFit(Result):
    """The fitted heads, and their agreement with ratings of sources that they were not fitted on."""

    output: Path
    parts: Mapping[str, Any]
    agreement: tuple[Mapping[str, Any], ...]  # part, set, pairs, pearson of the model's head and of the fitted one

    def records(self) -> list[Record]:
        return [dict(row) for row in self.agreement]

    def json(self) -> Record:
        return {"schema": "plainly.train-heads/1", "parts": dict(self.parts), "agreement": self.records()}

    def tables(self) -> list[Table]:
        rows = tuple(
            (row["part"], row["set"], str(row["pairs"]), number(row["model"], 3), number(row["fitted"], 3))
            for row in self.agreement
        )
        return [Table(("part", "set", "pairs", "the model's head", "fitted, other sources"), rows)]

    def notes(self) -> list[Note]:
        text = "Pearson with people; each pair is estimated by heads that were fitted without its source."
        return [Note(text), Note(f"Use it: plainly score -m 'quality(model={self.output})'", "claim")]


def read_ratings(path: str | Path) -> JudgedPairs:
    """Read a file of ratings: JSON lines with source, output and fluency, meaning or simplicity from 0 to 100.

    Several lines of one pair, such as those of several raters, are averaged.
    """
    by_pair: dict[tuple[str, str], list[list[float]]] = {}
    for place, line in enumerate(read_whole(path).decode("utf-8").splitlines(), start=1):
        try:
            entry = json.loads(line)
            ratings = [float(entry.get(head, np.nan)) / 100 for head in HEADS]
            if any(rating < 0 or rating > 1 for rating in ratings):
                raise ValueError("ratings are from 0 to 100; map other scales to that")
            by_pair.setdefault((entry["source"], entry["output"]), []).append(ratings)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise BadInput(
                f"Line {place} of {path} is not a rating ({error!r}). Each line is a JSON object with source, output, "
                "and fluency, meaning or simplicity from 0 to 100."
            ) from None
    if not by_pair:
        raise BadInput(f"{path} has no ratings.")
    sources, outputs = zip(*by_pair, strict=True)
    return JudgedPairs(sources, outputs, np.array([np.mean(ratings, axis=0) for ratings in by_pair.values()]))


def fit_heads(
    model: str | Path,
    *,
    recipe: JudgeRecipe,
    ratings: Mapping[str, str | Path],
    output: str | Path | None = None,
    progress: Progress = no_progress,
) -> HeadFit:
    """Fit the parts of a recipe to a finished model, and write the model with them to ``output`` (default: in place).

    ``ratings`` are files of ratings by the name that the recipe has for them, for sets that no card describes.
    """
    judge, source = load_judge(str(model)), encoder.directory(str(model))
    directory = Path(output or source)
    names = dict.fromkeys([*(name for part in recipe.parts.values() for name in part.sets), *recipe.ratings])
    sets: dict[str, RatedValues] = {}
    with progress("reading rated pairs", total=len(names), unit="sets") as tell:
        for name in names:
            sets[name] = RatedValues.of(judge, _load(name, ratings))
            tell(1)
    scale = [name for name in sets if name != REWORDED]
    parts = {part: _fit(part, settings, sets, scale) for part, settings in recipe.parts.items()}
    agreement = [
        {"part": part, "set": name, **_cross_validate(part, settings, sets, name)}
        for part, settings in recipe.parts.items()
        for name in settings.sets
        if name != REWORDED
    ]
    facts = json.loads((source / "model.json").read_text(encoding="utf-8"))
    own = {part: np.concatenate([sets[name].values[part] for name in scale]) for part in recipe.powers}
    averages = {part: round(float(values.mean()), 4) for part, values in own.items() if part not in parts}
    combination = {"powers": dict(recipe.powers), "gain": 0.0, "parts": parts, "averages": averages}
    facts |= {"name": directory.name, "combination": combination, "data": list(dict.fromkeys([*facts["data"], *scale]))}
    directory.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        if directory.resolve() != source.resolve() and (source / name).is_file():
            shutil.copyfile(source / name, directory / name)
    write_whole(directory / "model.json", f"{json.dumps(facts, indent=2, ensure_ascii=False)}\n")
    return HeadFit(directory, parts, tuple(agreement))


def _load(name: str, files: Mapping[str, str | Path]) -> JudgedPairs:
    if name == REWORDED:
        return load_reworded()
    if name in files:
        return read_ratings(files[name])
    if name not in RATINGS:
        raise BadInput(f"The recipe fits heads to {name!r}, which plainly cannot fetch. Pass it: --ratings {name}=FILE")
    from plainly import data

    return RATINGS[name](data.table(name))


def _fit(part: str, settings: PartRecipe, sets: Mapping[str, RatedValues], scale: list[str]) -> Record:
    """Return the entry of a part in model.json."""
    weights = _fit_weights(part, settings, [(sets[name], share) for name, share in settings.sets.items()])
    columns = np.concatenate([_columns(settings, sets[name].values) for name in scale])
    own = np.concatenate([sets[name].values[part] for name in scale])
    weights = weights * own.std() / (columns @ weights).std()
    terms = {
        term: {"weight": round(float(weight), 4), "average": round(float(average), 4)}
        | ({"most": settings.most[term]} if term in settings.most else {})
        for term, weight, average in zip(settings.terms, weights, columns.mean(axis=0), strict=True)
    }
    pairs = {name: int(np.isfinite(sets[name].ratings[part]).sum()) for name in settings.sets}
    return {"average": round(float(own.mean()), 4), "terms": terms, "pairs": pairs}


def _columns(settings: PartRecipe, values: Mapping[str, Floats]) -> Floats:
    return np.column_stack([np.minimum(values[term], settings.most.get(term, np.inf)) for term in settings.terms])


def _fit_weights(
    part: str, settings: PartRecipe, sets: list[tuple[RatedValues, float]], without: frozenset[str] = frozenset()
) -> Floats:
    """Fit weights that are not negative, on several sets with shares and a mean each, without some sources."""
    from scipy.optimize import nnls

    matrices, targets = [], []
    for rated, share in sets:
        is_used = np.isfinite(rated.ratings[part]) & ~np.isin(rated.sources, list(without))
        columns, ratings = _columns(settings, rated.values)[is_used], rated.ratings[part][is_used]
        matrices.append((columns - columns.mean(axis=0)) * np.sqrt(share / len(ratings)))
        targets.append((ratings - ratings.mean()) * np.sqrt(share / len(ratings)))
    spread = np.concatenate([_columns(settings, rated.values) for rated, _ in sets]).std(axis=0) + 1e-6
    ridge = np.sqrt(settings.ridge) * np.diag(spread)
    matrix = np.concatenate([*matrices, ridge])
    goal = np.concatenate([*targets, ridge @ np.array(list(settings.terms.values()), dtype=float)])
    weights: Floats = nnls(matrix, goal)[0]
    return weights


def _cross_validate(part: str, settings: PartRecipe, sets: Mapping[str, RatedValues], name: str) -> Record:
    """Return the agreement on one set of the model's head and of heads that were fitted without the pair's source."""
    rated = sets[name]
    sources = np.unique(rated.sources)
    order = np.random.default_rng(0).permutation(len(sources))
    estimates = np.empty(len(rated.sources))
    columns = _columns(settings, rated.values)
    everything = [(sets[other], share) for other, share in settings.sets.items()]
    for fold in np.array_split(order, _FOLDS):
        is_out = np.isin(rated.sources, sources[fold])
        weights = _fit_weights(part, settings, everything, frozenset(sources[fold].tolist()))
        estimates[is_out] = (columns[is_out] - columns[~is_out].mean(axis=0)) @ weights
    ratings = rated.ratings[part]
    is_rated = np.isfinite(ratings)
    model, fitted = (
        float(np.corrcoef(values[is_rated], ratings[is_rated])[0, 1]) for values in (rated.values[part], estimates)
    )
    return {"pairs": int(is_rated.sum()), "model": model, "fitted": fitted}
