"""Sentences of levelled documents (the same articles at several reading levels), split by article; labels and measures.

A document's level is wrong for many of its sentences. Softening (Cripwell et al. 2023, section 2) spreads the labels of
a level by how readable each sentence is, so that the labels of neighbouring levels overlap and a model can tell the
sentences of one level apart.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.metric import Floats

_LETTERS = re.compile(r"[^\W\d_]")
_FEWEST_WORDS = 3  # shorter sentences are left out


@dataclass(frozen=True)
class LevelledSentences:
    """Sentences in columns: the article each comes from, and the level of its document."""

    sentences: tuple[str, ...]
    articles: tuple[str, ...]
    levels: Floats

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> LevelledSentences:
        sentences, articles = (tuple(compress(column, mask)) for column in (self.sentences, self.articles))
        return LevelledSentences(sentences, articles, self.levels[mask])

    @property
    def documents(self) -> tuple[tuple[str, float], ...]:
        """The document of each sentence: an article at a level."""
        return tuple(zip(self.articles, self.levels.tolist(), strict=True))


@dataclass(frozen=True)
class Parts:
    """Train, validation and test sentences; no article is in two of them."""

    train: LevelledSentences
    valid: LevelledSentences
    test: LevelledSentences


def cut(
    articles: Sequence[str],
    levels: Sequence[float | str],
    texts: Sequence[str],
    *,
    scale: Mapping[str, float] | None = None,
) -> LevelledSentences:
    """The sentences of documents. ``scale`` turns names of levels into numbers."""
    from plainly.text import sentences as boundaries

    rows: list[tuple[str, str, float]] = []
    for number, (article, name, text) in enumerate(zip(articles, levels, texts, strict=True), 1):
        try:
            level = float((scale or {}).get(str(name), name))
        except ValueError:
            raise BadInput(
                f"Document {number} has the level {name!r}, which is neither a number nor in the scale "
                f"({', '.join(scale or ()) or 'none'}). Say what it stands for: "
                "levels={'advanced': 0, 'elementary': 4}"
            ) from None
        for paragraph in text.splitlines():
            rows += (
                (" ".join(sentence.split()), article, level)
                for sentence in boundaries.split(paragraph)
                if len(sentence.split()) >= _FEWEST_WORDS and _LETTERS.search(sentence)
            )
    if not rows:
        raise BadInput("The levelled texts hold no sentences. Give a text for each document.")
    sentences, articles, numbers = zip(*rows, strict=True)
    return LevelledSentences(sentences, articles, np.array(numbers, dtype=np.float64))


def part(levelled: LevelledSentences, *, valid: float, test: float, seed: int = 0) -> Parts:
    """Split by article, so that no version of a validation or test article is trained on."""
    names = sorted(set(levelled.articles))
    order = np.random.default_rng(seed).permutation(len(names))
    cuts = [round(len(names) * valid), round(len(names) * (valid + test))]
    if min(cuts[0], cuts[1] - cuts[0], len(names) - cuts[1]) < 1:
        raise BadInput(
            f"{len(names)} articles cannot be split into training, validation ({valid:.0%}) and test ({test:.0%}): "
            "each needs at least one. Give more articles or larger shares."
        )
    place = {names[at]: which for which, chosen in enumerate(np.split(order, cuts)) for at in chosen}
    which = np.array([place[article] for article in levelled.articles])
    return Parts(train=levelled[which == 2], valid=levelled[which == 0], test=levelled[which == 1])


def soften(levels: Floats, grades: Floats, *, span: float = 2.0, exclude: float = 1.0) -> Floats:
    """Spread the labels of each level over ``span``, the most readable sentences highest; NaN is left out of training.

    ``grades`` are Flesch-Kincaid grades. Sentences in the lowest and highest ``exclude`` percent of a level's grades,
    and sentences without a grade, are left out. The paper's levels lie 1 apart and its span is 2, so that each level
    reaches its neighbours; give a larger span to levels that lie farther apart.
    """
    if span < 0 or not 0 <= exclude < 50:
        raise BadInput(f"Softening needs span ≥ 0 and 0 ≤ exclude < 50, not span {span} and exclude {exclude}.")
    labels = np.full(len(levels), np.nan)
    for level in np.unique(levels):
        members = np.flatnonzero((levels == level) & np.isfinite(grades))
        if not len(members):
            continue
        low, high = np.percentile(grades[members], [exclude, 100 - exclude])
        members = members[(grades[members] >= low) & (grades[members] <= high)]
        readability = -grades[members]
        reach = readability.max() - readability.min()
        # Eq. 2; where all grades are equal there is nothing to spread.
        scaled = span * (readability - readability.min()) / reach if reach > 0 else np.zeros(len(members))
        labels[members] = scaled - scaled.mean() + level  # Eq. 3
    return labels


@dataclass(frozen=True, slots=True)
class HeldOutQuality:
    """The paper's three measures. Errors are against the documents' own levels, never against softened labels."""

    mae: float
    doc_mae: float
    f1: float
    sentences: int
    documents: int


def quality(estimates: Floats, levels: Floats, documents: Sequence[Hashable]) -> HeldOutQuality:
    """Mean absolute error of sentences and of document averages, and weighted F1 after rounding to a level."""
    known = np.unique(levels)
    rounded = known[np.abs(estimates[:, None] - known).argmin(axis=1)]

    def weighted_f1(level: float) -> float:
        hits = ((rounded == level) & (levels == level)).sum()
        estimated, true = (rounded == level).sum(), (levels == level).sum()
        return float(true * (2 * hits / (estimated + true)))

    numbers = {document: at for at, document in enumerate(dict.fromkeys(documents))}
    which = np.array([numbers[document] for document in documents])
    sizes = np.bincount(which)
    average = np.bincount(which, weights=estimates) / sizes
    truth = np.bincount(which, weights=levels) / sizes
    return HeldOutQuality(
        mae=float(np.abs(estimates - levels).mean()),
        doc_mae=float(np.abs(average - truth).mean()),
        f1=float(sum(map(weighted_f1, known)) / len(levels)),
        sentences=len(levels),
        documents=len(sizes),
    )
