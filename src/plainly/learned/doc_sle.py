"""SLE on documents: the sentences' levels averaged, how far they spread, and how many are as simple as asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.learned import encoder
from plainly.learned.sentence_levels import sentence_levels
from plainly.metrics.means import CheckedMetric, mean_rows, means


@dataclass(frozen=True, repr=False)
class DocSle(CheckedMetric):
    """Simplicity of documents (after Cripwell et al. 2023): the average SLE of their sentences, 0 (advanced) to 4."""

    level: float = 2.0
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "doc-sle"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source", "spread", "above")
    shown: ClassVar[tuple[str, ...]] = ("delta", "output", "spread", "above")
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    batch_tolerance: ClassVar[float] = 1e-3  # how far a score may depend on the texts scored with it

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isfinite(self.level):
            raise BadSpec(f"doc-sle(level=…) is a level on the scale 0–4, not {self.level}.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        key = ("doc-sle", self.model, self.level)
        source = evalset.prepare(key, lambda evalset: self._read(evalset.sources))[:, 0]
        level, spread, above = self._read(outputs).T
        blank = np.isnan(level)  # As in sle: nothing written is the hardest level, and the largest loss.
        delta = np.where(blank & ~np.isnan(source), -4.0, np.maximum(level - source, -4.0))
        return mean_rows(delta, np.where(blank, 0.0, level), source, spread, np.where(blank, 0.0, above))

    def score(self, totals: Floats) -> Floats:
        return means(totals)

    def _read(self, texts: Sequence[str]) -> Floats:
        """Of each text the average level of its sentences, its spread, and the share at the level or simpler."""
        read = np.full((len(texts), 3), np.nan)
        for row, levels in zip(read, sentence_levels(encoder.load(self.model), texts), strict=True):
            if len(levels):
                row[:] = levels.mean(), levels.std(), (levels >= self.level).mean()
        return read
