"""What SARI's variants count. S, C, R: occurrences of an n-gram in source, output, references; k: their number.

Everything here is (items, operation, order, …) arrays, operations in the order add, keep, delete. Deletions need no
look at n-grams that the output lacks: what is not kept is deleted, so sums over the source, made once, do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plainly.evalset import EvalSet
from plainly.protocol import Floats
from plainly.text import sentences
from plainly.text.keys import ORDER, Ints
from plainly.text.ngrams import Block, Match, add_up


@dataclass(frozen=True)
class ReferenceSide:
    """Sums over sources and references alone, (items, ORDER) each; the same for every output, so made once."""

    k: Ints  # references per item
    repeated: Floats  # Σ kS
    kept: Floats  # Σ min(kS, R)
    kept_types: Floats  # n-grams with min(kS, R) > 0
    added_types: Floats  # n-grams of references that the source lacks
    source_types: Floats
    deleted_types: Floats  # n-grams with kS > R
    delete_ratio: Floats  # Σ max(kS − R, 0)/kS: deletion precision if the output kept nothing
    kept_weight: Floats  # Σ over source n-grams of the share of references that contain it
    nonempty: Floats  # references that have any n-gram of that order


def reference_side(block: Block, reference_count: int) -> ReferenceSide:
    return block.derive(("sari", reference_count), lambda block: _reference_side(block, reference_count))


def _reference_side(block: Block, reference_count: int) -> ReferenceSide:
    k = np.full(len(block), reference_count) if reference_count else block.reference_counts
    item = block.cell // ORDER
    repeated = block.source * k[item]
    kept = np.minimum(repeated, block.reference_sum)
    in_source = block.source > 0
    orders = np.arange(1, ORDER + 1)
    nonempty = (block.reference_lengths[:, :, None] >= orders).sum(axis=1)
    share = block.reference_texts / np.maximum(nonempty.reshape(-1)[block.cell], 1)
    return ReferenceSide(
        k=k,
        repeated=block.total(repeated),
        kept=block.total(kept),
        kept_types=block.total(kept > 0),
        added_types=block.total(~in_source),
        source_types=block.total(in_source),
        deleted_types=block.total(repeated > block.reference_sum),
        delete_ratio=block.total((repeated - kept) / np.maximum(repeated, 1)),
        kept_weight=block.total(np.where(in_source, share, 0)),
        nonempty=nonempty.astype(np.float64),
    )


def easse_counts(found: Match, side: ReferenceSide) -> Floats:
    """[correct, by the output, by the references] for each operation and order: (items, 3, ORDER, 3)."""
    # Only n-grams that the block knows can be kept or be added correctly; all others are added.
    block, where = found.block, found.where
    cell, source, references = found.cell[found.known], block.source[where], block.reference_sum[where]
    kept = np.minimum(source, found.count[found.known]) * side.k[cell // ORDER]
    keep_good, keep_total = add_up(cell, np.minimum(kept, references), block), add_up(cell, kept, block)
    counts = np.empty((len(block), 3, ORDER, 3))
    counts[:, 0, :, 0] = add_up(cell, source == 0, block)
    counts[:, 0, :, 1] = add_up(found.cell, None, block) - add_up(cell, source > 0, block)
    counts[:, 0, :, 2] = side.added_types
    counts[:, 1, :, 0] = keep_good
    counts[:, 1, :, 1] = keep_total
    counts[:, 1, :, 2] = side.kept
    # min(kS − kept by output, kS − kept by references), summed, by inclusion and exclusion.
    counts[:, 2, :, 0] = side.repeated - keep_total - side.kept + keep_good
    counts[:, 2, :, 1] = side.repeated - keep_total
    counts[:, 2, :, 2] = side.repeated - side.kept
    return counts


def joshua_counts(found: Match, side: ReferenceSide) -> Floats:
    """As ``easse_counts``, but keep carries Joshua's statistics, the second cut to a whole number per sentence."""
    counts = easse_counts(found, side)
    kept, good, all_kept = _keep(found, side)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(good > 0, good / kept, 0.0)
        recall = np.where(good > 0, good / all_kept, 0.0)
    counts[:, 1, :, 0] = np.floor(1_000_000 * found.total(precision)) / 1_000_000
    counts[:, 1, :, 1] = np.floor(found.total(recall))
    counts[:, 1, :, 2] = side.kept_types
    return counts


