"""Edits of the source: how far the output is from it, what was added, deleted, kept and split, how much is left.

None of these numbers is good or bad by itself: a system that copies has the highest similarity. They describe.
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein

from plainly.core import limits
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, MeanMetric, Needs, mean_rows, means, ratio
from plainly.text import counts, sentences, tokenise
from plainly.text.arrays import KeyTable, Ragged, firsts, pairs
from plainly.text.counts import Sentences
from plainly.text.languages import CODES


class EditMetric(MeanMetric):
    """A metric that describes changes of the source and does not judge them."""

    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "neither"


@dataclass(frozen=True, repr=False)
class LevenshteinEdits(EditMetric):
    """Levenshtein distance and similarity to the source, in characters and in words, averaged over items.

    ``ratio`` is the similarity of EASSE and tseval, in which a substitution costs two edits; ``similarity`` is one
    minus the distance by the length of the longer text. Characters are those of the text as written, words its 13a
    tokens. A copy has 1: closeness to the source does not show whether the output is simple.
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
        indel = np.array([Indel.normalized_similarity(source, output) for source, output in pairs])
        return mean_rows(similarities[0], indel, distances[0], similarities[1], distances[1])


@dataclass(frozen=True, repr=False)
class Edits(EditMetric):
    """Words added, deleted and kept, and how many outputs are exact copies: averages over items, from 0 to 1.

    Words are 13a tokens, punctuation included, counted with repetition and without regard to order. ``added``,
    ``deleted`` and ``kept`` are shares of the longer of the two texts (``added`` and ``deleted`` as in tseval and
    EASSE); ``added_of_output`` and ``deleted_of_source`` are shares of the text that has the words. They do not show
    whether an addition is invented or a deletion is a loss.
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
            ratio(bags.common, longer),
            ratio(bags.output - bags.common, longer),
            ratio(bags.source - bags.common, longer),
            ratio(bags.output - bags.common, bags.output),
            ratio(bags.source - bags.common, bags.source),
            np.array(copies, dtype=np.float64),
        )


@dataclass(frozen=True, repr=False)
class Compression(EditMetric):
    """How long the outputs are compared with their sources: 1 is as long, 0.5 half as long.

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
    complexity, depends on a frequency list that is not available as a package: see the metric ``lexical``. They
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
            ratio(bags.output - bags.common, longer),
            ratio(bags.source - bags.common, longer),
        )

    def _read(self, texts: Sequence[str]) -> tuple[list[str], Floats]:
        """Return the 13a texts and how many sentences EASSE finds in each; Punkt gets the text in the case compared."""
        whole = tokenise.unbroken([text.lower() for text in texts] if self.lowercase else texts)
        # A chunk may vanish (<skipped>), and then leaves no space behind.
        tokens = [" ".join(filter(None, map(_chunk_13a, text.split()))) for text in whole]
        is_punkt = self.sentences == "punkt"
        sentence_counts = counts.punkt_counts(tokens) if is_punkt else counts.count_easse(texts)[:, 0]
        return tokens, sentence_counts.astype(np.float64)


@dataclass(frozen=True, repr=False)
class Splits(EditMetric):
    """How often a source sentence became several, by two definitions, and the number of sentences before and after.

    ``split`` is the share of items with more sentences in the output than in the source, ``merged`` of those with
    fewer. ``full_stops`` is the definition of Tanprasert & Kauchak (2021): the share of items with more full-stop
    characters than the source, which counts abbreviations and decimals too. ``ratio`` is the mean of sentences out by
    sentences in (tseval's sentence splits). ``sentences_in`` and ``sentences_out`` are means per item. It does
    not distinguish a good split from a misplaced full stop.
    """

    sentences: Sentences = "rules"
    language: str = "en"

    name: ClassVar[str] = "splits"
    needs_of: ClassVar[Mapping[str, Needs]] = {"sentences_out": frozenset()}
    outputs: ClassVar[tuple[str, ...]] = ("split", "merged", "full_stops", "ratio", "sentences_in", "sentences_out")
    main_outputs: ClassVar[tuple[str, ...]] = ("split", "full_stops", "sentences_in", "sentences_out")
    choices: ClassVar[Mapping[str, Collection[str]]] = {"language": CODES}

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
        count = sentences.counts if self.sentences == "rules" else counts.punkt_counts
        return count(texts, self.language).astype(np.float64)


class Bags(NamedTuple):
    """How many words source and output have, and how many they share, item by item."""

    source: Floats
    output: Floats
    common: Floats


def compare_words(evalset: EvalSet, outputs: Sequence[str], *, lowercase: bool) -> Bags:
    """Compare source and output as bags of 13a tokens."""
    source, output = _encode(evalset, outputs, lowercase=lowercase)
    table, rows = KeyTable.numbering(pairs(source.owners, source.values))
    rows_out = table.find(pairs(output.owners, output.values))
    counts_in = np.bincount(rows, minlength=len(table))
    counts_out = np.bincount(rows_out[rows_out >= 0], minlength=len(table))
    items = firsts(table.columns[0])
    common = np.bincount(items, weights=np.minimum(counts_in, counts_out), minlength=len(outputs))
    return Bags(source.lengths.astype(np.float64), output.lengths.astype(np.float64), common.astype(np.float64))


def _encode(evalset: EvalSet, outputs: Sequence[str], *, lowercase: bool) -> tuple[Ragged, Ragged]:
    """Return sources and outputs as 13a token ids of one vocabulary; the sources are encoded once."""

    def build(evalset: EvalSet) -> tuple[tokenise.Vocabulary, Ragged]:
        vocabulary = tokenise.vocabulary("13a", lowercase=lowercase)
        return vocabulary, vocabulary.encode(evalset.sources)

    vocabulary, sources = evalset.prepare(("edits", lowercase), build)
    return sources, vocabulary.encode(outputs)


def _check_sizes(pairs: Sequence[tuple[str, str]], ids: Sequence[str]) -> None:
    """Raise an error that names the item if its edits would take hours: time is the product of the lengths."""
    for (source, output), name in zip(pairs, ids, strict=True):
        if source != output:
            limits.check("comparisons", len(source) * len(output), f"Item {name!r}, source and output,")


def _lists(texts: Ragged) -> list[list[int]]:
    tokens, offsets = texts.values.tolist(), texts.offsets.tolist()
    return [tokens[start:end] for start, end in pairwise(offsets)]


@functools.lru_cache(maxsize=200_000)
def _chunk_13a(chunk: str) -> str:
    return " ".join(tokenise.tokens_13a(chunk))


def _sizes(texts: Sequence[str]) -> Floats:
    characters = np.array([len(text.strip()) for text in texts], dtype=np.float64)
    return np.stack([characters, counts.count(texts)[:, 1].astype(np.float64)], axis=-1)
