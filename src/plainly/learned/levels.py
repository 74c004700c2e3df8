"""From texts to CEFR levels: what the encoder sees of every sentence, and two linear heads that read it.

One head reads a sentence, the other a text. A sentence is rated by itself and a text as a whole: the sentences of a
text for beginners are on average harder than the text, and those of a hard text easier. So the reading of a text with n
sentences is 1/n the average of its sentences' levels and the rest the level of the whole, which is read from what its
sentences have in common, longer sentences counting more. A text of one sentence is that sentence.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.metric import Floats
from plainly.learned import encoder
from plainly.text.sentence_alignment import sentences_of
from plainly.text.syllables import count_rules
from plainly.text.words import words

LEVELS = ("A1", "A2", "B1", "B2", "C1", "C2")
FILE = "cefr.npz"
_SENTENCES_AT_ONCE = 4096
_syllables = lru_cache(maxsize=1 << 16)(count_rules)


@dataclass(frozen=True)
class Head:
    """A linear function of features."""

    weights: Floats
    bias: Floats

    def __call__(self, features: Floats) -> Floats:
        level: Floats = features @ self.weights + self.bias
        return level


@dataclass(frozen=True)
class LevelReader:
    """The two heads on an encoder: levels from 1 (A1) to 6 (C2), not cut off at the ends; NaN without a word."""

    model: encoder.Encoder
    sentence: Head
    text: Head

    def levels(self, texts: Sequence[str]) -> Floats:
        """The level of each text, of any length; what was read once is remembered."""

        def compute(chosen: list[int]) -> Floats:
            return self._levels([texts[at] for at in chosen])[:, None]

        weights = np.concatenate([self.sentence.weights, self.text.weights]).tobytes()
        heads = hashlib.blake2b(weights, digest_size=8).hexdigest()
        return self.model.remembered(f"cefr {heads}", texts, 1, compute)[:, 0]

    def _levels(self, texts: Sequence[str]) -> Floats:
        levels = np.full(len(texts), np.nan)
        for chosen, owners, features in self.features(texts):
            sizes = np.bincount(owners, minlength=len(chosen))
            single = np.bincount(owners, weights=self.sentence(features), minlength=len(chosen)) / np.maximum(sizes, 1)
            whole = self.text(averaged(features, owners, len(chosen)))
            share = 1 / np.maximum(sizes, 1)
            levels[chosen] = np.where(sizes == 0, np.nan, share * single + (1 - share) * whole)
        return levels

    def sentence_levels(self, texts: Sequence[str]) -> list[Floats]:
        """The level of each sentence of each text."""
        by_text: list[Floats] = [np.empty(0)] * len(texts)
        for chosen, owners, features in self.features(texts):
            levels = self.sentence(features)
            for at, place in enumerate(chosen):
                by_text[place] = levels[owners == at]
        return by_text

    def features(self, texts: Sequence[str]) -> Iterator[tuple[list[int], npt.NDArray[np.int64], Floats]]:
        """What is seen of the sentences of some texts at a time: the texts' places, the text of each sentence, and
        features; so few at a time that a corpus of long documents does not fill the memory."""
        for chosen, sentences in _blocks(texts):
            owners = np.array([at for at, of_text in enumerate(sentences) for _ in of_text], dtype=np.int64)
            flat = [sentence for of_text in sentences for sentence in of_text]
            if flat:
                yield chosen, owners, sentence_features(self.model, flat)


def sentence_features(model: encoder.Encoder, sentences: Sequence[str]) -> Floats:
    """The model's values and average vector of each sentence, and what can be counted, of which the first is words."""
    values, means = model.features(sentences)
    counted = np.array([_counted(sentence) for sentence in sentences])
    return np.concatenate([counted, values, means], axis=1)


def averaged(features: Floats, owners: npt.NDArray[np.int64], texts: int) -> Floats:
    """The average features of each text, every sentence weighing as much as it has words."""
    weights = features[:, 0]
    sums = np.zeros((texts, features.shape[1]))
    np.add.at(sums, owners, features * weights[:, None])
    return sums / np.maximum(np.bincount(owners, weights=weights, minlength=texts), 1)[:, None]


def load(model: str = encoder.SHIPPED) -> LevelReader:
    """The reader on the shipped encoder, or on one of your own for which ``plainly train cefr`` fitted heads."""
    loaded = encoder.load(model)
    path = encoder.directory(model) / FILE
    if not path.is_file():
        raise BadInput(
            f"The model {loaded.name!r} reads no CEFR levels: there is no {path}. Fit its heads: plainly train cefr "
            f"--output {path.parent}"
        )
    return LevelReader(loaded, *_heads(str(path), path.stat().st_mtime_ns))


def save(path: Path, reader: LevelReader) -> None:
    """Write the heads."""
    import io

    from plainly.core.files import write_whole

    content = io.BytesIO()
    heads = {"sentence": reader.sentence, "text": reader.text}
    np.savez(content, **{
        f"{name}_{field.name}": getattr(head, field.name).astype(np.float32)
        for name, head in heads.items()
        for field in fields(head)
    })  # fmt: skip
    write_whole(path, content.getvalue())


@lru_cache(maxsize=4)
def _heads(path: str, changed: int) -> tuple[Head, Head]:
    with np.load(path) as stored:
        numbers = {name: stored[name].astype(np.float64) for name in stored.files}
    sentence, text = (Head(numbers[f"{name}_weights"], numbers[f"{name}_bias"]) for name in ("sentence", "text"))
    return sentence, text


def _blocks(texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[str]]]]:
    """The sentences of some texts at a time, with the places of the texts."""
    chosen: list[int] = []
    block: list[list[str]] = []
    size = 0
    for place, text in enumerate(texts):
        of_text = [" ".join(sentence.text.split()) for sentence in sentences_of(text)]
        chosen.append(place)
        block.append(of_text)
        size += len(of_text)
        if size >= _SENTENCES_AT_ONCE:
            yield chosen, block
            chosen, block, size = [], [], 0
    if chosen:
        yield chosen, block


def _counted(sentence: str) -> tuple[float, ...]:
    """Words (1: as a weight), and how long the sentence and its words are."""
    found = words(sentence) or ["-"]
    n = len(found)
    characters = [len(word) for word in found]
    stops = sum(mark in ",;:" for mark in sentence)
    return (
        n,
        float(np.log(n)),
        (n / 20) ** 2,
        sum(characters) / n,
        sum(map(_syllables, found)) / n,
        max(characters) / 10,
        sum(length > 6 for length in characters) / n,
        stops**0.5,
        sum(word[0].isupper() for word in found[1:]) / n,
    )
