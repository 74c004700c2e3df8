"""Sentences of levelled documents: the same articles at several reading levels, split by article."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput, way
from plainly.protocol import Floats

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
        chosen = np.flatnonzero(mask)
        return LevelledSentences(
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
        level = _level(name, scale or {}, number)
        for paragraph in text.splitlines():
            rows += (
                (" ".join(sentence.split()), article, level)
                for sentence in boundaries.split(paragraph)
                if len(sentence.split()) >= _FEWEST_WORDS and _LETTERS.search(sentence)
            )
    if not rows:
        raise BadInput("The levelled texts hold no sentences. Give a text for each document.")
    columns = list(zip(*rows, strict=True))
    return LevelledSentences(sentences=columns[0], articles=columns[1], levels=np.array(columns[2], dtype=np.float64))


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


def grades(sentences: Sequence[str]) -> Floats:
    """The Flesch-Kincaid grade of each sentence."""
    from plainly.evalset import EvalSet
    from plainly.metrics.readability import Fkgl

    fkgl = Fkgl()
    return fkgl.score(fkgl.measure(EvalSet.of(items=len(sentences)), sentences))[:, 0]


def _level(name: float | str, scale: Mapping[str, float], document: int) -> float:
    if str(name) in scale:
        return float(scale[str(name)])
    try:
        return float(name)
    except ValueError:
        raise BadInput(
            f"Document {document} has the level {name!r}, which is neither a number nor in the scale "
            f"({', '.join(scale) or 'none'}). Say what it stands for: "
            + way("levels={'advanced': 0, 'elementary': 4}", "--levels advanced=0,elementary=4")
        ) from None
