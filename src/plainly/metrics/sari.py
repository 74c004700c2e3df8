"""SARI, as its implementations count it: one name, nine formulas, each a named variant.

SARI (Xu et al. 2016) rewards n-grams that are added, kept and deleted as the references do. The paper left room, and
implementations filled it differently: what counts as correct, at which level averages are taken, what 0/0 is, and how
text is tokenised. The same output differs by up to 30 points. Here each is a parameter; ``plainly metrics sari
--explain`` shows them side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.files import read_shipped
from plainly.core.metric import Better, Floats, Needs
from plainly.core.registry import choice
from plainly.metrics import sari_counts as counts
from plainly.metrics.means import CheckedMetric, ratio
from plainly.text import ngrams
from plainly.text.ngrams import ORDER
from plainly.text.tokenise import TOKENISERS

Variant = Literal["easse", "star", "xu", "xu-modified", "hf", "t2t", "joshua", "d-sari", "d-sari-paper"]
OPERATIONS = ("add", "keep", "delete")


@dataclass(frozen=True)
class VariantRules:
    """What a variant fixes, as ``sari.toml`` says."""

    level: Literal["corpus", "sentence"]
    delete: str
    tokenize: str
    why: str
    blank_token: bool = False
    raw_source: bool = False


VARIANTS = {name: VariantRules(**rules) for name, rules in read_shipped(__file__, "sari.toml").items()}
_PARTS = tuple(
    f"{operation}{n}{suffix}" for operation in OPERATIONS for n in range(1, ORDER + 1) for suffix in ("", "_p", "_r")
)


@dataclass(frozen=True, repr=False)
class Sari(CheckedMetric):
    """SARI on 0–100, with add, keep and delete, and each of them for n = 1 to 4 with precision (_p) and recall (_r)."""

    name: ClassVar[str] = "sari"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("sari", *OPERATIONS, *_PARTS)
    shown: ClassVar[tuple[str, ...]] = ("sari", *OPERATIONS)

    variant: Variant = "easse"
    delete: Literal["auto", "f1", "precision"] = "auto"
    average: Literal["scores", "paper"] = "scores"
    tokenize: str = "auto"
    lowercase: bool = True
    reference_count: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(self.tokenize, ("auto", *TOKENISERS), parameter="tokenize")
        if self.average == "paper" and self.variant not in ("easse", "star"):
            raise BadSpec(f"average=paper is defined for easse and star, not for {self.variant}.")
        if self.delete == "f1" and self.variant in ("hf", "t2t", "joshua"):
            raise BadSpec(f"delete=f1 is not defined for {self.variant}, which scores deletions by precision.")
        if self.reference_count < 0:
            raise BadSpec("reference_count is 0 (as many as there are) or the number to count.")

    @property
    def counts_references(self) -> npt.NDArray[np.bool_] | None:
        """Which columns of a row count every reference, so that with half of them they are half as large."""
        if self.variant not in ("easse", "star"):
            return None
        return np.array([name != "add" for name in OPERATIONS for _ in range(3 * ORDER)] + [False])

    @property
    def _deletes_by_precision(self) -> bool:
        return (VARIANTS[self.variant].delete if self.delete == "auto" else self.delete) == "precision"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rules = VARIANTS[self.variant]
        evalset.require_references("SARI")
        blocks = ngrams.prepared(
            evalset,
            tokenize=rules.tokenize if self.tokenize == "auto" else self.tokenize,
            lowercase=self.lowercase,
            blank_token=rules.blank_token,
            raw_source=rules.raw_source,
        )
        rows = [self._block_rows(evalset, block, outputs[block.start : block.stop]) for block in blocks]
        return np.concatenate([np.append(block, np.ones((len(block), 1)), axis=1) for block in rows])

    def score(self, totals: Floats) -> Floats:
        if VARIANTS[self.variant].level == "sentence":
            return ratio(totals[..., :-1], totals[..., -1:])
        by_order = totals[..., :-1].reshape(*totals.shape[:-1], len(OPERATIONS), ORDER, 3)
        if self.variant == "joshua":
            parts = counts.joshua_parts(by_order)
        else:
            parts = counts.count_parts(by_order, precision_only=self._deletes_by_precision)
        paper = self.average == "paper"
        operations = (
            counts.paper_average(parts, self._deletes_by_precision) if paper else _mean_of_orders(parts[..., 0])
        )
        scores = _assemble(parts, operations)
        scores[totals[..., -1] == 0] = np.nan
        return scores

    def _block_rows(self, evalset: EvalSet, block: ngrams.Block, outputs: Sequence[str]) -> Floats:
        match = ngrams.match(block, outputs)
        side = counts.ReferenceSide(block, self.reference_count)
        if VARIANTS[self.variant].level == "corpus":
            measure = counts.joshua_counts if self.variant == "joshua" else counts.easse_counts
            return measure(match, side).reshape(len(block), 9 * ORDER)
        if self.variant == "t2t":
            parts = counts.t2t_parts(match, side)
        else:
            modified, as_hf = self.variant == "xu-modified", self.variant == "hf"
            spurious = counts.spurious_additions(evalset, block, outputs) if modified else 0.0
            precision_only = self._deletes_by_precision
            parts = counts.xu_parts(match, side, precision_only=precision_only, as_hf=as_hf, spurious=spurious)
        operations = parts[..., 0].mean(axis=-1)
        if self.variant.startswith("d-sari"):
            exact = self.variant == "d-sari-paper"
            operations = operations * counts.document_penalties(evalset, block, outputs, exact=exact)
        return _assemble(parts, operations)


def _mean_of_orders(scores: Floats) -> Floats:
    """The mean over a short last axis, which NumPy's own takes several times as long for."""
    return np.asarray(sum(np.moveaxis(scores, -1, 0)) / ORDER)


def _assemble(parts: Floats, operations: Floats) -> Floats:
    """From (…, operation, order, [score, precision, recall]) to the metric's outputs, on 0–100."""
    sari = operations.mean(axis=-1, keepdims=True)
    flat = parts.reshape(*parts.shape[:-3], 9 * ORDER)
    return np.asarray(100 * np.concatenate((sari, operations, flat), axis=-1))
