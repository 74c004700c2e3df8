"""Quality, fluency and meaning: a model reads source and output together, without references.

The judge learnt from sentences, so longer texts are read in pieces of aligned sentences. One pass serves every metric
that asks (``score_cache`` remembers it). An output without a word is the worst there is, so that leaving outputs blank
never helps. Where the source has no word there is nothing to judge by. The parts of ``quality`` are multiplied, so that
none can make up for another: a refusal is fluent and simple and keeps nothing, a copy is fluent and faithful and no
simpler, and both are far from good.

``meaning(variant=tokens)`` matches every token with the most similar token of the other text: the matching of BERTScore
(Zhang et al. 2019) on the small encoder that plainly ships. Its vectors come from a middle layer that training held to
the original sentence encoder, so they still tell what words mean in context. Published BERTScore numbers come from
other encoders and cannot be compared with it; ``bertscore`` is for those.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats
from plainly.learned import encoder, score_cache
from plainly.learned.encoder import Encoder, ReadingMetric, Readings, Vectors, rows
from plainly.learned.pieces import pieces
from plainly.learned.sle import gains
from plainly.text import sentences

# From so many sentences of the source on, a pair is read in pieces of so many tokens: docs/documents.md says why.
SEVERAL, _PIECE = 3, 72
HEADS = ("overall", "fluency", "meaning", "simplicity")
Variant = Literal["tokens", "judge"]
DEFAULT: Variant = "judge"  # chosen by how well each agrees with people: docs/learned-metrics.md
_MODELS = {"tokens": encoder.SHIPPED, "judge": encoder.JUDGE}
_OUTPUTS = {"tokens": ("f1", "precision", "recall"), "judge": ("meaning",)}
_PAIRS_AT_ONCE = 2000  # whose vectors are in memory together
_KEPT = 10_000  # vectors of sources or references: some 50 KB each
_ROWS_AT_ONCE = 512  # tokens compared with another text's: bounds the memory that two long texts take


def judged(model: Encoder, evalset: EvalSet, outputs: Sequence[str]) -> Readings:
    """What the model says of each output: the value of every head, from 0 (worst) to 1 (best)."""
    long = evalset.prepare("judge: long", lambda evalset: sentences.counts(evalset.sources) >= SEVERAL)
    readings = _read(model, list(zip(evalset.sources, outputs, strict=True)), long)
    unread = np.isnan(readings.values).any(axis=1)
    readable = evalset.prepare(("readable", model.name), lambda evalset: np.array(model.sizes(evalset.sources)) > 0)
    written = np.array(model.sizes([outputs[at] for at in np.flatnonzero(unread).tolist()]), dtype=np.int64) > 0
    values = np.clip(readings.values, 0.0, 1.0)
    values[unread] = np.where((readable[unread] & ~written)[:, None], 0.0, np.nan)
    return Readings(values, readings.pieces)


def _read(model: Encoder, pairs: Sequence[tuple[str, str]], long: npt.NDArray[np.bool_]) -> Readings:
    """Readings of pairs: of texts with several sentences in aligned pieces, averaged by their tokens."""
    values, counts = np.full((len(pairs), len(model.heads)), np.nan), np.ones(len(pairs))
    values[~long], counts[~long] = model.readings([pairs[at] for at in np.flatnonzero(~long).tolist()])
    texts = [pairs[at] for at in np.flatnonzero(long).tolist()]

    def compute(chosen: list[int]) -> Floats:
        return _in_pieces(model, [texts[at] for at in chosen])

    keys = [f"{source}\x1e{output}" for source, output in texts]
    rows = model.remembered(f"pieces {_PIECE}", keys, len(model.heads) + 1, compute)
    values[long], counts[long] = rows[:, :-1], rows[:, -1]
    return Readings(values, counts)


def _in_pieces(model: Encoder, pairs: Sequence[tuple[str, str]]) -> Floats:
    """A row for each pair: the mean of its aligned pieces by their tokens, and how many there are if it is long."""
    cut = [pieces(*pair, size=model.sizes, longest=_PIECE) for pair in pairs]
    flat = [pair for of_text in cut for pair in of_text]
    read = model.readings(flat).values
    sizes = np.array([model.sizes(side) for side in zip(*flat, strict=True)]).sum(axis=0)
    rows = np.full((len(pairs), len(model.heads) + 1), np.nan)
    end = 0
    for row, of_text in zip(rows, cut, strict=True):
        start, end = end, end + len(of_text)
        known = ~np.isnan(read[start:end, 0])
        if known.any():
            weights = np.maximum(sizes[start:end][known], 1)
            row[:-1] = np.average(read[start:end][known], axis=0, weights=weights)
        row[-1] = len(of_text) if sizes[start:end].sum() > model.longest else 1
    return rows


def load_judge(name: str) -> Encoder:
    """A model that judges, or an error that says why this one does not."""
    model = encoder.load(name)
    missing = [head for head in HEADS if head not in model.heads]
    if missing:
        raise BadInput(
            f"{name} has no head {missing[0]!r}: it does not read source and output together. "
            f"Leave model= out, or give the directory that 'plainly train quality' wrote."
        )
    return model


@dataclass(frozen=True)
class Combination:
    """How the parts become one: constants that come with a model (``combination`` in its model.json).

    Simplicity is what the judge's head says, mixed with the gain of ``sle`` brought to 0–1 by a logistic curve;
    quality is the weighted geometric mean of the parts.
    """

    powers: Mapping[str, float] = field(
        default_factory=lambda: {"overall": 1.0, "fluency": 1.0, "meaning": 1.0, "simplicity": 1.0}
    )
    gain: float = 0.5  # how much of simplicity is the gain, and not the head
    middle: float = 0.0  # the gain that counts one half
    width: float = 0.5  # so much more gain, and the odds are e times as good
    sle: str = encoder.SHIPPED

    @classmethod
    def of(cls, facts: Mapping[str, Any] | None) -> "Combination":
        """What a model's facts say; the defaults where they say nothing."""
        return cls(**(facts or {}).get("combination", {}))

    def simplicity(self, head: Floats, gains: Floats) -> Floats:
        """Simplicity from 0 to 1, by the head and by the gain in levels."""
        if not self.gain:
            return head
        return (1 - self.gain) * head + self.gain / (1 + np.exp((self.middle - gains) / self.width))

    def quality(self, parts: Mapping[str, Floats]) -> Floats:
        """Quality from 0 to 1: 0 where a part is 0, 1 where all are 1, and never more for less of any part."""
        weights = {name: power for name, power in self.powers.items() if power}
        product = np.prod([parts[name] ** power for name, power in weights.items()], axis=0)
        total: Floats = product ** (1 / sum(weights.values()))
        return total


