"""chrF and chrF++, equal to sacrebleu's: overlap of character (and word) n-grams with the best-matching reference."""

import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.metrics.means import CheckedMetric

_PUNCTUATION = frozenset(string.punctuation)


@dataclass(frozen=True, repr=False)
class Chrf(CheckedMetric):
    """chrF on 0–100 (Popović 2015). ``word_order=2`` is chrF++."""

    name: ClassVar[str] = "chrf"
    needs: ClassVar[Needs] = frozenset({"references"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("chrf",)

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.char_order < 1 or self.word_order < 0 or self.beta < 1:
            raise BadSpec("chrf needs char_order ≥ 1, word_order ≥ 0 and beta ≥ 1.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("chrF")
        prepared = evalset.prepare(
            ("chrf", self.char_order, self.word_order, self.lowercase),
            lambda evalset: [[self._counters(reference) for reference in row] for row in evalset.references],
        )
        rows = np.zeros((len(outputs), 3 * (self.char_order + self.word_order)))
        for row, output, references in zip(rows, outputs, prepared, strict=True):
            counters = self._counters(output)
            candidates = np.array([_statistics(counters, reference) for reference in references], dtype=np.float64)
            row[:] = candidates[np.argmax(self.score(candidates)[:, 0])]
        return rows

    def score(self, totals: Floats) -> Floats:
        by_order = totals.reshape(*totals.shape[:-1], -1, 3)
        of_output, of_reference, matched = (by_order[..., i] for i in range(3))
        effective = (of_output > 0) & (of_reference > 0)
        orders = np.maximum(effective.sum(axis=-1), 1)
        precision = np.divide(matched, of_output, out=np.zeros(matched.shape), where=effective).sum(axis=-1) / orders
        recall = np.divide(matched, of_reference, out=np.zeros(matched.shape), where=effective).sum(axis=-1) / orders
        weight = self.beta**2
        below = weight * precision + recall
        score = np.divide(100 * (1 + weight) * precision * recall, below, out=np.zeros(below.shape), where=below > 0)
        return np.where(of_reference.sum(axis=-1) > 0, score, np.nan)[..., None]

    def _counters(self, text: str) -> list[Counter[str]]:
        text = text.lower() if self.lowercase else text
        characters, words = "".join(text.split()), _words(text) if self.word_order else []
        counters = [_grams(characters, n) for n in range(1, self.char_order + 1)]
        return counters + [_grams(words, n) for n in range(1, self.word_order + 1)]


def _grams(units: str | list[str], length: int) -> Counter[str]:
    if isinstance(units, str):
        return Counter(units[at : at + length] for at in range(len(units) - length + 1))
    return Counter(" ".join(units[at : at + length]) for at in range(len(units) - length + 1))


def _words(text: str) -> list[str]:
    """White-space words with one punctuation mark split off, at the end or else at the beginning."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def _statistics(output: list[Counter[str]], reference: list[Counter[str]]) -> list[int]:
    statistics = []
    for of_output, of_reference in zip(output, reference, strict=True):
        # As sacrebleu: an order that the reference is too short for does not count against the output.
        total = of_output.total() if of_reference else 0
        statistics += [total, of_reference.total(), (of_output & of_reference).total()]
    return statistics
