"""How far raters agree, as the studio shows it: the one place that decides which statistic that is.

Krippendorff's alpha takes any number of raters an item and gaps between them, which is what a running project has.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Level = Literal["nominal", "ordinal", "interval"]


def alpha(units: npt.ArrayLike, values: npt.ArrayLike, *, level: Level) -> float:
    """Krippendorff's alpha of values given to units, a rating a row; NaN where it is not defined.

    Krippendorff 2011, "Computing Krippendorff's alpha-reliability": 1 - D_o / D_e over units with two ratings or more.
    """
    found = np.asarray(values, dtype=float)
    known = ~np.isnan(found)
    _, unit = np.unique(np.asarray(units)[known], return_inverse=True)
    points, point = np.unique(found[known], return_inverse=True)
    counts = np.zeros((unit.max() + 1 if len(unit) else 0, len(points)))
    np.add.at(counts, (unit, point), 1.0)
    sizes = counts.sum(axis=1)
    counts, sizes = counts[sizes > 1], sizes[sizes > 1]
    marginal = counts.sum(axis=0)
    total = marginal.sum()
    if total < 2:
        return float("nan")
    distance = _distance(points, marginal, level)
    observed = float((((counts @ distance) * counts).sum(axis=1) / (sizes - 1)).sum()) / total
    expected = float(marginal @ distance @ marginal) / (total * (total - 1))
    return 1.0 - observed / expected if expected > 0 else float("nan")


def _distance(
    points: npt.NDArray[np.float64], marginal: npt.NDArray[np.float64], level: Level
) -> npt.NDArray[np.float64]:
    if level == "nominal":
        return 1.0 - np.eye(len(points))
    if level == "interval":
        return np.asarray((points[:, None] - points[None, :]) ** 2)
    middle = np.cumsum(marginal) - marginal / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)
