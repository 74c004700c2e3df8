"""BLEU and chrF as sacrebleu computes them, and variants of BLEU for text simplification: iBLEU, T-BLEU, FK-BLEU.

BLEU works on n-gram counts that are prepared once; chrF counts character (and word) n-grams of the best-matching
reference.
"""

import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, MeanMetric, Metric, Needs
from plainly.metrics.readability import Fkgl
from plainly.text import ngrams
from plainly.text.arrays import Ints
from plainly.text.ngrams import ORDER
from plainly.text.tokenise import TOKENISERS

Bools = npt.NDArray[np.bool_]
Grams = Counter[tuple[str, ...]]

_PRECISIONS = tuple(f"precision{n}" for n in range(1, ORDER + 1))
ROW_WIDTH = 2 * ORDER + 2
_SMOOTHING_VALUES = {"none": 0.0, "exp": 0.0, "floor": 0.1, "add-k": 1.0}


@dataclass(frozen=True, repr=False)
class Bleu(Metric):
    """BLEU on 0–100, equal to sacrebleu's, with n-gram precisions, brevity penalty and lengths.

    Counts n-grams shared with the references. ``variant=multi-bleu`` is Moses' multi-bleu.perl: text split at white
    space, no smoothing. For scores of single sentences set ``effective_order=true``, as sacrebleu's sentence BLEU does.
    """

    name: ClassVar[str] = "bleu"
    needs: ClassVar[Needs] = frozenset({"references"})
    outputs: ClassVar[tuple[str, ...]] = ("bleu", *_PRECISIONS, "brevity_penalty", "output_length", "reference_length")
    choices: ClassVar[Mapping[str, Collection[str]]] = {"tokenize": ("auto", *TOKENISERS)}

    variant: Literal["sacrebleu", "multi-bleu"] = "sacrebleu"
    tokenize: str = "auto"
    lowercase: bool = False
    smooth: Literal["auto", "none", "exp", "floor", "add-k"] = "auto"
    smooth_value: float | None = None
    effective_order: bool = False
    max_order: int = ORDER

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.max_order <= ORDER:
            raise BadSpec(f"max_order must be between 1 and {ORDER}, not {self.max_order}.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("BLEU")
        tokenize = ("none" if self.variant == "multi-bleu" else "13a") if self.tokenize == "auto" else self.tokenize
        blocks = ngrams.prepare_blocks(evalset, tokenize=tokenize, lowercase=self.lowercase)
        return np.concatenate([_rows(block, outputs[block.start : block.stop]) for block in blocks])

    def score(self, totals: Floats) -> Floats:
        # The n-gram orders go first: sums over a short last axis take several times as long.
        columns = np.ascontiguousarray(np.moveaxis(totals, -1, 0))
        correct, total = columns[:ORDER].copy(), columns[ORDER : 2 * ORDER].copy()
        output_length, reference_length = columns[-2], columns[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.exp(np.minimum(1 - reference_length / output_length, 0.0))
        penalty = np.where(output_length > 0, penalty, np.where(reference_length > 0, 0.0, 1.0))
        any_match = np.asarray(correct[: self.max_order].any(axis=0))
        precisions, defined = self._precisions(correct, total)
        orders = np.reshape(np.arange(ORDER) < self.max_order, (ORDER, *[1] * penalty.ndim))
        effective = defined & orders if self.effective_order else orders
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(effective, np.log(precisions), 0.0).sum(axis=0) / np.maximum(effective.sum(axis=0), 1)
            bleu = np.where(any_match, penalty * np.exp(logs), 0.0)
        bleu = np.where(reference_length > 0, bleu, np.nan)
        precisions = np.where(any_match & orders, precisions, np.where(orders, 0.0, np.nan))
        return np.stack((bleu, *precisions, penalty, output_length, reference_length), axis=-1)

    def _precisions(self, correct: Floats, total: Floats) -> tuple[Floats, Bools]:
        """Return smoothed precisions in percent, and the orders with n-grams (Chen and Cherry 2014, methods 1 to 3)."""
        smooth = ("none" if self.variant == "multi-bleu" else "exp") if self.smooth == "auto" else self.smooth
        value = _SMOOTHING_VALUES[smooth] if self.smooth_value is None else self.smooth_value
        if smooth == "add-k":
            correct[1:] += value
            total[1:] += value
        defined = np.logical_and.accumulate(total > 0, axis=0)
        without_match = defined & (correct == 0)
        if smooth == "exp" and without_match.any():
            correct = np.where(without_match, 0.5 ** np.cumsum(without_match, axis=0), correct)
        elif smooth == "floor":
            correct = np.where(without_match, value, correct)
        return np.divide(100.0 * correct, total, out=np.zeros(np.shape(total)), where=defined), defined


def _rows(block: ngrams.Block, outputs: Sequence[str]) -> Floats:
    match = ngrams.match(block, outputs)
    correct = match.total(np.minimum(match.count, block.reference_most[match.where]))
    lengths = match.tokens.lengths
    total = np.maximum(lengths[:, None] - np.arange(ORDER), 0)
    both_lengths = np.stack((lengths, _closest(lengths, block.reference_lengths)), axis=1)
    return np.concatenate((correct, total, both_lengths), axis=1).astype(np.float64)


def _closest(lengths: Ints, reference_lengths: Ints) -> Ints:
    """Return the reference length nearest to each output's; the shorter of two that are equally near."""
    distance = 2 * np.abs(reference_lengths - lengths[:, None]) + (reference_lengths > lengths[:, None])
    distance[reference_lengths < 0] = np.iinfo(np.int64).max
    nearest: Ints = np.take_along_axis(reference_lengths, distance.argmin(axis=1)[:, None], axis=1)[:, 0]
    return nearest


@dataclass(frozen=True, repr=False)
class IBleu(Metric):
    """iBLEU (Sun and Zhou 2012): alpha × BLEU against the references − (1 − alpha) × BLEU against the source.

    Rewards closeness to the references and penalises copying; like BLEU it penalises split sentences.
    """

    name: ClassVar[str] = "ibleu"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    outputs: ClassVar[tuple[str, ...]] = ("ibleu", "bleu", "source_bleu")

    alpha: float = 0.9
    tokenize: str = "auto"
    lowercase: bool = False
    variant: Literal["sacrebleu", "multi-bleu"] = "sacrebleu"
    smooth: Literal["auto", "none", "exp", "floor", "add-k"] = "auto"
    effective_order: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise BadSpec(f"alpha must be between 0 and 1, not {self.alpha}.")
        _ = self._bleu

    @property
    def _bleu(self) -> Bleu:
        return Bleu(self.variant, self.tokenize, self.lowercase, self.smooth, effective_order=self.effective_order)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        against_references = self._bleu.measure(evalset, outputs)
        against_source = self._bleu.measure(_sources_as_references(evalset), outputs)
        return np.concatenate((against_references, against_source), axis=1)

    def score(self, totals: Floats) -> Floats:
        bleu = self._bleu.score(totals[..., :ROW_WIDTH])[..., 0]
        source_bleu = self._bleu.score(totals[..., ROW_WIDTH : 2 * ROW_WIDTH])[..., 0]
        return np.stack((self.alpha * bleu - (1 - self.alpha) * source_bleu, bleu, source_bleu), axis=-1)


@dataclass(frozen=True, repr=False)
class TBleu(MeanMetric):
    """T-BLEU (Štajner et al. 2014): mean over sentences of BLEU with as many orders as have a match.

    Plain sentence BLEU is 0 without a shared 4-gram; T-BLEU then uses shorter n-grams. Compared with the source by
    default, as in the paper, where it estimates meaning preservation; ``against=references`` compares with those.
    """

    name: ClassVar[str] = "tbleu"
    needs: ClassVar[Needs] = frozenset({"source"})
    outputs: ClassVar[tuple[str, ...]] = ("tbleu",)
    choices: ClassVar[Mapping[str, Collection[str]]] = {"tokenize": tuple(TOKENISERS)}

    against: Literal["source", "references"] = "source"
    tokenize: str = "13a"
    lowercase: bool = False

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        references = _sources_as_references(evalset) if self.against == "source" else evalset
        rows = Bleu(tokenize=self.tokenize, lowercase=self.lowercase, smooth="none").measure(references, outputs)
        scores = np.zeros(len(rows))
        for order in range(1, ORDER + 1):
            of_order = Bleu(smooth="none", effective_order=True, max_order=order).score(rows)[:, 0]
            scores = np.where(rows[:, order - 1] > 0, of_order, scores)
        return np.stack((scores, np.ones(len(rows))), axis=1)


@dataclass(frozen=True, repr=False)
class FkBleu(Metric):
    """FK-BLEU (Xu et al. 2016): iBLEU × sigmoid of how much easier, by FKGL, the output is than the source.

    The paper prints the difference as output − source, which rewards harder text; ``direction=printed`` computes
    that; the default reverses it. Whatever lowers FKGL (such as random full stops) raises this metric too.
    """

    name: ClassVar[str] = "fkbleu"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    outputs: ClassVar[tuple[str, ...]] = ("fkbleu", "ibleu", "fkgl", "source_fkgl")

    alpha: float = 0.9
    direction: Literal["easier", "printed"] = "easier"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._ibleu

    @property
    def _ibleu(self) -> IBleu:
        return IBleu(alpha=self.alpha)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        of_sources = evalset.prepare("fkbleu", lambda evalset: Fkgl().measure(evalset, evalset.sources))
        of_outputs = Fkgl().measure(evalset, outputs)
        return np.concatenate((self._ibleu.measure(evalset, outputs), of_outputs, of_sources), axis=1)

    def score(self, totals: Floats) -> Floats:
        ibleu = self._ibleu.score(totals[..., : 2 * ROW_WIDTH])[..., 0]
        readability = np.split(totals[..., 2 * ROW_WIDTH :], 2, axis=-1)
        of_output, of_source = (Fkgl().score(sums)[..., 0] for sums in readability)
        difference = of_source - of_output if self.direction == "easier" else of_output - of_source
        return np.stack((ibleu / (1 + np.exp(-difference)), ibleu, of_output, of_source), axis=-1)


def _sources_as_references(evalset: EvalSet) -> EvalSet:
    def build(evalset: EvalSet) -> EvalSet:
        return EvalSet(evalset.ids, evalset.sources, references=tuple((source,) for source in evalset.sources))

    return evalset.prepare("sources as references", build)


_PUNCTUATION = frozenset(string.punctuation)


@dataclass(frozen=True, repr=False)
class Chrf(Metric):
    """chrF on 0–100 (Popović 2015). ``word_order=2`` is chrF++.

    More forgiving than BLEU about word forms; like BLEU it rewards closeness to the references, and a copy of the
    source is close to them.
    """

    name: ClassVar[str] = "chrf"
    needs: ClassVar[Needs] = frozenset({"references"})
    outputs: ClassVar[tuple[str, ...]] = ("chrf",)

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.char_order < 1 or self.word_order < 0 or self.beta < 1:
            raise BadSpec("chrf needs char_order ≥ 1, word_order ≥ 0 and beta ≥ 1.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("chrF")
        counters_of_references = evalset.prepare(
            ("chrf", self.char_order, self.word_order, self.lowercase),
            lambda evalset: [[self._counters(reference) for reference in row] for row in evalset.references],
        )
        rows = np.zeros((len(outputs), 3 * (self.char_order + self.word_order)))
        for row, output, references in zip(rows, outputs, counters_of_references, strict=True):
            counters = self._counters(output)
            candidates = np.array([_statistics(counters, reference) for reference in references], dtype=np.float64)
            row[:] = candidates[np.argmax(self.score(candidates)[:, 0])]
        return rows

    def score(self, totals: Floats) -> Floats:
        by_order = totals.reshape(*totals.shape[:-1], -1, 3)
        of_output, of_reference, shared = np.moveaxis(by_order, -1, 0)
        effective = (of_output > 0) & (of_reference > 0)
        orders = np.maximum(effective.sum(axis=-1), 1)
        precision = np.divide(shared, of_output, out=np.zeros(shared.shape), where=effective).sum(axis=-1) / orders
        recall = np.divide(shared, of_reference, out=np.zeros(shared.shape), where=effective).sum(axis=-1) / orders
        weight = self.beta**2
        divisor = weight * precision + recall
        product = 100 * (1 + weight) * precision * recall
        score = np.divide(product, divisor, out=np.zeros(divisor.shape), where=divisor > 0)
        return np.where(of_reference.sum(axis=-1) > 0, score, np.nan)[..., None]

    def _counters(self, text: str) -> list[Grams]:
        text = text.lower() if self.lowercase else text
        characters, words = "".join(text.split()), _words(text) if self.word_order else []
        counters = [_grams(characters, n) for n in range(1, self.char_order + 1)]
        return counters + [_grams(words, n) for n in range(1, self.word_order + 1)]


def _grams(units: Sequence[str], length: int) -> Grams:
    """Count the n-grams of a text's characters or words."""
    return Counter(zip(*(units[at:] for at in range(length)), strict=False))


def _words(text: str) -> list[str]:
    """Split at white space, and one punctuation mark off each word, at its end or else at its beginning."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def _statistics(output: list[Grams], reference: list[Grams]) -> list[int]:
    statistics = []
    for of_output, of_reference in zip(output, reference, strict=True):
        # As sacrebleu: an order that the reference is too short for does not count against the output.
        total = of_output.total() if of_reference else 0
        statistics += [total, of_reference.total(), (of_output & of_reference).total()]
    return statistics
