"""How common the words are: frequent words are mostly easy words. Frequencies come from the package wordfreq."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plainly.core.errors import BadSpec, needing
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.metrics.means import CheckedMetric, mean_rows, means, ratio
from plainly.text.languages import CODES
from plainly.text.words import FUNCTION_WORDS, words

_RANKED = 50_000
# tseval leaves function words out of its quartile; in other languages than English these are the most frequent words.
_FUNCTION_WORDS = 130
_LONGEST = 200  # characters of a word that may be known
_RARE = 3.0  # less than once in a million words


@dataclass(frozen=True, repr=False)
class Lexical(CheckedMetric):
    """How common the words of the outputs are, by their frequency in everyday text."""

    language: str = "en"

    name: ClassVar[str] = "lexical"
    needs: ClassVar[Needs] = frozenset()
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
