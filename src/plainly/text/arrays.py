"""Texts as arrays of numbers: chunks between white space are numbered without creating a Python string for each.

A batch of texts is one run of UTF-8 bytes. A chunk of up to 16 bytes is itself a key of two 64-bit numbers, which are
looked up in a hash table, all chunks of the batch at once. Only a chunk that is new becomes a string. Longer chunks,
and texts with NUL bytes or lone surrogates, are looked up in a dictionary.

Words, syllables, letters and sentence ends depend on one chunk at a time, so whatever a metric counts is a row of small
integers for each distinct chunk, computed once (``ChunkMemo``): a text becomes a look-up per chunk and a sum.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, starmap
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths: text i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: Ints
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    @property
    def owners(self) -> Ints:
        """The number of the text that each value belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def select(self, texts: Ints) -> Ragged:
        """Return the texts with these numbers, in this order."""
        lengths = self.lengths[texts]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        positions = np.repeat(self.offsets[texts] - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
        return Ragged(self.values[positions], offsets)

    def replace(self, texts: Ints, others: Ragged) -> Ragged:
        """Return a copy in which the texts with these numbers are replaced by others."""
        order = np.arange(len(self.offsets) - 1)
        order[texts] = len(order) + np.arange(len(texts))
        values = np.concatenate((self.values, others.values))
        return Ragged(values, np.concatenate((self.offsets, others.offsets[1:] + self.offsets[-1]))).select(order)

    def sums(self, columns: slice) -> Ints:
        """Sum these columns of the rows over each text; a text without rows gives zeros."""
        selection = self.values[:, columns]
        running = np.zeros((len(selection) + 1, selection.shape[1]), dtype=np.int64)
        np.cumsum(selection, axis=0, out=running[1:])
        return running[self.offsets[1:]] - running[self.offsets[:-1]]


def split_blocks(sizes: Iterable[int], *, most: int, size_limit: int) -> Iterator[tuple[int, int]]:
    """Divide items of these sizes into blocks (start, stop): ``most`` items, or fewer that reach the size limit.

    There is at least one block, which is empty where there are no items.
    """
    start = stop = size = 0
    for stop, length in enumerate(sizes, 1):
        size += length
        if stop - start == most or size >= size_limit:
            yield start, stop
            start, size = stop, 0
    if start < stop or not stop:
        yield start, stop


def equal_parts(first: slice, second: slice, count: int) -> Iterator[tuple[slice, slice]]:
    """Divide two ranges into ``count`` parts each, which lie at the same share of both."""

    def cut(whole: slice) -> Iterator[slice]:
        bounds = [whole.start + (whole.stop - whole.start) * at // count for at in range(count + 1)]
        return starmap(slice, pairwise(bounds))

    return zip(cut(first), cut(second), strict=True)


_MIN_SLOTS = 16
_HALF = np.uint64(32)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MIX = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class KeyTable:
    """A hash table of distinct keys, one per row, with open addressing and linear probing; immutable.

    A key is one 64-bit number or several, a column each. The keys themselves are compared, so rows are exact.
    """

    columns: tuple[Keys, ...]
    _slots: Rows  # the row in each slot, −1 where it is free; their number is a power of two

    def __len__(self) -> int:
        return len(self.columns[0])

    @classmethod
    def numbering(cls, *columns: Keys, slots_per_key: int = 2) -> tuple[KeyTable, Rows]:
        """Return a table of the distinct keys, in the order of their last appearance, and the row of every key.

        There are between ``slots_per_key`` and twice as many slots for each key; keys that are nearly all different
        need more of them than keys with many repeats.
        """
        count = len(columns[0])
        slots = np.full(max(1 << (slots_per_key * count).bit_length(), _MIN_SLOTS), -1, dtype=np.int32)
        slot = _first_slots(columns, len(slots))
        positions = np.arange(count, dtype=np.int32)
        slots[slot] = positions  # of several keys with one slot, the last gets it
        holders = slots[slot]
        pending = np.flatnonzero(_differ(columns, holders, columns))
        keys = _at(columns, pending)
        while len(pending):
            slot[pending] = candidates = _next(slot[pending], slots)
            free = slots[candidates] < 0
            slots[candidates[free]] = pending[free]
            holders[pending] = here = slots[candidates]
            is_pending = _differ(columns, here, keys)
            pending, keys = pending[is_pending], _at(keys, is_pending)
        distinct = np.flatnonzero(holders == positions)
        numbers = np.arange(len(distinct), dtype=np.int32)
        slots[slot[distinct]] = numbers
        positions[distinct] = numbers
        return cls(_at(columns, distinct), slots), positions[holders]

    def find(self, *columns: Keys) -> Rows:
        """Return the row of each key, −1 where it is missing."""
        if not len(self):
            return np.full(len(columns[0]), -1, dtype=np.int32)
        slot = _first_slots(columns, len(self._slots))
        rows = self._slots[slot]
        pending = np.flatnonzero((rows >= 0) & _differ(self.columns, rows, columns))
        slot, keys = slot[pending], _at(columns, pending)
        while len(pending):
            slot = _next(slot, self._slots)
            rows[pending] = here = self._slots[slot]
            is_pending = (here >= 0) & _differ(self.columns, here, keys)
            pending, slot, keys = pending[is_pending], slot[is_pending], _at(keys, is_pending)
        return rows


def pairs(first: Ints, second: Ints) -> Keys:
    """Return one key for each pair of numbers below 2**32."""
    return (first.astype(np.uint64) << _HALF) | second.astype(np.uint64)


def firsts(keys: Keys) -> Ints:
    """Return the first number of each pair."""
    return (keys >> _HALF).view(np.int64)


def _first_slots(columns: tuple[Keys, ...], slots: int) -> Ints:
    state = columns[0] * _MIX
    for column in columns[1:]:
        state ^= column * _SECOND_MIX
    state ^= state >> _HALF
    state *= _SECOND_MIX
    state >>= np.uint64(65 - slots.bit_length())
    return state.view(np.int64)


def _next(slot: Ints, slots: Rows) -> Ints:
    return (slot + 1) & (len(slots) - 1)


def _at(columns: tuple[Keys, ...], rows: npt.NDArray[Any]) -> tuple[Keys, ...]:
    return tuple(column[rows] for column in columns)


def _differ(columns: tuple[Keys, ...], rows: Rows, keys: tuple[Keys, ...]) -> npt.NDArray[np.bool_]:
    """Return where the keys in these rows differ from the other keys."""
    differ: npt.NDArray[np.bool_] = columns[0][rows] != keys[0]
    for column, others in zip(columns[1:], keys[1:], strict=True):
        differ |= column[rows] != others
    return differ


_KEY_BYTES = 16  # a chunk of up to this many bytes is a pair of keys
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], dtype=np.uint64)
# Everything beyond ASCII that str.split() splits at: its UTF-8 bytes, as a number of three bytes.
_CODES = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
_WIDE_SPACES = np.array([int.from_bytes(chr(code).encode().ljust(3, b"\0"), "big") for code in _CODES], dtype=np.int64)
_FIRST_OF_TWO, _FIRST_OF_THREE = 0xC2, 0xE0  # the lowest first bytes of characters of two and of three bytes
_RECENT, _RECENT_SHARE = 4096, 16  # how large the small table may grow, and as which part of the large one

