"""CEFR levels: how hard a text is for learners, from 1 (A1) to 6 (C2), and how far from the level that was asked for.

The three measures against a target are those of the TSAR 2025 shared task (Alva-Manchego et al. 2025): they compare
whole levels. There the surest of three classifiers decides; here one reader does (``levels``).
"""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadInput, BadSpec, did_you_mean
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.learned import encoder, levels
from plainly.learned.levels import LEVELS
from plainly.metrics.means import CheckedMetric, ratio

TARGET_COLUMNS = ("target", "target_cefr", "target_level", "cefr_target")
_AIMED = ("rmse", "adjacent", "f1", "bias", "cefr")
_CLASSES = len(LEVELS)


class LevelMetric(CheckedMetric):
    """What metrics that read CEFR levels share: the target, and the measures against it."""

    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "neither"
    outputs: ClassVar[tuple[str, ...]] = ("cefr",)
    batch_tolerance: ClassVar[float] = 1e-3  # how far a score may depend on the texts scored with it
    target: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is not None:
            object.__setattr__(self, "outputs", _AIMED)
            object.__setattr__(self, "better", "lower")

    @property
    def shown(self) -> tuple[str, ...]:
        """What tables show."""
        return self.outputs if self.target is None else ("rmse", "adjacent", "f1", "cefr")

    def for_set(self, columns: Collection[str]) -> "LevelMetric":
        """The metric with the column that names a target for each item, where there is one and no other was given."""
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
        aimed = self.for_set(evalset.columns)  # rows are the same whether or not somebody has asked before
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
    """CEFR level of the outputs, 1 (A1) to 6 (C2), sentences or longer texts; with a target, the distance from it."""

    target: str | None = None
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "cefr"
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    reads_most: ClassVar[bool] = True  # vectors, and on the way the values that sle asks for

    def read(self, texts: Sequence[str]) -> Floats:
        return levels.load(self.model).levels(texts)


def number_of(level: str) -> int | None:
    """B1 as 3, in any case; a number from 1 to 6 as itself; None for anything else."""
    text = str(level).strip().upper()
    if text in LEVELS:
        return LEVELS.index(text) + 1
    return int(float(text)) if text in {*"123456", *(f"{n}.0" for n in range(1, 7))} else None