def count_parts(counts: Floats, *, precision_only: bool) -> Floats:
    """[score, precision, recall] from counts; delete's score is its precision or its F1. 0/0 is 0."""
    precision = _ratio(counts[..., 0], counts[..., 1], 0.0)
    recall = _ratio(counts[..., 0], counts[..., 2], 0.0)
    return _parts(precision, recall, precision_only=precision_only)


def joshua_parts(counts: Floats) -> Floats:
    parts = count_parts(counts, precision_only=True)
    keep = counts[..., 1, :, :]
    precision, recall = _ratio(keep[..., 0], keep[..., 1], 0.0), _ratio(keep[..., 1], keep[..., 2], 0.0)
    parts[..., 1, :, :] = np.stack((_f1(precision, recall), precision, recall), axis=-1)
    return parts


def paper_average(parts: Floats, precision_only: bool) -> Floats:
    """Scores of the operations as the paper writes them: precision and recall averaged over n, then F1."""
    precision, recall = parts[..., 1].mean(axis=-1), parts[..., 2].mean(axis=-1)
    scores = _f1(precision, recall)
    if precision_only:
        scores[..., 2] = precision[..., 2]
    return scores


def xu_parts(found: Match, side: ReferenceSide, *, precision_only: bool, spurious: Floats | None = None) -> Floats:
    """Xu et al.'s SARI.py for every item: (items, 3, ORDER, [score, precision, recall])."""
    kept, good, all_kept = _keep(found, side)
    with np.errstate(invalid="ignore", divide="ignore"):
        keep_precision = found.total(np.where(good > 0, good / kept, 0.0))
        keep_recall = found.total(np.where(good > 0, good / all_kept, 0.0))
    added, add_good = _additions(found)
    if spurious is not None:
        add_good = add_good - spurious
    delete_good, delete_types = _deletions(found, side)
    return _sentence_parts(
        precision=(_ratio(add_good, added, 0.0), _ratio(keep_precision, found.total(kept > 0), 0.0),
                   _ratio(delete_good, delete_types, 0.0)),
        recall=(_ratio(add_good, side.added_types, 0.0), _ratio(keep_recall, side.kept_types, 0.0),
                _ratio(delete_good, side.deleted_types, 0.0)),
        precision_only=precision_only,
    )  # fmt: skip


def hf_parts(found: Match, side: ReferenceSide) -> Floats:
    """Hugging Face evaluate's sari: xu with 0/0 = 1, and keep's recall over occurrences instead of types."""
    kept, good, _ = _keep(found, side)
    with np.errstate(invalid="ignore", divide="ignore"):
        keep_precision = found.total(np.where(good > 0, good / kept, 0.0))
    added, add_good = _additions(found)
    delete_good, delete_types = _deletions(found, side)
    return _sentence_parts(
        precision=(_ratio(add_good, added, 1.0), _ratio(keep_precision, found.total(kept > 0), 1.0),
                   _ratio(delete_good, delete_types, 1.0)),
        recall=(_ratio(add_good, side.added_types, 1.0), _ratio(found.total(good), side.kept, 1.0),
                _ratio(delete_good, side.deleted_types, 1.0)),
        precision_only=True,
    )  # fmt: skip


def t2t_parts(found: Match, side: ReferenceSide) -> Floats:
    """tensor2tensor's sari_hook: n-grams are present or absent; a reference n-gram weighs the share that contain it."""
    in_source = found.take(found.block.source) > 0
    share = found.take(found.block.reference_texts) / np.maximum(side.nonempty.reshape(-1)[found.cell], 1)
    kept_weight, kept_types = found.total(np.where(in_source, share, 0.0)), found.total(in_source)
    added, add_good = _additions(found)
    deleted = side.source_types - kept_types
    delete_good = deleted - (side.kept_weight - kept_weight)
    return _sentence_parts(
        precision=(_ratio(add_good, added, 1.0), _ratio(kept_weight, kept_types, 1.0),
                   _ratio(delete_good, deleted, 1.0)),
        recall=(_ratio(add_good, side.added_types, 1.0), _ratio(kept_weight, side.kept_weight, 1.0),
                _ratio(delete_good, side.source_types - side.kept_weight, 1.0)),
        precision_only=True,
    )  # fmt: skip


