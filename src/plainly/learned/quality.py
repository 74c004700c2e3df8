"""Quality, fluency and meaning: a model reads source and output together, without references.

The parts of ``quality`` are the values of the model's heads, or linear heads fitted to people's ratings over those
values and a few measurements (``measurements``); their weights come with the model.

The model was trained on sentences, so longer texts are read in pieces of aligned sentences. Readings are cached, so one
pass serves all of these metrics. An output without a word gets the worst score, so leaving outputs blank never helps; a
source without a word gives no score. The parts of ``quality`` are multiplied, so that none can make up for another: a
refusal keeps no meaning, a copy is not simpler, and both score low.

``meaning(variant=tokens)`` matches every token with the most similar token of the other text: the matching of BERTScore
(Zhang et al. 2019) on the small encoder that plainly ships. Its vectors come from a middle layer that training held to
the original sentence encoder, so they still represent what words mean in context. Published BERTScore numbers come from
other encoders and are not comparable; use ``bertscore`` for those.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Reason
from plainly.learned import encoder
from plainly.learned.encoder import Encoder, ReadingMetric, Readings, Vectors, rows
from plainly.learned.measurements import MEASUREMENTS, SEVERAL, measure_pairs
from plainly.learned.pieces import pieces
from plainly.learned.score_cache import cached_rows
from plainly.learned.sle import gains
from plainly.text import sentences

# A source of several sentences is read with its output in pieces of this many tokens: docs/documents.md.
_PIECE = 72
HEADS = ("overall", "fluency", "meaning", "simplicity")
# What a value above and below the usual says about an output, for explanations of a score.
_WORDS = MEASUREMENTS | {
    "fluency": ("more fluent", "less fluent"),
    "meaning": ("closer in meaning", "less close in meaning"),
    "simplicity": ("reads simpler", "reads less simple"),
}
Variant = Literal["tokens", "judge"]
DEFAULT: Variant = "judge"  # chosen by how well each agrees with people: docs/learned-metrics.md
_MODELS = {"tokens": encoder.SHIPPED, "judge": encoder.JUDGE}
_OUTPUTS = {"tokens": ("f1", "precision", "recall"), "judge": ("meaning",)}
_PAIRS_PER_BLOCK = 2000  # whose vectors are in memory together
_VECTORS_IN_MEMORY = 10_000  # of sources or references: some 50 KB each
_TOKENS_PER_BLOCK = 512  # compared with another text's tokens: bounds the memory that two long texts take


def read_pairs(model: Encoder, evalset: EvalSet, outputs: Sequence[str]) -> Readings:
    """Return the value of every head for each output and its source, from 0 (worst) to 1 (best)."""
    is_long = evalset.prepare("judge: long", lambda evalset: sentences.counts(evalset.sources) >= SEVERAL)
    pairs = list(zip(evalset.sources, outputs, strict=True))
    readings = model.read_long(pairs, is_long, f"pieces {_PIECE}", _read_in_pieces)
    unread = np.isnan(readings.values).any(axis=1)
    has_source = evalset.prepare(("readable", model.name), lambda evalset: np.array(model.sizes(evalset.sources)) > 0)
    sizes = np.array(model.sizes([outputs[at] for at in np.flatnonzero(unread).tolist()]), dtype=np.int64)
    values = np.clip(readings.values, 0.0, 1.0)
    values[unread] = np.where((has_source[unread] & (sizes == 0))[:, None], 0.0, np.nan)
    return Readings(values, readings.pieces)


def _read_in_pieces(model: Encoder, pairs: Sequence[tuple[str, str]]) -> Floats:
    """Return a row for each pair: the mean of its aligned pieces weighted by their tokens, and their number.

    The number is 1 for a pair that would have fitted into the window.
    """
    cut = [pieces(*pair, size=model.sizes, longest=_PIECE) for pair in pairs]
    flat = [pair for of_text in cut for pair in of_text]
    values = model.estimates(flat)
    sizes = np.array([model.sizes(side) for side in zip(*flat, strict=True)]).sum(axis=0)
    rows = np.full((len(pairs), len(model.heads) + 1), np.nan)
    end = 0
    for row, of_text in zip(rows, cut, strict=True):
        start, end = end, end + len(of_text)
        is_read = ~np.isnan(values[start:end, 0])
        if is_read.any():
            weights = np.maximum(sizes[start:end][is_read], 1)
            row[:-1] = np.average(values[start:end][is_read], axis=0, weights=weights)
        row[-1] = len(of_text) if sizes[start:end].sum() > model.longest else 1
    return rows


def load_judge(name: str) -> Encoder:
    """Load a model that reads source and output together, or raise an error if it does not."""
    model = encoder.load(name)
    missing = [head for head in HEADS if head not in model.heads]
    if missing:
        raise BadInput(
            f"The model {name} does not read source and output together: it has no head {missing[0]!r}. "
            "Leave out model=, or pass the directory that 'plainly train quality' wrote."
        )
    return model


@dataclass(frozen=True)
class Term:
    """What a value contributes to a part: ``weight`` per unit above ``average``; it is cut off above ``most``."""

    weight: float
    average: float
    most: float = np.inf

    def __call__(self, values: Floats) -> Floats:
        return self.weight * (np.minimum(values, self.most) - self.average)


@dataclass(frozen=True)
class FittedHead:
    """A linear head: ``average``, plus the contribution of each term, named after a head of the model or a measurement.

    The averages are those of the pairs that it was fitted on, so that contributions say how an output differs from
    what is usual.
    """

    average: float
    terms: Mapping[str, Term]

    @classmethod
    def of(cls, average: float, terms: Mapping[str, Mapping[str, float]], **facts: object) -> "FittedHead":
        """Build a head from its entry in model.json; ``facts`` say what it was fitted on."""
        return cls(average, {name: Term(**term) for name, term in terms.items()})

    def contributions(self, values: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return what each term adds to the average, or takes from it."""
        return {name: term(values[name]) for name, term in self.terms.items()}

    def __call__(self, values: Mapping[str, Floats]) -> Floats:
        return np.clip(self.average + sum(self.contributions(values).values()), 0.0, 1.0)


