"""Strengths come back from choices that were drawn with them, and best–worst scores are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest

from plainly.core.sampling import Sampling
from plainly.people.preferences import Choice, compared, rank
from plainly.stats.preferences import Meeting, preferences, strengths


def drawn(rng: np.random.Generator, truth: np.ndarray, nu: float, items: int) -> list[Meeting]:
    """Every pair once an item, with the chances of Davidson's model."""
    pairs = []
    for item in range(items):
        for i in range(len(truth)):
            for j in range(i):
                up, both = np.exp((truth[i] - truth[j]) / 2), np.exp(nu)
                at = rng.random() * (up + 1 / up + both)
                first, second = (i, j) if at < up or at >= up + 1 / up else (j, i)
                pairs.append(Meeting(str(item), f"s{first}", f"s{second}", tie=bool(at >= up + 1 / up)))
    return pairs


def test_strengths_are_recovered_and_intervals_hold_them() -> None:
    truth = np.array([1.0, 0.3, -0.4, -0.9])
    held = []
    for seed in range(20):
        pairs = drawn(np.random.default_rng(seed), truth, np.log(0.7), 150)
        told = {row.system: row for row in preferences(pairs, sampling=Sampling(resamples=200))}
        for at, value in enumerate(truth):
            held.append(told[f"s{at}"].strength.low <= value <= told[f"s{at}"].strength.high)
            assert told[f"s{at}"].strength.value == pytest.approx(value, abs=0.4)
    assert np.mean(held) > 0.85


def test_two_systems_without_ties_have_the_closed_form() -> None:
    wins = np.array([[[0.0, 3000.0], [1000.0, 0.0]]])
    theta = strengths(wins, np.zeros((1, 2, 2)))[0]
    assert theta[0] - theta[1] == pytest.approx(np.log(3), abs=0.01)


def test_a_system_that_never_lost_is_not_infinite() -> None:
    (best, *_) = preferences([Meeting(str(at), "a", "b") for at in range(30)], sampling=Sampling(resamples=50))
    assert best.system == "a"
    assert best.win_rate.value == 1
    assert np.isfinite(best.strength.value)


def test_best_worst_choices_are_comparisons_and_scores() -> None:
    choice = Choice("1", "r", ("a", "b", "c", "d"), best="a", worst="d")
    assert {(pair.first, pair.second) for pair in compared(choice)} == {
        ("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d"),
    }  # fmt: skip
    told = rank([choice, Choice("2", "r", ("a", "b", "c", "d"), best="b", worst="d")], sampling=Sampling(resamples=20))
    assert told.best_worst == {"a": 0.5, "b": 0.5, "c": 0.0, "d": -1.0}
    assert [row["system"] for row in told.records()][-1] == "d"
