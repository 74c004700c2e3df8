"""What is known about each white-space chunk, worked out once: a text becomes a gather and a sum.

Words, syllables, letters and sentence ends are decided chunk by chunk, so whatever a metric counts is a row of small
integers per distinct chunk. Reading a text is then one look-up per chunk, and the sums are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from plainly.text.chunkindex import ChunkIndex
from plainly.text.ragged import Ragged

# A memo starts afresh when it has seen this many distinct chunks, and texts are read in blocks of this many, so that
# memory is bounded on streams of any length.
MEMO_LIMIT = 1_000_000
BLOCK = 5_000


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
        self._facts = _ChunkFacts(describe)

    def read(self, texts: Sequence[str]) -> Ragged:
        """A row of facts about every chunk of every text."""
        facts = self._facts
        if len(facts.index) > MEMO_LIMIT:
            facts = self._facts = _ChunkFacts(self._describe)
        chunks = facts.index.read(self._clean(texts))
        return Ragged(facts.rows[chunks.values], chunks.offsets)

    def blocks(self, texts: Sequence[str]) -> Iterator[Ragged]:
        """The same, a block of texts at a time."""
        for start in range(0, len(texts), BLOCK):
            yield self.read(texts[start : start + BLOCK])


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
