"""BLEU as sacrebleu computes it, on n-gram counts that are prepared once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.core.registry import choice
from plainly.metrics.means import CheckedMetric
from plainly.text import ngrams
from plainly.text.arrays import Ints
from plainly.text.ngrams import ORDER
from plainly.text.tokenise import TOKENISERS

Bools = npt.NDArray[np.bool_]

_PRECISIONS = tuple(f"precision{n}" for n in range(1, ORDER + 1))
ROW_WIDTH = 2 * ORDER + 2
_SMOOTHING_VALUES = {"none": 0.0, "exp": 0.0, "floor": 0.1, "add-k": 1.0}


@dataclass(frozen=True, repr=False)
class Bleu(CheckedMetric):
    """BLEU on 0–100, equal to sacrebleu's, with n-gram precisions, brevity penalty and lengths."""

    name: ClassVar[str] = "bleu"
    needs: ClassVar[Needs] = frozenset({"references"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("bleu", *_PRECISIONS, "brevity_penalty", "output_length", "reference_length")

    variant: Literal["sacrebleu", "multi-bleu"] = "sacrebleu"
    tokenize: str = "auto"
    lowercase: bool = False
    smooth: Literal["auto", "none", "exp", "floor", "add-k"] = "auto"
    smooth_value: float | None = None
    effective_order: bool = False
    max_order: int = ORDER

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(self.tokenize, ("auto", *TOKENISERS), parameter="tokenize")
        if not 1 <= self.max_order <= ORDER:
            raise BadSpec(f"max_order is between 1 and {ORDER}, not {self.max_order}.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("BLEU")
        tokenize = ("none" if self.variant == "multi-bleu" else "13a") if self.tokenize == "auto" else self.tokenize
        blocks = ngrams.prepared(evalset, tokenize=tokenize, lowercase=self.lowercase)
        return np.concatenate([_rows(block, outputs[block.start : block.stop]) for block in blocks])

    def score(self, totals: Floats) -> Floats:
        # The n-gram orders go first: what is added up over a short last axis takes several times as long.
        columns = np.ascontiguousarray(np.moveaxis(totals, -1, 0))
        correct, total = columns[:ORDER].copy(), columns[ORDER : 2 * ORDER].copy()
        output_length, reference_length = columns[-2], columns[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.exp(np.minimum(1 - reference_length / output_length, 0.0))
        penalty = np.where(output_length > 0, penalty, np.where(reference_length > 0, 0.0, 1.0))
        any_match = np.asarray(correct[: self.max_order].any(axis=0))
        precisions, defined = self._precisions(correct, total)
        orders = np.reshape(np.arange(ORDER) < self.max_order, (ORDER, *[1] * penalty.ndim))
        used = defined & orders if self.effective_order else orders
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(used, np.log(precisions), 0.0).sum(axis=0) / np.maximum(used.sum(axis=0), 1)
            bleu = np.where(any_match, penalty * np.exp(logs), 0.0)
        bleu = np.where(reference_length > 0, bleu, np.nan)
        precisions = np.where(any_match & orders, precisions, np.where(orders, 0.0, np.nan))
        return np.stack((bleu, *precisions, penalty, output_length, reference_length), axis=-1)

    def _precisions(self, correct: Floats, total: Floats) -> tuple[Floats, Bools]:
        """Smoothed precisions in percent, and which orders have any n-gram (Chen and Cherry 2014, methods 1 to 3)."""
        smooth = ("none" if self.variant == "multi-bleu" else "exp") if self.smooth == "auto" else self.smooth
        value = _SMOOTHING_VALUES[smooth] if self.smooth_value is None else self.smooth_value
        if smooth == "add-k":
            correct[1:] += value
            total[1:] += value
        defined = np.logical_and.accumulate(total > 0, axis=0)
        missed = defined & (correct == 0)
        numerator = correct
        if smooth == "exp" and missed.any():
            numerator = np.where(missed, 0.5 ** np.cumsum(missed, axis=0), correct)
        elif smooth == "floor":
            numerator = np.where(missed, value, correct)
        return np.divide(100.0 * numerator, total, out=np.zeros(np.shape(total)), where=defined), defined


def _rows(block: ngrams.Block, outputs: Sequence[str]) -> Floats:
    match = ngrams.match(block, outputs)
    correct = match.total(np.minimum(match.count, block.reference_most[match.where]))
    lengths = match.tokens.lengths
    total = np.maximum(lengths[:, None] - np.arange(ORDER), 0)
    both_lengths = np.stack((lengths, _closest(lengths, block.reference_lengths)), axis=1)
    return np.concatenate((correct, total, both_lengths), axis=1).astype(np.float64)


def _closest(lengths: Ints, reference_lengths: Ints) -> Ints:
    """The reference length nearest to each output's; the shorter of two equally near."""
    distance = 2 * np.abs(reference_lengths - lengths[:, None]) + (reference_lengths > lengths[:, None])
    distance[reference_lengths < 0] = np.iinfo(np.int64).max
    nearest: Ints = np.take_along_axis(reference_lengths, distance.argmin(axis=1)[:, None], axis=1)[:, 0]
    return nearest