@dataclass(frozen=True)
class Combination:
    """How the parts are made and combined: constants that come with a model (``combination`` in its model.json).

    A part is its fitted head in ``parts``, or else the value of the model's head of that name, which is usually its
    entry in ``averages``. Without a fitted head, simplicity is mixed with the gain of ``sle`` mapped to 0–1 by a
    logistic curve. Quality is the weighted geometric mean of the parts.
    """

    powers: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(HEADS, 1.0))
    parts: Mapping[str, FittedHead] = field(default_factory=dict)
    averages: Mapping[str, float] = field(default_factory=dict)
    gain: float = 0.5  # the share of the gain in simplicity
    middle: float = 0.0  # the gain that is mapped to one half
    width: float = 0.5  # the gain that multiplies the odds by e
    sle: str = encoder.SHIPPED

    @classmethod
    def of(cls, model: Encoder) -> "Combination":
        """Return the combination that comes with a model."""
        facts = dict(model.facts.get("combination", {}))
        parts = {name: FittedHead.of(**part) for name, part in facts.pop("parts", {}).items()}
        return cls(**facts, parts=parts)

    def simplicity(self, head: Floats, gains: Floats) -> Floats:
        """Return simplicity from 0 to 1, by the head and by the gain in levels."""
        return (1 - self.gain) * head + self.gain / (1 + np.exp((self.middle - gains) / self.width))

    def quality(self, parts: Mapping[str, Floats]) -> Floats:
        """Return quality from 0 to 1: 0 where a part is 0, 1 where all are 1, increasing in every part."""
        powers = {name: power for name, power in self.powers.items() if power}
        product: Floats = np.prod([parts[name] ** power for name, power in powers.items()], axis=0)
        return product ** (1 / sum(powers.values()))


