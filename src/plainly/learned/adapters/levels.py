"""The CEFR classifiers of the TSAR 2025 shared task: three published models, of which the surest decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.metric import Floats
from plainly.learned.adapters import weights
from plainly.learned.cefr import LevelMetric, number_of
from plainly.learned.levels import LEVELS


@dataclass(frozen=True, repr=False)
class PublishedCefr(LevelMetric):
    """CEFR level by the shared task's three ModernBERT classifiers, the one with the highest probability deciding."""

    target: str | None = None
    document: str = "AbdullahBarayan/ModernBERT-base-doc_en-Cefr"
    sentence: str = "AbdullahBarayan/ModernBERT-base-doc_sent_en-Cefr"
    reference: str = "AbdullahBarayan/ModernBERT-base-reference_AllLang2-Cefr2"
    longest: int = 8192

    name: ClassVar[str] = "cefr-published"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")

    def read(self, texts: Sequence[str]) -> Floats:
        from scipy import special

        worded = [at for at, text in enumerate(texts) if text.strip()]
        surest = np.full(len(texts), np.nan)
        if not worded:
            return surest
        sure, level = np.zeros(len(worded)), np.zeros(len(worded))
        for name in (self.document, self.sentence, self.reference):
            loaded = weights.classifier(name)
            numbers = _levels(name, loaded.model.config.id2label)
            shares = special.softmax(weights.values(loaded, [texts[at] for at in worded], longest=self.longest), axis=1)
            best = shares.argmax(axis=1)
            surer = shares.max(axis=1) > sure
            level = np.where(surer, numbers[best], level)
            sure = np.maximum(sure, shares.max(axis=1))
        surest[worded] = level
        return surest


def _levels(name: str, labels: dict[int, str]) -> Floats:
    """What each output of a classifier stands for."""
    numbers = [number_of(labels[at]) for at in sorted(labels)]
    if None in numbers:
        raise BadInput(
            f"{name!r} has the labels {', '.join(map(str, labels.values()))}; a CEFR classifier names "
            f"{', '.join(LEVELS)} in its config.json (id2label)."
        )
    return np.array(numbers, dtype=np.float64)
