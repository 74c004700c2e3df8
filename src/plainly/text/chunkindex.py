"""White-space chunks as dense numbers, found without making a Python string of each.

A batch of texts is one run of UTF-8 bytes. Chunks begin and end where white space does; a chunk of up to 16 bytes is
itself a key of two 64-bit numbers, which are looked up in a hash table, all chunks of the batch at once. Only a chunk
that was never seen becomes a string. Longer chunks, and texts with NUL bytes or lone surrogates, take the plain way
through a dictionary.

Words, syllables, letters and sentence ends are decided chunk by chunk, so whatever a metric counts is a row of small
integers for each distinct chunk, worked out once (``ChunkMemo``): a text becomes a look-up per chunk and a sum.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from plainly.text.arrays import Ints, Keys, KeyTable, Ragged, stretches

Bytes = npt.NDArray[np.uint8]

_PACKED = 16  # bytes of a chunk that fit a pair of keys
_PADDING = b"\0" * _PACKED
# Everything beyond ASCII that str.split() takes for white space: its UTF-8 bytes, as a number of three bytes.
_CODES = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
_WIDE_SPACES = np.array([int.from_bytes(chr(code).encode().ljust(3, b"\0"), "big") for code in _CODES], dtype=np.int64)
_FIRST_OF_TWO, _FIRST_OF_THREE = 0xC2, 0xE0  # the least first bytes of characters of two and of three bytes
_RECENT, _RECENT_SHARE = 4096, 16  # how large the small table may grow, and which share of the large one
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], dtype=np.uint64)

# A memo starts afresh when it has seen this many distinct chunks, and texts are read in blocks of this many texts or
# characters, so that memory is bounded on streams and texts of any length.
MEMO_LIMIT = 1_000_000
BLOCK, BLOCK_CHARACTERS = 5_000, 3_000_000


class ChunkIndex:
    """Numbers for chunks, in the order in which they were first seen; ``learn`` is told of new ones, each once."""

    def __init__(self, learn: Callable[[Sequence[str]], object]) -> None:
        self._learn = learn
        self._lock = threading.Lock()
        self._by_text: dict[str, int] = {}
        # A table is replaced when chunks are added, so they go into a small one first: on a stream every block brings
        # some, and replacing a table of a million each time would cost more than all the rest.
        self._packed, self._recent = _PackedChunks(), _PackedChunks()

    def __len__(self) -> int:
        return len(self._by_text)

    def read(self, texts: Sequence[str]) -> Ragged:
        """The numbers of the chunks of each text, as ``str.split()`` finds them."""
        try:
            pieces = list(map(str.encode, texts))
        except UnicodeEncodeError:
            return self.read_split(map(str.split, texts))
        data = b" ".join(pieces)
        if not data:
            return Ragged(np.empty(0, dtype=np.int64), np.zeros(len(pieces) + 1, dtype=np.int64))
        if b"\0" in data:
            return self.read_split(map(str.split, texts))
        padded = bytearray(data + _PADDING)
        view = np.frombuffer(padded, dtype=np.uint8)
        if not data.isascii():
            _blank_wide_spaces(view)
        starts, ends = _bounds(view[: len(data)])
        lengths = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
        begins = np.cumsum(lengths + 1) - lengths - 1
        offsets = np.append(np.searchsorted(starts, begins), len(starts))
        return Ragged(self._numbers(padded, starts, ends), offsets)

    def read_split(self, chunked: Iterable[Sequence[str]]) -> Ragged:
        """The same for texts that were split already, in whatever way."""
        chunked = list(chunked)
        numbers = self.numbers(list(chain.from_iterable(chunked)))
        counts = np.fromiter(map(len, chunked), dtype=np.int64, count=len(chunked))
        return Ragged(np.array(numbers, dtype=np.int64), np.concatenate(([0], np.cumsum(counts))))

    def numbers(self, chunks: Sequence[str]) -> list[int]:
        """The numbers of chunks that are strings."""
        known = self._by_text
        with self._lock:
            new = [chunk for chunk in dict.fromkeys(chunks) if chunk not in known]
            if new:
                self._learn(new)
                known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        return [known[chunk] for chunk in chunks]

    def _numbers(self, data: bytearray, starts: Ints, ends: Ints) -> Ints:
        first, second = _keys(data, starts, ends)
        numbers = self._packed.find(first, second)
        long = np.flatnonzero(ends - starts > _PACKED)
        if len(long):
            numbers[long] = self.numbers(_spelt(data, starts[long], ends[long]))
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            numbers[unknown] = self._recent.find(first[unknown], second[unknown])
            unknown = unknown[numbers[unknown] < 0]
        if len(unknown):
            table, rows = KeyTable.numbering(first[unknown], second[unknown])
            place = np.empty(len(table), dtype=np.intp)
            place[rows] = unknown
            new = np.array(self.numbers(_spelt(data, starts[place], ends[place])), dtype=np.int64)
            numbers[unknown] = new[rows]
            self._remember(_PackedChunks(table, new))
        return numbers

    def _remember(self, new: _PackedChunks) -> None:
        with self._lock:
            self._recent = self._recent.joined(new)
            if len(self._recent) > max(_RECENT, len(self._packed) // _RECENT_SHARE):
                self._packed, self._recent = self._packed.joined(self._recent), _PackedChunks()


class ChunkMemo:
    """From texts to facts about their chunks. ``describe`` is called once per distinct chunk and gives its row."""

    def __init__(
        self,
        describe: Callable[[str], Sequence[int]],
        *,
        clean: Callable[[Sequence[str]], Sequence[str]] = lambda texts: texts,
    ) -> None:
        self._describe, self._clean = describe, clean
        self._facts = _ChunkFacts(describe)

    def rows(self, texts: Sequence[str], count: Callable[[Ragged], Ints]) -> Ints:
        """What ``count`` makes of the facts about every chunk of a block of texts, for all texts."""
        blocks = []
        for start, stop in stretches(map(len, texts), most=BLOCK, room=BLOCK_CHARACTERS):
            if len(self._facts.index) > MEMO_LIMIT:
                self._facts = _ChunkFacts(self._describe)
            facts = self._facts
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


class _PackedChunks:
    """The numbers of chunks of up to 16 bytes; never changed, only replaced."""

    def __init__(self, table: KeyTable | None = None, numbers: Ints | None = None) -> None:
        nothing = np.empty(0, dtype=np.uint64)
        self._table = table or KeyTable.numbering(nothing, nothing)[0]
        # One more than there are rows: a chunk that is not there has row −1 and so number −1.
        self._numbers = np.append(np.empty(0, dtype=np.int64) if numbers is None else numbers, -1)

    def __len__(self) -> int:
        return len(self._table)

    def find(self, first: Keys, second: Keys) -> Ints:
        """The number of each chunk, −1 where it is not there."""
        return self._numbers[self._table.find(first, second)]

    def joined(self, other: _PackedChunks) -> _PackedChunks:
        """What is in either; a chunk in both has the same number in both."""
        columns = zip(self._table.columns, other._table.columns, strict=True)
        table, rows = KeyTable.numbering(*(np.concatenate(pair) for pair in columns), slots_a_key=4)
        numbers = np.empty(len(table), dtype=np.int64)
        numbers[rows] = np.concatenate((self._numbers[:-1], other._numbers[:-1]))
        return _PackedChunks(table, numbers)


def _spelt(data: bytearray, starts: Ints, ends: Ints) -> list[str]:
    return [data[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _blank_wide_spaces(data: Bytes) -> None:
    """Put spaces in place of every white-space character beyond ASCII, as many as it has bytes."""
    places = np.flatnonzero(data >= _FIRST_OF_TWO)
    lead, second, third = (data[places + offset].astype(np.int64) for offset in range(3))
    third[lead < _FIRST_OF_THREE] = 0
    characters = (lead << 16) | (second << 8) | third
    # By hand, as np.isin would import numpy.ma, which takes longer than a small set of data.
    nearest = _WIDE_SPACES[np.searchsorted(_WIDE_SPACES[:-1], characters)]
    places = places[nearest == characters]
    three = data[places] >= _FIRST_OF_THREE
    data[places] = data[places + 1] = 32
    data[places[three] + 2] = 32


def _bounds(data: Bytes) -> tuple[Ints, Ints]:
    """Where chunks begin and end in a run of bytes."""
    space = data <= 32
    control = (data < 9) | ((data > 13) & (data < 28))
    if control.any():
        space &= ~control
    edges = np.flatnonzero(space[1:] != space[:-1]) + 1
    if not space[0]:
        edges = np.concatenate(([0], edges))
    if not space[-1]:
        edges = np.append(edges, len(data))
    return edges[0::2], edges[1::2]


def _keys(data: bytearray, starts: Ints, ends: Ints) -> tuple[Keys, Keys]:
    """The first and second eight bytes of each chunk, zeros beyond its end."""
    # A view of the eight bytes from every position on.
    windows = np.ndarray(shape=(len(data) - 8,), dtype="<u8", buffer=data, strides=(1,))
    size = ends - starts
    first = windows[starts] & _MASKS[np.minimum(size, 8)]
    second = np.zeros(len(starts), dtype=np.uint64)
    longer = np.flatnonzero(size > 8)
    second[longer] = windows[starts[longer] + 8] & _MASKS[np.minimum(size[longer] - 8, 8)]
    return first, second