def spurious_additions(evalset: EvalSet, block: Block, outputs: Sequence[str]) -> Floats:
    """Correct additions that only arise by deletion: their words stand in the source, as cased there, in that order.

    The one count that needs the words themselves; plain Python, since only the variant xu-modified asks for it.
    """
    spurious = np.zeros((len(outputs), ORDER))
    for item, output in enumerate(outputs):
        source, references = evalset.sources[block.start + item], evalset.references[block.start + item]
        cased = source.split()
        texts = [text.lower().split(" ") for text in (source, output, *references)]
        for order in range(ORDER):
            in_source, in_output, *in_references = ({*_grams(words, order + 1)} for words in texts)
            for gram in (in_output - in_source) & set().union(*in_references):
                spurious[item, order] += _is_subsequence([word for word in gram if word], cased)
    return spurious


def document_penalties(evalset: EvalSet, block: Block, outputs: Sequence[str]) -> Floats:
    """D-SARI's factors for add, keep and delete (Sun, Jin and Wan 2021): (items, 3)."""
    penalties = np.ones((len(outputs), 3))
    for item, output in enumerate(outputs):
        source, references = evalset.sources[block.start + item], evalset.references[block.start + item]
        length = len(output.split(" "))
        source_length = len(source.split(" "))
        reference_length = sum(len(text.split(" ")) for text in references) // len(references)
        written = sentences.count(output)
        expected = sum(map(sentences.count, references)) // len(references)
        short = np.exp((length - reference_length) / length) if length < reference_length else 1.0  # LP1
        excess = reference_length - length
        long = np.exp(excess / max(source_length - reference_length, 1)) if length > reference_length else 1.0  # LP2
        splits = np.exp(-abs(expected - written) / max(expected, written, 1))  # SLP
        penalties[item] = (short, long * splits, long)
    return penalties


def _keep(found: Match, side: ReferenceSide) -> tuple[Ints, Ints, Ints]:
    """For the output's n-grams: min(kS, kC), min(kS, kC, R), min(kS, R)."""
    source, references = found.take(found.block.source), found.take(found.block.reference_sum)
    k = side.k[found.cell // ORDER]
    kept = np.minimum(source, found.count) * k
    return kept, np.minimum(kept, references), np.minimum(source * k, references)


def _additions(found: Match) -> tuple[Floats, Floats]:
    """N-gram types that the output adds, and those of them that a reference has."""
    new = found.take(found.block.source) == 0
    return found.total(new), found.total(new & (found.take(found.block.reference_sum) > 0))


def _deletions(found: Match, side: ReferenceSide) -> tuple[Floats, Floats]:
    """Σ over deleted types of max(kS − kC − R, 0)/(kS − kC), and how many types are deleted at least in part.

    ``side.delete_ratio`` has the sum for an output that keeps nothing; what the output does keep is put right.
    """
    source, references = found.take(found.block.source), found.take(found.block.reference_sum)
    k = side.k[found.cell // ORDER]
    repeated = source * k
    deleted = np.maximum(repeated - found.count * k, 0)
    if_all_gone = np.maximum(repeated - references, 0) / np.maximum(repeated, 1)
    ratio = np.maximum(deleted - references, 0) / np.maximum(deleted, 1)
    good = side.delete_ratio + found.total(ratio - if_all_gone)
    types = side.source_types - found.total((source > 0) & (deleted == 0))
    return np.maximum(good, 0.0), types


def _sentence_parts(
    *,
    precision: tuple[Floats, Floats, Floats],
    recall: tuple[Floats, Floats, Floats],
    precision_only: bool,
) -> Floats:
    return _parts(np.stack(precision, axis=1), np.stack(recall, axis=1), precision_only=precision_only)


def _parts(precision: Floats, recall: Floats, *, precision_only: bool) -> Floats:
    score = _f1(precision, recall)
    if precision_only:
        score[..., 2, :] = precision[..., 2, :]
    return np.stack((score, precision, recall), axis=-1)


def _ratio(numerator: Floats, denominator: Floats, undefined: float) -> Floats:
    start = np.full(np.shape(numerator), undefined)
    ratio: Floats = np.divide(numerator, denominator, out=start, where=denominator > 0)
    return ratio


def _f1(precision: Floats, recall: Floats) -> Floats:
    both = precision + recall
    scores: Floats = np.divide(2 * precision * recall, both, out=np.zeros(np.shape(both)), where=both > 0)
    return scores


def _grams(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


def _is_subsequence(words: Sequence[str], text: Sequence[str]) -> bool:
    rest = iter(text)
    return all(word in rest for word in words)
