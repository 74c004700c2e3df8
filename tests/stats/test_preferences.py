"""Strengths come back from choices that were drawn with them, and best–worst scores are those of the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize

from plainly.core.sampling import Sampling
from plainly.people.preferences import Choice, list_comparisons, rank
from plainly.stats.preferences import Meeting, preferences, strengths


def draw_meetings(rng: np.random.Generator, truth: np.ndarray, nu: float, items: int) -> list[Meeting]:
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
    hits = []
    for seed in range(20):
        pairs = draw_meetings(np.random.default_rng(seed), truth, np.log(0.7), 150)
        results = {row.system: row for row in preferences(pairs, sampling=Sampling(resamples=200))}
        for at, value in enumerate(truth):
            hits.append(results[f"s{at}"].strength.low <= value <= results[f"s{at}"].strength.high)
            assert results[f"s{at}"].strength.value == pytest.approx(value, abs=0.4)
    assert np.mean(hits) > 0.85


def test_two_systems_without_ties_have_the_closed_form() -> None:
    wins = np.array([[[0.0, 3000.0], [1000.0, 0.0]]])
    theta = strengths(wins, np.zeros((1, 2, 2)))[0]
    assert theta[0] - theta[1] == pytest.approx(np.log(3), abs=0.01)


def test_strengths_maximise_davidsons_likelihood() -> None:
    """With half a tie added between every pair that met, as the module says; maximised by SciPy."""
    rng = np.random.default_rng(2)
    wins = rng.integers(0, 12, size=(4, 4)).astype(float) * (1 - np.eye(4))
    ties = np.triu(rng.integers(0, 6, size=(4, 4)), 1).astype(float)
    ties += ties.T
    wins[0, 3] = wins[3, 0] = ties[0, 3] = ties[3, 0] = 0  # a pair that never met

    def loss(parameters: np.ndarray) -> float:
        theta, nu = parameters[:4], parameters[4]
        total = 0.0
        for i, j in itertools.combinations(range(4), 2):
            parts = np.array([theta[i], theta[j], nu + (theta[i] + theta[j]) / 2])
            shares = parts - np.log(np.exp(parts).sum())
            met = wins[i, j] + wins[j, i] + ties[i, j] > 0
            total -= wins[i, j] * shares[0] + wins[j, i] * shares[1] + (ties[i, j] + met / 2) * shares[2]
        return total + theta.mean() ** 2

    best = scipy.optimize.minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8}).x[:4]
    ours = strengths(wins[None], ties[None])[0]
    assert ours.mean() == pytest.approx(0, abs=1e-9)
    assert ours == pytest.approx(best - best.mean(), abs=1e-4)


def test_a_system_that_never_lost_is_not_infinite() -> None:
    (best, *_) = preferences([Meeting(str(at), "a", "b") for at in range(30)], sampling=Sampling(resamples=50))
    assert best.system == "a"
    assert best.win_rate.value == 1
    assert np.isfinite(best.strength.value)


def test_best_worst_choices_are_comparisons_and_scores() -> None:
    choice = Choice("1", "r", ("a", "b", "c", "d"), best="a", worst="d")
    assert {(pair.first, pair.second) for pair in list_comparisons(choice)} == {
        ("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d"),
    }  # fmt: skip
    ranking = rank(
        [choice, Choice("2", "r", ("a", "b", "c", "d"), best="b", worst="d")], sampling=Sampling(resamples=20)
    )
    assert ranking.best_worst == {"a": 0.5, "b": 0.5, "c": 0.0, "d": -1.0}
    assert [row["system"] for row in ranking.records()][-1] == "d"
