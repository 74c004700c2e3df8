"""CEFR levels: how hard a text is for learners, from 1 (A1) to 6 (C2), and how far it is from a target level.

Two linear heads read the encoder's features of every sentence: one for a sentence, the other for a text. The sentences
of a text for beginners are on average harder than the text, and those of a hard text easier. So the level of a text
with n sentences is 1/n the average level of its sentences and the rest the level of the whole, which is computed from
the average features of its sentences, weighted by their length. A text of one sentence has the level of that sentence.

The three measures against a target are those of the TSAR 2025 shared task (Alva-Manchego et al. 2025): they compare
whole levels. There the most confident of three classifiers decides; here one model does.
"""

import hashlib
import io
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, BadSpec, did_you_mean
from plainly.core.evalset import EvalSet
from plainly.core.files import write_whole
from plainly.core.metric import Better, Floats, Metric, TargetKind, TextSource, ratio
from plainly.learned import encoder
from plainly.text.syllables import count_rules
from plainly.text.words import words

LEVELS = ("A1", "A2", "B1", "B2", "C1", "C2")
FILE = "cefr.npz"
TARGET_COLUMNS = ("target", "target_cefr", "target_level", "cefr_target")
_CLASSES = len(LEVELS)
_count_syllables = lru_cache(maxsize=1 << 16)(count_rules)


@dataclass(frozen=True)
class Head:
    """A linear function of features."""

    weights: Floats
    bias: Floats

    def __call__(self, features: Floats) -> Floats:
        level: Floats = features @ self.weights + self.bias
        return level


@dataclass(frozen=True)
class LevelReader:
    """The two heads on an encoder: levels from 1 (A1) to 6 (C2), not cut off at the ends; NaN without a word."""

    model: encoder.Encoder
    sentence: Head
    text: Head

    def levels(self, texts: Sequence[str]) -> Floats:
        """Return the level of each text, of any length, from the cache where it is there."""
        weights = np.concatenate([self.sentence.weights, self.text.weights]).tobytes()
        heads = hashlib.blake2b(weights, digest_size=8).hexdigest()
        return self.model.look_up(f"cefr {heads}", texts, 1, self._compute)[:, 0]

    def _compute(self, texts: list[str]) -> Floats:
        return np.concatenate([self._read(block) for block in encoder.split_sentences(texts)])[:, None]

    def _read(self, texts: list[list[str]]) -> Floats:
        """Return the levels of texts that were split into sentences."""
        sizes = [len(sentences) for sentences in texts]
        if not any(sizes):
            return np.full(len(texts), np.nan)
        owners = np.repeat(np.arange(len(texts)), sizes)
        features = sentence_features(self.model, list(chain.from_iterable(texts)))
        return self._combine(features, owners, len(texts))

    def _combine(self, features: Floats, owners: npt.NDArray[np.int64], texts: int) -> Floats:
        """Return the levels of texts from the features of their sentences; a sentence with owner −1 has no text."""
        features, owners = features[owners >= 0], owners[owners >= 0]
        sizes = np.bincount(owners, minlength=texts)
        share = 1 / np.maximum(sizes, 1)
        sums = np.bincount(owners, weights=self.sentence(features), minlength=texts)
        whole = self.text(average_features(features, owners, texts))
        return np.where(sizes == 0, np.nan, share * (sums / np.maximum(sizes, 1)) + (1 - share) * whole)

    def levels_of_parts(
        self, sentences: Sequence[str], owners: Sequence[npt.NDArray[np.int64]], sizes: Sequence[int]
    ) -> tuple[Floats, list[Floats]]:
        """Return the level of each sentence and, in one pass, those of the larger texts that own the sentences.

        Each entry of ``owners`` has the number of the text that a sentence belongs to (−1: none), and ``sizes`` how
        many texts there are: paragraphs and whole documents, for instance.
        """
        features = sentence_features(self.model, sentences)
        return self.sentence(features), [
            self._combine(features, of, size) for of, size in zip(owners, sizes, strict=True)
        ]


