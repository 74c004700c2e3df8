"""Strengths come back from choices that were drawn with them, and best–worst scores are those of the definition."""

from __future__ import annotations

import dataclasses

import choix
import numpy as np
import pytest
from statsmodels.genmod import families
from statsmodels.genmod.generalized_linear_model import GLM

from plainly.core.sampling import Sampling
from plainly.people.choices import Choice
from plainly.people.preferences import list_comparisons, pair_judgements, rank
from plainly.stats.preferences import Meeting, fit_preferences, strengths


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
        results = {row.system: row for row in fit_preferences(pairs).preferences(0.95)}
        for at, value in enumerate(truth):
            hits.append(results[f"s{at}"].strength.low <= value <= results[f"s{at}"].strength.high)
            assert results[f"s{at}"].strength.value == pytest.approx(value, abs=0.4)
    assert np.mean(hits) > 0.85


def test_two_systems_without_ties_have_the_closed_form() -> None:
    wins = np.array([[[0.0, 3000.0], [1000.0, 0.0]]])
    theta = strengths(wins, np.zeros((1, 2, 2)))[0]
    assert theta[0] - theta[1] == pytest.approx(np.log(3), abs=0.01)


def test_strengths_without_ties_are_those_of_choix() -> None:
    """So many comparisons that the half tie of the prior does not matter."""
    rng = np.random.default_rng(2)
    wins = rng.integers(1, 12, size=(5, 5)).astype(float) * (1 - np.eye(5))
    wins[0, 4] = wins[4, 0] = 0  # a pair that never met
    meetings = [(i, j) for i, j in np.ndindex(wins.shape) for _ in range(int(wins[i, j]))]
    theirs = choix.opt_pairwise(5, meetings, tol=1e-10)
    ours = strengths(1e6 * wins[None], np.zeros((1, 5, 5)))[0]
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_strengths_with_ties_are_those_of_a_log_linear_model(seed: int) -> None:
    """Davidson's model is a Poisson regression of the counts of each pair (Critchlow and Fligner 1991); statsmodels."""
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 12, size=(4, 4)).astype(float) * (1 - np.eye(4))
    ties = np.triu(rng.integers(0, 6, size=(4, 4)), 1).astype(float)
    ties += ties.T
    wins[0, 3] = wins[3, 0] = ties[0, 3] = ties[3, 0] = 0  # a pair that never met
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    counts, rows = [], []
    for at, (i, j) in enumerate(pairs):
        first, second, pair = np.eye(4)[i], np.eye(4)[j], np.eye(len(pairs))[at]
        for count, points, tie in ((wins[i, j], first, 0.0), (wins[j, i], second, 0.0),
                                   (ties[i, j] + 0.5, (first + second) / 2, 1.0)):  # fmt: skip
            counts.append(count)  # with half a tie added between every pair that met, as the module says
            rows.append([*points[1:], tie, *pair])
    fit = GLM(counts, np.array(rows), family=families.Poisson()).fit(tol=1e-12)
    theirs = np.array([0.0, *fit.params[:3]])
    assert strengths(wins[None], ties[None])[0] == pytest.approx(theirs - theirs.mean(), abs=1e-3)


def test_a_system_that_never_lost_is_not_infinite() -> None:
    (best, *_) = fit_preferences([Meeting(str(at), "a", "b") for at in range(30)]).preferences(0.95)
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


def test_the_standard_error_is_that_of_leaving_items_out() -> None:
    """With one rater, strengths vary over items alone: the jackknife, in a plain loop, gives nearly the same."""
    pairs = draw_meetings(np.random.default_rng(4), np.array([0.8, 0.0, -0.8]), np.log(0.7), 80)
    model = fit_preferences(pairs)
    left_out = []
    for item in range(80):
        rest = fit_preferences([pair for pair in pairs if pair.item != str(item)])
        left_out.append([rest.strengths[rest.systems.index(system)] for system in model.systems])
    jackknife = np.std(left_out, axis=0) * np.sqrt(79)
    ours = [model.strength(np.eye(3)[at]).standard_error for at in range(3)]
    assert ours == pytest.approx(jackknife, rel=0.05)


def test_raters_with_views_of_their_own_make_intervals_wider() -> None:
    """Strengths differ by rater: with ties, the interval over items and raters covers, the one over items does not."""
    rng = np.random.default_rng(6)
    covered = {"raters": 0, "items": 0}
    for _ in range(100):
        pairs: dict[str, list[Meeting]] = {"raters": [], "items": []}
        for rater in range(6):
            views = rng.normal(scale=0.7, size=2)
            for pair in draw_meetings(rng, views, np.log(0.7), 30):
                pairs["raters"].append(dataclasses.replace(pair, rater=str(rater)))
                pairs["items"].append(dataclasses.replace(pair, item=f"{pair.item}, {rater}"))
        for name, meetings in pairs.items():
            model = fit_preferences(meetings)
            low, high = model.strength(np.array([1.0, -1.0])).bounds(0.95)
            covered[name] += low <= 0 <= high
    assert covered["raters"] >= 90
    assert covered["items"] <= 80


def test_rankings_have_tests_claims_and_agreement() -> None:
    rng = np.random.default_rng(9)
    choices = [
        Choice(str(item), f"r{rater}", ("a", "b", "c"), best="a" if rng.random() < 0.8 else "b", worst="c")
        for item in range(40)
        for rater in range(6)
    ]
    result = rank(choices)
    assert [row.system for row in result.systems] == ["a", "b", "c"]
    assert result.comparisons.pair("preference", "a", "c").significant
    assert result.json()["claims"] == [note.message for note in result.notes()][:1]
    assert result.reliability is not None
    pairs = pair_judgements(choices)["preference"]
    assert pairs.systems == ("a – b", "a – c", "b – c")
    assert set(np.unique(pairs.values)) == {-1.0, 1.0}
    against = rank(choices, baseline="b").comparisons
    assert {(pair.system, pair.baseline) for pair in against.comparisons} == {("a", "b"), ("c", "b")}


def test_the_effect_is_in_standard_deviations_of_win_rates_by_item() -> None:
    """Strengths are logarithms: their difference has another unit than the shares that vary between items."""
    rng = np.random.default_rng(3)
    choices = [
        Choice(str(item), f"r{rater}", ("a", "b"), best="a" if rng.random() < 0.7 else "b")
        for item in range(30)
        for rater in range(4)
    ]
    shares = np.array([np.mean([each.best == "a" for each in choices if each.item == str(item)]) for item in range(30)])
    apart = 2 * shares - 1  # b has the others
    pair = rank(choices).comparisons.pair("preference", "a", "b")
    assert abs(pair.effect_size) == pytest.approx(abs(apart.mean() / apart.std(ddof=1)))
    assert abs(pair.difference) == pytest.approx(np.log(shares.mean() / (1 - shares.mean())), abs=0.05)
