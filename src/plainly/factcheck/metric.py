"""The facts of outputs as a metric: how many are faithful, how great the risk, and what was done to facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.factcheck.pairs import MODEL, Checked, CheckSettings, check_pairs
from plainly.metrics.means import CheckedMetric, ratio


@dataclass(frozen=True, repr=False)
class Facts(CheckedMetric):
    """Facts kept: the percentage of outputs in which none was changed, turned round or added."""

    ignore: str = ""
    parser: str = ""
    model: str | None = MODEL

    name: ClassVar[str] = "facts"
    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("faithful", "risk", "changed", "flipped", "added", "lost")
    shown: ClassVar[tuple[str, ...]] = outputs
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    batch_tolerance: ClassVar[float] = 1e-3  # how far a risk may depend on the texts that are read with it

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settings.check()

    @property
    def settings(self) -> CheckSettings:
        return CheckSettings(self.ignore, self.parser, self.model)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return rows(check_pairs(evalset.sources, outputs, self.settings))

    def score(self, totals: Floats) -> Floats:
        shares = ratio(totals[..., :6], totals[..., 6:])
        scaled: Floats = shares * np.array([100.0, 1.0, 100.0, 100.0, 100.0, 100.0])
        return scaled


def rows(checked: Sequence[Checked]) -> Floats:
    """One row a pair: faithful, risk, changed, flipped, added, lost, and whether there was a source to compare with."""
    table = np.zeros((len(checked), 7))
    for at, pair in enumerate(checked):
        if pair.source_words:
            amounts = [pair.expected(effect) for effect in ("changed", "flipped", "added", "lost")]
            table[at] = (pair.faithful, pair.risk, *amounts, 1.0)
    return table
