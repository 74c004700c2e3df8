"""CEFR levels: how hard a text is for learners, from 1 (A1) to 6 (C2), and how far from the level that was asked for.

Two linear heads read what the encoder sees of every sentence: one a sentence, the other a text. The sentences of a text
for beginners are on average harder than the text, and those of a hard text easier. So the reading of a text with n
sentences is 1/n the average of its sentences' levels and the rest the level of the whole, which is read from what its
sentences have in common, longer sentences counting more. A text of one sentence is that sentence.

The three measures against a target are those of the TSAR 2025 shared task (Alva-Manchego et al. 2025): they compare
whole levels. There the surest of three classifiers decides; here one reader does.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, BadSpec, did_you_mean
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Metric, TargetKind, TextSource, ratio
from plainly.learned import encoder
from plainly.text.sentence_alignment import sentences_of
from plainly.text.syllables import count_rules
from plainly.text.words import words

LEVELS = ("A1", "A2", "B1", "B2", "C1", "C2")
FILE = "cefr.npz"
TARGET_COLUMNS = ("target", "target_cefr", "target_level", "cefr_target")
_AIMED = ("rmse", "adjacent", "f1", "bias", "cefr")
_CLASSES = len(LEVELS)
_SENTENCES_AT_ONCE = 4096
_syllables = lru_cache(maxsize=1 << 16)(count_rules)


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
        """The level of each text, of any length; what was read once is remembered."""

        def compute(chosen: list[int]) -> Floats:
            return self._levels([texts[at] for at in chosen])[:, None]

        weights = np.concatenate([self.sentence.weights, self.text.weights]).tobytes()
        heads = hashlib.blake2b(weights, digest_size=8).hexdigest()
        return self.model.remembered(f"cefr {heads}", texts, 1, compute)[:, 0]

    def _levels(self, texts: Sequence[str]) -> Floats:
        levels = np.full(len(texts), np.nan)
        for chosen, owners, features in self.features(texts):
            sizes = np.bincount(owners, minlength=len(chosen))
            single = np.bincount(owners, weights=self.sentence(features), minlength=len(chosen)) / np.maximum(sizes, 1)
            whole = self.text(averaged(features, owners, len(chosen)))
            share = 1 / np.maximum(sizes, 1)
            levels[chosen] = np.where(sizes == 0, np.nan, share * single + (1 - share) * whole)
        return levels

    def sentence_levels(self, texts: Sequence[str]) -> list[Floats]:
        """The level of each sentence of each text."""
        by_text: list[Floats] = [np.empty(0)] * len(texts)
        for chosen, owners, features in self.features(texts):
            levels = self.sentence(features)
            for at, place in enumerate(chosen):
                by_text[place] = levels[owners == at]
        return by_text

    def features(self, texts: Sequence[str]) -> Iterator[tuple[list[int], npt.NDArray[np.int64], Floats]]:
        """What is seen of the sentences of some texts at a time: the texts' places, the text of each sentence, and
        features; so few at a time that a corpus of long documents does not fill the memory."""
        for chosen, sentences in _blocks(texts):
            owners = np.array([at for at, of_text in enumerate(sentences) for _ in of_text], dtype=np.int64)
            flat = [sentence for of_text in sentences for sentence in of_text]
            if flat:
                yield chosen, owners, sentence_features(self.model, flat)


def sentence_features(model: encoder.Encoder, sentences: Sequence[str]) -> Floats:
    """The model's values and average vector of each sentence, and what can be counted, of which the first is words."""
    values, means = model.features(sentences)
    counted = np.array([_counted(sentence) for sentence in sentences])
    return np.concatenate([counted, values, means], axis=1)


def averaged(features: Floats, owners: npt.NDArray[np.int64], texts: int) -> Floats:
    """The average features of each text, every sentence weighing as much as it has words."""
    weights = features[:, 0]
    sums = np.zeros((texts, features.shape[1]))
    np.add.at(sums, owners, features * weights[:, None])
    return sums / np.maximum(np.bincount(owners, weights=weights, minlength=texts), 1)[:, None]


def load(model: str = encoder.SHIPPED) -> LevelReader:
    """The reader on the shipped encoder, or on one of your own for which ``plainly train cefr`` fitted heads."""
    loaded = encoder.load(model)
    path = encoder.directory(model) / FILE
    if not path.is_file():
        raise BadInput(
            f"The model {loaded.name!r} reads no CEFR levels: there is no {path}. Fit its heads: plainly train cefr "
            f"--output {path.parent}"
        )
    return LevelReader(loaded, *_heads(str(path), path.stat().st_mtime_ns))


def save(path: Path, reader: LevelReader) -> None:
    """Write the heads."""
    import io

    from plainly.core.files import write_whole

    content = io.BytesIO()
    heads = {"sentence": reader.sentence, "text": reader.text}
    np.savez(content, **{
        f"{name}_{field.name}": getattr(head, field.name).astype(np.float32)
        for name, head in heads.items()
        for field in fields(head)
    })  # fmt: skip
    write_whole(path, content.getvalue())


@lru_cache(maxsize=4)
def _heads(path: str, changed: int) -> tuple[Head, Head]:
    with np.load(path) as stored:
        numbers = {name: stored[name].astype(np.float64) for name in stored.files}
    sentence, text = (Head(numbers[f"{name}_weights"], numbers[f"{name}_bias"]) for name in ("sentence", "text"))
    return sentence, text


