"""How much of the meaning is kept: every token is matched with the most similar token of the other text.

This is the matching of BERTScore (Zhang et al. 2019) on the small encoder that plainly ships. Its vectors come from a
middle layer that training held to the original sentence encoder, so they still tell what words mean in context.
Published BERTScore numbers come from other encoders and cannot be compared with it; ``bertscore`` is for those.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.evalset import EvalSet
from plainly.metrics.learned import encoder
from plainly.metrics.learned.encoder import Vectors
from plainly.metrics.means import CheckedMetric, ratio
from plainly.protocol import Better, Floats, Needs


@dataclass(frozen=True, repr=False)
class Meaning(CheckedMetric):
    """Token-matching precision, recall and F1 between output and source (or references), 0–100, averaged over items."""

    against: Literal["source", "references"] = "source"
    model: str = encoder.SHIPPED

    name: ClassVar[str] = "meaning"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall")
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    batch_tolerance: ClassVar[float] = 1e-3  # how far a score may depend on the texts scored with it

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "needs", frozenset({self.against}))

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        model = encoder.load(self.model)
        if self.against == "references":
            evalset.require_references("meaning(against=references)")

        def build(evalset: EvalSet) -> list[list[Vectors]]:
            """All texts in one go, and back in their rows."""
            texts = evalset.references if self.against == "references" else [[text] for text in evalset.sources]
            flat = iter(model.vectors([text for row in texts for text in row]))
            return [[next(flat) for _ in row] for row in texts]

        known = evalset.prepare(("meaning", self.model, self.against), build)
        rows = np.zeros((len(outputs), 4))
        for at, (output, others) in enumerate(zip(model.vectors(outputs), known, strict=True)):
            candidates = [match(output, other) for other in others]
            best = max(candidates, key=lambda scores: -1.0 if np.isnan(scores[0]) else scores[0])
            if not np.isnan(best[0]):
                rows[at] = (*best, 1.0)
        return rows

    def score(self, totals: Floats) -> Floats:
        return 100 * ratio(totals[..., :3], totals[..., 3:])


def match(output: Vectors, other: Vectors) -> tuple[float, float, float]:
    """F1, precision and recall of greedy matching between two sets of unit vectors (Zhang et al. 2019, Eq. 1–3)."""
    if not len(output) and not len(other):
        return np.nan, np.nan, np.nan
    if not len(output) or not len(other):
        return 0.0, 0.0, 0.0
    similar = output @ other.T
    precision, recall = float(similar.max(axis=1).mean()), float(similar.max(axis=0).mean())
    both = precision + recall
    return (2 * precision * recall / both if both > 0 else 0.0), precision, recall
