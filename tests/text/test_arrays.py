"""Keys are numbered as a dictionary would, and chunks in bytes are the chunks that str.split finds."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from plainly.text.arrays import ChunkIndex, KeyTable

ANY = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too
WORDY = st.text("ab é中🍮 \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u202f\u3000\u200b\x00\x07", max_size=60)
KEYS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1) | st.integers(0, 5)), max_size=60)


def _columns(keys: list[tuple[int, int]]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    array = np.array(keys, dtype=np.uint64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


@given(KEYS, KEYS)
@settings(max_examples=300, deadline=None)
def test_equal_keys_have_one_number_and_others_another(
    keys: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    table, rows = KeyTable.numbering(*_columns(keys))
    number = dict(zip(keys, rows.tolist(), strict=True))
    assert sorted(number.values()) == list(range(len(table))) == list(range(len(set(keys))))
    assert [number[key] for key in keys] == rows.tolist()
    assert table.find(*_columns(others)).tolist() == [number.get(key, -1) for key in others]
    first, second = table.columns
    assert [number[a, b] for a, b in zip(first.tolist(), second.tolist(), strict=True)] == list(range(len(table)))


def test_a_table_of_many_different_keys() -> None:
    keys = np.random.default_rng(1).permutation(np.arange(100_000, dtype=np.uint64)) << np.uint64(32)
    table, rows = KeyTable.numbering(keys)
    assert rows.tolist() == list(range(len(keys)))
    assert table.find(keys[::-1]).tolist() == list(range(len(keys)))[::-1]
    assert (table.find(keys + np.uint64(1)) == -1).all()


def _decode(index: ChunkIndex, chunks_seen: list[str], texts: list[str]) -> list[list[str]]:
    chunks = index.read(texts)
    return [
        [chunks_seen[number] for number in chunks.values[start:stop]]
        for start, stop in zip(chunks.offsets[:-1], chunks.offsets[1:], strict=True)
    ]


@given(st.lists(st.lists(ANY | WORDY, max_size=6), max_size=4))
@settings(max_examples=300, deadline=None)
def test_chunks_are_those_of_split(batches: list[list[str]]) -> None:
    chunks_seen: list[str] = []
    index = ChunkIndex(chunks_seen.extend)
    for texts in batches:
        assert _decode(index, chunks_seen, texts) == [text.split() for text in texts]
    assert len(set(chunks_seen)) == len(chunks_seen) == len(index)


def test_every_white_space_character_of_python_splits() -> None:
    chunks_seen: list[str] = []
    index = ChunkIndex(chunks_seen.extend)
    codes = [code for code in range(1, sys.maxunicode + 1) if chr(code).isspace() or code < 0x3100]
    texts = [f"a{chr(code)}b" for code in codes]
    for code, text, chunks in zip(codes, texts, _decode(index, chunks_seen, texts), strict=True):
        assert chunks == text.split(), hex(code)
    assert _decode(index, chunks_seen, ["a\0b"]) == [["a\0b"]]


def test_chunks_of_all_lengths_stay_apart() -> None:
    chunks_seen: list[str] = []
    index = ChunkIndex(chunks_seen.extend)
    texts = ["x" * length for length in range(1, 40)] + ["x" * 8 + "y", "x" * 16 + "y", "é" * 8, "é" * 9]
    assert _decode(index, chunks_seen, [" ".join(texts)])[0] == texts
    assert _decode(index, chunks_seen, texts) == [[text] for text in texts]


def test_many_chunks_fill_the_table() -> None:
    chunks_seen: list[str] = []
    index = ChunkIndex(chunks_seen.extend)
    texts = [" ".join(f"w{i * 37 + j}" for j in range(37)) for i in range(2000)]
    assert _decode(index, chunks_seen, texts) == [text.split() for text in texts]
    assert _decode(index, chunks_seen, texts[::-1]) == [text.split() for text in texts[::-1]]
    assert len(index) == 74_000


def test_threads_may_share_an_index() -> None:
    chunks_seen: list[str] = []
    index = ChunkIndex(chunks_seen.extend)
    texts = [" ".join(f"w{(i + j) % 500}" for j in range(30)) for i in range(400)]
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(lambda start: index.read(texts[start::4]), range(4)))
    for start, chunks in enumerate(read):
        spelt = [chunks_seen[number] for number in chunks.values]
        assert spelt == " ".join(texts[start::4]).split()
    assert len(set(chunks_seen)) == len(chunks_seen)
