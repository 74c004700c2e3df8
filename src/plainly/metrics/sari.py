"""SARI, as its implementations count it: one name, nine formulas, each a named variant.

SARI (Xu et al. 2016) rewards n-grams that are added, kept and deleted as the references do. The paper left room, and
implementations filled it differently: what counts as correct, at which level averages are taken, what 0/0 is, and how
text is tokenised. The same output differs by up to 30 points. Here each is a parameter; ``plainly metrics sari
--explain`` shows them side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plainly.errors import BadSpec
from plainly.evalset import EvalSet
from plainly.metrics import sari_counts as counts
from plainly.protocol import Better, Floats, Metric, Needs
from plainly.registry import choice
from plainly.text import ngrams
from plainly.text.ngrams import ORDER
from plainly.text.tokenise import TOKENISERS

Variant = Literal["easse", "star", "xu", "xu-modified", "hf", "t2t", "joshua", "d-sari"]
OPERATIONS = ("add", "keep", "delete")


@dataclass(frozen=True)
class VariantRules:
    """What a variant fixes; ``level`` says whether counts are summed over the corpus or scores over sentences."""

    level: Literal["corpus", "sentence"]
    delete: str
    tokenize: str
    lowercase: bool
    blank_token: bool = False  # an empty text is one empty token, as str.split(" ") has it
    raw_source: bool = False
    why: str = ""


VARIANTS: dict[str, VariantRules] = {
    "easse": VariantRules(
        "corpus", "f1", "13a", True, why="counts summed over the corpus, F1 for all three operations; 0/0 is 0"
    ),
    "star": VariantRules(
        "corpus", "f1", "13a", True, raw_source=True, why="as easse, but the source is not tokenised (EASSE's legacy)"
    ),
    "xu": VariantRules(
        "sentence",
        "precision",
        "spaces",
        True,
        blank_token=True,
        why="the authors' SARI.py: mean over sentences of ratios averaged over n-gram types; delete is precision only",
    ),
    "xu-modified": VariantRules(
        "sentence",
        "precision",
        "spaces",
        True,
        blank_token=True,
        why="as xu, but an added n-gram whose words stand in the source in that order is no addition",
    ),
    "hf": VariantRules(
        "sentence",
        "precision",
        "13a",
        True,
        blank_token=True,
        why="as xu with 0/0 = 1: full marks where nothing was done, so that a copy of the source scores high",
    ),
    "t2t": VariantRules(
        "sentence",
        "precision",
        "none",
        True,
        why="n-grams are present or absent, weighted by the share of references that have them; 0/0 = 1 as in hf",
    ),
    "joshua": VariantRules(
        "corpus",
        "precision",
        "none",
        True,
        why="keep's recall is cut to a whole number in each sentence and used again as the precision's denominator",
    ),
    "d-sari": VariantRules(
        "sentence",
        "precision",
        "spaces",
        True,
        blank_token=True,
        why="for documents: xu with penalties for a wrong length and a wrong number of sentences",
    ),
}

_PARTS = tuple(
    f"{operation}{n}{suffix}" for operation in OPERATIONS for n in range(1, ORDER + 1) for suffix in ("", "_p", "_r")
)


@dataclass(frozen=True, repr=False)
class Sari(Metric):
    """SARI on 0–100, with add, keep and delete, and each of them for n = 1 to 4 with precision (_p) and recall (_r).

    Compares output, source and references, so it can reward a change, unlike BLEU; but it compares words only: it sees
    neither meaning nor grammar, and a fluent sentence in other words than the references' scores low.

    Parameters left at ``auto`` follow the variant. ``reference_count`` counts every item as having that many
    references, the missing ones saying nothing: it reproduces numbers that were published from files with blank
    references, and should not be used otherwise.
    """

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
        choice(self.variant, VARIANTS, parameter="variant")
        choice(self.delete, ("auto", "f1", "precision"), parameter="delete")
        choice(self.average, ("scores", "paper"), parameter="average")
        choice(self.tokenize, ("auto", *TOKENISERS), parameter="tokenize")
        if self.average == "paper" and self.variant not in ("easse", "star"):
            raise BadSpec(f"average=paper is defined for easse and star, not for {self.variant}.")
        if self.delete == "f1" and self.variant in ("hf", "t2t", "joshua"):
            raise BadSpec(f"delete=f1 is not defined for {self.variant}, which scores deletions by precision.")
        if self.reference_count < 0:
            raise BadSpec("reference_count is 0 (as many as there are) or the number to count.")

    @property
    def rules(self) -> VariantRules:
        return VARIANTS[self.variant]

    @property
    def counts_references(self) -> npt.NDArray[np.bool_] | None:
        """Which columns of a row count every reference, so that with half of them they are half as large."""
        if self.variant not in ("easse", "star"):
            return None
        return np.array([name != "add" for name in OPERATIONS for _ in range(3 * ORDER)] + [False])

    @property
    def _deletes_by_precision(self) -> bool:
        return (self.rules.delete if self.delete == "auto" else self.delete) == "precision"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rules = self.rules
        evalset.require_references("SARI")
        blocks = ngrams.prepared(
            evalset,
            tokenize=rules.tokenize if self.tokenize == "auto" else self.tokenize,
            lowercase=self.lowercase,
            blank_token=rules.blank_token,
            raw_source=rules.raw_source,
        )
        rows = [self._block_rows(evalset, block, outputs[block.start : block.stop]) for block in blocks]
        return np.concatenate(rows) if rows else np.zeros((0, self._width))

    def score(self, totals: Floats) -> Floats:
        if self.rules.level == "sentence":
            with np.errstate(invalid="ignore"):
                return np.asarray(totals[..., :-1] / totals[..., -1:])
        by_order = totals[..., :-1].reshape(*totals.shape[:-1], len(OPERATIONS), ORDER, 3)
        if self.variant == "joshua":
            parts = counts.joshua_parts(by_order)
        else:
            parts = counts.count_parts(by_order, precision_only=self._deletes_by_precision)
        operations = counts.paper_average(parts, self._deletes_by_precision) if self.average == "paper" else None
        scores = _assemble(parts, operations)
        scores[totals[..., -1] == 0] = np.nan
        return scores

    @property
    def _width(self) -> int:
        return len(self.outputs) + 1 if self.rules.level == "sentence" else 9 * ORDER + 1

    def _block_rows(self, evalset: EvalSet, block: ngrams.Block, outputs: Sequence[str]) -> Floats:
        match = ngrams.match(block, outputs)
        side = counts.ReferenceSide(block, self.reference_count)
        if self.rules.level == "corpus":
            measure = counts.joshua_counts if self.variant == "joshua" else counts.easse_counts
            flat = measure(match, side).reshape(len(block), -1)
            return np.concatenate((flat, np.ones((len(block), 1))), axis=1)
        if self.variant == "t2t":
            parts = counts.t2t_parts(match, side)
        else:
            modified = self.variant == "xu-modified"
            parts = counts.xu_parts(
                match,
                side,
                precision_only=self._deletes_by_precision,
                as_hf=self.variant == "hf",
                spurious=counts.spurious_additions(evalset, block, outputs) if modified else 0.0,
            )
        operations = parts[..., 0].mean(axis=-1)
        if self.variant == "d-sari":
            operations = operations * counts.document_penalties(evalset, block, outputs)
        scores = _assemble(parts, operations)
        return np.concatenate((scores, np.ones((len(block), 1))), axis=1)


def _assemble(parts: Floats, operations: Floats | None) -> Floats:
    """From (…, operation, order, [score, precision, recall]) to the metric's outputs, on 0–100."""
    if operations is None:
        operations = parts[..., 0].mean(axis=-1)
    sari = operations.mean(axis=-1, keepdims=True)
    flat = parts.reshape(*parts.shape[:-3], -1)
    return np.asarray(100 * np.concatenate((sari, operations, flat), axis=-1))
