"""How much of the meaning is kept: as the judge reads source and output together, or by matching tokens.

``variant=tokens`` matches every token with the most similar token of the other text: the matching of BERTScore (Zhang
et al. 2019) on the small encoder that plainly ships. Its vectors come from a middle layer that training held to the
original sentence encoder, so they still tell what words mean in context. Published BERTScore numbers come from other
encoders and cannot be compared with it; ``bertscore`` is for those.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats
from plainly.learned import encoder, judge, score_cache
from plainly.learned.encoder import Encoder, Vectors
from plainly.learned.reading import ReadingMetric, rows

Variant = Literal["tokens", "judge"]
DEFAULT: Variant = "judge"  # chosen by how well each agrees with people: docs/learned-metrics.md
_MODELS = {"tokens": encoder.SHIPPED, "judge": encoder.JUDGE}
_OUTPUTS = {"tokens": ("f1", "precision", "recall"), "judge": ("meaning",)}
_PAIRS_AT_ONCE = 2000  # whose vectors are in memory together
_KEPT = 10_000  # vectors of sources or references: some 50 KB each
_ROWS_AT_ONCE = 512  # tokens compared with another text's: bounds the memory that two long texts take


@dataclass(frozen=True, repr=False)
class Meaning(ReadingMetric):
    """How much of the source's meaning the output keeps, 0–100, averaged over items: by matching tokens (precision,
    recall and F1), or as the judge reads both."""

    variant: Variant = DEFAULT
    against: Literal["source", "references"] = "source"
    model: str = _MODELS[DEFAULT]

    name: ClassVar[str] = "meaning"
    outputs: ClassVar[tuple[str, ...]] = _OUTPUTS[DEFAULT]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "judge" and self.against == "references":
            raise BadSpec(
                "meaning(variant=judge) reads the output beside its source. "
                "To compare with references, match tokens: meaning(variant=tokens,against=references)"
            )
        if self.model == _MODELS[DEFAULT]:
            object.__setattr__(self, "model", _MODELS[self.variant])
        object.__setattr__(self, "needs", frozenset({self.against}))
        object.__setattr__(self, "outputs", _OUTPUTS[self.variant])

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        if self.variant == "judge":
            model = judge.load(self.model)
            readings = judge.judged(model, evalset, outputs)
            return rows(100 * readings.values[:, model.heads.index("meaning")], pieces=readings.pieces)
        if self.against == "references":
            evalset.require_references("meaning(against=references)")
        others = evalset.references if self.against == "references" else [(source,) for source in evalset.sources]
        pairs = [(output, other) for output, row in zip(outputs, others, strict=True) for other in row]
        kept: dict[str, Vectors] = evalset.prepare(("meaning", self.model, self.against), lambda _: {})
        matched = iter(_matches(encoder.load(self.model), pairs, kept))
        best = [max((next(matched) for _ in row), key=_first) for row in others]
        values = np.array(best, dtype=np.float64).reshape(len(outputs), 4)
        return rows(*100 * values[:, :3].T, pieces=values[:, 3])


def _first(scores: Floats) -> float:
    return -1.0 if np.isnan(scores[0]) else float(scores[0])


def _matches(model: Encoder, pairs: Sequence[tuple[str, str]], kept: dict[str, Vectors]) -> Floats:
    """For each pair of an output and another text F1, precision and recall, and in how many pieces the longer one was
    read. ``kept`` holds vectors of the other texts, which the next system is compared with too."""

    def compute(chosen: Sequence[int]) -> Floats:
        values = []
        for start in range(0, len(chosen), _PAIRS_AT_ONCE):
            block = [pairs[at] for at in chosen[start : start + _PAIRS_AT_ONCE]]
            texts = [text for text in dict.fromkeys(text for pair in block for text in pair) if text not in kept]
            vectors = {**kept, **dict(zip(texts, model.vectors(texts), strict=True))}
            if len(kept) < _KEPT:
                kept.update((other, vectors[other]) for _, other in block)
            for output, other in ((vectors[output], vectors[other]) for output, other in block):
                pieces = -(-max(len(output), len(other)) // (model.longest - 2))
                values.append((*match(output, other), pieces))
        return np.array(values)

    keys = [f"{output}\x1e{other}" for output, other in pairs]
    return score_cache.remembered(f"match {model.identity}", keys, 4, compute)


def match(output: Vectors, other: Vectors) -> tuple[float, float, float]:
    """F1, precision and recall of greedy matching between two sets of unit vectors (Zhang et al. 2019, Eq. 1–3)."""
    if not len(output) and not len(other):
        return np.nan, np.nan, np.nan
    if not len(output) or not len(other):
        return 0.0, 0.0, 0.0
    similar = [output[at : at + _ROWS_AT_ONCE] @ other.T for at in range(0, len(output), _ROWS_AT_ONCE)]
    precision = float(np.concatenate([block.max(axis=1) for block in similar]).mean())
    recall = float(np.max([block.max(axis=0) for block in similar], axis=0).mean())
    both = precision + recall
    return (2 * precision * recall / both if both > 0 else 0.0), precision, recall
