"""How far raters agree, as the studio shows it: the one place that decides which statistic that is.

Krippendorff's alpha takes any number of raters an item and gaps between them, which is what a running project has. A
dashboard asks for it again and again, over growing parts of the same answers, so units and values are numbered once and
sums do the rest. It is ``plainly.stats.agreement.krippendorff`` without the matrix, and a test holds it to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class Coded:
    """Ratings with units and values as numbers from 0; ``points`` are the values behind the numbers."""

    units: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    points: npt.NDArray[np.float64]

    @classmethod
    def of(cls, units: npt.ArrayLike, values: npt.ArrayLike) -> Coded:
        """Number them; ratings that are missing (NaN) are left out."""
        found = np.asarray(values, dtype=np.float64)
        known = ~np.isnan(found)
        _, unit = np.unique(np.asarray(units)[known], return_inverse=True)
        points, value = np.unique(found[known], return_inverse=True)
        return cls(unit.astype(np.int64), value.astype(np.int64), points)

    def alpha(self, *, level: Level, first: int | None = None) -> float:
        """Krippendorff's alpha of the first so many ratings; NaN where it is not defined.

        Krippendorff 2011, "Computing Krippendorff's alpha-reliability": 1 - D_o / D_e over units rated twice or more.
        """
        units, values = self.units[:first], self.values[:first]
        sizes = np.bincount(units) if len(units) else np.zeros(0, dtype=np.int64)
        paired = sizes[units] > 1
        units, values, sizes = units[paired], values[paired], sizes.astype(np.float64)
        total = float(len(units))
        if total < 2:
            return float("nan")
        marginal = np.bincount(values, minlength=len(self.points)).astype(np.float64)
        if level == "nominal":
            # Pairs of ratings that differ: all pairs less those in the same cell of units by values.
            cells = np.bincount(units * len(self.points) + values).astype(np.float64)
            pad = -len(cells) % len(self.points)
            same = (np.pad(cells, (0, pad)).reshape(-1, len(self.points)) ** 2).sum(axis=1)
            apart = sizes[: len(same)] ** 2 - same
            expected = (total**2 - float(marginal @ marginal)) / (total - 1)
        else:
            # The sum of squared differences over all pairs is 2 (m sum x^2 - (sum x)^2); centred, so that it is exact.
            place = self.points if level == "interval" else np.cumsum(marginal) - marginal / 2
            x = place[values] - float(marginal @ place) / total
            sums, squares = np.bincount(units, weights=x), np.bincount(units, weights=x * x)
            apart = 2 * (sizes[: len(sums)] * squares - sums**2)
            expected = 2 * (total * float(x @ x) - float(x.sum()) ** 2) / (total - 1)
        several = sizes[: len(apart)] > 1
        observed = float((apart[several] / (sizes[: len(apart)][several] - 1)).sum())
        return 1.0 - observed / expected if expected > 1e-12 * total else float("nan")