@dataclass(frozen=True)
class JudgedTexts:
    """The values of outputs beside their sources (the model's heads and the measurements), and the parts."""

    values: Mapping[str, Floats]
    pieces: Floats
    combination: Combination

    @cached_property
    def parts(self) -> dict[str, Floats]:
        """The parts of quality from 0 to 1, without the gain of ``sle``."""
        heads = {head: self.combination.parts.get(head) for head in HEADS}
        parts = {head: self.values[head] if fitted is None else fitted(self.values) for head, fitted in heads.items()}
        is_blank = self.is_blank
        return {head: np.where(is_blank, self.values[head], part) for head, part in parts.items()}

    @cached_property
    def is_blank(self) -> npt.NDArray[np.bool_]:
        """Where there is nothing to read: every head is 0 for an output without a word, NaN without a source."""
        heads = np.array([self.values[head] for head in HEADS])
        is_blank: npt.NDArray[np.bool_] = np.isnan(heads).any(axis=0) | (heads == 0).all(axis=0)
        return is_blank

    def explain(self, parts: Sequence[str] = HEADS) -> list[tuple[Reason, ...]]:
        """Return for each output how far some parts are from what is usual, and what made them so.

        Contributions of less than a point are left out, and so are outputs without a word.
        """
        fitted = {name: head.average for name, head in self.combination.parts.items()}
        averages = {**self.combination.averages, **fitted}
        return [
            () if is_blank else tuple(self._explain(part, averages[part], at) for part in parts if part in averages)
            for at, is_blank in enumerate(self.is_blank.tolist())
        ]

    def _explain(self, part: str, average: float, at: int) -> Reason:
        head = self.combination.parts.get(part)
        values = {} if head is None else head.contributions(self.values)
        points = {_WORDS[name][int(value[at] < 0)]: 100 * float(value[at]) for name, value in values.items()}
        terms = {words: points[words] for words in sorted(points, key=lambda words: -abs(points[words]))}
        return Reason(
            part,
            100 * (float(self.parts[part][at]) - average),
            {words: value for words, value in terms.items() if abs(value) >= 1},
        )


def judge(name: str, evalset: EvalSet, outputs: Sequence[str]) -> JudgedTexts:
    """Read outputs beside their sources with a model, and measure them if its parts need that.

    The last outputs are kept with the set, so that several metrics and their reasons need one reading.
    """
    last: dict[tuple[str, ...], JudgedTexts] = evalset.prepare(("judged", name), lambda _: {})
    key = tuple(outputs)
    judged = last.get(key)
    if judged is None:
        judged = _judge(name, evalset, outputs)
        last.clear()
        last[key] = judged
    return judged


def _judge(name: str, evalset: EvalSet, outputs: Sequence[str]) -> JudgedTexts:
    model = load_judge(name)
    combination = Combination.of(model)
    readings = read_pairs(model, evalset, outputs)
    values = dict(zip(model.heads, readings.values.T, strict=True))
    if any(set(part.terms) & set(MEASUREMENTS) for part in combination.parts.values()):
        values |= zip(MEASUREMENTS, measure_pairs(evalset.sources, outputs).T, strict=True)
    return JudgedTexts(values, readings.pieces, combination)


@dataclass(frozen=True, repr=False)
class Quality(ReadingMetric):
    """Quality of a simplification without references, 0–100: fluent and faithful and simpler, beside its parts.

    A model (plainly-quality-3) reads source and output together. ``fluency``, ``meaning`` and ``simplicity`` are the
    parts, ``quality`` their weighted geometric mean: an output must be fluent and faithful and simpler, and no part
    makes up for another. ``meaning`` also counts how much of the source's length and content words is left,
    ``simplicity`` how new the wording is and how short the sentences are. Empty outputs score 0.
    ``model`` may be the directory of a model that you trained. EASSE's quality estimation is
    ``easse-quality``.
    """

    model: str = encoder.JUDGE

    name: ClassVar[str] = "quality"
    outputs: ClassVar[tuple[str, ...]] = ("quality", "fluency", "meaning", "simplicity")
    main_outputs: ClassVar[tuple[str, ...]] = outputs

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        judged = judge(self.model, evalset, outputs)
        parts, combination = dict(judged.parts), judged.combination
        if combination.gain and "simplicity" not in combination.parts:
            simplicity = combination.simplicity(parts["simplicity"], gains(combination.sle, evalset, outputs))
            parts["simplicity"] = np.where(parts["simplicity"] == 0, 0.0, simplicity)  # an empty output is not simple
        columns = [combination.quality(parts), *(parts[name] for name in self.outputs[1:])]
        return rows(*(100 * column for column in columns), pieces=judged.pieces)

    def explain_items(self, evalset: EvalSet, outputs: Sequence[str]) -> list[tuple[Reason, ...]]:
        return judge(self.model, evalset, outputs).explain()


