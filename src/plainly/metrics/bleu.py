"""BLEU, chrF and TER as sacrebleu computes them, and variants of BLEU for text simplification: iBLEU, T-BLEU, FK-BLEU.

BLEU works on n-gram counts that are prepared once; chrF counts character (and word) n-grams of the best-matching
reference.
"""

import itertools
import string
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from plainly.core import limits
from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Better, Floats, MeanMetric, Metric, Needs
from plainly.metrics.readability import Fkgl
from plainly.text import ngrams
from plainly.text.arrays import Ints
from plainly.text.ngrams import ORDER
from plainly.text.tokenise import TOKENISERS

Bools = npt.NDArray[np.bool_]
Grams = Counter[tuple[str, ...]]

_MOST_ORDERS = 10
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
    outputs: ClassVar[tuple[str, ...]] = (
        "bleu", *(f"precision{n}" for n in range(1, ORDER + 1)), "brevity_penalty", "output_length", "reference_length"
    )  # fmt: skip
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
        if not 1 <= self.max_order <= _MOST_ORDERS:
            raise BadSpec(f"max_order must be between 1 and {_MOST_ORDERS}, not {self.max_order}.")
        more = tuple(f"precision{n}" for n in range(ORDER + 1, self.max_order + 1))
        object.__setattr__(self, "outputs", (*self.outputs[: ORDER + 1], *more, *self.outputs[ORDER + 1 :]))

    @property
    def _orders(self) -> int:
        """The number of n-gram lengths that are counted; with fewer than four in use, the others are only shown."""
        return max(self.max_order, ORDER)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("BLEU")
        tokenize = ("none" if self.variant == "multi-bleu" else "13a") if self.tokenize == "auto" else self.tokenize
        blocks = ngrams.prepare_blocks(evalset, tokenize=tokenize, lowercase=self.lowercase, orders=self._orders)
        return np.concatenate([_rows(block, outputs[block.start : block.stop]) for block in blocks])

    def score(self, totals: Floats) -> Floats:
        # The n-gram orders go first: sums over a short last axis take several times as long.
        columns = np.ascontiguousarray(np.moveaxis(totals, -1, 0))
        orders = self._orders
        correct, total = columns[:orders].copy(), columns[orders : 2 * orders].copy()
        output_length, reference_length = columns[-2], columns[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = np.exp(np.minimum(1 - reference_length / output_length, 0.0))
        penalty = np.where(output_length > 0, penalty, np.where(reference_length > 0, 0.0, 1.0))
        any_match = np.asarray(correct[: self.max_order].any(axis=0))
        precisions, defined = self._precisions(correct, total)
        in_use = np.reshape(np.arange(orders) < self.max_order, (orders, *[1] * penalty.ndim))
        effective = defined & in_use if self.effective_order else in_use
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(effective, np.log(precisions), 0.0).sum(axis=0) / np.maximum(effective.sum(axis=0), 1)
            bleu = np.where(any_match, penalty * np.exp(logs), 0.0)
        bleu = np.where(reference_length > 0, bleu, np.nan)
        precisions = np.where(any_match & in_use, precisions, np.where(in_use, 0.0, np.nan))
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
    total = np.maximum(lengths[:, None] - np.arange(block.orders), 0)
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
_EPSILON = 1e-16  # sacrebleu's
_MOST_SHIFTS, _LONGEST_SHIFT, _FARTHEST_SHIFT = 1000, 10, 50  # Tercom's and sacrebleu's


@dataclass(frozen=True, repr=False)
class Chrf(Metric):
    """chrF on 0–100 (Popović 2015). ``word_order=2`` is chrF++.

    ``whitespace`` counts spaces as characters; ``eps_smoothing`` averages the F-scores of all orders, as chrF++.py,
    NLTK and Moses do. More forgiving than BLEU about word forms; like BLEU it rewards closeness to the references, and
    a copy of the source is close to them.
    """

    name: ClassVar[str] = "chrf"
    needs: ClassVar[Needs] = frozenset({"references"})
    outputs: ClassVar[tuple[str, ...]] = ("chrf",)

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False

    def __post_init__(self) -> None:
        if self.char_order < 1 or self.word_order < 0 or self.beta < 1:
            raise BadSpec("chrf needs char_order ≥ 1, word_order ≥ 0 and beta ≥ 1.")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("chrF")
        counters_of_references = evalset.prepare(
            ("chrf", self.char_order, self.word_order, self.lowercase, self.whitespace),
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
        if self.eps_smoothing:
            precision, recall = (
                np.divide(shared, total, out=np.full(shared.shape, _EPSILON), where=total > 0)
                for total in (of_output, of_reference)
            )
            score = self._f_score(precision, recall, undefined=_EPSILON).mean(axis=-1)
        else:
            orders = np.maximum(effective.sum(axis=-1), 1)
            precision, recall = (
                np.divide(shared, total, out=np.zeros(shared.shape), where=effective).sum(axis=-1) / orders
                for total in (of_output, of_reference)
            )
            score = self._f_score(precision, recall, undefined=0.0)
        return np.where(of_reference.sum(axis=-1) > 0, 100 * score, np.nan)[..., None]

    def _f_score(self, precision: Floats, recall: Floats, *, undefined: float) -> Floats:
        weight = self.beta**2
        divisor = weight * precision + recall
        product = (1 + weight) * precision * recall
        return np.asarray(np.divide(product, divisor, out=np.full(divisor.shape, undefined), where=divisor > 0))

    def _counters(self, text: str) -> list[Grams]:
        text = text.lower() if self.lowercase else text
        characters = text if self.whitespace else "".join(text.split())
        words = _words(text) if self.word_order else []
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


@dataclass(frozen=True, repr=False)
class Ter(Metric):
    """Translation edit rate (Snover et al. 2006): edits and shifts of phrases by 100 words of the references.

    Lower is better; 0 is a copy of a reference. The edits are those to the nearest reference, the length is the mean of
    all, as in sacrebleu, whose parameters these are. Counts as an error whatever the references do not do.
    """

    name: ClassVar[str] = "ter"
    needs: ClassVar[Needs] = frozenset({"references"})
    outputs: ClassVar[tuple[str, ...]] = ("ter", "edits", "reference_length")
    better: ClassVar[Better] = "lower"

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

        evalset.require_references("TER")
        tokenize = TercomTokenizer(self.normalized, self.no_punct, self.asian_support, self.case_sensitive)
        rows = np.zeros((len(outputs), 2))
        for row, id, output, references in zip(rows, evalset.ids, outputs, evalset.references, strict=True):
            comparisons = _MOST_SHIFTS * len(output) * max(map(len, references))
            limits.check("comparisons", comparisons, f"Item {id!r}, output and reference with {_MOST_SHIFTS} shifts,")
            words = tokenize(output.rstrip()).split()
            others = [tokenize(reference.rstrip()).split() for reference in references]
            row[:] = min(_count_edits(words, other) for other in others), sum(map(len, others)) / len(others)
        return rows

    def score(self, totals: Floats) -> Floats:
        edits, length = totals[..., 0], totals[..., 1]
        # If no word of the references is left, a word of the output is an error of 100 %.
        rate = np.where(length > 0, edits / np.where(length > 0, length, 1.0), np.where(edits > 0, 1.0, np.nan))
        return np.stack((100 * rate, edits, length), axis=-1)


def _count_edits(output: list[str], reference: list[str]) -> int:
    """Return the edits between two texts after the shifts of phrases that save most, one after the other."""
    from sacrebleu.metrics.lib_ter import BeamEditDistance

    if not reference:
        return len(output)
    numbers = {word: chr(number) for number, word in enumerate(dict.fromkeys((*output, *reference)))}
    words, target = ("".join(map(numbers.__getitem__, text)) for text in (output, reference))
    beam = BeamEditDistance(list(target))

    def distance(text: str) -> int:
        edits = Levenshtein.distance(text, target)
        # If the shortest path is this close to the diagonal, Tercom's beam includes it.
        return edits if edits + abs(len(text) - len(target)) <= 46 else beam(list(text))[0]

    shifts, tried = 0, 0
    while True:
        before, trace = beam(list(words))
        best = (0, 0, 0, 0, words)
        for start, length, places in _shifts(words, target, trace):
            rest = words[:start] + words[start + length :]
            for place in places:
                at = place if place <= start + length else place - length
                shifted = rest[:at] + words[start : start + length] + rest[at:]
                best = max(best, (before - distance(shifted), length, -start, -place, shifted))
            tried += len(places)
            if tried >= _MOST_SHIFTS:
                break
        if tried >= _MOST_SHIFTS or best[0] <= 0:
            return shifts + before
        shifts, words = shifts + 1, best[-1]


def _shifts(words: str, target: str, trace: str) -> Iterator[tuple[int, int, list[int]]]:
    """Yield phrases of the target that are elsewhere in the words: where they start, how long they are, where to move.

    Tercom's rules: both sides are wrong there, the phrase is not moved within itself, and not too far.
    """
    aligned, wrong_words, wrong_target = _align(trace)
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(target):
        positions.setdefault(word, []).append(position)
    for start, word in enumerate(words):
        for to in positions.get(word, ()):
            if abs(to - start) > _FARTHEST_SHIFT:
                continue
            for length in range(1, min(_LONGEST_SHIFT, len(words) - start, len(target) - to) + 1):
                if words[start + length - 1] != target[to + length - 1]:
                    break
                if not (any(wrong_words[start : start + length]) and any(wrong_target[to : to + length])):
                    continue
                if start <= aligned[to] < start + length:
                    continue
                places = [0 if end < 0 else aligned[end] + 1 for end in range(to - 1, to + length)]
                yield start, length, [place for place, _ in itertools.groupby(places)]


def _align(trace: str) -> tuple[list[int], list[bool], list[bool]]:
    """Return the position in the words of each word of the target, and which words and target words are wrong."""
    aligned: list[int] = []
    wrong_words: list[bool] = []
    wrong_target: list[bool] = []
    for operation in trace:  # " " the same, "s" substituted, "d" only in the words, "i" only in the target
        if operation != "i":
            wrong_words.append(operation != " ")
        if operation != "d":
            wrong_target.append(operation != " ")
            aligned.append(len(wrong_words) - 1)
    return aligned, wrong_words, wrong_target
