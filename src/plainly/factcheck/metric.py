"""The facts of outputs as a metric: how many are faithful, how great the risk, and what was done to facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Needs, ratio
from plainly.factcheck.pairs import MODEL, Checked, CheckSettings, check_pairs


@dataclass(frozen=True, repr=False)
class Facts(Metric):
    """Facts kept: the percentage of outputs in which none was changed, turned round or added.

    ``faithful`` is the percentage of outputs without a finding that harms and that is more likely right than wrong.
    ``risk`` is the average risk (0 to 1) that a fact was changed, flipped or added. ``changed``, ``flipped`` and
    ``added`` are how many such findings are to be expected in 100 outputs, each counted by how sure it is; ``lost`` is
    the percentage of what the sources say that the outputs do not, names and numbers counting more. An output without a
    word is not faithful. ``ignore`` is a pattern of words that are no finding (``ignore=NATO|EU``); ``parser=spacy`` or
    the name of a spaCy pipeline lets it say which words are names; ``model=none`` is rules alone, where ``risk`` leaves
    out what the judge says that reads source and output together. English; in other languages only numbers, dates and
    names.
    """

    ignore: str = ""
    parser: str = ""
    model: str | None = MODEL

    name: ClassVar[str] = "facts"
    needs: ClassVar[Needs] = frozenset({"source"})
    outputs: ClassVar[tuple[str, ...]] = ("faithful", "risk", "changed", "flipped", "added", "lost")
    main_outputs: ClassVar[tuple[str, ...]] = outputs
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    learned: ClassVar[bool] = True
    batch_tolerance: ClassVar[float] = 1e-3

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