# A memo is replaced when it has seen this many distinct chunks, and texts are read in blocks of this many texts or
# characters, so that memory is bounded on streams and on texts of any length.
MEMO_LIMIT = 1_000_000
BLOCK, BLOCK_CHARACTERS = 5_000, 3_000_000


class ChunkIndex:
    """Numbers for chunks, in the order in which they first appear; ``learn`` is called with new ones, once for each."""

    def __init__(self, learn: Callable[[Sequence[str]], object]) -> None:
        self._learn = learn
        self._lock = threading.Lock()
        self._by_text: dict[str, int] = {}
        # Adding chunks replaces a table, so new chunks go into a small one first: on a stream every block has some, and
        # replacing a table of a million chunks each time would cost more than everything else.
        self._packed = self._recent = _NO_CHUNKS

    def __len__(self) -> int:
        return len(self._by_text)

    def read(self, texts: Sequence[str]) -> Ragged:
        """Return the numbers of the chunks of each text, which are those of ``str.split()``."""
        try:
            pieces = list(map(str.encode, texts))
        except UnicodeEncodeError:
            pieces = []
        data = b" ".join(pieces)
        if not data or b"\0" in data:
            return self.read_split(map(str.split, texts))
        buffer = bytearray(data + b"\0" * _KEY_BYTES)
        view = np.frombuffer(buffer, dtype=np.uint8)
        if not data.isascii():
            _blank_wide_spaces(view)
        starts, ends = _bounds(view[: len(data)])
        lengths = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
        begins = np.cumsum(lengths + 1) - lengths - 1
        offsets = np.append(np.searchsorted(starts, begins), len(starts))
        return Ragged(self._read_bytes(buffer, starts, ends), offsets)

    def read_split(self, texts: Iterable[Sequence[str]]) -> Ragged:
        """Return the numbers of the chunks of texts that are lists of chunks."""
        texts = list(texts)
        numbers = self.numbers(list(chain.from_iterable(texts)))
        counts = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        return Ragged(np.array(numbers, dtype=np.int64), np.concatenate(([0], np.cumsum(counts))))

    def numbers(self, chunks: Sequence[str]) -> list[int]:
        """Return the numbers of chunks that are strings."""
        by_text = self._by_text
        with self._lock:
            new = [chunk for chunk in dict.fromkeys(chunks) if chunk not in by_text]
            if new:
                self._learn(new)
                by_text.update(zip(new, range(len(by_text), len(by_text) + len(new)), strict=True))
        return [by_text[chunk] for chunk in chunks]

    def _read_bytes(self, data: bytearray, starts: Ints, ends: Ints) -> Ints:
        first, second = _keys(data, starts, ends)
        numbers = self._packed.find(first, second)
        long = np.flatnonzero(ends - starts > _KEY_BYTES)
        if len(long):
            numbers[long] = self.numbers(_decode(data, starts[long], ends[long]))
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            numbers[unknown] = self._recent.find(first[unknown], second[unknown])
            unknown = unknown[numbers[unknown] < 0]
        if len(unknown):
            table, rows = KeyTable.numbering(first[unknown], second[unknown])
            position = np.empty(len(table), dtype=np.intp)
            position[rows] = unknown
            new = np.array(self.numbers(_decode(data, starts[position], ends[position])), dtype=np.int64)
            numbers[unknown] = new[rows]
            self._remember(_PackedChunks(table, np.append(new, -1)))
        return numbers

    def _remember(self, new: _PackedChunks) -> None:
        with self._lock:
            self._recent = self._recent.join(new)
            if len(self._recent.table) > max(_RECENT, len(self._packed.table) // _RECENT_SHARE):
                self._packed, self._recent = self._packed.join(self._recent), _NO_CHUNKS


class ChunkMemo:
    """Facts about the chunks of texts. ``describe`` is called once for each distinct chunk and returns its row."""

    def __init__(
        self,
        describe: Callable[[str], Sequence[int]],
        *,
        clean: Callable[[Sequence[str]], Sequence[str]] = lambda texts: texts,
    ) -> None:
        self._describe, self._clean = describe, clean
        self._facts = _ChunkFacts(describe)

    def rows(self, texts: Sequence[str], count: Callable[[Ragged], Ints]) -> Ints:
        """Apply ``count`` to the facts about the chunks of each block of texts; return its rows for all texts."""
        blocks = []
        for start, stop in split_blocks(map(len, texts), most=BLOCK, size_limit=BLOCK_CHARACTERS):
            if len(self._facts.index) > MEMO_LIMIT:
                self._facts = _ChunkFacts(self._describe)
            facts = self._facts  # another thread may replace it
            chunks = facts.index.read(self._clean(texts[start:stop]))
            blocks.append(count(Ragged(facts.rows[chunks.values], chunks.offsets)))
        return np.concatenate(blocks)


class _ChunkFacts:
    """A row of facts for every distinct chunk, in the order of their numbers."""

    def __init__(self, describe: Callable[[str], Sequence[int]]) -> None:
        self._describe = describe
        self._used = 0
        self.rows = np.zeros((1024, len(describe("a"))), dtype=np.int64)
        self.index = ChunkIndex(self._learn)

    def _learn(self, chunks: Sequence[str]) -> None:
        new = np.array([self._describe(chunk) for chunk in chunks], dtype=np.int64)
        while self._used + len(new) > len(self.rows):
            self.rows = np.concatenate((self.rows, np.zeros_like(self.rows)))
        self.rows[self._used : self._used + len(new)] = new
        self._used += len(new)


@dataclass(frozen=True)
class _PackedChunks:
    """The numbers of chunks of up to 16 bytes."""

    table: KeyTable
    numbers: Ints  # of each row of the table; then −1, which is found at row −1, for a missing chunk

    def find(self, first: Keys, second: Keys) -> Ints:
        """Return the number of each chunk, −1 where it is missing."""
        return self.numbers[self.table.find(first, second)]

    def join(self, other: _PackedChunks) -> _PackedChunks:
        """Return the chunks of both; a chunk in both has the same number in both."""
        columns = zip(self.table.columns, other.table.columns, strict=True)
        table, rows = KeyTable.numbering(*map(np.concatenate, columns), slots_per_key=4)
        numbers = np.full(len(table) + 1, -1, dtype=np.int64)
        numbers[rows] = np.concatenate((self.numbers[:-1], other.numbers[:-1]))
        return _PackedChunks(table, numbers)


_NO_CHUNKS = _PackedChunks(KeyTable.numbering(*np.empty((2, 0), dtype=np.uint64))[0], np.array([-1]))


def _decode(data: bytearray, starts: Ints, ends: Ints) -> list[str]:
    return [data[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _blank_wide_spaces(data: Bytes) -> None:
    """Replace every white-space character beyond ASCII by as many spaces as it has bytes."""
    places = np.flatnonzero(data >= _FIRST_OF_TWO)
    lead, second, third = (data[places + offset].astype(np.int64) for offset in range(3))
    third[lead < _FIRST_OF_THREE] = 0
    characters = (lead << 16) | (second << 8) | third
    # Not np.isin: it imports numpy.ma, which takes longer than reading a small data set.
    nearest = _WIDE_SPACES[np.searchsorted(_WIDE_SPACES[:-1], characters)]
    places = places[nearest == characters]
    three = data[places] >= _FIRST_OF_THREE
    data[places] = data[places + 1] = 32
    data[places[three] + 2] = 32


def _bounds(data: Bytes) -> tuple[Ints, Ints]:
    """Return where chunks begin and end in a run of bytes."""
    space = data <= 32
    control = (data < 9) | ((data > 13) & (data < 28))
    if control.any():
        space &= ~control
    edges = np.flatnonzero(np.diff(space, prepend=True, append=True))
    return edges[0::2], edges[1::2]


def _keys(data: bytearray, starts: Ints, ends: Ints) -> tuple[Keys, Keys]:
    """Return the first and second eight bytes of each chunk, zeros beyond its end."""
    # A view of the eight bytes from every position on.
    windows = np.ndarray(shape=(len(data) - 8,), dtype="<u8", buffer=data, strides=(1,))
    size = ends - starts
    first = windows[starts] & _MASKS[np.minimum(size, 8)]
    second = np.zeros(len(starts), dtype=np.uint64)
    longer = np.flatnonzero(size > 8)
    second[longer] = windows[starts[longer] + 8] & _MASKS[np.minimum(size[longer] - 8, 8)]
    return first, second
