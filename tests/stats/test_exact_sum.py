"""Exact sums: any order and any division gives the total that exact arithmetic gives."""

from __future__ import annotations

import math

import numpy as np

from plainly.stats.exact_sum import ExactSum


def test_a_sum_of_counts_and_large_fractions_is_that_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(3000, 3)) * np.array([1.0, 1e3, 1e8])
    rows = np.rint(rows * 2.0**20) / 2.0**20  # whole multiples of 2⁻²⁰, which no rounding changes
    whole = ExactSum.of(rows)
    assert whole.to_floats().tolist() == [math.fsum(column) for column in rows.T]
    assert whole.rest == (0.0, 0.0, 0.0)
    shuffled = rows[rng.permutation(len(rows))]
    parts = sum((ExactSum.of(part) for part in np.array_split(shuffled, 13)), ExactSum.zero(3))
    assert parts == whole


def test_what_is_too_large_for_whole_numbers_is_not_lost() -> None:
    rows = np.array([[2.0**32, 1.5], [-(2.0**40), 0.25], [0.5, np.inf]])
    assert ExactSum.of(rows).to_floats().tolist() == [2.0**32 - 2.0**40 + 0.5, np.inf]
