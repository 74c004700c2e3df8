"""Preferences between systems: win rates, Bradley–Terry strengths with ties, and best–worst scores.

Strengths are those of Davidson (1970), which is Bradley and Terry's model (1952) with a parameter for ties: i beats j
with weight p_i, j beats i with p_j, and they tie with nu * sqrt(p_i * p_j). Logarithms of strengths are fitted by
Newton's method; half a tie is added between every pair that met, so that every strength is finite. Intervals are over
items and raters (``plainly.stats.crossed``), from the influence of each rater's comparisons on each item.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plainly.stats.crossed import Contrast, contrast_of_cells
from plainly.stats.resample import Estimate, Floats, Ints, ratio

_PRIOR = 0.5
_STEPS = 50


@dataclass(frozen=True)
class Meeting:
    """Two systems that met on an item: the first was better for the rater, or there was no difference."""

    item: str
    first: str
    second: str
    tie: bool = False
    rater: str = ""


@dataclass(frozen=True)
class Preference:
    """How one system did: share of comparisons won (a tie is half), strength, and the counts."""

    system: str
    wins: int
    losses: int
    ties: int
    win_rate: Estimate
    strength: Estimate  # logarithm; the mean of all systems is 0


@dataclass(frozen=True)
class PreferenceModel:
    """Win rates and strengths, with what each cell (one rater's comparisons on one item) adds to their errors."""

    systems: tuple[str, ...]
    wins: Floats  # (k, k): the first beat the second
    ties: Floats  # (k, k), symmetric
    rates: Floats
    strengths: Floats
    cell_points: Floats  # (cells, k): wins, and ties as halves
    cell_meetings: Floats  # (cells, k)
    cell_strengths: Floats  # (cells, k)
    cell_items: Ints
    cell_raters: Ints

    def rate(self, system: int) -> Contrast:
        """Return the share of comparisons that a system won."""
        met = self.cell_meetings[:, system]
        influences = (self.cell_points[:, system] - self.rates[system] * met) / met.sum()
        return contrast_of_cells(float(self.rates[system]), influences, met, self.cell_items, self.cell_raters)

    def strength(self, signs: Floats) -> Contrast:
        """Return a sum of strengths: of one system, or a difference of two (1 and −1)."""
        influences, weights = self.cell_strengths @ signs, self.cell_meetings.sum(axis=1)
        value = float(self.strengths @ signs)
        return contrast_of_cells(value, influences, weights, self.cell_items, self.cell_raters)

    def preferences(self, level: float) -> list[Preference]:
        """Return how every system did, the strongest first."""
        n = int(self.cell_items.max(initial=-1)) + 1
        results = []
        for index, name in enumerate(self.systems):
            won, lost, tied = (int(table.sum()) for table in (self.wins[index], self.wins[:, index], self.ties[index]))
            rate, strength = (
                Estimate(each.value, *each.bounds(level), level, n, "over items and raters")
                for each in (self.rate(index), self.strength(np.eye(len(self.systems))[index]))
            )
            rate = replace(rate, low=max(rate.low, 0.0), high=min(rate.high, 1.0))
            results.append(Preference(name, won, lost, tied, rate, strength))
        return sorted(results, key=lambda preference: -preference.strength.value)


def fit_preferences(comparisons: Sequence[Meeting]) -> PreferenceModel:
    """Fit win rates and strengths to comparisons."""
    systems, items, raters = (
        {name: index for index, name in enumerate(dict.fromkeys(names))}
        for names in (
            (name for pair in comparisons for name in (pair.first, pair.second)),
            (pair.item for pair in comparisons),
            (pair.rater for pair in comparisons),
        )
    )
    cells = {key: at for at, key in enumerate(dict.fromkeys((pair.item, pair.rater) for pair in comparisons))}
    k = len(systems)
    wins, ties = np.zeros((2, len(cells), k, k))
    for pair in comparisons:
        cell, first, second = cells[pair.item, pair.rater], systems[pair.first], systems[pair.second]
        if pair.tie:
            ties[cell, first, second] += 1
            ties[cell, second, first] += 1
        else:
            wins[cell, first, second] += 1
    won, tied = wins.sum(axis=0), ties.sum(axis=0)
    points = wins.sum(axis=2) + ties.sum(axis=2) / 2
    met = wins.sum(axis=2) + wins.sum(axis=1) + ties.sum(axis=2)
    theta, nu = _fit(won[None], tied[None])
    _, information = _gradient_and_information(won[None], _with_prior(won[None], tied[None]), theta, nu)
    gradient, _ = _gradient_and_information(wins, ties, theta, nu)
    influences = np.linalg.solve(information[0], gradient.T).T[:, :k]
    influences -= influences.mean(axis=1, keepdims=True)
    weights = met.sum(axis=1, keepdims=True)
    influences -= weights / weights.sum() * influences.sum(axis=0)  # the prior pulls a little
    return PreferenceModel(
        systems=tuple(systems),
        wins=won,
        ties=tied,
        rates=ratio(points.sum(axis=0), met.sum(axis=0)),
        strengths=theta[0],
        cell_points=points,
        cell_meetings=met,
        cell_strengths=influences,
        cell_items=np.array([items[item] for item, _ in cells]),
        cell_raters=np.array([raters[rater] for _, rater in cells]),
    )


def strengths(wins: Floats, ties: Floats) -> Floats:
    """Return logarithms of Davidson's strengths, whose mean is 0, for tables (n, k, k) of wins and symmetric ties."""
    return _fit(wins, ties)[0]


def _fit(wins: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """Return strengths, and the logarithm of the parameter for ties."""
    draws, k, _ = wins.shape
    ties = _with_prior(wins, ties)
    theta, nu = np.zeros((draws, k)), np.zeros(draws)
    for _ in range(_STEPS):
        gradient, information = _gradient_and_information(wins, ties, theta, nu)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        theta, nu = theta + np.clip(step[:, :k], -2, 2), nu + np.clip(step[:, k], -2, 2)
        theta -= theta.mean(axis=1, keepdims=True)
        if np.abs(step).max(initial=0.0) < 1e-8:
            break
    return theta, nu


def _with_prior(wins: Floats, ties: Floats) -> Floats:
    return np.asarray(ties + _PRIOR * (wins + wins.transpose(0, 2, 1) + ties > 0))


def _gradient_and_information(wins: Floats, ties: Floats, theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
    draws, k, _ = wins.shape
    meetings = wins + wins.transpose(0, 2, 1) + ties
    half = theta[:, :, None] - theta[:, None, :]
    up, down = np.exp(half / 2), np.exp(-half / 2)
    both = np.exp(nu)[:, None, None]
    p, q, t = (part / (up + down + both) for part in (up, down, both))
    share = p + t / 2
    of_ties = (ties - meetings * t).sum(axis=(1, 2)) / 2
    gradient = np.column_stack([(wins + ties / 2 - meetings * share).sum(axis=2), of_ties])
    variance = (meetings * (p + t / 4 - share**2)).sum(axis=2)  # of i's points against all others
    covariance = meetings * (t / 4 - share * (q + t / 2))
    information = np.empty((draws, k + 1, k + 1))
    # The mean is fixed, so that direction is free: 1 / k keeps the matrix invertible.
    information[:, :k, :k] = np.where(np.eye(k, dtype=bool), variance[..., None], covariance) + 1.0 / k
    information[:, :k, k] = information[:, k, :k] = (meetings * (t / 2 - share * t)).sum(axis=2)
    information[:, k, k] = (meetings * t * (1 - t)).sum(axis=(1, 2)) / 2
    information += 1e-9 * np.eye(k + 1)
    return gradient, information


def best_worst(appearances: Ints, best: Ints, worst: Ints) -> Floats:
    """Return best–worst scores: times best less times worst, by appearances (Louviere and Woodworth 1991)."""
    return ratio(best - worst, appearances)
