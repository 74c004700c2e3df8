"""From levelled texts to training examples: softened labels, joined neighbours, a second scale, and damage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.metric import Floats
from plainly_lab.training import noise
from plainly_lab.training.documents import LevelledTexts
from plainly_lab.training.levels import Parts, soften
from plainly_lab.training.recipe import Recipe

_CLAUSES = re.compile(r"(?:,|;|—| – |: )\s*|\s(?=(?:and|but|because|which|who|although|while|when|so)\s)")


@dataclass(frozen=True)
class Examples:
    """Texts and a row of targets for each, one per head; NaN where a text has none."""

    texts: tuple[str, ...]
    targets: Floats

    def __post_init__(self) -> None:
        if self.targets.ndim != 2 or len(self.targets) != len(self.texts):
            raise BadInput(f"{len(self.texts)} texts have targets of shape {self.targets.shape}; give a row for each.")

    def __add__(self, other: Examples) -> Examples:
        return Examples(self.texts + other.texts, np.concatenate([self.targets, other.targets]))


def labelled(corpus: LevelledTexts, parts: Parts, recipe: Recipe, *, rng: np.random.Generator) -> Examples:
    """What a model learns from the labels themselves."""
    grade = dict(zip(corpus.levelled.sentences, corpus.grades, strict=True))
    train = parts.train
    labels = train.levels
    if recipe.softened:
        grades = np.array([grade[sentence] for sentence in train.sentences])
        labels = soften(train.levels, grades, span=recipe.span, exclude=recipe.exclude)
    kept: list[int] = np.flatnonzero(np.isfinite(labels)).tolist()
    width = len(corpus.heads)
    rows = _on_first(tuple(train.sentences[i] for i in kept), labels[kept], width)
    if corpus.rated is not None:
        rows += rated(corpus, turns=recipe.repeats)
    pairs = _neighbours(parts, kept)
    if recipe.joined and pairs:
        taken = [pairs[i] for i in rng.choice(len(pairs), size=int(recipe.joined * len(pairs)), replace=False)]
        texts = tuple(f"{train.sentences[a]} {train.sentences[b]}" for a, b in taken)
        rows += _on_first(texts, np.array([(labels[a] + labels[b]) / 2 - recipe.joined_cost for a, b in taken]), width)
    return rows + damaged(rows, share=recipe.noise, rng=rng)


def rated(corpus: LevelledTexts, *, turns: int) -> Examples:
    """The training sentences of the second scale, ``turns`` times, every second time in tokenised form."""
    if corpus.rated is None:
        raise BadInput("These texts have no second scale to learn from.")
    scale = corpus.rated.training
    targets = np.full((len(scale.sentences), len(corpus.heads)), np.nan)
    targets[:, 1] = scale.values
    rows = Examples((), np.empty((0, len(corpus.heads))))
    for turn in range(turns):
        rows += Examples(scale.spaced if turn % 2 and scale.spaced else scale.sentences, targets)
    return rows


def unlabelled(corpus: LevelledTexts, parts: Parts, recipe: Recipe, *, rng: np.random.Generator) -> tuple[str, ...]:
    """Texts for teachers to label: sentences, single clauses and, where they learnt of them, joined neighbours."""
    train = parts.train
    texts = list(train.sentences)
    if recipe.joined:
        texts += [f"{train.sentences[a]} {train.sentences[b]}" for a, b in _neighbours(parts, range(len(train)))]
    if corpus.rated is not None:
        scale = corpus.rated.training
        texts += [*scale.sentences, *scale.spaced]
        if recipe.joined:
            order = rng.permutation(len(scale.sentences))
            texts += [f"{scale.sentences[a]} {scale.sentences[b]}" for a, b in enumerate(order)]
    for sentence in tuple(texts):
        clauses = [clause.strip() for clause in _CLAUSES.split(sentence)]
        clauses = [clause for clause in clauses if 4 <= len(clause.split()) <= 25]
        if len(clauses) > 1 and rng.random() < 0.4:
            clause = clauses[rng.integers(len(clauses))]
            texts.append(f"{clause[0].upper()}{clause[1:].rstrip('.!?')}.")
    return tuple(texts)


def damaged(rows: Examples, *, share: float, rng: np.random.Generator) -> Examples:
    """A share of the rows again, damaged, with the same targets."""
    whole, rest = divmod(share, 1.0)
    chosen = [i for _ in range(int(whole)) for i in range(len(rows.texts))]
    chosen += rng.choice(len(rows.texts), size=int(rest * len(rows.texts)), replace=False).tolist()
    return Examples(tuple(noise.damage(rows.texts[i], rng) for i in chosen), rows.targets[chosen])


def _neighbours(parts: Parts, kept: Sequence[int]) -> list[tuple[int, int]]:
    documents = parts.train.documents
    return [(a, b) for a, b in pairwise(kept) if b == a + 1 and documents[a] == documents[b]]


def _on_first(texts: tuple[str, ...], labels: Floats, width: int) -> Examples:
    targets = np.full((len(texts), width), np.nan)
    targets[:, 0] = labels
    return Examples(texts, targets)