def sentence_features(model: encoder.Encoder, sentences: Sequence[str]) -> Floats:
    """Return counts (the first is words), the model's values and the average vector of each sentence."""
    values, vectors = model.features(sentences)
    return np.concatenate([np.array(list(map(_count, sentences))), values, vectors], axis=1)


def average_features(features: Floats, owners: npt.NDArray[np.int64], texts: int) -> Floats:
    """Return the average features of each text; sentences are weighted by their words."""
    weights = features[:, 0]
    sums = np.zeros((texts, features.shape[1]))
    np.add.at(sums, owners, features * weights[:, None])
    return sums / np.maximum(np.bincount(owners, weights=weights, minlength=texts), 1)[:, None]


def load(model: str = encoder.SHIPPED) -> LevelReader:
    """Load the heads of the shipped encoder, or of one for which ``plainly train cefr`` fitted heads."""
    reader = encoder.load(model)
    path = encoder.directory(model) / FILE
    if not path.is_file():
        raise BadInput(
            f"The model {reader.name!r} has no heads for CEFR levels: there is no {path}. Fit them: plainly train cefr "
            f"--output {path.parent}"
        )
    return LevelReader(reader, *_load_heads(str(path), path.stat().st_mtime_ns))


def save(path: Path, reader: LevelReader) -> None:
    """Write the heads."""
    heads = {"sentence": reader.sentence, "text": reader.text}
    arrays = {f"{name}_{part}": value for name, head in heads.items() for part, value in vars(head).items()}
    content = io.BytesIO()
    np.savez(content, **{name: value.astype(np.float32) for name, value in arrays.items()})
    write_whole(path, content.getvalue())


@lru_cache(maxsize=4)
def _load_heads(path: str, modified: int) -> list[Head]:
    with np.load(path) as file:
        return [
            Head(*(file[f"{name}_{part}"].astype(np.float64) for part in ("weights", "bias")))
            for name in ("sentence", "text")
        ]


def _count(sentence: str) -> tuple[float, ...]:
    """Return the number of words (at least 1, as a weight), and how long the sentence and its words are."""
    tokens = words(sentence) or ["-"]
    n = len(tokens)
    characters = [len(word) for word in tokens]
    stops = sum(mark in ",;:" for mark in sentence)
    return (
        n,
        float(np.log(n)),
        (n / 20) ** 2,
        sum(characters) / n,
        sum(map(_count_syllables, tokens)) / n,
        max(characters) / 10,
        sum(length > 6 for length in characters) / n,
        stops**0.5,
        sum(word[0].isupper() for word in tokens[1:]) / n,
    )


