"""Who rates as the others do: each rater against the mean of the rest, and those who stand apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plainly.stats.agreement import coded, krippendorff
from plainly.stats.correlate import correlation
from plainly.stats.resample import Floats

# A robust z-score beyond which a rater's agreement with the others is called outlying (Iglewicz and Hoaglin 1993).
OUTLYING = 3.5
# Fewer ratings than these, or fewer raters, tell nothing about one of them.
FEWEST = 10
FEWEST_RATERS = 5


@dataclass(frozen=True)
class Rater:
    """One rater against the mean of the others on the same units; undefined is NaN.

    ``compared`` of the ``n`` ratings are of units that others rated too. ``bias`` is how much higher this rater's
    ratings are. ``alpha_without`` is Krippendorff's interval alpha of the others: where it is clearly higher than that
    of all, the rater disagrees with them. ``outlying`` says why, if so.
    """

    name: str
    n: int
    compared: int
    mean: float = math.nan
    sd: float = math.nan
    correlation: float = math.nan
    bias: float = math.nan
    distance: float = math.nan
    alpha_without: float = math.nan
    outlying: str = ""


def reliability(ratings: npt.ArrayLike, names: Sequence[str] | None = None) -> list[Rater]:
    """Every rater of a matrix of units × raters, most reliable first."""
    values, rated = coded(ratings, numbers=True)
    labels = tuple(names) if names is not None else tuple(str(at + 1) for at in range(values.shape[1]))
    count, total = rated.sum(axis=1), np.where(rated, values, 0.0).sum(axis=1)
    raters = []
    for at, name in enumerate(labels):
        shared = rated[:, at] & (count > 1)
        own = values[shared, at]
        rater = against_others(name, values[rated[:, at], at], own, (total[shared] - own) / (count[shared] - 1))
        everyone_else = np.delete(values, at, axis=1)
        without = krippendorff(everyone_else).value if everyone_else.shape[1] > 1 else math.nan
        raters.append(replace(rater, alpha_without=without))
    marked = mark_outliers(raters)
    return sorted(marked, key=lambda rater: -rater.correlation if rater.correlation == rater.correlation else 2.0)


def against_others(name: str, values: Floats, own: Floats, others: Floats) -> Rater:
    """A rater by all of their ratings, and by those that can be compared with the mean of the others."""
    rater = Rater(name, len(values), len(own), correlation=correlation(own, others))
    if len(values):
        rater = replace(rater, mean=float(values.mean()), sd=float(values.std()))
    if len(own):
        apart = own - others
        rater = replace(rater, bias=float(apart.mean()), distance=float(np.abs(apart).mean()))
    return rater


def mark_outliers(raters: Sequence[Rater]) -> list[Rater]:
    agreement = _robust_z(np.array([rater.correlation for rater in raters]))
    distance = _robust_z(np.array([rater.distance for rater in raters]))
    return [
        replace(rater, outlying=_reason(rater, float(agreement[at]), float(distance[at])))
        for at, rater in enumerate(raters)
    ]


def _reason(rater: Rater, agreement: float, distance: float) -> str:
    if rater.n < FEWEST:
        return f"only {rater.n} ratings: too few to tell" if rater.n else ""
    if rater.sd < 1e-12:
        return "gave the same rating every time"
    if rater.compared < FEWEST:
        return ""
    if rater.correlation <= 0:
        return "rates against the others, or without relation to them"
    if agreement < -OUTLYING:
        return "agrees with the others far less than most raters do"
    if np.isnan(rater.sd) and distance > OUTLYING:  # names have no mean and no correlation, only a share that differs
        return "differs from the others far more than most raters do"
    return ""


def _robust_z(values: Floats) -> Floats:
    """How far out each is, by median and median deviation, which an outlier cannot move; NaN where few are known."""
    known = values[~np.isnan(values)]
    middle = np.median(known) if len(known) else np.nan
    spread = np.median(np.abs(known - middle)) if len(known) >= FEWEST_RATERS else 0.0
    # .6745 makes the median deviation of a normal distribution its standard deviation.
    scores: Floats = 0.6745 * (values - middle) / spread if spread > 1e-12 else np.full(len(values), np.nan)
    return scores
