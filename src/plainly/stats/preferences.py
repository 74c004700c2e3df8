"""Who is preferred to whom: win rates, Bradley–Terry strengths with ties, and best–worst scores.

Strengths are those of Davidson (1970), which is Bradley and Terry's model (1952) with a parameter for ties: i beats j
with weight p_i, j beats i with p_j, and they tie with nu * sqrt(p_i * p_j). Logarithms of strengths are fitted by
Newton's method; half a tie more between every pair that met keeps a system that never lost from an infinite strength.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.core.sampling import Sampling
from plainly.stats.resample import Estimate, Floats, Resampler, middle

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
    """Each system's win rate and strength with intervals, the strongest first; items are drawn, not comparisons."""
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
    (drawn,) = Resampler(n=len(items), resamples=sampling.resamples, seed=sampling.seed).totals([flat])
    totals = flat.sum(axis=0)
    value, draws = _figures(totals[None].reshape(1, 2, k, k)), _figures(np.asarray(drawn).reshape(-1, 2, k, k))
    wins, ties = totals.reshape(2, k, k)

    def estimate(which: int, at: int) -> Estimate:
        low, high = middle(draws[which][:, at], sampling)
        method = f"bootstrap over items, {sampling.resamples} draws"
        return Estimate(float(value[which][0, at]), low, high, sampling.level, len(items), method)

    told = [
        Preference(
            name, int(wins[at].sum()), int(wins[:, at].sum()), int(ties[at].sum()), estimate(0, at), estimate(1, at)
        )
        for at, name in enumerate(systems)
    ]
    return sorted(told, key=lambda preference: -preference.strength.value)


def _figures(totals: Floats) -> tuple[Floats, Floats]:
    """Win rates and strengths for each of several tables (draws, wins and ties, k, k)."""
    wins, ties = totals[:, 0], totals[:, 1]
    met = wins.sum(axis=2) + wins.sum(axis=1) + ties.sum(axis=2)
    won = wins.sum(axis=2) + ties.sum(axis=2) / 2
    rates = np.divide(won, met, out=np.full_like(won, np.nan), where=met > 0)
    return rates, strengths(wins, ties)


def strengths(wins: Floats, ties: Floats) -> Floats:
    """Logarithms of Davidson's strengths for tables of wins and (symmetric) ties, (draws, k, k); their mean is 0."""
    draws, k, _ = wins.shape
    together = wins + wins.transpose(0, 2, 1) + ties
    ties = ties + _PRIOR * (together > 0)
    met = wins + wins.transpose(0, 2, 1) + ties
    theta, nu = np.zeros((draws, k)), np.zeros(draws)
    for _ in range(_STEPS):
        step = _newton_step(wins, ties, met, theta, nu)
        theta, nu = theta + np.clip(step[:, :k], -2, 2), nu + np.clip(step[:, k], -2, 2)
        theta -= theta.mean(axis=1, keepdims=True)
        if np.abs(step).max(initial=0.0) < 1e-8:
            break
    return theta


def _newton_step(wins: Floats, ties: Floats, met: Floats, theta: Floats, nu: Floats) -> Floats:
    draws, k, _ = wins.shape
    half = theta[:, :, None] - theta[:, None, :]
    up, down = np.exp(half / 2), np.exp(-half / 2)
    both = np.exp(nu)[:, None, None]
    p, q, t = (part / (up + down + both) for part in (up, down, both))
    gradient = np.empty((draws, k + 1))
    gradient[:, :k] = (wins + ties / 2 - met * (p + t / 2)).sum(axis=2)
    gradient[:, k] = (ties - met * t).sum(axis=(1, 2)) / 2
    information = np.zeros((draws, k + 1, k + 1))
    share = p + t / 2
    variance = met * (p + t / 4 - share**2)  # of i's points against j
    other = met * (t / 4 - share * (q + t / 2))
    information[:, :k, :k] = other
    index = np.arange(k)
    information[:, index, index] = variance.sum(axis=2)
    cross = (met * (t / 2 - share * t)).sum(axis=2)
    information[:, :k, k] = information[:, k, :k] = cross
    information[:, k, k] = (met * t * (1 - t)).sum(axis=(1, 2)) / 2
    information[:, :k, :k] += 1.0 / k  # The mean is fixed, so this direction is free.
    information += 1e-9 * np.eye(k + 1)
    step: Floats = np.linalg.solve(information, gradient[..., None])[..., 0]
    return step


def best_worst(shown: npt.NDArray[np.int64], best: npt.NDArray[np.int64], worst: npt.NDArray[np.int64]) -> Floats:
    """Best–worst scores: times best less times worst, of the times shown (Louviere and Woodworth 1991)."""
    scores: Floats = np.divide(best - worst, shown, out=np.full(len(shown), np.nan), where=shown > 0)
    return scores
