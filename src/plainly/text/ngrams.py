"""Exact n-gram statistics of many items at once: hash tables filled by whole arrays, not a Counter per sentence.

An n-gram is a pair of the n-gram without its last token and that token; a single token is a pair of its item and the
token. Numbering pairs, order by order, therefore numbers all n-grams of all items: each order has one table from pairs
to numbers, and all counts are arrays over these numbers.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plainly.core.evalset import EvalSet
from plainly.text.arrays import Ints, KeyTable, Ragged, firsts, pairs, split_blocks
from plainly.text.tokenise import Vocabulary, vocabulary

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.unsignedinteger]
Numbers = npt.NDArray[np.integer] | npt.NDArray[np.float64] | npt.NDArray[np.bool_]

ORDER = 4
BLOCK_ITEMS, BLOCK_CHARACTERS = 2048, 3_000_000
# A larger evaluation set is prepared block by block and not cached: a character of a text costs about 12 bytes.
CACHED_CHARACTERS = 40_000_000


@dataclass(frozen=True)
class Block:
    """The n-grams of the sources and references of consecutive items, ready to be matched with outputs.

    The arrays from ``cell`` on are parallel: one entry for each distinct n-gram of an item, shorter n-grams first. They
    are of the smallest unsigned type that holds them: combine them with wider numbers only.
    """

    start: int
    stop: int
    words: Vocabulary
    tables: tuple[KeyTable, ...]  # of each order, from the number of an n-gram's beginning and its last token
    reference_lengths: Ints  # (items, most references); −1 where there is none
    reference_counts: Ints  # how many references each item has
    orders: int  # the length of the longest n-grams
    cell: Counts  # item × orders + (length − 1): where an n-gram's contribution is added up
    source: Counts  # occurrences in the source
    reference_sum: Counts  # in all references together
    reference_most: Counts  # in the reference that has most
    reference_texts: Counts  # how many references contain it
    cache: dict[Hashable, Floats] = field(default_factory=dict, repr=False)  # sums that all outputs share

    def __len__(self) -> int:
        return self.stop - self.start

    def total(self, values: Numbers | None) -> Floats:
        """Add up one value per n-gram (or count n-grams) into (items, orders)."""
        return add_up(self.cell, values, self)


@dataclass(frozen=True)
class Match:
    """The distinct n-grams of outputs that the sources or references of their items have, and how many others."""

    block: Block
    where: Ints  # position in the block's arrays
    cell: Counts
    count: Ints  # occurrences in the output
    tokens: Ragged  # of each output
    _beginning: Ints  # the number of the longest n-gram from each token on that the block has
    _unknown: tuple[Ints, ...]  # for each order, where that n-gram with one more token is not in the block

    def total(self, values: Numbers | None) -> Floats:
        """Add up one value per n-gram (or count n-grams) into (items, orders)."""
        return add_up(self.cell, values, self.block)

    @cached_property
    def others(self) -> Floats:
        """How many distinct n-grams of each output are neither in the source nor in the references, (items, orders)."""
        items, room, beginning = self.tokens.owners, _room(self.tokens), self._beginning.copy()
        at = np.empty(0, dtype=np.int64)
        cells = []
        for order, (table, unknown) in enumerate(zip(self.block.tables, self._unknown, strict=True)):
            at = np.concatenate((at[room[at] > order], unknown))
            others, number = KeyTable.numbering(pairs(beginning[at], self.tokens.values[at + order]))
            beginning[at] = len(table) + number
            cell = np.empty(len(others), dtype=np.int64)
            cell[number] = items[at] * self.block.orders + order
            cells.append(cell)
        return add_up(np.concatenate(cells), None, self.block)


def prepare_blocks(
    evalset: EvalSet,
    *,
    tokenize: str,
    lowercase: bool,
    blank_token: bool = False,
    raw_source: bool = False,
    orders: int = ORDER,
) -> Iterator[Block]:
    """Return the blocks of an evaluation set, which are cached with it if it is small, otherwise made one by one.

    ``raw_source`` only splits the source at white space while the references are tokenised.
    """
    sizes = evalset.prepare("characters", _characters)

    def build(evalset: EvalSet) -> Iterator[Block]:
        for start, stop in split_blocks(sizes, most=BLOCK_ITEMS, size_limit=BLOCK_CHARACTERS):
            words = vocabulary(tokenize, lowercase=lowercase, blank_token=blank_token)
            yield _prepare(evalset, start, stop, words, raw_source, orders)

    if sum(sizes) > CACHED_CHARACTERS:
        return build(evalset)
    key = ("ngrams", tokenize, lowercase, blank_token, raw_source, orders)
    return iter(evalset.prepare(key, lambda evalset: list(build(evalset))))


def _characters(evalset: EvalSet) -> list[int]:
    """Return how long each item is, source and references together."""
    rows = zip(evalset.sources, evalset.references, strict=True)
    return [len(source) + sum(map(len, references)) for source, references in rows]


def match(block: Block, outputs: Sequence[str]) -> Match:
    """Compare the n-grams of ``outputs`` (one for each item of the block) with those of sources and references."""
    tokens = block.words.encode(outputs)
    beginning, room = tokens.owners, _room(tokens)
    at, first_row = np.arange(len(room)), 0
    where, counts, unknown = [], [], []
    for order, table in enumerate(block.tables):
        at = at[room[at] > order]
        rows = table.find(pairs(beginning[at], tokens.values[at + order]))
        is_known = rows >= 0
        unknown.append(at[~is_known])
        at, rows = at[is_known], rows[is_known]
        beginning[at] = rows
        count = np.bincount(rows)
        distinct = np.flatnonzero(count > 0)
        where.append(first_row + distinct)
        counts.append(count[distinct])
        first_row += len(table)
    places = np.concatenate(where)
    return Match(block, places, block.cell[places], np.concatenate(counts), tokens, beginning, tuple(unknown))


def add_up(cell: npt.NDArray[np.integer], values: Numbers | None, block: Block) -> Floats:
    """Add up one value per n-gram (or count n-grams) into (items, orders); exact for integers, far below 2**53."""
    if values is not None and values.dtype == np.bool_:
        cell, values = cell[values.astype(np.bool_, copy=False)], None
    sums: Floats = np.bincount(cell, weights=values, minlength=len(block) * block.orders).astype(np.float64, copy=False)
    return sums.reshape(len(block), block.orders)


def _prepare(evalset: EvalSet, start: int, stop: int, words: Vocabulary, raw_source: bool, orders: int) -> Block:
    items = stop - start
    references = evalset.references[start:stop]
    reference_counts = np.fromiter(map(len, references), dtype=np.int64, count=items)
    # Source and references of an item side by side, so that n-grams that are looked up together lie together.
    first_texts = np.cumsum(1 + reference_counts) - reference_counts - 1
    sources = evalset.sources[start:stop]
    texts = [text for source, row in zip(sources, references, strict=True) for text in (source, *row)]
    tokens = words.encode(texts)
    if raw_source:
        tokens = tokens.replace(first_texts, words.encode(sources, raw=True))
    item = np.repeat(np.arange(items), 1 + reference_counts)
    place = np.arange(len(texts)) - first_texts[item] - 1  # of a reference among those of its item; −1: a source
    reference_lengths = np.full((items, 1 + int(reference_counts.max(initial=1))), -1, dtype=np.int64)
    reference_lengths[item, place] = tokens.lengths
    tables, counts = zip(*_count(tokens, item, place, reference_counts, orders), strict=True)
    cell, source, together, most, containing = map(np.concatenate, zip(*counts, strict=True))
    reference_lengths = reference_lengths[:, :-1]  # without the place −1, the sources'
    return Block(
        start,
        stop,
        words,
        tables,
        reference_lengths,
        reference_counts,
        orders,
        cell,
        source,
        together,
        most,
        containing,
    )


def _count(
    tokens: Ragged, item: Ints, place: Ints, reference_counts: Ints, orders: int
) -> Iterator[tuple[KeyTable, tuple[Counts, ...]]]:
    """Yield for each order the table of its n-grams, and their cells and counts as in ``Block``.

    ``item`` is the item of each text, ``place`` its place among the references; −1 is the source.
    """
    item_of_gram, room = np.arange(len(reference_counts)), _room(tokens)
    beginning, place = np.repeat(item, tokens.lengths), np.repeat(place, tokens.lengths)
    in_source = np.flatnonzero(place < 0)
    again = np.flatnonzero(place >= 0)  # where an n-gram may begin that occurs more than once in its reference
    at = np.arange(len(room))
    for order in range(orders):
        at, in_source, again = (where[room[where] > order] for where in (at, in_source, again))
        table, number = KeyTable.numbering(pairs(beginning[at], tokens.values[at + order]))
        beginning[at] = number
        item_of_gram = item_of_gram[firsts(table.columns[0])]
        source = np.bincount(beginning[in_source], minlength=len(table))
        together = np.bincount(number, minlength=len(table)) - source
        most, containing = np.minimum(together, 1), together.copy()
        # An n-gram can only occur again where the n-gram without its last token does.
        is_repeat, repeats, times = _repeats(beginning[again], place[again], reference_counts[item_of_gram])
        again = again[is_repeat]
        np.maximum.at(most, repeats, times)
        np.subtract.at(containing, repeats, times - 1)
        cell = item_of_gram * orders + order
        yield table, tuple(map(_small, (cell, source, together, most, containing)))


def _repeats(number: Ints, place: Ints, slots: Ints) -> tuple[npt.NDArray[np.bool_], Ints, Ints]:
    """Return which of these n-grams occur more than once in a reference; their numbers and how often they do.

    Every n-gram has a slot for each reference of its item, which holds its last occurrence there.
    """
    ends = np.cumsum(slots)
    slot = (ends - slots)[number] + place
    last = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.int32)
    occurrence = np.arange(len(slot), dtype=np.int32)
    last[slot] = occurrence
    earlier = np.flatnonzero(last[slot] != occurrence)
    table, row = KeyTable.numbering(slot[earlier].astype(np.uint64))
    times = 1 + np.bincount(row, minlength=len(table))
    number_of_row = np.empty(len(table), dtype=np.int64)
    number_of_row[row] = number[earlier]
    last[slot[earlier]] = -1
    return last[slot] < 0, number_of_row, times


def _small(counts: Ints) -> Counts:
    """Convert numbers to the smallest type that holds them: most are counts below 256."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _room(texts: Ragged) -> Ints:
    """Return how many tokens there are from each token to the end of its text, itself included."""
    return np.repeat(texts.offsets[1:], texts.lengths) - np.arange(len(texts.values))
