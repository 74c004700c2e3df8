"""Exact n-gram statistics of many items at once: one sort per block of items instead of a Counter per sentence.

Within an item, tokens get small local ids, so that an n-gram of up to four tokens packs into one 64-bit key together
with the item's number. Sorting the keys of a block brings equal n-grams together; run lengths are their counts.
Keys are exact, not hashes, up to thousands of distinct tokens in one item (an item with very many gets a block of its
own, good for about 16,000); only beyond that, for a book on one line, hashes of more than 50 bits stand in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plainly.evalset import EvalSet
from plainly.text.keys import ORDER, Ints, Keys, Layout, run_starts
from plainly.text.tokenise import Encoded, Vocabulary, vocabulary

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64] | npt.NDArray[np.bool_]
T = TypeVar("T")

BLOCK_ITEMS = 2048
# A larger evaluation set is prepared block by block and not kept: a block costs about 6 KB an item with ten references.
KEPT_ITEMS = 40_000

_TOKEN_BITS = 24
_POSITION_BITS = 28


@dataclass(frozen=True)
class Block:
    """The n-grams of the sources and references of consecutive items, ready to be matched with outputs.

    The arrays from ``keys`` on are parallel: one entry for each distinct n-gram of an item, sorted by key.
    """

    start: int
    stop: int
    words: Vocabulary
    layout: Layout
    local_words: Keys  # sorted (item, token) pairs; the rank within the item, from 1, is the local id
    local_starts: Ints  # where each item's pairs begin in local_words; one more entry than items
    source_lengths: Ints
    reference_lengths: Ints  # (items, most references); −1 where there is none
    reference_counts: Ints  # how many references each item has
    keys: Keys
    cell: Ints  # item × ORDER + (length − 1): where an n-gram's contribution is added up
    source: Ints  # occurrences in the source
    reference_sum: Ints  # in all references together
    reference_most: Ints  # in the reference that has most
    reference_texts: Ints  # how many references contain it
    _derived: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.stop - self.start

    def total(self, values: Numbers) -> Floats:
        """Add up one value per n-gram into (items, ORDER)."""
        return add_up(self.cell, values, self)

    def derive(self, key: Hashable, build: Callable[[Block], T]) -> T:
        """``build(self)``, computed once and kept for as long as the block is."""
        if key not in self._derived:
            self._derived[key] = build(self)
        found: T = self._derived[key]
        return found


@dataclass(frozen=True)
class Match:
    """The distinct n-grams of outputs, beside what the block knows of them (zero where it does not have them)."""

    block: Block
    lengths: Ints  # tokens of each output
    keys: Keys
    cell: Ints
    count: Ints  # occurrences in the output
    known: npt.NDArray[np.bool_]
    where: npt.NDArray[np.intp]  # position in the block's arrays, for the known

    def take(self, values: Ints) -> Ints:
        """A block's array for these n-grams, 0 where the block does not have the n-gram."""
        found = np.zeros(len(self.count), dtype=np.int64)
        found[self.known] = values[self.where]
        return found

    def total(self, values: Numbers) -> Floats:
        """Add up one value per n-gram into (items, ORDER)."""
        return add_up(self.cell, values, self.block)


def prepared(
    evalset: EvalSet, *, tokenize: str, lowercase: bool, blank_token: bool = False, raw_source: bool = False
) -> Iterator[Block]:
    """The blocks of an evaluation set; kept with it while it is small enough, otherwise made on the way.

    ``raw_source`` leaves the source as it stands (split at white space) while the references are tokenised.
    """

    def build(evalset: EvalSet) -> Iterator[Block]:
        for start in range(0, len(evalset), BLOCK_ITEMS):
            words = vocabulary(tokenize, lowercase=lowercase, blank_token=blank_token)
            yield from _prepare(evalset, start, min(start + BLOCK_ITEMS, len(evalset)), words, raw_source)

    if len(evalset) > KEPT_ITEMS:
        return build(evalset)
    key = ("ngrams", tokenize, lowercase, blank_token, raw_source)
    return iter(evalset.prepare(key, lambda evalset: list(build(evalset))))


