"""The form of a text: how long its sentences and words are, how often one was split, how common the words are."""

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.core.errors import BadSpec, needing
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, MeanMetric, Metric, Needs, mean_rows, means, ratio
from plainly.text import counts
from plainly.text import sentences as splitter
from plainly.text.counts import Sentences
from plainly.text.languages import CODES
from plainly.text.languages import language as known_language
from plainly.text.words import FUNCTION_WORDS, words


@dataclass(frozen=True, repr=False)
class Splits(MeanMetric):
    """How often a source sentence became several, by two definitions, and how many sentences go in and come out.

    ``split`` is the share of items with more sentences in the output than in the source, ``merged`` of those with
    fewer. ``full_stops`` is the definition of Tanprasert & Kauchak (2021): the share of items with more full-stop
    characters than the source, which counts abbreviations and decimals too. ``ratio`` is the mean of sentences out by
    sentences in (tseval's sentence splits). ``sentences_in`` and ``sentences_out`` are means per item. Where a
    sentence was split well and where a full stop merely fell into it, look the same here.
    """

    sentences: Sentences = "rules"
    language: str = "en"

    name: ClassVar[str] = "splits"
    needs: ClassVar[Needs] = frozenset({"source"})
    needs_of: ClassVar[Mapping[str, Needs]] = {"sentences_out": frozenset()}
    better: ClassVar[Better] = "neither"
    outputs: ClassVar[tuple[str, ...]] = ("split", "merged", "full_stops", "ratio", "sentences_in", "sentences_out")
    main_outputs: ClassVar[tuple[str, ...]] = ("split", "full_stops", "sentences_in", "sentences_out")

    def __post_init__(self) -> None:
        super().__post_init__()
        known_language(self.language)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        key = ("splits", self.sentences, self.language)
        before = evalset.prepare(key, lambda evalset: self._count(evalset.sources))
        after = self._count(outputs)
        stops = [output.count(".") > source.count(".") for source, output in zip(evalset.sources, outputs, strict=True)]
        return mean_rows(
            np.where(before > 0, after > before, np.nan),
            np.where(before > 0, after < before, np.nan),
            np.array(stops, dtype=np.float64),
            ratio(after, before),
            before,
            after,
        )

    def _count(self, texts: Sequence[str]) -> Floats:
        count = splitter.counts if self.sentences == "rules" else counts.punkt_counts
        return count(texts, self.language).astype(np.float64)


@dataclass(frozen=True, repr=False)
class Length(Metric):
    """How long sentences and words are, over the whole text, and how long an output is on average.

    These are the parts of the readability formulas, reported as what they are. ``words``, ``sentences`` and
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

    def __post_init__(self) -> None:
        super().__post_init__()
        known_language(self.language)

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


_RANKED = 50_000
# tseval leaves function words out of its quartile; in other languages than English these are the most frequent words.
_FUNCTION_WORDS = 130
_LONGEST = 200  # characters of a word that may be known
_RARE = 3.0  # less than once in a million words


@dataclass(frozen=True, repr=False)
class Lexical(Metric):
    """How common the words of the outputs are, by their frequency in everyday text.

    ``zipf`` is the mean Zipf frequency of the words (7: the most common, 3: once in a million; higher is easier),
    ``rare`` the share of words below 3, ``unknown`` the share that the list does not have (they count as 0 in zipf).
    ``rank_quartile`` is the lexical complexity of tseval and EASSE with another list: per item the third quartile of
    log(1 + rank) over the content words among the 50,000 most frequent, averaged over items; lower is easier. EASSE
    ranks by English Wikipedia, this by wordfreq, so the values are close in meaning but not equal. A rare word is
    not always a hard one (names), and a frequent word can be used in a hard sense.
    """

    language: str = "en"

    name: ClassVar[str] = "lexical"
    better: ClassVar[Better] = "neither"
    outputs: ClassVar[tuple[str, ...]] = ("zipf", "rank_quartile", "rare", "unknown")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        zipf, rank = _frequencies(self.language)
        spoken = self.language if self.language in CODES else "en"
        least = math.log(1 + _FUNCTION_WORDS)

        def is_function_word(word: str) -> bool:
            return word in FUNCTION_WORDS if self.language == "en" else rank[word] <= least

        rows = np.zeros((len(outputs), 4))
        quartiles = np.full(len(outputs), np.nan)
        for row, output in enumerate(outputs):
            lowered = [word.lower().replace("’", "'") for word in words(output, spoken)]
            values = [zipf(word) for word in lowered]
            rare, unknown = sum(value < _RARE for value in values), sum(value == 0 for value in values)
            rows[row] = sum(values), rare, unknown, len(values)
            ranks = [rank[word] for word in lowered if word in rank and not is_function_word(word)]
            if ranks:
                quartiles[row] = third_quartile(ranks)
        return np.concatenate((rows, mean_rows(quartiles)), axis=1)

    def score(self, totals: Floats) -> Floats:
        zipf, rare, unknown = np.moveaxis(ratio(totals[..., :3], totals[..., 3:4]), -1, 0)
        return np.stack([zipf, means(totals[..., 4:])[..., 0], rare, unknown], axis=-1)


def third_quartile(values: Sequence[float]) -> float:
    """The 75 % quantile, interpolated linearly as NumPy does; quicker than NumPy on a handful of values."""
    ordered = sorted(values)
    place = 0.75 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@functools.cache
def _frequencies(language: str) -> tuple[Callable[[str], float], dict[str, float]]:
    """From a word to its Zipf frequency, and from the most frequent words to the logarithm of 1 + their rank."""
    with needing("The metric lexical", package="wordfreq", extra="frequency"):
        import wordfreq
    try:
        ranked = wordfreq.top_n_list(language, _RANKED)
    except LookupError:
        known = ", ".join(sorted(wordfreq.available_languages()))
        raise BadSpec(f"wordfreq has no list for language={language!r}. It may be: {known}") from None

    @functools.lru_cache(maxsize=1_000_000)
    def zipf(word: str) -> float:
        # No language has longer words, and wordfreq's own tokeniser would take gigabytes to find out.
        return float(wordfreq.zipf_frequency(word, language)) if len(word) <= _LONGEST else 0.0

    return zipf, {word: math.log(1 + rank) for rank, word in enumerate(ranked)}
