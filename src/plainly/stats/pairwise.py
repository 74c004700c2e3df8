"""Pairwise accuracy: of all pairs of outputs, how many does the metric order as people do, ties included?

Kendall's tau punishes a metric that can tie where people tie. Following Deutsch, Foster and Freitag (2023, "Ties
Matter"), a pair counts as right when both order it the same way or both call it a tie, and a metric that never ties is
given the threshold below which its differences count as ties that suits it best (tie calibration).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling
from plainly.stats.agreement import ratio
from plainly.stats.correlate import draws, percentile
from plainly.stats.estimate import Estimate
from plainly.stats.resample import Floats, Ints

_MOST_PAIRS = 8_000_000


@dataclass(frozen=True)
class Accuracy:
    """Pairwise accuracy, and the largest difference of metric scores that was taken for a tie."""

    estimate: Estimate
    threshold: float
    pairs: int


def pairwise_accuracy(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    calibrate: bool = True,
    sampling: Sampling | None = Sampling(),
) -> Accuracy:
    """The share of pairs within each group (or of all pairs) that the metric orders as people do.

    Groups count the same, however many pairs they have, as in translation's metrics tasks. Intervals draw groups, or
    units where there are none, and keep the threshold found on all the data.
    """
    scores, ratings = np.asarray(metric, dtype=float), np.asarray(human, dtype=float)
    kept = ~(np.isnan(scores) | np.isnan(ratings))
    names = np.zeros(len(scores), dtype=np.int64)
    if groups is not None:
        names = np.unique(np.array(groups, dtype=str), return_inverse=True)[1]
    scores, ratings, names = scores[kept], ratings[kept], names[kept]
    left, right = _pairs(names)
    if not len(left):
        undefined, level = float("nan"), (sampling or Sampling()).level
        return Accuracy(Estimate(undefined, undefined, undefined, level, 0, "no pairs"), undefined, 0)
    apart, wanted = scores[left] - scores[right], np.sign(ratings[left] - ratings[right])
    of_group = names[left]
    size = np.bincount(of_group)
    share = 1 / (size[of_group] * np.count_nonzero(size))
    threshold = _calibrated(np.abs(apart), wanted, np.sign(apart), share) if calibrate else 0.0
    right_order = np.where(np.abs(apart) <= threshold, wanted == 0, np.sign(apart) == wanted).astype(float)
    value = float(right_order @ share)
    if groups is None:
        weights = draws(len(scores), sampling=sampling)
        drawn = _drawn_units(right_order, left, right, weights)
    else:
        means = np.bincount(of_group, right_order, minlength=len(size))[size > 0] / size[size > 0]
        weights = draws(len(means), sampling=sampling)
        drawn = weights @ means / len(means)
    unit = "units" if groups is None else "groups"
    estimate = percentile(value, drawn, sampling=sampling, n=len(scores), unit=unit)
    return Accuracy(estimate, threshold, len(left))


def _calibrated(apart: Floats, wanted: Floats, order: Floats, share: Floats) -> float:
    """The threshold that makes most pairs right: sort pairs by distance and count as it sweeps over them."""
    by_distance = np.argsort(apart, kind="stable")
    distance = apart[by_distance]
    tied = np.cumsum((wanted[by_distance] == 0) * share[by_distance])
    agree = ((order == wanted) & (order != 0))[by_distance] * share[by_distance]
    right = tied + agree.sum() - np.cumsum(agree)
    # Only where the next pair is farther apart does the threshold part them.
    last = np.append(np.flatnonzero(np.diff(distance) > 0), len(distance) - 1)
    best = last[np.argmax(right[last])]
    at_zero = float(((wanted == 0) & (apart == 0)) @ share + agree.sum())
    return float(distance[best]) if right[best] > at_zero + 1e-15 else 0.0


def _pairs(names: Ints) -> Ints:
    """The places of both members of every pair within a group: (2, pairs)."""
    sizes = np.bincount(names)
    total = int((sizes * (sizes - 1) // 2).sum())
    if total > _MOST_PAIRS:
        raise BadInput(
            f"{total} pairs of outputs are too many to compare. Compare within items: pairwise accuracy by item."
        )
    groups = np.split(np.argsort(names, kind="stable"), np.cumsum(sizes)[:-1])
    return np.concatenate([group[np.stack(np.triu_indices(len(group), 1))] for group in groups], axis=1)


def _drawn_units(right_order: Floats, left: Ints, right: Ints, weights: Floats) -> Floats:
    """Accuracy in each draw; a unit drawn twice makes no pair with itself."""
    n = weights.shape[1]
    table = np.zeros((n, n))
    table[left, right] = right_order
    counted = (weights @ table * weights).sum(axis=1)
    possible = (weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)) / 2
    return ratio(counted, possible)
