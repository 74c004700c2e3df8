"""Levelled documents: the same articles at several reading levels, cut into sentences and split by article."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput
from plainly.learn.soften import Floats, soften

_LETTERS = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Levelled:
    """Sentences in columns: the article and document each comes from, and its document's level."""

    sentences: tuple[str, ...]
    articles: tuple[str, ...]
    levels: Floats

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> Levelled:
        chosen = np.flatnonzero(mask)
        return Levelled(
            sentences=tuple(self.sentences[i] for i in chosen),
            articles=tuple(self.articles[i] for i in chosen),
            levels=self.levels[chosen],
        )

    @property
    def documents(self) -> tuple[tuple[str, float], ...]:
        """The document of each sentence: an article at a level."""
        return tuple(zip(self.articles, self.levels.tolist(), strict=True))


@dataclass(frozen=True)
class Parts:
    """Train, validation and test sentences; no article is in two of them."""

    train: Levelled
    valid: Levelled
    test: Levelled


def from_texts(
    articles: Sequence[str],
    levels: Sequence[float | str],
    texts: Sequence[str],
    *,
    scale: Mapping[str, float] | None = None,
    shortest: int = 3,
) -> Levelled:
    """Cut texts into sentences. ``scale`` turns names of levels into numbers; shorter sentences are left out."""
    from plainly.text import sentences as boundaries

    found: list[tuple[str, str, float]] = []
    for at, (article, level, text) in enumerate(zip(articles, levels, texts, strict=True)):
        value = _level(level, scale, at)
        for paragraph in text.splitlines():
            found += (
                (" ".join(sentence.split()), article, value)
                for sentence in boundaries.split(paragraph)
                if len(sentence.split()) >= shortest and _LETTERS.search(sentence)
            )
    if not found:
        raise BadInput("The levelled texts hold no sentences. Give a text for each document.")
    columns = list(zip(*found, strict=True))
    return Levelled(sentences=columns[0], articles=columns[1], levels=np.array(columns[2], dtype=np.float64))


def part(levelled: Levelled, *, valid: float = 0.05, test: float = 0.05, seed: int = 0) -> Parts:
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


def labels(levelled: Levelled, *, span: float, exclude: float, softened: bool = True) -> Floats:
    """A label for each sentence: softened by its readability, or the level of its document; NaN is left out."""
    if not softened:
        return levelled.levels
    return soften(levelled.levels, grades(levelled.sentences), span=span, exclude=exclude).labels


def grades(sentences: Sequence[str]) -> Floats:
    """The Flesch-Kincaid grade of each sentence."""
    from plainly.evalset import EvalSet
    from plainly.metrics.readability import Fkgl

    fkgl = Fkgl()
    found: Floats = fkgl.score(fkgl.measure(EvalSet.of(items=len(sentences)), sentences))[:, 0]
    return found


def _level(level: float | str, scale: Mapping[str, float] | None, at: int) -> float:
    if scale is not None and str(level) in scale:
        return float(scale[str(level)])
    try:
        return float(level)
    except ValueError:
        known = ", ".join(scale) if scale else "none"
        raise BadInput(
            f"Document {at + 1} has the level {level!r}, which is neither a number nor in the scale ({known}). "
            "Say what it stands for: --levels advanced=0,elementary=4"
        ) from None