def _blocks(texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[str]]]]:
    """The sentences of some texts at a time, with the places of the texts."""
    chosen: list[int] = []
    block: list[list[str]] = []
    size = 0
    for place, text in enumerate(texts):
        of_text = [" ".join(sentence.text.split()) for sentence in sentences_of(text)]
        chosen.append(place)
        block.append(of_text)
        size += len(of_text)
        if size >= _SENTENCES_AT_ONCE:
            yield chosen, block
            chosen, block, size = [], [], 0
    if chosen:
        yield chosen, block


def _counted(sentence: str) -> tuple[float, ...]:
    """Words (1: as a weight), and how long the sentence and its words are."""
    found = words(sentence) or ["-"]
    n = len(found)
    characters = [len(word) for word in found]
    stops = sum(mark in ",;:" for mark in sentence)
    return (
        n,
        float(np.log(n)),
        (n / 20) ** 2,
        sum(characters) / n,
        sum(map(_syllables, found)) / n,
        max(characters) / 10,
        sum(length > 6 for length in characters) / n,
        stops**0.5,
        sum(word[0].isupper() for word in found[1:]) / n,
    )


class LevelMetric(Metric):
    """What metrics that read CEFR levels share: the target, and the measures against it."""

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
            object.__setattr__(self, "outputs", _AIMED)
            object.__setattr__(self, "better", "lower")
            object.__setattr__(self, "main_outputs", ("rmse", "adjacent", "f1", "cefr"))

    def for_evalset(self, evalset: TextSource) -> "LevelMetric":
        """The metric with the column that names a target for each item, where there is one and no other was given."""
        columns = evalset.columns
        if self.target is None:
            for name in TARGET_COLUMNS:
                if name in columns:
                    return replace(self, target=name)  # type: ignore[type-var]
        elif number_of(self.target) is None and self.target not in columns:
            raise BadSpec(
                f"{self.name}(target={self.target}) is neither a level ({', '.join(LEVELS)}) nor a column of the set."
                f"{did_you_mean(self.target, (*LEVELS, *columns))} Give one of the levels, or a table with that column."
            )
        return self

    @abstractmethod
    def read(self, texts: Sequence[str]) -> Floats:
        """The level of each text: what a metric of levels adds to what they share."""

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        level = self.read(outputs)
        known = ~np.isnan(level)
        level = np.where(known, level, 0.0)
        aimed = self.for_evalset(evalset)  # rows are the same whether or not somebody has asked before
        if aimed.target is None:
            return np.column_stack([level, known])
        target = aimed._targets(evalset)
        # Nothing written is as far from the target as a level can be.
        level = np.where(known, level, np.where(target > 3, 1.0, float(_CLASSES)))
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
        hits, estimated, true = (totals[..., 5 + at * _CLASSES : 5 + (at + 1) * _CLASSES] for at in range(3))
        # Weighted F1: each level's F1, weighted by how many items aim at it.
        of_level = np.nan_to_num(ratio(2 * hits, estimated + true))
        f1 = ratio((true * of_level).sum(axis=-1, keepdims=True), count)
        return np.concatenate([np.sqrt(squares), adjacent, f1, bias, level], axis=-1)

    def _targets(self, evalset: EvalSet) -> Floats:
        """The level that each item aims at: the same for all, or that of a column."""
        target = str(self.target)
        if number_of(target) is not None:
            return np.full(len(evalset), float(number_of(target) or 0))
        numbers = [number_of(cell) for cell in evalset.columns[target]]
        if None in numbers:
            item = numbers.index(None)
            raise BadInput(
                f"Item {evalset.ids[item]!r}: the column {target!r} holds {evalset.columns[target][item]!r}, which is "
                f"no CEFR level. Write {', '.join(LEVELS)}, or 1 to 6."
            )
        return np.array(numbers, dtype=np.float64)


@dataclass(frozen=True, repr=False)
class Cefr(LevelMetric):
    """CEFR level of the outputs, 1 (A1) to 6 (C2), sentences or longer texts; with a target, the distance from it.

    Without a target the score is the average level. With one (``target=B1``, or a column of the set that names a level
    for each item; a column called target or target_cefr is taken by itself) the headline is ``rmse``, the root of the
    mean squared distance between the level that was asked for and the level read, rounded to a whole one, so that
    nobody wins by being simpler than asked. ``adjacent`` is the share of items at most one level away, ``f1`` the F1 of
    levels weighted by how many items aim at each, ``bias`` how far the readings lie above (+) or below (−) the target
    before rounding.

    A text of several sentences is read as a whole: see docs/levels.md. It says nothing about meaning. A text without a
    word has no level; with a target it counts as far from it as can be.
    """

    target: str | None = None
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "cefr"
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    runs_first: ClassVar[bool] = True  # its vectors bring the values that sle asks for

    def read(self, texts: Sequence[str]) -> Floats:
        return load(self.model).levels(texts)


def number_of(level: str) -> int | None:
    """B1 as 3, in any case; a number from 1 to 6 as itself; None for anything else."""
    text = str(level).strip().upper()
    if text in LEVELS:
        return LEVELS.index(text) + 1
    return int(float(text)) if text in {*"123456", *(f"{n}.0" for n in range(1, 7))} else None
