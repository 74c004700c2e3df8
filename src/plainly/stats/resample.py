"""Resampling: since a metric's rows add up, a bootstrap draw is a row of weights times the table of rows.

One matrix of weights serves every metric and every system, which is what makes comparisons paired: in each draw all
systems are scored on the same resampled items.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.sampling import Sampling

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Score = Callable[[Floats], Floats]

Weights = npt.NDArray[np.float32] | npt.NDArray[np.float64]

# Weights are made and used in chunks of at most this many numbers, so that a million items fit in memory; chunks of few
# items are smaller, to stay in the processor's cache.
CHUNK = 8_000_000
_CACHED = 50_000
# Whole numbers below this are exact in single precision, in which sums take half the time.
_EXACT = 2**24
_POISSON = 100
# Up to so many degrees of freedom Student's t is summed; beyond, an expansion is right to nine digits.
_SERIES = 500


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with a confidence interval: ``value`` from all ``n`` items, ``low`` and ``high`` at ``level``."""

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        spec = spec or ".2f"
        if math.isnan(self.value):
            return "undefined"
        interval = "" if math.isnan(self.low) else f" [{self.low:{spec}}, {self.high:{spec}}]"
        return f"{self.value:{spec}}{interval}"

    def __str__(self) -> str:
        return format(self, ".2f")

    def record(self) -> dict[str, Any]:
        """Return the estimate as JSON and tables have it: its level is called confidence."""
        return {"confidence" if name == "level" else name: value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Resampler:
    """Bootstrap draws over units: items, or whole groups of items; the same for every metric, system and process."""

    name: ClassVar[str] = "bootstrap"  # in the description of an interval, as is ``unit``
    n: int
    resamples: int
    seed: int
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.groups is not None and len(self.groups) != self.n:
            raise BadInput(f"{len(self.groups)} groups were given for {self.n} items.")

    @property
    def unit(self) -> str:
        return "items" if self.groups is None else "groups"

    def units(self, rows: Floats) -> Floats:
        """Return the rows of the units that are drawn: the rows themselves, or their sums by group."""
        return sum_by_group(rows, self.groups)

    def weights(self, units: int) -> Iterable[Weights]:
        """Return how often each unit occurs in each draw, in chunks of draws: (draws, units)."""
        make = _cached_weights if units * self.resamples <= CHUNK else _weights
        return make(units, self.resamples, self.seed)

    def item_weights(self) -> Floats:
        """Return how often each item occurs in each draw, all draws at once: (resamples, n)."""
        member = np.arange(self.n) if self.groups is None else _members(self.groups)
        weights = np.concatenate(list(self.weights(int(member.max(initial=-1)) + 1)))
        return weights[:, member].astype(np.float64)

    def totals(self, tables: Sequence[Floats]) -> list[Floats]:
        """Return the summed rows of every draw, (resamples, k) for each table; all tables share the draws."""
        return weighted_sums([self.units(table) for table in tables], self.weights)


def _weights(units: int, resamples: int, seed: int) -> Iterator[Weights]:
    rng = np.random.default_rng(seed)
    step = chunk_size(units)
    offsets = np.arange(step)[:, None] * units
    for start in range(0, resamples, step):
        draws = min(step, resamples - start)
        picks = rng.integers(max(units, 1), size=(draws, units)) + offsets[:draws]
        yield np.bincount(picks.ravel(), minlength=draws * units).reshape(draws, units).astype(np.float32)


@lru_cache(maxsize=2)
def _cached_weights(units: int, resamples: int, seed: int) -> tuple[Weights, ...]:
    """Return the weights, cached for the other systems and metrics."""
    return tuple(_weights(units, resamples, seed))


def chunk_size(units: int) -> int:
    """Return how many draws to make at a time: a multiple of 32 where memory allows it."""
    draws = max(64, _CACHED // max(units, 1) // 32 * 32)
    return max(1, min(draws, CHUNK // max(units, 1)))


@dataclass(frozen=True)
class PoissonResampler:
    """Poisson bootstrap draws over bins of items, for a corpus too large to hold.

    Each bin counts 0, 1, 2 … times, Poisson with mean 1, independently of all others (Chamandy et al. 2012): the total
    number of items varies a little from draw to draw, which does not affect a ratio of sums.
    """

    name: ClassVar[str] = "Poisson bootstrap"
    resamples: int
    seed: int
    unit: str = "items"

    def units(self, rows: Floats) -> Floats:
        return rows

    def totals(self, tables: Sequence[Floats]) -> list[Floats]:
        return weighted_sums(tables, self._weights)

    def _weights(self, bins: int) -> Iterator[Weights]:
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.resamples, _POISSON):
            yield rng.poisson(1.0, size=(min(_POISSON, self.resamples - start), bins)).astype(np.float64)


Draws = Resampler | PoissonResampler


def variant_totals(variants: Floats, sampling: Sampling, *, units: bool = False) -> Floats:
    """Sum rows over draws of variants of each unit's row, from (units, variants, k) to (resamples, k).

    Every draw has one variant of each unit; with ``units``, of as many units drawn with replacement.
    """
    n, many, width = variants.shape
    flat = variants.reshape(n * many, width)
    rng = np.random.default_rng(sampling.seed)
    step = max(1, CHUNK // max(n * many, 1))
    totals = []
    for start in range(0, sampling.resamples, step):
        draws = min(step, sampling.resamples - start)
        unit = rng.integers(n, size=(draws, n)) if units else np.broadcast_to(np.arange(n), (draws, n))
        picks = unit * many + rng.integers(many, size=(draws, n)) + np.arange(draws)[:, None] * (n * many)
        weights = np.bincount(picks.ravel(), minlength=draws * n * many).reshape(draws, n * many)
        totals.append(weights.astype(np.float64) @ flat)
    return np.concatenate(totals)


def sum_by_group(rows: Floats, groups: Sequence[str] | None) -> Floats:
    """Sum the rows of each group, in the order of the groups' names; without groups, return the rows."""
    if groups is None:
        return rows
    member = _members(groups)
    sums = np.zeros((int(member.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, member, rows)
    return sums


def _members(groups: Sequence[str]) -> npt.NDArray[np.intp]:
    return np.unique(np.array(groups, dtype=object).astype(str), return_inverse=True)[1]


def weighted_sums(units: Sequence[Floats], weights: Callable[[int], Iterable[Weights]]) -> list[Floats]:
    """Multiply each table by the same weights, which are made and used a chunk of draws at a time."""
    if not units:
        return []
    widths = np.cumsum([table.shape[1] for table in units])[:-1]
    table = to_single(np.concatenate(units, axis=1))
    sums = np.concatenate([chunk @ table for chunk in weights(len(table))]).astype(np.float64)
    return np.split(sums, widths, axis=1)


def to_single(table: Floats) -> Weights:
    """Return a table in single precision if every sum of its rows is exact in it."""
    largest = float(np.abs(table).max(initial=0)) * len(table)
    exact = largest < _EXACT and np.array_equal(table, np.rint(table))
    return table.astype(np.float32) if exact else table


def interval(
    rows: Floats,
    score: Score,
    draw_totals: Floats,
    *,
    sampling: Sampling,
    unit: str = "items",
    name: str = Resampler.name,
    totals: Floats | None = None,
) -> list[Estimate]:
    """Return an Estimate for each output of ``score``, from the totals of draws; ``totals`` are those of all units."""
    values, draws = score(rows.sum(axis=0) if totals is None else totals), score(draw_totals)
    units = count_units(rows)
    tails = find_tails(sampling, units)
    quantiles = np.broadcast_to(tails[:, None], (2, len(values)))
    if sampling.method == "bca":
        quantiles = _bca_quantiles(values, draws, jackknife(rows, score), tails)
    method = f"{name}-{sampling.method} over {unit}, {len(draws)} draws"
    # One unit is the same in every draw: it says nothing about others.
    bounds = np.where(np.isnan(values) | (units < 2), np.nan, _at_quantiles(draws, quantiles))
    return [
        Estimate(float(value), float(low), float(high), sampling.level, len(rows), method)
        for value, low, high in zip(values, *bounds, strict=True)
    ]


def middle_interval(draws: Floats, sampling: Sampling, *, units: int | None = None) -> tuple[float, float]:
    """Return the ends of the middle of the draws of a statistic that is not a formula over sums.

    ``units`` were drawn; None means that the draws themselves are described, and their middle is not expanded.
    """
    if sampling.method == "bca":
        raise BadInput("A bca interval needs a statistic that is a formula over sums. Use expanded or percentile here.")
    if not np.isfinite(draws).any() or (units is not None and units < 2):
        return float("nan"), float("nan")
    tails = find_tails(sampling, units)
    low, high = map(float, _at_quantiles(draws[:, None], tails[:, None])[:, 0])
    return low, high


def count_units(rows: Floats) -> int:
    """Return how many rows add something to a sum: bins without items are not units."""
    return int(np.count_nonzero(rows.any(axis=1)))


def find_tails(sampling: Sampling, units: int | None) -> Floats:
    """Return at which quantiles of draws of ``units`` an interval ends; None stands for endlessly many.

    Draws of few units vary too little, by √(units - 1)/√units, and their quantiles are those of a normal variable where
    Student's t is needed: the level is raised to make up for both (Hesterberg 2015, section 3.2). ``bench/simulations``
    shows how often such intervals cover. A percentile interval is left as other tools have it.
    """
    tail = (1 - sampling.level) / 2
    if units is not None and units > 1 and sampling.method != "percentile":
        tail = math.erfc(math.sqrt(units / (units - 1) / 2) * _student_bound(sampling.level, units - 1)) / 2
    return np.array([tail, 1 - tail])


@lru_cache
def _student_bound(level: float, freedom: int) -> float:
    """Return the t with ``level`` of Student's distribution between -t and t; SciPy has it, but is slow to import."""

    def share(angle: float) -> float:  # between ±√freedom tan(angle): Abramowitz and Stegun 1972, 26.7.3 and 26.7.4
        odd = freedom % 2
        steps = np.arange(1, (freedom - odd) // 2)
        terms = np.cumprod((2 * steps - 1 + odd) / (2 * steps + odd) * math.cos(angle) ** 2)
        total = math.sin(angle) * (1 + float(terms.sum())) if freedom > 1 else 0.0
        return 2 / math.pi * (angle + math.cos(angle) * total) if odd else total

    if freedom <= _SERIES:
        return math.sqrt(freedom) * math.tan(_bisect(share, level, math.pi / 2))
    z = _bisect(lambda z: math.erf(z / math.sqrt(2)), level, 40.0)
    # Cornish and Fisher's expansion: Abramowitz and Stegun 1972, 26.7.5.
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return float(z + sum(term / freedom**power for power, term in enumerate(terms, start=1)))


def _bisect(share: Callable[[float], float], level: float, high: float) -> float:
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < level else (low, middle)
    return high


def _at_quantiles(draws: Floats, quantiles: Floats) -> Floats:
    """Return each column's quantiles over its defined draws; numpy.quantile would import numpy.ma, which is slow."""
    ascending = np.sort(draws, axis=0)  # undefined draws go last
    last = np.maximum((~np.isnan(draws)).sum(axis=0) - 1, 0)
    position = np.clip(quantiles, 0, 1) * last
    below = np.floor(position).astype(np.intp)
    low, high = (np.take_along_axis(ascending, np.minimum(at, last), axis=0) for at in (below, below + 1))
    return np.asarray(low + (high - low) * (position - below))


def jackknife(rows: Floats, score: Score) -> Floats:
    """Return the score with each row left out once: (n, outputs)."""
    return score(rows.sum(axis=0) - rows)


def _bca_quantiles(values: Floats, draws: Floats, left_out: Floats, tails: Floats) -> Floats:
    """Return the quantiles of the draws to use, corrected for bias and acceleration (Efron 1987, Eq. 2.3 and 6.6)."""
    from statistics import NormalDist  # slower to import than most scores are to compute

    normal = NormalDist()
    quantiles = np.empty((2, len(values)))
    for position, value in enumerate(values):
        column = draws[:, position]
        below = (np.mean(column < value) + np.mean(column <= value)) / 2
        deviation = np.nanmean(left_out[:, position]) - left_out[:, position]
        spread = np.nansum(deviation**2)
        if not 0 < below < 1 or spread == 0:
            quantiles[:, position] = tails
            continue
        bias = normal.inv_cdf(float(below))
        acceleration = np.nansum(deviation**3) / (6 * spread**1.5)
        for side, tail in enumerate(tails):
            z = bias + normal.inv_cdf(float(tail))
            quantiles[side, position] = normal.cdf(bias + z / (1 - acceleration * z))
    return quantiles


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, *, undefined: float = np.nan) -> Floats:
    """Divide; where the denominator is 0 the ratio is ``undefined``."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    return np.asarray(np.divide(top, bottom, out=np.full(bottom.shape, undefined), where=np.abs(bottom) > 1e-12))
