"""What became of the sentences of a document: kept, rephrased, split, merged, dropped, moved; and what was added."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats
from plainly.metrics.means import MeanMetric, ratio
from plainly.text.languages import language as known_language
from plainly.text.sentence_alignment import HAPPENED, Alignment, align_many

_BLOCK = 64  # documents whose alignments are held at once
_OF_SOURCE = (*(name for name in HAPPENED if name != "added"), "moved")


@dataclass(frozen=True, repr=False)
class Coverage(MeanMetric):
    """The share of the source's sentences that the output covers, and what became of the sentences."""

    meaning: bool = False
    language: str = "en"

    name: ClassVar[str] = "coverage"
    outputs: ClassVar[tuple[str, ...]] = ("covered", *_OF_SOURCE, "added", "sentences", "source_sentences")
    shown: ClassVar[tuple[str, ...]] = ("covered", *_OF_SOURCE, "added")

    def __post_init__(self) -> None:
        super().__post_init__()
        known_language(self.language)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = np.zeros((len(outputs), len(_OF_SOURCE) + 4))
        for start in range(0, len(outputs), _BLOCK):
            stop = start + _BLOCK
            texts = evalset.sources[start:stop], outputs[start:stop]
            alignments = align_many(*texts, encoder=self.meaning, language=self.language)
            rows[start:stop] = [_row(alignment) for alignment in alignments]
        return rows

    def score(self, totals: Floats) -> Floats:
        *_, added, source, output, texts = np.moveaxis(totals, -1, 0)
        of_source = ratio(totals[..., : len(_OF_SOURCE)], source[..., None])
        covered = 1 - of_source[..., _OF_SOURCE.index("dropped")]
        rest = (ratio(added, output), ratio(output, texts), ratio(source, texts))
        scores: Floats = np.concatenate([covered[..., None], of_source, np.stack(rest, axis=-1)], axis=-1)
        return scores


def _row(alignment: Alignment) -> list[float]:
    counts = alignment.counts()
    sizes = [len(alignment.source), len(alignment.output)]
    return [*(counts[name] for name in _OF_SOURCE), counts["added"], *sizes, float(any(sizes))]
