"""Keys numbered by whole arrays, held to a dictionary."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from plainly.text.arrays import KeyTable

KEYS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1) | st.integers(0, 5)), max_size=60)


def _columns(keys: list[tuple[int, int]]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    array = np.array(keys, dtype=np.uint64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


@given(KEYS, KEYS)
@settings(max_examples=300, deadline=None)
def test_equal_keys_have_one_number_and_others_another(
    keys: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    table, rows = KeyTable.numbering(*_columns(keys))
    number = dict(zip(keys, rows.tolist(), strict=True))
    assert sorted(number.values()) == list(range(len(table))) == list(range(len(set(keys))))
    assert [number[key] for key in keys] == rows.tolist()
    assert table.find(*_columns(asked)).tolist() == [number.get(key, -1) for key in asked]
    first, second = table.columns
    assert [number[a, b] for a, b in zip(first.tolist(), second.tolist(), strict=True)] == list(range(len(table)))


def test_a_table_of_many_different_keys() -> None:
    keys = np.random.default_rng(1).permutation(np.arange(100_000, dtype=np.uint64)) << np.uint64(32)
    table, rows = KeyTable.numbering(keys)
    assert rows.tolist() == list(range(len(keys)))
    assert table.find(keys[::-1]).tolist() == list(range(len(keys)))[::-1]
    assert (table.find(keys + np.uint64(1)) == -1).all()
