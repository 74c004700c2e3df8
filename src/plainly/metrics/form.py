"""The form of a text: how long its sentences and words are, and how often a source sentence was split."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, Needs
from plainly.metrics.means import CheckedMetric, MeanMetric, mean_rows, ratio
from plainly.text import counts
from plainly.text import sentences as splitter
from plainly.text.counts import Sentences
from plainly.text.languages import language as known_language


@dataclass(frozen=True, repr=False)
class Splits(MeanMetric):
    """How often a source sentence became several, by two definitions, and how many sentences go in and come out."""

    sentences: Sentences = "rules"
    language: str = "en"

    name: ClassVar[str] = "splits"
    outputs: ClassVar[tuple[str, ...]] = ("split", "merged", "full_stops", "ratio", "sentences_in", "sentences_out")
    shown: ClassVar[tuple[str, ...]] = ("split", "full_stops", "sentences_in", "sentences_out")

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
class Length(CheckedMetric):
    """How long sentences and words are, over the whole text, and how long an output is on average."""

    variant: Literal["plainly", "kauchak"] = "plainly"
    sentences: Sentences = "rules"
    language: str = "en"

    name: ClassVar[str] = "length"
    needs: ClassVar[Needs] = frozenset()
    better: ClassVar[Better] = "neither"
    shown: ClassVar[tuple[str, ...]] = ("words_per_sentence", "characters_per_word", "syllables_per_word")
    outputs: ClassVar[tuple[str, ...]] = (*shown, "words", "sentences", "characters")

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