@dataclass(frozen=True, repr=False)
class Quality(ReadingMetric):
    """Quality of a simplification without references, 0–100: fluent and faithful and simpler, beside its parts.

    A model (plainly-quality-2) reads source and output together. ``fluency``, ``meaning`` and ``simplicity`` are the
    parts, ``quality`` their weighted geometric mean: an output must be fluent and faithful and simpler, and no part
    makes up for another. ``simplicity`` is what the model says of it mixed with the gain of ``sle``. Empty outputs
    score 0. ``model`` may be the directory of a model that you trained. EASSE's quality estimation is
    ``easse-quality``.
    """

    model: str = encoder.JUDGE

    name: ClassVar[str] = "quality"
    outputs: ClassVar[tuple[str, ...]] = ("quality", "fluency", "meaning", "simplicity")
    main_outputs: ClassVar[tuple[str, ...]] = outputs

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        model = load_judge(self.model)
        combination = Combination.of(model.facts)
        readings = judged(model, evalset, outputs)
        parts = {head: readings.values[:, model.heads.index(head)] for head in HEADS}
        gained = gains(combination.sle, evalset, outputs) if combination.gain else np.zeros(len(outputs))
        simplicity = combination.simplicity(parts["simplicity"], gained)
        parts["simplicity"] = np.where(parts["simplicity"] == 0, 0.0, simplicity)  # nothing written is not simple
        columns = [combination.quality(parts), *(parts[name] for name in self.outputs[1:])]
        return rows(*(100 * column for column in columns), pieces=readings.pieces)