def match(block: Block, outputs: Sequence[str]) -> Match:
    """Compare the n-grams of ``outputs`` (one for each item of the block) with those of sources and references."""
    encoded = block.words.encode(outputs)
    owner = np.repeat(np.arange(len(block)), encoded.lengths)
    local = _local_ids(block, owner, encoded)
    most = int(local.max(initial=0))
    if not block.layout.fits(most):
        block = _widened(block, most)
    keys = np.concatenate([_NO_KEYS, *(keys for keys, _ in _grams(block.layout, local, owner, encoded))])
    keys.sort()
    first = run_starts(keys)
    keys, count = keys[first], np.diff(first, append=len(keys))
    cell = block.layout.cell(keys)
    if not len(block.keys):
        nothing = np.zeros(len(keys), dtype=np.bool_)
        return Match(block, encoded.lengths, keys, cell, count, nothing, np.empty(0, dtype=np.intp))
    where = np.searchsorted(block.keys, keys)
    where[where == len(block.keys)] = 0
    known = block.keys[where] == keys
    return Match(block, encoded.lengths, keys, cell, count, known, where[known])


def add_up(cell: Ints, values: Numbers | None, block: Block) -> Floats:
    """Add up one value per n-gram (or count n-grams) into (items, ORDER); exact for integers, far below 2**53."""
    if values is not None and values.dtype == np.bool_:
        cell, values = cell[values.astype(np.bool_, copy=False)], None
    summed: Floats = np.bincount(cell, weights=values, minlength=len(block) * ORDER).astype(np.float64, copy=False)
    return summed.reshape(len(block), ORDER)


def _prepare(evalset: EvalSet, start: int, stop: int, words: Vocabulary, raw_source: bool) -> Iterator[Block]:
    items = stop - start
    references = evalset.references[start:stop] if evalset.references else ((),) * items
    counts = np.fromiter(map(len, references), dtype=np.int64, count=items)
    encoded = _joined(
        words.encode(evalset.sources[start:stop], as_it_stands=raw_source),
        words.encode(list(chain.from_iterable(references))),
    )
    text_item = np.concatenate((np.arange(items), np.repeat(np.arange(items), counts)))
    text_role = np.zeros(len(text_item), dtype=np.int64)  # 0 the source, then 1, 2, … the references
    first_reference = np.cumsum(counts) - counts
    text_role[items:] = 1 + np.arange(len(text_item) - items) - np.repeat(first_reference, counts)
    most_references = int(counts.max(initial=0))

    lengths = encoded.lengths
    owner = np.repeat(text_item, lengths)
    local, local_words = _ranked(owner, encoded.tokens)
    local_starts = np.searchsorted(local_words, np.arange(items + 1, dtype=np.uint64) << np.uint64(_TOKEN_BITS))
    most_words = int(np.diff(local_starts).max(initial=0))
    # Room for as many words again, since outputs bring words that sources and references do not have.
    layout = Layout.fitting(items=items, most_words=2 * most_words, references=most_references)
    if layout is None:
        if items > 1:
            middle = (start + stop) // 2
            yield from _prepare(evalset, start, middle, words, raw_source)
            yield from _prepare(evalset, middle, stop, words, raw_source)
            return
        layout = Layout(items=1, bits=0, role_bits=most_references.bit_length())

    role, role_bits = np.repeat(text_role, lengths).astype(np.uint64), np.uint64(layout.role_bits)
    grams = ((keys << role_bits) | role[at] for keys, at in _grams(layout, local, owner, encoded))
    keys = np.concatenate([_NO_KEYS, *grams])
    keys.sort()
    first, total = run_starts(keys), len(keys)
    occurrences = np.diff(first, append=total)
    keys = keys[first]
    is_source = (keys & np.uint64((1 << layout.role_bits) - 1)) == 0
    keys >>= role_bits
    distinct = run_starts(keys)
    # Within an n-gram's run of texts the source, if it has the n-gram, comes first.
    source = np.where(is_source[distinct], occurrences[distinct], 0)
    in_texts = np.diff(distinct, append=len(keys)) - is_source[distinct]
    everywhere = np.diff(first[distinct], append=total)

    reference_lengths = np.full((items, max(most_references, 1)), -1, dtype=np.int64)
    reference_lengths[text_item[items:], text_role[items:] - 1] = lengths[items:]
    yield Block(
        start=start,
        stop=stop,
        words=words,
        layout=layout,
        local_words=local_words,
        local_starts=local_starts,
        source_lengths=lengths[:items],
        reference_lengths=reference_lengths,
        reference_counts=counts,
        keys=keys[distinct],
        cell=layout.cell(keys[distinct]),
        source=source,
        reference_sum=everywhere - source,
        reference_most=_most(occurrences, is_source, distinct, in_texts),
        reference_texts=in_texts,
    )