class LevelMetric(Metric):
    """A metric of CEFR levels: the target, and the measures against it."""

    better: ClassVar[Better] = "neither"
    outputs: ClassVar[tuple[str, ...]] = ("cefr",)
    learned: ClassVar[bool] = True
    batch_tolerance: ClassVar[float] = 1e-3
    reads_columns: ClassVar[bool] = True
    target_kind: ClassVar[TargetKind] = "level"
    target: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is not None:
            object.__setattr__(self, "outputs", ("rmse", "adjacent", "f1", "bias", "cefr"))
            object.__setattr__(self, "better", "lower")
            object.__setattr__(self, "main_outputs", ("rmse", "adjacent", "f1", "cefr"))

    def for_evalset(self, evalset: TextSource) -> "LevelMetric":
        """Return the metric with the column that names a target for each item, unless it has a target."""
        columns = evalset.columns
        if self.target is None:
            if column := next((name for name in TARGET_COLUMNS if name in columns), None):
                return replace(self, target=column)  # type: ignore[type-var]
        elif number_of(self.target) is None and self.target not in columns:
            raise BadSpec(
                f"{self.name}(target={self.target}) is neither a level ({', '.join(LEVELS)}) nor a column of the set."
                f"{did_you_mean(self.target, (*LEVELS, *columns))} Pass one of the levels, or a table with that column."
            )
        return self

    @abstractmethod
    def read(self, texts: Sequence[str]) -> Floats:
        """Return the level of each text."""

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        level = self.read(outputs)
        has_level = ~np.isnan(level)
        metric = self.for_evalset(evalset)  # rows are the same whether or not the caller has done this
        if metric.target is None:
            return np.column_stack([np.where(has_level, level, 0.0), has_level])
        target = metric._targets(evalset)
        # An empty output is as far from the target as a level can be.
        level = np.where(has_level, level, np.where(target > 3, 1.0, float(_CLASSES)))
        whole = np.clip(np.floor(level + 0.5), 1, _CLASSES)
        numbers = np.arange(1, _CLASSES + 1)
        is_whole, is_target = ((values[:, None] == numbers) for values in (whole, target))
        return np.column_stack(
            [
                *(level, np.ones(len(level)), (whole - target) ** 2, np.abs(whole - target) <= 1, level - target),
                *(is_whole & is_target, is_whole, is_target),
            ]
        ).astype(np.float64)

    def score(self, totals: Floats) -> Floats:
        count = totals[..., 1:2]
        if self.target is None:
            return ratio(totals[..., :1], count)
        level, squares, adjacent, bias = (ratio(totals[..., at : at + 1], count) for at in (0, 2, 3, 4))
        hits, estimates, truth = (totals[..., 5 + at * _CLASSES : 5 + (at + 1) * _CLASSES] for at in range(3))
        # Weighted F1: each level's F1, weighted by how many items aim at it.
        by_level = np.nan_to_num(ratio(2 * hits, estimates + truth))
        f1 = ratio((truth * by_level).sum(axis=-1, keepdims=True), count)
        return np.concatenate([np.sqrt(squares), adjacent, f1, bias, level], axis=-1)

    def _targets(self, evalset: EvalSet) -> Floats:
        """Return the target level of each item: the same for all, or that of a column."""
        target = str(self.target)
        if number := number_of(target):
            return np.full(len(evalset), float(number))
        numbers = [number_of(cell) for cell in evalset.columns[target]]
        if None in numbers:
            item = numbers.index(None)
            raise BadInput(
                f"Item {evalset.ids[item]!r}: {evalset.columns[target][item]!r} in the column {target!r} is not a CEFR "
                f"level. Write {', '.join(LEVELS)}, or 1 to 6."
            )
        return np.array(numbers, dtype=np.float64)


@dataclass(frozen=True, repr=False)
class Cefr(LevelMetric):
    """CEFR level of the outputs, 1 (A1) to 6 (C2), sentences or longer texts; with a target, the distance from it.

    Without a target the score is the average level. With one (``target=B1``, or a column of the set that names a level
    for each item; a column called target or target_cefr is used automatically) the headline is ``rmse``, the root mean
    squared distance between the target and the estimated level, rounded to a whole level, so that being simpler than
    the target does not help. ``adjacent`` is the share of items at most one level away, ``f1`` the F1 of levels
    weighted by how many items aim at each, ``bias`` how far the estimates lie above (+) or below (−) the target before
    rounding.

    A text of several sentences is read as a whole: see docs/levels.md. It does not measure meaning. A text without a
    word has no level; with a target it counts as far from it as possible.
    """

    target: str | None = None
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "cefr"
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    runs_first: ClassVar[bool] = True  # it leaves the values that sle needs in the cache

    def read(self, texts: Sequence[str]) -> Floats:
        return load(self.model).levels(texts)


def number_of(level: str) -> int | None:
    """Return B1, in any case, as 3, a number from 1 to 6 as itself, and None for anything else."""
    text = str(level).strip().upper()
    if text in LEVELS:
        return LEVELS.index(text) + 1
    return int(float(text)) if text in {*"123456", *(f"{n}.0" for n in range(1, 7))} else None