@dataclass(frozen=True, repr=False)
class Fluency(ReadingMetric):
    """Fluency of the output as the judge reads it beside its source, 0–100: is it well-formed English?

    A part of ``quality``, by the same reading of source and output: is the output well-formed? Empty outputs score 0.
    It says nothing of meaning or simplicity: a fluent sentence about something else is fluent.
    """

    model: str = encoder.JUDGE

    name: ClassVar[str] = "fluency"
    outputs: ClassVar[tuple[str, ...]] = ("fluency",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        model = load_judge(self.model)
        readings = judged(model, evalset, outputs)
        return rows(100 * readings.values[:, model.heads.index("fluency")], pieces=readings.pieces)


@dataclass(frozen=True, repr=False)
class Meaning(ReadingMetric):
    """How much of the source's meaning the output keeps, 0–100, averaged over items: by matching tokens (precision,
    recall and F1), or as the judge reads both.

    ``variant=tokens`` matches the tokens of output and source (``f1``, ``precision``, ``recall``); a copy scores 100,
    and ``against=references`` takes for each item the reference with the best F1. ``variant=judge`` is the part
    ``meaning`` of ``quality``. Read it beside a simplicity score, never alone. An item without words on one side scores
    0; without words on both it has no score.
    """

    variant: Variant = DEFAULT
    against: Literal["source", "references"] = "source"
    model: str = _MODELS[DEFAULT]

    name: ClassVar[str] = "meaning"
    outputs: ClassVar[tuple[str, ...]] = _OUTPUTS[DEFAULT]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "judge" and self.against == "references":
            raise BadSpec(
                "meaning(variant=judge) reads the output beside its source. "
                "To compare with references, match tokens: meaning(variant=tokens,against=references)"
            )
        if self.model == _MODELS[DEFAULT]:
            object.__setattr__(self, "model", _MODELS[self.variant])
        object.__setattr__(self, "needs", frozenset({self.against}))
        object.__setattr__(self, "outputs", _OUTPUTS[self.variant])

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        if self.variant == "judge":
            model = load_judge(self.model)
            readings = judged(model, evalset, outputs)
            return rows(100 * readings.values[:, model.heads.index("meaning")], pieces=readings.pieces)
        if self.against == "references":
            evalset.require_references("meaning(against=references)")
        others = evalset.references if self.against == "references" else [(source,) for source in evalset.sources]
        pairs = [(output, other) for output, row in zip(outputs, others, strict=True) for other in row]
        kept: dict[str, Vectors] = evalset.prepare(("meaning", self.model, self.against), lambda _: {})
        matched = iter(_matches(encoder.load(self.model), pairs, kept))
        best = [max((next(matched) for _ in row), key=_first) for row in others]
        values = np.array(best, dtype=np.float64).reshape(len(outputs), 4)
        return rows(*100 * values[:, :3].T, pieces=values[:, 3])


def _first(scores: Floats) -> float:
    return -1.0 if np.isnan(scores[0]) else float(scores[0])


def _matches(model: Encoder, pairs: Sequence[tuple[str, str]], kept: dict[str, Vectors]) -> Floats:
    """For each pair of an output and another text F1, precision and recall, and in how many pieces the longer one was
    read. ``kept`` holds vectors of the other texts, which the next system is compared with too."""

    def compute(chosen: Sequence[int]) -> Floats:
        values = []
        for start in range(0, len(chosen), _PAIRS_AT_ONCE):
            block = [pairs[at] for at in chosen[start : start + _PAIRS_AT_ONCE]]
            texts = [text for text in dict.fromkeys(text for pair in block for text in pair) if text not in kept]
            vectors = {**kept, **dict(zip(texts, model.vectors(texts), strict=True))}
            if len(kept) < _KEPT:
                kept.update((other, vectors[other]) for _, other in block)
            for output, other in ((vectors[output], vectors[other]) for output, other in block):
                pieces = -(-max(len(output), len(other)) // (model.longest - 2))
                values.append((*match(output, other), pieces))
        return np.array(values)

    keys = [f"{output}\x1e{other}" for output, other in pairs]
    return score_cache.remembered(f"match {model.identity}", keys, 4, compute)


def match(output: Vectors, other: Vectors) -> tuple[float, float, float]:
    """F1, precision and recall of greedy matching between two sets of unit vectors (Zhang et al. 2019, Eq. 1–3)."""
    if not len(output) and not len(other):
        return np.nan, np.nan, np.nan
    if not len(output) or not len(other):
        return 0.0, 0.0, 0.0
    similar = [output[at : at + _ROWS_AT_ONCE] @ other.T for at in range(0, len(output), _ROWS_AT_ONCE)]
    precision = float(np.concatenate([block.max(axis=1) for block in similar]).mean())
    recall = float(np.max([block.max(axis=0) for block in similar], axis=0).mean())
    both = precision + recall
    return (2 * precision * recall / both if both > 0 else 0.0), precision, recall
