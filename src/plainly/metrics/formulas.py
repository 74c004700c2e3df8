"""The readability formulas of each language by name, from its file: one metric, as many formulas as were published."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.core.registry import choice
from plainly.metrics.means import CheckedMetric, ratio
from plainly.text import counts
from plainly.text.counts import AnySyllables, Sentences
from plainly.text.languages import CODES, ReadabilityFormula, language

_COUNTED = ("sentences", "words", "syllables", "letters", "polysyllables", "monosyllables", "long")


@dataclass(frozen=True, repr=False)
class Readability(CheckedMetric):
    """A published readability formula of the language that the texts are in."""

    formula: str = ""
    language: str = "en"
    sentences: Sentences = "rules"
    syllables: AnySyllables = "rules"

    name: ClassVar[str] = "readability"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "higher"
    shown: ClassVar[tuple[str, ...]] = ("readability", "words_per_sentence", "syllables_per_word")
    outputs: ClassVar[tuple[str, ...]] = (
        *shown, "long_words_percent", "polysyllables_percent", "monosyllables_percent", "words", "sentences",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.language == "en" and self.formula not in language("en").formulas:  # a formula knows its language
            its = (code for code in CODES if self.formula in language(code).formulas)
            object.__setattr__(self, "language", next(its, "en"))
        known = language(self.language).formulas
        if self.formula:
            choice(self.formula, known, parameter=f"with language={self.language}, formula")
        else:
            object.__setattr__(self, "formula", next(iter(known)))
        object.__setattr__(self, "better", self.published.better)

    def in_language(self, code: str) -> "Readability":
        """The same in another language: its usual formula in place of the usual one here, or the one that was named."""
        usual = self.formula == next(iter(language(self.language).formulas))
        return replace(self, language=code, formula="" if usual else self.formula)

    @property
    def published(self) -> ReadabilityFormula:
        """The formula, and who published it."""
        return language(self.language).formulas[self.formula]

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = counts.count(outputs, split=self.sentences, syllable=self.syllables, language=self.language)
        return rows[:, [counts.COLUMNS.index(name) for name in _COUNTED]].astype(np.float64)

    def score(self, totals: Floats) -> Floats:
        quantities = _quantities(totals)
        value = np.full(totals.shape[:-1], self.published.constant)
        for name, coefficient in self.published.coefficients.items():
            value = value + coefficient * quantities[name]
        sizes = {"readability": value, "words": totals[..., 1], "sentences": totals[..., 0]}
        return np.stack([(sizes | quantities)[name] for name in self.outputs], axis=-1)


def _quantities(totals: Floats) -> dict[str, Floats]:
    """What formulas are made of, by name; undefined where there are no words."""
    sentences, words, syllables, letters, polysyllables, monosyllables, long = np.moveaxis(totals, -1, 0)
    return {
        "words_per_sentence": ratio(words, sentences),
        "sentences_per_word": ratio(sentences, words),
        "syllables_per_word": ratio(syllables, words),
        "letters_per_word": ratio(letters, words),
        "polysyllables_percent": 100 * ratio(polysyllables, words),
        "monosyllables_percent": 100 * ratio(monosyllables, words),
        "long_words_percent": 100 * ratio(long, words),
    }
