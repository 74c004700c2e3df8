"""The paragraphs of a long text beside those of its simplification, as the work page shows them."""

import re
from collections.abc import Sequence
from functools import lru_cache

from plainly.text.sentence_alignment import align

Row = tuple[tuple[str, ...], tuple[str, ...]]


@lru_cache(maxsize=1000)
def align_paragraphs(source: str, output: str) -> tuple[Row, ...] | None:
    """Return rows with a paragraph of the source and what the output has for it; None if the source is one paragraph.

    Both texts keep their order: read from top to bottom, each side of the rows is the whole text.
    """
    left, right = _split(source), _split(output)
    if len(left) < 2:
        return None
    matches = _match(left, right)
    rows = [
        ((text,), tuple(right[at] for at, row in enumerate(matches) if row == number))
        for number, text in enumerate(left)
    ]
    return tuple(rows)


def _split(text: str) -> list[str]:
    """Return the paragraphs of a text: what stands between blank lines, or its lines if there are none."""
    is_spaced = re.search(r"\S\s*\n[^\S\n]*\n\s*\S", text)
    parts = re.split(r"\n[^\S\n]*\n" if is_spaced else r"\n", text)
    return [part.strip() for part in parts if part.strip()]


def _match(left: Sequence[str], right: Sequence[str]) -> list[int]:
    """Return for each paragraph on the right the one on the left with most common sentences, without going back."""
    edges = align("\n\n".join(left), "\n\n".join(right), encoder=False)
    owners = [_owners([sentence.start for sentence in side], texts)
              for side, texts in ((edges.source, left), (edges.output, right))]  # fmt: skip
    weights = [[0.0] * len(left) for _ in right]
    for first, second in edges.edges:
        weights[owners[1][second]][owners[0][first]] += 1.0
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())] * len(left)  # by the last place: the sum, and all places
    for number, row in enumerate(weights):
        chains, top = [], best[0]
        for at in range(len(left)):
            top = max(top, best[at], key=_sum)
            # Without a common sentence a paragraph stays near its share of the text.
            distance = abs(at / len(left) - number / len(right)) / 100
            chains.append((top[0] + row[at] - distance, (*top[1], at)))
        best = chains
    return list(max(best, key=_sum)[1])


def _sum(chain: tuple[float, tuple[int, ...]]) -> float:
    return chain[0]


def _owners(starts: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Return the paragraph of each sentence, by where it begins in the joined text."""
    ends, end = [], 0
    for text in texts:
        end += len(text) + 2
        ends.append(end)
    return [next(number for number, end in enumerate(ends) if start < end) for start in starts]
