"""Ratings one after another, as a running study has them: how far they agree, and who stands apart.

A dashboard asks again and again, over growing parts of the same ratings, and a crowd's matrix of units × raters is
mostly gaps. Here units and values are numbered once and sums do the rest. Alpha is ``agreement.krippendorff`` without
the matrix, raters are those of ``raters.reliability`` without what takes long, and tests hold them to both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plainly.stats.agreement import AlphaDistance
from plainly.stats.raters import Rater, against_others, mark_outliers
from plainly.stats.resample import Floats, Ints


@dataclass(frozen=True)
class LongRatings:
    """Which unit, rater and value, units and values numbered; ``points`` are the values, ``level`` their kind."""

    units: Ints
    raters: npt.NDArray[np.str_]
    values: Ints
    points: Floats
    level: AlphaDistance

    @classmethod
    def of(
        cls, units: npt.ArrayLike, raters: npt.ArrayLike, values: npt.ArrayLike, *, level: AlphaDistance
    ) -> LongRatings:
        """Number them; ratings that are missing (NaN) are left out."""
        numbers = np.asarray(values, dtype=np.float64)
        known = ~np.isnan(numbers)
        unit = np.unique(np.asarray(units)[known], return_inverse=True)[1]
        points, value = np.unique(numbers[known], return_inverse=True)
        return cls(unit, np.asarray(raters, dtype=np.str_)[known], value, points, level)

    def __len__(self) -> int:
        return len(self.units)

    @property
    def numbers(self) -> Floats:
        return self.points[self.values]

    @property
    def compared(self) -> int:
        return int((np.bincount(self.units) > 1).sum())

    def alpha(self, *, first: int | None = None) -> float:
        """Krippendorff's alpha (2011) of the first so many ratings, over units rated twice; NaN where undefined."""
        units, values = self.units[:first], self.values[:first]
        sizes = np.bincount(units) if len(units) else np.zeros(0, dtype=np.int64)
        paired = sizes[units] > 1
        units, values, sizes = units[paired], values[paired], sizes.astype(np.float64)
        total = float(len(units))
        if total < 2:
            return float("nan")
        marginal = np.bincount(values, minlength=len(self.points)).astype(np.float64)
        if self.level == "nominal":
            # Pairs of ratings that differ: all pairs less those in the same cell of units by values.
            cells = np.bincount(units * len(self.points) + values).astype(np.float64)
            pad = -len(cells) % len(self.points)
            same = (np.pad(cells, (0, pad)).reshape(-1, len(self.points)) ** 2).sum(axis=1)
            apart = sizes[: len(same)] ** 2 - same
            expected = (total**2 - float(marginal @ marginal)) / (total - 1)
        else:
            # The sum of squared differences over all pairs is 2 (m sum x^2 - (sum x)^2); centred, so that it is exact.
            place = self.points if self.level == "interval" else np.cumsum(marginal) - marginal / 2
            x = place[values] - float(marginal @ place) / total
            sums, squares = np.bincount(units, weights=x), np.bincount(units, weights=x * x)
            apart = 2 * (sizes[: len(sums)] * squares - sums**2)
            expected = 2 * (total * float(x @ x) - float(x.sum()) ** 2) / (total - 1)
        several = sizes[: len(apart)] > 1
        observed = float((apart[several] / (sizes[: len(apart)][several] - 1)).sum())
        return 1.0 - observed / expected if expected > 1e-12 * total else float("nan")

    def by_rater(self) -> list[Rater]:
        """Every rater against the others on the same units; where values are names, the share of others who differ."""
        numbers, others = self.numbers, np.bincount(self.units)[self.units] - 1
        shared = others > 0
        if self.level == "nominal":
            cell = self.units * len(self.points) + self.values
            same = np.bincount(cell)[cell] - 1
            apart = 1.0 - same[shared] / others[shared]
        else:
            total = np.bincount(self.units, weights=numbers)
            means = (total[self.units] - numbers)[shared] / others[shared]
        names, rater = np.unique(self.raters, return_inverse=True)
        everything, comparable = _by_group(rater, len(names)), _by_group(rater[shared], len(names))
        raters = []
        for name, mine, ours in zip(names.tolist(), everything, comparable, strict=True):
            if self.level == "nominal":
                distance = float(apart[ours].mean()) if len(ours) else float("nan")
                raters.append(Rater(name, len(mine), len(ours), distance=distance))
            else:
                raters.append(against_others(name, numbers[mine], numbers[shared][ours], means[ours]))
        return mark_outliers(raters)


def _by_group(group: npt.NDArray[np.intp], count: int) -> list[npt.NDArray[np.intp]]:
    """The places of each group's members, in their order."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group, minlength=count))[:-1])
