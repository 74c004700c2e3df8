"""Chunks found in bytes are the chunks that str.split finds, and the same chunk has the same number for ever."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

from plainly.text.chunkindex import ChunkIndex

ANY = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too
WORDY = st.text("ab é中🍮 \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u202f\u3000\u200b\x00\x07", max_size=60)


def _decoded(index: ChunkIndex, learnt: list[str], texts: list[str]) -> list[list[str]]:
    chunks = index.read(texts)
    return [
        [learnt[number] for number in chunks.values[start:stop]]
        for start, stop in zip(chunks.offsets[:-1], chunks.offsets[1:], strict=True)
    ]


@given(st.lists(st.lists(ANY | WORDY, max_size=6), max_size=4))
@settings(max_examples=300, deadline=None)
def test_chunks_are_those_of_split(batches: list[list[str]]) -> None:
    learnt: list[str] = []
    index = ChunkIndex(learnt.extend)
    for texts in batches:
        assert _decoded(index, learnt, texts) == [text.split() for text in texts]
    assert len(set(learnt)) == len(learnt) == len(index)


def test_every_white_space_character_of_python_splits() -> None:
    learnt: list[str] = []
    index = ChunkIndex(learnt.extend)
    for code in range(sys.maxunicode + 1):
        text = f"a{chr(code)}b"
        if chr(code).isspace() or code < 0x3100:
            assert _decoded(index, learnt, [text]) == [text.split()], hex(code)


def test_chunks_of_all_lengths_stay_apart() -> None:
    learnt: list[str] = []
    index = ChunkIndex(learnt.extend)
    texts = ["x" * length for length in range(1, 40)] + ["x" * 8 + "y", "x" * 16 + "y", "é" * 8, "é" * 9]
    assert _decoded(index, learnt, [" ".join(texts)])[0] == texts
    assert _decoded(index, learnt, texts) == [[text] for text in texts]


def test_many_chunks_fill_the_table() -> None:
    learnt: list[str] = []
    index = ChunkIndex(learnt.extend)
    texts = [" ".join(f"w{i * 37 + j}" for j in range(37)) for i in range(2000)]
    assert _decoded(index, learnt, texts) == [text.split() for text in texts]
    assert _decoded(index, learnt, texts[::-1]) == [text.split() for text in texts[::-1]]
    assert len(index) == 74_000


def test_threads_may_share_an_index() -> None:
    learnt: list[str] = []
    index = ChunkIndex(learnt.extend)
    texts = [" ".join(f"w{(i + j) % 500}" for j in range(30)) for i in range(400)]
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(lambda start: index.read(texts[start::4]), range(4)))
    for start, chunks in enumerate(read):
        spelt = [learnt[number] for number in chunks.values]
        assert spelt == " ".join(texts[start::4]).split()
    assert len(set(learnt)) == len(learnt)
