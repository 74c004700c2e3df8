"""How good an estimator of reading levels is: the paper's three measures, sentence and document level."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.protocol import Floats


@dataclass(frozen=True, slots=True)
class HeldOutQuality:
    """Errors are against the documents' own levels, never against softened labels."""

    mae: float
    doc_mae: float
    f1: float
    sentences: int
    documents: int


def quality(estimates: Floats, levels: Floats, documents: Sequence[Hashable]) -> HeldOutQuality:
    """Mean absolute error of sentences and of document averages, and weighted F1 after rounding to a level."""
    known = np.unique(levels)
    rounded = known[np.abs(estimates[:, None] - known).argmin(axis=1)]
    numbers = {document: at for at, document in enumerate(dict.fromkeys(documents))}
    which = np.array([numbers[document] for document in documents])
    sizes = np.bincount(which)
    average = np.bincount(which, weights=estimates) / sizes
    truth = np.bincount(which, weights=levels) / sizes
    return HeldOutQuality(
        mae=float(np.abs(estimates - levels).mean()),
        doc_mae=float(np.abs(average - truth).mean()),
        f1=_weighted_f1(rounded, levels, known),
        sentences=len(levels),
        documents=len(sizes),
    )


def _weighted_f1(estimates: Floats, levels: Floats, known: Floats) -> float:
    total = 0.0
    for level in known:
        hits = ((estimates == level) & (levels == level)).sum()
        estimated, true = (estimates == level).sum(), (levels == level).sum()
        total += true * (2 * hits / (estimated + true))
    return float(total / len(levels))
