"""Who rates as the others do: each rater against the mean of the rest, and those who stand apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.stats.agreement import coded, krippendorff
from plainly.stats.correlate import correlation

# A robust z-score below which a rater's correlation with the others is called outlying (Iglewicz and Hoaglin 1993).
OUTLYING = 3.5
FEWEST = 10


@dataclass(frozen=True)
class Rater:
    """One rater against the mean of the others on the same units; undefined is NaN.

    ``bias`` is how much higher this rater's ratings are. ``alpha_without`` is Krippendorff's interval alpha of the
    others: where it is clearly higher than that of all, the rater disagrees with them. ``outlying`` says why, if so.
    """

    name: str
    n: int
    mean: float
    sd: float
    correlation: float
    bias: float
    distance: float
    alpha_without: float
    outlying: str = ""


def reliability(ratings: npt.ArrayLike, names: Sequence[str] | None = None) -> list[Rater]:
    """Every rater of a matrix of units × raters, most reliable first."""
    values, rated = coded(ratings, numbers=True)
    labels = tuple(names) if names is not None else tuple(str(at + 1) for at in range(values.shape[1]))
    count, total = rated.sum(axis=1), np.where(rated, values, 0.0).sum(axis=1)
    found = []
    for at, name in enumerate(labels):
        mine = rated[:, at]
        shared = mine & (count > 1)
        own = values[shared, at]
        others = (total[shared] - own) / (count[shared] - 1)
        everyone_else = np.delete(values, at, axis=1)
        found.append(
            Rater(
                name=name,
                n=int(mine.sum()),
                mean=float(values[mine, at].mean()) if mine.any() else float("nan"),
                sd=float(values[mine, at].std()) if mine.any() else float("nan"),
                correlation=correlation(own, others),
                bias=float((own - others).mean()) if shared.any() else float("nan"),
                distance=float(np.abs(own - others).mean()) if shared.any() else float("nan"),
                alpha_without=krippendorff(everyone_else) if everyone_else.shape[1] > 1 else float("nan"),
            )
        )
    correlations = np.array([rater.correlation for rater in found])
    marked = [_marked(rater, correlations) for rater in found]
    return sorted(marked, key=lambda rater: -rater.correlation if rater.correlation == rater.correlation else 2.0)


def _marked(rater: Rater, correlations: npt.NDArray[np.float64]) -> Rater:
    from dataclasses import replace

    if rater.n < FEWEST:
        return replace(rater, outlying=f"only {rater.n} ratings: too few to tell") if rater.n else rater
    if rater.sd < 1e-12:
        return replace(rater, outlying="gave the same rating every time")
    if not rater.correlation > 0:
        return replace(rater, outlying="rates against the others, or without relation to them")
    known = correlations[~np.isnan(correlations)]
    middle = np.median(known)
    spread = np.median(np.abs(known - middle))
    # .6745 makes the median deviation of a normal distribution its standard deviation.
    if len(known) >= 5 and spread > 1e-12 and 0.6745 * (rater.correlation - middle) / spread < -OUTLYING:
        return replace(rater, outlying="agrees with the others far less than most raters do")
    return rater
