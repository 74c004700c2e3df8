"""What text simplification made of BLEU: iBLEU, T-BLEU, FK-BLEU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.core.registry import choice
from plainly.metrics.bleu import ROW_WIDTH, Bleu
from plainly.metrics.means import CheckedMetric, MeanMetric
from plainly.metrics.readability import Fkgl
from plainly.text.ngrams import ORDER
from plainly.text.tokenise import TOKENISERS


@dataclass(frozen=True, repr=False)
class IBleu(CheckedMetric):
    """iBLEU (Sun and Zhou 2012): alpha × BLEU against the references − (1 − alpha) × BLEU against the source."""

    name: ClassVar[str] = "ibleu"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("ibleu", "bleu", "source_bleu")

    alpha: float = 0.9
    tokenize: str = "auto"
    lowercase: bool = False
    variant: Literal["sacrebleu", "multi-bleu"] = "sacrebleu"
    smooth: Literal["auto", "none", "exp", "floor", "add-k"] = "auto"
    effective_order: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise BadSpec(f"alpha is between 0 and 1, not {self.alpha}.")
        _ = self._bleu

    @property
    def _bleu(self) -> Bleu:
        return Bleu(self.variant, self.tokenize, self.lowercase, self.smooth, effective_order=self.effective_order)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        against_references = self._bleu.measure(evalset, outputs)
        against_source = self._bleu.measure(_sources_as_references(evalset), outputs)
        return np.concatenate((against_references, against_source), axis=1)

    def score(self, totals: Floats) -> Floats:
        bleu = self._bleu.score(totals[..., :ROW_WIDTH])[..., 0]
        source_bleu = self._bleu.score(totals[..., ROW_WIDTH : 2 * ROW_WIDTH])[..., 0]
        return np.stack((self.alpha * bleu - (1 - self.alpha) * source_bleu, bleu, source_bleu), axis=-1)


@dataclass(frozen=True, repr=False)
class TBleu(MeanMetric):
    """T-BLEU (Štajner et al. 2014): mean over sentences of BLEU with as many orders as have a match."""

    name: ClassVar[str] = "tbleu"
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("tbleu",)

    against: Literal["source", "references"] = "source"
    tokenize: str = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(self.tokenize, TOKENISERS, parameter="tokenize")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        compared = _sources_as_references(evalset) if self.against == "source" else evalset
        bleu = Bleu(tokenize=self.tokenize, lowercase=self.lowercase, smooth="none")
        rows = bleu.measure(compared, outputs)
        scores = np.zeros(len(rows))
        for order in range(1, ORDER + 1):
            of_order = Bleu(smooth="none", effective_order=True, max_order=order).score(rows)[:, 0]
            scores = np.where(rows[:, order - 1] > 0, of_order, scores)
        return np.stack((scores, np.ones(len(rows))), axis=1)


@dataclass(frozen=True, repr=False)
class FkBleu(CheckedMetric):
    """FK-BLEU (Xu et al. 2016): iBLEU × sigmoid of how much easier, by FKGL, the output is than the source."""

    name: ClassVar[str] = "fkbleu"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("fkbleu", "ibleu", "fkgl", "source_fkgl")

    alpha: float = 0.9
    direction: Literal["easier", "printed"] = "easier"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._ibleu

    @property
    def _ibleu(self) -> IBleu:
        return IBleu(alpha=self.alpha)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        fkgl = Fkgl()
        of_sources = evalset.prepare("fkbleu", lambda evalset: fkgl.measure(evalset, evalset.sources))
        of_outputs = fkgl.measure(evalset, outputs)
        return np.concatenate((self._ibleu.measure(evalset, outputs), of_outputs, of_sources), axis=1)

    def score(self, totals: Floats) -> Floats:
        ibleu = self._ibleu.score(totals[..., : 2 * ROW_WIDTH])[..., 0]
        readability = totals[..., 2 * ROW_WIDTH :]
        middle = readability.shape[-1] // 2
        of_output = Fkgl().score(readability[..., :middle])[..., 0]
        of_source = Fkgl().score(readability[..., middle:])[..., 0]
        easier = of_source - of_output if self.direction == "easier" else of_output - of_source
        return np.stack((ibleu / (1 + np.exp(-easier)), ibleu, of_output, of_source), axis=-1)


def _sources_as_references(evalset: EvalSet) -> EvalSet:
    def build(evalset: EvalSet) -> EvalSet:
        return EvalSet(evalset.ids, evalset.sources, references=tuple((source,) for source in evalset.sources))

    return evalset.prepare("sources as references", build)
