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
    systems = list(dict.fromkeys(name for pair in comparisons for name in (pair.first, pair.second)))
    place = {name: at for at, name in enumerate(systems)}
    items = {name: at for at, name in enumerate(dict.fromkeys(pair.item for pair in comparisons))}
    k = len(systems)
    rows = np.zeros((len(items), 2, k, k))
    for pair in comparisons:
        first, second = place[pair.first], place[pair.second]
        rows[items[pair.item], int(pair.tie), first, second] += 1
        if pair.tie:
            rows[items[pair.item], 1, second, first] += 1
    flat = rows.reshape(len(items), -1)
    (draws,) = Resampler(n=len(items), resamples=sampling.resamples, seed=sampling.seed).totals([flat])
    wins, ties = rows.sum(axis=0)
    values = _rates_and_strengths(wins[None], ties[None])
    values_of_draws = _rates_and_strengths(*np.moveaxis(draws.reshape(-1, 2, k, k), 1, 0))

    def estimate(which: int, at: int) -> Estimate:
        low, high = middle_interval(values_of_draws[which][:, at], sampling)
        method = f"bootstrap over items, {sampling.resamples} draws"
        return Estimate(float(values[which][0, at]), low, high, sampling.level, len(items), method)

    results = [
        Preference(
            name, int(wins[at].sum()), int(wins[:, at].sum()), int(ties[at].sum()), estimate(0, at), estimate(1, at)
        )
        for at, name in enumerate(systems)
    ]
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
    gradient = np.empty((draws, k + 1))
    gradient[:, :k] = (wins + ties / 2 - meetings * (p + t / 2)).sum(axis=2)
    gradient[:, k] = (ties - meetings * t).sum(axis=(1, 2)) / 2
    information = np.zeros((draws, k + 1, k + 1))
    share = p + t / 2
    variance = meetings * (p + t / 4 - share**2)  # of i's points against j
    other = meetings * (t / 4 - share * (q + t / 2))
    information[:, :k, :k] = other
    index = np.arange(k)
    information[:, index, index] = variance.sum(axis=2)
    cross = (meetings * (t / 2 - share * t)).sum(axis=2)
    information[:, :k, k] = information[:, k, :k] = cross
    information[:, k, k] = (meetings * t * (1 - t)).sum(axis=(1, 2)) / 2
    information[:, :k, :k] += 1.0 / k  # the mean is fixed, so this direction is free
    information += 1e-9 * np.eye(k + 1)
    step: Floats = np.linalg.solve(information, gradient[..., None])[..., 0]
    return step


def best_worst(appearances: Ints, best: Ints, worst: Ints) -> Floats:
    """Return best–worst scores: times best less times worst, by appearances (Louviere and Woodworth 1991)."""
    return ratio(best - worst, appearances)