def _joined(first: Encoded, second: Encoded) -> Encoded:
    return Encoded(
        tokens=np.concatenate((first.tokens, second.tokens)),
        offsets=np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1])),
    )


def _most(occurrences: Ints, is_source: Bools, distinct: npt.NDArray[np.intp], in_texts: Ints) -> Ints:
    """Occurrences in the reference that has most of an n-gram: nearly always once, so only the others are compared."""
    most = np.minimum(in_texts, 1)
    repeated = np.flatnonzero((occurrences > 1) & ~is_source)
    np.maximum.at(most, np.searchsorted(distinct, repeated, side="right") - 1, occurrences[repeated])
    return most


def _pairs(owner: Ints, tokens: npt.NDArray[np.int32]) -> Keys:
    return (owner.astype(np.uint64) << np.uint64(_TOKEN_BITS)) | tokens.astype(np.uint64)


def _ranked(owner: Ints, tokens: npt.NDArray[np.int32]) -> tuple[Keys, Keys]:
    """Local ids from 1 within each item, and the sorted distinct (item, token) pairs that they number.

    The position travels in the low bits of the sorted key: a sort with its inverse at the price of a plain sort.
    """
    packed = (_pairs(owner, tokens) << np.uint64(_POSITION_BITS)) | np.arange(len(tokens), dtype=np.uint64)
    packed.sort()
    position = (packed & np.uint64((1 << _POSITION_BITS) - 1)).astype(np.intp)
    packed >>= np.uint64(_POSITION_BITS)
    first = run_starts(packed)
    pairs = packed[first]
    item = pairs >> np.uint64(_TOKEN_BITS)
    rank = (np.arange(len(pairs)) - np.searchsorted(item, item) + 1).astype(np.uint64)
    local = np.empty(len(tokens), dtype=np.uint64)
    local[position] = np.repeat(rank, np.diff(first, append=len(packed)))
    return local, pairs


def _local_ids(block: Block, owner: Ints, encoded: Encoded) -> Keys:
    """Local ids of the outputs' tokens; those that the item does not have are numbered after its own."""
    if not len(block.local_words):
        return _ranked(owner, encoded.tokens)[0]
    pairs = _pairs(owner, encoded.tokens)
    where = np.searchsorted(block.local_words, pairs)
    local = (where - block.local_starts[owner] + 1).astype(np.uint64)
    where[where == len(block.local_words)] = 0
    new = block.local_words[where] != pairs
    if new.any():
        ids, _ = _ranked(owner[new], encoded.tokens[new])
        local[new] = ids + np.diff(block.local_starts)[owner[new]].astype(np.uint64)
    return local


def _grams(layout: Layout, local: Keys, owner: Ints, encoded: Encoded) -> Iterator[tuple[Keys, npt.NDArray[np.intp]]]:
    """The keys of all n-grams, order by order, and the positions of their first tokens."""
    room = np.repeat(encoded.offsets[1:], encoded.lengths) - np.arange(len(local))
    keys = layout.pack(owner, [])
    for order in range(min(ORDER, len(local))):
        at = np.flatnonzero(room > order)
        if layout.bits:
            keys = keys[: len(local) - order] | layout.place(local[order:], order)
            yield keys[at], at
        else:
            yield layout.pack(owner[at], [local[at + place] for place in range(order + 1)]), at


def _widened(block: Block, most: int) -> Block:
    """The same block with room for larger local ids: rare, an output with far more new words than its item has."""
    old = block.layout
    wider = Layout.fitting(items=old.items, most_words=most, references=0)
    layout = wider or dataclasses.replace(old, bits=0)
    item = old.item(block.keys)
    keys = layout.pack(item, old.unpack(block.keys))
    ranks = np.argsort(keys, kind="stable")
    columns = {name: getattr(block, name)[ranks] for name in _PARALLEL}
    return dataclasses.replace(block, layout=layout, keys=keys[ranks], _derived={}, **columns)


_NO_KEYS = np.empty(0, dtype=np.uint64)
_PARALLEL = ("cell", "source", "reference_sum", "reference_most", "reference_texts")
