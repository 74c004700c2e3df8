"""Measurements of a source and its output that need no model; the parts of ``quality`` combine them with its values.

They say what a model that compares wordings does not tell well: how much of a long source a fluent output still
contains, how far the wording is new, and how short the sentences are. All are taken from the whole texts, so a document
is measured as a document even where the model reads it in pieces.
"""

import math
from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import LCSseq

from plainly.core.metric import Floats
from plainly.text import sentences
from plainly.text.lexicon import stem
from plainly.text.sentence_alignment import align
from plainly.text.words import FUNCTION_WORDS, words

# A source with this many sentences is a document: its sentences are aligned with those of the output.
SEVERAL = 3
# What a measurement above and below the usual says about an output, for explanations of a score.
MEASUREMENTS = {
    "kept": ("less left out", "more left out"),
    "novelty": ("more new wording", "less new wording"),
    "brevity": ("shorter sentences", "longer sentences"),
    "shortening": ("a shorter text", "a longer text"),
}


def measure_pairs(sources: Sequence[str], outputs: Sequence[str]) -> Floats:
    """Return a row of ``MEASUREMENTS`` for each source and output.

    ``kept`` is 0 where the output has at least as many characters and distinct content words as its source; else the
    mean of the logarithms of both ratios, so −0.69 is half. ``novelty`` is the share of the words of the longer text
    outside the longest common subsequence (of a document whose sentences are in the order of their sources, so that a
    sentence that was moved is not new wording), ``brevity`` minus the logarithm of the output's words per sentence, and
    ``shortening`` minus the logarithm of the ratio of characters.
    """
    rows = [_measure(source, output) for source, output in zip(sources, outputs, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(MEASUREMENTS))


def _measure(source: str, output: str) -> tuple[float, float, float, float]:
    if sentences.count(source) >= SEVERAL:
        output = _in_source_order(source, output)
    before, after = ([word.lower() for word in words(text)] for text in (source, output))
    length = _log_ratio(*(len(" ".join(text.split())) for text in (output, source)))
    content = _log_ratio(
        *(len({stem(word) for word in text if word not in FUNCTION_WORDS}) for text in (after, before))
    )
    brevity = -math.log(max(len(after), 1) / max(sentences.count(output), 1))
    novelty = 1 - LCSseq.normalized_similarity(before, after)
    return (min(length, 0.0) + min(content, 0.0)) / 2, novelty, brevity, -length


def _in_source_order(source: str, output: str) -> str:
    """Return an output with its sentences in the order of those of the source that they come from."""
    alignment = align(source, output, encoder=False)
    origins = {at: min(link.source) for link in alignment.links if link.source for at in link.output}
    places, last = [], -1
    for at in range(len(alignment.output)):
        last = origins.get(at, last)  # a sentence that was added stays behind the one before it
        places.append(last)
    if places == sorted(places):
        return output
    return " ".join(alignment.output[at].text for at in sorted(range(len(places)), key=places.__getitem__))


def _log_ratio(output: int, source: int) -> float:
    return math.log((output + 1) / (source + 1))
