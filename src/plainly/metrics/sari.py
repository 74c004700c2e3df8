"""SARI, as its implementations count it: one name, nine formulas, each a named variant.

SARI (Xu et al. 2016) rewards n-grams that are added, kept and deleted as the references do. The paper leaves details
open, and implementations differ: in what counts as correct, in the level of averages, in the value of 0/0, and in
tokenisation. The same output differs by up to 30 points. Here each is a parameter; ``plainly metrics sari
--explain`` shows them side by side.

The counts are (items, operation, order, …) arrays, operations in the order add, keep, delete. S, C, R are occurrences
of an n-gram in source, output, references; k is the number of references. Deletions need no look at n-grams that the
output lacks: what is not kept is deleted, so sums over the source, made once, are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadSpec
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Metric, Needs, ratio
from plainly.text import ngrams, sentences
from plainly.text.arrays import Ints
from plainly.text.ngrams import ORDER, Block, Counts, Match, Numbers, add_up
from plainly.text.tokenise import TOKENISERS, tokens_13a

Variant = Literal["easse", "star", "xu", "xu-modified", "hf", "t2t", "joshua", "d-sari", "d-sari-paper"]
OPERATIONS = ("add", "keep", "delete")


@dataclass(frozen=True)
class VariantRules:
    """What a variant fixes."""

    why: str
    tokenize: str
    level: Literal["corpus", "sentence"] = "sentence"  # counts summed over the corpus, or scores over sentences
    delete: Literal["f1", "precision"] = "precision"
    blank_token: bool = False  # an empty text is one empty token, as in str.split(" ")
    raw_source: bool = False  # the source is not tokenised


VARIANTS: dict[Variant, VariantRules] = {
    "easse": VariantRules(
        "counts summed over the corpus, F1 for all three operations; 0/0 is 0", "13a", "corpus", "f1"
    ),
    "star": VariantRules(
        "as easse, but the source is not tokenised (EASSE's legacy)", "13a", "corpus", "f1", raw_source=True
    ),
    "xu": VariantRules(
        "the authors' SARI.py: mean over sentences of ratios averaged over n-gram types; delete is precision only",
        "spaces",
        blank_token=True,
    ),
    "xu-modified": VariantRules(
        "as xu, but an added n-gram whose words stand in the source in that order is not counted",
        "spaces",
        blank_token=True,
    ),
    "hf": VariantRules(
        "as xu with 0/0 = 1: full marks where nothing was done, so that a copy of the source scores high",
        "13a",
        blank_token=True,
    ),
    "t2t": VariantRules(
        "n-grams are present or absent, weighted by the share of references that have them; 0/0 = 1 as in hf", "none"
    ),
    "joshua": VariantRules(
        "keep's recall is cut to a whole number in each sentence and used again as the precision's denominator",
        "none",
        "corpus",
    ),
    "d-sari": VariantRules(
        "for documents, as the authors' script: xu with penalties for a wrong length and a wrong number of sentences",
        "spaces",
        blank_token=True,
    ),
    "d-sari-paper": VariantRules(
        "for documents, by the paper's equations: lengths in tokens, averages over references not cut to whole numbers",
        "13a",
        blank_token=True,
    ),
}
_PARTS = tuple(
    f"{operation}{n}{suffix}" for operation in OPERATIONS for n in range(1, ORDER + 1) for suffix in ("", "_p", "_r")
)


@dataclass(frozen=True, repr=False)
class Sari(Metric):
    """SARI on 0–100, with add, keep and delete, and each of them for n = 1 to 4 with precision (_p) and recall (_r).

    Compares output, source and references, so it can reward a change, unlike BLEU; but it compares words only: it sees
    neither meaning nor grammar, and a fluent sentence in other words than the references' scores low.

    Parameters left at ``auto`` follow the variant. ``reference_count`` counts every item as having that many
    references, the missing ones being empty: it reproduces numbers that were published from files with blank
    references, and should not be used otherwise.
    """

    name: ClassVar[str] = "sari"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    outputs: ClassVar[tuple[str, ...]] = ("sari", *OPERATIONS, *_PARTS)
    main_outputs: ClassVar[tuple[str, ...]] = ("sari", *OPERATIONS)
    choices: ClassVar[Mapping[str, Collection[str]]] = {"tokenize": ("auto", *TOKENISERS)}

    variant: Variant = "easse"
    delete: Literal["auto", "f1", "precision"] = "auto"
    average: Literal["scores", "paper"] = "scores"
    tokenize: str = "auto"
    lowercase: bool = True
    reference_count: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average == "paper" and self.variant not in ("easse", "star"):
            raise BadSpec(f"average=paper is defined for easse and star, not for {self.variant}.")
        if self.delete == "f1" and self.variant in ("hf", "t2t", "joshua"):
            raise BadSpec(f"delete=f1 is not defined for {self.variant}, which scores deletions by precision.")
        if self.reference_count < 0:
            raise BadSpec("reference_count is 0 (as many as there are) or a positive number.")

    @property
    def reference_columns(self) -> npt.NDArray[np.bool_] | None:
        if self.variant not in ("easse", "star"):
            return None
        return np.array([name != "add" for name in OPERATIONS for _ in range(3 * ORDER)] + [False])

    @property
    def _deletes_by_precision(self) -> bool:
        return (VARIANTS[self.variant].delete if self.delete == "auto" else self.delete) == "precision"

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        rules = VARIANTS[self.variant]
        evalset.require_references("SARI")
        blocks = ngrams.prepare_blocks(
            evalset,
            tokenize=rules.tokenize if self.tokenize == "auto" else self.tokenize,
            lowercase=self.lowercase,
            blank_token=rules.blank_token,
            raw_source=rules.raw_source,
        )
        rows = [self._block_rows(evalset, block, outputs[block.start : block.stop]) for block in blocks]
        return np.concatenate([np.append(block, np.ones((len(block), 1)), axis=1) for block in rows])

    def score(self, totals: Floats) -> Floats:
        if VARIANTS[self.variant].level == "sentence":
            return ratio(totals[..., :-1], totals[..., -1:])
        counts = totals[..., :-1].reshape(*totals.shape[:-1], len(OPERATIONS), ORDER, 3)
        parts = count_parts(counts, precision_only=self._deletes_by_precision)
        if self.variant == "joshua":
            parts[..., 1, :, :] = joshua_keep(counts[..., 1, :, :])
        if self.average == "paper":
            operations = paper_average(parts, self._deletes_by_precision)
        else:
            # The mean over a short last axis; NumPy's own takes several times as long.
            operations = np.asarray(sum(np.moveaxis(parts[..., 0], -1, 0)) / ORDER)
        scores = _assemble(parts, operations)
        scores[totals[..., -1] == 0] = np.nan
        return scores

    def _block_rows(self, evalset: EvalSet, block: ngrams.Block, outputs: Sequence[str]) -> Floats:
        match = ngrams.match(block, outputs)
        side = ReferenceSide(block, self.reference_count)
        if VARIANTS[self.variant].level == "corpus":
            measure = joshua_counts if self.variant == "joshua" else easse_counts
            return measure(match, side).reshape(len(block), 9 * ORDER)
        if self.variant == "t2t":
            parts = t2t_parts(match, side)
        else:
            spurious = spurious_additions(evalset, block, outputs) if self.variant == "xu-modified" else 0.0
            precision_only, as_hf = self._deletes_by_precision, self.variant == "hf"
            parts = xu_parts(match, side, precision_only=precision_only, as_hf=as_hf, spurious=spurious)
        operations = parts[..., 0].mean(axis=-1)
        if self.variant.startswith("d-sari"):
            operations *= document_penalties(evalset, block, outputs, exact=self.variant == "d-sari-paper")
        return _assemble(parts, operations)


def _assemble(parts: Floats, operations: Floats) -> Floats:
    """Return the metric's outputs, on 0–100, from (…, operation, order, [score, precision, recall])."""
    sari = operations.mean(axis=-1, keepdims=True)
    flat = parts.reshape(*parts.shape[:-3], 9 * ORDER)
    return np.asarray(100 * np.concatenate((sari, operations, flat), axis=-1))


