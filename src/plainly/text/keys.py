"""How an n-gram of an item becomes one 64-bit number, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

ORDER = 4
_FEWEST_BITS = 6


@dataclass(frozen=True)
class Layout:
    """The fields of a key: item, then four local token ids of ``bits`` each, 0 where the n-gram is shorter.

    ``role_bits`` are kept free at the top, so that a key can be shifted left to carry the number of a text for sorting.
    Where the ids of an item do not fit (``bits`` is 0), a hash of them stands in, preceded by the n-gram's length.
    """

    items: int
    bits: int
    role_bits: int

    @classmethod
    def fitting(cls, *, items: int, most_words: int, references: int) -> Layout | None:
        """A layout with exact keys for so many items, distinct words in an item, and references; None if none fits."""
        layout = cls(
            items=items,
            bits=max(most_words.bit_length(), _FEWEST_BITS),
            role_bits=references.bit_length(),
        )
        return layout if layout.item_bits + ORDER * layout.bits + layout.role_bits <= 64 else None

    @property
    def item_bits(self) -> int:
        return max(self.items - 1, 0).bit_length()

    @property
    def hash_bits(self) -> int:
        return 64 - self.role_bits - self.item_bits - 2

    def fits(self, local: int) -> bool:
        """Whether a local id has room; a hash takes any."""
        return not self.bits or not local >> self.bits

    def pack(self, item: Ints, words: list[Keys]) -> Keys:
        """Keys from items and the local ids of each n-gram, given word by word (fewer arrays for shorter n-grams)."""
        if self.bits:
            keys = np.zeros(len(item), dtype=np.uint64) if self.items == 1 else _shifted(item, ORDER * self.bits)
            for place, word in enumerate(words):
                keys |= self.place(word, place)
            return keys
        if not words:
            return np.zeros(len(item), dtype=np.uint64)
        order = sum((word != 0).astype(np.uint64) for word in words) - np.uint64(1)
        state = np.zeros(len(item), dtype=np.uint64)
        for word in words:
            state = np.where(word != 0, _mixed(state ^ word), state)
        keys = (order << np.uint64(self.hash_bits)) | (state >> np.uint64(64 - self.hash_bits))
        return keys if self.items == 1 else np.asarray(keys | _shifted(item, self.hash_bits + 2))

    def place(self, words: Keys, place: int) -> Keys:
        """Local ids shifted to where the word at ``place`` of an n-gram stands in an exact key."""
        return words << np.uint64((ORDER - 1 - place) * self.bits)

    def unpack(self, keys: Keys) -> list[Keys]:
        """The four local ids of exact keys."""
        mask = np.uint64((1 << self.bits) - 1)
        return [(keys >> np.uint64((ORDER - 1 - place) * self.bits)) & mask for place in range(ORDER)]

    def item(self, keys: Keys) -> Ints:
        if self.items == 1:
            return np.zeros(len(keys), dtype=np.int64)
        return (keys >> np.uint64(ORDER * self.bits if self.bits else self.hash_bits + 2)).astype(np.int64)

    def order(self, keys: Keys) -> Ints:
        """How many words the n-gram has, less one."""
        if not self.bits:
            return ((keys >> np.uint64(self.hash_bits)) & np.uint64(3)).astype(np.int64)
        order = np.zeros(len(keys), dtype=np.int64)
        for place in range(1, ORDER):
            mask = ((1 << self.bits) - 1) << ((ORDER - 1 - place) * self.bits)
            order += (keys & np.uint64(mask)) != 0
        return order

    def cell(self, keys: Keys) -> Ints:
        """item × ORDER + order: where an n-gram's contribution is added up."""
        return self.item(keys) * ORDER + self.order(keys)


def run_starts(values: Keys) -> npt.NDArray[np.intp]:
    """Where each run of equal values begins, in a sorted array."""
    new = np.empty(len(values), dtype=np.bool_)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.flatnonzero(new)


def _shifted(item: Ints, bits: int) -> Keys:
    return item.astype(np.uint64) << np.uint64(bits)


def _mixed(state: Keys) -> Keys:
    # The finaliser of splitmix64 (Steele, Lea and Flood 2014).
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