@dataclass(frozen=True, repr=False)
class Fluency(ReadingMetric):
    """Fluency of the output as the model reads it beside its source, 0–100: is it well-formed English?

    A part of ``quality``, from the same reading of source and output. Empty outputs score 0. It does not measure
    meaning or simplicity: a fluent sentence about something else is fluent.
    """

    model: str = encoder.JUDGE

    name: ClassVar[str] = "fluency"
    outputs: ClassVar[tuple[str, ...]] = ("fluency",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        return _measure_head("fluency", self.model, evalset, outputs)

    def explain_items(self, evalset: EvalSet, outputs: Sequence[str]) -> list[tuple[Reason, ...]]:
        return judge(self.model, evalset, outputs).explain(("fluency",))


@dataclass(frozen=True, repr=False)
class Meaning(ReadingMetric):
    """How much of the source's meaning the output keeps, 0–100, averaged over items: by matching tokens (precision,
    recall and F1), or by a model that reads both.

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
            return _measure_head("meaning", self.model, evalset, outputs)
        if self.against == "references":
            evalset.require_references("meaning(against=references)")
        others = evalset.references if self.against == "references" else [(source,) for source in evalset.sources]
        pairs = [(output, other) for output, row in zip(outputs, others, strict=True) for other in row]
        vectors: dict[str, Vectors] = evalset.prepare(("meaning", self.model, self.against), lambda _: {})
        matches = iter(_match_pairs(encoder.load(self.model), pairs, vectors))
        best = [
            max((next(matches) for _ in row), key=lambda scores: np.nan_to_num(scores[0], nan=-1)) for row in others
        ]
        values = np.array(best, dtype=np.float64).reshape(len(outputs), 4)
        return rows(*100 * values[:, :3].T, pieces=values[:, 3])

    def explain_items(self, evalset: EvalSet, outputs: Sequence[str]) -> list[tuple[Reason, ...]]:
        return judge(self.model, evalset, outputs).explain(("meaning",)) if self.variant == "judge" else []


def _measure_head(head: str, name: str, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
    judged = judge(name, evalset, outputs)
    return rows(100 * judged.parts[head], pieces=judged.pieces)


def _match_pairs(model: Encoder, pairs: Sequence[tuple[str, str]], memory: dict[str, Vectors]) -> Floats:
    """Return for each output and other text F1, precision, recall, and the number of pieces of the longer one.

    ``memory`` keeps vectors of the other texts, which the next system is compared with too.
    """

    def compute(missing: list[tuple[str, str]]) -> Floats:
        values = []
        for start in range(0, len(missing), _PAIRS_PER_BLOCK):
            block = missing[start : start + _PAIRS_PER_BLOCK]
            texts = [text for text in dict.fromkeys(text for pair in block for text in pair) if text not in memory]
            vectors = {**memory, **dict(zip(texts, model.vectors(texts), strict=True))}
            if len(memory) < _VECTORS_IN_MEMORY:
                memory.update((other, vectors[other]) for _, other in block)
            for output, other in ((vectors[output], vectors[other]) for output, other in block):
                pieces = -(-max(len(output), len(other)) // (model.longest - 2))
                values.append((*match(output, other), pieces))
        return np.array(values)

    return cached_rows(f"match {model.identity}", pairs, 4, compute)


def match(output: Vectors, other: Vectors) -> tuple[float, float, float]:
    """Return F1, precision and recall of greedy matching of unit vectors (Zhang et al. 2019, Eq. 1–3)."""
    if not len(output) and not len(other):
        return np.nan, np.nan, np.nan
    if not len(output) or not len(other):
        return 0.0, 0.0, 0.0
    blocks = [output[at : at + _TOKENS_PER_BLOCK] @ other.T for at in range(0, len(output), _TOKENS_PER_BLOCK)]
    precision = float(np.concatenate([block.max(axis=1) for block in blocks]).mean())
    recall = float(np.max([block.max(axis=0) for block in blocks], axis=0).mean())
    both = precision + recall
    return (2 * precision * recall / both if both > 0 else 0.0), precision, recall