Sums = tuple[Floats, Floats, Floats]  # of add, keep and delete


def _cached_in_block(build: Callable[[ReferenceSide], Floats]) -> cached_property[Floats]:
    """Make a property that is computed once and cached in the block, since it is the same for every output."""

    def get(side: ReferenceSide) -> Floats:
        cache, key = side.block.cache, (build.__name__, side.reference_count)
        if key not in cache:
            cache[key] = build(side)
        return cache[key]

    return cached_property(get)


@dataclass(frozen=True)
class ReferenceSide:
    """Sums over sources and references alone, (items, ORDER) each."""

    block: Block
    reference_count: int  # 0: as many as there are

    @cached_property
    def k(self) -> Ints:
        """The number of references of each item."""
        return np.full(len(self.block), self.reference_count) if self.reference_count else self.block.reference_counts

    @_cached_in_block
    def repeated(self) -> Floats:
        """Σ kS."""
        return self.block.total(self.block.source) * self.k[:, None]

    @_cached_in_block
    def kept_sum(self) -> Floats:
        """Σ min(kS, R)."""
        return self._total(self._kept_counts)

    @_cached_in_block
    def kept_types(self) -> Floats:
        """N-grams with min(kS, R) > 0."""
        return self._total(self._kept_counts > 0)

    @_cached_in_block
    def source_types(self) -> Floats:
        return self._total(None)

    @_cached_in_block
    def added_types(self) -> Floats:
        """N-grams of references that are not in the source."""
        return self.block.total(None) - self.source_types

    @_cached_in_block
    def deleted_types(self) -> Floats:
        """N-grams with kS > R."""
        return self._total(self._repeated > self._kept_counts)

    @_cached_in_block
    def delete_ratio(self) -> Floats:
        """Σ max(kS − R, 0)/kS: deletion precision if the output kept nothing."""
        return self._total((self._repeated - self._kept_counts) / self._repeated)

    @_cached_in_block
    def kept_weight(self) -> Floats:
        """Σ over source n-grams of the share of references that contain it."""
        return self._total(self.block.reference_texts[self._in_source] / self.nonempty.reshape(-1)[self._cell])

    @_cached_in_block
    def nonempty(self) -> Floats:
        """References that have any n-gram of that order, 1 where none has."""
        orders = np.arange(1, ORDER + 1)
        nonempty: Ints = (self.block.reference_lengths[:, :, None] >= orders).sum(axis=1)
        return np.maximum(nonempty, 1).astype(np.float64)

    # Of each n-gram of the sources: where it is, where it is added up, kS and min(kS, R).

    @cached_property
    def _in_source(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(self.block.source > 0)

    @cached_property
    def _cell(self) -> Counts:
        return self.block.cell[self._in_source]

    @cached_property
    def _repeated(self) -> Ints:
        return self.block.source[self._in_source] * self.k[self._cell // ORDER]

    @cached_property
    def _kept_counts(self) -> Ints:
        return np.minimum(self._repeated, self.block.reference_sum[self._in_source])

    def _total(self, values: Numbers | None) -> Floats:
        return add_up(self._cell, values, self.block)


def easse_counts(match: Match, side: ReferenceSide) -> Floats:
    """Return [correct, by the output, by the references] for each operation and order: (items, 3, ORDER, 3)."""
    block = match.block
    source = block.source[match.where]
    in_source = np.flatnonzero(source > 0)
    cell = match.cell[in_source]
    kept_counts = np.minimum(source, match.count)[in_source] * side.k[cell // ORDER]
    references = block.reference_sum[match.where[in_source]]
    keep_good, keep_total = add_up(cell, np.minimum(kept_counts, references), block), add_up(cell, kept_counts, block)
    counts = np.empty((len(block), 3, ORDER, 3))
    counts[:, 0, :, 0] = match.total(None) - add_up(cell, None, block)
    counts[:, 0, :, 1] = counts[:, 0, :, 0] + match.others
    counts[:, 0, :, 2] = side.added_types
    counts[:, 1, :, 0] = keep_good
    counts[:, 1, :, 1] = keep_total
    counts[:, 1, :, 2] = side.kept_sum
    # min(kS − kept by output, kS − kept by references), summed, by inclusion and exclusion.
    counts[:, 2, :, 0] = side.repeated - keep_total - side.kept_sum + keep_good
    counts[:, 2, :, 1] = side.repeated - keep_total
    counts[:, 2, :, 2] = side.repeated - side.kept_sum
    return counts


def joshua_counts(match: Match, side: ReferenceSide) -> Floats:
    """Return ``easse_counts`` with Joshua's statistics for keep, the second cut to a whole number per sentence."""
    counts = easse_counts(match, side)
    kept_counts, good, all_kept = _keep(match, side)
    precision, recall = match.total(_ratio(good, kept_counts)), match.total(_ratio(good, all_kept))
    # Rounded first: a sum that is whole but for the order in which floats were added must not lose one.
    counts[:, 1, :, 0] = np.floor(np.round(1_000_000 * precision, 3)) / 1_000_000
    counts[:, 1, :, 1] = np.floor(np.round(recall, 9))
    counts[:, 1, :, 2] = side.kept_types
    return counts


def count_parts(counts: Floats, *, precision_only: bool) -> Floats:
    """Return [score, precision, recall] from counts; delete's score is its precision or its F1. 0/0 is 0."""
    precision = _ratio(counts[..., 0], counts[..., 1])
    recall = _ratio(counts[..., 0], counts[..., 2])
    return _parts(precision, recall, precision_only=precision_only)


def joshua_keep(counts: Floats) -> Floats:
    """Return [score, precision, recall] of keep from Joshua's statistics."""
    precision, recall = _ratio(counts[..., 0], counts[..., 1]), _ratio(counts[..., 1], counts[..., 2])
    return np.stack((_f1(precision, recall), precision, recall), axis=-1)


def paper_average(parts: Floats, precision_only: bool) -> Floats:
    """Return the scores of the operations by the paper's formula: precision and recall averaged over n, then F1."""
    precision, recall = parts[..., 1].mean(axis=-1), parts[..., 2].mean(axis=-1)
    scores = _f1(precision, recall)
    if precision_only:
        scores[..., 2] = precision[..., 2]
    return scores


def xu_parts(
    match: Match, side: ReferenceSide, *, precision_only: bool, as_hf: bool = False, spurious: Floats | float = 0.0
) -> Floats:
    """Compute Xu et al.'s SARI.py for every item: (items, 3, ORDER, [score, precision, recall]).

    ``as_hf`` is Hugging Face evaluate's sari: 0/0 is 1, and keep's recall is over occurrences instead of types.
    """
    kept_counts, good, all_kept = _keep(match, side)
    keep_good = match.total(_ratio(good, kept_counts))
    recalled, to_recall = (good, side.kept_sum) if as_hf else (_ratio(good, all_kept), side.kept_types)
    added, add_good = _additions(match)
    add_good = add_good - spurious
    delete_good, delete_types = _deletions(match, side)
    return _sentence_parts(
        correct=(add_good, keep_good, delete_good),
        by_output=(added, match.total(kept_counts > 0), delete_types),
        recalled=(add_good, match.total(recalled), delete_good),
        by_references=(side.added_types, to_recall, side.deleted_types),
        undefined=1.0 if as_hf else 0.0,
        precision_only=precision_only,
    )


def t2t_parts(match: Match, side: ReferenceSide) -> Floats:
    """Compute tensor2tensor's sari_hook: n-grams are present or absent, weighted by the references that have them."""
    in_source = match.block.source[match.where] > 0
    share = match.block.reference_texts[match.where] / side.nonempty.reshape(-1)[match.cell]
    kept_weight, kept_types = match.total(np.where(in_source, share, 0.0)), match.total(in_source)
    added, add_good = _additions(match)
    deleted = side.source_types - kept_types
    delete_good = deleted - (side.kept_weight - kept_weight)
    correct = (add_good, kept_weight, delete_good)
    return _sentence_parts(
        correct=correct,
        by_output=(added, kept_types, deleted),
        recalled=correct,
        by_references=(side.added_types, side.kept_weight, side.source_types - side.kept_weight),
        undefined=1.0,
        precision_only=True,
    )


def spurious_additions(evalset: EvalSet, block: Block, outputs: Sequence[str]) -> Floats:
    """Count correct additions that arise only by deletion: their words are in the source, in that case and order.

    The one count that needs the words themselves; plain Python, since only the variant xu-modified uses it.
    """
    spurious = np.zeros((len(outputs), ORDER))
    for item, output in enumerate(outputs):
        source, references = evalset.sources[block.start + item], evalset.references[block.start + item]
        source_words = source.split()
        texts = [text.lower().split(" ") for text in (source, output, *references)]
        for order in range(ORDER):
            in_source, in_output, *in_references = (
                set(zip(*(words[at:] for at in range(order + 1)), strict=False)) for words in texts
            )
            for gram in (in_output - in_source) & set().union(*in_references):
                rest = iter(source_words)
                spurious[item, order] += all(word in rest for word in gram if word)
    return spurious


def document_penalties(evalset: EvalSet, block: Block, outputs: Sequence[str], *, exact: bool) -> Floats:
    """Return D-SARI's factors for add, keep and delete (Sun, Jin and Wan 2021): (items, 3).

    The authors' script counts what stands between spaces and cuts averages over references to whole numbers; the
    ``exact`` reading of the paper's equations counts tokens and cuts nothing.
    """
    penalties = np.ones((len(outputs), 3))

    def words(text: str) -> int:
        return max(sum(len(tokens_13a(chunk)) for chunk in text.split()), 1) if exact else len(text.split(" "))

    def average(count: Callable[[str], int], texts: Sequence[str]) -> float:
        total = sum(map(count, texts))
        return total / len(texts) if exact else total // len(texts)

    for item, output in enumerate(outputs):
        source, references = evalset.sources[block.start + item], evalset.references[block.start + item]
        length, source_length = words(output), words(source)
        reference_length = average(words, references)
        sentence_count = sentences.count(output)
        expected_count = average(sentences.count, references)
        short = np.exp((length - reference_length) / length) if length < reference_length else 1.0  # LP1
        excess = (length - reference_length) / max(source_length - reference_length, 1)
        long = np.exp(-excess) if length > reference_length else 1.0  # LP2
        splits = np.exp(-abs(expected_count - sentence_count) / max(expected_count, sentence_count, 1))  # SLP
        penalties[item] = (short, long * splits, long)
    return penalties


def _keep(match: Match, side: ReferenceSide) -> tuple[Ints, Ints, Ints]:
    """For the output's n-grams: min(kS, kC), min(kS, kC, R), min(kS, R)."""
    source, references = match.block.source[match.where], match.block.reference_sum[match.where]
    k = side.k[match.cell // ORDER]
    kept_counts = np.minimum(source, match.count) * k
    return kept_counts, np.minimum(kept_counts, references), np.minimum(source * k, references)


def _additions(match: Match) -> tuple[Floats, Floats]:
    """Count the n-gram types that the output adds, and those of them that a reference has."""
    good = match.total(match.block.source[match.where] == 0)
    return good + match.others, good


def _deletions(match: Match, side: ReferenceSide) -> tuple[Floats, Floats]:
    """Σ over deleted types of max(kS − kC − R, 0)/(kS − kC), and how many types are deleted at least in part.

    ``side.delete_ratio`` has the sum for an output that keeps nothing; the n-grams that the output keeps are corrected.
    """
    source, references = match.block.source[match.where], match.block.reference_sum[match.where]
    k = side.k[match.cell // ORDER]
    repeated = source * k
    deleted = np.maximum(repeated - match.count * k, 0)
    if_all_gone = np.maximum(repeated - references, 0) / np.maximum(repeated, 1)
    ratio = np.maximum(deleted - references, 0) / np.maximum(deleted, 1)
    good = side.delete_ratio + match.total(ratio - if_all_gone)
    types = side.source_types - match.total((source > 0) & (deleted == 0))
    return np.maximum(good, 0.0), types


def _sentence_parts(
    *, correct: Sums, by_output: Sums, recalled: Sums, by_references: Sums, undefined: float, precision_only: bool
) -> Floats:
    """Return parts: precision is correct / by_output, recall is recalled / by_references; 0/0 is ``undefined``."""
    precision = _ratio(np.stack(correct, axis=1), np.stack(by_output, axis=1), undefined)
    recall = _ratio(np.stack(recalled, axis=1), np.stack(by_references, axis=1), undefined)
    return _parts(precision, recall, precision_only=precision_only)


def _parts(precision: Floats, recall: Floats, *, precision_only: bool) -> Floats:
    score = _f1(precision, recall)
    if precision_only:
        score[..., 2, :] = precision[..., 2, :]
    return np.stack((score, precision, recall), axis=-1)


def _ratio(numerator: Floats | Ints, denominator: Floats | Ints, undefined: float = 0.0) -> Floats:
    ratio: Floats = np.full(np.shape(numerator), undefined)
    return np.divide(numerator, denominator, out=ratio, where=denominator > 0)


def _f1(precision: Floats, recall: Floats) -> Floats:
    return _ratio(2 * precision * recall, precision + recall)
