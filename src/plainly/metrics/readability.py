"""Readability formulas: grade levels and reading ease from counts of words, sentences, syllables and letters.

All of them share one table of counts; they differ in the formula. None of them sees meaning, grammar or whether a
sentence is true to its source, and each improves when text is cut up: they describe text, they do not rank systems.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import ClassVar, Literal

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.core.registry import choice
from plainly.metrics.means import CheckedMetric, ratio
from plainly.text import counts
from plainly.text.counts import Sentences, Syllables


class Formula(CheckedMetric):
    """What the formulas share. The parameters of ``formula`` name the columns of ``counts.COLUMNS`` that it needs."""

    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "lower"
    formula: ClassVar[Callable[..., tuple[Floats, ...]]]  # from sums to the outputs

    sentences: Sentences
    syllables: Syllables = "rules"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = counts.count(outputs, split=self.sentences, syllable=self.syllables)
        counted = [counts.COLUMNS.index(name) for name in signature(self.formula).parameters]
        return rows[:, counted].astype(np.float64)

    def score(self, totals: Floats) -> Floats:
        return np.stack(self.formula(*np.moveaxis(totals, -1, 0)), axis=-1)


@dataclass(frozen=True, repr=False)
class Fkgl(Formula):
    """Flesch-Kincaid grade level: words per sentence and syllables per word, on the scale of US school years."""

    variant: Literal["plainly", "easse"] = "plainly"
    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "fkgl"
    shown: ClassVar[tuple[str, ...]] = ("fkgl", "words_per_sentence", "syllables_per_word")
    outputs: ClassVar[tuple[str, ...]] = (*shown, "words", "sentences", "syllables")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "easse":
            choice(self.syllables, ("rules",), parameter="with variant=easse, syllables")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        if self.variant == "easse":
            return counts.count_easse(outputs, split=self.sentences).astype(np.float64)
        return super().measure(evalset, outputs)

    @staticmethod
    def formula(sentences: Floats, words: Floats, syllables: Floats) -> tuple[Floats, ...]:
        length, weight = ratio(words, sentences), ratio(syllables, words)
        grade = 0.39 * length + 11.8 * weight - 15.59  # Kincaid et al. 1975
        return grade, length, weight, words, sentences, syllables


@dataclass(frozen=True, repr=False)
class Flesch(Formula):
    """Flesch reading ease: the same two lengths as FKGL, on a scale where 100 is very easy and 0 very hard."""

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "flesch"
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("flesch", "words_per_sentence", "syllables_per_word")

    @staticmethod
    def formula(sentences: Floats, words: Floats, syllables: Floats) -> tuple[Floats, ...]:
        length, weight = ratio(words, sentences), ratio(syllables, words)
        return 206.835 - 1.015 * length - 84.6 * weight, length, weight  # Flesch 1948


@dataclass(frozen=True, repr=False)
class Ari(Formula):
    """Automated readability index: characters per word and words per sentence, as a US school year."""

    sentences: Sentences = "rules"

    name: ClassVar[str] = "ari"
    outputs: ClassVar[tuple[str, ...]] = ("ari", "characters_per_word", "words_per_sentence")

    @staticmethod
    def formula(sentences: Floats, words: Floats, characters: Floats) -> tuple[Floats, ...]:
        weight, length = ratio(characters, words), ratio(words, sentences)
        return 4.71 * weight + 0.5 * length - 21.43, weight, length  # Smith & Senter 1967


@dataclass(frozen=True, repr=False)
class ColemanLiau(Formula):
    """Coleman-Liau index: letters and sentences per hundred words, as a US school year."""

    sentences: Sentences = "rules"

    name: ClassVar[str] = "coleman_liau"
    outputs: ClassVar[tuple[str, ...]] = ("coleman_liau", "letters_per_100_words", "sentences_per_100_words")

    @staticmethod
    def formula(sentences: Floats, words: Floats, letters: Floats) -> tuple[Floats, ...]:
        weight, density = 100 * ratio(letters, words), 100 * ratio(sentences, words)
        return 0.0588 * weight - 0.296 * density - 15.8, weight, density  # Coleman & Liau 1975


@dataclass(frozen=True, repr=False)
class Smog(Formula):
    """SMOG grade: how many words of three or more syllables there are in thirty sentences."""

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "smog"
    outputs: ClassVar[tuple[str, ...]] = ("smog", "polysyllables_per_30_sentences")

    @staticmethod
    def formula(sentences: Floats, polysyllables: Floats) -> tuple[Floats, ...]:
        density = 30 * ratio(polysyllables, sentences)
        return 1.0430 * np.sqrt(density) + 3.1291, density  # McLaughlin 1969


@dataclass(frozen=True, repr=False)
class GunningFog(Formula):
    """Gunning fog index: words per sentence and the share of complex words, as years of schooling."""

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "gunning_fog"
    outputs: ClassVar[tuple[str, ...]] = ("gunning_fog", "words_per_sentence", "complex_words_percent")

    @staticmethod
    def formula(sentences: Floats, words: Floats, hard: Floats) -> tuple[Floats, ...]:
        length, share = ratio(words, sentences), 100 * ratio(hard, words)
        return 0.4 * (length + share), length, share  # Gunning 1952
