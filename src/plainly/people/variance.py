"""Where ratings vary: between outputs, and between raters of one output. From these follow the sentences and raters
that are needed for any difference that matters, without drawing anything."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from plainly.core.errors import BadInput
from plainly.stats.resample import Floats

if TYPE_CHECKING:
    from plainly.people.resampling import Pilot

# With how much power differences are to be found, and how many sentences are thought of.
POWER = 0.8
MOST = 100_000


@dataclass(frozen=True)
class Components:
    """Variance of what a study averages over, on the ratings' own scale.

    ``between`` is how much outputs differ in their true rating (for a paired test: how much the difference of two
    systems changes from sentence to sentence, halved); ``within`` is how much raters differ on one output.
    """

    between: float
    within: float
    test: str


def components(pilot: Pilot) -> Components:
    """Estimate both from the pilot, by the analysis of variance."""
    counts = [np.sum(~np.isnan(rows), axis=1) for rows in pilot.ratings]
    within, weight = 0.0, 0
    for rows, count in zip(pilot.ratings, counts, strict=True):
        several = count > 1
        if several.any():
            within += float(np.sum(np.nanvar(rows[several], axis=1, ddof=1) * (count[several] - 1)))
            weight += int(np.sum(count[several] - 1))
    inside = within / weight if weight else float("nan")
    means = [np.nanmean(rows, axis=1) for rows in pilot.ratings]
    share = float(np.mean([np.mean(1 / count) for count in counts]))
    if pilot.test == "paired":
        stacked = np.stack(means)
        left, right = np.triu_indices(len(stacked), 1)
        spread = float(np.mean((stacked[left] - stacked[right]).var(axis=1, ddof=1))) / 2
    else:
        spread = float(np.mean([values.var(ddof=1) for values in means]))
    # What the mean of the pilot's raters still carries of their differences is no difference between outputs.
    between = max(0.0, spread - inside * share) if not np.isnan(inside) else spread
    return Components(between, inside, pilot.test)


def power(parts: Components, difference: float, *, sentences: int, raters: int = 1, alpha: float = 0.01) -> float:
    """The probability that a t-test finds a true difference of two systems, with so many sentences and raters."""
    from scipy.special import gammaincinv, ndtr, stdtrit

    if sentences < 2 or raters < 1:
        raise BadInput("Power needs at least two sentences and one rater.")
    inside = 0.0 if np.isnan(parts.within) else parts.within
    error = np.sqrt(2 * (parts.between + inside / raters) / sentences)
    if error == 0:
        return float(difference != 0)
    df = (sentences - 1) if parts.test == "paired" else 2 * (sentences - 1)
    critical = -float(stdtrit(df, alpha / 2))
    shift = abs(difference) / error
    # The mean over how large the standard error may come out: scipy's noncentral t is NaN at some sizes.
    at, weights = _nodes()
    spread = np.sqrt(gammaincinv(df / 2, at) * 2 / df) * critical
    return float(weights @ (ndtr(shift - spread) + ndtr(-shift - spread)))


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Gauss and Legendre's points and weights between 0 and 1."""
    at, weights = np.polynomial.legendre.leggauss(200)
    return (at + 1) / 2, weights / 2


def check_difference(difference: float) -> None:
    if not (isinstance(difference, int | float) and np.isfinite(difference) and difference > 0):
        raise BadInput(f"difference= is a number above 0 on the scale of the ratings, not {difference!r:.60}.")


def sentences_needed(parts: Components, difference: float, *, raters: int = 1, alpha: float = 0.01) -> int | None:
    """The fewest sentences with which a difference is found with 80 % probability; None if 100,000 do not do."""
    check_difference(difference)

    def enough(sentences: int) -> bool:
        return power(parts, difference, sentences=sentences, raters=raters, alpha=alpha) >= POWER

    if not enough(MOST):
        return None
    return 2 + bisect_left(range(2, MOST), True, key=enough)


def detectable(parts: Components, *, sentences: int, alpha: float = 0.01) -> float:
    """The smallest true difference that a study with one rater a sentence finds with 80 % probability."""
    low, high = 0.0, 1.0
    while power(parts, high, sentences=sentences, alpha=alpha) < POWER:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if power(parts, middle, sentences=sentences, alpha=alpha) < POWER:
            low = middle
        else:
            high = middle
    return high
