"""What is known about each white-space chunk, worked out once: a text becomes a gather and a sum.

Words, syllables, letters and sentence ends are decided chunk by chunk, so whatever a metric counts is a row of small
integers per distinct chunk. Reading a text is then one dictionary look-up per chunk, and the sums are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.text.chunkindex import ChunkIndex, Ints

# A memo starts afresh when it has seen this many distinct chunks, and texts are read in blocks of this many, so that
# memory is bounded on streams of any length.
MEMO_LIMIT = 1_000_000
BLOCK = 5_000


@dataclass(frozen=True)
class Chunked:
    """Texts as chunks: the chunks of text i are ``facts[offsets[i]:offsets[i + 1]]``, one row of facts each."""

    facts: Ints
    offsets: Ints

    @property
    def texts(self) -> Ints:
        """Which text each chunk belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def sums(self, columns: slice) -> Ints:
        """The facts in these columns, summed over the chunks of each text; a text without chunks gives zeros."""
        width = len(range(*columns.indices(self.facts.shape[1])))
        running = np.zeros((len(self.facts) + 1, width), dtype=np.int64)
        np.cumsum(self.facts[:, columns], axis=0, out=running[1:])
        return running[self.offsets[1:]] - running[self.offsets[:-1]]


class ChunkMemo:
    """From texts to facts about their chunks. ``describe`` is called once per distinct chunk and gives its row."""

    def __init__(
        self,
        describe: Callable[[str], Sequence[int]],
        *,
        clean: Callable[[Sequence[str]], Sequence[str]] = lambda texts: texts,
    ) -> None:
        self._describe = describe
        self._clean = clean
        self._table = _Table(describe)

    def read(self, texts: Sequence[str]) -> Chunked:
        """The facts about every chunk of every text."""
        table = self._table
        if len(table) > MEMO_LIMIT:
            table = self._table = _Table(self._describe)
        chunks = table.index.read(self._clean(texts))
        return Chunked(facts=table.rows[chunks.ids], offsets=chunks.offsets)

    def blocks(self, texts: Sequence[str]) -> Iterator[Chunked]:
        """The same, a block of texts at a time."""
        for start in range(0, len(texts), BLOCK):
            yield self.read(texts[start : start + BLOCK])


class _Table:
    """A row of facts for every distinct chunk, in the order of their numbers."""

    def __init__(self, describe: Callable[[str], Sequence[int]]) -> None:
        self._describe = describe
        self._used = 0
        self.rows = np.zeros((1024, len(describe("a"))), dtype=np.int64)
        self.index = ChunkIndex(self._learn)

    def __len__(self) -> int:
        return self._used

    def _learn(self, chunks: Sequence[str]) -> None:
        new = np.array([self._describe(chunk) for chunk in chunks], dtype=np.int64)
        while self._used + len(new) > len(self.rows):
            self.rows = np.concatenate((self.rows, np.zeros_like(self.rows)))
        self.rows[self._used : self._used + len(new)] = new
        self._used += len(new)
