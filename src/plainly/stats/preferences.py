"""Preferences between systems: win rates, Bradley–Terry strengths with ties, and best–worst scores.

Strengths are those of Davidson (1970), which is Bradley and Terry's model (1952) with a parameter for ties: i beats j
with weight p_i, j beats i with p_j, and they tie with nu * sqrt(p_i * p_j). Logarithms of strengths are fitted by
Newton's method; half a tie is added between every pair that met, so that every strength is finite.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plainly.core.sampling import Sampling
from plainly.stats.resample import Estimate, Floats, Ints, Resampler, middle_interval, ratio

_PRIOR = 0.5
_STEPS = 50


@dataclass(frozen=True)
class Meeting:
    """Two systems that met on an item: the first was better, or there was no difference."""

    item: str
    first: str
    second: str
    tie: bool = False


@dataclass(frozen=True)
class Preference:
    """How one system did: share of comparisons won (a tie is half), strength, and the counts."""

    system: str
    wins: int
    losses: int
    ties: int
    win_rate: Estimate
    strength: Estimate  # logarithm; the mean of all systems is 0


def preferences(comparisons: Sequence[Meeting], *, sampling: Sampling = Sampling()) -> list[Preference]:
    """Return each system's win rate and strength with intervals, the strongest first; draws are over items."""
    names = dict.fromkeys(name for pair in comparisons for name in (pair.first, pair.second))
    systems = {name: index for index, name in enumerate(names)}
    items = {name: index for index, name in enumerate(dict.fromkeys(pair.item for pair in comparisons))}
    n, k = len(items), len(systems)
    rows = np.zeros((n, 2, k, k))  # of each item: wins, and ties both ways
    for pair in comparisons:
        item, first, second = items[pair.item], systems[pair.first], systems[pair.second]
        rows[item, int(pair.tie), first, second] += 1
        rows[item, 1, second, first] += pair.tie
    (draws,) = Resampler(n=n, resamples=sampling.resamples, seed=sampling.seed).totals([rows.reshape(n, -1)])
    wins, ties = rows.sum(axis=0)
    values = _rates_and_strengths(wins[None], ties[None])
    values_of_draws = _rates_and_strengths(*np.moveaxis(draws.reshape(-1, 2, k, k), 1, 0))
    method = f"bootstrap-{sampling.method} over items, {sampling.resamples} draws"
    results = []
    for name, index in systems.items():
        won, lost, tied = (int(counts.sum()) for counts in (wins[index], wins[:, index], ties[index]))
        rate, strength = (
            Estimate(
                float(value[0, index]), *middle_interval(drawn[:, index], sampling, units=n), sampling.level, n, method
            )
            for value, drawn in zip(values, values_of_draws, strict=True)
        )
        results.append(Preference(name, won, lost, tied, rate, strength))
    return sorted(results, key=lambda preference: -preference.strength.value)


def _rates_and_strengths(wins: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """Return win rates and strengths for tables of wins and (symmetric) ties, (draws, k, k)."""
    meetings = wins.sum(axis=2) + wins.sum(axis=1) + ties.sum(axis=2)
    return ratio(wins.sum(axis=2) + ties.sum(axis=2) / 2, meetings), strengths(wins, ties)


def strengths(wins: Floats, ties: Floats) -> Floats:
    """Return logarithms of Davidson's strengths, whose mean is 0, for tables of wins and (symmetric) ties."""
    draws, k, _ = wins.shape
    both = wins + wins.transpose(0, 2, 1)
    ties = ties + _PRIOR * (both + ties > 0)
    meetings = both + ties
    theta, nu = np.zeros((draws, k)), np.zeros(draws)
    for _ in range(_STEPS):
        step = _newton_step(wins, ties, meetings, theta, nu)
        theta, nu = theta + np.clip(step[:, :k], -2, 2), nu + np.clip(step[:, k], -2, 2)
        theta -= theta.mean(axis=1, keepdims=True)
        if np.abs(step).max(initial=0.0) < 1e-8:
            break
    return theta


def _newton_step(wins: Floats, ties: Floats, meetings: Floats, theta: Floats, nu: Floats) -> Floats:
    draws, k, _ = wins.shape
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
    return np.asarray(np.linalg.solve(information, gradient[..., None])[..., 0])


def best_worst(appearances: Ints, best: Ints, worst: Ints) -> Floats:
    """Return best–worst scores: times best less times worst, by appearances (Louviere and Woodworth 1991)."""
    return ratio(best - worst, appearances)
