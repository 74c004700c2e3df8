"""Texts of like length together, so that a network spends little on padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def by_length(lengths: Mapping[int, int], *, budget: int) -> Iterator[list[int]]:
    """Positions in order of length, as many at a time as fit into ``budget`` tokens with their padding."""
    batch: list[int] = []
    for at in sorted(lengths, key=lambda at: lengths[at]):
        if batch and (len(batch) + 1) * lengths[at] > budget:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
