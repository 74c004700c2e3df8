"""Drawn studies of Schwarzer and Kauchak, against SciPy's tests and the figures known for the public ratings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from plainly.people import Ratings, load
from plainly_lab.reproductions.significance import Significance
from plainly_lab.reproductions.tradeoff import SEVEN


def simulated(rng: np.random.Generator, *, items: int = 60, paired: bool = True) -> Ratings:
    """Four systems at 0, .3, .8 and 1.5, rated by four people."""
    truth = np.array([0, 0.3, 0.8, 1.5])[:, None] + rng.normal(size=(4, items)) * 0.7 + rng.normal(size=items) * 0.7
    values = truth[:, :, None] + rng.normal(size=(4, items, 4))
    if not paired:
        values[rng.random((4, items)) < 0.6] = np.nan
    return Ratings("s", ("A", "B", "C", "D"), tuple(map(str, range(items))), tuple("wxyz"), values)


@pytest.mark.parametrize("paired", [True, False])
def test_the_pattern_is_what_scipys_t_tests_say(paired: bool) -> None:
    for seed in range(5):
        ratings = simulated(np.random.default_rng(seed), paired=paired)
        whole = Significance.of(ratings)
        assert whole.test == ("paired" if paired else "welch")
        for (one, other), decided in zip(whole.pairs, whole.pattern, strict=True):
            a, b = (ratings.means[ratings.systems.index(name)] for name in (one, other))
            if paired:
                theirs = scipy.stats.ttest_rel(a, b)
            else:
                theirs = scipy.stats.ttest_ind(a[~np.isnan(a)], b[~np.isnan(b)], equal_var=False)
            assert decided == (np.sign(theirs.statistic) if theirs.pvalue < 0.01 else 0)


def test_tau_both_ways_does_not_depend_on_the_order_of_systems() -> None:
    ratings = simulated(np.random.default_rng(0))
    first, second = (
        Significance.of(each).resample(sentences=20, rng=np.random.default_rng(1))
        for each in (ratings, ratings.of_systems(("D", "B", "A", "C")))
    )
    assert first.tau == pytest.approx(second.tau, abs=1e-12)
    assert first.tau_as_listed != pytest.approx(second.tau_as_listed, abs=0.005)


def test_systems_without_any_spread_are_told_apart_by_their_means() -> None:
    values = np.stack([np.full((5, 2), value) for value in (1.0, 2.0, 2.0)])
    whole = Significance.of(Ratings("s", ("A", "B", "C"), tuple("12345"), ("x", "y"), values))
    assert whole.pattern.tolist() == [-1.0, -1.0, 0.0]


@pytest.mark.mirror
def test_simplicity_da_gives_the_known_figures(mirror: Path) -> None:
    # Figures found before for these ratings; Welch's test, since no sentence has all six systems.
    judgements = load("simplicity-da")
    whole = Significance.of(judgements["simplicity"].of_systems(sorted(judgements.systems)))
    assert whole.test == "welch"
    rng = np.random.default_rng(1)
    by_size = [whole.resample(sentences=size, rng=rng) for size in (10, 50, 100)]
    rng = np.random.default_rng(2)
    by_raters = [whole.resample(raters=count, rng=rng) for count in (1, 2, 5, 15)]
    for points, figures in ((by_size, (0.333, 0.814, 0.931)), (by_raters, (0.706, 0.818, 0.917, 0.980))):
        assert [point.tau_as_listed for point in points] == pytest.approx(figures, abs=0.02)
        assert [point.tau for point in points] == pytest.approx(figures, abs=0.02)


@pytest.mark.long
@pytest.mark.mirror
def test_acl2018_gives_the_known_figures(mirror: Path) -> None:
    judgements = load("acl2018")
    taus = {
        "grammaticality": (0.880, 0.933, 0.949),
        "meaning": (0.907, 0.953, 0.974),
        "simplicity": (0.824, 0.863, 0.882),
    }
    for dimension, figures in taus.items():
        whole = Significance.of(judgements[dimension].of_systems(SEVEN))
        assert whole.test == "paired"
        rng = np.random.default_rng(1)
        points = [whole.resample(raters=count, rng=rng) for count in (1, 2, 3)]
        assert [point.tau_as_listed for point in points] == pytest.approx(figures, abs=0.02)
