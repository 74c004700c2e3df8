"""White-space chunks as dense numbers, found without making a Python string of each.

A batch of texts is one run of UTF-8 bytes. Chunks begin and end where white space does; a chunk of up to 16 bytes is
itself two 64-bit numbers, which are looked up in an open-addressing table, all chunks of the batch at once. Only a
chunk that was never seen becomes a string. Equality is exact: no hash stands for a chunk. Longer chunks, and texts with
NUL bytes or lone surrogates, take the plain way through a dictionary.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

_PACKED = 16  # bytes of a chunk that fit a pair of keys
_PADDING = b"\0" * _PACKED
# Everything else that str.split() takes for white space, in UTF-8; each is replaced by as many spaces as it has bytes.
_WIDE_SPACES = tuple(
    chr(code).encode() for code in (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
)
_RECENT, _RECENT_SHARE = 4096, 16  # how large the small table may grow, and which share of the large one
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class Chunks:
    """Texts as chunk numbers: those of text i are ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: Ints
    offsets: Ints


class ChunkIndex:
    """Numbers for chunks, in the order in which they were first seen; ``learn`` is told of new ones, each once."""

    def __init__(self, learn: Callable[[Sequence[str]], object]) -> None:
        self._learn = learn
        self._lock = threading.Lock()
        self._by_text: dict[str, int] = {}
        # A table is replaced when chunks are added, so they go into a small one first: on a stream every block brings
        # some, and replacing a table of a million each time would cost more than all the rest.
        self._table, self._recent = _Table(), _Table()

    def __len__(self) -> int:
        return len(self._by_text)

    def read(self, texts: Sequence[str]) -> Chunks:
        """The chunks of each text, as ``str.split()`` finds them."""
        try:
            pieces = list(map(str.encode, texts))
        except UnicodeEncodeError:
            return self.read_split(map(str.split, texts))
        data = b" ".join(pieces)
        if not data:
            return Chunks(np.empty(0, dtype=np.int64), np.zeros(len(pieces) + 1, dtype=np.int64))
        if b"\0" in data:
            return self.read_split(map(str.split, texts))
        if not data.isascii():
            for space in _WIDE_SPACES:
                if space in data:
                    data = data.replace(space, b" " * len(space))
        starts, ends = _bounds(np.frombuffer(data, dtype=np.uint8))
        lengths = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
        begins = np.cumsum(lengths + 1) - lengths - 1
        offsets = np.append(np.searchsorted(starts, begins), len(starts))
        return Chunks(self._numbers(data, starts, ends), offsets)

    def read_split(self, chunked: Iterable[Sequence[str]]) -> Chunks:
        """The same for texts that were split already, in whatever way."""
        chunked = list(chunked)
        ids = self.numbers(list(chain.from_iterable(chunked)))
        counts = np.fromiter(map(len, chunked), dtype=np.int64, count=len(chunked))
        return Chunks(np.array(ids, dtype=np.int64), np.concatenate(([0], np.cumsum(counts))))

    def numbers(self, chunks: Sequence[str]) -> list[int]:
        """The numbers of chunks given as strings."""
        known = self._by_text
        with self._lock:
            new = [chunk for chunk in dict.fromkeys(chunks) if chunk not in known]
            if new:
                self._learn(new)
                known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        return [known[chunk] for chunk in chunks]

    def _numbers(self, data: bytes, starts: Ints, ends: Ints) -> Ints:
        first, second = _keys(data, starts, ends)
        ids = self._table.find(first, second)
        long = np.flatnonzero(ends - starts > _PACKED)
        if len(long):
            ids[long] = self.numbers(_spelt(data, starts[long], ends[long]))
        unknown = np.flatnonzero(ids < 0)
        ids[unknown] = self._recent.find(first[unknown], second[unknown])
        unknown = unknown[ids[unknown] < 0]
        while len(unknown):
            # One of each; should two chunks share this hash, the other is still unknown in the next round.
            hashes = _Table.hashes(first[unknown], second[unknown])
            new = unknown[np.unique(hashes, return_index=True)[1]]
            numbers = self.numbers(_spelt(data, starts[new], ends[new]))
            with self._lock:
                recent = self._recent = self._recent.with_keys(
                    first[new], second[new], np.array(numbers, dtype=np.int64)
                )
                if len(recent) > max(_RECENT, len(self._table) // _RECENT_SHARE):
                    self._table, self._recent = recent.added_to(self._table), _Table()
            ids[unknown] = recent.find(first[unknown], second[unknown])
            unknown = unknown[ids[unknown] < 0]
        return ids


class _Table:
    """An open-addressing hash table of pairs of keys, probed for many at once; never changed, only replaced."""

    def __init__(
        self, first: Keys | None = None, second: Keys | None = None, ids: Ints | None = None, *, bits: int = 12
    ) -> None:
        empty = np.empty(0, dtype=np.uint64)
        self._keys = (empty if first is None else first, empty if second is None else second)
        self._ids = np.empty(0, dtype=np.int64) if ids is None else ids
        self._bits = bits
        self._slots_first = np.zeros(1 << bits, dtype=np.uint64)
        self._slots_second = np.zeros(1 << bits, dtype=np.uint64)
        self._slots_id = np.full(1 << bits, -1, dtype=np.int64)
        self._place()

    def __len__(self) -> int:
        return len(self._ids)

    def added_to(self, other: _Table) -> _Table:
        """The other table with what is in this one."""
        return other.with_keys(*self._keys, self._ids)

    @staticmethod
    def hashes(first: Keys, second: Keys) -> Keys:
        mixed = (first ^ (second * _MIX_SECOND)) * _MIX
        return (mixed ^ (mixed >> np.uint64(32))) * _MIX_SECOND

    def with_keys(self, first: Keys, second: Keys, ids: Ints) -> _Table:
        """A table with these as well; a key that is there already is not put in twice."""
        missing = self.find(first, second) < 0
        joined = [np.concatenate(pair) for pair in zip(self._keys, (first[missing], second[missing]), strict=True)]
        numbers = np.concatenate((self._ids, ids[missing]))
        bits = max(self._bits, (4 * len(numbers)).bit_length())
        return _Table(joined[0], joined[1], numbers, bits=bits)

    def find(self, first: Keys, second: Keys) -> Ints:
        """The number of each key pair, −1 where it is not there."""
        slot = self._slot(first, second)
        hit = (self._slots_first[slot] == first) & (self._slots_second[slot] == second)
        ids = np.where(hit, self._slots_id[slot], -1)
        # No chunk packs to zero, so a free slot is never hit; probing goes on until a free one is met.
        pending = np.flatnonzero(~hit & (self._slots_id[slot] >= 0))
        slot = slot[pending]
        while len(pending):
            slot = (slot + 1) & (len(self._slots_id) - 1)
            hit = (self._slots_first[slot] == first[pending]) & (self._slots_second[slot] == second[pending])
            ids[pending[hit]] = self._slots_id[slot[hit]]
            going_on = ~hit & (self._slots_id[slot] >= 0)
            pending, slot = pending[going_on], slot[going_on]
        return ids

    def _slot(self, first: Keys, second: Keys) -> npt.NDArray[np.intp]:
        return (self.hashes(first, second) >> np.uint64(64 - self._bits)).astype(np.intp)

    def _place(self) -> None:
        first, second = self._keys
        slot, pending = self._slot(first, second), np.arange(len(first))
        while len(pending):
            free = self._slots_id[slot] < 0
            # Where several want one slot the last gets it; the others go on to the next.
            self._slots_id[slot[free]] = self._ids[pending[free]]
            won = free & (self._slots_id[slot] == self._ids[pending])
            self._slots_first[slot[won]] = first[pending[won]]
            self._slots_second[slot[won]] = second[pending[won]]
            pending, slot = pending[~won], (slot[~won] + 1) & (len(self._slots_id) - 1)


def _spelt(data: bytes, starts: Ints, ends: Ints) -> list[str]:
    return [data[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _bounds(data: npt.NDArray[np.uint8]) -> tuple[Ints, Ints]:
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


def _keys(data: bytes, starts: Ints, ends: Ints) -> tuple[Keys, Keys]:
    """The first and second eight bytes of each chunk, zeros beyond its end."""
    padded = data + _PADDING
    # A view of the eight bytes from every position on.
    windows = np.ndarray(shape=(len(data) + 8,), dtype="<u8", buffer=padded, strides=(1,))
    size = ends - starts
    first = windows[starts] & _MASKS[np.minimum(size, 8)]
    second = np.zeros(len(starts), dtype=np.uint64)
    longer = np.flatnonzero(size > 8)
    second[longer] = windows[starts[longer] + 8] & _MASKS[np.minimum(size[longer] - 8, 8)]
    return first, second
