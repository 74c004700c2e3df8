"""What was done to the source: how far the output is from it, what was added, deleted and kept, how much is left.

None of these numbers is good or bad by itself: a system that copies scores highest on every similarity. They describe.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein

from plainly.core import limits
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, MeanMetric, Needs, mean_rows, means, ratio
from plainly.text import counts, tokenise
from plainly.text.arrays import KeyTable, Ragged, firsts, pairs
from plainly.text.counts import Sentences


class EditMetric(MeanMetric):
    """What these metrics share: they describe a change of the source and judge nothing."""

    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "neither"


@dataclass(frozen=True, repr=False)
class LevenshteinEdits(EditMetric):
    """Levenshtein distance and similarity to the source, in characters and in words, averaged over items.

    ``ratio`` is the similarity of EASSE and tseval, in which a substitution costs two edits; ``similarity`` is one
    minus the distance by the length of the longer text. Characters are those of the text as written, words its 13a
    tokens. A copy is 1: closeness to the source says nothing about whether the output is simple.
    """

    lowercase: bool = False

    name: ClassVar[str] = "levenshtein"
    outputs: ClassVar[tuple[str, ...]] = ("similarity", "ratio", "distance", "word_similarity", "word_distance")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        fold = str.lower if self.lowercase else str
        pairs = [(fold(source), fold(output)) for source, output in zip(evalset.sources, outputs, strict=True)]
        tokens = list(zip(*map(_lists, _encode(evalset, outputs, lowercase=self.lowercase)), strict=True))
        _check_sizes(pairs, evalset.ids)
        distances = [np.array([Levenshtein.distance(*pair) for pair in side]) for side in (pairs, tokens)]
        longest = [np.array([max(map(len, pair)) for pair in side]) for side in (pairs, tokens)]
        similarities = [1 - distance / np.maximum(size, 1) for distance, size in zip(distances, longest, strict=True)]
        return mean_rows(
            similarities[0],
            np.array([Indel.normalized_similarity(source, output) for source, output in pairs]),
            distances[0],
            similarities[1],
            distances[1],
        )


@dataclass(frozen=True, repr=False)
class Edits(EditMetric):
    """Words added, deleted and kept, and how many outputs are exact copies: averages over items, from 0 to 1.

    Words are 13a tokens, punctuation included, counted with repetition and without regard to order. ``added``,
    ``deleted`` and ``kept`` are shares of the longer of the two texts (``added`` and ``deleted`` as in tseval and
    EASSE); ``added_of_output`` and ``deleted_of_source`` are shares of the text that the words stand in. Whether an
    addition is invented or a deletion is a loss, they cannot say.
    """

    lowercase: bool = False

    name: ClassVar[str] = "edits"
    outputs: ClassVar[tuple[str, ...]] = ("kept", "added", "deleted", "added_of_output", "deleted_of_source", "copies")
    main_outputs: ClassVar[tuple[str, ...]] = ("kept", "added", "deleted", "copies")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        bags = compare_words(evalset, outputs, lowercase=self.lowercase)
        longer = np.maximum(bags.source, bags.output)
        fold = str.lower if self.lowercase else str
        pairs = zip(evalset.sources, outputs, strict=True)
        copies = [fold(source).split() == fold(output).split() for source, output in pairs]  # but for white space
        return mean_rows(
            ratio(bags.kept, longer),
            ratio(bags.output - bags.kept, longer),
            ratio(bags.source - bags.kept, longer),
            ratio(bags.output - bags.kept, bags.output),
            ratio(bags.source - bags.kept, bags.source),
            np.array(copies, dtype=np.float64),
        )


@dataclass(frozen=True, repr=False)
class Compression(EditMetric):
    """How long the outputs are beside their sources: 1 is as long, 0.5 half as long.

    ``compression`` is the mean over items of characters out by characters in (tseval's and EASSE's compression
    ratio, but of the text as written); ``corpus`` divides the totals; ``words`` and ``words_corpus`` are the same in
    words. Short is not simple: deleting half the meaning gives 0.5 too.
    """

    name: ClassVar[str] = "compression"
    outputs: ClassVar[tuple[str, ...]] = ("compression", "corpus", "words", "words_corpus")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        of_source = evalset.prepare("compression", lambda evalset: _sizes(evalset.sources))
        of_output = _sizes(outputs)
        return np.concatenate((mean_rows(*ratio(of_output, of_source).T), of_output, of_source), axis=1)

    def score(self, totals: Floats) -> Floats:
        characters, words = np.moveaxis(means(totals[..., :4]), -1, 0)
        corpus_characters, corpus_words = np.moveaxis(ratio(totals[..., 4:6], totals[..., 6:8]), -1, 0)
        return np.stack([characters, corpus_characters, words, corpus_words], axis=-1)


@dataclass(frozen=True, repr=False)
class EasseQuality(EditMetric):
    """EASSE's quality estimation: six of its seven numbers, by its definitions.

    All are averages over items on 13a text: compression ratio, sentence splits (sentences out by sentences in),
    Levenshtein similarity, exact copies, and the proportions of additions and deletions. EASSE's seventh, lexical
    complexity, depends on a frequency list that is not to be had as a package: see the metric ``lexical``. They
    describe what a system does; none of them is quality.
    """

    lowercase: bool = False
    sentences: Sentences = "rules"

    name: ClassVar[str] = "easse-quality"
    outputs: ClassVar[tuple[str, ...]] = (
        "compression_ratio", "sentence_splits", "levenshtein_similarity", "exact_copies",
        "additions_proportion", "deletions_proportion",
    )  # fmt: skip
    main_outputs: ClassVar[tuple[str, ...]] = outputs

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        sources, split_sources = evalset.prepare(
            ("easse-quality", self.lowercase, self.sentences), lambda evalset: self._read(evalset.sources)
        )
        texts, split_outputs = self._read(outputs)
        pairs = list(zip(sources, texts, strict=True))
        _check_sizes(pairs, evalset.ids)
        size_in, size_out = (np.array([len(text) for text in side], dtype=np.float64) for side in (sources, texts))
        bags = compare_words(evalset, outputs, lowercase=self.lowercase)
        longer = np.maximum(bags.source, bags.output)
        return mean_rows(
            ratio(size_out, size_in),
            ratio(split_outputs, split_sources),
            np.array([Indel.normalized_similarity(source, output) for source, output in pairs]),
            np.array([source == output for source, output in pairs], dtype=np.float64),
            ratio(bags.output - bags.kept, longer),
            ratio(bags.source - bags.kept, longer),
        )

    def _read(self, texts: Sequence[str]) -> tuple[list[str], Floats]:
        """The 13a text and how many sentences EASSE finds in it; Punkt sees the case that the text is compared in."""
        whole = tokenise.unbroken([text.lower() for text in texts] if self.lowercase else texts)
        # A chunk may vanish (<skipped>), and then leaves no space behind.
        joined = [" ".join(filter(None, map(_chunk_13a, text.split()))) for text in whole]
        if self.sentences == "punkt":
            return joined, counts.punkt_counts(joined).astype(np.float64)
        return joined, counts.count_easse(texts)[:, 0].astype(np.float64)


class Bags(NamedTuple):
    """How many words source and output have, and how many they share, item by item."""

    source: Floats
    output: Floats
    kept: Floats


def compare_words(evalset: EvalSet, outputs: Sequence[str], *, lowercase: bool) -> Bags:
    """Compare source and output as bags of 13a tokens."""
    source, output = _encode(evalset, outputs, lowercase=lowercase)
    table, rows = KeyTable.numbering(pairs(source.owners, source.values))
    rows_out = table.find(pairs(output.owners, output.values))
    counts_in = np.bincount(rows, minlength=len(table))
    counts_out = np.bincount(rows_out[rows_out >= 0], minlength=len(table))
    items = firsts(table.columns[0])
    kept = np.bincount(items, weights=np.minimum(counts_in, counts_out), minlength=len(outputs))
    return Bags(source.lengths.astype(np.float64), output.lengths.astype(np.float64), kept.astype(np.float64))


def _encode(evalset: EvalSet, outputs: Sequence[str], *, lowercase: bool) -> tuple[Ragged, Ragged]:
    """Sources and outputs as 13a token ids of one vocabulary; the sources are encoded once."""

    def build(evalset: EvalSet) -> tuple[tokenise.Vocabulary, Ragged]:
        vocabulary = tokenise.vocabulary("13a", lowercase=lowercase)
        return vocabulary, vocabulary.encode(evalset.sources)

    vocabulary, sources = evalset.prepare(("edits", lowercase), build)
    return sources, vocabulary.encode(outputs)


def _check_sizes(pairs: Sequence[tuple[str, str]], ids: Sequence[str]) -> None:
    """Edits take time with the product of the lengths; what would take hours is refused, and by its name."""
    for (source, output), name in zip(pairs, ids, strict=True):
        if source != output:
            limits.check("comparisons", len(source) * len(output), f"Item {name!r}, source and output,")


def _lists(encoded: Ragged) -> list[list[int]]:
    tokens, offsets = encoded.values.tolist(), encoded.offsets.tolist()
    return [tokens[start:end] for start, end in pairwise(offsets)]


@functools.lru_cache(maxsize=200_000)
def _chunk_13a(chunk: str) -> str:
    return " ".join(tokenise.tokens_13a(chunk))


def _sizes(texts: Sequence[str]) -> Floats:
    characters = np.array([len(text.strip()) for text in texts], dtype=np.float64)
    return np.stack([characters, counts.count(texts)[:, 1].astype(np.float64)], axis=-1)
